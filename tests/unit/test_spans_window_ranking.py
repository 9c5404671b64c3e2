"""Ranking of windows, for when the number of windows per question is limited."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from transformers import PreTrainedTokenizerFast

from helpers.wordpiece import wordpiece
from lextables.pipeline.dataset import Column, Table, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans import window_ranking
from lextables.tasks.spans.features import WindowSource, write_features
from lextables.tasks.spans.settings import WindowSettings
from lextables.tasks.spans.squad import EXAMPLES
from lextables.tasks.spans.windows import open_windows

SETTINGS = WindowSettings(max_length=24, step=8, max_question_length=4)
# The second question is longer, so its windows are shorter and there may be more of
# them.
QUESTIONS = {"Governing Law": "which law", "Parties": "who are the parties"}
CLUES = {
    "Governing Law": "this agreement is governed by the laws of Ohio",
    "Parties": "made between the buyer and the seller",
}
FILLER = "the goods shall be sent to a place that is named in each order and paid for at once".split()
CONTRACTS = Table(
    "contracts",
    "Contracts of filler with two clauses.",
    (
        Column("contract_id", pa.string(), "contract"),
        Column("text", pa.string(), "text"),
    ),
    key=("contract_id",),
)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    words = sorted({*FILLER, *" ".join((*CLUES.values(), *QUESTIONS.values())).split()})
    return wordpiece(words)


def features(
    folder: Path, tokenizer, seed: int, labelled: bool, questions=QUESTIONS
) -> dict[str, str]:
    """Write the windows of twenty contracts that have both clauses; return the texts of
    the contracts.
    """
    generator = np.random.default_rng(seed)
    texts, rows = {}, []
    for number in range(20):
        name = f"c{number:02d}"
        parts = [*generator.choice(FILLER, 60).tolist()]
        for clue in CLUES.values():
            parts.insert(int(generator.integers(len(parts))), clue)
        texts[name] = " ".join(parts)
        for category, clue in CLUES.items():
            start = texts[name].index(clue)
            example = f"{name} {category}"
            place = (
                {"start": start, "end": start + len(clue)}
                if labelled
                else {"start": -1, "end": -1}
            )
            ids = {
                "example_id": example,
                "question_id": example,
                "contract_id": name,
                "category": category,
            }
            rows.append(ids | place)
    folder.mkdir()
    contracts, examples = folder / "contracts.parquet", folder / "examples.parquet"
    write(
        CONTRACTS, ({"contract_id": n, "text": t} for n, t in texts.items()), contracts
    )
    write(EXAMPLES, rows, examples)
    source = WindowSource(contracts, examples, questions, labelled=labelled)
    write_features(source, folder, tokenizer, SETTINGS, shards=3)
    return texts


@pytest.fixture(scope="module")
def ranker(tokenizer, tmp_path_factory) -> window_ranking.Ranker:
    folder = tmp_path_factory.mktemp("ranking") / "train"
    passages = window_ranking.passages(
        folder, features(folder, tokenizer, 1, labelled=True)
    )
    return window_ranking.fit(passages.texts, window_ranking.answered(passages))


@pytest.mark.parametrize("lengths", ["short question first", "long question first"])
def test_a_passage_is_the_longest_window_text_from_each_start(
    tokenizer, tmp_path, lengths
):
    folder = tmp_path / "train"
    questions = QUESTIONS
    if lengths == "long question first":
        questions = dict(zip(QUESTIONS, reversed(QUESTIONS.values()), strict=True))
    texts = features(folder, tokenizer, 1, labelled=True, questions=questions)
    passages = window_ranking.passages(folder, texts)
    windows = open_windows(folder)
    starts = {
        (windows.contract[row], windows.token_from[row]): passages.passage[row]
        for row in range(len(windows))
    }
    assert len(starts) == len(passages.texts) < len(windows)
    for row in range(len(windows)):
        words = texts[windows.contracts[windows.contract[row]]].split()
        text = passages.texts[passages.passage[row]].split()
        assert (
            text[: windows.token_to[row] - windows.token_from[row]]
            == (words[windows.token_from[row] : windows.token_to[row]])
        )
    longest = [
        max(
            windows.token_to[passages.passage == n]
            - windows.token_from[passages.passage == n]
        )
        for n in (0, 1)
    ]
    assert [len(text.split()) for text in passages.texts[:2]] == longest
    for category, held in window_ranking.answered(passages).items():
        assert all(
            CLUES[category] in text
            for text, one in zip(passages.texts, held, strict=True)
            if one
        )
        assert 20 <= held.sum() <= 60


def test_the_highest_ranked_windows_contain_the_answer(ranker, tokenizer, tmp_path):
    folder = tmp_path / "test"
    texts = features(folder, tokenizer, 2, labelled=False)
    windows, found = open_windows(folder), window_ranking.passages(folder, texts)
    chosen = window_ranking.choose(ranker, folder, texts, 1)
    assert len(chosen) == 40
    assert sorted(windows.example[chosen].tolist()) == list(range(40))
    right = [
        CLUES[windows.categories[windows.category[row]]]
        in found.texts[found.passage[row]]
        for row in chosen
    ]
    assert sum(right) >= 38
    more = window_ranking.choose(ranker, folder, texts, 3)
    assert more.dtype == np.int64 and (np.diff(more) > 0).all()
    assert set(chosen.tolist()) < set(more.tolist())
    assert np.bincount(windows.example[more]).tolist() == [3] * 40
    everything = window_ranking.choose(ranker, folder, texts, 1000)
    assert everything.tolist() == list(range(len(windows)))


def test_a_loaded_ranker_equals_the_saved_one(ranker, tmp_path):
    for name in ("one.npz", "two.npz"):
        window_ranking.save(ranker, tmp_path / name)
    again = window_ranking.load(tmp_path / "one.npz")
    assert (again.terms, again.categories) == (ranker.terms, ranker.categories)
    assert np.array_equal(again.idf, ranker.idf) and np.array_equal(
        again.weights, ranker.weights
    )
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    texts = list(CLUES.values())
    assert np.array_equal(
        window_ranking.scores(again, texts), window_ranking.scores(ranker, texts)
    )
    assert window_ranking.scores(ranker, texts).argmax(axis=0).tolist() == [0, 1]


def test_a_category_with_no_or_only_answers_has_zero_weights():
    texts = ["one two", "two three", "three one"]
    held = {
        "never": np.zeros(3, dtype=bool),
        "always": np.ones(3, dtype=bool),
        "once": np.array([True, False, False]),
    }
    ranker = window_ranking.fit(texts, held)
    assert ranker.categories == ("always", "never", "once")
    assert ranker.weights.any(axis=1).tolist() == [False, False, True]


def test_passages_without_common_words_and_unknown_categories_are_rejected(
    ranker, tokenizer, tmp_path
):
    with pytest.raises(BadInput, match="no word is in two of the 2 passages"):
        window_ranking.fit(["one", "two"], {})
    folder = tmp_path / "test"
    texts = features(folder, tokenizer, 2, labelled=False)
    fewer = window_ranking.Ranker(
        ranker.terms, ranker.idf, ranker.categories[:1], ranker.weights[:1]
    )
    with pytest.raises(BadInput, match="was not trained on the category 'Parties'"):
        window_ranking.choose(fewer, folder, texts, 1)
