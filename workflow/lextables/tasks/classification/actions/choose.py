"""Choose the settings of each head, or of all heads together.

They are the authors' published settings, or the best trial of a search.
"""

import logging

from lextables.pipeline.dataset import read
from lextables.pipeline.files import read_json
from lextables.pipeline.run import recorded
from lextables.tasks.classification import scoring
from lextables.tasks.classification.examples import of_splits
from lextables.tasks.classification.settings import ChoiceSettings
from lextables.tasks.job import Job

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Record the chosen settings."""
    settings = ChoiceSettings(**job.settings)
    examples, heads = (list(read(path)) for path in job.inputs["data"])
    with recorded(job.output("record"), settings.plain()) as record:
        if settings.published:
            head_ids = sorted({row["head_id"] for row in examples})
            best = read(job.inputs["published"][0])
            record["choice"] = scoring.published(settings, head_ids, best)
        else:
            held_out = list(of_splits(examples, job.task["validation"]))
            diverged: set[str] = set()
            for path in job.inputs["records"]:
                diverged.update(read_json(path).get("diverged", {}))
            record["diverged"] = sorted(diverged)
            record["choice"] = scoring.searched(
                settings, job.inputs["predictions"], diverged, held_out, heads
            )
        _log.info("chosen: %s", record["choice"])
