"""Checkpoints that survive a kill: training resumes only from a complete one.

They are in a work folder named by a hash of inputs and settings, so checkpoints of
other data or settings are never used.  The weights of a finished training stay there
as hard links, which need no space: the same training requested again ends at once.

Damage to a run's weights damages the hard links too.  Therefore a digest of all files
is stored when a training finishes, and compared before it is reused.
"""

import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import (
    PrinterCallback,
    ProgressCallback,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from lextables.models.device import precision_name, tf32
from lextables.models.in_parts import MORE_MEMORY, OUT_OF_MEMORY, InParts, out_of_memory
from lextables.pipeline.atomic import flush, remove, replacing_folder, write_text
from lextables.pipeline.content import folder_content
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject, read_json
from lextables.pipeline.run import noted

_WHOLE = "whole"  # file that marks a completely written checkpoint
_FINISHED = "finished"  # folder of finished work
# In it: the folder of its files, and the file with their digest.
_CONTENT = "content"
_DIGEST = "digest"
# Seconds after which a checkpoint is saved, whatever the number of updates.  A killed
# job loses at most an hour, if the running update and the writing take ten minutes.
CHECKPOINT_SECONDS = 3000
_log = logging.getLogger("lextables")


def work_folder(root: str | Path, settings: JsonObject) -> Path:
    """Return the folder under ``root`` for training with these inputs and settings.

    It is created if it is missing.
    """
    text = json.dumps(settings, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    folder = Path(root) / digest[:16]
    folder.mkdir(parents=True, exist_ok=True)
    readable = json.dumps(settings, indent=2, sort_keys=True) + "\n"
    write_text(folder / "settings.json", readable)
    return folder


def clear(root: str | Path) -> None:
    """Delete the work folder ``root`` of a finished run, and work of other settings."""
    if Path(root).is_dir():
        shutil.rmtree(root)


def keep(root: str | Path, work: str, weights: str | Path, record: str | Path) -> None:
    """Keep a finished training for `finished`, and delete other work under ``root``.

    ``work`` is the name of its work folder under ``root``, ``weights`` the folder of
    its weights, and ``record`` its `run.json`.
    """
    folder = Path(root) / work
    with finishing(folder) as content:
        shutil.copytree(weights, content / "weights", copy_function=_linked)
        shutil.copy2(record, content / "run.json")
    for left in (*Path(root).iterdir(), *folder.iterdir()):
        if left not in (folder, folder / _FINISHED):
            remove(left)


def finished(work: Path, weights: str | Path) -> JsonObject | None:
    """Link the weights that `keep` stored in ``work`` to ``weights``.

    Returns their training's record; None if there is no finished training with the
    same inputs, settings, code and libraries.
    """
    content = finished_content(work)
    if content is None:
        return None
    stored = content / "weights"
    with replacing_folder(weights) as temporary:
        shutil.copytree(stored, temporary, copy_function=_linked, dirs_exist_ok=True)
    _log.info("unchanged since it was finished: the weights are reused")
    return read_json(content / "run.json")


@contextmanager
def finishing(work: Path) -> Iterator[Path]:
    """Yield a folder for the files of finished work; they are stored with a digest."""
    with replacing_folder(work / _FINISHED) as temporary:
        content = temporary / _CONTENT
        content.mkdir()
        yield content
        write_text(temporary / _DIGEST, folder_content(content))


def finished_content(work: Path) -> Path | None:
    """Return the folder that `finishing` stored in ``work``; None if there is none.

    Damaged work is deleted with a message.
    """
    folder = work / _FINISHED
    if not folder.is_dir():
        return None
    content = folder / _CONTENT
    try:
        digest = (folder / _DIGEST).read_bytes().decode()
        if digest == folder_content(content):
            return content
    except (OSError, ValueError):
        pass
    print(f"{folder}: this finished training is damaged; it is deleted and run again.")
    shutil.rmtree(folder)
    return None


def _linked(source: str, target: str) -> str:
    """Make ``target`` a hard link to ``source``, or a copy, for `shutil.copytree`."""
    try:
        os.link(source, target)
    except OSError:  # no links on this file system
        shutil.copy2(source, target)
    return target


class Checkpoints(TrainerCallback):
    """Mark each completely written checkpoint, and delete the one before it.

    The mark has the state of the trainer's micro-batches.
    """

    def __init__(self, trainer: InParts) -> None:
        self.trainer = trainer

    def on_save(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Mark the checkpoint of a save, and delete the others."""
        assert args.output_dir is not None  # as in `arguments`
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        flush(folder)
        write_text(folder / _WHOLE, json.dumps(self.trainer.state_of_parts()))
        for earlier in folder.parent.glob("checkpoint-*"):
            if earlier != folder:
                shutil.rmtree(earlier)


class ByTime(TrainerCallback):
    """Save a checkpoint after an update if the last one is `CHECKPOINT_SECONDS` old."""

    def __init__(self) -> None:
        self.saved = time.monotonic()

    def on_step_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Ask for a checkpoint if it is time."""
        if time.monotonic() - self.saved >= CHECKPOINT_SECONDS:
            control.should_save = True

    def on_save(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Count the time from this checkpoint."""
        self.saved = time.monotonic()


class AtUpdates(TrainerCallback):
    """Call ``visit`` with the number of finished updates whenever it is in
    ``updates``.
    """

    def __init__(self, updates: Sequence[int], visit: Callable[[int], None]) -> None:
        self.updates = frozenset(updates)
        self.visit = visit

    def on_step_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: Any,
    ) -> None:
        if state.global_step in self.updates:
            self.visit(state.global_step)


class InTheLog(TrainerCallback):
    """Log the progress of training, instead of the progress bars of a trainer."""

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: JsonObject | None = None,
        **kwargs: Any,
    ) -> None:
        """Log the loss and the number of updates."""
        if logs and "loss" in logs:
            progress = (state.global_step, state.max_steps, logs["loss"])
            _log.info("update %d of %d, loss %.3g", *progress)


def arguments(
    work: str | Path,
    updates: int,
    *,
    seed: int,
    save_every: int,
    device: torch.device,
    log_lines: int = 20,
) -> JsonObject:
    """Return the trainer's arguments that all trainings share.

    ``updates`` of AdamW with ``seed`` on ``device``, and a checkpoint in ``work`` every
    ``save_every`` updates (0: only by time, see `ByTime`); the loss is logged
    ``log_lines`` times.
    """
    gpu = device.type == "cuda"
    return {
        "output_dir": str(work),
        "max_steps": updates,
        "optim": "adamw_torch_fused" if gpu else "adamw_torch",
        "seed": seed,
        "data_seed": seed,
        "save_strategy": "steps" if save_every else "no",
        "save_steps": save_every or updates,
        "logging_steps": max(1, updates // log_lines),
        "report_to": "none",
        "use_cpu": device.type == "cpu",
        # Batches are prepared and copied while the GPU computes, and only logged losses
        # are read.
        "dataloader_num_workers": max(1, torch.get_num_threads() - 1) if gpu else 0,
        "dataloader_pin_memory": gpu,
        "accelerator_config": {"non_blocking": gpu},
        "logging_nan_inf_filter": False,
    }


def train(trainer: InParts, work: str | Path) -> int:
    """Train from the newest complete checkpoint in ``work``.

    Returns its update, 0 without a checkpoint.  Raises `BadInput` if the optimiser's
    state does not fit into memory.
    """
    for printing in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(printing)
    trainer.add_callback(InTheLog())
    trainer.add_callback(Checkpoints(trainer))
    trainer.add_callback(ByTime())
    checkpoint = latest(work)
    resume_from = None
    resumed_at = 0
    if checkpoint:
        resume_from = str(checkpoint)
        resumed_at = _update_of(checkpoint)
        trainer.resume_parts(read_json(checkpoint / _WHOLE))
    dtype = torch.bfloat16 if trainer.mixed else torch.float32
    device = trainer.args.device
    _note_warm_up(trainer)
    with tf32(device, wanted=dtype == torch.float32):
        try:
            trainer.train(resume_from_checkpoint=resume_from)
        except OUT_OF_MEMORY as error:
            if not out_of_memory(error):
                raise
            # Half of an optimiser's step cannot be undone, so it is not repeated.
            what = "weights, gradients and optimiser state do not fit into memory"
            raise BadInput(what, where="training", do=MORE_MEMORY) from error
        noted("precision", lambda _: precision_name(dtype, device))
    trainer.note_parts()
    trainer.note_throughput()
    return resumed_at


def _note_warm_up(trainer: InParts) -> None:
    """Record a warm-up that is too long for the learning rate to reach its peak."""
    updates = trainer.args.max_steps
    warmup = trainer.optimiser.warmup_updates(updates)
    if updates > warmup:
        return
    highest = trainer.args.learning_rate * (updates - 1) / warmup
    note = {"updates": updates, "warmup": warmup, "highest_learning_rate": highest}
    noted("warm_up", lambda _: note)
    message = "warm-up of %d updates, training of %d: the rate is at most %.3g"
    _log.warning(message, warmup, updates, highest)


def latest(work: str | Path) -> Path | None:
    """Return the newest complete checkpoint in ``work``; delete incomplete ones."""
    complete = []
    for folder in Path(work).glob("checkpoint-*"):
        if (folder / _WHOLE).exists():
            complete.append(folder)
        else:
            shutil.rmtree(folder)
    return max(complete, key=_update_of, default=None)


def _update_of(checkpoint: Path) -> int:
    return int(checkpoint.name.rpartition("-")[2])
