"""From predictions to scores, by the evaluator that the registry names."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lextables.dataset import Row
from lextables.metrics import minority_aupr


def score(
    predictions: Iterable[Row],
    examples: Iterable[Row],
    heads: Iterable[Row],
    test: Sequence[str],
    task: Mapping[str, Any],
    census: str | Path,
) -> list[Row]:
    """Score one run on the examples of the splits ``test``; rows of `run.SCORES`, sorted by its key.

    ``task`` has the registry's ``evaluator``, and the ``metrics``, ``unit`` and ``multi_label`` of the
    general one.  Of data that are not the paper's (``census``) parts may be missing: heads that no
    prediction is for are then left out, where a released scorer stops.
    """
    sources = json.loads(Path(census).read_text(encoding="utf-8"))["sources"]
    whole = all(source["comparable"] for source in sources)
    found = list(predictions)
    answered = {row["head_id"] for row in found}
    asked = [row for row in examples if row["split"] in test and (whole or row["head_id"] in answered)]
    return minority_aupr.scores(found, asked, heads, partial=not whole, unit=task["unit"])
