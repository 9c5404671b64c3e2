"""Span extraction: a model marks where in a window of a contract an answer starts and ends.

Training is that of the released CUAD code (train.py and run.sh), prediction its n-best rule
(utils.py, compute_predictions_logits), for any question-answering model of transformers.
"""

import copy
import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch.nn.functional import cross_entropy
from tqdm import tqdm
from transformers import (
    AutoModelForQuestionAnswering,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.utils import logging

from lextables.atomic import replacing_folder
from lextables.dataset import Column, Table
from lextables.errors import BadInput
from lextables.models.checkpoints import Checkpoints, arguments, train
from lextables.models.final_text import FinalText, Spelling, collapsed
from lextables.models.loading import check_whole, fresh, fresh_encoder
from lextables.models.span_windows import Collator, WindowDataset, max_context

NBEST = Table(
    "predictions",
    "The likeliest spans for each question, the empty prediction among them, one for each released text.",
    (
        Column("question_id", pa.string(), "the question"),
        Column("rank", pa.int32(), "place by score, 0 first"),
        Column(
            "released_text",
            pa.string(),
            "the span as the released code writes it, often in whole words, white space as single blanks: "
            "what paper mode scores; nothing for the empty prediction, and the word empty, without a slice, "
            "where the question has nothing else",
        ),
        Column(
            "text", pa.string(), "the contract from the span's first token to its last, as strict mode has it"
        ),
        Column("start", pa.int32(), "first character of the slice; -1 for the empty prediction"),
        Column("end", pa.int32(), "character after the slice; -1 for the empty prediction"),
        Column("probability", pa.float64(), "softmax of start_logit + end_logit over the question's rows"),
        Column("start_logit", pa.float64(), "logit of the first token, or of the classification token"),
        Column("end_logit", pa.float64(), "logit of the last token, or of the classification token"),
    ),
    key=("question_id", "rank"),
)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' notes on loading (a fresh head, progress), which tell a user nothing."""
    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()


def load(folder: str, device: torch.device, seed: int = 0, *, trained: bool = False) -> PreTrainedModel:
    """Return the model in ``folder`` in float32; one without a span head gets a fresh one, drawn by ``seed``.

    Raises `BadInput` when the folder lacks weights of the encoder, or, of a ``trained`` model, any at all.
    """
    set_seed(seed)
    with quiet():
        model, report = AutoModelForQuestionAnswering.from_pretrained(
            folder, dtype=torch.float32, output_loading_info=True
        )
    check_whole(folder, fresh(report) if trained else fresh_encoder(model, report))
    return model.to(device)


def save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: str | Path) -> None:
    """Write model and tokenizer to ``folder`` as safetensors and JSON, whole or not at all."""
    with replacing_folder(folder) as temporary, quiet():
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)


def updates(windows: int, batch_size: int, epochs: float, most: int | None = None) -> int:
    """Return how many updates ``epochs`` passes over ``windows`` take, ``most`` at most; never 0."""
    planned = max(1, round(-(-windows // batch_size) * epochs))
    return min(planned, most) if most else planned


class _SpanTrainer(Trainer):
    """A trainer whose loss weighs a window without an answer by ``empty_weight``."""

    def __init__(self, *args: Any, answered: np.ndarray, empty_weight: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The loss is a mean over the batch, so that the parts of an accumulated batch are averaged.
        self.model_accepts_loss_kwargs = False
        self.empty_weight = empty_weight
        self.mean_weight = float(np.where(answered, 1.0, empty_weight).mean())

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """Return the mean over windows of weight x half the cross-entropy of start and end.

        Weights are divided by their mean over the data, not over the batch: a batch without an answer
        must not count as much as one with answers.  Padding is no place for an answer, so that a window's
        loss does not depend on the windows beside it; the released code, which pads to full length, lets
        padding share in the softmax.
        """
        starts, ends = inputs.pop("start_positions"), inputs.pop("end_positions")
        outputs = model(**inputs)
        padding = inputs["attention_mask"] == 0
        halves = (
            cross_entropy(logits.float().masked_fill(padding, -torch.inf), places, reduction="none")
            for logits, places in ((outputs.start_logits, starts), (outputs.end_logits, ends))
        )
        loss = sum(halves) / 2
        weights = torch.where(starts > 0, 1.0, self.empty_weight) / self.mean_weight
        loss = (weights * loss).mean()
        return (loss, outputs) if return_outputs else loss


def finetune(
    model: PreTrainedModel,
    dataset: WindowDataset,
    collator: Collator,
    *,
    learning_rate: float,
    epochs: float,
    batch_size: int,
    seed: int,
    work: Path,
    save_every: int,
    bf16: bool = False,
    max_updates: int | None = None,
    weight_decay: float = 0.0,
    warmup: int = 0,
    empty_weight: float | None = None,
    accumulation: int = 1,
) -> int:
    """Fine-tune in place on the windows of ``dataset``, on the device that the model is on.

    The defaults are the released ones: AdamW (epsilon 1e-8), no weight decay, gradients cut at norm 1,
    no warm-up, a rate that falls linearly to 0 at the last update.  There are `updates` of them.  Give
    the balanced sample of windows (`span_windows.balanced`, the released code's way) or all of them with
    ``empty_weight`` (`span_windows.empty_weight`, the way of the paper's text, Section 4.1).  A batch of
    ``batch_size`` windows goes through the model in ``accumulation`` parts, which saves memory.

    Checkpoints go to ``work`` every ``save_every`` updates; a run that finds one there goes on from it,
    to the weights that an unbroken run would have had.  Returns the update that it went on from (0 for
    a fresh start).  Raises `ValueError` when ``accumulation`` does not divide ``batch_size``.
    """
    if batch_size % accumulation:
        raise ValueError(f"accumulation = {accumulation} does not divide batch_size = {batch_size}")
    last = updates(len(dataset), batch_size, epochs, max_updates)
    settings = TrainingArguments(
        **arguments(work, last, seed=seed, save_every=save_every, device=model.device),
        per_device_train_batch_size=batch_size // accumulation,
        gradient_accumulation_steps=accumulation,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        adam_epsilon=1e-8,
        max_grad_norm=1.0,
        lr_scheduler_type="linear",
        warmup_steps=warmup,
        bf16=bf16,
        logging_steps=max(1, last // 20),
        disable_tqdm=False,
        remove_unused_columns=False,
    )
    trainer = _SpanTrainer(
        model=model,
        args=settings,
        train_dataset=dataset,
        data_collator=collator,
        callbacks=[Checkpoints()],
        answered=dataset.windows.start_positions[dataset.rows] > 0,
        empty_weight=1.0 if empty_weight is None else empty_weight,
    )
    return train(trainer, work)


@dataclass(frozen=True)
class Best:
    """The likeliest positions of windows in their sequences, best first, and the score of no answer.

    ``start_at``, ``end_at`` (int64) and ``start_logits``, ``end_logits`` (float64) are arrays (windows,
    n_best); ``null_starts`` and ``null_ends`` (float64) are the classification token's logits (windows,).
    """

    start_at: np.ndarray
    start_logits: np.ndarray
    end_at: np.ndarray
    end_logits: np.ndarray
    null_starts: np.ndarray
    null_ends: np.ndarray

    def of(self, windows: slice) -> "Best":
        """The same of some of the windows."""
        return Best(
            self.start_at[windows],
            self.start_logits[windows],
            self.end_at[windows],
            self.end_logits[windows],
            self.null_starts[windows],
            self.null_ends[windows],
        )


@dataclass(frozen=True)
class Span:
    """A prediction: characters [start, end) of the contract, or -1 and -1 where there is none (`NBEST`)."""

    released_text: str
    text: str
    start: int
    end: int
    probability: float
    start_logit: float
    end_logit: float


def top(logits: torch.Tensor, mask: torch.Tensor, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions and values of the ``count`` greatest logits of each row; (rows, count) arrays.

    Lower positions come first among equals.  Padding (0 in ``mask``) is never taken, where the released
    code, which pads to full length, may let it take a place; a row with fewer positions is filled up
    with minus infinity at position 0.
    """
    # topk leaves the order of equals open; a stable sort does not.
    masked = logits.float().masked_fill(mask == 0, -torch.inf)
    values, positions = torch.sort(masked, dim=1, descending=True, stable=True)
    values, positions = (part[:, :count].cpu().numpy() for part in (values, positions))
    lacking = ((0, 0), (0, count - values.shape[1]))
    values = np.pad(values.astype(np.float64), lacking, constant_values=-np.inf)
    positions = np.pad(positions, lacking)
    return np.where(np.isfinite(values), positions, 0), values


# What the release writes where a question has the empty prediction and nothing else; its logits are 0.
NOTHING_ELSE = "empty"


def nbest(
    best: Best,
    token_from: np.ndarray,
    token_to: np.ndarray,
    contract_from: np.ndarray,
    contract: FinalText,
    n_best: int,
    max_answer_length: int,
) -> list[Span]:
    """Return the spans of one question, the likeliest first, by the released n-best rule.

    The windows come in their order; each holds the contract's tokens [token_from, token_to), the first of
    them at ``contract_from`` of its sequence.  In each window every one of the best starts goes with every
    one of the best ends, if the start has the most context there and at most ``max_answer_length`` tokens
    are marked.  The best ``n_best`` of all windows by summed logits stay, each released text once
    (`FinalText.place`).  The empty prediction has the least score of no answer among the windows, and stays
    in any case, so that there may be ``n_best`` + 1.  Where it is alone, the prediction `NOTHING_ELSE` comes
    before it, which the released evaluator takes for a span.
    """
    number = np.arange(len(token_from))[:, None]
    low, high = token_from[:, None], token_to[:, None]
    starts = low + best.start_at - contract_from[:, None]
    ends = low + best.end_at - contract_from[:, None]
    home = max_context(token_from, token_to)
    may_start = (starts >= low) & (starts < high)
    may_start &= home[np.clip(starts, 0, len(home) - 1)] == number
    may_end = (ends >= low) & (ends < high)
    length = ends[:, None, :] - starts[:, :, None] + 1
    fits = may_start[:, :, None] & may_end[:, None, :] & (length >= 1) & (length <= max_answer_length)
    window, first, last = np.nonzero(fits)
    scores = best.start_logits[window, first] + best.end_logits[window, last]

    null_scores = best.null_starts + best.null_ends
    null_window = int(np.argmin(null_scores))
    null_score = float(null_scores[null_window])
    kept: list[tuple[str, str, int, int, float, float]] = []
    seen: set[str] = set()
    for at in np.argsort(-scores, kind="stable"):
        # A better empty prediction has taken one of the places.
        if len(kept) + (null_score > scores[at]) >= n_best:
            break
        w, i, j = window[at], first[at], last[at]
        begin, stop = contract.place(starts[w, i], ends[w, j])
        released = collapsed(contract.text[begin:stop])
        if released not in seen:
            seen.add(released)
            begin, stop = contract.marked(starts[w, i], ends[w, j])
            logits = float(best.start_logits[w, i]), float(best.end_logits[w, j])
            kept.append((released, contract.text[begin:stop], begin, stop, *logits))
    place = sum(start + end >= null_score for *_, start, end in kept)
    if not kept:
        kept, place = [(NOTHING_ELSE, "", -1, -1, 0.0, 0.0)], 1
    null = float(best.null_starts[null_window]), float(best.null_ends[null_window])
    kept.insert(place, ("", "", -1, -1, *null))
    sums = np.array([start + end for *_, start, end in kept])
    odds = np.exp(sums - sums.max())
    return [
        Span(released, span, start, end, float(probability), start_logit, end_logit)
        for (released, span, start, end, start_logit, end_logit), probability in zip(
            kept, odds / odds.sum(), strict=True
        )
    ]


def predict(
    model: PreTrainedModel,
    dataset: WindowDataset,
    texts: Mapping[str, str],
    collator: Collator,
    *,
    batch_size: int,
    n_best: int = 20,
    max_answer_length: int = 512,
    bf16: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of `NBEST` of the questions of ``dataset``, sorted by question and rank.

    ``texts`` maps a contract to its text.  Windows that the dataset leaves out do not exist here: a
    token's context and the score of no answer go by those that are read.  With ``bf16`` a copy of the
    model is cast to bfloat16, all but its span head.  One contract's windows are in memory at a time,
    and the spans of questions whose turn in the order has not come.  Raises `BadInput` when the model
    gives logits that are not numbers.
    """
    network = _cast(model) if bf16 else model
    network.eval()
    spelling = Spelling(dataset.tokenizer)
    windows, rows = dataset.windows, dataset.rows
    # Indices of examples stand in the order of their ids.
    order = np.lexsort((windows.window[rows], windows.example[rows], windows.contract[rows]))
    contract = windows.contract[rows][order]
    groups = np.split(order, np.flatnonzero(np.diff(contract)) + 1) if len(order) else []
    groups.sort(key=lambda items: int(windows.example[rows[items[0]]]))
    waiting: dict[int, list[Span]] = {}
    with tqdm(total=len(rows), unit="window", desc="predict") as progress:
        for items in groups:
            yield from _finished(waiting, windows.examples, int(windows.example[rows[items[0]]]))
            best = _read(network, dataset, items, collator, batch_size, n_best, progress)
            waiting |= _contract_spans(dataset, items, best, texts, spelling, n_best, max_answer_length)
    yield from _finished(waiting, windows.examples, len(windows.examples))


def _finished(
    waiting: dict[int, list[Span]], examples: tuple[str, ...], before: int
) -> Iterator[dict[str, Any]]:
    """Take the questions below ``before`` out of those waiting, as rows in their order."""
    for example in sorted(index for index in waiting if index < before):
        for rank, span in enumerate(waiting.pop(example)):
            yield {"question_id": examples[example], "rank": rank, **vars(span)}


def _contract_spans(
    dataset: WindowDataset,
    items: np.ndarray,
    best: Best,
    texts: Mapping[str, str],
    spelling: Spelling,
    n_best: int,
    max_answer_length: int,
) -> dict[int, list[Span]]:
    """The spans of each question of one contract, by the question's index among the examples."""
    windows, rows = dataset.windows, dataset.rows[items]
    name = windows.contracts[windows.contract[rows[0]]]
    contract = FinalText(spelling, texts[name], dataset.tokens[name])
    examples = windows.example[rows]
    contract_from = np.array([dataset.contract_from(int(item)) for item in items])
    edges = [0, *(np.flatnonzero(np.diff(examples)) + 1).tolist(), len(items)]
    return {
        int(examples[low]): nbest(
            best.of(slice(low, high)),
            windows.token_from[rows[low:high]].astype(np.int64),
            windows.token_to[rows[low:high]].astype(np.int64),
            contract_from[low:high],
            contract,
            n_best,
            max_answer_length,
        )
        for low, high in itertools.pairwise(edges)
    }


@torch.inference_mode()
def _read(
    model: PreTrainedModel,
    dataset: WindowDataset,
    items: np.ndarray,
    collator: Collator,
    batch_size: int,
    n_best: int,
    progress: tqdm,
) -> Best:
    """The best positions in each of ``items``, read in batches of like length, in the order of ``items``."""
    rows = dataset.rows[items]
    sizes = dataset.windows.token_to[rows] - dataset.windows.token_from[rows]
    sizes = sizes + [dataset.contract_from(int(item)) for item in items]
    by_length = np.argsort(-sizes, kind="stable")
    parts = []
    for low in range(0, len(items), batch_size):
        batch = collator([dataset[int(item)] for item in items[by_length[low : low + batch_size]]])
        inputs = {
            name: part.to(model.device) for name, part in batch.items() if not name.endswith("_positions")
        }
        outputs = model(**inputs)
        null = torch.stack((outputs.start_logits[:, 0], outputs.end_logits[:, 0])).double().cpu().numpy()
        if not np.isfinite(null).all():
            raise BadInput(
                "the model gives logits that are not numbers",
                where="prediction",
                do="train it again at a lower learning rate",
            )
        mask = inputs["attention_mask"]
        parts.append(
            (*top(outputs.start_logits, mask, n_best), *top(outputs.end_logits, mask, n_best), *null)
        )
        progress.update(len(null[0]))
    back = np.argsort(by_length)
    return Best(*(np.concatenate(column)[back] for column in zip(*parts, strict=True)))


def _cast(model: PreTrainedModel) -> PreTrainedModel:
    """A copy in bfloat16 whose span head stays float32, so that near logits do not become equal."""
    small = copy.deepcopy(model).to(torch.bfloat16)
    head = small.qa_outputs.float()
    head.register_forward_pre_hook(lambda _, states: tuple(state.float() for state in states))
    return small
