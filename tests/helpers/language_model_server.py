"""An OpenAI-compatible server on loopback that answers with a local language model or
with given responses.

The log-probabilities of a completion have OpenAI's format: parallel lists.
"""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lextables.models.language_model import Message
from lextables.models.local_language_model import LocalLanguageModel


@dataclass
class Server:
    """Base URL of a server, and the requests that it received, in order: (path,
    headers, body).
    """

    base: str = ""
    close: Callable[[], None] = lambda: None
    asked: list[tuple[str, dict[str, str], dict[str, Any]]] = field(
        default_factory=list
    )


@contextmanager
def serving(
    answer: Callable[[http.server.BaseHTTPRequestHandler, str, dict], None],
) -> Iterator[Server]:
    """Run a server in the ``with`` block; ``answer(handler, path, body)`` sends the
    response to a request.
    """
    server = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.title(): value for name, value in self.headers.items()}
            server.asked.append((self.path, headers, body))
            answer(self, self.path, body)

        def log_message(self, *_):
            pass

        def handle(self):
            try:
                super().handle()
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client has disconnected

    http_server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http_server.daemon_threads = True
    serve = http_server.serve_forever
    threading.Thread(target=serve, args=(0.01,), daemon=True).start()
    server.base = f"http://127.0.0.1:{http_server.server_port}/v1"

    def close():
        http_server.shutdown()
        http_server.server_close()
        # A test may close the server before its end.
        server.close = lambda: None

    server.close = close
    try:
        yield server
    finally:
        server.close()


def reply(
    handler: http.server.BaseHTTPRequestHandler, status: int, body: Any, **headers: str
) -> None:
    """Send a JSON response; underscores in the names of headers become hyphens."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def always(status: int, body: Any, **headers: str) -> Callable:
    """Return an ``answer`` that sends the same response to every request."""
    return lambda handler, path, asked: reply(handler, status, body, **headers)


def in_turn(*answers: Callable) -> Callable:
    """Return an ``answer`` that uses each of ``answers`` once, then always the last."""
    left = list(answers)
    return lambda *request: (left.pop(0) if len(left) > 1 else left[0])(*request)


class Answers:
    """Completions of a local language model, one request at a time."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._turn = threading.Lock()
        self._model = LocalLanguageModel("served", engine, "completions")

    def __call__(
        self, handler: http.server.BaseHTTPRequestHandler, path: str, body: dict
    ) -> None:
        with self._turn:
            ids = list(self._model._ids((Message("user", body["prompt"]),)))
            answer = self._completion(ids, body)
        usage = {"prompt_tokens": len(ids), "completion_tokens": body["max_tokens"]}
        reply(handler, 200, {"object": "answer", "choices": [answer], "usage": usage})

    def _likeliest(self, ids: list[int], top: int) -> list[tuple[str, float]]:
        """Return the likeliest next tokens, with their log-probabilities."""
        log_probabilities = self._engine.after(ids, 0)
        best = np.argsort(-log_probabilities, kind="stable")[:top]
        tokens = []
        for token in best:
            text = self._engine.text([int(token)])
            tokens.append((text, float(log_probabilities[token])))
        return tokens

    def _text(self, ids: list[int], tokens: int) -> str:
        """Return the text that follows, always with the likeliest token."""
        answer: list[int] = []
        for _ in range(tokens):
            token = int(self._engine.after([*ids, *answer], 0).argmax())
            if token in self._engine.ends:
                break
            answer.append(token)
        return self._engine.text(answer)

    def _completion(self, ids: list[int], body: dict) -> dict[str, Any]:
        """Return an entry of ``choices``; log-probabilities are of its first token."""
        text = self._text(ids, body["max_tokens"])
        likeliest = None
        if body.get("logprobs"):
            tokens = self._likeliest(ids, body["logprobs"])
            likeliest = {
                "tokens": [tokens[0][0]],
                "token_logprobs": [tokens[0][1]],
                "top_logprobs": [dict(tokens)],
                "text_offset": [0],
            }
        return {
            "index": 0,
            "text": text,
            "logprobs": likeliest,
            "finish_reason": "length",
        }
