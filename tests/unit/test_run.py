"""Runs: the record that each leaves, and what one says of another."""

import json

import pytest

from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run, chosen, counts_of, identity, loaded, recorded, recorded_all

RUN = Run("maud", "train", "minilm", "multi-small", 3)


def test_a_run_lies_where_its_name_says():
    assert RUN.folder == "runs/maud/train/minilm/multi-small/seed3"
    assert sorted([RUN, Run("acord", "train", "minilm", "small")])[0].paper == "acord"


def test_a_record_says_what_ran_and_what_it_took(tmp_path):
    with recorded(tmp_path / "run.json", {"rate": 1e-4}) as record:
        record |= {"device": "a GPU", "choice": {"updates": [2]}}
    found = loaded(tmp_path / "run.json")
    assert (found["settings"], found["device"], found["choice"]) == (
        {"rate": 1e-4},
        "a GPU",
        {"updates": [2]},
    )
    assert found["seconds"] >= 0 and found["peak_memory_mib"] > 0 and "python" in found["libraries"]


def test_a_run_that_fails_leaves_no_record(tmp_path):
    with pytest.raises(BadInput), recorded(tmp_path / "run.json", {}):
        raise BadInput("no")
    assert not list(tmp_path.iterdir())


def test_runs_of_one_job_have_records_of_their_own(tmp_path):
    paths = [tmp_path / form / "run.json" for form in ("short", "long")]
    with recorded_all(paths, {"short": {"queries": None}, "long": {"queries": ["a"]}}) as records:
        for number, record in enumerate(records):
            record["number"] = number
    found = [loaded(path) for path in paths]
    assert [record["settings"]["queries"] for record in found] == [None, ["a"]]
    assert [record["number"] for record in found] == [0, 1]
    with pytest.raises(ValueError, match="zip"), recorded_all(paths[:1], {"short": {}, "long": {}}):
        pass


def written(path, **record):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))
    return path


def test_what_was_chosen_is_read_from_the_choices_record(tmp_path):
    path = written(tmp_path / "run.json", choice={"learning_rate": 1e-4}, data={"texts": {"rows": 3}})
    assert chosen([path]) == {"learning_rate": 1e-4}
    assert chosen([]) == {}
    assert counts_of(path) == {"texts": {"rows": 3}}


def test_a_run_that_goes_on_from_other_weights_is_known_by_them_too():
    alone = identity({"examples": 1}, "code", "cpu")
    assert alone.keys() == {"data", "code", "libraries", "device"}
    assert identity({"examples": 1}, "code", "cpu", iter([])) == alone
    assert identity({"examples": 1}, "code", "cpu", map(str, [1, 2])) == alone | {"start": ["1", "2"]}
