"""The runs of a retrieval task: a system is a retriever, maybe a reranker over its hits, maybe tuned."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import PositiveInt, field_validator

from lextables.errors import BadInput
from lextables.metrics.ranking import by_name
from lextables.models.resolve import Missing, Weights, model_settings
from lextables.own import Key
from lextables.registry import Entry
from lextables.run import Run
from lextables.tasks.plan import (
    Difference,
    Grid,
    Planner,
    Row,
    Trial,
    fewer_seeds,
    own_name,
    rate_name,
    reason_not_run,
)

USER_MAX_LENGTH = 512
Found = dict[str, tuple[Run, ...]] | Missing


class Retriever(Entry):
    """A first-stage system; BM25 has one ``index`` a query, over its judged documents, or one over all.

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
    """A model fine-tuned on the training queries: a cross-encoder reranks, a bi-encoder retrieves."""

    row: str
    model: str
    kind: Literal["cross-encoder", "bi-encoder"] = "cross-encoder"
    own: bool = False


class RetrievalGrid(Grid):
    """``updates`` are the numbers of updates that are tried, all of them in one training."""

    updates: tuple[int, ...]


class Names(Entry):
    """What the data set calls the tables and columns that the task reads."""

    documents: str = "documents"
    document: str = "document_id"
    text: str = "text"
    gain: str = "gain"


class RetrievalTask(Entry):
    """What a paper fixed of a retrieval task.

    ``forms`` are the columns of the queries that hold their wordings, the first the one of most tables; the
    others are ranked for ``form_queries`` alone.  With the pool ``judged`` a query's hits are among the
    documents judged for it, else among all.  ``top`` is how many hits a retriever hands on.  ``validation``
    and ``test`` are splits of the queries.  ``metrics`` are names of `metrics.ranking`, the highest gain is
    ``top_gain``, and ``groups`` names columns of the queries that scores are grouped by.  Of a grid the best
    trial is that with the best ``choose_by`` on the validation queries.  ``averages`` is how many runs a
    printed score of a tuned model is the mean of; the grid `paper` holds the paper's settings.
    """

    task: Literal["retrieval"]
    names: Names = Names()
    forms: tuple[str, ...] = ("text",)
    form_queries: tuple[str, ...] = ()
    pool: Literal["judged", "all"] = "judged"
    top: int = 100
    training: str = "train"
    validation: str = "valid"
    test: str = "test"
    metrics: tuple[str, ...]
    top_gain: PositiveInt = 1
    groups: tuple[str, ...] = ()
    choose_by: str = "NDCG@10"
    retrievers: Mapping[Key, Retriever]
    rerankers: Mapping[Key, Reranker] = {}
    finetuned: Mapping[Key, Finetuned] = {}
    weight_decay: float = 0.01
    averages: PositiveInt = 1
    grids: Mapping[str, RetrievalGrid] = {}

    @field_validator("metrics", "choose_by")
    @classmethod
    def _known(cls, names: Any) -> Any:
        for name in (names,) if isinstance(names, str) else names:
            try:
                by_name(name)
            except BadInput as error:
                raise ValueError(error.what) from None
        return names


class RetrievalPlanner(Planner):
    """Lays out a retrieval task; a row is called `<retriever> / <reranker>`."""

    STAGES = ("retrieve", "rerank", "rerank-tuned")
    task: RetrievalTask

    def __init__(self, name: str, task: RetrievalTask, context: Any) -> None:
        super().__init__(name, task, context)
        self.MAIN = task.forms[0]
        self.found: list[Row] = []

    def rows(self) -> list[Row]:
        retrievers = dict(self.task.retrievers)
        for extra in self.own_models("bi-encoder"):
            retrievers[extra.key] = Retriever(row=extra.name, kind="bi-encoder", model=extra.key, own=True)
        first = {key: self.retrieve(key, retriever) for key, retriever in retrievers.items()}
        for key, retriever in retrievers.items():
            self.found.append(self.system(retriever, None, first[key]))
            if retriever.kind == "embedding-api" or not retriever.reranked or retriever.index == "corpus":
                continue
            self.zero_shot(key, retriever, first[key])
            if not retriever.own:
                self.tuned(key, retriever, first[key])
        return self.found

    def system(
        self, retriever: Retriever, reranker: Reranker | Finetuned | None, outcome: Found, *,
        own: bool = False, pairwise: bool = False,
    ) -> Row:  # fmt: skip
        missing, tuned = isinstance(outcome, Missing), isinstance(reranker, Finetuned)
        second = reranker.row if reranker else "None"
        models = [system.model for system in (retriever, reranker) if system and system.model]
        return Row(
            f"{retriever.row} / {second}",
            own=own or retriever.own,
            reason=outcome.reason if missing else "",
            parameters=self.context.parameters(*models),
            trained=tuned,
            averages=self.task.averages if tuned else 1,
            floor=retriever.floor and reranker is None,
            runs={} if missing else outcome,
            about={
                "retriever": retriever.row,
                "reranker": second,
                "reranked": reranker is not None,
                "tuned": tuned,
                "pairwise": pairwise,
                "model": reranker.model if reranker else None,
            },
        )

    def wanted(self, form: str) -> list[str] | None:
        """The queries that are ranked in this form; None for all."""
        return None if form == self.MAIN else sorted(self.task.form_queries)

    def retrieve(self, key: str, retriever: Retriever) -> Found:
        settings: dict[str, Any] = {"kind": retriever.kind, "pool": self.task.pool, "top": self.task.top}
        if retriever.kind == "bm25":
            settings |= {"index": retriever.index or "corpus", "k1": 0.9, "b": 0.4}
        else:
            weights = self.context.weights(retriever.model)
            if isinstance(weights, Missing):
                return weights
            settings |= model_settings(retriever.model, weights)
            settings |= {"max_length": self.max_length(retriever.model)}
            settings |= {"api": self.context.config.llm} if retriever.kind == "embedding-api" else {}
        return {
            form: (self.add(self.run("retrieve", key, form), settings | {"queries": self.wanted(form)}),)
            for form in self.task.forms
        }

    def max_length(self, model: str) -> int | None:
        return self.context.models[model].max_length if model in self.context.models else None

    def zero_shot(self, key: str, retriever: Retriever, first: Found) -> None:
        rerankers = dict(self.task.rerankers)
        for extra in self.own_models("cross-encoder"):
            rerankers[extra.key] = Reranker(row=extra.name, kind="cross-encoder", model=extra.key)
        for name, reranker in rerankers.items():
            weights = self.context.weights(reranker.model)
            if isinstance(weights, Missing) or isinstance(first, Missing):
                if retriever.own:
                    continue  # a row that nobody printed and nothing can fill
                outcome: Found = weights if isinstance(weights, Missing) else first
            else:
                settings = model_settings(reranker.model, weights)
                settings |= {"max_length": self.max_length(reranker.model) or USER_MAX_LENGTH}
                outcome = {
                    form: (
                        self.add(
                            self.run("rerank", f"{key}+{name}", form),
                            settings | {"queries": self.wanted(form)},
                            needs=hits,
                        ),
                    )
                    for form, hits in first.items()
                }
            own = name not in self.task.rerankers
            self.found.append(self.system(retriever, reranker, outcome, own=own))
            if reranker.kind == "language-model" and retriever.kind == "bm25":
                self.found.append(self.system(retriever, reranker, outcome, pairwise=True))

    def tuned(self, key: str, retriever: Retriever, first: Found) -> None:
        """A training a learning rate and seed, the choice among them by each retriever's own hits."""
        for name, tuned in self.task.finetuned.items():
            weights = self.context.weights(tuned.model)
            if isinstance(weights, Missing) or isinstance(first, Missing):
                missing = weights if isinstance(weights, Missing) else first
                self.found.append(self.system(retriever, tuned, missing, own=tuned.own))
                continue
            grid = self.task.grids[self.context.grid]
            runs = self.trained(key, name, tuned, weights, grid, first[self.MAIN])
            differences = [] if tuned.own else self.differences(grid, len(runs))
            if differences:
                missing = Missing(reason_not_run(differences))
                self.found.append(self.system(retriever, tuned, missing))
                tuned = tuned.model_copy(update={"row": own_name(tuned.row, differences), "own": True})
            self.found.append(self.system(retriever, tuned, {self.MAIN: runs}, own=tuned.own))

    def trained(
        self, key: str, name: str, tuned: Finetuned, weights: Weights, grid: RetrievalGrid,
        hits: tuple[Run, ...],
    ) -> tuple[Run, ...]:  # fmt: skip
        settings = model_settings(tuned.model, weights) | grid.training()
        settings |= {"weight_decay": self.task.weight_decay, "grid": self.context.grid, "kind": tuned.kind}
        trials = [
            Trial(rate_name(rate), {"learning_rate": rate, "updates": list(grid.updates)})
            for rate in grid.learning_rates
        ]
        choice, trained = None, name
        if len(trials) * len(grid.updates) > 1:
            found = self.search(
                name, self.context.grid, settings, trials, self.seeds(grid), needs=self.candidates()
            )
            trained = f"{key}+{name}"
            choice = self.add(
                self.run("choice", trained, self.context.grid),
                {"grid": self.context.grid, "trials": [trial.settings for trial in trials]},
                needs=(*hits, *found),
            )
        runs = []
        for seed in self.seeds(grid):
            training = self.run("train", trained, self.context.grid, seed)
            self.add(training, settings | ({} if choice else trials[0].settings), choice=choice)
            reading = self.run("rerank-tuned", f"{key}+{name}", self.context.grid, seed)
            read = {"weights_of": training.folder, "max_length": grid.max_length, "queries": None}
            runs.append(self.add(reading, read, needs=hits, weights_of=training))
        return tuple(runs)

    def candidates(self) -> tuple[Run, ...]:
        """The runs whose hits a search scores: those of the retrievers that are reranked."""
        runs = [
            self.run("retrieve", key, self.MAIN)
            for key, retriever in self.task.retrievers.items()
            if retriever.reranked and not retriever.own
        ]
        return tuple(run for run in runs if run in self.specs)

    def differences(self, grid: RetrievalGrid, seeds: int) -> list[Difference]:
        """How a fine-tuning under ``grid`` differs from the paper's."""
        words = [f"{grid.updates[-1]} updates of {grid.batch_size} pairs of {grid.max_length} tokens"]
        return self.budget(grid, words) + fewer_seeds(seeds, self.task.averages)
