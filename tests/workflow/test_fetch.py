"""`fetch` downloads everything that needs a network, here from a local hub; later runs need no network."""

import os
import subprocess
import sys
from pathlib import Path

import model_hub

ROOT = Path(__file__).parents[2]
# Models of the ACORD paper that are not installed as packages.
MODELS = {"models--cross-encoder--ms-marco-MiniLM-L6-v2"}


def fetched(folder, **environment):
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(folder), "fetch"]
    return subprocess.run(
        [*command, "--config", "papers=[acord]", "models=paper", "device=cpu"],
        cwd=ROOT,
        env=os.environ | {"HF_HOME": str(folder / "hub"), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_sources_and_weights_are_fetched_and_then_no_network_is_needed(tmp_path):
    with model_hub.running() as address:
        run = fetched(tmp_path, HF_ENDPOINT=address, HF_HUB_OFFLINE="0")
    assert run.returncode == 0, run.stdout
    assert (tmp_path / "results/sample/sources/acord/ACORD.zip").is_file()
    there = {folder.name for folder in (tmp_path / "hub/hub").glob("models--*")}
    assert there == MODELS
    asked = len(model_hub.ASKED)
    run = fetched(tmp_path, HF_HUB_OFFLINE="1")
    assert run.returncode == 0, run.stdout
    assert len(model_hub.ASKED) == asked
