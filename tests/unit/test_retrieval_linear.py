"""The linear first stage: what it learns, and errors for data from which nothing can be
learnt.
"""

import random
from dataclasses import replace

import numpy as np
import pytest

from helpers.retrieval_hits import documents, names
from lextables.metrics.ranking import by_name
from lextables.pipeline.errors import BadInput
from lextables.tasks.retrieval.collection import Collection, best_first
from lextables.tasks.retrieval.rankers import linear
from lextables.tasks.retrieval.rankers.linear import LinearSettings
from lextables.tasks.retrieval.ranking import Encoders

TASK = {"training": "train", "validation": "valid", "test": "test", "top_gain": 4}
SUBJECTS = [f"subject{number}" for number in range(8)]
SETTINGS = LinearSettings(form="short", top=10, k1=0.9, b=0.4, topics=12, penalty=0.1)
LARGE = SETTINGS.model_copy(update={"pool": "all"})


def collection(seed: int = 0) -> Collection:
    """Sound and void clauses on subjects: those on the query's subject are relevant,
    sound ones more.
    """
    drawn = random.Random(seed)
    documents, queries, judged = {}, {}, {}
    for number in range(120):
        subject, quality = SUBJECTS[number % 8], ("sound", "void")[number // 8 % 2]
        words = drawn.choices(["party", "shall", "notice", "goods", "term"], k=12)
        words = [subject, quality, *words]
        drawn.shuffle(words)
        documents[f"d{number:03}"] = " ".join(words)
    for number, subject in enumerate(SUBJECTS):
        name, split = f"q{number}", "train"
        if number >= 5:
            split = "valid" if number == 5 else "test"
        queries[name] = {"split": split, "short": subject}
        queries[name]["long"] = f"a clause about {subject}"
        judged[name] = dict.fromkeys(documents, 0)
        for document, text in documents.items():
            if subject in text:
                judged[name][document] = 4 if "sound" in text else 1
    return Collection(documents, queries, judged, TASK)


COLLECTION = collection()


def test_topics_are_fewer_than_the_documents():
    """Of three documents there are at most two topics, however many are asked for."""
    texts = {"a": "fee cap law", "b": "fee cap tax", "c": "fee law tax rent"}
    space = linear.topics(texts, ["fee"], 12)
    assert {vector.shape for vector in space.documents.values()} == {(2,)}


def encode(texts):
    """Vectors of the subject and the quality of each text, with noise."""
    drawn = np.random.default_rng(len(texts))
    rows = []
    for text in texts:
        rows.append([*map(text.count, SUBJECTS), 1 - 2 * text.count("void")])
    noise = 0.05 * drawn.standard_normal((len(texts), 4))
    found = np.hstack([np.array(rows), noise]).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


ENCODERS = Encoders(encode, encode)


def score(hits, data=COLLECTION, metric="NDCG@10"):
    qrels = {query: dict(data.judged[query]) for query in hits}
    values = by_name(metric)(qrels, documents(hits)).values()
    return sum(values) / len(values)


def test_it_learns_relevance_and_ranks_only_test_queries():
    hits, _ = linear.retrieve(COLLECTION, {"short": SETTINGS}, ENCODERS)
    assert sorted(hits["short"]) == ["q6", "q7"]
    assert score(hits["short"]) > 0.95
    # BM25 finds the subject, but not which of its clauses are sound.
    similarity = linear.Similarity(COLLECTION, SETTINGS, [])
    plain = {}
    for name, text in COLLECTION.texts("short", ("test",)).items():
        pool, features = similarity.features(name, text)
        # The first feature is BM25's score.
        plain[name] = best_first(dict(zip(pool, features[:, 0].tolist(), strict=True)))
    assert score(plain) < 0.9


def test_without_vectors_clauses_are_ranked_by_subject():
    hits, ranker = linear.retrieve(COLLECTION, {"short": SETTINGS})
    for query, found in hits["short"].items():
        assert all(COLLECTION.judged[query][document] for document in names(found[:5]))
    # BM25's score, the cosine in the space of topics, and its 12 dimensions.
    assert ranker.weights.shape == ranker.mean.shape == (1 + 1 + 12,)


def test_large_pools_are_sampled_for_training(monkeypatch):
    whole, ranker = linear.retrieve(COLLECTION, {"short": LARGE}, ENCODERS)
    monkeypatch.setattr(linear, "TRAINING_PAIRS", 6 * 40)
    some, other = linear.retrieve(COLLECTION, {"short": LARGE}, ENCODERS)
    assert not np.array_equal(ranker.weights, other.weights)
    assert score(whole["short"]) > 0.95 and score(some["short"]) > 0.9


def test_queries_have_equal_weight_whatever_their_number_of_documents():
    # The two queries teach the opposite, one with ten times as many documents.
    documents = {"one": [1, -1], "many": [1, -1] * 10}
    relevant = {"one": 1, "many": -1}
    judged = {}
    for query, values in documents.items():
        gains = [4 * (value == relevant[query]) for value in values]
        judged[query] = {str(at): gain for at, gain in enumerate(gains)}

    class Features:
        def features(self, query, text):
            values = documents[query]
            return [str(at) for at in range(len(values))], np.array(
                values, dtype=float
            )[:, None]

    data = replace(COLLECTION, judged=judged)
    ranker = linear.fit(data, Features(), {"one": "", "many": ""}, 0.1)
    assert ranker.weights == pytest.approx([0], abs=1e-6)


def test_other_forms_are_ranked_by_the_model_of_the_first_form():
    other = SETTINGS.model_copy(update={"form": "long", "queries": ("q6",)})
    forms = {"short": SETTINGS, "long": other}
    hits, ranker = linear.retrieve(COLLECTION, forms)
    assert (sorted(hits["short"]), sorted(hits["long"])) == (["q6", "q7"], ["q6"])
    alone = linear.retrieve(COLLECTION, {"short": SETTINGS})
    assert alone[0]["short"] == hits["short"]
    assert np.array_equal(alone[1].weights, ranker.weights)


def test_judgements_of_test_queries_are_not_used_for_training():
    judged = {
        name: dict.fromkeys(gains, 4) for name, gains in COLLECTION.judged.items()
    }
    other = replace(
        COLLECTION,
        judged=dict(COLLECTION.judged) | {name: judged[name] for name in ("q6", "q7")},
    )
    given = [
        linear.retrieve(data, {"short": SETTINGS})[0] for data in (COLLECTION, other)
    ]
    assert given[0] == given[1]


@pytest.mark.parametrize("gain", [0, 4])
def test_training_without_both_relevant_and_other_documents_raises(gain):
    judged = {
        name: dict.fromkeys(gains, gain) for name, gains in COLLECTION.judged.items()
    }
    with pytest.raises(
        BadInput, match=r"judgements: the training queries have only relevant documents"
    ):
        linear.retrieve(replace(COLLECTION, judged=judged), {"short": SETTINGS})


def test_documents_without_common_words_raise():
    documents = {name: f"word{name}" for name in COLLECTION.documents}
    with pytest.raises(
        BadInput,
        match="documents: the documents share too few words; use more documents",
    ):
        linear.retrieve(replace(COLLECTION, documents=documents), {"short": SETTINGS})


def test_a_query_without_known_words_is_still_ranked():
    queries = {name: dict(query) for name, query in COLLECTION.queries.items()}
    queries["q6"]["short"] = "zzz"
    hits, _ = linear.retrieve(replace(COLLECTION, queries=queries), {"short": SETTINGS})
    assert len(hits["short"]["q6"]) == 10
