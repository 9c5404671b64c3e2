"""The settings of the optimiser: none has a default, and a warm-up that is too long is
recorded.
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
    with pytest.raises(ValidationError, match=f"{name}\n.*Field required"):
        Optimiser(
            **{other: value for other, value in CONSTANT.items() if other != name}
        )


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
def test_a_bad_value_names_the_setting(name, value):
    with pytest.raises(
        ValidationError, match=f"validation error.* for Optimiser\n{name}"
    ):
        Optimiser(**CONSTANT | {name: value})


@pytest.mark.parametrize(
    ("warmup", "highest"), [(0, None), (3, None), (4, 0.075), (10, 0.03)]
)
def test_a_warm_up_that_is_longer_than_the_training_is_recorded(
    tmp_path, caplog, warmup, highest
):
    optimiser = Optimiser(**CONSTANT | {"warmup": warmup})
    settings = TrainingArguments(
        **checkpoints.arguments(
            tmp_path, 4, seed=0, save_every=0, device=torch.device("cpu")
        ),
        **optimiser.arguments(0.1),
        remove_unused_columns=False,
    )
    trainer = checkpoints.InParts(
        model=Line(),
        args=settings,
        train_dataset=Points(),
        mixed=False,
        optimiser=optimiser,
    )
    rates = []
    trainer.add_callback(Rates(rates))
    with recorded(tmp_path / "run.json", {}) as record:
        checkpoints.train(trainer, tmp_path)
    assert max(rates) == pytest.approx(highest or 0.1)
    found = record.get("warm_up")
    if highest is None:
        assert found is None
        return
    assert found == {
        "updates": 4,
        "warmup": warmup,
        "highest_learning_rate": pytest.approx(highest),
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
def test_one_cycle_needs_a_share(warmup):
    with pytest.raises(ValidationError, match="one_cycle needs a warmup between 0 and"):
        Optimiser(**CONSTANT | {"schedule": "one_cycle", "warmup": warmup})


def course_of(updates, **settings):
    """Return the learning rate and the first beta of each update of a training with
    OneCycleLR.
    """
    optimiser = Optimiser(**CONSTANT | {"schedule": "one_cycle"} | settings)
    adamw = torch.optim.AdamW(Line().parameters(), lr=1, betas=optimiser.betas)
    schedule = in_parts.one_cycle(adamw, 1e-5, optimiser, updates)
    rates, betas = [], []
    for _ in range(updates):
        rates.append(adamw.param_groups[0]["lr"])
        betas.append(adamw.param_groups[0]["betas"][0])
        adamw.step()
        schedule.step()
    return rates, betas


def test_one_cycle_is_the_course_of_the_released_code_of_lawngnli():
    # 71,442 examples, batches of 32 and 4 epochs; the released code has 2,233 batches
    # in each.
    rates, betas = course_of(8930, warmup=0.05)
    assert rates.index(max(rates)) == betas.index(min(betas)) == 446
    assert max(rates) == pytest.approx(1e-5, rel=1e-3)
    assert statistics.fmean(rates) == pytest.approx(5.0e-6, rel=0.01)
    assert rates[0] == pytest.approx(4e-7) and rates[-1] == pytest.approx(4e-11)
    assert (max(betas), min(betas)) == pytest.approx((0.95, 0.85), abs=1e-4)
    released, released_betas = course_of(8932, warmup=0.05)
    assert rates == pytest.approx(released[:8930], abs=3e-9)
    assert betas == pytest.approx(released_betas[:8930], abs=1e-4)
    assert released[8929] == pytest.approx(2.4e-9, rel=0.01)


@pytest.mark.parametrize("updates", [1, 2, 3, 19, 20, 21, 40])
def test_one_cycle_fits_a_training_of_any_length(updates):
    rates, betas = course_of(updates, warmup=0.05)
    assert len(rates) == updates and max(rates) <= 1e-5 * (1 + 1e-6)
    assert all(0.85 <= beta <= 0.95 + 1e-9 for beta in betas)


def test_a_training_follows_one_cycle_also_after_an_interruption(tmp_path):
    def trained(folder, updates, stop=None):
        optimiser = Optimiser(**ONE_CYCLE)
        settings = TrainingArguments(
            **checkpoints.arguments(
                folder, updates, seed=0, save_every=2, device=torch.device("cpu")
            ),
            **optimiser.arguments(0.1),
            remove_unused_columns=False,
        )
        trainer = checkpoints.InParts(
            model=Line(),
            args=settings,
            train_dataset=Points(),
            mixed=False,
            optimiser=optimiser,
        )
        rates = []
        trainer.add_callback(Rates(rates))
        if stop:
            trainer.add_callback(Stop(stop))
        resumed = checkpoints.train(trainer, folder)
        return rates, resumed, trainer.model.weight.item()

    rates, _, weight = trained(tmp_path / "whole", 8)
    expected, _ = course_of(8, warmup=0.5)
    assert [rate / 1e4 for rate in rates] == pytest.approx(expected)
    trained(tmp_path / "parts", 8, stop=4)
    rest, resumed, resumed_weight = trained(tmp_path / "parts", 8)
    assert resumed == 4 and rest == pytest.approx(rates[4:])
    assert resumed_weight == weight


class Stop(checkpoints.TrainerCallback):
    """End a training after an update."""

    def __init__(self, after):
        self.after = after

    def on_step_end(self, args, state, control, **kwargs):
        control.should_training_stop = state.global_step == self.after


class Rates(checkpoints.TrainerCallback):
    """Keep the learning rate of each update."""

    def __init__(self, rates):
        self.rates = rates

    def on_step_begin(self, args, state, control, optimizer=None, **kwargs):
        self.rates.append(optimizer.param_groups[0]["lr"])
