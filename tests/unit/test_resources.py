"""Memory and time that jobs request: from the model's parameters and the sizes of data sets."""

from pathlib import Path

import pytest

from lextables.models.resolve import Model, load_models
from lextables.pipeline.run import Run
from lextables.tasks import resources
from lextables.tasks.plan import Spec
from lextables.tasks.resources import Estimator, Work, mem_mb, minutes

ROOT = Path(__file__).parents[2]
MODELS = load_models(ROOT / "resources/models.yaml")
# Models of the hub without a revision: no public page was found that names one.
NOT_PINNED = {
    *("albert-large-v2", "albert-xlarge-v2", "albert-xxlarge-v2"),
    *("bart-large-anli", "msmarco-distilroberta-base-v2"),
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
    assert mem_mb(Work(action, MODELS[name].parameters, None), gpu) == megabytes


@pytest.mark.parametrize(
    ("work", "gpu", "requested"),
    [
        (Work("train", 10**8, 0), True, 60),
        (Work("train", 10**8, 0), False, 240),
        (Work("train", 10**8, None), True, 1440),
        # 6 operations of 1e8 parameters and 1e9 tokens are 12,000 seconds; twice as long is requested.
        (Work("train", 10**8, 1e9, length=0), True, 420),
        (Work("read", 10**8, 1e9, length=0), True, 450),
        (Work("ask", 10**8, 1e9, length=0), True, 450),
        (Work("train", 10**8, 1e9, length=0, applied=12), True, 4800),
        (Work("train", 10**8, 1e9, length=4096), True, 810),
        (Work("train", 10**8, 1e7, length=0), False, 4020),
    ],
)
def test_time_follows_from_the_parameters_and_tokens(work, gpu, requested):
    assert minutes(work, gpu) == requested


@pytest.mark.parametrize(
    ("volumes", "seconds", "requested"),
    [(0, 5, 30), (10, 5, 30), (180, 5, 30), (181, 5, 60), (40_000, 0.5, 690)],
)
def test_time_of_jobs_over_case_law_follows_from_the_volumes(
    volumes, seconds, requested
):
    assert resources.volume_minutes(volumes, seconds) == requested


TEXTS = {
    ("set", "train"): (800.0, 0.0),
    ("set", "train half"): (400.0, 0.0),
    ("set", "test"): (10.0, 1000.0),
    ("set", "questions"): (3.0, 20.0),
    ("set", "answered"): (160.0, 0.0),
    ("set", "heads"): (5.0, 0.0),
    ("set", "text_id"): (50.0, 100.0),
    ("set", "long"): (50.0, 9000.0),
}
MODEL = {"enc": Model(kind="encoder", licence="x", use="x", parameters=1000, applied=2)}
GRID = {"model": "enc", "batch_size": 16, "max_length": 512}
LONG = {"view": {"text": "long", "pair": "text_id"}}


def run(experiment, dataset="set"):
    return Run(paper=dataset, experiment=experiment, model="m", condition="c", seed=0)


def planned(settings, experiment="train", dataset="set", **others):
    specs = {run(experiment, dataset): Spec(settings)} | others.get("specs", {})
    return Estimator(specs, MODEL, TEXTS, {"own-mine": 7}).work(
        [run(experiment, dataset)]
    )


@pytest.mark.parametrize(
    ("settings", "experiment", "tokens"),
    [
        (GRID | {"updates": [10, 30]}, "train", 30 * 16 * 200),
        (GRID | {"updates": 30}, "pretrain", 30 * 16 * 200),
        (GRID | {"updates": [0]}, "train", 0),
        (GRID | {"updates": [30], "setting": "single"}, "train", 5 * 30 * 16 * 200),
        (GRID | {"updates": [30], "max_length": 64}, "train", 30 * 16 * 64),
        (GRID | {"passes": 2.0, "updates": []}, "train", 2 * 800 * 200),
        (GRID | {"passes": 2.0, "percent": 10}, "train", 2 * 80 * 200),
        (GRID | {"passes": 2.0, "where": "half"} | LONG, "train", 2 * 400 * 512),
        (GRID | {"passes": 2.0, "where": "unknown"}, "train", 2 * 800 * 200),
        (GRID | {"epochs": 4, "max_updates": None}, "search", 4 * 320 * 200),
        (GRID | {"epochs": 4, "max_updates": 3}, "search", 3 * 16 * 200),
        (
            GRID | {"updates": [5], "kind": "bi-encoder", "documents": 8},
            "train",
            5 * 16 * 9 * 200,
        ),
        ({"model": "enc", "step": 250, "max_length": 512}, "read", 10 * 3 * 5 * 512),
        ({"model": "enc", "tokenizer": {}, "max_length": 64}, "read", 10 * 64),
        (
            {
                "tokenizer": {},
                "readings": [LONG | {"max_length": 4096}, {"max_length": 64}],
            },
            "read",
            10 * 4160,
        ),
        ({"model": "enc", "max_length": 128}, "rerank", 10 * 100 * 128),
        ({"model": "enc"}, "retrieve", 10_000 + 60 + 5000 + 450_000),
    ],
)
def test_tokens_follow_from_the_settings_and_the_data_set(settings, experiment, tokens):
    assert planned(settings, experiment).tokens == tokens


def test_the_model_of_a_run_is_its_own_or_that_of_its_weights():
    trained = run("train")
    reader = Spec({"weights_of": "x", "max_length": 128}, sources=(trained,))
    specs = {trained: Spec(GRID | {"updates": [1]}), run("rerank"): reader}
    work = Estimator(specs, MODEL, TEXTS, {}).work([run("rerank")])
    assert (work.parameters, work.applied) == (1000, 2)
    assert planned({"model": "own-mine"}, "rerank").parameters == 7
    assert (
        planned({"model": "no entry"}, "rerank").parameters == resources.UNKNOWN_ENCODER
    )


def test_a_training_takes_at_most_as_long_as_the_longest_trial_of_its_choice():
    trials = {
        Run("set", "search", "m", f"c{n}", 0): Spec(GRID | {"updates": [n]})
        for n in (10, 30)
    }
    choice = Run("set", "choice", "m", "c", 0)
    for needs, tokens in ((tuple(trials), 30 * 16 * 200), ((), None)):
        specs = trials | {
            choice: Spec({}, needs=needs),
            run("train"): Spec(GRID, choice=choice),
        }
        assert Estimator(specs, MODEL, TEXTS, {}).work([run("train")]).tokens == tokens


def test_the_time_of_an_unknown_data_set_is_a_day():
    for settings, experiment in (
        (GRID | {"passes": 1}, "train"),
        ({"model": "enc"}, "retrieve"),
    ):
        assert minutes(planned(settings, experiment, dataset="new"), True) == 1440
    assert Estimator({}, MODEL, TEXTS, {}).encoding("enc", "new").tokens is None
    assert Estimator({}, MODEL, TEXTS, {}).encoding("enc", "set").tokens == 465_060


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
