"""Language models whose weights are on this machine.

What consecutive prompts share is evaluated once: the model holds the keys and values of the last prompt, and
the next one goes on from the longest beginning that both have.  Of a prompt's numbers only those of its last
token are kept, so that a prompt takes the memory of its keys and values and little more.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Literal, Protocol

import numpy as np

from lextables.models.language_model import Choice, Prompt, Request, Weighed, Written, plain
from lextables.pipeline.errors import BadInput

# Characters before the seam that decide how what follows is cut into tokens: more than a word.
SEAM = 64


class Engine(Protocol):
    """What evaluates tokens.

    ``window`` is how many it can hold, None for as many as memory; ``ends`` are the tokens that end an
    answer.
    """

    window: int | None
    ends: frozenset[int]

    def template(self, prompt: Prompt) -> str | None:
        """Return a prompt as the model's own template of conversations writes it; None where it has none."""
        ...

    def ids(self, text: str, begins: bool) -> list[int]:
        """Return the tokens of a text; one that ``begins`` has the token before it that the model wants."""
        ...

    def text(self, ids: Sequence[int]) -> str:
        """Return what tokens spell."""
        ...

    def after(self, ids: Sequence[int], held: int) -> np.ndarray:
        """Return float32 (vocabulary): the log-probabilities of the token after ``ids``, which are not empty.

        The first ``held`` of them, fewer than there are, began the last call's as well.
        """
        ...


class LocalLanguageModel:
    """A model on this machine, asked in turns of a conversation or to go on with a text.

    ``endpoint`` `chat` writes a prompt by the template that comes with the model; without one, or as
    `completions`, its messages are the text, a blank line between them.
    """

    def __init__(self, name: str, engine: Engine, endpoint: Literal["chat", "completions"] = "chat") -> None:
        self.name, self.window = name, engine.window
        self._engine, self._chat = engine, endpoint == "chat"
        self._held: Sequence[int] = ()

    def tokens(self, prompt: Prompt) -> int:
        """How many tokens a prompt has."""
        return len(self._ids(prompt))

    def weigh(self, choices: Sequence[Choice]) -> list[Weighed]:
        """The log-probabilities of each choice's continuations, as they are cut into tokens after the prompt.

        Each is a sum over its tokens, in float32; what may come after it is not asked.  Raises `BadInput`
        before anything is evaluated if one does not fit in the window.
        """
        return [evaluate() for evaluate in self.weighing(choices)]

    def write(self, requests: Sequence[Request]) -> list[Written]:
        """The text that the model answers each request with; `BadInput` as `weigh`."""
        return [evaluate() for evaluate in self.writing(requests)]

    def weighing(self, choices: Sequence[Choice]) -> Iterator[Callable[[], Weighed]]:
        """What gives each answer of `weigh` when it is called."""
        prompts = [self._ids(choice.prompt) for choice in choices]
        continued = [
            [self._continued(choice.prompt, text) for text in choice.continuations] for choice in choices
        ]
        self._check(prompts, [max(map(len, ids), default=1) for ids in continued])
        for prompt, continuations in zip(prompts, continued, strict=True):
            yield partial(self._weighed, list(prompt), continuations)

    def writing(self, requests: Sequence[Request]) -> Iterator[Callable[[], Written]]:
        """What gives each answer of `write` when it is called."""
        prompts = [self._ids(request.prompt) for request in requests]
        self._check(prompts, [request.max_tokens for request in requests])
        for prompt, request in zip(prompts, requests, strict=True):
            yield partial(self._written, list(prompt), request)

    def _text(self, prompt: Prompt) -> tuple[str, bool]:
        """A prompt as text, and whether it wants the token that begins texts: a template writes it itself."""
        if self._chat and (written := self._engine.template(prompt)) is not None:
            return written, False
        return plain(prompt), True

    def _ids(self, prompt: Prompt) -> array:
        return array("i", self._engine.ids(*self._text(prompt)))

    def _continued(self, prompt: Prompt, continuation: str) -> list[int]:
        """The tokens of a continuation after those of the prompt, which stay as they are."""
        for before in (self._text(prompt)[0][-SEAM:], "\n", ""):
            start, whole = (self._engine.ids(text, False) for text in (before, before + continuation))
            if len(whole) > len(start) and whole[: len(start)] == start:
                return whole[len(start) :]
        raise BadInput(f"{continuation!r} has no token", where=self.name, do="ask for a text")

    def _check(self, prompts: Sequence[Sequence[int]], answers: Sequence[int]) -> None:
        longest = max((len(ids) + more for ids, more in zip(prompts, answers, strict=True)), default=0)
        if self.window is not None and longest > self.window:
            raise BadInput(
                f"a prompt and its answer have {longest:,} tokens, and the model reads {self.window:,}",
                where=self.name,
                do="ask a model with a larger window, or shorter texts",
            )

    def _after(self, ids: list[int]) -> np.ndarray:
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self._held, ids, strict=False)))
        # What was held is no longer so if evaluating stops in the middle.
        self._held = ()
        found = self._engine.after(ids, min(same, len(ids) - 1))
        self._held = ids
        return found

    def _weighed(self, prompt: list[int], continuations: Sequence[Sequence[int]]) -> Weighed:
        sums = np.zeros(len(continuations), dtype=np.float32)
        # In this order each shares with the one before it all that it can.
        for before in sorted({tuple(ids[:end]) for ids in continuations for end in range(len(ids))}):
            found = self._after([*prompt, *before])
            for place, ids in enumerate(continuations):
                if len(ids) > len(before) and tuple(ids[: len(before)]) == before:
                    sums[place] += found[ids[len(before)]]
        return Weighed(tuple(sums.tolist()))

    def _written(self, prompt: list[int], request: Request) -> Written:
        draw = np.random.default_rng(request.seed)
        answer: list[int] = []
        while len(answer) < request.max_tokens:
            token = _next(self._after([*prompt, *answer]), request.temperature, draw)
            if token in self._engine.ends:
                return Written(self._engine.text(answer))
            answer.append(token)
        return Written(self._engine.text(answer), cut=True)


def _next(log_probabilities: np.ndarray, temperature: float, draw: np.random.Generator) -> int:
    if temperature == 0:
        return int(log_probabilities.argmax())
    sharpened = log_probabilities.astype(np.float64) / temperature
    weights = np.exp(sharpened - sharpened.max())
    return int(draw.choice(len(weights), p=weights / weights.sum()))
