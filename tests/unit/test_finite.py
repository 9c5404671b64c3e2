"""A score exists only if every number behind it is finite."""

import math
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from helpers import tiny_encoders
from helpers.model_copies import (
    FINETUNED,
    copy_with_tensors,
    loaders,
    save_models,
    trained,
)
from lextables.models import bi_encoder, cross_encoder, loading
from lextables.models.bi_encoder import VectorCache
from lextables.models.local_language_model import CausalModel
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
NAN = math.nan
INF = math.inf
NOT_FINITE = [NAN, INF, -INF, np.float32("nan"), np.float64("-inf"), float("1e999")]
# A column of each form in which a table can have numbers.
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
# {column of `NUMBERS`: function from a number to a value that contains it}
VALUE_WITH = {
    "double": lambda number: number,
    "single": lambda number: number,
    "list": lambda number: [0.5, number],
    "half": lambda number: [np.float16(0.5), np.float16(number)],
    "lists": lambda number: [[], [0.5], [0.5, number]],
}


def rows_of_numbers(**values):
    """Return three rows of `NUMBERS`; the last has ``values``, the rest is empty."""
    columns = ("double", "single", "list", "half", "lists", "undefined")
    rows = [{"id": number, **dict.fromkeys(columns)} for number in range(3)]
    rows[-1].update(values)
    return rows


@pytest.mark.parametrize(("column", "number"), list(product(VALUE_WITH, NOT_FINITE)))
def test_a_column_of_numbers_has_only_finite_ones(tmp_path, column, number):
    path = tmp_path / "numbers.parquet"
    value_with = VALUE_WITH[column]
    assert write(NUMBERS, rows_of_numbers(**{column: value_with(0.25)}), path) == 3
    with pytest.raises(BadInput, match=f"rows 3-3: the column '{column}' has"):
        write(NUMBERS, rows_of_numbers(**{column: value_with(number)}), path)
    # The earlier file is unchanged.
    assert len(list(read(path))) == 3


def test_a_number_that_may_be_undefined_may_be_nan_but_not_infinite(tmp_path):
    path = tmp_path / "numbers.parquet"
    assert write(NUMBERS, rows_of_numbers(undefined=NAN), path) == 3
    assert math.isnan(list(read(path))[-1]["undefined"])
    for number in (INF, -INF):
        with pytest.raises(BadInput, match="'undefined' has -?inf"):
            write(NUMBERS, rows_of_numbers(undefined=number), path)


# {name: function that reads a file}
READERS = {
    "read": lambda path: list(read(path)),
    "read_table": read_table,
    "row_groups": lambda path: list(row_groups(path)),
    "batches": lambda path: list(batches(path, size=2)),
    "read one column": lambda path: list(read(path, ["list"])),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("number", [NAN, INF, -INF])
def test_numbers_that_are_not_finite_are_found_when_a_file_is_read(
    tmp_path, reader, number
):
    path = tmp_path / "numbers.parquet"
    rows = pa.Table.from_pylist(rows_of_numbers(list=[1.0, number]), NUMBERS.schema)
    pq.write_table(rows, path)  # without the checks of `write`
    with pytest.raises(BadInput, match=r"numbers.parquet: the file is damaged: the co"):
        READERS[reader](path)


@pytest.mark.parametrize(
    ("table", "column", "may_be_undefined"),
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
    table, column, may_be_undefined
):
    columns = {each.name: each for each in table.columns}
    assert columns[column].undefined is may_be_undefined
    # Readers check the columns with this mark.
    assert b"numbers" in columns[column].metadata


def test_finite_returns_finite_values_and_names_others_in_its_error():
    values = np.array([[1.0, -2.0]])
    assert finite(values, "the values") is values
    for number in NOT_FINITE:
        with pytest.raises(BadInput, match=r"^here: the values are not all finite n"):
            finite(np.array([[1.0, number]]), "the values", where="here")


def test_missing_values_and_empty_columns_are_finite():
    assert first_not_finite(pa.array([1.0, None, 2.0])) is None
    assert first_not_finite(pa.array([], pa.float64())) is None


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folders of `save_models`."""
    return save_models(tmp_path_factory.mktemp("models"))


def with_number(part, number, *place):
    """Return a change for `copy_with_tensors`, which writes ``number`` to this place of
    the tensors whose name contains ``part``.
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
TEXT = "the company shall not close"
# {place in the model: change that puts a number there that is not finite}
DAMAGES = {
    "all norms": with_number("LayerNorm.weight", NAN, ...),
    "one norm": with_number("layer.1.output.LayerNorm.bias", NAN, 3),
    "infinite norm": with_number("layer.0.output.LayerNorm.weight", INF, 0),
    "one token": with_number("word_embeddings", NAN, tiny_encoders.IDS["close"], 0),
    "one position": with_number("position_embeddings", NAN, 4, 2),
    "attention": with_number("query.weight", NAN, 0, 0),
    "minus infinity": with_number("layer.1.output.dense.bias", -INF, 0),
}
# Finite weights, but infinite sums of products.
OVERFLOW = with_number("layer.1.output.LayerNorm.weight", 3e38, ...)


def loaders_of_damaged(folders, target, damage):
    """Return `loaders` of damaged copies of the models."""
    encoder = copy_with_tensors(Path(folders["bert"]), target / "encoder", damage)
    classifier = copy_with_tensors(
        Path(folders["classifier"]), target / "classifier", damage
    )
    return loaders(encoder, classifier)


@pytest.mark.parametrize("damage", DAMAGES)
def test_weights_that_are_not_finite_are_found_when_they_are_loaded(
    folders, tmp_path, damage
):
    for load in loaders_of_damaged(folders, tmp_path, DAMAGES[damage]):
        with pytest.raises(BadInput, match="the weights '.*' are not all finite numb"):
            load()


@pytest.mark.parametrize("damage", [*DAMAGES, "overflow"])
def test_a_model_with_numbers_that_are_not_finite_has_no_scores(
    folders, tmp_path, monkeypatch, damage
):
    if damage == "attention":
        pytest.skip("attention returns zeros for a row of NaN")
    # The damage is not noticed when the model is loaded.
    monkeypatch.setattr(loading, "check_finite", lambda *_: None)
    damages = {**DAMAGES, "overflow": OVERFLOW}
    load_bi_encoder, load_cross_encoder, *_ = loaders_of_damaged(
        folders, tmp_path, damages[damage]
    )
    model = load_bi_encoder()
    for encode in (bi_encoder.encode, bi_encoder.encode_queries):
        with pytest.raises(BadInput, match="the vectors of the model are not all fi"):
            encode(model, ["stock", TEXT])
    model = load_cross_encoder()
    with pytest.raises(BadInput, match="the logits of the model are not all finite"):
        cross_encoder.score(model, [("stock", "buy"), ("the", TEXT)])


@pytest.mark.parametrize("part", ["embed_tokens", "norm", "v_proj", "down_proj"])
@pytest.mark.parametrize("number", [NAN, INF])
def test_a_language_model_with_numbers_that_are_not_finite_has_no_answers(part, number):
    model = CausalModel(LANGUAGE_MODEL, CPU)
    ids = model.ids("The term is two years.", True)
    assert np.isfinite(np.exp(model.after(ids, 0))).all()
    for name, values in model._model.named_parameters():
        if part in name:
            values.data[..., :] = number
    with pytest.raises(BadInput, match="probabilities of the next token are not all"):
        model.after(ids, 0)


def test_the_log_probability_of_an_impossible_token_may_be_minus_infinity():
    model = CausalModel(LANGUAGE_MODEL, CPU)
    impossible = 7  # the id of a token

    def without_token(module, inputs, logits):
        return logits.index_fill(-1, torch.tensor([impossible]), -INF)

    model._model.get_output_embeddings().register_forward_hook(without_token)
    log_probabilities = model.after(model.ids("The term", True), 0)
    assert log_probabilities[impossible] == -INF
    assert np.isfinite(np.delete(log_probabilities, impossible)).all()


@pytest.mark.parametrize("number", [NAN, INF, -INF])
def test_stored_vectors_that_are_not_finite_are_encoded_again(tmp_path, number):
    def encode(texts):
        return np.array([[len(text), 1] for text in texts], np.float32)

    cache = VectorCache(tmp_path, {"data": {}, "device": "cpu"})
    texts = ["a", "bb", "ccc"]
    expected = cache.encode(texts, encode)
    (path,) = cache.folder.glob("*.npz")
    with np.load(path) as file:
        keys = file["keys"]
        vectors = file["vectors"].copy()
    vectors[1, 0] = number
    np.savez(path, keys=keys, vectors=vectors)
    assert (cache.encode(texts, encode) == expected).all()
    # The damaged file was removed, or replaced by a good one.
    for path in cache.folder.glob("*.npz"):
        assert np.isfinite(np.load(path)["vectors"]).all()


@pytest.mark.parametrize("kind", FINETUNED)
def test_a_training_that_diverges_stops_at_once(folders, tmp_path, kind):
    name = "bert" if kind == "bi-encoder" else "classifier"
    with pytest.raises(
        BadInput, match=r"the training diverged: the losses of update 2"
    ):
        trained(kind, folders[name], tmp_path, learning_rate=1e30)
