"""Write the export of a paper, or of a data set that is exported separately.

Rule `export` (publish.smk).  ``rows`` are, for each file of ``predictions``, the rows
of tables that its run fills.  ``about`` and ``source_texts`` are texts of the registry,
and ``command`` makes the export again.
"""

from pathlib import Path

from lextables.pipeline import not_run
from lextables.pipeline.atomic import write_text
from lextables.pipeline.content import folder_content
from lextables.pipeline.job import job
from lextables.pipeline.version import made_by, version_text
from lextables.publish.export import About, Origin, PublishedRun, gather
from lextables.publish.folder import write

with job(snakemake.log[0]):
    params = snakemake.params
    runs = []
    for path, rows in zip(snakemake.input.predictions, params.rows, strict=True):
        run_folder = Path(path).parent
        # A file of a run that could not be computed has the reason instead.
        if not not_run.of_run(run_folder):
            runs.append(PublishedRun(run_folder, rows))
    export = gather(
        snakemake.wildcards.export,
        about=About.model_validate(params.about),
        census=[Path(path) for path in snakemake.input.census],
        runs=runs,
        source_texts=params.source_texts,
        weights=[
            Path(path) for path in not_run.without_reason(snakemake.input.weights)
        ],
        origin=Origin(version_text(made_by()), params.command),
    )
    folder = Path(snakemake.output[0]).parent
    write(export, folder)
    # The digest of the export: with other content it is uploaded again.
    write_text(snakemake.output[0], f"{folder_content(folder)}\n")
