"""The cut of the package: which part may import which, and where a paper may be named."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "workflow/lextables"
PAPERS = sorted(path.stem for path in (ROOT / "resources/papers").glob("*.yaml"))
PACKAGES = {f"papers.{paper}" for paper in PAPERS}
# A part may import those before it and what stands in its own line.
LAYERS = (
    ("pipeline",),
    ("sources",),
    ("models",),
    ("metrics",),
    ("tasks",),
    ("corpora",),
    ("papers",),
    ("tables",),
    ("report", "publish"),
    tuple(f"papers.{paper}" for paper in PAPERS),
    ("papers.schemas",),
)
PLACE = {part: number for number, layer in enumerate(LAYERS) for part in layer}


def imports():
    """{(module, what it imports of lextables)}, by their names in dots."""
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lextables"):
                for alias in node.names:
                    name = f"{node.module}.{alias.name}"
                    inside = PACKAGE.parent.joinpath(*name.split("."))
                    found.add((module, name if _is_module(inside) else node.module))
            elif isinstance(node, ast.Import):
                found |= {(module, alias.name) for alias in node.names if alias.name.startswith("lextables")}
    return found


def _is_module(path):
    return path.is_dir() or path.with_suffix(".py").is_file()


def part(module):
    """The part of the package that a module is in: `models` of `lextables.models.bm25`, `papers.acord`."""
    first, second = (*module.split("."), "", "")[1:3]
    return f"{first}.{second}" if f"{first}.{second}" in PLACE else first


def test_every_part_of_the_package_has_a_place():
    parts = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert parts == {part.split(".")[0] for part in PLACE}
    assert [path.name for path in PACKAGE.glob("*.py")] == ["__init__.py"]


def test_no_import_goes_up():
    up = [
        (module, imported)
        for module, imported in sorted(imports())
        if part(module) and part(imported) and PLACE[part(imported)] > PLACE[part(module)]
    ]
    assert up == []


def test_no_paper_package_imports_another():
    across = [
        (module, imported)
        for module, imported in sorted(imports())
        if part(module) in PACKAGES and part(imported) in PACKAGES and part(module) != part(imported)
    ]
    assert across == []


def test_no_import_is_in_a_circle():
    graph = {}
    for module, imported in imports():
        graph.setdefault(module, set()).add(imported)
    seen, path = set(), []

    def walk(module):
        assert module not in path, f"{' -> '.join([*path[path.index(module) :], module])}"
        if module in seen:
            return
        path.append(module)
        for other in sorted(graph.get(module, ())):
            if other not in ("lextables", module):
                walk(other)
        path.pop()
        seen.add(module)

    for module in sorted(graph):
        walk(module)


def test_the_walk_sees_the_imports_that_there_are():
    found = imports()
    assert ("lextables.papers.planning", "lextables.tasks.plan") in found
    assert ("lextables.tasks.spans.reading", "lextables.models.loading") in found
    assert len(found) > 200


# Names of papers


def outside_the_papers():
    """The files that may name no paper: package, rules and scripts that are not a paper's own."""
    own = tuple(PAPERS)
    folders = [PACKAGE / "papers" / paper for paper in PAPERS]
    package = [path for path in PACKAGE.rglob("*.py") if not set(folders) & set(path.parents)]
    rules = [path for path in (ROOT / "workflow/rules").rglob("*.smk") if not path.name.startswith(own)]
    scripts = [path for path in (ROOT / "workflow/scripts").glob("*.py") if not path.name.startswith(own)]
    return sorted([*package, *rules, *scripts, ROOT / "Snakefile"])


def words(path):
    """Identifiers and strings of a file's code, without comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return [
            re.sub(r'#.*|""".*?"""', "", line)
            for line in re.sub(r'""".*?"""', "", text, flags=re.S).splitlines()
        ]
    tree = ast.parse(text)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(value=None)  # a docstring, which cites its source
    for node in ast.walk(tree):
        found += [str(value) for name, value in ast.iter_fields(node) if isinstance(value, str)]
    return found


@pytest.mark.parametrize("path", outside_the_papers(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_outside_a_paper_package_and_its_registries_names_a_paper(path):
    named = re.compile("|".join(PAPERS), re.I)
    assert [word for word in words(path) if named.search(word)] == []


def test_a_name_would_be_seen(tmp_path):
    code = tmp_path / "code.py"
    code.write_text('"""As CUAD says."""\nTAIL = "cuad"  # CUAD\n')
    rule = tmp_path / "rule.smk"
    rule.write_text('# CUAD\nX = PAPERS["cuad"]\n')
    assert any("cuad" in word.lower() for word in words(code))
    assert any("cuad" in word.lower() for word in words(rule))
    code.write_text('"""As CUAD says."""\nTAIL = 1  # CUAD\n')
    assert not any("cuad" in word.lower() for word in words(code))


def test_of_snakemakes_objects_only_public_attributes_are_used():
    private = re.compile(r"\b(?:workflow|dag|job|logger)(?:\.\w+)*\._")
    files = [ROOT / "Snakefile", *(ROOT / "workflow").rglob("*.smk"), *(ROOT / "workflow").rglob("*.py")]
    assert [path.name for path in files if private.search(path.read_text(encoding="utf-8"))] == []
