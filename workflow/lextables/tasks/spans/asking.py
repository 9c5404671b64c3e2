"""Span extraction with a language model, which quotes the passages.

A contract is read in pieces that fit the model's window.  The model says of each piece
and question whether the piece has an answer, and quotes it word for word.  A quote is a
span if it occurs in the piece as whole words, ignoring differences in white space.  Its
probability is that of yes against no if the model returns probabilities, else one.
Quotes that do not occur in the piece are counted.
"""

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from pydantic import Field, PositiveInt

from lextables.models.language_model import LanguageModel, Prompt, Request
from lextables.models.multiple_choice import weighed
from lextables.models.prompts import plain_template
from lextables.models.settings import LanguageModelSettings, StepSettings
from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.outputs import contract_of
from lextables.tasks.spans.schema import PredictedSpan, ranked, span_rows
from lextables.tasks.spans.squad import collapsed

NONE = "NONE"  # what a model writes if there is no passage
ANSWERS = ("Yes", "No")  # whether there is one
# Lines of an answer that are no quotes: models mix up the two prompts.
_NO_QUOTES = (NONE, *map(str.upper, ANSWERS))
# Words that a piece shares with the one before, so that no passage is lost between
# them.
OVERLAP = 100
# For its logit, a probability is at least this far from 0 and 1.
_CERTAIN = 1e-6
_QUOTE_MARKS = " \t\"'“”‘’`*•-"  # what models write around a quote
# The number or letter of a quote in a list: "1. ", "(a) ", "- iv) ".
_LIST_MARK = re.compile(r"^\W*(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.):]+(?:\s+|$)")
LEAST_CHARACTERS = 3  # letters and digits of a quote


class Pieces(StepSettings):
    """Limits of language models on contracts: input and output."""

    words: PositiveInt = 3000
    """Words of a piece of a contract, at most; fewer in a shorter window."""
    tokens: PositiveInt = 300
    """Tokens of an answer, at most."""
    least: float = Field(0.01, ge=0, le=1)
    """If a piece has a passage with at least this probability, the model is asked to
    quote it.
    """
    questions: PositiveInt | None = None
    """Questions about a contract that are asked; None: all.

    The other questions have the empty prediction.
    """


class AskingSettings(LanguageModelSettings, Pieces):
    """Span extraction with a language model."""

    clause: list[list[str]]
    """Prompt for a passage (`prompts.Template.plain`)."""
    presence: list[list[str]]
    """Prompt for the presence of a passage."""
    n_best: PositiveInt
    """Spans of a question, at most."""


@dataclass(frozen=True)
class Piece:
    """A part of a contract: its characters from ``start`` to ``end``."""

    contract: str
    start: int
    end: int


@dataclass
class Extracted:
    """What a model has extracted so far."""

    spans: dict[str, dict[tuple[int, int], float]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """{question: {(start, end) in the contract: probability}}."""
    counts: Counter[str] = field(default_factory=Counter)
    """Numbers of requests, answers and quotes."""


def ask(
    model: LanguageModel,
    settings: AskingSettings,
    questions: Sequence[Row],
    texts: Mapping[str, str],
) -> tuple[list[Row], Counter[str]]:
    """Return rows of `schema.NBEST` for the test questions, and counts.

    ``texts`` maps contracts to texts.
    """
    reader = Reader(model, settings)
    extracted = Extracted()
    by_contract = asked_questions(questions, settings.questions)
    pieces = []
    for contract, asked in by_contract.items():
        pieces += reader.pieces(contract, texts[contract], asked)

    # At most two requests for each question: whether there is a passage, and which.
    requests = 0
    characters = 0
    for piece in pieces:
        prompts = 2 * len(by_contract[piece.contract])
        requests += prompts
        characters += prompts * (piece.end - piece.start)
    model.expect(requests, characters)

    for piece in pieces:
        contract = piece.contract
        reader.read(piece, texts[contract], by_contract[contract], extracted)
    rows: list[Row] = []
    for question, contract in sorted(contract_of(questions, "test").items()):
        spans = extracted.spans[question]
        rows += nbest(question, texts[contract], spans, settings.n_best)
    return rows, extracted.counts


class Reader:
    """A language model that reads contracts."""

    def __init__(self, model: LanguageModel, settings: AskingSettings) -> None:
        self.model = model
        self.settings = settings
        self.clause = plain_template(settings.clause)
        self.presence = plain_template(settings.presence)

    def pieces(self, contract: str, text: str, questions: Sequence[Row]) -> list[Piece]:
        """Return the pieces of a contract; each fits the window with all ``questions``.

        Raises `BadInput` if not even one word fits.
        """
        longest = max((row["question"] for row in questions), key=len, default="")

        def fits(shown: str) -> bool:
            prompt = self.clause.filled(text=shown, question=longest)
            return fits_window(self.model, prompt, self.settings.tokens)

        places = fitting_parts(text, self.settings.words, fits, self.model.name)
        return [Piece(contract, start, end) for start, end in places]

    def read(
        self, piece: Piece, text: str, questions: Sequence[Row], extracted: Extracted
    ) -> None:
        """Ask all ``questions`` about a piece of a contract's ``text``.

        For questions that probably have a passage in it (`Pieces.least`), the model is
        asked to quote it.  The spans are added to ``extracted``.
        """
        shown = text[piece.start : piece.end]
        counts = extracted.counts
        likely = []
        probabilities = self._presence(shown, questions, counts)
        for row, probability in zip(questions, probabilities, strict=True):
            if probability >= self.settings.least:
                likely.append((row, probability))
        requests = []
        for row, _ in likely:
            prompt = self.clause.filled(text=shown, question=row["question"])
            requests.append(Request(prompt, self.settings.tokens))
        counts["requests"] += len(requests)
        answers = self.model.write(requests) if requests else []
        for (row, probability), answer in zip(likely, answers, strict=True):
            counts["cut_answers"] += answer.cut
            answered = bool(answer.text.strip())
            counts["answered"] += answered
            counts["unanswered"] += not answered
            spans = extracted.spans[row["question_id"]]
            for quote in quotes(answer.text):
                counts["quotes"] += 1
                place = where(quote, shown)
                counts["unparseable"] += place is None
                if place is not None:
                    start, end = place
                    span = (piece.start + start, piece.start + end)
                    spans[span] = max(probability, spans.get(span, 0.0))

    def _presence(
        self, shown: str, questions: Sequence[Row], counts: Counter[str]
    ) -> list[float]:
        """Return for each question the probability that ``shown`` has a passage."""
        prompts = []
        for row in questions:
            prompts.append(self.presence.filled(text=shown, question=row["question"]))
        counts["requests"] += len(prompts)
        probabilities = []
        for answer in weighed(self.model, prompts, [ANSWERS] * len(prompts)):
            # A model without probabilities is asked for all quotes.
            shares = (1.0, 0.0) if answer is None else answer.shares
            probabilities.append(shares[0])
            counts["answered"] += answer is not None and any(shares)
            counts["unanswered"] += not any(shares)
        return probabilities


def fits_window(model: LanguageModel, prompt: Prompt, tokens: int) -> bool:
    """Whether a prompt and an answer of ``tokens`` tokens fit the model's window."""
    return model.window is None or model.tokens(prompt) + tokens <= model.window


def parts(text: str, words: int) -> list[tuple[int, int]]:
    """Return the positions of overlapping parts with ``words`` words each.

    The last may be shorter.
    """
    spans = [word.span() for word in re.finditer(r"\S+", text)]
    if not spans:
        return []
    overlap = min(OVERLAP, words // 4)
    last_first = max(1, len(spans) - overlap)
    places = []
    for first in range(0, last_first, words - overlap):
        part_spans = spans[first : first + words]
        (start, _), (_, end) = part_spans[0], part_spans[-1]
        places.append((start, end))
    return places


def fitting_parts(
    text: str, words: int, fits: Callable[[str], bool], model: str
) -> list[tuple[int, int]]:
    """Return `parts` that all fit: of ``words`` words, or a half, a quarter and so on.

    Raises `BadInput`, with the name of the ``model``, if not even one word fits.
    """
    while words:
        places = parts(text, words)
        if all(fits(text[start:end]) for start, end in places):
            return places
        words //= 2
    what = "a question and one word do not fit its window"
    raise BadInput(what, where=model, do="choose another model")


def quotes(answer: str) -> list[str]:
    """Return the quotes in an answer, one per line; none if there is no passage.

    A line with fewer than `LEAST_CHARACTERS` besides a list mark is no quote.
    """
    lines = []
    for line in map(str.strip, answer.splitlines()):
        bare = line.strip(_QUOTE_MARKS + ".")
        characters = sum(map(str.isalnum, _LIST_MARK.sub("", line)))
        if characters >= LEAST_CHARACTERS and bare.upper() not in _NO_QUOTES:
            lines.append(line)
    return lines


def where(quote: str, text: str) -> tuple[int, int] | None:
    """Return the first position of a quote in ``text``, or None.

    White space may differ, and no word may be cut.  If the quote does not occur, it is
    searched without the quote marks around it, then without a list mark before it.
    """
    places = [match.span() for match in re.finditer(r"\S+", text)]
    squeezed = " ".join(text[start:end] for start, end in places)
    starts = [0]  # of the words in the squeezed text
    for start, end in places:
        starts.append(starts[-1] + end - start + 1)

    def original(at: int) -> int:
        """Return the position in ``text`` of a character of the squeezed text."""
        word = bisect_right(starts, at) - 1
        return places[word][0] + at - starts[word]

    unmarked = _LIST_MARK.sub("", quote)
    for variant in (quote, quote.strip(_QUOTE_MARKS), unmarked.strip(_QUOTE_MARKS)):
        words = " ".join(variant.split())
        at = _whole_words_at(words, squeezed) if words else -1
        if at >= 0:
            return original(at), original(at + len(words) - 1) + 1
    return None


def _whole_words_at(words: str, text: str) -> int:
    """Return the first position of ``words`` that neither begins nor ends inside a word
    of ``text``, or -1.
    """
    at = text.find(words)
    while at >= 0:
        end = at + len(words)
        if not (_is_inside_word(text, at) or _is_inside_word(text, end)):
            break
        at = text.find(words, at + 1)
    return at


def _is_inside_word(text: str, at: int) -> bool:
    """Whether the characters before and at a position are of one word or number."""
    return text[max(at - 1, 0) : at].isalnum() and text[at : at + 1].isalnum()


def asked_questions(questions: Iterable[Row], most: int | None) -> dict[str, list[Row]]:
    """Return {contract: its test questions}, the first ``most`` by id (None: all)."""
    by_contract: dict[str, list[Row]] = {}
    for row in sorted(questions, key=itemgetter("contract_id", "question_id")):
        if row["split"] == "test":
            asked = by_contract.setdefault(row["contract_id"], [])
            asked.append(row)
    return {contract: rows[:most] for contract, rows in by_contract.items()}


def nbest(
    question_id: str, text: str, spans: Mapping[tuple[int, int], float], n_best: int
) -> Iterator[Row]:
    """Yield a question's rows of `schema.NBEST`, each text once.

    The empty prediction has one minus the probability of the best span.
    """
    predicted = []
    for (start, end), probability in spans.items():
        predicted.append(_predicted(text[start:end], start, end, probability))
    best = max(spans.values(), default=0.0)
    empty = _predicted("", -1, -1, 1.0 - best)
    yield from span_rows(question_id, ranked(predicted, empty, n_best))


def _predicted(words: str, start: int, end: int, probability: float) -> PredictedSpan:
    """Return the span with these words, a probability and its logit."""
    share = min(max(probability, _CERTAIN), 1 - _CERTAIN)
    logit = math.log(share) - math.log1p(-share)
    return PredictedSpan(
        released_text=collapsed(words),
        text=words,
        start=start,
        end=end,
        start_logit=logit,
        end_logit=0.0,
        probability=probability,
    )
