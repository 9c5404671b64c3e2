"""Checkpoints that survive a kill: only one that was written whole is ever resumed from.

They lie in a work folder keyed by a fingerprint of the inputs and settings, so that a checkpoint of
other data or another setting is never picked up.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from lextables.atomic import write_text

_WHOLE = "whole"


def work_folder(root: str | Path, settings: Mapping[str, Any]) -> Path:
    """Return the folder under ``root`` for training with these inputs and settings, made if need be."""
    key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
    folder = Path(root) / key
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "settings.json", json.dumps(settings, indent=2, sort_keys=True) + "\n")
    return folder


class Checkpoints(TrainerCallback):
    """Mark each checkpoint once the trainer has written all of it."""

    def on_save(self, args, state, control, **kwargs):
        write_text(Path(args.output_dir) / f"checkpoint-{state.global_step}" / _WHOLE, "")


def latest(work: str | Path) -> Path | None:
    """Return the newest whole checkpoint in ``work``; those cut short by a kill are deleted."""
    found: dict[int, Path] = {}
    for folder in sorted(Path(work).glob("checkpoint-*")):
        if (folder / _WHOLE).exists():
            found[int(folder.name.rpartition("-")[2])] = folder
        else:
            shutil.rmtree(folder)
    return found[max(found)] if found else None
