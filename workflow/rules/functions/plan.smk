# What a plan says of each job of Snakemake's graph.

import re

from lextables.command_line import snakemake_path
from lextables.costs import estimate, flops
from lextables.costs import model as cost_model
from lextables.costs import texts as cost_texts
from lextables.costs.planned import Job
from lextables.models.limits import Limits
from lextables.models.spending import load_prices
from lextables.sources.fetch import in_mirror

COSTS = ROOT / "resources/costs"


def planned(wildcards):
    """What is planned where no other target stands beside `plan`; `BadInput` where it would be run."""
    if not workflow.dryrun:
        raise BadInput("a plan runs nothing", where="target plan", do=f"say {snakemake_path()} -n plan")
    others = set(workflow.dag_settings.targets) - {"plan"}
    return [] if others else rules.all.input


RUN_IN = {f"{RESULTS}/{run.folder}": run for run in SPECS}


@cache
def size_of(source, file):
    """The bytes of a source file, None where no registry knows them; and whether a mirror has it."""
    wanted = sources.resolve(SOURCES, source, file)
    allowed = wanted.variants_for(CONFIG.data)
    sizes = [candidate.size for candidate in wanted.among(allowed) if candidate.size is not None]
    return max(sizes, default=None), in_mirror(wanted, CONFIG.mirrors(ROOT), allowed)


def transferred(job, estimates):
    """The published bytes that a job brings here, and those that a network sends (None: not known)."""
    if job.rule.name == "fetch_source":
        size, here = size_of(job.wildcards.source, job.wildcards.file)
        return size or 0, 0 if here else size
    if job.rule.name == "caselaw_volumes":
        volumes = VOLUMES[job.wildcards.shard]
        missing = [name for name in volumes if not in_mirrors(f"caselaw/{name}.zip")]
        volume = estimates.model.volume
        return volume * len(volumes), volume * len(missing)
    return 0, 0


def in_mirrors(file):
    return any((mirror / file).is_file() for mirror in CONFIG.mirrors(ROOT))


def estimator():
    """The model of cost with the sizes of this configuration's data."""
    volumes = sum(map(len, globals().get("VOLUMES", {}).values()))
    limits = Limits(CONFIG.llm_budget, CONFIG.llm_tokens)
    return estimate.Estimator(
        cost_model.load(COSTS),
        cost_texts.load(COSTS / "texts.csv", CONFIG.data, volumes),
        load_prices(),
        limits,
        {name: model.parameters for name, model in MODELS.items()},
    )


# Rules that are made in a loop, each of one data set.
MADE = re.compile(rf"(?:{any_of(PAPER_OF)})_(data|ask|retrieve_[a-z]+|rerank(?:_[a-z]+)?)(?:_\d+)?")


def short_name(job):
    """The name of a job's rule, without the data set's where the rule is made for it in a loop."""
    made = MADE.fullmatch(job.rule.name)
    return made[1] if made else job.rule.name


def dataset_of(job):
    """The data set that a job is about, or the paper; empty where it is about neither."""
    named = dict(job.wildcards.items())
    made = re.match(rf"({any_of(PAPER_OF)})_data$", job.rule.name)
    return named.get("dataset") or named.get("paper") or named.get("source") or (made[1] if made else "")


def step_of(run):
    """A run as its cost goes by it: with the model whose weights it starts from or reads."""
    entry = SPECS[run]
    source = entry
    while "model" not in source.settings and source.sources:
        source = SPECS[source.sources[0]]
    trials = SPECS[entry.choice].settings.get("trials", []) if entry.choice else []
    return flops.Step(run.paper, entry.settings, running(source.settings.get("model", "")), trials)


def running(model):
    """The model that runs under this name: on the sample's data what stands in for it."""
    known = MODELS.get(model)
    return known.stand_in if known and known.stand_in and CONFIG.data == "sample" else model


def steps_of(job):
    """The runs in which a job reads, trains or asks a model, or what it encodes; none of any other job."""
    if short_name(job) not in {*flops.LOADS, *flops.CALLS}:
        return []
    folders = {str(Path(output).parent) for output in job.output}
    found = [step_of(RUN_IN[folder]) for folder in sorted(folders & RUN_IN.keys())]
    named = dict(job.wildcards.items())
    if not found and "encoder" in named:
        given = {"max_length": int(named.get("length", flops.PIECE))}
        found = [flops.Step(named["dataset"], given, running(named["encoder"]))]
    return found


def planned_jobs():
    """Every job of the graph but targets, what is to run with what it is expected to take."""
    dag, estimates = workflow.dag, estimator()
    asked = set(dag.needrun_jobs())
    order = [job for level in dag.toposorted() for job in sorted(level, key=lambda job: str(job.output))]
    numbers = {job: number for number, job in enumerate(order)}
    brought, found = {}, []
    for job in order:
        size, sent = transferred(job, estimates)
        before = dag.dependencies[job]
        brought[job] = {job: size} if size else {}
        for one in before:
            brought[job] |= brought[one]
        name, steps = short_name(job), steps_of(job)
        published, on_gpu = sum(brought[job].values()), bool(job.resources.get("gpu"))
        # Of a target no job comes, but tables stand before it.
        if job.is_norun:
            continue
        found.append(
            Job(
                numbers[job],
                name,
                job in asked,
                dataset_of(job),
                before=tuple(sorted(numbers[one] for one in before)),
                table=(job.wildcards.paper, job.wildcards.table) if name in ("table", "figure") else None,
                on_gpu=on_gpu,
                fetched=sent,
                weights=estimates.fetched(steps, WEIGHTS_HERE),
                benchmark=str(job.benchmark or ""),
                outputs=tuple(map(str, job.output)),
                published=published,
                **estimates.job(name, steps, published, on_gpu, job.output),
            )
        )
    return found


PLAN_NOTES = """\
In brackets: eight of ten jobs were off by no more, and all are taken to be off the same way (docs/costs.md).
Hours of a GPU are reckoned from operations and an assumed share of a card's rate; none was measured.
What stands already is not counted.  Jobs that several lines share stand in each, and once in the last."""
