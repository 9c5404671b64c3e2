"""Verb forms that the rules need, for verbs of legal English."""

import pytest

from lextables.papers.lawngnli.hypotheses import morphology

# base, VBZ, VBD, VBN
VERBS = [
    ("hold", "holds", "held", "held"),
    ("find", "finds", "found", "found"),
    ("see", "sees", "saw", "seen"),
    ("feel", "feels", "felt", "felt"),
    ("fall", "falls", "fell", "fallen"),
    ("bind", "binds", "bound", "bound"),
    ("lay", "lays", "laid", "laid"),
    ("bring", "brings", "brought", "brought"),
    ("seek", "seeks", "sought", "sought"),
    ("pay", "pays", "paid", "paid"),
    ("deny", "denies", "denied", "denied"),
    ("bar", "bars", "barred", "barred"),
    ("occur", "occurs", "occurred", "occurred"),
    ("permit", "permits", "permitted", "permitted"),
    ("transfer", "transfers", "transferred", "transferred"),
    ("focus", "focuses", "focused", "focused"),
    ("apply", "applies", "applied", "applied"),
    ("have", "has", "had", "had"),
    ("forbid", "forbids", "forbade", "forbidden"),
    ("withdraw", "withdraws", "withdrew", "withdrawn"),
    ("overrule", "overrules", "overruled", "overruled"),
    ("preempt", "preempts", "preempted", "preempted"),
    ("pre-empt", "pre-empts", "pre-empted", "pre-empted"),
    ("estop", "estops", "estopped", "estopped"),
    ("strike", "strikes", "struck", "struck"),
    ("set", "sets", "set", "set"),
]


@pytest.mark.parametrize("verb", VERBS, ids=[verb[0] for verb in VERBS])
def test_verbs_are_inflected_and_lemmatised(verb):
    base = verb[0]
    for form, tag in zip(verb, ("VB", "VBZ", "VBD", "VBN"), strict=True):
        assert morphology.inflect(base, tag) == form
        assert morphology.lemma(form, tag) == base
    assert morphology.inflect(base, "VBP") == base
    assert morphology.lemma(base.upper(), "VBP") == base


def test_the_base_form_depends_on_the_tag():
    assert morphology.lemma("found", "VBD") == "find"
    assert morphology.lemma("found", "VBP") == "found"
    assert morphology.lemma("saw", "VBD") == "see"
    assert morphology.lemma("saw", "VBP") == "saw"
    assert morphology.lemma("lay", "VBP") == "lay"


@pytest.mark.parametrize(
    ("do", "tag"), [("does", "VBZ"), ("do", "VBP"), ("Did", "VBD")]
)
def test_the_tense_of_do_is_recognised(do, tag):
    assert morphology.tense_of(do) == tag
    assert morphology.DO[tag] == do.lower()


@pytest.mark.parametrize(
    ("form", "past", "participle"),
    [
        ("reversed", True, True),
        ("gave", True, False),
        ("given", False, True),
        ("held", True, True),
    ],
)
def test_past_tenses_and_participles_are_recognised(form, past, participle):
    assert (morphology.is_past(form), morphology.is_participle(form)) == (
        past,
        participle,
    )


@pytest.mark.parametrize(
    ("form", "tag", "expected"),
    [
        ("trigger", "VBZ", "VBP"),
        ("triggers", "VBP", "VBZ"),
        ("bars", "VBZ", "VBZ"),
        ("barred", "VBD", "VBD"),
        ("extends", "VBD", "VBZ"),
        ("extends", "VBN", "VBZ"),
        ("remand", "VBD", "VBP"),
        ("held", "VBN", "VBD"),
    ],
)
def test_wrong_tags_are_corrected_by_the_verb_form(form, tag, expected):
    assert morphology.finite_tag(form, tag) == expected


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("applies", True),
        ("Pre-empted", True),
        ("priority", False),
        ("statute", False),
        ("held", True),
    ],
)
def test_verbs_are_recognised(form, expected):
    assert morphology.is_verb(form) == expected


@pytest.mark.parametrize(
    ("word", "article"),
    [
        ("defense", "a"),
        ("excuse", "an"),
        ("unlawful", "an"),
        ("uniform", "a"),
        ("unanimous", "a"),
        ("uninsured", "an"),
        ("unimportant", "an"),
        ("useful", "a"),
        ("European", "a"),
        ("one-year", "a"),
        ("honest", "an"),
        ("hearing", "a"),
        ("heir", "an"),
        ("hour", "an"),
        ("Act", "an"),
    ],
)
def test_indefinite_articles(word, article):
    assert morphology.indefinite_article(word) == article


def test_verb_lists_that_exclude_each_other_do_not_overlap():
    needing_no_object = [
        morphology.INTRANSITIVE,
        morphology.ABSOLUTE,
        frozenset(morphology.GOVERNING),
    ]
    needing_one = [morphology.RECEIVING, morphology.TELLING]
    for free in needing_no_object:
        assert not any(free & bound for bound in needing_one)
    assert not morphology.INTRANSITIVE & morphology.ABSOLUTE
    assert morphology.AUTHORITIES < morphology.AGENTS


@pytest.mark.parametrize(
    ("form", "noun"),
    [
        ("judges", "judge"),
        ("women", "woman"),
        ("Congress", "congress"),
        ("State", "state"),
    ],
)
def test_singular_forms_of_nouns(form, noun):
    assert morphology.singular(form) == noun
