"""Compare our scores of a run's predictions with those of CUAD's released evaluate.py.

The predictions are written in CUAD's n-best form, which --keep keeps.  The released code is not part of this
repository: pass its evaluate.py, next to category_descriptions.csv.  Stops at the first difference.

    PYTHONPATH=workflow python bench/measure_released_scores.py results/data/cuad \\
        results/runs/cuad/read/linear/linear/seed0/predictions.parquet --released evaluate.py
"""

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from lextables.metrics.spans import gold
from lextables.pipeline.atomic import write_text
from lextables.pipeline.dataset import read
from lextables.tasks.spans.submitted import released_nbest
from measure_cuad_scoring import compare, overall, released_evaluator, released_result


def nbest_form(predictions: Path) -> dict[str, list[dict[str, Any]]]:
    """Return a run's predictions in the released form: {question id: spans, by rank}."""
    found = defaultdict(list)
    for row in sorted(read(predictions), key=lambda row: (row["question_id"], row["rank"])):
        names = ("probability", "start_logit", "end_logit")
        found[row["question_id"]].append({"text": row["released_text"]} | {name: row[name] for name in names})
    return dict(found)


def main() -> None:
    """Write, score, compare and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("data", type=Path)
    arguments.add_argument("predictions", type=Path)
    arguments.add_argument("--released", type=Path, required=True)
    arguments.add_argument("--keep", type=Path)
    given = arguments.parse_args()
    released = released_evaluator(given.released.resolve().parent)
    with tempfile.TemporaryDirectory() as folder:
        path = given.keep or Path(folder) / "nbest_predictions_.json"
        write_text(path, json.dumps(nbest_form(given.predictions)))
        nbest, theirs = released_nbest(json.loads(path.read_text()), str(path)), released.load_json(path)
    questions = (row for row in read(given.data / "questions.parquet") if row["split"] == "test")
    asked = gold(questions, read(given.data / "answers.parquet"))
    answers = dict(zip(asked.question_ids, map(list, asked.spans), strict=True))
    found = released_result(released, theirs, answers, None)
    print(f"{compare(overall(nbest, asked), found, 'all')} numbers compared, all equal")
    for name in ("AUPR", "precision at 80% recall", "precision at 90% recall"):
        print(f"  {name:26} {found[name]!r}")


if __name__ == "__main__":
    main()
