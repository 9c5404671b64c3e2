"""The units of a contract: its sentences, list items and lines, as a lawyer would mark them.

Answers of CUAD are mostly one sentence or the part of a list that carries it, so nineteen of twenty answers
of its longer categories are nearly a unit of these, or a few of them together.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

Span = tuple[int, int]

_ABBREVIATIONS = (
    "Inc Ltd Co Corp No Nos Sec Art Mr Ms Mrs Dr St Jr Sr vs v e.g i.e etc al L.L.C L.P U.S N.A S.A B.V "
    "Exh approx Ste Ave Blvd Fla Del Cal Messrs Para para cf p.m a.m P.O Ph.D D.C"
).split()
# A full stop that ends no sentence: after an abbreviation, an initial, or the number of a section.
_GOES_ON = re.compile(
    rf"(?:\b(?:{'|'.join(map(re.escape, _ABBREVIATIONS))})|\b[A-Z]"
    r"|(?:^|\s)\(?(?:\d{1,2}|[ivxIVX]{1,4})(?:\.\d{1,2}){0,3})\.$"
)
_LONGEST_TAIL = 12
_BREAK = re.compile(
    r"(?P<stop>[.?!;:][”\"')\]]*)(?P<space>\s+)(?=[“\"'(\[]*[A-Z0-9(])"  # a sentence's end
    r"|(?P<blank>\s*\n\s*\n\s*)"  # a blank line
    # a line that begins an item of a list
    r"|[ \t]*\n\s*(?=(?:\(?[a-zA-Z0-9]{1,3}[.)]|\d+(?:\.\d+)+|[•·o*-])\s)"
)


def units(text: str) -> list[Span]:
    """Return where each unit of ``text`` starts and ends, in order, without white space around it.

    A colon or a semicolon ends a unit where its line ends too, and a blank line ends none that goes on in
    lower case: there a page turns.  What is between units is white space.
    """
    found, start = [], 0
    for match in _BREAK.finditer(text):
        end = match.end("stop") if match["stop"] else match.start()
        if end > start and not _runs_on(text, start, match):
            found.append((start, end))
            start = match.end()
    found.append((start, len(text)))
    return [span for span in (_stripped(text, *span) for span in found) if span[0] < span[1]]


def _runs_on(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether the unit that starts at ``start`` goes on after this break."""
    if stop := match["stop"]:
        if stop[0] in ";:":
            return "\n" not in match["space"]
        end = match.end("stop")
        return stop == "." and bool(_GOES_ON.search(text[max(start, end - _LONGEST_TAIL) : end]))
    last, following = text[match.start() - 1], text[match.end() : match.end() + 1]
    return bool(match["blank"]) and following.islower() and (last.isalnum() or last == ",")


def _stripped(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


@dataclass(frozen=True)
class Units:
    """The units of some contracts: `contract`, `start` and `end`, int64 (units,), by contract and place.

    ``bounds`` int64 (contracts + 1,) says where each contract's units begin.
    """

    texts: tuple[str, ...]
    contract: np.ndarray
    start: np.ndarray
    end: np.ndarray
    bounds: np.ndarray

    def of(self, contract: int) -> slice:
        """The units of a contract."""
        return slice(int(self.bounds[contract]), int(self.bounds[contract + 1]))

    def words(self) -> list[str]:
        """The text of each unit."""
        places = zip(self.contract.tolist(), self.start.tolist(), self.end.tolist(), strict=True)
        return [self.texts[contract][start:end] for contract, start, end in places]


def units_of(texts: Sequence[str]) -> Units:
    """Return the units of contracts; one without a word has none."""
    each = [units(text) for text in texts]
    sizes = np.array([len(spans) for spans in each], dtype=np.int64)
    spans = np.array(list(chain.from_iterable(each)), dtype=np.int64).reshape(-1, 2)
    contract = np.repeat(np.arange(len(texts)), sizes)
    return Units(tuple(texts), contract, spans[:, 0], spans[:, 1], np.concatenate([[0], np.cumsum(sizes)]))
