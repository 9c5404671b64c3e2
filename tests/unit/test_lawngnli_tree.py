"""The constituency tree: reading it, its clauses and verbs, and edits that keep the spacing."""

# ruff: noqa: E501  (a tree stands on one line)

import pytest

from brackets import from_brackets
from lextables.papers.lawngnli.tree import (
    Clause,
    Edit,
    Node,
    Token,
    Tree,
    clauses,
    core,
    delete,
    edited,
    flat,
    insert,
    path_to,
    replace,
    verbs,
    well_formed,
)

SENTENCE = "(TOP (S (NP-SBJ (DT The) (NN court)) (VP (VBD held) (ADVP (RB so))) (. .)))"


def read(tree: Tree, node: Node) -> str:
    return " ".join(tree.words(node))


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
    with pytest.raises(ValueError, match="1 spaces for 2 words"):
        from_brackets("(S (NP (NN tax)) (VP (VBZ applies)))", [" "])


@pytest.mark.parametrize(
    ("brackets", "text"),
    [
        ("(NP (NP (NN state) (POS 's)) (NN law))", "state's law"),
        ("(NP (NN law) (HYPH -) (NN making))", "law-making"),
        ("(NP ($ $) (CD 500))", "$500"),
        ("(S (VP (MD can) (RB not) (VP (VB be))))", "cannot be"),
        ("(NP (NN notice) (, ,) (NN hearing))", "notice, hearing"),
        ("(S (NP (NN tax)) (VP (VBZ is) (PRN (-LRB- -LRB-) (JJ void) (-RRB- -RRB-))))", "tax is (void)"),
    ],
)
def test_words_are_spaced_as_english_is(brackets, text):
    assert from_brackets(brackets).text == text


def test_children_cover_their_parent():
    tree = from_brackets(SENTENCE)
    assert well_formed(tree)
    noun, verb, stop = tree.root.children
    assert not well_formed(Tree(tree.tokens, Node("S", 0, 5, (noun, stop))))
    assert not well_formed(Tree(tree.tokens, Node("S", 0, 5, (noun, noun, verb, stop))))
    assert not well_formed(Tree(tree.tokens, noun))


def test_the_path_to_a_token():
    tree = from_brackets(SENTENCE)
    assert [node.label for node in path_to(tree.root, 3)] == ["S", "VP", "ADVP", "RB"]


def test_a_flat_tree():
    tree = flat([Token("a", "DT"), Token("b", "NN", "")], "UNPARSED")
    assert (tree.text, tree.root.label, len(tree.root.children)) == ("a b", "UNPARSED", 2)
    assert clauses(tree) == ()


CLAUSES = [
    ("(S (NP (NN tax)) (VP (VBZ applies)))", [("tax", "applies")]),
    (
        "(S (SBAR (IN if) (S (NP (PRP it)) (VP (VBZ is)))) (, ,) (NP (NN tax)) (VP (VBZ applies)))",
        [("tax", "applies")],
    ),
    ("(S (NP (NN Monday)) (NP (NN tax)) (VP (VBZ applies)))", [("tax", "applies")]),
    ("(NP (NP (NN tax)) (VP (VBN barred)))", [("tax", "barred")]),
    ("(FRAG (NP (NN tax)) (ADJP (JJ void)))", [("tax", "void")]),
    (
        "(S (S (NP (NN A)) (VP (VBD won))) (, ,) (CC and) (S (NP (NN B)) (VP (VBD lost))))",
        [("a", "won"), ("b", "lost")],
    ),
    (
        "(S (S (NP (NN A)) (VP (VBD won))) (: ;) (S (S (NP (NN B)) (VP (VBD lost))) (CC but) (S (VP (VBD paid)))))",
        [("a", "won"), ("b", "lost")],
    ),
    ("(S (S (NP (NN A)) (VP (VBD won))) (CC or) (S (NP (NN B)) (VP (VBD lost))))", []),
    ("(S (S (NP (NN A)) (VP (VBD won))) (S (NP (NN B)) (VP (VBD lost))))", [("a", "won")]),
    ("(S (VP (VBG holding) (SBAR (S (NP (NN A)) (VP (VBD won))))))", []),
    ("(SBAR (IN because) (S (NP (NN A)) (VP (VBD won))))", []),
    ("(SINV (RB nor) (VBZ is) (NP (NN A)) (ADJP (JJ void)))", []),
    ("(SQ (VBZ is) (NP (NN A)) (ADJP (JJ void)))", []),
    ("(S (NP (NN A)))", []),
    # Put right: what weak parsers leave bare.
    (
        "(S (NN failure) (S (VP (TO to) (VP (VB act)))) (ADVP (RB plainly)) (VBZ bars) (NP (NN it)) (. .))",
        [("failure to act", "bars it")],
    ),
    ("(S (VBD won) (NP (NN A)))", []),
    ("(S (CC neither) (NP (NN A)) (CC nor) (NP (NN B)) (VP (VBD won)))", [("neither a nor b", "won")]),
    ("(S (NP (NN A)) (, ,) (ADVP (RB too)) (, ,) (NP (NN B)) (VP (VBD won)))", [("b", "won")]),
    ("(NP (NP (NN lien)) (RB not) (JJ valid) (PP (IN in) (NP (NN rem))))", [("lien", "valid in rem")]),
    ("(NP (NN lien) (PP (IN on) (NP (NN it))) (RB not) (VBN filed))", [("lien on it", "filed")]),
    ("(NP (DT a) (RB not) (JJ valid) (NN lien))", []),
    ("(NP (RB not) (JJ valid))", []),
]


@pytest.mark.parametrize(("brackets", "expected"), CLAUSES, ids=[tree for tree, _ in CLAUSES])
def test_the_independent_clauses(brackets, expected):
    tree = from_brackets(brackets)
    found = clauses(tree)
    assert all(isinstance(clause, Clause) for clause in found)
    assert [(read(tree, clause.subject), read(tree, clause.predicate)) for clause in found] == expected


@pytest.mark.parametrize(
    ("brackets", "expected"),
    [
        ("(NP (NP (DT the) (NN right)) (PP (IN to) (NP (NN counsel))))", "the right"),
        ("(NP (NP (NP (DT no) (NN right)) (PP (IN to) (NP (NN it)))) (SBAR (S (VP (VBZ is)))))", "no right"),
        ("(NP (NP (DT the) (NN State) (POS 's)) (NN interest))", "the state 's interest"),
        ("(NP (NP (NN A)) (CC or) (NP (NN B)))", "a"),
        ("(NP (NN tax))", "tax"),
    ],
)
def test_the_core_of_a_noun_phrase(brackets, expected):
    tree = from_brackets(brackets)
    assert read(tree, core(tree.root)) == expected


def leads(word: str, following: str) -> bool:
    return word in ("may", "has", "does", "is", "be")


VERBS = [
    # chain, peers, joiners, main_peers; verbs as words
    ("(VP (VBZ bars) (NP (NN suit)))", (["bars"], [], (), [])),
    ("(VP (MD may) (RB not) (VP (VB be) (VP (VBN barred))))", (["may", "be", "barred"], [], (), [])),
    ("(VP (ADVP (RB so)) (VBD held))", (["held"], [], (), [])),
    ("(VP (VP (VBD erred)) (CC and) (VP (VBD left)))", (["erred"], ["left"], ("and",), [])),
    ("(VP (VBZ makes) (CC or) (VBZ breaks) (NP (NN law)))", (["makes"], ["breaks"], ("or",), [])),
    (
        "(VP (VBZ does) (VP (VB make) (CC or) (VB break) (NP (NN law))))",
        (["does", "make"], [], (), ["break"]),
    ),
    (
        "(VP (VP (MD may) (VP (VB sue))) (CC but) (VP (MD must) (VP (VB pay))))",
        (["may", "sue"], ["must"], ("but",), []),
    ),
    ("(VP (VBD helped) (VP (VB pay)))", (["helped"], [], (), [])),
    ("(VP (VBZ is) (VBN barred))", (["is", "barred"], [], (), [])),
    ("(VP (VBZ is) (ADJP (JJ void)) (CC and) (VP (VBN barred)))", (["is"], ["barred"], ("and",), [])),
]


@pytest.mark.parametrize(("brackets", "expected"), VERBS, ids=[tree for tree, _ in VERBS])
def test_the_verbs_of_a_verb_phrase(brackets, expected):
    tree = from_brackets(brackets)
    found = verbs(tree, tree.root, leads)
    chain, peers, joiners, main_peers = expected
    assert [tree.tokens[i].text for i in found.chain] == chain
    assert [tree.tokens[i].text for i in found.peers] == peers
    assert [tree.tokens[i].text for i in found.main_peers] == main_peers
    assert found.joiners == joiners
    assert (found.first, found.main) == (found.chain[0], found.chain[-1])


def test_a_phrase_without_a_verb_has_none():
    assert (
        verbs(from_brackets("(VP (ADVP (RB so)))"), from_brackets("(VP (ADVP (RB so)))").root, leads) is None
    )
    tree = from_brackets("(VP (TO to) (VP (VB sue)))")
    assert verbs(tree, tree.root, leads) is None


def test_words_that_a_parser_tags_as_verbs_can_be_left_out():
    tree = from_brackets("(VP (MD may) (VP (MD not) (VP (VB sue))))")
    assert [tree.tokens[i].text for i in verbs(tree, tree.root, leads, frozenset({"not"})).chain] == [
        "may",
        "sue",
    ]


def sentence(text: str) -> Tree:
    """A flat tree; a token ends where ``|`` stands, which is no white space."""
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
    ("The tax applies|.", [replace(2, "does", "not", "apply")], "The tax does not apply."),
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


@pytest.mark.parametrize(("text", "edits", "expected"), EDITS, ids=[expected for *_, expected in EDITS])
def test_edits_keep_the_spacing(text, edits, expected):
    tree = sentence(text)
    assert tree.text == text.replace("|", "")
    assert edited(tree, edits) == expected


def test_the_order_of_edits_does_not_matter():
    tree = sentence("It does not bind")
    assert edited(tree, [replace(3, "binds"), delete(2), delete(1)]) == "It binds"


def test_edits_may_not_overlap():
    with pytest.raises(ValueError, match="overlap"):
        edited(sentence("It does not bind"), [delete(1, 3), delete(2)])


def test_trees_do_not_change():
    tree = sentence("It binds")
    edited(tree, [delete(0)])
    assert tree == sentence("It binds")
    with pytest.raises(AttributeError):
        tree.tokens = ()
