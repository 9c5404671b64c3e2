"""The constituency tree: reading it, and edits that keep the spacing.

Clauses and verbs are tested with the rules that use them (test_lawngnli_contradiction).
"""

import pytest

from helpers.brackets import from_brackets
from lextables.papers.lawngnli.hypotheses.tree import (
    Edit,
    Node,
    Token,
    Tree,
    core,
    delete,
    edited,
    flat,
    insert,
    replace,
    verbs,
    well_formed,
)

SENTENCE = "(TOP (S (NP-SBJ (DT The) (NN court)) (VP (VBD held) (ADVP (RB so))) (. .)))"


def read(tree: Tree, node: Node) -> str:
    return " ".join(tree.words(node.start, node.end))


def test_a_bracket_string_is_read_without_its_wrapper_and_function_tags():
    tree = from_brackets(SENTENCE)
    assert tree.root.label == "S"
    assert [child.label for child in tree.root.children] == ["NP", "VP", "."]
    assert [(token.text, token.tag, token.space) for token in tree.tokens] == [
        ("The", "DT", " "),
        ("court", "NN", " "),
        ("held", "VBD", " "),
        ("so", "RB", ""),
        (".", ".", ""),
    ]
    assert tree.text == "The court held so."


def test_the_given_white_space_is_kept():
    tree = from_brackets("(S (NP (NN tax)) (VP (VBZ applies)))", ["  ", "\n"])
    assert tree.text == "tax  applies\n"


def test_children_must_cover_their_parent():
    tree = from_brackets(SENTENCE)
    assert well_formed(tree)
    noun, verb, stop = tree.root.children
    assert not well_formed(Tree(tree.tokens, Node("S", 0, 5, (noun, stop))))
    assert not well_formed(Tree(tree.tokens, Node("S", 0, 5, (noun, noun, verb, stop))))
    assert not well_formed(Tree(tree.tokens, noun))


@pytest.mark.parametrize(
    ("brackets", "expected"),
    [
        ("(NP (NP (DT the) (NN right)) (PP (IN to) (NP (NN counsel))))", "the right"),
        (
            "(NP (NP (NP (DT no) (NN right)) (PP (IN to) (NP (NN it)))) (SBAR (S (VP (VBZ is)))))",
            "no right",
        ),
        (
            "(NP (NP (DT the) (NN State) (POS 's)) (NN interest))",
            "the state 's interest",
        ),
        ("(NP (NP (NN A)) (CC or) (NP (NN B)))", "a"),
        ("(NP (NN tax))", "tax"),
    ],
)
def test_the_core_of_a_noun_phrase_is_found(brackets, expected):
    tree = from_brackets(brackets)
    assert read(tree, core(tree.root)) == expected


def test_an_infinitive_has_no_verbs():
    tree = from_brackets("(VP (TO to) (VP (VB sue)))")
    assert verbs(tree, tree.root, lambda word, following: False, frozenset()) is None


def sentence(text: str) -> Tree:
    """Return a flat tree; ``|`` separates two tokens without white space."""
    tokens = []
    for word in text.replace("|", " |").split(" "):
        if word.startswith("|"):
            tokens[-1] = Token(tokens[-1].text, "X", "")
            word = word[1:]
        tokens.append(Token(word, "X", " "))
    tokens[-1] = Token(tokens[-1].text, "X", "")
    return flat(tokens)


EDITS = [
    ("The tax applies|.", [insert(2, "does", "not")], "The tax does not applies."),
    (
        "The tax applies|.",
        [replace(2, "does", "not", "apply")],
        "The tax does not apply.",
    ),
    ("It is|, however|, void|.", [insert(2, "not")], "It is not, however, void."),
    ("It is not|, however|, void|.", [delete(2)], "It is, however, void."),
    ("It can|not bind us", [delete(2)], "It can bind us"),
    ("It (|not yet|) binds", [delete(2)], "It (yet) binds"),
    ("It (|yet|) binds", [insert(2, "not")], "It (not yet) binds"),
    ('It is "|void|"', [insert(3, "not")], 'It is "not void"'),
    ("Not all is lost", [delete(0)], "All is lost"),
    ("not all is lost", [delete(0)], "all is lost"),
    ("Some sue", [Edit(0, 1, ("no", "one"))], "No one sue"),
    ("It does not bind", [delete(1, 3), replace(3, "binds")], "It binds"),
    ("It binds", [insert(2, "not")], "It binds not"),
    ("It binds", [], "It binds"),
]


@pytest.mark.parametrize(
    ("text", "edits", "expected"), EDITS, ids=[expected for *_, expected in EDITS]
)
def test_edits_keep_the_spacing(text, edits, expected):
    tree = sentence(text)
    assert tree.text == text.replace("|", "")
    assert edited(tree, edits) == expected


def test_the_order_of_edits_does_not_matter():
    tree = sentence("It does not bind")
    assert edited(tree, [replace(3, "binds"), delete(2), delete(1)]) == "It binds"


def test_overlapping_edits_raise_an_error():
    with pytest.raises(ValueError, match="overlap"):
        edited(sentence("It does not bind"), [delete(1, 3), delete(2)])


def test_trees_are_immutable():
    tree = sentence("It binds")
    edited(tree, [delete(0)])
    assert tree == sentence("It binds")
    with pytest.raises(AttributeError):
        tree.tokens = ()
