"""BM25: Lucene's text analysis, its rounded document lengths, and scores calculated by
hand.
"""

import math

import pytest

from lextables.models.bm25 import BM25Index, analyze, lossy_length


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The Licensee's obligations", ["license", "oblig"]),
        ("licensees’ and the seller’s", ["license", "seller"]),
        ("as-is", []),  # both halves are stop words
        (
            "non\u00adcompete clause",
            ["non", "compet", "claus"],
        ),  # a soft hyphen splits a word
        (
            "Section 11.6(a), 3,000",
            ["section", "11.6", "3,000"],
        ),  # UAX 29 does not split numbers
        ("can't e-mail", ["can't", "e", "mail"]),
        ("ÉTAT", ["état"]),
        ("***", []),
    ],
)
def test_text_is_analysed_as_in_lucene(text, terms):
    assert analyze(text) == terms


@pytest.mark.parametrize(
    ("length", "stored"),
    [
        (0, 0),
        (23, 23),
        (24, 24),
        (39, 39),
        (40, 40),
        (41, 40),
        (57, 56),
        (100, 96),
        (1000, 984),
    ],
)
def test_document_lengths_are_rounded_as_in_lucene(length, stored):
    assert lossy_length(length) == stored


def test_scores_equal_calculations_by_hand():
    index = BM25Index(
        {"a": ["cap", "cap", "fee"], "b": ["cap"], "c": ["fee", "law", "law"]}
    )
    mean = 7 / 3
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    assert index.idf("cap") == pytest.approx(idf)
    expected_a = idf * 2 / (2 + 0.9 * (1 - 0.4 + 0.4 * 3 / mean))
    expected_b = idf * 1 / (1 + 0.9 * (1 - 0.4 + 0.4 * 1 / mean))
    assert index.search(["cap"], 10) == [
        ("a", pytest.approx(expected_a)),
        ("b", pytest.approx(expected_b)),
    ]
    # A repeated query term counts each time; a document without a query term is not
    # returned.
    assert index.search(["cap", "cap"], 1) == [("a", pytest.approx(2 * expected_a))]
    assert index.search(["tort"], 10) == []


def test_ties_are_sorted_by_id():
    index = BM25Index({"z": ["cap"], "a": ["cap"], "m": ["cap"], "x": ["law"]})
    assert [doc for doc, _ in index.search(["cap"], 10)] == ["a", "m", "z"]
    # Also if the first term of the query is in a later document.
    index = BM25Index({"a": ["cap"], "b": ["fee"], "c": ["law"]})
    (first, score), (second, same) = index.search(["fee", "cap"], 10)
    assert (first, second) == ("a", "b")
    assert score == same


def test_empty_documents_do_not_count_in_the_average_length():
    with_empty = BM25Index({"a": ["cap"], "b": ["law", "fee"], "e": []})
    without = BM25Index({"a": ["cap"], "b": ["law", "fee"]})
    assert with_empty.search(["cap"], 5) == without.search(["cap"], 5)
