"""Rows of ACORD's Table D-3 computed from hits, with verdicts against published rows."""

from lextables.papers.acord import tables
from lextables.pipeline.dataset import write
from lextables.pipeline.run import SCORES
from lextables.tables.cells import build
from lextables.tables.inputs import Inputs
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.collection import prediction_rows
from lextables.tasks.retrieval.scoring import scores

METRICS = ("NDCG@5", "NDCG@10", "3-star prec@5", "4-star prec@5", "5-star prec@5")


def without_first_hits(hits):
    """The hits of every query but the first."""
    return {query: found[1:] for query, found in hits.items()}


def collected(data, paper):
    """ACORD's data sets in ``data`` as its task reads them."""
    task = paper.tasks["acord"].model_dump(mode="json")
    return collection.load([data / f"{name}.parquet" for name in collection.files(task)], task)


def judged(data, paper, printed, row, hits):
    """{metric: line of Table D-3} of a deterministic system, ``row``, that returns ``hits``.

    ``data`` has ACORD's tables; ``printed`` are the published cells of ``row``.
    """
    write(SCORES, scores(prediction_rows(hits), collected(data, paper)), data / "run/scores.parquet")
    retriever, reranker = row.split(" / ")
    system = {
        "retriever": retriever, "reranker": reranker, "tuned": False, "own": False, "pairwise": False,
        "fused": False,
        "baseline": False, "lenient": False, "averages": 1, "model": None, "parameters": 0, "reason": "",
        "runs": {"short": ["run"]},
    }  # fmt: skip
    cells = tables.cells("table_d3", Inputs(data, data, [system], printed, paper))
    lines = build(printed, [cell for cell in cells if cell.column in METRICS], comparable=True)
    return {line.column: line for line in lines}
