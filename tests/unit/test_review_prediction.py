"""A user's contract gets the same windows and the same spans as in a reading run."""

import json

import numpy as np
import pytest
import torch
from transformers import BertForQuestionAnswering

from helpers import marked_contracts
from helpers.marked_contracts import CONTRACTS, WINDOWS, WORDINGS
from lextables.models.loading import save
from lextables.pipeline.dataset import read, write
from lextables.review.prediction import WindowCount as Count
from lextables.review.prediction import read_with_fine_tuned_model as read_contract
from lextables.review.prediction import read_with_linear_model
from lextables.review.reviewer import question_id
from lextables.tasks.spans import linear
from lextables.tasks.spans.features import WindowSource, write_features
from lextables.tasks.spans.inference import RECORD, InferenceFiles, read_contracts
from lextables.tasks.spans.linear_settings import LinearRun
from lextables.tasks.spans.settings import NbestSettings
from lextables.tasks.spans.squad import QUESTIONS

CPU = torch.device("cpu")
TEXT = " ".join(np.random.default_rng(7).choice(marked_contracts.WORDS, 200).tolist())
SETTINGS = NbestSettings(
    **WINDOWS.plain(),
    windows_per_question=None,
    n_best=6,
    max_answer_length=10,
    bf16=False,
)


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
    """Run a reading of contracts that include `TEXT`; return its predictions and its
    `reading` folder.
    """
    data = tmp_path_factory.mktemp("data")
    texts, _ = marked_contracts.features(data, 40, seed=1)
    rows = [
        {"contract_id": name, "split": "train", "text": text}
        for name, text in sorted(texts.items())
    ]
    rows.append({"contract_id": "theirs", "split": "test", "text": TEXT})
    write(CONTRACTS, rows, data / "contracts.parquet")
    questions = [
        {
            "question_id": f"theirs__{category}",
            "contract_id": "theirs",
            "category": category,
            "question": wording,
            "split": "test",
            "answers": 0,
        }
        for category, wording in sorted(WORDINGS.items())
    ]
    write(QUESTIONS, questions, data / "asked.parquet")
    files = InferenceFiles(
        data / "contracts.parquet", data / "asked.parquet", data / "read", data
    )
    source = WindowSource(files.contracts, files.questions, WORDINGS, labelled=False)
    write_features(source, files.windows, marked_contracts.tokenizer(), WINDOWS)

    def made(most: int | None):
        folder = data / f"run{most}"
        settings = SETTINGS.model_copy(update={"windows_per_question": most})
        predictions, reading = folder / "predictions.parquet", folder / "reading"
        read_contracts(files, settings, weights, CPU, predictions, reading)
        return list(read(predictions)), reading

    return made


# A window has three special tokens, two question tokens and 27 words; one starts every
# 16 words.
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
    assert {row["question_id"] for row in ours} == {
        question_id(category) for category in WORDINGS
    }
    renamed = [
        row | {"question_id": row["question_id"].replace("theirs", "contract", 1)}
        for row in theirs
    ]
    assert ours == renamed


def test_predictions_do_not_depend_on_the_order_of_the_categories(
    run, weights, tmp_path
):
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
    done = read_contract(
        TEXT, WORDINGS, tmp_path, weights, CPU, tmp_path / "predictions.parquet"
    )
    assert done.of_question == 23
    # The most probable span and the empty prediction.
    assert max(row["rank"] for row in read(tmp_path / "predictions.parquet")) <= 1


def with_invisible_characters(text: str) -> str:
    """Return ``text`` with a soft hyphen in each word, and wide spaces."""
    words = [f"{word[:1]}\u00ad{word[1:]}" for word in text.split(" ")]
    return "\u2003".join(words)


def in_plain_text(row: dict) -> tuple:
    """Return a prediction without its place, and with plain words."""
    words = row["text"].replace("\u00ad", "").replace("\u2003", " ")
    return row["question_id"], row["rank"], words, round(row["probability"], 6)


def check_places(rows: list[dict], source: str) -> None:
    found = [row for row in rows if row["start"] >= 0]
    assert found
    for row in found:
        assert row["text"] == row["released_text"] == source[row["start"] : row["end"]]


def test_invisible_characters_do_not_change_a_fine_tuned_models_predictions(
    run, weights, tmp_path
):
    _, reading = run(None)
    predictions = []
    for number, text in enumerate((TEXT, with_invisible_characters(TEXT))):
        output = tmp_path / f"{number}.parquet"
        read_contract(text, WORDINGS, reading, weights, CPU, output)
        predictions.append(list(read(output)))
        check_places(predictions[-1], text)
    assert list(map(in_plain_text, predictions[0])) == list(
        map(in_plain_text, predictions[1])
    )
    assert any("\u00ad" in row["text"] for row in predictions[1])


def test_invisible_characters_do_not_change_a_linear_models_predictions(tmp_path):
    contracts = [
        "This Lease is governed by the laws of the State of Delaware. The rent is due on the first day. ",
        "The laws of Ohio govern this Agreement. Neither party may assign it without consent. ",
        "Assignment needs the consent of the landlord. This Lease is governed by the laws of Maine. ",
    ] * 2
    answers = {}
    for number, text in enumerate(contracts):
        sentence = next(each for each in text.split(". ") if "laws" in each)
        start = text.index(sentence)
        answers[number] = [(0, (start, start + len(sentence) + 1))]
    settings = LinearRun(
        features="words",
        folds=2,
        alpha=1e-4,
        epochs=3,
        penalty=1.0,
        near=1.0,
        units=10,
        n_best=5,
        relaxed=None,
        percent=100,
    )
    model = linear.fit(contracts, answers, ["Governing Law"], settings).model
    linear.save(model, tmp_path / linear.WEIGHTS)
    source = "This Agreement is governed by the laws of the State of Delaware. The rent is due. "
    predictions = []
    for number, text in enumerate((source, with_invisible_characters(source))):
        output = tmp_path / f"{number}.parquet"
        read_with_linear_model(
            text, ["Governing Law"], settings.plain(), tmp_path, output
        )
        predictions.append(list(read(output)))
        check_places(predictions[-1], text)
    assert list(map(in_plain_text, predictions[0])) == list(
        map(in_plain_text, predictions[1])
    )
    assert any("\u00ad" in row["text"] for row in predictions[1])
