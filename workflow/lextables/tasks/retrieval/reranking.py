"""The second stage with a cross-encoder, which reorders first-stage hits."""

from collections.abc import Mapping, Sequence
from typing import Any

from sentence_transformers import CrossEncoder

from lextables.models import cross_encoder
from lextables.tasks.retrieval.collection import Collection, Hits, reorder
from lextables.tasks.retrieval.lexical import read_as


def rerank(
    collection: Collection,
    hits: Mapping[str, Mapping[str, Sequence[str]]],
    settings: Mapping[str, Mapping[str, Any]],
    model: CrossEncoder,
) -> dict[str, Hits]:
    """Reorder first-stage hits of the test queries; {form: hits}.  ``hits`` and ``settings`` are by form.

    The settings' ``documents`` are `whole` (the default) or `filtered`.
    """
    reranked = {}
    for form, run in settings.items():
        texts = collection.texts(form, ("test",), run["queries"])
        candidates = {query_id: hits[form].get(query_id, []) for query_id in texts}
        pairs = [(query_id, document) for query_id in sorted(texts) for document in candidates[query_id]]
        asked = [(texts[query_id], document) for query_id, document in pairs]
        documents = read_as(run.get("documents", "whole"), collection.documents, asked)
        read = [(text, document) for (text, _), document in zip(asked, documents, strict=True)]
        logits = cross_encoder.score(model, read) if pairs else ()
        reranked[form] = reorder(candidates, dict(zip(pairs, map(float, logits), strict=True)))
    return reranked
