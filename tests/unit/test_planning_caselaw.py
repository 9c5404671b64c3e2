"""Params and resources of the rules of case law: digests and minutes of a shard."""

from pathlib import Path

import pytest
from snakemake.iocontainers import Wildcards

from helpers import planned_project
from lextables.planning.caselaw import Volumes
from lextables.planning.job_resources import JobResources
from lextables.planning.sources import SourceParams

SHARD = Wildcards(fromdict={"shard": "s"})


@pytest.fixture
def volumes(tmp_path, monkeypatch):
    """Return a function for the params of a shard with these volumes, under a
    configuration: `pins` are registered digests, `content` is the digest of the stored
    volumes.
    """

    def of_shard(*names, **config):
        # A paper that is planned quickly: `Volumes` needs no runs, only the
        # configuration and the sources.
        project = planned_project.load(monkeypatch, tmp_path, papers=["maud"], **config)
        resources = JobResources(project)
        return Volumes({"s": names}, SourceParams(project), resources)

    return of_shard


def test_a_shard_of_the_bulk_export_has_the_digests_of_its_files(tmp_path, volumes):
    (tmp_path / "us.jsonl").write_text("{}")
    shard_params = volumes("us.jsonl", bulk_export=str(tmp_path))
    before = shard_params.content(SHARD)
    assert len(before) == 1 and shard_params.pins(SHARD) == []
    (tmp_path / "us.jsonl").write_text('{"id": 1}')
    assert shard_params.content(SHARD) != before


def test_the_content_of_a_shard_changes_with_its_volumes_and_their_digests(volumes):
    one = volumes("us/901")
    two = volumes("us/901", "us/902")
    assert len(one.pins(SHARD)) == 1 and len(two.pins(SHARD)) == 2
    pinned = set(one.pins(SHARD)) < set(two.pins(SHARD))
    assert pinned and one.content(SHARD) != two.content(SHARD)


def test_a_damaged_record_of_a_shard_is_no_record(volumes):
    shard_params = volumes("us/901")
    before = shard_params.content(SHARD)
    record = Path(shard_params.sources.project.results, "sources/caselaw/s.json")
    record.parent.mkdir(parents=True)
    record.write_text("{")
    assert shard_params.content(SHARD) == before


@pytest.mark.parametrize(
    ("count", "seconds", "attempt", "minutes"),
    [(1, 1, 1, 30), (1, 1, 2, 60), (100, 60, 1, 210), (100, 60, 9, 1000)],
)
def test_a_shard_requests_time_for_its_volumes(
    volumes, count, seconds, attempt, minutes
):
    shard_params = volumes(*map(str, range(count)), max_runtime=1000)
    assert shard_params.runtime(seconds)(SHARD, attempt) == minutes
