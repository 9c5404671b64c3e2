"""One run of MAUD: choose each head's settings, train on what the run may see, score what it may read."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lextables.dataset import Row, read
from lextables.errors import BadInput
from lextables.metrics.minority_aupr import head_auprs
from lextables.models.classification import (
    Tokens,
    TrainingSettings,
    subset,
    train_heads,
    train_jointly,
)

Settings = Mapping[str, Any]
Point = tuple[float, int]  # learning rate, updates
JOINT = "all heads"


def splits(setting: str) -> tuple[tuple[str, ...], str]:
    """Return the splits that a run trains on and the one it scores: a search leaves test alone (A.4)."""
    return (("train",), "dev") if setting.endswith("-search") else (("train", "dev"), "test")


def usable(heads: Iterable[Row], training: Sequence[Row], scored: Sequence[Row]) -> dict[str, list[str]]:
    """Return {head: answers} of the heads that can be trained and scored, sorted.

    A head needs two answers among the training examples and one example to score.
    """
    answers: dict[str, set[int]] = defaultdict(set)
    for row in training:
        answers[row["head_id"]].add(row["label"])
    wanted = {row["head_id"] for row in scored}
    found = {
        head["head_id"]: list(head["answers"])
        for head in heads
        if len(answers[head["head_id"]]) > 1 and head["head_id"] in wanted
    }
    if not found:
        raise BadInput("no question has two answers in training and an example to score", where="examples")
    return dict(sorted(found.items()))


def spread(answers: Mapping[str, list[str]], most: int | None) -> dict[str, list[str]]:
    """Return ``most`` of the heads, evenly spread over their order; all of them for None."""
    names = list(answers)
    if most is None or most >= len(names):
        return dict(answers)
    return {names[i * len(names) // most]: answers[names[i * len(names) // most]] for i in range(most)}


def published_points(
    settings: Settings, heads: Iterable[str], best: Iterable[Row], grid: Iterable[Row]
) -> dict[str, Point]:
    """Return the authors' best point of each head; a multi-task model has one for all.

    ``best`` are rows of `schema.HYPERPARAMETERS`, ``grid`` of `schema.MULTI_TASK_GRID`.
    """
    name, share = settings["published"], settings["percent"] / 100
    if settings["setting"] == "multi":
        rows = [row for row in grid if row["model"] == name and row["abridged"]]
        top = max(rows, key=lambda row: row["validation_aupr"])
        return {JOINT: (top["learning_rate"], top["epochs"] * settings["updates_per_round"])}
    rows = {row["head_id"]: row for row in best if row["model"] == name and row["share"] == share}
    if absent := [head for head in heads if head not in rows]:
        raise BadInput(
            f"the authors give no settings of {name} for head {absent[0]!r}",
            where="hyperparameters",
            do="set maud_settings to search",
        )
    return {head: (rows[head]["learning_rate"], rows[head]["updates"]) for head in heads}


def searched_points(
    settings: Settings,
    searches: Sequence[tuple[float, str | Path]],
    examples: Sequence[Row],
    heads: Sequence[Row],
) -> dict[str, Point]:
    """Return the point with the best AUPR on dev, mean over seeds: of each head, or of all in multi-task.

    ``searches`` are (learning rate, predictions), one a learning rate and seed.  The first of equals wins;
    a head without a score takes the first point.
    """
    by_point: dict[str, dict[Point, list[float]]] = defaultdict(lambda: defaultdict(list))
    dev = [row for row in examples if row["split"] == "dev"]
    for rate, path in searches:
        by_updates: dict[int, list[Row]] = defaultdict(list)
        for row in read(path):
            by_updates[row["updates"]].append(row)
        for updates, rows in sorted(by_updates.items()):
            scored = {row["head_id"] for row in rows}
            found = head_auprs(rows, [row for row in dev if row["head_id"] in scored], heads)
            if settings["setting"] == "multi":
                found = {JOINT: _question_mean(found, heads)}
            for head, value in found.items():
                by_point[head][rate, updates].append(value)
    return {head: _best(points) for head, points in by_point.items()}


def _question_mean(by_head: Mapping[str, float], heads: Sequence[Row]) -> float:
    by_question: dict[str, list[float]] = defaultdict(list)
    for head in heads:
        if head["head_id"] in by_head:
            by_question[head["question"]].append(by_head[head["head_id"]])
    return float(np.nanmean([np.nanmean(values) for values in by_question.values()]))


def _best(points: Mapping[Point, Sequence[float]]) -> Point:
    means = {point: float(np.mean(values)) for point, values in sorted(points.items())}
    return max(means, key=lambda point: (not np.isnan(means[point]), means[point]))


def run(
    settings: Settings,
    setting: str,
    points: Mapping[str, Point] | None,
    examples: Sequence[Row],
    heads: Sequence[Row],
    tokens: Tokens,
    folder: str,
    *,
    seed: int,
    device: torch.device,
    work_root: str | Path,
    identity: Mapping[str, Any],
    output: str | Path,
) -> dict[str, Any]:
    """Train and score one run, and return what `run.json` records of it.

    ``setting`` is the run's experiment: single, multi, or either with ``-search``.  ``points`` are those
    chosen; None takes the grid's own learning rate and scores at each of its numbers of updates.
    """
    trained_on, read_on = splits(setting)
    training = subset(
        [row for row in examples if row["split"] in trained_on], settings["percent"] / 100, seed
    )
    scored = [row for row in examples if row["split"] == read_on]
    answers = spread(usable(heads, training, scored), settings["heads"])
    training, scored = ([row for row in rows if row["head_id"] in answers] for rows in (training, scored))
    joint = setting.startswith("multi")

    def training_settings(head: str) -> TrainingSettings:
        updates = tuple(rounds * settings["updates_per_round"] for rounds in settings["rounds"])
        rate = settings["learning_rates"][0]
        if points is not None:
            rate, last = points.get(head, (rate, updates[0]))
            updates = (last,)
        return TrainingSettings(
            learning_rate=rate,
            updates=updates,
            batch_size=settings["batch_size"],
            weight_decay=settings["weight_decay"],
            head=settings["head"],
            bf16=settings["bf16"],
            gradient_checkpointing=settings["max_length"] > 1024,
            save_every=settings["save_every"],
        )

    common = {
        "seed": seed,
        "device": device,
        "work_root": work_root,
        "identity": identity,
        "output": output,
    }
    chosen = {head: training_settings(head) for head in ([JOINT] if joint else answers)}
    if joint:
        record = train_jointly(answers, chosen[JOINT], training, scored, tokens, folder, **common)
    else:
        record = train_heads(answers, chosen, training, scored, tokens, folder, **common)
    points_used = {head: [one.learning_rate, list(one.updates)] for head, one in chosen.items()}
    return record | {"heads": len(answers), "points": points_used}
