"""Artificial results for tests of the report: a paper with tables, a figure, runs, data
and sections.
"""

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table, write, write_census
from lextables.pipeline.files import write_result
from lextables.pipeline.run import SCORES
from lextables.report import datasets, headlines, leaderboard, results, site
from lextables.report.exhibits import (
    Example,
    Examples,
    Funnel,
    Piece,
    Statement,
    edited,
)
from lextables.tables.cells import Cell, build, to_csv
from lextables.tables.comparison import Pair
from lextables.tables.comparison import to_csv as pairs_to_csv
from lextables.tables.figures import draw
from lextables.tables.published import PublishedCell, first_kinds

EVIL = "<script>alert(1)</script>"  # used in texts and in names of rows; the report must escape it
REGISTRY = """
title: "ACORD: a data set"
citation: "Wang et al., 2025."
source: acord
data: {acord: {files: {release: acord/ACORD.zip}}}
tasks: {acord: {task: retrieval}}
tables:
  table3: {title: Retrieval <i>, where: Section 4.2, notes: [Precision as printed in `k`.], of: acord}
  table_c1: {title: Queries, where: Section C.3}
  figure2: {title: Before and after, where: Section 4.2, kind: bars_before_after}
"""
SOURCE = {
    "source": "acord",
    "file": "ACORD.zip",
    "variant": "release",
    "comparable": True,
    "digest": "sha256:0",
    "bytes": 3131196,
    "obtained_from": "https://example.org/ACORD.zip",
    "licence": "CC BY 4.0",
    "note": "",
}
CENSUS = {
    "rows": 1593,
    "labels": {"split": {"test": 761, "train": 832}},
    "rows_sha256": "9c3a7798253201",
}
JUDGEMENTS = Table(
    "judgements",
    "Every rated pair, by `query_id`.",
    (
        Column("query_id", pa.string(), f"the query, {EVIL}"),
        Column("marks", pa.list_(pa.int32()), "what people gave", nullable=True),
        *(Column(f"rating_{n}", pa.int32(), "one of several") for n in range(6)),
    ),
    key=("query_id",),
)
VERSIONS = {"python": "3.11.2", "torch": "2.13.0"}
COLUMNS = ("NDCG@5", "NDCG@10")
ROW = "BM25 / MiniLM / fine-tuned"
RUN = "runs/acord/read/bi+encoder/short"
READER = "runs/acord/rerank/cross/short"  # reads the weights of a run of `RUN`
SUBMITTED = "runs/acord/submitted/theirs/short"


PAIRS = [
    Pair("NDCG@5", "a", "b", 1.5, 0.5, 2.5, 0.01, 0.02, "57 queries", 3.0),
    Pair("NDCG@5", "b", "c", 0.5, -1.0, 2.0, 0.3, 0.3, "57 queries", 3.0),
    Pair(
        "NDCG@5",
        "a",
        EVIL,
        *[2.0] * 5,
        "57 queries and 9 queries",
        3.0,
        "scored on different units",
    ),
    Pair("prec@5", "a", "b", *[1.0] * 5, "3 queries", 3.0, "too few units"),
]


def printed_scores() -> list[PublishedCell]:
    """The scores of table 3, which figure 2 repeats."""
    first = [PublishedCell("table3", ROW, column, "52.5", 1, "") for column in COLUMNS]
    again = [replace(cell, table="figure2", repeats=cell.name) for cell in first]
    return [*first, *again]


def printed_queries() -> list[PublishedCell]:
    """The texts of table C-1."""
    queries = []
    for n in range(40):
        place = ("table_c1", str(n), "Query")
        queries.append(PublishedCell(*place, f"query {n}", None, "", "text"))
    return queries


def write_results(root: Path, source: dict | None = None) -> Path:
    """Write the paper's registry, data, tables and runs to ``root``, and return it;
    ``source`` replaces keys of `SOURCE`.
    """
    source = SOURCE | (source or {})
    comparable = source["comparable"]
    root.mkdir(exist_ok=True)
    (root / "acord.yaml").write_text(REGISTRY)
    (root / "config.yaml").write_text("data: release\n")
    data = root / "data/acord"
    tables = root / "tables/acord"
    record = {
        "data": {"judgements": CENSUS},
        "sources": [source],
        "notes": {"ratings_left_out": 3},
    }
    ratings = {f"rating_{n}": n for n in range(6)}
    rows = [
        {"query_id": f"{n:02} {EVIL} {'word ' * 60}", "marks": None if n else [1, 2]}
        | ratings
        for n in range(12)
    ]
    data.mkdir(parents=True, exist_ok=True)
    write(JUDGEMENTS, rows, data / "judgements.parquet")
    write_census(data / "census.json", record)
    tables.mkdir(parents=True, exist_ok=True)
    runs = tuple(f"{RUN}/seed{k}" for k in range(3))
    for name in ("table3", "figure2"):
        printed = [cell for cell in printed_scores() if cell.table == name]
        cells = [
            Cell(ROW, "NDCG@5", 52.5, 51.0, 54.0, runs=runs),
            Cell(ROW, "NDCG@10", None, reason=f"{EVIL} no weights"),
            Cell(f"own {EVIL}", "NDCG@5", 40.0),
        ]
        csv = to_csv(build(printed, cells, comparable))
        write_result(tables / f"{name}.csv", csv)
    write_result(tables / "table3.comparison.csv", pairs_to_csv(PAIRS))
    (tables / "figure2.svg").write_text(
        draw("bars_before_after", [], "Before and after")
    )
    printed = printed_queries()
    lines = build(
        printed, [Cell(c.row, c.column, c.value) for c in printed], comparable
    )
    (tables / "table_c1.csv").write_text(to_csv(lines))
    for path in tables.glob("*.csv"):
        for kind in ("md", "html"):
            path.with_suffix(f".{kind}").write_text("")
    for k, torch in enumerate(("2.13.0", "2.13.0", "2.12.1")):
        settings = {"model": "all-minilm-l6-v2", "found": "package"}
        training = {
            "device": "H100",
            "seconds": 100.0,
            "peak_memory_mib": 5000,
            "updates": 400,
            "settings": settings | {"batch_size": 16},
            "trial": {"learning_rate": 1e-4, "note": EVIL},
        }
        record = {
            "settings": settings | {"prompt": EVIL},
            "seconds": 200.0 + k,
            "libraries": VERSIONS | {"torch": torch},
            "trained": training,
            "validation": [{"learning_rate": 1e-4, "validation NDCG@10": 0.25}],
        }
        _write_run(root / f"{RUN}/seed{k}", record)
    settings = {
        "weights": f"results/{RUN}/seed0/weights",
        "of": "runs/a/b/gone/c/seed0",
    }
    asked = {"requests": 57, "ties": 3}
    made_by = {"version": "0.1.0", "commit": "0123456789abcdef", "modified": True}
    record = {"settings": settings, "asked": asked, "lextables": made_by}
    _write_run(root / f"{READER}/seed0", record)
    record = {
        "settings": {"content": f"sha256:{'0123456789ab' * 5}"},
        "submitted": {"file": "<run>.txt"},
    }
    _write_run(root / f"{SUBMITTED}/seed0", record)
    return root


def _write_run(folder: Path, record: dict) -> None:
    """Write the record of a run, and scores of every kind: a share, a count, a loss and
    none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    usual = {"device": "H100", "seconds": 9.0, "peak_memory_mib": 1000}
    record = usual | {"libraries": VERSIONS} | record
    write_result(folder / "run.json", json.dumps(record))
    values = {"AUPR": 1.0, "F1": math.nan, "answers left out": 1071.0, "loss": 1.5}
    scores = []
    for name, group in itertools.product(values, ("all", "x: y")):
        row = {"metric": name, "group": group, "value": values[name], "n": 57}
        scores.append(row)
    write(SCORES, scores, folder / "scores.parquet")


def material(root: Path, config: dict | None = None, **more) -> site.Material:
    """Return the content of the site of these results; ``more`` replaces fields."""
    kinds = first_kinds([*printed_scores(), *printed_queries()])
    part = results.read_part("acord", root / "acord.yaml", root, first_kinds=kinds)
    runs = [results.read_run(path) for path in sorted(root.glob("runs/**/run.json"))]
    sections = [
        Funnel(
            "From queries to pairs",
            "What is left.",
            [("queries", 57), (f"pairs {EVIL}", 3)],
        ),
        Examples(
            "Examples",
            "Each with its twin.",
            [
                Example(
                    "A carrier",
                    [
                        Statement("Premise", [Piece(EVIL)]),
                        Statement(
                            "Twin",
                            edited("it is liable", "it is not liable"),
                            "contradict",
                        ),
                    ],
                    "A note.",
                )
            ],
        ),
    ]
    rows = (
        leaderboard.RankedRow(
            f"best {EVIL}", "55.0", "50", "60", "54 to 56", "1, 2", RUN
        ),
        leaderboard.RankedRow("untested", "54.5", run="runs/m", note=f"seen {EVIL}"),
        leaderboard.RankedRow("theirs", "54.0"),
    )
    finding = headlines.Finding(
        part=part,
        exhibit=part.exhibits[0],
        measure="NDCG@5",
        own=headlines.Score(f"own {EVIL}", 40.0, "40.0"),
        published=headlines.Score(ROW, 52.5, "52.5"),
        reached=0,
        total=1,
        lower=False,
    )
    note = "stand_in data: not comparable with the paper"
    benchmarks = [
        leaderboard.Benchmark("acord", "ACORD", "table3", "NDCG@5", rows, "57 queries"),
        leaderboard.Benchmark("acord", "ACORD", "table_c1", "loss", rows, lower=True),
        leaderboard.Benchmark("acord", "ACORD", "table9", "F1", rows, data_note=note),
    ]
    default = {"data": "release", "models": "available", "papers": ["acord"]}
    content = {
        "config": default | (config or {}),
        "root": root.as_posix(),
        "parts": [part],
        "runs": runs,
        "datasets": [
            datasets.read(path) for path in sorted(root.glob("data/*/census.json"))
        ],
        "sections": {"acord": sections},
        "leaderboard": [leaderboard.page(benchmarks, {RUN: "cuad"})],
        "findings": [finding],
        "made_by": "0.2.0",
        "date": "2026-01-02",
    }
    return site.Material(**content | more)
