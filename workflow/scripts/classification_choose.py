"""Choose the settings of each head, or of all heads together: the authors' best, or the best of a search."""

from lextables.pipeline.dataset import read
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.classification import scoring
from lextables.tasks.classification.examples import of_splits

with job(snakemake.log[0]) as log:
    settings = snakemake.params.settings
    examples, heads = (list(read(path)) for path in snakemake.input.data)
    (validation,) = snakemake.params.splits
    with recorded(snakemake.output[0], settings) as record:
        if snakemake.input.published:
            head_ids = sorted({row["head_id"] for row in examples})
            choice = scoring.published(
                settings, head_ids, read(snakemake.input.published[0])
            )
        else:
            searches = list(
                zip(settings["learning_rates"], snakemake.input.searched, strict=True)
            )
            validation_examples = list(of_splits(examples, validation))
            choice = scoring.searched(settings, searches, validation_examples, heads)
        record["choice"] = choice
        log.info("chosen: %s", choice)
