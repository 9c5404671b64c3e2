"""Common code of planners: rows, the tables that show them, and names of differences
from the paper.
"""

import pytest

from lextables import ROOT
from lextables.models.resolve import load_models
from lextables.pipeline.config import load as load_config
from lextables.pipeline.run import Run
from lextables.tasks.planner import (
    Context,
    Difference,
    Plan,
    Planner,
    Row,
    fewer_seeds,
    rate_name,
    shown,
)

MODELS = load_models(ROOT / "resources/models.yaml")


class OneRow(Planner):
    STAGES = ("read",)

    def rows(self):
        return []


def planner(**values):
    return OneRow(
        "maud",
        None,
        Context(
            load_config({"papers": "maud"} | values, ["maud"], ROOT),
            MODELS,
            ROOT,
            False,
        ),
    )


def runs(*seeds):
    return tuple(Run("maud", "read", "minilm", "paper", seed) for seed in seeds)


ROWS = [
    Row("BERT", reason="gated", about={"setting": "single"}),
    Row(
        "RoBERTa",
        runs={"5": runs(1), "100": runs(0, 1)},
        trained=True,
        averages=3,
        about={"setting": "single"},
    ),
    Row("MiniLM", additional=True, runs={"100": runs(2)}, about={"setting": "multi"}),
]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ([{}], ["BERT", "RoBERTa", "MiniLM"]),
        ([], []),
        ([{"setting": "single"}], ["BERT", "RoBERTa"]),
        ([{"setting": "single", "additional": True}], []),
        # All fields of a mapping must match; one of several mappings is enough.
        ([{"additional": True}, {"row": "BERT"}], ["BERT", "MiniLM"]),
        ([{"row": ["MiniLM", "RoBERTa"]}], ["RoBERTa", "MiniLM"]),
        ([{"row": ("BERT",), "setting": ["multi"]}], []),
        ([{"retriever": "BM25"}], []),
    ],
)
def test_a_row_is_shown_if_all_fields_of_one_mapping_match(where, found):
    assert [row["row"] for row in shown(ROWS, where, ())] == found


def test_a_table_shows_only_runs_of_its_conditions():
    conditions = {}
    for wanted in ((), ("100",), ("5",), ("5", "100")):
        rows = shown(ROWS, [{}], wanted)
        conditions[wanted] = [sorted(row["runs"]) for row in rows]
    assert conditions == {
        (): [[], ["100", "5"], ["100"]],
        ("100",): [[], ["100"], ["100"]],
        ("5",): [[], ["5"], []],
        ("5", "100"): [[], ["100", "5"], ["100"]],
    }


def test_each_run_of_a_table_is_listed_once():
    plan = Plan({}, {"table3": shown(ROWS, [{}], ())})
    assert plan.folders("table3") == [
        f"runs/maud/read/minilm/paper/seed{seed}" for seed in (0, 1, 2)
    ]
    assert plan.folders("table1") == []


DIFFERENCES = [Difference("grid=paper", "small budget: 40 updates"), *fewer_seeds(1, 3)]


def test_a_row_with_other_settings_than_the_paper_appears_twice():
    empty, ours = planner().rows_by_settings(ROWS[1], DIFFERENCES)
    assert (empty.row, empty.additional, empty.runs) == ("RoBERTa", False, {})
    assert empty.reason == "needs grid=paper and three seeds, as in the paper"
    assert (ours.row, ours.additional) == (
        "RoBERTa, small budget: 40 updates, one seed",
        True,
    )
    assert (ours.runs, ours.averages, ours.about) == (
        ROWS[1].runs,
        3,
        {"setting": "single"},
    )


@pytest.mark.parametrize(
    ("row", "differences"),
    [(ROWS[1], []), (ROWS[2], DIFFERENCES), (ROWS[0], DIFFERENCES)],
    ids=["as the paper's", "ours anyway", "not run"],
)
def test_other_rows_are_unchanged(row, differences):
    assert planner().rows_by_settings(row, differences) == [row]


@pytest.mark.parametrize(
    ("seeds", "averages", "found"),
    [
        (3, 3, []),
        (4, 3, []),
        (2, 3, [Difference("three seeds", "two seeds")]),
        (1, 7, [Difference("7 seeds", "one seed")]),
        (4, 5, [Difference("5 seeds", "four seeds")]),
    ],
)
def test_fewer_seeds_than_the_paper_averages_are_a_difference(seeds, averages, found):
    assert fewer_seeds(seeds, averages) == found


def test_each_learning_rate_has_a_unique_name():
    names = {
        1e-4: "lr1e-04",
        5.0e-6: "lr5e-06",
        1.5e-5: "lr1.5e-05",
        2e-5: "lr2e-05",
        0.25: "lr2.5e-01",
    }
    assert {rate: rate_name(rate) for rate in names} == names


def test_parameters_of_several_models_are_summed_if_all_are_known():
    context = planner().context
    # On the sample data, a tiny model replaces the model.
    known = MODELS["sample-encoder"].parameters
    assert context.parameters("all-minilm-l6-v2", "all-minilm-l6-v2") == 2 * known
    assert (
        context.parameters(),
        context.parameters("all-minilm-l6-v2", "own-mine"),
    ) == (0, None)
