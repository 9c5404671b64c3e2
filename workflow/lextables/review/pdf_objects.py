"""Objects of a PDF, which may be missing, of another type, or damaged."""

import logging
from collections.abc import Iterator
from typing import Any

from pypdf.generic import ArrayObject, DictionaryObject

log = logging.getLogger("lextables")


def resolved(value: Any) -> Any:
    """Return the object to which a reference refers; None if it cannot be read."""
    try:
        return value.get_object() if value is not None else None
    except Exception:  # pypdf raises many types for damaged objects
        log.info("an object of the PDF cannot be read", exc_info=True)
        return None


def dictionary(value: Any) -> DictionaryObject:
    """Return a dictionary or a stream; an empty dictionary for anything else."""
    target = resolved(value)
    return target if isinstance(target, DictionaryObject) else DictionaryObject()


def items(value: Any) -> Iterator[Any]:
    """Return the items of an array; none for anything else."""
    target = resolved(value)
    return iter(target) if isinstance(target, ArrayObject) else iter(())
