"""What reruns after a change, and what does not, by dry runs of a project with empty outputs.

The outputs, apart from fetched sources, are empty files that are marked as finished (`--touch`), so that a
plan takes seconds.  test_sample shows that real results are reused.
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
    """Jobs of a dry run: {rule: number of jobs}."""
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
    """A folder with a finished project, `one`, and a user's model and ranking beside it."""
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
    """Write empty outputs for all targets where none exist, and mark them as finished."""
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
    """A copy in another folder, with the same modification times."""
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
    """An edit whose modification time is older than the results, as after `cp -p`, tar or rsync."""
    return in_turn(
        registered(file, old, new), lambda project: os.utime(project / "resources" / file, (1e9, 1e9))
    )


def appended(file, text):
    """An edit of a module, named by its path in the package."""

    def change(project):
        path = project / "workflow/lextables" / file
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")

    return change


def grown(file):
    """A change of a module's code, however small."""
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
def test_a_change_of_a_file_reruns_what_reads_it(project, change, reruns, stays):
    change(project)
    jobs = planned(project)
    assert reruns.items() <= jobs.items()
    assert bool(jobs) == bool(reruns)
    assert not set(stays) & (set(jobs) - set(reruns))


def test_volumes_of_case_law_are_fetched_once(project):
    shard = [str(RESULTS / "sources/caselaw/us-901.json")]
    fetched = snakemake(project, targets=shard, papers="[lawngnli]")
    assert fetched.returncode == 0, fetched.stderr[-3000:]
    assert planned(project, shard, "[lawngnli]") == {}
    volume = next((project / "resources/sample/caselaw").rglob("902.zip"))
    volume.write_bytes(volume.read_bytes() + b" ")
    assert planned(project, shard, "[lawngnli]") == {"caselaw_volumes": 1}


def test_the_report_reruns_for_tables_of_other_runs(project):
    report = [str(RESULTS / "report")]
    make_up(project, report)
    assert planned(project, report) == {}
    theirs = project / RESULTS / "tables/cuad/table3.csv"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    assert planned(project, report) == {"report": 1}


def test_an_export_reruns_for_a_changed_card_only(project):
    target = [str(RESULTS / "publish/acord/README.md")]
    make_up(project, target)
    assert planned(project, target) == {}
    grown("tables/published.py")(project)
    assert planned(project, target) == {}
    # Submitted predictions are not exported.
    shutil.rmtree(project / RESULTS / "runs/acord/given")
    assert planned(project, target) == {}
    grown("publish/card.py")(project)
    assert planned(project, target) == {"export": 1}


def test_registry_texts_rerun_the_pages_that_show_them(project):
    """Whatever the modification time of the edited file."""
    targets = [
        str(RESULTS / place) for place in ("report", "publish/acord/README.md", "publish/printed/printed.csv")
    ]
    make_up(project, targets)
    assert planned(project, targets) == {}
    registry("licence: ", "licence: not ")(project)
    assert planned(project, targets).keys() == {"table", "figure", "report", "export"}
    make_up(project, targets)
    backdated("papers/acord.yaml", 'citation: "', 'citation: "New ')(project)
    assert planned(project, targets).keys() == {"table", "figure", "report", "export"}
    make_up(project, targets)
    backdated("published/cuad.csv", "Table", "In Table")(project)
    assert planned(project, targets) == {"printed": 1}


def test_the_reason_for_a_table_is_short_and_says_what_changed(project):
    backdated("papers/acord.yaml", 'title: "', 'title: "On ')(project)
    run = snakemake(project, "--dry-run")
    output = run.stdout + run.stderr
    assert output.count("Params have changed since last execution") == len(TARGETS)
    assert max(map(len, output.splitlines())) < 500
    for path in (project / ".snakemake/metadata").rglob("*"):
        record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        if record.get("rule") == "table":
            assert max(map(len, map(str, record["params"]))) < 200


def test_runs_of_other_library_versions_are_listed_and_rerun_on_request(project):
    (record,) = project.glob(f"{RESULTS}/runs/acord/retrieve/own-mine/short/seed0/run.json")
    record.write_text('{\n  "libraries": {\n    "torch": "0.1"\n  }\n}\n')
    make_up(project)
    run = snakemake(project, "--dry-run")
    output = run.stdout + run.stderr
    folder = record.parent.relative_to(project)
    assert f"Made with other library versions, and kept: {folder}: torch 0.1 (now " in output
    assert "Nothing to be done" in output
    (listed,) = re.findall(r"add --forcerun \$\(cat (\S+)\) to the command", output)
    again = (project / listed).read_text().split()
    assert again == [str(folder / "run.json")]
    run = snakemake(project, "--dry-run", "--forcerun", *again)
    assert re.search(r"^acord_retrieve_dense +1$", run.stdout + run.stderr, re.M)
    record.write_text("{}")
    assert "other library versions" not in snakemake(project, "--dry-run").stdout


def test_no_input_of_any_paper_is_an_absolute_path(finished):
    """Otherwise moving a project would rerun everything."""
    words = ("--filegraph", "--nolock", "data")
    run = forked.snakemake(finished / "one", *words, package=False)
    assert run.returncode == 0, run.stderr[-3000:]
    assert "resources/facts/cuad_contracts.csv" in run.stdout
    assert str(finished) not in run.stdout


def test_no_param_is_an_absolute_path(finished):
    """Snakemake's own records hold the params and inputs of every job."""
    files = (finished / "one/.snakemake/metadata").rglob("*")
    records = [json.loads(path.read_text(encoding="utf-8")) for path in files if path.is_file()]
    assert len(records) > 20
    for record in records:
        for text in (*map(str, record["params"]), *record["input"]):
            assert str(finished) not in text
            assert str(ROOT) not in text
            assert sys.prefix not in text


def test_a_cluster_keeps_its_device_whatever_is_configured(finished):
    """Also with --config, which would replace a list of keys in a profile."""
    run = snakemake(finished / "one", "--dry-run", "--workflow-profile", "profiles/slurm")
    assert "grid=sample (sample data), device=cuda, papers=acord\n" in run.stdout + run.stderr
    assert run.returncode == 0, run.stderr[-3000:]


def test_an_invalid_model_ends_the_plan_with_one_sentence(finished):
    """Only if a requested paper would run it."""

    def plan(papers, name="Theirs"):
        model = [{"name": name, "kind": "cross-encoder", "model": str(finished / "mine")}]
        config = [f"papers={papers}", f"extra_models={json.dumps(model)}"]
        words = ("--dry-run", "data", "--nolock", "--config", *config)
        run = forked.snakemake(finished / "one", *words, package=False)
        return run.returncode, run.stdout + run.stderr

    code, output = plan("[acord]")
    assert code != 0
    assert "config, extra_models, Theirs: BertModel has no weights of a head for relevance" in output
    assert "Traceback" not in output
    assert plan("[cuad]")[0] == 0
    code, output = plan("[cuad]", "Bi-encoder (MiniLM)")
    assert code != 0
    assert "the name 'Bi-encoder (MiniLM)' reads like 'Bi-Encoder-MiniLM', which is a row" in output


@pytest.fixture(scope="module")
def plan(finished):
    """A dry run of the project with other targets and another configuration: (exit code, output)."""

    def planned(*targets_and_config):
        words = ("--dry-run", "--nolock", *targets_and_config)
        run = forked.snakemake(finished / "one", *words, package=False)
        return run.returncode, run.stdout + run.stderr

    return planned


@pytest.mark.parametrize(
    "missing",
    ["parser=/no/such/folder", "encoder=none-such", "caselaw=[us:1-2]"],
    ids=["parser", "encoder", "volumes"],
)
def test_missing_input_of_one_paper_stops_no_other(plan, missing):
    release = ("data=release", "models=available", "mirror=resources/sample", missing)
    code, output = plan("all", "--config", "papers=[acord]", *release)
    assert code == 0, output[-3000:]
    assert "acord_retrieve_lexical" in output
    assert "lawngnli" not in output.split("Job stats:")[1]


def test_a_parser_that_is_missing_stops_its_own_paper(plan):
    code, output = plan("all", "--config", "papers=[acord,lawngnli]", "parser=/no/such/folder")
    assert code != 0
    assert "config: parser = '/no/such/folder' is neither auto" in output
    assert "Traceback" not in output


def test_a_run_of_a_paper_that_is_left_out_says_so(plan):
    theirs = f"{RESULTS}/runs/maud/single-task/minilm/single-sample/seed0/run.json"
    code, output = plan(theirs, "--config", "papers=[acord]")
    assert code != 0
    assert f"{theirs.removesuffix('/run.json')}: config key papers leaves its paper out" in output
    none = f"{RESULTS}/runs/maud/single-task/minilm/none/seed0"
    code, output = plan(f"{none}/run.json", "--config", "papers=[maud]")
    assert code != 0
    assert f"{none}: there is no such run under this configuration" in output


def test_windows_of_two_grids_are_in_different_folders(tmp_path):
    """Named after their length and step, so that one grid never reads or replaces the other's."""
    folders = {}
    for grid in ("sample", "paper"):
        run = f"{RESULTS}/runs/cuad/read/minilm/{grid}-p100/seed0/predictions.parquet"
        config = ("papers=[cuad]", f"grid={grid}", "models=available")
        words = ("--dry-run", run, "--directory", tmp_path, "--nolock", "--config", *config)
        run = forked.snakemake(tmp_path, "--snakefile", ROOT / "Snakefile", *words)
        output = run.stdout + run.stderr
        assert run.returncode == 0, output[-3000:]
        folders[grid] = set(re.findall(r"features/spans/cuad/minilm/(\d+x\d+)/test/features\.json", output))
    assert all(len(names) == 1 for names in folders.values())
    assert len(set.union(*folders.values())) == len(folders)


# Changes of code, with all papers together.

ALL = "[acord,cuad,lawngnli,maud]"
SHOWN = ("acord_table_d4", "cuad_table2", "maud_table3", "maud_table4", "maud_table12", "lawngnli_table3")


@pytest.fixture(scope="module")
def shown(finished, tmp_path_factory):
    """A project with empty outputs of every paper."""
    return with_outputs(finished, tmp_path_factory.mktemp("shown"), SHOWN, ALL, "caselaw_volumes")


def changed(project, folder, change, targets=SHOWN, papers=ALL):
    """Jobs after a change of a copy: {rule: number of jobs}."""
    shutil.copytree(project.parent, folder / "copy", symlinks=True)
    change(folder / "copy/one")
    jobs = planned(folder / "copy/one", targets, papers)
    return {name: count for name, count in jobs.items() if name not in targets}


# Remarks, and code that makes none of the tables in SHOWN.
NO_CHANGE_SHOWN = in_turn(
    *map(commented, ("metrics/spans.py", "metrics/ranking.py", "pipeline/config.py", "pipeline/run.py")),
    *map(grown, ("../scripts/spans_choose.py", "publish/card.py")),
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
            {"spans_join", "spans_score", "spans_train_linear", "spans_read_linear", "table"},
        ),
        # What weighs units and candidates encodes none, and what encodes units is read by all that weigh.
        (
            grown("tasks/spans/linear.py"),
            {"spans_train_linear", "spans_read_linear", "spans_score", "table"},
        ),
        (
            grown("tasks/spans/units.py"),
            {"spans_vectors", "spans_train_linear", "spans_read_linear", "spans_score", "table"},
        ),
        (grown("tasks/spans/plan.py"), {"table"}),
        (grown("tables/cells.py"), {"table"}),
        (grown("papers/lawngnli/examples.py"), {"lawngnli_examples", "table"}),
        (grown("../scripts/spans_join.py"), {"spans_join", "spans_score", "table"}),
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
def test_a_change_reruns_what_it_can_change_and_no_training(shown, tmp_path, change, runs):
    rules = changed(shown, tmp_path, change).keys()
    assert rules == runs
    assert not rules & TRAININGS


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
        (grown("papers/lawngnli/contradiction.py"), "lawngnli_contradictions", {"lawngnli_parentheticals"}),
        (
            registered("papers/cuad.yaml", "max_updates: 3\n", "max_updates: 2\n"),
            "spans_train",
            {"spans_features", "cuad_data", "retrieval_train"},
        ),
    ],
)
def test_a_change_of_training_or_reading_reruns_it(shown, tmp_path, change, first, stays):
    rules = changed(shown, tmp_path, change).keys()
    assert first in rules
    assert not rules & stays


# Models trained under views, one of them after another data set.

NLI = ("lawngnli_table5",)


@pytest.fixture(scope="module")
def viewed(finished, tmp_path_factory):
    """A project with empty outputs of LawngNLI's Table 5."""
    return with_outputs(finished, tmp_path_factory.mktemp("viewed"), NLI, "[lawngnli]", "caselaw_volumes")


def with_outputs(finished, folder, targets, papers, *rules):
    """A copy of the project in ``folder`` with empty outputs of these targets; ``rules`` run."""
    project = folder / "one"
    shutil.copytree(finished / "one", project, symlinks=True)
    shutil.copytree(finished / "mine", folder / "mine")
    shutil.copy2(finished / "theirs.txt", folder)
    fetched = snakemake(project, "--until", "fetch_source", *rules, targets=targets, papers=papers)
    assert fetched.returncode == 0, fetched.stderr[-3000:]
    make_up(project, targets, papers)
    assert planned(project, targets, papers) == {}
    return project


@pytest.mark.parametrize(
    ("change", "runs"),
    [
        (grown("papers/lawngnli/nli_tables.py"), {"table"}),
        (grown("tables/comparison.py"), {"table"}),
        (
            registered("papers/lawngnli.yaml", "groups: [analysis, above_median", "groups: [above_median"),
            {"classification_score", "table"},
        ),
        # The views that a model is tested on are not a setting of its training.
        (
            registered("papers/lawngnli.yaml", "short: [short, long, long_512", "short: [long, long_512"),
            {"classification_read", "classification_read_linear", "classification_score", "table"},
        ),
    ],
    ids=["table", "comparison", "groups", "readings"],
)
def test_a_change_of_reading_or_tables_trains_nothing(viewed, tmp_path, change, runs):
    assert changed(viewed, tmp_path, change, NLI, "[lawngnli]").keys() == runs


@pytest.mark.parametrize(
    ("change", "first", "stays"),
    [
        (
            grown("papers/lawngnli/pairs.py"),
            {"lawngnli_pairs": 1, "classification_train": 4},
            {"lawngnli_examples", "lawngnli_long_premises", "anli_data"},
        ),
        # The training on the first data set, and those that start from it.
        (
            grown("corpora/nli/raw.py"),
            {"anli_data": 1, "classification_train": 3},
            {"lawngnli_pairs", "classification_train_linear"},
        ),
    ],
    ids=["pairs", "first data set"],
)
def test_a_change_of_training_data_trains_again(viewed, tmp_path, change, first, stays):
    jobs = changed(viewed, tmp_path, change, NLI, "[lawngnli]")
    assert first.items() <= jobs.items()
    assert not jobs.keys() & stays


# Answers to questions about documents, and prompts to language models.

ANSWERS = ("privacy_table2", "privacy_table3", "privacy_table_agreement")
SCORED = {"answers_score", "table"}


@pytest.fixture(scope="module")
def answered(finished, tmp_path_factory):
    """A project with empty outputs of the privacy corpus's Tables 2 and 3."""
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
        (grown("../scripts/answers_prior.py"), {"answers_prior", *SCORED}),
        # The jobs rerun and read every answer from the cache.
        (grown("models/multiple_choice.py"), {"answers_ask", "answers_mark_ask", *SCORED}),
        (registered("papers/privacy.yaml", "marked: 5", "marked: 4"), {"answers_mark_ask", *SCORED}),
        (registered("papers/privacy.yaml", "by category\n", "of each category\n"), {"table"}),
    ],
)
def test_a_change_of_answers_or_prompts_reruns_them(answered, tmp_path, change, runs):
    assert changed(answered, tmp_path, change, ANSWERS, "[privacy]").keys() == runs
