"""What a system reads of a document: all of it, or the paragraphs that BM25 finds for
the query.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from lextables.models.okapi import Paragraphs
from lextables.tasks.retrieval.documents import in_order


def read_as(
    how: str, documents: Mapping[str, str], pairs: Sequence[tuple[str, str]]
) -> list[str]:
    """Return the document's text for each of ``pairs``: (query's text, document id).

    ``how`` is `whole` or `filtered`; a filtered text has the paragraphs that BM25 finds
    for the query (`Paragraphs.best`).  A document is read and analysed once for all its
    pairs.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for at, (_, document) in enumerate(pairs):
        places[document].append(at)
    texts = [""] * len(pairs)
    for document in in_order(places.keys(), documents):
        text = documents[document]
        if how != "filtered":
            for at in places[document]:
                texts[at] = text
            continue
        paragraphs = Paragraphs(text)
        for at in places[document]:
            texts[at] = paragraphs.best(pairs[at][0])
    return texts
