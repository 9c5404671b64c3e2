"""Kept calls: found by their content, whole or not at all."""

import gzip
import json
import multiprocessing
import threading
import time

import pytest

from lextables.models.kept_calls import Calls, KeptModel
from lextables.models.language_model import Message, Request, Written

ASKED = {"api": "http://x/v1", "path": "/completions", "body": {"prompt": "é\ud800", "max_tokens": 1}}


@pytest.fixture
def calls(tmp_path):
    kept = Calls(tmp_path)
    kept.keep(ASKED, {"text": "A", "logprob": float("-inf")})
    return kept


def test_an_answer_is_found_by_what_was_asked_in_whatever_order_it_is_written(calls):
    turned = {"body": dict(reversed(ASKED["body"].items())), "path": "/completions", "api": "http://x/v1"}
    assert calls.kept(turned) == {"text": "A", "logprob": float("-inf")}
    assert calls.kept(ASKED | {"path": "/chat/completions"}) is None


def test_the_same_bytes_are_written_each_time(calls):
    before = calls.path(ASKED).read_bytes()
    calls.keep(ASKED, {"logprob": float("-inf"), "text": "A"})
    assert calls.path(ASKED).read_bytes() == before
    assert [path.name for path in calls.folder.rglob("*.*")] == [calls.path(ASKED).name]


def _cut(content):
    return content[: len(content) // 2]


def _edited(content):
    record = json.loads(gzip.decompress(content))
    record["answered"]["text"] = "B"
    return gzip.compress(json.dumps(record).encode())


def _of_another_question(content):
    record = json.loads(gzip.decompress(content))
    record["asked"]["path"] = "/other"
    return gzip.compress(json.dumps(record).encode())


@pytest.mark.parametrize(
    "change",
    [_cut, _edited, _of_another_question, lambda content: b"", lambda content: gzip.compress(b"[1]")],
    ids=["cut", "edited", "of another question", "empty", "of another form"],
)
def test_a_file_that_was_cut_or_changed_is_noticed(calls, change, caplog):
    path = calls.path(ASKED)
    path.write_bytes(change(path.read_bytes()))
    assert calls.kept(ASKED) is None
    assert "is damaged and is asked for again" in caplog.text
    calls.keep(ASKED, "again")
    assert calls.kept(ASKED) == "again"


def _ask(folder, seconds=0.2):
    def ask():
        with (folder / "asked").open("a") as file:
            file.write("asked\n")
        time.sleep(seconds)
        return "A"

    return Calls(folder).answered(ASKED, ask)


def _asked(folder):
    return (folder / "asked").read_text().count("asked")


@pytest.mark.parametrize("kind", [threading.Thread, multiprocessing.get_context("fork").Process])
def test_of_all_who_ask_the_same_one_asks(tmp_path, kind):
    several = [kind(target=_ask, args=(tmp_path,)) for _ in range(6)]
    for one in several:
        one.start()
    for one in several:
        one.join(30)
    assert _asked(tmp_path) == 1
    assert Calls(tmp_path).kept(ASKED) == "A"
    assert not list(tmp_path.rglob("*.lock"))


def test_who_is_killed_while_asking_keeps_nobody_waiting(tmp_path):
    killed = multiprocessing.get_context("fork").Process(target=_ask, args=(tmp_path, 60))
    killed.start()
    while not (tmp_path / "asked").exists():
        time.sleep(0.01)
    waiting = threading.Thread(target=_ask, args=(tmp_path,))
    waiting.start()
    time.sleep(0.2)
    assert _asked(tmp_path) == 1
    killed.kill()
    waiting.join(5)
    assert (_asked(tmp_path), Calls(tmp_path).kept(ASKED)) == (2, "A")


def test_what_fails_is_asked_by_the_next(tmp_path):
    def fails():
        raise ValueError("no answer")

    with pytest.raises(ValueError, match="no answer"):
        Calls(tmp_path).answered(ASKED, fails)
    assert _ask(tmp_path) == "A"


class Slow:
    """A model on this machine that counts what it evaluates."""

    name, window = "slow", None

    def __init__(self):
        self.evaluated = []

    def writing(self, requests):
        for request in requests:
            yield lambda request=request: self._evaluate(request)

    def _evaluate(self, request):
        self.evaluated.append(request)
        time.sleep(0.02)
        return Written("A")


def test_two_jobs_with_one_model_evaluate_a_question_once(tmp_path):
    models = [Slow(), Slow()]
    requests = [Request((Message("user", f"{number}?"),), 3) for number in range(20)]
    jobs = [
        threading.Thread(target=KeptModel(model, Calls(tmp_path), {"weights": "x"}).write, args=(order,))
        for model, order in zip(models, (requests, requests[::-1]), strict=True)
    ]
    for one in jobs:
        one.start()
    for one in jobs:
        one.join(30)
    evaluated = [request for model in models for request in model.evaluated]
    assert sorted(evaluated, key=str) == sorted(requests, key=str)
