"""The contradiction algorithm on trees: every rule, branch and rejection, with
sentences in legal style.
"""

import csv
import itertools
import json

import pytest
from statsmodels.stats.proportion import proportion_confint

from helpers.brackets import from_brackets
from lextables import ROOT
from lextables.papers.lawngnli.hypotheses.contradiction import (
    Contradiction,
    Rejected,
    contradict,
)
from lextables.papers.lawngnli.hypotheses.tree import Token, Tree, flat


def golden(name: str) -> list[dict]:
    text = (ROOT / f"tests/golden/{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


GOLDEN = golden("contradictions")
# Hand-written trees: contractions, errors of parsers and of the released code, outputs
# that readers marked as wrong.
TREES = golden("contradiction_trees")
CHANGED = [row for row in GOLDEN if "contradiction" in row]
REFUSED = [row for row in GOLDEN if "rejected" in row]


def apply(
    *brackets: str, example: str = "golden", seed: int = 0
) -> Contradiction | Rejected:
    return contradict(
        [from_brackets(tree) for tree in brackets], example=example, seed=seed
    )


@pytest.mark.parametrize("row", CHANGED, ids=lambda row: row["text"])
def test_golden_sentences_are_contradicted(row):
    assert from_brackets(row["tree"]).text == row["text"]
    assert apply(row["tree"]) == Contradiction(
        row["contradiction"], row["kind"], row["negated"], sentence=0, rule=row["rule"]
    )


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["text"])
def test_golden_sentences_are_rejected(row):
    assert apply(row["tree"]) == Rejected(row["rejected"])


@pytest.mark.parametrize("row", CHANGED, ids=lambda row: row["text"])
def test_applying_a_rule_twice_restores_the_sentence(row):
    # `back` is the text after the second application.  A row with `no_inverse`, the
    # reason, has another `back` than its own text.
    again = apply(row["contradiction_tree"])
    assert again.text == row["back"]
    # For a rule without an inverse, the result is a paraphrase or a weaker statement.
    assert (again.text == row["text"]) == ("no_inverse" not in row)
    assert again.negated != row["negated"] or "no_inverse" in row


@pytest.mark.parametrize("row", TREES, ids=lambda row: row["tree"])
def test_hand_written_trees_are_contradicted_or_rejected(row):
    outcome = apply(row["tree"])
    if "contradiction" in row:
        assert outcome.text == row["contradiction"]
    else:
        assert outcome == Rejected(row["rejected"])


def test_an_empty_hypothesis_is_rejected():
    assert contradict([], example="a", seed=0) == Rejected("empty")


def test_a_sentence_that_was_not_parsed_is_rejected():
    tree = flat(
        [Token("the", "DT"), Token("claim", "NN"), Token("fails", "VBZ", "")],
        "UNPARSED",
    )
    assert contradict([tree], example="a", seed=0) == Rejected("sentence not parsed")


FIRST = "(S (NP (DT The) (NN appeal)) (VP (VBD was) (VP (VBN dismissed))) (. .))"
SECOND = "(S (NP (DT The) (NNS fees)) (VP (VBD were) (RB not) (VP (VBN paid))) (. .))"
FRAGMENT = "(NP (NN statute) (PP (IN of) (NP (NNS limitations))))"


def contradict_two(
    first: str, second: str, example: str, seed: int = 0
) -> Contradiction | Rejected:
    """Contradict a hypothesis of two sentences with two spaces between them."""
    trees = [from_brackets(first), from_brackets(second)]
    spaced = Token(trees[0].tokens[-1].text, trees[0].tokens[-1].tag, "  ")
    trees[0] = Tree((*trees[0].tokens[:-1], spaced), trees[0].root)
    return contradict(trees, example=example, seed=seed)


def test_exactly_one_sentence_changes_and_the_spacing_is_kept():
    outcomes = {contradict_two(FIRST, SECOND, str(example)) for example in range(50)}
    assert outcomes == {
        Contradiction(
            "The appeal was not dismissed.  The fees were not paid.",
            kind="not added",
            negated=False,
            sentence=0,
            rule="verb_phrase",
        ),
        Contradiction(
            "The appeal was dismissed.  The fees were paid.",
            kind="not removed",
            negated=True,
            sentence=1,
            rule="verb_phrase",
        ),
    }


def test_the_draw_depends_only_on_the_example_and_the_seed():
    once = [
        contradict_two(FIRST, SECOND, str(example), seed=3) for example in range(40)
    ]
    assert once == [
        contradict_two(FIRST, SECOND, str(example), seed=3) for example in range(40)
    ]
    assert once != [
        contradict_two(FIRST, SECOND, str(example), seed=4) for example in range(40)
    ]


COMPOUND = (
    "(S (S (NP (DT the) (NN holder)) (VP (VBD signed))) (, ,) (CC {joiner}) "
    "(S (NP (DT the) (NN bank)) (VP (VBD paid))))"
)


def test_one_clause_of_a_compound_sentence_is_drawn():
    texts = {
        apply(COMPOUND.format(joiner="and"), example=str(example)).text
        for example in range(50)
    }
    assert texts == {
        "the holder did not sign, and the bank paid",
        "the holder signed, and the bank did not pay",
    }


def test_clauses_joined_by_or_are_rejected():
    assert apply(COMPOUND.format(joiner="or")) == Rejected("no independent clause")


def test_a_negation_before_a_sentence_with_nor_is_not_removed():
    nor = "(S (ADVP (RB Nor)) (VBZ does) (NP (PRP it)) (VP (VB bar) (NP (NN suit))) (. .))"
    outcomes = {
        type(contradict_two(SECOND, nor, str(example))) for example in range(20)
    }
    assert outcomes == {Rejected}


def test_the_documented_accuracy_equals_that_of_the_readings():
    with (ROOT / "resources/readings/lawngnli_contradictions.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        rows = list(csv.DictReader(file))
    assert len({(row["volume"], row["hypothesis"]) for row in rows}) == len(rows)
    page = (ROOT / "docs/lawngnli.md").read_text(encoding="utf-8")
    samples = sorted({row["sample"] for row in rows})
    assert len(samples) == 10
    for sample, judgement in itertools.product(samples, ("strict", "lenient")):
        judged = [row[judgement] == "right" for row in rows if row["sample"] == sample]
        right = sum(judged)
        low, high = proportion_confint(right, len(judged), method="wilson")
        share = f"{100 * right / len(judged):.1f} %"
        interval = f"{100 * low:.1f} to {100 * high:.1f}"
        text = f"{right} of {len(judged)} ({share}; {interval})"
        assert text in page, (sample, judgement)
    assert all(bool(row["note"]) == (row["strict"] == "wrong") for row in rows)
    assert all(row["lenient"] == "right" for row in rows if row["strict"] == "right")
