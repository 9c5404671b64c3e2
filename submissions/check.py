"""Score the submissions and rebuild the report with their rows in the leaderboard.

    .venv/bin/python submissions/check.py [--data sample] [--mirror FOLDER] [FOLDER]

FOLDER has a folder for each submission (README.md); by default it is that of this file.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import lextables
from lextables.cli.app import OWN_ROWS
from lextables.cli.snakemake_command import command, configuration, listed
from lextables.notebook.project import paper_of
from lextables.pipeline.config import ExtraPredictions
from lextables.pipeline.entries import checked, mapping
from lextables.pipeline.errors import BadInput

FILE = "submission.yaml"
LARGEST = 25_000_000  # bytes of a file
COLUMNS = ["metric", "mode", "value", "low", "high", "n"]


def submission(file: Path) -> ExtraPredictions:
    """Return a submission with absolute paths.

    `BadInput` names a key that is wrong, or a file that is missing, elsewhere or large.
    """
    where = f"{file.parent.name}/{FILE}"
    entry = checked(ExtraPredictions, mapping(file), where=where)
    files = []
    for name in entry.file:
        path = (file.parent / name).resolve()
        if path.parent != file.parent.resolve() or not path.is_file():
            do = "put it beside submission.yaml"
            raise BadInput(f"{name} is no file of the folder", where=where, do=do)
        if path.stat().st_size > LARGEST:
            what = f"{name} has more than {LARGEST:,} bytes"
            raise BadInput(what, where=where, do="compress it with gzip")
        files.append(str(path))
    return entry.model_copy(update={"file": tuple(files)})


def run_snakemake(words: Sequence[str]) -> int:
    """Run Snakemake, and return its exit code."""
    run = [sys.executable, "-P", "-m", "snakemake", *words]
    return subprocess.run(run, check=False).returncode


def check(folder: Path, data: str, mirrors: Sequence[Path]) -> int:
    """Check all submissions of a folder, and return an exit code."""
    submissions = [submission(file) for file in sorted(folder.glob(f"*/{FILE}"))]
    if not submissions:
        print(f"{folder} has no submissions")
        return 0
    papers = paper_of()
    named = {papers.get(each.paper, each.paper) for each in submissions}
    entries = [each.model_dump(mode="json", exclude_none=True) for each in submissions]
    settings = [
        OWN_ROWS,
        f"papers={listed(sorted(named))}",
        f"extra_predictions={json.dumps(entries)}",
    ]
    config = configuration(data, [], mirrors, settings)
    cores = len(os.sched_getaffinity(0))
    code = run_snakemake(command(["report"], config, ["--cores", str(cores)]))
    if code:
        return code
    for each in submissions:
        scores = lextables.score(each.paper, list(each.file), each.format, data=data)
        print(f"\n{each.name} on {each.paper}")
        print(scores[scores["group"] == "all"][COLUMNS].to_string(index=False))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the submissions that the arguments name."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    parser.add_argument("--data", choices=["release", "sample"], default="release")
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    options = parser.parse_args(arguments)
    try:
        return check(options.folder.resolve(), options.data, options.mirror)
    except BadInput as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
