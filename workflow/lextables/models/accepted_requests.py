"""Which parts of a request servers refuse, and errors inside their answers.

Some servers refuse parameters that others require.  A refused parameter is left out or
renamed, a refused system text is put into the user's turn, and the request is repeated;
run.json records the changes.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from lextables.models.language_model import Message, without_system
from lextables.pipeline.files import JsonObject

# {parameter: its other name, or None to leave it out}
_OPTIONAL: Mapping[str, str | None] = {
    "max_tokens": "max_completion_tokens",
    "temperature": None,
    "seed": None,
    "top_p": None,
    "min_p": None,
}
# Without these a server samples in another way.
SAMPLING_PARTS = frozenset(("temperature", "top_p", "min_p"))
_SYSTEM = "system"  # the role, and the name of this part of a request
# Reasons of servers that refuse a text of this role.
_NO_SYSTEM = re.compile(
    r"\bsystem\b.{0,40}\b(role|message|prompt|instruction)|\brole.{0,40}\bsystem\b"
    r"|developer instruction|\buser\W{1,4}(?:and|or)?\W{0,4}assistant\b|invalid.{0,9}role",
    re.IGNORECASE,
)
# Reasons of servers not to answer a prompt, in the text or the code of an error, or in
# a finish_reason.
_FILTERED = re.compile(
    r"filter|content.?policy|content.?management|moderat|safety|flagged|prohibited|blocklist|recitation"
    r"|sensitive|usage (?:policy|policies|guidelines)|data.?inspection|content exists risk|responsible.?ai",
    re.IGNORECASE,
)
# Reasons of servers for which a prompt has too many tokens.
_TOO_LONG = re.compile(
    r"context.{0,30}(?:length|size|window)|(?:length|size|window).{0,30}context"
    r"|(?:prompt|input|request)\b.{0,30}too (?:long|large)|too many (?:input )?tokens",
    re.IGNORECASE,
)
# Words of a finish_reason of an answer that is not complete.
_FAILED = re.compile(
    r"error|abort|cancel|insufficient|timeout|unavailable", re.IGNORECASE
)
_UNAVAILABLE = 503  # status of an error that has none of its own
# Keys of an error whose values describe it; other keys may repeat the request.
_WORDS = (
    "code",
    "message",
    "msg",
    "detail",
    "loc",
    "param",
    "reasons",
    "error",
    "errors",
    "innererror",
    "metadata",
)
# How answers without choices say that they are errors.
_ERROR_KEYS = {"error", "errors", "fault", "detail", "message", "msg"}
_DEEPEST = 5  # levels of a nested error that are read


def refused_part(reason: str, body: JsonObject) -> str | None:
    """Return the part of a request that a server refuses by its ``reason``: a
    parameter, or `system`.

    None if it names no part that can be changed.
    """
    for name in _OPTIONAL:
        # Also in other spellings, such as maxTokens.
        spelling = name.replace("_", "_?")
        if name in body and re.search(rf"\b{spelling}\b", reason, re.IGNORECASE):
            return name
    messages = body.get("messages", ())
    if (
        len(messages) > 1
        and messages[0]["role"] == _SYSTEM
        and _NO_SYSTEM.search(reason)
    ):
        return _SYSTEM
    return None


def without_part(body: JsonObject, part: str) -> JsonObject:
    """Return a request without a part that `refused_part` names, or with its other
    name.
    """
    body = dict(body)
    if part == _SYSTEM:
        prompt = tuple(Message(**message) for message in body["messages"])
        body["messages"] = [turn._asdict() for turn in without_system(prompt)]
    elif part in body:
        value = body.pop(part)
        other_name = _OPTIONAL[part]
        if other_name:
            body[other_name] = value
    return body


def in_words(part: str) -> str:
    """Return a change of requests as a clause."""
    if part == _SYSTEM:
        return "the server accepts no system role: its text is in the user's turn"
    other_name = _OPTIONAL[part]
    if other_name:
        return f"the server accepts {other_name} and not {part}"
    return f"the server accepts no {part}: it uses its own"


def is_filtered(reason: str) -> bool:
    """Whether a server's reason says that it does not answer this prompt because of its
    content.
    """
    return bool(_FILTERED.search(reason))


def is_too_long(reason: str) -> bool:
    """Whether a server's reason says that the prompt has too many tokens."""
    return bool(_TOO_LONG.search(reason))


def reason_of(error: Any, depth: int = _DEEPEST) -> str:
    """Return the words in an error of a server: its codes and messages."""
    parts = []
    if isinstance(error, Mapping):
        parts = [error[name] for name in _WORDS if error.get(name)]
    elif isinstance(error, list):
        parts = error
    elif error is not None:
        return str(error)
    if depth == 0:
        return ""
    words = [reason_of(part, depth - 1) for part in parts]
    return " ".join(filter(None, words))


def error_status(content: bytes) -> int | None:
    """Return the status of an error inside an answer with the status 200; None if there
    is none.

    An empty answer is an error too.
    """
    if not content:
        return _UNAVAILABLE
    if not content.startswith(b"{"):
        return None
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return None
    error = _error_in(answer)
    if not error:
        return None
    code = str(error.get("code") if isinstance(error, Mapping) else "")
    return int(code) if re.fullmatch(r"[45]\d\d", code) else _UNAVAILABLE


def _error_in(answer: JsonObject) -> Any:
    """Return the error in an answer: an object or a text of the server, or True if it
    gives none.

    None or False for an answer without an error.
    """
    # {"error": {"code": 429, "message": "slow down"}}
    if answer.get("error"):
        return answer["error"]
    choices = answer.get("choices")
    if isinstance(choices, list):
        # {"choices": []} is no error: the question is unanswered.
        if not choices or not isinstance(choices[0], Mapping):
            return None
        # {"choices": [{"error": {"code": 502}}]}
        if choices[0].get("error"):
            return choices[0]["error"]
        # {"choices": [{"finish_reason": "error"}]}
        return bool(_FAILED.search(str(choices[0].get("finish_reason"))))
    # {"data": [{"embedding": [0.1]}]}, the answer of an embedding API
    if answer.get("data") is not None:
        return None
    # {"message": "no such model", "code": 404}
    if any(isinstance(answer.get(key), str | list) for key in _ERROR_KEYS):
        return answer
    # {"choices": null}
    if "choices" in answer and choices is None:
        return answer
    return None
