"""Which model reads a user's contract: the best that is there, else the first that can be made."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lextables.config import load as load_config
from lextables.cuad.plan import Cuad, plan
from lextables.cuad.reviewer import choose, finished
from lextables.errors import BadInput
from lextables.models.resolve import load_models
from lextables.papers import load
from lextables.run import Run

ROOT = Path(__file__).parents[2]
PAPER = load(ROOT / "resources/papers/cuad.yaml", Cuad)
MODELS = load_models(ROOT / "resources/models.yaml")


def chosen(results, **values):
    config = load_config({"papers": "cuad"} | values, ["cuad"], ROOT)
    return choose(config, PAPER, plan(config, PAPER, MODELS, ROOT, gpu=False), results)


def stand(results: Path, experiment: str, model: str, condition: str, aupr: float, without: str = "") -> Run:
    """Leave a finished run in ``results``, without one of its files."""
    run = Run("cuad", experiment, model, condition)
    folder = results / run.folder
    (folder / "model").mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"settings": {"model": model}}))
    rows = [{"metric": metric, "group": "all", "value": aupr} for metric in ("AUPR", "AUPR, low")]
    pq.write_table(pa.Table.from_pylist(rows), folder / "scores.parquet")
    if without:
        (folder / without).rmdir() if without == "model" else (folder / without).unlink()
    return run


def test_with_nothing_there_it_is_the_first_that_has_a_run_or_the_one_that_is_named(tmp_path):
    assert chosen(tmp_path).run.model == "minilm"
    assert chosen(tmp_path).planned
    assert chosen(tmp_path, data="release", models="paper").run.model == "deberta-xlarge"
    assert chosen(tmp_path, review_model="minilm-contracts").run.model == "minilm-contracts"
    with pytest.raises(BadInput, match="review_model = 'bert-base' has no run .* minilm, minilm-contracts"):
        chosen(tmp_path, review_model="bert-base")


def test_what_is_there_is_read_before_anything_is_trained_and_the_best_of_it(tmp_path):
    stand(tmp_path, "finetune", "roberta-base", "paper-p100", 0.42)
    best = stand(tmp_path, "released", "roberta-large", "as-released", 0.48)
    stand(tmp_path, "finetune", "bert-base", "paper-p100", 0.31)
    found = chosen(tmp_path, data="release", models="sample")
    assert (found.run, found.planned) == (best, False)
    assert len(found.record) == 16
    (tmp_path / best.folder / "run.json").write_text("{}")
    assert chosen(tmp_path, data="release", models="sample").record != found.record
    named = chosen(tmp_path, data="release", models="sample", review_model="RoBERTa base")
    assert named.run.model == "roberta-base"


def test_a_run_of_this_configuration_stays_one_of_the_rules(tmp_path):
    made = stand(tmp_path, "finetune", "minilm", "sample-p100", 0.1)
    found = chosen(tmp_path)
    assert (found.run, found.planned, found.record) == (made, True, "")


@pytest.mark.parametrize(
    ("experiment", "condition", "without"),
    [
        ("finetune", "paper-p100", "model"),
        ("finetune", "paper-p100", "scores.parquet"),
        ("finetune", "paper-p100", "run.json"),
        ("finetune", "paper-p10", ""),
        ("search", "paper-p100", ""),
        ("joined", "paper-p100", ""),
    ],
)
def test_what_is_not_whole_does_not_count(tmp_path, experiment, condition, without):
    stand(tmp_path, experiment, "roberta-base", condition, 0.9, without)
    assert finished(tmp_path) == {}
    assert chosen(tmp_path).run.model == "minilm"
