"""The settings of the optimiser: none has a default, and a warm-up that is too long is recorded."""

import math

import pytest
import torch
from pydantic import ValidationError
from test_checkpoints import Line, Points
from transformers import TrainingArguments

from lextables.models import checkpoints
from lextables.models.optimiser import Optimiser
from lextables.pipeline.run import recorded
from optimisers import CONSTANT


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
        ("warmup", 0.1),
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
    settings = TrainingArguments(
        **checkpoints.arguments(
            tmp_path, 4, seed=0, save_every=0, device=torch.device("cpu")
        ),
        **Optimiser(**CONSTANT | {"warmup": warmup}).arguments(0.1),
        remove_unused_columns=False,
    )
    plain = {"mixed": False, "decayed": "weights"}
    trainer = checkpoints.InParts(
        model=Line(), args=settings, train_dataset=Points(), **plain
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


class Rates(checkpoints.TrainerCallback):
    """Keep the learning rate of each update."""

    def __init__(self, rates):
        self.rates = rates

    def on_step_begin(self, args, state, control, optimizer=None, **kwargs):
        self.rates.append(optimizer.param_groups[0]["lr"])
