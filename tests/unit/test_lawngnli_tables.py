"""LawngNLI's Table 4: gold labels are those on which two readings agree."""

from pathlib import Path

import pytest

from lextables.dataset import write
from lextables.errors import BadInput
from lextables.lawngnli import tables
from lextables.lawngnli.construction_schema import EXAMPLES
from lextables.lawngnli.plan import Lawngnli
from lextables.papers import load
from lextables.tables.inputs import Inputs
from lextables.tables.published import load as load_published

ROOT = Path(__file__).parents[2]
PRINTED = [c for c in load_published(ROOT / "resources/published/lawngnli.csv") if c.table == "table4"]
# example, label, negated, then what the two readers chose and whether they were sure
READ = [
    ("a", "entail", False, ("entail", "high"), ("entail", "high")),
    ("b", "entail", True, ("neutral", "high"), ("neutral", "low")),
    ("c", "neutral", True, ("neutral", "low"), ("neutral", "high")),
    ("d", "contradict", False, ("contradict", "high"), ("neutral", "high")),
]


@pytest.fixture
def cells(tmp_path, monkeypatch):
    blank = {
        "citing_case_id": 1,
        "citing_jurisdiction": "U.S.",
        "is_twin": False,
        "split": "train",
        "analysis": True,
        "cited_case_id": 2,
        "cited_jurisdiction": "U.S.",
        "pages": ["1"],
        "hypothesis": "h",
        "premise_example_id": "a",
        "short_premise": "p",
        "short_premise_original": "p",
        "premise_start": 0,
        "premise_end": 1,
        "premise_spans": [{"start": 0, "end": 1}],
    }
    rows = [
        blank | {"example_id": name, "hypothesis": name, "label": label, "negated": n}
        for name, label, n, *_ in READ
    ]
    write(EXAMPLES, rows, tmp_path / "examples.parquet")
    lines = [
        "pair,reader,reading,confidence,note",
        "gone,A,entail,high,",
        "gone,B,entail,high,",
    ]
    for name, _, _, *both in READ:
        lines += [
            f"{tables.pair_name(name, 'p')},{who},{label},{sure},"
            for who, (label, sure) in zip("AB", both, strict=True)
        ]
    readings = tmp_path / "readings.csv"
    readings.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(tables, "READINGS", readings)
    paper = load(ROOT / "resources/papers/lawngnli.yaml", Lawngnli)
    found = tables.cells("table4", Inputs(tmp_path, tmp_path, [], PRINTED, paper))
    return {(cell.row, cell.column): cell for cell in found}


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [
        ("Agreed-upon (gold) labels / N", "Short premise / All", 3),
        ("Agreed-upon (gold) labels / Accuracy", "Short premise / All", 2 / 3),
        ("Agreed-upon (gold) labels / Accuracy", "Short premise / Negation", 1 / 2),
        ("High-confidence agreed-upon (gold) labels / N", "Short premise / All", 1),
        ("High-confidence agreed-upon (gold) labels / Accuracy", "Short premise / All", 1),
        ("Full assessment set / Worker agreement", "Short premise / All", 3 / 4),
        ("Full assessment set / High confidence, if agreement", "Short premise / All", 1 / 3),
        ("Full assessment set / N", "Short premise / All", 4),
        ("Agreed-upon (gold) labels / Accuracy", "Short premise / entail", 1 / 2),
    ],
)
def test_layout_of_table_4(cells, row, column, value):
    assert cells[row, column].value == pytest.approx(value)


def test_what_was_not_read_says_so(cells):
    assert cells["Full assessment set / N", "Long premise / All"].reason == "only short premises were read"


def test_a_reading_without_its_twin_is_a_fault(tmp_path):
    path = tmp_path / "lawngnli.csv"
    path.write_text("pair,reader,reading,confidence,note\na,A,entail,high,\n")
    with pytest.raises(BadInput, match=r"^lawngnli\.csv: pair a has not two readings of entail, neutral"):
        tables.load_readings(path)


def test_the_readings_that_are_kept_are_a_hundred():
    assert len(tables.load_readings(tables.READINGS)) == 100
