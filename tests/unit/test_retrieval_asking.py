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

# The prompts of one document, and of a pair of documents.
POINTWISE_PROMPT = Template(
    (Message("user", "Query: ${query}\n${fence}\n${text}\n${fence}\nRate it."),)
)
PAIRWISE_PROMPT = Template(
    (
        Message(
            "user",
            "Query: ${query}\n${fence}\n${first}\n${fence}\n${second}\n${fence}\nWhich is better?",
        ),
    )
)
# The second word of a document is its relevance, so the best order is b, d, e, a, c.
DOCUMENTS = {
    "a": "worth 2 of text a",
    "b": "worth 5 of text b",
    "c": "worth 1 of text c",
    "d": "worth 4 of text d",
    "e": "worth 3 of text e",
}


def candidates(queries=("q",), documents="abcde", texts=DOCUMENTS):
    """Return candidates of the first stage: these documents, in this order, for each
    query.
    """
    text_of = {}
    for query in queries:
        text_of |= {(query, name): texts[name] for name in documents}
    hits = {query: list(documents) for query in queries}
    return Candidates({query: f"what {query}" for query in queries}, hits, text_of)


def relevances(prompt):
    """Return the relevance of each document of a prompt."""
    return [int(digit) for digit in re.findall(r"worth (\d)", prompt)]


# Probabilities of a perfect model's next token, {token: probability}.


def rates(prompt):
    """Give the rating 0.7, and other tokens the rest."""
    return {str(relevances(prompt)[0]): 0.7, " 1": 0.1, "no": 0.2}


def prefers(prompt):
    """Prefer the more relevant of documents A and B."""
    first, second = relevances(prompt)
    return {"A": 0.8, "B": 0.1} if first > second else {"A": 0.1, " B": 0.8}


def order(ranking, query="q"):
    """Return the names of the ranked documents as one word."""
    return "".join(document for document, _ in ranking.hits[query])


def test_a_perfect_model_sorts_all_documents():
    ranking = pointwise(FakeModel(rates), POINTWISE_PROMPT, candidates())
    assert order(ranking) == "bdeac"
    ranking = pairwise(FakeModel(prefers), PAIRWISE_PROMPT, candidates(), passes=4)
    assert order(ranking) == "bdeac"


@pytest.mark.parametrize(("passes", "expected"), [(1, "badce"), (2, "bdaec")])
def test_each_pass_moves_one_document_to_the_top(passes, expected):
    model = FakeModel(prefers)
    assert order(pairwise(model, PAIRWISE_PROMPT, candidates(), passes)) == expected


def test_the_score_is_the_expected_rating_and_other_probability_is_reported():
    only_b = candidates(documents="b")
    ranking = pointwise(FakeModel(rates), POINTWISE_PROMPT, only_b)
    assert ranking.hits["q"] == [("b", pytest.approx((0.7 * 5 + 0.1 * 1) / 0.8))]
    assert ranking.counts["outside"] == pytest.approx(0.2)
    assert ranking.counts["requests"] == 1


def test_without_probabilities_written_ratings_count_and_ties_keep_their_order():
    answers = {
        "a": "4",
        "b": "Rating: 4.",
        "c": "5 stars",
        "d": "It is good",  # no rating
        "e": "**3**",
    }

    def answer(prompt, seed):
        document = re.search(r"text (\w)", prompt)[1]
        return answers[document]

    ranking = pointwise(FakeModel(None, answer), POINTWISE_PROMPT, candidates())
    assert order(ranking) == "cabed"
    assert ranking.counts["ties"] == 1
    assert ranking.counts["unparseable"] == 1
    assert ranking.counts["outside"] is None


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        ("4", 4),
        (" 4 out of 5", 4),
        ("Rating: 2", 2),
        ("I rate it 3.", 3),
        ("The rating is 5", 5),
        ("4/5", 4),
        ("Rating (1-5): 4", 4),
        ("Rating (1 to 5): 4", 4),
        ("1-5 scale: 3", 3),
        ("5-point scale: 2", 2),
        ("5 points", 5),
        ("4 - concise and clear", 4),
        ("5-point scale", None),
        ("1-5", None),
        ("2-3", None),
        ("3 or 4", None),
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
    model = FakeModel(lambda prompt: {"As": 1.0})
    ranking = pointwise(model, POINTWISE_PROMPT, candidates())
    assert order(ranking) == "abcde"
    assert ranking.counts["unparseable"] == ranking.counts["requests"] == 5
    ranking = pairwise(model, PAIRWISE_PROMPT, candidates(), passes=2)
    assert order(ranking) == "abcde"
    # Each of the four pairs of neighbours is asked once, in both orders.
    assert ranking.counts["requests"] == ranking.counts["unparseable"] == 8
    assert ranking.counts["ties"] == 4
    assert ranking.counts["disagreements"] == 0
    model = FakeModel(None, lambda prompt, seed: "Both clauses have their merits.")
    ranking = pairwise(model, PAIRWISE_PROMPT, candidates(), passes=1)
    assert order(ranking) == "abcde"


@pytest.mark.parametrize(("letter", "share_of_first"), [("A", 1), ("B", 0)])
def test_a_model_that_always_prefers_one_position_keeps_the_order(
    letter, share_of_first
):
    model = FakeModel(lambda prompt: {letter: 0.9})
    ranking = pairwise(model, PAIRWISE_PROMPT, candidates(), passes=4)
    assert order(ranking) == "abcde"
    assert ranking.counts["first_listed"] == share_of_first
    assert ranking.counts["first_listed_by_chance"] == 0.5
    # The answers to both orders of a pair disagree.
    assert ranking.counts["disagreements"] == ranking.counts["ties"] == 4


def test_queries_in_the_same_batch_are_ranked_independently():
    model = FakeModel(prefers)
    hits = {"q": list("abc"), "r": list("edcba")}
    two_queries = replace(candidates("qr"), hits=hits)
    ranking = pairwise(model, PAIRWISE_PROMPT, two_queries, passes=2)
    assert order(ranking, "r") == "bdeac"
    # Scores are ranks from the end.
    assert ranking.hits["q"] == [("b", 3.0), ("a", 2.0), ("c", 1.0)]


# {role: split, and what `pool` is}
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


def settings_of(way, passes=2):
    """Return settings that rerank the first three hits."""
    prompt = POINTWISE_PROMPT if way == "pointwise" else PAIRWISE_PROMPT
    return AskingSettings(
        way=way, prompt=prompt.plain(), form="text", hits=3, passes=passes
    )


@pytest.mark.parametrize(
    ("way", "answer"), [("pointwise", rates), ("pairwise", prefers)]
)
def test_hits_that_are_not_reranked_stay_below_the_others(way, answer):
    # "q" is a query of the test split, "t" of the training split.
    first_stage = {"q": list("abcde"), "t": list("abc")}
    ranking = rerank(COLLECTION, first_stage, settings_of(way), FakeModel(answer))
    assert ranking.hits.keys() == {"q"}
    assert order(ranking) == "bacde"
    scores = [score for _, score in ranking.hits["q"]]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 5


@pytest.mark.parametrize(
    ("way", "passes", "most_requests"),
    [("pointwise", 9, 3), ("pairwise", 1, 4), ("pairwise", 9, 6)],
)
def test_the_maximum_number_of_requests_is_computed_in_advance(
    way, passes, most_requests
):
    settings = settings_of(way, passes=passes)
    first_stage = {"q": list("abcde")}
    hits = candidates_of(COLLECTION, first_stage, settings)
    requests, characters = expected(hits, settings)
    assert requests == most_requests
    # A request has one text, or the two texts of a pair, of their mean length.
    texts = 1 if way == "pointwise" else 2
    length = sum(len(DOCUMENTS[name]) for name in "abc")
    assert characters == requests * texts * length // 3
    # No pair is asked twice, so the actual number can be lower.
    model = FakeModel(rates if way == "pointwise" else prefers)
    ranking = rerank(COLLECTION, first_stage, settings, model)
    assert ranking.counts["requests"] <= most_requests


def test_clauses_that_are_too_long_are_cut_and_counted():
    texts = DOCUMENTS | {"a": DOCUMENTS["a"] + " and on" * 200}
    with_long_text = candidates(texts=texts)
    model = FakeModel(rates, window=60)
    ranking = pointwise(model, POINTWISE_PROMPT, with_long_text)
    assert ranking.counts["cut"] == 1
    assert order(ranking) == "bdeac"
    model = FakeModel(prefers, window=60)
    ranking = pairwise(model, PAIRWISE_PROMPT, with_long_text, passes=4)
    assert ranking.counts["cut"] > 1
    assert order(ranking) == "bdeac"
