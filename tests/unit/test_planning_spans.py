"""Inputs and params of the rules of span extraction, for a small project."""

from types import SimpleNamespace

import pytest
from snakemake.iocontainers import Wildcards

from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.planning.runs import Runs
from lextables.planning.spans import SpanRuns, window_files
from lextables.tasks.plan import Spec

WEIGHTS = {"model": "tiny", "weights": "org/tiny", "revision": "1", "found": "hub"}
CUT = {"max_length": 64, "step": 16, "max_question_length": 8, "held_out": 0.1}
TRAIN, READ = (Run("any", name, "tiny", "paper-p100") for name in ("train", "read"))
RELEASE = Run("any", "release", "theirs", "as-released")
LINEAR = Run("any", "train", "linear", "linear")
SPECS = {
    # The inference comes first: its weights exist only after the training.
    READ: Spec({**WEIGHTS, **CUT, "found": "training"}, sources=(TRAIN,)),
    TRAIN: Spec({**WEIGHTS, **CUT, "batch_size": 8}),
    RELEASE: Spec({"file": "zips/theirs.zip"}),
    LINEAR: Spec({**WEIGHTS, "kind": "linear", "max_length": 32, "units": 3}),
}
TASK = SimpleNamespace(quotes=False, relaxed="Parties", low_thresholds=(0.001,))
PROJECT = SimpleNamespace(
    results="results",
    specs=SPECS,
    config=SimpleNamespace(papers=("paper",)),
    paper_of={"any": "paper"},
    identified=dict,
    tasks_of_kind={"spans": {"any": TASK}}.get,
)
SPANS = SpanRuns(Runs(PROJECT))


def wildcards(**parts):
    return Wildcards(fromdict={"dataset": "any", "model": "tiny", **parts})


def of_run(run):
    parts = {"experiment": run.experiment, "condition": run.condition, "seed": "0"}
    return wildcards(model=run.model, **parts)


def test_a_run_reads_one_part_of_the_windows_of_its_size():
    files = SPANS.windows_of("test")(of_run(READ))
    folder = "results/features/spans/any/tiny/64x16"
    assert files == window_files(folder, "test")
    assert files[:2] == [
        f"{folder}/test/features.json",
        f"{folder}/test/tokens-00.parquet",
    ]
    assert len(files) == 17


def test_windows_are_cut_with_the_settings_of_the_training():
    windows = wildcards(length="64", step="16")
    assert SPANS.cutting(windows) == {**WEIGHTS, **CUT}
    assert SPANS.tokenizer_weights(windows) == []
    with pytest.raises(BadInput, match=r"64x8: no run .* reads this model's windows"):
        SPANS.cutting(wildcards(length="64", step="8"))


def test_vectors_are_made_by_the_encoder_of_a_linear_model():
    assert SPANS.encoding(wildcards(encoder="tiny", length="32")) == {
        **WEIGHTS,
        "max_length": 32,
    }
    with pytest.raises(BadInput, match="no run .* reads these vectors"):
        SPANS.encoding(wildcards(encoder="tiny", length="64"))


def test_weights_and_records_of_other_runs_are_separate_inputs():
    assert SPANS.runs.of_sources("weights")(of_run(READ)) == [
        f"results/{TRAIN.folder}/weights"
    ]
    assert SPANS.runs.of_sources("run.json")(of_run(READ)) == [
        f"results/{TRAIN.folder}/run.json"
    ]
    assert SPANS.released_files == ["results/sources/zips/theirs.zip"]
    assert SPANS.released_file(of_run(RELEASE)) == "results/sources/zips/theirs.zip"


def test_kinds_of_models_and_the_settings_of_the_evaluator_come_from_the_task():
    assert SPANS.text_datasets == set()
    scoring = {"relaxed": "Parties", "low_thresholds": [0.001]}
    assert SPANS.scoring(wildcards()) == scoring
