"""Fine-tuning a bi-encoder on a retrieval data set; a `training.Tuning`."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from lextables.models import bi_encoder, bi_encoder_training
from lextables.models.bi_encoder_training import GradedPairs
from lextables.models.own_settings import PRODUCTS
from lextables.models.weights import weights_folder
from lextables.tasks.retrieval.collection import Collection, Pair, TextPair
from lextables.tasks.retrieval.tuning_settings import TuningSettings


def load(
    settings: TuningSettings, device: torch.device, seed: int
) -> SentenceTransformer:
    """Load the model; ``seed`` is not used, since no weights are initialised."""
    folder = weights_folder(settings.plain())
    return bi_encoder.load(folder, device, settings.max_length)


def finetune(
    model: SentenceTransformer,
    collection: Collection,
    settings: TuningSettings,
    seed: int,
    work: Path,
    visit: Callable[[int], None],
) -> dict[str, int]:
    """Fine-tune on `graded_batches` of the training queries in their first form."""
    texts = collection.texts(collection.task["forms"][0], ("training",))
    batches = graded_batches(
        {query: collection.judged[query] for query in texts},
        updates=max(settings.updates),
        batch_size=settings.batch_size,
        documents=settings.documents,
        seed=seed,
    )
    query_number = {query: number for number, query in enumerate(texts)}
    documents = sorted(collection.documents)
    document_number = {name: number for number, name in enumerate(documents)}
    gains = {}
    for query, number in query_number.items():
        for document, gain in collection.judged[query].items():
            gains[number, document_number[document]] = gain
    pairs = [(query_number[query], document_number[name]) for query, name in batches]
    data = GradedPairs(
        pairs,
        queries=list(texts.values()),
        documents=[collection.documents[document] for document in documents],
        gains=gains,
    )
    resumed = bi_encoder_training.finetune(model, data, settings, seed, work, visit)
    return {"resumed_from_update": resumed, "training_pairs": len(batches)}


def score(model: SentenceTransformer, pairs: Sequence[TextPair]) -> np.ndarray:
    """Return the model's similarity of each pair: (query's text, document's text)."""
    query_texts = [query for query, _ in pairs]
    document_texts = [document for _, document in pairs]
    queries = bi_encoder.encode_queries(model, query_texts)
    documents = bi_encoder.encode_documents(model, document_texts)
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
) -> list[Pair]:
    """Return the pairs (query id, document id) of all batches, batch after batch.

    There are ``updates`` batches of ``batch_size`` pairs.  A query in a batch has
    ``documents`` documents: one with the highest gain, one with the next, and so on,
    beginning again after the lowest, so that rare gains are seen as often as frequent
    ones.  A query, and a document of a gain, comes again only after all others; the
    order is random, fixed by ``seed``.  Queries without a relevant document are left
    out, since they say nothing about order.
    """
    generator = np.random.default_rng(seed)
    used = [query for query, gains in sorted(judged.items()) if any(gains.values())]
    order = _endless(used, generator)
    streams = {query: _by_gain(judged[query], generator) for query in used}
    pairs = []
    for _ in range(updates * batch_size // documents):
        query = next(order)
        gains = itertools.cycle(streams[query])
        for gain_documents in itertools.islice(gains, documents):
            pairs.append((query, next(gain_documents)))
    return pairs


def _by_gain(
    judged: Mapping[str, float], generator: np.random.Generator
) -> list[Iterator[str]]:
    """Return an endless iterator over the documents of each gain, the highest gain
    first.
    """
    documents: dict[float, list[str]] = {}
    for document, gain in sorted(judged.items()):
        documents.setdefault(gain, []).append(document)
    gains = sorted(documents, reverse=True)
    return [_endless(documents[gain], generator) for gain in gains]


def _endless(names: Sequence[str], generator: np.random.Generator) -> Iterator[str]:
    """Yield all names in random order, again and again."""
    while True:
        for at in generator.permutation(len(names)):
            yield names[at]
