"""Text outputs: the passages that are quoted for a question (`metrics.containment`).

An output quotes the contract: all spans above a probability, in the order of the
contract.  For a linear model the probability is chosen on its out-of-fold predictions
for the training contracts.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from string import Template
from typing import Literal

import numpy as np
import pyarrow as pa

from lextables.metrics.containment import COUNTS, NO_CLAUSE, counts, values
from lextables.models.settings import StepSettings
from lextables.pipeline.dataset import Column, Row, Table
from lextables.tasks.spans.schema import PredictedSpan, span_rows

OUTPUTS = Table(
    "predictions",
    "The output for each question.",
    (
        Column("question_id", pa.string(), "the question"),
        Column("output", pa.string(), f"the quoted passages, or “{NO_CLAUSE}”"),
    ),
    key=("question_id",),
    row_group=64,  # outputs may be whole contracts
)
OUT_OF_FOLD = "out_of_fold.parquet"  # in the folder of a linear model's weights
THRESHOLDS = tuple(step / 100 for step in range(1, 100))
BETWEEN = " "  # a line break would join two words in the evaluator

ScoredSpans = Sequence[tuple[int, int, float]]  # (start, end, probability)


class QuotingSettings(StepSettings):
    """Outputs that quote a linear model's spans, or that read no contract."""

    kind: Literal["linear", "fixed", "frequent", "relaxed"]
    """How a question is answered.

    `linear`: by the spans of a linear model.  `fixed`: always by ``output``.
    `frequent`: by the whole contract, if the category is one that training contracts
    answer often.  `relaxed`: by a span that is the whole contract, if a prediction in
    the category may contain the answer.
    """
    metric: str | None = None
    """Metric for which a linear model's threshold, or the number of categories, is
    chosen.
    """
    output: str | None = None
    """The fixed output; ${contract} is the contract's text."""
    category: str | None = None
    """For `relaxed` outputs: a text that the name of a relaxed category contains."""


def passages(text: str, spans: ScoredSpans, least: float) -> list[str]:
    """Return the passages of a contract's ``text`` with at least this probability.

    They are in the order of the contract.  ``spans`` are (start, end, probability);
    those that overlap or touch (only white space is between them) are one passage.
    """
    probable = []
    for start, end, share in spans:
        if share >= least and start >= 0:
            probable.append((start, end))
    joined: list[tuple[int, int]] = []
    for start, end in sorted(probable):
        if joined and not text[joined[-1][1] : start].strip():
            first, last = joined.pop()
            start = first
            end = max(last, end)
        joined.append((start, end))
    return [text[start:end] for start, end in joined]


def quoted(text: str, spans: ScoredSpans, least: float) -> str:
    """Return the output with all passages of at least this probability (`passages`)."""
    return BETWEEN.join(passages(text, spans, least)) or NO_CLAUSE


def by_question(nbest: Iterable[Row]) -> Iterator[tuple[str, ScoredSpans]]:
    """Yield (question, its spans) from rows of `schema.NBEST`, sorted by question."""
    for question, rows in groupby(nbest, key=itemgetter("question_id")):
        yield question, [(row["start"], row["end"], row["probability"]) for row in rows]


def curve(
    nbest: Iterable[Row],
    contracts: Mapping[str, str],
    texts: Mapping[str, str],
    golds: Mapping[str, Sequence[str]],
) -> dict[str, np.ndarray]:
    """Return {metric: value at each of `THRESHOLDS`} over the questions of ``nbest``.

    ``contracts`` maps questions to contracts, ``texts`` contracts to texts, ``golds``
    questions to gold texts.
    """
    totals = np.zeros((len(THRESHOLDS), COUNTS))
    for question, spans in by_question(nbest):
        text = texts[contracts[question]]
        gold = golds.get(question, ())
        shares = np.sort([share for start, _, share in spans if start >= 0])
        # Thresholds that show the same number of spans show the same ones.
        below = np.searchsorted(shares, THRESHOLDS)
        counted: dict[int, Sequence[float]] = {}
        for place, number in enumerate(below.tolist()):
            if number not in counted:
                output = quoted(text, spans, THRESHOLDS[place])
                counted[number] = counts(output, gold)
            totals[place] += counted[number]
    return values(totals)


def best_threshold(
    values_at: Mapping[str, np.ndarray], metric: str
) -> tuple[float, dict[str, float]]:
    """Return the threshold with the highest ``metric``, and all metrics there.

    ``values_at`` is the result of `curve`.
    """
    place = int(np.argmax(values_at[metric]))
    best = {name: float(values[place]) for name, values in values_at.items()}
    return THRESHOLDS[place], best


def outputs(
    nbest: Iterable[Row],
    contracts: Mapping[str, str],
    texts: Mapping[str, str],
    least: float,
) -> Iterator[Row]:
    """Yield rows of `OUTPUTS` that quote the spans of at least this probability.

    The other arguments are as in `curve`.
    """
    for question, spans in by_question(nbest):
        yield {
            "question_id": question,
            "output": quoted(texts[contracts[question]], spans, least),
        }


def candidate_passages(
    nbest: Iterable[Row], asked: Iterable[Row], texts: Mapping[str, str], least: float
) -> dict[str, list[str]]:
    """Return {question: its `passages` with at least this probability}.

    ``asked`` are rows of `squad.QUESTIONS`; ``texts`` maps contracts to texts.
    """
    contracts = {row["question_id"]: row["contract_id"] for row in asked}
    passages_by_question = {}
    for question, spans in by_question(nbest):
        passages_by_question[question] = passages(
            texts[contracts[question]], spans, least
        )
    return passages_by_question


def fixed(
    contracts: Mapping[str, str], texts: Mapping[str, str], output: str
) -> Iterator[Row]:
    """Yield rows of `OUTPUTS` with the same ``output`` for each question.

    In it, ${contract} is the contract's text.
    """
    for question in sorted(contracts):
        shown = Template(output).substitute(contract=texts[contracts[question]])
        yield {"question_id": question, "output": shown}


def frequent_categories(
    questions: Iterable[Row],
    texts: Mapping[str, str],
    golds: Mapping[str, Sequence[str]],
    metric: str,
) -> tuple[list[str], dict[str, float]]:
    """Return the categories for which the whole contract is the best output.

    Categories are sorted by how many of their training ``questions`` have an answer,
    most first, ties by name.  The first n are returned.  If their questions are
    answered with the whole contract, and all others with `NO_CLAUSE`, this n has the
    highest ``metric``.  The second result are the values of all metrics with this n.
    ``texts`` and ``golds`` are as in `curve`.
    """
    answered: dict[str, int] = defaultdict(int)
    whole: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(COUNTS))
    without: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(COUNTS))
    for row in questions:
        category = row["category"]
        gold = golds.get(row["question_id"], ())
        answered[category] += bool(gold)
        whole[category] += counts(texts[row["contract_id"]], gold)
        without[category] += counts(NO_CLAUSE, gold)
    order = sorted(answered, key=lambda category: (-answered[category], category))
    totals = [sum(without.values(), np.zeros(COUNTS))]
    for category in order:
        totals.append(totals[-1] + whole[category] - without[category])
    values_at = values(np.array(totals))
    number = int(np.argmax(values_at[metric]))
    best = {name: float(at[number]) for name, at in values_at.items()}
    return order[:number], best


def for_categories(
    questions: Iterable[Row], texts: Mapping[str, str], categories: Collection[str]
) -> Iterator[Row]:
    """Yield rows of `OUTPUTS`: the whole contract for questions of these categories."""
    for row in sorted(questions, key=itemgetter("question_id")):
        output = NO_CLAUSE
        if row["category"] in categories:
            output = texts[row["contract_id"]]
        yield {"question_id": row["question_id"], "output": output}


def relaxed_spans(
    questions: Iterable[Row], texts: Mapping[str, str], category: str
) -> Iterator[Row]:
    """Yield rows of `schema.NBEST`: the whole contract for questions whose category has
    ``category`` in its name, and the empty prediction for the others.
    """
    empty = _certain("", -1, -1)
    for row in sorted(questions, key=itemgetter("question_id")):
        span = empty
        if category in row["category"]:
            text = texts[row["contract_id"]]
            span = _certain(text, 0, len(text))
        yield from span_rows(row["question_id"], [span])


def _certain(text: str, start: int, end: int) -> PredictedSpan:
    """Return a span that is predicted without a model, with the probability 1."""
    return PredictedSpan(
        released_text=text,
        text=text,
        start=start,
        end=end,
        start_logit=0.0,
        end_logit=0.0,
        probability=1.0,
    )


def contract_of(questions: Iterable[Row], split: str) -> dict[str, str]:
    """Return {question: contract} of a split's questions."""
    return {
        row["question_id"]: row["contract_id"]
        for row in questions
        if row["split"] == split
    }


def least_shown(spans: ScoredSpans) -> float:
    """Return the probability from which submitted spans are quoted.

    It is that of the question's empty prediction, 0.5 without one: submitted spans have
    no out-of-fold predictions by which a threshold could be chosen.
    """
    return max((share for start, _, share in spans if start < 0), default=0.5)
