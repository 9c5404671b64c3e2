"""Join the spans of adjacent windows."""

from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans.nbest import join
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.squad import contract_texts, read_questions

with (
    job(snakemake.log[0]),
    recorded(snakemake.output.record, snakemake.params.settings),
):
    contracts, questions = snakemake.input.data
    texts = contract_texts(contracts)
    text_of = {}
    for row in read_questions(questions):
        text_of[row["question_id"]] = texts[row["contract_id"]]
    joined = join(read(snakemake.input.predictions[0]), text_of)
    write(NBEST, joined, snakemake.output.predictions)
