"""The configuration: defaults, shapes, and a sentence for each kind of fault."""

from pathlib import Path

import pytest
import yaml

from lextables.pipeline.config import PATTERNS, Config, ExtraModel, load
from lextables.pipeline.errors import BadInput

ROOT = Path(__file__).parents[2]
KNOWN = ["acord", "cuad"]


def test_config_yaml_is_the_defaults():
    written = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    assert set(written) == set(Config.model_fields)
    loaded = load(written, sorted(p.stem for p in (ROOT / "resources/papers").glob("*.yaml")), ROOT)
    assert loaded == Config(papers=loaded.papers)
    assert loaded.mirrors(ROOT) == [ROOT / "resources/sample"]


def test_one_value_stands_for_a_list(tmp_path):
    config = load({"papers": "acord", "seeds": 3, "data": "release", "mirror": str(tmp_path)}, KNOWN, ROOT)
    assert (config.papers, config.seeds, config.mirrors(ROOT)) == (("acord",), (3,), [tmp_path])
    assert config.results == "results"


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"data": "real"}, "config: data = 'real' is not allowed (allowed: 'sample' or 'release')"),
        ({"modells": "sample"}, "config: modells is not a known key (nearest: models); mend it"),
        (
            {"papers": ["acord", "maude"]},
            "config: papers = 'maude' is not a paper of the registry; choose from",
        ),
        (
            {"caselaw": "US 436"},
            "config: caselaw.0 = 'US 436' is not allowed (allowed: a reporter alone or with a volume",
        ),
        (
            {"edgar_quarters": ["2020Q1"]},
            "config: edgar_quarters.0 = '2020Q1' is not allowed (allowed: a year",
        ),
        (
            {"extra_models": [{"name": "a/b", "kind": "encoder", "model": "m"}]},
            "config: extra_models.0.name = 'a/b' is not allowed (allowed: 1 to 60 characters",
        ),
        ({"papers": []}, "config: papers = [] is not allowed (allowed: one at least)"),
        ({"mirror": True}, "config: mirror = True is not allowed (allowed: one value or a list)"),
        ({"parser": ""}, "config: parser = '' is not allowed (allowed: one character at least)"),
        ({"volumes_a_job": 0}, "config: volumes_a_job = 0 is not allowed (allowed: a whole number above 0)"),
        (
            {"seeds": [1.5]},
            "config: seeds.0 = 1.5 is not allowed (allowed: whole numbers, 0 to 4294967295,",
        ),
        (
            {"seeds": [2**32]},
            "config: seeds.0 = 4294967296 is not allowed (allowed: whole numbers, 0 to 4294967295,",
        ),
        ({"extra_models": "MiniLM"}, "config: extra_models.0 = 'MiniLM' is not allowed (allowed: keys with"),
        ({"llm": "localhost"}, "config: llm = 'localhost' is not allowed"),
        ({"llm": "https://me:secret@api"}, "config: llm = 'https://(login)@api' is not allowed"),
        ({"llm_budget": -1}, "config: llm_budget = -1 is not allowed (allowed: dollars, 0 or more)"),
        ({"llm_tokens": 0.5}, "config: llm_tokens = 0.5 is not allowed (allowed: a whole number, 0 or more)"),
        (
            {"llm_concurrency": 0},
            "config: llm_concurrency = 0 is not allowed (allowed: a whole number above 0",
        ),
        (
            {"extra_models": [{"name": "X", "kind": "encoder", "model": "m", "endpoint": "chat"}]},
            "config: extra_models.0: endpoint is for language models, and the kind is encoder;",
        ),
        (
            {"extra_models": [{"name": "X", "kind": "language-model-api", "model": "m"}]},
            "config: extra_models and extra_predictions: X is a language-model-api, and llm names no server",
        ),
        ({"mirror": "no/such/folder"}, "config: mirror = "),
        ({"extra_models": [{"name": "X"}]}, "config: extra_models.0.kind is missing"),
        (
            {"traffic_ranks": "no.csv"},
            "config: traffic_ranks = 'no.csv' is not a file; name an existing file",
        ),
        ({"contract": "lease of {land}.txt"}, "config: contract = 'lease of {land}.txt' is not allowed"),
        (
            {"extra_models": [{"name": "X", "kind": "bi-encoder", "model": "m"}] * 2},
            "config: extra_models and extra_predictions: the names 'X' and 'X' read alike",
        ),
    ],
)
def test_faults_name_key_value_and_what_is_allowed(values, sentence):
    with pytest.raises(BadInput) as error:
        load({"papers": ["acord"]} | values, KNOWN, ROOT)
    assert str(error.value).startswith(sentence)
    assert str(error.value).count(". ") == 0  # one sentence


@pytest.mark.parametrize(
    ("values", "gpu", "line"),
    [
        ({}, False, "data=sample, models=sample, grid=sample (sample data), device=cpu (no GPU found), "),
        (
            {"data": "release", "models": "available"},
            True,
            "data=release, models=available, grid=paper (a GPU), device=cuda (a GPU), ",
        ),
        (
            {"data": "release", "device": "cpu"},
            False,
            "data=release, models=sample, grid=small (device=cpu), device=cpu, ",
        ),
        (
            {"data": "release", "grid": "paper"},
            False,
            "data=release, models=sample, grid=paper, device=cpu (no GPU found), ",
        ),
    ],
)
def test_a_plan_is_headed_by_what_its_keys_came_to(values, gpu, line):
    config = load({"papers": ["cuad", "acord"]} | values, KNOWN, ROOT)
    assert config.heading(gpu) == f"{line}papers=acord,cuad"


def test_no_key_answers_with_a_regular_expression():
    schemas = [model.model_json_schema()["properties"] for model in (Config, ExtraModel)]
    with_pattern = {key for schema in schemas for key, entry in schema.items() if "pattern" in str(entry)}
    assert with_pattern == set(PATTERNS)
