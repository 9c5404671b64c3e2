"""Examples of LawngNLI on the page of its data set."""

import pytest

from lextables.papers.lawngnli.exhibits import ORIGIN, _example

ROW = {
    "example_id": "a",
    "premise_example_id": "a",
    "short_premise": "The rent was due.",
    "hypothesis": "The tenant owes the rent.",
    "label": "neutral",
}
TWIN = ROW | {"hypothesis": "The tenant does not owe the rent."}


@pytest.mark.parametrize(
    ("premise_of", "origin"), [("a", ""), ("b", ORIGIN.format("b"))]
)
def test_a_premise_of_another_example_is_named(premise_of, origin):
    example = _example(ROW | {"premise_example_id": premise_of}, TWIN)
    assert example.note == origin
