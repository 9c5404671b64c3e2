"""What models are shown of LawngNLI's examples: premises long, short and filtered, and hypotheses."""

from lextables.papers.lawngnli.pairs import write_pairs
from lextables.papers.lawngnli.schema.pairs import TABLES
from lextables.pipeline.dataset import census, write_census
from lextables.pipeline.job import job
from lextables.pipeline.run import loaded

with job(snakemake.log[0]):
    given, output = snakemake.input, snakemake.output
    write_pairs(given.examples, given.long_premises, output.examples, output.heads, output.texts)
    counts = {table.name: census(table, output[table.name]) for table in TABLES}
    made = loaded(given.census)
    # Readings go by the data set that was sampled.
    notes = {"rows_sha256 of lawngnli's examples": made["data"]["examples"]["rows_sha256"]}
    record = {"data": counts, "notes": notes, "sources": made["sources"]}
    write_census(output.census, record)
