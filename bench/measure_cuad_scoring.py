"""Compare the scoring of n-best spans with CUAD's released evaluate.py, and measure both.

Both score the same predictions for the test contracts, made by make_nbest.py, in one process.  The time is
from predictions and gold spans in memory, as each reader returns them, to the curve over all thresholds, its
area, and precision at 80 and 90 % recall: once over all questions, and once over all and the 41 categories.
Reading the file is measured separately.  Times are CPU seconds; ours is the median of several passes, half of
them before and half after the released ones.  Then every point of the curves and every metric is compared,
and any difference stops the program.

The released code is not part of this repository: pass the folder with its evaluate.py and
category_descriptions.csv.

    PYTHONPATH=workflow python bench/measure_cuad_scoring.py RELEASED ../shared/mirror/cuad/data.zip

--golden FILE recomputes the released numbers of a golden file from its questions and predictions instead.
--predictions FILE compares the scores of a run's predictions; the data is then the folder results/data/cuad:

    PYTHONPATH=workflow python bench/measure_cuad_scoring.py RELEASED results/data/cuad \\
        --predictions results/runs/cuad/read/linear/linear/seed0/predictions.parquet
"""

import argparse
import importlib.util
import json
import math
import statistics
import tempfile
import time
import zipfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
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
    overall_counts,
    paper_counts,
    paper_matches,
    paper_values,
    scores,
    sweep,
)
from lextables.pipeline.atomic import write_text
from lextables.pipeline.dataset import read
from lextables.tasks.spans.submitted import released_nbest
from make_nbest import make_nbest, table_rows

PASSES = 10
RELAXED = "Parties"

Result = dict[str, Any]


def released_evaluator(folder: Path) -> ModuleType:
    """Import the released evaluate.py, which reads category_descriptions.csv from its folder."""
    spec = importlib.util.spec_from_file_location("released_evaluate", folder / "evaluate.py")
    module = importlib.util.module_from_spec(spec)
    with chdir(folder):
        spec.loader.exec_module(module)
    return module


def released_result(
    released: ModuleType, nbest: Mapping[str, Any], answers: Mapping[str, Sequence[str]], category: str | None
) -> Result:
    """Return the results of the released functions, called as in its get_results."""
    assert sorted(nbest) == sorted(answers)
    precision, recall, thresholds = released.get_precisions_recalls(nbest, answers, category)
    return {
        "precision": precision,
        "recall": recall,
        "precision at 80% recall": released.get_prec_at_recall(precision, recall, thresholds, 0.8)[0],
        "precision at 90% recall": released.get_prec_at_recall(precision, recall, thresholds, 0.9)[0],
        "AUPR": released.get_aupr(precision, recall),
    }


def overall(nbest: Nbest, asked: Gold) -> Result:
    """Return our results over all questions."""
    check_questions(nbest, asked)
    curve = overall_counts(paper_matches(nbest, asked, RELAXED), asked, sweep()).curve()
    values = {"precision": curve.precision, "recall": curve.recall} | paper_values(curve)
    return {name: value[0].tolist() for name, value in values.items()}


def every_group(nbest: Nbest, asked: Gold) -> dict[str, Result]:
    """Return our results over all questions and for each category."""
    check_questions(nbest, asked)
    groups, counted = paper_counts(paper_matches(nbest, asked, RELAXED), asked, sweep())
    curve = counted.curve()
    values = {"precision": curve.precision, "recall": curve.recall} | paper_values(curve)
    return {
        group: {name: each[at].tolist() for name, each in values.items()} for at, group in enumerate(groups)
    }


def compare(ours: Result, theirs: Result, group: str) -> int:
    """Return the number of values compared; stop at a difference.  NaN equals NaN."""
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        equal = np.array_equal(np.array(ours[name], float), np.array(value, float), equal_nan=True)
        assert equal, f"{group}, {name}: ours {ours[name]}, released {value}"
    return sum(np.size(value) for value in theirs.values())


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return CPU seconds and the result."""
    start = time.process_time()
    result = work(*arguments)
    return time.process_time() - start, result


def passes(work: Callable[..., Any], *arguments: Any) -> list[float]:
    """Return CPU seconds of half the passes."""
    return [timed(work, *arguments)[0] for _ in range(PASSES // 2)]


def report(what: str, theirs: float, ours: Sequence[float]) -> None:
    """Print one comparison."""
    middle = statistics.median(ours)
    spread = f"{min(ours):.3f} to {max(ours):.3f}"
    print(f"{what:24} released {theirs:7.2f} s, ours {middle:.3f} s ({spread}), ratio {theirs / middle:.0f}")


def measure(released: ModuleType, data: Path, seed: int, scratch: Path) -> None:
    """Measure, compare and print."""
    with zipfile.ZipFile(data) as archive:
        squad = json.loads(archive.read("test.json"))
    questions, answers = table_rows(squad)
    made = make_nbest(squad, seed)
    size = sum(map(len, made.values()))
    print(f"{len(questions)} questions, {len(answers)} gold spans, {size} predictions; seed {seed}")
    path = scratch / "nbest_predictions_.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    del made

    read_seconds, nbest = timed(lambda: released_nbest(json.loads(path.read_text()), str(path)))
    asked = gold(questions, answers)
    load_seconds, their_nbest = timed(released.load_json, path)
    their_answers = released.get_answers(squad)

    ours, ours_all = passes(overall, nbest, asked), passes(every_group, nbest, asked)
    seconds, whole = timed(released_result, released, their_nbest, their_answers, None)
    ours += passes(overall, nbest, asked)
    report("over all questions", seconds, ours)

    theirs = {"all": whole}
    for category in asked.category_names:
        more, theirs[f"category: {category}"] = timed(
            released_result, released, their_nbest, their_answers, category
        )
        seconds += more
    ours_all += passes(every_group, nbest, asked)
    report(f"all and {len(theirs) - 1} categories", seconds, ours_all)
    print(f"reading the file: released {load_seconds:.2f} s, ours, which checks it, {read_seconds:.2f} s")

    found = every_group(nbest, asked)
    assert found.keys() == theirs.keys()
    compared = compare(overall(nbest, asked), whole, "all, alone")
    compared += sum(compare(found[group], result, group) for group, result in theirs.items())
    print(f"{compared} numbers compared, all equal")

    table_seconds, table = timed(lambda: scores(nbest, questions, answers, relaxed=RELAXED))
    print(f"whole table, with strict mode and intervals: {len(table)} rows in {table_seconds:.2f} s")
    for row in table:
        if row["group"] == "all":
            print(f"  {row['metric']:34} {row['value']!r}")


def compare_run(released: ModuleType, data: Path, predictions: Path, scratch: Path) -> None:
    """Write a run's predictions in the released n-best form, score and compare."""
    found = defaultdict(list)
    for row in sorted(read(predictions), key=lambda row: (row["question_id"], row["rank"])):
        names = ("probability", "start_logit", "end_logit")
        found[row["question_id"]].append({"text": row["released_text"]} | {name: row[name] for name in names})
    path = scratch / "nbest_predictions_.json"
    write_text(path, json.dumps(found))
    nbest = released_nbest(json.loads(path.read_text()), str(path))
    questions = (row for row in read(data / "questions.parquet") if row["split"] == "test")
    asked = gold(questions, read(data / "answers.parquet"))
    answers = dict(zip(asked.question_ids, map(list, asked.spans), strict=True))
    result = released_result(released, released.load_json(path), answers, None)
    print(f"{compare(overall(nbest, asked), result, 'all')} numbers compared, all equal")


def refresh_golden(released: ModuleType, path: Path) -> None:
    """Write the released numbers into a golden file, one record per line for readable diffs."""
    content = json.loads(path.read_text(encoding="utf-8"))
    answers = {question["question_id"]: question["spans"] for question in content["questions"]}
    categories = sorted({question["category"] for question in content["questions"]})
    numbers = {
        f"category: {category}" if category else "all": {
            name: [None if math.isnan(item) else item for item in np.ravel(np.array(value, float)).tolist()]
            for name, value in released_result(released, content["nbest"], answers, category).items()
        }
        for category in [None, *categories]
    }
    parts = [
        '"questions": [\n  ' + ",\n  ".join(map(_json, content["questions"])) + "\n ]",
        '"nbest": {\n  '
        + ",\n  ".join(f"{_json(k)}: {_json(v)}" for k, v in content["nbest"].items())
        + "\n }",
        '"released": {\n  '
        + ",\n  ".join(
            f"{_json(group)}: {{\n   "
            + ",\n   ".join(f"{_json(k)}: {_json(v)}" for k, v in found.items())
            + "}"
            for group, found in numbers.items()
        )
        + "\n }",
    ]
    write_text(path, "{\n " + ",\n ".join(parts) + "\n}\n")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    """Measure, or refresh the golden file."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("released", type=Path)
    arguments.add_argument("data", nargs="?", type=Path, help="zip with the released test.json")
    arguments.add_argument("--golden", type=Path)
    arguments.add_argument("--predictions", type=Path)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    if (options.data is None) == (options.golden is None):
        arguments.error("give either the data or --golden")
    released = released_evaluator(options.released.resolve())
    if options.golden:
        refresh_golden(released, options.golden)
        return
    with tempfile.TemporaryDirectory() as scratch:
        if options.predictions:
            compare_run(released, options.data, options.predictions, Path(scratch))
        else:
            measure(released, options.data, options.seed, Path(scratch))


if __name__ == "__main__":
    main()
