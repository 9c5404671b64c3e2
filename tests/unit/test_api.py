"""Calls of an API on loopback: answers that fail are asked for again, or end the
job.
"""

import email.utils
import gzip
import json
import subprocess
import sys
import textwrap
import time

import pytest

from helpers.api_calls import ANSWER, SECRET, ask, files, spent
from helpers.language_model_server import always, in_turn
from lextables.models import api
from lextables.pipeline.errors import BadInput


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(api.KEY, SECRET)


def test_a_busy_server_is_asked_again_at_the_time_that_it_states(serve, tmp_path):
    busy = {"error": {"message": "slow down"}}
    in_two_seconds = email.utils.formatdate(time.time() + 2, usegmt=True)
    answers = [
        always(429, busy, Retry_After="0.3"),
        always(503, busy, Retry_After=in_two_seconds),
        always(500, busy),
        always(200, ANSWER),
    ]
    server = serve(in_turn(*answers))
    start = time.time()
    assert ask(server, tmp_path) == ["A"]
    assert len(server.asked) == 4
    assert 1.0 < time.time() - start < 10
    # Rejected requests cost nothing.
    assert spent(tmp_path) == 21


def half(handler, path, asked):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def hangs(handler, path, asked):
    time.sleep(1)
    handler.close_connection = True


def closes(handler, path, asked):
    handler.close_connection = True


def endless_header(handler, path, asked):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        handler.wfile.write(b"x")
        time.sleep(0.05)


def endless_body(handler, path, asked):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    while True:
        handler.wfile.write(b"x")
        time.sleep(0.05)


@pytest.mark.parametrize(
    "bad",
    [half, always(200, b'{"choices": ['), hangs, closes, endless_header, endless_body],
)
def test_an_incomplete_answer_is_requested_again(bad, serve, tmp_path, monkeypatch):
    monkeypatch.setattr(api, "TIMEOUT", 0.5)
    server = serve(in_turn(bad, always(200, ANSWER)))
    start = time.time()
    assert ask(server, tmp_path) == ["A"]
    assert len(server.asked) == 2
    assert time.time() - start < 5
    # The server may have charged for the first request, so its maximum cost is counted.
    assert 256 < spent(tmp_path) < 2 * 512


PAGE = b"<!DOCTYPE html><title>Log in</title>"
FORM = "form of OpenAI's API"


@pytest.mark.parametrize(
    ("body", "headers", "message", "charged"),
    [
        pytest.param(
            PAGE, {}, f"{FORM} .* it begins '<!DOCTYPE html>", False, id="web page"
        ),
        pytest.param(b'{"choices": [],}', {}, FORM, True, id="invalid JSON"),
        pytest.param(
            b"data: {}",
            {},
            f"{FORM} .* it begins 'data: {{}}'",
            True,
            id="event stream",
        ),
        pytest.param(b"[" * 100_000, {}, f"{FORM} .RecursionError", True, id="nested"),
        pytest.param(
            b'{"usage": {"prompt_tokens": 1e999}}', {}, FORM, True, id="infinite"
        ),
        pytest.param(
            b'{"usage": {"prompt_tokens": ' + b"1" * 5000 + b"}}",
            {},
            FORM,
            True,
            id="digits",
        ),
        pytest.param(bytes(33 << 20), {}, "more than 32 MiB", True, id="large"),
        pytest.param(
            b"not packed",
            {"Content_Encoding": "gzip"},
            "no valid gzip data",
            True,
            id="damaged",
        ),
        pytest.param(
            b"x", {"Content_Encoding": "zstd"}, "encoding zstd", True, id="zstd"
        ),
        pytest.param(
            b"x",
            {"Content_Encoding": "gzip, gzip"},
            "encoding gzip, gzip",
            True,
            id="twice",
        ),
        *(
            pytest.param(json.dumps(body).encode(), {}, FORM, True, id=json.dumps(body))
            for body in ([], {"choices": []}, {"choices": "A"}, "A", None)
        ),
    ],
)
def test_an_invalid_answer_is_neither_requested_again_nor_cached(
    body, headers, message, charged, serve, tmp_path
):
    server = serve(always(200, body, **headers))
    with pytest.raises(BadInput, match=message) as error:
        ask(server, tmp_path)
    assert len(server.asked) == 1
    assert len(str(error.value)) < 700
    assert (256 < spent(tmp_path) < 512) if charged else spent(tmp_path) == 0
    assert files(tmp_path) == []


def test_a_zip_bomb_is_not_unpacked_completely(serve, tmp_path):
    server = serve(
        always(200, gzip.compress(bytes(300 << 20), 1), Content_Encoding="gzip")
    )
    code = """
        import resource
        from lextables.models.api import Api, Call
        from lextables.models.spending import Limits
        api = Api({base!r}, "served", {folder!r}, Limits())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            api.ask(Call("/completions", {{}}), bool)
        except Exception as error:
            print(error)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    code = textwrap.dedent(code).format(base=server.base, folder=str(tmp_path))
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    *_, message, kilobytes = run.stdout.splitlines()
    assert "more than 32 MiB" in message
    assert int(kilobytes) < 250 * 1024


def test_a_server_that_is_always_busy_ends_the_job(serve, tmp_path, caplog):
    server = serve(always(429, {"error": {"message": "slow down"}}, Retry_After="0.01"))
    with pytest.raises(BadInput) as error:
        ask(server, tmp_path)
    assert len(server.asked) == 8
    assert str(error.value) == (
        f"{server.base}: served did not answer in up to 8 attempts; the last error: status 429"
        " (slow down; Retry-After: 0.01); try again later; answers so far are cached."
    )
    assert f"{server.base}/completions: status 429" in caplog.text


@pytest.mark.parametrize(
    ("status", "message", "sentence"),
    [
        (
            400,
            "the maximum context length is 8192",
            "finds the request too long (status 400: the maximum",
        ),
        (
            401,
            "no such key",
            "rejects the key (status 401: no such key); set OPENAI_API_KEY",
        ),
        (404, "no such model", "has no such model or path (status 404"),
        (302, "elsewhere", "redirects the request (status 302"),
        (429, "insufficient_quota: no money", "asks for money (status 429: insuff"),
        (429, "tomorrow", "Retry-After: 7200"),
    ],
)
def test_a_permanent_rejection_is_reported_at_once(
    status, message, sentence, serve, tmp_path
):
    headers = {"Location": "http://127.0.0.1:9/v1"} if status == 302 else {}
    headers |= {"Retry_After": "7200"} if message == "tomorrow" else {}
    server = serve(always(status, {"error": {"message": message}}, **headers))
    with pytest.raises(BadInput) as error:
        ask(server, tmp_path)
    assert len(server.asked) == 1
    assert sentence in str(error.value)
    assert isinstance(error.value, api.Refused) == (message != "tomorrow")
