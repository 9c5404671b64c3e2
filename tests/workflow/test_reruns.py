"""What reruns after a change, and what does not: plans of a project whose outputs are made up.

The outputs are empty and marked as made (`--touch`), but for the fetched source, so that a plan costs
seconds; that real results are used again is shown in test_sample.
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel

import forked
from wordpiece import wordpiece

ROOT = Path(__file__).parents[2]
PARTS = ("Snakefile", "config.yaml", "workflow", "resources", "envs", "profiles")
RESULTS = Path("results/sample")
TARGETS = ("acord_table_d3", "acord_table_d4", "acord_table_c2")


def snakemake(project, *arguments, targets=TARGETS, papers="[acord]"):
    model = json.dumps([{"name": "Mine", "kind": "bi-encoder", "model": str(project.parent / "mine")}])
    file = json.dumps([{"name": "Theirs", "paper": "acord", "file": str(project.parent / "theirs.txt")}])
    config = (f"papers={papers}", f"extra_models={model}", f"extra_predictions={file}")
    words = (*targets, "--cores", "2", "--nolock", *arguments, "--config", *config)
    return forked.snakemake(project, *words, package=False)


def planned(project, targets=TARGETS, papers="[acord]"):
    """What would run: {rule: number of jobs}."""
    run = snakemake(project, "--dry-run", targets=targets, papers=papers)
    assert run.returncode == 0, run.stderr[-3000:]
    stats = re.search(r"Job stats:\n.*\n-+.*\n((?:\S+ +\d+\n)+)", run.stdout + run.stderr)
    if stats is None:
        assert "Nothing to be done" in run.stdout + run.stderr
        return {}
    jobs = {name: int(count) for name, count in (line.split() for line in stats[1].splitlines())}
    return {name: count for name, count in jobs.items() if name not in ("total", *TARGETS)}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a project, `one`, that has nothing to do, and a user's model and ranking beside it."""
    folder = tmp_path_factory.mktemp("reruns")
    project = folder / "one"
    project.mkdir()
    for part in PARTS:
        ignore = shutil.ignore_patterns("__pycache__")
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, project / part, ignore=ignore)
        else:
            shutil.copy2(ROOT / part, project / part)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=8, **sizes)).save_pretrained(folder / "mine")
    wordpiece(["the", "contract", "ends"]).save_pretrained(folder / "mine")
    (folder / "theirs.txt").write_text("cap Q0 clause 1 0.5 theirs\n")

    fetched = snakemake(project, "--until", "fetch_source")
    assert fetched.returncode == 0, fetched.stderr[-3000:]
    make_up(project)
    return folder


FOLDERS = {"weights", "reading", "index", "cited", "report"}  # of a run, LawngNLI's, and the site


def make_up(project, targets=TARGETS, papers="[acord]"):
    """Empty outputs of all that is asked for, but for those that are there."""
    listed = snakemake(project, "--summary", targets=targets, papers=papers)
    assert listed.returncode == 0, listed.stderr[-3000:]
    for line in listed.stdout.splitlines():
        path = project / line.split("\t")[0]
        if str(path).startswith(str(project / RESULTS)) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir() if path.name in FOLDERS else path.touch()
    touched = snakemake(project, "--touch", "--forceall", targets=targets, papers=papers)
    assert touched.returncode == 0, touched.stderr[-3000:]


@pytest.fixture
def project(finished, tmp_path):
    """A copy in another place, with all times kept."""
    shutil.copytree(finished, tmp_path / "moved", symlinks=True)
    return tmp_path / "moved/one"


def test_a_finished_project_has_nothing_to_do_here_or_elsewhere(finished, project):
    assert planned(finished / "one") == {}
    assert planned(project) == {}


def weights(project):
    return project.parent / "mine/model.safetensors"


def rewrite_weights(project):
    tensors = load_file(weights(project))
    name = sorted(tensors)[0]
    save_file(tensors | {name: tensors[name] + 1}, weights(project), metadata={"format": "pt"})


def rewrite_record(project):
    (record,) = project.glob(f"{RESULTS}/runs/acord/retrieve/own-mine/short/seed0/run.json")
    record.write_text('{"seconds": 2}')


def registry(old, new):
    def change(project):
        path = project / "resources/sources.yaml"
        text = path.read_text(encoding="utf-8")
        entry = text.index("\nacord:")
        at = text.index(old, entry)
        path.write_text(text[:at] + new + text[at + len(old) :], encoding="utf-8")

    return change


def registered(file, old, new):
    """An edit of a file in resources/."""

    def change(project):
        path = project / "resources" / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


def backdated(file, old, new):
    """An edit that keeps a time older than the results, as `cp -p`, tar and rsync do."""
    return in_turn(
        registered(file, old, new), lambda project: os.utime(project / "resources" / file, (1e9, 1e9))
    )


def appended(file, text):
    """An edit of a module of the package."""

    def change(project):
        path = project / "workflow/lextables" / file
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")

    return change


def grown(file):
    """A change of what a module does, however small."""
    return appended(file, "\n_GROWN = 1\n")


def commented(file):
    return appended(file, "\n# A remark.\n")


def in_turn(*changes):
    def change(project):
        for each in changes:
            each(project)

    return change


def other_archive(project):
    path = project / "resources/sample/acord/ACORD.zip"
    path.write_bytes(path.read_bytes() + b" ")


def predictions(project):
    return project.parent / "theirs.txt"


def rewrite_predictions(project):
    predictions(project).write_text("cap Q0 clause 1 0.6 theirs\n")


def move_predictions(project):
    predictions(project).rename(project.parent / "elsewhere.txt")
    predictions(project).symlink_to("elsewhere.txt")


NO_CHANGE = in_turn(
    lambda project: os.utime(weights(project)),
    lambda project: (project.parent / "mine/README.md").write_text("a card"),
    lambda project: os.utime(predictions(project)),
    move_predictions,
    lambda project: os.utime(project / "resources/sample/acord/ACORD.zip"),
)
OWN = {"acord_retrieve_dense": 1, "retrieval_score": 1}
GIVEN = {"given": 1, "retrieval_score": 1, "table": 2}
TABLES = {"table": len(TARGETS)}


@pytest.mark.parametrize(
    ("change", "reruns", "stays"),
    [
        (NO_CHANGE, {}, ["table"]),
        (rewrite_weights, OWN, ["acord_data", "retrieval_train", "fetch_source"]),
        (rewrite_predictions, GIVEN, ["acord_data", "acord_retrieve_dense", "retrieval_train"]),
        (rewrite_record, {"table": 2}, ["acord_retrieve_dense", "retrieval_score"]),
        (registry("of our own writing", "that we wrote"), TABLES, ["acord_data", "retrieval_train"]),
        (registry("licence: ", "licence: not "), TABLES, ["acord_data", "retrieval_train", "fetch_source"]),
        (backdated("published/acord.csv", "fraud, negl", "fraud or negl"), TABLES, ["acord_data"]),
        (
            backdated("papers/acord.yaml", 'title: "', 'title: "On '),
            TABLES,
            ["acord_data", "retrieval_train"],
        ),
        (other_archive, {"fetch_source": 1, "acord_data": 1}, []),
    ],
    ids=[
        *("nothing", "weights", "predictions", "record", "note", "licence", "older values"),
        *("older registry", "mirror"),
    ],
)
def test_what_reruns_and_what_does_not(project, change, reruns, stays):
    change(project)
    found = planned(project)
    assert reruns.items() <= found.items()
    assert bool(found) == bool(reruns)
    assert not set(stays) & (set(found) - set(reruns))


def test_volumes_of_case_law_are_fetched_once(project):
    shard = [str(RESULTS / "sources/caselaw/us-901.json")]
    brought = snakemake(project, targets=shard, papers="[lawngnli]")
    assert brought.returncode == 0, brought.stderr[-3000:]
    assert planned(project, shard, "[lawngnli]") == {}
    volume = next((project / "resources/sample/caselaw").rglob("902.zip"))
    volume.write_bytes(volume.read_bytes() + b" ")
    assert planned(project, shard, "[lawngnli]") == {"caselaw_volumes": 1}


def test_the_report_follows_what_other_runs_leave(project):
    report = [str(RESULTS / "report")]
    make_up(project, report)
    assert planned(project, report) == {}
    theirs = project / RESULTS / "tables/cuad/table3.csv"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    assert planned(project, report) == {"report": 1}


def test_a_bundle_is_made_again_by_another_card_and_for_no_other_reason(project):
    target = [str(RESULTS / "publish/acord/README.md")]
    make_up(project, target)
    assert planned(project, target) == {}
    grown("publish/printed.py")(project)
    assert planned(project, target) == {}
    # What a user gave is no part of it.
    shutil.rmtree(project / RESULTS / "runs/acord/given")
    assert planned(project, target) == {}
    grown("publish/card.py")(project)
    assert planned(project, target) == {"bundle": 1}


def test_texts_of_the_registries_reach_the_pages_that_show_them(project):
    """Whatever the time that an edited file has."""
    targets = [
        str(RESULTS / place) for place in ("report", "publish/acord/README.md", "publish/printed/README.md")
    ]
    make_up(project, targets)
    assert planned(project, targets) == {}
    registry("licence: ", "licence: not ")(project)
    assert planned(project, targets).keys() == {"table", "figure", "report", "bundle"}
    make_up(project, targets)
    backdated("papers/acord.yaml", 'citation: "', 'citation: "New ')(project)
    assert planned(project, targets).keys() == {"table", "figure", "report", "bundle", "printed"}
    make_up(project, targets)
    backdated("published/cuad.csv", "Table", "In Table")(project)
    assert planned(project, targets) == {"printed": 1}


def test_the_reason_for_a_table_is_short_and_says_what_changed(project):
    backdated("papers/acord.yaml", 'title: "', 'title: "On ')(project)
    run = snakemake(project, "--dry-run")
    said = run.stdout + run.stderr
    assert said.count("Params have changed since last execution") == len(TARGETS)
    assert max(map(len, said.splitlines())) < 500
    for path in (project / ".snakemake/metadata").rglob("*"):
        record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        if record.get("rule") == "table":
            assert max(map(len, map(str, record["params"]))) < 200


def test_runs_of_other_library_versions_are_named_and_made_again_on_request(project):
    (record,) = project.glob(f"{RESULTS}/runs/acord/retrieve/own-mine/short/seed0/run.json")
    record.write_text('{\n  "libraries": {\n    "torch": "0.1"\n  }\n}\n')
    make_up(project)
    run = snakemake(project, "--dry-run")
    said = run.stdout + run.stderr
    folder = record.parent.relative_to(project)
    assert f"Made with other library versions, and kept: {folder}: torch 0.1 (now " in said
    assert "Nothing to be done" in said
    (listed,) = re.findall(r"add --forcerun \$\(cat (\S+)\) to the command", said)
    again = (project / listed).read_text().split()
    assert again == [str(folder / "run.json")]
    run = snakemake(project, "--dry-run", "--forcerun", *again)
    assert re.search(r"^acord_retrieve_dense +1$", run.stdout + run.stderr, re.M)
    record.write_text("{}")
    assert "other library versions" not in snakemake(project, "--dry-run").stdout


def test_no_input_of_any_paper_is_a_place_on_this_machine(finished):
    """Or a project that is moved would have it all made again."""
    words = ("--filegraph", "--nolock", "data")
    run = forked.snakemake(finished / "one", *words, package=False)
    assert run.returncode == 0, run.stderr[-3000:]
    assert "resources/facts/cuad_contracts.csv" in run.stdout
    assert str(finished) not in run.stdout


def test_no_param_is_a_place_on_this_machine(finished):
    """Snakemake's own records hold the params and inputs of every job."""
    kept = (finished / "one/.snakemake/metadata").rglob("*")
    records = [json.loads(path.read_text(encoding="utf-8")) for path in kept if path.is_file()]
    assert len(records) > 20
    for record in records:
        for text in (*map(str, record["params"]), *record["input"]):
            assert str(finished) not in text
            assert str(ROOT) not in text
            assert sys.prefix not in text


def test_a_cluster_keeps_its_device_whatever_is_configured(finished):
    """With a --config too, which would replace a list of keys in a profile."""
    run = snakemake(finished / "one", "--dry-run", "--workflow-profile", "profiles/slurm")
    assert "grid=sample (sample data), device=cuda, papers=acord\n" in run.stdout + run.stderr
    assert run.returncode == 0, run.stderr[-3000:]


def test_a_model_that_cannot_be_valid_ends_the_plan_in_a_sentence(finished):
    """Only where a paper that is asked for would run it."""

    def plan(papers, name="Theirs"):
        given = [{"name": name, "kind": "cross-encoder", "model": str(finished / "mine")}]
        config = [f"papers={papers}", f"extra_models={json.dumps(given)}"]
        words = ("--dry-run", "data", "--nolock", "--config", *config)
        run = forked.snakemake(finished / "one", *words, package=False)
        return run.returncode, run.stdout + run.stderr

    code, said = plan("[acord]")
    assert code != 0
    assert "config, extra_models, Theirs: BertModel has no weights of a head for relevance" in said
    assert "Traceback" not in said
    assert plan("[cuad]")[0] == 0
    code, said = plan("[cuad]", "Bi-encoder (MiniLM)")
    assert code != 0
    assert "the name 'Bi-encoder (MiniLM)' reads like 'Bi-Encoder-MiniLM', which is a row" in said


@pytest.fixture(scope="module")
def plan(finished):
    """A dry run of the project with other targets and another configuration: (exit status, what was said)."""

    def planned(*targets_and_config):
        words = ("--dry-run", "--nolock", *targets_and_config)
        run = forked.snakemake(finished / "one", *words, package=False)
        return run.returncode, run.stdout + run.stderr

    return planned


@pytest.mark.parametrize(
    "lack",
    ["parser=/no/such/folder", "encoder=none-such", "caselaw=[us:1-2]"],
    ids=["parser", "encoder", "volumes"],
)
def test_what_one_paper_lacks_stops_no_other(plan, lack):
    release = ("data=release", "models=available", "mirror=resources/sample", lack)
    code, said = plan("all", "--config", "papers=[acord]", *release)
    assert code == 0, said[-3000:]
    assert "acord_retrieve_lexical" in said
    assert "lawngnli" not in said.split("Job stats:")[1]


def test_a_parser_that_is_missing_stops_its_own_paper(plan):
    code, said = plan("all", "--config", "papers=[acord,lawngnli]", "parser=/no/such/folder")
    assert code != 0
    assert "config: parser = '/no/such/folder' is neither auto" in said
    assert "Traceback" not in said


def test_a_run_of_a_paper_that_is_left_out_says_so(plan):
    theirs = f"{RESULTS}/runs/maud/single-task/minilm/single-sample/seed0/run.json"
    code, said = plan(theirs, "--config", "papers=[acord]")
    assert code != 0
    assert f"{theirs.removesuffix('/run.json')}: config key papers leaves its paper out" in said
    none = f"{RESULTS}/runs/maud/single-task/minilm/none/seed0"
    code, said = plan(f"{none}/run.json", "--config", "papers=[maud]")
    assert code != 0
    assert f"{none}: there is no such run under this configuration" in said


def test_windows_of_two_grids_lie_apart(tmp_path):
    """Each in a folder of its length and step, so that one grid never reads or replaces the other's."""
    folders = {}
    for grid in ("sample", "paper"):
        run = f"{RESULTS}/runs/cuad/read/minilm/{grid}-p100/seed0/predictions.parquet"
        config = ("papers=[cuad]", f"grid={grid}", "models=available")
        words = ("--dry-run", run, "--directory", tmp_path, "--nolock", "--config", *config)
        found = forked.snakemake(tmp_path, "--snakefile", ROOT / "Snakefile", *words)
        said = found.stdout + found.stderr
        assert found.returncode == 0, said[-3000:]
        folders[grid] = set(re.findall(r"features/spans/cuad/minilm/(\d+x\d+)/test/features\.json", said))
    assert all(len(found) == 1 for found in folders.values())
    assert len(set.union(*folders.values())) == len(folders)


# What reruns after a change of code, of all papers together.

ALL = "[acord,cuad,lawngnli,maud]"
SHOWN = ("acord_table_d4", "cuad_table2", "maud_table3", "maud_table4", "maud_table12", "lawngnli_table3")


@pytest.fixture(scope="module")
def made(finished, tmp_path_factory):
    """A project with outputs made up for every paper."""
    return with_outputs(finished, tmp_path_factory.mktemp("made"), SHOWN, ALL, "caselaw_volumes")


def rerun(project):
    """The rules that would run."""
    return set(planned(project, SHOWN, ALL)) - set(SHOWN)


# Remarks, and code that makes none of the tables in SHOWN.
NO_CHANGE_SHOWN = in_turn(
    *map(commented, ("metrics/spans.py", "metrics/ranking.py", "pipeline/config.py", "pipeline/run.py")),
    *map(grown, ("tasks/spans/choosing.py", "publish/card.py")),
)
TRAININGS = {
    *("retrieval_search", "retrieval_train", "retrieval_rerank_tuned", "spans_pretrain", "spans_train"),
    *("spans_read", "classification_search", "classification_train", "classification_single_task"),
    *("classification_read", "acord_retrieve_dense", "lawngnli_contradictions"),
}


@pytest.mark.parametrize(
    ("change", "runs"),
    [
        (NO_CHANGE_SHOWN, set()),
        # The linear baseline learns what the evaluator counts, by its own functions.
        (
            grown("metrics/spans.py"),
            {"spans_score", "spans_train_linear", "spans_read_linear", "table"},
        ),
        # What weighs units and candidates encodes none, and what encodes units is read by all that weigh.
        (
            grown("tasks/spans/overlaps.py"),
            {"spans_train_linear", "spans_read_linear", "spans_score", "table"},
        ),
        (
            grown("tasks/spans/vectors.py"),
            {"spans_vectors", "spans_train_linear", "spans_read_linear", "spans_score", "table"},
        ),
        (grown("tasks/spans/plan.py"), {"table"}),
        (grown("tables/cells.py"), {"table"}),
        (grown("papers/lawngnli/examples.py"), {"lawngnli_examples", "table"}),
        (grown("tasks/spans/joining.py"), {"spans_join", "spans_score", "table"}),
        (backdated("readings/lawngnli.csv", ",", " ,"), {"table"}),
        (registered("papers/cuad.yaml", "Models fine-tuned on CUAD", "Models tuned on CUAD"), {"table"}),
        (registered("papers/maud.yaml", "Single-task AUPR by", "Single-task areas by"), {"table"}),
        (
            registered("papers/maud.yaml", "epochs: [1, 2, 3, 4, 5, 6]", "epochs: [1, 2, 3, 4, 5]"),
            {"table"},
        ),
    ],
    ids=lambda value: None if not callable(value) else "",
)
def test_a_change_reaches_what_it_can_change_and_nothing_else(made, tmp_path, change, runs):
    shutil.copytree(made.parent, tmp_path / "copy", symlinks=True)
    project = tmp_path / "copy/one"
    change(project)
    found = rerun(project)
    assert found == runs
    assert not found & TRAININGS


@pytest.mark.parametrize(
    ("change", "first", "stays"),
    [
        (backdated("facts/cuad_contracts.csv", ",", " ,"), "cuad_data", {"maud_data", "retrieval_train"}),
        (grown("models/bm25.py"), "acord_retrieve_lexical", {"acord_retrieve_dense", "spans_train"}),
        (grown("models/bi_encoder.py"), "acord_retrieve_dense", {"acord_retrieve_lexical", "spans_train"}),
        (grown("tasks/retrieval/training.py"), "retrieval_search", {"acord_retrieve_dense", "spans_train"}),
        (grown("tasks/spans/training.py"), "spans_train", {"spans_features", "retrieval_train"}),
        (grown("tasks/spans/reading.py"), "spans_read", {"spans_features", "spans_train", "retrieval_train"}),
        (grown("tasks/spans/windows.py"), "spans_features", {"retrieval_train", "classification_train"}),
        (
            grown("tasks/classification/training.py"),
            "classification_train",
            {"spans_train", "classification_train_linear", "classification_read_linear"},
        ),
        (
            grown("tasks/classification/linear.py"),
            "classification_train_linear",
            {"classification_train", "classification_read", "classification_vectors", "spans_train_linear"},
        ),
        (
            grown("models/bi_encoder.py"),
            "classification_vectors",
            {"classification_train", "classification_features", "acord_retrieve_lexical"},
        ),
        (
            grown("tasks/classification/sampling.py"),
            "classification_single_task",
            {"classification_features"},
        ),
        (grown("papers/lawngnli/contradiction.py"), "lawngnli_contradictions", {"lawngnli_parentheticals"}),
        (
            registered("papers/cuad.yaml", "max_updates: 3\n", "max_updates: 2\n"),
            "spans_train",
            {"spans_features", "cuad_data", "retrieval_train"},
        ),
    ],
)
def test_a_change_of_what_is_trained_or_read_is_trained_or_read_again(made, tmp_path, change, first, stays):
    shutil.copytree(made.parent, tmp_path / "copy", symlinks=True)
    project = tmp_path / "copy/one"
    change(project)
    found = rerun(project)
    assert first in found
    assert not found & stays


# What reruns of models that are trained under views, one of them after another data set.

NLI = ("lawngnli_table5",)


@pytest.fixture(scope="module")
def viewed(finished, tmp_path_factory):
    """A project with outputs made up for LawngNLI's Table 5."""
    return with_outputs(finished, tmp_path_factory.mktemp("viewed"), NLI, "[lawngnli]", "caselaw_volumes")


def with_outputs(finished, folder, targets, papers, *brought):
    """A copy of the project in ``folder`` with outputs made up for these targets."""
    project = folder / "one"
    shutil.copytree(finished / "one", project, symlinks=True)
    shutil.copytree(finished / "mine", folder / "mine")
    shutil.copy2(finished / "theirs.txt", folder)
    fetched = snakemake(project, "--until", "fetch_source", *brought, targets=targets, papers=papers)
    assert fetched.returncode == 0, fetched.stderr[-3000:]
    make_up(project, targets, papers)
    assert planned(project, targets, papers) == {}
    return project


@pytest.mark.parametrize(
    ("change", "runs"),
    [
        (grown("papers/lawngnli/nli_tables.py"), {"table"}),
        # How rows are compared, and what each unit adds to a score.
        (grown("tables/comparison.py"), {"table"}),
        (grown("metrics/pseudo_values.py"), {"classification_score", "table"}),
        (
            registered("papers/lawngnli.yaml", "groups: [analysis, above_median", "groups: [above_median"),
            {"classification_score", "table"},
        ),
        # What is read of a training is no part of it.
        (
            registered("papers/lawngnli.yaml", "short: [short, long, long_512", "short: [long, long_512"),
            {"classification_read", "classification_read_linear", "classification_score", "table"},
        ),
    ],
    ids=["table", "comparison", "units", "groups", "readings"],
)
def test_what_is_read_and_shown_of_views_trains_nothing(viewed, tmp_path, change, runs):
    assert changed(viewed, tmp_path, change).keys() == runs


@pytest.mark.parametrize(
    ("change", "first", "stays"),
    [
        (
            grown("papers/lawngnli/pairs.py"),
            {"lawngnli_pairs": 1, "classification_train": 4},
            {"lawngnli_examples", "lawngnli_long_premises", "anli_data"},
        ),
        # One training on the first data set, and those that go on from it.
        (
            grown("corpora/nli/formats.py"),
            {"anli_data": 1, "classification_train": 3},
            {"lawngnli_pairs", "classification_train_linear"},
        ),
    ],
    ids=["pairs", "first data set"],
)
def test_what_is_trained_on_is_trained_on_again(viewed, tmp_path, change, first, stays):
    found = changed(viewed, tmp_path, change)
    assert first.items() <= found.items()
    assert not found.keys() & stays


def changed(project, folder, change, targets=NLI, papers="[lawngnli]"):
    """What runs after a change of a copy: {rule: number of jobs}."""
    shutil.copytree(project.parent, folder / "copy", symlinks=True)
    change(folder / "copy/one")
    found = planned(folder / "copy/one", targets, papers)
    return {name: count for name, count in found.items() if name not in targets}


# What reruns of those who answer questions about documents, and of what language models are asked.

ANSWERS = ("privacy_table2", "privacy_table3", "privacy_table_agreement")
SCORED = {"answers_score", "table"}


@pytest.fixture(scope="module")
def answered(finished, tmp_path_factory):
    """A project with outputs made up for the privacy corpus's Tables 2 and 3."""
    return with_outputs(finished, tmp_path_factory.mktemp("answered"), ANSWERS, "[privacy]")


@pytest.mark.parametrize(
    ("change", "runs"),
    [
        (
            in_turn(
                commented("tasks/answers/asking.py"), registered("prices.yaml", "input: 2.5", "input: 3.5")
            ),
            set(),
        ),
        (grown("papers/privacy/tables.py"), {"table"}),
        (grown("tasks/answers/plan.py"), {"table"}),
        (grown("metrics/answers.py"), SCORED),
        (registered("prompts/policy_answer.txt", "an experienced", "a patient"), {"answers_ask", *SCORED}),
        (
            registered("prompts/policy_paragraph.txt", "an experienced", "a patient"),
            {"answers_mark_ask", *SCORED},
        ),
        (grown("tasks/answers/prior.py"), {"answers_prior", *SCORED}),
        # What asks is run again, and finds every answer among those that are kept.
        (grown("models/multiple_choice.py"), {"answers_ask", "answers_mark_ask", *SCORED}),
        (registered("papers/privacy.yaml", "marked: 5", "marked: 4"), {"answers_mark_ask", *SCORED}),
        (registered("papers/privacy.yaml", "by category\n", "of each category\n"), {"table"}),
    ],
)
def test_what_is_asked_and_answered_again(answered, tmp_path, change, runs):
    assert changed(answered, tmp_path, change, ANSWERS, "[privacy]").keys() == runs
