"""Statistics of LawngNLI's texts: negation words, and the columns of Table 2."""

import random

import pytest

from lextables.papers.lawngnli.evaluation.statistics import has_negation_word, table2


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
        (
            "Cannot the court sit?",
            True,
        ),  # NLTK splits the first word; its second part is "not"
        ("he was told 'no'", True),
        ("it is (not) so", True),
        ("neither party paid", True),
        ("the lessor didn't pay", True),
        ("nothing, nor nobody, is named", True),
        ("it has NO power", False),
        ("it has Not paid", False),
        ("NOTHING is owed", False),
        ("No tenant has a no-fault claim", False),
        ("No power was given", False),  # the released code is case-sensitive
        ("a notable nonprofit is named", False),
        ("a no-fault rule applies", False),
        ("the know-how was sold", False),
        ("Neither he nor another noticed NOT", True),
        ("Neither another noticed NOT", False),
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


def column(rows, length):
    """Return one column of Table 2."""
    common = {"split": "train", "analysis": True, "short_premise": ""}
    return table2(
        [{**common, **row, "long_premise": row["premise"]} for row in rows], length
    )["long", "full"]


def test_a_column_of_table2():
    found = column(ROWS, length)
    assert found.premise_length == pytest.approx((1.6, 2.5, 3.0, 3.5, 4.4))
    assert found.hypothesis_length == pytest.approx(13 / 4)
    assert found.hypothesis_negation == {
        "entail": 0.5,
        "neutral": 0.0,
        "contradict": 0.0,
    }
    assert (found.unique_premises, found.unique_hypotheses, found.examples) == (3, 3, 4)


def test_each_text_is_measured_once_for_all_columns():
    asked = []

    def counting(text):
        asked.append(text)
        return 1

    column(ROWS, counting)
    assert (
        len(asked) == len(set(asked)) == 7
    )  # three premises, three hypotheses, the empty short premise


def test_table2_counts_the_training_split_in_four_columns():
    base = {"hypothesis": "x", "label": "entail", "split": "train", "analysis": True}
    rows = [
        {**base, "long_premise": "a b c", "short_premise": "a"},
        {**base, "long_premise": "a b c d", "short_premise": "a", "analysis": False},
        {
            **base,
            "long_premise": "a b c d e f",
            "short_premise": "a b",
            "split": "test",
        },
    ]
    rows.append(rows[2] | {"split": "val"})
    found = table2(rows, length)
    assert {
        key: (c.examples, c.unique_premises, c.premise_length[2])
        for key, c in found.items()
    } == {
        ("long", "analysis"): (1, 1, 3.0),
        ("long", "full"): (2, 2, 3.5),
        ("short", "analysis"): (1, 1, 1.0),
        ("short", "full"): (2, 1, 1.0),
    }
    assert table2(random.Random(1).sample(rows, 4), length) == found
