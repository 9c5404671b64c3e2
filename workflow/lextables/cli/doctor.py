"""What this machine has, and what a missing part would enable."""

import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from lextables import ROOT
from lextables.cli.snakemake_command import absolute
from lextables.models import device
from lextables.models.resolve import Missing, load_models, resolve
from lextables.models.weights import check_package
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput

MAX_MISSING_SHOWN = 4  # packages in a line
# A copy of `models.api.KEY`, because importing that module would import openai.
API_KEY = "OPENAI_API_KEY"
GIB = 1 << 30
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def lines(mirrors: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of `lextables doctor`; raw files and models are looked for in
    ``mirrors``.
    """
    version = ".".join(map(str, sys.version_info[:3]))
    yield _line("Python", "ok", f"{version}, {sys.executable}")
    for extra, requirements in _extras().items():
        yield _extra(extra, requirements)
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIB
    free = shutil.disk_usage(Path.cwd()).free / GIB
    yield _line("machine", "ok", f"{cores} cores, {memory:.0f} GiB of memory")
    yield _line("disk", "ok", f"{free:.0f} GiB free in {Path.cwd()}")
    yield _gpu()
    yield _models(mirrors)
    yield _packages()
    if not mirrors:
        yield _line("mirror", "missing", "raw files are downloaded; --mirror names one")
    for mirror in mirrors:
        folder = absolute(mirror)
        if folder.is_dir():
            sources = sorted(path.name for path in folder.iterdir())
            yield _line("mirror", "ok", f"{mirror}: {', '.join(sources)}")
        else:
            yield _line("mirror", "missing", f"{mirror} is no folder")
    if os.environ.get(API_KEY):
        yield _line("API key", "ok", f"{API_KEY} is set; --set llm=<address> uses it")
    else:
        what = f"{API_KEY} is not set; rows of language models behind an API need it"
        yield _line("API key", "missing", what)


def _line(name: str, state: str, text: str) -> str:
    return f"{name:16}{state:9}{text}"


def _extras() -> dict[str, list[str]]:
    """Return {extra of the package: its requirements}."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return project["project"]["optional-dependencies"]


def _extra(extra: str, requirements: Sequence[str]) -> str:
    """Return the line of an extra; versions are not compared."""
    names = [_NAME.findall(requirement)[0] for requirement in requirements]
    installed = {name for name in names if _is_installed(name)}
    missing = [name for name in names if name not in installed]
    if not missing:
        return _line(f"extra {extra}", "ok", f"{len(names)} packages")
    shown = ", ".join(missing[:MAX_MISSING_SHOWN])
    what = f"{len(missing)} of {len(names)} packages, such as {shown}"
    do = f"pip install 'lextables[{extra}]'"
    return _line(f"extra {extra}", "missing", f"{what}; {do}")


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _gpu() -> str:
    if device.expected("auto"):
        return _line("GPU", "ok", "the papers' own models can be trained")
    return _line("GPU", "missing", "training the papers' own models takes one")


def _models(mirrors: Sequence[Path]) -> str:
    """Return the line of the registered models that are on this machine."""
    models = load_models(ROOT / "resources/models.yaml")
    folders = [absolute(mirror) for mirror in mirrors]
    present = []
    local = 0
    for name, model in models.items():
        if model.kind in ("embedding-api", "language-model-api"):
            continue
        local += 1
        if not isinstance(resolve(name, model, "available", folders, llm=""), Missing):
            present.append(name)
    text = f"{len(present)} of {local} are here"
    if present:
        text += f" ({', '.join(sorted(present))})"
    state = "ok" if len(present) == local else "missing"
    return _line("models", state, f"{text}; --set models=paper downloads the others")


def _packages() -> str:
    """Return the line of the weights in installed packages, whose digests are
    checked.
    """
    packages = []
    with TemporaryDirectory() as folder:
        for name, model in load_models(ROOT / "resources/models.yaml").items():
            if not (model.package and model.sha256):
                continue
            try:
                if check_package(model.package, model.sha256, Contents(folder)):
                    packages.append(name)
            except BadInput as error:
                return _line("weights", "wrong", f"{error.what}; {error.do}")
    listed = ", ".join(packages) or "none"
    return _line("weights", "ok", f"packages with the registered digests: {listed}")
