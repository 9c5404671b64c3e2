"""Fine-tuning a cross-encoder on a retrieval data set (ACORD, Section F.2); a
`training.Tuning`.
"""

from collections.abc import Callable
from pathlib import Path

import torch
from sentence_transformers import CrossEncoder

from lextables.models import cross_encoder
from lextables.models.cross_encoder import score
from lextables.models.weights import weights_folder
from lextables.tasks.retrieval.collection import Collection, TextPair
from lextables.tasks.retrieval.tuning_settings import TuningSettings

__all__ = ["finetune", "load", "score", "training_pairs"]


def training_pairs(collection: Collection) -> tuple[list[TextPair], list[float]]:
    """Return the judged pairs of the training queries, and their gains divided by the
    highest gain.
    """
    top_gain = collection.task["top_gain"]
    form = collection.task["forms"][0]
    pairs = []
    targets = []
    for query_id, text in collection.texts(form, ("training",)).items():
        gains = collection.judged[query_id]
        for document, gain in sorted(gains.items()):
            pairs.append((text, collection.documents[document]))
            targets.append(gain / top_gain)
    return pairs, targets


def load(settings: TuningSettings, device: torch.device, seed: int) -> CrossEncoder:
    """Load the encoder, with a relevance head initialised by ``seed`` if it has
    none.
    """
    folder = weights_folder(settings.plain())
    return cross_encoder.load(
        folder, device, settings.max_length, seed, fresh_head=True
    )


def finetune(
    model: CrossEncoder,
    collection: Collection,
    settings: TuningSettings,
    seed: int,
    work: Path,
    visit: Callable[[int], None],
) -> dict[str, int]:
    """Fine-tune on all judged pairs of the training queries, every gain equally
    often.
    """
    pairs, targets = training_pairs(collection)
    resumed = cross_encoder.finetune(model, pairs, targets, settings, seed, work, visit)
    return {"resumed_from_update": resumed, "training_pairs": len(pairs)}
