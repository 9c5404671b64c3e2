# Used by the other files of this folder: the checked config, the plans of the papers, fingerprints of code.
#
#   in    config.yaml, resources/papers/*.yaml, resources/models.yaml, resources/sources.yaml

import hashlib
import json
import math
import os
import signal
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

# Relative to the working folder, so that a project can be moved together with its results.
PROJECT_PATH = Path(os.path.relpath(ROOT.resolve()))
# False in jobs, and where another workflow uses this one as a module.
STANDALONE = (
    workflow.is_main_process and Path(os.path.abspath(workflow.basedir)) == ROOT
)
# Jobs are new processes, maybe on other nodes, and find the package through the environment.
sys.path.insert(0, str(ROOT / "workflow"))
# Only warnings and errors of libraries go to the logs; progress is logged every ten seconds.
os.environ.update(
    PYTHONPATH=os.pathsep.join(
        filter(None, [str(ROOT / "workflow"), os.environ.get("PYTHONPATH")])
    ),
    TOKENIZERS_PARALLELISM="false",
    TRANSFORMERS_VERBOSITY="error",
    HF_HUB_DISABLE_PROGRESS_BARS="1",
    TQDM_MININTERVAL="10",
    # Python's name of the user, where the system has no name for the user's number, as in a container.
    USER=os.environ.get("USER") or str(os.getuid()),
)
# Batches have many shapes: with fixed segments, freed GPU memory is often too small for the next one.
os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")
if {*"{}"} & {*str(ROOT)}:
    sys.exit(
        f"{ROOT}: Snakemake reads braces in the project's path as wildcards; rename or move the folder."
    )


def announce_stop(number):
    """Tell the screen that the run was stopped: jobs that end from now on are no failures."""
    logger.error(
        STOPPED, extra={"event": LogEvent.ERROR, "exception": "KeyboardInterrupt"}
    )
    if number == signal.SIGTERM:
        logger.warning(
            "Stopping when the running jobs have finished; Ctrl-C ends them too."
        )


try:
    from lextables.pipeline.stopping import PREFIX, STOPPED, Stopping

    if STANDALONE:
        shell.prefix(PREFIX)
        stopping = Stopping(announce_stop, remote=not workflow.local_exec)
    from lextables.papers import modules, packages, planning, submitted, trained_on
    from lextables.pipeline import user_rows, version
except ModuleNotFoundError as error:
    sys.exit(
        f"this Python ({sys.executable}) has no {error.name}; run .venv/bin/snakemake, which make run installs."
    )

from lextables.pipeline.config import load as load_config
from lextables.pipeline.content import Contents, sha256_of
from lextables.pipeline.errors import BadInput
from lextables.pipeline import registry
from lextables.pipeline.files import read_json
from lextables.pipeline.fingerprint import Code, load_cache, save_cache
from lextables.models import device, inspection
from lextables.models.resolve import API, MIRROR, load_models, places
from lextables.models.files import model_files
from lextables.models.weights import PACKAGE, PLACES, place
from lextables.pipeline.run import Run, versions
from lextables.sources import registry as sources
from lextables.sources.fetch import Provenance, content_key
from lextables.corpora.caselaw.ingest import FetchedVolumes
from lextables.tables import published
from lextables.tasks import requests, resources
from lextables.tasks.submitted import PLACES as SUBMITTED_PLACES
from lextables.tasks.plan import Context

COSTS = ROOT / "resources/costs"
ENVIRONMENT = str(ROOT / "envs/lextables.yaml")
PAPER_FILES = {
    path.stem: str(path)
    for path in sorted((PROJECT_PATH / "resources/papers").glob("*.yaml"))
}
# Relative to the project, because they are a param: another place of the project must not trigger reruns.
SOURCE_REGISTRIES = [
    "resources/sources.yaml",
    *(f"resources/papers/{name}.yaml" for name in PAPER_FILES),
]


def or_exit(build, *arguments):
    """Return ``build(*arguments)``; `BadInput` ends the run with its message."""
    try:
        return build(*arguments)
    except BadInput as error:
        sys.exit(str(error))


# The config of a host workflow may lack keys.
DEFAULTS = or_exit(registry.mapping, ROOT / "config.yaml")


configfile: str(ROOT / "config.yaml")


CONFIG = or_exit(load_config, DEFAULTS | config, sorted(PAPER_FILES), ROOT)
SOURCES = or_exit(sources.load, *(PROJECT_PATH / name for name in SOURCE_REGISTRIES))
MODELS = or_exit(load_models, ROOT / "resources/models.yaml")
GPU = or_exit(device.expected, CONFIG.device)
CONTENTS = Contents(Path(CONFIG.results) / ".cache")
PARSED_MODULES = Path(CONFIG.results) / ".cache/modules.json"
load_cache(PARSED_MODULES)
CODE = Code()
# Passed to jobs through the environment, not params: moving weights must not trigger reruns.
WEIGHT_PATHS = or_exit(places, CONFIG, MODELS, CONFIG.mirrors(ROOT))
os.environ[PLACES] = json.dumps(WEIGHT_PATHS)
PAPERS = or_exit(packages.load_all, PAPER_FILES)


or_exit(trained_on.check, CONFIG, MODELS, PAPERS)

# {auxiliary data set that is not available: the reason}.
ABSENT = or_exit(planning.absent_data, CONFIG, PAPERS, SOURCES, ROOT)


def check_user_names():
    """Raise `BadInput` if a user's row has the name of a row or a model of the papers."""
    taken = list(MODELS)
    for paper, entry in PAPERS.items():
        printed = published.load(PROJECT_PATH / f"resources/published/{paper}.csv")
        # In some tables models are the columns.
        taken += user_rows.printed(
            sorted({name for cell in printed for name in (cell.row, cell.column)})
        )
        taken += user_rows.rows_of(entry.model_dump())
    without = CONFIG.model_copy(update={"extra_models": ()})
    for paper in CONFIG.papers:
        plan = planning.plan(
            PAPERS[paper], Context(without, MODELS, ROOT, GPU, absent=ABSENT)
        )
        taken += user_rows.rows_of(list(plan.rows.values()))
    for key in ("extra_models", "extra_predictions"):
        user_rows.check_free((extra.name for extra in getattr(CONFIG, key)), taken, key)


if CONFIG.extra_models or CONFIG.extra_predictions:
    or_exit(check_user_names)

# Paths of submitted predictions are passed like those of weights.
SUBMITTED = or_exit(submitted.find, CONFIG, PAPERS, CONTENTS)
os.environ[SUBMITTED_PLACES] = json.dumps(SUBMITTED.places)
CONTEXT = Context(CONFIG, MODELS, ROOT, GPU, SUBMITTED.rows, ABSENT)
# Only the papers in the config are planned, so that missing data of others stops nothing.
PLANS = {
    name: or_exit(planning.plan, PAPERS[name], CONTEXT, CONFIG.excluded(name))
    for name in CONFIG.papers
}
PLANS = planning.share_trainings(PLANS, PAPERS)
or_exit(planning.check_excluded, CONFIG.exclude_rows, PLANS, PAPERS)
SPECS = {run: spec for plan in PLANS.values() for run, spec in plan.specs.items()}
RESULTS = CONFIG.results
# Models use a GPU if there is one; profiles/default gives it to one job at a time.
MODEL_GPU = 1 if GPU else 0
# Resources of a job with a model: a GPU, and the config's cluster resources.  A gres that names GPUs replaces the
# number of GPUs, because SLURM's plugin refuses both together.
ON_GPU = {"gpu": MODEL_GPU, **(CONFIG.gpu_resources if GPU else {})}
if "gpu" in ON_GPU.get("gres", ""):
    del ON_GPU["gpu"]
# The sample's models are so small that two jobs with one core each are faster than one job with two.
MODEL_THREADS = 1 if CONFIG.data == "sample" else 4


def per_attempt(amount):
    """Resource: ``amount``, and as much more at each retry."""
    return lambda wildcards, attempt: amount * attempt


def capped(minutes):
    """Resource: ``minutes``, and as much more at each retry, up to config key max_runtime."""
    return lambda wildcards, attempt: min(
        minutes * attempt, CONFIG.max_runtime or math.inf
    )


def gpu_job(minutes, mem_mb=resources.LEAST_MB):
    """The resources of a job with a small model."""
    return {**ON_GPU, "mem_mb": per_attempt(mem_mb), "runtime": capped(minutes)}


def model_job(work_of):
    """The resources of a job with a model; ``work_of`` returns its work for the job's wildcards."""
    return {
        **ON_GPU,
        "mem_mb": lambda wildcards, attempt: resources.mem_mb(work_of(wildcards), GPU)
        * attempt,
        "runtime": lambda wildcards, attempt: capped(
            resources.minutes(work_of(wildcards), GPU)
        )(wildcards, attempt),
    }


@cache
def estimator():
    """Estimates the work of the planned runs.  The number of volumes is set by the data set that has them."""
    own = {
        extra.key: resources.own_parameters(
            extra.kind, model_files(WEIGHT_PATHS[extra.key]["folder"])
        )
        for extra in CONFIG.extra_models
        if "folder" in WEIGHT_PATHS.get(extra.key, {})
    }
    texts = requests.load_texts(
        COSTS / "texts.csv", CONFIG.data, globals().get("TEXT_VOLUMES", 0)
    )
    return resources.Estimator(SPECS, MODELS, texts, own)


def run_work(**fixed):
    """The work of a job that makes one run; ``fixed`` are the parts that are not wildcards of the rule."""
    return lambda wildcards: estimator().work([run_of(wildcards, **fixed)])


def check_user_models():
    """Raise `BadInput` if a user's model is not of the declared kind."""
    for extra in CONFIG.extra_models:
        used = [
            spec.settings
            for spec in SPECS.values()
            if spec.settings.get("weights") == extra.key
        ]
        tokens = [settings.get("max_length") or 0 for settings in used]
        if tokens:
            fetch, here = CONFIG.models == "paper", WEIGHT_PATHS[extra.key]
            inspection.inspect(extra, here, fetch, CONTENTS, max(tokens))


or_exit(check_user_models)

if STANDALONE:
    logger.info(f"lextables: {CONFIG.heading(GPU)}", extra={"show": True})
    records = [Path(f"{RESULTS}/{run.folder}/run.json") for run in SPECS]
    if outdated := version.outdated(records, installed := versions()):
        logger.warning(
            version.warning(
                outdated, installed, Path(RESULTS) / ".cache/other_versions.txt"
            )
        )


def code(script, *computed):
    """Param: changes when a rule's script changes, or a module that it imports.

    It is a function, so that only the scripts of planned jobs are read.  ``computed`` are the modules that the
    script imports by a computed name.
    """
    return lambda wildcards: fingerprint_of(script, *computed)


@cache
def fingerprint_of(script, *computed):
    """The fingerprint of a script (`code`)."""
    return CODE.fingerprint(str(ROOT / "workflow/scripts" / script), *computed)


def package_modules(package, *names):
    """The dotted names of these modules of a paper package, if it has them."""
    return [
        f"lextables.{modules.place(package)}.{name}"
        for name in names
        if modules.has(package, name)
    ]


# Params that Snakemake compares are short.  A long param is a function of the input or output, which Snakemake does
# not compare, and another param has its digest.


def digest_of(value):
    """16 hex digits of the digest of a plain value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def content_of(paths):
    """`digest_of` the content of files, whatever their modification times.

    Snakemake reports missing files, as for any input.
    """
    return digest_of(
        [sha256_of(path) if Path(path).is_file() else "" for path in paths]
    )


# Data sets and their tasks.

TASKS = {name: task for paper in PAPERS.values() for name, task in paper.tasks.items()}
PAPER_OF = {
    name: paper
    for paper, entry in PAPERS.items()
    for name in (*entry.data, *entry.tasks)
}


def of_task(kind):
    """{data set: its task} for tasks of this kind."""
    return {name: task for name, task in TASKS.items() if task.task == kind}


def any_of(names):
    """The pattern of a wildcard: one of these names; it matches nothing if there are none."""
    return "|".join(sorted(names)) or "(?!)"


def data(dataset, *tables):
    """The files of a data set's tables."""
    return [f"{RESULTS}/data/{dataset}/{table}.parquet" for table in tables]


# Runs.


def run_folder(**fixed):
    """The pattern of run folders; ``fixed`` are the parts that are not wildcards."""
    names = ("dataset", "experiment", "model", "condition", "seed")
    parts = {name: fixed.get(name, f"{{{name}}}") for name in names}
    return (
        "{results}/runs/{dataset}/{experiment}/{model}/{condition}/seed{seed}".format(
            results=RESULTS, **parts
        )
    )


RUN = run_folder()


def run_of(wildcards, **fixed):
    """The run that wildcards name; ``fixed`` are the parts that are not wildcards of the rule."""
    parts = {"seed": 0} | dict(wildcards.items()) | fixed
    return Run(
        paper=parts["dataset"],
        experiment=parts["experiment"],
        model=parts["model"],
        condition=parts["condition"],
        seed=int(parts["seed"]),
    )


def spec(run):
    """The spec of a run; `BadInput` if this configuration has no such run."""
    if PAPER_OF.get(run.paper) not in CONFIG.papers:
        where = f"{RESULTS}/{run.folder}"
        raise BadInput(
            "config key papers leaves its paper out", where=where, do="add it there"
        )
    if run not in SPECS:
        raise BadInput(
            "there is no such run under this configuration",
            where=f"{RESULTS}/{run.folder}",
        )
    return SPECS[run]


def settings(wildcards, **fixed):
    """Param: the settings of a run, and the digest of its weights."""
    return identified(spec(run_of(wildcards, **fixed)).settings)


def identified(settings):
    """Settings; with the digest of the weights if these are named by a path.

    Weights on the hub are identified by their revision, and weights in the results by the rule that makes them.
    """
    location = settings.get("weights") or ""
    if not location.startswith((MIRROR, PACKAGE, user_rows.PREFIX)) or settings[
        "found"
    ].startswith(("hub", API)):
        return settings
    folder = place(location)
    return settings | {"content": CONTENTS.folder(folder, model_files(folder))}


def work(wildcards, **fixed):
    """Param: the folder of the checkpoints of a run."""
    return f"{RESULTS}/work/{run_of(wildcards, **fixed).folder.removeprefix('runs/')}"


# Cache of the embeddings of texts.  No rule's output: it can be deleted at any time.
KEPT_VECTORS = f"{RESULTS}/work/vectors"


def ASKING(wildcards, threads):
    """Param: the folder of cached answers of language models, and the limits on spending and rate.

    These change no answer.  Snakemake does not compare params that depend on the threads.
    """
    limits = {
        "dollars": CONFIG.llm_budget,
        "tokens": CONFIG.llm_tokens,
        "concurrency": CONFIG.llm_concurrency,
        "requests_a_minute": CONFIG.llm_requests_a_minute,
    }
    return {"kept": f"{RESULTS}/work/calls", "limits": limits}


def runs_locally(wildcards):
    """Whether a language model runs on this machine and not on a server."""
    names = (wildcards.dataset, wildcards.model)
    specs = (spec for run, spec in SPECS.items() if (run.paper, run.model) == names)
    return not any("api" in spec.settings for spec in specs)


def if_local(value):
    """Resource of jobs that ask a language model on this machine; jobs that ask a server do not have it."""
    return lambda wildcards: value if runs_locally(wildcards) else None


ASKING_ON_GPU = {name: if_local(value) for name, value in ON_GPU.items()}


def asking_job(minutes, work_of):
    """The resources of a job that asks a language model: on this machine those of its work, at least so long."""
    local = model_job(work_of)

    def mem_mb(wildcards, attempt):
        return (
            local["mem_mb"](wildcards, attempt)
            if runs_locally(wildcards)
            else resources.LEAST_MB * attempt
        )

    def runtime(wildcards, attempt):
        least = capped(minutes)(wildcards, attempt)
        return (
            max(least, local["runtime"](wildcards, attempt))
            if runs_locally(wildcards)
            else least
        )

    return {**ASKING_ON_GPU, "mem_mb": mem_mb, "runtime": runtime}


def needs(wildcards, **fixed):
    """Input: the predictions that a run reads."""
    needed = spec(run_of(wildcards, **fixed)).needs
    return [f"{RESULTS}/{run.folder}/predictions.parquet" for run in needed]


def choice_of(wildcards):
    """Input: the record of the choice of a run's settings; empty if its grid has a single trial.

    If the choice is repeated with the same result, the training starts again, reuses its finished work
    (`checkpoints.finished`) and ends at once.
    """
    choice = spec(run_of(wildcards)).choice
    return [f"{RESULTS}/{choice.folder}/run.json"] if choice else []


def weights_of(wildcards):
    """Input: the weights and the record of each run that a run loads; empty if it loads none."""
    sources = spec(run_of(wildcards)).sources
    return [
        f"{RESULTS}/{source.folder}/{name}"
        for source in sources
        for name in ("weights", "run.json")
    ]


def vectors_of(pattern, **parts):
    """Input: the embeddings that a linear model reads; empty if its features are words only.

    ``parts`` are {wildcard of ``pattern``: name of a setting}, beside the data set and the encoder.
    """

    def files(wildcards):
        chosen = spec(run_of(wildcards)).settings
        if "weights" not in chosen:
            return []
        values = {part: chosen[name] for part, name in parts.items()}
        return [
            pattern.format(dataset=wildcards.dataset, encoder=chosen["model"], **values)
        ]

    return files


def script_params(name, *computed):
    """Params: the script of a rule, and its fingerprint (`code`)."""
    return {"script": name, "code": code(f"{name}.py", *computed)}
