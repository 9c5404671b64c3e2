"""Contracts of random words with an answer between two marks, and a model that can
learn them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from helpers.wordpiece import wordpiece
from lextables.pipeline.dataset import Column, Table, write
from lextables.tasks.spans.features import WindowSource, write_features
from lextables.tasks.spans.settings import WindowSettings
from lextables.tasks.spans.squad import ANSWERS, EXAMPLES, QUESTIONS

WINDOWS = WindowSettings(max_length=32, step=16, max_question_length=4)
WORDINGS = {"term": "which term", "party": "which party"}
WORDS = [f"w{number}" for number in range(30)]
# An answer consists of these two words with one word between them.
MARKS = ("alpha", "omega")
CONTRACTS = Table(
    "contracts",
    "Contracts of random words.",
    tuple(Column(name, pa.string(), name) for name in ("contract_id", "split", "text")),
    key=("contract_id",),
)

Place = tuple[str, int, int]  # (contract, start, end) of an answer


def tokenizer() -> PreTrainedTokenizerFast:
    return wordpiece(["which", *WORDINGS, *MARKS, *WORDS], lowercase=True)


def config(words: PreTrainedTokenizerFast, dropout: float = 0.1) -> BertConfig:
    return BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )


def save_encoder(folder: Path) -> str:
    """Save an encoder without a span head, like a pretrained one, and its tokenizer;
    return the folder.
    """
    words = tokenizer()
    torch.manual_seed(0)
    BertModel(config(words, dropout=0.0)).save_pretrained(folder)
    words.save_pretrained(folder)
    return str(folder)


def contract(generator: np.random.Generator) -> tuple[str, tuple[int, int]]:
    """Return random words and the place of their answer; one text in three has no
    answer: (-1, -1).
    """
    length = int(generator.integers(15, 40))
    words = generator.choice(WORDS, length).tolist()
    if generator.random() < 1 / 3:
        return " ".join(words), (-1, -1)
    place = int(generator.integers(length - 2))
    words[place], words[place + 2] = MARKS
    start = len(" ".join([*words[:place], ""]))
    return " ".join(words), (start, start + len(" ".join(words[place : place + 3])))


def data_set(
    folder: Path, splits: Mapping[str, str], seed: int
) -> tuple[dict[str, str], dict[str, Place]]:
    """Write the tables of a data set with one contract for each name in ``splits``.

    Returns {contract: text} and {question: (contract, start of the answer, end of the
    answer)}.
    """
    generator = np.random.default_rng(seed)
    texts = {}
    spans = {}
    for name in splits:
        texts[name], place = contract(generator)
        for category in WORDINGS:
            # The order of question ids differs from that of the contracts.
            spans[f"{category}-{name}"] = (name, *place)
    rows: dict[Table, list[dict[str, Any]]] = {
        CONTRACTS: [],
        QUESTIONS: [],
        ANSWERS: [],
        EXAMPLES: [],
    }
    for name, split in splits.items():
        row = {"contract_id": name, "split": split, "text": texts[name]}
        rows[CONTRACTS].append(row)
    for question, (name, start, end) in sorted(spans.items()):
        category, _, _ = question.partition("-")
        split = splits[name]
        asked = {"question_id": question, "contract_id": name, "category": category}
        place = {"start": start, "end": end}
        has_answer = start >= 0
        row = {"question": WORDINGS[category], "split": split}
        rows[QUESTIONS].append(asked | row | {"answers": int(has_answer)})
        if has_answer:
            row = {"question_id": question, "index": 0, "text": texts[name][start:end]}
            rows[ANSWERS].append(row | place)
        if split != "test":
            rows[EXAMPLES].append(asked | {"example_id": question} | place)
    folder.mkdir(parents=True, exist_ok=True)
    for table, table_rows in rows.items():
        write(table, table_rows, folder / f"{table.name}.parquet")
    return texts, spans


def features(
    folder: Path, count: int, seed: int
) -> tuple[dict[str, str], dict[str, Place]]:
    """Write ``count`` training contracts and their windows to ``folder``; return the
    same as `data_set`.
    """
    splits = {f"c{number:03d}": "train" for number in range(count)}
    texts, spans = data_set(folder, splits, seed)
    contracts = folder / f"{CONTRACTS.name}.parquet"
    examples = folder / f"{EXAMPLES.name}.parquet"
    source = WindowSource(contracts, examples, WORDINGS)
    write_features(source, folder, tokenizer(), WINDOWS, shards=2)
    return texts, spans


def weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: part.detach().clone() for name, part in model.state_dict().items()}


def equal(one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(
        torch.equal(one[name], other[name]) for name in one
    )
