"""The targets of a run by paper, with what can run on this machine."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lextables import ROOT
from lextables.cli.snakemake_command import absolute
from lextables.cli.snakemake_command import papers as registered_papers
from lextables.pipeline.errors import BadInput, did_you_mean
from lextables.planning.project import Project, load
from lextables.registry.paper import Paper
from lextables.sources.entries import resolve
from lextables.sources.fetch import manual_download


def target_lines(
    papers: Sequence[str], data: str, mirrors: Sequence[Path]
) -> Iterator[str]:
    """Yield the lines of `lextables list` for ``papers``, or for all if it is empty.

    Raises `BadInput` for a paper that the registry does not have.
    """
    names = registered_papers()
    for paper in papers:
        if paper not in names:
            do = did_you_mean(paper, names) or f"choose from {', '.join(names)}"
            raise BadInput(f"there is no paper {paper!r}", where="command line", do=do)
    config = {
        "papers": [*papers] or names,
        "data": data,
        # The models on this machine; for the sample, only those of the sample.
        "models": "sample" if data == "sample" else "available",
        "mirror": [str(absolute(folder)) for folder in mirrors],
    }
    project = load(ROOT, ROOT, {}, config)
    for paper in project.config.papers:
        yield from _paper_lines(project, paper)


def _paper_lines(project: Project, paper: str) -> Iterator[str]:
    entry = project.papers[paper]
    yield f"{paper:28}{'':16}{entry.title}"
    for name in manual_files(project, entry):
        yield f"  missing: {name}, which must be downloaded manually"
    for name, table in entry.tables.items():
        rows = project.plans[paper].rows[name]
        runnable = sum(_can_run(row) for row in rows)
        can_run = f"{runnable} of {len(rows)} rows" if rows else "from the data"
        yield f"  {f'{paper}_{name}':26}{can_run:16}{table.title}"
    yield f"  {f'{paper}_data':26}{'':16}the data set"


def _can_run(row: dict[str, Any]) -> bool:
    return any(row["runs"].values())


def manual_files(project: Project, paper: Paper) -> list[str]:
    """Return the raw files of a paper that have no address and are in no mirror."""
    mirrors = project.config.mirrors(project.context.root)
    missing = []
    for entry in paper.data.values():
        for files in entry.named(mirrors).values():
            for file in files:
                source_file = resolve(project.sources, *file.split("/", 1))
                variants = source_file.variants_for(project.config.data)
                if manual_download(source_file, mirrors, variants):
                    missing.append(file)
    return missing
