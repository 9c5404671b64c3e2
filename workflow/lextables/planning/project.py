"""What is known before any job: the checked configuration, the registries and the
plans.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from lextables.models import device, inspection, parameter_count, quantised
from lextables.models.files import model_files
from lextables.models.resolve import API, MIRROR, load_models, own_location, places
from lextables.models.weights import PACKAGE, PLACES, check_package, place
from lextables.pipeline import user_rows
from lextables.pipeline.config import Config
from lextables.pipeline.config import load as load_config
from lextables.pipeline.content import Contents
from lextables.pipeline.files import set_variable
from lextables.pipeline.run import Run
from lextables.planning import paper_plan, references, rehearsal, submitted, trained_on
from lextables.planning.rule_values import Files, Params, Values
from lextables.registry import packages
from lextables.registry.paper import Paper, Review
from lextables.sources import entries as sources
from lextables.tables import published
from lextables.tasks.planner import Context, Plan, Spec
from lextables.tasks.submitted import PLACES as SUBMITTED_PLACES

HUB = "hub"  # begins the place where weights were found, if that is the model hub


@dataclass(frozen=True)
class Project:
    """The configuration, the registries, and the plan of each paper in the
    configuration.

    ``path`` is the project's folder relative to the working folder, so that a project
    can be moved together with its results.  ``defaults`` are the values of config.yaml.
    ``papers`` are the entries of all papers of the registry, ``plans`` are {paper in
    the configuration: its plan}, and ``sources`` are the registered sources.
    ``contents`` computes digests of files, and caches them for later runs.
    ``weight_paths`` are {location of weights: where they are on this machine}.
    """

    path: Path
    defaults: Values
    context: Context
    sources: sources.Registry
    papers: Mapping[str, Paper]
    contents: Contents
    weight_paths: Mapping[str, Mapping[str, str]]
    plans: Mapping[str, Plan]

    @property
    def config(self) -> Config:
        """The checked configuration."""
        return self.context.config

    @property
    def results(self) -> str:
        """The folder of all results, relative to the working folder."""
        return self.config.results

    @property
    def job_device(self) -> device.DeviceChoice:
        """The device of jobs with a model.

        It is ``cuda`` if they are planned on a GPU: a job that finds none fails, and
        does not train on a processor for days.
        """
        return "cuda" if self.context.gpu else self.config.device

    @property
    def absent(self) -> Mapping[str, str]:
        """{auxiliary data set that is not available: the reason}."""
        return self.context.absent

    @property
    def paper_files(self) -> dict[str, str]:
        """{paper: its file in the registry}."""
        return _paper_files(self.path)

    @cached_property
    def specs(self) -> dict[Run, Spec]:
        """{run: its settings and dependencies}, of all planned runs."""
        specs: dict[Run, Spec] = {}
        for plan in self.plans.values():
            specs.update(plan.specs)
        return specs

    @cached_property
    def tasks(self) -> Params:
        """{data set: its task}, of all papers of the registry."""
        tasks: Params = {}
        for paper in self.papers.values():
            tasks.update(paper.tasks)
        return tasks

    @cached_property
    def paper_of(self) -> dict[str, str]:
        """{data set: its paper}, of all papers of the registry."""
        papers: dict[str, str] = {}
        for name, paper in self.papers.items():
            papers.update(dict.fromkeys((*paper.data, *paper.tasks), name))
        return papers

    @property
    def review(self) -> Review | None:
        """The registry's entry of the review, if its paper is planned."""
        for name in self.config.papers:
            if review := self.papers[name].review:
                return review
        return None

    def tasks_of_kind(self, kind: str) -> Params:
        """Return {data set: its task} for the tasks of this kind, such as ``spans``."""
        return {name: task for name, task in self.tasks.items() if task.task == kind}

    def linear_models(self, kind: str) -> set[str]:
        """Return the keys of the linear models of all tasks of a kind."""
        keys: set[str] = set()
        for task in self.tasks_of_kind(kind).values():
            keys.update(k for k, panel in task.models.items() if panel.kind == "linear")
        return keys

    def scored_experiments(self, kind: str) -> Collection[str]:
        """Return the experiments of a kind of task whose predictions are scored."""
        return paper_plan.PLANNERS[kind].STAGES

    def tables(self, dataset: str, *names: str) -> Files:
        """Return the files of these tables of a data set."""
        return [f"{self.results}/data/{dataset}/{name}.parquet" for name in names]

    def censuses(self) -> Files:
        """Return the censuses of all available data sets of the config's papers."""
        names: set[str] = set()
        for paper in self.config.papers:
            entry = self.papers[paper]
            names.update((paper, *entry.data, *entry.tasks))
        return [self.census(name) for name in sorted(names - self.absent.keys())]

    def census(self, dataset: str) -> str:
        """Return the file of the census of a data set."""
        return f"{self.results}/data/{dataset}/census.json"

    def published_values(self, paper: str) -> str:
        """Return the file of a paper's published values."""
        return str(self.path / f"resources/published/{paper}.csv")

    def identified(self, settings: Values) -> Params:
        """Return settings, with the digest of the weights if these are named by a path.

        Weights on the hub are identified by their revision, and weights in the results
        by the rule that makes them.
        """
        location = settings.get("weights") or ""
        if not location.startswith((MIRROR, PACKAGE, user_rows.PREFIX)):
            return dict(settings)
        path = self.weight_paths.get(location, {})
        folder = path.get("folder") or place(location)
        if folder is None or settings["found"].startswith((HUB, API)):
            return dict(settings)
        content = self.contents.folder(folder, model_files(folder))
        return {**settings, "content": content}


def load(root: Path, path: Path, defaults: Values, config: Values) -> Project:
    """Check the configuration, read the registries and plan the papers.

    ``defaults`` are the values of config.yaml.  ``config`` are those of the command
    line and of a host workflow, which may lack keys.  Only the papers in the config are
    planned, so that missing data of others stops nothing.  Sets the environment
    variables by which this process and its jobs find weights and submitted predictions:
    moving those must not trigger reruns, so they are no params.  Raises `BadInput`.

    ``root`` is the project's folder, and ``path`` the same relative to the working
    folder.
    """
    # The configuration and the registries.
    files = _paper_files(path)
    checked = load_config({**defaults, **config}, sorted(files), root)
    source_registry = sources.load(*(path / name for name in source_files(files)))
    models = load_models(root / "resources/models.yaml")
    papers = packages.load_all(files)
    references.check(papers, models, source_registry, root)
    if checked.rehearsal:
        papers = rehearsal.limited(papers, checked)
    if checked.weights == "tiny":
        rehearsal.make_models(root, checked, rehearsal.released_models(papers))
    # What is available here: weights, a GPU, and auxiliary data sets.
    weight_paths = places(checked, models, checked.mirrors(root))
    set_variable(PLACES, weight_paths)
    for location, place_of_weights in weight_paths.items():
        # Checks of registered models in a mirror.  Other weights have a registered
        # digest, or are inspected below.
        if location.startswith(MIRROR) and "folder" in place_of_weights:
            folder = Path(place_of_weights["folder"])
            quantised.check(folder)
            # A rehearsal has tiny weights under the names of the registered models.
            if checked.weights != "tiny":
                name = location.removeprefix(MIRROR)
                parameter_count.check(folder, name, models[name])
    trained_on.check(checked, models, papers)
    absent = paper_plan.absent_data(checked, papers, source_registry, root)
    gpu = device.expected(checked.device)
    context = Context(checked, models, root, gpu, absent=absent)
    _check_names(path, papers, context)
    contents = Contents(Path(checked.results) / ".cache")
    for model in models.values():
        if model.package and model.sha256:
            check_package(model.package, model.sha256, contents)
    # The user's predictions.
    submitted_places: dict[str, str] = {}
    if checked.extra_predictions:
        predictions = submitted.find(checked, papers, contents)
        context = replace(context, submitted=predictions.rows)
        submitted_places = dict(predictions.places)
    set_variable(SUBMITTED_PLACES, submitted_places)
    # The plans.
    plans = {}
    for name in checked.papers:
        excluded = paper_plan.excluded(name, papers[name], checked)
        plans[name] = paper_plan.plan(papers[name], context, excluded)
    plans = paper_plan.share_trainings(plans, papers)
    paper_plan.check_excluded(checked.exclude_rows, plans, papers)
    project = Project(
        path=path,
        defaults=defaults,
        context=context,
        sources=source_registry,
        papers=papers,
        contents=contents,
        weight_paths=weight_paths,
        plans=plans,
    )
    _check_models(project)
    return project


def source_files(papers: Mapping[str, str]) -> list[str]:
    """Return the files of the registry of sources, relative to the project.

    They are a param of rules: another place of the project must not trigger reruns.
    """
    return [
        "resources/sources.yaml",
        *(f"resources/papers/{name}.yaml" for name in papers),
    ]


def _paper_files(path: Path) -> dict[str, str]:
    files = sorted((path / "resources/papers").glob("*.yaml"))
    return {file.stem: str(file) for file in files}


def _check_names(path: Path, papers: Mapping[str, Paper], context: Context) -> None:
    """Raise `BadInput` if a user's row has the name of a row or a model of the
    papers.
    """
    config = context.config
    extra_names = {
        "extra_models": [extra.name for extra in config.extra_models],
        "extra_predictions": [extra.name for extra in config.extra_predictions],
    }
    if not any(extra_names.values()):
        return
    taken = list(context.models)
    for name, paper in papers.items():
        printed = published.load(path / f"resources/published/{name}.csv")
        # In some tables models are the columns.
        names = {cell.row for cell in printed} | {cell.column for cell in printed}
        taken += user_rows.printed(sorted(names))
        taken += user_rows.rows_of(paper.model_dump())
    # The rows of the plans without the user's models.
    without = replace(context, config=config.model_copy(update={"extra_models": ()}))
    for name in config.papers:
        plan = paper_plan.plan(papers[name], without)
        taken += user_rows.rows_of(list(plan.rows.values()))
    for key, extra in extra_names.items():
        user_rows.check_free(extra, taken, key)


def _check_models(project: Project) -> None:
    """Raise `BadInput` if a user's model that runs load is not of the declared kind."""
    fetch = project.config.models == "paper"
    max_lengths: dict[str, int] = {}  # of the texts that weights read
    for spec in project.specs.values():
        weights = spec.settings.get("weights") or ""
        length = spec.settings.get("max_length") or 0
        max_lengths[weights] = max(length, max_lengths.get(weights, 0))
    for extra in project.config.extra_models:
        location = own_location(extra)
        if location in max_lengths:
            here = project.weight_paths[location]
            length = max_lengths[location]
            inspection.inspect(extra, here, fetch, project.contents, length)
