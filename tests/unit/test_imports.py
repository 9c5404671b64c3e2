"""What is slow to load is loaded only where it is used: a table's job takes less time than torch's import."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SLOW = (
    "torch",
    "transformers",
    "sklearn",
    "scipy.stats",
    "pandas",
    "statsmodels",
    "matplotlib",
    "nltk",
    "spacy",
    "huggingface_hub",
)
# Scripts of which the sample alone starts many.
OFTEN = (
    "table",
    "data",
    "retrieval_choose",
    "retrieval_score",
    "classification_choose",
    "classification_score",
    "spans_choose",
    "spans_join",
    "spans_score",
    "answers_score",
)


MODULES = (
    *(f"papers.{paper}.tables" for paper in ("acord", "cuad", "lawngnli", "maud")),
    *(f"tasks.{task}.submitted" for task in ("retrieval", "spans", "classification", "answers")),
)
# Imports what all of them use, and then each in a fork: prints a line with its name and what is slow in it.
PROGRAM = """
import json, os, sys
import numpy, pyarrow, pydantic, yaml
slow, programs = json.loads(sys.argv[1])
for name, program in programs.items():
    if not os.fork():
        exec(program)
        print(name, *(module for module in slow if module in sys.modules), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, name
"""


def imports(script):
    lines = (ROOT / f"workflow/scripts/{script}.py").read_text().splitlines()
    return "\n".join(line for line in lines if line.startswith(("import ", "from ")))


def test_no_table_and_no_score_waits_for_what_it_may_not_use():
    programs = {name: imports(name) for name in OFTEN} | {
        name: f"import lextables.{name}" for name in MODULES
    }
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([SLOW, programs])],
        cwd=ROOT / "workflow", check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert run.stdout.splitlines() == [*programs]
