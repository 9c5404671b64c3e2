"""Rule 2 of the contradiction algorithm: the first verb phrase (A.1.5, item 2)."""

from itertools import pairwise

from lextables.papers.lawngnli.hypotheses import morphology
from lextables.papers.lawngnli.hypotheses.clause_words import (
    VerbForm,
    acts,
    head_noun,
    labels_above,
    later_finite,
    outside,
    verb_as_noun,
    verb_form,
    verb_in_subject,
    verbs_of,
    word_before,
)
from lextables.papers.lawngnli.hypotheses.polarity import (
    Change,
    Rejected,
    cased,
    change_either,
    has_adverb,
    is_contrasted,
    is_limited,
    is_negative,
    is_only_if,
    says_how_often,
    with_negation,
    without_negation,
)
from lextables.papers.lawngnli.hypotheses.tree import (
    Clause,
    Edit,
    Node,
    Tree,
    Verbs,
    delete,
    insert,
    path_to,
    replace,
)
from lextables.papers.lawngnli.hypotheses.vocabulary import (
    ADDITIVE,
    AUXILIARIES,
    BE,
    COLLECTIVES,
    COMPLEMENTS,
    DO,
    FINITE,
    FOCUS,
    HAVE,
    LINKS,
    MANNERS,
    MODALS,
    NEGATIVE_ADVERBS,
    NEGATIVE_PRONOUNS,
    NEGATIVES,
    NOT,
    PARTIAL,
    POSSIBLY,
    PRONOUNS,
    QUOTES,
    SENTENCE_ADVERBS,
    STATES,
)


def verb_phrase(tree: Tree, clause: Clause) -> Change | Rejected | None:
    """Contradict the first verb phrase: remove its negation, or else add one.

    A phrase that starts with a participle has no finite verb and is left to rule 3.
    """
    group = verbs_of(tree, clause)
    if group is None:
        return None
    form = verb_form(tree, clause, group)
    if form is VerbForm.PARTICIPLE:
        return None
    if form is VerbForm.UNCLEAR:
        return Rejected("past tense or participle")
    if _is_unclear(tree, clause, group):
        return Rejected("structure unclear")
    negation = negation_of(tree, clause, group)
    if negation is None:
        return _add(tree, clause, group)
    kind, i = negation
    return _remove(tree, clause, group, kind, i)


def _is_unclear(tree: Tree, clause: Clause, group: Verbs) -> bool:
    """Return whether the parser has probably mistaken the verb of the clause."""
    tokens = tree.tokens
    first = group.first
    if later_finite(tree, clause, group, FINITE | HAVE | DO):
        return True
    if verb_in_subject(tree, clause):
        return True
    if verb_as_noun(tree, group.main + 1, clause.node.end):
        return True
    before = tree.word(first - 1)
    words = [token.text for token in tokens[clause.subject.start : first]]
    if before in ("and", "or") or (before == "," and words.count(",") == 1):
        return True
    # A past tense joined to a participle is a participle of a reduced relative clause.
    tags = [tokens[i].tag for i in group.peers]
    return len(group.chain) == 1 and tokens[first].tag == "VBD" and "VBN" in tags


# The negation of a verb.


def negation_of(tree: Tree, clause: Clause, group: Verbs) -> tuple[str, int] | None:
    """Return the kind of the verb's negation and its token, or None.

    The negation stands between the subject and the main verb, or after the main verb
    with at most adverbs or an insertion between them.  Kinds are "not" (also "never"),
    "neither", "no longer", "no phrase" ("in no way"), "no comparative" ("no
    different"), "no object" ("had no reason") and "negative pronoun" ("said nothing").
    """
    for i in range(clause.subject.end, group.main):
        above = labels_above(clause.node, i)
        word = tree.word(i)
        if above - {"VP", "ADVP", "CONJP", "PP", "NP"}:
            continue
        if tree.words(i, i + 2) == ["no", "longer"]:
            return "no longer", i
        if above & {"PP", "NP"}:
            if word == "no":
                return "no phrase", i
        elif word in NOT:
            return "not", i
        elif word == "neither":
            return "neither", i
    return _negation_after(tree, clause, group.main)


def _negation_after(tree: Tree, clause: Clause, main: int) -> tuple[str, int] | None:
    """Return the kind of the negation after the main verb and its token, or None."""
    tokens = tree.tokens
    end = clause.node.end
    i = _after_insertion(tree, main + 1, end)
    while i < end:
        word = tree.word(i)
        is_negation = word in NOT or word in ("no", "neither")
        is_adverb = tokens[i].tag.startswith("RB") and not is_negation
        if word not in QUOTES and not is_adverb:
            break
        i += 1
    if i >= end:
        return None
    word = tree.word(i)
    following = tree.word(i + 1) if i + 1 < end else ""
    if word in NOT:
        return "not", i
    if following == "no" and tree.word(min(i + 2, end - 1)) in MANNERS:
        return "no phrase", i + 1
    if labels_above(clause.node, i) & {"SBAR", "S"}:
        return None
    is_comparative = word == "no" and _is_comparative(tree, i + 1)
    if word == "no" and following == "longer" and tree.word(i + 2) != "than":
        return "no longer", i
    if is_comparative:
        return "no comparative", i
    if word == "no":
        return "no object", i
    if word == "neither":
        return "neither", i
    if word in NEGATIVE_PRONOUNS:
        return "negative pronoun", i
    return None


def _after_insertion(tree: Tree, start: int, end: int) -> int:
    """Return where the words after an insertion begin: "there is, of course, no
    reason".
    """
    if start >= end or tree.tokens[start].text != ",":
        return start
    for i in range(start + 1, min(start + 5, end)):
        if tree.tokens[i].text == ",":
            return i + 1
    return start


def _is_comparative(tree: Tree, i: int) -> bool:
    """Return whether "no" before token ``i`` negates a comparative: "no different", "no
    less".
    """
    for token in tree.tokens[i : i + 1]:
        if token.lower == "different" or token.tag in ("JJR", "RBR"):
            return True
    return "than" in tree.words(i + 1, i + 3)


# Removing a negation.


def _remove(
    tree: Tree, clause: Clause, group: Verbs, kind: str, i: int
) -> Change | Rejected:
    """Return the change that takes away the negation at token ``i``."""
    tokens = tree.tokens
    word = tree.word(i)
    if kind == "neither":
        return change_either(tree, clause, i, clause.node.end)
    if word != "not" and has_adverb(tree, i):
        return Rejected("adverb of the negation")  # "virtually no", "almost never"
    reason = _reason_to_keep(tree, clause, group, i)
    if reason:
        return Rejected(reason)
    if kind == "no longer":
        return Change((Edit(i, i + 2, ("still",)),), "no longer to still", True)
    if kind == "no comparative":
        return Change((delete(i),), "comparative no removed", True)
    if kind == "negative pronoun":
        edits = [replace(i, *cased(tokens[i].text, PRONOUNS[word]))]
        name = "object"
    elif kind == "no object":
        edits = [_no_object(tree, clause, group, i)]
        name = "object"
    elif kind == "no phrase":
        edits = [replace(i, "some")]
        name = "phrase"
        if (tree.word(i - 1), tree.word(i + 1)) == ("by", "means"):
            edits = [delete(i - 1, i + 2)]
    else:
        return _remove_not(tree, clause, group, i)
    return without_negation(tree, clause, i, edits, f"negative {name} removed")


def _remove_not(tree: Tree, clause: Clause, group: Verbs, i: int) -> Change | Rejected:
    """Return the change that takes away "not" or "never" at token ``i``."""
    word = tree.word(i)
    first = tree.word(group.first)
    edits = [delete(i)]
    kind = "not removed"
    if word == "never":
        kind = "never removed"
    if first in DO:
        if i > group.main:
            return Rejected("no verb after do")
        edits = _without_do(tree, group, i)
        kind = "do not removed"
    elif first in ("need", "dare"):
        edits = [Edit(group.first, i + 1, ("must",))]
        kind = "need not to must"
    elif first == "might":
        return Rejected("might not")
    return without_negation(tree, clause, i, edits, kind)


def _reason_to_keep(tree: Tree, clause: Clause, group: Verbs, i: int) -> str:
    """Return why the negation at token ``i`` cannot be removed; empty if it can."""
    words = tree.words()
    is_there = words[clause.subject.start] == "there"
    if words[i : i + 2] == ["no", "doubt"] and words[group.main] in BE and not is_there:
        return "no doubt"  # "is no doubt void"
    for j in outside(clause, i + 1, "SBAR"):
        if words[j] in NOT and words[j - 1] in AUXILIARIES:
            return "second negation"
    for word, following in pairwise(words[i + 1 :]):
        if word == "but" and following != "for":
            return "not … but"
    if "or" in group.joiners:
        return "alternative verb phrases"
    if "alone" in words[group.main + 1 : group.main + 3]:
        return "not only"  # "does not turn alone on it"
    return ""


def _without_do(tree: Tree, group: Verbs, i: int) -> list[Edit]:
    """Return the edits that take away "do" and "not" and give their tense to the
    verbs.
    """
    tag = morphology.tense_of(tree.word(group.first))
    edits = [delete(group.first), delete(i)]
    for j in (group.main, *group.main_peers):
        edits.append(replace(j, morphology.inflect(tree.word(j), tag)))
    return edits


def _no_object(tree: Tree, clause: Clause, group: Verbs, i: int) -> Edit:
    """Return the edit of "no" before an object.

    "No" becomes "some".  After "be", but not in "there is no …", it becomes an article
    ("it is no tax"), or is deleted before a plural ("they are no strangers").
    """
    tokens = tree.tokens
    is_there = tree.word(clause.subject.start) == "there"
    if tree.word(group.main) not in BE or is_there:
        return replace(i, "some")
    phrase = path_to(clause.node, i)[-2]
    if tokens[head_noun(tree, phrase)].tag in ("NNS", "NNPS"):
        return delete(i)
    return replace(i, morphology.indefinite_article(tokens[i + 1].text))


# Adding a negation.


def _add(tree: Tree, clause: Clause, group: Verbs) -> Change | Rejected:
    """Return the change that negates the verb, which has no negation."""
    end = clause.node.end
    first = tree.word(group.first)
    before = []
    for i in outside(clause, clause.node.start, "SBAR"):
        if i < group.first:
            before.append(i)
    if any(tree.word(i) in NEGATIVES for i in before):
        return Rejected("double negation")
    if word_before(tree, group.first) in FOCUS:
        return Rejected("only beside the verb")
    beside = [*range(clause.subject.end, group.main)]
    if first in BE and group.main + 1 < end:
        beside.append(group.main + 1)
    for i in beside:
        word = tree.word(i)
        if word in NEGATIVE_ADVERBS:
            return Rejected("negative adverb")
        if word in FOCUS:
            return Rejected("only beside the verb")
        if word == "sometimes":
            return Change((replace(i, "never"),), "sometimes to never", False)
        if word == "still":
            edit = replace(i, "no", "longer")
            return Change((edit,), "still to no longer", False)
    following = tree.word(group.main + 1) if group.main + 1 < end else ""
    if following in NEGATIVE_ADVERBS or following == "yet":
        return Rejected("negative adverb")
    if following == "either":
        return change_either(tree, clause, group.main + 1, end)
    has_auxiliary = len(group.chain) > 1 or first in BE | MODALS
    places = [*before, *range(group.first, group.main)]
    reason = _reason_not_to_add(tree, clause, group, places, has_auxiliary)
    if reason:
        return Rejected(reason)
    if not has_auxiliary:
        return _add_do(tree, clause, group)
    if first == "be":
        return Rejected("bare verb")
    if "or" in group.joiners:
        return Rejected("alternative verb phrases")
    if _has_joined_auxiliary(tree, group):
        return Rejected("coordinated auxiliaries")
    edit = _not_after(tree, clause, group)
    return with_negation(tree, clause, (group.first, group.main), [edit], "not added")


def _reason_not_to_add(
    tree: Tree, clause: Clause, group: Verbs, places: list[int], has_auxiliary: bool
) -> str:
    """Return why a negation would not contradict; empty if it does.

    ``places`` are the tokens up to the main verb.
    """
    words = tree.words()
    so_far = set(words[clause.node.start : group.first])
    if so_far & POSSIBLY or (has_auxiliary and so_far & PARTIAL):
        return "adverb of some cases"
    # "Can probably be": "cannot" does not stand before such an adverb.
    between = set(words[group.first : group.main + 2])
    if between & SENTENCE_ADVERBS and words[group.first] in ("can", "may", "might"):
        return "adverb of some cases"
    # "Can also be": "cannot also be" denies the addition only.
    if between & ADDITIVE and words[group.first] in ("can", "may", "might", "must"):
        return "adverb of addition"
    if says_how_often(tree, places):
        return "adverb of some cases"
    if is_limited(tree, group.main):
        return "at best"
    if is_negative(tree, clause, group.main):
        return "double negation"
    after = outside(clause, group.main + 1, "SBAR")
    if is_contrasted(tree, after):
        return "contrasted with a negation"
    for i in after:
        if words[i] in AUXILIARIES and words[i - 1] == "or":
            return "alternative verb phrases"
    for i in after:
        follows_adjective = tree.tokens[i - 1].tag.startswith("JJ")
        is_complement = path_to(clause.node, i)[-2].label in COMPLEMENTS
        if words[i] == "but" and follows_adjective and is_complement:
            return "not … but"
    if is_only_if(tree, clause, group.main + 1):
        return "only if"
    return ""


def _has_joined_auxiliary(tree: Tree, group: Verbs) -> bool:
    """Return whether another auxiliary is joined to one of the verb's: "can and
    must".
    """
    words = tree.words()
    for i in group.chain:
        if words[i] not in AUXILIARIES:
            continue
        following = words[i + 1 : i + 3]
        if following[:1] in (["and"], ["or"]):
            return True
        if following in ([",", "and"], [",", "or"], [",", "but"]):
            return True
    return False


def _not_after(tree: Tree, clause: Clause, group: Verbs) -> Edit:
    """Return the edit that inserts "not" after an auxiliary, which negates the
    statement.

    "May" is a permission if the verb is an action and the subject can act.  Otherwise
    it is a possibility: then "cannot" is used, because "may not be violated" could deny
    either.
    """
    written = tree.tokens[group.first].text
    chain = [tree.word(i) for i in group.chain]
    auxiliary = chain[0]
    is_possible = auxiliary in ("may", "might")
    # "May have" and "may not have" can both be true; so can "might" and "might not".
    has_have = is_possible and len(chain) > 2 and chain[1] == "have"
    if auxiliary == "might" or has_have:
        return replace(group.first, *cased(written, "could not"))
    if auxiliary == "must":
        # "Must not" would be the contrary: neither may hold.
        return replace(group.first, *cased(written, "need not"))
    noun = head_noun(tree, clause.subject)
    is_name = tree.tokens[noun].tag.startswith(("NNP", "PRP"))
    is_agent = is_name or acts(tree, noun, morphology.AGENTS)
    is_state = "be" in chain or chain[-1] in STATES or not is_agent
    if auxiliary == "can" or (is_possible and is_state):
        return replace(group.first, *cased(written, "cannot"))
    place = group.first + 1
    while place < clause.node.end and tree.word(place) in SENTENCE_ADVERBS | LINKS:
        place += 1
    return insert(place, "not")


def _add_do(tree: Tree, clause: Clause, group: Verbs) -> Change | Rejected:
    """Return the change that puts "do not" before the main verb, with its tense."""
    verb = tree.tokens[group.first]
    form = verb.lower
    tag = verb.tag
    if not morphology.is_verb(form):
        return Rejected("not a verb")
    if _misses_its_verb(tree, clause, group):
        return Rejected("no verb after an auxiliary")
    is_subjunctive = tag == "VBP" and _is_singular(tree, clause.subject)
    if is_subjunctive or (tag == "VB" and not _is_plural(tree, clause.subject)):
        return Rejected("bare verb")
    peers = []
    for i in group.peers:
        is_alike = tree.tokens[i].tag == tag
        if is_alike and tree.word(i) not in BE | HAVE | DO:
            peers.append(i)
    if "or" in group.joiners and len(peers) < len(group.peers):
        return Rejected("alternative verb phrases")
    tense = morphology.finite_tag(form, tag)
    place = _before_adverbs(tree, clause, group.first)
    do = morphology.DO[tense]
    base = morphology.lemma(form, tense)
    edits = [replace(place, do, "not", base)]
    if place < group.first:
        edits = [insert(place, do, "not"), replace(group.first, base)]
    for i in peers:
        peer = morphology.lemma(tree.word(i), tense)
        edits.append(replace(i, peer))
    return with_negation(tree, clause, (group.first, group.main), edits, "do not added")


def _before_adverbs(tree: Tree, clause: Clause, place: int) -> int:
    """Return where a negation before the verb at ``place`` is inserted: before the
    adverbs that it also negates.
    """
    while tree.tokens[place - 1].tag.startswith("RB"):
        adverb = tree.word(place - 1)
        if adverb in LINKS | SENTENCE_ADVERBS or place <= clause.subject.end:
            break
        place -= 1
    return place


def _misses_its_verb(tree: Tree, clause: Clause, group: Verbs) -> bool:
    """Return whether "have" is an auxiliary whose verb the parser has put elsewhere.

    "The States have long regulated insurance", "has both expanded and limited it".
    """
    if tree.word(group.first) not in HAVE:
        return False
    start = _after_insertion(tree, group.main + 1, clause.node.end)
    for token in tree.tokens[start : clause.node.end]:
        if token.tag in ("VBN", "VBD"):
            return True
        is_word = token.text[:1].isalpha()
        is_adverb = token.tag.startswith("RB") or token.lower in ("both", "either")
        if is_word and not is_adverb:
            return False
    return False


def _is_plural(tree: Tree, subject: Node) -> bool:
    """Return whether a verb without -s can be the subject's finite verb."""
    if any(child.label == "CC" for child in subject.children):
        return True
    noun = tree.tokens[head_noun(tree, subject)]
    if noun.tag in ("NNS", "NNPS"):
        return True
    return noun.lower in ("they", "we", "you", "i", "these", "those")


def _is_singular(tree: Tree, subject: Node) -> bool:
    """Return whether the subject is one singular noun.

    A verb without -s after such a subject is a subjunctive.
    """
    if any(child.label == "CC" for child in subject.children):
        return False
    noun = tree.tokens[head_noun(tree, subject)]
    if noun.tag != "NN":
        return noun.tag == "NNP"
    return noun.lower not in COLLECTIVES and not noun.lower.endswith("s")
