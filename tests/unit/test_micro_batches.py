"""Micro-batches, with simulated out-of-memory errors."""

from contextlib import contextmanager
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import (
    AlbertConfig,
    AlbertModel,
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertModel,
    PreTrainedModel,
    TrainingArguments,
)

from helpers import marked_contracts
from helpers.marked_contracts import WINDOWS, WORDINGS, config, equal, features, weights
from helpers.optimisers import LINEAR, optimiser
from lextables.models import (
    bi_encoder,
    bi_encoder_training,
    cross_encoder,
    in_parts,
    loading,
    multi_head,
)
from lextables.models.bi_encoder_training import GradedPairs
from lextables.models.checkpoints import arguments
from lextables.models.in_parts import InParts, in_parts_that_fit
from lextables.models.settings import UpdateSettings
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json
from lextables.pipeline.run import recorded
from lextables.tasks.classification import training as classification
from lextables.tasks.classification.examples import key_of
from lextables.tasks.classification.inference import read_heads
from lextables.tasks.spans import inference, pretraining
from lextables.tasks.spans import training as spans
from lextables.tasks.spans.settings import FineTuning, NbestSettings
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


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """The training windows, the folder of a model with dropout, and the texts of the
    contracts.
    """
    folder = tmp_path_factory.mktemp("train")
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
    """The weights after six updates, the run's record of its micro-batches, and the
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


def test_training_that_ran_out_of_memory_equals_training_with_micro_batches(
    learnt, tmp_path, monkeypatch
):
    whole, record, _ = trained(learnt, tmp_path / "whole")
    assert record == {"batch_size": 8, "micro_batch": 8, "halved_at_update": []}
    # Memory runs out in the second part of the first update, when the first part has
    # left gradients.
    monkeypatch.setattr(in_parts, "PROCESSOR_TOKENS", 4 * WINDOWS.max_length)
    halved, record, _ = trained(learnt, tmp_path / "halved", memory=1, after=1)
    assert record == {"batch_size": 8, "micro_batch": 1, "halved_at_update": [1, 1, 1]}
    monkeypatch.setattr(in_parts, "PROCESSOR_TOKENS", 1)
    begun, record, _ = trained(learnt, tmp_path / "begun")
    assert record == {"batch_size": 8, "micro_batch": 8, "halved_at_update": []}
    assert equal(halved, begun)
    # Dropout is sampled for each part.
    assert not equal(halved, whole)


def test_resumed_training_keeps_its_micro_batches(learnt, tmp_path, monkeypatch):
    # Three updates have one part each; memory runs out during the fourth.
    wanted, record, _ = trained(learnt, tmp_path / "unbroken", memory=4, after=3)
    assert record["halved_at_update"] == [4]
    step = spans._SpanTrainer.training_step

    def killed(self, *given):
        if self.state.global_step == 5:
            raise KeyboardInterrupt
        return step(self, *given)

    with monkeypatch.context() as patched:
        patched.setattr(spans._SpanTrainer, "training_step", killed)
        with pytest.raises(KeyboardInterrupt):
            trained(learnt, tmp_path / "cut", memory=4, after=3)
    # Training resumes from the checkpoint of the fourth update, now with enough memory.
    got, record, resumed = trained(learnt, tmp_path / "cut")
    assert resumed == 4
    assert record == {"batch_size": 8, "micro_batch": 4, "halved_at_update": [4]}
    assert equal(got, wanted)


def small(kind=BertModel):
    torch.manual_seed(0)
    return kind(config(marked_contracts.tokenizer(), dropout=0.0))


def batch_of(tokenizer, *more):
    """A padded batch of texts of 3, 9 and 5 tokens."""
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(5, len(tokenizer), (3, 9), generator=generator)
    mask = (torch.arange(9) < torch.tensor([[3], [9], [5]])).long()
    return {"input_ids": ids * mask, "attention_mask": mask} | dict(more)


TRAINER_OPTIONS = {"mixed": False, "optimiser": optimiser()}


@pytest.fixture
def args(tmp_path):
    return TrainingArguments(**arguments(tmp_path, 1, seed=0, save_every=0, device=CPU))


def span_trainer(tokenizer, args):
    batch = batch_of(tokenizer) | {
        "start_positions": torch.tensor([1, 0, 2]),
        "end_positions": torch.tensor([2, 0, 4]),
    }
    answered = np.array([True, False, True])
    loss = {"answered": answered, "empty_weight": 0.3}
    model = small(BertForQuestionAnswering)
    return spans._SpanTrainer(model=model, args=args, **TRAINER_OPTIONS, **loss), batch


def head_trainer(tokenizer, args):
    body = small()
    heads = [multi_head._own_head(body.config, size) for size in (2, 3)]
    own = torch.nn.ModuleList(heads)
    batch = batch_of(tokenizer) | {"head": [1, 0, 1], "label": torch.tensor([2, 0, 1])}
    model = multi_head.MultiHead(body, own, (2, 3))
    return classification._InOrder(model=model, args=args, **TRAINER_OPTIONS), batch


def masking_trainer(tokenizer, args):
    # The texts have different numbers of masked tokens.
    labels = torch.full((3, 9), -100)
    labels[0, 1], labels[1, :4], labels[2, 2:4] = 7, 8, 9
    batch = batch_of(tokenizer) | {"labels": labels}
    model = small(BertForMaskedLM)
    return pretraining._Trainer(model=model, args=args, **TRAINER_OPTIONS), batch


def pair_trainer(tokenizer, args, side):
    small().save_pretrained(args.output_dir)
    tokenizer.save_pretrained(args.output_dir)
    model = cross_encoder.load(args.output_dir, CPU, 16, fresh_head=True)
    model.tokenizer.padding_side = side
    given = args.to_dict() | {"prompts": None}
    given = cross_encoder.CrossEncoderTrainingArguments(**given)
    trainer = cross_encoder._Trainer(model=model, args=given, **TRAINER_OPTIONS)
    pairs = []
    for count in (1, 9, 5):
        pair = {"query": "which term", "clause": " ".join(["w1"] * count)}
        pairs.append(pair | {"label": count / 9})
    return trainer, trainer.data_collator(pairs)


@pytest.mark.parametrize(
    ("make", "side", "widths"),
    # Two parts, the longest texts first.  Each is cut to its longest text, if padding
    # is on the right.
    [
        (span_trainer, (), (9, 3)),
        (head_trainer, (), (9, 3)),
        (masking_trainer, (), (9, 3)),
        (pair_trainer, ("right",), (14, 6)),
        (pair_trainer, ("left",), (14, 14)),
    ],
)
def test_micro_batches_have_the_loss_and_gradients_of_the_batch(
    make, side, widths, args
):
    tokenizer = marked_contracts.tokenizer()

    def gradients(rows):
        trainer, batch = make(tokenizer, args, *side)
        trainer.rows = rows
        for part in trainer.model.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.0
        seen = []
        first = encoder(trainer.model).encoder.layer[0]
        first.register_forward_pre_hook(
            lambda _, given: seen.append(tuple(given[0].shape[:2]))
        )
        loss = trainer.training_step(trainer.model, batch)
        found = {}
        for name, part in trainer.model.named_parameters():
            if part.grad is not None:
                found[name] = part.grad
        return loss, found, seen

    (whole, expected, (shape,)), (loss, found, shapes) = gradients(8), gradients(2)
    assert shape[0] == 3 and shapes == [(2, widths[0]), (1, widths[1])]
    assert loss.item() == pytest.approx(whole.item(), rel=1e-5)
    assert found.keys() == expected.keys() and len(found) > 10
    for name, gradient in expected.items():
        assert torch.allclose(found[name], gradient, atol=1e-6), name


@pytest.mark.parametrize(
    ("tokens", "device", "parts"),
    [
        (27, "cpu", [(3, 9)]),
        (26, "cpu", [(2, 9), (1, 3)]),
        (9, "cpu", [(1, 9), (1, 5), (1, 3)]),
        (1, "cpu", [(1, 9), (1, 5), (1, 3)]),
        (1, "cuda", [(3, 9)]),
    ],
)
def test_a_processor_has_a_bound_on_the_tokens_of_a_part(
    tokens, device, parts, args, monkeypatch
):
    monkeypatch.setattr(in_parts, "PROCESSOR_TOKENS", tokens)
    trainer, batch = head_trainer(marked_contracts.tokenizer(), args)
    monkeypatch.setattr(TrainingArguments, "device", torch.device(device))
    shares, found = zip(*trainer._parts(batch), strict=True)
    assert [tuple(part["input_ids"].shape) for part in found] == parts
    assert sum(shares) == pytest.approx(1)

    def rows(part):
        first = part["input_ids"][:, 0].tolist()
        return list(zip(first, part["head"], part["label"].tolist(), strict=True))

    # Values of a row stay together, in tensors and lists.
    assert sorted(chain(*map(rows, found))) == sorted(rows(batch))


@pytest.mark.parametrize(
    ("mask", "ends"),
    [
        ([[1, 1, 0], [1, 1, 1]], [2, 3]),
        ([[0, 0, 1], [1, 1, 1]], [3, 3]),
        ([[1, 0, 1], [0, 0, 0]], [3, 1]),
    ],
)
def test_ends_of_texts(mask, ends):
    assert in_parts._ends(torch.tensor(mask)) == ends


def test_a_part_without_loss_terms_is_skipped(args):
    trainer, batch = masking_trainer(marked_contracts.tokenizer(), args)
    trainer.rows = 1
    batch["labels"][1] = -100
    assert torch.isfinite(trainer.training_step(trainer.model, batch))


def test_a_single_row_that_does_not_fit_raises(learnt, tmp_path):
    says = "one text and its gradients do not fit .* a device with more memory"
    with pytest.raises(BadInput, match=says):
        trained(learnt, tmp_path, memory=0)


@pytest.fixture
def sentence_encoder(tmp_path):
    small().save_pretrained(tmp_path / "body")
    marked_contracts.tokenizer().save_pretrained(tmp_path / "body")
    return SentenceTransformer(
        modules=[Transformer(str(tmp_path / "body")), Pooling(32)], device="cpu"
    )


def test_a_batch_is_not_split_if_the_loss_needs_all_rows(sentence_encoder, tmp_path):
    pairs = [(0, 0), (0, 1), (1, 1), (1, 0)]
    gains = {(0, 0): 1, (1, 1): 1}
    data = GradedPairs(pairs, ["w1", "w2"], ["w3", "w4"], gains)
    updates = {"updates": [1], "batch_size": 4, "learning_rate": 1e-3}
    settings = UpdateSettings(**updates, temperature=0.1, optimiser=optimiser())
    says = "a batch of 4 .* this loss needs the whole batch"
    with Memory(3).of(sentence_encoder) as model, pytest.raises(BadInput, match=says):
        bi_encoder_training.finetune(model, data, settings, 0, tmp_path, print)


class Tokens(dict):
    """The tokens of single texts (not pairs), with the interface of
    `features.Tokens`.
    """

    def first(self, key):
        return len(self[key])


def readers(learnt, sentence_encoder, folder):
    """{kind: (model, function that predicts with it and returns numbers)}."""
    dataset, trained, contracts = learnt
    texts = [f"w{at} w1" for at in range(10)]
    small().save_pretrained(folder)
    dataset.tokenizer.save_pretrained(folder)
    pairs = cross_encoder.load(str(folder), CPU, 16, fresh_head=True)
    marks = loading.load_span_model(trained, CPU)
    heads = multi_head.load(str(folder), [2], "own", seed=0)
    rows = [{"text_id": text, "pair_id": "", "example_id": text} for text in texts]
    tokens = Tokens({key_of(row): np.arange(3 + at) for at, row in enumerate(rows)})

    def vectors_of():
        return bi_encoder.encode(sentence_encoder, texts)

    def scores_of():
        return cross_encoder.score(pairs, [("which term", text) for text in texts])

    def spans_of():
        options = {"n_best": 20, "max_answer_length": 512, "bf16": False}
        settings = NbestSettings(windows_per_question=None, **options)
        found = inference.predict(marks, dataset, contracts, settings, batch_size=8)
        return [row["start_logit"] for row in found]

    def classes_of():
        found = read_heads(heads, ["1"], {"1": rows}, tokens, CPU)
        return [row["logits"] for row in found]

    return {
        "vectors": (sentence_encoder, vectors_of),
        "pairs": (pairs, scores_of),
        "spans": (marks, spans_of),
        "classes": (heads, classes_of),
    }


@pytest.mark.parametrize("kind", ["vectors", "pairs", "spans", "classes"])
def test_inference_with_halved_batches_gives_the_same_values(
    learnt, sentence_encoder, tmp_path, kind
):
    model, read = readers(learnt, sentence_encoder, tmp_path / "encoder")[kind]
    with Memory(3).of(model), recorded(tmp_path / "run.json", {}):
        parts = read()
    assert np.allclose(parts, read(), atol=1e-5)
    if kind != "vectors":  # its threads on a CPU record nothing
        assert read_json(tmp_path / "run.json")["read_at_once"] == 2
    with Memory(0).of(model), pytest.raises(BadInput, match="one text does not fit"):
        read()


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


@pytest.mark.parametrize("error", [*OUT_OF_MEMORY, *OTHER_ERRORS], ids=repr)
def test_only_out_of_memory_errors_are_caught(error):
    def work(part):
        if len(part) > 1:
            raise error
        return list(part)

    if error in OTHER_ERRORS:
        with pytest.raises(type(error)):
            [*in_parts_that_fit(range(2), 2, work)]
    else:
        assert [*in_parts_that_fit(range(2), 2, work)] == [[0], [1]]


@pytest.mark.parametrize(
    "error",
    [OUT_OF_MEMORY[0], OUT_OF_MEMORY[2], MemoryError(), OTHER_ERRORS[1]],
    ids=repr,
)
def test_an_optimiser_that_runs_out_of_memory_ends_the_training(
    learnt, tmp_path, monkeypatch, error
):
    # Its step has changed some of the weights, so it cannot be repeated.
    def step(self, closure=None):
        raise error

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    kind, says = BadInput, "optimiser state do not fit .* a device with more memory"
    if error in OTHER_ERRORS:
        kind, says = RuntimeError, "device-side assert"
    with pytest.raises(kind, match=says):
        trained(learnt, tmp_path)


def test_parts_keep_their_order_and_the_smaller_size():
    tried = []

    def work(part):
        tried.append(len(part))
        if len(part) > 3:
            raise torch.OutOfMemoryError
        return list(part)

    assert [*in_parts_that_fit(range(8), 8, work)] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert tried == [8, 4, 2, 2, 2, 2]
    assert [*in_parts_that_fit([], 8, work)] == []


class OneGpu(SimpleNamespace):
    """Arguments of a trainer on a GPU, as far as `_parts` reads them."""

    device = SimpleNamespace(type="cuda")


def test_on_a_gpu_a_batch_of_mostly_padding_is_read_in_parts_of_similar_length(args):
    trainer = InParts(model=small(), args=args, **TRAINER_OPTIONS)
    trainer.args = OneGpu()
    trainer.rows = 16
    lengths = torch.tensor([4096, 100, 2048, 500, 3000, 1000])
    mask = (torch.arange(4096) < lengths[:, None]).long()
    batch = {"input_ids": mask.clone(), "attention_mask": mask}
    shapes = [tuple(part["input_ids"].shape) for _, part in trainer._parts(batch)]
    assert shapes == [(1, 4096), (1, 3000), (2, 2048), (2, 500)]
    padded = sum(rows * width for rows, width in shapes)
    assert padded < 0.6 * mask.numel()
    full = {name: value[[0, 0, 4, 0]] for name, value in batch.items()}
    assert [share for share, _ in trainer._parts(full)] == [1]
    # Running out of memory still halves the parts.
    trainer.rows = 1
    assert len(list(trainer._parts(batch))) == 6


@pytest.mark.parametrize(
    ("real", "device", "tokens"),
    [
        (74, "cuda", in_parts.GPU_TOKENS),
        (75, "cuda", None),
        (100, "cuda", None),
        (100, "cpu", in_parts.PROCESSOR_TOKENS),
        (10, "cpu", in_parts.PROCESSOR_TOKENS),
    ],
)
def test_on_a_gpu_parts_are_limited_if_more_than_a_quarter_of_the_batch_is_padding(
    real, device, tokens
):
    mask = (torch.arange(100) < real).long()[None]
    assert in_parts.tokens_at_once(mask, device) == tokens


@pytest.mark.parametrize(
    ("rows", "shapes"), [(4, [(4, 100), (2, 100)]), (6, [(6, 100)])]
)
def test_without_a_mask_all_tokens_are_those_of_texts(rows, shapes, args):
    trainer = InParts(model=small(), args=args, **TRAINER_OPTIONS)
    trainer.rows = rows
    parts = trainer._parts({"input_ids": torch.ones(6, 100, dtype=torch.int64)})
    assert [tuple(part["input_ids"].shape) for _, part in parts] == shapes


def test_activations_are_recomputed_before_a_text_is_too_large(
    args, monkeypatch, caplog
):
    """With one text memory runs out until activations are recomputed; gradients are the
    same.
    """
    tokenizer = marked_contracts.tokenizer()
    batch = {
        name: value[1:2]
        for name, value in head_trainer(tokenizer, args)[1].items()
        if name != "head"
    }
    batch["head"] = [0]
    batch["label"] = torch.tensor([0])
    gradients = []
    for fits in (True, False):
        trainer, _ = head_trainer(tokenizer, args)
        backward = trainer._backward

        def step(model, part, fits=fits, backward=backward):
            if not fits and not model.body.is_gradient_checkpointing:
                return None
            return backward(model, part)

        monkeypatch.setattr(trainer, "_backward", step)
        trainer.training_step(trainer.model, batch)
        assert trainer.model.body.is_gradient_checkpointing is not fits
        assert trainer.halved == []
        parameters = trainer.model.named_parameters()
        gradients.append(
            {name: part.grad for name, part in parameters if part.grad is not None}
        )
    assert gradients[0].keys() == gradients[1].keys()
    assert all(
        torch.equal(gradients[0][name], gradients[1][name]) for name in gradients[0]
    )
    monkeypatch.setattr(trainer, "_backward", lambda model, part: None)
    with pytest.raises(BadInput, match="one text and its gradients do not fit"):
        trainer.training_step(trainer.model, batch)


def test_albert_is_not_asked_to_recompute_activations():
    tiny = AlbertConfig(
        vocab_size=20,
        embedding_size=8,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
    )
    assert not in_parts.recompute_activations(AlbertModel(tiny))
    bert = small()
    assert in_parts.recompute_activations(bert)
    assert not in_parts.recompute_activations(bert)
