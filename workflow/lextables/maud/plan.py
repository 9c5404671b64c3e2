"""Which MAUD runs there are, decided before any job starts.

A single-task run trains one model a head, all heads in one job; a multi-task run trains one encoder with a
head for each.  Settings are the authors' published best ones, or found by runs on the training split that
are scored on dev (`single-search`, `multi-search`); final runs train on train and dev.  Runs with other
settings than the paper's are a row of our own beside the printed one.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import PositiveInt

from lextables.config import Config
from lextables.models.resolve import Missing, Model, Weights, find, model_settings
from lextables.models.span_plan import SpanPlanner, SpanTask
from lextables.own import Key
from lextables.papers import Entry, Paper
from lextables.plan import PAPER_GRID, Difference, Plan, Spec, fewer_seeds, own_name, reason_not_run
from lextables.run import Run

PAPER = "maud"
EXTRACTION = "maud_extraction"
WHOLE = 100  # per cent of the training examples


class Panel(Entry):
    """A model of Tables 3 and 4: how it is trained, and the name the authors' settings give it.

    A ``floor`` row says what a score is worth: to reach no more than it says nothing.
    """

    row: str
    model: str
    single: bool = False
    multi: bool = False
    long: bool = False
    shares: bool = False
    own: bool = False
    floor: bool = False
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
    trained on abridged data; ``averages`` is how many runs a printed score is the mean of; ``grids`` go by
    the size of the search (`paper` is the paper's), then by `single`, `long` and `multi`.
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
    averages: PositiveInt
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
                    found += self.placed(self.row(key, panel, setting), panel)
        return found

    def placed(self, row: dict[str, Any], panel: Panel) -> list[dict[str, Any]]:
        """The printed row with its runs; or without, and a row of our own whose name says what differs."""
        differences = self.differences(row, panel) if row["runs"] and not panel.own else []
        if not differences:
            return [row]
        return [
            row | {"runs": {}, "reason": reason_not_run(differences)},
            row | {"row": own_name(row["row"], differences), "own": True},
        ]

    def grid(self, panel: Panel, setting: str) -> Grid:
        return self.paper.grids[self.grid_name]["long" if panel.long else setting]

    def differences(self, row: Mapping[str, Any], panel: Panel) -> list[Difference]:
        """How the runs of ``row`` differ from the paper's."""
        grid, found = self.grid(panel, row["setting"]), []
        authors = self.config.maud_settings == "authors"
        if self.grid_name != PAPER_GRID:
            words = []
            if not (panel.published and authors):
                updates = grid.rounds[-1] * grid.updates_per_round
                words.append(f"{updates} update{'s' * (updates > 1)} of {grid.batch_size} examples")
            words.append(f"texts cut at {grid.max_length} tokens")
            words += [f"{grid.heads} heads"] * (grid.heads is not None and row["setting"] == "single")
            words += ["bfloat16"] * grid.bf16
            found.append(Difference(f"grid={PAPER_GRID}", f"{self.grid_name} budget: {', '.join(words)}"))
        if panel.published and not authors:
            found.append(Difference("maud_settings=authors", "settings of our own search"))
        return found + fewer_seeds(len(row["runs"][str(WHOLE)]), self.paper.averages)

    def row(self, key: str, panel: Panel, setting: str) -> dict[str, Any]:
        weights = find(panel.model, self.config, self.models, self.mirrors)
        known = self.models.get(panel.model)
        row: dict[str, Any] = {
            "row": panel.row,
            "setting": setting,
            "own": panel.own,
            "reason": weights.reason if isinstance(weights, Missing) else "",
            "parameters": known.parameters if known else None,
            "trained": True,
            "averages": self.paper.averages,
            "floor": panel.floor,
            "runs": {},
        }
        if isinstance(weights, Weights):
            grid = self.grid(panel, setting)
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
