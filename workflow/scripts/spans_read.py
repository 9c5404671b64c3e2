"""Predict spans in the test contracts, with the weights of another run or of a registered model."""

from pathlib import Path

from lextables.models import device
from lextables.models.weights import weights_folder
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans.reading import Reading, read_contracts

with job(snakemake.log[0]):
    settings, where = snakemake.params.settings, device.pick(snakemake.params.device)
    windows, read = (
        Path(paths[0]).parent for paths in (snakemake.input.train, snakemake.input.read)
    )
    weights, source = snakemake.input.weights or (None, None)
    # Released weights have a run, but no training.
    source_record = read_json(source) if source else {}
    trained = {"trained": source_record} if "trial" in source_record else {}
    with recorded(snakemake.output.record, settings) as record:
        record |= {"device": device.describe(where)} | trained
        record |= read_contracts(
            Reading(*map(Path, snakemake.input.data), windows, read),
            settings,
            weights or weights_folder(settings),
            where,
            snakemake.output.predictions,
            snakemake.output.reading,
        )
