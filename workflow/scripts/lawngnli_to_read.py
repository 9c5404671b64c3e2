"""Write a sheet with a hundred examples that people or models label without seeing the
labels of the data set, for Table 4.

Rule `lawngnli_to_read` (lawngnli.smk).  The sheet names the data set by the digest of
its examples, so that finished readings can be matched with it.
"""

from lextables.papers.lawngnli.dataset.annotations import drawn, sheet
from lextables.pipeline.atomic import write_text
from lextables.pipeline.dataset import Census, read
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    census = read_json(snakemake.input.census, Census)
    rows = drawn(list(read(snakemake.input.examples)), snakemake.params.seed)
    write_text(
        snakemake.output[0], sheet(rows, census["data"]["examples"]["rows_sha256"])
    )
