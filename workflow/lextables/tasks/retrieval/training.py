"""Fine-tuning on a retrieval data set: trainings that search a grid, and one that keeps its weights.

One training has one learning rate and one seed.  A search reads the candidates of the validation queries at
each number of updates of the grid, so that all of these come out of one training, and lets its weights go;
the training of what was chosen keeps them.  What a kind of model is trained on, and how, is its `Tuning`: the
module `<kind>_tuning` beside this one, which a change of another kind's does not reach.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from lextables.models import checkpoints
from lextables.models.checkpoints import work_folder
from lextables.pipeline.atomic import replacing_folder
from lextables.pipeline.dataset import read, write
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.schema import TRIED

Pairs = Mapping[str, Sequence[str]]


class Tuning(Protocol):
    """How one kind of model is fine-tuned; a module has these functions."""

    def load(self, settings: Mapping[str, Any], device: torch.device, seed: int) -> torch.nn.Module:
        """Load the model that training starts from."""

    def finetune(
        self, model: Any, collection: Collection, settings: Mapping[str, Any], seed: int, work: Path,
        visit: Callable[[int], None],
    ) -> dict[str, Any]:  # fmt: skip
        """Train in place on the training queries, and return what is recorded of it.

        ``visit(n)`` is called after each n of the setting ``updates``; checkpoints lie in ``work``.
        """

    def pair_scores(
        self, model: Any, collection: Collection, texts: Mapping[str, str], hits: Pairs
    ) -> dict[tuple[str, str], float]:
        """Return {(query id, document id): score} of every hit; ``texts`` words the queries."""


def search(
    tuning: Tuning,
    collection: Collection,
    candidates: Sequence[Pairs],
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

    def visit(model: torch.nn.Module, updates: int) -> None:
        scores = tuning.pair_scores(model, collection, texts, pools)
        rows = (
            {"updates": updates, "query_id": q, "document_id": d, "score": value}
            for (q, d), value in sorted(scores.items())
        )
        write(TRIED, rows, work / f"scores-{updates}.parquet")

    _, record = _train(tuning, collection, settings, seed, device, work, visit)
    parts = [work / f"scores-{updates}.parquet" for updates in sorted(settings["updates"])]
    write(TRIED, (row for part in parts for row in read(part)), output)
    return record


def train(
    tuning: Tuning,
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
    model, record = _train(tuning, collection, settings, seed, device, work, lambda model, updates: None)
    save(model, output)
    return record


def save(model: Any, folder: str | Path) -> None:
    """Write a model of sentence-transformers to ``folder`` as safetensors and JSON, whole or not at all."""
    with replacing_folder(folder) as temporary:
        model.save_pretrained(str(temporary), create_model_card=False)


def _train(
    tuning: Tuning,
    collection: Collection,
    settings: Mapping[str, Any],
    seed: int,
    device: torch.device,
    work: Path,
    visit: Callable[[torch.nn.Module, int], None],
) -> tuple[torch.nn.Module, dict[str, Any]]:
    model = tuning.load(settings, device, seed)

    def undisturbed(updates: int) -> None:
        # Dropout draws from the same generator as training: leave it as it was found.
        state = torch.get_rng_state()
        training = model.training
        model.eval()
        visit(model, updates)
        model.train(training)
        torch.set_rng_state(state)

    record = tuning.finetune(model, collection, settings, seed, work, undisturbed)
    return model, record | {"work": work.name}
