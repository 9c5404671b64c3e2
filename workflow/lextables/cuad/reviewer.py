"""Which model reads a user's contract."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from lextables import own
from lextables.config import Config
from lextables.cuad.registry import DATA, Cuad
from lextables.errors import BadInput
from lextables.run import Run
from lextables.tasks.plan import WHOLE, Plan

METRIC = "AUPR"  # the score by which one model is better than another
FILES = ("reading", "run.json", "scores.parquet")  # of a run's folder, that the review reads
WEIGHTS = "weights"  # the folder of weights in that of the run which a reading run names


@dataclass(frozen=True)
class Reviewer:
    """A run that read contracts, and the run whose weights it read; None for a model as it was found.

    ``planned`` says that the rules make it under this configuration.  Else it stands in the results from
    another one and is read as it is, and ``record`` is the digest of its `run.json`.
    """

    run: Run
    weights_of: Run | None
    planned: bool
    record: str = ""

    @property
    def files(self) -> Iterator[str]:
        """What the review reads, below the results."""
        yield from (f"{self.run.folder}/{name}" for name in FILES)
        if self.weights_of:
            yield f"{self.weights_of.folder}/{WEIGHTS}"

    def weights(self, results: str | Path) -> str:
        """The folder of the weights in ``results``; empty for a model as it was found."""
        return f"{results}/{self.weights_of.folder}/{WEIGHTS}" if self.weights_of else ""


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
    # Where a user's model as it was found lies is known to a configuration that names it, and to no other.
    there = {
        run: (score, source)
        for run, (score, source) in finished(results).items()
        if (not named or run.model in wanted) and (source or run in plan.specs)
    }
    if there:
        best = max(sorted(there), key=lambda run: there[run][0])
        if best in plan.specs:
            return Reviewer(best, plan.specs[best].weights_of, planned=True)
        text = (Path(results) / best.folder / "run.json").read_bytes()
        digest = hashlib.sha256(text).hexdigest()[:16]
        return Reviewer(best, there[best][1], planned=False, record=digest)
    for key in wanted:
        if key in planned:
            return Reviewer(planned[key], plan.specs[planned[key]].weights_of, planned=True)
    raise BadInput(
        f"review_model = {config.review_model!r} has no run under this configuration",
        where="config",
        do=f"choose from {', '.join(sorted(planned))}" if planned else "set models to available or paper",
    )


def finished(results: str | Path) -> dict[Run, tuple[float, Run | None]]:
    """Return the runs in ``results`` whose model can read a contract, with their AUPR and that run's name
    whose weights they read.
    """
    found = {}
    for record in sorted(Path(results).glob(f"runs/{DATA}/read/*/*/seed*/run.json")):
        folder = record.parent
        run = _run(folder)
        location = json.loads(record.read_text(encoding="utf-8"))["settings"].get("weights") or ""
        # Weights that a rule has made lie in a run's folder, wherever the results are.
        source = _run(Path(location).parent) if f"runs/{DATA}/" in location else None
        there = source is None or (Path(results) / source.folder / WEIGHTS).is_dir()
        if _whole(run) and there and all((folder / name).exists() for name in FILES):
            scores = pq.read_table(folder / "scores.parquet").to_pylist()
            score = next((x["value"] for x in scores if (x["metric"], x["group"]) == (METRIC, "all")), None)
            if score is not None:
                found[run] = score, source
    return found


def _run(folder: Path) -> Run:
    return Run(*folder.parts[-5:-1], int(folder.name.removeprefix("seed")))


def _whole(run: Run) -> bool:
    """Whether a run's model was trained on all training contracts, by us or before."""
    released = run.condition in ("as-released", "as-it-is")
    return run.experiment == "read" and (released or run.condition.endswith(f"-p{WHOLE}"))
