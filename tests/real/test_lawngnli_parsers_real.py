"""The parsers on real models: pinned trees, and what trees must not depend on."""

# ruff: noqa: E501  (a tree stands on one line)

import json
import re
import zipfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from brackets import to_brackets
from lextables.papers.lawngnli import parsers
from lextables.papers.lawngnli.contradiction import Contradiction, contradict
from lextables.papers.lawngnli.parsers import UNPARSED, Benepar, Dependencies
from lextables.papers.lawngnli.tree import Tree, well_formed
from lextables.pipeline.errors import BadInput

pytest.importorskip(parsers.SPACY_MODEL, reason="the spaCy pipeline is not installed")

# Sentences of our own; the trees are those of benepar_en_gum with benepar 0.2.0, the same with
# transformers 4.57 and 5.23, and spaCy 3.8 for the tokens.
BENEPAR = [
    (
        "No court has so held.",
        ["(S (NP (DT No) (NN court)) (VP (VBZ has) (ADVP (RB so)) (VP (VBN held))) (. .))"],
    ),
    (
        "the statute does not create or expand any right",
        [
            "(S (NP (DT the) (NN statute)) (VP (VBZ does) (RB not) (VP (VB create) (CC or) (VB expand) (NP (DT any) (NN right)))))"
        ],
    ),
    (
        "evidence obtained in violation of the Fourth Amendment may be used in a civil proceeding",
        [
            "(S (NP (NN evidence)) (VP (VP (VBN obtained) (PP (IN in) (NP (NP (NN violation)) (PP (IN of) (NP (DT the) (JJ Fourth) (NN Amendment)))))) (VP (MD may) (VP (VB be) (VP (VBN used) (PP (IN in) (NP (DT a) (JJ civil) (NN proceeding))))))))"
        ],
    ),
    (
        "tariffs forbidden by the dormant Commerce Clause",
        [
            "(NP (NP (NNS tariffs)) (VP (VBN forbidden) (PP (IN by) (NP (DT the) (JJ dormant) (NN Commerce) (NN Clause)))))"
        ],
    ),
    (
        "conviction reversed because the confession was coerced",
        [
            "(S (NP (NN conviction)) (VP (VBD reversed) (SBAR (IN because) (S (NP (DT the) (NN confession)) (VP (VBD was) (VP (VBN coerced)))))))"
        ],
    ),
    (
        "neither party may appeal the order",
        ["(S (NP (DT neither) (NN party)) (VP (MD may) (VP (VB appeal) (NP (DT the) (NN order)))))"],
    ),
    (
        "a plaintiff need not prove malice",
        ["(S (NP (DT a) (NN plaintiff)) (VP (VBP need) (RB not) (VP (VB prove) (NP (NN malice)))))"],
    ),
    (
        "the Board has consistently held that such clauses are unlawful",
        [
            "(S (NP (DT the) (NN Board)) (VP (VBZ has) (ADVP (RB consistently)) (VP (VBN held) (SBAR (IN that) (S (NP (JJ such) (NNS clauses)) (VP (VBP are) (ADJP (JJ unlawful))))))))"
        ],
    ),
    (
        "if the defendant consents, the search is valid",
        [
            "(S (SBAR (IN if) (S (NP (DT the) (NN defendant)) (NNS consents))) (, ,) (S (NP (DT the) (NN search)) (VP (VBZ is) (ADJP (JJ valid)))))"
        ],
    ),
    (
        "the court erred and abused its discretion",
        [
            "(S (NP (DT the) (NN court)) (VP (VP (VBD erred)) (CC and) (VP (VBD abused) (NP (PRP$ its) (NN discretion)))))"
        ],
    ),
    (
        "Congress may not delegate its legislative power, but it may seek assistance from the States.",
        [
            "(S (S (NP (NNP Congress)) (VP (MD may) (RB not) (VP (VB delegate) (NP (PRP$ its) (JJ legislative) (NN power))))) (, ,) (CC but) (S (NP (PRP it)) (VP (MD may) (VP (VB seek) (NP (NP (NN assistance)) (PP (IN from) (NP (DT the) (NNS States))))))) (. .))"
        ],
    ),
    (
        "there is no constitutional right to an appeal",
        [
            "(S (NP (EX there)) (VP (VBZ is) (NP (NP (DT no) (JJ constitutional) (NN right)) (PP (IN to) (NP (DT an) (NN appeal))))))"
        ],
    ),
    (
        "holding that the ordinance was void for vagueness",
        [
            "(S (VP (VBG holding) (SBAR (IN that) (S (NP (DT the) (NN ordinance)) (VP (VBD was) (JJ void) (PP (IN for) (NP (NN vagueness))))))))"
        ],
    ),
    (
        "statute of limitations for fraud",
        ["(NP (NP (NN statute)) (PP (IN of) (NP (NP (NNS limitations)) (PP (IN for) (NP (NN fraud))))))"],
    ),
    (
        "an officer who acts in good faith is immune from suit under 42 U.S.C. § 1983",
        [
            "(S (NP (NP (DT an) (NN officer)) (SBAR (NP (WDT who)) (S (VP (VBZ acts) (PP (IN in) (NP (JJ good) (NN faith))))))) (VP (VBZ is) (JJ immune) (PP (IN from) (NP (NN suit))) (PP (IN under) (NP (CD 42) (NNP U.S.C.) (NNP §) (CD 1983)))))"
        ],
    ),
    (
        "evidence insufficient to support the conviction",
        [
            "(NP (NP (NN evidence)) (ADJP (JJ insufficient) (S (VP (TO to) (VP (VB support) (NP (DT the) (NN conviction)))))))"
        ],
    ),
    (
        "a state may not tax the property of the United States",
        [
            "(S (NP (DT a) (NN state)) (VP (MD may) (RB not) (VP (VB tax) (NP (NP (DT the) (NN property)) (PP (IN of) (NP (DT the) (NNP United) (NNPS States)))))))"
        ],
    ),
    (
        "the rule applies only to felonies",
        [
            "(S (NP (DT the) (NN rule)) (VP (VBZ applies) (PP (ADVP (RB only)) (PP (IN to) (NP (NNS felonies))))))"
        ],
    ),
    (
        "whether the tax is valid is a question of law",
        [
            "(SBAR (SBAR (IN whether) (S (NP (DT the) (NN tax)) (VP (VBZ is) (ADJP (JJ valid))))) (VBZ is) (NP (NP (DT a) (NN question)) (PP (IN of) (NP (NN law)))))"
        ],
    ),
    (
        "The appeal was dismissed (for want of prosecution). Costs were not awarded.",
        [
            "(S (NP (DT The) (NN appeal)) (VP (VBD was) (VP (VBN dismissed) (PRN (-LRB- -LRB-) (PP (IN for) (NP (NP (NN want)) (PP (IN of) (NP (NN prosecution))))) (-RRB- -RRB-)))) (. .))",
            "(S (NP (NNS Costs)) (VP (VBD were) (RB not) (VP (VBN awarded))) (. .))",
        ],
    ),
    (
        "federal law pre-empts the state tort claim",
        ["(S (NP (JJ federal) (NN law)) (VP (VBZ pre-empts) (NP (DT the) (NN state) (JJ tort) (NN claim))))"],
    ),
    (
        "“the privilege can’t be waived”",
        [
            "(S (`` “) (NP (DT the) (NN privilege)) (VP (MD ca) (RB n’t) (VP (VB be) (VP (VBN waived)))) ('' ”))"
        ],
    ),
]

# en_core_web_sm 3.8 and our conversion.
DEPENDENCIES = [
    (
        "No court has so held.",
        ["(S (NP (DT No) (NN court)) (VP (VBZ has) (ADVP (RB so)) (VP (VBN held))) (. .))"],
    ),
    (
        "the statute does not create or expand any right",
        [
            "(S (NP (DT the) (NN statute)) (VP (VBZ does) (RB not) (VP (VP (VB create)) (CC or) (VP (VB expand) (NP (DT any) (NN right))))))"
        ],
    ),
    (
        "evidence obtained in violation of the Fourth Amendment may be used in a civil proceeding",
        [
            "(S (NP (NP (NN evidence)) (VP (VBN obtained) (PP (IN in) (NP (NP (NN violation)) (PP (IN of) (NP (DT the) (NNP Fourth) (NNP Amendment))))))) (VP (MD may) (VP (VB be) (VP (VBN used) (PP (IN in) (NP (DT a) (JJ civil) (NN proceeding)))))))"
        ],
    ),
    (
        "tariffs forbidden by the dormant Commerce Clause",
        [
            "(NP (NP (NNS tariffs)) (VP (VBN forbidden) (PP (IN by) (NP (DT the) (NNP dormant) (NNP Commerce) (NNP Clause)))))"
        ],
    ),
    (
        "conviction reversed because the confession was coerced",
        [
            "(S (NP (NN conviction)) (VP (VBD reversed) (SBAR (IN because) (S (NP (DT the) (NN confession)) (VP (VBD was) (VP (VBN coerced)))))))"
        ],
    ),
    (
        "neither party may appeal the order",
        ["(S (NP (DT neither) (NN party)) (VP (MD may) (VP (VB appeal) (NP (DT the) (NN order)))))"],
    ),
    (
        "a plaintiff need not prove malice",
        ["(S (NP (DT a) (NN plaintiff)) (VP (MD need) (RB not) (VP (VB prove) (NP (NN malice)))))"],
    ),
    (
        "the Board has consistently held that such clauses are unlawful",
        [
            "(S (NP (DT the) (NNP Board)) (VP (VBZ has) (ADVP (RB consistently)) (VP (VBN held) (SBAR (IN that) (S (NP (JJ such) (NNS clauses)) (VP (VBP are) (ADJP (JJ unlawful))))))))"
        ],
    ),
    (
        "if the defendant consents, the search is valid",
        [
            "(S (SBAR (IN if) (S (NP (DT the) (NN defendant)) (VP (VBZ consents)))) (, ,) (NP (DT the) (NN search)) (VP (VBZ is) (ADJP (JJ valid))))"
        ],
    ),
    (
        "the court erred and abused its discretion",
        [
            "(S (NP (DT the) (NN court)) (VP (VP (VBD erred)) (CC and) (VP (VBD abused) (NP (PRP$ its) (NN discretion)))))"
        ],
    ),
    (
        "Congress may not delegate its legislative power, but it may seek assistance from the States.",
        [
            "(S (S (NP (NNP Congress)) (VP (MD may) (RB not) (VP (VB delegate) (NP (PRP$ its) (JJ legislative) (NN power))))) (, ,) (CC but) (S (NP (PRP it)) (VP (MD may) (VP (VB seek) (NP (NP (NN assistance)) (PP (IN from) (NP (DT the) (NNPS States)))))) (. .)))"
        ],
    ),
    (
        "there is no constitutional right to an appeal",
        [
            "(S (NP (EX there)) (VP (VBZ is) (NP (NP (DT no) (JJ constitutional) (NN right)) (PP (IN to) (NP (DT an) (NN appeal))))))"
        ],
    ),
    (
        "holding that the ordinance was void for vagueness",
        [
            "(S (VP (VBG holding) (SBAR (IN that) (S (NP (DT the) (NN ordinance)) (VP (VBD was) (ADJP (JJ void) (PP (IN for) (NP (NN vagueness)))))))))"
        ],
    ),
    (
        "statute of limitations for fraud",
        ["(NP (NP (NN statute)) (PP (IN of) (NP (NP (NNS limitations)) (PP (IN for) (NP (NN fraud))))))"],
    ),
    (
        "an officer who acts in good faith is immune from suit under 42 U.S.C. § 1983",
        [
            "(S (NP (NP (DT an) (NN officer)) (SBAR (S (NP (WP who)) (VP (VBZ acts) (PP (IN in) (NP (JJ good) (NN faith))))))) (VP (VBZ is) (ADJP (JJ immune) (PP (IN from) (NP (NN suit)))) (PP (IN under) (NP (CD 42) (NNP U.S.C.) (NNP §)) (NP (CD 1983)))))"
        ],
    ),
    (
        "evidence insufficient to support the conviction",
        [
            "(NP (NP (NN evidence)) (ADJP (JJ insufficient) (S (VP (TO to) (VP (VB support) (NP (DT the) (NN conviction)))))))"
        ],
    ),
    (
        "a state may not tax the property of the United States",
        [
            "(S (NP (DT a) (NN state)) (VP (MD may) (RB not) (VP (VB tax) (NP (NP (DT the) (NN property)) (PP (IN of) (NP (DT the) (NNP United) (NNP States)))))))"
        ],
    ),
    (
        "the rule applies only to felonies",
        ["(S (NP (DT the) (NN rule)) (VP (VBZ applies) (PP (ADVP (RB only)) (IN to) (NP (NNS felonies)))))"],
    ),
    (
        "whether the tax is valid is a question of law",
        [
            "(S (SBAR (IN whether) (S (NP (DT the) (NN tax)) (VP (VBZ is) (ADJP (JJ valid))))) (VP (VBZ is) (NP (NP (DT a) (NN question)) (PP (IN of) (NP (NN law))))))"
        ],
    ),
    (
        "The appeal was dismissed (for want of prosecution). Costs were not awarded.",
        [
            "(S (NP (DT The) (NN appeal)) (VP (VBD was) (VP (VBN dismissed) (-LRB- -LRB-) (PP (IN for) (NP (NP (NN want)) (PP (IN of) (NP (NN prosecution))))) (-RRB- -RRB-))) (. .))",
            "(S (NP (NNS Costs)) (VP (VBD were) (RB not) (VP (VBN awarded))) (. .))",
        ],
    ),
    (
        "federal law pre-empts the state tort claim",
        [
            "(S (NP (JJ federal) (NN law)) (VP (VBZ pre-empts) (NP (NP (DT the) (NN state) (NN tort)) (NN claim))))"
        ],
    ),
    (
        "“the privilege can’t be waived”",
        [
            "(S (`` “) (NP (DT the) (NN privilege)) (VP (MD ca) (RB n’t) (VP (VB be) (VP (VBN waived)))) ('' ”))"
        ],
    ),
]


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
    """Sentences of 40 to 300 characters from one volume, cut at full stops: rough, as parentheticals are."""
    volume = mirror / "caselaw/us/510.zip"
    if not volume.is_file():
        pytest.skip(f"there is no volume {volume}")
    with zipfile.ZipFile(volume) as archive:
        case = json.loads(archive.read(sorted(n for n in archive.namelist() if n.startswith("json/"))[2]))
    text = " ".join(opinion["text"] for opinion in case["casebody"]["opinions"])
    found = [re.sub(r"\s+", " ", part).strip() for part in text.split(". ")]
    return tuple([part for part in found if 40 <= len(part) <= 300][:120])


@cache
def parsed(parser: parsers.Parser, texts: tuple[str, ...]) -> list[tuple[Tree, ...]]:
    return list(parser.parse(texts))


def in_brackets(parsed: Iterable[tuple[Tree, ...]]) -> list[list[str]]:
    return [[to_brackets(tree) for tree in trees] for trees in parsed]


@pytest.mark.parametrize(("text", "expected"), BENEPAR, ids=[text for text, _ in BENEPAR])
def test_benepar_trees_are_as_pinned(benepar, text, expected):
    assert in_brackets(benepar.parse([text])) == [expected]


@pytest.mark.parametrize(("text", "expected"), DEPENDENCIES, ids=[text for text, _ in DEPENDENCIES])
def test_dependency_trees_are_as_pinned(dependencies, text, expected):
    assert in_brackets(dependencies.parse([text])) == [expected]


@pytest.fixture(params=["benepar", "dependencies"])
def parser(request) -> parsers.Parser:
    return request.getfixturevalue(request.param)


def test_texts_come_back_as_they_were(parser, opinions):
    for text, trees in zip(opinions, parsed(parser, opinions), strict=True):
        assert "".join(tree.text for tree in trees) == text


def test_trees_are_well_formed(parser, opinions):
    assert all(well_formed(tree) for trees in parsed(parser, opinions) for tree in trees)


def test_trees_do_not_depend_on_the_batch_or_the_order(parser, opinions):
    together = in_brackets(parsed(parser, opinions))
    assert [in_brackets(parser.parse([text]))[0] for text in opinions[:30]] == together[:30]
    assert in_brackets(parser.parse(opinions[59::-1]))[::-1] == together[:60]


def test_spacy_gives_the_same_bits_in_any_batch(dependencies, opinions):
    alone = [document.tensor.copy() for document in dependencies._nlp.pipe(opinions, batch_size=1)]
    for size in (7, 120):
        batched = [document.tensor for document in dependencies._nlp.pipe(opinions, batch_size=size)]
        assert all(np.array_equal(one, other) for one, other in zip(alone, batched, strict=True))


def test_padded_batches_give_the_same_trees_here(mirror, benepar, opinions):
    padded = Benepar(str(mirror / "models/benepar_en_gum"), subbatch_tokens=500)
    assert in_brackets(padded.parse(opinions[:60])) == in_brackets(parsed(benepar, opinions)[:60])


@pytest.mark.parametrize(
    ("text", "joined"),
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
def test_odd_texts_survive(parser, text, joined):
    (trees,) = parser.parse([text])
    assert "".join(tree.text for tree in trees) == (text.strip() if joined is None else joined)
    outcome = contradict(trees, example="odd", seed=0)
    assert outcome is not None


def test_a_parenthetical_of_ten_thousand_characters_is_left_unparsed_and_the_next_is_not(benepar):
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


def test_the_two_parsers_agree_on_most_outcomes(benepar, dependencies, opinions):
    outcomes = [
        (contradict(ours, example=text, seed=0), contradict(fast, example=text, seed=0))
        for text, ours, fast in zip(
            opinions, parsed(benepar, opinions), parsed(dependencies, opinions), strict=True
        )
    ]
    agreed = [isinstance(ours, Contradiction) == isinstance(fast, Contradiction) for ours, fast in outcomes]
    both = [pair for pair in outcomes if all(isinstance(outcome, Contradiction) for outcome in pair)]
    assert sum(agreed) / len(agreed) > 0.7
    assert len(both) > 20
    assert sum(ours.text == fast.text for ours, fast in both) / len(both) > 0.7


def test_an_unknown_parser_name_is_bad_input():
    with pytest.raises(BadInput, match="benepar_none: the constituency parser is not on this machine"):
        Benepar("benepar_none")
