"""Jobs of planned runs: what their actions read, their settings and resources.

A `PlannedJob` is a plain record that can be printed.  A rule takes everything from the
job that its wildcards name (`RuleJobs`), and `Jobs` makes the jobs of all runs.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.planning.job_resources import JobResources
from lextables.planning.project import Project
from lextables.planning.rule_values import Files, Params, Resource, Wildcards
from lextables.planning.scripts import fingerprint_of
from lextables.planning.sources import edgar_contracts
from lextables.tasks.actions import Action, TaskJobs
from lextables.tasks.answers.jobs import AnswerJobs
from lextables.tasks.classification.jobs import ClassificationJobs
from lextables.tasks.planner import ASK, Spec
from lextables.tasks.resources import Work
from lextables.tasks.retrieval.jobs import RetrievalJobs
from lextables.tasks.spans.jobs import SpanJobs

SCRIPT = "task.py"  # of all actions
# The folder of a run below the results, and its parts.
FOLDER = "runs/{dataset}/{experiment}/{model}/{condition}/seed{seed}"
PARTS = ("dataset", "experiment", "model", "condition", "seed")
TASKS: Mapping[str, type[TaskJobs]] = {
    "retrieval": RetrievalJobs,
    "spans": SpanJobs,
    "classification": ClassificationJobs,
    "answers": AnswerJobs,
}
# Experiments that combine predictions.  Their jobs take seconds, so they run on the
# machine where Snakemake runs.
COMBINING = ("fuse", "join")
# Experiments that predict.  Each has a rule, and a job of it makes one run.
PREDICTING = (
    *COMBINING,
    "read",
    "quote",
    "rerank-tuned",
    "rerank-classified",
    "retrieve-tuned",
    "feedback",
    "answer",
    "mark",
)
# Experiments of systems that are not trained here.  In a retrieval task, whose systems
# rank, a job makes all runs of a system.
RANKING = ("retrieve", "rerank", ASK)
# Actions of a retrieval task whose jobs make one run; jobs of the other actions make
# all runs of a system.
SINGLE_RUN_ACTIONS = ("search", "train", "choose", "submitted")


@dataclass(frozen=True)
class PlannedJob:
    """A job: its action, the files that it reads by role, and what the action is given
    (`tasks.job.Job`).

    Snakemake compares ``params``, and reruns the job when they change.  It does not
    compare ``places``: folders of caches and checkpoints, and limits on spending, which
    change no result.  ``work`` returns what a model does in the job, from which time
    and memory are estimated; None if no model runs on this machine.
    """

    action: Action
    inputs: Mapping[str, Files]
    params: Params
    places: Params = field(default_factory=dict)
    work: Callable[[], Work | None] = lambda: None

    @property
    def code(self) -> str:
        """The fingerprint of the job's code."""
        names = [self.action.module]
        if self.action.module_pattern:
            names.append(self.action.module_pattern.format(self.params["part"]))
        return fingerprint_of(SCRIPT, *(f"lextables.tasks.{name}" for name in names))


# With repr=False because Snakemake searches the repr of input functions for wildcards.
# The functions are bound methods, so their repr has that of the object, and ``folder``
# contains wildcards.
@dataclass(frozen=True, repr=False)
class RuleJobs:
    """What a rule takes from its jobs: functions of the rule's wildcards.

    ``job_of`` returns the job that wildcards name.  ``folder`` is the pattern of the
    folders of the rule's runs, with wildcards.
    """

    job_of: Callable[[Wildcards], PlannedJob]
    resources_of: JobResources
    folder: str = ""

    @cached_property
    def _planned(self) -> dict[tuple[tuple[str, str], ...], PlannedJob]:
        """{wildcards: their job}, of the jobs made so far."""
        return {}

    def job(self, wildcards: Wildcards) -> PlannedJob:
        """The job that wildcards name, made once: Snakemake asks for its parts one by
        one.
        """
        names = tuple(wildcards.items())
        if names not in self._planned:
            self._planned[names] = self.job_of(wildcards)
        return self._planned[names]

    def inputs(self, wildcards: Wildcards) -> dict[str, Files]:
        """Input: files by role."""
        return dict(self.job(wildcards).inputs)

    def params(self, wildcards: Wildcards) -> Params:
        """Param: the action's module, and what it is given."""
        job = self.job(wildcards)
        return {"module": job.action.module, **job.params}

    def code(self, wildcards: Wildcards) -> str:
        """Param: the fingerprint of the code."""
        return self.job(wildcards).code

    def places(self, wildcards: Wildcards, threads: int) -> Params:
        """Param: folders, and limits on spending and rate.

        Snakemake does not compare params that depend on the threads, so that other
        limits rerun nothing.
        """
        return self.job(wildcards).places

    def threads(self, wildcards: Wildcards) -> int:
        """Threads of the job."""
        return min(self.job(wildcards).action.threads, self.resources_of.model_threads)

    @property
    def resources(self) -> dict[str, Resource]:
        """Resources: memory, time and, for a model on this machine, a GPU."""
        requested: dict[str, Resource] = {
            "mem_mb": self._mem_mb,
            "runtime": self._runtime,
        }
        for name, value in self.resources_of.on_gpu.items():
            requested[name] = self._with_model(value)
        return requested

    def _mem_mb(self, wildcards: Wildcards, attempt: int) -> int:
        """Memory in MB; each retry requests more."""
        job = self.job(wildcards)
        return self.resources_of.mem_mb(job.action, job.work()) * attempt

    def _runtime(self, wildcards: Wildcards, attempt: int) -> int | float:
        """Minutes, up to the config's limit; each retry requests more."""
        job = self.job(wildcards)
        minutes = self.resources_of.minutes(job.action, job.work())
        return self.resources_of.limited(minutes * attempt)

    def _with_model(self, value: Any) -> Resource:
        """A resource that only jobs with a model on this machine have."""

        def requested(wildcards: Wildcards, attempt: int) -> Any:
            return value if self.job(wildcards).work() else None

        return requested


@dataclass(frozen=True)
class RankingRule:
    """A rule for systems of one kind: their ``models``, and the ``conditions`` of their
    runs.

    A job makes all runs of a system that is not trained here: every form of the
    queries, and every way to read the documents.
    """

    name: str
    dataset: str
    experiment: str
    models: tuple[str, ...]
    conditions: tuple[str, ...]

    @property
    def fixed(self) -> dict[str, str]:
        """The parts of its runs that are no wildcards."""
        return {"dataset": self.dataset, "experiment": self.experiment}


@dataclass(frozen=True)
class Jobs:
    """The jobs of all planned runs.

    A rule has its jobs from `rule`, `scoring` or `ranking`, which find the job that
    wildcards name with `of_runs` or `score`.
    """

    project: Project

    @cached_property
    def resources(self) -> JobResources:
        """The resources of jobs."""
        return JobResources(self.project)

    @cached_property
    def tasks(self) -> dict[str, TaskJobs]:
        """{data set: the jobs of its task}."""
        results = self.project.results
        tasks = {}
        for name, task in self.project.tasks.items():
            data = f"{results}/data/{name}"
            features = f"{results}/features/{task.task}"
            tasks[name] = TASKS[task.task](name, task, data, features)
        return tasks

    def folder(self, **fixed: str | int) -> str:
        """Return the pattern of the folders of runs, such as
        ``results/runs/{dataset}/…``; parts in ``fixed`` are no wildcards.
        """
        parts = {}
        for name in PARTS:
            parts[name] = fixed.get(name, f"{{{name}}}")
        return f"{self.project.results}/{FOLDER.format(**parts)}"

    def rule(self, **fixed: str | int) -> RuleJobs:
        """Return the jobs of a rule whose jobs make one run each; ``fixed`` are the
        parts of the runs that are no wildcards of the rule.
        """

        def of_wildcards(wildcards: Wildcards) -> PlannedJob:
            return self.of_runs(self.run_of(wildcards, **fixed))

        return RuleJobs(of_wildcards, self.resources, self.folder(**fixed))

    def scoring(self) -> RuleJobs:
        """Return the jobs that score runs."""

        def of_wildcards(wildcards: Wildcards) -> PlannedJob:
            return self.score(self.run_of(wildcards))

        return RuleJobs(of_wildcards, self.resources, self.folder())

    def ranking(self, rule: RankingRule) -> RuleJobs:
        """Return the jobs of a rule whose jobs make all runs of a system."""

        def of_wildcards(wildcards: Wildcards) -> PlannedJob:
            runs = []
            for condition in rule.conditions:
                runs.append(self.run_of(wildcards, **rule.fixed, condition=condition))
            return self.of_runs(*runs)

        return RuleJobs(of_wildcards, self.resources)

    def ranking_rules(self) -> list[RankingRule]:
        """Return the rules of the systems that are not trained here."""
        retrieved = [name for name, task in self.tasks.items() if _ranks(task)]
        return ranking_rules(self.project.specs, retrieved)

    def asked_data_sets(self) -> list[str]:
        """Return the data sets whose language models answer and do not rank."""
        asked = {run.data_set for run in self.project.specs if run.experiment == ASK}
        return sorted(name for name in asked if not _ranks(self.tasks[name]))

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

    def spec(self, run: Run) -> Spec:
        """Return the settings and dependencies of a run; `BadInput` if this
        configuration has no such run.
        """
        where = f"{self.project.results}/{run.folder}"
        if self.project.paper_of.get(run.data_set) not in self.project.config.papers:
            what = "config key papers leaves its paper out"
            raise BadInput(what, where=where, do="add it there")
        if run not in self.project.specs:
            what = "there is no such run under this configuration"
            raise BadInput(what, where=where)
        return self.project.specs[run]

    def file(self, run: Run, name: str) -> str:
        """Return the path of a file of a run."""
        return f"{self.project.results}/{run.folder}/{name}"

    def printed(self, run: Run) -> Params:
        """Return the job of a run as a record to print: inputs, settings and
        resources.
        """
        job = self.of_runs(run)
        work = job.work()
        return {
            "run": run.folder,
            "action": job.action.module,
            **job.params,
            "inputs": dict(job.inputs),
            "threads": min(job.action.threads, self.resources.model_threads),
            "mem_mb": self.resources.mem_mb(job.action, work),
            "minutes": self.resources.minutes(job.action, work),
            "gpu": self.resources.gpus if work else 0,
        }

    def of_runs(self, run: Run, *others: Run) -> PlannedJob:
        """Return the job that makes ``run`` and ``others``.

        A ranking by a system that is not trained here has one job for all its runs:
        ``others`` are its runs with other conditions.  They have the task, action and
        part of ``run``; only settings and inputs differ.
        """
        specs = {each_run: self.spec(each_run) for each_run in (run, *others)}
        spec = specs[run]
        # The action that makes the run, and what it is given.
        task = self.tasks[run.data_set]
        name = task.action(run, spec.settings)
        action = task.ACTIONS[name]
        params: Params = {
            "part": task.part(name, spec.settings),
            "settings": self._settings(name, specs),
            "task": self._task_values(name, run),
            "experiment": run.experiment,
            "seed": run.seed,
        }
        if action.model:
            params["device"] = self.project.job_device
        places = {"vectors": self.vectors, "asking": self.asking, "work": ""}
        # Trainings and pretraining store checkpoints in a work folder of their run.  A
        # training reads the census, so that checkpoints are only reused for the same
        # data; no other action that makes a run reads it.
        if action.census or run.experiment == "pretrain":
            parts = run.folder.removeprefix("runs/")
            places["work"] = f"{self.project.results}/work/{parts}"

        def work() -> Work | None:
            # A model behind an API works on another machine.
            local = action.model and "api" not in spec.settings
            return self.resources.sizes.work(list(specs)) if local else None

        return PlannedJob(action, self._inputs(name, specs), params, places, work)

    def _inputs(self, action_name: str, specs: Mapping[Run, Spec]) -> dict[str, Files]:
        """Return what the job of these runs reads, by role.

        Weights, choice and published files are those of the first run: they are the
        same for all.
        """
        run, spec = next(iter(specs.items()))
        task = self.tasks[run.data_set]
        action = task.ACTIONS[action_name]
        inputs = {"data": task.tables(action)}
        # The runs whose predictions the job reads.
        needed: list[Run] = []
        for each_spec in specs.values():
            needed += each_spec.needs
        for role, runs in task.needs(action_name, needed).items():
            inputs[role] = self.files(runs, "predictions.parquet")
        inputs["records"] = self.files(needed, "run.json")
        # The runs whose weights the job loads, and the run that chose its settings.
        inputs["weights"] = self.files(spec.sources, "weights")
        inputs["weight_records"] = self.files(spec.sources, "run.json")
        choices = [spec.choice] if spec.choice else []
        inputs["choice"] = self.files(choices, "run.json")
        if action.census:
            inputs["census"] = [self.project.census(run.data_set)]
        # Features of all runs, each file once.
        for each_run, each_spec in specs.items():
            features = task.features(action_name, each_run, each_spec)
            for role, files in features.items():
                paths = [*inputs.get(role, []), *files]
                inputs[role] = list(dict.fromkeys(paths))
        inputs |= self._sources(run, spec)
        return inputs

    def _settings(self, action_name: str, specs: Mapping[Run, Spec]) -> Params:
        """Return the settings of the only run, or, for the action of a ranking,
        {condition: settings of its run}.
        """
        run, spec = next(iter(specs.items()))
        ranks = _ranks(self.tasks[run.data_set])
        if not ranks or action_name in SINGLE_RUN_ACTIONS:
            return self.project.identified(spec.settings)
        by_condition = {}
        for each_run, each_spec in specs.items():
            settings = self.project.identified(each_spec.settings)
            by_condition[each_run.condition] = settings
        return by_condition

    def _task_values(self, action_name: str, run: Run) -> Params:
        """Return what an action is given of its task: fields of the registry's task
        (`TaskJobs.fields`) and computed values (`TaskJobs.values`).
        """
        task = self.tasks[run.data_set]
        fields = task.fields(task.ACTIONS[action_name])
        values = task.values(action_name, self.spec(run), self.project.specs)
        return {**fields, **values}

    def files(self, runs: Iterable[Run], name: str) -> Files:
        """Return the paths of a file of several runs."""
        return [self.file(run, name) for run in runs]

    def _sources(self, run: Run, spec: Spec) -> dict[str, Files]:
        """Return the published files that a run reads."""
        if run.experiment == "release":
            archive = f"{self.project.results}/sources/{spec.settings['file']}"
            return {"archive": [archive]}
        if run.experiment == "pretrain":
            if self.project.config.data == "release":
                return {"contracts": edgar_contracts(self.project)}
            return {"contracts": self.project.tables(run.data_set, "contracts")}
        return {}

    @property
    def released_files(self) -> Files:
        """The published files of authors' weights that planned runs unpack."""
        files = []
        for run, spec in self.project.specs.items():
            if run.experiment == "release":
                files += self._sources(run, spec)["archive"]
        return files

    def score(self, run: Run) -> PlannedJob:
        """Return the job that scores the predictions of a run."""
        spec = self.spec(run)
        task = self.tasks[run.data_set]
        action = task.ACTIONS["score"]
        inputs = {
            "data": task.tables(action),
            "predictions": [self.file(run, "predictions.parquet")],
        }
        if action.census:
            inputs["census"] = [self.project.census(run.data_set)]
        inputs |= task.features("score", run, spec)
        params = {
            "part": "",
            "settings": {},
            "task": self._task_values("score", run),
            "experiment": run.experiment,
        }
        return PlannedJob(action, inputs, params)

    @property
    def vectors(self) -> str:
        """The folder of cached vectors.

        It is no output of a rule, and can be deleted at any time.
        """
        return f"{self.project.results}/work/vectors"

    @property
    def asking(self) -> Params:
        """The cache and the limits of jobs that ask language models.

        ``kept`` is the folder of cached answers, and ``limits`` are limits on spending
        and on the rate of requests.
        """
        config = self.project.config
        limits = {
            "dollars": config.llm_budget,
            "tokens": config.llm_tokens,
            "concurrency": config.llm_concurrency,
            "requests_a_minute": config.llm_requests_a_minute,
        }
        return {"kept": f"{self.project.results}/work/calls", "limits": limits}


def _ranks(task: TaskJobs) -> bool:
    """Whether a task has rankings, whose jobs can make several runs."""
    return isinstance(task, RetrievalJobs)


def ranking_rules(
    specs: Mapping[Run, Spec], datasets: Iterable[str]
) -> list[RankingRule]:
    """Return the rules of the systems of these data sets that are not trained here.

    Systems of one kind whose runs have the same conditions share a rule.
    """
    # {(data set, experiment, kind, model): the conditions of the system's runs}.
    conditions: dict[tuple[str, str, str, str], list[str]] = {}
    for run, spec in specs.items():
        if run.experiment in RANKING and run.data_set in datasets:
            kind = spec.settings["kind"].replace("-", "_")
            system = (run.data_set, run.experiment, kind, run.model)
            conditions.setdefault(system, []).append(run.condition)
    # {(data set, experiment, kind, conditions): the models of a rule}.
    models: dict[tuple[str, str, str, tuple[str, ...]], list[str]] = {}
    for (dataset, experiment, kind, model), names in conditions.items():
        parts = (dataset, experiment, kind, tuple(names))
        models.setdefault(parts, []).append(model)
    rules = []
    rules_of_kind: Counter[str] = Counter()
    for parts, systems in sorted(models.items()):
        dataset, experiment, kind, shared_conditions = parts
        kind_name = f"{dataset}_{experiment}_{kind}"
        name = kind_name
        # Systems of one kind with other conditions have another rule, with a number.
        number = rules_of_kind[kind_name]
        if number:
            name = f"{kind_name}_{number}"
        rules_of_kind[kind_name] += 1
        rule = RankingRule(
            name, dataset, experiment, tuple(sorted(systems)), shared_conditions
        )
        rules.append(rule)
    return rules
