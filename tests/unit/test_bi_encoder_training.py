"""Fine-tuning of a tiny bi-encoder: loss, batches, resumption, seeds and prompts."""

import os

# Nothing here is on the hub.
os.environ["HF_HUB_OFFLINE"] = "1"

import math

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import BertConfig, BertModel, set_seed

from lextables.models import bi_encoder
from lextables.models.bi_encoder_training import GradedSoftmax
from lextables.pipeline.dataset import read, write
from lextables.tasks.retrieval import bi_encoder_tuning as tuning
from lextables.tasks.retrieval import training
from lextables.tasks.retrieval.bi_encoder_tuning import graded_batches
from lextables.tasks.retrieval.collection import TRIED, Collection
from lextables.tasks.retrieval.scoring import choose
from lextables.tasks.retrieval.training import search, train
from wordpiece import wordpiece

CPU = torch.device("cpu")
WORDS = "the seller bears cap liability term years law find clause".split()
PROMPTS = {"query": "find ", "document": "clause "}
TASK = {
    "training": "train", "validation": "valid", "test": "test", "forms": ["short"], "top_gain": 4,
    "choose_by": "NDCG@2",
}  # fmt: skip
QUERIES = {
    "cap": {"short": "cap liability", "split": "train"},
    "years": {"short": "years", "split": "train"},
    "none": {"short": "the", "split": "train"},
    "term": {"short": "term years", "split": "valid"},
}
JUDGED = {
    "cap": {"a": 4, "c": 1, "b": 0},
    "years": {"b": 2, "a": 0},
    "none": {"a": 0},
    "term": {"b": 3, "a": 0},
}
DOCUMENTS = {"a": "the seller bears liability", "b": "the term", "c": "the law"}
COLLECTION = Collection(DOCUMENTS, QUERIES, JUDGED, TASK)


class Rows(torch.nn.Module):
    """A model whose vectors are what it is given."""

    def forward(self, features):
        return {"sentence_embedding": features["rows"]}


def test_the_loss_by_hand():
    # Two queries, two documents each, of which one is of both; its second vector is the one that counts.
    queries = [[2.0, 0.0], [1.0, 0.0], [0.0, 3.0], [0.0, 3.0]]
    documents = [[1.0, 0.0], [0.0, 1.0], [0.0, 5.0], [0.6, 0.8]]
    labels = torch.tensor([[7, 0], [7, 1], [9, 1], [9, 2]])
    gains = {(7, 0): 3, (7, 1): 1, (9, 2): 2, (9, 0): 0}
    features = [{"rows": torch.tensor(rows)} for rows in (queries, documents)]
    loss = GradedSoftmax(Rows(), gains, temperature=0.5)(features, labels)

    def log_share(cosines, place):
        return cosines[place] / 0.5 - math.log(sum(math.exp(cosine / 0.5) for cosine in cosines))

    first, second = [1.0, 0.0, 0.6], [0.0, 1.0, 0.8]
    wanted = -(3 / 4 * log_share(first, 0) + 1 / 4 * log_share(first, 1) + log_share(second, 2)) / 2
    assert loss.item() == pytest.approx(wanted, rel=1e-6)


def test_batches_alternate_the_gains_of_each_query():
    pairs = graded_batches(JUDGED, updates=6, batch_size=8, documents=4, seed=0)
    assert len(pairs) == 6 * 8
    groups = [pairs[at : at + 4] for at in range(0, len(pairs), 4)]
    for group in groups:
        ((query),) = {query for query, _ in group}
        gains = sorted({*JUDGED[query].values()}, reverse=True)
        assert [JUDGED[query][document] for _, document in group] == [
            gains[place % len(gains)] for place in range(4)
        ]
    for at in range(0, len(groups), 3):
        assert {group[0][0] for group in groups[at : at + 3]} == {"cap", "years", "term"}
    assert pairs == graded_batches(JUDGED, updates=6, batch_size=8, documents=4, seed=0)
    assert pairs != graded_batches(JUDGED, updates=6, batch_size=8, documents=4, seed=1)


def test_all_documents_of_a_gain_are_drawn_before_any_is_repeated():
    judged = {"q": {"a": 1, **{f"n{number}": 0 for number in range(5)}}}
    pairs = graded_batches(judged, updates=5, batch_size=2, documents=2, seed=3)
    assert sorted(document for _, document in pairs[1::2]) == [f"n{number}" for number in range(5)]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A folder of a tiny bi-encoder, with prompts or without."""
    body = tmp_path_factory.mktemp("body")
    set_seed(0)
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=5 + len(WORDS), max_position_embeddings=32, **size)
    BertModel(config).save_pretrained(body)
    wordpiece(WORDS).save_pretrained(body)

    def make(prompts=None):
        folder = tmp_path_factory.mktemp("encoder")
        model = SentenceTransformer(modules=[Transformer(str(body)), Pooling(8)], prompts=prompts)
        model.save_pretrained(str(folder), create_model_card=False)
        return folder

    return make


@pytest.fixture
def settings(encoder, monkeypatch):
    monkeypatch.setattr(tuning, "weights_folder", lambda settings: settings["weights"])
    return {
        "weights": str(encoder()), "revision": None, "max_length": 16, "batch_size": 4, "documents": 2,
        "weight_decay": 0.01, "temperature": 0.1, "bf16": False, "save_every": 2, "learning_rate": 1e-3,
        "updates": [4],
    }  # fmt: skip


def trained(settings, folder, collection=COLLECTION, seed=0):
    """The record of a training, and the bytes of its weights."""
    record = train(tuning, collection, settings, seed, CPU, folder / "work", {}, folder / "weights")
    return record, (folder / "weights/model.safetensors").read_bytes()


def test_the_weights_depend_on_the_seed(settings, tmp_path):
    record, weights = trained(settings, tmp_path / "one")
    assert (record["training_pairs"], record["resumed_from_update"]) == (16, 0)
    assert trained(settings, tmp_path / "two")[1] == weights
    assert trained(settings, tmp_path / "three", seed=1)[1] != weights


def test_training_improves_the_ranking(settings, tmp_path):
    trained(settings | {"updates": [60], "learning_rate": 1e-2}, tmp_path)
    texts = COLLECTION.texts("short", ("training",))
    hits = {"cap": ["a", "b", "c"], "years": ["a", "b"]}

    def ranking(folder):
        scores = training.pair_scores(tuning, bi_encoder.load(str(folder), CPU, 16), COLLECTION, texts, hits)
        return {query: sorted(of, key=lambda d: -scores[query, d]) for query, of in hits.items()}

    wanted = {"cap": ["a", "c", "b"], "years": ["b", "a"]}
    assert ranking(tmp_path / "weights") == wanted != ranking(settings["weights"])


class Killed(Exception):
    pass


def test_a_resumed_training_has_the_same_weights(settings, tmp_path, monkeypatch):
    _, whole = trained(settings, tmp_path / "whole")
    with monkeypatch.context() as patched:

        def killed(model, folder):
            raise Killed

        patched.setattr(training, "save", killed)
        with pytest.raises(Killed):
            trained(settings, tmp_path / "cut")
    (work,) = (tmp_path / "cut/work").iterdir()
    (work / "checkpoint-4/whole").unlink()
    record, cut = trained(settings, tmp_path / "cut")
    assert record["resumed_from_update"] == 2
    assert cut == whole


def test_a_search_scores_candidates_and_does_not_change_training(settings, tmp_path):
    candidates = [{"term": ["a"]}, {"term": ["b"], "cap": ["c"]}]

    def searched(updates):
        output = tmp_path / f"{updates}.parquet"
        given = settings | {"updates": updates}
        search(tuning, COLLECTION, candidates, given, 0, CPU, tmp_path / "work", {}, output)
        return list(read(output))

    found = searched([2, 4])
    assert [(row["updates"], row["query_id"], row["document_id"]) for row in found] == [
        (updates, "term", document) for updates in (2, 4) for document in "ab"
    ]
    assert searched([4]) == found[2:]
    trained(settings, tmp_path)
    model = bi_encoder.load(str(tmp_path / "weights"), CPU, 16)
    kept = training.pair_scores(tuning, model, COLLECTION, {"term": "term years"}, {"term": ["a", "b"]})
    assert list(kept.values()) == pytest.approx([row["score"] for row in found[2:]])


def test_the_choice_is_by_the_ranking_of_scored_documents(tmp_path):
    # Of the validation query's documents b has a gain; after 4 updates it is ranked first.
    ranks = {2: {"a": 0.9, "b": 0.2}, 4: {"a": 0.1, "b": 0.2}}
    rows = [
        {"updates": updates, "query_id": "term", "document_id": document, "score": score}
        for updates, scores in ranks.items()
        for document, score in scores.items()
    ]
    write(TRIED, rows, tmp_path / "tried.parquet")
    choice, means = choose({(1e-4, 0): tmp_path / "tried.parquet"}, COLLECTION, None)
    assert choice == {"learning_rate": 1e-4, "updates": [4]}
    assert [row["validation NDCG@2"] for row in means] == pytest.approx([1 / math.log2(3), 1.0])


def test_a_model_is_trained_and_saved_with_its_prompts(settings, encoder, tmp_path):
    _, weights = trained(settings | {"weights": str(encoder(PROMPTS))}, tmp_path / "prompts")
    written_out = Collection(
        {name: PROMPTS["document"] + text for name, text in DOCUMENTS.items()},
        {name: query | {"short": PROMPTS["query"] + query["short"]} for name, query in QUERIES.items()},
        JUDGED,
        TASK,
    )
    assert weights == trained(settings, tmp_path / "written", written_out)[1]
    assert weights != trained(settings, tmp_path / "without")[1]
    kept = bi_encoder.load(str(tmp_path / "prompts/weights"), CPU, 16)
    assert {part: kept.prompts[part] for part in PROMPTS} == PROMPTS
