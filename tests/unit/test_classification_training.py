"""Training of single- and multi-task classifiers on tiny random encoders."""

import gc
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForSequenceClassification,
    get_linear_schedule_with_warmup,
    set_seed,
)

import tiny_encoders
from lextables.models import checkpoints, multi_head
from lextables.models.checkpoints import Checkpoints
from lextables.pipeline.dataset import read, write_census
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification import training
from lextables.tasks.classification.examples import Text, by_head, of_splits
from lextables.tasks.classification.features import read_tokens, tokenise
from lextables.tasks.classification.reading import padded, read_heads
from lextables.tasks.classification.schema import JOINT, PREDICTIONS, TRIED
from lextables.tasks.classification.training import (
    prepare,
    read_while_training,
    spread,
    usable,
)
from optimisers import CONSTANT
from rule_script import Files, run_script
from tiny_encoders import WORDS

gc.freeze()  # later garbage collections skip the objects loaded so far
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
    "learning_rate": 1e-2,
    "updates": [2],
}
TRIAL = {"learning_rate": 1e-2, "updates": [2, 5]}
ONE_TRIAL = TRIAL | {"updates": [5]}
SPLITS = (["train"], ["test"])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))


def texts():
    generator = np.random.default_rng(0)
    return {
        f"t{i:02}": " ".join(generator.choice(WORDS, generator.integers(3, 30)))
        for i in range(12)
    }


def examples(heads=HEADS):
    """Examples of every head on the same texts.

    Eight texts are for training, six of them in the subset, and four are for testing.
    """
    return [
        {
            "example_id": f"{head}/{text_id}",
            "head_id": head,
            "text_id": text_id,
            "label": (i * i + len(head)) % len(answers),
            "split": "train" if i < 8 else "test",
            "subset": i % 4 > 0,
        }
        for head, answers in heads.items()
        for i, text_id in enumerate(texts())
    ]


def head_rows(heads=HEADS):
    return [
        {"head_id": head, "answers": list(answers)} for head, answers in heads.items()
    ]


@pytest.fixture(scope="module")
def tokenised(folders, tmp_path_factory):
    """Write the tokens of {text id: text} or {(text id, second text id): (text, second text)} to a file."""

    def write_tokens(of, family="bert", length=24):
        path = tmp_path_factory.mktemp("tokens") / "tokens.parquet"
        pairs = (
            (key, text) if isinstance(key, tuple) else ((key, ""), (text,))
            for key, text in of.items()
        )
        tokenise(
            (Text(key, *text) for key, text in pairs), folders[family], length, path
        )
        return path

    return write_tokens


@pytest.fixture(scope="module")
def tokens(tokenised):
    return tokenised(texts())


@pytest.fixture
def prepared(folders, tokens, tmp_path):
    """Prepare a training with the default settings updated by ``changes``."""

    def prepare_with(
        of=HEADS,
        rows=None,
        *,
        family="bert",
        name="run",
        tokens=tokens,
        seed=0,
        identity=None,
        **changes,
    ):
        folder = tmp_path / "data"
        folder.mkdir(exist_ok=True)
        pq.write_table(
            pa.Table.from_pylist(examples(of) if rows is None else rows),
            folder / "examples",
        )
        pq.write_table(pa.Table.from_pylist(head_rows(of)), folder / "heads")
        settings = SETTINGS | {"weights": folders[family]} | changes
        files = (folder / "examples", folder / "heads", tokens)
        options = {"seed": seed, "device": CPU, "work_root": tmp_path / name / "work"}
        return prepare(settings, *files, SPLITS, **options, identity=identity or {})

    return prepare_with


@pytest.fixture
def train(prepared, tmp_path):
    """Train and return the predictions after each number of updates; single-task has one trial per head."""

    def run(heads=HEADS, trial=TRIAL, name="run", **changes):
        given = prepared(heads, name=name, **changes)
        trials = (
            {JOINT: trial}
            if given.settings["setting"] == "multi"
            else dict.fromkeys(heads, trial)
        )
        read_while_training(
            given, trials, tmp_path / name / "predictions.parquet", tried=True
        )
        return list(read(tmp_path / name / "predictions.parquet"))

    return run


@pytest.fixture
def kept(prepared, tmp_path):
    """Train and save a model; return the folder of its weights and the record."""

    def run(name="kept", trial=None, **changes):
        given = prepared(name=name, **changes)
        trial = trial or {
            key: given.settings[key] for key in ("learning_rate", "updates")
        }
        return tmp_path / name / "weights", training.train(
            given, trial, tmp_path / name / "weights"
        )

    return run


def predicted(given, trial, path):
    """The predictions of a model with all heads, trained with ``trial``."""
    read_while_training(given, {JOINT: trial}, path, tried=False)
    return list(read(path))


def weights_in(folder):
    return load_file(Path(folder) / "model.safetensors")


def same(first, second):
    """Whether two folders contain the same weights."""
    first, second = weights_in(first), weights_in(second)
    return first.keys() == second.keys() and all(
        torch.equal(first[name], second[name]) for name in first
    )


# Models and predictions.


def test_a_model_with_one_head_equals_the_transformers_model(folders):
    batch = padded([np.array([0, 5, 2]), np.array([0, 6, 7, 2])], 1)
    for family in ("bert", "roberta", "deberta"):
        model = multi_head.load(folders[family], [3], "family", seed=7).eval()
        set_seed(7)
        theirs = AutoModelForSequenceClassification.from_pretrained(
            folders[family], num_labels=3
        ).eval()
        assert torch.equal(
            model.answer(model.represent(**batch), 0), theirs(**batch).logits
        )


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
    keys = [(row["updates"], row["head_id"], row["example_id"]) for row in rows]
    test = [
        (row["head_id"], row["example_id"])
        for row in examples()
        if row["split"] == "test"
    ]
    assert keys == [(updates, *key) for updates in (2, 5) for key in sorted(test)]
    for row in rows:
        assert len(row["logits"]) == len(HEADS[row["head_id"]])
        assert row["probabilities"] == pytest.approx(
            1 / (1 + np.exp(-np.array(row["logits"])))
        )
    # Intermediate predictions do not change the training.
    assert train(trial=ONE_TRIAL, name="once") == [
        row for row in rows if row["updates"] == 5
    ]


def test_each_head_can_have_a_different_trial(prepared, train, tmp_path):
    other = {"learning_rate": 1e-3, "updates": [3]}
    trials = {"1": TRIAL, "3": other}
    given = prepared(TWO_HEADS, setting="single")
    record = read_while_training(given, trials, tmp_path / "own.parquet", tried=True)
    rows = list(read(tmp_path / "own.parquet"))
    assert list(dict.fromkeys((row["updates"], row["head_id"]) for row in rows)) == [
        (2, "1"),
        (3, "3"),
        (5, "1"),
    ]
    assert [row for row in rows if row["head_id"] == "3"] == train(
        {"3": HEADS["3"]}, other, name="alone"
    )
    assert (record["trials"], record["models"], record["heads"]) == (trials, 2, 2)


def test_predictions_of_selected_trials_have_no_updates_column(prepared, tmp_path):
    given, paths = (
        prepared(setting="single"),
        [tmp_path / name for name in ("tried", "chosen")],
    )
    trials = dict.fromkeys(HEADS, ONE_TRIAL) | {"1": TRIAL | {"updates": [2]}}
    for path, tried in zip(paths, (True, False), strict=True):
        read_while_training(given, trials, path, tried=tried)
    tried, chosen = map(list, map(read, paths))
    assert {row["head_id"]: row["updates"] for row in tried} == {
        "1": 2,
        "2-0": 5,
        "2-1": 5,
        "3": 5,
    }
    expected = [{key: row[key] for key in row if key != "updates"} for row in tried]
    assert chosen == sorted(
        expected, key=lambda row: (row["head_id"], row["example_id"])
    )
    for table, path in zip((TRIED, PREDICTIONS), paths, strict=True):
        assert pq.read_schema(path).equals(table.schema)


def test_a_saved_model_predicts_the_same_as_during_training(kept, tokens, train):
    folder, record = kept(trial=ONE_TRIAL)
    model, heads = multi_head.load_trained(folder, CPU)
    assert heads == {head: list(answers) for head, answers in HEADS.items()}
    asked = by_head(of_splits(examples(), ["test"]), heads)
    rows = read_heads(model, list(heads), asked, read_tokens(tokens), CPU)
    assert [{"updates": 5} | row for row in rows] == train(trial=ONE_TRIAL, name="read")
    assert (
        record["trials"] == {JOINT: ONE_TRIAL} and record["training_examples"] == 4 * 8
    )
    assert json.loads(json.dumps(record)) == record


def test_a_text_is_encoded_once_for_all_heads(prepared, folders, monkeypatch):
    given, sizes = prepared(), []
    represent = multi_head.MultiHead.represent
    monkeypatch.setattr(
        multi_head.MultiHead,
        "represent",
        lambda self, **inputs: (
            sizes.append(len(inputs["input_ids"])) or represent(self, **inputs)
        ),
    )
    model = multi_head.load(
        folders["bert"], [len(answers) for answers in HEADS.values()], "own", seed=0
    )
    model.train()
    rows = read_heads(model, list(HEADS), given.material.to_predict, given.tokens, CPU)
    assert (sizes, len(rows), model.training) == ([4], 4 * 4, True)


# Interruptions.


class Killed(Exception):
    pass


def dies_at(number, function):
    """Wrap the function so that the call with this number raises `Killed`."""
    calls = iter(range(1, 1000))

    def called(*arguments, **named):
        if next(calls) == number:
            raise Killed
        return function(*arguments, **named)

    return called


@pytest.mark.parametrize(
    "save_every", [0, 2], ids=["without checkpoint", "with checkpoint"]
)
def test_a_killed_job_continues_with_the_head_it_was_training(
    train, tmp_path, monkeypatch, save_every
):
    settings = {"setting": "single", "save_every": save_every}
    train(TWO_HEADS, name="whole", **settings)
    with monkeypatch.context() as patched:
        # Killed at the fourth call: the second prediction of the second head, after its last update.
        patched.setattr(training, "read_heads", dies_at(4, training.read_heads))
        with pytest.raises(Killed):
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
    left = sorted(path.name for path in (tmp_path / "cut" / "work").glob("*/*"))
    assert left == ["finished"] * 2 + ["settings.json"] * 2
    # A model with truncated predictions is trained again, and the others are not.
    truncated = sorted(
        (tmp_path / "cut" / "work").glob("*/finished/predictions.parquet")
    )[0]
    truncated.write_bytes(truncated.read_bytes()[:-9])
    train(TWO_HEADS, name="cut", **settings)
    assert len(started) == 2
    assert files[0].read_bytes() == files[1].read_bytes()


def test_work_is_not_reused_if_the_inputs_differ(train, tokenised, tmp_path):
    reversed_texts = dict(zip(texts(), reversed(texts().values()), strict=True))
    changes = [{}, {"identity": {"code": "2"}}, {"seed": 1}, {"bf16": True}]
    changes.append({"tokens": tokenised(reversed_texts)})
    for number, change in enumerate(changes, 1):
        train(ONE_HEAD, TRIAL | {"updates": [1]}, **change)
        assert len(list((tmp_path / "run" / "work").iterdir())) == number


def test_changed_start_weights_in_the_same_folder_cause_a_new_training(
    kept, tokens, tmp_path, monkeypatch
):
    trained, original = [], training._train
    monkeypatch.setattr(
        training, "_train", lambda *given: trained.append(1) or original(*given)
    )
    write_census(tmp_path / "census.json", {"data": {"examples": {"rows_sha256": "0"}}})
    start, output, data = (
        tmp_path / "start/weights",
        tmp_path / "output",
        tmp_path / "data",
    )

    def job():
        """Run the script as its rule does; return whether it trained, and the weights."""
        before = len(trained)
        shutil.rmtree(output, ignore_errors=True)
        files = Files(
            census=tmp_path / "census.json",
            data=[data / "examples", data / "heads"],
            tokens=[tokens],
            choice=[],
            start=[start, tmp_path / "start.json"],
        )
        made = Files(weights=output / "weights", record=output / "run.json")
        params = {
            "settings": SETTINGS | {"weights": str(start)},
            "splits": list(SPLITS),
            "device": "cpu",
        }
        params |= {"work": str(tmp_path / "work"), "code": "0"}
        names = {"seed": "0", "experiment": "train"}
        run_script(
            "classification_train.py",
            tmp_path / "log.txt",
            files,
            made,
            params=params,
            **names,
        )
        return len(trained) > before, weights_in(output / "weights")

    kept("start", of=ONE_HEAD, updates=[1])
    first_trained, first = job()
    assert first_trained
    # Rebuilt with the same content, and on another model of the same kind of device: the training is reused.
    monkeypatch.setattr(
        "lextables.models.device.describe", lambda device: "another processor"
    )
    shutil.rmtree(start)
    kept("start", of=ONE_HEAD, updates=[1])
    again_trained, again = job()
    assert not again_trained and all(
        torch.equal(first[name], again[name]) for name in first
    )
    path = start / "model.safetensors"
    tensors = load_file(path)
    bias = tensors["classifier.bias"] + 1
    save_file(tensors | {"classifier.bias": bias}, path, metadata={"format": "pt"})
    other_trained, other = job()
    assert other_trained and not all(
        torch.equal(first[name], other[name]) for name in first
    )
    last_trained, last = job()
    assert not last_trained and all(
        torch.equal(other[name], last[name]) for name in other
    )


# Settings.


@pytest.mark.parametrize(
    ("changes", "updates"),
    [
        ({"passes": 2}, 16),
        ({"passes": 2, "only": ["1", "3"]}, 8),
        (
            {"passes": 1, "only": ["1"], "where": "subset", "batch_size": 4},
            2,
        ),  # 1.5 batches
        ({"passes": 0.25, "batch_size": 3}, 3),
        ({"passes": 1, "batch_size": 64}, 1),  # half a batch
        ({"passes": None}, 2),
    ],
)
def test_passes_are_converted_to_updates(prepared, changes, updates):
    assert prepared(updates=[] if changes["passes"] else [2], **changes).settings[
        "updates"
    ] == [updates]


@pytest.fixture
def rates(monkeypatch):
    """Record the learning rate of each update."""
    rates = []

    class Recording(Checkpoints):
        def on_step_begin(self, args, state, control, optimizer=None, **kwargs):
            rates.append(optimizer.param_groups[0]["lr"])

    monkeypatch.setattr(checkpoints, "Checkpoints", Recording)
    return rates


@pytest.mark.parametrize("warmup", [0, 3])
def test_the_linear_schedule_equals_that_of_transformers(kept, rates, warmup):
    kept(optimiser=CONSTANT | {"schedule": "linear", "warmup": warmup}, updates=[8])
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1e-2)
    schedule = get_linear_schedule_with_warmup(optimizer, warmup, 8)
    expected = []
    for _ in range(8):
        expected.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    assert rates == pytest.approx(expected) and max(rates) == pytest.approx(1e-2)


def test_a_constant_schedule_stays_constant_after_warmup(kept, rates):
    kept(optimiser=CONSTANT | {"warmup": 2}, updates=[5])
    assert rates == pytest.approx([0, 5e-3, 1e-2, 1e-2, 1e-2])


def test_training_starts_from_trained_weights_and_their_head(kept):
    start, _ = kept("start", of=ONE_HEAD, updates=[3])
    unchanged, _ = kept("unchanged", of=ONE_HEAD, updates=[0], weights=str(start))
    assert same(start, unchanged)
    further, _ = kept(
        "further", of=ONE_HEAD, updates=[1], weights=str(start), learning_rate=1e-12
    )
    for name, tensor in weights_in(start).items():
        assert torch.allclose(weights_in(further)[name], tensor, atol=1e-9), name
    assert not same(start, kept("fresh", of=ONE_HEAD, updates=[1])[0])


@pytest.mark.parametrize(
    ("family", "kind"), [("bigbird", "family"), ("modernbert", "own")]
)
def test_long_texts_can_be_used_with_other_settings(
    prepared, tokenised, tmp_path, family, kind
):
    generator = np.random.default_rng(0)
    long = {
        f"l{i}": " ".join(generator.choice(WORDS, n)) for i, n in enumerate((4200, 5))
    }
    tokens = tokenised(long, family, 4096)
    assert [len(read_tokens(tokens)[f"l{i}", ""]) for i in range(2)] == [4096, 7]
    rows = [
        {
            "example_id": f"{split}-{text_id}",
            "head_id": "1",
            "text_id": text_id,
            "label": i % 2,
        }
        | {"split": split}
        for split in ("train", "test")
        for i, text_id in enumerate(long)
    ]
    settings = {"max_length": 4096, "batch_size": 2, "head": kind}
    given = prepared(ONE_HEAD, rows, family=family, tokens=tokens, **settings)
    found = predicted(
        given, {"learning_rate": 1e-3, "updates": [1]}, tmp_path / "out.parquet"
    )
    assert np.isfinite([row["logits"] for row in found]).all()


@pytest.fixture
def loaded(monkeypatch):
    """Record the models that are loaded."""
    models, load = [], multi_head.load
    monkeypatch.setattr(
        multi_head,
        "load",
        lambda *given, **named: models.append(load(*given, **named)) or models[-1],
    )
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
    options = {
        "of": TWO_HEADS,
        "updates": [1],
        "sampling": "shuffled",
        "loss": "cross_entropy",
    }
    plain, _ = kept("none", **options)
    balanced, _ = kept("balanced", class_weights="balanced", **options)
    expected = []
    for head, answers in TWO_HEADS.items():
        rows = examples(TWO_HEADS)
        labels = [
            row["label"]
            for row in rows
            if row["head_id"] == head and row["split"] == "train"
        ]
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
    ],
)
def test_invalid_rows_are_named_before_training(prepared, tmp_path, change, message):
    rows = examples()
    rows[0] |= change
    with pytest.raises(BadInput, match=message):
        prepared(rows=rows)
    assert not (tmp_path / "run").exists()


def test_a_head_needs_two_answers_in_training_and_an_example_to_predict(prepared):
    rows = [
        row
        for row in examples()
        if row["head_id"] != "3" or row["split"] == "test" or row["label"] == 1
    ]
    rows = [row for row in rows if row["head_id"] != "1" or row["split"] == "train"]
    given = prepared(rows=rows)
    assert list(given.material.answers) == ["2-0", "2-1"]
    assert (
        given.material.training.keys()
        == given.material.to_predict.keys()
        == {"2-0", "2-1"}
    )
    unusable = [row for row in rows if row["head_id"] in ("1", "3")]
    with pytest.raises(
        BadInput, match="no head has two answers in training and an example to read"
    ):
        usable(head_rows(), unusable, unusable[:0])


def test_a_run_trains_only_on_the_given_splits_share_and_subset(prepared):
    rows = examples() + [
        row | {"example_id": f"dev-{row['example_id']}", "split": "dev"}
        for row in examples()
    ]
    whole = prepared(rows=rows).material
    assert {len(of_head) for of_head in whole.training.values()} == {8}
    assert {len(of_head) for of_head in whole.to_predict.values()} == {4}
    assert not {"label", "labels"} & whole.to_predict["1"][0].keys()
    part = prepared(rows=rows, percent=25).material
    assert {head: len(of_head) for head, of_head in part.training.items()} == {
        "1": 2,
        "2-0": 2,
        "2-1": 2,
        "3": 3,
    }
    assert part.to_predict == whole.to_predict
    subset = prepared(rows=rows, where="subset", only=["3"]).material
    assert (
        list(subset.answers)
        == list(subset.training)
        == list(subset.to_predict)
        == ["3"]
    )
    assert [row["example_id"] for row in subset.training["3"]] == [
        f"3/t{number:02}" for number in (1, 2, 3, 5, 6, 7)
    ]
    assert len(subset.to_predict["3"]) == 4


def test_the_number_of_single_task_models_can_be_limited(prepared):
    assert list(prepared(setting="single", heads=2).material.answers) == ["1", "2-1"]
    assert list(prepared(setting="multi", heads=2).material.answers) == list(HEADS)
    heads = {str(n): ["A", "B"] for n in range(10)}
    assert list(spread(heads, 4)) == ["0", "2", "5", "7"]
    assert spread(heads, None) == spread(heads, 10) == heads


# Learning.


def test_training_learns_from_text_pairs(prepared, tokenised, tmp_path):
    pairs = {}
    for number in range(32):  # the examples differ only in the order of the two texts
        first, second = ("cash", "stock") if number % 2 else ("stock", "cash")
        texts = (f"the company would sell {first}", f"the company would sell {second}")
        pairs[f"x{number:02}", f"y{number:02}"] = texts
    rows = [
        {
            "example_id": f"{number:02}",
            "head_id": "1",
            "text_id": text_id,
            "pair_id": pair_id,
        }
        | {"label": number % 2, "split": "train" if number < 16 else "test"}
        for number, (text_id, pair_id) in enumerate(pairs)
    ]
    settings = {"batch_size": 8, "loss": "cross_entropy", "sampling": "shuffled"}
    given = prepared(ONE_HEAD, rows, tokens=tokenised(pairs), **settings)
    found = predicted(
        given, {"learning_rate": 3e-3, "updates": [40]}, tmp_path / "out.parquet"
    )
    assert [int(np.argmax(row["logits"])) for row in found] == [
        row["label"] for row in rows[16:]
    ]
    for row in found:
        assert row["probabilities"] == pytest.approx(
            torch.tensor(row["logits"]).softmax(0).tolist()
        )


# Multi-label tasks.


PLACES = {"cash": 0, "stock": 1, "merger": 2}
MULTI_LABEL = {
    "multi_label": True,
    "sampling": "shuffled",
    "batch_size": 8,
    "head": "own",
}


def multi_label_examples():
    """Two heads: the first asks which words are in the text, the second only about the first word."""
    words = [
        [word for word, at in PLACES.items() if number >> at & 1]
        for number in range(32)
    ]
    rows = [
        {
            "example_id": f"{head}/{number:02}",
            "head_id": head,
            "text_id": f"x{number:02}",
        }
        | {"labels": [PLACES[word] for word in said if head == "1" or word == "cash"]}
        | {"split": "train" if number < 16 else "test"}
        for head in ("1", "2")
        for number, said in enumerate(words)
    ]
    return rows, {
        f"x{number:02}": " ".join(["the", *said, "close"])
        for number, said in enumerate(words)
    }


@pytest.fixture
def multi_label(prepared, tokenised):
    rows, said = multi_label_examples()
    tokens = tokenised(said)

    def prepare_with(rows=rows, heads=("1", "2"), **changes):
        answers = {"1": tuple(PLACES), "2": ("cash", "never")}
        rows = [row for row in rows if row["head_id"] in heads]
        return prepared(
            {h: answers[h] for h in heads}, rows, tokens=tokens, **MULTI_LABEL | changes
        )

    return prepare_with


def test_multi_label_training_learns_heads_of_different_sizes(multi_label, tmp_path):
    trial = {"learning_rate": 2e-3, "updates": [100]}
    found = predicted(multi_label(), trial, tmp_path / "out.parquet")
    rows, _ = multi_label_examples()
    for row in found:
        assert row["probabilities"] == pytest.approx(
            torch.tensor(row["logits"]).sigmoid().tolist()
        )
    predictions = {
        row["example_id"]: [
            at for at, share in enumerate(row["probabilities"]) if share > 0.5
        ]
        for row in found
    }
    labels = {
        row["example_id"]: row["labels"] for row in rows if row["split"] == "test"
    }
    assert predictions.keys() == labels.keys()
    # Random guessing is right for one in eight examples of one head and for one in two of the other.
    assert sum(predictions[name] == labels[name] for name in labels) >= 0.8 * len(
        labels
    )


def test_heads_whose_examples_all_have_the_same_labels_are_excluded(multi_label):
    rows, _ = multi_label_examples()
    with pytest.raises(BadInput, match="no head has two answers in training"):
        multi_label([row | {"labels": [0, 2]} for row in rows], heads="1")
    # No answer and one right answer are different labels.
    assert multi_label(
        [row | {"labels": row["labels"] and [1]} for row in rows], "1"
    ).material.answers


def test_invalid_labels_are_named_in_the_error(multi_label, prepared):
    rows, _ = multi_label_examples()
    with pytest.raises(
        BadInput, match="example 1/00: label 3 where head '1' has 3 answers"
    ):
        multi_label([rows[0] | {"labels": [0, 3]}, *rows[1:]])
    for labels in ([], [0, 1]):
        broken = [row | {"labels": [row["label"]]} for row in examples()]
        broken[0]["labels"] = labels
        sentence = f"example 1/t00: {len(labels)} right answers where the task has one"
        with pytest.raises(BadInput, match=sentence):
            prepared(rows=broken)


def test_balanced_class_weights_of_a_multi_label_task(multi_label, loaded, tmp_path):
    rows, _ = multi_label_examples()
    rare = [
        row
        | {
            "labels": [
                at for at in row["labels"] if at < 2 or row["example_id"] == "1/04"
            ]
        }
        for row in rows
    ]
    run = multi_label(rows=rare, heads="1", class_weights="balanced")
    training.train(run, ONE_TRIAL | {"updates": [1]}, tmp_path / "weights")
    # The three answers are right 8, 8 and 1 times in training, 17 times in total.
    assert loaded[0].weights.tolist() == pytest.approx(
        [17 / (3 * count) for count in (8, 8, 1)]
    )
    model, heads = multi_head.load_trained(tmp_path / "weights", CPU)
    assert (model.loss, heads) == ("binary_cross_entropy", {"1": list(PLACES)})
