"""The first stage by words: BM25 over each query's pool, or over all documents."""

from collections.abc import Mapping
from typing import Any

from lextables.models.bm25 import BM25Index, analyze
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.schema import Hits


def retrieve(collection: Collection, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Hits]:
    """Rank the pool of each validation and test query; {form: hits}.

    ``settings`` maps each query form to its run's settings, alike but for the queries, so that the documents
    are analysed once.
    """
    terms = {document: analyze(text) for document, text in collection.documents.items()}
    first = next(iter(settings.values()))
    parameters = {"k1": first["k1"], "b": first["b"]}
    whole = BM25Index(terms, **parameters) if first["index"] == "corpus" else None

    def search(query_id: str, text: str) -> list[tuple[str, float]]:
        pool = collection.pool(query_id, first["pool"])
        if whole is None:
            index = BM25Index({document: terms[document] for document in pool}, **parameters)
            return index.search(analyze(text), first["top"])
        if first["pool"] == "all":
            return whole.search(analyze(text), first["top"])
        found = whole.search(analyze(text), len(terms))
        return [hit for hit in found if hit[0] in pool][: first["top"]]

    return {
        form: {
            query_id: search(query_id, text)
            for query_id, text in collection.texts(form, ("validation", "test"), run["queries"]).items()
        }
        for form, run in settings.items()
    }
