"""What a job that answers questions, or marks paragraphs, is given."""

from collections.abc import Mapping
from dataclasses import (
    dataclass,
    field,
)
from typing import (
    Any,
    Literal,
)

from lextables.tasks.answers.collection import Collection


@dataclass(frozen=True)
class Prediction:
    """One run of a model on a ``collection``.

    ``settings`` are those of the run, ``marked`` is {question: ids of the paragraphs that people
    marked for it}, which a trained model needs.  ``device`` is the config's choice, ``vectors``
    the folder of cached vectors, ``asking`` the folder of cached answers and the limits of
    language models (`models.spending.Limits`).  ``record`` is the run's record.
    """

    collection: Collection
    settings: Mapping[str, Any]
    marked: Mapping[str, set[str]] = field(default_factory=dict)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    vectors: str = ""
    asking: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1
    record: dict[str, Any] = field(default_factory=dict)
