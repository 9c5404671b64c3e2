"""Score the outputs of one run for the questions about the test contracts."""

from lextables.metrics.containment import counts, gold_texts, scores
from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS
from lextables.tasks.spans.outputs import contract_of

with job(snakemake.log[0]):
    questions, answers = snakemake.input.data
    golds = gold_texts(read(answers))
    counted = {
        row["question_id"]: counts(row["output"], golds.get(row["question_id"], ()))
        for row in read(snakemake.input.predictions)
    }
    rows, units = scores(counted, contract_of(read(questions), "test"))
    write(SCORES, rows, snakemake.output.scores)
    write(UNITS, units, snakemake.output.units)
