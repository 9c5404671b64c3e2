"""Prices, costs and budget of API calls, and the cache of answers: nothing is asked, or
paid for, twice.

The maximum cost of a call is recorded before the call and replaced by its actual cost
afterwards.  A call that a kill interrupts counts with its maximum, because the server
may have charged for it.

Cached answers are identified by the content of the question (model or server, and the
full request), so neither code nor order matters.  The cache is no output of a rule: a
rerun finds it as it was.
"""

import gzip
import hashlib
import json
import logging
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from zlib import error as ZlibError

from pydantic import Field

from lextables import ROOT
from lextables.pipeline.atomic import replacing
from lextables.pipeline.entries import Entry, entries
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.pipeline.locks import exclusive

PRICES = ROOT / "resources/prices.yaml"
MILLION = 1_000_000
MAX_TOKENS = 1_000_000_000  # of one answer; a larger count in an answer is not believed
LOCK_TIMEOUT = 600  # seconds
# Errors that any content of a damaged file may cause, including those of the caller's
# ``check``.
_DAMAGE = (
    BadInput,
    OSError,
    EOFError,
    ZlibError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
)
_log = logging.getLogger("lextables")


@dataclass(frozen=True)
class Limits:
    """Limits from the configuration; they affect duration and completion, never an
    answer.

    ``dollars`` and ``tokens`` apply to all jobs and reruns of one results folder
    together; ``tokens`` 0 means no token limit.  ``concurrency`` is the number of
    simultaneous calls of one job, ``requests_a_minute`` the rate of all jobs of the
    folder together (0: unlimited).
    """

    dollars: float = 5.0
    tokens: int = 0
    concurrency: int = 4
    requests_a_minute: int = 0


class Price(Entry):
    """Dollars per million tokens; one entry of `resources/prices.yaml`."""

    input: float = Field(ge=0)
    """Price of tokens that are sent."""
    cached: float | None = Field(default=None, ge=0)
    """Price of tokens sent that are in the API's cache; None: that of the others."""
    output: float = Field(ge=0)
    """Price of tokens that are received."""
    date: date
    """Day on which the source had this price."""
    source: str = Field(min_length=1)
    """Page with the price."""


class Cost(NamedTuple):
    """Cost of one or more calls."""

    dollars: float
    tokens: int


FREE = Cost(0.0, 0)


def load_prices(path: str | Path = PRICES) -> dict[str, Price]:
    """Read and check the table of prices; `BadInput` names the entry and key of the
    first error.
    """
    return entries(path, Price)


def price_of(
    model: str, base: str, limits: Limits, prices: Mapping[str, Price]
) -> Price | None:
    """Return the price of a server's model; None if the model has no price and the
    server is on this machine or there is a token limit.

    A dated name (``gpt-4o-2024-08-06``) has the price of the name without a date, if it
    has none of its own. Raises `BadInput` for any other model without a price.
    """
    undated = re.sub(r"-\d{4}-?\d\d-?\d\d$", "", model)
    for name in (model, undated):
        if name in prices:
            return prices[name]
    if on_loopback(base) or limits.tokens:
        return None
    raise BadInput(
        f"{model} has no price in resources/prices.yaml, so the budget in dollars cannot be enforced",
        where=base,
        do="add its price there, or set llm_tokens to the maximum number of tokens",
    )


def on_loopback(base: str) -> bool:
    """Whether an address is on this machine."""
    host = urlsplit(base).hostname or ""
    return host in ("localhost", "::1") or bool(re.fullmatch(r"127(\.\d+){3}", host))


def cost(price: Price | None, sent: int, received: int, cached: int = 0) -> Cost:
    """Return the cost of ``sent`` tokens, of which the server had ``cached``, and of
    ``received`` ones.
    """
    if price is None:
        return Cost(0.0, sent + received)
    cached_price = price.input if price.cached is None else price.cached
    input_cost = (sent - cached) * price.input + cached * cached_price
    dollars = (input_cost + received * price.output) / MILLION
    return Cost(dollars, sent + received)


def cost_of(usage: JsonObject, price: Price | None) -> Cost:
    """Return the cost of a call from the ``usage`` in its answer.

    An invalid one raises `ValueError`, `LookupError`, `TypeError`, `AttributeError` or
    `ArithmeticError`.
    """
    sent = int(usage["prompt_tokens"])
    received = int(usage.get("completion_tokens") or 0)
    details = usage.get("prompt_tokens_details") or {}
    cached = int(details.get("cached_tokens") or 0)
    if not MAX_TOKENS >= sent >= cached >= 0 or not MAX_TOKENS >= received >= 0:
        raise ValueError(f"usage {usage}")
    return cost(price, sent, received, cached)


class Ledger:
    """Costs and start times of all calls of a results folder, in ``ledger.sqlite``.

    Threads and jobs may use it simultaneously.  ``paid`` is the cost of this object's
    own finished calls.
    """

    def __init__(self, folder: str | Path, limits: Limits, model: str) -> None:
        """Use the ledger in ``folder``, which is created if necessary."""
        self._path = Path(folder) / "ledger.sqlite"
        self._limits = limits
        self._model = model
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._unfinished = 0
        self._changed = threading.Condition()
        self.paid = FREE

    @property
    def spent(self) -> Cost:
        """Cost of all jobs so far, reservations included."""
        with self._transaction() as database:
            return self._totals(database)[0]

    def reserve(self, most: Cost) -> tuple[int, float]:
        """Record a call that costs at most ``most``; return its number and when to
        start it (Unix time).

        While the budget does not suffice, waits for unfinished calls of this object,
        which may cost less than reserved; raises `BadInput` if there are none.
        """
        with self._changed:
            while True:
                with self._transaction() as database:
                    spent, last = self._totals(database)
                    if self._affordable(spent, most):
                        rate = self._limits.requests_a_minute
                        now = time.time()
                        start = now
                        if rate:
                            # At most an hour from now, even if another machine's clock
                            # is ahead.
                            start = max(now, min(last + 60 / rate, now + 3600))
                        row = "INSERT INTO calls (dollars, tokens, start) VALUES (?, ?, ?)"
                        number = database.execute(row, (*most, start)).lastrowid
                        assert number is not None  # a row was inserted
                        self._unfinished += 1
                        return number, start
                if not self._unfinished:
                    raise self._over_budget(spent, most)
                self._changed.wait()

    def charge(self, number: int, actual: Cost) -> None:
        """Replace the reservation of a call with its actual cost."""
        with self._changed:
            self._unfinished -= 1
            self._changed.notify_all()
            with self._transaction() as database:
                row = "UPDATE calls SET dollars = ?, tokens = ? WHERE number = ?"
                database.execute(row, (*actual, number))
            dollars = self.paid.dollars + actual.dollars
            tokens = self.paid.tokens + actual.tokens
            self.paid = Cost(dollars, tokens)

    def _affordable(self, spent: Cost, most: Cost) -> bool:
        """Whether a call of at most ``most`` keeps to both limits; a free call always
        keeps to that of dollars.
        """
        limits = self._limits
        if limits.tokens and spent.tokens + most.tokens > limits.tokens:
            return False
        # The tolerance covers rounding in the sum.
        fits = spent.dollars + most.dollars <= limits.dollars + 1e-9
        return fits or most.dollars == 0

    def _over_budget(self, spent: Cost, most: Cost) -> BadInput:
        """Return the error for a call that costs up to ``most``."""
        limits = self._limits
        dollars = f"{spent.dollars:.4f} of {limits.dollars:g} dollars"
        tokens = f"{spent.tokens:,}"
        if limits.tokens:
            tokens += f" of {limits.tokens:,}"
        call = f"{most.dollars:.4f} dollars and {most.tokens:,} tokens"
        return BadInput(
            f"{dollars} and {tokens} tokens are spent, and the next call may cost {call}",
            where=f"llm_budget, {self._model}",
            do="raise llm_budget or llm_tokens to continue; cached answers cost nothing",
        )

    def _totals(self, database: sqlite3.Connection) -> tuple[Cost, float]:
        """Return the cost of all calls and the latest start time."""
        row = "SELECT total(dollars), coalesce(sum(tokens), 0), coalesce(max(start), 0) FROM calls"
        dollars, tokens, last = database.execute(row).fetchone()
        return Cost(dollars, tokens), last

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the database, locked for other jobs until the end of the block."""
        columns = "number INTEGER PRIMARY KEY, dollars REAL, tokens INTEGER, start REAL"
        try:
            connection = sqlite3.connect(
                self._path, timeout=LOCK_TIMEOUT, isolation_level=None
            )
            with closing(connection) as database, database:
                database.execute("BEGIN IMMEDIATE")
                database.execute(f"CREATE TABLE IF NOT EXISTS calls ({columns})")
                yield database
        except sqlite3.Error as error:
            raise BadInput(
                f"the ledger of API costs cannot be used ({error})",
                where=str(self._path),
                do="put the results on a disk that supports file locks, or delete a damaged ledger",
            ) from error


def canonical(value: Any) -> bytes:
    """Return a JSON value as bytes; equal values give equal bytes."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


class AnswerCache:
    """Answers below ``folder``, one file each: ``xx/<SHA-256 of the
    question>.json.gz``.

    Files are written atomically; a damaged file counts as missing.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, question: JsonObject) -> Path:
        """Return the path of the answer to ``question``."""
        key = hashlib.sha256(canonical(question)).hexdigest()
        return self.folder / key[:2] / f"{key}.json.gz"

    def get(
        self, question: JsonObject, check: Callable[[Any], object] = bool
    ) -> Any | None:
        """Return the answer to ``question``; None if there is none.

        An answer for which ``check`` raises an error counts as damaged.  By default any
        answer is accepted.
        """
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
        self,
        question: JsonObject,
        ask: Callable[[], Any],
        check: Callable[[Any], object] = bool,
    ) -> Any:
        """Return the answer to ``question``; without one, call ``ask`` and store what
        it returns.

        Only one thread of all processes asks a question at a time; the others wait and
        use its answer.  A killed process releases its lock.
        """
        answer = self.get(question, check)
        if answer is not None:
            return answer
        path = self.path(question)
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.with_name(f".{path.name}.lock")
        with exclusive(lock):
            answer = self.get(question, check)
            if answer is None:
                answer = ask()
                self.put(question, answer)
            # Another process that now creates the lock file again finds the answer.
            lock.unlink(missing_ok=True)
        return answer

    def put(self, question: JsonObject, answer: Any) -> None:
        """Store an answer, a JSON value other than None."""
        record = canonical({"asked": question, "answered": answer})
        with replacing(self.path(question)) as temporary:
            temporary.write_bytes(gzip.compress(record, mtime=0))
