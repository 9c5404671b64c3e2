"""Encode the units of contracts (`spans.units`) with a frozen sentence encoder."""

import logging
from collections.abc import Sequence

import numpy as np

from lextables.models import bi_encoder, device
from lextables.models.text_progress import TextProgress
from lextables.models.weights import weights_folder
from lextables.tasks.job import Job
from lextables.tasks.spans.squad import contract_texts
from lextables.tasks.spans.units import write_vectors

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Write the vectors of the units of all contracts."""
    settings = job.settings
    where = device.pick(job.device)
    model = bi_encoder.load(weights_folder(settings), where, settings["max_length"])
    texts = contract_texts(job.inputs["data"][0])

    def encode(units: Sequence[str]) -> np.ndarray:
        report = TextProgress(job.log, set(units), settings["max_length"])
        return bi_encoder.encode(model, units, report)

    _log.info("encoded: %s", write_vectors(texts, encode, job.output("vectors")))
