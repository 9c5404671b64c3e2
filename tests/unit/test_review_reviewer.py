"""Selection of the model for a user's contract: the best finished run, else the first
planned run.
"""

import hashlib
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lextables import ROOT
from lextables.models.resolve import load_models
from lextables.pipeline.config import load as load_config
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.planning import paper_plan
from lextables.registry import packages
from lextables.review.reviewer import (
    FILES,
    READING,
    Reviewer,
    choose,
    finished,
    review_name,
)
from lextables.tasks.planner import Context

PAPER = packages.load(ROOT / "resources/papers/cuad.yaml")
LINEAR = {"kind": "linear", "relaxed": None, "features": "words"}
MODELS = load_models(ROOT / "resources/models.yaml")


def chosen(results, **values):
    config = load_config({"papers": "cuad"} | values, ["cuad"], ROOT)
    return choose(
        config,
        PAPER.review,
        paper_plan.plan(PAPER, Context(config, MODELS, ROOT, gpu=False)),
        results,
    )


def stand(
    results: Path,
    model: str,
    condition: str,
    aupr: float,
    *,
    experiment: str = "read",
    without: str = "",
) -> Reviewer:
    """Create a finished run and the run of its weights in ``results``; ``without`` is a
    file to omit.
    """
    run, linear = Run("cuad", experiment, model, condition), condition == "linear"
    folder = results / run.folder
    (folder / ("" if linear else "reading")).mkdir(parents=True)
    settings = LINEAR if linear else {"model": model, "weights": f"own-{model}"}
    if source := source_of(run):
        # The record has the path of the weights at the time of the run.
        settings |= (
            {} if linear else {"weights": f"results/elsewhere/{source.folder}/weights"}
        )
        (results / source.folder / "weights").mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"settings": settings}))
    (folder / "predictions.parquet").touch()
    rows = [
        {"metric": metric, "group": "all", "value": aupr}
        for metric in ("AUPR", "AUPR, low")
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "scores.parquet")
    if without == "weights":
        shutil.rmtree(results / source.folder)
    elif without:
        (folder / without).rmdir() if without == "reading" else (
            folder / without
        ).unlink()
    digest = ""
    if (folder / "run.json").exists():
        digest = hashlib.sha256((folder / "run.json").read_bytes()).hexdigest()[:16]
    return Reviewer(run, source, planned=False, record=digest, windows=not linear)


def source_of(run: Run) -> Run | None:
    made = {"as-released": "release", "as-it-is": None}.get(run.condition, "train")
    return Run(run.data_set, made, run.model, run.condition, run.seed) if made else None


def test_without_finished_runs_the_first_planned_or_the_named_model_is_selected(
    tmp_path,
):
    reviewer = chosen(tmp_path)
    assert (reviewer.run.model, reviewer.planned, reviewer.windows) == (
        "linear-exact",
        True,
        False,
    )
    assert (reviewer.run.experiment, reviewer.weights_of) == (
        "read",
        source_of(reviewer.run),
    )
    # The same holds if better weights can be downloaded: they are used only if they are
    # named.
    assert chosen(tmp_path, data="release", models="paper").run.model == "linear-exact"
    best = chosen(
        tmp_path, data="release", models="paper", review_model="deberta-xlarge"
    )
    assert best.windows
    assert best.run == Run("cuad", "read", "deberta-xlarge", "as-released")
    assert best.weights_of == Run("cuad", "release", "deberta-xlarge", "as-released")
    assert (
        chosen(tmp_path, review_model="minilm-contracts").run.model
        == "minilm-contracts"
    )
    with pytest.raises(
        BadInput,
        match="review_model = 'bert-base' has no run .* linear-exact, minilm, minilm-contracts",
    ):
        chosen(tmp_path, review_model="bert-base")


def test_the_best_finished_run_is_preferred_to_a_new_training(tmp_path):
    stand(tmp_path, "roberta-base", "paper-p100", 0.42)
    best = stand(tmp_path, "roberta-large", "as-released", 0.48)
    stand(tmp_path, "bert-base", "paper-p100", 0.31)
    assert chosen(tmp_path, data="release", models="sample") == best
    assert len(best.record) == 16
    record = tmp_path / best.run.folder / "run.json"
    record.write_text(record.read_text() + "\n")
    assert chosen(tmp_path, data="release", models="sample").record != best.record
    named = chosen(
        tmp_path, data="release", models="sample", review_model="RoBERTa base"
    )
    assert named.run.model == "roberta-base"
    # A linear model is selected only if its score is better.
    stand(tmp_path, "linear-exact", "linear", 0.47)
    assert chosen(tmp_path).run == best.run
    for experiment in ("read", "train"):
        shutil.rmtree(tmp_path / f"runs/cuad/{experiment}/linear-exact")
    linear = stand(tmp_path, "linear-exact", "linear", 0.67)
    reviewer = chosen(tmp_path)
    assert (reviewer.run, reviewer.weights_of, reviewer.windows) == (
        linear.run,
        linear.weights_of,
        False,
    )


def test_a_user_model_is_selected_only_if_the_configuration_names_it(tmp_path):
    mine = stand(tmp_path, "own-mine", "as-it-is", 0.5).run
    (tmp_path / "mine").mkdir()
    model = {
        "name": "Mine",
        "kind": "question-answering",
        "model": str(tmp_path / "mine"),
    }
    reviewer = chosen(tmp_path, extra_models=[model])
    assert reviewer == Reviewer(mine, None, planned=True)
    assert reviewer.weights(tmp_path) == ""
    # Only the configuration has the path of its weights.
    assert chosen(tmp_path).run.model == "linear-exact"
    with pytest.raises(
        BadInput, match="review_model = 'Mine' has no run under this configuration"
    ):
        chosen(tmp_path, review_model="Mine")


def test_a_finished_run_of_this_configuration_is_still_planned(tmp_path):
    made = stand(tmp_path, "minilm", "sample-p100", 0.1)
    assert chosen(tmp_path) == Reviewer(made.run, made.weights_of, planned=True)


@pytest.mark.parametrize(
    ("model", "condition", "read"),
    [("minilm", "sample-p100", (*FILES, READING)), ("linear-exact", "linear", FILES)],
)
def test_the_review_uses_the_run_and_the_weights_in_the_given_results(
    model, condition, read, tmp_path
):
    made = stand(tmp_path, model, condition, 0.1)
    found, weights = chosen(tmp_path), f"{made.weights_of.folder}/weights"
    assert list(found.files) == [
        *(f"{made.run.folder}/{name}" for name in read),
        weights,
    ]
    assert all((tmp_path / path).exists() for path in found.files)
    assert found.weights(tmp_path) == f"{tmp_path}/{weights}"
    without = Reviewer(made.run, None, planned=True, windows=made.windows)
    assert list(without.files) == [f"{made.run.folder}/{name}" for name in read]


@pytest.mark.parametrize("other", [{"relaxed": "Parties"}, {"features": "vectors"}])
def test_linear_models_that_are_relaxed_or_need_vectors_are_not_selected(
    other, tmp_path
):
    run = stand(tmp_path, "linear", "linear", 0.9).run
    record = tmp_path / run.folder / "run.json"
    record.write_text(json.dumps({"settings": LINEAR | other}))
    assert finished(tmp_path, "cuad") == []
    named = "review_model = 'linear' has no run under this configuration"
    with pytest.raises(BadInput, match=named):
        chosen(tmp_path, review_model="linear")


@pytest.mark.parametrize(
    ("experiment", "condition", "without"),
    [
        ("read", "paper-p100", "weights"),
        ("read", "as-released", "weights"),
        ("read", "paper-p100", "reading"),
        ("read", "paper-p100", "predictions.parquet"),
        ("read", "linear", "weights"),
        ("read", "paper-p100", "scores.parquet"),
        ("read", "paper-p100", "run.json"),
        ("read", "paper-p10", ""),
        ("search", "paper-p100", ""),
        ("train", "paper-p100", ""),
        ("join", "paper-p100", ""),
    ],
)
def test_incomplete_and_other_runs_are_ignored(
    tmp_path, experiment, condition, without
):
    stand(
        tmp_path, "roberta-base", condition, 0.9, experiment=experiment, without=without
    )
    assert finished(tmp_path, "cuad") == []
    assert chosen(tmp_path).run.model == "linear-exact"


DIGEST = "-0d3d6da5"  # of "Rent."


@pytest.mark.parametrize(
    ("name", "review"),
    [
        ("lease of land.txt", "lease of land.txt"),
        (
            "Müller & Söhne [v2] (1)+'x'=§5,;.TXT",
            "Müller & Söhne [v2] (1)+'x'=§5,;.TXT",
        ),
        (
            'Lease #4: {a} 50% <b> "c" x*y? a\\b|c',
            "Lease _4_ _a_ 50_ _b_ _c_ x_y_ a_b_c",
        ),
        ("two\nlines\t\x7f\u202e.txt", "two_lines___.txt"),
        (b"caf\xe9.txt".decode("utf-8", "surrogateescape"), "caf_.txt"),
        ("x" * 255, "x" * 200),
        ("xé" * 85, "xé" * 66 + "x"),
    ],
)
def test_a_review_is_named_after_the_file_without_special_characters(
    tmp_path, name, review
):
    (tmp_path / name).write_text("Rent.")
    assert review_name(tmp_path / name) == review + DIGEST
