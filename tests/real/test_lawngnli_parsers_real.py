"""The parsers with real models: expected trees, and their independence of batch and
order.
"""

import json
import re
import zipfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from helpers.brackets import to_brackets
from lextables.papers.lawngnli.hypotheses import parsers
from lextables.papers.lawngnli.hypotheses.contradiction import contradict
from lextables.papers.lawngnli.hypotheses.parsers import UNPARSED, Benepar, Dependencies
from lextables.papers.lawngnli.hypotheses.tree import Tree, well_formed

pytest.importorskip(parsers.SPACY_MODEL, reason="the spaCy pipeline is not installed")

# Sentences written for this test, with their trees.  `benepar`: by benepar_en_gum with
# benepar 0.2.0 and tokens of spaCy 3.8 (equal with transformers 4.57 and 5.23);
# `dependencies`: by en_core_web_sm 3.8.
GOLDEN = Path(__file__).parents[1] / "golden/parser_trees.jsonl"
TREES = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="session")
def benepar(mirror: Path) -> Benepar:
    folder = mirror / "models/benepar_en_gum"
    if not folder.is_dir():
        pytest.skip(f"there is no constituency parser in {folder}")
    return Benepar(str(folder))


@pytest.fixture(scope="session")
def dependencies() -> Dependencies:
    return Dependencies()


@pytest.fixture(scope="session")
def opinions(mirror: Path) -> tuple[str, ...]:
    """Return 120 sentences of 40 to 300 characters from a case of one volume, split
    only at full stops.
    """
    volume = mirror / "caselaw/us/510.zip"
    if not volume.is_file():
        pytest.skip(f"there is no volume {volume}")
    with zipfile.ZipFile(volume) as archive:
        names = [name for name in archive.namelist() if name.startswith("json/")]
        case = json.loads(archive.read(sorted(names)[2]))
    text = " ".join(opinion["text"] for opinion in case["casebody"]["opinions"])
    sentences = [re.sub(r"\s+", " ", part).strip() for part in text.split(". ")]
    usual = [sentence for sentence in sentences if 40 <= len(sentence) <= 300]
    return tuple(usual[:120])


@cache
def parsed(parser: parsers.Parser, texts: tuple[str, ...]) -> list[tuple[Tree, ...]]:
    return list(parser.parse(texts))


def in_brackets(parsed: Iterable[tuple[Tree, ...]]) -> list[list[str]]:
    return [[to_brackets(tree) for tree in trees] for trees in parsed]


@pytest.mark.parametrize("row", TREES, ids=[row["text"] for row in TREES])
@pytest.mark.parametrize("name", ["benepar", "dependencies"])
def test_trees_equal_the_recorded_trees(request, name, row):
    parser = request.getfixturevalue(name)
    assert in_brackets(parser.parse([row["text"]])) == [row[name]]


@pytest.fixture(params=["benepar", "dependencies"])
def parser(request) -> parsers.Parser:
    return request.getfixturevalue(request.param)


def test_trees_contain_the_unchanged_text(parser, opinions):
    assert opinions
    for text, trees in zip(opinions, parsed(parser, opinions), strict=True):
        assert "".join(tree.text for tree in trees) == text


def test_trees_are_well_formed(parser, opinions):
    assert all(
        well_formed(tree) for trees in parsed(parser, opinions) for tree in trees
    )


def test_trees_do_not_depend_on_the_batch_or_the_order(parser, opinions):
    together = in_brackets(parsed(parser, opinions))
    for text, trees in zip(opinions[:30], together, strict=False):
        assert in_brackets(parser.parse([text])) == [trees]
    reversed_trees = in_brackets(parser.parse(opinions[59::-1]))
    assert reversed_trees[::-1] == together[:60]


@pytest.mark.parametrize(
    ("text", "joined"),  # None: the stripped text
    [
        ("", ""),
        ("   ", ""),
        ("  the tax is void ", "the tax is void"),
        ("the tax  is\n\nvoid", "the tax  is\n\nvoid"),
        ("the \x00tax\x07 is \u200bvoid", None),
        (") ] ((", None),
        ("é ü 漢字 😀", None),
    ],
)
def test_unusual_texts_are_parsed(parser, text, joined):
    (trees,) = parser.parse([text])
    if joined is None:
        joined = text.strip()
    assert "".join(tree.text for tree in trees) == joined
    outcome = contradict(trees, example="odd", seed=0)
    assert outcome is not None


def test_a_parenthetical_of_ten_thousand_characters_is_not_parsed_but_the_next_is(
    benepar,
):
    endless = "the court held that the tax and " * 320
    before, after = benepar.parse([endless, "the tax is void"])
    assert {tree.root.label for tree in before} == {UNPARSED}
    assert contradict(before, example="long", seed=0).reason == "sentence not parsed"
    assert contradict(after, example="short", seed=0).text == "the tax is not void"


def test_warnings_are_counted_and_not_printed(benepar, capfd, recwarn):
    before = benepar.warnings.total()
    list(benepar.parse(["the tax is void"]))
    assert benepar.warnings.total() > before  # torch_struct warns at every sentence
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list
