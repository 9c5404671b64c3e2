"""The input of a model that answers questions or marks paragraphs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lextables.models.settings import StepSettings
from lextables.pipeline.files import JsonObject
from lextables.tasks.answers.collection import Collection


@dataclass(frozen=True)
class Prediction:
    """One run of a model on a ``collection``."""

    collection: Collection
    settings: StepSettings
    """The settings of the run, of a class in `settings.ANSWERING` or
    `settings.MARKING`.
    """
    marked: Mapping[str, set[str]] = field(default_factory=dict)
    """{question: ids of the paragraphs that people marked for it}, for training."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """The config key ``device``."""
    vectors: Sequence[str] = ()
    """The file with the vectors of paragraphs and questions, if the model reads one."""
    asking: Mapping[str, Any] = field(default_factory=dict)
    """The folder of cached answers, and the limits (`models.spending.Limits`)."""
    threads: int = 1
    record: JsonObject = field(default_factory=dict)
    """The record of the run."""
