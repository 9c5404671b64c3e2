"""Training of single- and multi-task classifiers on tiny random encoders."""

import json
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, set_seed

from helpers import tiny_encoders
from helpers.killed import killed
from helpers.marked_contracts import equal
from helpers.optimisers import CONSTANT
from helpers.recorded_seeds import record_seeds
from helpers.tiny_encoders import WORDS
from lextables.models import checkpoints, multi_head
from lextables.models.checkpoints import Checkpoints
from lextables.pipeline.content import folder_content
from lextables.pipeline.dataset import read, write_census
from lextables.pipeline.errors import BadInput
from lextables.pipeline.finite import NotFinite
from lextables.tasks.classification import training
from lextables.tasks.classification.actions import train as train_action
from lextables.tasks.classification.examples import Text, by_head, of_splits
from lextables.tasks.classification.features import read_tokens, tokenise
from lextables.tasks.classification.inference import padded, read_heads
from lextables.tasks.classification.schema import JOINT, PREDICTIONS, TRIED
from lextables.tasks.classification.settings import TrainingSettings
from lextables.tasks.classification.training import (
    Environment,
    Splits,
    TrainingFiles,
    evenly_spaced,
    prepare,
    read_while_training,
    usable,
)
from lextables.tasks.job import Job

CPU = torch.device("cpu")
HEADS = {
    "1": ("No", "Yes"),
    "2-0": ("other", "cash"),
    "2-1": ("other", "stock"),
    "3": ("a", "b", "c"),
}
ONE_HEAD, TWO_HEADS = {"1": HEADS["1"]}, {name: HEADS[name] for name in ("1", "3")}
SETTINGS = {
    "setting": "multi",
    "percent": 100,
    "head": "family",
    "heads": None,
    "batch_size": 4,
    "max_length": 24,
    "bf16": False,
    "save_every": 0,
    "optimiser": CONSTANT,
    "multi_label": False,
    "loss": "binary_cross_entropy",
    "sampling": "balanced",
    "class_weights": "none",
    "view": None,
    "only": [],
    "where": None,
    "passes": None,
    "model": "tiny",
    "revision": None,
    "found": "folder",
    "learning_rate": 1e-2,
    "updates": [2],
}
TRIAL = {"learning_rate": 1e-2, "updates": [2, 5]}
ONE_TRIAL = TRIAL | {"updates": [5]}
SPLITS = Splits(["train"], ["test"])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))


def texts():
    generator = np.random.default_rng(0)
    words = [generator.choice(WORDS, generator.integers(3, 30)) for _ in range(12)]
    return {f"t{i:02}": " ".join(of_text) for i, of_text in enumerate(words)}


def examples(heads=HEADS):
    """Examples of every head on the same texts.

    Eight texts are for training, six of them in the subset, and four are for testing.
    """
    rows = []
    for (head, answers), (i, text_id) in product(heads.items(), enumerate(texts())):
        row = {"example_id": f"{head}/{text_id}", "head_id": head, "text_id": text_id}
        row["label"] = (i * i + len(head)) % len(answers)
        row |= {"split": "train" if i < 8 else "test", "subset": i % 4 > 0}
        rows.append(row)
    return rows


def head_rows(heads=HEADS):
    return [{"head_id": head, "answers": [*names]} for head, names in heads.items()]


@pytest.fixture(scope="module")
def tokenised(folders, tmp_path_factory):
    """Write the tokens of {text id or pair of ids: text or pair of texts} to a file."""

    def write_tokens(of, family="bert", length=24):
        path = tmp_path_factory.mktemp("tokens") / "tokens.parquet"
        rows = []
        for key, text in of.items():
            pair = isinstance(key, tuple)
            rows.append(Text(key, *text) if pair else Text((key, ""), text))
        tokenise(rows, folders[family], length, path)
        return path

    return write_tokens


@pytest.fixture(scope="module")
def tokens(tokenised):
    return tokenised(texts())


@pytest.fixture
def prepared(folders, tokens, tmp_path):
    """Prepare a training with the default settings updated by ``changes``."""

    def prepare_with(
        of=HEADS, rows=None, *, family="bert", name="run", tokens=tokens, **changes
    ):
        folder = tmp_path / "data"
        folder.mkdir(exist_ok=True)
        rows = examples(of) if rows is None else rows
        for table, content in (("examples", rows), ("heads", head_rows(of))):
            pq.write_table(pa.Table.from_pylist(content), folder / table)
        seed, identity = changes.pop("seed", 0), changes.pop("identity", {})
        settings = SETTINGS | {"weights": folders[family]} | changes
        return prepare(
            TrainingSettings(**settings),
            TrainingFiles(folder / "examples", folder / "heads", tokens),
            SPLITS,
            Environment(seed, CPU, tmp_path / name / "work", identity),
        )

    return prepare_with


@pytest.fixture
def train(prepared, tmp_path):
    """Train and return the predictions after each number of updates."""

    def run(heads=HEADS, trial=TRIAL, name="run", **changes):
        given = prepared(heads, name=name, **changes)
        names = [JOINT] if given.settings.setting == "multi" else heads
        path = tmp_path / name / "predictions.parquet"
        read_while_training(given, dict.fromkeys(names, trial), path, tried=True)
        return list(read(path))

    return run


@pytest.fixture
def kept(prepared, tmp_path):
    """Train and save a model; return the folder of its weights and the record."""

    def run(name="kept", trial=None, **changes):
        given, folder = prepared(name=name, **changes), tmp_path / name / "weights"
        settings = given.settings
        own = {"learning_rate": settings.learning_rate, "updates": settings.updates}
        return folder, training.train(given, trial or own, folder)

    return run


def predicted(given, trial, path):
    """The predictions of a model with all heads, trained with ``trial``."""
    read_while_training(given, {JOINT: trial}, path, tried=False)
    return list(read(path))


def weights_in(folder):
    return load_file(Path(folder) / "model.safetensors")


def same(first, second):
    """Whether two folders contain the same weights."""
    return equal(weights_in(first), weights_in(second))


# Models and predictions.


def test_a_model_with_one_head_equals_the_transformers_model(folders):
    batch = padded([np.array([0, 5, 2]), np.array([0, 6, 7, 2])], 1)
    for family in ("bert", "roberta", "deberta"):
        model = multi_head.load(folders[family], [3], "family", seed=7).eval()
        set_seed(7)
        theirs = AutoModelForSequenceClassification.from_pretrained(
            folders[family], num_labels=3
        ).eval()
        ours = model.answer(model.represent(**batch), 0)
        assert torch.equal(ours, theirs(**batch).logits)


def test_multi_task_and_single_task_agree_when_only_one_question_is_present(train):
    head = {"3": HEADS["3"]}
    single = train(head, setting="single", name="single")
    assert single == train(head, name="multi")
    assert len(single) == 2 * 4
    # Also if the question is one of several in the single-task job.
    among = train({"2-0": HEADS["2-0"], **head}, setting="single", name="among")
    assert [row for row in among if row["head_id"] == "3"] == single


def test_predictions_are_written_after_each_number_of_updates(train):
    rows = train()
    keys = [(row["updates"], row["example_id"]) for row in rows]
    test = [row["example_id"] for row in examples() if row["split"] == "test"]
    assert keys == list(product((2, 5), test))
    for row in rows:
        logits = np.array(row["logits"])
        assert len(logits) == len(HEADS[row["head_id"]])
        assert row["probabilities"] == pytest.approx(1 / (1 + np.exp(-logits)))
    # Intermediate predictions do not change the training.
    last = [row for row in rows if row["updates"] == 5]
    assert train(trial=ONE_TRIAL, name="once") == last


def test_a_search_that_diverges_keeps_the_predictions_before(prepared, tmp_path):
    """With a learning rate of 1e30 a loss is not finite."""
    given = prepared(TWO_HEADS, setting="single")
    trials = {"1": {"learning_rate": 1e30, "updates": [3, 5]}, "3": TRIAL}
    path = tmp_path / "tried.parquet"
    record = read_while_training(given, trials, path, tried=True)
    keys = {(row["head_id"], row["updates"]) for row in read(path)}
    assert keys == {("3", 2), ("3", 5)}
    assert record["diverged"] == {"1": 3}
    # As after a killed job: the finished models are read, not trained.
    again = read_while_training(given, trials, path, tried=True)
    assert again["finished_before"] == 2
    assert again["diverged"] == {"1": 3}
    with pytest.raises(
        NotFinite, match="the training diverged: the losses of update 2"
    ):
        predicted(prepared(), {"learning_rate": 1e30, "updates": [5]}, path)


def test_each_random_part_uses_the_seed_of_the_run(train, monkeypatch):
    """The initial heads, the order of examples, and dropout (the trainer's seed)."""
    parts = ((multi_head, "load"), (training, "draws"), (training, "arguments"))
    seeds = record_seeds(monkeypatch, *parts)
    train(name="three", trial=ONE_TRIAL, seed=3)
    assert seeds == {"load": {3}, "draws": {3}, "arguments": {3}}


def test_each_head_can_have_a_different_trial(prepared, train, tmp_path):
    other = {"learning_rate": 1e-3, "updates": [3]}
    trials = {"1": TRIAL, "3": other}
    given = prepared(TWO_HEADS, setting="single")
    tried, chosen = tmp_path / "tried.parquet", tmp_path / "chosen.parquet"
    record = read_while_training(given, trials, tried, tried=True)
    rows = list(read(tried))
    keys = dict.fromkeys((row["updates"], row["head_id"]) for row in rows)
    assert list(keys) == [(2, "1"), (3, "3"), (5, "1")]
    alone = train({"3": HEADS["3"]}, other, name="alone")
    assert [row for row in rows if row["head_id"] == "3"] == alone
    assert (record["trials"], record["models"], record["heads"]) == (trials, 2, 2)
    # Predictions of selected trials have no column with the updates.
    read_while_training(given, trials | {"1": ONE_TRIAL}, chosen, tried=False)
    expected = [row for row in rows if row.pop("updates") != 2]
    expected.sort(key=lambda row: row["head_id"])
    assert list(read(chosen)) == expected
    for table, path in ((TRIED, tried), (PREDICTIONS, chosen)):
        assert pq.read_schema(path).equals(table.schema)


def test_a_saved_model_predicts_the_same_as_during_training(kept, tokens, train):
    folder, record = kept(trial=ONE_TRIAL)
    model, heads = multi_head.load_trained(folder, CPU)
    assert heads == {head: list(answers) for head, answers in HEADS.items()}
    asked = by_head(of_splits(examples(), ["test"]), heads)
    rows = read_heads(model, list(heads), asked, read_tokens(tokens), CPU)
    during = train(trial=ONE_TRIAL, name="read")
    assert [{"updates": 5, **row} for row in rows] == during
    assert record["trials"] == {JOINT: ONE_TRIAL}
    assert record["training_examples"] == 4 * 8
    assert json.loads(json.dumps(record)) == record


def test_a_text_is_encoded_once_for_all_heads(prepared, folders, monkeypatch):
    given, sizes = prepared(), []
    represent = multi_head.MultiHead.represent

    def counting(self, **inputs):
        sizes.append(len(inputs["input_ids"]))
        return represent(self, **inputs)

    answers = [len(answers) for answers in HEADS.values()]
    model = multi_head.load(folders["bert"], answers, "own", seed=0)
    model.train()
    monkeypatch.setattr(multi_head.MultiHead, "represent", counting)
    rows = read_heads(model, list(HEADS), given.material.to_predict, given.tokens, CPU)
    assert (sizes, len(rows), model.training) == ([4], 4 * 4, True)


# Interruptions.


@pytest.mark.parametrize("save_every", [0, 2])
def test_a_killed_job_continues_with_the_head_it_was_training(
    train, tmp_path, monkeypatch, save_every
):
    settings = {"setting": "single", "save_every": save_every}
    train(TWO_HEADS, name="whole", **settings)
    # At the second prediction of the second head, after its last update.
    with killed(training, "read_heads", 4):
        train(TWO_HEADS, name="cut", **settings)
    started, original = [], training._train

    def recorded(run, heads, *arguments):
        model, resumed = original(run, heads, *arguments)
        started.append((heads, resumed))
        return model, resumed

    monkeypatch.setattr(training, "_train", recorded)
    train(TWO_HEADS, name="cut", **settings)
    assert started == [(["3"], 4 if save_every else 0)]
    files = [tmp_path / name / "predictions.parquet" for name in ("whole", "cut")]
    assert files[0].read_bytes() == files[1].read_bytes()
    work = tmp_path / "cut/work"
    left = sorted(path.name for path in work.glob("*/*"))
    assert left == ["finished"] * 2 + ["settings.json"] * 2
    # A model with truncated predictions is trained again, and the others are not.
    truncated = sorted(work.glob("*/finished/content/predictions.parquet"))[0]
    truncated.write_bytes(truncated.read_bytes()[:-9])
    train(TWO_HEADS, name="cut", **settings)
    assert len(started) == 2
    assert files[0].read_bytes() == files[1].read_bytes()


def test_work_is_not_reused_if_the_inputs_differ(prepared, tokenised, tmp_path):
    reversed_texts = dict(zip(texts(), reversed(texts().values()), strict=True))
    changes = [{}, {"identity": {"code": "2"}}, {"seed": 1}, {"bf16": True}]
    changes += [{"tokens": tokenised(reversed_texts)}, {"weights": str(tmp_path)}]
    folders = []
    for change in [*changes, {}]:
        given = prepared(ONE_HEAD, **change)
        folders.append(training._work(given, ["1"], ONE_TRIAL).name)
    assert len(set(folders)) == len(changes) and folders[0] == folders[-1]


def test_changed_start_weights_in_the_same_folder_cause_a_new_training(
    kept, tokens, tmp_path, monkeypatch
):
    trained, original = [], training._train
    monkeypatch.setattr(
        training, "_train", lambda *given: trained.append(1) or original(*given)
    )
    write_census(tmp_path / "census.json", {"data": {"examples": {"rows_sha256": "0"}}})
    start, output = tmp_path / "start/weights", tmp_path / "output"

    def job():
        """Train as the rule does; return whether it trained, and the weights."""
        before = len(trained)
        shutil.rmtree(output, ignore_errors=True)
        data = tmp_path / "data"
        inputs = {
            "census": [tmp_path / "census.json"],
            "data": [data / "examples", data / "heads"],
            "tokens": [tokens],
            "choice": [],
            "weights": [start],
        }
        outputs = {"weights": [output / "weights"], "record": [output / "run.json"]}
        train_action.run(
            Job(
                inputs,
                outputs,
                SETTINGS | {"weights": str(start)},
                {"final": ["train"], "test": ["test"]},
                experiment="train",
                weights_content=[folder_content(start)],
                code="0",
                device="cpu",
                work=str(tmp_path / "work"),
            )
        )
        return len(trained) > before, weights_in(output / "weights")

    kept("start", of=ONE_HEAD, updates=[1])
    is_trained, first = job()
    assert is_trained
    # Rebuilt with the same content, and on another model of the same kind of device.
    monkeypatch.setattr("lextables.models.device.describe", lambda device: "another")
    shutil.rmtree(start)
    kept("start", of=ONE_HEAD, updates=[1])
    is_trained, again = job()
    assert not is_trained and equal(first, again)
    path = start / "model.safetensors"
    tensors = load_file(path)
    tensors["classifier.bias"] += 1
    save_file(tensors, path, metadata={"format": "pt"})
    is_trained, other = job()
    assert is_trained and not equal(first, other)
    assert not job()[0]


# Settings.


@pytest.mark.parametrize(
    ("changes", "updates"),
    [
        ({"passes": 2}, 16),
        ({"passes": 2, "only": ["1", "3"]}, 8),
        ({"passes": 1, "only": ["1"], "where": "subset"}, 2),  # 1.5 batches
        ({"passes": 0.25, "batch_size": 3}, 3),
        ({"passes": 1, "batch_size": 64}, 1),  # half a batch
        ({"passes": None}, 2),
    ],
)
def test_passes_are_converted_to_updates(prepared, changes, updates):
    assert prepared(**changes).settings.updates == (updates,)


@pytest.fixture
def rates(monkeypatch):
    """Record the learning rate of each update."""
    rates = []

    class Recording(Checkpoints):
        def on_step_begin(self, args, state, control, optimizer=None, **kwargs):
            rates.append(optimizer.param_groups[0]["lr"])

    monkeypatch.setattr(checkpoints, "Checkpoints", Recording)
    return rates


@pytest.mark.parametrize(
    ("schedule", "warmup", "expected"),
    [
        ("linear", 0, [1, 0.8, 0.6, 0.4, 0.2]),
        ("linear", 2, [0, 0.5, 1, 2 / 3, 1 / 3]),
        ("constant", 2, [0, 0.5, 1, 1, 1]),
    ],
)
def test_the_learning_rate_follows_the_schedule(
    kept, rates, schedule, warmup, expected
):
    kept(optimiser=CONSTANT | {"schedule": schedule, "warmup": warmup}, updates=[5])
    assert np.array(rates) / 1e-2 == pytest.approx(expected)


def test_training_starts_from_trained_weights_and_their_head(kept):
    start, _ = kept("start", of=ONE_HEAD, updates=[3])
    unchanged, _ = kept("unchanged", of=ONE_HEAD, updates=[0], weights=str(start))
    assert same(start, unchanged)
    small = {"weights": str(start), "learning_rate": 1e-12}
    further, _ = kept("further", of=ONE_HEAD, updates=[1], **small)
    for name, tensor in weights_in(start).items():
        assert torch.allclose(weights_in(further)[name], tensor, atol=1e-9), name
    assert not same(start, kept("fresh", of=ONE_HEAD, updates=[1])[0])
    new, _ = kept("new", of=ONE_HEAD, updates=[0], weights=str(start), new_heads=True)
    changed = set()
    for name, tensor in weights_in(start).items():
        if not torch.equal(weights_in(new)[name], tensor):
            changed.add(name)
    assert changed == {"classifier.weight", "classifier.bias"}


def test_a_users_head_is_read_by_its_labels(kept, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    start, _ = kept("own-start", of=ONE_HEAD, updates=[3])
    (start / "heads.json").unlink()
    user = {"of": ONE_HEAD, "updates": [0], "weights": "own-start/weights"}
    with pytest.raises(BadInput, match="id2label has No, Yes"):
        kept("nameless", **user)
    config = json.loads((start / "config.json").read_text())
    config |= {"id2label": {0: "YES", 1: "NO"}, "label2id": {"YES": 0, "NO": 1}}
    (start / "config.json").write_text(json.dumps(config))
    turned = weights_in(kept("turned", **user)[0])["classifier.weight"]
    assert torch.equal(turned, weights_in(start)["classifier.weight"].flip(0))


@pytest.mark.parametrize(
    ("family", "kind"), [("bigbird", "family"), ("modernbert", "own")]
)
def test_long_texts_can_be_used_with_other_settings(
    prepared, tokenised, tmp_path, family, kind
):
    words = np.random.default_rng(0).choice(WORDS, 4200)
    long = {"l0": " ".join(words), "l1": " ".join(words[:5])}
    tokens = tokenised(long, family, 4096)
    assert [len(read_tokens(tokens)[name, ""]) for name in long] == [4096, 7]
    rows = []
    for split, (label, name) in product(("train", "test"), enumerate(long)):
        row = {"example_id": f"{split}-{name}", "head_id": "1", "text_id": name}
        rows.append(row | {"label": label, "split": split})
    settings = {"max_length": 4096, "batch_size": 2, "head": kind}
    given = prepared(ONE_HEAD, rows, family=family, tokens=tokens, **settings)
    trial = {"learning_rate": 1e-3, "updates": [1]}
    predictions = predicted(given, trial, tmp_path / "out.parquet")
    assert np.isfinite([row["logits"] for row in predictions]).all()


@pytest.fixture
def loaded(monkeypatch):
    """Record the models that are loaded."""
    models, load = [], multi_head.load

    def recorded(*given, **named):
        models.append(load(*given, **named))
        return models[-1]

    monkeypatch.setattr(multi_head, "load", recorded)
    return models


@pytest.mark.parametrize(("length", "checkpointing"), [(1024, False), (1025, True)])
def test_activation_checkpointing_is_used_for_long_texts_only(
    kept, loaded, length, checkpointing
):
    kept(max_length=length, updates=[1])
    assert [model.body.is_gradient_checkpointing for model in loaded] == [checkpointing]


@pytest.mark.parametrize("family", ["bert", "bigbird"])
def test_mixed_precision_gives_similar_logits(train, family):
    single = train(ONE_HEAD, family=family)
    mixed = train(ONE_HEAD, bf16=True, family=family, name="mixed")
    # BigBird's sparse attention has no mixed precision.
    assert (mixed == single) == (family == "bigbird")
    for row, other in zip(mixed, single, strict=True):
        assert row["logits"] == pytest.approx(other["logits"], abs=0.3)


def test_bigbird_output_does_not_depend_on_earlier_texts(folders):
    model = multi_head.load(folders["bigbird"], [2], "family", seed=0).eval()
    long, short = ({"input_ids": torch.randint(4, 19, (1, n))} for n in (300, 6))
    for batch in (long, short):
        batch["attention_mask"] = torch.ones_like(batch["input_ids"])
    state = torch.get_rng_state()
    first = model.represent(**long)
    model.represent(**short)
    assert model.body.base_model.attention_type == "original_full"
    assert torch.equal(model.represent(**long), first)
    assert model.body.base_model.attention_type == "block_sparse"
    assert torch.equal(torch.get_rng_state(), state)


def test_class_weights_can_be_balanced(kept, loaded):
    options = {"of": TWO_HEADS, "updates": [1], "sampling": "shuffled"}
    options["loss"] = "cross_entropy"
    plain, _ = kept("none", **options)
    balanced, _ = kept("balanced", class_weights="balanced", **options)
    expected = []
    for head, answers in TWO_HEADS.items():
        labels = [row["label"] for row in examples({head: answers})[:8]]
        expected += multi_head.balanced_weights(labels, len(answers)).tolist()
    assert loaded[0].weights is None
    assert loaded[1].weights.tolist() == expected and len(set(expected)) > 2
    assert loaded[1].loss == "cross_entropy" and not same(plain, balanced)


# Training data.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": 2}, "example 1/t00: label 2 where head '1' has 2 answers"),
        ({"head_id": "9"}, "example 1/t00: head '9' is not among the heads"),
        ({"text_id": "gone"}, "example 1/t00: text 'gone' has no tokens"),
        ({"labels": []}, "example 1/t00: 0 right answers where the task has one"),
        ({"labels": [0, 1]}, "example 1/t00: 2 right answers where the task has one"),
    ],
)
def test_invalid_rows_are_named_before_training(prepared, tmp_path, change, message):
    rows = examples()
    if "labels" in change:
        rows = [row | {"labels": [row["label"]]} for row in rows]
    rows[0] |= change
    with pytest.raises(BadInput, match=message):
        prepared(rows=rows)
    assert not (tmp_path / "run").exists()


def test_a_head_needs_two_answers_in_training_and_an_example_to_predict(prepared):
    rows = []
    for row in examples():
        removed = (row["head_id"], row["split"])
        if removed == ("1", "test") or (
            removed == ("3", "train") and row["label"] != 1
        ):
            continue
        rows.append(row)
    material = prepared(rows=rows).material
    assert list(material.answers) == ["2-0", "2-1"]
    assert set(material.training) == set(material.to_predict) == {"2-0", "2-1"}
    unusable = [row for row in rows if row["head_id"] in ("1", "3")]
    with pytest.raises(BadInput, match="no head has two answers in training and an"):
        usable(head_rows(), unusable, unusable[:0])


def test_a_run_trains_only_on_the_given_splits_share_and_subset(prepared):
    rows = examples()
    for row in examples():
        rows.append(row | {"example_id": f"d{row['example_id']}", "split": "dev"})

    def sizes(of_heads):
        return {head: len(of_head) for head, of_head in of_heads.items()}

    whole = prepared(rows=rows).material
    assert sizes(whole.training) == dict.fromkeys(HEADS, 8)
    assert sizes(whole.to_predict) == dict.fromkeys(HEADS, 4)
    assert not {"label", "labels"} & whole.to_predict["1"][0].keys()
    part = prepared(rows=rows, percent=25).material
    assert sizes(part.training) == {"1": 2, "2-0": 2, "2-1": 2, "3": 3}
    assert part.to_predict == whole.to_predict
    subset = prepared(rows=rows, where="subset", only=["3"]).material
    assert list(subset.answers) == list(subset.training) == ["3"]
    names = [row["example_id"] for row in subset.training["3"]]
    assert names == [f"3/t{number:02}" for number in (1, 2, 3, 5, 6, 7)]
    assert sizes(subset.to_predict) == {"3": 4}


def test_the_number_of_single_task_models_can_be_limited(prepared):
    assert list(prepared(setting="single", heads=2).material.answers) == ["1", "2-1"]
    assert list(prepared(setting="multi", heads=2).material.answers) == list(HEADS)
    heads = {str(n): ["A", "B"] for n in range(10)}
    assert list(evenly_spaced(heads, 4)) == ["0", "2", "5", "7"]
    assert evenly_spaced(heads, 11) == evenly_spaced(heads, 10) == heads


# Learning.


def test_training_learns_from_text_pairs(prepared, tokenised, tmp_path):
    pairs, rows = {}, []
    for number in range(32):  # the examples differ only in the order of the two texts
        label = number % 2
        first, second = ("cash", "stock") if label else ("stock", "cash")
        key = (f"x{number:02}", f"y{number:02}")
        pairs[key] = [f"the company would sell {word}" for word in (first, second)]
        row = {"example_id": f"{number:02}", "head_id": "1", "label": label}
        row["text_id"], row["pair_id"] = key
        rows.append(row | {"split": "train" if number < 16 else "test"})
    settings = {"batch_size": 8, "loss": "cross_entropy", "sampling": "shuffled"}
    given = prepared(ONE_HEAD, rows, tokens=tokenised(pairs), **settings)
    trial = {"learning_rate": 3e-3, "updates": [40]}
    predictions = predicted(given, trial, tmp_path / "out.parquet")
    for row, example in zip(predictions, rows[16:], strict=True):
        assert np.argmax(row["logits"]) == example["label"]
        shares = torch.tensor(row["logits"]).softmax(0).tolist()
        assert row["probabilities"] == pytest.approx(shares)


# Multi-label tasks.

PLACES = {"cash": 0, "stock": 1, "merger": 2}
MULTI_LABEL = {
    "multi_label": True,
    "sampling": "shuffled",
    "batch_size": 8,
    "head": "own",
}


def multi_label_examples():
    """Two heads: the first asks which words are in the text, the second about one."""
    rows, texts = [], {}
    for number in range(32):
        words = [word for word, at in PLACES.items() if number >> at & 1]
        text_id = f"x{number:02}"
        texts[text_id] = " ".join(["the", *words, "close"])
        for head, asked in (("1", PLACES), ("2", ["cash"])):
            labels = [PLACES[word] for word in words if word in asked]
            row = {"example_id": f"{head}/{number:02}", "head_id": head}
            row |= {"text_id": text_id, "labels": labels}
            rows.append(row | {"split": "train" if number < 16 else "test"})
    return rows, texts


@pytest.fixture
def multi_label(prepared, tokenised):
    all_rows, said = multi_label_examples()
    tokens = tokenised(said)

    def prepare_with(rows=all_rows, heads=("1", "2"), **changes):
        answers = {"1": tuple(PLACES), "2": ("cash", "never")}
        rows = [row for row in rows if row["head_id"] in heads]
        of = {head: answers[head] for head in heads}
        return prepared(of, rows, tokens=tokens, **MULTI_LABEL | changes)

    return prepare_with


def test_multi_label_training_learns_heads_of_different_sizes(multi_label, tmp_path):
    trial = {"learning_rate": 2e-3, "updates": [100]}
    predictions = predicted(multi_label(), trial, tmp_path / "out.parquet")
    rows, _ = multi_label_examples()
    labels = {row["example_id"]: row["labels"] for row in rows}
    right = 0
    for row in predictions:
        shares = torch.tensor(row["logits"]).sigmoid().tolist()
        assert row["probabilities"] == pytest.approx(shares)
        chosen = [at for at, share in enumerate(shares) if share > 0.5]
        right += chosen == labels[row["example_id"]]
    # By chance one in eight examples of one head is right, and one in two of the other.
    assert right >= 0.8 * 32 and len(predictions) == 32


def test_heads_whose_examples_all_have_the_same_labels_are_excluded(multi_label):
    rows, _ = multi_label_examples()
    with pytest.raises(BadInput, match="no head has two answers in training"):
        multi_label([row | {"labels": [0, 2]} for row in rows], heads="1")
    # No answer and one right answer are different labels.
    few = [row | {"labels": [1] if row["labels"] else []} for row in rows]
    assert multi_label(few, "1").material.answers
    with pytest.raises(BadInput, match="label 3 where head '1' has 3 answers"):
        multi_label([rows[0] | {"labels": [0, 3]}, *rows[1:]])


def test_balanced_class_weights_of_a_multi_label_task(multi_label, loaded, tmp_path):
    rows, _ = multi_label_examples()
    for row in rows:
        if row["example_id"] != "1/04":
            row["labels"] = [at for at in row["labels"] if at < 2]
    run = multi_label(rows=rows, heads="1", class_weights="balanced")
    training.train(run, ONE_TRIAL | {"updates": [1]}, tmp_path / "weights")
    # The three answers are right 8, 8 and 1 times in training, 17 times in total.
    expected = [17 / (3 * count) for count in (8, 8, 1)]
    assert loaded[0].weights.tolist() == pytest.approx(expected)
    model, heads = multi_head.load_trained(tmp_path / "weights", CPU)
    assert (model.loss, heads) == ("binary_cross_entropy", {"1": list(PLACES)})
