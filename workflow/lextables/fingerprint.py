"""A fingerprint of the code that can change a rule's result.

Snakemake sees neither a change in an imported module nor one in a module that this one imports, so
each rule carries, as a param, a hash over its script and every lextables module that this imports,
directly or not.  What is hashed is the syntax tree: comments, docstrings, blank lines and formatting
are no part of it.  Nor is the version of Python that parses it, so that 3.11, 3.12 and 3.13 agree.
"""

import ast
import contextlib
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lextables.atomic import write_text

ROOT = Path(__file__).resolve().parents[1]
# What stands around the work of every rule: how it ends, whether it may run and on which GPU, how its faults
# are worded, who made it, how fast it was.  No result depends on it, and what it imports is looked at only
# where something else imports it.
AROUND = frozenset(
    f"lextables/{name}.py"
    for name in "errors gpu_lease job locks models/throughput redaction version".split()
)


def fingerprint(*modules: str) -> str:
    """Return 16 hex digits that change when the code of ``modules`` or of what they import does.

    ``modules`` are dotted names inside lextables, such as ``lextables.acord.raw``, or paths of
    scripts that import it.  To import a module is to run the packages that it lies in, so their
    ``__init__`` counts; an import under ``if TYPE_CHECKING`` never runs and does not.  A file that
    lies beside a module of the package and that the module names in a string counts by its bytes.

    A module whose name is put together as the code runs (``import_module(f"lextables.{room}.plan")``) must be
    among ``modules``: `ModuleNotFoundError` where none has that form.
    """
    lines = "".join(f"{name} {digest}\n" for name, digest in sorted(digests(*modules).items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


def digests(*modules: str) -> dict[str, str]:
    """Return {file: digest} of all that `fingerprint` is over; files of the package by their path."""
    digests: dict[str, str] = {}
    by_name: dict[str, str] = {}
    waiting = [file for module in modules for file in _start(module)]
    while waiting:
        file = waiting.pop()
        inside = ROOT in file.parents
        name = file.relative_to(ROOT).as_posix() if inside else file.name
        if name in digests or name in AROUND:
            continue
        package = ".".join(file.relative_to(ROOT).parent.parts) if inside else ""
        digests[name], imported, strings, forms = _read(file.read_bytes(), package)
        by_name |= dict.fromkeys(forms, name)
        for dotted in imported:
            waiting.extend(_module_files(dotted))
        if package.startswith("lextables"):
            for data in _beside(file, strings):
                digests[data.relative_to(ROOT).as_posix()] = hashlib.sha256(data.read_bytes()).hexdigest()
    for form, name in by_name.items():
        if not any(re.fullmatch(form, module) for module in modules):
            raise ModuleNotFoundError(f"{name} imports {form} by a name put together; say which")
    return digests


def recall(place: Path) -> None:
    """Take up what `remember` kept: to parse all modules anew takes longer than to lay out a run."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(place.read_text(encoding="utf-8"))
        if kept["by"] == _this_code():
            _modules.update(kept["modules"])
            _recalled.update(kept["modules"])


def remember(place: Path) -> None:
    """Keep what was read of modules, by what they hold, in the file ``place`` if it can be written to."""
    if _asked <= _recalled:
        return
    kept = {"by": _this_code(), "modules": {key: _modules[key] for key in sorted(_asked)}}
    with contextlib.suppress(OSError):
        write_text(place, json.dumps(kept) + "\n")


def _start(module: str) -> list[Path]:
    if module.endswith(".py"):
        return [Path(module).resolve()]
    path = ROOT.joinpath(*module.split("."))
    if not (path.is_dir() or path.with_suffix(".py").is_file()):
        raise ModuleNotFoundError(module)
    return _module_files(module)


def _module_files(dotted: str) -> list[Path]:
    """The files that run when ``dotted`` is imported: its packages', and its own where it is a module.

    Of ``lextables.acord.raw.read``, a function, these are the module's.
    """
    files: list[Path] = []
    folder = ROOT
    for part in dotted.split("."):
        package, module = folder / part / "__init__.py", folder / f"{part}.py"
        files += [package] if package.is_file() else [module] if module.is_file() else []
        folder = folder / part
    return files


def _beside(file: Path, strings: tuple[str, ...]) -> Iterator[Path]:
    names = {path.name for path in file.parent.iterdir() if path.is_file() and path.suffix != ".py"}
    for name in sorted(names.intersection(strings)):
        yield file.parent / name


# By a digest of a module's bytes and package: what `_parsed` says of it; those asked for, and those recalled.
_modules: dict[str, Sequence[Any]] = {}
_asked: set[str] = set()
_recalled: set[str] = set()


def _this_code() -> str:
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def _read(source: bytes, package: str) -> Sequence[Any]:
    """`_parsed`, once for the same module."""
    key = hashlib.sha256(package.encode() + b"\0" + source).hexdigest()
    _asked.add(key)
    if key not in _modules:
        _modules[key] = _parsed(source, package)
    return _modules[key]


def _parsed(source: bytes, package: str) -> tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the digest of a module's code, what of lextables it imports, and its short strings.

    Last come regular expressions of the modules that it imports by a name put together.
    """
    tree = _Code().visit(ast.parse(source))
    imported: set[str] = set()
    strings: set[str] = set()
    forms: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            imported.update(f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "import_module":
            forms.update(_form(name) for name in node.args[:1] if isinstance(name, ast.JoinedStr))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 100:
            strings.add(node.value)
    ours = sorted(name for name in imported if name.split(".")[0] == "lextables")
    digest = hashlib.sha256(repr(_plain(tree)).encode("utf-8", "surrogatepass")).hexdigest()
    forms = {form for form in forms if form.startswith("lextables")}
    return digest, tuple(ours), tuple(sorted(strings)), tuple(sorted(forms))


def _form(name: ast.JoinedStr) -> str:
    """The regular expression of an f-string: any word for a field."""
    parts = (part.value if isinstance(part, ast.Constant) else None for part in name.values)
    return "".join(r"\w+" if part is None else re.escape(part) for part in parts)


class _Code(ast.NodeTransformer):
    """Drops what does nothing when the module runs."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        # A docstring, a string that documents an attribute, an ellipsis.
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Pass(self, node: ast.Pass) -> None:
        return None

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return node.orelse if ast.unparse(node.test).split(".")[-1] == "TYPE_CHECKING" else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        # Python 3.12 ends a format that holds a field with an empty string.
        self.generic_visit(node)
        node.values = [part for part in node.values if getattr(part, "value", None) != ""]
        return node


def _plain(node: object) -> object:
    """A syntax tree as tuples, without places in the file.

    `ast.dump` is not used: Python 3.12 gives functions an empty list of type parameters, and 3.13
    leaves out what is empty.  Here a field that is empty is left out under all of them.
    """
    if isinstance(node, ast.AST):
        fields = [(name, _plain(value)) for name, value in ast.iter_fields(node) if name != "kind"]
        return type(node).__name__, *(field for field in fields if field[1] not in (("None",), ()))
    if isinstance(node, list):
        return tuple(_plain(value) for value in node)
    return (repr(node),)
