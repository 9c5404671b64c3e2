"""Checkpoints that survive a kill: only one that was written whole is ever resumed from.

They lie in a work folder keyed by a fingerprint of the inputs and settings, so that a checkpoint of
other data or another setting is never picked up.  Of a training that is finished its weights stay there, as
hard links that take no room: where it is asked for again with nothing changed, it ends at once.

A hard link is the same file under two names, so damage to a run's weights damages these too.  The size and
the digest of each file are written down when a training is finished, and compared before it is used again.
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

from lextables.models.in_parts import InParts
from lextables.models.precision import in_words, mixed, tf32
from lextables.models.throughput import TRAINING, aside, encoder, measured
from lextables.models.unpadding import settle
from lextables.pipeline.atomic import flush, replacing_folder, write_text
from lextables.pipeline.content import sha256_of
from lextables.pipeline.run import noted

_WHOLE, _FINISHED, _FILES = "whole", "finished", "files.json"
WORKERS = 2  # processes that make a GPU's batches
_log = logging.getLogger("lextables")


def work_folder(root: str | Path, settings: Mapping[str, Any]) -> Path:
    """Return the folder under ``root`` for training with these inputs and settings, made if need be."""
    key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
    folder = Path(root) / key
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "settings.json", json.dumps(settings, indent=2, sort_keys=True) + "\n")
    return folder


def clear(root: str | Path) -> None:
    """Drop all work under ``root``, which is that of one run: it is finished.

    With it goes what earlier code or other settings left there, which nothing will use.
    """
    if Path(root).is_dir():
        shutil.rmtree(root)


def keep(root: str | Path, work: str, weights: str | Path, record: str | Path) -> None:
    """Keep what a run's training made, the folder ``weights`` and its ``record``, and drop all other work.

    ``work`` is the name of the training's folder under ``root``; `finished` finds it there.
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
    """Put the weights that `keep` kept in ``work`` in their place, and return their training's record.

    None where that training has not been finished, with the same inputs, settings, code and libraries.
    """
    kept = work / _FINISHED
    if not intact(kept):
        return None
    with replacing_folder(weights) as temporary:
        shutil.copytree(kept / "weights", temporary, copy_function=_linked, dirs_exist_ok=True)
    _log.info("this training was finished before, with nothing changed since: its weights are taken up")
    return json.loads((kept / "run.json").read_text(encoding="utf-8"))


def seal(folder: Path) -> None:
    """Write down the size and the digest of each file in ``folder``, for `intact`."""
    write_text(folder / _FILES, json.dumps(_files(folder, sha256_of), indent=1, sort_keys=True) + "\n")


def intact(folder: Path) -> bool:
    """Whether ``folder`` holds what it held when it was sealed; if not, it is deleted with a sentence."""
    if not folder.is_dir():
        return False
    try:
        sealed = json.loads((folder / _FILES).read_text(encoding="utf-8"))
        # Sizes first: most damage shows in them, and weights take long to read.
        sizes = _files(folder, lambda path: "")
        cut = sizes != {name: [size, ""] for name, (size, _) in sealed.items()}
        whole = not cut and _files(folder, sha256_of) == sealed
    except (OSError, ValueError, TypeError, AttributeError):
        whole = False
    if not whole:
        print(f"{folder}: this finished training is damaged; it is deleted and run again.")
        shutil.rmtree(folder)
    return whole


def _files(folder: Path, digest: Callable[[Path], str]) -> dict[str, list[Any]]:
    """{file below ``folder``: its size, its digest}, without the list of them."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path != folder / _FILES]
    return {path.relative_to(folder).as_posix(): [path.stat().st_size, digest(path)] for path in paths}


def _linked(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # no links on this file system
        shutil.copy2(source, target)
    return target


class Checkpoints(TrainerCallback):
    """Mark each checkpoint once ``trainer`` has written all of it, and write how much fits into memory."""

    def __init__(self, trainer: InParts) -> None:
        self.trainer = trainer

    def on_save(self, args, state, control, **kwargs):
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        flush(folder)
        write_text(folder / _WHOLE, json.dumps(self.trainer.state_of_parts()))


class AtUpdates(TrainerCallback):
    """Call ``visit`` with the number of updates done whenever it is one of ``updates``."""

    def __init__(self, updates: Sequence[int], visit: Callable[[int], None]) -> None:
        self.updates, self.visit = frozenset(updates), visit

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step in self.updates:
            with aside():
                self.visit(state.global_step)


class InTheLog(TrainerCallback):
    """Say in the log how far training is, in place of the bars and dictionaries that a trainer prints."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            _log.info("update %d of %d, loss %.3g", state.global_step, state.max_steps, logs["loss"])


def arguments(
    work: str | Path,
    updates: int,
    *,
    seed: int,
    save_every: int,
    device: torch.device,
    bf16: bool = False,
    able: bool = True,
) -> dict[str, Any]:
    """Return the trainer's arguments that every training here shares.

    ``updates`` of AdamW that ``seed`` settles, on ``device``, with a checkpoint in ``work`` every
    ``save_every`` of them; 0 keeps none.  In mixed precision as `precision.mixed` has it.
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
        "report_to": "none",
        "use_cpu": device.type == "cpu",
        "bf16": mixed(bf16, device, able),
        # A GPU waits for nothing: batches are made beside it and copied while it works, and no loss is looked
        # at but those that are logged.
        "dataloader_num_workers": WORKERS if gpu else 0,
        "dataloader_pin_memory": gpu,
        "accelerator_config": {"non_blocking": gpu},
        "logging_nan_inf_filter": False,
    }


def train(trainer: InParts, work: str | Path) -> int:
    """Train from the newest whole checkpoint in ``work``; return its update, 0 for a fresh start."""
    for printing in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(printing)
    trainer.add_callback(InTheLog())
    trainer.add_callback(Checkpoints(trainer))
    found = latest(work)
    if found:
        trainer.resume_parts(json.loads((found / _WHOLE).read_text(encoding="utf-8")))
    dtype, device = torch.bfloat16 if trainer.args.bf16 else torch.float32, trainer.args.device
    with tf32(device, wanted=dtype == torch.float32), measured(TRAINING, trainer.model, dtype):
        unpadded = _without_padding(trainer.model, dtype, device)
        trainer.train(resume_from_checkpoint=str(found) if found else None)
        noted("precision", lambda _: in_words(dtype, device))
        noted("padding", lambda _: unpadded)
    trainer.note_parts()
    return int(found.name.rpartition("-")[2]) if found else 0


def _without_padding(model: torch.nn.Module, dtype: torch.dtype, device: torch.device) -> str:
    """Have the encoder in ``model`` compute on real tokens alone if it can; return in words what it does."""
    if (body := encoder(model)) is None:
        return "padded: this model is no encoder of transformers"
    if device.type == "cuda" and dtype == torch.float32:
        return "padded: the GPU's kernel takes no single precision"
    return settle(body, device)


def latest(work: str | Path) -> Path | None:
    """Return the newest whole checkpoint in ``work``; those cut short by a kill are deleted."""
    found: dict[int, Path] = {}
    for folder in sorted(Path(work).glob("checkpoint-*")):
        if (folder / _WHOLE).exists():
            found[int(folder.name.rpartition("-")[2])] = folder
        else:
            shutil.rmtree(folder)
    return found[max(found)] if found else None
