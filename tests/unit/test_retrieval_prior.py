"""First stages that read no query."""

import pytest
from pydantic import ValidationError

from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.planner import Retriever
from lextables.tasks.retrieval.rankers import prior
from lextables.tasks.retrieval.ranking import Ranking

TASK = {"training": "train", "validation": "valid", "test": "test"}
COLLECTION = Collection(
    {"a": "one two three", "b": "one", "c": "one two", "d": "one two three four"},
    {
        "learnt": {"split": "train", "short": "fee"},
        "chosen": {"split": "valid", "short": "law"},
        "asked": {"split": "test", "short": "tax"},
    },
    {
        "learnt": {"a": 1, "c": 2},
        "chosen": {"a": 2, "d": 4},
        "asked": {"a": 0, "b": 4, "c": 0},
    },
    TASK,
)


@pytest.mark.parametrize(
    ("by", "top", "expected"),
    [
        # The gains of the test query are not read, and `d` is not in its pool.
        ("gain", None, [("a", 3), ("c", 2), ("b", 0)]),
        ("gain", 1, [("a", 3)]),
        ("length", None, [("b", -1), ("c", -2), ("a", -3)]),
    ],
)
def test_documents_are_ranked_without_the_query(by, top, expected):
    settings = {"form": "short", "by": by, "top": top}
    hits = prior.rank(Ranking(COLLECTION, {"short": settings}))
    assert hits == {"short": {"asked": expected}}


@pytest.mark.parametrize("fields", [{"kind": "prior"}, {"kind": "bm25", "by": "gain"}])
def test_only_a_prior_says_by_what_it_ranks(fields):
    assert "only a prior" in Retriever(row="x", **fields).fault()


def test_another_order_is_an_error():
    with pytest.raises(ValidationError, match="'gain' or 'length'"):
        Retriever(row="x", kind="prior", by="date")
