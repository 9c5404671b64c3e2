"""Which model reads a user's contract."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lextables.papers.cuad.asking import LINEAR
from lextables.papers.cuad.registry import DATA, Cuad
from lextables.pipeline import user_rows
from lextables.pipeline.config import Config
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.tasks.plan import WHOLE, Plan

METRIC = "AUPR"  # the score by which one model is better than another
FILES = ("run.json", "predictions.parquet", "scores.parquet")  # of a run's folder, that the review reads
READING = "reading"  # how contracts were cut, which a model of windows reads as well
WEIGHTS = "weights"  # the folder of weights in that of the run which a reading run names


@dataclass(frozen=True)
class Reviewer:
    """A run that read contracts, and the run whose weights it read; None for a model as it was found.

    ``planned`` says that the rules make it under this configuration.  Else it stands in the results from
    another one and is read as it is, and ``record`` is the digest of its `run.json`.  ``windows`` says that
    the model reads windows of a contract: a linear one does not.
    """

    run: Run
    weights_of: Run | None
    planned: bool
    record: str = ""
    windows: bool = True

    @property
    def files(self) -> Iterator[str]:
        """What the review reads, below the results."""
        yield from (f"{self.run.folder}/{name}" for name in files(self.windows))
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
    planned = {
        run.model: run
        for run, spec in sorted(plan.specs.items(), key=itemgetter(0), reverse=True)
        if _whole(run) and _marks(spec.settings)
    }
    named = config.review_model != "auto"
    # A model is named by its key or by its row, whose words a key joins with hyphens.
    theirs = user_rows.key(config.review_model)
    wanted = (theirs.removeprefix(user_rows.PREFIX), theirs) if named else paper.review
    # Where a user's model as it was found lies is known to a configuration that names it, and to no other.
    there = {
        reviewer.run: (score, reviewer)
        for score, reviewer in finished(results)
        if (not named or reviewer.run.model in wanted) and (reviewer.weights_of or reviewer.run in plan.specs)
    }
    if there:
        best = max(sorted(there), key=lambda run: there[run][0])
        return _planned(best, plan) if best in plan.specs else there[best][1]
    for key in wanted:
        if key in planned:
            return _planned(planned[key], plan)
    raise BadInput(
        f"review_model = {config.review_model!r} has no run under this configuration",
        where="config",
        do=f"choose from {', '.join(sorted(planned))}" if planned else "set models to available or paper",
    )


def _planned(run: Run, plan: Plan) -> Reviewer:
    spec = plan.specs[run]
    return Reviewer(run, spec.weights_of, planned=True, windows=_reads_windows(spec.settings))


def finished(results: str | Path) -> list[tuple[float, Reviewer]]:
    """Return the runs in ``results`` whose model can read a contract, each with its AUPR, sorted by run."""
    found = []
    for record in sorted(Path(results).glob(f"runs/{DATA}/read/*/*/seed*/run.json")):
        folder = record.parent
        run, text = _run(folder), record.read_bytes()
        settings = json.loads(text)["settings"]
        source, windows = _weights_of(run, settings), _reads_windows(settings)
        there = source is None or (Path(results) / source.folder / WEIGHTS).is_dir()
        if (
            _whole(run)
            and _marks(settings)
            and there
            and all((folder / name).exists() for name in files(windows))
        ):
            scores = pq.read_table(folder / "scores.parquet").to_pylist()
            score = next((x["value"] for x in scores if (x["metric"], x["group"]) == (METRIC, "all")), None)
            if score is not None:
                digest = hashlib.sha256(text).hexdigest()[:16]
                found.append((score, Reviewer(run, source, planned=False, record=digest, windows=windows)))
    return found


def files(windows: bool) -> tuple[str, ...]:
    """What a review reads of a run's folder, by whether its model reads ``windows``."""
    return (*FILES, READING) if windows else FILES


def _reads_windows(settings: Mapping[str, Any]) -> bool:
    return settings.get("kind") != LINEAR


def _marks(settings: Mapping[str, Any]) -> bool:
    """Whether a model marks what a reader looks for, and reads a contract as it is.

    A linear one may mark whole sentences as parties, since the evaluator lets them count, or want vectors.
    """
    return _reads_windows(settings) or (settings["relaxed"] is None and settings["features"] == "words")


def _weights_of(run: Run, settings: Mapping[str, Any]) -> Run | None:
    """The run whose weights another one read, by the settings in its record."""
    if not _reads_windows(settings):
        return replace(run, experiment="train")
    # Weights that a rule has made lie in a run's folder, wherever the results are.
    location = settings.get("weights") or ""
    return _run(Path(location).parent) if f"runs/{DATA}/" in location else None


def _run(folder: Path) -> Run:
    return Run(*folder.parts[-5:-1], int(folder.name.removeprefix("seed")))


def _whole(run: Run) -> bool:
    """Whether a run's model was trained on all training contracts, by us or before."""
    released = run.condition in ("as-released", "as-it-is", LINEAR)
    return run.experiment == "read" and (released or run.condition.endswith(f"-p{WHOLE}"))
