"""What a run was set to and what it took, from its `run.json`, as a table says it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lextables.tables.render import duration

LINEAR_FEATURES = {"words": "words and pairs of words", "vectors": "vectors of sentences"}


def record(root: Path, folder: str) -> dict[str, Any]:
    """Return the `run.json` of the run in ``folder`` below ``root``."""
    return json.loads((root / folder / "run.json").read_text(encoding="utf-8"))


def training(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the record of the training behind a run: that of the run whose weights it read, or its own.

    Of a run that read the weights of several it is that of the first.
    """
    found = run.get("trained", run)
    return found[0] if isinstance(found, list) else found


def given_in_words(run: Mapping[str, Any]) -> str:
    """Where the predictions of a run come from that a user had already; empty for any other run."""
    return f"predictions given in {run['given']['file']}" if "given" in run else ""


def asked_in_words(run: Mapping[str, Any]) -> str:
    """How a language model was asked, which learns nothing; empty for any other run."""
    return "a language model, asked as it is" if "asked" in run else ""


def time_in_words(records: Sequence[Mapping[str, Any]]) -> str:
    """The time of a row's runs together, trainings and readings, and the devices."""
    if given_in_words(records[0]):
        return "not known"
    runs = []
    for run in records:
        trained = run.get("trained") or []
        runs += [*(trained if isinstance(trained, list) else [trained]), run]
    devices = ", ".join(dict.fromkeys(run["device"] for run in runs))
    seeds = f"{len(records)} seeds, " if len(records) > 1 else ""
    return f"{seeds}{duration(sum(run['seconds'] for run in runs))} on {devices}"


def in_bfloat16(trained: Mapping[str, Any]) -> bool:
    """Whether a training was in bfloat16, by its `run.json`: a GPU does so whatever its grid says."""
    return trained.get("precision") == "bfloat16"


def linear_settings_in_words(settings: Mapping[str, Any]) -> str:
    """Return what the score of a linear classifier depends on."""
    features = settings["features"]
    runs = f"runs of up to {settings['longest']} words that {settings['least']} texts of a head have"
    vectors = f"vectors of pieces of {settings['piece']} words"
    seen = {"words": runs, "vectors": vectors, "both": f"{runs}, {vectors}"}[features]
    return f"a model for each head, {seen}, C = {settings['penalty'][features]:g}"


def span_settings_in_words(run: Mapping[str, Any]) -> str:
    """Return what the score of a span-extraction run depends on."""
    settings, trained = run["settings"], training(run)
    if words := given_in_words(run) or asked_in_words(run):
        return words
    if settings.get("kind") == "linear":
        features = " and ".join(
            LINEAR_FEATURES[name] for name in ("words", "vectors") if settings["features"] in (name, "both")
        )
        return (
            f"{features}, {settings['folds']} folds of the training contracts to calibrate, "
            f"the {settings['units']} likeliest units of a contract a question"
        )
    words = ["not trained here"]
    if trial := trained.get("trial"):
        epochs = "1 epoch" if trial["epochs"] == 1 else f"{trial['epochs']} epochs"
        tried = settings["tried"]
        best = f", the best of {tried} settings on held-out contracts" if tried > 1 else ""
        words = [
            f"learning rate {trial['learning_rate']:g} for {epochs}{best}",
            f"{trained['updates']} updates of {trained['settings']['batch_size']} windows",
        ]
    words.append(f"windows of {settings['max_length']} tokens, {settings['step']} apart")
    if settings["windows_per_question"] is not None:
        words.append(f"{settings['windows_per_question']} windows of a contract a question")
    if settings["bf16"] or in_bfloat16(trained):
        words.append("bfloat16")
    return f"grid {settings['grid']}: {', '.join(words)}"
