"""From predictions to scores: by the general evaluator, or by a released one."""

import json

import pytest

from lextables.metrics import classification, minority_aupr
from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import SCORES
from lextables.tasks.classification.scoring import LEFT_OUT, score

HEADS = [
    {"head_id": "1", "question": "Q1", "category": "Law", "answers": ["no", "yes"]},
    {"head_id": "2", "question": "Q2", "category": "Law", "answers": ["a", "b", "c"]},
]
LABELS = {"1": [0, 1, 1, 0, 1, 0], "2": [0, 1, 2, 2, 1, 0]}
EXAMPLES = [
    {
        "example_id": f"{head}/{number}",
        "head_id": head,
        "label": label,
        "split": split,
        "contract": f"contract_{number % 3}",
        "data_type": "main" if number % 2 else "abridged",
    }
    for split in ("test", "train")
    for head, labels in LABELS.items()
    for number, label in enumerate(labels, 10 * (split == "train"))
]
GENERAL = {
    "evaluator": "general", "metrics": ["accuracy", "macro F1"], "unit": "contract", "multi_label": False,
    "views": {}, "groups": [],
}  # fmt: skip
MINORITY = GENERAL | {"evaluator": "minority AUPR", "metrics": []}


def predictions(*heads):
    """Each answer in turn is the likeliest."""
    sizes = {head["head_id"]: len(head["answers"]) for head in HEADS}
    return [
        {
            "head_id": row["head_id"],
            "example_id": row["example_id"],
            "logits": [2.0 * (answer == number % size) - answer / 9 for answer in range(size)],
            "probabilities": [0.9 if answer == number % 2 else 0.2 for answer in range(size)],
        }
        for number, row in enumerate(EXAMPLES)
        for size in [sizes[row["head_id"]]]
        if row["split"] == "test" and row["head_id"] in heads
    ]


@pytest.fixture
def census(tmp_path):
    def of(*comparable):
        path = tmp_path / "census.json"
        path.write_text(json.dumps({"sources": [{"comparable": one} for one in comparable]}))
        return path

    return of


TEST = [row for row in EXAMPLES if row["split"] == "test"]


def test_the_general_evaluator_has_the_task_s_metrics_over_its_test_examples(census, tmp_path):
    found, _ = score(predictions("1", "2"), EXAMPLES, HEADS, ["test"], GENERAL, census(True))
    labelled = [row | {"labels": [row["label"]]} for row in TEST]
    expected = classification.scores_and_jackknives(
        predictions("1", "2"), labelled, HEADS, metrics=["accuracy", "macro F1"], unit="contract"
    )[0]
    assert [row for row in found if row["metric"] != LEFT_OUT] == expected
    assert write(SCORES, found, tmp_path / "scores.parquet") == len(found)
    by_name = {(row["metric"], row["group"]): row for row in found}
    assert by_name["accuracy", "head: 1"]["n"] == 6 and by_name["accuracy, low", "all"]["n"] == 3
    assert (by_name[LEFT_OUT, "all"]["value"], by_name[LEFT_OUT, "all"]["n"]) == (0, 2)


def test_a_head_that_was_not_trained_is_left_out_and_counted(census):
    found, _ = score(predictions("1"), EXAMPLES, HEADS, ["test"], GENERAL, census(True))
    by_name = {(row["metric"], row["group"]): row for row in found}
    assert not [group for _, group in by_name if "2" in group]
    assert by_name["accuracy", "all"]["value"] == by_name["accuracy", "head: 1"]["value"]
    assert (by_name[LEFT_OUT, "all"]["value"], by_name[LEFT_OUT, "all"]["n"]) == (1, 2)
    with pytest.raises(BadInput, match="1 examples of head '1' have no prediction"):
        score(predictions("1")[1:], EXAMPLES, HEADS, ["test"], GENERAL, census(True))


def test_examples_may_have_several_right_answers(census):
    labels = [[0], [], [0, 1], [1], [], [0]]
    rows = [
        {"example_id": f"1/{n}", "head_id": "1", "split": "test", "labels": of} for n, of in enumerate(labels)
    ]
    heads = [{"head_id": "1", "answers": ["no", "yes"]}]
    task = GENERAL | {"multi_label": True, "unit": None, "metrics": ["accuracy", "micro F1"]}
    found, _ = score(predictions("1"), rows, heads, ["test"], task, census(True))
    by_name = {(row["metric"], row["group"]): row["value"] for row in found}
    # What is chosen: 0, 1, 0, 1, 0, 1.
    assert by_name["accuracy", "all"] == 2 / 6
    assert by_name["micro F1", "all"] == pytest.approx(2 * 3 / (5 + 6))


@pytest.mark.parametrize("comparable", [(True, True), (True, False)])
def test_the_released_evaluator_is_mauds(census, comparable):
    found, _ = score(predictions("1", "2"), EXAMPLES, HEADS, ["test"], MINORITY, census(*comparable))
    partial = not all(comparable)
    assert (
        found
        == minority_aupr.scores_and_jackknives(
            predictions("1", "2"), TEST, HEADS, partial=partial, unit="contract"
        )[0]
    )


def test_of_other_data_a_released_evaluator_leaves_heads_out_where_else_it_stops(census):
    found, _ = score(predictions("1"), EXAMPLES, HEADS, ["test"], MINORITY, census(True, False))
    assert {row["group"] for row in found if row["metric"] == "AUPR" and "head" in row["group"]} >= {
        "head: 1"
    }
    with pytest.raises(BadInput, match="examples of head '2' have no prediction"):
        score(predictions("1"), EXAMPLES, HEADS, ["test"], MINORITY, census(True, True))
