"""The pages of the documentation: well-formed tables, and a place in the site."""

import re

import pytest

from lextables import ROOT

PAGES = sorted(ROOT.glob("docs/*.md"))


def tables(text):
    """Yield each table as a list of (line number, number of cells)."""
    table = []
    in_code = False
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        in_code ^= line.startswith("```")
        if not in_code and re.match(r" {0,3}\|", line):
            row = line.strip().removeprefix("|").removesuffix("|")
            cells = re.split(r"(?<!\\)\|", row)
            table.append((number, len(cells)))
        elif table:
            yield table
            table = []


def fault_lines(text):
    """Return the numbers of table lines that have more or fewer cells than the
    first.
    """
    found = []
    for table in tables(text):
        found += [number for number, cells in table if cells != table[0][1]]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_all_lines_of_a_table_have_the_same_number_of_cells(page):
    assert fault_lines(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", []),
        ("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n", [3]),
        ("| a | b |\n|---|---|\n| 1 |\n", [3]),
        ("| a | b |\n|---|\n| 1 | 2 |", [2]),
        ("| a |\n|---|\n| x \\| y |\n", []),
        ("```\n| a | b |\n| 1 |\n```\n", []),
    ],
)
def test_a_table_with_another_number_of_cells_is_found(text, lines):
    assert fault_lines(text) == lines


def test_a_block_within_a_list_is_indented_by_four_blanks_for_the_site():
    for page in PAGES:
        nested = re.findall(
            r"^\n {2,3}(?:[|]|- ).*", page.read_text(encoding="utf-8"), re.M
        )
        assert nested == [], page.name


def test_every_page_is_in_the_navigation_of_the_site():
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^ +- (\S+\.md)$", settings, re.M)
    assert sorted(listed) == [page.name for page in PAGES]


# Files that are not in the repository: results, code of others, and the example paper
# of adding-a-paper.md.
ELSEWHERE = re.compile(r"results/|plan/|src/|metrics/cuad/|.*leasesearch")


def test_every_file_that_a_page_names_exists():
    folders = (ROOT, ROOT / "workflow", ROOT / "workflow/lextables")
    path = re.compile(r"`((?:[\w.-]+/)+[\w-]+\.(?:py|smk|ya?ml|csv|txt))`")
    named = set()
    for page in PAGES:
        named |= set(path.findall(page.read_text(encoding="utf-8")))
    named = {name for name in named if not ELSEWHERE.match(name)}
    assert "lextables/metrics/spans.py" in named
    for name in sorted(named):
        assert any((folder / name).is_file() for folder in folders), name
