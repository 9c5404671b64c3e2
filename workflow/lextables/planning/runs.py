"""Inputs and params of the rules that make runs."""

from dataclasses import dataclass

from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.planning.project import Project
from lextables.planning.rule_values import Files, InputFunction, Params, Wildcards
from lextables.tasks.plan import Spec

FOLDER = "runs/{dataset}/{experiment}/{model}/{condition}/seed{seed}"
PARTS = ("dataset", "experiment", "model", "condition", "seed")


@dataclass(frozen=True)
class Runs:
    """The planned runs, by the wildcards of a rule.

    Keyword arguments ``fixed`` are parts of a run that are no wildcards of the rule.
    """

    project: Project

    def folder(self, **fixed: str | int) -> str:
        """Return the pattern of the folders of runs, such as ``results/runs/{dataset}/…``."""
        parts = {}
        for name in PARTS:
            parts[name] = fixed.get(name, f"{{{name}}}")
        return f"{self.project.results}/{FOLDER.format(**parts)}"

    def run_of(self, wildcards: Wildcards, **fixed: str | int) -> Run:
        """Return the run that wildcards name; its seed is 0 if the rule has none."""
        parts = {"seed": 0, **dict(wildcards.items()), **fixed}
        return Run(
            data_set=parts["dataset"],
            experiment=parts["experiment"],
            model=parts["model"],
            condition=parts["condition"],
            seed=int(parts["seed"]),
        )

    def spec_of(self, run: Run) -> Spec:
        """Return the spec of a run; `BadInput` if this configuration has no such run."""
        where = f"{self.project.results}/{run.folder}"
        if self.project.paper_of.get(run.data_set) not in self.project.config.papers:
            what = "config key papers leaves its paper out"
            raise BadInput(what, where=where, do="add it there")
        if run not in self.project.specs:
            what = "there is no such run under this configuration"
            raise BadInput(what, where=where)
        return self.project.specs[run]

    def spec(self, wildcards: Wildcards, **fixed: str | int) -> Spec:
        """Return the spec of the run that wildcards name (see `spec_of`)."""
        return self.spec_of(self.run_of(wildcards, **fixed))

    def settings(self, wildcards: Wildcards, **fixed: str | int) -> Params:
        """Param: the settings of a run, and the digest of its weights."""
        return self.project.identified(self.spec(wildcards, **fixed).settings)

    def work_folder(self, wildcards: Wildcards, **fixed: str | int) -> str:
        """Param: the folder of the checkpoints of a run."""
        run = self.run_of(wildcards, **fixed).folder.removeprefix("runs/")
        return f"{self.project.results}/work/{run}"

    def needed_predictions(self, wildcards: Wildcards, **fixed: str | int) -> Files:
        """Input: the predictions that a run reads."""
        needed = self.spec(wildcards, **fixed).needs
        return [self.file(run, "predictions.parquet") for run in needed]

    def needed_records(self, wildcards: Wildcards) -> Files:
        """Input: the records of the runs whose predictions a run reads."""
        return [self.file(run, "run.json") for run in self.spec(wildcards).needs]

    def choice(self, wildcards: Wildcards) -> Files:
        """Input: the record of the choice of a run's settings; empty if there was one trial.

        If the choice is repeated with the same result, the training starts again, reuses
        its finished work (`checkpoints.finished`) and ends at once.
        """
        choice = self.spec(wildcards).choice
        return [self.file(choice, "run.json")] if choice else []

    def start_weights(self, wildcards: Wildcards) -> Files:
        """Input: weights and record of each run that a run loads; empty if it loads none."""
        files = []
        for source in self.spec(wildcards).sources:
            files += [self.file(source, "weights"), self.file(source, "run.json")]
        return files

    def of_sources(self, name: str) -> InputFunction:
        """Input function: a file of each run whose weights a run loads; empty if it loads none."""

        def files(wildcards: Wildcards) -> Files:
            return [self.file(run, name) for run in self.spec(wildcards).sources]

        return files

    def vectors(self, pattern: str, **parts: str) -> InputFunction:
        """Input function: the embeddings that a linear model reads; empty if it reads words.

        ``parts`` are {wildcard of ``pattern``: name of a setting}, beside the data set and
        the encoder.
        """

        def files(wildcards: Wildcards) -> Files:
            settings = self.spec(wildcards).settings
            if "weights" not in settings:
                return []
            values = {"dataset": wildcards.dataset, "encoder": settings["model"]}
            for part, name in parts.items():
                values[part] = settings[name]
            return [pattern.format(**values)]

        return files

    def file(self, run: Run, name: str) -> str:
        """Return the path of a file of a run."""
        return f"{self.project.results}/{run.folder}/{name}"

    def asking(self, wildcards: Wildcards, threads: int) -> Params:
        """Param: the folder of answers of language models, and limits on spending and rate.

        These change no answer.  Snakemake does not compare params that depend on the
        threads, so that other limits rerun nothing.
        """
        config = self.project.config
        limits = {
            "dollars": config.llm_budget,
            "tokens": config.llm_tokens,
            "concurrency": config.llm_concurrency,
            "requests_a_minute": config.llm_requests_a_minute,
        }
        return {"kept": f"{self.project.results}/work/calls", "limits": limits}

    def asked_locally(self, wildcards: Wildcards) -> bool:
        """Return whether the language model runs on this machine and not on a server."""
        for run, spec in self.project.specs.items():
            same = (run.data_set, run.model) == (wildcards.dataset, wildcards.model)
            if same and "api" in spec.settings:
                return False
        return True
