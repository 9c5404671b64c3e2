"""The runs of a classification task: one model for each head, or one model for all
heads.

In a task with views, a model is trained with each of some views, and each trained model
is tested with several.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from pydantic import (
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    field_validator,
    model_validator,
)

from lextables.metrics.classification import METRICS
from lextables.models.resolve import Missing, Weights, model_settings
from lextables.pipeline.entries import Entry
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import Run
from lextables.pipeline.user_rows import Key
from lextables.tasks.classification.settings import (
    AskingSettings,
    ChoiceSettings,
    FeatureKind,
    FeatureSettings,
    HeadKind,
    InferenceSettings,
    LinearSettings,
    Loss,
    Reading,
    Sides,
    TrainingSettings,
    View,
)
from lextables.tasks.planner import (
    ASK,
    READ,
    SUBMITTED,
    TRAIN,
    WHOLE,
    Asking,
    Difference,
    Grid,
    Panel,
    Percent,
    Planner,
    RehearsalLimits,
    Row,
    Search,
    Spec,
    SubmittedFiles,
    Task,
    fewer_seeds,
    grid_named,
    limited_grids,
    panel_references,
    prompt_references,
    rate_trials,
    share_conditions,
)
from lextables.tasks.references import Names, Reference

SETTINGS = ("single", "multi")  # single-task models, and a multi-task model
OF_VECTORS = ("vectors", "both")  # the features of linear models that need an encoder
UNTRAINED = "none"  # the view of a model that is not trained on the task


def condition_of(training_view: str, test_view: str) -> str:
    """Return the name of a condition: what a model is trained on and what it reads."""
    return f"{training_view} > {test_view}"


class ClassificationPanel(Panel):
    """A model of the panel, trained ``single``-task, ``multi``-task, or both."""

    kind: Literal["encoder", "linear", "language-model"] = "encoder"
    """`linear` is one model per head; a `language-model` is not trained (`Asking`)."""
    model: str = ""
    """Registered model; for a linear model of vectors, the sentence encoder."""
    features: FeatureKind = "words"
    """Features of a linear model (`settings.LinearSettings.features`)."""
    sides: Sides = "both"
    """The texts of a pair that a linear model reads."""
    single: bool = False
    """One model is trained for each head."""
    multi: bool = True
    """One model is trained for all heads."""
    grid: str | None = None
    """The part of the grid that it is trained with; None: the part `single` or
    `multi`.
    """
    published: str | None = None
    """Name of the model in the authors' own settings."""
    trained_on: tuple[str, ...] = ()
    """In a task with views, the views that it is trained on; empty: all of the task's
    ``readings``.
    """
    heads: tuple[str, ...] = ()
    """In a task with views, its heads; empty: the heads of the task."""
    where: str | None = None
    """In a task with views, a column that is true for its training examples; None: all
    examples.
    """
    after: str | None = None
    """Another data set of the paper that the model is trained on first."""
    checkpoint: str | None = None
    """Registered model that others trained in this way on this data set; it is used if
    it is available.
    """
    new_heads: bool = False
    """It gets new heads, even if it starts from a training with heads (``after``)."""

    @model_validator(mode="after")
    def _check_model(self) -> "ClassificationPanel":
        needs_model = self.kind != "linear" or self.features in OF_VECTORS
        if (needs_model or self.after) and not self.model:
            raise ValueError(f"the row {self.row!r} needs a model")
        return self


class TaskView(View):
    """The texts of an example that a model reads, in the registry."""

    max_length: PositiveInt | None = None
    """Texts are cut at this number of tokens, if it is less than the grid's length."""

    def columns(self) -> View:
        """Return the view without its length."""
        return View(text=self.text, pair=self.pair)


class ClassificationGrid(Grid):
    """The search grid, and how heads are trained.

    The length of a training is stated in ``updates``, ``epochs`` or ``passes``.
    """

    updates: tuple[PositiveInt, ...] = ()
    """Numbers of updates to try, all of them in one training."""
    epochs: tuple[PositiveInt, ...] = ()
    """Numbers of epochs to try, of ``updates_per_epoch`` each."""
    updates_per_epoch: PositiveInt = 1
    passes: PositiveFloat | None = None
    """Number of passes over the examples."""
    head: HeadKind = "family"
    """Kind of the classification heads (`multi_head`)."""
    heads: PositiveInt | None = None
    """Maximum number of single-task models; None: one for each head."""
    trained_on: tuple[str, ...] = ()
    """Views to train on; empty: all of the panel."""

    @model_validator(mode="after")
    def _check_length(self) -> Self:
        if not (self.updates or self.epochs or self.passes):
            raise ValueError("a grid needs updates, epochs or passes")
        return self

    def limited(self, limits: RehearsalLimits) -> Self:
        """The grid of a rehearsal."""
        return super().limited(limits).model_copy(update={"heads": limits.heads})

    def training(self) -> JsonObject:
        """The settings that all trials share."""
        shared = super().training()
        if self.max_updates is not None:
            shared["max_updates"] = self.max_updates
        return {**shared, "passes": self.passes, "head": self.head, "heads": self.heads}

    @property
    def tried_updates(self) -> list[int]:
        """The numbers of updates that trials try; epochs are converted to updates."""
        epoch_updates = [epochs * self.updates_per_epoch for epochs in self.epochs]
        return [*self.updates, *epoch_updates]


class LinearGrid(FeatureSettings):
    """Settings of linear models; all were chosen on the final splits, by
    cross-validation.

    A panel with ``shares`` is also trained on ``percents`` of the examples.
    """

    percents: tuple[Percent, ...] = (WHOLE,)


class ClassificationAsking(Asking):
    """How language models are asked about examples; the answers of a head are the
    options.

    The prompt has the fields `text`, `options`, of pairs `second`, and `question` if
    ``question`` names a column.
    """

    question: str = ""
    """Column of the heads with the question; empty if the prompt words it."""
    wordings: Mapping[str, str] = {}
    """{answer: its words in the question}, for some answers."""
    views: tuple[str, ...] = ()
    """The views that are asked about, in a task with views."""


class ClassificationTables(Entry):
    """Names of the data set's tables that the task reads."""

    heads: str = "heads"
    texts: str = "texts"


class ClassificationTask(Task):
    """The settings of a classification task that a paper fixed.

    In a task with views an example has several texts, and a view names the texts that
    a model reads.
    """

    task: Literal["classification"]
    names: ClassificationTables = ClassificationTables()
    training: tuple[str, ...] = ("train",)
    """Splits that a search trains on."""
    validation: tuple[str, ...] = ("dev",)
    """Splits that a search predicts."""
    final: tuple[str, ...] = ("train",)
    """Splits that the chosen settings are trained on."""
    test: tuple[str, ...] = ("test",)
    """Splits that are predicted and scored."""
    evaluator: Literal["general", "minority AUPR"] = "general"
    """`general`, with ``metrics`` and ``choose_by``, or a released evaluator."""
    metrics: tuple[str, ...] = ()
    """Names in `metrics.classification`."""
    choose_by: str = "AUPR"
    """The metric that a search maximises."""
    unit: str | None = None
    """Column of the examples with the unit (what intervals sample); None: each example
    is a unit, or each contract for `minority AUPR`.
    """
    multi_label: bool = False
    """An example has any number of right answers (``labels``) instead of exactly one
    (``label``).
    """
    loss: Loss = "cross_entropy"
    """One of `multi_head.LOSSES`."""
    sampling: Literal["balanced", "shuffled"] = "shuffled"
    """Order of the training examples of a head (`examples.QUEUES`)."""
    class_weights: Literal["none", "balanced"] = "none"
    """Whether the answers of a head have equal weight in its loss."""
    heads: tuple[str, ...] = ()
    """Heads of a model whose panel names none; empty: all of the data set."""
    views: Mapping[Key, TaskView] = {}
    """The texts that a model can read."""
    readings: Mapping[str, tuple[str, ...]] = {}
    """{view in training: views in the test}; the key `none` is for models that are not
    trained on the task.
    """
    groups: tuple[str, ...] = ()
    """Columns; the examples for which one is true are also scored as a group."""
    models: Mapping[Key, ClassificationPanel]
    min_test: NonNegativeInt = 0
    """With fewer test examples nothing is trained or scored, except on the sample."""
    averages: PositiveInt = 1
    """The number of runs whose mean is a published score."""
    grids: Mapping[str, Mapping[str, ClassificationGrid]]
    """{size of the search (`paper`: the paper's): {`single`, `multi`, or the ``grid``
    of a panel: grid}}.
    """
    linear: LinearGrid | None = None
    """Needed for panels of the kind `linear`."""
    asking: ClassificationAsking | None = None
    """Needed for language models."""

    @property
    def trained_models(self) -> Iterable[tuple[str, Any]]:
        return self.models.items()

    @property
    def conditions(self) -> list[str]:
        grids: list[Grid | LinearGrid] = [self.linear] if self.linear else []
        for grids_of_size in self.grids.values():
            grids += grids_of_size.values()
        return share_conditions(grids)

    def references(self, data_set: str, names: Names) -> Iterator[Reference]:
        key = f"tasks.{data_set}"
        heads = names.heads.get(data_set, ())
        if heads:
            yield Reference(f"{key}.heads", "head", self.heads, heads)
        views = [*self.views, UNTRAINED]
        yield Reference(f"{key}.readings", "view", self.readings, views)
        for name, read in self.readings.items():
            yield Reference(f"{key}.readings.{name}", "view", read, self.views)
        yield from panel_references(f"{key}.models", self.models, names)
        for name, panel in self.models.items():
            where = f"{key}.models.{name}"
            yield from self.references_of_panel(where, panel, names)
            if heads:
                yield Reference(f"{where}.heads", "head", panel.heads, heads)
        yield Reference(f"{key}.grids", "grid", self.grids, names.grids)
        for size, grids in self.grids.items():
            for part, grid in grids.items():
                where = f"{key}.grids.{size}.{part}.trained_on"
                kind = "training view"
                yield Reference(where, kind, grid.trained_on, self.readings)
        if self.asking:
            where = f"{key}.asking"
            yield from prompt_references(where, self.asking, ["prompt"], names)
            yield Reference(f"{where}.views", "view", self.asking.views, self.views)

    def references_of_panel(
        self, key: str, panel: ClassificationPanel, names: Names
    ) -> Iterator[Reference]:
        """Yield the references that only models of this task have."""
        parts = dict.fromkeys(part for grids in self.grids.values() for part in grids)
        tasks = [name for name, task in names.tasks.items() if task.task == self.task]
        kind = "part of the grids"
        yield Reference(f"{key}.grid", kind, [panel.grid], parts)
        kind = "training view"
        yield Reference(f"{key}.trained_on", kind, panel.trained_on, self.readings)
        yield Reference(f"{key}.after", "classification task", [panel.after], tasks)
        checkpoint = [panel.checkpoint]
        yield Reference(f"{key}.checkpoint", "model", checkpoint, names.models)

    def heads_of(self, model: str, heads: Collection[str]) -> Collection[str]:
        """The heads of a model: those that its panel or the task names, or all the
        ``heads`` of the data set.
        """
        return self.models[model].heads or self.heads or heads

    @property
    def exported_prompt(self) -> str:
        return self.asking.prompt if self.asking else ""

    def limited(self, limits: RehearsalLimits) -> Self:
        """The task of a rehearsal, with small trainings."""
        grids = {}
        for size, grids_of_size in self.grids.items():
            grids[size] = limited_grids(grids_of_size, limits)
        return self.model_copy(update={"grids": grids})

    @field_validator("metrics", "choose_by")
    @classmethod
    def _check_metrics(cls, names: Any) -> Any:
        several = [names] if isinstance(names, str) else names
        for name in several:
            if name not in METRICS:
                metric_names = ", ".join(METRICS)
                raise ValueError(f"there is no metric {name!r}; use {metric_names}")
        return names

    @model_validator(mode="after")
    def _check_settings(self) -> "ClassificationTask":
        """Raise ValueError for settings that do not go together."""
        if self.evaluator == "general" and not self.metrics:
            raise ValueError("the general evaluator needs metrics")
        settings = (self.loss, self.sampling, self.evaluator)
        needed = ("binary_cross_entropy", "shuffled", "general")
        if self.multi_label and settings != needed:
            what = "binary_cross_entropy, shuffled and the general evaluator"
            raise ValueError(f"multi_label needs {what}")
        if self.asking and self.multi_label:
            raise ValueError("asking needs one right answer per example")
        for panel in self.models.values():
            self._check_panel(panel)
        return self

    def _check_panel(self, panel: ClassificationPanel) -> None:
        """Raise ValueError for a panel that lacks a setting of the task."""
        row = f"the row {panel.row!r}"
        if panel.kind == "language-model" and not self.asking:
            raise ValueError(f"{row} needs asking, with the name of a prompt")
        penalties = self.linear.penalty if self.linear else {}
        if panel.kind == "linear" and panel.features not in penalties:
            what = f"needs a penalty for {panel.features} under linear"
            raise ValueError(f"{row} {what}")


@dataclass(frozen=True)
class Start:
    """What a training starts from."""

    weights: Weights | None
    """The initial weights; None for a linear model over words."""
    tokenizer: Weights | None = None
    """The weights whose tokenizer makes the tokens."""
    cut_by: str = ""
    """The name of the model that this tokenizer belongs to."""
    run: Run | None = None
    """The run that makes the initial weights, if one does."""


class ClassificationPlanner(Planner):
    """Plans a classification task.

    The conditions of a row are shares of the training examples.  The methods that
    return a `Run` or several also register them (`add`).
    """

    STAGES = (READ, "single-task", ASK, SUBMITTED)
    FORMS: ClassVar = {"csv": (".csv",), "jsonl": (".jsonl",)}
    task: ClassificationTask

    def rows(self) -> list[Row]:
        """The rows of all panels, and of the user's models."""
        if self.task.views and not any(self.task.readings.values()):
            return []  # the data set is only used for training
        panels = dict(self.task.models)
        encoders = [panel for panel in panels.values() if panel.kind == "encoder"]
        # A user's encoder is trained in the settings of any encoder of the paper.
        settings = {}
        for name in SETTINGS:
            settings[name] = any(getattr(panel, name) for panel in encoders)
        panels.update(self.user_panels(ClassificationPanel, ["encoder"], **settings))
        panels.update(self.user_language_models(ClassificationPanel))
        rows = []
        for key, panel in panels.items():
            if self.in_grid(panel):
                rows += self.panel_rows(key, panel)
        return rows

    def panel_rows(self, key: str, panel: ClassificationPanel) -> list[Row]:
        """The rows of a panel: one, or one for each of its `SETTINGS`; each may have an
        additional row (`rows_by_settings`).
        """
        if panel.kind == "language-model":
            return self.asked_rows(key, panel)
        if self.task.views:
            row = self.row_with_views(key, panel)
            if not row.trained:
                return [row]
            return self.rows_by_settings(row, self.differences(row, panel, "multi"))
        if panel.kind == "linear":
            return [self.linear_row(key, panel)]
        rows = []
        for setting in SETTINGS:
            if getattr(panel, setting):
                row = self.encoder_row(key, panel, setting)
                rows += self.rows_by_settings(
                    row, self.differences(row, panel, setting)
                )
        return rows

    def selection(self, panel: ClassificationPanel) -> JsonObject:
        """The examples of a training, as fields of `settings.ExampleSelection`."""
        return {"only": self.heads(panel), "where": panel.where, **self.min_test()}

    def min_test(self) -> JsonObject:
        """The fewest test examples for training; none on the sample."""
        if not self.task.min_test or self.context.config.data == "sample":
            return {}
        return {"min_test": self.task.min_test, "test": self.task.test}

    def asked_rows(self, key: str, panel: ClassificationPanel) -> list[Row]:
        """The row of a language model that is asked; none if it cannot be."""
        model = self.language_model(panel.model)
        if isinstance(model, Missing):
            return []
        asking = self.task.asking
        assert asking is not None  # a task with language models has it
        fields = asking.model_dump(exclude={"views", "prompt"})
        readings = []
        for view in asking.views:
            condition = condition_of(UNTRAINED, view)
            columns = self.task.views[view].columns()
            readings.append(Reading(condition=condition, view=columns))
        if self.task.views:
            fields["readings"] = readings
        settings = AskingSettings(
            **model,
            **fields,
            kind=panel.kind,
            only=self.heads(panel),
            prompt=self.context.prompt(asking.prompt),
        )
        about = {"setting": "asked", "heads": ", ".join(self.heads(panel))}
        return [self.asked_row(key, panel, settings.plain(), about)]

    def linear_row(self, key: str, panel: ClassificationPanel) -> Row:
        """The row of linear models, one per head; models of words need no weights."""
        weights: Weights | Missing | None = None
        if panel.features in OF_VECTORS:
            weights = self.context.weights(panel.model)
        percents: tuple[int, ...] = (WHOLE,)
        if panel.shares and self.context.config.data != "sample":
            percents = self.linear_grid.percents
        reason = ""
        runs = {}
        if isinstance(weights, Missing):
            reason = weights.reason
        else:
            for percent in percents:
                run = self.linear_run(key, panel, weights, percent)
                runs[str(percent)] = (run,)
        about = {"setting": "single"}
        return self.panel_row(
            panel, reason=reason, trained=True, runs=runs, about=about
        )

    def linear_run(
        self,
        key: str,
        panel: ClassificationPanel,
        weights: Weights | None,
        percent: int,
    ) -> Run:
        """Register the run that predicts the test examples, and its training, which is
        a separate run.
        """
        settings = self.linear_settings(panel, weights, percent=percent, view=None)
        name = panel.kind if percent == WHOLE else f"{panel.kind}-p{percent}"
        training = self.add(self.run(TRAIN, key, name), settings)
        return self.add_inference(training, settings)

    @property
    def linear_grid(self) -> LinearGrid:
        """The settings of linear models; the task has them if it has such models."""
        assert self.task.linear is not None
        return self.task.linear

    def linear_settings(
        self, panel: ClassificationPanel, weights: Weights | None, **fields: Any
    ) -> JsonObject:
        """Plain `LinearSettings` with these ``fields``."""
        encoder = model_settings(panel.model, weights) if weights else {}
        settings = LinearSettings(
            **self.linear_grid.model_dump(exclude={"percents"}),
            **self.selection(panel),
            **encoder,
            **fields,
            kind="linear",
            features=panel.features,
            sides=panel.sides,
            multi_label=self.task.multi_label,
        )
        return settings.plain()

    def grid(self, panel: ClassificationPanel, setting: str) -> ClassificationGrid:
        """The grid that a panel is trained with in a setting (`SETTINGS`)."""
        where = f"{self.name}.grids"
        size = self.context.grid
        grids = grid_named(size, self.task.grids, where)
        return grid_named(panel.grid or setting, grids, f"{where}.{size}")

    def published_name(self, panel: ClassificationPanel) -> str | None:
        """The model's name in the authors' settings; None if the configuration does not
        use these.
        """
        uses = self.context.config.hyperparameters == "published"
        return panel.published if uses else None

    def differences(
        self, row: Row, panel: ClassificationPanel, setting: str
    ) -> list[Difference]:
        """How the runs of ``row`` differ from the paper's."""
        grid = self.grid(panel, setting)
        descriptions = []
        if grid.passes is not None:
            passes = "pass" if grid.passes == 1 else "passes"
            descriptions.append(f"{grid.passes:g} {passes} over the examples")
        elif not self.published_name(panel):
            count = grid.tried_updates[-1]
            updates = "update" if count <= 1 else "updates"
            descriptions.append(f"{count} {updates} of {grid.batch_size} examples")
        descriptions.append(f"texts cut at {grid.max_length} tokens")
        if grid.heads is not None and setting == "single":
            descriptions.append(f"{grid.heads} heads")
        differences = self.budget_differences(grid, descriptions)
        if panel.published and not self.published_name(panel):
            ours = "settings of our own search"
            differences.append(Difference("hyperparameters=published", ours))
        seeds = len(row.runs.get(self.MAIN, ()))
        return differences + fewer_seeds(seeds, self.task.averages)

    def encoder_row(self, key: str, panel: ClassificationPanel, setting: str) -> Row:
        """The row of an encoder in a task without views.

        ``setting`` is one of `SETTINGS`.
        """
        weights = self.context.weights(panel.model)
        grid = self.grid(panel, setting)
        reason = ""
        runs = {}
        if isinstance(weights, Missing):
            reason = weights.reason
        else:
            percents: tuple[int, ...] = (WHOLE,)
            if panel.shares and setting == "single":
                percents = grid.percents
            for percent in percents:
                runs_of_share = self.encoder_runs(key, panel, setting, weights, percent)
                runs[str(percent)] = tuple(runs_of_share)
        return self.panel_row(
            panel,
            reason=reason,
            trained=True,
            averages=self.task.averages,
            runs=runs,
            about={"setting": setting},
        )

    def encoder_runs(
        self,
        key: str,
        panel: ClassificationPanel,
        setting: str,
        weights: Weights,
        percent: int,
    ) -> list[Run]:
        """Register the runs that predict the test examples, one per seed, and the runs
        that they depend on.

        A multi-task training keeps its weights, and a separate run predicts.  The
        single-task models of a seed are trained by one run, which also predicts.
        """
        grid = self.grid(panel, setting)
        name = f"{setting}-{self.context.grid}"
        if percent != WHOLE:
            name += f"-p{percent}"
        start = Start(weights, weights, panel.model)
        tried = len(grid.learning_rates) * len(grid.tried_updates)
        training = self.training_settings(
            grid,
            start,
            setting=setting,
            percent=percent,
            published=self.published_name(panel),
            tried=tried,
            view=None,
            only=(),
            where=None,
            learning_rate=grid.learning_rates[0],
            updates=grid.tried_updates[:1],
        )
        search = None
        if training.published or tried > 1:
            search = self.search(training, grid)
        experiment = "single-task" if setting == "single" else TRAIN
        trainings = self.add_trainings(
            key, name, training.plain(), grid, experiment=experiment, search=search
        )
        if setting == "single":
            return trainings
        runs = []
        for run in trainings:
            inference = InferenceSettings(
                **model_settings(panel.model, weights),
                weights_of=run.folder,
                max_length=grid.max_length,
                setting=setting,
                grid=self.context.grid,
                tokenizer=training.tokenizer,
            )
            runs.append(self.add_inference(run, inference.plain()))
        return runs

    def search(self, training: TrainingSettings, grid: ClassificationGrid) -> Search:
        """The search for the settings of a training; it has no trials if the authors'
        settings are chosen.
        """
        seeds = self.seeds(grid)
        trials = []
        if not training.published:
            trials = rate_trials(grid.learning_rates, grid.tried_updates)
        rates = []  # of each training
        for trial in trials:
            rates += [trial.settings["learning_rate"]] * len(seeds)
        choosing = ChoiceSettings(
            setting=training.setting,
            percent=training.percent,
            published=training.published,
            evaluator=self.task.evaluator,
            choose_by=self.task.choose_by,
            multi_label=self.task.multi_label,
            updates_per_epoch=grid.updates_per_epoch,
            learning_rates=tuple(rates),
        )
        return Search(training.plain(), trials, seeds, choosing.plain())

    def training_settings(
        self, grid: ClassificationGrid, start: Start, **fields: Any
    ) -> TrainingSettings:
        """The settings of a training from ``start``, with these other ``fields``."""
        assert start.weights and start.tokenizer  # only a linear model may have none
        shared = {
            **model_settings(start.cut_by, start.weights),
            **grid.training(),
            "multi_label": self.task.multi_label,
            "loss": self.task.loss,
            "sampling": self.task.sampling,
            "class_weights": self.task.class_weights,
            "grid": self.context.grid,
            "tokenizer": model_settings(start.cut_by, start.tokenizer),
        }
        return TrainingSettings(**shared | fields)

    # Tasks with views.

    def row_with_views(self, key: str, panel: ClassificationPanel) -> Row:
        """The row of a model in a task with views.

        The model is trained once for each seed and training view.  One run for each
        seed predicts with the weights of all these trainings.  The field
        ``deterministic`` of the row has the conditions whose model is the same for all
        seeds (`is_same_for_seeds`).
        """
        seeds: tuple[int, ...] = (0,)
        if panel.kind == "encoder":
            seeds = self.seeds(self.grid(panel, "multi"))
        reason = ""
        runs = {}
        deterministic: list[str] = []
        starts = self.starts(panel, seeds)
        if isinstance(starts, Missing):
            reason = starts.reason
        else:
            seed_runs = []
            for seed, start in starts.items():
                seed_runs.append(self.inference_run(key, panel, start, seed))
            runs = {self.MAIN: tuple(seed_runs)}
            first_start = starts[seeds[0]]
            for view in self.training_views(panel):
                if self.is_same_for_seeds(panel, first_start, view):
                    for name in self.task.readings[view]:
                        deterministic.append(condition_of(view, name))
        return self.panel_row(
            panel,
            reason=reason,
            trained=True,
            averages=self.task.averages,
            runs=runs,
            about={
                "setting": "multi",
                "heads": ", ".join(self.heads(panel)),
                "deterministic": deterministic,
            },
        )

    def is_same_for_seeds(
        self, panel: ClassificationPanel, start: Start, view: str
    ) -> bool:
        """Whether the model of a view is the same for all seeds: a checkpoint with its
        heads that is not trained here.
        """
        is_checkpoint = panel.after is not None and start.run is None
        return view == UNTRAINED and is_checkpoint and not panel.new_heads

    def heads(self, panel: ClassificationPanel) -> list[str]:
        """The heads of a panel's model; none means all of the data set."""
        return list(panel.heads or self.task.heads)

    def submitted_row(self, extra: SubmittedFiles) -> Row:
        """The row of submitted predictions; in a task with views, its field ``heads``
        has the heads of the task.
        """
        row = super().submitted_row(extra)
        if not self.task.views:
            return row
        return replace(row, about={"heads": ", ".join(self.task.heads)})

    def starts(
        self, panel: ClassificationPanel, seeds: Iterable[int]
    ) -> dict[int, Start] | Missing:
        """{seed: the weights from which its training starts}, or why there are none."""
        starts = {}
        for seed in seeds:
            start = self.start(panel, seed)
            if isinstance(start, Missing):
                return start
            starts[seed] = start
        return starts

    def start(self, panel: ClassificationPanel, seed: int) -> Start | Missing:
        """The weights from which the training of a seed starts, or why there are
        none.
        """
        if panel.after:
            other = self.others[panel.after]
            assert isinstance(other, ClassificationPlanner)
            return other.start_after_training(panel.model, seed)
        if panel.kind == "linear" and panel.features not in OF_VECTORS:
            return Start(None)
        weights = self.context.weights(panel.model)
        if isinstance(weights, Missing):
            return weights
        return Start(weights, weights, panel.model)

    def start_after_training(self, model: str, seed: int) -> Start | Missing:
        """The weights of a model after training on this data set, from which its
        training on another data set starts.

        A training with a seed starts from the training with the same seed here, or from
        that with the first seed if this data set's grid has fewer seeds.
        """
        keys = [key for key, panel in self.task.models.items() if panel.model == model]
        if not keys:
            what = "must be trained on this data set first, but is none of its models"
            raise BadInput(f"{model!r} {what}", where=self.name)
        key = keys[0]
        panel = self.task.models[key]
        # Weights that others trained in this way.
        if panel.checkpoint:
            ready = self.context.weights(panel.checkpoint)
            if isinstance(ready, Weights):
                return Start(ready, ready, panel.checkpoint)
        if self.name in self.context.absent:
            return Missing(self.context.absent[self.name])
        # The weights of a training here.
        (view,) = self.training_views(panel)
        seeds = self.seeds(self.grid(panel, "multi"))
        if seed not in seeds:
            seed = seeds[0]
        start = self.start(panel, seed)
        if isinstance(start, Missing):
            return start
        run = self.training_run(key, panel, start, view, seed)
        assert start.weights is not None  # a model with a name has weights
        origin = f"{start.weights.found}, then {self.name}"
        weights = Weights(self.weights_folder(run), None, origin)
        return Start(weights, start.tokenizer, start.cut_by, run)

    def view_trainings(self, key: str, view: str) -> tuple[Run, ...] | Missing:
        """Register the trainings of a model under a view, one per seed, for runs of
        another data set's planner; one alone if it is the same for all seeds.
        """
        panel = self.task.models[key]
        starts = self.starts(panel, self.seeds(self.grid(panel, "multi")))
        if isinstance(starts, Missing):
            return starts
        runs = []
        for seed, start in starts.items():
            runs.append(self.training_run(key, panel, start, view, seed))
        return tuple(dict.fromkeys(runs))

    def trains_by_seed(self, key: str, view: str) -> bool:
        """Whether the model of a view differs by seed; true if its weights are
        missing.
        """
        panel = self.task.models[key]
        start = self.start(panel, self.seeds(self.grid(panel, "multi"))[0])
        if isinstance(start, Missing):
            return True
        return not self.is_same_for_seeds(panel, start, view)

    def training_views(self, panel: ClassificationPanel) -> list[str]:
        """The training views of a panel's model with this grid, in the task's order."""
        views = set(panel.trained_on or self.task.readings)
        if panel.kind == "encoder":
            grid_views = self.grid(panel, "multi").trained_on
            views &= set(grid_views or views)
        return [view for view in self.task.readings if view in views]

    def training_run(
        self, key: str, panel: ClassificationPanel, start: Start, view: str, seed: int
    ) -> Run:
        """Register the run that trains with a view.

        With the view `UNTRAINED` it makes no update: it stores the initial weights.  If
        these are the same for all seeds, the run is that of the first seed.
        """
        text_view = view
        if view == UNTRAINED:
            text_view = self.task.readings[UNTRAINED][0]
        columns = self.task.views[text_view].columns()
        if panel.kind == "linear":
            run = self.run(TRAIN, key, f"{panel.kind}-{view}")
            settings = self.linear_settings(
                panel, start.weights, percent=WHOLE, view=columns
            )
            return self.add(run, settings)
        grid = self.grid(panel, "multi")
        if self.is_same_for_seeds(panel, start, view):
            seed = self.seeds(grid)[0]
        fields: JsonObject = {
            "setting": "multi",
            "percent": WHOLE,
            "published": None,
            "tried": 1,
            "view": columns,
            "learning_rate": grid.learning_rates[0],
            "updates": grid.tried_updates[:1],
            "max_length": self.max_length(panel, text_view),
            "model": panel.model,
        }
        if view == UNTRAINED:
            fields.update(passes=None, updates=[0])
        if panel.new_heads:
            fields["new_heads"] = True
        fields.update(self.selection(panel))
        typed = self.training_settings(grid, start, **fields)
        run = self.run(TRAIN, key, f"{view}-{self.context.grid}", seed)
        return self.add(run, typed.plain(), weights_of=start.run)

    def inference_run(
        self, key: str, panel: ClassificationPanel, start: Start, seed: int
    ) -> Run:
        """Register the run that predicts with all views (`readings`), and the trainings
        whose weights it reads, one for each training view.
        """
        trainings = [
            self.training_run(key, panel, start, view, seed)
            for view in self.training_views(panel)
        ]
        readings = self.readings(panel)
        if panel.kind == "linear":
            run = self.run(READ, key, panel.kind)
            settings = self.linear_settings(panel, start.weights, readings=readings)
        else:
            run = self.run(READ, key, self.context.grid, seed)
            assert (
                start.weights and start.tokenizer
            )  # only a linear model may have none
            inference = InferenceSettings(
                **model_settings(panel.model, start.weights),
                **self.min_test(),
                setting="multi",
                grid=self.context.grid,
                only=self.heads(panel),
                tokenizer=model_settings(start.cut_by, start.tokenizer),
                readings=readings,
            )
            settings = inference.plain()
        self.specs[run] = Spec(settings, sources=tuple(trainings))
        return run

    def readings(self, panel: ClassificationPanel) -> list[Reading]:
        """How each training of a panel's model reads the test examples.

        A linear model reads whole texts, so it has no views with a length limit.
        """
        readings = []
        for source, trained in enumerate(self.training_views(panel)):
            for name in self.task.readings[trained]:
                view = self.task.views[name]
                length = {}
                if panel.kind == "encoder":
                    length = {"max_length": self.max_length(panel, name)}
                elif view.max_length:
                    continue
                reading = Reading(
                    condition=condition_of(trained, name),
                    source=source,
                    view=view.columns(),
                    **length,
                )
                readings.append(reading)
        return readings

    def max_length(self, panel: ClassificationPanel, view: str) -> int:
        """The number of tokens that a panel's encoder reads with a view."""
        longest = self.grid(panel, "multi").max_length
        return min(longest, self.task.views[view].max_length or longest)


TASK = ClassificationTask
