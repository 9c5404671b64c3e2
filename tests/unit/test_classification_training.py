"""Single- and multi-task classifiers on tiny random encoders."""

import gc
import os

# Nothing here is on the hub.
os.environ["HF_HUB_OFFLINE"] = "1"

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModelForSequenceClassification, set_seed

import tiny_encoders
from lextables.models import multi_head
from lextables.pipeline.dataset import read
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification import training
from lextables.tasks.classification.examples import by_head, of_splits
from lextables.tasks.classification.features import read_tokens, tokenise
from lextables.tasks.classification.material import material, spread, usable
from lextables.tasks.classification.reading import padded, read_heads
from lextables.tasks.classification.schema import PREDICTIONS, TRIED
from lextables.tasks.classification.texts import Text
from lextables.tasks.classification.training import Training, read_while_training
from lextables.tasks.classification.trials import JOINT
from tiny_encoders import WORDS

# What is loaded by now need not be walked through each time a finished model is cleared away.
gc.freeze()
CPU = torch.device("cpu")
HEADS = {"1": ("No", "Yes"), "2-0": ("other", "cash"), "2-1": ("other", "stock"), "3": ("a", "b", "c")}
SETTINGS = {
    "setting": "multi",
    "percent": 100,
    "head": "family",
    "heads": None,
    "batch_size": 4,
    "accumulation": 1,
    "max_length": 24,
    "bf16": False,
    "save_every": 0,
    "weight_decay": 0.01,
    "multi_label": False,
    "loss": "binary_cross_entropy",
    "sampling": "balanced",
    "class_weights": "none",
    "view": None,
    "only": [],
    "where": None,
    "passes": None,
    "schedule": "constant",
    "warmup": 0,
}
TRIAL = {"learning_rate": 1e-2, "updates": [2, 5]}
SPLITS = (["train"], ["test"])


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Models as small as these lose more than they gain by several, most of all on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))


def texts():
    generator = np.random.default_rng(0)
    return {f"t{i:02}": " ".join(generator.choice(WORDS, generator.integers(3, 30))) for i in range(12)}


def examples(heads=HEADS):
    """Each head asks about the same texts."""
    return [
        {
            "example_id": f"{head}/{text_id}",
            "head_id": head,
            "text_id": text_id,
            "label": (i * i + len(head)) % len(answers),
            "split": "train" if i < 8 else "test",
        }
        for head, answers in heads.items()
        for i, text_id in enumerate(texts())
    ]


def known(heads=HEADS):
    return [{"head_id": head, "answers": list(answers)} for head, answers in heads.items()]


def tokenised(said, folder, length, path):
    """The tokens of {text id: text}, or of {(text id, second text's id): text and second text}."""
    tokenise(
        (Text((key, ""), text) if isinstance(key, str) else Text(key, *text) for key, text in said.items()),
        folder,
        length,
        path,
    )
    return read_tokens(path)


@pytest.fixture(scope="session")
def tokens(folders, tmp_path_factory):
    return tokenised(texts(), folders["bert"], 24, tmp_path_factory.mktemp("tokens") / "tokens.parquet")


@pytest.fixture
def prepared(folders, tokens, tmp_path):
    """A training and what it reads; ``settings`` are those that differ."""

    def prepare(of=HEADS, rows=None, family="bert", name="run", top=99, tokens=tokens, **changes):
        whole = {"seed": 0, "identity": {"weights": "1"}} | changes.pop("inputs", {})
        settings = SETTINGS | changes
        rows = examples(of) if rows is None else rows
        few = replace(tokens, ids=np.minimum(tokens.ids, top))
        found = material(settings, rows, known(of), few, SPLITS, whole["seed"])
        return Training(
            settings, found, few, folders[family], device=CPU, work_root=tmp_path / name / "work", **whole
        )

    return prepare


@pytest.fixture
def train(prepared, tmp_path):
    """Train while reading and return the rows predicted; single-task has a trial for each head."""

    def run(of=HEADS, trial=TRIAL, name="run", **changes):
        given = prepared(of, name=name, **changes)
        trials = {JOINT: trial} if given.settings["setting"] == "multi" else dict.fromkeys(of, trial)
        output = tmp_path / name / "predictions.parquet"
        read_while_training(given, trials, output, tried=True)
        return list(read(output))

    return run


def test_the_loss_is_binary_cross_entropy_an_answer(folders):
    model = multi_head.load(folders["bert"], [2, 3], "own", seed=0).eval()
    batch = padded([np.array([0, 5, 2]), np.array([0, 6, 7, 2])], 1)
    heads, labels = [1, 0], torch.tensor([2, 0])
    loss = model(**batch, head=heads, label=labels)["loss"]
    represented = model.represent(**batch)
    expected = []
    for row, (head, label) in enumerate(zip(heads, labels.tolist(), strict=True)):
        share = model.answer(represented, head)[row].sigmoid()
        right = torch.arange(len(share)) == label
        expected.append(-torch.where(right, share, 1 - share).log().mean())
    assert torch.allclose(loss, torch.stack(expected).mean())


def test_with_one_head_the_family_s_model_is_transformers_own(folders):
    batch = padded([np.array([0, 5, 2]), np.array([0, 6, 7, 2])], 1)
    for family in ("bert", "roberta", "deberta"):
        model = multi_head.load(folders[family], [3], "family", seed=7).eval()
        set_seed(7)
        theirs = AutoModelForSequenceClassification.from_pretrained(folders[family], num_labels=3).eval()
        assert torch.equal(model.answer(model.represent(**batch), 0), theirs(**batch).logits)


@pytest.mark.parametrize("kind", ["family", "own"])
def test_multi_task_and_single_task_agree_when_only_one_question_is_present(train, kind):
    one = {"3": HEADS["3"]}
    single = train(one, head=kind, setting="single", name="single")
    assert single == train(one, head=kind, name="multi")
    assert len(single) == 2 * 4
    # Also where the question is one of several in the single-task job.
    among = train({"2-0": HEADS["2-0"], **one}, head=kind, setting="single", name="among")
    assert [row for row in among if row["head_id"] == "3"] == single


def test_predictions_of_every_number_of_updates(train):
    found = train()
    keys = [(row["updates"], row["head_id"], row["example_id"]) for row in found]
    asked = [(row["head_id"], row["example_id"]) for row in examples() if row["split"] == "test"]
    assert keys == [(updates, *key) for updates in (2, 5) for key in sorted(asked)]
    for row in found:
        assert len(row["logits"]) == len(HEADS[row["head_id"]])
        assert row["probabilities"] == pytest.approx(1 / (1 + np.exp(-np.array(row["logits"]))))
    # Reading on the way leaves training as it is.
    only = train(trial=TRIAL | {"updates": [5]}, name="once")
    assert only == [row for row in found if row["updates"] == 5]


def test_heads_may_have_trials_of_their_own(prepared, train, tmp_path):
    two = {name: HEADS[name] for name in ("1", "3")}
    other = {"learning_rate": 1e-3, "updates": [3]}
    trials = {"1": TRIAL, "3": other}
    record = read_while_training(
        prepared(two, setting="single"), trials, tmp_path / "own.parquet", tried=True
    )
    found = list(read(tmp_path / "own.parquet"))
    assert [(u, h) for u, h in dict.fromkeys((r["updates"], r["head_id"]) for r in found)] == [
        (2, "1"),
        (3, "3"),
        (5, "1"),
    ]
    alone = train({"3": HEADS["3"]}, other, name="alone")
    assert [r for r in found if r["head_id"] == "3"] == alone
    assert (record["trials"], record["models"], record["heads"]) == (trials, 2, 2)


def test_what_is_chosen_is_predicted_once(prepared, tmp_path):
    given, paths = prepared(setting="single"), [tmp_path / name for name in ("tried", "chosen")]
    trials = dict.fromkeys(HEADS, TRIAL | {"updates": [5]}) | {"1": TRIAL | {"updates": [2]}}
    for path, tried in zip(paths, (True, False), strict=True):
        read_while_training(given, trials, path, tried=tried)
    tried, found = map(list, map(read, paths))
    assert {row["head_id"]: row["updates"] for row in tried} == {"1": 2, "2-0": 5, "2-1": 5, "3": 5}
    wanted = [{key: row[key] for key in row if key != "updates"} for row in tried]
    assert found == sorted(wanted, key=lambda row: (row["head_id"], row["example_id"]))
    for table, path in zip((TRIED, PREDICTIONS), paths, strict=True):
        assert pq.read_schema(path).equals(table.schema)


def test_a_model_that_is_kept_reads_as_it_did_while_it_was_trained(prepared, train, tmp_path):
    one = TRIAL | {"updates": [5]}
    record = training.train(prepared(name="kept"), one, tmp_path / "weights")
    model, heads = multi_head.load_trained(tmp_path / "weights", CPU)
    assert heads == {head: list(answers) for head, answers in HEADS.items()}
    asked = by_head(of_splits(examples(), ["test"]), heads)
    found = read_heads(model, list(heads), asked, prepared().tokens, CPU)
    assert [{"updates": 5} | row for row in found] == train(trial=one, name="read")
    assert record["trials"] == {JOINT: one} and record["training_examples"] == 4 * 8
    assert json.loads(json.dumps(record)) == record


def test_it_learns_what_the_texts_say(prepared, folders, tmp_path):
    said = {f"x{i:02}": f"the {'cash' if i % 2 else 'stock'} merger effect" for i in range(40)}
    tokens = tokenised(said, folders["bert"], 24, tmp_path / "tokens.parquet")
    made = [
        {
            "example_id": text_id,
            "head_id": "2-0",
            "text_id": text_id,
            "label": int("cash" in text),
            "split": "train" if i < 20 else "test",
        }
        for i, (text_id, text) in enumerate(said.items())
    ]
    given = prepared({"2-0": HEADS["2-0"]}, made, tokens=tokens, batch_size=8)
    trial = {"learning_rate": 3e-3, "updates": [40]}
    read_while_training(given, {JOINT: trial}, tmp_path / "out.parquet", tried=False)
    found = list(read(tmp_path / "out.parquet"))
    assert [int(np.argmax(row["logits"])) for row in found] == [row["label"] for row in made[20:]]


class Killed(Exception):
    pass


@pytest.fixture
def kill(monkeypatch):
    """Raise at the nth reading from now on."""
    whole = training.read_heads

    def at(number):
        calls = iter(range(1, 1000))

        def read_heads(*arguments):
            if next(calls) == number:
                raise Killed
            return whole(*arguments)

        monkeypatch.setattr(training, "read_heads", read_heads)

    yield at
    monkeypatch.undo()


@pytest.mark.parametrize("save_every", [0, 2], ids=["starts the head again", "from a checkpoint"])
def test_a_killed_job_goes_on_at_the_head_it_was_on(train, kill, tmp_path, monkeypatch, save_every):
    two = {name: HEADS[name] for name in ("1", "3")}
    settings = {"setting": "single", "save_every": save_every}
    train(two, name="whole", **settings)
    kill(4)  # the second reading of the second head: two of five updates done, and the first head
    with pytest.raises(Killed):
        train(two, name="cut", **settings)
    started, whole = [], training._train

    def counted(run, heads, *arguments):
        model, resumed = whole(run, heads, *arguments)
        started.append((heads, resumed))
        return model, resumed

    monkeypatch.setattr(training, "_train", counted)
    kill(0)
    train(two, name="cut", **settings)
    assert started == [(["3"], 4 if save_every else 0)]
    files = [tmp_path / name / "predictions.parquet" for name in ("whole", "cut")]
    assert files[0].read_bytes() == files[1].read_bytes()
    left = sorted(path.name for path in (tmp_path / "cut" / "work").glob("*/*"))
    assert left == ["finished"] * 2 + ["settings.json"] * 2
    # Predictions that were cut short since are made again, and the others are not.
    cut = sorted((tmp_path / "cut" / "work").glob("*/finished/predictions.parquet"))[0]
    cut.write_bytes(cut.read_bytes()[:-9])
    train(two, name="cut", **settings)
    assert len(started) == 2
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_killed_multi_task_training_resumes_with_the_same_result(train, kill, tmp_path):
    settings = {"save_every": 1, "head": "own", "accumulation": 2}
    train(name="whole", **settings)
    kill(2)
    with pytest.raises(Killed):
        train(name="cut", **settings)
    (work,) = (tmp_path / "cut" / "work").iterdir()
    (work / "checkpoint-4" / "whole").unlink()  # as if killed while that one was written
    kill(0)
    train(name="cut", **settings)
    whole, cut = (tmp_path / name / "predictions.parquet" for name in ("whole", "cut"))
    assert cut.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("kind", ["family", "own"])
def test_a_killed_training_keeps_the_weights_that_it_would_have_kept(prepared, monkeypatch, tmp_path, kind):
    settings, one = {"save_every": 2, "head": kind}, TRIAL | {"updates": [5]}
    training.train(prepared(name="whole", **settings), one, tmp_path / "whole/weights")
    with monkeypatch.context() as patched:
        patched.setattr(multi_head.MultiHead, "forward", dies_at(4, multi_head.MultiHead.forward))
        with pytest.raises(Killed):
            training.train(prepared(name="cut", **settings), one, tmp_path / "cut/weights")
    assert not (tmp_path / "cut/weights").exists()
    record = training.train(prepared(name="cut", **settings), one, tmp_path / "cut/weights")
    assert list(record["resumed_from_update"].values()) == [2]
    files = [sorted((tmp_path / name / "weights").iterdir()) for name in ("whole", "cut")]
    assert [path.name for path in files[0]] == [path.name for path in files[1]]
    for whole, cut in zip(*files, strict=True):
        assert whole.read_bytes() == cut.read_bytes(), whole.name


def dies_at(number, function):
    """The function, which raises when it is called for the nth time."""
    calls = iter(range(1, 1000))

    def called(*arguments, **named):
        if next(calls) == number:
            raise Killed
        return function(*arguments, **named)

    return called


@pytest.mark.parametrize(
    "changes",
    [{"inputs": {"identity": {"weights": "2"}}}, {"inputs": {"seed": 1}}, {"top": 9}, {"bf16": True}],
    ids=["weights", "seed", "tokens", "settings"],
)
def test_what_was_finished_with_other_inputs_is_not_taken(train, tmp_path, changes):
    one, trial = {"1": HEADS["1"]}, TRIAL | {"updates": [1]}
    train(one, trial)
    train(one, trial, **changes)
    assert len(list((tmp_path / "run" / "work").iterdir())) == 2


def test_parts_of_a_batch_add_up_to_it(train):
    # Dropout aside, which draws for each part.
    trial = TRIAL | {"updates": [3]}
    parts, whole = (
        train({"1": HEADS["1"]}, trial, family="modernbert", accumulation=count, name=str(count))
        for count in (2, 1)
    )
    for one, other in zip(parts, whole, strict=True):
        assert one["logits"] == pytest.approx(other["logits"], abs=1e-4)


def test_parts_that_do_not_make_up_a_batch_are_refused(train):
    with pytest.raises(BadInput, match="accumulation = 3 does not divide batch_size = 4"):
        train(accumulation=3)


@pytest.mark.parametrize(("family", "kind"), [("bigbird", "family"), ("modernbert", "own")])
def test_long_texts_by_settings_alone(prepared, folders, tmp_path, family, kind):
    generator = np.random.default_rng(0)
    long = {f"l{i}": " ".join(generator.choice(WORDS, n)) for i, n in enumerate((4200, 5))}
    tokens = tokenised(long, folders[family], 4096, tmp_path / "tokens.parquet")
    assert [len(tokens[f"l{i}", ""]) for i in range(2)] == [4096, 7]
    made = [
        {"example_id": f"{split}-{text_id}", "head_id": "1", "text_id": text_id, "label": i % 2}
        | {"split": split}
        for split in ("train", "test")
        for i, text_id in enumerate(long)
    ]
    given = prepared(
        {"1": HEADS["1"]}, made, family, tokens=tokens, max_length=4096, batch_size=2, accumulation=2,
        head=kind,
    )  # fmt: skip
    trial = {"learning_rate": 1e-3, "updates": [1]}
    record = read_while_training(given, {JOINT: trial}, tmp_path / "out.parquet", tried=False)
    assert len(record.pop("work")) == 1
    assert record == {
        "models": 1, "heads": 1, "finished_before": 0, "resumed_from_update": {}, "training_examples": 2,
        "trials": {JOINT: trial},
    }  # fmt: skip
    assert np.isfinite([row["logits"] for row in read(tmp_path / "out.parquet")]).all()


@pytest.mark.parametrize(("length", "twice"), [(1024, False), (1025, True)])
def test_activations_of_long_texts_alone_are_computed_twice(prepared, monkeypatch, tmp_path, length, twice):
    loaded = []
    load = multi_head.load
    monkeypatch.setattr(
        multi_head, "load", lambda *given, **named: loaded.append(load(*given, **named)) or loaded[-1]
    )
    given = prepared({"1": HEADS["1"]}, max_length=length)
    read_while_training(given, {JOINT: TRIAL | {"updates": [1]}}, tmp_path / "out.parquet", tried=False)
    assert [model.body.is_gradient_checkpointing for model in loaded] == [twice]


@pytest.mark.parametrize("family", ["bert", "bigbird"])
def test_mixed_precision(train, family):
    one = {"1": HEADS["1"]}
    single = train(one, family=family)
    mixed = train(one, bf16=True, family=family, name="mixed")
    # BigBird's sparse attention has none.
    assert (mixed == single) == (family == "bigbird")
    for row, other in zip(mixed, single, strict=True):
        assert row["logits"] == pytest.approx(other["logits"], abs=0.3)


def test_bigbird_reads_a_text_alike_whatever_came_before(folders):
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


def test_a_text_is_encoded_once_however_many_heads_ask_about_it(prepared, folders, monkeypatch):
    given, seen = prepared(), []
    represent = multi_head.MultiHead.represent
    monkeypatch.setattr(
        multi_head.MultiHead,
        "represent",
        lambda self, **inputs: seen.append(len(inputs["input_ids"])) or represent(self, **inputs),
    )
    model = multi_head.load(folders["bert"], [len(answers) for answers in HEADS.values()], "own", seed=0)
    model.train()
    found = read_heads(model, list(HEADS), given.material.asked, given.tokens, CPU)
    assert (seen, len(found), model.training) == ([4], 4 * 4, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": 2}, "example 1/t00: label 2 where head '1' has 2 answers"),
        ({"head_id": "9"}, "example 1/t00: head '9' is not among the heads"),
        ({"text_id": "gone"}, "example 1/t00: text 'gone' has no tokens"),
    ],
)
def test_rows_that_do_not_fit_are_named_before_training(prepared, tmp_path, change, message):
    rows = examples()
    rows[0] |= change
    with pytest.raises(BadInput, match=message):
        prepared(rows=rows)
    assert not list(tmp_path.iterdir())


def test_a_head_needs_two_answers_to_learn_from_and_an_example_to_read(prepared):
    rows = [row for row in examples() if row["head_id"] != "3" or row["split"] == "test" or row["label"] == 1]
    rows = [row for row in rows if row["head_id"] != "1" or row["split"] == "train"]
    given = prepared(rows=rows)
    assert list(given.material.answers) == ["2-0", "2-1"]
    assert given.material.training.keys() == given.material.asked.keys() == {"2-0", "2-1"}
    of_none = [row for row in rows if row["head_id"] in ("1", "3")]
    with pytest.raises(BadInput, match="no head has two answers in training and an example to read"):
        prepared(rows=of_none)
    with pytest.raises(BadInput, match="no head has two answers"):
        usable(known(), [], of_none)


def test_a_run_learns_from_its_splits_and_its_share_alone(prepared):
    rows = examples() + [
        row | {"example_id": f"dev-{row['example_id']}", "split": "dev"} for row in examples()
    ]
    whole = prepared(rows=rows).material
    assert {len(of_head) for of_head in whole.training.values()} == {8}
    assert {len(of_head) for of_head in whole.asked.values()} == {4}
    assert not {"label", "labels"} & whole.asked["1"][0].keys()
    part = prepared(rows=rows, percent=25).material
    assert {head: len(of_head) for head, of_head in part.training.items()} == {
        "1": 2, "2-0": 2, "2-1": 2, "3": 3,
    }  # fmt: skip
    assert part.asked == whole.asked


def test_the_number_of_single_task_models_is_limited(prepared):
    assert list(prepared(setting="single", heads=2).material.answers) == ["1", "2-1"]
    assert list(prepared(setting="multi", heads=2).material.answers) == list(HEADS)


def test_a_cap_spreads_over_the_heads():
    heads = {str(n): ["A", "B"] for n in range(10)}
    assert list(spread(heads, 4)) == ["0", "2", "5", "7"]
    assert spread(heads, None) == spread(heads, 10) == heads


# Tasks of other kinds


def trained(given, trial, path):
    """What a model with all heads predicts after ``trial``."""
    read_while_training(given, {JOINT: trial}, path, tried=False)
    return list(read(path))


def in_order(number):
    """A pair of texts with the same words in either order: only which text says what tells them apart."""
    first, second = ("cash", "stock") if number % 2 else ("stock", "cash")
    pair = (f"the company would sell {first}", f"the company would sell {second}")
    return (f"x{number:02}", f"y{number:02}"), pair


def test_it_learns_what_a_pair_of_texts_says_together(prepared, folders, tmp_path):
    pairs = dict(map(in_order, range(32)))
    tokens = tokenised(pairs, folders["bert"], 24, tmp_path / "tokens.parquet")
    made = [
        {
            "example_id": f"{number:02}",
            "head_id": "1",
            "text_id": text_id,
            "pair_id": pair_id,
            "label": number % 2,
            "split": "train" if number < 16 else "test",
        }
        for number, (text_id, pair_id) in enumerate(pairs)
    ]
    told = {"tokens": tokens, "batch_size": 8, "loss": "cross_entropy", "sampling": "shuffled"}
    given = prepared({"1": HEADS["1"]}, made, **told)
    found = trained(given, {"learning_rate": 3e-3, "updates": [40]}, tmp_path / "out.parquet")
    assert [int(np.argmax(row["logits"])) for row in found] == [row["label"] for row in made[16:]]
    for row in found:
        assert row["probabilities"] == pytest.approx(torch.tensor(row["logits"]).softmax(0).tolist())
        assert sum(row["probabilities"]) == pytest.approx(1)


def test_one_text_may_be_asked_about_alone_and_with_several_others(prepared, folders, tmp_path):
    said = {
        ("x", ""): ("the cash",),
        ("x", "y"): ("the cash", "the stock"),
        ("x", "z"): ("the cash", "the merger"),
    }
    tokens = tokenised(said, folders["bert"], 24, tmp_path / "tokens.parquet")
    made = [
        {"example_id": f"{split}{number}", "head_id": "1", "text_id": "x", "pair_id": pair_id or None}
        | {"label": number % 2, "split": split}
        for split in ("train", "test")
        for number, (_, pair_id) in enumerate(said)
    ]
    given = prepared({"1": HEADS["1"]}, made, tokens=tokens)
    found = trained(given, TRIAL | {"updates": [1]}, tmp_path / "out.parquet")
    assert len({tuple(row["logits"]) for row in found}) == 3
    gone = made[0] | {"pair_id": "w"}
    with pytest.raises(BadInput, match="example train0: text 'x' with 'w' has no tokens"):
        prepared({"1": HEADS["1"]}, [gone, *made], tokens=tokens)


SAID = {"cash": 0, "stock": 1, "merger": 2}
SEVERAL = {"multi_label": True, "sampling": "shuffled"}


def several(heads=("1",)):
    """Examples of which any number of answers are right: the words that stand in the text."""
    words = [[word for word, at in SAID.items() if number >> at & 1] for number in range(32)]
    rows = [
        {
            "example_id": f"{head}/{number:02}",
            "head_id": head,
            "text_id": f"x{number:02}",
            "labels": [SAID[word] for word in said],
            "split": "train" if number < 16 else "test",
        }
        for head in heads
        for number, said in enumerate(words)
    ]
    return rows, {f"x{number:02}": " ".join(["the", *said, "close"]) for number, said in enumerate(words)}


@pytest.fixture
def of_several(prepared, folders, tmp_path):
    """As `prepared`, for examples with several right answers."""
    made, said = several()
    tokens = tokenised(said, folders["bert"], 24, tmp_path / "tokens.parquet")

    def prepare(rows=made, **changes):
        return prepared({"1": tuple(SAID)}, rows, tokens=tokens, **SEVERAL | changes)

    return prepare


LEARNING = {"batch_size": 8, "head": "own"}


def chosen(found):
    """{example: the answers whose probability is above one half}."""
    return {
        row["example_id"]: [at for at, share in enumerate(row["probabilities"]) if share > 0.5]
        for row in found
    }


def asked(rows):
    return {row["example_id"]: row["labels"] for row in rows if row["split"] == "test"}


def test_it_learns_each_of_several_right_answers(of_several, tmp_path):
    trial = {"learning_rate": 1e-3, "updates": [120]}
    found = trained(of_several(**LEARNING), trial, tmp_path / "out.parquet")
    assert chosen(found) == asked(several()[0])
    for row in found:
        assert row["probabilities"] == pytest.approx(torch.tensor(row["logits"]).sigmoid().tolist())


def test_heads_of_several_answers_and_sizes_learn_together(prepared, folders, tmp_path):
    rows, said = several(("1", "2"))
    tokens = tokenised(said, folders["bert"], 24, tmp_path / "tokens.parquet")
    # The second head asks about the first word alone: one right answer, or none.
    rows = [row | {"labels": [0] * (0 in row["labels"])} if row["head_id"] == "2" else row for row in rows]
    heads = {"1": tuple(SAID), "2": ("cash", "never")}
    given = prepared(heads, rows, tokens=tokens, **SEVERAL | LEARNING)
    trial = {"learning_rate": 1e-3, "updates": [400]}
    assert chosen(trained(given, trial, tmp_path / "out.parquet")) == asked(rows)


def test_a_head_of_which_all_examples_say_the_same_is_left_out(of_several):
    rows, _ = several()
    alike = [row | {"labels": [0, 2]} for row in rows]
    with pytest.raises(BadInput, match="no head has two answers in training"):
        of_several(alike)
    # None and one right answer are two things to tell apart.
    assert of_several([row | {"labels": row["labels"] and [1]} for row in rows]).material.answers


def test_an_answer_too_many_or_too_few_is_named(of_several, prepared):
    rows, _ = several()
    with pytest.raises(BadInput, match="example 1/00: label 3 where head '1' has 3 answers"):
        of_several([rows[0] | {"labels": [0, 3]}, *rows[1:]])
    for labels in ([], [0, 1]):
        broken = [row | {"labels": [row["label"]]} for row in examples()]
        broken[0]["labels"] = labels
        sentence = f"example 1/t00: {len(labels)} right answers where the task has one"
        with pytest.raises(BadInput, match=sentence):
            prepared(rows=broken)


def test_one_answer_may_be_written_as_a_list(train):
    listed = [row | {"labels": [row.pop("label")]} for row in examples()]
    assert train(rows=listed, name="listed") == train()


def loaded(monkeypatch):
    """The models that are loaded from now on."""
    found, load = [], multi_head.load

    def kept(*given, **named):
        found.append(load(*given, **named))
        return found[-1]

    monkeypatch.setattr(multi_head, "load", kept)
    return found


def test_classes_may_count_alike(prepared, monkeypatch, tmp_path):
    models, two = loaded(monkeypatch), {name: HEADS[name] for name in ("1", "3")}
    for weights in ("none", "balanced"):
        given = prepared(two, name=weights, class_weights=weights, sampling="shuffled", loss="cross_entropy")
        trained(given, TRIAL | {"updates": [1]}, tmp_path / f"{weights}.parquet")
    assert models[0].weights is None
    expected = []
    for head, answers in two.items():
        labels = [label for row in given.material.training[head] for label in row["labels"]]
        expected += multi_head.balanced_weights(labels, len(answers)).tolist()
    assert models[1].weights.tolist() == expected and len(set(expected)) > 2
    assert models[1].loss == "cross_entropy"
    none, balanced = (list(read(tmp_path / f"{weights}.parquet")) for weights in ("none", "balanced"))
    assert none != balanced


def test_answers_of_several_count_alike_by_how_often_each_is_right(of_several, monkeypatch, tmp_path):
    models, (rows, _) = loaded(monkeypatch), several()
    rare = [
        row | {"labels": [at for at in row["labels"] if at < 2 or row["example_id"] == "1/04"]}
        for row in rows
    ]
    trained(of_several(rare, class_weights="balanced"), TRIAL | {"updates": [1]}, tmp_path / "out.parquet")
    # Of 17 right answers in training 8, 8 and 1.
    assert models[0].weights.tolist() == pytest.approx([17 / (3 * count) for count in (8, 8, 1)])


@pytest.mark.parametrize(
    "changes",
    [
        {"sampling": "shuffled"},
        {"sampling": "shuffled", "loss": "cross_entropy", "class_weights": "balanced", "head": "own"},
    ],
    ids=["shuffled", "weighted"],
)
def test_other_settings_train_otherwise_and_resume_alike(train, kill, tmp_path, changes):
    settings = {"save_every": 1} | changes
    whole = train(name="whole", **settings)
    assert whole != train(name="other", head=changes.get("head", "family"))
    kill(2)
    with pytest.raises(Killed):
        train(name="cut", **settings)
    (work,) = (tmp_path / "cut" / "work").iterdir()
    (work / "checkpoint-4" / "whole").unlink()
    kill(0)
    assert train(name="cut", **settings) == whole
    files = [tmp_path / name / "predictions.parquet" for name in ("whole", "cut")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_killed_training_of_several_answers_keeps_the_same_weights(of_several, monkeypatch, tmp_path):
    settings, trial = {"save_every": 2, "class_weights": "balanced"}, TRIAL | {"updates": [5]}
    training.train(of_several(name="whole", **settings), trial, tmp_path / "whole/weights")
    with monkeypatch.context() as patched:
        patched.setattr(multi_head.MultiHead, "forward", dies_at(4, multi_head.MultiHead.forward))
        with pytest.raises(Killed):
            training.train(of_several(name="cut", **settings), trial, tmp_path / "cut/weights")
    record = training.train(of_several(name="cut", **settings), trial, tmp_path / "cut/weights")
    assert list(record["resumed_from_update"].values()) == [2]
    whole, cut = (tmp_path / name / "weights/model.safetensors" for name in ("whole", "cut"))
    assert whole.read_bytes() == cut.read_bytes()
    model, heads = multi_head.load_trained(tmp_path / "cut/weights", CPU)
    assert (model.loss, heads) == ("binary_cross_entropy", {"1": list(SAID)})
