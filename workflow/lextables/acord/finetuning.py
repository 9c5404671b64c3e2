"""Fine-tuning ACORD's cross-encoder (Section F.2).

One run is one learning rate and one seed.  At each number of updates of the grid it scores every
clause that a retriever hands on, for the validation and test queries, so that the whole grid of
updates comes out of one training and no weights need be kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from lextables.acord.retrieval import Collection, pair_scores
from lextables.dataset import Column, Row, Table, read, write
from lextables.models import cross_encoder
from lextables.models.checkpoints import work_folder
from lextables.models.weights import weights_folder

TOP_GAIN = 4
PREDICTIONS = Table(
    "predictions",
    "The relevance that a cross-encoder gives each candidate after each number of updates of the grid.",
    (
        Column("updates", pa.int32(), "optimiser updates done"),
        Column("query_id", pa.string(), "a validation or test query"),
        Column("clause_id", pa.string(), "a clause among the first hits of some retriever"),
        Column("score", pa.float64(), "relevance logit"),
    ),
    key=("updates", "query_id", "clause_id"),
)


def training_pairs(collection: Collection) -> tuple[list[tuple[str, str]], list[float]]:
    """Return the training pairs and their soft targets, score / 4: one star is 0.0, four stars 0.75."""
    pairs, targets = [], []
    for query_id, query in sorted(collection.queries.items()):
        if query["split"] == "train":
            for clause_id, score in sorted(collection.judged[query_id].items()):
                pairs.append((query["short"], collection.clauses[clause_id]))
                targets.append(score / TOP_GAIN)
    return pairs, targets


def finetune(
    collection: Collection,
    candidates: Sequence[Mapping[str, Sequence[str]]],
    settings: Mapping[str, Any],
    seed: int,
    device: torch.device,
    work_root: Path,
    identity: Mapping[str, Any],
    output: str,
) -> dict[str, Any]:
    """Train, score the candidates at every number of updates, and write `PREDICTIONS` to ``output``.

    ``candidates`` are the retrievers' hits.  ``identity`` is what makes a checkpoint this run's own
    (data, code, libraries, device).  Returns what `run.json` records of the training.
    """
    work = work_folder(work_root, {"settings": dict(settings), "seed": seed, "identity": dict(identity)})
    folder = weights_folder(settings)
    model = cross_encoder.load(folder, device, settings["max_length"], seed, fresh_head=True)
    texts = collection.texts("short")
    pools = {
        query_id: sorted({clause for hits in candidates for clause in hits.get(query_id, ())})
        for query_id in texts
    }

    def visit(updates: int) -> None:
        # Dropout draws from the same generator as training: leave it as it was found.
        state = torch.get_rng_state()
        training = model.training
        model.eval()
        scores = pair_scores(model, collection, texts, pools)
        model.train(training)
        torch.set_rng_state(state)
        rows = (
            {"updates": updates, "query_id": q, "clause_id": c, "score": value}
            for (q, c), value in sorted(scores.items())
        )
        write(PREDICTIONS, rows, work / f"scores-{updates}.parquet")

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
        visit=visit,
    )
    write(PREDICTIONS, _joined(work, sorted(settings["updates"])), output)
    return {"resumed_from_update": resumed, "training_pairs": len(pairs), "work": work.name}


def _joined(work: Path, updates: Iterable[int]) -> Iterable[Row]:
    for count in updates:
        yield from read(work / f"scores-{count}.parquet")
