"""Ranking and reranking of documents that are cut to the paragraphs that BM25 finds for
a query.
"""

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from helpers.retrieval_hits import documents, gensim_scores, names, store
from lextables.models import multi_head
from lextables.models.okapi import Paragraphs
from lextables.pipeline.errors import BadInput
from lextables.tasks.retrieval import dense
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.rankers import classifier as classifying
from lextables.tasks.retrieval.rankers import okapi
from lextables.tasks.retrieval.ranking import Encoders, Ranking, RankingSettings

SAMPLE_ENCODER = str(
    Path(__file__).parents[2] / "resources/sample/models/sample-encoder"
)
CPU = torch.device("cpu")
WORDS = ["rent", "tax", "duty", "notice", "court", "state", "the", "of", "law", "claim"]
TASK = {"training": "train", "validation": "valid", "test": "test"}


def made(seed=0):
    drawn = random.Random(seed)

    def words(count):
        return " ".join(drawn.choices(WORDS, k=count))

    texts, queries, judged = {}, {}, {}
    for at in range(12):
        lines = [words(drawn.randrange(2, 9)) for _ in range(9)]
        texts[f"d{at:02}"] = "\n".join(lines)
    labels = {"q1": "entail", "q2": "contradict", "q3": "entail"}
    for name, label in labels.items():
        split = "valid" if name == "q3" else "test"
        queries[name] = {"query_id": name, "split": split, "label": label}
        queries[name]["text"] = words(3)
        first, *others = drawn.sample(sorted(texts), 8)
        judged[name] = {first: 1} | dict.fromkeys(others, 0)
    return Collection(texts, queries, judged, TASK)


def encode(texts):
    """The count of each word and the length of the text, which is different for each
    document.
    """
    rows = []
    for text in texts:
        rows.append([*map(text.split().count, WORDS), len(text) / 1000])
    return np.array(rows, dtype=np.float32)


def filtered(data, query, document):
    return Paragraphs(data.documents[document]).best(data.queries[query]["text"])


def expected(data, score):
    """{query: the first five of its pool by ``score(query, document)``, ties by id}."""
    hits = {}
    for query, pool in data.judged.items():
        scored = [(document, score(query, document)) for document in sorted(pool)]
        hits[query] = sorted(scored, key=lambda hit: -hit[1])[:5]
    return hits


def alike(found, wanted):
    assert documents(found) == documents(wanted)
    for query, hits in wanted.items():
        assert dict(found[query]) == pytest.approx(dict(hits))


SETTINGS = {"form": "text", "pool": "judged", "top": 5, "queries": None}


@pytest.mark.parametrize("at_once", [1, 7, 10_000])
def test_vectors_encode_the_paragraphs_that_each_query_finds(monkeypatch, at_once):
    monkeypatch.setattr(dense, "BATCH", at_once)
    data, seen = made(), []

    def of_documents(texts):
        seen.extend(texts)
        return encode(texts)

    read = set()

    def score(query, document):
        read.add(filtered(data, query, document))
        texts = [data.queries[query]["text"], filtered(data, query, document)]
        return float(np.dot(*encode(texts)))

    run = RankingSettings(**SETTINGS | {"documents": "filtered"})
    hits = dense.retrieve(data, {"text": run}, Encoders(of_documents, encode))
    alike(hits["text"], expected(data, score))
    assert set(seen) == read
    assert all(len(text.split("\n")) == 5 for text in seen)


@pytest.mark.parametrize("read", ["whole", "filtered"])
@pytest.mark.parametrize("at_once", [1, 64])
def test_okapi_equals_gensim_on_the_pool_of_each_query(monkeypatch, read, at_once):
    monkeypatch.setattr(okapi, "POOL_BATCH", at_once)
    data = made(1)
    scores = {}
    for query, pool in data.judged.items():
        texts = [data.documents[name] for name in pool]
        if read == "filtered":
            texts = [filtered(data, query, name) for name in pool]
        of_query = gensim_scores(data.queries[query]["text"], texts)
        scores[query] = dict(zip(pool, of_query, strict=True))
    found = okapi.rank(Ranking(data, {"text": SETTINGS | {"documents": read}}))["text"]
    alike(found, expected(data, lambda query, name: scores[query][name]))


def reranking(folder, data, hits, **changes):
    """A job that reads ``hits``: {query: documents, best first}."""
    files = [store(hits, folder / "hits.parquet")]
    return Ranking(data, {"text": SETTINGS | changes}, {"text": files})


def test_rerankers_use_only_the_hits_as_their_collection(tmp_path):
    data = made(2)
    hits = {query: sorted(pool)[:3] for query, pool in data.judged.items()}
    # The validation query is not reranked.
    found = okapi.rank(reranking(tmp_path, data, hits, documents="filtered"))["text"]
    assert list(found) == ["q1", "q2"]
    assert sorted(names(found["q2"])) == hits["q2"]
    texts = [filtered(data, "q1", document) for document in hits["q1"]]
    scores = gensim_scores(data.queries["q1"]["text"], texts)
    expected = dict(zip(hits["q1"], scores, strict=True))
    assert dict(found["q1"]) == pytest.approx(expected)


CLASSIFIED = {
    "score": "probability",
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
    ("head", "answers", "value", "counts"),
    [
        ("nli", {}, "probability", {"q1": 0, "q2": 2}),
        ("nli", {}, "logit", {"q1": 0, "q2": 2}),
        ("entailment", {"contradict": "not entail"}, "probability", {"q1": 0, "q2": 1}),
        ("entailment", {"contradict": "entail"}, "logit", {"q1": 0, "q2": 0}),
    ],
)
def test_a_classifier_reranks_by_the_answer_of_the_querys_label(
    classifier, head, answers, value, counts, tmp_path
):
    data = made(4)
    hits = {query: sorted(pool)[:4] for query, pool in data.judged.items()}
    changes = CLASSIFIED | {"head": head, "answers": answers, "documents": "filtered"}
    changes["score"] = value
    job = reranking(tmp_path, data, hits, **changes)
    (run,) = job.runs(classifying.ClassifierSettings).values()
    found = classifying.rerank(job, "text", run, classifier, CPU)
    assert list(found) == ["q1", "q2"]

    tokenizer = AutoTokenizer.from_pretrained(SAMPLE_ENCODER)
    model, heads = classifier
    cut = {"truncation": "longest_first", "max_length": 24, "return_tensors": "pt"}
    for query, reordered in found.items():
        assert sorted(names(reordered)) == hits[query]
        assert reordered == sorted(reordered, key=lambda hit: -hit[1])
        for document, score in reordered:
            texts = filtered(data, query, document), data.queries[query]["text"]
            with torch.no_grad():
                represented = model.represent(**tokenizer(*texts, **cut))
                logits = model.answer(represented, list(heads).index(head))
            if value == "probability":
                logits = torch.softmax(logits, dim=1)
            expected = float(logits[0, counts[query]])
            assert score == pytest.approx(expected, abs=1e-5)


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
    reads = ("whole", "paragraphs", "filtered")
    ways = {read: SETTINGS | {"documents": read} for read in reads}
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
