"""The choice of hyper-parameters on the validation queries (ACORD, Section F.2)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lextables.metrics.ranking import by_name
from lextables.pipeline.dataset import Row, read
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.schema import reorder


def choose(
    runs: Mapping[tuple[float, int], str | Path],
    collection: Collection,
    hits: Mapping[str, Sequence[str]] | None,
) -> tuple[dict[str, Any], list[Row]]:
    """Choose learning rate and updates by the mean of the task's ``choose_by`` over queries and seeds (F.2).

    ``runs`` maps (learning rate, seed) to a file of `schema.TRIED`; ``hits`` is the retriever's ranking that
    is reordered, None where the model is itself a retriever, which ranks all that it scored.  Returns the
    choice, and the table of means that it was made from.  A tie goes to the fewer updates, then to the lower
    rate.
    """
    metric = collection.task["choose_by"]
    lengths = {document: len(text) for document, text in collection.documents.items()}
    qrels = {query_id: dict(collection.judged[query_id]) for query_id in collection.of("validation")}
    values: dict[tuple[float, int], list[float]] = defaultdict(list)
    for (rate, _), path in sorted(runs.items()):
        for updates, scores in _scores_by_updates(path).items():
            reordered = _scored(scores) if hits is None else hits
            found = reorder({query: reordered.get(query, ()) for query in qrels}, scores)
            run = {query: [document for document, _ in ranking] for query, ranking in found.items()}
            by_query = by_name(metric, lengths)(qrels, run)
            values[rate, updates].append(sum(by_query.values()) / len(by_query))
    means = [
        {
            "learning_rate": rate,
            "updates": updates,
            f"validation {metric}": sum(found) / len(found),
            "seeds": len(found),
        }
        for (rate, updates), found in sorted(values.items())
    ]
    best = min(means, key=lambda row: (-row[f"validation {metric}"], row["updates"], row["learning_rate"]))
    return {"learning_rate": best["learning_rate"], "updates": [best["updates"]]}, means


def _scored(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    documents: dict[str, list[str]] = defaultdict(list)
    for query, document in sorted(pairs):
        documents[query].append(document)
    return documents


def _scores_by_updates(path: str | Path) -> dict[int, dict[tuple[str, str], float]]:
    scores: dict[int, dict[tuple[str, str], float]] = defaultdict(dict)
    for row in read(path):
        scores[row["updates"]][row["query_id"], row["document_id"]] = row["score"]
    return scores
