"""Synthetic 20-best predictions for a SQuAD 2.0 file, in the released format of n-best predictions.

They are not from a model and are meant to exercise a scorer.  A question gets a mix of its gold spans, random
slices of the contract, variants of its spans with characters removed or added at either end (most of a real
n-best list is such variants of a few passages), repeated texts with another probability, and the empty
prediction.  Scores are sampled so that the empty prediction is probable if there is no answer, and a gold
span mostly ranks high if there is one.  Probabilities are the softmax over the question's predictions, as in
the released prediction step.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

N_BEST = 20
LONGEST = 600  # characters of a random slice


def make_nbest(
    squad: Mapping[str, Any], seed: int = 0
) -> dict[str, list[dict[str, Any]]]:
    """Return {question id: predictions, best first} for the content of a SQuAD file.

    A question's predictions depend on the seed, its id, its contract and its answers, and on no other
    question.
    """
    return {
        asked["id"]: predictions(
            context, asked["answers"], random.Random(f"{seed}:{asked['id']}")
        )
        for context, asked in questions(squad)
    }


def questions(squad: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (contract text, question) of a SQuAD file."""
    for entry in squad["data"]:
        for paragraph in entry["paragraphs"]:
            for asked in paragraph["qas"]:
                yield paragraph["context"], asked


def table_rows(
    squad: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of the tables of questions and answers that scoring reads, for CUAD's question ids."""
    asked, answers = [], []
    for _, question in questions(squad):
        contract, _, category = question["id"].rpartition("__")
        asked.append(
            {
                "question_id": question["id"],
                "contract_id": contract,
                "category": category,
            }
        )
        answers += [
            {"question_id": question["id"], "index": index, "text": answer["text"]}
            for index, answer in enumerate(question["answers"])
        ]
    return asked, answers


def predictions(
    context: str, answers: Sequence[Mapping[str, Any]], rng: random.Random
) -> list[dict[str, Any]]:
    """Return `N_BEST` predictions for one question, the most probable first."""
    drawn = [("", -1, rng.gauss(4.0, 3.0) if answers else rng.gauss(11.0, 3.0))]
    for answer in answers[:7]:
        start, text = answer["answer_start"], answer["text"]
        if rng.random() < 0.9:
            drawn.append((text, start, rng.gauss(8.0, 2.0)))
        for _ in range(rng.randrange(3)):
            drawn.append(
                (*shifted(context, start, start + len(text), rng), rng.gauss(6.0, 2.0))
            )
    while len(drawn) < N_BEST:
        kind = rng.random()
        if kind < 0.4 or len(drawn) == 1:
            start = rng.randrange(max(1, len(context) - 1))
            text, start = sliced(
                context, start, start + 1 + int(LONGEST * rng.random() ** 2)
            )
            score = rng.gauss(0.0, 2.0)
        else:
            text, start, score = drawn[1 + rng.randrange(len(drawn) - 1)]
            if kind < 0.9:
                text, start = shifted(context, start, start + len(text), rng)
            score -= abs(rng.gauss(0.0, 2.0))
        drawn.append((text, start, score))
    drawn.sort(key=lambda prediction: -prediction[2])
    top = drawn[0][2]
    weights = [math.exp(score - top) for _, _, score in drawn]
    total = sum(weights)
    return [
        {
            "text": text,
            "probability": weight / total,
            "start_logit": score / 2,
            "end_logit": score / 2,
            "token_doc_start": start if text else -1,
            "token_doc_end": start + len(text) if text else -1,
        }
        for (text, start, score), weight in zip(drawn, weights, strict=True)
    ]


def shifted(context: str, start: int, end: int, rng: random.Random) -> tuple[str, int]:
    """Return (text, start) of a span with either end moved by up to 40 % of its length and 20 characters."""
    reach = int(0.4 * (end - start)) + 20
    start = max(0, start + rng.randrange(-reach, reach))
    return sliced(context, start, max(start + 1, end + rng.randrange(-reach, reach)))


def sliced(context: str, start: int, end: int) -> tuple[str, int]:
    """Return (text, start) of a slice without the white space at its ends."""
    text = context[start:end]
    return text.strip(), start + len(text) - len(text.lstrip())
