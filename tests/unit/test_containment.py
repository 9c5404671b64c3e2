"""Containment scores of outputs: values by hand, and stored results of the released code (commit f2de744)."""

import itertools

import numpy as np
import pytest

from lextables.metrics.containment import (
    METRICS,
    NO_CLAUSE,
    counts,
    gold_texts,
    scores,
    values,
)
from lextables.pipeline.errors import BadInput

LAW = ["laws of Ohio."]
# (gold texts, output, (true positive, false positive, false negative, denial, Jaccard index))
BY_HAND = [
    (LAW, "laws of Ohio.", (1, 0, 0, 0, 1)),
    (LAW, "The laws of Ohio. It ends.", (1, 0, 0, 0, 3 / 6)),
    (
        LAW,
        "laws of Ohio",
        (0, 0, 1, 0, 1),
    ),  # the full stop is missing; the Jaccard index ignores it
    (LAW, "laws of ohio.", (0, 0, 1, 0, 1)),
    (LAW, "```\nlaws of Ohio.\n```", (1, 0, 0, 0, 1)),
    (
        LAW,
        "laws  of Ohio.",
        (0, 0, 1, 0, 3 / 4),
    ),  # the second space gives an empty word
    (LAW, "laws\nof Ohio.", (0, 0, 1, 0, 1 / 4)),  # a line break joins two words
    (LAW, NO_CLAUSE, (0, 0, 1, 1, 0)),
    (LAW, "No related clause, but: laws of Ohio.", (1, 0, 0, 1, 3 / 7)),
    (LAW, "", (0, 0, 1, 0, 0)),
    (
        ["and/or", " \nOhio "],
        "and or Ohio",
        (0, 0, 1, 0, 2 / 5),
    ),  # the joined gold texts have empty words
    (["a b", "c"], "c and a b", (1, 0, 0, 0, 3 / 4)),
    (["a b", "c"], "a b", (0, 0, 1, 0, 2 / 3)),
    ([], NO_CLAUSE, (0, 0, 0, 0, 0)),
    ([], "There is NO RELATED CLAUSE here: laws of Ohio.", (0, 0, 0, 0, 0)),
    ([], "laws of Ohio.", (0, 1, 0, 0, 0)),
    ([], "None.", (0, 1, 0, 0, 0)),
    ([], "", (0, 1, 0, 0, 0)),
]


@pytest.mark.parametrize(("golds", "output", "expected"), BY_HAND)
def test_the_counts_of_an_output(golds, output, expected):
    assert counts(output, golds) == pytest.approx(expected)


def outputs_like_the_test_split():
    """4,182 outputs, 1,244 of them with gold texts; no empty ones, as pandas reads them as numbers."""
    cases = [case for case in BY_HAND if case[1]]
    several = []
    for has_gold, size in ((True, 1244), (False, 2938)):
        part = [case for case in cases if bool(case[0]) == has_gold]
        several += itertools.islice(itertools.cycle(part), size)
    outputs = {f"q{number:04}": case[1] for number, case in enumerate(several)}
    golds = [case[0] for case in several]
    return outputs, dict(zip(outputs, golds, strict=True))


# Scores by `Evaluation.py` for these outputs.
PRINTED = {
    "F1": 0.321,
    "F2": 0.372,
    "Jaccard": 0.646,
    "false rate": 0.166,
    "precision": 0.261,
    "recall": 0.416,
}


def test_scores_equal_those_of_the_released_code():
    outputs, golds = outputs_like_the_test_split()
    counted = {name: counts(output, golds[name]) for name, output in outputs.items()}
    rows, _ = scores(counted, dict.fromkeys(outputs, "c"))
    assert {row["metric"]: row["value"] for row in rows} == pytest.approx(
        PRINTED, abs=0.0005 + 1e-9
    )


def test_values_by_hand():
    found = values(np.array([3.0, 2, 1, 1, 2.5]))
    assert found == pytest.approx(
        {
            "precision": 3 / 5,
            "recall": 3 / 4,
            "F1": 2 / 3,
            "F2": 5 * 0.6 * 0.75 / (4 * 0.6 + 0.75),
        }
        | {"Jaccard": 2.5 / 4, "false rate": 1 / 4}
    )
    assert (
        values(np.array([0.0, 9, 4, 0, 0]))["F1"] == 0
    )  # the released code divides by zero


def test_intervals_and_units_are_computed_over_contracts():
    rng = np.random.default_rng(0)
    outputs = {
        f"q{n}": counts("a" if rng.random() < 0.7 else "b", ["a"] * (n % 2))
        for n in range(200)
    }
    contracts = {name: f"c{int(name[1:]) % 20:02}" for name in outputs}
    rows, units = scores(outputs, contracts, resamples=500)
    by_name = {row["metric"]: row for row in rows}
    for metric in METRICS:
        value = by_name[metric]["value"]
        own = [row["value"] for row in units if row["metric"] == metric]
        assert by_name[metric]["n"] == 200 and len(own) == 20
        assert np.mean(own) == pytest.approx(value)
        if metric != "false rate":  # no output is a denial
            low, high = (
                by_name[f"{metric}, {end}"]["value"] for end in ("low", "high")
            )
            assert low < value < high
    # With a single contract there is no interval.
    assert not any(
        "low" in row["metric"]
        for row in scores(outputs, dict.fromkeys(outputs, "c"))[0]
    )


def test_a_question_without_an_output_is_an_error():
    with pytest.raises(BadInput, match="1 questions have no output, the first 'q2'"):
        scores({"q1": counts("a", [])}, {"q1": "c", "q2": "c"})


def test_gold_texts_are_in_the_order_of_the_release():
    rows = [
        {"question_id": "q", "index": index, "text": str(index)} for index in (2, 0, 1)
    ]
    assert gold_texts(rows) == {"q": ["0", "1", "2"]}
