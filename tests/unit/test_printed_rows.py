"""All plans: published rows have the paper's settings or no run, and names of rows are unique."""

import json
from collections import Counter
from itertools import product
from operator import ne
from pathlib import Path

import pytest

from lextables.models.resolve import load_models
from lextables.papers import packages, planning
from lextables.papers import registry as papers
from lextables.pipeline import user_rows
from lextables.pipeline.config import load as load_config
from lextables.tables.published import load as load_published
from lextables.tasks.plan import PAPER_GRID, Context

ROOT = Path(__file__).parents[2]
MODELS = load_models(ROOT / "resources/models.yaml")
# The sample's defaults and the full rebuild. CONFIGS differ from one of them in at most two keys.
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
        rows, columns = ({place[at] for place in places} for at in (0, 1))
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
    """The parts of a row's name; those of an additional row must not all be published names."""
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
    """The settings of a run, and of the runs whose weights and selected settings it uses."""
    yield spec.settings
    for run in filter(None, (spec.weights_of, spec.choice)):
        yield from behind(specs, specs[run])


@pytest.mark.parametrize(
    "paper", sorted(path.stem for path in (ROOT / "resources/papers").glob("*.yaml"))
)
def test_a_published_row_has_the_papers_settings_or_no_run(paper):
    entry, printed = (
        packages.load(ROOT / f"resources/papers/{paper}.yaml"),
        printed_names(paper),
    )
    panels = [
        panel
        for task in entry.tasks.values()
        for panel in getattr(task, "models", {}).values()
    ]
    authors = any(getattr(panel, "published", None) for panel in panels)
    filled = set()
    for combination in CONFIGS:
        config, gpu = given(combination, paper)
        found = planning.plan(entry, Context(config, MODELS, ROOT, gpu))
        specs = {run.folder: spec for run, spec in found.specs.items()}
        for spec in specs.values():
            assert {
                *spec.needs,
                *filter(None, (spec.weights_of, spec.choice)),
            } <= found.specs.keys()
        if combination in BASES:  # settings must be unchanged after a JSON round trip
            settings = [spec.settings for spec in specs.values()]
            assert json.loads(json.dumps(settings)) == settings
        for table, rows in found.rows.items():
            counted = Counter(map(name, rows))
            assert max(counted.values(), default=1) == 1, (
                combination,
                table,
                counted.most_common(1),
            )
            for row in rows:
                folders = [folder for runs in row["runs"].values() for folder in runs]
                if row["additional"]:
                    names = [user_rows.spelled(part) for part in own_names(row)]
                    assert not all(part in printed for part in names), (
                        combination,
                        table,
                        row,
                    )
                    continue
                assert folders or row["reason"], (combination, table, row)
                for settings in (
                    one
                    for folder in folders
                    for one in behind(found.specs, specs[folder])
                ):
                    if "grid" not in settings:
                        continue
                    assert settings["grid"] == PAPER_GRID == config.grid_name(gpu), (
                        combination,
                        table,
                        row,
                    )
                    if "published" in settings:
                        assert settings["published"] or not authors, (
                            combination,
                            table,
                            row,
                        )
                    filled.add((table, name(row)))
                if row.get("tuned") or row.get("trained"):
                    for runs in row["runs"].values():
                        assert len(runs) >= row["averages"], (combination, table, row)
    assert filled or not any(
        getattr(task, "grids", None) for task in entry.tasks.values()
    )
