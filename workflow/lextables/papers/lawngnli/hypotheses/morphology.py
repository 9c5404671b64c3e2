"""English verb forms, for rules that add or remove "do".

Forms come from lemminflect (lookup tables from the NIH SPECIALIST lexicon, and a small
network for words outside it).  It needs numpy alone and names the tag that it inflects
for, so a form can be checked by inflecting it back; a lemmatizer that sees the form
alone cannot tell the past tense "saw" from the verb "to saw".
"""

from functools import cache

DO = {"VBZ": "does", "VBP": "do", "VBD": "did"}
"""The form of "do" that carries the tense and number of a tag."""

# Lists of verbs for forms that can be a past tense or a participle.  Taggers often
# confuse the two in the clipped style of parentheticals ("conviction reversed",
# "employee confessed").  A verb in no list needs an object: without an object its past
# form is a passive participle.

INTRANSITIVE = frozenset(
    "abound abstain accede accrue acquiesce act adhere agree appear apply arise arrive assent attempt "
    "balk begin behave belong campaign cease clash coexist cohabit coincide collapse collide collude "
    "come commence compete complain comply comport concur confer confess conform consent consist "
    "conspire continue contribute converge cooperate correspond culminate decay decline default depart "
    "depend derive desist deteriorate deviate die differ disagree disappear discriminate dissent dwell "
    "elapse embark emerge emigrate endure engage err escape evolve exist expire fail fall falter fare "
    "fight flee flourish flow function gamble go graduate happen hesitate immigrate inhere inquire "
    "insist interact intercede interfere intervene intrude lag lapse lead lie linger live lobby look "
    "march matter mature migrate mingle negotiate object occur originate participate perish persevere "
    "persist pertain plead posit preside prevail proceed profit proliferate prosper react rebel recede "
    "recoup recur refrain relapse rely remain renege reply reside resign respond result retaliate "
    "retire retreat rise rule secede seem shrink sit speak speculate stand stem strive struggle "
    "subsist succeed succumb suffer suffice survive sympathize talk testify thrive travel trespass "
    "vanish vary vote wait walk wander waver withdraw work yield".split()
)
"""Verbs whose past form without an object is a past tense and not a passive
participle.
"""

ABSOLUTE = frozenset(
    "acknowledge affirm answer appeal argue ask communicate concede conclude contract decide drive "
    "explain file imply indicate lose marry move note observe operate pay petition protest reason "
    "refuse remand reverse run settle sign submit sue surrender win write".split()
)
"""Verbs with or without an object.  Without one, the past form is a past tense if the
subject can act, and a participle if it cannot.
"""

GOVERNING = {
    "account": "for",
    "bear": "on",
    "call": "for",
    "focus": "on",
    "hinge": "on",
    "look": "to",
    "point": "to",
    "provide": "for",
    "refer": "to",
    "rest": "on",
    "serve": "as",
}
"""Verbs that have no object but the preposition's: "statute provided for review"."""

RECEIVING = frozenset(
    "accord afford allot allow assess assign award charge deny fine forgive give grant guarantee "
    "permit".split()
)
"""Verbs whose passive participle keeps an object: "respondents denied counsel"."""

PREDICATING = frozenset(
    "adjudge call consider declare deem designate elect find hold label name style term".split()
)
"""Verbs whose passive participle keeps a predicate: "elimination of parole held an ex
post facto law".
"""

TELLING = frozenset(
    "advise assure convince inform instruct notify persuade tell warn".split()
)
"""Verbs whose passive participle keeps a clause: "suspect told that he may leave"."""

ATTEMPTING = frozenset(
    "agree aim arrange attempt cease choose conspire continue decide decline elect endeavor fail happen "
    "hesitate hope learn manage move neglect offer plan prefer pretend proceed promise refuse resolve "
    "seek strive struggle tend threaten try undertake volunteer vote want wish".split()
)
"""Verbs whose past form before an infinitive is a past tense: "officer attempted to
stop".
"""

INTENDING = frozenset(("intend", "mean"))
"""Verbs whose past form before an infinitive is a past tense if the subject acts
("Congress intended to preempt"), else a participle ("statute intended to preempt").
"""

MAKING = frozenset("keep leave make render".split())
"""Verbs that have an adjective after their object: "factors making relief less
just".
"""

VERBS_ALONE = frozenset(
    "apply arise authorize comport confer constitute create decide exceed extend forbid include "
    "incorporate involve pre-empt preclude preempt prevent prohibit protect provide require satisfy seek "
    "sue violate".split()
)
"""Verbs whose forms in "-s" taggers take for plural nouns, although there are no such
nouns.
"""

AUTHORITIES = frozenset(
    "agency attorney authority board city commission commissioner committee congress council county "
    "court department director government governor house judge jury justice legislature magistrate "
    "officer official police president prosecutor regent secretary senate state town tribunal trustee "
    "village warden".split()
)
"""Persons and bodies that grant and deny.  If the subject is one of them, a past form
before an object is a past tense: "court denied the motion".
"""

AGENTS = AUTHORITIES | frozenset(
    "adult agent alien appellant appellee applicant association author bank broker buyer candidate "
    "carrier charterer child citizen claimant client company congressman consumer contractor "
    "corporation counsel creditor customer debtor defendant demonstrator dentist detainee doctor driver "
    "editor employee employer executor father firm guard heir holder husband indian indictee informant "
    "inmate insurer juror lawyer lender licensee man manager manufacturer member minor mother motorist "
    "newspaper nurse operator organization owner parent parolee partner party passenger patient person "
    "petitioner physician pilot plaintiff prisoner publisher purchaser railroad reporter resident "
    "respondent sailor school seaman seller senator serviceman sheriff shipowner soldier spouse "
    "stockholder striker student supplier suspect taxpayer teacher tenant tribe union victim voter "
    "widow wife witness woman worker youth".split()
)
"""Persons and bodies that act.  If the subject is one of them, a past form may be a
past tense: what the subject did.
"""

_DO_TAGS = {form: tag for tag, form in DO.items()}

# Beginnings of words whose article does not follow from the first letter: "an hour", "a
# union"; `_NOT_UNI` has the exceptions from "uni", as in "an unimportant".
_AN = ("hour", "honest", "honor", "honour", "heir")
_A = ("uni", "unanim", "use", "usu", "usa", "eu", "one", "once", "ubiq", "uti")
_NOT_UNI = ("unin", "unim", "unid")


@cache
def lemma(form: str, tag: str) -> str:
    """Return the base form of the verb ``form`` with the Penn Treebank ``tag``; case is
    not kept.

    Of several possible base forms the first that inflects back to ``form`` is taken, so
    that "found" with the tag VBD is "find" and not "found".
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
    """Return the form of the verb ``base`` for the Penn Treebank ``tag``; of several
    the commonest.
    """
    if tag in ("VB", "VBP"):
        return base
    forms = _forms(base, tag)
    return forms[0] if forms else base


@cache
def _forms(base: str, tag: str) -> tuple[str, ...]:
    """Return the forms of the verb ``base`` for a tag, the commonest first."""
    from lemminflect import getInflection

    return tuple(getInflection(base, tag))


def tense_of(do: str) -> str:
    """Return the tag of a form of "do": "does" is VBZ, "do" VBP, "did" VBD."""
    return _DO_TAGS[do.lower()]


def finite_tag(form: str, tag: str) -> str:
    """Return the tag of ``form`` as a finite verb: VBD, VBZ or VBP.

    ``tag`` may be wrong, so the form decides: "trigger" is not VBZ, and neither
    "extends" nor "remand" is VBD.
    """
    if tag in ("VBN", "VBD") and is_past(form):
        return "VBD"
    return "VBZ" if form.lower() in _forms(lemma(form, "VBZ"), "VBZ") else "VBP"


def is_verb(form: str) -> bool:
    """Tell whether the lexicon has ``form`` as a form of a verb, with a hyphen or
    without.
    """
    from lemminflect import getLemma

    spellings = {
        form.lower(),
        form.lower().replace("-", ""),
        form.lower().rpartition("-")[2],
    }
    return any(
        getLemma(spelling, "VERB", lemmatize_oov=False)
        for spelling in sorted(spellings)
    )


def is_noun(form: str) -> bool:
    """Tell whether the lexicon has ``form`` as a form of a noun."""
    from lemminflect import getLemma

    return bool(getLemma(form.lower(), "NOUN", lemmatize_oov=False))


@cache
def singular(form: str) -> str:
    """Return the singular of the noun ``form`` in lower case, even if ``form`` is a
    singular already.

    The lexicon leaves out plurals that are verbs too, such as "judges"; these only lose
    their ending.
    """
    from lemminflect import getLemma

    lowered = form.lower()
    lemmas = getLemma(lowered, "NOUN", lemmatize_oov=False)
    if lemmas:
        return lemmas[0]
    if lowered.endswith("ss"):
        return lowered
    return lowered.removesuffix("s")


def is_participle(form: str) -> bool:
    """Tell whether ``form``, a past form, can be a past participle ("reversed",
    "given", not "gave").
    """
    return form.lower() in _forms(lemma(form, "VBN"), "VBN")


def is_past(form: str) -> bool:
    """Tell whether ``form``, a past form, can be a past tense ("reversed", "gave", not
    "given").
    """
    return form.lower() in _forms(lemma(form, "VBD"), "VBD")


def indefinite_article(word: str) -> str:
    """Return "a" or "an", whichever goes before ``word``, by its spelling."""
    lowered = word.lower()
    if lowered.startswith(_AN):
        return "an"
    if lowered.startswith(_A) and not lowered.startswith(_NOT_UNI):
        return "a"
    return "an" if lowered[:1] in "aeiou" else "a"
