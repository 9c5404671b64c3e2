"""What the words of a clause are: the noun of its subject, its verbs and their form.

The rules of the contradiction algorithm share these functions.  Taggers take many
participles of headlines for past tenses, and some past tenses for participles
("conviction reversed", "employee confessed").  `verb_form` decides.
"""

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise

from lextables.papers.lawngnli.hypotheses import morphology
from lextables.papers.lawngnli.hypotheses.tree import (
    Clause,
    Node,
    Token,
    Tree,
    Verbs,
    core,
    path_to,
    verbs,
)
from lextables.papers.lawngnli.hypotheses.vocabulary import (
    ADVERBIAL,
    BE,
    BESIDE,
    DISPOSITIONS,
    DO,
    FINITE,
    HAVE,
    LAWS,
    MEASURES,
    MODALS,
    NOMINATIVE,
    NOT,
    OPENERS,
    QUOTES,
    REDUCED,
    STATING,
    SUBORDINATORS,
    TIMES,
)


class VerbForm(Enum):
    """What the first verb of a predicate is."""

    FINITE = "a finite verb"
    PARTICIPLE = "a participle without an auxiliary"
    UNCLEAR = "a past tense or a participle"


# Places in a clause.


def labels_above(node: Node, i: int) -> set[str]:
    """Return the labels of the constituents between ``node`` and token ``i``."""
    return {inner.label for inner in path_to(node, i)[1:-1]}


def outside(clause: Clause, start: int, *below: str) -> list[int]:
    """Return the indices of the clause's tokens from ``start`` on, without tokens in
    inner constituents with one of the labels ``below``.
    """
    places = []
    for i in range(start, clause.node.end):
        if labels_above(clause.node, i).isdisjoint(below):
            places.append(i)
    return places


def in_clause_below(clause: Clause, i: int) -> bool:
    """Return whether token ``i`` is in a subordinate clause that begins before it."""
    path = path_to(clause.node, i)[1:-1]
    return any(node.label == "SBAR" and node.start < i for node in path)


def word_before(tree: Tree, i: int) -> str:
    """Return the lower-cased token before ``i``, quotation marks skipped."""
    for token in reversed(tree.tokens[:i]):
        if token.text not in QUOTES:
            return token.lower
    return ""


# The subject.


def head_noun(tree: Tree, subject: Node) -> int:
    """Return the index of the last noun or pronoun of the subject's core."""
    base = core(subject)
    for i in reversed(range(base.start, base.end)):
        if tree.tokens[i].tag.startswith(("NN", "PRP")):
            return i
    return base.end - 1


def acts(tree: Tree, noun: int, agents: frozenset[str]) -> bool:
    """Return whether a noun is one of ``agents``, or the name of a person or body.

    A name begins with a capital and is not the name of a law.
    """
    token = tree.tokens[noun]
    singular = morphology.singular(token.text)
    if singular in agents:
        return True
    # A plural that opens the sentence has a capital without being a name: "Claims
    # barred".
    if noun == 0 and singular != token.lower:
        return False
    is_name = token.tag.startswith("NNP") and token.text[:1].isupper()
    return is_name and singular not in LAWS


# The verbs.


def is_auxiliary(word: str, following: str) -> bool:
    """Return whether a verb is the auxiliary of a verb with the tag ``following``."""
    if word in BE:
        return following in ("VBN", "VBG", "VBD", "VB")
    if word in HAVE:
        return following in ("VBN", "VBD")
    if word in DO:
        # "Did not set aside" is often tagged so.
        return following in ("VB", "VBP", "VBN", "VBD")
    return word in MODALS or word == "need" or word in REDUCED


def is_finite(token: Token, before: Token) -> bool:
    """Return whether a token can only be a finite verb, even if it is tagged as a noun;
    ``before`` is the token before it.
    """
    has_tag = token.tag in ("MD", "VBZ", "VBP")
    if has_tag or token.lower in FINITE | {"has", "had", "have"}:
        return before.lower != "to"
    if token.tag not in ("NNS", "NNPS"):
        return False
    return morphology.lemma(token.lower, "VBZ") in morphology.VERBS_ALONE


def verbs_of(tree: Tree, clause: Clause) -> Verbs | None:
    """Return the verbs of the predicate, corrected where parsers commonly err.

    A reduced relative that was taken for the predicate is left out: "inmate subjected
    to discipline is entitled".
    """
    if clause.predicate.label != "VP":
        return None
    group = verbs(tree, clause.predicate, is_auxiliary, NOT)
    if group is None or not _may_be_reduced(tree, clause, group):
        return group
    later = later_finite(tree, clause, group, FINITE)
    if not later:
        return group
    between = set(tree.words(group.main, later[0]))
    if between & (SUBORDINATORS | {"after", "before", "since", "until"}):
        return group
    return Verbs((later[0],))


def _may_be_reduced(tree: Tree, clause: Clause, group: Verbs) -> bool:
    """Return whether the verb may be a participle, and a later finite verb the
    predicate.
    """
    if verb_form(tree, clause, group) is not VerbForm.FINITE:
        return True
    form = tree.word(group.first)
    if form in HAVE or len(group.chain) > 1 or not morphology.is_participle(form):
        return False
    return not acts(tree, head_noun(tree, clause.subject), morphology.AGENTS)


def later_finite(
    tree: Tree, clause: Clause, group: Verbs, words: frozenset[str]
) -> list[int]:
    """Return where ``words`` that are tagged as finite verbs follow ``group``.

    Words in a subordinate clause or in a parenthesis are left out, and so are verbs
    that are coordinated with the group.
    """
    group_verbs = {*group.chain, *group.peers, *group.main_peers}
    places = []
    for i in outside(clause, group.main + 1, "SBAR", "S", "PRN"):
        token = tree.tokens[i]
        has_tag = token.tag in ("MD", "VBZ", "VBP", "VBD")
        if token.lower in words and has_tag and i not in group_verbs:
            places.append(i)
    return places


def verb_in_subject(tree: Tree, clause: Clause) -> bool:
    """Return whether a finite verb is parsed as the subject: "Amendment bars suit"."""
    base = core(clause.subject)
    for before, token in pairwise(tree.tokens[base.start : base.end]):
        if token.tag not in ("NNS", "NNPS") or not morphology.is_verb(token.lower):
            continue
        if before.lower in ("amendment", "clause", "section"):
            return True
        if is_finite(token, before):
            return True
    return False


def verb_as_noun(tree: Tree, start: int, end: int) -> bool:
    """Return whether a finite verb from ``start`` to ``end`` is taken for a noun:
    "company engaged in plans sues".
    """
    for before, token in pairwise(tree.tokens[start - 1 : end]):
        if token.tag in ("NNS", "NNPS") and is_finite(token, before):
            return True
    return False


def participle_of(tree: Tree, clause: Clause) -> int | None:
    """Return the index of the participle that is the predicate's only verb, or None."""
    group = verbs_of(tree, clause)
    if group is None or verb_form(tree, clause, group) is not VerbForm.PARTICIPLE:
        return None
    return group.first


def verb_form(tree: Tree, clause: Clause, group: Verbs) -> VerbForm:
    """Return whether the first verb of the predicate is finite, a participle, or may be
    either (`VerbForm.UNCLEAR`).

    A form that can be only one of the two decides, and so does a subject such as "he",
    whose verb is finite.  Otherwise what follows the verb decides (`_past_form`): an
    agent, an object or neither.
    """
    token = tree.tokens[group.first]
    word = token.lower
    if word in ("having", "being"):
        return VerbForm.PARTICIPLE  # "claims being barred"
    if len(group.chain) > 1 or word in HAVE:
        return VerbForm.FINITE  # "claims are barred"
    if token.tag not in ("VBN", "VBD", "VBG"):
        return VerbForm.FINITE  # "statute bars claims"
    if not morphology.is_past(word):
        if morphology.finite_tag(word, token.tag) == "VBZ":
            return VerbForm.FINITE  # "statute extends", with the tag of a past tense
        return VerbForm.PARTICIPLE  # "statute barring claims"
    noun = head_noun(tree, clause.subject)
    if tree.word(noun) in NOMINATIVE or not morphology.is_participle(word):
        return VerbForm.FINITE  # "he held", "court gave"
    return _past_form(tree, clause, group.first, noun)


def _past_form(tree: Tree, clause: Clause, verb: int, noun: int) -> VerbForm:
    """Return the form of a verb that can be past tense or participle.

    What follows the verb decides.  The first case that fits is taken:

    1. The verb never has an object: finite.
    2. Nothing follows: as `_form_without_object` says.
    3. "by" and an agent: participle.
    4. The preposition of this verb, as in "provided for": finite.
    5. An object: as `_form_before_object` says.
    6. An adjective: participle.
    7. An infinitive: finite for verbs such as "attempt", and for verbs such as "intend"
       if the subject acts; else participle.
    8. A clause or phrase after a verb that keeps an object in the passive, such as
       "grant": participle if the subject acts, else unclear.
    9. Another clause: finite, except for verbs such as "tell" and dispositions.
    10. A clause with "that" after another phrase: finite for verbs such as "hold", else
        unclear.
    11. An object after a preposition: unclear.
    12. Anything else: as `_form_without_object` says.

    The sets of verbs are explained in `morphology`.  ``noun`` is the subject's.
    """
    tokens = tree.tokens
    base = morphology.lemma(tree.word(verb), "VBD")
    if base in morphology.INTRANSITIVE:
        return VerbForm.FINITE  # "the parties agreed not to sue"
    after = _nodes_after(tree, clause, verb)
    if not after:
        return _form_without_object(tree, clause, verb, noun)
    following = after[0]
    word = tree.word(following.start)
    if word == "by":
        return VerbForm.PARTICIPLE  # "dock built by him"
    # "upon" counts as "on".  In "lien provided for under law" the preposition has no
    # object.
    is_governed = word.removeprefix("up") == morphology.GOVERNING.get(base)
    if is_governed and tokens[following.start + 1].tag not in ("IN", "TO"):
        return VerbForm.FINITE  # "agreement provided for benefits"
    label = _label(tree, following)
    is_agent = acts(tree, noun, morphology.AGENTS)
    is_authority = acts(tree, noun, morphology.AUTHORITIES)
    if _is_object(tree, following, label):
        return _form_before_object(base, is_agent, is_authority)
    if label in ("ADJP", "JJ"):
        return VerbForm.PARTICIPLE  # "search deemed reasonable"
    # Another phrase stands between the verb and its infinitive.
    if base in morphology.ATTEMPTING and any(
        tree.word(node.start) == "to" for node in after[1:]
    ):
        return VerbForm.FINITE  # "Congress endeavored, in the Act, to correct it"
    if label == "S" and word == "to":
        intends = is_agent and base in morphology.INTENDING
        if intends or base in morphology.ATTEMPTING:
            return VerbForm.FINITE  # "Congress intended to preempt the field"
        return VerbForm.PARTICIPLE  # "statute intended to preempt the field"
    is_clause = label in ("S", "SBAR")
    keeps_object = base in morphology.RECEIVING and word not in ADVERBIAL
    if keeps_object and (is_clause or label == "VP") and word not in ("that", "to"):
        # "employee granted what he asked", but "statute granted what he asked"
        return VerbForm.PARTICIPLE if is_agent else VerbForm.UNCLEAR
    if is_clause and word not in ADVERBIAL | {"for"}:
        if base in morphology.TELLING:
            return VerbForm.PARTICIPLE  # "suspect told that he may leave"
        if label == "SBAR" and base in DISPOSITIONS - STATING:
            return VerbForm.UNCLEAR  # "claim barred the day rent accrued"
        return VerbForm.FINITE  # "the board found that the levy failed"
    for node in after:
        if node.label == "SBAR" and tree.word(node.start) == "that":
            if base in STATING:
                return VerbForm.FINITE  # "court held in Roe that the levy failed"
            return VerbForm.UNCLEAR  # "impressed with the idea that"
    if _has_later_object(after):
        return VerbForm.UNCLEAR  # "assigned to wife one-half interest"
    return _form_without_object(tree, clause, verb, noun)


def _form_before_object(base: str, is_agent: bool, is_authority: bool) -> VerbForm:
    """Return the form of the verb ``base`` before an object.

    ``is_agent``: the subject is a person or body that acts.  ``is_authority``: it is
    also one that grants and denies, such as a court.
    """
    if is_authority:
        return VerbForm.FINITE  # "court denied parole"
    if base in morphology.PREDICATING:
        # "employee called a witness", but "possession held a violation"
        return VerbForm.UNCLEAR if is_agent else VerbForm.PARTICIPLE
    if base in morphology.RECEIVING:
        # "prisoner denied parole", but "statute denied parole"
        return VerbForm.PARTICIPLE if is_agent else VerbForm.UNCLEAR
    return VerbForm.FINITE  # "both parties waived the objection"


def _form_without_object(tree: Tree, clause: Clause, verb: int, noun: int) -> VerbForm:
    """Return the form of a verb that has no object."""
    token = tree.tokens[verb]
    if morphology.lemma(token.lower, "VBD") in morphology.ABSOLUTE:
        if acts(tree, noun, morphology.AGENTS):
            return VerbForm.FINITE  # "defendant asked for a meeting"
        return VerbForm.PARTICIPLE  # "money paid for a grove"
    # A past tense without its object is the tagger's mistake, but only in a headline.
    if token.tag == "VBD" and _is_full_style(tree, clause.subject):
        return VerbForm.UNCLEAR  # "the petition dismissed for delay"
    return VerbForm.PARTICIPLE  # "defendant questioned in jail"


def _nodes_after(tree: Tree, clause: Clause, verb: int) -> list[Node]:
    """Return the later siblings of a verb that may be its object or another complement.

    What may be between a verb and its object (`BESIDE`) is left out, and so are
    quotation marks and brackets.  A parenthesis that opens with "[" stays: the words in
    it replace words of a quotation, and `_label` takes it for a noun phrase.
    """
    nodes = []
    for node in path_to(clause.node, verb)[-2].children:
        first = tree.tokens[node.start]
        is_beside = node.label in BESIDE and first.text != "["
        is_mark = node.is_leaf and first.lower in QUOTES
        if node.start > verb and not is_beside and not is_mark:
            nodes.append(node)
    return nodes


def _label(tree: Tree, node: Node) -> str:
    """Return the label of a node, corrected where parsers commonly err."""
    first = tree.tokens[node.start]
    if node.label == "PRN":
        return "NP"
    if node.label == "VP" and first.tag == "VB":
        return "NP"  # "exception barred claim", a noun taken for a verb
    if node.label in ("TO", "VP") and first.lower == "to":
        return "S"
    return node.label


def _is_object(tree: Tree, node: Node, label: str) -> bool:
    """Return whether a node with this label is a noun phrase and not a measure of
    time.
    """
    first = tree.word(node.start)
    is_amount = label == "ADJP" and first in ("less", "more", "fewer")
    if not is_amount and label != "NP" and not label.startswith("NN"):
        return False
    words = set(tree.words(node.start, node.end))
    has_measure = tree.tokens[node.start].tag == "CD" and words & MEASURES
    return not has_measure and not words <= TIMES


def _has_later_object(after: Sequence[Node]) -> bool:
    """Return whether an object follows a preposition: "assigned to wife one-half
    interest".
    """
    labels = [node.label for node in after]
    return ("PP", "NP") in pairwise(labels)


def _is_full_style(tree: Tree, subject: Node) -> bool:
    """Return whether the subject begins with an article or similar word, which
    headlines leave out.
    """
    first = tree.tokens[core(subject).start]
    has_article = first.tag in ("DT", "PDT", "PRP$", "EX")
    return has_article and first.lower not in ("no", "all", "any")


def opens_clause(token: Token) -> bool:
    """Return whether a token opens a clause of its own with a finite verb."""
    tags = ("IN", "WDT", "WP", "WP$", "WRB")
    return token.lower in OPENERS and token.tag in tags
