"""The actions of span extraction, done in sequence on the runs of a plan.

The grid has three trials, of which one diverges, so a search and a choice are executed
too; the sample has neither.
"""

import json
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

from helpers import marked_contracts
from helpers.marked_contracts import WINDOWS
from helpers.optimisers import LINEAR
from lextables.metrics.spans import LOW_THRESHOLDS
from lextables.models.resolve import Model
from lextables.models.weights import PLACES
from lextables.pipeline.config import load as load_config
from lextables.pipeline.dataset import read
from lextables.pipeline.run import Run
from lextables.tasks.job import Job
from lextables.tasks.planner import Context
from lextables.tasks.spans.planner import SpanPlanner, SpanTask
from lextables.tasks.spans.settings import CuttingSettings
from lextables.tasks.spans.squad import contract_splits, held_out_contracts

SPLITS = {f"c{n:03}": "test" if n % 6 == 5 else "train" for n in range(60)}
DATA = Path("results/data/any")
DIVERGING = 1e30  # a learning rate after whose first update no loss is finite
TASK = {
    "task": "spans",
    "models": {
        "ours": {"row": "Ours", "model": "tiny"},
        "theirs": {"row": "Theirs", "model": "tiny", "released": "theirs.zip"},
    },
    "n_best": 5,
    "max_answer_length": 10,
    "held_out": 0.1,
    "low_thresholds": LOW_THRESHOLDS,
    "checkpoints": "checkpoints",
    "grids": {
        "paper": {
            "learning_rates": [1e-9, 1e-2, DIVERGING],
            "optimiser": LINEAR,
            "epochs": [4],
            "batch_size": 16,
            "max_length": WINDOWS.max_length,
            "step": WINDOWS.step,
            "balance": "sample",
            "max_question_length": WINDOWS.max_question_length,
            "windows_per_question": 1,
        }
    },
}
OURS, THEIRS = (("ours", "paper-p100"), ("theirs", "as-released"))


class Runner:
    """Does the actions of the runs of a plan, in the current directory."""

    def __init__(self, specs):
        self.specs = specs

    def __call__(self, action, files, output, **given):
        outputs = {role: [*paths] for role, paths in output.items()}
        roles = ("weights", "weight_records", "choice", "predictions", "records")
        inputs = {role: [] for role in roles} | files
        import_module(f"lextables.tasks.spans.actions.{action}").run(
            Job(inputs, outputs, **given)
        )

    def run(self, action, run, files, *made):
        """Do the action of one run, which writes the files ``made`` and a record;
        return its folder.
        """
        folder = Path("results", run.folder)
        output = {Path(name).stem: [str(folder / name)] for name in made}
        output["record"] = [str(folder / "run.json")]
        settings = self.specs[run].settings
        common = {"settings": settings, "device": "cpu", "code": "c", "work": "work"}
        self(action, files, output, **common)
        return folder


def tables(*names):
    return [str(DATA / f"{name}.parquet") for name in names]


def windows(model, part):
    return [f"results/features/{model}/{part}/features.json"]


def record(folder):
    return json.loads((folder / "run.json").read_text())


def laid_out(mirror):
    values = {
        "data": "release",
        "models": "available",
        "grid": "paper",
        "mirror": str(mirror),
    }
    more = {"papers": "cuad", "seeds": [0]}
    known = Model(kind="encoder", licence="MIT", use="tests", hub="org/tiny")
    config = load_config(values | more, ["cuad"], Path.cwd())
    context = Context(config, {"tiny": known}, Path.cwd(), gpu=False)
    planner = SpanPlanner("any", SpanTask.model_validate(TASK), context)
    planner.rows()
    return planner.specs


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Execute every run of the plan; yield the job."""
    here = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        patch.setenv(
            PLACES,
            json.dumps({"mirror:tiny": {"folder": str(here / "mirror/models/tiny")}}),
        )
        marked_contracts.save_encoder(here / "mirror/models/tiny")
        (here / "mirror/checkpoints").mkdir()
        (here / "mirror/checkpoints/theirs.zip").touch()
        marked_contracts.data_set(DATA, SPLITS, seed=5)
        (DATA / "census.json").write_text(json.dumps({"data": {}}))
        job = Runner(laid_out(here / "mirror"))
        features(job, "ours", [])
        searched = [
            search(job, run)
            for run in job.specs
            if run.experiment == "search" and run.model == "ours"
        ]
        choose(job, searched)
        ours = train(job, OURS)
        score(job, read_contracts(job, OURS, ours))
        with zipfile.ZipFile(here / "mirror/checkpoints/theirs.zip", "w") as archive:
            for path in sorted((ours / "weights").iterdir()):
                archive.write(path, f"theirs/{path.name}")
        provenance = {
            "source": "checkpoints",
            "file": "theirs.zip",
            "variant": "unverified",
            "comparable": False,
            "digest": "sha256:0",
        }
        record = here / "mirror/checkpoints/theirs.zip.json"
        record.write_text(json.dumps(provenance))
        theirs = job.run(
            "release",
            Run("any", "release", *THEIRS),
            {"archive": [str(here / "mirror/checkpoints/theirs.zip")]},
            "weights",
        )
        features(job, "theirs", [str(theirs / "weights")])
        read_contracts(job, THEIRS, theirs)
        yield job


def features(job, model, given):
    spec = next(
        spec
        for run, spec in job.specs.items()
        if run.model == model and "step" in spec.settings
    )
    files = {
        "data": tables("contracts", "questions", "training_examples"),
        "weights": given,
    }
    parts = {part: windows(model, part) for part in ("train", "validation", "test")}
    names = CuttingSettings.model_fields.keys() & spec.settings.keys()
    settings = {name: spec.settings[name] for name in names}
    job("windows", files, parts, settings=settings, task={"shards": 2})


def search(job, run):
    files = {
        "census": [str(DATA / "census.json")],
        "data": tables("contracts", "questions"),
        "train": windows("ours", "train"),
        "read": windows("ours", "validation"),
    }
    return job.run("search", run, files, "predictions.parquet")


def choose(job, searched):
    run = Run("any", "choice", *OURS)
    paths = [str(folder / "predictions.parquet") for folder in searched]
    data = tables("contracts", "questions", "answers")
    return job.run("choose", run, {"data": data, "predictions": paths})


def train(job, model):
    choice = Path("results", Run("any", "choice", *model).folder) / "run.json"
    files = {
        "census": [str(DATA / "census.json")],
        "data": tables("contracts", "questions"),
        "train": windows(model[0], "train"),
        "choice": [str(choice)],
    }
    return job.run("train", Run("any", "train", *model), files, "weights")


def read_contracts(job, model, source):
    files = {
        "data": tables("contracts", "questions"),
        "train": windows(model[0], "train"),
        "read": windows(model[0], "test"),
        "weights": [str(source / "weights")],
        "weight_records": [str(source / "run.json")],
    }
    run = Run("any", "read", *model)
    return job.run("predict", run, files, "predictions.parquet")


def score(job, folder):
    files = {
        "predictions": [str(folder / "predictions.parquet")],
        "data": tables("questions", "answers"),
    }
    scored = {name: [str(folder / f"{name}.parquet")] for name in ("scores", "units")}
    task = {"evaluator": "spans", "relaxed": None, "low_thresholds": LOW_THRESHOLDS}
    job("score", files, scored, settings={}, task=task)
    return folder


def folder(experiment, model=OURS):
    return Path("results", Run("any", experiment, *model).folder)


def asked(predictions):
    return {row["question_id"].partition("-")[2] for row in read(predictions)}


def test_a_search_reads_the_held_out_contracts_and_deletes_its_weights(done):
    held = held_out_contracts(contract_splits(DATA / "contracts.parquet"), 0.1)
    searched = [
        run for run in done.specs if run.experiment == "search" and run.model == "ours"
    ]
    assert len(searched) == 3 and len(held) == 5
    for run in searched[:2]:
        made = Path("results", run.folder)
        assert sorted(path.name for path in made.glob("[!.]*")) == [
            "predictions.parquet",
            "run.json",
        ]
        assert asked(made / "predictions.parquet") == held
        rate = done.specs[run].settings["learning_rate"]
        assert record(made)["trial"] == {"learning_rate": rate, "epochs": 4}
        assert record(made)["windows_read"] < record(made)["windows"]
    assert not list(Path("work").rglob("checkpoint-*"))


def test_a_search_whose_training_diverges_has_no_predictions_and_says_why(done):
    why = "training: the training diverged: the losses of upd"
    diverged = {}
    for run in done.specs:
        if run.experiment == "search" and run.model == "ours":
            made = Path("results", run.folder)
            rate = done.specs[run].settings["learning_rate"]
            reason = record(made).get("diverged", "")
            diverged[rate] = (bool(asked(made / "predictions.parquet")), reason[:50])
    assert diverged == {1e-9: (True, ""), 1e-2: (True, ""), DIVERGING: (False, why)}
    assert record(folder("choice"))["validation_aupr"][2] is None
    assert not list(Path("work").rglob("checkpoint-*"))


def test_the_trial_with_the_best_validation_score_is_trained(done):
    chosen, trained = record(folder("choice")), record(folder("train"))
    assert chosen["choice"] == trained["choice"] == {"learning_rate": 1e-2, "epochs": 4}
    assert chosen["validation_aupr"][0] < chosen["validation_aupr"][1]
    assert trained["trial"] == trained["choice"]
    assert trained["choice"].items() <= trained["settings"].items()
    # The final training uses all training contracts, including the held-out ones.
    run = next(
        run for run in done.specs if run.experiment == "search" and run.model == "ours"
    )
    assert trained["updates"] > record(Path("results", run.folder))["updates"]


def test_the_work_folder_keeps_trained_weights_so_training_is_not_repeated(done):
    """The weights are kept in the work folder as hard links."""
    weights = folder("train") / "weights/model.safetensors"
    kept = list(Path("work").rglob("finished/**/model.safetensors"))
    assert weights.stat().st_ino in {path.stat().st_ino for path in kept}


def test_the_test_contracts_are_read_with_the_trained_weights(done):
    made = folder("read")
    assert asked(made / "predictions.parquet") == {
        name for name, split in SPLITS.items() if split == "test"
    }
    assert record(made)["trained"] == record(folder("train"))
    assert sorted(path.name for path in (made / "reading").glob("[!.]*")) == [
        "reading.json",
        "window_ranking.npz",
    ]
    scores = {
        (row["metric"], row["group"]): row["value"]
        for row in read(made / "scores.parquet")
    }
    assert scores["AUPR", "all"] > 0.5
    assert {group for _, group in scores} >= {
        "category: term",
        "category: party",
        "threshold: 0.001",
    }


def test_released_weights_are_unpacked_and_used_without_training(done):
    unpacked, made = record(folder("release", THEIRS)), record(folder("read", THEIRS))
    assert "model.safetensors" in unpacked["files"]
    assert "trained" not in made
    ours, theirs = (
        list(read(folder("read", model) / "predictions.parquet"))
        for model in (OURS, THEIRS)
    )
    assert ours == theirs
