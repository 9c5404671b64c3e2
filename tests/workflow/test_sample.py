"""The whole pipeline on the embedded sample, run from the command line in a separate
folder.
"""

import csv
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from importlib.metadata import version

import pyarrow.parquet as pq
import pytest
import yaml

import lextables
from helpers import forked, project_copy, site_browser, site_pages, snapshot
from helpers.published_rows import harness
from lextables import ROOT
from lextables.pipeline.content import folder_content

snakemake = forked.pipeline
SITE = "results/sample/report"


def table(folder, name, paper="acord"):
    with (folder / f"results/sample/tables/{paper}/{name}.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        return {(line["row"], line["column"]): line for line in csv.DictReader(file)}


@pytest.fixture(scope="module")
def finished(sample_run):
    """The folder of a finished run of the whole sample, in which the tests of this file
    run again.
    """
    return sample_run


@pytest.mark.golden
def test_every_value_equals_the_stored_one(sample_values, capsys):
    """The snapshot is compared at the printed precision; `snapshot.compare` says what
    may differ.
    """
    if "LEXTABLES_GOLDEN" in os.environ:  # make golden
        shutil.rmtree(snapshot.STORED, ignore_errors=True)
        shutil.copytree(sample_values, snapshot.STORED)
    comparison = snapshot.compare(snapshot.STORED, sample_values)
    with capsys.disabled():
        print(f"\n{comparison}")
    assert comparison.numbers > 10_000
    first = "\n".join(comparison.differences[:10])
    assert not comparison.differences, (
        f"{comparison}; if this is right, run `make golden`:\n{first}"
    )


def test_a_second_run_does_nothing(finished):
    run = snakemake(finished)
    assert run.code == 0
    assert "Nothing to be done" in run.output
    report = finished / SITE / ".complete"
    report.unlink()
    run = snakemake(finished)
    assert "2 jobs to run." in run.output
    report, command = run.output.splitlines()[-2:]
    assert report == f"Done: open {SITE}/index.html in a browser."
    assert "acord_table_d3 --config data=release" in command


def test_every_run_table_and_data_set_has_a_page_and_no_link_is_broken(finished):
    site = finished / SITE
    assert site_pages.faults(site) == []
    places = {page.relative_to(site).as_posix() for page in site_pages.pages(site)}
    for path in _records(finished):
        run = path.parent.relative_to(finished / "results/sample")
        assert f"{run.as_posix()}.html" in places
    tables = (finished / "results/sample/tables").glob("*/*.md")
    assert {f"tables/{path.parent.name}-{path.stem}.html" for path in tables} <= places
    censuses = (finished / "results/sample/data").glob("*/census.json")
    assert {f"data/{path.parent.name}.html" for path in censuses} <= places


def test_the_report_has_no_errors_in_a_browser(finished):
    pages = (
        "index",
        "leaderboard",
        "papers/lawngnli",
        "tables/acord-table_d3",
        "tables/cuad-figure5",
        "tables/privacy-table2",
        "data/acord",
        "runs/maud/train/minilm/multi-sample/seed0",
    )
    with site_browser.browser() as chromium:
        for page in pages:
            path = finished / SITE / f"{page}.html"
            assert site_browser.faults(chromium, path) == []


def _records(finished):
    return sorted(finished.glob("results/sample/runs/**/run.json"))


def test_every_run_is_recorded_with_its_settings_and_weights(finished):
    records = _records(finished)
    assert len(records) > 10
    for path in records:
        record = json.loads(path.read_text(encoding="utf-8"))
        keys = ("settings", "libraries", "lextables", "device", "seconds")
        assert {*keys, "peak_memory_mib"} <= record.keys()
        # Weights that no run trained are those of the sample, and the record states
        # this.
        weights = record["settings"].get("weights")
        if weights and not weights.startswith("results/"):
            assert weights in ("mirror:sample-encoder", "mirror:sample-language-model")
            found = record["settings"]["found"]
            assert found == "a tiny model of the sample in its place"


def test_the_effective_config_is_saved(finished):
    config = yaml.safe_load((finished / "results/sample/config.yaml").read_text())
    assert config["data"] == "sample"
    assert config["seeds"] == [0, 1, 2]


def test_a_users_contract_is_reviewed(finished, tmp_path):
    contract = tmp_path / "lease of land.txt"
    contract.write_text(
        "THIS LEASE is made by Fenmoor Ltd <landlord> and Ada Quill.\n" * 40
    )
    run = snakemake(finished, "review", "--config", f"contract={contract}")
    assert run.code == 0, run.output[-4000:]
    folder = finished / "results/sample/review"
    (name,) = [path.stem for path in folder.glob("lease of land.txt-????????.html")]
    page = (folder / f"{name}.html").read_text(encoding="utf-8")
    assert "Fenmoor Ltd &lt;landlord&gt;" in page
    assert "its marks here are meaningless" in page
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len({line["category"] for line in lines}) == 41
    assert any(line["precision"] for line in lines)

    # Another contract with the same name gets a separate review, by the model that is
    # already trained.
    (tmp_path / "other").mkdir()
    other = tmp_path / "other/lease of land.txt"
    other.write_text("THIS LEASE is made by Ada Quill and nobody else.\n" * 40)
    config = (
        f"contract={other}",
        "review_model=minilm-contracts",
        "models=available",
        "grid=paper",
    )
    run = snakemake(finished, "review", "--config", *config)
    assert run.code == 0, run.output[-4000:]
    assert "jobs to run." in run.output
    assert "  Training" not in run.output
    assert (folder / f"{name}.html").read_text(encoding="utf-8") == page
    assert len(list(folder.glob("lease of land.txt-*.html"))) == 2


def test_the_report_shows_results_of_earlier_runs(finished):
    """If only one paper is requested, the pages of the others are kept; a second such
    run does nothing.
    """
    run = snakemake(finished, "--config", "papers=acord")
    assert run.code == 0, run.output[-4000:]
    assert "3 jobs to run." in run.output, run.output  # config, report, all
    page = (finished / SITE / "index.html").read_text(encoding="utf-8")
    parts = re.findall(r'<div class="block">\n<h3 id="(\w+)"', page)
    assert parts == ["acord", "cuad", "lawngnli", "maud", "privacy"]
    assert page.count("Left by an earlier run") == 4
    maud = (finished / SITE / "papers/maud.html").read_text(encoding="utf-8")
    assert "maud_extraction: " in maud
    assert site_pages.faults(finished / SITE) == []
    again = snakemake(finished, "--config", "papers=acord")
    assert "Nothing to be done" in again.output
    assert snakemake(finished).code == 0


def test_the_page_of_results_counts_every_published_value_of_its_tables(finished):
    run = snakemake(finished, "results_page")
    assert run.code == 0, run.output[-4000:]
    assert "Nothing to be done" in snakemake(finished, "results_page").output
    folder = finished / "results/sample/page"
    page = (folder / "docs/results.md").read_text(encoding="utf-8")
    papers = ("acord", "cuad", "lawngnli", "maud", "privacy")
    published: Counter[str] = Counter()
    for paper in papers:
        entry = yaml.safe_load((ROOT / f"resources/papers/{paper}.yaml").read_text())
        # Tables that a run on the sample does not make for the report.
        left_out = entry["not_in_sample"]["tables"]
        path = ROOT / f"resources/published/{paper}.csv"
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            if row["table"] not in left_out and not row["repeats"]:
                published[row["kind"]] += 1
    assert sorted(published) == ["score", "statistic", "text"]
    for kind, count in published.items():
        assert f"| **all** | {kind}s | {count:,} | 0 | 0 | 0 |" in page
    assert "Sample data, written for lextables" in page
    assert "need data or models that are not part of the sample |" in page
    summary = page[page.index("<!--") : page.rindex("-->")]
    assert summary in (folder / "README.md").read_text(encoding="utf-8")
    assert (folder / "docs/results.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_only_finished_trainings_stay_in_the_work_folder_and_use_no_space(finished):
    runs = finished / "results/sample/runs"
    work = finished / "results/sample/work"
    files = [path for path in work.rglob("*") if path.is_file()]
    for path in files:
        folders = path.relative_to(finished).parts
        assert {"finished", "vectors", "calls"}.intersection(folders)
    # The same inode: a hard link, which uses no space.
    trained = {path.stat().st_ino for path in runs.glob("*/train/**/weights/*")}
    weights = [path for path in files if path.name == "model.safetensors"]
    assert len(weights) > 5
    assert {path.stat().st_ino for path in weights} <= trained


def test_a_users_model_becomes_a_row(finished):
    # The weights that the sample uses for the bi-encoder.
    model = str(ROOT / "resources/sample/models/sample-encoder")
    extra = json.dumps([{"name": "Mine", "kind": "bi-encoder", "model": model}])
    run = snakemake(
        finished,
        "acord_table_d3",
        "acord_table_e2",
        "--config",
        f"extra_models={extra}",
    )
    assert run.code == 0, run.output[-4000:]
    lines = table(finished, "table_d3")
    for column in ("NDCG@5", "NDCG@10", "3-star prec@5"):
        assert (
            lines["Mine / None", column]["ours"]
            == lines["Bi-Encoder-MiniLM / None", column]["ours"]
        )
    assert table(finished, "table_e2")["Mine / as-is / Long", "NDCG@5"]["ours"]


def exported(runs, folder):
    """Predictions of finished runs in the usual formats of their tasks: {data set:
    (run, file)}.
    """
    ran = {
        "acord": "acord/retrieve/bi-encoder-minilm/short/seed0",
        "cuad": "cuad/read/linear-exact/linear/seed0",
        "maud_extraction": "maud_extraction/read/minilm/sample-p100/seed0",
        "maud": "maud/read/minilm/multi-sample/seed0",
    }
    rows = {}
    for name, run in ran.items():
        rows[name] = pq.read_table(runs / run / "predictions.parquet").to_pylist()
    files = {
        "acord": folder / "run.txt",
        "cuad": folder / "cuad.json",
        "maud_extraction": folder / "maud_extraction.json",
        "maud": folder / "maud.csv.gz",
    }

    # A ranking in TREC format.
    line = "{query_id} Q0 {document_id} {rank} {score!r} mine\n"
    lines = [line.format(**row) for row in rows["acord"]]
    files["acord"].write_text("".join(lines), encoding="utf-8")

    # N-best JSON of the released code.
    for name in ("cuad", "maud_extraction"):
        content = {}
        for row in rows[name]:
            entry = {"text": row["released_text"]}
            for key in ("probability", "start_logit", "end_logit"):
                entry[key] = row[key]
            content.setdefault(row["question_id"], []).append(entry)
        files[name].write_text(json.dumps(content), encoding="utf-8")

    # A line for each answer of a question, in compressed csv.
    heads = pq.read_table(runs.parent / "data/maud/questions.parquet").to_pylist()
    answers = {head["head_id"]: head["answers"] for head in heads}
    with gzip.open(files["maud"], "wt", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["example_id", "answer", "probability"])
        for row in rows["maud"]:
            shares = zip(answers[row["head_id"]], row["probabilities"], strict=True)
            for answer, share in shares:
                out.writerow([row["example_id"], answer, repr(share)])
    return {name: (ran[name], files[name]) for name in ran}


def test_submitted_predictions_have_the_same_scores_as_their_original_run(
    finished, tmp_path
):
    runs = finished / "results/sample/runs"
    submitted = exported(runs, tmp_path)
    entries = [
        {"name": "Theirs", "paper": name, "file": str(file)}
        for name, (_, file) in submitted.items()
    ]
    tables = ("acord_table_d3", "cuad_table2", "maud_table4", "maud_table12")
    run = snakemake(
        finished, *tables, "--config", f"extra_predictions={json.dumps(entries)}"
    )
    assert run.code == 0, run.output[-4000:]
    for name, (theirs, file) in submitted.items():
        (folder,) = runs.glob(f"{name}/submitted/own-theirs/*/seed0")
        scores = (folder / "scores.parquet").read_bytes()
        assert scores == (runs / theirs / "scores.parquet").read_bytes(), name
        record = json.loads((folder / "run.json").read_text())
        assert record["submitted"]["file"] == file.name

    # The tables show them like the original runs.
    lines = table(finished, "table_d3")
    for column in ("NDCG@10", "3-star prec@5"):
        mine = lines["Theirs / None", column]
        original = lines["Bi-Encoder-MiniLM / None", column]
        for key in ("ours", "low", "high", "verdict"):
            assert mine[key] == original[key]
    assert table(finished, "table12", "maud")["Overall", "Theirs (AUPR)"]["ours"]
    assert table(finished, "table4", "maud")["Overall", "Theirs"]["ours"]

    # So does the function `score`.
    frame = lextables.score(
        "acord", submitted["acord"][1], data="sample", folder=finished
    )
    (scores,) = frame.query("metric == 'NDCG@10' and group == 'all'").to_dict("records")
    shown = lines["Theirs / None", "NDCG@10"]
    for column, key in (("ours", "value"), ("low", "low"), ("high", "high")):
        assert shown[column] == f"{scores[key]:.3f}"
    shown = table(finished, "table2", "cuad")["Theirs", "AUPR"]
    frame = lextables.score(
        "cuad", submitted["cuad"][1], data="sample", folder=finished
    )
    whole = frame.query("metric == 'AUPR' and mode == 'paper' and group == 'all'")
    assert shown["ours"] == f"{100 * whole['value'].item():.1f}"


def blocks(page, fence):
    """The code blocks of a page of docs: those in ``fence``, or the indented
    commands.
    """
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    if fence:
        return re.findall(rf"^```{fence}\n(.*?)^```$", text, re.M | re.S)
    return re.findall(r"^    \.venv/bin/(snakemake .+)$", text, re.M)


@pytest.fixture(scope="module")
def published(finished):
    """The exports of the finished run."""
    # The tables too: earlier tests added rows to them.
    run = snakemake(finished, "tables", "publish")
    assert run.code == 0, run.output[-4000:]
    assert "Nothing to be done" in snakemake(finished, "publish").output
    return finished / "results/sample/publish"


def test_the_export_of_every_paper_has_the_same_tables(finished, published):
    names = {path.name for path in published.iterdir()}
    papers = {
        *("acord", "cuad", "lawngnli", "maud", "privacy", "lawngnli_parentheticals")
    }
    assert names == papers | {"printed"}
    digests = {(published / name / ".complete").read_text() for name in papers}
    assert len(digests) == len(papers)
    for name in papers:
        export = published / name
        files = {path.name for path in export.iterdir()}
        assert {"README.md", "croissant.json", "LICENSE.md", "CITATION.bib"} <= files
        # The first paragraph below the title of the card.
        card = (export / "README.md").read_text(encoding="utf-8")
        _, _, body = card.partition("\n# ")
        _, first, *_ = body.split("\n\n")
        assert "**This is a sample.**" in first
        tables = [*export.rglob("data/*.parquet")]
        assert tables
        for table in tables:
            # The export's own data set is at its top, others are in a folder.
            folder = table.parents[1]
            data_set = name if folder == export else folder.name
            source = finished / f"results/sample/data/{data_set}/{table.name}"
            assert table.samefile(source)


def read_exports(publish, *tools):
    command = (
        sys.executable,
        ROOT / "bench/read_exports.py",
        publish,
        "--readers",
        *tools,
    )
    return subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )


def test_other_tools_read_every_export(published):
    tools = ("datasets", "mlcroissant", "ir_measures")
    run = read_exports(published, *tools)
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    rows = {tuple(line.split(" | ")[:2]): line for line in run.stdout.splitlines()[2:]}
    papers = ("acord", "cuad", "lawngnli", "lawngnli_parentheticals", "maud", "privacy")
    expected = set()
    for paper in papers:
        readers = ["datasets", "mlcroissant"]
        if paper in ("acord", "lawngnli"):  # with rankings
            readers.append("ir_measures")
        for tool in readers:
            expected.add((f"| {paper}", f"{tool} {version(tool)}"))
    assert rows.keys() == expected


def test_mteb_gives_exported_runs_the_same_scores_as_the_tables(published, tmp_path):
    """For the encoder, mteb also computes the embeddings, the ranking and the scores
    itself.
    """
    folder = published / "acord"
    lexical = "retrieve.bm25.short.seed0"
    dense = "retrieve.bi-encoder-minilm.short.seed0"
    encoder = ROOT / "resources/sample/models/sample-encoder"
    program = f"""
import mteb, mteb_task
from sentence_transformers import SentenceTransformer
models = [mteb_task.ExportedRun(mteb_task.FOLDER / f"trec/{{run}}.run") for run in {(lexical, dense)}]
for model in (*models, SentenceTransformer({str(encoder)!r})):
    found = mteb.evaluate(model, mteb_task.Task(), cache=None, co2_tracker=False)
    print("NDCG@10", found[0].scores["test"][0]["ndcg_at_10_unrounded"])
"""
    done = subprocess.run(
        [harness("mteb"), "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ
        | {
            "HF_HUB_OFFLINE": "1",
            "HF_HOME": str(tmp_path),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )
    assert done.returncode == 0, done.stderr[-3000:]
    ours = []
    for run in (lexical, dense, dense):
        for row in pq.read_table(folder / f"scores/{run}.parquet").to_pylist():
            if (row["metric"], row["group"]) == ("NDCG@10", "all"):
                ours.append(row["value"])
    theirs = []
    for line in done.stdout.splitlines():
        if line.startswith("NDCG@10"):
            theirs.append(float(line.split()[1]))
    assert theirs == pytest.approx(ours, abs=1e-6)


def test_fine_tuned_weights_are_exported_as_they_were_saved(finished, published):
    runs = finished / "results/sample/runs"
    folders = sorted(published.glob("**/weights/*/"))
    for folder in folders:
        data_set = folder.parents[1].name
        run = folder.name.replace(".", "/")
        training = runs / data_set / run / "weights"
        for file in training.rglob("[!.]*"):
            if file.is_file():
                assert file.samefile(folder / file.relative_to(training))
    names = [folder.name for folder in folders]
    for model in ("minilm", "minilm-retriever", "bm25+minilm-fresh-head"):
        assert any(f".{model}." in name for name in names)
    # Linear models are not exported.
    assert not any("linear" in name or "words" in name for name in names)


def test_programs_on_the_page_about_exports_run(finished, published, tmp_path):
    offline = {
        "HF_DATASETS_OFFLINE": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(tmp_path),
    }
    programs = blocks("exports.md", "python")
    assert len(programs) == 3
    # Each with its own variables, in one process.
    script = "\n".join(f"exec({program!r}, {{}})" for program in programs)
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=finished,
        env=os.environ | offline,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]


# The following tests leave results that later runs would update.


def test_a_row_is_the_mean_of_two_trainings_with_different_seeds(finished, tmp_path):
    """The sample trains each model with one seed.

    Here a copy of its registry has two for one model.
    """
    project = project_copy.copied(tmp_path / "project")
    registry = project / "resources/papers/maud.yaml"
    text = registry.read_text(encoding="utf-8")
    before, settings = text.split("\n          head: own\n          save_every: 2\n")
    assert settings.startswith("          seeds: 1\n")
    settings = settings.replace("seeds: 1", "seeds: 2", 1)
    text = f"{before}\n          head: own\n          save_every: 2\n{settings}"
    registry.write_text(text, encoding="utf-8")
    left_out = [
        "Words and a linear model",
        "Sentence embeddings and a linear model",
        "Words, sentence embeddings and a linear model",
        "SmolLM2-135M-Instruct, asked",
    ]
    words = ["--snakefile", project / "Snakefile", "--directory", finished]
    words += ["--workflow-profile", project / "profiles/default", "--cores", 2]
    words += ["maud_table7", "--config", f"exclude_rows={json.dumps(left_out)}"]
    run = forked.snakemake(finished, *words)
    assert run.code == 0, run.output[-4000:]
    cell = table(finished, "table7", "maud")["Overall", "MiniLM encoder"]
    runs = cell["runs"].split()
    assert [folder.rpartition("/")[2] for folder in runs] == ["seed0", "seed1"]
    predictions = []
    scores = []
    for folder in runs:
        place = finished / "results/sample" / folder
        predictions.append(pq.read_table(place / "predictions.parquet").to_pylist())
        for row in pq.read_table(place / "scores.parquet").to_pylist():
            if (row["metric"], row["group"]) == ("micro F1", "all"):
                scores.append(row["value"])
    assert len(scores) == 2
    assert predictions[0] != predictions[1]
    assert float(cell["ours"]) == pytest.approx(100 * sum(scores) / 2, abs=0.051)


def test_a_training_is_not_repeated_if_model_selection_selects_the_same_settings(
    finished,
):
    """The training job reruns after the selection and reuses the finished training."""
    runs = finished / "results/sample/runs/acord"
    (record,) = runs.glob("train/bm25*/sample/seed0/run.json")
    (choice,) = runs.glob("choice/bm25*/sample/seed0/run.json")
    weights = record.parent / "weights/model.safetensors"
    before = json.loads(record.read_text())
    assert before["weights_content"] == folder_content(weights.parent)
    inode = weights.stat().st_ino
    target = record.relative_to(finished)
    run = snakemake(finished, target, "--forcerun", choice.relative_to(finished))
    assert run.code == 0, run.output[-4000:]
    assert "Training minilm-fresh-head" in run.output.replace("bm25+", "")
    assert json.loads(record.read_text()) == before
    assert weights.stat().st_ino == inode
    assert "unchanged since it was finished" in (record.parent / "log.txt").read_text()
