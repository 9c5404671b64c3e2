"""The contradiction algorithm: add pivotal negation to a hypothesis, or remove it
(A.1.3, A.1.5).

Pivotal negation is a negation that decides what a sentence states: without it the
sentence states the opposite.

One non-compound independent clause of one randomly chosen sentence is changed, by the
first of three rules that fits; each rule is a module (`pronouns`, `verb_phrases`,
`adjective_phrases`).  Before, clauses are rejected whose negation would not contradict
them or would not fit the rest of the sentence (`_reason_to_reject`).

The rules modify the negation of Bilu et al. (2015), Section 4.2.  Evident mistakes of
the released code, where it differs from the paper, are not copied; docs/lawngnli.md
lists them.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lextables.papers.lawngnli.hypotheses.adjective_phrases import adjective_phrase
from lextables.papers.lawngnli.hypotheses.clause_words import (
    head_noun,
    in_clause_below,
    is_finite,
    labels_above,
    opens_clause,
    participle_of,
    word_before,
)
from lextables.papers.lawngnli.hypotheses.polarity import Change, Rejected, phrase_at
from lextables.papers.lawngnli.hypotheses.pronouns import indefinite_pronoun
from lextables.papers.lawngnli.hypotheses.tree import (
    Clause,
    Tree,
    clauses,
    core,
    edited,
    path_to,
)
from lextables.papers.lawngnli.hypotheses.verb_phrases import verb_phrase
from lextables.papers.lawngnli.hypotheses.vocabulary import (
    AUXILIARIES,
    CONCESSIONS,
    CONDITIONS,
    CONSEQUENCES,
    FOCUS,
    LIMITS,
    NOT,
    OPENING_REASONS,
    PREPOSITIONS,
    QUOTES,
    REASON_PHRASES,
    REASONS,
    REPORTS,
    SHARES,
    SUBORDINATORS,
    VERBAL,
    WEAK,
)

Rule = Callable[[Tree, Clause], Change | Rejected | None]
"""Returns a change, a reason to stop, or None if the rule's condition does not hold."""

# Tags of what follows "however" in a concession: "however narrow", "however it reads".
_AFTER_HOWEVER = frozenset({"JJ", "JJR", "RB", "DT", "PRP"})
_AFTER_NO_MATTER = frozenset(
    "how if what when where whether which who whose why".split()
)

RULES: tuple[Rule, ...] = (indefinite_pronoun, verb_phrase, adjective_phrase)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A hypothesis that was changed into its contradiction."""

    text: str
    kind: str
    """What the rule did, as "not added"."""
    negated: bool
    """Whether the hypothesis had pivotal negation, which is now gone (A.1.3)."""
    sentence: int
    """Index of the one sentence that was changed."""
    rule: str
    """Name of the function that changed it."""


def contradict(
    sentences: Sequence[Tree], *, example: str, seed: int
) -> Contradiction | Rejected:
    """Return the contradiction of a hypothesis, or why there is none.

    ``sentences`` are its trees.  The sentence, and the clause if the sentence has
    several, are drawn by a hash of the example's id and the seed, so the outcome does
    not depend on the order of examples or on the machine.
    """
    if not sentences:
        return Rejected("empty")
    draw = hashlib.sha256(f"{example}\0{seed}".encode()).digest()
    chosen = int.from_bytes(draw[:8]) % len(sentences)
    tree = sentences[chosen]
    candidates = clauses(tree)
    if not candidates:
        return _no_clause(tree)
    clause = candidates[int.from_bytes(draw[8:16]) % len(candidates)]
    reason = _reason_to_reject(tree, clause)
    if reason:
        return Rejected(reason)
    for rule in RULES:
        change = rule(tree, clause)
        if change is not None:
            break
    else:
        return Rejected("no rule applies")
    if isinstance(change, Rejected):
        return change
    following = [sentence.tokens[0].lower for sentence in sentences[chosen + 1 :]]
    if change.negated and {"nor", "neither"} & {
        *_unchanged(tree, change),
        *following[:1],
    }:
        return Rejected("not … nor")
    texts = [sentence.text for sentence in sentences]
    texts[chosen] = edited(tree, change.edits)
    name = rule.__name__
    return Contradiction("".join(texts), change.kind, change.negated, chosen, name)


def _unchanged(tree: Tree, change: Change) -> list[str]:
    """Return the words of a sentence that a change keeps."""
    changed: set[int] = set()
    for edit in change.edits:
        changed.update(range(edit.start, edit.end))
    return [word for i, word in enumerate(tree.words()) if i not in changed]


def _no_clause(tree: Tree) -> Rejected:
    """Return why a sentence has no clause."""
    if tree.root.label == "UNPARSED":
        return Rejected("sentence not parsed")
    node = tree.root
    while len(node.children) == 1:
        node = node.children[0]
    if node.label == "VP":
        return Rejected("verb phrase without a subject")
    return Rejected("no independent clause")


def _reason_to_reject(tree: Tree, clause: Clause) -> str:
    """Return why the clause must not be changed; empty if it may be."""
    tokens = tree.tokens
    all_words = tree.words()
    start = clause.subject.start
    verb = clause.predicate.start
    before = tree.word(start - 1)
    if word_before(tree, len(tokens)) == "?":
        return "question"
    if ";" in all_words:
        return "several statements"  # the others would not fit the contradiction
    if tree.text.count("[") > tree.text.count("]"):
        return "bracket never closed"  # damaged print, as "[NJothing"
    if start > 1 and all_words[0] in ("and", "or", "but"):
        return "no independent clause"
    opening = next((word for word in all_words if word not in QUOTES), "")
    if before in SUBORDINATORS | {"absent"} or opening == "whether":
        return "subordinate clause"
    if before in ("and", "or") and opening in CONDITIONS:
        return "subordinate clause"  # "once A and B, C"
    if before in AUXILIARIES:
        return "inverted clause"
    has_verb = any(token.tag.startswith(VERBAL) for token in tokens[:start])
    if before == "but" and not has_verb:
        return "not … but"  # "not the owner but the tenant is liable"
    if all_words[0] == "not" and all_words[1] in FOCUS:
        return "not only"  # of two clauses: "not only did he err, but …"
    in_subject = _reason_in_subject(tree, clause)
    if in_subject:
        return in_subject
    is_joined = clause.subject.end < verb and all_words[verb - 1] in ("and", "or")
    if is_joined or _starts_as_report(tree, clause):
        return "verb phrase without a subject"
    if any("exception" in word for word in all_words[:start]):
        return "structure unclear"  # "with one exception, none"
    if _follows_noun_phrase(tree, start):
        return "structure unclear"
    if _has_open_clause(tree, verb):
        return "subordinate clause"
    if _has_reason(tree, clause):
        return "reason or exception"
    if _has_consequence(tree, verb):
        return "consequence"
    if _has_comparison(tree, verb):
        return "comparison"
    if _has_concession(tree, clause):
        return "concession"
    if _is_unnamed_event(tree, clause):
        return "event of an unnamed subject"
    return ""


def _has_reason(tree: Tree, clause: Clause) -> bool:
    """Return whether the sentence gives a reason for the clause, or an exception to it.

    The reason would stay although the statement is reversed: "the levy does not apply
    because the ship is a ferry".  Reasons in a subordinate clause do not count.
    """
    if {"because", "inasmuch"}.intersection(tree.words(0, clause.subject.start)):
        return True
    for i in range(clause.node.start, clause.node.end):
        if in_clause_below(clause, i):
            continue
        word = tree.word(i)
        if word in REASONS or phrase_at(tree, i, REASON_PHRASES):
            return True
        opened = [node for node in path_to(clause.node, i) if node.start == i]
        labels = {node.label for node in opened}
        opens_time = word == "since" and "SBAR" not in labels
        is_opening = word in OPENING_REASONS and labels & {"SBAR", "PP"}
        if is_opening and not opens_time:
            return True
    return False


def _has_consequence(tree: Tree, verb: int) -> bool:
    """Return whether the sentence says what follows from the predicate at ``verb``.

    The consequence would not follow from the contradiction: "the levy is a tax and
    therefore void", "the suit was late, thus barring relief".
    """
    for i in range(verb, len(tree.tokens)):
        if tree.word(i) not in CONSEQUENCES:
            continue
        opens = tree.word(i - 1) == "," and tree.word(i + 1) != ","
        if opens or "and" in tree.words(verb, i):
            return True
    return False


def _has_comparison(tree: Tree, verb: int) -> bool:
    """Return whether the same is said of another subject after the predicate at
    ``verb``.

    "The levy is void, as is the fee", "the owner is liable, and so is the tenant".
    """
    for i in range(verb + 1, len(tree.tokens)):
        is_opening = tree.word(i) in ("as", "so") and tree.word(i - 1) in (",", "and")
        if is_opening and tree.word(i + 1) in AUXILIARIES:
            return True
    return False


def _has_concession(tree: Tree, clause: Clause) -> bool:
    """Return whether a concession after the subject is said of the clause.

    The concession would no longer fit the contradiction: "the ban is void, even though
    it is narrow" or "the ban, however narrow, is void".
    """
    for i in range(core(clause.subject).end, clause.node.end):
        if not in_clause_below(clause, i) and _opens_concession(tree, i):
            return True
    return False


def _opens_concession(tree: Tree, i: int) -> bool:
    """Return whether a clause or phrase of concession opens at token ``i``."""
    if phrase_at(tree, i, CONCESSIONS):
        return True
    if i + 1 == len(tree.tokens):
        return False
    token = tree.tokens[i]
    before = tree.tokens[i - 1]
    following = tree.tokens[i + 1]
    if token.lower == "even":  # and not "even-handed", "even terms"
        return token.tag in ("RB", "IN") and following.text != "-"
    if token.lower == "however":  # and not "is however void"
        is_connector = before.tag.startswith(VERBAL) or following.lower in NOT
        return following.tag in _AFTER_HOWEVER and not is_connector
    if token.lower == "while":  # and not "while on duty", "while waiting"
        return before.text == "," and following.tag not in ("IN", "VBG", "VBN", "JJ")
    if tree.words(i, i + 2) == ["no", "matter"]:  # and not "no matter of concern"
        return any(word in _AFTER_NO_MATTER for word in tree.words(i + 2, i + 3))
    return False


def _is_unnamed_event(tree: Tree, clause: Clause) -> bool:
    """Return whether the clause says what one or more things that are not named did.

    "A bank closed" and "a bank did not close" may both be true; with "two banks" too.
    """
    first = tree.tokens[core(clause.subject).start]
    verb = tree.tokens[clause.predicate.start]
    is_past = verb.tag == "VBD" or verb.lower in ("was", "were", "had")
    # "1964 amendments" have a name, and "one juror" may be the only juror.
    is_number = first.tag == "CD" and first.text.isalpha() and first.lower != "one"
    return is_past and (first.lower in ("a", "an", "another") or is_number)


def _reason_in_subject(tree: Tree, clause: Clause) -> str:
    """Return what in the subject forbids a change; empty if nothing does."""
    start = clause.subject.start
    end = clause.subject.end
    base = core(clause.subject)
    words = tree.words(base.start, base.end)
    tags = {token.tag for token in tree.tokens[base.start : base.end]}
    if tags & {"WDT", "WP", "WRB"}:
        return "relative or interrogative subject"
    is_counted = words[0] == "only" and "CD" in tags
    is_least = words[0] == "at" and "CD" in tags and not LIMITS.isdisjoint(words[1:2])
    if WEAK.intersection(words) or words[-1] in SHARES or is_counted or is_least:
        return "weak quantifier in the subject"
    if _is_quantity(tree, clause):
        return "weak quantifier in the subject"
    for i in range(start + 1, end):
        above = labels_above(clause.subject, i)
        if tree.word(i) in NOT and not above & {"SBAR", "S", "VP", "PP"}:
            return "contrast in the subject"
    if FOCUS & {words[0], tree.word(start - 1)}:
        return "only in the subject"
    return ""


def _is_quantity(tree: Tree, clause: Clause) -> bool:
    """Return whether a singular noun with "of" has a plural verb: "a number of courts
    have", "a line of cases are".
    """
    base = core(clause.subject)
    first = tree.word(base.start)
    noun = tree.tokens[head_noun(tree, clause.subject)]
    verb = tree.tokens[clause.predicate.start]
    is_plural = verb.tag == "VBP" or verb.lower in ("are", "were", "have", "do")
    is_singular = first == "a" and noun.tag == "NN" and tree.word(base.end) == "of"
    return is_singular and is_plural


def _follows_noun_phrase(tree: Tree, start: int) -> bool:
    """Return whether a noun stands right before the subject: "nothing we say precludes
    it".

    The clause is then a relative one without "that".
    """
    before = tree.tokens[:start]
    while before and before[-1].lower in QUOTES:
        before = before[:-1]
    if not before or not before[-1].tag.startswith(("NN", "PRP", "DT")):
        return False
    for token in reversed(before):
        if token.text in (",", ";", ":"):
            break
        if token.tag in ("IN", "TO"):
            return False
    return True


def _has_open_clause(tree: Tree, end: int) -> bool:
    """Return whether a subordinator before token ``end`` has no verb yet.

    The verb at ``end`` is then that of the subordinate clause: "the fact that a firm
    performs a function".
    """
    opened = 0
    before = tree.tokens[0]
    for i, token in enumerate(tree.tokens[:end]):
        is_object = token.lower == "that" and before.tag == "VBG"
        if is_object or opens_clause(token):
            if not _is_elliptic(tree, i):
                opened += 1
        elif token.text == ",":
            opened = 0
        elif token.tag in ("VBD", "VBN") or is_finite(token, before):
            opened = max(0, opened - 1)
        before = token
    return opened > 0


def _is_elliptic(tree: Tree, i: int) -> bool:
    """Return whether the clause that token ``i`` opens has no verb.

    "Where appropriate", "while waiting", "whether or not"; and not "when exhausted
    claims involve".
    """
    token, following, *rest = tree.tokens[i : i + 3]
    if following.lower == "or":
        return True
    if token.lower == "that" or following.tag not in ("JJ", "TO", "VBG", "VBN"):
        return False
    return not rest or not rest[0].tag.startswith("NN")


def _starts_as_report(tree: Tree, clause: Clause) -> bool:
    """Return whether the sentence is a verb phrase of which the clause is a part.

    An example is "noting, in dictum, that …".
    """
    start = clause.subject.start
    first = tree.word(0)
    second = tree.word(1)
    if not first.endswith("ing") or first in PREPOSITIONS or second == "of":
        return False
    before_subject = tree.words(1, start)
    if second == "," or "that" in before_subject:
        return True
    if tree.word(start - 1) == ",":
        return False
    if first in REPORTS:
        return True
    if tree.tokens[0].tag != "VBG":
        return False
    return start > 0 or participle_of(tree, clause) is not None
