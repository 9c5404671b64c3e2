"""MAUD's AUPR: values computed by hand, comparison with scikit-learn, and averages over
questions.
"""

import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from lextables.metrics.minority_aupr import (
    AnsweredHead,
    binarised,
    head_aupr,
    head_auprs,
    mean_curve,
    random_aupr,
    scores_and_jackknives,
)
from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import SCORES


def head(
    labels,
    logits,
    *,
    name="1",
    question=None,
    category="Knowledge",
    data_types=None,
    units=None,
):
    labels = np.asarray(labels)
    return AnsweredHead(
        name,
        question or f"Q{name}",
        category,
        labels,
        np.asarray(logits, dtype=np.float32),
        np.asarray(data_types or ["main"] * len(labels)),
        np.asarray(units or [str(i) for i in range(len(labels))]),
    )


def scores(*rows, **settings):
    return scores_and_jackknives(*rows, **settings)[0]


def area(recalls, precisions):
    """The area under a stepwise curve."""
    return float(np.sum(np.diff(recalls) * precisions[1:]))


def binary(labels, score):
    """A head with two answers; ``score`` is the margin of answer 1."""
    return head(labels, [[0, value] for value in score])


@pytest.mark.parametrize(
    ("labels", "score", "expected"),
    [
        # Answer 1 has 2 of 5 examples, so it is the positive class for both answers:
        # (1/1 + 2/3) / 2.
        ([1, 0, 1, 0, 0], [9, 8, 7, 6, 5], 5 / 6),
        # Answer 1 has 3 of 5 examples, so the others are positive, lowest scores first:
        # (1/1 + 2/5) / 2.
        ([1, 1, 0, 1, 0], [7, 6, 8, 5, 4], (1 / 1 + 2 / 5) / 2),
        # All scores tie: the curve has one step, and its precision is the share of the
        # minority.
        ([1, 0, 0, 0], [3, 3, 3, 3], 1 / 4),
        # A positive ties with a negative: 1/1 for the first, then 2/3 for both
        # together.
        ([1, 1, 0, 0, 0], [9, 5, 5, 1, 0], (1 + 2 / 3) / 2),
    ],
)
def test_the_aupr_equals_values_computed_by_hand(labels, score, expected):
    assert head_aupr(binary(labels, score)) == pytest.approx(expected)


def test_an_answer_with_half_the_examples_is_the_positive_class():
    # Answer 1: ranks 1 and 4 are correct, (1 + 2/4) / 2.  Answer 0, in reverse order:
    # (1/2 + 2/3) / 2.
    tied = binary([1, 0, 0, 1], [4, 3, 2, 1])
    assert head_aupr(tied) == pytest.approx((0.75 + 7 / 12) / 2)
    assert [side.positive.tolist() for side in binarised(tied)] == [
        [False, True, True, False],
        [True, False, False, True],
    ]


def test_positive_classes_equal_the_papers_example():
    # A.5: answers with 50, 10 and 10 examples; for the first, the 20 others are the
    # positive class.
    labels = [0] * 50 + [1] * 10 + [2] * 10
    sides = list(binarised(head(labels, np.random.default_rng(0).normal(size=(70, 3)))))
    assert [int(positive.sum()) for positive, _ in sides] == [20, 10, 10]
    assert random_aupr(head(labels, np.zeros((70, 3)))) == pytest.approx(
        (20 + 10 + 10) / 70 / 3
    )


def random_heads(seed=0, rounded=False):
    """Six heads in four questions; ``rounded`` logits have many ties."""
    generator = np.random.default_rng(seed)
    heads = []
    for index, question in enumerate("AAABCD"):
        answers = {"B": 3, "C": 4}.get(question, 2)
        labels = np.concatenate([np.arange(answers), generator.choice(answers, 30)])
        logits = generator.normal(size=(len(labels), answers))
        logits[np.arange(len(labels)), labels] += 0.7
        heads.append(
            head(
                labels,
                np.round(logits) if rounded else logits,
                name=f"{question}-{index}",
                question=question,
                category="MAE" if question in "AB" else "Remedies",
                data_types=[*np.resize(["abridged", "main", "main"], len(labels))],
                units=[*np.resize([*"abcdefghi"], len(labels))],
            )
        )
    return heads


@pytest.mark.parametrize("rounded", [False, True])
def test_the_aupr_of_a_head_is_the_mean_of_scikit_learns_average_precisions(rounded):
    for found in random_heads(rounded=rounded):
        values = []
        for answer in range(found.logits.shape[1]):
            positive = found.labels == answer
            score = 2 * found.logits[:, answer] - found.logits.sum(axis=1)
            if positive.mean() > 0.5:
                positive, score = ~positive, -score
            values.append(average_precision_score(positive, score))
        assert head_aupr(found) == pytest.approx(np.mean(values), abs=1e-12)


def test_the_mean_curve_uses_the_precision_of_the_next_higher_recall():
    halves = np.array([0, 0.5, 1]), np.array([1, 0.8, 0.4])
    thirds = np.array([0, 1 / 3, 1]), np.array([1, 0.6, 0.2])
    recalls, precisions = mean_curve([halves, thirds])
    assert recalls.tolist() == [0, 1 / 3, 0.5, 1]
    assert precisions == pytest.approx(
        [1, (0.8 + 0.6) / 2, (0.8 + 0.2) / 2, (0.4 + 0.2) / 2]
    )
    assert area(recalls, precisions) == pytest.approx(
        (area(*halves) + area(*thirds)) / 2
    )


def tables(heads):
    """The arguments of `scores` for these heads."""
    predictions, examples, questions = [], [], []
    for h in heads:
        questions.append(
            {
                "head_id": h.head_id,
                "question": h.question,
                "category": h.category,
                "answers": [str(i) for i in range(h.logits.shape[1])],
            }
        )
        for i, label in enumerate(h.labels):
            key = {"head_id": h.head_id, "example_id": f"{h.head_id}/{i:03}"}
            predictions.append(key | {"logits": h.logits[i].tolist()})
            examples.append(
                key
                | {
                    "label": int(label),
                    "data_type": h.data_types[i],
                    "contract": h.units[i],
                }
            )
    return predictions, examples, questions


class Found(dict):
    """{(metric, group): row} of rows of scores; called with a group, a value."""

    def __init__(self, rows):
        super().__init__({(row["metric"], row["group"]): row for row in rows})

    def __call__(self, group, metric="AUPR"):
        return self[metric, group]["value"]


def test_heads_are_first_averaged_by_question(tmp_path):
    heads = random_heads()
    rows = scores(*tables(heads))
    assert write(SCORES, rows, tmp_path / "scores.parquet") == len(rows)
    found = Found(rows)
    means = []
    for question in "ABCD":
        values = [head_aupr(h) for h in heads if h.question == question]
        means.append(np.mean(values))
        assert found(f"question: {question}") == pytest.approx(means[-1])
    assert found("all") == pytest.approx(np.mean(means))
    assert found("category: MAE") == pytest.approx(np.mean(means[:2]))
    for group in ("all", "category: MAE", "category: Remedies"):
        assert found(group, "AUPR, low") < found(group) < found(group, "AUPR, high")
    counts = {"question: A": 3, "all": 4}
    assert {group: found["AUPR", group]["n"] for group in counts} == counts
    assert found["AUPR, low", "all"]["n"] == 9
    assert found("all", "answers left out") == 0
    steps = [row for row in rows if row["metric"] == "precision"]
    widths = np.diff([float(row["group"].removeprefix("recall: ")) for row in steps])
    assert steps[0]["group"] == "recall: 0.000000000" and steps[0]["value"] == 1
    area = sum(widths * [row["value"] for row in steps[1:]])
    assert area == pytest.approx(found("all"), abs=1e-7)
    assert head_auprs(*tables(heads)) == {h.head_id: head_aupr(h) for h in heads}


def test_f1_uses_the_most_likely_answer():
    # Predicted: 0, 0, 1, 1.  F1: 2/3 for answer 0, 1/2 for answer 1, 0 for answer 2.
    logits = [[9, 0, 0], [9, 0, 0], [0, 9, 0], [0, 9, 0]]
    heads = [head([0, 1, 1, 2], logits, units=["a", "a", "b", "b"])]
    found = Found(scores(*tables(heads)))
    assert found("all", "micro F1") == 0.5
    assert found("all", "macro F1") == pytest.approx((2 / 3 + 1 / 2) / 3)


def typed(name, question, abridged_labels):
    """A head with both answers in the main data, and ``abridged_labels`` in the
    abridged data.
    """
    labels = [0, 1, 1, 0, 1, *abridged_labels]
    score = [-1, 2, 1, 1.5, -2, *range(len(abridged_labels))]
    return head(
        labels,
        [[0, value] for value in score],
        name=name,
        question=question,
        data_types=["main"] * 5 + ["abridged"] * len(abridged_labels),
    )


def test_data_types_are_scored_separately():
    heads = [
        typed("A", "A", [0, 1, 1]),
        typed("B", "B", [0, 0, 0]),
        typed("C", "C", []),
    ]
    found = Found(scores(*tables(heads)))
    main = heads[0].only(heads[0].data_types == "main")
    # As published: heads with every answer among the abridged examples.
    # As described in the paper's text ("strict"): B counts too.
    assert found["AUPR", "data type: main"]["n"] == 1
    assert found("data type: main") == pytest.approx(head_aupr(main))
    assert found("data type: abridged") == 1
    assert found("data type: abridged", "random AUPR") == pytest.approx(1 / 3)
    assert found["AUPR, strict", "data type: main"]["n"] == 2
    assert found["AUPR, strict", "data type: abridged"]["n"] == 1


def test_scores_by_data_type_are_nan_without_abridged_examples():
    found = Found(scores(*tables([typed("A", "A", [])])))
    assert math.isnan(found("data type: main"))


def test_an_answer_without_main_examples_raises_unless_the_data_are_partial():
    gap = head(
        [0, 0, 0, 1],
        [[0, 1], [0, 2], [0, 3], [0, 4]],
        data_types=["main", "main", "abridged", "abridged"],
    )
    message = "answer 0 of head '1' has 2 of the 2 main test examples"
    with pytest.raises(BadInput, match=message):
        scores(*tables([gap]))
    found = Found(scores(*tables([gap]), partial=True))
    assert math.isnan(found("data type: main"))
    assert found("data type: abridged") == 1


def test_an_example_without_a_contract_is_a_unit_of_its_own():
    labels = [0, 1] * 4
    one = head(labels, [[0, value] for value in (1, 4, 3, 2, 5, 6, 0, 7)])
    predictions, examples, heads = tables([one])
    blank = [{**row, "contract": None} for row in examples[:3]]
    shared = [{**row, "contract": "a"} for row in examples[3:]]
    found = Found(scores(predictions, [*blank, *shared], heads))
    assert found["AUPR, low", "all"]["n"] == 4


def test_an_answer_without_test_examples_raises_unless_the_data_are_partial():
    logits = np.random.default_rng(0).normal(size=(6, 3))
    gap, one = (
        head([0, 0, 0, 1, 1, 0], logits, name="1"),
        head([0] * 6, logits[:, :2], name="2"),
    )
    with pytest.raises(
        BadInput,
        match=r"answer 2 of head '1' has 0 of the 6 test examples, and so no AUPR",
    ):
        scores(*tables([gap]))
    with pytest.raises(
        BadInput, match="answer 0 of head '2' has 6 of the 6 test examples"
    ):
        scores(*tables([one]))
    found = Found(scores(*tables([gap, one]), partial=True))
    assert math.isnan(found("question: Q2"))
    assert (found["AUPR", "all"]["n"], found("all")) == (
        1,
        pytest.approx(head_aupr(gap)),
    )
    assert (
        found("all", "answers left out"),
        found["answers left out", "all"]["n"],
    ) == (3, 5)
