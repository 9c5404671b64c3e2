"""The sample of the public NLI data sets: that it is what its script makes, in the forms of the releases."""

import hashlib
import io
import json
import runpy
import zipfile
from collections import Counter
from pathlib import Path

import pytest
import yaml

from lextables.dataset import Published
from lextables.nli import raw

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "resources" / "sample"
REGISTRY = yaml.safe_load((ROOT / "resources/papers/lawngnli.yaml").read_text(encoding="utf-8"))
FILES = {f"{source}/{name}" for source, entry in REGISTRY["sources"].items() for name in entry["files"]}
# The pairs of each data set by split and by answer, without those that have no label.
COUNTS = {
    "anli": ({"train": 273, "dev": 12, "test": 6}, {0: 97, 1: 97, 2: 97}),
    "control": ({"train": 54, "dev": 9, "test": 9}, {0: 24, 1: 24, 2: 24}),
    "docnli": ({"train": 40, "dev": 20, "test": 20}, {0: 28, 1: 52}),
    "contractnli": ({"train": 12, "dev": 3, "test": 3}, {0: 6, 1: 7, 2: 5}),
}


@pytest.fixture(scope="module")
def remade() -> dict[str, bytes]:
    # Not an import: the script stands outside the package, and this leaves no __pycache__ beside the data.
    return runpy.run_path(str(SAMPLE / "make_nli.py"))["build"]()


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_remaking_gives_the_same_files(remade):
    assert remade.keys() == FILES
    for name, content in remade.items():
        committed = (SAMPLE / name).read_bytes()
        if name.endswith(".zip"):  # another zlib may pack the same content otherwise
            assert members(content) == members(committed), name
        else:
            assert content == committed, name


def test_the_registry_has_the_samples_digests():
    for source, entry in REGISTRY["sources"].items():
        for name, file in entry["files"].items():
            content = (SAMPLE / source / name).read_bytes()
            sample = file["variants"]["sample"]
            assert sample["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}", name
            assert sample["size"] == len(content), name


@pytest.mark.parametrize("name", COUNTS)
def test_it_is_read_as_the_releases_are(name):
    entry = REGISTRY["data"][name]
    files = {kind: [SAMPLE / file] for kind, file in entry["files"].items()}
    rows = raw.read(name, Published(files, {}, {key: REGISTRY[key] for key in entry.get("given", ())}))
    examples = list(rows.of["examples"])
    assert (Counter(row["split"] for row in examples), Counter(row["label"] for row in examples)) == COUNTS[
        name
    ]
    # Every kind of file that may hold pairs without a label has one here.
    sources = {note.split()[-1].split("-")[0] for note in rows.notes}
    assert sources == ({"snli", "mnli", "fever"} if name == "anli" else set())


def test_the_spans_of_an_agreement_are_its_lines_and_its_evidence_is_among_them(remade):
    for content in members(remade["contract_nli/contract-nli.zip"]).values():
        for document in json.loads(content)["documents"]:
            spans = [document["text"][start:end] for start, end in document["spans"]]
            assert "\n".join(spans) == document["text"]
            for annotation in document["annotation_sets"][0]["annotations"].values():
                assert bool(annotation["spans"]) == (annotation["choice"] != "NotMentioned")
                assert all(0 < place < len(spans) for place in annotation["spans"])
