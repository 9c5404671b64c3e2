"""Encode the segments of contracts with a frozen sentence encoder."""

import logging
from collections.abc import Sequence

import numpy as np

from lextables.models import bi_encoder, device
from lextables.models.text_progress import TextProgress
from lextables.models.weights import weights_folder
from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import noting, stored_notes
from lextables.tasks.job import Job
from lextables.tasks.spans.segment_vectors import write_vectors
from lextables.tasks.spans.squad import contract_texts

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Write the vectors of the segments of all contracts."""
    settings = job.settings
    where = device.pick(job.device)
    record: JsonObject = {}
    with noting(record):
        model = bi_encoder.load(weights_folder(settings), where, settings["max_length"])
    texts = contract_texts(job.inputs["data"][0])

    def encode(segment_texts: Sequence[str]) -> np.ndarray:
        report = TextProgress(job.log, set(segment_texts), settings["max_length"])
        return bi_encoder.encode(model, segment_texts, report)

    path = job.output("vectors")
    counts = write_vectors(texts, encode, path, stored_notes(record))
    _log.info("encoded: %s", counts)
