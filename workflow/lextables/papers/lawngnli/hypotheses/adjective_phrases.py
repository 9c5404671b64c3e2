"""Rule 3 of the contradiction algorithm: predicates without a finite verb (A.1.5, item
3).

Examples are "defendant not liable" and "claims barred by the statute".  Parsers make
many mistakes with such headlines, so most of the module decides whether a word really
is the predicate of its clause.
"""

from lextables.papers.lawngnli.hypotheses import morphology
from lextables.papers.lawngnli.hypotheses.clause_words import (
    acts,
    head_noun,
    is_finite,
    labels_above,
    outside,
    participle_of,
    word_before,
)
from lextables.papers.lawngnli.hypotheses.polarity import (
    Change,
    Rejected,
    is_limited,
    is_negative,
    is_only_if,
)
from lextables.papers.lawngnli.hypotheses.tree import (
    Clause,
    Tree,
    delete,
    insert,
    replace,
)
from lextables.papers.lawngnli.hypotheses.vocabulary import (
    ADVERBIAL,
    BE,
    CONDITIONS,
    DESCRIBING,
    DISPOSITIONS,
    DO,
    FOCUS,
    HAVE,
    JUDGING,
    LIKE_PREPOSITIONS,
    MODALS,
    NOT,
    OPENERS,
    PARTIAL,
    POSSIBLY,
    VERBAL,
    VERDICTS,
)

ELLIPSES = ("...", ". . .", ". .", "…")


def adjective_phrase(tree: Tree, clause: Clause) -> Change | Rejected | None:
    """Contradict an adjective phrase or past participle that is the predicate.

    The first "not" or "never" before its head is removed, or else "not" is put before
    it and its adverbs.  Returns None if the clause has no such predicate.  A clause is
    rejected, in this order, if

    1. the head is a verb in another form, or the clause is not independent or is cut;
    2. the words may be parsed wrongly, or the head only describes its noun;
    3. other words already limit or negate the statement, as "partly" or "only" do.
    """
    tokens = tree.tokens
    head = predicate_head(tree, clause)
    if head is None:
        return None
    form = tree.word(head)
    if form.endswith("ing") and form not in JUDGING:
        return Rejected("present participle")
    is_verb = tokens[head].tag.startswith("VB") and morphology.is_verb(form)
    if is_verb and not morphology.is_participle(form):
        return Rejected("bare verb")
    if tokens[0].tag == "CC" or form in LIKE_PREPOSITIONS:
        return Rejected("no independent clause")
    if tree.text.rstrip("\"'”’ ").endswith(ELLIPSES):
        return Rejected("end left out")  # the predicate may be in what follows
    noun = head_noun(tree, clause.subject)
    is_joined = tree.word(head + 1) in ("and", "or")
    if is_joined and acts(tree, noun, morphology.AGENTS):
        # "Defendant planned and intended to kill".
        return Rejected("past tense or participle")
    if tokens[head].text[:1].isupper() or form == "cited":
        return Rejected("title")
    # Where the predicate begins, with its adverbs.
    start = clause.predicate.start
    if clause.predicate.label == "VP":
        start = head
    while start > clause.subject.start + 1 and tokens[start - 1].tag.startswith("RB"):
        start -= 1
    negations = [i for i in range(start, head) if tree.word(i) in NOT]
    if _is_unclear(tree, clause, start, head):
        return Rejected("structure unclear")
    if not is_predicate(tree, clause, head, bool(negations)):
        return Rejected("noun phrase that states nothing")
    words = tree.words()
    before_head = words[clause.node.start : head]
    if (PARTIAL | POSSIBLY).intersection(before_head):
        return Rejected("adverb of some cases")
    if negations:
        if words[negations[0] + 1] in FOCUS:
            return Rejected("not only")
        if "but" in words[head:]:
            return Rejected("not … but")
        return Change((delete(negations[0]),), "not removed", negated=True)
    if is_limited(tree, head):
        return Rejected("at best")
    if is_negative(tree, clause, head):
        return Rejected("double negation")
    if is_only_if(tree, clause, head):
        return Rejected("only if")
    after = [words[i] for i in outside(clause, head + 1, "SBAR")]
    if "only" in after or FOCUS.intersection(words[clause.subject.start : head]):
        return Rejected("only beside the predicate")
    for i in range(start, head):
        if words[i] == "still":
            edit = replace(i, "no", "longer")
            return Change((edit,), "still to no longer", negated=False)
    return Change((insert(start, "not"),), "not added", negated=False)


def predicate_head(tree: Tree, clause: Clause) -> int | None:
    """Return the adjective or participle of a predicate without a finite verb, or
    None.
    """
    if clause.predicate.label != "ADJP":
        return participle_of(tree, clause)
    for i in range(clause.predicate.start, clause.predicate.end):
        if tree.tokens[i].tag in ("JJ", "JJR", "JJS", "VBN", "VBD"):
            return i
    return None


def _is_unclear(tree: Tree, clause: Clause, start: int, head: int) -> bool:
    """Return whether the parser has probably mistaken the predicate.

    The phrase runs from ``start`` to its head.
    """
    tokens = tree.tokens
    if word_before(tree, start) == "," or not tokens[start - 1].space:
        return True
    subject = tokens[clause.subject.start : start]
    if any(token.lower in NOT for token in subject):
        return True
    if not tokens[start].tag.startswith(("JJ", "RB", "VB", "DT")):
        return True
    if tree.word(start - 1) in BE:
        return True
    return (
        _completes(tree, clause, start)
        or _acts_before(tree, clause, start)
        or _has_later_predicate(tree, head)
    )


def is_predicate(tree: Tree, clause: Clause, head: int, is_negated: bool) -> bool:
    """Return whether a participle or adjective is a predicate.

    If not, it only describes its noun.  It is a predicate if a clause of reason or
    condition follows, or if it states a decision (`VERDICTS`) or a judgement
    (`JUDGING`).  A participle is also a predicate if its subject is a person or body
    that acts: "defendant questioned in jail".  An adjective is also a predicate if it
    ends its clause: "fees excessive".
    """
    tokens = tree.tokens
    token = tokens[head]
    first = tree.word(clause.subject.start)
    if token.lower in DESCRIBING or first in ("all", "each", "every"):
        return False
    after = tokens[head + 1 : clause.node.end]
    if any(word.lower in CONDITIONS for word in after):
        return True
    tag = ""
    if after:
        tag = after[0].tag
    if not token.tag.startswith("VB"):
        if tag in ("", ".", ",", ":"):
            is_described = morphology.is_noun(token.lower)  # "age minimum"
            return not is_described or tokens[head - 1].tag.startswith("RB")
        return token.lower in JUDGING or token.lower.endswith(("able", "ible"))
    has_agent = bool(after) and after[0].lower == "by" and not is_negated
    people = morphology.AGENTS
    if has_agent:
        # "Commission created by Congress" describes an authority.
        people = morphology.AGENTS - morphology.AUTHORITIES
    noun = head_noun(tree, clause.subject)
    is_adjacent = not any(t.tag.startswith("NN") for t in tokens[noun + 1 : head])
    if is_adjacent and morphology.singular(tokens[noun].text) in people:
        return True
    base = morphology.lemma(token.lower, "VBN")
    if base in morphology.PREDICATING:
        # "Found invalid", and not "note held in trust".
        return tag in ("DT", "JJ", "NN", "TO", "VBN")
    return base in VERDICTS | morphology.RECEIVING and not has_agent


def _acts_before(tree: Tree, clause: Clause, end: int) -> bool:
    """Return whether a finite verb stands in what was parsed as the subject.

    "Warden censored newspapers critical of him".
    """
    tokens = tree.tokens
    for i in range(clause.subject.start + 1, end):
        is_verb = tokens[i].tag in ("VBD", "VBZ", "VBP", "MD")
        if tokens[i].tag == "VBN" and acts(tree, i - 1, morphology.AGENTS):
            is_verb = True
        is_below = labels_above(clause.node, i) & {"SBAR", "S"}
        if is_verb and not is_below and tokens[i - 1].space:
            return True
    return False


def _completes(tree: Tree, clause: Clause, start: int) -> bool:
    """Return whether the adjective at ``start`` belongs to a verb such as "make".

    In "factors making relief just" the adjective is not the predicate of the clause.
    """
    for token in tree.tokens[clause.node.start : start]:
        if (
            token.tag == "VBG"
            and morphology.lemma(token.lower, "VBG") in morphology.MAKING
        ):
            return True
    return False


def _has_later_predicate(tree: Tree, head: int) -> bool:
    """Return whether another predicate follows the participle or adjective at ``head``.

    Then the word at ``head`` is a modifier, and the parser mistook it for the
    predicate: "goods seized at the border were …", "aircraft used in commerce held
    subject to tax", "time spent on bond not creditable".  The later predicate may be a
    finite verb outside subordinate clauses, a negation, a word of `DISPOSITIONS` or an
    adjective after a noun.
    """
    # The number of subordinate clauses whose verb has not come yet.  Each verb that may
    # belong to such a clause closes one.
    opened = 0
    for i in range(head + 1, len(tree.tokens)):
        if _opens_clause(tree, i):
            if _next_tag(tree, i) != "VBG":
                opened += 1
        elif not _continues(tree, head, i):
            if _is_later_predicate(tree, i, opened > 0):
                return True
            if _may_close_clause(tree, i):
                # "As" before a participle ("as agreed") has opened no clause.
                opened = max(0, opened - 1)
    return False


def _opens_clause(tree: Tree, i: int) -> bool:
    """Return whether token ``i`` opens a subordinate clause."""
    token = tree.tokens[i]
    if token.tag == "DT":
        return False
    if token.lower in OPENERS:
        return True
    if token.lower == "as":  # "allowed as damages should be small"
        if _next_tag(tree, i) in ("DT", "EX", "NNP", "PRP", "PRP$"):
            return True
        return tree.tokens[i - 1].lower in ("far", "long", "soon")
    return token.lower in ADVERBIAL and "SBAR" in labels_above(tree.root, i)


def _continues(tree: Tree, head: int, i: int) -> bool:
    """Return whether token ``i`` is joined to the word or auxiliary before it.

    Only auxiliaries after the word at ``head`` count.
    """
    is_not = tree.word(i) in NOT
    if tree.word(i - 1) in ("and", "or", "but") and not is_not:
        return True
    if _is_tagged_finite(tree, i):
        return False
    return _follows_auxiliary(tree, max(head + 1, i - 3), i)


def _is_later_predicate(tree: Tree, i: int, is_open: bool) -> bool:
    """Return whether token ``i`` is a predicate or its negation.

    If a subordinate clause is open, a verb or adjective may belong to that clause.
    """
    token = tree.tokens[i]
    before = tree.tokens[i - 1]
    if token.lower in NOT and before.lower not in OPENERS:
        return True
    if is_open:
        return False
    if _is_surely_finite(tree, i):
        return True
    below = labels_above(tree.root, i)
    if token.tag in ("VBD", "VBN"):
        if _is_modifier(tree, i) or before.lower in OPENERS | ADVERBIAL:
            return False
        is_past = token.tag == "VBD" and "SBAR" not in below
        return is_past or morphology.lemma(token.lower, "VBN") in DISPOSITIONS
    if token.tag not in ("JJ", "JJR") or below & {"SBAR", "S"}:
        return False
    return _is_after_noun(tree, i) and token.lower not in LIKE_PREPOSITIONS


def _may_close_clause(tree: Tree, i: int) -> bool:
    """Return whether token ``i`` may be the verb of an open subordinate clause."""
    if _is_surely_finite(tree, i):
        return True
    token = tree.tokens[i]
    if token.tag not in ("VBD", "VBN") or _is_modifier(tree, i):
        return False
    return token.tag == "VBD" or tree.word(i - 1) in OPENERS | ADVERBIAL


def _is_tagged_finite(tree: Tree, i: int) -> bool:
    """Return whether token ``i`` can only be a finite verb (`is_finite`) and is not
    tagged as a base form.
    """
    token = tree.tokens[i]
    return is_finite(token, tree.tokens[i - 1]) and token.tag != "VB"


def _is_surely_finite(tree: Tree, i: int) -> bool:
    """Return whether token ``i`` is a verb that cannot be a participle."""
    token = tree.tokens[i]
    if _is_tagged_finite(tree, i):
        return True
    is_verb = token.tag in ("VBD", "VBN")
    return is_verb and not morphology.is_participle(token.lower)


# Tags before a participle that modifies the noun after it.
_BEFORE_MODIFIERS = ("DT", "JJ", "IN", "PRP$", "POS", "CC", "TO", "HYPH")


def _is_modifier(tree: Tree, i: int) -> bool:
    """Return whether the participle at ``i`` modifies the noun after it."""
    is_before_noun = _next_tag(tree, i).startswith(("NN", "JJ"))
    return is_before_noun and tree.tokens[i - 1].tag in _BEFORE_MODIFIERS


def _next_tag(tree: Tree, i: int) -> str:
    """Return the tag of the token after ``i``; empty at the end."""
    following = tree.tokens[i + 1 : i + 2]
    return following[0].tag if following else ""


def _follows_auxiliary(tree: Tree, start: int, end: int) -> bool:
    """Return whether an auxiliary stands between two tokens."""
    for token in tree.tokens[start:end]:
        if token.tag.startswith(VERBAL) and token.lower in MODALS | BE | HAVE | DO:
            return True
    return False


def _is_after_noun(tree: Tree, i: int) -> bool:
    """Return whether the adjective at ``i`` follows a noun and has none after it."""
    if _next_tag(tree, i) not in ("", "IN", "TO", "WRB", ".", ":"):
        return False
    before = tree.tokens[:i]
    while before[-1].tag.startswith("RB"):
        before = before[:-1]
    return before[-1].tag.startswith(("NN", "CD"))
