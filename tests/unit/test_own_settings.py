"""A sentence encoder's own settings hold: similarity function, prompts, and maximum
length.
"""

import copy
import json
import logging
import shutil
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Normalize,
    Pooling,
    Router,
    Transformer,
)
from torch.nn.functional import cross_entropy
from transformers import (
    AutoModelForSequenceClassification,
    BartConfig,
    BertConfig,
    Data2VecTextConfig,
    DebertaV2Config,
    GPT2Config,
    MPNetConfig,
    RobertaConfig,
    T5Config,
    XLMRobertaXLConfig,
    XLNetConfig,
)

from helpers import tiny_encoders
from lextables.models import bi_encoder, cross_encoder, folders, loading, own_settings
from lextables.models.bi_encoder_training import GradedSoftmax, prompts
from lextables.models.files import model_files
from lextables.models.positions import positions
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import recorded
from lextables.tasks.retrieval import bi_encoder_tuning, dense
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.ranking import Encoders, RankingSettings

SAMPLE = Path(__file__).parents[2] / "resources/sample/models/sample-encoder"
CPU = torch.device("cpu")
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
WORDS = tiny_encoders.WORDS
DOCUMENTS = {f"d{at:02}": " ".join(WORDS[at : at + 1 + at % 5]) for at in range(12)}
QUERIES = {text: text for text in map(" ".join, product(WORDS[:6], WORDS[6:10]))}
TASK = {"training": "train", "validation": "valid", "test": "test"}
COLLECTION = Collection(
    DOCUMENTS,
    {query: {"query_id": query, "split": "test", "text": query} for query in QUERIES},
    {},
    TASK,
)
ENCODERS = (bi_encoder.encode_documents, bi_encoder.encode_queries)
RUNS = {"text": RankingSettings(form="text", pool="all", top=12)}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """Return a function that saves a tiny sentence encoder with own settings, and
    returns its folder.
    """
    bodies = tiny_encoders.save(tmp_path_factory.mktemp("bodies"))

    def make(family="roberta", length=..., modules=(), **settings):
        folder = tmp_path_factory.mktemp("encoder")
        model = SentenceTransformer(
            modules=[Transformer(bodies[family]), Pooling(32), *modules],
            device="cpu",
            **settings,
        )
        model.save_pretrained(str(folder), create_model_card=False)
        if length is not ...:
            path = folder / "sentence_bert_config.json"
            path.write_text(
                json.dumps(json.loads(path.read_text()) | {"max_seq_length": length})
            )
        return str(folder)

    return make


def library(folder):
    """Return the model as its users load it, with a length that it can read."""
    model = SentenceTransformer(folder, device="cpu")
    model.max_seq_length = 32
    return model


def similarities(folder):
    """Return the library's own similarities (queries, documents)."""
    model = library(folder)
    documents = model.encode_document(list(DOCUMENTS.values()))
    return model.similarity(model.encode_query(list(QUERIES)), documents).numpy()


def ranked(folder):
    """Return the hits of each query in this project."""
    model = bi_encoder.load(folder, CPU, 32)
    encode = [partial(function, model) for function in ENCODERS]
    encoders = Encoders(*encode, model.similarity_fn_name)
    return dense.retrieve(COLLECTION, RUNS, encoders)["text"]


@pytest.mark.parametrize(
    "modules", [(), (Normalize(),)], ids=["as pooled", "normalised"]
)
@pytest.mark.parametrize("name", SIMILARITIES)
def test_documents_are_ranked_by_the_models_own_similarity(encoder, name, modules):
    folder = encoder(similarity_fn_name=name, modules=modules)
    hits, expected = ranked(folder), similarities(folder)
    for query, row in zip(QUERIES, expected, strict=True):
        assert dict(hits[query]) == pytest.approx(
            dict(zip(DOCUMENTS, row, strict=True)), abs=1e-4
        )
        assert hits[query] == sorted(hits[query], key=lambda hit: (-hit[1], hit[0]))


def test_the_first_hits_of_cosine_and_inner_product_differ(encoder):
    cosine, dot = (
        ranked(encoder(similarity_fn_name=name)) for name in SIMILARITIES[:2]
    )
    assert sum(cosine[query][0][0] != dot[query][0][0] for query in QUERIES) > 9


def test_features_of_linear_models_are_unit_vectors(encoder):
    model = bi_encoder.load(encoder(similarity_fn_name="dot"), CPU, 32)
    lengths = {
        name: np.linalg.norm(getattr(bi_encoder, name)(model, WORDS), axis=1)
        for name in ("encode", "encode_alike", "encode_queries", "encode_documents")
    }
    assert lengths.pop("encode") == pytest.approx(1, abs=1e-5)
    assert all((values > 2).all() for values in lengths.values())


@pytest.mark.parametrize("name", SIMILARITIES)
def test_training_and_its_choice_use_the_models_own_similarity(encoder, name, tmp_path):
    model = bi_encoder.load(encoder(similarity_fn_name=name), CPU, 32)
    pairs = list(zip(QUERIES, DOCUMENTS.values(), strict=False))
    expected = model.similarity_pairwise(
        *(torch.tensor(model.encode(side)) for side in zip(*pairs, strict=True))
    )
    assert bi_encoder_tuning.score(model, pairs) == pytest.approx(
        expected.numpy(), abs=1e-4
    )

    features = [model.preprocess(list(side)[:3]) for side in zip(*pairs, strict=True)]
    labels = torch.tensor([[0, 0], [1, 1], [2, 2]])
    loss = GradedSoftmax(model, {(at, at): 1.0 for at in range(3)}, temperature=0.05)
    with torch.no_grad():
        found = loss(features, labels).item()
        vectors = [model(part)["sentence_embedding"] for part in features]
    scores = model.similarity(*vectors) / (0.05 if name == "cosine" else 1)
    assert found == pytest.approx(
        cross_entropy(scores, torch.arange(3)).item(), abs=1e-4
    )
    model.save_pretrained(str(tmp_path), create_model_card=False)
    assert SentenceTransformer(str(tmp_path), device="cpu").similarity_fn_name == name


def test_steps_that_need_products_reject_distances(encoder):
    models = {
        name: bi_encoder.load(encoder(similarity_fn_name=name), CPU, 32)
        for name in SIMILARITIES
    }
    for name in ("cosine", "dot"):
        own_settings.check_similarity_is_product(models[name].similarity_fn_name)
    with pytest.raises(
        BadInput,
        match="by euclidean, and this step needs cosine or dot; use another enc",
    ):
        own_settings.check_similarity_is_product(models["euclidean"].similarity_fn_name)
    with pytest.raises(
        BadInput, match="by dot, and this step needs cosine; use another encoder"
    ):
        own_settings.check_similarity_is_product(
            models["dot"].similarity_fn_name, "cosine"
        )


@pytest.mark.parametrize(
    ("saved", "query", "document"),
    [
        ({"query": "cash ", "document": "stock "}, "cash ", "stock "),
        ({"query": "cash ", "passage": "stock "}, "cash ", "stock "),
        ({"query": "cash ", "corpus": "stock "}, "cash ", "stock "),
        ({"passage": "stock ", "other": "sell "}, "", "stock "),
        ({}, "", ""),
    ],
)
def test_prompts_are_those_of_the_model(encoder, saved, query, document):
    model = bi_encoder.load(encoder(prompts=saved), CPU, 32)
    trained_with = prompts(model)
    assert (trained_with.get("query", ""), trained_with.get("document", "")) == (
        query,
        document,
    )
    for function, prompt in (
        (bi_encoder.encode_queries, query),
        (bi_encoder.encode_documents, document),
    ):
        expected = bi_encoder.encode(model, [f"{prompt}merger effect"])
        assert function(model, ["merger effect"]) == pytest.approx(expected, abs=1e-6)


def test_vectors_have_the_models_own_dimensions(encoder):
    folder = encoder()
    settings = Path(folder) / "config_sentence_transformers.json"
    saved = json.loads(settings.read_text()) | {"truncate_dim": 8}
    settings.write_text(json.dumps(saved))
    model = bi_encoder.load(folder, CPU, 32)
    expected = library(folder).encode(WORDS, normalize_embeddings=True)
    assert expected.shape == (len(WORDS), 8)
    assert bi_encoder.encode(model, WORDS) == pytest.approx(expected, abs=1e-6)


def test_the_transformers_of_a_router_belong_to_the_model(tmp_path):
    routes = []
    for _ in range(2):
        body = Transformer(str(SAMPLE))
        routes.append([body, Pooling(body.get_embedding_dimension())])
    router = Router.for_query_document(*routes)
    model = SentenceTransformer(modules=[router], device="cpu")
    model.save_pretrained(str(tmp_path), create_model_card=False)
    weights = tmp_path / "query_0_Transformer/model.safetensors"
    assert weights in model_files(tmp_path)
    assert loading.fault_of(tmp_path, "bi-encoder", 0) == ("", "")
    assert folders.fault(tmp_path) is None
    tensors = load_file(weights)
    del tensors["encoder.layer.0.output.dense.weight"]
    save_file(tensors, weights, metadata={"format": "pt"})
    assert "lack 1 tensors" in loading.fault_of(tmp_path, "bi-encoder", 0)[0]
    with pytest.raises(BadInput, match="the weights lack 1 tensors"):
        bi_encoder.load(str(tmp_path), CPU)
    weights.unlink()
    assert "query_0_Transformer' contains no weights" in folders.fault(tmp_path).what


def test_a_default_prompt_is_used_where_no_side_is_meant(encoder):
    model = bi_encoder.load(
        encoder(prompts={"all": "cash "}, default_prompt_name="all"), CPU, 32
    )
    expected = library(encoder()).encode(["cash merger"], normalize_embeddings=True)
    assert bi_encoder.encode(model, ["merger"]) == pytest.approx(expected, abs=1e-6)


LONG = " ".join(WORDS * 20)


@pytest.mark.parametrize(
    ("family", "length", "wanted", "reads"),
    [
        ("bert", 64, None, 64),
        ("bert", 10, None, 10),
        ("bert", 65, None, 64),
        ("bert", 10**30, None, 64),
        ("bert", None, None, 64),
        ("bert", 10, 20, 20),
        ("bert", 10, 512, 64),
        # Positions start after that of the padding token: of 66 there are 64 for texts.
        ("roberta", ..., None, 64),
        ("roberta", 66, None, 64),
        ("roberta", 64, None, 64),
        # Relative positions have no limit.
        ("modernbert", 5000, None, 5000),
    ],
)
def test_a_text_is_cut_where_the_positions_end(
    encoder, caplog, tmp_path, family, length, wanted, reads
):
    folder, record = encoder(family, length), tmp_path / "run.json"
    with recorded(record, {}), caplog.at_level(logging.WARNING, "lextables"):
        model = bi_encoder.load(folder, CPU, wanted)
        assert model.max_seq_length == reads
        assert np.isfinite(bi_encoder.encode_documents(model, [LONG])).all()
    asked_for = wanted or length
    notes = json.loads(record.read_text()).get("notes", [])
    # None, in a file, states that there is no limit of the model's own.
    is_longer = asked_for is ... or (asked_for is not None and asked_for > reads)
    assert bool(notes) == (is_longer and family != "modernbert")
    assert notes == caplog.messages
    assert all(
        note.startswith(f"texts are cut at {reads} tokens: the model has positions")
        for note in notes
    )


@pytest.mark.parametrize(
    ("family", "length", "reads"),
    [("bert", 10, 10), ("bert", 512, 64), ("modernbert", 600, 600)],
)
def test_a_cross_encoder_reads_its_own_number_of_tokens(
    tmp_path, family, length, reads
):
    folder = tiny_encoders.save(tmp_path, family)[family]
    config = copy.deepcopy(tiny_encoders.CONFIGS[family])
    config.num_labels = 1
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    path = Path(folder, "tokenizer_config.json")
    tokenizer = json.loads(path.read_text()) | {"model_max_length": length}
    path.write_text(json.dumps(tokenizer))
    model = cross_encoder.load(folder, CPU, None)
    assert model.max_seq_length == reads
    assert np.isfinite(cross_encoder.score(model, [("cash", LONG)])).all()


@pytest.fixture
def sample(tmp_path):
    """Return a function that copies the sample's encoder, with a maximum length."""

    def make(length):
        folder = shutil.copytree(SAMPLE, tmp_path / "encoder")
        path = folder / "sentence_bert_config.json"
        path.write_text(
            json.dumps(json.loads(path.read_text()) | {"max_seq_length": length})
        )
        return folder

    return make


@pytest.mark.parametrize("length", [0, -1, 2, "512", 1.5, True, [512], float("nan")])
def test_a_length_that_is_no_number_of_tokens_raises(sample, length):
    folder = sample(length)
    with pytest.raises(
        BadInput,
        match=r"its maximum length \(max_seq_length\) is .*; write a whole number of",
    ):
        bi_encoder.load(str(folder), CPU)
    what, do = loading.fault_of(folder, "bi-encoder", 0)
    assert what.startswith("its maximum length (max_seq_length) is ") and do.startswith(
        "write a whole number"
    )


def test_the_check_before_a_run_loads_the_own_settings(sample):
    folder = sample(5000)
    assert loading.fault_of(folder, "bi-encoder", 0) == ("", "")
    settings = folder / "config_sentence_transformers.json"
    for change in (
        {"similarity_fn_name": "hamming"},
        {"default_prompt_name": "absent"},
    ):
        settings.write_text(json.dumps(change | {"model_type": "SentenceTransformer"}))
        assert (
            next(iter(change.values())) in loading.fault_of(folder, "bi-encoder", 0)[0]
        )


def test_a_model_that_pools_nothing_is_refused(sample):
    folder = sample(32)
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps(modules[:1]))
    what, do = loading.fault_of(folder, "bi-encoder", 0)
    assert what == "it has a vector for each token, and none for a text"
    assert do == "add the module that pools them to modules.json"


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        (BertConfig(), 512),
        (RobertaConfig(max_position_embeddings=514), 512),
        (XLMRobertaXLConfig(max_position_embeddings=514), 512),
        (Data2VecTextConfig(max_position_embeddings=514), 512),
        (MPNetConfig(max_position_embeddings=514), 512),
        (BartConfig(), 1024),
        (GPT2Config(), 1024),
        (DebertaV2Config(), 512),
        (T5Config(), None),
        (XLNetConfig(), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_positions_are_counted_without_those_of_padding(config, tokens):
    assert positions(config) == tokens
