"""The recorded overlaps of data sets, and ACORD's scores without overlap, computed on
the real data sets.
"""

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from helpers.registered import context
from lextables import ROOT
from lextables.corpora.overlaps import compare, index
from lextables.planning import paper_plan
from lextables.registry import packages
from lextables.report import overlaps
from lextables.report.without_overlap import Benchmark, scores_without

NAMES = ("acord", "cuad")
PAPERS = {name: packages.load(ROOT / f"resources/papers/{name}.yaml") for name in NAMES}


def texts_of(name):
    texts = PAPERS[name].texts[name].model_dump()
    return texts | {"tables": [texts["table"]]}


@pytest.fixture(scope="module")
def splits(release_results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hashes")
    splits = []
    for name in NAMES:
        texts = overlaps.read_texts(release_results / "data" / name, texts_of(name))
        splits += index(name, texts, folder)
    return splits


@pytest.fixture(scope="module")
def units(splits):
    # No unit has twice its words in common, so no nearest unit is searched: that takes
    # longest, and the shares do not depend on it.
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("lextables.corpora.overlaps.HALF", 2)
        return pd.concat(compare(splits))


def test_recorded_overlaps_equal_computed_overlaps(release_results, splits, units):
    table = overlaps.pairs(splits, units)
    found = overlaps.facts(table, release_results / "data")
    facts = pd.read_csv(ROOT / "resources/facts/overlaps.csv")
    of_both = facts.dataset.isin(NAMES) & facts.other_dataset.isin(NAMES)
    recorded = facts[of_both].reset_index(drop=True)
    assert len(recorded) == 7
    assert_frame_equal(found.reset_index(drop=True), recorded, check_dtype=False)


def test_clauses_that_share_half_of_their_words_with_cuad(splits, units):
    of_cuad = units[(units.dataset == "acord") & (units.other_dataset == "cuad")]
    half = of_cuad[2 * of_cuad.shared >= of_cuad.words]
    counts = half.other_split.value_counts()
    (clauses,) = [len(split.units) for split in splits if split.dataset == "acord"]
    page = " ".join((ROOT / "docs/overlaps.md").read_text().split())
    assert f"of the words of its {clauses:,} longer clauses" in page
    share = f"{counts['all']:,} clauses ({counts['all'] / clauses:.0%})"
    stated = f"{share.replace('%', ' %')} share at least half of their words, "
    assert f"{stated}{counts['train']:,} of them with CUAD's training contracts" in page


def test_bm25_on_clauses_that_are_not_in_cuads_training_contracts(
    release_results, units, mirror
):
    paper = PAPERS["acord"]
    options = {"data": "release", "models": "available", "mirror": str(mirror)}
    plan = paper_plan.plan(paper, context("acord", **options))
    benchmark = Benchmark(
        paper="acord",
        registry=str(ROOT / "resources/papers/acord.yaml"),
        published=str(ROOT / "resources/published/acord.csv"),
        table="table_d3",
        dataset="acord",
        task=paper.tasks["acord"].model_dump(mode="json"),
        texts=texts_of("acord"),
        rows=plan.rows["table_d3"],
    )
    rows = scores_without(benchmark, units, {("cuad", "train")}, release_results)
    scores = {row["score"]: row for row in rows if row["row"] == "BM25 / None"}
    bm25 = scores["NDCG@5"]
    values = (bm25["all test units"], bm25["below 10% of overlap"])
    stated = (
        f"| ACORD, BM25 | NDCG@5 | {' | '.join(values)} | {bm25['units']} clauses |"
    )
    assert stated in (ROOT / "docs/overlaps.md").read_text()
