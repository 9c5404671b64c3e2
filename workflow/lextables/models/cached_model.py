"""Opens the language model named by a run's settings; its answers are cached."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tqdm import tqdm

from lextables.models.device import DeviceChoice
from lextables.models.files import COMMIT
from lextables.models.language_model import (
    Choice,
    LanguageModel,
    Prompt,
    Request,
    Weighed,
    Written,
)
from lextables.models.spending import AnswerCache, Limits
from lextables.models.weights import weights_folder
from lextables.pipeline.files import JsonObject

RequestType = TypeVar("RequestType", Choice, Request)
Answer = TypeVar("Answer")
# Functions that compute one answer each, when they are called.
Computations = Iterator[Callable[[], Answer]]
# Name of the folder of a model in the hub's cache: the commit of its files.
_log = logging.getLogger("lextables")


def open_language_model(
    settings: Mapping[str, Any], cache: str | Path, limits: Limits, device: DeviceChoice
) -> LanguageModel:
    """Return the model of a run's ``settings``; answers are cached in the folder
    ``cache``.

    ``settings`` are those of `resolve.model_settings`: ``model`` (its name),
    ``weights``, ``revision``, ``content`` (for weights in a folder), ``endpoint``
    (`chat`, the default, or `completions`) and ``window`` (tokens, where known).  For a
    server's model ``weights`` is its name on the server and ``api`` the server's base
    address.
    """
    if "api" in settings:
        from lextables.models.language_model_server import ServerLanguageModel

        return ServerLanguageModel(settings, cache, limits)
    return _local(settings, cache, device)


def of_job(settings: Mapping[str, Any], job: Any) -> LanguageModel:
    """Return the model of ``settings`` for a job.

    The job has the attributes ``device``, and ``asking`` with ``limits`` and the folder
    of cached answers, ``kept`` (`planning.jobs`).
    """
    asking = job.asking
    limits = Limits(**asking["limits"])
    cache = asking["kept"]
    return open_language_model(settings, cache, limits, job.device)


def _local(
    settings: Mapping[str, Any], cache: str | Path, device_choice: DeviceChoice
) -> "CachedModel":
    """Return a model with weights on this machine, with its answers cached.

    Weights are identified by their content or their commit on the hub.  The answers of
    others are not cached.
    """
    from lextables.models.device import describe, pick
    from lextables.models.local_language_model import CausalModel, LocalLanguageModel

    device = pick(device_choice)
    endpoint = settings.get("endpoint") or "chat"
    folder = weights_folder(settings)
    engine = CausalModel(folder, device, endpoint)
    libraries = f"transformers {version('transformers')}, torch {version('torch')}"
    model = LocalLanguageModel(settings["model"], engine, endpoint)
    identity: JsonObject = {
        "weights": settings["weights"],
        # Not that of the settings: a branch moves.
        "revision": _commit(folder),
        "content": settings.get("content"),
        "endpoint": endpoint,
        "by": libraries,
        "device": describe(device),
    }
    # Notes on how prompts are adapted to the model's chat template, if they are.
    if engine.adapted:
        identity["adapted"] = engine.adapted
    if not engine.evaluates_parts:
        identity["evaluated"] = "whole prompts"
    is_identified = identity["content"] or identity["revision"]
    return CachedModel(model, AnswerCache(cache) if is_identified else None, identity)


def _commit(folder: str) -> str | None:
    """Return the commit of a folder of the hub's cache, which is its name; None for
    another folder.
    """
    path = Path(folder)
    in_cache = path.parent.name == "snapshots" and COMMIT.fullmatch(path.name)
    return path.name if in_cache else None


class OneByOne(Protocol):
    """A model whose answers can be computed one by one."""

    name: str
    window: int | None

    def tokens(self, prompt: Prompt) -> int:
        """Return the number of tokens of a prompt."""
        ...

    def weighing(self, choices: Sequence[Choice]) -> Computations[Weighed]:
        """Yield a function for each choice, which computes and returns its answer."""
        ...

    def writing(self, requests: Sequence[Request]) -> Computations[Written]:
        """Yield a function for each request, which computes and returns its answer."""
        ...


class CachedModel:
    """A model on this machine; each answer is cached as soon as it is computed.

    ``identity`` is everything that an answer depends on besides the question.  It is
    part of the key of each cached answer.  With ``cache`` None nothing is cached.
    """

    def __init__(
        self, model: OneByOne, cache: AnswerCache | None, identity: JsonObject
    ) -> None:
        self.name = model.name
        self.window = model.window
        self.tokens = model.tokens
        self._model = model
        self._cache = cache
        self._identity = identity
        self.device = identity["device"]

    def expect(self, requests: int, characters: int) -> None:
        """Log the maximum number and size of the requests that follow."""
        _log.info(
            "%s: up to %d requests of %d characters in total",
            self.name,
            requests,
            characters,
        )

    def weigh(self, choices: Sequence[Choice]) -> list[Weighed]:
        """As `LanguageModel.weigh`."""
        weighed = []
        # The only field of a `Weighed`, as a list of JSON.
        for (log_probabilities,) in self._answers(choices, self._model.weighing):
            if log_probabilities is not None:
                log_probabilities = tuple(log_probabilities)
            weighed.append(Weighed(log_probabilities))
        return weighed

    def write(self, requests: Sequence[Request]) -> list[Written]:
        """As `LanguageModel.write`."""
        written = []
        for text, cut in self._answers(requests, self._model.writing):
            written.append(Written(text, cut))
        return written

    def _answers(
        self,
        questions: Sequence[RequestType],
        computations_of: Callable[[Sequence[RequestType]], Computations[Answer]],
    ) -> list[list[Any]]:
        """Return the fields of the answer to each question, as values of JSON.

        Answers that are not cached are computed, and then cached.  ``computations_of``
        is the model's `weighing` or `writing`.
        """
        keys = []
        for question in questions:
            key = {"by": self._identity, **asdict(question)}
            # The cache compares keys with those in its files, which have no tuples.
            keys.append(json.loads(json.dumps(key)))
        answers: list[Any] = [None] * len(keys)
        if self._cache:
            answers = [self._cache.get(key) for key in keys]
        missing = [number for number, answer in enumerate(answers) if answer is None]
        pending = computations_of([questions[number] for number in missing])
        bar = tqdm(pending, total=len(missing), desc=self.name, disable=not missing)
        for number, compute in zip(missing, bar, strict=True):
            ask = partial(_fields, compute)
            if self._cache:
                answers[number] = self._cache.get_or_ask(keys[number], ask)
            else:
                answers[number] = ask()
        return answers


def _fields(compute: Callable[[], Answer]) -> list[Any]:
    """Compute an answer, and return its fields."""
    answer = compute()
    return list(vars(answer).values())
