"""Overlaps inserted into unrelated texts: all are found, and no others are reported."""

import itertools
import random

import pandas as pd
import pytest

from lextables import ROOT
from lextables.corpora.overlaps import ALL, RUN, WordHashes, compare, index, run_hashes
from lextables.pipeline.dataset import read, write
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import SCORES
from lextables.report import overlaps as report
from lextables.report import without_overlap

ENDS = ("ane", "ole", "ire", "ust", "ept")
VOCABULARY = [*map("".join, itertools.product("bcdfghjklmnpqrst", ENDS))]


def prose(words, seed):
    """A text of frequent and rare words, with numbers, commas and line breaks."""
    draw = random.Random(seed)
    weights = [1 / rank for rank in range(1, len(VOCABULARY) + 1)]
    drawn = draw.choices(VOCABULARY, weights, k=words)
    return " ".join(
        f"{draw.randint(1, 10**6):,}"
        if draw.random() < 0.05
        else f"{word},\n"
        if draw.random() < 0.1
        else word
        for word in drawn
    )


def rewrapped(text):
    words = text.split()
    return "\n".join(
        "  ".join(words[start : start + 7]) for start in range(0, len(words), 7)
    ).upper()


def with_other_numbers(text):
    return " ".join("7.25" if word[0].isdigit() else word for word in text.split())


def third(text):
    words = text.split()
    return " ".join(words[len(words) // 3 : 2 * len(words) // 3])


def test_a_single_split_has_nothing_to_be_compared_with(tmp_path):
    splits = index("one", [("test", "a", prose(50, seed=1))], tmp_path)
    with pytest.raises(BadInput, match=r"a single split \(one, test\)"):
        list(compare(splits))


def shares(tmp_path, units, others):
    """{unit: (share of its words, nearest unit)} for units that share text with one of
    ``others``.
    """
    splits = index("one", (("test", *unit) for unit in units.items()), tmp_path)
    splits += index("other", (("train", *other) for other in others.items()), tmp_path)
    found = pd.concat(compare(splits))
    found = found[found.dataset == "one"].set_index("unit")
    return {
        unit: (row.shared / row.words, row.nearest) for unit, row in found.iterrows()
    }


@pytest.mark.parametrize("change", [str, rewrapped, with_other_numbers, third])
def test_inserted_overlaps_are_found_and_no_others(tmp_path, change):
    contracts = {f"contract {number}": prose(900, number) for number in range(30)}
    others = {f"other {number}": prose(900, 1000 + number) for number in range(30)}
    for number in range(0, 30, 3):
        others[f"other {number}"] += (
            f"\n{change(contracts[f'contract {number}'])}\n{prose(300, 2000 + number)}"
        )
    found = shares(tmp_path, contracts, others)
    planted = {f"contract {number}": f"other {number}" for number in range(0, 30, 3)}
    size = 1 / 3 if change is third else 1
    assert found.keys() == planted.keys()
    for unit, (share, nearest) in found.items():
        assert size * 0.99 <= share <= size * 1.02
        assert change is third or nearest == planted[unit]


@pytest.mark.parametrize(("words", "named"), [(40, True), (41, False)])
def test_the_nearest_unit_is_named_from_half_of_the_words_on(tmp_path, words, named):
    text, copied = " ".join(VOCABULARY[:words]), " ".join(VOCABULARY[:RUN])
    (share, nearest) = shares(tmp_path, {"unit": text}, {"other": copied})["unit"]
    assert share == 20 / words
    assert (not pd.isna(nearest)) == named


def test_tables_of_numbers_and_short_texts_have_no_overlap(tmp_path):
    table = "\n".join(f"{number} {number * 7} N/A N/A" for number in range(60))
    assert (
        shares(
            tmp_path,
            {"table": table, "short": "Governing law."},
            {"other": table, "clause": "Governing law."},
        )
        == {}
    )


def test_a_run_of_words_does_not_cross_units(tmp_path):
    text = prose(2 * RUN - 2, 1).split()
    halves = {"first": " ".join(text[: RUN - 1]), "second": " ".join(text[RUN - 1 :])}
    assert shares(tmp_path, {"whole": " ".join(text)}, halves) == {}


def test_hashes_do_not_depend_on_the_process_or_on_other_texts():
    assert run_hashes(prose(RUN, 1), WordHashes())[1].tolist() == [9756370658779404362]
    hashes = WordHashes()
    run_hashes(prose(500, 2), hashes)
    assert run_hashes(prose(RUN, 1), hashes)[1].tolist() == [9756370658779404362]


def test_small_chunks_give_the_same_result(tmp_path, monkeypatch):
    units = {f"unit {number}": prose(200, number) for number in range(9)}
    others = {"other": f"{units['unit 3']} {prose(100, 50)}", "copy": units["unit 7"]}
    whole = shares(tmp_path, units, others)
    monkeypatch.setattr("lextables.corpora.overlaps.CHUNK", 150)
    assert (
        shares(tmp_path, units, others)
        == whole
        == {"unit 3": (1, "other"), "unit 7": (1, "copy")}
    )


def test_the_table_includes_pairs_without_overlap_and_totals_over_splits(tmp_path):
    first, second, third_text = (prose(400, number) for number in range(3))
    splits = index("one", [(ALL, "both", f"{first} {second}")], tmp_path)
    splits += index("other", [("train", "t", first), ("test", "s", second)], tmp_path)
    splits += index("none", [(ALL, "n", third_text)], tmp_path)
    table = report.pairs(splits, pd.concat(compare(splits))).set_index(
        ["dataset", "other_dataset", "other_split"]
    )
    assert len(table) == 14
    share = table.share.round(2)
    assert (
        share["one", "other", "train"],
        share["one", "other", "test"],
        share["one", "other", ALL],
    ) == (0.5, 0.5, 1)
    assert (
        table.half["one", "other", ALL]
        == table.near_duplicates["other", "one", ALL].sum() - 1
        == 1
    )
    assert not table.loc["none"].shared.any()


@pytest.mark.parametrize(("share", "near"), [(0.8, 1), (0.79, 0)])
def test_a_near_duplicate_has_80_percent_of_its_runs_in_one_other_unit(
    tmp_path, share, near
):
    splits = index(
        "one", [("train", "a", prose(60, 1)), ("test", "b", prose(60, 1))], tmp_path
    )
    units = pd.concat(compare(splits)).assign(nearest_share=share)
    assert report.pairs(splits, units).near_duplicates.tolist() == [near, near]


def test_texts_are_read_by_unit_and_split(tmp_path):
    rows = [("a", "one "), ("a", "two"), ("b", "x"), ("c", "x")]
    rows = pd.DataFrame(rows, columns=["unit", "text"])
    rows[:3].to_parquet(tmp_path / "texts.parquet")
    rows[3:].to_parquet(tmp_path / "more.parquet")
    of = [("a", "test"), ("a", "train"), ("b", "train")]
    pd.DataFrame(of, columns=["unit", "split"]).to_parquet(tmp_path / "rows.parquet")
    entry = {"tables": ["texts", "more"], "unit": "unit", "text": "text"}
    entry |= dict.fromkeys(("split", "splits"), "")
    assert [*report.read_texts(tmp_path, entry)] == [
        (ALL, "a", "one \ntwo"),
        (ALL, "b", "x"),
    ]
    assert [*report.read_texts(tmp_path, entry | {"splits": "rows"})] == [
        ("test", "a", "one \ntwo"),
        ("train", "a", "one \ntwo"),
        ("train", "b", "x"),
    ]


# Scores without overlap

RUN_FOLDER = "runs/contracteval/quote/m/c/seed0"


@pytest.fixture
def project(tmp_path):
    """Results of a run on three test contracts; only the answer on the one without
    overlap is wrong.
    """
    data, run = tmp_path / "data/contracteval", tmp_path / RUN_FOLDER
    texts = {
        "clean": prose(60, 1),
        "copied": prose(60, 2),
        "twin": prose(60, 2),
        "old": prose(60, 2),
    }
    golds = {"clean?": "deposit", "copied?": "rent", "twin?": "rent"}
    of = {name: "train" if name == "old" else "test" for name in texts}
    tables = {
        data / "contracts": [
            {"contract_id": n, "split": of[n], "text": t} for n, t in texts.items()
        ],
        data / "questions": [
            {"question_id": q, "contract_id": q[:-1], "split": "test"} for q in golds
        ],
        data / "answers": [
            {"question_id": q, "index": 0, "text": text} for q, text in golds.items()
        ],
        run / "predictions": [{"question_id": q, "output": "rent"} for q in golds],
    }
    for path, rows in tables.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_parquet(f"{path}.parquet")
    (run / "run.json").write_text('{"settings": {}}')
    task = {"task": "spans", "evaluator": "containment"}
    predictions = [*read(run / "predictions.parquet")]
    part = without_overlap.PartialRun(data, predictions, "contract_id", set())
    write(SCORES, part.scores(task), run / "scores.parquet")
    return tmp_path


def scores_without(project, task="spans", run=RUN_FOLDER):
    """The scores of a planned row, and the page with them."""
    row = {
        "row": "M",
        "additional": True,
        "reason": "",
        "averages": 1,
        "runs": {"100": [run]},
    }
    row |= dict.fromkeys(("trained", "baseline", "lenient"), False)
    texts = {
        "tables": ["contracts"],
        "unit": "contract_id",
        "text": "text",
        "split": "split",
    }
    texts |= dict.fromkeys(("splits", "without"), "")
    benchmark = {
        "paper": "contracteval",
        "table": "table3",
        "dataset": "contracteval",
        "texts": texts,
    }
    benchmark |= {"task": {"task": task, "evaluator": "containment"}, "rows": [row]}
    benchmark["registry"] = ROOT / "resources/papers/contracteval.yaml"
    benchmark["published"] = project / "published.csv"
    benchmark["published"].write_text(
        "table,row,column,value,decimals,where,kind,repeats\n"
    )
    splits = index(
        "contracteval", report.read_texts(project / "data/contracteval", texts), project
    )
    units = pd.concat(compare(splits))
    found = without_overlap.scores_without(
        without_overlap.Benchmark(**benchmark),
        units,
        {("contracteval", "train")},
        project,
    )
    labels = pd.DataFrame([{"query": "rent?", "label": "Rent"}])
    pairs = report.pairs(splits, units)
    _, page = report.page(pairs, units, pd.DataFrame(found), labels)
    return found, page


def test_scores_without_overlap_exclude_overlapping_units_and_duplicates(project):
    found = {row["score"]: row for row in scores_without(project)[0]}["F1"]
    assert found["all test units"].startswith("0.800 [")
    assert (found["below 10% of overlap"], found["units"]) == ("0.000", "1 of 3")


def test_the_page_says_if_no_unit_remains_or_nothing_can_be_scored(project):
    assert (
        "answers cannot be scored on a part of the units"
        in scores_without(project, task="answers")[1]
    )
    path = project / "data/contracteval/contracts.parquet"
    pd.read_parquet(path).assign(text=prose(60, 2)).to_parquet(path)
    found, page = scores_without(project)
    assert {row["below 10% of overlap"] for row in found} == {"no unit without overlap"}
    assert "no unit without overlap" in page and "nan" not in page.lower()
    assert "<td>rent?</td>" in page


def test_missing_runs_have_no_scores(project):
    found, page = scores_without(project, run="runs/contracteval/quote/other/c/seed0")
    assert found == [] and "without overlap" not in page
    (project / RUN_FOLDER / "scores.parquet").unlink()
    assert scores_without(project)[0] == []
