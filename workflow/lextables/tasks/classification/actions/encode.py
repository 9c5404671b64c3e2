"""Encode the texts of a data set, in pieces, with a frozen sentence encoder."""

import logging
from functools import partial

from lextables.models import bi_encoder, device
from lextables.models.text_progress import TextProgress
from lextables.models.weights import weights_folder
from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import noting, stored_notes
from lextables.tasks.classification.examples import texts_of
from lextables.tasks.classification.settings import View
from lextables.tasks.classification.vectors import each_once, encode_texts
from lextables.tasks.job import Job

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Write the vectors of pieces; the job's ``task`` states their number of words."""
    views = [View(**view) for view in job.task["views"]]
    examples, texts = job.inputs["data"]
    folder = weights_folder(job.settings)
    where = device.pick(job.device)
    record: JsonObject = {}
    with noting(record):
        model = bi_encoder.load(folder, where, job.settings["max_length"])
    distinct = each_once(texts_of(examples, texts, views))
    report = TextProgress(job.log, (text for _, text in distinct), None)
    encode = partial(bi_encoder.encode, model, report=report)
    read = texts_of(examples, texts, views)
    path = job.output("vectors")
    count = encode_texts(read, encode, job.task["piece"], path, stored_notes(record))
    _log.info("%s pieces", count)
