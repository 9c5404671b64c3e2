"""Which ACORD runs there are, decided before any job starts.

A `System` is a row of the tables: a retriever, maybe a reranker over its hits, maybe fine-tuned.  It
either has runs or a reason why it has none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import PositiveInt

from lextables.config import Config
from lextables.models.resolve import Missing, Model, Weights, find, model_settings
from lextables.own import Key
from lextables.papers import Entry, Paper
from lextables.plan import PAPER_GRID, Difference, Plan, Spec, fewer_seeds, own_name, reason_not_run
from lextables.run import Run

PAPER = "acord"
FORMATS = ("short", "medium", "long")
USER_MAX_LENGTH = 512


class Retriever(Entry):
    """A first-stage system; BM25 has one ``index`` a query, over its judged clauses, or one over all.

    A ``floor`` row says what a score is worth: to reach no more than it says nothing.
    """

    row: str
    kind: Literal["bm25", "bi-encoder", "embedding-api"]
    index: Literal["query", "corpus"] | None = None
    model: str | None = None
    own: bool = False
    reranked: bool = True
    floor: bool = False


class Reranker(Entry):
    """A second-stage system over a retriever's first hits."""

    row: str
    kind: Literal["cross-encoder", "language-model"]
    model: str


class Finetuned(Entry):
    """A cross-encoder fine-tuned on the training queries."""

    row: str
    model: str
    own: bool = False


class Grid(Entry):
    """How much of the hyper-parameter grid is searched; ``seeds`` caps the config's list."""

    learning_rates: tuple[float, ...]
    updates: tuple[int, ...]
    batch_size: int
    max_length: int
    bf16: bool
    save_every: int
    seeds: int | None = None


class Acord(Paper):
    """`resources/papers/acord.yaml`.

    ``averages`` is how many runs a printed score of a fine-tuned model is the mean of; the grid `paper` holds
    the paper's settings.
    """

    source: str
    file: str
    categories: Mapping[str, str]
    query_aliases: Mapping[str, str]
    format_queries: Mapping[str, str]
    top: int
    retrievers: Mapping[Key, Retriever]
    rerankers: Mapping[Key, Reranker]
    finetuned: Mapping[Key, Finetuned]
    weight_decay: float
    averages: PositiveInt
    grids: Mapping[str, Grid]


@dataclass(frozen=True)
class System:
    """A row: ``runs`` maps a query format to its runs (one a seed); without runs there is a ``reason``.

    ``model`` is the reranker's; ``parameters`` counts those of its models together, None where a count is not
    public; ``averages`` is how many runs a printed score of it is the mean of.
    """

    retriever: str
    reranker: str
    tuned: bool
    own: bool
    runs: dict[str, tuple[Run, ...]] = field(default_factory=dict)
    reason: str = ""
    pairwise: bool = False
    parameters: int | None = None
    floor: bool = False
    model: str | None = None
    averages: int = 1

    @property
    def row(self) -> str:
        """The row as printed: `<retriever> / <reranker>`."""
        return f"{self.retriever} / {self.reranker}"


REGISTRY = Acord


def plan(config: Config, paper: Acord, models: Mapping[str, Model], root: Path, gpu: bool) -> Plan:
    """Lay out ACORD's runs for this configuration.

    ``gpu`` says whether training will find one, which decides the size of the grid under ``grid: auto``.
    """
    planner = _Planner(config, paper, models, root, gpu)
    found = planner.lay_out()
    return Plan(planner.specs, {table: table_systems(table, found) for table in paper.tables})


def systems(
    config: Config, paper: Acord, models: Mapping[str, Model], root: Path, gpu: bool
) -> tuple[System, ...]:
    """Every system of the plan, in the order of the tables."""
    return _Planner(config, paper, models, root, gpu).lay_out()


class _Planner:
    def __init__(
        self, config: Config, paper: Acord, models: Mapping[str, Model], root: Path, gpu: bool
    ) -> None:
        self.config, self.paper, self.models = config, paper, models
        self.mirrors = config.mirrors(root)
        self.grid_name = config.grid_name(gpu)
        self.specs: dict[Run, Spec] = {}
        self.systems: list[System] = []

    def lay_out(self) -> tuple[System, ...]:
        retrievers = dict(self.paper.retrievers)
        for extra in self.config.extra_models:
            if extra.kind == "bi-encoder":
                retrievers[extra.key] = Retriever(
                    row=extra.name, kind="bi-encoder", model=extra.key, own=True
                )
        found = {key: self.retrieve(key, retriever) for key, retriever in retrievers.items()}
        for key, retriever in retrievers.items():
            self.systems.append(self.system(retriever, None, found[key]))
            if retriever.kind == "embedding-api" or not retriever.reranked or retriever.index == "corpus":
                continue
            self.zero_shot(key, retriever, found[key])
            self.fine_tuned(key, retriever, found[key])
        return tuple(self.systems)

    def weights(self, name: str) -> Weights | Missing:
        return find(name, self.config, self.models, self.mirrors)

    def max_length(self, name: str) -> int | None:
        return self.models[name].max_length if name in self.models else None

    def parameters(self, retriever: Retriever, reranker: Reranker | Finetuned | None) -> int | None:
        total = 0
        for name in (retriever.model, reranker.model if reranker else None):
            if name is not None:
                known = self.models[name].parameters if name in self.models else None
                if known is None:
                    return None
                total += known
        return total

    def system(
        self,
        retriever: Retriever,
        reranker: Reranker | Finetuned | None,
        outcome: dict[str, tuple[Run, ...]] | Missing,
        *,
        own: bool = False,
        pairwise: bool = False,
    ) -> System:
        missing = isinstance(outcome, Missing)
        return System(
            retriever=retriever.row,
            reranker=reranker.row if reranker else "None",
            tuned=isinstance(reranker, Finetuned),
            own=own or retriever.own,
            runs={} if missing else outcome,
            reason=outcome.reason if missing else "",
            pairwise=pairwise,
            parameters=self.parameters(retriever, reranker),
            floor=retriever.floor and reranker is None,
            model=reranker.model if reranker else None,
            averages=self.paper.averages if isinstance(reranker, Finetuned) else 1,
        )

    def retrieve(self, key: str, retriever: Retriever) -> dict[str, tuple[Run, ...]] | Missing:
        settings: dict[str, Any] = {"kind": retriever.kind}
        if retriever.kind == "bm25":
            settings |= {"index": retriever.index, "k1": 0.9, "b": 0.4, "top": self.paper.top}
        else:
            weights = self.weights(retriever.model)
            if isinstance(weights, Missing):
                return weights
            settings |= model_settings(retriever.model, weights) | {
                "max_length": self.max_length(retriever.model),
                "top": self.paper.top,
                "api": self.config.llm if retriever.kind == "embedding-api" else None,
            }
        runs = {}
        for style in FORMATS:
            run = Run(PAPER, "retrieve", key, style)
            self.specs[run] = Spec(settings | {"format": style, "queries": None})
            runs[style] = (run,)
        return runs

    def zero_shot(self, key: str, retriever: Retriever, first: dict[str, tuple[Run, ...]] | Missing) -> None:
        rerankers = dict(self.paper.rerankers)
        for extra in self.config.extra_models:
            if extra.kind == "cross-encoder":
                rerankers[extra.key] = Reranker(row=extra.name, kind="cross-encoder", model=extra.key)
        for name, reranker in rerankers.items():
            own = name not in self.paper.rerankers
            weights = self.weights(reranker.model)
            outcome: dict[str, tuple[Run, ...]] | Missing
            if isinstance(weights, Missing) or isinstance(first, Missing):
                if retriever.own:
                    continue  # a row that nobody printed and nothing can fill
                outcome = weights if isinstance(weights, Missing) else first
            else:
                outcome = {}
                for style, (hits,) in first.items():
                    run = Run(PAPER, "rerank", f"{key}+{name}", style)
                    settings = model_settings(reranker.model, weights) | {
                        "format": style,
                        # The longer formats are only shown for the two queries of Appendix E.
                        "queries": None if style == "short" else sorted(self.paper.format_queries.values()),
                        "max_length": self.max_length(reranker.model) or USER_MAX_LENGTH,
                    }
                    self.specs[run] = Spec(settings, (hits,))
                    outcome[style] = (run,)
            self.systems.append(self.system(retriever, reranker, outcome, own=own))
            if reranker.kind == "language-model" and retriever.kind == "bm25":
                self.systems.append(self.system(retriever, reranker, outcome, pairwise=True))

    def fine_tuned(self, key: str, retriever: Retriever, first: dict[str, tuple[Run, ...]] | Missing) -> None:
        """One training run a learning rate and seed; each scores its hits at every number of updates.

        With other settings than the paper's they make a row of our own, and the printed row is not run.
        """
        if retriever.own:
            return
        grid = self.paper.grids[self.grid_name]
        seeds = self.config.seeds[: grid.seeds]
        for name, tuned in self.paper.finetuned.items():
            weights = self.weights(tuned.model)
            if isinstance(weights, Missing) or isinstance(first, Missing):
                missing = weights if isinstance(weights, Missing) else first
                self.systems.append(self.system(retriever, tuned, missing, own=tuned.own))
                continue
            trained = []
            for rate in grid.learning_rates:
                for seed in seeds:
                    run = Run(PAPER, "finetune", name, f"{self.grid_name}-lr{rate:.0e}", seed)
                    settings = model_settings(tuned.model, weights) | {
                        "learning_rate": rate,
                        "weight_decay": self.paper.weight_decay,
                        "updates": list(grid.updates),
                        "batch_size": grid.batch_size,
                        "max_length": grid.max_length,
                        "bf16": grid.bf16,
                        "save_every": grid.save_every,
                        "grid": self.grid_name,
                    }
                    candidates = tuple(
                        Run(PAPER, "retrieve", other, "short")
                        for other, entry in self.paper.retrievers.items()
                        if entry.reranked
                        and not entry.own
                        and Run(PAPER, "retrieve", other, "short") in self.specs
                    )
                    self.specs[run] = Spec(settings, candidates)
                    trained.append(run)
            chosen = []
            for seed in seeds:
                run = Run(PAPER, "rerank-finetuned", f"{key}+{name}", self.grid_name, seed)
                self.specs[run] = Spec(
                    {"retriever": key, "seed": seed, "grid": self.grid_name}, (first["short"][0], *trained)
                )
                chosen.append(run)
            differences = [] if tuned.own else self.differences(grid, len(seeds))
            if differences:
                missing = Missing(reason_not_run(differences))
                self.systems.append(self.system(retriever, tuned, missing))
                tuned = tuned.model_copy(update={"row": own_name(tuned.row, differences), "own": True})
            self.systems.append(self.system(retriever, tuned, {"short": tuple(chosen)}, own=tuned.own))

    def differences(self, grid: Grid, seeds: int) -> list[Difference]:
        """How a fine-tuning under ``grid`` differs from the paper's."""
        found = []
        if self.grid_name != PAPER_GRID:
            words = [f"{grid.updates[-1]} updates of {grid.batch_size} pairs of {grid.max_length} tokens"]
            words += ["bfloat16"] * grid.bf16
            found.append(Difference(f"grid={PAPER_GRID}", f"{self.grid_name} budget: {', '.join(words)}"))
        return found + fewer_seeds(seeds, self.paper.averages)


def _zero_shot(system: System) -> bool:
    return not system.tuned and not system.pairwise


def _over_bm25(system: System) -> bool:
    return system.retriever == "BM25" and system.reranker != "None"


# Which systems a table shows; the tables that are not named here show the data sets alone.
SHOWN: dict[str, Callable[[System], bool]] = {
    "table3": _zero_shot,
    "table_d1": lambda system: _zero_shot(system) and _over_bm25(system),
    "table_d2": lambda system: _over_bm25(system) and not system.pairwise,
    "table_d3": _zero_shot,
    "table_d4": lambda system: not system.pairwise,
    "table_d5": lambda system: _over_bm25(system) and not system.tuned and not system.own,
    "table_e2": _zero_shot,
    "figure2": lambda system: system.retriever == "BM25" and not system.pairwise,
}


def table_systems(table: str, systems: Sequence[System]) -> list[dict[str, Any]]:
    """The systems that ``table`` shows as plain values, for the params of its rule.

    Only Table E-2 shows other query formats than the short one.
    """
    shown = SHOWN.get(table, lambda system: False)
    return [
        {
            "retriever": system.retriever,
            "reranker": system.reranker,
            "tuned": system.tuned,
            "own": system.own,
            "pairwise": system.pairwise,
            "reason": system.reason,
            "parameters": system.parameters,
            "floor": system.floor,
            "model": system.model,
            "averages": system.averages,
            "runs": {
                style: [run.folder for run in runs]
                for style, runs in sorted(system.runs.items())
                if style == "short" or table == "table_e2"
            },
        }
        for system in systems
        if shown(system)
    ]
