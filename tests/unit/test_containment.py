"""Containment scores of outputs: values by hand, and stored results of the released
code (commit f2de744).
"""

import itertools

import numpy as np
import pytest

from lextables import published
from lextables.metrics.containment import NO_CLAUSE, counts, gold_texts, values
from lextables.metrics.containment_scores import ALL_METRICS, scores, strict_counts
from lextables.pipeline.errors import BadInput

LAW = ["laws of Ohio."]
# (gold texts, output, (true positive, false positive, false negative, denial, Jaccard
# index))
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


# (gold texts, output, whether it is correct in strict mode)
MANY = [f"word{number}" for number in range(20)]
CONTRACT = "The laws of Ohio. Words: " + " ".join(MANY)
STRICTLY = [
    (LAW, "laws of Ohio.", True),
    # Three words of the gold text, and up to three others.
    (LAW, "The laws of Ohio, as such", False),  # the full stop is missing
    (LAW, "The laws of Ohio. It ends.", True),
    (LAW, "The laws of Ohio. It ends here.", False),
    (LAW, "laws of Ohio. laws of Ohio. " * 9, True),
    (LAW, "laws of Ohio. " + " ".join(MANY), False),
    (LAW, CONTRACT, False),
    (LAW, f"{NO_CLAUSE} {CONTRACT}", False),
    (LAW, NO_CLAUSE, False),
    (LAW, "", False),
    # Both answers at once: three words and three others would be half of the words.
    (LAW, f"{NO_CLAUSE} laws of Ohio.", False),
    ([f"{NO_CLAUSE} It is void."], f"{NO_CLAUSE} It is void.", True),
    ([], f"{NO_CLAUSE} laws of Ohio.", True),
    ([], f"{NO_CLAUSE} The laws of Ohio.", False),
    ([], f"{NO_CLAUSE} {CONTRACT}", False),
    ([], NO_CLAUSE, True),
    ([], "```\nNo related clause\n```", True),
    ([], "There is NO RELATED CLAUSE here.", True),
    ([], "related no clause", False),
    ([], "laws of Ohio.", False),
    ([], "", False),
    # All gold texts together are what is expected.
    (["a b", "c d"], "c d and a b", True),
    (["a b", "c d"], "a b", False),
    (["a b", "c d"], "a b c d e f g h", True),
    (["a b", "c d"], "a b c d e f g h i", False),
    (["a b", "a b"], "a b", True),
    (["***"], "***", False),  # without words nothing matches, as in CUAD
]


@pytest.mark.parametrize(("golds", "output", "correct"), STRICTLY)
def test_strict_mode_refuses_padded_and_contradictory_outputs(golds, output, correct):
    found = (int(correct), 0, int(not correct)) if golds else (0, int(not correct), 0)
    assert strict_counts(output, golds) == found
    if correct:
        assert counts(output, golds)[:3] == found


def output_rows(outputs):
    for name, output in outputs.items():
        yield {"question_id": name, "output": output}


@pytest.mark.parametrize(
    ("output", "paper", "strict"),
    [
        (f"{NO_CLAUSE} {CONTRACT}", 1, 0),
        (CONTRACT, 2 / 3, 0),
        ("laws of Ohio.", 2 / 3, 2 / 3),
    ],
)
def test_the_whole_contract_scores_nothing_in_strict_mode(output, paper, strict):
    outputs = {"q1": output, "q2": output}
    rows, units = scores(output_rows(outputs), {"q1": LAW}, {"q1": "c", "q2": "d"})
    found = {row["metric"]: row["value"] for row in rows}
    assert found["F1"] == pytest.approx(paper)
    for metric in ("F1", "F2", "recall", "precision"):
        expected = pytest.approx(strict if metric == "F1" else found[metric])
        assert found[f"{metric}, strict"] == (expected if strict else 0)
    assert {row["metric"] for row in units} <= {*ALL_METRICS}


def outputs_like_the_test_split():
    """4,182 outputs, 1,244 of them with gold texts; no empty ones, as pandas reads them
    as numbers.
    """
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
    rows, _ = scores(output_rows(outputs), golds, dict.fromkeys(outputs, "c"))
    found = {row["metric"]: row["value"] for row in rows}
    assert found.keys() == {*ALL_METRICS}
    assert {metric: found[metric] for metric in PRINTED} == pytest.approx(
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
    outputs = {f"q{n}": "a" if rng.random() < 0.7 else "b" for n in range(200)}
    golds = {f"q{n}": ["a"] for n in range(1, 200, 2)}
    contracts = {name: f"c{int(name[1:]) % 20:02}" for name in outputs}
    rows, units = scores(output_rows(outputs), golds, contracts, resamples=500)
    by_name = {row["metric"]: row for row in rows}
    for metric in ALL_METRICS:
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
    rows, _ = scores(output_rows(outputs), golds, dict.fromkeys(outputs, "c"))
    assert {row["metric"] for row in rows} == {*ALL_METRICS}


def test_a_question_without_an_output_is_an_error():
    with pytest.raises(BadInput, match="1 questions have no output, the first 'q2'"):
        scores(output_rows({"q1": "a"}), {}, {"q1": "c", "q2": "c"})


def test_gold_texts_are_in_the_order_of_the_release():
    rows = [
        {"question_id": "q", "index": index, "text": str(index)} for index in (2, 0, 1)
    ]
    assert gold_texts(rows) == {"q": ["0", "1", "2"]}


def test_all_published_models_could_gain_by_padding():
    """The note of the table: with the whole contract after each output that is no
    denial.
    """
    values = published("contracteval").pivot(
        index="row", columns="column", values="number"
    )
    f1, f2 = values["F1"], values["F2"]
    # F2 weighs recall four times.
    inverse_recall = (5 / f2 - 2 / f1) / 3
    inverse_precision = 2 / f1 - inverse_recall
    false_positives = (inverse_precision - 1) / inverse_recall  # per question
    recall = 1 - values["False rate"]
    padded = 2 * recall / (1 + recall + false_positives)
    gain = padded - f1
    assert (len(gain), (padded > f1.max()).sum()) == (19, 16)
    assert (gain.idxmin(), gain.min()) == (
        "GPT 4.1 mini",
        pytest.approx(0.13, abs=0.005),
    )
    most = ("Qwen3 4B (thinking)", pytest.approx(0.73, abs=0.005))
    assert (gain.idxmax(), gain.max()) == most
