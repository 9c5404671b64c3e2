"""The linear baseline for span extraction, on short synthetic contracts."""

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import LogisticRegression

from lextables.metrics.spans import Gold, nbest_rows, paper_matches, scores
from lextables.models import trees
from lextables.models.linear import (
    Linear,
    fit_dense,
    fit_few,
    fit_many,
    fit_near,
    fit_weighed,
    probabilities,
    vocabulary,
)
from lextables.pipeline.errors import BadInput
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
from lextables.tasks.spans.linear import (
    Golds,
    fit,
    load,
    nbest,
    predict,
    save,
    spans_of,
    train,
)
from lextables.tasks.spans.linear_settings import LinearRun
from lextables.tasks.spans.squad import contract_texts, training_texts
from lextables.tasks.spans.units import (
    answering,
    read_vectors,
    units,
    units_of,
    write_vectors,
)

SETTINGS = LinearRun(
    folds=3,
    alpha=1e-5,
    epochs=5,
    units=6,
    penalty=0.1,
    near=0.01,
    n_best=9,
    relaxed="Parties",
    features="words",
    share=0.3,
    percent=100,
)
# Columns of `text_features`: the form of a text, then the mentions of a part.
FORM = slice(0, FORM_FEATURES)
CAPITAL = 5
AFTER_BREAK = 7
MENTIONS = slice(FORM_FEATURES, None)
DEFINED = FORM_FEATURES + 1
QUOTED = FORM_FEATURES + 3
SIGNED = FORM_FEATURES + 6
CATEGORIES = ("Agreement Date", "Governing Law", "Parties")
FILLER = "goods shall be sent to a place that each order names and paid for at once in full by cheque".split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One here. Two there.", ["One here.", "Two there."]),
        ("Acme Inc. Holds it. Next.", ["Acme Inc. Holds it.", "Next."]),
        (
            "Under Section 2. 1 it ends! Does it? Yes",
            ["Under Section 2. 1 it ends!", "Does it?", "Yes"],
        ),
        ("By J. Smith.\n\n  12.3 Law. Ohio", ["By J. Smith.", "12.3 Law.", "Ohio"]),
        ("it goes on\n\nover the page", ["it goes on\n\nover the page"]),
        ("the list:\n(a) one;\n(b) two", ["the list:", "(a) one;", "(b) two"]),
        ("wrapped\nwithin a line; And on", ["wrapped\nwithin a line; And on"]),
        (" \n ", []),
        ("", []),
    ],
)
def test_units_are_sentences_list_items_and_lines(text, expected):
    assert [text[start:end] for start, end in units(text)] == expected


def test_only_white_space_is_between_units():
    rng = np.random.default_rng(0)
    for _ in range(300):
        text = "".join(rng.choice(list('aB1 .;:\n"()'), 60).tolist())
        outside, after = "", 0
        for start, end in units(text):
            unit = text[start:end]
            assert unit == unit.strip() != ""
            outside += text[after:start]
            after = end
        assert not (outside + text[after:]).strip()


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


def contract(number, seed=0):
    """A contract with a date, two parties and a governing law among filler text, and
    their spans.
    """
    rng = np.random.default_rng([seed, number])
    filler = [f"The {' '.join(rng.permutation(FILLER)[:9])}." for _ in range(12)]
    buyer, seller = f"Buyer{number} Inc", f"Seller{number} Ltd"
    date = f"May {1 + number % 28}, 2001"
    law = f"This paper is governed by the laws of State{number % 5} alone."
    opening = f"This Agreement is made on {date} between {buyer} and {seller} who agree as follows."
    text = "\n\n".join([opening, *filler[:6], law, *filler[6:]])
    spans = [(0, date), (1, law), (2, buyer), (2, seller)]
    places = []
    for category, words in spans:
        start = text.index(words)
        places.append((category, (start, start + len(words))))
    return text, places


@pytest.fixture(scope="module")
def model():
    texts, answers = zip(*map(contract, range(24)), strict=True)
    return fit(texts, dict(enumerate(answers)), CATEGORIES, SETTINGS).model


def test_training_is_deterministic(model, tmp_path):
    texts, answers = zip(*map(contract, range(24)), strict=True)
    again = fit(texts, dict(enumerate(answers)), CATEGORIES, SETTINGS).model
    assert_equal_predictions(model, again, texts[:4])


def assert_equal_predictions(one, other, texts):
    predicted = [predict(model, texts, 6) for model in (one, other)]
    assert predicted[0]
    for (spans, logits), (other_spans, other_logits) in zip(*predicted, strict=True):
        assert np.array_equal(spans.start, other_spans.start)
        assert np.array_equal(logits, other_logits)


def test_a_loaded_model_gives_identical_predictions(model, tmp_path):
    save(model, tmp_path / "linear.npz")
    again = load(tmp_path / "linear.npz")
    for name in ("categories", "parts", "relaxed"):
        assert getattr(again, name) == getattr(model, name)
    texts = [contract(number, seed=1)[0] for number in range(4)]
    assert_equal_predictions(model, again, texts)


def test_out_of_fold_predictions_use_models_trained_without_that_fold(monkeypatch):
    """Only one fold has annotated parties, so the models trained without it have no
    example of them.
    """
    texts, answers = zip(*map(contract, range(24)), strict=True)
    fold = np.random.default_rng(0).permutation(24) % SETTINGS.folds == 0
    marked = {}
    for number, spans in enumerate(answers):
        marked[number] = spans if fold[number] else spans[:2]
    sizes = []  # numbers of training rows, one a model
    fit_trees = trees.fit

    def fit_and_count(rows, labels):
        sizes.append(len(rows))
        return fit_trees(rows, labels)

    monkeypatch.setattr(trees, "fit", fit_and_count)
    settings = SETTINGS.model_copy(update={"out_of_fold": True})
    fitted = fit(texts, marked, CATEGORIES, settings)
    party_candidates, _ = fitted.out_of_fold[2]
    everything, *without_a_fold = sizes
    assert len(without_a_fold) == SETTINGS.folds
    assert sum(without_a_fold) == (SETTINGS.folds - 1) * everything
    # The contracts of this fold have no candidate: the model that predicts them was
    # trained on the other folds, which have no party.
    other_contracts = np.flatnonzero(~fold).tolist()
    assert set(party_candidates.contract.tolist()) == set(other_contracts)
    without = fit(texts, marked, CATEGORIES, SETTINGS)
    assert_equal_predictions(fitted.model, without.model, texts)


def test_only_the_category_of_dates_gets_dates_as_candidates(model):
    assert model.parts == (("date",), (), ())


def test_matches_equal_those_of_the_evaluator():
    texts, answers = zip(*map(contract, range(3)), strict=True)
    units = units_of(texts)
    for category in range(3):
        given = candidates(
            units, np.arange(len(units.start), dtype=float), 99, ["date"]
        )
        asked = Golds(units, dict(enumerate(answers)), category, category == 2)
        counted = [bool(those) for those in asked.matched(given)]
        assert any(counted)
        words = given.texts(units)
        for at, contract_ in enumerate(given.contract.tolist()):
            golds = []
            for answered, (start, end) in answers[contract_]:
                if answered == category:
                    golds.append(texts[contract_][start:end])
            gold = Gold(("q",), ("c",), ("x",), (tuple(golds),))
            row = {"question_id": "q", "released_text": words[at], "text": words[at]}
            one = nbest_rows(
                [{**row, "rank": 0, "start": 0, "end": 1, "probability": 0.5}]
            )
            # The question's id selects the relaxed matching.
            matches = paper_matches(one, gold, "q" if category == 2 else None)
            assert len(matches.miss_question) == (not counted[at])


def test_units_answer_if_they_overlap_an_answer_by_half():
    units = units_of(["One is here. Two is there. Three."])
    held = answering(units, {0: [(0, (13, 26)), (1, (0, 26)), (2, (10, 14))]}, 3)
    assert held.tolist() == [
        [False, True, True],
        [True, True, False],
        [False, False, False],
    ]


def test_candidates_are_units_runs_of_units_and_parts_of_units():
    units = units_of(["First one. Second on May 1, 2001 it is. Third one. Fourth.", ""])
    given = candidates(units, np.array([3.0, 2.0, 1.0, 0.0]), 2, ["date"])
    second = "Second on May 1, 2001 it is."
    assert given.texts(units) == [
        "First one.",
        f"First one. {second}",
        second,
        "May 1, 2001",
    ]
    assert given.is_part.tolist() == [False, False, False, True]
    assert candidates(units, np.zeros(4), 2, [], runs=False).last_unit.tolist() == [
        0,
        1,
    ]


def test_names_are_candidates_only_at_their_first_mention():
    text = "we pay Acme at once. They pay Acme at once. He and Acme pay."
    units = units_of([text])
    given = candidates(units, np.array([0.0, 2.0, 1.0]), 3, ["name"])
    starts = [
        text.index(name) for name in ("Acme", "They", "He and Acme", "He and Acme")
    ]
    assert sorted(given.take(given.is_part).start.tolist()) == starts
    dated = units_of(["On May 1, 2001 we met. On May 1, 2001 we left."])
    assert candidates(dated, np.zeros(2), 2, ["date"]).is_part.sum() == 2


def test_context_and_text_features():
    units = units_of(['We, Acme Inc. ("Acme"), shall pay.\nYou: 20 days', ""])
    given = candidates(units, np.array([1.0, 0.0]), 2, ["name"])
    scores_ = np.array([[1.0, 3.0, 2.0], [0.0, -1.0, -4.0]])
    others = context_features(given, scores_, 0)
    whole = given.first_unit == given.last_unit
    assert others[whole & (given.first_unit == 0)][0].tolist() == [3.0, -2.0, 2.0]
    assert others[~whole].tolist() == [[1.0, -0.5, -1.0]]
    assert (
        context_features(given, scores_[:, :1], 0)[0, 0] < -10
    )  # there is no other category
    form = dict(zip(given.texts(units), text_features(given, units), strict=True))
    length, capitals, *_ = form["Acme"]
    assert (length, capitals) == (1, 1)
    defined, quoted = form["Acme"][DEFINED], form["Acme"][QUOTED]
    assert (defined, quoted, form["We"][DEFINED]) == (1, 1, 0)
    assert text_features(given.take(np.zeros(0, dtype=int)), units).shape == (
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
    units = units_of([text, ""])
    given = candidates(units, np.array([1.0, 0.0]), 2, ["name"])
    features = text_features(given, units)
    of_fee = features[given.start == 1]
    assert len(of_fee)
    assert (of_fee[:, AFTER_BREAK] == 1).all()
    assert (of_fee[:, CAPITAL] == 1).all()


def features_of(text, span):
    """The features of a part of a contract, as its first place in the text."""
    start = text.index(span)
    columns = [np.array([value]) for value in (0, 0, 0, start, start + len(span))]
    given = Candidates(*columns, np.array([True]))
    (features,) = text_features(given, units_of([text])).tolist()
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
    units = units_of([text])
    start = text.index(part)
    ends = [[start, 0], [start + len(part), len(text)]]
    zero = np.zeros(2, dtype=int)
    given = Candidates(zero, zero, zero, *np.array(ends), np.array([True, False]))
    hasher = FeatureHasher(2**14, input_type="string")
    expected = hasher.transform([words.split("|"), []]).toarray()
    assert (part_words(given, units).toarray() == WORD_WEIGHT * expected).all()


def test_the_features_of_candidates_by_hand():
    units = units_of(["One here. Two there. Three more.", "", "Lone one."])
    logits = np.array([1.0, 3.0, -1.0, 0.5])
    columns = [
        [0, 0, 0, 2],  # contract
        [1, 0, 2, 3],  # first unit
        [1, 1, 2, 3],  # last unit
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
        # A run of two repeats its second unit.
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
        "units": [math.log(4), math.log(4), math.log(4), math.log(2)],
        "is a unit": [1, 0, 0, 1],
        "is a part": [0, 0, 1, 0],
        "is a run of two": [0, 1, 0, 0],
        "is a run of three": [0, 0, 0, 0],
        "above -2": [5, 5, 1, 2.5],
        "above 0": [3, 3, 0, 0.5],
        "above 2": [1, 1, 0, 0],
        "lowest of a run": [0, 1, 0, 0],
        "beside a unit": [1, 0, 0, -12],
    }
    features = candidate_features(given, units, logits)
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


def test_trees_equal_scikit_learns_and_learn_interactions():
    rng = np.random.default_rng(0)
    known = rng.normal(size=(3000, 5)).astype(np.float32)
    held = known[:, 0] * known[:, 1] > 0
    grown = trees.fit(known, held)
    model = GradientBoostingClassifier(
        n_estimators=trees.TREES,
        learning_rate=trees.RATE,
        random_state=0,
        **trees.OPTIONS,
    )
    assert np.allclose(
        grown.logits(known), model.fit(known, held).decision_function(known), atol=1e-9
    )
    new = rng.normal(size=(1000, 5)).astype(np.float32)
    right = (grown.logits(new) > 0) == (new[:, 0] * new[:, 1] > 0)
    assert right.mean() > 0.9
    assert trees.fit(known, np.ones(3000, dtype=bool)).logits(new).min() == 20


def test_an_answer_is_new_if_no_higher_ranked_candidate_finds_it():
    units = units_of(["First one. Second two. Third three."])
    given = candidates(units, np.array([3.0, 2.0, 1.0]), 2, [])
    assert given.texts(units) == ["First one.", "First one. Second two.", "Second two."]
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
    units = units_of(["First one.", "First one."])
    given = candidates(units, np.array([3.0, 2.0]), 2, [])
    known = overlap_features(given, np.array([1.0, 1.0]))
    assert np.array_equal(known[0], known[1])
    new, _ = new_answers(given, np.array([1.0, 1.0]), [frozenset({0}), frozenset({0})])
    assert new.all()
    nothing = units_of([""])
    none = candidates(nothing, np.zeros(0), 2, [])
    assert overlap_features(none, np.zeros(0)).shape == (0, known.shape[1])


def test_probabilities_increase_with_logits_and_are_calibrated():
    logits = np.linspace(-40, 40, 200)
    assert (np.diff(probabilities(logits)) >= 0).all()
    rng = np.random.default_rng(0)
    known = rng.normal(size=(4000, 3))
    held = rng.random(4000) < probabilities(2 * known[:, 0] - 1)
    said = probabilities(fit_few(known, held, penalty=1.0).logits(known))[:, 0]
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        among = (said >= low) & (said < low + 0.2)
        assert said[among].mean() == pytest.approx(held[among].mean(), abs=0.06)


def test_weights_stay_near_the_given_ones_with_few_rows_but_not_with_many():
    rng = np.random.default_rng(0)
    known = rng.normal(size=(4000, 2))
    near = fit_few(known, known[:, 0] > rng.normal(size=4000), penalty=1.0)
    other = known[:, 1] > rng.normal(size=4000)
    few, many = (
        fit_near(near, known[:n], other[:n], penalty=0.1).weights[:, 0]
        for n in (4, 4000)
    )
    assert few[0] > few[1]
    assert many[1] > many[0]


def test_the_intercept_is_not_penalised_like_the_weights():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, 2))
    labels = np.arange(400) % 10 > 0
    near = Linear(np.zeros((2, 1)), np.zeros(1))
    model = fit_near(near, features, labels, penalty=0.01)
    # At the optimum the gradient of the loss is that of the penalty, a tenth of that on
    # the weights.
    missing = labels.sum() - probabilities(model.logits(features)).sum()
    at_mean = model.intercept[0] + features.mean(axis=0) @ model.weights[:, 0]
    assert missing == pytest.approx(at_mean / (10 * 0.01))


def test_an_answer_at_the_first_character_is_learnt():
    text, places = contract(0)
    examples = [{"category": "Agreement Date", "start": -1, "end": -1}]
    for category, (start, end) in [*places, (0, (0, 4))]:
        name = CATEGORIES[category]
        examples.append({"category": name, "start": start, "end": end})
    for number, example in enumerate(examples):
        example |= {"contract_id": "a", "question_id": str(number)}
    _, _, counts = train({"a": text}, examples, SETTINGS)
    assert counts["answers"] == len(places) + 1


def test_a_model_can_be_trained_on_one_contract():
    text, answers = contract(0)
    one = fit([text], {0: answers}, CATEGORIES, SETTINGS).model
    found = [np.isfinite(logits).all() for _, logits in predict(one, [text], 6)]
    assert found and all(found)


def test_outputs_trained_together_equal_outputs_trained_separately():
    rng = np.random.default_rng(0)
    known = rng.normal(size=(500, 4)).astype(np.float32)
    held = known[:, :3] + 0.5 * rng.normal(size=(500, 3)) > [0.0, 0.5, 9.0]
    together = fit_dense(known, held, penalty=1.0)
    for output in range(2):
        alone = LogisticRegression(C=1.0).fit(known, held[:, output])
        assert together.weights[:, output] == pytest.approx(alone.coef_[0], abs=0.02)
        assert together.intercept[output] == pytest.approx(
            alone.intercept_[0], abs=0.02
        )
    assert (together.logits(known)[:, 2] == -20).all()


def test_a_model_trained_on_one_class_always_predicts_it():
    few = fit_few(np.ones((4, 2)), np.zeros(4, dtype=bool), penalty=1.0)
    assert (probabilities(few.logits(np.ones((2, 2)))) < 1e-6).all()
    words = vocabulary(["a b", "b c"], longest=1, least=1)
    settings = {"penalty": 1.0, "smoothing": 1.0}
    one = fit_weighed(
        words.weigh(["a b"]), np.ones((1, 2)), np.ones(1, bool), **settings
    )
    assert one.weights.shape == (5, 1)
    assert one.intercept.tolist() == [20.0]
    many = fit_many(
        words.weigh(["a b", "b c"]), np.array([[True, False]] * 2), alpha=1e-4, epochs=2
    )
    assert many.logits(words.weigh(["c"]))[0].tolist() == [20.0, -20.0]


def test_words_are_weighed_by_the_difference_of_their_log_odds():
    labels = np.array([True, True, True, True, False, False])
    # Of four and two rows, "a" is in three and one, "b" in one and two.
    counts = np.array([[1, 0], [2, 0], [1, 0], [0, 1], [1, 3], [0, 1]])
    dense = np.array([[0.5], [1.0], [0.0], [0.5], [2.0], [1.0]])
    fitted = fit_weighed(csr_matrix(counts), dense, labels, penalty=10.0, smoothing=1.0)
    # |log 4/6 - log 2/4|, and |log 2/6 - log 3/4|.
    scale = np.array([math.log(4 / 3), math.log(9 / 4), 1])
    model = LogisticRegression(C=10.0, max_iter=1000)
    model.fit(np.hstack([counts, dense]) * scale, labels)
    assert fitted.weights[:, 0] == pytest.approx(model.coef_[0] * scale, abs=1e-3)
    assert fitted.intercept == pytest.approx(model.intercept_, abs=1e-3)


@pytest.mark.parametrize(
    ("others", "relaxed", "parts"),
    [(8, False, ("date",)), (9, False, ()), (8, True, ())],
)
def test_parts_are_candidates_if_more_than_a_tenth_of_the_answers_are_such(
    others, relaxed, parts
):
    words = [f"it shall pay w{number}" for number in range(others)]
    text = " ".join(["May 1, 2001", *words])
    answers = [(1, (0, 11)), (0, (0, 11)), (0, (0, 11))]
    for word in words:
        start = text.index(word)
        answers.append((1, (start, start + len(word))))
    assert Golds(units_of([text]), {0: answers}, 1, relaxed).parts() == parts


def test_texts_are_unique_and_the_empty_prediction_gets_the_remaining_probability():
    places = [(-1.0, 0, 2), (0.5, 3, 5), (0.0, 6, 8), (-3.0, 0, 8)]
    rows = list(nbest("q", "ab ab cd", places, 2))
    kept = [(row["text"], row["start"], row["rank"]) for row in rows]
    assert kept == [("ab", 3, 0), ("cd", 6, 1), ("", -1, 2)]
    assert rows[0]["probability"] + rows[2]["probability"] == pytest.approx(1)
    assert [row["text"] for row in nbest("q", "", [], 2)] == [""]


def tables(path: Path, count: int, test: int):
    """Write contracts, the last ``test`` for testing; return examples, test questions
    and answers.
    """
    contracts, examples, asked, answers = [], [], {}, []
    for number in range(count):
        (text, spans), name = contract(number), f"c{number:02}"
        split = "test" if number >= count - test else "train"
        contracts.append({"contract_id": name, "split": split, "text": text})
        for index, (category, (start, end)) in enumerate(spans):
            label = CATEGORIES[category]
            question = {"question_id": f"{name}__{label}", "contract_id": name}
            question["category"] = label
            key = {"question_id": question["question_id"], "index": index}
            answers.append({**key, "text": text[start:end]})
            if split == "train":
                examples.append({**question, "start": start, "end": end})
            else:
                asked[question["question_id"]] = question
    pq.write_table(pa.Table.from_pylist(contracts), path)
    return examples, list(asked.values()), answers


def encoded(texts):
    """Vectors that show which of a few words a text contains."""
    columns = []
    for word in ("governed", "Agreement", "goods"):
        columns.append([word in text for text in texts])
    return np.array(columns, np.float32).T


@pytest.fixture
def data(tmp_path):
    """A data set of 24 training and 6 test contracts: texts, examples, questions,
    answers.
    """
    path = tmp_path / "contracts.parquet"
    examples, asked, answers = tables(path, 30, 6)
    return training_texts(path, 100), examples, asked, answers


@pytest.mark.parametrize("features", ["words", "vectors", "both"])
def test_contracts_of_the_test_split_are_predicted_and_scored(features, data, tmp_path):
    texts, examples, asked, answers = data
    everything = contract_texts(tmp_path / "contracts.parquet")
    path = tmp_path / "vectors.parquet"
    counts = write_vectors(everything, encoded, path)
    assert (counts["contracts"], counts["dimensions"]) == (30, 3)
    paths = [] if features == "words" else [path]
    settings = SETTINGS.model_copy(update={"features": features, "out_of_fold": True})
    vectors = read_vectors(paths, sorted(texts))
    model, out_of_fold, record = train(texts, examples, settings, vectors)
    assert (record["contracts"], record["answers"]) == (24, 96)
    assert (model.units.vocabularies is None) == (features == "vectors")
    assert len({row["question_id"] for row in out_of_fold}) == 24 * 3
    test_texts = contract_texts(tmp_path / "contracts.parquet", "test")
    vectors = read_vectors(paths, sorted(test_texts))
    rows = list(spans_of(model, test_texts, asked, settings, vectors))
    assert len(rows) == len({(row["question_id"], row["text"]) for row in rows})
    assert {row["question_id"] for row in rows} == {row["question_id"] for row in asked}
    table = scores(rows, asked, answers, relaxed="Parties", resamples=10)
    found = {(row["metric"], row["group"]): row["value"] for row in table}
    assert found["AUPR", "category: Governing Law"] > 0.9
    assert features != "words" or found["AUPR", "all"] > 0.9


def test_vectors_are_read_by_contract_and_missing_vectors_raise(model, tmp_path):
    path = tmp_path / "vectors.parquet"
    texts = {f"c{number}": contract(number)[0] for number in range(4)}
    write_vectors(texts, encoded, path)
    found = read_vectors([path], ["c3", "c1"])
    units_ = units_of([texts["c3"], texts["c1"]])
    assert np.array_equal(found, encoded(units_.words()))
    with pytest.raises(BadInput, match="the contract 'new' has no vectors"):
        read_vectors([path], ["new"])
    with pytest.raises(BadInput, match="1 vectors for 14 units"):
        predict(model, [texts["c3"]], 6, np.zeros((1, 3), dtype=np.float32))


def test_a_percentage_of_the_contracts_is_selected_deterministically(data, tmp_path):
    contracts = tmp_path / "contracts.parquet"
    half = training_texts(contracts, 50)
    # The training contracts are all but those for testing, validation among them (CUAD
    # has none).
    splits = {"a": "train", "b": "dev", "c": "test"}
    rows = [
        {"contract_id": name, "split": split, "text": name}
        for name, split in splits.items()
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "three.parquet")
    assert training_texts(tmp_path / "three.parquet", 100) == {"a": "a", "b": "b"}
    assert len(half) == 12 and half.items() < data[0].items()
    assert training_texts(contracts, 50) == half


def test_an_unknown_category_raises():
    text, answers = contract(0)
    few = fit([text] * 6, {0: answers[:1]}, CATEGORIES[:1], SETTINGS).model
    # The first by name, in any order of a set.
    asked = []
    for name in ("Parties", "Governing Law", "Term", "Notice", "Warranty", "Price"):
        asked.append({"question_id": name, "contract_id": "c", "category": name})
    with pytest.raises(BadInput, match="not trained on the category 'Governing Law'"):
        list(spans_of(few, {"c": text}, asked, SETTINGS))
