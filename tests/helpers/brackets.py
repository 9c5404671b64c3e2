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
_BEHIND = {"", *", . ; : ? ! ) ] } % 's ’s ' ’ '' ” n't n’t".split()}
_BEFORE = set("( [ { $ `` “ ‘".split())


def from_brackets(brackets: str, spaces: Sequence[str] | None = None) -> Tree:
    """Parse a bracket string into a tree; without ``spaces`` it is spaced as English
    is.
    """
    parse = nltk.Tree.fromstring(brackets)
    if spaces is None:
        words = [(_WORDS.get(word, word), tag) for word, tag in parse.pos()]
        following = [*words[1:], ("", "")]
        spaces = [
            "" if _joined(*pair) else " " for pair in zip(words, following, strict=True)
        ]
    return from_nltk(parse, spaces)


def _joined(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Return whether no space stands between two (word, tag)."""
    (word, tag), (following, following_tag) = first, second
    return (
        "HYPH" in (tag, following_tag)
        or following in _BEHIND
        or word in _BEFORE
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
