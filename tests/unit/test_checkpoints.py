"""Work folders, finished trainings, checkpoints and the training log."""

import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.utils.data import Dataset
from transformers import TrainingArguments

from helpers.optimisers import optimiser
from lextables.models import checkpoints
from lextables.models.checkpoints import (
    Checkpoints,
    InTheLog,
    arguments,
    clear,
    finished,
    keep,
    latest,
    train,
    work_folder,
)
from lextables.models.in_parts import InParts
from lextables.pipeline.run import recorded

CPU = torch.device("cpu")


def complete(folder, update):
    (folder / f"checkpoint-{update}").mkdir(parents=True)
    (folder / f"checkpoint-{update}/whole").touch()


def test_clear_deletes_work_of_earlier_code_and_keeps_other_runs(tmp_path):
    clear(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []
    run, other = (
        tmp_path / "cuad/finetune/minilm/seed0",
        tmp_path / "cuad/finetune/minilm/seed1",
    )
    before, after = (
        work_folder(run, {"rate": 1, "identity": {"code": code}}) for code in "ab"
    )
    kept = work_folder(other, {"rate": 1, "identity": {"code": "a"}})
    for folder in (before, kept):
        complete(folder, 2)
    assert before != after
    assert latest(after) is None
    clear(run)
    assert not run.exists()
    assert latest(kept).name == "checkpoint-2"


@pytest.fixture
def trained(tmp_path):
    """A finished training with its work folder: (work, weights, record)."""
    weights, record = tmp_path / "run/weights", tmp_path / "run/run.json"
    work = work_folder(tmp_path / "work", {"code": "a"})
    assert finished(work, weights) is None and not weights.exists()
    weights.mkdir(parents=True)
    (weights / "model.safetensors").write_bytes(b"weights")
    (weights / "config.json").write_text("{}")
    record.write_text('{"seconds": 3}')
    return work, weights, record


def test_a_finished_training_is_reused_with_hard_links(tmp_path, trained):
    work, weights, record = trained
    earlier = work_folder(tmp_path / "work", {"code": "earlier"})
    complete(work, 2)
    keep(tmp_path / "work", work.name, weights, record)
    assert not earlier.exists()
    assert [path.name for path in work.iterdir()] == ["finished"]
    inode = (weights / "model.safetensors").stat().st_ino
    shutil.rmtree(weights)
    assert finished(work, weights) == {"seconds": 3}
    assert (weights / "model.safetensors").read_bytes() == b"weights"
    assert (weights / "model.safetensors").stat().st_ino == inode
    assert finished(work_folder(tmp_path / "work", {"code": "c"}), weights) is None


def truncate(path):
    os.truncate(path, path.stat().st_size - 1)


def flip(path):
    stat = path.stat()
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


LINKED = "../../../run/weights/model.safetensors"  # the run's file, a hard link


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (LINKED, truncate),
        (LINKED, flip),
        ("content/weights/model.safetensors", Path.unlink),
        ("content/weights/more.json", Path.touch),
        ("content/run.json", truncate),
        ("content/run.json", Path.unlink),
        ("digest", truncate),
        ("digest", lambda path: path.write_bytes(b"\xff")),
        ("digest", Path.unlink),
    ],
)
def test_a_damaged_training_is_not_reused(tmp_path, trained, capsys, name, damage):
    work, weights, record = trained
    keep(tmp_path / "work", work.name, weights, record)
    damage(work / "finished" / name)
    shutil.rmtree(weights)
    assert finished(work, weights) is None
    assert not weights.exists()
    assert capsys.readouterr().out == (
        f"{work / 'finished'}: this finished training is damaged; it is deleted and run again.\n"
    )
    weights.mkdir()
    (weights / "model.safetensors").write_bytes(b"new")
    keep(tmp_path / "work", work.name, weights, record)
    assert finished(work, weights) == {"seconds": 3}
    assert (weights / "model.safetensors").read_bytes() == b"new"


class Line(torch.nn.Module):
    """y = weight * x, with the squared error as loss."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, x, y):
        return {"loss": ((self.weight * x - y) ** 2).mean()}


class Points(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, at):
        return {"x": torch.tensor(float(at)), "y": torch.tensor(2.0 * at)}


def line_trainer(folder, updates, **options):
    """A trainer of `Line` that writes to ``folder``."""
    return InParts(
        model=Line(),
        args=TrainingArguments(
            **arguments(folder, updates, seed=0, device=CPU, **options),
            remove_unused_columns=False,
        ),
        train_dataset=Points(),
        mixed=False,
        optimiser=optimiser(schedule="linear"),
    )


def test_progress_of_training_is_logged_and_not_printed(tmp_path, caplog, capfd):
    caplog.set_level("INFO", logger="lextables")
    trainer = line_trainer(tmp_path, 4, save_every=0, log_lines=2)
    with recorded(tmp_path / "run.json", {}) as record:
        assert train(trainer, tmp_path) == 0
    assert [re.sub(r"[0-9.]+$", "x", line) for line in caplog.messages] == [
        "update 2 of 4, loss x",
        "update 4 of 4, loss x",
    ]
    assert capfd.readouterr() == ("", "")
    assert record["precision"] == "float32"


def test_a_training_has_one_checkpoint_and_continues_from_it(tmp_path):
    (tmp_path / "checkpoint-7").mkdir()  # not completely written
    assert train(line_trainer(tmp_path, 5, save_every=2), tmp_path) == 0
    assert [path.name for path in tmp_path.glob("checkpoint-*")] == ["checkpoint-5"]
    complete(tmp_path, 3)  # a kill left it beside the newer one
    assert train(line_trainer(tmp_path, 8, save_every=2), tmp_path) == 5


def test_checkpoints_are_saved_by_time_too(tmp_path, monkeypatch):
    """Every update takes 20 minutes of the clock; 50 minutes after a checkpoint is the
    next.
    """
    saved = []
    clock = SimpleNamespace(now=0.0)
    on_step_end = InTheLog.on_step_end

    def step(callback, args, state, control, **kwargs):
        clock.now += 1200
        on_step_end(callback, args, state, control, **kwargs)

    def save(callback, args, state, control, **kwargs):
        saved.append(state.global_step)

    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(InTheLog, "on_step_end", step)
    monkeypatch.setattr(InTheLog, "on_save", save)
    train(line_trainer(tmp_path / "a", 8, save_every=0), tmp_path / "a")
    assert saved == [3, 6]
    saved.clear()
    train(line_trainer(tmp_path / "b", 8, save_every=4), tmp_path / "b")
    assert saved == [3, 4, 7, 8]
    assert checkpoints.CHECKPOINT_SECONDS <= 3600


def test_a_checkpoint_is_flushed_before_it_is_marked_as_complete(tmp_path, monkeypatch):
    (tmp_path / "checkpoint-2").mkdir()
    (tmp_path / "checkpoint-2/model.safetensors").write_bytes(b"weights")
    flushed = []
    monkeypatch.setattr(
        os,
        "fsync",
        lambda file: flushed.append(Path(f"/proc/self/fd/{file}").readlink().name),
    )
    trainer = SimpleNamespace(state_of_parts=lambda: {"rows": 4, "halved": []})
    Checkpoints(trainer).on_save(
        SimpleNamespace(output_dir=tmp_path),
        SimpleNamespace(global_step=2),
        SimpleNamespace(),
    )
    assert flushed[0] == "model.safetensors"
    assert len(flushed) == 2
    assert latest(tmp_path).name == "checkpoint-2"
