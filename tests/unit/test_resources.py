"""Memory and time that jobs request: from the model's parameters and the sizes of data sets."""

import pytest

from lextables import ROOT
from lextables.models.resolve import Model, load_models
from lextables.pipeline.run import Run
from lextables.tasks import resources
from lextables.tasks.plan import Spec
from lextables.tasks.resources import ModelSizes, Work, mem_mb, minutes

MODELS = load_models(ROOT / "resources/models.yaml")
# Models of the hub without a revision: no public page was found that names one.
NOT_PINNED = {
    "albert-large-v2",
    "albert-xlarge-v2",
    "albert-xxlarge-v2",
    "bart-large-anli",
    "msmarco-distilroberta-base-v2",
}


@pytest.mark.parametrize(
    ("action", "name", "gpu", "megabytes"),
    [
        ("train", "all-minilm-l6-v2", True, 8000),
        ("train", "roberta-base", True, 8000),
        ("train", "roberta-large", True, 9000),  # 4,000 and 12 bytes of 355 million
        ("train", "deberta-xlarge", True, 15000),
        ("train", "deberta-xlarge", False, 19000),
        ("read", "deberta-xlarge", True, 8000),
        ("ask", "smollm2-135m-instruct", False, 8000),
        ("ask", "deepseek-r1-distill-qwen-7b", True, 20000),
        ("ask", "deepseek-r1-distill-qwen-7b", False, 35000),
        ("ask", "gemma-3-12b-it", True, 29000),
        ("ask", "gemma-3-12b-it", False, 53000),
    ],
)
def test_memory_follows_from_the_parameters(action, name, gpu, megabytes):
    assert mem_mb(Work(action, MODELS[name].parameters), gpu) == megabytes


@pytest.mark.parametrize(
    ("work", "gpu", "requested"),
    [
        (Work("train", 10**6), True, 60),
        (Work("train", 10**6), False, 1440),
        (Work("read", 10**8), True, 810),  # 8 minutes a million, in steps of 30
        (Work("read", 10**8, applied=3), True, 2400),
        (Work("read", 10**8, length=128), True, 810),
        (Work("train", 10**8, length=1024), True, 1620),
        (Work("ask", 10**10), True, 10_080),  # a week at most
    ],
)
def test_time_follows_from_the_parameters_and_the_length(work, gpu, requested):
    assert minutes(work, gpu) == requested


@pytest.mark.parametrize(
    ("volumes", "seconds", "requested"),
    [(0, 5, 30), (10, 5, 30), (180, 5, 30), (181, 5, 60), (40_000, 0.5, 690)],
)
def test_time_of_jobs_over_case_law_follows_from_the_volumes(
    volumes, seconds, requested
):
    assert resources.volume_minutes(volumes, seconds) == requested


MODEL = {"enc": Model(kind="encoder", licence="x", use="x", parameters=1000, applied=2)}


def run(experiment):
    return Run(paper="set", experiment=experiment, model="m", condition="c", seed=0)


@pytest.mark.parametrize(
    ("settings", "experiment", "work"),
    [
        (
            {"model": "enc", "batch_size": 16, "max_length": 64},
            "train",
            Work("train", 1000, 64, 2),
        ),
        ({"model": "enc"}, "retrieve", Work("read", 1000, 512, 2)),
        (
            {
                "tokenizer": {"model": "enc"},
                "readings": [{"max_length": 4096}, {"max_length": 64}],
            },
            "read",
            Work("read", 1000, 4096, 2),
        ),
        ({"model": "own-mine"}, "ask", Work("ask", 7)),
        ({"model": "own-mine", "kind": "language-model"}, "mark", Work("ask", 7)),
        ({"model": "none"}, "rerank", Work("read", resources.UNKNOWN_ENCODER)),
    ],
)
def test_the_work_of_a_job_follows_from_the_settings_of_its_run(
    settings, experiment, work
):
    sizes = ModelSizes({run(experiment): Spec(settings)}, MODEL, {"own-mine": 7})
    assert sizes.work([run(experiment)]) == work


def test_the_model_of_a_run_is_that_of_its_weights():
    trained = run("train")
    reader = Spec({"weights_of": "x", "max_length": 128}, sources=(trained,))
    sizes = ModelSizes({trained: Spec({"model": "enc"})}, MODEL, {})
    assert sizes.parameters(reader) == 1000
    assert sizes.encoding("enc") == Work("read", 1000, applied=2)


def test_the_parameters_of_a_users_model_follow_from_its_files(tmp_path):
    for name, size in {
        "model.safetensors": 600,
        "a.bin": 200,
        "tokenizer.json": 999,
    }.items():
        (tmp_path / name).write_bytes(b"x" * size)
    assert resources.own_parameters("encoder", sorted(tmp_path.iterdir())) == 400
    assert resources.own_parameters("encoder", []) == 400_000_000
    assert resources.own_parameters("language-model", []) == 8_000_000_000


def test_models_of_the_hub_have_parameters_and_a_revision_or_are_listed():
    hub = {name: model for name, model in MODELS.items() if model.hub}
    assert all(model.parameters for model in hub.values())
    assert {name for name, model in hub.items() if not model.revision} == NOT_PINNED
    listed = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in listed for name in NOT_PINNED)
    shared = {name for name, model in MODELS.items() if model.applied > 1}
    assert shared == {name for name in MODELS if name.startswith("albert-")}
