"""The committed values of LawngNLI against the text of the paper, and against each other."""

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from scipy.stats import binomtest

from lextables.tables.published import PublishedCell, load

ROOT = Path(__file__).resolve().parents[2]
LAWNGNLI = ROOT / "resources" / "published" / "lawngnli.csv"
PAPER = ROOT.joinpath(os.environ.get("LEXTABLES_PAPERS", "../shared/papers"), "lawngnli.txt")

THREE_LABELS, TWO_LABELS = "Entail/Neutral/Contradict. Chance=1/3", "Entail/Not entail. Chance=1/2"
SETUPS = (
    "(1) Short premise / No",
    "(2) Short premise / No [512 tokens]",
    "(3) Short premise / Yes",
    "(4) BM25 retrieval on short premise / Yes",
    "(5) Long premise / No",
    "(6) Long premise filtered by BM25 retrieval / Yes",
)
SUBSETS = ("No / All", *(f"Yes / {subset}" for subset in ("All", "Above-Median Long Premise Length")))
SUBSETS += ("Yes / Hypothesis Contains Negation",)
QUERIES = ("Entail hypotheses as queries", "Contradict hypotheses as queries")
RECALLS = tuple(f"Recall@{k}" for k in (1, 10, 100))


@pytest.fixture(scope="module")
def paper() -> list[str]:
    if not PAPER.is_file():
        pytest.skip(f"the text of the paper is not at {PAPER}; set LEXTABLES_PAPERS to its folder")
    return PAPER.read_text(encoding="utf-8").splitlines()


CELLS = load(LAWNGNLI)


def _committed(table: str) -> list[tuple[str, str, str]]:
    return [(cell.row, cell.column, cell.value) for cell in CELLS if cell.table == table]


def _block(paper: list[str], number: int) -> list[list[str]]:
    """The tab-separated lines above the caption of a table, without empty fields at their ends."""
    (end,) = [at for at, line in enumerate(paper) if line.startswith(f"Table {number}:")]
    while not paper[end - 1].strip():
        end -= 1
    start = end
    while "\t" in paper[start - 1]:
        start -= 1
    return [line.rstrip("\t").split("\t") for line in paper[start:end]]


def _name(field: str) -> str:
    """A model's name without the line break and the formula that the conversion made of some."""
    plain = re.sub(r"\\text\{(.*?)\}", r"\1", field.strip("$")).replace("\\_", "_")
    return plain.replace("- ", "-") if "_" in plain else plain


def _under(group: str, block: list[list[str]], columns: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield (group / row, column, value) of the lines that hold a value; N fills every column."""
    for label, *values in block:
        if label == "N" and len([value for value in values if value]) < len(columns):
            values = ["".join(values)] * len(columns)  # printed once, at times over two fields
        if not re.match(r"\d", values[0] if values else ""):
            continue
        for column, value in zip(columns, values, strict=False):
            if re.match(r"\d", value):
                yield f"{group} / {_name(label)}".removeprefix(" / "), column, value


def test_the_csv_holds_every_table_with_numbers():
    assert list(dict.fromkeys(cell.table for cell in CELLS)) == [
        f"table{number}" for number in (2, 4, 5, 6, 12, 13, 14, 15, 16, 17)
    ]
    assert len(CELLS) == 713


def test_every_cell_of_table_2_is_the_papers(paper):
    _, subsets, *rows = _block(paper, 2)
    (at,) = [number for number, row in enumerate(rows) if row[0] == "Existing datasets"]
    columns = [
        f"{premises} / {subset}"
        for premises, pair in (("Long premises", subsets[1:3]), ("Short premises", subsets[3:5]))
        for subset in pair
    ]
    printed = []
    for group, names, block in (
        ("LawngNLI", columns, rows[:at]),
        ("Existing datasets", rows[at][1:], rows[at + 1 :]),
    ):
        for label, *values in block:
            values = values * 4 if len(values) == 1 else values
            printed += [(f"{group} / {label}", *cell) for cell in zip(names, values, strict=True)]
    assert _committed("table2") == printed


def test_every_cell_of_table_4_is_the_papers(paper):
    columns = tuple(f"{length} premise / {of}" for length in ("Short", "Long") for of in ("All", "Negation"))
    groups = {
        "AAgreed-upon (gold) labels": "Agreed-upon (gold) labels",  # the conversion parts the first letter
        "High-confidence agreed-upon (gold) labels": "High-confidence agreed-upon (gold) labels",
        "Full assessment set": "Full assessment set",
    }
    printed, group = [], ""
    for row in _block(paper, 4):
        group = groups.get("".join(row).replace("A Agreed", "AAgreed").strip(), group)
        if re.match(r"\d", row[1] if len(row) > 1 else ""):
            # The label's last word stands on a line of its own.
            label = row[0] + " agreement" * (row[0] == "High confidence, if")
            printed += [
                (f"{group} / {label}", column, value) for column, value in zip(columns, row[1:], strict=True)
            ]
    assert _committed("table4") == printed


@pytest.mark.parametrize("number", [5, 13])
def test_every_cell_of_tables_5_and_13_is_the_papers(paper, number):
    assert _committed(f"table{number}") == list(_under(THREE_LABELS, _block(paper, number), SETUPS))


def test_every_cell_of_table_6_is_the_papers(paper):
    columns = tuple(f"[{queries}] / {recall}" for queries in QUERIES for recall in RECALLS)
    assert _committed("table6") == list(_under("", _block(paper, 6)[2:], columns))


def test_every_cell_of_table_12_is_the_papers(paper):
    header, _, *rows = _block(paper, 12)
    assert _committed("table12") == list(_under(THREE_LABELS, rows, tuple(header[1:])))


@pytest.mark.parametrize("number", [14, 15])
def test_every_cell_of_tables_14_and_15_is_the_papers(paper, number):
    block = _block(paper, number)
    (at,) = [number for number, row in enumerate(block) if "Not entail" in "".join(row)]
    if number == 15:
        # Two names stand in one field, and the second's values below it without a name.
        (merged,) = [place for place, row in enumerate(block) if " zlucia" in row[0]]
        block[merged][0], block[merged + 1][0] = block[merged][0].split(" ")
    printed = [
        *_under(THREE_LABELS, block[:at], SUBSETS),
        *_under(TWO_LABELS, block[at:], SUBSETS),
    ]
    assert _committed(f"table{number}") == printed


def test_every_cell_of_table_16_is_the_papers(paper):
    columns = tuple(f"{SETUPS[at]} / {label}" for at in (3, 5) for label in ("Automatic", "Gold"))
    assert _committed("table16") == list(_under(THREE_LABELS, _block(paper, 16), columns))


def test_every_cell_of_table_17_is_the_papers(paper):
    columns = tuple(
        f"Long premise{how} / {recall}" for how in ("", " filtered by BM25 retrieval") for recall in RECALLS
    )
    block = _block(paper, 17)[2:]
    (at,) = [number for number, row in enumerate(block) if f"[{QUERIES[1]}]" in "".join(row)]
    printed = [
        *_under(QUERIES[0], block[:at], columns),
        *_under(QUERIES[1], block[at:-1], columns),
        *_under("", block[-1:], columns),
    ]
    assert _committed("table17") == printed


# The tables agree with each other, which a slip in copying would break.


@cache
def _values(table: str) -> dict[tuple[str, str], PublishedCell]:
    return {(cell.row, cell.column): cell for cell in CELLS if cell.table == table}


def test_table_5_is_a_part_of_table_13():
    whole = _values("table13")
    assert [key for key, cell in _values("table5").items() if not key[0].endswith(" / N")] == [
        key for key in whole if key in _values("table5")
    ]
    assert all(
        whole[key].value == cell.value
        for key, cell in _values("table5").items()
        if not key[0].endswith(" / N")
    )


def test_long_premises_are_the_same_in_tables_13_and_14():
    whole = _values("table13")
    same = [
        (cell.value, whole[row, SETUPS[4]].value)
        for (row, column), cell in _values("table14").items()
        if column == "Yes / All" and (row, SETUPS[4]) in whole
    ]
    assert len(same) == 21
    assert all(one == other for one, other in same)


def test_the_shares_of_table_4_are_of_its_counts():
    number = {key: cell.number for key, cell in _values("table4").items()}
    for column in dict.fromkeys(column for _, column in number):
        agreed = number["Agreed-upon (gold) labels / N", column]
        confident = number["High-confidence agreed-upon (gold) labels / N", column]
        assessed = number["Full assessment set / N", column]
        # Printed to three places, cut or rounded.
        assert number["Full assessment set / Worker agreement", column] == pytest.approx(
            agreed / assessed, abs=1e-3
        )
        assert number["Full assessment set / High confidence, if agreement", column] == pytest.approx(
            confident / agreed, abs=1e-3
        )


def test_table_16_gives_the_biases_of_section_4_1_2():
    number = {key: cell.number for key, cell in _values("table16").items()}
    models = [row for row in dict.fromkeys(row for row, _ in number) if not row.endswith(" / N")]
    gaps = {}
    for model in models:
        (few, few_gold, many, many_gold) = [number[key] for key in number if key[0] == model]
        gaps[model] = (many - few) - (many_gold - few_gold)
    assert len(gaps) == 6
    assert min(gaps.values()) == pytest.approx(-0.066)
    assert round(sum(gaps.values()) / len(gaps), 3) == -0.016


def _examples(cell: PublishedCell) -> int:
    """The N that stands below a cell; Table 13 prints none, and is over the examples of Table 5."""
    if cell.table == "table13":
        return 3966
    values = _values(cell.table)
    group = cell.row.rpartition(" / ")[0]
    below = values.get((f"{group} / N", cell.column)) or values["N", cell.column]
    return int(below.number)


@cache
def _margins(share: float, n: int, among: int) -> set[float]:
    """The printed errors of the counts whose share of ``n`` is ``share``, with ``among`` that could count.

    Each is the larger deviation of the Clopper-Pearson bounds of the count among those.
    """
    counts = [k for k in range(int(share * n) - 5, int(share * n) + 6) if round(k / n, 3) == share]
    found = set()
    for count in counts:
        if count <= among:
            low, high = binomtest(count, among).proportion_ci(method="exact")
            found.add(round(max(count / among - low, high - count / among) * among / n, 3))
    return found


def test_the_printed_errors_are_the_bounds_of_the_printed_accuracies():
    """All but Table 6's, which are not those of its N, and one of Table 14, as its ``where`` says."""
    wrong = [
        (cell.table, cell.row, cell.column)
        for cell in CELLS
        if cell.margin is not None
        and cell.table != "table6"
        and cell.margin not in _margins(cell.number, n := _examples(cell), n)
    ]
    assert wrong == [
        ("table14", f"{TWO_LABELS} / allenai_longformer-base-4096_DocNLI", SUBSETS[3]),
    ]


def test_the_printed_errors_of_table_6_are_of_the_queries_whose_case_was_re_ranked():
    """Of the bi-encoder's top 100, which hold the case of 668 and 642 of the 1,322 queries."""
    wrong = []
    for (row, column), cell in _values("table6").items():
        among = round(1322 * (0.505 if QUERIES[0] in column else 0.486))
        if row != "N" and cell.margin not in _margins(cell.number, 1322, among):
            wrong.append((row, column, cell.value))
    assert not wrong
