"""Encoders with classification heads: losses, saving and loading."""

import copy
import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sklearn.utils.class_weight import compute_class_weight
from torch import nn
from transformers import (
    AutoModel,
    AutoModelForSequenceClassification,
    BartConfig,
    Qwen2Config,
    set_seed,
)

from helpers.marked_contracts import equal
from helpers.tiny_encoders import CONFIGS, SMALL
from lextables.models import multi_head
from lextables.models.multi_head import (
    MultiHead,
    balanced_weights,
    binary_cross_entropy,
    cross_entropy,
    load,
    load_trained,
    save,
)
from lextables.pipeline.errors import BadInput

CPU = torch.device("cpu")
HEADS = {"1": ["no", "yes"], "2": ["none", "some", "“all” of it"]}
BATCH = {
    "input_ids": torch.tensor([[0, 5, 9, 2], [0, 7, 2, 1], [0, 30, 31, 2]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1]]),
}
HEAD = [1, 0, 1]
LABEL = torch.tensor([2, 0, 1])


@pytest.fixture
def encoder(tmp_path):
    """Returns a function that writes an encoder of a model family, with random
    weights.
    """

    def make(family="bert"):
        torch.manual_seed(0)
        folder = tmp_path / f"encoder-{family}"
        AutoModel.from_config(CONFIGS[family]).save_pretrained(folder)
        return str(folder)

    return make


def trained(folder, kind, **settings):
    """A model after two updates."""
    model = load(folder, [2, 3], kind, seed=1, **settings).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(2):
        model(**BATCH, head=HEAD, label=LABEL)["loss"].backward()
        optimiser.step()
        optimiser.zero_grad()
    return model.eval()


@torch.no_grad()
def logits(model):
    represented = model.represent(**BATCH)
    return [model.answer(represented, head) for head in range(2)]


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("kind", ["family", "own"])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_saved_model_does_not_need_its_encoder(encoder, tmp_path, family, kind):
    weights = [None, torch.tensor([1.0, 2.0, 3.0])]
    model = trained(encoder(family), kind, loss="cross_entropy", weights=weights)
    untrained = load(encoder(family), [2, 3], kind, seed=1).eval()
    assert not same(logits(model), logits(untrained))
    save(model, tmp_path / "trained", HEADS)
    shutil.rmtree(tmp_path / f"encoder-{family}")
    found, heads = load_trained(tmp_path / "trained", CPU)
    assert same(logits(found), logits(model))
    # Memory-mapped weights may be unaligned, which changes the last bit of sums.
    assert {parameter.data_ptr() % 64 for parameter in found.parameters()} == {0}
    assert list(heads.items()) == list(HEADS.items())
    assert (found.sizes, found.loss, found.training) == ((2, 3), "cross_entropy", False)
    files = {path.name for path in (tmp_path / "trained").iterdir()}
    expected = {"config.json", "heads.json", "model.safetensors"}
    if kind == "own":
        expected.add("heads.safetensors")
    assert files == expected
    assert str(tmp_path) not in (tmp_path / "trained/heads.json").read_text()


def test_a_model_with_two_labels_is_read_although_its_family_has_three(tmp_path):
    """The settings that transformers saves do not name two labels; BART then has
    three.
    """
    layers = {"encoder_layers": 1, "decoder_layers": 1, "vocab_size": 40}
    AutoModel.from_config(BartConfig(d_model=32, **layers)).save_pretrained(tmp_path)
    model = load(str(tmp_path), [2], "family", seed=1).eval()
    save(model, tmp_path / "trained", {"1": ["no", "yes"]})
    reread, heads = load_trained(tmp_path / "trained", CPU)
    assert heads == {"1": ["no", "yes"]}
    with torch.no_grad():
        expected = model.answer(model.represent(**BATCH), 0)
        assert torch.equal(reread.answer(reread.represent(**BATCH), 0), expected)


def test_saving_requires_heads_that_fit_the_model_and_replaces_the_folder(
    encoder, tmp_path
):
    model, folder = trained(encoder(), "own"), tmp_path / "kept" / "model"
    folder.mkdir(parents=True)
    (folder / "old").touch()
    says = r"heads of \[3, 2\] answers where the model has \[2, 3\]"
    with pytest.raises(ValueError, match=says):
        save(model, folder, dict(reversed(HEADS.items())))
    assert [path.name for path in folder.iterdir()] == ["old"]
    save(model, folder, HEADS)
    assert not (folder / "old").exists()
    assert same(logits(load_trained(folder, CPU)[0]), logits(model))


def remove(path):
    path.unlink()


def truncate(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def drop_tensor(path):
    tensors = load_file(path)
    del tensors[min(tensors)]
    save_file(tensors, path, {"format": "pt"})


def add_answer(path):
    about = json.loads(path.read_text())
    about["heads"][0]["answers"].append("perhaps")
    path.write_text(json.dumps(about))


FILES = ("config.json", "heads.json", "heads.safetensors", "model.safetensors")
INCOMPLETE = r"it is no complete trained classifier \(.+\); train it again"


@pytest.mark.parametrize(
    ("kind", "name", "damage", "says"),
    [
        *(("own", name, remove, INCOMPLETE) for name in FILES),
        *(("own", name, truncate, INCOMPLETE) for name in FILES),
        ("own", "heads.safetensors", drop_tensor, INCOMPLETE),
        ("own", "model.safetensors", drop_tensor, "the weights lack 1 tensors"),
        ("family", "heads.json", add_answer, "heads of 6 answers where the weights"),
    ],
)
def test_a_damaged_file_raises(encoder, tmp_path, kind, name, damage, says):
    save(load(encoder(), [2, 3], kind, seed=1), tmp_path / "trained", HEADS)
    damage(tmp_path / "trained" / name)
    with pytest.raises(BadInput, match=f"trained: .*{says}"):
        load_trained(tmp_path / "trained", CPU)


def drawn(texts=7, answers=4):
    """Return random scores and labels of texts, and weights of answers."""
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand(answers, generator=generator) + 0.5
    labels = torch.randint(answers, (texts,), generator=generator)
    return torch.randn(texts, answers, generator=generator), labels, weights


@pytest.mark.parametrize("weighted", [False, True])
def test_losses_equal_those_of_pytorch(weighted):
    scores, labels, weights = drawn()
    weights = weights if weighted else None
    loss = nn.CrossEntropyLoss(weight=weights, reduction="sum")(scores, labels)
    assert torch.allclose(cross_entropy(scores, labels, weights).sum(), loss)
    assert cross_entropy(scores, labels, weights).shape == (7,)
    right = nn.functional.one_hot(labels, 4).float()
    loss = nn.BCEWithLogitsLoss(pos_weight=weights)(scores, right)
    assert torch.allclose(binary_cross_entropy(scores, labels, weights).mean(), loss)
    several = (scores < 0).float()
    loss = nn.BCEWithLogitsLoss(pos_weight=weights)(scores, several)
    assert torch.allclose(binary_cross_entropy(scores, several, weights).mean(), loss)


def test_cross_entropy_requires_one_correct_answer():
    scores, labels, _ = drawn()
    with pytest.raises(
        BadInput, match="cross_entropy needs one correct answer per text"
    ):
        cross_entropy(scores, nn.functional.one_hot(labels, 4).float())


@pytest.mark.parametrize("loss", ["binary_cross_entropy", "cross_entropy"])
def test_the_loss_of_a_batch_is_the_mean_over_its_texts(encoder, loss):
    weights = [torch.tensor([0.5, 4.0]), None]
    model = load(encoder(), [2, 3], "own", seed=0, loss=loss, weights=weights).eval()
    per_text = multi_head.LOSSES[loss]
    first, second = logits(model)
    expected = [
        per_text(second[[0]], torch.tensor([2])),
        per_text(first[[1]], torch.tensor([0]), weights[0]),
        per_text(second[[2]], torch.tensor([1])),
    ]
    loss = model(**BATCH, head=HEAD, label=LABEL)["loss"]
    assert torch.allclose(loss, torch.cat(expected).mean())


def test_labels_are_indices_or_one_value_per_answer(encoder):
    model = load(encoder(), [2, 3], "family", seed=0).eval()
    right = [[0.0, 0.0, 1.0], [1.0, 0.0], [0.0, 1.0, 0.0]]
    padded = torch.tensor([row + [0.0] * (3 - len(row)) for row in right])
    index = model(**BATCH, head=HEAD, label=LABEL)["loss"]
    for label in (right, list(map(torch.tensor, right)), padded):
        assert torch.equal(model(**BATCH, head=HEAD, label=label)["loss"], index)
    padded[0, 0] = 1
    assert model(**BATCH, head=HEAD, label=padded)["loss"] != index


def test_a_decoder_has_no_heads_on_its_first_token(tmp_path):
    set_seed(0)
    config = Qwen2Config(**SMALL, num_key_value_heads=1)
    AutoModel.from_config(config).save_pretrained(tmp_path)
    with pytest.raises(BadInput, match="first token's vector is the same for every"):
        load(str(tmp_path), [2, 3], "own", seed=0)
    # The head of its family reads the last token.
    model = load(str(tmp_path), [2, 3], "family", seed=0).eval()
    first, _, third = model.represent(**BATCH)
    assert not torch.allclose(first, third)


@pytest.mark.parametrize("kind", ["family", "own"])
def test_token_types_distinguish_the_texts_of_a_pair(encoder, kind):
    model = load(encoder(), [2, 3], kind, seed=0).eval()
    first = torch.zeros_like(BATCH["input_ids"])
    second = torch.tensor([[0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 1, 1]])
    alone = model.represent(**BATCH)
    assert torch.equal(model.represent(**BATCH, token_type_ids=first), alone)
    apart = model.represent(**BATCH, token_type_ids=second)
    is_same_row = [torch.allclose(*rows) for rows in zip(apart, alone, strict=True)]
    assert is_same_row == [False, True, False]
    loss = model(**BATCH, head=HEAD, label=LABEL, token_type_ids=second)["loss"]
    assert loss != model(**BATCH, head=HEAD, label=LABEL)["loss"]


def test_loss_weights_are_not_saved_and_must_fit_the_heads(encoder):
    two, three = torch.ones(2), torch.ones(3)
    plain = load(encoder(), [2, 3], "own", seed=0)
    weighed = load(encoder(), [2, 3], "own", seed=0, weights=[two, three])
    assert plain.state_dict().keys() == weighed.state_dict().keys()
    assert "weights" in dict(weighed.named_buffers())
    for weights, says in (
        ([three, two], r"weights of \[3, 2\] answers for heads of \[2, 3\]"),
        ([two], "argument 2 is longer than argument 1"),
        ([two, three, two], "argument 2 is shorter than argument 1"),
    ):
        with pytest.raises(ValueError, match=says):
            MultiHead(plain.body, plain.own, [2, 3], weights=weights)


@pytest.mark.parametrize("family", ["bert", "roberta", "deberta"])
def test_new_heads_replace_those_stored_with_the_encoder(encoder, tmp_path, family):
    model = trained(encoder(family), "family", loss="cross_entropy")
    save(model, tmp_path / "saved", HEADS)
    folder = str(tmp_path / "saved")
    stored = load(folder, [2, 3], "family", seed=5).state_dict()
    renewed = load(folder, [2, 3], "family", seed=5, new_heads=True).state_dict()
    again = load(folder, [2, 3], "family", seed=5, new_heads=True).state_dict()
    other = load(folder, [2, 3], "family", seed=6, new_heads=True).state_dict()
    assert equal(renewed, again) and stored.keys() == renewed.keys()
    changed = {name for name in stored if not torch.equal(stored[name], renewed[name])}
    # The layers of the head; its biases are 0 when they are new.
    assert changed and all(is_of_head(name) for name in changed)
    changed_by_seed = {
        name for name in stored if not torch.equal(other[name], renewed[name])
    }
    changed_weights = {name for name in changed if name.endswith("weight")}
    head_weights = {
        name for name in stored if is_of_head(name) and name.endswith("weight")
    }
    assert changed_by_seed == changed_weights == head_weights


def test_a_head_of_another_number_of_labels_is_replaced(encoder, tmp_path):
    model = trained(encoder(), "family", loss="cross_entropy")
    save(model, tmp_path / "saved", HEADS)
    loaded = load(str(tmp_path / "saved"), [2, 4], "family", seed=5)
    again = load(str(tmp_path / "saved"), [2, 4], "family", seed=5)
    assert loaded.body.classifier.out_features == 6
    assert equal(loaded.state_dict(), again.state_dict())
    encoder_weights = model.body.base_model.state_dict()
    assert equal(loaded.body.base_model.state_dict(), encoder_weights)
    # Without a training its answers would be random.
    answers = ["no", "yes", "none", "some", "all", "other"]
    with pytest.raises(BadInput, match="head has another number of labels than 6;"):
        untrained(tmp_path / "saved", answers, [2, 4])


def untrained(folder, answers, sizes=(3,), **options):
    """A model with a stored head that is not trained further."""
    return load(
        str(folder), sizes, "family", seed=5, untrained_answers=answers, **options
    ).eval()


def save_classifier(folder, family, labels):
    """Write a classifier of others with these labels; return it."""
    config = copy.deepcopy(CONFIGS[family])
    config.id2label = dict(enumerate(labels))
    set_seed(0)
    model = AutoModelForSequenceClassification.from_config(config)
    model.save_pretrained(folder)
    return model.eval()


ANSWERS = ["entail", "neutral", "contradict"]


@pytest.mark.parametrize("family", CONFIGS)
def test_a_stored_head_is_put_in_the_order_of_the_answers(tmp_path, family):
    labels = ["CONTRADICTION", "entailment", "Neutral"]
    theirs = save_classifier(tmp_path / "theirs", family, labels)
    ours = untrained(tmp_path / "theirs", ANSWERS)
    with torch.no_grad():
        expected = theirs(**BATCH).logits[:, [1, 2, 0]]
        assert torch.allclose(ours.represent(**BATCH), expected, atol=1e-6)
        # Once saved, the order is that of the answers.
        save(ours, tmp_path / "ours", {"nli": ANSWERS})
        again = untrained(tmp_path / "ours", ANSWERS)
        assert torch.allclose(again.represent(**BATCH), expected, atol=1e-6)


def test_the_head_of_a_training_here_has_the_answers_that_were_saved_with_it(tmp_path):
    # A training does not rename the labels of the model that it starts from.
    labels = ["contradiction", "neutral", "entailment"]
    save_classifier(tmp_path / "theirs", "bert", labels)
    model = load(str(tmp_path / "theirs"), [3], "family", seed=5).eval()
    save(model, tmp_path / "ours", {"nli": ANSWERS})
    again = untrained(tmp_path / "ours", ANSWERS)
    assert torch.equal(again.represent(**BATCH), model.represent(**BATCH))


def test_a_stored_head_with_other_labels_is_refused(tmp_path):
    save_classifier(tmp_path, "bert", ["positive", "neutral", "negative"])
    message = "its labels are positive, neutral, negative; use a model whose id2label"
    with pytest.raises(BadInput, match=message):
        untrained(tmp_path, ANSWERS)
    load(str(tmp_path), [3], "family", seed=5)  # a training learns the order


def test_labels_without_names_have_the_order_of_the_answers_in_registered_models_only(
    tmp_path,
):
    theirs = save_classifier(tmp_path, "bert", ["LABEL_0", "LABEL_1", "LABEL_2"])
    ours = untrained(tmp_path, ANSWERS, is_registered=True)
    with torch.no_grad():
        assert torch.equal(ours.represent(**BATCH), theirs(**BATCH).logits)
    with pytest.raises(BadInput, match="its labels are LABEL_0, LABEL_1, LABEL_2;"):
        untrained(tmp_path, ANSWERS)


def test_an_encoder_without_a_head_gets_a_random_one_whatever_its_labels(encoder):
    model = untrained(encoder(), ANSWERS)
    new = load(encoder(), [3], "family", seed=5)
    assert equal(model.state_dict(), new.state_dict())


def is_of_head(name):
    # BERT's pooler belongs to the encoder, DeBERTa's to the head.
    return name.startswith(("body.classifier.", "body.pooler."))


def test_balanced_weights_equal_scikit_learns():
    labels = [0] * 30 + [1] * 15 + [2] * 4 + [3]
    want = compute_class_weight("balanced", classes=np.arange(4), y=labels)
    assert balanced_weights(labels, 4).tolist() == pytest.approx(want.tolist())
    assert balanced_weights([0, 0, 2], 4).tolist() == [0.75, 1.0, 1.5, 1.0]
