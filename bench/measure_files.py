"""Count the files of the package whose functions run for one cell of a table.

    .venv/bin/python bench/measure_files.py [--row minilm-contracts] [--functions]

Makes Table 2 of CUAD from the sample in a new folder, and records which functions of
`lextables` each process calls (`sys.setprofile`).  Of the jobs with a model only those
of ``--row``'s model count, because a cell needs no other.  Code that runs while a
module is imported does not count.

Prints the number of files for each stage, for the cell (`CELL`) and for everything,
then each file with its stages; with ``--functions`` also the functions that ran.  The
process that plans the jobs has two stages: planning, and the command, which checks
targets, takes the lock, and reads the rules of targets that the cell does not need.
"""

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = f"{ROOT}/workflow/lextables/"
SETTINGS = ("data=sample", "models=sample", "papers=[cuad]", "preload=no")
TARGET = "cuad_table2"
PLANNING = "planning"
COMMAND = "command"
# {rule: stage} of the scripts.
STAGES = {
    "fetch_source": "source",
    "cuad_data": "data",
    "pretrain": "pretraining",
    "windows": "features",
    "train": "train",
    "read": "predict",
    "score": "score",
    "table": "table",
}
# The stages of the cell.  Fetching a file and pretraining are steps of some cells only.
CELL = (PLANNING, "data", "features", "train", "predict", "score", "table")
# Files with rules that the cell does not need.
OTHER_RULES = (
    "driver",
    "fetch",
    "first_contact",
    "overlaps",
    "plan",
    "publish",
    "rehearsal",
    "report",
    "review",
)
# Modules that make runs safe: logs, locks, whole files, reruns, reasons of failures.
SAFETY = (
    "pipeline/atomic.py",
    "pipeline/content.py",
    "pipeline/errors.py",
    "pipeline/fingerprint.py",
    "pipeline/gpu_lease.py",
    "pipeline/job.py",
    "pipeline/job_files.py",
    "pipeline/locks.py",
    "pipeline/not_run.py",
    "pipeline/redaction.py",
    "pipeline/removed.py",
    "pipeline/stopping.py",
    "planning/messages.py",
    "planning/scripts.py",
)
# Written into a folder of PYTHONPATH: Python imports it in each process.
HOOK = """import sys
sys.path.insert(0, {bench!r})
import measure_files
sys.path.remove({bench!r})
measure_files.record({records!r})
"""

Calls = dict[str, dict[str, set[str]]]  # {stage: {file: its functions}}


def record(folder: str) -> None:
    """Write each function of the package that this process calls into ``folder``."""
    seen: set[tuple[str, CodeType]] = set()

    def called(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        if not code.co_filename.endswith(".py") or is_class_or_module(code):
            return
        # Only the script of a rule has it.
        job = getattr(sys.modules.get("__main__"), "snakemake", None)
        if job is None:
            if (PLANNING, code) in seen:
                return
            stage = stage_of_planning(frame)
        else:
            stage = STAGES.get(job.rule, job.rule)
        if (stage, code) in seen or is_import(frame):
            return
        seen.add((stage, code))
        model = getattr(job.wildcards, "model", "") if job else ""
        path = code.co_filename.removeprefix(PACKAGE)
        records = Path(folder, f"{os.getpid()}.jsonl")
        with records.open("a", encoding="utf-8") as file:
            file.write(json.dumps([stage, model, path, code.co_qualname]) + "\n")

    threading.setprofile(called)
    sys.setprofile(called)


def is_class_or_module(code: CodeType) -> bool:
    """Whether code is the body of a class or of a module."""
    return not code.co_flags & inspect.CO_OPTIMIZED


def callers(frame: FrameType | None) -> Iterator[CodeType]:
    """Yield the code of a frame and of all its callers."""
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back


def is_import(frame: FrameType) -> bool:
    """Whether a frame is called while a module of the package is imported."""
    modules = (code for code in callers(frame) if code.co_name == "<module>")
    return any(code.co_filename.startswith(PACKAGE) for code in modules)


def stage_of_planning(frame: FrameType) -> str:
    """Return the stage of a call in the process that plans the jobs."""
    for code in callers(frame):
        path = Path(code.co_filename)
        if path.suffix == ".smk" and path.stem in OTHER_RULES:
            return COMMAND
    return PLANNING


def run(folder: Path) -> None:
    """Make the table in ``folder``, and record the calls in its folder ``records``."""
    records = folder / "records"
    records.mkdir()
    hook = HOOK.format(bench=str(ROOT / "bench"), records=str(records))
    (folder / "sitecustomize.py").write_text(hook, encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--snakefile"]
    command += [str(ROOT / "Snakefile"), "--directory", str(folder)]
    command += ["--config", *SETTINGS, "--", TARGET]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    subprocess.run(command, env=env, check=True)


def calls_of_row(folder: Path, row: str) -> Calls:
    """Return the calls that the cell of a row needs."""
    calls: Calls = {}
    for stage in (COMMAND, PLANNING, *STAGES.values()):
        calls[stage] = defaultdict(set)
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            stage, model, file, function = json.loads(line)
            if stage in calls and model in ("", row):
                calls[stage][file].add(function)
    return calls


def show(calls: Calls, with_functions: bool) -> None:
    """Print the number of files, and the files."""
    stages_of = defaultdict(list)
    for stage, functions_of in calls.items():
        print(f"{stage:12} {len(functions_of):3} files")
        for file in functions_of:
            stages_of[file].append(stage)
    cell = {file for file, stages in stages_of.items() if set(stages) & set(CELL)}
    for name, files in (("the cell", cell), ("everything", set(stages_of))):
        number = len(files & set(SAFETY))
        print(f"{name:12} {len(files):3} files, {number} of them make runs safe")
    groups = {
        "the cell": cell - set(SAFETY),
        "the cell, safe runs": cell & set(SAFETY),
        "not for the cell": set(stages_of) - cell,
    }
    for heading, files in groups.items():
        print(f"\n{heading}:")
        for file in sorted(files):
            print(f"  {file:36} {', '.join(stages_of[file])}")
            if with_functions:
                functions = set().union(
                    *(functions_of[file] for functions_of in calls.values())
                )
                print(f"      {', '.join(sorted(functions))}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--row", default="minilm-contracts", help="model of the row")
    parser.add_argument("--functions", action="store_true", help="print functions too")
    parser.add_argument("--records", type=Path, help="folder of an earlier measurement")
    arguments = parser.parse_args()
    if arguments.records:
        show(calls_of_row(arguments.records, arguments.row), arguments.functions)
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder))
        calls = calls_of_row(Path(folder, "records"), arguments.row)
    show(calls, arguments.functions)


if __name__ == "__main__":
    main()
