"""Trainers of small models with a batch of three texts, and simulated errors out of
memory.
"""

from contextlib import contextmanager

import torch
from transformers import BertForQuestionAnswering, BertModel, PreTrainedModel

from helpers import marked_contracts
from helpers.marked_contracts import WINDOWS, WORDINGS, config, features, weights
from helpers.optimisers import LINEAR, optimiser
from lextables.models import loading, multi_head
from lextables.pipeline.files import read_json
from lextables.pipeline.run import recorded
from lextables.tasks.classification import training as classification
from lextables.tasks.spans import training as spans
from lextables.tasks.spans.settings import FineTuning
from lextables.tasks.spans.windows import (
    Collator,
    WindowDataset,
    balanced,
    open_windows,
)

CPU = torch.device("cpu")


def encoder(model):
    """The transformer in ``model``, without its heads."""
    parts = [part for part in model.modules() if isinstance(part, PreTrainedModel)]
    return parts[0].base_model


class Memory:
    """Raise an out-of-memory error for more than ``rows`` rows, after ``after`` calls
    of an encoder.

    The error is raised in the last layer, after the dropout of earlier layers.
    """

    def __init__(self, rows, after=0):
        self.rows, self.left = rows, after

    def __call__(self, module, given, named):
        self.left -= 1
        if self.left < 0 and len(given[0]) > self.rows:
            raise torch.OutOfMemoryError("out of memory")

    @contextmanager
    def of(self, model):
        last = encoder(model).encoder.layer[-1]
        with last.register_forward_pre_hook(self, with_kwargs=True):
            yield model


def save_windows(folder):
    """Return training windows, the folder of a model with dropout, and the texts of
    the contracts.
    """
    texts, _ = features(folder, 30, seed=1)
    tokenizer = marked_contracts.tokenizer()
    torch.manual_seed(1)
    BertForQuestionAnswering(config(tokenizer)).save_pretrained(folder / "model")
    windows = open_windows(folder)
    rows = balanced(windows.start_positions, windows.end_positions, seed=0)[:24]
    return (
        WindowDataset(folder, tokenizer, WINDOWS, WORDINGS, rows),
        str(folder / "model"),
        texts,
    )


def trained(learnt, work, memory=99, after=0):
    """Train on ``learnt`` (see `save_windows`) with memory for ``memory`` rows.

    Return the weights after six updates, the run's record of its micro-batches, and the
    resumed step.
    """
    dataset, folder, _ = learnt
    settings = FineTuning(
        batch_size=8, optimiser=LINEAR, learning_rate=1e-3, epochs=2, save_every=2
    )
    model = loading.load_span_model(folder, CPU)
    with recorded(work / "run.json", {}), Memory(memory, after).of(model):
        resumed = spans.finetune(
            model,
            dataset,
            Collator.of(dataset.tokenizer),
            settings,
            seed=5,
            work=work / "work",
        )
    return weights(model), read_json(work / "run.json")["micro_batches"], resumed


def small(kind=BertModel):
    """A tiny model without dropout."""
    torch.manual_seed(0)
    return kind(config(marked_contracts.tokenizer(), dropout=0.0))


def batch_of(tokenizer, *more):
    """A padded batch of texts of 3, 9 and 5 tokens."""
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(5, len(tokenizer), (3, 9), generator=generator)
    mask = (torch.arange(9) < torch.tensor([[3], [9], [5]])).long()
    return {"input_ids": ids * mask, "attention_mask": mask} | dict(more)


TRAINER_OPTIONS = {"mixed": False, "optimiser": optimiser()}


def head_trainer(tokenizer, args):
    """A trainer of a model with heads of two and three answers, and its batch."""
    body = small()
    heads = [multi_head._own_head(body.config, size) for size in (2, 3)]
    own = torch.nn.ModuleList(heads)
    batch = batch_of(tokenizer) | {"head": [1, 0, 1], "label": torch.tensor([2, 0, 1])}
    model = multi_head.MultiHead(body, own, (2, 3))
    return classification._InOrder(model=model, args=args, **TRAINER_OPTIONS), batch


OUT_OF_MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
    torch.AcceleratorError("CUDA error: out of memory", 2),
    *map(
        RuntimeError,
        (
            "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
            "CUDA driver error: out of memory",
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
            "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
            "cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
            "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
            "cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`",
            "cuFFT error: CUFFT_ALLOC_FAILED",
            "[enforce fail at alloc_cpu.cpp:119] DefaultCPUAllocator: can't allocate memory: you tried",
            "DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes.",
        ),
    ),
    MemoryError(),
]
OTHER_ERRORS = [
    RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
    RuntimeError("CUDA error: device-side assert triggered"),
    RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"),
    RuntimeError(
        "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm(handle)`"
    ),
    RuntimeError(
        "DataLoader worker is killed by signal: Bus error. It may be out of shared memory"
    ),
    torch.AcceleratorError("CUDA error: an illegal memory access was encountered", 700),
    ValueError("out of memory"),
]
