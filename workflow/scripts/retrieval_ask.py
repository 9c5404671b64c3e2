"""Reorder a retriever's hits by what a language model says of them, in all ways and forms of the queries."""

from lextables.models import cached_model
from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded_all
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.asking import candidates_of, expected, rerank
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows, ranked

with (
    job(snakemake.log[0]) as log,
    recorded_all(snakemake.output.records, snakemake.params.settings) as records,
):
    settings = snakemake.params.settings
    first = next(iter(settings.values()))
    documents = collection.load(snakemake.input.data, snakemake.params.task)
    hits = dict(zip(settings, map(ranked, snakemake.input.hits), strict=True))
    model = cached_model.of_rule(first, snakemake.params)
    counts = [
        expected(candidates_of(documents, hits[name], run), run)
        for name, run in settings.items()
    ]
    model.expect(*map(sum, zip(*counts, strict=True)))
    for path, record, (name, run) in zip(
        snakemake.output.predictions, records, settings.items(), strict=True
    ):
        found = rerank(documents, hits[name], run, model)
        write(PREDICTIONS, prediction_rows(found.hits), path)
        record |= {"asked": found.counts, "device": model.device}
        log.info("%s: %s", name, found.counts)
