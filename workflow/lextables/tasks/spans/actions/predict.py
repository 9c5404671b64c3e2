"""Predict spans in the test contracts, with the weights of a run or registered ones."""

from pathlib import Path

from lextables.models import device
from lextables.models.weights import weights_folder
from lextables.pipeline.files import read_json
from lextables.pipeline.run import recorded
from lextables.tasks.job import Job
from lextables.tasks.spans.inference import InferenceFiles, read_contracts
from lextables.tasks.spans.settings import Inference


def run(job: Job) -> None:
    """Read the windows of the test contracts."""
    settings = Inference(**job.settings)
    where = device.pick(job.device)
    contracts, questions = map(Path, job.inputs["data"])
    windows = Path(job.inputs["read"][0]).parent
    # For the ranking of windows, if the settings limit their number.
    training_windows = Path(job.inputs["train"][0]).parent
    weights = next(iter(job.inputs["weights"]), None)
    predictions = job.output("predictions")
    with recorded(job.output("record"), settings.plain()) as record:
        record["device"] = device.describe(where)
        for source in map(read_json, job.inputs["weight_records"]):
            # The record of a training has its trial, that of a release its archive.
            if "trial" in source:
                record["trained"] = source
            if "archive" in source:
                record["archive"] = source["archive"]
                record["notes"] = source["notes"]
        record |= read_contracts(
            InferenceFiles(contracts, questions, windows, training_windows),
            settings,
            weights or weights_folder(settings.plain()),
            where,
            predictions,
            Path(predictions).with_name("reading"),
        )
