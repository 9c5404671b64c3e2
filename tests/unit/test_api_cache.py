"""The cache of an API's answers: each question is asked once."""

import errno
import fcntl
import gzip
import json
import multiprocessing
import signal
import threading
import time

import pytest

from helpers.api_calls import ANSWER, SECRET, ask, files, questions
from helpers.language_model_server import always, reply
from lextables.models import api
from lextables.models.spending import AnswerCache

FORK = multiprocessing.get_context("fork").Process


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(api.KEY, SECRET)


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
