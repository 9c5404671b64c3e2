"""What calls cost, and a ledger that keeps all jobs of a folder of results within one budget.

A call is written into the ledger before it is made, with the most that it can cost, and again after it, with
what it did cost.  What a killed job had under way counts as spent: nobody knows that it was not.
"""

import fcntl
import ipaddress
import json
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from lextables import ROOT
from lextables.models.limits import Limits
from lextables.pipeline.errors import BadInput

PRICES = ROOT / "resources/prices.yaml"
MILLION = 1_000_000
MOST_TOKENS = 1_000_000_000  # that an answer is believed to have taken


class Price(BaseModel):
    """Dollars for a million tokens; one entry of `resources/prices.yaml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    input: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    output: float = Field(ge=0)
    date: date
    source: str = Field(min_length=1)


class Cost(NamedTuple):
    """What a call takes or took."""

    dollars: float
    tokens: int


NOTHING = Cost(0.0, 0)


class Exhausted(Exception):
    """A call was not made since it might have passed the budget: ``spent`` by then, and ``wanted`` by it."""

    def __init__(self, spent: Cost, wanted: Cost) -> None:
        super().__init__()
        self.spent, self.wanted = spent, wanted


def load_prices(path: str | Path = PRICES) -> dict[str, Price]:
    """Read and check the table of prices; `BadInput` names the entry and key of the first fault."""
    try:
        entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        return TypeAdapter(dict[str, Price]).validate_python(entries)
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(map(str, fault["loc"]))
        raise BadInput(f"{key}: {fault['msg']}", where=Path(path).name) from None


def price_of(model: str, base: str, limits: Limits, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of a server's model; None for one that costs nothing that is known of.

    That is one on this machine, or one that a limit of tokens holds; `BadInput` for any other.
    """
    dated = [name for name in prices if model == name or _date_follows(model, name)]
    if dated:
        return prices[max(dated, key=len)]
    if on_loopback(base) or limits.tokens:
        return None
    raise BadInput(
        f"{model} has no price in resources/prices.yaml, so a budget in dollars cannot hold it",
        where=base,
        do="add its price there, or set llm_tokens to the most tokens that it may take",
    )


def _date_follows(model: str, name: str) -> bool:
    digits = model.removeprefix(f"{name}-").replace("-", "")
    return model.startswith(f"{name}-") and len(digits) == 8 and digits.isdigit()


def on_loopback(base: str) -> bool:
    """Whether an address is this machine's own."""
    host = urlsplit(base).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def cost(price: Price | None, sent: int, received: int, again: int = 0) -> Cost:
    """What tokens cost, of which ``again`` were in the server's cache."""
    if price is None:
        return Cost(0.0, sent + received)
    cheaper = price.input if price.cached is None else price.cached
    dollars = ((sent - again) * price.input + again * cheaper + received * price.output) / MILLION
    return Cost(dollars, sent + received)


def cost_of(usage: Any, price: Price | None) -> Cost | None:
    """What a call did cost by the ``usage`` in its answer; None where that says nothing."""
    try:
        sent, received = int(usage["prompt_tokens"]), int(usage.get("completion_tokens") or 0)
        again = int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    sound = MOST_TOKENS >= sent >= again >= 0 and MOST_TOKENS >= received >= 0
    return cost(price, sent, received, again) if sound else None


class Ledger:
    """The ledger in ``folder``: one for all jobs, of which several may write at once, and for all reruns.

    It is one JSON object a line: a call's id, and what it may cost or did.
    """

    def __init__(self, folder: str | Path, limits: Limits) -> None:
        self._path, self._limits = Path(folder) / "ledger.jsonl", limits
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._read_to, self._calls = 0, {}
        self._spent = NOTHING
        self._under_way: set[str] = set()
        self._changed = threading.Condition()
        self.paid = NOTHING

    @property
    def spent(self) -> Cost:
        """What all jobs have spent or reserved until now."""
        with self._changed, self._turn():
            return self._spent

    def reserve(self, most: Cost) -> str:
        """Write down a call that may cost ``most``, and return its id.

        Raises `Exhausted` where that might pass the budget, even when this job's other calls have come to
        less than was reserved for them, for whose end it waits.
        """
        with self._changed:
            while True:
                with self._turn() as file:
                    spent = self._spent
                    if self._allowed(spent, most):
                        number = uuid.uuid4().hex
                        self._write(file, number, most)
                        self._under_way.add(number)
                        return number
                if not self._under_way:
                    raise Exhausted(spent, most)
                self._changed.wait()

    def settle(self, number: str, actual: Cost) -> None:
        """Write down what a call did cost."""
        with self._changed:
            with self._turn() as file:
                self._write(file, number, actual)
            self.paid = _plus(self.paid, actual)
            self._under_way.discard(number)
            self._changed.notify_all()

    def _allowed(self, spent: Cost, most: Cost) -> bool:
        then = _plus(spent, most)
        # Sums of thousandths of cents are not exact.
        within = most.dollars == 0 or then.dollars <= self._limits.dollars + 1e-9
        return within and (not self._limits.tokens or then.tokens <= self._limits.tokens)

    @contextmanager
    def _turn(self) -> Iterator[IO[bytes]]:
        with self._path.open("a+b") as file:
            locked(file, self._path)
            self._catch_up(file)
            yield file

    def _catch_up(self, file: IO[bytes]) -> None:
        if self._read_to > file.seek(0, 2):  # somebody threw the ledger away
            self._read_to, self._calls, self._spent = 0, {}, NOTHING
        file.seek(self._read_to)
        new = file.read()
        if new and not new.endswith(b"\n"):  # a killed job's last words
            file.write(b"\n")
            file.flush()
            new += b"\n"
        self._read_to += len(new)
        for line in new.splitlines():
            try:
                entry = json.loads(line)
                number, now = str(entry["id"]), Cost(float(entry["dollars"]), int(entry["tokens"]))
            except (ValueError, KeyError, TypeError):
                continue  # cut short: the call was not made yet, or counts at the most that it may cost
            before, self._calls[number] = self._calls.get(number, NOTHING), now
            self._spent = _plus(self._spent, Cost(now.dollars - before.dollars, now.tokens - before.tokens))

    def _write(self, file: IO[bytes], number: str, now: Cost) -> None:
        line = json.dumps({"id": number, "dollars": round(now.dollars, 9), "tokens": now.tokens}) + "\n"
        file.write(line.encode())
        file.flush()
        self._catch_up(file)


def _plus(one: Cost, other: Cost) -> Cost:
    return Cost(one.dollars + other.dollars, one.tokens + other.tokens)


def locked(file: IO[Any], path: Path) -> None:
    """Hold a file until it is closed; `BadInput` on a disk where files cannot be held."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        raise BadInput(
            f"this disk keeps no locks ({error.strerror}), without which jobs could pass the budget together",
            where=str(path),
            do="put the results on another disk",
        ) from error


class Pace:
    """Turns of all jobs that work in ``folder``, so many a minute; 0 is as many as are asked for."""

    def __init__(self, folder: str | Path, a_minute: int) -> None:
        self._place, self._apart = Path(folder) / "pace.json", 60 / a_minute if a_minute else 0.0

    def wait(self) -> None:
        """Wait for the next turn."""
        if not self._apart:
            return
        with self._place.open("a+", encoding="utf-8") as file:
            locked(file, self._place)
            file.seek(0)
            try:
                turn = max(time.time(), min(float(file.read()), time.time() + 3600))
            except ValueError:  # nobody had a turn yet
                turn = time.time()
            file.truncate(0)
            file.write(str(turn + self._apart))
        time.sleep(max(0.0, turn - time.time()))
