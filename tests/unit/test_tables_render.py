"""Markdown and HTML of tables: stored pages, content of cells, order of rows and
columns, and escaping.
"""

import itertools
import re

import pytest

from helpers import stored_pages
from helpers.site_pages import Reading
from lextables.tables.cells import Cell, Score, build
from lextables.tables.inputs import data_note
from lextables.tables.published import PublishedCell
from lextables.tables.render import (
    About,
    html,
    key,
    label,
    laid_out,
    markdown,
    pivot,
    reasons,
    shown,
)

RUNS = tuple(f"runs/acord/retrieve/minilm/short/seed{seed}" for seed in range(3))
ROWS = ("BM25", "Cross-encoder", "GPT4o", "Llama")
COLUMNS = ("NDCG@5", "NDCG@10")


def lines_of_table(comparable=True):
    """A table with each verdict, an additional row and column, a baseline's mark and a
    histogram's bin.
    """
    printed = []
    for row, column in itertools.product(ROWS, COLUMNS):
        printed.append(PublishedCell("table3", row, column, "52.5", 1, ""))
    printed.append(PublishedCell("table3", "GPT4o", "Query", "liability", None, ""))
    cells = [Cell("GPT4o", "Query", "liability")]
    for column in COLUMNS:
        seeds = (52.7, 52.9, 53.1)
        name = "BM25 *" if column == "NDCG@5" else ""
        cells += [
            Cell("BM25", column, 52.5, 52.4, 52.6, measure=column, baseline=name),
            Cell("Cross-encoder", column, 52.9, 51, 54, runs=RUNS, seeds=seeds),
            Cell("GPT4o", column, 60.0, 59, 61, measure=column),
            Cell("Llama", column, None, reason="llama is not available here"),
        ]
    cells += [
        Cell("Mine", "NDCG@10", 41.0, 40.0, 42.0, reason="a *starred* <note>"),
        Cell("Mine", "Depth", 7.0, decimals=0),
        Cell("0-99 words", "Clauses", 3.0, decimals=0),
    ]
    return build(printed, cells, comparable, lambda row, column: "k1 is unknown")


@pytest.mark.parametrize("comparable", [True, False])
@pytest.mark.golden
def test_tables_are_as_stored(comparable):
    note = data_note([{"variant": "sample", "comparable": comparable}])
    about = About("Retrieval", "Section 4", ["BM25's k1 is 0.9."], note, "table3")
    lines = lines_of_table(comparable)
    name = "table" if comparable else "table-of-other-data"
    stored_pages.check(f"{name}.md", markdown(about, lines, "table3.svg"))
    # The style is that of all pages.
    page = re.sub("<style>.*</style>", "", html(about, lines, "<svg/>"), flags=re.S)
    stored_pages.check(f"{name}.html", page)


def test_rows_without_common_columns_are_in_separate_grids():
    cells = [
        Cell("words", "Mean", 47.0),
        Cell("0-99 words", "Clauses", 3.0),
        Cell("words, pairs", "Mean", 48.0),
    ]
    printed = [PublishedCell("figure_c1", "words", "Mean", "225", 0, "C.4")]
    first, second = pivot(build(printed, cells, True))
    assert (list(first.paper), list(first.additional)) == (["words"], ["words, pairs"])
    assert first.columns == ("Mean",)
    assert (list(second.additional), second.columns) == (["0-99 words"], ("Clauses",))


def test_a_row_with_columns_of_two_grids_joins_them():
    places = [("a", "x"), ("b", "y"), ("d", "z"), ("c", "x"), ("c", "y")]
    grids = pivot(build([], [Cell(*place, 1.0) for place in places], True))
    names = [(list(grid.additional), grid.columns) for grid in grids]
    assert names == [(["a", "b", "c"], ("x", "y")), (["d"], ("z",))]


MISSING = Cell("A", "F1", None, reason="r")


@pytest.mark.parametrize(
    ("published", "cell", "comparable", "in_markdown", "in_html"),
    [
        ("0.6", MISSING, True, "0.6 not run ¹", "not run 1 published: 0.6"),
        ("0.6", MISSING, False, "0.6 not run ¹", "not run 1 published: 0.6"),
        (
            "0.6",
            Cell("A", "F1", 0.7, judged=False),
            True,
            "0.6 → 0.7 no verdict",
            "0.7 no verdict published: 0.6",
        ),
        (
            "0.6",
            Cell("A", "F1", 0.7),
            False,
            "0.7 (published: 0.6)",
            "0.7 published: 0.6",
        ),
        ("", Cell("A", "F1", 0.7, decimals=1), True, "0.7", None),
        ("", MISSING, True, "not run ¹", "not run 1"),
        ("-0.6", MISSING, True, "-0.6 not run ¹", "not run 1 published: -0.6"),
    ],
)
def test_markdown_and_html_show_the_same_cell(
    published, cell, comparable, in_markdown, in_html
):
    printed = [PublishedCell("t", "A", "F1", published, 1, "")] if published else []
    lines = build(printed, [cell], comparable)
    assert f"| A | {in_markdown} |" in markdown(About("T", "4"), lines)
    page = Reading(html(About("T", "4"), lines)).words
    page = re.sub(r"\u2060|note ", "", page)
    assert f" A {in_html or in_markdown} " in f"{page} "
    assert [line.verdict == "not run" for line in lines] == ["not run" in in_markdown]


@pytest.mark.parametrize(("lower", "reached"), [(False, 1), (True, 2)])
@pytest.mark.parametrize("comparable", [True, False])
def test_a_users_row_says_how_many_published_values_it_reaches(
    lower, reached, comparable
):
    printed = [
        PublishedCell("t", row, "F1", value, 1, "")
        for row, value in {"A": "0.5", "B": "0.7", "C": "0.9"}.items()
    ]
    cells = [
        Cell(
            row,
            "F1",
            value,
            runs=(f"runs/d/e/{key}/c/seed0",),
            score=Score("F1", row, "f1", lower=lower),
        )
        for row, value, key in (
            ("A", 0.5, "a"),
            ("B", 0.7, "b"),
            ("C", 0.9, "c"),
            ("Baseline", 0.9, "base"),
            ("Mine", 0.6, "own-mine"),
        )
    ]
    lines = build(printed, cells, comparable)
    text = f"reaches {reached} of 3 published values"
    about = About("T", "4", data_note="" if comparable else "sample data")
    table = markdown(about, lines)
    page = Reading(html(about, lines)).words
    assert ("Mine (" + text in table) == (text in page) == comparable
    assert "Your rows Mine" in page
    assert table.index("**Your rows**") < table.index("| Mine")
    assert table.index("| Mine") < table.index("**Additional rows**")


def test_a_text_that_equals_the_published_text_is_shown_once():
    printed = [
        PublishedCell("t", row, "Query", "cap on liability", None, "") for row in "12"
    ]
    cells = [
        Cell("1", "Query", "cap on liability"),
        Cell("2", "Query", "Cap on Liability"),
    ]
    texts = [shown(line, {}).value for line in build(printed, cells, True)]
    assert texts == ["", "Cap on Liability"]


def test_a_mark_is_explained_only_where_a_baseline_reaches_a_value():
    lines = lines_of_table()
    lines_without_baseline = [line for line in lines if not line.baselines]
    assert "† " not in key(lines_without_baseline)
    assert "Here: BM25 *." in key(lines)


WHY, OTHER = "llama is not available here", "another reason"


@pytest.mark.parametrize(
    ("cells", "rows", "columns", "left"),
    [
        # The note of all cells of a row, and of a column.
        ({"a x": WHY, "a y": WHY, "b x": WHY, "b y": ""}, [1, 0], [0, 0], 1),
        ({"a x": WHY, "a y": "", "b x": WHY, "b y": ""}, [0, 0], [1, 0], 0),
        # The note of most cells of a row that are not run.
        ({"a x": WHY, "a y": WHY, "a z": OTHER, "b x": OTHER}, [1, 0], [0, 0, 0], 2),
        ({"a x": WHY, "a y": OTHER, "b x": OTHER, "b y": WHY}, [0, 0], [0, 0], 4),
    ],
)
def test_a_reason_for_a_whole_row_or_column_is_marked_once(cells, rows, columns, left):
    computed = []
    for place, reason in cells.items():
        computed.append(Cell(*place.split(), None if reason else 1.0, reason=reason))
    lines = build([], computed, True)
    (grid,) = pivot(lines)
    laid = laid_out(grid, reasons(lines))
    assert [row.note for row in laid.rows] == rows
    assert [column.note for column in laid.columns] == columns
    shown_cells = itertools.chain(*(row.cells for row in laid.rows))
    assert len([cell for cell in shown_cells if cell and cell.note]) == left


def test_all_text_in_a_table_is_escaped():
    evil = "<script>alert(1)</script> & *a* | `b`"
    printed = [PublishedCell("t", evil, evil, evil, None, "")]
    cells = [Cell(evil, evil, evil + "!"), Cell("own", evil, None, reason=evil)]
    lines = build(printed, cells, True)
    about = About(evil, evil, [evil], evil)
    page, text = html(about, lines), markdown(about, lines)
    assert "<script" not in page + text
    # Title, section, column, row, our and the published value, reason, and note.
    assert Reading(page).words.count(evil) >= 8
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.replace("\\|", "").count("|") for row in rows} == {3}


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("table2", "Table 2"),
        ("table_d4", "Table D-4"),
        ("figure_c1", "Figure C-1"),
        ("table_b", "Table B"),
        ("table_validation", "Table validation"),
    ],
)
def test_tables_and_figures_have_the_names_used_in_the_paper(name, printed):
    assert label(name) == printed
