"""The committed schemas equal those of the models that validate the files."""

import jsonschema
import pytest

from lextables import ROOT
from lextables.papers.schemas import CHECKED, path, schema
from lextables.pipeline.registry import content

FILES = {
    "config": "config.yaml",
    "models": "resources/models.yaml",
    "sources": "resources/sources.yaml",
} | {
    f"papers.{paper.stem}": f"resources/papers/{paper.name}"
    for paper in (ROOT / "resources/papers").glob("*")
}


@pytest.mark.parametrize("name", sorted(CHECKED))
def test_the_committed_schema_equals_that_of_the_code(name):
    assert path(name).read_text(encoding="utf-8") == schema(name)


@pytest.mark.parametrize("name", sorted(set(CHECKED) - {"config"}))
def test_files_are_valid_against_their_schema(name):
    jsonschema.validate(content(ROOT / FILES[name]), content(path(name)))
