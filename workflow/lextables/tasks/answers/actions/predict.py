"""Answer every question about each document, or mark the paragraphs that support the
answers.
"""

from importlib import import_module

from lextables.pipeline.dataset import write
from lextables.pipeline.run import recorded
from lextables.tasks.answers import collection
from lextables.tasks.answers.collection import MARKED, PREDICTIONS
from lextables.tasks.answers.prediction import Prediction
from lextables.tasks.answers.settings import ANSWERING, MARKING
from lextables.tasks.job import Job

MARK = "mark"  # the experiment of marked paragraphs


def run(job: Job) -> None:
    """Write the predictions of the kind of model in the settings."""
    is_marking = job.experiment == MARK
    kinds = MARKING if is_marking else ANSWERING
    predictor = import_module(f"lextables.tasks.answers.predictors.{job.part}")
    with recorded(job.output("record"), job.settings) as record:
        data = collection.load(job.inputs["data"], job.task["names"])
        settings = kinds[job.settings["kind"]](**job.settings)
        prediction = Prediction(
            collection=data,
            settings=settings,
            marked=collection.marked_of(job.inputs["highlights"]),
            device=job.device,
            vectors=job.inputs["vectors"],
            asking=job.asking,
            threads=job.threads,
            record=record,
        )
        if is_marking:
            marked = collection.marked_rows(data, predictor.mark(prediction))
            record["marks"] = write(MARKED, marked, job.output("predictions"))
        else:
            answers = collection.prediction_rows(predictor.answer(prediction))
            record["pairs"] = write(PREDICTIONS, answers, job.output("predictions"))
