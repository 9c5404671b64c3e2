"""The training data of a row's model, and the part of the test split in it.

``trained_on`` of a model or of predictions lists data sets (`cuad`) or splits
(`cuad/train`) whose texts, or a part of them, were in the training data.  An empty list
means none of the data sets here; None: unknown.

The share of text in two splits is a recorded fact (`resources/facts/overlaps.csv`), so
that no table depends on the data of another paper.  It was measured on the published
data and is not used on the sample.
"""

import csv
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from lextables import ROOT
from lextables.models.resolve import MIRROR, Model
from lextables.pipeline import user_rows
from lextables.pipeline.config import Config
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.registry.paper import Paper
from lextables.tasks.planner import TRAIN, Context, Row, Spec

FACTS = ROOT / "resources/facts/overlaps.csv"
# Raw collections from which several data sets were taken.
COLLECTIONS = ("caselaw", "edgar")
MARKED = 0.1  # smallest share of a test split's words that a row states

DataSetNames = tuple[str, ...] | None  # the values of ``trained_on``; None: unknown


def known(papers: Mapping[str, Paper]) -> set[str]:
    """Return the names that ``trained_on`` may have: data sets, and the splits that
    their census has.
    """
    names = set(COLLECTIONS)
    for paper in papers.values():
        names.update(paper.texts, paper.data)
        for dataset, entry in paper.data.items():
            for variant in entry.census.values():
                for table in variant.values():
                    labels = table.get("labels") if isinstance(table, Mapping) else None
                    splits = (labels or {}).get("split", ())
                    names.update(f"{dataset}/{split}" for split in splits)
    return names


def check(
    config: Config, models: Mapping[str, Model], papers: Mapping[str, Paper]
) -> None:
    """Raise `BadInput` for a name in a ``trained_on`` that is not a data set here."""
    allowed = known(papers)
    for name, model in models.items():
        _check_names(model.trained_on, allowed, f"models.yaml, {name}")
    for key in ("extra_models", "extra_predictions"):
        for extra in getattr(config, key):
            where = f"config, {key}, {extra.name}"
            _check_names(extra.trained_on, allowed, where)
    for name, paper in papers.items():
        for task in paper.tasks.values():
            for key, panel in task.trained_models:
                _check_names(panel.also_trained_on, allowed, f"{name}.yaml, {key}")


def _check_names(names: DataSetNames, allowed: set[str], where: str) -> None:
    """Raise `BadInput` for the first of ``names`` that is not allowed."""
    for unknown in sorted({*(names or ())} - allowed):
        dataset, _, _ = unknown.partition("/")
        choices = [name for name in allowed if name.startswith(f"{dataset}/")]
        if not choices:
            choices = [name for name in allowed if "/" not in name]
        listed = ", ".join(sorted(choices))
        raise BadInput(
            f"trained_on = {unknown!r} is not a data set of the registry",
            where=where,
            do=f"choose from {listed}, or omit trained_on if it is unknown",
        )


@cache
def measured(path: Path) -> dict[tuple[str, str], float]:
    """Return {(`cuad/test`, other split): share of the split's words that are in the
    other one}.
    """
    shares = {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        for name, split, other, part, share in rows:
            key = (f"{name}/{split}", f"{other}/{part}")
            shares[key] = float(share)
    return shares


def with_training_data(
    row: Row,
    dataset: str,
    runs: Collection[Run],
    specs: Mapping[Run, Spec],
    paper: Paper,
    context: Context,
    data_by_model: Mapping[str, DataSetNames],
) -> Row:
    """Return a row of a data set's task with ``trained_on``, ``seen`` and
    ``training_data`` (`Row`).

    ``runs`` are the row's runs and their dependencies, ``specs`` their settings, and
    ``data_by_model`` is from `of_models`.  A model trained here has read the training
    split of its data set, if that has one.
    """
    if not row.runs:
        return row
    texts = _texts_of(paper, dataset)
    # The names of all training data.
    names, is_known = _names_of_models(runs, specs, data_by_model)
    for run in runs:
        names.update(_names_of_training(run, specs[run], paper))
    if row.trained and paper.tasks[dataset].HAS_TRAINING_SPLIT:
        names.add(f"{texts}/train")
    # Each name, with the part of the test split in it.
    listed = []
    notes = []
    for name in sorted(names):
        part = _part(name, texts, paper, context)
        if not part:
            listed.append(name)
            continue
        listed.append(f"{name} ({part})")
        notes.append(f"its model was trained on {name}, which contains {part}")
    if not is_known:
        listed.append("unknown")
    others = {run.data_set for run in runs if run.experiment == TRAIN} - {dataset}
    return replace(
        row,
        trained_on=", ".join(listed) or "none of the data sets here",
        seen="; ".join(notes),
        training_data=tuple(sorted(others)),
    )


def _names_of_training(run: Run, spec: Spec, paper: Paper) -> set[str]:
    """Return the data that a run was trained on here, besides the training data of its
    model.
    """
    names = set()
    for source in spec.sources:
        if source.experiment == "pretrain":
            names.add("edgar")
        else:
            texts = _texts_of(paper, source.data_set)
            names.add(f"{texts}/train")
    if run.data_set in paper.tasks:
        keys = run.model.split("+")
        for key, panel in paper.tasks[run.data_set].trained_models:
            if key in keys:
                names.update(panel.also_trained_on)
    return names


def _names_of_models(
    runs: Collection[Run],
    specs: Mapping[Run, Spec],
    data_by_model: Mapping[str, DataSetNames],
) -> tuple[set[str], bool]:
    """Return the data that the models of runs were trained on, and whether all of it is
    known.
    """
    keys: set[str] = set()
    for run in runs:
        # The settings of a user's predictions have no model.
        if run.model.startswith(user_rows.PREFIX):
            keys.add(run.model)
        settings = specs[run].settings
        for name in ("model", "weights"):
            if settings.get(name):
                keys.add(settings[name])
    names: set[str] = set()
    is_known = True
    for key in keys & data_by_model.keys():
        names.update(data_by_model[key] or ())
        is_known = is_known and data_by_model[key] is not None
    return names, is_known


def _texts_of(paper: Paper, dataset: str) -> str:
    """Return the entry of a paper's ``texts`` with a data set's texts.

    It has the name of the data set.  A data set without such an entry is taken to have
    the texts of the first one.
    """
    return dataset if dataset in paper.texts else next(iter(paper.texts), dataset)


def of_models(context: Context) -> dict[str, DataSetNames]:
    """Return {name of a model, or location of its weights: its training data}, with the
    user's rows.
    """
    trained_on: dict[str, DataSetNames] = {}
    for name, model in context.models.items():
        trained_on[name] = model.trained_on
        trained_on[f"{MIRROR}{name}"] = model.trained_on
        if model.hub:
            trained_on[model.hub] = model.trained_on
    config = context.config
    for extra in (*config.extra_models, *config.extra_predictions):
        # One system may have predictions for several data sets.
        before = trained_on.setdefault(extra.key, None) or ()
        if extra.trained_on is not None:
            trained_on[extra.key] = (*before, *extra.trained_on)
    return trained_on


def _part(name: str, texts: str, paper: Paper, context: Context) -> str:
    """Return a text on the part of the test split of ``texts`` in the data set
    ``name``.

    It is empty if the part is small (`MARKED`) or was not measured.
    """
    dataset, _, split = name.partition("/")
    if dataset == texts and split in ("", "test"):
        return "this test split"
    if texts in paper.texts and name == paper.texts[texts].collection:
        return "texts of this kind, possibly these"
    if context.config.data != "release":
        return ""
    shares = measured(FACTS)
    # The nearest measured pair counts.  Documents of a retrieval corpus have no split:
    # they are measured as `all`.
    for test in ("test", "all"):
        for part in (split or "all", "all"):
            share = shares.get((f"{texts}/{test}", f"{dataset}/{part}"))
            if share is not None:
                percent = f"{100 * share:.0f} % of the words of this test split"
                return percent if share >= MARKED else ""
    return ""
