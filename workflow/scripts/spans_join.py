"""Join the spans of adjacent windows."""

from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans.nbest import join
from lextables.tasks.spans.schema import NBEST

with (
    job(snakemake.log[0]),
    recorded(snakemake.output.record, snakemake.params.settings),
):
    contracts, questions = snakemake.input.data
    texts = {
        row["contract_id"]: row["text"]
        for row in read(contracts, ["contract_id", "text"])
    }
    asked = {
        row["question_id"]: texts[row["contract_id"]]
        for row in read(questions)
        if row["split"] == "test"
    }
    write(
        NBEST,
        join(read(snakemake.input.predictions[0]), asked),
        snakemake.output.predictions,
    )
