"""Candidate spans of a contract for the linear baseline, and their features."""

import math

import numpy as np
import pytest
from sklearn.feature_extraction import FeatureHasher

from lextables.tasks.spans.candidates import (
    FAR,
    FORM_FEATURES,
    WORD_WEIGHT,
    Candidates,
    candidate_features,
    candidates,
    context_features,
    dates,
    new_answers,
    overlap_features,
    part_words,
    text_features,
    titles,
)
from lextables.tasks.spans.segments import Segments

# Columns of `text_features`: the form of a text, then the mentions of a part.
FORM = slice(0, FORM_FEATURES)
CAPITAL = 5
AFTER_BREAK = 7
MENTIONS = slice(FORM_FEATURES, None)
DEFINED = FORM_FEATURES + 1
QUOTED = FORM_FEATURES + 3
SIGNED = FORM_FEATURES + 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("as of June 21, 1999 (the", ["June 21, 1999"]),
        (
            "this 14th day of March, 2016 and 1/2/2010",
            ["14th day of March, 2016", "1/2/2010"],
        ),
        ("the ____ day of May, 20__", ["the ____ day of May, 20__"]),
        ("in part 3 of the Agreement", []),
    ],
)
def test_dates_are_found(text, expected):
    assert [text[start:end] for start, end in dates(text)] == expected


def test_titles_exclude_the_text_before_them():
    text = "EXHIBIT 10.2 SUPPLY AGREEMENT between us and the Company"
    assert [text[start:end] for start, end in titles(text)] == ["SUPPLY AGREEMENT"]
    assert titles("we sell goods") == []


def test_candidates_are_segments_runs_of_segments_and_parts_of_segments():
    segments = Segments.from_texts(
        ["First one. Second on May 1, 2001 it is. Third one. Fourth.", ""]
    )
    given = candidates(segments, np.array([3.0, 2.0, 1.0, 0.0]), 2, ["date"])
    second = "Second on May 1, 2001 it is."
    assert given.texts(segments) == [
        "First one.",
        f"First one. {second}",
        second,
        "May 1, 2001",
    ]
    assert given.is_part.tolist() == [False, False, False, True]
    without_runs = candidates(segments, np.zeros(4), 2, [], runs=False)
    assert without_runs.last_segment.tolist() == [0, 1]


def test_names_are_candidates_only_at_their_first_mention():
    text = "we pay Acme at once. They pay Acme at once. He and Acme pay."
    segments = Segments.from_texts([text])
    given = candidates(segments, np.array([0.0, 2.0, 1.0]), 3, ["name"])
    starts = [
        text.index(name) for name in ("Acme", "They", "He and Acme", "He and Acme")
    ]
    assert sorted(given.take(given.is_part).start.tolist()) == starts
    dated = Segments.from_texts(["On May 1, 2001 we met. On May 1, 2001 we left."])
    assert candidates(dated, np.zeros(2), 2, ["date"]).is_part.sum() == 2


def test_context_and_text_features():
    segments = Segments.from_texts(
        ['We, Acme Inc. ("Acme"), shall pay.\nYou: 20 days', ""]
    )
    given = candidates(segments, np.array([1.0, 0.0]), 2, ["name"])
    scores_ = np.array([[1.0, 3.0, 2.0], [0.0, -1.0, -4.0]])
    others = context_features(given, scores_, 0)
    whole = given.first_segment == given.last_segment
    assert others[whole & (given.first_segment == 0)][0].tolist() == [3.0, -2.0, 2.0]
    assert others[~whole].tolist() == [[1.0, -0.5, -1.0]]
    assert (
        context_features(given, scores_[:, :1], 0)[0, 0] < -10
    )  # there is no other category
    form = dict(zip(given.texts(segments), text_features(given, segments), strict=True))
    length, capitals, *_ = form["Acme"]
    assert (length, capitals) == (1, 1)
    defined, quoted = form["Acme"][DEFINED], form["Acme"][QUOTED]
    assert (defined, quoted, form["We"][DEFINED]) == (1, 1, 0)
    assert text_features(given.take(np.zeros(0, dtype=int)), segments).shape == (
        0,
        len(form["Acme"]),
    )


def test_a_blank_between_quotes_is_no_defined_name():
    text = 'Acme Inc. (the "   ") pays ("Acme").'
    assert features_of(text, "Acme Inc")[DEFINED] == 0
    assert features_of(text, "Acme")[DEFINED] == 1


@pytest.mark.parametrize("length", [600, 1_200, 3_100, 40_000])
def test_a_name_is_looked_for_among_the_signatures_of_long_and_short_contracts(length):
    filling = "and so on. " * (length // 11)
    signed = f"{filling}Signed: Acme Inc. {filling[:1_400]}"
    assert features_of(signed, "Acme Inc")[SIGNED] == 1
    long_rest = f"Acme Inc. {filling}{'and so on. ' * 400}"
    assert features_of(long_rest, "Acme Inc")[SIGNED] == 0


def test_a_part_after_a_line_break_at_the_start_of_a_contract_has_its_feature():
    text = "\nFee: 5"
    segments = Segments.from_texts([text, ""])
    given = candidates(segments, np.array([1.0, 0.0]), 2, ["name"])
    features = text_features(given, segments)
    of_fee = features[given.start == 1]
    assert len(of_fee)
    assert (of_fee[:, AFTER_BREAK] == 1).all()
    assert (of_fee[:, CAPITAL] == 1).all()


def features_of(text, span):
    """The features of a part of a contract, as its first place in the text."""
    start = text.index(span)
    columns = [np.array([value]) for value in (0, 0, 0, start, start + len(span))]
    given = Candidates(*columns, np.array([True]))
    (features,) = text_features(given, Segments.from_texts([text])).tolist()
    return features


@pytest.mark.parametrize(
    ("span", "form"),
    [
        # words, share of capitals, all capitals, last . or ;, last :, first a capital,
        # first a digit or (, commas, digits, shall or will, not, provided or except,
        # means, hereby
        ("Acme", [1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("20 DAYS", [2, 1 / 2, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0]),
        (
            "(a) it will not, except 12, pay;",
            [7, 0, 0, 1, 0, 0, 1, 2, 2, 1, 0, 1, 0, 0],
        ),
        ("Provided 3 days.", [3, 1 / 3, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0]),
        (
            "Fee means what it shall not and will hereby be:",
            [10, 1 / 10, 0, 0, 1, 1, 0, 0, 0, 2, 1, 0, 1, 1],
        ),
    ],
)
@pytest.mark.parametrize(
    ("before", "after", "breaks"),
    [
        ("\nxy", "xy\n", [1, 1]),
        ("\nxyz", "xyz\n", [0, 0]),
        ("\n", "xyz", [1, 0]),
        ("", "\n", [0, 1]),
    ],
)
def test_the_form_of_a_part(span, form, before, after, breaks):
    features = features_of(before + span + after, span)[FORM]
    assert features == pytest.approx([*form[:7], *breaks, *form[7:]])


@pytest.mark.parametrize(
    ("span", "text", "features"),
    [
        # mentions, whether and where defined, quotes before and after, company, among
        # the signatures
        ("Roe", '12 ("Roe") and Roe.{}', [3, 1, 4, 1, 1, 0, 0]),
        ("Roe", "12 Roe {} Roe", [3, 0, None, 0, 0, 0, 1]),
        ("Roe Inc.", 'as Roe Inc. (the "Roe").{}', [2, 0, None, 0, 1, 1, 0]),
        ("the Roe", 'to the Roe.   "Roe" (x) "roe".{}', [2, 1, 14, 0, 0, 0, 0]),
    ],
)
def test_the_mentions_of_a_part(span, text, features):
    count, is_defined, place, *others = features
    distance = FAR if place is None else math.log(place + 1)
    expected = [math.log(count), is_defined, distance, *others]
    contract = text.format(" z" * 2000)
    assert features_of(contract, span)[MENTIONS] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "part", "words"),
    [
        (
            "Now we, Acme Co, shall (by law) pay.",
            "Acme Co",
            "0 before: ,|before: ,|1 before: we|before: we|2 before: now|before: now|"
            "0 after: ,|after: ,|1 after: shall|after: shall|2 after: (|after: (|3 after: by|after: by|"
            "in: acme|in: co|begins: acme|no capitals|inside|2 words",
        ),
        (
            "ACME it is.",
            "ACME",
            "0 after: it|after: it|1 after: is|after: is|2 after: .|after: .|"
            "in: acme|begins: acme|capitals|at the start|1 words",
        ),
        # Only the 60 characters on each side are beside a part.
        (
            f"now{'b' * 59} Acme {'c' * 59}later",
            "Acme",
            f"0 before: {'b' * 59}|before: {'b' * 59}|0 after: {'c' * 59}|after: {'c' * 59}|"
            "in: acme|begins: acme|no capitals|inside|1 words",
        ),
    ],
)
def test_the_words_in_and_beside_a_part(text, part, words):
    segments = Segments.from_texts([text])
    start = text.index(part)
    ends = [[start, 0], [start + len(part), len(text)]]
    zero = np.zeros(2, dtype=int)
    given = Candidates(zero, zero, zero, *np.array(ends), np.array([True, False]))
    hasher = FeatureHasher(2**14, input_type="string")
    expected = hasher.transform([words.split("|"), []]).toarray()
    assert (part_words(given, segments).toarray() == WORD_WEIGHT * expected).all()


def test_the_features_of_candidates_by_hand():
    segments = Segments.from_texts(
        ["One here. Two there. Three more.", "", "Lone one."]
    )
    logits = np.array([1.0, 3.0, -1.0, 0.5])
    columns = [
        [0, 0, 0, 2],  # contract
        [1, 0, 2, 3],  # first segment
        [1, 1, 2, 3],  # last segment
        [10, 0, 21, 0],  # start
        [20, 20, 26, 9],  # end
    ]
    is_part = np.array([False, False, True, False])
    given = Candidates(*np.array(columns), is_part)
    total = math.log(math.exp(1) + math.exp(3) + math.exp(-1))
    lengths = [math.log(11), math.log(21), math.log(6), math.log(10)]
    expected = {
        "highest": [3, 3, -1, 0.5],
        "lowest": [3, 1, -1, 0.5],
        # A run of two repeats its second segment.
        "mean": [3, 7 / 3, -1, 0.5],
        "before": [1, -12, 3, -12],
        "after": [-1, -1, -12, -12],
        "below the best": [0, 0, 4, 0],
        "above the best other": [2, 2, -4, 12.5],
        "total": [total, total, total, 0.5],
        "rank": [0, 0, math.log(3), 0],
        "first": [1, 1, 0, 1],
        "first two": [1, 1, 0, 1],
        "first four": [1, 1, 1, 1],
        "length": lengths,
        "square": [length**2 / 5 for length in lengths],
        "share before": [10 / 32, 0, 21 / 32, 0],
        "start": [math.log(11), 0, math.log(22), 0],
        "segments": [math.log(4), math.log(4), math.log(4), math.log(2)],
        "is a segment": [1, 0, 0, 1],
        "is a part": [0, 0, 1, 0],
        "is a run of two": [0, 1, 0, 0],
        "is a run of three": [0, 0, 0, 0],
        "above -2": [5, 5, 1, 2.5],
        "above 0": [3, 3, 0, 0.5],
        "above 2": [1, 1, 0, 0],
        "lowest of a run": [0, 1, 0, 0],
        "beside a segment": [1, 0, 0, -12],
    }
    features = candidate_features(given, segments, logits)
    assert features == pytest.approx(np.column_stack([*expected.values()]))


@pytest.mark.parametrize(
    ("characters", "from_the_end", "signed"),
    # At least 3,000 characters, and a tenth of a long contract.
    [(9_000, 2_990, 1), (9_000, 3_010, 0), (50_000, 4_990, 1), (50_000, 5_010, 0)],
)
def test_names_at_the_end_of_a_contract_are_signatures(
    characters, from_the_end, signed
):
    text = "Roe " + "z" * characters
    at = characters - from_the_end
    text = text[:at] + "Roe" + text[at + 3 : characters]
    assert features_of(text, "Roe")[SIGNED] == signed


def test_an_answer_is_new_if_no_higher_ranked_candidate_finds_it():
    segments = Segments.from_texts(["First one. Second two. Third three."])
    given = candidates(segments, np.array([3.0, 2.0, 1.0]), 2, [])
    assert given.texts(segments) == [
        "First one.",
        "First one. Second two.",
        "Second two.",
    ]
    scores_ = np.array([1.0, 0.5, 2.0])
    matched = [frozenset(), frozenset({0}), frozenset({0})]
    new, used = new_answers(given, scores_, matched)
    assert (new.tolist(), used.tolist()) == ([False, False, True], [True, False, True])
    features = overlap_features(given, scores_)
    _, overlaps_higher, highest_overlapping = features.T[:3]
    # Only the run overlaps a higher-ranked candidate.
    assert overlaps_higher.tolist() == [0, 1, 0]
    assert highest_overlapping[1] == 2.0


def test_candidates_of_different_contracts_do_not_overlap():
    segments = Segments.from_texts(["First one.", "First one."])
    given = candidates(segments, np.array([3.0, 2.0]), 2, [])
    known = overlap_features(given, np.array([1.0, 1.0]))
    assert np.array_equal(known[0], known[1])
    new, _ = new_answers(given, np.array([1.0, 1.0]), [frozenset({0}), frozenset({0})])
    assert new.all()
    nothing = Segments.from_texts([""])
    none = candidates(nothing, np.zeros(0), 2, [])
    assert overlap_features(none, np.zeros(0)).shape == (0, known.shape[1])
