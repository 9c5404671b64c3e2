"""The tiny models of a rehearsal: one of each registered architecture goes through the
steps of the tasks that use it.
"""

import filecmp
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file, save_file

from helpers import marked_contracts
from helpers.optimisers import CONSTANT
from lextables import ROOT
from lextables.models import (
    bi_encoder,
    cross_encoder,
    loading,
    multi_head,
    resolve,
    tiny,
)
from lextables.models.in_parts import recompute_activations
from lextables.models.language_model import Choice, Message, Request
from lextables.models.local_language_model import CausalModel, LocalLanguageModel
from lextables.models.tokenizers import load_tokenizer
from lextables.pipeline.dataset import read
from lextables.tasks.classification import training
from lextables.tasks.classification.examples import Text
from lextables.tasks.classification.features import tokenise
from lextables.tasks.classification.inference import read_heads
from lextables.tasks.classification.schema import JOINT
from lextables.tasks.classification.settings import TrainingSettings
from lextables.tasks.spans import training as span_training
from lextables.tasks.spans.features import WindowSource, write_features
from lextables.tasks.spans.released import unpack
from lextables.tasks.spans.settings import Training
from lextables.tasks.spans.windows import WindowFiles

CPU = torch.device("cpu")
SENTENCE = "This Supply Agreement ends on March 3, unless it is renewed."
# {(architecture, kind, labels): the first registered model of it, as (name, entry)}
MODELS = {}
for name, model in resolve.load_models(ROOT / "resources/models.yaml").items():
    if model.architecture:
        key = (model.architecture, model.kind, model.labels)
        MODELS.setdefault(key, (name, model))
ENCODERS = [name for name, model in MODELS.values() if model.kind == "encoder"]
LANGUAGE_MODELS = [
    name for name, model in MODELS.values() if model.kind == "language-model"
]
SENTENCE_ENCODERS = [
    name for name, model in MODELS.values() if model.kind == "bi-encoder"
]
# {encoder: tokens of its texts}.  They are long where attention is sparse: that of
# BigBird is from 705 tokens on.
LENGTHS = dict.fromkeys(ENCODERS, 128) | {
    "bigbird-roberta-base": 1536,
    "longformer-base-4096": 1100,
}
# {architecture: the class of its tokenizer}
TOKENIZERS = {
    "albert": "AlbertTokenizer",
    "bart": "RobertaTokenizer",
    "bert": "BertTokenizer",
    "bert-cased": "BertTokenizer",
    "bigbird": "BigBirdTokenizer",
    "deberta-v2": "DebertaV2Tokenizer",
    "deberta-v3": "DebertaV2Tokenizer",
    "distilbert": "BertTokenizer",
    "gemma3": "GemmaTokenizer",
    "longformer": "RobertaTokenizer",
    "mpnet": "MPNetTokenizer",
    "roberta": "RobertaTokenizer",
}


@pytest.fixture(scope="module")
def words():
    """The words from which tokenizers are made: those of the sample's texts."""
    return tiny.Words(tiny.counted(ROOT / "resources/sample"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory, words):
    """The folder of each model of `MODELS`, by name."""
    root = tmp_path_factory.mktemp("models")
    paths = {}
    for name, model in MODELS.values():
        paths[name] = root / name
        paths[name].mkdir()
        with loading.quiet():
            tiny.write(paths[name], model, words)
    return paths


def test_every_registered_model_of_the_hub_has_an_architecture():
    models = resolve.load_models(ROOT / "resources/models.yaml")
    for name, model in models.items():
        assert model.architecture or not model.hub, name
    assert len([model for model in models.values() if model.architecture]) == 33


def test_every_architecture_is_that_of_a_registered_model():
    architectures = {architecture for architecture, _, _ in MODELS}
    assert architectures == tiny.ARCHITECTURES.keys()


@pytest.mark.parametrize("key", MODELS, ids=str)
def test_a_tiny_model_is_a_complete_model_of_its_kind(folders, key):
    name, model = MODELS[key]
    assert loading.fault_of(str(folders[name]), model.kind, 0) == ("", "")
    tokenizer = load_tokenizer(folders[name])
    expected = TOKENIZERS.get(model.architecture)
    if expected:
        assert type(tokenizer).__name__ == expected
    ids = tokenizer(SENTENCE, add_special_tokens=False).input_ids
    assert tokenizer.unk_token_id is None or tokenizer.unk_token_id not in ids
    text = tokenizer.decode(ids).replace(" ", "")
    assert text.lower().startswith("thissupplyagreement")


def test_the_same_registry_and_texts_give_the_same_files(folders, tmp_path, words):
    for key in (("albert", "encoder", None), ("llama", "language-model", None)):
        name, model = MODELS[key]
        second_folder = tmp_path / name
        second_folder.mkdir()
        tiny.write(second_folder, model, words)
        files = sorted(path.name for path in folders[name].iterdir())
        equal, different, unreadable = filecmp.cmpfiles(
            folders[name], second_folder, files, shallow=False
        )
        assert sorted(equal) == files
        assert not different
        assert not unreadable


def write_examples(folder, encoder, length):
    """Write examples with pairs of texts, their heads and their tokens; return the
    files.

    ``encoder`` is the folder of an encoder, whose tokens are cut after ``length``.  The
    texts become longer, from one to 34 sentences; three examples are in the test split.
    """
    rows = []
    for number in range(12):
        rows.append(
            {
                "example_id": f"e{number}",
                "head_id": "nli",
                "text_id": f"t{number}",
                "pair_id": "hypothesis",
                "label": number % 3,
                "split": "train" if number < 9 else "test",
            }
        )
    heads = [{"head_id": "nli", "answers": ["entail", "neutral", "contradict"]}]
    for table, content in (("examples", rows), ("heads", heads)):
        pq.write_table(pa.Table.from_pylist(content), folder / table)
    texts = []
    for number in range(12):
        text = f"{SENTENCE} " * (1 + 3 * number)
        texts.append(Text((f"t{number}", "hypothesis"), text, "It is renewed."))
    tokenise(texts, str(encoder), length, folder / "tokens")
    return training.TrainingFiles(
        folder / "examples", folder / "heads", folder / "tokens"
    )


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_learns_to_classify_pairs_and_its_copy_predicts_the_same(
    folders, name, tmp_path
):
    settings = TrainingSettings(
        model=name,
        weights=str(folders[name]),
        revision=None,
        found="",
        setting="multi",
        percent=100,
        head="family",
        heads=None,
        batch_size=3,
        max_length=LENGTHS[name],
        bf16=False,
        save_every=1,
        optimiser=CONSTANT,
        multi_label=False,
        loss="cross_entropy",
        sampling="shuffled",
        class_weights="none",
        view={"text": "text_id", "pair": "pair_id"},
        passes=None,
        learning_rate=1e-2,
        updates=[2],
    )
    run = training.prepare(
        settings,
        write_examples(tmp_path, folders[name], LENGTHS[name]),
        training.Splits(["train"], ["test"]),
        training.Environment(0, CPU, tmp_path / "work", {}),
    )
    trial = {"learning_rate": 1e-2, "updates": [2]}
    # Predictions at the end of a training whose weights are not kept.
    path = tmp_path / "predictions"
    training.read_while_training(run, {JOINT: trial}, path, tried=False)
    predictions = [row["logits"] for row in read(path)]
    assert len(predictions) == 3
    assert np.isfinite(predictions).all()
    # The same training again, whose weights are kept.
    environment = training.Environment(0, CPU, tmp_path / "second work", {})
    training.train(replace(run, environment=environment), trial, tmp_path / "weights")
    copy, _ = multi_head.load_trained(tmp_path / "weights", CPU)
    rows = read_heads(copy, ["nli"], run.material.to_predict, run.tokens, CPU)
    assert [row["logits"] for row in rows] == predictions


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_whose_activations_are_recomputed_has_the_same_gradients(
    folders, name
):
    gradients = []
    for recomputed in (False, True):
        model = multi_head.load(str(folders[name]), [2], "own", 0).train()
        if recomputed:
            recompute_activations(model)
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        ids = torch.arange(5, 15)[None]
        output = model(ids, torch.ones_like(ids), [0], torch.tensor([1]))
        output["loss"].backward()
        gradients.append(model.body.get_input_embeddings().weight.grad)
    assert gradients[0].abs().sum() > 0
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("name", ENCODERS)
def test_a_checkpoint_has_all_tensors_of_an_encoder_and_its_heads(
    folders, name, tmp_path
):
    model = multi_head.load(str(folders[name]), [2], "own", 0)
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    # A model whose parameters are all different, until the checkpoint is loaded.
    other = multi_head.load(str(folders[name]), [2], "own", 1)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(1)
    other.load_state_dict(load_file(tmp_path / "model.safetensors"), strict=False)
    for parameter, loaded in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(parameter, loaded)


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_learns_spans_and_its_copy_predicts_them(folders, name, tmp_path):
    tokenizer = load_tokenizer(folders[name])
    marked_contracts.data_set(tmp_path, {f"c{at}": "train" for at in range(6)}, 0)
    settings = Training(
        model=name,
        weights=str(folders[name]),
        revision=None,
        found="",
        held_out=0.1,
        max_length=64,
        step=32,
        max_question_length=16,
        percent=100,
        balance="sample",
        batch_size=4,
        optimiser=CONSTANT,
        learning_rate=1e-2,
        epochs=1,
        max_updates=2,
    )
    source = WindowSource(
        tmp_path / "contracts.parquet",
        tmp_path / "training_examples.parquet",
        marked_contracts.WORDINGS,
    )
    write_features(source, tmp_path / "windows", tokenizer, settings, shards=1)
    files = WindowFiles(
        tmp_path / "contracts.parquet",
        tmp_path / "questions.parquet",
        tmp_path / "windows",
    )
    weights = tmp_path / "weights"
    record = span_training.train(
        files,
        settings,
        seed=0,
        search=False,
        device=CPU,
        work_root=tmp_path / "work",
        identity={},
        output=weights,
    )
    assert record["updates"] == 2
    model = loading.load_span_model(str(weights), CPU, trained=True)
    ids = torch.tensor([tokenizer("which term", SENTENCE).input_ids])
    with torch.inference_mode():
        output = model(input_ids=ids)
    assert output.start_logits.shape == ids.shape
    assert torch.isfinite(output.start_logits).all()


def test_weights_as_their_authors_released_them_are_unpacked_and_complete(
    folders, tmp_path
):
    for name in ("roberta-base", "deberta-xlarge"):
        archive = tmp_path / f"{name}.zip"
        tiny.write_released(folders[name], archive)
        unpacked = unpack(archive, tmp_path / name)
        assert "pytorch_model.bin" in unpacked
        assert "training_args.bin" not in unpacked
        loading.load_span_model(str(tmp_path / name), CPU, trained=True)
        load_tokenizer(tmp_path / name)


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_a_language_model_answers_in_its_template(folders, name):
    causal_model = CausalModel(folders[name], CPU)
    prompt = (Message("user", SENTENCE),)
    text_of_prompt = causal_model.template(prompt)
    assert SENTENCE in text_of_prompt
    assert text_of_prompt != SENTENCE
    model = LocalLanguageModel(name, causal_model)
    with_begun_answer = (*prompt, Message("assistant", "It"))
    choices = [Choice(prompt, ("Yes", "No")), Choice(with_begun_answer, ("Yes", "No"))]
    of_prompt, of_begun_answer = model.weigh(choices)
    for weighed in (of_prompt, of_begun_answer):
        assert all(math.isfinite(value) for value in weighed.log_probabilities)
    assert of_prompt.log_probabilities != of_begun_answer.log_probabilities
    (answer,) = model.write([Request(prompt, 4)])
    assert causal_model.ids(answer.text, False)


def test_a_sliding_window_is_extended_and_not_evaluated_again(folders, monkeypatch):
    model = CausalModel(folders["gemma-3-4b-it"], CPU)
    model._model.config.text_config.sliding_window = 16
    ids = model.ids(SENTENCE * 2, True)
    assert len(ids) > 64
    evaluated = []  # number of tokens of each call
    forward = model._model.forward

    def count_and_forward(**inputs):
        evaluated.append(inputs["input_ids"].shape[1])
        return forward(**inputs)

    monkeypatch.setattr(model._model, "forward", count_and_forward)
    model.after(ids[:-2], 0)
    from_extended_window = model.after(ids, len(ids) - 2)
    assert evaluated == [len(ids) - 2, 2]
    # Another text before the end: the window has lost what it needs, so it starts
    # again.
    model.after([*ids[:-4], 9], len(ids) - 4)
    assert evaluated[2:] == [len(ids) - 3]
    from_all_tokens = model.after(ids, 0)
    np.testing.assert_allclose(from_extended_window, from_all_tokens, atol=1e-5)


@pytest.mark.parametrize("name", SENTENCE_ENCODERS)
def test_a_sentence_encoder_gives_only_equal_texts_equal_vectors(folders, name):
    model = bi_encoder.load(str(folders[name]), CPU, 64)
    vectors = bi_encoder.encode_queries(model, [SENTENCE, "Law of Delaware.", SENTENCE])
    assert vectors.shape == (3, tiny.WIDTH)
    assert np.array_equal(vectors[0], vectors[2])
    assert not np.allclose(vectors[0], vectors[1])
    expected = "dot" if name == "msmarco-distilbert-base-tas-b" else "cosine"
    assert model.similarity_fn_name == expected


def test_a_cross_encoder_scores_a_pair_and_its_reverse_differently(folders):
    model = cross_encoder.load(str(folders["ms-marco-minilm-l6-v2"]), CPU, 128)
    pairs = [(SENTENCE, "Law of Delaware."), ("Law of Delaware.", SENTENCE)]
    score_of_pair, score_of_reverse = cross_encoder.score(model, pairs)
    assert score_of_pair != score_of_reverse
