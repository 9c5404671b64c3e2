"""Calls of an OpenAI-compatible API: kept, within a budget and at a pace, and made again where that may help.

The key comes from the environment and stands in no setting, file, log or sentence, even where a server sends
it back.
"""

import asyncio
import json
import logging
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx2
import openai
from tqdm import tqdm

from lextables.models.kept_calls import Calls, canonical
from lextables.models.limits import Limits
from lextables.models.spending import (
    NOTHING,
    Cost,
    Exhausted,
    Ledger,
    Pace,
    Price,
    cost,
    cost_of,
    load_prices,
    on_loopback,
    price_of,
)
from lextables.pipeline.errors import BadInput, NotNow
from lextables.pipeline.redaction import SHORTEST

KEY = "OPENAI_API_KEY"
ATTEMPTS = 8
TIMEOUT = 600.0  # seconds for a whole answer; a long text on a server without a GPU takes minutes
CONNECT_TIMEOUT = 30.0  # seconds until a server takes a request
MAX_BYTES = 32 << 20  # of an answer, unpacked: 256 texts as vectors of 4,096 numbers take 23 MB
# What a server puts around a prompt, in tokens, and more.
AROUND = 256
CHARACTERS_A_TOKEN = 4  # of English, about
# Faults by which a request has not reached the server.
_NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.LocalProtocolError,
    httpx2.UnsupportedProtocol,
)
_RETRYING = ("retry-after", "retry-after-ms", "x-should-retry")  # headers that the client goes by
_NO_MONEY = b"insufficient_quota"
_FORM = (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError, RecursionError)
Answer = TypeVar("Answer")
_log = logging.getLogger("lextables")


class Call(NamedTuple):
    """One call: its path below the base address, and its body."""

    path: str
    body: Mapping[str, Any]

    @property
    def answer(self) -> int:
        """How many tokens its answer may have."""
        return self.body.get("max_tokens", 0)


class Refused(BadInput):
    """A request that the server will not answer, whenever it is asked; ``said`` is its reason."""

    def __init__(self, said: str, **sentence: str) -> None:
        super().__init__(**sentence)
        self.said = said


class Metered(httpx2.BaseTransport):
    """Sends requests in their turn, within the budget, and bounds the time and the size of their answers."""

    def __init__(self, ledger: Ledger, pace: Pace, price: Price | None) -> None:
        self._ledger, self._pace, self._price = ledger, pace, price
        self._lock, self._loop, self._client = threading.Lock(), None, None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer; raises `Exhausted` before sending where the budget ends."""
        # No tokenizer makes more tokens of a text than it has bytes.
        answer = json.loads(request.content).get("max_tokens", 0)
        most, charged = cost(self._price, len(request.content) + AROUND, answer), NOTHING
        number = self._ledger.reserve(most)
        try:
            self._pace.wait()
            # It may be answered, and so paid, even where nothing is heard of it.
            charged = most
            response = self._sent(request)
            if not response.is_success:
                charged = NOTHING
                _log.warning("%s: status %d", request.url, response.status_code)
            else:
                charged = self._cost(response.content) or most
            return response
        except httpx2.RequestError as error:
            if isinstance(error, _NOT_SENT):
                charged = NOTHING
            _log.warning("%s: %s", request.url, error)
            raise
        finally:
            self._ledger.settle(number, charged)

    def _cost(self, body: bytes) -> Cost | None:
        """What an answer cost; None where it does not tell."""
        if not body or body.startswith(b"<"):  # a web page, as what is no API sends, and nobody pays for
            return NOTHING
        try:
            return cost_of(json.loads(body)["usage"], self._price)
        except _FORM:
            return None

    def _sent(self, request: httpx2.Request) -> httpx2.Response:
        with self._lock:
            if self._loop is None:
                # What is asynchronous can be ended at any time, whatever a server sends or does not.
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, daemon=True).start()
                # An address that sends elsewhere would be handed the texts, if not the key.
                self._client = httpx2.AsyncClient(
                    follow_redirects=False, limits=httpx2.Limits(max_connections=None)
                )
        return asyncio.run_coroutine_threadsafe(self._answer(request), self._loop).result()

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        try:
            async with asyncio.timeout(TIMEOUT):
                answer = await self._client.send(request, stream=True)
                try:
                    body = await _body(answer)
                finally:
                    await answer.aclose()
        except TimeoutError:
            raise httpx2.ReadTimeout(f"no whole answer within {TIMEOUT:g} s", request=request) from None
        if answer.is_success and body.startswith(b"{") and not body.endswith(b"}"):
            raise httpx2.RemoteProtocolError("half an answer", request=request)
        headers = {name: answer.headers[name] for name in _RETRYING if name in answer.headers}
        if _NO_MONEY in body:
            headers["x-should-retry"] = "false"
        return httpx2.Response(answer.status_code, headers=headers, content=body, request=request)


async def _body(answer: httpx2.Response) -> bytes:
    """The body of an answer without white space around it; `BadInput` for one too large or damaged."""
    body, where = bytearray(), str(answer.request.url)
    packed = answer.headers.get("content-encoding", "gzip").lower()
    if packed not in ("gzip", "identity"):
        raise BadInput(f"the answer is packed by {packed:.40}, which was not asked for", where=where)
    try:
        async for chunk in answer.aiter_bytes():
            body += chunk
            if len(body) > MAX_BYTES:
                what = f"the answer has more than {MAX_BYTES >> 20} MiB, which no answer needs"
                raise BadInput(what, where=where, do="name another server in llm")
    except httpx2.DecodingError as error:
        raise BadInput(f"gzip cannot unpack the answer ({error})", where=where) from None
    return bytes(body).strip()


class Api:
    """One model of one server, with what it answered before in the folder ``kept``."""

    def __init__(self, base: str, model: str, kept: str | Path, limits: Limits) -> None:
        """`BadInput` where the server needs a key and there is none, or the model has no price."""
        key, where = os.environ.get(KEY, ""), f"environment variable {KEY}"
        if not key and on_loopback(base):
            key = "none"
        if not key:
            raise BadInput(f"{model} needs a key for {base}", where=where, do="set it, or empty llm")
        if not re.fullmatch("[!-~]+", key):
            what = "the key has a blank, a line end or another character that no key has"
            raise BadInput(what, where=where, do="set it to the key alone")
        self._price = price_of(model, base, limits, load_prices())
        # As it stands in JSON; a short one may be any word, as in the log.
        self._secret = json.dumps(key)[1:-1] if len(key) >= SHORTEST else ""
        self._base, self._model, self._limits = base, model, limits
        self._calls, self._ledger = Calls(kept), Ledger(kept, limits)
        metered = Metered(self._ledger, Pace(kept, limits.requests_a_minute), self._price)
        self._client = openai.OpenAI(
            base_url=base,
            api_key=key,
            max_retries=ATTEMPTS - 1,
            timeout=httpx2.Timeout(TIMEOUT, connect=CONNECT_TIMEOUT),
            default_headers={"Accept-Encoding": "gzip"},
            http_client=httpx2.Client(transport=metered, follow_redirects=False),
        )
        for name in ("httpx", "httpx2"):  # a line in the log for each call
            logging.getLogger(name).setLevel(logging.WARNING)
        self._told = False

    def kept(self, call: Call, check: Callable[[Any], object]) -> Any | None:
        """Return what was answered to a call before and passes ``check``; None where there is nothing."""
        return self._calls.kept(self._asked(call), check)

    def ask(self, call: Call, check: Callable[[Any], object]) -> Any:
        """Return the JSON that the server answers, now or before.

        ``check`` reads of it what it is asked for, and so finds an answer of another form.  Raises `Refused`
        where the server never will, `NotNow` where it does not now, `Exhausted` where the budget ends.
        """
        return self._calls.answered(self._asked(call), partial(self._made, call, check), check)

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
        try:
            response = self._client.post(call.path, cast_to=httpx2.Response, body=dict(call.body))
        except openai.APIStatusError as error:
            raise self._refused(error) from None
        except openai.APIConnectionError as error:
            raise self._not_now(str(error.__cause__) or type(error.__cause__).__name__) from None
        text = self._clean(response.text)
        try:
            if "\\u" in text:  # a way to write the key, too
                text = self._clean(canonical(json.loads(text)))
            answered = json.loads(text)
            check(answered)
        except _FORM as error:
            fault = f"{type(error).__name__}: {error}; it begins {text[:60]!r}"
            raise BadInput(
                f"the answer is not of the form of OpenAI's API ({fault})",
                where=f"{self._model} at {self._base}",
                do="name the base address of an OpenAI-compatible API in llm, as a rule it ends in /v1",
            ) from None
        return answered

    def _not_now(self, fault: str) -> NotNow:
        return NotNow(
            f"{self._model} gave no answer, though it was asked up to {ATTEMPTS} times, at last: {fault}",
            where=self._base,
            do="try again later; what is answered is kept",
        )

    def _refused(self, error: openai.APIStatusError) -> BadInput:
        """What a status means: `NotNow` for one that may pass, `Refused` for one that will not."""
        status, said = error.status_code, self._said(error)
        if (status in (408, 409, 429) and _NO_MONEY.decode() not in said) or status >= 500:
            wait = error.response.headers.get("retry-after")
            return self._not_now(f"status {status} ({said}{(wait and f'; Retry-After: {wait:.40}') or ''})")
        if status in (401, 403):
            what, do = "refuses the key", f"set {KEY} to a key of this server"
        elif status < 400:
            what, do = "sends the request elsewhere", "name the address itself in llm"
        elif status == 404:
            what, do = "knows no such model or no such path", "mend the model's name, or llm"
        else:
            what, do = "refuses the request", "mend what it names"
        return Refused(
            said,
            what=f"the server {what} (status {status}: {said})",
            where=f"{self._model} at {self._base}",
            do=do,
        )

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
