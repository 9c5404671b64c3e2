"""Tokenise the texts or pairs of texts of a data set for one model, each once."""

import logging

from lextables.models.weights import weights_folder
from lextables.tasks.classification.examples import texts_of
from lextables.tasks.classification.features import tokenise
from lextables.tasks.classification.settings import View
from lextables.tasks.job import Job

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Write the tokens; the job's ``task`` states how many of each text, at most."""
    views = [View(**view) for view in job.task["views"]]
    examples, texts = job.inputs["data"]
    read = texts_of(examples, texts, views)
    folder = weights_folder(job.settings)
    _log.info("%s", tokenise(read, folder, job.task["length"], job.output("tokens")))
