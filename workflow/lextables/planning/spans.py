"""Inputs and params of the rules of span extraction."""

from dataclasses import dataclass

from lextables.pipeline.errors import BadInput
from lextables.planning.rule_values import Files, InputFunction, Params, Wildcards
from lextables.planning.runs import Runs
from lextables.planning.sources import edgar_contracts
from lextables.tasks.plan import Spec
from lextables.tasks.spans.plan import SpanTask
from lextables.tasks.spans.settings import CuttingSettings

SHARDS = 8  # of a folder of windows
ENCODING = ("model", "weights", "revision", "found", "max_length")


def window_files(folder: str, part: str) -> list[str]:
    """Return the files of one part of the windows in ``folder``.

    The parts are train, validation and test.
    """
    files = [f"{folder}/{part}/features.json"]
    for shard in range(SHARDS):
        files.append(f"{folder}/{part}/tokens-{shard:02}.parquet")
        files.append(f"{folder}/{part}/windows-{shard:02}.parquet")
    return files


@dataclass(frozen=True)
class SpanRuns:
    """The planned runs of span extraction, by the wildcards of a rule."""

    runs: Runs

    @property
    def tasks(self) -> dict[str, SpanTask]:
        """{data set: its task}."""
        return self.runs.project.tasks_of_kind("spans")

    @property
    def text_datasets(self) -> set[str]:
        """The data sets whose text outputs are scored, and not spans."""
        return {name for name, task in self.tasks.items() if task.quotes}

    @property
    def windows(self) -> str:
        """The pattern of folders of windows."""
        folder = f"{self.runs.project.results}/features/spans"
        return f"{folder}/{{dataset}}/{{model}}/{{length}}x{{step}}"

    @property
    def vectors(self) -> str:
        """The pattern of files with the vectors of text units."""
        folder = f"{self.runs.project.results}/features/spans"
        return f"{folder}/{{dataset}}/{{encoder}}/vectors/{{length}}.parquet"

    @property
    def released_files(self) -> list[str]:
        """The planned files of the authors' weights."""
        files = []
        for run, spec in self.runs.project.specs.items():
            if run.experiment == "release":
                files.append(self._source(spec.settings["file"]))
        return files

    def _source(self, file: str) -> str:
        return f"{self.runs.project.results}/sources/{file}"

    def released_file(self, wildcards: Wildcards, **fixed: str) -> str:
        """Input: the file of the authors' weights."""
        return self._source(self.runs.spec(wildcards, **fixed).settings["file"])

    def windows_of(self, part: str) -> InputFunction:
        """Input function: one part of the windows that a run reads."""

        def files(wildcards: Wildcards) -> Files:
            settings = self.runs.spec(wildcards).settings
            folder = self.windows.format(
                dataset=wildcards.dataset,
                model=wildcards.model,
                length=settings["max_length"],
                step=settings["step"],
            )
            return window_files(folder, part)

        return files

    def _reader_of_windows(self, wildcards: Wildcards) -> Spec:
        """Return the spec of a run that reads these windows.

        Trainings come first: they need the windows before their weights exist.  Raises
        `BadInput` if there is no such run.
        """
        size = (int(wildcards.length), int(wildcards.step))
        readers = []
        for run, spec in self.runs.project.specs.items():
            if (run.data_set, run.model) != (wildcards.dataset, wildcards.model):
                continue
            settings = spec.settings
            if (settings.get("max_length"), settings.get("step")) == size:
                readers.append((run.experiment == "read", spec))
        if not readers:
            raise BadInput(
                "no run under this configuration reads this model's windows",
                where=self.windows.format(**dict(wildcards.items())),
            )
        return min(readers, key=lambda reader: reader[0])[1]

    def cutting(self, wildcards: Wildcards) -> Params:
        """Param: the `CuttingSettings` of windows."""
        settings = self._reader_of_windows(wildcards).settings
        names = CuttingSettings.model_fields.keys() & settings.keys()
        return self.runs.project.identified(
            {name: settings[name] for name in sorted(names)}
        )

    def tokenizer_weights(self, wildcards: Wildcards) -> Files:
        """Input: the weights of another run whose tokenizer cuts the windows."""
        sources = self._reader_of_windows(wildcards).sources
        return [self.runs.file(source, "weights") for source in sources]

    def pretraining_contracts(self, wildcards: Wildcards) -> Files:
        """Input: EDGAR's contracts, or those of the sample."""
        project = self.runs.project
        if project.config.data == "release":
            return edgar_contracts(project)
        return project.tables(wildcards.dataset, "contracts")

    def encoding(self, wildcards: Wildcards) -> Params:
        """Param: the settings of the vectors of units.

        Raises `BadInput` if no run reads them.
        """
        wanted = (wildcards.dataset, wildcards.encoder, int(wildcards.length))
        for run, spec in self.runs.project.specs.items():
            settings = spec.settings
            if settings.get("kind") != "linear" or "weights" not in settings:
                continue
            if (run.data_set, settings["model"], settings["max_length"]) == wanted:
                return self.runs.project.identified(
                    {name: settings[name] for name in ENCODING}
                )
        raise BadInput(
            "no run under this configuration reads these vectors",
            where=self.vectors.format(**dict(wildcards.items())),
        )

    def scoring(self, wildcards: Wildcards) -> Params:
        """Param: the settings of the released evaluator of spans."""
        task = self.tasks[wildcards.dataset]
        thresholds = list(task.low_thresholds)
        return {"relaxed": task.relaxed, "low_thresholds": thresholds}
