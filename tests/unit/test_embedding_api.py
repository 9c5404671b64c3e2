"""The embedding client against an API on loopback: order, repeats, refusals and a missing key."""

import http.server
import json
import threading

import numpy as np
import pytest

from language_model_server import reply, serving
from lextables.models.api import KEY
from lextables.models.embedding_api import embed
from lextables.models.limits import Limits
from lextables.pipeline.errors import BadInput


@pytest.fixture
def api():
    """An API whose vectors are (length of the text, 1), sent back in reverse order, after one 429."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, self.headers["Authorization"], request))
            if len(asked) == 1:
                self.reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "0"})
                return
            data = [
                {"object": "embedding", "index": i, "embedding": [float(len(text)), 1.0]}
                for i, text in enumerate(request["input"])
            ]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            self.reply(
                200, {"object": "list", "data": data[::-1], "model": request["model"], "usage": usage}, {}
            )

        def reply(self, status, body, headers):
            content = json.dumps(body).encode()
            self.send_response(status)
            for key, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1", asked
    server.shutdown()
    server.server_close()


def test_vectors_follow_their_texts(api, monkeypatch, tmp_path):
    base, asked = api
    monkeypatch.setenv(KEY, "secret")
    texts = ["abc", "a", "abc", "ab"]
    how = {"kept": tmp_path, "limits": Limits(concurrency=1), "batch_size": 2}
    vectors = embed(base, "text-embedding-3-small", texts, **how)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.allclose(vectors[:, 0] / vectors[:, 1], [3, 1, 3, 2])
    path, authorization, first = asked[0]
    assert np.array_equal(embed(base, "text-embedding-3-small", texts, **how), vectors)
    assert (path, authorization, first["model"]) == (
        "/v1/embeddings",
        "Bearer secret",
        "text-embedding-3-small",
    )
    # The refused batch is sent again, a text that repeats is embedded once, and what is kept never again.
    assert [request["input"] for _, _, request in asked] == [["a", "ab"], ["a", "ab"], ["abc"]]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e400, 0.0, [1.0], None, "x"])
def test_vectors_that_are_none_are_said_and_not_kept(number, tmp_path):
    answered = {"data": [{"index": 0, "embedding": [number, 0.0]}], "usage": {"prompt_tokens": 1}}
    with (
        serving(lambda handler, path, asked: reply(handler, 200, answered)) as server,
        pytest.raises(BadInput, match="not of the form of OpenAI's API"),
    ):
        embed(server.base, "m", ["a"], kept=tmp_path, limits=Limits())
    assert not list(tmp_path.glob("*/*.json.gz"))


def test_vectors_of_different_lengths_are_said(tmp_path):
    def answer(handler, path, asked):
        vector = [1.0] * (2 + len(asked["input"][0]))
        reply(handler, 200, {"data": [{"index": 0, "embedding": vector}], "usage": {"prompt_tokens": 1}})

    with serving(answer) as server, pytest.raises(BadInput, match="m gave vectors of different lengths"):
        embed(server.base, "m", ["a", "bb"], kept=tmp_path, limits=Limits(), batch_size=1)


def test_no_key_no_call(monkeypatch, tmp_path):
    monkeypatch.delenv(KEY, raising=False)
    base = "https://api.example.org/v1"
    with pytest.raises(
        BadInput, match=rf"environment variable {KEY}: m needs a key for {base}; set it, or empty llm"
    ):
        embed(base, "m", ["a"], kept=tmp_path, limits=Limits())


def test_embeddings_have_the_budget_of_all_calls(api, monkeypatch, tmp_path):
    base, asked = api
    monkeypatch.setenv(KEY, "secret")
    with pytest.raises(BadInput, match=r"llm_budget, text-embedding-3-large: .* 1 of 1 are left to do"):
        embed(base, "text-embedding-3-large", ["a"], kept=tmp_path, limits=Limits(dollars=0))
    assert asked == []
