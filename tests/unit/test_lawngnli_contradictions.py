"""Hypotheses of one shard are filtered, parsed and contradicted: rows, counts, and
cited cases.
"""

from collections import Counter

import pytest

from helpers.brackets import from_brackets
from lextables.papers.lawngnli.hypotheses import contradictions
from lextables.papers.lawngnli.hypotheses.contradictions import (
    CONTRADICTED,
    DIFFICULTY,
    write_contradictions,
)
from lextables.papers.lawngnli.premises.entail_examples import PARENTHETICALS
from lextables.papers.lawngnli.premises.long_premises import cited_cases, outcomes
from lextables.pipeline import dataset

TREES = {
    "some of the claims were untimely": "(S (NP (NP (DT some)) (PP (IN of) (NP (DT the) (NNS claims))))"
    " (VP (VBD were) (ADJP (RB untimely))))",
    "some rights are not waivable": "(S (NP (DT some) (NNS rights)) (VP (VBP are) (RB not)"
    " (ADJP (JJ waivable))))",
}
TAKEN, REFUSED = TREES
FRAGMENT = "(FRAG (NP (NNS claims)))"
QUOTED, SHORT = 'some "rights" are not waivable', "claims were untimely"
HYPOTHESES = (QUOTED, TAKEN, REFUSED, SHORT)
ROW = {
    "citing_case_id": 1,
    "citing_jurisdiction": "Ill.",
    "citing_date": "1950",
    "cited_jurisdiction": "Ill.",
    "citation": "1 Ill. 2",
    "kind": "full",
    "pincite": "3",
    "pages": ["3"],
    "history": False,
    "parenthetical": "p",
    "short_premise": "The court below found that the deposit is owed.",
    "premise_start": 0,
    "premise_end": 1,
    "premise_spans": [{"start": 0, "end": 1}],
}


class Written:
    """A parser that knows the sentences above, parses others as fragments, and has two
    warnings.
    """

    def __init__(self):
        self.asked = []
        self.warnings = Counter({"FutureWarning": 2})

    def parse(self, texts):
        for text in texts:
            self.asked.append(text)
            yield (from_brackets(TREES.get(text, FRAGMENT)),)


@pytest.fixture
def shard(tmp_path):
    """Write the parentheticals of a shard.

    Each hypothesis is about a different case, numbered from 10.
    """
    rows = [
        ROW | {"example_id": f"e{n}", "hypothesis": text, "cited_case_id": 10 + n}
        for n, text in enumerate(HYPOTHESES)
    ]
    dataset.write(PARENTHETICALS, rows, tmp_path / "parentheticals")
    return tmp_path / "parentheticals"


@pytest.mark.parametrize("batch", [1, 3, 1024])
def test_only_difficult_hypotheses_are_parsed_and_every_reason_is_counted(
    shard, tmp_path, monkeypatch, batch
):
    monkeypatch.setattr(contradictions, "BATCH", batch)
    parser = Written()
    counted = write_contradictions(shard, parser, 0, tmp_path / "out")
    assert parser.asked == [TAKEN, REFUSED]
    assert list(counted.funnel.items()) == [(DIFFICULTY, 2), (CONTRADICTED, 1)]
    assert counted.counts == {
        "difficulty: fewer than four words": 1,
        "difficulty: quotation mark": 1,
        "parser warned: FutureWarning": 2,
        "rejected: double negation": 1,
    }
    found = [
        (row["example_id"], row["fault"], row["rejection"])
        for row in dataset.read(tmp_path / "out")
    ]
    assert found == [
        ("e0", "quotation mark", None),
        ("e1", None, None),
        ("e2", None, "double negation"),
        ("e3", "fewer than four words", None),
    ]
    taken = list(dataset.read(tmp_path / "out"))[1]
    assert (taken["twin"], taken["negated"]) == (
        "none of the claims were untimely",
        False,
    )
    assert (taken["rule"], taken["kind"]) == ("indefinite_pronoun", "negative subject")


def test_without_filters_all_hypotheses_are_parsed_and_no_filter_step_is_counted(
    shard, tmp_path
):
    parser = Written()
    counted = write_contradictions(shard, parser, 0, tmp_path / "out", filtered=False)
    rows = list(dataset.read(tmp_path / "out"))
    assert tuple(parser.asked) == HYPOTHESES
    assert counted.funnel == {CONTRADICTED: 1}
    assert [row["twin"] is not None for row in rows] == [False, True, False, False]
    assert [row["fault"] for row in rows] == [
        "quotation mark",
        None,
        None,
        "fewer than four words",
    ]


def test_the_funnel_of_a_shard_without_hypotheses_contains_zeros(tmp_path):
    dataset.write(PARENTHETICALS, [], tmp_path / "none")
    counted = write_contradictions(tmp_path / "none", Written(), 0, tmp_path / "out")
    assert list(counted.funnel.items()) == [(DIFFICULTY, 0), (CONTRADICTED, 0)]


def test_cited_cases_are_those_of_accepted_hypotheses(shard, tmp_path):
    write_contradictions(shard, Written(), 0, tmp_path / "out")
    assert cited_cases([tmp_path / "out"], [shard]) == {11}


def test_files_of_different_shards_raise_an_error(shard, tmp_path):
    write_contradictions(shard, Written(), 0, tmp_path / "out")
    other = [row | {"example_id": f"f{n}"} for n, row in enumerate(dataset.read(shard))]
    dataset.write(PARENTHETICALS, other, tmp_path / "other")
    with pytest.raises(ValueError, match="are not of one shard"):
        list(outcomes(tmp_path / "out", tmp_path / "other"))
