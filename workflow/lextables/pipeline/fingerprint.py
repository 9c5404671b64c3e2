"""A fingerprint of the code that can change a rule's result.

Snakemake does not track imported modules, so each rule has a param with a hash over its script and every
lextables module that the script imports, directly or indirectly.

The hash is computed over the syntax tree.  These do not change it: comments, docstrings, blank lines and
formatting; the Python version (3.11, 3.12 and 3.13 agree); the names of our modules and the lines that
import them.  A use of something from another module of ours is hashed as that module's content and the name
inside it.  So moving or renaming a module does not change a fingerprint, and an import that binds a name to
something else does.
"""

import ast
import builtins
import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from lextables.pipeline.atomic import write_text

ROOT = Path(__file__).resolve().parents[2]
OURS = "lextables"
# Modules on which no result depends: errors, logs, locks, GPU leases, versions, checks of users' models.
# Their imports are followed only from other modules.
INFRASTRUCTURE = frozenset(
    f"lextables/{name}.py"
    for name in (
        *(
            f"pipeline/{name}"
            for name in "errors gpu_lease job locks not_run redaction version".split()
        ),
        "models/inspection",
    )
)
# Modules with the same text are distinguished by the content of the modules they use, to this depth.
DEPTH = 3
CACHED_MODULES = 1000  # the newest ones; the package has about 250


def fingerprint(*modules: str) -> str:
    """Return 16 hex digits that change when the code of ``modules`` or of what they import does.

    ``modules`` are dotted names inside lextables, such as ``lextables.papers.acord.raw``, or paths of
    scripts that import it.  The ``__init__`` of each package that a module lies in counts; an import under
    ``if TYPE_CHECKING`` does not.  A data file in the folder of a module counts by its bytes if the module
    names it in a string.

    Modules that are imported by a computed name (``import_module(f"lextables.papers.{paper}.plan")``) must be
    among ``modules``; otherwise `ModuleNotFoundError` is raised.
    """
    return Code().fingerprint(*modules)


def digests(*modules: str) -> dict[str, str]:
    """Return {file: digest} of the files in a `fingerprint`; files of the package by their path."""
    return Code().digests(*modules)


class Code:
    """The scripts and the package; each file is read once."""

    def __init__(self) -> None:
        self._read = cache(self._read)
        self._digest = cache(self._digest)
        self._target = cache(self._target)
        self._dependencies = cache(self._dependencies)
        self._files = cache(_module_files)
        self._name = cache(_name)

    def fingerprint(self, *modules: str) -> str:
        """`fingerprint` of the files as they were when they were first read."""
        # File names and an __init__ without code do not count.
        lines = "".join(
            f"{digest}\n"
            for digest in sorted({*self.digests(*modules).values()} - {""})
        )
        return hashlib.sha256(lines.encode()).hexdigest()[:16]

    def digests(self, *modules: str) -> dict[str, str]:
        """`digests` of the files as they were when they were first read."""
        digests: dict[str, str] = {}
        forms: list[tuple[str, int, str]] = []
        named = {module: _start(module) for module in modules}
        waiting = [file for files in named.values() for file in files]
        requested = {files[-1] for files in named.values()}
        while waiting:
            file = waiting.pop()
            name = self._name(file)
            if name in digests or (name in INFRASTRUCTURE and file not in requested):
                continue
            digests[name] = self._digest(file, DEPTH)
            forms += [
                (name, number, form)
                for number, form in enumerate(self._read(file)["forms"])
            ]
            imported, data_files = self._dependencies(file)
            waiting.extend(imported)
            digests |= data_files
        for name, number, form in forms:
            matching = [module for module in modules if re.fullmatch(form, module)]
            if not matching:
                raise ModuleNotFoundError(
                    f"{name} imports {form} by a computed name; name the modules"
                )
            # Hashed with the place of the import: swapping two computed names changes the result.
            contents = sorted(
                self._digest(named[module][-1], DEPTH) for module in matching
            )
            digests[f"{name}, name {number}"] = _hash(
                digests[name], str(number), *contents
            )
        return digests

    def _read(self, file: Path) -> dict[str, Any]:
        inside = ROOT in file.parents
        return _read(
            file.read_bytes(),
            ".".join(file.relative_to(ROOT).parent.parts) if inside else "",
        )

    def _dependencies(self, file: Path) -> tuple[set[Path], dict[str, str]]:
        """The modules that a file imports, and {file: digest} of the data files that it names."""
        read = self._read(file)
        imported = {
            module for dotted in read["imported"] for module in self._files(dotted)
        }
        if not self._name(file).startswith(f"{OURS}/"):
            return imported, {}
        data_files = _data_files(file, read["strings"])
        return imported, {
            _name(data): _hash(data.read_bytes().hex()) for data in data_files
        }

    def _digest(self, file: Path, depth: int) -> str:
        """The digest of a file's code and, to this depth, of the modules it uses; empty if it has no code."""
        read = self._read(file)
        if read["tree"] == _NO_CODE and not read["bound"]:
            return ""
        if depth == 0:
            return read["tree"]
        parts = [self._used(chain, depth - 1) for chain in read["used"]]
        for name, chain, kept in read["bound"]:
            # The name of a module that is imported and not used has no effect.
            if kept or self._target(chain)[1]:
                parts.append(f"{name} {self._used(chain, depth - 1)}")
        return _hash(read["tree"], *parts)

    def _used(self, chain: str, depth: int) -> str:
        """The digest of the module that defines ``chain``, and the name inside it."""
        file, name = self._target(chain)
        if file is None or self._name(file) in INFRASTRUCTURE:
            return f"- {name}"
        return f"{self._digest(file, depth)} {name}"

    def _target(
        self, chain: str, seen: tuple[str, ...] = ()
    ) -> tuple[Path | None, str]:
        """The module that defines ``chain`` (``lextables.metrics.f1.x``), and the name inside it (``f1.x``).

        Names that the module itself imports are followed to the module that defines them.
        """
        files = self._files(chain)
        depth = len(_dotted(files[-1]).split(".")) if files else 0
        file, rest = files[-1] if files else None, chain.split(".")[depth:]
        if (
            file
            and rest
            and chain not in seen
            and self._name(file) not in INFRASTRUCTURE
        ):
            imported_from = self._read(file)["exports"].get(rest[0])
            if imported_from:
                return self._target(
                    ".".join([imported_from, *rest[1:]]), (*seen, chain)
                )
        return file, ".".join(rest)


def load_cache(path: Path) -> None:
    """Load what `save_cache` wrote: parsing all modules takes longer than planning a run."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        saved = json.loads(path.read_text(encoding="utf-8"))
        if saved["version"] == _own_digest():
            _modules.update(saved["modules"])
            _saved.update(saved["modules"])


def save_cache(path: Path) -> None:
    """Write the parsed modules to ``path``, if there are new ones and the file can be written."""
    if _modules.keys() <= _saved:
        return
    modules = dict([*_modules.items()][-CACHED_MODULES:])
    with contextlib.suppress(OSError):
        write_text(
            path, json.dumps({"version": _own_digest(), "modules": modules}) + "\n"
        )
        _saved.update(modules)


def _start(module: str) -> list[Path]:
    if module.endswith(".py"):
        return [Path(module).resolve()]
    path = ROOT.joinpath(*module.split("."))
    if not (path.is_dir() or path.with_suffix(".py").is_file()):
        raise ModuleNotFoundError(module)
    return _module_files(module)


def _module_files(dotted: str) -> list[Path]:
    """The files that run when ``dotted`` is imported: the packages' ``__init__`` files and the module.

    ``dotted`` may also name something in a module, such as ``lextables.papers.acord.raw.read``.
    """
    files: list[Path] = []
    folder = ROOT
    for part in dotted.split("."):
        package, module = folder / part / "__init__.py", folder / f"{part}.py"
        if not package.is_file() and module.is_file():
            return [*files, module]
        files += [package] if package.is_file() else []
        folder = folder / part
    return files


def _name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix() if ROOT in file.parents else file.name


def _dotted(file: Path) -> str:
    """The dotted name of a module of the package."""
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(
        ".__init__"
    )


def _data_files(file: Path, strings: Sequence[str]) -> Iterator[Path]:
    names = {
        path.name
        for path in file.parent.iterdir()
        if path.is_file() and path.suffix != ".py"
    }
    for name in sorted(names.intersection(strings)):
        yield file.parent / name


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


# {digest of a module's bytes and package: what `_parsed` returns}, and the keys that are in the cache file.
_modules: dict[str, dict[str, Any]] = {}
_saved: set[str] = set()


def _own_digest() -> str:
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def _read(source: bytes, package: str) -> dict[str, Any]:
    """`_parsed`, cached."""
    key = hashlib.sha256(package.encode() + b"\0" + source).hexdigest()
    if key not in _modules:
        _modules[key] = _parsed(source, package)
    return _modules[key]


def _parsed(source: bytes, package: str) -> dict[str, Any]:
    """Return what a module contains, without looking at other files.

    tree      digest of its code, in which uses of our other modules are replaced by numbers
    used      the dotted names that the numbers stand for, in order
    bound     imports without a number: (name, dotted name, whether the code contains the name)
    exports   {name: dotted name} of its top-level imports of ours
    imported  dotted names of ours that it imports
    strings   its short strings
    forms     regular expressions of the modules that it imports by a computed name
    """
    tree = _Code().visit(ast.parse(source))
    nodes = [*ast.walk(tree)]
    strings = {
        node.value
        for node in nodes
        if type(node) is ast.Constant
        and isinstance(node.value, str)
        and len(node.value) < 100
    }
    names = _Names(tree, nodes, package)
    tree = names.visit(tree)
    code = repr((sorted(names.foreign), _plain(tree)))
    return {
        "tree": hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest(),
        "used": list(names.used),
        "imported": sorted(names.imported),
        "exports": names.exports,
        "bound": names.unused(),
        "strings": sorted(strings),
        "forms": list(names.forms),
    }


class _Names(ast.NodeTransformer):
    """Replaces each use of another module of ours by a number, and removes the lines that import it.

    A name that the module also binds in another way, such as a parameter of a function, is kept.
    """

    def __init__(self, tree: ast.Module, nodes: list[ast.AST], package: str) -> None:
        self.package = package
        self.used: dict[str, int] = {}
        self.forms: dict[str, int] = {}
        self.imported: set[str] = set()
        self.foreign: list[str] = []
        self.seen: set[str] = set()
        chains: dict[str, set[str]] = {}
        for node in nodes:
            for name, chain in self._ours(node):
                chains.setdefault(name, set()).add(chain)
        taken = _bound_otherwise(nodes, package) | set(dir(builtins)) | {"*"}
        self.plain = {
            name: min(of)
            for name, of in chains.items()
            if len(of) == 1 and name not in taken
        }
        at_top = [pair for node in tree.body for pair in self._ours(node)]
        # Bound once at the top level: the line does not matter.
        again = _bound_otherwise(_at_top(tree), package) | {"*"}
        self.once = {
            name: chain
            for name, chain in at_top
            if len(chains[name]) == 1 and name not in again
        }
        self.exports = {
            name: chain for name, chain in self.once.items() if name in self.plain
        }

    def unused(self) -> list[tuple[str, str, bool]]:
        """``bound`` of `_parsed`."""
        kept = {
            name: chain for name, chain in self.once.items() if name not in self.plain
        }
        rest = {
            name: chain for name, chain in self.plain.items() if name not in self.seen
        }
        return [
            (name, chain, name in kept) for name, chain in sorted((kept | rest).items())
        ]

    def _ours(self, node: ast.AST) -> list[tuple[str, str]]:
        """[(name, dotted name it is bound to)] of a line that imports something of ours; else empty."""
        if not isinstance(node, ast.Import | ast.ImportFrom):
            return []
        if isinstance(node, ast.Import):
            pairs = [
                (alias.asname or alias.name.split(".")[0], alias)
                for alias in node.names
            ]
            return [
                (name, alias.name if alias.asname else OURS)
                for name, alias in pairs
                if alias.name.split(".")[0] == OURS
            ]
        base = _base(node, self.package)
        if base.split(".")[0] != OURS:
            return []
        return [
            (alias.asname or alias.name, f"{base}.{alias.name}") for alias in node.names
        ]

    def visit_Module(self, node: ast.Module) -> ast.Module:
        lines = [
            line for line in node.body if isinstance(line, ast.Import | ast.ImportFrom)
        ]
        theirs = [line for line in lines if not self._ours(line)]
        single = [_import_of(line, alias) for line in theirs for alias in line.names]
        names = [line.names[0].asname or line.names[0].name for line in single]
        ours = {name for line in lines for name, _ in self._ours(line)}
        if len({*names}) == len(names) and not ours & {
            *names
        }:  # otherwise their order matters
            self.foreign = [repr(_plain(line)) for line in single]
            node.body = [
                line for line in node.body if not any(line is other for other in theirs)
            ]
        self._top = {id(line) for line in lines}
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        self.imported.update(
            alias.name for alias in node.names if alias.name.split(".")[0] == OURS
        )
        return self._instead(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        self.imported.update(chain for _, chain in self._ours(node))
        return self._instead(node)

    def _instead(self, node: ast.Import | ast.ImportFrom) -> list[ast.stmt]:
        """What replaces an import: nothing if all uses of its names are numbered."""
        ours = self._ours(node)
        if not ours:
            return [node]
        dropped = self.once if id(node) in self._top else self.plain
        theirs = [
            alias
            for alias in node.names
            if isinstance(node, ast.Import) and alias.name.split(".")[0] != OURS
        ]
        return [
            *(ast.Import([alias]) for alias in theirs),
            *(
                ast.Assign(
                    [ast.Name(name, ast.Store())], self._number(chain, ast.Load())
                )
                for name, chain in ours
                if name not in dropped
            ),
        ]

    def _number(self, chain: str, ctx: ast.expr_context) -> ast.Name:
        return ast.Name(f"<{self.used.setdefault(chain, len(self.used))}>", ctx)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        self.seen.add(node.id)
        return (
            self._number(self.plain[node.id], node.ctx)
            if node.id in self.plain
            else node
        )

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        names, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if not (isinstance(inner, ast.Name) and inner.id in self.plain):
            return self.generic_visit(node)
        self.seen.add(inner.id)
        return self._number(
            ".".join([self.plain[inner.id], *reversed(names)]), node.ctx
        )

    def visit_Call(self, node: ast.Call) -> ast.Call:
        if _last_name(node.func) == "import_module" and node.args:
            name = node.args[0]
            if isinstance(name, ast.Constant) and str(name.value).split(".")[0] == OURS:
                self.imported.add(name.value)
                node.args[0] = self._number(name.value, ast.Load())
            elif isinstance(name, ast.JoinedStr) and (form := _form(name)).startswith(
                OURS
            ):
                number = self.forms.setdefault(form, len(self.forms))
                fields = [
                    part.value
                    for part in name.values
                    if isinstance(part, ast.FormattedValue)
                ]
                node.args[0] = ast.Tuple(
                    [ast.Constant(f"<name {number}>"), *fields], ast.Load()
                )
        return self.generic_visit(node)


def _last_name(node: ast.expr) -> str:
    """``c`` of ``a.b.c``; empty for other expressions."""
    return getattr(node, "attr", getattr(node, "id", ""))


def _at_top(tree: ast.Module) -> Iterator[ast.AST]:
    """The code that runs when a module is imported, and each ``global`` statement of its functions."""
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
        ):
            waiting.extend(ast.iter_child_nodes(node))
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Global))


def _base(node: ast.ImportFrom, package: str) -> str:
    """The dotted name of the module that a line imports from."""
    above = (
        package.split(".")[: len(package.split(".")) - node.level + 1]
        if node.level
        else []
    )
    return ".".join([*above, *([node.module] if node.module else [])])


def _import_of(
    line: ast.Import | ast.ImportFrom, alias: ast.alias
) -> ast.Import | ast.ImportFrom:
    """A line that imports only this name."""
    if isinstance(line, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(line.module, [alias], line.level)


def _bound_otherwise(nodes: Iterable[ast.AST], package: str) -> set[str]:
    """The names that a module binds by parameters, variables, classes and imports that are not ours."""
    bound: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name):
            bound |= set() if isinstance(node.ctx, ast.Load) else {node.id}
        elif isinstance(node, ast.expr | ast.expr_context | ast.alias | ast.keyword):
            pass  # the only expressions that bind are names
        elif isinstance(node, ast.Import):
            bound |= {
                alias.asname or alias.name.split(".")[0] for alias in node.names
            } - {OURS}
        elif isinstance(node, ast.ImportFrom):
            if _base(node, package).split(".")[0] != OURS:
                bound |= {alias.asname or alias.name for alias in node.names}
        else:
            for _, value in ast.iter_fields(node):
                several: Iterable[object] = (
                    value if isinstance(value, list) else [value]
                )
                bound |= {name for name in several if isinstance(name, str)}
    return bound


def _form(name: ast.JoinedStr) -> str:
    """The regular expression of an f-string: a field matches dotted names."""
    parts = (
        part.value if isinstance(part, ast.Constant) else None for part in name.values
    )
    return "".join(r"[\w.]+" if part is None else re.escape(part) for part in parts)


class _Code(ast.NodeTransformer):
    """Drops statements without effect."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        # A docstring, a string that documents an attribute, an ellipsis.
        return (
            None if isinstance(node.value, ast.Constant) else self.generic_visit(node)
        )

    def visit_Pass(self, node: ast.Pass) -> None:
        return None

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return node.orelse if _last_name(node.test) == "TYPE_CHECKING" else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        # Python 3.12 adds an empty string after a field inside a format.
        self.generic_visit(node)
        node.values = [
            part for part in node.values if getattr(part, "value", None) != ""
        ]
        return node


def _plain(node: object) -> object:
    """A syntax tree as tuples, without line numbers.

    `ast.dump` differs between versions: Python 3.12 gives functions an empty list of type parameters, and
    3.13 leaves out empty fields.  Here empty fields are always left out.
    """
    if isinstance(node, ast.AST):
        fields = [
            (name, _plain(value))
            for name, value in ast.iter_fields(node)
            if name != "kind"
        ]
        return type(node).__name__, *(
            field for field in fields if field[1] not in (("None",), ())
        )
    if isinstance(node, list):
        return tuple(_plain(value) for value in node)
    return (repr(node),)


_NO_CODE = _parsed(b"", "")["tree"]
