"""Span extraction with a language model, which quotes the passages that answer a question.

A contract is read in pieces that fit the model's window.  The model says of each piece and question whether
the piece has an answer, and quotes it word for word.  A quote is a span if it occurs in the piece, ignoring
differences in white space.  Its probability is that of yes against no if the model returns probabilities,
else one.  Quotes that do not occur in the piece are counted.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lextables.models.language_model import LanguageModel, Request
from lextables.models.multiple_choice import weighed
from lextables.models.prompts import Template, plain_template
from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.squad import collapsed

NONE = "NONE"
ANSWERS = ("Yes", "No")
OVERLAP = 100  # words that a piece shares with the one before, so that no passage is lost between them
_CERTAIN = 1e-6
_QUOTE_MARKS = " \t\"'“”‘’`*•-"  # what models write around a quote


@dataclass(frozen=True)
class Piece:
    """A part of a contract: its characters from ``start`` to ``end``."""

    contract: str
    start: int
    end: int


@dataclass
class Extracted:
    """The spans of each question, {question: {(start, end): probability}}, and counts."""

    spans: dict[str, dict[tuple[int, int], float]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    counts: Counter[str] = field(default_factory=Counter)


class Reader:
    """A language model that reads contracts.

    ``settings``: the prompts ``clause`` and ``presence``, and `plan.Pieces`.
    """

    def __init__(self, model: LanguageModel, settings: Mapping[str, Any]) -> None:
        self.model, self.words, self.tokens = (
            model,
            settings["words"],
            settings["tokens"],
        )
        self.least = settings["least"]
        self.clause: Template = plain_template(settings["clause"])
        self.presence: Template = plain_template(settings["presence"])

    def pieces(self, contract: str, text: str, questions: Sequence[Row]) -> list[Piece]:
        """Return the pieces of a contract, with which all ``questions`` fit the model's window.

        Raises `BadInput` if not even one word fits.
        """
        longest = max((row["question"] for row in questions), key=len, default="")
        places = fitting_parts(
            text, self.words, lambda shown: self._fits(shown, longest), self.model.name
        )
        return [Piece(contract, start, end) for start, end in places]

    def _fits(self, text: str, question: str) -> bool:
        prompt = self.clause.filled(text=text, question=question)
        return (
            self.model.window is None
            or self.model.tokens(prompt) + self.tokens <= self.model.window
        )

    def read(
        self, piece: Piece, text: str, questions: Sequence[Row], extracted: Extracted
    ) -> None:
        """Ask all ``questions`` about a piece of a contract's ``text``; add the spans to ``extracted``."""
        shown = text[piece.start : piece.end]
        prompts = [
            self.presence.filled(text=shown, question=row["question"])
            for row in questions
        ]
        present = weighed(self.model, prompts, [ANSWERS] * len(prompts))
        probabilities = [
            1.0 if answer is None else answer.shares[0] for answer in present
        ]
        counts = extracted.counts
        counts["requests"] += len(prompts)
        counts["unanswered"] += sum(
            answer is not None and not any(answer.shares) for answer in present
        )
        likely = [
            (row, probability)
            for row, probability in zip(questions, probabilities, strict=True)
            if probability >= self.least
        ]
        requests = [
            Request(
                self.clause.filled(text=shown, question=row["question"]), self.tokens
            )
            for row, _ in likely
        ]
        counts["requests"] += len(requests)
        answers = self.model.write(requests) if requests else []
        for (row, probability), answer in zip(likely, answers, strict=True):
            counts["cut_answers"] += answer.cut
            for quote in quotes(answer.text):
                counts["quotes"] += 1
                place = where(quote, shown)
                counts["unparseable"] += place is None
                if place is None:
                    continue
                span = (piece.start + place[0], piece.start + place[1])
                spans = extracted.spans[row["question_id"]]
                spans[span] = max(probability, spans.get(span, 0.0))


def parts(text: str, words: int) -> list[tuple[int, int]]:
    """Return the positions of overlapping parts of ``text`` with ``words`` words each."""
    ends = [(word.start(), word.end()) for word in re.finditer(r"\S+", text)]
    step = max(1, words - min(OVERLAP, words // 4))
    starts = range(0, max(1, len(ends) - (words - step)), step)
    return (
        [(ends[at][0], ends[min(at + words, len(ends)) - 1][1]) for at in starts]
        if ends
        else []
    )


def fitting_parts(
    text: str, words: int, fits: Callable[[str], bool], model: str
) -> list[tuple[int, int]]:
    """Return `parts` of at most ``words`` words that all fit; `BadInput` if not even one word fits."""
    while words:
        places = parts(text, words)
        if all(fits(text[start:end]) for start, end in places):
            return places
        words //= 2
    what = "a question and one word do not fit its window"
    raise BadInput(what, where=model, do="choose another model")


def quotes(answer: str) -> list[str]:
    """Return the quotes in an answer, one per line; none if it says that there is no passage."""
    lines = (line.strip() for line in answer.splitlines())
    return [
        line
        for line in lines
        if line and line.strip(_QUOTE_MARKS + ".").upper() != NONE
    ]


def where(quote: str, text: str) -> tuple[int, int] | None:
    """Return the first position of a quote in ``text``, ignoring white space and quote marks; or None."""
    for variant in (quote, quote.strip(_QUOTE_MARKS)):
        words = [re.escape(word) for word in variant.split()]
        if words and (match := re.search(r"\s+".join(words), text)):
            return match.span()
    return None


def asked_questions(questions: Iterable[Row], most: int | None) -> dict[str, list[Row]]:
    """Return {contract: its test questions}, at most the first ``most`` by id (None: all)."""
    by_contract: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(questions, key=lambda row: row["question_id"]):
        if row["split"] == "test":
            by_contract[row["contract_id"]].append(row)
    return {contract: rows[:most] for contract, rows in sorted(by_contract.items())}


def nbest(
    question_id: str, text: str, spans: Mapping[tuple[int, int], float], n_best: int
) -> Iterator[Row]:
    """Yield a question's rows of `schema.NBEST`, each text once.

    The empty prediction has one minus the probability of the best span.
    """
    best: dict[str, tuple[float, int, int]] = {}
    for (start, end), probability in sorted(
        spans.items(), key=lambda item: (-item[1], item[0])
    ):
        best.setdefault(collapsed(text[start:end]), (probability, start, end))
    kept = [(*place, released) for released, place in list(best.items())[:n_best]]
    empty = (1.0 - kept[0][0] if kept else 1.0, -1, -1, "")
    ranking = sorted([*kept, empty], key=lambda row: -row[0])
    for rank, (probability, start, end, released) in enumerate(ranking):
        share = min(max(probability, _CERTAIN), 1 - _CERTAIN)
        yield {
            "question_id": question_id,
            "rank": rank,
            "released_text": released,
            "text": text[start:end] if start >= 0 else "",
            "start": start,
            "end": end,
            "probability": probability,
            "start_logit": math.log(share) - math.log1p(-share),
            "end_logit": 0.0,
        }
