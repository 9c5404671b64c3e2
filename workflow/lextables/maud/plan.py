"""Which MAUD runs there are, decided before any job starts.

A single-task run trains one model a head, all heads in one job; a multi-task run trains one encoder with a
head for each.  Settings are the authors' published best ones, or found by runs on the training split that
are scored on dev (`single-search`, `multi-search`); final runs train on train and dev.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from lextables.config import Config
from lextables.models.resolve import Missing, Model, Weights, find, model_settings
from lextables.models.span_plan import SpanPlanner, SpanTask
from lextables.own import Key
from lextables.papers import Entry, Paper
from lextables.plan import Plan, Spec
from lextables.run import Run

PAPER = "maud"
EXTRACTION = "maud_extraction"
WHOLE = 100  # per cent of the training examples


class Panel(Entry):
    """A model of Tables 3 and 4: how it is trained, and the name the authors' settings give it."""

    row: str
    model: str
    single: bool = False
    multi: bool = False
    long: bool = False
    shares: bool = False
    own: bool = False
    published: str | None = None


class Grid(Entry):
    """What is searched, and how long texts may be.

    A round is an update of a single-task model and an epoch of ``updates_per_round`` updates of a multi-task
    one.  ``head`` is the kind of classification head; ``heads`` caps how many questions' heads are trained
    singly (none: all); ``percents`` are the shares of the training examples of Figure 3.
    """

    learning_rates: tuple[float, ...]
    rounds: tuple[int, ...]
    updates_per_round: int = 1
    batch_size: int
    max_length: int
    head: Literal["family", "own"]
    heads: int | None = None
    bf16: bool = False
    save_every: int = 0
    seeds: int | None = None
    percents: tuple[int, ...] = (WHOLE,)


class Maud(Paper):
    """`resources/papers/maud.yaml`.

    ``questions`` and ``heads`` are how many there must be; ``categories`` maps a category to its printed
    name; ``settings`` are the files with the authors' settings, the multi-task ones with whether they
    trained on abridged data; ``grids`` go by the size of the search, then by `single`, `long` and `multi`.
    """

    questions: int
    heads: int
    categories: Mapping[str, str]
    constraints: Mapping[str, Any]
    printed_types: Mapping[str, str]
    legalbench_queries: Mapping[str, str]
    settings: Mapping[str, Mapping[str, bool] | tuple[str, ...]]
    models: Mapping[Key, Panel]
    weight_decay: float
    grids: Mapping[str, Mapping[str, Grid]]
    extraction: SpanTask


REGISTRY = Maud


def plan(config: Config, paper: Maud, models: Mapping[str, Model], root: Path, gpu: bool) -> Plan:
    """Lay out MAUD's runs, those of the extraction task among them."""
    planner = _Planner(config, paper, models, root, gpu)
    rows = planner.rows()
    spans = SpanPlanner(EXTRACTION, paper.extraction, config, models, root, gpu)
    extracted = [row.plain() for row in spans.rows()]
    shown = {
        table: [row for row in rows if SHOWN[table](row)] if table in SHOWN else [] for table in paper.tables
    }
    if "table12" in shown:
        shown["table12"] = extracted
    for table, found in shown.items():
        if table != "figure3":
            found[:] = [_whole(row) for row in found]
    return Plan(planner.specs | spans.specs, shown)


def _whole(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row without the runs on a part of the training examples, which only Figure 3 shows."""
    return dict(row) | {"runs": {k: v for k, v in row["runs"].items() if k == str(WHOLE)}}


class _Planner:
    def __init__(
        self, config: Config, paper: Maud, models: Mapping[str, Model], root: Path, gpu: bool
    ) -> None:
        self.config, self.paper, self.models = config, paper, models
        self.mirrors = config.mirrors(root)
        self.grid_name = config.grid_name(gpu)
        self.specs: dict[Run, Spec] = {}

    def rows(self) -> list[dict[str, Any]]:
        panels = dict(self.paper.models)
        for extra in self.config.extra_models:
            if extra.kind == "encoder":
                panels[extra.key] = Panel(row=extra.name, model=extra.key, single=True, multi=True, own=True)
        found = []
        for key, panel in panels.items():
            for setting, wanted in (("single", panel.single), ("multi", panel.multi)):
                if wanted:
                    found.append(self.row(key, panel, setting))
        return found

    def row(self, key: str, panel: Panel, setting: str) -> dict[str, Any]:
        weights = find(panel.model, self.config, self.models, self.mirrors)
        known = self.models.get(panel.model)
        row: dict[str, Any] = {
            "row": panel.row,
            "setting": setting,
            "own": panel.own,
            "reason": weights.reason if isinstance(weights, Missing) else "",
            "parameters": known.parameters if known else None,
            "runs": {},
        }
        if isinstance(weights, Weights):
            grid = self.paper.grids[self.grid_name]["long" if panel.long else setting]
            shares = grid.percents if panel.shares and setting == "single" else (WHOLE,)
            for percent in shares:
                runs = self.runs(key, panel, setting, grid, weights, percent)
                row["runs"][str(percent)] = [run.folder for run in runs]
        return row

    def runs(
        self, key: str, panel: Panel, setting: str, grid: Grid, weights: Weights, percent: int
    ) -> list[Run]:
        """The final runs, one a seed, and the search before them where there is one."""
        common = model_settings(panel.model, weights) | {
            "setting": setting,
            "grid": self.grid_name,
            "percent": percent,
            "batch_size": grid.batch_size,
            "max_length": grid.max_length,
            "weight_decay": self.paper.weight_decay,
            "head": grid.head,
            "heads": grid.heads,
            "rounds": list(grid.rounds),
            "updates_per_round": grid.updates_per_round,
            "bf16": grid.bf16,
            "save_every": grid.save_every,
        }
        name = self.grid_name if percent == WHOLE else f"{self.grid_name}-p{percent}"
        seeds = self.config.seeds[: grid.seeds]
        published = panel.published if self.config.maud_settings == "authors" else None
        points = len(grid.learning_rates) * len(grid.rounds)
        searched: list[Run] = []
        if points > 1 and published is None:
            for rate in grid.learning_rates:
                for seed in seeds:
                    run = Run(PAPER, f"{setting}-search", key, f"{name}-lr{rate:.0e}", seed)
                    self.specs[run] = Spec(common | {"learning_rates": [rate], "published": None})
                    searched.append(run)
        final = []
        for seed in seeds:
            run = Run(PAPER, setting, key, name, seed)
            self.specs[run] = Spec(
                common | {"learning_rates": list(grid.learning_rates), "published": published},
                tuple(searched),
            )
            final.append(run)
        return final


# Which rows a table shows; the tables that are not named here show the data sets alone.
SHOWN: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "table3": lambda row: row["setting"] == "single",
    "table4": lambda row: row["setting"] == "multi",
    "table6": lambda row: row["setting"] == "multi",
    "table7": lambda row: row["setting"] == "multi",
    "table8": lambda row: row["setting"] == "multi",
    "figure2": lambda row: row["setting"] == "multi",
    "figure3": lambda row: row["setting"] == "single" and (row["own"] or row["row"] == "RoBERTa"),
    "table_validation": lambda row: row["own"],
}
