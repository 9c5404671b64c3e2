"""What eyecite and our reading find in a fixed sample of opinions, so that a change shows what it changes.

``parentheticals.jsonl`` holds paragraphs written for this test in the manner of opinions, and for each
the parentheticals expected: citation, case, pages, history flag, text.  Where the sample and the code
disagree, the failure lists gains (+) and losses (-); a change that is wanted is entered in the file.
"""

import json
from pathlib import Path

import pytest
from eyecite.tokenizers import EXTRACTORS, HyperscanTokenizer, Tokenizer, default_tokenizer

from lextables.papers.lawngnli.parentheticals import read_parentheticals

SAMPLE = Path(__file__).with_name("parentheticals.jsonl")


RECORDS = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module", params=["hyperscan", "default"])
def tokens(request: pytest.FixtureRequest) -> Tokenizer:
    if request.param == "default":
        return default_tokenizer
    # Only the patterns that the sample can match: all of them take 20 s to compile.
    wanted = default_tokenizer.get_extractors("\n".join(record["text"] for record in RECORDS))
    return HyperscanTokenizer(extractors=[extractor for extractor in EXTRACTORS if extractor in wanted])


def found(text: str, tokens: Tokenizer) -> list[dict]:
    return [
        {
            "citation": p.citation,
            "case": p.resource,
            "pages": list(p.pages),
            "history": p.history,
            "parenthetical": p.text,
        }
        for p in read_parentheticals(text, tokens).parentheticals
    ]


def gains_and_losses(expected: list[dict], now: list[dict]) -> list[str]:
    gains = [f"+ {json.dumps(entry, ensure_ascii=False)}" for entry in now if entry not in expected]
    losses = [f"- {json.dumps(entry, ensure_ascii=False)}" for entry in expected if entry not in now]
    return losses + gains


def test_gains_and_losses(tokens: Tokenizer) -> None:
    changed = []
    for record in RECORDS:
        now = found(record["text"], tokens)
        if now != record["expected"]:
            changed += [record["name"], *gains_and_losses(record["expected"], now)]
    assert len(RECORDS) > 30
    assert not changed, "gains (+) and losses (-):\n" + "\n".join(changed)


def test_a_change_is_listed() -> None:
    old, new = {"citation": "1 U.S. 1"}, {"citation": "1 U.S. 2"}
    assert gains_and_losses([old], [new]) == ['- {"citation": "1 U.S. 1"}', '+ {"citation": "1 U.S. 2"}']
