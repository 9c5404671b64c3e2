"""The runs of a span-extraction task.

They are of encoders, fine-tuned here or by the authors, of linear models, of language
models, and of controls, which read no contract.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from lextables.models.resolve import Missing, Weights, model_settings
from lextables.pipeline.entries import Entry
from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import Run
from lextables.pipeline.user_rows import Key
from lextables.tasks import planner
from lextables.tasks.planner import (
    ASK,
    PAPER_GRID,
    READ,
    SUBMITTED,
    TRAIN,
    WHOLE,
    Difference,
    Grid,
    Planner,
    RehearsalLimits,
    Row,
    Search,
    Task,
    fewer_seeds,
    grid_named,
    limited_grids,
    panel_references,
    prompt_references,
    rate_name,
    share_conditions,
)
from lextables.tasks.references import Names, Reference
from lextables.tasks.spans.asking import AskingSettings, Pieces
from lextables.tasks.spans.linear_settings import LinearRun, LinearSettings
from lextables.tasks.spans.nbest import ChoosingSettings
from lextables.tasks.spans.outputs import QuotingSettings
from lextables.tasks.spans.settings import (
    CuttingSettings,
    Inference,
    Pretraining,
    PretrainingRun,
    SpanTrial,
    Training,
)
from lextables.tasks.spans.writing import WritingLimits, WritingSettings

QUOTE = "quote"  # the experiment of outputs that quote spans


class Panel(planner.Panel):
    """A model of the panel."""

    kind: Literal[
        "encoder", "linear", "language-model", "fixed", "frequent", "relaxed"
    ] = "encoder"
    """How the model answers.

    An `encoder` is fine-tuned, a `linear` model is trained on words or vectors, and a
    `language-model` is asked without training.  The others are controls, which read no
    contract: a `fixed` one always gives the same output, a `frequent` one answers
    frequent categories with the whole contract, and a `relaxed` one the task's relaxed
    category.
    """
    model: str = ""
    """Registered model; for a linear model of vectors, the sentence encoder."""
    features: Literal["words", "vectors", "both"] = "words"
    """Features of a linear model."""
    exact: bool = False
    """A linear model marks answers exactly, even if the evaluator accepts more."""
    out_of_fold: bool = False
    """Its training also predicts the training contracts, for other data sets."""
    family: str = "ours"
    """A name by which tables select rows."""
    pretrained: bool = False
    """The model is first pretrained on contracts (masked language modelling)."""
    released: str | None = None
    """File of the authors' fine-tuned weights."""
    joined: str | None = None
    """Name of an additional row in which spans of adjacent windows are joined."""
    unpublished: str = ""
    """What is unknown about a published row, which is then not run."""
    output: str = ""
    """The output of a fixed model, with ${contract} for the contract."""


class SpanGrid(Grid):
    """A grid for encoders.

    The fields are those of `settings.SpanTrial`, `settings.Training` and
    `settings.NbestSettings`; ``epochs`` are those on all training contracts
    (`SpanPlanner.trials`).
    """

    epochs: tuple[PositiveInt, ...]
    step: PositiveInt
    max_question_length: PositiveInt
    balance: Literal["sample", "weight"]
    windows_per_question: PositiveInt | None = None
    save_every: NonNegativeInt = 1000


class Asking(Entry):
    """The requests to language models that quote spans."""

    PROMPTS: ClassVar = ("clause", "presence")
    clause: str
    """Name of the prompt for a passage."""
    presence: str
    """Name of the prompt for the presence of a passage."""
    grids: Mapping[str, Pieces] = {}
    """Limits by grid; another grid has the defaults."""


class Writing(Entry):
    """The requests to language models whose text outputs are scored."""

    PROMPTS: ClassVar = ("prompt",)
    prompt: str
    """Name of the prompt for a contract and a question."""
    candidates: str
    """Key of a linear model; an additional row is asked about its passages only."""
    least: float = Field(0.01, gt=0, lt=1)
    """Least probability of these passages."""
    grids: Mapping[str, WritingLimits] = {}
    """Limits by grid; another grid has the defaults."""


class SpanTask(Task):
    """The settings of a span-extraction task that a paper fixed."""

    task: Literal["spans"]
    evaluator: Literal["spans", "containment"] = "spans"
    """`containment`: text outputs must contain every gold text."""
    thresholds: tuple[str, ...] = ()
    """Metrics of text outputs.

    For each, a linear model has a row that quotes the spans above the probability with
    the highest value of the metric on its out-of-fold predictions.
    """
    models: Mapping[Key, Panel]
    """The models of the tables, by key."""
    n_best: PositiveInt
    """Spans of a question, at most."""
    max_answer_length: PositiveInt = 512
    """Tokens of a span, at most."""
    held_out: float | str = 0.1
    """Share of the training contracts on which the grid is searched, or their split."""
    relaxed: str | None = None
    """For questions whose id contains this text, such as a category's name, a
    prediction may contain the answer; None: for no question.
    """
    low_thresholds: tuple[float, ...] = ()
    """Thresholds of the released sweep below 0.01."""
    checkpoints: str | None = None
    """Source of the authors' fine-tuned models."""
    averages: PositiveInt = 1
    """Number of runs whose mean is a published score."""
    grids: Mapping[str, SpanGrid] = {}
    """{name: grid}; `paper` has the paper's settings."""
    pretraining: Mapping[str, Pretraining] = {}
    """{name of a grid: the pretraining under it}."""
    linear: LinearSettings | None = None
    """Needed for linear models."""
    trainings_of: str = ""
    """Data set of another paper with the same training contracts and questions.

    If it is planned, its trainings are used (`planning.paper_plan.share_trainings`).
    """
    asking: Asking | Writing | None = None
    """Needed for language models."""

    @property
    def trained_models(self) -> Iterable[tuple[str, Any]]:
        return self.models.items()

    @property
    def conditions(self) -> list[str]:
        return share_conditions(self.grids.values())

    def references(self, data_set: str, names: Names) -> Iterator[Reference]:
        key = f"tasks.{data_set}"
        yield from panel_references(f"{key}.models", self.models, names)
        source = self.checkpoints or ""
        yield Reference(f"{key}.checkpoints", "source", [source], names.files)
        for name, panel in self.models.items():
            where = f"{key}.models.{name}.released"
            files = names.files.get(source, ())
            yield Reference(where, f"file of {source!r}", [panel.released], files)
        for name in ("grids", "pretraining"):
            grids = getattr(self, name)
            yield Reference(f"{key}.{name}", "grid", grids, names.grids)
        data_sets = names.tasks_of_all
        where = f"{key}.trainings_of"
        yield Reference(where, "data set", [self.trainings_of], data_sets)
        if self.asking:
            where = f"{key}.asking"
            fields = self.asking.PROMPTS
            yield from prompt_references(where, self.asking, fields, names)
            yield Reference(f"{where}.grids", "grid", self.asking.grids, names.grids)

    @property
    def exported_prompt(self) -> str:
        return self.asking.presence if isinstance(self.asking, Asking) else ""

    @property
    def released_models(self) -> list[str]:
        models = []
        for panel in self.models.values():
            if panel.released:
                models.append(f"{self.checkpoints}/{panel.released}={panel.model}")
        return models

    def limited(self, limits: RehearsalLimits) -> Self:
        """The task of a rehearsal, with small trainings and short text outputs."""
        changed: dict[str, Any] = {"grids": limited_grids(self.grids, limits)}
        pretraining = {}
        for name, of_grid in self.pretraining.items():
            updates = min(limits.updates, of_grid.updates)
            pretraining[name] = of_grid.model_copy(update={"updates": updates})
        changed["pretraining"] = pretraining
        if isinstance(self.asking, Writing):
            outputs = {PAPER_GRID: WritingLimits(tokens=limits.output_tokens)}
            changed["asking"] = self.asking.model_copy(update={"grids": outputs})
        return self.model_copy(update=changed)

    @property
    def quotes(self) -> bool:
        """Whether text outputs are scored, and not spans."""
        return self.evaluator == "containment"

    @model_validator(mode="after")
    def _check_models(self) -> Self:
        """Check that the task has the settings that its models need."""
        kinds = {key: panel.kind for key, panel in self.models.items()}
        if "encoder" in kinds.values() and (self.quotes or not self.grids):
            raise ValueError("encoders need grids, and the evaluator spans")
        writing = self.asking if isinstance(self.asking, Writing) else None
        has_writing = writing is not None
        has_thresholds = bool(self.thresholds)
        if has_writing != self.quotes or has_thresholds != self.quotes:
            raise ValueError(
                "the evaluator containment, and no other, needs thresholds and "
                "asking.prompt"
            )
        if "linear" in kinds.values() and not self.linear:
            raise ValueError("linear models need linear, with their settings")
        if writing and kinds.get(writing.candidates) != "linear":
            raise ValueError(
                f"asking.candidates: {writing.candidates} is no linear model of the panel"
            )
        if {"fixed", "frequent"} & {*kinds.values()} and not self.quotes:
            raise ValueError("fixed and frequent need the evaluator containment")
        if "relaxed" in kinds.values() and (self.quotes or not self.relaxed):
            raise ValueError("relaxed needs the evaluator spans, and relaxed")
        if not self.asking and "language-model" in kinds.values():
            raise ValueError("language models need asking, with the names of prompts")
        return self


class SpanPlanner(Planner):
    """Plans a span-extraction task.

    The conditions of a row are shares of the training contracts, in per cent.

    Of the methods of `Planner`, `run` names a run and `add` registers it.
    `add_trainings` registers the trainings of a model, and `add_inference` the
    inference of a training.  If settings differ from the paper's, `rows_by_settings`
    moves the runs of a published row to an additional row.
    """

    STAGES = (READ, "join", QUOTE, ASK, SUBMITTED)
    FORMS: ClassVar = {"nbest": (".json",)}
    task: SpanTask

    @classmethod
    def forms(cls, task: SpanTask) -> Mapping[str, tuple[str, ...]]:
        """The formats of submitted predictions; text outputs may also be tables."""
        if not task.quotes:
            return cls.FORMS
        return {**cls.FORMS, "csv": (".csv",), "jsonl": (".jsonl",)}

    @property
    def grid(self) -> SpanGrid:
        """The grid of this configuration."""
        where = f"{self.name}.grids"
        return grid_named(self.context.grid, self.task.grids, where)

    def rows(self) -> list[Row]:
        """The rows of the panel, then those of the user's models."""
        rows = []
        for key, panel in self.task.models.items():
            rows += self.panel_rows(key, panel)
        if not self.task.quotes:
            for extra in self.user_models("encoder", "question-answering"):
                panel = Panel(row=extra.name, model=extra.key, additional=True)
                trained = extra.kind == "encoder"
                rows.append(self.encoder_row(extra.key, panel, trained=trained))
        for key, panel in self.user_language_models(Panel).items():
            rows += self.asked_rows(key, panel)
        return rows

    def panel_rows(self, key: str, panel: Panel) -> list[Row]:
        """The rows of a model of the panel, by its kind."""
        if panel.kind == "linear":
            row = self.linear_row(key, panel)
            return self.quoting_rows(key, row) if self.task.quotes else [row]
        if panel.kind == "fixed":
            settings = QuotingSettings(kind="fixed", output=panel.output)
            return [self.control_row(key, panel, settings)]
        if panel.kind == "relaxed":
            settings = QuotingSettings(kind="relaxed", category=self.task.relaxed)
            return [self.control_row(key, panel, settings)]
        if panel.kind == "frequent":
            return self.frequent_rows(key, panel)
        if panel.kind == "language-model":
            return self.asked_rows(key, panel)
        row = self.encoder_row(key, panel)
        # A published row of a pretrained model that has no runs gets the reason why it
        # can never run as published.
        if panel.pretrained and not panel.additional and not row.runs:
            reason = planner.reason_not_run([self.pretraining_difference()])
            row = replace(row, reason=reason)
        rows = self.rows_by_settings(row, self.differences(row, panel))
        if panel.joined is not None:
            rows.append(self.joined_row(panel, rows[-1]))
        return rows

    def joined_row(self, panel: Panel, row: Row) -> Row:
        """The row in which spans of adjacent windows of ``row`` are joined.

        It has a run for each seed of ``row``.
        """
        joinings = []
        for inference in row.runs.get(self.MAIN, ()):
            joining = replace(inference, experiment="join")
            joinings.append(self.add(joining, {}, needs=(inference,)))
        name = f"{panel.joined}{row.row.removeprefix(panel.row)}"
        runs = {self.MAIN: tuple(joinings)} if joinings else {}
        return replace(row, row=name, additional=True, runs=runs)

    def control_row(
        self, key: str, panel: Panel, settings: QuotingSettings, condition: str = ""
    ) -> Row:
        """The row of a control: a model that reads no contract."""
        run = self.run(QUOTE, key, condition or panel.kind)
        self.add(run, settings.plain())
        return self.panel_row(
            panel,
            parameters=None,
            runs={self.MAIN: (run,)},
            about={"family": panel.family},
        )

    def frequent_rows(self, key: str, panel: Panel) -> list[Row]:
        """The rows of a model that answers the most frequent categories: one for each
        metric.

        The number of categories is the one with the highest value of the metric on the
        training contracts.
        """
        rows = []
        for metric in self.task.thresholds:
            settings = QuotingSettings(kind="frequent", metric=metric)
            condition = f"{panel.kind}-{metric.lower()}"
            row = self.control_row(key, panel, settings, condition)
            rows.append(replace(row, row=f"{row.row}, number for {metric}"))
        return rows

    def differences(self, row: Row, panel: Panel) -> list[Difference]:
        """How the runs of ``row`` differ from the paper's."""
        grid = self.grid
        differences = []
        if panel.pretrained:
            differences.append(self.pretraining_difference())
        descriptions = [f"windows of {grid.max_length} tokens"]
        if row.trained and grid.max_updates is not None:
            updates = f"{grid.max_updates} updates of {grid.batch_size}"
            descriptions = [f"{updates} {descriptions[0]}"]
        if grid.windows_per_question is not None:
            descriptions.append(f"{grid.windows_per_question} windows a question")
        differences += self.budget_differences(grid, descriptions)
        if row.trained:
            seeds = len(row.runs.get(self.MAIN, ()))
            differences += fewer_seeds(seeds, self.task.averages)
        return differences

    def pretraining_difference(self) -> Difference:
        """The difference of a model that is pretrained on other contracts than the
        authors', which are not published.
        """
        contracts = ", ".join(self.context.config.edgar_quarters) or "the sample"
        needs = (
            "the contracts of its authors' pretraining, which were never published: "
            "the row can never run as published; edgar_quarters gives an additional row"
        )
        return Difference(needs, f"on contracts of {contracts}")

    def quoting_rows(self, key: str, row: Row) -> list[Row]:
        """The rows of a linear model whose outputs quote its spans: one for each
        threshold.

        ``row`` is the row of the model's spans.  It has no runs if the encoder is
        missing.
        """
        rows = []
        for metric in self.task.thresholds:
            runs: dict[str, tuple[Run, ...]] = {}
            if self.MAIN in row.runs:
                (inference,) = row.runs[self.MAIN]
                run = self.add(
                    self.run(QUOTE, key, f"linear-{metric.lower()}"),
                    QuotingSettings(kind="linear", metric=metric).plain(),
                    needs=(inference,),
                    weights_of=self.specs[inference].weights_of,
                )
                runs[self.MAIN] = (run,)
            name = f"{row.row}, threshold for {metric}"
            rows.append(replace(row, row=name, runs=runs))
        return rows

    def asked_rows(self, key: str, panel: Panel) -> list[Row]:
        """The rows of a language model that is asked about the test contracts; none if
        it cannot be asked.

        If text outputs are scored, a published row is then shown without runs
        (`written_rows`).
        """
        if self.task.quotes:
            return self.written_rows(key, panel)
        model = self.language_model(panel.model)
        if isinstance(model, Missing) or not self.in_grid(panel):
            return []
        asking = self.task.asking
        assert isinstance(asking, Asking)  # a task that does not quote has no other
        limits = asking.grids.get(self.context.grid, Pieces())
        settings = AskingSettings(
            **model,
            **limits.model_dump(),
            kind="language-model",
            clause=self.context.prompt(asking.clause),
            presence=self.context.prompt(asking.presence),
            n_best=self.task.n_best,
        )
        about = {"family": panel.family}
        return [self.asked_row(key, panel, settings.plain(), about)]

    def written_rows(self, key: str, panel: Panel) -> list[Row]:
        """The rows of a language model whose text outputs are scored.

        In one row it reads whole contracts, in another only the candidate passages of a
        linear model.  With the limits of another grid, or weights of a GGUF file, a
        published row is not run, and both rows are additional.
        """
        writing = self.task.asking
        assert isinstance(writing, Writing)  # a task that quotes has no other
        about = {"family": panel.family}
        model: JsonObject | Missing = Missing(panel.unpublished)
        if not panel.unpublished:
            model = self.language_model(panel.model)
        if isinstance(model, Missing):
            row = Row(panel.row, asked=True, reason=model.reason, about=about)
            return [] if panel.additional else [row]
        limits = self.writing_limits(writing, self.context.grid)
        settings = WritingSettings(
            **model,
            **limits.model_dump(),
            kind="language-model",
            prompt=self.context.prompt(writing.prompt),
        )
        row = self.asked_row(key, panel, settings.plain(), about)
        row = replace(row, additional=panel.additional)
        differences = self.writing_differences(writing)
        differences += self.weight_differences(panel.model)
        rows = self.rows_by_settings(row, differences)
        settings = settings.model_copy(update={"least": writing.least})
        run = self.add(
            self.run(ASK, key, "candidates"),
            settings.plain(),
            needs=(self.run(READ, writing.candidates, "linear"),),
        )
        ending = rows[-1].row.removeprefix(panel.row)
        name = f"{panel.row}, candidates only{ending}"
        runs: dict[str, tuple[Run, ...]] = {self.MAIN: (run,)}
        return [*rows, replace(row, row=name, additional=True, runs=runs)]

    def writing_limits(self, writing: Writing, grid: str) -> WritingLimits:
        """The limits of text outputs under a grid."""
        return writing.grids.get(grid, WritingLimits())

    def writing_differences(self, writing: Writing) -> list[Difference]:
        """How the limits of text outputs differ from those under the paper's grid."""
        grid = self.context.grid
        limits = self.writing_limits(writing, grid)
        if limits == self.writing_limits(writing, PAPER_GRID):
            return []
        descriptions = [f"outputs of {limits.tokens} tokens"]
        if limits.questions is not None:
            descriptions.append(f"{limits.questions} questions a contract")
        ours = f"{grid} budget: {', '.join(descriptions)}"
        return [Difference(f"grid={PAPER_GRID}", ours)]

    def linear_row(self, key: str, panel: Panel) -> Row:
        """The row of a linear model; it has no runs if the model reads vectors and
        their encoder is missing.
        """
        encoders = () if panel.features == "words" else (panel.model,)
        parameters = self.context.parameters(*encoders)
        about = {"family": panel.family}
        assert self.task.linear is not None  # a task with linear models has it
        row = self.panel_row(panel, parameters=parameters, trained=True, about=about)
        model: JsonObject = {}
        for encoder in encoders:
            weights = self.context.weights(encoder)
            if isinstance(weights, Missing):
                return replace(row, reason=weights.reason)
            model = model_settings(encoder, weights)
        runs: dict[str, tuple[Run, ...]] = {}
        for percent in self.percents(panel):
            condition = panel.kind if percent == WHOLE else f"{panel.kind}-p{percent}"
            settings = LinearRun(
                **self.task.linear.model_dump(),
                **model,
                kind=panel.kind,
                features=panel.features,
                relaxed=None if panel.exact else self.task.relaxed,
                percent=percent,
            )
            training_settings = settings
            if percent == WHOLE and (panel.out_of_fold or self.task.quotes):
                training_settings = settings.model_copy(update={"out_of_fold": True})
            run = self.run(TRAIN, key, condition)
            training = self.add(run, training_settings.plain())
            runs[str(percent)] = (self.add_inference(training, settings.plain()),)
        return replace(row, runs=runs)

    def encoder_row(self, key: str, panel: Panel, *, trained: bool = True) -> Row:
        """The row of an encoder; a row without runs has a reason.

        With the authors' weights, if they are available, the model is not trained on
        all contracts, but still on each share of them.  A user's question-answering
        model is not ``trained`` here.
        """
        about = {"family": panel.family}
        row = self.panel_row(panel, averages=self.task.averages, about=about)
        runs: dict[str, tuple[Run, ...]] = {}
        if released := self.released_run(key, panel):
            runs[self.MAIN] = (released,)
            row = replace(row, runs=runs)
            if not panel.shares:
                return row
        weights = self.start_weights(key, panel)
        if isinstance(weights, Missing):
            return replace(row, reason=weights.reason)
        if not trained:
            inference = self.run(READ, key, "as-it-is")
            self.add(inference, self.inference_settings(panel, weights).plain())
            return replace(row, runs={self.MAIN: (inference,)})
        for percent in self.percents(panel):
            # The authors' weights already are the run with all contracts, `MAIN`.
            if str(percent) not in runs:
                runs[str(percent)] = self.encoder_runs(key, panel, weights, percent)
        return replace(row, runs=runs, trained=released is None)

    def percents(self, panel: Panel) -> tuple[int, ...]:
        """The shares of the training contracts that a model is trained on."""
        return self.grid.percents if panel.shares else (WHOLE,)

    def start_weights(self, key: str, panel: Panel) -> Weights | Missing:
        """The weights that a model's training starts from, or why there are none."""
        if not self.in_grid(panel):
            grid = self.context.grid
            reason = f"with grid={grid} it learns almost nothing: set grid={PAPER_GRID}"
            return Missing(reason)
        weights = self.context.weights(panel.model)
        if isinstance(weights, Weights) and panel.pretrained:
            return self.pretrained_weights(key, weights)
        return weights

    def released_run(self, key: str, panel: Panel) -> Run | None:
        """Register the inference with the authors' weights, and the run that unpacks
        them; None if they are not wanted or not available.
        """
        config = self.context.config
        # The sample has none, but a rehearsal makes some.
        has_release = config.data != "sample" or config.weights == "tiny"
        use_release = config.released_checkpoints and has_release
        if panel.released is None or not use_release:
            return None
        source = f"{self.task.checkpoints}/{panel.released}"
        mirrors = self.context.mirrors
        in_mirror = any((mirror / source).is_file() for mirror in mirrors)
        if not in_mirror and config.models != "paper":
            return None
        release = self.add(self.run("release", key, "as-released"), {"file": source})
        weights = Weights(self.weights_folder(release), None, "the authors' release")
        return self.add_inference(
            release, self.inference_settings(panel, weights).plain()
        )

    def pretrained_weights(self, key: str, weights: Weights) -> Weights | Missing:
        """Register the pretraining on contracts, and return its weights, or why there
        are none.
        """
        config = self.context.config
        if config.data != "sample" and not config.edgar_quarters:
            return Missing(
                "no contracts for pretraining: config key edgar_quarters is empty"
            )
        entry = self.task.pretraining.get(self.context.grid)
        if entry is None:
            return Missing(f"no pretraining without a GPU: set grid={PAPER_GRID}")
        run = self.run("pretrain", key, "contracts")
        model = model_settings(key, weights)
        settings = PretrainingRun(**entry.model_dump(exclude_unset=True), **model)
        self.add(run, settings.plain())
        source = f"{weights.found}, then contracts pretraining"
        return Weights(self.weights_folder(run), None, source)

    def cutting_settings(self, panel: Panel, weights: Weights) -> CuttingSettings:
        """The settings of windows by the tokenizer of these weights."""
        return CuttingSettings(
            **model_settings(panel.model, weights),
            max_length=self.grid.max_length,
            step=self.grid.step,
            max_question_length=self.grid.max_question_length,
            held_out=self.task.held_out,
        )

    def inference_settings(
        self, panel: Panel, weights: Weights, trials: int | None = None
    ) -> Inference:
        """The settings of an inference with these weights.

        ``trials`` is the number of trials from which the training was chosen.
        """
        settings = Inference(
            **self.cutting_settings(panel, weights).plain(),
            windows_per_question=self.grid.windows_per_question,
            n_best=self.task.n_best,
            max_answer_length=self.task.max_answer_length,
            bf16=self.grid.bf16,
        )
        if trials is None:
            return settings
        return settings.model_copy(update={"tried": trials})

    def encoder_runs(
        self, key: str, panel: Panel, weights: Weights, percent: int
    ) -> tuple[Run, ...]:
        """Register the trainings on ``percent`` per cent of the contracts, and return
        their inferences, one per seed.
        """
        grid = self.grid
        condition = f"{self.context.grid}-p{percent}"
        start = self.run("pretrain", key, "contracts") if panel.pretrained else None
        settings = Training(
            **self.cutting_settings(panel, weights).plain(),
            batch_size=grid.batch_size,
            optimiser=grid.optimiser,
            bf16=grid.bf16,
            save_every=grid.save_every,
            percent=percent,
            balance=grid.balance,
            max_updates=grid.max_updates,
        )
        trials = self.trials(percent)
        search = None
        if len(trials) > 1:
            search = self.search(panel, weights, settings, trials)
        else:
            # A single trial needs no search: its values are settings of the training.
            settings = settings.model_copy(update=trials[0].plain())
        trainings = self.add_trainings(
            key, condition, settings.plain(), grid, search=search, weights_of=start
        )
        runs = []
        for training in trainings:
            trained = Weights(self.weights_folder(training), None, weights.found)
            inference = self.inference_settings(panel, trained, len(trials))
            runs.append(self.add_inference(training, inference.plain()))
        return tuple(runs)

    def search(
        self,
        panel: Panel,
        weights: Weights,
        settings: Training,
        trials: Sequence[SpanTrial],
    ) -> Search:
        """The search over trials, which predict the held-out contracts."""
        choosing = ChoosingSettings(
            trials=tuple(trials),
            held_out=self.task.held_out,
            relaxed=self.task.relaxed,
            low_thresholds=self.task.low_thresholds,
        )
        inference = self.inference_settings(panel, weights)
        return Search(
            # Settings of training and inference: a trial is trained, then predicts.
            settings={**inference.plain(), **settings.plain()},
            trials=[
                planner.Trial(_trial_name(trial), trial.plain()) for trial in trials
            ],
            seeds=(0,),
            choosing=choosing.plain(),
        )

    def trials(self, percent: int) -> list[SpanTrial]:
        """The trials of the grid, for a share of the training contracts.

        On a share of the contracts the epochs are multiplied, so that the number of
        updates stays about the same: 3 and 12 epochs for 30 % (CUAD, Section 4.2).
        """
        times = round(WHOLE / percent)
        trials = []
        for rate in self.grid.learning_rates:
            for epochs in self.grid.epochs:
                trials.append(SpanTrial(learning_rate=rate, epochs=epochs * times))
        return trials


def _trial_name(trial: SpanTrial) -> str:
    """Return the name of a trial in paths."""
    return f"{rate_name(trial.learning_rate)}-e{trial.epochs}"


TASK = SpanTask
