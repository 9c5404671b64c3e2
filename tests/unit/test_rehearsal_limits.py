"""Trainings of a rehearsal are small, and otherwise the paper's."""

import pytest

from helpers import planned_project
from helpers.planned_project import some_run

CONFIG = {"rehearsal": True, "papers": ["acord", "cuad", "maud"]}


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("rehearsed")
        yield planned_project.load(patch, folder, **CONFIG)


@pytest.mark.parametrize(
    ("data_set", "experiment", "limits"),
    [
        ("maud", "single-task", {"max_updates": 2, "batch_size": 4, "heads": 4}),
        ("maud", "train", {"max_updates": 2, "batch_size": 4}),
        ("cuad", "train", {"max_updates": 2, "batch_size": 4}),
        ("acord", "train", {"batch_size": 4}),
    ],
)
def test_a_training_has_few_updates_of_few_examples(
    rehearsed, data_set, experiment, limits
):
    run = some_run(rehearsed, experiment, data_set)
    settings = rehearsed.specs[run].settings
    assert {name: settings[name] for name in limits} == limits


def test_no_text_has_more_than_512_tokens(rehearsed):
    lengths = set()
    for run, spec in rehearsed.specs.items():
        if run.experiment in ("train", "single-task", "search"):
            lengths.add(spec.settings["max_length"])
    assert max(lengths) == 512


def test_learning_rates_and_optimisers_are_the_papers(rehearsed, tmp_path, monkeypatch):
    config = {"data": "release", "models": "paper", "device": "cuda"}
    papers = ["cuad", "maud"]
    complete = planned_project.load(monkeypatch, tmp_path, papers=papers, **config)
    optimisers = 0
    for run, spec in rehearsed.specs.items():
        if run.experiment == "train" and run in complete.specs:
            settings = complete.specs[run].settings
            for name in ("learning_rate", "optimiser"):
                assert spec.settings.get(name) == settings.get(name), run
            optimisers += "optimiser" in settings
    assert optimisers > 30
    assert {run.seed for run in rehearsed.specs} >= {0, 1, 2}
