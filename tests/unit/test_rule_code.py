"""Each rule's fingerprint is of its own script, and of all that this imports."""

import re
from collections import defaultdict
from modulefinder import ModuleFinder
from pathlib import Path

import pytest
from snakemake.rules import Rule

from lextables.models.spending import Limits
from lextables.papers import packages
from lextables.pipeline.config import Config
from lextables.pipeline.fingerprint import AROUND, digests

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "workflow/scripts"
PACKAGE = ROOT / "workflow/lextables"
PAPERS = sorted(path.stem for path in (ROOT / "resources/papers").glob("*.yaml"))
# Bytes that are fetched are held to their digests; a summary and the configuration are written each time.
# These import modules of a paper package, by the paper's name.
BY_PAPER = {
    "data": ('package_code("data.py", package, "raw", "schema")',),
    "table": ("TABLE_PARAMS",),
    "report": ("REPORT_CODE",),
}
# These import how a kind of model is fine-tuned, by its name.
BY_KIND = {
    f"retrieval_{step}": f'tuning_code("retrieval_{step}.py", "{step}")' for step in ("search", "train")
}
# This imports how the predictions of a kind of task are read, by its name.
BY_TASK = {"submitted": "given_code"}
READERS = [
    f"lextables.tasks.{task}.submitted" for task in ("retrieval", "spans", "classification", "answers")
]
TUNINGS = [f"lextables.tasks.retrieval.{kind}_tuning" for kind in ("cross_encoder", "bi_encoder")]
MODULES = {"data": ("raw", "schema"), "table": ("registry", "tables")}
# What the paper packages show beside their tables: all of them are on one site.
EXHIBITS = [f"lextables.papers.{paper}.exhibits" for paper in PAPERS if packages.has(paper, "exhibits")]
WITHOUT_CODE = {"fetch", "caselaw_volumes", "fetch_source", "effective_config", "check"}


def rules():
    """[(rule, its script, its code)] of every rule that has a script."""
    found, inherited = [], {}
    for file in (ROOT / "Snakefile", *sorted((ROOT / "workflow/rules").glob("*.smk"))):
        for text in re.split(r"^(?= *(?:rule|use rule)\b)", file.read_text(encoding="utf-8"), flags=re.M)[1:]:
            words = text.replace(":", " ").split()
            name, base = (words[4], words[2]) if words[0] == "use" else (words[1], None)
            script = re.search(r'^ +script:\n +"(?:.*/)?([\w{}.]+)\.py"', text, re.M)
            code = re.search(r"^ +code=(.+),$", text, re.M) or re.search(r"\*\*(TABLE_PARAMS),", text)
            base_script, base_code = inherited.get(base, (None, None))
            parts = script[1] if script else base_script, code[1] if code else base_code
            inherited[name] = parts
            kind = re.search(r'^ +kind="(\w+)",$', text, re.M)
            if parts[0]:
                script_name = parts[0].replace("{params.kind}", kind[1]) if kind else parts[0]
                found.append((name, script_name, parts[1]))
    return found


# A rule that is made for each kind of model names its script by a param; its fingerprint is of the same name.
BY_PARAM = {
    "retrieval_{params.kind}": {
        f"retrieval_{kind}"
        for kind in ("lexical", "okapi", "dense", "api", "linear", "rerank", "rerank_dense", "rerank_okapi")
    }
}


def imported(script):
    """The modules of lextables that a script imports, directly or not, as Python's own finder lists them.

    Without those that stand around the work of every rule, and on which no result depends.
    """
    around = [name.removesuffix(".py").replace("/", ".") for name in sorted(AROUND)]
    finder = ModuleFinder([str(ROOT / "workflow")], excludes=around)
    finder.run_script(str(script))
    files = (Path(module.__file__) for name, module in finder.modules.items() if name.startswith("lextables"))
    return {file.relative_to(ROOT / "workflow").as_posix() for file in files}


def test_each_rule_carries_the_code_of_its_script():
    found = rules()
    scripts = {name for _, script, _ in found for name in BY_PARAM.get(script, {script})}
    assert scripts == {path.stem for path in SCRIPTS.glob("*.py")}
    assert {script for _, script, code in found if code is None} == WITHOUT_CODE
    for rule, script, code in found:
        written = re.sub(r"{params\.\w+}", "{stage}", script)
        own = f'code(f"{written}.py")' if "{" in written else f'code("{script}.py")'
        assert code in (None, own, *BY_PAPER.get(script, ()), BY_KIND.get(script), BY_TASK.get(script)), rule


def by_name(script, package=PAPERS[0]):
    if script in BY_KIND:
        return TUNINGS
    if script in BY_TASK:
        return READERS
    if script == "report":
        return EXHIBITS
    place = packages.place(package)
    return [f"lextables.{place}.{module}" for module in MODULES.get(script, ())]


@pytest.mark.parametrize("script", sorted(path.stem for path in SCRIPTS.glob("*.py")))
def test_a_fingerprint_covers_all_that_its_script_imports(script):
    covered = digests(str(SCRIPTS / f"{script}.py"), *by_name(script))
    wanted = imported(SCRIPTS / f"{script}.py")
    assert "lextables/__init__.py" in wanted
    assert not wanted - covered.keys()


@pytest.mark.parametrize("script", MODULES)
@pytest.mark.parametrize("paper", PAPERS)
def test_what_reads_a_paper_package_covers_it(paper, script):
    package = paper
    if (paper, script) == ("lawngnli", "data"):
        assert not packages.has(paper, "raw")  # it is made by rules of its own
        package = "corpora.nli"  # which reads the data sets beside it
    there = [name for name in by_name(script, package) if packages.has(package, name.split(".")[-1])]
    assert {"data": "raw", "table": "tables"}[script] in {name.split(".")[-1] for name in there}
    covered = digests(str(SCRIPTS / f"{script}.py"), *there)
    for name in there:
        module = f"{name.replace('.', '/')}.py"
        assert imported(ROOT / "workflow" / module) | {module} <= covered.keys()


@pytest.mark.parametrize("step", ["search", "train"])
def test_how_a_kind_of_model_is_trained_is_no_part_of_anothers_code(step):
    of_cross, of_bi = (set(digests(str(SCRIPTS / f"retrieval_{step}.py"), tuning)) for tuning in TUNINGS)
    for module in ("tasks/retrieval/bi_encoder_tuning", "models/bi_encoder_training", "models/bi_encoder"):
        assert f"lextables/{module}.py" in of_bi - of_cross
    for module in ("tasks/retrieval/cross_encoder_tuning", "models/cross_encoder"):
        assert f"lextables/{module}.py" in of_cross - of_bi


@pytest.mark.parametrize(
    "script",
    sorted(
        path.stem for path in SCRIPTS.glob("*.py") if re.search("_(train|search|read|pretrain)$", path.stem)
    ),
)
def test_how_sources_are_fetched_and_models_are_checked_trains_nothing(script):
    """A digest of another type, say, is no part of a training."""
    covered = digests(str(SCRIPTS / f"{script}.py"), *by_name(script))
    assert "lextables/pipeline/atomic.py" in covered or "lextables/pipeline/dataset.py" in covered
    found = [file for file in covered if file.startswith("lextables/sources/") or file in AROUND]
    assert found == []


@pytest.mark.parametrize("rule", ["index", "candidates", "parentheticals", "contradictions"])
def test_the_long_steps_of_lawngnli_do_not_depend_on_models_or_tables(rule):
    covered = digests(str(SCRIPTS / f"lawngnli_{rule}.py")).keys()
    assert len(covered) > 5
    later = re.compile(r"/(bi_encoder|loading|vectors|neutralization|examples|statistics|tables)\.py$")
    assert [name for name in covered if later.search(name) and "schema/" not in name] == []


def test_a_table_without_its_paper_package_has_no_fingerprint():
    with pytest.raises(ModuleNotFoundError, match=r"table\.py imports .*\.tables"):
        digests(str(SCRIPTS / "table.py"), f"lextables.papers.{PAPERS[0]}.registry")


def test_a_rule_names_the_parts_of_its_run():
    """By their order alone, a rule could not be read without the file that says it."""
    for file in (ROOT / "workflow/rules").glob("*.smk"):
        assert "(*wildcards" not in file.read_text(encoding="utf-8").replace(", *wildcards", "(*wildcards")


def test_no_file_of_rules_takes_a_name_of_another():
    """All of them share one namespace, in which the last one given to a name is every rule's."""
    places = defaultdict(set)
    for file in sorted((ROOT / "workflow/rules").glob("**/*.smk")):
        for name in re.findall(r"^(?:def )?(\w+)(?:\(| = )", file.read_text(encoding="utf-8"), flags=re.M):
            places[name].add(file.name)
    assert len(places) > 100
    assert {name: sorted(files) for name, files in places.items() if len(files) > 1} == {}


def test_how_language_models_are_asked_has_no_rule_run_anew():
    """Snakemake compares no param that goes by the threads; a budget that is raised changes no answer."""
    text = (ROOT / "workflow/rules/common.smk").read_text(encoding="utf-8")
    names = {"CONFIG": Config(papers=("x",)), "RESULTS": "results"}
    exec(re.search(r"^def ASKING\(.*?(?=^\S)", f"{text}#", re.M | re.S)[0], names)
    assert Rule._is_deriving_function(names["ASKING"])
    asking = names["ASKING"](None, 1)
    assert asking["kept"] == "results/work/calls"
    assert Limits(**asking["limits"]) == Limits()
