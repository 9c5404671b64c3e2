"""Jobs that make features of texts, which runs read: windows, tokens and vectors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.planning.jobs import Jobs, PlannedJob, RuleJobs
from lextables.planning.rule_values import Files, Params, Values, Wildcards
from lextables.tasks.classification.jobs import each_view, readings
from lextables.tasks.planner import READ, Spec
from lextables.tasks.resources import DEFAULT_LENGTH, Work
from lextables.tasks.spans.jobs import SHARDS
from lextables.tasks.spans.settings import CuttingSettings

# The settings of a run that determine an encoder's vectors, apart from the length.
ENCODER = ("model", "weights", "revision", "found")
ENCODED_LENGTH = 128  # estimated tokens of a piece; its exact length is in words


@dataclass(frozen=True)
class FeatureJobs:
    """The jobs of the features that planned runs read.

    A rule has its jobs from `windows`, `tokens` or `encodings`.  The wildcards of a job
    name a data set and a model; the other settings are those of the first planned run
    that reads its features.
    """

    jobs: Jobs

    def windows(self) -> RuleJobs:
        """Return the jobs that cut contracts into windows of tokens."""
        return RuleJobs(self.window_job, self.jobs.resources)

    def tokens(self) -> RuleJobs:
        """Return the jobs that tokenise texts."""
        return RuleJobs(self.token_job, self.jobs.resources)

    def encodings(self) -> RuleJobs:
        """Return the jobs that encode texts with a frozen encoder."""
        return RuleJobs(self.vector_job, self.jobs.resources)

    def window_job(self, wildcards: Wildcards) -> PlannedJob:
        """Return the job for windows of a length and a step.

        If a training reads the windows, the settings are taken from it, because it
        needs the windows before any trained weights exist.
        """
        size = (int(wildcards.length), int(wildcards.step))
        trainings = []
        predictions = []
        for run, spec in self._specs_of(wildcards.dataset).items():
            settings = spec.settings
            size_of_run = (settings.get("max_length"), settings.get("step"))
            if run.model != wildcards.model or size_of_run != size:
                continue
            if run.experiment == READ:
                predictions.append(spec)
            else:
                trainings.append(spec)
        spec = self._first_reader([*trainings, *predictions], wildcards)
        names = CuttingSettings.model_fields.keys() & spec.settings.keys()
        settings = {name: spec.settings[name] for name in sorted(names)}
        weights = self.jobs.files(spec.sources, "weights")
        values = {"shards": SHARDS}
        return self._feature(wildcards, "windows", settings, values, weights)

    def token_job(self, wildcards: Wildcards) -> PlannedJob:
        """Return the job that tokenises texts; ``wildcards.length`` is the maximum
        number of tokens of a text.
        """
        length = int(wildcards.length)
        readers = []
        for spec in self._specs_of(wildcards.dataset).values():
            if spec.settings.get("tokenizer", {}).get("model") == wildcards.model:
                readers.append(spec)
        first = self._first_reader(readers, wildcards)
        # A reading is a view of the texts, such as the short premise, and its length.
        every_reading = readings(spec.settings for spec in readers)
        views = each_view(
            reading for reading in every_reading if reading["max_length"] == length
        )
        values = {"views": views, "length": length}
        settings = first.settings["tokenizer"]
        return self._feature(wildcards, "tokens", settings, values)

    def vector_job(self, wildcards: Wildcards) -> PlannedJob:
        """Return the job for an encoder's vectors of segments or of pieces of texts."""
        size = int(wildcards.size)
        task = self.jobs.tasks[wildcards.dataset]
        vectors = task.vector_file(wildcards.encoder, size)
        readers = {}
        for run, spec in self._specs_of(wildcards.dataset).items():
            if vectors in task.vectors(run, spec):
                readers[run] = spec
        first = self._first_reader(list(readers.values()), wildcards).settings
        settings = {name: first[name] for name in ENCODER}
        values = task.encoded(readers, size)
        # The size in the file's name is a number of tokens, or the number of words of a
        # piece of text.  Pieces are encoded up to the encoder's own maximum length.
        if task.VECTOR_SIZE == "max_length":
            settings["max_length"] = size or None
            length = size or DEFAULT_LENGTH
        else:
            registered = self.jobs.project.context.models[wildcards.encoder]
            settings["max_length"] = registered.max_length
            length = ENCODED_LENGTH

        def work() -> Work:
            sizes = self.jobs.resources.sizes
            return sizes.encoding(wildcards.encoder, wildcards.dataset, length)

        return self._feature(wildcards, "encode", settings, values, work=work)

    def _first_reader(self, readers: Sequence[Spec], wildcards: Wildcards) -> Spec:
        """Return the first spec that reads these features; `BadInput` if there is
        none.
        """
        if not readers:
            where = ", ".join(f"{name} {value}" for name, value in wildcards.items())
            what = "no run under this configuration reads these features"
            raise BadInput(what, where=where)
        return readers[0]

    def _specs_of(self, dataset: str) -> dict[Run, Spec]:
        """Return the planned runs of a data set."""
        specs = self.jobs.project.specs.items()
        return {run: spec for run, spec in specs if run.data_set == dataset}

    def _feature(
        self,
        wildcards: Wildcards,
        name: str,
        settings: Values,
        values: Params,
        weights: Files | None = None,
        work: Callable[[], Work | None] = lambda: None,
    ) -> PlannedJob:
        """Return the job of the action ``name``, which makes features and no run.

        The action gets ``settings``, the fields of the task, and ``values``.
        ``weights`` are folders of weights that the project trained.  ``work`` returns
        what a model does in the job (`PlannedJob`).
        """
        task = self.jobs.tasks[wildcards.dataset]
        action = task.ACTIONS[name]
        inputs = {"data": task.tables(action), "weights": weights or []}
        params = {
            "part": "",
            "settings": self.jobs.project.identified(settings),
            "task": {**task.fields(action), **values},
        }
        places = {}
        if action.model:
            params["device"] = self.jobs.project.job_device
            places = {"vectors": self.jobs.vectors}
        return PlannedJob(action, inputs, params, places, work)
