"""Training of text classifiers: one model for each head, or one with several heads.

Both use `_train`: a single-task model is a multi-head model with one head.  The seed
fixes the order of training examples before training starts.  Search and single-task
models make their predictions during training, at every number of updates of the grid,
and their weights are deleted: MAUD's 144 models would fill a disk.  Predictions are
kept in a work folder, so that a killed job continues with the model it was training.
"""

import gc
import hashlib
import itertools
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import TrainingArguments

from lextables.models import checkpoints, multi_head
from lextables.models.checkpoints import AtUpdates, arguments, work_folder
from lextables.models.device import mixed
from lextables.models.in_parts import Batch, InParts, recompute_activations
from lextables.models.multi_head import MultiHead, balanced_weights
from lextables.models.weights import weights_folder
from lextables.pipeline import user_rows
from lextables.pipeline.atomic import remove
from lextables.pipeline.dataset import Row, read, read_table, write
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.pipeline.finite import NotFinite
from lextables.tasks.classification.examples import (
    Labels,
    RowsByHead,
    Trial,
    by_head,
    check_labels,
    check_test_size,
    draws,
    key_of,
    labels_of,
    named,
    of_heads,
    of_splits,
    subset,
    training_rows,
    under_view,
)
from lextables.tasks.classification.features import Tokens, read_tokens
from lextables.tasks.classification.inference import inputs, padding, read_heads
from lextables.tasks.classification.schema import JOINT, PREDICTIONS, TRIED
from lextables.tasks.classification.settings import TrainingSettings

_log = logging.getLogger("lextables")


@dataclass(frozen=True)
class Material:
    """The answers, training examples and test examples of each head (`by_head`)."""

    answers: Mapping[str, Sequence[str]]
    training: RowsByHead
    to_predict: RowsByHead


@dataclass(frozen=True)
class TrainingFiles:
    """The tables of a data set that a training reads, and its tokens."""

    examples: str | Path
    heads: str | Path
    tokens: str | Path


@dataclass(frozen=True)
class Splits:
    """The splits whose examples are trained on, and those that are predicted."""

    training: Sequence[str]
    test: Sequence[str]


def material(
    settings: TrainingSettings,
    examples: Sequence[Row],
    heads: Iterable[Row],
    tokens: Tokens,
    splits: Splits,
    seed: int,
) -> Material:
    """Return the heads and examples of a run.

    A head needs two different answers in training and one example to predict.  Raises
    `BadInput` for invalid rows, or if no head is left.
    """
    used = list(of_heads(heads, settings.only))
    training = training_rows(examples, splits.training, settings)
    to_predict = list(of_splits(of_heads(examples, settings.only), splits.test))
    sizes = {head["head_id"]: len(head["answers"]) for head in used}
    check_labels(training, sizes, settings.multi_label)
    share = settings.percent / 100
    training = subset(training, share, seed, multi_label=settings.multi_label)
    answers = usable(used, training, to_predict)
    if settings.setting == "single" and settings.heads is not None:
        answers = evenly_spaced(answers, settings.heads)
    for row in of_heads([*training, *to_predict], answers):
        key = key_of(row)
        if key not in tokens.position:
            where = f"example {row['example_id']}"
            raise BadInput(f"text {named(key)} has no tokens", where=where)
    labelled = by_head(training, answers, labelled=True)
    return Material(answers, labelled, by_head(to_predict, answers))


def usable(
    heads: Iterable[Row], training: Iterable[Row], to_predict: Iterable[Row]
) -> dict[str, list[str]]:
    """Return {head: answers} of the heads that can be trained and predicted, sorted."""
    labels: dict[str, set[tuple[int, ...]]] = defaultdict(set)
    for row in training:
        labels[row["head_id"]].add(labels_of(row))
    tested = {row["head_id"] for row in to_predict}
    answers = {}
    for head in sorted(heads, key=lambda head: head["head_id"]):
        name = head["head_id"]
        if len(labels[name]) > 1 and name in tested:
            answers[name] = list(head["answers"])
    if not answers:
        what = "no head has two answers in training and an example to read"
        raise BadInput(what, where="examples")
    return answers


def evenly_spaced(answers: Mapping[str, list[str]], most: int) -> dict[str, list[str]]:
    """Return at most ``most`` heads, evenly spaced in their order."""
    names = list(answers)
    count = min(most, len(names))
    answers_by_head = {}
    for number in range(count):
        name = names[number * len(names) // count]
        answers_by_head[name] = answers[name]
    return answers_by_head


_PREDICTIONS = "predictions.parquet"
# Tokens.  If texts may be longer, training on a CPU recomputes activations in the
# backward pass to save memory: on a CPU, running out of memory cannot be noticed.
_LONG = 1024
# A function that is called with the model after a number of updates.
Visit = Callable[[MultiHead, int], None]


@dataclass(frozen=True)
class Environment:
    """Where a training runs, and what its work depends on besides its settings.

    ``identity`` (data, weights, code, libraries, device), settings, seed and material
    together identify the work under ``work_root`` that may be reused.
    """

    seed: int
    device: torch.device
    work_root: Path
    identity: JsonObject


@dataclass(frozen=True)
class Training:
    """The common inputs of all models of a run.

    ``folder`` has the weights of the encoder.
    """

    settings: TrainingSettings
    material: Material
    tokens: Tokens
    folder: str
    environment: Environment


def prepare(
    settings: TrainingSettings,
    files: TrainingFiles,
    splits: Splits,
    environment: Environment,
) -> Training:
    """Return a training with the examples, heads and tokens of parquet files.

    ``passes`` over the training examples in the settings are converted to ``updates``,
    at least one.
    """
    rows = list(under_view(read(files.examples), settings.view))
    check_test_size(rows, settings)
    tokens = read_tokens(files.tokens, {key_of(row) for row in rows})
    heads = read(files.heads)
    data = material(settings, rows, heads, tokens, splits, environment.seed)
    if settings.passes is not None:
        count = sum(map(len, data.training.values()))
        updates = max(1, round(settings.passes * count / settings.batch_size))
        settings = settings.model_copy(update={"updates": (updates,)})
    folder = weights_folder(settings.plain())
    return Training(settings, data, tokens, folder, environment)


def read_while_training(
    run: Training, trials: Mapping[str, Trial], output: str | Path, *, tried: bool
) -> JsonObject:
    """Train, predict at every number of updates, and return the record for `run.json`.

    ``trials`` maps each head to the trial of its own model, or `JOINT` to that of one
    model with all heads.  Writes `TRIED` to ``output`` if ``tried``, else `PREDICTIONS`
    (each trial then has one number of updates).  Models that an earlier, killed job
    finished are not trained again.  A model of a search whose training diverges has no
    predictions from some number of updates on, which is recorded.
    """
    groups = {head: [head] for head in sorted(trials)}
    if JOINT in trials:
        groups = {JOINT: sorted(run.material.answers)}
    parts = []
    records = []
    for name, heads in groups.items():
        part, one_model = _train_once(run, heads, trials[name], tried=tried)
        parts.append(part)
        records.append(one_model)
    record = _record(run, records, trials)
    if not tried:
        write(PREDICTIONS, _without_updates(parts), output)
        return record
    write(TRIED, _by_updates(parts), output)
    record["diverged"] = {}
    for name, part in zip(groups, parts, strict=True):
        missing = set(trials[name]["updates"]) - _updates(part)
        if missing:
            record["diverged"][name] = min(missing)
    return record


def train(run: Training, trial: Trial, output: str | Path) -> JsonObject:
    """Train one model with all heads, save it to ``output`` and return the record."""
    heads = sorted(run.material.answers)
    work = _work(run, heads, trial)
    record = checkpoints.finished(work, output)
    if record:
        return record
    model, resumed = _train(run, heads, trial, work, lambda model, updates: None)
    answers = {head: run.material.answers[head] for head in heads}
    multi_head.save(model, output, answers)
    trained = _OneModel(work.name, heads, resumed)
    return _record(run, [trained], {JOINT: trial})


@dataclass(frozen=True)
class _OneModel:
    """The training of one model: its work folder, its heads, and how it began."""

    work: str
    heads: Sequence[str]
    resumed_from: int = 0
    finished_before: bool = False


def _record(
    run: Training, models: Sequence[_OneModel], trials: Mapping[str, Trial]
) -> JsonObject:
    """Return what `run.json` records of the trainings of a run."""
    training_examples = 0
    resumed = {}
    for model in models:
        for head in model.heads:
            training_examples += len(run.material.training[head])
        if model.resumed_from:
            resumed[model.work] = model.resumed_from
    return {
        "models": len(models),
        "heads": len(run.material.answers),
        "work": [model.work for model in models],
        "finished_before": sum(model.finished_before for model in models),
        "resumed_from_update": resumed,
        "training_examples": training_examples,
        "trials": {name: dict(trial) for name, trial in trials.items()},
    }


def _work(run: Training, heads: Sequence[str], trial: Trial) -> Path:
    """Return the work folder of a model: a hash of all that its training depends on."""
    digest = hashlib.sha256()
    for head in heads:
        rows = [*run.material.training[head], *run.material.to_predict[head]]
        for row in rows:
            digest.update(repr(sorted(row.items())).encode())
            digest.update(run.tokens[key_of(row)].tobytes())
    key = {
        "settings": run.settings.plain(),
        "trial": dict(trial),
        "seed": run.environment.seed,
        "heads": {head: len(run.material.answers[head]) for head in heads},
        "identity": dict(run.environment.identity),
        "material": digest.hexdigest()[:16],
    }
    return work_folder(run.environment.work_root, key)


def _train_once(
    run: Training, heads: Sequence[str], trial: Trial, *, tried: bool
) -> tuple[Path, _OneModel]:
    """Train one model unless it was finished before; return the path of its
    predictions, and its training.

    The predictions are rows of `TRIED`.  If ``tried`` and the training diverged, they
    end before that update.
    """
    work = _work(run, heads, trial)
    to_predict = {head: run.material.to_predict[head] for head in heads}
    finished = checkpoints.finished_content(work) is not None
    resumed = 0

    def visit(model: MultiHead, updates: int) -> None:
        """Write the predictions of the model after a number of updates."""
        device = run.environment.device
        rows = read_heads(model, heads, to_predict, run.tokens, device)
        with_updates = [{"updates": updates, **row} for row in rows]
        write(TRIED, with_updates, work / _part(updates))

    if not finished:
        try:
            _, resumed = _train(run, heads, trial, work, visit)
        except NotFinite as error:
            if not tried:
                raise
            _log.warning("%s: %s", ", ".join(heads), error)
        parts = [work / _part(updates) for updates in sorted(set(trial["updates"]))]
        parts = [path for path in parts if path.is_file()]
        with checkpoints.finishing(work) as content:
            write(TRIED, _rows_of(parts), content / _PREDICTIONS)
    # The predictions are in one file now: checkpoints and parts are not needed.
    for pattern in ("checkpoint-*", _part("*")):
        for unfinished in work.glob(pattern):
            remove(unfinished)
    folder = checkpoints.finished_content(work)
    assert folder is not None  # the training was finished above, or before
    return folder / _PREDICTIONS, _OneModel(work.name, heads, resumed, finished)


def _part(updates: int | str) -> str:
    """Return the name of the file with the predictions after a number of updates."""
    return f"updates-{updates}.parquet"


def _rows_of(parts: Iterable[Path]) -> Iterator[Row]:
    """Yield the rows of files in their order."""
    for part in parts:
        yield from read(part)


def _updates(part: Path) -> set[int]:
    """Return the numbers of updates in a file of predictions."""
    return set(read_table(part, ["updates"])["updates"].unique().to_pylist())


def _without_updates(parts: Sequence[Path]) -> Iterator[Row]:
    """Yield the rows of files of predictions without their number of updates."""
    for row in _rows_of(parts):
        yield {name: value for name, value in row.items() if name != "updates"}


def _by_updates(parts: Sequence[Path]) -> Iterator[Row]:
    """Yield the rows of files that each hold one model's heads, by updates, then
    head.
    """
    updates_of = {part: _updates(part) for part in parts}
    for updates in sorted(set().union(*updates_of.values())):
        with_updates = [part for part in parts if updates in updates_of[part]]
        for row in _rows_of(with_updates):
            if row["updates"] == updates:
                yield row


class _DrawnExamples(Dataset):
    """The training examples in drawing order: (head number, example)."""

    def __init__(self, drawn: np.ndarray, rows: Sequence[Sequence[Row]]) -> None:
        self.drawn = drawn
        self.rows = rows

    def __len__(self) -> int:
        return len(self.drawn)

    def __getitem__(self, index: int) -> tuple[int, Row]:
        head, example = self.drawn[index].tolist()
        return head, self.rows[head][example]


class _InOrder(InParts):
    """A trainer without shuffling: the examples are already in drawing order."""

    def get_train_dataloader(self) -> DataLoader:
        """Return the batches of the examples in their order."""
        assert self.train_dataset is not None
        loader = DataLoader(
            self.train_dataset,
            batch_size=self.args.per_device_train_batch_size,
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
        )
        return self.accelerator.prepare(loader)


def _train(
    run: Training, heads: Sequence[str], trial: Trial, work: Path, visit: Visit
) -> tuple[MultiHead, int]:
    """Train a model with these heads; ``visit`` it after each number of updates.

    With zero updates it is the initial model, with randomly initialised heads if it has
    none.  Returns the model and the update from which training resumed (0 for a fresh
    start).
    """
    settings = run.settings
    last = max(trial["updates"])
    seed = run.environment.seed
    device = run.environment.device
    labels = {}
    for head in heads:
        labels[head] = [row["labels"] for row in run.material.training[head]]
    model = _untrained_model(run, labels, trained=last > 0)
    if not last:
        visit(model, 0)
        return model, 0

    def collate(batch: Sequence[tuple[int, Row]]) -> Batch:
        """Return the arguments of the model for these heads and examples."""
        numbers, rows = zip(*batch, strict=True)
        right = [row["labels"] for row in rows]
        keys = [key_of(row) for row in rows]
        if settings.multi_label:
            targets = _multi_label_targets(right, max(model.sizes))
        else:
            targets = torch.tensor([answer for (answer,) in right])
        features = inputs(run.tokens, keys, padding(model))
        return {**features, "head": list(numbers), "label": targets}

    training_arguments = TrainingArguments(
        **arguments(
            work,
            last,
            seed=seed,
            save_every=settings.save_every,
            device=device,
            log_lines=4,
        ),
        **settings.optimiser.arguments(trial["learning_rate"]),
        per_device_train_batch_size=settings.batch_size,
        remove_unused_columns=False,
        label_names=["label"],
    )
    drawn = draws(labels, last * settings.batch_size, seed, settings.sampling)
    rows_of = [run.material.training[head] for head in heads]
    trainer = _InOrder(
        model=model,
        args=training_arguments,
        train_dataset=_DrawnExamples(drawn, rows_of),
        data_collator=collate,
        callbacks=[AtUpdates(trial["updates"], lambda updates: visit(model, updates))],
        mixed=mixed(settings.bf16, device, model.mixed_precision),
        optimiser=settings.optimiser,
    )
    resumed = checkpoints.train(trainer, work)
    # Trainers are in reference cycles: without this the model would stay in GPU memory.
    del trainer
    gc.collect()
    torch.cuda.empty_cache()
    return model, resumed


def _untrained_model(
    run: Training, labels: Mapping[str, Labels], *, trained: bool
) -> MultiHead:
    """Return the encoder with its stored or new heads, for examples with these
    ``labels``.

    A model that is not ``trained`` afterwards needs a stored head with these answers.
    """
    settings = run.settings
    sizes = [len(run.material.answers[head]) for head in labels]
    weights = None
    if settings.class_weights == "balanced":
        weights = []
        for head_labels, size in zip(labels.values(), sizes, strict=True):
            right = list(itertools.chain.from_iterable(head_labels))
            weights.append(balanced_weights(right, size))
    answers = [answer for head in labels for answer in run.material.answers[head]]
    model = multi_head.load(
        run.folder,
        sizes,
        settings.head,
        run.environment.seed,
        loss=settings.loss,
        weights=weights,
        new_heads=settings.new_heads,
        untrained_answers=None if trained else answers,
        is_registered=not settings.weights.startswith(user_rows.PREFIX),
    )
    device = run.environment.device
    if settings.max_length > _LONG and device.type == "cpu":
        recompute_activations(model)
    return model.to(device)


def _multi_label_targets(labels: Labels, answers: int) -> torch.Tensor:
    """Return 1 for each right answer and 0 for others, float32 (examples, answers)."""
    right = torch.zeros(len(labels), answers)
    for number, example_labels in enumerate(labels):
        right[number, list(example_labels)] = 1
    return right
