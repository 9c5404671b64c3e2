"""Which jobs rerun after a change, tested by dry runs of a project with empty outputs.

The outputs, apart from ACORD's sources, are empty files that are marked as finished
(`--touch`), so that a plan takes seconds.  test_sample shows that real results are
reused.  Only a few code changes are tested here; test_fingerprint tests the modules of
each script.

Changes are made in one folder, which is restored after each test: the server that runs
Snakemake there has imported the package in this folder.
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

from helpers import forked, project_copy
from helpers.wordpiece import wordpiece
from lextables import ROOT

RESULTS = Path("results/sample")
TARGETS = ("acord_table_d3", "acord_table_d4", "acord_table_c2")


def snakemake(project, *arguments, targets=TARGETS, papers="[acord]", is_copy=False):
    """Run Snakemake in a project; one that is a copy in another folder imports its own
    package.
    """
    model = "extra_models={name: Mine, kind: bi-encoder, model: ../mine}"
    file = "extra_predictions={name: Theirs, paper: acord, file: ../theirs.txt}"
    config = (f"papers={papers}", model, file)
    words = (*targets, "--cores", "2", "--nolock", *arguments, "--config", *config)
    package = None if is_copy else project
    return forked.snakemake(project, *words, project=package)


def planned(project, **options):
    """Jobs of a dry run (`snakemake`): {rule: number of jobs}."""
    run = snakemake(project, "--dry-run", **options)
    assert run.code == 0, run.output[-3000:]
    stats = re.search(r"Job stats:\n.*\n-+.*\n((?:\S+ +\d+\n)+)", run.output)
    if stats is None:
        assert "Nothing to be done" in run.output
        return {}
    jobs = {}
    for line in stats[1].splitlines():
        name, count = line.split()
        if name not in ("total", *TARGETS):
            jobs[name] = int(count)
    return jobs


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a finished project, `one`, and with a model and a ranking of a
    user.
    """
    folder = tmp_path_factory.mktemp("reruns")
    project = project_copy.copied(folder / "one")
    sizes = {
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    BertModel(BertConfig(vocab_size=8, **sizes)).save_pretrained(folder / "mine")
    wordpiece(["the", "contract", "ends"]).save_pretrained(folder / "mine")
    (folder / "theirs.txt").write_text("cap Q0 clause 1 0.5 theirs\n")

    # The sample of this project has a model that is first trained on another data set.
    lawngnli('- "MiniLM encoder, after ANLI"', '- "MiniLM encoder"')(project)
    lawngnli("data: [anli, ", "data: [")(project)
    fetched = snakemake(project, "--until", "fetch_source")
    assert fetched.code == 0, fetched.output[-3000:]
    record(project).parent.mkdir(parents=True)
    record(project).write_text('{\n  "libraries": {\n    "torch": "0.1"\n  }\n}\n')
    make_up(project)
    return folder


def record(project):
    """The record of the user's model, made with another version of torch."""
    return project / RESULTS / "runs/acord/retrieve/own-mine/short/seed0/run.json"


# Names of outputs that are folders: of runs, and of LawngNLI.
FOLDERS = {"weights", "reading", "index", "cited"}


def make_up(project, targets=TARGETS, papers="[acord]"):
    """Write empty files for missing outputs of all targets, and mark the outputs as
    finished.
    """
    listed = snakemake(project, "--summary", targets=targets, papers=papers)
    assert listed.code == 0, listed.output[-3000:]
    for line in listed.output.splitlines():
        path = project / line.split("\t")[0]
        if str(path).startswith(str(project / RESULTS)) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.name in FOLDERS:
                path.mkdir()
            else:
                path.touch()
    touched = snakemake(
        project, "--touch", "--forceall", targets=targets, papers=papers
    )
    assert touched.code == 0, touched.output[-3000:]


@pytest.fixture
def project(finished, tmp_path):
    """The finished project; afterwards its folder is as before, with the same
    modification times.
    """
    shutil.copytree(finished, tmp_path / "kept", symlinks=True)
    yield finished / "one"
    shutil.rmtree(finished)
    (tmp_path / "kept").rename(finished)


def test_a_finished_project_reruns_nothing_in_another_folder(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "moved", symlinks=True)
    assert planned(tmp_path / "moved/one", is_copy=True) == {}


def test_moving_the_code_does_not_repeat_downloads_or_training(finished, tmp_path):
    """The results are not moved.

    Tables rerun, because their inputs include files of the project.
    """
    shutil.copytree(finished / "one", tmp_path / "further/two", symlinks=True)
    snakefile = tmp_path / "further/two/Snakefile"
    run = snakemake(
        finished / "one", "--dry-run", "--snakefile", snakefile, is_copy=True
    )
    assert run.code == 0, run.output[-3000:]
    assert not {"fetch_source", "acord_data", "train"} & set(run.output.split())
    assert "table" in run.output.split()


def weights(project):
    return project.parent / "mine/model.safetensors"


def rewrite_weights(project):
    tensors = load_file(weights(project))
    name = sorted(tensors)[0]
    save_file(
        tensors | {name: tensors[name] + 1}, weights(project), metadata={"format": "pt"}
    )


def rewrite_record(project):
    record(project).write_text('{"seconds": 2}')


def registry(old, new):
    """An edit of ACORD's entry in the registry of sources."""

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
    """An edit whose modification time is older than the results, as after `cp -p`, tar
    or rsync.
    """
    return in_turn(
        registered(file, old, new),
        lambda project: os.utime(project / "resources" / file, (1e9, 1e9)),
    )


def appended(file, text):
    """An edit of a module, named by its path in the package."""

    def change(project):
        path = project / "workflow/lextables" / file
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")

    return change


def grown(file):
    """A small change of the code of a module."""
    return appended(file, "\n_GROWN = 1\n")


def commented(file):
    return appended(file, "\n# A remark.\n")


def in_turn(*changes):
    """Several changes as one."""

    def change(project):
        for each in changes:
            each(project)

    return change


def other_archive(project):
    path = project / "resources/sample/acord/ACORD.zip"
    path.write_bytes(path.read_bytes() + b" ")


def other_volume(project):
    (path,) = (project / "resources/sample/caselaw").rglob("902.zip")
    path.write_bytes(path.read_bytes() + b" ")


def predictions(project):
    return project.parent / "theirs.txt"


def rewrite_predictions(project):
    predictions(project).write_text("cap Q0 clause 1 0.6 theirs\n")


def move_predictions(project):
    predictions(project).rename(project.parent / "elsewhere.txt")
    predictions(project).symlink_to("elsewhere.txt")


# Changes of files that leave their content, or what is read of it, as it was.
NO_CHANGE = in_turn(
    lambda project: os.utime(weights(project)),
    lambda project: (project.parent / "mine/README.md").write_text("a card"),
    lambda project: os.utime(predictions(project)),
    move_predictions,
    lambda project: os.utime(project / "resources/sample/acord/ACORD.zip"),
)


def test_the_reason_for_rerunning_a_table_is_short_and_names_the_change(project):
    backdated("papers/acord.yaml", 'title: "', 'title: "On ')(project)
    _, output = snakemake(project, "--dry-run")
    assert output.count("Params have changed since last execution") == len(TARGETS)
    assert max(map(len, output.splitlines())) < 500
    for path in (project / ".snakemake/metadata").rglob("*"):
        record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        if record.get("rule") == "table":
            assert max(map(len, map(str, record["params"]))) < 200


def test_runs_of_other_library_versions_are_listed_and_rerun_on_request(finished):
    project = finished / "one"
    _, output = snakemake(project, "--dry-run")
    folder = record(project).parent.relative_to(project)
    assert (
        f"Made with other library versions, and kept: {folder}: torch 0.1 (now "
        in output
    )
    assert "Nothing to be done" in output
    (listed,) = re.findall(r"add --forcerun \$\(cat (\S+)\) to the command", output)
    again = (project / listed).read_text().split()
    assert again == [str(folder / "run.json")]
    run = snakemake(project, "--dry-run", "--forcerun", *again)
    assert re.search(r"^acord_retrieve_bi_encoder +1$", run.output, re.M)


def test_no_input_of_any_paper_is_an_absolute_path(finished):
    """Otherwise moving a project would rerun everything."""
    words = ("--filegraph", "--nolock", "data")
    run = forked.snakemake(finished / "one", *words, project=finished / "one")
    assert run.code == 0, run.output[-3000:]
    assert f"{RESULTS}/sources/cuad/" in run.output
    assert str(finished) not in run.output


def test_no_param_is_an_absolute_path(finished):
    """Snakemake's own records hold the params and inputs of every job."""
    files = (finished / "one/.snakemake/metadata").rglob("*")
    records = [
        json.loads(path.read_text(encoding="utf-8")) for path in files if path.is_file()
    ]
    assert len(records) > 20
    for record in records:
        for text in (*map(str, record["params"]), *record["input"]):
            assert str(finished) not in text
            assert str(ROOT) not in text
            assert sys.prefix not in text


@pytest.fixture(scope="module")
def plan(finished):
    """A dry run of the project with other targets and another configuration: (exit
    code, output).
    """

    def planned(*targets_and_config):
        words = ("--dry-run", "--nolock", *targets_and_config)
        return forked.snakemake(finished / "one", *words, project=finished / "one")

    return planned


def test_an_invalid_model_raises_an_error_during_planning(plan):
    """Only if a requested paper would run it."""
    model = "extra_models={name: Theirs, kind: cross-encoder, model: ../mine}"
    code, output = plan("data", "--config", "papers=[acord]", model)
    assert code != 0
    assert "config, extra_models, Theirs: the weights lack 2 tensors" in output
    assert "Traceback" not in output
    assert plan("data", "--config", "papers=[cuad]", model).code == 0


def test_missing_inputs_of_one_paper_do_not_block_other_papers(plan):
    missing = ("parser=/no/such/folder", "encoder=none-such", "caselaw=[us:1-2]")
    release = ("data=release", "models=available", "mirror=resources/sample", *missing)
    code, output = plan("all", "--config", "papers=[acord]", *release)
    assert code == 0, output[-3000:]
    assert "acord_retrieve_bm25" in output
    assert "lawngnli" not in output.split("Job stats:")[1]


def test_windows_of_two_grids_are_in_different_folders(plan, tmp_path):
    """Folders are named after length and step, so that a grid never reads or replaces
    other windows.
    """
    folders = {}
    model = "minilm-contracts"
    for grid in ("sample", "paper"):
        run = f"{RESULTS}/runs/cuad/read/{model}/{grid}-p100/seed0/predictions.parquet"
        config = ("papers=[cuad]", f"grid={grid}", "models=available")
        code, output = plan(run, "--directory", tmp_path, "--config", *config)
        assert code == 0, output[-3000:]
        place = rf"features/spans/cuad/{model}/(\d+x\d+)/test/features\.json"
        (folders[grid],) = set(re.findall(place, output))
    assert folders["sample"] != folders["paper"]


# Changes, and the rules that rerun.

EXPORTS = ("report/.complete", "publish/acord/.complete", "publish/printed/printed.csv")


def table_of_another_run(project):
    theirs = project / RESULTS / "tables/cuad/table3.csv"
    theirs.parent.mkdir(parents=True)
    theirs.touch()


def without_submitted_predictions(project):
    shutil.rmtree(project / RESULTS / "runs/acord/submitted")


# {panel: (targets, papers, rules that are run)}; the other outputs are empty.
PANELS = {
    "acord": (TARGETS, "[acord]", ()),
    "exports": (tuple(str(RESULTS / place) for place in EXPORTS), "[acord]", ()),
    "all": (
        (
            *("acord_table_d4", "cuad_table2"),
            *("maud_table3", "maud_table4", "maud_table12"),
            # Models trained on views of the data, one of them after training on another
            # data set.
            *("lawngnli_table3", "lawngnli_table5"),
            # Answers to questions about documents, and prompts to language models.
            *("privacy_table2", "privacy_table3", "privacy_table_agreement"),
        ),
        "[acord,cuad,lawngnli,maud,privacy]",
        ("caselaw_volumes",),
    ),
}
# Changes of texts, and of settings that no run uses.
READ_BY_TABLES = in_turn(
    backdated("readings/lawngnli.csv", ",", " ,"),
    registered("papers/cuad.yaml", "Models fine-tuned on CUAD", "Models tuned on CUAD"),
    registered("papers/maud.yaml", "Single-task AUPR by", "Single-task areas by"),
    registered(
        "papers/maud.yaml", "epochs: [1, 2, 3, 4, 5, 6]", "epochs: [1, 2, 3, 4, 5]"
    ),
)


@pytest.fixture(scope="module")
def panels(tmp_path_factory):
    """The folder of the panels that are made."""
    return tmp_path_factory.mktemp("panels")


@pytest.fixture
def panel(finished, project, panels):
    """Returns a function that gives the project the empty outputs of one of
    `PANELS`.
    """

    def make(name):
        targets, papers, rules = PANELS[name]
        if (panels / name).exists():
            shutil.rmtree(finished)
            shutil.copytree(panels / name, finished, symlinks=True)
            return project
        if rules:
            run = snakemake(project, "--until", *rules, targets=targets, papers=papers)
            assert run.code == 0, run.output[-3000:]
        if targets != TARGETS:
            make_up(project, targets, papers)
        shutil.copytree(finished, panels / name, symlinks=True)
        return project

    return make


@pytest.fixture
def rerun(panel):
    """Returns a function that gives the jobs after a change of a panel: {rule: number
    of jobs}.
    """

    def jobs(name, change):
        name, _, paper = name.partition("/")
        targets, papers, _ = PANELS[name]
        project = panel(name)
        change(project)
        if paper:
            targets = [target for target in targets if target.startswith(paper)]
            papers = f"[{paper}]"
        counts = planned(project, targets=targets, papers=papers)
        return {rule: count for rule, count in counts.items() if rule not in targets}

    return jobs


def test_a_failed_report_or_export_keeps_the_previous_one(panel):
    """The jobs fail because their inputs are empty files, and a table has no column of
    a table.
    """
    project = panel("exports")
    previous = {"report": "index.html", "publish/acord": "README.md"}
    for folder, name in previous.items():
        (project / RESULTS / folder).mkdir(exist_ok=True)
        (project / RESULTS / folder / name).write_text("previous")
    (project / RESULTS / "tables/acord/table_d3.csv").write_text("a\n1\n")
    targets = [str(RESULTS / folder / ".complete") for folder in previous]
    rules = ("report", "export")
    run = snakemake(project, "--keep-going", "--forcerun", *rules, targets=targets)
    assert run.code != 0
    for folder, name in previous.items():
        (file,) = (project / RESULTS / folder).iterdir()
        assert file.name == name
        assert file.read_text() == "previous"
    assert planned(project, targets=targets).keys() >= {*rules}


def test_an_export_with_other_content_is_uploaded_again(panel):
    """Also if a command without ``push`` made it."""
    project = panel("exports")
    uploaded = RESULTS / "publish/pushed/acord.txt"
    (project / uploaded).parent.mkdir()
    (project / uploaded).touch()
    words = (uploaded, "--cores", "2", "--nolock", "--config", "push=me/tables")
    config = ("papers=[acord]", "extra_models=[]", "extra_predictions=[]")

    def planned_jobs(*arguments):
        run = forked.snakemake(project, *words, *config, *arguments, project=project)
        assert run.code == 0, run.output[-3000:]
        return run.output

    planned_jobs("--touch", "--forceall")
    assert "Nothing to be done" in planned_jobs("--dry-run")
    exported = project / RESULTS / "publish/acord/.complete"
    exported.touch()
    assert "Nothing to be done" in planned_jobs("--dry-run")
    exported.write_text("sha256:other\n")
    assert re.search(r"push +1\n", planned_jobs("--dry-run"))


def prompt(name):
    return registered(f"prompts/{name}.txt", "an experienced", "a patient")


def lawngnli(old, new):
    return registered("papers/lawngnli.yaml", old, new)


# Changed registry texts rerun the pages that show them, regardless of modification
# times.
PAGES = "table figure report export"
SPANS = "join score train read"
# (panel, change, {rule that reruns: number of jobs}, rules that do not rerun); without
# a dict, the rules are all that rerun.  Of panel "all/cuad", only CUAD's tables are
# planned.
RERUNS = [
    ("acord", NO_CHANGE, "", ""),
    (
        "acord",
        in_turn(rewrite_weights, rewrite_predictions),
        {"acord_retrieve_bi_encoder": 1, "submitted": 1, "score": 2, "table": 2},
        "acord_data train fetch_source",
    ),
    (
        "acord",
        in_turn(
            rewrite_record,
            registry("written for the sample", "that we wrote"),
            backdated("published/acord.csv", "fraud, negl", "fraud or negl"),
        ),
        "table",
        "",
    ),
    ("acord", other_archive, {"fetch_source": 1, "acord_data": 1}, ""),
    (
        "exports",
        in_turn(
            table_of_another_run,
            grown("publish/card.py"),
            backdated("published/cuad.csv", "Table", "In Table"),
        ),
        "report export printed",
        "",
    ),
    # Submitted predictions are not exported.
    (
        "exports",
        in_turn(grown("../scripts/publish_printed.py"), without_submitted_predictions),
        "printed",
        "",
    ),
    (
        "exports",
        in_turn(
            registry("licence: ", "licence: not "),
            backdated("papers/acord.yaml", 'citation: "', 'citation: "New '),
        ),
        PAGES,
        "",
    ),
    (
        "all",
        in_turn(
            commented("pipeline/config.py"),
            commented("metrics/ranking.py"),
            grown("tasks/spans/actions/choose.py"),
            grown("metrics/spans.py"),
        ),
        f"{SPANS} table",
        "",
    ),
    (
        "all",
        in_turn(
            READ_BY_TABLES,
            backdated("facts/cuad_contracts.csv", ",", " ,"),
            *(
                grown(f"tasks/{task}/training.py")
                for task in ("retrieval", "spans", "classification")
            ),
        ),
        # All trainings but the linear classifier's, which imports none of these
        # modules.
        {"cuad_data": 1, "search": 2, "train": 9},
        "maud_data acord_retrieve_bi_encoder lawngnli_pairs",
    ),
    # The training on the first data set, and the trainings that start from its weights.
    (
        "all/lawngnli",
        grown("corpora/nli/raw.py"),
        {"anli_data": 1, "train": 2},
        "lawngnli_pairs",
    ),
    # Volumes of case law are fetched once, and again if they change.
    (
        "all/lawngnli",
        other_volume,
        {"caselaw_volumes": 1, "lawngnli_pairs": 1},
        "fetch_source",
    ),
    # The test views of a model are not a setting of its training.
    (
        "all/lawngnli",
        lawngnli("short: [short, long, long_512", "short: [long, long_512"),
        "read score table",
        "",
    ),
    (
        "all/privacy",
        in_turn(
            commented("tasks/answers/predictors/language_model.py"),
            registered("prices.yaml", ": 2.5", ": 3.5"),
            prompt("policy_answer"),
        ),
        "privacy_ask score table",
        "",
    ),
]


@pytest.mark.parametrize(("name", "change", "reruns", "stays"), RERUNS)
def test_a_change_reruns_the_affected_rules(rerun, name, change, reruns, stays):
    jobs = rerun(name, change)
    if isinstance(reruns, str):
        assert jobs.keys() == {*reruns.split()}
    else:
        assert {rule: jobs.get(rule) for rule in reruns} == reruns
        assert not jobs.keys() & {*stays.split()}
