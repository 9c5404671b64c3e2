"""Single- and multi-task classifiers on tiny random encoders."""

import gc
import os

# Nothing here is on the hub.
os.environ["HF_HUB_OFFLINE"] = "1"

from collections import Counter
from dataclasses import replace
from itertools import islice

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoModel,
    AutoModelForSequenceClassification,
    BertConfig,
    BigBirdConfig,
    DebertaV2Config,
    ModernBertConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
    set_seed,
)

from lextables.dataset import read
from lextables.errors import BadInput
from lextables.models import classification, multi_head
from lextables.models.classification import (
    TrainingSettings,
    draws,
    padded,
    queue,
    read_tokens,
    subset,
    tokenise,
    train_heads,
    train_jointly,
)

# What is loaded by now need not be walked through each time a finished model is cleared away.
gc.freeze()
CPU = torch.device("cpu")
WORDS = "the company shall not close sell buy stock cash merger effect material adverse would could".split()
SMALL = {
    "num_hidden_layers": 2,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 2,
    "vocab_size": 40,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}
CONFIGS = {
    "bert": BertConfig(**SMALL, max_position_embeddings=64),
    "roberta": RobertaConfig(**SMALL, max_position_embeddings=66, type_vocab_size=1),
    "deberta": DebertaV2Config(
        **SMALL,
        max_position_embeddings=64,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        pooler_hidden_size=32,
    ),
    "bigbird": BigBirdConfig(
        **SMALL | {"num_attention_heads": 1}, max_position_embeddings=4096, block_size=2, num_random_blocks=1
    ),
    "modernbert": ModernBertConfig(
        **SMALL, max_position_embeddings=4096, cls_token_id=0, sep_token_id=2, local_attention=8
    ),
}


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """A folder a family: random weights, and one word-level tokenizer for all."""
    root = tmp_path_factory.mktemp("encoders")
    words = Tokenizer(
        models.WordLevel({w: i for i, w in enumerate(["<s>", "<pad>", "</s>", "<unk>", *WORDS])}, "<unk>")
    )
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="<unk>", pad_token="<pad>", cls_token="<s>", sep_token="</s>"
    )
    for name, config in CONFIGS.items():
        set_seed(0)
        AutoModel.from_config(config).save_pretrained(root / name)
        tokenizer.save_pretrained(root / name)
    return {name: str(root / name) for name in CONFIGS}


HEADS = {"1": ("No", "Yes"), "2-0": ("other", "cash"), "2-1": ("other", "stock"), "3": ("a", "b", "c")}
SETTINGS = TrainingSettings(learning_rate=1e-2, updates=(2, 5), batch_size=4, score_batch_size=3)


def texts():
    generator = np.random.default_rng(0)
    return {f"t{i:02}": " ".join(generator.choice(WORDS, generator.integers(3, 30))) for i in range(12)}


def rows(heads=HEADS):
    """(training, scored): each head asks about the same texts."""
    found = [
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
    return [r for r in found if r["split"] == "train"], [r for r in found if r["split"] == "test"]


@pytest.fixture(scope="session")
def tokens(folders, tmp_path_factory):
    path = tmp_path_factory.mktemp("tokens") / "tokens.parquet"
    tokenise(texts().items(), folders["bert"], 24, path)
    return read_tokens(path)


@pytest.fixture
def train(folders, tokens, tmp_path):
    """Train and return the rows predicted; ``function`` is an entry point."""

    def run(function, heads=HEADS, settings=SETTINGS, family="bert", name="run", top=99, **changes):
        training, scored = rows(heads)
        arguments = {
            "seed": 0,
            "device": CPU,
            "work_root": tmp_path / name / "work",
            "identity": {"weights": "1"},
            "output": tmp_path / name / "predictions.parquet",
        } | changes
        function(
            heads,
            dict.fromkeys(heads, settings) if function is train_heads else settings,
            training,
            scored,
            replace(tokens, ids=np.minimum(tokens.ids, top)),
            folders[family],
            **arguments,
        )
        return list(read(arguments["output"]))

    return run


def test_each_text_is_tokenised_once_and_cut_where_it_is_too_long(folders, tmp_path):
    pairs = [("b", "merger " * 5), ("a", "cash stock"), ("b", "merger " * 5), ("c", "buy " * 30)]
    counts = tokenise(pairs, folders["bert"], 10, tmp_path / "tokens.parquet")
    assert counts == {"texts": 3, "cut": 1, "longest": 32}
    found = read_tokens(tmp_path / "tokens.parquet")
    ids = {word: 4 + i for i, word in enumerate(WORDS)}
    assert found["a"].tolist() == [0, ids["cash"], ids["stock"], 2]
    assert found["b"].tolist() == [0, *[ids["merger"]] * 5, 2]
    assert found["c"].tolist() == [0, *[ids["buy"]] * 8, 2]
    assert [row["length"] for row in read(tmp_path / "tokens.parquet")] == [7, 4, 32]


def test_tokens_are_written_in_small_row_groups(folders, tmp_path):
    many = ((f"{i:04}", "cash " * (1 + i % 7)) for i in range(600))
    assert tokenise(many, folders["bert"], 10, tmp_path / "tokens.parquet")["texts"] == 600
    with pq.ParquetFile(tmp_path / "tokens.parquet") as file:
        assert [file.metadata.row_group(i).num_rows for i in range(3)] == [256, 256, 88]
    found = read_tokens(tmp_path / "tokens.parquet")
    assert all(len(found[f"{i:04}"]) == 3 + i % 7 for i in range(600))


@pytest.mark.parametrize(
    ("pairs", "family", "length", "message"),
    [
        ([("a", " \n")], "bert", 10, "text a: the text is empty"),
        ([("a", "cash"), ("a", "stock")], "bert", 10, "text a: one id stands for two texts"),
        ([("a", "cash")], "bert", 65, "max_length = 65 where the model reads 64 tokens"),
        ([("a", "cash")], "roberta", 65, "max_length = 65 where the model reads 64 tokens"),
    ],
)
def test_texts_that_cannot_be_read_are_named(folders, tmp_path, pairs, family, length, message):
    with pytest.raises(BadInput, match=message):
        tokenise(pairs, folders[family], length, tmp_path / "tokens.parquet")
    assert not (tmp_path / "tokens.parquet").exists()


def test_a_pass_of_a_queue_draws_every_answer_equally_often():
    labels = [0] * 7 + [1] * 2 + [2]
    stream = queue(labels, np.random.default_rng(0))
    for _ in range(3):
        drawn = Counter(islice(stream, 21))
        assert [drawn[i] for i in range(7)] == [1] * 7
        assert sorted([drawn[7], drawn[8]]) == [3, 4]
        assert drawn[9] == 7


LABELS = {"1": [0, 1, 1, 1], "2": [0, 1, 2, 2, 2, 2], "3": [0, 0, 1]}


@pytest.mark.parametrize("turn", [1, 2, 4])
def test_heads_take_turns_in_a_new_order_each_round(turn):
    settings = replace(SETTINGS, updates=(30,), turn=turn)
    drawn = draws(LABELS, settings, seed=3)
    assert drawn.shape == (120, 2)
    turns = drawn[:, 0].reshape(-1, turn)
    assert (turns == turns[:, :1]).all()
    rounds = turns[: len(turns) // 3 * 3, 0].reshape(-1, 3)
    assert all(sorted(order) == [0, 1, 2] for order in rounds.tolist())
    assert len(set(map(tuple, rounds.tolist()))) > 1


def test_draws_are_settled_by_the_seed_and_a_head_s_by_itself():
    settings = replace(SETTINGS, updates=(30,))
    together = draws(LABELS, settings, seed=3)
    assert (together == draws(LABELS, settings, seed=3)).all()
    assert (together != draws(LABELS, settings, seed=4)).any()
    alone = draws({"2": LABELS["2"]}, settings, seed=3)[:, 1]
    of_two = together[together[:, 0] == 1, 1]
    assert (of_two == alone[: len(of_two)]).all()
    # More updates go on from where fewer end.
    assert (draws(LABELS, replace(settings, updates=(9, 40)), seed=3)[:120] == together).all()


def test_a_subset_keeps_a_share_of_every_answer():
    training = [
        {"example_id": f"{head}/{i}", "head_id": head, "label": int(i >= 20)}
        for head in ("1", "2")
        for i in range(23)
    ]
    kept = subset(training, 0.25, seed=0)
    assert Counter((row["head_id"], row["label"]) for row in kept) == {
        ("1", 0): 5,
        ("1", 1): 1,
        ("2", 0): 5,
        ("2", 1): 1,
    }
    assert kept == [row for row in training if row in kept]
    assert {r["example_id"] for r in subset(training[::-1], 0.25, 0)} == {r["example_id"] for r in kept}
    assert [r for r in kept if r["head_id"] == "2"] == subset(training[23:], 0.25, 0)
    assert subset(training, 0.25, 1) != kept
    assert subset(training, 1, 0) == training
    with pytest.raises(BadInput, match="fraction = 0 is not above 0 and at most 1"):
        subset(training, 0, 0)


def test_a_batch_is_padded_to_its_longest_text():
    batch = padded([np.array([5, 6]), np.array([7, 8, 9])], 1)
    assert batch["input_ids"].tolist() == [[5, 6, 1], [7, 8, 9]]
    assert batch["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1]]


def test_the_loss_is_binary_cross_entropy_an_answer(folders):
    model = multi_head.load(folders["bert"], [2, 3], "own", seed=0).eval()
    batch = padded([np.array([0, 5, 2]), np.array([0, 6, 7, 2])], 1)
    heads, labels = torch.tensor([1, 0]), torch.tensor([2, 0])
    loss = model(**batch, head=heads, label=labels)["loss"]
    represented = model.represent(**batch)
    expected = []
    for row, (head, label) in enumerate(zip(heads.tolist(), labels.tolist(), strict=True)):
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
    settings = replace(SETTINGS, head=kind)
    one = {"3": HEADS["3"]}
    single = train(train_heads, one, settings, name="single")
    assert single == train(train_jointly, one, settings, name="multi")
    assert len(single) == 2 * 4
    # Also where the question is one of several in the single-task job.
    among = train(train_heads, {"2-0": HEADS["2-0"], **one}, settings, name="among")
    assert [row for row in among if row["head_id"] == "3"] == single


def test_predictions_of_every_number_of_updates(train):
    found = train(train_jointly)
    keys = [(row["updates"], row["head_id"], row["example_id"]) for row in found]
    scored = [(row["head_id"], row["example_id"]) for row in rows()[1]]
    assert keys == [(updates, *key) for updates in (2, 5) for key in sorted(scored)]
    for row in found:
        assert len(row["logits"]) == len(HEADS[row["head_id"]])
        assert row["probabilities"] == pytest.approx(1 / (1 + np.exp(-np.array(row["logits"]))))
    # Scoring on the way leaves training as it is.
    only = train(train_jointly, settings=replace(SETTINGS, updates=(5,)), name="once")
    assert only == [row for row in found if row["updates"] == 5]


def test_heads_may_have_settings_of_their_own(train, folders, tokens, tmp_path):
    two = {name: HEADS[name] for name in ("1", "3")}
    other = replace(SETTINGS, updates=(3,), learning_rate=1e-3)
    training, scored = rows(two)
    train_heads(
        two,
        {"1": SETTINGS, "3": other},
        training,
        scored,
        tokens,
        folders["bert"],
        seed=0,
        device=CPU,
        work_root=tmp_path / "work",
        identity={},
        output=tmp_path / "own.parquet",
    )
    found = list(read(tmp_path / "own.parquet"))
    assert [(u, h) for u, h in dict.fromkeys((r["updates"], r["head_id"]) for r in found)] == [
        (2, "1"),
        (3, "3"),
        (5, "1"),
    ]
    assert [r for r in found if r["head_id"] == "3"] == train(
        train_jointly, {"3": HEADS["3"]}, other, name="alone"
    )


def test_it_learns_what_the_texts_say(train, folders, tmp_path):
    said = {f"x{i:02}": f"the {'cash' if i % 2 else 'stock'} merger effect" for i in range(40)}
    tokenise(said.items(), folders["bert"], 24, tmp_path / "tokens.parquet")
    made = [
        {"example_id": text_id, "head_id": "2-0", "text_id": text_id, "label": int("cash" in text)}
        for text_id, text in said.items()
    ]
    train_heads(
        {"2-0": HEADS["2-0"]},
        {"2-0": replace(SETTINGS, updates=(40,), learning_rate=3e-3, batch_size=8)},
        made[:20],
        made[20:],
        read_tokens(tmp_path / "tokens.parquet"),
        folders["bert"],
        seed=0,
        device=CPU,
        work_root=tmp_path / "work",
        identity={},
        output=tmp_path / "out.parquet",
    )
    found = list(read(tmp_path / "out.parquet"))
    assert [int(np.argmax(row["logits"])) for row in found] == [row["label"] for row in made[20:]]


class Killed(Exception):
    pass


@pytest.fixture
def kill(monkeypatch):
    """Raise at the nth scoring from now on."""
    whole = classification._score

    def at(number):
        calls = iter(range(1, 1000))

        def score(*arguments):
            if next(calls) == number:
                raise Killed
            return whole(*arguments)

        monkeypatch.setattr(classification, "_score", score)

    yield at
    monkeypatch.undo()


@pytest.mark.parametrize("save_every", [0, 2], ids=["starts the head again", "from a checkpoint"])
def test_a_killed_job_goes_on_at_the_head_it_was_on(train, kill, tmp_path, monkeypatch, save_every):
    two, settings = {name: HEADS[name] for name in ("1", "3")}, replace(SETTINGS, save_every=save_every)
    train(train_heads, two, settings, name="whole")
    kill(4)  # the second scoring of the second head: two of five updates done, and the first head
    with pytest.raises(Killed):
        train(train_heads, two, settings, name="cut")
    started = []
    fit = classification._fit
    monkeypatch.setattr(
        classification, "_fit", lambda *a: started.append((a[1], resumed := fit(*a))) or resumed
    )
    kill(0)
    train(train_heads, two, settings, name="cut")
    assert started == [(["3"], 4 if save_every else 0)]
    whole, cut = (tmp_path / name / "predictions.parquet" for name in ("whole", "cut"))
    assert cut.read_bytes() == whole.read_bytes()
    left = sorted(path.name for path in (tmp_path / "cut" / "work").glob("*/*"))
    assert left == ["predictions.parquet"] * 2 + ["settings.json"] * 2


def test_a_killed_multi_task_training_resumes_with_the_same_result(train, kill, tmp_path):
    settings = replace(SETTINGS, save_every=1, head="own", accumulate=2)
    train(train_jointly, settings=settings, name="whole")
    kill(2)
    with pytest.raises(Killed):
        train(train_jointly, settings=settings, name="cut")
    (work,) = (tmp_path / "cut" / "work").iterdir()
    (work / "checkpoint-4" / "whole").unlink()  # as if killed while that one was written
    kill(0)
    train(train_jointly, settings=settings, name="cut")
    whole, cut = (tmp_path / name / "predictions.parquet" for name in ("whole", "cut"))
    assert cut.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    "changes", [{"identity": {"weights": "2"}}, {"seed": 1}, {"top": 9}], ids=["weights", "seed", "tokens"]
)
def test_what_was_finished_with_other_inputs_is_not_taken(train, tmp_path, changes):
    one, settings = {"1": HEADS["1"]}, replace(SETTINGS, updates=(1,))
    train(train_heads, one, settings)
    train(train_heads, one, settings, **changes)
    assert len(list((tmp_path / "run" / "work").iterdir())) == 2


def test_parts_of_a_batch_add_up_to_it(train):
    # Dropout aside, which draws for each part.
    settings = replace(SETTINGS, updates=(3,), accumulate=2)
    for name, value in (("parts", settings), ("whole", replace(settings, accumulate=1))):
        found = train(train_jointly, {"1": HEADS["1"]}, value, family="modernbert", name=name)
        logits = np.array([row["logits"] for row in found])
        if name == "parts":
            parts = logits
    assert logits == pytest.approx(parts, abs=1e-4)


@pytest.mark.parametrize(("family", "kind"), [("bigbird", "family"), ("modernbert", "own")])
def test_long_texts_by_settings_alone(train, folders, tmp_path, family, kind):
    generator = np.random.default_rng(0)
    long = {f"l{i}": " ".join(generator.choice(WORDS, n)) for i, n in enumerate((4200, 5))}
    counts = tokenise(long.items(), folders[family], 4096, tmp_path / "tokens.parquet")
    assert counts == {"texts": 2, "cut": 1, "longest": 4202}
    made = [
        {"example_id": text_id, "head_id": "1", "text_id": text_id, "label": i % 2}
        for i, text_id in enumerate(long)
    ]
    settings = TrainingSettings(
        1e-3, (1,), batch_size=2, head=kind, accumulate=2, gradient_checkpointing=True, score_batch_size=1
    )
    record = train_jointly(
        {"1": HEADS["1"]},
        settings,
        made,
        made,
        read_tokens(tmp_path / "tokens.parquet"),
        folders[family],
        seed=0,
        device=CPU,
        work_root=tmp_path / "work",
        identity={},
        output=tmp_path / "out.parquet",
    )
    assert len(record.pop("work")) == 1
    assert record == {"models": 1, "finished_before": 0, "resumed_from_update": {}, "training_examples": 2}
    assert np.isfinite([row["logits"] for row in read(tmp_path / "out.parquet")]).all()


@pytest.mark.parametrize("family", ["bert", "bigbird"])
def test_mixed_precision(train, family):
    one = {"1": HEADS["1"]}
    single = train(train_jointly, one, family=family)
    mixed = train(train_jointly, one, replace(SETTINGS, bf16=True), family=family, name="mixed")
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": 2}, "training example 1/t00: label 2 where head '1' has 2 answers"),
        ({"head_id": "9"}, "training example 1/t00: head '9' is not among the heads"),
        ({"text_id": "gone"}, "training example 1/t00: text 'gone' has no tokens"),
    ],
)
def test_rows_that_do_not_fit_are_named_before_training(folders, tokens, tmp_path, change, message):
    training, scored = rows()
    training[0] = training[0] | change
    with pytest.raises(BadInput, match=message):
        train_jointly(
            HEADS, SETTINGS, training, scored, tokens, folders["bert"],
            seed=0, device=CPU, work_root=tmp_path, identity={}, output=tmp_path / "out.parquet",
        )  # fmt: skip
    assert not list(tmp_path.iterdir())


def test_a_head_with_one_answer_to_learn_is_refused(folders, tokens, tmp_path):
    training, scored = rows()
    training = [row for row in training if row["head_id"] != "3" or row["label"] == 1]
    with pytest.raises(BadInput, match="head '3' has 3 training examples and fewer than two answers"):
        train_heads(
            HEADS, dict.fromkeys(HEADS, SETTINGS), training, scored, tokens, folders["bert"],
            seed=0, device=CPU, work_root=tmp_path, identity={}, output=tmp_path / "out.parquet",
        )  # fmt: skip
