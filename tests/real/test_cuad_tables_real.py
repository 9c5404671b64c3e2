"""CUAD's tables about the data set, on the real data: the verdicts of their cells."""

import html

import pytest

from lextables import ROOT
from lextables.papers.cuad import tables
from lextables.registry.packages import load
from lextables.tables import render
from lextables.tables.cells import build, count
from lextables.tables.inputs import Inputs
from lextables.tables.published import load as load_published

PAPER = load(ROOT / "resources/papers/cuad.yaml")
PRINTED = load_published(ROOT / "resources/published/cuad.csv")


@pytest.fixture(scope="module")
def data(release_results):
    """Folder of CUAD's data set."""
    return release_results / "data/cuad"


def test_the_explanation_of_figure_2_has_the_computed_labeled_shares(data):
    results = tables.Results(
        data=data, root=data, rows=[], published=[], paper=PAPER, name="figure2"
    )
    labeled = set()  # (contract, place of a character)
    for (contract, _), spans in results.spans.items():
        for span in spans:
            labeled.update((contract, at) for at in range(*span))
    of_all = len(labeled) / sum(row["characters"] for row in results.contracts)
    mean, _ = tables._labeled_shares(results)
    why = PAPER.tables["figure2"].why_off("Labeled share of a contract", "Value")
    assert f"{100 * mean:.1f} %" in why and f"{100 * of_all:.1f} %" in why
    assert (round(100 * mean, 1), round(100 * of_all, 1)) == (12.5, 11.1)


@pytest.mark.parametrize(
    ("name", "match", "off"),
    [
        # Off: names of categories and descriptions that have another wording in the
        # release.
        ("table1", 8, 4),
        ("table3", 26, 0),
        ("table4", 47, 3),
        ("table5", 30, 2),
        # Off: 9,348 pages (published: 9,283), labeled share 12.5 % ("about 10 %"), and
        # 0.36 % (0.25 %).
        ("figure2", 4, 3),
    ],
)
def test_counts_of_verdicts_and_reasons_of_cells_that_are_off(data, name, match, off):
    printed = [cell for cell in PRINTED if cell.table == name]
    inputs = Inputs(
        data=data, root=data, rows=[], published=printed, paper=PAPER, name=name
    )
    entry = PAPER.tables[name]
    lines = build(printed, tables.cells(name, inputs), True, entry.why_off)
    assert count(lines) == {"match": match, "near": 0, "off": off, "not run": 0, "": 0}
    for line in lines:
        if line.verdict == "off":
            why = entry.why_off(line.row, line.column)
            assert why and line.reason.endswith(why), (line.row, line.column)
            about = render.About(entry.title, entry.where, entry.notes, name=name)
            page = html.unescape(render.html(about, lines))
            shown = (render.markdown(about, lines), page)
            assert all(text.count(why) == 1 for text in shown)
