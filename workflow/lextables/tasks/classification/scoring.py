"""From predictions to scores, by the evaluator that the registry names."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lextables.metrics import classification, minority_aupr
from lextables.metrics.classification import Jackknife, by_key
from lextables.metrics.intervals import pseudo_values, unit_rows
from lextables.pipeline.dataset import Row
from lextables.pipeline.run import loaded
from lextables.tasks.classification.examples import labels_of, of_splits

LEFT_OUT = "heads left out"
ANSWER = "answer"
GIVEN = "given"


def score(
    predictions: Iterable[Row],
    examples: Iterable[Row],
    heads: Iterable[Row],
    test: Sequence[str],
    task: Mapping[str, Any],
    census: str | Path,
) -> tuple[list[Row], list[Row]]:
    """Score one run on the examples of the splits ``test``: sorted rows of `run.SCORES` and of `units.UNITS`.

    ``task`` has the registry's ``evaluator``, and the ``metrics``, ``unit``, ``multi_label`` and ``groups``
    of the general one.  Of a task with ``views`` each ``condition`` of the predictions is scored by itself,
    with the answer that it gives each example (`by_condition`); what a user had already is one of its own.
    """
    found, asked = list(predictions), list(of_splits(examples, test))
    if task["evaluator"] == "minority AUPR":
        return _minority_aupr(found, asked, heads, task, census)
    if task["views"]:
        return by_condition([{"condition": GIVEN} | row for row in found], asked, list(heads), task)
    return _general(found, asked, heads, task)


def by_condition(
    predictions: list[Row], examples: list[Row], heads: list[Row], task: Mapping[str, Any]
) -> tuple[list[Row], list[Row]]:
    """Score each condition alone; the groups are those of `_general` behind `<condition>, `.

    They come once more for the examples for which a column of the task's ``groups`` is true, behind
    `<condition>, <column>, `; and the metric `ANSWER` has for each example the place of the answer that it is
    given.
    """
    found: dict[str, list[Row]] = defaultdict(list)
    for row in predictions:
        found[row["condition"]].append(row)
    rows, units = [], []
    for condition, given in sorted(found.items()):
        for group in ("all", *task["groups"]):
            asked = [row for row in examples if group == "all" or row[group]]
            if asked:
                scored = _general(given, asked, heads, task)
                for all_of, here in zip((rows, units), scored, strict=True):
                    all_of += [row | {"group": _behind(condition, group, row["group"])} for row in here]
        rows += [
            classification.score_row(
                ANSWER, f"{condition}, example: {row['example_id']}", float(np.argmax(row["logits"])), 1
            )
            for row in given
        ]
    return by_key(rows), by_key(units)


def _behind(condition: str, *groups: str) -> str:
    return ", ".join([condition, *([name for name in groups if name != "all"] or ["all"])])


def _minority_aupr(
    predictions: list[Row],
    examples: list[Row],
    heads: Iterable[Row],
    task: Mapping[str, Any],
    census: str | Path,
) -> tuple[list[Row], list[Row]]:
    """MAUD's.  Of data that are not the paper's (``census``) heads that no prediction is for are left out,
    where the released scorer stops.
    """
    whole = all(source["comparable"] for source in loaded(census)["sources"])
    answered = {row["head_id"] for row in predictions}
    asked = [row for row in examples if whole or row["head_id"] in answered]
    told = {"partial": not whole, "unit": task["unit"]}
    rows, left = minority_aupr.scores_and_jackknives(predictions, asked, heads, **told)
    return rows, _by_unit(left)


def _general(
    predictions: list[Row], examples: list[Row], heads: Iterable[Row], task: Mapping[str, Any]
) -> tuple[list[Row], list[Row]]:
    """The task's metrics over the heads that were trained, and how many of those asked were not."""
    answered = {row["head_id"] for row in predictions}
    asked = {row["head_id"] for row in examples}
    rows, left = classification.scores_and_jackknives(
        predictions,
        [{**row, "labels": labels_of(row)} for row in examples if row["head_id"] in answered],
        [head for head in heads if head["head_id"] in answered],
        metrics=task["metrics"],
        multi_label=task["multi_label"],
        unit=task["unit"],
    )
    rows.append(classification.score_row(LEFT_OUT, "all", float(len(asked - answered)), len(asked)))
    return by_key(rows), _by_unit(left)


def _by_unit(left: Iterable[Jackknife]) -> list[Row]:
    """Return what each unit adds to what it was left out of, as rows of `units.UNITS`, sorted."""
    return by_key(
        row
        for found in left
        for row in unit_rows(
            found.metric, found.group, found.names, pseudo_values(found.value, found.without)
        )
    )
