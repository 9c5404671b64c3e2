"""What the papers printed as one csv, read back by pandas, datasets and mlcroissant."""

import math
from pathlib import Path

import mlcroissant
import pandas as pd
import pytest
from datasets import load_dataset

from lextables.publish import printed
from lextables.tables.published import load

ROOT = Path(__file__).parents[2]
PAPERS = sorted((ROOT / "resources/papers").glob("*.yaml"))
VALUES = [ROOT / f"resources/published/{path.stem}.csv" for path in PAPERS]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("printed") / "printed"
    printed.write(printed.gather(VALUES, PAPERS), folder)
    return folder


def frame(folder):
    return pd.read_csv(folder / "printed.csv", keep_default_na=False, dtype=str)


def test_every_printed_value_is_there_once_as_it_was_printed(written):
    rows = [(path.stem, cell) for path, values in zip(PAPERS, VALUES, strict=True) for cell in load(values)]
    found = frame(written).to_dict("records")
    assert len(found) == len(rows) > 2000
    for record, (paper, cell) in zip(found, rows, strict=True):
        assert (record["paper"], record["value"], record["where"]) == (paper, cell.value, cell.where)
        assert (record["table"], record["row"], record["column"]) == (cell.table, cell.row, cell.column)
        assert (record["decimals"] or None) == (None if cell.decimals is None else str(cell.decimals))
        number = float(record["number"]) if record["number"] else None
        assert number == cell.number


def test_datasets_loads_it_by_its_card(written, tmp_path):
    rows = load_dataset(str(written), "printed", split="full", cache_dir=str(tmp_path))
    assert rows.num_rows == len(frame(written))
    assert rows.features["number"].dtype == "float64"


def test_mlcroissant_finds_no_fault_and_reads_its_records(written):
    data = mlcroissant.Dataset(written / "croissant.json")
    assert (data.metadata.ctx.issues.errors, data.metadata.ctx.issues.warnings) == (set(), set())
    records = [*data.records("printed")]
    assert len(records) == len(frame(written))
    numbers = [cell.number for values in VALUES for cell in load(values)]
    found = [record["printed/number"] for record in records]
    assert [None if number is None or math.isnan(number) else number for number in found] == numbers


def test_the_card_counts_and_cites_each_paper(written):
    card = (written / "README.md").read_text(encoding="utf-8")
    counts = frame(written)["paper"].value_counts()
    for path in PAPERS:
        assert (f"| `{path.stem}` |" in card) == (path.stem in counts)
        assert path.stem not in counts or f"| {counts[path.stem]:,} |" in card
    assert f"of {len(counts)} papers" in card and len(counts) == 5
