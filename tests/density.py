"""Size and density of the project's Python code.

Size is the number of nodes of the syntax trees, which does not depend on the layout.
Density is nodes for each line of code, without blank lines, comments and docstrings.

    python tests/density.py             sizes, densities and the densest functions
    python tests/density.py PATH        the same below a folder
"""

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "workflow/lextables/"
# Each entry is a subpackage by itself, as is each task and each paper.
GROUPS = ("corpora", "papers", "tasks")
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# Kinds of tokens that make no line of code; texts are among them for docstrings.
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.STRING,
}
MANY_PARAMETERS = 8
SHORTEST = 6  # lines of a function that is listed


@dataclass(frozen=True)
class Function:
    """A function: its nodes for each line of code, the number of these lines, and its
    file, line and name.
    """

    density: float
    lines: int
    place: str


def code_lines(source: str) -> set[int]:
    """Return the numbers of the lines with code."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.start[0] for token in tokens if token.type not in NOT_CODE}


def is_nested(comprehension: ast.AST) -> bool:
    """Whether a comprehension has several loops, or another comprehension inside."""
    inner = list(ast.walk(comprehension))[1:]
    several = len(comprehension.generators) > 1
    return several or any(isinstance(node, COMPREHENSIONS) for node in inner)


def kinds(node: ast.AST) -> list[str]:
    """Return what a node is counted as, apart from being a node."""
    names = []
    if isinstance(node, COMPREHENSIONS):
        names.append("comprehensions")
        if is_nested(node):
            names.append("nested")
    elif isinstance(node, ast.IfExp):
        names.append("ternaries")
    elif isinstance(node, ast.NamedExpr):
        names.append("walrus")
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.BitOr):
        names.append("|=")
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        if ast.unparse(node) in ("Mapping[str, Any]", "dict[str, Any]"):
            names.append("dict[str, Any]")
    elif isinstance(node, ast.FunctionDef):
        arguments = node.args
        parameters = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
        if len(parameters) >= MANY_PARAMETERS:
            names.append("many parameters")
    return names


def measure(source: str) -> Counter:
    """Return the counts of a file."""
    nodes = list(ast.walk(ast.parse(source)))
    counts = Counter(lines=len(code_lines(source)), nodes=len(nodes))
    for node in nodes:
        for kind in kinds(node):
            counts[kind] += 1
    return counts


def functions(source: str, name: str) -> list[Function]:
    """Return the functions of a file with `SHORTEST` or more lines."""
    lines = code_lines(source)
    listed = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            own_lines = lines & set(range(node.lineno, node.end_lineno + 1))
            number = len(own_lines)
            nodes = sum(len(list(ast.walk(statement))) for statement in node.body)
            if number >= SHORTEST:
                place = f"{name}:{node.lineno} {node.name}"
                listed.append(Function(nodes / number, number, place))
    return listed


def subpackage(name: str) -> str:
    """Return the subpackage of a file of the package, such as `tasks/spans`."""
    folders = Path(name.removeprefix(PACKAGE)).parent.parts
    depth = 1
    if folders and folders[0] in GROUPS:
        depth = 2
    return "/".join(folders[:depth]) or "(top)"


def part(name: str) -> str:
    """Return the part of the project that a file belongs to."""
    if name.startswith(PACKAGE):
        return "package"
    if name.startswith("workflow/"):
        return "scripts"
    return name.split("/")[0]


def project(below: str = "") -> dict[str, str]:
    """Return {name: source} of the project's files below a folder."""
    listed = subprocess.check_output(["git", "ls-files", "*.py"], cwd=ROOT, text=True)
    sources = {}
    for name in listed.splitlines():
        if name.startswith(below) and (ROOT / name).exists():
            sources[name] = (ROOT / name).read_text("utf-8")
    return sources


def counts_by_part(sources: dict[str, str]) -> dict[str, Counter]:
    """Return the counts by part and by subpackage."""
    counts: dict[str, Counter] = {}
    for name, source in sources.items():
        groups = [part(name)]
        if name.startswith(PACKAGE):
            groups.append(f"package: {subpackage(name)}")
        file_counts = measure(source)
        for group in groups:
            counts.setdefault(group, Counter()).update(file_counts)
    return counts


def main() -> None:
    """Print the counts, and the 20 densest functions."""
    sources = project(*sys.argv[1:])
    for group, row in sorted(counts_by_part(sources).items()):
        print(
            f"{group:32}{row['nodes']:9} nodes{row['nodes'] / row['lines']:8.2f} a line"
        )
    all_functions = []
    for name, source in sources.items():
        all_functions += functions(source, name)
    all_functions.sort(key=lambda function: -function.density)
    print("\nThe densest functions (nodes a line, lines):")
    for function in all_functions[:20]:
        print(f"  {function.density:5.1f} {function.lines:4}  {function.place}")


if __name__ == "__main__":
    main()
