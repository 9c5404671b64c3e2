"""Unpack one of the authors' fine-tuned models."""

from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans.released import archive_record, pin_notes, unpack

with (
    job(snakemake.log[0]),
    recorded(snakemake.output.record, snakemake.params.settings) as record,
):
    record["archive"] = archive_record(snakemake.input[0])
    record["notes"] = pin_notes(record["archive"])
    record["files"] = unpack(snakemake.input[0], snakemake.output.weights)
