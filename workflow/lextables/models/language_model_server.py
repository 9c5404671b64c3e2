"""Language models behind an OpenAI-compatible API: OpenAI's own, vLLM's, llama.cpp's and others.

The probability of a continuation is found by crawling the tree of answers (the privacy policy corpus, Section
5): the server tells the likeliest next tokens, each that begins a continuation is followed, and what leads to
the same text is added up, until the continuation is spelled or what is left is negligible.
"""

import heapq
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

from lextables.models.api import Api, Call, Refused
from lextables.models.language_model import Choice, Prompt, Request, Weighed, Written, plain
from lextables.models.limits import Limits
from lextables.models.token_count import TokenCounter
from lextables.pipeline.errors import BadInput

Endpoint = Literal["chat", "completions"]
PATHS: dict[Endpoint, str] = {"chat": "/chat/completions", "completions": "/completions"}
# A way to an answer is left where it has come down to this probability.
NEGLIGIBLE = 1e-4
# How many tokens are asked for, and how many where a server refuses so many; 5 is OpenAI's most for
# completions.
TOPS = (20, 5)
# Without a tokenizer: of English text a token has four or five.
BYTES_A_TOKEN = 3
# Where a model ends its answer at once, llama-cpp-python tells no probabilities: then a token is drawn, so
# that most draws are another, and those of the model itself are told beside it.
DRAWN = {"temperature": 2.0, "top_p": 1, "min_p": 0}
DRAWS = 8
# By how much rounding may carry probabilities, one or their sum, beyond 1.
TOLERANCE = 1e-3
# Tokens that a message adds to its text, at most.
AROUND_A_MESSAGE = 8


def opened(settings: Mapping[str, Any], kept: str | Path, limits: Limits) -> "ServerLanguageModel":
    """Return the model that a run's settings name (`lextables.models.asked`)."""
    api = Api(settings["api"], settings["weights"], kept, limits)
    endpoint = settings.get("endpoint") or "chat"
    return ServerLanguageModel(settings["model"], settings["weights"], api, endpoint, settings.get("window"))


class ServerLanguageModel:
    """A model behind an API, asked in turns of a conversation or to go on with a text.

    In a conversation nobody but the model goes on with its answer.  So of `chat` the first token alone is
    read: a continuation has the probability of the token that is it, or that begins it and no other; what
    begins several is nobody's.  Ask for answers that differ in their first token, such as letters.
    `completions` are crawled to the end, and what a continuation gets is the sum over all the ways to cut it
    into tokens.
    """

    def __init__(
        self, name: str, model: str, api: Api, endpoint: Endpoint, window: int | None = None
    ) -> None:
        self.name, self.window = name, window
        self._model, self._api, self._endpoint = model, api, endpoint
        self._top, self._lock = 0, threading.Lock()

    def tokens(self, prompt: Prompt) -> int:
        """About as many as the prompt has, rather more: the server alone has its tokenizer.

        Counted by GPT-2's vocabulary, which cuts English into more tokens than later ones; where that is not
        installed, a token for each `BYTES_A_TOKEN`.
        """
        return sum(_tokens(message.content) + AROUND_A_MESSAGE for message in prompt)

    def fewest_tokens(self, prompt: Prompt) -> int:
        """No more than the prompt has: one for each word, since vocabularies join no words."""
        return sum(len(message.content.split()) for message in prompt)

    def expect(self, requests: int, characters: int) -> None:
        """Say about how many tokens and dollars are to come, and what is spent."""
        self._api.expect(requests, characters)

    def weigh(self, choices: Sequence[Choice]) -> list[Weighed]:
        """The log-probabilities of each choice's continuations; of none where the server tells none."""
        first = [self._call(choice.prompt, "", TOPS[self._top]) for choice in choices]
        return self._api.all(
            first, [partial(self._weighed, choice) for choice in choices], "answers to weigh"
        )

    def write(self, requests: Sequence[Request]) -> list[Written]:
        """The text that the model answers each request with."""
        calls = [self._writing(request) for request in requests]
        return self._api.all(calls, [partial(self._written, call) for call in calls], "answers to write")

    def _body(self, prompt: Prompt, more: str) -> dict[str, Any]:
        if self._endpoint == "completions":
            return {"model": self._model, "prompt": plain(prompt) + more}
        return {"model": self._model, "messages": [message._asdict() for message in prompt]}

    def _call(self, prompt: Prompt, more: str, top: int) -> Call:
        told = {"logprobs": True, "top_logprobs": top} if self._endpoint == "chat" else {"logprobs": top}
        body = self._body(prompt, more) | {"max_tokens": 1, "temperature": 0} | told
        return Call(PATHS[self._endpoint], body)

    def _writing(self, request: Request) -> Call:
        how = {"max_tokens": request.max_tokens, "temperature": request.temperature, "seed": request.seed}
        return Call(PATHS[self._endpoint], self._body(request.prompt, "") | how)

    def _written(self, call: Call) -> Written:
        return read_text(self._api.ask(call, read_text))

    def _weighed(self, choice: Choice) -> Weighed:
        wanted = [continuation.encode() for continuation in choice.continuations]
        shares = dict.fromkeys(wanted, 0.0)
        # The shortest first: all ways to it have been gone when a text is gone on with.
        waiting, reached = [(0, b"")], {b"": 1.0}
        while waiting:
            _, before = heapq.heappop(waiting)
            tokens = self._next(choice.prompt, before.decode())
            if tokens is None:
                return Weighed(None)
            for token, log_probability in tokens.items():
                text, share = before + token, reached[before] * math.exp(log_probability)
                if self._endpoint == "chat":
                    if (one := _decided(text, wanted)) is not None:
                        shares[one] += share
                    continue
                if text in shares:
                    shares[text] += share
                if _goes_on(text, wanted):
                    if text not in reached:
                        reached[text] = 0.0
                        heapq.heappush(waiting, (len(text), text))
                    reached[text] += share
            while waiting and not _worth(reached[waiting[0][1]], waiting[0][1]):
                heapq.heappop(waiting)
        return Weighed(tuple(_log_of(shares[text]) for text in wanted))

    def _next(self, prompt: Prompt, more: str) -> dict[bytes, float] | None:
        """The likeliest tokens after a prompt and what was answered already, with their log-probabilities.

        None where the server tells none; none of them where the model does nothing but end its answer.
        """
        found = self._likeliest(prompt, more)
        if found is None or not _ended(found[1]):
            return found and read_tokens(found[1])
        call, answered = found
        for seed in range(DRAWS):
            drawn = call._replace(body={**call.body, **DRAWN, "seed": seed})
            if not _ended(answered := self._api.ask(drawn, _check)):
                return read_tokens(answered)
        return {}

    def _likeliest(self, prompt: Prompt, more: str) -> tuple[Call, Any] | None:
        """The call that tells the likeliest tokens, with its answer; None where none is told."""
        calls = [self._call(prompt, more, top) for top in TOPS]
        for call in calls:
            if (answered := self._api.kept(call, _check)) is not None:
                return call, answered
        for at in range(self._top, len(TOPS)):
            try:
                return calls[at], self._api.ask(calls[at], _check)
            except Refused as fault:
                if "logprob" not in fault.said.lower():
                    raise
                with self._lock:
                    self._top = min(max(self._top, at + 1), len(TOPS) - 1)
        return None


@cache
def _counter() -> TokenCounter | None:
    try:
        return TokenCounter()
    except BadInput:  # not installed
        return None


def _tokens(text: str) -> int:
    counter = _counter()
    return counter.tokens(text) if counter else math.ceil(len(text.encode()) / BYTES_A_TOKEN)


def _decided(text: bytes, wanted: Sequence[bytes]) -> bytes | None:
    """The answer that a first token decides for: the one that it is, or the only one that it begins."""
    if text in wanted:
        return text
    begun = {one for one in wanted if text and one.startswith(text)}
    return begun.pop() if len(begun) == 1 else None


def _goes_on(text: bytes, wanted: Sequence[bytes]) -> bool:
    return bool(text) and any(one.startswith(text) and one != text for one in wanted)


def _worth(share: float, text: bytes) -> bool:
    """Whether a text is gone on with: what is left is not negligible, and it ends with a whole character."""
    return share > NEGLIGIBLE and "\ufffd" not in text.decode(errors="replace")


def _log_of(share: float) -> float:
    return math.log(share) if share > 0 else -math.inf


def read_text(answered: Mapping[str, Any]) -> Written:
    """Return what an answer says, of either endpoint; an answer without text, such as a refusal, is empty."""
    choice = answered["choices"][0]
    text = choice["message"]["content"] if "message" in choice else choice["text"]
    if not isinstance(text, str | None):
        raise TypeError(f"its text is {type(text).__name__}")
    return Written(text or "", choice.get("finish_reason") == "length")


def _check(answered: Mapping[str, Any]) -> None:
    """Read all that an answer may have: one without text is none, while one may tell no probabilities."""
    read_text(answered)
    read_tokens(answered)


def read_tokens(answered: Mapping[str, Any]) -> dict[bytes, float] | None:
    """Return the log-probabilities of the first token of an answer, by the token's bytes; None if there are
    none.

    Raises ValueError for what is no probability, and for some that add up to more than one.

    Servers write them in three forms: a list of tokens (OpenAI's chat, vLLM's, llama.cpp's), lists side by
    side (completions of OpenAI, vLLM and llama-cpp-python), and probabilities (llama.cpp's server of before
    2025).
    """
    choice = answered["choices"][0]
    told = choice.get("logprobs")
    if told and told.get("content"):
        found = _listed(told["content"][0])
    elif told and told.get("tokens") and told.get("top_logprobs"):
        found = _side_by_side(told)
    elif answered.get("completion_probabilities"):
        found = _listed(answered["completion_probabilities"][0])
    else:
        return None
    return _together(found) or None


def _ended(answered: Mapping[str, Any]) -> bool:
    """Whether the model ended its answer before it began, and nothing is told of what else was likely."""
    choice = answered["choices"][0]
    told = choice.get("logprobs") or {}
    nothing = told.get("content", told.get("tokens")) == []
    return nothing and choice.get("finish_reason") == "stop" and not read_text(answered).text


def _listed(place: Mapping[str, Any]) -> Iterator[tuple[bytes, float]]:
    others = place.get("top_logprobs") or place.get("probs") or place.get("top_probs") or []
    seen = set()
    for token in (*others, place):
        share = token.get("prob")
        if token.get("logprob") is not None:
            share = _share(token["logprob"])
        elif share is not None and not (_is_number(share) and 0 <= share <= 1 + TOLERANCE):
            raise ValueError(f"{share!r} is no probability")
        # Two tokens may have the same bytes; the one that was taken stands among the others as well.
        name = (token.get("id"), _spelled(token))
        if share is not None and (name, share) not in seen and not (token is place and name in seen):
            seen |= {name, (name, share)}
            yield name[1], share


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _share(log_probability: Any) -> float:
    """The probability of which this is the logarithm, which is minus infinity of none at all."""
    if not (_is_number(log_probability) and log_probability <= TOLERANCE):
        raise ValueError(f"{log_probability!r} is no log-probability")
    return math.exp(log_probability)


def _spelled(token: Mapping[str, Any]) -> bytes:
    if token.get("bytes") is not None:
        return bytes([*token["bytes"]])
    return str(token.get("token", token.get("tok_str", token.get("content", "")))).encode()


def _side_by_side(told: Mapping[str, Any]) -> Iterator[tuple[bytes, float]]:
    likeliest = told["top_logprobs"][0] or {}
    taken = told["tokens"][0]
    if taken not in likeliest and told["token_logprobs"][0] is not None:
        yield taken.encode(), _share(told["token_logprobs"][0])
    for token, log_probability in likeliest.items():
        yield token.encode(), _share(log_probability)


def _together(found: Iterator[tuple[bytes, float]]) -> dict[bytes, float]:
    sums: dict[bytes, float] = {}
    for token, share in found:
        sums[token] = sums.get(token, 0.0) + share
    if (total := sum(sums.values())) > 1 + TOLERANCE:
        raise ValueError(f"the probabilities of the next token add up to {total:.4g}")
    return {token: math.log(share) for token, share in sums.items() if share > 0}
