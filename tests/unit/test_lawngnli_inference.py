"""Probabilities of labels by a model of inference (LawngNLI)."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForSequenceClassification, set_seed

from helpers.wordpiece import wordpiece
from lextables.papers.lawngnli.dataset import inference
from lextables.papers.lawngnli.dataset.examples import EXAMPLES
from lextables.papers.lawngnli.dataset.inference import (
    label_probabilities,
    write_inference,
)
from lextables.papers.lawngnli.dataset.labels import LABELS
from lextables.pipeline import dataset
from lextables.pipeline.errors import BadInput

WORDS = ["the", "ferry", "toll", "is", "not", "due"]
CPU = torch.device("cpu")
PAIRS = [
    ("the toll is due", "the ferry toll is not due"),
    ("the ferry", "the toll"),
    ("the toll is due " * 20, "the toll is due"),
]


def save_model(folder: Path, labels: tuple[object, ...]) -> None:
    config = BertConfig(
        vocab_size=11,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        initializer_range=1.0,
        max_position_embeddings=32,
        id2label=dict(enumerate(labels)),
    )
    set_seed(0)
    BertForSequenceClassification(config).save_pretrained(folder)
    wordpiece(WORDS).save_pretrained(folder)


@pytest.mark.parametrize(
    "labels",
    [
        ("entailment", "neutral", "contradiction"),
        ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"),
    ],
)
def test_probabilities_are_those_of_transformers_in_the_order_of_our_labels(
    tmp_path: Path, labels: tuple[str, ...]
) -> None:
    save_model(tmp_path, labels)
    model = inference.load(str(tmp_path), CPU, max_length=32)
    probabilities = label_probabilities(model, PAIRS, batch_size=2)
    theirs = BertForSequenceClassification.from_pretrained(tmp_path).eval()
    tokenizer = wordpiece(WORDS)
    for (premise, hypothesis), ours in zip(PAIRS, probabilities, strict=True):
        tokens = tokenizer(
            premise, hypothesis, truncation=True, max_length=32, return_tensors="pt"
        )
        with torch.no_grad():
            shares = theirs(**tokens).logits.softmax(1)[0]
        for label, share in zip(labels, shares.tolist(), strict=True):
            column = next(
                number
                for number, ours_name in enumerate(LABELS)
                if label.lower().startswith(ours_name)
            )
            assert ours[column] == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize(
    "labels",
    [
        ("LABEL_0", "LABEL_1", "LABEL_2"),
        ("entailment", "not_entailment"),
        ("entailment", "neutral", "neutral"),
        ("entailment", "neutral", "contradiction", "other"),
        ("not_entailment", "neutral", "contradiction"),
        (0, 1, 2),
    ],
)
def test_models_with_other_labels_are_refused(
    tmp_path: Path, labels: tuple[object, ...]
) -> None:
    save_model(tmp_path, labels)
    with pytest.raises(BadInput, match="its labels are"):
        inference.load(str(tmp_path), CPU, max_length=32)


def test_a_model_without_its_head_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path, ("entailment", "neutral", "contradiction"))
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    save_file(
        {
            name: values
            for name, values in tensors.items()
            if not name.startswith("classifier")
        },
        file,
        {"format": "pt"},
    )
    with pytest.raises(BadInput, match="classifier"):
        inference.load(str(tmp_path), CPU, max_length=32)


def test_a_model_that_reads_fewer_tokens_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path, ("entailment", "neutral", "contradiction"))
    with pytest.raises(BadInput, match="reads at most 32 tokens, and 33 are needed"):
        inference.load(str(tmp_path), CPU, max_length=33)


def test_the_tokenizer_of_another_model_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path, ("entailment", "neutral", "contradiction"))
    wordpiece([*WORDS, "dock"]).save_pretrained(tmp_path)
    with pytest.raises(BadInput, match="the tokenizer has 12 tokens"):
        inference.load(str(tmp_path), CPU, max_length=32)


def test_a_damaged_configuration_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path, ("entailment", "neutral", "contradiction"))
    (tmp_path / "config.json").write_text('{"model_type": "bert", "id2label": []}')
    with pytest.raises(BadInput, match=r"transformers cannot load it.*32 tokens"):
        inference.load(str(tmp_path), CPU, max_length=32)


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    save_model(tmp_path, ("entailment", "neutral", "contradiction"))
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    tensors["classifier.bias"].fill_(torch.nan)
    save_file(tensors, file, {"format": "pt"})
    with pytest.raises(BadInput, match="classifier.bias' are not all finite"):
        inference.load(str(tmp_path), CPU, max_length=32)


def test_probabilities_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    save_model(tmp_path, ("entailment", "neutral", "contradiction"))
    model = inference.load(str(tmp_path), CPU, max_length=32)
    for parameter in model.parameters():
        parameter.data.fill_(torch.inf)
    with pytest.raises(BadInput, match="the probabilities"):
        label_probabilities(model, PAIRS)


def test_each_example_has_a_row(tmp_path: Path) -> None:
    save_model(tmp_path / "model", ("entailment", "neutral", "contradiction"))
    rows = []
    for premise, hypothesis in PAIRS:
        for is_twin in (False, True):
            row = {name: _blank(EXAMPLES, name) for name in EXAMPLES.schema.names}
            row |= {"example_id": f"{len(rows) // 2}", "is_twin": is_twin}
            rows.append(row | {"short_premise": premise, "hypothesis": hypothesis})
    dataset.write(EXAMPLES, rows, tmp_path / "examples.parquet")
    model = inference.load(str(tmp_path / "model"), CPU, max_length=32)
    write_inference(tmp_path / "examples.parquet", model, tmp_path / "inference")
    written = list(dataset.read(tmp_path / "inference"))
    assert [(row["example_id"], row["is_twin"]) for row in written] == [
        (row["example_id"], row["is_twin"]) for row in rows
    ]
    for row in written:
        assert sum(row[label] for label in LABELS) == pytest.approx(1)
    values = np.array([[row[label] for label in LABELS] for row in written[::2]])
    assert values == pytest.approx(label_probabilities(model, PAIRS), abs=1e-6)


def test_no_examples_have_no_rows(tmp_path: Path) -> None:
    save_model(tmp_path / "model", ("entailment", "neutral", "contradiction"))
    dataset.write(EXAMPLES, [], tmp_path / "examples.parquet")
    model = inference.load(str(tmp_path / "model"), CPU, max_length=32)
    write_inference(tmp_path / "examples.parquet", model, tmp_path / "inference")
    assert list(dataset.read(tmp_path / "inference")) == []


def _blank(table: dataset.Table, name: str) -> object:
    """Return an empty value of a column's type."""
    kind = str(table.schema.field(name).type)
    if kind.startswith("list"):
        return []
    return {"string": "", "bool": False}.get(kind, 0)
