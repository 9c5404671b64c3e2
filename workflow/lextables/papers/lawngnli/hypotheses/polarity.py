"""What the rules of the contradiction algorithm return, and the words that change when
they add or remove a negation.

If the negation of "did not find any error" is removed, "any" changes too: "found some
error".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lextables.papers.lawngnli.hypotheses.clause_words import (
    in_clause_below,
    labels_above,
    outside,
    word_before,
)
from lextables.papers.lawngnli.hypotheses.tree import (
    Clause,
    Edit,
    Tree,
    delete,
    replace,
)
from lextables.papers.lawngnli.hypotheses.vocabulary import (
    ASSERTED,
    AUXILIARIES,
    FOCUS,
    LIMITS,
    LINKS,
    MODALS,
    NEGATIVE_PHRASES,
    NEGATIVES,
    NOT,
    SENTENCE_ADVERBS,
    UNDER_NEGATION,
    WEAK,
    WHICHEVER,
)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A hypothesis that the algorithm does not take, and why; it leaves the data set
    (A.1.3).
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Change:
    """The edits of one rule to one sentence."""

    edits: tuple[Edit, ...]
    kind: str
    """What the edits do, such as "not added"."""
    negated: bool
    """Whether the sentence was negated, so that the edits remove the negation."""


def cased(model: str, words: str) -> tuple[str, ...]:
    """Return ``words`` with the capital and the brackets of ``model``: for "[A]ny" and
    "no" it is "[N]o".
    """
    letter = model[0]
    first = words[0]
    is_bracketed = model[2:3] == "]"
    if is_bracketed:
        letter = model[1]
    if letter.isupper():
        first = first.upper()
    if is_bracketed:
        first = f"[{first}]"
    changed = first + words[1:]
    return tuple(changed.split(" "))


def without_negation(
    tree: Tree, clause: Clause, i: int, edits: Sequence[Edit], kind: str
) -> Change | Rejected:
    """Return the change that removes a negation by ``edits``.

    The words after token ``i`` that need the negation change too.  After a modal "any"
    does not need a negation ("may consider any evidence") and stays.  In a subordinate
    clause "any" may mean some or all, so the change is rejected: "not shown that any
    teacher preached".
    """
    tokens = tree.tokens
    if _has_negative_phrase(tree, clause, i + 1):
        return Rejected("words of negation")
    predicate = tokens[clause.subject.end : clause.predicate.start + 2]
    has_modal = any(token.lower in MODALS for token in predicate)
    all_edits = list(edits)
    for j in range(i + 1, clause.node.end):
        word = tree.word(j)
        before = tree.word(j - 1)
        if word not in UNDER_NEGATION:
            continue
        if word == "any" and _compares(tree, j + 1):
            return Rejected("words of negation")  # "not any longer", "not any less"
        if word == "until":
            if "not" not in tree.words(i + 1, j):
                all_edits.append(replace(j, "before"))
        elif "SBAR" in labels_above(clause.node, j):
            if before in ("that", "whether"):
                return Rejected("any in a clause below")
        elif not word.startswith("any") or not (has_modal or before in WHICHEVER):
            new = UNDER_NEGATION[word]
            edit = delete(j)
            if new is not None:
                edit = replace(j, new)
            all_edits.append(edit)
    return Change(tuple(all_edits), kind, True)


def _compares(tree: Tree, i: int) -> bool:
    """Return whether an adverb stands at ``i``, or a comparative that has no noun."""
    tags = [token.tag for token in tree.tokens[i : i + 2]]
    if tags[:1] == ["JJR"]:
        return not tags[-1].startswith("NN")
    return bool(tags) and tags[0].startswith("RB")


def has_adverb(tree: Tree, i: int) -> bool:
    """Return whether an adverb or "at least" before the word at ``i`` limits it.

    "Almost no support", "virtually never", "hardly any", "at least some".
    """
    word = tree.word(i - 1)
    if word in LIMITS and tree.word(i - 2) == "at":
        return True
    is_adverb = i > 0 and tree.tokens[i - 1].tag.startswith("RB")
    return is_adverb and word not in LINKS | SENTENCE_ADVERBS


def _has_negative_phrase(tree: Tree, clause: Clause, start: int) -> bool:
    """Return whether a phrase follows that needs a negation: "no proof whatever".

    "At all times" and "whatever the cause" do not need one.
    """
    for i in range(start, clause.node.end):
        phrase = phrase_at(tree, i, NEGATIVE_PHRASES)
        if phrase is None:
            continue
        end = i + len(phrase)
        following = tree.tokens[end].tag if end < len(tree.tokens) else ""
        follows_noun = tree.tokens[i - 1].tag.startswith("NN")
        is_open = following.startswith(("NN", "DT", "JJ", "CD", "PRP"))
        if not is_open and (len(phrase) > 1 or follows_noun):
            return True
    return False


def phrase_at(
    tree: Tree, i: int, phrases: Iterable[tuple[str, ...]]
) -> tuple[str, ...] | None:
    """Return the first of ``phrases``, in lower case, that starts at token ``i``, or
    None.
    """
    for phrase in phrases:
        if tuple(tree.words(i, i + len(phrase))) == phrase:
            return phrase
    return None


def with_negation(
    tree: Tree, clause: Clause, verbs: tuple[int, int], edits: Sequence[Edit], kind: str
) -> Change:
    """Return the change that adds a negation by ``edits``.

    ``verbs`` are the first and the main verb.  After the main verb "some" changes to
    "any", and after the first verb "already" to "yet".  In "some 40 million people" the
    word means "about" and stays.
    """
    first, main = verbs
    all_edits = list(edits)
    for i in outside(clause, first + 1, "SBAR"):
        word = tree.word(i)
        following = tree.tokens[i + 1 : i + 2]
        is_number = any(token.tag == "CD" for token in following)
        is_after = i > main or word == "already"
        if word in ASSERTED and is_after and not is_number:
            all_edits.append(replace(i, ASSERTED[word]))
    return Change(tuple(all_edits), kind, False)


def change_either(tree: Tree, clause: Clause, i: int, end: int) -> Change | Rejected:
    """Change "neither … nor" to "either … or", or back, from token ``i`` to ``end``."""
    old = "either"
    joiner = "or"
    new = "neither"
    new_joiner = "nor"
    is_negated = tree.word(i) == "neither"
    if is_negated:
        old, joiner, new, new_joiner = new, new_joiner, old, joiner
    edits = [replace(i, *cased(tree.tokens[i].text, new))]
    for j in range(i + 1, end):
        if tree.word(j) == joiner:
            edits.append(replace(j, new_joiner))
    kind = f"{old} to {new}"
    if is_negated:
        return without_negation(tree, clause, i, edits, kind)
    return Change(tuple(edits), kind, False)


# Words beside which a new negation would have another meaning.


def is_contrasted(tree: Tree, places: Iterable[int]) -> bool:
    """Return whether a negation at one of ``places`` contrasts with the statement.

    "A tax, not a penalty".
    """
    for i in places:
        if tree.word(i) not in NOT:
            continue
        if word_before(tree, i - 1) == "but" and tree.word(i - 1) in AUXILIARIES | {
            "need"
        }:
            return True  # "may tax it but does not"
        joiners = (",", "but", "and", "or", "if", "though", "although")
        if word_before(tree, i) in joiners:
            return True
        if "but" in tree.words(i):
            return True
    words = tree.words()
    return any(
        word in ("though", "although") and following in NOT
        for word, following in pairwise(words)
    )


def says_how_often(tree: Tree, places: Iterable[int]) -> bool:
    """Return whether a phrase says in how many cases: "at times", "in some States"."""
    for i in places:
        word = tree.word(i)
        following = tree.word(i + 1)
        if (word, following) == ("at", "times"):
            return True
        is_share = following in WEAK | {"some", "occasion", "occasions"}
        if word in ("in", "on", "under") and is_share:
            return True
    return False


def is_negative(tree: Tree, clause: Clause, start: int) -> bool:
    """Return whether a negative word follows ``start`` outside subordinate clauses.

    "Gives the agency no power", "entitled to no fees", "under no duty".
    """
    return any(tree.word(i) in NEGATIVES for i in outside(clause, start + 1, "SBAR"))


def is_limited(tree: Tree, start: int) -> bool:
    """Return whether "at best" or a similar phrase follows token ``start``.

    A negation would deny only this limit.
    """
    words = tree.words(start)
    return any(word == "at" and last in LIMITS for word, last in pairwise(words))


def is_only_if(tree: Tree, clause: Clause, start: int) -> bool:
    """Return whether "only if", "only to", "merely as" or a similar phrase follows.

    "Not lawful only if" may be read in two ways.  "Only" in "the only remedy" is part
    of the noun phrase and does not count.
    """
    for i in range(start, clause.node.end):
        if in_clause_below(clause, i):
            continue
        before = tree.tokens[i - 1]
        is_determined = before.tag in ("DT", "PRP$", "POS", "CD")
        if tree.word(i) == "only" and not is_determined:
            return True
        if tree.word(i) in FOCUS and tree.tokens[i].tag.startswith("RB"):
            return True
    return False
