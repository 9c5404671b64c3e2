"""Fine-tuning of a bi-encoder on graded judgements with sentence-transformers'
trainer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Router
from sentence_transformers.base.sampler import DefaultBatchSampler
from sentence_transformers.sentence_transformer import (
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from torch.nn.functional import log_softmax, normalize
from torch.utils.data import SequentialSampler

from lextables.models.checkpoints import AtUpdates, arguments, train
from lextables.models.device import mixed
from lextables.models.in_parts import InParts
from lextables.models.own_settings import COSINE, prompt_name
from lextables.models.settings import UpdateSettings

# Parts of a pair: the trainer's columns, and the names of a model's prompts and routes.
PARTS = ("query", "document")
Pair = tuple[str, str]


@dataclass(frozen=True)
class GradedPairs:
    """The pairs of all batches in order, as positions in ``queries`` and ``documents``.

    ``gains`` maps positions of (query, document) to the document's gain for the query.
    """

    pairs: Sequence[tuple[int, int]]
    queries: Sequence[str]
    documents: Sequence[str]
    gains: Mapping[tuple[int, int], float]

    def dataset(self) -> Dataset:
        """Return the trainer's columns: both texts, and their positions as label."""
        return Dataset.from_dict(
            {
                "query": [self.queries[query] for query, _ in self.pairs],
                "document": [self.documents[document] for _, document in self.pairs],
                "label": [list(pair) for pair in self.pairs],
            }
        )


class GradedSoftmax(torch.nn.Module):
    """Cross-entropy between a softmax over documents and their shares of a query's
    gain.

    The softmax is over the model's own similarities of each query to the documents of
    the batch.  Cosines are divided by ``temperature``.  Other similarities are not,
    because they are not limited to 1 (sentence-transformers advises so for its losses).
    Pairs without an entry in ``gains`` (`GradedPairs`) have gain 0, so documents of the
    other queries are further negatives.  Every query needs a document with a gain in
    its batch.
    """

    def __init__(
        self,
        model: SentenceTransformer,
        gains: Mapping[tuple[int, int], float],
        temperature: float,
    ) -> None:
        super().__init__()
        self.model = model
        self.gains = gains
        self.temperature = temperature

    def forward(
        self, features: Sequence[dict[str, torch.Tensor]], labels: torch.Tensor
    ) -> torch.Tensor:
        """Return the loss of a batch; ``labels`` (pairs, 2): positions of the texts."""
        vectors = []
        positions = []
        for part, column in zip(features, labels.T.tolist(), strict=True):
            # Repeated queries and documents count once.
            rows = {position: row for row, position in enumerate(column)}
            embeddings = self.model(part)["sentence_embedding"].float()
            vectors.append(embeddings[list(rows.values())])
            positions.append(list(rows))
        queries, documents = vectors
        pairs = product(*positions)
        gains = torch.tensor(
            [self.gains.get(pair, 0) for pair in pairs],
            dtype=queries.dtype,
            device=queries.device,
        )
        gains = gains.reshape(len(queries), len(documents))
        target = gains / gains.sum(dim=-1, keepdim=True)
        # In half precision a cosine has two digits, which is not enough for small
        # temperatures.
        with torch.autocast(queries.device.type, enabled=False):
            similarities = self._similarities(queries, documents)
            log_shares = log_softmax(similarities, dim=-1)
        losses = -(target * log_shares).sum(dim=-1)
        return losses.mean()

    def _similarities(
        self, queries: torch.Tensor, documents: torch.Tensor
    ) -> torch.Tensor:
        """Return the similarities (queries, documents)."""
        if self.model.similarity_fn_name != COSINE:
            return self.model.similarity(queries, documents)
        cosines = normalize(queries, dim=-1) @ normalize(documents, dim=-1).T
        return cosines / self.temperature


class _Trainer(InParts, SentenceTransformerTrainer):
    """A trainer that never splits a batch: the loss compares each query with the
    documents of the others.
    """

    compares = True


def in_order(data: Dataset, batch_size: int, **_: object) -> DefaultBatchSampler:
    """Return the batches of ``data`` in its order."""
    return DefaultBatchSampler(SequentialSampler(data), batch_size, drop_last=False)


def finetune(
    model: SentenceTransformer,
    data: GradedPairs,
    settings: UpdateSettings,
    seed: int,
    work: Path,
    visit: Callable[[int], None],
) -> int:
    """Fine-tune in place; ``visit(n)`` is called after each n of the settings' updates.

    The loss is `GradedSoftmax`.  Queries and documents are encoded with the model's
    prompt or route, as in a search.  Checkpoints are written to ``work``; an
    interrupted run resumes from there.  Returns the update from which it resumed (0
    without a checkpoint).
    """
    last = max(settings.updates)
    if len(data.pairs) != last * settings.batch_size:
        pairs = f"{last} updates of {settings.batch_size} pairs"
        raise ValueError(f"{pairs} are not {len(data.pairs)} pairs")
    routed = any(isinstance(module, Router) for module in model)
    training_arguments = SentenceTransformerTrainingArguments(
        **arguments(
            work, last, seed=seed, save_every=settings.save_every, device=model.device
        ),
        **settings.optimiser.arguments(settings.learning_rate),
        per_device_train_batch_size=settings.batch_size,
        batch_sampler=in_order,
        prompts=prompts(model),
        router_mapping={part: part for part in PARTS} if routed else {},
    )
    trainer = _Trainer(
        model=model,
        args=training_arguments,
        train_dataset=data.dataset(),
        loss=GradedSoftmax(model, data.gains, settings.temperature),
        callbacks=[AtUpdates(settings.updates, visit)],
        mixed=mixed(settings.bf16, model.device),
        optimiser=settings.optimiser,
    )
    return train(trainer, work)


def prompts(model: SentenceTransformer) -> dict[str, str]:
    """Return the model's prompts for queries and documents, if it has any."""
    part_prompts = {}
    for part in PARTS:
        name = prompt_name(model, part)
        prompt = model.prompts[name] if name else None
        if prompt is not None:
            part_prompts[part] = prompt
    return part_prompts
