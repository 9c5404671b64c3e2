"""Fine-tuning a tiny cross-encoder, and the choice among trials."""

import os

# Nothing here is on the hub.
os.environ["HF_HUB_OFFLINE"] = "1"

import math

import pytest
import torch
from transformers import BertConfig, BertModel, set_seed

from lextables.models import cross_encoder
from lextables.pipeline.dataset import read, write
from lextables.tasks.retrieval import cross_encoder_tuning as tuning
from lextables.tasks.retrieval import training
from lextables.tasks.retrieval.collection import TRIED, Collection
from lextables.tasks.retrieval.cross_encoder_tuning import training_pairs
from lextables.tasks.retrieval.scoring import choose
from lextables.tasks.retrieval.training import search, train
from wordpiece import wordpiece

CPU = torch.device("cpu")
WORDS = "the seller bears cap liability term years law".split()
TASK = {
    "training": "train", "validation": "valid", "test": "test", "forms": ["short", "long"], "top_gain": 4,
    "choose_by": "NDCG@2",
}  # fmt: skip
COLLECTION = Collection(
    {"a": "the seller bears liability", "b": "the term", "c": "the law"},
    {
        "cap": {"short": "cap liability", "long": "the cap", "split": "train"},
        "term": {"short": "term years", "long": "the term", "split": "valid"},
        "law": {"short": "law", "long": "the law", "split": "valid"},
        "tort": {"short": "liability", "long": "the liability", "split": "test"},
    },
    {
        "cap": {"a": 4, "c": 1, "b": 0},
        "term": {"b": 3, "a": 0, "c": 0},
        "law": {"c": 4, "a": 2},
        "tort": {"a": 1},
    },
    TASK,
)
CANDIDATES = [{"term": ["a", "b"], "law": ["a"]}, {"term": ["b", "c"], "tort": ["a"]}]


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    set_seed(0)
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=5 + len(WORDS), max_position_embeddings=32, **size)).save_pretrained(
        folder
    )
    wordpiece(WORDS).save_pretrained(folder)
    return {
        "weights": str(folder), "revision": None, "max_length": 16, "batch_size": 4, "weight_decay": 0.01,
        "bf16": False, "save_every": 2, "learning_rate": 1e-3, "updates": [2, 4],
    }  # fmt: skip


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.setattr(tuning, "weights_folder", lambda settings: settings["weights"])


def test_a_gain_is_a_share_of_the_highest():
    pairs, targets = training_pairs(COLLECTION)
    assert pairs == [("cap liability", COLLECTION.documents[document]) for document in "abc"]
    assert targets == [1.0, 0.0, 0.25]


def searched(settings, folder, **changes):
    output = folder / "predictions.parquet"
    record = search(
        tuning, COLLECTION, CANDIDATES, settings | changes, 0, CPU, folder / "work", {"code": "1"}, output
    )
    return list(read(output)), record


def test_a_search_reads_all_candidates_of_the_validation_queries_at_every_number_of_updates(
    settings, tmp_path
):
    found, record = searched(settings, tmp_path)
    assert [(row["updates"], row["query_id"], row["document_id"]) for row in found] == [
        (updates, *pair)
        for updates in (2, 4)
        for pair in (("law", "a"), ("term", "a"), ("term", "b"), ("term", "c"))
    ]
    assert (record["training_pairs"], record["resumed_from_update"]) == (3, 0)
    # Reading on the way leaves training as it is.
    once, _ = searched(settings, tmp_path / "once", updates=[4])
    assert once == [row for row in found if row["updates"] == 4]


def test_what_is_kept_is_what_was_searched(settings, tmp_path):
    found, _ = searched(settings, tmp_path, updates=[4])
    record = train(
        tuning, COLLECTION, settings | {"updates": [4]}, 0, CPU, tmp_path / "work", {}, tmp_path / "weights"
    )
    model = cross_encoder.load(str(tmp_path / "weights"), CPU, 16)
    texts = COLLECTION.texts("short", ("validation",))
    scores = training.pair_scores(tuning, model, COLLECTION, texts, {"law": ["a"], "term": ["a", "b", "c"]})
    assert scores == pytest.approx({(row["query_id"], row["document_id"]): row["score"] for row in found})
    assert record["training_pairs"] == 3


class Killed(Exception):
    pass


def test_a_killed_training_goes_on_from_its_checkpoint_to_the_same_weights(settings, tmp_path, monkeypatch):
    one = settings | {"updates": [4]}
    train(tuning, COLLECTION, one, 0, CPU, tmp_path / "whole", {}, tmp_path / "whole/weights")
    with monkeypatch.context() as patched:

        def killed(model, folder):
            raise Killed

        patched.setattr(training, "save", killed)
        with pytest.raises(Killed):
            train(tuning, COLLECTION, one, 0, CPU, tmp_path / "cut", {}, tmp_path / "cut/weights")
    (work,) = (tmp_path / "cut").iterdir()
    (work / "checkpoint-4/whole").unlink()
    record = train(tuning, COLLECTION, one, 0, CPU, tmp_path / "cut", {}, tmp_path / "cut/weights")
    assert record["resumed_from_update"] == 2
    whole, cut = (tmp_path / name / "weights/model.safetensors" for name in ("whole", "cut"))
    assert whole.read_bytes() == cut.read_bytes()


HITS = {"term": ["a", "b", "c"], "law": ["a", "c"]}


def tried(path, *groups):
    """Scores: (updates, {query: documents, best first})."""
    rows = [
        {"updates": updates, "query_id": query, "document_id": document, "score": float(-place)}
        for updates, orders in groups
        for query, order in orders.items()
        for place, document in enumerate(order)
    ]
    write(TRIED, sorted(rows, key=lambda r: (r["updates"], r["query_id"], r["document_id"])), path)
    return path


BEST, HALF, WORST = (
    {"term": ["b", "a", "c"], "law": ["c", "a"]},
    {"term": ["a", "b", "c"], "law": ["c", "a"]},
    {"term": ["a", "c", "b"], "law": ["a", "c"]},
)


def test_the_trial_with_the_best_mean_over_queries_and_seeds_is_chosen(tmp_path):
    runs = {
        (1e-4, 0): tried(tmp_path / "a", (100, WORST), (200, HALF)),
        (1e-4, 1): tried(tmp_path / "b", (100, BEST), (200, HALF)),
        (3e-4, 0): tried(tmp_path / "c", (100, HALF), (200, BEST)),
        (3e-4, 1): tried(tmp_path / "d", (100, HALF), (200, BEST)),
    }
    choice, means = choose(runs, COLLECTION, HITS)
    assert choice == {"learning_rate": 3e-4, "updates": [200]}
    table = {(row["learning_rate"], row["updates"]): row["validation NDCG@2"] for row in means}
    half = (1 + 1 / math.log2(3)) / 2
    worst = (2 + 4 / math.log2(3)) / (4 + 2 / math.log2(3)) / 2
    assert table == pytest.approx(
        {(1e-4, 100): (1 + worst) / 2, (1e-4, 200): half, (3e-4, 100): half, (3e-4, 200): 1.0}
    )
    assert {row["seeds"] for row in means} == {2}


def test_a_tie_goes_to_fewer_updates_and_then_to_the_lower_rate(tmp_path):
    runs = {(rate, 0): tried(tmp_path / f"{rate}", (100, HALF), (200, HALF)) for rate in (3e-4, 1e-4)}
    choice, _ = choose(runs, COLLECTION, HITS)
    assert choice == {"learning_rate": 1e-4, "updates": [100]}


def test_the_metric_is_the_task_s(tmp_path):
    runs = {(1e-4, 0): tried(tmp_path / "a", (100, BEST))}
    other = Collection(
        COLLECTION.documents, COLLECTION.queries, COLLECTION.judged, TASK | {"choose_by": "Recall@1"}
    )
    _, (row,) = choose(runs, other, HITS)
    assert row["validation Recall@1"] == (1 + 0.5) / 2
