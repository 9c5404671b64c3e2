"""Functions of the rules of data sets and of the review of a contract."""

from dataclasses import replace
from functools import partial

import pytest
from snakemake.iocontainers import Wildcards

from helpers import planned_project
from lextables.pipeline.errors import BadInput
from lextables.planning.data_sets import data_jobs
from lextables.planning.jobs import Jobs
from lextables.planning.review import ReviewJobs


@pytest.fixture
def load_project(tmp_path, monkeypatch):
    """Return a function that loads the project with a configuration, in a new working
    folder.
    """
    return partial(planned_project.load, monkeypatch, tmp_path)


def test_each_data_set_has_a_job_with_its_files_and_its_census(load_project):
    project = load_project(papers=["maud", "acord"])
    jobs = {job.name: job for job in data_jobs(project, [])}
    assert list(jobs) == ["acord", "maud", "maud_extraction"]
    job = jobs["maud_extraction"]
    assert job.published_files[0] == (
        "results/sample/sources/maud_extraction/maud_squad_train.json"
    )
    assert job.tables == ["contracts", "questions", "answers", "training_examples"]
    assert job.modules == ["lextables.papers.maud.raw", "lextables.papers.maud.schema"]
    params = job.params
    assert params["files"] == {"extraction": 3, "release": 1}
    assert params["given"].keys() == {"printed_types", "legalbench_queries"}
    assert params["package"] == "papers.maud"
    assert params["census"].keys() == {"sample", "legalbench_rag"}


def test_an_auxiliary_data_set_that_is_absent_has_no_job(load_project):
    project = load_project(papers=["lawngnli"], grid="paper")
    names = [job.name for job in data_jobs(project, [])]
    assert names
    absent = {**project.absent, names[0]: "no mirror has it"}
    context = replace(project.context, absent=absent)
    jobs = data_jobs(replace(project, context=context), [])
    assert [job.name for job in jobs] == names[1:]


def test_a_review_is_named_after_the_contract_and_reads_the_planned_model(
    load_project, tmp_path
):
    contract = tmp_path / "lease #4.txt"
    contract.write_text("This Lease is made by the parties.", encoding="utf-8")
    project = load_project(papers=["cuad"], contract=str(contract))
    jobs = ReviewJobs(Jobs(project), project.review)
    assert jobs.name.startswith("lease _4.txt-")
    wildcards = Wildcards(fromdict={"contract": jobs.name})
    assert jobs.page(wildcards) == f"results/sample/review/{jobs.name}.html"
    folder = jobs.reviewer_folder(wildcards)
    assert folder == "results/sample/runs/cuad/read/linear-exact/linear/seed0"
    assert jobs.marks(wildcards) == f"{folder}/marks.parquet"
    assert f"{folder}/run.json" in jobs.reviewer_files(wildcards)
    assert jobs.weights(wildcards) == f"{folder.replace('read', 'train', 1)}/weights"
    run = {"dataset": "cuad", "experiment": "read", "model": "linear-exact"}
    planned = Wildcards(fromdict=run | {"condition": "linear", "seed": "0"})
    assert jobs.predictions(planned) == [f"{folder}/predictions.parquet"]
    unknown = Wildcards(fromdict=run | {"condition": "another", "seed": "0"})
    assert jobs.predictions(unknown) == []
    with pytest.raises(BadInput, match="another-1 is not the review of"):
        jobs.reviewer_files(Wildcards(fromdict={"contract": "another-1"}))


def test_a_review_needs_a_contract(load_project):
    project = load_project(papers=["cuad"])
    jobs = ReviewJobs(Jobs(project), project.review)
    with pytest.raises(BadInput, match="contract is empty"):
        jobs.page(Wildcards())


def test_a_published_row_that_is_trained_has_three_seeds(load_project, tmp_path):
    mirror = tmp_path / "mirror/docnli"
    mirror.mkdir(parents=True)
    (mirror / "DocNLI_dataset.zip").touch()
    project = load_project(
        papers=["acord", "cuad", "maud", "lawngnli", "contracteval", "privacy"],
        data="release",
        models="paper",
        grid="paper",
        device="cuda",
        released_checkpoints=False,
        mirror=str(mirror.parent),
    )
    trained = {}
    for paper, plan in project.plans.items():
        for table, rows in plan.rows.items():
            for row in rows:
                if row["additional"] or not row["trained"]:
                    continue
                trained.setdefault(paper, set()).add(row["row"])
                for condition, runs in row["runs"].items():
                    named = (paper, table, row["row"], condition)
                    assert len(set(runs)) >= 3, named
    # The other papers' published rows of trained models are their own weights, or
    # cannot be run.
    assert set(trained) == {"acord", "cuad", "maud", "lawngnli"}
    assert (
        "all-distilroberta-v1 / albert-xxlarge-v2_anli-LawngNLI-retrieval"
        in (trained["lawngnli"])
    )
