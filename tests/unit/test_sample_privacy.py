"""The sample of the privacy policy corpus: that it is what its script makes, in the release's form."""

import hashlib
import json
import re
import runpy
from collections import Counter
from pathlib import Path

import pytest
import yaml

from lextables.dataset import Published
from lextables.privacy import raw
from lextables.rooms import load

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "resources" / "sample"
REGISTRY = yaml.safe_load((ROOT / "resources/sources.yaml").read_text(encoding="utf-8"))["privacy"]
PAPER = load(ROOT / "resources/papers/privacy.yaml")


@pytest.fixture(scope="module")
def remade() -> dict[str, bytes]:
    # Not an import: the script stands outside the package, and this leaves no __pycache__ beside the data.
    return runpy.run_path(str(SAMPLE / "make_privacy.py"))["build"]()


@pytest.fixture(scope="module")
def rows():
    files = {kind: [SAMPLE / file] for kind, file in PAPER.data["privacy"].files.items()}
    given = {"other_snapshots": PAPER.other_snapshots}
    found = raw.read("privacy", Published(files, {}, given, {"policies": "sample"}))
    return {name: list(of) for name, of in found.of.items()} | {"notes": found.notes}


def records(name: str) -> list[dict]:
    return [json.loads(line) for line in (SAMPLE / f"privacy/{name}.ndjson").read_bytes().splitlines()]


def test_remaking_gives_the_same_files(remade):
    assert remade.keys() == {f"privacy/{name}" for name in REGISTRY["files"]}
    assert remade == {name: (SAMPLE / name).read_bytes() for name in remade}


def test_the_registry_has_the_samples_digests():
    for name, file in REGISTRY["files"].items():
        content = (SAMPLE / "privacy" / name).read_bytes()
        sample = file["variants"]["sample"]
        assert sample["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}", name
        assert sample["size"] == len(content), name


@pytest.mark.parametrize("name", ["questions", "coding_values", "privacy_policies"])
def test_its_records_have_the_keys_of_the_release(mirror, name):
    released = mirror / f"privacy/{name if name != 'privacy_policies' else name + '.standin'}.ndjson"
    with released.open(encoding="utf-8") as file:
        first = json.loads(next(file))

    def keys(record):
        if isinstance(record, dict):
            return {key: keys(value) for key, value in record.items()}
        return [keys(record[0])] if isinstance(record, list) and record else type(record)

    first.pop("responses", None)  # the first of the sample is one of the oddities
    ours = {key: value for key, value in records(name)[1].items() if key != "responses"}
    assert keys(ours) == keys(first)


def test_it_is_read_as_the_release_is_and_its_questions_are_the_papers(rows):
    assert Counter(row["category"] for row in rows["questions"]) == {
        "CCPA": 2, "Notice": 2, "Security": 2, "Enforcement": 2,
    }  # fmt: skip
    assert {row["question_id"].rpartition("-")[0] for row in rows["questions"]} == {"CCPA", "N", "SE", "E"}
    assert (len(rows["sites"]), sum(row["paragraphs"] > 0 for row in rows["sites"])) == (10, 9)
    assert Counter(row["documents"] for row in rows["sites"]) == {2: 9, 0: 1}


def test_it_has_what_is_odd_in_the_release(rows):
    notes = rows["notes"]
    assert notes["responses_without_an_option"] == notes["single_choices_with_several_options"] == 1
    assert notes["sites_coded_without_a_policy_here"] == 1
    assert {row["pairs"] for row in rows["sites"]} == {7, 8}
    assert any(row["confidence"] is None for row in rows["responses"])


def test_every_highlight_of_a_site_that_is_here_is_a_sentence_that_says_so(rows):
    assert rows["notes"]["highlights_beyond_our_sentences"] == 0
    here = {row["site"] for row in rows["sites"] if row["paragraphs"]}
    assert all(row["here"] == (row["site"] in here) for row in rows["highlights"])
    text = {row["paragraph_id"]: row["text"] for row in rows["paragraphs"]}
    spans = {(row["paragraph_id"], row["sentence"]): (row["start"], row["end"]) for row in rows["sentences"]}
    about = {
        "E-4": "arbitrat|court|jury",
        "SE-8": "encrypt|hashed|reasonable means",
        "N-3": "face|voice|biometric",
    }  # fmt: skip
    for row in rows["highlights"]:
        if row["here"] and row["question_id"] in about:
            start, end = spans[row["paragraph_id"], row["sentence"]]
            assert re.search(about[row["question_id"]], text[row["paragraph_id"]][start:end])


def test_sites_differ_and_coders_mostly_agree(rows):
    chosen = Counter((row["question_id"], tuple(row["options"])) for row in rows["responses"])
    for question in rows["questions"]:
        assert sum(name == question["question_id"] for name, _ in chosen) > 1
    pairs = Counter()
    for row in rows["responses"]:
        pairs[row["site"], row["question_id"], tuple(row["options"])] += 1
    alike = sum(count > 1 for count in pairs.values())
    assert 40 < alike < 79  # of 79 pairs of a site and a question
