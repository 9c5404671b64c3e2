"""The segments of a contract: its sentences, list items and lines.

Answers of CUAD are mostly one sentence or one part of a list: 19 of 20 answers of its
longer categories are nearly one segment or a few adjacent ones.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lextables.tasks.spans.squad import stripped

Span = tuple[int, int]

_ABBREVIATIONS = (
    "Inc Ltd Co Corp No Nos Sec Art Mr Ms Mrs Dr St Jr Sr vs v e.g i.e etc al L.L.C L.P U.S N.A S.A B.V "
    "Exh approx Ste Ave Blvd Fla Del Cal Messrs Para para cf p.m a.m P.O Ph.D D.C"
).split()
# A full stop that does not end a sentence: after an abbreviation, an initial or a
# section number.
_NO_SENTENCE_END = re.compile(
    rf"(?:\b(?:{'|'.join(map(re.escape, _ABBREVIATIONS))})|\b[A-Z]"
    r"|(?:^|\s)\(?(?:\d{1,2}|[ivxIVX]{1,4})(?:\.\d{1,2}){0,3})\.$"
)
_LONGEST_TAIL = 12  # characters, with the full stop, in which it is searched
_BREAK = re.compile(
    r"(?P<stop>[.?!;:][”\"')\]]*)(?P<space>\s+)(?=[“\"'(\[]*[A-Z0-9(])"  # a sentence's end
    r"|(?P<blank>(?<!\s)\s*\n\s*\n\s*)"  # a blank line
    # a line that begins an item of a list
    r"|(?<![ \t])[ \t]*\n\s*(?=(?:\(?[a-zA-Z0-9]{1,3}[.)]|\d+(?:\.\d+)+|[•·o*-])\s)"
)


def find_segments(text: str) -> list[Span]:
    """Return the start and end of each segment of ``text``, without white space around
    it.

    A colon or semicolon ends a segment only at the end of a line.  A blank line does
    not end a segment that continues in lower case (a page break).  Only white space is
    between segments.
    """
    spans = []
    start = 0
    for match in _BREAK.finditer(text):
        end = match.start()
        if match["stop"]:
            end = match.end("stop")
        if end > start and not _continues(text, start, match):
            spans.append(stripped(text, start, end))
            start = match.end()
    spans.append(stripped(text, start, len(text)))
    return [(start, end) for start, end in spans if start < end]


def _continues(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether the segment that starts at ``start`` continues after this break."""
    stop = match["stop"]
    if stop == ".":
        end = match.end("stop")
        tail = text[max(start, end - _LONGEST_TAIL) : end]
        return _NO_SENTENCE_END.search(tail) is not None
    if stop:
        return stop[0] in ";:" and "\n" not in match["space"]
    if not match["blank"]:
        return False
    last = text[match.start() - 1]
    following = text[match.end() : match.end() + 1]
    return following.islower() and (last.isalnum() or last == ",")


@dataclass(frozen=True)
class Segments:
    """The segments of contracts, one contract after another."""

    contract_texts: tuple[str, ...]
    """The text of each contract."""
    contract: np.ndarray
    """The number of each segment's contract, int64 (segments,)."""
    start: np.ndarray
    """Its first character in the contract, int64 (segments,)."""
    end: np.ndarray
    """The character after it, int64 (segments,)."""
    bounds: np.ndarray
    """The first segment of each contract, and the number of segments, int64
    (contracts + 1,).
    """

    @classmethod
    def from_texts(cls, contract_texts: Sequence[str]) -> "Segments":
        """Find the segments of contracts; a contract without words has none."""
        spans = []
        counts = []
        for text in contract_texts:
            contract_spans = find_segments(text)
            spans += contract_spans
            counts.append(len(contract_spans))
        start, end = np.array(spans, dtype=np.int64).reshape(-1, 2).T
        contract = np.repeat(np.arange(len(contract_texts)), counts)
        bounds = np.cumsum([0, *counts], dtype=np.int64)
        return cls(tuple(contract_texts), contract, start, end, bounds)

    def rows_of(self, contract: int) -> slice:
        """The rows of a contract's segments in the arrays."""
        return slice(int(self.bounds[contract]), int(self.bounds[contract + 1]))

    def texts(self) -> list[str]:
        """The text of each segment."""
        columns = (self.contract.tolist(), self.start.tolist(), self.end.tolist())
        texts = []
        for contract, start, end in zip(*columns, strict=True):
            texts.append(self.contract_texts[contract][start:end])
        return texts
