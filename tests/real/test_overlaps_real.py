"""The recorded overlaps of data sets, computed again on the real data sets."""

import pandas as pd
from pandas.testing import assert_frame_equal

from lextables import ROOT
from lextables.corpora.overlaps import compare, index
from lextables.registry import packages
from lextables.report import overlaps


def test_recorded_overlaps_equal_computed_overlaps(
    release_results, tmp_path, monkeypatch
):
    # No unit has twice its words in common, so no nearest unit is searched: that takes
    # longest, and the shares do not depend on it.
    monkeypatch.setattr("lextables.corpora.overlaps.HALF", 2)
    splits = []
    names = ("acord", "cuad")
    for name in names:
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
    facts = pd.read_csv(ROOT / "resources/facts/overlaps.csv")
    of_both = facts.dataset.isin(names) & facts.other_dataset.isin(names)
    recorded = facts[of_both].reset_index(drop=True)
    assert len(recorded) == 7
    assert_frame_equal(found.reset_index(drop=True), recorded, check_dtype=False)
