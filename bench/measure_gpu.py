"""Measure trainings on a GPU, in stages of less than ten minutes each.

    PYTHONPATH=workflow python bench/measure_gpu.py measured --stage correctness

The stages are those of `STAGES`, in this order; without ``--stage`` all of them run.
Weights and texts are random, so nothing has to be copied to the machine.  Results are
written to `measured.json` after each case.  To try it on a processor: ``--device cpu
--tiny``.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import torch
import transformers

from lextables.models import checkpoints
from lextables.models.device import tf32
from lextables.models.in_parts import InParts
from lextables.pipeline.atomic import write_text
from random_trainings import (
    SMALL,
    SMALL_WORK,
    Size,
    Watch,
    Work,
    classifier,
    difference,
    trainer,
)

ARCHITECTURES = ("bert", "roberta", "deberta-v2", "albert", "modernbert", "mpnet")
# {name: `Size`} of models, and {paper: `Work`} of trainings.
SIZES = {"MiniLM": (384, 6, 12), "base": (768, 12, 12)}
WORKS = {"CUAD": (40, 512, 512), "MAUD": (16, 64, 512), "ACORD": (64, 32, 512)}


def start_to_measure_memory(device: torch.device) -> None:
    """Release a GPU's unused memory, and forget its peak."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def one_step(kind: str, device: torch.device) -> dict[str, Any]:
    """Take one step with dropout in single precision, and one without dropout in single
    precision and in bfloat16.

    Return whether the gradients with dropout are finite, the losses without dropout,
    and the relative difference of their gradients.
    """
    losses = []
    gradients = []
    for dropout, bf16 in ((0.1, False), (0.0, False), (0.0, True)):
        watch = Watch()
        model = classifier(kind, SMALL, dropout)
        run = trainer(
            model, device, SMALL_WORK, 1, bf16=bf16, max_grad_norm=0.0, watch=watch
        )
        losses.append(run.train().training_loss)
        gradients.append(watch.gradients)
    _, loss, bf16_loss = losses
    gradient_with_dropout, gradient, bf16_gradient = gradients
    return {
        "finite": bool(gradient_with_dropout.isfinite().all()),
        "loss": loss,
        "bf16_loss": bf16_loss,
        "bf16_gradient_error": float(
            (bf16_gradient - gradient).norm() / gradient.norm()
        ),
    }


def out_of_memory(kind: str, device: torch.device) -> dict[str, Any]:
    """Compare a training that runs out of memory with one that begins with small
    parts.
    """
    gpu = device.type == "cuda"
    work = (32, 512, 512) if gpu else SMALL_WORK
    make = partial(classifier, kind, SMALL, 0.1)
    if gpu:
        # Allow 70 % of what a whole batch needs.
        start_to_measure_memory(device)
        trainer(make(), device, work, 1).train()
        _, total = torch.cuda.mem_get_info()
        needed = torch.cuda.max_memory_reserved() / total
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(0.7 * needed)
    halved = trainer(make(), device, work, 3)
    if not gpu:
        # The system would end a process without memory, so the error is simulated.
        halved.model.register_forward_pre_hook(no_memory, with_kwargs=True)
    try:
        halved.train()
    finally:
        if gpu:
            torch.cuda.set_per_process_memory_fraction(1.0)
    reference = trainer(make(), device, work, 3)
    reference.rows = halved.rows
    reference.train()
    return {
        "rows": work[0],
        "halved_to": halved.rows,
        "difference": difference(halved, reference),
    }


def no_memory(
    model: transformers.PreTrainedModel, args: tuple[Any, ...], inputs: dict[str, Any]
) -> None:
    """Raise the error of a full GPU for more than half a batch; a hook of a model."""
    if len(inputs["input_ids"]) > SMALL_WORK[0] // 2:
        raise torch.OutOfMemoryError


def resumed(kind: str, device: torch.device) -> dict[str, Any]:
    """Compare an interrupted and resumed training with an uninterrupted one."""

    def train(folder: str, stop_at: int) -> tuple[InParts, int]:
        """Return a trainer after its training in ``folder``, and the update that it was
        resumed from.
        """
        model = classifier(kind, SMALL, 0.1)
        options = {"folder": folder, "save_every": 2, "watch": Watch(stop_at=stop_at)}
        run = trainer(model, device, SMALL_WORK, 4, **options)
        return run, checkpoints.train(run, folder)

    with (
        tempfile.TemporaryDirectory() as first,
        tempfile.TemporaryDirectory() as second,
    ):
        uninterrupted, _ = train(first, stop_at=-1)
        with suppress(KeyboardInterrupt):
            train(second, stop_at=3)
        resumed_run, update = train(second, stop_at=-1)
    return {
        "resumed_from": update,
        "difference": difference(uninterrupted, resumed_run),
    }


def timed(
    size: Size,
    work: Work,
    device: torch.device,
    parts: int = 1,
    tf32_allowed: bool = True,
    *,
    warm: int,
    updates: int,
    **options: Any,
) -> dict[str, Any]:
    """Return the speed of a training with batches in ``parts``, over ``updates`` after
    the first ``warm`` ones.

    ``options`` are those of `trainer`.
    """
    watch = Watch(warm)
    model = classifier("roberta", size, 0.1)
    run = trainer(model, device, work, warm + updates, watch=watch, **options)
    rows, _, _ = work
    run.rows = max(1, rows // parts)
    start_to_measure_memory(device)
    with tf32(device, wanted=tf32_allowed):
        run.train()
    timed_texts = run.train_dataset[warm * rows :]
    tokens = sum(len(text["input_ids"]) for text in timed_texts)
    seconds = watch.ended - watch.begun
    measurement = {
        "tokens": tokens,
        "tokens_per_second": round(tokens / seconds),
        "rows_at_once": run.rows,
    }
    if device.type == "cuda":
        measurement["peak_mib"] = torch.cuda.max_memory_allocated() // 2**20
    return measurement


Cases = dict[str, Callable[[], dict[str, Any]]]
STAGES = ("correctness", "sweep", "training")


def cases(stage: str, device: torch.device, tiny: bool) -> Cases:
    """Return the measurements of a stage: {name: function}."""
    sizes = {"small": SMALL} if tiny else SIZES
    works = {"small": SMALL_WORK} if tiny else WORKS
    pace = {"warm": 1, "updates": 2} if tiny else {"warm": 5, "updates": 20}
    measurements: Cases = {}
    if stage == "correctness":
        for kind, check in product(ARCHITECTURES, (one_step, out_of_memory, resumed)):
            measurements[f"{kind}, {check.__name__}"] = partial(check, kind, device)
        return measurements
    options: dict[str, dict[str, Any]] = {
        "single precision": {
            "bf16": False,
            "tf32_allowed": False,
            "dataloader_num_workers": 0,
        },
        "TF32": {"bf16": False, "dataloader_num_workers": 0},
        "bfloat16": {"bf16": True, "dataloader_num_workers": 0},
        "bfloat16, workers": {"bf16": True},
    }
    if stage == "sweep":
        options = {f"{parts} parts": {"parts": parts} for parts in (1, 2, 4, 8)}
    for size, work, option in product(sizes, works, options):
        measurements[f"{size}, {work}, {option}"] = partial(
            timed, sizes[size], works[work], device, **options[option], **pace
        )
    return measurements


def about(device: torch.device) -> dict[str, str]:
    """Return the device, its driver, and the versions of libraries."""
    names = ("torch", "transformers", "accelerate", "tokenizers")
    facts = {name: version(name) for name in names}
    facts["device"] = platform.machine()
    if device.type == "cuda":
        query = "--query-gpu=name,driver_version"
        command = ["nvidia-smi", query, "--format=csv,noheader"]
        facts["device"] = subprocess.check_output(command, text=True).strip()
    return facts


def main(arguments: list[str] | None = None) -> int:
    """Run the stages; return 1 if a measurement failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("to", type=Path, help="folder of the results")
    parser.add_argument("--stage", choices=STAGES, action="append")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--tiny", action="store_true", help="small models and batches")
    options = parser.parse_args(arguments)
    device = torch.device(options.device)
    report: dict[str, Any] = {"about": about(device), "measured": []}
    for stage in options.stage or STAGES:
        for case, measure in cases(stage, device, options.tiny).items():
            try:
                measurement = measure()
            # The other cases continue; the exit code reports it.
            except Exception as error:
                measurement = {"failed": f"{type(error).__name__}: {error}"}
            report["measured"].append({"stage": stage, "case": case} | measurement)
            text = json.dumps(report, indent=1)
            write_text(options.to / "measured.json", f"{text}\n")
            print(stage, case, measurement, flush=True)
    return int(any("failed" in row for row in report["measured"]))


if __name__ == "__main__":
    sys.exit(main())
