"""Containment scores of a language model's outputs: an output answers a question if it
contains the question's gold texts.

Values are computed by hand, or are stored results of the released code (commit
f2de744).
"""

import itertools

import numpy as np
import pytest

from lextables import published
from lextables.metrics.containment import NO_CLAUSE, counts, gold_texts, values
from lextables.metrics.containment_scores import ALL_METRICS, scores, strict_counts
from lextables.pipeline.errors import BadInput

LAW = ["laws of Ohio."]
# (gold texts, output, its counts), the counts being (true positives, false positives,
# false negatives, denials, Jaccard index of the words).
BY_HAND = [
    (LAW, "laws of Ohio.", (1, 0, 0, 0, 1)),
    (LAW, "The laws of Ohio. It ends.", (1, 0, 0, 0, 3 / 6)),
    # The full stop is missing; the Jaccard index ignores it.
    (LAW, "laws of Ohio", (0, 0, 1, 0, 1)),
    (LAW, "laws of ohio.", (0, 0, 1, 0, 1)),
    (LAW, "```\nlaws of Ohio.\n```", (1, 0, 0, 0, 1)),
    # The second space gives an empty word.
    (LAW, "laws  of Ohio.", (0, 0, 1, 0, 3 / 4)),
    # A line break joins two words.
    (LAW, "laws\nof Ohio.", (0, 0, 1, 0, 1 / 4)),
    (LAW, NO_CLAUSE, (0, 0, 1, 1, 0)),
    (LAW, "No related clause, but: laws of Ohio.", (1, 0, 0, 1, 3 / 7)),
    (LAW, "", (0, 0, 1, 0, 0)),
    # The joined gold texts have empty words.
    (["and/or", " \nOhio "], "and or Ohio", (0, 0, 1, 0, 2 / 5)),
    (["a b", "c"], "c and a b", (1, 0, 0, 0, 3 / 4)),
    (["a b", "c"], "a b", (0, 0, 1, 0, 2 / 3)),
    ([], NO_CLAUSE, (0, 0, 0, 0, 0)),
    ([], "There is NO RELATED CLAUSE here: laws of Ohio.", (0, 0, 0, 0, 0)),
    ([], "laws of Ohio.", (0, 1, 0, 0, 0)),
    ([], "None.", (0, 1, 0, 0, 0)),
    ([], "", (0, 1, 0, 0, 0)),
]


@pytest.mark.parametrize(("golds", "output", "expected"), BY_HAND)
def test_the_counts_of_an_output_are_those_computed_by_hand(golds, output, expected):
    assert counts(output, golds) == pytest.approx(expected)


MANY = [f"word{number}" for number in range(20)]
CONTRACT = "The laws of Ohio. Words: " + " ".join(MANY)
# (gold texts, output, whether it is correct in strict mode).  There a correct output
# contains the gold texts, and at least half of its words are theirs.
IN_STRICT_MODE = [
    (LAW, "laws of Ohio.", True),
    # The full stop is missing.
    (LAW, "The laws of Ohio, as such", False),
    # Three words of the gold text, and up to three others.
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


@pytest.mark.parametrize(("golds", "output", "correct"), IN_STRICT_MODE)
def test_strict_mode_refuses_padded_and_contradictory_outputs(golds, output, correct):
    # (true positives, false positives, false negatives)
    if golds:
        expected = (int(correct), 0, int(not correct))
    else:
        expected = (0, int(not correct), 0)
    assert strict_counts(output, golds) == expected
    # What is correct in strict mode is correct for the released code.
    if correct:
        assert counts(output, golds)[:3] == expected


def output_rows(outputs):
    """Yield the rows of predictions of {question id: output}."""
    for name, output in outputs.items():
        yield {"question_id": name, "output": output}


@pytest.mark.parametrize(
    ("output", "f1_of_paper_mode", "f1_of_strict_mode"),
    [
        (f"{NO_CLAUSE} {CONTRACT}", 1, 0),
        (CONTRACT, 2 / 3, 0),
        ("laws of Ohio.", 2 / 3, 2 / 3),
    ],
)
def test_the_whole_contract_scores_nothing_in_strict_mode(
    output, f1_of_paper_mode, f1_of_strict_mode
):
    # The first question has a gold text, the second has none.
    outputs = {"q1": output, "q2": output}
    contracts = {"q1": "c", "q2": "d"}
    rows, units = scores(output_rows(outputs), {"q1": LAW}, contracts)
    values_of = {row["metric"]: row["value"] for row in rows}
    assert values_of["F1"] == pytest.approx(f1_of_paper_mode)
    if f1_of_strict_mode:
        assert values_of["F1, strict"] == pytest.approx(f1_of_strict_mode)
    for metric in ("F1", "F2", "recall", "precision"):
        expected = pytest.approx(values_of[metric]) if f1_of_strict_mode else 0
        assert values_of[f"{metric}, strict"] == expected
    assert {row["metric"] for row in units} <= {*ALL_METRICS}


def outputs_like_the_test_split():
    """Return {question: output} and {question: gold texts}: 4,182 outputs of `BY_HAND`,
    1,244 of them with gold texts, as many as in the test split.

    None is empty, because pandas would read it as a number.
    """
    outputs = {}
    golds = {}
    for has_gold, size in ((True, 1244), (False, 2938)):
        cases = []
        for gold_texts_of_case, output, _ in BY_HAND:
            if output and bool(gold_texts_of_case) == has_gold:
                cases.append((gold_texts_of_case, output))
        for case in itertools.islice(itertools.cycle(cases), size):
            name = f"q{len(outputs):04}"
            golds[name], outputs[name] = case
    return outputs, golds


# Scores that the released `Evaluation.py` printed for these outputs.
RELEASED_SCORES = {
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
    values_of = {row["metric"]: row["value"] for row in rows}
    assert values_of.keys() == {*ALL_METRICS}
    rounding = 0.0005 + 1e-9  # the code prints three decimals
    for metric, released in RELEASED_SCORES.items():
        assert values_of[metric] == pytest.approx(released, abs=rounding)


def test_scores_of_counts_are_those_computed_by_hand():
    # Sums of true positives, false positives, false negatives, denials and Jaccard
    # indices.
    assert values(np.array([3.0, 2, 1, 1, 2.5])) == pytest.approx(
        {
            "precision": 3 / 5,
            "recall": 3 / 4,
            "F1": 2 / 3,
            "F2": 5 * 0.6 * 0.75 / (4 * 0.6 + 0.75),
            "Jaccard": 2.5 / 4,
            "false rate": 1 / 4,
        }
    )


def test_f1_without_true_positives_is_zero():
    """The released code divides by zero."""
    assert values(np.array([0.0, 9, 4, 0, 0]))["F1"] == 0


def test_intervals_and_units_are_computed_over_contracts():
    rng = np.random.default_rng(0)
    outputs = {f"q{n}": "a" if rng.random() < 0.7 else "b" for n in range(200)}
    golds = {f"q{n}": ["a"] for n in range(1, 200, 2)}
    contracts = {name: f"c{int(name[1:]) % 20:02}" for name in outputs}
    rows, units = scores(output_rows(outputs), golds, contracts, resamples=500)
    by_name = {row["metric"]: row for row in rows}
    for metric in ALL_METRICS:
        value = by_name[metric]["value"]
        contributions = [row["value"] for row in units if row["metric"] == metric]
        assert by_name[metric]["n"] == 200
        assert len(contributions) == 20  # one for each contract
        assert np.mean(contributions) == pytest.approx(value)
        if metric != "false rate":  # no output is a denial
            low = by_name[f"{metric}, low"]["value"]
            high = by_name[f"{metric}, high"]["value"]
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
    assert len(gain) == 19
    # Sixteen models would exceed the best published one.
    assert (padded > f1.max()).sum() == 16
    assert gain.idxmin() == "GPT 4.1 mini"
    assert gain.min() == pytest.approx(0.13, abs=0.005)
    assert gain.idxmax() == "Qwen3 4B (thinking)"
    assert gain.max() == pytest.approx(0.73, abs=0.005)
