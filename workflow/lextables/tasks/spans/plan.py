"""The runs of a span-extraction task: models fine-tuned here or by the authors."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from lextables.models.resolve import Missing, Weights, model_settings
from lextables.pipeline.registry import Entry
from lextables.pipeline.run import Run
from lextables.pipeline.user_rows import Key
from lextables.tasks import plan
from lextables.tasks.plan import (
    ASK,
    PAPER_GRID,
    SUBMITTED,
    WHOLE,
    Difference,
    Grid,
    Planner,
    Row,
    fewer_seeds,
    rate_name,
)
from lextables.tasks.spans.asking import AskingSettings, Pieces
from lextables.tasks.spans.linear_settings import LinearRun, LinearSettings
from lextables.tasks.spans.nbest import ChoosingSettings
from lextables.tasks.spans.outputs import QuotingSettings
from lextables.tasks.spans.settings import (
    Inference,
    Pretraining,
    PretrainingRun,
    Training,
    Trial,
    WindowSettings,
)
from lextables.tasks.spans.writing import WritingLimits, WritingSettings

QUOTE = "quote"  # the experiment of outputs that quote spans


class Panel(plan.Panel):
    """A model of the panel; ``pretrained`` goes through masked-language-model training on contracts first.

    ``released`` names the file of the authors' fine-tuned weights; ``joined`` adds a row in which spans of
    adjacent windows are joined.

    A panel of kind `linear` uses words only, or, with the ``features`` vectors or both,
    embeddings by a sentence encoder, its ``model``; an ``exact`` one marks the answers themselves,
    even if the evaluator accepts a sentence that contains one.  With ``out_of_fold`` its training also saves
    predictions for the training contracts, for data sets that use it (`SpanTask`).  One of kind
    `language-model` is not trained (`Asking`, `Writing`); ``unpublished`` states what is unknown about a
    published row, which is then not run.  One of kind `fixed` has the same ``output`` for every question,
    with ${contract} for the contract.
    """

    kind: Literal["encoder", "linear", "language-model", "fixed"] = "encoder"
    model: str = ""
    features: Literal["words", "vectors", "both"] = "words"
    exact: bool = False
    out_of_fold: bool = False
    family: str = "ours"
    pretrained: bool = False
    released: str | None = None
    joined: str | None = None
    unpublished: str = ""
    output: str = ""


class SpanGrid(Grid):
    """Settings of training and reading; smaller shares of the contracts have more epochs.

    The fields are those of `settings.Trial`, `Training` and `NbestSettings`.
    """

    epochs: tuple[PositiveInt, ...]
    step: PositiveInt
    max_question_length: PositiveInt
    balance: Literal["sample", "weight"]
    windows_per_question: PositiveInt | None = None
    max_updates: PositiveInt | None = None
    save_every: int = 1000

    def windows(self) -> dict[str, Any]:
        """The fields of `WindowSettings`."""
        return self.model_dump(include=set(WindowSettings.model_fields))


class Asking(Entry):
    """The prompts of language models: for a passage, and for its presence.

    A grid that is not in ``grids`` has the defaults of `Pieces`.
    """

    clause: str
    presence: str
    grids: Mapping[str, Pieces] = {}


class Writing(Entry):
    """Requests to language models whose outputs are scored: one ``prompt`` for a contract and a question.

    An additional row of each is asked only about the ``candidates`` of a linear model, a key of the panel:
    its passages with at least the probability ``least``.  A grid that is not in ``grids`` has the limits
    of `WritingLimits`.
    """

    prompt: str
    candidates: str
    least: float = Field(0.01, gt=0, lt=1)
    grids: Mapping[str, WritingLimits] = {}


class SpanTask(Entry):
    """The settings of a span-extraction task that a paper fixed.

    ``evaluator`` is `spans`, or `containment` for text outputs that must contain every gold text
    (`lextables.metrics.containment`).  Then a linear model has a row for each metric of ``thresholds``: it
    quotes the spans above the probability with the highest value of that metric on its out-of-fold
    predictions for the training contracts.

    ``held_out`` is the share of the training contracts on which the grid is searched, or `dev` for those of
    that split.  ``checkpoints`` is the source of the authors' fine-tuned models; ``relaxed`` is a part of a
    category's name: in such a category a prediction may contain the answer; ``low_thresholds`` are those of
    the released sweep below 0.01.  ``averages`` is the number of runs whose mean is a published score.
    ``grids`` and ``pretraining`` are by name of the grid; `paper` has the paper's settings.  ``linear`` is
    for panels of that kind, and ``asking`` for language models.  ``trainings_of`` is a data set of another
    paper with the same training contracts and questions: if it is planned, its trainings are used
    (`planning.share_trainings`).
    """

    task: Literal["spans"]
    evaluator: Literal["spans", "containment"] = "spans"
    thresholds: tuple[str, ...] = ()
    models: Mapping[Key, Panel]
    n_best: int
    max_answer_length: int = 512
    held_out: float | str = 0.1
    relaxed: str | None = None
    low_thresholds: tuple[float, ...] = ()
    checkpoints: str | None = None
    averages: PositiveInt = 1
    grids: Mapping[str, SpanGrid] = {}
    pretraining: Mapping[str, Pretraining] = {}
    linear: LinearSettings | None = None
    trainings_of: str = ""
    asking: Asking | Writing | None = None

    @property
    def quotes(self) -> bool:
        """Whether text outputs are scored, and not spans."""
        return self.evaluator == "containment"

    @model_validator(mode="after")
    def _asks(self) -> Self:
        kinds = {key: panel.kind for key, panel in self.models.items()}
        if "encoder" in kinds.values() and (self.quotes or not self.grids):
            raise ValueError("encoders need grids, and the evaluator spans")
        if self.quotes != isinstance(self.asking, Writing) or self.quotes != bool(
            self.thresholds
        ):
            raise ValueError(
                "the evaluator containment, and no other, needs thresholds and asking.prompt"
            )
        if self.quotes and kinds.get(self.asking.candidates) != "linear":
            raise ValueError(
                f"asking.candidates: {self.asking.candidates} is no linear model of the panel"
            )
        if not self.asking and any(
            panel.kind == "language-model" for panel in self.models.values()
        ):
            raise ValueError("language models need asking, with the names of prompts")
        return self


class SpanPlanner(Planner):
    """Plans a span-extraction task.

    The conditions of a row are shares of the training contracts.
    """

    STAGES = ("read", "join", QUOTE, ASK, SUBMITTED)
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
        return self.task.grids[self.context.grid]

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
            rows += self.asked(key, panel)
        return rows

    def panel_rows(self, key: str, panel: Panel) -> list[Row]:
        """The rows of a model of the panel."""
        if panel.kind == "linear":
            row = self.linear(key, panel)
            return self.quoted(key, row) if self.task.quotes else [row]
        if panel.kind == "fixed":
            return [self.fixed(key, panel)]
        if panel.kind == "language-model":
            return self.asked(key, panel)
        row = self.encoder_row(key, panel)
        rows = self.placed(row, self.differences(row, panel))
        if panel.joined is not None:
            rows.append(self.joined(panel, rows[-1]))
        return rows

    def joined(self, panel: Panel, row: Row) -> Row:
        """The row in which spans of adjacent windows of ``row`` are joined."""
        runs = []
        for run in row.runs.get(self.MAIN, ()):
            after = self.run("join", run.model, run.condition, run.seed)
            runs.append(self.add(after, {}, needs=(run,)))
        name = panel.joined + row.row.removeprefix(panel.row)
        by_condition = {self.MAIN: tuple(runs)} if runs else {}
        return replace(row, row=name, additional=True, runs=by_condition)

    def fixed(self, key: str, panel: Panel) -> Row:
        """The row of a model with the same output for every question."""
        settings = QuotingSettings(kind="fixed", output=panel.output)
        run = self.add(self.run(QUOTE, key, panel.kind), settings.plain())
        return self.panel_row(
            panel,
            parameters=None,
            runs={self.MAIN: (run,)},
            about={"family": panel.family},
        )

    def differences(self, row: Row, panel: Panel) -> list[Difference]:
        """How the runs of ``row`` differ from the paper's."""
        grid, config, differences = self.grid, self.context.config, []
        if panel.pretrained:
            contracts = ", ".join(config.edgar_quarters) or "the sample"
            needs = (
                "the contracts of its authors' pretraining, which are in no source here"
            )
            differences.append(Difference(needs, f"on contracts of {contracts}"))
        descriptions = [f"windows of {grid.max_length} tokens"]
        if row.trained and grid.max_updates is not None:
            updates = f"{grid.max_updates} updates of {grid.batch_size}"
            descriptions = [f"{updates} {descriptions[0]}"]
        if grid.windows_per_question is not None:
            descriptions.append(f"{grid.windows_per_question} windows a question")
        differences += self.budget(grid, descriptions)
        if row.trained:
            seeds = len(row.runs.get(self.MAIN, ()))
            differences += fewer_seeds(seeds, self.task.averages)
        return differences

    def quoted(self, key: str, row: Row) -> list[Row]:
        """The rows of a linear model that quotes its spans: one for each threshold."""
        rows = []
        for metric in self.task.thresholds:
            runs = {}
            for inference in row.runs.get(self.MAIN, ()):
                runs[self.MAIN] = (
                    self.add(
                        self.run(QUOTE, key, f"linear-{metric.lower()}"),
                        QuotingSettings(kind="linear", metric=metric).plain(),
                        needs=(inference,),
                        weights_of=self.specs[inference].weights_of,
                    ),
                )
            name = f"{row.row}, threshold for {metric}"
            rows.append(replace(row, row=name, runs=runs))
        return rows

    def asked(self, key: str, panel: Panel) -> list[Row]:
        """The rows of a language model about the test contracts.

        There are none of an additional model that cannot be asked.
        """
        if self.task.quotes:
            return self.written(key, panel)
        model = self.language_model(panel.model)
        if isinstance(model, Missing) or not self.in_grid(panel):
            return []
        asking = self.task.asking
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

    def written(self, key: str, panel: Panel) -> list[Row]:
        """The rows of a language model whose outputs are scored.

        One is over whole contracts, one over the candidates of a linear model.
        """
        writing, about = self.task.asking, {"family": panel.family}
        if panel.unpublished:
            model = Missing(panel.unpublished)
        else:
            model = self.language_model(panel.model)
        if isinstance(model, Missing):
            row = Row(panel.row, asked=True, reason=model.reason, about=about)
            return [] if panel.additional else [row]
        limits = writing.grids.get(self.context.grid, WritingLimits())
        settings = WritingSettings(
            **model,
            **limits.model_dump(),
            kind="language-model",
            prompt=self.context.prompt(writing.prompt),
        )
        row = self.asked_row(key, panel, settings.plain(), about)
        row = replace(row, additional=panel.additional)
        settings = settings.model_copy(update={"least": writing.least})
        run = self.add(
            self.run(ASK, key, "candidates"),
            settings.plain(),
            needs=(self.run("read", writing.candidates, "linear"),),
        )
        name = f"{panel.row}, candidates only"
        runs = {self.MAIN: (run,)}
        return [row, replace(row, row=name, additional=True, runs=runs)]

    def linear(self, key: str, panel: Panel) -> Row:
        """The row of a linear model; it needs only its frozen encoder, if it has one."""
        encoders = () if panel.features == "words" else (panel.model,)
        parameters, about = self.context.parameters(*encoders), {"family": panel.family}
        row = self.panel_row(panel, parameters=parameters, trained=True, about=about)
        model: dict[str, Any] = {}
        for encoder in encoders:
            weights = self.context.weights(encoder)
            if isinstance(weights, Missing):
                return replace(row, reason=weights.reason)
            model = model_settings(encoder, weights)
        runs = {}
        for percent in self.grid.percents if panel.shares else (WHOLE,):
            condition = panel.kind if percent == WHOLE else f"{panel.kind}-p{percent}"
            settings = LinearRun(
                **self.task.linear.model_dump(),
                **model,
                kind=panel.kind,
                features=panel.features,
                relaxed=None if panel.exact else self.task.relaxed,
                percent=percent,
            )
            of_training = settings
            if percent == WHOLE and (panel.out_of_fold or self.task.quotes):
                of_training = settings.model_copy(update={"out_of_fold": True})
            training = self.add(self.run("train", key, condition), of_training.plain())
            inference = self.run("read", key, condition)
            runs[str(percent)] = (
                self.add(inference, settings.plain(), weights_of=training),
            )
        return replace(row, runs=runs)

    def encoder_row(self, key: str, panel: Panel, *, trained: bool = True) -> Row:
        """The row of an encoder; without runs it has a reason.

        A user's question-answering model is not ``trained``.
        """
        about = {"family": panel.family}
        row = self.panel_row(panel, averages=self.task.averages, about=about)
        if released := self.released(key, panel):
            return replace(row, runs={self.MAIN: (released,)})
        if not self.in_grid(panel):
            grid = self.context.grid
            reason = f"with grid={grid} it learns almost nothing: set grid={PAPER_GRID}"
            return replace(row, reason=reason)
        weights = self.context.weights(panel.model)
        if isinstance(weights, Weights) and panel.pretrained:
            weights = self.pretrained(key, weights)
        if isinstance(weights, Missing):
            return replace(row, reason=weights.reason)
        if not trained:
            inference = self.run("read", key, "as-it-is")
            self.add(inference, self.inference(panel, weights).plain())
            return replace(row, runs={self.MAIN: (inference,)})
        runs = {}
        for percent in self.grid.percents if panel.shares else (WHOLE,):
            runs[str(percent)] = self.trained(key, panel, weights, percent)
        return replace(row, runs=runs, trained=True)

    def released(self, key: str, panel: Panel) -> Run | None:
        """The run with the authors' weights, if they are wanted and available."""
        config = self.context.config
        wanted = config.released_checkpoints and config.data != "sample"
        if panel.released is None or not wanted:
            return None
        source = f"{self.task.checkpoints}/{panel.released}"
        here = any((mirror / source).is_file() for mirror in self.context.mirrors)
        if not here and config.models != "paper":
            return None
        release = self.add(self.run("release", key, "as-released"), {"file": source})
        weights = Weights(self.weights_folder(release), None, "the authors' release")
        return self.add(
            self.run("read", key, "as-released"),
            self.inference(panel, weights).plain(),
            weights_of=release,
        )

    def pretrained(self, key: str, weights: Weights) -> Weights | Missing:
        """The weights after pretraining on contracts, or why there are none."""
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

    def cutting(self, panel: Panel, weights: Weights) -> dict[str, Any]:
        """The fields of `CuttingSettings`."""
        return {
            **model_settings(panel.model, weights),
            **self.grid.windows(),
            "held_out": self.task.held_out,
        }

    def inference(self, panel: Panel, weights: Weights, **tried: int) -> Inference:
        """The settings of an inference with these weights."""
        return Inference(
            **self.cutting(panel, weights),
            windows_per_question=self.grid.windows_per_question,
            n_best=self.task.n_best,
            max_answer_length=self.task.max_answer_length,
            bf16=self.grid.bf16,
            **tried,
        )

    def trained(
        self, key: str, panel: Panel, weights: Weights, percent: int
    ) -> tuple[Run, ...]:
        """The inferences of the trainings on ``percent`` per cent, one for each seed."""
        grid, condition = self.grid, f"{self.context.grid}-p{percent}"
        start = self.run("pretrain", key, "contracts") if panel.pretrained else None
        settings = Training(
            **self.cutting(panel, weights),
            batch_size=grid.batch_size,
            optimiser=grid.optimiser,
            bf16=grid.bf16,
            save_every=grid.save_every,
            percent=percent,
            balance=grid.balance,
            max_updates=grid.max_updates,
        )
        trials = self.trials(percent)
        choice = None
        if len(trials) > 1:
            inference = self.inference(panel, weights).plain()
            searched = self.search(
                key,
                condition,
                {**inference, **settings.plain()},
                [plan.Trial(_trial_name(trial), trial.plain()) for trial in trials],
                (0,),
                weights_of=start,
            )
            choosing = ChoosingSettings(
                trials=trials,
                held_out=self.task.held_out,
                relaxed=self.task.relaxed,
                low_thresholds=self.task.low_thresholds,
            )
            choice = self.add(
                self.run("choice", key, condition),
                choosing.plain(),
                needs=tuple(searched),
            )
        else:
            settings = settings.model_copy(update=trials[0].plain())
        runs = []
        for seed in self.seeds(grid):
            training = self.add(
                self.run("train", key, condition, seed),
                settings.plain(),
                choice=choice,
                weights_of=start,
            )
            here = Weights(self.weights_folder(training), None, weights.found)
            inference = self.inference(panel, here, tried=len(trials))
            runs.append(
                self.add(
                    self.run("read", key, condition, seed),
                    inference.plain(),
                    weights_of=training,
                )
            )
        return tuple(runs)

    def trials(self, percent: int) -> list[Trial]:
        """The trials of the grid, for a share of the training contracts.

        There are about the same number of updates with fewer contracts: 3 and 12 epochs
        for 30 % (CUAD, Section 4.2).
        """
        times = round(WHOLE / percent)
        trials = []
        for rate in self.grid.learning_rates:
            for epochs in self.grid.epochs:
                trials.append(Trial(learning_rate=rate, epochs=epochs * times))
        return trials


def _trial_name(trial: Trial) -> str:
    """Return the name of a trial in paths."""
    return f"{rate_name(trial.learning_rate)}-e{trial.epochs}"


TASK = SpanTask
