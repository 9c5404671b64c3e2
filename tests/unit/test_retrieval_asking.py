"""Reranking by a language model: correct, biased and unusable answers, and their
counts.
"""

import re
from dataclasses import replace

import pytest

from helpers.fake_language_model import FakeModel
from lextables.models.language_model import Message
from lextables.models.prompts import Template
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.rankers.language_model import (
    AskingSettings,
    Candidates,
    candidates_of,
    expected,
    pairwise,
    parsed,
    pointwise,
    rerank,
)

ONE = Template(
    (Message("user", "Query: ${query}\n${fence}\n${text}\n${fence}\nRate it."),)
)
TWO = Template(
    (
        Message(
            "user",
            "Query: ${query}\n${fence}\n${first}\n${fence}\n${second}\n${fence}\nWhich is better?",
        ),
    )
)
# The second word of a document is its relevance.
DOCUMENTS = {
    name: f"worth {worth} of text {name}"
    for name, worth in zip("abcde", (2, 5, 1, 4, 3), strict=True)
}


def asking(queries=("q",), documents="abcde", texts=DOCUMENTS):
    read = {}
    for query in queries:
        read |= {(query, name): texts[name] for name in documents}
    hits = {query: list(documents) for query in queries}
    return Candidates({query: f"what {query}" for query in queries}, hits, read)


def worths(text):
    return [int(found) for found in re.findall(r"worth (\d)", text)]


def rates(text):
    return {str(worths(text)[0]): 0.7, " 1": 0.1, "no": 0.2}


def prefers(text):
    first, second = worths(text)
    return {"A": 0.8, "B": 0.1} if first > second else {"A": 0.1, " B": 0.8}


def order(asked, query="q"):
    return "".join(document for document, _ in asked.hits[query])


def test_a_perfect_model_sorts_all_documents():
    assert order(pointwise(FakeModel(rates), ONE, asking())) == "bdeac"
    assert order(pairwise(FakeModel(prefers), TWO, asking(), passes=4)) == "bdeac"


def test_each_pass_moves_one_document_to_the_top():
    assert order(pairwise(FakeModel(prefers), TWO, asking(), passes=1)) == "badce"
    assert order(pairwise(FakeModel(prefers), TWO, asking(), passes=2)) == "bdaec"


def test_the_score_is_the_expected_rating_and_other_probability_is_reported():
    asked = pointwise(FakeModel(rates), ONE, asking(documents="b"))
    assert asked.hits["q"] == [("b", pytest.approx((0.7 * 5 + 0.1 * 1) / 0.8))]
    assert asked.counts["outside"] == pytest.approx(0.2)
    assert asked.counts["requests"] == 1


def test_without_probabilities_written_ratings_count_and_ties_keep_their_order():
    written = {
        "a": "4",
        "b": "Rating: 4.",
        "c": "5 stars",
        "d": "It is good",
        "e": "**3**",
    }
    model = FakeModel(
        None, lambda text, seed: written[re.search(r"text (\w)", text)[1]]
    )
    asked = pointwise(model, ONE, asking())
    assert order(asked) == "cabed"
    assert asked.counts["ties"] == 1 and asked.counts["unparseable"] == 1
    assert asked.counts["outside"] is None


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        ("4", 4),
        (" 4 out of 5", 4),
        ("Rating: 2", 2),
        ("I rate it 3.", 3),
        ("The rating is 5", 5),
        ("4/5", 4),
        ("10", None),
        ("4.5", None),
        ("0", None),
        ("6", None),
        ("On a scale of 1 to 5, 4", None),
        ("", None),
    ],
)
def test_ratings_are_parsed_from_answers(text, rating):
    assert parsed(text) == rating


def test_unparseable_answers_keep_the_order_of_the_first_stage():
    mute = FakeModel(lambda text: {"As": 1.0})
    one, two = pointwise(mute, ONE, asking()), pairwise(mute, TWO, asking(), passes=2)
    assert order(one) == order(two) == "abcde"
    assert one.counts["unparseable"] == one.counts["requests"] == 5
    # Each pair of neighbours is asked once, in both orders.
    assert two.counts["requests"] == two.counts["unparseable"] == 8
    assert two.counts["ties"] == 4 and two.counts["disagreements"] == 0
    talks = FakeModel(None, lambda text, seed: "Both clauses have their merits.")
    assert order(pairwise(talks, TWO, asking(), passes=1)) == "abcde"


def test_position_bias_keeps_the_order_and_is_counted():
    for place, share in (("A", 1), ("B", 0)):
        asked = pairwise(
            FakeModel(lambda text, place=place: {place: 0.9}), TWO, asking(), passes=4
        )
        assert order(asked) == "abcde"
        assert (
            asked.counts["first_listed"] == share
            and asked.counts["first_listed_by_chance"] == 0.5
        )
        assert asked.counts["disagreements"] == asked.counts["ties"] == 4


def test_queries_in_the_same_batch_are_ranked_independently():
    model = FakeModel(prefers)
    several = replace(asking("qr"), hits={"q": list("abc"), "r": list("edcba")})
    asked = pairwise(model, TWO, several, passes=2)
    assert (order(asked, "q"), order(asked, "r")) == ("bac", "bdeac")
    assert asked.hits["q"] == order_scores("bac")


def order_scores(names):
    return [(name, float(len(names) - place)) for place, name in enumerate(names)]


TASK = {"training": "train", "validation": "valid", "test": "test", "pool": "judged"}
COLLECTION = Collection(
    DOCUMENTS,
    {
        "q": {"query_id": "q", "split": "test", "text": "what q"},
        "t": {"query_id": "t", "split": "train", "text": "what t"},
    },
    {},
    TASK,
)


def settings(way, passes=2):
    prompt = (ONE if way == "pointwise" else TWO).plain()
    return AskingSettings(way=way, prompt=prompt, form="text", hits=3, passes=passes)


def test_hits_that_are_not_reranked_stay_below_the_others():
    first = {"q": list("abcde"), "t": list("abc")}
    one = rerank(COLLECTION, first, settings("pointwise"), FakeModel(rates))
    two = rerank(COLLECTION, first, settings("pairwise"), FakeModel(prefers))
    for asked in (one, two):
        assert asked.hits.keys() == {"q"}
        assert order(asked) == "bacde"
        scores = [score for _, score in asked.hits["q"]]
        assert scores == sorted(scores, reverse=True) and len(set(scores)) == 5


@pytest.mark.parametrize(
    ("way", "passes", "most"),
    [("pointwise", 9, 3), ("pairwise", 1, 4), ("pairwise", 9, 6)],
)
def test_the_maximum_number_of_requests_is_computed_in_advance(way, passes, most):
    given = settings(way, passes=passes)
    first = {"q": list("abcde")}
    requests, characters = expected(candidates_of(COLLECTION, first, given), given)
    assert requests == most
    # A request has one text, or the two texts of a pair, of their mean length.
    texts = 1 if way == "pointwise" else 2
    length = sum(len(DOCUMENTS[name]) for name in "abc")
    assert characters == requests * texts * length // 3
    # No pair is asked twice, so the actual number can be lower.
    assert (
        rerank(
            COLLECTION,
            first,
            given,
            FakeModel(rates if way == "pointwise" else prefers),
        ).counts["requests"]
        <= most
    )


def test_clauses_that_are_too_long_are_cut_and_counted():
    long = DOCUMENTS | {"a": DOCUMENTS["a"] + " and on" * 200}
    asked = pointwise(FakeModel(rates, window=60), ONE, asking(texts=long))
    assert asked.counts["cut"] == 1 and order(asked) == "bdeac"
    asked = pairwise(FakeModel(prefers, window=60), TWO, asking(texts=long), passes=4)
    assert asked.counts["cut"] > 1 and order(asked) == "bdeac"
