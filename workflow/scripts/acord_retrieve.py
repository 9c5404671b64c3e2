"""Rank the clauses of every query with one retriever, in the three query formats."""

from contextlib import ExitStack
from pathlib import Path

from lextables.acord import retrieval
from lextables.acord.scores import PREDICTIONS
from lextables.dataset import write
from lextables.job import job
from lextables.models import device
from lextables.run import recorded

with job(snakemake.log[0]), ExitStack() as stack:
    settings = snakemake.params.settings
    folders = [Path(path).parent for path in snakemake.output.records]
    records = [
        stack.enter_context(recorded(folder, run))
        for folder, run in zip(folders, settings.values(), strict=True)
    ]
    collection = retrieval.load_collection(str(Path(snakemake.input.census).parent))
    lexical = next(iter(settings.values()))["kind"] in ("bm25", "embedding-api")
    where = None if lexical else device.pick(snakemake.params.device)
    hits = retrieval.retrieve(collection, settings, where)
    for path, record, style in zip(snakemake.output.predictions, records, settings, strict=True):
        write(PREDICTIONS, retrieval.prediction_rows(hits[style]), path)
        if where is not None:
            record["device"] = device.describe(where)
