"""Choice of the trial of each head or of all heads together: by a search, or as the authors published."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lextables.metrics.classification import METRICS, answered, by_head
from lextables.metrics.minority_aupr import head_auprs
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.examples import labels_of
from lextables.tasks.classification.trials import JOINT

Settings = Mapping[str, Any]
Trials = dict[str, dict[str, Any]]


def published(settings: Settings, heads: Iterable[str], best: Iterable[Row]) -> Trials:
    """Return the authors' best trial of each head, or of `JOINT` for a multi-task model.

    ``best`` are rows of `schema.PUBLISHED_SETTINGS`.
    """
    name, share = settings["published"], settings["percent"] / 100
    rows = {
        row["head_id"]: row
        for row in best
        if (row["model"], row["setting"], row["share"]) == (name, settings["setting"], share)
    }
    wanted = [JOINT] if settings["setting"] == "multi" else list(heads)
    if absent := [head for head in wanted if head not in rows]:
        raise BadInput(
            f"the authors give no settings of {name} for head {absent[0]!r}",
            where="published_settings",
            do="set hyperparameters to search",
        )
    per_epoch = settings["updates_per_epoch"]
    return {
        head: {
            "learning_rate": rows[head]["learning_rate"],
            "updates": [rows[head]["updates"] or rows[head]["epochs"] * per_epoch],
        }
        for head in wanted
    }


def searched(
    settings: Settings,
    searches: Sequence[tuple[float, str | Path]],
    examples: Sequence[Row],
    heads: Sequence[Row],
) -> Trials:
    """Return the trial with the best validation score (mean over seeds) of each head, or of `JOINT`.

    ``searches`` are (learning rate, predictions as `schema.TRIED`), one for each learning rate and seed;
    ``examples`` are those of the validation splits.  The score is the metric ``choose_by`` or, for a released
    evaluator, its own.  Ties go to the first trial.
    """
    values: dict[str, dict[tuple[float, int], list[float]]] = defaultdict(lambda: defaultdict(list))
    for rate, path in searches:
        by_updates: dict[int, list[Row]] = defaultdict(list)
        for row in read(path):
            by_updates[row["updates"]].append(row)
        for updates, rows in sorted(by_updates.items()):
            scored = {row["head_id"] for row in rows}
            found = _scores(settings, rows, [row for row in examples if row["head_id"] in scored], heads)
            if settings["setting"] == "multi":
                found = {JOINT: _question_mean(found, heads)}
            for head, value in found.items():
                values[head][rate, updates].append(value)
    return {head: _best(trials) for head, trials in values.items()}


def _scores(
    settings: Settings, predictions: Sequence[Row], examples: Sequence[Row], heads: Sequence[Row]
) -> dict[str, float]:
    """Return {head: score}, NaN if undefined."""
    if settings["evaluator"] == "minority AUPR":
        return head_auprs(predictions, examples, heads)
    labelled = [{**row, "labels": labels_of(row)} for row in examples]
    found = answered(predictions, labelled, heads, multi_label=settings["multi_label"])
    return by_head(METRICS[settings["choose_by"]], found)


def _question_mean(of_heads: Mapping[str, float], heads: Sequence[Row]) -> float:
    by_question: dict[str, list[float]] = defaultdict(list)
    for head in heads:
        if head["head_id"] in of_heads:
            by_question[head.get("question") or head["head_id"]].append(of_heads[head["head_id"]])
    return float(np.nanmean([np.nanmean(values) for values in by_question.values()]))


def _best(trials: Mapping[tuple[float, int], Sequence[float]]) -> dict[str, Any]:
    means = {trial: float(np.mean(values)) for trial, values in sorted(trials.items())}
    rate, updates = max(means, key=lambda trial: (not np.isnan(means[trial]), means[trial]))
    return {"learning_rate": rate, "updates": [updates]}
