"""What a language model is asked and what it gives back: one protocol, whatever stands behind it.

Behind it are weights on this machine or a server; what is built on it (rerankers, questions with options)
knows neither.  Both ways in are those of EleutherAI's harness: the probabilities of continuations that are
given, and text that the model writes itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol


class Message(NamedTuple):
    """One turn of a conversation; a last one of the role `assistant` is the beginning of the answer."""

    role: Literal["system", "user", "assistant"]
    content: str


Prompt = tuple[Message, ...]


@dataclass(frozen=True)
class Choice:
    """Continuations of a prompt, of which the model is to say how probable each is.

    Prompts that begin alike should follow one another: what they share is then evaluated once.
    """

    prompt: Prompt
    continuations: tuple[str, ...]


@dataclass(frozen=True)
class Weighed:
    """What a model makes of a `Choice`.

    ``log_probabilities`` are natural logarithms of each continuation's probability after the prompt, in their
    order; minus infinity where it is less than the model tells.  None: the model tells no probabilities.
    """

    log_probabilities: tuple[float, ...] | None


@dataclass(frozen=True)
class Request:
    """A prompt that the model is to answer in its own words, in ``max_tokens`` tokens at most.

    At ``temperature`` 0 it takes the likeliest token each time; above, ``seed`` tells draws apart.
    """

    prompt: Prompt
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class Written:
    """What a model wrote; ``cut`` where it ran into ``max_tokens``."""

    text: str
    cut: bool = False


class LanguageModel(Protocol):
    """A model that weighs continuations and writes.

    ``window`` is how many tokens a prompt and its answer may have together, None where that is not known.
    Answers come in the order of what was asked.
    """

    name: str
    window: int | None

    def tokens(self, prompt: Prompt) -> int:
        """How many tokens a prompt has.

        A server's model has an estimate that is rather too high, and ``fewest_tokens``, which never is.
        """
        ...

    def expect(self, requests: int, characters: int) -> None:
        """Say what it is about to be asked, all in all and at most, and what that may take."""
        ...

    def weigh(self, choices: Sequence[Choice]) -> list[Weighed]:
        """The log-probabilities of each choice's continuations."""
        ...

    def write(self, requests: Sequence[Request]) -> list[Written]:
        """The text that the model answers each request with."""
        ...


def plain(prompt: Prompt) -> str:
    """A prompt as one text, for a model that knows no turns: its messages, a blank line between them."""
    return "\n\n".join(message.content for message in prompt)
