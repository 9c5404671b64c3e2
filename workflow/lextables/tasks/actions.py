"""What a task states of its actions: the tables, features and fields that each reads.

Each task has a subclass of `TaskJobs`, in its module ``jobs``.  `planning.jobs` makes
the job of a run from it, and `job.Job` is what the action is then given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import Run
from lextables.tasks.planner import Spec

MODEL_THREADS = 4  # of a job with a model
LINEAR = "linear"  # the kind of models without tokens
OWN_LENGTH = 0  # in the name of a file of vectors: the encoder's own maximum length
LINEAR_ACTIONS = ("train", "predict")  # those with a module for linear models


@dataclass(frozen=True)
class Action:
    """What a task states of an action."""

    module: str
    """Its module, below `lextables.tasks`."""
    _: KW_ONLY
    tables: tuple[str, ...] = ()
    """The tables of the data set that it reads, by the task's names for them."""
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
    """Whether a model works in its job, which then requests memory, time and a GPU by
    the work of its runs.  Other jobs request ``mem_mb`` and ``minutes``.
    """
    asks: bool = False
    """Whether it asks a language model, for ``minutes`` at least."""
    mem_mb: int = 4000
    minutes: int = 30
    threads: int = 1


class TaskJobs:
    """The jobs of one data set's task.

    ``task`` is the registry's task of the data set ``name``.  The folder ``data`` has
    its tables, and its features are below ``folder``.  In the methods, ``action`` is
    the name of an action, except where its type is `Action`; ``settings`` and ``spec``
    are those of a run.
    """

    ACTIONS: ClassVar[Mapping[str, Action]]
    # {experiment: its action}; other experiments have the name of their action.
    EXPERIMENTS: ClassVar[Mapping[str, str]] = {"read": "predict", "choice": "choose"}
    # The setting with the length of what an encoder reads at once.
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
        """{the task's name of a table: the data set's}; other tables have one name."""
        return {}

    def fields(self, action: Action) -> JsonObject:
        """The fields of the registry's task that an action reads."""
        fields: JsonObject = self.task.model_dump(
            mode="json", include=set(action.fields)
        )
        return fields

    def part(self, action: str, settings: JsonObject) -> str:
        """What is filled into `Action.module_pattern`; "" for an action without one."""
        return ""

    def features(self, action: str, run: Run, spec: Spec) -> dict[str, list[str]]:
        """The files that an action reads besides tables and other runs, by role."""
        return {}

    def vector_file(self, encoder: str, size: int) -> str:
        """The file with an encoder's vectors of segments or pieces of a size."""
        return f"{self.folder}/{self.name}/{encoder}/vectors/{size}.parquet"

    def vectors(self, run: Run, spec: Spec) -> list[str]:
        """The vectors that a run reads; another job encodes them."""
        settings = spec.settings
        if "weights" not in settings or not self.reads_stored_vectors(run, spec):
            return []
        size = settings[self.VECTOR_SIZE] or OWN_LENGTH
        return [self.vector_file(settings["model"], size)]

    def reads_stored_vectors(self, run: Run, spec: Spec) -> bool:
        """Whether a run reads vectors that an action `encode` stores.

        They do not depend on other runs.
        """
        return spec.settings.get("kind") == LINEAR

    def encoded(self, readers: Mapping[Run, Spec], size: int) -> JsonObject:
        """What the action `encode` gets in `Job.task` besides fields: which texts it
        encodes for the runs that read the vectors of a ``size``.
        """
        return {}

    def needs(self, action: str, runs: Sequence[Run]) -> dict[str, list[Run]]:
        """The runs whose predictions an action reads, by role, of all needed
        ``runs``.
        """
        return {"predictions": list(runs)}

    def values(self, action: str, spec: Spec, specs: Mapping[Run, Spec]) -> JsonObject:
        """Values for the action that are neither settings of the run nor fields.

        ``specs`` are those of all planned runs.
        """
        return {}
