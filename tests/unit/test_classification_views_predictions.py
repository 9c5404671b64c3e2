"""Predictions for several views in one job, from the tokens or texts of each view.

They equal the predictions of a job for each view.
"""

from dataclasses import replace

import pytest
import torch

from helpers import tiny_encoders
from helpers.viewed_examples import (
    ALONE,
    BLANK_FIRST,
    HEAD_ROWS,
    HEADS,
    LONG,
    SHORT,
    examples,
    write_files,
    write_rows,
)
from lextables.models import multi_head
from lextables.pipeline.dataset import write
from lextables.tasks.classification import linear
from lextables.tasks.classification.examples import (
    by_head,
    of_splits,
    texts_of,
    under_view,
)
from lextables.tasks.classification.features import read_tokens, tokenise
from lextables.tasks.classification.inference import read_heads, read_views
from lextables.tasks.classification.schema import READINGS
from lextables.tasks.classification.settings import LinearSettings, Reading

CPU = torch.device("cpu")


@pytest.fixture
def files(tmp_path):
    return write_files(tmp_path)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """{architecture: the folder of a tiny encoder}."""
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))


@pytest.fixture
def tokens(files, folders, tmp_path):
    """Write tokens with maximum lengths of 12 and 24; return the paths of the files."""
    paths = []
    for length, views in ((12, [SHORT, LONG]), (24, [SHORT, LONG, ALONE, BLANK_FIRST])):
        path = tmp_path / f"{length}.parquet"
        tokenise(texts_of(*files, views), folders["bert"], length, path)
        paths.append(path)
    return paths


def test_only_the_requested_tokens_are_read(tokens):
    all_tokens = read_tokens(tokens[1])
    existing = {("s2", "h1"), ("l0", "h3"), ("h0", "")}
    requested = read_tokens(tokens[1], existing | {("s9", "h9")})
    assert set(requested.position) == existing
    for key in existing:
        assert requested[key].tolist() == all_tokens[key].tolist()
        assert requested.first(key) == all_tokens.first(key)
    assert len(requested.ids) == sum(len(all_tokens[key]) for key in existing)
    none = read_tokens(tokens[1], set())
    assert not none.position
    assert not len(none.ids)


# {condition: (source, view, maximum length)}
CONDITIONS = {
    "short > long": (0, LONG, 12),
    "none > short": (1, SHORT, 24),
    "short > alone": (0, ALONE, 24),
    "short > blank": (0, BLANK_FIRST, 24),
}


def test_joint_predictions_for_several_views_equal_separate_predictions(
    files, folders, tokens, tmp_path, monkeypatch
):
    heads = dict(sorted(HEADS.items()))
    for number in range(2):
        model = multi_head.load(
            folders["bert"], [3, 2], "own", number, loss="cross_entropy"
        )
        multi_head.save(model, tmp_path / str(number), heads)
    weights = [tmp_path / "0", tmp_path / "1"]
    readings = []
    for condition, (source, view, length) in CONDITIONS.items():
        fields = {"condition": condition, "source": source, "view": view}
        readings.append(Reading(**fields, max_length=length))
    loaded = []  # folders of weights
    load = multi_head.load_trained

    def load_and_record(folder, device):
        loaded.append(folder)
        return load(folder, device)

    monkeypatch.setattr(multi_head, "load_trained", load_and_record)
    joint = list(read_views(readings, weights, files.examples, ["test"], tokens, CPU))
    # Sorted by condition; a model is loaded once for consecutive conditions.
    assert loaded == [weights[1], weights[0]]
    tokens_of_length = dict(zip((12, 24), tokens, strict=True))
    separate = []
    for condition, (source, view, length) in sorted(CONDITIONS.items()):
        model, _ = load(weights[source], CPU)
        rows = by_head(under_view(of_splits(examples(), ["test"]), view), heads)
        text_tokens = read_tokens(tokens_of_length[length])
        for row in read_heads(model, list(heads), rows, text_tokens, CPU):
            separate.append({"condition": condition, **row})
    assert joint == separate
    # Four conditions, two heads, eight test examples of each.
    assert len(joint) == 4 * 2 * 8
    assert write(READINGS, joint, tmp_path / "predictions.parquet") == len(joint)
    # Predictions differ if the model, the view or the length differs.
    first_of_condition = {str(row["logits"]) for row in joint[:: 2 * 8]}
    assert len(first_of_condition) == 4


LINEAR = LinearSettings(
    features="words",
    sides="both",
    longest=2,
    least=1,
    smoothing=1.0,
    penalty={"words": 1.0},
    multi_label=False,
    only=["three"],
)


def test_linear_predictions_for_views_equal_separate_predictions(files, tmp_path):
    heads = write_rows(HEAD_ROWS, tmp_path / "heads.parquet")
    linear_files = linear.LinearFiles(files.examples, heads, files.texts)
    views = {"short": SHORT, "alone": ALONE}
    for name, view in views.items():
        settings = LINEAR.model_copy(update={"view": view})
        linear.train(linear_files, ["train"], settings, 1, tmp_path / name)
    conditions = {
        "short > long": (0, LONG),
        "alone > alone": (1, ALONE),
        "short > short": (0, SHORT),
    }
    readings = []
    for condition, (source, view) in conditions.items():
        readings.append(Reading(condition=condition, source=source, view=view))
    weights = [tmp_path / name for name in views]
    settings = LINEAR.model_copy(update={"readings": readings})
    left_out = {}
    joint = list(linear.read_views(linear_files, ["test"], settings, weights, left_out))
    assert left_out == dict.fromkeys(conditions, 0)
    separate = []
    for condition, (source, view) in sorted(conditions.items()):
        rows = list(under_view(examples(), view))
        path = write_rows(rows, tmp_path / "under_view.parquet")
        under_one_view = replace(linear_files, examples=path)
        model = [weights[source]]
        for row in linear.read_views(under_one_view, ["test"], LINEAR, model, {}):
            separate.append({"condition": condition, **row})
    assert joint == separate
    # Three conditions, eight test examples of one head.
    assert len(joint) == 3 * 8
    assert {row["head_id"] for row in joint} == {"three"}


def test_a_linear_model_of_one_side_does_not_see_the_blank(files, tmp_path):
    heads = write_rows(HEAD_ROWS, tmp_path / "heads.parquet")
    linear_files = linear.LinearFiles(files.examples, heads, files.texts)
    predictions = []
    for sides, view in (("second", BLANK_FIRST), ("both", ALONE)):
        readings = [Reading(condition="x", source=0, view=view)]
        changes = {"sides": sides, "view": view, "readings": readings}
        settings = LINEAR.model_copy(update=changes)
        weights = tmp_path / sides
        linear.train(linear_files, ["train"], settings, 1, weights)
        rows = linear.read_views(linear_files, ["test"], settings, [weights], {})
        predictions.append(list(rows))
    assert predictions[0] == predictions[1]
    assert len(predictions[0]) == 8
