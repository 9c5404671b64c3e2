"""Writing the windows of training examples, held-out contracts and test contracts.

The windows and their labels are those of the released CUAD code (train.py, which calls
transformers 4's squad_convert_examples_to_features).  A contract is tokenised once, not
once for each question.
"""

import json
import math
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from transformers import PreTrainedTokenizerBase

from lextables.models.tokenizers import load_tokenizer
from lextables.pipeline.atomic import remove
from lextables.pipeline.dataset import PARQUET, batches, read, read_table
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import replacing_result, write_result
from lextables.tasks.spans.settings import CuttingSettings, WindowSettings
from lextables.tasks.spans.squad import contract_splits, held_out_contracts
from lextables.tasks.spans.tokens import (
    Layout,
    Tokens,
    Words,
    answer_tokens,
    layout,
    question_ids,
    tokenise,
)
from lextables.tasks.spans.windows import (
    CONTRACTS_A_BATCH,
    RECORD,
    TOKENS,
    WINDOWS,
    made_with,
    question_texts,
)

_ROWS = 65_536  # windows that are collected before they are written


def spans(count: int, capacity: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the windows over ``count`` tokens: starts and stops, int32.

    A window has ``capacity`` tokens and starts ``step`` after the one before; the last
    is the first that reaches the end, and may be shorter.
    """
    after_first = math.ceil(max(0, count - capacity) / step)
    starts = np.arange(1 + after_first, dtype=np.int32) * np.int32(step)
    stops = np.minimum(starts + capacity, count)
    return starts, stops.astype(np.int32)


@dataclass(frozen=True)
class WindowSource:
    """Contracts, and the questions about them whose windows are written."""

    contracts: Path
    """Table with contract_id, text and split (which only ``split`` needs)."""
    examples: Path
    """Training examples (`squad.EXAMPLES`), or questions if not ``labelled``."""
    questions: Mapping[str, str]
    """{category: question}."""
    split: str | None = None
    """Only contracts of this split."""
    labelled: bool = True
    """Whether the rows have answers; otherwise all positions are 0."""


def write_features(
    source: WindowSource,
    folder: Path,
    tokenizer: PreTrainedTokenizerBase,
    settings: WindowSettings,
    shards: int = 8,
) -> dict[str, int]:
    """Cut contracts into windows and write them; return counts.

    A window has the positions of an answer if it contains all of it, else 0 and 0; see
    `tokens.answer_tokens` for the tokens of an answer and the examples that are left
    out.

    Memory holds the examples, one contract and a bounded number of windows.

    Raises `BadInput` for answers without tokens, contracts that are empty or too long,
    and a step wider than the contract tokens of a window.  The folder then has no
    features.json.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORD).unlink(missing_ok=True)
    by_contract = _examples(source)
    count = 0
    asked: set[str] = set()
    for contract_examples in by_contract.values():
        count += len(contract_examples)
        asked.update(example.category for example in contract_examples)
    used = {name: source.questions[name] for name in asked}
    for kind in ("tokens", "windows"):
        for file in folder.glob(f"{kind}-*.parquet"):
            remove(file)
    done: list[_Done] = []
    for number in range(shards):
        names = sorted(by_contract)[number::shards]
        examples = {name: by_contract[name] for name in names}
        shard = _Shard(
            number, folder, source.contracts, examples, used, tokenizer, settings
        )
        done += _write_shard(shard)
    # A category whose examples were all left out is in no window.
    in_windows = {}
    for each in done:
        for category in each.categories:
            in_windows[category] = used[category]
    examples_with_windows = sum(each.examples for each in done)
    counts = {
        "contracts": len(done),
        "examples": examples_with_windows,
        "examples_left_out": count - examples_with_windows,
        "tokens": sum(each.tokens for each in done),
        "windows": sum(each.windows for each in done),
        "answered_windows": sum(each.answered for each in done),
        "one_token_answers": sum(each.one_token for each in done),
    }
    record = {
        **made_with(tokenizer, settings, in_windows),
        "shards": shards,
        "counts": counts,
    }
    text = json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False)
    write_result(folder / RECORD, text + "\n")
    return counts


@dataclass(frozen=True)
class _Example:
    """A question about a contract; the answer has the characters [start, end)."""

    example_id: str
    category: str
    start: int
    end: int

    @property
    def answered(self) -> bool:
        return self.start >= 0


@dataclass(frozen=True)
class _Done:
    """Counts of what was written for one contract."""

    examples: int
    tokens: int
    windows: int
    answered: int
    """Windows with an answer."""
    one_token: int
    """Windows whose answer is one token."""
    categories: tuple[str, ...]
    """Categories with a window."""


@dataclass(frozen=True)
class _Shard:
    """The contracts and examples that are written to one pair of files."""

    number: int
    folder: Path
    contracts: Path
    """The table of all contracts."""
    examples: Mapping[str, Sequence[_Example]]
    """{contract of the shard: its examples}."""
    questions: Mapping[str, str]
    """{category: question}."""
    tokenizer: PreTrainedTokenizerBase
    settings: WindowSettings

    def file(self, kind: str) -> Path:
        """The path of the file of tokens or of windows."""
        return self.folder / f"{kind}-{self.number:02d}.parquet"


def _examples(source: WindowSource) -> dict[str, list[_Example]]:
    """Return {contract: its examples, sorted by id} of the contracts of the split."""
    columns = ["contract_id"]
    if source.split is not None:
        columns.append("split")
    contracts = set()
    for row in read(source.contracts, columns):
        if row.get("split") == source.split:
            contracts.add(row["contract_id"])
    examples: dict[str, list[_Example]] = {}
    for row in read(source.examples):
        contract = row["contract_id"]
        if contract not in contracts:
            continue
        category = row["category"]
        if source.labelled:
            start = row["start"]
            end = row["end"]
            example = _Example(row["example_id"], category, start, end)
        else:
            example = _Example(row["question_id"], category, -1, -1)
        examples.setdefault(contract, []).append(example)
    if not examples:
        what = f"no question about a contract of the split {source.split or 'train'}"
        raise BadInput(what, where=source.examples.name)
    for some in examples.values():
        some.sort(key=lambda example: example.example_id)
    return examples


def _write_shard(shard: _Shard) -> list[_Done]:
    """Write the two files of a shard; return the counts of each contract."""
    around = layout(shard.tokenizer)
    longest = shard.settings.max_question_length
    lengths = {}
    for category, text in shard.questions.items():
        lengths[category] = len(question_ids(shard.tokenizer, text, longest))
        capacity = shard.settings.max_length - around.special - lengths[category]
        _check_capacity(category, shard.settings, capacity)
    done = []
    with (
        replacing_result(shard.file("tokens")) as tokens_path,
        replacing_result(shard.file("windows")) as windows_path,
        pq.ParquetWriter(tokens_path, TOKENS.schema, **PARQUET) as tokens_out,
        pq.ParquetWriter(windows_path, WINDOWS.schema, **PARQUET) as windows_out,
    ):
        texts: list[tuple[str, Tokens]] = []
        windows: list[pa.RecordBatch] = []
        for contract_id, text in _texts(shard.contracts, shard.examples):
            where = f"{shard.contracts.name}, contract_id {contract_id!r}"
            tokens = tokenise(shard.tokenizer, text, where)
            labelled = _labels(shard, text, tokens, shard.examples[contract_id])
            batch = _windows(shard, contract_id, len(tokens), labelled, around, lengths)
            done.append(_done(len(labelled), len(tokens), batch))
            texts.append((contract_id, tokens))
            windows.append(batch)
            if len(texts) >= CONTRACTS_A_BATCH:
                tokens_out.write_batch(_token_batch(texts))
                texts = []
            if sum(each.num_rows for each in windows) >= _ROWS:
                windows_out.write_batch(pa.concat_batches(windows))
                windows = []
        if texts:
            tokens_out.write_batch(_token_batch(texts))
        if windows:
            windows_out.write_batch(pa.concat_batches(windows))
    return done


def _done(examples: int, tokens: int, windows: pa.RecordBatch) -> _Done:
    """Return the counts of one contract with these ``windows`` (`WINDOWS`)."""
    starts = windows.column("start_position").to_numpy()
    ends = windows.column("end_position").to_numpy()
    answered = starts > 0
    return _Done(
        examples,
        tokens,
        windows.num_rows,
        answered=int(answered.sum()),
        one_token=int((answered & (starts == ends)).sum()),
        categories=tuple(windows.column("category").unique().to_pylist()),
    )


def _check_capacity(category: str, settings: WindowSettings, capacity: int) -> None:
    """Raise `BadInput` if windows with ``capacity`` contract tokens leave gaps."""
    if capacity < settings.step:
        raise BadInput(
            f"a window of {settings.max_length} tokens has {max(capacity, 0)} contract "
            f"tokens after the question of {category!r}, fewer than the step of "
            f"{settings.step}",
            where="window settings",
            do="lower step or max_question_length, or raise max_length",
        )


def _texts(contracts: Path, wanted: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield (contract, text) of the ``wanted`` contracts, in the table's order."""
    for batch in batches(contracts, ["contract_id", "text"], CONTRACTS_A_BATCH):
        for row, contract_id in enumerate(batch.column("contract_id").to_pylist()):
            if contract_id in wanted:
                yield contract_id, batch.column("text")[row].as_py() or ""


# An example, and the first and the last token of its answer.
_Labelled = tuple[_Example, tuple[int, int] | None]


def _labels(
    shard: _Shard, text: str, tokens: Tokens, examples: Sequence[_Example]
) -> list[_Labelled]:
    """Return the examples with the first and the last token of their answers.

    These are None for no answer.  Examples whose answer the release does not find are
    left out.
    """
    if not any(example.answered for example in examples):
        return [(example, None) for example in examples]
    words = Words.of(text, tokens)
    labelled: list[_Labelled] = []
    for example in examples:
        if not example.answered:
            labelled.append((example, None))
            continue
        start = example.start
        end = example.end
        token_range = answer_tokens(shard.tokenizer, text, tokens, words, start, end)
        if token_range and token_range[1] < token_range[0]:
            raise BadInput(
                f"the answer, characters {start} to {end}, has no token with this "
                "tokenizer",
                where=f"example_id {example.example_id!r}",
                do="use another model",
            )
        if token_range:
            labelled.append((example, token_range))
    return labelled


def _windows(
    shard: _Shard,
    contract_id: str,
    tokens: int,
    examples: Sequence[_Labelled],
    around: Layout,
    lengths: Mapping[str, int],
) -> pa.RecordBatch:
    """Return the rows of `WINDOWS` of a contract with ``tokens`` tokens.

    ``lengths`` is {category: tokens of its question}.
    """
    example_ids = []
    categories = []
    numbers = []
    integers = []
    for example, label in examples:
        length = lengths[example.category]
        capacity = shard.settings.max_length - around.special - length
        starts, stops = spans(tokens, capacity, shard.settings.step)
        start_positions = end_positions = np.zeros_like(starts)
        if label:
            first, last = label
            inside = (starts <= first) & (last < stops)
            # Positions count from the beginning of the sequence.
            before = len(around.prefix) + length + len(around.middle)
            moved = before - starts
            start_positions = np.where(inside, first + moved, 0)
            end_positions = np.where(inside, last + moved, 0)
        window = np.arange(len(starts))
        columns = [window, starts, stops, start_positions, end_positions]
        example_ids.append(example.example_id)
        categories.append(example.category)
        numbers.append(len(starts))
        integers.append(np.stack(columns))
    if not examples:
        return pa.RecordBatch.from_pylist([], schema=WINDOWS.schema)
    example_of_window = np.repeat(np.arange(len(examples)), numbers)
    rows = pa.array(example_of_window)
    columns = [
        pa.array(example_ids).take(rows),
        pa.repeat(contract_id, len(rows)),
        pa.array(categories).take(rows),
    ]
    for column in np.concatenate(integers, axis=1).astype(np.int32):
        columns.append(pa.array(column))
    return pa.record_batch(columns, schema=WINDOWS.schema)


def _token_batch(texts: Sequence[tuple[str, Tokens]]) -> pa.RecordBatch:
    """Return the rows of `TOKENS` of (contract, its tokens)."""
    rows = []
    for contract_id, tokens in texts:
        row = {"contract_id": contract_id}
        row.update(vars(tokens))
        rows.append(row)
    return pa.RecordBatch.from_pylist(rows, schema=TOKENS.schema)


def write_parts(
    contracts: Path,
    questions: Path,
    examples: Path,
    settings: CuttingSettings,
    weights: str | Path,
    folder: Path,
    shards: int,
) -> dict[str, dict[str, int]]:
    """Write the windows of each part to a subfolder of ``folder``; return counts.

    The parts are `train`, `validation` (the held-out contracts) and `test`.
    ``weights`` is a folder with the model's tokenizer.
    """
    tokenizer = load_tokenizer(weights)
    texts = question_texts(questions)
    held_out = held_out_contracts(contract_splits(contracts), settings.held_out)
    asked = read_table(questions)
    counts = {}
    # The questions about held-out contracts become a table of their own.
    with tempfile.TemporaryDirectory() as scratch:
        held_questions = Path(scratch) / questions.name
        held = pc.is_in(asked["contract_id"], pa.array(sorted(held_out)))
        pq.write_table(asked.filter(held), held_questions)
        sources = {
            "train": WindowSource(contracts, examples, texts),
            "validation": WindowSource(
                contracts, held_questions, texts, labelled=False
            ),
            "test": WindowSource(contracts, questions, texts, "test", labelled=False),
        }
        for part, source in sources.items():
            counts[part] = write_features(
                source, folder / part, tokenizer, settings, shards
            )
    return counts
