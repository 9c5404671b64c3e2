"""Predictions of a span-extraction model: the spans of its windows by the n-best
rule, and the windows that are read.
"""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import BertForQuestionAnswering

from helpers import marked_contracts
from helpers.marked_contracts import WINDOWS, WORDINGS, equal, features, weights
from helpers.trained_spans import changed, dataset_of, sampled, tuned
from helpers.wordpiece import wordpiece
from lextables.models import loading
from lextables.models.loading import save
from lextables.pipeline.dataset import read, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans import window_ranking
from lextables.tasks.spans.features import WindowSource, write_features
from lextables.tasks.spans.inference import (
    RANKER,
    RECORD,
    Best,
    FinalText,
    InferenceFiles,
    Spelling,
    fit_ranker,
    nbest,
    predict,
    read_contracts,
    read_windows,
    top,
)
from lextables.tasks.spans.settings import NbestSettings
from lextables.tasks.spans.squad import contract_texts
from lextables.tasks.spans.tokens import tokenise
from lextables.tasks.spans.windows import open_windows

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def tokenizer():
    return marked_contracts.tokenizer()


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return marked_contracts.save_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """The folder of the training windows, the texts of their contracts, and the spans
    of the questions.
    """
    folder = tmp_path_factory.mktemp("train")
    return folder, *features(folder, 120, seed=1)


@pytest.fixture(scope="module")
def trained(encoder, learnt, tmp_path_factory) -> BertForQuestionAnswering:
    work, settings = tmp_path_factory.mktemp("work"), {"learning_rate": 1e-2}
    model, _ = tuned(encoder, sampled(learnt[0]), work, epochs=1, **settings)
    return model


def reference(logits, places, before, tokens, text, limits):
    """The released rule, computed pair by pair: (text, start logit, end logit) of each
    prediction.
    """
    (start_logits, end_logits), (token_from, token_to) = logits, places
    n_best, max_answer_length = limits

    def context(token, window):
        inside = range(token_from[window], token_to[window])
        return min(token - inside.start, inside.stop - 1 - token) + 0.01 * len(inside)

    def most_context(token, window):
        bounds = enumerate(zip(token_from, token_to, strict=True))
        having = [w for w, (low, high) in bounds if low <= token < high]
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
            if (
                last < first
                or last - first + 1 > max_answer_length
                or not most_context(first, window)
            ):
                continue
            span = text[tokens.starts[first] : tokens.ends[last]]
            found.append((span, starts[start], ends[end]))
    found.append(("", *null))
    kept, seen = [], set()
    for span, start, end in sorted(
        found, key=lambda one: one[1] + one[2], reverse=True
    ):
        if len(kept) >= n_best:
            break
        if span not in seen:
            kept.append((span, start, end))
            seen.add(span)
    if "" not in seen:
        kept.append(("", *null))
    if len(kept) == 1:  # then the released code adds an answer with this text
        kept.insert(0, ("empty", 0.0, 0.0))
    return kept


LETTERS = wordpiece(["a", "bb", "c"])
MARKED = wordpiece(["(", "the", "te", "##rm", ")", "ends"])


def some_windows(generator, length, capacity):
    """Return the first tokens of overlapping windows of a contract of ``length``
    tokens, and the tokens after them; some windows are left out, as if not read.
    """
    step = int(generator.integers(2, 5))
    token_from = np.arange(0, max(1, length - capacity + step), step)
    token_from = token_from[token_from < length]
    count = generator.integers(1, len(token_from) + 1)
    token_from = np.sort(generator.choice(token_from, count, replace=False))
    return token_from, np.minimum(token_from + capacity, length)


def some_logits(generator, size, *, with_ties):
    """Return logits of the tokens of a window."""
    if with_ties:
        return generator.integers(-3, 3, size).astype(np.float32).tolist()
    return generator.normal(size=size).astype(np.float32).tolist()


@pytest.mark.parametrize("seed", range(60))
def test_nbest_equals_the_released_rule(seed):
    generator = np.random.default_rng(seed)
    length = int(generator.integers(1, 60))
    # Few different words, so that the same text occurs at several positions.
    words = generator.choice(["a", "bb", "c"], length).tolist()
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    tokens = tokenise(LETTERS, " ".join(words), "a contract")
    assert tokens.ends.tolist() == ends.tolist()
    before = 5  # tokens of the question
    capacity = int(generator.integers(4, 30))
    token_from, token_to = some_windows(generator, length, capacity)
    sizes = before + token_to - token_from + 1
    with_ties = seed % 2 == 1
    start_logits = []
    end_logits = []
    for size in sizes:
        start_logits.append(some_logits(generator, size, with_ties=with_ties))
        end_logits.append(some_logits(generator, size, with_ties=with_ties))
    n_best = int(generator.integers(1, 25))
    max_answer_length = int(generator.integers(1, 12))
    text = " ".join(words)

    padded = torch.full((2, len(sizes), sizes.max() + 3), 99.0)
    mask = torch.zeros(padded.shape[1:], dtype=torch.int64)
    for row, size in enumerate(sizes):
        for part, logits in enumerate((start_logits, end_logits)):
            padded[part, row, :size] = torch.tensor(logits[row])
        mask[row, :size] = 1
    starts, ends = (top(logits, mask, n_best) for logits in padded)
    best = Best(*starts, *ends, *padded[:, :, 0].double().numpy())
    places = (token_from, token_to)
    limits = (n_best, max_answer_length)
    contract = FinalText(Spelling(LETTERS), text, tokens)
    spans = nbest(best, *places, np.full(len(sizes), before), contract, *limits)

    logits = (start_logits, end_logits)
    expected = reference(logits, places, before, tokens, text, limits)
    found = [(span.released_text, span.start_logit, span.end_logit) for span in spans]
    assert found == expected
    for span in spans:
        assert span.text == span.released_text.replace("empty", "")
    odds = np.array([math.exp(start + end) for _, start, end in expected])
    probabilities = [span.probability for span in spans]
    assert probabilities == pytest.approx(odds / odds.sum())
    assert all(text[span.start : span.end] == span.text for span in spans if span.text)
    assert {(span.start, span.end) for span in spans if not span.text} == {(-1, -1)}


def test_equal_logits_are_ordered_by_position_and_padding_is_ignored():
    logits = torch.tensor([[1.0, 2.0, 2.0, 9.0], [0.0, 1.0, 0.0, 1.0]])
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]])
    positions, values = top(logits, mask, 3)
    assert positions.tolist() == [[1, 2, 0], [1, 3, 0]]
    assert values.tolist() == [[2, 2, 1], [1, 1, 0]]


def one_window(starts: list[float], ends: list[float], n_best: int) -> Best:
    logits = torch.tensor([[starts], [ends]], dtype=torch.float32)
    mask = torch.ones(1, len(starts), dtype=torch.int64)
    best_starts, best_ends = (top(part, mask, n_best) for part in logits)
    return Best(*best_starts, *best_ends, *logits[:, :, 0].double().numpy())


def spans_of(words, text, best, *limits):
    """Return the spans of a question with one window that has the whole text."""
    tokens = tokenise(words, text, "a contract")
    contract = FinalText(Spelling(words), text, tokens)
    places = [np.array([0]), np.array([len(tokens)]), np.array([1])]
    return nbest(best, *places, contract, *limits)


def test_a_prediction_has_the_released_text_and_a_slice_of_the_contract():
    text = "(the  term)\nends"
    tokens = tokenise(MARKED, text, "a contract")
    assert MARKED.convert_ids_to_tokens(tokens.ids.tolist()) == [
        "(",
        "the",
        "te",
        "##rm",
        ")",
        "ends",
    ]
    # Spans inside brackets, spans that begin inside a word, and the same words with a
    # lower score.
    best = one_window(
        [0.0, -9, 5, -9, 4, 3, -9, -99], [0.0, -9, -9, -9, 5, -9, 4, -99], n_best=4
    )
    spans = spans_of(MARKED, text, best, 5, 6)
    assert [(span.released_text, span.text, span.start) for span in spans] == [
        ("the term", "the  term", 1),
        ("the term) ends", "the  term)\nends", 1),
        ("term)", "rm", 8),
        ("term) ends", "rm)\nends", 8),
        (") ends", ")\nends", 10),
        ("", "", -1),
    ]
    assert all(text[span.start : span.end] == span.text for span in spans[:-1])


def test_without_a_valid_span_the_released_prediction_empty_is_added():
    best = one_window([1.0, -1.0, 3.0, 0.0], [1.0, 3.0, -1.0, 0.0], n_best=1)
    spans = spans_of(LETTERS, "a bb", best, 1, 5)
    # Softmax over the scores 0 and 2.
    expected = [("empty", "", -1, -1, 0.1192029), ("", "", -1, -1, 0.8807971)]
    assert [
        (s.released_text, s.text, s.start, s.end, round(s.probability, 7))
        for s in spans
    ] == expected


READING = NbestSettings(
    **WINDOWS.plain(),
    windows_per_question=None,
    n_best=4,
    max_answer_length=10,
    bf16=False,
)


FIRST = np.arange(80)


def predicted(model, learnt, rows=FIRST, settings=READING, **options):
    folder, texts, _ = learnt
    return list(predict(model, dataset_of(folder, rows), texts, settings, **options))


def best_texts(rows):
    return [row["text"] for row in rows if row["rank"] == 0]


@pytest.fixture(scope="module")
def prediction(learnt, trained):
    return predicted(trained, learnt, batch_size=1)


def test_predictions_do_not_depend_on_batches_or_the_order_of_windows(
    prediction, learnt, trained
):
    rows = predicted(trained, learnt, FIRST[::-1], batch_size=7)
    keys = [(row["question_id"], row["rank"]) for row in rows]
    assert keys == sorted(keys)
    windows = open_windows(learnt[0])
    asked = {windows.examples[example] for example in windows.example[FIRST]}
    assert {row["question_id"] for row in rows} == asked
    assert best_texts(rows) == best_texts(prediction)
    for row, expected in zip(rows, prediction, strict=True):
        if row["rank"] == 0:
            probability = expected["probability"]
            assert row["probability"] == pytest.approx(probability, abs=1e-4)


def test_bfloat16_predicts_similar_spans_without_changing_the_model(
    prediction, learnt, trained
):
    before = weights(trained)
    rows = predicted(trained, learnt, settings=changed(READING, bf16=True))
    assert equal(before, weights(trained))
    best, expected = best_texts(rows), best_texts(prediction)
    same = [one == other for one, other in zip(best, expected, strict=True)]
    assert sum(same) >= 0.9 * len(same)
    logits = {row["start_logit"] for row in rows}
    assert logits != {row["start_logit"] for row in prediction}


def test_logits_that_are_not_finite_raise_an_error(encoder, learnt):
    model = loading.load_span_model(encoder, CPU)
    model.qa_outputs.bias.data[:] = torch.nan
    with pytest.raises(BadInput, match="not all finite"):
        predicted(model, learnt, FIRST[:2])


@pytest.fixture(scope="module")
def saved(trained, tokenizer, tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("saved") / "weights"
    save(trained, tokenizer, folder)
    return str(folder)


@pytest.fixture(scope="module")
def asked(learnt, tokenizer, tmp_path_factory):
    """Twelve test contracts, and their texts."""
    folder = tmp_path_factory.mktemp("asked")
    splits = {f"t{n:02d}": "test" for n in range(12)}
    texts, _ = marked_contracts.data_set(folder, splits, seed=3)
    contracts, questions = folder / "contracts.parquet", folder / "questions.parquet"
    windows = folder / "windows"
    source = WindowSource(contracts, questions, WORDINGS, labelled=False)
    write_features(source, windows, tokenizer, WINDOWS, shards=2)
    return InferenceFiles(contracts, questions, windows, learnt[0]), texts


@pytest.fixture
def rankable(asked, learnt, tmp_path):
    """The same with the texts of the training contracts, as the table of contracts has
    both splits.
    """
    files, texts = asked
    rows = []
    for part, split in ((learnt[1], "train"), (texts, "test")):
        for name, text in part.items():
            rows.append({"contract_id": name, "split": split, "text": text})
    write(marked_contracts.CONTRACTS, rows, tmp_path / "contracts.parquet")
    return replace(files, contracts=tmp_path / "contracts.parquet")


def test_a_limit_on_windows_reads_the_most_likely_ones_and_saves_the_ranker(
    rankable, saved, tmp_path
):
    settings = changed(READING, windows_per_question=1)
    output, beside = tmp_path / "predictions.parquet", tmp_path / "reading"
    windows = len(open_windows(rankable.windows))
    job = (saved, CPU, output, beside)
    found = read_contracts(rankable, READING, *job)
    assert found == {"windows_read": windows, "windows": windows}
    assert json.loads((beside / RECORD).read_text()) == READING.model_dump()
    assert not (beside / RANKER).exists()
    found = read_contracts(rankable, settings, *job)
    assert found == {"windows_read": 24, "windows": windows}
    assert windows > 24
    assert json.loads((beside / RECORD).read_text())["windows_per_question"] == 1
    # The saved ranker chooses the same windows again, and these give the same spans.
    kept = window_ranking.load(beside / RANKER)
    texts = contract_texts(rankable.contracts)
    chosen = window_ranking.choose(kept, rankable.windows, texts, 1)
    dataset = dataset_of(rankable.windows, chosen)
    again = read_windows(dataset, texts, settings, saved, CPU)
    for row, expected in zip(again, read(output), strict=True):
        for name in ("question_id", "rank", "text"):
            assert row[name] == expected[name]


def test_the_ranker_is_not_fitted_on_held_out_contracts(learnt):
    folder, texts, _ = learnt
    unseen = frozenset(sorted(texts)[:60])
    # Words that occur only in held-out contracts, as long as the words that they
    # replace.
    strange = {**texts, **{name: texts[name].replace("w", "q") for name in unseen}}
    found = fit_ranker(folder, strange, unseen)
    assert "q" not in "".join(found.terms)
    assert "q" in "".join(fit_ranker(folder, strange, frozenset()).terms)
    same = fit_ranker(folder, texts, unseen)
    assert (found.terms, found.weights.tolist()) == (same.terms, same.weights.tolist())


def test_a_model_without_a_trained_head_is_rejected(asked, encoder, tmp_path):
    files, _ = asked
    output = tmp_path / "predictions.parquet"
    with pytest.raises(
        BadInput, match="the weights lack 2 tensors, such as qa_outputs"
    ):
        read_contracts(files, READING, encoder, CPU, output, tmp_path)
    assert not output.exists()
