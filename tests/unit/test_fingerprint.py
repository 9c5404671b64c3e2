"""Fingerprints change with the code that a script runs, and with nothing else."""

import fnmatch
import os
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from modulefinder import ModuleFinder
from pathlib import Path

import pytest

from lextables.pipeline import fingerprint as module
from lextables.pipeline.errors import BadInput
from lextables.pipeline.fingerprint import INFRASTRUCTURE, digests, fingerprint
from lextables.planning import scripts
from lextables.registry.packages import TASKS

REPOSITORY = Path(__file__).parents[2]
WORKFLOW = REPOSITORY / "workflow"

# A small package with two scripts.  The texts below are replaced in its files.

FILES = {
    "scripts/train.py": '''"""What it does."""

import numpy as np
from lextables.used import read

read("a", np.ones)  # a remark
''',
    "scripts/score.py": """from importlib import import_module

import lextables.metrics.recall

import_module(f"lextables.papers.{paper}.raw").read("a", lextables.metrics.recall)
import_module("lextables.text").cut()
""",
    "lextables/__init__.py": '"""The package."""\n',
    "lextables/used.py": '''"""A module."""

from lextables.metrics import f1
from lextables.pipeline.job import job


def read(path: str, *, sep=","):
    """Read a table."""
    from .inner import parse  # only where it is needed

    if f1:
        job(path)
    parse(f1, path, sep, f"{path!r:>{2}}")


class Empty(Exception):
    """Nothing there."""
''',
    "lextables/metrics/__init__.py": '"""Metrics."""\n\nfrom .scores import f1\n',
    "lextables/metrics/scores.py": "f1 = 1\n",
    "lextables/metrics/recall.py": "recall = 3\n",
    "lextables/inner.py": '''"""Inner."""

from . import style

WORDS = """
  two
"""


def parse(*parts): return parts, "page.css"
''',
    "lextables/style.py": 'import lextables.text as text\n\nLAYOUT = "layouts/.a.j2"\n',
    "lextables/page.css": "td { color: black }\n",
    "lextables/other.css": "td { color: red }\n",
    "lextables/layouts/.a.j2": "one\n",
    "lextables/text.py": "def cut(): return 1\n",
    "lextables/papers/a/raw.py": "read = print\n",
    "lextables/papers/b/raw.py": "read = repr\n",
    "lextables/pipeline/job.py": "from lextables.pipeline import locks\n\njob = 1\n",
    "lextables/pipeline/locks.py": "lock = 1\n",
    "lextables/other.py": "y = 1\n",
}
USED, INNER = "lextables/used.py", "lextables/inner.py"
TRAIN, SCORE = "scripts/train.py", "scripts/score.py"
# (change, file, old text, new text, the scripts whose fingerprints change)
CHANGES = [
    ("a comment is deleted", USED, "  # only where it is needed", "", ""),
    ("a comment is added", USED, "def read", "# Reads.\ndef read", ""),
    ("a docstring of a script", TRAIN, "What it does", "What it is for", ""),
    ("a docstring of a module", USED, "A module.", "One module.", ""),
    ("a docstring of a function", USED, "Read a table.", "Read one table.", ""),
    ("pass in place of a docstring", USED, '"""Nothing there."""', "pass", ""),
    ("blank lines", USED, "\n\n\n", "\n\n", ""),
    ("line breaks", USED, "(f1, path, sep, ", "(\n  f1,\n  path,\n  sep,\n  ", ""),
    ("brackets", INNER, 'parts, "page.css"', '(parts, ("page.css"))', ""),
    ("quotes", USED, '","', "','", ""),
    ("a string in two parts", INNER, '"page.css"', '"page" ".css"', ""),
    ("line ends", INNER, "\n", "\r\n", ""),
    ("a module that nothing imports", "lextables/other.py", "1", "2", ""),
    ("another paper's module", "lextables/papers/b/raw.py", "repr", "str", ""),
    ("a file that no module names", "lextables/other.css", "red", "blue", ""),
    ("infrastructure", "lextables/pipeline/job.py", "job = 1", "job = 2", ""),
    ("imported by infrastructure", "lextables/pipeline/locks.py", "1", "2", ""),
    ("code of a script", TRAIN, '"a"', '"b"', "train"),
    ("code of a module", USED, "path, sep,", "sep, path,", "train"),
    ("a string of a module", USED, '","', '";"', "train"),
    ("spaces inside a string", INNER, "  two", "two", "train"),
    ("a conversion in an f-string", USED, "!r", "!s", "train"),
    ("a width in an f-string", USED, ":>{2}", ":>{3}", "train"),
    ("a keyword-only argument", USED, ", *, sep", ", sep", "train"),
    ("an annotation", USED, "path: str", "path: bytes", "train"),
    (
        "the type of a constant",
        "lextables/metrics/scores.py",
        "= 1",
        "= 1.0",
        "score train",
    ),
    ("return None", USED, "    parse(", "    return None\n    parse(", "train"),
    (
        "moved out of an if",
        USED,
        "        job(path)",
        "        pass\n    job(path)",
        "train",
    ),
    ("another library", TRAIN, "import numpy as np", "import cupy as np", "train"),
    ("imported in a function", INNER, "return parts", "return parts[0]", "train"),
    ("a relative import", "lextables/style.py", '"\n', '"\nx = 1\n', "train"),
    (
        "imported by __init__",
        "lextables/metrics/scores.py",
        "= 1",
        "= 2",
        "score train",
    ),
    ("imported by its long name", "lextables/metrics/recall.py", "3", "4", "score"),
    ("imported by a string", "lextables/text.py", "1", "2", "score train"),
    ("by a computed name", "lextables/papers/a/raw.py", "print", "repr", "score"),
    (
        "a package's __init__",
        "lextables/metrics/__init__.py",
        "f1",
        "f2",
        "score train",
    ),
    (
        "the outermost __init__",
        "lextables/__init__.py",
        '"\n',
        '"\nx = 1\n',
        "score train",
    ),
    ("a data file", "lextables/page.css", "black", "blue", "train"),
    ("a data file in a subfolder", "lextables/layouts/.a.j2", "one", "two", "train"),
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The folder of the small package; one of its folders is a link."""
    project = tmp_path / "[1]__pycache__"
    (tmp_path / "metrics").mkdir()
    (project / "lextables").mkdir(parents=True)
    (project / "lextables/metrics").symlink_to(tmp_path / "metrics")
    for name, text in FILES.items():
        write(project / name, text)
    monkeypatch.setattr(module, "ROOT", project)
    monkeypatch.setattr(scripts, "PACKAGE", project / "lextables")
    monkeypatch.setattr(scripts, "SCRIPTS", project / "scripts")
    monkeypatch.chdir(tmp_path)
    yield project
    forget()


def write(path, text):
    """Write a file; all files have the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (0, 0))


def forget():
    """Forget what a new process does not know."""
    scripts.fingerprint_of.cache_clear()
    scripts.stored_fingerprints.cache_clear()
    scripts._digest_of_file.cache_clear()
    module._data_files.cache_clear()


def fingerprints(project):
    """Return the fingerprints in a new process."""
    forget()
    return {
        "train": scripts.fingerprint_of("train.py"),
        "score": scripts.fingerprint_of("score.py", "lextables.papers.a.raw"),
    }


@pytest.mark.parametrize(
    ("file", "old", "new", "scripts"),
    [change[1:] for change in CHANGES],
    ids=[change[0] for change in CHANGES],
)
def test_a_change_changes_the_fingerprints_of_these_scripts(
    project, file, old, new, scripts
):
    before = fingerprints(project)
    text = (project / file).read_text()
    assert old in text
    write(project / file, text.replace(old, new))
    after = fingerprints(project)
    assert {name for name in before if after[name] != before[name]} == {
        *scripts.split()
    }


def test_a_renamed_module_changes_the_fingerprint(project):
    before = fingerprints(project)
    (project / "lextables/text.py").rename(project / "lextables/words.py")
    for name in ("lextables/style.py", SCORE):
        text = (project / name).read_text()
        (project / name).write_text(text.replace("lextables.text", "lextables.words"))
    after = fingerprints(project)
    assert not after.items() & before.items()


@pytest.mark.parametrize("name", ["lextables.used", "lextables.metrics.scores"])
def test_a_module_can_be_requested_by_its_dotted_name(project, name):
    before = fingerprint(name)
    (project / "lextables/metrics/scores.py").write_text("f1 = 2\n")
    assert fingerprint(name) != before


def test_infrastructure_counts_if_it_is_requested(project):
    assert digests("lextables.pipeline.job").keys() == {
        "lextables/__init__.py",
        "lextables/pipeline/job.py",
    }


@pytest.mark.parametrize(
    "name", ["lextables.nothing", "lextables.metrics.scores.f1", "nothing"]
)
def test_a_missing_module_raises_an_error(project, name):
    with pytest.raises(ModuleNotFoundError, match=name):
        fingerprint(name)


def test_modules_imported_by_a_computed_name_must_be_requested(project):
    with pytest.raises(ModuleNotFoundError, match=r"scripts/score\.py imports"):
        fingerprint(str(project / SCORE), "lextables.used")


def test_stored_fingerprints_are_used_while_the_code_is_the_same(project, monkeypatch):
    # An editor's mark of an open file, which leads nowhere.
    (project / "lextables/.#used.py").symlink_to("nowhere")
    before = fingerprints(project)
    other = scripts.fingerprint_of("score.py", "lextables.papers.b.raw")
    assert other not in before.values()
    write(project / "lextables/__pycache__/used.pyc", "x")
    monkeypatch.setattr(scripts, "fingerprint", None)
    assert fingerprints(project) == before


def test_a_renamed_data_file_changes_the_fingerprint(project):
    before = fingerprints(project)
    (project / "lextables/layouts/.a.j2").rename(project / "lextables/layouts/.b.j2")
    assert fingerprints(project)["train"] != before["train"]


def test_a_change_of_the_code_during_a_run_is_not_stored(project, monkeypatch):
    before = fingerprints(project)
    write(project / USED, "")
    forget()
    scripts.stored_fingerprints()
    write(project / USED, FILES[USED])
    assert scripts.fingerprint_of("train.py") == before["train"]
    write(project / USED, "")
    assert fingerprints(project)["train"] != before["train"]


@pytest.mark.parametrize(
    ("old", "new"),
    [(".*", "5"), (".*", "[" * 100_000), ('(.*)[0-9a-f]{16}"', r'\1ffffffffffffffff"')],
)
def test_damaged_fingerprints_are_stored_again(project, monkeypatch, old, new):
    before = fingerprints(project)
    text = scripts.STORED.read_text()
    write(scripts.STORED, re.sub(old, new, text, count=1))
    assert fingerprints(project) == before
    assert scripts.STORED.read_text() == text


def test_fingerprints_that_cannot_be_stored(project):
    before = fingerprints(project)
    scripts.STORED.unlink()
    scripts.STORED.mkdir()
    assert fingerprints(project) == before
    scripts.STORED.rmdir()
    (project / "lextables/memory").symlink_to("/proc/self/mem")  # unreadable
    assert fingerprints(project) == before
    assert not scripts.STORED.exists()


# Python 3.12 and 3.13 build slightly different syntax trees, and the order of sets
# differs between processes; the same code must have one fingerprint.
SAME_CODE = '''
"""Doc."""
def plain(a, /, b=None, *c, d=1, **e): return {**e, "k": f"{a=}{b!r:>{d}}" "x" f"{a:}"}
async def waiting(): return [x async for x in y if x]
class K(A, metaclass=M):
    x: int = 1
    def f(self): "doc"
def none(): return None, "\u0378", -1e400, 1j, ...
match p:
    case {"a": [1, *rest]}: del rest
'''
ITS_FINGERPRINT = "803c96a99b0961b5"


def test_all_python_versions_give_the_same_fingerprint(project):
    (project / "scripts/same.py").write_text(SAME_CODE)
    assert fingerprint(str(project / "scripts/same.py")) == ITS_FINGERPRINT


def test_the_order_of_sets_does_not_change_a_fingerprint(project):
    """The order differs between processes."""
    program = (
        "import sys, fingerprint as f; from pathlib import Path; "
        "f.ROOT = Path(sys.argv[1]); print(f.fingerprint(sys.argv[2]))"
    )
    command = [sys.executable, "-c", program, project, project / TRAIN]
    found = set()
    for seed in "12":
        folder = str(Path(module.__file__).parent)
        env = {"PYTHONPATH": folder, "PYTHONHASHSEED": seed}
        run = subprocess.run(command, env=env, capture_output=True, check=True)
        found.add(run.stdout)
    assert len(found) == 1


# The scripts of the project.

SCRIPTS = {path.stem: path for path in sorted((WORKFLOW / "scripts").glob("*.py"))}
MODULES = [
    ".".join(path.relative_to(WORKFLOW).with_suffix("").parts)
    for path in sorted((WORKFLOW / "lextables").rglob("*.py"))
]
COMPUTED_NAME = re.compile(r'import_module\(\s*f"(.+?)"\s*\)')
# Modules that are imported through `registry.modules` and `registry.packages`.
THROUGH_PACKAGES = {
    "report": ["papers.*.exhibits"],
    "table": ["papers.*.entry", "tasks.*.planner"],
    "overlaps_page": ["papers.*.entry", "papers.*.tables", "tasks.*.planner"],
}


# {task_action: its module}; an action is run by the script `task`.
ACTIONS = {}
for place in sorted((WORKFLOW / "lextables/tasks").glob("*/actions/[!_]*.py")):
    task = place.parents[1].name
    ACTIONS[f"{task}_{place.stem}"] = f"lextables.tasks.{task}.actions.{place.stem}"
for task in TASKS:
    ACTIONS[f"{task}_submitted"] = f"lextables.tasks.{task}.submitted"
PROGRAMS = {**SCRIPTS, **dict.fromkeys(ACTIONS, SCRIPTS["task"])}
del PROGRAMS["task"]


@cache
def computed(script):
    """Return the modules that a script or an action imports by a computed name."""
    if script in ACTIONS:
        file = WORKFLOW / f"{ACTIONS[script].replace('.', '/')}.py"
        text = file.read_text(encoding="utf-8")
    else:
        text = PROGRAMS[script].read_text(encoding="utf-8")
    names = [re.sub(r"\{.*?\}", "*", name) for name in COMPUTED_NAME.findall(text)]
    names += [f"lextables.{name}" for name in THROUGH_PACKAGES.get(script, [])]
    found = {ACTIONS[script]} if script in ACTIONS else set()
    for name in names:
        found.update(fnmatch.filter(MODULES, name))
    return sorted(found)


@cache
def covered(script):
    return digests(str(PROGRAMS[script]), *computed(script)).keys()


def imported(script):
    """Return the files of the package that a script imports, as `modulefinder` says."""
    ignored = [name.removesuffix(".py").replace("/", ".") for name in INFRASTRUCTURE]
    finder = ModuleFinder([str(WORKFLOW)], excludes=ignored)
    finder.run_script(str(PROGRAMS[script]))
    files = [
        Path(found.__file__).relative_to(WORKFLOW).as_posix()
        for name, found in finder.modules.items()
        if name.startswith("lextables")
    ]
    return {*files, *(f"{name.replace('.', '/')}.py" for name in computed(script))}


# Downloads are checked by their digests; the summary, first contact and the
# configuration are always written.
WITHOUT_FINGERPRINT = {
    "fetch",
    "caselaw_volumes",
    "fetch_source",
    "effective_config",
    "check",
    "first_contact",
}


@pytest.mark.parametrize("script", sorted(PROGRAMS.keys() - WITHOUT_FINGERPRINT))
def test_a_fingerprint_covers_all_imports_of_its_script(script):
    wanted = imported(script)
    assert "lextables/__init__.py" in wanted
    assert not wanted - covered(script)


def test_computed_imports_are_f_strings():
    """`fingerprint` cannot follow others."""
    other = re.compile(
        r"__import__|runpy|import_module\((?!\s*f?\"lextables\.[^\"]+\"\s*\))"
    )
    # The server of jobs runs scripts, and no script imports it.
    exceptions = {Path(module.__file__), WORKFLOW / "lextables/planning/job_server.py"}
    for path in [*WORKFLOW.glob("lextables/**/*.py"), *SCRIPTS.values()]:
        if path not in exceptions:
            assert not other.search(path.read_text(encoding="utf-8")), path


def test_only_optional_modules_of_a_paper_package_are_left_out():
    names = scripts.package_modules("contracteval", "raw", optional=("entry", "tables"))
    package = "lextables.papers.contracteval"
    assert names == [f"{package}.raw", f"{package}.tables"]
    with pytest.raises(BadInput, match="papers/contracteval: the package has no entry"):
        scripts.package_modules("contracteval", "raw", "entry")


def test_the_fingerprint_of_a_table_without_its_paper_package_raises():
    registries = [name for name in computed("table") if name.endswith(".registry")]
    with pytest.raises(ModuleNotFoundError, match=r"table\.py imports .*\.tables"):
        digests(str(SCRIPTS["table"]), *registries)


# Scripts that train nothing: tables, report, review of a user's contract, submitted
# predictions.
REPORTING = {"table", "report", "overlaps_page", "review_contract"}
REPORTING.update(f"{task}_submitted" for task in TASKS)
LINEAR_SPANS = "spans_train_linear spans_predict_linear"
ASKING = "answers_predict classification_ask retrieval_rank spans_ask spans_write"
PLANS = "tasks/answers tasks/classification tasks/retrieval tasks/spans"


@pytest.mark.parametrize(
    ("name", "scripts"),
    [
        # The linear baseline is trained on labels by the evaluator's matching rule.
        (
            "metrics/spans",
            f"spans_choose spans_join spans_score {LINEAR_SPANS} review_marks",
        ),
        ("tasks/spans/linear", LINEAR_SPANS),
        ("tasks/spans/segments", f"spans_encode {LINEAR_SPANS}"),
        ("tasks/spans/segment_model", LINEAR_SPANS),
        ("tasks/spans/windows", "spans_windows spans_train spans_search spans_predict"),
        ("tasks/spans/training", "spans_train spans_search"),
        ("tasks/spans/inference", "spans_predict spans_search"),
        ("tasks/retrieval/training", "retrieval_train"),
        ("tasks/classification/training", "classification_train"),
        (
            "tasks/classification/linear",
            "classification_train_linear classification_predict_linear",
        ),
        ("metrics/answers", "answers_score"),
        # The export writes questions for other harnesses.
        ("models/multiple_choice", f"{ASKING} publish_export"),
        ("papers/lawngnli/hypotheses/contradiction", "lawngnli_contradictions"),
        ("papers/lawngnli/dataset/examples", "lawngnli_examples lawngnli_released"),
        ("corpora/nli/raw", "data"),
        *((f"{task}/planner", "") for task in PLANS.split()),
        ("papers/lawngnli/evaluation/nli_tables", ""),
        ("papers/privacy/tables", ""),
    ],
)
def test_a_module_is_in_the_fingerprints_of_these_scripts(name, scripts):
    file = f"lextables/{name}.py"
    names = PROGRAMS.keys() - WITHOUT_FINGERPRINT
    found = {script for script in names if file in covered(script)}
    assert found - REPORTING == {*scripts.split()}


TRAINING = [name for name in ACTIONS if re.search("_(train|search|predict)$", name)]
LONG_STEPS = "index candidates parentheticals contradictions"


@pytest.mark.parametrize(
    ("script", "modules"),
    [
        *((script, r"lextables/sources/") for script in TRAINING),
        *(
            (
                f"lawngnli_{step}",
                r".*/(bi_encoder|loading|vectors|neutralization|examples|statistics|tables)\.py",
            )
            for step in LONG_STEPS.split()
        ),
    ],
)
def test_a_script_does_not_depend_on_modules(script, modules):
    files = {name for name in covered(script) if "schema/" not in name}
    assert len(files) > 5
    assert not [name for name in files if re.match(modules, name)]
    assert not files.intersection(INFRASTRUCTURE)


@pytest.mark.parametrize(
    ("kind", "other"),
    [("cross_encoder", "bi_encoder"), ("bi_encoder", "cross_encoder")],
)
def test_training_does_not_depend_on_other_kinds_of_models(kind, other):
    tuning = f"lextables.tasks.retrieval.{kind}_tuning"
    files = digests(str(SCRIPTS["task"]), ACTIONS["retrieval_train"], tuning)
    assert f"lextables/models/{kind}.py" in files
    assert f"lextables/models/{other}.py" not in files
    assert f"lextables/tasks/retrieval/{other}_tuning.py" not in files


RANKERS, PREDICTORS = "tasks/retrieval/rankers", "tasks/answers/predictors"


@pytest.mark.parametrize(
    ("script", "module", "others"),
    [
        ("retrieval_rank", f"{RANKERS}/bm25", "models/loading models/okapi"),
        ("retrieval_rank", f"{RANKERS}/fusion", "models/loading models/bm25"),
        ("retrieval_rank", f"{RANKERS}/bi_encoder", "models/bm25 models/api"),
        ("retrieval_rank", f"{RANKERS}/cross_encoder", "models/bm25 models/bi_encoder"),
        ("retrieval_rank", f"{RANKERS}/language_model", "models/bm25 models/in_parts"),
        ("answers_predict", f"{PREDICTORS}/words", "models/loading"),
        ("answers_predict", f"{PREDICTORS}/vectors", "models/multiple_choice"),
        ("answers_predict", f"{PREDICTORS}/language_model", "models/bi_encoder"),
    ],
)
def test_a_prediction_does_not_depend_on_other_kinds_of_models(script, module, others):
    name = f"lextables.{module.replace('/', '.')}"
    files = digests(str(SCRIPTS["task"]), ACTIONS[script], name).keys()
    assert f"lextables/{module}.py" in files
    assert not files & {f"lextables/{other}.py" for other in others.split()}
    assert not [file for file in files if "/metrics/" in file or "planner.py" in file]


# Rules

FILES_OF_RULES = [
    REPOSITORY / "Snakefile",
    *sorted((WORKFLOW / "rules").glob("**/*.smk")),
]


def test_each_rule_has_the_fingerprint_of_its_script():
    """A rule names its script in `script_params`, or has a function for the
    fingerprint.
    """
    planning = (WORKFLOW / "lextables/planning").glob("*.py")
    files = [*FILES_OF_RULES, *planning]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    text = re.sub(r"\(\s+", "(", text)  # the formatter breaks lines after a bracket
    paired = set(re.findall(r'\*\*script_params\(\s*"(\w+)"', text))
    apart = re.findall(r'(?:script=|"script": |scripts/)"?(\w+)(?:\.py)?"', text)
    assert paired | {*apart} == SCRIPTS.keys()
    assert not paired & {*apart}
    without = {name for name in apart if f'("{name}.py"' not in text}
    # The jobs of the script `task` have their own (`planning.jobs.PlannedJob.code`).
    assert without == WITHOUT_FINGERPRINT | {"task"}


def test_names_are_unique_across_rule_files():
    """All rule files share one namespace, in which a second definition would win."""
    places = defaultdict(set)
    for file in FILES_OF_RULES:
        text = file.read_text(encoding="utf-8")
        for name in re.findall(r"^(?:def )?(\w+)(?:\(| = )", text, flags=re.M):
            places[name].add(file.name)
    assert len(places) > 40
    assert not {name: files for name, files in places.items() if len(files) > 1}
