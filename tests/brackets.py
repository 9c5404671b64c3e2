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


def from_brackets(brackets: str, spaces: Sequence[str] | None = None) -> Tree:
    """Parse a bracket string into a tree."""
    return from_nltk(nltk.Tree.fromstring(brackets), spaces)


def to_brackets(tree: Tree) -> str:
    """Return the tree as a bracket string on one line; brackets in words are escaped."""

    def write(node: Node) -> str:
        if node.is_leaf:
            word = tree.tokens[node.start].text
            return f"({node.label} {_ESCAPES.get(word, word)})"
        return f"({node.label} {' '.join(map(write, node.children))})"

    return write(tree.root)
