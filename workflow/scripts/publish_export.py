"""Write the export of a paper, or of a data set with an export of its own."""

from pathlib import Path

from lextables.pipeline import not_run
from lextables.pipeline.atomic import write_text
from lextables.pipeline.job import job
from lextables.pipeline.version import made_by, words
from lextables.publish.export import About, PublishedRun, gather
from lextables.publish.folder import write

with job(snakemake.log[0]):
    params, predictions = snakemake.params, snakemake.input.predictions
    of_runs = zip(predictions, params.rows, strict=True)
    runs = [
        PublishedRun(Path(path).parent, rows)
        for path, rows in of_runs
        if not not_run.reason(path)
    ]
    export = gather(
        snakemake.wildcards.export,
        About.model_validate(params.about),
        [Path(path) for path in snakemake.input.census],
        runs,
        params.registry_texts,
        [Path(path) for path in not_run.made(snakemake.input.weights)],
        made_by=words(made_by()),
        command=params.command,
    )
    write(export, Path(snakemake.output[0]).parent)
    write_text(snakemake.output[0], "")
