"""Pages and exports show the settings that change a result, and nothing of a machine or
a person.
"""

import json
from pathlib import Path

import pytest

from helpers.site_results import material, write_results
from lextables.pipeline.config import (
    LOCAL,
    PLACE,
    Config,
    ExtraModel,
    ExtraPredictions,
    published,
)
from lextables.pipeline.files import write_result
from lextables.report import commands, site, summary

MARK = "ZQXJ"  # in planted texts; planted numbers are 7919
LOCAL_VALUES = {
    "mirror": [f"/home/{MARK}/mirror", f"{MARK}"],
    "volumes_a_job": 7919,
    "edgar_contact": f"Ann {MARK} ann@{MARK}.org",
    "edgar_base": f"https://{MARK}.example.org/",
    "download_minimum_rate": 7919,
    "contract": f"/home/{MARK}/contract.pdf",
    "review_model": MARK,
    "push": f"{MARK}/{MARK}",
    "device": "cuda",
    "preload": "yes",
    "gpu_resources": {"slurm_account": MARK, "constraint": MARK},
    "max_runtime": 7919,
    "tflops": 7919.25,
    "submit_small_jobs": True,
    "llm": f"https://user:{MARK}@{MARK}.example.org/v1",
    "llm_budget": 7919.5,
    "llm_tokens": 7919,
    "llm_concurrency": 7919,
    "llm_requests_a_minute": 7919,
}
PLACES = {
    "parser": f"/home/{MARK}/parser",
    "bulk_export": f"~/{MARK}",
    "traffic_ranks": f"../{MARK}/ranks.csv",
    "extra_models": [
        {
            "name": "Mine",
            "kind": "encoder",
            "model": f"/home/{MARK}/model",
            "trained_on": None,
        },
        {"name": "Ours", "kind": "encoder", "model": f".\\{MARK}"},
    ],
    "extra_predictions": [
        {"name": "Theirs", "paper": "acord", "file": [f"{MARK}.txt", f"/{MARK}/b.run"]}
    ],
}
PLANTED = (
    {"data": "release", "models": "available", "papers": ["acord"]}
    | LOCAL_VALUES
    | PLACES
)


def fields_marked(marker):
    """Return the names of the fields that have ``marker``."""
    names = set()
    for model in (Config, ExtraModel, ExtraPredictions):
        fields = model.model_fields.items()
        names.update(name for name, field in fields if marker in field.metadata)
    return names


def test_every_marked_key_has_a_planted_value():
    assert fields_marked(LOCAL) == LOCAL_VALUES.keys()
    assert fields_marked(PLACE) == {
        "parser",
        "bulk_export",
        "traffic_ranks",
        "model",
        "file",
    }


def test_every_key_that_can_hold_a_path_an_address_or_a_person_is_marked():
    # The other keys have words of a fixed list, numbers, or names of rows, models,
    # papers and volumes.
    free_text = {
        name for name, field in Config.model_fields.items() if field.annotation is str
    }
    assert free_text - fields_marked(LOCAL) - fields_marked(PLACE) == {"encoder"}


def test_only_settings_that_change_a_result_are_published():
    shown = published(PLANTED | {"unknown": MARK})
    assert MARK not in json.dumps(shown) and "7919" not in json.dumps(shown)
    assert shown.keys() == {"data", "models", "papers", *PLACES}
    assert [model["name"] for model in shown["extra_models"]] == ["Mine", "Ours"]
    assert shown["extra_predictions"][0]["file"] == ["<path>", "<path>"]


@pytest.mark.parametrize(
    "value", ["auto", "benepar", "sentence-transformers/all-MiniLM-L6-v2", "a b"]
)
def test_words_and_ids_of_the_hub_are_published(value):
    assert published({"parser": value}) == {"parser": value}


def test_an_existing_folder_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine/model").mkdir(parents=True)
    assert published({"parser": "mine/model"}) == {"parser": "<path>"}
    assert published({"parser": "theirs/model"}) == {"parser": "theirs/model"}


def test_no_file_of_the_report_has_a_local_setting(tmp_path):
    results = write_results(tmp_path)
    for path in results.rglob("run.json"):
        record = json.loads(path.read_text())
        for part in (record, record.get("trained", record)):
            part["settings"]["api"] = f"http://{MARK}:8000/v1"
        write_result(path, json.dumps(record))
    (results / "config.yaml").write_text(f"edgar_contact: {MARK}")
    shown = material(results, PLANTED)
    texts = site.files(shown)
    results_page = summary.Material(shown.config, shown.parts, shown.runs, "2026-01-02")
    texts |= {
        "page": summary.page(results_page),
        "summary": summary.summary(results_page),
    }
    assert any("extra_models=" in text for text in texts.values())
    for path, text in texts.items():
        assert MARK not in text and "7919" not in text, path
        assert not any(
            f'/{name}"' in text for name in ("config.yaml", "run.json", "log.txt")
        ), path


def test_the_first_page_lists_the_settings(tmp_path):
    text = site.files(material(write_results(tmp_path), PLANTED))["index.html"]
    assert "data=release, models=available, parser=&lt;path&gt;" in text
    assert "Settings" in text
    assert commands.changed_keys({"data": "sample", "papers": ["acord"]}) == []
