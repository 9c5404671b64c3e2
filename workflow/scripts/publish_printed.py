"""Write the published values of all papers as one tidy csv.

Rule `printed` (publish.smk).
"""

from lextables.pipeline.atomic import write_text
from lextables.pipeline.job import job
from lextables.tables.published import to_csv

with job(snakemake.log[0]):
    write_text(snakemake.output[0], to_csv(snakemake.input.published))
