"""Fine-tuning a cross-encoder on a retrieval data set (ACORD, Section F.2).

One training has one learning rate and one seed.  A search reads the candidates of the validation queries at
each number of updates of the grid, so that all of these come out of one training, and lets its weights go;
the training of what was chosen keeps them.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import CrossEncoder

from lextables.dataset import read, write
from lextables.models import checkpoints, cross_encoder
from lextables.models.checkpoints import work_folder
from lextables.models.weights import weights_folder
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.reranking import pair_scores
from lextables.tasks.retrieval.schema import TRIED


def training_pairs(collection: Collection) -> tuple[list[tuple[str, str]], list[float]]:
    """Return the pairs of the training queries and their soft targets, each gain's share of the highest."""
    top, form = collection.task["top_gain"], collection.task["forms"][0]
    pairs, targets = [], []
    for query_id, query in collection.of("training").items():
        for document, gain in sorted(collection.judged[query_id].items()):
            pairs.append((query[form], collection.documents[document]))
            targets.append(gain / top)
    return pairs, targets


def search(
    collection: Collection,
    candidates: Sequence[Mapping[str, Sequence[str]]],
    settings: Mapping[str, Any],
    seed: int,
    device: torch.device,
    work_root: Path,
    identity: Mapping[str, Any],
    output: str,
) -> dict[str, Any]:
    """Train, score the candidates at every number of updates, and write `TRIED` to ``output``.

    ``candidates`` are retrievers' hits.  ``identity`` is what makes a checkpoint this run's own (data, code,
    libraries, device).  Returns what `run.json` records of the training.
    """
    work = work_folder(work_root, {"settings": dict(settings), "seed": seed, "identity": dict(identity)})
    texts = collection.texts(collection.task["forms"][0], ("validation",))
    pools = {
        query_id: sorted({document for hits in candidates for document in hits.get(query_id, ())})
        for query_id in texts
    }

    def visit(model: CrossEncoder, updates: int) -> None:
        scores = pair_scores(model, collection, texts, pools)
        rows = (
            {"updates": updates, "query_id": q, "document_id": d, "score": value}
            for (q, d), value in sorted(scores.items())
        )
        write(TRIED, rows, work / f"scores-{updates}.parquet")

    _, record = _train(collection, settings, seed, device, work, visit)
    parts = [work / f"scores-{updates}.parquet" for updates in sorted(settings["updates"])]
    write(TRIED, (row for part in parts for row in read(part)), output)
    return record


def train(
    collection: Collection,
    settings: Mapping[str, Any],
    seed: int,
    device: torch.device,
    work_root: Path,
    identity: Mapping[str, Any],
    output: str,
) -> dict[str, Any]:
    """Train for the one number of updates and save the model to ``output``; the rest as in `search`."""
    work = work_folder(work_root, {"settings": dict(settings), "seed": seed, "identity": dict(identity)})
    if record := checkpoints.finished(work, output):
        return record
    model, record = _train(collection, settings, seed, device, work, lambda model, updates: None)
    cross_encoder.save(model, output)
    return record


def _train(
    collection: Collection,
    settings: Mapping[str, Any],
    seed: int,
    device: torch.device,
    work: Path,
    visit: Callable[[CrossEncoder, int], None],
) -> tuple[CrossEncoder, dict[str, Any]]:
    folder = weights_folder(settings)
    model = cross_encoder.load(folder, device, settings["max_length"], seed, fresh_head=True)

    def undisturbed(updates: int) -> None:
        # Dropout draws from the same generator as training: leave it as it was found.
        state = torch.get_rng_state()
        training = model.training
        model.eval()
        visit(model, updates)
        model.train(training)
        torch.set_rng_state(state)

    pairs, targets = training_pairs(collection)
    resumed = cross_encoder.finetune(
        model,
        pairs,
        targets,
        learning_rate=settings["learning_rate"],
        updates=settings["updates"],
        batch_size=settings["batch_size"],
        weight_decay=settings["weight_decay"],
        bf16=settings["bf16"],
        save_every=settings["save_every"],
        seed=seed,
        work=work,
        visit=undisturbed,
    )
    return model, {"resumed_from_update": resumed, "training_pairs": len(pairs), "work": work.name}
