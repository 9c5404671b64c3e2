"""The settings of the optimiser, warm-ups that are longer than the training, and the
one-cycle schedule.
"""

import math
import statistics

import pytest
import torch
from pydantic import ValidationError
from test_checkpoints import Line, Points
from transformers import TrainingArguments

from helpers.optimisers import CONSTANT
from lextables.models import checkpoints, in_parts
from lextables.models.settings import Optimiser
from lextables.pipeline.run import recorded

ONE_CYCLE = CONSTANT | {"schedule": "one_cycle", "warmup": 0.5}


@pytest.mark.parametrize("name", CONSTANT)
def test_no_setting_has_a_default(name):
    settings = dict(CONSTANT)
    del settings[name]
    with pytest.raises(ValidationError, match=f"{name}\n.*Field required"):
        Optimiser(**settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weight_decay", -0.1),
        ("weight_decay", math.nan),
        ("weight_decay", None),
        ("decayed", "none"),
        ("betas", [0.9]),
        ("betas", [0.9, 1.0]),
        ("betas", [-0.1, 0.9]),
        ("epsilon", 0),
        ("epsilon", math.inf),
        ("clip", 0),
        ("clip", -1),
        ("clip", math.inf),
        ("schedule", "cosine"),
        ("warmup", -1),
        ("warmup", -0.1),
        ("warmup", 1.5),
        ("warmup", math.nan),
    ],
)
def test_the_error_about_a_bad_value_names_the_setting(name, value):
    message = f"validation error.* for Optimiser\n{name}"
    with pytest.raises(ValidationError, match=message):
        Optimiser(**CONSTANT | {name: value})


LEARNING_RATE = 0.1


def trainer_of(folder, optimiser, updates, save_every=0):
    """Return a trainer of `Line` with checkpoints in ``folder``."""
    arguments = checkpoints.arguments(
        folder, updates, seed=0, save_every=save_every, device=torch.device("cpu")
    )
    return checkpoints.InParts(
        model=Line(),
        args=TrainingArguments(
            **arguments,
            **optimiser.arguments(LEARNING_RATE),
            remove_unused_columns=False,
        ),
        train_dataset=Points(),
        mixed=False,
        optimiser=optimiser,
    )


def train_with_warmup(folder, warmup):
    """Train for four updates; return the learning rate of each, and the record."""
    optimiser = Optimiser(**CONSTANT | {"warmup": warmup})
    trainer = trainer_of(folder, optimiser, updates=4)
    rates = []
    trainer.add_callback(Rates(rates))
    with recorded(folder / "run.json", {}) as record:
        checkpoints.train(trainer, folder)
    return rates, record


@pytest.mark.parametrize("warmup", [0, 3])
def test_a_warm_up_that_ends_before_the_training_is_not_recorded(tmp_path, warmup):
    rates, record = train_with_warmup(tmp_path, warmup)
    assert max(rates) == pytest.approx(LEARNING_RATE)
    assert record.get("warm_up") is None


@pytest.mark.parametrize(
    # The rate of the last of four updates: 3/4 or 3/10 of the way to `LEARNING_RATE`.
    ("warmup", "highest_rate"),
    [(4, 0.075), (10, 0.03)],
)
def test_a_warm_up_that_is_longer_than_the_training_is_recorded(
    tmp_path, caplog, warmup, highest_rate
):
    rates, record = train_with_warmup(tmp_path, warmup)
    assert max(rates) == pytest.approx(highest_rate)
    assert record.get("warm_up") == {
        "updates": 4,
        "warmup": warmup,
        "highest_learning_rate": pytest.approx(highest_rate),
    }
    assert f"warm-up of {warmup} updates, training of 4" in caplog.text


@pytest.mark.parametrize(
    ("warmup", "updates", "expected"),
    [(10, 4, 10), (0, 4, 0), (0.1, 50_526, 5052), (0.1, 4199, 419), (0.5, 5, 2)],
)
def test_a_warm_up_is_a_number_of_updates_or_a_share_of_them(warmup, updates, expected):
    optimiser = Optimiser(**CONSTANT | {"warmup": warmup})
    assert optimiser.warmup_updates(updates) == expected
    assert Optimiser(**optimiser.model_dump(mode="json")) == optimiser


@pytest.mark.parametrize("warmup", [0, 10])
def test_one_cycle_needs_a_warm_up_that_is_a_share(warmup):
    with pytest.raises(ValidationError, match="one_cycle needs a warmup between 0 and"):
        Optimiser(**CONSTANT | {"schedule": "one_cycle", "warmup": warmup})


def one_cycle_course(updates, **settings):
    """Return the learning rate and the first beta of each update of a training with
    OneCycleLR and a highest rate of 1e-5.
    """
    optimiser = Optimiser(**CONSTANT | {"schedule": "one_cycle"} | settings)
    adamw = torch.optim.AdamW(Line().parameters(), lr=1, betas=optimiser.betas)
    schedule = in_parts.one_cycle(adamw, 1e-5, optimiser, updates)
    rates = []
    betas = []
    for _ in range(updates):
        rates.append(adamw.param_groups[0]["lr"])
        betas.append(adamw.param_groups[0]["betas"][0])
        adamw.step()
        schedule.step()
    return rates, betas


def test_one_cycle_is_the_course_of_the_released_code_of_lawngnli():
    # 71,442 examples, batches of 32 and 4 epochs are 8,930 updates.  The released code
    # has 2,233 batches in each epoch, so its schedule is for 8,932.
    rates, betas = one_cycle_course(8930, warmup=0.05)
    assert rates.index(max(rates)) == betas.index(min(betas)) == 446
    assert max(rates) == pytest.approx(1e-5, rel=1e-3)
    assert statistics.fmean(rates) == pytest.approx(5.0e-6, rel=0.01)
    assert rates[0] == pytest.approx(4e-7)
    assert rates[-1] == pytest.approx(4e-11)
    assert max(betas) == pytest.approx(0.95, abs=1e-4)
    assert min(betas) == pytest.approx(0.85, abs=1e-4)
    released_rates, released_betas = one_cycle_course(8932, warmup=0.05)
    assert rates == pytest.approx(released_rates[:8930], abs=3e-9)
    assert betas == pytest.approx(released_betas[:8930], abs=1e-4)
    assert released_rates[8929] == pytest.approx(2.4e-9, rel=0.01)


@pytest.mark.parametrize("updates", [1, 2, 3, 19, 20, 21, 40])
def test_one_cycle_fits_a_training_of_any_length(updates):
    rates, betas = one_cycle_course(updates, warmup=0.05)
    assert len(rates) == updates
    assert max(rates) <= 1e-5 * (1 + 1e-6)
    assert all(0.85 <= beta <= 0.95 + 1e-9 for beta in betas)


def test_a_training_follows_one_cycle_also_after_an_interruption(tmp_path):
    def train(folder, stop_after=None):
        """Return the rates of the updates, the update that was resumed from, and the
        weight of the model.
        """
        trainer = trainer_of(folder, Optimiser(**ONE_CYCLE), updates=8, save_every=2)
        rates = []
        trainer.add_callback(Rates(rates))
        if stop_after:
            trainer.add_callback(Stop(stop_after))
        resumed_from = checkpoints.train(trainer, folder)
        return rates, resumed_from, trainer.model.weight.item()

    rates, _, weight = train(tmp_path / "whole")
    expected, _ = one_cycle_course(8, warmup=0.5)
    scale = LEARNING_RATE / 1e-5
    assert [rate / scale for rate in rates] == pytest.approx(expected)
    train(tmp_path / "parts", stop_after=4)
    rates_of_rest, resumed_from, resumed_weight = train(tmp_path / "parts")
    assert resumed_from == 4
    assert rates_of_rest == pytest.approx(rates[4:])
    assert resumed_weight == weight


class Stop(checkpoints.TrainerCallback):
    """End a training after an update."""

    def __init__(self, after):
        self.after = after

    def on_step_end(self, args, state, control, **kwargs):
        control.should_training_stop = state.global_step == self.after


class Rates(checkpoints.TrainerCallback):
    """Append the learning rate of each update to ``rates``."""

    def __init__(self, rates):
        self.rates = rates

    def on_step_begin(self, args, state, control, optimizer=None, **kwargs):
        self.rates.append(optimizer.param_groups[0]["lr"])
