"""Calls of an OpenAI-compatible API, with a cache, a budget, a rate limit and retries.

The key is read from the environment.  It is never written to a setting, file, log or
message, even if a server returns it.
"""

import asyncio
import json
import logging
import os
import re
import ssl
import time
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx2
import numpy as np
import openai
from tqdm import tqdm

from lextables.models import spending
from lextables.models.accepted_requests import (
    SAMPLING_PARTS,
    error_status,
    in_words,
    is_too_long,
    reason_of,
    refused_part,
    without_part,
)
from lextables.models.spending import (
    FREE,
    AnswerCache,
    Cost,
    Ledger,
    Limits,
    Price,
    canonical,
    cost,
    cost_of,
)
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.pipeline.redaction import SHORTEST
from lextables.pipeline.run import note_once, noted

KEY = "OPENAI_API_KEY"  # environment variable
ATTEMPTS = 8  # of a call, with the first
TIMEOUT = 600.0  # seconds for a complete answer; long texts take minutes on a server without a GPU
CONNECT_TIMEOUT = 30.0  # seconds
# Of an unpacked answer; 256 embeddings of 4,096 dimensions take 23 MB.
MAX_BYTES = 32 << 20
EXTRA_TOKENS = 256  # upper bound of the tokens that a server adds around a prompt
CHARACTERS_PER_TOKEN = 4  # of English text, approximately
# Errors raised before a request reaches the server.
_NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)
# Headers that the client of `openai` reads before it repeats a request.
_RETRY_HEADERS = ("retry-after", "retry-after-ms", "x-should-retry")
_NO_MONEY = "insufficient_quota"  # in a server's answer if the account has no money
_NAME = re.compile(r"[\w.:@/+-]+")  # parts of a model's name
# What may follow a model's name without making it another model: dates, versions by
# date or number (0613, 001), and the endings of files.
_SAME_MODEL = re.compile(
    r"""([-_.:@](
        \d{4}-\d\d-\d\d | \d\d-\d\d | \d\d-\d{4} | \d{8} | \d{6} | \d{4} | 0\d\d
        | latest | preview | gguf | bin | safetensors
    ))*""",
    re.VERBOSE,
)
# The key of an answer that names the changes of its request.
CHANGES = "lextables_changes"
# Errors of code that reads an answer of another form.
_WRONG_FORM = (
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    ValueError,
    OverflowError,
    RecursionError,
)
# What a server does, and how to fix it.
_OTHER_REJECTION = ("rejects the request", "correct what it names")
_WRONG_KEY = ("rejects the key", f"set {KEY} to a key of this server")
_REDIRECTED = ("redirects the request", "set llm to the final address")
_UNPAID = ("asks for money", "pay for its account, or leave llm empty")
_TOO_LONG = ("finds the request too long", "raise its limit, or set llm to another")
# By status; `_OTHER_REJECTION` for any other.
_REJECTIONS = {
    401: _WRONG_KEY,
    403: _WRONG_KEY,
    402: _UNPAID,
    404: ("has no such model or path", "correct the model's name, or llm"),
    413: _TOO_LONG,
    **dict.fromkeys(range(300, 400), _REDIRECTED),
}
Answer = TypeVar("Answer")
_log = logging.getLogger("lextables")


class Call(NamedTuple):
    """One call: its path below the base address, and its body."""

    path: str
    body: JsonObject


class Refused(BadInput):
    """A request that the server rejects permanently; ``reason`` is the server's."""

    def __init__(self, reason: str, **sentence: str) -> None:
        super().__init__(**sentence)
        self.reason = reason


@cache
def _tls_context() -> ssl.SSLContext:
    """Return the context of all connections; it takes a tenth of a second to load."""
    return httpx2.create_ssl_context()


class MeteredTransport(httpx2.BaseTransport):
    """Sends requests within budget and rate limit, and limits the duration and size of
    answers.
    """

    def __init__(self, ledger: Ledger, price: Price | None) -> None:
        self._ledger = ledger
        self._price = price
        self._context = _tls_context()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer; raises `BadInput` before sending if the call could exceed
        the budget.
        """
        # A text never has more tokens than bytes.
        sent = len(request.content) + EXTRA_TOKENS
        body = json.loads(request.content)
        received = body.get("max_tokens", body.get("max_completion_tokens", 0))
        most = cost(self._price, sent, received)
        number, start = self._ledger.reserve(most)
        charged = FREE
        try:
            time.sleep(max(0.0, start - time.time()))
            # From here on the server may charge for the call even if no answer arrives.
            charged = most
            response = asyncio.run(self._send(request))
            charged = self._charged(response, most)
            return response
        except httpx2.RequestError as error:
            if isinstance(error, _NOT_SENT):
                charged = FREE
            _log.warning("%s: %s", request.url, error)
            raise
        finally:
            self._ledger.charge(number, charged)

    def _charged(self, response: httpx2.Response, most: Cost) -> Cost:
        """Return the cost of an answer, ``most`` if unknown; errors, web pages and
        empty answers are free.
        """
        if not response.is_success:
            _log.warning("%s: status %d", response.url, response.status_code)
            return FREE
        # An empty answer, or the web page of a proxy: no model was asked.
        if not response.content or response.content.startswith(b"<"):
            return FREE
        try:
            return cost_of(response.json()["usage"], self._price)
        except _WRONG_FORM:
            return most

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request.

        Asynchronously, because only that can be interrupted whatever the server sends.
        """
        try:
            async with (
                asyncio.timeout(TIMEOUT),
                # Redirects are not followed: another server would receive the texts.
                httpx2.AsyncClient(
                    verify=self._context, follow_redirects=False
                ) as client,
            ):
                answer = await client.send(request, stream=True)
                try:
                    body = await _body(answer)
                finally:
                    await answer.aclose()
        except TimeoutError:
            raise httpx2.ReadTimeout(
                f"no complete answer within {TIMEOUT:g} s", request=request
            ) from None
        if answer.is_success and body.startswith(b"{") and not body.endswith(b"}"):
            raise httpx2.RemoteProtocolError("incomplete answer", request=request)
        names = [name for name in _RETRY_HEADERS if name in answer.headers]
        headers = {name: answer.headers[name] for name in names}
        if _NO_MONEY.encode() in body:
            headers["x-should-retry"] = "false"
        status = answer.status_code
        if answer.is_success:
            status = error_status(body) or status
        return httpx2.Response(status, headers=headers, content=body, request=request)


async def _body(answer: httpx2.Response) -> bytes:
    """Return the body of an answer without surrounding white space; `BadInput` if too
    large or damaged.
    """
    body = bytearray()
    where = str(answer.request.url)
    encoding = answer.headers.get("content-encoding", "gzip").lower()
    if encoding not in ("gzip", "identity"):
        what = f"the answer has the encoding {encoding:.40}, which was not requested"
        raise BadInput(what, where=where)
    try:
        async for chunk in answer.aiter_bytes():
            body += chunk
            if len(body) > MAX_BYTES:
                what = f"the answer has more than {MAX_BYTES >> 20} MiB"
                raise BadInput(what, where=where, do="set llm to another server")
    except httpx2.DecodingError as error:
        what = f"the answer is no valid gzip data ({error})"
        raise BadInput(what, where=where) from None
    return bytes(body).removeprefix(BOM_UTF8).strip()


class Api:
    """One model of one server, with its cached answers in the folder ``cache``."""

    def __init__(
        self, base: str, model: str, cache: str | Path, limits: Limits
    ) -> None:
        """Raise `BadInput` if a required key is missing or invalid, or if the model has
        no price.
        """
        key = os.environ.get(KEY, "")
        where = f"environment variable {KEY}"
        if not key and spending.on_loopback(base):
            key = "none"
        if not key:
            what = f"{model} needs a key for {base}"
            do = "set it, or leave llm empty"
            raise BadInput(what, where=where, do=do)
        if not re.fullmatch("[!-~]+", key):
            what = "the key contains a space, a line break or another invalid character"
            raise BadInput(what, where=where, do="set it to the key only")
        price = spending.price_of(model, base, limits, spending.load_prices())
        # The key as JSON writes it, to remove it from answers.  A very short key could
        # be an ordinary word.
        self._secret = json.dumps(key)[1:-1] if len(key) >= SHORTEST else ""
        self._base = base
        self._model = model
        self._limits = limits
        self._price = price
        self._cache = AnswerCache(cache)
        # Parts that this server refused, in this order.  They are left out, renamed or
        # moved in every later request.
        self._refused: tuple[str, ...] = ()
        # Refused parts of the requests whose answers were used, for run.json.
        self._changes: set[str] = set()
        # Other models that answered, as the server names them.
        self._others: set[str] = set()
        self._ledger = Ledger(cache, limits, model)
        transport = MeteredTransport(self._ledger, price)
        self._client = openai.OpenAI(
            base_url=base,
            api_key=key,
            max_retries=ATTEMPTS - 1,
            timeout=httpx2.Timeout(TIMEOUT, connect=CONNECT_TIMEOUT),
            default_headers={"Accept-Encoding": "gzip"},
            http_client=httpx2.Client(transport=transport, follow_redirects=False),
        )
        for name in ("httpx", "httpx2"):  # they log every call
            logging.getLogger(name).setLevel(logging.WARNING)

    def cached(self, call: Call, check: Callable[[Any], object]) -> Any | None:
        """Return the cached answer to a call; None if there is none that passes
        ``check``.
        """
        return self._used(self._cache.get(self._question(call), check))

    def forget(self, call: Call) -> None:
        """Delete the cached answer to a call."""
        self._cache.path(self._question(call)).unlink(missing_ok=True)

    def ask(self, call: Call, check: Callable[[Any], object]) -> Any:
        """Return the server's JSON answer, from the cache if possible.

        ``check`` reads what the caller needs and so detects an answer of the wrong
        form.  Raises `Refused` for a permanent rejection, `BadInput` if the server does
        not answer or the budget is spent.
        """
        ask = partial(self._accepted, call, check)
        return self._used(self._cache.get_or_ask(self._question(call), ask, check))

    def ask_all(
        self, asks: Sequence[Callable[[], Answer]], description: str
    ) -> list[Answer]:
        """Return the results of ``asks``, functions that call `ask`; several run
        simultaneously.

        After an error, running calls are completed and cached, and no further call is
        started.
        """
        with (
            ThreadPoolExecutor(self._limits.concurrency) as pool,
            tqdm(total=len(asks), desc=f"{self._model}: {description}") as bar,
        ):
            futures = [pool.submit(ask) for ask in asks]
            try:
                for future in as_completed(futures):
                    future.result()
                    paid = f"{self._ledger.paid.dollars:.4f} dollars"
                    bar.set_postfix_str(paid, refresh=False)
                    bar.update()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        for part in sorted(self._changes):
            note = _note_deviation if part in SAMPLING_PARTS else note_once
            note(in_words(part))
        for name in sorted(self._others):
            _note_deviation(f"the server says that the model {name:.80} answered")
        return [future.result() for future in futures]

    def expect(self, requests: int, characters: int) -> None:
        """Print and log the maximum number of the requests that follow, and an estimate
        of their size and cost.

        The estimate is `CHARACTERS_PER_TOKEN` characters a token, and one token an
        answer (generated texts cost more).
        """
        tokens = characters // CHARACTERS_PER_TOKEN
        most = cost(self._price, tokens, requests)
        spent = self._ledger.spent.dollars
        limit = self._limits.dollars
        short = ""
        if most.dollars > max(0.0, limit - spent):
            short = ", more than is left of the budget"
        line = (
            f"{self._model}: up to {requests:,} requests, including cached ones{short}; "
            f"about {most.tokens:,} tokens and {most.dollars:.4f} dollars; "
            f"{spent:.4f} of {limit:g} dollars are spent."
        )
        print(line)
        _log.info("%s", line)

    def _question(self, call: Call) -> JsonObject:
        """Return what identifies the answer to a call in the cache."""
        return {"api": self._base.rstrip("/"), "path": call.path, "body": call.body}

    def _used(self, answer: Any | None) -> Any | None:
        """Return an answer, and remember how its request was changed and which model
        answered.
        """
        if isinstance(answer, Mapping):
            self._changes.update(answer.get(CHANGES, ()))
            name = answer.get("model")
            name = " ".join(_NAME.findall(name)) if isinstance(name, str) else ""
            if name and not _is_same_model(name, self._model):
                self._others.add(name)
        return answer

    def _accepted(self, call: Call, check: Callable[[Any], object]) -> Any:
        """Return the server's answer to a call.

        A part that the server refuses is left out, renamed or moved (`without_part`),
        and the request is repeated until it is accepted.  Later calls begin with these
        changes.  The answer names them under `CHANGES`.  Errors as in `ask`.
        """
        refused = self._refused
        body = dict(call.body)
        for earlier in refused:
            body = without_part(body, earlier)
        while True:
            try:
                answer = self._post(call._replace(body=body), check)
                break
            except Refused as error:
                part = refused_part(error.reason, body)
                if part is None:
                    raise
                refused = (*refused, part)
                body = without_part(body, part)
        # A part that was refused earlier may not be in this call.
        changes = [
            name for name in refused if without_part(call.body, name) != call.body
        ]
        if not changes:
            return answer
        self._refused = refused
        return {**answer, CHANGES: changes}

    def _post(self, call: Call, check: Callable[[Any], object]) -> Any:
        """Return the server's answer to a call, without the key; errors as in `ask`."""
        body = call.body
        try:
            response = self._client.post(call.path, cast_to=httpx2.Response, body=body)
        except openai.APIStatusError as error:
            raise self._status_error(error, body) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__
            raise self._no_answer(str(cause) or type(cause).__name__) from None
        text = self._without_key(response.text)
        try:
            answer = json.loads(text)
            if "\\u" in text:  # the key may be written with escapes
                plain = canonical(answer).decode(errors="surrogatepass")
                answer = json.loads(self._without_key(plain))
            check(answer)
        except _WRONG_FORM as error:
            detail = f"{type(error).__name__}: {error}; it begins {text[:60]!r}"
            do = "set llm to the base address of an OpenAI-compatible API; it usually ends in /v1"
            if '"choices"' in text:
                do = "update the server, or set llm to another"
            raise BadInput(
                f"the answer does not have the form of OpenAI's API ({detail})",
                where=f"{self._model} at {self._base}",
                do=do,
            ) from None
        return answer

    def _no_answer(self, reason: str) -> BadInput:
        """Return the error for a server that does not answer after all attempts."""
        what = f"{self._model} did not answer in up to {ATTEMPTS} attempts; the last error: {reason}"
        return BadInput(
            what, where=self._base, do="try again later; answers so far are cached"
        )

    def _status_error(
        self, error: openai.APIStatusError, asked: JsonObject
    ) -> BadInput:
        """Return the error to raise for a status: `Refused` if it is permanent.

        A status that may be temporary gives another `BadInput`.  An internal error of
        the server is temporary, unless it names a part of the request ``asked``.
        """
        status = error.status_code
        words = (reason_of(error.body) or str(error.body or "")).split()
        whole_reason = self._without_key(" ".join(words))
        reason = whole_reason[:200] or "no reason"
        is_temporary = status in (408, 409, 429) and _NO_MONEY not in reason
        is_internal = status >= 500 and refused_part(whole_reason, asked) is None
        if is_temporary or is_internal:
            wait = error.response.headers.get("retry-after")
            if wait:
                reason += f"; Retry-After: {wait:.40}"
            return self._no_answer(f"status {status} ({reason})")
        what, do = _REJECTIONS.get(status, _OTHER_REJECTION)
        if _NO_MONEY in reason:
            what, do = _UNPAID
        elif is_too_long(whole_reason):
            what, do = _TOO_LONG
        return Refused(
            whole_reason,
            what=f"the server {what} (status {status}: {reason})",
            where=f"{self._model} at {self._base}",
            do=do,
        )

    def _without_key(self, text: str) -> str:
        return text.replace(self._secret, "(the key)") if self._secret else text


def _note_deviation(note: str) -> None:
    """Add a clause on a setting that was not the planned one to the job's runs: their
    values get no verdict.
    """
    noted("deviations", lambda before: [*dict.fromkeys([*(before or []), note])])


def _is_same_model(first: str, second: str) -> bool:
    """Whether two names are of one model: equal without folders, or one goes on with a
    date or an ending (`_SAME_MODEL`).

    Other endings are other models of a family: gpt-4o and gpt-4o-mini.
    """
    names = [name.lower().rpartition("/")[2] for name in (first, second)]
    shorter, longer = sorted(names, key=len)
    if not longer.startswith(shorter):
        return False
    return _SAME_MODEL.fullmatch(longer.removeprefix(shorter)) is not None


def embed(
    base: str,
    model: str,
    texts: Sequence[str],
    *,
    cache: str | Path,
    limits: Limits,
    batch_size: int = 256,
) -> np.ndarray:
    """Return a float32 array (texts, dimensions) of unit vectors from ``POST
    <base>/embeddings``.

    Without texts, nothing is sent and the array is (0, 0).  Each batch is cached in the
    folder ``cache``.  Budget, rate limit and errors as in `Api`.
    """
    if not texts:
        return np.zeros((0, 0), dtype=np.float32)
    api = Api(base, model, cache, limits)
    unique = sorted(set(texts))
    calls = []
    asks = []
    for start in range(0, len(unique), batch_size):
        batch = unique[start : start + batch_size]
        body = {"model": model, "input": batch, "encoding_format": "float"}
        call = Call("/embeddings", body)
        calls.append(call)
        asks.append(partial(api.ask, call, partial(_vectors, call)))
    api.expect(len(calls), sum(map(len, unique)))
    answers = api.ask_all(asks, "batches of texts")
    parts = list(map(_vectors, calls, answers))
    dimensions = {part.shape[1] for part in parts}
    if len(dimensions) > 1:
        what = f"{model} returned vectors of different lengths"
        raise BadInput(what, where=base, do="use another server")
    # In single precision the squares of very large or small numbers have no length.
    matrix = np.concatenate(parts).astype(np.float64)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix = matrix.astype(np.float32)
    position = {text: index for index, text in enumerate(unique)}
    rows = [position[text] for text in texts]
    return matrix[rows]


def _vectors(call: Call, answer: Any) -> np.ndarray:
    """Return the vectors of a batch in the order of its texts, float32."""
    items = sorted(answer["data"], key=lambda item: item["index"])
    places = [item["index"] for item in items]
    texts = call.body["input"]
    if places != list(range(len(texts))):
        raise ValueError("not one vector for each text")
    vectors = np.asarray([item["embedding"] for item in items], dtype=np.float32)
    is_valid = vectors.ndim == 2 and np.isfinite(vectors).all()
    if not is_valid or not vectors.any(axis=1).all():
        raise ValueError("a vector contains only zeros, or a number that is not finite")
    return vectors
