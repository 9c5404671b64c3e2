"""The volumes of a shard: fetched ones are kept, unavailable ones are skipped or stop
the job.
"""

import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest

from helpers import source_registry
from helpers.caselaw_volume import metadata, write_zip
from lextables.corpora.caselaw import fetching, ingest
from lextables.corpora.caselaw.opinion import Fault
from lextables.corpora.caselaw.volume import other_volume
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import write_result
from lextables.sources.fetch import DiskFull
from lextables.sources.transfer import Client

DEAD = "http://127.0.0.1:9"
ONE = hashlib.sha256(b"one").hexdigest()


def volume(number, about=True):
    """Return a zip with the metadata of a volume, or with another file."""
    content = io.BytesIO()
    metadata = {"volume_number": number, "title": "Test Reports"}
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("notes.txt", f"volume {number}")
        if about:
            archive.writestr("metadata/VolumeMetadata.json", json.dumps(metadata))
    return content.getvalue()


THREE, ANOTHER = volume("3"), volume("3", about=False)


@pytest.fixture
def registry(tmp_path):
    converted = {
        "comparable": False,
        "note": "converted",
        "digests": {"us/1.zip": f"sha256:{ONE}"},
    }
    volumes = {
        "addresses": [f"{DEAD}/{{reporter}}/{{volume}}.zip"],
        "unpinned": "no checksum is published",
        "variants": {"converted": converted},
    }
    metadata = {
        "addresses": [f"{DEAD}/{{reporter}}/{{volume}}/CasesMetadata.json"],
        "unpinned": "none",
    }
    files = {
        "{reporter}/{volume}.zip": volumes,
        "{reporter}/{volume}/CasesMetadata.json": metadata,
    }
    return source_registry.registry(tmp_path, "caselaw", files)


@pytest.fixture
def mirror(tmp_path):
    folder = tmp_path / "mirror"
    (folder / "caselaw/us").mkdir(parents=True)
    for number, body in (("1", b"one"), ("3", THREE)):
        (folder / f"caselaw/us/{number}.zip").write_bytes(body)
    return folder


class Desk:
    """Fetches volumes to a folder, and records messages and waiting times."""

    def __init__(self, folder, registry):
        self.folder, self.registry = folder / "results/sources/caselaw", registry
        self.said, self.waits = [], []

    def fetch_volumes(self, *volumes, mirrors=(), skip=False, **more):
        client = Client(attempts=3, sleep=self.waits.append)
        source = fetching.Source(
            self.folder,
            self.registry,
            mirrors,
            more.get("data", "release"),
            more.get("bulk", Path()),
            more.get("client", client),
            self.said.append,
        )
        cases = more.get("cases")
        return fetching.fetch_volumes(volumes, source, skip=skip, cases=cases)

    @property
    def held(self):
        return sorted(
            path.relative_to(self.folder).as_posix()
            for path in self.folder.rglob("*.zip")
        )


@pytest.fixture
def desk(tmp_path, registry):
    return Desk(tmp_path, registry)


def test_each_volume_is_stored_with_its_record(desk, mirror):
    record = desk.fetch_volumes("us/1", "us/3", mirrors=[mirror])
    assert [(v["file"], v["variant"], v["comparable"]) for v in record["volumes"]] == [
        ("us/1.zip", "converted", False),
        ("us/3.zip", "unverified", False),
    ]
    assert record["absent"] == []
    assert (
        json.loads((desk.folder / "us/1.zip.json").read_text()) == record["volumes"][0]
    )
    assert ingest.paths(record, desk.folder) == [
        desk.folder / "us/1.zip",
        desk.folder / "us/3.zip",
    ]


def test_a_missing_volume_is_skipped_and_named(desk, mirror):
    record = desk.fetch_volumes("us/1", "us/2", "us/3", mirrors=[mirror], skip=True)
    assert [v["file"] for v in record["volumes"]] == ["us/1.zip", "us/3.zip"]
    assert record["absent"] == ["us/2"]
    assert any(
        line.startswith("us/2 is skipped: caselaw/us/2.zip could not be fetched")
        for line in desk.said
    )


def test_a_missing_volume_stops_the_job_and_fetched_volumes_are_kept(desk, mirror):
    with pytest.raises(BadInput) as error:
        desk.fetch_volumes("us/1", "us/2", "us/3", mirrors=[mirror])
    assert str(error.value) == (
        f"caselaw/us/2.zip could not be fetched: {DEAD}/us/2.zip gave no answer (ConnectionError) at the last"
        " of 3 attempts; put it there, take it out of caselaw, or set bad_volumes to skip."
    )
    assert desk.held == ["us/1.zip"]


def test_a_volume_is_fetched_again_only_after_a_change(desk, mirror):
    first = desk.fetch_volumes("us/1", "us/3", mirrors=[mirror])
    assert desk.fetch_volumes("us/1", "us/3") == first
    assert desk.waits == []
    (desk.folder / "us/3.zip").write_bytes(b"cut")
    assert desk.fetch_volumes("us/1", "us/3", skip=True)["absent"] == ["us/3"]
    # The mirror's volume has priority over the one that was fetched.
    for body in (THREE, ANOTHER):
        (mirror / "caselaw/us/3.zip").write_bytes(body)
        assert desk.fetch_volumes("us/3", mirrors=[mirror])["volumes"][0][
            "bytes"
        ] == len(body)


def test_another_volume_is_not_kept(desk, mirror):
    wrong = mirror / "caselaw/us/3.zip"
    wrong.write_bytes(volume("4"))
    message = r"^caselaw/us/3.zip from mirror is volume 4 of Test Reports; put it there"
    with pytest.raises(BadInput, match=message):
        desk.fetch_volumes("us/3", mirrors=[mirror])
    assert desk.held == []
    record = desk.fetch_volumes("us/1", "us/3", mirrors=[mirror], skip=True)
    assert record["absent"] == ["us/3"]
    # As from an earlier version, which kept it.
    wrong.write_bytes(volume("3"))
    desk.fetch_volumes("us/3", mirrors=[mirror])
    stored = desk.folder / "us/3.zip"
    stored.write_bytes(volume("4"))
    record = json.loads((desk.folder / "us/3.zip.json").read_text())
    digest = hashlib.sha256(volume("4")).hexdigest()
    record |= {"digest": f"sha256:{digest}", "bytes": len(volume("4"))}
    write_result(desk.folder / "us/3.zip.json", json.dumps(record))
    with pytest.raises(BadInput, match="no volume from us/3 to us/3 is available"):
        desk.fetch_volumes("us/3", skip=True)


EMPTY = b"PK\5\6" + bytes(18)


@pytest.mark.parametrize(
    "content", [b"", b"<html>Sign in</html>", THREE[:-9], EMPTY, b'{"error": "gone"}']
)
def test_a_mirror_s_file_without_a_digest_is_checked_by_its_content(
    desk, mirror, content
):
    wrong = mirror / "caselaw/us/3.zip"
    wrong.write_bytes(content)
    with pytest.raises(BadInput, match=r"us/3.zip: this is .*zip is expected; put it"):
        desk.fetch_volumes("us/3", mirrors=[mirror])
    assert desk.held == []
    wrong.write_bytes(THREE)
    assert desk.fetch_volumes("us/3", mirrors=[mirror])["absent"] == []


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("3", ""),
        ("03", ""),
        ("4", "volume 4 of Test Reports"),
        ("3-2", ""),
        (None, ""),
        (3, ""),
        (4, "volume 4 of Test Reports"),
    ],
)
def test_a_volume_is_compared_by_its_number(tmp_path, number, expected):
    path = tmp_path / "3.zip"
    path.write_bytes(volume(number))
    assert other_volume(path, "3") == expected
    assert other_volume(path, "3-2") == ""


@pytest.mark.parametrize("content", [b"", b"PK", ANOTHER, THREE[:-9]])
def test_a_zip_without_metadata_of_its_volume_is_not_compared(tmp_path, content):
    path = tmp_path / "4.zip"
    path.write_bytes(content)
    assert other_volume(path, "4") == ""


def test_an_unreachable_address_is_retried_only_for_the_first_volume(desk):
    with pytest.raises(
        BadInput,
        match=r"no volume from us/1 to us/3 is available \(caselaw/us/3\.zip could",
    ):
        desk.fetch_volumes("us/1", "us/2", "us/3", skip=True)
    assert len(desk.waits) == 2


def test_only_volumes_with_a_requested_case_are_fetched(desk, mirror):
    """Cases are looked up in the mirror's volume, or else in its metadata; bulk files
    are always used.
    """
    write_zip(mirror / "caselaw/us/1.zip", {"1": (metadata(11), b"")})
    write_zip(mirror / "caselaw/us/2.zip", {"2": (metadata(12), b"")})
    (mirror / "caselaw/us/4").mkdir()
    (mirror / "caselaw/us/4/CasesMetadata.json").write_text('[{"id": 14}]')
    (mirror / "us.jsonl").write_text("{}")
    where = {"mirrors": [mirror], "cases": {12, 99}, "bulk": mirror}
    record = desk.fetch_volumes("us/1", "us/2", "us/4", "us.jsonl", **where)
    assert [Path(volume["file"]).name for volume in record["volumes"]] == [
        "2.zip",
        "us.jsonl",
    ]
    assert record["without"] == ["us/1", "us/4"]
    assert desk.held == ["us/2.zip"]
    assert ingest.paths(record, desk.folder)[1] == (mirror / "us.jsonl").resolve()
    with pytest.raises(
        BadInput,
        match=r"caselaw/us/5/CasesMetadata\.json could not be fetched.*, or set bad_vol",
    ):
        desk.fetch_volumes("us/5", **where)
    assert desk.fetch_volumes("us/2", "us/5", skip=True, **where)["absent"] == ["us/5"]
    # A damaged file is fetched again.
    for damaged in ("[", "{}"):
        (desk.folder / "us/4/CasesMetadata.json").write_text(damaged)
        (desk.folder / "us/4.zip").write_text(damaged)
        assert desk.fetch_volumes("us/1", "us/4", **where)["without"] == [
            "us/1",
            "us/4",
        ]
    (mirror / "caselaw/us/4/CasesMetadata.json").write_text("{}")
    (desk.folder / "us/4/CasesMetadata.json").unlink()
    with pytest.raises(BadInput, match=r"it is no list of cases .*; put it there"):
        desk.fetch_volumes("us/4", **where)


def test_a_full_disk_is_an_error_even_if_volumes_may_be_skipped(desk, monkeypatch):
    def full(*_, **__):
        raise DiskFull("caselaw/us/1.zip needs 3 bytes more")

    monkeypatch.setattr(fetching, "fetch", full)
    with pytest.raises(DiskFull):
        desk.fetch_volumes("us/1", skip=True)


def test_a_changed_or_missing_volume_is_an_error(desk, mirror):
    record = desk.fetch_volumes("us/1", "us/3", mirrors=[mirror])
    (desk.folder / "us/3.zip").write_bytes(b"cut")
    with pytest.raises(
        BadInput,
        match=r"us/3\.zip: the volume differs from the one that was fetched; fetch it again",
    ):
        ingest.paths(record, desk.folder)
    (desk.folder / "us/1.zip").unlink()
    with pytest.raises(
        BadInput,
        match=r"us/1\.zip: the volume is missing; fetch it again with --forcerun",
    ):
        ingest.paths(record, desk.folder)


def test_the_report_lists_volumes_that_were_set_aside_with_reasons():
    """Volumes that could not be fetched come before those that could not be read."""
    fault = Fault("3.zip", "", "it is no zip", "volume")
    done = ingest.Ingested(12, (fault,), 3, (Path("results/sources/caselaw/us/3.zip"),))
    assert ingest.report({"absent": ["us/2"], "volumes": []}, done) == {
        "opinions": 12,
        "cases left out": 3,
        "set_aside": ["us/2", "us/3"],
        "faults": ["us/2: it was not available; the volume is set aside.", str(fault)],
    }


def test_volumes_without_an_opinion_are_an_error():
    fault = Fault("3.zip", "", "it is no zip", "volume")
    done = ingest.Ingested(0, (fault,), 0, (Path("us/3.zip"),))
    with pytest.raises(
        BadInput,
        match=r"us/3\.zip to us/4\.zip: no opinion was read from 2 volumes \(3\.zip: it is no",
    ):
        ingest.report(
            {"absent": [], "volumes": [{"file": "us/3.zip"}, {"file": "us/4.zip"}]},
            done,
        )
    # None of the volumes has a case of the released data set.
    done = ingest.Ingested(0, (), 0, ())
    assert (
        ingest.report({"absent": [], "volumes": [], "without": ["us/3"]}, done)[
            "opinions"
        ]
        == 0
    )
