"""Write text outputs: quotes of a linear model's spans, or a constant."""

from pathlib import Path

from lextables.metrics.containment import gold_texts
from lextables.pipeline.dataset import read, write
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans import outputs
from lextables.tasks.spans.squad import contract_texts

with job(snakemake.log[0]) as log:
    files = snakemake.input
    settings = outputs.QuotingSettings(**snakemake.params.settings)
    contracts, questions, answers = files.data
    with recorded(snakemake.output.record, settings.plain()) as record:
        texts = contract_texts(contracts)
        questions = list(read(questions))
        test = outputs.contract_of(questions, "test")
        if settings.kind == "fixed":
            rows = outputs.fixed(test, texts, settings.output)
        else:
            record["trained"] = read_json(files.source_records[0])
            values_at = outputs.curve(
                read(Path(files.weights[0]) / outputs.OUT_OF_FOLD),
                outputs.contract_of(questions, "train"),
                texts,
                gold_texts(read(answers)),
            )
            threshold, best = outputs.best_threshold(values_at, settings.metric)
            record |= {"threshold": threshold, "out_of_fold": best}
            log.info("threshold %.2f, out of fold: %s", threshold, best)
            rows = outputs.outputs(read(files.predictions[0]), test, texts, threshold)
        write(outputs.OUTPUTS, rows, snakemake.output.predictions)
