"""The runs of a span-extraction task: models fine-tuned here or by the authors."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from lextables.models.optimiser import Optimiser
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
    Trial,
    fewer_seeds,
    rate_name,
)

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
    """Settings of training and reading; smaller shares of the training contracts have more epochs.

    ``step`` is the distance between the starts of windows, in tokens.  ``windows_per_question``
    limits the windows of a contract that a question reads (none: all), ``max_updates`` the training.
    """

    epochs: tuple[int, ...]
    step: int
    max_question_length: int
    balance: Literal["sample", "weight"]
    windows_per_question: int | None = None
    max_updates: int | None = None
    save_every: int = 1000


class Pretraining(Entry):
    """Masked-language-model training on contracts."""

    updates: int
    batch_size: int
    max_length: int
    learning_rate: float
    optimiser: Optimiser
    bf16: bool = False


class LinearSettings(Entry):
    """Settings of the linear baseline, chosen on held-out training contracts.

    The first of its models is trained for ``epochs`` over the units with a penalty of ``alpha``, once for
    each of ``folds`` and once for all; the others have the ``penalty`` (scikit-learn's C), and if categories
    share a model, ``near`` penalises each category's deviation from it.  A question reads candidates of its
    ``units`` most probable units in each contract, and keeps ``n_best``.  Vectors are of a unit's first
    ``max_length`` tokens; their model has the penalty ``dense`` (C), and in combination with words their
    logits have the weight ``share``.
    """

    folds: int = Field(ge=2)
    alpha: float
    epochs: PositiveInt
    units: PositiveInt
    penalty: float
    near: float
    n_best: PositiveInt
    dense: float = 1.0
    share: float = Field(default=0.5, ge=0, le=1)
    max_length: PositiveInt = 64


class Pieces(Entry):
    """Limits of language models on contracts: input and output.

    They read pieces of at most ``words`` words, fewer if their context is shorter.  If the probability
    of a passage is at least ``least``, they are asked to quote it, in at most ``tokens`` tokens.
    Only the first ``questions`` of a contract are asked (none: all); the others have the empty prediction.
    """

    words: PositiveInt = 3000
    tokens: PositiveInt = 300
    least: float = Field(0.01, ge=0, le=1)
    questions: PositiveInt | None = None


class Asking(Entry):
    """The prompts of language models: for a passage, and for its presence.

    A grid that is not in ``grids`` has the defaults of `Pieces`.
    """

    clause: str
    presence: str
    grids: Mapping[str, Pieces] = {}


class WritingLimits(Entry):
    """The maximum ``tokens`` of an output, and of ``questions`` about a contract (none: all)."""

    tokens: PositiveInt = 5000
    questions: PositiveInt | None = None


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
    """Plans a span-extraction task; the conditions of a row are shares of the training contracts."""

    STAGES = ("read", "join", QUOTE, ASK, SUBMITTED)
    FORMS: ClassVar = {"nbest": (".json",)}
    task: SpanTask

    @classmethod
    def forms(cls, task: SpanTask) -> Mapping[str, tuple[str, ...]]:
        return cls.FORMS | (
            {"csv": (".csv",), "jsonl": (".jsonl",)} if task.quotes else {}
        )

    @property
    def grid(self) -> SpanGrid:
        return self.task.grids[self.context.grid]

    def rows(self) -> list[Row]:
        rows = [
            row
            for key, panel in self.task.models.items()
            for row in self.with_joined(key, panel)
        ]
        for extra in (
            ()
            if self.task.quotes
            else self.user_models("encoder", "question-answering")
        ):
            panel = Panel(row=extra.name, model=extra.key, additional=True)
            as_it_is = extra.kind == "question-answering"
            rows.append(self.row(extra.key, panel, as_it_is=as_it_is))
        for key, panel in self.user_language_models(Panel).items():
            rows += self.asked(key, panel)
        return rows

    def with_joined(self, key: str, panel: Panel) -> list[Row]:
        if panel.kind == "linear":
            row = self.linear(key, panel)
            return self.quoted(key, row) if self.task.quotes else [row]
        if panel.kind == "fixed":
            run = self.add(
                self.run(QUOTE, key, panel.kind),
                {"kind": panel.kind, "output": panel.output},
            )
            about = {"family": panel.family}
            return [
                self.panel_row(
                    panel, parameters=None, runs={self.MAIN: (run,)}, about=about
                )
            ]
        if panel.kind == "language-model":
            return self.asked(key, panel)
        rows = self.row(key, panel)
        rows = self.placed(rows, self.differences(rows, panel))
        if panel.joined is None:
            return rows
        row, joined = rows[-1], []
        for run in row.runs.get(self.MAIN, ()):
            after = self.run("join", run.model, run.condition, run.seed)
            joined.append(self.add(after, {"n_best": self.task.n_best}, needs=(run,)))
        name = panel.joined + row.row.removeprefix(panel.row)
        return [
            *rows,
            replace(
                row,
                row=name,
                additional=True,
                runs={self.MAIN: tuple(joined)} if joined else {},
            ),
        ]

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
            descriptions = [
                f"{grid.max_updates} updates of {grid.batch_size} {descriptions[0]}"
            ]
        if grid.windows_per_question is not None:
            descriptions.append(f"{grid.windows_per_question} windows a question")
        differences += self.budget(grid, descriptions)
        if row.trained:
            differences += fewer_seeds(
                len(row.runs.get(self.MAIN, ())), self.task.averages
            )
        return differences

    def quoted(self, key: str, row: Row) -> list[Row]:
        """The rows of a linear model that quotes its spans, one for each metric of ``thresholds``."""
        rows = []
        for metric in self.task.thresholds:
            runs = {}
            for reading in row.runs.get(self.MAIN, ()):
                run = self.run(QUOTE, key, f"linear-{metric.lower()}")
                settings = {"kind": "linear", "metric": metric}
                training = self.specs[reading].weights_of
                runs[self.MAIN] = (
                    self.add(run, settings, needs=(reading,), weights_of=training),
                )
            rows.append(
                replace(row, row=f"{row.row}, threshold for {metric}", runs=runs)
            )
        return rows

    def written(self, key: str, panel: Panel) -> list[Row]:
        """The rows of a language model whose outputs are scored: over contracts, and over candidates."""
        about, writing = {"family": panel.family}, self.task.asking
        model = (
            Missing(panel.unpublished)
            if panel.unpublished
            else self.language_model(panel.model)
        )
        if isinstance(model, Missing):
            row = Row(
                panel.row,
                additional=panel.additional,
                asked=True,
                reason=model.reason,
                about=about,
            )
            return [] if panel.additional else [row]
        limits = writing.grids.get(self.context.grid, WritingLimits())
        settings = (
            model
            | limits.model_dump()
            | {"prompt": self.context.prompt(writing.prompt)}
        )
        contract_row = replace(
            self.asked_row(key, panel, settings, about), additional=panel.additional
        )
        reading = self.run("read", writing.candidates, "linear")
        settings |= {"kind": panel.kind, "least": writing.least}
        run = self.add(self.run(ASK, key, "candidates"), settings, needs=(reading,))
        name = f"{panel.row}, candidates only"
        return [
            contract_row,
            replace(contract_row, row=name, additional=True, runs={self.MAIN: (run,)}),
        ]

    def asked(self, key: str, panel: Panel) -> list[Row]:
        """The row of a language model that reads the test contracts; none if it cannot be asked."""
        if self.task.quotes:
            return self.written(key, panel)
        model = self.language_model(panel.model)
        if isinstance(model, Missing) or not self.in_grid(panel):
            return []
        asking = self.task.asking
        settings = model | asking.grids.get(self.context.grid, Pieces()).model_dump(
            mode="json"
        )
        settings |= {
            name: self.context.prompt(getattr(asking, name))
            for name in ("clause", "presence")
        }
        settings["n_best"] = self.task.n_best
        return [self.asked_row(key, panel, settings, {"family": panel.family})]

    def linear(self, key: str, panel: Panel) -> Row:
        """The row of a linear model; it needs only its frozen encoder, if it has one."""
        encoders = () if panel.features == "words" else (panel.model,)
        parameters, about = self.context.parameters(*encoders), {"family": panel.family}
        row = self.panel_row(panel, parameters=parameters, trained=True, about=about)
        relaxed = None if panel.exact else self.task.relaxed
        settings = self.task.linear.model_dump() | {
            "kind": panel.kind,
            "relaxed": relaxed,
        }
        settings["features"] = panel.features
        for encoder in encoders:
            weights = self.context.weights(encoder)
            if isinstance(weights, Missing):
                return replace(row, reason=weights.reason)
            settings |= model_settings(encoder, weights)
        runs = {}
        for percent in self.grid.percents if panel.shares else (WHOLE,):
            condition = panel.kind if percent == WHOLE else f"{panel.kind}-p{percent}"
            of_share = settings | {"percent": percent}
            of_training = dict(of_share)
            if percent == WHOLE and (panel.out_of_fold or self.task.quotes):
                of_training["out_of_fold"] = True
            training = self.add(self.run("train", key, condition), of_training)
            reading = self.add(
                self.run("read", key, condition), of_share, weights_of=training
            )
            runs[str(percent)] = (reading,)
        return replace(row, runs=runs)

    def row(self, key: str, panel: Panel, *, as_it_is: bool = False) -> Row:
        row = self.panel_row(
            panel, averages=self.task.averages, about={"family": panel.family}
        )
        if released := self.released(key, panel):
            return replace(row, runs={self.MAIN: (released,)})
        if panel.grids and self.context.grid not in panel.grids:
            return replace(
                row,
                reason=f"with grid={self.context.grid} it learns almost nothing: set grid={PAPER_GRID}",
            )
        weights = self.context.weights(panel.model)
        if isinstance(weights, Weights) and panel.pretrained:
            weights = self.pretrained(key, weights)
        if isinstance(weights, Missing):
            return replace(row, reason=weights.reason)
        if as_it_is:
            reading = self.run("read", key, "as-it-is")
            self.add(reading, self.reading() | model_settings(panel.model, weights))
            return replace(row, runs={self.MAIN: (reading,)})
        shares = self.grid.percents if panel.shares else (WHOLE,)
        runs = {
            str(percent): self.trained(key, panel, weights, percent)
            for percent in shares
        }
        return replace(row, runs=runs, trained=True)

    def released(self, key: str, panel: Panel) -> Run | None:
        """The run with the authors' weights, if the configuration uses them and they are available."""
        config = self.context.config
        if (
            panel.released is None
            or not config.released_checkpoints
            or config.data == "sample"
        ):
            return None
        here = any(
            (m / self.task.checkpoints / panel.released).is_file()
            for m in self.context.mirrors
        )
        if not here and config.models != "paper":
            return None
        source = f"{self.task.checkpoints}/{panel.released}"
        release = self.add(self.run("release", key, "as-released"), {"file": source})
        weights = Weights(self.weights_folder(release), None, "the authors' release")
        reading = self.run("read", key, "as-released")
        return self.add(
            reading,
            self.reading() | model_settings(panel.model, weights),
            weights_of=release,
        )

    def pretrained(self, key: str, weights: Weights) -> Weights | Missing:
        """The model after masked-language-model training on contracts, or the reason why there is none."""
        config = self.context.config
        if config.data != "sample" and not config.edgar_quarters:
            return Missing(
                "no contracts for pretraining: config key edgar_quarters is empty"
            )
        entry = self.task.pretraining.get(self.context.grid)
        if entry is None:
            return Missing(f"no pretraining without a GPU: set grid={PAPER_GRID}")
        run = self.run("pretrain", key, "contracts")
        self.add(run, entry.model_dump(mode="json") | model_settings(key, weights))
        source = f"{weights.found}, then contracts pretraining"
        return Weights(self.weights_folder(run), None, source)

    def reading(self) -> dict[str, Any]:
        """The settings of cutting contracts into windows and reading them."""
        names = (
            "max_length",
            "step",
            "max_question_length",
            "windows_per_question",
            "bf16",
        )
        return {
            "grid": self.context.grid,
            "n_best": self.task.n_best,
            "max_answer_length": self.task.max_answer_length,
            "held_out": self.task.held_out,
        } | {name: getattr(self.grid, name) for name in names}

    def trained(
        self, key: str, panel: Panel, weights: Weights, percent: int
    ) -> tuple[Run, ...]:
        grid, condition = self.grid, f"{self.context.grid}-p{percent}"
        pretrained = (
            self.run("pretrain", key, "contracts") if panel.pretrained else None
        )
        settings = (
            self.reading() | model_settings(panel.model, weights) | grid.training()
        )
        settings |= {
            "percent": percent,
            "balance": grid.balance,
            "max_updates": grid.max_updates,
        }
        # About the same number of updates with fewer contracts: 3 and 12 epochs for 30 % (CUAD, Section 4.2).
        times = round(WHOLE / percent)
        trials = [
            Trial(
                f"{rate_name(rate)}-e{epochs}",
                {"learning_rate": rate, "epochs": epochs},
            )
            for rate in grid.learning_rates
            for epochs in (epochs * times for epochs in grid.epochs)
        ]
        tried, choice = [trial.settings for trial in trials], None
        if len(trials) > 1:
            searched = self.search(
                key, condition, settings, trials, (0,), weights_of=pretrained
            )
            scored = {
                "relaxed": self.task.relaxed,
                "low_thresholds": list(self.task.low_thresholds),
            }
            choice = self.add(
                self.run("choice", key, condition),
                {"trials": tried, "held_out": self.task.held_out} | scored,
                needs=tuple(searched),
            )
        runs = []
        for seed in self.seeds(grid):
            training = self.run("train", key, condition, seed)
            first = {} if choice else tried[0]
            self.add(training, settings | first, choice=choice, weights_of=pretrained)
            weights_here = Weights(self.weights_folder(training), None, weights.found)
            reading = (
                self.reading()
                | model_settings(panel.model, weights_here)
                | {"tried": len(trials)}
            )
            runs.append(
                self.add(
                    self.run("read", key, condition, seed), reading, weights_of=training
                )
            )
        return tuple(runs)


TASK = SpanTask
