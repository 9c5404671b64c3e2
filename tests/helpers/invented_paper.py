"""A small invented paper with two tasks and five tables, and its plan."""

import yaml

from helpers.optimisers import CONSTANT
from lextables import ROOT
from lextables.models.resolve import load_models
from lextables.pipeline.config import load as load_config
from lextables.planning import paper_plan
from lextables.tasks.planner import Context

MODELS = load_models(ROOT / "resources/models.yaml")
GRID = {
    "learning_rates": [1e-4],
    "optimiser": CONSTANT,
    "updates": [2],
    "batch_size": 2,
    "max_length": 16,
}
# The additional row of MiniLM with the grid `sample`.
OURS = "MiniLM, sample budget: 2 updates of 2 examples, texts cut at 16 tokens"
PAPER = {
    "title": "A paper",
    "citation": "Someone, 2026.",
    "data": {"ledgar": {"files": {"release": "ledgar/LEDGAR.zip"}}},
    "tasks": {
        "ledgar": {
            "task": "classification",
            "metrics": ["micro F1"],
            "choose_by": "micro F1",
            "models": {"minilm": {"row": "MiniLM", "model": "all-minilm-l6-v2"}},
            "grids": {"sample": {"multi": GRID}},
        },
        "clauses": {
            "task": "retrieval",
            "forms": ["short", "long"],
            "metrics": ["NDCG@5"],
            "retrievers": {
                "bm25": {"row": "BM25", "kind": "bm25", "baseline": True},
                "minilm": {
                    "row": "MiniLM",
                    "kind": "bi-encoder",
                    "model": "all-minilm-l6-v2",
                    "additional": True,
                },
            },
        },
    },
    "tables": {
        "table1": {"title": "Counts", "where": "Section 1"},
        "table2": {
            "title": "Scores",
            "where": "Section 2",
            "of": "ledgar",
            "rows": [{}],
        },
        "table3": {
            "title": "Hits",
            "where": "Section 3",
            "of": "clauses",
            "rows": [{"additional": False}],
        },
        "table4": {
            "title": "Forms",
            "where": "Section 3",
            "of": "clauses",
            "rows": [{}],
            "conditions": "all",
        },
        "table5": {
            "title": "Long",
            "where": "Section 3",
            "of": "clauses",
            "rows": [{"retriever": ["BM25"]}],
            "conditions": ["long"],
        },
    },
}


REVIEW = {"of": "leases", "data": "Leases", "models": ["linear"], "minimum": 0.1}


def written(tmp_path, content, name="ledgar"):
    """Write a paper's file, a text or plain values; return its path."""
    path = tmp_path / f"{name}.yaml"
    path.write_text(
        content if isinstance(content, str) else yaml.safe_dump(content),
        encoding="utf-8",
    )
    return path


def laid_out(paper, **values):
    """Return the plan of a paper under a configuration with these ``values``."""
    config = load_config({"papers": "acord"} | values, ["acord"], ROOT)
    return paper_plan.plan(paper, Context(config, MODELS, ROOT, False))


def with_value(content, path, value):
    """A copy of a mapping with another value at a path of keys."""
    key, _, rest = path.partition(".")
    if rest:
        value = with_value(content.get(key, {}), rest, value)
    return content | {key: value}
