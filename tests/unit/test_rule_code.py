"""The fingerprint of each rule covers its script and everything that the script imports."""

import re
from collections import defaultdict
from functools import cache
from modulefinder import ModuleFinder
from pathlib import Path

import pytest

from lextables.pipeline import fingerprint
from lextables.pipeline.fingerprint import INFRASTRUCTURE, digests

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "workflow"
SCRIPTS = {path.stem: path for path in sorted((WORKFLOW / "scripts").glob("*.py"))}
FILES = [ROOT / "Snakefile", *sorted((WORKFLOW / "rules").glob("**/*.smk"))]
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in FILES)
TEXT = re.sub(r"\(\s+", "(", TEXT)  # the formatter breaks lines after a bracket
MODULES = [
    ".".join(path.relative_to(WORKFLOW).with_suffix("").parts)
    for path in sorted((WORKFLOW / "lextables").rglob("*.py"))
]
# Downloaded files are checked against their digests; the summary and the configuration are always written.
WITHOUT_FINGERPRINT = {
    "fetch",
    "caselaw_volumes",
    "fetch_source",
    "effective_config",
    "check",
}
# Modules that are imported through `papers.modules` and `papers.packages`.
THROUGH_PACKAGES = {
    "report": r"lextables\.papers\.\w+\.exhibits",
    "table": r"lextables\.(papers\.\w+\.registry|tasks\.\w+\.plan)",
    "overlaps_page": r"lextables\.(papers\.\w+\.(registry|tables)|tasks\.\w+\.plan)",
}


@cache
def computed(script):
    """The modules of all papers and kinds of models that a script imports by a computed name."""
    forms = fingerprint._parsed(SCRIPTS[script].read_bytes(), "")["forms"]
    forms += [THROUGH_PACKAGES[script]] if script in THROUGH_PACKAGES else []
    return [name for name in MODULES if any(re.fullmatch(form, name) for form in forms)]


@cache
def covered(script):
    return digests(str(SCRIPTS[script]), *computed(script)).keys()


def imported(script):
    """The modules of lextables that a script imports, directly or indirectly, according to `modulefinder`."""
    infrastructure = [
        name.removesuffix(".py").replace("/", ".") for name in sorted(INFRASTRUCTURE)
    ]
    finder = ModuleFinder([str(WORKFLOW)], excludes=infrastructure)
    finder.run_script(str(SCRIPTS[script]))
    files = (
        Path(module.__file__)
        for name, module in finder.modules.items()
        if name.startswith("lextables")
    )
    return {file.relative_to(WORKFLOW).as_posix() for file in files}


def test_each_rule_has_the_fingerprint_of_its_script():
    """A rule names its script once, in `script_params`, or uses a separate function for the fingerprint."""
    stages = re.search(r"^STAGES = \{.*?^\}", TEXT, re.M | re.S)[0]
    paired = set(re.findall(r'\*\*script_params\(\s*"(\w+)"', TEXT))
    paired |= {f"retrieval_{stage}" for stage in re.findall(r'\): "(\w+)"', stages)}
    apart = set(re.findall(r'(?:script=|"script": )"(\w+)"|scripts/(\w+)\.py"', TEXT))
    apart = {name for names in apart for name in names if name}
    assert paired | apart == SCRIPTS.keys()
    assert not paired & apart
    assert {
        name for name in apart if f'("{name}.py"' not in TEXT
    } == WITHOUT_FINGERPRINT


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_fingerprint_covers_all_imports_of_its_script(script):
    wanted = imported(script) | {
        f"{name.replace('.', '/')}.py" for name in computed(script)
    }
    assert "lextables/__init__.py" in wanted
    assert not wanted - covered(script)


def test_the_fingerprint_of_a_table_without_its_paper_package_raises():
    with pytest.raises(ModuleNotFoundError, match=r"table\.py imports .*\.tables"):
        digests(
            str(SCRIPTS["table"]),
            *(name for name in computed("table") if name.endswith(".registry")),
        )


def test_training_code_of_other_kinds_of_models_is_not_fingerprinted():
    kinds = ("cross_encoder", "bi_encoder")
    of_cross, of_bi = (
        set(
            digests(
                str(SCRIPTS["retrieval_train"]),
                f"lextables.tasks.retrieval.{kind}_tuning",
            )
        )
        for kind in kinds
    )
    for module in ("tasks/retrieval/bi_encoder_tuning", "models/bi_encoder"):
        assert f"lextables/{module}.py" in of_bi - of_cross
    for module in ("tasks/retrieval/cross_encoder_tuning", "models/cross_encoder"):
        assert f"lextables/{module}.py" in of_cross - of_bi


@pytest.mark.parametrize(
    ("module", "scripts"),
    [
        # The linear baseline uses the evaluator's functions to compute its training labels.
        (
            "metrics/spans",
            "spans_choose spans_join spans_score spans_train_linear spans_read_linear spans_quote cuad_marks",
        ),
        # `spans_vectors` does not use the linear models, but all scripts with linear models use `units`.
        ("tasks/spans/linear", "spans_train_linear spans_read_linear spans_quote"),
        (
            "tasks/spans/units",
            "spans_vectors spans_train_linear spans_read_linear spans_quote",
        ),
        ("tasks/spans/windows", "spans_features spans_train spans_search spans_read"),
        ("tasks/spans/training", "spans_train spans_search"),
        ("tasks/spans/reading", "spans_read spans_search"),
        ("tasks/retrieval/training", "retrieval_train"),
        ("tasks/classification/training", "classification_train"),
        (
            "tasks/classification/linear",
            "classification_train_linear classification_read_linear",
        ),
        ("metrics/answers", "answers_score"),
        # The export writes questions for other harnesses.
        (
            "models/multiple_choice",
            "answers_ask classification_ask retrieval_ask spans_ask spans_write publish_export",
        ),
        ("papers/lawngnli/hypotheses/contradiction", "lawngnli_contradictions"),
        ("papers/lawngnli/dataset/examples", "lawngnli_examples lawngnli_released"),
        ("corpora/nli/raw", "data"),
        *(
            (f"tasks/{task}/plan", "")
            for task in ("retrieval", "spans", "classification", "answers")
        ),
        *(
            (module, "")
            for module in (
                "papers/lawngnli/evaluation/nli_tables",
                "papers/privacy/tables",
            )
        ),
    ],
)
def test_a_module_is_in_the_fingerprints_of_these_scripts(module, scripts):
    """Scripts that train nothing are ignored: tables, report, review of a user's contract, submissions."""
    found = {
        script for script in SCRIPTS if f"lextables/{module}.py" in covered(script)
    }
    assert found - {
        "table",
        "report",
        "overlaps_page",
        "cuad_review",
        "submitted",
    } == set(scripts.split())


@pytest.mark.parametrize(
    "script",
    [name for name in SCRIPTS if re.search("_(train|search|read|pretrain)$", name)],
)
def test_training_does_not_depend_on_sources_or_infrastructure(script):
    files = covered(script)
    assert (
        "lextables/pipeline/atomic.py" in files
        or "lextables/pipeline/dataset.py" in files
    )
    assert [
        name
        for name in files
        if name.startswith("lextables/sources/") or name in INFRASTRUCTURE
    ] == []


@pytest.mark.parametrize(
    "step", ["index", "candidates", "parentheticals", "contradictions"]
)
def test_the_long_steps_of_lawngnli_do_not_depend_on_models_or_tables(step):
    files = covered(f"lawngnli_{step}")
    assert len(files) > 5
    later = re.compile(
        r"/(bi_encoder|loading|vectors|neutralization|examples|statistics|tables)\.py$"
    )
    assert [
        name for name in files if later.search(name) and "schema/" not in name
    ] == []


def test_names_are_unique_across_rule_files():
    """All rule files share one namespace, in which a second definition would replace the first."""
    places = defaultdict(set)
    for file in FILES:
        for name in re.findall(
            r"^(?:def )?(\w+)(?:\(| = )", file.read_text(encoding="utf-8"), flags=re.M
        ):
            places[name].add(file.name)
    assert len(places) > 100
    assert {
        name: sorted(files) for name, files in places.items() if len(files) > 1
    } == {}
