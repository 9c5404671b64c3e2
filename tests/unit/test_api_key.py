"""The key of an API: which servers and values are accepted, and that it is written
nowhere.
"""

import gzip
import json
import logging
import traceback

import pytest

from helpers.api_calls import ANSWER, SECRET, ask, files, questions
from helpers.language_model_server import always, in_turn
from lextables.models import api
from lextables.models.api import Api
from lextables.models.spending import Limits
from lextables.pipeline.errors import BadInput


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(api.KEY, SECRET)


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
