"""Inputs of tables other than scores: the provenance of data sets, and the records of
runs.
"""

import json

import pytest

from lextables.metrics import HIGH, LOW
from lextables.pipeline.dataset import write
from lextables.pipeline.run import SCORES
from lextables.tables.cells import Cell, build
from lextables.tables.inputs import (
    Inputs,
    by_training_data,
    comparable,
    in_words,
    provenance,
    training,
    with_notes,
)
from lextables.tables.published import PublishedCell

SOURCE = {
    "source": "snli",
    "file": "snli_1.0.zip",
    "variant": "release",
    "comparable": True,
    "note": "",
}


@pytest.fixture
def census(tmp_path):
    path = tmp_path / "census.json"
    path.write_text(
        json.dumps(
            {"sources": [SOURCE, SOURCE | {"variant": "cut", "note": "half of it"}]}
        )
    )
    return path


def test_provenance_uses_the_current_notes_of_the_registry(census):
    words = {
        "snli/snli_1.0.zip": {"cut": {"comparable": False, "note": "a third of it"}}
    }
    found = provenance(census, words)
    assert [(one["variant"], one["comparable"], one["note"]) for one in found] == [
        ("release", True, ""),
        ("cut", False, "a third of it"),
    ]
    assert not comparable(found)
    assert comparable(found[:1])
    assert comparable(provenance(census, {}))


def test_values_of_models_that_learnt_from_other_data_are_not_comparable():
    rows = [
        {
            "additional": False,
            "training_data": ["anli", "docnli"],
            "runs": {"1": ["a"]},
        },
        {"additional": False, "training_data": ["docnli"], "runs": {"1": ["b"]}},
        {"additional": True, "training_data": ["anli"], "runs": {"1": ["c"]}},
    ]
    cells = [Cell("r", run, 1.0, runs=(run,), reason="cut") for run in "abc"]
    # Computed from all models.
    cells.append(Cell("r", "all", 1.0, runs=("b", "a")))
    comparable_data = {"anli": False, "docnli": True}
    found = list(by_training_data(cells, rows, comparable_data))
    reason = "its models were trained on anli, not comparable with the paper"
    assert [(cell.comparable, cell.reason) for cell in found] == [
        (False, f"cut; {reason}"),
        (None, "cut"),
        (None, "cut"),
        (False, reason),
    ]


COUNTED = {
    "requests": 5700,
    "unparseable": 3,
    "ties": 12,
    "disagreements": 40,
    "cut": 0,
    "first_listed": 0.612,
    "first_listed_by_chance": 0.5,
    "outside": 0.031,
}
WORDS = (
    "asked in 5,700 requests, 3 unparseable, 12 ties, 40 with different answers in the two orders, "
    "0 with a text cut to the context length, the first option won in 61.2 % (by chance 50.0 %), "
    "3.1 % of the probability not on any answer"
)
ASKED, READ = (
    "runs/p/ask/bm25+llm/short-pairwise/seed0",
    "runs/p/retrieve/bm25/short/seed0",
)


@pytest.fixture
def root(tmp_path):
    for run, record in ((ASKED, {"asked": COUNTED}), (READ, {})):
        (tmp_path / run).mkdir(parents=True)
        (tmp_path / run / "run.json").write_text(json.dumps(record))
    return tmp_path


def test_counts_are_written_in_words():
    assert in_words(COUNTED) == WORDS
    assert in_words(
        {"requests": 2, "unparseable": 0, "first_listed": None, "outside": None}
    ) == ("asked in 2 requests, 0 unparseable")


def test_each_score_of_a_language_model_has_the_counts_as_reason(root):
    cells = [
        Cell("LLM", "NDCG", 0.5, runs=(ASKED,), reason="strict"),
        Cell("LLM", "precision", 0.4, runs=(ASKED,)),
        Cell("of a category", "LLM", 0.4, runs=(ASKED,)),
        Cell("BM25", "NDCG", 0.3, runs=(READ,)),
        Cell("both", "NDCG", 0.3, runs=(READ, ASKED)),
        Cell("none", "NDCG", None, reason="not here"),
    ]
    found = [cell.reason for cell in with_notes(cells, root)]
    assert found == [f"strict; {WORDS}", WORDS, WORDS, "", "", "not here"]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"deviations": ["another model answered"]}, "another model answered"),
        (
            {"asked": {"requests": 5, "not_asked": 3}},
            "asked in 5 requests, 3 questions not asked",
        ),
    ],
)
def test_a_run_that_deviates_from_the_settings_gets_no_verdict(root, record, reason):
    """Not even if its value is the published one, or with a run that does not."""
    (root / ASKED / "run.json").write_text(json.dumps(record))
    cells = [
        Cell("LLM", "NDCG", 0.5, runs=(ASKED,)),
        Cell("both", "NDCG", 0.5, runs=(READ, ASKED)),
        Cell("BM25", "NDCG", 0.5, runs=(READ,)),
    ]
    printed = []
    for cell in cells:
        printed.append(PublishedCell("t", cell.row, cell.column, "0.5", 1, ""))
    lines = build(printed, with_notes(cells, root), True)
    assert [(line.reproduced, line.verdict, line.reason) for line in lines] == [
        ("0.5", "", reason),
        ("0.5", "", reason),
        ("0.5", "match", ""),
    ]


def test_the_training_record_of_a_run_is_that_of_its_weights():
    trained = {"device": "a GPU", "seconds": 3600.0}
    assert (
        training({"device": "a CPU", "trained": trained})
        == trained
        == training(trained)
    )
    assert training({"device": "a CPU", "trained": [trained, {}]}) == trained


def test_a_note_on_an_own_setting_is_a_reason_of_each_cell(tmp_path):
    runs = tuple(f"runs/p/retrieve-tuned/mine/short/seed{seed}" for seed in (0, 1))
    for run in runs:
        (tmp_path / run).mkdir(parents=True)
        (tmp_path / run / "run.json").write_text(
            json.dumps({"notes": ["cut at 64 tokens"]})
        )
    cells = [
        Cell("Mine", name, 0.5, runs=runs, reason="here") for name in ("NDCG", "MRR")
    ]
    assert [cell.reason for cell in with_notes(cells, tmp_path)] == [
        "here; cut at 64 tokens"
    ] * 2


def test_a_score_is_the_mean_over_seeds_with_the_mean_ends_of_its_interval(tmp_path):
    """With three unequal seeds, the median is another number."""
    runs = [f"runs/seed{seed}" for seed in range(3)]
    for run, value in zip(runs, (0.1, 0.2, 0.6), strict=True):
        scores = []
        for metric, shift in (("F1", 0), (f"F1{HIGH}", 0.3), (f"F1{LOW}", -0.1)):
            score = {"metric": metric, "group": "all", "value": value + shift, "n": 5}
            scores.append(score)
        (tmp_path / run).mkdir(parents=True)
        write(SCORES, scores, tmp_path / run / "scores.parquet")
    inputs = Inputs(tmp_path, tmp_path, [{"runs": {"all": runs}}], [], None)
    assert inputs.mean(runs, "F1") == pytest.approx(30)
    assert inputs.interval(runs, "F1") == pytest.approx((20, 60))
    assert inputs.mean(runs, "F1", scale=1) == pytest.approx(0.3)
    assert inputs.mean(runs, "F2") is None
    assert inputs.interval(runs, "F2") == (None, None)
