"""Compare a run's scores with those of LegalBench-RAG's released code.

The released code is not part of this repository: pass the folder of a clone.  Stops at the first difference.

    PYTHONPATH=workflow python bench/measure_character_scores.py results/data/legalbench_rag \\
        results/runs/legalbench_rag/retrieve/bm25/text/seed0 --released legalbenchrag
"""

import argparse
import math
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

from lextables.pipeline.dataset import read
from lextables.tables.inputs import by_name
from lextables.tasks.retrieval.collection import ranked

CUTOFFS = (1, 2, 4, 8, 16, 32, 64)


def asked(data: Path, types: Any) -> dict[str, Any]:
    """Return {query id: the query in the released code's class}, which checks the spans."""
    snippets = defaultdict(list)
    queries = {row["query_id"]: row for row in read(data / "queries.parquet")}
    for row in read(data / "snippets.parquet"):
        file = queries[row["query_id"]]["file"]
        snippets[row["query_id"]].append(types.Snippet(file_path=file, span=(row["start"], row["end"])))
    return {
        name: types.QAGroundTruth(query=row["text"], snippets=snippets[name], tags=[row["benchmark"]])
        for name, row in queries.items()
    }


def compare(data: Path, run: Path, released: Path) -> int:
    """Compare every query's scores and every mean with the released ones; return how many were compared."""
    sys.path.insert(0, str(released))
    types, code = (import_module(f"legalbenchrag.{name}") for name in ("benchmark_types", "run_benchmark"))
    ours, hits, queries = (
        by_name(read(run / "scores.parquet")),
        ranked(run / "predictions.parquet"),
        asked(data, types),
    )
    names = ("file", "start", "end")
    passages = {row["document_id"]: [row[name] for name in names] for row in read(data / "documents.parquet")}
    benchmarks = sorted({query.tags[0] for query in queries.values()})
    compared = 0
    for cutoff in CUTOFFS:
        results = []
        for name, query in queries.items():
            found = [passages[passage] for passage in hits.get(name, ())[:cutoff]]
            returned = [
                types.RetrievedSnippet(file_path=file, span=(start, end), score=1.0)
                for file, start, end in found
            ]
            results.append(code.QAResult(qa_gt=query, retrieved_snippets=returned))
            theirs = {"precision": results[-1].precision, "recall": results[-1].recall}
            compared += check(ours, theirs, cutoff, f"query: {name}")
        whole = code.BenchmarkResult(qa_result_list=results, weights=[1.0] * len(results))
        for benchmark in benchmarks:
            recall, precision = whole.get_avg_recall_and_precision(benchmark)
            group = f"benchmark: {benchmark}"
            compared += check(ours, {"precision": precision, "recall": recall}, cutoff, group)
    return compared


def check(ours: Any, theirs: dict[str, float], cutoff: int, group: str) -> int:
    """Stop where one of the two scores differs."""
    for measure, value in theirs.items():
        found = ours[f"Character {measure}@{cutoff}", group][0]
        if not math.isclose(found, value, rel_tol=1e-12, abs_tol=1e-15):
            sys.exit(f"{measure}@{cutoff}, {group}: ours {found!r}, released {value!r}")
    return len(theirs)


def main() -> None:
    """Compare and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("data", type=Path)
    arguments.add_argument("run", type=Path)
    arguments.add_argument("--released", type=Path, required=True)
    given = arguments.parse_args()
    print(f"{compare(given.data, given.run, given.released.resolve())} numbers compared, all equal")


if __name__ == "__main__":
    main()
