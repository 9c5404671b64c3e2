"""Protocol of language models: requests and answers, for local weights and for servers.

Callers (rerankers, questions with options) do not know which of the two they use.  The
two operations are those of EleutherAI's harness: log-probabilities of continuations,
and generated text.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from lextables.models.reasoning import answer_of
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject


class Message(NamedTuple):
    """One turn of a conversation; a last turn with the role `assistant` is the
    beginning of the answer.
    """

    role: str
    content: str


Prompt = tuple[Message, ...]
_log = logging.getLogger("lextables")


@dataclass(frozen=True)
class Choice:
    """A prompt and the continuations whose log-probabilities are wanted.

    Prompts with a common beginning should be adjacent: it is then evaluated once.
    """

    prompt: Prompt
    continuations: tuple[str, ...]


@dataclass(frozen=True)
class Weighed:
    """The answer to a `Choice`.

    ``log_probabilities`` are the natural logarithms of the continuations' probabilities
    after the prompt, in order; minus infinity where a probability is too small to be
    reported.  None: the model reports none.
    """

    log_probabilities: tuple[float, ...] | None


@dataclass(frozen=True)
class Request:
    """A prompt to be answered with generated text of at most ``max_tokens`` tokens.

    At ``temperature`` 0 decoding is greedy; above, ``seed`` distinguishes samples.
    """

    prompt: Prompt
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class Written:
    """Generated text without the model's reasoning; ``cut`` where it reached
    ``max_tokens``.

    It is empty if the model gave no answer, for example if it was cut within its
    reasoning.
    """

    text: str
    cut: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", answer_of(self.text))


class LanguageModel(Protocol):
    """A model that scores continuations and generates text.

    ``window`` is the context length in tokens, prompt and answer together; None where
    unknown.  ``device`` is the name of the device, or a server's base address.  Answers
    are in the order of the requests.
    """

    name: str
    window: int | None
    device: str

    def tokens(self, prompt: Prompt) -> int:
        """Return the number of tokens of a prompt.

        For a server's model this is an estimate that tends to be too high; its
        ``fewest_tokens`` is a lower bound.
        """
        ...

    def expect(self, requests: int, characters: int) -> None:
        """Report the maximum number of requests and characters that will follow, and
        their cost.
        """
        ...

    def weigh(self, choices: Sequence[Choice]) -> list[Weighed]:
        """Return the log-probabilities of each choice's continuations."""
        ...

    def write(self, requests: Sequence[Request]) -> list[Written]:
        """Return the generated text for each request."""
        ...


def without_system(prompt: Prompt) -> Prompt:
    """Return a prompt with the system's text at the start of the user's turn, for
    models without that role.
    """
    first, *others = prompt
    if first.role != "system" or not others:
        return prompt
    second, *rest = others
    content = f"{first.content}\n\n{second.content}"
    return (second._replace(content=content), *rest)


def note_asked(record: JsonObject, model: LanguageModel, counts: JsonObject) -> None:
    """Add the ``counts`` of a model's requests to the record of a run.

    Raises `BadInput` if none was ``answered``: then there is no score.
    """
    record["asked"] = dict(counts)
    record["device"] = model.device
    _log.info("asked: %s", record["asked"])
    if counts["requests"] and not counts["answered"]:
        what = f"the model answered none of {counts['requests']:,} requests"
        do = "use a model that answers within the tokens of an answer"
        raise BadInput(what, where=model.name, do=do)


def plain(prompt: Prompt) -> str:
    """Return a prompt as one text, for models without chat turns: its messages joined
    by blank lines.
    """
    return "\n\n".join(message.content for message in prompt)
