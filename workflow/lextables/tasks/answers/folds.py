"""Folds of documents: what is learnt for a document comes from those of other folds.

A document's fold hangs on its id alone, so one that is added moves no other.
"""

import hashlib


def fold(document_id: str, folds: int) -> int:
    """Return the fold of a document, from 0 to ``folds`` - 1."""
    return int.from_bytes(hashlib.sha256(document_id.encode()).digest()[:8]) % folds
