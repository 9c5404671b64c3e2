"""What a table says of the runs behind a row: how they were trained, and what they took."""

import json

import pytest

from lextables.tables.cost import given_in_words, record, span_settings_in_words, time_in_words, training

TRAINED = {
    "device": "a GPU", "seconds": 3600.0, "updates": 100, "settings": {"batch_size": 16},
    "trial": {"learning_rate": 1e-4, "epochs": 4},
}  # fmt: skip
SETTINGS = {
    "grid": "paper", "max_length": 512, "step": 256, "windows_per_question": None, "bf16": False, "tried": 9,
}  # fmt: skip
ASKED = {"device": "a server", "seconds": 60.0, "settings": {"words": 3000}, "asked": {"requests": 4}}
GIVEN = {"device": "not known", "seconds": 0.1, "settings": {}, "given": {"file": "nbest.json"}}
READ = {"device": "a processor", "seconds": 60.0, "settings": SETTINGS, "trained": TRAINED}


def test_a_record_is_the_runs_own(tmp_path):
    (tmp_path / "runs/one").mkdir(parents=True)
    (tmp_path / "runs/one/run.json").write_text(json.dumps(READ))
    assert record(tmp_path, "runs/one") == READ


def test_a_reading_of_trained_weights_is_known_by_their_training():
    assert training(READ) == TRAINED == training(TRAINED)


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([READ], "1 h 1 min on a GPU, a processor"),
        ([READ, READ], "2 seeds, 2 h 2 min on a GPU, a processor"),
        ([TRAINED], "1 h 0 min on a GPU"),
        ([ASKED], "1 min 0 s on a server"),
        ([GIVEN, GIVEN], "not known"),
    ],
)
def test_the_time_of_a_row_is_that_of_its_trainings_and_readings(records, words):
    assert time_in_words(records) == words


WINDOWS = "windows of 512 tokens, 256 apart"


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (
            READ,
            "grid paper: learning rate 0.0001 for 4 epochs, the best of 9 settings on held-out contracts, "
            f"100 updates of 16 windows, {WINDOWS}",
        ),
        (
            READ
            | {"settings": SETTINGS | {"tried": 1, "bf16": True, "windows_per_question": 2}}
            | {"trained": TRAINED | {"trial": {"learning_rate": 3e-5, "epochs": 1}}},
            "grid paper: learning rate 3e-05 for 1 epoch, 100 updates of 16 windows, "
            f"{WINDOWS}, 2 windows of a contract a question, bfloat16",
        ),
        ({"settings": SETTINGS}, f"grid paper: not trained here, {WINDOWS}"),
        (
            {"settings": SETTINGS, "trained": {"settings": SETTINGS, "precision": "bfloat16"}},
            f"grid paper: not trained here, {WINDOWS}, bfloat16",
        ),
    ],
)
def test_a_span_models_settings_are_told_in_words(run, words):
    assert span_settings_in_words(run) == words


def test_predictions_that_were_given_are_known_by_their_file():
    assert span_settings_in_words(GIVEN) == given_in_words(GIVEN) == "predictions given in nbest.json"
    assert given_in_words(READ) == ""


def test_a_language_model_has_no_settings_but_that_it_is_asked():
    assert span_settings_in_words(ASKED) == "a language model, asked as it is"
