"""The actions of a task: the tables, features and fields that each of them reads.

Each task has a subclass of `TaskJobs`, in its module ``jobs``.  From it `planning.jobs`
makes the job of each run, and the action gets the job as a `job.Job`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import Run
from lextables.tasks.planner import Spec

MODEL_THREADS = 4  # of a job with a model
LINEAR = "linear"  # the kind of linear models, which read no tokens
OWN_LENGTH = 0  # in the name of a file of vectors: the encoder's own maximum length
LINEAR_ACTIONS = ("train", "predict")  # actions with a module for linear models


@dataclass(frozen=True)
class Action:
    """An action of a task: its module, its inputs, and the resources of its jobs."""

    module: str
    """The module with its code, below `lextables.tasks`."""
    _: KW_ONLY
    tables: tuple[str, ...] = ()
    """The tables of the data set that it reads, under the task's names."""
    fields: tuple[str, ...] = ()
    """The fields of the registry's task that it reads."""
    module_pattern: str = ""
    """A further module that it imports: with ``retrieval.rankers.{}`` and the job's
    part ``bm25`` (`TaskJobs.part`) it is `retrieval.rankers.bm25`.
    """
    census: bool = False
    """Whether it reads the census of the data set, as trainings do: their checkpoints
    are only reused for the same data.
    """
    model: bool = False
    """Whether its jobs run a model.  They then request memory, time and a GPU by the
    estimated work of the model (`resources`); other jobs request ``mem_mb`` and
    ``minutes``.
    """
    asks: bool = False
    """Whether it asks a language model; its jobs then request at least ``minutes``."""
    mem_mb: int = 4000
    """Megabytes of memory."""
    minutes: int = 30
    threads: int = 1


class TaskJobs:
    """The jobs of one data set's task.

    ``task`` is the registry's task of the data set ``name``.  The folder ``data`` has
    its tables, and its features are below ``folder``.  In the methods, ``action`` is
    the name of an action, except where its type is `Action`; ``settings`` are the
    settings of a run, and ``spec`` also has its dependencies.
    """

    ACTIONS: ClassVar[Mapping[str, Action]]
    # {experiment: its action}; other experiments have the name of their action.
    EXPERIMENTS: ClassVar[Mapping[str, str]] = {"read": "predict", "choice": "choose"}
    # The setting with the length of a text that an encoder reads at once.
    VECTOR_SIZE: ClassVar[str] = "max_length"

    def __init__(self, name: str, task: Any, data: str, folder: str) -> None:
        self.name = name
        self.task = task
        self.data = data
        self.folder = folder

    def action(self, run: Run, settings: JsonObject) -> str:
        """The name of the action that makes a run, one of `ACTIONS`.

        Linear models, which need no tokens, have their own.
        """
        action = self.EXPERIMENTS.get(run.experiment, run.experiment)
        is_linear = settings.get("kind") == LINEAR
        return f"{action}_linear" if is_linear and action in LINEAR_ACTIONS else action

    def tables(self, action: Action) -> list[str]:
        """The files of the tables that an action reads, in their order."""
        names = self.names()
        return self.data_files([names.get(table, table) for table in action.tables])

    def data_files(self, tables: Sequence[str]) -> list[str]:
        """The files of these tables of the data set."""
        return [f"{self.data}/{table}.parquet" for table in tables]

    def names(self) -> Mapping[str, str]:
        """{the task's name of a table: the data set's name}, where the two differ."""
        return {}

    def fields(self, action: Action) -> JsonObject:
        """The fields of the registry's task that an action reads."""
        fields: JsonObject = self.task.model_dump(
            mode="json", include=set(action.fields)
        )
        return fields

    def part(self, action: str, settings: JsonObject) -> str:
        """The text for ``{}`` in `Action.module_pattern`; "" without a pattern."""
        return ""

    def features(self, action: str, run: Run, spec: Spec) -> dict[str, list[str]]:
        """The files that an action reads besides tables and other runs, by role."""
        return {}

    def vector_file(self, encoder: str, size: int) -> str:
        """The file with an encoder's vectors; ``size`` is the length of its texts."""
        return f"{self.folder}/{self.name}/{encoder}/vectors/{size}.parquet"

    def vectors(self, run: Run, spec: Spec) -> list[str]:
        """The file of vectors that a run reads, if any; another job writes it."""
        settings = spec.settings
        if "weights" not in settings or not self.reads_stored_vectors(run, spec):
            return []
        size = settings[self.VECTOR_SIZE] or OWN_LENGTH
        return [self.vector_file(settings["model"], size)]

    def reads_stored_vectors(self, run: Run, spec: Spec) -> bool:
        """Whether a run reads vectors that an action `encode` stores.

        Such vectors do not depend on other runs.
        """
        return spec.settings.get("kind") == LINEAR

    def encoded(self, readers: Mapping[Run, Spec], size: int) -> JsonObject:
        """The texts that the action `encode` encodes for ``readers``, as values of
        `Job.task`.

        The readers are the runs that read the vectors of texts of a ``size``.
        """
        return {}

    def needs(self, action: str, runs: Sequence[Run]) -> dict[str, list[Run]]:
        """{role: runs whose predictions an action reads}; ``runs`` are all of them."""
        return {"predictions": list(runs)}

    def values(self, action: str, spec: Spec, specs: Mapping[Run, Spec]) -> JsonObject:
        """Values for the action that are neither settings of the run nor fields of the
        task.

        ``specs`` are the specs of all planned runs.
        """
        return {}
