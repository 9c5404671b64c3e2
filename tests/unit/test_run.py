"""Runs: their folders, their records, and values that are read from the record of
another run.
"""

import json
from types import SimpleNamespace

import pytest

from lextables.pipeline.content import folder_content
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json, write_result
from lextables.pipeline.run import (
    Run,
    check_weights,
    chosen,
    counts_of,
    identity,
    record_weights,
    recorded,
    recorded_all,
)
from lextables.tasks.job import from_rule

RUN = Run("maud", "train", "minilm", "multi-small", 3)


def test_the_folder_of_a_run_follows_from_its_fields():
    assert RUN.folder == "runs/maud/train/minilm/multi-small/seed3"
    assert (
        sorted([RUN, Run("acord", "train", "minilm", "small")])[0].data_set == "acord"
    )


def test_a_record_contains_settings_device_and_cost(tmp_path):
    with recorded(tmp_path / "run.json", {"rate": 1e-4}) as record:
        record |= {"device": "a GPU", "choice": {"updates": [2]}}
    found = read_json(tmp_path / "run.json")
    assert (found["settings"], found["device"], found["choice"]) == (
        {"rate": 1e-4},
        "a GPU",
        {"updates": [2]},
    )
    assert (
        found["seconds"] >= 0
        and found["peak_memory_mib"] > 0
        and "python" in found["libraries"]
    )


def test_a_record_has_the_instruction_set_of_each_loaded_blas(tmp_path, monkeypatch):
    loaded = [
        {"user_api": "openmp", "internal_api": "openmp", "version": None},
        {"user_api": "blas", "internal_api": "openblas", "architecture": "Haswell"},
        {"user_api": "blas", "internal_api": "openblas", "architecture": "Haswell"},
        {"user_api": "blas", "internal_api": "mkl"},
    ]
    monkeypatch.setattr("lextables.pipeline.run.threadpool_info", lambda: loaded)
    with recorded(tmp_path / "run.json", {}):
        pass
    blas = read_json(tmp_path / "run.json")["blas"]
    assert blas == ["mkl (unknown)", "openblas (Haswell)"]


def test_a_failed_run_writes_no_record(tmp_path):
    with pytest.raises(BadInput), recorded(tmp_path / "run.json", {}):
        raise BadInput("no")
    assert not list(tmp_path.iterdir())


def test_each_run_of_a_job_has_a_separate_record(tmp_path):
    paths = [tmp_path / form / "run.json" for form in ("short", "long")]
    with recorded_all(
        paths, {"short": {"queries": None}, "long": {"queries": ["a"]}}
    ) as records:
        for number, record in enumerate(records):
            record["number"] = number
    found = [read_json(path) for path in paths]
    assert [record["settings"]["queries"] for record in found] == [None, ["a"]]
    assert [record["number"] for record in found] == [0, 1]
    with (
        pytest.raises(ValueError, match="zip"),
        recorded_all(paths[:1], {"short": {}, "long": {}}),
    ):
        pass


def written(path, **record):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))
    return path


@pytest.fixture
def weights(tmp_path):
    """Folder of the weights of a run, with its record beside it."""
    folder = tmp_path / "seed0/weights"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(bytes(range(100)))
    record = tmp_path / "seed0/run.json"
    with recorded(record, {"epochs": 1}):
        pass
    record_weights(record, folder)
    # As Snakemake does when the job has ended.
    (folder / ".snakemake_timestamp").touch()
    return folder


def test_weights_are_loaded_only_as_their_run_wrote_them(weights):
    check_weights(weights)
    assert read_json(weights.parent / "run.json")["settings"] == {"epochs": 1}
    file = weights / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[50] ^= 1
    file.write_bytes(content)
    sentence = (
        "seed0/weights: the weights changed after their training; delete the fold"
    )
    with pytest.raises(BadInput, match=sentence):
        check_weights(weights)


def test_a_job_is_only_made_with_weights_as_their_run_wrote_them(weights):
    rule = SimpleNamespace(
        input={"weights": str(weights)},
        output={},
        params=SimpleNamespace(
            job={"module": "spans.predict", "settings": {}}, places={}, code=""
        ),
        threads=1,
        log="",
    )
    assert from_rule(rule).weights_content == [folder_content(weights)]
    (weights / "model.safetensors").write_bytes(b"")
    with pytest.raises(BadInput, match="the weights changed"):
        from_rule(rule)


@pytest.mark.parametrize("change", ["added", "removed"])
def test_weights_with_other_files_are_not_loaded(weights, change):
    if change == "added":
        (weights / "adapter_config.json").write_text("{}")
    else:
        (weights / "model.safetensors").unlink()
    with pytest.raises(BadInput, match="the weights changed"):
        check_weights(weights)


def test_weights_of_a_record_without_a_digest_are_loaded(weights):
    write_result(weights.parent / "run.json", '{"settings": {}}')
    check_weights(weights)


def test_chosen_settings_are_read_from_the_record_of_the_choice(tmp_path):
    path = written(
        tmp_path / "run.json",
        choice={"learning_rate": 1e-4},
        data={"texts": {"rows": 3}},
    )
    assert chosen([path]) == {"learning_rate": 1e-4}
    assert chosen([]) == {}
    assert counts_of(path) == {"texts": {"rows": 3}}


def test_the_identity_of_a_run_includes_its_initial_weights():
    alone = identity({"examples": 1}, "code", "cpu")
    assert alone.keys() == {"data", "code", "libraries", "device"}
    assert identity({"examples": 1}, "code", "cpu", iter([])) == alone
    assert identity({"examples": 1}, "code", "cpu", map(str, [1, 2])) == alone | {
        "start": ["1", "2"]
    }
