"""Calls of an API on loopback: cache, budget, embeddings, and servers that
misbehave.
"""

import email.utils
import errno
import fcntl
import gzip
import json
import logging
import multiprocessing
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from dataclasses import replace

import numpy as np
import pytest

from helpers.language_model_server import always, in_turn, reply
from lextables.models import api
from lextables.models.api import Api, Call, embed
from lextables.models.spending import AnswerCache, Ledger, Limits
from lextables.pipeline.errors import BadInput
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.rankers import embedding_api
from lextables.tasks.retrieval.ranking import Ranking

SECRET = "sk-secret-key"
QUESTION = Call("/completions", {"model": "served", "prompt": "?", "max_tokens": 1})
ANSWER = {
    "choices": [{"text": "A"}],
    "usage": {"prompt_tokens": 20, "completion_tokens": 1},
}
FORK = multiprocessing.get_context("fork").Process


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(api.KEY, SECRET)


def text(answer):
    return answer["choices"][0]["text"]


def questions(count):
    return [
        Call(QUESTION.path, QUESTION.body | {"prompt": f"{number}?"})
        for number in range(count)
    ]


def ask(server, folder, *calls, model="served", **limits):
    """Return the texts of a server's answers to ``calls`` (default: one question)."""
    client = Api(server.base, model, folder, Limits(**limits))
    asks = [
        lambda call=call: text(client.ask(call, text)) for call in calls or [QUESTION]
    ]
    return client.ask_all(asks, "questions")


def spent(folder):
    return Ledger(folder, Limits(), "served").spent.tokens


def files(folder):
    return sorted(folder.glob("*/*.json.gz"))


# Cache


CACHED = {
    "api": "http://x/v1",
    "path": "/completions",
    "body": {"prompt": "é\ud800", "max_tokens": 1},
}


def test_the_cache_identifies_a_question_by_its_content(tmp_path):
    cache = AnswerCache(tmp_path)
    cache.put(CACHED, {"text": "A", "logprob": float("-inf")})
    content = cache.path(CACHED).read_bytes()
    cache.put(CACHED, {"logprob": float("-inf"), "text": "A"})
    assert cache.path(CACHED).read_bytes() == content
    reordered = {
        "body": dict(reversed(CACHED["body"].items())),
        "path": "/completions",
        "api": "http://x/v1",
    }
    assert cache.get(reordered) == {"text": "A", "logprob": float("-inf")}
    assert cache.get(CACHED | {"path": "/chat/completions"}) is None


def _other_question(content):
    record = json.loads(gzip.decompress(content))
    record["asked"]["path"] = "/other"
    return gzip.compress(json.dumps(record).encode())


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[:-20],
        _other_question,
        lambda content: b"",
        lambda _: gzip.compress(b"[1]"),
    ],
    ids=["truncated", "other question", "empty", "other form"],
)
def test_a_damaged_answer_counts_as_missing(tmp_path, change, caplog):
    cache = AnswerCache(tmp_path)
    cache.put(CACHED, {"text": "A"})
    path = cache.path(CACHED)
    path.write_bytes(change(path.read_bytes()))
    assert cache.get(CACHED) is None
    assert "is damaged; the question is asked again" in caplog.text


def _count_and_answer(folder, seconds=0.2):
    def answer():
        with (folder / "count").open("a") as file:
            file.write("asked\n")
        time.sleep(seconds)
        return "A"

    return AnswerCache(folder).get_or_ask(CACHED, answer)


@pytest.mark.parametrize("kind", [threading.Thread, FORK])
def test_simultaneous_equal_questions_are_asked_once(tmp_path, kind):
    with pytest.raises(ZeroDivisionError):  # an error releases the lock
        AnswerCache(tmp_path).get_or_ask(CACHED, lambda: 1 / 0)
    workers = [kind(target=_count_and_answer, args=(tmp_path,)) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert (tmp_path / "count").read_text() == "asked\n"
    assert AnswerCache(tmp_path).get(CACHED) == "A"
    assert not list(tmp_path.rglob("*.lock"))


def test_a_question_is_asked_on_a_disk_without_locks(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refused)
    assert _count_and_answer(tmp_path, 0) == _count_and_answer(tmp_path, 0) == "A"
    assert (tmp_path / "count").read_text() == "asked\n"


def test_a_question_is_sent_once(serve, tmp_path):
    server = serve(always(200, ANSWER))
    assert ask(server, tmp_path, *questions(3) * 3, concurrency=1) == ["A"] * 9
    assert len(server.asked) == 3
    path, headers, body = server.asked[0]
    assert (path, headers["Authorization"]) == ("/v1/completions", f"Bearer {SECRET}")
    assert body == {"model": "served", "prompt": "0?", "max_tokens": 1}
    # An invalid cached answer is replaced.
    record = json.loads(gzip.decompress(files(tmp_path)[0].read_bytes()))
    AnswerCache(tmp_path).put(record["asked"], {"choices": []})
    assert ask(server, tmp_path, *questions(3)) == ["A"] * 3
    assert len(server.asked) == 4


def ask_twice(server, folder):
    """Ask with two clients, which are as separate as two processes."""
    for _ in range(2):
        ask(server, folder, *questions(40), concurrency=4)


def test_processes_share_answers_even_if_one_is_killed(serve, tmp_path):
    def slow(handler, path, asked):
        time.sleep(0.02)
        reply(handler, 200, ANSWER)

    server = serve(slow)
    runs = [FORK(target=ask_twice, args=(server, tmp_path)) for _ in range(3)]
    for run in runs:
        run.start()
    while len(server.asked) < 4 and runs[0].is_alive():
        time.sleep(0.01)
    runs[0].kill()
    for run in runs:
        run.join(60)
    assert [run.exitcode for run in runs] == [-signal.SIGKILL, 0, 0]
    # The killed process had at most four open calls.
    assert 40 <= len(server.asked) <= 44
    assert len(files(tmp_path)) == 40


# Budget


def test_the_estimate_is_printed(serve, tmp_path, capsys):
    server = serve(always(200, ANSWER))
    Api(server.base, "gpt-4o-2024-08-06", tmp_path, Limits(dollars=1)).expect(
        2_000, 4_000_000
    )
    assert capsys.readouterr().out == (
        "gpt-4o-2024-08-06: up to 2,000 requests, including cached ones, more than is left of the budget;"
        " about 1,002,000 tokens and 2.5200 dollars; 0.0000 of 1 dollars are spent.\n"
    )


def test_the_budget_is_not_exceeded_and_a_rerun_reuses_answers(serve, tmp_path):
    server = serve(
        always(200, ANSWER | {"usage": {"prompt_tokens": 300, "completion_tokens": 1}})
    )
    budget = {"model": "gpt-4o", "dollars": 0.005, "concurrency": 2}
    with pytest.raises(BadInput) as error:
        ask(server, tmp_path, *questions(20), **budget)
    made = len(server.asked)
    dollars = made * (300 * 2.5 + 10) / 1e6
    assert 0 < made < 20 and dollars <= 0.005
    message = f"llm_budget, gpt-4o: {dollars:.4f} of 0.005 dollars and {made * 301:,} tokens are spent"
    assert str(error.value).startswith(message) and "raise llm_budget" in str(
        error.value
    )
    with pytest.raises(BadInput, match="llm_budget"):  # a rerun has the same budget
        ask(server, tmp_path, *questions(20), **budget)
    assert len(server.asked) == made
    ask(server, tmp_path, *questions(20), model="gpt-4o", dollars=1)
    assert len(server.asked) == 20


def test_a_token_limit_applies_to_models_without_a_price(serve, tmp_path):
    server = serve(always(200, ANSWER))
    with pytest.raises(BadInput, match=r"of 500 tokens are spent.*llm_tokens"):
        ask(server, tmp_path, *questions(20), tokens=500, concurrency=1)
    assert 0 < len(server.asked) < 20


# Servers that misbehave


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


def test_an_unsent_request_costs_nothing(serve, tmp_path, monkeypatch):
    monkeypatch.setattr(api, "ATTEMPTS", 2)
    server = serve(always(200, ANSWER))
    server.close()
    with pytest.raises(BadInput, match="did not answer"):
        ask(server, tmp_path)
    assert spent(tmp_path) == 0


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


# The key


@pytest.mark.parametrize(
    "key", [f"{SECRET}\n", f" {SECRET}", f"{SECRET}é", f"{SECRET}\u200b", "sk\r\nX: y"]
)
def test_a_key_with_an_invalid_character_is_an_error(key, serve, tmp_path, monkeypatch):
    monkeypatch.setenv(api.KEY, key)
    server = serve(always(200, ANSWER))
    with pytest.raises(
        BadInput, match=f"{api.KEY}: the key contains a space, a line break or"
    ) as error:
        ask(server, tmp_path)
    assert server.asked == []
    assert key.strip() not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_short_key_changes_no_answer(serve, tmp_path, monkeypatch):
    monkeypatch.setenv(api.KEY, "A")
    assert ask(serve(always(200, ANSWER)), tmp_path) == ["A"]


def test_only_a_server_on_this_machine_needs_no_key(serve, tmp_path, monkeypatch):
    monkeypatch.delenv(api.KEY)
    with pytest.raises(
        BadInput,
        match="OPENAI_API_KEY: gpt-4o needs a key for https://api.openai.com/v1",
    ):
        Api("https://api.openai.com/v1", "gpt-4o", tmp_path, Limits())
    server = serve(always(200, ANSWER))
    ask(server, tmp_path)
    assert server.asked[0][1]["Authorization"] == "Bearer none"


def test_the_key_is_written_nowhere_even_if_the_server_returns_it(
    serve, tmp_path, caplog, capsys
):
    caplog.set_level(logging.DEBUG, logger="lextables")
    echo = json.dumps(ANSWER | {"choices": [{"text": SECRET}]})
    error = {"error": {"message": f"the key {SECRET} is wrong"}}
    answers = [
        always(500, error, Retry_After="0.01"),
        always(200, echo.encode()),
        always(200, echo.replace("sk-", "\\u0073k-").encode()),
        always(401, error),
    ]
    server = serve(in_turn(*answers))
    with pytest.raises(BadInput) as rejection:
        ask(server, tmp_path, *questions(3), concurrency=1)
    output = capsys.readouterr()
    written = [
        "".join(traceback.format_exception(rejection.value)),
        caplog.text,
        output.out,
        output.err,
    ]
    written += [gzip.decompress(path.read_bytes()).decode() for path in files(tmp_path)]
    written += [
        path.read_bytes().decode(errors="replace") for path in tmp_path.glob("*.*")
    ]
    assert len(written) == 7 and "(the key)" in written[0]
    assert not [part for part in written if SECRET in part]


# Embeddings


def test_embeddings_are_in_the_order_of_their_texts(serve, tmp_path):
    """The server returns vectors (length of the text, 1) in reverse order, after one
    rejection.
    """

    def answer(handler, path, asked):
        if len(server.asked) == 1:
            reply(handler, 429, {"error": {"message": "slow down"}}, Retry_After="0.01")
            return
        data = [
            {"index": at, "embedding": [len(text), 1.0]}
            for at, text in enumerate(asked["input"])
        ]
        reply(
            handler,
            200,
            {"data": data[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}},
        )

    server = serve(answer)
    texts = ["abc", "a", "abc", "ab"]
    options = {"cache": tmp_path, "limits": Limits(concurrency=1), "batch_size": 2}
    vectors = embed(server.base, "text-embedding-3-small", texts, **options)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.allclose(vectors[:, 0] / vectors[:, 1], [3, 1, 3, 2])
    assert np.array_equal(
        embed(server.base, "text-embedding-3-small", texts, **options), vectors
    )
    assert server.asked[0][0] == "/v1/embeddings"
    # The rejected batch is sent again, a repeated text is sent once, and a cached text
    # is not sent.
    assert [body["input"] for _, _, body in server.asked] == [
        ["a", "ab"],
        ["a", "ab"],
        ["abc"],
    ]
    with pytest.raises(BadInput, match="llm_budget, text-embedding-3-large"):
        embed(
            server.base,
            "text-embedding-3-large",
            ["a"],
            cache=tmp_path,
            limits=Limits(dollars=0),
        )
    assert len(server.asked) == 3
    assert embed(server.base, "text-embedding-3-small", [], **options).shape == (0, 0)
    assert len(server.asked) == 3


def test_a_ranking_uses_the_cache_and_limits_of_its_params(serve, tmp_path):
    data = [{"index": at, "embedding": [2.0, at]} for at in range(2)]
    server = serve(
        lambda handler, path, asked: reply(
            handler,
            200,
            {"data": data[: len(asked["input"])], "usage": {"prompt_tokens": 1}},
        )
    )
    collection = Collection(
        {"d": "a", "e": "b"},
        {"q": {"split": "test", "short": "c"}},
        {"q": {"d": 0, "e": 1}},
        {"validation": "valid", "test": "test"},
    )
    settings = {"api": server.base, "weights": "served", "form": "short"}
    asking = {"kept": tmp_path / "calls", "limits": {"tokens": 0}}
    ranking = Ranking(collection, {"short": settings}, asking=asking)
    (hits,) = embedding_api.rank(ranking)["short"].values()
    assert [document for document, _ in hits] == ["d", "e"]
    assert len(files(tmp_path / "calls")) == 2
    with pytest.raises(BadInput, match="llm_tokens"):
        embedding_api.rank(
            replace(
                ranking, asking={"kept": tmp_path / "other", "limits": {"tokens": 1}}
            )
        )


@pytest.mark.parametrize(
    "number", [float("nan"), float("inf"), 1e400, 0.0, [1.0], None, "x"]
)
def test_invalid_vectors_are_not_cached(number, serve, tmp_path):
    data = [{"index": 0, "embedding": [number, 0.0]}]
    server = serve(always(200, {"data": data, "usage": {"prompt_tokens": 1}}))
    with pytest.raises(BadInput, match="does not have the form of OpenAI's API"):
        embed(server.base, "m", ["a"], cache=tmp_path, limits=Limits())
    assert files(tmp_path) == []


def test_vectors_of_different_lengths_are_an_error(serve, tmp_path):
    def answer(handler, path, asked):
        vector = [1.0] * (2 + len(asked["input"][0]))
        reply(
            handler,
            200,
            {
                "data": [{"index": 0, "embedding": vector}],
                "usage": {"prompt_tokens": 1},
            },
        )

    with pytest.raises(BadInput, match="m returned vectors of different lengths"):
        embed(
            serve(answer).base,
            "m",
            ["a", "bb"],
            cache=tmp_path,
            limits=Limits(),
            batch_size=1,
        )
