"""Accuracies by label and within twins, and the threshold on the overlap."""

import numpy as np
import pytest

from lextables.papers.lawngnli.evaluation.label_tables import (
    CHOICE,
    TWINS,
    by_label,
    decided,
    fit_threshold,
    guesses,
    share_of_premises,
)

ENTAIL, NEUTRAL, CONTRADICT = range(3)


def family(name, labels, premise):
    return [
        {
            "example_id": f"{name}{twin}:nli",
            "example": f"{name}{twin}",
            "premise": premise,
            "label": label,
        }
        for twin, label in zip(("", ":twin"), labels, strict=True)
    ]


@pytest.mark.parametrize(
    ("entail", "contradict", "choice", "twins"),
    [
        ([0.6, 0, 0.4], [0.3, 0.2, 0.5], [1, 1], 1),
        ([0.2, 0.5, 0.3], [0.1, 0.5, 0.4], [0, 1], 1),  # Neutral is most probable
        ([0.4, 0, 0.6], [0.7, 0, 0.3], [0, 0], 0),
        ([0.5, 0, 0.5], [0.2, 0.6, 0.2], [0.5, 0.5], 0.5),
    ],
)
def test_entail_and_contradict_are_compared_without_neutral_and_within_twins(
    entail, contradict, choice, twins
):
    found = by_label(family("a", (ENTAIL, CONTRADICT), "case"), [entail, contradict])
    assert found[CHOICE] == [("case", share) for share in choice]
    assert found[TWINS] == [("case", twins)]


def test_tied_labels_share_an_answer_equally():
    assert decided(np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]])).tolist() == [
        [0, 1, 0],
        [0.5, 0, 0.5],
    ]


def test_guessing_is_right_for_half_of_the_twins():
    rows = family("a", (ENTAIL, CONTRADICT), "case") + family(
        "b", (NEUTRAL, NEUTRAL), "case"
    )
    found = by_label(rows, guesses(np.array([0.8, 0.9, 0.1, 0.2]), 0.5))
    assert found[TWINS] == [("case", 0.5)]
    assert [value for _, value in found["neutral"]] == [1, 1]
    assert [value for _, value in found["entail"]] == [0.5]


def test_the_threshold_has_the_highest_expected_accuracy():
    overlap = np.array([0.1, 0.2, 0.7, 0.8])
    labels = np.array([NEUTRAL, NEUTRAL, ENTAIL, CONTRADICT])
    assert fit_threshold(overlap, labels) == 0.7
    assert guesses(overlap, 0.7)[range(4), labels].tolist() == [1, 1, 0.5, 0.5]


def test_an_interval_over_premises_is_wider_than_over_examples():
    values = [
        (str(premise), float(premise % 2)) for premise in range(20) for _ in range(10)
    ]
    mean, (low, high) = share_of_premises(values)
    assert mean == 0.5
    assert high - low > 0.4
