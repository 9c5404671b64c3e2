"""Which settings a head is trained with, on which examples."""

import pytest

from lextables.dataset import write
from lextables.errors import BadInput
from lextables.maud.training import JOINT, published_points, searched_points, splits, spread, usable
from lextables.models.classification import PREDICTIONS

HEADS = [
    {"head_id": "1", "question": "Q1", "category": "Knowledge", "answers": ["A", "B"]},
    {"head_id": "2", "question": "Q2", "category": "Knowledge", "answers": ["A", "B"]},
]


def example(number, head, label, split="dev"):
    return {
        "example_id": f"{split}-{number}",
        "head_id": head,
        "label": label,
        "split": split,
        "data_type": "main",
        "contract": f"contract_{number}",
    }


DEV = [example(n, head, n % 2) for head in "12" for n in (int(head) * 10 + i for i in range(4))]


def predicted(path, *groups):
    """Predictions: (updates, {head: whether it is right})."""
    rows = [
        {
            "updates": updates,
            "head_id": row["head_id"],
            "example_id": row["example_id"],
            "logits": logits,
            "probabilities": [0.5, 0.5],
        }
        for updates, right in groups
        for row in DEV
        for logits in [[1.0, -1.0] if (row["label"] == 0) == right[row["head_id"]] else [-1.0, 1.0]]
    ]
    write(PREDICTIONS, sorted(rows, key=lambda r: (r["updates"], r["head_id"], r["example_id"])), path)
    return path


def test_a_search_leaves_test_alone_and_a_final_run_trains_on_dev_too():
    assert splits("single-search") == splits("multi-search") == (("train",), "dev")
    assert splits("single") == splits("multi") == (("train", "dev"), "test")


def test_each_head_takes_the_point_that_is_best_for_it(tmp_path):
    low = predicted(tmp_path / "a.parquet", (100, {"1": True, "2": False}), (200, {"1": False, "2": False}))
    high = predicted(tmp_path / "b.parquet", (100, {"1": False, "2": False}), (200, {"1": False, "2": True}))
    points = searched_points({"setting": "single"}, [(1e-5, low), (1e-4, high)], DEV, HEADS)
    assert points == {"1": (1e-5, 100), "2": (1e-4, 200)}


def test_a_multi_task_model_takes_the_point_that_is_best_over_questions(tmp_path):
    low = predicted(tmp_path / "a.parquet", (3600, {"1": True, "2": True}))
    high = predicted(tmp_path / "b.parquet", (3600, {"1": True, "2": False}))
    points = searched_points({"setting": "multi"}, [(1e-4, high), (1e-5, low)], DEV, HEADS)
    assert points == {JOINT: (1e-5, 3600)}


PUBLISHED = {"published": "roberta-base", "percent": 100, "setting": "single", "updates_per_round": 3600}
BEST = [
    {"model": "roberta-base", "share": 1.0, "head_id": "1", "learning_rate": 3e-5, "updates": 300},
    {"model": "roberta-base", "share": 0.5, "head_id": "1", "learning_rate": 1e-4, "updates": 100},
    {"model": "bert-base-cased", "share": 1.0, "head_id": "2", "learning_rate": 1e-5, "updates": 200},
]
GRID = [
    {"model": "roberta-base", "abridged": True, "learning_rate": 1e-5, "epochs": 6, "validation_aupr": 0.56},
    {"model": "roberta-base", "abridged": True, "learning_rate": 1e-4, "epochs": 1, "validation_aupr": 0.28},
    {"model": "roberta-base", "abridged": False, "learning_rate": 3e-5, "epochs": 5, "validation_aupr": 0.9},
]


def test_the_authors_settings_go_by_head_and_share():
    assert published_points(PUBLISHED, ["1"], BEST, GRID) == {"1": (3e-5, 300)}
    assert published_points(PUBLISHED | {"percent": 50}, ["1"], BEST, GRID) == {"1": (1e-4, 100)}
    with pytest.raises(BadInput, match=r"no settings of roberta-base for head '2'.*maud_settings"):
        published_points(PUBLISHED, ["1", "2"], BEST, GRID)


def test_the_authors_multi_task_settings_are_those_of_whole_data():
    found = published_points(PUBLISHED | {"setting": "multi"}, ["1"], BEST, GRID)
    assert found == {JOINT: (1e-5, 6 * 3600)}


def test_a_cap_spreads_over_the_heads():
    heads = {str(n): ["A", "B"] for n in range(10)}
    assert list(spread(heads, 4)) == ["0", "2", "5", "7"]
    assert spread(heads, None) == spread(heads, 10) == heads


def test_a_head_needs_two_answers_to_learn_from_and_an_example_to_score():
    training = [example(1, "1", 0, "train"), example(2, "1", 1, "train"), example(3, "2", 0, "train")]
    scored = [example(4, "1", 0, "test"), example(5, "2", 0, "test")]
    assert usable(HEADS, training, scored) == {"1": ["A", "B"]}
    with pytest.raises(BadInput, match="no question has two answers in training"):
        usable(HEADS, training[2:], scored)
