"""Write the rows of the released LawngNLI's ID file, and the cases that it names.

Rule `lawngnli_released_rows` (lawngnli_released.smk).  The output ``cases`` is a sorted
list of case ids.
"""

import json

from lextables.papers.lawngnli.released.ids import ROWS, read_ids
from lextables.pipeline.dataset import read, write
from lextables.pipeline.files import write_result
from lextables.pipeline.job import job

with job(snakemake.log[0]) as log:
    count = write(ROWS, read_ids(snakemake.input[0]), snakemake.output.rows)
    pairs = read(snakemake.output.rows, ["citing_case_id", "cited_case_id"])
    cases = {case for row in pairs for case in row.values()}
    write_result(snakemake.output.cases, json.dumps(sorted(cases)))
    log.info("%d rows, %d cases", count, len(cases))
