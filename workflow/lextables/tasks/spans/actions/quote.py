"""Write the outputs of a linear model, which quote its spans, or of a control, which
reads no contract.
"""

import logging
from collections.abc import Mapping
from pathlib import Path

from lextables.metrics.containment import gold_texts
from lextables.pipeline.dataset import read, write
from lextables.pipeline.files import read_json
from lextables.pipeline.run import recorded
from lextables.tasks.job import Job
from lextables.tasks.spans import outputs
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.squad import contract_texts

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Write the outputs for the test questions, by the kind in the settings.

    - `fixed`: the same output for all, in which ${contract} is the contract's text.
    - `frequent`: the contract where that is best for the category in training.
    - `relaxed`: a span, not a text: the contract for a relaxed category, else empty.
    - `linear`: the spans of a model, from a threshold of their probability on, which is
      the best one for the model's out-of-fold predictions.
    """
    settings = outputs.QuotingSettings(**job.settings)
    contracts, question_rows, answers = job.inputs["data"]
    with recorded(job.output("record"), settings.plain()) as record:
        texts = contract_texts(contracts)
        questions = list(read(question_rows))
        test = outputs.contract_of(questions, "test")
        tested = [row for row in questions if row["split"] == "test"]
        table = outputs.OUTPUTS
        if settings.kind == "fixed":
            assert settings.output is not None
            rows = outputs.fixed(test, texts, settings.output)
        elif settings.kind == "frequent":
            assert settings.metric is not None
            golds = gold_texts(read(answers))
            learnt = [row for row in questions if row["split"] == "train"]
            categories, best = outputs.frequent_categories(
                learnt, texts, golds, settings.metric
            )
            record |= {"categories": categories, "training": best}
            rows = outputs.for_categories(tested, texts, categories)
        elif settings.kind == "relaxed":
            # The only kind whose predictions are spans, not text outputs.
            assert settings.category is not None
            table = NBEST
            rows = outputs.relaxed_spans(tested, texts, settings.category)
        else:
            assert settings.metric is not None
            record["trained"] = read_json(job.inputs["weight_records"][0])
            train = outputs.contract_of(questions, "train")
            threshold, best = _best_threshold(job, settings.metric, train, texts)
            record |= {"threshold": threshold, "out_of_fold": best}
            _log.info("threshold %.2f, out of fold: %s", threshold, best)
            spans = read(job.inputs["predictions"][0])
            rows = outputs.outputs(spans, test, texts, threshold)
        write(table, rows, job.output("predictions"))


def _best_threshold(
    job: Job, metric: str, contracts: Mapping[str, str], texts: Mapping[str, str]
) -> tuple[float, dict[str, float]]:
    """Return the threshold with the best ``metric`` on the training questions, and all
    metrics there.

    The spans are the out-of-fold predictions that were saved with the model.
    ``contracts`` and ``texts`` as in `outputs.curve`.
    """
    _, _, answers = job.inputs["data"]
    out_of_fold = Path(job.inputs["weights"][0], outputs.OUT_OF_FOLD)
    golds = gold_texts(read(answers))
    values_at = outputs.curve(read(out_of_fold), contracts, texts, golds)
    return outputs.best_threshold(values_at, metric)
