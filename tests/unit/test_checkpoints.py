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

from lextables.models.checkpoints import (
    Checkpoints,
    arguments,
    clear,
    finished,
    keep,
    latest,
    train,
    work_folder,
)
from lextables.models.in_parts import InParts


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


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (
            "weights/model.safetensors",
            truncate,
        ),  # the first two damage the file of the run, a hard link
        ("weights/model.safetensors", flip),
        ("weights/model.safetensors", Path.unlink),
        ("weights/more.json", Path.touch),
        ("run.json", truncate),
        ("run.json", Path.unlink),
        ("files.json", lambda path: path.write_text(path.read_text()[:9])),
        ("files.json", lambda path: path.write_text("[]")),
        ("files.json", lambda path: path.write_text('{"run.json": 3}')),
        ("files.json", Path.unlink),
    ],
)
def test_a_damaged_training_is_not_reused(tmp_path, trained, capsys, name, damage):
    work, weights, record = trained
    keep(tmp_path / "work", work.name, weights, record)
    damage(
        weights / "model.safetensors"
        if damage in (truncate, flip) and "model" in name
        else work / "finished" / name
    )
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


def test_progress_of_training_is_logged_and_not_printed(tmp_path, caplog, capfd):
    settings = TrainingArguments(
        **arguments(
            tmp_path, 4, seed=0, save_every=0, device=torch.device("cpu"), log_lines=2
        ),
        remove_unused_columns=False,
    )
    caplog.set_level("INFO", logger="lextables")
    assert (
        train(
            InParts(
                model=Line(),
                args=settings,
                train_dataset=Points(),
                mixed=False,
                decayed="weights",
            ),
            tmp_path,
        )
        == 0
    )
    assert [re.sub(r"[0-9.]+$", "x", line) for line in caplog.messages] == [
        "update 2 of 4, loss x",
        "update 4 of 4, loss x",
    ]
    assert capfd.readouterr() == ("", "")


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
