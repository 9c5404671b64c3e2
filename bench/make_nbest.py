"""Synthetic 20-best predictions for a SQuAD 2.0 file, in the released format of n-best
predictions.

They are not from a model and are meant to exercise a scorer.  A question gets a mix of
its gold spans, random slices of the contract, variants of its spans with characters
removed or added at either end (most of a real n-best list is such variants of a few
passages), repeated texts with another probability, and the empty prediction.  Scores
are sampled so that the empty prediction is probable if there is no answer, and a gold
span mostly ranks high if there is one.  Probabilities are the softmax over the
question's predictions, as in the released prediction step.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

N_BEST = 20
LONGEST = 600  # characters of a random slice


class Span(NamedTuple):
    """A text, its offset in the contract, and its score, the sum of two logits."""

    text: str
    start: int
    score: float


def make_nbest(
    squad: Mapping[str, Any], seed: int = 0
) -> dict[str, list[dict[str, Any]]]:
    """Return {question id: predictions, best first} for the content of a SQuAD file.

    A question's predictions depend on the seed, its id, its contract and its answers,
    and on no other question.
    """
    nbest = {}
    for context, question in questions(squad):
        name = question["id"]
        rng = random.Random(f"{seed}:{name}")
        nbest[name] = predictions(context, question["answers"], rng)
    return nbest


def questions(squad: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (contract text, question) of a SQuAD file."""
    for entry in squad["data"]:
        for paragraph in entry["paragraphs"]:
            for question in paragraph["qas"]:
                yield paragraph["context"], question


def table_rows(
    squad: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of the tables of questions and answers that scoring reads, for
    CUAD's question ids.
    """
    question_rows = []
    answer_rows = []
    for _, question in questions(squad):
        name = question["id"]
        contract, _, category = name.rpartition("__")
        question_rows.append(
            {"question_id": name, "contract_id": contract, "category": category}
        )
        for index, answer in enumerate(question["answers"]):
            row = {"question_id": name, "index": index, "text": answer["text"]}
            answer_rows.append(row)
    return question_rows, answer_rows


def predictions(
    context: str, answers: Sequence[Mapping[str, Any]], rng: random.Random
) -> list[dict[str, Any]]:
    """Return `N_BEST` predictions for one question, the most probable first."""
    # The empty prediction, and then spans.
    mean_score = 4.0 if answers else 11.0
    drawn = [Span("", -1, rng.gauss(mean_score, 3.0))]
    for answer in answers[:7]:
        start = answer["answer_start"]
        text = answer["text"]
        end = start + len(text)
        if rng.random() < 0.9:
            drawn.append(Span(text, start, rng.gauss(8.0, 2.0)))
        for _ in range(rng.randrange(3)):
            text_near, start_near = shifted(context, start, end, rng)
            drawn.append(Span(text_near, start_near, rng.gauss(6.0, 2.0)))
    while len(drawn) < N_BEST:
        drawn.append(another_span(context, drawn, rng))
    drawn.sort(key=lambda span: -span.score)
    top = drawn[0].score
    weights = [math.exp(span.score - top) for span in drawn]
    total = sum(weights)
    rows = []
    for span, weight in zip(drawn, weights, strict=True):
        start = span.start if span.text else -1
        end = span.start + len(span.text) if span.text else -1
        rows.append(
            {
                "text": span.text,
                "probability": weight / total,
                "start_logit": span.score / 2,
                "end_logit": span.score / 2,
                "token_doc_start": start,
                "token_doc_end": end,
            }
        )
    return rows


def another_span(context: str, drawn: Sequence[Span], rng: random.Random) -> Span:
    """Return a random slice, a variant of a drawn span, or a repeated text with another
    score.
    """
    kind = rng.random()
    if kind < 0.4 or len(drawn) == 1:
        start = rng.randrange(max(1, len(context) - 1))
        length = 1 + int(LONGEST * rng.random() ** 2)
        text, start = sliced(context, start, start + length)
        return Span(text, start, rng.gauss(0.0, 2.0))
    text, start, score = drawn[1 + rng.randrange(len(drawn) - 1)]
    if kind < 0.9:
        text, start = shifted(context, start, start + len(text), rng)
    return Span(text, start, score - abs(rng.gauss(0.0, 2.0)))


def shifted(context: str, start: int, end: int, rng: random.Random) -> tuple[str, int]:
    """Return (text, start) of a span with either end moved by up to 40 % of its length
    and 20 characters.
    """
    reach = int(0.4 * (end - start)) + 20
    start = max(0, start + rng.randrange(-reach, reach))
    return sliced(context, start, max(start + 1, end + rng.randrange(-reach, reach)))


def sliced(context: str, start: int, end: int) -> tuple[str, int]:
    """Return (text, start) of a slice without the white space at its ends."""
    text = context[start:end]
    return text.strip(), start + len(text) - len(text.lstrip())
