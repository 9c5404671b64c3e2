"""Limits of size and density, which keep the code readable (CONTRIBUTING.md)."""

import pytest

from density import counts_by_part, measure, project

# Nodes of the syntax trees.  Pay for what you add by removing something.
NODES = {"package": 391_500, "tests": 353_500, "bench": 12_000}
DENSITY = {"package": 7.5, "scripts": 8.5, "tests": 8.5}  # nodes for each line of code
SUBPACKAGE_DENSITY = 8.5
# For each 1,000 lines of code.
RATES = {
    "comprehensions": 40,
    "nested": 3,
    "ternaries": 15,
    "walrus": 1.5,
    "|=": 1,
    "dict[str, Any]": 4,
}
ADVICE = "`python tests/density.py` lists the densest functions"


@pytest.fixture(scope="module")
def counts():
    """Return the counts by part; here, because collecting the tests should take no time."""
    return counts_by_part(project())


@pytest.mark.parametrize("name", NODES)
def test_a_part_does_not_grow(counts, name):
    assert counts[name]["nodes"] <= NODES[name], ADVICE


@pytest.mark.parametrize("name", DENSITY)
def test_a_line_has_few_nodes(counts, name):
    assert counts[name]["nodes"] / counts[name]["lines"] <= DENSITY[name], ADVICE


def test_no_subpackage_is_dense(counts):
    dense = []
    for name, row in counts.items():
        is_dense = row["nodes"] / row["lines"] > SUBPACKAGE_DENSITY
        if name.startswith("package: ") and is_dense:
            dense.append(name)
    assert len(counts) > 20 and dense == [], ADVICE


@pytest.mark.parametrize("kind", RATES)
def test_dense_expressions_are_rare(counts, kind):
    package = counts["package"]
    assert 1000 * package[kind] / package["lines"] <= RATES[kind], ADVICE


def test_no_function_of_the_package_has_many_parameters(counts):
    assert not counts["package"]["many parameters"]


def test_tests_rarely_nest_comprehensions(counts):
    assert 1000 * counts["tests"]["nested"] / counts["tests"]["lines"] <= 3


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[a for a in b]", {"comprehensions": 1}),
        ("[a for a in b for c in a]", {"comprehensions": 1, "nested": 1}),
        ("[[c for c in a] for a in b]", {"comprehensions": 2, "nested": 1}),
        ("a if b else c", {"ternaries": 1}),
        ("(a := b)", {"walrus": 1}),
        ("a |= b", {"|=": 1}),
        ("a += b", {}),
        ("a: dict[str, Any]", {"dict[str, Any]": 1}),
        ("def f(a, b, c, d, /, e, f, *, g, h): ...", {"many parameters": 1}),
        ("def f(a, b, c, d, e, f, g): ...", {}),
    ],
)
def test_what_is_counted(source, expected):
    found = measure(source)
    del found["nodes"], found["lines"]
    assert found == expected


def test_lines_of_code_are_counted_without_comments_and_docstrings():
    source = '"""Docstring."""\n\n# Comment\na = 1  # end\nb = (\n    2,\n)\n'
    assert measure(source)["lines"] == 4
