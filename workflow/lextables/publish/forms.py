"""What each kind of task is handed on as, beside its tables: {task: what writes it to a folder}."""

from collections.abc import Callable, Mapping
from pathlib import Path

from lextables.publish import predictions, squad, trec
from lextables.publish.export import Form, PublishedSet

WRITERS: Mapping[str, Callable[[PublishedSet, Path], list[Form]]] = {
    "retrieval": trec.write,
    "spans": squad.write,
    "classification": predictions.of_classification,
    "answers": predictions.of_answers,
}
