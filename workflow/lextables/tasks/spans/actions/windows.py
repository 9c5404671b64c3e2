"""Cut the training, held-out and test contracts into windows of tokens."""

import logging
from pathlib import Path

from lextables.models.weights import weights_folder
from lextables.tasks.job import Job
from lextables.tasks.spans.features import write_parts
from lextables.tasks.spans.settings import CuttingSettings

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Write the windows of the parts `train`, `validation` (held out) and `test`, each
    in ``task["shards"]`` shards.
    """
    settings = CuttingSettings(**job.settings)
    contracts, questions, examples = map(Path, job.inputs["data"])
    # Weights that another run makes are an input; other weights are found on this
    # machine or fetched.  Only the tokenizer is read.
    weights = next(iter(job.inputs["weights"]), None)
    counts = write_parts(
        contracts,
        questions,
        examples,
        settings,
        weights or weights_folder(settings.plain()),
        # The outputs are <folder>/<part>/<file>.
        Path(job.outputs["train"][0]).parents[1],
        job.task["shards"],
    )
    _log.info("%s", counts)
