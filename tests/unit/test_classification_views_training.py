"""Trainings of tasks with views: how long, at which rates, from which examples and from which weights."""

import gc
import logging
import os

# Nothing here is on the hub.
os.environ["HF_HUB_OFFLINE"] = "1"

import runpy
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, get_linear_schedule_with_warmup

import tiny_encoders
from lextables.models import checkpoints, multi_head
from lextables.models.checkpoints import Checkpoints
from lextables.pipeline.dataset import Column, Table, read, write, write_census
from lextables.tasks.classification import training
from lextables.tasks.classification.features import tokenise
from lextables.tasks.classification.schema import HEADS as HEADS_TABLE
from lextables.tasks.classification.texts import Text
from lextables.tasks.classification.training import prepare, train
from lextables.tasks.classification.trials import trials
from tiny_encoders import WORDS

# What is loaded by now need not be walked through each time a finished model is cleared away.
gc.freeze()
CPU = torch.device("cpu")
pytestmark = pytest.mark.usefixtures("one_thread")
SCRIPT = Path(__file__).parents[2] / "workflow/scripts/classification_train.py"
HEADS = {"three": ("entail", "neutral", "contradict"), "two": ("entail", "not entail")}
VIEW = {"text": "premise", "pair": "hypothesis"}
SETTINGS = {
    "setting": "multi",
    "percent": 100,
    "head": "family",
    "heads": None,
    "batch_size": 4,
    "accumulation": 1,
    "max_length": 24,
    "bf16": False,
    "save_every": 0,
    "weight_decay": 0.01,
    "multi_label": False,
    "loss": "cross_entropy",
    "sampling": "shuffled",
    "class_weights": "none",
    "view": VIEW,
    "only": ["three"],
    "where": None,
    "passes": None,
    "schedule": "constant",
    "warmup": 0,
    "learning_rate": 1e-2,
    "updates": [2],
    "model": "tiny",
    "revision": None,
}
EXAMPLES = Table(
    "examples",
    "",
    (
        *(Column(name, pa.string(), "") for name in ("example_id", "split", "head_id")),
        Column("label", pa.int32(), ""),
        *(Column(name, pa.string(), "") for name in ("premise", "hypothesis")),
        Column("analysis", pa.bool_(), ""),
    ),
    ("example_id",),
)


def examples():
    """Twelve to learn from of each head, nine of them of the analysis subset, and four to read."""
    return [
        {"example_id": f"{number:02}:{head}", "split": "test" if number >= 12 else "train"}
        | {"head_id": head, "label": number % len(answers), "analysis": number % 4 > 0}
        | {"premise": f"p{number:02}", "hypothesis": f"h{number % 5}"}
        for number in range(16)
        for head, answers in HEADS.items()
    ]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))


@pytest.fixture(scope="module")
def files(folders, tmp_path_factory):
    """The files of examples, heads and tokens."""
    folder, drawn = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    said = {f"p{n:02}": " ".join(drawn.choice(WORDS, 9)) for n in range(16)}
    said |= {f"h{n}": " ".join(drawn.choice(WORDS, 3)) for n in range(5)}
    write(EXAMPLES, examples(), folder / "examples.parquet")
    heads = ({"head_id": head, "answers": list(answers)} for head, answers in HEADS.items())
    write(HEADS_TABLE, heads, folder / "heads.parquet")
    keys = sorted({(row["premise"], row["hypothesis"]) for row in examples()})
    texts = [Text(key, *(said[name] for name in key)) for key in keys]
    tokenise(texts, folders["bert"], 24, folder / "tokens.parquet")
    return [folder / f"{name}.parquet" for name in ("examples", "heads", "tokens")]


@pytest.fixture
def prepared(files, folders, tmp_path):
    def prepare_with(**changes):
        settings = SETTINGS | {"weights": folders["bert"]} | changes
        return prepare(
            settings, *files, (["train"], ["test"]), seed=0, device=CPU, work_root=tmp_path / "work",
            identity={},
        )  # fmt: skip

    return prepare_with


@pytest.fixture
def learnt(prepared, tmp_path):
    """Train with settings that differ by ``changes``; return the folder of the weights, and the record."""

    def run(name="weights", **changes):
        given = prepared(**changes)
        (trial,) = trials(given.settings, given.material.answers).values()
        return tmp_path / name, train(given, trial, tmp_path / name)

    return run


def weights_in(folder):
    return load_file(Path(folder) / "model.safetensors")


def same(one, other):
    """Whether two folders hold the same weights."""
    first, second = weights_in(one), weights_in(other)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


# How long, and at which rates.


@pytest.mark.parametrize(
    ("changes", "updates"),
    [
        ({"passes": 2}, 6),
        ({"passes": 2, "only": ["three", "two"]}, 12),
        ({"passes": 1, "where": "analysis", "batch_size": 2}, 4),  # of nine
        ({"passes": 0.5, "batch_size": 3}, 2),
        ({"passes": 1, "batch_size": 32}, 1),  # a part of a batch, and no training of nothing
        ({"passes": None}, 2),
    ],
)
def test_passes_over_the_training_examples_are_updates(prepared, changes, updates):
    assert prepared(updates=[] if changes["passes"] else [2], **changes).settings["updates"] == [updates]


def test_passes_train_as_so_many_updates_do(learnt):
    passes, record = learnt("passes", passes=1, updates=[])
    assert record["trials"]["all heads"]["updates"] == [3]
    assert same(passes, learnt("updates", updates=[3])[0])


@pytest.fixture
def rates(monkeypatch):
    """The rate of each update from now on."""
    found = []

    class Recording(Checkpoints):
        def on_step_begin(self, args, state, control, optimizer=None, **kwargs):
            found.append(optimizer.param_groups[0]["lr"])

    monkeypatch.setattr(checkpoints, "Checkpoints", Recording)
    return found


@pytest.mark.parametrize("warmup", [0, 3])
def test_a_linear_schedule_is_the_one_of_transformers(learnt, rates, warmup):
    learnt(schedule="linear", warmup=warmup, updates=[8])
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1e-2)
    schedule = get_linear_schedule_with_warmup(optimizer, warmup, 8)
    expected = []
    for _ in range(8):
        expected.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    assert rates == pytest.approx(expected) and max(rates) == pytest.approx(1e-2)
    assert rates[-1] < max(rates)


def test_a_constant_schedule_stays_after_its_warmup(learnt, rates):
    learnt(warmup=2, updates=[5])
    assert rates == pytest.approx([0, 5e-3, 1e-2, 1e-2, 1e-2])


def test_schedules_make_different_weights(learnt):
    constant, _ = learnt("constant", updates=[4])
    assert same(constant, learnt("again", updates=[4])[0])
    assert not same(constant, learnt("linear", updates=[4], schedule="linear")[0])
    assert not same(constant, learnt("warm", updates=[4], warmup=2)[0])


# What it starts from.


def test_without_an_update_an_encoder_stays_and_gets_the_seed_s_head(learnt, folders):
    kept, record = learnt(updates=[0])
    model, heads = multi_head.load_trained(kept, CPU)
    fresh = multi_head.load(folders["bert"], [3], "family", 0)
    assert heads == {"three": list(HEADS["three"])} and record["resumed_from_update"] == {}
    states = model.state_dict(), fresh.state_dict()
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_without_an_update_a_trained_start_stays_with_its_head(learnt):
    start, _ = learnt("start", updates=[3])
    kept, _ = learnt("kept", updates=[0], weights=str(start))
    assert same(start, kept)
    body = AutoModelForSequenceClassification.from_pretrained(kept)
    assert torch.equal(body.classifier.weight, weights_in(start)["classifier.weight"])
    # And what goes on from it starts there.
    further, _ = learnt("further", updates=[1], weights=str(start), learning_rate=1e-12)
    for name, tensor in weights_in(start).items():
        assert torch.allclose(weights_in(further)[name], tensor, atol=1e-9), name
    assert not same(start, learnt("anew", updates=[1])[0])


# What it learns from.


def test_where_and_only_say_what_is_learnt_from(prepared, learnt):
    whole = prepared(only=[]).material
    assert {head: len(rows) for head, rows in whole.training.items()} == {"three": 12, "two": 12}
    part = prepared(where="analysis", only=["two"]).material
    wanted = [
        row["example_id"]
        for row in examples()
        if row["analysis"] and row["head_id"] == "two" and row["split"] == "train"
    ]
    assert list(part.answers) == list(part.training) == list(part.asked) == ["two"]
    assert [row["example_id"] for row in part.training["two"]] == wanted and len(wanted) == 9
    # All test examples are read, whatever is learnt from.
    assert len(part.asked["two"]) == 4
    folder, record = learnt(where="analysis", only=["two"])
    assert record["training_examples"] == 9
    assert multi_head.load_trained(folder, CPU)[1] == {"two": list(HEADS["two"])}


def test_what_is_not_learnt_from_changes_nothing(files, prepared, learnt, tmp_path):
    before, _ = learnt("before", where="analysis")
    rows = [
        row if row["analysis"] or row["head_id"] == "two" else row | {"label": (row["label"] + 1) % 3}
        for row in read(files[0])
    ]
    write(EXAMPLES, rows, tmp_path / "others.parquet")
    given = prepare(
        prepared(where="analysis").settings, tmp_path / "others.parquet", *files[1:],
        (["train"], ["test"]), seed=0, device=CPU, work_root=tmp_path / "other", identity={},
    )  # fmt: skip
    train(given, {"learning_rate": 1e-2, "updates": [2]}, tmp_path / "after")
    assert same(before, tmp_path / "after")
    assert not same(before, learnt("whole")[0])


# What was finished before.


class Files(list):
    """Files of a rule, by name and in order."""

    def __init__(self, **named):
        super().__init__(named.values())
        vars(self).update(named)


@pytest.fixture
def job(files, tmp_path, monkeypatch):
    """Runs the script that trains, as its rule does, from weights in the folder ``start``.

    Returns whether it trained, and the weights.
    """
    trained, whole = [], training._train
    monkeypatch.setattr(training, "_train", lambda *given: trained.append(1) or whole(*given))
    write_census(tmp_path / "census.json", {"data": {"examples": {"rows_sha256": "0"}}})
    start, output = tmp_path / "start", tmp_path / "run"

    def run():
        before = len(trained)
        shutil.rmtree(output, ignore_errors=True)
        level, handlers = logging.root.level, logging.root.handlers[:]
        given = Files(
            census=tmp_path / "census.json", data=files[:2], tokens=files[2:], choice=[],
            start=[start, tmp_path / "start.json"],
        )  # fmt: skip
        params = Files(
            settings=SETTINGS | {"weights": str(start)}, splits=[["train"], ["test"]], device="cpu",
            work=str(tmp_path / "work"), code="0",
        )  # fmt: skip
        try:
            runpy.run_path(
                str(SCRIPT),
                {
                    "snakemake": Files(
                        input=given,
                        output=Files(weights=output / "weights", record=output / "run.json"),
                        log=[tmp_path / "log.txt"],
                        params=params,
                        wildcards=Files(seed="0", experiment="train"),
                        threads=1,
                    )
                },
            )
        finally:
            logging.root.setLevel(level)
            logging.root.handlers[:] = handlers
        return len(trained) > before, weights_in(output / "weights")

    return run


def test_other_weights_at_the_same_place_are_trained_on_anew(job, learnt, tmp_path):
    learnt("start", updates=[1])
    trained, first = job()
    assert trained
    # Made again and the same: what was finished is taken up.
    shutil.rmtree(tmp_path / "start")
    learnt("start", updates=[1])
    trained, again = job()
    assert not trained and all(torch.equal(first[name], again[name]) for name in first)
    path = tmp_path / "start/model.safetensors"
    tensors = weights_in(tmp_path / "start")
    tensors["classifier.bias"] = tensors["classifier.bias"] + 1
    save_file(tensors, path, metadata={"format": "pt"})
    trained, other = job()
    assert trained and not torch.equal(first["classifier.bias"], other["classifier.bias"])
    # What was finished from the weights before is kept no longer.
    trained, last = job()
    assert not trained and all(torch.equal(other[name], last[name]) for name in other)
