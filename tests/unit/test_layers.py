"""The structure of the package: allowed imports between parts, and where a paper may be
named.
"""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter

from lextables import ROOT

WORKFLOW = ROOT / "workflow"
PAPERS = sorted(path.stem for path in (ROOT / "resources/papers").glob("*.yaml"))
# A part may import earlier parts and parts on the same line.
LAYERS = (
    ("pipeline",),
    ("sources",),
    ("models",),
    ("metrics",),
    ("tasks",),
    ("corpora",),
    ("registry",),
    ("tables",),
    ("review",),
    ("report",),
    ("publish",),
    ("planning",),
    ("notebook",),
    ("cli",),
    ("papers", *(f"papers.{paper}" for paper in PAPERS)),
)
LAYER = {part: number for number, layer in enumerate(LAYERS) for part in layer}
CODE = [
    *sorted((WORKFLOW / "lextables").rglob("*.py")),
    *sorted((WORKFLOW / "scripts").glob("*.py")),
]
RULES = [ROOT / "Snakefile", *sorted((WORKFLOW / "rules").rglob("*.smk"))]


@cache
def trees():
    """Return {file: syntax tree} of CODE; not at import, which every test worker
    repeats.
    """
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in CODE}


def module_of(path):
    return ".".join(path.relative_to(WORKFLOW).with_suffix("").parts).removesuffix(
        ".__init__"
    )


MODULES = {module_of(path): path for path in CODE}


def imported(node):
    """The modules of lextables that a statement imports."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        inside = [f"{node.module}.{alias.name}" for alias in node.names]
        names = [name if name in MODULES else node.module for name in inside]
    else:
        names = []
    return {name for name in names if name.startswith("lextables")}


@cache
def imports():
    """Return all pairs of (module, module that it imports)."""
    pairs = set()
    for module, path in MODULES.items():
        if module.startswith("lextables"):
            for node in ast.walk(trees()[path]):
                pairs.update((module, name) for name in imported(node))
    return pairs


def part(module):
    """The part that a module belongs to, such as `models` or `papers.acord`."""
    first, second = (*module.split("."), "", "")[1:3]
    return f"{first}.{second}" if f"{first}.{second}" in LAYER else first


def test_every_part_of_the_package_has_a_layer():
    package = WORKFLOW / "lextables"
    parts = {
        path.name for path in package.iterdir() if (path / "__init__.py").is_file()
    }
    assert parts == {part.split(".")[0] for part in LAYER}
    assert [path.name for path in package.glob("*.py")] == ["__init__.py"]


def test_the_documentation_has_the_order_of_the_parts():
    parts = [layer[0] for layer in LAYERS if "." not in layer[0]]
    order = " < ".join(parts)
    design = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    assert f"    {order}\n" in design


def test_no_part_imports_a_later_part():
    assert len(imports()) > 200
    pairs = [
        (module, name)
        for module, name in sorted(imports())
        if part(module) and part(name)
    ]
    assert [
        (module, name)
        for module, name in pairs
        if LAYER[part(name)] > LAYER[part(module)]
    ] == []


def test_no_paper_package_imports_another():
    packages = {f"papers.{paper}" for paper in PAPERS}
    pairs = [
        (module, name)
        for module, name in sorted(imports())
        if {part(module), part(name)} <= packages
    ]
    assert [
        (module, name) for module, name in pairs if part(module) != part(name)
    ] == []


def test_there_are_no_circular_imports():
    graph = {}
    for module, name in imports():
        if name not in ("lextables", module):
            graph.setdefault(module, set()).add(name)
    TopologicalSorter(graph).prepare()


def texts(path):
    """Names and strings in a file's code, without comments and docstrings."""
    if path.suffix != ".py":
        return [
            re.sub(
                r'#[^\n]*|""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.S
            )
        ]
    nodes = [*ast.walk(trees()[path])]
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    fields = (
        pair
        for node in nodes
        if id(node) not in docstrings
        for pair in ast.iter_fields(node)
    )
    return [value for _, value in fields if isinstance(value, str)]


def test_only_paper_packages_and_their_registries_name_a_paper():
    own = [WORKFLOW / "lextables/papers" / paper for paper in PAPERS]
    others = [
        path
        for path in CODE
        if not {*own} & {*path.parents} and not path.name.startswith((*PAPERS,))
    ]
    others += [path for path in RULES if not path.name.startswith((*PAPERS,))]
    named = re.compile("|".join(PAPERS), re.I)
    # `lawngnli_data` is the only key of the configuration that contains the name of a
    # paper.
    found = {
        path.name: [
            text
            for text in texts(path)
            if named.search(text) and text != "lawngnli_data"
        ]
        for path in others
    }
    assert {name: texts for name, texts in found.items() if texts} == {}
    assert any(named.search(text) for text in texts(own[0] / "raw.py"))


def test_private_attributes_of_snakemake_objects_are_not_used():
    private = re.compile(r"\b(?:workflow|dag|job|logger)(?:\.\w+)*\._")
    files = [
        *CODE,
        *RULES,
        *(WORKFLOW / "snakemake_logger_plugin_lextables").glob("*.py"),
    ]
    assert [
        path.name for path in files if private.search(path.read_text(encoding="utf-8"))
    ] == []


def test_no_module_assigns_a_constant_twice():
    """If a module defines a constant twice, the second definition silently replaces the
    first.
    """
    for path, tree in trees().items():
        constants = [
            node.targets[0].id
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        ]
        assert len(constants) == len(set(constants)), path.name
