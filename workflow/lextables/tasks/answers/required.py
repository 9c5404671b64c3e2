"""Which answers a run must predict to have a score.

Separate from `collection`, which predictions import: a change here must not rerun them.
"""

from collections.abc import Iterable

from lextables.tasks.answers.collection import Collection, pairs


def required_pairs(data: Collection, documents: Iterable[str]) -> list[tuple[str, str]]:
    """Return the answered (document, question) pairs that a run must predict, sorted.

    They are the pairs of all documents with a text, and of the ``documents`` that the
    run predicts.  If no document has a text, they are the pairs of all documents.
    """
    if not data.paragraphs:
        return pairs(data.shares)
    return pairs(data.shares, {*data.paragraphs, *documents})
