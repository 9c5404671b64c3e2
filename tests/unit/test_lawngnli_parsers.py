"""From dependencies to constituents, warnings, and what a missing model says; no model is loaded."""

# ruff: noqa: E501  (a tree stands on one line)

import logging
import warnings
from collections import Counter
from types import SimpleNamespace

import pytest

from brackets import to_brackets
from lextables.papers.lawngnli import parsers
from lextables.papers.lawngnli.tree import Token, well_formed
from lextables.pipeline.errors import BadInput


def converted(written: str) -> str:
    """The constituency tree of a dependency tree written as ``word/tag/head/label`` with heads from 1."""
    rows = [word.rsplit("/", 3) for word in written.split()]
    tokens = [Token(word, tag) for word, tag, _, _ in rows]
    arcs = [(int(head) - 1 if int(head) else i, label) for i, (*_, head, label) in enumerate(rows)]
    tree = parsers._dependency_tree(tokens, arcs)
    assert well_formed(tree)
    return to_brackets(tree)


TREES = [
    ("tax/NN/2/nsubj applies/VBZ/0/ROOT ././2/punct", "(S (NP (NN tax)) (VP (VBZ applies)) (. .))"),
    (
        "it/PRP/5/nsubj may/MD/5/aux not/RB/5/neg be/VB/5/auxpass taxed/VBN/0/ROOT",
        "(S (NP (PRP it)) (VP (MD may) (RB not) (VP (VB be) (VP (VBN taxed)))))",
    ),
    (
        "it/PRP/4/nsubj has/VBZ/4/aux long/RB/4/advmod held/VBN/0/ROOT so/RB/4/advmod",
        "(S (NP (PRP it)) (VP (VBZ has) (ADVP (RB long)) (VP (VBN held) (ADVP (RB so)))))",
    ),
    (
        "it/PRP/3/nsubj plainly/RB/3/advmod errs/VBZ/0/ROOT",
        "(S (NP (PRP it)) (ADVP (RB plainly)) (VP (VBZ errs)))",
    ),
    (
        "it/PRP/2/nsubj erred/VBD/0/ROOT and/CC/2/cc left/VBD/2/conj",
        "(S (NP (PRP it)) (VP (VP (VBD erred)) (CC and) (VP (VBD left))))",
    ),
    (
        "it/PRP/3/nsubj may/MD/3/aux sue/VB/0/ROOT or/CC/3/cc settle/VB/3/conj",
        "(S (NP (PRP it)) (VP (MD may) (VP (VP (VB sue)) (CC or) (VP (VB settle)))))",
    ),
    (
        "it/PRP/3/nsubj may/MD/3/aux sue/VB/0/ROOT and/CC/3/cc must/MD/6/aux pay/VB/3/conj",
        "(S (NP (PRP it)) (VP (VP (MD may) (VP (VB sue))) (CC and) (VP (MD must) (VP (VB pay)))))",
    ),
    (
        "A/NN/2/nsubj won/VBD/0/ROOT ,/,/2/punct but/CC/2/cc B/NN/6/nsubj lost/VBD/2/conj",
        "(S (S (NP (NN A)) (VP (VBD won))) (, ,) (CC but) (S (NP (NN B)) (VP (VBD lost))))",
    ),
    (
        "A/NN/2/nsubj won/VBD/0/ROOT or/CC/2/cc tied/VBD/2/conj and/CC/4/cc B/NN/7/nsubj lost/VBD/4/conj",
        "(S (S (NP (NN A)) (VP (VP (VBD won)) (CC or) (VP (VBD tied)))) (CC and) (S (NP (NN B)) (VP (VBD lost))))",
    ),
    (
        "it/PRP/2/nsubj held/VBD/0/ROOT that/IN/5/mark tax/NN/5/nsubj applies/VBZ/2/ccomp",
        "(S (NP (PRP it)) (VP (VBD held) (SBAR (IN that) (S (NP (NN tax)) (VP (VBZ applies))))))",
    ),
    (
        "even/RB/4/advmod if/IN/4/mark it/PRP/4/nsubj errs/VBZ/7/advcl ,/,/7/punct we/PRP/7/nsubj defer/VBP/0/ROOT",
        "(S (SBAR (ADVP (RB even)) (IN if) (S (NP (PRP it)) (VP (VBZ errs)))) (, ,) (NP (PRP we)) (VP (VBP defer)))",
    ),
    (
        "one/NN/4/nsubj who/WP/3/nsubj sues/VBZ/1/relcl pays/VBZ/0/ROOT",
        "(S (NP (NP (NN one)) (SBAR (S (NP (WP who)) (VP (VBZ sues))))) (VP (VBZ pays)))",
    ),
    (
        "tariffs/NNS/0/ROOT barred/VBN/1/acl by/IN/2/agent law/NN/3/pobj",
        "(NP (NP (NNS tariffs)) (VP (VBN barred) (PP (IN by) (NP (NN law)))))",
    ),
    (
        "the/DT/3/det state/NN/3/compound law/NN/0/ROOT of/IN/3/prep fraud/NN/4/pobj",
        "(NP (NP (DT the) (NN state) (NN law)) (PP (IN of) (NP (NN fraud))))",
    ),
    ("evidence/NN/2/nsubj insufficient/JJ/0/ROOT", "(S (NP (NN evidence)) (ADJP (JJ insufficient)))"),
    ("holding/VBG/0/ROOT so/RB/1/advmod", "(S (VP (VBG holding) (ADVP (RB so))))"),
    (
        "it/PRP/2/nsubj agreed/VBD/0/ROOT to/TO/4/aux sue/VB/2/xcomp",
        "(S (NP (PRP it)) (VP (VBD agreed) (S (VP (TO to) (VP (VB sue))))))",
    ),
    # What hangs on an auxiliary goes to the verb.
    (
        "it/PRP/4/nsubj may/MD/4/aux not/RB/2/neg sue/VB/0/ROOT",
        "(S (NP (PRP it)) (VP (MD may) (RB not) (VP (VB sue))))",
    ),
    ("A/NN/0/ROOT B/NN/0/ROOT", "(X (NP (NN A)) (NP (NN B)))"),
    # A subject after its noun makes no clause.
    ("Tr/NN/0/ROOT Arg/NN/1/nsubj ././1/punct", "(NP (NP (NN Tr)) (NP (NN Arg)) (. .))"),
]


@pytest.mark.parametrize(("written", "expected"), TREES, ids=[written for written, _ in TREES])
def test_dependencies_become_constituents(written, expected):
    assert converted(written) == expected


def test_arcs_that_cross_are_lifted():
    # 0 ← 2 crosses 1 ← 3: the word that stands under a later one is lifted to that one's head.
    assert parsers._projective([2, 3, 2, 2]) == [2, 2, 2, 2]
    assert parsers._projective([1, 1, 1]) == [1, 1, 1]


def test_white_space_tokens_join_the_token_before():
    def token(i, text, tag, space, head=None, blank=False):
        return SimpleNamespace(
            i=i,
            text=text,
            tag_=tag,
            whitespace_=space,
            text_with_ws=text + space,
            dep_="ROOT",
            head=head,
            is_space=blank,
        )

    words = [token(0, "tax", "NN", " "), token(1, "\n", "_SP", "", blank=True), token(2, "ends", "VBZ", "")]
    for word in words:
        word.head = words[2]
    blank = token(3, "\n\n", "_SP", "", blank=True)
    blank.head = blank
    ((tokens, arcs),) = parsers._arcs(SimpleNamespace(sents=[words, [blank]]))
    assert tokens == [Token("tax", "NN", " \n"), Token("ends", "VBZ", "\n\n")]
    assert arcs == [(1, "ROOT"), (1, "ROOT")]


def test_prefixes_are_not_split_off():
    assert all(
        parsers._PREFIXED.fullmatch(word) for word in ("pre-empted", "Re-enact", "non-final", "co-defendant")
    )
    assert not any(
        parsers._PREFIXED.fullmatch(word) for word in ("state-law", "pre-1902", "well-established", "pre-")
    )


def test_warnings_are_counted_by_category_and_loggers_are_as_before_after_an_error(recwarn, capfd):
    logger, counts = logging.getLogger("transformers"), Counter[str]()
    before = (logger.propagate, logger.handlers[:])

    def fail() -> None:
        with parsers.counted(counts):
            warnings.warn("a", UserWarning, stacklevel=1)
            warnings.warn("a", UserWarning, stacklevel=1)
            warnings.warn("b", FutureWarning, stacklevel=1)
            logger.warning("c")
            logger.info("not a warning")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (logger.propagate, logger.handlers) == before
    assert counts == {"UserWarning": 2, "FutureWarning": 1, "transformers warning": 1}
    assert not recwarn.list
    assert capfd.readouterr() == ("", "")


def test_an_unknown_parser_is_bad_input():
    with pytest.raises(BadInput, match="there is no parser 'stanza'; use benepar or dependencies"):
        parsers.parser("stanza")


def test_a_missing_model_folder_is_bad_input():
    with pytest.raises(BadInput, match="/no/such/folder: there is no such parser; name the folder"):
        parsers.parser("benepar", model="/no/such/folder")


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [
        ({"added": 2, "cls_token_id": 101, "sep_token_id": 102}, [101, 7, 102]),
        ({"added": 1, "eos_token_id": 1}, [7, 1]),
        ({"added": 0}, [7]),
    ],
)
def test_the_method_that_benepar_needs_is_there_while_loading(tokenizer, expected):
    from transformers import PreTrainedTokenizerFast as Fast

    from lextables.models import constituency

    had = hasattr(Fast, "build_inputs_with_special_tokens")
    fake = SimpleNamespace(num_special_tokens_to_add=lambda: tokenizer["added"], **tokenizer)
    with constituency._special_tokens_restored():
        if not had:
            assert Fast.build_inputs_with_special_tokens(fake, [7]) == expected
        assert hasattr(Fast, "build_inputs_with_special_tokens")
    assert hasattr(Fast, "build_inputs_with_special_tokens") == had
