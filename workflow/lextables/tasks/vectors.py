"""Vectors of the queries and documents of a data set.

The actions `encode` of retrieval and answers write them to a file, which other jobs
read.
"""

import logging
from collections.abc import Callable, Iterable
from itertools import chain

from lextables.models import bi_encoder, device
from lextables.models.text_progress import TextProgress
from lextables.models.text_vectors import DOCUMENT, QUERY, write_text_vectors
from lextables.models.weights import weights_folder
from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import noting, stored_notes
from lextables.tasks.job import Job

_log = logging.getLogger("lextables")


def write_vectors(
    job: Job,
    queries: Callable[[], Iterable[str]],
    documents: Callable[[], Iterable[str]],
) -> None:
    """Write the vectors of queries and documents.

    Both are functions that return the texts, because these are read twice.
    The job's settings have the encoder and its maximum length.  A job that is repeated
    after it was killed, or for more texts, finds what it encoded before in the folder
    of cached vectors.
    """
    settings = job.settings
    max_length = settings["max_length"]
    report = TextProgress(job.log, chain(queries(), documents()), max_length)
    where = device.pick(job.device)
    record: JsonObject = {}
    with noting(record):
        model = bi_encoder.load(weights_folder(settings), where, max_length)
    functions = {
        QUERY: bi_encoder.encode_queries,
        DOCUMENT: bi_encoder.encode_documents,
    }
    encoders = {}
    for part, encode in functions.items():
        encoders[part] = bi_encoder.cached(encode, model, settings, job.vectors, report)
    about = {
        "device": device.describe(where),
        "similarity": model.similarity_fn_name or "",
        **stored_notes(record),
    }
    count = write_text_vectors(
        {QUERY: queries(), DOCUMENT: documents()},
        encoders,
        about,
        job.output("vectors"),
        report,
    )
    _log.info("%s vectors", count)
