"""The runs of a classification task: one model for each head, or one encoder with a head for each."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt, field_validator, model_validator

from lextables.metrics.classification import METRICS
from lextables.models.resolve import Missing, Weights, model_settings
from lextables.own import Key
from lextables.registry import Entry
from lextables.run import Run
from lextables.tasks import plan
from lextables.tasks.plan import GIVEN, WHOLE, Difference, Grid, Planner, Row, Trial, fewer_seeds, rate_name

SETTINGS = ("single", "multi")  # single-task, and multi-task


class Panel(plan.Panel):
    """A model of the panel: whether it is trained ``single``-task, ``multi``-task, or both.

    ``grid`` names the part of the grid that it is trained by, if not its setting's.  ``published`` is the
    name that the authors' own settings give the model.

    A panel of kind `linear` has a model a head, over ``features``: words, the frozen sentence vectors of
    ``model``, or both; of pairs of texts it sees the ``sides`` that it may.
    """

    kind: Literal["encoder", "linear"] = "encoder"
    model: str = ""
    features: Literal["words", "vectors", "both"] = "words"
    sides: Literal["both", "first", "second"] = "both"
    single: bool = False
    multi: bool = True
    grid: str | None = None
    published: str | None = None

    @model_validator(mode="after")
    def _named(self) -> "Panel":
        if not self.model and (self.kind, self.features) != ("linear", "words"):
            raise ValueError(f"the row {self.row!r} wants a model")
        return self


class ClassificationGrid(Grid):
    """What is searched, and how heads are trained.

    ``updates`` are the numbers of updates that are tried, all of them in one training; or ``epochs`` are, of
    ``updates_per_epoch`` each.  ``head`` is the kind of classification head; ``heads`` caps how many heads
    are trained singly (none: all).
    """

    updates: tuple[int, ...] = ()
    epochs: tuple[int, ...] = ()
    updates_per_epoch: int = 1
    head: Literal["family", "own"] = "family"
    heads: int | None = None

    @property
    def tried(self) -> list[int]:
        """The numbers of updates that are tried."""
        return [*self.updates, *(epochs * self.updates_per_epoch for epochs in self.epochs)]


class LinearSettings(Entry):
    """How linear models are learnt; all of it was chosen on the final splits, by cross-validation.

    Words count in runs of up to ``longest``, those that stand in ``least`` texts of a head or more, by their
    log odds with ``smoothing``.  ``penalty`` is scikit-learn's C, by the panel's features.  Texts are encoded
    in pieces of so many words (``piece``), and ``numbers`` is how much vectors and what is counted of pairs
    weigh beside words.  A panel with ``shares`` is learnt from ``percents`` of the examples too.
    """

    longest: PositiveInt
    least: PositiveInt
    smoothing: PositiveFloat
    penalty: Mapping[Literal["words", "vectors", "both"], PositiveFloat]
    piece: PositiveInt = 64
    numbers: PositiveFloat = 1.0
    percents: tuple[Annotated[int, Field(ge=1, le=WHOLE)], ...] = (WHOLE,)


class Names(Entry):
    """What the data set calls the tables that the task reads."""

    heads: str = "heads"
    texts: str = "texts"


class ClassificationTask(Entry):
    """What a paper fixed of a classification task.

    A search trains on the splits ``training`` and reads ``validation``; what is chosen is trained on
    ``final`` and reads ``test``.  ``evaluator`` is `general`, with the ``metrics`` of
    `metrics.classification`, of which a search goes by ``choose_by``; or the name of a released one.
    ``unit`` is the column of the examples whose values are drawn together for intervals.

    Examples have one right answer (``label``, its place among the head's), or, ``multi_label``, any number
    (``labels``).  ``loss`` is one of `multi_head.LOSSES`, ``sampling`` one of `sampling.QUEUES`; with
    ``class_weights`` the answers of a head count alike in its loss.

    ``averages`` is how many runs a printed score is the mean of.  ``grids`` go by the size of the search
    (`paper` is the paper's), then by `single`, `multi` or a name that models of the panel give.  ``linear``
    is for panels of that kind.
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
    models: Mapping[Key, Panel]
    weight_decay: float = 0.01
    averages: PositiveInt = 1
    grids: Mapping[str, Mapping[str, ClassificationGrid]]
    linear: LinearSettings | None = None

    @field_validator("metrics", "choose_by")
    @classmethod
    def _known(cls, names: Any) -> Any:
        for name in (names,) if isinstance(names, str) else names:
            if name not in METRICS:
                raise ValueError(f"there is no metric {name!r}; use {', '.join(METRICS)}")
        return names

    @model_validator(mode="after")
    def _fits(self) -> "ClassificationTask":
        if self.evaluator == "general" and not self.metrics:
            raise ValueError("the general evaluator wants metrics")
        several = (self.loss, self.sampling, self.evaluator)
        if self.multi_label and several != ("binary_cross_entropy", "shuffled", "general"):
            raise ValueError("multi_label wants binary_cross_entropy, shuffled and the general evaluator")
        for panel in self.models.values():
            if panel.kind == "linear" and panel.features not in (self.linear.penalty if self.linear else ()):
                raise ValueError(f"the row {panel.row!r} wants a penalty for {panel.features} under linear")
        return self

    def training_settings(self) -> dict[str, Any]:
        """What every training of the task is set to."""
        names = ("weight_decay", "multi_label", "loss", "sampling", "class_weights")
        return {name: getattr(self, name) for name in names}


class ClassificationPlanner(Planner):
    """Lays out a classification task; the conditions of a row are shares of the training examples."""

    STAGES = ("read", "singly", GIVEN)
    FORMS: ClassVar = {"csv": (".csv",), "jsonl": (".jsonl",)}
    task: ClassificationTask

    def rows(self) -> list[Row]:
        panels = dict(self.task.models)
        encoders = [panel for panel in panels.values() if panel.kind == "encoder"]
        wanted = {name: any(getattr(panel, name) for panel in encoders) for name in SETTINGS}
        for extra in self.own_models("encoder"):
            panels[extra.key] = Panel(row=extra.name, model=extra.key, own=True, **wanted)
        found = []
        for key, panel in panels.items():
            if panel.kind == "linear":
                found.append(self.linear(key, panel))
                continue
            for setting in SETTINGS:
                if getattr(panel, setting):
                    row = self.row(key, panel, setting)
                    found += self.placed(row, self.differences(row, panel, setting))
        return found

    def linear(self, key: str, panel: Panel) -> Row:
        """The row of linear models, one a head; those over words run anywhere."""
        weights = self.context.weights(panel.model) if panel.features != "words" else None
        missing = isinstance(weights, Missing)
        shares = (
            self.task.linear.percents if panel.shares and self.context.config.data != "sample" else (WHOLE,)
        )
        return Row(
            panel.row,
            own=panel.own,
            reason=weights.reason if missing else "",
            parameters=self.context.parameters(*([panel.model] if panel.model else [])),
            trained=True,
            floor=panel.floor,
            runs={} if missing else {str(share): self.learnt(key, panel, weights, share) for share in shares},
            about={"setting": "single"},
        )

    def learnt(self, key: str, panel: Panel, weights: Weights | None, percent: int) -> tuple[Run, ...]:
        """The run that reads the test examples, after that which learns."""
        settings = self.task.linear.model_dump(exclude={"percents"}) | {"percent": percent}
        settings |= {name: getattr(panel, name) for name in ("kind", "features", "sides")}
        settings |= {"multi_label": self.task.multi_label, "penalty": dict(self.task.linear.penalty)}
        settings |= model_settings(panel.model, weights) if weights else {}
        name = panel.kind + ("" if percent == WHOLE else f"-p{percent}")
        training = self.add(self.run("train", key, name), settings)
        return (self.add(self.run("read", key, name), settings, weights_of=training),)

    def grid(self, panel: Panel, setting: str) -> ClassificationGrid:
        return self.task.grids[self.context.grid][panel.grid or setting]

    def by_authors(self, panel: Panel) -> str | None:
        """The model's name in the authors' own settings, where the configuration says to take these."""
        return panel.published if self.context.config.hyperparameters == "published" else None

    def differences(self, row: Row, panel: Panel, setting: str) -> list[Difference]:
        """How the runs of ``row`` differ from the paper's."""
        grid, words = self.grid(panel, setting), []
        if not self.by_authors(panel):
            updates = grid.tried[-1]
            words.append(f"{updates} update{'s' * (updates > 1)} of {grid.batch_size} examples")
        words.append(f"texts cut at {grid.max_length} tokens")
        words += [f"{grid.heads} heads"] * (grid.heads is not None and setting == "single")
        found = self.budget(grid, words)
        if panel.published and not self.by_authors(panel):
            found.append(Difference("hyperparameters=published", "settings of our own search"))
        return found + fewer_seeds(len(row.runs.get(self.MAIN, ())), self.task.averages)

    def row(self, key: str, panel: Panel, setting: str) -> Row:
        weights = self.context.weights(panel.model)
        runs = {}
        if isinstance(weights, Weights):
            grid = self.grid(panel, setting)
            shares = grid.percents if panel.shares and setting == "single" else (WHOLE,)
            runs = {
                str(percent): tuple(self.runs(key, panel, setting, grid, weights, percent))
                for percent in shares
            }
        return Row(
            panel.row,
            own=panel.own,
            reason=weights.reason if isinstance(weights, Missing) else "",
            parameters=self.context.parameters(panel.model),
            trained=True,
            averages=self.task.averages,
            floor=panel.floor,
            runs=runs,
            about={"setting": setting},
        )

    def trained(self, key: str, view: str | None = None) -> tuple[Run, ...] | Missing:
        """The trainings of a model of the panel for all heads, one a seed."""
        panel = self.task.models[key]
        weights = self.context.weights(panel.model)
        if isinstance(weights, Missing):
            return weights
        runs = self.runs(key, panel, "multi", self.grid(panel, "multi"), weights, WHOLE)
        return tuple(self.specs[run].weights_of for run in runs)

    def runs(
        self, key: str, panel: Panel, setting: str, grid: ClassificationGrid, weights: Weights, percent: int
    ) -> Iterable[Run]:
        """The runs that read the test examples, one a seed, and those before them."""
        name = f"{setting}-{self.context.grid}" + ("" if percent == WHOLE else f"-p{percent}")
        published = self.by_authors(panel)
        settings = model_settings(panel.model, weights) | grid.training() | self.task.training_settings()
        settings |= {
            "setting": setting,
            "grid": self.context.grid,
            "percent": percent,
            "head": grid.head,
            "heads": grid.heads,
            "published": published,
            "tried": len(grid.learning_rates) * len(grid.tried),
        }
        trials = [
            Trial(rate_name(rate), {"learning_rate": rate, "updates": grid.tried})
            for rate in grid.learning_rates
        ]
        choice, seeds = None, self.seeds(grid)
        if published or settings["tried"] > 1:
            searched = [] if published else self.search(key, name, settings, trials, seeds)
            choosing = {"setting": setting, "percent": percent, "published": published}
            choosing |= {name: getattr(self.task, name) for name in ("evaluator", "choose_by", "multi_label")}
            choosing |= {"updates_per_epoch": grid.updates_per_epoch}
            choosing |= {"learning_rates": [self.specs[run].settings["learning_rate"] for run in searched]}
            choice = self.add(self.run("choice", key, name), choosing, needs=tuple(searched))
        first = trials[0].settings | {"updates": grid.tried[:1]}
        for seed in seeds:
            if setting == "single":
                yield self.add(self.run("singly", key, name, seed), settings | first, choice=choice)
            else:
                training = self.run("train", key, name, seed)
                self.add(training, settings | first, choice=choice)
                reading = {"weights_of": training.folder, "max_length": grid.max_length, "setting": setting}
                reading |= {"grid": self.context.grid} | model_settings(panel.model, weights)
                yield self.add(self.run("read", key, name, seed), reading, weights_of=training)
