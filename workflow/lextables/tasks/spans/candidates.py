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

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import FeatureHasher

from lextables.tasks.spans.units import Span, Units

# Dates.
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_LEFT_OPEN = r"_+|\[[^\]\n]{0,12}\]"  # a blank to be filled in
# A line break of the filing may be inside th, nd and the like.
_DAY = rf"(?:\d{{1,2}}\s?(?:s ?t|n ?d|r ?d|t ?h)?|{_LEFT_OPEN}|first|second|third)"
_YEAR = rf"(?:\d{{4}}|\d{{2}}_+|{_LEFT_OPEN})"
_DATE = re.compile(
    rf"(?:the\s++)?(?<!_){_DAY}\s++day\s++of\s++\w+,?\s*(?:of\s+)?{_YEAR}"
    rf"|{_MONTH}\s*+{_DAY}\s*+,?\s*+{_YEAR}"
    rf"|(?<!_){_DAY}\s*+(?:of\s++)?{_MONTH}\s*+,?\s*+{_YEAR}"
    rf"|{_MONTH},?\s++\d{{4}}"
    r"|\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}|\d{4}[/-]\d{1,2}[/-]\d{1,2}",
    re.IGNORECASE,
)
# Titles of documents: capitalised words, with small words between them.
_CAPITAL = r"[A-Z0-9][\w&’'/.,()-]*"
_CAPITALS = re.compile(
    rf"{_CAPITAL}(?:\s+(?:{_CAPITAL}|and|of|for|the|to|in|on|&|-)(?=\s|$))*"
)
# A title has one of these words.
_DOCUMENT = re.compile(
    r"agreement|contract|amendment|license|addendum|lease|terms|letter|plan|policy|exhibit|services|joint|deed"
    r"|schedule|memorandum",
    re.IGNORECASE,
)
# A title ends with one of these, if it has any.
_LAST_WORD = re.compile(
    r"\b(?:agreement|contract|amendment|addendum|undertaking)\b", re.IGNORECASE
)
# What is before a title and not part of it.
_BEFORE_TITLE = re.compile(
    r"(?:EX(?:HIBIT)?[\s-]*[\d.]+\w?|This|The|Execution (?:Copy|Version)|[\d.]+)\s+",
    re.IGNORECASE,
)
_SHORTEST_TITLE = 6  # characters

# Names: capitalised words, with small words between them, or a comma before the legal
# form of a company.
_GAP = r"(?:[ \xa0]{1,2}|\s(?!\s))"  # wider gaps separate columns and paragraphs
_NEXT = r"(?=[\s,.;:)”\"]|$)"  # what may follow a word
_FORM = (  # of companies
    r"(?:Inc(?:orporated)?|L\.?\s?L\.?\s?C|Ltd|Limited|Corp(?:oration)?|Co(?:mpany)?|L\.?\s?P|L\.?L\.?P"
    r"|P\.?L\.?C|GmbH|A\.?G|S\.?A|N\.?V|B\.?V|S\.?p\.?A|Trust|Bank|University)\b\.?"
)
_NAME_WORD = r"[A-Z0-9][\w&’'.()/-]*"
_NAME = re.compile(
    rf"{_NAME_WORD}(?:{_GAP}(?:{_NAME_WORD}|of|and|&|the|for|de|in){_NEXT}|,{_GAP}{_FORM}{_NEXT})*"
)
_COMPANY_END = re.compile(rf",?\s+{_FORM}{_NEXT}")
_LEFT_OVER = frozenset("and of for the in &".split())  # at the end of a name
_WORD = re.compile(r"\S+")
# The words between quotation marks (group 1), or only a blank between them.
_QUOTED = re.compile(
    r"[“\"]\s*+(?:([^\s“”\"][^“”\"\n]{1,59}?)\s*+,?|(?<=[^\S\n]{2}))[”\"]"
)
_DEFINED = re.compile(r"\(([^()]{0,40}[“\"][^()]{2,80})\)")  # (the "Buyer")
_COMPANY = re.compile(_FORM)
# What `_bare` removes.
_NOT_NAME = re.compile(r"^the\s+|[\"“”().,;]")
_LETTER = re.compile(r"[^\W\d_]")
_AND = re.compile(r"\s+and\s+")


def dates(text: str) -> list[Span]:
    """Return the position of each date in ``text``, also of unfilled ones, in order."""
    return [match.span() for match in _DATE.finditer(text)]


def titles(text: str) -> list[Span]:
    """Return possible positions of document titles in ``text``.

    They are capitalised words, one of them a word like Agreement.  An exhibit's number
    or an article before them is left out.  They end at the first and at the last of the
    words like Agreement (two positions if these differ), if they have any.
    """
    spans = []
    for match in _CAPITALS.finditer(text):
        words = match[0]
        if not _DOCUMENT.search(words):
            continue
        start = 0
        before = _BEFORE_TITLE.match(words)
        if before:
            start = before.end()
        ends = [last.end() for last in _LAST_WORD.finditer(words)]
        if not ends:
            ends = [len(words)]
        first_and_last = dict.fromkeys((ends[0], ends[-1]))
        for end in first_and_last:
            if end - start >= _SHORTEST_TITLE:
                spans.append(_moved(start, end, match.start()))
    return spans


def names(text: str) -> list[Span]:
    """Return possible positions of names in ``text``, in order.

    They are capitalised words and quoted text; for capitalised words also the part up
    to a company's legal form, and the parts around an `and`.
    """
    spans = {match.span(1) for match in _quotations(text)}
    spans.update(match.span(1) for match in _DEFINED.finditer(text))
    for match in _NAME.finditer(text):
        words = _without_left_over(match[0])
        for start, end in _names_in(words):
            spans.add(_moved(start, end, match.start()))
    return [span for span in sorted(spans) if _LETTER.search(text, *span)]


def _without_left_over(words: str) -> str:
    """Return capitalised words without the small words at their end."""
    places = list(_WORD.finditer(words))
    while len(places) > 1 and places[-1][0] in _LEFT_OVER:
        places.pop()
    return words[: places[-1].end()]


def _names_in(words: str) -> Iterator[Span]:
    """Yield the positions of possible names in capitalised words."""
    end = len(words)
    yield 0, end
    company = _COMPANY_END.search(words)
    if company:
        yield 0, company.end()
    start = 0
    for joint in _AND.finditer(words):
        yield start, joint.start()
        start = joint.end()
    yield start, end


def _moved(start: int, end: int, by: int) -> Span:
    """Return the position in a text of a span of its part that begins at ``by``."""
    return start + by, end + by


# {kind of part: the function that finds its positions in the text of a unit}.
PARTS = {"date": dates, "title": titles, "name": names}  # in order of precedence
LONGEST_RUN = 3  # units of a candidate, at most
OUTSIDE = -12.0  # the logit of a unit beyond the contract's ends
# A feature each: whether a candidate is among so many highest-scored units.
TOP_RANKS = (1, 2, 4)
# A feature each: by how much the highest logit of a candidate exceeds it.
HINGES = (-2.0, 0.0, 2.0)
WORD_BUCKETS = 1 << 14  # hash buckets for the words in and beside a part
WORD_WEIGHT = 2.0  # by which counts of words are multiplied
WORDS_BESIDE = 4  # words on each side of a part, within CHARACTERS_BESIDE
CHARACTERS_BESIDE = 60
# Signatures are in the last characters of a contract, at least a tenth of it.
SIGNATURE_CHARACTERS = 3000
_TOKEN = re.compile(r"\w+|[^\w\s]")


class Candidate(NamedTuple):
    """The characters [start, end) of a contract, in one unit or a run of units.

    ``is_part`` is true if they are less than a unit.
    """

    contract: int
    first_unit: int
    last_unit: int
    start: int
    end: int
    is_part: bool


@dataclass(frozen=True)
class Candidates:
    """The candidates of one category, int64 (candidates,), by contract.

    The columns are the fields of `Candidate`; ``is_part`` is bool.
    """

    contract: np.ndarray
    first_unit: np.ndarray
    last_unit: np.ndarray
    start: np.ndarray
    end: np.ndarray
    is_part: np.ndarray

    def take(self, rows: np.ndarray) -> "Candidates":
        """The candidates in these rows (numbers or bool)."""
        return Candidates(*(column[rows] for column in vars(self).values()))

    def rows(self) -> Iterator[Candidate]:
        """Yield each candidate."""
        columns = [column.tolist() for column in vars(self).values()]
        return itertools.starmap(Candidate, zip(*columns, strict=True))

    def texts(self, units: Units) -> list[str]:
        """The text of each candidate."""
        texts = []
        for row in self.rows():
            text = units.texts[row.contract]
            texts.append(text[row.start : row.end])
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
    (names of `PARTS`).  If the parts include `name`, only the first of the contract's
    candidates with the same text is kept: of several mentions, the one that looks most
    probable is no better answer than the first.
    """
    longest = LONGEST_RUN if runs else 1
    rows: list[Candidate] = []
    for contract, text in enumerate(units.texts):
        contract_units = units.of(contract)
        order = np.argsort(-logits[contract_units], kind="stable")
        best = contract_units.start + order[:likely]
        contract_candidates = _of_contract(
            units, contract, best.tolist(), longest, parts
        )
        if "name" in parts:
            # From the last to the first, so that the first mention is kept.
            first_mentions = {}
            in_order = sorted(contract_candidates, key=attrgetter("start"))
            for row in reversed(in_order):
                first_mentions[text[row.start : row.end]] = row
            contract_candidates = iter(first_mentions.values())
        rows += contract_candidates
    columns = np.array(rows, dtype=np.int64).reshape(-1, len(Candidate._fields)).T
    contracts, first_unit, last_unit, start, end, is_part = columns
    is_part = is_part.astype(bool)
    return Candidates(contracts, first_unit, last_unit, start, end, is_part)


def _of_contract(
    units: Units, contract: int, best: Sequence[int], longest: int, parts: Sequence[str]
) -> Iterator[Candidate]:
    """Yield the ``best`` units of a contract with the runs and parts of each.

    A run has at most ``longest`` units.
    """
    chosen = set(best)
    for unit in best:
        start = int(units.start[unit])
        for last in range(unit, unit + longest):
            if last not in chosen:
                break
            end = int(units.end[last])
            yield Candidate(contract, unit, last, start, end, False)
        for part_start, part_end in _parts(units, contract, unit, parts):
            yield Candidate(contract, unit, unit, part_start, part_end, True)


def _parts(
    units: Units, contract: int, unit: int, parts: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Yield the positions in the contract of these parts of a unit."""
    unit_start = int(units.start[unit])
    unit_end = int(units.end[unit])
    text = units.texts[contract][unit_start:unit_end]
    for name in parts:
        for start, end in PARTS[name](text):
            if end - start < len(text):
                yield _moved(start, end, unit_start)


def candidate_features(
    candidates: Candidates, units: Units, logits: np.ndarray
) -> np.ndarray:
    """Return the features of each candidate, float64 (candidates, features).

    ``logits`` (units,) are those of the category.  The columns are logits of the
    candidate's units, of their neighbours and of the contract's best units; its rank in
    the contract; its length and position; and its kind: a unit, a part or a run.
    """
    logits = logits.astype(np.float64)
    contract = candidates.contract
    first_unit = candidates.first_unit
    last_unit = candidates.last_unit
    run_units = first_unit[:, None] + np.arange(LONGEST_RUN)
    # A shorter run repeats its last unit.
    run_units = np.minimum(run_units, last_unit[:, None])
    run_logits = logits[run_units]
    highest = run_logits.max(axis=1)
    lowest = run_logits.min(axis=1)
    before, after = _neighbours(candidates, units, logits)

    ranks, best_logits, second_logits, total_logits = _contract_scores(units, logits)
    rank = ranks[run_units].min(axis=1)
    best = best_logits[contract]
    # The contract's best logit, or the second if the candidate has the best unit.
    best_other = np.where(rank == 0, second_logits[contract], best)
    columns = [
        highest,
        lowest,
        run_logits.mean(axis=1),
        before,
        after,
        best - highest,
        highest - best_other,
        total_logits[contract],
        np.log1p(rank),
    ]
    for top in TOP_RANKS:
        columns.append(rank < top)

    length = np.log1p(candidates.end - candidates.start)
    characters = np.array(list(map(len, units.texts)))
    unit_counts = np.diff(units.bounds)
    more_units = last_unit - first_unit
    is_run = more_units > 0
    is_unit = ~candidates.is_part & ~is_run
    columns += [
        length,
        length**2 / 5,  # about as large as the length
        candidates.start / characters[contract],
        np.log1p(candidates.start),
        np.log1p(unit_counts[contract]),
        is_unit,
        candidates.is_part,
    ]
    for more in range(1, LONGEST_RUN):
        columns.append(more_units == more)
    for hinge in HINGES:
        columns.append(np.maximum(0, highest - hinge))
    columns.append(is_run * lowest)
    columns.append(is_unit * np.maximum(before, after))
    return np.column_stack(columns).astype(np.float64)


def _neighbours(
    candidates: Candidates, units: Units, logits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the logits of the units before and after each, float64 (candidates,).

    Beyond the contract's ends they are `OUTSIDE`.
    """
    contract = candidates.contract
    padded = np.pad(logits, 1, constant_values=OUTSIDE)
    before = padded[candidates.first_unit]
    is_first = candidates.first_unit == units.bounds[contract]
    after = padded[candidates.last_unit + 2]
    is_last = candidates.last_unit + 1 == units.bounds[contract + 1]
    return np.where(is_first, OUTSIDE, before), np.where(is_last, OUTSIDE, after)


def _contract_scores(
    units: Units, logits: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the rank of each unit in its contract, and scores of each contract.

    The scores, float64 (contracts,), are the best logit, the second one, and the
    logarithm of the sum of their exponentials.
    """
    ranks = np.zeros(len(logits))
    best = np.full(len(units.texts), OUTSIDE)
    second = best.copy()
    total = best.copy()
    for contract in range(len(units.texts)):
        own = logits[units.of(contract)]
        if len(own) == 0:
            continue
        order = np.argsort(-own, kind="stable")
        ranks[units.bounds[contract] + order] = np.arange(len(order))
        descending = own[order]
        best[contract] = descending[0]
        total[contract] = np.logaddexp.reduce(own)
        if len(own) > 1:
            second[contract] = descending[1]
    return ranks, best, second, total


def part_words(candidates: Candidates, units: Units) -> csr_matrix:
    """Return hashed counts of the words in and beside each part.

    float64 (candidates, `WORD_BUCKETS`); zero for whole units.
    """
    tokens = []
    for row in candidates.rows():
        words = []
        if row.is_part:
            unit = int(units.start[row.first_unit]), int(units.end[row.first_unit])
            words = _tokens(units.texts[row.contract], unit, row.start, row.end)
        tokens.append(words)
    hasher = FeatureHasher(WORD_BUCKETS, input_type="string")
    counts = hasher.transform(tokens)
    return csr_matrix(WORD_WEIGHT * counts)


def _tokens(text: str, unit: Span, start: int, end: int) -> list[str]:
    """Return the features of the part [start, end): the words in and beside it.

    Words beside it are given with and without their distance.
    """
    unit_start, unit_end = unit
    before_start = max(unit_start, start - CHARACTERS_BESIDE)
    after_end = min(unit_end, end + CHARACTERS_BESIDE)
    before = _words(text[before_start:start])[-WORDS_BESIDE:]
    after = _words(text[end:after_end])[:WORDS_BESIDE]
    part = text[start:end]
    inside = [word.lower() for word in _TOKEN.findall(part)]
    tokens = []
    for at, word in enumerate(reversed(before)):
        tokens += [f"{at} before: {word}", f"before: {word}"]
    for at, word in enumerate(after):
        tokens += [f"{at} after: {word}", f"after: {word}"]
    for word in inside:
        tokens.append(f"in: {word}")
    tokens.append(f"begins: {inside[0]}")
    tokens.append("capitals" if part.isupper() else "no capitals")
    tokens.append("at the start" if start == unit_start else "inside")
    count = min(len(inside), 9)
    tokens.append(f"{count} words")
    return tokens


def _words(text: str) -> list[str]:
    """Return the words and punctuation marks of a text, in lower case."""
    return _TOKEN.findall(text.lower())


# Words whose number is a feature of the form of a text.
_KEYWORDS = tuple(
    re.compile(words)
    for words in (r"shall|will", r"not ", r"provided|except", r"means", r"hereby")
)
_QUOTES = frozenset('"“”(')  # beside a name where it is defined
FORM_FEATURES = 16  # the features that `_form` returns
MENTION_FEATURES = 7  # those that `_mentions` returns
FAR = 14.0  # the logarithm of a position beyond all contracts


def context_features(
    candidates: Candidates, logits: np.ndarray, category: int
) -> np.ndarray:
    """Return scores of each candidate's units in the other categories.

    float64 (candidates, 3): the highest, by how much its own is above it, and the
    second.  ``logits`` (units, categories); the score of a run is the mean of its ends.
    """
    scores = (logits[candidates.first_unit] + logits[candidates.last_unit]) / 2
    own = scores[:, category]
    others = np.delete(scores, category, axis=1)
    padded = np.pad(others, ((0, 0), (2, 0)), constant_values=OUTSIDE)
    ascending = np.sort(padded, axis=1)
    best = ascending[:, -1]
    second = ascending[:, -2]
    return np.column_stack([best, own - best, second])


def text_features(candidates: Candidates, units: Units) -> np.ndarray:
    """Return features of the form of each text and, for parts, of its mentions.

    float32 (candidates, features).  The last `MENTION_FEATURES` columns are those of
    mentions, zero for whole units.
    """
    defined: dict[int, dict[str, int]] = {}
    width = FORM_FEATURES + MENTION_FEATURES
    rows = np.zeros((len(candidates.start), width), dtype=np.float32)
    for features, candidate in zip(rows, candidates.rows(), strict=True):
        contract = candidate.contract
        text = units.texts[contract]
        place = (text, candidate.start, candidate.end)
        features[:FORM_FEATURES] = _form(*place)
        if candidate.is_part:
            if contract not in defined:
                defined[contract] = _defined(text)
            features[FORM_FEATURES:] = _mentions(*place, defined[contract])
    return rows


def _form(text: str, start: int, end: int) -> list[float]:
    """Return the features of the characters [start, end) of a contract."""
    span = text[start:end]
    words = span.split()
    lower = span.lower()
    capitals = sum(word[0].isupper() for word in words)
    before = text[max(0, start - 3) : start]
    after = text[end : end + 3]
    features = [
        len(words),
        capitals / len(words),
        span.isupper(),
        span[-1] in ".;",
        span[-1] == ":",
        span[0].isupper(),
        span[0].isdigit() or span[0] == "(",
        "\n" in before,
        "\n" in after,
        span.count(","),
        sum(map(str.isdigit, span)),
    ]
    for pattern in _KEYWORDS:
        features.append(len(pattern.findall(lower)))
    return features


def _mentions(
    text: str, start: int, end: int, defined: Mapping[str, int]
) -> list[float]:
    """Return the features of the mentions of a part in its contract.

    They are how often the contract has its text; whether the text is quoted somewhere,
    and where first; whether a quotation mark or a bracket is just before or after it;
    whether it has a company's legal form; and whether it is among the signatures.
    ``defined`` are the `_defined` names of the contract.
    """
    span = text[start:end]
    place = defined.get(_bare(span.lower()))
    signature_characters = max(SIGNATURE_CHARACTERS, len(text) // 10)
    signatures = max(0, len(text) - signature_characters)
    before = text[max(0, start - 4) : start]
    after = text[end : end + 4]
    return [
        np.log1p(text.count(span)),
        place is not None,
        FAR if place is None else np.log1p(place),
        not _QUOTES.isdisjoint(before),
        not _QUOTES.isdisjoint(after),
        _COMPANY.search(span) is not None,
        text.find(span, signatures) >= 0,
    ]


def _defined(text: str) -> dict[str, int]:
    """Return {quoted words, in lower case: where they are first quoted}."""
    places: dict[str, int] = {}
    for match in _quotations(text):
        places.setdefault(_bare(match[1].lower()), match.start())
    return places


def _quotations(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of words between quotation marks.

    There are none between the marks of a blank, which is to be filled in.
    """
    for match in _QUOTED.finditer(text):
        if match[1]:
            yield match


def _bare(name: str) -> str:
    """Return a name without article, quotes, brackets and punctuation."""
    return _NOT_NAME.sub("", name).strip()


def overlap_features(candidates: Candidates, logits: np.ndarray) -> np.ndarray:
    """Return features of each candidate and of those of its contract ranked above it.

    float64 (candidates, features).  ``logits`` (candidates,) are the scores of the
    second of three models (see `linear`), which also rank the candidates.  The features
    of overlapping ones above it are whether there are any, the logit of the best, the
    highest Jaccard index, that of the best, and their number; the features of the
    others above it are their number and the sum of their odds, as a logarithm.
    """
    overlapping = np.zeros((len(logits), 5))
    elsewhere = np.zeros((len(logits), 2))
    for rows in ranked_by_contract(candidates, logits):
        start = candidates.start[rows]
        end = candidates.end[rows]
        own = logits[rows]
        shared = np.minimum.outer(end, end) - np.maximum.outer(start, start)
        union = np.maximum.outer(end, end) - np.minimum.outer(start, start)
        is_above = np.tri(len(rows), k=-1, dtype=bool)
        is_over = is_above & (shared > 0)
        jaccard = np.where(is_over, shared / union, 0)
        best = is_over.argmax(axis=1)
        jaccard_of_best = jaccard[np.arange(len(rows)), best]
        columns = [
            np.ones(len(rows)),
            own[best],
            jaccard.max(axis=1),
            jaccard_of_best,
            np.log1p(is_over.sum(axis=1)),
        ]
        has_overlap = is_over.any(axis=1)
        overlapping[rows] = has_overlap[:, None] * np.column_stack(columns)
        is_apart = is_above & ~is_over
        count = np.log1p(is_apart.sum(axis=1))
        apart_logits = np.where(is_apart, own, OUTSIDE)
        total = np.logaddexp.reduce(apart_logits, axis=1, initial=OUTSIDE)
        elsewhere[rows] = np.column_stack([count, total])
    return np.column_stack([logits, overlapping, elsewhere])


def new_answers(
    candidates: Candidates, logits: np.ndarray, matched: Sequence[frozenset[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return which candidates find a new answer, and which are used for training.

    bool (candidates,) each.  ``matched`` are the answers of its contract that each
    candidate finds.  An answer is new if no higher-ranked candidate finds it.
    A candidate that only finds answers found before is not used for training: the
    evaluator neither rewards nor punishes it.  One that finds none is used.
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
    changes = np.diff(candidates.contract, prepend=-1, append=-1)
    bounds = np.flatnonzero(changes)
    for start, end in itertools.pairwise(bounds.tolist()):
        yield start + np.argsort(-logits[start:end], kind="stable")
