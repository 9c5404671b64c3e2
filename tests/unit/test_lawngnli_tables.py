"""LawngNLI's tables: readings of the same data set, and cells without a value."""

import json

import numpy as np
import pytest

from helpers.opinion_rows import example, long_premise
from lextables import ROOT
from lextables.corpora.nli.raw import text_id
from lextables.corpora.nli.schema import TABLES
from lextables.metrics.intervals import jackknife_interval, share_interval
from lextables.papers.lawngnli import tables
from lextables.papers.lawngnli.dataset.annotations import pair_name
from lextables.papers.lawngnli.dataset.examples import EXAMPLES
from lextables.papers.lawngnli.premises.long_premises import LONG_PREMISES
from lextables.papers.lawngnli.tables import PLAIN
from lextables.pipeline.dataset import write, write_all
from lextables.pipeline.errors import BadInput
from lextables.registry.packages import load
from lextables.tables.inputs import Inputs
from lextables.tables.published import load as load_published

PUBLISHED = load_published(ROOT / "resources/published/lawngnli.csv")
PRINTED_2 = [cell for cell in PUBLISHED if cell.table == "table2"]
PRINTED = [cell for cell in PUBLISHED if cell.table == "table4"]
# (example, label, negated, label and confidence of reader A, label and confidence of
# reader B)
READ = [
    ("a", "entail", False, ("entail", "high"), ("entail", "high")),
    ("b", "entail", True, ("neutral", "high"), ("neutral", "low")),
    ("c", "neutral", True, ("neutral", "low"), ("neutral", "high")),
    ("d", "contradict", False, ("contradict", "high"), ("neutral", "high")),
]
DATA_SET = "0" * 64
PAPER = load(ROOT / "resources/papers/lawngnli.yaml")


PUBLIC = ("contractnli", "anli", "docnli", "control")
GONE = dict.fromkeys(PUBLIC, "no mirror has it")


def inputs(
    folder,
    printed=PRINTED,
    *,
    data_set=DATA_SET,
    rows=(),
    funnel=(),
    beside=(),
    absent=GONE,
):
    """Return the inputs of a table for a data set with these ``rows``."""
    write(EXAMPLES, rows, folder / "examples.parquet")
    cases = sorted({row["cited_case_id"] for row in rows})
    opinions = [long_premise(case, "x y", 4) for case in cases]
    write(LONG_PREMISES, opinions, folder / "long_premises.parquet")
    census = {"data": {"examples": {"rows_sha256": data_set}}, "funnel": funnel}
    (folder / "census.json").write_text(json.dumps(census))
    table = printed[0].table
    return Inputs(folder, folder, [], printed, PAPER, table, dict(beside), absent)


def keyed(cells):
    return {(cell.row, cell.column): cell for cell in cells}


@pytest.fixture
def readings(tmp_path, monkeypatch):
    lines = ["data_set,pair,reader,reading,confidence,note"]
    lines += ["other,p,A,entail,high,", "other,p,B,entail,high,"]
    for name, _, _, *both in READ:
        for who, (label, sure) in zip("AB", both, strict=True):
            pair = pair_name(name, "p")
            lines.append(f"{DATA_SET},{pair},{who},{label},{sure},")
    path = tmp_path / "readings.csv"
    path.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(tables, "READINGS", path)


ROWS = [
    example(name, 2, name, label, negated=negated, split="train")
    for name, label, negated, *_ in READ
]


@pytest.fixture
def cells(tmp_path, readings):
    return keyed(tables.cells("table4", inputs(tmp_path, rows=ROWS)))


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [
        ("Agreed-upon (gold) labels / N", "Short premise / All", 3),
        # Gold labels: a entail, b and c neutral. Entail is correct for 1 of 1 pairs,
        # neutral for 1 of 2.
        ("Agreed-upon (gold) labels / Accuracy", "Short premise / All", 3 / 4),
        ("Agreed-upon (gold) labels / Accuracy", "Short premise / Negation", 1 / 2),
        (PLAIN, "Short premise / All", 2 / 3),
        ("High-confidence agreed-upon (gold) labels / N", "Short premise / All", 1),
        (
            "High-confidence agreed-upon (gold) labels / Accuracy",
            "Short premise / All",
            1,
        ),
        ("Full assessment set / Worker agreement", "Short premise / All", 3 / 4),
        (
            "Full assessment set / High confidence, if agreement",
            "Short premise / All",
            1 / 3,
        ),
        ("Full assessment set / N", "Short premise / All", 4),
        (PLAIN, "Short premise / entail", 1 / 2),
        ("Agreed-upon (gold) labels / N", "Short premise / entail", 2),
    ],
)
def test_values_of_table_4(cells, row, column, value):
    assert cells[row, column].value == pytest.approx(value)


def test_balanced_accuracy_has_a_jackknife_and_accuracy_a_wilson_interval(cells):
    balanced = cells["Agreed-upon (gold) labels / Accuracy", "Short premise / All"]
    # Without a: only neutral, 1/2. Without b: entail 1, neutral 1. Without c: entail 1,
    # neutral 0.
    assert (balanced.low, balanced.high) == jackknife_interval(
        3 / 4, np.array([1 / 2, 1, 1 / 2]), (0, 1)
    )
    plain = cells[PLAIN, "Short premise / All"]
    assert (plain.low, plain.high) == share_interval(2, 3)


def test_cells_without_readings_give_a_reason(cells):
    assert (
        "only short premises"
        in cells["Full assessment set / N", "Long premise / All"].reason
    )


def test_readings_of_another_data_set_are_ignored(tmp_path, readings):
    # The texts of the readings are in the data set, but its digest differs.
    cells = tables.cells("table4", inputs(tmp_path, data_set="1" * 64, rows=ROWS))
    assert len(cells) == len(PRINTED)
    assert {cell.value for cell in cells} == {None}
    reason = "the annotations belong to another data set"
    assert {cell.reason for cell in cells} == {reason}


def test_a_table_without_readings_gives_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "READINGS", tmp_path / "none.csv")
    cells = tables.cells("table4", inputs(tmp_path, rows=ROWS))
    assert {cell.value for cell in cells} == {None}
    assert {cell.reason for cell in cells} == {"no example was annotated"}


def test_a_reading_of_a_pair_outside_the_data_set_raises_an_error(tmp_path, readings):
    with pytest.raises(
        BadInput, match=r"^readings\.csv: pair \w{16} is not in the data set that its"
    ):
        tables.cells("table4", inputs(tmp_path, rows=ROWS[1:]))


def test_columns_without_examples_are_not_run_and_contain_no_nan(tmp_path):
    rows = [row | {"analysis": False} for row in ROWS if row["label"] != "neutral"]
    found = keyed(tables.cells("table2", inputs(tmp_path, PRINTED_2, rows=rows)))
    analysis, full = 'Long premises / "Analysis" subset', "Long premises / Full"
    for row in ("Premise length", "Hypothesis length", "Hypothesis negation"):
        cell = found[f"LawngNLI / {row}", analysis]
        assert cell.value is None
        assert cell.reason == "no training example is in this subset"
    assert found["LawngNLI / Training examples", analysis].value == 0
    cell = found["LawngNLI / Hypothesis negation", full]
    assert cell.value is None
    assert cell.reason == "no training example in this subset is labelled neutral"
    assert found["LawngNLI / Training examples", full].value == 3
    assert "nan" not in repr(found).lower()


def public(folder, name, heads, pairs):
    """Write a public data set of pairs (split, label index, premise, hypothesis) next
    to ``folder``.
    """
    texts, examples = {}, []
    for number, (split, label, *both) in enumerate(pairs):
        ids = [text_id(text) for text in both]
        texts |= dict(zip(ids, both, strict=True))
        example = {"example_id": f"{number:03d}", "head_id": "nli", "split": split}
        example |= {"label": label, "text_id": ids[0], "pair_id": ids[1]}
        examples.append(example)
    rows = {
        "examples": examples,
        "heads": [{"head_id": "nli", "answers": heads}],
        "texts": [
            {"text_id": name, "text": text, "tokens": 2 + len(text.split())}
            for name, text in sorted(texts.items())
        ],
    }
    write_all(TABLES[name], rows, folder.parent / name)


def of_column(cells, column):
    """Return {row, without the group: cell} of a column."""
    found = {row: cell for (row, at), cell in keyed(cells).items() if at == column}
    return {row.partition(" / ")[2]: cell for row, cell in found.items()}


def test_columns_of_public_data_sets_are_computed_if_these_are_available(tmp_path):
    pairs = [
        ("train", 0, "a b c", "x is not y"),
        ("train", 0, "a b c", "x is y"),
        ("train", 1, "a b c d", "x is y"),
        ("train", 1, "a b c d", "x is y"),  # a duplicate
        ("dev", 0, "a b c d e f g", "never mind"),
    ]
    folder = tmp_path / "lawngnli"
    public(folder, "docnli", ["entail", "not entail"], pairs)
    absent = {name: reason for name, reason in GONE.items() if name != "docnli"}
    given = {"rows": ROWS, "beside": {"docnli": True}, "absent": absent}
    cells = tables.cells("table2", inputs(folder, PRINTED_2, **given))
    found = of_column(cells, "DocNLI")
    assert {row: cell.value for row, cell in found.items()} == {
        "Premise length": "[5, 5, 6, 6, 6]",
        "Hypothesis length": 5.25,
        "Hypothesis negation": "[0.500, 0.000]",
        "Unique training premises": 2,
        "Unique training hypotheses": 2,
        "Training examples": 4,
        "Text sources": None,
    }
    assert all(cell.comparable for row, cell in found.items() if row != "Text sources")
    other = of_column(cells, "anli")["Training examples"]
    assert (other.value, other.reason) == (None, "no mirror has it")
    # One published percentile of ConTRoL has a decimal; the others omit a decimal of
    # zero.
    public(folder, "control", ["entail", "neutral", "contradict"], pairs)
    given = {"rows": ROWS, "beside": dict.fromkeys(PUBLIC[2:], False)}
    cells = tables.cells("table2", inputs(folder, PRINTED_2, **given))
    found = of_column(cells, "ConTRoL-dataset")
    assert found["Premise length"].value == "[5, 5, 5.5, 6, 6]"
    assert found["Premise length"].comparable is False
    reason = "no training example in this subset is labelled contradict"
    assert found["Hypothesis negation"].reason == reason


def test_each_step_of_the_funnel_has_its_share_of_the_one_before(tmp_path):
    funnel = [["citations", 8], ["resolved", 6], ["twins", 12], ["balanced", 3]]
    cells = tables.cells("table3", inputs(tmp_path, funnel=funnel))
    assert {(cell.column, cell.decimals) for cell in cells} == {
        ("Left", 0),
        ("Of the step before", 3),
    }
    assert [(cell.row, cell.column, cell.value) for cell in cells] == [
        ("citations", "Left", 8),
        ("citations", "Of the step before", 1),
        ("resolved", "Left", 6),
        ("resolved", "Of the step before", 0.75),
        ("twins", "Left", 12),
        ("twins", "Of the step before", 2),
        ("balanced", "Left", 3),
        ("balanced", "Of the step before", 0.25),
    ]


def test_a_share_of_zero_is_not_run(tmp_path):
    funnel = [["citations", 4], ["resolved", 0], ["balanced", 0]]
    found = keyed(tables.cells("table3", inputs(tmp_path, funnel=funnel)))
    assert found["resolved", "Of the step before"].value == 0
    cell = found["balanced", "Of the step before"]
    assert (cell.value, cell.reason) == (None, "nothing remained before this step")
