"""Fine-tuning on a retrieval data set: searches of a grid, and the training that keeps
its weights.

A training has one learning rate and one seed.  A search scores the candidates of the
validation queries at every number of updates of the grid, so that one training serves
all of them, and deletes its weights; the training with the chosen settings keeps them.
How a kind of model is trained is its `Tuning`, the module `<kind>_tuning` beside this
one: a change in one kind's module does not rerun the other's trainings.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import torch

from lextables.models import checkpoints
from lextables.models.checkpoints import work_folder
from lextables.models.in_parts import random_state, set_random_state
from lextables.pipeline.atomic import replacing_folder
from lextables.pipeline.dataset import read, write
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.pipeline.finite import NotFinite
from lextables.tasks.retrieval.collection import TRIED, Collection, Pair, TextPair
from lextables.tasks.retrieval.tuning_settings import TuningSettings

Record = JsonObject  # what `run.json` has of a training
Pairs = Mapping[str, Sequence[str]]  # {query id: document ids}


class Tuning(Protocol):
    """How one kind of model is fine-tuned; a module with these functions."""

    def load(
        self, settings: TuningSettings, device: torch.device, seed: int
    ) -> torch.nn.Module:
        """Load the model to train."""

    def finetune(
        self,
        model: Any,
        collection: Collection,
        settings: TuningSettings,
        seed: int,
        work: Path,
        visit: Callable[[int], None],
    ) -> dict[str, int]:
        """Train in place on the training queries; return what `run.json` records.

        ``visit(n)`` is called after each n of the setting ``updates``; checkpoints are
        in ``work``.
        """

    def score(self, model: Any, pairs: Sequence[TextPair]) -> Sequence[float]:
        """Return the relevance of each (query's text, document's text)."""


def pair_scores(
    tuning: Tuning,
    model: Any,
    collection: Collection,
    texts: Mapping[str, str],
    hits: Pairs,
) -> dict[Pair, float]:
    """Return the score of each of ``hits``; ``texts`` are {query id: text}."""
    pairs = []
    for query_id in sorted(hits):
        pairs += [(query_id, document) for document in hits[query_id]]
    if not pairs:
        return {}
    read = [(texts[query], collection.documents[name]) for query, name in pairs]
    return dict(zip(pairs, map(float, tuning.score(model, read)), strict=True))


@dataclass(frozen=True)
class Training:
    """A training on the judgements of ``collection``.

    ``identity`` (data, code, libraries, device), settings and seed identify the work
    under ``work_root`` whose checkpoints may be reused.
    """

    tuning: Tuning
    collection: Collection
    settings: TuningSettings
    seed: int
    device: torch.device
    work_root: Path
    identity: JsonObject

    @cached_property
    def work(self) -> Path:
        """The folder of the checkpoints."""
        key = {
            "settings": self.settings.plain(),
            "seed": self.seed,
            "identity": dict(self.identity),
        }
        return work_folder(self.work_root, key)


def search(run: Training, candidates: Sequence[Pairs], output: str) -> Record:
    """Train, score the candidates at every number of updates, and write `TRIED` to
    ``output``.

    ``candidates`` are the hits of several retrievers; all of them are scored.  The
    scores after each number of updates are in a file of their own until the training
    ends, so that a resumed training keeps them.  A training that diverges has no scores
    from then on.  Returns what `run.json` records of the training.
    """
    form = run.collection.task["forms"][0]
    texts = run.collection.texts(form, ("validation",))
    pools = {}
    for query_id in texts:
        pool: set[str] = set()
        for hits in candidates:
            pool.update(hits.get(query_id, ()))
        pools[query_id] = sorted(pool)

    def part(updates: int) -> Path:
        return run.work / f"scores-{updates}.parquet"

    def visit(model: torch.nn.Module, updates: int) -> None:
        """Write the scores of the candidates after this number of updates."""
        scores = pair_scores(run.tuning, model, run.collection, texts, pools)
        rows = []
        for (query, name), score in sorted(scores.items()):
            row = {
                "updates": updates,
                "query_id": query,
                "document_id": name,
                "score": score,
            }
            rows.append(row)
        write(TRIED, rows, part(updates))

    try:
        _, record = _train(run, visit)
    except NotFinite as error:
        record = {"work": run.work.name, "diverged": str(error)}
    parts = [part(updates) for updates in sorted(run.settings.updates)]
    read_parts = [read(path) for path in parts if path.is_file()]
    write(TRIED, chain.from_iterable(read_parts), output)
    return record


def train(run: Training, output: str) -> Record:
    """Train and save the model to ``output``; return what `run.json` records of the
    training.
    """
    record = checkpoints.finished(run.work, output)
    if record:
        return record
    model, record = _train(run, lambda model, updates: None)
    save(model, output)
    return record


def _check_gains(collection: Collection) -> None:
    """Raise `BadInput` if no training query has a relevant document."""
    for query in collection.of("training"):
        if any(collection.judged.get(query, {}).values()):
            return
    raise BadInput(
        "no training query has a relevant document",
        where=f"the judgements of the split {collection.task['training']}",
        do="add judgements above 0, or name another split for training",
    )


def save(model: Any, folder: str | Path) -> None:
    """Write a model of sentence-transformers to ``folder`` as safetensors and JSON,
    atomically.
    """
    with replacing_folder(folder) as temporary:
        model.save_pretrained(str(temporary), create_model_card=False)


def _train(
    run: Training, visit: Callable[[torch.nn.Module, int], None]
) -> tuple[torch.nn.Module, Record]:
    """Return the trained model and the record; ``visit`` gets the model at each number
    of updates.
    """
    _check_gains(run.collection)
    model = run.tuning.load(run.settings, run.device, run.seed)

    def visit_unchanged(updates: int) -> None:
        # If the visit draws random numbers, training must not change: the generators
        # get their state back.
        state = random_state(run.device)
        training = model.training
        model.eval()
        visit(model, updates)
        model.train(training)
        set_random_state(run.device, state)

    record = run.tuning.finetune(
        model, run.collection, run.settings, run.seed, run.work, visit_unchanged
    )
    return model, {**record, "work": run.work.name}
