"""The committed schemas equal those of the models that validate the files."""

import jsonschema
import pytest
import yaml

from lextables import ROOT
from lextables.pipeline.entries import content
from lextables.registry.schemas import CHECKED, path, schema

FILES = {
    "models": ["models.yaml"],
    "papers": [f"papers/{path.name}" for path in (ROOT / "resources/papers").glob("*")],
    "sources": ["sources.yaml"],
}


@pytest.mark.parametrize("name", sorted(CHECKED))
def test_the_committed_schema_equals_that_of_the_code(name):
    assert path(name).read_text(encoding="utf-8") == schema(name)


@pytest.mark.parametrize("name", sorted(FILES))
def test_files_are_valid_against_their_schema(name):
    valid = content(path(name))
    for file in FILES[name]:
        jsonschema.validate(content(ROOT / "resources" / file), valid)


def test_a_paper_with_an_unknown_key_is_not_valid():
    paper = content(ROOT / "resources/papers/acord.yaml")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**paper, "titel": "ACORD"}, content(path("papers")))


def _flow_mappings(node):
    """Return the numbers of fields of the mappings in braces below a node of YAML."""
    if isinstance(node, yaml.MappingNode):
        counts = [len(node.value)] if node.flow_style else []
        for _, value in node.value:
            counts += _flow_mappings(value)
        return counts
    counts = []
    if isinstance(node, yaml.SequenceNode):
        for value in node.value:
            counts += _flow_mappings(value)
    return counts


@pytest.mark.parametrize("file", FILES["papers"])
def test_an_entry_with_more_than_four_fields_has_one_field_a_line(file):
    text = (ROOT / "resources" / file).read_text(encoding="utf-8")
    assert max(_flow_mappings(yaml.compose(text)), default=0) <= 4


def test_a_key_has_the_docstring_of_its_field_where_its_values_are_not_described():
    definitions = content(path("papers"))["$defs"]
    panel = definitions["ClassificationPanel"]["properties"]
    assert panel["after"]["description"].startswith("Another data set of the paper")
    # A field of the class that it inherits from, and one whose type has a description.
    assert panel["lenient"]["description"].startswith("They are not marked")
    acord = definitions["Acord"]["properties"]
    assert acord["title"]["description"].startswith("a text in one line")
