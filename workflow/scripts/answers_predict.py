"""Answer every question about each document, or mark the paragraphs that support the answers."""

from importlib import import_module

from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.answers import collection
from lextables.tasks.answers.collection import MARKED, PREDICTIONS
from lextables.tasks.answers.prediction import Prediction
from lextables.tasks.answers.settings import ANSWERING, MARKING

params = snakemake.params
marks = snakemake.wildcards.experiment == "mark"
with (
    job(snakemake.log[0]),
    recorded(snakemake.output.record, params.settings) as record,
):
    predictor = import_module(f"lextables.tasks.answers.predictors.{params.predictor}")
    data = collection.load(snakemake.input.data, params.names)
    kinds = MARKING if marks else ANSWERING
    prediction = Prediction(
        data,
        kinds[params.settings["kind"]](**params.settings),
        collection.marked_of(snakemake.input.highlights),
        params.device,
        params.vectors,
        params.asking,
        snakemake.threads,
        record,
    )
    if marks:
        rows = collection.marked_rows(data, predictor.mark(prediction))
        record["marks"] = write(MARKED, rows, snakemake.output.predictions)
    else:
        rows = collection.prediction_rows(predictor.answer(prediction))
        record["pairs"] = write(PREDICTIONS, rows, snakemake.output.predictions)
