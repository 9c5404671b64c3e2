"""Upload an export to the model hub.

Rule `push` (publish.smk).  ``exported`` is the last file of the finished export,
``repository`` the name on the hub, and the output has the address of the upload.
"""

from pathlib import Path

from lextables.pipeline.atomic import write_text
from lextables.pipeline.job import job
from lextables.publish.export import About, gather
from lextables.publish.push import check_redistribution, push

with job(snakemake.log[0]):
    params = snakemake.params
    census = [Path(path) for path in snakemake.input.census]
    about = About.model_validate(params.about)
    # Without the runs of the export: whether it may be redistributed depends on data
    # sets alone.
    export = gather(
        snakemake.wildcards.export,
        about=about,
        census=census,
        runs=[],
        source_texts=params.source_texts,
    )
    check_redistribution(export)
    address = push(Path(snakemake.input.exported).parent, params.repository)
    write_text(snakemake.output[0], f"{address}\n")
