"""A review of a user's contract: its name, its questions, and the model that reads the
contract.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lextables.pipeline import user_rows
from lextables.pipeline.config import Config
from lextables.pipeline.content import sha256_of
from lextables.pipeline.dataset import read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json
from lextables.pipeline.run import Run, RunSettings
from lextables.registry.paper import Review
from lextables.review.contract import check_file
from lextables.tasks.planner import WHOLE, Plan

CONTRACT = "contract"  # id of the user's contract
LINEAR = "linear"  # `kind` in a linear model's settings, and the condition of its run
METRIC = "AUPR"  # decides which model is best
# Files of a run's folder that a review reads.
FILES = ("run.json", "predictions.parquet", "scores.parquet")
READING = "reading"  # folder that records how the run cut contracts into windows
WEIGHTS = "weights"  # folder of weights in a run's folder
LONGEST_NAME = 200  # bytes; a file name may have 255, and digest, suffix and temporary files need some
_SPECIAL = re.compile(r'[{}<>:"/\\|?*#%]')


def question_id(category: str) -> str:
    """Return the id of a category's question about the contract."""
    return f"{CONTRACT}__{category}"


def review_name(path: str) -> str:
    """Return the name of a contract's review: its file name and eight digits of the
    SHA-256 of the file.

    A character that is special in paths, URLs or Snakemake is replaced by ``_``, and a
    long name is cut. Raises `BadInput` for what is no regular file, or too large,
    without reading it.
    """
    contract = Path(path)
    check_file(contract)
    name = ""
    for letter in _SPECIAL.sub("_", contract.name):
        name += letter if letter.isprintable() else "_"
    short = name.encode()[:LONGEST_NAME].decode(errors="ignore")
    digest = sha256_of(contract)
    return f"{short}-{digest[:8]}"


@dataclass(frozen=True)
class Reviewer:
    """A run that read contracts, and the run with its weights (None for an
    off-the-shelf model).

    ``planned``: the rules produce the run under this configuration.  Otherwise it is in
    the results from another configuration, and ``record`` is the digest of its
    `run.json`.  ``windows``: the model reads windows, which linear models do not.
    """

    run: Run
    weights_of: Run | None
    planned: bool
    record: str = ""
    windows: bool = True

    @property
    def files(self) -> Iterator[str]:
        """Paths that the review reads, relative to the results."""
        for name in FILES:
            yield f"{self.run.folder}/{name}"
        if self.windows:
            yield f"{self.run.folder}/{READING}"
        if self.weights_of:
            yield f"{self.weights_of.folder}/{WEIGHTS}"

    def weights(self, results: str | Path) -> str:
        """Return the folder of the weights in ``results``; "" for an off-the-shelf
        model.
        """
        if self.weights_of is None:
            return ""
        return f"{results}/{self.weights_of.folder}/{WEIGHTS}"


def choose(config: Config, review: Review, plan: Plan, results: str | Path) -> Reviewer:
    """Return the best available model, or the model of the config key ``review_model``.

    Of the finished runs in ``results``, the one with the best AUPR on the test
    contracts is used.  If there is none, it is the first of the review's models that
    has a run under this configuration.  Raises `BadInput` if there is no such run.
    """
    planned: dict[str, Run] = {}
    for run in sorted(plan.specs):
        if _uses_all_training_data(run) and _can_review(plan.specs[run].settings):
            planned.setdefault(run.model, run)
    requested = config.review_model != "auto"
    candidates = review.models
    if requested:
        # A model is named by its key or by its row.
        key = user_rows.key(config.review_model)
        candidates = (key.removeprefix(user_rows.PREFIX), key)
    best = None
    best_score = -1.0
    for score, reviewer in finished(results, review.of):
        is_candidate = not requested or reviewer.run.model in candidates
        # Only a configuration that lists a user's off-the-shelf model knows the
        # location of its weights.
        has_weights = reviewer.weights_of or reviewer.run in plan.specs
        if is_candidate and has_weights and score > best_score:
            best = reviewer
            best_score = score
    if best:
        if best.run not in plan.specs:
            return best
        return _planned(best.run, plan)
    for key in candidates:
        if key in planned:
            return _planned(planned[key], plan)
    do = "set models to available or paper"
    if planned:
        do = f"choose from {', '.join(sorted(planned))}"
    what = f"review_model = {config.review_model!r} has no run under this configuration"
    raise BadInput(what, where="config", do=do)


def _planned(run: Run, plan: Plan) -> Reviewer:
    """Return the reviewer of a run that the rules produce."""
    spec = plan.specs[run]
    windows = _reads_windows(spec.settings)
    return Reviewer(run, spec.weights_of, planned=True, windows=windows)


def finished(results: str | Path, data_set: str) -> list[tuple[float, Reviewer]]:
    """Return (AUPR, reviewer) of the runs on a data set in ``results`` whose model can
    read a contract, sorted by run.
    """
    runs = []
    for record in sorted(
        Path(results).glob(f"runs/{data_set}/read/*/*/seed*/run.json")
    ):
        run = _run(record.parent)
        digest = hashlib.sha256(record.read_bytes()).hexdigest()
        settings = read_json(record, RunSettings)["settings"]
        if not _uses_all_training_data(run) or not _can_review(settings):
            continue
        reviewer = Reviewer(
            run,
            _weights_of(run, settings),
            planned=False,
            record=digest[:16],
            windows=_reads_windows(settings),
        )
        if not all(Path(results, file).exists() for file in reviewer.files):
            continue
        for row in read(record.parent / "scores.parquet"):
            if (row["metric"], row["group"]) == (METRIC, "all"):
                runs.append((row["value"], reviewer))
    return sorted(runs, key=lambda scored: scored[1].run)


def _reads_windows(settings: Mapping[str, Any]) -> bool:
    """Whether a model reads windows: all but linear models do."""
    return settings.get("kind") != LINEAR


def _can_review(settings: Mapping[str, Any]) -> bool:
    """Whether a model can review a contract.

    Some linear models cannot: those that mark whole sentences as parties, because the
    evaluator accepts these, and those that need vectors.
    """
    if _reads_windows(settings):
        return True
    return settings["relaxed"] is None and settings["features"] == "words"


def _weights_of(run: Run, settings: Mapping[str, Any]) -> Run | None:
    """Return the run with the weights of ``run``, by its recorded settings."""
    if not _reads_windows(settings):
        return replace(run, experiment="train")
    # Weights made by a rule are in a run's folder, under any results folder.
    location = settings.get("weights") or ""
    if f"runs/{run.data_set}/" not in location:
        return None
    return _run(Path(location).parent)


def _run(folder: Path) -> Run:
    """Return the run with this folder."""
    data_set, experiment, model, condition, seed = folder.parts[-5:]
    return Run(data_set, experiment, model, condition, int(seed.removeprefix("seed")))


def _uses_all_training_data(run: Run) -> bool:
    """Whether a run's model was trained on all training contracts, here or
    elsewhere.
    """
    if run.experiment != "read":
        return False
    released = ("as-released", "as-it-is", LINEAR)
    return run.condition in released or run.condition.endswith(f"-p{WHOLE}")
