"""The hypotheses of the released LawngNLI, half of which its contradiction algorithm makes.

Half of the released hypotheses are not in the opinions: ``src/reconstruct_nli.py`` of the released code
rebuilds them from the sentence and the clause that the ID file names, and then replaces words in 36 of them
(`resources/facts/lawngnli_edits.csv`).  This module does the same, mistakes included (docs/lawngnli.md); the
trees must be those of benepar_en3.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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

EDITS = ROOT / "resources/facts/lawngnli_edits.csv"
DO_NOT = 6941  # the index of the row whose "did not" becomes "do not"
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
    """Write the cases of a shard's volumes that ``rows`` name, and the hypotheses from these cases.

    ``rows`` is a table of `ids.ROWS`; ``cases_path`` becomes one of `CASES`, ``texts`` one of
    `HYPOTHESES`.
    """
    named = list(dataset.read(rows))
    case_by_id = {
        row["case_id"]: row
        for row in cases(
            volumes,
            {row[key] for row in named for key in ("citing_case_id", "cited_case_id")},
        )
    }
    dataset.write(CASES, case_by_id.values(), cases_path)
    # Both twins are of one parenthetical.
    of_shard = sorted(
        (row for row in named if row["citing_case_id"] in case_by_id),
        key=itemgetter("example_id", "is_twin"),
    )
    read = [
        (row, _parenthetical(row, case_by_id[row["citing_case_id"]]))
        for row in of_shard
    ]
    converted = iter(
        hypotheses([(row, text) for row, text in read if text is not None], parser)
    )
    dataset.write(
        HYPOTHESES,
        (_hypothesis(row, text, converted, case_by_id) for row, text in read),
        texts,
    )


def _parenthetical(row: Row, case: Row) -> str | None:
    if row["opinion"] >= len(case["opinions"]):
        return None
    return parenthetical(
        case["opinions"][row["opinion"]]["text"], row["start"], row["end"]
    )


def _hypothesis(
    row: Row,
    text: str | None,
    converted: Iterator[str | None],
    case_by_id: Mapping[int, Row],
) -> dict[str, Any]:
    hypothesis = None if text is None else next(converted)
    return {
        **{key: row[key] for key in ("example_id", "is_twin", "citing_case_id")},
        "citing_jurisdiction": case_by_id[row["citing_case_id"]]["jurisdiction"],
        "hypothesis": hypothesis,
        "fault": None
        if hypothesis is not None
        else NO_FIT
        if text is None
        else NO_CLAUSE,
    }


def hypotheses(rows: Sequence[tuple[Row, str]], parser: Parser) -> list[str | None]:
    """Return the hypotheses of (row of `ids.ROWS`, its parenthetical).

    None if the algorithm finds nothing to change in the clause that the row names.
    """
    nlp = _words()
    edits = _edits()
    texts = [_expanded(nlp, text) if row["expanded"] else text for row, text in rows]
    texts = [
        text.replace("did not", "do not") if row["index"] == DO_NOT else text
        for (row, _), text in zip(rows, texts, strict=True)
    ]
    changed = [
        at for at, (row, _) in enumerate(rows) if row["flipped"] and row["contradicted"]
    ]
    trees = parser.parse(_expanded(nlp, texts[at]) for at in changed)
    results: list[str | None] = [*texts]
    for at, sentences in zip(changed, trees, strict=True):
        results[at] = _edited(
            _contradicted(sentences, rows[at][0], parser),
            edits.get(rows[at][0]["index"], ()),
        )
    return results


@cache
def _words() -> Any:
    return spacy_pipeline(
        SPACY_MODEL, ["ner", "lemmatizer", "tagger", "attribute_ruler"]
    )


@cache
def _edits() -> Mapping[int, Sequence[tuple[slice, str]]]:
    edits = defaultdict(list)
    with EDITS.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            place = slice(
                *(int(row[end]) if row[end] else None for end in ("start", "end"))
            )
            edits[int(row["index"])].append((place, row["text"]))
    return edits


def _edited(text: str | None, edits: Sequence[tuple[slice, str]]) -> str | None:
    """A text with an index's edits, the last one first; without a place they go to its end."""
    for place, new in edits if text is not None else ():
        at = len(text) if place.start is None else place.start
        text = text[:at] + new + text[len(text) if place.stop is None else place.stop :]
    return text


def _expanded(nlp: Any, text: str) -> str:
    """A text without "holding that " before it, its words as spaCy's norms have them ("Id." is "Idaho")."""
    sentences = []
    for sentence in nlp(re.sub("^[a-z]*ing that ", "", text)).sents:
        words = (
            token.text_with_ws
            if token.is_punct or token.lower_ == token.norm_
            else f" {token.norm_.title() if token.is_title else token.norm_}{token.whitespace_}"
            for token in sentence
        )
        sentences.append(
            "".join(words).replace("  ", " ").replace("can not", "cannot").strip()
        )
    return " ".join(sentences)


def _contradicted(sentences: Sequence[Tree], row: Row, parser: Parser) -> str | None:
    if row["sentence"] >= len(sentences):
        return None
    changed = _clause(sentences[row["sentence"]], row["clause"], parser)
    if changed is None:
        return None
    others = enumerate(sentences)
    return " ".join(
        changed if at == row["sentence"] else tree.text.rstrip() for at, tree in others
    )


def _clause(tree: Tree, path: Sequence[int], parser: Parser) -> str | None:
    """The sentence with one clause changed: the one under the root that ``path`` leads to, an S a step."""
    node, steps = tree.root, iter(path)
    while True:
        children = _chain(node)[1]
        labels = [_chain(child)[0] for child in children]
        at = {
            name: [i for i, of in enumerate(labels) if of == (name,)]
            for name in ("NP", "VP", "ADJP", "S")
        }
        if len(at["NP"]) == 1:
            subject = children[at["NP"][0]]
            if tree.tokens[subject.start].text.lower() in _NOT:
                return None
            words = _text(tree.tokens[subject.start : subject.end])
            for old, new in (("no one", "someone"), ("No one", "Someone")):
                if old in words:
                    return _replaced(
                        tree, subject.start, words, words.replace(old, new, 1)
                    )
            for name in ("VP", "ADJP"):
                if len(at[name]) == 1:
                    return _phrase(tree, children, labels, at[name][0], parser)
        step = next(steps, None)
        if step is None or step >= len(at["S"]):
            return None
        node = children[at["S"][step]]


def _chain(node: Node) -> tuple[tuple[str, ...], tuple[Node, ...]]:
    """The labels of a node and its only descendants, without a word's tag, and the children of the last."""
    labels = []
    while not node.is_leaf:
        labels.append(node.label)
        if len(node.children) > 1:
            break
        node = node.children[0]
    return tuple(labels), node.children


def _phrase(
    tree: Tree,
    children: Sequence[Node],
    labels: Sequence[tuple[str, ...]],
    i: int,
    parser: Parser,
) -> str | None:
    """The sentence with its predicate negated; with an adverb before it, it is parsed again by itself."""
    start, adjective = children[i].start, labels[i] == ("ADJP",)
    tokens = tree.tokens[start : children[i].end]
    if i and labels[i - 1] in ((), ("ADVP",)):
        start = children[i - 1].start
        phrase = next(
            iter(parser.parse([_text(tree.tokens[start : children[i].end])]))
        )[0]
        tokens, adjective = phrase.tokens, _chain(phrase.root)[0] == ("ADJP",)
    negated = _negated(tokens, adjective)
    return (
        None
        if negated is None
        else _replaced(tree, start, _text(tokens), negated).replace("can not", "cannot")
    )


def _replaced(tree: Tree, start: int, old: str, new: str) -> str:
    before = _text(tree.tokens[:start])
    return before + new + tree.text[len(before + old) :]


def _negated(tokens: Sequence[Token], adjective: bool) -> str | None:
    """The words of a predicate with "not" added or removed (`negate2` of the released code)."""
    tags = _ADJECTIVES if adjective else _VERBS
    n = next((at for at, token in enumerate(tokens) if token.tag in tags), None)
    if n is None:
        return None
    word, before, after = tokens[n], tokens[:n], tokens[n + 1 :]
    following, next_tag = (after[0].text, after[0].tag) if after else ("", "")
    if not adjective and (word.text, following) == ("can", "not"):
        return f"{_text(tokens[: n + 1])} {_text(after[1:])}"
    if before and before[-1].text in _NOT:
        return _text(before[:-1]) + _text(tokens[n:])
    if following in _NOT:
        verb = after[1] if len(after) > 1 and after[1].tag == "VB" else None
        if adjective or verb is None or word.text not in _DO.values():
            return _text(tokens[: n + 1]) + _text(after[1:])
        return f"{_text(before)}{inflect(verb.text, tense_of(word.text))}{verb.space}{_text(after[2:])}"
    if adjective:
        return f"{_text(before)}not {_text(tokens[n:])}"
    if (
        word.tag == "MD"
        or word.text in _BE
        or (word.text in _HAVE and next_tag == "VBN")
        or (word.text in _DO.values() and next_tag == "VB")
    ):
        new = f"{word.text} not"
    else:
        new = (
            f"{_DO[word.tag]} not {_lemma(word.text)}"
            if word.tag in _DO
            else f"not {word.text}"
        )
    return f"{_text(before)}{new}{word.space}{_text(after)}"


def _lemma(form: str) -> str:
    """The shortest base form that a verb can have, of several the form itself ("did not saw")."""
    from lemminflect import getAllLemmas

    candidates = getAllLemmas(form).get("VERB", ()) or (form,)
    return min(candidates, key=lambda base: (len(base), base != form))


def _text(tokens: Sequence[Token]) -> str:
    return "".join(token.text + token.space for token in tokens)
