"""Auxiliary data sets: which are available, and why the others are not."""

import json

import pytest

from lextables import ROOT
from lextables.pipeline.config import load as load_config
from lextables.planning.paper_plan import absent_data as absent
from lextables.registry.paper import Paper
from lextables.sources.entries import load as load_sources

OPEN = {"addresses": ["https://example.org/a"], "unpinned": "none is published"}
GATED = {"gated": {"instructions": "ask its authors"}, "unpinned": "none is published"}
SAMPLE = {"comparable": False, "note": "ours", "unpinned": "kept here"}
OLD = {
    "comparable": True,
    "note": "the first print",
    "unpinned": "none",
    "named": "old.zip",
}


def source(**files):
    head = {
        "title": "A",
        "licence": "CC0",
        "citation": "A 2020",
        "homepage": "https://example.org",
    }
    return head | {"files": files}


SOURCES = {
    "one": source(
        **{
            "a.zip": OPEN | {"variants": {"sample": SAMPLE, "old": OLD}},
            "b.zip": OPEN,
            "c.zip": OPEN,
        }
    ),
    "two": source(**{"d.zip": GATED}),
}
DATA = {
    "needed": {"files": {"release": "one/b.zip"}},
    "extra": {
        "files": {"a": "one/a.zip", "rest": ["one/b.zip", "one/c.zip"]},
        "auxiliary": True,
    },
    "by_hand": {"files": {"a": "one/a.zip", "d": "two/d.zip"}, "auxiliary": True},
}
ASK = "two/d.zip must be downloaded manually: ask its authors"


@pytest.fixture
def gone(tmp_path, monkeypatch):
    """Return a function from files of the mirror, downloaded files and a config to the
    absent data sets.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sources.yaml").write_text(json.dumps(SOURCES))
    registry = load_sources(tmp_path / "sources.yaml")
    table = {"title": "A", "where": "B"}
    head = {"title": "A", "citation": "B", "data": DATA, "tables": {"table1": table}}

    def find(mirror=(), left_out=(), fetched=(), **values):
        keys = head | {"not_in_sample": {"data": [*left_out]}}
        paper = Paper.model_validate(keys)
        for folder, files in (
            (tmp_path / "mirror", mirror),
            (tmp_path / "results/sources", fetched),
        ):
            for file in ("", *files):
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).touch() if file else folder.mkdir(exist_ok=True)
        values = {
            "papers": "acord",
            "data": "release",
            "mirror": str(tmp_path / "mirror"),
        } | values
        return absent(
            load_config(values, ["acord"], ROOT), {"paper": paper}, registry, ROOT
        )

    return find


def test_missing_auxiliary_data_has_a_reason_and_required_data_is_ignored(gone):
    assert gone() == {
        "extra": "no mirror has one/a.zip and 2 more of its files; models=paper downloads such data",
        "by_hand": ASK,
    }


def test_a_full_rebuild_downloads_files_that_have_an_address(gone):
    assert gone(models="paper") == {"by_hand": ASK}


def test_files_of_a_mirror_are_found_by_the_name_of_any_variant(gone):
    rest = "no mirror has one/c.zip; models=paper downloads such data"
    assert gone(["one/old.zip", "one/b.zip"]) == {"extra": rest, "by_hand": ASK}
    assert gone(["one/c.zip", "two/d.zip"]) == {}


def test_downloaded_files_are_available_only_if_complete(gone):
    files = ["one/a.zip", "one/b.zip", "one/c.zip", "two/d.zip"]
    assert gone(fetched=files).keys() == {"extra", "by_hand"}
    assert gone(fetched=[f"{file}.json" for file in files]) == {}


def test_the_sample_leaves_out_data_sets_that_the_registry_names(gone):
    """The registry names ``extra``; with another grid, the whole sample is planned."""
    files = ["one/a.zip", "one/b.zip", "one/c.zip"]
    assert gone(files, ["extra"])["by_hand"] == ASK
    assert gone(files, ["extra"], data="sample")["extra"] == "not part of the sample"
    assert "extra" not in gone(files, ["extra"])


def test_sample_files_are_not_downloaded_or_replaced_by_released_files(gone):
    found = gone(["one/a.zip"], data="sample", models="paper")
    assert found.keys() == {"extra", "by_hand"}
    assert found["extra"] == "the sample has no one/a.zip and 2 more of its files"
