"""The runs of a classification task: one model for each head, or one encoder with a head for each.

In a task with views, a model is trained with each of some views, and each trained model is
tested with several.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    field_validator,
    model_validator,
)

from lextables.metrics.classification import METRICS
from lextables.models.resolve import Missing, Weights, model_settings
from lextables.pipeline.errors import BadInput
from lextables.pipeline.registry import Entry
from lextables.pipeline.run import Run
from lextables.pipeline.user_rows import Key
from lextables.tasks import plan
from lextables.tasks.plan import (
    ASK,
    SUBMITTED,
    WHOLE,
    Difference,
    Grid,
    Planner,
    Row,
    SubmittedFiles,
    Trial,
    fewer_seeds,
    rate_name,
)

SETTINGS = ("single", "multi")  # single-task, and multi-task
OF_VECTORS = ("vectors", "both")  # the features of linear models that need an encoder
UNTRAINED = "none"  # the view of a model that is not trained on the task


class Panel(plan.Panel):
    """A model of the panel: whether it is trained ``single``-task, ``multi``-task, or both.

    ``grid`` names the part of the grid that it is trained with, by default the part of its setting.
    ``published`` is the name of the model in the authors' own settings.  In a task with views, ``trained_on``
    are the views that it is trained on (none: all of the task), ``heads`` its heads (none: those of the
    task), and ``where`` a column that is true for its training examples.

    ``after`` is another data set of the paper that the model is trained on first.  ``checkpoint`` is a
    registered model that others trained in this way on this data set; it is used if it is available.

    A panel of kind `linear` has one model per head, with ``features``: words, the frozen sentence vectors of
    ``model``, both, or, for pairs, only the overlap of their words; ``sides`` are the texts of a pair that it
    reads.  One of kind `language-model` is not trained (`Asking`).
    """

    kind: Literal["encoder", "linear", "language-model"] = "encoder"
    model: str = ""
    features: Literal["words", "vectors", "both", "overlap"] = "words"
    sides: Literal["both", "first", "second"] = "both"
    single: bool = False
    multi: bool = True
    grid: str | None = None
    published: str | None = None
    trained_on: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    where: str | None = None
    after: str | None = None
    checkpoint: str | None = None

    @model_validator(mode="after")
    def _check_model(self) -> "Panel":
        if not self.model and (self.kind != "linear" or self.features in OF_VECTORS):
            raise ValueError(f"the row {self.row!r} needs a model")
        return self


class View(Entry):
    """The texts of an example that a model reads.

    ``text`` and, for a pair, ``pair`` are columns with the ids of the texts, which are cut at ``max_length``
    tokens if that is less than the model's limit.
    """

    text: str = "text_id"
    pair: str | None = None
    max_length: PositiveInt | None = None

    def columns(self) -> dict[str, str | None]:
        """Return an `examples.View`."""
        return {"text": self.text, "pair": self.pair}


class ClassificationGrid(Grid):
    """The search grid, and how heads are trained.

    ``updates`` are the numbers of updates to try, all of them in one training; or ``epochs`` are the numbers
    of epochs, of ``updates_per_epoch`` each; or ``passes`` is the number of passes over the examples.
    ``head`` is the kind of classification head; ``heads`` limits the number of single-task models.
    ``trained_on`` are the views to train on (none: all of the panel).
    """

    updates: tuple[int, ...] = ()
    epochs: tuple[int, ...] = ()
    updates_per_epoch: int = 1
    passes: PositiveFloat | None = None
    head: Literal["family", "own"] = "family"
    heads: int | None = None
    trained_on: tuple[str, ...] = ()

    def training(self) -> dict[str, Any]:
        names = ("passes", "head", "heads")
        return super().training() | {name: getattr(self, name) for name in names}

    @property
    def tried(self) -> list[int]:
        """The numbers of updates that are tried."""
        return [
            *self.updates,
            *(epochs * self.updates_per_epoch for epochs in self.epochs),
        ]


class LinearSettings(Entry):
    """Settings of linear models; all were chosen on the final splits, by cross-validation.

    Features are n-grams of up to ``longest`` words that occur in at least ``least`` texts of a head, weighted
    by their log odds with ``smoothing``.  ``penalty`` is scikit-learn's C, by the panel's features.  Texts
    are encoded in pieces of ``piece`` words; ``numbers`` is the weight of vectors and of the numeric features
    of pairs relative to words.  A panel with ``shares`` is also trained on ``percents`` of the examples.
    """

    longest: PositiveInt
    least: PositiveInt
    smoothing: PositiveFloat
    penalty: Mapping[Literal["words", "vectors", "both", "overlap"], PositiveFloat]
    piece: PositiveInt = 64
    numbers: PositiveFloat = 1.0
    percents: tuple[Annotated[int, Field(ge=1, le=WHOLE)], ...] = (WHOLE,)


class Asking(plan.Asking):
    """How language models are asked about examples, whose answers are the options of a question.

    The text of the prompt has the fields `text`, `options`, of pairs `second`, and
    `question` if a column of the heads is the ``question``.  ``wordings`` replace the words
    of some answers.  In a task with views, ``views`` are those of the questions.
    """

    question: str = ""
    wordings: Mapping[str, str] = {}
    views: tuple[str, ...] = ()


class Names(Entry):
    """Names of the data set's tables that the task reads."""

    heads: str = "heads"
    texts: str = "texts"


class ClassificationTask(Entry):
    """The settings of a classification task that a paper fixed.

    A search trains on the splits ``training`` and predicts ``validation``; the chosen settings are trained on
    ``final`` and predict ``test``.  ``evaluator`` is `general`, with ``metrics`` of `metrics.classification`
    and ``choose_by`` as the one that a search maximises; or it is the name of a released evaluator.
    ``unit`` is the column of the examples whose values are drawn together for intervals.

    Examples have one right answer (``label``, its place among the head's), or, ``multi_label``, any number
    (``labels``).  ``loss`` is one of `multi_head.LOSSES`, ``sampling`` one of `sampling.QUEUES`; with
    ``class_weights`` the answers of a head have equal weight in its loss.

    ``heads`` are the heads of a model whose panel names none (none: all of the data set).

    ``views`` are the texts that a model can read.  ``readings`` are {view in training: views in the test};
    the key `none` is for models that are not trained on the task.  Scores are also computed for the examples
    for which a column of ``groups`` is true.

    With fewer than ``min_test`` test examples nothing is trained or scored, except on the sample.

    ``averages`` is the number of runs whose mean is a published score.  ``grids`` are {size of the search
    (`paper`: the paper's): {`single`, `multi`, or the ``grid`` of a panel: grid}}.  ``linear``
    is for panels of that kind, and ``asking`` for language models.
    """

    task: Literal["classification"]
    names: Names = Names()
    training: tuple[str, ...] = ("train",)
    validation: tuple[str, ...] = ("dev",)
    final: tuple[str, ...] = ("train",)
    test: tuple[str, ...] = ("test",)
    evaluator: Literal["general", "minority AUPR"] = "general"
    metrics: tuple[str, ...] = ()
    choose_by: str = "AUPR"
    unit: str | None = None
    multi_label: bool = False
    loss: Literal["binary_cross_entropy", "cross_entropy"] = "cross_entropy"
    sampling: Literal["balanced", "shuffled"] = "shuffled"
    class_weights: Literal["none", "balanced"] = "none"
    heads: tuple[str, ...] = ()
    views: Mapping[Key, View] = {}
    readings: Mapping[str, tuple[str, ...]] = {}
    groups: tuple[str, ...] = ()
    models: Mapping[Key, Panel]
    min_test: NonNegativeInt = 0
    averages: PositiveInt = 1
    grids: Mapping[str, Mapping[str, ClassificationGrid]]
    linear: LinearSettings | None = None
    asking: Asking | None = None

    @field_validator("metrics", "choose_by")
    @classmethod
    def _check_metrics(cls, names: Any) -> Any:
        for name in (names,) if isinstance(names, str) else names:
            if name not in METRICS:
                raise ValueError(
                    f"there is no metric {name!r}; use {', '.join(METRICS)}"
                )
        return names

    @model_validator(mode="after")
    def _check_settings(self) -> "ClassificationTask":
        if self.evaluator == "general" and not self.metrics:
            raise ValueError("the general evaluator needs metrics")
        settings = (self.loss, self.sampling, self.evaluator)
        if self.multi_label and settings != (
            "binary_cross_entropy",
            "shuffled",
            "general",
        ):
            raise ValueError(
                "multi_label needs binary_cross_entropy, shuffled and the general evaluator"
            )
        if self.asking and (
            self.multi_label or {*self.asking.views} - self.views.keys()
        ):
            raise ValueError(
                "asking needs one right answer per example, and views of the task"
            )
        if unknown := {*self.readings, *chain(*self.readings.values())} - {
            *self.views,
            UNTRAINED,
        }:
            raise ValueError(
                f"readings names the view {min(unknown)!r}, which is not among the views"
            )
        for panel in self.models.values():
            if panel.kind == "language-model" and not self.asking:
                raise ValueError(
                    f"the row {panel.row!r} needs asking, with the name of a prompt"
                )
            if unknown := set(panel.trained_on) - self.readings.keys():
                raise ValueError(
                    f"the row {panel.row!r} is trained on {min(unknown)!r}, which readings lacks"
                )
            if panel.kind == "linear" and panel.features not in (
                self.linear.penalty if self.linear else ()
            ):
                raise ValueError(
                    f"the row {panel.row!r} needs a penalty for {panel.features} under linear"
                )
        return self

    def training_settings(self) -> dict[str, Any]:
        """The settings of every training of the task."""
        names = ("multi_label", "loss", "sampling", "class_weights")
        return {name: getattr(self, name) for name in names}


class ClassificationPlanner(Planner):
    """Plans a classification task; the conditions of a row are shares of the training examples."""

    STAGES = ("read", "single-task", ASK, SUBMITTED)
    FORMS: ClassVar = {"csv": (".csv",), "jsonl": (".jsonl",)}
    task: ClassificationTask

    def rows(self) -> list[Row]:
        if self.task.views and not any(self.task.readings.values()):
            return []  # the data set is only used for training
        panels = dict(self.task.models)
        encoders = [panel for panel in panels.values() if panel.kind == "encoder"]
        settings = {
            name: any(getattr(panel, name) for panel in encoders) for name in SETTINGS
        }
        panels.update(self.user_panels(Panel, ["encoder"], **settings))
        panels.update(self.user_language_models(Panel))
        rows = []
        for key, panel in panels.items():
            if not self.in_grid(panel):
                continue
            if panel.kind == "language-model":
                rows += self.asked(key, panel)
                continue
            if self.task.views:
                row = self.viewed(key, panel)
                rows += (
                    self.placed(row, self.differences(row, panel, "multi"))
                    if row.trained
                    else [row]
                )
                continue
            if panel.kind == "linear":
                rows.append(self.linear(key, panel))
                continue
            for setting in SETTINGS:
                if getattr(panel, setting):
                    row = self.row(key, panel, setting)
                    rows += self.placed(row, self.differences(row, panel, setting))
        return rows

    def min_test(self) -> dict[str, Any]:
        """Settings: the minimum number of test examples for training; none on the sample."""
        if not self.task.min_test or self.context.config.data == "sample":
            return {}
        return {"min_test": self.task.min_test, "test": list(self.task.test)}

    def asked(self, key: str, panel: Panel) -> list[Row]:
        """The row of a language model that is asked about the test examples; none if it cannot be."""
        model = self.language_model(panel.model)
        if isinstance(model, Missing):
            return []
        settings = model | self.task.asking.model_dump(mode="json", exclude={"views"})
        settings |= {
            "only": self.heads(panel),
            "prompt": self.context.prompt(self.task.asking.prompt),
        }
        if self.task.views:
            settings["readings"] = [
                {
                    "condition": f"{UNTRAINED} > {view}",
                    "view": self.task.views[view].columns(),
                }
                for view in self.task.asking.views
            ]
        about = {"setting": "asked", "heads": ", ".join(self.heads(panel))}
        return [self.asked_row(key, panel, settings, about)]

    def linear(self, key: str, panel: Panel) -> Row:
        """The row of linear models, one per head; those over words need no weights."""
        weights = (
            self.context.weights(panel.model) if panel.features in OF_VECTORS else None
        )
        missing = isinstance(weights, Missing)
        shares = (
            self.task.linear.percents
            if panel.shares and self.context.config.data != "sample"
            else (WHOLE,)
        )
        return self.panel_row(
            panel,
            reason=weights.reason if missing else "",
            trained=True,
            runs={}
            if missing
            else {
                str(share): self.learnt(key, panel, weights, share) for share in shares
            },
            about={"setting": "single"},
        )

    def learnt(
        self, key: str, panel: Panel, weights: Weights | None, percent: int
    ) -> tuple[Run, ...]:
        """The run that predicts the test examples; its training is a separate run."""
        settings = self.linear_settings(panel, weights) | {
            "percent": percent,
            "view": None,
        }
        name = panel.kind + ("" if percent == WHOLE else f"-p{percent}")
        training = self.add(self.run("train", key, name), settings)
        return (self.add(self.run("read", key, name), settings, weights_of=training),)

    def linear_settings(self, panel: Panel, weights: Weights | None) -> dict[str, Any]:
        settings = self.task.linear.model_dump(exclude={"percents"})
        settings |= {
            name: getattr(panel, name) for name in ("kind", "features", "sides")
        }
        settings |= {
            "only": self.heads(panel),
            "where": panel.where,
            "multi_label": self.task.multi_label,
        }
        settings |= {"penalty": dict(self.task.linear.penalty)} | self.min_test()
        return settings | (model_settings(panel.model, weights) if weights else {})

    def grid(self, panel: Panel, setting: str) -> ClassificationGrid:
        return self.task.grids[self.context.grid][panel.grid or setting]

    def by_authors(self, panel: Panel) -> str | None:
        """The model's name in the authors' settings, if the configuration uses these."""
        return (
            panel.published
            if self.context.config.hyperparameters == "published"
            else None
        )

    def differences(self, row: Row, panel: Panel, setting: str) -> list[Difference]:
        """How the runs of ``row`` differ from the paper's."""
        grid, descriptions = self.grid(panel, setting), []
        if grid.passes is not None:
            descriptions.append(
                f"{grid.passes:g} pass{'es' * (grid.passes != 1)} over the examples"
            )
        elif not self.by_authors(panel):
            updates = grid.tried[-1]
            descriptions.append(
                f"{updates} update{'s' * (updates > 1)} of {grid.batch_size} examples"
            )
        descriptions.append(f"texts cut at {grid.max_length} tokens")
        descriptions += [f"{grid.heads} heads"] * (
            grid.heads is not None and setting == "single"
        )
        differences = self.budget(grid, descriptions)
        if panel.published and not self.by_authors(panel):
            differences.append(
                Difference("hyperparameters=published", "settings of our own search")
            )
        return differences + fewer_seeds(
            len(row.runs.get(self.MAIN, ())), self.task.averages
        )

    def row(self, key: str, panel: Panel, setting: str) -> Row:
        weights = self.context.weights(panel.model)
        runs = {}
        if isinstance(weights, Weights):
            grid = self.grid(panel, setting)
            shares = grid.percents if panel.shares and setting == "single" else (WHOLE,)
            runs = {
                str(percent): tuple(
                    self.runs(key, panel, setting, grid, weights, percent)
                )
                for percent in shares
            }
        return self.panel_row(
            panel,
            reason=weights.reason if isinstance(weights, Missing) else "",
            trained=True,
            averages=self.task.averages,
            runs=runs,
            about={"setting": setting},
        )

    def runs(
        self,
        key: str,
        panel: Panel,
        setting: str,
        grid: ClassificationGrid,
        weights: Weights,
        percent: int,
    ) -> Iterable[Run]:
        """The runs that predict the test examples, one per seed; their dependencies are registered, too."""
        name = f"{setting}-{self.context.grid}" + (
            "" if percent == WHOLE else f"-p{percent}"
        )
        published = self.by_authors(panel)
        settings = self.training_settings(
            panel, grid, weights, setting=setting, percent=percent
        )
        settings |= {
            "published": published,
            "tried": len(grid.learning_rates) * len(grid.tried),
        }
        settings |= {"tokenizer": model_settings(panel.model, weights)}
        trials = [
            Trial(rate_name(rate), {"learning_rate": rate, "updates": grid.tried})
            for rate in grid.learning_rates
        ]
        choice, seeds = None, self.seeds(grid)
        if published or settings["tried"] > 1:
            searched = (
                [] if published else self.search(key, name, settings, trials, seeds)
            )
            choosing = {"setting": setting, "percent": percent, "published": published}
            choosing |= {
                name: getattr(self.task, name)
                for name in ("evaluator", "choose_by", "multi_label")
            }
            choosing |= {"updates_per_epoch": grid.updates_per_epoch}
            choosing |= {
                "learning_rates": [
                    self.specs[run].settings["learning_rate"] for run in searched
                ]
            }
            choice = self.add(
                self.run("choice", key, name), choosing, needs=tuple(searched)
            )
        first = trials[0].settings | {"updates": grid.tried[:1]}
        for seed in seeds:
            if setting == "single":
                yield self.add(
                    self.run("single-task", key, name, seed),
                    settings | first,
                    choice=choice,
                )
            else:
                training = self.run("train", key, name, seed)
                self.add(training, settings | first, choice=choice)
                reading = {
                    "weights_of": training.folder,
                    "max_length": grid.max_length,
                    "setting": setting,
                }
                reading |= {
                    "grid": self.context.grid,
                    "tokenizer": settings["tokenizer"],
                }
                reading |= model_settings(panel.model, weights)
                yield self.add(
                    self.run("read", key, name, seed), reading, weights_of=training
                )

    def training_settings(
        self,
        panel: Panel,
        grid: ClassificationGrid,
        weights: Weights,
        setting: str = "multi",
        percent: int = WHOLE,
    ) -> dict[str, Any]:
        """The settings of a training of one trial on all heads and examples, without a view."""
        settings = (
            model_settings(panel.model, weights)
            | grid.training()
            | self.task.training_settings()
        )
        settings |= {
            "setting": setting,
            "grid": self.context.grid,
            "percent": percent,
            "published": None,
        }
        return settings | {"view": None, "only": [], "where": None, "tried": 1}

    # Tasks with views.

    def viewed(self, key: str, panel: Panel) -> Row:
        """The row of a model that is trained with some views: one run per seed predicts with all of these."""
        start = self.start(panel)
        missing = isinstance(start, Missing)
        seeds = (
            (0,) if panel.kind == "linear" else self.seeds(self.grid(panel, "multi"))
        )
        return self.panel_row(
            panel,
            reason=start.reason if missing else "",
            trained=True,
            averages=self.task.averages,
            runs={}
            if missing
            else {
                self.MAIN: tuple(self.read(key, panel, start, seed) for seed in seeds)
            },
            about={"setting": "multi", "heads": ", ".join(self.heads(panel))},
        )

    def heads(self, panel: Panel) -> list[str]:
        """The heads that a panel's model is trained for; none means all of the data set."""
        return list(panel.heads or self.task.heads)

    def submitted_row(self, extra: SubmittedFiles) -> Row:
        """The row; in a task with views, with its heads as a field."""
        row = super().submitted_row(extra)
        return (
            replace(row, about={"heads": ", ".join(self.task.heads)})
            if self.task.views
            else row
        )

    def start(self, panel: Panel) -> "Start | Missing":
        """The weights from which the training of a panel's model starts, or why there are none."""
        if panel.after:
            return self.others[panel.after].made(panel.model)
        if panel.kind == "linear" and panel.features not in OF_VECTORS:
            return Start(None)
        weights = self.context.weights(panel.model)
        return (
            weights
            if isinstance(weights, Missing)
            else Start(weights, weights, panel.model)
        )

    def made(self, model: str) -> "Start | Missing":
        """The weights of a model after training on this data set, for a training on another one."""
        panels = [
            (key, panel)
            for key, panel in self.task.models.items()
            if panel.model == model
        ]
        if not panels:
            raise BadInput(
                f"{model!r} must be trained on this data set first, but is none of its models",
                where=self.name,
            )
        key, panel = panels[0]
        if panel.checkpoint:
            ready = self.context.weights(panel.checkpoint)
            if isinstance(ready, Weights):
                return Start(ready, ready, panel.checkpoint)
        if self.name in self.context.absent:
            return Missing(self.context.absent[self.name])
        start = self.start(panel)
        if isinstance(start, Missing):
            return start
        (view,) = self.trained_on(panel)
        run = self.training(
            key, panel, start, view, self.seeds(self.grid(panel, "multi"))[0]
        )
        weights = Weights(
            self.weights_folder(run), None, f"{start.weights.found}, then {self.name}"
        )
        return Start(weights, start.tokenizer, start.cut_by, run)

    def trained(self, key: str, view: str) -> tuple[Run, ...] | Missing:
        """The trainings of a model of the panel under a view, one per seed, for runs that use them."""
        panel = self.task.models[key]
        start = self.start(panel)
        if isinstance(start, Missing):
            return start
        seeds = self.seeds(self.grid(panel, "multi"))
        return tuple(self.training(key, panel, start, view, seed) for seed in seeds)

    def trained_on(self, panel: Panel) -> list[str]:
        """The training views of a panel's model with this grid, in the order of the task."""
        views = set(panel.trained_on or self.task.readings)
        if panel.kind == "encoder" and (within := self.grid(panel, "multi").trained_on):
            views &= {*within}
        return [view for view in self.task.readings if view in views]

    def training(
        self, key: str, panel: Panel, start: "Start", view: str, seed: int
    ) -> Run:
        """The run that trains with a view; with `UNTRAINED` it keeps the initial weights."""
        seen = self.task.readings[UNTRAINED][0] if view == UNTRAINED else view
        text_view = self.task.views[seen]
        if panel.kind == "linear":
            settings = self.linear_settings(panel, start.weights) | {"percent": WHOLE}
            return self.add(
                self.run("train", key, f"{panel.kind}-{view}"),
                settings | {"view": text_view.columns()},
            )
        grid = self.grid(panel, "multi")
        settings = self.training_settings(panel, grid, start.weights)
        settings |= {
            "view": text_view.columns(),
            "only": self.heads(panel),
            "where": panel.where,
        }
        settings |= {"tokenizer": model_settings(start.cut_by, start.tokenizer)}
        settings |= {"learning_rate": grid.learning_rates[0], "updates": grid.tried[:1]}
        settings |= self.lengths(panel, seen) | self.min_test()
        if view == UNTRAINED:
            settings |= {"passes": None, "updates": [0]}
        run = self.run("train", key, f"{view}-{self.context.grid}", seed)
        return self.add(run, settings, weights_of=start.run)

    def read(self, key: str, panel: Panel, start: "Start", seed: int) -> Run:
        """The run that predicts the test examples with all views, using the training of each view.

        A linear model reads whole texts, so it has no views with a length limit.
        """
        trainings = {
            view: self.training(key, panel, start, view, seed)
            for view in self.trained_on(panel)
        }
        readings = [
            {
                "condition": f"{trained} > {view}",
                "source": source,
                "view": self.task.views[view].columns(),
            }
            | self.lengths(panel, view)
            for source, trained in enumerate(trainings)
            for view in self.task.readings[trained]
            if panel.kind == "encoder" or not self.task.views[view].max_length
        ]
        if panel.kind == "linear":
            run, settings = (
                self.run("read", key, panel.kind),
                self.linear_settings(panel, start.weights),
            )
        else:
            run = self.run("read", key, self.context.grid, seed)
            settings = {
                "setting": "multi",
                "grid": self.context.grid,
                "only": self.heads(panel),
            }
            settings |= model_settings(panel.model, start.weights)
            settings |= {
                "tokenizer": model_settings(start.cut_by, start.tokenizer)
            } | self.min_test()
        self.specs[run] = plan.Spec(
            settings | {"readings": readings}, sources=tuple(trainings.values())
        )
        return run

    def lengths(self, panel: Panel, view: str) -> dict[str, int]:
        """The number of tokens that a panel's model reads with a view; none for a linear model."""
        if panel.kind == "linear":
            return {}
        longest = self.grid(panel, "multi").max_length
        return {"max_length": min(longest, self.task.views[view].max_length or longest)}


@dataclass(frozen=True)
class Start:
    """The initial weights of a training, their tokenizer, and the run that makes them, if any.

    ``cut_by`` is the registered model that the ``tokenizer`` belongs to.
    """

    weights: Weights | None
    tokenizer: Weights | None = None
    cut_by: str = ""
    run: Run | None = None


TASK = ClassificationTask
