"""Which model reads a user's contract."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from lextables import own
from lextables.config import Config
from lextables.cuad.plan import PAPER, Cuad
from lextables.errors import BadInput
from lextables.models.span_plan import WHOLE
from lextables.plan import Plan
from lextables.run import Run

METRIC = "AUPR"  # the score by which one model is better than another
FILES = ("model", "run.json", "scores.parquet")  # of a run's folder, that the review reads


@dataclass(frozen=True)
class Reviewer:
    """A run whose model reads a contract.

    ``planned`` says that the rules make it under this configuration.  Else it stands in the results from
    another one and is read as it is, and ``record`` is the digest of its `run.json`.
    """

    run: Run
    planned: bool
    record: str = ""


def choose(config: Config, paper: Cuad, plan: Plan, results: str | Path) -> Reviewer:
    """Return the best model that is there, or config's ``review_model``.

    A finished run in ``results`` is taken before one that has yet to be made; of several that with the best
    AUPR on the test contracts.  Where none is finished, it is the first of the paper's list ``review`` that
    has a run under this configuration.  Raises `BadInput` when there is no such run either.
    """
    planned = {run.model: run for run in sorted(plan.specs, reverse=True) if _whole(run)}
    named = config.review_model != "auto"
    # A model is named by its key or by its row, whose words a key joins with hyphens.
    theirs = own.key(config.review_model)
    wanted = (theirs.removeprefix(own.PREFIX), theirs) if named else paper.review
    there = {run: score for run, score in finished(results).items() if not named or run.model in wanted}
    if there:
        best = max(sorted(there), key=lambda run: there[run])
        if best in plan.specs:
            return Reviewer(best, planned=True)
        text = (Path(results) / best.folder / "run.json").read_bytes()
        return Reviewer(best, planned=False, record=hashlib.sha256(text).hexdigest()[:16])
    for key in wanted:
        if key in planned:
            return Reviewer(planned[key], planned=True)
    raise BadInput(
        f"review_model = {config.review_model!r} has no run under this configuration",
        where="config",
        do=f"choose from {', '.join(sorted(planned))}" if planned else "set models to available or paper",
    )


def finished(results: str | Path) -> dict[Run, float]:
    """Return the runs in ``results`` whose model can read a contract, with their AUPR."""
    found = {}
    for record in sorted(Path(results).glob(f"runs/{PAPER}/*/*/*/seed*/run.json")):
        folder = record.parent
        run = Run(*folder.parts[-5:-1], int(folder.name.removeprefix("seed")))
        if _whole(run) and all((folder / name).exists() for name in FILES):
            scores = pq.read_table(folder / "scores.parquet").to_pylist()
            score = next((x["value"] for x in scores if (x["metric"], x["group"]) == (METRIC, "all")), None)
            if score is not None:
                found[run] = score
    return found


def _whole(run: Run) -> bool:
    """Whether a run's model was trained on all training contracts, by us or before."""
    return run.experiment == "released" or (
        run.experiment == "finetune" and run.condition.endswith(f"-p{WHOLE}")
    )
