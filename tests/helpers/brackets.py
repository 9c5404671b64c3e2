"""Trees as bracket strings of the Penn Treebank."""

from collections.abc import Sequence

import nltk

from lextables.papers.lawngnli.hypotheses.tree import Node, Tree, from_nltk

_ESCAPES = {
    "(": "-LRB-",
    ")": "-RRB-",
    "[": "-LSB-",
    "]": "-RSB-",
    "{": "-LCB-",
    "}": "-RCB-",
}
_WORDS = {tag: word for word, tag in _ESCAPES.items()}
_NO_SPACE_BEFORE = {"", *", . ; : ? ! ) ] } % 's ’s ' ’ '' ” n't n’t".split()}
_NO_SPACE_AFTER = set("( [ { $ `` “ ‘".split())


def from_brackets(brackets: str, spaces: Sequence[str] | None = None) -> Tree:
    """Parse a bracket string into a tree; without ``spaces`` it is spaced as English
    is.
    """
    parse = nltk.Tree.fromstring(brackets)
    if spaces is None:
        words = [(_WORDS.get(word, word), tag) for word, tag in parse.pos()]
        following_words = [*words[1:], ("", "")]
        spaces = []  # behind each word
        for word, following in zip(words, following_words, strict=True):
            spaces.append("" if _joined(word, following) else " ")
    return from_nltk(parse, spaces)


def _joined(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Return whether no space stands between two (word, tag)."""
    word, tag = first
    following, following_tag = second
    return (
        "HYPH" in (tag, following_tag)
        or following in _NO_SPACE_BEFORE
        or word in _NO_SPACE_AFTER
        or (word.lower(), following) == ("can", "not")
    )


def to_brackets(tree: Tree) -> str:
    """Return the tree as a bracket string on one line; brackets in words are
    escaped.
    """

    def write(node: Node) -> str:
        if node.is_leaf:
            word = tree.tokens[node.start].text
            return f"({node.label} {_ESCAPES.get(word, word)})"
        return f"({node.label} {' '.join(map(write, node.children))})"

    return write(tree.root)
