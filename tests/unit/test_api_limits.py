"""The budget of an API's calls, in dollars or tokens: its estimate, and what counts."""

import pytest

from helpers.api_calls import ANSWER, SECRET, ask, questions, spent
from helpers.language_model_server import always
from lextables.models import api
from lextables.models.api import Api
from lextables.models.spending import Limits
from lextables.pipeline.errors import BadInput


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(api.KEY, SECRET)


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


def test_an_unsent_request_costs_nothing(serve, tmp_path, monkeypatch):
    monkeypatch.setattr(api, "ATTEMPTS", 2)
    server = serve(always(200, ANSWER))
    server.close()
    with pytest.raises(BadInput, match="did not answer"):
        ask(server, tmp_path)
    assert spent(tmp_path) == 0
