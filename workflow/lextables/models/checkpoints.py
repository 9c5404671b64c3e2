"""Checkpoints that survive a kill: training resumes only from a completely written one.

They are in a work folder named by a hash of inputs and settings, so checkpoints of other data or settings are
never used.  The weights of a finished training stay there as hard links, which need no space: the same
training requested again ends at once.

Damage to a run's weights damages the hard links too.  Therefore size and digest of each file are recorded
when a training finishes, and compared before it is reused.
"""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, ProgressCallback, TrainerCallback

from lextables.models.in_parts import MORE_MEMORY, OUT_OF_MEMORY, InParts, out_of_memory
from lextables.models.precision import precision_name, tf32
from lextables.models.throughput import TRAINING, measured
from lextables.pipeline.atomic import flush, replacing_folder, write_text
from lextables.pipeline.content import sha256_of
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json
from lextables.pipeline.run import noted

_WHOLE, _FINISHED, _FILES = "whole", "finished", "files.json"
_log = logging.getLogger("lextables")


def work_folder(root: str | Path, settings: Mapping[str, Any]) -> Path:
    """Return the folder under ``root`` for training with these inputs and settings, created if missing."""
    key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
    folder = Path(root) / key
    folder.mkdir(parents=True, exist_ok=True)
    write_text(
        folder / "settings.json", json.dumps(settings, indent=2, sort_keys=True) + "\n"
    )
    return folder


def clear(root: str | Path) -> None:
    """Delete the work folder ``root`` of a finished run, including work of earlier code or settings."""
    if Path(root).is_dir():
        shutil.rmtree(root)


def keep(root: str | Path, work: str, weights: str | Path, record: str | Path) -> None:
    """Keep a finished training's folder ``weights`` and its ``record`` for `finished`, and delete other work.

    ``work`` is the name of the training's folder under ``root``.
    """
    folder = Path(root) / work
    with replacing_folder(folder / _FINISHED) as temporary:
        shutil.copytree(weights, temporary / "weights", copy_function=_linked)
        shutil.copy2(record, temporary / "run.json")
        seal(temporary)
    for left in (*Path(root).iterdir(), *folder.iterdir()):
        if left not in (folder, folder / _FINISHED):
            shutil.rmtree(left) if left.is_dir() else left.unlink()


def finished(work: Path, weights: str | Path) -> dict[str, Any] | None:
    """Link the weights that `keep` stored in ``work`` to ``weights``, and return their training's record.

    None if there is no finished training with the same inputs, settings, code and libraries.
    """
    kept = work / _FINISHED
    if not intact(kept):
        return None
    with replacing_folder(weights) as temporary:
        shutil.copytree(
            kept / "weights", temporary, copy_function=_linked, dirs_exist_ok=True
        )
    _log.info(
        "this training was finished before and nothing has changed: its weights are reused"
    )
    return read_json(kept / "run.json")


def seal(folder: Path) -> None:
    """Record size and digest of each file in ``folder`` for `intact`."""
    write_text(
        folder / _FILES,
        json.dumps(_files(folder, sha256_of), indent=1, sort_keys=True) + "\n",
    )


def intact(folder: Path) -> bool:
    """Whether ``folder`` is unchanged since `seal`; if not, it is deleted with a message."""
    if not folder.is_dir():
        return False
    try:
        sealed = json.loads((folder / _FILES).read_text(encoding="utf-8"))
        # Sizes first: they show most damage, and reading weights takes long.
        sizes = {name: [size, ""] for name, (size, _) in sealed.items()}
        unchanged = (
            _files(folder, lambda path: "") == sizes
            and _files(folder, sha256_of) == sealed
        )
    except (OSError, ValueError, TypeError, AttributeError):
        unchanged = False
    if not unchanged:
        print(
            f"{folder}: this finished training is damaged; it is deleted and run again."
        )
        shutil.rmtree(folder)
    return unchanged


def _files(folder: Path, digest: Callable[[Path], str]) -> dict[str, list[Any]]:
    """Return {file below ``folder``: [size, digest]}, without the record itself."""
    paths = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path != folder / _FILES
    ]
    return {
        path.relative_to(folder).as_posix(): [path.stat().st_size, digest(path)]
        for path in paths
    }


def _linked(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # no links on this file system
        shutil.copy2(source, target)
    return target


class Checkpoints(TrainerCallback):
    """Mark each completely written checkpoint, with the state of the trainer's micro-batches."""

    def __init__(self, trainer: InParts) -> None:
        self.trainer = trainer

    def on_save(self, args, state, control, **kwargs):
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        flush(folder)
        write_text(folder / _WHOLE, json.dumps(self.trainer.state_of_parts()))


class AtUpdates(TrainerCallback):
    """Call ``visit`` with the number of finished updates whenever it is in ``updates``."""

    def __init__(self, updates: Sequence[int], visit: Callable[[int], None]) -> None:
        self.updates, self.visit = frozenset(updates), visit

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step in self.updates:
            self.visit(state.global_step)


class InTheLog(TrainerCallback):
    """Log the progress of training, instead of the progress bars and dictionaries that a trainer prints."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            _log.info(
                "update %d of %d, loss %.3g",
                state.global_step,
                state.max_steps,
                logs["loss"],
            )


def arguments(
    work: str | Path,
    updates: int,
    *,
    seed: int,
    save_every: int,
    device: torch.device,
    log_lines: int = 20,
) -> dict[str, Any]:
    """Return the trainer's arguments that all trainings share.

    ``updates`` of AdamW with ``seed`` on ``device``, and a checkpoint in ``work`` every ``save_every``
    updates (0: none); the loss is logged ``log_lines`` times.
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
        "save_total_limit": 2,
        "logging_steps": max(1, updates // log_lines),
        "report_to": "none",
        "use_cpu": device.type == "cpu",
        # Batches are prepared and copied while the GPU computes, and only logged losses are read.
        "dataloader_num_workers": max(1, torch.get_num_threads() - 1) if gpu else 0,
        "dataloader_pin_memory": gpu,
        "accelerator_config": {"non_blocking": gpu},
        "logging_nan_inf_filter": False,
    }


def train(trainer: InParts, work: str | Path) -> int:
    """Train from the newest complete checkpoint in ``work``; return its update, 0 without a checkpoint."""
    for printing in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(printing)
    trainer.add_callback(InTheLog())
    trainer.add_callback(Checkpoints(trainer))
    checkpoint = latest(work)
    if checkpoint:
        trainer.resume_parts(read_json(checkpoint / _WHOLE))
    dtype, device = (
        torch.bfloat16 if trainer.mixed else torch.float32,
        trainer.args.device,
    )
    _note_warm_up(trainer)
    with (
        tf32(device, wanted=dtype == torch.float32),
        measured(TRAINING, trainer.model, dtype),
    ):
        try:
            trainer.train(
                resume_from_checkpoint=str(checkpoint) if checkpoint else None
            )
        except OUT_OF_MEMORY as error:
            if not out_of_memory(error):
                raise
            # Half of an optimiser's step cannot be undone, so it is not repeated.
            what = "weights, gradients and the optimiser's state do not fit into the device's memory"
            raise BadInput(what, where="training", do=MORE_MEMORY) from error
        noted("precision", lambda _: precision_name(dtype, device))
    trainer.note_parts()
    return int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0


def _note_warm_up(trainer: InParts) -> None:
    """Record in `run.json` that the learning rate does not reach its peak, if the warm-up is too long."""
    updates, warmup = trainer.args.max_steps, trainer.args.warmup_steps
    if updates > warmup:
        return
    highest = trainer.args.learning_rate * (updates - 1) / warmup
    noted(
        "warm_up",
        lambda _: {
            "updates": updates,
            "warmup": warmup,
            "highest_learning_rate": highest,
        },
    )
    _log.warning(
        "warm-up of %d updates, training of %d: the rate is at most %.3g",
        warmup,
        updates,
        highest,
    )


def latest(work: str | Path) -> Path | None:
    """Return the newest complete checkpoint in ``work``; incomplete ones are deleted."""
    complete: dict[int, Path] = {}
    for folder in sorted(Path(work).glob("checkpoint-*")):
        if (folder / _WHOLE).exists():
            complete[int(folder.name.rpartition("-")[2])] = folder
        else:
            shutil.rmtree(folder)
    return complete[max(complete)] if complete else None
