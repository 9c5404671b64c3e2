"""Inputs and params of the rules that make the report and the results page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from lextables.models.resolve import SAMPLE_DATA
from lextables.planning import paper_plan
from lextables.planning.project import Project
from lextables.planning.rule_values import Params
from lextables.planning.scripts import digest_of, package_modules
from lextables.planning.tables import Row, Tables, run_folders
from lextables.planning.verdicts import systems_of
from lextables.tables.published import NOT_PUBLISHED
from lextables.tasks.planner import Context

BY_HAND = "files or weights that are downloaded by hand"
DOWNLOADED = "public files that models=paper downloads"
MORE_THAN_SAMPLE = "data or models that are not part of the sample"
# Reasons of rows that a run on the sample leaves out on every machine.
OF_SAMPLE = frozenset((paper_plan.NOT_IN_SAMPLE, SAMPLE_DATA))
# Fields in which a row may differ between two plans, such as its runs.
OF_PLANS = frozenset(
    (
        "reason",
        "runs",
        "parameters",
        "trained",
        "averages",
        "asked",
        "trained_on",
        "training_data",
        "deterministic",
        "seen",
    )
)


@dataclass(frozen=True)
class Offer:
    """What could be added to this machine and this configuration to run more rows.

    ``name`` is shown on the results page.  An offer may have a ``gpu``, downloads from
    the model ``hub``, the server of language models at ``host`` ("": none), and
    ``by_hand`` all registered files and gated weights.
    """

    name: str
    gpu: bool = False
    hub: bool = False
    by_hand: bool = False
    host: str = ""


@dataclass(frozen=True)
class Report:
    """Inputs and params of the report and of the results page."""

    project: Project
    tables: Tables

    @cached_property
    def inputs(self) -> Params:
        """The inputs of the rules, by their names.

        ``census`` are the censuses of the data sets that have the papers' names, and
        ``data`` those of the papers' other data sets.
        """
        results = self.project.results
        plans = self.project.plans
        papers = self.project.config.papers
        every = self.project.paper_files
        names: set[str] = set()
        tables: list[str] = []
        records: list[str] = []
        for paper in papers:
            names.update(self.data_sets(paper))
            tables += self.tables.in_report(paper)
            records += [
                f"{results}/{run.folder}/run.json" for run in plans[paper].specs
            ]
        others = sorted(names.difference(papers))
        return {
            "config": f"{results}/config.yaml",
            "papers": list(self.project.paper_files.values()),
            "published": [self.project.published_values(name) for name in every],
            "census": [self.project.census(name) for name in papers],
            "data": [self.project.census(name) for name in others],
            "tables": tables,
            "runs": sorted(records),
        }

    def data_sets(self, paper: str) -> list[str]:
        """Return the available data sets of a paper's tables and runs, sorted."""
        names = {run.data_set for run in self.project.plans[paper].specs}
        for table in self.project.papers[paper].tables.values():
            names.update(table.beside)
            if table.of:
                names.add(table.of)
        return sorted(names - self.project.absent.keys())

    @cached_property
    def earlier(self) -> dict[str, str]:
        """Param: {file in the results that other configurations made: its digest}."""
        from lextables.report.results import left_over  # slow to import

        planned: list[str] = []
        for name in ("census", "data", "tables", "runs"):
            planned += self.inputs[name]
        return left_over(self.project.results, planned)

    @cached_property
    def trained_on(self) -> dict[str, str]:
        """Param: {run folder: the training data sets of its model as text}, for the
        leaderboard.
        """
        texts: dict[str, str] = {}
        for paper in self.project.config.papers:
            rows = self.project.plans[paper].rows
            for name, table in self.project.papers[paper].tables.items():
                if table.headline:
                    for row in rows.get(name, []):
                        for folder in run_folders([row]):
                            texts[folder] = row["trained_on"]
        return texts

    @cached_property
    def baselines(self) -> list[str]:
        """Param: the folders of the runs of baselines, sorted."""
        return run_folders(self._rows("baseline"))

    @cached_property
    def own_rows(self) -> list[str]:
        """Param: the folders of the runs of additional rows, sorted."""
        return run_folders(self._rows("additional"))

    def _rows(self, mark: str) -> list[Row]:
        """The rows in which the field ``mark`` is true, such as `baseline`.

        Left out are rows whose score rests on a leniency of the released evaluator, and
        rows whose model was trained on test texts.
        """
        marked = []
        for plan in self.project.plans.values():
            for rows in plan.rows.values():
                for row in rows:
                    if row[mark] and not (row["lenient"] or row["seen"]):
                        marked.append(row)
        return marked

    @cached_property
    def modules(self) -> list[str]:
        """The modules of paper packages with additional sections of their pages."""
        modules = []
        for paper in self.project.papers:
            modules += package_modules(paper, optional=("exhibits",))
        return modules

    @cached_property
    def systems(self) -> dict[str, str]:
        """Param: {folder of a published row's run: the printed names of its
        systems}.
        """
        systems = {}
        for plan in self.project.plans.values():
            for rows in plan.rows.values():
                for row in rows:
                    if row["additional"]:
                        continue
                    name = " / ".join(systems_of(row["row"]))
                    systems.update(dict.fromkeys(run_folders([row]), name))
        return systems

    # The requirements of rows that are not run

    @property
    def offers(self) -> list[Offer]:
        """What rows may need, from the least to the most.

        There is an offer for each server, because servers have different models.
        """
        models = self.project.context.models.values()
        hosts = sorted(set().union(*(model.hosts for model in models)))
        everything = "a GPU, the model hub and an API key"
        return [
            Offer("other settings alone"),
            Offer("a GPU", gpu=True),
            Offer("the model hub", hub=True),
            *(Offer("an API key", host=host) for host in hosts),
            Offer("a GPU and the model hub", gpu=True, hub=True),
            *(Offer(everything, gpu=True, hub=True, host=host) for host in hosts),
            Offer(BY_HAND, gpu=True, hub=True, by_hand=True),
        ]

    def _offered(self, offer: Offer) -> Context:
        """The context of plans with what is offered, under the default grid, seeds and
        hyperparameters.
        """
        here = self.project.context
        defaults = self.project.defaults
        usual = {name: defaults[name] for name in ("grid", "seeds", "hyperparameters")}
        if offer.hub:
            usual["models"] = "paper"
        if offer.host:
            usual["llm"] = f"https://{offer.host}/v1"
        config = here.config.model_copy(update=usual)
        models = here.models
        if offer.by_hand:
            absent = {}
            open_weights = {"gated": False}
            models = {
                name: model.model_copy(update=open_weights)
                for name, model in models.items()
            }
        else:
            absent = paper_plan.absent_data(
                config, self.project.papers, self.project.sources, here.root
            )
        gpu = offer.gpu or here.gpu
        return replace(here, config=config, models=models, gpu=gpu, absent=absent)

    @cached_property
    def needs(self) -> dict[str, dict[str, dict[str, str]]]:
        """Param: {paper: {table: {reason of published rows that are not run: what they
        need}}}.

        A row needs the first of `offers` with which it would be planned.  Several rows
        may have the same reason; then the row that needs the most counts.  The need is
        `NOT_PUBLISHED` if no offer helps, and `MORE_THAN_SAMPLE` if the sample leaves
        the row out.  In a table whose values rest on something that was not published,
        the only reason is "", and stands for all.
        """
        offers = self.offers
        contexts = [self._offered(offer) for offer in offers]
        needs: dict[str, dict[str, dict[str, str]]] = {}
        for name in self.project.config.papers:
            paper = self.project.papers[name]
            rows_by_offer = []
            for context in contexts:
                rows_by_offer.append(paper_plan.plan(paper, context).rows)
            needs[name] = {}
            for table, rows in self.project.plans[name].rows.items():
                if paper.tables[table].unpublished:
                    needs[name][table] = {"": NOT_PUBLISHED}
                    continue
                planned = [_planned(by_table[table]) for by_table in rows_by_offer]
                needs_by_reason = self._needs_of_data(name, table)
                for reason, number in _first_needs(rows, planned).items():
                    is_offered = number < len(offers)
                    needed = offers[number].name if is_offered else NOT_PUBLISHED
                    needs_by_reason[reason] = needed
                for reason in OF_SAMPLE.intersection(needs_by_reason):
                    needs_by_reason[reason] = MORE_THAN_SAMPLE
                needs[name][table] = needs_by_reason
        return needs

    def _needs_of_data(self, paper: str, table: str) -> dict[str, str]:
        """{reason why another data set of a table is not available: what it needs}."""
        here = self.project.absent
        downloaded = self._offered(Offer("downloads", hub=True)).absent
        needs = {}
        for name in self.project.papers[paper].tables[table].beside:
            if name in here:
                needs[here[name]] = BY_HAND if name in downloaded else DOWNLOADED
        return needs


def _planned(rows: Sequence[Row]) -> set[str]:
    """The identities of the rows with runs."""
    return {identity(row) for row in rows if row["runs"]}


def _first_needs(rows: Sequence[Row], planned: Sequence[set[str]]) -> dict[str, int]:
    """{reason of published rows that are not run: the number of the offer they need}.

    ``planned`` has, for each offer from the least to the greatest, the identities of
    the rows that have runs with it.  A row needs the first offer with which it has
    runs; if there is none, its number is ``len(planned)``.  Of several rows with the
    same reason, the greatest number counts.
    """
    needs: dict[str, int] = {}
    for row in rows:
        if row["runs"] or row["additional"]:
            continue
        first = len(planned)
        for number, identities in enumerate(planned):
            if identity(row) in identities:
                first = number
                break
        needs[row["reason"]] = max(first, needs.get(row["reason"], first))
    return needs


def identity(row: Row) -> str:
    """Return a digest that distinguishes a row from the others of a plan, also from
    those of its name.
    """
    return digest_of({key: value for key, value in row.items() if key not in OF_PLANS})
