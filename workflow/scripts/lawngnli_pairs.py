"""Write LawngNLI as input of models: long, short and filtered premises, and hypotheses.

Rule `lawngnli_pairs` (lawngnli.smk).  Its outputs are a data set of the classification
task: ``examples`` refer to ``texts``, and ``heads`` has the question and its answers.
"""

from lextables.papers.lawngnli.dataset.pairs import TABLES, write_pairs
from lextables.pipeline.dataset import Census, census, write_census
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    inputs = snakemake.input
    output = snakemake.output
    write_pairs(
        inputs.examples,
        inputs.long_premises,
        pairs=output.examples,
        heads=output.heads,
        texts=output.texts,
    )
    counts = {table.name: census(table, output[table.name]) for table in TABLES}
    source_census = read_json(inputs.census, Census)
    # Human readings (resources/readings) say by this digest from which examples they
    # were drawn.
    notes = {
        "rows_sha256 of lawngnli's examples": source_census["data"]["examples"][
            "rows_sha256"
        ]
    }
    record = {"data": counts, "notes": notes, "sources": source_census["sources"]}
    write_census(output.census, record)
