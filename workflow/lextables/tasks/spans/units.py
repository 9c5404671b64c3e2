"""The units of a contract (sentences, list items and lines), their vectors and scores.

Answers of CUAD are mostly one sentence or one part of a list: 19 of 20 answers of its
longer categories are nearly one unit or a few adjacent ones.  Linear models score
whether a unit answers a category.  Features of a unit are its words and word pairs, the
words of neighbouring units (weighted down with distance), its position and its length;
or the sentence vectors of the unit and its neighbours; or both.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_matrix, hstack
from sklearn.preprocessing import normalize

from lextables.models.linear import Linear, Vocabulary, fit_dense, fit_many, vocabulary
from lextables.pipeline.dataset import Column, Table, read, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.linear_settings import LinearSettings
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
_LONGEST_TAIL = 12  # characters, with the full stop, in which such a thing is searched
_BREAK = re.compile(
    r"(?P<stop>[.?!;:][”\"')\]]*)(?P<space>\s+)(?=[“\"'(\[]*[A-Z0-9(])"  # a sentence's end
    r"|(?P<blank>(?<!\s)\s*\n\s*\n\s*)"  # a blank line
    # a line that begins an item of a list
    r"|(?<![ \t])[ \t]*\n\s*(?=(?:\(?[a-zA-Z0-9]{1,3}[.)]|\d+(?:\.\d+)+|[•·o*-])\s)"
)


def units(text: str) -> list[Span]:
    """Return the start and end of each unit of ``text``, without white space around it.

    A colon or semicolon ends a unit only at the end of a line.  A blank line does not
    end a unit that continues in lower case (a page break).  Only white space is between
    units.
    """
    spans = []
    start = 0
    for match in _BREAK.finditer(text):
        end = match.start()
        if match["stop"]:
            end = match.end("stop")
        if end > start and not _runs_on(text, start, match):
            spans.append(stripped(text, start, end))
            start = match.end()
    spans.append(stripped(text, start, len(text)))
    return [(start, end) for start, end in spans if start < end]


def _runs_on(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether the unit that starts at ``start`` continues after this break."""
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
class Units:
    """The units of contracts, one contract after another."""

    texts: tuple[str, ...]
    """The contracts."""
    contract: np.ndarray
    """The number of each unit's contract, int64 (units,)."""
    start: np.ndarray
    """Its first character in the contract, int64 (units,)."""
    end: np.ndarray
    """The character after it, int64 (units,)."""
    bounds: np.ndarray
    """The first unit of each contract, and the number of units, int64 (contracts +
    1,).
    """

    def of(self, contract: int) -> slice:
        """The units of a contract."""
        return slice(int(self.bounds[contract]), int(self.bounds[contract + 1]))

    def words(self) -> list[str]:
        """The text of each unit."""
        columns = (self.contract.tolist(), self.start.tolist(), self.end.tolist())
        words = []
        for contract, start, end in zip(*columns, strict=True):
            words.append(self.texts[contract][start:end])
        return words


def units_of(texts: Sequence[str]) -> Units:
    """Return the units of contracts; a contract without words has none."""
    places = []
    sizes = []
    for text in texts:
        own = units(text)
        places += own
        sizes.append(len(own))
    spans = np.array(places, dtype=np.int64).reshape(-1, 2)
    bounds = np.cumsum([0, *sizes], dtype=np.int64)
    contract = np.repeat(np.arange(len(texts)), sizes)
    return Units(tuple(texts), contract, spans[:, 0], spans[:, 1], bounds)


VECTORS = Table(
    "vectors",
    "Sentence vectors of the units of each contract.",
    (
        Column("contract_id", pa.string(), "the contract"),
        Column("units", pa.int32(), "its number of units"),
        Column(
            "vectors",
            pa.large_binary(),
            "float16 (units, dimensions), row by row, units in order",
        ),
    ),
    key=("contract_id",),
)


def write_vectors(
    texts: Mapping[str, str],
    encode: Callable[[Sequence[str]], np.ndarray],
    output: str | Path,
) -> dict[str, int]:
    """Write the `VECTORS` of contracts, {contract: text}, and return counts.

    ``encode`` returns float32 (texts, dimensions).
    """
    names = sorted(texts)
    units = units_of([texts[name] for name in names])
    vectors = encode(units.words()).astype(np.float16)
    rows = []
    for contract, name in enumerate(names):
        own = vectors[units.of(contract)]
        rows.append({"contract_id": name, "units": len(own), "vectors": own.tobytes()})
    write(VECTORS, rows, output)
    return {
        "contracts": len(names),
        "units": len(vectors),
        "dimensions": vectors.shape[1],
    }


def read_vectors(
    paths: Sequence[str | Path], names: Sequence[str]
) -> np.ndarray | None:
    """Return the vectors of units, float32 (units, dimensions); None without a file.

    They are in the order of ``names``.  Raises `BadInput` for a contract without
    vectors.
    """
    if not paths:
        return None
    rows = {row["contract_id"]: row for row in read(paths[0])}
    vectors = []
    for name in names:
        if name not in rows:
            raise BadInput(
                f"the contract {name!r} has no vectors",
                where=str(paths[0]),
                do="encode them again",
            )
        row = rows[name]
        flat = np.frombuffer(row["vectors"], dtype=np.float16)
        if row["units"]:
            vectors.append(flat.reshape(row["units"], -1))
    return np.concatenate(vectors).astype(np.float32)


# Weights of the units 1, 2, ... places before and after, and of each group of features.
BEFORE = (1.0, 0.7, 0.5, 0.3)
AFTER = (1.0, 0.7, 0.5)
BEFORE_WEIGHT = 0.5
AFTER_WEIGHT = 0.4
PLACE_WEIGHT = 0.3
# Bins of the first character (log) and of the length (log), each with one more for
# higher values; tenths of the contract.
STARTS = 30
LENGTHS = 20
TENTHS = 10
# Least number of units with a word, for words of the unit and of its neighbours.
LEAST = 3
LEAST_BESIDE = 5


def answering(
    units: Units, answers: Mapping[int, Sequence[tuple[int, Span]]], categories: int
) -> np.ndarray:
    """Return which units answer which category, bool (units, categories).

    ``answers`` maps a contract to the category and position of each answer.  A unit
    answers if it and the answer share at least half of the shorter one.
    """
    is_answer = np.zeros((len(units.start), categories), dtype=bool)
    for contract, spans in answers.items():
        own = units.of(contract)
        start = units.start[own]
        end = units.end[own]
        lengths = end - start
        for category, (first, last) in spans:
            shared = np.minimum(end, last) - np.maximum(start, first)
            shorter = np.minimum(lengths, last - first)
            answers_it = (shared > 0) & (2 * shared >= shorter)
            is_answer[own, category] |= answers_it
    return is_answer


View: TypeAlias = csr_matrix | np.ndarray  # a matrix of features of units (`views`)
Vocabularies = tuple[Vocabulary, Vocabulary]  # of units and of neighbouring units


@dataclass(frozen=True)
class UnitModel:
    """The model that scores units."""

    vocabularies: Vocabularies | None
    """None for a model of vectors only."""
    linear: tuple[Linear, ...]
    """The linear model of each of the `views`."""
    share: float
    """Weight of the vectors' logits (`linear_settings.LinearSettings`)."""

    def logits(self, units: Units, vectors: np.ndarray | None = None) -> np.ndarray:
        """Return the logit of each unit for each category, float32 (units, categories).

        ``vectors`` (units, dimensions) are needed if the model was trained with them.
        """
        return logits(self.linear, views(units, self.vocabularies, vectors), self.share)


def vocabularies(units: Units) -> Vocabularies:
    """Return the vocabularies of units and of neighbouring units.

    The first has words and word pairs, the second words.
    """
    texts = units.words()
    own = vocabulary(texts, longest=2, least=LEAST)
    return own, vocabulary(texts, longest=1, least=LEAST_BESIDE)


def views(
    units: Units, words: Vocabularies | None, vectors: np.ndarray | None
) -> list[View]:
    """Return the feature matrices of the units: that of words, then that of vectors;
    both have the position and the length too.

    They are float32 (units, features).  Raises `BadInput` if the numbers of ``vectors``
    and units differ.
    """
    matrices: list[View] = []
    if words is not None:
        matrices.append(features(units, *words))
    if vectors is not None:
        count = len(units.start)
        if len(vectors) != count:
            fault = f"{len(vectors)} vectors for {count} units"
            raise BadInput(fault, where="vectors of units", do="encode them again")
        parts = [vectors, *_around(vectors, units), _place(units).toarray()]
        matrices.append(np.hstack(parts, dtype=np.float32))
    return matrices


def features(units: Units, words: Vocabulary, beside: Vocabulary) -> csr_matrix:
    """Return words, position and length of each unit, float32 (units, features)."""
    texts = units.words()
    near = _around(beside.weigh(texts), units)
    parts = [words.weigh(texts), *near, _place(units)]
    return csr_matrix(hstack(parts, dtype=np.float32))


def _around(near: View, units: Units) -> tuple[View, View]:
    """Return the weighted sums of the units before and after each unit, normalised."""
    before = sum(
        weight * _moved(near, units, by) for by, weight in enumerate(BEFORE, 1)
    )
    after = sum(weight * _moved(near, units, -by) for by, weight in enumerate(AFTER, 1))
    return BEFORE_WEIGHT * normalize(before), AFTER_WEIGHT * normalize(after)


def _moved(near: View, units: Units, by: int) -> View:
    """Return the row of the unit ``by`` places before each one.

    There are zeros beyond the contract's ends.
    """
    count = len(units.contract)
    rows = np.arange(max(0, by), min(count, count + by))
    sources = rows - by
    same_contract = units.contract[sources] == units.contract[rows]
    rows = rows[same_contract]
    sources = sources[same_contract]
    ones = np.ones(len(rows), dtype=np.float32)
    moves = csr_matrix((ones, (rows, sources)), shape=(count, count))
    return moves @ near


def _place(units: Units) -> csr_matrix:
    """Return one-hot bins of each unit's start, tenth of the contract, and length.

    They have the weight `PLACE_WEIGHT`.
    """
    counts = np.diff(units.bounds)
    number = np.arange(len(units.contract)) - units.bounds[units.contract]
    tenth = TENTHS * number / counts[units.contract]
    start = np.log1p(units.start) * 2
    length = np.log1p(units.end - units.start) * 2
    bins = [
        _one_hot(start, STARTS),
        _one_hot(tenth, TENTHS - 1),
        _one_hot(length, LENGTHS),
    ]
    return PLACE_WEIGHT * csr_matrix(hstack(bins))


def _one_hot(values: np.ndarray, last: int) -> csr_matrix:
    """Return the bins 0 to ``last`` of rounded-down values, float32 (values, bins)."""
    rows = np.arange(len(values))
    columns = np.minimum(values, last).astype(np.int64)
    ones = np.ones(len(values), dtype=np.float32)
    return csr_matrix((ones, (rows, columns)), shape=(len(values), last + 1))


def fit(
    matrices: Sequence[View],
    is_answer: np.ndarray,
    rows: np.ndarray,
    settings: LinearSettings,
) -> tuple[Linear, ...]:
    """Return a model of each matrix of `views`, trained on ``rows``.

    The targets are ``is_answer`` (`answering`).
    """
    models = []
    for view in matrices:
        inputs = view[rows]
        targets = is_answer[rows]
        if isinstance(view, np.ndarray):
            models.append(fit_dense(inputs, targets, penalty=settings.dense))
        else:
            models.append(
                fit_many(inputs, targets, alpha=settings.alpha, epochs=settings.epochs)
            )
    return tuple(models)


def logits(
    models: Sequence[Linear], matrices: Sequence[View], share: float
) -> np.ndarray:
    """Return the logit of each unit for each category, float32 (units, categories).

    With two views it is a weighted mean, in which the second has the weight ``share``.
    """
    first, *second = map(Linear.logits, models, matrices)
    if second:
        first = (1 - share) * first + share * second[0]
    return first.astype(np.float32)
