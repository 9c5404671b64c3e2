"""Auxiliary data sets: where they are to be had, and why not where they are not."""

import json
from pathlib import Path

import pytest

from lextables.papers.planning import absent_data as absent
from lextables.papers.registry import Paper
from lextables.pipeline.config import load as load_config
from lextables.sources.registry import load as load_sources

ROOT = Path(__file__).parents[2]
OPEN = {"addresses": ["https://example.org/a"], "unpinned": "none is published"}
GATED = {"gated": {"instructions": "ask its authors"}, "unpinned": "none is published"}
SAMPLE = {"comparable": False, "note": "ours", "unpinned": "kept here"}
OLD = {"comparable": True, "note": "the first print", "unpinned": "none", "named": "old.zip"}


def source(**files):
    head = {"title": "A", "licence": "CC0", "citation": "A 2020", "homepage": "https://example.org"}
    return head | {"files": files}


SOURCES = {
    "one": source(
        **{"a.zip": OPEN | {"variants": {"sample": SAMPLE, "old": OLD}}, "b.zip": OPEN, "c.zip": OPEN}
    ),
    "two": source(**{"d.zip": GATED}),
}
DATA = {
    "needed": {"files": {"release": "one/b.zip"}},
    "extra": {"files": {"a": "one/a.zip", "rest": ["one/b.zip", "one/c.zip"]}, "auxiliary": True},
    "by_hand": {"files": {"a": "one/a.zip", "d": "two/d.zip"}, "auxiliary": True},
}
ASK = "two/d.zip must be downloaded manually: ask its authors"


@pytest.fixture
def gone(tmp_path, monkeypatch):
    """What is absent, with these files in the mirror and those fetched before, under a configuration."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sources.yaml").write_text(json.dumps(SOURCES))
    registry = load_sources(tmp_path / "sources.yaml")
    table = {"title": "A", "where": "B"}
    paper = Paper.model_validate({"title": "A", "citation": "B", "data": DATA, "tables": {"table1": table}})

    def find(mirror=(), fetched=(), **values):
        for folder, files in ((tmp_path / "mirror", mirror), (tmp_path / "results/sources", fetched)):
            for file in ("", *files):
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).touch() if file else folder.mkdir(exist_ok=True)
        values = {"papers": "acord", "data": "release", "mirror": str(tmp_path / "mirror")} | values
        return absent(load_config(values, ["acord"], ROOT), {"paper": paper}, registry, ROOT)

    return find


def test_what_is_nowhere_is_absent_with_the_reason_and_what_is_needed_is_not_asked_about(gone):
    assert gone() == {
        "extra": "no mirror has one/a.zip and 2 more of its files; models=paper downloads such data",
        "by_hand": ASK,
    }


def test_a_full_rebuild_fetches_what_has_an_address(gone):
    assert gone(models="paper") == {"by_hand": ASK}


def test_what_a_mirror_has_under_any_name_of_its_variants_is_there(gone):
    rest = "no mirror has one/c.zip; models=paper downloads such data"
    assert gone(["one/old.zip", "one/b.zip"]) == {"extra": rest, "by_hand": ASK}
    assert gone(["one/c.zip", "two/d.zip"]) == {}


def test_what_was_fetched_before_is_there_once_it_is_whole(gone):
    files = ["one/a.zip", "one/b.zip", "one/c.zip", "two/d.zip"]
    assert gone(fetched=files).keys() == {"extra", "by_hand"}
    assert gone(fetched=[f"{file}.json" for file in files]) == {}


def test_the_sample_is_never_fetched_and_a_release_is_none(gone):
    found = gone(["one/a.zip"], data="sample", models="paper")
    assert found.keys() == {"extra", "by_hand"}
    assert found["extra"] == "the sample has no one/a.zip and 2 more of its files"
