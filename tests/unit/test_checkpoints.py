"""Work folders: one a run, in it one for each state of inputs, settings and code.  And what training says."""

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


def whole(folder, update):
    (folder / f"checkpoint-{update}").mkdir(parents=True)
    (folder / f"checkpoint-{update}/whole").touch()


def test_a_finished_run_clears_what_earlier_code_left_and_no_other_runs_work(tmp_path):
    run, other = tmp_path / "cuad/finetune/minilm/seed0", tmp_path / "cuad/finetune/minilm/seed1"
    before, after = (work_folder(run, {"rate": 1, "identity": {"code": code}}) for code in "ab")
    kept = work_folder(other, {"rate": 1, "identity": {"code": "a"}})
    for folder in (before, kept):
        whole(folder, 2)
    assert before != after
    assert latest(after) is None
    clear(run)
    assert not run.exists()
    assert latest(kept).name == "checkpoint-2"


def test_a_run_that_kept_no_work_has_nothing_to_clear(tmp_path):
    clear(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_a_training_that_was_finished_is_taken_up_and_takes_no_room(tmp_path):
    root, made, record = tmp_path / "work", tmp_path / "run/weights", tmp_path / "run/run.json"
    work, earlier = (work_folder(root, {"code": code}) for code in "ab")
    whole(work, 2)
    assert finished(work, made) is None
    assert not made.exists()
    made.mkdir(parents=True)
    (made / "model.safetensors").write_bytes(b"weights")
    record.write_text('{"seconds": 3}')
    keep(root, work.name, made, record)
    assert not earlier.exists()
    assert [path.name for path in work.iterdir()] == ["finished"]
    inode = (made / "model.safetensors").stat().st_ino
    shutil.rmtree(made)
    assert finished(work, made) == {"seconds": 3}
    assert (made / "model.safetensors").read_bytes() == b"weights"
    assert (made / "model.safetensors").stat().st_ino == inode
    assert finished(work_folder(root, {"code": "c"}), made) is None


def cut(path):
    os.truncate(path, path.stat().st_size - 1)


def flip(path):
    stat = path.stat()
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("weights/model.safetensors", cut),
        ("weights/model.safetensors", flip),
        ("weights/model.safetensors", Path.unlink),
        ("weights/config.json", cut),
        ("run.json", cut),
        ("run.json", Path.unlink),
        ("files.json", lambda path: path.write_text(path.read_text()[:9])),
        ("files.json", lambda path: path.write_text("[]")),
        ("files.json", lambda path: path.write_text('{"run.json": 3}')),
        ("files.json", Path.unlink),
        ("weights/more.json", Path.touch),
    ],
)
def test_a_finished_training_that_was_damaged_is_not_taken_up(tmp_path, capsys, name, damage):
    root, made, record = tmp_path / "work", tmp_path / "run/weights", tmp_path / "run/run.json"
    made.mkdir(parents=True)
    (made / "model.safetensors").write_bytes(b"weights")
    (made / "config.json").write_text("{}")
    record.write_text('{"seconds": 3}')
    work = work_folder(root, {"code": "a"})
    keep(root, work.name, made, record)
    assert finished(work, made) == {"seconds": 3}
    # The run's own file is the same one.
    in_run = made / Path(name).name if name.startswith("weights/mo") and damage is not Path.unlink else None
    damage(in_run if in_run and in_run.exists() else work / "finished" / name)
    shutil.rmtree(made)
    assert finished(work, made) is None
    assert not made.exists()
    assert capsys.readouterr().out == (
        f"{work / 'finished'}: this finished training is damaged; it is deleted and run again.\n"
    )
    # As after any training, what it makes now is kept.
    made.mkdir(parents=True)
    (made / "model.safetensors").write_bytes(b"others")
    keep(root, work.name, made, record)
    assert finished(work, made) == {"seconds": 3}
    assert (made / "model.safetensors").read_bytes() == b"others"


class Line(torch.nn.Module):
    """y = weight x, with its squared error as loss."""

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


@pytest.mark.parametrize("silent", [True, False])
def test_training_says_in_the_log_how_far_it_is_and_prints_nothing(tmp_path, caplog, capfd, silent):
    settings = TrainingArguments(
        **arguments(tmp_path, 4, seed=0, save_every=0, device=torch.device("cpu")),
        logging_steps=2,
        disable_tqdm=silent,
        remove_unused_columns=False,
    )
    caplog.set_level("INFO", logger="lextables")
    assert train(InParts(model=Line(), args=settings, train_dataset=Points(), rows=8), tmp_path) == 0
    assert [re.sub(r"[0-9.]+$", "x", line) for line in caplog.messages] == [
        "update 2 of 4, loss x",
        "update 4 of 4, loss x",
    ]
    assert capfd.readouterr() == ("", "")


def test_a_checkpoint_is_on_the_disk_before_it_counts_as_whole(tmp_path, monkeypatch):
    """A power cut keeps what was flushed, and may keep a later file without an earlier one."""
    (tmp_path / "checkpoint-2").mkdir()
    (tmp_path / "checkpoint-2/model.safetensors").write_bytes(b"weights")
    flushed = []
    monkeypatch.setattr(
        os, "fsync", lambda file: flushed.append(Path(f"/proc/self/fd/{file}").readlink().name)
    )
    trainer = SimpleNamespace(state_of_parts=lambda: {"rows": 4, "halved": []})
    Checkpoints(trainer).on_save(
        SimpleNamespace(output_dir=tmp_path), SimpleNamespace(global_step=2), SimpleNamespace()
    )
    assert flushed[0] == "model.safetensors"
    assert len(flushed) == 2
    assert latest(tmp_path).name == "checkpoint-2"
