"""The record of a run, for the tables."""

import json

from lextables.tables.cost import record, training

TRAINED = {"device": "a GPU", "seconds": 3600.0}
READ = {"device": "a processor", "seconds": 60.0, "settings": {}, "trained": TRAINED}


def test_a_record_is_the_runs_own(tmp_path):
    (tmp_path / "runs/one").mkdir(parents=True)
    (tmp_path / "runs/one/run.json").write_text(json.dumps(READ))
    assert record(tmp_path, "runs/one") == READ


def test_a_reading_of_trained_weights_is_known_by_their_training():
    assert training(READ) == TRAINED == training(TRAINED)
