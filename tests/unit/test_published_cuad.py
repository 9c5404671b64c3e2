"""The committed values of CUAD against the text of the paper, and against each other."""

import os
import re
import unicodedata
from pathlib import Path

import pytest

from lextables.tables.published import load

ROOT = Path(__file__).resolve().parents[2]
CELLS = load(ROOT / "resources" / "published" / "cuad.csv")
PAPER = ROOT.joinpath(os.environ.get("LEXTABLES_PAPERS", "../shared/papers"), "cuad.txt")


@pytest.fixture(scope="module")
def paper() -> list[str]:
    """The lines of the paper: the conversion took its UTF-8 for Mac Roman, and kept the ligatures."""
    if not PAPER.is_file():
        pytest.skip(f"the text of the paper is not at {PAPER}; set LEXTABLES_PAPERS to its folder")
    text = PAPER.read_text(encoding="utf-8").encode("mac_roman").decode("utf-8")
    return unicodedata.normalize("NFKC", text).splitlines()


def _committed(table: str) -> list[tuple[str, str, str]]:
    return [(cell.row, cell.column, cell.value) for cell in CELLS if cell.table == table]


def _column(table: str, column: str) -> list[str]:
    return [value for _, found, value in _committed(table) if found == column]


def _below(paper: list[str], heading: str, after: int, count: int) -> list[str]:
    """The ``count`` lines below the first line after ``after`` that ends with ``heading``."""
    start = next(at for at in range(after, len(paper)) if paper[at].endswith(heading)) + 1
    return [line for line in paper[start:] if line][:count]


def _at(paper: list[str], beginning: str) -> int:
    (found,) = [at for at, line in enumerate(paper) if line.startswith(beginning)]
    return found


def _letters(text: str) -> str:
    """A text without blanks and hyphens: the conversion breaks lines at both."""
    return re.sub(r"[-\s]", "", text)


def test_every_table_and_figure_with_something_printed_is_there():
    assert list(dict.fromkeys(cell.table for cell in CELLS)) == [
        *(f"table{number}" for number in (1, 2, 3, 4, 5)),
        *(f"figure{number}" for number in (2, 3, 4, 5, 6, 8)),
    ]
    assert len(CELLS) == 252


def test_no_cell_keeps_a_ligature_or_a_wrong_character():
    allowed = set("“”’")
    for cell in CELLS:
        for text in (cell.row, cell.value):
            assert text == unicodedata.normalize("NFKC", text)
            assert all(letter.isascii() or letter in allowed for letter in text), text


def test_every_cell_of_table_1_is_the_papers(paper):
    end = _at(paper, "Table 1:")
    start = max(at for at in range(end) if paper[at] == "Category")
    block = [line for line in paper[start:end] if line]
    assert block == [
        "Category",
        *_column("table1", "Category"),
        "Description",
        *_column("table1", "Description"),
    ]


def test_every_cell_of_table_2_is_the_papers(paper):
    start = next(at for at, line in enumerate(paper) if line.endswith("Model"))
    models = _below(paper, "Model", start, 10)
    columns = {
        "AUPR": _below(paper, "AUPR", start, 10),
        "Precision@80% Recall": _below(paper, "80% Recall", start + 1, 10),
        "Precision@90% Recall": _below(paper, "90% Recall", start, 10),
    }
    printed = [(model, name, columns[name][at]) for at, model in enumerate(models) for name in columns]
    assert _committed("table2") == printed


def test_every_cell_of_table_3_is_the_papers_and_adds_up(paper):
    start = next(at for at, line in enumerate(paper) if line.endswith("Contract Type"))
    types = _below(paper, "Contract Type", start, 26)
    counts = _below(paper, "Number of Contracts", start, 26)
    printed = [(name, "Number of Contracts", count) for name, count in zip(types, counts, strict=True)]
    assert _committed("table3") == printed
    *parts, total = (int(value) for value in counts)
    assert sum(parts) == total == 510


@pytest.mark.parametrize("number", [4, 5])
def test_every_cell_of_tables_4_and_5_is_the_papers(paper, number):
    table = f"table{number}"
    end = _at(paper, f"Table {number}:")
    start = max(at for at in range(end) if paper[at] == "Category")
    middle = paper.index("Description", start)
    descriptions = "".join(paper[middle + 1 : end])
    assert _letters("".join(_column(table, "Description"))) == _letters(descriptions)
    # Names that run over two lines come out of the conversion in another order in Table 5.
    names = re.sub(r"(?<=[a-z])- (?=[a-z])", "", " ".join(paper[start + 1 : middle]))
    assert sorted(re.findall(r"\w+", " ".join(_column(table, "Category")))) == sorted(
        re.findall(r"\w+", names)
    )
    assert [row for row, column, _ in _committed(table) if column == "Category"] == _column(table, "Category")


def test_tables_4_and_5_have_the_41_categories():
    names = _column("table4", "Category") + _column("table5", "Category")
    assert len(set(names)) == len(names) == 41


def test_figure_2_is_what_the_text_says(paper):
    text = " ".join(paper)
    contracts, clauses = re.search(r"contains (\d+) con- tracts and (\d+) labeled clauses", text).groups()
    types, share, categories, single = re.search(
        r"belonging to (\d+) different types.*?make up about (\d+%).*?there are (\d+) label categories.*?"
        r"about (0\.\d+%)",
        text,
    ).groups()
    (pages,) = re.search(r"each of the (\d+) pages", text).groups()
    assert [value for *_, value in _committed("figure2")] == [
        contracts, types, categories, clauses, pages, share, single,
    ]  # fmt: skip


def test_figures_3_and_5_repeat_table_2():
    at_80 = {row: value for row, column, value in _committed("table2") if column == "Precision@80% Recall"}
    figure3 = {row: value for row, _, value in _committed("figure3")}
    figure5 = {row.partition(" / ")[2]: value for row, _, value in _committed("figure5")}
    assert figure3.items() <= at_80.items() and len(figure3) == 3
    assert figure5 == at_80
    for row, _, _ in _committed("figure5"):
        family, _, model = row.partition(" (")
        assert model.partition(" / ")[2].startswith(f"{family}-")


def test_figures_3_and_5_have_the_printed_models_and_years(paper):
    line = next(line for line in paper if line.endswith("80% RecallModel"))
    assert line.endswith("".join(row for row, _, _ in _committed("figure3")) + "80% RecallModel")
    classes = dict.fromkeys(row.partition(" / ")[0].replace(" ", "") for row, _, _ in _committed("figure5"))
    assert any(line.startswith("".join(classes)) for line in paper)


def test_figure_6_is_what_the_text_says(paper):
    low, high = re.search(r"performance from (\S+) to (\S+), a 15% absolute", " ".join(paper)).groups()
    assert _committed("figure6") == [
        ("RoBERTa-base / 10% of the contracts", "AUPR", low),
        ("RoBERTa-base / 100% of the contracts", "AUPR", high),
    ]


@pytest.mark.parametrize(("figure", "axis"), [("figure4", "AUPR"), ("figure8", "Precision @ 80% Recall")])
def test_the_categories_of_figures_4_and_8_stand_in_the_printed_order(paper, figure, axis):
    # The labels of an axis come out of the conversion from the bottom up.
    names = "".join(row for row, _, _ in reversed(_committed(figure)))
    assert any(f"020406080100{axis}{names}CUAD Performance by Category" in line for line in paper)
    assert [value for *_, value in _committed(figure)] == [str(place) for place in range(1, 41)]


def test_figures_4_and_8_print_the_categories_of_tables_4_and_5_but_one():
    def key(name: str) -> str:
        return re.sub(
            r"\W", "", name.replace("Affiliate IP", "Affiliate").replace("Notice to", "Notice Period to")
        ).casefold()

    tables = {key(name) for table in ("table4", "table5") for name in _column(table, "Category")}
    for figure in ("figure4", "figure8"):
        assert tables - {key(row) for row, _, _ in _committed(figure)} == {"pricerestriction"}
