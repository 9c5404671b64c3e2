"""Exports of real data, read with other tools and compared with the releases and the
pipeline's scores.
"""

import json
import zipfile

import ir_measures
import mlcroissant
import pytest
from datasets import load_dataset
from ir_measures import nDCG

from lextables import ROOT
from lextables.pipeline.dataset import read
from lextables.publish.export import About, Origin, PublishedRun, gather
from lextables.publish.folder import write
from lextables.registry import packages
from lextables.sources import entries

RUN = "runs/acord/retrieve/bm25/short/seed0"


@pytest.fixture(scope="module")
def exports(release_results, tmp_path_factory):
    """Folder with the exports of ACORD, including its BM25 run, and of CUAD."""
    folder = tmp_path_factory.mktemp("exports")
    sources = entries.load(ROOT / "resources/sources.yaml")
    for paper in ("acord", "cuad"):
        registered = packages.load(ROOT / f"resources/papers/{paper}.yaml")
        entry = registered.model_dump(mode="json")
        about = About.model_validate({key: entry[key] for key in About.model_fields})
        runs = []
        if paper == "acord":
            runs.append(PublishedRun(release_results / RUN, ["BM25 / None"]))
        census = [release_results / f"data/{paper}/census.json"]
        words = entries.registry_texts(sources, [paper])
        origin = Origin(made_by="tests", command="none")
        export = gather(paper, about, census, runs, words, origin=origin)
        write(export, folder / paper)
    return folder


def test_ir_measures_computes_the_same_bm25_scores(exports, release_results):
    rows = read(release_results / RUN / "scores.parquet")
    scores = {(row["metric"], row["group"]): row["value"] for row in rows}
    qrels = [*ir_measures.read_trec_qrels(str(exports / "acord/trec/qrels.test.txt"))]
    file = exports / "acord/trec/retrieve.bm25.short.seed0.run"
    run = [*ir_measures.read_trec_run(str(file))]
    for cutoff in (5, 10):
        measure = nDCG @ cutoff
        value = ir_measures.calc_aggregate([measure], qrels, run)[measure]
        assert value == pytest.approx(scores[f"NDCG@{cutoff}", "all"], abs=1e-12)
    assert len({line.query_id for line in qrels}) == 57


def test_datasets_and_mlcroissant_load_all_rows(exports, tmp_path):
    counts = {"judgements": 126_659, "clauses": 3_931, "queries": 114}
    for name, rows in counts.items():
        loaded = load_dataset(
            str(exports / "acord"), name, split="full", cache_dir=str(tmp_path)
        )
        assert loaded.num_rows == rows
    data = mlcroissant.Dataset(exports / "acord/croissant.json")
    assert not data.metadata.ctx.issues.errors
    assert sum(1 for _ in data.records("queries")) == 114


def test_squad_files_equal_the_release_except_for_the_order(exports, mirror):
    def in_order(content):
        """{question: its text, wording and sorted answers}."""
        questions = {}
        for document in json.loads(content)["data"]:
            for paragraph in document["paragraphs"]:
                for question in paragraph["qas"]:
                    answers = []
                    for answer in question["answers"]:
                        answers.append((answer["answer_start"], answer["text"]))
                    asked = (paragraph["context"], question["question"])
                    questions[question["id"]] = (*asked, sorted(answers))
        return questions

    with zipfile.ZipFile(mirror / "cuad/data.zip") as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("test.json")]
        theirs = in_order(archive.read(name))
    assert len(theirs) == 4182
    assert in_order((exports / "cuad/squad/test.json").read_bytes()) == theirs
