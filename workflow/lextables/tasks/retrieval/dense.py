"""The first stage by vectors: every document and query encoded, and the pool ranked by inner product."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lextables.models.dense_index import rank
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.schema import Hits

Encode = Callable[[Sequence[str]], np.ndarray]


def retrieve(
    collection: Collection,
    settings: Mapping[str, Mapping[str, Any]],
    encode_document: Encode,
    encode_query: Encode,
) -> dict[str, Hits]:
    """Rank the pool of each validation and test query; {form: hits}.

    A document is one text, or with ``documents: paragraphs`` the lines of it, of which the nearest counts: so
    what stands beyond the encoder's length is read as well.
    The encoders give float32 arrays (texts, dimensions) of unit vectors; a text is encoded once, whatever
    the number of forms.
    """
    first = next(iter(settings.values()))
    texts = {
        form: collection.texts(form, ("validation", "test"), run["queries"]) for form, run in settings.items()
    }
    read = paragraphs if first["documents"] == "paragraphs" else whole
    parts = {document: read(text) for document, text in sorted(collection.documents.items())}
    encoded = iter(encode_document([part for of_document in parts.values() for part in of_document]))
    vectors = {document: [next(encoded) for _ in of_document] for document, of_document in parts.items()}
    wanted = sorted({text for of_form in texts.values() for text in of_form.values()})
    query_vectors = dict(zip(wanted, encode_query(wanted), strict=True))
    return {
        form: rank(
            {query_id: query_vectors[text] for query_id, text in of_form.items()},
            vectors,
            {query_id: list(collection.pool(query_id, first["pool"])) for query_id in of_form},
            first["top"],
        )
        for form, of_form in texts.items()
    }


def whole(text: str) -> list[str]:
    """Return a document as one part, which an encoder cuts at its length."""
    return [text]


def paragraphs(text: str) -> list[str]:
    """Return a document's paragraphs, which are its lines with words; itself where it has none."""
    return [line for line in text.splitlines() if line.strip()] or [text]
