"""Measure fine-tuning on a GPU: the gain by each technique, one after the other, in twenty minutes.

The project's own code trains on CUAD's windows, MAUD's texts and ACORD's pairs, with the papers' lengths and
batches, first without and then with one technique more at a time.  For each: tokens per second without
padding, the share of padding, and peak memory.  Results are written after every measurement (`measured.json`,
`measured.md`), so an interrupted run keeps them.

First make a small folder to copy, on the machine with the results (60 contracts and a small encoder in half
precision are about 46 MiB):

    PYTHONPATH=workflow python bench/measure_gpu.py pack results/release <folder of an encoder> carried

Then, on the machine with the GPU:

    PYTHONPATH=workflow python bench/measure_gpu.py measure carried measured --base

``--base`` also measures an encoder of BERT-base's size with random weights, whose speed is the same.  To try
the script on a processor, use ``--device cpu --steps 2``.
"""

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch
from transformers import AutoConfig, AutoModel, BertConfig, TrainerCallback, logging

from lextables.models import (
    checkpoints,
    cross_encoder,
    in_parts,
    loading,
    throughput,
    unpadding,
)
from lextables.models.device import describe
from lextables.models.in_parts import InParts
from lextables.models.loading import load_tokenizer
from lextables.models.precision import precision_name, tf32
from lextables.pipeline.atomic import write_text
from lextables.pipeline.dataset import read
from lextables.tasks.classification import training as classification
from lextables.tasks.classification.examples import Text
from lextables.tasks.classification.features import read_tokens, tokenise
from lextables.tasks.classification.reading import padded
from lextables.tasks.spans import training as spans
from lextables.tasks.spans.features import write_features
from lextables.tasks.spans.windows import (
    Collator,
    WindowDataset,
    WindowSettings,
    balanced,
    open_windows,
    question_texts,
)

ROOT = Path(__file__).parents[1]
LONGEST = 512  # tokens, as in the papers
UPDATES = 2000  # more than can be reached in the time
AT_ONCE = 65_536  # tokens, in reading
# MAUD's settings for one model with all heads (resources/papers/maud.yaml).
MAUD = {
    **{"setting": "multi", "percent": 100, "head": "own", "heads": None, "only": [], "where": None},
    **{"batch_size": 16, "accumulation": 1, "bf16": True, "save_every": 0, "weight_decay": 0.01},
    **{"multi_label": False, "loss": "binary_cross_entropy", "sampling": "balanced", "class_weights": "none"},
    **{
        "view": None,
        "passes": None,
        "schedule": "constant",
        "warmup": 0,
        "revision": None,
        "content": "measured",
    },
}


@dataclass(frozen=True)
class Case:
    """How a training runs; batches go through the model in ``parts`` micro-batches."""

    name: str
    tf32: bool = False
    bf16: bool = False
    fused: bool = False
    workers: int = 0
    unpadded: bool = False
    compiled: bool = False
    compiler: str = "inductor"
    parts: int = 1


def cases() -> list[Case]:
    """Return the cases: each adds one technique to the previous one, except the last two."""
    found = [Case("single precision")]
    more: dict[str, dict[str, Any]] = {
        "TF32": {"tf32": True},
        "bfloat16": {"bf16": True},
        "fused AdamW": {"fused": True},
        "workers and pinned memory": {"workers": checkpoints.WORKERS},
        "unpadding": {"unpadded": True},
    }
    for name, one in more.items():
        found.append(replace(found[-1], name=f"+ {name}", **one))
    whole = found[-1]
    compiled = replace(whole, name="padded and compiled instead", unpadded=False, compiled=True)
    return [*found, compiled, replace(whole, name="all, batches in two parts", parts=2)]


class Watch(TrainerCallback):
    """Counts and times a training from its update number ``warm`` on, and ends it after ``seconds``."""

    def __init__(self, device: torch.device, warm: int, steps: int, seconds: float) -> None:
        self.device, self.warm, self.steps, self.most = device, warm, steps, seconds
        self.begun = self.ended = self.done = 0
        self.said = ""

    def count(self, batch: Mapping[str, Any]) -> None:
        for name, mask in batch.items():
            if name.endswith("attention_mask"):
                self.tokens = self.tokens + mask.sum()
                self.places += mask.numel()

    def on_step_begin(self, args, state, control, **kwargs):
        if state.global_step == self.warm:
            self.begun = now(self.device)
        if state.global_step <= self.warm:
            self.tokens, self.places = 0, 0

    def on_step_end(self, args, state, control, **kwargs):
        self.done = state.global_step - self.warm
        late = self.begun and time.perf_counter() - self.begun >= self.most
        if self.done >= self.steps or late:
            self.ended = now(self.device)
            control.should_training_stop = True


def now(device: torch.device) -> float:
    """Return the time after all work on the device is done, in seconds."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


@contextmanager
def trained(case: Case, watch: Watch) -> Iterator[None]:
    """In this context the project's trainings run as in the case, and ``watch`` measures them."""
    unpad_on = unpadding.unpad_on

    def train(self: InParts, resume_from_checkpoint: None = None) -> Any:
        self.args.optim = "adamw_torch_fused" if case.fused else "adamw_torch"
        self.args.dataloader_num_workers = case.workers
        self.args.dataloader_pin_memory = bool(case.workers) and watch.device.type == "cuda"
        self.rows //= case.parts
        body = throughput.encoder(self.model)
        if case.unpadded:
            watch.said = unpad_on(body, watch.device)
        if case.compiled:
            body.compile(backend=case.compiler)
        self.add_callback(watch)
        return super(InParts, self).train(resume_from_checkpoint)

    with (
        patch.object(checkpoints, "mixed", lambda *_: case.bf16),
        patch.object(checkpoints, "tf32", lambda device, wanted: tf32(device, wanted=case.tf32)),
        patch.object(unpadding, "unpad_on", lambda *_: "padded: not in this case"),
        patch.object(in_parts, "count", watch.count),
        patch.object(InParts, "train", train),
    ):
        yield


Work = Callable[[str, torch.device, Path], None]  # one training of an encoder's folder, in a scratch folder


def cuad(data: Path, tokenizer: Any, scratch: Path, longest: int) -> Work:
    """Trainings of a span head on a balanced sample of CUAD's windows, 40 at a time."""
    settings = WindowSettings(longest, step=longest // 2, max_question_length=longest // 8)
    questions = question_texts(data / "questions.parquet")
    tables = [data / f"{name}.parquet" for name in ("contracts", "training_examples")]
    write_features(*tables, questions, scratch, tokenizer, settings, shards=2)
    windows = open_windows(scratch)
    rows = balanced(windows.start_positions, windows.end_positions, 0)
    dataset = WindowDataset(scratch, tokenizer, settings, questions, rows)

    def work(folder: str, device: torch.device, scratch: Path) -> None:
        spans.finetune(
            loading.load_span_model(folder, device),
            dataset,
            Collator.of(tokenizer),
            **{
                "learning_rate": 1e-4,
                "epochs": UPDATES,
                "max_updates": UPDATES,
                "batch_size": 40,
                "bf16": True,
            },
            **{"seed": 0, "work": scratch, "save_every": 0},
        )

    return work


def maud(data: Path, folder: str, scratch: Path, longest: int) -> Work:
    """Trainings of one model with a head for each of MAUD's questions, 16 texts at a time."""
    rows = read(data / "texts.parquet", ["text_id", "text"])
    texts = (Text((row["text_id"], ""), row["text"]) for row in rows)
    tokenise(texts, folder, longest, scratch / "tokens.parquet")

    def work(folder: str, device: torch.device, scratch_here: Path) -> None:
        run = classification.prepare(
            MAUD | {"max_length": longest, "weights": folder},
            *(data / f"{name}.parquet" for name in ("examples", "questions")),
            scratch / "tokens.parquet",
            (["train"], ["dev"]),
            **{"seed": 0, "device": device, "work_root": scratch_here, "identity": {}},
        )
        run = replace(run, folder=folder)
        classification.train(run, {"learning_rate": 1e-4, "updates": [UPDATES]}, scratch_here / "weights")

    return work


def acord(data: Path, longest: int) -> Work:
    """Trainings of a cross-encoder on ACORD's judged pairs, 64 at a time, each gain as often as any other."""
    pairs, targets = [], []
    for row in pq.read_table(data / "pairs.parquet").to_pylist():
        pairs.append((row["query"], row["clause"]))
        targets.append(row["target"])

    def work(folder: str, device: torch.device, scratch: Path) -> None:
        cross_encoder.finetune(
            cross_encoder.load(folder, device, longest, fresh_head=True),
            pairs,
            targets,
            **{
                "learning_rate": 1e-5,
                "updates": [UPDATES],
                "batch_size": 64,
                "weight_decay": 0.0,
                "bf16": True,
            },
            **{"seed": 0, "work": scratch, "save_every": 0, "visit": lambda updates: None},
        )

    return work


def reading(tokens: Path, device: torch.device) -> dict[str, Callable[[str], dict[str, Any]]]:
    """Orders in which an encoder reads MAUD's texts: {name: a reading by the encoder in a folder}."""
    found = read_tokens(tokens)
    texts = [found[key] for key in found.position]
    lengths = np.array([len(ids) for ids in texts])
    by_length = np.argsort(-lengths, kind="stable")
    filled, batch = [], np.empty(0, dtype=int)
    for at in by_length:
        if len(batch) and (len(batch) + 1) * lengths[batch[0]] > AT_ONCE:
            filled, batch = [*filled, batch], np.empty(0, dtype=int)
        batch = np.append(batch, at)
    ways = {
        "as they come, 32 at a time": np.split(np.arange(len(texts)), range(32, len(texts), 32)),
        "by length, 32 at a time": np.split(by_length, range(32, len(texts), 32)),
        f"by length, {AT_ONCE} tokens at a time": [*filled, batch],
    }

    def read_in(batches: Sequence[np.ndarray], folder: str) -> dict[str, Any]:
        model = AutoModel.from_pretrained(folder, dtype=torch.float32).to(device).eval()
        given = [padded([texts[at] for at in batch], model.config.pad_token_id or 0) for batch in batches]
        with torch.inference_mode(), tf32(device):
            for _ in range(2):  # the first sets all up
                begun = now(device)
                for batch in given:
                    model(**{name: part.to(device) for name, part in batch.items()})
            seconds, precision = now(device) - begun, precision_name(torch.float32, device)
        return {
            "tokens_per_second": round(int(lengths.sum()) / seconds),
            "padding_share": round(1 - lengths.sum() / sum(b["input_ids"].numel() for b in given), 4),
            "precision": precision,
            "batches": len(batches),
        }

    return {name: partial(read_in, batches) for name, batches in ways.items()}


def one(case: Case, work: Work, folder: str, watch: Watch) -> dict[str, Any]:
    """Return the measurements of a training of a case."""
    device = watch.device
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    with tempfile.TemporaryDirectory() as scratch, trained(case, watch):
        work(folder, device, Path(scratch))
    seconds, dtype = watch.ended - watch.begun, torch.bfloat16 if case.bf16 else torch.float32
    with tf32(device, wanted=case.tf32):
        precision = precision_name(dtype, device)
    peak = torch.cuda.max_memory_allocated(device) // 2**20 if device.type == "cuda" else None
    return {
        "tokens_per_second": round(int(watch.tokens) / seconds),
        "padding_share": round(1 - int(watch.tokens) / watch.places, 4),
        "peak_gpu_memory_mib": peak,
        "updates_per_second": round(watch.done / seconds, 3),
        "updates": watch.done,
        "precision": precision,
        "said": watch.said,
    }


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` if the block takes longer."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"not done after {seconds:.0f} seconds")

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@dataclass
class Report:
    """The measurements, written to ``folder`` after each one, until the time ``until``."""

    folder: Path
    about: dict[str, Any]
    until: float

    def add(self, model: str, work: str, case: str, limit: float, measure: Callable[[], dict]) -> None:
        """Measure, and write the result or the reason why there is none."""
        if time.monotonic() > self.until:
            found = {"failed": "the time was over"}
        else:
            try:
                with ended_after(limit):
                    found = measure()
            except Exception as error:  # the other measurements continue; the exit code reports it
                found = {"failed": f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"}
        print(model, work, case, json.dumps(found), flush=True)
        self.about["measured"].append({"model": model, "work": work, "case": case, **found})
        self.write()

    def write(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.folder / "measured.json", json.dumps(self.about, indent=2) + "\n")
        write_text(self.folder / "measured.md", table(self.about))


def table(about: Mapping[str, Any]) -> str:
    """The measurements as a Markdown table, for docs/cluster.md."""
    libraries = ", ".join(f"{name} {number}" for name, number in about["libraries"].items())
    columns = ("tokens_per_second", "padding_share", "peak_gpu_memory_mib")
    lines = [
        f"{about['device']}; {libraries}.",
        "",
        "| model | work | case | tokens per second | padding | memory, MiB |",
        "|---|---|---|---|---|---|",
    ]
    for row in about["measured"]:
        said = [row.get(name) for name in columns]
        cells = (
            [row["failed"], "", ""]
            if "failed" in row
            else ["" if one is None else f"{one:,}" for one in said]
        )
        lines.append(f"| {' | '.join([row['model'], row['work'], row['case'], *cells])} |")
    return "\n".join(lines) + "\n"


def measure(options: argparse.Namespace) -> int:
    """Measure everything that time allows; return 1 if a measurement failed."""
    device, begun = torch.device(options.device), time.monotonic()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    names = ("torch", "transformers", "sentence-transformers", "accelerate")
    about = {"device": describe(device), "libraries": {name: version(name) for name in names}}
    report = Report(options.to, about | {"measured": []}, begun + 60 * options.minutes)
    with tempfile.TemporaryDirectory() as scratch:
        for name, folder in encoders(options, Path(scratch)).items():
            encoder(report, options, name, folder, Path(scratch) / f"{name} features")
    print(table(report.about))
    return int(any("failed" in row for row in report.about["measured"]))


def encoders(options: argparse.Namespace, scratch: Path) -> dict[str, str]:
    """The encoders in single precision: {name: folder}."""
    given, found = options.data / "weights", {"carried": scratch / "carried"}
    AutoModel.from_pretrained(given, dtype=torch.float32).save_pretrained(found["carried"])
    if options.base:
        words = AutoConfig.from_pretrained(given).vocab_size
        found["BERT-base's size"] = scratch / "base"
        AutoModel.from_config(BertConfig(vocab_size=words)).save_pretrained(found["BERT-base's size"])
    for folder in found.values():
        load_tokenizer(str(given)).save_pretrained(folder)
    return {name: str(folder) for name, folder in found.items()}


def encoder(report: Report, options: argparse.Namespace, name: str, folder: str, scratch: Path) -> None:
    """Measure all works of an encoder."""
    longest = min(LONGEST, loading.positions(AutoConfig.from_pretrained(folder)) or LONGEST)
    for work in ("cuad", "maud"):
        (scratch / work).mkdir(parents=True)
    works = {
        "CUAD": cuad(options.data / "cuad", load_tokenizer(folder), scratch / "cuad", longest),
        "MAUD": maud(options.data / "maud", folder, scratch / "maud", longest),
        "ACORD": acord(options.data / "acord", longest),
    }
    device = torch.device(options.device)
    for title, work in works.items():
        for case in cases():
            watch = Watch(device, options.warm, options.steps, options.seconds)
            run = partial(one, case, work, folder, watch)
            report.add(name, title, case.name, 60 + 3 * options.seconds, run)
    for way, read_in in reading(scratch / "maud" / "tokens.parquet", device).items():
        report.add(name, "MAUD, reading", way, 60, partial(read_in, folder))


def pack(options: argparse.Namespace) -> int:
    """Write the folder to copy: the encoder in half precision, and the parts of the tables that are read."""
    from lextables.papers.packages import load
    from lextables.tasks.retrieval import collection
    from lextables.tasks.retrieval.cross_encoder_tuning import training_pairs

    data, to = options.results / "data", options.to
    for name in ("cuad", "maud", "acord"):
        (to / name).mkdir(parents=True)
    AutoModel.from_pretrained(options.weights).half().save_pretrained(to / "weights")
    load_tokenizer(str(options.weights)).save_pretrained(to / "weights")
    contracts = pq.read_table(data / "cuad/contracts.parquet", filters=[("split", "=", "train")])
    contracts = contracts.slice(0, options.contracts)
    pq.write_table(contracts, to / "cuad/contracts.parquet", compression="zstd")
    for name in ("questions", "training_examples"):
        rows = pq.read_table(data / f"cuad/{name}.parquet")
        of_these = pc.is_in(rows["contract_id"], contracts["contract_id"].combine_chunks())
        pq.write_table(rows.filter(of_these), to / f"cuad/{name}.parquet", compression="zstd")
    for name in ("examples", "questions", "texts"):
        shutil.copy2(data / f"maud/{name}.parquet", to / "maud")
    task = load(ROOT / "resources/papers/acord.yaml").tasks["acord"].model_dump(mode="json")
    files = [data / f"acord/{name}.parquet" for name in collection.files(task)]
    pairs, targets = training_pairs(collection.load(files, task))
    queries, clauses = zip(*pairs, strict=True)
    rows = pa.table({"query": queries, "clause": clauses, "target": targets})
    # Each clause once: a dictionary of the default size would be too small.
    once = {"compression": "zstd", "dictionary_pagesize_limit": 2**26}
    pq.write_table(rows, to / "acord/pairs.parquet", **once)
    size = sum(path.stat().st_size for path in to.rglob("*") if path.is_file())
    print(f"{to}: {size / 2**20:.1f} MiB")
    return 0


def main(given: Sequence[str] | None = None) -> int:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = arguments.add_subparsers(required=True)
    packing = commands.add_parser("pack", help="make the folder to copy to the GPU")
    packing.add_argument("results", type=Path, help="results with the data sets of CUAD, MAUD and ACORD")
    packing.add_argument("weights", type=Path, help="folder of an encoder")
    packing.add_argument("to", type=Path)
    packing.add_argument("--contracts", type=int, default=60, help="number of CUAD's contracts")
    packing.set_defaults(run=pack)
    measuring = commands.add_parser("measure", help="measure on this machine")
    measuring.add_argument("data", type=Path, help="the output of `pack`")
    measuring.add_argument("to", type=Path)
    measuring.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    measuring.add_argument("--base", action="store_true", help="an encoder of BERT-base's size as well")
    measuring.add_argument("--minutes", type=float, default=18, help="no measurement starts after these")
    measuring.add_argument("--seconds", type=float, default=10, help="maximum time of a case")
    measuring.add_argument("--steps", type=int, default=500, help="maximum number of updates")
    measuring.add_argument("--warm", type=int, default=8, help="updates before these")
    measuring.set_defaults(run=measure)
    options = arguments.parse_args(given)
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
