"""Fine-tuning a bi-encoder on a retrieval data set; a `training.Tuning`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from lextables.models import bi_encoder, bi_encoder_training
from lextables.models.optimiser import Optimiser
from lextables.models.own_settings import PRODUCTS
from lextables.models.weights import weights_folder
from lextables.tasks.retrieval.collection import Collection


def load(
    settings: Mapping[str, Any], device: torch.device, seed: int
) -> SentenceTransformer:
    """Load the model; ``seed`` is not used, since no weights are initialised."""
    return bi_encoder.load(weights_folder(settings), device, settings["max_length"])


def finetune(
    model: SentenceTransformer,
    collection: Collection,
    settings: Mapping[str, Any],
    seed: int,
    work: Path,
    visit: Callable[[int], None],
) -> dict[str, Any]:
    """Fine-tune on `graded_batches` of the training queries in their first form."""
    texts = collection.texts(collection.task["forms"][0], ("training",))
    batches = graded_batches(
        {query: collection.judged[query] for query in texts},
        updates=max(settings["updates"]),
        batch_size=settings["batch_size"],
        documents=settings["documents"],
        seed=seed,
    )
    queries = {query: number for number, query in enumerate(texts)}
    documents = {
        document: number for number, document in enumerate(sorted(collection.documents))
    }
    gains = {
        (queries[query], documents[document]): gain
        for query in queries
        for document, gain in collection.judged[query].items()
    }
    names = "learning_rate temperature updates batch_size bf16 save_every".split()
    resumed = bi_encoder_training.finetune(
        model,
        [(queries[query], documents[document]) for query, document in batches],
        list(texts.values()),
        [collection.documents[document] for document in documents],
        gains,
        **{name: settings[name] for name in names},
        optimiser=Optimiser(**settings["optimiser"]),
        seed=seed,
        work=work,
        visit=visit,
    )
    return {"resumed_from_update": resumed, "training_pairs": len(batches)}


def score(model: SentenceTransformer, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """Return the model's own similarity of each pair of a query's and a document's text."""
    queries = bi_encoder.encode_queries(model, [query for query, _ in pairs])
    documents = bi_encoder.encode_documents(model, [document for _, document in pairs])
    if model.similarity_fn_name in PRODUCTS:
        return (queries * documents).sum(axis=1)
    return model.similarity_pairwise(queries, documents).numpy()


def graded_batches(
    judged: Mapping[str, Mapping[str, float]],
    *,
    updates: int,
    batch_size: int,
    documents: int,
    seed: int,
) -> list[tuple[str, str]]:
    """Return ``updates`` batches of ``batch_size`` (query, document) pairs, one after the other.

    A query in a batch has ``documents`` documents, drawn from its gains in turn, the highest first, so that
    rare gains are seen as often as frequent ones.  Queries, and the documents of a gain, repeat only after
    all others, in an order fixed by ``seed``.  Queries without a relevant document are left out, since they
    say nothing about order.
    """
    generator = np.random.default_rng(seed)
    graded = {query: of for query, of in sorted(judged.items()) if any(of.values())}
    order = _endless(list(graded), generator)
    streams = {query: _by_gain(of, generator) for query, of in graded.items()}
    return [
        (query, next(streams[query][place % len(streams[query])]))
        for _ in range(updates * batch_size // documents)
        for query in [next(order)]
        for place in range(documents)
    ]


def _by_gain(
    judged: Mapping[str, float], generator: np.random.Generator
) -> list[Iterator[str]]:
    """Return an endless iterator over the documents of each gain, the highest gain first."""
    return [
        _endless(
            sorted(
                document for document, its_gain in judged.items() if its_gain == gain
            ),
            generator,
        )
        for gain in sorted(set(judged.values()), reverse=True)
    ]


def _endless(names: Sequence[str], generator: np.random.Generator) -> Iterator[str]:
    while True:
        for at in generator.permutation(len(names)):
            yield names[at]
