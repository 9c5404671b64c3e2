"""Estimates of time, memory and downloads for each job in Snakemake's graph of jobs.

The target `plan` shows them.  The progress bar of a run computes its remaining time
from `Estimates.expected`.
"""

import csv
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from snakemake.logging import logger

from lextables.models.resolve import Model
from lextables.models.weights import NLTK, place
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.pipeline.version import snakemake_path
from lextables.planning.feature_jobs import FeatureJobs
from lextables.planning.job_resources import RECORDS, JobResources, requests_gpu
from lextables.planning.jobs import Jobs
from lextables.planning.project import HUB, Project
from lextables.planning.rule_values import Values
from lextables.planning.scripts import any_of
from lextables.planning.snakemake_interface import SnakemakeRun, is_graph_complete
from lextables.planning.verdicts import decidable
from lextables.sources.entries import PUBLISHED, resolve
from lextables.sources.fetch import mirror_file
from lextables.tables.published import PublishedCell, load
from lextables.tasks.planner import Spec
from lextables.tasks.resources import VOLUME_MARGIN, Work

if TYPE_CHECKING:
    from lextables.report.costs import Job

PLAN = "plan"  # the target
VOLUME_BYTES = 847_678  # mean size of 180 zips with a volume of U.S. Reports
SECONDS_OF_MINUTE = 60
WEIGHT_BYTES = 4  # of a parameter, as weights are published
# What follows the data set in the names of rules, such as `acord_retrieve_bm25`.
STEPS = r"data|ask|(?:ask|retrieve|rerank)_[a-z_]+?"
TABLE_RULES = ("table", "figure")
Kind = tuple[str, str, str]  # see `Estimates.kind`


@dataclass(frozen=True)
class Estimates:
    """Estimates for the jobs of a command.

    ``planned`` are the jobs of all runs, and ``shards`` are {shard of case law: its
    volumes}.  A ``job`` in the methods is one of Snakemake's graph.
    """

    planned: Jobs
    shards: Mapping[str, Sequence[str]]

    @property
    def project(self) -> Project:
        """The project of the jobs."""
        return self.planned.project

    @property
    def resources(self) -> JobResources:
        """The resources of the jobs."""
        return self.planned.resources

    @cached_property
    def _run_in(self) -> dict[str, Run]:
        """{folder of a run: the run}, for all planned runs."""
        results = self.project.results
        return {f"{results}/{run.folder}": run for run in self.project.specs}

    @cached_property
    def _rule_of_data_set(self) -> re.Pattern[str]:
        """Names of rules that are generated in a loop, one per data set."""
        names = any_of(self.project.paper_of)
        return re.compile(rf"(?P<dataset>{names})_(?P<step>{STEPS})(_\d+)?")

    @property
    def _records(self) -> Path:
        return self.project.context.root / RECORDS

    def kind(self, job: Any) -> Kind:
        """Return rule, data set and model of a job, as in resources/costs/records.csv.

        The name of the rule is without that of the data set.  For a job without a data
        set, the second item is its paper or source, else empty; for a job without a
        model, the third is its encoder, else empty.
        """
        wildcards = dict(job.wildcards.items())
        step = job.rule.name
        names = [wildcards.get(name) for name in ("dataset", "paper", "source")]
        generated = self._rule_of_data_set.fullmatch(step)
        if generated:
            step = generated["step"]
            names.insert(0, generated["dataset"])
        dataset = next(filter(None, names), "")
        model = wildcards.get("model") or wildcards.get("encoder") or ""
        return step, dataset, model

    def expected(self, run: SnakemakeRun) -> dict[int, Values]:
        """Return {number of a job that is to run: its estimate}.

        `seconds` is the time on one core: the median of the records of the same rule,
        data set and model, else of the rule, else of all, and at least a second.
        `guessed` says that there is no record of the same rule, data set and model.
        `threads` are those of the job, and `before` has the numbers of the jobs that it
        depends on.
        """
        records = self._recorded_seconds()
        to_run = {job.jobid for job in run.jobs_to_run}
        expected: dict[int, Values] = {}
        for job, before in run.jobs_with_dependencies():
            if job.is_norun or job.jobid not in to_run:
                continue
            kind = self.kind(job)
            recorded_seconds = records.get(kind) or records.get(kind[:1]) or records[()]
            expected[job.jobid] = {
                "seconds": max(1.0, median(recorded_seconds)),
                "threads": job.threads,
                "before": tuple(other.jobid for other in before),
                "guessed": kind not in records,
            }
        return expected

    def _recorded_seconds(self) -> Mapping[tuple[str, ...], list[float]]:
        """{kind of jobs: the seconds of each record}.

        Only records of jobs without a GPU, and with the same config key ``data``,
        count.  A record counts for three kinds: (rule, data set, model), (rule,) and ()
        for all jobs.
        """
        seconds: dict[tuple[str, ...], list[float]] = defaultdict(list)
        with self._records.open(encoding="utf-8", newline="") as file:
            records = list(csv.DictReader(file))
        for record in records:
            if record["data"] != self.project.config.data or record["device"]:
                continue
            kind = record["rule"], record["dataset"], record["model"]
            value = float(record["seconds"])
            seconds[kind].append(value)
            seconds[kind[:1]].append(value)
            seconds[()].append(value)
        return dict(seconds)

    def transferred(self, job: Any) -> tuple[int, int | None]:
        """Return the bytes of published files that a job copies or downloads.

        The second number is the bytes that it downloads, None if unknown.
        """
        if job.rule.name == "fetch_source":
            return self._source_bytes(job.wildcards.source, job.wildcards.file)
        if job.rule.name == "caselaw_volumes":
            return self._volume_bytes(self.shards[job.wildcards.shard])
        return 0, 0

    def _source_bytes(self, source: str, file: str) -> tuple[int, int | None]:
        """The bytes of a source file, and what is downloaded of it."""
        project = self.project
        registered = resolve(project.sources, source, file)
        allowed = registered.variants_for(project.config.data)
        sizes = []
        for candidate in registered.among(allowed):
            if candidate.size is not None:
                sizes.append(candidate.size)
        size = max(sizes, default=None)
        if mirror_file(registered, project.context.mirrors, allowed):
            return size or 0, 0
        return size or 0, size

    def _volume_bytes(self, volumes: Sequence[str]) -> tuple[int, int]:
        """The bytes of volumes of case law, and the bytes of those volumes that are in
        no mirror.
        """
        present = set()
        for mirror in self.project.context.mirrors:
            for volume in volumes:
                if (mirror / f"caselaw/{volume}.zip").is_file():
                    present.add(volume)
        missing = len(volumes) - len(present)
        return VOLUME_BYTES * len(volumes), VOLUME_BYTES * missing

    def downloads_of(self, weights: Iterable[Values]) -> dict[str, int | None]:
        """Return {location: bytes} of the weights that must be downloaded from the hub;
        None: unknown.

        ``weights`` are the settings of weights (`weights_of`).
        """
        models = self.project.context.models
        downloads = {}
        for settings in weights:
            location = str(settings.get("weights", ""))
            origin = str(settings.get("found", ""))
            is_nltk = location.startswith(NLTK)
            # On the hub a model is <owner>/<name>.
            is_from_hub = origin.startswith(HUB) and (
                is_nltk or location.count("/") == 1
            )
            path = self.project.weight_paths.get(location, {})
            is_here = "folder" in path or (is_nltk and place(location))
            if is_from_hub and not is_here:
                model = models.get(settings.get("model", ""))
                downloads[location] = _published_bytes(model)
        return downloads

    def jobs(self, run: SnakemakeRun) -> "list[Job]":
        """Return every job of the graph except targets."""
        # Loads pandas, which the process of Snakemake needs for this target only.
        from lextables.report import costs

        to_run = set(run.jobs_to_run)
        numbers: dict[Any, int] = {}  # {job: its place in the graph's order}
        # {job: {job that fetches a published file: the file's bytes}}, of all files
        # that it depends on.
        sizes: dict[Any, dict[Any, int]] = {}
        # {job: whether all published files that it depends on are the paper's}.
        is_comparable: dict[Any, bool] = {}
        published_data_sets = set()  # data sets whose files are the paper's
        estimated_jobs = []
        for job, before in run.jobs_with_dependencies():
            # What depends on the jobs before this one.
            numbers[job] = len(numbers)
            size, download = self.transferred(job)
            sizes[job] = {job: size} if size else {}
            for other in before:
                sizes[job].update(sizes[other])
            is_comparable[job] = self._is_comparable(job)
            for other in before:
                is_comparable[job] &= is_comparable[other]
            if job.is_norun:  # a target
                continue
            for output in map(Path, job.output):
                if output.name == "census.json" and is_comparable[job]:
                    published_data_sets.add(output.parent.name)
            # What this job makes itself.
            step, dataset, model = self.kind(job)
            runs = self._runs_of(job)
            specs = [self.project.specs[run] for run in runs]
            on_gpu = requests_gpu(job.resources)
            table = None
            verdicts = 0
            if step in TABLE_RULES:
                table = (job.wildcards.paper, job.wildcards.table)
                verdicts = self._verdicts(*table, published_data_sets)
            estimated = costs.Job(
                number=numbers[job],
                rule=step,
                runs=job in to_run,
                dataset=dataset,
                model=model,
                before=tuple(sorted(numbers[other] for other in before)),
                table=table,
                verdicts=verdicts,
                gpu=on_gpu,
                gpu_seconds=self._gpu_seconds(job, runs) if on_gpu else 0.0,
                published=sum(sizes[job].values()),
                download=download,
                weights=self.downloads_of(weights_of(job, specs)),
                mem_mb=int(job.resources.get("mem_mb") or 0),
                minutes=int(job.resources.get("runtime") or 0),
                trained=self._trained_bytes(job, specs),
                log=str(next(iter(job.log), "")),
                outputs=tuple(map(str, job.output)),
            )
            estimated_jobs.append(estimated)
        return estimated_jobs

    def _is_comparable(self, job: Any) -> bool:
        """Whether results from a job's published files are comparable with the
        paper's.
        """
        if job.rule.name == "caselaw_volumes":
            return False  # volumes have no registered digest
        if job.rule.name != "fetch_source":
            return True
        project = self.project
        source = job.wildcards.source
        file = job.wildcards.file
        registered = resolve(project.sources, source, file)
        allowed = registered.variants_for(project.config.data)
        candidates = registered.among(allowed)
        mirrored = mirror_file(registered, project.context.mirrors, allowed)
        if mirrored is None:
            # The published file will be downloaded.
            published = (each for each in candidates if each.variant in PUBLISHED)
            return all(candidate.comparable for candidate in published)
        # A file in a mirror is recognised by its name and size, without its digest.
        size = mirrored.stat().st_size
        for candidate in candidates:
            is_its_name = mirrored.match(f"{source}/{candidate.named}")
            if is_its_name and candidate.size in (None, size):
                return candidate.comparable
        return False  # the job that fetches it will report an unregistered file

    @cached_property
    def _published(self) -> Mapping[tuple[str, str], list[PublishedCell]]:
        """{paper and table: its published cells}."""
        cells: dict[tuple[str, str], list[PublishedCell]] = defaultdict(list)
        for paper in self.project.plans:
            for cell in load(self.project.published_values(paper)):
                cells[paper, cell.table].append(cell)
        return cells

    def _verdicts(self, paper: str, table: str, published_data_sets: Set[str]) -> int:
        """How many published scores of a table can get a verdict.

        ``published_data_sets`` are those whose files are the paper's.
        """
        data_set = self.project.papers[paper].tables[table].of or paper
        if data_set not in published_data_sets:
            return 0
        cells = self._published.get((paper, table), [])
        return decidable(cells, self.project.plans[paper].rows.get(table, []))

    def _runs_of(self, job: Any) -> list[Run]:
        """The runs that a job makes, sorted by folder.

        They are recognised by their `run.json`, because scoring also writes into the
        folder of a run.
        """
        records = [path for path in job.output if path.endswith("run.json")]
        folders = sorted({str(Path(path).parent) for path in records})
        return [self._run_in[folder] for folder in folders if folder in self._run_in]

    def _gpu_seconds(self, job: Any, runs: Sequence[Run]) -> float:
        """The estimated seconds of a job on a GPU."""
        work: Work | None
        if runs:
            work = self.resources.sizes.work(runs)
        elif hasattr(job.wildcards, "encoder"):
            work = FeatureJobs(self.planned).vector_job(job.wildcards).work()
        else:
            work = None
        if work is None:  # a job over case law, which requests time by the volumes
            return SECONDS_OF_MINUTE * job.resources["runtime"] / VOLUME_MARGIN
        return self.resources.seconds(work)

    def _trained_bytes(self, job: Any, specs: Sequence[Spec]) -> int | None:
        """The bytes of the trained weights that a job keeps; None if it keeps no
        transformer.
        """
        names = [Path(output).name for output in job.output]
        if "weights" not in names or not requests_gpu(job.resources):
            return None
        return WEIGHT_BYTES * sum(map(self.resources.sizes.parameters, specs))

    def write_plan(self, run: SnakemakeRun) -> str:
        """Write the plan into the results folder, and return its text for the
        screen.
        """
        from lextables.report import costs

        data = self.project.config.data
        jobs = self.jobs(run)
        records = costs.load_records(self._records)
        estimated = costs.estimates(jobs, data, records)
        lines = costs.summary(jobs, estimated)
        text = costs.text(lines, estimated)
        folder = Path(self.project.results) / PLAN
        finished = costs.records(jobs, data)
        where = costs.write(folder, lines, estimated, finished)
        return f"{text}\n{where}"


class PlanScreen(logging.Handler):
    """Prints the plan once Snakemake has the graph of its jobs."""

    def __init__(self, estimates: Estimates, run: SnakemakeRun) -> None:
        super().__init__()
        self.estimates = estimates
        self.run = run

    def emit(self, record: logging.LogRecord) -> None:
        """Print the plan once, after the message with the numbers of jobs."""
        if is_graph_complete(record):
            print(self.estimates.write_plan(self.run), flush=True)
            logger.removeHandler(self)


def targets_of_plan(run: SnakemakeRun, default: Sequence[str]) -> Sequence[str]:
    """Return the inputs of the target `plan`, which bring jobs into Snakemake's graph.

    They are ``default`` if `plan` is the only target.  If the command has other targets
    there are none, because these bring their own jobs.  Raises `BadInput` if the
    command would run jobs.
    """
    if not run.is_dry_run:
        raise BadInput(
            "a plan needs a dry run",
            where=f"target {PLAN}",
            do=f"run {snakemake_path()} -n {PLAN}",
        )
    return [] if run.targets - {PLAN} else default


def weights_of(job: Any, specs: Iterable[Spec]) -> list[Values]:
    """Return the settings of the weights that a job loads.

    ``specs`` are those of the runs that the job makes.  A job that makes no run may
    load an encoder or a parser, whose settings are among its params.
    """
    weights: list[Values] = [spec.settings for spec in specs]
    for name in ("encoder", "parser"):
        settings = job.params.get(name)
        if isinstance(settings, Mapping):
            weights.append(settings)
    return weights


def _published_bytes(model: Model | None) -> int | None:
    if model is None or not model.parameters:
        return None
    return WEIGHT_BYTES * model.parameters
