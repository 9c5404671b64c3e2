"""What was asked of models and what they answered, kept on disk: nothing is asked, or paid, twice.

A call is known by its content (who is asked, and the whole of the question), so neither the code that asks
nor the order of asking matters.  The files lie beside the results, as checkpoints do: no rule declares them.
"""

import gzip
import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypeVar
from zlib import error as ZlibError

from tqdm import tqdm

from lextables.models.language_model import Choice, LanguageModel, Prompt, Request, Weighed, Written
from lextables.models.spending import locked
from lextables.pipeline.atomic import replacing

Asked = TypeVar("Asked", Choice, Request)
Answered = TypeVar("Answered")

_DAMAGE = (OSError, EOFError, ZlibError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
_log = logging.getLogger("lextables")


def canonical(value: Any) -> str:
    """Return a JSON value as text, alike for all values that are equal."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of `canonical`."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


class Calls:
    """The calls kept below ``folder``: ``xx/<sha256 of what was asked>.json.gz``.

    Each is written whole or not at all.  One that was cut or changed since is as if it were not there.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, asked: Mapping[str, Any]) -> Path:
        """Where the answer to ``asked`` is kept."""
        key = digest(asked)
        return self.folder / key[:2] / f"{key}.json.gz"

    def kept(self, asked: Mapping[str, Any], check: Callable[[Any], object] = bool) -> Any | None:
        """Return what was answered to ``asked``; None where nothing whole is kept that passes ``check``."""
        path = self.path(asked)
        try:
            record = json.loads(gzip.decompress(path.read_bytes()))
            sound = record["asked"] == asked and record["sha256"] == digest(record["answered"])
            check(record["answered"])
        except FileNotFoundError:
            return None
        except _DAMAGE:
            sound = False
        if not sound:
            _log.warning("%s is damaged and is asked for again", path)
            return None
        return record["answered"]

    def answered(
        self, asked: Mapping[str, Any], ask: Callable[[], Any], check: Callable[[Any], object] = bool
    ) -> Any:
        """Return what was answered to ``asked``, by ``ask`` where nothing whole is kept.

        Of all threads and processes one asks at a time, and the others then find its answer; the lock of one
        that is killed goes with it.
        """
        if (known := self.kept(asked, check)) is not None:
            return known
        path = self.path(asked)
        lock = path.with_name(f".{path.name}.lock")
        lock.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("a") as file:
            locked(file, lock)
            if (known := self.kept(asked, check)) is None:
                known = ask()
                self.keep(asked, known)
            # Now that the answer is kept, whoever locks another file of this name finds it.
            lock.unlink(missing_ok=True)
        return known

    def keep(self, asked: Mapping[str, Any], answered: Any) -> None:
        """Keep an answer, which is JSON and not None."""
        record = {"asked": asked, "answered": answered, "sha256": digest(answered)}
        with replacing(self.path(asked)) as temporary:
            temporary.write_bytes(gzip.compress(canonical(record).encode("utf-8", "surrogatepass"), mtime=0))


class Answering(LanguageModel, Protocol):
    """A model that can be asked for one answer at a time."""

    def weighing(self, choices: Sequence[Choice]) -> Iterator[Callable[[], Weighed]]:
        """What gives each answer of `weigh` when it is called."""
        ...

    def writing(self, requests: Sequence[Request]) -> Iterator[Callable[[], Written]]:
        """What gives each answer of `write` when it is called."""
        ...


class KeptModel:
    """A model on this machine, each answer of which is kept as soon as it is there.

    ``identity`` is all that an answer depends on beside the question.
    """

    def __init__(self, model: Answering, calls: Calls, identity: Mapping[str, Any]) -> None:
        self.name, self.window = model.name, model.window
        self._model, self._calls, self._identity = model, calls, dict(identity)

    def tokens(self, prompt: Prompt) -> int:
        """As the model itself tells."""
        return self._model.tokens(prompt)

    def expect(self, requests: int, characters: int) -> None:
        """Write into the log what it is about to be asked; it costs nothing."""
        _log.info("%s: %d requests at most, of %d characters together", self.name, requests, characters)

    def weigh(self, choices: Sequence[Choice]) -> list[Weighed]:
        """As the model itself does, which is asked for what is not kept."""
        return [
            Weighed(told and tuple(told))
            for (told,) in self._each(
                choices, self._model.weighing, lambda weighed: [weighed.log_probabilities]
            )
        ]

    def write(self, requests: Sequence[Request]) -> list[Written]:
        """As the model itself does, which is asked for what is not kept."""
        return [
            Written(text, cut)
            for text, cut in self._each(requests, self._model.writing, lambda w: [w.text, w.cut])
        ]

    def _each(
        self,
        asked: Sequence[Asked],
        answers: Callable[[Sequence[Asked]], Iterator[Callable[[], Answered]]],
        record: Callable[[Answered], list[Any]],
    ) -> list[list[Any]]:
        keys = [json.loads(json.dumps({"by": self._identity} | asdict(one))) for one in asked]
        kept = [self._calls.kept(key) for key in keys]
        missing = [place for place, found in enumerate(kept) if found is None]
        made = answers([asked[place] for place in missing])
        shown = tqdm(made, total=len(missing), desc=self.name, disable=not missing)
        for place, evaluate in zip(missing, shown, strict=True):
            kept[place] = self._calls.answered(keys[place], lambda evaluate=evaluate: record(evaluate()))
        return kept
