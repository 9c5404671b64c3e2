"""Predict spans in the test contracts, with the weights of a run or registered ones."""

from pathlib import Path

from lextables.models import device
from lextables.models.weights import weights_folder
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans.reading import InferenceFiles, read_contracts
from lextables.tasks.spans.settings import Inference

with job(snakemake.log[0]):
    files = snakemake.input
    settings = Inference(**snakemake.params.settings)
    where = device.pick(snakemake.params.device)
    weights = next(iter(files.weights), None)
    with recorded(snakemake.output.record, settings.plain()) as record:
        record["device"] = device.describe(where)
        for source in map(read_json, files.source_records):
            # Released weights have a run, but no training.
            if "trial" in source:
                record["trained"] = source
            if "archive" in source:
                record["archive"] = source["archive"]
                record["notes"] = source["notes"]
        windows, training_windows = (
            Path(paths[0]).parent for paths in (files.read, files.train)
        )
        record |= read_contracts(
            InferenceFiles(*map(Path, files.data), windows, training_windows),
            settings,
            weights or weights_folder(settings.plain()),
            where,
            snakemake.output.predictions,
            snakemake.output.reading,
        )
