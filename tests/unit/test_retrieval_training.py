"""Fine-tuning of tiny cross-encoders and bi-encoders: batches, resumption, and the
choice of trials.
"""

import math
from dataclasses import replace

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import BertConfig, BertModel, set_seed

from helpers.killed import killed
from helpers.optimisers import CONSTANT
from helpers.recorded_seeds import record_seeds
from helpers.wordpiece import wordpiece
from lextables.models import bi_encoder, bi_encoder_training, cross_encoder
from lextables.models.bi_encoder_training import GradedSoftmax
from lextables.models.checkpoints import Checkpoints
from lextables.pipeline.dataset import read, write
from lextables.pipeline.errors import BadInput
from lextables.pipeline.finite import NotFinite
from lextables.tasks.retrieval import bi_encoder_tuning, cross_encoder_tuning, training
from lextables.tasks.retrieval.bi_encoder_tuning import graded_batches
from lextables.tasks.retrieval.collection import TRIED, Collection
from lextables.tasks.retrieval.scoring import choose
from lextables.tasks.retrieval.tuning_settings import TuningSettings

CPU = torch.device("cpu")
WORDS = "the seller bears cap liability term years law find clause".split()
PROMPTS = {"query": "find ", "document": "clause "}
TUNINGS = {"cross-encoder": cross_encoder_tuning, "bi-encoder": bi_encoder_tuning}
MODELS = {"cross-encoder": cross_encoder, "bi-encoder": bi_encoder}
TASK = {
    "training": "train",
    "validation": "valid",
    "test": "test",
    "forms": ["short", "long"],
    "top_gain": 4,
    "choose_by": "NDCG@2",
}
COLLECTION = Collection(
    {"a": "the seller bears liability", "b": "the term", "c": "the law"},
    {
        "cap": {"short": "cap liability", "long": "the cap", "split": "train"},
        "years": {"short": "years", "long": "the years", "split": "train"},
        "term": {"short": "term years", "long": "the term", "split": "valid"},
        "law": {"short": "law", "long": "the law", "split": "valid"},
        "tort": {"short": "liability", "long": "the liability", "split": "test"},
    },
    {
        "cap": {"a": 4, "c": 1, "b": 0},
        "years": {"b": 2, "a": 0},
        "term": {"b": 3, "a": 0, "c": 0},
        "law": {"c": 4, "a": 2},
        "tort": {"a": 1},
    },
    TASK,
)
CANDIDATES = [{"term": ["a", "b"], "law": ["a"]}, {"term": ["b", "c"], "tort": ["a"]}]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A function that saves a tiny encoder, with or without prompts, and returns its
    folder.
    """
    body = tmp_path_factory.mktemp("body")
    set_seed(0)
    size = {
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    config = BertConfig(vocab_size=5 + len(WORDS), max_position_embeddings=32, **size)
    BertModel(config).save_pretrained(body)
    wordpiece(WORDS).save_pretrained(body)

    def make(prompts=None):
        folder = tmp_path_factory.mktemp("encoder")
        model = SentenceTransformer(
            modules=[Transformer(str(body)), Pooling(8)], prompts=prompts
        )
        model.save_pretrained(str(folder), create_model_card=False)
        return folder

    return make


@pytest.fixture
def settings(encoder, monkeypatch):
    for tuning in TUNINGS.values():
        monkeypatch.setattr(
            tuning, "weights_folder", lambda settings: settings["weights"]
        )
    return {
        "model": "tiny",
        "weights": str(encoder()),
        "found": "here",
        "grid": "small",
        "revision": None,
        "max_length": 16,
        "batch_size": 4,
        "documents": 2,
        "optimiser": CONSTANT | {"clip": 1.0},
        "temperature": 0.1,
        "bf16": False,
        "save_every": 2,
        "learning_rate": 1e-3,
        "updates": [4],
    }


def train(kind, settings, folder, collection=COLLECTION, seed=0):
    """Train a model; return its record and the bytes of its weights."""
    tuned = TuningSettings(**settings, kind=kind)
    run = training.Training(
        TUNINGS[kind], collection, tuned, seed, CPU, folder / "work", {}
    )
    record = training.train(run, folder / "weights")
    return record, (folder / "weights/model.safetensors").read_bytes()


def searched(kind, settings, folder, updates):
    """Run a search; return its rows and its record."""
    output, settings = folder / f"{updates}.parquet", settings | {"updates": updates}
    tuned = TuningSettings(**settings, kind=kind)
    run = training.Training(
        TUNINGS[kind], COLLECTION, tuned, 0, CPU, folder / "work", {"code": "1"}
    )
    record = training.search(run, CANDIDATES, output)
    return list(read(output)), record


def scores_of(kind, folder, hits, split="validation"):
    model = MODELS[kind].load(str(folder), CPU, 16)
    texts = COLLECTION.texts("short", (split,))
    return training.pair_scores(TUNINGS[kind], model, COLLECTION, texts, hits)


@pytest.mark.parametrize(("kind", "pairs"), [("cross-encoder", 5), ("bi-encoder", 16)])
def test_a_search_scores_the_candidates_and_does_not_change_training(
    kind, pairs, settings, tmp_path
):
    found, record = searched(kind, settings, tmp_path, [2, 4])
    candidates = (("law", "a"), ("term", "a"), ("term", "b"), ("term", "c"))
    assert [row["updates"] for row in found] == [2] * 4 + [4] * 4
    pairs_of = [(row["query_id"], row["document_id"]) for row in found]
    assert pairs_of == [*candidates, *candidates]
    assert (record["training_pairs"], record["resumed_from_update"]) == (pairs, 0)
    once, _ = searched(kind, settings, tmp_path, [4])
    assert once == found[4:]
    record, _ = train(kind, settings, tmp_path)
    assert record["training_pairs"] == pairs
    scores = scores_of(
        kind, tmp_path / "weights", {"law": ["a"], "term": ["a", "b", "c"]}
    )
    expected = {(row["query_id"], row["document_id"]): row["score"] for row in once}
    assert scores == pytest.approx(expected)


@pytest.mark.parametrize("kind", TUNINGS)
@pytest.mark.parametrize("environment", ["no", "bf16"])
def test_a_search_in_mixed_precision_scores_as_the_saved_model(
    kind, environment, settings, tmp_path, monkeypatch
):
    # A user's setting of accelerate would change the precision of the model for the
    # whole job.
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", environment)
    settings |= {"bf16": True, "learning_rate": 1e-2}
    found, _ = searched(kind, settings, tmp_path, [4])
    mixed = train(kind, settings, tmp_path / "mixed")[1]
    assert mixed != train(kind, settings | {"bf16": False}, tmp_path / "single")[1]
    scores = scores_of(
        kind, tmp_path / "mixed/weights", {"law": ["a"], "term": ["a", "b", "c"]}
    )
    assert {
        (row["query_id"], row["document_id"]): row["score"] for row in found
    } == scores


SEED_PARTS = {
    "cross-encoder": [
        (cross_encoder, "load"),
        (cross_encoder, "BalancedBatches"),
        (cross_encoder, "arguments"),
    ],
    "bi-encoder": [
        (bi_encoder_tuning, "graded_batches"),
        (bi_encoder_training, "arguments"),
    ],
}


@pytest.mark.parametrize("kind", TUNINGS)
def test_each_random_part_uses_the_seed_of_the_run(
    kind, settings, tmp_path, monkeypatch
):
    """The initial head, the batches, and dropout (the trainer's seed)."""
    seeds = record_seeds(monkeypatch, *SEED_PARTS[kind])
    train(kind, settings, tmp_path, seed=3)
    assert seeds == {name: {3} for _, name in SEED_PARTS[kind]}


@pytest.mark.parametrize("kind", TUNINGS)
def test_a_resumed_training_has_the_same_weights(kind, settings, tmp_path):
    _, whole = train(kind, settings, tmp_path / "whole")
    assert train(kind, settings, tmp_path / "other", seed=1)[1] != whole

    with killed(Checkpoints, "on_save", call=2):
        train(kind, settings, tmp_path / "cut")
    record, cut = train(kind, settings, tmp_path / "cut")
    assert record["resumed_from_update"] == 2
    assert cut == whole


# Cross-encoders.


def test_targets_are_gains_divided_by_the_highest_gain():
    pairs, targets = cross_encoder_tuning.training_pairs(COLLECTION)
    asked = [("cap liability", name) for name in "abc"] + [
        ("years", name) for name in "ab"
    ]
    assert pairs == [
        (query, COLLECTION.documents[document]) for query, document in asked
    ]
    assert targets == [1.0, 0.0, 0.25, 0.0, 0.5]


# Bi-encoders.


class Rows(torch.nn.Module):
    """A model that returns its input as embeddings."""

    similarity_fn_name = "cosine"

    def forward(self, features):
        return {"sentence_embedding": features["rows"]}


def test_the_loss_equals_a_value_computed_by_hand():
    # Two queries with two documents each; they share one document, of which the second
    # vector is used.
    queries = [[2.0, 0.0], [1.0, 0.0], [0.0, 3.0], [0.0, 3.0]]
    documents = [[1.0, 0.0], [0.0, 1.0], [0.0, 5.0], [0.6, 0.8]]
    labels = torch.tensor([[7, 0], [7, 1], [9, 1], [9, 2]])
    gains = {(7, 0): 3, (7, 1): 1, (9, 2): 2, (9, 0): 0}
    features = [{"rows": torch.tensor(rows)} for rows in (queries, documents)]
    loss = GradedSoftmax(Rows(), gains, temperature=0.5)(features, labels)

    def log_share(cosines, place):
        return cosines[place] / 0.5 - math.log(
            sum(math.exp(cosine / 0.5) for cosine in cosines)
        )

    first, second = [1.0, 0.0, 0.6], [0.0, 1.0, 0.8]
    wanted = (
        -(
            3 / 4 * log_share(first, 0)
            + 1 / 4 * log_share(first, 1)
            + log_share(second, 2)
        )
        / 2
    )
    assert loss.item() == pytest.approx(wanted, rel=1e-6)


def test_batches_alternate_the_gains_of_each_query():
    judged = {name: COLLECTION.judged[name] for name in ("cap", "years", "term")} | {
        "none": {"a": 0}
    }
    pairs = graded_batches(judged, updates=6, batch_size=8, documents=4, seed=0)
    assert len(pairs) == 6 * 8
    groups = [pairs[at : at + 4] for at in range(0, len(pairs), 4)]
    for group in groups:
        ((query),) = {query for query, _ in group}
        gains = sorted({*judged[query].values()}, reverse=True)
        assert [judged[query][document] for _, document in group] == [
            gains[place % len(gains)] for place in range(4)
        ]
    for at in range(0, len(groups), 3):
        assert {group[0][0] for group in groups[at : at + 3]} == {
            "cap",
            "years",
            "term",
        }
    assert pairs == graded_batches(judged, updates=6, batch_size=8, documents=4, seed=0)
    assert pairs != graded_batches(judged, updates=6, batch_size=8, documents=4, seed=1)
    # All documents of a gain are drawn before any is repeated.
    many = {"q": {"a": 1, **{f"n{number}": 0 for number in range(5)}}}
    pairs = graded_batches(many, updates=5, batch_size=2, documents=2, seed=3)
    assert sorted(document for _, document in pairs[1::2]) == [
        f"n{number}" for number in range(5)
    ]


@pytest.mark.parametrize("kind", TUNINGS)
@pytest.mark.parametrize("judged", [{}, {"cap": {"a": 0}, "term": {"b": 3}}])
def test_a_training_without_a_relevant_document_raises(
    kind, judged, settings, tmp_path
):
    without = replace(COLLECTION, judged=judged)
    sentence = "split train: no training query has a relevant document; add judgements"
    with pytest.raises(BadInput, match=sentence):
        train(kind, settings, tmp_path, without)


def test_training_improves_the_ranking(settings, tmp_path):
    train(
        "bi-encoder",
        settings | {"updates": [20], "learning_rate": 3e-2, "save_every": 0},
        tmp_path,
    )
    hits = {"cap": ["a", "b", "c"], "years": ["a", "b"]}

    def ranking(folder):
        scores = scores_of("bi-encoder", folder, hits, "training")
        return {
            query: sorted(of, key=lambda d: -scores[query, d])
            for query, of in hits.items()
        }

    wanted = {"cap": ["a", "c", "b"], "years": ["b", "a"]}
    assert ranking(tmp_path / "weights") == wanted != ranking(settings["weights"])


def test_a_model_is_trained_and_saved_with_its_prompts(settings, encoder, tmp_path):
    settings |= {"updates": [1], "save_every": 0}
    prompted = settings | {"weights": str(encoder(PROMPTS))}
    _, weights = train("bi-encoder", prompted, tmp_path / "prompts")
    written_out = replace(
        COLLECTION,
        documents={
            name: PROMPTS["document"] + text
            for name, text in COLLECTION.documents.items()
        },
        queries={
            name: query | {"short": PROMPTS["query"] + query["short"]}
            for name, query in COLLECTION.queries.items()
        },
    )
    assert (
        weights == train("bi-encoder", settings, tmp_path / "written", written_out)[1]
    )
    assert weights != train("bi-encoder", settings, tmp_path / "without")[1]
    kept = bi_encoder.load(str(tmp_path / "prompts/weights"), CPU, 16)
    assert {part: kept.prompts[part] for part in PROMPTS} == PROMPTS


# The choice of trials.

HITS = {"term": ["a", "b", "c"], "law": ["a", "c"]}
BEST, HALF, WORST = (
    {"term": ["b", "a", "c"], "law": ["c", "a"]},
    {"term": ["a", "b", "c"], "law": ["c", "a"]},
    {"term": ["a", "c", "b"], "law": ["a", "c"]},
)


def tried(path, *groups):
    """Write the scores of groups (updates, {query: documents, best first}); return the
    path.
    """
    rows = []
    for updates, orders in groups:
        for query, order in sorted(orders.items()):
            for document in sorted(order):
                row = {"updates": updates, "query_id": query, "document_id": document}
                rows.append(row | {"score": -float(order.index(document))})
    write(TRIED, rows, path)
    return path


@pytest.mark.parametrize(
    "hits", [HITS, None], ids=["reordered hits", "all that was scored"]
)
def test_the_trial_with_the_best_mean_over_queries_and_seeds_is_chosen(tmp_path, hits):
    runs = {
        (1e-4, 0): tried(tmp_path / "a", (100, WORST), (200, HALF)),
        (1e-4, 1): tried(tmp_path / "b", (100, BEST), (200, HALF)),
        (3e-4, 0): tried(tmp_path / "c", (100, HALF), (200, BEST)),
        (3e-4, 1): tried(tmp_path / "d", (100, HALF), (200, BEST)),
    }
    choice, means = choose(runs, COLLECTION, hits)
    assert choice == {"learning_rate": 3e-4, "updates": [200]}
    table = {
        (row["learning_rate"], row["updates"]): row["validation NDCG@2"]
        for row in means
    }
    half = (1 + 1 / math.log2(3)) / 2
    worst = (2 + 4 / math.log2(3)) / (4 + 2 / math.log2(3)) / 2
    assert table == pytest.approx(
        {
            (1e-4, 100): (1 + worst) / 2,
            (1e-4, 200): half,
            (3e-4, 100): half,
            (3e-4, 200): 1.0,
        }
    )
    assert {row["seeds"] for row in means} == {2}


def test_ties_are_broken_by_fewer_updates_and_then_a_lower_learning_rate(tmp_path):
    runs = {
        (rate, 0): tried(tmp_path / f"{rate}", (100, HALF), (200, HALF))
        for rate in (3e-4, 1e-4)
    }
    choice, _ = choose(runs, COLLECTION, HITS)
    assert choice == {"learning_rate": 1e-4, "updates": [100]}
    by_recall = replace(COLLECTION, task=TASK | {"choose_by": "Recall@1"})
    _, (row,) = choose(
        {(1e-4, 0): tried(tmp_path / "best", (100, BEST))}, by_recall, HITS
    )
    assert row["validation Recall@1"] == (1 + 0.5) / 2


def test_a_trial_that_diverged_with_a_seed_is_never_chosen(tmp_path):
    runs = {
        (1e-4, 0): tried(tmp_path / "a", (100, WORST), (200, WORST)),
        (1e-4, 1): tried(tmp_path / "b", (100, WORST), (200, HALF)),
        (3e-4, 0): tried(tmp_path / "c", (100, HALF), (200, BEST)),
        (3e-4, 1): tried(tmp_path / "d", (100, HALF)),
        (1e-3, 0): tried(tmp_path / "e"),
        (1e-3, 1): tried(tmp_path / "f", (100, BEST)),
    }
    choice, means = choose(runs, COLLECTION, HITS)
    assert choice == {"learning_rate": 3e-4, "updates": [100]}
    diverged = {}
    for row in means:
        key = row["learning_rate"], row["updates"]
        assert ("diverged" in row) != ("validation NDCG@2" in row)
        if "diverged" in row:
            diverged[key] = row["diverged"], row["seeds"]
    assert diverged == {(3e-4, 200): (1, 1), (1e-3, 100): (1, 1), (1e-3, 200): (2, 0)}
    nothing = {(1e-4, 0): tried(tmp_path / "g"), (3e-4, 0): tried(tmp_path / "h")}
    with pytest.raises(
        BadInput, match=r"^the training of each trial of the search div"
    ):
        choose(nothing, COLLECTION, HITS)


@pytest.mark.parametrize("kind", TUNINGS)
def test_a_search_that_diverges_keeps_the_scores_before(kind, settings, tmp_path):
    settings |= {"learning_rate": 1e30, "optimiser": CONSTANT}
    found, record = searched(kind, settings, tmp_path, [1, 4])
    assert {row["updates"] for row in found} <= {1}
    assert "not all finite numbers" in record["diverged"]
    with pytest.raises(NotFinite):
        train(kind, settings | {"updates": [4]}, tmp_path)


def test_reading_during_a_training_restores_all_generators(
    monkeypatch, tmp_path, settings
):
    states = {"cuda": torch.tensor([1, 2], dtype=torch.uint8)}
    monkeypatch.setattr(
        torch.cuda, "get_rng_state", lambda device: states["cuda"].clone()
    )
    monkeypatch.setattr(
        torch.cuda, "set_rng_state", lambda state, device: states.update(cuda=state)
    )

    class Tuning:
        def load(settings, device, seed):
            return torch.nn.Dropout()

        def finetune(model, collection, settings, seed, work, visit):
            before = torch.get_rng_state()
            visit(1)
            assert torch.equal(torch.get_rng_state(), before) and model.training
            return {}

    def visit(model, updates):
        assert not model.training
        torch.rand(1)
        states["cuda"] += 1

    tuned = TuningSettings(**settings, kind="bi-encoder")
    run = training.Training(
        Tuning, COLLECTION, tuned, 0, torch.device("cuda"), tmp_path, {}
    )
    training._train(run, visit)
    assert states["cuda"].tolist() == [1, 2]
