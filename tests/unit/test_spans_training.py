"""Training of span-extraction models: its windows, its updates and its record."""

import json
import shutil

import numpy as np
import pytest
import torch
from transformers import BertForQuestionAnswering

from helpers import marked_contracts
from helpers.killed import killed
from helpers.marked_contracts import WINDOWS, WORDINGS, config, equal, features, weights
from helpers.optimisers import LINEAR, optimiser
from helpers.recorded_seeds import record_seeds
from helpers.trained_spans import changed, dataset_of, sampled, tuned
from lextables.models import checkpoints, loading
from lextables.models.checkpoints import keep
from lextables.models.tokenizers import load_tokenizer
from lextables.pipeline.dataset import read, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans import training
from lextables.tasks.spans import windows as windows_module
from lextables.tasks.spans.features import WindowSource, write_features
from lextables.tasks.spans.settings import Training
from lextables.tasks.spans.squad import held_out_contracts
from lextables.tasks.spans.training import train, training_rows, updates, work_settings
from lextables.tasks.spans.windows import (
    Collator,
    WindowDataset,
    WindowFiles,
    Windows,
    empty_weight,
    open_windows,
)

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def tokenizer():
    return marked_contracts.tokenizer()


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return marked_contracts.save_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """The folder of the training windows, the texts of their contracts, and the spans
    of the questions.
    """
    folder = tmp_path_factory.mktemp("train")
    return folder, *features(folder, 120, seed=1)


def windows(contracts, answered):
    """Return one window for each index in ``contracts``, with an answer if ``answered``
    is true.
    """
    count = len(contracts)
    zeros = np.zeros(count, dtype=np.int32)
    marked = np.where(answered, 5, 0).astype(np.int32)
    names = tuple(f"c{i:02}" for i in range(max(contracts) + 1))
    return Windows(
        examples=names,
        contracts=names,
        categories=("Parties",),
        example=np.asarray(contracts),
        contract=np.asarray(contracts),
        category=zeros,
        window=zeros,
        token_from=zeros,
        token_to=zeros + 9,
        start_positions=marked,
        end_positions=marked,
    )


TWENTY = {f"c{i:02}": "train" for i in range(20)} | {"t": "test"}
RUN = Training(
    model="tiny",
    weights="tiny",
    revision=None,
    found="folder",
    **WINDOWS.plain(),
    held_out=0.2,
    percent=100,
    balance="sample",
    learning_rate=1e-3,
    optimiser=LINEAR,
    epochs=2,
    batch_size=8,
    save_every=1000,
)


ROWS = changed(RUN, held_out=0.1)


def chosen_rows(found, seed=0, search=False, **changes):
    settings = changed(ROWS, **changes)
    return training_rows(found, TWENTY, settings, seed=seed, search=search)


def test_sampling_balances_empty_windows_and_weighting_keeps_all():
    found = windows(np.repeat(np.arange(20), 10), np.tile(np.arange(10) == 0, 20))
    rows, weight = chosen_rows(found)
    assert len(rows) == 40
    assert (found.start_positions[rows] > 0).sum() == 20
    assert weight is None
    assert rows.tolist() != chosen_rows(found, seed=1)[0].tolist()
    rows, weight = chosen_rows(found, balance="weight")
    assert len(rows) == 200
    assert weight == pytest.approx(20 / 180)  # windows with an answer / empty windows


def test_search_excludes_held_out_contracts_and_percent_selects_a_share():
    found = windows(np.repeat(np.arange(20), 2), np.tile([True, False], 20))
    rows, _ = chosen_rows(found, search=True, balance="weight")
    held = held_out_contracts(TWENTY, 0.1)
    assert len(held) == 2
    assert "t" not in held
    assert {f"c{i:02}" for i in found.contract[rows]} == set(found.contracts) - held
    part, _ = chosen_rows(found, balance="weight", percent=10)
    assert len(set(found.contract[part])) == 2


def test_training_windows_without_answers_raise_an_error():
    found = windows(np.arange(20), np.zeros(20, dtype=bool))
    with pytest.raises(BadInput, match="none of the 20 windows of 20 contracts has an"):
        chosen_rows(found)


def test_a_killed_training_resumes_and_reaches_the_same_weights(
    learnt, tokenizer, tmp_path
):
    folder = str(tmp_path / "model")
    torch.manual_seed(1)
    BertForQuestionAnswering(config(tokenizer)).save_pretrained(folder)
    settings = {"batch_size": 8, "seed": 5, "save_every": 2}
    whole = sampled(learnt[0], most=24)
    expected, _ = tuned(folder, whole, tmp_path / "unbroken", **settings)
    # Three updates per epoch: the kill is in the second one, after the checkpoint at
    # update 4.
    with killed(WindowDataset, "__getitem__", call=48):
        tuned(folder, whole, tmp_path / "broken", **settings)
    # An incomplete checkpoint is ignored.
    (tmp_path / "broken" / "checkpoint-5").mkdir()
    got, resumed = tuned(folder, whole, tmp_path / "broken", **settings)
    assert resumed == 4
    assert equal(weights(got), weights(expected))
    assert not equal(weights(got), weights(loading.load_span_model(folder, CPU)))


def test_checkpoints_by_time_change_no_weight(learnt, tokenizer, tmp_path, monkeypatch):
    """Without a number of updates between checkpoints, they fall wherever the time is
    up.
    """
    folder = str(tmp_path / "model")
    torch.manual_seed(1)
    BertForQuestionAnswering(config(tokenizer)).save_pretrained(folder)
    settings = {"batch_size": 8, "seed": 5, "save_every": 0}
    whole = sampled(learnt[0], most=24)
    expected, _ = tuned(folder, whole, tmp_path / "unbroken", **settings)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0)
    with killed(WindowDataset, "__getitem__", call=40):
        tuned(folder, whole, tmp_path / "broken", **settings)
    got, resumed = tuned(folder, whole, tmp_path / "broken", **settings)
    assert resumed == 3
    assert equal(weights(got), weights(expected))


def test_bfloat16_gives_a_similar_loss(encoder, learnt, tokenizer, tmp_path):
    dataset = sampled(learnt[0], most=32)
    batch = Collator.of(tokenizer)([dataset[item] for item in range(4)])
    losses = []
    for bf16 in (False, True):
        model, _ = tuned(encoder, dataset, tmp_path / str(bf16), bf16=bf16)
        losses.append(model(**batch).loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    assert losses[1] != losses[0]


def test_empty_windows_have_the_given_weight_in_the_loss(
    encoder, learnt, tokenizer, tmp_path
):
    windows = open_windows(learnt[0])
    answered = windows.start_positions[:60] > 0
    weight = empty_weight(windows.start_positions[:60], windows.end_positions[:60])
    model = loading.load_span_model(encoder, CPU).eval()
    dataset = dataset_of(learnt[0], np.arange(60))
    collator = Collator.of(tokenizer)
    losses = []
    for given in (1.0, weight, 0.0):
        trainer = training._SpanTrainer(
            model=model,
            args=training.TrainingArguments(
                str(tmp_path), use_cpu=True, report_to="none"
            ),
            answered=answered,
            empty_weight=given,
            mixed=False,
            optimiser=optimiser(),
        )
        batch = collator([dataset[item] for item in range(len(dataset))])
        losses.append(trainer.compute_loss(model, batch).item())
    # A single window needs no padding, so the model's default loss is correct.
    alone = np.array(
        [model(**collator([dataset[item]])).loss.item() for item in range(len(dataset))]
    )
    kinds = [alone[answered].mean(), alone[~answered].mean()]
    share = answered.mean()
    assert losses[0] == pytest.approx(
        share * kinds[0] + (1 - share) * kinds[1], rel=1e-4
    )
    # With the balancing weight both kinds count equally; with weight 0 empty windows
    # are ignored.
    assert losses[1] == pytest.approx((kinds[0] + kinds[1]) / 2, rel=1e-4)
    assert losses[2] == pytest.approx(kinds[0], rel=1e-4)


@pytest.mark.parametrize(
    ("windows", "most", "expected"),
    [(100, None, 12), (80, None, 8), (100, 5, 5), (100, 50, 12), (1, None, 4)],
)
def test_number_of_updates(windows, most, expected):
    settings = changed(RUN, batch_size=40, epochs=4, max_updates=most)
    assert updates(windows, settings) == expected


SPLITS = {f"c{n:02}": "test" if n % 5 == 4 else "train" for n in range(25)}


@pytest.fixture(scope="module")
def data(encoder, tmp_path_factory):
    """The folder of a data set, with the windows of its training examples."""
    folder = tmp_path_factory.mktemp("data")
    marked_contracts.data_set(folder, SPLITS, seed=4)
    names = ("contracts.parquet", "training_examples.parquet")
    source = WindowSource(*(folder / name for name in names), WORDINGS)
    write_features(source, folder / "windows", load_tokenizer(encoder), WINDOWS)
    return folder


def files_of(data):
    contracts, questions = data / "contracts.parquet", data / "questions.parquet"
    return WindowFiles(contracts, questions, data / "windows")


def test_each_random_part_uses_the_seed_of_the_run(
    data, encoder, tmp_path, monkeypatch
):
    """The share of the contracts, the sample of windows, the initial head, and dropout
    (the trainer's seed).
    """
    parts = ("part", "balanced", "arguments")
    places = [(training, name) for name in parts]
    seeds = record_seeds(monkeypatch, *places, (loading, "load_span_model"))
    settings = changed(RUN, weights=encoder, max_updates=1, percent=60)
    options = {"work_root": tmp_path, "identity": {}, "output": tmp_path / "weights"}
    train(files_of(data), settings, seed=3, search=False, device=CPU, **options)
    assert seeds == {
        "part": {3},
        "balanced": {3},
        "arguments": {3},
        "load_span_model": {3},
    }


def test_a_training_is_recorded_and_resumes_from_its_own_checkpoint(
    data, encoder, tmp_path
):
    settings = changed(RUN, weights=encoder, max_updates=2, save_every=1)
    files = files_of(data)
    job = {"seed": 0, "search": False, "device": CPU, "output": tmp_path / "weights"}
    job |= {"work_root": tmp_path / "work", "identity": {}}
    record = train(files, settings, **job)
    (work,) = (tmp_path / "work").iterdir()
    assert record == {
        "trial": {"learning_rate": 1e-3, "epochs": 2},
        "updates": 2,
        "training_windows": {"with an answer": 34, "without": 28},
        "resumed_from_update": 0,
        "work": work.name,
    }
    vocabulary = load_tokenizer(tmp_path / "weights").get_vocab()
    assert vocabulary == load_tokenizer(encoder).get_vocab()
    # With a checkpoint at the last update, the same training ends immediately.
    assert train(files, settings, **job)["resumed_from_update"] == 2


def test_a_training_on_changed_windows_starts_anew(data, encoder, tmp_path):
    folder = shutil.copytree(data, tmp_path / "data")
    settings = changed(RUN, weights=encoder, max_updates=1, save_every=1)
    job = {"seed": 0, "search": False, "device": CPU, "output": tmp_path / "weights"}
    job |= {"work_root": tmp_path / "work", "identity": {}}
    finished = train(files_of(folder), settings, **job)
    record = tmp_path / "run.json"
    record.write_text(json.dumps(finished))
    keep(job["work_root"], finished["work"], job["output"], record)
    assert train(files_of(folder), settings, **job) == finished
    for path in (folder / "windows").glob("windows-*.parquet"):
        rows = [row | {"end_position": row["start_position"]} for row in read(path)]
        write(windows_module.WINDOWS, rows, path)
    anew = train(files_of(folder), settings, **job)
    assert anew["work"] != finished["work"]
    assert anew["resumed_from_update"] == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"search": True},
        {"identity": {"code": "b"}},
        {"settings": changed(RUN, learning_rate=2e-3)},
        {"items": "b"},
    ],
)
def test_another_training_has_another_work_folder(changes):
    given = {"settings": RUN, "seed": 0, "search": False, "identity": {"code": "a"}}
    given["items"] = "a"
    assert work_settings(**given) != work_settings(**given | changes)
