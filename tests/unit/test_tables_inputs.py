"""What a table is made from: the provenance of its data sets, in the registry's words of today."""

import json

import pytest

from lextables.tables.inputs import comparable, provenance

SOURCE = {"source": "snli", "file": "snli_1.0.zip", "variant": "release", "comparable": True, "note": ""}


@pytest.fixture
def census(tmp_path):
    path = tmp_path / "census.json"
    path.write_text(json.dumps({"sources": [SOURCE, SOURCE | {"variant": "cut", "note": "half of it"}]}))
    return path


def test_a_source_is_what_the_registry_says_of_it_today(census):
    words = {"snli/snli_1.0.zip": {"cut": {"comparable": False, "note": "a third of it"}}}
    found = provenance(census, words)
    assert [(one["variant"], one["comparable"], one["note"]) for one in found] == [
        ("release", True, ""),
        ("cut", False, "a third of it"),
    ]
    assert not comparable(found)
    assert comparable(found[:1])
    assert comparable(provenance(census, {}))
