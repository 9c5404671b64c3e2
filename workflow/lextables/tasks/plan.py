"""What is decided before any job starts: the runs of a task, and the rows of the tables that show them.

A task's planner lays out its runs from a paper's registry, and each row of the panel is one of two kinds:
a printed row, which takes the paper's settings or is not run, and a row of our own, whose name says what
differs.  Where a grid has more than one trial, each is trained without the final evaluation's examples and
read on the validation part (`search`), the best is chosen (`choice`) and trained with every seed (`train`),
and what the trained weights make of the test part is a run of its own (`read`, `rerank`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from lextables.models import prompts
from lextables.models.resolve import API, STANDS_IN, Missing, Model, Weights, find, model_settings
from lextables.pipeline.config import Config
from lextables.pipeline.registry import Entry
from lextables.pipeline.run import Run

PAPER_GRID = "paper"  # the entry of a registry's grids that holds the paper's own settings
WHOLE = 100  # per cent of the training examples
SUBMITTED = "given"  # the experiment of submitted predictions
LANGUAGE_MODELS = ("language-model", "language-model-api")  # kinds of a user's own models
OUR_PROMPT = "our prompt"  # what differs in the row beside a printed one whose prompt is in no source
ASK = "ask"  # the experiment of what a language model is asked
ASKED_ON_A_GPU = "without a GPU it takes days to ask it: name it in extra_models to do so"
COUNTS = ("no seed", "one seed", "two seeds", "three seeds", "four seeds")


class Grid(Entry):
    """How models are trained: the learning rates that are tried, and what all trials share.

    ``accumulation`` is the number of parts in which a batch begins to go through the model, which changes
    its memory and not its result; they are more where memory runs out.  With ``bf16`` a processor trains in
    bfloat16 mixed precision as a GPU that has it always does.  ``seeds`` caps the config's list.
    ``percents`` are the shares of the training examples that are tried.  Checkpoints are kept every
    ``save_every`` updates (0: none).
    """

    learning_rates: tuple[float, ...]
    batch_size: int
    accumulation: int = 1
    max_length: int
    bf16: bool = False
    save_every: int = 0
    seeds: int | None = None
    percents: tuple[int, ...] = (WHOLE,)

    def training(self) -> dict[str, Any]:
        """What every training under this grid is set to."""
        shared = ("batch_size", "accumulation", "max_length", "bf16", "save_every")
        return {name: getattr(self, name) for name in shared}


class Panel(Entry):
    """A model of a task's panel and its row in the tables.

    An ``own`` row is ours.  A ``baseline`` row is a baseline: published values that it reaches are marked,
    unless it is ``lenient``, that is, its score rests on a leniency of the released evaluator.  ``shares``
    trains on each share of the training examples too.  It is trained by the ``grids`` that are named, or by
    any: a budget that teaches a model next to nothing makes no row.
    """

    row: str
    model: str
    own: bool = False
    baseline: bool = False
    lenient: bool = False
    shares: bool = False
    grids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Spec:
    """What one run does, and the runs that it goes by.

    It reads the predictions of ``needs``, the weights of ``sources`` and the trial that ``choice`` chose.
    """

    settings: dict[str, Any]
    needs: tuple[Run, ...] = ()
    sources: tuple[Run, ...] = ()
    choice: Run | None = None

    @property
    def weights_of(self) -> Run | None:
        """The run whose weights it reads, of several the first."""
        return next(iter(self.sources), None)


@dataclass(frozen=True)
class Row:
    """A row of the tables: ``runs`` maps a condition to its runs, one a seed; else a ``reason``.

    ``submitted`` rows are made of predictions that a user submitted, ``asked`` ones of what a language model
    answers as it is.  ``parameters`` counts those of a row's
    models together, None where a count is not known.  ``trained`` rows were trained here, and ``averages`` is
    how many runs a printed score of one is the mean of.  ``about`` is what the tables of its task know it by.
    """

    row: str
    own: bool = False
    submitted: bool = False
    asked: bool = False
    reason: str = ""
    parameters: int | None = None
    trained: bool = False
    averages: int = 1
    baseline: bool = False
    lenient: bool = False
    runs: dict[str, tuple[Run, ...]] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """The row as plain values, for the params of a rule."""
        names = (
            *("row", "own", "submitted", "asked", "reason", "parameters", "trained", "averages"),
            *("baseline", "lenient"),
        )
        runs = {name: [run.folder for run in runs] for name, runs in sorted(self.runs.items())}
        return self.about | {name: getattr(self, name) for name in names} | {"runs": runs}


@dataclass(frozen=True)
class Plan:
    """All runs of a paper, and ``rows``: {table: the rows in it that come from runs, as plain values}.

    ``names`` are those of all rows, also of the excluded ones.
    """

    specs: dict[Run, Spec]
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()

    def folders(self, table: str) -> list[str]:
        """The folders of the runs that ``table`` shows, sorted; none for a table made from data alone."""
        rows = self.rows.get(table, [])
        return sorted({folder for row in rows for runs in row["runs"].values() for folder in runs})


@dataclass(frozen=True)
class Difference:
    """How a run's settings differ from the paper's: what the printed row ``wants``, and what is ``ours``."""

    wants: str
    ours: str


@dataclass(frozen=True)
class Trial:
    """A setting of the grid that one training tries, and its name in paths."""

    name: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class SubmittedFiles:
    """Predictions that a user submitted for one data set: the name and key of the row that they make.

    ``form`` is one of the planner's `FORMS`, and ``contents`` are the digests of their files, one a seed.
    """

    row: str
    key: str
    form: str
    contents: tuple[str, ...]


@dataclass(frozen=True)
class Context:
    """What plans depend on beside a paper's registry.

    ``gpu`` says whether training will find one, which decides the size of the grid under ``grid: auto``.
    ``submitted``: submitted predictions, {data set: the rows of it}.  ``absent`` are the auxiliary
    data sets that are not to be had here, each with the reason (`lextables.papers.auxiliary`).
    """

    config: Config
    models: Mapping[str, Model]
    root: Path
    gpu: bool
    submitted: Mapping[str, Sequence[SubmittedFiles]] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)

    @property
    def mirrors(self) -> list[Path]:
        return self.config.mirrors(self.root)

    @property
    def grid(self) -> str:
        """The name of the grid that is searched."""
        return self.config.grid_name(self.gpu)

    def weights(self, model: str) -> Weights | Missing:
        """The weights of a registered or a user's own model, or why there are none."""
        return find(model, self.config, self.models, self.mirrors)

    def prompt(self, name: str) -> list[list[str]]:
        """A prompt of the project as a run's settings have it, whole: another wording is another run."""
        return prompts.load(self.root / f"resources/prompts/{name}.txt").plain()

    def parameters(self, *models: str) -> int | None:
        """How many parameters models have together; None where one's count is not public."""
        counts = [
            self.models[ran].parameters if ran in self.models else None for ran in map(self._ran, models)
        ]
        return None if None in counts else sum(counts)

    def _ran(self, model: str) -> str:
        """The model whose weights run under this name: on the sample's data, what stands in for it."""
        known = self.models.get(model)
        weights = self.weights(model) if known and known.stand_in else None
        stands_in = isinstance(weights, Weights) and weights.found == STANDS_IN
        return known.stand_in if stands_in else model


class Planner(ABC):
    """Lays out the runs of one data set's task: `rows` fills `specs`.

    ``name`` is the data set's, which features and runs go by.  ``MAIN`` is the condition that most tables
    show, and ``STAGES`` are the experiments whose predictions are scored.  ``FORMS`` are those that a user's
    predictions may have, {form: how names of such files end}.  ``others`` are the planners of the paper's
    data sets, by name: a model may be trained on one after another.
    """

    MAIN: ClassVar[str] = str(WHOLE)
    STAGES: ClassVar[tuple[str, ...]]
    FORMS: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __init__(self, name: str, task: Any, context: Context) -> None:
        self.name, self.task, self.context = name, task, context
        self.specs: dict[Run, Spec] = {}
        self.others: Mapping[str, Planner] = {}

    @abstractmethod
    def rows(self) -> list[Row]:
        """The rows of the panel, then those of the user's own models."""

    def submitted(self) -> list[Row]:
        """Return the rows of submitted predictions."""
        return [self.submitted_row(extra) for extra in self.context.submitted.get(self.name, ())]

    def submitted_row(self, extra: SubmittedFiles) -> Row:
        """The row of these predictions; their runs check and keep them."""
        runs = tuple(
            self.add(
                self.run(SUBMITTED, extra.key, self.MAIN, seed), {"form": extra.form, "content": content}
            )
            for seed, content in enumerate(extra.contents)
        )
        return Row(extra.row, own=True, submitted=True, runs={self.MAIN: runs})

    def own_models(self, *kinds: str) -> list[Any]:
        """The user's own models of these kinds."""
        return [extra for extra in self.context.config.extra_models if extra.kind in kinds]

    def language_model(self, model: str) -> dict[str, Any] | Missing:
        """The settings of a language model that is asked, or why it is not.

        A registered one whose weights run here is asked where there is a GPU, or on the sample's data.
        """
        weights = self.context.weights(model)
        if isinstance(weights, Missing):
            return weights
        config, known = self.context.config, self.context.models.get(model)
        here = weights.found != API
        if known and here and not self.context.gpu and config.data != "sample":
            return Missing(ASKED_ON_A_GPU)
        return model_settings(model, weights) | ({} if here else {"api": config.llm})

    def asked_row(self, key: str, panel: Panel, settings: Mapping[str, Any], about: dict[str, Any]) -> Row:
        """The row of a language model of our own, of which one run asks what ``settings`` say."""
        run = self.add(self.run(ASK, key, panel.kind), {**settings, "kind": panel.kind})
        counted = self.context.parameters(panel.model)
        return Row(panel.row, own=True, asked=True, parameters=counted, runs={self.MAIN: (run,)}, about=about)

    def run(self, experiment: str, model: str, condition: str, seed: int = 0) -> Run:
        return Run(self.name, experiment, model, condition, seed)

    def add(
        self, run: Run, settings: Mapping[str, Any], *, weights_of: Run | None = None, **runs: Any
    ) -> Run:
        """Take up a run; ``runs`` are those that it goes by (`Spec`), ``weights_of`` a single source."""
        self.specs[run] = Spec(dict(settings), **({"sources": (weights_of,)} if weights_of else {}), **runs)
        return run

    def seeds(self, grid: Grid) -> tuple[int, ...]:
        return self.context.config.seeds[: grid.seeds]

    def search(
        self, model: str, prefix: str, settings: Mapping[str, Any], trials: Sequence[Trial],
        seeds: Sequence[int], **runs: Any,
    ) -> list[Run]:  # fmt: skip
        """Take up a training of each trial and seed that reads the validation part; ``runs`` as in `add`."""
        return [
            self.add(
                self.run("search", model, f"{prefix}-{trial.name}", seed),
                {**settings, **trial.settings},
                **runs,
            )
            for trial in trials
            for seed in seeds
        ]

    def weights_folder(self, run: Run) -> str:
        """Where the weights of a run of this configuration lie."""
        return f"{self.context.config.results}/{run.folder}/weights"

    def placed(self, row: Row, differences: Sequence[Difference]) -> list[Row]:
        """The printed row with its runs; or without, and a row of our own whose name says what differs."""
        if row.own or not row.runs or not differences:
            return [row]
        empty = replace(row, runs={}, reason=reason_not_run(differences))
        return [empty, replace(row, row=own_name(row.row, differences), own=True)]

    def budget(self, grid: Grid, words: Sequence[str]) -> list[Difference]:
        """The difference of another grid than the paper's, in words."""
        if self.context.grid == PAPER_GRID:
            return []
        said = [*words, *["bfloat16"] * grid.bf16]
        return [Difference(f"grid={PAPER_GRID}", f"{self.context.grid} budget: {', '.join(said)}")]


def rate_name(rate: float) -> str:
    """Return a learning rate as paths have it, `lr1e-04`, with as many digits as it has."""
    digits = f"{rate:.15e}".partition("e")[0].rstrip("0").partition(".")[2]
    return f"lr{rate:.{len(digits)}e}"


def fewer_seeds(seeds: int, averages: int) -> list[Difference]:
    """The difference of a row with fewer runs than the ``averages`` that the paper takes the mean of."""
    return [Difference(_count(averages), _count(seeds))] if seeds < averages else []


def _count(seeds: int) -> str:
    return COUNTS[seeds] if seeds < len(COUNTS) else f"{seeds} seeds"


def reason_not_run(differences: Sequence[Difference]) -> str:
    """Why a printed row stays empty when what ran differs from the paper's settings."""
    return f"the paper's settings want {' and '.join(difference.wants for difference in differences)}"


def own_name(row: str, differences: Sequence[Difference]) -> str:
    """The row of our own beside the printed ``row``: its name, and what differs."""
    return ", ".join((row, *(difference.ours for difference in differences)))


def shown(rows: Sequence[Row], where: Sequence[Mapping[str, Any]], conditions: Sequence[str]) -> list[dict]:
    """The rows of a table as plain values, in their order.

    A row is shown when, of one of the mappings ``where``, each field is the row's, or holds it where it is a
    list; of its runs those of ``conditions``, or all where there are none.
    """
    plain = (row.plain() for row in rows)
    return [
        row | {"runs": {name: runs for name, runs in row["runs"].items() if name in (conditions or (name,))}}
        for row in plain
        if any(all(_is(row.get(field), value) for field, value in one.items()) for one in where)
    ]


def _is(found: Any, wanted: Any) -> bool:
    return found in wanted if isinstance(wanted, list | tuple) else found == wanted
