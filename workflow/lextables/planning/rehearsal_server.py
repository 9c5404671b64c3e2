"""A server that answers for models behind an API during a rehearsal, on this machine.

It answers in the form of OpenAI's API, and always gives the same answer to the same
request.  A vector has the counts of hashed words; a text is the beginning of the
question, or "No related clause.".  No request leaves this machine.
"""

import http.server
import json
import re
import socket
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lextables.pipeline.atomic import write_text

HOST = "127.0.0.1"
DIMENSIONS = 32  # of a vector
NO_CLAUSE = "No related clause."  # the answer that ContractEval asks for
ANSWER_CHARACTERS = 80  # of the question, which are the other answer


def address(file: Path) -> str:
    """Return the address of the server, whose port is in ``file``.

    Without the file, a free port is written to it.  The address is a setting of runs,
    so all rehearsals with the same results folder must have the same address.
    """
    if not file.is_file():
        with socket.socket() as free:
            free.bind((HOST, 0))
            port = free.getsockname()[1]
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, str(port))
    return f"http://{HOST}:{int(file.read_text(encoding='utf-8'))}/v1"


def serve(base: str) -> Callable[[], None]:
    """Answer requests at the address ``base`` in a thread; return the function that
    ends it.

    Raises `OSError` if another program has the port.
    """
    port = int(base.rsplit(":", 1)[1].split("/")[0])
    server = http.server.ThreadingHTTPServer((HOST, port), _Answers)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def close() -> None:
        server.shutdown()
        server.server_close()

    return close


class _Answers(http.server.BaseHTTPRequestHandler):
    """Answers the requests for vectors, for turns of a conversation and for
    completions.
    """

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Send the answer to a request, which depends on its content alone."""
        length = int(self.headers["Content-Length"])
        body = json.loads(self.rfile.read(length))
        if self.path.endswith("/embeddings"):
            content = _vectors(body["input"])
        else:
            content = _written(body)
        answer = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Log nothing about a request."""


def _vectors(texts: list[str]) -> dict[str, Any]:
    """Return a vector for each text: the counts of its hashed words."""
    data = []
    for index, text in enumerate(texts):
        counts = [1.0] + [0.0] * (DIMENSIONS - 1)  # never the zero vector
        for word in text.lower().split():
            counts[zlib.crc32(word.encode()) % DIMENSIONS] += 1.0
        data.append({"index": index, "embedding": counts, "object": "embedding"})
    usage = {"prompt_tokens": sum(map(_tokens, texts))}
    return {"object": "list", "data": data, "usage": usage}


def _written(body: dict[str, Any]) -> dict[str, Any]:
    """Return a text for the last message or the prompt of a request."""
    prompt = [body["prompt"]] if "prompt" in body else []
    prompt += [message["content"] for message in body.get("messages", ())]
    question = prompt[-1]
    text = question[:ANSWER_CHARACTERS]
    # A checksum of the question chooses between the two answers.
    if zlib.crc32(question.encode()) % 2:
        text = NO_CLAUSE
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
    if "messages" in body:
        choice["message"] = {"role": "assistant", "content": text}
    else:
        choice["text"] = text
    usage = {"prompt_tokens": sum(map(_tokens, prompt))}
    usage["completion_tokens"] = _tokens(text)
    return {"object": "answer", "choices": [choice], "usage": usage}


def _tokens(text: str) -> int:
    """Return the number of tokens of a text: on this server, words and punctuation
    marks.
    """
    return len(re.findall(r"\w+|[^\w\s]", text))
