"""Fine-tuning a bi-encoder on a retrieval data set; a `training.Tuning`."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer

from lextables.models import bi_encoder, bi_encoder_training
from lextables.models.weights import weights_folder
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.graded_batches import graded_batches


def load(settings: Mapping[str, Any], device: torch.device, seed: int) -> SentenceTransformer:
    """Load the model, which has nothing for ``seed`` to draw."""
    return bi_encoder.load(weights_folder(settings), device, settings["max_length"])


def finetune(
    model: SentenceTransformer, collection: Collection, settings: Mapping[str, Any], seed: int, work: Path,
    visit: Callable[[int], None],
) -> dict[str, Any]:  # fmt: skip
    """Fine-tune on `graded_batches` of the training queries, worded in the first form."""
    wording = collection.texts(collection.task["forms"][0], ("training",))
    batches = graded_batches(
        {query: collection.judged[query] for query in wording},
        updates=max(settings["updates"]),
        batch_size=settings["batch_size"],
        documents=settings["documents"],
        seed=seed,
    )
    queries = {query: number for number, query in enumerate(wording)}
    documents = {document: number for number, document in enumerate(sorted(collection.documents))}
    resumed = bi_encoder_training.finetune(
        model,
        [(queries[query], documents[document]) for query, document in batches],
        list(wording.values()),
        [collection.documents[document] for document in documents],
        {
            (queries[query], documents[document]): gain
            for query in queries
            for document, gain in collection.judged[query].items()
        },
        learning_rate=settings["learning_rate"],
        temperature=settings["temperature"],
        updates=settings["updates"],
        batch_size=settings["batch_size"],
        weight_decay=settings["weight_decay"],
        bf16=settings["bf16"],
        save_every=settings["save_every"],
        seed=seed,
        work=work,
        visit=visit,
    )
    return {"resumed_from_update": resumed, "training_pairs": len(batches)}


def pair_scores(
    model: SentenceTransformer,
    collection: Collection,
    texts: Mapping[str, str],
    hits: Mapping[str, Iterable[str]],
) -> dict[tuple[str, str], float]:
    """Return {(query id, document id): cosine} for every hit."""
    pairs = [(query, document) for query in sorted(hits) for document in hits[query]]
    if not pairs:
        return {}
    queries = bi_encoder.encode_queries(model, [texts[query] for query, _ in pairs])
    documents = bi_encoder.encode_documents(model, [collection.documents[document] for _, document in pairs])
    cosines = (queries * documents).sum(axis=1)
    return dict(zip(pairs, map(float, cosines), strict=True))
