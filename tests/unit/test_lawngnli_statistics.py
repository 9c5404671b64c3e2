import math
import random

import pytest

from lextables.lawngnli.statistics import dataset_statistics, funnel, has_negation_word, table2


def length(text):
    return len(text.split())


@pytest.mark.parametrize(
    ("hypothesis", "negated"),
    [
        ("the court has no power", True),
        ("the tenant did not pay", True),
        ("the tenant did not.", True),
        ("he did not. She paid", True),
        ("the court cannot sit", True),
        ("neither party paid", True),
        ("the lessor didn't pay", True),
        ("nothing, nor nobody, is named", True),
        ("No power was given", False),  # the released code minds capitals
        ("a notable nonprofit is named", False),
        ("a no-fault rule applies", False),
        ("the know-how was sold", False),
        ("", False),
    ],
)
def test_has_negation_word(hypothesis, negated):
    assert has_negation_word(hypothesis) is negated


ROWS = [
    {"premise": "a b c", "hypothesis": "x is not y", "label": "entail"},
    {"premise": "a b c", "hypothesis": "x is y", "label": "contradict"},
    {"premise": "a", "hypothesis": "z is so", "label": "neutral"},
    {"premise": "a b c d e", "hypothesis": "x is y", "label": "entail"},
]


def test_dataset_statistics():
    found = dataset_statistics(ROWS, length)
    assert found.premise_length == pytest.approx((1.6, 2.5, 3.0, 3.5, 4.4))
    assert found.hypothesis_length == pytest.approx(13 / 4)
    assert found.hypothesis_negation == {"entail": 0.5, "neutral": 0.0, "contradict": 0.0}
    assert (found.unique_premises, found.unique_hypotheses, found.examples) == (3, 3, 4)


def test_two_labels_and_another_premise_column():
    rows = [{"text": "a b", "hypothesis": "not so", "label": "not_entail"}]
    found = dataset_statistics(rows, length, premise="text", labels=("entail", "not_entail"))
    assert math.isnan(found.hypothesis_negation["entail"])
    assert found.hypothesis_negation["not_entail"] == 1.0
    with pytest.raises(KeyError):
        dataset_statistics(rows, length, premise="text")


def test_no_rows():
    found = dataset_statistics([], length)
    assert found.examples == 0
    assert all(math.isnan(value) for value in (*found.premise_length, found.hypothesis_length))


def test_a_text_is_measured_once():
    asked = []

    def counting(text):
        asked.append(text)
        return 1

    dataset_statistics(ROWS, counting)
    assert len(asked) == len(set(asked)) == 6


def test_table2_counts_the_training_split_in_four_columns():
    base = {"hypothesis": "x", "label": "entail", "split": "train", "analysis": True}
    rows = [
        {**base, "long_premise": "a b c", "short_premise": "a"},
        {**base, "long_premise": "a b c d", "short_premise": "a", "analysis": False},
        {**base, "long_premise": "a b c d e f", "short_premise": "a b", "split": "test"},
    ]
    found = table2(rows, length)
    assert {key: (c.examples, c.unique_premises, c.premise_length[2]) for key, c in found.items()} == {
        ("long", "analysis"): (1, 1, 3.0),
        ("long", "full"): (2, 2, 3.5),
        ("short", "analysis"): (1, 1, 1.0),
        ("short", "full"): (2, 1, 1.0),
    }
    assert repr(table2(random.Random(1).sample(rows, 3), length)) == repr(found)  # nan is not nan


def test_funnel():
    steps = funnel([("citations", 200), ("parentheticals", 50), ("resolved", 0), ("twinned", 8)])
    assert [(s.step, s.left, s.dropped) for s in steps] == [
        ("citations", 200, 0),
        ("parentheticals", 50, 150),
        ("resolved", 0, 50),
        ("twinned", 8, -8),
    ]
    assert [s.of_first for s in steps] == [1.0, 0.25, 0.0, 0.04]
    assert steps[1].of_previous == 0.25
    assert math.isnan(steps[3].of_previous)
    assert funnel([]) == []
