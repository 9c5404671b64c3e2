"""The baselines of the task of answers on the privacy policy corpus's real codings."""

from pathlib import Path

import pytest

from lextables.papers.packages import load
from lextables.papers.privacy.schema import TABLES
from lextables.pipeline.dataset import write_all
from lextables.tasks.answers import learning, prior
from lextables.tasks.answers.collection import ANSWERED_FROM, prediction_rows
from lextables.tasks.answers.collection import load as collect
from lextables.tasks.answers.scoring import WITH_TEXT, of_answers
from lextables.tasks.answers.space import of_words
from registered import read as read_registered

ROOT = Path(__file__).parents[2]
PAPER = load(ROOT / "resources/papers/privacy.yaml")
TASK = PAPER.tasks["privacy"]


@pytest.fixture(scope="module")
def data(mirror, tmp_path_factory):
    folder = tmp_path_factory.mktemp("privacy")
    policies = {"policies": [mirror / "privacy/privacy_policies.standin.ndjson"]}
    rows = read_registered("privacy", "privacy", mirror, policies, {"policies": "stand_in"})
    write_all(TABLES["privacy"], rows.of, folder)
    names = TASK.names.model_dump()
    return collect([folder / f"{names[table]}.parquet" for table in ANSWERED_FROM], names)


def scored(found, data):
    rows, _ = of_answers(prediction_rows(found), data, TASK.smoothing)
    return {(row["metric"], row["group"]): (row["value"], row["n"]) for row in rows}


def test_the_other_sites_answers_on_all_codings(data):
    found = scored(prior.prior(data.shares, pseudo=TASK.pseudo, smoothing=TASK.smoothing), data)
    assert found["cross entropy", "all"] == (pytest.approx(0.4978, abs=5e-5), 9369)
    assert found["cross entropy, low", "all"][1] == 149
    assert found["cross entropy", WITH_TEXT] == (pytest.approx(0.5033, abs=5e-5), 1234)
    assert found["excess", "all"][0] == pytest.approx(0.2406, abs=5e-5)
    assert found["accuracy", "all"][0] == pytest.approx(0.7532, abs=5e-5)


def test_guessing_costs_what_the_number_of_options_says(data):
    found = scored(prior.random(data.shares), data)
    assert found["cross entropy", "all"][0] == pytest.approx(0.6396, abs=5e-5)
    assert found["cross entropy", "question: COVID-1"][0] == pytest.approx(0.6931, abs=5e-5)


def test_on_other_snapshots_words_tell_no_more_than_the_other_sites(data):
    settings = TASK.learning.model_dump() | {
        name: getattr(TASK, name) for name in ("pseudo", "smoothing", "folds")
    }
    found, _ = learning.answers(of_words(data.paragraphs, data.questions), data.shares, settings, threads=2)
    of_words_alone = scored(found, data)
    assert of_words_alone["cross entropy", "all"] == (pytest.approx(0.503, abs=0.002), 1234)
