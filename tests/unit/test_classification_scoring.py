"""Scores by the general or a released evaluator, and the selection of trials."""

import json
import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

import jackknife
from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import SCORES
from lextables.tasks.classification.examples import trials
from lextables.tasks.classification.schema import JOINT, TRIED
from lextables.tasks.classification.scoring import LEFT_OUT, published, score, searched
from lextables.tasks.classification.settings import (
    ChoiceSettings,
    ScoreSettings,
    TrainingSettings,
)

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
GENERAL = ScoreSettings(
    evaluator="general",
    metrics=["accuracy", "macro F1"],
    unit="contract",
    multi_label=False,
)
MINORITY = GENERAL.model_copy(update={"evaluator": "minority AUPR", "metrics": ()})


def predictions(*heads):
    """Predictions in which each answer in turn is the most probable one."""
    sizes = {head["head_id"]: len(head["answers"]) for head in HEADS}
    return [
        {
            "head_id": row["head_id"],
            "example_id": row["example_id"],
            "logits": [
                2.0 * (answer == number % size) - answer / 9 for answer in range(size)
            ],
            "probabilities": [
                0.9 if answer == number % 2 else 0.2 for answer in range(size)
            ],
        }
        for number, row in enumerate(EXAMPLES)
        for size in [sizes[row["head_id"]]]
        if row["split"] == "test" and row["head_id"] in heads
    ]


@pytest.fixture
def census(tmp_path):
    def of(*comparable):
        path = tmp_path / "census.json"
        source = {"source": "s", "file": "f", "variant": "v"}
        path.write_text(
            json.dumps(
                {"sources": [source | {"comparable": one} for one in comparable]}
            )
        )
        return path

    return of


TEST = [row for row in EXAMPLES if row["split"] == "test"]


def test_the_general_evaluator_computes_the_task_metrics_on_test_examples(
    census, tmp_path
):
    rows = predictions("1", "2")
    found, _ = score(rows, EXAMPLES, HEADS, ["test"], GENERAL, census(True))
    assert write(SCORES, found, tmp_path / "scores.parquet") == len(found)
    by_name = {(row["metric"], row["group"]): (row["value"], row["n"]) for row in found}
    # Two of six answers of the first head are right, and four of the second.
    assert by_name["accuracy", "head: 1"] == (pytest.approx(1 / 3), 6)
    assert by_name["accuracy", "question: Q2"] == (pytest.approx(2 / 3), 1)
    assert by_name["accuracy", "category: Law"] == (pytest.approx(1 / 2), 2)
    macro_f1 = ((1 / 3 + 1 / 3) / 2 + (1 / 2 + 1 + 1 / 2) / 3) / 2
    assert by_name["macro F1", "all"] == (pytest.approx(macro_f1), 2)
    # Without one of the contracts the accuracies are 1/2, 3/8 and 5/8.
    ends = [by_name[f"accuracy, {end}", "all"] for end in ("low", "high")]
    expected = jackknife.interval(1 / 2, np.array([1 / 2, 3 / 8, 5 / 8]))
    assert ends == [(pytest.approx(end), 3) for end in expected]
    assert by_name[LEFT_OUT, "all"] == (0, 2)


def test_an_untrained_head_is_excluded_and_counted(census):
    found, _ = score(predictions("1"), EXAMPLES, HEADS, ["test"], GENERAL, census(True))
    by_name = {(row["metric"], row["group"]): row for row in found}
    assert not [group for _, group in by_name if "2" in group]
    assert (
        by_name["accuracy", "all"]["value"] == by_name["accuracy", "head: 1"]["value"]
    )
    assert (by_name[LEFT_OUT, "all"]["value"], by_name[LEFT_OUT, "all"]["n"]) == (1, 2)
    with pytest.raises(BadInput, match="1 examples of head '1' have no prediction"):
        score(predictions("1")[1:], EXAMPLES, HEADS, ["test"], GENERAL, census(True))


def test_examples_may_have_several_right_answers(census):
    labels = [[0], [], [0, 1], [1], [], [0]]
    rows = [
        {"example_id": f"1/{n}", "head_id": "1", "split": "test", "labels": of}
        for n, of in enumerate(labels)
    ]
    heads = [{"head_id": "1", "answers": ["no", "yes"]}]
    changes = {"multi_label": True, "unit": None}
    changes["metrics"] = ("accuracy", "micro F1")
    settings = GENERAL.model_copy(update=changes)
    found, _ = score(predictions("1"), rows, heads, ["test"], settings, census(True))
    by_name = {(row["metric"], row["group"]): row["value"] for row in found}
    # Selected answers: 0, 1, 0, 1, 0, 1.
    assert by_name["accuracy", "all"] == 2 / 6
    assert by_name["micro F1", "all"] == pytest.approx(2 * 3 / (5 + 6))


@pytest.mark.parametrize("comparable", [(True, True), (True, False)])
def test_the_released_evaluator_is_that_of_maud(census, comparable):
    found, _ = score(
        predictions("1", "2"), EXAMPLES, HEADS, ["test"], MINORITY, census(*comparable)
    )
    values = {row["group"]: row["value"] for row in found if row["metric"] == "AUPR"}
    areas = {}
    for head, labels in LABELS.items():
        logits = np.array([row["logits"] for row in predictions(head)])
        margins = 2 * logits - logits.sum(axis=1, keepdims=True)
        sides = [
            average_precision_score(np.array(labels) == at, margin)
            for at, margin in enumerate(margins.T)
        ]
        areas[head] = np.mean(sides)
        assert values[f"head: {head}"] == pytest.approx(areas[head])
    assert values["all"] == pytest.approx((areas["1"] + areas["2"]) / 2)
    (n,) = [
        row["n"]
        for row in found
        if row["metric"] == "AUPR, low" and row["group"] == "all"
    ]
    assert n == 3  # contracts


def test_the_released_evaluator_excludes_untrained_heads_only_on_other_data(census):
    found, _ = score(
        predictions("1"), EXAMPLES, HEADS, ["test"], MINORITY, census(True, False)
    )
    assert {
        row["group"]
        for row in found
        if row["metric"] == "AUPR" and "head" in row["group"]
    } >= {"head: 1"}
    with pytest.raises(BadInput, match="examples of head '2' have no prediction"):
        score(predictions("1"), EXAMPLES, HEADS, ["test"], MINORITY, census(True, True))


# Selection of trials.


CHOICE_HEADS = [
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


DEV = [
    example(n, head, n % 2)
    for head in "12"
    for n in (int(head) * 10 + i for i in range(4))
]


def predicted(path, *groups):
    """Write predictions for groups of (updates, {head: whether its predictions are right})."""
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
        for logits in [
            [1.0, -1.0] if (row["label"] == 0) == right[row["head_id"]] else [-1.0, 1.0]
        ]
    ]
    write(
        TRIED,
        sorted(rows, key=lambda r: (r["updates"], r["head_id"], r["example_id"])),
        path,
    )
    return path


CHOICE = ChoiceSettings(
    setting="single",
    percent=100,
    published=None,
    evaluator="minority AUPR",
    multi_label=False,
    choose_by="accuracy",
    updates_per_epoch=3600,
    learning_rates=(),
)


def chosen(searches, examples=None, heads=None, **changes):
    """The choice among (learning rate, file of predictions)."""
    rates, paths = zip(*searches, strict=True)
    settings = CHOICE.model_copy(update={"learning_rates": rates, **changes})
    return searched(settings, paths, examples or DEV, heads or CHOICE_HEADS)


def trial(rate, updates):
    return {"learning_rate": rate, "updates": [updates]}


def test_single_task_selects_the_best_trial_for_each_head(tmp_path):
    low = predicted(
        tmp_path / "a.parquet",
        (100, {"1": True, "2": False}),
        (200, {"1": False, "2": False}),
    )
    high = predicted(
        tmp_path / "b.parquet",
        (100, {"1": False, "2": False}),
        (200, {"1": False, "2": True}),
    )
    found = chosen([(1e-5, low), (1e-4, high)])
    assert found == {"1": trial(1e-5, 100), "2": trial(1e-4, 200)}


def test_multi_task_selects_the_trial_with_the_best_mean_over_questions(tmp_path):
    low = predicted(tmp_path / "a.parquet", (3600, {"1": True, "2": True}))
    high = predicted(tmp_path / "b.parquet", (3600, {"1": True, "2": False}))
    found = chosen([(1e-4, high), (1e-5, low)], setting="multi")
    assert found == {JOINT: trial(1e-5, 3600)}


def test_seeds_are_averaged_and_ties_select_the_first_trial(tmp_path):
    right, wrong = (
        predicted(tmp_path / f"{whether}.parquet", (100, {"1": whether, "2": whether}))
        for whether in (True, False)
    )
    searches = [
        (1e-4, right),
        (1e-4, wrong),
        (1e-5, right),
        (1e-5, right),
        (3e-5, right),
        (3e-5, right),
    ]
    found = chosen(searches)
    assert found == dict.fromkeys("12", trial(1e-5, 100))


def tried(path, *groups):
    """Write predictions of head 1 for groups of (updates, {example: probabilities})."""
    rows = [
        {
            "updates": updates,
            "head_id": "1",
            "example_id": example_id,
            "logits": [math.log(share / (1 - share)) for share in shares],
            "probabilities": list(shares),
        }
        for updates, of_example in groups
        for example_id, shares in sorted(of_example.items())
    ]
    write(TRIED, rows, path)
    return path


# Four examples with the answers 0, 0, 0 and 1. The first trial predicts three of them correctly and ranks
# the last example last. The second trial predicts only the last example correctly and ranks it first.
RIGHT = {"a": (0.9, 0.1), "b": (0.8, 0.2), "c": (0.7, 0.3), "d": (0.95, 0.05)}
RANKED = {"a": (0.4, 0.6), "b": (0.3, 0.7), "c": (0.2, 0.8), "d": (0.1, 0.9)}
ASKED = [
    {"example_id": name, "head_id": "1", "split": "dev", "label": int(name == "d")}
    for name in "abcd"
]
ALONE = [{"head_id": "1", "answers": ["no", "yes"]}]


@pytest.mark.parametrize(
    ("metric", "updates"), [("accuracy", 100), ("AUPR", 200), ("micro F1", 100)]
)
@pytest.mark.parametrize("setting", ["single", "multi"])
def test_trials_are_selected_by_the_metric_of_the_task(
    tmp_path, metric, updates, setting
):
    path = tried(tmp_path / "a.parquet", (100, RIGHT), (200, RANKED))
    changes = {"evaluator": "general", "choose_by": metric, "setting": setting}
    found = chosen([(1e-4, path)], ASKED, ALONE, **changes)
    assert found == {"1" if setting == "single" else JOINT: trial(1e-4, updates)}


def test_trials_can_be_selected_on_multi_label_examples(tmp_path):
    path = tried(
        tmp_path / "a.parquet",
        (100, dict.fromkeys("abcd", (0.9, 0.1))),
        (200, {"a": (0.9, 0.9), "b": (0.1, 0.1), "c": (0.9, 0.9), "d": (0.2, 0.9)}),
    )
    labels = {"a": [0, 1], "b": [], "c": [0], "d": [1]}
    asked = [
        {"example_id": name, "head_id": "1", "labels": of}
        for name, of in labels.items()
    ]
    changes = {"evaluator": "general", "multi_label": True}
    found = chosen([(1e-4, path)], asked, ALONE, **changes)
    assert found == {"1": trial(1e-4, 200)}


PUBLISHED = CHOICE.model_copy(update={"published": "roberta-base"})
BEST = [
    {
        "model": model,
        "setting": setting,
        "share": share,
        "head_id": head,
        "learning_rate": rate,
    }
    | {"updates": updates, "epochs": epochs}
    for model, setting, share, head, rate, updates, epochs in (
        ("roberta-base", "single", 1.0, "1", 3e-5, 300, 0),
        ("roberta-base", "single", 0.5, "1", 1e-4, 100, 0),
        ("roberta-base", "multi", 1.0, JOINT, 1e-5, 0, 6),
        ("bert-base-cased", "single", 1.0, "2", 1e-5, 200, 0),
    )
]


def test_published_hyperparameters_depend_on_head_and_share():
    assert published(PUBLISHED, ["1"], BEST) == {"1": trial(3e-5, 300)}
    assert published(PUBLISHED.model_copy(update={"percent": 50}), ["1"], BEST) == {
        "1": trial(1e-4, 100)
    }
    with pytest.raises(
        BadInput, match=r"no settings of roberta-base for head '2'.*hyperparameters"
    ):
        published(PUBLISHED, ["1", "2"], BEST)


def test_published_multi_task_hyperparameters_are_shared_by_all_heads():
    found = published(
        PUBLISHED.model_copy(update={"setting": "multi"}), ["1", "2"], BEST
    )
    assert found == {JOINT: trial(1e-5, 6 * 3600)}


OWN = {"learning_rate": 3e-4, "updates": [20, 40]}


@pytest.mark.parametrize(
    ("setting", "choice", "found"),
    [
        ("single", None, {"1": OWN, "2": OWN}),
        # A head without a selected trial keeps the settings of the run.
        ("single", {"1": trial(1e-5, 7)}, {"1": trial(1e-5, 7), "2": OWN}),
        ("multi", None, {JOINT: OWN}),
        ("multi", {JOINT: trial(1e-5, 7)}, {JOINT: trial(1e-5, 7)}),
    ],
)
def test_a_run_uses_the_selected_trial_or_else_its_settings(setting, choice, found):
    settings = TrainingSettings.model_construct(**OWN, setting=setting)
    assert trials(settings, ["2", "1"], choice) == found
