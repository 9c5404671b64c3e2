"""Train a linear baseline on the training contracts and keep its weights."""

from pathlib import Path

from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans import linear
from lextables.tasks.spans.linear_settings import LinearRun
from lextables.tasks.spans.outputs import OUT_OF_FOLD
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.squad import training_texts
from lextables.tasks.spans.units import read_vectors

with job(snakemake.log[0]) as log:
    settings = LinearRun(**snakemake.params.settings)
    contracts, examples = snakemake.input.data
    with recorded(snakemake.output.record, settings.plain()) as record:
        texts = training_texts(contracts, settings.percent)
        model, out_of_fold, counts = linear.train(
            texts,
            [row for row in read(examples) if row["contract_id"] in texts],
            settings,
            read_vectors(snakemake.input.vectors, sorted(texts)),
        )
        weights = Path(snakemake.output.weights)
        linear.save(model, weights / linear.WEIGHTS)
        if settings.out_of_fold:
            write(NBEST, out_of_fold, weights / OUT_OF_FOLD)
        record |= counts
        log.info("trained: %s", record)
