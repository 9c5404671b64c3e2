"""Trainings have the weights of a plain PyTorch loop with the same settings."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "bench/compare_training.py"
SAME = 1e-12  # in double precision; the weights move by about 1e-3


@pytest.fixture(scope="module")
def script():
    """The module of the script."""
    spec = importlib.util.spec_from_file_location("compare_training", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_training_equals_a_plain_loop_and_the_trainer_of_transformers(script):
    differences = script.differences_from_loop("bert")
    # Sums over single texts are rounded differently, in single precision.
    assert differences.pop("here, 8 parts") < 1e-4
    assert differences.keys() == {"here", "here, 2 parts", "Trainer"}
    assert max(differences.values()) < SAME


@pytest.mark.parametrize(
    "changes",
    [
        {"weight_decay": 0.5},
        {"decayed": "all"},
        {"betas": (0.5, 0.999)},
        {"betas": (0.9, 0.5)},
        {"epsilon": 1e-3},
        {"clip": 0.01},
        {"clip": None},
        {"schedule": "constant"},
        {"warmup": 0},
        {"warmup": 10},
        {"warmup": 0.5},
        {"schedule": "one_cycle", "warmup": 0.5},
    ],
    ids=repr,
)
def test_each_setting_of_the_optimiser_has_its_effect(script, changes):
    unchanged = script.OPTIMISER.model_copy(update={"weight_decay": 0.1})
    changed = unchanged.model_copy(update=changes)
    differences = script.differences_from_loop("bert", changed, with_others=False)
    assert differences["here"] < SAME
    # The setting matters: the plain loop has other weights with it.
    texts = script.Texts()
    batches = [texts.collated(range(start, start + 8)) for start in (0, 8)] * 3
    weights = script.weights_of_loop("bert", unchanged, batches)
    weights_after_change = script.weights_of_loop("bert", changed, batches)
    assert (weights - weights_after_change).abs().max() > 1e-6
