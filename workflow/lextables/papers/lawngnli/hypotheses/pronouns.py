"""Rule 1 of the contradiction algorithm: indefinite pronouns of the subject (A.1.5,
item 1).
"""

from lextables.papers.lawngnli.hypotheses.adjective_phrases import (
    is_predicate,
    predicate_head,
)
from lextables.papers.lawngnli.hypotheses.clause_words import (
    VerbForm,
    verb_form,
    verbs_of,
)
from lextables.papers.lawngnli.hypotheses.polarity import (
    Change,
    Rejected,
    cased,
    change_either,
    has_adverb,
    is_contrasted,
    with_negation,
    without_negation,
)
from lextables.papers.lawngnli.hypotheses.tree import (
    Clause,
    Edit,
    Node,
    Token,
    Tree,
    core,
    replace,
)
from lextables.papers.lawngnli.hypotheses.verb_phrases import negation_of
from lextables.papers.lawngnli.hypotheses.vocabulary import PRONOUNS, VERBAL


def indefinite_pronoun(tree: Tree, clause: Clause) -> Change | Rejected | None:
    """Change the first contradictable indefinite pronoun of the subject.

    Such words are "some", "any" and "no", "someone" and similar pronouns, "either … or"
    and "neither … nor", and "not all".  Words of the noun phrase itself count, and the
    word before it, which parsers often leave outside the phrase.  Words in phrases and
    clauses that follow the noun do not count: "persons with some interest" says nothing
    of "some persons".
    """
    tokens = tree.tokens
    group = verbs_of(tree, clause)
    # Without a finite verb the clause states something only if it has a predicate.
    if group is not None and tree.word(group.first - 1) == "to":
        return Rejected("bare verb")  # "no power in courts to act"
    if group is None or verb_form(tree, clause, group) is VerbForm.PARTICIPLE:
        head = predicate_head(tree, clause)
        if head is None or tokens[head].tag == "VBG":
            return None
        if not is_predicate(tree, clause, head, is_negated=True):
            return None
    verb = clause.predicate.start
    if group is not None:
        verb = group.first
    base = core(clause.subject)
    first = max(clause.node.start, clause.subject.start - 1)
    for i in range(first, base.end):
        is_pronoun = tree.word(i) in PRONOUNS or tree.word(i) in ("no", "some", "any")
        if is_pronoun and has_adverb(tree, i):
            return Rejected("adverb of the pronoun")  # "almost no", "at least some"
        outcome = _contradicted(tree, clause, base, i, tokens[verb])
        if outcome is not None:
            return outcome
    return None


def _contradicted(
    tree: Tree, clause: Clause, base: Node, i: int, verb: Token
) -> Change | Rejected | None:
    """Return the outcome for the word at ``i``; None if it is no such pronoun.

    ``base`` is the core of the subject, ``verb`` the first of the predicate.
    """
    tokens = tree.tokens
    text = tokens[i].text
    word = tree.word(i)
    following = tree.word(i + 1)
    joiners = [child for child in clause.subject.children if child.label == "CC"]
    is_singular = verb.tag == "VBZ" or verb.lower == "was"
    is_joined = base is not clause.subject and len(joiners) > 0
    match word:
        case "neither" | "either":
            if tokens[i + 1].tag.startswith(VERBAL):
                return Rejected("inverted clause")
            return change_either(tree, clause, i, clause.subject.end)
        case "no" | "none" | "nobody" | "nothing" if is_joined:
            return Rejected("negation in a coordinated subject")
        case "no" | "none" | "nobody" | "nothing" | "not" if "but" in tree.words(
            i, clause.subject.end
        ):
            return Rejected("not … but")  # "no one but the owner may sue"
        case "no" | "any" if following in ("doubt", "wonder", "number"):
            return Rejected(f"{word} {following}")
        case "no" if i > base.start and tokens[i - 1].tag.startswith("NN"):
            return Rejected("predicate without a verb")  # "delay no bar to suit"
        case "no" if following == "one":
            edit = Edit(i, i + 2, cased(text, "someone"))
        case "no" if tree.word(i + 2) == "than":
            # "No fewer than six States tax it".
            edit = Edit(i, i + 2, cased(text, tokens[i + 1].text))
        case "no":
            edit = replace(i, *cased(text, "some"))
        case "none" if following != "of":
            return Rejected("none alone")
        case "none" if is_singular and _is_of_several(tree, clause.subject):
            edit = replace(i, *cased(text, "one"))
        case "none" | "nobody" | "nothing":
            edit = replace(i, *cased(text, PRONOUNS[word]))
        case "not" if following != "guilty":
            edit = Edit(i, i + 2, cased(text, tokens[i + 1].text))
            kind = "not in the subject removed"
            return without_negation(tree, clause, i, [edit], kind)
        case "some" if "others" in tree.words(i):
            return Rejected("some and others")
        case "some" | "any":
            if _holds_clause(tree, clause.subject):
                return Rejected("structure unclear")
            if is_joined:
                return None
            negative = "no" if i + 1 < base.end else "none"
            return _negative_subject(tree, clause, replace(i, *cased(text, negative)))
        case _ if word in PRONOUNS:
            edit = replace(i, *cased(text, PRONOUNS[word]))
            return _negative_subject(tree, clause, edit)
        case _:
            return None
    last = clause.subject.end - 1
    return without_negation(tree, clause, last, [edit], "negative subject removed")


def _is_of_several(tree: Tree, subject: Node) -> bool:
    """Return whether "of" and several things follow: "none of the fees", "none of
    them", but not "none of the evidence".
    """
    words = tree.words(subject.start, subject.end)
    for token in tree.tokens[subject.start + words.index("of") : subject.end]:
        if token.tag.startswith("NN"):
            return token.tag in ("NNS", "NNPS")
    return not {"this", "that", "it"}.intersection(words)


def _holds_clause(tree: Tree, subject: Node) -> bool:
    """Return whether an article or pronoun follows a noun: "any damages he can
    prove".
    """
    for i in range(subject.start + 1, subject.end):
        follows_noun = tree.tokens[i - 1].tag.startswith("NN")
        if follows_noun and tree.tokens[i].tag in ("DT", "PRP", "PRP$"):
            return True
    return False


def _negative_subject(tree: Tree, clause: Clause, edit: Edit) -> Change | Rejected:
    """Return the change to a negative subject; before a negated verb it is rejected."""
    group = verbs_of(tree, clause)
    if group is not None and negation_of(tree, clause, group) is not None:
        return Rejected("double negation")  # "no rights are not waived"
    end = clause.subject.end
    if is_contrasted(tree, range(end, clause.node.end)):
        return Rejected("contrasted with a negation")
    return with_negation(tree, clause, (end - 1, end - 1), [edit], "negative subject")
