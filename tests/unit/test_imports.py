"""What is slow to load is loaded only where it is used: a table's job takes less time than torch's import."""

import subprocess
import sys
from pathlib import Path

import pytest

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
    "report",
)


def imports(text):
    return "\n".join(line for line in text.splitlines() if line.startswith(("import ", "from ")))


TABLES = [f"papers.{paper}.tables" for paper in ("acord", "cuad", "lawngnli", "maud")]
SUBMITTED = [f"tasks.{task}.submitted" for task in ("retrieval", "spans", "classification", "answers")]


@pytest.mark.parametrize(
    "name",
    [*OFTEN, *SUBMITTED, *TABLES],
)
def test_no_table_and_no_score_waits_for_what_it_may_not_use(name):
    script = ROOT / f"workflow/scripts/{name}.py"
    source = imports(script.read_text()) if name in OFTEN else f"import lextables.{name}"
    program = f"import sys\n{source}\nprint(*(name for name in {SLOW} if name in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "workflow", check=True, capture_output=True, text=True
    )
    assert run.stdout.split() == []
