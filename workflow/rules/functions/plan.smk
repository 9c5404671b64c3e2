# Costs of each job of Snakemake's graph, for `snakemake plan`.

import csv
import logging
import re
from collections import defaultdict
from statistics import fmean

from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake_interface_logger_plugins.common import LogEvent
from lextables.pipeline.version import snakemake_path
from lextables.sources.fetch import in_mirror

VOLUME_BYTES = 847_678  # a volume of case law as a zip: the mean of 180 of U.S. Reports
WEIGHT_BYTES = 4  # of a parameter, as weights are published
# Rules generated in a loop, one per data set.
OF_DATASET = re.compile(
    rf"(?P<dataset>{any_of(PAPER_OF)})_(?P<step>data|ask|retrieve_[a-z]+|rerank[a-z_]*)(_\d+)?"
)
RUN_IN = {f"{RESULTS}/{run.folder}": run for run in SPECS}


def planned(wildcards):
    """The targets of a plan: the other targets of the command, by default all; `BadInput` without a dry run."""
    if not workflow.dryrun:
        raise BadInput(
            "a plan needs a dry run",
            where="target plan",
            do=f"run {snakemake_path()} -n plan",
        )
    others = set(workflow.dag_settings.targets) - {"plan"}
    return [] if others else rules.all.input


@cache
def size_of(source, file):
    """The size of a source file in bytes (None: not registered), and whether a mirror has it."""
    wanted = sources.resolve(SOURCES, source, file)
    allowed = wanted.variants_for(CONFIG.data)
    sizes = [
        candidate.size
        for candidate in wanted.among(allowed)
        if candidate.size is not None
    ]
    return max(sizes, default=None), in_mirror(wanted, CONFIG.mirrors(ROOT), allowed)


def transferred(job):
    """The bytes of published files that a job copies or downloads, and the bytes it downloads (None: unknown)."""
    if job.rule.name == "fetch_source":
        size, here = size_of(job.wildcards.source, job.wildcards.file)
        return size or 0, 0 if here else size
    if job.rule.name == "caselaw_volumes":
        volumes = VOLUMES[job.wildcards.shard]
        mirrors = CONFIG.mirrors(ROOT)
        missing = [
            v
            for v in volumes
            if not any((mirror / f"caselaw/{v}.zip").is_file() for mirror in mirrors)
        ]
        return VOLUME_BYTES * len(volumes), VOLUME_BYTES * len(missing)
    return 0, 0


def downloads_of(specs):
    """{hub id: bytes} of the weights of these runs that are not on this machine."""
    found = {}
    for settings in (spec.settings for spec in specs):
        place = str(settings.get("weights", ""))
        if (
            str(settings.get("found", "")).startswith("hub")
            and place.count("/") == 1
            and "folder" not in WEIGHT_PATHS.get(place, {})
        ):
            model = MODELS.get(settings.get("model", ""))
            found[place] = (
                WEIGHT_BYTES * model.parameters if model and model.parameters else None
            )
    return found


def gpu_hours(job, folders):
    """The estimated hours of a job's runs on a GPU; 0 without a GPU."""
    runs = [RUN_IN[folder] for folder in sorted(folders & RUN_IN.keys())]
    return (
        resources.hours(estimator().work(runs), GPU)
        if runs and job.resources.get("gpu")
        else 0.0
    )


def trained_bytes(job, specs):
    """The bytes of the trained weights that a job keeps; None if it keeps none, or they are no transformer's."""
    names = [Path(output).name for output in job.output]
    if "weights" not in names or not job.resources.get("gpu"):
        return None
    return sum(WEIGHT_BYTES * estimator().parameters(spec) for spec in specs)


def kind(job):
    """The rule, data set and model of a job, as in resources/costs/records.csv."""
    named, made = dict(job.wildcards.items()), OF_DATASET.fullmatch(job.rule.name)
    step = made["step"] if made else job.rule.name
    dataset = made["dataset"] if made else named.get("dataset", "")
    dataset = dataset or named.get("paper") or named.get("source") or ""
    return step, dataset, named.get("model") or named.get("encoder") or ""


def expected_seconds(jobs):
    """{job: seconds of a core, a second at least}, from records of the same rule, data set and model, else of the
    rule, else of all; and the jobs without records of their data set and model.
    """
    seconds = defaultdict(list)
    with (COSTS / "records.csv").open(encoding="utf-8", newline="") as file:
        for record in csv.DictReader(file):
            if record["data"] == CONFIG.data:
                names = record["rule"], record["dataset"], record["model"]
                for known in (names, names[:1], ()):
                    seconds[known].append(float(record["seconds"]))
    like = {
        job.jobid: (kind(job), kind(job)[:1], ()) for job in jobs if not job.is_norun
    }
    expected = {
        number: max(
            1.0, fmean(next(seconds[names] for names in choices if names in seconds))
        )
        for number, choices in like.items()
    }
    return expected, {
        number for number, (names, *_) in like.items() if names not in seconds
    }


def planned_jobs(costs):
    """Every job of the graph except targets, with its size and cost."""
    dag = workflow.dag
    to_run = set(dag.needrun_jobs())
    order = [
        job
        for level in dag.toposorted()
        for job in sorted(level, key=lambda job: str(job.output))
    ]
    numbers = {job: number for number, job in enumerate(order)}
    brought, found = {}, []
    for job in order:
        size, download = transferred(job)
        before = dag.dependencies[job]
        brought[job] = {job: size} if size else {}
        for other in before:
            brought[job] |= brought[other]
        if job.is_norun:  # a target
            continue
        step, dataset, model = kind(job)
        # Scoring writes into the folder of a run too.
        folders = {
            str(Path(output).parent)
            for output in job.output
            if output.endswith("run.json")
        }
        specs = [SPECS[RUN_IN[folder]] for folder in sorted(folders & RUN_IN.keys())]
        found.append(
            costs.Job(
                numbers[job],
                step,
                job in to_run,
                dataset,
                model,
                before=tuple(sorted(numbers[other] for other in before)),
                table=(
                    (job.wildcards.paper, job.wildcards.table)
                    if step in ("table", "figure")
                    else None
                ),
                gpu=bool(job.resources.get("gpu")),
                published=sum(brought[job].values()),
                download=download,
                weights=downloads_of(specs),
                mem_mb=int(job.resources.get("mem_mb") or 0),
                minutes=int(job.resources.get("runtime") or 0),
                gpu_hours=gpu_hours(job, folders),
                trained=trained_bytes(job, specs),
                benchmark=str(job.benchmark or ""),
                outputs=tuple(map(str, job.output)),
            )
        )
    return found


def plan_text():
    """Write the plan into the results folder, and return its text for the screen."""
    from lextables.report import costs  # loads pandas, which no other run needs

    jobs = planned_jobs(costs)
    estimated = costs.estimates(
        jobs, CONFIG.data, costs.load_records(COSTS / "records.csv")
    )
    lines = costs.summary(jobs, estimated)
    where = costs.write(
        Path(RESULTS) / "plan", lines, estimated, costs.records(jobs, CONFIG.data)
    )
    return f"{costs.text(lines, estimated)}\n{where}"


class PlanScreen(logging.Handler):
    """Prints the plan once Snakemake has its graph of jobs."""

    def emit(self, record):
        if (
            getattr(record, "event", None) is LogEvent.RUN_INFO
            or record.msg == NOTHING_TO_BE_DONE_MSG
        ):
            print(plan_text(), flush=True)
            logger.removeHandler(self)
