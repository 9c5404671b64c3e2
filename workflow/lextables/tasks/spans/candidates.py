"""Candidate answers of the linear baseline, their parts, and their features.

Candidates are the highest-scored units of a contract, runs of adjacent ones, and parts
of units: dates, titles and names, since some answers are shorter than a sentence.  The
features of a candidate are the logits of its units and their neighbours
(`units.logits`), its length and position and, for a part of a unit, the words in it and
beside it.

A unit and the runs that contain it are candidates for the same answer.  Once one of
them is predicted, the evaluator gives nothing for the others, and every wrong
prediction counts.  `overlap_features` therefore describe a candidate together with the
higher-ranked candidates of its contract and category.  `context_features` are the
scores of its units in the other categories, and `text_features` its form.
"""

import re
from collections.abc import (
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import FeatureHasher

from lextables.tasks.spans.units import (
    Span,
    Units,
)

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_LEFT_OPEN = r"_+|\[[^\]\n]{0,12}\]"  # to be filled in
# A line break of the filing may be inside th, nd and the like.
_DAY = rf"(?:\d{{1,2}}\s?(?:s ?t|n ?d|r ?d|t ?h)?|{_LEFT_OPEN}|first|second|third)"
_YEAR = rf"(?:\d{{4}}|\d{{2}}_+|{_LEFT_OPEN})"
_DATE = re.compile(
    rf"(?:the\s+)?{_DAY}\s+day\s+of\s+\w+,?\s*(?:of\s+)?{_YEAR}"
    rf"|{_MONTH}\s*{_DAY}\s*,?\s*{_YEAR}"
    rf"|{_DAY}\s*(?:of\s+)?{_MONTH}\s*,?\s*{_YEAR}"
    rf"|{_MONTH},?\s+\d{{4}}"
    r"|\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}|\d{4}[/-]\d{1,2}[/-]\d{1,2}",
    re.IGNORECASE,
)
_CAPITAL = r"[A-Z0-9][\w&’'/.,()-]*"
_CAPITALS = re.compile(
    rf"{_CAPITAL}(?:\s+(?:{_CAPITAL}|and|of|for|the|to|in|on|&|-)(?=\s|$))*"
)
_DOCUMENT = re.compile(
    r"agreement|contract|amendment|license|addendum|lease|terms|letter|plan|policy|exhibit|services|joint|deed"
    r"|schedule|memorandum",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(
    r"\b(?:agreement|contract|amendment|addendum|undertaking)\b", re.IGNORECASE
)
_BEFORE_TITLE = re.compile(
    r"(?:EX(?:HIBIT)?[\s-]*[\d.]+\w?|This|The|Execution (?:Copy|Version)|[\d.]+)\s+",
    re.IGNORECASE,
)
_SHORTEST_TITLE = 6

_GAP = r"(?:[ \xa0]{1,2}|\s(?!\s))"  # wider gaps separate columns and paragraphs
_NEXT = r"(?=[\s,.;:)”\"]|$)"
_FORM = (  # of companies
    r"(?:Inc(?:orporated)?|L\.?\s?L\.?\s?C|Ltd|Limited|Corp(?:oration)?|Co(?:mpany)?|L\.?\s?P|L\.?L\.?P"
    r"|P\.?L\.?C|GmbH|A\.?G|S\.?A|N\.?V|B\.?V|S\.?p\.?A|Trust|Bank|University)\b\.?"
)
_NAME_WORD = r"[A-Z0-9][\w&’'.()/-]*"
_NAME = re.compile(
    rf"{_NAME_WORD}(?:{_GAP}(?:{_NAME_WORD}|of|and|&|the|for|de|in){_NEXT}|,{_GAP}{_FORM}{_NEXT})*"
)
_COMPANY_END = re.compile(rf",?\s+{_FORM}{_NEXT}")
_LEFT_OVER = re.compile(r"(?:\s+(?:and|of|for|the|in|&))+$")
_QUOTED = re.compile(r"[“\"]\s*([^“”\"\n]{2,60}?)\s*,?[”\"]")
_DEFINED = re.compile(r"\(([^()]{0,40}[“\"][^()]{2,80})\)")  # (the "Buyer")
_COMPANY = re.compile(_FORM)
_NOT_NAME = re.compile(r"^the\s+|[\"“”().,;]")
_LETTER = re.compile(r"[^\W\d_]")
_AND = re.compile(r"\s+and\s+")


def dates(text: str) -> list[Span]:
    """Return the position of each date in ``text``, also of unfilled ones, in order."""
    return [match.span() for match in _DATE.finditer(text)]


def titles(text: str) -> list[Span]:
    """Return possible positions of document titles in ``text``.

    They are capitalised words, one of them such as Agreement.  They begin after an
    exhibit's number or an article, and end at the first or the last word like
    Agreement.
    """
    spans = []
    for match in _CAPITALS.finditer(text):
        words = match[0]
        if not _DOCUMENT.search(words):
            continue
        start = match.start()
        ends = [start + last.end() for last in _LAST_WORD.finditer(words)]
        if not ends:
            ends = [match.end()]
        if before := _BEFORE_TITLE.match(words):
            start += before.end()
        for end in dict.fromkeys((ends[0], ends[-1])):
            if end - start >= _SHORTEST_TITLE:
                spans.append((start, end))
    return spans


def names(text: str) -> list[Span]:
    """Return possible positions of names in ``text``, in order.

    They are capitalised words and quoted text; for capitalised words also the part up
    to a company's legal form, and the parts around an `and`.
    """
    spans = set()
    for pattern in (_QUOTED, _DEFINED):
        spans.update(match.span(1) for match in pattern.finditer(text))
    for match in _NAME.finditer(text):
        start, words = match.start(), _LEFT_OVER.sub("", match[0])
        spans.add((start, start + len(words)))
        if company := _COMPANY_END.search(words):
            spans.add((start, start + company.end()))
        first = 0
        for joint in _AND.finditer(words):
            spans.add((start + first, start + joint.start()))
            first = joint.end()
        spans.add((start + first, start + len(words)))
    return [span for span in sorted(spans) if _LETTER.search(text, *span)]


PARTS = {
    "date": dates,
    "title": titles,
    "name": names,
}  # in order of precedence
LONGEST_RUN = 3  # units
OUTSIDE = -12.0  # the logit of a unit beyond the contract's ends
RANKS = (1, 2, 4)
HINGES = (-2.0, 0.0, 2.0)
TOKENS = 1 << 14  # hash buckets for the words in and beside a part
WORDS_WEIGHT = 2.0
BESIDE = 4  # words on each side of a part, within BESIDE_CHARACTERS
BESIDE_CHARACTERS = 60
SIGNATURES = 3000  # the last characters of a contract, at least a tenth of it
_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Candidates:
    """The candidates of one category, int64 (candidates,), by contract.

    ``first`` and ``last`` are its units, ``start`` and ``end`` its characters; ``part``
    (bool) is true if it is less than a unit.
    """

    contract: np.ndarray
    first: np.ndarray
    last: np.ndarray
    start: np.ndarray
    end: np.ndarray
    part: np.ndarray

    def take(self, rows: np.ndarray) -> "Candidates":
        """The candidates in these rows (numbers or bool)."""
        return Candidates(*(column[rows] for column in vars(self).values()))

    def rows(self) -> Iterator[tuple[int, int, int, int, int, bool]]:
        """Yield contract, first, last, start, end and part of each candidate."""
        columns = [column.tolist() for column in vars(self).values()]
        return zip(*columns, strict=True)

    def texts(self, units: Units) -> list[str]:
        """The text of each candidate."""
        texts = []
        for contract, _, _, start, end, _ in self.rows():
            texts.append(units.texts[contract][start:end])
        return texts


def candidates(
    units: Units,
    logits: np.ndarray,
    likely: int,
    parts: Sequence[str],
    runs: bool = True,
) -> Candidates:
    """Return the candidates of a category with these ``logits`` (units,).

    These are the ``likely`` highest-scored units of each contract; if ``runs``, also
    runs of two and three of them that are adjacent; and the ``parts`` of these units
    (names of `PARTS`).  Of names with the same text only the first in the contract is a
    candidate: a mention that looks more probable is no better answer.
    """
    longest = LONGEST_RUN if runs else 1
    rows: list[tuple[int, int, int, int, int, bool]] = []
    for contract, text in enumerate(units.texts):
        own = units.of(contract)
        best = own.start + np.argsort(-logits[own], kind="stable")[:likely]
        chosen, found = set(best.tolist()), []
        for unit in best.tolist():
            start = int(units.start[unit])
            for last in range(unit, unit + longest):
                if last not in chosen:
                    break
                end = int(units.end[last])
                found.append((contract, unit, last, start, end, False))
            for span in _parts(units, contract, unit, parts):
                found.append((contract, unit, unit, *span, True))
        if "name" in parts:
            first_mentions = {}
            in_order = sorted(found, key=itemgetter(3))
            for row in reversed(in_order):
                first_mentions[text[row[3] : row[4]]] = row
            found = list(first_mentions.values())
        rows += found
    columns = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    return Candidates(*columns[:5], part=columns[5].astype(bool))


def _parts(
    units: Units,
    contract: int,
    unit: int,
    parts: Sequence[str],
) -> Iterator[tuple[int, int]]:
    """Yield the positions in the contract of these parts of a unit."""
    start, end = int(units.start[unit]), int(units.end[unit])
    text = units.texts[contract][start:end]
    for name in parts:
        for first, last in PARTS[name](text):
            if last - first < end - start:
                yield start + first, start + last


def candidate_features(
    candidates: Candidates,
    units: Units,
    logits: np.ndarray,
) -> np.ndarray:
    """Return the features of each candidate, float64 (candidates, features).

    ``logits`` (units,) are those of the category.
    """
    z = logits.astype(np.float64)
    contract, first, last = candidates.contract, candidates.first, candidates.last
    places = np.minimum(first[:, None] + np.arange(LONGEST_RUN), last[:, None])
    of_run = z[places]
    highest, lowest = of_run.max(axis=1), of_run.min(axis=1)
    padded = np.concatenate([[OUTSIDE], z, [OUTSIDE]])
    before = np.where(first > units.bounds[contract], padded[first], OUTSIDE)
    after = np.where(last + 1 < units.bounds[contract + 1], padded[last + 2], OUTSIDE)
    ranks, best, second, total = _contract_scores(units, z)
    rank = ranks[places].min(axis=1)
    best_other = np.where(rank == 0, second[contract], best[contract])
    length = np.log1p(candidates.end - candidates.start)
    characters = np.array([len(text) for text in units.texts])[contract]
    run = last > first
    whole = ~candidates.part & ~run
    columns = [
        highest,
        lowest,
        of_run.mean(axis=1),
        before,
        after,
        best[contract] - highest,
        highest - best_other,
        total[contract],
        np.log1p(rank),
    ]
    for within in RANKS:
        columns.append(rank < within)
    columns += [
        length,
        length**2 / 5,
        candidates.start / characters,
        np.log1p(candidates.start),
        np.log1p(np.diff(units.bounds)[contract]),
        whole,
        candidates.part,
    ]
    for more in range(1, LONGEST_RUN):
        columns.append(last - first == more)
    for hinge in HINGES:
        columns.append(np.maximum(0, highest - hinge))
    columns.append(run * lowest)
    columns.append(whole * np.maximum(before, after))
    return np.column_stack(columns).astype(np.float64)


def _contract_scores(
    units: Units, logits: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the rank of each unit in its contract, and scores of each contract.

    The scores, float64 (contracts,), are the best logit, the second one, and the
    logarithm of the sum of their exponentials.
    """
    ranks = np.zeros(len(logits))
    best = np.full(len(units.texts), OUTSIDE)
    second, total = best.copy(), best.copy()
    for contract in range(len(units.texts)):
        own = logits[units.of(contract)]
        if len(own) == 0:
            continue
        order = np.argsort(-own, kind="stable")
        ranks[units.bounds[contract] + order] = np.arange(len(order))
        best[contract] = own[order[0]]
        total[contract] = np.logaddexp.reduce(own)
        if len(own) > 1:
            second[contract] = own[order[1]]
    return ranks, best, second, total


def part_words(candidates: Candidates, units: Units) -> csr_matrix:
    """Return hashed counts of the words in and beside each part.

    float64 (candidates, `TOKENS`); zero for whole units.
    """
    tokens = []
    for contract, unit, _, start, end, part in candidates.rows():
        text = units.texts[contract]
        inside = int(units.start[unit]), int(units.end[unit])
        tokens.append(_tokens(text, inside, start, end) if part else [])
    hasher = FeatureHasher(TOKENS, input_type="string")
    return csr_matrix(WORDS_WEIGHT * hasher.transform(tokens))


def _tokens(
    text: str,
    unit: Span,
    start: int,
    end: int,
) -> list[str]:
    """Return the words in and beside the part [start, end), with positions."""
    first = max(unit[0], start - BESIDE_CHARACTERS)
    last = min(unit[1], end + BESIDE_CHARACTERS)
    before = _TOKEN.findall(text[first:start].lower())[-BESIDE:]
    after = _TOKEN.findall(text[end:last].lower())[:BESIDE]
    inside = _TOKEN.findall(text[start:end])
    tokens = []
    for at, word in enumerate(reversed(before)):
        tokens += [f"{at} before: {word}", f"before: {word}"]
    for at, word in enumerate(after):
        tokens += [f"{at} after: {word}", f"after: {word}"]
    for word in inside:
        tokens.append(f"in: {word.lower()}")
    tokens.append(f"begins: {inside[0].lower()}")
    tokens.append("capitals" if text[start:end].isupper() else "no capitals")
    tokens.append("at the start" if start == unit[0] else "inside")
    tokens.append(f"{min(len(inside), 9)} words")
    return tokens


_KEYWORDS = tuple(
    re.compile(words)
    for words in (r"shall|will", r"not ", r"provided|except", r"means", r"hereby")
)
_QUOTES = frozenset('"“”(')
FORM, MENTIONS = 16, 7  # numbers of features
FAR = 14.0  # the logarithm of a position beyond all contracts


def context_features(
    candidates: Candidates,
    logits: np.ndarray,
    category: int,
) -> np.ndarray:
    """Return scores of each candidate's units in the other categories.

    float64 (candidates, 3): the highest, by how much its own is above it, and the
    second.  ``logits`` (units, categories); the score of a run is the mean of its ends.
    """
    scores = (logits[candidates.first] + logits[candidates.last]) / 2
    others = np.delete(scores, category, axis=1)
    padded = np.pad(
        others,
        ((0, 0), (2, 0)),
        constant_values=OUTSIDE,
    )
    second, best = np.partition(padded, (-2, -1), axis=1)[:, -2:].T
    return np.column_stack([best, scores[:, category] - best, second])


def text_features(candidates: Candidates, units: Units) -> np.ndarray:
    """Return the form of each text and, for parts, of its mentions.

    float32 (candidates, `FORM` + `MENTIONS`); the mentions of whole units are zero.
    """
    defined: dict[int, dict[str, int]] = {}
    rows = np.zeros((len(candidates.start), FORM + MENTIONS), dtype=np.float32)
    for row, (contract, _, _, start, end, part) in enumerate(candidates.rows()):
        text = units.texts[contract]
        rows[row, :FORM] = _form(text, start, end)
        if part:
            if contract not in defined:
                defined[contract] = _defined(text)
            rows[row, FORM:] = _mentions(text, start, end, defined[contract])
    return rows


def _form(
    text: str,
    start: int,
    end: int,
) -> list[float]:
    """Return the features of the characters [start, end) of a contract."""
    span = text[start:end]
    words, lower = span.split(), span.lower()
    capitals = sum(word[0].isupper() for word in words)
    return [
        len(words),
        capitals / len(words),
        span.isupper(),
        span[-1] in ".;",
        span[-1] == ":",
        span[0].isupper(),
        span[0].isdigit() or span[0] == "(",
        "\n" in text[max(0, start - 3) : start],
        "\n" in text[end : end + 3],
        span.count(","),
        sum(map(str.isdigit, span)),
        *(len(pattern.findall(lower)) for pattern in _KEYWORDS),
    ]


def _mentions(
    text: str,
    start: int,
    end: int,
    defined: Mapping[str, int],
) -> list[float]:
    """Return the features of the mentions of a part in its contract.

    ``defined`` are the `_defined` names of the contract.
    """
    span = text[start:end]
    place = defined.get(_bare(span.lower()))
    signatures = len(text) - max(SIGNATURES, len(text) // 10)
    return [
        np.log1p(text.count(span)),
        place is not None,
        FAR if place is None else np.log1p(place),
        not _QUOTES.isdisjoint(text[max(0, start - 4) : start]),
        not _QUOTES.isdisjoint(text[end : end + 4]),
        _COMPANY.search(span) is not None,
        text.find(span, signatures) >= 0,
    ]


def _defined(text: str) -> dict[str, int]:
    """Return {quoted words, in lower case: where they are first quoted}."""
    places: dict[str, int] = {}
    for match in _QUOTED.finditer(text):
        places.setdefault(_bare(match[1].lower()), match.start())
    return places


def _bare(name: str) -> str:
    """Return a name without article, quotes, brackets and punctuation."""
    return _NOT_NAME.sub("", name).strip()


def overlap_features(candidates: Candidates, logits: np.ndarray) -> np.ndarray:
    """Return features of each candidate and of those ranked above it.

    float64 (candidates, features).  ``logits`` (candidates,) are the scores of the
    second model, which also rank the candidates.
    """
    overlapping = np.zeros((len(logits), 5))
    elsewhere = np.zeros((len(logits), 2))
    for rows in ranked_by_contract(candidates, logits):
        start, end, own = candidates.start[rows], candidates.end[rows], logits[rows]
        shared = np.minimum.outer(end, end) - np.maximum.outer(start, start)
        union = np.maximum.outer(end, end) - np.minimum.outer(start, start)
        above = np.tri(len(rows), k=-1, dtype=bool)
        over = above & (shared > 0)
        jaccard = np.where(over, shared / union, 0)
        best = over.argmax(axis=1)
        columns = [
            np.ones(len(rows)),
            own[best],
            jaccard.max(axis=1),
            jaccard[np.arange(len(rows)), best],
            np.log1p(over.sum(axis=1)),
        ]
        has = over.any(axis=1)
        overlapping[rows] = has[:, None] * np.column_stack(columns)
        apart = above & ~over
        scores = np.where(apart, own, OUTSIDE)
        total = np.logaddexp.reduce(
            scores,
            axis=1,
            initial=OUTSIDE,
        )
        elsewhere[rows] = np.column_stack([np.log1p(apart.sum(axis=1)), total])
    return np.column_stack([logits, overlapping, elsewhere])


def new_answers(
    candidates: Candidates,
    logits: np.ndarray,
    matched: Sequence[frozenset[int]],
) -> tuple[np.ndarray, np.ndarray]:
    """Return which candidates find a new answer, and which are used for training.

    bool (candidates,) each.  ``matched`` are the answers of its contract that each
    candidate finds.  An answer is new if no higher-ranked candidate finds it.
    Candidates that find only answers found before are not used for training: the
    evaluator neither rewards nor punishes them.
    """
    new = np.zeros(len(logits), dtype=bool)
    used = np.ones(len(logits), dtype=bool)
    for rows in ranked_by_contract(candidates, logits):
        before: set[int] = set()
        for row in rows.tolist():
            new[row] = not matched[row] <= before
            used[row] = new[row] or not matched[row]
            before.update(matched[row])
    return new, used


def ranked_by_contract(
    candidates: Candidates, logits: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield the rows of each contract's candidates, highest logit first, int64."""
    edges = np.flatnonzero(
        np.diff(
            candidates.contract,
            prepend=-1,
            append=-1,
        )
    )
    for first, last in pairwise(edges.tolist()):
        yield first + np.argsort(-logits[first:last], kind="stable")
