"""A score exists only if every number behind it is finite."""

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertForSequenceClassification, BertModel, TrainingArguments

from helpers import tiny_encoders
from helpers.optimisers import LINEAR
from lextables.models import (
    bi_encoder,
    bi_encoder_training,
    cross_encoder,
    loading,
    multi_head,
)
from lextables.models.bi_encoder import VectorCache
from lextables.models.bi_encoder_training import GradedPairs
from lextables.models.checkpoints import arguments
from lextables.models.in_parts import InParts
from lextables.models.local_language_model import CausalModel
from lextables.models.optimiser import Optimiser
from lextables.models.settings import UpdateSettings
from lextables.pipeline.dataset import (
    Column,
    Table,
    batches,
    read,
    read_table,
    row_groups,
    write,
)
from lextables.pipeline.errors import BadInput
from lextables.pipeline.finite import finite, first_not_finite
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS
from lextables.tasks.classification import schema as classification
from lextables.tasks.retrieval import collection as retrieval
from lextables.tasks.spans.schema import NBEST

CPU = torch.device("cpu")
NAN, INF = math.nan, math.inf
NOT_FINITE = [NAN, INF, -INF, np.float32("nan"), np.float64("-inf"), float("1e999")]
NUMBERS = Table(
    "numbers",
    "Numbers of each form.",
    (
        Column("id", pa.int32(), "the row"),
        Column("double", pa.float64(), "a number", nullable=True),
        Column("single", pa.float32(), "a number", nullable=True),
        Column("list", pa.list_(pa.float64()), "numbers", nullable=True),
        Column("half", pa.list_(pa.float16()), "numbers", nullable=True),
        Column("lists", pa.list_(pa.list_(pa.float32())), "lists", nullable=True),
        Column("undefined", pa.float64(), "may be NaN", nullable=True, undefined=True),
    ),
    key=("id",),
    row_group=2,
)
# {column: a value with this number}
VALUES = {
    "double": lambda number: number,
    "single": lambda number: number,
    "list": lambda number: [0.5, number],
    "half": lambda number: [np.float16(0.5), np.float16(number)],
    "lists": lambda number: [[], [0.5], [0.5, number]],
}


def numbers(**values):
    """Three rows, of which the last has these values."""
    rows = []
    for number in range(3):
        row = dict.fromkeys(("double", "single", "list", "half", "lists", "undefined"))
        rows.append({"id": number, **row})
    rows[-1].update(values)
    return rows


@pytest.mark.parametrize(("column", "number"), list(product(VALUES, NOT_FINITE)))
def test_a_column_of_numbers_has_only_finite_ones(tmp_path, column, number):
    path = tmp_path / "numbers.parquet"
    assert write(NUMBERS, numbers(**{column: VALUES[column](0.25)}), path) == 3
    with pytest.raises(BadInput, match=f"rows 3-3: the column '{column}' has"):
        write(NUMBERS, numbers(**{column: VALUES[column](number)}), path)
    assert len(list(read(path))) == 3


def test_an_undefined_number_is_nan_and_not_infinite(tmp_path):
    path = tmp_path / "numbers.parquet"
    assert write(NUMBERS, numbers(undefined=NAN), path) == 3
    assert math.isnan(list(read(path))[-1]["undefined"])
    for number in (INF, -INF):
        with pytest.raises(BadInput, match="'undefined' has -?inf"):
            write(NUMBERS, numbers(undefined=number), path)


READERS = {
    "read": lambda path: list(read(path)),
    "read_table": read_table,
    "row_groups": lambda path: list(row_groups(path)),
    "batches": lambda path: list(batches(path, size=2)),
    "columns": lambda path: list(read(path, ["list"])),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("number", [NAN, INF, -INF])
def test_numbers_that_are_not_finite_are_found_when_a_file_is_read(
    tmp_path, reader, number
):
    path = tmp_path / "numbers.parquet"
    rows = pa.Table.from_pylist(numbers(list=[1.0, number]), NUMBERS.schema)
    pq.write_table(rows, path)
    with pytest.raises(BadInput, match=r"numbers.parquet: the file is damaged: the co"):
        READERS[reader](path)


@pytest.mark.parametrize(
    ("table", "column", "undefined"),
    [
        (SCORES, "value", True),
        (UNITS, "value", False),
        (retrieval.PREDICTIONS, "score", False),
        (retrieval.TRIED, "score", False),
        (NBEST, "probability", False),
        (NBEST, "start_logit", True),
        (classification.PREDICTIONS, "probabilities", False),
        (classification.PREDICTIONS, "logits", False),
        (classification.READINGS, "probabilities", False),
    ],
)
def test_predictions_are_finite_and_only_some_columns_may_be_undefined(
    table, column, undefined
):
    (of_table,) = [each for each in table.columns if each.name == column]
    assert of_table.undefined is undefined
    assert b"numbers" in of_table.metadata


def test_finite_returns_its_values_and_names_them():
    values = np.array([[1.0, -2.0]])
    assert finite(values, "the values") is values
    for number in NOT_FINITE:
        with pytest.raises(BadInput, match=r"^here: the values are not all finite n"):
            finite(np.array([[1.0, number]]), "the values", where="here")
    assert first_not_finite(pa.array([1.0, None, 2.0])) is None
    assert first_not_finite(pa.array([], pa.float64())) is None


# Models


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """{kind: folder} of an encoder, and of a classifier with one logit."""
    root = tmp_path_factory.mktemp("models")
    found = tiny_encoders.save(root, "bert", "roberta")
    body = BertModel.from_pretrained(found["bert"])
    torch.manual_seed(0)
    model = BertForSequenceClassification(body.config)
    model.config.num_labels = 1
    model = BertForSequenceClassification(model.config)
    folder = tiny_encoders.save(root / "classifier", "bert")["bert"]
    model.save_pretrained(folder)
    return {**found, "classifier": folder}


def changed(folder, target, change):
    """Copy a model, with its tensors as ``change(name, tensor)`` returns them."""
    target.mkdir()
    for file in folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    tensors = {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        tensors[name] = change(name, tensor).contiguous()
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    return str(target)


def halved(folder, target, dtype):
    """Copy a model in the precision ``dtype``, which its configuration names too."""
    changed(Path(folder), target, lambda _, values: values.to(dtype))
    config = json.loads((target / "config.json").read_text())
    config["dtype"] = str(dtype).removeprefix("torch.")
    (target / "config.json").write_text(json.dumps(config))
    return target


def with_number(part, number, *place):
    """A change that writes ``number`` to a place of the tensors whose name has
    ``part``.
    """

    def change(name, tensor):
        if part in name:
            tensor = tensor.clone()
            tensor[place] = number
        return tensor

    return change


LANGUAGE_MODEL = (
    Path(__file__).resolve().parents[2]
    / "resources/sample/models/sample-language-model"
)
IMPOSSIBLE = torch.tensor([7])
TEXT = "the company shall not close"
DAMAGES = {
    "all norms": with_number("LayerNorm.weight", NAN, ...),
    "one norm": with_number("layer.1.output.LayerNorm.bias", NAN, 3),
    "infinite norm": with_number("layer.0.output.LayerNorm.weight", INF, 0),
    "one token": with_number("word_embeddings", NAN, tiny_encoders.IDS["close"], 0),
    "one position": with_number("position_embeddings", NAN, 4, 2),
    "attention": with_number("query.weight", NAN, 0, 0),
    "minus infinity": with_number("layer.1.output.dense.bias", -INF, 0),
}
# Finite weights, whose sums are not.
OVERFLOW = with_number("layer.1.output.LayerNorm.weight", 3e38, ...)


def loaders(encoder, classifier):
    """Functions that load the models of two folders as each kind."""
    return [
        lambda: bi_encoder.load(encoder, CPU, 32),
        lambda: cross_encoder.load(classifier, CPU, 32),
        lambda: multi_head.load(encoder, [2, 3], "own", 0),
        lambda: multi_head.load(encoder, [2, 3], "family", 0),
        lambda: loading.load_span_model(encoder, CPU),
    ]


def damaged(folders, target, damage):
    """`loaders` of damaged copies."""
    encoder = changed(Path(folders["bert"]), target / "encoder", damage)
    classifier = changed(Path(folders["classifier"]), target / "classifier", damage)
    return loaders(encoder, classifier)


@pytest.mark.parametrize("damage", DAMAGES)
def test_weights_that_are_not_finite_are_found_when_they_are_loaded(
    folders, tmp_path, damage
):
    for load in damaged(folders, tmp_path, DAMAGES[damage]):
        with pytest.raises(BadInput, match="the weights '.*' are not all finite numb"):
            load()


@pytest.mark.parametrize("damage", [*DAMAGES, "overflow"])
def test_a_model_with_numbers_that_are_not_finite_has_no_scores(
    folders, tmp_path, monkeypatch, damage
):
    if damage == "attention":
        pytest.skip("attention returns zeros for a row of NaN")
    monkeypatch.setattr(loading, "check_finite", lambda *_: None)
    damages = {**DAMAGES, "overflow": OVERFLOW}
    load = damaged(folders, tmp_path, damages[damage])
    model = load[0]()
    for encode in (bi_encoder.encode, bi_encoder.encode_queries):
        with pytest.raises(BadInput, match="the vectors of the model are not all fi"):
            encode(model, ["stock", TEXT])
    with pytest.raises(BadInput, match="the logits of the model are not all finite"):
        cross_encoder.score(load[1](), [("stock", "buy"), ("the", TEXT)])


@pytest.mark.parametrize("part", ["embed_tokens", "norm", "v_proj", "down_proj"])
@pytest.mark.parametrize("number", [NAN, INF])
def test_a_language_model_with_numbers_that_are_not_finite_has_no_answers(part, number):
    engine = CausalModel(LANGUAGE_MODEL, CPU)
    ids = engine.ids("The term is two years.", True)
    assert np.isfinite(np.exp(engine.after(ids, 0))).all()
    for name, values in engine._model.named_parameters():
        if part in name:
            values.data[..., :] = number
    with pytest.raises(BadInput, match="probabilities of the next token are not all"):
        engine.after(ids, 0)


def test_a_token_may_be_impossible():
    engine = CausalModel(LANGUAGE_MODEL, CPU)
    head = engine._model.get_output_embeddings()
    head.register_forward_hook(lambda *call: call[-1].index_fill(-1, IMPOSSIBLE, -INF))
    found = engine.after(engine.ids("The term", True), 0)
    assert found[7] == -INF and np.isfinite(np.delete(found, 7)).all()


# Caches


@pytest.mark.parametrize("number", [NAN, INF, -INF])
def test_stored_vectors_that_are_not_finite_are_encoded_again(tmp_path, number):
    def encode(texts):
        return np.array([[len(text), 1] for text in texts], np.float32)

    cache = VectorCache(tmp_path, {"data": {}, "device": "cpu"})
    texts = ["a", "bb", "ccc"]
    expected = cache.encode(texts, encode)
    (shard,) = cache.folder.glob("*.npz")
    with np.load(shard) as file:
        keys, vectors = file["keys"], file["vectors"].copy()
    vectors[1, 0] = number
    np.savez(shard, keys=keys, vectors=vectors)
    assert (cache.encode(texts, encode) == expected).all()
    assert (
        not list(cache.folder.glob("*.npz"))
        or np.isfinite(np.load(next(cache.folder.glob("*.npz")))["vectors"]).all()
    )


# Training


QUERIES = ["the term", "stock"]
DOCUMENTS = ["close the merger", "buy stock"]
PAIRS = [(0, 0), (1, 1)] * 4
FINETUNED = ("bi-encoder", "cross-encoder")


def trained(kind, folder, work, **changes):
    """The weights of a model after four updates."""
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


@pytest.mark.parametrize(
    ("kind", "dtype"), list(product(FINETUNED, [torch.float16, torch.bfloat16]))
)
def test_weights_are_trained_in_single_precision(folders, tmp_path, kind, dtype):
    name = "bert" if kind == "bi-encoder" else "classifier"
    folder = Path(folders[name])
    # The same numbers, in both precisions.
    half = halved(folder, tmp_path / "half", dtype)
    single = changed(half, tmp_path / "single", lambda _, values: values.float())
    of_half = trained(kind, str(half), tmp_path / "of half")
    of_single = trained(kind, single, tmp_path / "of single")
    assert all(values.dtype == torch.float32 for values in of_half.values())
    assert all(torch.equal(of_half[name], of_single[name]) for name in of_single)
    before = load_file(half / "model.safetensors")
    moved = []
    for name, values in before.items():
        after = [each for full, each in of_half.items() if full.endswith(name)]
        if after and "word_embeddings" not in name and "pooler" not in name:
            moved.append((after[0] != values.float()).float().mean().item())
    assert np.median(moved) > 0.9


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_every_kind_of_model_is_loaded_in_single_precision(folders, tmp_path, dtype):
    encoder = str(halved(folders["bert"], tmp_path / "encoder", dtype))
    classifier = str(halved(folders["classifier"], tmp_path / "classifier", dtype))
    for load in loaders(encoder, classifier):
        dtypes = {values.dtype for values in load().parameters()}
        assert dtypes == {torch.float32}


def test_a_trainer_converts_the_weights_that_it_is_given(folders, tmp_path):
    model = BertForSequenceClassification.from_pretrained(folders["classifier"])
    common = arguments(tmp_path, 1, seed=0, save_every=0, device=CPU)
    options = {"mixed": False, "optimiser": Optimiser(**LINEAR)}
    InParts(model=model.half(), args=TrainingArguments(**common), **options)
    assert {values.dtype for values in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("kind", FINETUNED)
def test_a_training_that_diverges_stops_at_once(folders, tmp_path, kind):
    name = "bert" if kind == "bi-encoder" else "classifier"
    with pytest.raises(
        BadInput, match=r"the training diverged: the losses of update 2"
    ):
        trained(kind, folders[name], tmp_path, learning_rate=1e30)
