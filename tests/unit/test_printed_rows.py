"""All plans: published rows have the paper's settings or no run, and names of rows are
unique.
"""

import json
from collections import Counter
from itertools import product
from operator import ne

import pytest

from lextables import ROOT
from lextables.models.resolve import load_models
from lextables.pipeline import user_rows
from lextables.pipeline.config import load as load_config
from lextables.planning import paper_plan
from lextables.registry import packages
from lextables.registry import paper as papers
from lextables.tables.published import load as load_published
from lextables.tasks.planner import PAPER_GRID, Context

MODELS = load_models(ROOT / "resources/models.yaml")
# The sample's defaults and the full rebuild. CONFIGS differ from one of them in at most
# two keys.
BASES = (
    ("auto", "sample", "sample", (0,), "published", True, False),
    ("paper", "release", "paper", (0, 1, 2), "published", True, True),
)
CONFIGS = [
    combination
    for combination in product(
        ("auto", "small", "sample", "paper"),  # grid
        ("sample", "release"),  # data
        ("sample", "available", "paper"),  # models
        ((0,), (0, 1), (0, 1, 2), (4, 5, 6, 7)),  # seeds
        ("published", "search"),  # hyperparameters
        (True, False),  # released_checkpoints
        (True, False),  # a GPU
    )
    if min(sum(map(ne, combination, base)) for base in BASES) <= 2
]


def printed_names(paper):
    cells = load_published(ROOT / f"resources/published/{paper}.csv")
    names = {
        user_rows.spelled(name)
        for name in user_rows.printed(cell.row for cell in cells)
    }
    return names | {user_rows.spelled(cell.column) for cell in cells}


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("resources/papers/*.yaml")), ids=lambda path: path.stem
)
def test_explained_differences_refer_to_published_cells(path):
    """A misspelled row or column would explain nothing."""
    published = load_published(ROOT / f"resources/published/{path.stem}.csv")
    tables = packages.load(path).tables
    assert {cell.table for cell in published} <= tables.keys()
    for table, entry in tables.items():
        places = {(cell.row, cell.column) for cell in published if cell.table == table}
        rows, columns = map(set, zip(*places, strict=True)) if places else ((), ())
        for found in entry.differences:
            assert set(found.rows) <= rows and set(found.columns) <= columns, (
                table,
                found,
            )
            # Reasons are clauses, which are joined by semicolons.
            assert "; " not in found.why and not found.why.endswith("."), (table, found)
            assert found.why in {entry.why_off(*place) for place in places}, (
                table,
                found,
            )


def test_a_difference_is_explained_by_the_first_matching_entry():
    differences = [
        {"why": "both", "rows": ["a"], "columns": ["x"]},
        {"why": "row", "rows": ["a", "b"]},
        {"why": "column", "columns": ["x"]},
    ]
    entry = papers.TableEntry(title="t", where="w", differences=differences)
    found = [
        entry.why_off(*place)
        for place in (("a", "x"), ("a", "y"), ("c", "x"), ("c", "y"))
    ]
    assert found == ["both", "row", "column", ""]
    everywhere = papers.TableEntry(
        title="t", where="w", differences=[{"why": "always"}]
    )
    assert everywhere.why_off("c", "y") == "always"


def name(row):
    """The identifier of a row in a table, without its runs."""
    if "retriever" in row:
        parts = ("retriever", "reranker", "tuned", "pairwise", "documents")
        return " / ".join(str(row[part]) for part in parts)
    return f"{row['row']} / {row.get('setting')}"


def own_names(row):
    """The parts of a row's name; those of an additional row must not all be published
    names.
    """
    if "retriever" in row:
        return [row["retriever"], row["reranker"]]
    return [row["row"]]


def given(combination, paper, **more):
    grid, data, models, seeds, settings, released, gpu = combination
    values = {
        "grid": grid,
        "data": data,
        "models": models,
        "seeds": seeds,
        "hyperparameters": settings,
        "released_checkpoints": released,
        "papers": paper,
        "edgar_quarters": ["2020-QTR1"],
    }
    return load_config(values | more, [paper], ROOT), gpu


def behind(specs, spec):
    """The settings of a run, and of the runs whose weights and selected settings it
    uses.
    """
    yield spec.settings
    for run in filter(None, (spec.weights_of, spec.choice)):
        yield from behind(specs, specs[run.folder])


def depends_on_the_grid(settings):
    return {"grid", "batch_size", "windows_per_question"} & settings.keys()


def check_plan(found, is_base):
    """The runs that a run needs are planned, and settings survive a JSON round trip."""
    for spec in found.specs.values():
        needed = {*spec.needs, *filter(None, (spec.weights_of, spec.choice))}
        assert needed <= found.specs.keys()
        if is_base:
            assert json.loads(json.dumps(spec.settings)) == spec.settings


def check_row(row, specs, grid, printed, authors):
    """Check a row; return whether it is a published one with runs that depend on the
    grid.
    """
    if row["additional"]:
        names = [user_rows.spelled(part) for part in own_names(row)]
        assert not printed.issuperset(names), row
        return False
    is_filled = False
    assert row["runs"] or row["reason"], row
    for runs in row["runs"].values():
        if row.get("tuned") or row.get("trained"):
            assert len(runs) >= row["averages"], row
        for folder in runs:
            for settings in behind(specs, specs[folder]):
                if depends_on_the_grid(settings):
                    is_filled = True
                    assert grid == settings.get("grid", grid) == PAPER_GRID, row
                    if "published" in settings:
                        assert settings["published"] or not authors, row
    return is_filled


@pytest.mark.parametrize(
    "paper", sorted(path.stem for path in (ROOT / "resources/papers").glob("*.yaml"))
)
def test_a_published_row_has_the_papers_settings_or_no_run(paper):
    entry = packages.load(ROOT / f"resources/papers/{paper}.yaml")
    printed = printed_names(paper)
    authors = False
    for task in entry.tasks.values():
        for panel in getattr(task, "models", {}).values():
            authors = authors or bool(getattr(panel, "published", None))
    filled = 0
    for combination in CONFIGS:
        config, gpu = given(combination, paper)
        plan = paper_plan.plan(entry, Context(config, MODELS, ROOT, gpu))
        check_plan(plan, combination in BASES)
        specs = {run.folder: spec for run, spec in plan.specs.items()}
        for table, rows in plan.rows.items():
            counted = Counter(map(name, rows))
            assert max(counted.values(), default=1) == 1, (combination, table)
            for row in rows:
                grid = config.grid_name(gpu)
                filled += check_row(row, specs, grid, printed, authors)
    has_grids = [task for task in entry.tasks.values() if getattr(task, "grids", None)]
    assert filled or not has_grids
