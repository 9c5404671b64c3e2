"""`fetch` downloads everything that needs a network, here from a local hub; later runs
need no network.
"""

import os
import subprocess
import sys

from transformers import BertConfig, BertForSequenceClassification

from helpers import model_hub
from helpers.wordpiece import wordpiece
from lextables import ROOT

# Models of the ACORD paper that are not installed as packages.
MODELS = {"models--cross-encoder--ms-marco-MiniLM-L6-v2"}


def pipeline(folder, *words, **environment):
    command = [sys.executable, "-m", "snakemake", "--cores=2", f"--directory={folder}"]
    return subprocess.run(
        [*command, *words, "papers=[acord]", "device=cpu"],
        cwd=ROOT,
        env=os.environ | {"HF_HOME": str(folder / "hub"), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_sources_and_weights_are_fetched_and_then_no_network_is_needed(
    tmp_path, monkeypatch
):
    model = tmp_path / "model"
    config = BertConfig(
        vocab_size=8,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_labels=1,
    )
    BertForSequenceClassification(config).save_pretrained(model)
    wordpiece(["the", "contract", "ends"]).save_pretrained(model)
    for file in model.iterdir():
        monkeypatch.setitem(model_hub.FILES, file.name, file.read_bytes())
    with model_hub.running() as address:
        hub = {"HF_ENDPOINT": address, "HF_HUB_OFFLINE": "0"}
        run = pipeline(tmp_path, "fetch", "--config", "models=paper", **hub)
    assert run.returncode == 0, run.stdout
    assert (tmp_path / "results/sample/sources/acord/ACORD.zip").is_file()
    there = {folder.name for folder in (tmp_path / "hub/hub").glob("models--*")}
    assert there == MODELS
    words = "acord_table_d2 --dry-run --config models=available".split()
    run = pipeline(tmp_path, *words, HF_HUB_OFFLINE="1")
    assert "bm25+cross-encoder-minilm" in run.stdout


def test_first_contact_reads_the_sample_without_a_network(tmp_path):
    run = pipeline(tmp_path, "first_contact", "--config")
    assert run.returncode == 0, run.stdout
    assert "data set acord: read: 148 clauses, 24 queries" in run.stdout
    assert "edgar: not read: config: edgar_contact is empty" in run.stdout
    report = tmp_path / "results/sample/first_contact/sources.csv"
    lines = report.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "source,outcome,what" and len(lines) == 35
    assert f"of 34 sources were read: {report.relative_to(tmp_path)}" in run.stdout
    assert (tmp_path / "results/sample/sources/acord/ACORD.zip").is_file()
    # It runs again, because a source may be there later.
    assert (
        "first_contact" in pipeline(tmp_path, "first_contact", "-n", "--config").stdout
    )
