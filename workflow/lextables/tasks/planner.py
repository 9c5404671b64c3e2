"""Planning: the runs of a task, and the table rows that show them.

A task's planner makes the runs from a paper's registry.  A published row is computed
with the paper's settings or not run.  An additional row with other settings states the
difference in its name.

If a grid has several trials, each is trained without the examples of the final
evaluation and scored on the validation part (`search`); the best is selected (`choice`)
and trained with every seed (`train`).  Predictions of the trained weights on the test
part are separate runs (`read`, `rerank`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypeVar

from pydantic import Field, NonNegativeInt, PositiveInt

from lextables.models import prompts
from lextables.models.resolve import (
    API,
    STANDS_IN,
    Missing,
    Model,
    Weights,
    find,
    model_settings,
    resolve_extra,
)
from lextables.models.settings import Optimiser, Positive
from lextables.pipeline.config import Config, ExtraModel
from lextables.pipeline.entries import Entry, Line
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import Run
from lextables.tasks.references import Names, Reference

PAPER_GRID = "paper"  # the registry's grid with the paper's own settings
WHOLE = 100  # all training examples, in per cent
SUBMITTED = "submitted"  # the experiment of submitted predictions
LANGUAGE_MODELS = ("language-model", "language-model-api")  # kinds of users' models
OUR_PROMPT = "our prompt"  # in the name of a row whose published prompt is unknown
SEARCH = "search"  # the experiment of trials
CHOICE = "choice"  # the experiment that selects a trial
TRAIN = "train"  # the experiment of trainings whose weights are kept
READ = "read"  # the experiment of predictions with trained weights
ASK = "ask"  # the experiment of language models without training
NEEDS_GPU = (
    "is slow without a GPU; to run it anyway, add it to extra_models "
    "(docs/language-models.md)"
)
# The numbers of seeds in the names of rows, by number.
COUNTS = ("no seed", "one seed", "two seeds", "three seeds", "four seeds")


Percent = Annotated[int, Field(ge=1, le=WHOLE)]


@dataclass(frozen=True)
class RehearsalLimits:
    """Upper limits of trainings and outputs in a rehearsal (None: no limit)."""

    updates: int
    """Updates of a training."""
    heads: int
    """Single-task models."""
    batch_size: int | None = None
    """Examples of an update."""
    tokens: int | None = None
    """Tokens of a text."""
    output_tokens: int = 8
    """Tokens of an output of a language model."""


class Grid(Entry):
    """Training settings: the learning rates of the trials, and what trials share."""

    learning_rates: tuple[Positive, ...] = Field(min_length=1)
    """One for each trial."""
    optimiser: Optimiser
    batch_size: PositiveInt
    """Examples of an update."""
    max_length: PositiveInt
    """Tokens that the model reads at once, at most."""
    bf16: bool = False
    """A CPU trains in bfloat16 mixed precision, as GPUs that support it always do."""
    save_every: NonNegativeInt = 0
    """Updates between checkpoints; 0: none."""
    max_updates: PositiveInt | None = None
    """Updates of a training, at most; None: no limit."""
    seeds: PositiveInt | None = None
    """How many of the config's seeds are used, the first ones; None: all."""
    percents: tuple[Percent, ...] = Field((WHOLE,), min_length=1)
    """Shares of the training examples to train on."""

    def limited(self, limits: RehearsalLimits) -> Self:
        """The grid of a rehearsal."""
        changed = {"max_updates": limits.updates}
        if limits.batch_size is not None:
            changed["batch_size"] = min(self.batch_size, limits.batch_size)
        if limits.tokens is not None:
            changed["max_length"] = min(self.max_length, limits.tokens)
        return self.model_copy(update=changed)

    def training(self) -> JsonObject:
        """The settings that all trials share."""
        shared = {"optimiser", "batch_size", "max_length", "bf16", "save_every"}
        return self.model_dump(mode="json", include=shared)


AnyGrid = TypeVar("AnyGrid", bound=Grid)


def limited_grids(
    grids: Mapping[str, AnyGrid], limits: RehearsalLimits
) -> dict[str, AnyGrid]:
    """Return {name: grid} with the limits of a rehearsal."""
    return {name: grid.limited(limits) for name, grid in grids.items()}


class Panel(Entry):
    """A model of a task and its row in the tables."""

    row: Line
    """The name of the row."""
    model: str
    """Registered model, or the key of a user's model."""
    additional: bool = False
    """The row is not in the paper."""
    baseline: bool = False
    """Published values that the row reaches are marked."""
    lenient: bool = False
    """They are not marked, because the score of the row rests on a leniency of the
    released evaluator.
    """
    shares: bool = False
    """The model is also trained on each share of the training examples."""
    grids: tuple[str, ...] = ()
    """Grids under which it has a row; empty: all.  A model that learns almost nothing
    with a small budget has none there.
    """
    also_trained_on: tuple[str, ...] = ()
    """Data sets or splits that it is trained on besides the training split."""


class Task(Entry, ABC):
    """The settings of a task that a paper fixed."""

    HAS_TRAINING_SPLIT: ClassVar[bool] = True
    """Whether models are trained on the training split, and not on other folds of the
    test documents.
    """

    @property
    @abstractmethod
    def trained_models(self) -> Iterable[tuple[str, Any]]:
        """(key, entry) of each model that may name training data, in
        ``also_trained_on``.
        """

    @property
    @abstractmethod
    def conditions(self) -> list[str]:
        """The conditions of its rows' runs, which tables may show."""

    @abstractmethod
    def references(self, data_set: str, names: Names) -> Iterator[Reference]:
        """Yield the references of its keys; ``data_set`` is its name in the paper."""

    @property
    def exported_prompt(self) -> str:
        """Name of the prompt that an export shows; "" without one."""
        return ""

    @property
    def released_models(self) -> list[str]:
        """The authors' fine-tuned models, as ``<source>/<file>=<model>``."""
        return []

    def limited(self, limits: RehearsalLimits) -> Self:
        """The task of a rehearsal; a task without trainings stays as it is."""
        return self


def panel_references(
    key: str, panels: Mapping[str, Panel], names: Names
) -> Iterator[Reference]:
    """Yield the references that models of any task have; ``key`` is that of the
    ``panels``.
    """
    for name, panel in panels.items():
        yield Reference(f"{key}.{name}.model", "model", [panel.model], names.models)
        yield Reference(f"{key}.{name}.grids", "grid", panel.grids, names.grids)


def prompt_references(
    key: str, asking: Entry, fields: Iterable[str], names: Names
) -> Iterator[Reference]:
    """Yield the references to prompts in ``fields`` of ``asking``, whose key is
    ``key``.
    """
    for name in fields:
        prompt = getattr(asking, name)
        yield Reference(f"{key}.{name}", "prompt", [prompt], names.prompts)


class WithShares(Protocol):
    """Settings of trainings on shares of the training examples."""

    @property
    def percents(self) -> tuple[int, ...]:
        """The shares, in per cent."""
        ...


def share_conditions(grids: Iterable[WithShares]) -> list[str]:
    """The shares of the training examples in ``grids``, as conditions."""
    percents = {WHOLE}
    for grid in grids:
        percents.update(grid.percents)
    return [str(percent) for percent in sorted(percents, reverse=True)]


class Asking(Entry):
    """How language models are asked questions with options."""

    prompt: str
    """Name of a file of `resources/prompts`."""
    orders: Literal[1, 2] = 2
    """Orders of the options in which each question is asked."""
    samples: PositiveInt = 5
    """Sampled answers of a model that reports no probabilities."""


UserRow = TypeVar("UserRow", bound=Entry)
GridType = TypeVar("GridType")


def grid_named(name: str, grids: Mapping[str, GridType], where: str) -> GridType:
    """Return the grid ``name``; `BadInput` if the key ``where`` of a paper's file lacks
    it.
    """
    if name not in grids:
        what = f"there is no grid {name!r}, only {', '.join(grids) or 'none'}"
        raise BadInput(what, where=where, do="add it to the paper's file")
    return grids[name]


@dataclass(frozen=True)
class Spec:
    """The settings of a run and its dependencies."""

    settings: JsonObject
    needs: tuple[Run, ...] = ()
    """Runs whose predictions it reads."""
    sources: tuple[Run, ...] = ()
    """Runs whose weights it reads."""
    choice: Run | None = None
    """The run that selects its trial."""

    @property
    def weights_of(self) -> Run | None:
        """The first run whose weights it reads."""
        return next(iter(self.sources), None)


# Fields of a panel that its row has, too.
PANEL_FIELDS = ("additional", "baseline", "lenient")
# Fields of a row that `Row.plain` copies unchanged.
ROW_FIELDS = (
    "row",
    "additional",
    "submitted",
    "asked",
    "reason",
    "parameters",
    "trained",
    "averages",
    "baseline",
    "lenient",
    "trained_on",
    "seen",
)


@dataclass(frozen=True)
class Row:
    """A table row and its runs."""

    row: str
    """The name of the row."""
    additional: bool = False
    """It is not in the paper."""
    submitted: bool = False
    """It shows submitted predictions."""
    asked: bool = False
    """It shows a language model without training."""
    reason: str = ""
    """Why it has no runs."""
    parameters: int | None = None
    """The total parameter count of its models; None if unknown."""
    trained: bool = False
    """Its models are trained here."""
    averages: int = 1
    """The number of runs that a published score is the mean of."""
    baseline: bool = False
    """Published values that it reaches are marked."""
    lenient: bool = False
    """They are not marked (`Panel`)."""
    trained_on: str = ""
    """The training data sets of its models, as text."""
    seen: str = ""
    """Which of these data sets contain the test texts, as text."""
    training_data: tuple[str, ...] = ()
    """The other data sets on which its models are trained here."""
    runs: dict[str, tuple[Run, ...]] = field(default_factory=dict)
    """{condition: its runs, one per seed}."""
    about: JsonObject = field(default_factory=dict)
    """Fields of the task by which tables select rows."""

    def plain(self) -> JsonObject:
        """The row as plain values, for a rule's params: its `ROW_FIELDS`, the fields
        ``about`` it, its ``training_data``, and {condition: folders of its runs}.
        """
        plain = dict(self.about)
        for name in ROW_FIELDS:
            plain[name] = getattr(self, name)
        plain["training_data"] = list(self.training_data)
        folders = {}
        for condition, runs in sorted(self.runs.items()):
            folders[condition] = [run.folder for run in runs]
        plain["runs"] = folders
        return plain


@dataclass(frozen=True)
class Plan:
    """The runs of a paper, and ``rows``: {table: its rows as plain values}.

    ``names`` are the names of all rows, including excluded ones.
    """

    specs: dict[Run, Spec]
    rows: dict[str, list[JsonObject]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()

    def folders(self, table: str) -> list[str]:
        """The sorted folders of the runs in ``table``.

        It is empty for a table made from data only.
        """
        folders: set[str] = set()
        for row in self.rows.get(table, []):
            for runs in row["runs"].values():
                folders.update(runs)
        return sorted(folders)


@dataclass(frozen=True)
class Difference:
    """A difference of a row's runs from the paper, in words."""

    needs: str
    """What the published row needs: a part of the reason why it is not run."""
    ours: str
    """What the runs have instead: a part of the name of the additional row."""


@dataclass(frozen=True)
class Trial:
    """The settings of one training of a grid, and their name in paths."""

    name: str
    settings: JsonObject


@dataclass(frozen=True)
class Search:
    """The trainings among which a choice selects the settings of a trial."""

    settings: JsonObject
    """The settings that all trials share."""
    trials: Sequence[Trial]
    """The trials; if there are none, the authors' published settings are chosen."""
    seeds: Sequence[int]
    """Each trial is trained with each of them."""
    choosing: JsonObject
    """The settings of the choice."""
    model: str = ""
    """The model in the names of the searches, if several choices share them."""
    reads: tuple[Run, ...] = ()
    """Runs whose predictions each search reads."""
    ranks: tuple[Run, ...] = ()
    """Runs whose predictions the choice ranks again."""


@dataclass(frozen=True)
class SubmittedFiles:
    """Submitted predictions for one data set, with the name and key of their row.

    ``form`` is one of the planner's `FORMS`; ``contents`` are the digests of the files,
    one per seed.
    """

    row: str
    key: str
    form: str
    contents: tuple[str, ...]


@dataclass(frozen=True)
class Context:
    """Everything besides a paper's registry that a plan depends on."""

    config: Config
    models: Mapping[str, Model]
    """The registered models."""
    root: Path
    """The folder of the project."""
    gpu: bool
    """Whether training will find a GPU, which selects the grid under ``grid: auto``."""
    submitted: Mapping[str, Sequence[SubmittedFiles]] = field(default_factory=dict)
    """{data set: its submitted predictions}."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """{auxiliary data set that is not available: the reason}
    (`planning.paper_plan.absent_data`).
    """

    @property
    def mirrors(self) -> list[Path]:
        return self.config.mirrors(self.root)

    @cached_property
    def users_models(self) -> dict[str, ExtraModel]:
        """{key: the user's model}."""
        return {extra.key: extra for extra in self.config.extra_models}

    @property
    def reads_all(self) -> bool:
        """Whether nothing is left out because it takes too long without a GPU."""
        return self.gpu or self.config.rehearsal

    @property
    def grid(self) -> str:
        """The name of the grid that is searched."""
        return self.config.grid_name(self.gpu)

    def weights(self, model: str) -> Weights | Missing:
        """The weights of a registered or a user's model, or why they are missing."""
        extra = self.users_models.get(model)
        if extra:
            return resolve_extra(extra, self.config.models)
        return find(model, self.config, self.models, self.mirrors)

    def prompt(self, name: str) -> list[list[str]]:
        """A prompt of the project, for the settings of a run.

        A changed prompt changes the run.
        """
        return prompts.load(self.root / f"resources/prompts/{name}.txt").plain()

    def parameters(self, *models: str) -> int | None:
        """The total parameter count of models; None if one is not public."""
        total = 0
        for model in models:
            registered = self.models.get(self._ran(model))
            if registered is None or registered.parameters is None:
                return None
            total += registered.parameters
        return total

    def _ran(self, model: str) -> str:
        """The model whose weights are used under this name: mostly the model itself.

        It is the model's stand-in if that was found in its place, as on the sample.
        """
        registered = self.models.get(model)
        if registered is None or not registered.stand_in:
            return model
        weights = self.weights(model)
        if isinstance(weights, Weights) and weights.found == STANDS_IN:
            return registered.stand_in
        return model


class Planner(ABC):
    """Plans the runs of one data set's task: `rows` returns the rows of the tables, and
    registers their runs in ``specs`` (`add`).

    ``name`` is the data set's, used in paths of features and runs.  ``MAIN`` is the
    condition that most tables show, and ``STAGES`` are the experiments whose
    predictions are scored.  ``FORMS`` are the formats of a user's predictions, {format:
    endings of file names}.  ``others`` are the planners of the paper's data sets, by
    name: a model may be trained on several, one after another.
    """

    MAIN: str = str(WHOLE)
    STAGES: ClassVar[tuple[str, ...]]
    FORMS: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __init__(self, name: str, task: Any, context: Context) -> None:
        self.name = name
        self.task = task
        self.context = context
        self.specs: dict[Run, Spec] = {}
        self.others: Mapping[str, Planner] = {}

    @classmethod
    def forms(cls, task: Any) -> Mapping[str, tuple[str, ...]]:
        """The formats of a user's predictions for ``task``."""
        return cls.FORMS

    @abstractmethod
    def rows(self) -> list[Row]:
        """The rows of the registry, then those of the user's models."""

    def submitted_rows(self) -> list[Row]:
        """The rows of submitted predictions."""
        extras = self.context.submitted.get(self.name, ())
        return [self.submitted_row(extra) for extra in extras]

    def submitted_row(self, extra: SubmittedFiles) -> Row:
        """The row of submitted predictions; their runs check and store them."""
        runs = []
        for seed, content in enumerate(extra.contents):
            run = self.run(SUBMITTED, extra.key, self.MAIN, seed)
            runs.append(self.add(run, {"form": extra.form, "content": content}))
        shown = {self.MAIN: tuple(runs)}
        return Row(extra.row, additional=True, submitted=True, runs=shown)

    def user_models(self, *kinds: str) -> list[Any]:
        """The user's models of these kinds."""
        extras = self.context.config.extra_models
        return [extra for extra in extras if extra.kind in kinds]

    def user_panels(
        self, entry: type[UserRow], kinds: Sequence[str], **fields: Any
    ) -> dict[str, UserRow]:
        """{key: the additional panel} of the user's models of these ``kinds``.

        Panels are of the class ``entry``; ``fields`` are their other fields.
        """
        fields = {"additional": True, **fields}
        panels = {}
        for extra in self.user_models(*kinds):
            values = {"row": extra.name, "model": extra.key, **fields}
            panels[extra.key] = entry.model_validate(values)
        return panels

    def user_language_models(self, entry: type[UserRow]) -> dict[str, UserRow]:
        """The entries of the user's language models.

        There are none if the task has no `Asking`.
        """
        if not self.task.asking:
            return {}
        return self.user_panels(entry, LANGUAGE_MODELS, kind="language-model")

    def in_grid(self, panel: Panel) -> bool:
        """Whether a panel has a row under the grid that is searched."""
        return not panel.grids or self.context.grid in panel.grids

    def language_model(self, model: str) -> JsonObject | Missing:
        """The settings of a language model, or the reason why it is not run.

        Registered models that run locally need a GPU, except on the sample data.
        """
        weights = self.context.weights(model)
        if isinstance(weights, Missing):
            return weights
        config = self.context.config
        settings = model_settings(model, weights)
        if weights.found == API:
            settings["api"] = config.llm
            return settings
        needs_gpu = model in self.context.models and config.data != "sample"
        if needs_gpu and not self.context.gpu:
            return Missing(NEEDS_GPU)
        return settings

    def panel_row(self, panel: Panel, **fields: Any) -> Row:
        """The row of a panel; other fields of the row are in ``fields``."""
        row_fields = panel.model_dump(include=set(PANEL_FIELDS))
        models = [panel.model] if panel.model else []
        row_fields["parameters"] = self.context.parameters(*models)
        row_fields.update(fields)
        return Row(panel.row, **row_fields)

    def asked_row(
        self, key: str, panel: Panel, settings: JsonObject, about: JsonObject
    ) -> Row:
        """The additional row of a language model, with one run."""
        run = self.add(self.run(ASK, key, settings["kind"]), settings)
        return self.panel_row(
            panel, additional=True, asked=True, runs={self.MAIN: (run,)}, about=about
        )

    def run(self, experiment: str, model: str, condition: str, seed: int = 0) -> Run:
        """A run on the planner's data set, not yet registered."""
        return Run(self.name, experiment, model, condition, seed)

    def add(
        self,
        run: Run,
        settings: JsonObject,
        *,
        weights_of: Run | None = None,
        **runs: Any,
    ) -> Run:
        """Register a run.

        ``runs`` are its dependencies (`Spec`); ``weights_of`` is the run whose weights
        it loads.
        """
        if weights_of:
            runs["sources"] = (weights_of,)
        self.specs[run] = Spec(dict(settings), **runs)
        return run

    def seeds(self, grid: Grid) -> tuple[int, ...]:
        """The seeds of trainings with a grid."""
        return self.context.config.seeds[: grid.seeds]

    def add_trainings(
        self,
        model: str,
        condition: str,
        settings: JsonObject,
        grid: Grid,
        *,
        experiment: str = TRAIN,
        search: Search | None = None,
        weights_of: Run | None = None,
    ) -> list[Run]:
        """Register a training with each seed of ``grid``, and the ``search`` for the
        settings of all of them.

        ``weights_of`` is the run whose weights the trainings start from.
        """
        choice = None
        if search:
            choice = self.add_choice(model, condition, search, weights_of)
        runs = []
        for seed in self.seeds(grid):
            run = self.run(experiment, model, condition, seed)
            runs.append(self.add(run, settings, weights_of=weights_of, choice=choice))
        return runs

    def add_choice(
        self, model: str, condition: str, search: Search, weights_of: Run | None
    ) -> Run:
        """Register a training of each trial and seed of a search, and the choice of the
        best trial by their scores on validation data.
        """
        searched = []
        for trial in search.trials:
            settings = {**search.settings, **trial.settings}
            name = f"{condition}-{trial.name}"
            for seed in search.seeds:
                run = self.run(SEARCH, search.model or model, name, seed)
                self.add(run, settings, weights_of=weights_of, needs=search.reads)
                searched.append(run)
        run = self.run(CHOICE, model, condition)
        return self.add(run, search.choosing, needs=(*search.ranks, *searched))

    def add_inference(
        self, training: Run, settings: JsonObject, experiment: str = READ
    ) -> Run:
        """Register the run that predicts with the weights of a training.

        It has the name of the training, with another ``experiment``.
        """
        run = replace(training, experiment=experiment)
        return self.add(run, settings, weights_of=training)

    def weights_folder(self, run: Run) -> str:
        """Path of a run's weights folder."""
        return f"{self.context.config.results}/{run.folder}/weights"

    def rows_by_settings(
        self, row: Row, differences: Sequence[Difference]
    ) -> list[Row]:
        """The row with its runs, if there are no ``differences`` from the paper.

        Otherwise the published row has a reason instead of runs, and an additional row
        has the runs.
        """
        if row.additional or not row.runs or not differences:
            return [row]
        published = replace(row, runs={}, reason=reason_not_run(differences))
        name = additional_name(row.row, differences)
        return [published, replace(row, row=name, additional=True)]

    def weight_differences(self, model: str) -> list[Difference]:
        """The difference of a registered model whose weights are a GGUF file that the
        registry does not name.
        """
        weights = self.context.weights(model)
        if isinstance(weights, Missing) or not weights.gguf:
            return []
        needs = f"its published weights, and not the file {weights.gguf}"
        return [Difference(needs, f"weights of {weights.gguf}")]

    def budget_differences(
        self, grid: Grid, descriptions: Sequence[str]
    ) -> list[Difference]:
        """The difference of another grid than the paper's, with ``descriptions`` of its
        settings; none under the paper's grid.
        """
        if self.context.grid == PAPER_GRID:
            return []
        texts = list(descriptions)
        if grid.bf16:
            texts.append("bfloat16")
        ours = f"{self.context.grid} budget: {', '.join(texts)}"
        return [Difference(f"grid={PAPER_GRID}", ours)]


def rate_name(rate: float) -> str:
    """Return a learning rate for paths, such as `lr1e-04`, with all its digits."""
    mantissa, _ = f"{rate:.15e}".split("e")
    _, digits = mantissa.rstrip("0").split(".")
    return f"lr{rate:.{len(digits)}e}"


def rate_trials(rates: Sequence[float], updates: Sequence[int]) -> list[Trial]:
    """Return a trial of each learning rate; one training tries all ``updates``."""
    trials = []
    for rate in rates:
        tried = {"learning_rate": rate, "updates": list(updates)}
        trials.append(Trial(rate_name(rate), tried))
    return trials


def fewer_seeds(seeds: int, averages: int) -> list[Difference]:
    """The difference of a row with fewer runs than the paper averages."""
    if seeds >= averages:
        return []
    return [Difference(_count(averages), _count(seeds))]


def _count(seeds: int) -> str:
    """A number of seeds in words, such as `two seeds`."""
    return COUNTS[seeds] if seeds < len(COUNTS) else f"{seeds} seeds"


def reason_not_run(differences: Sequence[Difference]) -> str:
    """The reason why a published row is not run with other settings."""
    needs = " and ".join(difference.needs for difference in differences)
    return f"needs {needs}, as in the paper"


def additional_name(row: str, differences: Sequence[Difference]) -> str:
    """The name of an additional row: the published row's name and the differences."""
    ours = [difference.ours for difference in differences]
    return ", ".join([row, *ours])


def shown(
    rows: Sequence[Row], where: Sequence[Mapping[str, Any]], conditions: Sequence[str]
) -> list[JsonObject]:
    """The rows of a table as plain values, in their order.

    A row is shown if it has all fields of one of the mappings in ``where``; a list
    there means any of its values.  Only runs of ``conditions`` are shown, or all if it
    is empty.
    """
    shown_rows = []
    for row in rows:
        plain = row.plain()
        if not any(_has(plain, fields) for fields in where):
            continue
        if conditions:
            runs = plain["runs"]
            plain["runs"] = {name: runs[name] for name in runs if name in conditions}
        shown_rows.append(plain)
    return shown_rows


def _has(row: JsonObject, fields: Mapping[str, Any]) -> bool:
    """Whether a row has these values of fields; a list means any of its values."""
    for name, value in fields.items():
        allowed = value if isinstance(value, list | tuple) else (value,)
        if row.get(name) not in allowed:
            return False
    return True
