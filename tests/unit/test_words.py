"""Which texts of tables have the same words, numbers and symbols."""

import pytest

from lextables.tables.words import same_words

SAME = [
    ("Third-party  beneficiary", "third party beneficiary"),
    ("“as-is” clause", "as is clause."),
    ("Straße", "STRASSE"),
    ("café", "cafe\u0301"),
    ("co\u00adoperate", "cooperate"),
    ("-0.5", "−0.5"),
    ("- 0.5", "–0.5"),
    ("loss (-0.5)", "loss (– 0.5)"),
    ("+0.5", "0.5"),
    ("-$5", "−$5"),
    ("1,000 words", "1000 words"),
    ("1,234,567.5", "1234567.5"),
    ("p <= 0.05", "p ≤ 0.05"),
    ("p != 0", "p ≠ 0"),
    ("0.7 +/- 0.1", "0.7±0.1"),
    ("54 %", "54%"),
    ("５", "5"),
    (".5", "0.5"),
    ("1–2", "1 - 2"),
    ("GPT-4", "GPT 4"),
    ("[970, 1527]", "[970, 1527]"),
    ("—", "-"),
    ("", " "),
]
DIFFERENT = [
    ("Clauses that exclude", "Clauses that excludes"),
    ("pre-trained", "pretrained"),
    ("résumé", "resume"),
    ("की", "क"),
    ("1.5", "15"),
    ("1,5", "15"),
    ("1,5", "1.5"),
    ("1,0000", "10000"),
    ("0,123", "0123"),
    ("1,000,00", "100000"),
    ("0.5", "0.50"),
    (".5", "5"),
    ("(0.1, 0.2)", "(0.10.2)"),
    ("[1, 2]", "[12]"),
    ("-0.5", "0.5"),
    ("−0.5", "+0.5"),
    ("– 0.5", "0.5"),
    ("(-0.5)", "(0.5)"),
    ("[0.1,-0.2]", "[0.1,0.2]"),
    ("x=-1", "x=1"),
    ("> -1", "> 1"),
    ("-$5", "$5"),
    ("$-5", "$5"),
    ("-.5", ".5"),
    ("-∞", "∞"),
    ("-inf", "inf"),
    ("a < b", "a > b"),
    ("≤ 5", "≥ 5"),
    ("≤ 5", "< 5"),
    ("a = b", "a ≠ b"),
    ("a b", "a = b"),
    ("0.7 ± 0.1", "0.7 0.1"),
    ("0.7 + 0.1", "0.7 - 0.1"),
    ("~5", "5"),
    ("≈5", "~5"),
    ("5%", "5"),
    ("5‰", "5%"),
    ("$5", "€5"),
    ("5°", "5"),
    ("1-2", "12"),
    ("1-2", "1 -2"),
    ("5 - 3", "5 3"),
    ("1/2", "1-2"),
    ("1:2", "1 2"),
    ("10²", "102"),
    ("10⁻²", "10²"),
    ("1½", "11/2"),
    ("✓", "✗"),
    ("–", "?"),
    ("–", ""),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_the_same_words(first, second):
    assert same_words(first, second)
    assert same_words(second, first)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_different_words(first, second):
    assert not same_words(first, second)
    assert not same_words(second, first)
