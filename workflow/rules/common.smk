# What the other files of this folder use: the checked configuration, the planned runs
# of the papers, and functions for params and resources of rules.
#
#   in    config.yaml, resources/papers/*.yaml, resources/models.yaml, resources/sources.yaml
#   out   objects of lextables/planning with functions for inputs, params and resources of rules
#   steps 1. this process, and the environment of jobs
#         2. imports from the package
#         3. configuration, registries and plans
#         4. a line with the configuration, and a warning about runs that were made with other
#            versions of libraries
#
# From Snakemake are `workflow` (this run), `config` (config.yaml with the values of the
# command line), `configfile` and `shell`.  ROOT, the project's folder, is from the
# Snakefile.  Snakemake reads this file again in each job; STANDALONE is then False.

import atexit
import gc
import os
import sys
from pathlib import Path

from snakemake.logging import logger

# 1. This process, and the environment of jobs

if "{" in str(ROOT) or "}" in str(ROOT):
    sys.exit(
        f"{ROOT}: Snakemake reads braces in the project's path as wildcards; rename or move the folder."
    )

# The project's folder, relative to the working folder, so that a project can be moved
# together with its results.
PROJECT_PATH = Path(os.path.relpath(ROOT.resolve()))

# Python's garbage collector finds nothing in a plan's many objects.  Running it less
# often saves a tenth of the planning time, and skipping it at exit a sixth.
gc.set_threshold(100_000)
atexit.register(gc.freeze)

# Where this process finds the package.  Jobs are new processes, maybe on other nodes,
# and find it through the environment.
sys.path.insert(0, str(ROOT / "workflow"))
os.environ.update(
    PYTHONPATH=os.pathsep.join(
        filter(None, [str(ROOT / "workflow"), os.environ.get("PYTHONPATH")])
    ),
    # For the logs of jobs: only errors of transformers, no progress of downloads from
    # the hub, and other progress at most every ten seconds.
    TRANSFORMERS_VERBOSITY="error",
    HF_HUB_DISABLE_PROGRESS_BARS="1",
    TQDM_MININTERVAL="10",
    # One thread, except where the package tokenises many texts at once.
    TOKENIZERS_PARALLELISM="false",
    # Libraries ask for the user's name, and the system may have none for the user's
    # number, as in a container.
    USER=os.environ.get("USER") or str(os.getuid()),
)
# Batches have many shapes: with fixed segments, freed GPU memory is often too small for
# the next one.
os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")
ENVIRONMENT = str(ROOT / "envs/lextables.yaml")  # of jobs, with the option for conda

# 2. Imports from the package

# Another Python than that of `make` lacks packages: one sentence instead of a
# traceback.
try:
    from lextables.planning.snakemake_interface import (
        SnakemakeRun,
        targets_of_command_line,
    )

    RUN_OF_SNAKEMAKE = SnakemakeRun(workflow)  # the options and jobs of this run
    # False in jobs, and where another workflow uses this one as a module.
    STANDALONE = RUN_OF_SNAKEMAKE.is_main(ROOT)
    if STANDALONE:
        from lextables.pipeline.stopping import PREFIX, Stopping
        from lextables.planning.messages import announce_stop

        # Ctrl-C: jobs ignore it, and `stopping` ends them (pipeline/stopping.py).  This
        # comes before the other imports, which take seconds.
        shell.prefix(PREFIX)
        stopping = Stopping(announce_stop, RUN_OF_SNAKEMAKE.runs_jobs_elsewhere)
    # For this file.
    from lextables.pipeline import entries
    from lextables.planning import command_line, rehearsal
    from lextables.planning.command_line import or_exit
    from lextables.planning.jobs import Jobs
    from lextables.planning.project import load
    from lextables.planning.sources import SourceParams

    # For the rules of the other files.
    from lextables.planning.feature_jobs import FeatureJobs
    from lextables.planning.job_resources import per_attempt  # more at each retry
    from lextables.planning.jobs import COMBINING, PREDICTING  # experiments of runs
    from lextables.planning.project import source_files  # of the registry of sources
    from lextables.planning.scripts import (
        any_of,  # pattern of a wildcard: one of these names
        code,  # param: fingerprint of a script and of the modules that it imports
        content_of,  # digest of the content of files
        digest_of,  # digest of plain values
        fingerprint_of,  # the fingerprint that the param `code` has
    )
    from lextables.tasks.spans.jobs import window_files
except ModuleNotFoundError as error:
    sys.exit(
        f"this Python ({sys.executable}) has no {error.name}; run .venv/bin/snakemake, which make run installs."
    )

# 3. Configuration, registries and plans

# `or_exit` calls a function, and ends the run with one sentence if it raises
# `BadInput`.  config.yaml is read here before Snakemake reads it, whose messages name
# no file.
DEFAULTS = or_exit(entries.mapping, ROOT / "config.yaml")


configfile: str(ROOT / "config.yaml")


# The target `rehearsal` runs small trainings of all papers: it changes the
# configuration before that is checked.
if STANDALONE and command_line.started_by_snakemake():
    if rehearsal.TARGET in targets_of_command_line():
        config.update(rehearsal.settings(PROJECT_PATH, DEFAULTS, config))
# The checked configuration, the registries, and the plan of each paper: its runs and
# the rows of its tables.
PROJECT = or_exit(load, ROOT, PROJECT_PATH, DEFAULTS, config)
CONFIG = PROJECT.config
RESULTS = PROJECT.results  # the folder of all results
JOBS = Jobs(PROJECT)  # the job of each run: inputs, params and resources
RUN = JOBS.folder()  # the folder of a run, with wildcards for its parts
RESOURCES = JOBS.resources  # memory and time of jobs
SOURCE_PARAMS = SourceParams(PROJECT)  # digests and variants of source files
# Small jobs run where Snakemake runs, unless the config has them sent to the cluster.
SMALL_JOBS_ARE_LOCAL = not CONFIG.submit_small_jobs

# 4. The line with the configuration, and the warning

if STANDALONE:
    command_line.show_configuration(PROJECT)
