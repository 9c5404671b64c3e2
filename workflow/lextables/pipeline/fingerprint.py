"""A fingerprint of the code that can change a rule's result.

Snakemake does not track imported modules, so each rule has a param with a hash over its
script and all modules of lextables that the script imports, directly or indirectly.

The hash is computed over the names of the modules and their syntax trees.  Comments,
docstrings, formatting and the version of Python do not change it.  Moving or renaming a
module does: after a pure move, ``snakemake --touch`` marks the results as up to date.
"""

import ast
import fnmatch
import hashlib
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # the folder workflow, or site-packages
# The folder that has the scripts in an installed wheel.  Names of files are without it,
# so that a wheel has the same fingerprints as a clone.
INSTALLED = "lextables/project/workflow/"
# No result depends on these modules: errors, logs, locks, GPU leases, versions, checks
# of users' models, functions for notebooks.  They, and what only they import, are left
# out.
INFRASTRUCTURE = """
lextables/pipeline/errors.py
lextables/pipeline/gpu_lease.py
lextables/pipeline/job.py
lextables/pipeline/locks.py
lextables/pipeline/not_run.py
lextables/pipeline/redaction.py
lextables/pipeline/version.py
lextables/models/inspection.py
lextables/notebook/scoring.py
lextables/notebook/tables.py
""".split()


def fingerprint(*modules: str) -> str:
    """Return 16 hex digits that change with the code of ``modules`` and their imports.

    ``modules`` are dotted names inside lextables, such as
    ``lextables.papers.acord.raw``, or paths of scripts.  Imports count wherever they
    are in the code, and so does the ``__init__`` of each package of a module.  A data
    file counts by its bytes if a module names it in a string, with its extension,
    relative to the module's folder.

    Modules that are imported by a computed name, as in
    ``import_module(f"lextables.papers.{paper}.raw")``, must be among ``modules``;
    otherwise `ModuleNotFoundError` is raised.
    """
    text = ascii(sorted(digests(*modules).items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digests(*modules: str) -> dict[str, str]:
    """Return {file: digest} of the files in a `fingerprint`.

    They are ``modules`` and what these import, directly or indirectly.  A file is named
    by its path relative to ROOT, and a data file ``<module>: <name in its string>``.
    """
    waiting: list[Path] = []
    ignored = {ROOT / name for name in INFRASTRUCTURE}
    for module in modules:
        files = _requested(module)
        waiting += files
        # A requested module counts even if it is in INFRASTRUCTURE.
        ignored.discard(files[-1])
    file_digests: dict[str, str] = {}
    while waiting:
        file = waiting.pop()
        name = file.relative_to(ROOT).as_posix().removeprefix(INSTALLED)
        if name in file_digests or file in ignored:
            continue
        package = ".".join(Path(name).parent.parts)
        file_digests[name], texts = _parsed(file.read_bytes(), package)
        for dotted in texts:
            if dotted.split(".")[0] != "lextables":
                continue
            if "*" in dotted and not fnmatch.filter(modules, dotted):
                raise ModuleNotFoundError(f"{name} imports {dotted}; name the modules")
            waiting += _files(dotted, ROOT)
        for data in _data_files(file.parent, texts):
            content = (file.parent / data).read_bytes()
            file_digests[f"{name}: {data}"] = hashlib.sha256(content).hexdigest()
    return file_digests


def _requested(module: str) -> list[Path]:
    """Return the files of a module that is passed to `fingerprint`, its own as the
    last.
    """
    if module.endswith(".py"):
        return [Path(module).resolve()]
    path = ROOT.joinpath(*module.split("."))
    if not (path.is_dir() or path.with_suffix(".py").is_file()):
        raise ModuleNotFoundError(module)
    return _files(module, ROOT)


@cache
def _files(dotted: str, root: Path) -> list[Path]:
    """Return the files that run when ``dotted`` is imported, in order.

    ``dotted`` may also name something in a module, as in
    ``lextables.pipeline.run.Run``.
    """
    files = []
    for part in dotted.split("."):
        root = root / part
        files += [root / "__init__.py", root.with_suffix(".py")]
    return [file for file in files if file.is_file()]


@cache
def _data_files(folder: Path, texts: frozenset[str]) -> list[str]:
    """Return the names among ``texts`` of files in ``folder`` and below."""
    files = []
    for text in texts:
        is_name = len(text) < 99 and "." in text[1:] and text[0] not in "./"
        if is_name and (folder / text).is_file():
            files.append(text)
    return files


@cache
def _parsed(source: bytes, package: str) -> tuple[str, frozenset[str]]:
    """Return the digest of a module's code, and its names, strings and imports
    (`_plain`).
    """
    texts: set[str] = set()
    code = _plain(ast.parse(source), package, texts)
    return hashlib.sha256(code.encode()).hexdigest(), frozenset(texts)


def _plain(node: object, package: str, texts: set[str]) -> str:
    """Return a syntax tree as text; add its names, strings and imports to ``texts``.

    Imports are dotted names; ``*`` stands for a field of an f-string.  Unlike the text
    of `ast.dump`, this one is the same for all versions of Python: 3.12 has more empty
    fields and ends some f-strings with an empty string.
    """
    if isinstance(node, list):
        effective_items = [item for item in node if not _without_effect(item)]
        items = [_plain(item, package, texts) for item in effective_items]
        return f"[{', '.join(items)}]"
    if isinstance(node, str):
        texts.add(node)
    elif isinstance(node, ast.ImportFrom):
        dots = "." * node.level
        base = resolve_name(f"{dots}{node.module or ''}", package)
        texts.update(f"{base}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.JoinedStr):
        node.values = [part for part in node.values if _text_of(part) != ""]
        texts.add("".join(map(_text_of, node.values)))
    if not isinstance(node, ast.AST):
        return ascii(node)
    plain = type(node).__name__
    for name, value in ast.iter_fields(node):
        if value is not None and value != [] and name != "ctx":
            plain += f" {name}={_plain(value, package, texts)}"
    return f"({plain})"


def _text_of(node: ast.expr) -> str:
    """Return the text of a part of an f-string; ``*`` for a field."""
    text = getattr(node, "value", None)
    return text if isinstance(text, str) else "*"


def _without_effect(node: object) -> bool:
    """Whether a node is a docstring, another constant as a statement, or ``pass``."""
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant or isinstance(node, ast.Pass)
