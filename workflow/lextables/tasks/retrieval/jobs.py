"""The jobs of retrieval: rankings, and the trainings of rankers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import Run
from lextables.tasks.actions import LINEAR, MODEL_THREADS, Action, TaskJobs
from lextables.tasks.planner import SEARCH, SUBMITTED, Spec
from lextables.tasks.resources import LEAST_MB
from lextables.tasks.retrieval.ranking import FILTERED

MODULES = "retrieval.actions"
TABLES = ("documents", "queries", "judgements")
# The fields of the registry's task on which hits depend, and on which scores depend.
RANKED_BY = ("names", "forms", "pool", "training", "validation", "test", "top_gain")
SCORED_BY = (*RANKED_BY, "metrics", "groups", "choose_by")
# A ranking by a system without a model on this machine.  ``{}`` in the pattern stands
# for the kind of system (`RetrievalJobs.part`).
SEARCHING = Action(
    f"{MODULES}.rank",
    tables=TABLES,
    fields=RANKED_BY,
    module_pattern="retrieval.rankers.{}",
    mem_mb=LEAST_MB,
    minutes=120,
)
# A ranking, and the training of a ranker, with a model on this machine.
RANKING = replace(SEARCHING, model=True, threads=MODEL_THREADS)
TRAINING = replace(
    RANKING,
    module=f"{MODULES}.train",
    module_pattern="retrieval.{}_tuning",
    census=True,
)
ENCODING = replace(RANKING, module=f"{MODULES}.encode", module_pattern="")
RETRIEVE = "retrieve"  # the experiment of first stages that are not trained here
# Kinds of systems that read documents as a whole.  How a bi-encoder reads them is one
# of its settings.
WHOLE = (LINEAR, "feedback")


class RetrievalJobs(TaskJobs):
    """The jobs of a data set with queries and documents.

    The action of a ranking has the name of the kind of its system, such as ``bm25``.
    """

    ACTIONS: ClassVar = {
        "encode": ENCODING,
        "bm25": SEARCHING,
        "okapi": SEARCHING,
        "prior": SEARCHING,
        "embedding-api": SEARCHING,
        "bi-encoder": RANKING,
        "cross-encoder": RANKING,
        "classifier": RANKING,
        "linear": RANKING,
        "feedback": RANKING,
        "fusion": SEARCHING,
        "language-model": replace(RANKING, asks=True, mem_mb=LEAST_MB, minutes=720),
        "search": TRAINING,
        "train": TRAINING,
        "choose": Action(f"{MODULES}.choose", tables=TABLES, fields=SCORED_BY),
        "submitted": Action(
            "retrieval.submitted", tables=TABLES, fields=("task", "test", "names")
        ),
        "score": Action(f"{MODULES}.score", tables=TABLES, fields=SCORED_BY),
    }

    def action(self, run: Run, settings: JsonObject) -> str:
        """The action that makes a run: the kind of system for a ranking."""
        action = super().action(run, settings)
        ranks = action not in (SEARCH, "train", "choose", SUBMITTED)
        return settings["kind"] if ranks else action

    def features(self, action: str, run: Run, spec: Spec) -> dict[str, list[str]]:
        """The vectors of texts, for a ranking."""
        if self.ACTIONS[action].module != SEARCHING.module:
            return {}
        return {"vectors": self.vectors(run, spec)}

    def reads_stored_vectors(self, run: Run, spec: Spec) -> bool:
        """Whether a ranking reads vectors that an action `encode` stores for all runs.

        A ranking encodes texts itself in three cases: its weights are trained here, its
        documents are the hits of other runs, or the part of a document that it reads
        depends on the query.
        """
        if spec.sources:
            return False
        kind = spec.settings["kind"]
        if kind == "bi-encoder":
            is_whole = spec.settings["documents"] != FILTERED
            return run.experiment == RETRIEVE and is_whole
        return kind in WHOLE

    def encoded(self, readers: Mapping[Run, Spec], size: int) -> JsonObject:
        """The texts that ``readers`` read, for the action `encode`.

        ``parts`` are the parts of the data set whose queries are encoded, ``forms`` are
        {form: the ids of its queries, or None for all}, ``pool`` is the pool of their
        documents, and ``readings`` are the ways to read these.
        """
        forms: dict[str, list[str] | None] = {}
        readings: set[str] = set()
        parts = ["validation", "test"]
        pool = "judged"
        for spec in readers.values():
            settings = spec.settings
            forms[settings["form"]] = settings["queries"]
            if settings["kind"] in WHOLE:
                readings.add("whole")
            else:
                readings.add(settings["documents"])
            if settings["kind"] == LINEAR:
                parts = ["training", "validation", "test"]
                pool = "all"
            if settings["pool"] == "all":
                pool = "all"
        return {
            "encoded": {
                "forms": dict(sorted(forms.items())),
                "readings": sorted(readings),
                "parts": parts,
                "pool": pool,
            }
        }

    def names(self) -> Mapping[str, str]:
        """The data set's name of the documents."""
        return {"documents": self.task.names.documents}

    def part(self, action: str, settings: JsonObject) -> str:
        """The kind of system, as in the name of the module that ranks or trains with
        it.
        """
        if action in ("choose", "score", "submitted"):  # they use no system
            return ""
        kind: str = settings["kind"].replace("-", "_")
        return kind

    def needs(self, action: str, runs: Sequence[Run]) -> dict[str, list[Run]]:
        """{role: runs}: for a choice, its searches and the hits that they reorder."""
        if action != "choose":
            return {"predictions": list(runs)}
        searched = [run for run in runs if run.experiment == SEARCH]
        hits = [run for run in runs if run.experiment != SEARCH]
        return {"searched": searched, "hits": hits}

    def values(self, action: str, spec: Spec, specs: Mapping[Run, Spec]) -> JsonObject:
        """The seed and the learning rate of each search; the queries that are
        scored.
        """
        if action == "choose":
            searches = self.needs(action, spec.needs)["searched"]
            rates = []
            for run in searches:
                rates.append((run.seed, specs[run].settings["learning_rate"]))
            return {"rates": rates}
        if action == "score":
            return {"queries": spec.settings.get("queries")}
        return {}
