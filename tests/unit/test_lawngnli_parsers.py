"""Conversion of dependencies to constituents, warnings, and errors.

No model is loaded.
"""

import json
import logging
import warnings
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.brackets import to_brackets
from lextables.papers.lawngnli.hypotheses import constituents, parsers
from lextables.papers.lawngnli.hypotheses.tree import Token, well_formed
from lextables.pipeline.errors import BadInput


def converted(written: str) -> str:
    """Convert a dependency tree (``word/tag/head/label``, with heads from 1) to a
    constituency tree.
    """
    rows = [word.rsplit("/", 3) for word in written.split()]
    tokens = [Token(word, tag) for word, tag, _, _ in rows]
    arcs = [
        (int(head) - 1 if int(head) else i, label)
        for i, (*_, head, label) in enumerate(rows)
    ]
    tree = constituents.constituency_tree(tokens, arcs)
    assert well_formed(tree)
    return to_brackets(tree)


# Two rows are special cases: dependents of an auxiliary are moved to the verb ("it may
# not sue" with "not" below "may"), and a subject after its noun does not form a clause
# ("Tr Arg.").
GOLDEN = Path(__file__).parents[1] / "golden/dependency_trees.jsonl"
TREES = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", TREES, ids=lambda row: row["dependencies"])
def test_dependencies_are_converted_to_constituents(row):
    assert converted(row["dependencies"]) == row["constituents"]


def test_crossing_arcs_are_lifted():
    # 0 ← 2 crosses 1 ← 3: a word below a later word is moved to the head of that word.
    assert constituents._projective([2, 3, 2, 2]) == [2, 2, 2, 2]
    assert constituents._projective([1, 1, 1]) == [1, 1, 1]
    # A root between a word and its head stays where it is.
    assert constituents._projective([2, 1, 2]) == [2, 1, 2]


def test_white_space_tokens_are_added_to_the_previous_token():
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

    words = [
        token(0, "tax", "NN", " "),
        token(1, "\n", "_SP", "", blank=True),
        token(2, "ends", "VBZ", ""),
    ]
    for word in words:
        word.head = words[2]
    blank = token(3, "\n\n", "_SP", "", blank=True)
    blank.head = blank
    ((tokens, arcs),) = parsers._sentences_with_arcs(
        SimpleNamespace(sents=[words, [blank]])
    )
    assert tokens == [Token("tax", "NN", " \n"), Token("ends", "VBZ", "\n\n")]
    assert arcs == [(1, "ROOT"), (1, "ROOT")]


def test_prefixes_are_not_split_off():
    assert all(
        parsers._PREFIXED.fullmatch(word)
        for word in ("pre-empted", "Re-enact", "non-final", "co-defendant")
    )
    assert not any(
        parsers._PREFIXED.fullmatch(word)
        for word in ("state-law", "pre-1902", "well-established", "pre-")
    )


def test_warnings_are_counted_and_loggers_are_restored_after_an_error(recwarn, capfd):
    logger = logging.getLogger("transformers")
    counts = Counter[str]()
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


def test_an_unknown_parser_raises_an_error():
    with pytest.raises(
        BadInput, match="there is no parser 'stanza'; use benepar or dependencies"
    ):
        parsers.parser("stanza")


def test_a_missing_model_folder_raises_an_error():
    with pytest.raises(
        BadInput, match="/no/such/folder: there is no such parser; name the folder"
    ):
        parsers.parser("benepar", model="/no/such/folder")


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [
        ({"added": 2, "cls_token_id": 101, "sep_token_id": 102}, [101, 7, 102]),
        ({"added": 1, "eos_token_id": 1}, [7, 1]),
        ({"added": 0}, [7]),
    ],
)
def test_the_method_that_benepar_needs_exists_only_while_loading(tokenizer, expected):
    from transformers import PreTrainedTokenizerFast as Fast

    from lextables.models import constituency

    had = hasattr(Fast, "build_inputs_with_special_tokens")
    fake = SimpleNamespace(
        num_special_tokens_to_add=lambda: tokenizer["added"], **tokenizer
    )
    with constituency._special_tokens_restored():
        if not had:
            assert Fast.build_inputs_with_special_tokens(fake, [7]) == expected
        assert hasattr(Fast, "build_inputs_with_special_tokens")
    assert hasattr(Fast, "build_inputs_with_special_tokens") == had
