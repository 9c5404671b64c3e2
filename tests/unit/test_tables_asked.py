"""What was counted as a language model was asked stands in a footnote of its row."""

import json

import pytest

from lextables.tables.asked import in_words, with_counts
from lextables.tables.cells import Cell, build
from lextables.tables.render import markdown

COUNTED = {
    "requests": 5700, "unparseable": 3, "ties": 12, "disagreements": 40, "cut": 0, "first_listed": 0.612,
    "first_listed_by_chance": 0.5, "outside": 0.031,
}  # fmt: skip
WORDS = (
    "asked in 5,700 requests, 3 unparseable, 12 ties, 40 on which the two orders disagree, 0 with a text cut "
    "to the window, what is listed first won 61.2 % (by chance 50.0 %), 3.1 % of the probability on no answer"
)
ASKED, READ = "runs/p/ask/bm25+llm/short-pairwise/seed0", "runs/p/retrieve/bm25/short/seed0"


@pytest.fixture
def root(tmp_path):
    for run, record in ((ASKED, {"asked": COUNTED}), (READ, {})):
        (tmp_path / run).mkdir(parents=True)
        (tmp_path / run / "run.json").write_text(json.dumps(record))
    return tmp_path


def test_counts_in_words():
    assert in_words(COUNTED) == WORDS
    assert in_words({"requests": 2, "unparseable": 0, "first_listed": None, "outside": None}) == (
        "asked in 2 requests, 0 unparseable"
    )


def test_the_first_score_of_a_model_says_what_was_counted(root):
    cells = [
        Cell("LLM", "NDCG", 0.5, runs=(ASKED,), reason="strict"),
        Cell("LLM", "precision", 0.4, runs=(ASKED,)),
        Cell("of a category", "LLM", 0.4, runs=(ASKED,)),
        Cell("BM25", "NDCG", 0.3, runs=(READ,)),
        Cell("both", "NDCG", 0.3, runs=(READ, ASKED)),
        Cell("none", "NDCG", None, reason="not here"),
    ]
    found = [cell.reason for cell in with_counts(cells, root)]
    assert found == [f"strict; {WORDS}", "", "", "", "", "not here"]


def test_it_is_a_footnote_of_the_table(root):
    cells = with_counts([Cell("LLM", "NDCG", 0.5, decimals=2, runs=(ASKED,))], root)
    assert WORDS in markdown("A table", "here", build([], cells, comparable=True), name="table1")
