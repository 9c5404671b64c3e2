"""The jobs that rank documents.

A job makes all runs of one system of a data set: every form of the queries, and every way to
read the documents.  Systems of one kind whose runs have the same conditions share a rule.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lextables.pipeline.run import Run
from lextables.tasks.plan import ASK, Spec

RETRIEVE, RERANK = "retrieve", "rerank"  # experiments
RANKERS = "lextables.tasks.retrieval.rankers"
# {(experiment, kind of system): the step in the name of its rule}
STEPS: Mapping[tuple[str, str], str] = {
    (RETRIEVE, "bm25"): "retrieve_lexical",
    (RETRIEVE, "okapi"): "retrieve_okapi",
    (RETRIEVE, "bi-encoder"): "retrieve_dense",
    (RETRIEVE, "embedding-api"): "retrieve_api",
    (RETRIEVE, "linear"): "retrieve_linear",
    (RERANK, "cross-encoder"): "rerank",
    (RERANK, "bi-encoder"): "rerank_dense",
    (RERANK, "okapi"): "rerank_okapi",
    (ASK, "language-model"): "ask",
}
WITHOUT_MODEL = ("bm25", "okapi", "embedding-api")  # kinds that need no GPU
# The fields of the registry's task that hits depend on, and those that scores depend on.
RANKED_BY = frozenset(
    {"names", "forms", "pool", "training", "validation", "test", "top_gain"}
)
SCORED_BY = RANKED_BY | {"metrics", "groups", "choose_by"}

System = tuple[str, str, str]  # experiment, data set, model


@dataclass(frozen=True)
class RankingRule:
    """A rule for systems of one ``kind``: their ``models``, and the ``conditions`` of their runs."""

    name: str
    dataset: str
    experiment: str
    kind: str
    models: tuple[str, ...]
    conditions: tuple[str, ...]


def ranker(kind: str) -> str:
    """Return the name of the module in `RANKERS` for a ``kind`` of system."""
    return kind.replace("-", "_")


def conditions_by_system(runs: Iterable[Run]) -> dict[System, list[str]]:
    """Return the conditions of the runs of each system, in the order of the plan."""
    conditions: dict[System, list[str]] = {}
    for run in runs:
        system = (run.experiment, run.paper, run.model)
        conditions.setdefault(system, []).append(run.condition)
    return conditions


def ranking_rules(
    specs: Mapping[Run, Spec], datasets: Iterable[str]
) -> list[RankingRule]:
    """Return the rules of the systems of these data sets that are not trained here."""
    conditions = conditions_by_system(specs)
    kinds = {}
    for run, spec in specs.items():
        kinds[run.experiment, run.paper, run.model] = spec.settings.get("kind")
    rules = []
    for dataset in datasets:
        for (experiment, kind), step in STEPS.items():
            models: dict[tuple[str, ...], list[str]] = {}
            for system, its_kind in kinds.items():
                if system[:2] == (experiment, dataset) and its_kind == kind:
                    models.setdefault(tuple(conditions[system]), []).append(system[2])
            for number, (of_rule, names) in enumerate(sorted(models.items())):
                name = f"{dataset}_{step}_{number}" if number else f"{dataset}_{step}"
                rule = RankingRule(
                    name, dataset, experiment, kind, tuple(sorted(names)), of_rule
                )
                rules.append(rule)
    return rules
