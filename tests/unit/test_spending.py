"""The ledger: one budget for all jobs and reruns, also when they are killed."""

import json
import multiprocessing
import threading
import time

import pytest

from lextables.models.limits import Limits
from lextables.models.spending import (
    Cost,
    Exhausted,
    Ledger,
    Pace,
    Price,
    cost,
    cost_of,
    load_prices,
    on_loopback,
    price_of,
)
from lextables.pipeline.errors import BadInput

PRICES = load_prices()
OPENAI, HERE = "https://api.openai.com/v1", "http://127.0.0.1:8000/v1"


def test_the_prices_are_those_that_were_published():
    table = {name: (price.input, price.output) for name, price in PRICES.items()}
    assert table["gpt-4o-2024-08-06"] == (2.5, 10)
    assert table["gpt-4o-mini"] == (0.15, 0.6)
    assert table["text-embedding-3-large"] == (0.13, 0)
    assert all(price.date.year >= 2024 and price.source for price in PRICES.values())


def test_a_broken_table_names_entry_and_key(tmp_path):
    (tmp_path / "prices.yaml").write_text("m: {input: -1, output: 0, date: 2024-01-01, source: x}")
    with pytest.raises(BadInput, match=r"^prices.yaml: m.input: "):
        load_prices(tmp_path / "prices.yaml")


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-4o-mini-2024-07-18", 0.15),
        ("gpt-4o-2024-11-20", 2.5),
        ("gpt-4o", 2.5),
        ("gpt-4o-2024-08-06", 2.5),
    ],
)
def test_a_dated_model_costs_what_its_name_does(model, price):
    assert price_of(model, OPENAI, Limits(), PRICES).input == price


@pytest.mark.parametrize("model", ["gpt-4o-audio-preview", "llama", "gpt-4o-2024"])
def test_what_has_no_price_needs_a_limit_of_tokens_or_this_machine(model):
    with pytest.raises(BadInput, match="has no price in resources/prices.yaml.*set llm_tokens"):
        price_of(model, OPENAI, Limits(), PRICES)
    assert price_of(model, OPENAI, Limits(tokens=1000), PRICES) is None
    assert price_of(model, HERE, Limits(), PRICES) is None


def test_which_addresses_are_this_machine():
    here = ("http://localhost:1/v1", "http://127.0.0.1/v1", "http://[::1]:80/v1")
    assert all(map(on_loopback, here))
    assert not any(map(on_loopback, (OPENAI, "http://127.0.0.1.example.org/v1", "http://10.0.0.1/v1")))


def test_what_a_call_did_cost_is_what_its_answer_says():
    price = Price(input=2.5, cached=1.25, output=10, date="2024-10-01", source="x")
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}
    assert cost_of(usage, price) == Cost(pytest.approx((600 * 2.5 + 400 * 1.25 + 100 * 10) / 1e6), 1100)
    assert cost_of({"prompt_tokens": 5, "total_tokens": 5}, None) == Cost(0, 5)
    odd = ({"prompt_tokens": value} for value in (None, -1, 1e10, 10**400, float("inf"), float("nan")))
    for nothing in (None, {}, "usage", {"prompt_tokens": 1, "completion_tokens": 1e12}, *odd):
        assert cost_of(nothing, price) is None
    assert cost(price, 1_000_000, 0).dollars == 2.5


def test_a_reservation_counts_until_it_is_settled(tmp_path):
    ledger = Ledger(tmp_path, Limits(dollars=1))
    number = ledger.reserve(Cost(0.9, 10))
    # Another job, or a rerun after a kill: what was under way may have been paid.
    other = Ledger(tmp_path, Limits(dollars=1))
    with pytest.raises(Exhausted) as fault:
        other.reserve(Cost(0.2, 10))
    assert (fault.value.spent, fault.value.wanted) == (Cost(0.9, 10), Cost(0.2, 10))
    ledger.settle(number, Cost(0.1, 5))
    other.reserve(Cost(0.2, 10))
    assert ledger.spent == Cost(pytest.approx(0.3), 15)
    assert ledger.paid == Cost(0.1, 5)


def test_tokens_are_held_as_dollars_are_and_what_is_free_has_no_budget(tmp_path):
    Ledger(tmp_path, Limits(dollars=0)).reserve(Cost(0, 1000))
    with pytest.raises(Exhausted):
        Ledger(tmp_path, Limits(dollars=0)).reserve(Cost(0.001, 1))
    with pytest.raises(Exhausted):
        Ledger(tmp_path, Limits(tokens=1500)).reserve(Cost(0, 501))
    Ledger(tmp_path, Limits(tokens=1500)).reserve(Cost(0, 500))


def test_who_may_fit_when_others_of_the_job_are_settled_waits_for_them(tmp_path):
    ledger = Ledger(tmp_path, Limits(dollars=1))
    first = ledger.reserve(Cost(0.9, 10))
    waiting = threading.Thread(target=ledger.reserve, args=(Cost(0.5, 10),))
    waiting.start()
    time.sleep(0.2)
    assert waiting.is_alive()
    ledger.settle(first, Cost(0.1, 10))
    waiting.join(5)
    assert ledger.spent.dollars == pytest.approx(0.6)
    assert not waiting.is_alive()


def test_what_a_kill_cut_short_harms_no_line_after_it(tmp_path):
    ledger = Ledger(tmp_path, Limits(dollars=1))
    ledger.reserve(Cost(0.25, 10))
    with (tmp_path / "ledger.jsonl").open("a") as file:
        file.write('{"id": "x", "doll')
    ledger.reserve(Cost(0.25, 10))
    lines = (tmp_path / "ledger.jsonl").read_text().splitlines()
    assert [json.loads(line)["dollars"] for line in (lines[0], lines[2])] == [0.25, 0.25]
    assert Ledger(tmp_path, Limits()).spent == Cost(0.5, 20)


def _spend(folder, most, ask):
    ledger = Ledger(folder, Limits(dollars=most))
    try:
        while True:
            ledger.settle(ledger.reserve(Cost(ask, 1)), Cost(ask, 1))
    except Exhausted:
        pass


def test_processes_at_once_do_not_pass_the_budget_together(tmp_path):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_spend, args=(tmp_path, 1.0, 0.013)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    spent = Ledger(tmp_path, Limits()).spent
    assert 1.0 - 0.013 < spent.dollars <= 1.0
    assert spent.tokens == 76  # 76 x 0.013 = 0.988


def test_turns_are_apart_for_all_who_work_in_the_folder(tmp_path):
    begun, paces = time.time(), [Pace(tmp_path, 600), Pace(tmp_path, 600)]
    for turn in range(6):
        paces[turn % 2].wait()
    assert 0.5 <= time.time() - begun < 2
    Pace(tmp_path / "none", 0).wait()
    assert not (tmp_path / "none").exists()
