"""The hypotheses of the released LawngNLI.

Half of them are parentheticals as written.  The paper's contradiction algorithm made
the other half: ``src/reconstruct_nli.py`` of the released code rebuilds them from the
sentence and the clause that the ID file names, and then replaces words in 36 of them
(`resources/facts/lawngnli_edits.csv`).  This module does the same, including mistakes
(docs/lawngnli.md).  The trees must be those of benepar_en3.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from lextables import ROOT
from lextables.papers.lawngnli.hypotheses.accuracy import SPACY_MODEL, spacy_pipeline
from lextables.papers.lawngnli.hypotheses.morphology import inflect, tense_of
from lextables.papers.lawngnli.hypotheses.parsers import Parser
from lextables.papers.lawngnli.hypotheses.tree import Node, Token, Tree
from lextables.papers.lawngnli.released.text import CASES, cases, parenthetical
from lextables.papers.lawngnli.steps import CITING
from lextables.pipeline import dataset
from lextables.pipeline.dataset import Column, Row, Table

HYPOTHESES = Table(
    name="hypotheses",
    description="The rows of the ID file whose citing case is in a shard.",
    columns=(
        *CITING,
        Column("is_twin", pa.bool_(), "whether it is the later row of two twins"),
        Column("hypothesis", pa.string(), "the statement to judge", nullable=True),
        Column("fault", pa.string(), "why there is none", nullable=True),
    ),
    key=("example_id", "is_twin"),
)
NO_FIT = "the offsets do not fit"
NO_CLAUSE = "the clause to contradict is not found"

# The released code's replacements of characters in single hypotheses.
EDITS = ROOT / "resources/facts/lawngnli_edits.csv"
DO_NOT = 6941  # the index of the row whose "did not" becomes "do not"
# Words and tags that `_negated` distinguishes.
_NOT = ("no", "not", "never")
_BE = ("am", "is", "are", "was", "were")
_HAVE = ("has", "have", "had")
_DO = {"VBP": "do", "VBZ": "does", "VBD": "did"}
_VERBS = ("MD", "VBP", "VBZ", "VBD", "VBN", "VBG")
_ADJECTIVES = ("JJ", "VBN")


def write_shard(
    rows: str | Path,
    volumes: Sequence[str | Path],
    parser: Parser,
    cases_path: str | Path,
    texts: str | Path,
) -> None:
    """Write the cases of a shard's volumes that ``rows`` name, and the hypotheses from
    these cases.

    ``rows`` is a table of `ids.ROWS`; ``cases_path`` becomes one of `CASES`, ``texts``
    one of `HYPOTHESES`.
    """
    named = list(dataset.read(rows))
    case_ids: set[int] = set()
    for row in named:
        case_ids.update((row["citing_case_id"], row["cited_case_id"]))
    case_by_id = {row["case_id"]: row for row in cases(volumes, case_ids)}
    dataset.write(CASES, case_by_id.values(), cases_path)
    shard_rows = [row for row in named if row["citing_case_id"] in case_by_id]
    # The order of `HYPOTHESES`.  Twins are of one case, so both are in this shard.
    shard_rows.sort(key=itemgetter("example_id", "is_twin"))
    # A parenthetical or None for each row; a hypothesis for each parenthetical.
    parentheticals = []
    for row in shard_rows:
        parentheticals.append(_parenthetical(row, case_by_id[row["citing_case_id"]]))
    pairs = list(zip(shard_rows, parentheticals, strict=True))
    fitting = [(row, text) for row, text in pairs if text is not None]
    converted = iter(hypotheses(fitting, parser))
    written = []
    for row, text in pairs:
        hypothesis = None
        fault: str | None = NO_FIT
        if text is not None:
            hypothesis = next(converted)
            fault = NO_CLAUSE if hypothesis is None else None
        case = case_by_id[row["citing_case_id"]]
        written.append(
            {
                "example_id": row["example_id"],
                "is_twin": row["is_twin"],
                "citing_case_id": row["citing_case_id"],
                "citing_jurisdiction": case["jurisdiction"],
                "hypothesis": hypothesis,
                "fault": fault,
            }
        )
    dataset.write(HYPOTHESES, written, texts)


def _parenthetical(row: Row, case: Row) -> str | None:
    """The parenthetical of a row; None if its offsets do not fit."""
    if row["opinion"] >= len(case["opinions"]):
        return None
    opinion = case["opinions"][row["opinion"]]
    return parenthetical(opinion["text"], row["start"], row["end"])


def hypotheses(rows: Sequence[tuple[Row, str]], parser: Parser) -> list[str | None]:
    """Return the hypotheses of (row of `ids.ROWS`, its parenthetical).

    Columns of a row say how its parenthetical becomes the hypothesis.  ``expanded``:
    contractions are written out first.  ``contradicted``: the algorithm makes the twin
    of the text.  ``flipped``: the twin is the hypothesis.  So the algorithm changes
    only rows with both; ``sentence`` and ``clause`` say where.  The hypothesis is None
    if it finds nothing to change there.
    """
    nlp = _word_pipeline()
    edits_by_row = _edits_by_row()
    results: list[str | None] = []
    to_change = []  # (place in results, row, text to parse)
    for row, text in rows:
        if row["expanded"]:
            text = _expanded(nlp, text)
        if row["index"] == DO_NOT:
            text = text.replace("did not", "do not")
        if row["flipped"] and row["contradicted"]:
            to_change.append((len(results), row, _expanded(nlp, text)))
        results.append(text)
    trees = parser.parse(text for _, _, text in to_change)
    for (place, row, _), sentences in zip(to_change, trees, strict=True):
        changed = _contradicted(sentences, row, parser)
        if changed is not None:
            for edit in edits_by_row.get(row["index"], ()):
                changed = edit.applied(changed)
        results[place] = changed
    return results


@cache
def _word_pipeline() -> Any:
    """Return spaCy's pipeline without the components that are not needed here."""
    components = ["ner", "lemmatizer", "tagger", "attribute_ruler"]
    return spacy_pipeline(SPACY_MODEL, components)


@dataclass(frozen=True)
class _Edit:
    """A replacement of some characters; without a place the text is appended."""

    start: int | None
    end: int | None
    replacement: str

    def applied(self, text: str) -> str:
        """Return ``text`` after the edit."""
        if self.start is None:
            return text + self.replacement
        return text[: self.start] + self.replacement + text[self.end :]


@cache
def _edits_by_row() -> Mapping[int, Sequence[_Edit]]:
    """{index of a row: its edits, the last one in the text first}."""
    edits = defaultdict(list)
    with EDITS.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            start = None
            end = None
            if row["start"]:
                start = int(row["start"])
                end = int(row["end"])
            edits[int(row["index"])].append(_Edit(start, end, row["text"]))
    return edits


def _expanded(nlp: Any, text: str) -> str:
    """A text without a verb such as "holding that" at its start, and with spaCy's norms
    of its words.

    These norms have mistakes: "Id." becomes "Idaho".
    """
    sentences = []
    document = nlp(re.sub("^[a-z]*ing that ", "", text))
    for sentence in document.sents:
        words = "".join(_norm(token) for token in sentence)
        words = words.replace("  ", " ").replace("can not", "cannot")
        sentences.append(words.strip())
    return " ".join(sentences)


def _norm(token: Any) -> str:
    """The norm of a spaCy token, with a space before it if it differs from the
    token.
    """
    if token.is_punct or token.lower_ == token.norm_:
        return token.text_with_ws
    norm = token.norm_
    if token.is_title:
        norm = norm.title()
    return f" {norm}{token.whitespace_}"


def _contradicted(sentences: Sequence[Tree], row: Row, parser: Parser) -> str | None:
    """The text with the clause of one sentence changed; None if it is not found."""
    if row["sentence"] >= len(sentences):
        return None
    changed = _changed_sentence(sentences[row["sentence"]], row["clause"], parser)
    if changed is None:
        return None
    texts = [tree.text.rstrip() for tree in sentences]
    texts[row["sentence"]] = changed
    return " ".join(texts)


def _changed_sentence(tree: Tree, path: Sequence[int], parser: Parser) -> str | None:
    """The sentence with one clause changed.

    The walk goes from the root along ``path``, in which each step is the number of an S
    among the children.  At the first node with exactly one NP, that NP is changed if it
    has "no one"; else the predicate is changed if there is exactly one VP (or ADJP)
    beside the NP; else the walk goes on.  None if there is no such node or step, or if
    the NP begins with a word of `_NOT`.
    """
    node = tree.root
    steps = iter(path)
    while True:
        _, children = _labels_and_children(node)
        labels = [_labels_and_children(child)[0] for child in children]
        if labels.count(("NP",)) == 1:
            subject = children[labels.index(("NP",))]
            # The released code leaves a sentence as it is if the subject begins so.
            if tree.tokens[subject.start].text.lower() in _NOT:
                return None
            changed = _with_someone(tree, subject)
            if changed is not None:
                return changed
            for label in (("VP",), ("ADJP",)):
                if labels.count(label) == 1:
                    place = labels.index(label)
                    return _negated_phrase(tree, children, labels, place, parser)
        step = next(steps, None)
        clauses = [i for i, label in enumerate(labels) if label == ("S",)]
        if step is None or step >= len(clauses):
            return None
        node = children[clauses[step]]


def _with_someone(tree: Tree, subject: Node) -> str | None:
    """The sentence with "someone" for "no one" in its subject; None without "no
    one".
    """
    words = _text(tree.tokens[subject.start : subject.end])
    for old, new in (("no one", "someone"), ("No one", "Someone")):
        if old in words:
            someone = words.replace(old, new, 1)
            return _replaced(tree, subject.start, words, someone)
    return None


def _labels_and_children(node: Node) -> tuple[tuple[str, ...], tuple[Node, ...]]:
    """The labels from a node down to the first descendant with several children, and
    that descendant's children.

    A word's tag is left out: ``("NP",)`` for an NP of one word or of several children,
    ``()`` for a word.
    """
    labels = []
    while not node.is_leaf:
        labels.append(node.label)
        if len(node.children) > 1:
            break
        node = node.children[0]
    return tuple(labels), node.children


def _negated_phrase(
    tree: Tree,
    children: Sequence[Node],
    labels: Sequence[tuple[str, ...]],
    place: int,
    parser: Parser,
) -> str | None:
    """The sentence with its predicate, ``children[place]``, negated.

    ``children`` and ``labels`` are those of the clause (`_labels_and_children`).
    """
    start = children[place].start
    end = children[place].end
    tokens = tree.tokens[start:end]
    is_adjective = labels[place] == ("ADJP",)
    # An adverb or word before the predicate belongs to it: both are parsed again, as
    # the released code does.
    if place and labels[place - 1] in ((), ("ADVP",)):
        start = children[place - 1].start
        (sentences,) = parser.parse([_text(tree.tokens[start:end])])
        tokens = sentences[0].tokens
        is_adjective = _labels_and_children(sentences[0].root)[0] == ("ADJP",)
    negated = _negated(tokens, is_adjective)
    if negated is None:
        return None
    changed = _replaced(tree, start, _text(tokens), negated)
    return changed.replace("can not", "cannot")


def _replaced(tree: Tree, start: int, old: str, new: str) -> str:
    """The sentence with ``new`` in the place of ``old`` at token ``start``."""
    before = _text(tree.tokens[:start])
    return before + new + tree.text[len(before + old) :]


def _negated(tokens: Sequence[Token], is_adjective: bool) -> str | None:
    """The words of a predicate with "not" added or removed (`negate2` of the released
    code).

    The head is the first word with a tag of an adjective or a verb; None if there is
    none.
    """
    tags: Sequence[str] = _ADJECTIVES if is_adjective else _VERBS
    place = 0
    while place < len(tokens) and tokens[place].tag not in tags:
        place += 1
    if place == len(tokens):
        return None
    head = tokens[place]
    before = tokens[:place]
    after = tokens[place + 1 :]
    up_to_head = _text(tokens[: place + 1])
    from_head = _text(tokens[place:])
    following = ""
    next_tag = ""
    if after:
        following = after[0].text
        next_tag = after[0].tag
    # "cannot" is two tokens without a space between.
    if not is_adjective and (head.text, following) == ("can", "not"):
        return f"{up_to_head} {_text(after[1:])}"
    if before and before[-1].text in _NOT:
        return _text(before[:-1]) + from_head
    if following in _NOT:
        has_verb = len(after) > 1 and after[1].tag == "VB"
        if is_adjective or not has_verb or head.text not in _DO.values():
            return up_to_head + _text(after[1:])
        verb = inflect(after[1].text, tense_of(head.text))
        return f"{_text(before)}{verb}{after[1].space}{_text(after[2:])}"
    if is_adjective:
        return f"{_text(before)}not {from_head}"
    negated_head = _with_not(head, next_tag)
    return f"{_text(before)}{negated_head}{head.space}{_text(after)}"


def _with_not(verb: Token, next_tag: str) -> str:
    """A verb with "not", before a word with the tag ``next_tag``."""
    form = verb.text
    has_participle = form in _HAVE and next_tag == "VBN"
    has_infinitive = form in _DO.values() and next_tag == "VB"
    if verb.tag == "MD" or form in _BE or has_participle or has_infinitive:
        return f"{form} not"
    if verb.tag in _DO:
        do = _DO[verb.tag]
        return f"{do} not {_lemma(form)}"
    return f"not {form}"


def _lemma(form: str) -> str:
    """The shortest base form that a verb can have; of equally short ones the form
    itself ("did not saw").
    """
    from lemminflect import getAllLemmas

    candidates = getAllLemmas(form).get("VERB", ()) or (form,)
    return min(candidates, key=lambda base: (len(base), base != form))


def _text(tokens: Sequence[Token]) -> str:
    """The words with the white space after each."""
    return "".join(token.text + token.space for token in tokens)
