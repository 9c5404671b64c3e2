"""The recorded overlaps of data sets, computed again on the real data sets."""

import csv

import pandas as pd
import pytest

from lextables import ROOT
from lextables.corpora.overlaps import compare, index
from lextables.papers import packages
from lextables.report import overlaps


def test_recorded_overlaps_equal_computed_overlaps(release_results, tmp_path):
    splits = []
    for name in ("acord", "cuad"):
        texts = (
            packages.load(ROOT / f"resources/papers/{name}.yaml")
            .texts[name]
            .model_dump()
        )
        texts["tables"] = [texts["table"]]
        splits += index(
            name, overlaps.read_texts(release_results / "data" / name, texts), tmp_path
        )
    table = overlaps.pairs(splits, pd.concat(compare(splits)))
    found = overlaps.facts(table, release_results / "data")
    with (ROOT / "resources/facts/overlaps.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        facts = [
            row
            for row in csv.DictReader(file)
            if {row["dataset"], row["other_dataset"]} <= {"acord", "cuad"}
        ]
    assert len(facts) == len(found) == 7
    for row, fact in zip(found.itertuples(index=False), facts, strict=True):
        assert [*row[:4]] == [*fact.values()][:4]
        assert row.share == pytest.approx(float(fact["share"]), abs=1e-9)
