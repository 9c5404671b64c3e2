"""Windows of contract tokens, and the balance of training windows.

A window is a slice of a contract's tokens after the tokens of one question.  A folder
of features holds each contract's tokens once and a table of slices; the sequences for a
model are built when they are requested.  `features.write_features` writes such a
folder: for shard k `tokens-kk.parquet` and `windows-kk.parquet`, and `features.json`,
written last, which records how the features were made.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from pydantic import BaseModel
from transformers import PreTrainedTokenizerBase

from lextables.pipeline import dataset
from lextables.pipeline.dataset import Column, Table, read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject, read_json
from lextables.tasks.spans.settings import WindowSettings
from lextables.tasks.spans.tokens import Tokens, backend, layout, question_ids, unfit

# Version of a folder's format; folders with another one cannot be opened.
FORMAT = 2
RECORD = "features.json"
Item = dict[str, Any]  # arrays and numbers of a sequence (`WindowDataset`)
CONTRACTS_A_BATCH = 16  # contracts that are read or written together
TOKENS = Table(
    "tokens",
    "The tokens of each contract.",
    (
        Column("contract_id", pa.string(), "the contract"),
        Column("ids", pa.list_(pa.int32()), "token ids"),
        Column(
            "starts",
            pa.list_(pa.int32()),
            "first character of each token in the contract's text",
        ),
        Column(
            "ends",
            pa.list_(pa.int32()),
            "character after each token; equal to its start if empty",
        ),
    ),
    key=("contract_id",),
)
WINDOWS = Table(
    "windows",
    "Slices of contract tokens after a question.",
    (
        Column(
            "example_id",
            pa.string(),
            "the training example, or the question to predict",
        ),
        Column("contract_id", pa.string(), "the contract"),
        Column("category", pa.string(), "the category, which determines the question"),
        Column("window", pa.int32(), "number of the window in its example, 0 first"),
        Column("token_from", pa.int32(), "first contract token in the window"),
        Column("token_to", pa.int32(), "contract token after the window"),
        Column(
            "start_position",
            pa.int32(),
            "first answer token in the model's sequence; 0 for none",
        ),
        Column(
            "end_position",
            pa.int32(),
            "last answer token in the model's sequence; 0 for none",
        ),
    ),
    key=("contract_id", "example_id", "window"),
)
INTEGER_COLUMNS = tuple(
    column.name for column in WINDOWS.columns if column.type == pa.int32()
)


@dataclass(frozen=True)
class WindowFiles:
    """Tables of contracts and questions (parquet), and a folder of their windows."""

    contracts: Path
    questions: Path
    windows: Path


@dataclass(frozen=True)
class Windows:
    """The windows of a folder as arrays, sorted by contract, example and window.

    ``example``, ``contract`` and ``category`` are indices into ``examples``,
    ``contracts`` and ``categories``; the other columns are those of `WINDOWS`.  The
    order does not depend on the shards.
    """

    examples: tuple[str, ...]
    contracts: tuple[str, ...]
    categories: tuple[str, ...]
    example: np.ndarray
    contract: np.ndarray
    category: np.ndarray
    window: np.ndarray
    token_from: np.ndarray
    token_to: np.ndarray
    start_positions: np.ndarray
    end_positions: np.ndarray

    def __len__(self) -> int:
        return len(self.window)


def max_context(starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the window with the most context for each contract token.

    int32; -1 for none.  Windows are half-open token ranges.  The context of a token is
    the smaller number of tokens on its two sides, plus a hundredth of the window's
    length; ties go to the earlier window (transformers 4, _new_check_is_max_context).
    """
    best = np.full(int(np.max(stops, initial=0)), -1, dtype=np.int32)
    most = np.full(len(best), -np.inf)
    for window, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        length = stop - start
        before = np.arange(length)
        after = before[::-1]
        context = np.minimum(before, after) + 0.01 * length
        is_better = context > most[start:stop]
        most[start:stop][is_better] = context[is_better]
        best[start:stop][is_better] = window
    return best


def open_windows(folder: str | Path) -> Windows:
    """Read the table of windows of a folder (32 bytes per window).

    Raises `BadInput` if the folder has no features, or other windows than recorded.
    """
    folder = Path(folder)
    record = _record(folder)
    names = ["example_id", "contract_id", "category"]
    tables = []
    for shard in range(record["shards"]):
        file = folder / f"windows-{shard:02d}.parquet"
        tables.append(dataset.read_table(file, read_dictionary=names))
    table = pa.concat_tables(tables)
    recorded = record["counts"]["windows"]
    if table.num_rows != recorded:
        raise BadInput(
            f"there are {table.num_rows} windows, but {RECORD} has {recorded}",
            where=str(folder),
            do="write the features again",
        )
    columns = {}
    names_of = {}
    for name in names:
        columns[name], names_of[name] = _coded(table[name])
    for name in INTEGER_COLUMNS:
        columns[name] = table[name].to_numpy()
    sorted_by = (columns["window"], columns["example_id"], columns["contract_id"])
    order = np.lexsort(sorted_by)
    return Windows(
        examples=names_of["example_id"],
        contracts=names_of["contract_id"],
        categories=names_of["category"],
        example=columns["example_id"][order],
        contract=columns["contract_id"][order],
        category=columns["category"][order],
        window=columns["window"][order],
        token_from=columns["token_from"][order],
        token_to=columns["token_to"][order],
        start_positions=columns["start_position"][order],
        end_positions=columns["end_position"][order],
    )


def read_tokens(folder: str | Path) -> dict[str, Tokens]:
    """Return {contract_id: tokens} of a folder (12 bytes per token)."""
    folder = Path(folder)
    tokens = {}
    for shard in range(_record(folder)["shards"]):
        file = folder / f"tokens-{shard:02d}.parquet"
        for batch in dataset.batches(file, size=CONTRACTS_A_BATCH):
            contract_ids, *columns = batch.select(TOKENS.schema.names).columns
            for row, contract_id in enumerate(contract_ids.to_pylist()):
                arrays = [column[row].values.to_numpy().copy() for column in columns]
                tokens[contract_id] = Tokens(*arrays)
    return dict(sorted(tokens.items()))


class WindowDataset(torch.utils.data.Dataset):
    """The sequences of a folder of features, built on request.

    An item is a dict: int64 arrays ``input_ids``, ``attention_mask`` and, if the
    tokenizer has them, ``token_type_ids``, not padded; ints ``start_positions`` and
    ``end_positions``.  ``windows`` are those of the folder, ``tokens`` is {contract_id:
    Tokens}, ``rows`` (int64) has the index in ``windows`` of each item, and
    ``tokenizer`` is the one that made the tokens.
    """

    def __init__(
        self,
        folder: str | Path,
        tokenizer: PreTrainedTokenizerBase,
        settings: WindowSettings,
        questions: Mapping[str, str],
        select: np.ndarray | None = None,
    ) -> None:
        """Open a folder; ``select`` are the indices of the items in `open_windows`.

        Raises `BadInput` if the features were made with another tokenizer, other
        settings or other questions.
        """
        folder = Path(folder)
        self.tokenizer = tokenizer
        self.windows = open_windows(folder)
        asked = {name: questions.get(name, "") for name in self.windows.categories}
        record = _record(folder)
        for name, value in made_with(tokenizer, settings, asked).items():
            recorded = record.get(name)
            if recorded != value:
                raise BadInput(
                    f"the features were made with {name} {recorded!r} and are opened "
                    f"with {value!r}",
                    where=str(folder / RECORD),
                    do="write them again",
                )
        self.tokens = read_tokens(folder)
        self.rows = np.arange(len(self.windows))
        if select is not None:
            self.rows = np.asarray(select, dtype=np.int64)
        special = layout(tokenizer)
        # What comes before a window, for the question of each category.
        self._before = []
        self._before_types = []
        for text in asked.values():
            ids = question_ids(tokenizer, text, settings.max_question_length)
            question_types = [special.question_type] * len(ids)
            types = [*special.prefix_types, *question_types, *special.middle_types]
            before = [*special.prefix, *ids, *special.middle]
            self._before.append(np.array(before, dtype=np.int64))
            self._before_types.append(np.array(types, dtype=np.int64))
        self._after = np.array(special.suffix, dtype=np.int64)
        self._after_types = np.array(special.suffix_types, dtype=np.int64)
        self._contract_type = special.contract_type
        self._has_types = "token_type_ids" in tokenizer.model_input_names
        self._ids = [self.tokens[name].ids for name in self.windows.contracts]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, item: int) -> Item:
        """Return the sequence of one window, as the class describes it."""
        row = self.rows[item]
        windows = self.windows
        category = windows.category[row]
        before = self._before[category]
        contract_ids = self._ids[windows.contract[row]]
        contract = contract_ids[windows.token_from[row] : windows.token_to[row]]
        ids = np.concatenate((before, contract, self._after))
        sequence: Item = {
            "input_ids": ids,
            "attention_mask": np.ones(len(ids), dtype=np.int64),
            "start_positions": int(windows.start_positions[row]),
            "end_positions": int(windows.end_positions[row]),
        }
        if self._has_types:
            before_types = self._before_types[category]
            contract_types = np.full(len(contract), self._contract_type)
            types = (before_types, contract_types, self._after_types)
            sequence["token_type_ids"] = np.concatenate(types)
        return sequence

    def digest(self) -> str:
        """Return a digest of all items, in their order."""
        digest = hashlib.sha256()
        for item in range(len(self)):
            sequence = self[item]
            digest.update(f"{len(sequence['input_ids'])}\n".encode())
            for value in sequence.values():
                digest.update(np.asarray(value).tobytes())
        return digest.hexdigest()[:16]

    def contract_from(self, item: int) -> int:
        """Return the position of the first contract token in an item."""
        category = self.windows.category[self.rows[item]]
        return len(self._before[category])


@dataclass(frozen=True)
class Collator:
    """Pads items of a `WindowDataset` on the right to the longest of the batch."""

    pad_id: int
    pad_type: int = 0

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase) -> "Collator":
        """Return the collator; `BadInput` if there is no padding token."""
        if tokenizer.pad_token_id is None:
            raise unfit(tokenizer, "has no padding token")
        return cls(tokenizer.pad_token_id, tokenizer.pad_token_type_id)

    def __call__(self, items: Sequence[Item]) -> dict[str, torch.Tensor]:
        """Return {name: (items, longest) or (items,) tensor}."""
        padding = {
            "input_ids": self.pad_id,
            "attention_mask": 0,
            "token_type_ids": self.pad_type,
        }
        longest = max(len(item["input_ids"]) for item in items)
        batch = {}
        for name in items[0]:
            values = [item[name] for item in items]
            if name in padding:
                rows = np.full((len(items), longest), padding[name], dtype=np.int64)
                for row, value in zip(rows, values, strict=True):
                    row[: len(value)] = value
                batch[name] = torch.from_numpy(rows)
            else:
                batch[name] = torch.tensor(values, dtype=torch.int64)
        return batch


def balanced(
    start_positions: np.ndarray, end_positions: np.ndarray, seed: int
) -> np.ndarray:
    """Return all answered windows and as many empty ones, as sorted indices (int64).

    A window is answered if it contains an answer of any length.  In the released code
    (train.py, get_balanced_dataset) answers of one token count as empty and are mostly
    dropped, and each empty window is drawn independently, while here their number is
    exact.  The sample depends on ``seed`` and on the number of empty windows.  Raises
    `BadInput` if no window is answered.
    """
    answered = _answered(start_positions, end_positions)
    empty = np.flatnonzero(~answered)
    answered_windows = np.flatnonzero(answered)
    number = min(len(empty), len(answered_windows))
    drawn = np.random.default_rng(seed).choice(empty, number, replace=False)
    return np.sort(np.concatenate((answered_windows, drawn)))


def empty_weight(start_positions: np.ndarray, end_positions: np.ndarray) -> float:
    """Return answered / empty: the weight of empty windows that balances both kinds.

    This is the balance of the CUAD paper's text (Section 4.1, Training); 1.0 if no
    window is empty.  Raises `BadInput` if no window is answered.
    """
    answered = _answered(start_positions, end_positions)
    empty = int(np.count_nonzero(~answered))
    return int(np.count_nonzero(answered)) / empty if empty else 1.0


def _answered(start_positions: np.ndarray, end_positions: np.ndarray) -> np.ndarray:
    """Return which windows have an answer, bool (windows,)."""
    answered = (np.asarray(start_positions) > 0) & (np.asarray(end_positions) > 0)
    if not answered.any():
        raise BadInput(
            "no window has an answer",
            where="features",
            do="train on examples with answers",
        )
    return answered


def _coded(column: pa.ChunkedArray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the column as int32 indices into its sorted values, and these values."""
    encoded = column.unify_dictionaries().combine_chunks()
    values = encoded.dictionary
    order = pc.sort_indices(values).to_numpy()
    ranks = np.argsort(order).astype(np.int32)
    codes = encoded.indices.to_numpy()
    return ranks[codes], tuple(values.take(order).to_pylist())


def made_with(
    tokenizer: PreTrainedTokenizerBase,
    settings: WindowSettings,
    questions: Mapping[str, str],
) -> JsonObject:
    """Return the part of a folder's record that must be equal when it is written and
    opened.

    ``questions`` are {category: question}.
    """
    return {
        "format": FORMAT,
        "settings": settings.model_dump(include=set(WindowSettings.model_fields)),
        "tokenizer_sha256": sha256(backend(tokenizer).to_str()),
        "questions_sha256": sha256(dict(questions)),
    }


class _Record(BaseModel):
    """The record of features, which has more keys."""

    shards: int
    counts: dict[str, int]


def _record(folder: Path) -> JsonObject:
    """Return the record of a folder of features; `BadInput` if there is none."""
    path = folder / RECORD
    if not path.is_file():
        raise BadInput(
            f"there is no {RECORD}", where=str(folder), do="write the features first"
        )
    return read_json(path, _Record)


def sha256(value: Any) -> str:
    """Return the digest of a JSON value; equal values have equal digests."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def question_texts(questions: str | Path) -> dict[str, str]:
    """Return {category: question} of the table ``questions``."""
    rows = read(questions, ["category", "question"])
    return {row["category"]: row["question"] for row in rows}
