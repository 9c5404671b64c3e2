"""The metadata of a case, checked: the same model for static.case.law and the former
bulk export.

No value is converted: a number in quotes, true, 1.0 and null are errors where a whole
number belongs.
"""

import re
from datetime import date
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, Field

from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import Strict, typed

LONGEST_LABEL = 50  # characters; those of real volumes have up to 4
_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}")


class Unreadable(Exception):
    """A case that cannot be read; the message is the reason."""


def _checked_date(text: str) -> str:
    try:
        if _DATE.fullmatch(text):
            date.fromisoformat(f"{text}-01-01"[:10])
            return text
    except ValueError:  # there is no such day
        pass
    raise ValueError("a date is a day, month or year, YYYY-MM-DD, YYYY-MM or YYYY")


Label = Annotated[str, Field(max_length=LONGEST_LABEL)]


class Citation(Strict):
    """A citation of a case; ``type`` is ``official``, ``parallel`` and so on."""

    cite: str
    type: str = ""


class Court(Strict):
    """The court that decided a case."""

    name: str


class Jurisdiction(Strict):
    """A state, or ``United States``."""

    name_long: str


class CaseKey(Strict):
    """The part of the metadata that also the reader of the released LawngNLI uses."""

    id: int = Field(gt=0, lt=1 << 63)
    jurisdiction: Jurisdiction


class Case(CaseKey):
    """The metadata of a case, as published."""

    name: str
    name_abbreviation: str
    decision_date: Annotated[str, AfterValidator(_checked_date)]
    first_page: Label
    last_page: Label
    citations: list[Citation]
    court: Court


Checked = TypeVar("Checked", bound=BaseModel)


def checked(kind: type[Checked], record: Any) -> Checked:
    """Return a JSON value as ``kind``; raises `Unreadable` with the first wrong
    value.
    """
    try:
        return typed(kind, record)
    except BadInput as error:
        raise Unreadable(error.what) from None
