"""Checks of MAUD's rows: constraints of A.3, answers without test examples, and overlap
between splits.
"""

import pytest

from lextables import ROOT
from lextables.papers.maud import constraints, schema
from lextables.papers.maud.catalogue import read_catalogue
from lextables.pipeline.dataset import write

CATALOGUE = read_catalogue((ROOT / "resources/facts/maud_questions.yaml").read_bytes())
APC = "A/P/C application to-Answer"
KNOWLEDGE, CONSTRUCTIVE = "Knowledge Definition-Answer", "Constructive Knowledge-Answer"
CONDITION = constraints.Condition(CONSTRUCTIVE, KNOWLEDGE, ("Constructive Knowledge",))
DEFAULTS = {
    "split": "train",
    "data_type": "main",
    "contract": "contract_1",
    "label": 0,
    "text_id": "t",
}


def examples(*rows):
    """Numbered rows of examples, with defaults for missing columns."""
    return [
        {
            "example_id": f"train-{number:05d}",
            "head_id": "01",
            "question": "q",
            "answer": "a",
        }
        | DEFAULTS
        | row
        for number, row in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("answer", "broken"),
    [
        ("No", False),
        ("announcement", False),
        ("announcement, consummation, pendency", False),
        ("No, consummation", True),
        ("announcement, No", True),
        ("Not announced, consummation", False),
    ],
)
def test_none_of_the_above_must_be_the_only_answer(answer, broken):
    rows = constraints.constraint_violations(
        examples(
            {"question": APC, "answer": answer},
            {"question": "another", "answer": answer},
        ),
        {APC: "No"},
        [],
    )
    assert [(row["example_id"], row["constraint"]) for row in rows] == (
        [("train-00000", "none of the above")] if broken else []
    )


@pytest.mark.parametrize(
    ("of_knowledge", "constructive", "broken"),
    [
        ({"answer": "Constructive knowledge"}, {}, False),
        ({"answer": "Actual knowledge"}, {}, True),
        # An abridged example must be consistent with the contract's answer in the main
        # data.
        ({"answer": "Actual knowledge"}, {"data_type": "abridged"}, True),
        ({"answer": "Actual knowledge", "data_type": "abridged"}, {}, False),
        ({"answer": "Actual knowledge"}, {"contract": "contract_2"}, False),
        (
            {"answer": "Actual knowledge"},
            {"data_type": "rare", "contract": None},
            False,
        ),
        ({"answer": "Actual knowledge", "contract": None}, {"contract": None}, False),
    ],
)
def test_a_conditional_question_requires_an_answer_to_another_question(
    of_knowledge, constructive, broken
):
    rows = constraints.constraint_violations(
        examples(
            {"question": KNOWLEDGE} | of_knowledge,
            {"question": CONSTRUCTIVE} | constructive,
        ),
        {},
        [CONDITION],
    )
    assert [(row["example_id"], row["found"]) for row in rows] == (
        [("train-00001", "Actual knowledge")] if broken else []
    )


def test_conditions_of_unknown_questions_are_reported():
    fixed = constraints.Condition(
        "Stock Deal: Fixed Ratio v. Fixed Value-Answer",
        "Type of Consideration-Answer",
        (),
    )
    assert constraints.unchecked(CATALOGUE, [CONDITION, fixed]) == [fixed.question]


def counted(*labels_by_split):
    rows = [
        {"head_id": head_id, "split": split, "label": label, "data_type": data_type}
        for head_id, split, label, data_type in labels_by_split
    ]
    return constraints.answer_counts(examples(*rows), CATALOGUE)


def test_answer_counts_include_zeros(tmp_path):
    rows = counted(
        ("08", "test", 2, "main"),
        ("08", "test", 2, "abridged"),
        ("08", "train", 0, "rare"),
    )
    assert len(rows) == 3 * 3
    assert write(schema.ANSWER_COUNTS, rows, tmp_path / "counts.parquet") == 9
    (one,) = [row for row in rows if row["split"] == "test" and row["label"] == 2]
    assert one == {
        "head_id": "08",
        "split": "test",
        "label": 2,
        "answer": "Hybrid/Other Standard",
        "main": 1,
        "abridged": 1,
        "rare": 0,
    }


def test_a_question_with_one_answer_in_test_is_reported_without_an_error():
    rows = counted(
        ("08", "test", 2, "main"),
        ("08", "test", 2, "abridged"),
        ("08", "train", 0, "main"),
    )
    (one,) = constraints.undefined_in_test(rows)
    assert (one.head_id, one.only_answer) == ("08", "Hybrid/Other Standard")
    assert one.sentence == (
        "08: all of test answers 'Hybrid/Other Standard', so its AUPR is not defined"
    )


def test_an_answer_without_a_test_example_is_reported():
    rows = counted(
        ("08", "test", 2, "main"),
        ("08", "test", 0, "main"),
        ("15-00", "test", 0, "main"),
    )
    first, second = constraints.undefined_in_test(rows)
    assert first.only_answer is None
    assert (
        first.sentence
        == "08: no example of test answers 'Each Covenant', so those have no AUPR"
    )
    assert second.only_answer == "<OTHER>"


def test_contracts_and_texts_in_two_splits_are_counted(tmp_path):
    rows = examples(
        {"split": "train", "head_id": "01", "contract": "contract_1", "text_id": "a"},
        {"split": "test", "head_id": "02", "contract": "contract_1", "text_id": "a"},
        {"split": "train", "head_id": "01", "contract": "contract_2", "text_id": "b"},
        {"split": "dev", "head_id": "01", "contract": "contract_2", "text_id": "c"},
        {"split": "dev", "head_id": "01", "contract": None, "text_id": "b"},
        {"split": "test", "head_id": "03", "contract": "contract_3", "text_id": "d"},
        {"split": "test", "head_id": "03", "contract": "contract_3", "text_id": "d"},
    )
    found = constraints.split_overlap(rows)
    assert write(schema.SPLIT_OVERLAP, found, tmp_path / "overlap.parquet") == 4
    assert [tuple(row.values()) for row in found] == [
        ("contract", "contract_1", 1, 0, 1, 0),
        ("contract", "contract_2", 1, 1, 0, 1),
        ("text", "a", 1, 0, 1, 0),
        ("text", "b", 1, 1, 0, 1),
    ]
    assert constraints.overlap_notes(found) == {
        "contracts_in_dev_and_test": 0,
        "contracts_in_train_and_dev": 1,
        "contracts_in_train_and_test": 1,
        "contracts_in_two_splits_of_one_head": 1,
        "texts_in_dev_and_test": 0,
        "texts_in_train_and_dev": 1,
        "texts_in_train_and_test": 1,
        "texts_in_two_splits_of_one_head": 1,
    }
