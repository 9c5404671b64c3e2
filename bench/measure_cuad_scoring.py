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

RELAXED = "Parties"  # the category in which a span may contain the answer

# {name: a value, or the values of a curve}, for one group of questions.
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
    """Return the results of the released functions, called as in its get_results.

    ``nbest`` and ``answers`` are {question id: predictions} and {question id: answers};
    the category None stands for all questions.
    """
    assert sorted(nbest) == sorted(answers)
    precision, recall, thresholds = released.get_precisions_recalls(
        nbest, answers, category
    )
    result = {"precision": precision, "recall": recall}
    for level in (80, 90):
        precision_at_recall, *_ = released.get_prec_at_recall(
            precision, recall, thresholds, level / 100
        )
        result[f"precision at {level}% recall"] = precision_at_recall
    result["AUPR"] = released.get_aupr(precision, recall)
    return result


def our_results(nbest: Nbest, gold_questions: Gold) -> dict[str, Result]:
    """Return {group: our results} for all questions and for each category."""
    check_questions(nbest, gold_questions)
    matches = paper_matches(nbest, gold_questions, RELAXED)
    groups, counts = paper_counts(matches, gold_questions, sweep())
    curve = counts.curve()
    # {name: an array whose first axis are the groups}
    values = {"precision": curve.precision, "recall": curve.recall}
    values.update(paper_values(curve))
    results = {}
    for row, group in enumerate(groups):
        results[group] = {name: array[row].tolist() for name, array in values.items()}
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
    their_answers = released.get_answers(squad)
    results = our_results(nbest, gold(questions, answers))
    compared = 0
    for group, ours in results.items():
        category = group.removeprefix("category: ") if group != "all" else None
        theirs = released_result(released, their_nbest, their_answers, category)
        compared += compare(ours, theirs, group)
    print(f"{len(results)} groups, {compared} numbers compared, all equal; seed {seed}")


def refresh_golden(released: ModuleType, path: Path) -> None:
    """Write the released numbers into a golden file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    answers = {
        question["question_id"]: question["spans"] for question in content["questions"]
    }
    categories = sorted({question["category"] for question in content["questions"]})
    numbers = {}
    for category in [None, *categories]:
        result = released_result(released, content["nbest"], answers, category)
        group = f"category: {category}" if category else "all"
        numbers[group] = {name: _listed(value) for name, value in result.items()}
    content["released"] = numbers
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def _listed(value: Any) -> list[float | None]:
    """Return one number or several as a list, with None for NaN."""
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
