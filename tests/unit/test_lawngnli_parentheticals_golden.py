"""Parentheticals that are read from a fixed sample of opinions.

``parentheticals.jsonl`` has paragraphs written for this test in the style of opinions, each with the expected
parentheticals: citation, case, pages, history flag, text.  A failure lists gains (+) and losses (-); enter an
intended change in the file.
"""

import json
from pathlib import Path

import pytest
from eyecite.tokenizers import EXTRACTORS, HyperscanTokenizer, Tokenizer, default_tokenizer

from lextables.papers.lawngnli.parentheticals import read_parentheticals

SAMPLE = Path(__file__).parents[1] / "golden/parentheticals.jsonl"
RECORDS = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module", params=["hyperscan", "default"])
def tokens(request: pytest.FixtureRequest) -> Tokenizer:
    if request.param == "default":
        return default_tokenizer
    # Only the patterns that the sample can match: all of them take 20 s to compile.
    wanted = default_tokenizer.get_extractors("\n".join(record["text"] for record in RECORDS))
    return HyperscanTokenizer(extractors=[extractor for extractor in EXTRACTORS if extractor in wanted])


def test_parentheticals_of_the_sample_are_the_expected_ones(tokens: Tokenizer) -> None:
    changed = []
    for record in RECORDS:
        entries = [
            {
                "citation": p.citation,
                "case": p.resource,
                "pages": list(p.pages),
                "history": p.history,
                "parenthetical": p.text,
            }
            for p in read_parentheticals(record["text"], tokens).parentheticals
        ]
        expected = record["expected"]
        changed += [f"{record['name']}: - {entry}" for entry in expected if entry not in entries]
        changed += [f"{record['name']}: + {entry}" for entry in entries if entry not in expected]
        if len(entries) != len(expected):
            changed.append(f"{record['name']}: {len(entries)} entries, expected {len(expected)}")
    assert len(RECORDS) > 30
    assert not changed, "\n".join(changed)
