"""The second stage: first hits in the order that a cross-encoder gives them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sentence_transformers import CrossEncoder

from lextables.models import cross_encoder
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.filtering import read_as
from lextables.tasks.retrieval.schema import Hits, reorder


def rerank(
    collection: Collection,
    hits: Mapping[str, Mapping[str, Sequence[str]]],
    settings: Mapping[str, Mapping[str, Any]],
    model: CrossEncoder,
) -> dict[str, Hits]:
    """Reorder first-stage hits of the test queries; {form: hits}.  ``hits`` and ``settings`` are by form."""
    reranked = {}
    for form, run in settings.items():
        texts = collection.texts(form, ("test",), run["queries"])
        found = {query_id: hits[form].get(query_id, []) for query_id in texts}
        read = run.get("documents", "whole")
        reranked[form] = reorder(found, pair_scores(model, collection, texts, found, read))
    return reranked


def pair_scores(
    model: CrossEncoder, collection: Collection, texts: Mapping[str, str], hits: Mapping[str, Iterable[str]],
    read: str = "whole",
) -> dict[tuple[str, str], float]:  # fmt: skip
    """Return {(query id, document id): logit} for every hit, of documents ``whole`` or ``filtered``."""
    pairs = [(query_id, document) for query_id in sorted(hits) for document in hits[query_id]]
    asked = [(texts[query_id], document) for query_id, document in pairs]
    given = read_as(read, collection.documents, asked)
    both = [(text, document) for (text, _), document in zip(asked, given, strict=True)]
    logits = cross_encoder.score(model, both) if pairs else ()
    return dict(zip(pairs, map(float, logits), strict=True))
