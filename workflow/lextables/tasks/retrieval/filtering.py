"""Documents as a query's paragraph filter leaves them, for what reads pairs of a query and a document."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from lextables.models.okapi import Paragraphs


def filtered(documents: Mapping[str, str], pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return for each pair (query's text, document id) what `Paragraphs.best` leaves of the document.

    A document is analysed once for all its pairs.
    """
    by_document: dict[str, list[int]] = defaultdict(list)
    for at, (_, document) in enumerate(pairs):
        by_document[document].append(at)
    found = [""] * len(pairs)
    for document, places in by_document.items():
        analysed = Paragraphs(documents[document])
        for at in places:
            found[at] = analysed.best(pairs[at][0])
    return found


def read_as(how: str, documents: Mapping[str, str], pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return the document's text of each pair, ``whole`` or ``filtered``."""
    if how == "filtered":
        return filtered(documents, pairs)
    return [documents[document] for _, document in pairs]
