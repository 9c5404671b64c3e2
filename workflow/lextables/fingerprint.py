"""A fingerprint of the code that a rule really uses.

Snakemake sees neither a change in an imported module nor one in a module that this one imports, so
each rule carries, as a param, a hash over the source of its entry modules and of every lextables
module they import, directly or not.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
ROOT = PACKAGE.parent


def fingerprint(*modules: str) -> str:
    """Return 16 hex digits that change when the source of ``modules`` or of what they import does.

    ``modules`` are dotted names inside lextables, such as ``lextables.acord.raw``, or paths of
    scripts that import it.
    """
    files: dict[str, bytes] = {}
    waiting = [_source(module) for module in modules]
    while waiting:
        file = waiting.pop()
        name = (
            file.name
            if file.is_absolute() and ROOT not in file.parents
            else file.relative_to(ROOT).as_posix()
        )
        if name not in files:
            files[name] = file.read_bytes()
            waiting.extend(_imports(file))
    digest = hashlib.sha256()
    for name, source in sorted(files.items()):
        digest.update(f"{name}\0{len(source)}\0".encode() + source)
    return digest.hexdigest()[:16]


def _source(module: str) -> Path:
    if module.endswith(".py"):
        return Path(module).resolve()
    found = _module_file(module)
    if found is None:
        raise ModuleNotFoundError(module)
    return found


def _module_file(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.exists():
            return candidate
    return None


@cache
def _imports(file: Path) -> tuple[Path, ...]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    found = (_module_file(name) for name in sorted(names) if name.split(".")[0] == "lextables")
    return tuple(path for path in found if path is not None)
