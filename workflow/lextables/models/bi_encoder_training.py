"""Fine-tuning of a bi-encoder on graded judgements with sentence-transformers' trainer."""

from collections.abc import Callable, Mapping, Sequence
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
from lextables.models.in_parts import InParts
from lextables.models.optimiser import Optimiser
from lextables.models.own_settings import COSINE, prompt_name
from lextables.models.precision import mixed

# Parts of a pair: the trainer's columns, and the names of a model's prompts and routes.
PARTS = ("query", "document")
Pair = tuple[str, str]


class GradedSoftmax(torch.nn.Module):
    """Cross-entropy between each query's softmax over the batch's documents and their shares of its gain.

    The softmax is over the model's own similarities; cosines are divided by ``temperature``, and others are
    not, since they are not limited to 1 (as sentence-transformers advises for its losses).  ``gains`` maps
    numbers of (query, document) to the document's gain for the query.  Pairs without an entry have gain 0,
    so documents of the other queries are further negatives.  Every query needs a document with a gain in its
    batch.
    """

    def __init__(
        self,
        model: SentenceTransformer,
        gains: Mapping[tuple[int, int], float],
        temperature: float,
    ) -> None:
        super().__init__()
        self.model, self.gains, self.temperature = model, gains, temperature

    def forward(
        self, features: Sequence[dict[str, torch.Tensor]], labels: torch.Tensor
    ) -> torch.Tensor:
        """Return the loss of a batch of pairs; ``labels`` (pairs, 2) number queries and documents."""
        # Repeated queries and documents count once.
        rows = [
            {number: row for row, number in enumerate(column)}
            for column in labels.T.tolist()
        ]
        queries, documents = (
            self.model(part)["sentence_embedding"].float()[list(of.values())]
            for part, of in zip(features, rows, strict=True)
        )
        gains = [
            [self.gains.get((query, document), 0) for document in rows[1]]
            for query in rows[0]
        ]
        target = torch.tensor(gains, dtype=queries.dtype, device=queries.device)
        # In half precision a cosine has two digits, which is not enough for small temperatures.
        with torch.autocast(queries.device.type, enabled=False):
            log_shares = log_softmax(self._similarities(queries, documents), dim=-1)
        return (
            -(target / target.sum(dim=-1, keepdim=True) * log_shares).sum(dim=-1).mean()
        )

    def _similarities(
        self, queries: torch.Tensor, documents: torch.Tensor
    ) -> torch.Tensor:
        if self.model.similarity_fn_name != COSINE:
            return self.model.similarity(queries, documents)
        return (
            normalize(queries, dim=-1)
            @ normalize(documents, dim=-1).T
            / self.temperature
        )


class _Trainer(InParts, SentenceTransformerTrainer):
    """A trainer whose loss needs the whole batch: documents are negatives of the other queries."""

    compares = True


def in_order(data: Dataset, batch_size: int, **_: object) -> DefaultBatchSampler:
    """Return the batches of ``data`` in its order."""
    return DefaultBatchSampler(SequentialSampler(data), batch_size, drop_last=False)


def finetune(
    model: SentenceTransformer,
    pairs: Sequence[tuple[int, int]],
    queries: Sequence[str],
    documents: Sequence[str],
    gains: Mapping[tuple[int, int], float],
    *,
    learning_rate: float,
    temperature: float,
    updates: Sequence[int],
    batch_size: int,
    optimiser: Optimiser,
    bf16: bool,
    seed: int,
    work: Path,
    visit: Callable[[int], None],
    save_every: int,
) -> int:
    """Fine-tune in place for max(``updates``) updates; ``visit(n)`` is called after each n of ``updates``.

    ``pairs`` are the (query, document) of all batches in order, as positions in ``queries`` and
    ``documents``; the loss is `GradedSoftmax` with ``gains``; the ``optimiser``'s settings.  Queries and
    documents are encoded with the model's prompt or route, as in a search.  Checkpoints are written to
    ``work`` every ``save_every`` updates; an interrupted run resumes from there.  Returns the update from
    which it resumed (0 without a checkpoint).
    """
    last = max(updates)
    if len(pairs) != last * batch_size:
        raise ValueError(
            f"{last} updates of {batch_size} pairs are not {len(pairs)} pairs"
        )
    data = Dataset.from_dict(
        {
            "query": [queries[query] for query, _ in pairs],
            "document": [documents[document] for _, document in pairs],
            "label": [list(pair) for pair in pairs],
        }
    )
    settings = SentenceTransformerTrainingArguments(
        **arguments(work, last, seed=seed, save_every=save_every, device=model.device),
        **optimiser.arguments(learning_rate),
        per_device_train_batch_size=batch_size,
        batch_sampler=in_order,
        prompts=prompts(model),
        router_mapping={part: part for part in PARTS}
        if any(isinstance(m, Router) for m in model)
        else {},
    )
    trainer = _Trainer(
        model=model,
        args=settings,
        train_dataset=data,
        loss=GradedSoftmax(model, gains, temperature),
        callbacks=[AtUpdates(updates, visit)],
        mixed=mixed(bf16, model.device),
        decayed=optimiser.decayed,
    )
    return train(trainer, work)


def prompts(model: SentenceTransformer) -> dict[str, str]:
    """Return the model's prompts for queries and documents, if it has any."""
    names = {part: prompt_name(model, part) for part in PARTS}
    return {part: model.prompts[name] for part, name in names.items() if name}
