"""Language models behind an OpenAI-compatible API (OpenAI, vLLM, llama.cpp and others).

The probability of a continuation is computed by exploring the tree of answers (privacy
policy corpus, Section 5).  The server reports the most likely next tokens.  Each that
begins a continuation is followed, and probabilities of different token sequences with
the same text are added, until the continuation is complete or the probability of the
text is negligible.

`ServerLanguageModel` asks; the functions after it read the answers of different
servers.
"""

import heapq
import math
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from lextables.models.accepted_requests import is_filtered
from lextables.models.api import Api, Call, Refused
from lextables.models.language_model import (
    Choice,
    Prompt,
    Request,
    Weighed,
    Written,
    plain,
)
from lextables.models.reasoning import begins_reasoning
from lextables.models.spending import Limits
from lextables.models.token_count import TokenCounter
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import note_once

# {endpoint: its path below the base address}
PATHS = {"chat": "/chat/completions", "completions": "/completions"}
# The tree is not followed below this probability.
NEGLIGIBLE = 1e-4
# Number of log-probabilities requested, and the number if a server rejects that;
# OpenAI's maximum for completions is 5.
TOPS = (20, 5)
# For an estimate without a tokenizer that tends to be too high: an English token has
# four or five bytes.
BYTES_PER_TOKEN = 3
# If a model ends its answer immediately, llama-cpp-python reports no probabilities.
# Then a token is sampled such that it usually is another one; the model's own
# probabilities are reported with it.
SAMPLING = {"temperature": 2.0, "top_p": 1, "min_p": 0}
SAMPLES = 8
# Some servers report only the generated token, whatever number is requested.  Fewer
# tokens than any request asks for are all that there are only if their probabilities
# add up to at least this.
COMPLETE = 0.95
INCOMPLETE = (
    "the server reports the log-probabilities of too few tokens: answers are sampled"
)
# Tolerance for rounding of probabilities and of their sum above 1.
TOLERANCE = 1e-3
# Additional tokens of an answer whose reasoning used the requested ones.
REASONING_TOKENS = 8192
# Tokens; no server cuts prompts to fewer.
SHORTEST_CONTEXT = 64
# A server cuts prompts if it reads the same number of tokens of so many long ones, and
# the estimates of their tokens differ by more than this factor.
CUT_PROMPTS = 3
CUT_FACTOR = 1.1
MORE_CONTEXT = (
    "raise the context length of the server (num_ctx of Ollama), or use shorter texts"
)
# Fields of a message, and kinds of its parts, with such a name hold reasoning.
REASONING = re.compile("reason|think")
# The finish_reason of an answer that reached the maximum number of tokens.
CUT = re.compile("length|max", re.IGNORECASE)
# Upper bound of the tokens that a message adds to its text.
TOKENS_PER_MESSAGE = 8


class ServerLanguageModel:
    """A model behind an API.

    With ``endpoint`` `chat` only the first token of an answer is read, because an
    answer cannot be continued.  A continuation has the probability of the token that
    equals it, or that begins it and no other continuation; a token that begins several
    counts for none.  Use answers with different first tokens, such as letters.  With
    `completions` the tree of answers is explored down to `NEGLIGIBLE` probabilities.
    """

    def __init__(
        self, settings: Mapping[str, Any], cache: str | Path, limits: Limits
    ) -> None:
        """Open the model of a run's ``settings``
        (`cached_model.open_language_model`).
        """
        self.name = settings["model"]
        self.window = settings.get("window")
        self.device = settings["api"]
        self._model = settings["weights"]
        self._endpoint = settings.get("endpoint") or "chat"
        self._api = Api(self.device, self._model, cache, limits)
        # The first place in `TOPS` whose number the server has not rejected.
        self._top = 0
        # Whether reasoning used all tokens of an answer: then requests ask for more.
        self._reasons = False
        # Whether log-probabilities were not used because some are missing.
        self._incomplete = False
        # The most tokens that the server read of a prompt, and the calls of each prompt
        # of which it read so many.
        self._most_read = 0
        self._longest: dict[Prompt, list[Call]] = {}
        # Of `_top` and the longest prompts; `Api.ask_all` asks in threads.
        self._lock = threading.Lock()

    def tokens(self, prompt: Prompt) -> int:
        """Return an estimate of the number of tokens that tends to be too high.

        The server's tokenizer is unknown.  GPT-2's is used, which needs more tokens for
        English than later ones; if it is not installed, `BYTES_PER_TOKEN`.
        """
        return sum(_tokens(message.content) + TOKENS_PER_MESSAGE for message in prompt)

    def fewest_tokens(self, prompt: Prompt) -> int:
        """Return a lower bound of the number of tokens: one per word, since no token
        spans words.
        """
        return sum(len(message.content.split()) for message in prompt)

    def expect(self, requests: int, characters: int) -> None:
        """Report the requests that follow (`Api.expect`)."""
        self._api.expect(requests, characters)

    def weigh(self, choices: Sequence[Choice]) -> list[Weighed]:
        """Return the log-probabilities of each choice's continuations, if the server
        reports any.
        """
        asks = [partial(self._weighed, choice) for choice in choices]
        weighed = self._api.ask_all(asks, "questions")
        self._check_not_cut()
        if self._incomplete:
            note_once(INCOMPLETE)
        return weighed

    def write(self, requests: Sequence[Request]) -> list[Written]:
        """Return the generated text for each request."""
        asks = [partial(self._written, request) for request in requests]
        texts = self._api.ask_all(asks, "texts")
        self._check_not_cut()
        return texts

    def _call(self, prompt: Prompt, more: str, **options: Any) -> Call:
        """Return the call that continues ``prompt`` and the text ``more`` (empty with
        `chat`).
        """
        body = {"model": self._model, **options}
        if self._endpoint == "completions":
            body["prompt"] = plain(prompt) + more
        else:
            body["messages"] = [message._asdict() for message in prompt]
        return Call(PATHS[self._endpoint], body)

    def _written(self, request: Request) -> Written:
        """Return the text for a request.

        If reasoning uses its tokens, it is sent again with more.
        """
        more = REASONING_TOKENS
        if self.window is not None:
            used = self.tokens(request.prompt) + request.max_tokens
            more = max(0, min(more, self.window - used))
        longer = self._text_call(request, more)
        # An earlier run may have learnt that the model reasons.
        longer_answer = self._api.cached(longer, partial(self._check, request.prompt))
        if not self._reasons and longer_answer is None:
            call = self._text_call(request, 0)
            written = read_text(self._ask(call, request.prompt))
            if written.text or not written.cut:
                return written
            self._reasons = True
        return read_text(self._ask(longer, request.prompt))

    def _text_call(self, request: Request, more: int) -> Call:
        """Return the call for a text with ``more`` tokens than requested."""
        return self._call(
            request.prompt,
            "",
            max_tokens=request.max_tokens + more,
            temperature=request.temperature,
            seed=request.seed,
        )

    def _ask(self, call: Call, prompt: Prompt) -> JsonObject:
        """Return the answer to a call; one without choices if the server does not
        answer this prompt.
        """
        try:
            answer = self._api.ask(call, partial(self._check, prompt))
        except Refused as error:
            if is_filtered(error.reason):
                return {"choices": []}
            raise
        self._note_read(call, prompt, answer)
        return answer

    def _note_read(self, call: Call, prompt: Prompt, answer: JsonObject) -> None:
        """Remember a call for `_check_not_cut` if the server read more tokens of no
        other prompt.
        """
        read = tokens_read(answer) or 0
        with self._lock:
            if read > self._most_read:
                self._most_read = read
                self._longest = {}
            if read and read == self._most_read:
                self._longest.setdefault(prompt, []).append(call)

    def _check_not_cut(self) -> None:
        """Raise `BadInput` if the server cuts prompts without saying so.

        Then it reads as many tokens of each long prompt as its context has.  Cached
        answers to these prompts are deleted, because they are about parts of them.
        """
        if len(self._longest) < CUT_PROMPTS:
            return
        lengths = [self.tokens(prompt) for prompt in self._longest]
        if max(lengths) <= CUT_FACTOR * min(lengths):
            return
        for calls in self._longest.values():
            for call in calls:
                self._api.forget(call)
        read = f"{self._most_read:,} tokens of {len(lengths)} prompts"
        what = f"the server read {read} of different lengths, so it cuts prompts"
        raise BadInput(what, where=f"{self.name} at {self.device}", do=MORE_CONTEXT)

    def _check(self, prompt: Prompt, answer: JsonObject) -> None:
        """Raise an error if the text or the probabilities of an answer cannot be read;
        it may have none.

        Raises `BadInput` if the server has read fewer tokens than the prompt has words.
        """
        read_text(answer)
        read_tokens(answer)
        read = tokens_read(answer)
        fewest = self.fewest_tokens(prompt)
        if read is not None and read < fewest:
            what = f"the server read {read:,} tokens of a prompt of {fewest:,} words"
            where = f"{self.name} at {self.device}"
            raise BadInput(what, where=where, do=MORE_CONTEXT)

    def _weighed(self, choice: Choice) -> Weighed:
        """Return the log-probabilities of a choice's continuations."""
        continuations = [continuation.encode() for continuation in choice.continuations]
        if self._endpoint == "chat":
            probabilities = self._by_first_token(choice.prompt, continuations)
        else:
            probabilities = self._by_tree(choice.prompt, continuations)
        if probabilities is None:
            return Weighed(None)
        log_probabilities = [_log(probabilities[text]) for text in continuations]
        return Weighed(tuple(log_probabilities))

    def _by_first_token(
        self, prompt: Prompt, continuations: Sequence[bytes]
    ) -> dict[bytes, float] | None:
        """Return {continuation: the probability of the first tokens that mean it}; None
        if the server reports none.
        """
        tokens = self._next(prompt, "")
        if tokens is None:
            return None
        probabilities = dict.fromkeys(continuations, 0.0)
        for token, log_probability in tokens.items():
            continuation = _chosen(token, continuations)
            if continuation is not None:
                probabilities[continuation] += math.exp(log_probability)
        return probabilities

    def _by_tree(
        self, prompt: Prompt, continuations: Sequence[bytes]
    ) -> dict[bytes, float] | None:
        """Return {continuation: its probability} by exploring the tree of answers; None
        if the server reports no probabilities.
        """
        probabilities = dict.fromkeys(continuations, 0.0)
        # Shortest text first: when a text is continued, all ways to it have been added.
        pending = [(0, b"")]
        reached = {b"": 1.0}
        while pending:
            _, before = heapq.heappop(pending)
            if not _followed(reached[before], before):
                continue
            tokens = self._next(prompt, before.decode())
            if tokens is None:
                return None
            for token, log_probability in tokens.items():
                text = before + token
                probability = reached[before] * math.exp(log_probability)
                if text in probabilities:
                    probabilities[text] += probability
                if text and any(_extends(other, text) for other in continuations):
                    if text not in reached:
                        reached[text] = 0.0
                        heapq.heappush(pending, (len(text), text))
                    reached[text] += probability
        return probabilities

    def _next(self, prompt: Prompt, more: str) -> dict[bytes, float] | None:
        """Return the log-probabilities of the most likely tokens after a prompt and the
        text ``more``.

        None if the server reports none or too few, or if the model reasons first; empty
        if the model only ends its answer, or does not answer.
        """
        likeliest = self._likeliest(prompt, more)
        if likeliest is None:
            return None
        call, answer = likeliest
        # Some servers report no probabilities if the model ends at once.  Then a sample
        # that goes on has them (`SAMPLING`).
        for seed in range(SAMPLES):
            if not _ended(answer):
                break
            body = {**call.body, **SAMPLING, "seed": seed}
            answer = self._ask(call._replace(body=body), prompt)
        if _is_unanswered(answer) or _ended(answer):
            return {}
        if not more and _reasons_first(answer):
            return None
        tokens = read_tokens(answer)
        if tokens is not None and not _is_complete(tokens):
            self._incomplete = True
            return None
        return tokens

    def _likeliest(self, prompt: Prompt, more: str) -> tuple[Call, Any] | None:
        """Return the call for the most likely tokens and its answer; None if the server
        reports none.
        """
        calls = [self._token_call(prompt, more, top) for top in TOPS]
        for call in calls:
            answer = self._api.cached(call, partial(self._check, prompt))
            if answer is not None:
                self._note_read(call, prompt, answer)
                return call, answer
        for number in range(self._top, len(TOPS)):
            try:
                return calls[number], self._ask(calls[number], prompt)
            except Refused as error:
                if "logprob" not in error.reason.lower():
                    raise
                with self._lock:
                    self._top = min(max(self._top, number + 1), len(TOPS) - 1)
        return None

    def _token_call(self, prompt: Prompt, more: str, top: int) -> Call:
        """Return the call for the ``top`` most likely tokens that follow."""
        logprobs: dict[str, int] = {"logprobs": top}
        if self._endpoint == "chat":
            logprobs = {"logprobs": True, "top_logprobs": top}
        return self._call(prompt, more, max_tokens=1, temperature=0, **logprobs)


@cache
def _counter() -> TokenCounter | None:
    """Return the counter of GPT-2's tokens; None if the tokenizer is not installed."""
    try:
        return TokenCounter()
    except BadInput:
        return None


def _tokens(text: str) -> int:
    """Return an estimate of the number of tokens of a text."""
    counter = _counter()
    if counter:
        return counter.tokens(text)
    return math.ceil(len(text.encode()) / BYTES_PER_TOKEN)


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -math.inf


def _extends(longer: bytes, text: bytes) -> bool:
    """Whether ``longer`` begins with ``text`` and goes on."""
    return longer.startswith(text) and longer != text


def _chosen(text: bytes, wanted: Sequence[bytes]) -> bytes | None:
    """Return the continuation that equals a first token, or the only one that begins
    with it.
    """
    if text in wanted:
        return text
    begun = {other for other in wanted if text and other.startswith(text)}
    return begun.pop() if len(begun) == 1 else None


def _followed(probability: float, text: bytes) -> bool:
    """Whether a text is continued: it is not negligible and ends with a complete
    character.
    """
    return probability > NEGLIGIBLE and "\ufffd" not in text.decode(errors="replace")


def read_text(answer: JsonObject) -> Written:
    """Return the text of an answer from either endpoint.

    It is empty for an answer without text, such as a refusal, and for one that a filter
    ended.
    """
    if _is_unanswered(answer):
        return Written("")
    choice = answer["choices"][0]
    if "message" in choice:
        text = (choice["message"] or {}).get("content")
    else:
        text = choice["text"]
    if isinstance(text, list):  # parts, of which some are reasoning
        text = "".join(_part_text(part) for part in text)
    if not isinstance(text, str | None):
        raise TypeError(f"its text is {type(text).__name__}")
    is_cut = CUT.search(str(choice.get("finish_reason"))) is not None
    # Half of a surrogate pair cannot be stored.
    storable = (text or "").encode(errors="replace").decode()
    return Written(storable, is_cut)


def _part_text(part: Any) -> str:
    """Return the text of a part of an answer; empty for reasoning."""
    if isinstance(part, str):
        return part
    if REASONING.search(str(part.get("type"))):
        return ""
    return part.get("text") or ""


def _is_unanswered(answer: JsonObject) -> bool:
    """Whether an answer has no choice, or one that a filter ended."""
    choices = answer["choices"]
    if choices == []:
        return True
    return is_filtered(str(choices[0].get("finish_reason")))


def tokens_read(answer: JsonObject) -> int | None:
    """Return how many tokens of the prompt the server read by its own count.

    None if it does not say, or says fewer than `SHORTEST_CONTEXT`.
    """
    usage = answer.get("usage")
    tokens = _count(usage, "prompt_tokens")
    # Servers that do not count say 0, or another small constant.
    if tokens < SHORTEST_CONTEXT or not isinstance(usage, Mapping):
        return None
    # Some servers count tokens that they had separately.
    return tokens + _count(usage.get("prompt_tokens_details"), "cached_tokens")


def _count(counts: Any, name: str) -> int:
    """Return a count of a server; 0 if it has none of this name."""
    try:
        return int(counts[name])
    except (KeyError, TypeError, ValueError, OverflowError):
        return 0


def _reasons_first(answer: JsonObject) -> bool:
    """Whether an answer begins with reasoning, so that its first token says nothing
    about the answer.
    """
    message = answer["choices"][0].get("message") or {}
    if any(value and REASONING.search(name) for name, value in message.items()):
        return True
    tokens = read_tokens(answer) or {b"": 0.0}
    likeliest = max(tokens, key=lambda token: tokens[token])
    return begins_reasoning(likeliest.decode(errors="replace"))


def read_tokens(answer: JsonObject) -> dict[bytes, float] | None:
    """Return {bytes of a token: its log-probability as the first token of an answer};
    None if missing.

    Raises ValueError for invalid probabilities, and if their sum exceeds one.

    Servers use two forms: a list of tokens (chat of OpenAI, vLLM, llama.cpp), and
    parallel lists (completions of OpenAI, vLLM and llama-cpp-python).
    """
    if _is_unanswered(answer):
        return None
    logprobs = answer["choices"][0].get("logprobs") or {}
    if logprobs.get("content"):
        tokens = _listed(logprobs["content"][0])
    elif logprobs.get("tokens") and logprobs.get("top_logprobs"):
        tokens = _parallel(logprobs)
    else:
        return None
    sums: dict[bytes, float] = {}
    for token, probability in tokens:
        sums[token] = sums.get(token, 0.0) + probability
    total = sum(sums.values())
    if total > 1 + TOLERANCE:
        raise ValueError(f"the probabilities of the next token add up to {total:.4g}")
    possible = {token: math.log(share) for token, share in sums.items() if share > 0}
    return possible or None


def _is_complete(tokens: Mapping[bytes, float]) -> bool:
    """Whether log-probabilities are those of the most likely tokens, and not only of
    some that were generated.
    """
    if len(tokens) >= min(TOPS):
        return True
    return sum(map(math.exp, tokens.values())) >= COMPLETE


def _ended(answer: JsonObject) -> bool:
    """Whether the model ended its answer immediately and no probabilities are
    reported.
    """
    if _is_unanswered(answer):
        return False
    choice = answer["choices"][0]
    logprobs = choice.get("logprobs") or {}
    empty = logprobs.get("content", logprobs.get("tokens")) == []
    stopped = choice.get("finish_reason") == "stop"
    return empty and stopped and not read_text(answer).text


def _listed(position: JsonObject) -> Iterator[tuple[bytes, float]]:
    """Yield the tokens of the first form and their probabilities.

    ``position`` has the generated token, and under ``top_logprobs`` the likeliest ones,
    among which the generated one usually is.
    """
    names = set()
    entries = set()
    likeliest = position.get("top_logprobs") or ()
    for token in (*likeliest, position):
        if token.get("logprob") is None:
            continue
        probability = _probability(token["logprob"])
        # Two tokens of the list may have the same bytes; with the same probability too,
        # they are one token.
        name = (token.get("id"), _bytes(token))
        entry = (name, probability)
        is_repeated = name in names if token is position else entry in entries
        if not is_repeated:
            names.add(name)
            entries.add(entry)
            yield name[1], probability


def _probability(log_probability: Any) -> float:
    """Return the probability; ValueError for what is no log-probability."""
    number = type(log_probability) in (int, float)
    if not (number and log_probability <= TOLERANCE):
        raise ValueError(f"{log_probability!r} is no log-probability")
    return math.exp(log_probability)


def _bytes(token: JsonObject) -> bytes:
    """Return the bytes of a token of the first form."""
    if token.get("bytes") is not None:
        return bytes(list(token["bytes"]))
    return str(token.get("token", "")).encode(errors="replace")


def _parallel(logprobs: JsonObject) -> Iterator[tuple[bytes, float]]:
    """Yield the tokens of the second form and their probabilities."""
    likeliest = logprobs["top_logprobs"][0] or {}
    generated = logprobs["tokens"][0]
    generated_log_probability = logprobs["token_logprobs"][0]
    if generated not in likeliest and generated_log_probability is not None:
        yield generated.encode(), _probability(generated_log_probability)
    for token, log_probability in likeliest.items():
        yield token.encode(), _probability(log_probability)
