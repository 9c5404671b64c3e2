"""Downloads from the command line: damaged files, skipped and new volumes, and secrets
in URLs.
"""

import json

import pytest

from helpers import forked, project_copy
from helpers.caselaw_volume import html, metadata, write_zip
from helpers.http_server import answer, serving
from lextables.pipeline.content import sha256_of
from lextables.pipeline.files import write_result

LOGIN = b"<!DOCTYPE html><title>Sign in</title>"
SHARD = "results/sources/caselaw/us-1.json"
LIST = "results/sources/caselaw/VolumesMetadata.json"


@pytest.fixture
def server(tmp_path):
    """Serves volumes 1 and 2 of `us`, and a list that has volume 3 too; a login page on
    request.
    """
    folder = tmp_path / "server"
    (folder / "us").mkdir(parents=True)
    for number in ("1", "2"):
        entry = metadata(int(number), f"{number} U.S. 1")
        body = html(("majority", ["Affirmed."]))
        write_zip(folder / f"us/{number}.zip", {number: (entry, body)})
    volumes = []
    for number in "123":
        volume = {"volume_number": number, "volume_folder": number}
        volumes.append(volume | {"reporter_slug": "us"})
    (folder / "VolumesMetadata.json").write_text(json.dumps(volumes))

    def respond(request):
        file = folder / request.path.lstrip("/")
        if running.asks_for_login:
            return answer(LOGIN)
        if file.is_file():
            return answer(file.read_bytes())
        return answer(status=404)

    with serving(respond) as running:
        running.folder = folder
        running.asks_for_login = False
        yield running


@pytest.fixture
def project(tmp_path, server):
    """A copy of this project that has the server's address in place of
    static.case.law.
    """
    folder = project_copy.copied(tmp_path / "project")
    registry = folder / "resources/sources.yaml"
    content = registry.read_text().replace("https://static.case.law", server.url)
    registry.write_text(content)
    return folder


def run(project, target, *options, **config):
    config = {
        "data": "release",
        "papers": "[lawngnli]",
        "parser": "dependencies",
    } | config
    values = [f"{key}={value}" for key, value in config.items()]
    return forked.snakemake(
        project, "--cores", "1", *options, "--config", *values, "--", target
    )


def opinions(project, *options):
    """Read volumes 1 to 3; unreadable ones are skipped."""
    return run(
        project,
        "results/data/caselaw/us-1.parquet",
        *options,
        caselaw="us:1-3",
        bad_volumes="skip",
    )


def store_login_page(volume):
    """Replace a downloaded volume by a login page, with the records that a download of
    it would have.
    """
    volume.write_bytes(LOGIN)
    record_file = volume.with_name(f"{volume.name}.json")
    record = json.loads(record_file.read_text())
    record["digest"] = f"sha256:{sha256_of(volume)}"
    record["bytes"] = len(LOGIN)
    write_result(record_file, json.dumps(record))
    # The file of the shard has the records of its volumes.
    shard_file = volume.parents[1] / "us-1.json"
    shard = json.loads(shard_file.read_text())
    for place, other in enumerate(shard["volumes"]):
        if other["file"] == record["file"]:
            shard["volumes"][place] = record
    write_result(shard_file, json.dumps(shard))


def test_a_login_page_is_never_kept_as_a_volume(project, server):
    server.asks_for_login = True
    stopped = opinions(project)
    assert stopped.code != 0
    last = stopped.output.splitlines()[-1]
    assert last.startswith(
        "no volume from us/1 to us/3 is available (caselaw/us/3.zip could not be fetched"
    )
    assert "sent a web page, such as a login page" in last

    server.asks_for_login = False
    done = opinions(project)
    assert done.code == 0, done.output[-3000:]
    skipped = (
        "Skipped volumes of case law: us/3; --forcerun caselaw_volumes fetches them."
    )
    assert done.output.splitlines()[-1] == skipped

    volume = project / "results/sources/caselaw/us/2.zip"
    store_login_page(volume)
    again = opinions(project)
    assert again.code == 0, again.output[-3000:]
    assert (
        "us/2.zip was a web page, such as a login page; it is removed" in again.output
    )
    assert volume.read_bytes() == (server.folder / "us/2.zip").read_bytes()
    assert "Nothing to be done" in opinions(project, "--dry-run").output


def test_a_new_volume_in_the_mirror_is_read(project, tmp_path):
    """It is fetched again without the other volumes, and kept if the mirror loses
    it.
    """
    volume = tmp_path / "mirror/caselaw/us/3.zip"
    volume.parent.mkdir(parents=True)
    config = {"caselaw": "us:1-3", "bad_volumes": "skip", "mirror": tmp_path / "mirror"}
    assert run(project, SHARD, **config).code == 0
    write_zip(volume, {})
    again = run(project, SHARD, **config)
    assert again.code == 0
    assert "Fetching the volumes of the shard us-1" in again.output
    volume.unlink()
    assert "Nothing to be done" in run(project, SHARD, "--dry-run", **config).output


def test_a_damaged_list_of_volumes_stops_no_plan_and_is_fetched_again(project, server):
    stored = project / LIST
    stored.parent.mkdir(parents=True)
    stored.write_text("<html>Sign in")
    planned = run(project, "acord_data", "--dry-run", papers="[acord,lawngnli]")
    assert planned.code == 0, planned.output[-3000:]
    fetched = run(project, LIST)
    assert fetched.code == 0, fetched.output[-3000:]
    assert stored.read_bytes() == (server.folder / "VolumesMetadata.json").read_bytes()


SECRET = "hush-hush"
LOGIN_URL = f"http://user:{SECRET}@host.invalid/x"


@pytest.mark.parametrize(
    "value",
    [
        f"mirror={LOGIN_URL}",
        f"contract={LOGIN_URL}",
        f"extra_models={{name: A, kind: encoder, model: '{LOGIN_URL}'}}",
        f"extra_predictions={{name: A, paper: acord, file: '{LOGIN_URL}'}}",
        f"mirror=http://host.invalid/x?access_token={SECRET}",
    ],
)
def test_a_secret_in_a_url_reaches_no_screen_and_no_log(tmp_path, value):
    stopped = forked.pipeline(tmp_path, "acord_data", "--config", value)
    assert stopped.code != 0
    assert "has a password or a key in a URL" in stopped.output
    assert SECRET not in stopped.output
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert SECRET not in path.read_text(errors="replace")
