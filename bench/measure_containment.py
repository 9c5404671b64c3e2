"""Compare the scores of outputs with those of ContractEval's released code, run on the same outputs.

The released code is not part of this repository: pass the folder of a clone.  If the target `overlaps`
was run for CUAD, our scores are also printed without test contracts that share a tenth of their words with
training contracts.

    PYTHONPATH=workflow python bench/measure_containment.py results/data/contracteval \\
        results/runs/contracteval/quote/linear/linear-f1/seed0 --released ContractEval
"""

import argparse
import ast
import csv
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from lextables.metrics.containment import counts, gold_texts, scores
from lextables.pipeline.dataset import read
from lextables.tasks.spans.outputs import contract_of

# Our metrics, and the released code's columns; it rounds to three decimals.
COLUMNS = {
    "F1": "f1_score",
    "F2": "f2_score",
    "Jaccard": "jaccard_similarity_mean",
    "false rate": "false no related clause rate",
    "precision": "precision",
    "recall": "recall",
}


def released(outputs: Mapping[str, str], golds: Mapping[str, Sequence[str]], clone: Path) -> dict[str, float]:
    """Return {metric: the released code's score} of at least 4,000 outputs.

    `Evaluation.py` runs unchanged in a separate folder.  It reads whether each output contains the gold
    texts from a file that `proprietary_model.py` writes while it asks a model; that expression of the file is
    evaluated here.  The script ends with an error when it draws its figures, after it has written the scores;
    without a correct output it divides by zero before.
    """
    tree = ast.parse((clone / "proprietary_model.py").read_text(encoding="utf-8"))
    contains = next(
        compile(ast.Expression(node.args[0]), "proprietary_model.py", "eval")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "check_include.append"
        and ast.unparse(node.args[0]).startswith("all(")
    )
    names = sorted(outputs)
    labels = [list(golds.get(name, ())) for name in names]
    classified = [
        bool(label) and eval(contains, {"output": outputs[name], "label": label})
        for name, label in zip(names, labels, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        root, work = Path(folder), Path(folder) / "code/here"
        for path in (
            work,
            *(root / "results" / part for part in ("output stats", "complete outputs", "results analysis")),
        ):
            path.mkdir(parents=True)
        table = {"id": names, "outputs": [outputs[name] for name in names], "labels": labels}
        pd.DataFrame(table | {"classification": classified}).to_csv(
            root / "results/complete outputs/ours-cuad-output.csv", index=False, quoting=csv.QUOTE_ALL
        )
        pd.DataFrame({"id": names, "classification": classified}).to_csv(
            root / "results/output stats/ours-cuad-output-stat.csv", index=False
        )
        script = [sys.executable, str((clone / "Evaluation.py").resolve())]
        ended = subprocess.run(script, cwd=work, capture_output=True, text=True, check=False)
        written = root / "results/results analysis/model_eval_results_v2.csv"
        if not written.is_file():
            raise SystemExit(f"the released code wrote no scores: {ended.stderr}")
        (row,) = pd.read_csv(written).to_dict("records")
    return {metric: row[column] for metric, column in COLUMNS.items()}


def ours(
    outputs: Mapping[str, str], golds: Mapping[str, Sequence[str]], contracts: Mapping[str, str] | None = None
) -> dict[str, float]:
    """Return {metric: our score}, and the ends of its interval if there are several ``contracts``."""
    contracts = contracts or dict.fromkeys(outputs, "all")
    counted = {name: counts(outputs[name], golds.get(name, ())) for name in contracts}
    return {row["metric"]: row["value"] for row in scores(counted, contracts)[0]}


def overlapping(units: Path) -> set[str]:
    """Return CUAD's test contracts that share a tenth of their words with training contracts."""
    table = pd.read_parquet(units).query("dataset == 'cuad' and split == 'test' and other_split == 'train'")
    table = table[table["other_dataset"] == "cuad"]
    return set(table[table["shared"] >= 0.1 * table["words"]]["unit"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("run", type=Path, nargs="+")
    parser.add_argument("--released", type=Path, required=True)
    parser.add_argument("--overlaps", type=Path, help="results/overlaps/units.parquet")
    arguments = parser.parse_args()
    golds = gold_texts(read(arguments.data / "answers.parquet"))
    test = contract_of(read(arguments.data / "questions.parquet"), "test")
    for run in arguments.run:
        outputs = {row["question_id"]: row["output"] for row in read(run / "predictions.parquet")}
        assert outputs.keys() == test.keys()
        theirs, own = released(outputs, golds, arguments.released), ours(outputs, golds)
        print(run, *(f"{name}: {own[name]:.6f}, released {theirs[name]:.3f}" for name in COLUMNS), sep="\n  ")
        if wrong := [name for name in COLUMNS if abs(own[name] - theirs[name]) > 0.0005 + 1e-9]:
            raise SystemExit(f"{', '.join(wrong)} differ")
        if arguments.overlaps:
            near = overlapping(arguments.overlaps)
            kept = {name: contract for name, contract in test.items() if contract not in near}
            print(f"  without {len(near)} contracts: {ours(outputs, golds, kept)}")


if __name__ == "__main__":
    main()
