"""Candidate answers of the linear baseline, their parts, and their features.

Candidates are the highest-scored segments of a contract, runs of adjacent ones, and
parts of segments: dates, titles and names, since some answers are shorter than a
sentence.  The features of a candidate are the logits of its segments and their
neighbours (`segment_model`), its length and position and, for a part of a segment, the
words in it and beside it.

A segment and the runs that contain it are candidates for the same answer.  Once one of
them is predicted, the evaluator gives nothing for the others, and every wrong
prediction counts.  `overlap_features` therefore describe a candidate together with the
higher-ranked candidates of its contract and category.  `context_features` are the
scores of its segments in the other categories, and `text_features` its form.
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

from lextables.tasks.spans.segments import Segments, Span

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
    """Return the positions of dates in ``text``, even of unfilled ones, in order."""
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
                spans.append(_shifted(start, end, match.start()))
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
            spans.add(_shifted(start, end, match.start()))
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


def _shifted(start: int, end: int, offset: int) -> Span:
    """Return the position in a text of a span of its part that begins at ``offset``."""
    return start + offset, end + offset


# {kind of part: the function that finds its positions in the text of a segment}.
PARTS = {"date": dates, "title": titles, "name": names}  # in order of precedence
LONGEST_RUN = 3  # segments of a candidate, at most
OUTSIDE = -12.0  # the logit of a segment beyond the contract's ends
# Each n is a feature: whether a candidate is among the n highest-scored segments.
TOP_RANKS = (1, 2, 4)
# Each is a feature: by how much the highest logit of a candidate exceeds it.
HINGES = (-2.0, 0.0, 2.0)
WORD_BUCKETS = 1 << 14  # hash buckets for the words in and beside a part
WORD_WEIGHT = 2.0  # by which counts of words are multiplied
WORDS_BESIDE = 4  # words on each side of a part, within CHARACTERS_BESIDE
CHARACTERS_BESIDE = 60
# Signatures are in the last characters of a contract, at least a tenth of it.
SIGNATURE_CHARACTERS = 3000
_TOKEN = re.compile(r"\w+|[^\w\s]")


class Candidate(NamedTuple):
    """The characters [start, end) of a contract, in one segment or a run of segments.

    ``is_part`` is true if they are less than a segment.
    """

    contract: int
    first_segment: int
    last_segment: int
    start: int
    end: int
    is_part: bool


@dataclass(frozen=True)
class Candidates:
    """The candidates of one category, int64 (candidates,), by contract.

    The columns are the fields of `Candidate`; ``is_part`` is bool.
    """

    contract: np.ndarray
    first_segment: np.ndarray
    last_segment: np.ndarray
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

    def texts(self, segments: Segments) -> list[str]:
        """The text of each candidate."""
        texts = []
        for row in self.rows():
            text = segments.contract_texts[row.contract]
            texts.append(text[row.start : row.end])
        return texts


def candidates(
    segments: Segments,
    logits: np.ndarray,
    likely: int,
    parts: Sequence[str],
    runs: bool = True,
) -> Candidates:
    """Return the candidates of a category with these ``logits`` (segments,).

    These are the ``likely`` highest-scored segments of each contract; if ``runs``, also
    runs of two and three of them that are adjacent; and the ``parts`` of these segments
    (names of `PARTS`).  If the parts include `name`, only the first of the contract's
    candidates with the same text is kept: of several mentions, the one that looks most
    probable is no better answer than the first.
    """
    longest = LONGEST_RUN if runs else 1
    rows: list[Candidate] = []
    for contract, text in enumerate(segments.contract_texts):
        contract_segments = segments.rows_of(contract)
        order = np.argsort(-logits[contract_segments], kind="stable")
        best = contract_segments.start + order[:likely]
        contract_candidates = _of_contract(
            segments, contract, best.tolist(), longest, parts
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
    contracts, first_segment, last_segment, start, end, is_part = columns
    is_part = is_part.astype(bool)
    return Candidates(contracts, first_segment, last_segment, start, end, is_part)


def _of_contract(
    segments: Segments,
    contract: int,
    best: Sequence[int],
    longest: int,
    parts: Sequence[str],
) -> Iterator[Candidate]:
    """Yield the ``best`` segments of a contract with the runs and parts of each.

    A run has at most ``longest`` segments.
    """
    chosen = set(best)
    for segment in best:
        start = int(segments.start[segment])
        for last in range(segment, segment + longest):
            if last not in chosen:
                break
            end = int(segments.end[last])
            yield Candidate(contract, segment, last, start, end, False)
        for part_start, part_end in _parts(segments, contract, segment, parts):
            yield Candidate(contract, segment, segment, part_start, part_end, True)


def _parts(
    segments: Segments, contract: int, segment: int, parts: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Yield the positions in the contract of these parts of a segment."""
    segment_start = int(segments.start[segment])
    segment_end = int(segments.end[segment])
    text = segments.contract_texts[contract][segment_start:segment_end]
    for name in parts:
        for start, end in PARTS[name](text):
            if end - start < len(text):
                yield _shifted(start, end, segment_start)


def candidate_features(
    candidates: Candidates, segments: Segments, logits: np.ndarray
) -> np.ndarray:
    """Return the features of each candidate, float64 (candidates, features).

    ``logits`` (segments,) are those of the category.  The columns are logits of the
    candidate's segments, of their neighbours and of the contract's best segments; its
    rank in the contract; its length and position; and its kind: a segment, a part or a
    run.
    """
    logits = logits.astype(np.float64)
    contract = candidates.contract
    first_segment = candidates.first_segment
    last_segment = candidates.last_segment
    run_segments = first_segment[:, None] + np.arange(LONGEST_RUN)
    # A shorter run repeats its last segment.
    run_segments = np.minimum(run_segments, last_segment[:, None])
    run_logits = logits[run_segments]
    highest = run_logits.max(axis=1)
    lowest = run_logits.min(axis=1)
    before, after = _neighbours(candidates, segments, logits)

    ranks, best_logits, second_logits, total_logits = _contract_scores(segments, logits)
    rank = ranks[run_segments].min(axis=1)
    best = best_logits[contract]
    # The contract's best logit, or the second if the candidate has the best segment.
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
    characters = np.array(list(map(len, segments.contract_texts)))
    segment_counts = np.diff(segments.bounds)
    more_segments = last_segment - first_segment
    is_run = more_segments > 0
    is_segment = ~candidates.is_part & ~is_run
    columns += [
        length,
        length**2 / 5,  # about as large as the length
        candidates.start / characters[contract],
        np.log1p(candidates.start),
        np.log1p(segment_counts[contract]),
        is_segment,
        candidates.is_part,
    ]
    for more in range(1, LONGEST_RUN):
        columns.append(more_segments == more)
    for hinge in HINGES:
        columns.append(np.maximum(0, highest - hinge))
    columns.append(is_run * lowest)
    columns.append(is_segment * np.maximum(before, after))
    return np.column_stack(columns).astype(np.float64)


def _neighbours(
    candidates: Candidates, segments: Segments, logits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the logits of the segments before and after each, float64 (candidates,).

    Beyond the contract's ends they are `OUTSIDE`.
    """
    contract = candidates.contract
    padded = np.pad(logits, 1, constant_values=OUTSIDE)
    before = padded[candidates.first_segment]
    is_first = candidates.first_segment == segments.bounds[contract]
    after = padded[candidates.last_segment + 2]
    is_last = candidates.last_segment + 1 == segments.bounds[contract + 1]
    return np.where(is_first, OUTSIDE, before), np.where(is_last, OUTSIDE, after)


def _contract_scores(
    segments: Segments, logits: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the rank of each segment in its contract, and scores of each contract.

    The scores, float64 (contracts,), are the best logit, the second one, and the
    logarithm of the sum of their exponentials.
    """
    ranks = np.zeros(len(logits))
    best = np.full(len(segments.contract_texts), OUTSIDE)
    second = best.copy()
    total = best.copy()
    for contract in range(len(segments.contract_texts)):
        contract_logits = logits[segments.rows_of(contract)]
        if len(contract_logits) == 0:
            continue
        order = np.argsort(-contract_logits, kind="stable")
        ranks[segments.bounds[contract] + order] = np.arange(len(order))
        descending = contract_logits[order]
        best[contract] = descending[0]
        total[contract] = np.logaddexp.reduce(contract_logits)
        if len(contract_logits) > 1:
            second[contract] = descending[1]
    return ranks, best, second, total


def part_words(candidates: Candidates, segments: Segments) -> csr_matrix:
    """Return hashed counts of the words in and beside each part.

    float64 (candidates, `WORD_BUCKETS`); zero for whole segments.
    """
    tokens = []
    for row in candidates.rows():
        words = []
        if row.is_part:
            start = int(segments.start[row.first_segment])
            end = int(segments.end[row.first_segment])
            text = segments.contract_texts[row.contract]
            words = _tokens(text, (start, end), row.start, row.end)
        tokens.append(words)
    hasher = FeatureHasher(WORD_BUCKETS, input_type="string")
    counts = hasher.transform(tokens)
    return csr_matrix(WORD_WEIGHT * counts)


def _tokens(text: str, segment: Span, start: int, end: int) -> list[str]:
    """Return the features of the part [start, end): the words in and beside it.

    Words beside it are given with and without their distance.
    """
    segment_start, segment_end = segment
    before_start = max(segment_start, start - CHARACTERS_BESIDE)
    after_end = min(segment_end, end + CHARACTERS_BESIDE)
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
    tokens.append("at the start" if start == segment_start else "inside")
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
FORM_FEATURES = 16  # number of features that `_form` returns
MENTION_FEATURES = 7  # number of features that `_mentions` returns
FAR = 14.0  # the logarithm of a position beyond all contracts


def context_features(
    candidates: Candidates, logits: np.ndarray, category: int
) -> np.ndarray:
    """Return scores of each candidate's segments in the other categories.

    float64 (candidates, 3): the highest, by how much its own is above it, and the
    second.  ``logits`` (segments, categories); the score of a run is the mean of its
    ends.
    """
    scores = (logits[candidates.first_segment] + logits[candidates.last_segment]) / 2
    own = scores[:, category]
    others = np.delete(scores, category, axis=1)
    padded = np.pad(others, ((0, 0), (2, 0)), constant_values=OUTSIDE)
    ascending = np.sort(padded, axis=1)
    best = ascending[:, -1]
    second = ascending[:, -2]
    return np.column_stack([best, own - best, second])


def text_features(candidates: Candidates, segments: Segments) -> np.ndarray:
    """Return features of the form of each text and, for parts, of its mentions.

    float32 (candidates, features).  The last `MENTION_FEATURES` columns are about
    mentions; they are zero for whole segments.
    """
    defined: dict[int, dict[str, int]] = {}
    width = FORM_FEATURES + MENTION_FEATURES
    rows = np.zeros((len(candidates.start), width), dtype=np.float32)
    for features, candidate in zip(rows, candidates.rows(), strict=True):
        contract = candidate.contract
        text = segments.contract_texts[contract]
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
    """Return features of each candidate together with the higher-ranked candidates of
    its contract.

    float64 (candidates, features).  ``logits`` (candidates,) are the scores of the
    second of three models (see `linear`), which also rank the candidates.  The features
    are

    - the logit of the candidate;
    - for the higher-ranked candidates that overlap it: whether there are any, the logit
      of the best, the highest Jaccard index, the Jaccard index of the best, and the
      logarithm of their number;
    - for the other higher-ranked candidates: the logarithms of their number and of the
      sum of their odds.
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
