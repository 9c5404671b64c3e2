"""Reading one contract of a user's with the linear models: seconds, and no GPU."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lextables.papers.cuad.asking import CONTRACT, question_id
from lextables.pipeline.dataset import write
from lextables.tasks.spans import linear
from lextables.tasks.spans.schema import NBEST


def read_contract(
    text: str, categories: Iterable[str], settings: Mapping[str, Any], weights: str | Path, output: str | Path
) -> None:
    """Write the likeliest spans of each category in a contract, rows of `NBEST`.

    ``settings`` are those of the run that read the test contracts, and ``weights`` is its model's folder.
    """
    model = linear.load(Path(weights) / linear.WEIGHTS)
    asked = [
        {"question_id": question_id(name), "contract_id": CONTRACT, "category": name} for name in categories
    ]
    write(NBEST, linear.spans_of(model, {CONTRACT: text}, asked, settings), output)
