"""Params and resources of the rules of case law, whose jobs read shards of volumes."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lextables.corpora.caselaw.ingest import FetchedVolumes
from lextables.pipeline.files import read_record
from lextables.planning.job_resources import JobResources
from lextables.planning.rule_values import Files, Resource, Wildcards
from lextables.planning.sources import SourceParams
from lextables.tasks.resources import volume_minutes

SOURCE = "caselaw"  # in the registry, and the folder of the volumes


@dataclass(frozen=True)
class Volumes:
    """The volumes of case law that a data set is built from, as {shard: its volumes}.

    The methods give params and resources of rules whose jobs work on one shard.  A
    volume is `<reporter>/<volume>`, or the name of a file of the bulk export.
    """

    shards: Mapping[str, Sequence[str]]
    sources: SourceParams
    resources: JobResources

    def of_shard(self, wildcards: Wildcards) -> Sequence[str]:
        """Param: the volumes of a shard."""
        return self.shards[wildcards.shard]

    def content(self, wildcards: Wildcards) -> str | list[str]:
        """Param: the digest of the current content of a shard's fetched volumes; for
        files of the bulk export, the digest of each.
        """
        project = self.sources.project
        volumes = self.of_shard(wildcards)
        folder = Path(project.config.bulk_export)
        digests_in_bulk = []
        for name in volumes:
            if "/" not in name:
                digests_in_bulk.append(project.contents.file(folder / name))
        if digests_in_bulk:
            return digests_in_bulk
        path = Path(project.results, "sources", SOURCE, f"{wildcards.shard}.json")
        record = read_record(path, FetchedVolumes) or {"volumes": []}
        fetched = {entry["file"]: entry for entry in record["volumes"]}
        text = ""
        for volume in volumes:
            file = f"{volume}.zip"
            key = self.sources.key(SOURCE, file, fetched.get(file))
            text += f"{file} {key}\n"
        return hashlib.sha256(text.encode()).hexdigest()

    def pins(self, wildcards: Wildcards) -> Files:
        """Param: the registered digests of a shard's volumes; files of the bulk export
        have none.
        """
        pins = []
        for volume in self.of_shard(wildcards):
            if "/" in volume:
                file = {"source": SOURCE, "file": f"{volume}.zip"}
                pins += self.sources.pins(Wildcards(**file))
        return pins

    def runtime(self, seconds: float) -> Resource:
        """Return a resource: the minutes of a shard whose volumes take ``seconds``
        each.
        """

        def requested(wildcards: Wildcards, attempt: int) -> int | float:
            volumes = len(self.of_shard(wildcards))
            minutes = volume_minutes(volumes, seconds)
            return self.resources.limited(minutes * attempt)

        return requested
