"""The configuration: defaults, accepted forms of values, and error messages."""

from pathlib import Path

import pytest
import yaml

from lextables.pipeline.config import Config, load
from lextables.pipeline.errors import BadInput

ROOT = Path(__file__).parents[2]
KNOWN = ["acord", "cuad"]


def test_config_yaml_equals_the_defaults():
    written = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    assert set(written) == set(Config.model_fields)
    loaded = load(written, sorted(p.stem for p in (ROOT / "resources/papers").glob("*.yaml")), ROOT)
    assert loaded == Config(papers=loaded.papers)
    assert loaded.mirrors(ROOT) == [ROOT / "resources/sample"]


def test_a_single_value_is_accepted_as_a_list(tmp_path):
    config = load({"papers": "acord", "seeds": 3, "data": "release", "mirror": str(tmp_path)}, KNOWN, ROOT)
    assert (config.papers, config.seeds, config.mirrors(ROOT)) == (("acord",), (3,), [tmp_path])
    assert config.results == "results"


def fault(values):
    """The error message for a configuration, without its prefix."""
    with pytest.raises(BadInput, match="^config: ") as error:
        load({"papers": ["acord"]} | values, KNOWN, ROOT)
    assert str(error.value).count(". ") == 0  # one sentence
    return str(error.value).removeprefix("config: ")


@pytest.mark.parametrize(
    ("values", "shown", "allowed"),
    [
        ({"data": "real"}, "data = 'real'", "'sample' or 'release')"),
        ({"caselaw": "US 436"}, "caselaw.0 = 'US 436'", "a reporter, optionally with a volume"),
        ({"edgar_quarters": ["2020Q1"]}, "edgar_quarters.0 = '2020Q1'", "a year"),
        ({"extra_models": {"name": "a/b"}}, "extra_models.0.name = 'a/b'", "1 to 60 characters"),
        ({"extra_models": "MiniLM"}, "extra_models.0 = 'MiniLM'", "keys with values"),
        ({"papers": []}, "papers = []", "a list of at least one item ("),
        ({"mirror": True}, "mirror = True", "a list (each: text))"),
        ({"parser": ""}, "parser = ''", "text, not empty)"),
        ({"traffic_ranks": "{land}.csv"}, "traffic_ranks = '{land}.csv'", "a path without braces"),
        ({"contract": 2015}, "contract = 2015", "text; put quotes around what looks like a number, "),
        ({"contract": {"NDA": "final.txt"}}, "contract = {'NDA': 'final.txt'}", "text; put quotes "),
        ({"contract": ["a.txt", "b.txt"]}, "contract = ['a.txt', 'b.txt']", "text; "),
        ({"volumes_a_job": 0}, "volumes_a_job = 0", "a whole number, 1 or more"),
        ({"seeds": [1.5]}, "seeds.0 = 1.5", "a whole number, 0 or more, at most 4294967295)"),
        ({"seeds": [2**32]}, "seeds.0 = 4294967296", "a whole number, 0 or more, at most 4294967295)"),
        ({"llm": "localhost"}, "llm = 'localhost'", "empty, or a URL"),
        ({"llm": "https://me:secret@api"}, "llm = 'https://(login)@api'", "empty, or a URL"),
        ({"llm_budget": -1}, "llm_budget = -1", "dollars, 0 or more)"),
        ({"llm_tokens": 0.5}, "llm_tokens = 0.5", "a whole number, 0 or more"),
        ({"llm_concurrency": 0}, "llm_concurrency = 0", "a whole number, 1 or more"),
    ],
)
def test_the_error_for_an_invalid_value_lists_the_allowed_values(values, shown, allowed):
    assert fault(values).startswith(f"{shown} is not allowed (allowed: {allowed}")


ENCODER, SERVED = ({"name": "X", "kind": kind, "model": "m"} for kind in ("encoder", "language-model-api"))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"modells": "sample"}, "modells is not a known key (nearest: models); correct it"),
        ({"papers": ["acord", "maude"]}, "papers = 'maude' is not a paper of the registry; choose from"),
        ({"extra_models": ENCODER | {"endpoint": "chat"}}, "extra_models.0: endpoint is for language models"),
        ({"extra_models": SERVED}, "extra_models: X is a language-model-api, but llm"),
        ({"extra_models": [{"name": "X"}]}, "extra_models.0.kind is missing"),
        ({"extra_models": [ENCODER] * 2}, "the names 'X' and 'X' read"),
        ({"mirror": "no/such/folder"}, "mirror = "),
        ({"mirror": "a/" + "ü" * 128}, "mirror.0: no file can have this name; a name has at most 255 bytes"),
        ({"traffic_ranks": "a\0b"}, "traffic_ranks: no file can have this name"),
        (
            {"extra_predictions": {"name": "Y", "paper": "acord", "file": ["a" * 300]}},
            "extra_predictions.0.file.0: no file can have this name",
        ),
        ({"traffic_ranks": "no.csv"}, "traffic_ranks = 'no.csv' is not a file; name an existing file"),
    ],
)
def test_other_errors_name_the_key(values, sentence):
    assert fault(values).startswith(sentence)


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
def test_the_heading_of_a_plan_lists_the_resolved_values_of_keys(values, gpu, line):
    config = load({"papers": ["cuad", "acord"]} | values, KNOWN, ROOT)
    assert config.heading(gpu) == f"{line}papers=acord,cuad"


def test_the_home_folder_is_expanded_in_every_path(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "ranks.csv").touch()
    values = {
        "mirror": ["~", str(tmp_path)],
        "contract": "~/lease.txt",
        "traffic_ranks": "~/ranks.csv",
        "parser": "~/parser",
        "bulk_export": "~/bulk",
        "extra_models": ENCODER | {"model": "~/model"},
        "extra_predictions": {"name": "Y", "paper": "acord", "file": ["~/a.run", "~/b.run"]},
    }
    config = load({"papers": "acord"} | values, KNOWN, ROOT)
    assert config.mirror == (str(tmp_path), str(tmp_path))
    names = ("contract", "traffic_ranks", "parser", "bulk_export")
    paths = [getattr(config, name) for name in names]
    paths += [config.extra_models[0].model, *config.extra_predictions[0].file]
    ends = ("lease.txt", "ranks.csv", "parser", "bulk", "model", "a.run", "b.run")
    assert paths == [str(tmp_path / end) for end in ends]
    # Keys that name a file or a folder have "~" in no other place.
    for path in ("~$lease.docx", "~no-such-user/lease.txt", "a/~/b.txt", "lease.txt~"):
        assert load({"papers": "acord", "contract": path}, KNOWN, ROOT).contract == path


@pytest.mark.parametrize("path", ["Lease #4.txt", "NDA: final.txt", "2015", "{v2}.txt", "two\nlines.txt"])
def test_a_path_may_be_the_only_item_of_a_list(path):
    assert load({"papers": "acord", "contract": [path]}, KNOWN, ROOT).contract == path
