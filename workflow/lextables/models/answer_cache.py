"""Cache of answers of language and embedding models: no question is asked, or paid for, twice.

Answers are identified by the content of the question (model or server, and the full request), so neither code
nor order matters.  The cache is no output of a rule: a rerun finds it as it was.
"""

import gzip
import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from zlib import error as ZlibError

from filelock import FileLock

from lextables.pipeline.atomic import replacing

_DAMAGE = (OSError, EOFError, ZlibError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
_log = logging.getLogger("lextables")


def canonical(value: Any) -> str:
    """Return a JSON value as text; equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class AnswerCache:
    """Answers below ``folder``, one file each: ``xx/<SHA-256 of the question>.json.gz``.

    Files are written atomically; a damaged file counts as missing.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, question: Mapping[str, Any]) -> Path:
        """Return the path of the answer to ``question``."""
        key = hashlib.sha256(_encoded(question)).hexdigest()
        return self.folder / key[:2] / f"{key}.json.gz"

    def get(self, question: Mapping[str, Any], check: Callable[[Any], object] = bool) -> Any | None:
        """Return the answer to ``question``, or None if there is none for which ``check`` raises no error."""
        path = self.path(question)
        try:
            record = json.loads(gzip.decompress(path.read_bytes()))
            check(record["answered"])
            if record["asked"] == question:
                return record["answered"]
        except FileNotFoundError:
            return None
        except _DAMAGE:
            pass
        _log.warning("%s is damaged; the question is asked again", path)
        return None

    def get_or_ask(
        self, question: Mapping[str, Any], ask: Callable[[], Any], check: Callable[[Any], object] = bool
    ) -> Any:
        """Return the answer to ``question``; without one, call ``ask`` and store what it returns.

        Only one thread of all processes asks a question at a time; the others wait and use its answer.  A
        killed process releases its lock.
        """
        if (answer := self.get(question, check)) is None:
            path = self.path(question)
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = path.with_name(f".{path.name}.lock")
            with FileLock(lock):
                if (answer := self.get(question, check)) is None:
                    answer = ask()
                    self.put(question, answer)
                # Another process that now creates the lock file again finds the answer.
                lock.unlink(missing_ok=True)
        return answer

    def put(self, question: Mapping[str, Any], answer: Any) -> None:
        """Store an answer, a JSON value other than None."""
        record = {"asked": question, "answered": answer}
        with replacing(self.path(question)) as temporary:
            temporary.write_bytes(gzip.compress(_encoded(record), mtime=0))


def _encoded(value: Any) -> bytes:
    return canonical(value).encode("utf-8", "surrogatepass")
