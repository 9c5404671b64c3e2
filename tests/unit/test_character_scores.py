"""Character precision and recall, with values by hand for a file with passages of ten characters."""

import pytest

from lextables.metrics.ranking import by_name
from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from lextables.tasks.retrieval.collection import TRIED, Collection
from lextables.tasks.retrieval.scoring import choose, scores

# A file of 34 characters: three passages of ten and one of four.  The query `fee` is answered by [5, 25) and
# [31, 33): 5 + 10 + 5 characters of the first three passages and 2 of the last.  No passage answers `law`.
LENGTHS = {"a": 10, "b": 10, "c": 10, "d": 4}
GAINS = {"fee": {"a": 5, "b": 10, "c": 5, "d": 2}, "law": {}}


def both(run, cutoff):
    measures = ("Character precision", "Character recall")
    return [by_name(f"{measure}@{cutoff}", LENGTHS)(GAINS, run) for measure in measures]


@pytest.mark.parametrize(
    ("hits", "cutoff", "precision", "recall"),
    [
        (["b", "a"], 1, 10 / 10, 10 / 22),
        (["b", "a"], 2, 15 / 20, 15 / 22),
        (["b", "a"], 64, 15 / 20, 15 / 22),  # fewer passages are returned than the cutoff
        (["d", "b"], 2, 12 / 14, 12 / 22),  # by characters: a short passage counts less
        (["x", "b"], 2, 10 / 17, 10 / 22),  # a passage of another file has no relevant characters
        (["d", "c", "b", "a"], 4, 22 / 34, 1),
        ([], 4, 0, 0),
    ],
)
def test_precision_and_recall_count_characters(hits, cutoff, precision, recall):
    found = [
        by_name(f"Character {measure}@{cutoff}", LENGTHS | {"x": 7})(GAINS, {"fee": hits})["fee"]
        for measure in ("precision", "recall")
    ]
    assert found == [pytest.approx(precision), pytest.approx(recall)]


def test_queries_without_an_answer_or_a_result_count_with_a_score_of_zero():
    assert both({"law": ["a"]}, 2) == [{"fee": 0, "law": 0}, {"fee": 0, "law": 0}]


def test_scoring_uses_the_lengths_of_the_passages():
    texts = {"a": "0123456789", "d": "0123"}
    task = {"test": "test", "pool": "all", "metrics": ["Character precision@2"], "groups": []}
    queries = {"fee": {"split": "test"}}
    predictions = [
        {"query_id": "fee", "rank": rank, "document_id": passage} for rank, passage in ((1, "d"), (2, "a"))
    ]
    rows = scores(predictions, Collection(texts, queries, {"fee": {"d": 2, "a": 5}}, task))
    assert {row["group"]: row["value"] for row in rows} == {"all": 7 / 14, "query: fee": 7 / 14}


def test_trials_can_be_selected_by_character_precision(tmp_path):
    task = {"validation": "valid", "choose_by": "Character precision@1"}
    collection = Collection(
        {"a": "0123456789", "d": "0123"}, {"fee": {"split": "valid"}}, {"fee": {"d": 2, "a": 4}}, task
    )
    rows = [
        {"updates": updates, "query_id": "fee", "document_id": passage, "score": score}
        for updates, scores in ((1, {"a": 1.0, "d": 0.0}), (2, {"a": 0.0, "d": 1.0}))
        for passage, score in scores.items()
    ]
    write(TRIED, rows, tmp_path / "tried.parquet")
    choice, means = choose({(1e-4, 0): tmp_path / "tried.parquet"}, collection, {"fee": ["a", "d"]})
    assert [row["validation Character precision@1"] for row in means] == [4 / 10, 2 / 4]
    assert choice == {"learning_rate": 1e-4, "updates": [2]}


def test_a_name_without_a_cutoff_raises():
    with pytest.raises(BadInput, match="has no cutoff"):
        by_name("Character recall")
