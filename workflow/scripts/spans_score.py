"""Score the spans or the text outputs of one run on the test contracts."""

from lextables.metrics import containment, spans
from lextables.metrics.spans_by_contract import by_contract
from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS
from lextables.tasks.spans.outputs import contract_of
from lextables.tasks.spans.squad import read_questions

with job(snakemake.log[0]):
    questions, answers = snakemake.input.data
    asked, predictions = read_questions(questions), read(snakemake.input.predictions)
    if snakemake.params.evaluator == "containment":
        golds = containment.gold_texts(read(answers))
        counts = {}
        for row in predictions:
            gold = golds.get(row["question_id"], ())
            counts[row["question_id"]] = containment.counts(row["output"], gold)
        rows, units = containment.scores(counts, contract_of(asked, "test"))
    else:
        options = snakemake.params.settings
        nbest, answers = spans.nbest_rows(predictions), list(read(answers))
        rows = spans.scores(nbest, asked, answers, **options)
        units = by_contract(
            nbest,
            spans.gold(asked, answers),
            **options,
        )
    write(SCORES, rows, snakemake.output.scores)
    write(UNITS, units, snakemake.output.units)
