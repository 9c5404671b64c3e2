"""Training a model that marks spans: which windows, which updates, and what a run says of it."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertForQuestionAnswering

import marked_contracts
from lextables.models import loading
from lextables.models.loading import load_tokenizer
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans import training
from lextables.tasks.spans.features import write_features
from lextables.tasks.spans.squad import held_out_contracts
from lextables.tasks.spans.training import contract_splits, finetune, train, training_rows, updates
from lextables.tasks.spans.windows import (
    Collator,
    WindowDataset,
    Windows,
    balanced,
    empty_weight,
    open_windows,
)
from marked_contracts import WINDOWS, WORDINGS, config, equal, features, weights

pytestmark = pytest.mark.usefixtures("one_thread")
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def tokenizer():
    return marked_contracts.tokenizer()


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return marked_contracts.save_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """The folder of the training windows, their contracts' texts, and the questions' spans."""
    folder = tmp_path_factory.mktemp("train")
    return folder, *features(folder, 120, seed=1)


# --- the windows


def windows(contracts, answered):
    """One window for each item of ``contracts`` (indices), with an answer where ``answered``."""
    count = len(contracts)
    zeros = np.zeros(count, dtype=np.int32)
    marked = np.where(answered, 5, 0).astype(np.int32)
    names = tuple(f"c{i:02}" for i in range(max(contracts) + 1))
    return Windows(
        names, names, ("Parties",), np.asarray(contracts), np.asarray(contracts), zeros, zeros, zeros,
        zeros + 9, marked, marked,
    )  # fmt: skip


SETTINGS = {"percent": 100, "balance": "sample", "held_out": 0.1}
TWENTY = {f"c{i:02}": "train" for i in range(20)} | {"t": "test"}


def test_a_sample_has_as_many_empty_windows_as_answered_ones():
    found = windows(np.repeat(np.arange(20), 10), np.tile(np.arange(10) == 0, 20))
    rows, weight = training_rows(found, TWENTY, SETTINGS, seed=0, search=False)
    assert len(rows) == 40
    assert (found.start_positions[rows] > 0).sum() == 20
    assert weight is None
    assert rows.tolist() != training_rows(found, TWENTY, SETTINGS, seed=1, search=False)[0].tolist()


def test_weighting_keeps_every_window():
    found = windows(np.repeat(np.arange(20), 10), np.tile(np.arange(10) == 0, 20))
    rows, weight = training_rows(found, TWENTY, SETTINGS | {"balance": "weight"}, seed=0, search=False)
    assert len(rows) == 200
    assert weight == pytest.approx(20 / 180)


def test_a_search_leaves_the_held_out_contracts_and_a_share_takes_its_part():
    found = windows(np.repeat(np.arange(20), 2), np.tile([True, False], 20))
    whole = SETTINGS | {"balance": "weight"}
    rows, _ = training_rows(found, TWENTY, whole, seed=0, search=True)
    held = held_out_contracts(TWENTY, 0.1)
    assert len(held) == 2
    assert "t" not in held
    assert {f"c{i:02}" for i in found.contract[rows]} == set(found.contracts) - held
    part, _ = training_rows(found, TWENTY, whole | {"percent": 10}, seed=0, search=False)
    assert len(set(found.contract[part])) == 2


def test_no_answer_to_train_on_is_one_sentence():
    found = windows(np.arange(20), np.zeros(20, dtype=bool))
    with pytest.raises(BadInput, match="none of the 20 windows of 20 contracts has an answer"):
        training_rows(found, TWENTY, SETTINGS, seed=0, search=False)


# --- the updates


def sampled(folder: Path, tokenizer, most: int | None = None) -> WindowDataset:
    windows = open_windows(folder)
    rows = balanced(windows.start_positions, windows.end_positions, seed=0)
    return WindowDataset(folder, tokenizer, WINDOWS, WORDINGS, rows[:most])


class Killed(Exception):
    """Stands for the end of the process."""


class Dying(WindowDataset):
    """Windows that end the training when the ``left``-th is asked for."""

    left = 0

    def __getitem__(self, item):
        self.left -= 1
        if self.left == 0:
            raise Killed
        return super().__getitem__(item)


def test_a_killed_training_goes_on_to_the_same_weights(learnt, tokenizer, tmp_path):
    folder = tmp_path / "model"
    torch.manual_seed(1)
    BertForQuestionAnswering(config(tokenizer)).save_pretrained(folder)
    settings = {"learning_rate": 1e-3, "epochs": 3, "batch_size": 8, "seed": 5, "save_every": 3}

    def train(dataset, work):
        model = loading.load_span_model(str(folder), CPU)
        resumed = finetune(model, dataset, Collator.of(tokenizer), work=work, **settings)
        return resumed, weights(model)

    whole = sampled(learnt[0], tokenizer, most=40)
    _, expected = train(whole, tmp_path / "unbroken")
    # Five updates an epoch: the kill falls into the second, after the checkpoint at update 6.
    dying = Dying(learnt[0], tokenizer, WINDOWS, WORDINGS, whole.rows)
    dying.left = 72
    with pytest.raises(Killed):
        train(dying, tmp_path / "broken")
    # A checkpoint cut short by the kill does not count.
    (tmp_path / "broken" / "checkpoint-9").mkdir()
    resumed, got = train(whole, tmp_path / "broken")
    assert resumed == 6
    assert equal(got, expected)
    assert not equal(got, weights(loading.load_span_model(str(folder), CPU)))


def test_a_batch_in_parts_is_the_batch_and_bfloat16_is_near_it(encoder, learnt, tokenizer, tmp_path):
    dataset = sampled(learnt[0], tokenizer, most=32)
    batch = Collator.of(tokenizer)([dataset[item] for item in range(4)])
    losses = []
    for number, how in enumerate(({}, {"accumulation": 4}, {"bf16": True})):
        model = loading.load_span_model(encoder, CPU)
        finetune(
            model,
            dataset,
            Collator.of(tokenizer),
            learning_rate=1e-3,
            epochs=2,
            batch_size=16,
            seed=0,
            work=tmp_path / str(number),
            save_every=100,
            **how,
        )
        losses.append(model(**batch).loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert losses[2] == pytest.approx(losses[0], rel=0.02)
    assert losses[2] != losses[0]
    with pytest.raises(ValueError, match="accumulation = 3"):
        finetune(
            model,
            sampled(learnt[0], tokenizer),
            Collator.of(tokenizer),
            learning_rate=1e-3,
            epochs=1,
            batch_size=16,
            seed=0,
            work=tmp_path,
            save_every=100,
            accumulation=3,
        )


def test_empty_windows_weigh_what_they_are_told(encoder, learnt, tokenizer, tmp_path):
    windows = open_windows(learnt[0])
    answered = windows.start_positions[:60] > 0
    weight = empty_weight(windows.start_positions[:60], windows.end_positions[:60])
    model = loading.load_span_model(encoder, CPU).eval()
    dataset = WindowDataset(learnt[0], tokenizer, WINDOWS, WORDINGS, np.arange(60))
    collator = Collator.of(tokenizer)
    losses = []
    for given in (1.0, weight, 0.0):
        trainer = training._SpanTrainer(
            model=model,
            args=training.TrainingArguments(str(tmp_path), use_cpu=True, report_to="none"),
            answered=answered,
            empty_weight=given,
            rows=60,
        )
        batch = collator([dataset[item] for item in range(len(dataset))])
        losses.append(trainer.compute_loss(model, batch).item())
    # A window alone needs no padding, and the model's own loss serves.
    alone = np.array([model(**collator([dataset[item]])).loss.item() for item in range(len(dataset))])
    kinds = [alone[answered].mean(), alone[~answered].mean()]
    share = answered.mean()
    assert losses[0] == pytest.approx(share * kinds[0] + (1 - share) * kinds[1], rel=1e-4)
    # Both kinds weigh the same; with no weight the empty ones are not there.
    assert losses[1] == pytest.approx((kinds[0] + kinds[1]) / 2, rel=1e-4)
    assert losses[2] == pytest.approx(kinds[0], rel=1e-4)


@pytest.mark.parametrize(
    ("windows", "batch_size", "epochs", "most", "expected"),
    [
        (100, 40, 4, None, 12),
        (80, 40, 1, None, 2),
        (100, 40, 4, 5, 5),
        (100, 40, 4, 50, 12),
        (1, 40, 0.1, None, 1),
    ],
)
def test_updates(windows, batch_size, epochs, most, expected):
    assert updates(windows, batch_size, epochs, most) == expected


# --- a run


SPLITS = {f"c{n:02}": "test" if n % 5 == 4 else "train" for n in range(25)}
RUN = {
    "model": "tiny",
    "revision": None,
    "found": "folder",
    "max_length": WINDOWS.max_length,
    "step": WINDOWS.step,
    "max_question_length": WINDOWS.max_question_length,
    "held_out": 0.2,
    "percent": 100,
    "balance": "sample",
    "learning_rate": 1e-3,
    "epochs": 2,
    "batch_size": 8,
    "accumulation": 2,
    "max_updates": None,
    "bf16": False,
    "save_every": 1000,
}


@pytest.fixture(scope="module")
def data(encoder, tmp_path_factory):
    """The folder of a data set, with the windows of its training examples."""
    folder = tmp_path_factory.mktemp("data")
    marked_contracts.data_set(folder, SPLITS, seed=4)
    contracts, examples = folder / "contracts.parquet", folder / "training_examples.parquet"
    write_features(contracts, examples, WORDINGS, folder / "windows", load_tokenizer(encoder), WINDOWS)
    return folder


def run(data, encoder, folder, *, seed=0, search=False, identity=(), **settings):
    record = train(
        data / "contracts.parquet",
        data / "questions.parquet",
        data / "windows",
        RUN | {"weights": encoder} | settings,
        seed=seed,
        search=search,
        device=CPU,
        work_root=folder / "work",
        identity=dict(identity),
        output=folder / "weights",
    )
    return record, weights(loading.load_span_model(str(folder / "weights"), CPU, trained=True))


def test_a_training_leaves_weights_with_a_tokenizer_and_says_what_it_did(data, encoder, tmp_path):
    record, trained = run(data, encoder, tmp_path / "one")
    windows = open_windows(data / "windows")
    rows, _ = training_rows(windows, contract_splits(data / "contracts.parquet"), RUN, 0, search=False)
    answered = int((windows.start_positions[rows] > 0).sum())
    assert record == {
        "trial": {"learning_rate": 1e-3, "epochs": 2},
        "updates": updates(len(rows), 8, 2),
        "training_windows": {"with an answer": answered, "without": len(rows) - answered},
        "resumed_from_update": 0,
        "work": record["work"],
    }
    assert (tmp_path / "one/work" / record["work"]).is_dir()
    assert load_tokenizer(tmp_path / "one/weights").get_vocab() == load_tokenizer(encoder).get_vocab()
    again, same = run(data, encoder, tmp_path / "two")
    assert again == record and equal(trained, same)
    assert not equal(trained, weights(loading.load_span_model(encoder, CPU)))
    _, other = run(data, encoder, tmp_path / "three", seed=1)
    assert not equal(trained, other)


def test_a_search_trains_on_what_is_not_held_out(data, encoder, tmp_path, monkeypatch):
    seen = []

    def spied(model, dataset, *arguments, **settings):
        seen.append({dataset.windows.contracts[index] for index in dataset.windows.contract[dataset.rows]})
        return finetune(model, dataset, *arguments, **settings)

    monkeypatch.setattr(training, "finetune", spied)
    for search in (True, False):
        run(data, encoder, tmp_path / str(search), search=search, balance="weight", max_updates=1)
    held = held_out_contracts(SPLITS, 0.2)
    everything = {name for name, split in SPLITS.items() if split == "train"}
    assert len(held) == 4 and held < everything
    assert seen == [everything - held, everything]


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"search": True}, {"learning_rate": 2e-3}, {"identity": {"code": "b"}}],
    ids=lambda change: next(iter(change)),
)
def test_a_checkpoint_serves_the_same_training_alone(data, encoder, tmp_path, change):
    # Kept at the last update, a checkpoint lets the same training end at once.
    given = {"max_updates": 2, "save_every": 1, "identity": {"code": "a"}}
    first, _ = run(data, encoder, tmp_path, **given)
    assert run(data, encoder, tmp_path, **given)[0]["resumed_from_update"] > 0
    other, _ = run(data, encoder, tmp_path, **given | change)
    assert other["work"] != first["work"]
    assert other["resumed_from_update"] == 0


def test_the_trial_decides_rate_and_epochs(data, encoder, tmp_path):
    record, _ = run(data, encoder, tmp_path / "one", epochs=1, learning_rate=3e-4, max_updates=3)
    assert record["trial"] == {"learning_rate": 3e-4, "epochs": 1}
    assert record["updates"] == 3
    state = json.loads(next(tmp_path.glob("one/work/*/checkpoint-*/trainer_state.json")).read_text())
    assert state["max_steps"] == 3
    assert state["log_history"][0]["learning_rate"] == pytest.approx(3e-4)
