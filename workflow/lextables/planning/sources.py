"""Params of the rules that fetch published files and weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_record
from lextables.planning.project import HUB, Project
from lextables.planning.rule_values import Files, Params, Values, Wildcards
from lextables.sources.entries import SourceFile, file_regex, resolve
from lextables.sources.fetch import Provenance, content_key

# What the download of a model's weights depends on.
WEIGHT_SETTINGS = ("model", "weights", "revision", "max_length")


@dataclass(frozen=True)
class SourceParams:
    """Params of the rule of a source file, by its wildcards."""

    project: Project

    def registered(self, wildcards: Wildcards) -> SourceFile:
        """Return the entry of a source file in the registry."""
        return resolve(self.project.sources, wildcards.source, wildcards.file)

    def file_pattern(self) -> str:
        """Return the pattern of all registered files.

        Only these: x.json can be a file, and x.json.json its provenance.
        """
        patterns: set[str] = set()
        for source in self.project.sources.values():
            patterns.update(file_regex(name) for name in source.files)
        return "|".join(sorted(patterns))

    def variants(self, wildcards: Wildcards) -> Files:
        """Param: the variants of a source file that the configuration allows."""
        return self.registered(wildcards).variants_for(self.project.config.data)

    def pins(self, wildcards: Wildcards) -> Files:
        """Param: the registered digests of a source file.

        If a digest in the registry changes, the file is fetched again.
        """
        candidates = self.registered(wildcards).among(self.variants(wildcards))
        return [candidate.pin for candidate in candidates]

    def content(self, wildcards: Wildcards) -> str:
        """Param: the identity of a source file's current content.

        If the content in a mirror changes, the file is fetched again.
        """
        name = f"{wildcards.source}/{wildcards.file}"
        file = Path(self.project.results, "sources", name)
        fetched = None
        if file.is_file():
            fetched = read_record(file.with_name(f"{file.name}.json"), Provenance)
        return self.key(wildcards.source, wildcards.file, fetched)

    def key(self, source: str, file: str, fetched: Values | None) -> str:
        """Return a text that identifies the bytes that a fetch would bring now
        (`content_key`).

        If it changes, the file is fetched again.  ``fetched`` is the provenance of the
        file that was fetched, if any.  After a damaged download was removed, its digest
        is part of the key.
        """
        registered = resolve(self.project.sources, source, file)
        key = content_key(
            registered,
            self.project.context.mirrors,
            registered.variants_for(self.project.config.data),
            fetched,
            self.project.contents.file,
        )
        removed = Path(self.project.results, "sources", source, f"{file}.removed")
        if not removed.is_file():
            return key
        return f"{key} after {removed.read_text(encoding='utf-8')}"


def hub_weights(project: Project, others: Sequence[Values]) -> list[Params]:
    """Param: the settings of all weights from the hub, each once, sorted by location.

    ``others`` are the settings of weights that belong to no run.
    """
    by_location = {}
    for settings in (*(spec.settings for spec in project.specs.values()), *others):
        if not settings.get("found", "").startswith(HUB):
            continue
        location = settings["weights"]
        if not location.startswith(f"{project.results}/"):
            by_location[location] = {key: settings.get(key) for key in WEIGHT_SETTINGS}
    return [by_location[location] for location in sorted(by_location)]


def edgar_contracts(project: Project) -> list[str]:
    """Input: the contracts of the configured quarters of EDGAR; `BadInput` without
    any.
    """
    quarters = project.config.edgar_quarters
    if not quarters:
        raise BadInput(
            "edgar_quarters is empty",
            where="config",
            do="name quarters, as in --config edgar_quarters='[2020-QTR1]'",
        )
    return [f"{project.results}/data/edgar/{quarter}.parquet" for quarter in quarters]
