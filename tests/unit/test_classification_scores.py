"""Classification metrics: comparison with scikit-learn, means over heads, intervals and
errors.
"""

import itertools
import math

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    recall_score,
)

from helpers import jackknife
from lextables.metrics.classification import (
    GROUPS,
    METRICS,
    MOST_UNITS,
    Head,
    left_out,
    logits,
    minority_precisions,
    scores_and_jackknives,
    unit_groups,
)
from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import SCORES

BOTH = pytest.mark.parametrize("multi_label", [False, True])
TIES = pytest.mark.parametrize("rounded", [False, True])


def scores(*rows, metrics=(*METRICS,), **settings):
    return scores_and_jackknives(*rows, metrics=list(metrics), **settings)[0]


def values(*rows, **settings):
    return by_key(scores(*rows, **settings))


def softmax(logits):
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def drawn(seed, multi_label, n=120, rounded=False):
    """Random right answers (bool), logits and probabilities, each of shape (n, 6).

    Some answers are rare, and the last one is never right. In a multi-label task, some
    examples have no right answer, and the first answer is right for most examples.
    """
    rng = np.random.default_rng(seed)
    frequency = np.array([0.7, 0.4, 0.2, 0.1, 0.05, 0])
    if multi_label:
        right = rng.random((n, 6)) < frequency
    else:
        right = rng.choice(6, n, p=frequency / frequency.sum())[:, None] == np.arange(6)
    logits = rng.normal(size=right.shape) + 1.5 * right - 0.7
    logits = np.round(logits) if rounded else logits
    return right, logits, 1 / (1 + np.exp(-logits)) if multi_label else softmax(logits)


def rows(right, logits, probabilities, name="h", units=None, **columns):
    """Predictions, examples and head as arguments of `scores`; the column ``document``
    has the units.
    """
    predictions, examples = [], []
    for i, of_example in enumerate(right):
        key = {"head_id": name, "example_id": f"{name}/{i:05}"}
        scored = {
            "logits": logits[i].tolist(),
            "probabilities": probabilities[i].tolist(),
        }
        predictions.append(key | scored)
        document = units[i] if units else None
        labels = np.flatnonzero(of_example).tolist()
        examples.append(key | {"labels": labels, "document": document})
    answers = [*map(str, range(right.shape[1]))]
    return predictions, examples, [{"head_id": name, "answers": answers, **columns}]


def together(*heads):
    return [[*itertools.chain(*parts)] for parts in zip(*heads, strict=True)]


def by_key(found):
    return {(row["metric"], row["group"]): row["value"] for row in found}


def sides(right, probabilities):
    """The rarer class of each answer that is right for some examples and wrong for
    others, and its scores.
    """
    for positive, score in zip(right.T, probabilities.T, strict=True):
        if positive.mean() > 0.5:
            positive, score = ~positive, -score
        if positive.any():
            yield positive, score


def by_scikit_learn(right, logits, probabilities, multi_label):
    of_answers = [*sides(right, probabilities)]
    if multi_label:
        labels, chosen = right, probabilities > 0.5
        present = np.flatnonzero((labels | chosen).any(axis=0))
        recall = recall_score(
            labels, chosen, labels=np.flatnonzero(labels.any(axis=0)), average="macro"
        )
    else:
        labels, chosen, present = right.argmax(axis=1), logits.argmax(axis=1), None
        recall = balanced_accuracy_score(labels, chosen)
    return {
        "accuracy": accuracy_score(labels, chosen),
        "balanced accuracy": recall,
        "micro F1": f1_score(labels, chosen, average="micro"),
        "macro F1": f1_score(
            labels, chosen, labels=present, average="macro", zero_division=0
        ),
        "AUPR": np.mean([average_precision_score(*side) for side in of_answers]),
        "random AUPR": np.mean([positive.mean() for positive, _ in of_answers]),
    }


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
@BOTH
@TIES
def test_every_metric_equals_that_of_scikit_learn(multi_label, rounded):
    for seed in range(5):
        head = drawn(seed, multi_label, rounded=rounded)
        found = values(*rows(*head), multi_label=multi_label)
        want = by_scikit_learn(*head, multi_label)
        for group in ("head: h", "all"):
            assert {name: found[name, group] for name in METRICS} == pytest.approx(
                want, abs=1e-12
            )


def test_ties_select_the_first_answer_and_a_probability_of_half_selects_none():
    right = np.array([[1, 0], [0, 1]], dtype=bool)
    tied = np.zeros((2, 2)), np.full((2, 2), 0.5)
    task = rows(right, *tied)
    assert values(*task)["accuracy", "all"] == 0.5
    assert values(*task, multi_label=True)["balanced accuracy", "all"] == 0


def test_the_answer_is_the_positive_side_if_half_of_the_examples_have_it():
    right, score = np.array([True, False, False, True]), np.array([4.0, 3.0, 2.0, 1.0])
    # Ranks 1 and 4 are right: (1 + 2 / 4) / 2.  The other side would have (1 / 2 + 2 /
    # 3) / 2.
    assert minority_precisions(right, score, np.ones((1, 4))) == pytest.approx([0.75])


def test_metrics_without_right_and_without_selected_answers():
    nothing = np.zeros((3, 2), dtype=bool), np.full((3, 2), -2.0), np.full((3, 2), 0.1)
    found = values(*rows(*nothing), multi_label=True)
    assert (found["accuracy", "all"], found["micro F1", "all"]) == (1, 0)
    undefined = ("balanced accuracy", "macro F1", "AUPR", "random AUPR")
    assert all(math.isnan(found[name, "all"]) for name in undefined)
    assert not any(name.endswith((", low", ", high")) for name, _ in found)


def test_heads_are_first_averaged_within_each_question(tmp_path):
    named = {"A": ("Q1", "C1"), "B": ("Q1", "C1"), "C": ("Q2", "C1"), "D": ("Q3", "C2")}
    heads = [
        rows(*drawn(at, False), name=name, question=question, category=category)
        for at, (name, (question, category)) in enumerate(named.items())
    ]
    found = scores(*together(*heads), metrics=["accuracy", "macro F1"])
    assert write(SCORES, found, tmp_path / "scores.parquet") == len(found)
    value, n = by_key(found), {(row["metric"], row["group"]): row["n"] for row in found}
    for metric in ("accuracy", "macro F1"):
        a, b, c, d = (value[metric, f"head: {name}"] for name in named)
        assert value[metric, "question: Q1"] == pytest.approx((a + b) / 2)
        assert value[metric, "category: C1"] == pytest.approx(((a + b) / 2 + c) / 2)
        assert value[metric, "category: C2"] == d
        assert value[metric, "all"] == pytest.approx(((a + b) / 2 + c + d) / 3)
        groups = ("head: A", "question: Q1", "category: C1", "all")
        assert [n[metric, group] for group in groups] == [120, 2, 2, 3]
        low, high = f"{metric}, low", f"{metric}, high"
        for group in ("all", "category: C1", "category: C2"):
            assert value[low, group] < value[metric, group] < value[high, group]
        assert [n[low, group] for group in groups[2:]] == [360, 480]


def test_a_head_without_a_question_counts_as_one_question():
    alone = rows(*drawn(0, False), name="A"), rows(*drawn(1, False), name="B")
    empty = {"head_id": "C", "answers": ["no", "yes"], "question": None}
    found = scores(*together(*alone, [[], [], [empty]]), metrics=["accuracy"])
    of_group = {
        row["group"]: (row["value"], row["n"])
        for row in found
        if row["metric"] == "accuracy"
    }
    assert of_group.keys() == {"all", "head: A", "head: B", "head: C"}
    assert math.isnan(of_group["head: C"][0])
    (a, _), (b, _) = of_group["head: A"], of_group["head: B"]
    assert of_group["all"] == ((a + b) / 2, 2)


@BOTH
@pytest.mark.parametrize("named", [False, True])
def test_the_interval_leaves_out_one_unit_at_a_time(multi_label, named):
    units = [i % 5 for i in range(15)] if named else None
    heads = [
        rows(*drawn(at, multi_label, n=15), name=name, units=units, question=question)
        for at, (name, question) in enumerate([("A", "Q1"), ("B", "Q1"), ("C", "Q2")])
    ]
    predictions, examples, tasks = together(*heads)
    settings = {"multi_label": multi_label, "unit": "document" if named else None}
    whole = scores(predictions, examples, tasks, **settings)
    value = by_key(whole)
    unit = "document" if named else "example_id"
    without = []
    for one in sorted({row[unit] for row in examples}):
        others = [row for row in examples if row[unit] != one]
        without.append(values(predictions, others, tasks, **settings))
    assert len(without) == (5 if named else 45)
    for metric in METRICS:
        left = np.array([found[metric, "all"] for found in without])
        is_area = metric == "AUPR"
        ends = jackknife.interval(value[metric, "all"], left, log_odds=is_area)
        names = (f"{metric}, low", f"{metric}, high")
        found = [value[name, "all"] for name in names if (name, "all") in value]
        assert found == pytest.approx(ends or [], abs=1e-9)
    assert {row["n"] for row in whole if row["metric"].endswith("low")} == {
        len(without)
    }


def test_an_example_without_a_unit_counts_as_one_unit():
    units = [0, 0, 1, 1, *[None] * 116]
    found = scores(
        *rows(*drawn(0, False), units=units), metrics=["accuracy"], unit="document"
    )
    assert next(row["n"] for row in found if row["metric"] == "accuracy, low") == 118


def test_many_units_are_left_out_in_groups():
    assert unit_groups(MOST_UNITS).tolist() == list(range(MOST_UNITS))
    sizes = np.bincount(unit_groups(MOST_UNITS + 1))
    assert len(sizes) == GROUPS and np.ptp(sizes) == 1
    n = 5000
    right, chosen = (
        np.random.default_rng(seed).random((n, 1)) < 0.3 for seed in (0, 1)
    )
    head = Head("h", None, None, right, chosen, chosen.astype(float), np.arange(n))
    groups = unit_groups(n)
    assert groups[:8].tolist() != sorted(
        groups[:8]
    )  # neighbouring units are in different groups
    without = left_out(METRICS["accuracy"], [head], np.arange(n), groups)
    exact = (right == chosen).all(axis=1)
    assert without == pytest.approx(
        [exact[groups != group].mean() for group in range(GROUPS)], abs=1e-12
    )
    task = rows(right, chosen.astype(float), chosen.astype(float))
    found = values(*task, metrics=["accuracy"], multi_label=True)
    low, high = (found[f"accuracy, {end}", "all"] for end in ("low", "high"))
    # Half-width of the interval of a proportion, up to the error of a deviation
    # estimated from the groups.
    half = 1.96 * math.sqrt(exact.mean() * (1 - exact.mean()) / n)
    assert (high - low) / 2 == pytest.approx(half, rel=4 / math.sqrt(2 * GROUPS))


def test_probabilities_are_used_if_logits_are_missing():
    predictions, examples, heads = rows(*drawn(0, False))
    shares = [row | {"logits": None} for row in predictions]
    want = scores(predictions, examples, heads)
    assert scores(shares, examples, heads) == want


def test_probabilities_of_nothing_and_of_all_have_finite_log_odds():
    found = logits({"probabilities": [0.0, 0.25, 0.5, 1.0]})
    # The odds of 0.25 are one to three; 1 is the highest number below one.
    ends = [-math.log(1e16), math.log(2**53)]
    assert found == pytest.approx([ends[0], -math.log(3), 0, ends[1]], rel=1e-9)


def test_predictions_for_other_examples_are_ignored():
    predictions, examples, heads = rows(*drawn(0, False))
    some, fewer = examples[:50], predictions[:50]
    assert scores(predictions, some, heads) == scores(fewer, some, heads)


NONE, ANSWERS = "1 examples of head 'h' have no prediction", "head 'h' has 6 answers"


@pytest.mark.parametrize(
    ("table", "at", "change", "message"),
    [
        (0, 119, {"example_id": "x"}, f"predictions: {NONE}, the first 'h/00119'"),
        (0, 4, {"example_id": "h/00003"}, "example h/00003: head 'h' has two pred"),
        (0, 0, {"logits": [1.0]}, f"example h/00000: 1 scores where {ANSWERS}"),
        (0, 2, {"probabilities": [0.5] * 7}, f"h/00002: 7 scores where {ANSWERS}"),
        (0, 1, {"logits": [math.nan] * 6}, "h/00001: a score of head 'h' is not a"),
        (1, 4, {"labels": [6]}, f"example h/00004: label 6 where {ANSWERS}"),
        (1, 4, {"labels": [-1]}, f"example h/00004: label -1 where {ANSWERS}"),
        (1, 5, {"labels": []}, "h/00005: 0 right answers where head 'h' takes one"),
        (1, 5, {"labels": [0, 1]}, "h/00005: 2 right answers where head 'h'"),
        (1, 6, {"head_id": "g"}, "example h/00006: head 'g' is not among the heads"),
    ],
)
def test_invalid_rows_are_named_in_the_error(table, at, change, message):
    task = rows(*drawn(0, False))
    task[table][at].update(change)
    with pytest.raises(BadInput, match=message):
        scores(*task, metrics=["accuracy"])


def test_the_error_for_an_unknown_metric_lists_the_known_ones():
    with pytest.raises(
        BadInput,
        match="there is no metric 'F1'; use accuracy, balanced accuracy, micro F1, ",
    ):
        scores([], [], [], metrics=["accuracy", "F1"])
