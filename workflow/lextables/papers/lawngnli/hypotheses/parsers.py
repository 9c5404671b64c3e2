"""From texts to the constituency trees of their sentences.

There are two parsers: benepar, and a faster one that makes trees of spaCy's
dependencies (`constituents`).  Both take tokens and sentence ends from the same spaCy
pipeline, so that their trees differ only in structure and tags.  The paper used
benepar_en3 with en_core_web_lg (A.1.5, footnote 21).
"""

import logging
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Protocol

from lextables.papers.lawngnli.hypotheses.accuracy import SPACY_MODEL, spacy_pipeline
from lextables.papers.lawngnli.hypotheses.constituents import constituency_tree
from lextables.papers.lawngnli.hypotheses.tree import (
    Token,
    Tree,
    flat,
    from_nltk,
    well_formed,
)
from lextables.papers.lawngnli.steps import counting_warnings
from lextables.pipeline.errors import BadInput

UNPARSED = "UNPARSED"
"""The root label of a sentence that could not be parsed, such as one that is too long
for benepar.
"""


class Parser(Protocol):
    """Anything that maps texts to the trees of their sentences."""

    warnings: Counter[str]
    """How often libraries warned, by category."""

    def parse(self, texts: Iterable[str]) -> Iterator[tuple[Tree, ...]]:
        """Yield the trees of each text, in order.

        The joined texts of the trees are the text without white space around it.
        """
        ...


def parser(
    name: str, *, model: str = "benepar_en3", spacy_model: str = SPACY_MODEL
) -> Parser:
    """Return the parser that the configuration names: ``benepar`` with its ``model``,
    or ``dependencies``.
    """
    if name == "benepar":
        return Benepar(model, spacy_model=spacy_model)
    if name == "dependencies":
        return Dependencies(spacy_model=spacy_model)
    raise BadInput(
        f"there is no parser {name!r}",
        where="config key parser",
        do="use benepar or dependencies",
    )


class _Batched:
    """A parser that works on batches of texts.

    spaCy's trees do not depend on the batch: thinc multiplies with BLIS, whose rows do
    not depend on the number of rows, so batches of any size give the same bits (checked
    in tests/real).
    """

    warnings: Counter[str]
    _batch: int

    def parse(self, texts: Iterable[str]) -> Iterator[tuple[Tree, ...]]:
        """Yield the trees of each text's sentences."""
        waiting = (text.strip() for text in texts)
        while batch := list(islice(waiting, self._batch)):
            with counted(self.warnings):
                parsed = self._parse([_without_brackets(text) for text in batch])
            yield from map(_with_brackets, parsed, batch)

    def _parse(self, texts: Sequence[str]) -> list[list[Tree]]:
        raise NotImplementedError


class Benepar(_Batched):
    """A benepar model over the tokens and sentences of a spaCy pipeline.

    A sentence that is too long for the model has the root `UNPARSED`.
    """

    def __init__(
        self, model: str, *, spacy_model: str = SPACY_MODEL, batch: int = 64
    ) -> None:
        """``batch`` texts are in memory at a time."""
        self.warnings: Counter[str] = Counter()
        self._batch = batch
        with counted(self.warnings):
            from lextables.models import constituency

            self._constituency = constituency.load(model)
            excluded = ["ner", "lemmatizer"]
            # A model with tags of its own needs no tagger.
            if self._constituency.tags:
                excluded += ["tagger", "attribute_ruler"]
            self._nlp = _pipeline(spacy_model, excluded)

    def _parse(self, texts: Sequence[str]) -> list[list[Tree]]:
        """Return the trees of each text; all sentences are one call of the model."""
        counts: list[int] = []  # sentences of each text
        sentences: list[list[Token]] = []
        for document in self._nlp.pipe(texts, batch_size=len(texts)):
            arcs = _sentences_with_arcs(document)
            counts.append(len(arcs))
            sentences += [sentence for sentence, _ in arcs]
        parses = self._constituency.parse([_columns(tokens) for tokens in sentences])
        pairs = zip(sentences, parses, strict=True)
        trees = iter([_benepar_tree(*pair) for pair in pairs])
        return [list(islice(trees, count)) for count in counts]


def _columns(sentence: Sequence[Token]) -> tuple[list[str], list[bool], list[str]]:
    """Return a sentence as benepar reads it: the words, whether a space follows each,
    and the tags, "X" for none.
    """
    words = [token.text for token in sentence]
    spaces = [bool(token.space) for token in sentence]
    tags = [token.tag or "X" for token in sentence]
    return words, spaces, tags


def _benepar_tree(sentence: Sequence[Token], parse: Any) -> Tree:
    """Return the tree of a sentence from benepar's `nltk.Tree`, None if it was too
    long.
    """
    if parse is None:
        return flat(sentence, UNPARSED)
    tree = from_nltk(parse, [token.space for token in sentence])
    # The words are the sentence's own: the parser may have seen a plain quotation mark
    # for a curly one.
    tokens = tuple(
        Token(token.text, leaf.tag, token.space)
        for token, leaf in zip(sentence, tree.tokens, strict=True)
    )
    return Tree(tokens, tree.root)


class Dependencies(_Batched):
    """spaCy's dependency parse, written as a constituency tree with the labels that the
    rules read.

    A sentence whose dependencies do not form a constituency tree is `UNPARSED`, and
    counted as a warning.
    """

    def __init__(self, *, spacy_model: str = SPACY_MODEL, batch: int = 256) -> None:
        self.warnings: Counter[str] = Counter()
        self._batch = batch
        with counted(self.warnings):
            self._nlp = _pipeline(spacy_model, ["ner", "lemmatizer"])

    def _parse(self, texts: Sequence[str]) -> list[list[Tree]]:
        parsed = []
        for document in self._nlp.pipe(texts, batch_size=len(texts)):
            sentences = _sentences_with_arcs(document)
            parsed.append([self._tree(tokens, arcs) for tokens, arcs in sentences])
        return parsed

    def _tree(self, sentence: Sequence[Token], arcs: Sequence[tuple[int, str]]) -> Tree:
        tree = constituency_tree(sentence, arcs)
        if well_formed(tree):
            return tree
        self.warnings["no tree of constituents"] += 1
        return flat(sentence, UNPARSED)


# spaCy splits at hyphens, and "pre-empted" as three tokens is no verb to any parser.
_PREFIXED = re.compile(r"(?:pre|re|co|non|counter|over|mis|un)-[a-z]+", re.IGNORECASE)


def _pipeline(name: str, exclude: Sequence[str]) -> Any:
    """Return a spaCy pipeline that keeps words with a prefix as one token."""
    nlp = spacy_pipeline(name, exclude)
    nlp.tokenizer.token_match = _PREFIXED.fullmatch
    return nlp


# Letters that were changed in a quotation, as in "[O]nce" and "w[ere]".  Parsers take
# the pieces of such words for names.
_BRACKETED = re.compile(r"\[\w+\](?=\w)|(?<=\w)\[\w+\]")


def _without_brackets(text: str) -> str:
    """Return the text to parse: "[O]nce" becomes "Once"."""
    return _BRACKETED.sub(lambda match: match.group()[1:-1], text)


def _with_brackets(trees: Sequence[Tree], text: str) -> tuple[Tree, ...]:
    """Return the trees of ``_without_brackets(text)`` with the words of ``text``.

    "[O]nce" is parsed as "Once"; its token becomes "[O]nce" again.
    """
    if "[" not in text:
        return tuple(trees)
    opening: set[int] = set()
    closing: set[int] = set()
    for match in _BRACKETED.finditer(text):
        opening.add(match.start())
        closing.add(match.end() - 1)
    # From offsets in the parsed text to offsets in ``text``: ``word_begins`` for a word
    # that begins there, with its opening bracket; ``word_ends`` for one that ends
    # there, with its closing bracket.
    word_begins = []
    word_ends = [0]
    for position in range(len(text)):
        if position in opening or position in closing:
            continue
        begin = position
        end = position + 1
        if begin - 1 in opening:
            begin -= 1
        if end in closing:
            end += 1
        word_begins.append(begin)
        word_ends.append(end)
    word_begins.append(len(text))
    token_begin = 0  # in the parsed text
    rewritten = []
    for tree in trees:
        tokens = []
        for token in tree.tokens:
            token_end = token_begin + len(token.text)
            next_begin = token_end + len(token.space)
            word = text[word_begins[token_begin] : word_ends[token_end]]
            space = text[word_ends[token_end] : word_begins[next_begin]]
            tokens.append(Token(word, token.tag, space))
            token_begin = next_begin
        rewritten.append(Tree(tuple(tokens), tree.root))
    return tuple(rewritten)


def _sentences_with_arcs(
    document: Any,
) -> list[tuple[list[Token], list[tuple[int, str]]]]:
    """Return, for each sentence, its tokens and for each token its head (itself for a
    root) and label.

    A token of white space alone is added to the white space of the token before it.
    """
    sentences: list[tuple[list[Token], list[tuple[int, str]]]] = []
    for span in document.sents:
        places: dict[int, int] = {}
        tokens: list[Token] = []
        for token in span:
            if token.is_space:
                preceding = tokens
                if not tokens and sentences:
                    preceding, _ = sentences[-1]
                if preceding:
                    last = preceding[-1]
                    space = last.space + token.text_with_ws
                    preceding[-1] = Token(last.text, last.tag, space)
                continue
            places[token.i] = len(tokens)
            tokens.append(Token(token.text, token.tag_, token.whitespace_))
        arcs = []
        for token in span:
            if token.i in places:
                head = token.head
                # White space is no token here; what depends on it goes to its head.
                while head.i not in places and head.head is not head:
                    head = head.head
                arcs.append((places.get(head.i, places[token.i]), token.dep_))
        if tokens:
            sentences.append((tokens, arcs))
    return sentences


# Warnings.


@contextmanager
def counted(counts: Counter[str]) -> Iterator[None]:
    """Add the warnings of Python and of the libraries' loggers to ``counts`` instead of
    printing them.
    """

    def kind(record: logging.LogRecord) -> str:
        return f"{record.name.split('.')[0]} {record.levelname.lower()}"

    loggers = ("transformers", "torch", "spacy", "nltk", "py.warnings")
    caught: list[warnings.WarningMessage] = []
    try:
        with (
            counting_warnings(counts, loggers, kind),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            yield
    finally:
        counts.update(warning.category.__name__ for warning in caught)
