"""Which CUAD runs there are, and which rows each table shows."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lextables.config import Config
from lextables.models.resolve import Model
from lextables.models.span_plan import WHOLE, SpanPlanner, SpanTask
from lextables.papers import Paper
from lextables.plan import Plan

PAPER = "cuad"


class Cuad(Paper):
    """`resources/papers/cuad.yaml`.

    ``review`` are the models that read a user's contract, best first; ``review_minimum`` is the least
    probability that is shown.
    """

    contract_types: Mapping[str, str]
    spans: SpanTask
    review: tuple[str, ...]
    review_minimum: float


REGISTRY = Cuad


def plan(config: Config, paper: Cuad, models: Mapping[str, Model], root: Path, gpu: bool) -> Plan:
    """Lay out CUAD's runs for this configuration."""
    planner = SpanPlanner(PAPER, paper.spans, config, models, root, gpu)
    rows = [row.plain() for row in planner.rows()]
    return Plan(planner.specs, {table: shown(table, rows) for table in paper.tables})


# Which rows a table shows; the tables that are not named here show the data sets alone.
SHOWN: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "table2": lambda row: True,
    "figure3": lambda row: row["own"] or row["row"] in ("DeBERTa-xlarge", "RoBERTa-large", "RoBERTa-base"),
    "figure4": lambda row: row["own"] or row["row"] == "DeBERTa-xlarge",
    "figure5": lambda row: True,
    "figure6": lambda row: row["own"] or row["row"] == "RoBERTa-base",
    "figure8": lambda row: row["own"] or row["row"] == "DeBERTa-xlarge",
}


def shown(table: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of ``table``; only Figure 6 shows models trained on a part of the contracts."""
    if table not in SHOWN:
        return []
    return [
        dict(row)
        | {
            "runs": {
                percent: folders
                for percent, folders in row["runs"].items()
                if percent == str(WHOLE) or table == "figure6"
            }
        }
        for row in rows
        if SHOWN[table](row)
    ]
