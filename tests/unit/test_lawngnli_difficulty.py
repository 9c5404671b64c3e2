"""Hypotheses that are too easy: they share word pairs with the premise, have a
quotation mark, or are short (LawngNLI).
"""

import pytest

from lextables.papers.lawngnli.hypotheses.difficulty import (
    OVERLAP,
    QUOTATION,
    SHORT,
    bigram_overlap,
    difficulty_fault,
    has_quotation_mark,
)

PREMISE = "The tenant gave notice in March. The landlord kept the deposit, and the court ordered its return."


@pytest.mark.parametrize(
    ("hypothesis", "share"),
    [
        ("landlord kept the deposit", 1.0),
        ("LANDLORD, kept the: deposit!", 1.0),
        ("landlord sold the deposit", 1 / 3),  # only "the deposit"
        ("lord kept the", 0.5),  # "lord kept" is not a bigram of the premise
        ("the insurer paid nothing at all", 0.0),
        ("deposit", 0.0),
        (
            "kept the deposit; kept the deposit",
            2 / 3,
        ),  # not "deposit kept"; equal bigrams count once
        (
            "March -- the landlord’s deposit",
            1 / 3,
        ),  # only "march the": "landlord's" is another word
    ],
)
def test_bigram_overlap(hypothesis, share):
    assert bigram_overlap(hypothesis, PREMISE) == pytest.approx(share)


@pytest.mark.parametrize(
    ("hypothesis", "has"),
    [
        ('a "special danger" was needed', True),
        ("a “special danger” was needed", True),
        ("a ‘special danger’ was needed", True),
        ("a 'special danger' was needed", True),
        ("a ``special danger'' was needed", True),
        ("the defendants' motion was the court's to deny", False),
        ("the defendants’ motion was the court’s to deny", False),
    ],
)
def test_apostrophes_are_not_quotation_marks(hypothesis, has):
    assert has_quotation_mark(hypothesis) is has


@pytest.mark.parametrize(
    ("hypothesis", "fault"),
    [
        ('"landlord" kept', QUOTATION),  # the first fault in the paper's order
        ("landlord kept it", SHORT),
        ("the agent sold it", None),  # four words are enough
        ("the landlord kept a bond", OVERLAP),  # 2 of 4: "at least 50 %"
        ("the landlord kept a bond instead", None),  # 2 of 5
        ("an agent may bind its principal", None),
    ],
)
def test_difficulty_fault(hypothesis, fault):
    assert difficulty_fault(hypothesis, "the landlord kept the deposit") == fault
