"""An encoder with one or more classification heads, one per question.

Two kinds of head, both from MAUD's released code:

- ``family``: transformers' sequence-classification head of the encoder's architecture
  (BERT's pooler, RoBERTa's dense layer, DeBERTa's context pooler...), whose last linear
  layer has the answers of all heads side by side.  With one head it is the released
  single-task model.
- ``own``: each head has its own dense layer, tanh and output layer on the first token's
  vector, with dropout before both layers, for every architecture.  It is the released
  multi-task model; for RoBERTa with one head the two kinds are the same.

Two losses (`LOSSES`), each the mean over the texts of a batch:

- ``binary_cross_entropy`` of each answer's logit, mean over the head's answers: the
  released one in both settings although neither is multi-label, and the loss for
  multi-label tasks.
- ``cross_entropy`` of the head's logits and the correct answer.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional
from transformers import (
    AutoModel,
    AutoModelForSequenceClassification,
    PretrainedConfig,
    PreTrainedModel,
    set_seed,
)

from lextables.models.labels import are_nameless, label_columns
from lextables.models.loading import (
    check_complete,
    check_finite,
    check_reads_whole_texts,
    fresh,
    fresh_encoder,
)
from lextables.pipeline.atomic import replacing_folder
from lextables.pipeline.errors import BadInput, first_line, loading_weights

HeadKind = Literal["family", "own"]
Loss = Literal["binary_cross_entropy", "cross_entropy"]
Labels = torch.Tensor | Sequence[torch.Tensor | Sequence[float]]  # `MultiHead.forward`
Weights = Sequence[torch.Tensor | None]  # for each head those of its answers, or None

# Files of a saved model beside the encoder's: its heads and answers, and the weights of
# heads of the kind `own`.
_ABOUT = "heads.json"
_OWN = "heads.safetensors"
# Errors of loading a damaged model.
_DAMAGE = (OSError, ValueError, TypeError, KeyError, RuntimeError, SafetensorError)


def binary_cross_entropy(
    logits: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor | None = None
) -> torch.Tensor:
    """Return each text's loss (texts,); ``logits`` (texts, answers).

    ``labels`` are the indices of the correct answers (texts,), or 1 for correct and 0
    for wrong (texts, answers).  ``weights`` (answers,) multiply the terms of correct
    answers.
    """
    if labels.dim() == 1:
        labels = functional.one_hot(labels, logits.shape[1])
    terms = functional.binary_cross_entropy_with_logits(
        logits, labels.to(logits), pos_weight=weights, reduction="none"
    )
    return terms.mean(dim=1)


def cross_entropy(
    logits: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor | None = None
) -> torch.Tensor:
    """Return each text's loss (texts,) times the weight of its correct answer;
    arguments as above.

    Raises `BadInput` for labels with several correct answers.
    """
    if labels.dim() > 1:
        raise BadInput(
            "cross_entropy needs one correct answer per text",
            where="loss",
            do="use binary_cross_entropy",
        )
    return functional.cross_entropy(logits, labels, weight=weights, reduction="none")


LOSSES: dict[str, Callable[..., torch.Tensor]] = {
    "binary_cross_entropy": binary_cross_entropy,
    "cross_entropy": cross_entropy,
}


def balanced_weights(labels: Sequence[int], answers: int) -> torch.Tensor:
    """Return weights that give each of a head's answers equal influence in training,
    float32 (answers,).

    n / (k × count) for n training ``labels`` with k different answers, as
    scikit-learn's ``class_weight="balanced"``: their mean over the examples is 1.  1
    for an answer without examples.
    """
    counts = Counter(labels)
    weights = torch.ones(answers)
    for answer, count in counts.items():
        weights[answer] = len(labels) / (len(counts) * count)
    return weights


class MultiHead(nn.Module):
    """The encoder and its heads; ``sizes`` are the numbers of answers of the heads.

    ``weights``, (answers,) or None for each head, weight the answers in the loss and
    are not saved.  The weighted losses are divided by the number of texts, not by the
    sum of their weights, so a batch of rare answers has a larger loss.
    """

    weights: torch.Tensor | None

    def __init__(
        self,
        body: PreTrainedModel,
        own: nn.ModuleList | None,
        sizes: Sequence[int],
        loss: Loss = "binary_cross_entropy",
        weights: Weights | None = None,
    ) -> None:
        """Combine an encoder with its heads; ``own`` is None for a head of its
        family.
        """
        super().__init__()
        self.body = body
        self.own = own
        self.loss = loss
        self.sizes = tuple(sizes)
        ends = accumulate(self.sizes, initial=0)
        self.spans = tuple(pairwise(ends))
        together = _side_by_side(weights, self.sizes)
        self.register_buffer("weights", together, persistent=False)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Return the tensors; those that layers share (BART's embeddings) once, as
        checkpoints need it.
        """
        tensors = super().state_dict(*args, **kwargs)
        once = {name for name, _ in self.named_parameters()}
        for name, _ in self.named_parameters(remove_duplicate=False):
            if name not in once:
                del tensors[name]
        return tensors

    @property
    def mixed_precision(self) -> bool:
        """Whether it can train in mixed precision: BigBird's sparse attention cannot
        (transformers 5).
        """
        return not _sparse(self.body)

    def represent(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return the heads' input for each text: all logits (``family``), or the first
        token's vector.

        ``token_type_ids`` distinguish the texts of a pair, for a model with segments.
        """
        _set_sparse_attention(self.body, input_ids.shape[1])
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        if token_type_ids is not None:
            inputs["token_type_ids"] = token_type_ids
        output = self.body(**inputs)
        if self.own is None:
            return output.logits
        return output.last_hidden_state[:, 0]

    def answer(self, represented: torch.Tensor, head: int) -> torch.Tensor:
        """Return the logits (texts, answers) of head number ``head``, float32."""
        if self.own is None:
            start, stop = self.spans[head]
            return represented[:, start:stop].float()
        return self.own[head](represented).float()

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        head: Sequence[int],
        label: Labels,
        token_type_ids: torch.Tensor | None = None,
    ) -> dict[str, torch.Tensor]:
        """Return the loss of a batch; ``head`` (texts,) is the number of each text's
        head.

        ``label``: the index of each text's correct answer (texts,); or, for any number
        of them, 1 for correct and 0 for wrong, as a matrix (texts, answers), whose
        first columns are used for heads with fewer answers, or as a list of rows
        (answers,).
        """
        texts = self.represent(input_ids, attention_mask, token_type_ids).unbind()
        text_losses = LOSSES[self.loss]
        losses = []
        # The texts of each head together.  ``head`` is a list on the host, which avoids
        # GPU synchronisation.
        for number in sorted(set(head)):
            chosen = [at for at, other in enumerate(head) if other == number]
            represented = torch.stack([texts[at] for at in chosen])
            logits = self.answer(represented, number)
            labels = _chosen(label, chosen, self.sizes[number]).to(logits.device)
            weights = None
            if self.weights is not None:
                start, stop = self.spans[number]
                weights = self.weights[start:stop]
            losses.append(text_losses(logits, labels, weights).sum())
        total = torch.stack(losses).sum()
        return {"loss": total / len(head)}


def _side_by_side(weights: Weights | None, sizes: Sequence[int]) -> torch.Tensor | None:
    """Return the weights of all answers of all heads (answers,); 1 for a head
    without.
    """
    if weights is None:
        return None
    parts = []
    for part, size in zip(weights, sizes, strict=True):
        parts.append(torch.ones(size) if part is None else part)
    lengths = [len(part) for part in parts]
    if lengths != list(sizes):
        raise ValueError(f"weights of {lengths} answers for heads of {list(sizes)}")
    return torch.cat(parts).float()


def _chosen(label: Labels, chosen: Sequence[int], size: int) -> torch.Tensor:
    """Return the labels of the ``chosen`` texts, all of one head, in the form for a
    loss.
    """
    rows = torch.stack([torch.as_tensor(label[at]) for at in chosen])
    if rows.dim() == 1:
        return rows
    return rows[:, :size]


@loading_weights()
def load(
    folder: str,
    sizes: Sequence[int],
    kind: HeadKind,
    seed: int,
    *,
    loss: Loss = "binary_cross_entropy",
    weights: Weights | None = None,
    new_heads: bool = False,
    untrained_answers: Sequence[str] | None = None,
    is_registered: bool = False,
) -> MultiHead:
    """Load an encoder and initialise its heads with ``seed``; all weights in single
    precision.

    ``weights`` as in `MultiHead`.  With ``new_heads`` a head that is stored with the
    encoder is not used, nor is one of another number of labels.

    ``untrained_answers`` are the answers of all heads if the model is not trained
    afterwards: a stored head then gets their order, by its labels.  Labels without
    names count as in this order if the model ``is_registered``.  Raises `BadInput` for
    a head with other labels.
    """
    set_seed(seed)
    if kind == "family":
        body, report = AutoModelForSequenceClassification.from_pretrained(
            folder,
            num_labels=sum(sizes),
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            trust_remote_code=False,
        )
        own = None
        if untrained_answers is not None and not new_heads:
            if report["mismatched_keys"]:
                what = f"its head has another number of labels than {sum(sizes)}"
                do = "choose a model with these labels"
                raise BadInput(what, where=folder, do=do)
            _order_head(body, fresh(report), untrained_answers, folder, is_registered)
    else:
        body, report = AutoModel.from_pretrained(
            folder, output_loading_info=True, trust_remote_code=False
        )
        own = nn.ModuleList(_own_head(body.config, size) for size in sizes)
    check_complete(folder, fresh_encoder(body, report))
    check_finite(folder, body)
    if new_heads and own is None:
        body = _with_new_head(body, seed)
    model = _in_memory(MultiHead(body, own, sizes, loss, weights).float())
    if own is not None:
        check_reads_whole_texts(folder, model.represent)
    return model


def _order_head(
    body: PreTrainedModel,
    new_tensors: Collection[str],
    answers: Sequence[str],
    folder: str,
    is_registered: bool,
) -> None:
    """Put the outputs of a stored head in the order of ``answers``.

    ``new_tensors`` are those that are not stored; a head without stored outputs stays
    as it is.
    """
    name, layer = _output_layer(body, len(answers))
    if f"{name}.weight" in new_tensors:
        return
    check_complete(folder, new_tensors)
    labels = _stored_labels(body, folder)
    if is_registered and are_nameless(labels):
        return
    columns = label_columns(labels, answers, folder)
    for values in layer.parameters():
        values.data = values.data[columns]
    body.config.id2label = dict(enumerate(answers))
    body.config.label2id = {answer: at for at, answer in enumerate(answers)}


def _output_layer(body: PreTrainedModel, outputs: int) -> tuple[str, nn.Linear]:
    """Return the name and the last layer of the head of ``body``, which has so many
    ``outputs``.
    """
    layers = []
    for name, layer in body.named_modules():
        if isinstance(layer, nn.Linear) and layer.out_features == outputs:
            layers.append((name, layer))
    return layers[-1]


def _stored_labels(body: PreTrainedModel, folder: str) -> list[str]:
    """Return the names of the outputs of a stored head: the answers that `save` wrote,
    or the labels of the configuration.
    """
    file = Path(folder) / _ABOUT
    if not file.is_file():
        names = body.config.id2label
        return [str(names[number]) for number in sorted(names)]
    labels = []
    for head in json.loads(file.read_text(encoding="utf-8"))["heads"]:
        labels += head["answers"]
    return labels


def _with_new_head(body: PreTrainedModel, seed: int) -> PreTrainedModel:
    """Return a classifier with the encoder of ``body`` and a head initialised with
    ``seed``.
    """
    set_seed(seed)
    renewed = AutoModelForSequenceClassification.from_config(
        body.config, dtype=torch.float32
    )
    renewed.base_model.load_state_dict(body.base_model.state_dict())
    return renewed


def save(
    model: MultiHead, folder: str | Path, heads: Mapping[str, Sequence[str]]
) -> None:
    """Write a trained model to ``folder`` as safetensors and JSON, atomically.

    ``heads`` maps the model's heads, in order, to their answers.  Heads of the kind
    ``own`` have their own file.
    """
    sizes = [len(answers) for answers in heads.values()]
    if tuple(sizes) != model.sizes:
        what = f"heads of {sizes} answers where the model has {list(model.sizes)}"
        raise ValueError(what)
    rows = []
    for head, names in heads.items():
        rows.append({"head_id": head, "answers": list(names)})
    kind = "family" if model.own is None else "own"
    about = {"kind": kind, "loss": model.loss, "heads": rows}
    with replacing_folder(folder) as temporary:
        model.body.save_pretrained(temporary)
        if model.own is not None:
            save_file(model.own.state_dict(), temporary / _OWN)
        text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
        (temporary / _ABOUT).write_text(text, encoding="utf-8")


def load_trained(
    folder: str | Path, device: torch.device
) -> tuple[MultiHead, dict[str, list[str]]]:
    """Return a saved model, ready for inference, and its {head: answers} in the model's
    order.

    Raises `BadInput` if a file is missing, damaged or not written by `save`.
    """
    folder = Path(folder)
    try:
        about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        heads = {head["head_id"]: head["answers"] for head in about["heads"]}
        sizes = [len(answers) for answers in heads.values()]
        model = _trained(folder, about["kind"], sizes, about["loss"])
    except _DAMAGE as error:
        reason = f"{type(error).__name__}: {first_line(error)}"
        what = f"it is no complete trained classifier ({reason})"
        raise BadInput(what, where=str(folder), do="train it again") from error
    return model.to(device), heads


def _trained(
    folder: Path, kind: HeadKind, sizes: Sequence[int], loss: Loss
) -> MultiHead:
    """Load a model that `save` wrote; `load_trained` names its errors."""
    loader: Any = AutoModel
    options: dict[str, Any] = {}
    if kind == "family":
        loader = AutoModelForSequenceClassification
        # A file of settings does not name two labels, and without them BART has three.
        options = {"num_labels": sum(sizes), "ignore_mismatched_sizes": True}
    body, report = loader.from_pretrained(
        folder,
        local_files_only=True,
        output_loading_info=True,
        trust_remote_code=False,
        **options,
    )
    if report["mismatched_keys"]:
        what = f"heads of {sum(sizes)} answers where the weights have another number"
        raise ValueError(what)
    check_complete(folder, fresh(report))
    own = None
    if kind == "own":
        own = nn.ModuleList(_own_head(body.config, size) for size in sizes)
        own.load_state_dict(load_file(folder / _OWN))
    model = MultiHead(body, own, sizes, loss)
    check_finite(folder, model)
    return _in_memory(model.float().eval())


def _in_memory(model: MultiHead) -> MultiHead:
    """Copy the weights out of the memory-mapped file, whose alignment can change the
    last bit of a logit.
    """
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()
    return model


def _own_head(config: PretrainedConfig, size: int) -> nn.Sequential:
    """Return a new head of ``size`` answers, with the configuration's dropout."""
    rate = getattr(config, "hidden_dropout_prob", 0.0)
    if getattr(config, "classifier_dropout", None) is not None:
        rate = config.classifier_dropout
    width = config.hidden_size
    return nn.Sequential(
        nn.Dropout(rate),
        nn.Linear(width, width),
        nn.Tanh(),
        nn.Dropout(rate),
        nn.Linear(width, size),
    )


def _set_sparse_attention(body: nn.Module, length: int) -> None:
    """Set BigBird's attention for this batch's length.

    By default it switches to full attention permanently at the first short batch, so
    scores would depend on earlier texts; and the switch draws random numbers.
    """
    if not _sparse(body):
        return
    # BigBird's attributes have no types in torch.
    encoder: Any = body.base_model
    # transformers' own condition for block_sparse.
    least = (5 + 2 * encoder.config.num_random_blocks) * encoder.config.block_size
    kind = "block_sparse" if length > least else "original_full"
    with torch.random.fork_rng(devices=[]):
        encoder.set_attention_type(kind)


def _sparse(body: nn.Module) -> bool:
    """Whether an encoder is configured for BigBird's sparse attention."""
    return getattr(body.config, "attention_type", None) == "block_sparse"
