"""Markdown and HTML of tables: content of cells, order of rows and columns, and escaping."""

from html.parser import HTMLParser

import pytest

from lextables.tables.cells import Cell, Line, build
from lextables.tables.published import PublishedCell
from lextables.tables.render import (
    data_note,
    html,
    key,
    label,
    laid_out,
    markdown,
    pivot,
    reasons,
    shown,
    tally,
)

ROWS = ("BM25", "Cross-encoder", "GPT4o", "Llama")
COLUMNS = ("NDCG@5", "NDCG@10")
RUNS = tuple(f"runs/acord/retrieve/minilm/short/seed{seed}" for seed in range(3))


def _published() -> list[PublishedCell]:
    return [
        PublishedCell("table3", row, column, "52.5", 1, "Table 3")
        for row in ROWS
        for column in COLUMNS
    ]


def _cells() -> list[Cell]:
    values = {
        "BM25": (52.5, 52.4, 52.6),
        "Cross-encoder": (52.9, 51.0, 54.0),
        "GPT4o": (60.0, 59.0, 61.0),
    }
    seeds = {"Cross-encoder": (52.7, 52.9, 53.1)}
    cells = [
        Cell(
            row,
            column,
            *values[row],
            runs=RUNS if row in seeds else (),
            seeds=seeds.get(row),
        )
        for row in values
        for column in COLUMNS
    ]
    cells += [
        Cell("Llama", column, None, reason="llama is not available here")
        for column in COLUMNS
    ]
    return [
        *cells,
        Cell("Mine", "NDCG@10", 41.0, 40.0, 42.0),
        Cell("Mine", "Depth", 7.0, decimals=0),
    ]


def _lines(comparable: bool = True) -> list[Line]:
    return build(_published(), _cells(), comparable)


class Page(HTMLParser):
    """Parsed HTML: the tags with their attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def test_rows_and_columns_keep_their_order_and_additional_rows_come_last():
    (grid,) = pivot(_lines())
    assert grid.columns == ("NDCG@5", "NDCG@10", "Depth")
    assert list(grid.paper) == list(ROWS)
    assert list(grid.additional) == ["Mine"]
    assert list(grid.additional["Mine"]) == ["NDCG@10", "Depth"]


def test_rows_without_common_columns_are_in_separate_grids():
    cells = [
        Cell("words", "Mean", 47.0),
        Cell("0-99 words", "Clauses", 3.0),
        Cell("words, pairs", "Mean", 48.0),
    ]
    printed = [PublishedCell("figure_c1", "words", "Mean", "225", 0, "C.4")]
    first, second = pivot(build(printed, cells, True))
    assert (list(first.paper), list(first.additional), first.columns) == (
        ["words"],
        ["words, pairs"],
        ("Mean",),
    )
    assert (list(second.additional), second.columns) == (["0-99 words"], ("Clauses",))


def test_a_row_with_columns_of_two_grids_joins_them():
    cells = [
        Cell("a", "x", 1.0),
        Cell("b", "y", 2.0),
        Cell("c", "x", 3.0),
        Cell("c", "y", 4.0),
    ]
    (grid,) = pivot(build([], cells, True))
    assert (list(grid.additional), grid.columns) == (["a", "b", "c"], ("x", "y"))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("BM25", "52.5 → 52.5 ✓ match [52.4, 52.6]"),
        ("Cross-encoder", "52.5 → 52.9 ≈ near, 3 seeds: 51.91 to 53.89 [51.0, 54.0]"),
        ("GPT4o", "52.5 → 60.0 ✗ off +7.5 [59.0, 61.0]"),
        ("Llama", "52.5 not run"),
    ],
)
def test_every_verdict_has_a_symbol_and_a_word(row, said):
    text = markdown("Retrieval", "Section 4", _lines(), name="table3")
    name = "Llama ¹" if row == "Llama" else row  # the reason is a note of the whole row
    assert f"| {name} | {said} | {said} |  |" in text
    words = Page(html("Retrieval", "Section 4", _lines(), name="table3")).words
    printed, _, rest = said.partition(" → ")
    if row == "Llama":
        assert "Llama note 1 published 52.5 not run published 52.5 not run" in words
    else:
        assert (
            f"published {printed} → reproduced {rest.replace('near,', 'near')}" in words
        )


def test_values_that_a_baseline_reaches_are_marked_and_explained_once():
    printed = [
        PublishedCell("t", row, "AUPR", value, 1, "")
        for row, value in (("BERT", "0.0"), ("GPT", "9.0"))
    ]
    cells = [
        Cell("BERT", "AUPR", 0.0, runs=RUNS, seeds=(0.0,) * 3, measure="AUPR"),
        Cell("GPT", "AUPR", None, reason="gated", measure="AUPR"),
        Cell("Words *", "AUPR", 9.1, measure="AUPR", baseline="Words *"),
    ]
    lines = build(printed, cells, True)
    assert list(reasons(lines)) == ["gated"]
    text, page = (
        markdown("CUAD", "Section 4", lines),
        Page(html("CUAD", "Section 4", lines)).words,
    )
    assert "| BERT | 0.0† → 0.0 ✓ match, 3 seeds: 0.00 to 0.00 |" in text
    assert "| GPT | 9.0† not run ¹ |" in text
    assert (
        "published 0.0† reached by a baseline → reproduced 0.0 ✓ match"
        in page.replace(" †", "†")
    )
    assert "published 9.0† reached by a baseline not run" in page.replace(" †", "†")
    names = "Here: Words {}; a model that answers nothing."
    assert f"not the reproduction. {names.format(chr(92) + '*')}" in text
    assert f"not the reproduction. {names.format('*')}" in page
    # A table without such a value does not explain the mark.
    assert "†" not in key(build(printed[1:], cells[1:2], True))


def test_values_from_other_data_have_no_verdict():
    note = data_note([{"variant": "sample", "comparable": False}])
    for text in (
        markdown("Retrieval", "Section 4", _lines(False), (), note),
        Page(html("Retrieval", "Section 4", _lines(False), (), note)).words,
    ):
        assert "ample data: not comparable with the paper" in text
        assert "0 match, 0 near, 0 off, 2 not run, 6 without a verdict." in text
        assert "✓" not in text
        assert "✗" not in text
    assert "| BM25 | 52.5 (published: 52.5) [52.4, 52.6] |" in markdown(
        "Retrieval", "4", _lines(False)
    )
    page = Page(html("Retrieval", "Section 4", _lines(False))).words
    assert "BM25 52.5 [52.4, 52.6] published: 52.5" in page
    assert "→" not in page.split("Each cell")[0]


@pytest.mark.parametrize(
    ("published", "cell", "comparable", "in_markdown", "in_html"),
    [
        ("0.6", Cell("A", "F1", 0.6), True, "0.6 → 0.6 ✓ match", "0.6 → 0.6 ✓ match"),
        (
            "0.6",
            Cell("A", "F1", 0.7),
            True,
            "0.6 → 0.7 ✗ off +0.1",
            "0.6 → 0.7 ✗ off +0.1",
        ),
        (
            "0.6",
            Cell("A", "F1", None, reason="r"),
            True,
            "0.6 not run ¹",
            "0.6 not run 1",
        ),
        (
            "0.6",
            Cell("A", "F1", None, reason="r"),
            False,
            "0.6 not run ¹",
            "0.6 not run 1",
        ),
        (
            "0.6",
            Cell("A", "F1", 0.7, judged=False),
            True,
            "0.6 → 0.7 no verdict",
            "0.6 → 0.7 no verdict",
        ),
        (
            "0.6",
            Cell("A", "F1", 0.7),
            False,
            "0.7 (published: 0.6)",
            "0.7 published: 0.6",
        ),
        ("", Cell("A", "F1", 0.7, decimals=1), True, "0.7", "0.7"),
        ("", Cell("A", "F1", None, reason="r"), True, "not run ¹", "not run 1"),
        (
            "-0.6",
            Cell("A", "F1", None, reason="r"),
            True,
            "-0.6 not run ¹",
            "-0.6 not run 1",
        ),
    ],
)
def test_markdown_and_html_show_the_same_cell(
    published, cell, comparable, in_markdown, in_html
):
    printed = [PublishedCell("t", "A", "F1", published, 1, "")] if published else []
    lines = build(printed, [cell], comparable)
    assert f"| A | {in_markdown} |" in markdown("T", "4", lines)
    page = (
        Page(html("T", "4", lines))
        .words.replace("published 0", "0")
        .replace("published -", "-")
    )
    page = page.replace("reproduced ", "").replace("note ", "")
    assert f" A {in_html} " in f"{page} "
    assert [line.verdict == "not run" for line in lines] == ["not run" in in_markdown]


def test_a_text_that_equals_the_published_text_is_shown_once():
    printed = [
        PublishedCell("t", row, "Query", "cap on liability", None, "")
        for row in ("1", "2")
    ]
    lines = build(
        printed,
        [
            Cell("1", "Query", "cap on liability"),
            Cell("2", "Query", "Cap on Liability"),
        ],
        True,
    )
    assert [shown(line, {}).value for line in lines] == ["", "Cap on Liability"]


def test_reasons_are_listed_once_and_numbered():
    lines = _lines()
    assert reasons(lines) == {"llama is not available here": 1}
    text = markdown("Retrieval", "Section 4", lines)
    assert text.count("llama is not available here") == 1
    page = Page(html("Retrieval", "Section 4", lines, name="table3"))
    assert page.words.count("llama is not available here") == 1
    # Notes and their numbers are not links, so the tab key skips them.
    assert not [attrs for tag, attrs in page.tags if tag == "a"]


def test_a_reason_for_a_whole_row_or_column_is_marked_once():
    why = "llama is not available here"
    cells = [
        Cell(row, column, None, reason=why)
        for row in ("Llama", "BM25")
        for column in COLUMNS
    ]
    cells += [Cell("GPT4o", "NDCG@5", None, reason=why), Cell("GPT4o", "NDCG@10", 1.0)]
    rows, columns, left = _marked(cells)
    assert (rows, columns, left) == ([1, 1, 0], [0, 0], 1)
    cells = [Cell(row, "NDCG@5", None, reason=why) for row in ROWS]
    cells += [Cell(row, "NDCG@10", 1.0) for row in ROWS]
    rows, columns, left = _marked(cells)
    assert (rows, columns, left) == ([0, 0, 0, 0], [1, 0], 0)


def test_a_shared_reason_is_marked_once_in_a_row_that_also_has_other_reasons():
    why = "bert is not available here"
    cells = [Cell("BERT", column, None, reason=why) for column in COLUMNS]
    cells += [
        Cell("BERT", "Size", None, reason="not public"),
        Cell("BERT", "Words", 3.0, reason="a count"),
    ]
    cells += [
        Cell("GPT", COLUMNS[0], None, reason="an API"),
        Cell("GPT", COLUMNS[1], None, reason=why),
    ]
    assert _marked(cells) == ([1, 0], [0] * 4, 4)
    text = markdown("Retrieval", "Section 4", build([], cells, True))
    assert "| BERT ¹ | not run | not run | not run ² | 3.000 ³ |" in text
    assert "| GPT | not run ⁴ | not run ¹ |  |  |" in text


def _marked(cells):
    """Notes of rows, notes of columns, and the number of cells with a note."""
    lines = build([], cells, True)
    (grid,) = pivot(lines)
    laid = laid_out(grid, reasons(lines))
    (body,) = laid["bodies"]
    left = sum(
        bool(cell and cell.note) for row in body["rows"] for cell in row["cells"]
    )
    return (
        [row["note"] for row in body["rows"]],
        [column["note"] for column in laid["columns"]],
        left,
    )


def test_all_text_in_a_table_is_escaped():
    evil = "<script>alert(1)</script> & *a* | `b`"
    lines = build(
        [PublishedCell("t", evil, evil, evil, None, "")],
        [Cell(evil, evil, evil + "!"), Cell("own", evil, None, reason=evil)],
        True,
    )
    page = html(evil, evil, lines, [evil], evil)
    assert "<script" not in page
    assert Page(page).words.count(evil) >= 8
    text = markdown(evil, evil, lines, [evil], evil)
    assert "<script" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.replace("\\|", "").count("|") for row in rows} == {3}


def test_the_page_has_semantic_html_and_needs_no_network_or_script():
    page = Page(html("Retrieval", "Section 4", _lines(), name="table3"))
    scopes = {attrs.get("scope") for tag, attrs in page.tags if tag == "th"}
    assert scopes == {"col", "row", "rowgroup"}
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe"}
    assert not [
        attrs
        for _, attrs in page.tags
        if "src" in attrs or (attrs.get("href") or "#")[0] != "#"
    ]
    headings = [tag for tag, _ in page.tags if tag in ("h1", "h2", "h3")]
    assert headings == ["h1"]


def test_the_tally_counts_published_cells_only():
    assert tally(_lines()) == "2 match, 2 near, 2 off, 2 not run"


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("table2", "Table 2"),
        ("table_d4", "Table D-4"),
        ("figure_c1", "Figure C-1"),
        ("figure6", "Figure 6"),
        ("table_b", "Table B"),
        ("table_validation", "Table validation"),
    ],
)
def test_tables_and_figures_have_the_names_used_in_the_paper(name, printed):
    assert label(name) == printed
