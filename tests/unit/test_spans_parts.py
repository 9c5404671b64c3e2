"""The windows of one part of a data set, such as the test part."""

import numpy as np
import pytest

from helpers import marked_contracts
from helpers.marked_contracts import WINDOWS, WORDINGS
from lextables.tasks.spans.features import write_parts
from lextables.tasks.spans.settings import CuttingSettings
from lextables.tasks.spans.squad import held_out_contracts
from lextables.tasks.spans.windows import WindowDataset, open_windows, question_texts

ORDER = ("train", "train", "dev", "test")
SPLITS = {f"c{number:02}": ORDER[number % 4] for number in range(16)}
PARTS = ("train", "validation", "test")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with a data set and a tokenizer."""
    folder = tmp_path_factory.mktemp("data")
    marked_contracts.data_set(folder, SPLITS, seed=1)
    marked_contracts.tokenizer().save_pretrained(folder / "weights")
    return folder


def parts(data, folder, held_out):
    names = ("contracts", "questions", "training_examples")
    tables = (data / f"{name}.parquet" for name in names)
    weights = {"model": "tiny", "weights": "tiny", "revision": None, "found": "folder"}
    settings = CuttingSettings(**weights, **WINDOWS.plain(), held_out=held_out)
    return write_parts(*tables, settings, data / "weights", folder, shards=2)


@pytest.mark.parametrize("share", ["dev", 0.25])
def test_each_part_has_the_windows_of_its_contracts(data, tmp_path, share):
    counts = parts(data, tmp_path, held_out=share)
    test = {name for name, split in SPLITS.items() if split == "test"}
    # Held-out contracts are also training contracts; only model selection excludes
    # them.
    contracts = {"train": SPLITS.keys() - test, "test": test}
    contracts["validation"] = held_out_contracts(SPLITS, share)
    for part in PARTS:
        windows, count = open_windows(tmp_path / part), counts[part]
        assert set(windows.contracts) == contracts[part]
        assert count["windows"] == len(windows)
        answered = np.count_nonzero(windows.start_positions)
        assert count["answered_windows"] == answered
        assert (answered > 0) == (part == "train")
        if part != "train":
            assert count["examples"] == len(contracts[part]) * len(WORDINGS)


def test_parts_open_with_the_settings_and_questions_of_the_run(data, tmp_path):
    parts(data, tmp_path, held_out="dev")
    wordings = question_texts(data / "questions.parquet")
    assert wordings == WORDINGS
    for part in PARTS:
        WindowDataset(tmp_path / part, marked_contracts.tokenizer(), WINDOWS, wordings)
