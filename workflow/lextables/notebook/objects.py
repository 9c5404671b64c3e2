"""Predictions that are Python objects, as files in the formats of the pipeline."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lextables.pipeline.errors import BadInput

Predictions = Any  # what `written` accepts
# A column of lists or objects, which a csv file cannot have.
PROBABILITIES = "probabilities"


def written(predictions: Predictions, folder: Path) -> list[str | Path]:
    """Return the files of predictions; objects are written into ``folder``.

    ``predictions`` are a file, a frame, a list of records, {question id: n-best spans},
    or a list of files or frames, one for each seed.  Raises `BadInput` for an object
    that has no rows.
    """
    if isinstance(predictions, list | tuple):
        if not all(isinstance(item, Mapping) for item in predictions):
            files = []
            for seed, item in enumerate(predictions):
                files.append(_file(item, folder / f"predictions{seed}"))
            return files
        predictions = pd.DataFrame([*predictions])
    return [_file(predictions, folder / "predictions")]


def _file(predictions: Predictions, path: Path) -> str | Path:
    """Return the file of one seed; an object is written to ``path`` with its format's
    suffix.
    """
    if isinstance(predictions, Mapping):
        path = path.with_suffix(".json")
        try:
            text = json.dumps(predictions)
        except (TypeError, ValueError) as error:
            what = f"the predictions cannot be written as JSON ({error})"
            do = "give {question id: [{text, probability}, …]} of plain values"
            raise BadInput(what, where="lextables.score", do=do) from None
        path.write_text(text, encoding="utf-8")
        return path
    if not isinstance(predictions, pd.DataFrame):
        return predictions
    if predictions.empty:
        do = "give a row for each prediction"
        raise BadInput("the predictions have no rows", where="lextables.score", do=do)
    if PROBABILITIES in predictions:
        path = path.with_suffix(".jsonl")
        predictions.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        path = path.with_suffix(".csv")
        predictions.to_csv(path, index=False)
    return path
