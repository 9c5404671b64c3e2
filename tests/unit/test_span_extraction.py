"""Training and reading of spans, on a model of two layers with weights of its own."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForQuestionAnswering, BertModel, PreTrainedTokenizerFast

from lextables.dataset import Column, Table, write
from lextables.errors import BadInput
from lextables.models import span_extraction
from lextables.models.final_text import FinalText, Spelling
from lextables.models.span_extraction import Best, nbest, top
from lextables.models.span_tokens import tokenise
from lextables.models.span_windows import (
    Collator,
    WindowDataset,
    WindowSettings,
    balanced,
    empty_weight,
    open_windows,
    write_features,
)
from lextables.models.squad import EXAMPLES
from wordpiece import wordpiece

CPU = torch.device("cpu")
SETTINGS = WindowSettings(max_length=32, step=16, max_question_length=4)
QUESTIONS = {"term": "which term", "party": "which party"}
WORDS = [f"w{number}" for number in range(30)]
# An answer begins and ends with these, a word between them.
MARKS = ("alpha", "omega")
CONTRACTS = Table(
    "contracts",
    "Contracts of random words.",
    tuple(Column(name, EXAMPLES.schema.field("example_id").type, name) for name in ("contract_id", "text")),
    key=("contract_id",),
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return wordpiece(["which", *QUESTIONS, *MARKS, *WORDS], lowercase=True)


def config(tokenizer: PreTrainedTokenizerFast, dropout: float = 0.1) -> BertConfig:
    return BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )


@pytest.fixture(scope="module")
def encoder(tokenizer, tmp_path_factory) -> str:
    """A folder of an encoder without a span head, as pretrained ones come."""
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    BertModel(config(tokenizer, dropout=0.0)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def contract(generator: np.random.Generator) -> tuple[str, tuple[int, int]]:
    """Random words, two of three times with an answer among them, and where it is (-1 and -1: nowhere)."""
    length = int(generator.integers(15, 40))
    words = generator.choice(WORDS, length).tolist()
    if generator.random() < 1 / 3:
        return " ".join(words), (-1, -1)
    place = int(generator.integers(length - 2))
    words[place], words[place + 2] = MARKS
    start = len(" ".join([*words[:place], ""]))
    return " ".join(words), (start, start + len(" ".join(words[place : place + 3])))


def features(folder: Path, tokenizer, count: int, seed: int) -> tuple[dict[str, str], dict]:
    """Write ``count`` contracts' windows to ``folder``; return their texts and the questions' spans."""
    generator = np.random.default_rng(seed)
    texts, spans = {}, {}
    for number in range(count):
        name = f"c{number:03d}"
        texts[name], place = contract(generator)
        # The ids of questions go across the order of contracts.
        spans |= {f"{category}-{name}": (name, *place) for category in QUESTIONS}
    rows = [
        {
            "example_id": example,
            "question_id": example,
            "contract_id": name,
            "category": example.partition("-")[0],
            "start": start,
            "end": end,
        }
        for example, (name, start, end) in sorted(spans.items())
    ]
    folder.mkdir(parents=True, exist_ok=True)
    write(CONTRACTS, ({"contract_id": n, "text": t} for n, t in texts.items()), folder / "contracts.parquet")
    write(EXAMPLES, rows, folder / "examples.parquet")
    write_features(
        folder / "contracts.parquet",
        folder / "examples.parquet",
        QUESTIONS,
        folder,
        tokenizer,
        SETTINGS,
        shards=2,
    )
    return texts, spans


@pytest.fixture(scope="module")
def training(tokenizer, tmp_path_factory) -> tuple[Path, dict[str, str], dict]:
    folder = tmp_path_factory.mktemp("train")
    return folder, *features(folder, tokenizer, 120, seed=1)


def sample(folder: Path, tokenizer, most: int | None = None) -> WindowDataset:
    windows = open_windows(folder)
    rows = balanced(windows.start_positions, windows.end_positions, seed=0)
    return WindowDataset(folder, tokenizer, SETTINGS, QUESTIONS, rows[:most])


@pytest.fixture(scope="module")
def trained(encoder, training, tokenizer, tmp_path_factory) -> BertForQuestionAnswering:
    model = span_extraction.load(encoder, CPU, seed=0)
    span_extraction.finetune(
        model,
        sample(training[0], tokenizer),
        Collator.of(tokenizer),
        learning_rate=1e-2,
        epochs=4,
        batch_size=16,
        seed=0,
        work=tmp_path_factory.mktemp("work"),
        save_every=1000,
    )
    return model


def weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: part.detach().clone() for name, part in model.state_dict().items()}


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


# --- the n-best rule


def reference(
    start_logits, end_logits, token_from, token_to, before, tokens, text, n_best, max_answer_length
) -> list[tuple[str, float, float]]:
    """The released rule, pair by pair: (text, start logit, end logit) of each kept prediction."""

    def context(token, window):
        inside = range(token_from[window], token_to[window])
        return min(token - inside.start, inside.stop - 1 - token) + 0.01 * len(inside)

    def most_context(token, window):
        having = [w for w in range(len(token_from)) if token_from[w] <= token < token_to[w]]
        return window == max(having, key=lambda w: (context(token, w), -w))

    def best(logits):
        return sorted(range(len(logits)), key=lambda at: (-logits[at], at))[:n_best]

    found, null = [], None
    for window, (starts, ends) in enumerate(zip(start_logits, end_logits, strict=True)):
        if null is None or starts[0] + ends[0] < sum(null):
            null = starts[0], ends[0]
        contract_tokens = range(token_from[window], token_to[window])
        for start, end in itertools.product(best(starts), best(ends)):
            first, last = (token_from[window] + at - before for at in (start, end))
            if first not in contract_tokens or last not in contract_tokens:
                continue
            if last < first or last - first + 1 > max_answer_length or not most_context(first, window):
                continue
            span = text[tokens.starts[first] : tokens.ends[last]]
            found.append((span, starts[start], ends[end]))
    found.append(("", *null))
    kept, seen = [], set()
    for span, start, end in sorted(found, key=lambda one: one[1] + one[2], reverse=True):
        if len(kept) >= n_best:
            break
        if span not in seen:
            kept.append((span, start, end))
            seen.add(span)
    if "" not in seen:
        kept.append(("", *null))
    return [("empty", 0.0, 0.0), *kept] if len(kept) == 1 else kept


LETTERS = wordpiece(["a", "bb", "c"])
MARKED = wordpiece(["(", "the", "te", "##rm", ")", "ends"])


@pytest.mark.parametrize("seed", range(60))
def test_nbest_is_the_released_rule(seed):
    generator = np.random.default_rng(seed)
    length = int(generator.integers(1, 60))
    # Few words, so that one text stands at several places.
    words = generator.choice(["a", "bb", "c"], length).tolist()
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    tokens = tokenise(LETTERS, " ".join(words), "a contract")
    assert tokens.ends.tolist() == ends.tolist()
    capacity, step, before = int(generator.integers(4, 30)), int(generator.integers(2, 5)), 5
    token_from = np.arange(0, max(1, length - capacity + step), step)
    token_from = token_from[token_from < length]
    # Some windows were not read.
    token_from = np.sort(
        generator.choice(token_from, generator.integers(1, len(token_from) + 1), replace=False)
    )
    token_to = np.minimum(token_from + capacity, length)
    draw = (
        (lambda size: generator.integers(-3, 3, size).astype(np.float32))
        if seed % 2
        else (lambda size: generator.normal(size=size).astype(np.float32))
    )
    sizes = before + token_to - token_from + 1
    start_logits, end_logits = ([draw(size).tolist() for size in sizes] for _ in range(2))
    n_best, max_answer_length = int(generator.integers(1, 25)), int(generator.integers(1, 12))
    text = " ".join(words)

    padded = torch.full((2, len(sizes), sizes.max() + 3), 99.0)
    mask = torch.zeros(padded.shape[1:], dtype=torch.int64)
    for row, size in enumerate(sizes):
        padded[0, row, :size], padded[1, row, :size] = (
            torch.tensor(part[row]) for part in (start_logits, end_logits)
        )
        mask[row, :size] = 1
    best = Best(
        *top(padded[0], mask, n_best),
        *top(padded[1], mask, n_best),
        padded[0, :, 0].double().numpy(),
        padded[1, :, 0].double().numpy(),
    )
    spans = nbest(
        best,
        token_from,
        token_to,
        np.full(len(sizes), before),
        FinalText(Spelling(LETTERS), text, tokens),
        n_best,
        max_answer_length,
    )

    expected = reference(
        start_logits, end_logits, token_from, token_to, before, tokens, text, n_best, max_answer_length
    )
    assert [(span.released_text, span.start_logit, span.end_logit) for span in spans] == expected
    assert [span.text for span in spans if span.released_text != "empty"] == [
        released for released, *_ in expected if released != "empty"
    ]
    total = math.fsum(math.exp(start + end) for _, start, end in expected)
    assert [span.probability for span in spans] == pytest.approx(
        [math.exp(start + end) / total for _, start, end in expected]
    )
    assert all(text[span.start : span.end] == span.text for span in spans if span.text)
    assert {(span.start, span.end) for span in spans if not span.text} == {(-1, -1)}


def test_equal_logits_go_by_position_and_padding_takes_no_place():
    logits = torch.tensor([[1.0, 2.0, 2.0, 9.0], [0.0, 1.0, 0.0, 1.0]])
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]])
    positions, values = top(logits, mask, 3)
    assert positions.tolist() == [[1, 2, 0], [1, 3, 0]]
    assert values.tolist() == [[2, 2, 1], [1, 1, 0]]


def one_window(starts: list[float], ends: list[float], n_best: int) -> Best:
    mask = torch.ones(1, len(starts), dtype=torch.int64)
    parts = (top(torch.tensor([logits]), mask, n_best) for logits in (starts, ends))
    return Best(*itertools.chain(*parts), np.array([starts[0]]), np.array([ends[0]]))


def test_a_prediction_has_its_released_text_and_its_slice():
    text = "(the  term)\nends"
    tokens = tokenise(MARKED, text, "a contract")
    assert MARKED.convert_ids_to_tokens(tokens.ids.tolist()) == ["(", "the", "te", "##rm", ")", "ends"]
    # The term within its bracket; from the middle of a word on; the same words once more, less likely.
    best = one_window([0.0, -9, 5, -9, 4, 3, -9, -99], [0.0, -9, -9, -9, 5, -9, 4, -99], n_best=4)
    spans = nbest(
        best, np.array([0]), np.array([6]), np.array([1]), FinalText(Spelling(MARKED), text, tokens), 5, 6
    )
    assert [(span.released_text, span.text, span.start) for span in spans] == [
        ("the term", "the  term", 1),
        ("the term) ends", "the  term)\nends", 1),
        ("term)", "rm", 8),
        ("term) ends", "rm)\nends", 8),
        (") ends", ")\nends", 10),
        ("", "", -1),
    ]
    assert all(text[span.start : span.end] == span.text for span in spans[:-1])


def test_where_no_span_qualifies_the_release_makes_one_up():
    tokens = tokenise(LETTERS, "a bb", "a contract")
    best = one_window([1.0, -1.0, 3.0, 0.0], [1.0, 3.0, -1.0, 0.0], n_best=1)
    contract = FinalText(Spelling(LETTERS), "a bb", tokens)
    spans = nbest(best, np.array([0]), np.array([2]), np.array([1]), contract, 1, 5)
    # Softmax over the scores 0 and 2.
    expected = [("empty", "", -1, -1, 0.1192029), ("", "", -1, -1, 0.8807971)]
    assert [(s.released_text, s.text, s.start, s.end, round(s.probability, 7)) for s in spans] == expected


# --- training


def test_a_marked_phrase_is_learnt(trained, tokenizer, tmp_path):
    texts, spans = features(tmp_path, tokenizer, 30, seed=2)
    dataset = WindowDataset(tmp_path, tokenizer, SETTINGS, QUESTIONS)
    rows = list(span_extraction.predict(trained, dataset, texts, Collator.of(tokenizer), batch_size=64))
    right = 0
    for row in rows:
        if row["rank"] == 0:
            name, start, end = spans[row["question_id"]]
            right += (row["start"], row["end"]) == (start, end)
            assert row["text"] == (texts[name][row["start"] : row["end"]] if row["text"] else "")
    assert len(spans) == 60
    assert right >= 55
    write(span_extraction.NBEST, rows, tmp_path / "predictions.parquet")


@pytest.fixture(scope="module")
def prediction(training, trained, tokenizer):
    folder, texts, _ = training
    chosen = np.arange(0, 80)
    dataset = WindowDataset(folder, tokenizer, SETTINGS, QUESTIONS, chosen)
    read = list(span_extraction.predict(trained, dataset, texts, Collator.of(tokenizer), batch_size=1))
    return texts, read


@pytest.mark.parametrize("order", [1, -1])
def test_neither_batches_nor_the_order_of_windows_change_a_prediction(
    order, prediction, training, trained, tokenizer
):
    texts, expected = prediction
    dataset = WindowDataset(training[0], tokenizer, SETTINGS, QUESTIONS, np.arange(0, 80)[::order])
    read = list(span_extraction.predict(trained, dataset, texts, Collator.of(tokenizer), batch_size=7))
    assert [(row["question_id"], row["rank"]) for row in read] == sorted(
        (row["question_id"], row["rank"]) for row in read
    )
    assert len({row["question_id"] for row in read}) == len({*dataset.windows.example[:80].tolist()})
    best = [[row for row in rows if row["rank"] == 0] for rows in (expected, read)]
    assert [row["text"] for row in best[0]] == [row["text"] for row in best[1]]
    assert [row["probability"] for row in best[1]] == pytest.approx(
        [row["probability"] for row in best[0]], abs=1e-4
    )


def test_bfloat16_reads_the_same_spans_and_leaves_the_model_as_it_was(
    prediction, training, trained, tokenizer
):
    texts, expected = prediction
    before = weights(trained)
    dataset = WindowDataset(training[0], tokenizer, SETTINGS, QUESTIONS, np.arange(0, 80))
    read = list(
        span_extraction.predict(trained, dataset, texts, Collator.of(tokenizer), batch_size=8, bf16=True)
    )
    assert equal(before, weights(trained))
    best = [[row["text"] for row in rows if row["rank"] == 0] for rows in (expected, read)]
    assert sum(a == b for a, b in zip(*best, strict=True)) >= 0.9 * len(best[0])
    assert [row["start_logit"] for row in expected] != [row["start_logit"] for row in read]


def test_logits_that_are_not_numbers_are_an_error(encoder, training, tokenizer):
    model = span_extraction.load(encoder, CPU)
    model.qa_outputs.bias.data[:] = torch.nan
    dataset = WindowDataset(training[0], tokenizer, SETTINGS, QUESTIONS, np.arange(2))
    with pytest.raises(BadInput, match="not numbers"):
        list(span_extraction.predict(model, dataset, training[1], Collator.of(tokenizer), batch_size=2))


class Killed(Exception):
    """Stands for the end of the process."""


class Dying(WindowDataset):
    """Windows that end the training when the ``left``-th is asked for."""

    left = 0

    def __getitem__(self, item):
        self.left -= 1
        if self.left == 0:
            raise Killed
        return super().__getitem__(item)


def test_a_killed_training_goes_on_to_the_same_weights(training, tokenizer, tmp_path):
    folder = tmp_path / "model"
    torch.manual_seed(1)
    BertForQuestionAnswering(config(tokenizer)).save_pretrained(folder)
    settings = {"learning_rate": 1e-3, "epochs": 3, "batch_size": 8, "seed": 5, "save_every": 3}

    def train(dataset, work):
        model = span_extraction.load(str(folder), CPU)
        resumed = span_extraction.finetune(model, dataset, Collator.of(tokenizer), work=work, **settings)
        return resumed, weights(model)

    whole = sample(training[0], tokenizer, most=40)
    _, expected = train(whole, tmp_path / "unbroken")
    # Five updates an epoch: the kill falls into the second, after the checkpoint at update 6.
    dying = Dying(training[0], tokenizer, SETTINGS, QUESTIONS, whole.rows)
    dying.left = 72
    with pytest.raises(Killed):
        train(dying, tmp_path / "broken")
    # A checkpoint cut short by the kill does not count.
    (tmp_path / "broken" / "checkpoint-9").mkdir()
    resumed, got = train(whole, tmp_path / "broken")
    assert resumed == 6
    assert equal(got, expected)
    assert not equal(got, weights(span_extraction.load(str(folder), CPU)))


def test_a_batch_in_parts_is_the_batch_and_bfloat16_is_near_it(encoder, training, tokenizer, tmp_path):
    dataset = sample(training[0], tokenizer, most=32)
    batch = Collator.of(tokenizer)([dataset[item] for item in range(4)])
    losses = []
    for number, how in enumerate(({}, {"accumulation": 4}, {"bf16": True})):
        model = span_extraction.load(encoder, CPU)
        span_extraction.finetune(
            model,
            dataset,
            Collator.of(tokenizer),
            learning_rate=1e-3,
            epochs=2,
            batch_size=16,
            seed=0,
            work=tmp_path / str(number),
            save_every=100,
            **how,
        )
        losses.append(model(**batch).loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert losses[2] == pytest.approx(losses[0], rel=0.02)
    assert losses[2] != losses[0]
    with pytest.raises(ValueError, match="accumulation = 3"):
        span_extraction.finetune(
            model,
            sample(training[0], tokenizer),
            Collator.of(tokenizer),
            learning_rate=1e-3,
            epochs=1,
            batch_size=16,
            seed=0,
            work=tmp_path,
            save_every=100,
            accumulation=3,
        )


def test_empty_windows_weigh_what_they_are_told(encoder, training, tokenizer, tmp_path):
    windows = open_windows(training[0])
    answered = windows.start_positions[:60] > 0
    weight = empty_weight(windows.start_positions[:60], windows.end_positions[:60])
    model = span_extraction.load(encoder, CPU).eval()
    dataset = WindowDataset(training[0], tokenizer, SETTINGS, QUESTIONS, np.arange(60))
    collator = Collator.of(tokenizer)
    losses = []
    for given in (1.0, weight, 0.0):
        trainer = span_extraction._SpanTrainer(
            model=model,
            args=span_extraction.TrainingArguments(str(tmp_path), use_cpu=True, report_to="none"),
            answered=answered,
            empty_weight=given,
        )
        batch = collator([dataset[item] for item in range(len(dataset))])
        losses.append(trainer.compute_loss(model, batch).item())
    # A window alone needs no padding, and the model's own loss serves.
    alone = np.array([model(**collator([dataset[item]])).loss.item() for item in range(len(dataset))])
    kinds = [alone[answered].mean(), alone[~answered].mean()]
    share = answered.mean()
    assert losses[0] == pytest.approx(share * kinds[0] + (1 - share) * kinds[1], rel=1e-4)
    # Both kinds weigh the same; with no weight the empty ones are not there.
    assert losses[1] == pytest.approx((kinds[0] + kinds[1]) / 2, rel=1e-4)
    assert losses[2] == pytest.approx(kinds[0], rel=1e-4)


@pytest.mark.parametrize(
    ("windows", "batch_size", "epochs", "most", "expected"),
    [
        (100, 40, 4, None, 12),
        (80, 40, 1, None, 2),
        (100, 40, 4, 5, 5),
        (100, 40, 4, 50, 12),
        (1, 40, 0.1, None, 1),
    ],
)
def test_updates(windows, batch_size, epochs, most, expected):
    assert span_extraction.updates(windows, batch_size, epochs, most) == expected


# --- loading and saving


def test_a_fresh_head_is_drawn_by_the_seed_in_silence(encoder, capfd):
    one, same, other = (span_extraction.load(encoder, CPU, seed) for seed in (3, 3, 4))
    assert equal(weights(one), weights(same))
    assert not torch.equal(one.qa_outputs.weight, other.qa_outputs.weight)
    assert equal(weights(one.bert), weights(other.bert))
    assert capfd.readouterr() == ("", "")


def test_a_folder_without_the_encoder_is_refused(tokenizer, tmp_path):
    BertModel(replaced(config(tokenizer), num_hidden_layers=1)).save_pretrained(tmp_path)
    config(tokenizer).save_pretrained(tmp_path)
    with pytest.raises(BadInput, match="lack 16 tensors, such as bert.encoder.layer.1"):
        span_extraction.load(str(tmp_path), CPU)


def replaced(settings: BertConfig, **changes) -> BertConfig:
    return BertConfig(**settings.to_dict() | changes)


def test_saving_replaces_a_folder_whole_or_not_at_all(trained, tokenizer, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "old").touch()
    span_extraction.save(trained, tokenizer, folder)
    names = {path.name for path in folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= names
    assert "old" not in names
    assert equal(weights(span_extraction.load(str(folder), CPU)), weights(trained))
    content = (folder / "model.safetensors").read_bytes()

    class Broken:
        def save_pretrained(self, path):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        span_extraction.save(trained, Broken(), folder)
    assert (folder / "model.safetensors").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
