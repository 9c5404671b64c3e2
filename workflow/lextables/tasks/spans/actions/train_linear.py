"""Train a linear baseline on the training contracts and keep its weights."""

import logging
from pathlib import Path

from lextables.pipeline.dataset import read, write
from lextables.pipeline.run import recorded
from lextables.tasks.job import Job
from lextables.tasks.spans import linear
from lextables.tasks.spans.linear_settings import LinearRun
from lextables.tasks.spans.outputs import OUT_OF_FOLD
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.segment_vectors import read_vectors
from lextables.tasks.spans.squad import training_texts

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Train on the examples of the training contracts."""
    settings = LinearRun(**job.settings)
    contracts, examples = job.inputs["data"]
    weights = Path(job.output("weights"))
    with recorded(job.output("record"), settings.plain()) as record:
        texts = training_texts(contracts, settings.percent)
        model, out_of_fold, counts = linear.train(
            texts,
            [row for row in read(examples) if row["contract_id"] in texts],
            settings,
            read_vectors(job.inputs["vectors"], sorted(texts)),
        )
        linear.save(model, weights / linear.WEIGHTS)
        if settings.out_of_fold:
            write(NBEST, out_of_fold, weights / OUT_OF_FOLD)
        record |= counts
        _log.info("trained: %s", record)
