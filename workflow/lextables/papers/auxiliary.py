"""Data sets that a paper can do without: whether they are to be had here, and what to say where not.

All is decided by the names of files, before anything is read or fetched: what a row of a table lacks stops no
other row, and nobody waits for gigabytes that they did not ask for.
"""

from collections.abc import Mapping
from pathlib import Path

from lextables.papers.registry import Paper
from lextables.pipeline.config import Config
from lextables.sources.fetch import in_mirror, manual_download
from lextables.sources.registry import Registry, SourceFile, resolve


def absent(config: Config, papers: Mapping[str, Paper], registry: Registry, root: Path) -> dict[str, str]:
    """Return {auxiliary data set of a paper: why it is not to be had} under a configuration.

    One is, where each of its files is in a mirror, was fetched by an earlier run, or has an address while the
    config asks for ``models: paper``, the full rebuild.
    """
    mirrors = config.mirrors(root)
    found = {}
    for paper in papers.values():
        for name, entry in paper.data.items():
            files = [file for several in entry.named(mirrors).values() for file in several]
            if entry.auxiliary and (reason := _reason(files, config, registry, mirrors)):
                found[name] = reason
    return found


def _reason(files: list[str], config: Config, registry: Registry, mirrors: list[Path]) -> str:
    """Why one of the files at least is not to be had; nothing where all are."""
    lacking = [
        wanted
        for wanted in (resolve(registry, *file.split("/", 1)) for file in files)
        if not _fetched(wanted, config) and not in_mirror(wanted, mirrors, wanted.variants_for(config.data))
    ]
    for wanted in lacking:
        if record := manual_download(wanted, mirrors, wanted.variants_for(config.data)):
            return record.sentence
    release = config.data == "release"
    if not lacking or (release and config.models == "paper"):
        return ""
    more = f" and {len(lacking) - 1} more of its files" if len(lacking) > 1 else ""
    named = f"{lacking[0].name}{more}"
    if not release:
        return f"the sample has no {named}"
    return f"no mirror has {named}; models=paper fetches such data"


def _fetched(wanted: SourceFile, config: Config) -> bool:
    file = Path(config.results, "sources", wanted.name)
    return file.is_file() and file.with_name(f"{file.name}.json").is_file()
