"""Contracts read by a language model, which is asked to quote the passages that a question asks for.

A contract is read in pieces that fit the model's window.  Of each piece and question the model says whether
there is such a passage, and quotes what there is, word for word.  A quote is a span if it stands in the
piece, whatever white space parts its words.  It has the probability of yes against no where the model tells
probabilities, else one.  What is quoted and stands nowhere is counted.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lextables.models.language_model import LanguageModel, Request
from lextables.models.multiple_choice import weighed
from lextables.models.prompts import Template, plain_template
from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.released_text import collapsed

NONE = "NONE"
ANSWERS = ("Yes", "No")
# Words that a piece has of the one before it, so that a passage between the two is not lost.
OVERLAP = 100
_CERTAIN = 1e-6
# What models put around a quote.
_AROUND = " \t\"'“”‘’`*•-"


@dataclass(frozen=True)
class Piece:
    """A part of a contract: its characters from ``start`` to ``end``."""

    contract: str
    start: int
    end: int


@dataclass
class Found:
    """The spans of each question, {question: {(start, end): probability}}, and what was counted."""

    spans: dict[str, dict[tuple[int, int], float]] = field(default_factory=lambda: defaultdict(dict))
    counts: Counter[str] = field(default_factory=Counter)


class Reader:
    """A language model that reads contracts as the settings of a run say.

    ``settings``: the prompts ``clause`` and ``presence``, and `plan.Pieces`.
    """

    def __init__(self, model: LanguageModel, settings: Mapping[str, Any]) -> None:
        self.model, self.words, self.tokens = model, settings["words"], settings["tokens"]
        self.least = settings["least"]
        self.clause: Template = plain_template(settings["clause"])
        self.presence: Template = plain_template(settings["presence"])

    def pieces(self, contract: str, text: str, questions: Sequence[Row]) -> list[Piece]:
        """Return the pieces of a contract in which all ``questions`` fit the model's window.

        `BadInput` where it has no room for any.
        """
        longest = max((row["question"] for row in questions), key=len, default="")
        words = self.words
        while words:
            found = [Piece(contract, start, end) for start, end in parts(text, words)]
            if all(self._fits(text[piece.start : piece.end], longest) for piece in found):
                return found
            words //= 2
        raise BadInput(
            "its window has no room for a question and one word",
            where=self.model.name,
            do="take another model",
        )

    def _fits(self, text: str, question: str) -> bool:
        prompt = self.clause.filled(text=text, question=question)
        return self.model.window is None or self.model.tokens(prompt) + self.tokens <= self.model.window

    def read(self, piece: Piece, text: str, questions: Sequence[Row], found: Found) -> None:
        """Ask all ``questions`` about a piece of a contract's ``text``, and add what is found."""
        shown = text[piece.start : piece.end]
        asked = [self.presence.filled(text=shown, question=row["question"]) for row in questions]
        told = weighed(self.model, asked, [ANSWERS] * len(asked))
        sure = [1.0 if answer is None else answer.shares[0] for answer in told]
        found.counts["requests"] += len(asked)
        found.counts["unanswered"] += sum(answer is not None and not any(answer.shares) for answer in told)
        likely = [
            (row, probability)
            for row, probability in zip(questions, sure, strict=True)
            if probability >= self.least
        ]
        requests = [
            Request(self.clause.filled(text=shown, question=row["question"]), self.tokens)
            for row, _ in likely
        ]
        found.counts["requests"] += len(requests)
        answers = self.model.write(requests) if requests else []
        for (row, probability), answer in zip(likely, answers, strict=True):
            found.counts["cut_answers"] += answer.cut
            for quote in quotes(answer.text):
                found.counts["quotes"] += 1
                place = where(quote, shown)
                found.counts["unparseable"] += place is None
                if place is None:
                    continue
                span = (piece.start + place[0], piece.start + place[1])
                spans = found.spans[row["question_id"]]
                spans[span] = max(probability, spans.get(span, 0.0))


def parts(text: str, words: int) -> list[tuple[int, int]]:
    """Return where the parts of ``text`` stand that have so many words each, and some of the one before."""
    ends = [(word.start(), word.end()) for word in re.finditer(r"\S+", text)]
    step = max(1, words - min(OVERLAP, words // 4))
    starts = range(0, max(1, len(ends) - (words - step)), step)
    return [(ends[at][0], ends[min(at + words, len(ends)) - 1][1]) for at in starts] if ends else []


def quotes(answer: str) -> list[str]:
    """Return what an answer quotes, a line each; nothing where it says that there is none."""
    lines = (line.strip() for line in answer.splitlines())
    return [line for line in lines if line and line.strip(_AROUND + ".").upper() != NONE]


def where(quote: str, text: str) -> tuple[int, int] | None:
    """Return where a quote first stands in ``text``, white space and marks around it apart; else None."""
    for said in (quote, quote.strip(_AROUND)):
        words = [re.escape(word) for word in said.split()]
        if words and (found := re.search(r"\s+".join(words), text)):
            return found.span()
    return None


def asked_questions(questions: Iterable[Row], most: int | None) -> dict[str, list[Row]]:
    """Return {contract: the test questions that are asked about it}, the first ``most`` by id (None: all)."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(questions, key=lambda row: row["question_id"]):
        if row["split"] == "test":
            found[row["contract_id"]].append(row)
    return {contract: rows[:most] for contract, rows in sorted(found.items())}


def nbest(question_id: str, text: str, spans: Mapping[tuple[int, int], float], n_best: int) -> Iterator[Row]:
    """Yield a question's rows of `schema.NBEST`, each text once, the empty one with what the best leaves."""
    best: dict[str, tuple[float, int, int]] = {}
    for (start, end), probability in sorted(spans.items(), key=lambda one: (-one[1], one[0])):
        best.setdefault(collapsed(text[start:end]), (probability, start, end))
    kept = [(*place, words) for words, place in list(best.items())[:n_best]]
    empty = (1.0 - kept[0][0] if kept else 1.0, -1, -1, "")
    for rank, (probability, start, end, words) in enumerate(sorted([*kept, empty], key=lambda one: -one[0])):
        share = min(max(probability, _CERTAIN), 1 - _CERTAIN)
        yield {
            "question_id": question_id,
            "rank": rank,
            "released_text": words,
            "text": text[start:end] if start >= 0 else "",
            "start": start,
            "end": end,
            "probability": probability,
            "start_logit": math.log(share) - math.log1p(-share),
            "end_logit": 0.0,
        }
