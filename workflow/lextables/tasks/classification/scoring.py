"""Scores of a run by the evaluator that the registry names, and the choice of trials by validation scores."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lextables.metrics import classification, minority_aupr
from lextables.metrics.classification import (
    METRICS,
    Jackknife,
    answered,
    by_head,
    by_key,
)
from lextables.metrics.intervals import pseudo_values, unit_rows
from lextables.metrics.minority_aupr import head_auprs
from lextables.pipeline.dataset import Row, Sources, read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json
from lextables.tasks.classification.examples import labels_of, of_splits
from lextables.tasks.classification.schema import JOINT

LEFT_OUT = "heads left out"
ANSWER, PROBABILITY = "answer", "probability"
SUBMITTED = "given"  # the condition of submitted predictions


def score(
    predictions: Iterable[Row],
    examples: Iterable[Row],
    heads: Iterable[Row],
    test: Sequence[str],
    task: Mapping[str, Any],
    census: str | Path,
) -> tuple[list[Row], list[Row]]:
    """Score a run on the examples of the splits ``test``: sorted rows of `run.SCORES` and of `units.UNITS`.

    ``task`` has the registry's ``evaluator``, and for the general one ``metrics``, ``unit``, ``multi_label``
    and ``groups``.  For a task with ``views``, each ``condition`` of the predictions is scored separately
    (`by_condition`); submitted predictions are a condition of their own.
    """
    rows, tested = list(predictions), list(of_splits(examples, test))
    if task["evaluator"] == "minority AUPR":
        return _minority_aupr(rows, tested, heads, task, census)
    if task["views"]:
        return by_condition(
            [{"condition": SUBMITTED} | row for row in rows], tested, list(heads), task
        )
    return _general(rows, tested, heads, task)


def by_condition(
    predictions: list[Row],
    examples: list[Row],
    heads: list[Row],
    task: Mapping[str, Any],
) -> tuple[list[Row], list[Row]]:
    """Score each condition separately; groups are those of `_general` with the prefix `<condition>, `.

    With the prefix `<condition>, <column>, ` they are also computed for the examples for which a column of
    the task's ``groups`` is true.  The metric `ANSWER` is the index of the predicted answer of each example,
    `PROBABILITY` the probability of each of its answers.
    """
    of_condition: dict[str, list[Row]] = defaultdict(list)
    for row in predictions:
        of_condition[row["condition"]].append(row)
    rows, units = [], []
    for condition, predicted in sorted(of_condition.items()):
        for group in ("all", *task["groups"]):
            group_examples = [row for row in examples if group == "all" or row[group]]
            if group_examples:
                scored = _general(predicted, group_examples, heads, task)
                for total, part in zip((rows, units), scored, strict=True):
                    total += [
                        row | {"group": _prefixed(condition, group, row["group"])}
                        for row in part
                    ]
        rows += [
            classification.score_row(
                ANSWER,
                f"{condition}, example: {row['example_id']}",
                float(np.argmax(row["logits"])),
                1,
            )
            for row in predicted
        ]
        rows += [
            classification.score_row(
                PROBABILITY,
                f"{condition}, example: {row['example_id']}, answer: {place}",
                value,
                1,
            )
            for row in predicted
            for place, value in enumerate(row["probabilities"])
        ]
    return by_key(rows), by_key(units)


def _prefixed(condition: str, *groups: str) -> str:
    return ", ".join(
        [condition, *([name for name in groups if name != "all"] or ["all"])]
    )


def _minority_aupr(
    predictions: list[Row],
    examples: list[Row],
    heads: Iterable[Row],
    task: Mapping[str, Any],
    census: str | Path,
) -> tuple[list[Row], list[Row]]:
    """MAUD's evaluator.  On data other than the paper's (``census``), heads without predictions are left out,
    where the released scorer stops.
    """
    comparable = all(
        source["comparable"] for source in read_json(census, Sources)["sources"]
    )
    answered = {row["head_id"] for row in predictions}
    scored_examples = [
        row for row in examples if comparable or row["head_id"] in answered
    ]
    rows, jackknives = minority_aupr.scores_and_jackknives(
        predictions, scored_examples, heads, partial=not comparable, unit=task["unit"]
    )
    return rows, _by_unit(jackknives)


def _general(
    predictions: list[Row],
    examples: list[Row],
    heads: Iterable[Row],
    task: Mapping[str, Any],
) -> tuple[list[Row], list[Row]]:
    """The task's metrics over the heads with predictions, and the number of heads without."""
    answered = {row["head_id"] for row in predictions}
    head_ids = {row["head_id"] for row in examples}
    rows, jackknives = classification.scores_and_jackknives(
        predictions,
        [
            {**row, "labels": labels_of(row)}
            for row in examples
            if row["head_id"] in answered
        ],
        [head for head in heads if head["head_id"] in answered],
        metrics=task["metrics"],
        multi_label=task["multi_label"],
        unit=task["unit"],
    )
    rows.append(
        classification.score_row(
            LEFT_OUT, "all", float(len(head_ids - answered)), len(head_ids)
        )
    )
    return by_key(rows), _by_unit(jackknives)


def _by_unit(jackknives: Iterable[Jackknife]) -> list[Row]:
    """Return the jackknife pseudo-value of each unit, as sorted rows of `units.UNITS`."""
    return by_key(
        row
        for left_out in jackknives
        for row in unit_rows(
            left_out.metric,
            left_out.group,
            left_out.names,
            pseudo_values(left_out.value, left_out.without),
        )
    )


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
        if (row["model"], row["setting"], row["share"])
        == (name, settings["setting"], share)
    }
    names = [JOINT] if settings["setting"] == "multi" else list(heads)
    if absent := [head for head in names if head not in rows]:
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
        for head in names
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
    values: dict[str, dict[tuple[float, int], list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for rate, path in searches:
        by_updates: dict[int, list[Row]] = defaultdict(list)
        for row in read(path):
            by_updates[row["updates"]].append(row)
        for updates, rows in sorted(by_updates.items()):
            scored = {row["head_id"] for row in rows}
            results = _scores(
                settings,
                rows,
                [row for row in examples if row["head_id"] in scored],
                heads,
            )
            if settings["setting"] == "multi":
                results = {JOINT: _question_mean(results, heads)}
            for head, value in results.items():
                values[head][rate, updates].append(value)
    return {head: _best(trials) for head, trials in values.items()}


def _scores(
    settings: Settings,
    predictions: Sequence[Row],
    examples: Sequence[Row],
    heads: Sequence[Row],
) -> dict[str, float]:
    """Return {head: score}, NaN if undefined."""
    if settings["evaluator"] == "minority AUPR":
        return head_auprs(predictions, examples, heads)
    labelled = [{**row, "labels": labels_of(row)} for row in examples]
    answered_heads = answered(
        predictions, labelled, heads, multi_label=settings["multi_label"]
    )
    return by_head(METRICS[settings["choose_by"]], answered_heads)


def _question_mean(of_heads: Mapping[str, float], heads: Sequence[Row]) -> float:
    by_question: dict[str, list[float]] = defaultdict(list)
    for head in heads:
        if head["head_id"] in of_heads:
            by_question[head.get("question") or head["head_id"]].append(
                of_heads[head["head_id"]]
            )
    return float(np.nanmean([np.nanmean(values) for values in by_question.values()]))


def _best(trials: Mapping[tuple[float, int], Sequence[float]]) -> dict[str, Any]:
    means = {trial: float(np.mean(values)) for trial, values in sorted(trials.items())}
    rate, updates = max(
        means, key=lambda trial: (not np.isnan(means[trial]), means[trial])
    )
    return {"learning_rate": rate, "updates": [updates]}
