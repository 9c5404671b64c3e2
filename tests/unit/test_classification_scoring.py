"""Scores by the general or a released evaluator, and the selection of trials."""

import json
import math

import numpy as np
import pytest

from helpers import jackknife
from lextables.metrics.minority_aupr import head_auprs
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


def examples(split, start):
    rows = []
    for head, labels in LABELS.items():
        for number, label in enumerate(labels, start):
            row = {"example_id": f"{head}/{number}", "head_id": head, "split": split}
            row |= {"label": label, "contract": f"contract_{number % 3}"}
            row["data_type"] = "main" if number % 2 else "abridged"
            rows.append(row)
    return rows


TEST = examples("test", 0)
EXAMPLES = [*TEST, *examples("train", 10)]
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
    rows = []
    for number, row in enumerate(TEST):
        logits = np.arange(sizes[row["head_id"]]) / -9
        logits[number % len(logits)] += 2
        shares = np.full(len(logits), 0.2)
        shares[number % 2] = 0.9
        if row["head_id"] in heads:
            rows.append(prediction(row, logits.tolist(), shares.tolist()))
    return rows


def prediction(row, logits, shares, **more):
    names = {name: row[name] for name in ("head_id", "example_id")}
    return more | names | {"logits": logits, "probabilities": shares}


@pytest.fixture
def census(tmp_path):
    def of(*comparable):
        path = tmp_path / "census.json"
        source = {"source": "s", "file": "f", "variant": "v"}
        sources = [source | {"comparable": one} for one in comparable]
        path.write_text(json.dumps({"sources": sources}))
        return path

    return of


def by_name(rows):
    return {(row["metric"], row["group"]): (row["value"], row["n"]) for row in rows}


def test_the_general_evaluator_computes_the_task_metrics_on_test_examples(
    census, tmp_path
):
    rows = predictions("1", "2")
    found, _ = score(rows, EXAMPLES, HEADS, ["test"], GENERAL, census(True))
    assert write(SCORES, found, tmp_path / "scores.parquet") == len(found)
    values = by_name(found)
    # Two of six answers of the first head are right, and four of the second.
    assert values["accuracy", "head: 1"] == (pytest.approx(1 / 3), 6)
    assert values["accuracy", "question: Q2"] == (pytest.approx(2 / 3), 1)
    assert values["accuracy", "category: Law"] == (pytest.approx(1 / 2), 2)
    # The F1 of the answers is 1/3 and 1/3, and 1/2, 1 and 1/2.
    assert values["macro F1", "all"] == (pytest.approx((1 / 3 + 2 / 3) / 2), 2)
    # Without one of the contracts the accuracies are 1/2, 3/8 and 5/8.
    ends = [values[f"accuracy, {end}", "all"] for end in ("low", "high")]
    expected = jackknife.interval(1 / 2, np.array([1 / 2, 3 / 8, 5 / 8]))
    assert ends == [(pytest.approx(end), 3) for end in expected]
    assert values[LEFT_OUT, "all"] == (0, 2)


def test_an_untrained_head_is_excluded_and_counted(census):
    found, _ = score(predictions("1"), EXAMPLES, HEADS, ["test"], GENERAL, census(True))
    values = by_name(found)
    assert not [group for _, group in values if "2" in group]
    assert values["accuracy", "all"][0] == values["accuracy", "head: 1"][0]
    assert values[LEFT_OUT, "all"] == (1, 2)
    with pytest.raises(BadInput, match="1 examples of head '1' have no prediction"):
        score(predictions("1")[1:], EXAMPLES, HEADS, ["test"], GENERAL, census(True))


def test_examples_may_have_several_right_answers(census):
    labels = [[0], [], [0, 1], [1], [], [0]]
    rows = [row | {"labels": of} for row, of in zip(TEST, labels, strict=False)]
    changes = {"multi_label": True, "metrics": ("accuracy", "micro F1")}
    settings = GENERAL.model_copy(update=changes)
    given = predictions("1")
    found, _ = score(given, rows, HEADS[:1], ["test"], settings, census(True))
    values = by_name(found)
    # Selected answers: 0, 1, 0, 1, 0, 1.
    assert values["accuracy", "all"][0] == 2 / 6
    assert values["micro F1", "all"][0] == pytest.approx(2 * 3 / (5 + 6))


@pytest.mark.parametrize("comparable", [(True, True), (True, False)])
def test_the_released_evaluator_is_that_of_maud(census, comparable):
    rows = predictions("1", "2")
    found, _ = score(rows, EXAMPLES, HEADS, ["test"], MINORITY, census(*comparable))
    values = by_name(found)
    # Its own tests compare it with scikit-learn.
    labelled = [row | {"labels": (row["label"],)} for row in TEST]
    for head, area in head_auprs(rows, labelled, HEADS).items():
        assert values["AUPR", f"head: {head}"][0] == area
    assert values["AUPR, low", "all"][1] == 3  # contracts


def test_the_released_evaluator_excludes_untrained_heads_only_on_other_data(census):
    rows = predictions("1")
    found, _ = score(rows, EXAMPLES, HEADS, ["test"], MINORITY, census(True, False))
    assert ("AUPR", "head: 1") in by_name(found)
    with pytest.raises(BadInput, match="examples of head '2' have no prediction"):
        score(rows, EXAMPLES, HEADS, ["test"], MINORITY, census(True, True))


@pytest.mark.parametrize("settings", [GENERAL, MINORITY])
@pytest.mark.parametrize("probability", [1.5, -0.1, math.nan, None])
def test_a_probability_that_is_not_a_share_is_rejected(census, settings, probability):
    rows = predictions("1", "2")
    rows[7]["probabilities"][1] = probability
    with pytest.raises(BadInput) as error:
        score(rows, EXAMPLES, HEADS, ["test"], settings, census(True))
    assert str(error.value) == (
        f"predictions.parquet, example '2/1': the probability {probability} is not a"
        " number from 0 to 1; give probabilities from 0 to 1, not per cent or logits."
    )


@pytest.mark.parametrize("condition", [{}, {"condition": None}, {"condition": ""}])
def test_predictions_of_a_task_with_views_need_a_condition(census, condition):
    settings = GENERAL.model_copy(update={"views": {"short": {}}})
    rows = [{"condition": "short > short", **row} for row in predictions("1", "2")]
    score(rows, EXAMPLES, HEADS, ["test"], settings, census(True))
    del rows[7]["condition"]
    rows[7].update(condition)
    with pytest.raises(BadInput) as error:
        score(rows, EXAMPLES, HEADS, ["test"], settings, census(True))
    assert str(error.value) == (
        "predictions.parquet, example '2/1': the prediction has no condition; give the"
        " column condition, such as 'short > long' or 'submitted'."
    )


# Selection of trials.


CHOICE_HEADS = [HEADS[0], HEADS[1] | {"answers": ["A", "B"]}]
DEV = []
for head in "12":
    for number in range(4):
        row = {"example_id": f"{head}{number}", "head_id": head, "data_type": "main"}
        DEV.append(row | {"label": number % 2, "contract": f"contract_{number}"})


def write_predictions(path, *groups):
    """Write predictions for groups of (updates, the heads whose predictions are
    right).
    """
    rows = []
    for updates, right in groups:
        for row in DEV:
            is_first = (row["label"] == 0) == (row["head_id"] in right)
            logits = [1.0, -1.0] if is_first else [-1.0, 1.0]
            rows.append(prediction(row, logits, [0.5, 0.5], updates=updates))
    write(TRIED, rows, path)
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


def chosen(searches, examples=None, heads=None, diverged=(), **changes):
    """The choice among (learning rate, file of predictions); files of the same rate are
    seeds of one trial.
    """
    rates, paths = zip(*searches, strict=True)
    settings = CHOICE.model_copy(update={"learning_rates": rates, **changes})
    return searched(settings, paths, diverged, examples or DEV, heads or CHOICE_HEADS)


def trial(rate, updates):
    return {"learning_rate": rate, "updates": [updates]}


def test_single_task_selects_the_best_trial_for_each_head(tmp_path):
    low = write_predictions(tmp_path / "a.parquet", (100, "1"), (200, ""))
    high = write_predictions(tmp_path / "b.parquet", (100, ""), (200, "2"))
    found = chosen([(1e-5, low), (1e-4, high)])
    assert found == {"1": trial(1e-5, 100), "2": trial(1e-4, 200)}


def test_multi_task_selects_the_trial_with_the_best_mean_over_questions(tmp_path):
    low = write_predictions(tmp_path / "a.parquet", (3600, "12"))
    high = write_predictions(tmp_path / "b.parquet", (3600, "1"))
    found = chosen([(1e-4, high), (1e-5, low)], setting="multi")
    assert found == {JOINT: trial(1e-5, 3600)}


def test_seeds_are_averaged_and_ties_select_the_first_trial(tmp_path):
    right = write_predictions(tmp_path / "right.parquet", (100, "12"))
    wrong = write_predictions(tmp_path / "wrong.parquet", (100, ""))
    searches = [(1e-5, right), (3e-5, right)] * 2
    found = chosen([(1e-4, right), (1e-4, wrong), *searches])
    assert found == dict.fromkeys("12", trial(1e-5, 100))


def test_a_trial_that_diverged_with_a_seed_is_never_chosen(tmp_path):
    whole = write_predictions(tmp_path / "whole.parquet", (100, ""), (200, "1"))
    until_100 = write_predictions(tmp_path / "cut.parquet", (100, "12"))
    nothing = write_predictions(tmp_path / "nothing.parquet")
    # At 200 updates the better rate has no score of its second seed.
    better = write_predictions(tmp_path / "better.parquet", (100, "1"), (200, "12"))
    searches = [(1e-4, better), (1e-5, whole), (1e-4, until_100), (1e-5, whole)]
    found = chosen(searches, setting="multi", diverged=[JOINT])
    assert found == {JOINT: trial(1e-4, 100)}
    found = chosen([(1e-4, nothing), (1e-5, whole)], diverged="12")
    assert found == {"1": trial(1e-5, 200), "2": trial(1e-5, 100)}


@pytest.mark.parametrize("setting", ["single", "multi"])
def test_a_search_of_which_all_trials_diverged_raises(tmp_path, setting):
    nothing = write_predictions(tmp_path / "nothing.parquet")
    head = "1" if setting == "single" else JOINT
    with pytest.raises(
        BadInput, match=r"^the training of each trial of the search div"
    ):
        chosen([(1e-4, nothing), (1e-5, nothing)], setting=setting, diverged=[head])


def write_probabilities(path, *groups):
    """Write predictions of head 1 for groups of (updates, {example: probabilities})."""
    rows = []
    for updates, of_example in groups:
        for row in ASKED:
            shares = of_example[row["example_id"]]
            logits = [math.log(share / (1 - share)) for share in shares]
            rows.append(prediction(row, logits, list(shares), updates=updates))
    write(TRIED, rows, path)
    return path


# Four examples with the answers 0, 0, 0 and 1. The first trial predicts three of them
# correctly and ranks the last example last. The second trial predicts only the last
# example correctly and ranks it first.
RIGHT = {"a": (0.9, 0.1), "b": (0.8, 0.2), "c": (0.7, 0.3), "d": (0.95, 0.05)}
RANKED = {"a": (0.4, 0.6), "b": (0.3, 0.7), "c": (0.2, 0.8), "d": (0.1, 0.9)}
ASKED = [
    {"example_id": name, "head_id": "1", "split": "dev", "label": int(name == "d")}
    for name in "abcd"
]


@pytest.mark.parametrize(
    ("metric", "updates"), [("accuracy", 100), ("AUPR", 200), ("micro F1", 100)]
)
@pytest.mark.parametrize("setting", ["single", "multi"])
def test_trials_are_selected_by_the_metric_of_the_task(
    tmp_path, metric, updates, setting
):
    path = write_probabilities(tmp_path / "a.parquet", (100, RIGHT), (200, RANKED))
    changes = {"evaluator": "general", "choose_by": metric, "setting": setting}
    found = chosen([(1e-4, path)], ASKED, HEADS[:1], **changes)
    assert found == {"1" if setting == "single" else JOINT: trial(1e-4, updates)}


def test_trials_can_be_selected_on_multi_label_examples(tmp_path):
    path = write_probabilities(
        tmp_path / "a.parquet",
        (100, dict.fromkeys("abcd", (0.9, 0.1))),
        (200, {"a": (0.9, 0.9), "b": (0.1, 0.1), "c": (0.9, 0.9), "d": (0.2, 0.9)}),
    )
    labels = [[0, 1], [], [0], [1]]
    asked = [row | {"labels": of} for row, of in zip(ASKED, labels, strict=True)]
    changes = {"evaluator": "general", "multi_label": True}
    found = chosen([(1e-4, path)], asked, HEADS[:1], **changes)
    assert found == {"1": trial(1e-4, 200)}


PUBLISHED = CHOICE.model_copy(update={"published": "roberta-base"})
COLUMNS = "model setting share head_id learning_rate updates epochs".split()
BEST = [
    dict(zip(COLUMNS, row, strict=True))
    for row in (
        ("roberta-base", "single", 1.0, "1", 3e-5, 300, 0),
        ("roberta-base", "single", 0.5, "1", 1e-4, 100, 0),
        ("roberta-base", "multi", 1.0, JOINT, 1e-5, 0, 6),
        ("bert-base-cased", "single", 1.0, "2", 1e-5, 200, 0),
    )
]


@pytest.mark.parametrize(
    ("changes", "heads", "found"),
    [
        ({}, "1", {"1": trial(3e-5, 300)}),
        ({"percent": 50}, "1", {"1": trial(1e-4, 100)}),
        ({"setting": "multi"}, "12", {JOINT: trial(1e-5, 6 * 3600)}),
    ],
)
def test_published_settings_depend_on_head_share_and_setting(changes, heads, found):
    assert published(PUBLISHED.model_copy(update=changes), heads, BEST) == found


def test_a_head_without_published_settings_raises():
    message = r"no settings of roberta-base for head '2'.*hyperparameters"
    with pytest.raises(BadInput, match=message):
        published(PUBLISHED, "12", BEST)


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
