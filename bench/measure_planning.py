"""Measure the cost of planning LawngNLI's construction: `snakemake -n` over made-up lists of volumes.

A list has the real reporters; the r-th has a share 1/r of the volumes, at most 999, because few reporters
have many volumes.  No volume exists, so every job is still to be done.

    PYTHONPATH=workflow python bench/measure_planning.py 400 4000 40000 --volumes-a-job 100
"""

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from lextables import ROOT
from lextables.corpora.caselaw.volumes import LIST, MOST, REPORTERS

# A separate process: the peak memory of a child includes the memory of its parent at the start.
WATCHED = """
import resource, subprocess, sys
ended = subprocess.run(sys.argv[1:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(ended)
"""
TARGET = "results/data/lawngnli/census.json"


def sizes(volumes: int, reporters: int) -> list[int]:
    """Return the number of volumes of each reporter, largest first; about ``volumes`` in all."""
    low, high = 0.0, float(volumes * reporters)
    while True:
        middle = (low + high) / 2
        found = [
            max(1, min(MOST, int(middle / rank))) for rank in range(1, reporters + 1)
        ]
        if high - low < 1:
            return found
        low, high = (middle, high) if sum(found) < volumes else (low, middle)


def write_list(volumes: int, mirror: Path) -> int:
    """Write the collection's list of ``volumes`` to a mirror; return the number of volumes."""
    reporters = REPORTERS.read_text(encoding="utf-8").splitlines()[1:]
    listed = [
        {
            "volume_number": str(number),
            "volume_folder": str(number),
            "reporter_slug": reporter,
        }
        for reporter, size in zip(
            reporters, sizes(volumes, len(reporters)), strict=True
        )
        for number in range(1, size + 1)
    ]
    (mirror / "caselaw").mkdir(parents=True)
    (mirror / "caselaw" / LIST).write_text(json.dumps(listed))
    return len(listed)


def planned(folder: Path, volumes_a_job: int) -> tuple[int, float, float, int]:
    """Return the jobs of a plan, its wall and processor seconds, and its peak memory in MB."""
    values = {
        "data": "release",
        "mirror": folder / "mirror",
        "models": "available",
        "papers": "[lawngnli]",
        "parser": "dependencies",
        "caselaw": "all",
        "volumes_a_job": volumes_a_job,
    }
    command = [
        *(
            sys.executable,
            "-m",
            "snakemake",
            "--snakefile",
            ROOT / "Snakefile",
            "--directory",
            folder,
        ),
        *(
            "--profile",
            ROOT / "profiles/default",
            "--cores",
            "1",
            "--dry-run",
            "--quiet",
            "rules",
        ),
        *(
            "--config",
            *(f"{key}={value}" for key, value in values.items()),
            "--",
            TARGET,
        ),
    ]
    start = time.monotonic()
    found = subprocess.run(
        [sys.executable, "-c", WATCHED, *map(str, command)],
        capture_output=True,
        text=True,
    )
    seconds = time.monotonic() - start
    jobs = re.search(r"^total +(\d+)$", found.stdout + found.stderr, re.MULTILINE)
    if found.returncode or not jobs:
        sys.exit(found.stdout + found.stderr)
    processor, kilobytes = found.stdout.splitlines()[-1].split()
    return int(jobs[1]), seconds, float(processor), int(kilobytes) // 1024


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("volumes", type=int, nargs="+")
    arguments.add_argument("--volumes-a-job", type=int, default=100)
    given = arguments.parse_args()
    print("volumes    jobs  seconds  of the processor     MB")
    for volumes in given.volumes:
        with TemporaryDirectory() as folder:
            listed = write_list(volumes, Path(folder, "mirror"))
            jobs, seconds, processor, memory = planned(
                Path(folder), given.volumes_a_job
            )
        print(
            f"{listed:7,} {jobs:7,} {seconds:8.1f} {processor:17.1f} {memory:6,}",
            flush=True,
        )


if __name__ == "__main__":
    main()
