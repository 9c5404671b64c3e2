"""Copies of tiny models with changed weights, and short trainings of them."""

import torch
from safetensors.torch import load_file, save_file
from transformers import BertForSequenceClassification, BertModel

from helpers import tiny_encoders
from helpers.optimisers import LINEAR
from lextables.models import (
    bi_encoder,
    bi_encoder_training,
    cross_encoder,
    loading,
    multi_head,
)
from lextables.models.bi_encoder_training import GradedPairs
from lextables.models.settings import Optimiser, UpdateSettings

CPU = torch.device("cpu")


def save_models(root):
    """Save tiny models; return {"bert": folder of an encoder, "classifier": folder of a
    classifier with one logit}.
    """
    encoders = tiny_encoders.save(root, "bert", "roberta")
    config = BertModel.from_pretrained(encoders["bert"]).config
    config.num_labels = 1
    torch.manual_seed(0)
    classifier = BertForSequenceClassification(config)
    # A folder with tokenizer, whose weights are replaced.
    folder = tiny_encoders.save(root / "classifier", "bert")["bert"]
    classifier.save_pretrained(folder)
    return {**encoders, "classifier": folder}


def copy_with_tensors(folder, target, change):
    """Copy a model to ``target``, with its tensors as ``change(name, tensor)`` returns
    them; return ``target`` as text.
    """
    target.mkdir()
    for file in folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    tensors = {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        tensors[name] = change(name, tensor).contiguous()
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    return str(target)


def loaders(encoder, classifier):
    """Return functions that load the models of two folders as each kind of model: as
    bi-encoder, as cross-encoder, and so on.
    """
    return [
        lambda: bi_encoder.load(encoder, CPU, 32),
        lambda: cross_encoder.load(classifier, CPU, 32),
        lambda: multi_head.load(encoder, [2, 3], "own", 0),
        lambda: multi_head.load(encoder, [2, 3], "family", 0),
        lambda: loading.load_span_model(encoder, CPU),
    ]


QUERIES = ["the term", "stock"]
DOCUMENTS = ["close the merger", "buy stock"]
PAIRS = [(0, 0), (1, 1)] * 4  # of indices of a query and of a document
FINETUNED = ("bi-encoder", "cross-encoder")


def trained(kind, folder, work, **changes):
    """Return {name: tensor} of a model after four updates.

    ``kind`` is one of `FINETUNED`, ``work`` a folder for checkpoints, and ``changes``
    are fields of `UpdateSettings`.
    """
    settings = UpdateSettings(
        **{"learning_rate": 1e-3, "updates": (4,), "batch_size": 2, **changes},
        optimiser=Optimiser(**LINEAR),
    )
    module = bi_encoder if kind == "bi-encoder" else cross_encoder
    model = module.load(folder, CPU, 32)
    texts = [(QUERIES[query], DOCUMENTS[document]) for query, document in PAIRS]
    if kind == "bi-encoder":
        data = GradedPairs(PAIRS, QUERIES, DOCUMENTS, {(0, 0): 1, (1, 1): 1})
        bi_encoder_training.finetune(model, data, settings, 0, work, lambda _: None)
    else:
        targets = [1.0, 0.0] * 4
        cross_encoder.finetune(model, texts, targets, settings, 0, work, print)
    return {name: values.detach() for name, values in model.named_parameters()}
