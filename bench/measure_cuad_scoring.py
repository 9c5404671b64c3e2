"""Compare the scoring of n-best spans with CUAD's released evaluate.py.

Both score the same predictions for the test contracts, made by make_nbest.py: every
point of the curve over all thresholds, its area, and precision at 80 and 90 % recall,
over all questions and for each of the 41 categories.  Any difference stops the program.

The released code is not part of this repository: pass the folder with its evaluate.py
and category_descriptions.csv.

    PYTHONPATH=workflow python bench/measure_cuad_scoring.py RELEASED
    ../shared/mirror/cuad/data.zip

--golden FILE recomputes the released numbers of a golden file from its questions and
  predictions instead.
"""

import argparse
import importlib.util
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from lextables.metrics.spans import (
    Gold,
    Nbest,
    check_questions,
    gold,
    paper_counts,
    paper_matches,
    paper_values,
    sweep,
)
from lextables.pipeline.atomic import write_text
from lextables.tasks.spans.submitted import released_nbest
from make_nbest import make_nbest, table_rows

RELAXED = "Parties"

Result = dict[str, Any]


def released_evaluator(folder: Path) -> ModuleType:
    """Import the released evaluate.py, which reads category_descriptions.csv from its
    folder.
    """
    spec = importlib.util.spec_from_file_location(
        "released_evaluate", folder / "evaluate.py"
    )
    module = importlib.util.module_from_spec(spec)
    with chdir(folder):
        spec.loader.exec_module(module)
    return module


def released_result(
    released: ModuleType,
    nbest: Mapping[str, Any],
    answers: Mapping[str, Sequence[str]],
    category: str | None,
) -> Result:
    """Return the results of the released functions, called as in its get_results."""
    assert sorted(nbest) == sorted(answers)
    precision, recall, thresholds = released.get_precisions_recalls(
        nbest, answers, category
    )
    result = {"precision": precision, "recall": recall}
    for level in (80, 90):
        found = released.get_prec_at_recall(precision, recall, thresholds, level / 100)
        result[f"precision at {level}% recall"] = found[0]
    result["AUPR"] = released.get_aupr(precision, recall)
    return result


def every_group(nbest: Nbest, asked: Gold) -> dict[str, Result]:
    """Return our results over all questions and for each category."""
    check_questions(nbest, asked)
    matches = paper_matches(nbest, asked, RELAXED)
    groups, counted = paper_counts(matches, asked, sweep())
    curve = counted.curve()
    values = {"precision": curve.precision, "recall": curve.recall}
    values.update(paper_values(curve))
    results = {}
    for at, group in enumerate(groups):
        results[group] = {name: each[at].tolist() for name, each in values.items()}
    return results


def compare(ours: Result, theirs: Result, group: str) -> int:
    """Return the number of values compared; stop at a difference.  NaN equals NaN."""
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        equal = np.array_equal(
            np.array(ours[name], float), np.array(value, float), equal_nan=True
        )
        assert equal, f"{group}, {name}: ours {ours[name]}, released {value}"
    return sum(np.size(value) for value in theirs.values())


def compare_all(released: ModuleType, data: Path, seed: int) -> None:
    """Score made predictions with both evaluators, compare all numbers and print how
    many there are.
    """
    with zipfile.ZipFile(data) as archive:
        squad = json.loads(archive.read("test.json"))
    questions, answers = table_rows(squad)
    their_nbest = make_nbest(squad, seed)
    nbest = released_nbest(their_nbest, "made predictions")
    asked = gold(questions, answers)
    their_answers = released.get_answers(squad)
    found = every_group(nbest, asked)
    compared = 0
    for group, ours in found.items():
        category = group.removeprefix("category: ") if group != "all" else None
        theirs = released_result(released, their_nbest, their_answers, category)
        compared += compare(ours, theirs, group)
    print(f"{len(found)} groups, {compared} numbers compared, all equal; seed {seed}")


def refresh_golden(released: ModuleType, path: Path) -> None:
    """Write the released numbers into a golden file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    answers = {
        question["question_id"]: question["spans"] for question in content["questions"]
    }
    categories = sorted({question["category"] for question in content["questions"]})
    numbers = {}
    for category in [None, *categories]:
        found = released_result(released, content["nbest"], answers, category)
        group = f"category: {category}" if category else "all"
        numbers[group] = {name: _listed(value) for name, value in found.items()}
    content["released"] = numbers
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def _listed(value: Any) -> list[float | None]:
    """One number or several as a list, with null for NaN."""
    numbers = np.ravel(np.array(value, float)).tolist()
    return [None if math.isnan(number) else number for number in numbers]


def main() -> None:
    """Compare, or refresh the golden file."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("released", type=Path)
    arguments.add_argument(
        "data", nargs="?", type=Path, help="zip with the released test.json"
    )
    arguments.add_argument("--golden", type=Path)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    if (options.data is None) == (options.golden is None):
        arguments.error("give either the data or --golden")
    released = released_evaluator(options.released.resolve())
    if options.golden:
        refresh_golden(released, options.golden)
    else:
        compare_all(released, options.data, options.seed)


if __name__ == "__main__":
    main()
