"""The experiment on LawngNLI's pairs with matched overlap: the pairs, and what models answer."""

from functools import partial

from lextables.models.alignment import token_vectors
from lextables.models.weights import weights_folder
from lextables.papers.lawngnli.matched import ANSWERS, PAIRS, run
from lextables.pipeline.dataset import Census, census, write, write_census
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    inputs, output, params = snakemake.input, snakemake.output, snakemake.params
    encode = partial(token_vectors, weights_folder(params.encoder))
    found = run(inputs.examples, inputs.texts, params.settings, params.seed, encode)
    for table, rows in zip((PAIRS, ANSWERS), found, strict=True):
        write(table, rows, output[table.name])
    data = {table.name: census(table, output[table.name]) for table in (PAIRS, ANSWERS)}
    write_census(output.census, {"data": data, "sources": read_json(inputs.census, Census)["sources"]})
