"""The runs of a span-extraction task, decided before any job starts: CUAD's, and MAUD's extraction.

A row is a model fine-tuned on a share of the training contracts, or the authors' own fine-tuned model.
Where the grid has more than one point, each is trained without the held-out contracts first (`search`),
and the point with the best area under the curve on them is trained on all (`finetune`).  What was trained or
read with other settings than the paper's is a row of our own beside the printed one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import PositiveInt

from lextables.config import Config
from lextables.models.resolve import Missing, Model, Weights, find, model_settings
from lextables.own import Key
from lextables.papers import Entry
from lextables.plan import PAPER_GRID, Difference, Spec, fewer_seeds, own_name, reason_not_run
from lextables.run import Run

WHOLE = 100  # per cent of the training contracts


class Panel(Entry):
    """A model of the panel; ``pretrained`` goes through masked-language-model training on contracts first.

    ``released`` names the file of the authors' own fine-tuned weights; ``joined`` adds a row in which spans
    of adjacent windows are joined; ``shares`` trains on each share of the contracts too.  Each part of a
    batch (`Grid`) is cut into ``accumulation`` parts more, which lets a large model fit on one GPU.  A
    ``floor`` row says what a score is worth: to reach no more than it says nothing.
    """

    row: str
    family: str
    model: str
    pretrained: bool = False
    released: str | None = None
    joined: str | None = None
    shares: bool = False
    accumulation: int = 1
    own: bool = False
    floor: bool = False


class Grid(Entry):
    """How models are trained and read.

    ``percents`` are the shares of the training contracts that are tried; epochs grow as the share falls.
    A batch goes through the model in ``accumulation`` parts, which changes its memory and not its result.
    ``step`` is how far one window starts behind the one before, in tokens.  ``windows_per_question``
    caps how many windows of a contract a question reads (none: all).  ``max_updates`` caps the training.
    """

    learning_rates: tuple[float, ...]
    epochs: tuple[int, ...]
    percents: tuple[int, ...] = (WHOLE,)
    batch_size: int
    accumulation: int = 1
    max_length: int
    step: int
    max_question_length: int
    balance: Literal["sample", "weight"]
    windows_per_question: int | None = None
    max_updates: int | None = None
    bf16: bool = False
    save_every: int = 1000
    seeds: int | None = None


class Pretraining(Entry):
    """Masked-language-model training on contracts."""

    updates: int
    batch_size: int
    max_length: int
    learning_rate: float
    bf16: bool = False


class SpanTask(Entry):
    """What a paper fixed of a span-extraction task.

    ``held_out`` is the share of the training contracts on which the grid is searched, or `dev` for those of
    that split.  ``checkpoints`` is the source of the authors' fine-tuned models; ``relaxed`` the part of a
    category's name that lets a prediction count which holds the answer; ``tail`` the least thresholds of
    the released sweep.  ``averages`` is how many runs a printed score is the mean of.  ``grids`` and
    ``pretraining`` go by grid; the one called `paper` holds the paper's settings.
    """

    models: Mapping[Key, Panel]
    n_best: int
    max_answer_length: int
    held_out: float | Literal["dev"]
    relaxed: str | None = None
    tail: tuple[float, ...]
    checkpoints: str | None = None
    averages: PositiveInt = 1
    grids: Mapping[str, Grid]
    pretraining: Mapping[str, Pretraining] = {}


@dataclass(frozen=True)
class Row:
    """A row of the tables: ``runs`` maps a share of the training contracts to its runs, one a seed.

    ``trained`` rows were trained here, and ``averages`` is how many runs a printed score of one is the mean
    of; the authors' own weights give the same numbers each time.
    """

    row: str
    family: str
    own: bool
    reason: str = ""
    parameters: int | None = None
    trained: bool = False
    averages: int = 1
    floor: bool = False
    runs: dict[int, tuple[Run, ...]] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """The row as plain values, for the params of a rule."""
        return {
            "row": self.row,
            "family": self.family,
            "own": self.own,
            "reason": self.reason,
            "parameters": self.parameters,
            "trained": self.trained,
            "averages": self.averages,
            "floor": self.floor,
            "runs": {
                str(percent): [run.folder for run in runs] for percent, runs in sorted(self.runs.items())
            },
        }


class SpanPlanner:
    """Lays out the runs of one task: `rows` fills `specs`.

    ``name`` is that of the task, which its data sets, windows and runs go by.  ``gpu`` says whether
    training will find one, which decides the size of the grid under ``grid: auto``.
    """

    def __init__(
        self, name: str, task: SpanTask, config: Config, models: Mapping[str, Model], root: Path, gpu: bool
    ) -> None:
        self.name, self.task, self.config, self.models = name, task, config, models
        self.mirrors = config.mirrors(root)
        self.grid_name = config.grid_name(gpu)
        self.grid = task.grids[self.grid_name]
        self.specs: dict[Run, Spec] = {}

    def rows(self) -> list[Row]:
        """The rows of the panel, then those of the user's own models."""
        found = [row for key, panel in self.task.models.items() for row in self.with_joined(key, panel)]
        for extra in self.config.extra_models:
            if extra.kind in ("encoder", "question-answering"):
                panel = Panel(row=extra.name, family="ours", model=extra.key, own=True)
                found.append(self.row(extra.key, panel))
        return found

    def with_joined(self, key: str, panel: Panel) -> list[Row]:
        rows = self.placed(self.row(key, panel), panel)
        if panel.joined is None:
            return rows
        row, joined = rows[-1], []
        for run in row.runs.get(WHOLE, ()):
            after = Run(self.name, "joined", run.model, run.condition, run.seed)
            self.specs[after] = Spec({"n_best": self.task.n_best}, (run,))
            joined.append(after)
        name = panel.joined + row.row.removeprefix(panel.row)
        runs = {WHOLE: tuple(joined)} if joined else {}
        return [*rows, replace(row, row=name, own=True, runs=runs)]

    def placed(self, row: Row, panel: Panel) -> list[Row]:
        """The printed row with its runs; or without, and a row of our own whose name says what differs."""
        differences = self.differences(row, panel) if row.runs and not panel.own else []
        if not differences:
            return [row]
        return [
            replace(row, runs={}, reason=reason_not_run(differences)),
            replace(row, row=own_name(row.row, differences), own=True),
        ]

    def differences(self, row: Row, panel: Panel) -> list[Difference]:
        """How the runs of ``row`` differ from the paper's."""
        grid, found = self.grid, []
        if panel.pretrained:
            contracts = ", ".join(self.config.edgar_quarters) or "the sample"
            wants = "the contracts that its authors pretrained on, which are in no source here"
            found.append(Difference(wants, f"on contracts of {contracts}"))
        if self.grid_name != PAPER_GRID:
            words = [f"windows of {grid.max_length} tokens"]
            if row.trained and grid.max_updates is not None:
                words = [f"{grid.max_updates} updates of {grid.batch_size} {words[0]}"]
            if grid.windows_per_question is not None:
                words.append(f"{grid.windows_per_question} windows a question")
            words += ["bfloat16"] * grid.bf16
            found.append(Difference(f"grid={PAPER_GRID}", f"{self.grid_name} budget: {', '.join(words)}"))
        if row.trained:
            found += fewer_seeds(len(row.runs.get(WHOLE, ())), self.task.averages)
        return found

    def row(self, key: str, panel: Panel) -> Row:
        known = self.models.get(panel.model)
        row = Row(panel.row, panel.family, panel.own, parameters=known.parameters if known else None)
        row = replace(row, averages=self.task.averages, floor=panel.floor)
        released = self.released(panel)
        if released:
            run = Run(self.name, "released", key, "as-released")
            self.specs[run] = Spec(self.reading() | model_settings(panel.model, released))
            return replace(row, runs={WHOLE: (run,)})
        weights = find(panel.model, self.config, self.models, self.mirrors)
        if isinstance(weights, Weights) and panel.pretrained:
            weights = self.pretrained(key, weights)
        if isinstance(weights, Missing):
            return replace(row, reason=weights.reason)
        kinds = {extra.key: extra.kind for extra in self.config.extra_models}
        if kinds.get(panel.model) == "question-answering":
            run = Run(self.name, "released", key, "as-released")
            self.specs[run] = Spec(self.reading() | model_settings(panel.model, weights))
            return replace(row, runs={WHOLE: (run,)})
        shares = self.grid.percents if panel.shares else (WHOLE,)
        runs = {percent: self.trained(key, panel, weights, percent) for percent in shares}
        return replace(row, runs=runs, trained=True)

    def released(self, panel: Panel) -> Weights | None:
        """The authors' own fine-tuned weights, where the configuration says to use them and they are here."""
        if panel.released is None or not self.config.released_checkpoints or self.config.data == "sample":
            return None
        here = any((mirror / self.task.checkpoints / panel.released).is_file() for mirror in self.mirrors)
        if here or self.config.models == "paper":
            folder = (
                f"{self.config.results}/models/{self.name}/released/{panel.released.removesuffix('.zip')}"
            )
            return Weights(folder, None, "the authors' release")
        return None

    def pretrained(self, key: str, weights: Weights) -> Weights | Missing:
        """The model after masked-language-model training on contracts, or why there can be none."""
        if self.config.data != "sample" and not self.config.edgar_quarters:
            return Missing("no contracts to pretrain on: config key edgar_quarters names no quarter")
        entry = self.task.pretraining.get(self.grid_name)
        if entry is None:
            return Missing("no pretraining without a GPU: set grid=paper")
        run = Run(self.name, "pretrain", key, "contracts")
        self.specs[run] = Spec(entry.model_dump() | model_settings(key, weights))
        return Weights(
            f"{self.config.results}/models/{self.name}/pretrained/{key}", None, "contracts pretraining"
        )

    def reading(self) -> dict[str, Any]:
        """The settings of cutting contracts into windows and reading them."""
        grid = self.grid
        return {
            "grid": self.grid_name,
            "max_length": grid.max_length,
            "step": grid.step,
            "max_question_length": grid.max_question_length,
            "windows_per_question": grid.windows_per_question,
            "n_best": self.task.n_best,
            "max_answer_length": self.task.max_answer_length,
            "bf16": grid.bf16,
        }

    def trained(self, key: str, panel: Panel, weights: Weights, percent: int) -> tuple[Run, ...]:
        grid = self.grid
        common = (
            self.reading()
            | model_settings(panel.model, weights)
            | {
                "percent": percent,
                "batch_size": grid.batch_size,
                "accumulation": grid.accumulation * panel.accumulation,
                "balance": grid.balance,
                "max_updates": grid.max_updates,
                "save_every": grid.save_every,
                "held_out": self.task.held_out,
            }
        )
        # As many updates with fewer contracts: 30 % of them go round 3 and 12 times (Section 4.2).
        points = [
            {"learning_rate": rate, "epochs": round(epochs * WHOLE / percent)}
            for rate in grid.learning_rates
            for epochs in grid.epochs
        ]
        searched = []
        for point in points if len(points) > 1 else []:
            name = f"{self.grid_name}-p{percent}-lr{point['learning_rate']:.0e}-e{point['epochs']}"
            run = Run(self.name, "search", key, name)
            self.specs[run] = Spec(common | {"points": [point]})
            searched.append(run)
        runs = []
        for seed in self.config.seeds[: grid.seeds]:
            run = Run(self.name, "finetune", key, f"{self.grid_name}-p{percent}", seed)
            self.specs[run] = Spec(common | {"points": points}, tuple(searched))
            runs.append(run)
        return tuple(runs)
