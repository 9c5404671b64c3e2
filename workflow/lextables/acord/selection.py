"""The choice of ACORD's fine-tuning hyper-parameters on the validation queries (Section F.2)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from lextables.acord.retrieval import Collection, Hits, reorder
from lextables.dataset import Row, read
from lextables.metrics.ranking import ndcg


def choose(
    runs: Mapping[tuple[float, int], str], collection: Collection, hits: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Any], list[Row]]:
    """Choose learning rate and updates by mean validation NDCG@10 over the seeds (F.2).

    ``runs`` maps (learning rate, seed) to a file of `finetuning.PREDICTIONS`; ``hits`` is the
    retriever's ranking that is reordered.  Returns the choice, and the table of means that it was made
    from.  A tie goes to the fewer updates, then to the lower rate.
    """
    qrels = {
        q: dict(collection.judged[q]) for q, query in collection.queries.items() if query["split"] == "valid"
    }
    values: dict[tuple[float, int], list[float]] = defaultdict(list)
    for (rate, _), path in sorted(runs.items()):
        for updates, scores in _scores_by_updates(path).items():
            ranked = reorder({query: hits.get(query, ()) for query in qrels}, scores)
            by_query = ndcg(
                qrels, {query: [clause for clause, _ in found] for query, found in ranked.items()}, (10,)
            )[10]
            values[rate, updates].append(sum(by_query.values()) / len(by_query))
    means = [
        {
            "learning_rate": rate,
            "updates": updates,
            "valid_ndcg@10": sum(found) / len(found),
            "seeds": len(found),
        }
        for (rate, updates), found in sorted(values.items())
    ]
    best = min(means, key=lambda row: (-row["valid_ndcg@10"], row["updates"], row["learning_rate"]))
    return dict(best), means


def _scores_by_updates(path: str) -> dict[int, dict[tuple[str, str], float]]:
    scores: dict[int, dict[tuple[str, str], float]] = defaultdict(dict)
    for row in read(path):
        scores[row["updates"]][row["query_id"], row["clause_id"]] = row["score"]
    return scores


def finetuned_hits(
    path: str, updates: int, collection: Collection, hits: Mapping[str, Sequence[str]]
) -> Hits:
    """Return the test queries' hits reordered by the model of ``path`` after ``updates`` updates."""
    test = {query: found for query, found in hits.items() if collection.queries[query]["split"] == "test"}
    return reorder(test, _scores_by_updates(path)[updates])
