"""Unpack one of the authors' fine-tuned models."""

from lextables.models import quantised
from lextables.pipeline.run import recorded
from lextables.tasks.job import Job
from lextables.tasks.spans.released import archive_record, pin_notes, unpack


def run(job: Job) -> None:
    """Unpack the zip, and record which file it is."""
    (archive,) = job.inputs["archive"]
    with recorded(job.output("record"), job.settings) as record:
        record["archive"] = archive_record(archive)
        record["notes"] = pin_notes(record["archive"])
        record["files"] = unpack(archive, job.output("weights"))
        quantised.check(job.output("weights"))
