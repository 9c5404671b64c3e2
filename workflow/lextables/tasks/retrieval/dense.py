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

    The encoders give float32 arrays (texts, dimensions) of unit vectors; a text is encoded once, whatever
    the number of forms.
    """
    first = next(iter(settings.values()))
    texts = {
        form: collection.texts(form, ("validation", "test"), run["queries"]) for form, run in settings.items()
    }
    documents = sorted(collection.documents)
    encoded = encode_document([collection.documents[document] for document in documents])
    vectors = dict(zip(documents, encoded, strict=True))
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
