"""Checks of the committed published values against the text of the papers and against
each other.

The same rule holds for all papers: the values of a row or of a column are adjacent in
the paper's text.
"""

import os
import re
import unicodedata
from collections import Counter, defaultdict
from functools import cache

import pytest

from lextables import ROOT
from lextables.tables.published import load, same_quantity

PAPERS = ROOT.joinpath(os.environ.get("LEXTABLES_PAPERS", "../shared/papers"))
CELLS = {
    path.stem: load(path)
    for path in sorted((ROOT / "resources/published").glob("*.csv"))
}
TABLES = {}  # of each paper, in order
for _paper, _cells in CELLS.items():
    TABLES.update(dict.fromkeys((_paper, cell.table) for cell in _cells))
# {(paper, table): (number of cells for which neither the values of the row nor those of
# the column are adjacent in the text, number of these cells whose value is missing from
# the text)}.  Causes: positions on the axis of a figure, and numbers, names or rows
# that the conversion splits, hyphenates or mixes up.
SCATTERED = {
    ("cuad", "figure4"): (9, 9),
    ("cuad", "figure8"): (9, 9),
    ("cuad", "table4"): (50, 6),
    ("cuad", "table5"): (32, 6),
    ("lawngnli", "table6"): (6, 6),
    ("lawngnli", "table17"): (6, 6),
    ("privacy", "table1"): (1, 1),
    ("privacy", "table_c1"): (6, 0),
    ("privacy", "table_c2"): (2, 0),
}
# {paper: (number of tables and figures, number of published values)}.
SIZES = {
    "acord": (14, 773),
    "contracteval": (1, 76),
    "cuad": (11, 252),
    "lawngnli": (10, 715),
    "maud": (10, 294),
    "privacy": (7, 629),
}
# {paper: {kind: (number of values, those that repeat none)}}.
KIND_COUNTS = {
    "acord": {"text": (240, 236), "score": (420, 335), "statistic": (113, 113)},
    "contracteval": {"score": (76, 76)},
    "cuad": {"text": (94, 85), "score": (125, 71), "statistic": (33, 32)},
    "lawngnli": {"statistic": (119, 76), "text": (8, 5), "score": (588, 469)},
    "maud": {"statistic": (133, 129), "score": (161, 153)},
    "privacy": {"statistic": (19, 19), "score": (610, 610)},
}


def tokens(text):
    """The words and numbers of a text without markup, separated and surrounded by
    spaces.
    """
    text = re.sub(
        r"</?u>|\$|\\text|[{}]", " ", unicodedata.normalize("NFKC", text)
    ).casefold()
    found = (word.rstrip(".,") for word in re.findall(r"[\w.,%±+/<>\-−]+", text))
    return f" {' '.join(filter(None, found))} "


@cache
def text_of(paper):
    """The tokens of a paper's text."""
    path = PAPERS / f"{paper}.txt"
    if not path.is_file():
        pytest.skip(
            f"no text of {paper} in {PAPERS}; set LEXTABLES_PAPERS to the folder of the papers' texts"
        )
    text = path.read_text(encoding="utf-8")
    # The conversion of this paper decoded UTF-8 as Mac Roman.
    return tokens(text.encode("mac_roman").decode("utf-8") if paper == "cuad" else text)


@pytest.mark.parametrize(("paper", "table"), TABLES)
def test_values_of_a_row_or_column_are_adjacent_in_the_paper(paper, table):
    text, lines = text_of(paper), defaultdict(list)
    cells = [cell for cell in CELLS[paper] if cell.table == table]
    for cell in cells:
        lines["row", cell.row].append(cell.value)
        lines["column", cell.column].append(cell.value)
    # A value that applies to all columns appears once in the paper.
    printed = set()
    for line, values in lines.items():
        once = dict.fromkeys(values)
        if tokens(" ".join(values)) in text or tokens(" ".join(once)) in text:
            printed.add(line)
    scattered = [
        c for c in cells if not {("row", c.row), ("column", c.column)} & printed
    ]
    absent = [cell for cell in scattered if tokens(cell.value) not in text]
    assert (len(scattered), len(absent)) == SCATTERED.get((paper, table), (0, 0)), (
        scattered
    )


def test_no_value_is_missing():
    tables = Counter(paper for paper, _ in TABLES)
    sizes = {paper: (tables[paper], len(cells)) for paper, cells in CELLS.items()}
    assert sizes == SIZES


def numbers(paper, table):
    """{row: {column: number}} of a table."""
    rows = defaultdict(dict)
    for cell in CELLS[paper]:
        if cell.table == table:
            rows[cell.row][cell.column] = cell.number
    return dict(rows)


@pytest.mark.parametrize(
    ("paper", "table", "total"),
    [
        ("acord", "table_c3", "Total"),
        ("cuad", "table3", "Total"),
        ("maud", "table1", "All Categories"),
        ("maud", "table2", "overall"),
    ],
)
def test_the_total_row_equals_the_sum_of_the_rows(paper, table, total):
    rows = numbers(paper, table)
    totals = rows.pop(total)
    sums = Counter()
    for row in rows.values():
        sums.update(row)
    assert sums == totals


def test_the_total_column_equals_the_sum_of_the_columns():
    tables = [("maud", "table1"), ("maud", "table2"), ("acord", "table_c3")]
    for paper, table in tables:
        for row in numbers(paper, table).values():
            *parts, total = row.values()
            if paper == "acord":  # other columns follow the stars
                parts = [row[f"{stars}-star"] for stars in range(1, 6)]
                total = row["Total ratings"]
            assert sum(parts) == total


def test_values_that_a_paper_publishes_twice_are_equal():
    at_80 = {
        row: values["Precision@80% Recall"]
        for row, values in numbers("cuad", "table2").items()
    }
    for row, values in numbers("cuad", "figure3").items():
        assert [*values.values()] == [at_80[row]]
    figure5 = {}
    for row, values in numbers("cuad", "figure5").items():
        (figure5[row.partition(" / ")[2]],) = values.values()
    assert figure5 == at_80
    whole = numbers("lawngnli", "table13")
    for row, values in numbers("lawngnli", "table5").items():
        assert row.endswith(" / N") or values.items() <= whole[row].items()
    d4 = numbers("acord", "table_d4")
    assert numbers("acord", "figure2") == {
        row: d4[row] for row in d4 if row.startswith("BM25 / ")
    }


@pytest.mark.parametrize("table", ["table3", "table4", "table7", "table8"])
def test_overall_scores_of_maud_are_means_over_questions(table):
    """Table 8 has a misprint: 53.3 for RoBERTa, although its categories give 58.3."""
    *questions, total = (
        row["Deal Point Questions"] for row in numbers("maud", "table9").values()
    )
    rows = numbers("maud", table)
    for column, overall in rows.pop("Overall").items():
        mean = (
            sum(
                n * row[column] for n, row in zip(questions, rows.values(), strict=True)
            )
            / total
        )
        misprint = 5.0 if (table, column) == ("table8", "RoBERTa") else 0.0
        assert mean - misprint == pytest.approx(overall, abs=0.15), column


@pytest.mark.parametrize("table", ["table_c1", "table_c2"])
def test_f1_of_privacy_is_at_most_the_mean_of_precision_and_recall(table):
    """This holds for the F1 of each paragraph or policy, and therefore for their
    mean.
    """
    rows = [
        row
        for row in numbers("privacy", table).values()
        if {"F1", "Recall", "Precision"} <= row.keys()
    ]
    assert len(rows) >= 50
    assert all(
        row["F1"] <= (row["Recall"] + row["Precision"]) / 2 + 1e-4 for row in rows
    )


# Values that a paper prints at several places

# Lines with equal values that are different quantities.
DIFFERENT = {
    # The same numbers, printed for two models.
    ("privacy", "table_c1", "table_c2")
}
# The maximum is over the models of each table.
P_VALUES = "Entail/Neutral/Contradict. Chance=1/3 / Maximum of p-values versus (6)"


def first_name(cell):
    """The name of the first cell with this quantity."""
    return cell.repeats or cell.name


def pairs_of_lines(cells):
    """{(table and column of two columns, or table and row of two rows): their pairs of
    cells}.

    Two cells are a pair if they are in different tables and their rows have the same
    parts, or one has more; in two rows, also their columns are the same.
    """
    lines = defaultdict(list)
    for at, first in enumerate(cells):
        parts = {*first.row.split(" / ")}
        for second in cells[at + 1 :]:
            others = {*second.row.split(" / ")}
            if first.table == second.table or not (parts <= others or others <= parts):
                continue
            lines[first.table, second.table, first.column, second.column].append(
                (first, second)
            )
            if first.column == second.column:
                lines[first.table, second.table, first.row, second.row].append(
                    (first, second)
                )
    return lines


@pytest.mark.parametrize("paper", CELLS)
def test_rows_and_columns_with_the_same_values_name_the_same_first_place(paper):
    """At least three pairs with equal values, and four of five of all pairs."""
    number_of_lines = 0
    for (first_table, second_table, *_), pairs in pairs_of_lines(CELLS[paper]).items():
        equal = [pair for pair in pairs if same_quantity(*pair)]
        is_different = (paper, first_table, second_table) in DIFFERENT
        if len(equal) < 3 or len(equal) < 0.8 * len(pairs) or is_different:
            continue
        number_of_lines += 1
        for first, second in equal:
            if first.row != P_VALUES:
                assert first_name(first) == first_name(second)
    assert (number_of_lines > 0) == (paper not in ("contracteval", "privacy"))


@pytest.mark.parametrize("paper", CELLS)
def test_a_value_that_is_printed_once_over_several_columns_counts_once(paper):
    names = defaultdict(set)
    for cell in CELLS[paper]:
        if "printed once" in cell.where:
            names[cell.table, cell.row].add(first_name(cell))
    assert all(len(firsts) == 1 for firsts in names.values())
    assert bool(names) == (paper == "lawngnli")


def test_a_cut_at_512_tokens_changes_nothing_for_a_model_that_reads_512():
    """LawngNLI, Tables 5 and 13: columns (1) and (2) differ for Longformer, BART and
    BigBird alone.
    """
    again = set()
    for cell in CELLS["lawngnli"]:
        model, _, _ = cell.row.rpartition(" / ")[2].rpartition("_")
        is_of_column_1 = cell.repeats.endswith("> (1) Short premise / No")
        if model and is_of_column_1 and "(2)" in cell.column:
            again.add((cell.table, model))
    short = {
        "albert-xxlarge-v2",
        "nlpaueb_legal-bert-base-uncased",
        "roberta-large",
        "zlucia_custom-legalbert",
    }
    assert again == {("table13", model) for model in short} | {
        ("table5", "albert-xxlarge-v2")
    }


def test_kinds_and_repeats_have_the_registered_numbers():
    """{paper: {kind: (values, values that repeat none)}}."""
    counts = {}
    for paper, cells in CELLS.items():
        values = Counter(cell.kind for cell in cells)
        firsts = Counter(cell.kind for cell in cells if not cell.repeats)
        counts[paper] = {kind: (values[kind], firsts[kind]) for kind in values}
    assert counts == KIND_COUNTS


def test_figures_of_cuad_repeat_table_2_and_figure_4():
    """Section 4: Figures 3 and 5 draw Table 2, and Figure 8 has the categories in the
    order of Figure 4.
    """
    tables = Counter()
    for cell in CELLS["cuad"]:
        if cell.repeats:
            tables[cell.table, cell.repeats.partition(" > ")[0]] += 1
    assert tables == {
        ("figure2", "table3"): 1,
        ("figure3", "table2"): 3,
        ("figure5", "table2"): 10,
        ("figure6", "table2"): 1,
        ("figure8", "figure4"): 40,
        ("table4", "table1"): 8,
        ("table5", "table1"): 1,
    }
