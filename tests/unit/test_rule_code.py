"""Each rule's fingerprint is of its own script, and of all that this imports."""

import re
from modulefinder import ModuleFinder
from pathlib import Path

import pytest

from lextables.fingerprint import AROUND, digests

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "workflow/scripts"
ROOMS = sorted(path.stem for path in (ROOT / "resources/papers").glob("*.yaml"))
# Bytes that are fetched are held to their digests; a summary and the configuration are written each time.
WITHOUT_CODE = {"caselaw_volumes", "fetch_source", "effective_config", "check"}


def rules():
    """[(rule, its script, its code)] of every rule that has a script."""
    found = []
    for file in (ROOT / "Snakefile", *sorted((ROOT / "workflow/rules").glob("*.smk"))):
        for text in re.split(r"^(?=rule |use rule )", file.read_text(encoding="utf-8"), flags=re.M)[1:]:
            script = re.search(r'^    script:\n        "(?:.*/)?(\w+)\.py"', text, re.M)
            code = re.search(r"^        code=(.+),$", text, re.M)
            if script:
                found.append((text.split()[1].rstrip(":"), script[1], code[1] if code else None))
    return found


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
    assert {script for _, script, _ in found} == {path.stem for path in SCRIPTS.glob("*.py")}
    assert {rule for rule, _, code in found if code is None} == WITHOUT_CODE
    for rule, script, code in found:
        assert code in (None, f'code("{script}.py")') or (rule, code) == ("table", "table_code")


@pytest.mark.parametrize("script", sorted(path.stem for path in SCRIPTS.glob("*.py")))
def test_a_fingerprint_covers_all_that_its_script_imports(script):
    by_name = [f"lextables.{ROOMS[0]}.{part}" for part in ("plan", "tables")] if script == "table" else []
    covered = digests(str(SCRIPTS / f"{script}.py"), *by_name)
    wanted = imported(SCRIPTS / f"{script}.py")
    assert "lextables/__init__.py" in wanted
    assert not wanted - covered.keys()


@pytest.mark.parametrize("room", ROOMS)
def test_a_table_covers_its_room(room):
    by_name = [f"lextables.{room}.plan", f"lextables.{room}.tables"]
    covered = digests(str(SCRIPTS / "table.py"), *by_name)
    for part in ("plan", "tables"):
        module = f"lextables/{room}/{part}.py"
        assert imported(ROOT / "workflow" / module) | {module} <= covered.keys()


def test_a_table_without_its_room_has_no_fingerprint():
    with pytest.raises(ModuleNotFoundError, match=r"table\.py imports .*\.tables"):
        digests(str(SCRIPTS / "table.py"), f"lextables.{ROOMS[0]}.plan")


def test_a_rule_names_the_parts_of_its_run():
    """By their order alone, a rule could not be read without the file that says it."""
    for file in (ROOT / "workflow/rules").glob("*.smk"):
        assert "(*wildcards" not in file.read_text(encoding="utf-8").replace(", *wildcards", "(*wildcards")
