"""Write the outputs of a linear model, which quote its spans, or the same output for each question."""

from pathlib import Path

from lextables.metrics.containment import gold_texts
from lextables.pipeline.dataset import read, write
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans.linear import OUT_OF_FOLD
from lextables.tasks.spans.outputs import (
    OUTPUTS,
    best_threshold,
    contract_of,
    curve,
    fixed,
    outputs,
)

with job(snakemake.log[0]) as log:
    settings, (contracts, questions, answers) = (
        snakemake.params.settings,
        snakemake.input.data,
    )
    with recorded(snakemake.output.record, settings) as record:
        texts = {row["contract_id"]: row["text"] for row in read(contracts)}
        questions = list(read(questions))
        test = contract_of(questions, "test")
        if settings["kind"] == "fixed":
            rows = fixed(test, texts, settings["output"])
        else:
            (predictions,), (weights, trained) = (
                snakemake.input.predictions,
                snakemake.input.weights,
            )
            record |= {"trained": read_json(trained)}
            train = contract_of(questions, "train")
            scored = curve(
                read(Path(weights) / OUT_OF_FOLD),
                train,
                texts,
                gold_texts(read(answers)),
            )
            threshold, values = best_threshold(scored, settings["metric"])
            record |= {"threshold": threshold, "out_of_fold": values}
            log.info("threshold %.2f, out of fold: %s", threshold, values)
            rows = outputs(read(predictions), test, texts, threshold)
        write(OUTPUTS, rows, snakemake.output.predictions)
