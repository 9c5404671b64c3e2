"""The tokens that a classifier reads: each text once, for all heads that are asked of it."""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from transformers import AutoConfig

from lextables.dataset import Column, Row, Table, write
from lextables.errors import BadInput
from lextables.models.loading import positions
from lextables.models.tokenizer import load_tokenizer

TOKENS = Table(
    "tokens",
    "Each text once, as a model's tokens.",
    (
        Column("text_id", pa.string(), "the text"),
        Column("ids", pa.list_(pa.int32()), "token ids, special tokens included, cut to the model's length"),
        Column("length", pa.int32(), "how many tokens the whole text has, special tokens included"),
    ),
    key=("text_id",),
    ordered=False,
    row_group=256,
)
_BATCH = 64


@dataclass(frozen=True)
class Tokens:
    """The tokens of many texts: text k's are ``ids[starts[k]:starts[k + 1]]``, int32."""

    ids: np.ndarray
    starts: np.ndarray
    position: Mapping[str, int]

    def __getitem__(self, text_id: str) -> np.ndarray:
        at = self.position[text_id]
        return self.ids[self.starts[at] : self.starts[at + 1]]


def tokenise(
    texts: Iterable[tuple[str, str]], folder: str, max_length: int, path: str | Path
) -> dict[str, int]:
    """Write the `TOKENS` of (text id, text) pairs to ``path``; a pair that comes again is passed over.

    ``folder`` holds the model.  Memory is bounded by one row group and the ids.  Returns the counts
    ``texts``, ``cut`` (texts longer than ``max_length`` tokens, which lose their end) and ``longest``
    (tokens).  `BadInput` for an empty text, an id of two texts, or a length that the model does not have.
    """
    tokenizer = load_tokenizer(folder)
    if max_length > (limit := _limit(tokenizer, folder)):
        raise BadInput(f"max_length = {max_length} where the model reads {limit} tokens", where=str(folder))
    counts = {"texts": 0, "cut": 0, "longest": 0}

    def rows() -> Iterator[Row]:
        for batch in _batches(_once(texts), _BATCH):
            whole = tokenizer([text for _, text in batch], truncation=False, padding=False, verbose=False)
            for (text_id, text), ids in zip(batch, whole["input_ids"], strict=True):
                length = len(ids)
                if length > max_length:
                    counts["cut"] += 1
                    ids = tokenizer(text, truncation=True, max_length=max_length, verbose=False)["input_ids"]
                counts["texts"] += 1
                counts["longest"] = max(counts["longest"], length)
                yield {"text_id": text_id, "ids": np.asarray(ids, dtype=np.int32), "length": length}

    write(TOKENS, rows(), path)
    return counts


def _limit(tokenizer, folder: str) -> int:
    """Return the most tokens that the model and its tokenizer say they read."""
    most = positions(AutoConfig.from_pretrained(folder))
    return min(most or tokenizer.model_max_length, tokenizer.model_max_length)


def _once(texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    seen: dict[str, bytes] = {}
    for text_id, text in texts:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if not text.strip():
            raise BadInput("the text is empty", where=f"text {text_id}")
        if text_id not in seen:
            seen[text_id] = digest
            yield text_id, text
        elif seen[text_id] != digest:
            raise BadInput("one id stands for two texts", where=f"text {text_id}")


def _batches(items: Iterable, size: int) -> Iterator[list]:
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def read_tokens(path: str | Path) -> Tokens:
    """Read a file of `tokenise`: four bytes a token in memory."""
    ids, starts, position = [], [0], {}
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=["text_id", "ids"]).combine_chunks()
            for text_id in table["text_id"].to_pylist():
                position[text_id] = len(position)
            lists = table["ids"].combine_chunks()
            ids.append(lists.flatten().to_numpy())
            starts.extend(starts[-1] + np.cumsum(lists.value_lengths().to_numpy()))
    flat = np.concatenate(ids) if ids else np.empty(0, dtype=np.int32)
    return Tokens(flat, np.asarray(starts, dtype=np.int64), position)
