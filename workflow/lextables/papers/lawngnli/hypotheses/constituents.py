"""Constituency trees from spaCy's dependencies, for `parsers.Dependencies`.

For example, "The court has denied relief." becomes::

    (S (NP (DT The) (NN court))
       (VP (VBZ has) (VP (VBN denied) (NP (NN relief)))) (. .))

The constituent of a verb (`_Constituents.clause`) is built from the inside:

1. the verb and what follows it,
2. joined verbs that share its auxiliaries,
3. its auxiliaries,
4. other joined verbs,
5. the subject and what else precedes the verb,
6. joined clauses,
7. the closing punctuation mark,
8. SBAR or S around all of it.
"""

from collections.abc import Sequence

from lextables.papers.lawngnli.hypotheses.tree import Node, Token, Tree

# Dependency labels of spaCy's English models.
_SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "expl"})
_AUXILIARIES = frozenset({"aux", "auxpass"})
# Tags of the Penn Treebank: beginnings of the tags of verbs, and tags that head an NP.
_VERBAL = ("VB", "MD")
_NOUNS = frozenset("NN NNS NNP NNPS PRP WP EX CD $ DT WDT VBG VBN".split())
# Labels with which a preposition heads a PP.
_PREPOSITIONS = ("prep", "agent", "pcomp", "conj", "ROOT", "dative")
# {tag: the label of the phrase that it heads}.
_PHRASES = {
    **dict.fromkeys(("JJ", "JJR", "JJS"), "ADJP"),
    **dict.fromkeys(("RB", "RBR", "RBS", "WRB"), "ADVP"),
}
# Labels of verbs that head no clause.
_NO_CLAUSES = ("aux", "auxpass", "amod", "compound")
_LONE = ("neg", "punct", "cc", "preconj", "prt")  # modifiers that stay without a phrase


def constituency_tree(tokens: Sequence[Token], arcs: Sequence[tuple[int, str]]) -> Tree:
    """Return the constituency tree of a dependency tree in spaCy's English labels.

    ``arcs`` has (position of its head, label) for each token; a root is its own head.
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
    """Return the head of a token.

    Auxiliaries and punctuation become leaves without children, so their dependents go
    to the next head above.
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

        ``children`` has the positions of each token's dependents, ascending.
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
        """Return the constituent of the verb ``i``: VP; S with a subject; SBAR with a
        subordinator.

        It is built from the inside, in the order that the module lists.
        """
        own, phrasal, clausal = self._coordination(i)
        own, closing = self._without_closing_mark(i, own)
        auxiliaries = []
        for child in own:
            if child < i and self.labels[child] in _AUXILIARIES:
                auxiliaries.append(child)
        first = min([i, *auxiliaries])
        before = [child for child in own if child < first]
        after = [child for child in own if child > i]
        phrase = _over("VP", [self.leaf(i), *self._inside(after)])
        joined = self._inside(phrasal)
        shares = self._shares_auxiliaries(i, phrasal)
        if joined and shares:
            phrase = _over("VP", [phrase, *joined])
        phrase = self._with_auxiliaries(phrase, i, auxiliaries, own)
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

    def _without_closing_mark(
        self, verb: int, own: list[int]
    ) -> tuple[list[int], list[int]]:
        """Return a verb's own children without the closing punctuation mark, and the
        mark.

        If other verbs are joined, the mark is not among the verb's own children, and
        the second list is empty.
        """
        if not own:
            return own, []
        last = own[-1]
        if last > verb and self.labels[last] == "punct":
            return own[:-1], [last]
        return own, []

    def _with_auxiliaries(
        self, phrase: Node, verb: int, auxiliaries: Sequence[int], own: Sequence[int]
    ) -> Node:
        """Return a VP below the auxiliaries of its verb.

        Each auxiliary opens a VP that holds the next; adverbs, which are among the
        verb's ``own`` children, stand beside the auxiliary that they follow.
        """
        upper = verb
        for auxiliary in reversed(auxiliaries):
            beside = [child for child in own if auxiliary < child < upper]
            parts = [self.leaf(auxiliary), *self._inside(beside), phrase]
            phrase = _over("VP", parts)
            upper = auxiliary
        return phrase

    def _with_subject(
        self, phrase: Node, before: Sequence[int], subjects: Sequence[int]
    ) -> tuple[Node, list[int]]:
        """Return a VP with what stands before it, and what stands outside the clause.

        Outside stand the subordinator and what comes before it, such as "even" before
        "if".
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
        """Return the verb's own children, the children that head joined verb phrases,
        and the children that head joined clauses.

        Coordinators and commas go with the conjunct that they precede.  Of "denied
        relief, and affirmed", seen from "denied", "relief" is an own child, and ", and
        affirmed" is a joined phrase.  ", and he appealed" would be a clause, because it
        has a subject.
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
