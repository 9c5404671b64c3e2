# What all the others use: the checked config, the plans of the papers, fingerprints of code.
#
#   in    config.yaml, resources/papers/*.yaml, resources/models.yaml

import hashlib
import json
import os
import sys
from pathlib import Path

from snakemake.logging import logger

ROOT = Path(workflow.basedir)
# Seen from where the results lie, so that a project that is moved with its results keeps them.
HERE = Path(os.path.relpath(ROOT.resolve()))
# Jobs are new processes, also on other nodes: they find the package through the environment.
sys.path.insert(0, str(ROOT / "workflow"))
# Libraries speak in a log when something is wrong, and show progress every ten seconds.
os.environ.update(
    PYTHONPATH=str(ROOT / "workflow"),
    TOKENIZERS_PARALLELISM="false",
    TRANSFORMERS_VERBOSITY="error",
    HF_HUB_DISABLE_PROGRESS_BARS="1",
    TQDM_MININTERVAL="10",
)

from functools import cache
from importlib import import_module

from lextables import last_words

last_words.stop_in_words()

from lextables import own
from lextables.config import load as load_config
from lextables.content import Contents
from lextables.cuad import reviewer
from lextables.errors import BadInput
from lextables.fingerprint import fingerprint
from lextables.lawngnli.plan import bulk_files, construction
from lextables.models import device, inspection
from lextables.models.resolve import MIRROR, load_models, places
from lextables.models.weights import PACKAGE, PLACES, model_files, place
from lextables.papers import load as load_paper
from lextables.run import Run
from lextables.sources import registry as sources
from lextables.sources.fetch import standing
from lextables.tables import published

ENVIRONMENT = str(ROOT / "envs/lextables.yaml")
PAPER_FILES = {path.stem: str(path) for path in sorted((HERE / "resources/papers").glob("*.yaml"))}
SOURCE_REGISTRY = str(HERE / "resources/sources.yaml")


def planned(paper, given):
    """The plan of one paper under a configuration."""
    room = import_module(f"lextables.{paper}.plan")
    return room.plan(given, PAPERS[paper], MODELS, ROOT, GPU)


class Plans(dict):
    """The plans by paper: of those in `papers`, and of another when a file of it is asked for by name."""

    def __missing__(self, paper):
        # A user's models are for the papers that are asked for.
        self[paper] = planned(paper, CONFIG if paper in CONFIG.papers else WITHOUT_OWN)
        return self[paper]


def check_own_models():
    """Refuse a user's model that takes a paper's name, or that cannot be what it is declared to be."""
    taken = []
    for paper in PAPERS:
        printed = published.load(HERE / f"resources/published/{paper}.csv")
        # In some tables models are the columns.
        taken += own.printed(sorted({name for cell in printed for name in (cell.row, cell.column)}))
        taken += own.rows_of(list(planned(paper, WITHOUT_OWN).rows.values()))
    taken += [*own.rows_of([entry.model_dump() for entry in PAPERS.values()]), *MODELS]
    own.check_free((extra.name for extra in CONFIG.extra_models), taken)
    used = [spec.settings for paper in CONFIG.papers for spec in PLANS[paper].specs.values()]
    for extra in CONFIG.extra_models:
        tokens = [given.get("max_length") or 0 for given in used if given.get("weights") == extra.key]
        if tokens:
            fetch, here = CONFIG.models == "paper", WEIGHTS_HERE[extra.key]
            inspection.inspect(extra, here, fetch, CONTENTS, max(tokens))


try:
    CONFIG = load_config(config, sorted(PAPER_FILES), ROOT)
    SOURCES = sources.load(SOURCE_REGISTRY)
    MODELS = load_models(ROOT / "resources/models.yaml")
    GPU = device.expected(CONFIG.device)
    CONTENTS = Contents(Path(CONFIG.results) / ".cache")
    # Where weights lie is no setting of a run: jobs are told beside their params.
    WEIGHTS_HERE = places(CONFIG, MODELS, CONFIG.mirrors(ROOT))
    os.environ[PLACES] = json.dumps(WEIGHTS_HERE)
    PAPERS = {}
    for paper in PAPER_FILES:
        PAPERS[paper] = load_paper(PAPER_FILES[paper], import_module(f"lextables.{paper}.plan").REGISTRY)
    WITHOUT_OWN = CONFIG.model_copy(update={"extra_models": ()})
    PLANS = Plans()
    for paper in CONFIG.papers:
        PLANS[paper]
    # What a paper lacks stops no other: neither volumes nor parser are looked for unless this one is asked for.
    LAWNGNLI = None
    if "lawngnli" in CONFIG.papers:
        LAWNGNLI = construction(CONFIG, PAPERS["lawngnli"], MODELS, ROOT)
    if CONFIG.extra_models:
        check_own_models()
except BadInput as error:
    sys.exit(str(error))

RESULTS = CONFIG.results
# Models use a GPU where there is one; profiles/default lets one job have it at a time.
MODEL_GPU = 1 if GPU else 0
if workflow.is_main_process:
    logger.info(f"lextables: {CONFIG.heading(GPU)}")


def code(script, *found_by_name):
    """A param that changes when a rule's script does, or a module that it imports.

    ``found_by_name`` are the modules that the script imports by a name that it puts together.
    """
    return fingerprint(str(ROOT / "workflow/scripts" / script), *found_by_name)


def run_of(wildcards, **fixed):
    """The run that wildcards name; ``fixed`` are the parts of it that are no wildcards of the rule.

    A span task's runs go by the task where others go by the paper.
    """
    parts = {"paper": wildcards.get("task"), "seed": 0} | dict(wildcards.items()) | fixed
    return Run(
        paper=parts["paper"],
        experiment=parts["experiment"],
        model=parts["model"],
        condition=parts["condition"],
        seed=int(parts["seed"]),
    )


def paper_of(task):
    """The paper that a task is of, by which its name begins: a paper has a task of its own name, or more."""
    return next(paper for paper in PAPER_FILES if task == paper or task.startswith(f"{paper}_"))


def spec(run):
    """The spec of a run, in the plan of its paper; `BadInput` where that has no such run."""
    plan = PLANS[paper_of(run.paper)]
    if run not in plan.specs:
        raise BadInput("there is no such run under this configuration", where=f"{RESULTS}/{run.folder}")
    return plan.specs[run]


def settings(wildcards, **fixed):
    """The settings of the run that `run_of` finds, and what its weights hold."""
    return identified(spec(run_of(wildcards, **fixed)).settings)


def identified(settings):
    """Settings, and where they name weights by a place, the digest of what these hold.

    On the hub a revision says what weights are; below the results the rule that makes them does.
    """
    location = settings.get("weights") or ""
    if not location.startswith((MIRROR, PACKAGE, own.PREFIX)) or settings["found"].startswith("hub"):
        return settings
    folder = place(location)
    return settings | {"content": CONTENTS.folder(folder, model_files(folder))}


def parser_settings(wildcards):
    """LawngNLI's parser, with the digest of its model."""
    model = LAWNGNLI.parser["model"]
    return LAWNGNLI.parser | ({"content": CONTENTS.folder(place(model))} if model else {})


def bulk_content(wildcards):
    """The digest of the bulk export that the config names."""
    folder = Path(CONFIG.bulk_export)
    return CONTENTS.folder(folder, bulk_files(folder)) if CONFIG.bulk_export else ""


def work(wildcards, **fixed):
    """The folder of the checkpoints of the run that `run_of` finds, and of no other run."""
    return f"{RESULTS}/work/{run_of(wildcards, **fixed).folder.removeprefix('runs/')}"


def needs(wildcards, **fixed):
    """The predictions that the run reads that `run_of` finds."""
    return [
        f"{RESULTS}/{needed.folder}/predictions.parquet" for needed in spec(run_of(wildcards, **fixed)).needs
    ]


def needed_settings(wildcards, **fixed):
    """The settings of the runs whose predictions that run reads."""
    return [spec(needed).settings for needed in spec(run_of(wildcards, **fixed)).needs]


def source_variants(wildcards):
    """The variants that this run may use of a source file."""
    return sources.resolve(SOURCES, wildcards.source, wildcards.file).variants_for(CONFIG.data)


def source_content(wildcards):
    """Which bytes of a source file stand now: other ones in a mirror's first place are fetched."""
    file = Path(f"{RESULTS}/sources/{wildcards.source}/{wildcards.file}")
    provenance = file.with_name(f"{file.name}.json")
    whole = file.is_file() and provenance.is_file()
    fetched = json.loads(provenance.read_text(encoding="utf-8")) if whole else None
    return standing_bytes(wildcards.source, wildcards.file, fetched)


def volume_content(wildcards):
    """Which bytes of a shard's volumes stand now, as one digest."""
    record = Path(f"{RESULTS}/sources/caselaw/{wildcards.shard}.json")
    listed = json.loads(record.read_text(encoding="utf-8"))["volumes"] if record.is_file() else []
    fetched = {entry["file"]: entry for entry in listed}
    files = [f"{volume}.zip" for volume in LAWNGNLI.shards[wildcards.shard]]
    words = "".join(f"{file} {standing_bytes('caselaw', file, fetched.get(file))}\n" for file in files)
    return hashlib.sha256(words.encode()).hexdigest()


def standing_bytes(source, file, fetched):
    """The pin or digest of a source file, given the provenance of the one that was fetched."""
    wanted = sources.resolve(SOURCES, source, file)
    return standing(wanted, CONFIG.mirrors(ROOT), wanted.variants_for(CONFIG.data), fetched, CONTENTS.file)


def source_pins(wildcards):
    """What the file is checked against: a new digest in the registry fetches it again."""
    wanted = sources.resolve(SOURCES, wildcards.source, wildcards.file)
    return [candidate.pin for candidate in wanted.among(wanted.variants_for(CONFIG.data))]


def volume_pins(wildcards):
    """What a shard's volumes are checked against."""
    wanted = [sources.resolve(SOURCES, "caselaw", f"{v}.zip") for v in LAWNGNLI.shards[wildcards.shard]]
    return [c.pin for file in wanted for c in file.among(file.variants_for(CONFIG.data))]


def table_files(paper):
    """Every file of every table and figure of a paper."""
    return [
        f"{RESULTS}/tables/{paper}/{name}.{kind}"
        for name in PAPERS[paper].tables
        for kind in table_kinds(name)
    ]


def table_kinds(name):
    return ["csv", "md", "html", "svg"] if name.startswith("figure") else ["csv", "md", "html"]


def table_scores(wildcards):
    """The scores of the runs that a table shows; none for tables made from the data sets alone."""
    return [
        f"{RESULTS}/{folder}/scores.parquet" for folder in PLANS[wildcards.paper].folders(wildcards.table)
    ]


def table_records(wildcards):
    """The records of the runs that a table shows, which say what they were set to and what they took."""
    return [f"{RESULTS}/{folder}/run.json" for folder in PLANS[wildcards.paper].folders(wildcards.table)]


def source_words(paper):
    """What the registry says of a paper's sources, which are named by it; `tables` and the report show it."""
    names = [name for name in SOURCES if name == paper or name.startswith(f"{paper}_")]
    return sources.words(SOURCES, names)


def table_readings(wildcards):
    """What people read of a paper's data set, where that is part of a table."""
    path = HERE / f"resources/readings/{wildcards.paper}.csv"
    return [str(path)] if path.exists() else []


def table_rows(wildcards):
    """The rows of a table that come from runs."""
    return PLANS[wildcards.paper].rows.get(wildcards.table, [])


def table_code(wildcards):
    room = f"lextables.{wildcards.paper}"
    return code("table.py", f"{room}.plan", f"{room}.tables")


# A task's data sets, windows, models and runs go by its name.
SPAN_TASKS = {"cuad": PAPERS["cuad"].spans, "maud_extraction": PAPERS["maud"].extraction}
SPAN_SHARDS = 8


def span_settings(task, model):
    """The settings of a task's runs that read a model's windows, in order."""
    return [
        spec.settings
        for run, spec in PLANS[paper_of(task)].specs.items()
        if (run.paper, run.model) == (task, model) and "step" in spec.settings
    ]


def span_windows(*parts):
    """The files of parts (train, validation, test) of a model's windows, of a length and a step in tokens."""
    files = ["features.json"] + [
        f"{kind}-{shard:02}.parquet" for shard in range(SPAN_SHARDS) for kind in ("tokens", "windows")
    ]
    folder = f"{RESULTS}/features/{{task}}/{{model}}/{{length}}x{{step}}"
    return [f"{folder}/{part}/{name}" for part in parts for name in files]


def span_windows_of(part):
    """What gives the files of a part of the windows that a run reads, by its wildcards."""

    def files(wildcards):
        run = spec(run_of(wildcards))
        cut = {"length": run.settings["max_length"], "step": run.settings["step"]}
        return expand(span_windows(part), task=wildcards.task, model=wildcards.model, **cut)

    return files


def span_weights(wildcards):
    """The folder of weights that a rule makes for this model, released or pretrained; else none."""
    found = {run["weights"] for run in span_settings(wildcards.task, wildcards.model)}
    return sorted(folder for folder in found if folder.startswith(f"{RESULTS}/models/"))


def span_reading(wildcards):
    """The settings that a model's windows depend on."""
    found = [
        run
        for run in span_settings(wildcards.task, wildcards.model)
        if (run["max_length"], run["step"]) == (int(wildcards.length), int(wildcards.step))
    ]
    if not found:
        where = f"{RESULTS}/features/{wildcards.task}/{wildcards.model}"
        raise BadInput("no run under this configuration reads this model's windows", where=where)
    first = found[0]
    names = ("weights", "revision", "found", "max_length", "step", "max_question_length")
    read = {name: first[name] for name in names} | {"held_out": SPAN_TASKS[wildcards.task].held_out}
    return identified(read)


@cache
def cuad_reviewer():
    """The run whose model reads a user's contract, chosen once."""
    return reviewer.choose(CONFIG, PAPERS["cuad"], PLANS["cuad"], RESULTS)


def cuad_contract(wildcards):
    """A user's contract: read before anything is made, so that no training is for a bad one."""
    if not CONFIG.contract:
        sys.exit("config: contract is empty; name a file, as in --config contract=path.txt.")
    # What reads pdf and Word files is loaded for a review alone.
    from lextables.cuad.contract_text import read_contract

    try:
        read_contract(CONFIG.contract)
        cuad_reviewer()
    except BadInput as error:
        sys.exit(str(error))
    return CONFIG.contract


def cuad_reviewer_files(wildcards):
    """What the reviewer's run makes; nothing for one that stands there from another configuration."""
    cuad_contract(wildcards)
    chosen = cuad_reviewer()
    return [f"{RESULTS}/{chosen.run.folder}/{name}" for name in reviewer.FILES] if chosen.planned else []


def edgar_contracts(wildcards):
    """The contracts of the quarters that are asked for."""
    if not CONFIG.edgar_quarters:
        sys.exit(
            "config: edgar_quarters is empty; name quarters, as in --config edgar_quarters='[2020-QTR1]'."
        )
    return [f"{RESULTS}/data/edgar/{quarter}.parquet" for quarter in CONFIG.edgar_quarters]


# The released SQuAD files; where a mirror has LegalBench-RAG's spans and not these, the spans.
MAUD_SQUAD = [f"maud_extraction/maud_squad_{split}.json" for split in ("train", "dev", "test")]


def maud_extraction_files():
    """The files that the extraction task is read from, as <source>/<file>."""
    mirrors = CONFIG.mirrors(ROOT)

    def here(name):
        return any((mirror / name).is_file() for mirror in mirrors)

    if here("maud/extraction_spans.json") and not all(here(name) for name in MAUD_SQUAD):
        return ["maud/extraction_spans.json"]
    return MAUD_SQUAD
