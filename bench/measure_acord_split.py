"""Count ACORD's relevant test clauses that are also relevant to a training or validation query.

The official split divides the queries over one collection of clauses, so a clause may be rated on both sides.
The script prints how many relevant clauses of the test queries (three stars or more) are relevant to a query
of another split, and the score of a ranking without query and text: the clauses rated for a test query, by
the gain of each for the training and validation queries together (ties by id).

    PYTHONPATH=workflow python bench/measure_acord_split.py results/data/acord
"""

import argparse
from collections import Counter
from pathlib import Path
from statistics import fmean

from lextables.metrics.ranking import by_name
from lextables.papers import packages
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.collection import Collection

ROOT = Path(__file__).parents[1]
OTHERS = ("training", "validation")
RELEVANT = 2  # gain of three stars


def load(data: Path) -> Collection:
    """Read ACORD's data set from the folder of its parquet tables."""
    task = packages.load(ROOT / "resources/papers/acord.yaml").tasks["acord"].model_dump(mode="json")
    return collection.load([data / f"{name}.parquet" for name in collection.files(task)], task)


def shared(data: Collection) -> tuple[int, int]:
    """Return how many pairs of a test query and a relevant clause there are, those first whose clause is
    relevant to a query of the other splits too."""
    known = {
        clause
        for query in data.of(*OTHERS)
        for clause, gain in data.judged[query].items()
        if gain >= RELEVANT
    }
    found = [
        clause for query in data.of("test") for clause, gain in data.judged[query].items() if gain >= RELEVANT
    ]
    return sum(clause in known for clause in found), len(found)


def by_other_queries(data: Collection, metric: str) -> float:
    """Return the mean score of test queries whose clauses are ranked by their gain for the other queries."""
    gains: Counter[str] = Counter()
    for query in data.of(*OTHERS):
        gains.update(data.judged[query])
    qrels = {query: dict(data.judged[query]) for query in data.of("test")}
    run = {
        query: sorted(judged, key=lambda clause: (-gains[clause], clause)) for query, judged in qrels.items()
    }
    return fmean(by_name(metric)(qrels, run).values())


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("data", type=Path, help="folder of ACORD's parquet tables")
    data = load(arguments.parse_args().data)
    print("{} of {} relevant clauses of test queries are relevant to another query".format(*shared(data)))
    for metric in ("NDCG@5", "NDCG@10"):
        print(f"{metric} by the gain for other queries: {by_other_queries(data, metric):.3f}")


if __name__ == "__main__":
    main()
