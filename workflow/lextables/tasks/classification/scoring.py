"""Scores of a run by the evaluator that the registry names, and the choice of
trials.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from lextables.metrics import classification, minority_aupr
from lextables.metrics.classification import (
    METRICS,
    Jackknife,
    answered,
    by_head,
    by_key,
    score_row,
)
from lextables.metrics.intervals import pseudo_values, unit_rows
from lextables.metrics.minority_aupr import head_auprs
from lextables.metrics.shares import checked_share
from lextables.pipeline.dataset import Row, Sources, read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json
from lextables.tasks.classification.examples import Trial, labels_of, of_splits
from lextables.tasks.classification.schema import JOINT
from lextables.tasks.classification.settings import ChoiceSettings, ScoreSettings
from lextables.tasks.search import best_trial

# Metrics that no evaluator has.
LEFT_OUT = "heads left out"
ANSWER = "answer"
PROBABILITY = "probability"
SUBMITTED = "submitted"  # the condition of submitted predictions
Scored = tuple[list[Row], list[Row]]  # rows of `run.SCORES` and of `units.UNITS`


def score(
    predictions: Iterable[Row],
    examples: Iterable[Row],
    heads: Iterable[Row],
    test: Sequence[str],
    settings: ScoreSettings,
    census: str | Path,
) -> Scored:
    """Score a run on the examples of the splits ``test``.

    Returns sorted rows of `run.SCORES` and of `units.UNITS`.  For a task with views,
    each ``condition`` of the predictions is scored separately (`by_condition`);
    submitted predictions have the condition `SUBMITTED`.  Raises `BadInput` for a
    prediction without a condition in a task with views, and for a probability that is
    not a number from 0 to 1.
    """
    rows = list(predictions)
    for row in rows:
        _check(row, settings)
    tested = list(of_splits(examples, test))
    if settings.evaluator == "minority AUPR":
        return _minority_aupr(rows, tested, heads, settings, census)
    if settings.views:
        return by_condition(rows, tested, list(heads), settings)
    return _general(rows, tested, heads, settings)


def _check(row: Row, settings: ScoreSettings) -> None:
    """Raise `BadInput` for a prediction without a condition in a task with views, and
    for a probability that is not a number from 0 to 1.
    """
    where = f"predictions.parquet, example {row['example_id']!r}"
    if settings.views and not row.get("condition"):
        what = "the prediction has no condition"
        do = "give the column condition, such as 'short > long' or 'submitted'"
        raise BadInput(what, where=where, do=do)
    for value in row["probabilities"]:
        checked_share(value, where)


def by_condition(
    predictions: list[Row],
    examples: list[Row],
    heads: list[Row],
    settings: ScoreSettings,
) -> Scored:
    """Score each condition separately; groups have the prefix `<condition>, `.

    With the prefix `<condition>, <column>, ` they are also computed for the examples
    for which a column of ``groups`` is true.  The metric `ANSWER` is the index of the
    predicted answer of each example, `PROBABILITY` the probability of each of its
    answers.
    """
    predictions_by_condition: dict[str, list[Row]] = defaultdict(list)
    for row in predictions:
        predictions_by_condition[row["condition"]].append(row)
    rows = []
    units = []
    for condition, predicted in sorted(predictions_by_condition.items()):
        for group in ("all", *settings.groups):
            group_examples = [row for row in examples if group == "all" or row[group]]
            if group_examples:
                scores, group_units = _general(
                    predicted, group_examples, heads, settings
                )
                rows += _renamed(scores, condition, group)
                units += _renamed(group_units, condition, group)
        for row in predicted:
            name = f"{condition}, example: {row['example_id']}"
            answer = float(np.argmax(row["logits"]))
            rows.append(score_row(ANSWER, name, answer, 1))
            for place, value in enumerate(row["probabilities"]):
                group = f"{name}, answer: {place}"
                rows.append(score_row(PROBABILITY, group, value, 1))
    return by_key(rows), by_key(units)


def _renamed(rows: Iterable[Row], condition: str, group: str) -> list[Row]:
    """Return rows with the groups `<condition>, <group>, <own group>`.

    Of the last two names, one that is `all` is left out; if both are, one remains.
    """
    renamed: list[Row] = []
    for row in rows:
        names = [group, row["group"]]
        if "all" in names:
            names.remove("all")
        renamed.append({**row, "group": ", ".join([condition, *names])})
    return renamed


def _minority_aupr(
    predictions: list[Row],
    examples: list[Row],
    heads: Iterable[Row],
    settings: ScoreSettings,
    census: str | Path,
) -> Scored:
    """Score by MAUD's evaluator.

    On data other than the paper's (``census``), heads without predictions are left out,
    where the released scorer stops.
    """
    sources = read_json(census, Sources)["sources"]
    comparable = all(source["comparable"] for source in sources)
    predicted = {row["head_id"] for row in predictions}
    if not comparable:
        examples = [row for row in examples if row["head_id"] in predicted]
    rows, jackknives = minority_aupr.scores_and_jackknives(
        predictions,
        examples,
        heads,
        partial=not comparable,
        unit=settings.unit or "contract",
    )
    return rows, _by_unit(jackknives)


def _general(
    predictions: list[Row],
    examples: list[Row],
    heads: Iterable[Row],
    settings: ScoreSettings,
) -> Scored:
    """Score by the task's metrics the heads with predictions, and count the others."""
    predicted = {row["head_id"] for row in predictions}
    head_ids = {row["head_id"] for row in examples}
    rows, jackknives = classification.scores_and_jackknives(
        predictions,
        _labelled(examples, predicted),
        [head for head in heads if head["head_id"] in predicted],
        metrics=settings.metrics,
        multi_label=settings.multi_label,
        unit=settings.unit,
    )
    left_out = float(len(head_ids - predicted))
    rows.append(score_row(LEFT_OUT, "all", left_out, len(head_ids)))
    return by_key(rows), _by_unit(jackknives)


def _labelled(examples: Iterable[Row], heads: Iterable[str]) -> list[Row]:
    """Return the examples of these heads with their ``labels``."""
    labelled: list[Row] = []
    for row in examples:
        if row["head_id"] in heads:
            labelled.append({**row, "labels": labels_of(row)})
    return labelled


def _by_unit(jackknives: Iterable[Jackknife]) -> list[Row]:
    """Return the jackknife pseudo-value of each unit, as sorted rows of
    `units.UNITS`.
    """
    rows: list[Row] = []
    for left_out in jackknives:
        values = pseudo_values(left_out.value, left_out.without)
        rows += unit_rows(left_out.metric, left_out.group, left_out.names, values)
    return by_key(rows)


def published(
    settings: ChoiceSettings, heads: Iterable[str], best: Iterable[Row]
) -> dict[str, Trial]:
    """Return the authors' best trial of each head, or of `JOINT` for a multi-task
    model.

    ``best`` are rows of `schema.PUBLISHED_SETTINGS`.
    """
    key = (settings.published, settings.setting, settings.percent / 100)
    rows = {}
    for row in best:
        if (row["model"], row["setting"], row["share"]) == key:
            rows[row["head_id"]] = row
    trials: dict[str, Trial] = {}
    if settings.setting == "multi":
        heads = [JOINT]
    for head in heads:
        if head not in rows:
            what = f"the authors give no settings of {key[0]} for head {head!r}"
            do = "set hyperparameters to search"
            raise BadInput(what, where="published_settings", do=do)
        row = rows[head]
        updates = row["updates"] or row["epochs"] * settings.updates_per_epoch
        trials[head] = {"learning_rate": row["learning_rate"], "updates": [updates]}
    return trials


def searched(
    settings: ChoiceSettings,
    predictions: Sequence[str | Path],
    diverged: Iterable[str],
    examples: Sequence[Row],
    heads: Sequence[Row],
) -> dict[str, Trial]:
    """Return the trial with the best validation score of each head, or of `JOINT`.

    ``predictions`` are files of `schema.TRIED`, one for each of the settings' learning
    rates; files with an equal rate are seeds.  ``diverged`` are the heads, or `JOINT`,
    of trainings that diverged, which lack the predictions from then on; ``examples``
    are those of the validation splits.  The score is the mean over seeds of the metric
    ``choose_by`` or, for a released evaluator, of its own.  Ties go to the first trial.
    """
    # {head: {(learning rate, updates): scores}}
    values: dict[str, dict[tuple[float, int], list[float]]] = defaultdict(dict)
    for rate, path in zip(settings.learning_rates, predictions, strict=True):
        by_updates: dict[int, list[Row]] = defaultdict(list)
        for row in read(path):
            by_updates[row["updates"]].append(row)
        for updates, rows in sorted(by_updates.items()):
            trial = rate, updates
            scores = _validation_scores(settings, rows, examples, heads)
            if settings.setting == "multi":
                scores = {JOINT: _question_mean(scores, heads)}
            for head, value in scores.items():
                trial_scores = values[head]
                trial_scores.setdefault(trial, []).append(value)
    best: dict[str, Trial] = {}
    seeds = len(predictions) // len(set(settings.learning_rates))
    # `best_trial` raises `BadInput` for a head whose training diverged in all trials.
    for head in {**values, **dict.fromkeys(diverged)}:
        rate, updates = best_trial(dict(sorted(values[head].items())), seeds)
        best[head] = {"learning_rate": rate, "updates": [updates]}
    return best


def _validation_scores(
    settings: ChoiceSettings,
    predictions: Sequence[Row],
    examples: Sequence[Row],
    heads: Sequence[Row],
) -> dict[str, float]:
    """Return {head with predictions: score}, NaN if undefined."""
    labelled = _labelled(examples, {row["head_id"] for row in predictions})
    if settings.evaluator == "minority AUPR":
        return head_auprs(predictions, labelled, heads)
    answered_heads = answered(
        predictions, labelled, heads, multi_label=settings.multi_label
    )
    return by_head(METRICS[settings.choose_by], answered_heads)


def _question_mean(scores: Mapping[str, float], heads: Sequence[Row]) -> float:
    """Return the mean over questions of the mean scores of their heads."""
    by_question: dict[str, list[float]] = defaultdict(list)
    for head in heads:
        name = head["head_id"]
        question = head.get("question") or name
        if name in scores:
            by_question[question].append(scores[name])
    means = [np.nanmean(values) for values in by_question.values()]
    return float(np.nanmean(means))
