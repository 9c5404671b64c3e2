"""What servers accept of a request, and what their answers are beside answers.

Servers refuse parameters that others require.  A refused parameter is left out or renamed, a refused system
text is put into the user's turn, and the request is repeated; run.json records the changes.
"""

import json
import re
from collections.abc import Mapping

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
_SYSTEM = "system"
_NO_SYSTEM = re.compile(
    r"\bsystem\b.{0,40}\b(role|message|prompt|instruction)|\brole.{0,40}\bsystem\b"
    r"|developer instruction|roles must alternate|only user and assistant",
    re.IGNORECASE,
)
# Reasons of servers not to answer a prompt, in the text or the code of an error, or in a finish_reason.
_FILTERED = re.compile(
    r"filter|content.?policy|content.?management|moderat|safety|flagged|prohibited|blocklist|recitation"
    r"|sensitive|usage (?:policy|policies|guidelines)|data.?inspection|content exists risk|responsible.?ai",
    re.IGNORECASE,
)
_UNAVAILABLE = 503


def refused_part(reason: str, body: JsonObject) -> str | None:
    """Return the part of a request that a server refuses by its ``reason``: a parameter, or `system`.

    None if it names no part that can be changed.
    """
    for name in _OPTIONAL:
        if name in body and re.search(rf"\b{name}\b", reason):
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
    """Return a request without a part that `refused_part` names, or with its other name."""
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
    """Whether a server's reason says that it does not answer this prompt because of its content."""
    return bool(_FILTERED.search(reason))


def error_status(content: bytes) -> int | None:
    """Return the status of an error inside an answer with the status 200; None for an answer without one."""
    if b'"error"' not in content:
        return None
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, Mapping):
        return None
    error = answer.get("error")
    choices = answer.get("choices")
    if (
        not error
        and isinstance(choices, list)
        and choices
        and isinstance(choices[0], Mapping)
    ):
        error = choices[0].get("error") or choices[0].get("finish_reason") == "error"
    if not error and answer.get("object") == "error":
        error = answer
    if not error:
        return None
    code = str(error.get("code") if isinstance(error, Mapping) else "")
    return int(code) if re.fullmatch(r"[45]\d\d", code) else _UNAVAILABLE
