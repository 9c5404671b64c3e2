"""Constituency trees of sentences: their clauses and verbs, and edits of their tokens.

Trees cannot be changed; an edit returns a new text.  Tokens keep the white space after
them, so that the new text has the original spacing.  This module has no lists of words:
the Penn Treebank tags say which tokens are verbs, and callers say which of these are
auxiliaries.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

CLAUSES = frozenset({"S", "FRAG", "NP", "X"})
"""Labels under which a parser may put a whole sentence; headline-like ones are often
called NP or FRAG.
"""

# Labels of what stands between coordinated clauses.
_SEPARATORS = frozenset({",", ":", ".", "CC", "CONJP", "ADVP", "HYPH"})
_WRAPPERS = frozenset({"", "TOP", "ROOT", "S1"})  # labels of a root above the sentence
# Marks with no space after them.
_OPENING = frozenset({"(", "[", "{", "$", "``", "“", "‘", "-LRB-"})
_ESCAPES = {  # how the Penn Treebank writes brackets
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
}


# Returns, for a verb and the tag of a later verb, whether it is the auxiliary of the
# later one.
IsAuxiliary = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class Token:
    """A token, its Penn Treebank tag, and the white space after it (possibly none).

    A letter in brackets, as in "[O]nce", is part of the word.
    """

    text: str
    tag: str
    space: str = " "

    @property
    def lower(self) -> str:
        """The lower-cased word, without the brackets of a letter."""
        word = self.text
        if len(word) > 1:
            word = word.replace("[", "").replace("]", "")
        return word.lower()


@dataclass(frozen=True, slots=True)
class Node:
    """A constituent over the tokens ``start`` to ``end`` (exclusive); a leaf's label is
    its tag.
    """

    label: str
    start: int
    end: int
    children: tuple["Node", ...] = ()

    @property
    def is_leaf(self) -> bool:
        return not self.children


@dataclass(frozen=True, slots=True)
class Tree:
    """The parse of one sentence."""

    tokens: tuple[Token, ...]
    root: Node

    @property
    def text(self) -> str:
        """The sentence as it was written, with the white space after it."""
        return "".join(token.text + token.space for token in self.tokens)

    def words(self, start: int = 0, end: int | None = None) -> list[str]:
        """The lower-cased words from token ``start`` to ``end`` (exclusive), or to the
        last.
        """
        return [token.lower for token in self.tokens[start:end]]

    def word(self, index: int) -> str:
        """The lower-cased word at ``index``; empty before the first and after the
        last.
        """
        if 0 <= index < len(self.tokens):
            return self.tokens[index].lower
        return ""


def from_nltk(parse: Any, spaces: Sequence[str]) -> Tree:
    """Return the tree of an `nltk.Tree` whose leaves are words under their tags.

    ``spaces`` is the white space after each word.  Function tags (``NP-SBJ``) and
    wrapping roots (``TOP``) are dropped.
    """
    tokens: list[Token] = []

    def read(subtree: Any) -> Node:
        start = len(tokens)
        label = subtree.label()
        if len(subtree) == 1 and isinstance(subtree[0], str):
            word = subtree[0]
            space = spaces[start]
            tokens.append(Token(_ESCAPES.get(word, word), label, space))
            return Node(label, start, start + 1)
        children = tuple(read(child) for child in subtree)
        return Node(_plain(label), start, len(tokens), children)

    root = read(parse)
    if len(tokens) != len(spaces):
        raise ValueError(f"{len(spaces)} spaces for {len(tokens)} words")
    while root.label in _WRAPPERS and len(root.children) == 1:
        root = root.children[0]
    return Tree(tuple(tokens), root)


def flat(tokens: Sequence[Token], label: str = "X") -> Tree:
    """Return a tree with no structure, for a sentence that no parser could take."""
    leaves = tuple(Node(token.tag, i, i + 1) for i, token in enumerate(tokens))
    return Tree(tuple(tokens), Node(label, 0, len(tokens), leaves))


def _plain(label: str) -> str:
    """Return a label without function tags."""
    if label.startswith("-"):
        return label
    return label.split("-")[0].split("=")[0].split("|")[0]


# Reading the tree.


def walk(node: Node) -> Iterator[Node]:
    """Yield ``node`` and all nodes under it, each before its children, left to
    right.
    """
    yield node
    for child in node.children:
        yield from walk(child)


def well_formed(tree: Tree) -> bool:
    """Tell whether the children of every node cover it from left to right, and the root
    all tokens.
    """
    if (tree.root.start, tree.root.end) != (0, len(tree.tokens)):
        return False
    for node in walk(tree.root):
        if node.is_leaf:
            continue
        place = node.start
        for child in node.children:
            if child.start != place:
                return False
            place = child.end
        if place != node.end:
            return False
    return True


def path_to(node: Node, index: int) -> list[Node]:
    """Return the nodes from ``node`` down to the leaf of token ``index``."""
    path = [node]
    while not node.is_leaf:
        node = next(child for child in node.children if index < child.end)
        path.append(node)
    return path


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause with one subject: its node, its subject NP and its predicate (the first
    VP, or an ADJP).
    """

    node: Node
    subject: Node
    predicate: Node


def clauses(tree: Tree) -> tuple[Clause, ...]:
    """Return the non-compound independent clauses of the sentence, left to right.

    Such a clause has an NP, its subject, before a VP or ADJP at the same level.  The
    search starts at the root and goes down only through coordinated or wrapped S nodes,
    so subordinate clauses, inverted clauses and verb phrases without a subject are
    never found (paper, A.1.5).  Clauses joined by "or" or "nor" are left out: denying
    one of them does not deny the sentence.
    """
    return tuple(_clauses(tree, tree.root))


def _clauses(tree: Tree, node: Node) -> Iterator[Clause]:
    """Yield the clause of ``node``, or else the clauses of the S nodes joined in it."""
    # Weak parsers leave out phrases, which are added first.
    node = _grouped(node)
    node = _joined(tree, node)
    node = _predicated(node)
    predicate = _first(node.children, "VP") or _first(node.children, "ADJP")
    if predicate is not None and node.label in CLAUSES:
        before = [child for child in node.children if child.end <= predicate.start]
        subjects = [child for child in before if child.label == "NP"]
        if subjects:
            yield Clause(node, subjects[-1], predicate)
            return
    parts = []
    joiners = set()
    is_separated = True
    for child in node.children:
        if child.label == "S" and is_separated:
            parts.append(child)
        is_separated = child.label in _SEPARATORS
        joiners.add(tree.word(child.start))
    if len(parts) > 1 and joiners & {"or", "nor"}:
        return
    for part in parts:
        yield from _clauses(tree, part)


def _first(nodes: Sequence[Node], *labels: str) -> Node | None:
    """Return the first node with one of ``labels``."""
    return next((node for node in nodes if node.label in labels), None)


def _grouped(node: Node) -> Node:
    """Return an S with an NP and a VP added around a noun and a verb without a phrase.

    Weak parsers return for long subjects:
    (S (NN failure) (S (VP to disclose it)) (VBZ violates) (NP …)).
    """
    children = node.children
    finite = _first(children, "MD", "VBZ", "VBP", "VBD")
    if node.label != "S" or finite is None:
        return node
    verb = children.index(finite)
    end = len(children)
    labels = [child.label for child in children]
    if "VP" in labels[:verb]:
        return node
    nouns = [i for i in range(verb) if labels[i].startswith(("NN", "NP", "PRP"))]
    if not nouns:
        return node
    noun = stop = nouns[0]
    while stop < verb and labels[stop] not in ("ADVP", "RB"):
        stop += 1
    if labels[-1] == ".":
        end -= 1
    return _wrapped(node, ("NP", noun, stop), ("VP", verb, end))


def _predicated(node: Node) -> Node:
    """Return a node with an ADJP added around a predicate without a phrase.

    Weak parsers return for headlines:
    (NP (NP evidence) (RB not) (JJ admissible) (PP at trial)).
    """
    labels = [child.label for child in node.children]
    if "VP" in labels or "ADJP" in labels:
        return node
    heads = [label for label in ("VBN", "JJ", "JJR") if label in labels]
    if not heads:
        return node
    place = labels.index(heads[0])
    stop = place
    while labels[stop - 1] in ("RB", "ADVP") and stop:
        stop -= 1
    nouns = [i for i, label in enumerate(labels) if label.startswith("NN")]
    has_noun = "NP" in labels[:stop] or any(i < stop for i in nouns)
    if not has_noun or any(i > place for i in nouns):
        return node
    label = "ADJP"
    if heads[0] == "VBN":
        label = "VP"
    return _wrapped(node, ("NP", 0, stop), (label, place, len(labels)))


def _joined(tree: Tree, node: Node) -> Node:
    """Return an S with an NP added around coordinated subjects.

    Weak parsers return for "neither A nor B …":
    (S (CC neither) (NP A) (CC nor) (NP B) (VP …)).
    """
    labels = [child.label for child in node.children]
    if node.label != "S" or "VP" not in labels:
        return node
    before_verb = labels[: labels.index("VP")]
    phrases = [i for i, label in enumerate(before_verb) if label == "NP"]
    if len(phrases) < 2:
        return node
    first = phrases[0]
    last = phrases[-1]
    between = set(labels[first : last + 1])
    if "CC" not in between or between - {"NP", "CC", ",", "ADVP", "RB"}:
        return node
    if first:
        before = tree.tokens[node.children[first - 1].start].lower
        if before in ("either", "neither", "both"):
            first -= 1
    return _wrapped(node, ("NP", first, last + 1))


def _wrapped(node: Node, *phrases: tuple[str, int, int]) -> Node:
    """Return ``node`` with a phrase (label, first, end) around some of its children; a
    lone NP stays.
    """
    children: list[Node] = []
    place = 0
    for label, first, end in phrases:
        inside = node.children[first:end]
        children += node.children[place:first]
        if len(inside) == 1 and inside[0].label == label == "NP":
            children += inside
        else:
            children.append(Node(label, inside[0].start, inside[-1].end, inside))
        place = end
    return Node(node.label, node.start, node.end, (*children, *node.children[place:]))


def core(node: Node) -> Node:
    """Return the inner NP without the phrases that follow its noun; of coordinated NPs
    the inner NP of the first.

    An NP before a noun, such as the possessive in "the State's interest in revenue", is
    part of the core.
    """
    while not node.is_leaf and node.children[0].label == "NP":
        if any(child.label.startswith("NN") for child in node.children[1:]):
            break
        node = node.children[0]
    return node


@dataclass(frozen=True, slots=True)
class Verbs:
    """The verbs of a verb phrase as token indices."""

    chain: tuple[int, ...]
    """From the first verb through the auxiliaries to the main verb."""
    peers: tuple[int, ...] = ()
    """The first verbs of the phrases that are coordinated with the whole chain:
    "denied" in "was heard and denied it".
    """
    joiners: tuple[str, ...] = ()
    """The coordinators of the peers: "and"."""
    main_peers: tuple[int, ...] = ()
    """The verbs that are coordinated with the main verb alone, under its auxiliaries:
    "amended" in "was passed and amended".
    """

    @property
    def first(self) -> int:
        return self.chain[0]

    @property
    def main(self) -> int:
        return self.chain[-1]


@dataclass(frozen=True, slots=True)
class _Conjunct:
    """The first verb of a conjunct, and the nodes after it in its phrase."""

    verb: int
    following: tuple[Node, ...]


def verbs(
    tree: Tree, phrase: Node, is_auxiliary: IsAuxiliary, not_verbs: frozenset[str]
) -> Verbs | None:
    """Return the verbs of the VP ``phrase``, or None if it has none before a "to".

    ``not_verbs`` are words that a parser may wrongly tag as verbs.
    """

    def is_verb(node: Node) -> bool:
        is_tagged = node.label == "MD" or node.label.startswith("VB")
        return is_tagged and tree.word(node.start) not in not_verbs

    def conjuncts_of(node: Node) -> tuple[list[_Conjunct], list[str]]:
        """Return the conjuncts of a VP, and their coordinators."""
        joiners = []
        for child in node.children:
            if child.label in ("CC", "CONJP"):
                joiners.append(tree.word(child.start))
        is_joined = len(joiners) > 0
        conjuncts: list[_Conjunct] = []
        for place, child in enumerate(node.children):
            if is_verb(child):
                conjuncts.append(_Conjunct(child.start, node.children[place + 1 :]))
            elif child.label == "VP":
                below, inner_joiners = conjuncts_of(child)
                conjuncts += below
                joiners += inner_joiners
            elif child.label == "TO" and not conjuncts:
                break
            if conjuncts and not is_joined:
                break
        if len(conjuncts) < 2:
            joiners = []
        return conjuncts, joiners

    conjuncts, joiners = conjuncts_of(phrase)
    if not conjuncts:
        return None
    # Go from each auxiliary to the verb below or after it, until the main verb.
    peers = tuple(conjunct.verb for conjunct in conjuncts[1:])
    chain = [conjuncts[0].verb]
    following = conjuncts[0].following
    main_peers: tuple[int, ...] = ()
    while True:
        while following and following[0].label not in ("VP", "CC"):
            if is_verb(following[0]):
                break
            following = following[1:]
        if not following or following[0].label == "CC":
            break
        further = following[0]
        if further.is_leaf:
            conjuncts = [_Conjunct(further.start, following[1:])]
        else:
            conjuncts, _ = conjuncts_of(further)
        if not conjuncts:
            break
        verb = conjuncts[0].verb
        if not is_auxiliary(tree.tokens[chain[-1]].lower, tree.tokens[verb].tag):
            break
        chain.append(verb)
        following = conjuncts[0].following
        main_peers = tuple(conjunct.verb for conjunct in conjuncts[1:])
    return Verbs(tuple(chain), peers, tuple(joiners), main_peers)


# Changing the tokens.


@dataclass(frozen=True, slots=True)
class Edit:
    """Put ``words`` in the place of the tokens ``start`` to ``end`` (exclusive); equal
    ends insert.
    """

    start: int
    end: int
    words: tuple[str, ...] = ()


def replace(index: int, *words: str) -> Edit:
    """Put ``words`` in the place of token ``index``."""
    return Edit(index, index + 1, words)


def insert(index: int, *words: str) -> Edit:
    """Insert ``words`` before token ``index``."""
    return Edit(index, index, words)


def delete(start: int, end: int | None = None) -> Edit:
    """Delete the tokens from ``start`` to ``end``, or ``start`` alone."""
    return Edit(start, start + 1 if end is None else end)


def edited(tree: Tree, edits: Sequence[Edit]) -> str:
    """Return the sentence after ``edits``, spaced as before; a capital letter at its
    beginning is kept.

    Raises ValueError if two edits overlap.
    """
    tokens = tree.tokens
    words_and_spaces = [[token.text, token.space] for token in tokens]
    written: list[list[str]] = []
    place = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < place:
            raise ValueError("edits overlap")
        written += words_and_spaces[place : edit.start]
        place = edit.end
        if edit.start == edit.end:
            _insert(written, edit.words)
            continue
        space = tokens[edit.end - 1].space
        if edit.words:
            written += [[word, " "] for word in edit.words]
            written[-1][1] = space
        elif written:
            _close_gap(written, space)
    written += words_and_spaces[place:]
    text = "".join(word + space for word, space in written)
    if tokens[0].text[:1].isupper():
        text = text[:1].upper() + text[1:]
    return text


def _insert(written: list[list[str]], words: Sequence[str]) -> None:
    """Add ``words`` to ``written``, which has pairs of a word and the space after it.

    If no space followed the word before the new words, as before a comma, no space
    follows the new words.
    """
    after = " "
    opening = _OPENING | {'"', "'"}
    if written:
        word, space = written[-1]
        if not space and word not in opening:
            written[-1][1] = " "
            after = ""
    written += [[word, " "] for word in words]
    written[-1][1] = after


def _close_gap(written: list[list[str]], space: str) -> None:
    """Correct the space after the last word of ``written``, because words after it were
    deleted; ``space`` followed these words.
    """
    word, before = written[-1]
    if not space or (not before and word[-1:].isalnum()):
        written[-1][1] = space
