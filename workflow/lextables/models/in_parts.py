"""Training and inference with micro-batches, whose size is halved when a device runs
out of memory.

A GPU starts with whole batches, or parts of texts of similar length if a batch is
mostly padding.  If one text does not fit, activations are computed again in the
backward pass (activation checkpointing). A processor without memory gives no error that
could be caught: the system ends the process. So a processor's micro-batches have at
most `PROCESSOR_TOKENS` tokens.

A training step that runs out of memory has not changed the weights yet, so it is
repeated with the same random numbers.  On a CPU the result is bitwise equal to a
training that used the smaller micro-batches from that update on; on a GPU the last bits
of two trainings can differ, because kernels add in any order.  Trainings with other
sizes differ by rounding, and by dropout, which is drawn for each micro-batch.
"""

import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeVar

import torch
from accelerate.utils import send_to_device
from torch.optim.lr_scheduler import LRScheduler, OneCycleLR
from transformers import PreTrainedModel, Trainer, TrainingArguments, get_scheduler

from lextables.models.settings import Optimiser
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.pipeline.finite import finite
from lextables.pipeline.run import noted

T = TypeVar("T")  # a row
R = TypeVar("R")  # a result
Batch = dict[str, Any]  # the inputs of a model: tensors, lists, and a prompt
# The state of the processor's generator of random numbers, and of the device's if it
# has its own.
RandomState = tuple[torch.Tensor, torch.Tensor | None]
# transformers' names of the schedules of an `Optimiser`.
SCHEDULES = {"constant": "constant_with_warmup", "linear": "linear"}
MORE_MEMORY = "use a device with more memory, or a grid with shorter texts"
OUT_OF_MEMORY = (RuntimeError, MemoryError)  # the types of errors for `out_of_memory`
# torch has an own error only for its allocator of GPU memory.  CUDA, cuDNN, cuBLAS and
# the allocator of a CPU have messages; a cuBLAS or cuDNN handle that finds no memory is
# "not initialized".
_MESSAGES = re.compile(
    r"out of memory|not enough memory|can't allocate memory|ALLOC(ATION)?_FAILED"
    r"|(CUBLAS|CUDNN)_STATUS_NOT_INITIALIZED",
    re.IGNORECASE,
)
# The most tokens, with padding, of a micro-batch on a processor, unless one text is
# longer.  A training step of BERT-base's size on 4 texts of 512 tokens needs 4.5 GB, on
# 8 of them 8.1 GB.
PROCESSOR_TOKENS = 2048
# The most tokens, with padding, of a micro-batch on a GPU, if less than `FULL` of the
# batch are tokens of texts: with random texts of 4,096 tokens at most it is a third.
GPU_TOKENS = 4096
FULL = 0.75
HALF_PRECISION = (torch.float16, torch.bfloat16)
# Keys of a batch with one column per token.
BY_TOKEN = frozenset({"input_ids", "attention_mask", "token_type_ids", "labels"})
_log = logging.getLogger("lextables")


class InParts(Trainer):
    """A trainer that processes as many rows of a batch at a time as fit into memory.

    `training_step` computes a batch in parts, and repeats it with smaller ones while
    memory runs out.

    Weights are trained in single precision, whatever the precision of their file; with
    ``mixed`` in bfloat16 mixed precision.  Of ``optimiser`` it reads the course of the
    learning rate and the decayed parameters; ``args`` have the other settings
    (`Optimiser.arguments`).

    A mixin for trainers whose loss is a mean over rows, or over the number of `terms`
    in them.  If the loss ``compares`` the rows of a batch, the batch is not split.
    ``rows`` is the most that are processed at once.
    """

    compares = False

    def __init__(
        self,
        *,
        args: TrainingArguments,
        mixed: bool,
        optimiser: Optimiser,
        **kwargs: Any,
    ) -> None:
        """Take the arguments of transformers' `Trainer` by keyword."""
        # Else the model would keep a precision of the environment for predictions
        # during training.
        args.mixed_precision = "no"
        super().__init__(args=args, **kwargs)
        assert self.model is not None  # only a trainer that makes its model has none
        weights = [*self.model.parameters()]
        if any(values.dtype in HALF_PRECISION for values in weights):
            self.model.float()
        self.mixed = mixed
        self.optimiser = optimiser
        # Losses are means over a part; the parts are weighted here.
        self.model_accepts_loss_kwargs = False
        self.rows = self.args.per_device_train_batch_size
        # The updates at which micro-batches were halved.
        self.halved: list[int] = []
        # Updates of this process, their tokens with padding, and their seconds.
        self.throughput = {"updates": 0, "tokens": 0, "seconds": 0.0}

    def terms(self, batch: Batch) -> list[int]:
        """Return how many terms of the loss each row of ``batch`` has."""
        return [1] * _rows(batch)

    def get_decay_parameter_names(self, model: torch.nn.Module) -> list[str]:
        """Return the names of the parameters with weight decay."""
        if self.optimiser.decayed == "all":
            return [name for name, _ in model.named_parameters()]
        return super().get_decay_parameter_names(model)

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None
    ) -> LRScheduler:
        """Return the schedule of the learning rate."""
        optimizer = optimizer or self.optimizer
        assert optimizer is not None  # it is created before its schedule
        schedule: LRScheduler
        if self.optimiser.schedule == "one_cycle":
            schedule = one_cycle(
                optimizer, self.args.learning_rate, self.optimiser, num_training_steps
            )
        else:
            schedule = get_scheduler(
                SCHEDULES[self.optimiser.schedule],
                optimizer,
                self.optimiser.warmup_updates(num_training_steps),
                num_training_steps,
            )
        self.lr_scheduler = schedule  # type: ignore[assignment]  # LambdaLR for transformers
        return schedule

    def compute_loss_context_manager(self) -> ExitStack:
        """Return the context of a loss; predictions during training are outside it."""
        context = super().compute_loss_context_manager()
        if self.mixed:
            context.enter_context(torch.autocast(self.args.device.type, torch.bfloat16))
        return context

    def training_step(
        self,
        model: torch.nn.Module,
        inputs: Batch,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> torch.Tensor:
        """Compute the gradients of a batch and return its loss.

        Raises `BadInput` if not even one row fits, or if the training diverged.
        """
        model.train()
        start = time.monotonic()
        batch = send_to_device(inputs, self.args.device)
        random = random_state(self.args.device)
        while True:
            loss = self._backward(model, batch)
            if loss is not None:
                self._check_diverged(loss)  # waits for the device
                self._count(batch, time.monotonic() - start)
                return loss
            model.zero_grad()
            set_random_state(self.args.device, random)
            self._save_memory(model, _rows(batch))

    def _count(self, batch: Batch, seconds: float) -> None:
        """Add an update to the throughput."""
        tokens = 0
        for name, values in batch.items():
            if name.endswith("input_ids"):
                tokens += values.numel()
        self.throughput["updates"] += 1
        self.throughput["tokens"] += tokens
        self.throughput["seconds"] += seconds

    def _check_diverged(self, loss: torch.Tensor) -> None:
        """Raise `BadInput` if the loss of an update is not finite: all later weights
        would be NaN.
        """
        update = self.state.global_step + 1
        what = f"the training diverged: the losses of update {update}"
        finite(loss.float().cpu().numpy(), what, where="training")

    def state_of_parts(self) -> JsonObject:
        """Return the sizes of micro-batches for a checkpoint, with which a resumed
        training continues.
        """
        return {"rows": self.rows, "halved": self.halved}

    def resume_parts(self, state: JsonObject) -> None:
        """Restore what `state_of_parts` returned."""
        self.rows = min(self.rows, state["rows"])
        self.halved = list(state["halved"])

    def note_throughput(self) -> None:
        """Record the updates of this process with their tokens and seconds, and the
        GPU's memory.

        For several trainings in a job: the sums, and the highest memory.
        """
        memory = 0
        if self.args.device.type == "cuda":
            memory = torch.cuda.max_memory_allocated(self.args.device) >> 20

        def add(before: JsonObject | None) -> JsonObject:
            sums = before or {"updates": 0, "tokens": 0, "seconds": 0.0, "gpu_mib": 0}
            return {
                "updates": sums["updates"] + self.throughput["updates"],
                "tokens": sums["tokens"] + self.throughput["tokens"],
                "seconds": round(sums["seconds"] + self.throughput["seconds"], 3),
                "gpu_mib": max(sums["gpu_mib"], memory),
            }

        noted("throughput", add)

    def note_parts(self) -> None:
        """Record the size of micro-batches and the updates at which it was halved in
        `run.json`.

        For several trainings in a job: the smallest size, and the updates of all in
        order.
        """
        if self.compares:
            return
        size = self.args.train_batch_size

        def add(before: JsonObject | None) -> JsonObject:
            earlier = before or {"micro_batch": size, "halved_at_update": []}
            return {
                "batch_size": size,
                "micro_batch": min(self.rows, earlier["micro_batch"]),
                "halved_at_update": earlier["halved_at_update"] + self.halved,
            }

        noted("micro_batches", add)

    def floating_point_ops(self, inputs: Batch) -> int:
        """Return 0: nothing reads the number, and a sum over all parameters would slow
        each step.
        """
        return 0

    def _backward(self, model: torch.nn.Module, batch: Batch) -> torch.Tensor | None:
        """Add the gradients of all parts and return the loss; None if memory ran
        out.
        """
        losses = []
        try:
            for share, part in self._parts(batch):
                with self.compute_loss_context_manager():
                    loss = self.compute_loss(model, part)
                assert isinstance(loss, torch.Tensor)  # without the model's outputs
                if share != 1:
                    loss = loss * share
                self.accelerator.backward(loss)
                losses.append(loss.detach())
        except OUT_OF_MEMORY as error:
            if not out_of_memory(error):
                raise
            return None
        return torch.stack(losses).sum()

    def _parts(self, batch: Batch) -> Iterator[tuple[float, Batch]]:
        """Yield the parts of a batch, each with its share of the loss's terms, if that
        is not 0.

        Rows are sorted by length, longest first, and a part is cut to its longest text,
        so that a batch in parts has little padding.
        """
        if self.compares:
            yield 1, dict(batch)
            return
        count = _rows(batch)
        mask = batch.get("attention_mask")
        if mask is None:
            mask = torch.ones_like(batch.get("input_ids", torch.ones(count, 1)))
        tokens = tokens_at_once(mask, self.args.device.type)
        if self._rows_at_once(mask.shape[1], tokens) >= count:
            yield 1, dict(batch)
            return
        ends = _ends(mask)
        order = sorted(range(count), key=lambda row: -ends[row])
        terms = self.terms(batch)
        total = sum(terms)
        start = 0
        while start < count:
            width = ends[order[start]]
            rows = order[start : start + self._rows_at_once(width, tokens)]
            share = sum(terms[row] for row in rows) / total
            if share:
                yield share, _part(batch, rows, width)
            start += len(rows)

    def _rows_at_once(self, width: int, tokens: int | None) -> int:
        """Return how many texts of ``width`` tokens a part of ``tokens`` has (None: any
        number).
        """
        if tokens is None:
            return self.rows
        return max(1, min(self.rows, tokens // width))

    def _save_memory(self, model: torch.nn.Module, rows: int) -> None:
        """Halve the micro-batches after a batch of ``rows`` ran out of memory.

        If they cannot be halved (one text, or a loss that needs the whole batch),
        activations are recomputed from now on instead.
        """
        is_least = self.compares or min(self.rows, rows) == 1
        if is_least and recompute_activations(model):
            emptied()
            _log.warning(
                "out of memory: activations are computed again in the backward pass"
            )
            return
        self._halve(rows)

    def _halve(self, rows: int) -> None:
        """Halve the micro-batches of a batch of ``rows`` from this update on.

        Raises `BadInput` if that is impossible.
        """
        least = min(self.rows, rows)
        what = ""
        if least == 1:
            what = "one text and its gradients do not fit into the memory of the device"
        if self.compares:
            what = (
                f"a batch of {rows} and its gradients do not fit into the memory "
                "of the device; this loss needs the whole batch at once"
            )
        if what:
            raise BadInput(what, where="training", do=MORE_MEMORY)
        self.rows = least // 2
        self.halved.append(self.state.global_step + 1)
        emptied()
        message = "out of memory: from update %d on, micro-batches have %d rows"
        _log.warning(message, self.halved[-1], self.rows)


def one_cycle(
    optimizer: torch.optim.Optimizer,
    learning_rate: float,
    settings: Optimiser,
    updates: int,
) -> LRScheduler:
    """Return torch's OneCycleLR with linear steps, which changes beta 1, too."""
    share = settings.warmup
    if share * updates == 1:
        share *= 1 + 1e-9  # a rise of exactly one update would divide by zero
    return OneCycleLR(
        optimizer,
        max_lr=learning_rate,
        total_steps=updates,
        pct_start=share,
        anneal_strategy="linear",
    )


def tokens_at_once(mask: torch.Tensor, device: str) -> int | None:
    """Return how many tokens a part of a batch has at most on a type of ``device``;
    None for no limit.

    ``mask`` (rows, tokens) is 1 for tokens of texts.  On a GPU a batch that is mostly
    padding is processed in parts of texts of similar length.
    """
    if device == "cpu":
        return PROCESSOR_TOKENS
    if mask.sum() >= FULL * mask.numel():
        return None
    return GPU_TOKENS


def recompute_activations(model: torch.nn.Module) -> bool:
    """Compute activations again in the backward pass from now on, which saves memory;
    the results are the same.

    Returns False if transformers' models in ``model`` do so already or do not support
    it (ALBERT).
    """
    changed = False
    for module in model.modules():
        if not isinstance(module, PreTrainedModel):
            continue
        if (
            module.supports_gradient_checkpointing
            and not module.is_gradient_checkpointing
        ):
            module.gradient_checkpointing_enable({"use_reentrant": False})
            changed = True
    return changed


def _rows(batch: Batch) -> int:
    """Return the number of rows of a batch: that of its first tensor with rows."""
    tensors = [value for value in batch.values() if isinstance(value, torch.Tensor)]
    return next(len(tensor) for tensor in tensors if tensor.dim())


def _ends(mask: torch.Tensor) -> list[int]:
    """Return for each text the number of columns up to its last token, at least 1.

    With padding on the left that is all columns.
    """
    columns = torch.arange(1, mask.shape[1] + 1, device=mask.device)
    ends = (mask.bool() * columns).amax(dim=1)
    return ends.clamp(min=1).tolist()


def _part(batch: Batch, rows: Sequence[int], width: int) -> Batch:
    """Return some rows of a batch, cut to ``width`` tokens; keep values without
    rows.
    """
    count = _rows(batch)
    part = {}
    for name, value in batch.items():
        if not isinstance(value, torch.Tensor | list) or len(value) != count:
            part[name] = value  # such as a prompt
        elif isinstance(value, list):
            part[name] = [value[row] for row in rows]
        else:
            part[name] = value[list(rows)]
            if name in BY_TOKEN and value.dim() > 1:
                part[name] = part[name][:, :width]
    return part


def random_state(device: torch.device) -> RandomState:
    """Return the states of the processor's generator and of the device's, None if it
    has no own one.
    """
    device_state = None
    if device.type == "cuda":
        device_state = torch.cuda.get_rng_state(device)
    return torch.get_rng_state(), device_state


def set_random_state(device: torch.device, state: RandomState) -> None:
    """Restore a result of `random_state`."""
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], device)


# Inference


def that_fits(size: int, work: Callable[[int], R]) -> tuple[int, R]:
    """Halve ``size`` until ``work(size)`` fits into memory; return that size and the
    result.

    Raises `BadInput` if size 1 does not fit.
    """
    while True:
        try:
            return size, work(size)
        except OUT_OF_MEMORY as error:
            if not out_of_memory(error):
                raise
            if size == 1:
                what = "one text does not fit into the memory of the device"
                raise BadInput(what, where="reading", do=MORE_MEMORY) from None
        size //= 2
        emptied()
        _log.warning("out of memory: batches have %d texts", size)
        noted("read_at_once", partial(_smaller, size))


def _smaller(size: int, before: int | None) -> int:
    """Return the smaller of a new size and the one recorded before, if any."""
    return min(size, before or size)


def in_parts_that_fit(
    rows: Sequence[T], size: int, work: Callable[[Sequence[T]], R]
) -> Iterator[R]:
    """Yield the results of ``work`` for ``size`` of the ``rows`` at a time, fewer if
    they do not fit.

    Raises `BadInput` if not even one row fits.
    """
    done = 0
    while done < len(rows):
        rest = rows[done:]
        size, result = that_fits(size, partial(_first_rows, work, rest))
        yield result
        done += size


def _first_rows(work: Callable[[Sequence[T]], R], rows: Sequence[T], size: int) -> R:
    return work(rows[:size])


def out_of_memory(error: Exception) -> bool:
    """Whether an error means that memory ran out."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return _MESSAGES.search(str(error)) is not None


def emptied() -> None:
    """Release unused cached memory of the device."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
