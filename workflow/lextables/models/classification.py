"""Training text classifiers: one model a question, or one model with a head for each (MAUD, A.4).

Both settings are one engine (`_train`): a single-task model is a multi-head model with one head.  Texts
are tokenised once for all of them, what is drawn is settled by the seed before training starts, every
number of updates of a grid is scored in one pass, and each model's predictions are kept in a work folder,
so that a killed job goes on at the model it was on.
"""

import gc
import hashlib
import itertools
import math
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, Trainer, TrainingArguments

from lextables.dataset import Column, Row, Table, read, write
from lextables.errors import BadInput
from lextables.models.checkpoints import AtUpdates, Checkpoints, arguments, train, work_folder
from lextables.models.loading import positions
from lextables.models.multi_head import HeadKind, MultiHead, load
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
PREDICTIONS = Table(
    "predictions",
    "What a classifier gives each answer of a question, after each number of updates of the grid.",
    (
        Column("updates", pa.int32(), "optimiser updates done"),
        Column("head_id", pa.string(), "the question, or the sub-question of a multilabel question"),
        Column("example_id", pa.string(), "the example"),
        Column("logits", pa.list_(pa.float64()), "one logit an answer, in the order of the head's answers"),
        Column("probabilities", pa.list_(pa.float64()), "each answer's own, which need not add up to one"),
    ),
    key=("updates", "head_id", "example_id"),
)
_BATCH = 64
_FINISHED = "predictions.parquet"


@dataclass(frozen=True)
class TrainingSettings:
    """What a training is set to; the defaults are MAUD's (A.4, released tune.py).

    ``turn`` is how many examples of one head are drawn before the next head's turn: 1 as the text has it;
    with the batch size each update is of one head, as in the released multi-task script, whose loss keeps
    only the last of the four heads that it draws for an update.  ``accumulate`` splits a batch into that
    many parts, and ``gradient_checkpointing`` computes activations twice, to save memory.  ``save_every``
    0 keeps no checkpoints: a killed model starts again.
    """

    learning_rate: float
    updates: tuple[int, ...]
    batch_size: int = 16
    weight_decay: float = 0.01
    head: HeadKind = "family"
    turn: int = 1
    bf16: bool = False
    gradient_checkpointing: bool = False
    accumulate: int = 1
    save_every: int = 0
    score_batch_size: int = 32


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


def subset(rows: Sequence[Row], fraction: float, seed: int) -> list[Row]:
    """Return a seeded share of the examples of each answer of each head, in the order they came in.

    Of n examples of an answer ⌈n × fraction⌉ stay, so at least one (released `keep_data_part`, there
    without a seed).  What stays of a head does not depend on the other heads.  (MAUD, Figure 3.)
    """
    if not 0 < fraction <= 1:
        raise BadInput(f"fraction = {fraction} is not above 0 and at most 1", where="training size")
    groups: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        groups[row["head_id"], row["label"]].append(index)
    kept: set[int] = set()
    for (head_id, label), members in groups.items():
        members.sort(key=lambda index: rows[index]["example_id"])
        order = _generator(seed, "subset", head_id, str(label)).permutation(len(members))
        kept.update(members[i] for i in order[: math.ceil(len(members) * fraction)])
    return [row for index, row in enumerate(rows) if index in kept]


def _generator(seed: int, *names: str) -> np.random.Generator:
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])


def queue(labels: Sequence[int], generator: np.random.Generator) -> Iterator[int]:
    """Yield indices into ``labels`` for ever, every answer equally often (A.4).

    A pass has each answer as often as the most frequent one has examples, shuffled.  Within an answer
    examples repeat evenly; which of them come once more than the others is drawn anew for each pass (the
    released `oversample` always takes the first).
    """
    of_answer = [np.flatnonzero(np.asarray(labels) == answer) for answer in np.unique(labels)]
    most = max(len(indices) for indices in of_answer)
    while True:
        whole = [np.resize(generator.permutation(indices), most) for indices in of_answer]
        yield from generator.permutation(np.concatenate(whole)).tolist()


def draws(labels: Mapping[str, Sequence[int]], settings: TrainingSettings, seed: int) -> np.ndarray:
    """Return what is trained on, in order: int64 (updates × batch size, 2), head number and example of it.

    Heads, numbered in sorted order, take turns; each round goes over all of them in a new order, and each
    head has a queue of its own (A.4), which does not depend on the other heads.  ``labels`` are the
    training labels of each head.
    """
    queues = [queue(of_head, _generator(seed, "queue", head)) for head, of_head in sorted(labels.items())]
    rounds = _generator(seed, "rounds")
    total = max(settings.updates) * settings.batch_size
    drawn = np.empty((total, 2), dtype=np.int64)
    at = 0
    while at < total:
        for head in rounds.permutation(len(queues)):
            for example in itertools.islice(queues[head], min(settings.turn, total - at)):
                drawn[at] = head, example
                at += 1
    return drawn


def train_heads(
    heads: Mapping[str, Sequence[str]],
    settings: Mapping[str, TrainingSettings],
    training: Iterable[Row],
    scored: Iterable[Row],
    tokens: Tokens,
    folder: str,
    *,
    seed: int,
    device: torch.device,
    work_root: str | Path,
    identity: Mapping[str, Any],
    output: str | Path,
) -> dict[str, Any]:
    """Train one model a head, each from the same weights, and write `PREDICTIONS` to ``output``.

    ``heads`` maps heads to their answers, ``settings`` heads to theirs.  ``training`` and ``scored`` are
    rows of example_id, head_id, text_id and (training) label, the answer's index; other columns are
    passed over.  ``folder`` holds the encoder.  ``identity`` is what makes the work this run's own besides
    settings, seed, rows and tokens (weights, code, libraries, device).  A head that an earlier, killed call
    finished is not trained again.

    Returns what `run.json` records.  `BadInput`, before anything is trained, for rows that do not fit.
    """
    run = _Run(tokens, folder, seed, device, Path(work_root), identity)
    rows = _by_head(heads, training, scored, tokens)
    parts, records = [], []
    for head in sorted(heads):
        part, record = _train({head: heads[head]}, settings[head], {head: rows[head]}, run)
        parts.append(part)
        records.append(record)
    write(PREDICTIONS, _merged(parts), output)
    return _record(records)


def train_jointly(
    heads: Mapping[str, Sequence[str]],
    settings: TrainingSettings,
    training: Iterable[Row],
    scored: Iterable[Row],
    tokens: Tokens,
    folder: str,
    *,
    seed: int,
    device: torch.device,
    work_root: str | Path,
    identity: Mapping[str, Any],
    output: str | Path,
) -> dict[str, Any]:
    """Train one model with all ``heads`` and write `PREDICTIONS` to ``output``; else as `train_heads`."""
    run = _Run(tokens, folder, seed, device, Path(work_root), identity)
    part, record = _train(heads, settings, _by_head(heads, training, scored, tokens), run)
    write(PREDICTIONS, read(part), output)
    return _record([record])


@dataclass(frozen=True)
class _Rows:
    training: list[Row]
    scored: list[Row]


@dataclass(frozen=True)
class _Run:
    tokens: Tokens
    folder: str
    seed: int
    device: torch.device
    work_root: Path
    identity: Mapping[str, Any]


def _by_head(
    heads: Mapping[str, Sequence[str]], training: Iterable[Row], scored: Iterable[Row], tokens: Tokens
) -> dict[str, _Rows]:
    """Return each head's rows, sorted by example, after checking that they can be trained on."""
    found = {head: _Rows([], []) for head in heads}
    for name, rows in (("training", training), ("scored", scored)):
        for row in rows:
            where = f"{name} example {row['example_id']}"
            if row["head_id"] not in heads:
                raise BadInput(f"head {row['head_id']!r} is not among the heads", where=where)
            if row["text_id"] not in tokens.position:
                raise BadInput(f"text {row['text_id']!r} has no tokens", where=where)
            kept = {key: row[key] for key in ("example_id", "text_id")}
            if name == "training":
                answers = len(heads[row["head_id"]])
                if not 0 <= row["label"] < answers:
                    raise BadInput(
                        f"label {row['label']} where head {row['head_id']!r} has {answers} answers",
                        where=where,
                    )
                kept["label"] = row["label"]
            getattr(found[row["head_id"]], name).append(kept)
    for head, of_head in found.items():
        of_head.training.sort(key=lambda row: row["example_id"])
        of_head.scored.sort(key=lambda row: row["example_id"])
        if len({row["label"] for row in of_head.training}) < 2:
            raise BadInput(
                f"head {head!r} has {len(of_head.training)} training examples and fewer than two answers"
                " among them",
                where="training examples",
                do="train it on more, or leave it out",
            )
    return found


def _record(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "models": len(records),
        "work": [record["work"] for record in records],
        "finished_before": sum(record["finished_before"] for record in records),
        "resumed_from_update": {r["work"]: r["resumed_from"] for r in records if r["resumed_from"]},
        "training_examples": sum(record["training_examples"] for record in records),
    }


def _merged(parts: Sequence[Path]) -> Iterator[Row]:
    """Yield the rows of files that each hold one head, by updates and then by head."""
    of_part = [pq.read_table(part, columns=["updates"])["updates"].unique().to_pylist() for part in parts]
    for updates in sorted({count for counts in of_part for count in counts}):
        for part, counts in zip(parts, of_part, strict=True):
            if updates in counts:
                yield from (row for row in read(part) if row["updates"] == updates)


def _train(
    heads: Mapping[str, Sequence[str]], settings: TrainingSettings, rows: Mapping[str, _Rows], run: _Run
) -> tuple[Path, dict[str, Any]]:
    """Train one model, unless it was finished before; return where its predictions are, and what happened."""
    names = sorted(heads)
    work = work_folder(
        run.work_root,
        {
            "settings": asdict(settings),
            "seed": run.seed,
            "identity": dict(run.identity),
            "heads": {name: len(heads[name]) for name in names},
            "rows": _digest([rows[name] for name in names], run.tokens),
        },
    )
    record = {
        "work": work.name,
        "finished_before": (work / _FINISHED).exists(),
        "resumed_from": 0,
        "training_examples": sum(len(rows[name].training) for name in names),
    }
    if not record["finished_before"]:
        record["resumed_from"] = _fit([len(heads[name]) for name in names], names, settings, rows, run, work)
        # Trainers are in reference cycles: without this the next model finds the last one on the GPU.
        gc.collect()
        torch.cuda.empty_cache()
        parts = [work / _part(updates) for updates in sorted(set(settings.updates))]
        write(PREDICTIONS, itertools.chain.from_iterable(map(read, parts)), work / _FINISHED)
    for left in [*work.glob("checkpoint-*"), *work.glob(_part("*"))]:
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    return work / _FINISHED, record


def _part(updates: int | str) -> str:
    return f"updates-{updates}.parquet"


def _digest(rows: Iterable[_Rows], tokens: Tokens) -> str:
    digest = hashlib.sha256()
    for of_head in rows:
        for name, found in (("training", of_head.training), ("scored", of_head.scored)):
            for row in found:
                digest.update(f"{name} {sorted(row.items())!r}".encode())
                digest.update(tokens[row["text_id"]].tobytes())
    return digest.hexdigest()[:16]


class _Drawn(Dataset):
    """The training examples in the order in which they are drawn: (head number, label, token ids)."""

    def __init__(self, drawn: np.ndarray, rows: Sequence[Sequence[Row]], tokens: Tokens) -> None:
        self.drawn, self.rows, self.tokens = drawn, rows, tokens

    def __len__(self) -> int:
        return len(self.drawn)

    def __getitem__(self, index: int) -> tuple[int, int, np.ndarray]:
        head, example = self.drawn[index].tolist()
        row = self.rows[head][example]
        return head, row["label"], self.tokens[row["text_id"]]


def padded(texts: Sequence[np.ndarray], padding: int) -> dict[str, torch.Tensor]:
    """Return a batch of token ids padded on the right to its longest text, and its attention mask."""
    lengths = torch.tensor([len(ids) for ids in texts])
    mask = (torch.arange(int(lengths.max())) < lengths[:, None]).long()
    ids = torch.full(mask.shape, padding)
    ids[mask.bool()] = torch.from_numpy(np.concatenate(texts).astype(np.int64))
    return {"input_ids": ids, "attention_mask": mask}


class _InOrder(Trainer):
    """The draws are settled beforehand, so batches are taken from them as they lie."""

    def get_train_dataloader(self) -> DataLoader:
        return self.accelerator.prepare(
            DataLoader(
                self.train_dataset,
                batch_size=self.args.per_device_train_batch_size,
                collate_fn=self.data_collator,
            )
        )


def _fit(
    sizes: Sequence[int],
    names: Sequence[str],
    settings: TrainingSettings,
    rows: Mapping[str, _Rows],
    run: _Run,
    work: Path,
) -> int:
    """Train a model, leaving its predictions after each number of updates in ``work``.

    AdamW at a constant rate, no decay of biases and normalisation, no clipping (released tune.py).
    Returns the update that a checkpoint let it go on from (0 for a fresh start).
    """
    last = max(settings.updates)
    if settings.batch_size % settings.accumulate:
        raise BadInput(
            f"accumulate = {settings.accumulate} does not divide batch_size = {settings.batch_size}",
            where="settings",
        )
    training = [rows[name].training for name in names]
    labels = {name: [row["label"] for row in of_head] for name, of_head in zip(names, training, strict=True)}
    model = load(run.folder, sizes, settings.head, run.seed, settings.gradient_checkpointing).to(run.device)

    def visit(updates: int) -> None:
        found = _score(model, names, {name: rows[name].scored for name in names}, settings, run)
        write(PREDICTIONS, ({"updates": updates, **row} for row in found), work / _part(updates))

    def collate(batch: Sequence[tuple[int, int, np.ndarray]]) -> dict[str, torch.Tensor]:
        heads, answers, texts = zip(*batch, strict=True)
        return {**padded(texts, _padding(model)), "head": torch.tensor(heads), "label": torch.tensor(answers)}

    trainer = _InOrder(
        model=model,
        args=TrainingArguments(
            **arguments(work, last, seed=run.seed, save_every=settings.save_every, device=run.device),
            per_device_train_batch_size=settings.batch_size // settings.accumulate,
            gradient_accumulation_steps=settings.accumulate,
            learning_rate=settings.learning_rate,
            weight_decay=settings.weight_decay,
            lr_scheduler_type="constant",
            warmup_steps=0,
            max_grad_norm=0.0,
            bf16=settings.bf16 and model.mixed_precision,
            logging_steps=max(1, last // 4),
            disable_tqdm=True,
            remove_unused_columns=False,
            label_names=["label"],
        ),
        train_dataset=_Drawn(draws(labels, settings, run.seed), training, run.tokens),
        data_collator=collate,
        callbacks=[Checkpoints(), AtUpdates(settings.updates, visit)],
    )
    return train(trainer, work)


def _padding(model: MultiHead) -> int:
    return model.body.config.pad_token_id or 0


@torch.no_grad()
def _score(
    model: MultiHead,
    names: Sequence[str],
    rows: Mapping[str, Sequence[Row]],
    settings: TrainingSettings,
    run: _Run,
) -> list[Row]:
    """Return the rows of `PREDICTIONS`, without ``updates``, sorted by head and example.

    Each text is encoded once, however many heads ask about it.  Single precision; neither the model's
    mode nor the random numbers of training are disturbed.
    """
    asked: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for number, name in enumerate(names):
        for row in rows[name]:
            asked[row["text_id"]][number].append(row["example_id"])
    order = sorted(asked, key=lambda text_id: (-len(run.tokens[text_id]), text_id))
    found = []
    training = model.training
    model.eval()
    with torch.random.fork_rng(devices=[run.device] if run.device.type == "cuda" else []):
        for batch in _batches(order, settings.score_batch_size):
            inputs = padded([run.tokens[text_id] for text_id in batch], _padding(model))
            represented = model.represent(**{key: value.to(run.device) for key, value in inputs.items()})
            for number in sorted({number for text_id in batch for number in asked[text_id]}):
                logits = model.answer(represented, number).double().cpu()
                shares = logits.sigmoid()
                found += [
                    {
                        "head_id": names[number],
                        "example_id": example_id,
                        "logits": logits[at].tolist(),
                        "probabilities": shares[at].tolist(),
                    }
                    for at, text_id in enumerate(batch)
                    for example_id in asked[text_id].get(number, ())
                ]
    model.train(training)
    return sorted(found, key=lambda row: (row["head_id"], row["example_id"]))
