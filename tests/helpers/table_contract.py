"""Tables computed from planned rows whose runs have faked scores, for the contract of
all tables.
"""

import json
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from helpers.registered import ROOT, context, read
from lextables.papers.lawngnli.dataset.retrieval import JUDGEMENTS, QUERIES
from lextables.pipeline.dataset import write, write_all
from lextables.planning import paper_plan
from lextables.registry import modules, packages
from lextables.registry.paper import Paper
from lextables.tables.cells import Cell
from lextables.tables.inputs import Inputs
from lextables.tables.published import PublishedCell
from lextables.tables.published import load as load_published

PAPERS: dict[str, Paper] = {
    path.stem: packages.load(path)
    for path in sorted((ROOT / "resources/papers").glob("*.yaml"))
}
# Tables of a data set that is constructed, with the data set in the layout of the tests
# below.
CONSTRUCTED = {"lawngnli": ("table6", "table17")}
TABLES: list[tuple[str, str]] = []
for _paper, _entry in PAPERS.items():
    TABLES += [(_paper, table) for table in CONSTRUCTED.get(_paper, _entry.tables)]
SEEDS = (1, 2, 3)
TESTED = 12  # units of each faked score
# With these settings all published rows have runs, but those of APIs.
CONFIG = {"data": "release", "models": "paper", "grid": "paper"}


class AnyScore(dict):
    """Scores that have a value for any metric and group, which also depends on the
    run's seed.
    """

    def __init__(self, folder: str) -> None:
        self.seed = int(folder.rpartition("seed")[2])

    def __missing__(self, key: tuple[str, str]) -> tuple[float, int]:
        return (self.seed + len("".join(key)) % 9) / TESTED, TESTED

    def __contains__(self, key: object) -> bool:
        return True

    def get(self, key: tuple[str, str], default: object = None) -> tuple[float, int]:
        return self[key]


@cached_property
def any_scores(inputs: Inputs) -> dict[str, AnyScore]:
    """A property in place of `Inputs.scores`."""
    return {folder: AnyScore(folder) for folder in folders(inputs.rows)}


# Without this, a property that is set on a finished class does not know its name.
any_scores.__set_name__(Inputs, "scores")


def folders(rows: list[dict[str, Any]]) -> set[str]:
    """Return the folders of the runs of rows."""
    names: set[str] = set()
    for row in rows:
        names.update(*row["runs"].values())
    return names


def write_data(root: Path) -> None:
    """Write the sample's data sets, and a small pool of LawngNLI's retrieval, to
    ``root``/data.
    """
    for paper, entry in PAPERS.items():
        if paper in CONSTRUCTED:
            continue
        for name in entry.data:
            tables = modules.module(paper, "schema").TABLES[name]
            write_all(tables, read(paper, name).of, root / "data" / name)
    folder = root / "data/lawngnli_retrieval"
    queries = []
    judgements = []
    for label in ("contradict", "entail"):
        query = {"query_id": label, "split": "test", "label": label, "text": "x"}
        about = {"negated": False, "jurisdiction": "Ohio"}
        queries.append(query | about | {"cited_case_id": 1, "citing_case_id": 2})
        for at in range(20):
            judged = {"query_id": label, "document_id": f"{at:02}", "similarity": 0.5}
            judgements.append(judged | {"gain": int(at == 0)})
    write(QUERIES, queries, folder / "queries.parquet")
    write(JUDGEMENTS, judgements, folder / "judgements.parquet")
    pools = {"size": 1000, "small": {}}
    (folder / "census.json").write_text(json.dumps({"pools": pools}))


@cache
def _plan(paper: str) -> paper_plan.Plan:
    return paper_plan.plan(PAPERS[paper], context(paper, gpu=True, **CONFIG))


def planned_rows(paper: str, table: str, trained: bool) -> list[dict[str, Any]]:
    """Return the rows of a table, each run with three seeds, and ``trained`` or not."""
    rows = []
    for row in _plan(paper).rows[table]:
        runs = {}
        for condition, (folder, *_) in row["runs"].items():
            base = folder.rpartition("seed")[0]
            runs[condition] = [f"{base}seed{seed}" for seed in SEEDS]
        rows.append(row | {"runs": runs, "trained": trained})
    return rows


@cache
def _published(paper: str) -> list[PublishedCell]:
    return load_published(ROOT / f"resources/published/{paper}.csv")


def published_cells(paper: str, table: str) -> list[PublishedCell]:
    """Return the published cells of a table."""
    return [cell for cell in _published(paper) if cell.table == table]


def computed_cells(
    root: Path, paper: str, table: str, rows: list[dict[str, Any]]
) -> list[Cell]:
    """Return the cells of a table of these rows; each run gets a record."""
    record = json.dumps({"training_examples": 3})
    for folder in folders(rows):
        path = root / folder / "run.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(record, encoding="utf-8")
    data = root / "data" / (PAPERS[paper].tables[table].of or paper)
    printed = published_cells(paper, table)
    inputs = Inputs(data, root, rows, printed, PAPERS[paper], table)
    return list(modules.module(paper, "tables").cells(table, inputs))
