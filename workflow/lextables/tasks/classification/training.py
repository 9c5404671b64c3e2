"""Training of text classifiers: one model for each head, or one encoder with several heads.

Both use `_train`: a single-task model is a multi-head model with one head.  The seed fixes the order of
training examples before training starts.  Search and single-task models make their predictions during
training, at every number of updates of the grid, and their weights are deleted: 144 models would fill a disk.
Predictions are kept in a work folder, so that a killed job continues with the model it was training.
"""

import gc
import hashlib
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import TrainingArguments

from lextables.models import checkpoints, multi_head
from lextables.models.checkpoints import AtUpdates, arguments, work_folder
from lextables.models.in_parts import InParts
from lextables.models.multi_head import MultiHead, balanced_weights
from lextables.models.optimiser import Optimiser
from lextables.models.precision import mixed
from lextables.models.weights import weights_folder
from lextables.pipeline.dataset import Row, read, read_table, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.examples import (
    Labels,
    Trial,
    by_head,
    check_labels,
    check_test_size,
    draws,
    key_of,
    labels_of,
    learnt_from,
    of_splits,
    subset,
    under_view,
)
from lextables.tasks.classification.features import Tokens, read_tokens
from lextables.tasks.classification.reading import inputs, padding, read_heads
from lextables.tasks.classification.schema import JOINT, PREDICTIONS, TRIED


@dataclass(frozen=True)
class Material:
    """The answers, training examples and test examples of each head (`examples.by_head`)."""

    answers: Mapping[str, Sequence[str]]
    training: Mapping[str, Sequence[Row]]
    to_predict: Mapping[str, Sequence[Row]]


def material(
    settings: Mapping[str, Any],
    examples: Iterable[Row],
    heads: Iterable[Row],
    tokens: Tokens,
    splits: tuple[Sequence[str], Sequence[str]],
    seed: int,
) -> Material:
    """Return the heads and examples of a run; ``splits`` are those for training and those to read.

    A head needs two different answers in training and one example to read.  The settings restrict heads to
    ``only`` some or, for single-task models, to a number (``heads``).  Raises `BadInput` for invalid rows, or
    if no head is left.
    """
    rows, used, multi_label = list(examples), list(heads), settings["multi_label"]
    if settings["only"]:
        rows, used = (
            [row for row in part if row["head_id"] in settings["only"]]
            for part in (rows, used)
        )
    training = list(learnt_from(rows, splits[0], settings["where"]))
    to_predict = list(of_splits(rows, splits[1]))
    check_labels(
        training, {head["head_id"]: len(head["answers"]) for head in used}, multi_label
    )
    training = subset(
        training, settings["percent"] / 100, seed, multi_label=multi_label
    )
    most = settings["heads"] if settings["setting"] == "single" else None
    answers = spread(usable(used, training, to_predict), most)
    _check_texts(
        (row for row in (*training, *to_predict) if row["head_id"] in answers), tokens
    )
    return Material(
        answers, by_head(training, answers, labelled=True), by_head(to_predict, answers)
    )


def usable(
    heads: Iterable[Row], training: Iterable[Row], to_predict: Iterable[Row]
) -> dict[str, list[str]]:
    """Return {head: answers} of the heads that can be trained and read, sorted by head."""
    seen: dict[str, set[tuple[int, ...]]] = defaultdict(set)
    for row in training:
        seen[row["head_id"]].add(labels_of(row))
    heads_to_predict = {row["head_id"] for row in to_predict}
    answers_of = {
        head["head_id"]: list(head["answers"])
        for head in heads
        if len(seen[head["head_id"]]) > 1 and head["head_id"] in heads_to_predict
    }
    if not answers_of:
        raise BadInput(
            "no head has two answers in training and an example to read",
            where="examples",
        )
    return dict(sorted(answers_of.items()))


def spread(answers: Mapping[str, list[str]], most: int | None) -> dict[str, list[str]]:
    """Return ``most`` heads, evenly spaced in their order; all for None."""
    names = list(answers)
    if most is None or most >= len(names):
        return dict(answers)
    return {
        names[i * len(names) // most]: answers[names[i * len(names) // most]]
        for i in range(most)
    }


def _check_texts(rows: Iterable[Row], tokens: Tokens) -> None:
    for row in rows:
        if (key := key_of(row)) not in tokens.position:
            named = " with ".join(repr(text_id) for text_id in key if text_id)
            raise BadInput(
                f"text {named} has no tokens", where=f"example {row['example_id']}"
            )


Settings = Mapping[str, Any]
_PREDICTIONS = "predictions.parquet"
_LONG = 1024  # tokens; longer inputs use activation checkpointing to save memory
Visit = Callable[[MultiHead, int], None]


@dataclass(frozen=True)
class Training:
    """The common inputs of all models of a run.  ``folder`` has the encoder.

    ``identity`` (data, weights, code, libraries, device), settings, seed and material together identify the
    work under ``work_root`` that may be reused.
    """

    settings: Settings
    material: Material
    tokens: Tokens
    folder: str
    seed: int
    device: torch.device
    work_root: Path
    identity: Mapping[str, Any]


def prepare(
    settings: Settings,
    examples: str | Path,
    heads: str | Path,
    tokens: str | Path,
    splits: tuple[Sequence[str], Sequence[str]],
    *,
    seed: int,
    device: torch.device,
    work_root: Path,
    identity: Mapping[str, Any],
) -> Training:
    """Read the examples, heads and tokens of a run from parquet files; other arguments as in `Training`.

    ``passes`` over the training examples in the settings are converted to ``updates``, at least one.
    """
    rows = list(under_view(read(examples), settings["view"]))
    check_test_size(rows, settings)
    read_in = read_tokens(tokens, {key_of(row) for row in rows})
    data = material(settings, rows, read(heads), read_in, splits, seed)
    if settings["passes"] is not None:
        count = sum(map(len, data.training.values()))
        updates = max(1, round(settings["passes"] * count / settings["batch_size"]))
        settings = {**settings, "updates": [updates]}
    # Work is reused only with the same weights, wherever they are stored.
    owner = {name: settings.get(name) for name in ("weights", "revision", "content")}
    return Training(
        settings,
        data,
        read_in,
        weights_folder(settings),
        seed,
        device,
        work_root,
        {**identity, **owner},
    )


def read_while_training(
    run: Training, trials: Mapping[str, Trial], output: str | Path, *, tried: bool
) -> dict[str, Any]:
    """Train, predict at every number of updates, write the predictions and return the record for `run.json`.

    ``trials`` maps each head to the trial of its own model, or `JOINT` to that of one model with all heads.
    Writes `TRIED` if ``tried``, else `PREDICTIONS` (each trial then has one number of updates).  Models that
    an earlier, killed job finished are not trained again.
    """
    groups = (
        [sorted(run.material.answers)]
        if JOINT in trials
        else [[head] for head in sorted(trials)]
    )
    parts, records = [], []
    for heads in groups:
        part, record = _train_once(
            run, heads, trials[JOINT if JOINT in trials else heads[0]]
        )
        parts.append(part)
        records.append(record)
    if tried:
        write(TRIED, _merged(parts), output)
    else:
        rows = (
            {key: row[key] for key in row if key != "updates"}
            for part in parts
            for row in read(part)
        )
        write(PREDICTIONS, rows, output)
    return _record(run, records, trials)


def train(run: Training, trial: Trial, output: str | Path) -> dict[str, Any]:
    """Train one model with all heads, save it to ``output`` and return the record for `run.json`."""
    heads = sorted(run.material.answers)
    work = _work(run, heads, trial)
    if record := checkpoints.finished(work, output):
        return record
    model, resumed = _train(run, heads, trial, work, lambda model, updates: None)
    multi_head.save(model, output, {head: run.material.answers[head] for head in heads})
    record = {"work": work.name, "finished_before": False, "resumed_from": resumed}
    return _record(run, [record | {"heads": heads}], {JOINT: trial})


def _record(
    run: Training, records: Sequence[Mapping[str, Any]], trials: Mapping[str, Trial]
) -> dict[str, Any]:
    return {
        "models": len(records),
        "heads": len(run.material.answers),
        "work": [record["work"] for record in records],
        "finished_before": sum(record["finished_before"] for record in records),
        "resumed_from_update": {
            r["work"]: r["resumed_from"] for r in records if r["resumed_from"]
        },
        "training_examples": sum(
            len(run.material.training[head])
            for record in records
            for head in record["heads"]
        ),
        "trials": {name: dict(trial) for name, trial in trials.items()},
    }


def _work(run: Training, heads: Sequence[str], trial: Trial) -> Path:
    sizes = {head: len(run.material.answers[head]) for head in heads}
    key = {
        "settings": dict(run.settings),
        "trial": dict(trial),
        "seed": run.seed,
        "heads": sizes,
    }
    key |= {"identity": dict(run.identity), "material": _digest(run, heads)}
    return work_folder(run.work_root, key)


def _digest(run: Training, heads: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for head in heads:
        for name, rows in (
            ("training", run.material.training[head]),
            ("asked", run.material.to_predict[head]),
        ):
            for row in rows:
                digest.update(f"{name} {sorted(row.items())!r}".encode())
                digest.update(run.tokens[key_of(row)].tobytes())
    return digest.hexdigest()[:16]


def _train_once(
    run: Training, heads: Sequence[str], trial: Trial
) -> tuple[Path, dict[str, Any]]:
    """Train one model unless it was finished before; return the path of its predictions and its record."""
    work = _work(run, heads, trial)
    finished = checkpoints.finished_content(work) is not None
    record = {"work": work.name, "finished_before": finished}
    record |= {"resumed_from": 0, "heads": heads}
    if not finished:

        def visit(model: MultiHead, updates: int) -> None:
            to_predict = {head: run.material.to_predict[head] for head in heads}
            rows = read_heads(model, heads, to_predict, run.tokens, run.device)
            write(
                TRIED,
                ({"updates": updates, **row} for row in rows),
                work / _part(updates),
            )

        _, record["resumed_from"] = _train(run, heads, trial, work, visit)
        parts = [work / _part(updates) for updates in sorted(set(trial["updates"]))]
        with checkpoints.finishing(work) as content:
            rows = itertools.chain.from_iterable(map(read, parts))
            write(TRIED, rows, content / _PREDICTIONS)
    for unfinished in [*work.glob("checkpoint-*"), *work.glob(_part("*"))]:
        checkpoints.remove(unfinished)
    return checkpoints.finished_content(work) / _PREDICTIONS, record


def _part(updates: int | str) -> str:
    return f"updates-{updates}.parquet"


def _merged(parts: Sequence[Path]) -> Iterator[Row]:
    """Yield the rows of files that each hold one model's heads, by updates and then by head."""
    of_part = [
        read_table(part, ["updates"])["updates"].unique().to_pylist() for part in parts
    ]
    for updates in sorted({count for counts in of_part for count in counts}):
        for part, counts in zip(parts, of_part, strict=True):
            if updates in counts:
                yield from (row for row in read(part) if row["updates"] == updates)


class _Drawn(Dataset):
    """The training examples in drawing order: (head number, example)."""

    def __init__(self, drawn: np.ndarray, rows: Sequence[Sequence[Row]]) -> None:
        self.drawn, self.rows = drawn, rows

    def __len__(self) -> int:
        return len(self.drawn)

    def __getitem__(self, index: int) -> tuple[int, Row]:
        head, example = self.drawn[index].tolist()
        return head, self.rows[head][example]


class _InOrder(InParts):
    """A trainer without shuffling: the examples are already in drawing order."""

    def get_train_dataloader(self) -> DataLoader:
        return self.accelerator.prepare(
            DataLoader(
                self.train_dataset,
                batch_size=self.args.per_device_train_batch_size,
                collate_fn=self.data_collator,
                num_workers=self.args.dataloader_num_workers,
                pin_memory=self.args.dataloader_pin_memory,
            )
        )


def _train(
    run: Training, heads: Sequence[str], trial: Trial, work: Path, visit: Visit
) -> tuple[MultiHead, int]:
    """Train a model with these heads; call ``visit`` after each number of updates of the trial.

    The settings are those of `plan.ClassificationTask` and `plan.ClassificationGrid`.  With zero
    updates the initial model is returned, with randomly initialised heads if it has none.  Returns the model
    and the update from which training resumed (0 for a fresh start).
    """
    settings, last = run.settings, max(trial["updates"])
    optimiser = Optimiser(**settings["optimiser"])
    training = [run.material.training[head] for head in heads]
    labels = {
        head: [row["labels"] for row in rows]
        for head, rows in zip(heads, training, strict=True)
    }
    model = _untrained_model(run, heads, labels)
    if not last:
        visit(model, 0)
        return model, 0

    def collate(batch: Sequence[tuple[int, Row]]) -> dict[str, Any]:
        numbers, rows = zip(*batch, strict=True)
        right = [row["labels"] for row in rows]
        return {
            **inputs(run.tokens, [key_of(row) for row in rows], padding(model)),
            "head": list(numbers),
            "label": _multi_label_targets(right, max(model.sizes))
            if settings["multi_label"]
            else _single_label_targets(right),
        }

    drawn = draws(labels, last * settings["batch_size"], run.seed, settings["sampling"])
    trainer = _InOrder(
        model=model,
        args=TrainingArguments(
            **arguments(
                work,
                last,
                seed=run.seed,
                save_every=settings["save_every"],
                device=run.device,
                log_lines=4,
            ),
            **optimiser.arguments(trial["learning_rate"]),
            per_device_train_batch_size=settings["batch_size"],
            remove_unused_columns=False,
            label_names=["label"],
        ),
        train_dataset=_Drawn(drawn, training),
        data_collator=collate,
        callbacks=[AtUpdates(trial["updates"], lambda updates: visit(model, updates))],
        mixed=mixed(settings["bf16"], run.device, model.mixed_precision),
        decayed=optimiser.decayed,
    )
    resumed = checkpoints.train(trainer, work)
    # Trainers are in reference cycles: without this the model would stay in GPU memory.
    del trainer
    gc.collect()
    torch.cuda.empty_cache()
    return model, resumed


def _untrained_model(
    run: Training, heads: Sequence[str], labels: Mapping[str, Labels]
) -> MultiHead:
    """Return the encoder with untrained heads, for examples with these ``labels``."""
    settings, sizes = run.settings, [len(run.material.answers[head]) for head in heads]
    weights = None
    if settings["class_weights"] == "balanced":
        right = (
            [answer for of_example in labels[head] for answer in of_example]
            for head in heads
        )
        weights = [
            balanced_weights(of_head, size)
            for of_head, size in zip(right, sizes, strict=True)
        ]
    twice = settings["max_length"] > _LONG
    return multi_head.load(
        run.folder,
        sizes,
        settings["head"],
        run.seed,
        twice,
        loss=settings["loss"],
        weights=weights,
    ).to(run.device)


def _single_label_targets(labels: Labels) -> torch.Tensor:
    """Return the one right answer of each example, int64 (examples,)."""
    return torch.tensor([answer for (answer,) in labels])


def _multi_label_targets(labels: Labels, answers: int) -> torch.Tensor:
    """Return 1 for each right answer of an example and 0 for others, float32 (examples, answers)."""
    right = torch.zeros(len(labels), answers)
    for row, of_example in zip(right, labels, strict=True):
        row[torch.tensor(of_example, dtype=torch.long)] = 1
    return right
