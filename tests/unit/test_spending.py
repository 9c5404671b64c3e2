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
OPENAI = "https://api.openai.com/v1"
LOCAL_SERVER = "http://127.0.0.1:8000/v1"


def test_every_registered_price_has_a_recent_date_and_a_source():
    for price in PRICES.values():
        assert price.date.year >= 2024
        assert price.source


def test_the_error_about_an_invalid_price_names_entry_and_key(tmp_path):
    path = tmp_path / "prices.yaml"
    path.write_text("m: {input: -1, output: 0, date: 2024-01-01, source: x}")
    message = (
        r"^prices.yaml: m.input = -1 is not allowed .allowed: a number, 0 or more."
    )
    with pytest.raises(BadInput, match=message):
        load_prices(path)


@pytest.mark.parametrize(
    ("model", "prices"),  # dollars per million tokens of input and of output
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
    undated = PRICES["gpt-4o"]
    dated = undated.model_copy(update={"input": 1.0})
    # In either order of the entries.
    for prices in (
        {"m": undated, "m-2024-01-01": dated},
        {"m-2024-01-01": dated, "m": undated},
    ):
        assert price_of("m-2024-01-01", OPENAI, Limits(), prices) is dated


@pytest.mark.parametrize("model", ["gpt-4o-audio-preview", "llama", "gpt-4o-2024"])
def test_a_model_without_a_price_requires_a_token_limit_or_a_local_server(model):
    with pytest.raises(
        BadInput, match="has no price in resources/prices.yaml.*set llm_tokens"
    ):
        price_of(model, OPENAI, Limits(), PRICES)
    assert price_of(model, OPENAI, Limits(tokens=1000), PRICES) is None
    assert price_of(model, LOCAL_SERVER, Limits(), PRICES) is None


@pytest.mark.parametrize(
    ("address", "is_local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.1/v1", True),
        ("http://[::1]:80/v1", True),
        (OPENAI, False),
        ("http://127.0.0.1.example.org/v1", False),
        ("http://10.0.0.1/v1", False),
    ],
)
def test_only_loopback_addresses_are_of_this_machine(address, is_local):
    assert on_loopback(address) is is_local


# Dollars per million tokens.
PRICE = Price(input=2.5, cached=1.25, output=10, date="2024-10-01", source="x")


@pytest.mark.parametrize(
    ("usage", "price", "dollars", "tokens"),
    [
        (
            {
                "prompt_tokens": 1000,
                "completion_tokens": 100,
                "prompt_tokens_details": {"cached_tokens": 400},
            },
            PRICE,
            (600 * 2.5 + 400 * 1.25 + 100 * 10) / 1e6,
            1100,
        ),
        (
            {"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 1000}},
            PRICE,
            1000 * 1.25 / 1e6,
            1000,
        ),
        # A model without a price.
        ({"prompt_tokens": 5, "total_tokens": 5}, None, 0, 5),
    ],
)
def test_an_answer_costs_its_tokens_times_their_prices(usage, price, dollars, tokens):
    assert cost_of(usage, price) == Cost(pytest.approx(dollars), tokens)


def test_a_million_input_tokens_cost_the_price_of_input():
    assert cost(PRICE, 1_000_000, 0).dollars == 2.5


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        "usage",
        {"prompt_tokens": None},
        {"prompt_tokens": -1},
        {"prompt_tokens": 1e10},
        {"prompt_tokens": 10**400},
        {"prompt_tokens": float("inf")},
        {"prompt_tokens": float("nan")},
        {"prompt_tokens": 1, "completion_tokens": 1e12},
    ],
)
def test_an_impossible_count_of_tokens_raises_an_error(usage):
    with pytest.raises((TypeError, KeyError, ValueError, OverflowError)):
        cost_of(usage, PRICE)


def ledger_of(folder, **limits):
    """Return the ledger of a folder, as a new job opens it.

    ``limits`` are fields of `Limits`.  `Ledger.reserve` takes the maximum cost of a
    call, `Ledger.charge` its actual cost.
    """
    return Ledger(folder, Limits(**limits), "m")


def test_a_call_counts_with_its_maximum_until_its_cost_is_known(tmp_path):
    ledger = ledger_of(tmp_path, dollars=1)
    ledger_of_other_job = ledger_of(tmp_path, dollars=1)
    call, _ = ledger.reserve(Cost(dollars=0.9, tokens=10))
    # For another job, or a rerun after a kill, the call may have been charged.
    message = r"llm_budget, m: 0\.9000 of 1 dollars .* may cost 0\.2000 dollars"
    with pytest.raises(BadInput, match=message):
        ledger_of_other_job.reserve(Cost(dollars=0.2, tokens=10))
    ledger.charge(call, Cost(dollars=0.1, tokens=5))
    ledger_of_other_job.reserve(Cost(dollars=0.2, tokens=10))
    assert ledger.spent == Cost(pytest.approx(0.1 + 0.2), 5 + 10)
    assert ledger.paid == Cost(0.1, 5)


def test_a_budget_of_zero_allows_only_free_calls(tmp_path):
    ledger_of(tmp_path, dollars=0).reserve(Cost(dollars=0, tokens=1000))
    with pytest.raises(BadInput, match="llm_budget"):
        ledger_of(tmp_path, dollars=0).reserve(Cost(dollars=0.001, tokens=1))


def test_a_token_limit_counts_free_calls_of_earlier_jobs(tmp_path):
    ledger_of(tmp_path, dollars=0).reserve(Cost(dollars=0, tokens=1000))
    with pytest.raises(BadInput, match="llm_budget"):
        ledger_of(tmp_path, tokens=1500).reserve(Cost(dollars=0, tokens=501))
    ledger_of(tmp_path, tokens=1500).reserve(Cost(dollars=0, tokens=500))


def test_a_budget_can_be_spent_to_its_last_cent(tmp_path):
    # As floats, 0.1 + 0.2 is 0.30000000000000004.
    ledger_of(tmp_path, dollars=0.3).reserve(Cost(dollars=0.1, tokens=1))
    ledger_of(tmp_path, dollars=0.3).reserve(Cost(dollars=0.2, tokens=1))


def test_a_request_without_an_answer_reserves_its_own_tokens(tmp_path, monkeypatch):
    """Requests for embeddings have no `max_tokens`, so their answers have no tokens."""

    async def refuse(self, request):
        raise httpx2.ConnectError("not sent")

    monkeypatch.setattr(MeteredTransport, "_send", refuse)
    request = httpx2.Request("POST", "http://localhost/v1", json={"input": ["a"]})
    # A text never has more tokens than bytes.
    reserved = len(request.content) + EXTRA_TOKENS
    sufficient = ledger_of(tmp_path / "sufficient", tokens=reserved)
    with pytest.raises(httpx2.ConnectError):
        MeteredTransport(sufficient, None).handle_request(request)
    insufficient = ledger_of(tmp_path / "insufficient", tokens=reserved - 1)
    with pytest.raises(BadInput, match="llm_budget"):
        MeteredTransport(insufficient, None).handle_request(request)


def test_the_default_budget_is_that_of_the_configuration():
    file = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    config = load_config({"papers": "acord"}, ["acord"], ROOT)
    assert Limits().dollars == config.llm_budget == file["llm_budget"] == 5


def test_free_calls_continue_after_the_budget_is_exceeded(tmp_path):
    ledger_of(tmp_path, dollars=2).reserve(Cost(1.5, 10))
    ledger_of(tmp_path, dollars=1).reserve(Cost(0, 10))
    with pytest.raises(BadInput, match="llm_budget"):
        ledger_of(tmp_path, dollars=1).reserve(Cost(0.001, 10))


def test_a_call_waits_until_other_calls_of_the_same_job_are_settled(tmp_path):
    ledger = ledger_of(tmp_path, dollars=1)
    call, _ = ledger.reserve(Cost(0.9, 10))
    waiting = threading.Thread(target=ledger.reserve, args=(Cost(0.5, 10),))
    waiting.start()
    time.sleep(0.2)
    assert waiting.is_alive()
    ledger.charge(call, Cost(0.1, 10))
    waiting.join(5)
    assert ledger.spent.dollars == pytest.approx(0.1 + 0.5)
    assert not waiting.is_alive()


def spend_budget(folder, budget, cost_of_call):
    """Make calls of one token and this cost in dollars, until the budget is spent."""
    ledger = ledger_of(folder, dollars=budget)
    try:
        while True:
            call, _ = ledger.reserve(Cost(cost_of_call, 1))
            ledger.charge(call, Cost(cost_of_call, 1))
    except BadInput:
        pass


def test_several_processes_do_not_exceed_the_budget_even_if_one_is_killed(tmp_path):
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(target=spend_budget, args=(tmp_path, 1.0, 0.013))
        for _ in range(4)
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
    starts = []
    for call in range(6):
        # The two jobs take turns.
        _, start = ledgers[call % 2].reserve(Cost(0, 1))
        starts.append(start)
    assert np.allclose(np.diff(starts), 60 / 600, atol=1e-5)
    # A job without a limit starts at once.
    _, start = ledger_of(tmp_path).reserve(Cost(0, 1))
    assert abs(start - time.time()) < 5


def test_a_call_waits_for_at_most_an_hour(tmp_path):
    # Such as after the clock was set back: the starts of earlier calls are in the
    # future.
    ledger = ledger_of(tmp_path, requests_a_minute=1)
    waits = []  # seconds
    for _ in range(63):
        _, start = ledger.reserve(Cost(0, 1))
        waits.append(start - time.time())
    assert waits[59] == pytest.approx(59 * 60, abs=30)
    assert waits[62] <= 3600
