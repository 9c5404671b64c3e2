"""Inputs and params of the rules of tables, the report, exports and overlaps."""

import pytest
from snakemake.iocontainers import Wildcards

from helpers import planned_project
from lextables import ROOT
from lextables.planning.overlaps import Overlaps
from lextables.planning.publish import Exports
from lextables.planning.report import (
    BY_HAND,
    DOWNLOADED,
    MORE_THAN_SAMPLE,
    Report,
    identity,
)
from lextables.planning.tables import Tables, run_folders
from lextables.tables.published import NOT_PUBLISHED

DATA = "results/sample/data"
PAPERS = ("acord", "contracteval", "cuad", "lawngnli", "maud", "privacy")


@pytest.fixture
def planned(monkeypatch, tmp_path):
    """Plans with a configuration; the working folder is new."""

    def plan(*papers, **config):
        return planned_project.load(monkeypatch, tmp_path, papers=papers, **config)

    return plan


def wildcards(**names):
    return Wildcards(fromdict=names)


def test_a_table_reads_its_data_set_and_the_runs_that_it_shows(planned):
    tables = Tables(planned("cuad", "maud"))
    table = wildcards(paper="maud", table="table3")
    assert tables.census(table) == f"{DATA}/maud/census.json"
    scores = tables.of_runs("scores.parquet")(table)
    assert scores == [
        f"results/sample/{folder}/scores.parquet"
        for folder in run_folders(tables.rows(table))
    ]
    assert scores and tables.names("figure") >= {"figure2"}
    assert not tables.names("table") & tables.names("figure")
    assert len(tables.files_of("maud", "figure2")) == 5
    assert {*tables.files_of("maud", "figure2")} < {*tables.files("maud")}


def test_the_report_on_the_sample_leaves_out_tables_that_the_registry_names(planned):
    tables = Tables(planned("maud"))
    (left_out, *_) = tables.project.papers["maud"].not_in_sample.tables
    files = {*tables.files_of("maud", left_out)}
    assert files and not files & {*tables.in_report("maud")}
    assert files < {*tables.files("maud")}
    config = tables.project.context.config.model_copy(update={"grid": "paper"})
    object.__setattr__(tables.project.context, "config", config)
    assert tables.in_report("maud") == tables.files("maud")


def test_a_table_names_data_sets_that_are_not_available(planned):
    project = planned("lawngnli")
    tables = Tables(project)
    name, entry = next(
        (name, entry)
        for name, entry in project.papers["lawngnli"].tables.items()
        if entry.beside
    )
    table = wildcards(paper="lawngnli", table=name)
    censuses = [f"{DATA}/{other}/census.json" for other in entry.beside]
    object.__setattr__(project.context, "absent", {})
    assert (tables.other_censuses(table), tables.absent(table)) == (censuses, {})
    object.__setattr__(project.context, "absent", {entry.beside[0]: "no file"})
    assert tables.other_censuses(table) == censuses[1:]
    assert tables.absent(table) == {entry.beside[0]: "no file"}


def test_a_changed_file_of_the_user_changes_the_content_of_its_table(planned, tmp_path):
    ranks = tmp_path / "ranks.csv"
    ranks.write_text("site,rank\n")
    project = planned("privacy", traffic_ranks=str(ranks))
    tables = Tables(project)
    entries = project.papers["privacy"].tables.items()
    shown = {name: wildcards(paper="privacy", table=name) for name, _ in entries}
    of_file = [name for name, entry in entries if entry.file == "traffic_ranks"]
    before = {name: tables.content(table) for name, table in shown.items()}
    assert of_file and tables.user_file(shown[of_file[0]]) == [str(ranks)]
    ranks.write_text("site,rank\na.example,1\n")
    after = {name: tables.content(table) for name, table in shown.items()}
    assert [name for name in shown if before[name] != after[name]] == of_file


def test_the_texts_of_sources_are_those_of_the_paper_and_of_no_paper(planned):
    texts = Tables(planned("acord")).source_texts
    assert "acord" in texts["acord"] and "cuad" not in texts["acord"]
    assert "cuad" in texts["cuad"]


def test_the_report_has_all_files_of_the_papers(planned):
    project = planned("acord", "maud")
    inputs = Report(project, Tables(project)).inputs
    censuses = [f"{DATA}/acord/census.json", f"{DATA}/maud/census.json"]
    assert inputs["census"] == censuses
    assert f"{DATA}/maud_extraction/census.json" in inputs["data"]
    assert not {*inputs["data"]} & {*censuses}
    assert len(inputs["runs"]) == len(project.specs)


def test_runs_have_the_training_data_of_their_models_and_baselines_are_known(planned):
    project = planned("acord")
    report = Report(project, Tables(project))
    rows = [row for rows in project.plans["acord"].rows.values() for row in rows]
    bm25 = next(row for row in rows if row["baseline"])
    assert {*run_folders([bm25])} <= {*report.baselines} <= {*report.own_rows}
    assert {*report.trained_on} <= {*run_folders(rows)}
    assert any(report.trained_on.values())


@pytest.mark.parametrize("field", ["lenient", "seen"])
def test_lenient_rows_and_those_that_saw_test_texts_are_no_own_rows(field, planned):
    project = planned("acord")
    folders = Report(project, Tables(project)).own_rows
    rows = [row for rows in project.plans["acord"].rows.values() for row in rows]
    for row in rows:
        if folders[0] in run_folders([row]):
            row[field] = "cuad, which contains this test split"
    report = Report(project, Tables(project))
    assert {*folders} - {*report.own_rows} >= {folders[0]}


def test_reasons_have_the_first_requirement_with_which_their_rows_are_planned(planned):
    project = planned("acord", data="release", models="available")
    report = Report(project, Tables(project))
    names = [offer.name for offer in report.offers]
    assert names[0] == "other settings alone" and len(names) == len({*names}) + 2
    needs = report.needs["acord"]
    encoder = "cross-encoder/ms-marco-MiniLM-L6-v2 is not available here"
    api = "text-embedding-3-small needs a paid API, and config key llm is empty"
    assert needs["table_d1"][encoder] == "the model hub"
    assert needs["figure2"][encoder] == "a GPU and the model hub"
    assert needs["table3"][api] == "an API key"
    (prompt,) = [reason for reason in needs["table3"] if "its prompt" in reason]
    assert needs["table3"][prompt] == NOT_PUBLISHED
    assert len(needs["table3"]) == 4


def test_a_model_that_saw_the_test_texts_has_the_same_requirement_as_others(planned):
    """LEGAL-BERT was trained on case law, which only its planned row says."""
    project = planned("maud", data="release", models="available")
    needs = Report(project, Tables(project)).needs["maud"]
    assert {*needs["table3"].values()} == {"a GPU and the model hub"}
    assert any("nlpaueb/legal-bert" in reason for reason in needs["table3"])


def test_rows_that_the_sample_leaves_out_are_no_part_of_it(planned):
    """Only what has no published prompt, annotation or contract can never be run."""
    project = planned("acord", "cuad", "lawngnli", "maud")
    needs = Report(project, Tables(project)).needs
    assert {*needs["maud"]["table3"].values()} == {MORE_THAN_SAMPLE}
    assert needs["acord"]["table3"]["sample data"] == MORE_THAN_SAMPLE
    never = {}
    for tables in needs.values():
        for of_reason in tables.values():
            for reason, need in of_reason.items():
                never[reason] = need == NOT_PUBLISHED
    assert not never["sample data"] and not never["not part of the sample"]
    assert any(never.values())


def test_the_system_of_a_run_has_its_printed_name(planned):
    project = planned("acord", data="release", models="available")
    systems = Report(project, Tables(project)).systems
    assert systems["runs/acord/retrieve/bm25/long/seed0"] == "BM25"
    assert not [name for name in systems.values() if "None" in name]
    additional = [run for run in project.specs if "linear" in run.model]
    assert additional and not systems.keys() & {run.folder for run in additional}


def test_files_by_hand_and_annotations_that_were_not_published_are_told_apart(planned):
    project = planned("lawngnli", "contracteval", data="release", models="available")
    report = Report(project, Tables(project))
    needs = report.needs["lawngnli"]
    # Nobody has the annotations of the paper's workers, whatever models they have.
    assert needs["table4"] == needs["table16"] == {"": NOT_PUBLISHED}
    of_file = {}
    for reason, need in needs["table2"].items():
        of_file[reason.partition("/")[0].rpartition(" ")[2]] = need
    assert of_file == {
        "contract_nli": DOWNLOADED,
        "snli": DOWNLOADED,
        "control": DOWNLOADED,
        "docnli": BY_HAND,
    }
    (docnli,) = [reason for reason in needs["table6"] if reason.startswith("docnli/")]
    assert needs["table6"][docnli] == BY_HAND
    gated = "google/gemma-3-4b-it is a gated model and is not available here"
    assert report.needs["contracteval"]["table3"][gated] == BY_HAND


def test_rows_are_distinguished_by_more_than_their_name(planned):
    rows = planned("acord").plans["acord"].rows["table3"]
    assert len({identity(row) for row in rows}) == len(rows)
    changed = {**rows[0], "reason": "other", "runs": {}}
    assert identity(changed) == identity(rows[0])


def test_exports_have_the_runs_and_weights_of_their_data_sets(planned):
    project = planned("maud", "lawngnli")
    exports = Exports(project, Tables(project))
    apart = {"lawngnli_parentheticals"}
    assert exports.of_name.keys() == {"maud", "lawngnli", *apart}
    assert exports.of_name["maud"].data_sets == ("maud", "maud_extraction")
    assert not apart & {*exports.of_name["lawngnli"].data_sets}
    maud = wildcards(export="maud")
    folders = [f"results/sample/{folder}" for folder in exports.rows(maud)]
    assert exports.of_runs("scores.parquet")(maud) == [
        f"{folder}/scores.parquet" for folder in folders
    ]
    weights = exports.weights(maud)
    assert weights and all("/train/" in path for path in weights)
    assert not [path for path in weights if "/linear" in path]
    about = exports.about(maud)
    assert about["tasks"].keys() == {"maud", "maud_extraction"}
    assert about["tasks"]["maud"]["prompt"]
    assert "papers='[maud]'" in exports.command(maud)


def test_submitted_predictions_are_not_exported(planned, tmp_path):
    (tmp_path / "run.txt").write_text("1 Q0 2 1 3.0 x\n")
    extra = {"name": "Mine", "paper": "acord", "file": "run.txt"}
    project = planned("acord", extra_predictions=[extra])
    rows = project.plans["acord"].rows["table3"]
    submitted = run_folders([row for row in rows if row["submitted"]])
    exported = Exports(project, Tables(project)).rows(wildcards(export="acord"))
    assert submitted and not {*submitted} & {*exported}


def test_overlaps_compare_the_texts_of_all_available_data_sets(planned):
    overlaps = Overlaps(planned("acord", "maud", edgar_quarters=["2020-QTR1"]))
    assert {"acord", "maud", "maud_extraction", "edgar"} == overlaps.texts.keys()
    assert f"{DATA}/edgar/2020-QTR1.parquet" in overlaps.files
    assert {*overlaps.texts["maud"]} >= {"unit", "text", "tables"}
    benchmarks = [(each["paper"], each["table"]) for each in overlaps.benchmarks]
    assert ("acord", "table_d3") in benchmarks
    assert overlaps.relevance == []
    other = Overlaps(planned("acord", exclude_rows=["BM25 / None"]))
    assert overlaps.scores_digest() != other.scores_digest()


def test_relevance_is_compared_with_the_labels_of_the_data_set_with_its_texts(planned):
    overlaps = Overlaps(planned("acord", "cuad"))
    pairs = [(pair["dataset"], pair["labels"]) for pair in overlaps.relevance]
    assert pairs == [("acord", "cuad")]
    for table in ("acord/judgements", "cuad/questions", "cuad/answers"):
        assert f"{DATA}/{table}.parquet" in overlaps.files


def test_the_code_of_tables_and_overlaps_includes_the_papers_entries(planned):
    """A module that a paper package lacks is left out without an error."""
    project = planned(*PAPERS)
    tables = Tables(project)
    of_tables = set()
    for paper in PAPERS:
        of_tables.update(tables.modules(wildcards(paper=paper, table="")))
    packages = ROOT / "workflow/lextables/papers"
    for name in ("entry", "tables"):
        papers = {path.parent.name for path in packages.glob(f"*/{name}.py")}
        modules = {f"lextables.papers.{paper}.{name}" for paper in papers}
        assert len(modules) >= 5 and modules <= of_tables
        assert modules <= {*Overlaps(project).modules}
