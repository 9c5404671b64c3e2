"""From sentences to constituency trees: benepar, or the fast choice over spaCy's dependencies.

Both take tokens and sentence ends from the same spaCy pipeline, so that their trees differ only in structure
and tags.  The paper used benepar_en3 with en_core_web_lg (A.1.5, footnote 21).
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
from lextables.papers.lawngnli.hypotheses.tree import (
    Node,
    Token,
    Tree,
    flat,
    from_nltk,
    well_formed,
)
from lextables.papers.lawngnli.steps import logged
from lextables.pipeline.errors import BadInput

UNPARSED = "UNPARSED"
"""The root label of a sentence that a parser could not take, as one too long for benepar."""


class Parser(Protocol):
    """Anything that maps texts to the trees of their sentences.

    ``parse`` yields one tuple of trees for each text, in order; the trees' texts joined are the text
    without white space around it.  ``warnings`` counts the warnings of the libraries by category.
    """

    warnings: Counter[str]

    def parse(self, texts: Iterable[str]) -> Iterator[tuple[Tree, ...]]: ...


def parser(
    name: str, *, model: str = "benepar_en3", spacy_model: str = SPACY_MODEL
) -> Parser:
    """Return the parser that config names: ``benepar`` with its ``model``, or ``dependencies``."""
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
    """A parser that works on some texts at a time."""

    warnings: Counter[str]
    _batch: int

    def parse(self, texts: Iterable[str]) -> Iterator[tuple[Tree, ...]]:
        """Yield the trees of each text's sentences."""
        waiting = iter(texts)
        while batch := [text.strip() for text in islice(waiting, self._batch)]:
            with counted(self.warnings):
                parsed = self._parse([_unbracketed(text) for text in batch])
            yield from map(_bracketed, parsed, batch)

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
            tagging = ["tagger", "attribute_ruler"] if self._constituency.tags else []
            self._nlp = _pipeline(spacy_model, ["ner", "lemmatizer", *tagging])

    def _parse(self, texts: Sequence[str]) -> list[list[Tree]]:
        documents = [
            _arcs(document) for document in self._nlp.pipe(texts, batch_size=len(texts))
        ]
        sentences = [sentence for document in documents for sentence, _ in document]
        parses = self._constituency.parse(
            [
                (
                    [t.text for t in sentence],
                    [bool(t.space) for t in sentence],
                    [t.tag or "X" for t in sentence],
                )
                for sentence in sentences
            ]
        )
        trees = iter(
            [
                _benepar_tree(s, parse)
                for s, parse in zip(sentences, parses, strict=True)
            ]
        )
        return [list(islice(trees, len(document))) for document in documents]


def _benepar_tree(sentence: Sequence[Token], parse) -> Tree:
    if parse is None:
        return flat(sentence, UNPARSED)
    tree = from_nltk(parse, [token.space for token in sentence])
    # The words are the sentence's own: the parser may have seen a plain quotation mark for a curly one.
    tokens = tuple(
        Token(token.text, leaf.tag, token.space)
        for token, leaf in zip(sentence, tree.tokens, strict=True)
    )
    return Tree(tokens, tree.root)


class Dependencies(_Batched):
    """spaCy's dependency parse, written as a constituency tree with the labels that the rules read.

    A sentence whose dependencies do not form a constituency tree is `UNPARSED`, and counted as a warning.
    """

    def __init__(self, *, spacy_model: str = SPACY_MODEL, batch: int = 256) -> None:
        self.warnings: Counter[str] = Counter()
        self._batch = batch
        with counted(self.warnings):
            self._nlp = _pipeline(spacy_model, ["ner", "lemmatizer"])

    def _parse(self, texts: Sequence[str]) -> list[list[Tree]]:
        documents = [
            _arcs(document) for document in self._nlp.pipe(texts, batch_size=len(texts))
        ]
        return [
            [self._tree(sentence, arcs) for sentence, arcs in document]
            for document in documents
        ]

    def _tree(self, sentence: Sequence[Token], arcs: Sequence[tuple[int, str]]) -> Tree:
        tree = _dependency_tree(sentence, arcs)
        if well_formed(tree):
            return tree
        self.warnings["no tree of constituents"] += 1
        return flat(sentence, UNPARSED)


# spaCy.  Its trees do not depend on the batch: thinc multiplies with BLIS, whose rows do not depend on
# the number of rows, so batches of any size give the same bits (checked in tests/real).

# spaCy splits at hyphens, and "pre-empted" as three tokens is no verb to any parser.
_PREFIXED = re.compile(r"(?:pre|re|co|non|counter|over|mis|un)-[a-z]+", re.IGNORECASE)


def _pipeline(name: str, exclude: Sequence[str]) -> Any:
    nlp = spacy_pipeline(name, exclude)
    nlp.tokenizer.token_match = _PREFIXED.fullmatch
    return nlp


# Letters that a quotation changed, as in "[O]nce" and "w[ere]": parsers take the pieces of such words for
# names.
_BRACKETED = re.compile(r"\[\w+\](?=\w)|(?<=\w)\[\w+\]")


def _unbracketed(text: str) -> str:
    return _BRACKETED.sub(lambda match: match.group()[1:-1], text)


def _bracketed(trees: Sequence[Tree], text: str) -> tuple[Tree, ...]:
    """Return the trees of ``_unbracketed(text)`` with the words of ``text``."""
    if "[" not in text:
        return tuple(trees)
    brackets = {
        at
        for match in _BRACKETED.finditer(text)
        for at in (match.start(), match.end() - 1)
    }
    positions = [at for at in range(len(text)) if at not in brackets]
    # Where a word that begins with this character begins, and where one that ends before it ends.
    begins = [at - (at - 1 in brackets and text[at - 1] == "[") for at in positions] + [
        len(text)
    ]
    ends = [
        0,
        *(at + 1 + (at + 1 in brackets and text[at + 1] == "]") for at in positions),
    ]
    at = 0
    rewritten = []
    for tree in trees:
        tokens = []
        for token in tree.tokens:
            middle = at + len(token.text)
            end = middle + len(token.space)
            tokens.append(
                Token(
                    text[begins[at] : ends[middle]],
                    token.tag,
                    text[ends[middle] : begins[end]],
                )
            )
            at = end
        rewritten.append(Tree(tuple(tokens), tree.root))
    return tuple(rewritten)


def _arcs(document) -> list[tuple[list[Token], list[tuple[int, str]]]]:
    """Return, for each sentence, its tokens and for each token its head (itself for a root) and label.

    A token of white space alone is added to the white space of the token before it.
    """
    sentences: list[tuple[list[Token], list[tuple[int, str]]]] = []
    for span in document.sents:
        places: dict[int, int] = {}
        tokens: list[Token] = []
        for token in span:
            if token.is_space:
                preceding = tokens or (sentences[-1][0] if sentences else None)
                if preceding:
                    last = preceding[-1]
                    preceding[-1] = Token(
                        last.text, last.tag, last.space + token.text_with_ws
                    )
                continue
            places[token.i] = len(tokens)
            tokens.append(Token(token.text, token.tag_, token.whitespace_))
        arcs = []
        for token in span:
            if token.i in places:
                head = token.head
                while head.i not in places and head.head is not head:
                    head = head.head
                arcs.append((places.get(head.i, places[token.i]), token.dep_))
        if tokens:
            sentences.append((tokens, arcs))
    return sentences


# Warnings.


@contextmanager
def counted(counts: Counter[str]) -> Iterator[None]:
    """Add the warnings of Python and of the libraries' loggers to ``counts`` instead of printing them."""

    def kind(record: logging.LogRecord) -> str:
        return f"{record.name.split('.')[0]} {record.levelname.lower()}"

    loggers = ("transformers", "torch", "spacy", "nltk", "py.warnings")
    caught: list[warnings.WarningMessage] = []
    try:
        with (
            logged(counts, loggers, kind),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            yield
    finally:
        counts.update(warning.category.__name__ for warning in caught)


# From dependencies to constituents.

_SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "expl"})
_AUXILIARIES = frozenset({"aux", "auxpass"})
_VERBAL = ("VB", "MD")


def _dependency_tree(tokens: Sequence[Token], arcs: Sequence[tuple[int, str]]) -> Tree:
    """Return the constituency tree of a dependency tree in spaCy's English labels.

    A verb with a subject makes an S; its auxiliaries, from left to right, make nested VPs; nouns make
    NPs, with what follows them outside the inner NP; adjectives ADJPs.  Arcs that cross are lifted to the
    head's head first.
    """
    labels = [label for _, label in arcs]
    # Auxiliaries and punctuation become leaves, so what hangs on them goes to their head.
    heads = _projective([_head(i, arcs) for i in range(len(arcs))])
    builder = _Constituents(tokens, heads, labels)
    roots = [i for i, head in enumerate(heads) if head == i]
    nodes = [builder.sentence(root) for root in roots]
    root = nodes[0] if len(nodes) == 1 else builder.over("X", nodes)
    return Tree(tuple(tokens), root)


def _head(i: int, arcs: Sequence[tuple[int, str]]) -> int:
    head = arcs[i][0]
    while arcs[head][1] in _AUXILIARIES | {"punct"} and arcs[head][0] != head:
        head = arcs[head][0]
    return head


def _projective(heads: list[int]) -> list[int]:
    heads = list(heads)

    def under(node: int, top: int) -> bool:
        while node != top and heads[node] != node:
            node = heads[node]
        return node == top

    changed = True
    while changed:
        changed = False
        for dependent, head in enumerate(heads):
            low, high = sorted((dependent, head))
            if (
                any(not under(between, head) for between in range(low + 1, high))
                and heads[head] != head
            ):
                heads[dependent] = heads[head]
                changed = True
    return heads


class _Constituents:
    def __init__(
        self, tokens: Sequence[Token], heads: Sequence[int], labels: Sequence[str]
    ) -> None:
        self.tokens, self.labels = tokens, labels
        self.children: list[list[int]] = [[] for _ in tokens]
        for i, head in enumerate(heads):
            if head != i:
                self.children[head].append(i)
        for i in reversed(range(len(heads))):
            if labels[i] == "conj" and self.verbal(i):
                self._lift_clauses(i, heads[i])

    def _lift_clauses(self, verb: int, head: int) -> None:
        """Attach to ``head`` the clauses that spaCy chains to its last coordinated verb phrase.

        In "does not create or expand rights, and no court has so held" the last clause belongs to the whole.
        """
        if any(self.labels[c] in _SUBJECTS for c in self.children[verb]):
            return
        own, phrasal, clausal = self._coordination(verb)
        self.children[verb] = sorted(own + phrasal)
        self.children[head] = sorted(self.children[head] + clausal)

    def leaf(self, i: int) -> Node:
        return Node(self.tokens[i].tag or "X", i, i + 1)

    def over(self, label: str, nodes: Sequence[Node]) -> Node:
        ordered = sorted(nodes, key=lambda node: node.start)
        return Node(label, ordered[0].start, ordered[-1].end, tuple(ordered))

    def verbal(self, i: int) -> bool:
        return self.tokens[i].tag.startswith(_VERBAL)

    def sentence(self, root: int) -> Node:
        node = self.phrase(root)
        return self.over("S", [node]) if node.label == "VP" else node

    def phrase(self, i: int) -> Node:
        """Return the constituent that token ``i`` heads, with all that depends on it."""
        if self.verbal(i) and self.labels[i] not in _AUXILIARIES | {"amod", "compound"}:
            return self.clause(i)
        tag = self.tokens[i].tag
        subjects = [
            c for c in self.children[i] if self.labels[c] in _SUBJECTS and c < i
        ]
        if subjects and self.labels[i] in ("ROOT", "conj", "ccomp", "advcl", "relcl"):
            return self.verbless(i, subjects[0])
        if tag in (
            "NN",
            "NNS",
            "NNP",
            "NNPS",
            "PRP",
            "WP",
            "EX",
            "CD",
            "$",
            "DT",
            "WDT",
            "VBG",
            "VBN",
        ):
            return self.noun(i)
        if tag in ("IN", "TO") and self.labels[i] in (
            "prep",
            "agent",
            "pcomp",
            "conj",
            "ROOT",
            "dative",
        ):
            return self.plain("PP", i)
        if tag in ("JJ", "JJR", "JJS"):
            return self.plain("ADJP", i)
        if tag in ("RB", "RBR", "RBS", "WRB"):
            return self.plain("ADVP", i)
        return self.plain("X", i) if self.children[i] else self.leaf(i)

    def plain(self, label: str, i: int) -> Node:
        """Return a phrase with the head and its dependents side by side."""
        parts = [self.leaf(i)]
        for child in self.children[i]:
            node = self.phrase(child)
            # A lone word that modifies stays a leaf, as in the Penn Treebank.
            parts.append(
                self.leaf(child)
                if node.end - node.start == 1 and label != "PP"
                else node
            )
        return self.over(label, parts)

    def noun(self, i: int) -> Node:
        before = [c for c in self.children[i] if c < i]
        after = [c for c in self.children[i] if c > i]
        inner = [self.leaf(i)]
        for child in before:
            node = self.phrase(child)
            inner.append(self.leaf(child) if node.end - node.start == 1 else node)
        while after and self.labels[after[0]] in ("case", "prt", "nummod"):
            inner.append(self.phrase(after.pop(0)))
        base = self.over("NP", inner)
        return self.over("NP", [base, *map(self.phrase, after)]) if after else base

    def verbless(self, i: int, subject: int) -> Node:
        """Return the clause of an adjective, noun or participle that has a subject and no verb."""
        own = [c for c in self.children[i] if c > subject]
        outside = [c for c in self.children[i] if c <= subject]
        label = "ADJP" if self.tokens[i].tag.startswith("JJ") else "NP"
        predicate = self.over(label, [self.leaf(i), *map(self.phrase, own)])
        return self.over("S", [*map(self.phrase, outside), predicate])

    def clause(self, i: int) -> Node:
        """Return S (with a subject), SBAR (with a subordinator) or VP for the verb ``i``."""
        children = self.children[i]
        auxiliaries = [c for c in children if self.labels[c] in _AUXILIARIES and c < i]
        first = min([i, *auxiliaries])
        own, phrasal, clausal = self._coordination(i)
        subjects = [c for c in own if self.labels[c] in _SUBJECTS and c < first]
        last = own[-1] if own and not phrasal and not clausal else i
        closing = [last] if last > i and self.labels[last] == "punct" else []
        own = [c for c in own if c not in closing]

        # Each auxiliary opens a VP that holds the next; adverbs stand beside the verb that they follow.
        phrase = self.over(
            "VP", [self.leaf(i), *(self._inside(c) for c in own if c > i)]
        )
        shared = bool(auxiliaries) and self._shares_auxiliaries(i)
        if phrasal and shared:
            phrase = self.over("VP", [phrase, *map(self._inside, phrasal)])
        upper = i
        for auxiliary in sorted(auxiliaries, reverse=True):
            beside = [c for c in own if auxiliary < c < upper and c not in auxiliaries]
            phrase = self.over(
                "VP", [self.leaf(auxiliary), *map(self._inside, beside), phrase]
            )
            upper = auxiliary
        if phrasal and not shared:
            phrase = self.over("VP", [phrase, *map(self._inside, phrasal)])

        before = [c for c in own if c < first]
        markers = [c for c in before if self._marks(c) and c not in subjects]
        # What stands before the subordinator, as "even" before "if", stands outside the clause.
        outside = [c for c in before if markers and c <= markers[-1]]
        before = [c for c in before if c not in outside]
        if before:
            has_subject = any(c in before for c in subjects)
            phrase = self.over(
                "S" if has_subject else "VP", [*map(self._inside, before), phrase]
            )
        if clausal:
            phrase = self.over(
                "S" if subjects else "VP", [phrase, *map(self._inside, clausal)]
            )
        if closing:
            phrase = self.over(
                phrase.label, [*phrase.children, *map(self.leaf, closing)]
            )
        if outside or (subjects and self.labels[i] in ("relcl", "ccomp", "csubj")):
            return self.over("SBAR", [*map(self._inside, outside), phrase])
        if phrase.label == "VP" and first != i and self.tokens[first].tag == "TO":
            return self.over("S", [phrase])
        return phrase

    def _marks(self, i: int) -> bool:
        return self.labels[i] == "mark" or self.tokens[i].tag in (
            "WDT",
            "WP",
            "WRB",
            "WP$",
        )

    def _coordination(self, verb: int) -> tuple[list[int], list[int], list[int]]:
        """Return the verb's own children, then those of verb phrases and those of clauses joined to it.

        Coordinators and commas go with the conjunct that they precede.
        """
        parts: list[list[int]] = [[]]
        kinds = [0]
        for child in self.children[verb]:
            if self.labels[child] == "conj" and child > verb:
                joiners: list[int] = []
                while (
                    parts[-1]
                    and parts[-1][-1] > verb
                    and self.labels[parts[-1][-1]] in ("cc", "punct")
                ):
                    joiners.insert(0, parts[-1].pop())
                clausal = any(self.labels[c] in _SUBJECTS for c in self.children[child])
                kinds.append(2 if clausal or kinds[-1] == 2 else 1)
                parts.append([*joiners, child])
            else:
                parts[-1].append(child)
        return tuple(
            [
                c
                for part, kind in zip(parts, kinds, strict=True)
                if kind == k
                for c in part
            ]
            for k in range(3)
        )

    def _inside(self, i: int) -> Node:
        node = self.phrase(i)
        if node.end - node.start == 1 and self.labels[i] in (
            "neg",
            "punct",
            "cc",
            "preconj",
            "prt",
        ):
            return self.leaf(i)
        return node

    def _shares_auxiliaries(self, verb: int) -> bool:
        return all(
            self.tokens[c].tag == self.tokens[verb].tag
            and not any(
                self.labels[a] in _AUXILIARIES | _SUBJECTS for a in self.children[c]
            )
            for c in self._coordination(verb)[1]
            if self.labels[c] == "conj"
        )
