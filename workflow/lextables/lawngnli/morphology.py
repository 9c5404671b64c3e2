"""English verb forms, for rules that add or remove "do".

Forms come from lemminflect (lookup tables from the NIH SPECIALIST lexicon, and a small network for words
outside it).  It needs numpy alone and names the tag that it inflects for, so a form can be checked by
inflecting it back; a lemmatizer that sees the form alone cannot tell the past tense "saw" from the verb
"to saw".
"""

from functools import cache

DO = {"VBZ": "does", "VBP": "do", "VBD": "did"}
"""The form of "do" that carries the tense and number of a tag."""

# Which reading a form has that can be a past tense or a participle, as taggers often cannot tell in the
# clipped style of parentheticals ("conviction reversed", "employee confessed").

INTRANSITIVE = frozenset(
    "accrue acquiesce act adhere agree appear apply arise arrive assent begin belong cease cohabit "
    "collude come commence compete complain comply concur confess consent conspire cooperate depend "
    "derive deviate die differ disagree dissent elapse emerge emigrate engage err evolve exist expire "
    "fail fall flee flow go happen hesitate inhere insist interact interfere intervene lapse lead lie "
    "live look matter mature object occur originate participate persist pertain plead prevail proceed "
    "profit proliferate react recede recur refrain rely remain reside respond result retire rise rule "
    "seem speak stand stem strive succeed sue suffice survive testify travel turn vary vote wait walk "
    "work".split()
)
"""Verbs whose past form without an object is a past tense and not a passive participle."""

TRANSITIVE = frozenset(
    "abolish abrogate acquire adopt allow amend analyze appoint arrest assert assess authorize award ban "
    "bar base bind chain challenge cite commit compel confine construe contaminate convict deem defraud "
    "deliver deny deprive detain dismiss enact enforce enjoin entitle exclude exempt expose file find "
    "forbid grant hire implicate impose impound incorporate indict inform injure introduce invalidate "
    "invest limit locate make mandate obtain offer order overrule perform permit pre-empt preclude "
    "preempt prescribe proffer prohibit protect publish question raise ratify receive reject render "
    "require restrict review revoke seize sentence shackle strike subject submit subpoena summarize "
    "support suppress suspend sustain tender toll treat uphold use vacate violate void waive withhold".split()
)
"""Verbs whose past form without an object is a passive participle, whatever the subject."""

DITRANSITIVE = frozenset(
    "accord afford allot allow assess assign award charge deny forgive give grant guarantee lend loan "
    "offer owe pay permit promise refuse send serve show teach tell".split()
)
"""Verbs whose passive participle keeps an object: "respondents denied counsel"."""

RAISING = frozenset(
    "adjudge allege allow assume authorize believe bind compel consider construe convict deem design "
    "direct empower enable encourage entitle estop find force hold induce instruct intend know lead "
    "obligate oblige order permit presume prohibit prove remand report require rule say show suppose "
    "think treat understand urge use".split()
)
"""Verbs that need an object before an infinitive: "plan held to be valid" is passive."""

LINKING = frozenset(
    "appear be become fall feel get go grow lie look plead prove remain seem stand stay turn".split()
)
"""Verbs that take an adjective themselves; others before one are passive: "search deemed valid"."""

_DO_TAGS = {form: tag for tag, form in DO.items()}

_AN = ("hour", "honest", "honor", "honour", "heir")
_A = ("uni", "unanim", "use", "usu", "usa", "eu", "one", "once", "ubiq", "uti")
_NOT_UNI = ("unin", "unim", "unid")


@cache
def lemma(form: str, tag: str) -> str:
    """Return the base form of the verb ``form`` with the Penn Treebank ``tag``; case is not kept.

    Of several possible base forms the first that inflects back to ``form`` is taken, so that "found" with
    the tag VBD is "find" and not "found".
    """
    from lemminflect import getLemma

    lowered = form.lower()
    if tag == "VB":
        return lowered
    candidates = getLemma(lowered, "VERB") or (lowered,)
    for candidate in candidates:
        if lowered in _forms(candidate, tag):
            return candidate
    return candidates[0]


@cache
def inflect(base: str, tag: str) -> str:
    """Return the form of the verb ``base`` for the Penn Treebank ``tag``; of several the commonest."""
    if tag in ("VB", "VBP"):
        return base
    forms = _forms(base, tag)
    return forms[0] if forms else base


@cache
def _forms(base: str, tag: str) -> tuple[str, ...]:
    from lemminflect import getInflection

    return tuple(getInflection(base, tag))


def tense_of(do: str) -> str:
    """Return the tag of a form of "do": "does" is VBZ, "do" VBP, "did" VBD."""
    return _DO_TAGS[do.lower()]


def finite_tag(form: str, tag: str) -> str:
    """Return ``tag``, or the other present-tense tag if the form itself tells: "trigger" is not VBZ."""
    if tag not in ("VBZ", "VBP"):
        return tag
    return "VBZ" if form.lower() in _forms(lemma(form, "VBZ"), "VBZ") else "VBP"


def is_verb(form: str) -> bool:
    """Tell whether the lexicon has ``form`` as a form of a verb, with a hyphen or without."""
    from lemminflect import getLemma

    spellings = {form.lower(), form.lower().replace("-", ""), form.lower().rpartition("-")[2]}
    return any(getLemma(spelling, "VERB", lemmatize_oov=False) for spelling in sorted(spellings))


def is_participle(form: str) -> bool:
    """Tell whether ``form``, a past form, can be a past participle ("reversed", "given", not "gave")."""
    return form.lower() in _forms(lemma(form, "VBN"), "VBN")


def is_past(form: str) -> bool:
    """Tell whether ``form``, a past form, can be a past tense ("reversed", "gave", not "given")."""
    return form.lower() in _forms(lemma(form, "VBD"), "VBD")


def indefinite_article(word: str) -> str:
    """Return "a" or "an", whichever goes before ``word``, by its spelling."""
    lowered = word.lower()
    if lowered.startswith(_AN):
        return "an"
    if lowered.startswith(_A) and not lowered.startswith(_NOT_UNI):
        return "a"
    return "an" if lowered[:1] in "aeiou" else "a"
