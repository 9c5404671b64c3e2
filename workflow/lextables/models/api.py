"""Calls of an OpenAI-compatible API: kept, within a budget and at a pace, and made again where that may help.

The key comes from the environment and stands in no setting, file, log or sentence, even where a server sends
it back.
"""

import email.utils
import json
import logging
import os
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx2
import openai
from tqdm import tqdm

from lextables.errors import BadInput, NotNow
from lextables.models.kept_calls import Calls, canonical, digest
from lextables.models.limits import Limits
from lextables.models.spending import (
    NOTHING,
    Cost,
    Exhausted,
    Ledger,
    Pace,
    cost,
    cost_of,
    load_prices,
    on_loopback,
    price_of,
)

KEY = "OPENAI_API_KEY"
ATTEMPTS = 8
FIRST_WAIT, LONGEST_WAIT = 1.0, 120.0  # seconds
TIMEOUT = 600.0  # seconds; a long text on a server without a GPU takes minutes
# What a server puts around a prompt, in tokens, and more.
AROUND = 256
CHARACTERS_A_TOKEN = 4  # of English, about
_FORM = (KeyError, IndexError, TypeError, AttributeError, ValueError)
Answer = TypeVar("Answer")
_log = logging.getLogger("lextables")


class Call(NamedTuple):
    """One call: its path below the base address, its body, and how many tokens its answer may have."""

    path: str
    body: Mapping[str, Any]
    answer: int


class Refused(BadInput):
    """A request that the server will not answer, whenever it is asked; ``said`` is its reason."""

    def __init__(self, said: str, **sentence: str) -> None:
        super().__init__(**sentence)
        self.said = said


class Api:
    """One model of one server, with what it answered before in the folder ``kept``."""

    def __init__(self, base: str, model: str, kept: str | Path, limits: Limits) -> None:
        """`BadInput` where the server needs a key and there is none, or the model has no price."""
        key = os.environ.get(KEY) or ("none" if on_loopback(base) else "")
        if not key:
            raise BadInput(
                f"{model} needs a key for {base}",
                where=f"environment variable {KEY}",
                do="set it, or empty llm",
            )
        self._price = price_of(model, base, limits, load_prices())
        self._secret = key if key != "none" else ""
        self._base, self._model, self._limits = base, model, limits
        self._calls, self._ledger = Calls(kept), Ledger(kept, limits)
        self._pace = Pace(kept, limits.requests_a_minute)
        # An address that sends elsewhere would be handed the texts, if not the key.
        self._client = openai.OpenAI(
            base_url=base,
            api_key=key,
            max_retries=0,
            timeout=TIMEOUT,
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        )
        for name in ("httpx", "httpx2"):  # a line in the log for each call
            logging.getLogger(name).setLevel(logging.WARNING)
        self._told = False
        self._turns: dict[str, threading.Lock] = defaultdict(threading.Lock)

    def kept(self, call: Call) -> Any | None:
        """Return what was answered to a call before; None where it was not made."""
        return self._calls.kept(self._asked(call))

    def ask(self, call: Call, check: Callable[[Any], object]) -> Any:
        """Return the JSON that the server answers, now or before.

        ``check`` reads of it what it is asked for, and so finds an answer of another form.  Raises `Refused`
        where the server never will, `NotNow` where it does not now, `Exhausted` where the budget ends.
        """
        asked = self._asked(call)
        with self._turns[digest(asked)]:
            if (answered := self._calls.kept(asked)) is None:
                answered = self._made(call, check)
                self._calls.keep(asked, answered)
        return answered

    def all(self, first: Sequence[Call], asks: Sequence[Callable[[], Answer]], what: str) -> list[Answer]:
        """Return what each of ``asks``, which call `ask`, gives; several are under way at once.

        ``first`` are the first call of each, by which the cost is told before any is made.  When one fails,
        those that are under way end and are kept, and no other begins.
        """
        self._announce(first, what)
        with (
            ThreadPoolExecutor(self._limits.concurrency) as pool,
            tqdm(total=len(asks), desc=f"{self._model}: {what}") as bar,
        ):
            waiting = [pool.submit(ask) for ask in asks]
            try:
                for done in as_completed(waiting):
                    done.result()
                    bar.set_postfix_str(f"{self._ledger.paid.dollars:.4f} dollars", refresh=False)
                    bar.update()
            except Exhausted as fault:
                pool.shutdown(cancel_futures=True)
                raise self._ended(fault, sum(map(_answered, waiting)), len(waiting), what) from None
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return [one.result() for one in waiting]

    def _asked(self, call: Call) -> dict[str, Any]:
        return {"api": self._base.rstrip("/"), "path": call.path, "body": call.body}

    def _most(self, call: Call) -> Cost:
        # No tokenizer makes more tokens of a text than it has bytes.
        return cost(self._price, len(canonical(call.body).encode()) + AROUND, call.answer)

    def expect(self, requests: int, characters: int) -> None:
        """Say what is about to be asked, all in all and at most: calls that are kept cost nothing."""
        about = cost(self._price, characters // CHARACTERS_A_TOKEN, requests)
        short = about.dollars > self._limits.dollars - self._ledger.spent.dollars
        more = ", more than the budget has left" if short and about.dollars else ""
        self._tell(f"up to {requests:,} requests, kept ones among them{more}", about)
        self._told = True

    def _announce(self, calls: Sequence[Call], what: str) -> None:
        missing = [call for call in calls if not self._calls.path(self._asked(call)).is_file()]
        if missing and not self._told:
            sent = sum(len(canonical(call.body)) for call in missing) // CHARACTERS_A_TOKEN
            about = cost(self._price, sent, sum(call.answer for call in missing))
            kept = len(calls) - len(missing)
            self._tell(f"{what}: {len(missing):,} first calls, {kept:,} are kept", about)

    def _tell(self, what: str, about: Cost) -> None:
        spent = self._ledger.spent
        line = (
            f"{self._model}, {what}; about {about.tokens:,} tokens and {about.dollars:.4f} dollars;"
            f" {spent.dollars:.4f} of {self._limits.dollars:g} dollars are spent."
        )
        print(line)
        _log.info("%s", line)

    def _ended(self, fault: Exhausted, done: int, of: int, what: str) -> BadInput:
        spent, wanted = fault.spent, fault.wanted
        tokens = f" of {self._limits.tokens:,}" if self._limits.tokens else ""
        return BadInput(
            f"{spent.dollars:.4f} of {self._limits.dollars:g} dollars and {spent.tokens:,}{tokens} tokens are"
            f" spent, the next call may take {wanted.dollars:.4f} dollars and {wanted.tokens:,} tokens, and"
            f" {of - done:,} of {of:,} are left to do ({what})",
            where=f"llm_budget, {self._model}",
            do="raise llm_budget or llm_tokens to go on; what is answered is kept and costs nothing again",
        )

    def _made(self, call: Call, check: Callable[[Any], object]) -> Any:
        most, fault = self._most(call), ""
        for attempt in range(ATTEMPTS):
            number = self._ledger.reserve(most)
            self._pace.wait()
            try:
                response = self._client.post(call.path, cast_to=httpx2.Response, body=dict(call.body))
                answered = json.loads(self._clean(response.text))
            except openai.APIStatusError as error:
                self._ledger.settle(number, NOTHING)
                fault, wait = self._refused(error), _wait(error, attempt)
            except (openai.APIError, ValueError) as error:
                # It may have been answered, and so paid, on the way.
                self._ledger.forfeit(number, most)
                fault, wait = _unheard(error), _wait(error, attempt)
            except BaseException:
                self._ledger.forfeit(number, most)
                raise
            else:
                self._settle(number, answered, most)
                self._check(answered, check)
                return answered
            _log.warning("%s: %s; asked again in %.1f s", self._base, fault, wait)
            if attempt + 1 < ATTEMPTS:
                time.sleep(wait)
        raise NotNow(
            f"{self._model} gave no answer in {ATTEMPTS} tries, at last: {fault}",
            where=self._base,
            do="try again later; what is answered is kept",
        )

    def _settle(self, number: str, answered: Any, most: Cost) -> None:
        usage = answered.get("usage") if isinstance(answered, Mapping) else None
        if (actual := cost_of(usage, self._price)) is None:
            self._ledger.forfeit(number, most)
        else:
            self._ledger.settle(number, actual)

    def _check(self, answered: Any, check: Callable[[Any], object]) -> None:
        try:
            check(answered)
        except _FORM as error:
            raise BadInput(
                f"the answer is not of the form of OpenAI's API ({type(error).__name__}: {error})",
                where=self._base,
                do="name the base address of an OpenAI-compatible API in llm, as a rule it ends in /v1",
            ) from None

    def _refused(self, error: openai.APIStatusError) -> str:
        """Say what a status means that may pass; `Refused` for one that will not."""
        status, said = error.status_code, self._said(error)
        if (status in (408, 409, 429) and "insufficient_quota" not in said) or status >= 500:
            return f"status {status} ({said})"
        if status in (401, 403):
            what, do = "refuses the key", f"set {KEY} to a key of this server"
        elif status < 400:
            what, do = "sends the request elsewhere", "name the address itself in llm"
        elif status == 404:
            what, do = "knows no such model or no such path", "mend the model's name, or llm"
        else:
            what, do = "refuses the request", "mend what it names"
        raise Refused(
            said,
            what=f"the server {what} (status {status}: {said})",
            where=f"{self._model} at {self._base}",
            do=do,
        ) from None

    def _said(self, error: openai.APIStatusError) -> str:
        body = error.body
        message = body.get("message") or body.get("detail") or body if isinstance(body, Mapping) else body
        code = body.get("code") if isinstance(body, Mapping) else None
        words = self._clean(" ".join(f"{code or ''} {message or ''}".split()))
        return words[:200] or "no reason"

    def _clean(self, text: str) -> str:
        return text.replace(self._secret, "(the key)") if self._secret else text


def _answered(one: Any) -> bool:
    return one.done() and not one.cancelled() and one.exception() is None


def _unheard(error: Exception) -> str:
    if isinstance(error, openai.APITimeoutError):
        return f"no answer within {TIMEOUT:g} s"
    return "half an answer" if isinstance(error, ValueError) else "the connection failed"


def _wait(error: Exception, attempt: int) -> float:
    """Seconds until the next try: as many as the server asks for, else twice as many each time, give or take.

    `NotNow` where it asks for more than anybody waits.
    """
    asked = _retry_after(error.response.headers) if isinstance(error, openai.APIStatusError) else None
    if asked is None:
        return min(FIRST_WAIT * 2**attempt, LONGEST_WAIT) * random.uniform(0.75, 1.25)
    if asked > LONGEST_WAIT:
        raise NotNow(
            f"the server asks to wait {asked:,.0f} seconds", do="try again then; what is answered is kept"
        ) from None
    return asked


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a header Retry-After, which has them or a date; None where it has neither."""
    written = headers.get("retry-after", "")
    try:
        return max(0.0, float(written))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(written).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
