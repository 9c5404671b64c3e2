"""A user's contract gets the same windows and the same spans as in a reading run."""

import json

import numpy as np
import pytest
import torch
from transformers import BertForQuestionAnswering

import marked_contracts
from lextables.models.loading import save
from lextables.papers.cuad.reading import WindowCount as Count
from lextables.papers.cuad.reading import read_with_fine_tuned_model as read_contract
from lextables.papers.cuad.reviewer import question_id
from lextables.pipeline.dataset import read, write
from lextables.tasks.spans.features import write_features
from lextables.tasks.spans.reading import RECORD, Reading, read_contracts
from lextables.tasks.spans.squad import QUESTIONS
from marked_contracts import CONTRACTS, WINDOWS, WORDINGS

CPU = torch.device("cpu")
TEXT = " ".join(np.random.default_rng(7).choice(marked_contracts.WORDS, 200).tolist())
SETTINGS = {
    "max_length": WINDOWS.max_length,
    "step": WINDOWS.step,
    "max_question_length": WINDOWS.max_question_length,
    "n_best": 6,
    "max_answer_length": 10,
    "bf16": False,
}


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> str:
    words = marked_contracts.tokenizer()
    torch.manual_seed(3)
    model = BertForQuestionAnswering(marked_contracts.config(words, dropout=0.0))
    folder = tmp_path_factory.mktemp("model") / "weights"
    save(model, words, folder)
    return str(folder)


@pytest.fixture(scope="module")
def run(weights, tmp_path_factory):
    """Run a reading of contracts that include `TEXT`; return its predictions and its `reading` folder."""
    data = tmp_path_factory.mktemp("data")
    texts, _ = marked_contracts.features(data, 40, seed=1)
    rows = [{"contract_id": name, "split": "train", "text": text} for name, text in sorted(texts.items())]
    rows.append({"contract_id": "theirs", "split": "test", "text": TEXT})
    write(CONTRACTS, rows, data / "contracts.parquet")
    questions = [
        {
            "question_id": f"theirs__{category}", "contract_id": "theirs", "category": category,
            "question": wording, "split": "test", "answers": 0,
        }
        for category, wording in sorted(WORDINGS.items())
    ]  # fmt: skip
    write(QUESTIONS, questions, data / "asked.parquet")
    write_features(
        data / "contracts.parquet", data / "asked.parquet", WORDINGS, data / "read",
        marked_contracts.tokenizer(), WINDOWS, labelled=False,
    )  # fmt: skip

    def made(most: int | None):
        folder = data / f"run{most}"
        reading = Reading(data / "contracts.parquet", data / "asked.parquet", data, data / "read")
        settings = SETTINGS | {"windows_per_question": most}
        read_contracts(reading, settings, weights, CPU, folder / "predictions.parquet", folder / "reading")
        return list(read(folder / "predictions.parquet")), folder / "reading"

    return made


# A window has three special tokens, two question tokens and 27 words; one starts every 16 words.
@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (None, Count(24, 24, None, 12)),
        (2, Count(24, 4, 2, 12)),
        (50, Count(24, 24, 50, 12)),
    ],
)
def test_the_predictions_equal_those_of_the_run(most, expected, run, weights, tmp_path):
    theirs, reading = run(most)
    output = tmp_path / "predictions.parquet"
    done = read_contract(TEXT, WORDINGS, reading, weights, CPU, output)
    assert done == expected
    ours = list(read(output))
    assert {row["question_id"] for row in ours} == {question_id(category) for category in WORDINGS}
    renamed = [row | {"question_id": row["question_id"].replace("theirs", "contract", 1)} for row in theirs]
    assert ours == renamed


def test_predictions_do_not_depend_on_the_order_of_the_categories(run, weights, tmp_path):
    _, reading = run(2)
    found = []
    for number, wordings in enumerate((WORDINGS, dict(reversed(WORDINGS.items())))):
        output = tmp_path / f"{number}.parquet"
        read_contract(TEXT, wordings, reading, weights, CPU, output)
        found.append(list(read(output)))
    assert found[0] == found[1]


def test_window_settings_come_from_the_record_of_the_run(run, weights, tmp_path):
    _, reading = run(None)
    said = json.loads((reading / RECORD).read_text())
    (tmp_path / RECORD).write_text(json.dumps(said | {"step": 8, "n_best": 1}))
    done = read_contract(TEXT, WORDINGS, tmp_path, weights, CPU, tmp_path / "predictions.parquet")
    assert done.of_question == 23
    # The most probable span and the empty prediction.
    assert max(row["rank"] for row in read(tmp_path / "predictions.parquet")) <= 1
