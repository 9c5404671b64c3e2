"""Windows of contracts: how they are written, opened, padded and sampled."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from helpers.tokenizer_kinds import QUESTION, TEXT, albert, bert, roberta
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.features import WindowSource, spans, write_features
from lextables.tasks.spans.settings import WindowSettings
from lextables.tasks.spans.tokens import MAX_CHARACTERS
from lextables.tasks.spans.windows import (
    Collator,
    WindowDataset,
    balanced,
    empty_weight,
    max_context,
    open_windows,
    read_tokens,
)

# Positions of answers in TEXT from squad_convert_examples_to_features in transformers
# 4.57.6, with the slow tokenizer of bert-base-uncased, windows of 32 tokens, a step of
# 10 tokens and 8 tokens of QUESTION.
NO = (0, 0)
RELEASED = {
    "SUPPLY AGREEMENT": [(10, 11), NO, NO, NO, NO, NO, NO],
    "Acme-Widgets, Inc.": [NO, (20, 27), (10, 17), NO, NO, NO, NO],
    "March 2, 2014": [NO, NO, NO, (22, 25), (12, 15), NO, NO],
    "2011": [(27, 27), (17, 17), NO, NO, NO, NO, NO],
    "90 days": [NO, NO, NO, NO, (28, 29), (18, 19), NO],
    "Delaware": [NO, NO, NO, NO, NO, (29, 29), (19, 19)],
    "The laws of Delaware govern this Agreement.": [NO, NO, NO, NO, NO, NO, (16, 23)],
    "Widgets": [NO, (23, 24), (13, 14), NO, NO, NO, NO],
    "non-renewal is due 90 days before.\n2. Law.": [NO, NO, NO, NO, NO, (13, 25), NO],
    "": [NO] * 7,
}


RELEASED_FIRST = (
    "101 12944 1996 3033 1006 2065 2151 1007 1997 102 4425 3820 2023 4425 3820 "
    "1006 1996 1523 3820 1524 1007 2003 2081 2006 2233 1017 1010 2249 1010 2090 "
    "9353 102"
)
RELEASED_LAST = (
    "101 12944 1996 3033 1006 2065 2151 1007 1997 102 2077 1012 1016 1012 2375 "
    "1012 1996 4277 1997 8452 21208 2023 3820 1012 102"
)


@pytest.fixture(autouse=True, scope="module")
def not_flushed():
    """Skip fsync: the tests do not need durable files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


TOKENIZERS = {"bert": bert(), "roberta": roberta(), "albert": albert()}
BERT = TOKENIZERS["bert"]
each_tokenizer = pytest.mark.parametrize(
    "tokenizer", TOKENIZERS.values(), ids=TOKENIZERS
)
# For BERT each number up to 30 is one token, and so is the question.
NUMBERS = " ".join(str(number) for number in range(1, 26))
SMALL = WindowSettings(max_length=14, step=5, max_question_length=8)
ASKED = {"Parties": "parties"}
BEFORE = 3  # [CLS] parties [SEP]


def numbers(first, last):
    """Character positions of the numbers first to last in NUMBERS."""
    return NUMBERS.index(str(first)), NUMBERS.index(str(last)) + len(str(last))


def write_tables(folder, texts, examples, **columns):
    folder.mkdir(parents=True, exist_ok=True)
    contracts = {"contract_id": list(texts), "text": list(texts.values()), **columns}
    pq.write_table(pa.table(contracts), folder / "contracts.parquet")
    names = ("example_id", "contract_id", "category", "start", "end")
    columns = list(zip(*examples, strict=True)) or [[]] * len(names)
    table = pa.table(dict(zip(names, columns, strict=True)))
    pq.write_table(table, folder / "examples.parquet")
    return folder / "contracts.parquet", folder / "examples.parquet"


def made(
    folder, texts, examples, questions=ASKED, tokenizer=BERT, settings=SMALL, **options
):
    """Write features of the rows into folder/features and return that folder."""
    source = WindowSource(*write_tables(folder, texts, examples), questions)
    options = {"shards": 2, **options}
    write_features(source, folder / "features", tokenizer, settings, **options)
    return folder / "features"


def positions(folder):
    windows = open_windows(folder)
    found = {}
    for row in range(len(windows)):
        answer = int(windows.start_positions[row]), int(windows.end_positions[row])
        found.setdefault(windows.examples[windows.example[row]], []).append(answer)
    return found


@each_tokenizer
def test_the_sequence_of_a_short_contract_equals_the_tokenizers_pair_encoding(
    tokenizer, tmp_path
):
    text = "this agreement law Delaware"
    settings = WindowSettings(max_length=64, step=8)
    folder = made(
        tmp_path,
        {"a": text},
        [("e", "a", "Parties", -1, -1)],
        {"Parties": QUESTION},
        tokenizer,
        settings,
    )
    (item,) = WindowDataset(folder, tokenizer, settings, {"Parties": QUESTION})
    pair = tokenizer(QUESTION, " " + text)
    assert item["input_ids"].tolist() == pair["input_ids"]
    assert item["attention_mask"].tolist() == pair["attention_mask"]
    assert ("token_type_ids" in item) == ("token_type_ids" in pair)
    if "token_type_ids" in item:
        assert item["token_type_ids"].tolist() == pair["token_type_ids"]


def test_windows_and_positions_equal_those_of_the_released_conversion(tmp_path):
    settings = WindowSettings(max_length=32, step=10, max_question_length=8)
    starts = {answer: TEXT.index(answer) if answer else -1 for answer in RELEASED}
    rows = [
        (answer, "a", "Parties", start, start + len(answer))
        for answer, start in starts.items()
    ]
    questions = {"Parties": QUESTION}
    folder = made(tmp_path, {"a": TEXT}, rows, questions, settings=settings)
    assert positions(folder) == RELEASED
    dataset = WindowDataset(folder, BERT, settings, questions)
    for item, expected in ((0, RELEASED_FIRST), (-1, RELEASED_LAST)):
        assert " ".join(map(str, dataset[item]["input_ids"])) == expected


@pytest.mark.parametrize(
    ("count", "capacity", "step", "expected"),
    [
        (25, 10, 5, [(0, 10), (5, 15), (10, 20), (15, 25)]),
        (26, 10, 5, [(0, 10), (5, 15), (10, 20), (15, 25), (20, 26)]),
        (10, 10, 5, [(0, 10)]),
        (11, 10, 5, [(0, 10), (5, 11)]),
        (3, 10, 5, [(0, 3)]),
        (20, 10, 10, [(0, 10), (10, 20)]),
        (21, 10, 10, [(0, 10), (10, 20), (20, 21)]),
    ],
)
def test_spans(count, capacity, step, expected):
    starts, stops = spans(count, capacity, step)
    assert list(zip(starts.tolist(), stops.tolist(), strict=True)) == expected


# Answers in NUMBERS (first and last number) and their positions in the four windows.
LABELS = [
    ((7, 8), [(9, 10), (4, 5), NO, NO]),  # in two overlapping windows
    (
        (6, 10),
        [(8, 12), (3, 7), NO, NO],
    ),  # at the end of the first and the start of the second window
    ((5, 6), [(7, 8), NO, NO, NO]),  # the second window begins inside it
    ((10, 11), [NO, (7, 8), NO, NO]),  # the first window ends inside it
    ((9, 16), [NO, NO, NO, NO]),  # complete in no window
    ((12, 12), [NO, (9, 9), (4, 4), NO]),  # one token
    ((25, 25), [NO, NO, NO, (12, 12)]),  # the last token
    ((1, 1), [(3, 3), NO, NO, NO]),  # the first token
    ((24, 25), [NO, NO, NO, (11, 12)]),
    ((8, 19), [NO, NO, NO, NO]),  # longer than a window
]


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """The dataset of NUMBERS with one example for each of LABELS."""
    rows = [
        (f"{at:02d}", "a", "Parties", *numbers(*answer))
        for at, (answer, _) in enumerate(LABELS)
    ]
    folder = made(tmp_path_factory.mktemp("labels"), {"a": NUMBERS}, rows)
    return WindowDataset(folder, BERT, SMALL, ASKED)


@pytest.mark.parametrize("number", range(len(LABELS)))
def test_labels_are_the_positions_of_complete_answers(number, labelled):
    (first, last), expected = LABELS[number]
    items = [labelled[4 * number + window] for window in range(4)]
    assert [
        (item["start_positions"], item["end_positions"]) for item in items
    ] == expected
    for item, (start, end) in zip(items, expected, strict=True):
        if end:
            shown = BERT.decode(item["input_ids"][start : end + 1])
            assert shown == " ".join(str(each) for each in range(first, last + 1))
    assert labelled.contract_from(4 * number) == BEFORE


def test_a_long_question_is_truncated_and_the_contract_fills_the_window(tmp_path):
    settings = WindowSettings(max_length=14, step=5, max_question_length=3)
    questions = {"Parties": QUESTION}
    folder = made(
        tmp_path,
        {"a": NUMBERS},
        [("e", "a", "Parties", -1, -1)],
        questions,
        settings=settings,
    )
    dataset = WindowDataset(folder, BERT, settings, questions)
    assert (
        BERT.decode(dataset[1]["input_ids"])
        == "[CLS] highlight the parts [SEP] 6 7 8 9 10 11 12 13 [SEP]"
    )
    # 14 places less 3 tokens of the question and 3 special ones are 8 of the contract.
    assert dataset.windows.token_to.tolist() == [8, 13, 18, 23, 25]


@pytest.mark.parametrize(
    ("starts", "stops", "expected"),
    [
        ([0], [3], [0, 0, 0]),
        ([0, 4], [8, 12], [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]),
        (
            [0, 3],
            [8, 11],
            [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
        ),  # token 5: a tie, the first window wins
        (
            [0, 5],
            [10, 14],
            [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1],
        ),  # token 7: the longer window wins
        ([0, 5], [3, 7], [0, 0, 0, -1, -1, 1, 1]),
        # Token 98 has 1 + 0.01 * 100 in the first window and 3 + 0.01 * 15 in the
        # second.
        ([0, 95], [100, 110], [0] * 98 + [1] * 12),
        ([], [], []),
    ],
)
def test_max_context(starts, stops, expected):
    found = max_context(
        np.array(starts, dtype=np.int32), np.array(stops, dtype=np.int32)
    )
    assert found.dtype == np.int32
    assert found.tolist() == expected


TEXTS = {f"contract {number:02d}": f"{number} {NUMBERS} end" for number in range(5)}
ROWS = []
for name in TEXTS:
    ROWS.append((f"{name}__Parties", name, "Parties", 2, 5))
    ROWS.append((f"{name}__Term", name, "Term", -1, -1))
TWO = {"Parties": "parties", "Term": "when does it end"}


def test_windows_do_not_depend_on_the_order_of_examples_or_on_shards(tmp_path):
    one = open_windows(made(tmp_path / "one", TEXTS, ROWS, TWO, shards=1))
    other = open_windows(made(tmp_path / "other", TEXTS, ROWS[::-1], TWO, shards=7))
    for name in one.__dataclass_fields__:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.contracts == tuple(TEXTS)
    assert len(one) == len(one.example) == 5 * (5 + 5)


def test_features_json_records_counts_and_settings(tmp_path):
    folder = made(tmp_path, TEXTS, ROWS, TWO)
    record = json.loads((folder / "features.json").read_text())
    assert record["counts"] == {
        "contracts": 5,
        "examples": 10,
        "examples_left_out": 0,
        "tokens": 5 * 27,
        "windows": 50,
        "answered_windows": 5,
        "one_token_answers": 0,
    }
    assert record["settings"] == {"max_length": 14, "step": 5, "max_question_length": 8}
    assert record["shards"] == 2
    tokens = read_tokens(folder)
    assert list(tokens) == list(TEXTS)
    text = TEXTS["contract 03"]
    assert (
        text[tokens["contract 03"].starts[-1] : tokens["contract 03"].ends[-1]] == "end"
    )


def test_writing_again_removes_the_old_shards(tmp_path):
    made(tmp_path, TEXTS, ROWS, TWO, shards=5)
    folder = made(tmp_path, TEXTS, ROWS, TWO)
    names = [path.name for path in folder.iterdir()]
    assert len([name for name in names if not name.startswith(".")]) == 5
    assert len(names) == 2 * 5  # each with its digest


def test_an_example_that_the_released_conversion_skips_has_no_window(tmp_path):
    # The answer contains white space that does not separate words.
    texts = {"a": "1 2\u00a03 4", "b": "1\u00a02"}
    rows = [
        ("e", "a", "Parties", 2, 5),
        ("f", "a", "Parties", 0, 1),
        ("g", "b", "Parties", 0, 3),
    ]
    folder = made(tmp_path, texts, rows)
    assert positions(folder) == {"f": [(3, 3)]}
    counts = json.loads((folder / "features.json").read_text())["counts"]
    assert (counts["examples"], counts["examples_left_out"], counts["contracts"]) == (
        1,
        2,
        2,
    )


def test_features_open_if_a_category_lost_its_only_example(tmp_path):
    rows = [("e", "a", "Parties", 2, 5), ("f", "a", "Term", 0, 1)]
    folder = made(tmp_path, {"a": "1 2\u00a03 4"}, rows, TWO)
    assert len(WindowDataset(folder, BERT, SMALL, TWO)) == 1


def test_select_returns_the_items_in_the_given_order(tmp_path):
    folder = made(tmp_path, TEXTS, ROWS, TWO)
    everything = WindowDataset(folder, BERT, SMALL, TWO)
    some = WindowDataset(folder, BERT, SMALL, TWO, select=np.array([30, 2]))
    assert len(some) == 2
    for item, row in zip(some, (30, 2), strict=True):
        assert item["input_ids"].tolist() == everything[row]["input_ids"].tolist()
    with pytest.raises(IndexError):
        some[2]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"settings": WindowSettings(**SMALL.plain() | {"step": 4})},
            "were made with settings .*'step': 5.* and are opened with",
        ),
        ({"tokenizer": TOKENIZERS["albert"]}, "were made with tokenizer_sha256"),
        ({"questions": {**TWO, "Term": "when"}}, "were made with questions_sha256"),
        ({"questions": ASKED}, "were made with questions_sha256"),
    ],
)
def test_features_open_only_with_the_same_tokenizer_settings_and_questions(
    changes, fault, tmp_path
):
    folder = made(tmp_path, TEXTS, ROWS, TWO)
    given = {
        "tokenizer": BERT,
        "settings": SMALL,
        "questions": {**TWO, "Other": "not used"},
    }
    WindowDataset(folder, **given)
    with pytest.raises(BadInput, match=fault):
        WindowDataset(folder, **{**given, **changes})


def test_a_folder_without_features_raises_an_error(tmp_path):
    with pytest.raises(
        BadInput, match=r"there is no features.json; write the features first"
    ):
        open_windows(tmp_path)


def test_shards_of_other_features_are_detected(tmp_path):
    folder = made(tmp_path, TEXTS, ROWS, TWO)
    for name in ("windows-00.parquet", ".windows-00.parquet.sha256"):
        (folder / name).write_bytes((folder / name.replace("00", "01")).read_bytes())
    with pytest.raises(
        BadInput, match=r"there are \d+ windows, but features.json has 50"
    ):
        open_windows(folder)


GOOD = ("e", "a", "Parties", 0, 1)


@pytest.mark.parametrize(
    ("texts", "rows", "options", "fault"),
    [
        (
            {"a": ""},
            [GOOD],
            {},
            "contracts.parquet, contract_id 'a': the contract is empty; give",
        ),
        (
            {"a": "x" * (MAX_CHARACTERS + 1)},
            [GOOD],
            {},
            "contract_id 'a': the contract has 5,000,001 characters, more than",
        ),
        (
            {"a": "1 \u200d"},
            [("e", "a", "Parties", 2, 3)],
            {},
            "characters 2 to 3, has no token with this",
        ),
        ({"a": "1"}, [], {}, "examples.parquet: no question about a contract of the"),
        (
            {"a": "1"},
            [GOOD],
            {"settings": WindowSettings(max_length=14, step=11)},
            "a window of 14 tokens has 10 contract tokens after the question of 'Parties', fewer than",
        ),
    ],
)
def test_invalid_inputs_are_rejected(texts, rows, options, fault, tmp_path):
    with pytest.raises(BadInput, match=fault) as caught:
        made(tmp_path, texts, rows, **options)
    assert str(caught.value).endswith(".") and not str(caught.value).endswith("..")
    assert not (tmp_path / "features" / "features.json").exists()
    assert not list((tmp_path / "features").glob(".*.part"))


def test_a_failed_write_removes_the_old_features(tmp_path):
    folder = made(tmp_path, {"a": NUMBERS}, [GOOD])
    with pytest.raises(BadInput, match="the contract is empty"):
        made(tmp_path, {"a": ""}, [GOOD])
    assert not (folder / "features.json").exists()


@each_tokenizer
def test_batches_are_padded_on_the_right_to_the_longest_window(tokenizer, tmp_path):
    settings = WindowSettings(max_length=64, step=8)
    texts = {"a": "the law", "b": "this agreement of Delaware"}
    rows = [("e", "a", "Parties", 4, 7), ("f", "b", "Parties", -1, -1)]
    folder = made(tmp_path, texts, rows, tokenizer=tokenizer, settings=settings)
    dataset = WindowDataset(folder, tokenizer, settings, ASKED)
    batch = Collator.of(tokenizer)([dataset[0], dataset[1]])
    short, long = len(dataset[0]["input_ids"]), len(dataset[1]["input_ids"])
    assert batch["input_ids"].shape == batch["attention_mask"].shape == (2, long)
    assert batch["input_ids"][0, short:].tolist() == [tokenizer.pad_token_id] * (
        long - short
    )
    assert batch["attention_mask"].sum(dim=1).tolist() == [short, long]
    assert batch["input_ids"][1].tolist() == dataset[1]["input_ids"].tolist()
    assert set(batch) == set(dataset[0])
    assert all(tensor.dtype == torch.int64 for tensor in batch.values())
    start, end = batch["start_positions"][0], batch["end_positions"][0]
    assert (
        tokenizer.decode(batch["input_ids"][0, start : end + 1]).strip(" ▁Ġ") == "law"
    )
    assert batch["start_positions"][1] == batch["end_positions"][1] == 0


def test_the_collator_requires_a_tokenizer_with_a_padding_token():
    tokenizer = albert()
    tokenizer.pad_token = None
    with pytest.raises(BadInput, match="the tokenizer has no padding token"):
        Collator.of(tokenizer)


# Three windows with an answer and seven without; the answer of window 4 is one token.
STARTS = np.array([0, 4, 0, 0, 7, 0, 0, 9, 0, 0], dtype=np.int32)
ENDS = np.array([0, 6, 0, 0, 7, 0, 0, 12, 0, 0], dtype=np.int32)


def test_balanced_keeps_answered_windows_and_samples_as_many_empty_ones():
    chosen = balanced(STARTS, ENDS, seed=1)
    assert len(chosen) == 6 == len(set(chosen.tolist()))
    few_empty = np.array([4, 0, 7, 9])
    assert balanced(few_empty, few_empty, seed=1).tolist() == [0, 1, 2, 3]
    assert {1, 4, 7} <= set(chosen.tolist())
    assert chosen.tolist() == sorted(chosen.tolist())
    assert chosen.tolist() == balanced(STARTS, ENDS, seed=1).tolist()


def test_balanced_samples_uniformly_and_by_seed():
    starts = np.zeros(1000, dtype=np.int32)
    starts[:100] = 5
    draws = [balanced(starts, starts, seed) for seed in range(200)]
    assert not np.array_equal(draws[0], draws[1])
    drawn = np.bincount(np.concatenate(draws), minlength=1000)
    assert set(drawn[:100]) == {200}
    assert drawn[100:].sum() == 100 * 200
    assert (
        drawn[100:].min() > 5 and drawn[100:].max() < 45
    )  # 22 expected, standard deviation 4.4


def test_empty_weight_is_the_ratio_of_answered_to_empty_windows():
    assert empty_weight(STARTS, ENDS) == pytest.approx(3 / 7)
    assert empty_weight(np.array([1]), np.array([1])) == 1.0


@pytest.mark.parametrize(
    "of",
    [lambda zeros: balanced(zeros, zeros, 0), lambda zeros: empty_weight(zeros, zeros)],
)
def test_windows_without_answers_raise_an_error(of):
    with pytest.raises(BadInput, match="no window has an answer"):
        of(np.zeros(4, dtype=np.int32))
