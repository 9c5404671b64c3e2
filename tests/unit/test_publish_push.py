"""Uploads of exports to a model hub on loopback, and exports that are refused."""

import base64
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from helpers import planned_project
from lextables.pipeline.errors import BadInput
from lextables.planning.publish import Exports
from lextables.planning.tables import Tables
from lextables.publish.export import Export, Origin
from lextables.publish.push import COMMIT, check_redistribution
from lextables.registry.paper import Publication, Responsible

PROGRAM = """
import sys
from pathlib import Path
from lextables.pipeline.errors import BadInput
from lextables.publish.push import push
try:
    print(push(Path(sys.argv[1]), sys.argv[2]))
except BadInput as error:
    sys.exit(str(error))
"""
OLD = "old.parquet"  # a file of an earlier export


class Hub(BaseHTTPRequestHandler):
    """Answers what an upload asks; `server.requests` are (path, token, body), and
    `server.commit` the title of the repository's commit.
    """

    def do_GET(self):
        if "/commits/" in self.path:
            about = {"id": "b" * 40, "authors": [], "date": "2026-01-01T00:00:00.000Z"}
            self.answer([{**about, "title": self.server.commit, "message": ""}])
        elif "/tree/" in self.path:
            file = {"type": "file", "path": OLD, "size": 1, "oid": "0" * 40}
            self.answer([file])
        else:
            siblings = [{"rfilename": OLD}]
            about = {"id": "org/x-acord", "sha": "a" * 40, "siblings": siblings}
            self.answer(about)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        token = self.headers["Authorization"]
        self.server.requests.append((self.path, token, body))
        if self.server.status != 200:
            self.answer({"error": "refused"}, self.server.status)
        elif self.path == "/api/repos/create":
            self.answer({"url": f"{self.server.url}/datasets/org/x-acord"})
        elif "/preupload/" in self.path:
            files = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                for file in json.loads(body)["files"]
            ]
            self.answer({"files": files})
        elif "/commit/" in self.path:
            url = f"{self.server.url}/datasets/org/x-acord/commit/abc"
            self.answer({"success": True, "commitOid": "abc", "commitUrl": url})
        else:
            self.answer({"errors": [], "warnings": []})

    def answer(self, content, status=200):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub():
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        server.requests = []
        server.status = 200
        server.commit = COMMIT
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def exported(tmp_path):
    folder = tmp_path / "acord"
    (folder / "data").mkdir(parents=True)
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# ACORD\n")
    (folder / "data/clauses.parquet").write_bytes(b"PAR1\0")
    (folder / ".complete").touch()
    return folder


def pushed(folder, hub, tmp_path, **environment):
    """Run `push` in a process of its own: the library reads variables at its import."""
    environment = {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(tmp_path / "hub"),
        "HF_HUB_OFFLINE": "0",
        "HF_TOKEN": "hf_test",
        **environment,
    }
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, folder, "org/x-acord"],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_export_is_uploaded_with_the_token(exported, hub, tmp_path):
    run = pushed(exported, hub, tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == f"{hub.url}/datasets/org/x-acord/commit/abc"
    assert {token for _, token, _ in hub.requests} == {"Bearer hf_test"}
    created = json.loads(hub.requests[0][2])
    assert (created["name"], created["type"]) == ("x-acord", "dataset")
    assert created["organization"] == "org"
    (commit,) = [body for path, _, body in hub.requests if "/commit/" in path]
    files = {}
    deleted = []
    for line in map(json.loads, commit.splitlines()):
        if line["key"] == "file":
            content = base64.b64decode(line["value"]["content"])
            files[line["value"]["path"]] = content
        elif line["key"] == "deletedFile":
            deleted.append(line["value"]["path"])
    names = ["README.md", "data/clauses.parquet"]
    assert files == {name: (exported / name).read_bytes() for name in names}
    assert deleted == [OLD]


def test_a_repository_with_other_files_is_refused(exported, hub, tmp_path):
    hub.commit = "Upload old.parquet"
    run = pushed(exported, hub, tmp_path)
    assert run.returncode == 1
    assert run.stderr == (
        "push: org/x-acord has files, and none of its commits is an upload of an "
        "export; give another name after push, or delete this repository.\n"
    )
    assert [path for path, _, _ in hub.requests] == ["/api/repos/create"]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_hub_that_refuses_is_named_with_its_reason(exported, hub, tmp_path, status):
    hub.status = status
    run = pushed(exported, hub, tmp_path)
    assert run.returncode == 1
    assert run.stderr.startswith("push: the model hub does not take org/x-acord (")
    assert str(status) in run.stderr and run.stderr.count("\n") == 1
    assert "Traceback" not in run.stderr and "hf_test" not in run.stderr


def test_nothing_is_asked_without_a_token(exported, hub, tmp_path):
    run = pushed(exported, hub, tmp_path, HF_TOKEN="")
    assert run.returncode == 1
    assert run.stderr == (
        "push: there is no token for the model hub; set HF_TOKEN, or run hf auth login.\n"
    )
    assert hub.requests == []


def test_without_a_network_the_reason_is_said(exported, hub, tmp_path):
    for environment in ({"HF_ENDPOINT": "http://127.0.0.1:1"}, {"HF_HUB_OFFLINE": "1"}):
        run = pushed(exported, hub, tmp_path, **environment)
        assert run.returncode == 1
        assert run.stderr.startswith("push: the model hub does not take org/x-acord (")
        assert "Traceback" not in run.stderr
    assert hub.requests == []


def export(licence="CC BY 4.0", variant="release", redistribution=""):
    source = {"title": "Quills", "licence": licence, "variant": variant}
    publication = Publication(redistribution=redistribution)
    return Export(
        *("quill", "Quills", "Quill 2020", publication, Responsible()),
        sets=[],
        sources=[source],
        origin=Origin(),
    )


def test_an_export_that_may_not_be_redistributed_is_refused():
    check_redistribution(export())
    with pytest.raises(BadInput, match="no licence is stated for Quills; leave its pa"):
        check_redistribution(export(licence="none stated; the code is MIT"))
    with pytest.raises(BadInput, match="quill: .* redistributed: ask its authors; le"):
        check_redistribution(export(redistribution="ask its authors."))
    with pytest.raises(BadInput, match="quill: exports of the sample are not uploaded"):
        check_redistribution(export(variant="sample"))


def test_the_privacy_corpus_is_restricted_in_the_registry(monkeypatch, tmp_path):
    project = planned_project.load(monkeypatch, tmp_path, papers=("privacy",))
    assert project.papers["privacy"].publish.redistribution
    assert [*Exports(project, Tables(project)).of_name] == ["privacy"]
