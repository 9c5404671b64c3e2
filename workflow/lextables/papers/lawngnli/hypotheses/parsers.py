"""From sentences to constituency trees: benepar, or the fast choice over spaCy's
dependencies.

Both take tokens and sentence ends from the same spaCy pipeline, so that their trees
differ only in structure and tags.  The paper used benepar_en3 with en_core_web_lg
(A.1.5, footnote 21).
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
"""The root label of a sentence that a parser could not take, as one too long for
benepar.
"""


class Parser(Protocol):
    """Anything that maps texts to the trees of their sentences.

    ``parse`` yields one tuple of trees for each text, in order; the trees' texts joined
    are the text without white space around it.  ``warnings`` counts the warnings of the
    libraries by category.
    """

    warnings: Counter[str]

    def parse(self, texts: Iterable[str]) -> Iterator[tuple[Tree, ...]]: ...


def parser(
    name: str, *, model: str = "benepar_en3", spacy_model: str = SPACY_MODEL
) -> Parser:
    """Return the parser that config names: ``benepar`` with its ``model``, or
    ``dependencies``.
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
    """A parser that works on some texts at a time."""

    warnings: Counter[str]
    _batch: int

    def parse(self, texts: Iterable[str]) -> Iterator[tuple[Tree, ...]]:
        """Yield the trees of each text's sentences."""
        waiting = (text.strip() for text in texts)
        while batch := list(islice(waiting, self._batch)):
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
            excluded = ["ner", "lemmatizer"]
            if self._constituency.tags:
                excluded += ["tagger", "attribute_ruler"]
            self._nlp = _pipeline(spacy_model, excluded)

    def _parse(self, texts: Sequence[str]) -> list[list[Tree]]:
        """Return the trees of each text; all sentences are one call of the model."""
        counts: list[int] = []  # sentences of each text
        sentences: list[list[Token]] = []
        for document in self._nlp.pipe(texts, batch_size=len(texts)):
            arcs = _arcs(document)
            counts.append(len(arcs))
            sentences += [sentence for sentence, _ in arcs]
        parses = self._constituency.parse([_columns(tokens) for tokens in sentences])
        pairs = zip(sentences, parses, strict=True)
        trees = iter([_benepar_tree(*pair) for pair in pairs])
        return [list(islice(trees, count)) for count in counts]


def _columns(sentence: Sequence[Token]) -> tuple[list[str], list[bool], list[str]]:
    """Return the words, whether a space follows each, and the tags, "X" for none."""
    words = [token.text for token in sentence]
    spaces = [bool(token.space) for token in sentence]
    tags = [token.tag or "X" for token in sentence]
    return words, spaces, tags


def _benepar_tree(sentence: Sequence[Token], parse: Any) -> Tree:
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
            sentences = _arcs(document)
            parsed.append([self._tree(tokens, arcs) for tokens, arcs in sentences])
        return parsed

    def _tree(self, sentence: Sequence[Token], arcs: Sequence[tuple[int, str]]) -> Tree:
        tree = _dependency_tree(sentence, arcs)
        if well_formed(tree):
            return tree
        self.warnings["no tree of constituents"] += 1
        return flat(sentence, UNPARSED)


# spaCy.  Its trees do not depend on the batch: thinc multiplies with BLIS, whose rows
# do not depend on the number of rows, so batches of any size give the same bits
# (checked in tests/real).

# spaCy splits at hyphens, and "pre-empted" as three tokens is no verb to any parser.
_PREFIXED = re.compile(r"(?:pre|re|co|non|counter|over|mis|un)-[a-z]+", re.IGNORECASE)


def _pipeline(name: str, exclude: Sequence[str]) -> Any:
    nlp = spacy_pipeline(name, exclude)
    nlp.tokenizer.token_match = _PREFIXED.fullmatch
    return nlp


# Letters that a quotation changed, as in "[O]nce" and "w[ere]": parsers take the pieces
# of such words for names.
_BRACKETED = re.compile(r"\[\w+\](?=\w)|(?<=\w)\[\w+\]")


def _unbracketed(text: str) -> str:
    return _BRACKETED.sub(lambda match: match.group()[1:-1], text)


def _bracketed(trees: Sequence[Tree], text: str) -> tuple[Tree, ...]:
    """Return the trees of ``_unbracketed(text)`` with the words of ``text``."""
    if "[" not in text:
        return tuple(trees)
    opening: set[int] = set()
    closing: set[int] = set()
    for match in _BRACKETED.finditer(text):
        opening.add(match.start())
        closing.add(match.end() - 1)
    # For each character of the parsed text: where in ``text`` a word that begins with
    # it begins, and where one that ends before it ends.
    begins = []
    ends = [0]
    for at in range(len(text)):
        if at in opening or at in closing:
            continue
        begin = at
        end = at + 1
        if begin - 1 in opening:
            begin -= 1
        if end in closing:
            end += 1
        begins.append(begin)
        ends.append(end)
    begins.append(len(text))
    at = 0
    rewritten = []
    for tree in trees:
        tokens = []
        for token in tree.tokens:
            middle = at + len(token.text)
            end = middle + len(token.space)
            word = text[begins[at] : ends[middle]]
            space = text[ends[middle] : begins[end]]
            tokens.append(Token(word, token.tag, space))
            at = end
        rewritten.append(Tree(tuple(tokens), tree.root))
    return tuple(rewritten)


def _arcs(document: Any) -> list[tuple[list[Token], list[tuple[int, str]]]]:
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
_NOUNS = frozenset("NN NNS NNP NNPS PRP WP EX CD $ DT WDT VBG VBN".split())
_PREPOSITIONS = ("prep", "agent", "pcomp", "conj", "ROOT", "dative")
_PHRASES = {
    **dict.fromkeys(("JJ", "JJR", "JJS"), "ADJP"),
    **dict.fromkeys(("RB", "RBR", "RBS", "WRB"), "ADVP"),
}
_NO_CLAUSES = ("aux", "auxpass", "amod", "compound")
_LONE = ("neg", "punct", "cc", "preconj", "prt")  # modifiers that stay without a phrase


def _dependency_tree(tokens: Sequence[Token], arcs: Sequence[tuple[int, str]]) -> Tree:
    """Return the constituency tree of a dependency tree in spaCy's English labels.

    A verb with a subject makes an S; its auxiliaries, from left to right, make nested
    VPs; nouns make NPs, with what follows them outside the inner NP; adjectives ADJPs.
    Arcs that cross are lifted to the head's head first.
    """
    unlifted = [_head(i, arcs) for i in range(len(arcs))]
    heads = _projective(unlifted)
    labels = [label for _, label in arcs]
    builder = _Constituents(tokens, heads, labels)
    nodes = []
    for i, head in enumerate(heads):
        if head == i:
            nodes.append(builder.sentence(i))
    root = nodes[0]
    if len(nodes) > 1:
        root = _over("X", nodes)
    return Tree(tuple(tokens), root)


def _head(i: int, arcs: Sequence[tuple[int, str]]) -> int:
    """Return the head of a token; auxiliaries and punctuation become leaves and are
    none.
    """
    head = arcs[i][0]
    while arcs[head][1] in _AUXILIARIES | {"punct"} and arcs[head][0] != head:
        head = arcs[head][0]
    return head


def _projective(heads: list[int]) -> list[int]:
    """Return the heads with arcs that cross lifted to the head's head."""
    heads = list(heads)

    def is_under(node: int, top: int) -> bool:
        while node != top and heads[node] != node:
            node = heads[node]
        return node == top

    changed = True
    while changed:
        changed = False
        for dependent, head in enumerate(heads):
            low, high = sorted((dependent, head))
            inside = all(is_under(between, head) for between in range(low + 1, high))
            if not inside and heads[head] != head:
                heads[dependent] = heads[head]
                changed = True
    return heads


def _over(label: str, nodes: Sequence[Node]) -> Node:
    """Return a node over ``nodes``, which may be in any order."""
    ordered = sorted(nodes, key=lambda node: node.start)
    return Node(label, ordered[0].start, ordered[-1].end, tuple(ordered))


class _Constituents:
    """Builds constituents from the tokens of a sentence, their heads and labels."""

    def __init__(
        self, tokens: Sequence[Token], heads: Sequence[int], labels: Sequence[str]
    ) -> None:
        """``heads`` has the position of each token's head, a root's own; ``labels``
        spaCy's.
        """
        self.tokens = tokens
        self.labels = labels
        self.children: list[list[int]] = [[] for _ in tokens]
        for i, head in enumerate(heads):
            if head != i:
                self.children[head].append(i)
        for i in reversed(range(len(heads))):
            if labels[i] == "conj" and tokens[i].tag.startswith(_VERBAL):
                self._lift_clauses(i, heads[i])

    def _lift_clauses(self, verb: int, head: int) -> None:
        """Attach to ``head`` the clauses that spaCy chains to its last coordinated
        verb.

        In "does not create or expand rights, and no court has so held" the last clause
        belongs to the whole.
        """
        if not self._subjects(self.children[verb], len(self.tokens)):
            own, phrasal, clausal = self._coordination(verb)
            self.children[verb] = sorted(own + phrasal)
            self.children[head] = sorted(self.children[head] + clausal)

    def leaf(self, i: int) -> Node:
        return Node(self.tokens[i].tag, i, i + 1)

    def leaf_or_phrase(self, i: int) -> Node:
        """Return a phrase; a lone word stays a leaf, as in the Penn Treebank."""
        node = self.phrase(i)
        if node.end - node.start == 1:
            return self.leaf(i)
        return node

    def sentence(self, root: int) -> Node:
        """Return the constituent of a root; a verb phrase becomes an S."""
        node = self.phrase(root)
        if node.label == "VP":
            return _over("S", [node])
        return node

    def phrase(self, i: int) -> Node:
        """Return the constituent that token ``i`` heads, with all that depends on
        it.
        """
        tag = self.tokens[i].tag
        label = self.labels[i]
        dependents = self.children[i]
        if tag.startswith(_VERBAL) and label not in _NO_CLAUSES:
            return self.clause(i)
        if label in ("ROOT", "conj", "ccomp", "advcl", "relcl"):
            subjects = self._subjects(dependents, i)
            if subjects:
                return self.verbless(i, subjects[0])
        if tag in _NOUNS:
            return self.noun(i)
        if tag in ("IN", "TO") and label in _PREPOSITIONS:
            phrases = [self.phrase(child) for child in dependents]
            return _over("PP", [self.leaf(i), *phrases])
        if tag in _PHRASES or dependents:
            phrases = [self.leaf_or_phrase(child) for child in dependents]
            name = _PHRASES.get(tag, "X")
            return _over(name, [self.leaf(i), *phrases])
        return self.leaf(i)

    def noun(self, i: int) -> Node:
        """Return the NP of a noun; what follows it stands outside an inner NP."""
        inner = [self.leaf(i)]
        after: list[Node] = []
        for child in self.children[i]:
            if child < i:
                inner.append(self.leaf_or_phrase(child))
            elif not after and self.labels[child] in ("case", "prt", "nummod"):
                inner.append(self.phrase(child))
            else:
                after.append(self.phrase(child))
        base = _over("NP", inner)
        if not after:
            return base
        return _over("NP", [base, *after])

    def verbless(self, i: int, subject: int) -> Node:
        """Return the clause of an adjective, noun or participle with a subject and no
        verb.
        """
        predicate = [self.leaf(i)]
        outside = []
        for child in self.children[i]:
            if child > subject:
                predicate.append(self.phrase(child))
            else:
                outside.append(self.phrase(child))
        label = "NP"
        if self.tokens[i].tag.startswith("JJ"):
            label = "ADJP"
        return _over("S", [*outside, _over(label, predicate)])

    def clause(self, i: int) -> Node:
        """Return S (with a subject), SBAR (with a subordinator) or VP for the verb
        ``i``.
        """
        own, phrasal, clausal = self._coordination(i)
        auxiliaries = []
        for child in own:
            if child < i and self.labels[child] in _AUXILIARIES:
                auxiliaries.append(child)
        first = min([i, *auxiliaries])
        closing = []
        is_alone = not phrasal and not clausal
        if is_alone and own and own[-1] > i and self.labels[own[-1]] == "punct":
            closing = [own.pop()]
        before = [child for child in own if child < first]
        after = [child for child in own if child > i]
        phrase = _over("VP", [self.leaf(i), *self._inside(after)])
        joined = self._inside(phrasal)
        shares = self._shares_auxiliaries(i, phrasal)
        if joined and shares:
            phrase = _over("VP", [phrase, *joined])
        # Each auxiliary opens a VP that holds the next; adverbs stand beside the verb
        # that they follow.
        upper = i
        for auxiliary in reversed(auxiliaries):
            beside = [child for child in own if auxiliary < child < upper]
            parts = [self.leaf(auxiliary), *self._inside(beside), phrase]
            phrase = _over("VP", parts)
            upper = auxiliary
        if joined and not shares:
            phrase = _over("VP", [phrase, *joined])
        subjects = self._subjects(own, first)
        phrase, outside = self._with_subject(phrase, before, subjects)
        if clausal:
            label = "S" if subjects else "VP"
            phrase = _over(label, [phrase, *self._inside(clausal)])
        closing_leaves = [self.leaf(child) for child in closing]
        phrase = _over(phrase.label, [*phrase.children, *closing_leaves])
        is_below = self.labels[i] in ("relcl", "ccomp", "csubj")
        if outside or (subjects and is_below):
            return _over("SBAR", [*self._inside(outside), phrase])
        if phrase.label == "VP" and self.tokens[first].tag == "TO":
            return _over("S", [phrase])
        return phrase

    def _with_subject(
        self, phrase: Node, before: Sequence[int], subjects: Sequence[int]
    ) -> tuple[Node, list[int]]:
        """Return a VP with what stands before it, and what stands outside the clause.

        That is what comes before the subordinator, as "even" before "if", and itself.
        """
        markers = []
        for child in before:
            is_marker = self.tokens[child].tag in ("WDT", "WP", "WRB", "WP$")
            if child not in subjects and (self.labels[child] == "mark" or is_marker):
                markers.append(child)
        outside = []
        inside = list(before)
        if markers:
            outside = [child for child in before if child <= markers[-1]]
            inside = [child for child in before if child > markers[-1]]
        if inside:
            label = "S" if set(subjects) & set(inside) else "VP"
            phrase = _over(label, [*self._inside(inside), phrase])
        return phrase, outside

    def _subjects(self, children: Sequence[int], end: int) -> list[int]:
        """Return the subjects among some children that stand before token ``end``."""
        subjects = [child for child in children if self.labels[child] in _SUBJECTS]
        return [child for child in subjects if child < end]

    def _coordination(self, verb: int) -> tuple[list[int], list[int], list[int]]:
        """Return the verb's own children, those of joined verb phrases and those of
        clauses.

        Coordinators and commas go with the conjunct that they precede.
        """
        own: list[int] = []
        phrasal: list[int] = []
        clausal: list[int] = []
        part = own
        for child in self.children[verb]:
            if self.labels[child] != "conj" or child < verb:
                part.append(child)
                continue
            joiners: list[int] = []
            while part and part[-1] > verb and self.labels[part[-1]] in ("cc", "punct"):
                joiners.insert(0, part.pop())
            subjects = self._subjects(self.children[child], len(self.tokens))
            part = phrasal
            if subjects or clausal:
                part = clausal
            part += [*joiners, child]
        return own, phrasal, clausal

    def _inside(self, children: Sequence[int]) -> list[Node]:
        """Return the phrases of some children of a verb."""
        nodes = []
        for child in children:
            node = self.phrase(child)
            if node.end - node.start == 1 and self.labels[child] in _LONE:
                node = self.leaf(child)
            nodes.append(node)
        return nodes

    def _shares_auxiliaries(self, verb: int, phrasal: Sequence[int]) -> bool:
        """Return whether the verbs joined to ``verb`` are under its auxiliaries too."""
        for child in phrasal:
            if self.labels[child] != "conj":
                continue
            labels = {self.labels[grandchild] for grandchild in self.children[child]}
            if self.tokens[child].tag != self.tokens[verb].tag or labels & _AUXILIARIES:
                return False
        return True
