"""Capsules: each matched value as a question, a command that answers it, and the accepted answers.

    PYTHONPATH=workflow .venv/bin/python -m lextables.publish.capsules results/publish/results/capsules.csv

runs all commands in an empty folder and checks their answers.
"""

import csv
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from lextables.pipeline import spreadsheet
from lextables.pipeline.atomic import replacing
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import damage_named
from lextables.publish.records import ResultTable
from lextables.tables.cells import from_csv
from lextables.tables.published import number
from lextables.tables.words import same_words

FOLDER = "capsules"  # where the commands run
COLUMNS = ("question", "command", "answer", "low", "high", "file", "row", "column")


def write(
    tables: Iterable[ResultTable], command: Callable[[str], str], results: str, path: str | Path
) -> None:
    """Write a csv with each value of ``tables`` that matches the published one.

    ``command`` returns the command for a target, to which the folder of a fresh run is added; ``results`` is
    the results folder below it.  ``low`` to ``high`` are the accepted answers: the prediction interval of a
    trained or sampled row, else the value itself.  They are empty for texts, whose words are compared.
    """
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        for table in tables:
            program, *words = shlex.split(command(f"{table.paper}_{table.name}"))
            file_of_table = f"{FOLDER}/{results}/tables/{table.paper}/{table.name}.csv"
            for line in table.lines:
                if line["verdict"] == "match":
                    answer = line["reproduced"]
                    exact = answer if number(answer) is not None else ""
                    values = (
                        f"{table.title}: what is {line['column']!r} of {line['row']!r}?",
                        shlex.join([program, "--directory", FOLDER, *words]), answer,
                        line["prediction_low"] or exact, line["prediction_high"] or exact,
                        file_of_table, line["row"], line["column"],
                    )  # fmt: skip
                    rows.writerow(map(spreadsheet.cell, values))


def check(path: str | Path, run: Callable[[list[str]], int]) -> list[str]:
    """Run the commands of a csv of `write` and return a sentence for each answer that is not accepted.

    ``run`` returns the exit status of a command.  Raises `BadInput` without the file, or if `FOLDER` exists.
    """
    if not Path(path).is_file():
        raise BadInput("no such file", where=str(path), do="run the target publish")
    with damage_named(path):
        rows = spreadsheet.rows(Path(path).read_text(encoding="utf-8"), COLUMNS)
    capsules = [*map(spreadsheet.texts, rows)]
    if Path(FOLDER).exists():
        raise BadInput("the folder of a fresh run exists", where=FOLDER, do="move or delete it")
    failed = {
        command for command in dict.fromkeys(row["command"] for row in capsules) if run(shlex.split(command))
    }
    wrong = []
    for capsule in capsules:
        problem = "the command failed" if capsule["command"] in failed else _problem(capsule)
        if problem:
            wrong.append(f"{capsule['question']} {problem}: {capsule['command']}")
    print(f"{len(capsules) - len(wrong)} of {len(capsules)} answers count", flush=True)
    return wrong


def _problem(capsule: Mapping[str, str]) -> str:
    """Return why the answer in a capsule's file is not accepted; empty if it is."""
    with damage_named(capsule["file"]):
        lines = from_csv(Path(capsule["file"]).read_text(encoding="utf-8"))
    place = capsule["row"], capsule["column"]
    answer = next((line.reproduced for line in lines if (line.row, line.column) == place), "")
    value, low, high = (number(text) for text in (answer, capsule["low"], capsule["high"]))
    if low is None or high is None:
        accepted = bool(answer) and same_words(answer, capsule["answer"])
    else:
        accepted = value is not None and low <= value <= high
    return "" if accepted else f"the answer is {answer or 'missing'}, not {capsule['answer']}"


if __name__ == "__main__":
    try:
        wrong = check(sys.argv[1], lambda command: subprocess.run(command, check=False).returncode)
    except BadInput as error:
        sys.exit(str(error))
    sys.exit("\n".join(wrong) or None)
