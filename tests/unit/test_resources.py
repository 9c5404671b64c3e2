"""Memory and time that jobs request: from the model's parameters and the sizes of data
sets.
"""

import pytest
import yaml

from lextables import ROOT
from lextables.models.resolve import Model, load_models
from lextables.pipeline.run import Run
from lextables.tasks import resources
from lextables.tasks.planner import Spec
from lextables.tasks.resources import ModelSizes, Speed, Texts, Work, mem_mb

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
    ("seconds", "gpu", "requested"),
    [
        (60, True, 60),  # an hour at least
        (60, False, 240),
        (22.4 * 60, True, 60),  # four times are 89.6 minutes, in whole half hours
        (22.5 * 60, True, 90),
        (10 * 3600, True, 2400),
        (10 * 3600, False, 2400),
        (50 * 3600, True, 10_080),  # a week at most
    ],
)
def test_requested_time_is_at_most_four_times_the_estimate(seconds, gpu, requested):
    assert resources.minutes(seconds, gpu) == requested


@pytest.mark.parametrize(
    ("work", "hours"),
    [
        (Work("train", 10**8, trained=6e9), 10**8 * 6e9 * 6 / 1e13 / 3600),
        (Work("read", 10**8, read=6e9), 10**8 * 6e9 * 2 / 1e13 / 3600),
        (Work("read", 10**8, applied=12, read=1e9), 10**8 * 12e9 * 2 / 1e13 / 3600),
        (Work("train", 10**8, trained=1e9, model="m"), 10**8 * 6e9 / 1e12 / 3600),
        (Work("read", 10**8, read=1e9, model="m"), 10**8 * 2e9 / 1e13 / 3600),
    ],
)
def test_estimated_time_follows_from_parameters_tokens_and_speed(work, hours):
    speed = Speed(10.0, {("m", "train"): 1.0})
    started = resources.START_SECONDS / 3600
    assert speed.seconds(work) / 3600 == pytest.approx(hours + started)


def test_cuads_training_takes_hours_and_not_days():
    """399 updates of 80 windows and 14 windows more are a pass (released train.py)."""
    settings = {"model": "deberta-xlarge", "batch_size": 80, "max_length": 512}
    texts = resources.load_texts(ROOT / "resources/costs/texts.csv")
    cuad = Run("cuad", "train", "deberta-xlarge", "c")
    spec = Spec({**settings, "percent": 100, "epochs": 4})
    work = ModelSizes({cuad: spec}, MODELS, {}, texts).work([cuad])
    assert work.trained == 4 * (399 * 80 + 14) * 512
    operations = 6 * MODELS["deberta-xlarge"].parameters * work.trained
    assert Speed(40.0).seconds(work) == pytest.approx(operations / 40e12 + 120)


def test_measured_speeds_are_those_of_the_slowest_record(tmp_path):
    lines = [
        "data,rule,dataset,model,published,jobs,seconds,bytes,memory_mib,updates,tokens,device,measured",
        "release,train,cuad,roberta-base,1,1,10,,,20,1000000,H100,job",
        "release,search,cuad,roberta-base,1,1,20,,,20,1000000,H100,job",
        "release,read,cuad,roberta-base,1,1,5,,,0,1000000,H100,job",
        "release,read,cuad,roberta-base,1,1,5000,,,,,,job",
        "release,read,cuad,unregistered,1,1,5,,,0,1000000,H100,job",
    ]
    path = tmp_path / "records.csv"
    path.write_text("\n".join(lines))
    parameters = MODELS["roberta-base"].parameters
    assert resources.measured_speeds(path, MODELS) == {
        ("roberta-base", "train"): pytest.approx(6 * parameters * 1e6 / 20 / 1e12),
        ("roberta-base", "read"): pytest.approx(2 * parameters * 1e6 / 5 / 1e12),
    }


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
    return Run(data_set="set", experiment=experiment, model="m", condition="c", seed=0)


TEXTS = {
    ("set", "train"): Texts(1000),
    ("set", "train analysis"): Texts(300),
    ("set", "validation"): Texts(50),
    ("set", "test"): Texts(200),
    ("set", "encode"): Texts(40),
    ("set", "ask"): Texts(10, 900),
    ("set", "heads"): Texts(7),
    ("set", "updates single"): Texts(25),
}
TRAINING = {"model": "enc", "batch_size": 16, "max_length": 64}


@pytest.mark.parametrize(
    ("settings", "experiment", "trained", "read"),
    [
        ({**TRAINING, "updates": [5, 30]}, "train", 30 * 16 * 64, 0),
        ({**TRAINING, "updates": 30}, "pretrain", 30 * 16 * 64, 0),
        ({**TRAINING, "updates": [5, 30]}, "search", 30 * 16 * 64, 2 * 50 * 64),
        ({**TRAINING, "updates": [], "passes": 2.5}, "train", 2500 * 64, 0),
        ({**TRAINING, "passes": 2, "where": "analysis"}, "train", 600 * 64, 0),
        ({**TRAINING, "epochs": 3, "percent": 10}, "train", 300 * 64, 0),
        ({**TRAINING, "epochs": 3, "max_updates": 4}, "train", 4 * 16 * 64, 0),
        ({**TRAINING, "epochs": 3}, "search", 3000 * 64, 50 * 64),
        (
            {**TRAINING, "updates": [5], "setting": "single", "heads": None},
            "single-task",
            7 * 5 * 16 * 64,
            200 * 64,
        ),
        (
            {**TRAINING, "updates": [5], "setting": "single", "heads": 3},
            "single-task",
            3 * 5 * 16 * 64,
            200 * 64,
        ),
        (
            {**TRAINING, "updates": [5], "setting": "single", "published": "theirs"},
            "single-task",
            7 * 25 * 16 * 64,
            200 * 64,
        ),
        (
            {**TRAINING, "updates": [2], "temperature": 0.05, "documents": 8},
            "train",
            2 * 16 * 9 * 64,
            0,
        ),
        ({"model": "enc"}, "retrieve", 0, 200 * 512),
        (
            {"model": "enc", "readings": [{"max_length": 4096}, {"max_length": 64}]},
            "read",
            0,
            200 * (4096 + 64),
        ),
        ({"model": "enc"}, "ask", 0, 10 * 900),
        ({"model": "enc", "kind": "language-model"}, "mark", 0, 10 * 900),
    ],
)
def test_the_tokens_of_a_job_follow_from_the_settings_of_its_run(
    settings, experiment, trained, read
):
    sizes = ModelSizes({run(experiment): Spec(settings)}, MODEL, {}, TEXTS)
    work = sizes.work([run(experiment)])
    assert (work.trained, work.read) == pytest.approx((trained, read))
    assert (work.parameters, work.applied, work.model) == (1000, 2, "enc")
    half = ModelSizes(sizes.specs, MODEL, {}, TEXTS, {"set": 0.5}).work(
        [run(experiment)]
    )
    assert half.read == read / 2


def test_a_training_with_a_choice_takes_as_long_as_its_longest_trial():
    choice = Spec({"trials": [{"epochs": 4}, {"epochs": 1}]})
    training = Spec({**TRAINING, "percent": 100}, choice=run("choice"))
    specs = {run("choice"): choice, run("train"): training}
    work = ModelSizes(specs, MODEL, {}, TEXTS).work([run("train")])
    assert work.trained == 4 * 1000 * 64
    searched = {**TRAINING, "updates": [3, 9]}
    specs[run("search")] = Spec(searched)
    specs[run("choice")] = Spec({}, needs=(run("search"),))
    specs[run("train")] = Spec({**TRAINING, "updates": [3]}, choice=run("choice"))
    work = ModelSizes(specs, MODEL, {}, TEXTS).work([run("train")])
    assert work.trained == 9 * 16 * 64


def test_a_data_set_may_state_the_mean_length_of_its_training_texts():
    texts = {("set", "train"): Texts(1000, 40)}
    settings = {**TRAINING, "passes": 1}
    sizes = ModelSizes({run("train"): Spec(settings)}, MODEL, {}, texts)
    assert sizes.work([run("train")]).trained == 1000 * 40


def test_the_actions_and_sizes_of_a_job_follow_from_its_run():
    specs = {
        run("train"): Spec({**TRAINING, "updates": [1]}),
        run("rerank"): Spec({"model": "none"}),
        run("ask"): Spec({"model": "own-mine"}),
    }
    sizes = ModelSizes(specs, MODEL, {"own-mine": 7}, {}, unknown=3)
    training = sizes.work([run("train")])
    assert (training.action, training.length) == ("train", 64)
    reranking = sizes.work([run("rerank")])
    assert reranking.action == "read" and reranking.read == 3 * 512
    assert reranking.parameters == resources.UNKNOWN_ENCODER
    asking = sizes.work([run("ask")])
    assert (asking.action, asking.parameters) == ("ask", 7)


def test_the_model_of_a_run_is_that_of_its_weights():
    trained = run("train")
    reader = Spec({"weights_of": "x", "max_length": 128}, sources=(trained,))
    sizes = ModelSizes({trained: Spec({"model": "enc"})}, MODEL, {}, TEXTS)
    assert sizes.parameters(reader) == 1000
    expected = Work("read", 1000, applied=2, read=40 * 64, model="enc")
    assert sizes.encoding("enc", "set") == expected


def test_every_planned_data_set_of_a_paper_has_its_numbers_of_texts():
    texts = resources.load_texts(ROOT / "resources/costs/texts.csv")
    for paper in (ROOT / "resources/papers").glob("*.yaml"):
        tasks = yaml.safe_load(paper.read_text(encoding="utf-8")).get("tasks", {})
        named = {dataset for dataset, _ in texts}
        assert set(tasks) <= named, paper.name


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
