"""Opinions, and faults found while reading them."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Lost = Literal["volume", "case", "pages", "nothing"]

MAJORITY = "majority"


@dataclass(frozen=True)
class Page:
    """The start of one printed page: its label and its offset in the opinion's text, in
    code points.
    """

    label: str
    offset: int


@dataclass(frozen=True)
class Opinion:
    """One opinion of one case; the fields are the columns of `ingest.OPINIONS`."""

    case_id: int
    position: int
    citations: tuple[str, ...]
    name: str
    name_abbreviation: str
    court: str
    jurisdiction: str
    date: str
    reporter: str
    volume: str
    first_page: str
    last_page: str
    opinion_type: str
    author: str
    majorities: int
    text: str
    pages: tuple[Page, ...]
    body_end: int

    @property
    def opinion_id(self) -> str:
        """`<case_id>-<position>`."""
        return f"{self.case_id}-{self.position}"

    def row(self) -> dict[str, Any]:
        """Return the opinion as a row of `ingest.OPINIONS`."""
        return {
            "opinion_id": self.opinion_id,
            **asdict(self),
            "citations": list(self.citations),
            "pages": [asdict(page) for page in self.pages],
        }


@dataclass(frozen=True)
class Fault:
    """A fault in a volume, and what was lost because of it.

    ``lost`` is ``volume`` (left out), ``case`` (left out), ``pages`` (the text is kept,
    but its pages cannot be cited) or ``nothing`` (repaired, or a note).
    """

    volume: str
    where: str
    what: str
    lost: Lost

    def __str__(self) -> str:
        """Return one sentence: where, what, and the consequence."""
        consequence = {
            "volume": "the volume is set aside",
            "case": "the case is left out",
            "pages": "its text is kept without pages",
            "nothing": "the rest is kept",
        }[self.lost]
        place = f"{self.volume}, {self.where}" if self.where else self.volume
        return f"{place}: {self.what}; {consequence}."
