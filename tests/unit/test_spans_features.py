"""The windows of a data set for one model: of the training examples, held-out and test contracts."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import marked_contracts
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.features import PARTS, write_parts
from lextables.tasks.spans.squad import held_out_contracts
from lextables.tasks.spans.windows import WindowDataset, open_windows, question_texts, window_settings
from marked_contracts import WINDOWS, WORDINGS

SPLITS = {f"c{n:02}": "test" if n % 4 == 3 else "dev" if n % 4 == 2 else "train" for n in range(16)}
SETTINGS = {
    "weights": "package:tiny",
    "revision": None,
    "max_length": WINDOWS.max_length,
    "step": WINDOWS.step,
    "max_question_length": WINDOWS.max_question_length,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a data set and of a tokenizer."""
    folder = tmp_path_factory.mktemp("data")
    marked_contracts.data_set(folder, SPLITS, seed=1)
    marked_contracts.tokenizer().save_pretrained(folder / "weights")
    return folder


def parts(made, folder, **settings):
    tables = (made / f"{name}.parquet" for name in ("contracts", "questions", "training_examples"))
    given = SETTINGS | settings
    return write_parts(*tables, given, made / "weights", folder, shards=2, processes=1)


@pytest.mark.parametrize("share", ["dev", 0.25])
def test_each_part_has_the_windows_of_its_contracts(made, tmp_path, share):
    counts = parts(made, tmp_path, held_out=share)
    found = {part: open_windows(tmp_path / part) for part in PARTS}
    assert {part: set(windows.contracts) for part, windows in found.items()} == {
        # The held-out contracts are among those that are trained on: a search leaves them out.
        "train": {name for name, split in SPLITS.items() if split != "test"},
        "validation": held_out_contracts(SPLITS, share),
        "test": {name for name, split in SPLITS.items() if split == "test"},
    }
    assert {part: count["windows"] for part, count in counts.items()} == {
        part: len(windows) for part, windows in found.items()
    }
    assert counts["train"]["answered_windows"] == np.count_nonzero(found["train"].start_positions) > 0
    for part in ("validation", "test"):
        assert counts[part]["answered_windows"] == np.count_nonzero(found[part].start_positions) == 0
        assert counts[part]["examples"] == len(found[part].contracts) * len(WORDINGS)


def test_a_part_opens_with_the_settings_and_wordings_that_it_was_cut_by(made, tmp_path):
    parts(made, tmp_path, held_out="dev", revision="main")
    assert json.loads((tmp_path / "test/features.json").read_text())["tokenizer"] == "package:tiny main"
    wordings = question_texts(made / "questions.parquet")
    assert wordings == WORDINGS
    assert window_settings(SETTINGS) == WINDOWS
    for part in PARTS:
        WindowDataset(tmp_path / part, marked_contracts.tokenizer(), WINDOWS, wordings)


def test_a_category_asked_in_two_wordings_is_refused(tmp_path):
    rows = [
        {"question_id": "a", "category": "Parties", "question": "Who?"},
        {"question_id": "b", "category": "Parties", "question": "Which parties?"},
    ]
    pq.write_table(pa.Table.from_pylist(rows[:1]), tmp_path / "questions.parquet")
    assert question_texts(tmp_path / "questions.parquet") == {"Parties": "Who?"}
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "questions.parquet")
    with pytest.raises(
        BadInput, match=r"^questions.parquet, b: the category 'Parties' has two different questions"
    ):
        question_texts(tmp_path / "questions.parquet")
