# What all the others use: the checked config, the plans of the papers, fingerprints of code.
#
#   in    config.yaml, resources/papers/*.yaml, resources/models.yaml, resources/sources.yaml

import hashlib
import json
import os
import signal
import sys
from functools import cache
from pathlib import Path

import yaml
from snakemake.logging import logger

# Seen from where the results lie, so that a project that is moved with its results keeps them.
HERE = Path(os.path.relpath(ROOT.resolve()))
# Whether this is the workflow that was started, and neither a job of it nor a module of another workflow.
STANDALONE = workflow.is_main_process and Path(os.path.abspath(workflow.basedir)) == ROOT
STOPPED = "Stopped.  Finished work is kept, and the same command continues from there."
interrupts = []


def interrupt(number, frame):
    """Stop without a traceback; where jobs run, Snakemake ends them first and then calls `onerror`."""
    interrupts.append(number)
    sys.exit(STOPPED)


if STANDALONE and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, interrupt)

# Jobs are new processes, also on other nodes: they find the package through the environment.
sys.path.insert(0, str(ROOT / "workflow"))
# Libraries speak in a log when something is wrong, and show progress every ten seconds.
os.environ.update(
    PYTHONPATH=os.pathsep.join(filter(None, [str(ROOT / "workflow"), os.environ.get("PYTHONPATH")])),
    TOKENIZERS_PARALLELISM="false",
    TRANSFORMERS_VERBOSITY="error",
    HF_HUB_DISABLE_PROGRESS_BARS="1",
    TQDM_MININTERVAL="10",
)

try:
    from lextables.papers import auxiliary, packages, registry, submitted
    from lextables.pipeline import library_versions, user_rows
except ModuleNotFoundError as error:
    sys.exit(
        f"this Python ({sys.executable}) has no {error.name}; run .venv/bin/snakemake, which make run installs."
    )

from lextables.pipeline.config import load as load_config
from lextables.pipeline.content import Contents, sha256_of
from lextables.pipeline.errors import BadInput
from lextables.pipeline.fingerprint import Code, recall
from lextables.models import device, inspection
from lextables.models.resolve import API, MIRROR, load_models, places
from lextables.models.files import model_files
from lextables.models.weights import PACKAGE, PLACES, place
from lextables.pipeline.run import Run, versions
from lextables.sources import registry as sources
from lextables.sources.fetch import standing
from lextables.tables import published
from lextables.tasks.submitted import PLACES as GIVEN_PLACES
from lextables.tasks.plan import Context

ENVIRONMENT = str(ROOT / "envs/lextables.yaml")
PAPER_FILES = {path.stem: str(path) for path in sorted((HERE / "resources/papers").glob("*.yaml"))}
# A host workflow that gives its module a config need not give every key.
DEFAULTS = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
SOURCE_REGISTRIES = [str(HERE / "resources/sources.yaml"), *PAPER_FILES.values()]


def or_exit(build, *arguments):
    """Return ``build(*arguments)``; bad input of a user ends the run with its sentence."""
    try:
        return build(*arguments)
    except BadInput as error:
        sys.exit(str(error))


CONFIG = or_exit(load_config, DEFAULTS | config, sorted(PAPER_FILES), ROOT)
SOURCES = or_exit(sources.load, *SOURCE_REGISTRIES)
MODELS = or_exit(load_models, ROOT / "resources/models.yaml")
GPU = or_exit(device.expected, CONFIG.device)
CONTENTS = Contents(Path(CONFIG.results) / ".cache")
MODULES_READ = Path(CONFIG.results) / ".cache/modules.json"
recall(MODULES_READ)
CODE = Code()
# Where weights lie is no setting of a run: jobs are told beside their params.
WEIGHTS_HERE = or_exit(places, CONFIG, MODELS, CONFIG.mirrors(ROOT))
os.environ[PLACES] = json.dumps(WEIGHTS_HERE)
PAPERS = {name: or_exit(packages.load, path) for name, path in PAPER_FILES.items()}


# Data sets that a paper can do without and that are not to be had: {name: the reason}.
ABSENT = or_exit(auxiliary.absent, CONFIG, PAPERS, SOURCES, ROOT)


def check_own_names():
    """Refuse a user's row that takes the name of a row or a model of the papers."""
    taken = list(MODELS)
    for paper, entry in PAPERS.items():
        printed = published.load(HERE / f"resources/published/{paper}.csv")
        # In some tables models are the columns.
        taken += user_rows.printed(sorted({name for cell in printed for name in (cell.row, cell.column)}))
        taken += user_rows.rows_of(entry.model_dump())
    without = CONFIG.model_copy(update={"extra_models": ()})
    for paper in CONFIG.papers:
        plan = registry.plan(PAPERS[paper], Context(without, MODELS, ROOT, GPU, absent=ABSENT))
        taken += user_rows.rows_of(list(plan.rows.values()))
    for key in ("extra_models", "extra_predictions"):
        user_rows.check_free((extra.name for extra in getattr(CONFIG, key)), taken, key)


if CONFIG.extra_models or CONFIG.extra_predictions:
    or_exit(check_own_names)

# Where predictions lie that a user has already is no setting either.
GIVEN = or_exit(submitted.find, CONFIG, PAPERS, CONTENTS)
os.environ[GIVEN_PLACES] = json.dumps(GIVEN.places)
CONTEXT = Context(CONFIG, MODELS, ROOT, GPU, GIVEN.rows, ABSENT)
# What a paper lacks stops no other: only those that are asked for are planned.
PLANS = {name: or_exit(registry.plan, PAPERS[name], CONTEXT, CONFIG.excluded(name)) for name in CONFIG.papers}
or_exit(registry.check_excluded, CONFIG.exclude_rows, PLANS, PAPERS)
SPECS = {run: spec for plan in PLANS.values() for run, spec in plan.specs.items()}
RESULTS = CONFIG.results
# Models use a GPU where there is one; profiles/default lets one job have it at a time.
MODEL_GPU = 1 if GPU else 0
# What such a job asks for: a GPU, and of a cluster what the config would have beside it.  A gres that names GPUs
# takes the number's place: SLURM's plugin refuses both together.
ON_GPU = {"gpu": MODEL_GPU, **(CONFIG.gpu_resources if GPU else {})}
if "gpu" in ON_GPU.get("gres", ""):
    del ON_GPU["gpu"]
# The sample's models are so small that two jobs on a core each end sooner than one after the other on both.
MODEL_THREADS = 1 if CONFIG.data == "sample" else 4


def per_attempt(amount):
    """What gives a resource: ``amount`` at first, and as much again whenever a job is tried again."""
    return lambda wildcards, attempt: amount * attempt


def check_own_models():
    """Refuse a user's model that cannot be what it is declared to be."""
    for extra in CONFIG.extra_models:
        used = [spec.settings for spec in SPECS.values() if spec.settings.get("weights") == extra.key]
        tokens = [settings.get("max_length") or 0 for settings in used]
        if tokens:
            fetch, here = CONFIG.models == "paper", WEIGHTS_HERE[extra.key]
            inspection.inspect(extra, here, fetch, CONTENTS, max(tokens))


or_exit(check_own_models)

if STANDALONE:
    logger.info(f"lextables: {CONFIG.heading(GPU)}", extra={"show": True})
    records = [Path(f"{RESULTS}/{run.folder}/run.json") for run in SPECS]
    if outdated := library_versions.outdated(records, installed := versions()):
        logger.warning(
            library_versions.warning(outdated, installed, Path(RESULTS) / ".cache/other_versions.txt")
        )


@cache
def code(script, *found_by_name):
    """A param that changes when a rule's script does, or a module that it imports.

    ``found_by_name`` are the modules that the script imports by a name that it puts together.
    """
    return CODE.fingerprint(str(ROOT / "workflow/scripts" / script), *found_by_name)


def package_code(script, package, *modules):
    """`code` of a script that imports these modules of a paper package, where the package has them."""
    place = packages.place(package)
    return code(script, *(f"lextables.{place}.{name}" for name in modules if packages.has(package, name)))


# Params that are compared are short: what a job is given whole goes by its input or output, which Snakemake does not
# compare, and a digest of it stands beside it under a name of its own.


def digest_of(value):
    """16 hex digits of a plain value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def content_of(paths):
    """The same of the content of files, whatever their times: what a script reads of the repository.

    Of a file that is missing Snakemake says so, as of any input.
    """
    return digest_of([sha256_of(path) if Path(path).is_file() else "" for path in paths])


# Data sets and their tasks.

TASKS = {name: task for paper in PAPERS.values() for name, task in paper.tasks.items()}
PAPER_OF = {name: paper for paper, entry in PAPERS.items() for name in (*entry.data, *entry.tasks)}


def of_task(kind):
    """{data set: its task} of those that are given to a task of this kind."""
    return {name: task for name, task in TASKS.items() if task.task == kind}


def any_of(names):
    """A wildcard's pattern: one of these names, or nothing at all where there is none."""
    return "|".join(sorted(names)) or "(?!)"


def data(dataset, *tables):
    """The files of a data set's tables."""
    return [f"{RESULTS}/data/{dataset}/{table}.parquet" for table in tables]


# Runs: RUN is where one lies, by its wildcards.

RUN = f"{RESULTS}/runs/{{dataset}}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}"


def run_folder(experiment, **fixed):
    """The pattern of the folders of an experiment's runs; ``fixed`` are the parts that are no wildcards."""
    parts = {name: f"{{{name}}}" for name in ("dataset", "model", "condition", "seed")} | fixed
    return f"{RESULTS}/runs/{parts['dataset']}/{experiment}/{parts['model']}/{parts['condition']}/seed{parts['seed']}"


def run_of(wildcards, **fixed):
    """The run that wildcards name; ``fixed`` are the parts of it that are no wildcards of the rule."""
    parts = {"seed": 0} | dict(wildcards.items()) | fixed
    return Run(
        paper=parts["dataset"],
        experiment=parts["experiment"],
        model=parts["model"],
        condition=parts["condition"],
        seed=int(parts["seed"]),
    )


def spec(run):
    """The spec of a run; `BadInput` where there is no such run under this configuration."""
    if PAPER_OF.get(run.paper) not in CONFIG.papers:
        where = f"{RESULTS}/{run.folder}"
        raise BadInput("config key papers leaves its paper out", where=where, do="add it there")
    if run not in SPECS:
        raise BadInput("there is no such run under this configuration", where=f"{RESULTS}/{run.folder}")
    return SPECS[run]


def settings(wildcards, **fixed):
    """The settings of the run that `run_of` finds, and what its weights hold."""
    return identified(spec(run_of(wildcards, **fixed)).settings)


def of_run(experiment, **fixed):
    """`settings` for a rule that makes the runs of one experiment."""
    return lambda wildcards: settings(wildcards, experiment=experiment, **fixed)


def identified(settings):
    """Settings, and where they name weights by a place, the digest of what these hold.

    On the hub a revision says what weights are; below the results the rule that makes them does.
    """
    location = settings.get("weights") or ""
    if not location.startswith((MIRROR, PACKAGE, user_rows.PREFIX)) or settings["found"].startswith(
        ("hub", API)
    ):
        return settings
    folder = place(location)
    return settings | {"content": CONTENTS.folder(folder, model_files(folder))}


def work(experiment, **fixed):
    """What gives the folder of the checkpoints of one run of this experiment, and of no other."""
    return lambda wildcards: "{}/work/{}".format(
        RESULTS, run_of(wildcards, experiment=experiment, **fixed).folder.removeprefix("runs/")
    )


# What encoders made of texts, kept for whoever asks again; no rule's output, and nothing is lost with it.
KEPT_VECTORS = f"{RESULTS}/work/vectors"


def ASKING(wildcards, threads):
    """How language models are asked: the folder of kept calls, and what may be spent and how fast.

    It changes no answer, and nothing runs anew for it: Snakemake compares no param that goes by the threads.
    """
    limits = {
        "dollars": CONFIG.llm_budget,
        "tokens": CONFIG.llm_tokens,
        "concurrency": CONFIG.llm_concurrency,
        "requests_a_minute": CONFIG.llm_requests_a_minute,
    }
    return {"kept": f"{RESULTS}/work/calls", "limits": limits}


def asked_here(wildcards):
    """Whether a language model runs here and is not a server's."""
    names = (wildcards.dataset, wildcards.model)
    asked = (spec for run, spec in SPECS.items() if (run.paper, run.model) == names)
    return not any("api" in spec.settings for spec in asked)


def of_asking(value):
    """What gives a resource to the jobs that ask a language model here, and none to those that ask a server."""
    return lambda wildcards: value if asked_here(wildcards) else None


ASKING_ON_GPU = {name: of_asking(value) for name, value in ON_GPU.items()}


def needs(wildcards, **fixed):
    """The predictions that the run reads that `run_of` finds."""
    found = spec(run_of(wildcards, **fixed)).needs
    return [f"{RESULTS}/{needed.folder}/predictions.parquet" for needed in found]


def needed_by(experiment):
    """`needs` for a rule that makes the runs of one experiment."""
    return lambda wildcards: needs(wildcards, experiment=experiment)


def choice_for(experiment):
    """What gives the record of the choice that a run goes by; nothing where its grid is one trial.

    A choice that is made again and comes out the same has the training start again, which then finds its
    finished work (`checkpoints.finished`) and ends at once.
    """

    def record(wildcards):
        choice = spec(run_of(wildcards, experiment=experiment)).choice
        return [f"{RESULTS}/{choice.folder}/run.json"] if choice else []

    return record


def weights_for(experiment):
    """What gives the weights of each run that a run reads, with that one's record; nothing for others."""

    def files(wildcards):
        sources = spec(run_of(wildcards, experiment=experiment)).sources
        return [f"{RESULTS}/{source.folder}/{name}" for source in sources for name in ("weights", "run.json")]

    return files


def vectors_for(experiment, pattern, **parts):
    """What gives the frozen vectors that a linear model reads; nothing for one that reads words alone.

    ``parts`` are wildcards of ``pattern`` beside the data set and the encoder, each with its setting's name.
    """

    def files(wildcards):
        given = spec(run_of(wildcards, experiment=experiment)).settings
        if "weights" not in given:
            return []
        named = {part: given[name] for part, name in parts.items()}
        return [pattern.format(dataset=wildcards.dataset, encoder=given["model"], **named)]

    return files
