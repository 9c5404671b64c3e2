"""The sample: each script reproduces the committed bytes, and no text is copied from a
release.
"""

import csv
import hashlib
import io
import json
import re
import runpy
import zipfile
import zlib

import pytest
import yaml

from lextables import ROOT

SAMPLE = ROOT / "resources/sample"
MODELS = SAMPLE / "models"
# {script: (its function, path of the file that it returns or folder of the files that
# it returns)}
SCRIPTS = {
    "make_acord": ("build", SAMPLE / "acord/ACORD.zip"),
    "make_caselaw": ("build", SAMPLE / "caselaw"),
    "make_cuad": ("files", SAMPLE / "cuad"),
    "make_encoder": ("build", MODELS / "sample-encoder"),
    "make_language_model": ("build", MODELS / "sample-language-model"),
    "make_maud": ("build", SAMPLE),
    "make_nli": ("build", SAMPLE),
    "make_privacy": ("build", SAMPLE),
}


@pytest.fixture(scope="module")
def remade():
    """{path: (bytes, script)} of every file that the scripts make."""
    files = {}
    for script, (function, place) in SCRIPTS.items():
        # runpy instead of an import, which would write __pycache__ next to the data.
        made = runpy.run_path(str(SAMPLE / f"{script}.py"))[function]()
        contents = made if isinstance(made, dict) else {"": made}
        files |= {
            place / name if name else place: (content, script)
            for name, content in contents.items()
        }
    return files


def committed():
    """Every file of the sample that is neither a script nor a text that a script
    reads.
    """
    files = {
        path
        for path in SAMPLE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    return {
        path
        for path in files
        if path.suffix not in {".py", ".toml"} and path.name != "README.md"
    }


def entries(content):
    """(name, date, bytes) of each member of a zip; these do not depend on the
    compression library.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [
            (entry.filename, entry.date_time, archive.read(entry))
            for entry in archive.infolist()
        ]


def test_every_file_has_a_script(remade):
    assert remade.keys() == committed()


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_script_reproduces_the_committed_bytes(remade, script):
    same_zlib = (
        "ng" not in zlib.ZLIB_RUNTIME_VERSION
    )  # zlib-ng and zlib compress to different bytes
    own = {
        path: content for path, (content, maker) in remade.items() if maker == script
    }
    assert own
    for path, content in own.items():
        if path.suffix == ".zip" and not same_zlib:
            assert entries(content) == entries(path.read_bytes()), path
        else:
            assert content == path.read_bytes(), path


def registered():
    """{path in the sample: its registry entry} from sources.yaml and the sources of the
    papers.
    """
    found = {}
    registries = [
        ROOT / "resources/sources.yaml",
        *sorted((ROOT / "resources/papers").glob("*.yaml")),
    ]
    for registry in registries:
        text = yaml.safe_load(registry.read_text(encoding="utf-8"))
        for source, entry in (
            text.get("sources", {}) if "title" in text else text
        ).items():
            for name, file in entry["files"].items():
                sample = file.get("variants", {}).get("sample", {})
                if "digest" in sample:
                    found[SAMPLE / source / name] = sample
                for name, digest in sample.get("digests", {}).items():
                    found[SAMPLE / source / name] = {"digest": digest}
    return found


def test_the_registries_have_the_digests_of_the_committed_files():
    entries = registered()
    assert len(entries) > 30
    for path, entry in entries.items():
        content = path.read_bytes()
        assert entry["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}", path
        assert entry.get("size", len(content)) == len(content), path


def runs_of_ten(texts):
    """All sequences of ten consecutive words of the texts."""
    found = set()
    for text in texts:
        words = re.findall(r"[a-z0-9]+", text.lower())
        found |= {tuple(words[start : start + 10]) for start in range(len(words) - 9)}
    return found


def members(path, pattern):
    """The texts of the zip's members whose names match."""
    with zipfile.ZipFile(path) as archive:
        return [
            archive.read(name).decode()
            for name in archive.namelist()
            if re.search(pattern, name)
        ]


@pytest.mark.parametrize(
    ("file", "ours", "released"),
    [
        ("acord/ACORD.zip", r"corpus\.jsonl$", r"corpus\.jsonl$"),
        ("maud/maud_v1.zip", r"contracts/.*\.txt$", r"MAUD_(train|dev|test)\.csv$"),
        (
            "cuad/CUAD_v1.zip",
            r"full_contract_txt/.*\.txt$",
            r"full_contract_txt/.*\.txt$",
        ),
    ],
)
def test_no_ten_consecutive_words_are_copied_from_the_release(
    mirror, file, ours, released
):
    texts = []
    for content in members(mirror / file, released):
        if released.endswith(r"csv$"):
            texts += [
                row["text"] for row in csv.DictReader(io.StringIO(content, newline=""))
            ]
        elif released.endswith(r"jsonl$"):
            texts += [json.loads(line)["text"] for line in content.splitlines()]
        else:
            texts.append(content)
    written = members(SAMPLE / file, ours)
    if ours.endswith(r"jsonl$"):
        records = map(json.loads, "".join(written).splitlines())
        written = [record["text"] for record in records]
    sample = runs_of_ten(written)
    assert len(sample) > 1000
    for text in texts:
        assert runs_of_ten([text]).isdisjoint(sample)
