"""The training data of a row's model, and the part of the test split in it.

``trained_on`` of a model or of predictions lists data sets (`cuad`) or splits (`cuad/train`) whose texts,
or a part of them, were in the training data.  An empty list means none of the data sets here; None: unknown.

The share of text in two splits is a recorded fact (`resources/facts/overlaps.csv`), so that no table depends
on the data of another paper.  It was measured on the published data and is not used on the sample.
"""

import csv
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from lextables import ROOT
from lextables.models.resolve import MIRROR, Model
from lextables.papers.registry import Paper
from lextables.pipeline import user_rows
from lextables.pipeline.config import Config
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.tasks.plan import Context, Row, Spec

FACTS = ROOT / "resources/facts/overlaps.csv"
COLLECTIONS = (
    "caselaw",
    "edgar",
)  # raw collections from which several data sets were taken
MARKED = 0.1  # of the words of a test split

Names = tuple[str, ...] | None


def known(papers: Mapping[str, Paper]) -> set[str]:
    """Return the names that ``trained_on`` may have: data sets, and the splits that their census has."""
    names = {*COLLECTIONS, *(name for paper in papers.values() for name in paper.texts)}
    for dataset, entry in (
        item for paper in papers.values() for item in paper.data.items()
    ):
        tables = [
            table for variant in entry.census.values() for table in variant.values()
        ]
        splits = {
            split
            for table in tables
            for split in table.get("labels", {}).get("split", ())
        }
        names |= {dataset, *(f"{dataset}/{split}" for split in splits)}
    return names


def check(
    config: Config, models: Mapping[str, Model], papers: Mapping[str, Paper]
) -> None:
    """Raise `BadInput` for a name in a ``trained_on`` that is not a data set here."""
    declared = [
        (f"models.yaml, {name}", model.trained_on) for name, model in models.items()
    ]
    for key in ("extra_models", "extra_predictions"):
        declared += [
            (f"config, {key}, {extra.name}", extra.trained_on)
            for extra in getattr(config, key)
        ]
    for name, paper in papers.items():
        panels = (item for task in paper.tasks.values() for item in _panels(task))
        declared += [
            (f"{name}.yaml, {key}", panel.also_trained_on) for key, panel in panels
        ]
    allowed = known(papers)
    for where, names in declared:
        if unknown := sorted({*(names or ())} - allowed):
            of_one = sorted(
                name
                for name in allowed
                if name.startswith(f"{unknown[0].partition('/')[0]}/")
            )
            choice = ", ".join(
                of_one or sorted(name for name in allowed if "/" not in name)
            )
            what = f"trained_on = {unknown[0]!r} is not a data set of the registry"
            raise BadInput(
                what,
                where=where,
                do=f"choose from {choice}, or omit trained_on if it is unknown",
            )


def _panels(task: Any) -> Iterator[tuple[str, Any]]:
    """(key, panel) of the panels of a task that may name data."""
    for name in ("models", "marks", "retrievers", "finetuned"):
        yield from getattr(task, name, {}).items()


@cache
def measured(path: Path) -> dict[tuple[str, str], float]:
    """Return {(`cuad/test`, other split): share of the split's words that are in the other one}."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [*csv.reader(file)][1:]
    return {
        (f"{name}/{split}", f"{other}/{part}"): float(share)
        for name, split, other, part, share in rows
    }


def with_training_data(
    row: Row,
    dataset: str,
    runs: Collection[Run],
    specs: Mapping[Run, Spec],
    paper: Paper,
    context: Context,
) -> Row:
    """Return a row of a data set's task with ``trained_on`` and ``seen`` (`Row`).

    ``runs`` are the row's runs and their dependencies, and ``specs`` their settings.  A model trained
    here has read the training split of its data set, or the other folds of the documents.
    """
    if not row.runs:
        return row
    of_models = _of_models(context)
    # The settings of a user's predictions have no model.
    keys = {run.model for run in runs if run.model.startswith(user_rows.PREFIX)}
    keys |= {
        specs[run].settings.get(name) for run in runs for name in ("model", "weights")
    }
    keys &= of_models.keys()
    names = {name for key in keys for name in of_models[key] or ()}
    for source in {source for run in runs for source in specs[run].sources}:
        pretrained = source.experiment == "pretrain"
        names.add("edgar" if pretrained else f"{_texts_of(paper, source.paper)}/train")
    if row.trained and not hasattr(paper.tasks[dataset], "folds"):
        names.add(f"{_texts_of(paper, dataset)}/train")
    panels = (
        (run, *item)
        for run in runs
        if run.paper in paper.tasks
        for item in _panels(paper.tasks[run.paper])
    )
    names.update(
        name
        for run, key, panel in panels
        if key in run.model.split("+")
        for name in panel.also_trained_on
    )
    parts = {
        name: _part(name, _texts_of(paper, dataset), paper, context)
        for name in sorted(names)
    }
    texts = [f"{name} ({part})" if part else name for name, part in parts.items()]
    texts += ["unknown"] * any(of_models[key] is None for key in keys)
    seen = [
        f"its model was trained on {name}, which contains {part}"
        for name, part in parts.items()
        if part
    ]
    return replace(
        row,
        trained_on=", ".join(texts) or "none of the data sets here",
        seen="; ".join(seen),
    )


def _texts_of(paper: Paper, dataset: str) -> str:
    """The entry of ``texts`` with a data set's texts: of its name, else the paper's first one."""
    return dataset if dataset in paper.texts else next(iter(paper.texts), dataset)


def _of_models(context: Context) -> dict[str, Names]:
    """{name of a model, or location of its weights: its training data}, including the user's rows."""
    trained_on: dict[str, Names] = {}
    for name, model in context.models.items():
        trained_on |= dict.fromkeys(
            filter(None, (name, model.hub, f"{MIRROR}{name}")), model.trained_on
        )
    for extra in (*context.config.extra_models, *context.config.extra_predictions):
        before = trained_on.get(
            extra.key
        )  # one system may have predictions for several data sets
        trained_on[extra.key] = (
            before if extra.trained_on is None else (*(before or ()), *extra.trained_on)
        )
    return trained_on


def _part(name: str, texts: str, paper: Paper, context: Context) -> str:
    """A text on the part of the test split of ``texts`` in the data set ``name``; empty if it is small."""
    dataset, _, split = name.partition("/")
    if dataset == texts and split in ("", "test"):
        return "this test split"
    if texts in paper.texts and name == paper.texts[texts].collection:
        return "texts of this kind, possibly these"
    shares = measured(FACTS) if context.config.data == "release" else {}
    # Documents of a retrieval corpus have no split.
    pairs = [
        (f"{texts}/{test}", f"{dataset}/{part}")
        for test in ("test", "all")
        for part in (split or "all", "all")
    ]
    share = next((shares[pair] for pair in pairs if pair in shares), 0)
    return (
        f"{100 * share:.0f} % of the words of this test split"
        if share >= MARKED
        else ""
    )
