"""Ranking and reranking of documents that are cut to the paragraphs that BM25 finds for a query."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from gensim.corpora import Dictionary
from gensim.models import OkapiBM25Model
from transformers import AutoTokenizer

from lextables.models import multi_head
from lextables.models.okapi import Paragraphs
from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from lextables.tasks.retrieval import dense
from lextables.tasks.retrieval.collection import (
    PREDICTIONS,
    Collection,
    prediction_rows,
)
from lextables.tasks.retrieval.rankers import classifier as classifying
from lextables.tasks.retrieval.rankers import okapi
from lextables.tasks.retrieval.ranking import Encoders, Ranking, RankingSettings

SAMPLE_ENCODER = str(
    Path(__file__).parents[2] / "resources/sample/models/sample-encoder"
)
CPU = torch.device("cpu")
WORDS = ["rent", "tax", "duty", "notice", "court", "state", "the", "of", "law", "claim"]
TASK = {"training": "train", "validation": "valid", "test": "test"}


def made(seed=0, documents=12, paragraphs=9):
    drawn = random.Random(seed)
    texts = {
        f"d{at:02}": "\n".join(
            " ".join(drawn.choices(WORDS, k=drawn.randrange(2, 9)))
            for _ in range(paragraphs)
        )
        for at in range(documents)
    }
    queries = {
        name: {
            "query_id": name,
            "split": split,
            "label": label,
            "text": " ".join(drawn.choices(WORDS, k=3)),
        }
        for name, split, label in (
            ("q1", "test", "entail"),
            ("q2", "test", "contradict"),
            ("q3", "valid", "entail"),
        )
    }
    judged = {
        name: {
            document: int(at == 0)
            for at, document in enumerate(drawn.sample(sorted(texts), 8))
        }
        for name in queries
    }
    return Collection(texts, queries, judged, TASK)


def encode(texts):
    """The count of each word and the length of the text, which is different for each document."""
    return np.array(
        [
            [text.split().count(word) for word in WORDS] + [len(text) / 1000]
            for text in texts
        ],
        dtype=np.float32,
    )


def filtered(data, query, document):
    return Paragraphs(data.documents[document]).best(data.queries[query]["text"])


def expected(data, score):
    """{query: its pool sorted by ``score(query, document)``, ties by id}."""
    return {
        query: sorted(
            ((document, score(query, document)) for document in data.judged[query]),
            key=lambda hit: (-hit[1], hit[0]),
        )
        for query in data.queries
    }


def alike(found, wanted):
    assert found.keys() == wanted.keys()
    for query, hits in wanted.items():
        assert [document for document, _ in found[query]] == [
            document for document, _ in hits
        ]
        assert [score for _, score in found[query]] == pytest.approx(
            [score for _, score in hits]
        )


SETTINGS = {"form": "text", "pool": "judged", "top": 5, "queries": None}


@pytest.mark.parametrize("at_once", [1, 7, 10_000])
def test_vectors_encode_the_paragraphs_that_each_query_finds(monkeypatch, at_once):
    monkeypatch.setattr(dense, "BATCH", at_once)
    data, seen = made(), []

    def documents(texts):
        seen.extend(texts)
        return encode(texts)

    def score(query, document):
        return float(
            encode([data.queries[query]["text"]])[0]
            @ encode([filtered(data, query, document)])[0]
        )

    run = RankingSettings(**SETTINGS | {"documents": "filtered"})
    found = dense.retrieve(data, {"text": run}, Encoders(documents, encode))["text"]
    alike(found, {query: hits[:5] for query, hits in expected(data, score).items()})
    assert set(seen) == {
        filtered(data, query, document)
        for query in data.queries
        for document in data.judged[query]
    }
    assert all(len(text.split("\n")) == 5 for text in seen)


def gensims(query, texts):
    tokens = [text.split() for text in texts]
    dictionary = Dictionary(tokens)
    model = OkapiBM25Model(dictionary=dictionary)
    asked = dict(dictionary.doc2bow(query.split()))
    return [
        sum(
            weight * asked.get(word, 0)
            for word, weight in model[dictionary.doc2bow(words)]
        )
        for words in tokens
    ]


@pytest.mark.parametrize("read", ["whole", "filtered"])
@pytest.mark.parametrize("at_once", [1, 64])
def test_okapi_equals_gensim_on_the_pool_of_each_query(monkeypatch, read, at_once):
    monkeypatch.setattr(okapi, "QUERY_BATCH", at_once)
    data = made(1)
    scores = {}
    for query, pool in data.judged.items():
        names = sorted(pool)
        texts = [
            filtered(data, query, name) if read == "filtered" else data.documents[name]
            for name in names
        ]
        found = gensims(data.queries[query]["text"], texts)
        scores |= {
            (query, name): value for name, value in zip(names, found, strict=True)
        }
    found = okapi.rank(Ranking(data, {"text": SETTINGS | {"documents": read}}))["text"]
    alike(
        found,
        {
            query: hits[:5]
            for query, hits in expected(data, lambda *pair: scores[pair]).items()
        },
    )


def reranking(folder, data, hits, **changes):
    """A job that reads ``hits``: {query: documents, best first}."""
    ranking = {query: [(name, 0.0) for name in of] for query, of in hits.items()}
    write(PREDICTIONS, prediction_rows(ranking), folder / "hits.parquet")
    return Ranking(
        data, {"text": SETTINGS | changes}, {"text": [folder / "hits.parquet"]}
    )


def test_rerankers_use_only_the_hits_as_their_collection(tmp_path):
    data = made(2)
    hits = {query: sorted(pool)[:3] for query, pool in data.judged.items()}
    # The validation query is not reranked.
    found = okapi.rank(reranking(tmp_path, data, hits, documents="filtered"))["text"]
    assert {
        query: sorted(document for document, _ in of) for query, of in found.items()
    } == {query: hits[query] for query in ("q1", "q2")}
    texts = [filtered(data, "q1", document) for document in hits["q1"]]
    assert [score for _, score in sorted(found["q1"])] == pytest.approx(
        gensims(data.queries["q1"]["text"], texts)
    )


CLASSIFIED = {
    "max_length": 24,
    "by": "label",
    "tokenizer": {"weights": SAMPLE_ENCODER},
}
HEADS = {
    "nli": ["entail", "neutral", "contradict"],
    "entailment": ["entail", "not entail"],
}


@pytest.fixture(autouse=True)
def weights_in_folders(monkeypatch):
    monkeypatch.setattr(
        classifying, "weights_folder", lambda settings: settings["weights"]
    )


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classifier")
    model = multi_head.load(
        SAMPLE_ENCODER, [3, 2], "family", seed=3, loss="cross_entropy"
    )
    multi_head.save(model, folder / "weights", HEADS)
    return multi_head.load_trained(folder / "weights", CPU)


@pytest.mark.parametrize(
    ("head", "answers", "counts"),
    [
        ("nli", {}, {"q1": 0, "q2": 2}),
        ("entailment", {"contradict": "not entail"}, {"q1": 0, "q2": 1}),
    ],
)
def test_a_classifier_reranks_by_the_probability_of_the_querys_label(
    classifier, head, answers, counts, tmp_path
):
    data = made(4)
    hits = {query: sorted(pool)[:4] for query, pool in data.judged.items()}
    job = reranking(
        tmp_path,
        data,
        hits,
        **CLASSIFIED,
        documents="filtered",
        head=head,
        answers=answers,
    )
    (run,) = job.runs(classifying.ClassifierSettings).values()
    found = classifying.rerank(job, "text", run, classifier, CPU)
    assert list(found) == ["q1", "q2"]

    tokenizer, (model, heads) = (
        AutoTokenizer.from_pretrained(SAMPLE_ENCODER),
        classifier,
    )
    for query, reordered in found.items():
        assert sorted(document for document, _ in reordered) == hits[query]
        assert [score for _, score in reordered] == sorted(
            (score for _, score in reordered), reverse=True
        )
        for document, score in reordered:
            pair = tokenizer(
                filtered(data, query, document),
                data.queries[query]["text"],
                truncation="longest_first",
                max_length=24,
                return_tensors="pt",
            )
            with torch.no_grad():
                logits = model.answer(model.represent(**pair), list(heads).index(head))
            assert score == pytest.approx(
                float(torch.softmax(logits, dim=1)[0, counts[query]]), abs=1e-5
            )


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        ("entailment", "'contradict' is not among the answers entail, not entail"),
        ("x", "no head 'x', only nli, entailment"),
    ],
)
def test_an_unknown_label_or_head_raises(classifier, head, sentence, tmp_path):
    job = reranking(
        tmp_path, made(5), {"q1": ["d00"]}, **CLASSIFIED, head=head, answers={}
    )
    (run,) = job.runs(classifying.ClassifierSettings).values()
    with pytest.raises(BadInput, match=sentence):
        classifying.rerank(job, "text", run, classifier, CPU)


def test_several_document_settings_rank_the_same_together_and_separately():
    data = made(6)
    ways = {
        read: SETTINGS | {"documents": read}
        for read in ("whole", "paragraphs", "filtered")
    }
    runs = Ranking(data, ways).runs(RankingSettings)
    encoders = Encoders(encode, encode)
    together = dense.retrieve(data, runs, encoders)
    assert list(together) == list(ways)
    for name, run in runs.items():
        assert together[name] == dense.retrieve(data, {name: run}, encoders)[name]
    assert len({str(hits) for hits in together.values()}) == 3
    del ways["paragraphs"]
    together = okapi.rank(Ranking(data, ways))
    for name, way in ways.items():
        assert together[name] == okapi.rank(Ranking(data, {name: way}))[name]
