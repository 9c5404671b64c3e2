"""The order of labels by their names."""

import pytest

from lextables.models.labels import label_columns
from lextables.pipeline.errors import BadInput

THREE = ("entail", "neutral", "contradict")
TWO = ("entail", "not entail")


@pytest.mark.parametrize(
    ("labels", "answers", "columns"),
    [
        (["entailment", "neutral", "contradiction"], THREE, [0, 1, 2]),
        (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], THREE, [2, 1, 0]),
        (["not_entailment", "entailment"], TWO, [1, 0]),
        (["Not-Entailment", "Entailment"], TWO, [1, 0]),
        # An answer may be the beginning of another.
        (["All of it", "All"], ("all", "all of it"), [1, 0]),
        # Two heads with the same answers.
        (["no", "yes", "no", "yes"], ("no", "yes", "no", "yes"), [0, 1, 2, 3]),
    ],
)
def test_columns_follow_the_names(labels, answers, columns):
    assert label_columns(labels, answers, "model") == columns


@pytest.mark.parametrize(
    ("labels", "answers"),
    [
        (["LABEL_0", "LABEL_1", "LABEL_2"], THREE),
        (["entailment", "not_entailment"], THREE),
        (["entailment", "neutral", "neutral"], THREE),
        (["entailment", "neutral", "contradiction", "other"], THREE),
        (["yes", "no", "no", "yes"], ("no", "yes", "no", "yes")),
    ],
)
def test_other_labels_are_refused(labels, answers):
    with pytest.raises(BadInput, match="model: its labels are"):
        label_columns(labels, answers, "model")
