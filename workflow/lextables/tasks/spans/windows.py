"""Contracts cut into overlapping windows of tokens: the input of span extraction.

A contract is tokenised once, not once a question.  A window is a slice of its tokens behind the tokens
of one question, so a folder of features holds each contract's tokens and a table of slices, and the
sequences of a model are put together only when they are asked for.  The windows and their labels are
those of the released CUAD code (train.py, which calls transformers 4's
squad_convert_examples_to_features).

A folder of features holds, for shard k of N, `tokens-kk.parquet` and `windows-kk.parquet`, and one
`features.json`, written last, with what the features were made from.
"""

import hashlib
import itertools
import json
import multiprocessing
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from transformers import PreTrainedTokenizerBase

from lextables.pipeline.atomic import replacing, write_text
from lextables.pipeline.dataset import Column, Table, read
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.tokens import (
    Layout,
    Tokens,
    Words,
    answer_tokens,
    backend,
    layout,
    question_ids,
    tokenise,
    unfit,
)

# A change here makes folders written before unreadable.
FORMAT = 2
RECORD = "features.json"
_CONTRACTS_A_BATCH = 16
_ROWS = 65_536

TOKENS = Table(
    "tokens",
    "The tokens of each contract.",
    (
        Column("contract_id", pa.string(), "the contract"),
        Column("ids", pa.list_(pa.int32()), "token ids"),
        Column("starts", pa.list_(pa.int32()), "first character of each token in the contract's text"),
        Column("ends", pa.list_(pa.int32()), "character after each token; equal to its start if empty"),
    ),
    key=("contract_id",),
)

WINDOWS = Table(
    "windows",
    "Slices of contract tokens behind a question.",
    (
        Column("example_id", pa.string(), "the training example, or the question to predict"),
        Column("contract_id", pa.string(), "the contract"),
        Column("category", pa.string(), "the category, which names the question's text"),
        Column("window", pa.int32(), "number of the window in its example, 0 first"),
        Column("token_from", pa.int32(), "first contract token in the window"),
        Column("token_to", pa.int32(), "contract token after the window"),
        Column("start_position", pa.int32(), "first answer token in the model's sequence; 0 for none"),
        Column("end_position", pa.int32(), "last answer token in the model's sequence; 0 for none"),
    ),
    key=("contract_id", "example_id", "window"),
)


WINDOWS_INTEGERS = tuple(column.name for column in WINDOWS.columns if column.type == pa.int32())


@dataclass(frozen=True)
class WindowSettings:
    """How contracts are cut.

    ``max_length`` counts all tokens of a sequence, special ones too; ``step`` is the distance in
    contract tokens between the starts of two windows (the released doc_stride); a question keeps its
    first ``max_question_length`` tokens.  With ``leading_space`` each word of a contract is tokenised
    with a space before it, as the released conversion does for RoBERTa.  It does not for DeBERTa, whose
    words then lack the mark of a word's start; for WordPiece and SentencePiece it makes no difference.
    """

    max_length: int = 512
    step: int = 256
    max_question_length: int = 64
    leading_space: bool = True

    def __post_init__(self) -> None:
        for name in ("max_length", "step", "max_question_length"):
            if (value := getattr(self, name)) < 1:
                raise BadInput(f"{name} is {value}", where="window settings", do="give at least 1")


DEFAULT = WindowSettings()


@dataclass(frozen=True)
class Windows:
    """The windows of a folder as arrays of one length, sorted by contract, example and window.

    ``example``, ``contract`` and ``category`` are indices into ``examples``, ``contracts`` and
    ``categories``; the other columns are those of `WINDOWS`.  The order does not depend on the shards.
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


def spans(count: int, capacity: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the half-open token ranges (starts, stops) of the windows over ``count`` tokens (int32).

    A window holds ``capacity`` tokens and starts ``step`` after the one before it; the last is the first
    that reaches the end, and may be shorter.
    """
    number = 1 + max(0, -(-(count - capacity) // step))
    starts = np.arange(number, dtype=np.int32) * np.int32(step)
    return starts, np.minimum(starts + capacity, count).astype(np.int32)


def max_context(starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return for each contract token the window in which it has the most context (int32; -1 if in none).

    The windows are half-open token ranges.  The context of a token is the smaller number of tokens on its
    two sides, plus a hundredth of the window's length; the earlier of equal windows has it
    (transformers 4, _new_check_is_max_context).
    """
    best = np.full(int(np.max(stops, initial=0)), -1, dtype=np.int32)
    most = np.full(len(best), -np.inf)
    for window, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        position = np.arange(start, stop)
        context = np.minimum(position - start, stop - 1 - position) + 0.01 * (stop - start)
        better = context > most[start:stop]
        most[start:stop][better] = context[better]
        best[start:stop][better] = window
    return best


def write_features(
    contracts: str | Path,
    examples: str | Path,
    questions: Mapping[str, str],
    folder: str | Path,
    tokenizer: PreTrainedTokenizerBase,
    settings: WindowSettings = DEFAULT,
    *,
    tokenizer_name: str = "",
    split: str | None = None,
    labelled: bool = True,
    shards: int = 8,
    processes: int = 1,
) -> dict[str, Any]:
    """Cut contracts into windows, write the folder of features and return what features.json says.

    ``contracts`` (contract_id, text, and split if ``split`` is given; sorted by contract_id) and
    ``examples`` (example_id, contract_id, category, start, end; -1 and -1 for no answer) are parquet
    files; ``questions`` maps a category to its question.  With ``labelled=False`` ``examples`` is a table
    of questions (question_id, contract_id, category) and every window has the positions 0 and 0.
    ``split`` keeps the examples of the contracts of that split.  ``tokenizer_name`` is written down as it
    is given.  A window bears the answer's positions if the whole answer lies in it, else 0 and 0; which
    tokens the answer has, and which examples are left out for it, `tokens.answer_tokens` says.

    The bytes depend on the inputs and ``shards`` only, not on ``processes``.  Memory holds the examples
    and, for each process, one contract and a bounded number of windows.

    Raises `BadInput` for columns that are missing, examples that repeat or whose contract or question is
    not there, answers outside the text or with no token in it, contracts that are empty or too long, and
    a step wider than what a window holds of a contract.  The folder then has no features.json.
    """
    if not 1 <= shards <= 100:
        raise BadInput(f"{shards} shards", where="write_features", do="give 1 to 100")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORD).unlink(missing_ok=True)
    by_contract = _examples(Path(contracts), Path(examples), questions, split, labelled)
    wanted = sorted(by_contract)
    used = {
        category: questions[category]
        for category in sorted({e.category for es in by_contract.values() for e in es})
    }
    jobs = [
        _Shard(
            shard,
            folder,
            Path(contracts),
            Path(examples).name,
            {contract_id: by_contract[contract_id] for contract_id in wanted[shard::shards]},
            used,
            tokenizer,
            settings,
        )
        for shard in range(shards)
    ]
    done = sorted(itertools.chain.from_iterable(_write_shards(jobs, processes)))
    written = {job.file(kind) for job in jobs for kind in ("tokens", "windows")}
    for file in (*folder.glob("tokens-*.parquet"), *folder.glob("windows-*.parquet")):
        if file not in written:
            file.unlink()
    # A category may have lost every example that it has, and is then in no window.
    left = set(itertools.chain.from_iterable(one.categories for one in done))
    record = {
        **_made_with(tokenizer, settings, {name: text for name, text in used.items() if name in left}),
        "data_sha256": _sha256([(one.contract_id, one.digest) for one in done]),
        "tokenizer": tokenizer_name,
        "labelled": labelled,
        "split": split,
        "shards": shards,
        "counts": {
            "contracts": len(done),
            "examples": sum(one.examples for one in done),
            "examples_left_out": sum(map(len, by_contract.values())) - sum(one.examples for one in done),
            "tokens": sum(one.tokens for one in done),
            "windows": sum(one.windows for one in done),
            "answered_windows": sum(one.answered for one in done),
            "one_token_answers": sum(one.one_token for one in done),
        },
    }
    write_text(folder / RECORD, json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    return record


def open_windows(folder: str | Path) -> Windows:
    """Read the table of windows of a folder, without tokens: 32 bytes a window.

    Raises `BadInput` when the folder holds no features, or not the number of windows that it says.
    """
    folder = Path(folder)
    record = _record(folder)
    names = ("example_id", "contract_id", "category")
    table = pa.concat_tables(
        pq.read_table(folder / f"windows-{shard:02d}.parquet", read_dictionary=list(names), partitioning=None)
        for shard in range(record["shards"])
    )
    if table.num_rows != (said := record["counts"]["windows"]):
        raise BadInput(
            f"there are {table.num_rows} windows and {RECORD} says {said}",
            where=str(folder),
            do="write the features again",
        )
    coded = {name: _coded(table[name]) for name in names}
    integers = {name: table[name].to_numpy() for name in WINDOWS_INTEGERS}
    order = np.lexsort((integers["window"], coded["example_id"][0], coded["contract_id"][0]))
    return Windows(
        *(coded[name][1] for name in names),
        *(coded[name][0][order] for name in names),
        *(integers[name][order] for name in WINDOWS_INTEGERS),
    )


def read_tokens(folder: str | Path) -> dict[str, Tokens]:
    """Read the tokens of all contracts of a folder; {contract_id: tokens}, 12 bytes a token."""
    folder = Path(folder)
    tokens = {}
    for shard in range(_record(folder)["shards"]):
        with pq.ParquetFile(folder / f"tokens-{shard:02d}.parquet") as file:
            for batch in file.iter_batches(batch_size=_CONTRACTS_A_BATCH):
                columns = [batch.column(name) for name in ("ids", "starts", "ends")]
                for row, contract_id in enumerate(batch.column("contract_id").to_pylist()):
                    tokens[contract_id] = Tokens(
                        *(column[row].values.to_numpy().copy() for column in columns)
                    )
    return dict(sorted(tokens.items()))


class WindowDataset(torch.utils.data.Dataset):
    """The sequences of a folder of features; `len()` and integer index, as PyTorch's loaders want them.

    An item is a dict: int64 arrays ``input_ids``, ``attention_mask`` and, if the tokenizer makes them,
    ``token_type_ids``, not padded; ints ``start_positions`` and ``end_positions``.  It is put together
    when it is asked for.

    ``windows`` (all of the folder), ``tokens`` ({contract_id: Tokens}) and ``rows`` (the index in
    ``windows`` of each item) say which contract tokens an item holds; ``tokenizer`` made them.
    """

    def __init__(
        self,
        folder: str | Path,
        tokenizer: PreTrainedTokenizerBase,
        settings: WindowSettings,
        questions: Mapping[str, str],
        select: np.ndarray | None = None,
    ) -> None:
        """Open a folder; ``select`` gives the indices in `open_windows` of the items, in their order.

        Raises `BadInput` when the features were made with another tokenizer, other settings or other
        questions.
        """
        record = _record(Path(folder))
        self.windows = open_windows(folder)
        where = str(Path(folder) / RECORD)
        if absent := [name for name in self.windows.categories if name not in questions]:
            raise BadInput(
                f"the features hold the category {absent[0]!r}, which has no question", where=where
            )
        used = {name: questions[name] for name in self.windows.categories}
        for name, value in _made_with(tokenizer, settings, used).items():
            if record.get(name) != value:
                raise BadInput(
                    f"the features were made with {name} {record.get(name)!r} and are opened with {value!r}",
                    where=where,
                    do="write them again",
                )
        self.tokenizer = tokenizer
        self.tokens = read_tokens(folder)
        self.rows = np.arange(len(self.windows)) if select is None else np.asarray(select, dtype=np.int64)
        around = layout(tokenizer)
        asked = [question_ids(tokenizer, text, settings.max_question_length) for text in used.values()]
        self._before = [np.array([*around.prefix, *ids, *around.middle], dtype=np.int64) for ids in asked]
        self._before_types = [
            np.array([*around.prefix_types, *[around.question_type] * len(ids), *around.middle_types])
            for ids in asked
        ]
        self._after = np.array(around.suffix, dtype=np.int64)
        self._after_types = np.array(around.suffix_types, dtype=np.int64)
        self._contract_type = around.contract_type
        self._typed = "token_type_ids" in tokenizer.model_input_names
        self._ids = [self.tokens[contract_id].ids for contract_id in self.windows.contracts]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, item: int) -> dict[str, Any]:
        row, windows = self.rows[item], self.windows
        category = windows.category[row]
        before = self._before[category]
        contract = self._ids[windows.contract[row]][windows.token_from[row] : windows.token_to[row]]
        ids = np.concatenate((before, contract, self._after))
        sequence = {"input_ids": ids, "attention_mask": np.ones(len(ids), dtype=np.int64)}
        if self._typed:
            types = np.full(len(ids), self._contract_type, dtype=np.int64)
            types[: len(before)] = self._before_types[category]
            types[len(before) + len(contract) :] = self._after_types
            sequence["token_type_ids"] = types
        return {
            **sequence,
            "start_positions": int(windows.start_positions[row]),
            "end_positions": int(windows.end_positions[row]),
        }

    def contract_from(self, item: int) -> int:
        """Return the position in item's sequence of its first contract token (windows.token_from)."""
        return len(self._before[self.windows.category[self.rows[item]]])


@dataclass(frozen=True)
class Collator:
    """Pad items of a `WindowDataset` on the right to the longest of the batch; int64 tensors."""

    pad_id: int
    pad_type: int = 0

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase) -> "Collator":
        """The collator that pads with the padding token of ``tokenizer``; `BadInput` if it has none."""
        if tokenizer.pad_token_id is None:
            raise unfit(tokenizer, "has no padding token")
        return cls(tokenizer.pad_token_id, tokenizer.pad_token_type_id)

    def __call__(self, items: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """Return {name: (items, longest) or (items,) tensor}."""
        fill = {"input_ids": self.pad_id, "attention_mask": 0, "token_type_ids": self.pad_type}
        longest = max(len(item["input_ids"]) for item in items)
        batch = {}
        for name in items[0]:
            if name in fill:
                rows = np.full((len(items), longest), fill[name], dtype=np.int64)
                for row, item in zip(rows, items, strict=True):
                    row[: len(item[name])] = item[name]
                batch[name] = torch.from_numpy(rows)
            else:
                batch[name] = torch.tensor([item[name] for item in items], dtype=torch.int64)
        return batch


def balanced(
    start_positions: np.ndarray, end_positions: np.ndarray, seed: int, ratio: float = 1.0
) -> np.ndarray:
    """Return the sorted indices of all answered windows and of ``ratio`` times as many empty ones (int64).

    A window is answered if it bears an answer, however short.  The released code (train.py,
    get_balanced_dataset) takes only windows whose end lies after their start, so that an answer of one
    token counts as empty and is mostly dropped; it also tosses a coin for each empty window where this
    draws an exact number.  Which empty windows are drawn depends on ``seed`` and on how many there are.
    Raises `BadInput` when no window is answered.
    """
    answered = _answered(start_positions, end_positions)
    (empty,) = np.nonzero(~answered)
    (kept,) = np.nonzero(answered)
    number = min(len(empty), round(ratio * len(kept)))
    drawn = np.random.default_rng(seed).choice(empty, number, replace=False)
    return np.sort(np.concatenate((kept, drawn)))


def empty_weight(start_positions: np.ndarray, end_positions: np.ndarray) -> float:
    """Return answered / empty: the weight of an empty window that makes both kinds weigh the same.

    This is the balance that the CUAD paper's text describes (section 4.1, Training); 1.0 when no window
    is empty.  Raises `BadInput` when no window is answered.
    """
    answered = _answered(start_positions, end_positions)
    empty = int(np.count_nonzero(~answered))
    return int(np.count_nonzero(answered)) / empty if empty else 1.0


def _answered(start_positions: np.ndarray, end_positions: np.ndarray) -> np.ndarray:
    answered = (np.asarray(start_positions) > 0) & (np.asarray(end_positions) > 0)
    if not answered.any():
        raise BadInput("no window bears an answer", where="features", do="train on examples with answers")
    return answered


@dataclass(frozen=True)
class _Example:
    example_id: str
    category: str
    start: int
    end: int


@dataclass(frozen=True, order=True)
class _Done:
    """What was written of one contract."""

    contract_id: str
    digest: str
    examples: int
    tokens: int
    windows: int
    answered: int
    one_token: int
    categories: tuple[str, ...]


@dataclass(frozen=True)
class _Shard:
    """The work of one process: some contracts with their examples, to one pair of files."""

    number: int
    folder: Path
    contracts: Path
    examples_name: str
    examples: Mapping[str, tuple[_Example, ...]]
    questions: Mapping[str, str]
    tokenizer: PreTrainedTokenizerBase
    settings: WindowSettings

    def file(self, kind: str) -> Path:
        return self.folder / f"{kind}-{self.number:02d}.parquet"


def _examples(
    contracts: Path, examples: Path, questions: Mapping[str, str], split: str | None, labelled: bool
) -> dict[str, tuple[_Example, ...]]:
    """The examples of each contract of the split that has any, sorted by example id."""
    key = "example_id" if labelled else "question_id"
    place = ["start", "end"] if labelled else []
    _require(contracts, ["contract_id", "text", *(["split"] if split is not None else [])])
    _require(examples, [key, "contract_id", "category", *place])
    known, last = {}, None
    for row in read(contracts, ["contract_id", *(["split"] if split is not None else [])]):
        if last is not None and row["contract_id"] <= last:
            fault = "repeats" if row["contract_id"] == last else "is out of order"
            raise BadInput(f"the contract_id {row['contract_id']!r} {fault}", where=contracts.name)
        last = row["contract_id"]
        known[last] = row.get("split") == split
    found: dict[str, list[_Example]] = {}
    seen: set[str] = set()
    for row in read(examples, [key, "contract_id", "category", *place]):
        example_id, contract_id, category = row[key], row["contract_id"], row["category"]
        where = f"{examples.name}, {key} {example_id!r}"
        if example_id in seen:
            raise BadInput(f"the {key} repeats", where=where)
        seen.add(example_id)
        if contract_id not in known:
            raise BadInput(f"the contract {contract_id!r} is not in {contracts.name}", where=where)
        if category not in questions:
            raise BadInput(f"the category {category!r} has no question", where=where)
        if known[contract_id]:
            start, end = (row["start"], row["end"]) if labelled else (-1, -1)
            found.setdefault(contract_id, []).append(_Example(example_id, category, start, end))
    if not found:
        of = f" of split {split!r}" if split is not None else ""
        raise BadInput(f"there is no example of a contract{of}", where=examples.name)
    return {name: tuple(sorted(some, key=lambda e: e.example_id)) for name, some in found.items()}


def _require(path: Path, columns: Sequence[str]) -> None:
    have = pq.read_schema(path).names
    if absent := [name for name in columns if name not in have]:
        raise BadInput(
            f"there is no column {absent[0]}", where=path.name, do=f"the columns are {', '.join(have)}"
        )


_inherited: Sequence[_Shard] = ()


def _inherit(jobs: Sequence[_Shard]) -> None:
    global _inherited
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a worker without a traceback of its own
    _inherited = jobs


def _write_inherited(number: int) -> list[_Done]:
    return _write_shard(_inherited[number])


def _write_shards(jobs: Sequence[_Shard], processes: int) -> Iterator[list[_Done]]:
    if processes == 1:
        yield from map(_write_shard, jobs)
        return
    # A spawned process would run the main script again, and Snakemake's scripts have no main guard.
    # What a forked one inherits, the tokenizer above all, need not be pickled for each shard.
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, context, initializer=_inherit, initargs=(jobs,)) as pool:
        try:
            yield from pool.map(_write_inherited, range(len(jobs)))
        except BadInput as error:
            # Unpickling has put the sentence where what was wrong belongs, and a stop behind it.
            raise BadInput(error.what, where=error.where, do=error.do) from None


def _write_shard(job: _Shard) -> list[_Done]:
    """Write the two files of a shard, and say what was written of each contract."""
    around = layout(job.tokenizer)
    lengths = {
        category: len(question_ids(job.tokenizer, text, job.settings.max_question_length))
        for category, text in job.questions.items()
    }
    for category, length in lengths.items():
        _check_capacity(category, job.settings, job.settings.max_length - around.special - length)
    done = []
    with (
        replacing(job.file("tokens")) as tokens_path,
        replacing(job.file("windows")) as windows_path,
        pq.ParquetWriter(tokens_path, TOKENS.schema, compression="zstd") as tokens_out,
        pq.ParquetWriter(windows_path, WINDOWS.schema, compression="zstd") as windows_out,
    ):
        texts: list[tuple[str, Tokens]] = []
        windows: list[pa.RecordBatch] = []
        for contract_id, text in _texts(job.contracts, job.examples):
            tokens = tokenise(
                job.tokenizer,
                text,
                f"{job.contracts.name}, contract_id {contract_id!r}",
                leading_space=job.settings.leading_space,
            )
            some = job.examples[contract_id]
            found = _labels(job, text, tokens, some)
            batch = _windows(job, contract_id, len(tokens), found, around, lengths)
            start, end = batch.column("start_position").to_numpy(), batch.column("end_position").to_numpy()
            answered = start > 0
            done.append(
                _Done(
                    contract_id,
                    _sha256([text, [[e.example_id, e.category, e.start, e.end] for e in some]]),
                    len(found),
                    len(tokens),
                    batch.num_rows,
                    int(answered.sum()),
                    int((answered & (start == end)).sum()),
                    tuple(batch.column("category").unique().to_pylist()),
                )
            )
            texts.append((contract_id, tokens))
            windows.append(batch)
            if len(texts) >= _CONTRACTS_A_BATCH:
                tokens_out.write_batch(_token_batch(texts))
                texts = []
            if sum(one.num_rows for one in windows) >= _ROWS:
                windows_out.write_batch(pa.concat_batches(windows))
                windows = []
        if texts:
            tokens_out.write_batch(_token_batch(texts))
        if windows:
            windows_out.write_batch(pa.concat_batches(windows))
    return done


def _check_capacity(category: str, settings: WindowSettings, capacity: int) -> None:
    if capacity < settings.step:
        raise BadInput(
            f"a window of {settings.max_length} tokens holds {max(capacity, 0)} contract tokens behind "
            f"the question of {category!r}, fewer than the step of {settings.step}",
            where="window settings",
            do="lower step or max_question_length, or raise max_length",
        )


def _texts(contracts: Path, wanted: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    with pq.ParquetFile(contracts) as file:
        for batch in file.iter_batches(
            _CONTRACTS_A_BATCH, columns=["contract_id", "text"], use_threads=False
        ):
            for row, contract_id in enumerate(batch.column("contract_id").to_pylist()):
                if contract_id in wanted:
                    yield contract_id, batch.column("text")[row].as_py() or ""


def _labels(
    job: _Shard, text: str, tokens: Tokens, examples: Sequence[_Example]
) -> list[tuple[_Example, tuple[int, int] | None]]:
    """The examples with the first and the last token of their answers; None where there is no answer.

    Those whose answer the release does not find are left out.
    """
    if all((example.start, example.end) == (-1, -1) for example in examples):
        return [(example, None) for example in examples]
    words = Words.of(text, tokens)
    labelled: list[tuple[_Example, tuple[int, int] | None]] = []
    for example in examples:
        if (example.start, example.end) == (-1, -1):
            labelled.append((example, None))
            continue
        where = f"{job.examples_name}, example_id {example.example_id!r}"
        if not 0 <= example.start < example.end <= len(text):
            raise BadInput(
                f"the answer is characters {example.start} to {example.end} of a contract of {len(text)}",
                where=where,
                do="give a span inside the text, or -1 and -1 for no answer",
            )
        found = answer_tokens(
            job.tokenizer,
            text,
            tokens,
            words,
            example.start,
            example.end,
            leading_space=job.settings.leading_space,
        )
        if found and found[1] < found[0]:
            raise BadInput(
                f"the answer, characters {example.start} to {example.end}, holds no token of this tokenizer",
                where=where,
                do="correct the span or leave the example out",
            )
        if found:
            labelled.append((example, found))
    return labelled


def _windows(
    job: _Shard,
    contract_id: str,
    tokens: int,
    examples: Sequence[tuple[_Example, tuple[int, int] | None]],
    around: Layout,
    lengths: Mapping[str, int],
) -> pa.RecordBatch:
    """The rows of `WINDOWS` of a contract of so many tokens; an example comes with its answer's."""
    cut: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    numbers, columns = [], []
    for example, found in examples:
        length = lengths[example.category]
        if length not in cut:
            capacity = job.settings.max_length - around.special - length
            cut[length] = spans(tokens, capacity, job.settings.step)
        starts, stops = cut[length]
        start_positions = end_positions = np.zeros_like(starts)
        if found:
            first, last = found
            inside = (starts <= first) & (last < stops)
            before = len(around.prefix) + length + len(around.middle)
            start_positions = np.where(inside, first - starts + before, 0)
            end_positions = np.where(inside, last - starts + before, 0)
        numbers.append(len(starts))
        columns.append((np.arange(len(starts)), starts, stops, start_positions, end_positions))
    if not examples:
        return pa.RecordBatch.from_pylist([], schema=WINDOWS.schema)
    rows = np.repeat(np.arange(len(examples)), numbers)
    integers = [np.concatenate(column).astype(np.int32) for column in zip(*columns, strict=True)]
    return pa.record_batch(
        [
            pa.array([example.example_id for example, _ in examples], pa.string()).take(pa.array(rows)),
            pa.array([contract_id], pa.string()).take(pa.array(np.zeros_like(rows))),
            pa.array([example.category for example, _ in examples], pa.string()).take(pa.array(rows)),
            *map(pa.array, integers),
        ],
        schema=WINDOWS.schema,
    )


def _token_batch(texts: Sequence[tuple[str, Tokens]]) -> pa.RecordBatch:
    ends = np.cumsum([0, *(len(tokens) for _, tokens in texts)]).astype(np.int32)
    columns = (
        pa.ListArray.from_arrays(ends, np.concatenate([getattr(tokens, name) for _, tokens in texts]))
        for name in ("ids", "starts", "ends")
    )
    names = pa.array([contract_id for contract_id, _ in texts], pa.string())
    return pa.record_batch(
        [names, *(column.cast(TOKENS.schema.field("ids").type) for column in columns)], schema=TOKENS.schema
    )


def _coded(column: pa.ChunkedArray) -> tuple[np.ndarray, tuple[str, ...]]:
    """The column as int32 indices into its sorted values."""
    whole = column.unify_dictionaries().combine_chunks()
    values = whole.dictionary.to_pylist()
    order = sorted(range(len(values)), key=values.__getitem__)
    rank = np.empty(len(values), dtype=np.int32)
    rank[order] = np.arange(len(values), dtype=np.int32)
    return rank[whole.indices.to_numpy()], tuple(values[at] for at in order)


def _made_with(
    tokenizer: PreTrainedTokenizerBase, settings: WindowSettings, questions: Mapping[str, str]
) -> dict[str, Any]:
    """What must be the same when features are written and when they are opened."""
    return {
        "format": FORMAT,
        "settings": asdict(settings),
        "tokenizer_sha256": _sha256(backend(tokenizer).to_str()),
        "questions_sha256": _sha256(dict(questions)),
    }


def _record(folder: Path) -> dict[str, Any]:
    path = folder / RECORD
    if not path.is_file():
        raise BadInput(f"there is no {RECORD}", where=str(folder), do="write the features first")
    return json.loads(path.read_text(encoding="utf-8"))


def _sha256(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
