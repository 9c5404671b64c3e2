"""What a system reads of a document: all of it, or the paragraphs that BM25 finds for the query."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from lextables.models.okapi import Paragraphs


def read_as(
    how: str, documents: Mapping[str, str], pairs: Sequence[tuple[str, str]]
) -> list[str]:
    """Return the document's text for each (query's text, document id), ``whole`` or ``filtered``.

    Filtered texts are those of `Paragraphs.best`; a document is analysed once for all its pairs.
    """
    if how != "filtered":
        return [documents[document] for _, document in pairs]
    places: dict[str, list[int]] = defaultdict(list)
    for at, (_, document) in enumerate(pairs):
        places[document].append(at)
    texts = [""] * len(pairs)
    for document, of_document in places.items():
        paragraphs = Paragraphs(documents[document])
        for at in of_document:
            texts[at] = paragraphs.best(pairs[at][0])
    return texts
