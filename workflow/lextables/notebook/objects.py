"""Predictions that are Python objects, as files in the formats of the pipeline."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lextables.pipeline.errors import BadInput

Predictions = Any  # what `written` accepts
# Columns that need JSON lines: lists or objects, and outputs, which may be missing,
# which is not the same as empty.
JSON_COLUMNS = {"probabilities", "output"}


def written(predictions: Predictions, folder: Path) -> list[str | Path]:
    """Return the files of predictions; objects are written into ``folder``, which is
    made.

    ``predictions`` are a file, a frame, a list of records, {question id: n-best spans},
    or a list of these, one for each seed.  Raises `BadInput` for an object that has no
    rows, or that cannot be written.
    """
    folder.mkdir(exist_ok=True)
    seeds = [predictions]
    if isinstance(predictions, list | tuple) and not _are_records(predictions):
        seeds = [*predictions]
    files = []
    for seed, item in enumerate(seeds):
        try:
            files.append(_file(item, folder / f"predictions{seed}"))
        except (TypeError, ValueError) as error:
            what = f"the predictions cannot be written ({error})"
            do = "give plain text and numbers"
            raise BadInput(what, where="lextables", do=do) from None
    return files


def _are_records(predictions: Any) -> bool:
    """Whether predictions are a list of records, which may be empty."""
    if not isinstance(predictions, list | tuple):
        return False
    return all(
        isinstance(item, Mapping) and not _is_nbest(item) for item in predictions
    )


def _is_nbest(predictions: Mapping[str, Any]) -> bool:
    """Whether all values are lists of objects, as in {question id: n-best spans}."""
    for spans in predictions.values():
        if not isinstance(spans, list | tuple):
            return False
        if not all(isinstance(span, Mapping) for span in spans):
            return False
    return True


def _file(predictions: Predictions, path: Path) -> str | Path:
    """Return the file of one seed; an object is written to ``path`` with its format's
    suffix.
    """
    if isinstance(predictions, Mapping):
        if not _is_nbest(predictions):
            what = "the predictions are a dictionary, but not one of n-best spans"
            do = (
                "give {question id: [{text, probability}, …]}, or else a frame or"
                " records with the columns of a file"
            )
            raise BadInput(what, where="lextables", do=do)
        path = path.with_suffix(".json")
        path.write_text(json.dumps(predictions, default=_plain), encoding="utf-8")
        return path
    if _are_records(predictions):
        predictions = pd.DataFrame([*predictions])
    if not isinstance(predictions, pd.DataFrame):
        return predictions
    if predictions.empty:
        do = "give a row for each prediction"
        raise BadInput("the predictions have no rows", where="lextables", do=do)
    if JSON_COLUMNS.isdisjoint(predictions.columns):
        path = path.with_suffix(".csv")
        predictions.to_csv(path, index=False)
        return path
    if not predictions.columns.is_unique:
        raise ValueError("a column appears twice")
    path = path.with_suffix(".jsonl")
    # A missing value is null, as in JSON lines of pandas, which rounds numbers.
    rows = predictions.astype(object).where(predictions.notna(), None)
    lines = [json.dumps(row, default=_plain) for row in rows.to_dict("records")]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _plain(value: Any) -> Any:
    """Return an array or a number of numpy as plain numbers, for JSON."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{value!r} is not plain")
