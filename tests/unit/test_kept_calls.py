"""Kept calls: found by their content, whole or not at all."""

import gzip
import json

import pytest

from lextables.models.kept_calls import Calls

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
