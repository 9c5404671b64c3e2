"""The export of a paper, or of a data set that stands alone."""

from pathlib import Path

from lextables.pipeline import not_run
from lextables.pipeline.job import job
from lextables.pipeline.version import made_by, words
from lextables.publish.export import About, PublishedRun, gather
from lextables.publish.folder import write

with job(snakemake.log[0]):
    given, params = snakemake.input, snakemake.params
    of_runs = zip(given.predictions, params.rows, strict=True)
    runs = [PublishedRun(Path(path).parent, rows) for path, rows in of_runs if not not_run.reason(path)]
    export = gather(
        snakemake.wildcards.export,
        About.model_validate(params.about),
        [Path(path) for path in given.census],
        runs,
        params.words,
        made_by=words(made_by()),
        command=params.command,
    )
    write(export, Path(snakemake.output[0]).parent)
