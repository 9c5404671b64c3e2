"""Prices, and the ledger: one budget for all jobs and reruns, even if they are
killed.
"""

import multiprocessing
import threading
import time

import httpx2
import numpy as np
import pytest
import yaml

from lextables import ROOT
from lextables.models.api import EXTRA_TOKENS, MeteredTransport
from lextables.models.spending import (
    Cost,
    Ledger,
    Limits,
    Price,
    cost,
    cost_of,
    load_prices,
    on_loopback,
    price_of,
)
from lextables.pipeline.config import load as load_config
from lextables.pipeline.errors import BadInput

PRICES = load_prices()
OPENAI, HERE = "https://api.openai.com/v1", "http://127.0.0.1:8000/v1"


def test_an_invalid_price_names_entry_and_key(tmp_path):
    assert all(price.date.year >= 2024 and price.source for price in PRICES.values())
    (tmp_path / "prices.yaml").write_text(
        "m: {input: -1, output: 0, date: 2024-01-01, source: x}"
    )
    with pytest.raises(
        BadInput,
        match=r"^prices.yaml: m.input = -1 is not allowed .allowed: a number, 0 or more.",
    ):
        load_prices(tmp_path / "prices.yaml")


@pytest.mark.parametrize(
    ("model", "prices"),
    [
        ("gpt-4o-mini-2024-07-18", (0.15, 0.6)),
        ("gpt-4o-2024-11-20", (2.5, 10)),
        ("gpt-4o", (2.5, 10)),
        ("gpt-4o-2024-08-06", (2.5, 10)),
        ("text-embedding-3-large", (0.13, 0)),
    ],
)
def test_a_dated_model_has_the_price_of_the_undated_name(model, prices):
    price = price_of(model, OPENAI, Limits(), PRICES)
    assert (price.input, price.output) == prices


def test_a_dated_name_with_its_own_price_has_that_price():
    price = PRICES["gpt-4o"]
    dated = price.model_copy(update={"input": 1.0})
    for prices in (
        {"m": price, "m-2024-01-01": dated},
        {"m-2024-01-01": dated, "m": price},
    ):
        assert price_of("m-2024-01-01", OPENAI, Limits(), prices) is dated


@pytest.mark.parametrize("model", ["gpt-4o-audio-preview", "llama", "gpt-4o-2024"])
def test_a_model_without_a_price_requires_a_token_limit_or_a_local_server(model):
    with pytest.raises(
        BadInput, match="has no price in resources/prices.yaml.*set llm_tokens"
    ):
        price_of(model, OPENAI, Limits(), PRICES)
    assert price_of(model, OPENAI, Limits(tokens=1000), PRICES) is None
    assert price_of(model, HERE, Limits(), PRICES) is None


def test_loopback_addresses():
    local = ("http://localhost:1/v1", "http://127.0.0.1/v1", "http://[::1]:80/v1")
    assert all(map(on_loopback, local))
    assert not any(
        map(
            on_loopback,
            (OPENAI, "http://127.0.0.1.example.org/v1", "http://10.0.0.1/v1"),
        )
    )


def test_the_cost_of_an_answer():
    price = Price(input=2.5, cached=1.25, output=10, date="2024-10-01", source="x")
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 400},
    }
    assert cost_of(usage, price) == Cost(
        pytest.approx((600 * 2.5 + 400 * 1.25 + 100 * 10) / 1e6), 1100
    )
    assert cost_of({"prompt_tokens": 5, "total_tokens": 5}, None) == Cost(0, 5)
    assert cost(price, 1_000_000, 0).dollars == 2.5
    usage = {"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 1000}}
    assert cost_of(usage, price) == Cost(pytest.approx(1000 * 1.25 / 1e6), 1000)
    counts = (None, -1, 1e10, 10**400, float("inf"), float("nan"))
    invalid = [
        {"prompt_tokens": 1, "completion_tokens": 1e12},
        *({"prompt_tokens": count} for count in counts),
    ]
    for usage in (None, {}, "usage", *invalid):
        with pytest.raises((TypeError, KeyError, ValueError, OverflowError)):
            cost_of(usage, price)


def ledger_of(folder, **limits):
    return Ledger(folder, Limits(**limits), "m")


def test_a_reservation_counts_until_the_call_is_settled(tmp_path):
    ledger, other = ledger_of(tmp_path, dollars=1), ledger_of(tmp_path, dollars=1)
    number, _ = ledger.reserve(Cost(0.9, 10))
    # For another job, or a rerun after a kill, the call may have been charged.
    with pytest.raises(
        BadInput,
        match=r"llm_budget, m: 0\.9000 of 1 dollars .* may cost 0\.2000 dollars",
    ):
        other.reserve(Cost(0.2, 10))
    ledger.charge(number, Cost(0.1, 5))
    other.reserve(Cost(0.2, 10))
    assert ledger.spent == Cost(pytest.approx(0.3), 15)
    assert ledger.paid == Cost(0.1, 5)


def test_token_limit_and_free_calls(tmp_path):
    ledger_of(tmp_path, dollars=0).reserve(Cost(0, 1000))
    for limits, most in (
        ({"dollars": 0}, Cost(0.001, 1)),
        ({"tokens": 1500}, Cost(0, 501)),
    ):
        with pytest.raises(BadInput, match="llm_budget"):
            ledger_of(tmp_path, **limits).reserve(most)
    ledger_of(tmp_path, tokens=1500).reserve(Cost(0, 500))


def test_a_budget_can_be_spent_to_its_last_cent(tmp_path):
    ledger_of(tmp_path, dollars=0.3).reserve(Cost(0.1, 1))
    ledger_of(tmp_path, dollars=0.3).reserve(
        Cost(0.2, 1)
    )  # the sum is 0.30000000000000004


def test_a_request_without_an_answer_reserves_its_own_tokens(tmp_path, monkeypatch):
    """Requests for embeddings have no `max_tokens`."""

    async def refuse(self, request):
        raise httpx2.ConnectError("not sent")

    monkeypatch.setattr(MeteredTransport, "_send", refuse)
    request = httpx2.Request("POST", "http://localhost/v1", json={"input": ["a"]})
    tokens = len(request.content) + EXTRA_TOKENS
    enough = MeteredTransport(ledger_of(tmp_path / "a", tokens=tokens), None)
    with pytest.raises(httpx2.ConnectError):
        enough.handle_request(request)
    few = MeteredTransport(ledger_of(tmp_path / "b", tokens=tokens - 1), None)
    with pytest.raises(BadInput, match="llm_budget"):
        few.handle_request(request)


def test_the_default_budget_is_that_of_the_configuration():
    written = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))[
        "llm_budget"
    ]
    config = load_config({"papers": "acord"}, ["acord"], ROOT)
    assert Limits().dollars == config.llm_budget == written == 5


def test_free_calls_continue_after_the_budget_is_exceeded(tmp_path):
    ledger_of(tmp_path, dollars=2).reserve(Cost(1.5, 10))
    ledger_of(tmp_path, dollars=1).reserve(Cost(0, 10))
    with pytest.raises(BadInput, match="llm_budget"):
        ledger_of(tmp_path, dollars=1).reserve(Cost(0.001, 10))


def test_a_call_waits_until_other_calls_of_the_same_job_are_settled(tmp_path):
    ledger = ledger_of(tmp_path, dollars=1)
    first, _ = ledger.reserve(Cost(0.9, 10))
    waiting = threading.Thread(target=ledger.reserve, args=(Cost(0.5, 10),))
    waiting.start()
    time.sleep(0.2)
    assert waiting.is_alive()
    ledger.charge(first, Cost(0.1, 10))
    waiting.join(5)
    assert ledger.spent.dollars == pytest.approx(0.6)
    assert not waiting.is_alive()


def _spend(folder, most, each):
    ledger = ledger_of(folder, dollars=most)
    try:
        while True:
            number, _ = ledger.reserve(Cost(each, 1))
            ledger.charge(number, Cost(each, 1))
    except BadInput:
        pass


def test_several_processes_do_not_exceed_the_budget_even_if_one_is_killed(tmp_path):
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(target=_spend, args=(tmp_path, 1.0, 0.013)) for _ in range(4)
    ]
    for process in processes:
        process.start()
    while ledger_of(tmp_path).spent.tokens < 20:
        time.sleep(0.01)
    processes[0].kill()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes[1:]] == [0] * 3
    spent = ledger_of(tmp_path).spent
    assert 1.0 - 0.013 < spent.dollars <= 1.0
    assert spent.tokens == 76  # 76 x 0.013 = 0.988


def test_a_damaged_ledger_raises_an_error_with_its_path(tmp_path):
    (tmp_path / "ledger.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(
        BadInput, match=r"ledger\.sqlite: the ledger of API costs cannot be used"
    ):
        ledger_of(tmp_path).reserve(Cost(0, 1))


def test_the_rate_limit_applies_to_all_jobs_of_the_folder(tmp_path):
    ledgers = [ledger_of(tmp_path, requests_a_minute=600) for _ in range(2)]
    starts = [ledgers[call % 2].reserve(Cost(0, 1))[1] for call in range(6)]
    assert np.allclose(np.diff(starts), 0.1, atol=1e-5)
    assert abs(ledger_of(tmp_path).reserve(Cost(0, 1))[1] - time.time()) < 5


def test_a_call_waits_for_at_most_an_hour(tmp_path):
    # Such as after the clock was set back: the starts of earlier calls are in the
    # future.
    ledger = ledger_of(tmp_path, requests_a_minute=1)
    starts = [ledger.reserve(Cost(0, 1))[1] - time.time() for _ in range(63)]
    assert starts[59] == pytest.approx(59 * 60, abs=30)
    assert starts[62] <= 3600
