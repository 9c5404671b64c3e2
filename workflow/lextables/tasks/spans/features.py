"""Writing the windows of training examples, held-out contracts and test contracts.

The windows and their labels are those of the released CUAD code (train.py, which calls transformers 4's
squad_convert_examples_to_features).  A contract is tokenised once, not once for each question.
"""

import itertools
import json
import multiprocessing
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from transformers import PreTrainedTokenizerBase

from lextables.models.loading import load_tokenizer
from lextables.pipeline.atomic import replacing, write_text
from lextables.pipeline.dataset import batches, parquet_file, read, read_table
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.squad import held_out_contracts
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
    WindowSettings,
    made_with,
    question_texts,
    sha256,
    window_settings,
)

_ROWS = 65_536
DEFAULT = WindowSettings()
PARTS = ("train", "validation", "test")


def spans(count: int, capacity: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the half-open token ranges (starts, stops) of the windows over ``count`` tokens (int32).

    A window has ``capacity`` tokens and starts ``step`` after the one before; the last is the first that
    reaches the end, and may be shorter.
    """
    number = 1 + max(0, -(-(count - capacity) // step))
    starts = np.arange(number, dtype=np.int32) * np.int32(step)
    return starts, np.minimum(starts + capacity, count).astype(np.int32)


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
    """Split contracts into windows, write a folder of features and return the content of features.json.

    ``contracts`` (contract_id, text, and split if ``split`` is given; sorted by contract_id) and ``examples``
    (example_id, contract_id, category, start, end; -1 and -1 for no answer) are parquet files; ``questions``
    maps categories to questions.  With ``labelled=False``, ``examples`` is a table of questions (question_id,
    contract_id, category) and all positions are 0.  ``split`` selects the contracts of that split.
    ``tokenizer_name`` is recorded.  A window has the positions of an answer if it contains all of it, else 0
    and 0; see `tokens.answer_tokens` for the tokens of an answer and the examples that are left out.

    The bytes depend on the inputs and ``shards``, not on ``processes``.  Memory holds the examples and, for
    each process, one contract and a bounded number of windows.

    Raises `BadInput` for missing columns, repeated examples, an unknown contract or category, answers outside
    the text or without tokens, contracts that are empty or too long, and a step wider than the contract
    tokens of a window.  The folder then has no features.json.
    """
    if not 1 <= shards <= 100:
        raise BadInput(
            f"shards = {shards}", where="write_features", do="choose 1 to 100"
        )
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
            {
                contract_id: by_contract[contract_id]
                for contract_id in wanted[shard::shards]
            },
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
    # A category whose examples were all left out is in no window.
    categories = set(itertools.chain.from_iterable(each.categories for each in done))
    record = {
        **made_with(
            tokenizer,
            settings,
            {name: text for name, text in used.items() if name in categories},
        ),
        "data_sha256": sha256([(each.contract_id, each.digest) for each in done]),
        "tokenizer": tokenizer_name,
        "labelled": labelled,
        "split": split,
        "shards": shards,
        "counts": {
            "contracts": len(done),
            "examples": sum(each.examples for each in done),
            "examples_left_out": sum(map(len, by_contract.values()))
            - sum(each.examples for each in done),
            "tokens": sum(each.tokens for each in done),
            "windows": sum(each.windows for each in done),
            "answered_windows": sum(each.answered for each in done),
            "one_token_answers": sum(each.one_token for each in done),
        },
    }
    write_text(
        folder / RECORD,
        json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n",
    )
    return record


@dataclass(frozen=True)
class _Example:
    example_id: str
    category: str
    start: int
    end: int


@dataclass(frozen=True, order=True)
class _Done:
    """Counts of what was written for one contract."""

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
    """The contracts and examples that are written to one pair of files."""

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
    contracts: Path,
    examples: Path,
    questions: Mapping[str, str],
    split: str | None,
    labelled: bool,
) -> dict[str, tuple[_Example, ...]]:
    """Return {contract: its examples, sorted by id} of the contracts of the split with examples."""
    key = "example_id" if labelled else "question_id"
    place = ["start", "end"] if labelled else []
    _require(
        contracts, ["contract_id", "text", *(["split"] if split is not None else [])]
    )
    _require(examples, [key, "contract_id", "category", *place])
    known, last = {}, None
    for row in read(
        contracts, ["contract_id", *(["split"] if split is not None else [])]
    ):
        if last is not None and row["contract_id"] <= last:
            fault = "repeats" if row["contract_id"] == last else "is out of order"
            raise BadInput(
                f"the contract_id {row['contract_id']!r} {fault}", where=contracts.name
            )
        last = row["contract_id"]
        known[last] = row.get("split") == split
    found: dict[str, list[_Example]] = {}
    seen: set[str] = set()
    for row in read(examples, [key, "contract_id", "category", *place]):
        example_id, contract_id, category = (
            row[key],
            row["contract_id"],
            row["category"],
        )
        where = f"{examples.name}, {key} {example_id!r}"
        if example_id in seen:
            raise BadInput(f"the {key} repeats", where=where)
        seen.add(example_id)
        if contract_id not in known:
            raise BadInput(
                f"the contract {contract_id!r} is not in {contracts.name}", where=where
            )
        if category not in questions:
            raise BadInput(f"the category {category!r} has no question", where=where)
        if known[contract_id]:
            start, end = (row["start"], row["end"]) if labelled else (-1, -1)
            found.setdefault(contract_id, []).append(
                _Example(example_id, category, start, end)
            )
    if not found:
        of = f" of split {split!r}" if split is not None else ""
        raise BadInput(f"no example of a contract{of}", where=examples.name)
    return {
        name: tuple(sorted(some, key=lambda e: e.example_id))
        for name, some in found.items()
    }


def _require(path: Path, columns: Sequence[str]) -> None:
    with parquet_file(path) as file:
        have = file.schema_arrow.names
    if absent := [name for name in columns if name not in have]:
        raise BadInput(
            f"the column {absent[0]} is missing",
            where=path.name,
            do=f"its columns are {', '.join(have)}",
        )


_inherited: Sequence[_Shard] = ()


def _inherit(jobs: Sequence[_Shard]) -> None:
    global _inherited
    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # Ctrl-C ends a worker without a traceback
    _inherited = jobs


def _write_inherited(number: int) -> list[_Done]:
    return _write_shard(_inherited[number])


def _write_shards(jobs: Sequence[_Shard], processes: int) -> Iterator[list[_Done]]:
    if processes == 1:
        yield from map(_write_shard, jobs)
        return
    # Spawned processes would run the main script again, since Snakemake's scripts have no main guard.  Forked
    # processes inherit the jobs, so that the tokenizer is not pickled for each shard.
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(
        processes, context, initializer=_inherit, initargs=(jobs,)
    ) as pool:
        try:
            yield from pool.map(_write_inherited, range(len(jobs)))
        except BadInput as error:
            # Unpickling has passed the whole message as the first argument.
            raise BadInput(error.what, where=error.where, do=error.do) from None


def _write_shard(job: _Shard) -> list[_Done]:
    """Write the two files of a shard; return the counts of each contract."""
    around = layout(job.tokenizer)
    lengths = {
        category: len(
            question_ids(job.tokenizer, text, job.settings.max_question_length)
        )
        for category, text in job.questions.items()
    }
    for category, length in lengths.items():
        _check_capacity(
            category, job.settings, job.settings.max_length - around.special - length
        )
    done = []
    with (
        replacing(job.file("tokens")) as tokens_path,
        replacing(job.file("windows")) as windows_path,
        pq.ParquetWriter(tokens_path, TOKENS.schema, compression="zstd") as tokens_out,
        pq.ParquetWriter(
            windows_path, WINDOWS.schema, compression="zstd"
        ) as windows_out,
    ):
        texts: list[tuple[str, Tokens]] = []
        windows: list[pa.RecordBatch] = []
        for contract_id, text in _texts(job.contracts, job.examples):
            tokens = tokenise(
                job.tokenizer,
                text,
                f"{job.contracts.name}, contract_id {contract_id!r}",
            )
            some = job.examples[contract_id]
            found = _labels(job, text, tokens, some)
            batch = _windows(job, contract_id, len(tokens), found, around, lengths)
            start, end = (
                batch.column("start_position").to_numpy(),
                batch.column("end_position").to_numpy(),
            )
            answered = start > 0
            done.append(
                _Done(
                    contract_id,
                    sha256(
                        [
                            text,
                            [[e.example_id, e.category, e.start, e.end] for e in some],
                        ]
                    ),
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


def _check_capacity(category: str, settings: WindowSettings, capacity: int) -> None:
    if capacity < settings.step:
        raise BadInput(
            f"a window of {settings.max_length} tokens has {max(capacity, 0)} contract tokens after "
            f"the question of {category!r}, fewer than the step of {settings.step}",
            where="window settings",
            do="lower step or max_question_length, or raise max_length",
        )


def _texts(contracts: Path, wanted: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for batch in batches(contracts, ["contract_id", "text"], CONTRACTS_A_BATCH):
        for row, contract_id in enumerate(batch.column("contract_id").to_pylist()):
            if contract_id in wanted:
                yield contract_id, batch.column("text")[row].as_py() or ""


def _labels(
    job: _Shard, text: str, tokens: Tokens, examples: Sequence[_Example]
) -> list[tuple[_Example, tuple[int, int] | None]]:
    """Return the examples with the first and the last token of their answers; None for no answer.

    Examples whose answer the release does not find are left out.
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
                f"the answer has the characters {example.start} to {example.end} of a contract of "
                f"{len(text)} characters",
                where=where,
                do="use a span inside the text, or -1 and -1 for no answer",
            )
        found = answer_tokens(
            job.tokenizer,
            text,
            tokens,
            words,
            example.start,
            example.end,
        )
        if found and found[1] < found[0]:
            raise BadInput(
                f"the answer, characters {example.start} to {example.end}, has no token with this tokenizer",
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
    """Return the rows of `WINDOWS` of a contract with ``tokens`` tokens, for examples with their labels."""
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
        columns.append(
            (np.arange(len(starts)), starts, stops, start_positions, end_positions)
        )
    if not examples:
        return pa.RecordBatch.from_pylist([], schema=WINDOWS.schema)
    rows = np.repeat(np.arange(len(examples)), numbers)
    integers = [
        np.concatenate(column).astype(np.int32) for column in zip(*columns, strict=True)
    ]
    return pa.record_batch(
        [
            pa.array([example.example_id for example, _ in examples], pa.string()).take(
                pa.array(rows)
            ),
            pa.array([contract_id], pa.string()).take(pa.array(np.zeros_like(rows))),
            pa.array([example.category for example, _ in examples], pa.string()).take(
                pa.array(rows)
            ),
            *map(pa.array, integers),
        ],
        schema=WINDOWS.schema,
    )


def _token_batch(texts: Sequence[tuple[str, Tokens]]) -> pa.RecordBatch:
    ends = np.cumsum([0, *(len(tokens) for _, tokens in texts)]).astype(np.int32)
    columns = (
        pa.ListArray.from_arrays(
            ends, np.concatenate([getattr(tokens, name) for _, tokens in texts])
        )
        for name in ("ids", "starts", "ends")
    )
    names = pa.array([contract_id for contract_id, _ in texts], pa.string())
    return pa.record_batch(
        [names, *(column.cast(TOKENS.schema.field("ids").type) for column in columns)],
        schema=TOKENS.schema,
    )


def write_parts(
    contracts: Path,
    questions: Path,
    examples: Path,
    settings: Mapping[str, Any],
    weights: str | Path,
    folder: Path,
    *,
    shards: int,
    processes: int,
) -> dict[str, dict[str, int]]:
    """Write the windows of each of `PARTS` to a subfolder of ``folder``; return their counts.

    ``weights`` is a folder with the model's tokenizer; ``settings["held_out"]`` selects the held-out
    contracts.
    """
    tokenizer = load_tokenizer(weights)
    splits = {
        row["contract_id"]: row["split"]
        for row in read(contracts, ["contract_id", "split"])
    }
    held = sorted(held_out_contracts(splits, settings["held_out"]))
    asked = read_table(questions)
    counts = {}
    with tempfile.TemporaryDirectory() as scratch:
        held_questions = Path(scratch) / questions.name
        pq.write_table(
            asked.filter(pc.is_in(asked["contract_id"], pa.array(held))), held_questions
        )
        parts = {
            "train": {"examples": examples},
            "validation": {"examples": held_questions, "labelled": False},
            "test": {"examples": questions, "labelled": False, "split": "test"},
        }
        for part in PARTS:
            record = write_features(
                contracts,
                questions=question_texts(questions),
                folder=folder / part,
                tokenizer=tokenizer,
                settings=window_settings(settings),
                tokenizer_name=f"{settings['weights']} {settings['revision'] or ''}".strip(),
                shards=shards,
                processes=processes,
                **parts[part],
            )
            counts[part] = record["counts"]
    return counts
