# What every other rule file uses: the checked config, the plans of the papers, fingerprints of code.
#
#   in    config.yaml, resources/papers/*.yaml, resources/models.yaml
#   out   {RESULTS}/config.yaml, the effective configuration beside the results

import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

ROOT = Path(workflow.basedir)
# Jobs are new processes, also on other nodes: they find the package through the environment.
sys.path.insert(0, str(ROOT / "workflow"))
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(ROOT / "workflow"), *filter(None, [os.environ.get("PYTHONPATH")])]
)
# Libraries speak in a log when something is wrong, and show progress every ten seconds.
for name, value in {
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TQDM_MININTERVAL": "10",
}.items():
    os.environ.setdefault(name, value)

from importlib import import_module

from lextables.config import load as load_config
from lextables.errors import BadInput
from lextables.fingerprint import fingerprint
from lextables.models import device
from lextables.models.resolve import load_models
from lextables.papers import load as load_paper

ENVIRONMENT = str(ROOT / "envs/lextables.yaml")
PAPER_FILES = {path.stem: str(path) for path in sorted((ROOT / "resources/papers").glob("*.yaml"))}

try:
    CONFIG = load_config(config, sorted(PAPER_FILES), ROOT)
    MODELS = load_models(ROOT / "resources/models.yaml")
    PAPERS, PLANS = {}, {}
    for paper in PAPER_FILES:
        room = import_module(f"lextables.{paper}.plan")
        PAPERS[paper] = load_paper(PAPER_FILES[paper], room.REGISTRY)
        PLANS[paper] = room.plan(CONFIG, PAPERS[paper], MODELS, ROOT, device.expected(CONFIG.device))
except BadInput as error:
    raise WorkflowError(str(error)) from None

RESULTS = CONFIG.results


def code(*modules, script):
    """A param that changes when the modules that a rule uses do, or its script."""
    return fingerprint(*modules, str(ROOT / "workflow/scripts" / script))


localrules:
    effective_config,


rule effective_config:
    output:
        RESULTS + "/config.yaml",
    log:
        RESULTS + "/logs/effective_config.log",
    benchmark:
        RESULTS + "/benchmarks/effective_config.tsv"
    conda:
        ENVIRONMENT
    params:
        config=CONFIG.model_dump(mode="json"),
    message:
        "Writing down the effective configuration."
    script:
        "../scripts/effective_config.py"
