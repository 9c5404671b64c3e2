"""Scores of n-best spans: equality with the released evaluator, its peculiarities, and
strict mode.
"""

import itertools
import json
import math

import numpy as np
import pytest

from lextables import ROOT
from lextables.metrics.intervals import percentile_interval, resampled_weights
from lextables.metrics.spans import (
    UNMATCHED,
    aupr,
    contract_intervals,
    gold,
    last_by_text,
    most_probable_by_span,
    nbest_rows,
    overall_counts,
    paper_counts,
    paper_matches,
    paper_values,
    paper_words,
    precision_at_recall,
    processed,
    scores,
    strict_curve,
    strict_matches,
    strict_values,
    strict_words,
    substring_groups,
    sweep,
    threshold_group,
)
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.submitted import released_nbest

GOLDEN = json.loads(
    (ROOT / "tests/golden/cuad_scores.json").read_text(encoding="utf-8")
)
RELEASED = GOLDEN["released"]
MAUD_LOW_THRESHOLDS = (1e-4, 1e-5, 0.0)  # of MAUD's released evaluator


def answer_rows(questions):
    rows = []
    for question in questions:
        for at, text in enumerate(question["spans"]):
            row = {"question_id": question["question_id"], "index": at, "text": text}
            rows.append(row)
    return rows


def gold_of(*questions):
    """Gold data of questions, each given as (contract, category, spans)."""
    rows = [
        {"question_id": f"{c}__{k}", "contract_id": c, "category": k, "spans": spans}
        for c, k, spans in questions
    ]
    return gold(rows, answer_rows(rows))


def predicted(content):
    """N-best spans of {question id: [(text, probability), ...]}, without positions."""
    nbest = {}
    for name, spans in content.items():
        nbest[name] = [{"text": text, "probability": p} for text, p in spans]
    return released_nbest(nbest, "test")


def score_one_question(spans, predictions, category="Term", contract="C", relaxed=None):
    """The counts and the curve of one question in paper mode."""
    asked = gold_of((contract, category, spans))
    nbest = predicted({f"{contract}__{category}": predictions})
    counted = overall_counts(paper_matches(nbest, asked, relaxed), asked, sweep())
    return counted, counted.curve()


@pytest.fixture(scope="module")
def golden():
    return released_nbest(GOLDEN["nbest"], "golden"), gold(
        GOLDEN["questions"], answer_rows(GOLDEN["questions"])
    )


# Equality with the released evaluator.


@pytest.mark.parametrize("group", sorted(RELEASED))
def test_every_number_equals_that_of_the_released_evaluator(golden, group):
    nbest, asked = golden
    groups, counted = paper_counts(
        paper_matches(nbest, asked, "Parties"), asked, sweep()
    )
    curve, at = counted.curve(), groups.index(group)
    ours = {"precision": curve.precision, "recall": curve.recall} | paper_values(curve)
    assert ours.keys() == RELEASED[group].keys()
    for name, value in RELEASED[group].items():
        theirs = np.array([math.nan if item is None else item for item in value])
        np.testing.assert_array_equal(
            ours[name][at].reshape(-1), theirs, err_msg=f"{group}, {name}"
        )


# Peculiarities of the released evaluator.


def test_thresholds_equal_those_of_arange():
    thresholds = sweep()
    assert (len(thresholds), thresholds[0], list(thresholds[-2:])) == (
        101,
        0.99,
        [0.001, 0.0],
    )
    assert (np.diff(thresholds) < 0).all()
    # 93 of the thresholds are just below the decimal number, such as 0.93.
    assert sum(float(t) < round(float(t), 2) for t in thresholds[:99]) == 93
    assert list(sweep(MAUD_LOW_THRESHOLDS)[-3:]) == [1e-4, 1e-5, 0.0]


@pytest.mark.parametrize(
    ("probability", "first"),
    [
        (0.99, 1),  # not above 0.99
        (0.98, 2),  # np.arange gives exactly 0.98
        (0.93, 6),  # np.arange gives 0.9299999999999999, and 0.93 is above it
        (0.9299999999999999, 7),
        (0.001, 100),
        (1e-300, 100),
        (0.0, None),  # never, not even at the threshold 0
        (1, 0),
    ],
)
def test_a_prediction_counts_if_it_is_strictly_above_a_threshold(probability, first):
    counted, _ = score_one_question(["the term"], [("the term", probability)])
    thresholds = np.flatnonzero(counted.true_positives[0])
    assert (thresholds[0] if len(thresholds) else None) == first


@pytest.mark.parametrize(
    ("text", "paper", "strict"),
    [
        (
            "The Term, and/or: an option.",
            "the term and or an option",
            "the term andor an option",
        ),
        ("A  b", "a  b", "a b"),
        ("", "", ""),
        (" . ", "  ", ""),
        ("one\ntwo\tthree", "one\ntwo\tthree", "one two three"),
        ('the "Term" (non-compete)', 'the "term" (non-compete)', "the term noncompete"),
        ("$1,000 + 5%", "$1000 + 5%", "$1000 + 5"),
        ("“Ünder” § 3 — no", "“ünder” § 3 — no", "ünder 3 no"),
        ("a\xa0b", "a\xa0b", "a b"),
        ("ΑΣ.Α ΑΣ,", "ασα ας", "ασα ας"),
    ],
)
def test_words_of_paper_mode_and_strict_mode(text, paper, strict):
    assert paper_words(text) == {*paper.split(" ")}
    assert strict_words(text) == {*strict.split()}


# The empty word counts as a word in paper mode: {a, b, ""} and {a, ""} share 2 of 3.
@pytest.mark.parametrize(
    ("span", "text", "recall"),
    [("a  b", "a ", 1), (".", ",", 1), ("a b c", "b c d", 1), ("a b c d", "c d e", 0)],
)
def test_spans_that_share_half_of_their_words_match(span, text, recall):
    assert score_one_question([span], [(text, 0.5)])[1].recall[0, -1] == recall


def test_strict_mode_ignores_the_empty_word():
    asked, nbest = gold_of(("C", "Term", ["."])), predicted({"C__Term": [(",", 0.5)]})
    assert list(strict_matches(nbest, asked, None).gold_confidence) == [UNMATCHED]


def test_a_repeated_text_keeps_its_last_probability():
    nbest = predicted(
        {"q": [("x", 0.6), ("y", 0.3), ("x", 0.1), ("", 0.9)], "p": [("x", 0.2)]}
    )
    assert list(nbest.confidence[last_by_text(nbest)]) == [0.2, 0.1, 0.3]
    assert list(nbest.confidence[most_probable_by_span(nbest)]) == [0.2, 0.6, 0.3]


def test_the_word_empty_is_a_prediction_only_in_paper_mode():
    nonce = {
        "q": [
            {
                "text": "empty",
                "probability": 0.5,
                "token_doc_start": -1,
                "token_doc_end": -1,
            }
        ]
    }
    nbest = released_nbest(nonce, "test")
    assert len(last_by_text(nbest)) == 1
    assert len(most_probable_by_span(nbest)) == 0


def test_spans_at_two_positions_are_two_predictions_in_strict_mode():
    places = [(0, 2), (9, 11), (0, 2)]
    content = {
        "q": [
            {"text": "x", "probability": p, "token_doc_start": a, "token_doc_end": b}
            for p, (a, b) in zip((0.5, 0.3, 0.7), places, strict=True)
        ]
    }
    nbest = released_nbest(content, "test")
    assert list(nbest.confidence[most_probable_by_span(nbest)]) == [0.7, 0.3]
    assert list(nbest.confidence[last_by_text(nbest)]) == [0.7]


def test_a_category_contains_every_question_whose_id_contains_its_name():
    asked = gold_of(
        ("Alpha", "Insurance", []),
        ("Alpha", "Term", []),
        ("Insurance Agency", "Term", []),
    )
    assert asked.category_names == ["Insurance", "Term"]
    assert substring_groups(asked).tolist() == [
        [True, False, True],
        [False, True, True],
    ]


def test_a_category_contains_its_questions_even_if_ids_spell_it_differently():
    rows = [
        {
            "question_id": "c__COR convent",
            "contract_id": "c",
            "category": "COR covenant",
            "spans": ["a"],
        },
        {
            "question_id": "c__No-Shop",
            "contract_id": "c",
            "category": "No-Shop",
            "spans": ["b"],
        },
    ]
    assert substring_groups(gold(rows, answer_rows(rows))).tolist() == [
        [True, False],
        [False, True],
    ]


@pytest.mark.parametrize(
    ("contract", "category", "relaxed", "paper", "strict"),
    [
        ("C", "Parties", "Parties", 1, 1),
        ("C", "Parties", None, 0, 0),
        ("C", "Parties", "", 0, 0),
        ("C", "Term", "Parties", 0, 0),
        (
            "Deed of the Parties",
            "Term",
            "Parties",
            1,
            0,
        ),  # any id that contains the name
        ("C", "Third Parties", "Parties", 1, 0),
    ],
)
def test_matching_is_relaxed_by_substring_or_by_category(
    contract, category, relaxed, paper, strict
):
    asked = gold_of((contract, category, ["Alpha Corp."]))
    nbest = predicted(
        {
            f"{contract}__{category}": [
                ("between Alpha Corp. and many others named below", 0.5)
            ]
        }
    )
    for match, expected in ((paper_matches, paper), (strict_matches, strict)):
        matches = match(nbest, asked, relaxed)
        assert (matches.gold_confidence[0] == 0.5) == bool(expected)
        assert len(matches.miss_confidence) == 1 - expected


def test_one_prediction_can_match_two_spans_and_two_can_match_one():
    counted, _ = score_one_question(
        ["the term", "the term is"],
        [("the term", 0.9), ("the term is", 0.8), ("x", 0.7)],
    )
    assert counted.true_positives[0, 50] == 2
    assert counted.false_positives[0, 50] == 1


def test_precision_at_recall_ignores_the_last_threshold():
    # Recall is above 0 only below threshold 0.001, so the released precision at recall
    # is 0.
    _, curve = score_one_question(["the term"], [("the term", 0.0005)])
    assert curve.recall[0, -1] == 1
    assert precision_at_recall(curve, 0.8)[0] == 0
    assert aupr(curve)[0] == 1
    _, curve = score_one_question(["the term"], [("the term", 0.002)])
    assert precision_at_recall(curve, 0.8)[0] == 1


def test_precision_is_nan_if_the_last_threshold_predicts_nothing():
    _, curve = score_one_question(["the term"], [("", 1.0), ("the term", 0.0)])
    assert np.isnan(processed(curve.precision)).all()
    names = ("AUPR", "precision at 80% recall", "precision at 90% recall")
    assert {
        name: value[0] for name, value in paper_values(curve).items()
    } == dict.fromkeys(names, 0)


# Strict mode.


def test_strict_values_equal_values_computed_by_hand():
    # Precision at 0.9: 1/1; at 0.6: 1/2; at 0.5: 3/4 (two spans match); at 0.2: 3/5;
    # one span never matches.
    confidences = np.array([0.9, 0.5, 0.5, UNMATCHED])
    misses = np.array([0.6, 0.2])
    curve = strict_curve(confidences, misses)
    assert list(curve.recall) == [0.25, 0.25, 0.75, 0.75]
    assert list(curve.precision) == [1.0, 0.75, 0.75, 0.6]
    values = strict_values(confidences, misses)
    assert values["AUPR"] == 0.25 * 1.0 + 0.5 * 0.75
    assert values["precision at 80% recall"] == 0
    assert strict_values(confidences[:3], misses)["precision at 90% recall"] == 0.75
    # Four of five spans are found: a recall of exactly 80 %.
    four_of_five = np.array([0.9, 0.8, 0.7, 0.6, UNMATCHED])
    assert strict_values(four_of_five, misses)["precision at 80% recall"] == 4 / 5


def test_strict_mode_counts_confidence_0_and_uses_every_threshold():
    assert strict_values(np.array([0.0]), np.array([]))["AUPR"] == 1
    assert (
        strict_values(np.array([0.0005]), np.array([0.0004]))["precision at 90% recall"]
        == 1
    )


def test_strict_scores_are_nan_without_gold_and_0_without_predictions():
    assert all(
        math.isnan(value)
        for value in strict_values(np.array([]), np.array([0.5])).values()
    )
    assert set(strict_values(np.array([UNMATCHED]), np.array([])).values()) == {0}


# Intervals.


def test_intervals_are_computed_from_resampled_contracts(golden):
    nbest, asked = golden
    matches = paper_matches(nbest, asked, "Parties")
    intervals = contract_intervals(matches, asked, sweep(), seed=3, resamples=200)
    contracts = sorted(set(asked.contracts))
    # AUPR of each resample, in which a contract is there as often as it was drawn.
    by_hand = []
    for weights in np.concatenate(list(resampled_weights(len(contracts), 3, 200))):
        questions = []
        content = {}
        for contract, times in zip(contracts, weights, strict=True):
            for at in range(times):
                for key, owner, category, spans in zip(
                    asked.question_ids,
                    asked.contracts,
                    asked.categories,
                    asked.spans,
                    strict=True,
                ):
                    if owner == contract:
                        questions.append((f"{at} {contract}", category, list(spans)))
                        content[f"{at} {contract}__{category}"] = GOLDEN["nbest"][key]
        drawn = gold_of(*questions)
        again = paper_matches(released_nbest(content, "drawn"), drawn, "Parties")
        by_hand.append(aupr(overall_counts(again, drawn, sweep()).curve())[0])
    assert intervals["AUPR"] == pytest.approx(
        percentile_interval(np.array(by_hand)), abs=1e-12
    )
    assert intervals == contract_intervals(
        matches, asked, sweep(), seed=3, resamples=200
    )
    assert intervals["precision at 90% recall"] is None  # 0 in every resample


def test_one_contract_has_no_interval():
    rows = scores(
        predicted({"C__Term": [("the term", 0.5), ("x", 0.4)]}),
        [{"question_id": "C__Term", "contract_id": "C", "category": "Term"}],
        [{"question_id": "C__Term", "index": 0, "text": "the term"}],
        relaxed=None,
        resamples=50,
    )
    assert not [row for row in rows if row["metric"].endswith((", low", ", high"))]


# The table of scores.


@pytest.fixture(scope="module")
def table(golden):
    nbest, _ = golden
    return scores(
        nbest,
        GOLDEN["questions"],
        answer_rows(GOLDEN["questions"]),
        relaxed="Parties",
        resamples=300,
    )


def test_the_table_has_scores_of_paper_mode_and_strict_mode(table):
    score_rows = {(row["metric"], row["group"]): row for row in table}
    assert score_rows["AUPR", "all"]["value"] == RELEASED["all"]["AUPR"][0]
    assert score_rows["AUPR", "all"]["n"] == sum(
        len(question["spans"]) for question in GOLDEN["questions"]
    )
    assert (
        score_rows["AUPR, low", "all"]["value"]
        <= score_rows["AUPR", "all"]["value"]
        <= score_rows["AUPR, high", "all"]["value"]
    )
    assert score_rows["AUPR, low", "all"]["n"] == 3
    # The released filter includes all questions of the contract whose title contains
    # the word.
    assert score_rows["AUPR", "category: Insurance"]["n"] == 12
    assert score_rows["AUPR, strict", "category: Insurance"]["n"] == 4
    assert (
        score_rows["AUPR", "category: Price Restrictions"]["value"],
        score_rows["AUPR", "category: Price Restrictions"]["n"],
    ) == (0, 0)
    assert math.isnan(
        score_rows["AUPR, strict", "category: Price Restrictions"]["value"]
    )
    # 81 % recall, but only at the last threshold.
    assert score_rows["precision at 80% recall", "all"]["value"] == 0
    assert score_rows["precision at 80% recall, strict", "all"]["value"] > 0.5
    for name in ("precision", "recall"):
        curve = [score_rows[name, threshold_group(t)]["value"] for t in sweep()]
        theirs = [
            math.nan if item is None else item for item in RELEASED["all"][name][1:]
        ]
        np.testing.assert_array_equal(curve, theirs)


def test_another_task_can_have_other_categories_and_low_thresholds():
    questions = []
    kinds = ("Type of Consideration", "No-Shop")
    for contract, kind in itertools.product(("c1", "c2"), kinds):
        row = {"question_id": f"{contract}__{kind}", "contract_id": contract}
        questions.append(row | {"category": kind, "spans": ["all cash"]})
    answers = answer_rows(questions)
    nbest = predicted(
        {q["question_id"]: [("all cash", 0.00005), ("", 0.9)] for q in questions}
    )
    rows = scores(
        nbest,
        questions,
        answers,
        relaxed=None,
        low_thresholds=MAUD_LOW_THRESHOLDS,
        resamples=10,
    )
    values = {(row["metric"], row["group"]): row["value"] for row in rows}
    assert values["recall", "threshold: 0.0001"] == 0
    assert values["recall", "threshold: 0.00001"] == 1
    assert values["precision at 80% recall", "category: No-Shop"] == 1


def test_paper_mode_uses_the_released_text_and_strict_mode_the_exact_text():
    texts = [("the term ends.", "the\nterm"), ("empty", ""), ("", "")]
    rows = [
        {
            "question_id": "C__Term",
            "rank": rank,
            "released_text": released,
            "text": text,
            "start": 4 if text else -1,
            "end": 12 if text else -1,
            "probability": probability,
        }
        for rank, ((released, text), probability) in enumerate(
            zip(texts, (0.5, 0.3, 0.2), strict=True)
        )
    ]
    question = {"question_id": "C__Term", "contract_id": "C", "category": "Term"}
    values = {}
    for span in ("term ends", "term"):
        answer = {"question_id": "C__Term", "index": 0, "text": span}
        table = scores(rows, [question], [answer], relaxed=None, resamples=10)
        values[span] = {(row["metric"], row["group"]): row["value"] for row in table}
    recalls = [values[span]["recall", "threshold: 0.45"] for span in values]
    assert recalls == [1, 0]
    # The released evaluator counts the word 'empty' as a span, which matches nothing.
    assert values["term ends"]["precision", "threshold: 0.25"] == 0.5
    assert [values[span]["AUPR, strict", "all"] for span in values] == [0, 1]


# Invalid input.


def test_a_probability_that_is_nan_raises():
    rows = [
        {
            "question_id": "q",
            "rank": n,
            "released_text": "x",
            "text": "x",
            "probability": p,
        }
        for n, p in enumerate((0.5, math.nan))
    ]
    with pytest.raises(
        BadInput, match=r"predictions, question 'q', prediction 1: the probability nan"
    ):
        nbest_rows(rows)


@pytest.mark.parametrize(
    ("asked", "answered", "span", "message"),
    [
        ("abc", "b", "x", "2 questions are asked and not predicted, first 'a'"),
        ("b", "abc", "x", "2 questions are predicted and not asked, first 'a'"),
        ("ab", "ac", "x", "1 question is asked and not predicted, first 'b'"),
        ("", "a", "x", "there is no question to score"),
        ("a", "a", "", "question 'a': the gold span 0 is empty"),
    ],
)
def test_questions_that_cannot_be_scored_raise(asked, answered, span, message):
    questions = [
        {"question_id": name, "contract_id": name, "category": "Term"} for name in asked
    ]
    answers = [{"question_id": name, "index": 0, "text": span} for name in asked]
    with pytest.raises(BadInput) as error:
        scores(
            predicted({name: [("x", 0.5)] for name in answered}),
            questions,
            answers,
            relaxed=None,
        )
    assert message in str(error.value)
