"""Reorder a retriever's hits with a cross-encoder as it is, in the three query formats."""

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
    where = device.pick(snakemake.params.device)
    first = {
        style: retrieval.ranked_clauses(path)
        for style, path in zip(settings, snakemake.input.hits, strict=True)
    }
    hits = retrieval.rerank(collection, first, settings, where)
    for path, record, style in zip(snakemake.output.predictions, records, settings, strict=True):
        write(PREDICTIONS, retrieval.prediction_rows(hits[style]), path)
        record["device"] = device.describe(where)
