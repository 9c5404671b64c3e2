"""The contradiction algorithm: add pivotal negation to a hypothesis, or remove it (paper, A.1.3 and A.1.5).

Rules over a constituency tree, one function a rule, tried in the paper's order on one non-compound
independent clause of one randomly chosen sentence.  They modify the negation of Bilu et al. (2015),
Section 4.2.  Where the released code differs by an evident mistake it is not followed; the list is in
docs/lawngnli.md.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from lextables.papers.lawngnli.hypotheses import morphology
from lextables.papers.lawngnli.hypotheses.tree import (
    Clause,
    Edit,
    Node,
    Token,
    Tree,
    Verbs,
    clauses,
    core,
    delete,
    edited,
    insert,
    path_to,
    replace,
    verbs,
)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A hypothesis that was changed into its contradiction.

    ``rule`` is the function that changed it and ``kind`` what it did; ``negated`` is True if the
    hypothesis had pivotal negation, which is now gone (A.1.3); ``sentence`` is the index of the one
    sentence that was changed.
    """

    text: str
    kind: str
    negated: bool
    sentence: int
    rule: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """A hypothesis that the algorithm does not take, and why; it leaves the data set (A.1.3)."""

    reason: str


@dataclass(frozen=True, slots=True)
class Change:
    """The edits of one rule to one sentence."""

    edits: tuple[Edit, ...]
    kind: str
    negated: bool


Rule = Callable[[Tree, Clause], Change | Rejected | None]
"""Returns a change, a reason to stop, or None if the rule's condition does not hold."""


def contradict(
    sentences: Sequence[Tree], *, example: str, seed: int
) -> Contradiction | Rejected:
    """Return the contradiction of the hypothesis whose sentences are ``sentences``, or why there is none.

    The sentence, and the clause if it is compound, are drawn by a hash of the example's id and the seed,
    so the outcome depends on nothing else, whatever the order or the machine.
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
    change = _reason_to_reject(tree, clause)
    for rule in RULES:
        if change is None:
            change = rule(tree, clause)
            name = rule.__name__
    if change is None:
        return Rejected("no rule applies")
    if isinstance(change, Rejected):
        return change
    following = (
        sentences[chosen + 1].words(sentences[chosen + 1].root)
        if chosen + 1 < len(sentences)
        else ()
    )
    if change.negated and next(
        (word for word in following if word not in _QUOTES), ""
    ) in ("nor", "neither"):
        return Rejected("not … nor")
    texts = [sentence.text for sentence in sentences]
    texts[chosen] = edited(tree, change.edits)
    return Contradiction("".join(texts), change.kind, change.negated, chosen, name)


# Words.

NOT = frozenset({"not", "n't", "n’t", "never"})
_FOCUS = frozenset({"only", "merely", "just", "simply", "solely"})
_NEGATIVE_ADVERBS = frozenset(
    {"hardly", "scarcely", "barely", "rarely", "seldom", "little", "few", "nowhere"}
)
# "Often must" and "often must not" may both be true, and so may "perhaps" and "perhaps not".
_PARTIAL = frozenset({"often", "frequently", "long", "occasionally"})
_POSSIBLY = frozenset(
    "allegedly arguably maybe perhaps possibly presumably purportedly reportedly supposedly".split()
)
# Quantifiers Q for which "Q are" and "Q are not" may both be true; a share only where it ends its phrase,
# "30 percent of voters", and not in "a 30 percent limit".
_WEAK = frozenset({"few", "many", "several", "certain", "various", "numerous", "half"})
_SHARES = frozenset({"percent", "%"})
_LIMITS = frozenset({"best", "least", "most", "worst"})  # after "at"

# Each of the first is contradicted by the second; "anyone" and the like by the same as "someone".
_PRONOUNS = {
    "someone": "no one",
    "anyone": "no one",
    "somebody": "nobody",
    "anybody": "nobody",
    "something": "nothing",
    "anything": "nothing",
    "nobody": "somebody",
    "nothing": "something",
    "none": "some",
}
_NEGATIVE_PRONOUNS = frozenset({"nobody", "nothing", "none"})
_NEGATIVES = _NEGATIVE_PRONOUNS | {"no", "neither", "nor", "nowhere"}
_QUOTES = frozenset({'"', "'", "''", "``", "`", "“", "”", "‘", "’", "[", "]"})
# Words that occur only under a negation, and their replacements without it; None: dropped.
_UNDER_NEGATION = {
    "any": "some",
    "anyone": "someone",
    "anybody": "somebody",
    "anything": "something",
    "until": "before",
    "yet": "already",
    "ever": None,
}
# The other way round; "before" says the same under a negation as "until".
_ASSERTED = {
    new: old for old, new in _UNDER_NEGATION.items() if new not in (None, "before")
}
# After these words "any" means whichever, with a negation or without.
_WHICHEVER = frozenset({"without", "than", "if", "before", "as"})

_VERBAL = ("VB", "MD")
_COMPLEMENTS = frozenset({"NP", "ADJP", "UCP"})
# Words that may be between a verb and its object.
_BESIDE = ("ADVP", "RB", ",", "PRN", "PRT", "RP")
_BE = frozenset(
    {"be", "am", "is", "are", "was", "were", "been", "being", "'s", "'re", "'m"}
)
_HAVE = frozenset({"have", "has", "had", "having"})
_DO = frozenset({"do", "does", "did"})
_MODALS = frozenset(
    {
        "can",
        "could",
        "may",
        "might",
        "must",
        "shall",
        "should",
        "will",
        "would",
        "cannot",
        "ought",
    }
)
_AUXILIARIES = _MODALS | _BE | _HAVE | _DO
_REDUCED = {"ca": "can", "wo": "will", "sha": "shall"}
_FINITE = _MODALS | {"am", "is", "are", "was", "were"}
# Verbs with which "may" means possibility, not permission: "may not" does not deny that.
_STATES = frozenset(
    "affect appear arise be become cause constitute contain create depend deter encourage exist facilitate "
    "give have impair imply include increase indicate involve justify lead mean occur pose present prevent "
    "raise reduce reflect remain require result seem suggest support turn undermine violate warrant".split()
)
_NOMINATIVE = frozenset("he i it she they we".split())
# Names of these are no one's who acts.
_LAWS = frozenset(
    "act amendment article bill clause code constitution convention doctrine exemption form order "
    "proviso rule section statute table title treaty".split()
)
_COLLECTIVES = frozenset(
    "counsel data half majority media minority number people personnel police rest staff".split()
)
_TIMES = frozenset(
    "day earlier last later month next once term this time today twice week year yesterday".split()
)
_MEASURES = frozenset(
    "days feet foot hours inches miles months percent times weeks yards years".split()
)
# Adverbs that link a sentence to the one before; a negation comes after them, before other adverbs.
_LINKS = frozenset(
    "accordingly consequently hence here however instead likewise moreover nevertheless nonetheless now "
    "otherwise similarly then there therefore thus".split()
)
# Adverbs of a whole sentence; a negation comes after them.
_SENTENCE_ADVERBS = frozenset(
    "apparently certainly clearly evidently likely obviously plainly probably surely undoubtedly "
    "unquestionably".split()
)
_SUBORDINATORS = frozenset(
    "although because if that though unless when where whether which while who".split()
)
_CONDITIONS = frozenset(
    "although because if once though unless until when where while".split()
)
_ADVERBIAL = frozenset(
    "after although as because before if since so though unless until when where while".split()
)
# Words that open a clause of their own with a finite verb.
_OPENERS = frozenset(
    "although because how if once that though unless what when whenever where whereas whether which "
    "while who whom whose why".split()
)
# Verbs by whose participle headlines say what a court or an agency did.
_DISPOSITIONS = frozenset(
    "admit affirm allow approve award ban bar convict deem deny disapprove dismiss disqualify enforce "
    "enjoin entitle exclude exempt find forbid grant hold impose invalidate justify limit order "
    "overrule permit preclude presume prohibit protect reject remand require reverse set strike "
    "suppress suspend sustain toll uphold vacate violate void waive".split()
)
# Words after "no" in phrases that negate the verb: "in no way", "by no means".
_MANNERS = frozenset(
    {"way", "time", "event", "case", "means", "circumstances", "sense", "respect"}
)
# Words in "-ing" that may start an adverbial before a clause.
_PREPOSITIONS = frozenset(
    "according assuming barring concerning considering during following notwithstanding pending "
    "regarding".split()
)
# How parentheticals start that say what a court did; parsers take these verbs for adjectives or nouns too.
_REPORTS = frozenset(
    "affirming allowing applying approving arguing awarding citing collecting concluding construing "
    "declining denying describing discussing distinguishing enforcing excluding explaining finding granting "
    "holding interpreting invalidating listing noting observing overruling permitting providing quoting "
    "reasoning recognizing refusing rejecting remanding requiring reversing stating striking suggesting "
    "summarizing surveying sustaining upholding vacating".split()
)
# Adjectives that start a prepositional phrase: "date relative to filing deadline".
_LIKE_PREPOSITIONS = frozenset(
    {"relative", "prior", "subsequent", "pursuant", "due", "such", "same"}
)


# Verbs of which a clause with "that" may be the object, other words between.
_STATING = frozenset(
    "acknowledge add admit agree allege argue assert assume believe claim conclude contend decide declare "
    "determine emphasize ensure establish explain feel find hold imply indicate insist know make mean note "
    "observe order point prove provide realize reason recognize require rule say see show state stress "
    "suggest think understand".split()
)
# Participles that state a decision; others only describe: "money paid for a grove".
_VERDICTS = _DISPOSITIONS - {
    "find",
    "impose",
    "limit",
    "set",
    "strike",
    "toll",
} | frozenset(
    "adjudge authorize bind construe consider declare disallow estop foreclose immunize moot need permit "
    "pre-empt preempt read reinstate revoke satisfy warrant".split()
)
# Adjectives that judge; of others a phrase may only describe: "provisions consistent with the Act".
_JUDGING = frozenset(
    "adequate appropriate binding compelling constitutional controlling discretionary effective enough "
    "excessive exempt guilty immaterial immune improper inadequate inappropriate ineffective insufficient "
    "invalid irrelevant lawful mandatory moot necessary overbroad premature proper sufficient unclear "
    "unconstitutional unlawful unnecessary valid void".split()
)
_DESCRIBING = frozenset(
    "attributable comparable payable possible right subject traceable".split()
)


def _auxiliary(word: str, following: str) -> bool:
    """Return whether a verb is the auxiliary of a verb with the tag ``following``."""
    if word in _BE:
        return following in ("VBN", "VBG", "VBD", "VB")
    if word in _HAVE:
        return following in ("VBN", "VBD")
    if word in _DO:
        return following in (
            "VB",
            "VBP",
            "VBN",
            "VBD",
        )  # "did not set aside" is often tagged so
    return word in _MODALS | {"need"} | _REDUCED.keys()


def _cased(model: str, words: str) -> tuple[str, ...]:
    """Return ``words``, the first with a capital or with a letter in brackets if ``model`` has one."""
    bracketed = model[:1] == "[" and model[2:3] == "]"
    first = words[0].upper() if model[bracketed : bracketed + 1].isupper() else words[0]
    return tuple(
        (f"[{first}]" * bracketed + first * (not bracketed) + words[1:]).split(" ")
    )


def _above(node: Node, i: int) -> set[str]:
    """Return the labels of the constituents of ``node`` that hold token ``i``."""
    return {inner.label for inner in path_to(node, i)[1:-1]}


def _outside(clause: Clause, start: int, *below: str) -> list[int]:
    """Return the token indices from ``start`` to the clause's end that no node labelled ``below`` holds."""
    return [
        i
        for i in range(start, clause.node.end)
        if not _above(clause.node, i) & set(below)
    ]


# Which sentences and clauses are refused.


def _no_clause(tree: Tree) -> Rejected:
    if tree.root.label == "UNPARSED":
        return Rejected("sentence not parsed")
    node = tree.root
    while len(node.children) == 1:
        node = node.children[0]
    return Rejected(
        "verb phrase without a subject"
        if node.label == "VP"
        else "no independent clause"
    )


def _reason_to_reject(tree: Tree, clause: Clause) -> Rejected | None:
    """Return why the clause must not be changed, or None."""
    tokens = tree.tokens
    subject = core(clause.subject)
    start, end = clause.subject.start, clause.subject.end
    before = tokens[start - 1].lower if start else ""
    if (
        next(
            (token.text for token in reversed(tokens) if token.text not in _QUOTES), ""
        )
        == "?"
    ):
        return Rejected("question")
    if tree.text.count("[") > tree.text.count("]"):
        return Rejected("bracket never closed")  # damaged print, as "[NJothing"
    if tokens[0].tag == "CC" and start > 1 and tokens[0].lower in ("and", "or", "but"):
        return Rejected("no independent clause")
    opening = next((token.lower for token in tokens if token.text not in _QUOTES), "")
    joined = before in ("and", "or") and opening in _CONDITIONS  # "once A and B, C"
    if before in _SUBORDINATORS | {"absent"} or opening == "whether" or joined:
        return Rejected("subordinate clause")
    if before in _AUXILIARIES:
        return Rejected("inverted clause")
    if tokens[0].lower == "not" and len(tokens) > 1 and tokens[1].lower in _FOCUS:
        return Rejected("not only")  # of two clauses: "not only did he err, but …"
    if any(
        token.tag in ("WDT", "WP", "WRB")
        for token in tokens[subject.start : subject.end]
    ):
        return Rejected("relative or interrogative subject")
    words = tree.words(subject)
    counted = words[0] == "only" and any(
        tokens[i].tag == "CD" for i in range(subject.start, subject.end)
    )
    if (
        _WEAK & set(words)
        or words[-1] in _SHARES
        or words[:3] == ("one", "or", "more")
        or counted
    ):
        return Rejected("weak quantifier in the subject")
    if any(
        tokens[i].lower in NOT
        and not _above(clause.subject, i) & {"SBAR", "S", "VP", "PP"}
        for i in range(start + 1, end)
    ) or (before in NOT and start > 1 and tokens[start - 2].text == ","):
        return Rejected("contrast in the subject")
    if words[0] in _FOCUS or (start and tokens[start - 1].lower in _FOCUS):
        return Rejected("only in the subject")
    if end < clause.predicate.start and tokens[clause.predicate.start - 1].lower in (
        "and",
        "or",
    ):
        return Rejected("verb phrase without a subject")
    if _starts_as_report(tree, clause):
        return Rejected("verb phrase without a subject")
    if _after_noun_phrase(tree, start) or any(
        "exception" in token.lower for token in tokens[:start]
    ):
        return Rejected("structure unclear")  # "with one exception, none"
    if _has_open_subordinator(tree, clause.predicate.start):
        return Rejected("subordinate clause")
    return None


def _after_noun_phrase(tree: Tree, start: int) -> bool:
    """Return whether a noun stands right before the subject: "nothing we say precludes relief".

    The clause is then a relative one without "that".
    """
    before = tree.tokens[:start]
    while before and before[-1].lower in _QUOTES:
        before = before[:-1]
    if not before or not before[-1].tag.startswith(("NN", "PRP", "DT")):
        return False
    commas = [i for i, token in enumerate(before) if token.text in (",", ";", ":")]
    return not any(
        token.tag in ("IN", "TO") for token in before[commas[-1] + 1 if commas else 0 :]
    )


def _has_open_subordinator(tree: Tree, end: int) -> bool:
    """Return whether a subordinator before token ``end`` has no verb yet.

    The verb at ``end`` is then that of the subordinate clause: "the fact that a firm performs a function".
    """
    tokens, opened, opener = tree.tokens, 0, 0
    for i in range(end):
        token, following, before = tokens[i], tokens[i + 1], tokens[max(0, i - 1)]
        opens = token.lower in _OPENERS and token.tag in (
            "IN",
            "WDT",
            "WP",
            "WP$",
            "WRB",
        )
        opens |= token.lower == "that" and before.tag == "VBG"
        if opens or (
            token.lower == "as" and before.lower in ("far", "insofar", "long", "soon")
        ):
            # "Where appropriate", "while waiting", "whether or not".
            noun = i + 2 < len(tokens) and tokens[i + 2].tag.startswith(
                "NN"
            )  # "when exhausted claims involve"
            elliptic = (
                following.tag in ("JJ", "TO", "VBG", "VBN")
                and not noun
                and token.lower != "that"
            )
            opened += not elliptic and following.lower != "or"
            opener = i
        elif token.text == "," and i > opener + 1:
            opened = 0
        elif opened and (token.tag in ("VBD", "VBN") or _is_finite(token, before)):
            opened -= 1
    return opened > 0


def _starts_as_report(tree: Tree, clause: Clause) -> bool:
    """Return whether the sentence is a verb phrase, as "noting, in dictum, that …", and the clause a part."""
    tokens, start = tree.tokens, clause.subject.start
    first, second = tokens[0].lower, tokens[1].lower if len(tokens) > 1 else ""
    if not first.endswith("ing") or first in _PREPOSITIONS or second == "of":
        return False
    if second == "," or "that" in [token.lower for token in tokens[1:start]]:
        return True
    if start and tokens[start - 1].text == ",":
        return False
    if (
        first in _REPORTS
        and tokens[start - 1].lower in _QUOTES
        and "," in [t.text for t in tokens[:start]]
    ):
        return True  # noting of a clause, "[w]hatever is said"
    verb_first = tokens[0].tag == "VBG" and (
        start > 0 or _participle_of(tree, clause) is not None
    )
    return verb_first or first in _REPORTS


# Rule 1.


def indefinite_pronoun(tree: Tree, clause: Clause) -> Change | Rejected | None:
    """Change the first contradictable indefinite pronoun of the subject (A.1.5, item 1).

    Pronouns and the determiners of the same form: "some", "any" and "no", "someone" and the like,
    "either … or" and "neither … nor", "not all".  Only the noun phrase's own words count, not those of
    the phrases and clauses that follow its noun: "persons with some interest" says nothing of "some
    persons".
    """
    tokens = tree.tokens
    base = core(clause.subject)
    joined = base is not clause.subject and any(
        child.label == "CC" for child in clause.subject.children
    )
    own = [
        i
        for i in range(base.start, base.end)
        if not _above(base, i) & {"PP", "SBAR", "S", "VP", "PRN"}
    ]
    # Parsers often leave these words outside the noun phrase.
    before = clause.subject.start - 1
    if before >= clause.node.start and tokens[before].lower in (
        "neither",
        "either",
        "not",
        "no",
    ):
        own = [before, *own]
    if before > 0 and (tokens[before - 1].lower, tokens[before].lower) == (
        "not",
        "only",
    ):
        return Rejected("not only")
    group = _group(tree, clause)
    if group is not None and tokens[group.first - 1].lower == "to":
        return Rejected("bare verb")  # "no power in courts to act"
    # "No liability for sales after its interest fell", of which the parser puts the subordinator elsewhere.
    fragment = (
        group is not None
        and clause.node.label == "NP"
        and tokens[group.first].tag == "VBD"
    )
    if group is None or fragment or _reading(tree, clause, group) is Reading.PARTICIPLE:
        head = _predicate_head(tree, clause)
        if (
            head is None
            or tokens[head].tag == "VBG"
            or not _is_predicate(tree, clause, head, True)
        ):
            return None
    for i in sorted({clause.subject.start, *own}):
        word = tokens[i].text
        following = tokens[i + 1].lower if i + 1 < len(tokens) else ""
        match tokens[i].lower:
            case "neither" | "either" as word_ if i == before and not _joined(
                tree, i, clause.subject.end
            ):
                return Rejected(f"{word_} of two clauses")
            case "neither" | "either" if tokens[i + 1].tag.startswith(_VERBAL):
                return Rejected("inverted clause")
            case "neither" | "either":
                return _either(tree, clause, i, clause.subject.end)
            case "no" | "none" | "nobody" | "nothing" if joined:
                return Rejected("negation in a coordinated subject")
            case "no" if _is_comparative(tree, i + 1):
                return Rejected("comparison in the subject")
            case "no" | "any" if following in ("doubt", "wonder", "number"):
                return Rejected(f"{tokens[i].lower} {following}")
            case "something" | "anything" | "some" | "any" if (
                i and tokens[i - 1].lower == "even"
            ):
                return Rejected("even some")
            case "none" if (
                following != "of" and group and _is_singular_verb(tokens[group.first])
            ):
                return Rejected("none alone")
            case "no" if following == "one":
                edit = Edit(i, i + 2, _cased(word, "someone"))
            case "no":
                edit = replace(i, *_cased(word, "some"))
            case "none" if (
                following == "of" and group and _is_singular_verb(tokens[group.first])
            ):
                edit = replace(i, *_cased(word, "one"))
            case "none" | "nobody" | "nothing" as negative:
                edit = replace(i, *_cased(word, _PRONOUNS[negative]))
            case "not" if following in _FOCUS:
                return Rejected("not only")
            case "not" if following == "guilty":
                continue
            case "not" if i > base.start:
                return Rejected("contrast in the subject")
            case "not":
                edit = Edit(i, i + 2, _cased(word, tokens[i + 1].text))
                return _with_repairs(
                    tree, clause, i, edit, "not in the subject removed"
                )
            case "some" if _is_about(tree, i):
                continue
            case "some" if "others" in [token.lower for token in tokens[i:]] or (
                i and tokens[i - 1].lower in _FOCUS
            ):
                return Rejected("some and others")
            case "some" | "any" if i > base.start and tokens[i - 1].tag.startswith(
                "NN"
            ):
                return Rejected("structure unclear")
            case "some" | "any" if _holds_clause(tree, clause.subject):
                return Rejected("structure unclear")
            case "some" | "any" if not joined:
                edit = replace(i, *_cased(word, "no" if i + 1 < base.end else "none"))
                return _negative_subject(tree, clause, edit)
            case positive if positive in _PRONOUNS and not joined:
                edit = replace(i, *_cased(word, _PRONOUNS[positive]))
                return _negative_subject(tree, clause, edit)
            case _:
                continue
        return _with_repairs(
            tree, clause, clause.subject.end - 1, edit, "negative subject removed"
        )
    return None


def _with_repairs(
    tree: Tree, clause: Clause, i: int, edit: Edit, kind: str
) -> Change | Rejected:
    """Return the change that removes a negation by ``edit``, with what that requires after token ``i``."""
    repairs = _without_negation(tree, clause, i)
    return (
        repairs
        if isinstance(repairs, Rejected)
        else Change((edit, *repairs), kind, True)
    )


def _holds_clause(tree: Tree, subject: Node) -> bool:
    """Return whether an article or pronoun follows a noun: "any damages the complainant can prove"."""
    tokens = tree.tokens
    return any(
        tokens[i].tag in ("DT", "PRP", "PRP$") and tokens[i - 1].tag.startswith("NN")
        for i in range(subject.start + 1, subject.end)
    )


def _is_singular_verb(token: Token) -> bool:
    return token.tag == "VBZ" or token.lower == "was"


def _joined(tree: Tree, i: int, end: int) -> bool:
    return bool({"or", "nor"} & {token.lower for token in tree.tokens[i:end]})


def _either(tree: Tree, clause: Clause, i: int, end: int) -> Change | Rejected:
    """Turn "neither … nor" into "either … or", or back, between token ``i`` and ``end``."""
    negated = tree.tokens[i].lower == "neither"
    old_word, new_word, joiner, new_joiner = (
        ("neither", "either", "nor", "or")
        if negated
        else ("either", "neither", "or", "nor")
    )
    joiners = [j for j in range(i + 1, end) if tree.tokens[j].lower == joiner]
    if len(joiners) > 1:
        return Rejected(f"{old_word} with several alternatives")
    repairs = _without_negation(tree, clause, i) if negated else ()
    if isinstance(repairs, Rejected):
        return repairs
    edits = (
        replace(i, *_cased(tree.tokens[i].text, new_word)),
        *(replace(j, new_joiner) for j in joiners),
    )
    return Change((*edits, *repairs), f"{old_word} to {new_word}", negated)


def _negative_subject(tree: Tree, clause: Clause, edit: Edit) -> Change | Rejected:
    """Return the change to a negative subject, refused before a negated verb ("no rights are not waived")."""
    group = _group(tree, clause)
    if group is not None and _negation(tree, clause, group) is not None:
        return Rejected("double negation")
    end = clause.subject.end
    if _contrasted(tree, range(end, clause.node.end)):
        return Rejected("contrasted with a negation")
    return Change(
        (edit, *_under_negation(tree, clause, end, end - 1)), "negative subject", False
    )


# Rule 2.


def verb_phrase(tree: Tree, clause: Clause) -> Change | Rejected | None:
    """Contradict the first verb phrase: remove its negation, or else add one (A.1.5, item 2).

    A phrase that starts with a participle has no finite verb and is left to rule 3.
    """
    group = _group(tree, clause)
    reading = None if group is None else _reading(tree, clause, group)
    if group is None or reading is Reading.PARTICIPLE:
        return None
    if reading is Reading.UNCLEAR:
        return Rejected("past tense or participle")
    tokens, first = tree.tokens, group.first
    later = _later_finite(tree, clause, group, _FINITE | _HAVE | _DO)
    if (
        later
        or _verb_in_subject(tree, clause)
        or _verb_as_noun(tree, range(group.main + 1, clause.node.end))
    ):
        return Rejected("structure unclear")
    commas = sum(token.text == "," for token in tokens[clause.subject.start : first])
    if tokens[first - 1].lower in ("and", "or") or (
        tokens[first - 1].text == "," and commas == 1
    ):
        return Rejected("structure unclear")
    # A past tense joined to a participle is a participle too, of a reduced relative clause.
    tags = [tree.tokens[i].tag for i in (group.first, *group.peers)]
    if len(group.chain) == 1 and tags[0] == "VBD" and "VBN" in tags:
        return Rejected("structure unclear")
    negation = _negation(tree, clause, group)
    if negation is not None:
        return _remove(tree, clause, group, *negation)
    return _add(tree, clause, group)


def _group(tree: Tree, clause: Clause) -> Verbs | None:
    """Return the verbs of the predicate, put right where parsers commonly err in this style."""
    if clause.predicate.label != "VP":
        return None
    group = verbs(tree, clause.predicate, _auxiliary, NOT)
    if group is None:
        return None
    before = tree.tokens[group.first - 1].lower
    if before in _MODALS and tree.tokens[group.first].tag in ("VB", "VBP"):
        # A modal that was taken for a noun: "the danger of falling overboard can make …".
        return Verbs((group.first - 1, *group.chain), main_peers=group.peers)
    if _is_reduced(tree, clause, group):
        # A reduced relative that was taken for the predicate: "inmate subjected to discipline is entitled".
        later = _later_finite(tree, clause, group, _FINITE)
        between = (
            {token.lower for token in tree.tokens[group.main : later[0]]}
            if later
            else set()
        )
        if later and not between & (
            _SUBORDINATORS | {"after", "before", "since", "until"}
        ):
            return Verbs((later[0],))
    return group


def _is_reduced(tree: Tree, clause: Clause, group: Verbs) -> bool:
    """Return whether the verb may be a participle, so that a finite verb after it is the predicate."""
    reading = _reading(tree, clause, group)
    form = tree.tokens[group.first].text
    both = (
        morphology.is_past(form)
        and morphology.is_participle(form)
        and form.lower() not in _HAVE
    )
    acts = _acts(tree, _head_noun(tree, clause.subject), morphology.AGENTS)
    return reading is not Reading.FINITE or (
        both and len(group.chain) == 1 and not acts
    )


def _later_finite(
    tree: Tree, clause: Clause, group: Verbs, words: frozenset[str]
) -> list[int]:
    """Return where those of the finite verbs ``words`` follow, in no clause below and in no coordination."""
    verb_places = {*group.chain, *group.peers, *group.main_peers}
    return [
        i
        for i in _outside(clause, group.main + 1, "SBAR", "S", "PRN")
        if tree.tokens[i].lower in words
        and tree.tokens[i].tag in ("MD", "VBZ", "VBP", "VBD")
        and i not in verb_places
    ]


def _verb_in_subject(tree: Tree, clause: Clause) -> bool:
    """Return whether a finite verb is parsed as the subject: "FAA pre-empts", "Amendment bars suit"."""
    base = core(clause.subject)
    return any(
        token.tag in ("NNS", "NNPS")
        and (
            _is_finite(token, before)
            or before.lower in ("amendment", "clause", "section")
        )
        and morphology.is_verb(token.lower)
        for before, token in pairwise(tree.tokens[base.start : base.end])
    )


def _verb_as_noun(tree: Tree, places: range) -> bool:
    """Return whether a finite verb was taken for a noun: "company engaged in designing plans sues"."""
    tokens = tree.tokens
    return any(
        tokens[i].tag in ("NNS", "NNPS")
        and _is_finite(tokens[i], tokens[i - 1])
        and tokens[i - 1].lower not in _OPENERS
        for i in places
    )


class Reading(Enum):
    """What the first verb of a predicate is."""

    FINITE = "a finite verb"
    PARTICIPLE = "a participle without an auxiliary"
    UNCLEAR = "a past tense or a participle"


def _reading(tree: Tree, clause: Clause, group: Verbs) -> Reading:
    """Return whether the phrase has a finite verb, or is a participle as in "conviction reversed".

    Taggers take many participles of such headlines for past tenses, and some past tenses for participles.
    So the form decides where it can be one of the two only; else what the verb has after it, an agent,
    an object or none; else, for verbs that need no object, whether the subject is one that acts.
    """
    token = tree.tokens[group.first]
    if token.lower in ("having", "being"):
        return Reading.PARTICIPLE
    if len(group.chain) > 1 or token.lower in _BE | _HAVE | _DO:
        return Reading.FINITE
    if token.tag not in ("VBN", "VBD", "VBG"):
        return Reading.FINITE
    head = _head_noun(tree, clause.subject)
    nominative = tree.tokens[head].lower in _NOMINATIVE
    past, participle = (
        morphology.is_past(token.lower),
        morphology.is_participle(token.lower),
    )
    if not past and not participle:
        present = (
            morphology.finite_tag(token.lower, token.tag) == "VBZ"
            or tree.tokens[head].lower in _NOMINATIVE
        )
        return Reading.FINITE if present and token.tag != "VBG" else Reading.PARTICIPLE
    if not participle or nominative:
        return Reading.FINITE
    if not past:
        return Reading.PARTICIPLE
    return _past_reading(tree, clause, group.first, head)


def _past_reading(tree: Tree, clause: Clause, verb: int, head: int) -> Reading:
    """Return the reading of a form that can be past tense and participle; ``head`` is the subject's noun."""
    base = morphology.lemma(tree.tokens[verb].lower, "VBD")
    siblings = path_to(clause.node, verb)[-2].children
    after = [
        node
        for node in siblings
        if node.start > verb
        and (node.label not in _BESIDE or tree.tokens[node.start].text == "[")
        and not (node.is_leaf and tree.tokens[node.start].lower in _QUOTES)
    ]
    following = after[0] if after else None
    word = _first_word(tree, following)
    if base in morphology.INTRANSITIVE:
        return Reading.FINITE
    if word == "by":
        return Reading.PARTICIPLE
    if word.removeprefix("up") == morphology.GOVERNING.get(base) and tree.tokens[
        following.start + 1
    ].tag not in ("IN", "TO"):
        return Reading.FINITE
    label = following.label if following is not None else ""
    bare = (
        following is not None
        and tree.tokens[min(following.start + 1, clause.node.end - 1)].tag == "VB"
    )
    if label == "PRN" or (
        label in ("JJ", "VBN")
        and after[1:]
        and after[1].label.startswith(("JJ", "NN", "NP"))
    ):
        label = "NP"
    elif label == "VP" and tree.tokens[following.start].tag == "VB":
        label = "NP"  # "exception barred claim", a noun taken for a verb
    elif word == "to" and label in ("TO", "VP") and bare:
        label = "S"
    acts, grants = (
        _acts(tree, head, morphology.AGENTS),
        _acts(tree, head, morphology.AUTHORITIES),
    )
    tagged = tree.tokens[verb].tag
    if _is_object(tree, following, label):
        if word.endswith(("self", "selves")):
            return Reading.FINITE
        if base in morphology.PREDICATING:
            return (
                Reading.FINITE
                if grants
                else Reading.UNCLEAR
                if acts
                else Reading.PARTICIPLE
            )
        if base in morphology.RECEIVING:
            return (
                Reading.FINITE
                if grants
                else Reading.PARTICIPLE
                if acts
                else Reading.UNCLEAR
            )
        if base in morphology.PAYING:
            return Reading.FINITE if tagged == "VBD" else Reading.UNCLEAR
        return Reading.FINITE
    if label in ("ADJP", "JJ"):
        return Reading.FINITE if base in morphology.LINKING else Reading.PARTICIPLE
    opened = tree.tokens[following.start].tag if following is not None else ""
    if (
        label in ("S", "VP", "VBN")
        and opened in ("JJ", "VBN")
        and base in morphology.PREDICATING
    ):
        return Reading.PARTICIPLE  # "ordinance found authorized"
    attempts = base in morphology.ATTEMPTING and any(
        _first_word(tree, node) == "to" for node in after[1:]
    )
    if attempts and label == "PP":
        return Reading.FINITE  # "Congress endeavored, in the Act, to correct it"
    if label == "S" and word == "to":
        meant = acts and base in morphology.INTENDING
        return (
            Reading.FINITE
            if meant or base in morphology.ATTEMPTING
            else Reading.PARTICIPLE
        )
    if (
        label in ("S", "SBAR", "VP")
        and base in morphology.RECEIVING
        and word not in _ADVERBIAL | {"that", "to"}
    ):
        return Reading.PARTICIPLE if acts and not grants else Reading.UNCLEAR
    if label in ("S", "SBAR") and word not in _ADVERBIAL | {"for"}:
        reported = (
            base in morphology.TELLING and word in ("that", "whether") and not grants
        )
        return Reading.PARTICIPLE if reported else Reading.FINITE
    if any(
        node.label == "SBAR" and tree.tokens[node.start].lower == "that"
        for node in after
    ):
        return (
            Reading.FINITE if base in _STATING else Reading.UNCLEAR
        )  # "impressed with the idea that"
    if _object_later(tree, after):
        return Reading.UNCLEAR
    if base in morphology.ABSOLUTE:
        return Reading.FINITE if acts else Reading.PARTICIPLE
    # A past tense without the object that its verb needs is the tagger's mistake, but only in a headline.
    full = _is_full_style(tree, clause.subject)
    return Reading.UNCLEAR if full and tagged == "VBD" else Reading.PARTICIPLE


def _first_word(tree: Tree, node: Node | None) -> str:
    """Return the lower-cased first word of ``node``, quotation marks skipped; empty for None."""
    words = tree.words(node) if node is not None else ()
    return next((word for word in words if word not in _QUOTES), "")


def _head_noun(tree: Tree, subject: Node) -> int:
    """Return the last noun or pronoun of the subject's core."""
    base = core(subject)
    nouns = (
        i
        for i in reversed(range(base.start, base.end))
        if tree.tokens[i].tag.startswith(("NN", "PRP"))
    )
    return next(nouns, base.end - 1)


def _acts(tree: Tree, head: int, agents: frozenset[str]) -> bool:
    """Return whether the noun at ``head`` is one of ``agents``, or the name of one: a capital, and no law."""
    token = tree.tokens[head]
    noun = morphology.singular(token.text)
    named = (
        token.tag.startswith("NNP") and token.text[:1].isupper() and noun not in _LAWS
    )
    return noun in agents or (named and (head > 0 or noun == token.lower))


def _is_object(tree: Tree, node: Node | None, label: str) -> bool:
    """Return whether ``node``, with its correct label, is a noun phrase and not a measure of time."""
    if node is None:
        return False
    first = tree.tokens[node.start]
    amount = label == "ADJP" and (
        first.tag == "CD" or first.lower in ("less", "more", "fewer")
    )
    return (label.startswith("NN") or label == "NP" or amount) and not _is_time(
        tree, node
    )


def _is_time(tree: Tree, phrase: Node) -> bool:
    """Return whether a phrase says when or how long: "ten days", "last term"."""
    words = set(tree.words(phrase))
    return words <= _TIMES or (
        tree.tokens[phrase.start].tag == "CD" and bool(words & _MEASURES)
    )


def _object_later(tree: Tree, after: Sequence[Node]) -> bool:
    """Return whether a noun phrase follows a prepositional one: "assigned to wife one-half interest"."""
    return any(
        before.label == "PP" and node.label == "NP" and not _is_time(tree, node)
        for before, node in pairwise(after)
    )


def _is_full_style(tree: Tree, subject: Node) -> bool:
    """Return whether the subject has the article or the like that headlines leave out."""
    first = tree.tokens[core(subject).start]
    return first.tag in ("DT", "PDT", "PRP$", "EX") and first.lower not in (
        "no",
        "all",
        "any",
    )


def _negation(tree: Tree, clause: Clause, group: Verbs) -> tuple[str, int] | None:
    """Return the kind of the verb's negation and its token, or None.

    It is next to the verbs, or after the main verb with at most adverbs between.
    """
    tokens, end = tree.tokens, clause.node.end
    for i in range(clause.subject.end, group.main):
        above, word = _above(clause.node, i), tokens[i].lower
        if above - {"VP", "ADVP", "CONJP", "PP", "NP"}:
            continue
        if above & {"PP", "NP"}:
            if word == "no":
                return "no phrase", i
        elif word in NOT and tokens[i - 1].lower != "or":
            return "not", i
        elif word == "no" and tokens[i + 1].lower == "longer":
            return "no longer", i
        elif word == "neither":
            return "neither", i
    i = group.main + 1
    # "There is, of course, no reason".
    closing = next(
        (j for j in range(i + 1, min(i + 5, end)) if tokens[j].text == ","), None
    )
    if i < end and tokens[i].text == "," and closing is not None:
        i = closing + 1
    while i < end and (
        tokens[i].lower in _QUOTES
        or (
            tokens[i].tag.startswith("RB")
            and tokens[i].lower not in NOT | {"no", "neither"}
        )
    ):
        i += 1
    if i >= end:
        return None
    word, following = tokens[i].lower, tokens[i + 1].lower if i + 1 < end else ""
    if word in NOT:
        return "not", i
    if (
        tokens[i].tag == "IN"
        and following == "no"
        and tokens[min(i + 2, end - 1)].lower in _MANNERS
    ):
        return "no phrase", i + 1
    if _above(clause.node, i) & {"SBAR", "S"}:
        return None
    if word == "no":
        kind = (
            "no longer"
            if following == "longer"
            else "no comparative"
            if _is_comparative(tree, i + 1)
            else ""
        )
        return kind or "no object", i
    if word == "neither":
        return "neither", i
    return ("negative pronoun", i) if word in _NEGATIVE_PRONOUNS else None


def _is_comparative(tree: Tree, i: int) -> bool:
    if i >= len(tree.tokens):
        return False
    words = ("different", "less", "more", "fewer", "better")
    than = "than" in [token.lower for token in tree.tokens[i + 1 : i + 3]]
    return than or tree.tokens[i].tag in ("JJR", "RBR") or tree.tokens[i].lower in words


def _remove(
    tree: Tree, clause: Clause, group: Verbs, kind: str, i: int
) -> Change | Rejected:
    """Return the change that takes away the negation at token ``i``."""
    tokens = tree.tokens
    word, first = tokens[i].lower, tokens[group.first].lower
    if kind == "neither":
        return _either(tree, clause, i, clause.node.end)
    if "nor" in [token.lower for token in tokens[i + 1 :]]:
        return Rejected("not … nor")
    outside = _outside(clause, i + 1, "SBAR")
    if any(
        tokens[j].lower in NOT and tokens[j - 1].lower in _AUXILIARIES for j in outside
    ):
        return Rejected("second negation")
    for before, token, following in zip(
        tokens[i:], tokens[i + 1 :], tokens[i + 2 :], strict=False
    ):
        if (
            token.lower == "but"
            and following.lower != "for"
            and before.lower not in ("nothing", "anything")
        ):
            return Rejected("not … but")
    if "or" in group.joiners:
        return Rejected("alternative verb phrases")
    if "alone" in [token.lower for token in tokens[group.main + 1 : group.main + 3]]:
        return Rejected("not only")  # "does not turn alone on it"
    repairs = _without_negation(tree, clause, i)
    if isinstance(repairs, Rejected):
        return repairs
    match kind:
        case "no longer":
            return Change((Edit(i, i + 2, ("still",)),), "no longer to still", True)
        case "no comparative":
            return Change((delete(i),), "comparative no removed", True)
        case "negative pronoun":
            edit = replace(i, *_cased(tokens[i].text, _PRONOUNS[word]))
            return Change((edit, *repairs), "negative object removed", True)
        case "no phrase" if (tokens[i - 1].lower, tokens[i + 1].lower) == (
            "by",
            "means",
        ):
            return Change(
                (delete(i - 1, i + 2), *repairs), "negative phrase removed", True
            )
        case "no phrase":
            return Change(
                (replace(i, "some"), *repairs), "negative phrase removed", True
            )
        case "no object":
            return Change(
                (_no_object(tree, clause, group, i), *repairs),
                "negative object removed",
                True,
            )
    if first in _DO and group.first < i < group.main:
        return Change((*_without_do(tree, group, i), *repairs), "do not removed", True)
    if first in _DO and i == group.first + 1:
        return Rejected("no verb after do")
    if tokens[i - 1].lower == "need" and first != "need":
        return Change(
            (Edit(i - 1, i + 1, ("must",)), *repairs), "need not to must", True
        )
    if first in ("need", "dare"):
        return Change(
            (Edit(group.first, i + 1, ("must",)), *repairs), "need not to must", True
        )
    if first == "might":
        return Rejected("might not")
    edits = [delete(i)]
    if first in _REDUCED:
        edits.append(
            replace(group.first, *_cased(tokens[group.first].text, _REDUCED[first]))
        )
    return Change(
        (*edits, *repairs), "never removed" if word == "never" else "not removed", True
    )


def _without_do(tree: Tree, group: Verbs, i: int) -> list[Edit]:
    """Return the edits that take away "do" and "not" and give their tense to the verbs under them."""
    tag = morphology.tense_of(tree.tokens[group.first].lower)
    words = [(j, tree.tokens[j].lower) for j in (group.main, *group.main_peers)]
    bare = [
        (j, word)
        for j, word in words
        if morphology.lemma(word, tree.tokens[j].tag) == word
    ]
    inflected = [replace(j, morphology.inflect(word, tag)) for j, word in bare]
    return [delete(group.first), delete(i), *inflected]


def _no_object(tree: Tree, clause: Clause, group: Verbs, i: int) -> Edit:
    """Return the edit of "no" before an object: "some", or an article if the subject is said to be it."""
    tokens = tree.tokens
    if (
        tokens[group.main].lower not in _BE
        or tokens[clause.subject.start].lower == "there"
    ):
        return replace(i, "some")
    phrase = next(
        (node for node in reversed(path_to(clause.node, i)) if node.label == "NP"), None
    )
    end = phrase.end if phrase is not None else i + 2
    noun = next(
        (j for j in reversed(range(i + 1, end)) if tokens[j].tag.startswith("NN")),
        i + 1,
    )
    if tokens[noun].tag in ("NNS", "NNPS"):
        return delete(i)
    return replace(i, morphology.indefinite_article(tokens[i + 1].text))


def _add(tree: Tree, clause: Clause, group: Verbs) -> Change | Rejected:
    """Return the change that negates the verb, which has no negation."""
    tokens, end = tree.tokens, clause.node.end
    before = [i for i in _outside(clause, clause.node.start, "SBAR") if i < group.first]
    if any(tokens[i].lower in _NEGATIVES for i in before):
        return Rejected("double negation")
    first = tokens[group.first]
    between = [
        *range(clause.subject.end, group.main),
        *([group.main + 1] if first.lower in _BE else []),
    ]
    for i in between:
        match tokens[i].lower if i < end else "":
            case word if word in _NEGATIVE_ADVERBS:
                return Rejected("negative adverb")
            case word if word in _FOCUS:
                return Rejected("only beside the verb")
            case "sometimes":
                return Change((replace(i, "never"),), "sometimes to never", False)
            case "still":
                return Change(
                    (replace(i, "no", "longer"),), "still to no longer", False
                )
    following = tokens[group.main + 1].lower if group.main + 1 < end else ""
    if following in _NEGATIVE_ADVERBS or (first.lower in _HAVE and following == "yet"):
        return Rejected("negative adverb")
    if following == "either":
        return _either(tree, clause, group.main + 1, end)
    auxiliary = len(group.chain) > 1 or first.lower in _BE | _MODALS
    partial = _POSSIBLY | (_PARTIAL if auxiliary else frozenset())
    if any(tokens[i].lower in partial for i in range(clause.node.start, group.first)):
        return Rejected("adverb of some cases")
    able = first.lower in ("can", "may", "might")
    if able and any(
        tokens[i].lower in _SENTENCE_ADVERBS for i in range(group.first, group.main)
    ):
        return Rejected(
            "adverb of some cases"
        )  # "can probably be", which "cannot" does not precede
    if _some_cases(tree, [*before, *range(group.first, group.main)]):
        return Rejected("adverb of some cases")
    if _limited(tree, group.main):
        return Rejected("at best")
    after = _outside(clause, group.main + 1, "SBAR")
    if _contrasted(tree, after):
        return Rejected("contrasted with a negation")
    if any(
        tokens[i].lower in _AUXILIARIES and tokens[i - 1].lower == "or" for i in after
    ):
        return Rejected("alternative verb phrases")
    if any(
        tokens[i].lower == "but"
        and tokens[i - 1].tag.startswith("JJ")
        and path_to(clause.node, i)[-2].label in _COMPLEMENTS
        for i in after
    ):
        return Rejected("not … but")
    if _only_if(tree, clause, group.main + 1):
        return Rejected("only if")
    polar = _under_negation(tree, clause, group.first, group.main)
    if not auxiliary:
        return _add_do(tree, clause, group, polar)
    if first.lower == "be":
        return Rejected("bare verb")
    if "or" in group.joiners:
        return Rejected("alternative verb phrases")
    for i in group.chain:
        next_two = [
            token.lower
            for token in tokens[i + 1 : i + 3]
            if tokens[i].lower in _AUXILIARIES
        ]
        if next_two[:1] in (["and"], ["or"]) or next_two in (
            [",", "and"],
            [",", "or"],
            [",", "but"],
        ):
            return Rejected("coordinated auxiliaries")
    return Change((_not_after(tree, clause, group), *polar), "not added", False)


def _contrasted(tree: Tree, places: Iterable[int]) -> bool:
    """Return whether a negation at one of ``places`` is set against what is said: "a tax, not a penalty"."""
    tokens, joiners = tree.tokens, (",", "but", "and", "or", "if", "though", "although")
    negations = [i for i in places if tokens[i].lower in NOT]
    return any(
        _word_before(tree, i) in joiners
        or "but" in [token.lower for token in tokens[i:]]
        for i in negations
    ) or any(
        token.lower in ("though", "although") and following.lower in NOT
        for token, following in pairwise(tokens)
    )


def _some_cases(tree: Tree, places: Iterable[int]) -> bool:
    """Return whether a phrase says in how many cases: "at times", "in some States", "on occasion"."""
    weak = _WEAK | {"some", "occasion", "occasions"}
    pairs = [(tree.tokens[i].lower, tree.tokens[i + 1].lower) for i in places]
    return any(
        (a == "at" and b == "times") or (a in ("in", "on", "under") and b in weak)
        for a, b in pairs
    )


def _limited(tree: Tree, start: int) -> bool:
    """Return whether "at best" or the like follows, of which a negation would deny the limit alone."""
    return any(
        at.lower == "at" and last.lower in _LIMITS
        for at, last in pairwise(tree.tokens[start:])
    )


def _word_before(tree: Tree, i: int) -> str:
    """Return the lower-cased token before ``i``, quotation marks skipped."""
    return next(
        (t.lower for t in reversed(tree.tokens[:i]) if t.text not in _QUOTES), ""
    )


def _only_if(tree: Tree, clause: Clause, start: int) -> bool:
    """Return whether "only if", "only by" or the like follows: "not lawful only if" may be read both ways."""
    return any(
        only.lower == "only"
        and after.tag in ("IN", "WRB", "RP")
        and after.lower not in ("to", "of")
        for only, after in pairwise(tree.tokens[start : clause.node.end])
    )


def _not_after(tree: Tree, clause: Clause, group: Verbs) -> Edit:
    """Return the edit that inserts "not" after an auxiliary, which negates the statement.

    "May" with a verb of action allows where one who acts is the subject; else it says what is possible, and
    "may not be violated" would deny either.
    """
    word = tree.tokens[group.first]
    chain = [tree.tokens[i].lower for i in group.chain]
    possible = word.lower in ("may", "might")
    # "may have" and "may not have" can both be true; so can "might" and "might not".
    if word.lower == "might" or (possible and len(chain) > 2 and chain[1] == "have"):
        return replace(group.first, *_cased(word.text, "could not"))
    head = _head_noun(tree, clause.subject)
    acts = tree.tokens[head].tag.startswith(("NNP", "PRP")) or _acts(
        tree, head, morphology.AGENTS
    )
    if word.lower == "can" or (
        possible and ("be" in chain or chain[-1] in _STATES or not acts)
    ):
        return replace(group.first, *_cased(word.text, "cannot"))
    place = group.first + 1
    while place < clause.node.end and tree.tokens[place].lower in _SENTENCE_ADVERBS:
        place += 1
    return insert(place, "not")


def _add_do(
    tree: Tree, clause: Clause, group: Verbs, polar: Sequence[Edit]
) -> Change | Rejected:
    """Return the change that puts "do not" before the main verb, with its tense."""
    tokens = tree.tokens
    form, tag = tokens[group.first].lower, tokens[group.first].tag
    if not morphology.is_verb(form):
        return Rejected("not a verb")
    if _misses_its_verb(tree, clause, group):
        return Rejected("no verb after an auxiliary")
    present = morphology.finite_tag(form, tag) == "VBP" and not morphology.is_past(form)
    bare = tag == "VBP" and present and _singular(tree, clause.subject)
    modal = form.lower() in ("need", "dare") and any(
        t.tag == "VB" for t in tokens[group.main + 1 :][:1]
    )
    if bare or modal or (tag == "VB" and not _plural(tree, clause.subject)):
        return Rejected("bare verb")
    tense = morphology.finite_tag(form, tag)
    peers = [
        i
        for i in group.peers
        if tokens[i].tag == tag and tokens[i].lower not in _BE | _HAVE | _DO
    ]
    if "or" in group.joiners and len(peers) < len(group.peers):
        return Rejected("alternative verb phrases")
    place = group.first
    while place > clause.subject.start + 1 and tokens[place - 1].tag.startswith("RB"):
        adverb = tokens[place - 1].lower
        if adverb in _LINKS | _SENTENCE_ADVERBS or (
            place <= clause.subject.end and not adverb.endswith("ly")
        ):
            break
        place -= 1
    do, base = (morphology.DO[tense], "not"), morphology.lemma(form, tense)
    if place == group.first:
        edits = [replace(group.first, *do, base)]
    else:
        edits = [insert(place, *do), replace(group.first, base)]
    edits += [replace(i, morphology.lemma(tokens[i].lower, tense)) for i in peers]
    return Change((*edits, *polar), "do not added", False)


def _misses_its_verb(tree: Tree, clause: Clause, group: Verbs) -> bool:
    """Return whether "do" or "have" is an auxiliary whose verb the parser has put elsewhere.

    "The Act does, however, preempt it", "the States have long regulated insurance".
    """
    tokens, word = tree.tokens, tree.tokens[group.first].lower
    rest = tokens[group.main + 1 : clause.node.end]
    if word in _DO:
        return bool(rest) and rest[0].text == ","
    if word not in _HAVE or word == "having":
        return False
    # Adverbs between the two, which may be tagged as adjectives ("long").
    verb = next(
        (
            token
            for token in rest
            if not token.tag.startswith("RB") and token.lower != "long"
        ),
        None,
    )
    return verb is not None and verb.tag in ("VBN", "VBD") and verb is not rest[0]


def _plural(tree: Tree, subject: Node) -> bool:
    if any(
        child.label == "CC" and tree.tokens[child.start].lower == "and"
        for child in subject.children
    ):
        return True
    base = core(subject)
    nouns = [
        t
        for t in tree.tokens[base.start : base.end]
        if t.tag.startswith(("NN", "PRP", "DT"))
    ]
    plural = ("they", "we", "you", "i", "these", "those")
    return bool(nouns) and (
        nouns[-1].tag in ("NNS", "NNPS") or nouns[-1].lower in plural
    )


def _singular(tree: Tree, subject: Node) -> bool:
    """Return whether the subject is one singular noun, with which a verb without its -s is a subjunctive."""
    if any(child.label == "CC" for child in subject.children):
        return False
    noun = tree.tokens[_head_noun(tree, subject)]
    if noun.tag == "NNP":
        return True
    return (
        noun.tag == "NN"
        and noun.lower not in _COLLECTIVES
        and not noun.lower.endswith("s")
    )


# What a negation licenses.


def _without_negation(
    tree: Tree, clause: Clause, i: int
) -> tuple[Edit, ...] | Rejected:
    """Return the edits of the words after token ``i`` that need the removed negation.

    "did not find any error" becomes "found some error".  After a modal "any" stands by itself ("may
    consider any evidence") and is left.  In a clause below it may mean some or all: "not shown that any
    teacher preached".
    """
    tokens = tree.tokens
    modal = any(
        token.lower in _MODALS
        for token in tokens[clause.subject.end : clause.predicate.start + 2]
    )
    edits = []
    for j in range(i + 1, clause.node.end):
        word, above = tokens[j].lower, _above(clause.node, j)
        if word == "until" and "not" not in [
            token.lower for token in tokens[i + 1 : j]
        ]:
            edits.append(replace(j, "before"))
        elif word in _UNDER_NEGATION and word != "until" and "SBAR" in above:
            if tokens[j - 1].lower in ("that", "whether"):
                return Rejected("any in a clause below")
        elif word in _UNDER_NEGATION and word != "until":
            free = word.startswith("any") and (
                modal or tokens[j - 1].lower in _WHICHEVER
            )
            replacement = _UNDER_NEGATION[word]
            if not free:
                edits.append(
                    delete(j) if replacement is None else replace(j, replacement)
                )
    return tuple(edits)


def _under_negation(
    tree: Tree, clause: Clause, first: int, main: int
) -> tuple[Edit, ...]:
    """Return the edits of the words that a new negation changes: "some" to "any", "already" to "yet"."""
    places = [i for i in range(first + 1, main) if tree.tokens[i].lower == "already"]
    places += [
        i
        for i in _outside(clause, main + 1, "SBAR")
        if tree.tokens[i].lower.startswith("some")
    ]
    words = ((i, tree.tokens[i].lower) for i in places if not _is_about(tree, i))
    return tuple(replace(i, _ASSERTED[word]) for i, word in words if word in _ASSERTED)


def _is_about(tree: Tree, i: int) -> bool:
    """Return whether "some" stands before a number: "some 40 million people" are about as many."""
    following = tree.tokens[i + 1] if i + 1 < len(tree.tokens) else None
    return following is not None and (
        following.tag == "CD" or following.text[0] in "$£€0123456789"
    )


# Rule 3.


def adjective_phrase(tree: Tree, clause: Clause) -> Change | Rejected | None:
    """Contradict a predicate without a finite verb, an adjective phrase or past participle (A.1.5, item 3).

    The first "no", "not" or "never" before its head is removed, or else "not" is put before it and its
    adverbs.
    """
    tokens = tree.tokens
    head = _predicate_head(tree, clause)
    if head is None:
        return None
    form = tokens[head].lower
    if form.endswith("ing") and form not in _JUDGING:
        return Rejected("present participle")
    if (
        tokens[head].tag.startswith("VB")
        and morphology.is_verb(form)
        and not morphology.is_participle(form)
    ):
        return Rejected("bare verb")
    if tokens[0].tag == "CC" or tokens[head].lower in _LIKE_PREPOSITIONS:
        return Rejected("no independent clause")
    if tree.text.rstrip("\"'”’ ").endswith(("...", ". . .", ". .", "…")):
        return Rejected("end left out")  # the predicate may be in what follows
    joined = tokens[head + 1].lower if head + 1 < len(tokens) else ""
    acts = _acts(tree, _head_noun(tree, clause.subject), morphology.AGENTS)
    if joined in ("and", "or") and tokens[head + 2].tag in ("VBD", "VBN") and acts:
        return Rejected(
            "past tense or participle"
        )  # "defendant planned and intended to kill"
    if head > 0 and (tokens[head].text[:1].isupper() or tokens[head].lower == "cited"):
        return Rejected("title")
    start = head if clause.predicate.label == "VP" else clause.predicate.start
    start = _phrase_start(tree, clause, start)
    negations = [i for i in range(start, head) if tokens[i].lower in NOT | {"no"}]
    if (
        len(negations) > 1
        or (start and (_word_before(tree, start) == "," or not tokens[start - 1].space))
        or any(tokens[i].lower in NOT for i in range(clause.subject.start, start))
        or _completes(tree, clause, start)
        or not tokens[start].tag.startswith(("JJ", "RB", "VB", "DT"))
        or tokens[start - 1].lower in _BE | {"and", "or", "but"}
        or _acts_before(tree, clause, start)
        or _predicate_after(tree, clause, head)
    ):
        return Rejected("structure unclear")
    if not _is_predicate(tree, clause, head, bool(negations)):
        return Rejected("noun phrase that states nothing")
    subject = [token.lower for token in tokens[clause.subject.start : start]]
    after = [tokens[i].lower for i in _outside(clause, head + 1, "SBAR")]
    if (_PARTIAL | _POSSIBLY) & {
        token.lower for token in tokens[clause.node.start : head]
    }:
        return Rejected("adverb of some cases")
    if negations:
        if tokens[negations[0] + 1].lower in _FOCUS:
            return Rejected("not only")
        if "but" in [token.lower for token in tokens[head:]]:
            return Rejected("not … but")
        return Change((delete(negations[0]),), "not removed", True)
    if _limited(tree, head):
        return Rejected("at best")
    words = [token.lower for token in tokens[start:head]]
    if _only_if(tree, clause, head):
        return Rejected("only if")
    if _FOCUS & {*words, *subject} or "only" in after:
        return Rejected("only beside the predicate")
    if _NEGATIVE_ADVERBS & set(words):
        return Rejected("negative adverb")
    if "still" in words:
        return Change(
            (replace(start + words.index("still"), "no", "longer"),),
            "still to no longer",
            False,
        )
    return Change((insert(start, "not"),), "not added", False)


def _predicate_head(tree: Tree, clause: Clause) -> int | None:
    """Return the adjective or participle of a predicate without a finite verb, or None."""
    head = _participle_of(tree, clause)
    if head is None and clause.predicate.label == "ADJP":
        places = range(clause.predicate.start, clause.predicate.end)
        tags = ("JJ", "JJR", "JJS", "VBN", "VBD")
        return next((i for i in places if tree.tokens[i].tag in tags), None)
    return head


def _is_predicate(tree: Tree, clause: Clause, head: int, negated: bool) -> bool:
    """Return whether a participle or adjective is a predicate, and does not only describe its noun.

    It is one if a clause of reason or condition follows, if it tells what was decided or judges, and, a
    participle, if its subject is one who acts: "defendant questioned in jail".
    """
    tokens = tree.tokens
    token = tokens[head]
    if token.lower in _DESCRIBING or tokens[clause.subject.start].lower in (
        "all",
        "each",
        "every",
    ):
        return False
    after = tokens[head + 1 : clause.node.end]
    if any(word.lower in _CONDITIONS and word.tag in ("IN", "WRB") for word in after):
        return True
    if token.tag.startswith("VB"):
        following = after[0].lower if after else ""
        by = not negated and following == "by"
        noun = _head_noun(tree, clause.subject)
        people = morphology.AGENTS - morphology.AUTHORITIES if by else morphology.AGENTS
        adjacent = not any(t.tag.startswith("NN") for t in tokens[noun + 1 : head])
        if adjacent and morphology.singular(tokens[noun].text) in people:
            return True
        base = morphology.lemma(token.lower, "VBN")
        if (
            base in morphology.PREDICATING
        ):  # "found invalid", and not "note held in trust"
            return bool(after) and after[0].tag in ("DT", "JJ", "NN", "TO", "VBN")
        return base in _VERDICTS | morphology.RECEIVING and not by
    if token.tag in ("JJR", "JJS") or not after or after[0].tag in (".", ",", ":"):
        noun = (
            morphology.is_noun(token.lower) and token.lower not in _JUDGING
        )  # "age minimum"
        alone = not noun or tokens[head - 1].tag.startswith("RB")
        return alone and tokens[head - 1].lower not in ("less", "more")
    return token.lower in _JUDGING or token.lower.endswith(("able", "ible"))


def _phrase_start(tree: Tree, clause: Clause, start: int) -> int:
    """Return where the phrase begins that ends at token ``start``: its adverbs, participles and hyphens.

    "Held valid" is said of the subject as a whole, and "service-connected" is one word.
    """
    tokens = tree.tokens
    while start > clause.subject.start + 1:
        before = tokens[start - 1]
        joined = start > clause.subject.end and (
            before.tag in ("VBN", "VBD") or not before.space
        )
        if not joined and not before.tag.startswith("RB"):
            break
        start -= 1
    return start


def _participle_of(tree: Tree, clause: Clause) -> int | None:
    """Return the participle that is the whole predicate's verb, or None."""
    group = _group(tree, clause)
    if group is None or _reading(tree, clause, group) is not Reading.PARTICIPLE:
        return None
    return group.first


def _acts_before(tree: Tree, clause: Clause, end: int) -> bool:
    """Return whether a finite verb stands in the subject: "warden censored newspapers critical of him"."""
    tokens = tree.tokens
    return any(
        tokens[i].tag in ("VBD", "VBZ", "VBP", "MD")
        or (tokens[i].tag == "VBN" and _acts(tree, i - 1, morphology.AGENTS))
        for i in range(clause.subject.start + 1, end)
        if not _above(clause.node, i) & {"SBAR", "S"} and tokens[i - 1].space
    )


def _completes(tree: Tree, clause: Clause, start: int) -> bool:
    """Return whether the adjective at ``start`` is what a verb makes: "factors making relief just"."""
    forms = (
        tree.tokens[i].lower
        for i in range(clause.node.start, start)
        if tree.tokens[i].tag == "VBG"
    )
    return any(morphology.lemma(form, "VBG") in morphology.MAKING for form in forms)


def _predicate_after(tree: Tree, clause: Clause, head: int) -> bool:
    """Return whether another predicate follows the participle or adjective at ``head``.

    Then that was a modifier, and the clause a mistake of the parser: "goods seized at the border were …",
    "aircraft used in commerce held subject to tax", "time spent on bond not creditable".  The predicate may
    be a finite verb that no subordinator opens, a negation, a word of disposition or an adjective after a
    noun.  What follows a semicolon is another sentence.
    """
    tokens = tree.tokens
    opened = 0
    for i in range(head + 1, len(tokens)):
        token, before = tokens[i], tokens[i - 1]
        following = tokens[i + 1] if i + 1 < len(tokens) else None
        below = _above(tree.root, i)
        if token.text == ";":
            return False
        adverbial = token.lower in _ADVERBIAL and "SBAR" in below
        if token.lower == "as":  # "allowed as damages should be small"
            adverbial = before.lower in ("far", "long", "soon") or (
                following is not None
                and following.tag in ("DT", "EX", "NNP", "PRP", "PRP$")
            )
        if (token.lower in _OPENERS or adverbial) and token.tag != "DT":
            opened += following is None or following.tag != "VBG"
            continue
        finite = _is_finite(token, before) and token.tag != "VB"
        if before.lower in ("and", "or", "but") and token.lower not in NOT:
            continue
        if before.text == "," and token.lower not in NOT and not finite:
            continue
        if not finite and any(
            tokens[j].tag.startswith(_VERBAL)
            and tokens[j].lower in _MODALS | _BE | _HAVE | _DO
            for j in range(max(head + 1, i - 3), i)
        ):
            continue
        if token.lower in NOT and before.lower not in _OPENERS | {"or"}:
            return True
        verb = token.tag in ("VBD", "VBN")
        if finite or (verb and not morphology.is_participle(token.lower)):
            if not opened:
                return True
            opened -= 1
        elif verb:
            noun = following is not None and following.tag.startswith(("NN", "JJ"))
            if noun and before.tag in (
                "DT",
                "JJ",
                "IN",
                "PRP$",
                "POS",
                "CC",
                "TO",
                "HYPH",
            ):
                continue
            if before.lower in _OPENERS | _ADVERBIAL:
                opened -= 1
                continue
            agent = following is not None and following.lower == "by"
            past = token.tag == "VBD" and not agent and "SBAR" not in below
            if opened:
                opened -= token.tag == "VBD"
            elif past or morphology.lemma(token.lower, "VBN") in _DISPOSITIONS:
                return True
        elif (
            token.tag in ("JJ", "JJR")
            and not opened
            and not below & {"SBAR", "S"}
            and token.lower not in _LIKE_PREPOSITIONS
            and _after_noun(tree, i, head)
        ):
            return True
    return False


def _after_noun(tree: Tree, i: int, head: int) -> bool:
    """Return whether the adjective at ``i`` follows a noun, itself after ``head``, and has none after it."""
    tokens = tree.tokens
    noun = i - 1
    while noun > head and tokens[noun].tag.startswith("RB"):
        noun -= 1
    last = (
        i + 1 == len(tokens)
        or tokens[i + 1].tag in ("IN", "TO", "WRB", ".", ":")
        or tokens[i + 1].text == ","
    )
    return (
        last
        and noun > head
        and tokens[noun].tag.startswith(("NN", "CD"))
        and tokens[i - 1].space != ""
    )


def _is_finite(token: Token, before: Token) -> bool:
    """Return whether the token is a verb that can only be finite, even if it is tagged as a noun."""
    if (
        token.tag in ("MD", "VBZ", "VBP")
        or token.lower in _FINITE | {"has", "had", "have"} | _DO
    ):
        return before.lower != "to"
    plural = token.tag in ("NNS", "NNPS") and token.text.islower()
    return plural and morphology.lemma(token.lower, "VBZ") in morphology.VERBS_ALONE


RULES: tuple[Rule, ...] = (indefinite_pronoun, verb_phrase, adjective_phrase)
