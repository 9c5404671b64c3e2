"""Scores of classification under views: each reading is scored as if it were alone.

A reading is the prediction of a model that was trained under one view, under this or
another view; its condition is `<view of the training> > <view>`.
"""

from itertools import product

import numpy as np

from helpers.viewed_examples import HEAD_ROWS, HEADS, examples
from lextables.pipeline.dataset import write
from lextables.pipeline.run import SCORES
from lextables.tasks.classification.scoring import (
    ANSWER,
    LEFT_OUT,
    PROBABILITY,
    SUBMITTED,
    score,
)
from lextables.tasks.classification.settings import ScoreSettings

GENERAL = ScoreSettings(
    evaluator="general",
    metrics=["accuracy", "balanced accuracy"],
    unit="premise",
    multi_label=False,
    views={"short": {}},
    groups=["analysis", "negated"],
)


def readings_of(*conditions, heads=HEADS):
    """Return random predictions for the test examples of ``heads`` under each
    condition.
    """
    random = np.random.default_rng(1)
    test = [row for row in examples() if row["split"] == "test"]
    rows = []
    for condition, example in product(conditions, test):
        head = example["head_id"]
        logits = random.normal(size=len(HEADS[head]))
        shares = np.exp(logits) / np.exp(logits).sum()
        row = {"condition": condition, "head_id": head}
        row |= {"example_id": example["example_id"], "logits": logits.tolist()}
        if head in heads:
            rows.append(row | {"probabilities": shares.tolist()})
    return rows


def score_readings(predictions, rows=None, settings=GENERAL):
    """Return rows of scores, and the contributions of units; ``rows`` replaces the
    examples.
    """
    rows = examples() if rows is None else rows
    return score(predictions, rows, HEAD_ROWS, ["test"], settings, "no census")


def values_and_counts(rows):
    """Return {(metric, group): (value, number of examples)}."""
    return {(row["metric"], row["group"]): (row["value"], row["n"]) for row in rows}


def test_each_condition_is_scored_as_if_it_were_alone(tmp_path):
    all_readings = readings_of("long > long", "none > short")
    rows, units = score_readings(all_readings)
    scores = values_and_counts(rows)
    without_views = GENERAL.model_copy(update={"views": {}, "groups": ()})
    count = 0
    for condition in ("long > long", "none > short"):
        readings = [row for row in all_readings if row["condition"] == condition]
        # All examples, and those of each group.
        for group in ("", "analysis", "negated"):
            group_examples = [row for row in examples() if not group or row[group]]
            group_scores, group_units = score_readings(
                readings, group_examples, without_views
            )
            # In the scores of all conditions a name begins with condition and group.
            for row in (*group_scores, *group_units):
                inner = row["group"] if row["group"] != "all" or not group else ""
                row["group"] = ", ".join(filter(None, (condition, group, inner)))
            assert values_and_counts(group_scores).items() <= scores.items()
            assert all(row in units for row in group_units)
            count += len(group_scores)
    # There are no others, apart from the answers of single examples.
    of_examples = (ANSWER, PROBABILITY)
    assert count == len([metric for metric, _ in scores if metric not in of_examples])
    _, n = scores["accuracy", "long > long, head: three"]
    assert n == 8
    _, n = scores["accuracy", "long > long, negated, head: two"]
    assert n == 2
    assert write(SCORES, rows, tmp_path / "scores.parquet") == len(rows)


def test_answers_and_probabilities_of_each_example_are_in_the_scores():
    readings = readings_of("long > long", "none > short")
    rows, _ = score_readings(readings)
    scores = values_and_counts(rows)
    expected = {}
    for row in readings:
        name = f"{row['condition']}, example: {row['example_id']}"
        expected[ANSWER, name] = (float(np.argmax(row["logits"])), 1)
        for place, value in enumerate(row["probabilities"]):
            expected[PROBABILITY, f"{name}, answer: {place}"] = (value, 1)
    of_examples = {}
    for (metric, group), value_and_count in scores.items():
        if metric in (ANSWER, PROBABILITY):
            of_examples[metric, group] = value_and_count
    assert of_examples == expected


def test_a_group_without_test_examples_has_no_scores():
    # Only training examples are negated.
    rows = [row | {"negated": row["split"] == "train"} for row in examples()]
    scores, _ = score_readings(readings_of("long > long"), rows)
    assert not [row for row in scores if "negated" in row["group"]]


def test_heads_without_predictions_are_counted():
    readings = readings_of("long > long", heads=["two"])
    rows = [row | {"negated": False} for row in examples()]
    scores, _ = score_readings(readings, rows)
    left_out = {}
    for (metric, group), value_and_count in values_and_counts(scores).items():
        if metric == LEFT_OUT:
            left_out[group] = value_and_count
    # One of two heads.
    assert left_out == {"long > long, all": (1, 2), "long > long, analysis": (1, 2)}


def test_submitted_predictions_are_scored_as_a_separate_condition():
    predictions = readings_of("x", heads=["three"])
    for row in predictions:
        row["condition"] = SUBMITTED
    scores, _ = score_readings(predictions)
    assert {row["group"].partition(",")[0] for row in scores} == {SUBMITTED}
    assert ("accuracy", "submitted, analysis, head: three") in values_and_counts(scores)
    # Without views there are no conditions.
    without_views = GENERAL.model_copy(update={"views": {}, "groups": ()})
    scores, _ = score_readings(predictions, settings=without_views)
    assert {row["group"] for row in scores} == {"all", "head: three"}
