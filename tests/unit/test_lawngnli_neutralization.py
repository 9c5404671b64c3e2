"""Neutral premises: which premise of another example replaces the own one (LawngNLI,
A.1.7).
"""

import random

import numpy as np
import pytest

from helpers.opinion_rows import encode
from lextables.models.okapi import OkapiBM25
from lextables.papers.lawngnli.premises import neutralization
from lextables.papers.lawngnli.premises.neutralization import (
    PREMISE_FIELDS,
    CitationNetwork,
    neutral_premises,
    neutralized,
)


def bm25_scores(query, documents):
    return OkapiBM25(documents).scores(query, range(len(documents)))


def row(example_id, citing, cited, hypothesis, premise, place="us", label="neutral"):
    return dict.fromkeys(PREMISE_FIELDS) | {
        "example_id": example_id,
        "citing_case_id": citing,
        "cited_case_id": cited,
        "cited_jurisdiction": place,
        "hypothesis": hypothesis,
        "short_premise": premise,
        "label": label,
    }


# The limit of A.1.7, which a fixture takes away from the other tests.
MAX_SUPPORT = neutralization.MAX_SUPPORT
LEASE = "the tenant who holds over owes double rent"
TAX = "a tax on imports needs the consent of the legislature"
NOTICE = "notice by post is good when the letter is sent"
ROWS = [
    row(1, 100, 200, "a tenant holding over owes rent", "rent falls due each month"),
    row(2, 101, 201, "an import tax needs consent", LEASE),
    row(3, 102, 202, "sent letters make notice good", TAX),
    row(4, 103, 203, "a letter gives notice when posted", NOTICE),
]


def ids_of(pairings):
    return {
        key: pairing and pairing.premise_example_id for key, pairing in pairings.items()
    }


def test_the_candidate_with_the_highest_bm25_score_is_selected():
    pairings = neutral_premises(ROWS, CitationNetwork([]), encode)
    assert ids_of(pairings) == {1: 2, 2: 3, 3: 4, 4: 3}
    # The premise of 4 shares the most words with the hypothesis of 3 and is from
    # another case.
    others = [r["short_premise"] for r in (ROWS[0], ROWS[1], ROWS[3])]
    assert pairings[3].bm25 == pytest.approx(
        max(bm25_scores(ROWS[2]["hypothesis"], others))
    )
    assert pairings[3].candidates == 3


def test_premises_of_other_jurisdictions_are_excluded():
    rows = [row(1, 1, 2, "a b c d", "e f"), row(2, 3, 4, "g h i j", "k l", place="ill")]
    premises = neutral_premises(rows, CitationNetwork([(1, 2), (3, 4)]), encode)
    assert premises == {1: None, 2: None}


def test_premises_with_most_words_of_the_hypothesis_are_excluded(monkeypatch):
    monkeypatch.setattr(neutralization, "MAX_SUPPORT", MAX_SUPPORT)
    hypothesis = (
        "wardens may close piers, docks, ports, rivers, lakes, inns, shops, farms"
    )
    rows = [
        row(1, 1, 2, hypothesis, "nothing alike"),
        # 7 and 6 of 10 content words.
        row(2, 3, 4, "unlike", "farms, shops, inns, lakes, a river, a dock and a port"),
        row(3, 5, 6, "unlike", "farms, shops, inns, lakes, a river and a dock"),
    ]
    pairing = neutral_premises(rows, CitationNetwork([(1, 2)]), encode)[1]
    assert (pairing.premise_example_id, pairing.candidates) == (3, 1)


def test_premises_without_a_figure_of_the_hypothesis_are_excluded():
    rows = [
        row(1, 1, 2, "the tenant of 1950 owes double rent", "nothing alike"),
        row(2, 3, 4, "unlike", "here a tenant of 1949 pays"),
        row(3, 5, 6, "unlike", "here one pays in 1950"),
        row(4, 7, 8, "unlike", "a tenant pays. See Roe v. Wade, 410 U.S. 113 (1950)."),
    ]
    pairing = neutral_premises(rows, CitationNetwork([(1, 2)]), encode)[1]
    assert (pairing.premise_example_id, pairing.candidates) == (3, 1)


def test_premises_that_share_half_of_the_bigrams_are_excluded():
    rows = [
        row(1, 1, 2, "the tenant owes double rent", "nothing alike"),
        row(2, 3, 4, "unlike", "here the tenant owes little"),  # 2 of 4
        row(3, 5, 6, "unlike", "here the tenant pays little"),  # 1 of 4
    ]
    network = CitationNetwork([(1, 2)])
    pairing = neutral_premises(rows, network, encode)[1]
    assert (pairing.premise_example_id, pairing.candidates) == (3, 1)
    assert neutral_premises(rows[:2], network, encode)[1] is None


def near_and_far():
    """Return one query, 30 near premises (ids 1 to 30), and 40 distant ones with higher
    BM25 scores.
    """
    asked = row(0, 1, 2, "owes tenant double rent", "unlike")
    vectors = {asked["hypothesis"]: [1.0, 0.0]}
    rows = [asked]
    for i in range(1, 71):
        premise, vector = f"rent unpaid {'y' * i}", [1.0, 0.0]
        if i > 30:
            premise, vector = f"rent double tenant {'x' * i}", [0.5, 1.0]
        rows.append(row(i, 3000 + i, 4000 + i, "unlike", premise))
        vectors[premise] = vector

    def stated(texts):
        return np.array([vectors.get(text, [0, 0]) for text in texts], np.float32)

    return rows, stated


@pytest.fixture(autouse=True)
def no_limit_of_support(monkeypatch):
    """Let premises of few words have all words of a hypothesis."""
    monkeypatch.setattr(neutralization, "MAX_SUPPORT", 1.1)


@pytest.fixture(params=[1, 16, 128], autouse=True)
def first_hits(request, monkeypatch):
    """The number of hits of the first search, which changes no result."""
    monkeypatch.setattr(neutralization, "FIRST_HITS", request.param)


@pytest.mark.parametrize(
    ("neighbours", "similarity", "found"),
    [
        ([], 1, 1),
        # Neighbours are excluded before the thirty nearest are selected.
        (range(4001, 4026), 0.5, 31),
    ],
)
def test_only_the_thirty_nearest_premises_are_scored(neighbours, similarity, found):
    rows, stated = near_and_far()
    network = CitationNetwork([(1, case) for case in (2, *neighbours)])
    pairing = neutral_premises(rows, network, stated)[0]
    assert (pairing.candidates, pairing.similarity) == (30, similarity)
    assert pairing.premise_example_id == found


def test_equal_premises_are_one_candidate_with_the_lowest_example_id():
    rows = [
        row(1, 1, 2, "rent is due", "unlike"),
        *(row(i, 10 + i, 50, "x", "rent falls due") for i in (9, 5, 7)),
    ]
    pairing = neutral_premises(rows, CitationNetwork([(1, 2)]), encode)[1]
    assert (pairing.premise_example_id, pairing.candidates) == (5, 1)


def test_ties_are_resolved_by_the_lower_example_id():
    # All similarities are equal, so the lowest ids are selected; from 20 on, the BM25
    # scores are equal too.
    rows = [row(1, 1, 2, "rent due now", "unlike")]
    for i in reversed(range(2, 90)):
        words = "due rent" if i >= 20 else "none alike"
        rows.append(row(i, 1000 + i, 2000 + i, "x y", f"{words} p{i}"))

    def flat(texts):
        return np.ones((len(texts), 4), dtype=np.float32)

    pairing = neutral_premises(rows, CitationNetwork([(1, 2)]), flat)[1]
    assert (pairing.premise_example_id, pairing.candidates) == (20, 30)


def test_results_equal_those_of_a_search_without_an_index(monkeypatch):
    monkeypatch.setattr(neutralization, "QUERY_BATCH", 7)
    monkeypatch.setattr(neutralization, "ENCODE_BATCH", 5)
    drawn = random.Random(2)
    rows = []
    for i in range(80):
        cases = drawn.randrange(30), drawn.randrange(30)
        hypothesis = f"{'q' * drawn.randrange(1, 10)} {'w' * drawn.randrange(1, 10)}"
        premise = f"{'w' * (i % 9 + 1)} {'q' * (i % 7 + 1)} {'e' * (i + 1)}"
        rows.append(row(i, *cases, hypothesis, premise))
    network = CitationNetwork([(r["citing_case_id"], r["cited_case_id"]) for r in rows])
    found = neutral_premises(rows, network, encode, top=3)
    shuffled = neutral_premises(drawn.sample(rows, len(rows)), network, encode, top=3)
    assert list(shuffled.items()) == list(found.items())
    texts = [r["short_premise"] for r in rows]
    premises = encode(texts).astype(np.float64)
    for asked in rows:
        citing = asked["citing_case_id"]
        hypothesis = asked["hypothesis"]
        excluded = {
            citing,
            asked["cited_case_id"],
            *network.neighbours(citing).tolist(),
        }
        allowed = [r["example_id"] for r in rows if r["cited_case_id"] not in excluded]
        products = premises @ encode([hypothesis])[0].astype(np.float64)
        nearest = sorted(allowed, key=lambda i: (-round(products[i], 9), i))[:3]
        kept = [i for i in sorted(nearest) if f"{hypothesis} " not in texts[i]]
        scores = bm25_scores(hypothesis, [texts[i] for i in kept])
        best = kept[int(np.argmax(scores))]
        pairing = found[asked["example_id"]]
        assert pairing.premise_example_id == best
        assert pairing.similarity == pytest.approx(products[best])


def test_only_neutral_rows_get_new_premises_and_unpaired_rows_are_removed():
    rows = [
        row(1, 1, 2, "a", "pa", label="entail"),
        row(2, 3, 4, "b", "pb", label="neutral"),
        row(3, 5, 6, "c", "pc", label="contradict"),
    ]
    pairings = {
        1: neutralization.Pairing(3, 1.0, 1.0, 1),
        2: neutralization.Pairing(3, 1.0, 1.0, 1),
        3: None,
    }
    kept = list(neutralized(rows, pairings))
    assert kept == [
        {**rows[0], "premise_example_id": 1},
        {**rows[1], "cited_case_id": 6, "short_premise": "pc", "premise_example_id": 3},
    ]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda texts: np.zeros((1, 3), np.float32), "shape"),
        (lambda texts: np.zeros(len(texts), np.float32), "shape"),
        (lambda texts: np.full((len(texts), 3), np.nan, np.float32), "not finite"),
    ],
)
def test_invalid_output_of_an_encoder_raises_an_error(broken, message):
    with pytest.raises(ValueError, match=message):
        neutral_premises(ROWS, CitationNetwork([]), broken)
