"""Rows that a plan leaves out: those that the configuration excludes, and those that
are not part of the sample.
"""

import pytest

from helpers.invented_paper import MODELS, OURS, PAPER, laid_out, written
from helpers.registered import context
from lextables import ROOT
from lextables.pipeline.config import load as load_config
from lextables.pipeline.errors import BadInput
from lextables.planning import paper_plan
from lextables.registry import packages
from lextables.tasks.planner import Context


@pytest.fixture
def paper(tmp_path):
    return packages.load(written(tmp_path, PAPER))


def excluded(paper, *names):
    config = load_config({"papers": "acord", "exclude_rows": [*names]}, ["acord"], ROOT)
    return paper_plan.plan(
        paper,
        Context(config, MODELS, ROOT, False),
        paper_plan.excluded("ledgar", paper, config),
    )


def test_excluded_published_rows_do_not_run_and_additional_rows_are_removed(paper):
    every = excluded(paper)
    found = excluded(
        paper, "BM25 / None", "ledgar/MiniLM / None", "acord/MiniLM", "MiniLM"
    )
    (row,) = found.rows["table3"]
    assert (row["row"], row["runs"], row["reason"]) == (
        "BM25 / None",
        {},
        "excluded in the configuration",
    )
    assert [row["row"] for row in found.rows["table4"]] == ["BM25 / None"]
    assert {run.data_set for run in every.specs} == {"ledgar", "clauses"}
    # The additional row next to the published row has another name and keeps its runs.
    assert [row["row"] for row in found.rows["table2"] if row["runs"]] == [OURS]
    assert {run.data_set for run in found.specs} == {"ledgar"}
    assert (
        found.names == every.names >= {"BM25 / None", "MiniLM / None", "MiniLM", OURS}
    )


def test_the_run_of_an_excluded_row_is_kept_if_another_row_needs_it(paper):
    entry = paper.tasks["clauses"].model_dump()
    entry["retrievers"]["both"] = {
        "row": "Both",
        "kind": "fusion",
        "of": ["bm25", "minilm"],
        "additional": True,
    }
    task = type(paper.tasks["clauses"]).model_validate(entry)
    fused = paper.model_copy(update={"tasks": paper.tasks | {"clauses": task}})
    found = {
        run.model
        for run in excluded(fused, "BM25 / None", "MiniLM / None").specs
        if run.data_set == "clauses"
    }
    assert found == {"bm25", "minilm", "both"}
    assert not [
        run for run in excluded(fused, "Both / None").specs if run.model == "both"
    ]


def test_the_sample_leaves_out_rows_that_the_registry_names(paper):
    left_out = {"rows": ["BM25 / None", OURS], "tables": ["table3"]}
    entry = type(paper).model_validate(paper.model_dump() | {"not_in_sample": left_out})

    def planned(**values):
        config = load_config({"papers": "acord"} | values, ["acord"], ROOT)
        reasons = paper_plan.excluded("ledgar", entry, config)
        plan = paper_plan.plan(entry, Context(config, MODELS, ROOT, False), reasons)
        (row,) = plan.rows["table3"]
        return row["row"], bool(row["runs"]), row["reason"], plan

    *row, plan = planned()
    assert row == ["BM25 / None", False, "not part of the sample"]
    assert "bm25" not in {run.model for run in plan.specs}
    assert [row["row"] for row in plan.rows["table2"]] == ["MiniLM"]
    *row, _ = planned(data="release", models="available", grid="sample")
    assert row == ["BM25 / None", True, ""]


@pytest.mark.parametrize(
    ("left_out", "fault"),
    [
        ({"tables": ["table9"]}, "'table9', which is not a table of the paper"),
        ({"data": ["ledgar"]}, "'ledgar', which is not an auxiliary data set"),
        ({"runs": ["BM25"]}, "runs"),
    ],
)
def test_what_the_sample_leaves_out_must_exist(tmp_path, left_out, fault):
    path = written(tmp_path, PAPER | {"not_in_sample": left_out})
    with pytest.raises(BadInput, match=fault):
        packages.load(path)


@pytest.mark.parametrize("name", ["acord", "cuad", "lawngnli", "maud", "privacy"])
def test_every_row_that_the_sample_leaves_out_exists(name):
    paper = packages.load(ROOT / f"resources/papers/{name}.yaml")
    plan = paper_plan.plan(paper, context(name))
    assert paper.not_in_sample.rows
    assert plan.names >= {*paper.not_in_sample.rows}


def test_a_pattern_excludes_all_rows_that_it_matches(paper):
    found = excluded(paper, "ledgar/BM25*", "MiniLM / *")
    assert found.rows["table3"][0]["reason"] == "excluded in the configuration"
    nothing = excluded(paper, "*")
    assert nothing.specs == {}
    assert all(not row["runs"] for rows in nothing.rows.values() for row in rows)
    paper_plan.check_excluded(["ledgar/*"], {"ledgar": laid_out(paper)}, {"ledgar"})


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("GPT*", "take the name from the table."),
        ("bm25 / none", "did you mean 'BM25 / None' or "),
        ("ledgar/BM 25 / None", "did you mean 'ledgar/BM25 / None' or "),
        ("acord/BM25 / None", "did you mean 'BM25 / None' or 'ledgar/BM25 / None'."),
        ("GPT-9000 (ultra)", "take the name from the table."),
    ],
)
def test_the_error_for_an_unknown_excluded_row_suggests_similar_names(
    paper, name, near
):
    with pytest.raises(BadInput) as error:
        paper_plan.check_excluded([name], {"ledgar": laid_out(paper)}, {"ledgar"})
    assert f"config: exclude_rows = {name!r} is no row of ledgar; {near}" in str(
        error.value
    )


def test_excluded_rows_of_an_unplanned_paper_are_not_checked(paper):
    names = ["acord/anything", "BM25 / None", "ledgar/MiniLM"]
    paper_plan.check_excluded(names, {"ledgar": laid_out(paper)}, {"ledgar", "acord"})
