"""The configuration: defaults, accepted forms of values, and error messages."""

import math
import os
import re
from datetime import date
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from lextables import ROOT
from lextables.pipeline import config as config_module
from lextables.pipeline import removed
from lextables.pipeline.config import Config, ExtraModel, ExtraPredictions, load
from lextables.pipeline.errors import BadInput

KNOWN = ["acord", "cuad"]


def test_config_yaml_equals_the_defaults():
    written = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    assert set(written) == set(Config.model_fields)
    loaded = load(
        written,
        sorted(p.stem for p in (ROOT / "resources/papers").glob("*.yaml")),
        ROOT,
    )
    assert loaded == Config(papers=loaded.papers)
    assert loaded.mirrors(ROOT) == [ROOT / "resources/sample"]


def test_a_single_value_is_accepted_as_a_list(tmp_path):
    config = load(
        {"papers": "acord", "seeds": 3, "data": "release", "mirror": str(tmp_path)},
        KNOWN,
        ROOT,
    )
    assert (config.papers, config.seeds, config.mirrors(ROOT)) == (
        ("acord",),
        (3,),
        [tmp_path],
    )
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
        (
            {"caselaw": "US 436"},
            "caselaw.0 = 'US 436'",
            "a reporter, optionally with a volume",
        ),
        ({"edgar_quarters": ["2020Q1"]}, "edgar_quarters.0 = '2020Q1'", "a year"),
        (
            {"extra_models": {"name": "a/b"}},
            "extra_models.0.name = 'a/b'",
            "1 to 60 characters",
        ),
        ({"extra_models": "MiniLM"}, "extra_models.0 = 'MiniLM'", "keys with values"),
        ({"papers": []}, "papers = []", "a list of at least one item ("),
        ({"mirror": True}, "mirror = True", "a list (each: text))"),
        ({"parser": ""}, "parser = ''", "text, not empty)"),
        (
            {"traffic_ranks": "{land}.csv"},
            "traffic_ranks = '{land}.csv'",
            "a path without braces",
        ),
        (
            {"contract": 2015},
            "contract = 2015",
            "text; put quotes around what looks like a number, ",
        ),
        (
            {"contract": {"NDA": "final.txt"}},
            "contract = {'NDA': 'final.txt'}",
            "text; put quotes ",
        ),
        ({"contract": ["a.txt", "b.txt"]}, "contract = ['a.txt', 'b.txt']", "text; "),
        ({"volumes_a_job": 0}, "volumes_a_job = 0", "a whole number, 1 or more"),
        (
            {"volumes_a_job": "all"},
            "volumes_a_job = 'all'",
            "a whole number, 1 or more",
        ),
        ({"max_runtime": -1}, "max_runtime = -1", "a whole number, 0 or more"),
        (
            {"max_runtime": "24:00:00"},
            "max_runtime = '24:00:00'",
            "a whole number, 0 or more",
        ),
        ({"max_runtime": None}, "max_runtime = nothing", "a whole number, 0 or more"),
        ({"submit_small_jobs": "some"}, "submit_small_jobs = 'some'", "true or false)"),
        (
            {"seeds": [1.5]},
            "seeds.0 = 1.5",
            "a whole number, 0 or more, at most 4294967295)",
        ),
        (
            {"seeds": [2**32]},
            "seeds.0 = 4294967296",
            "a whole number, 0 or more, at most 4294967295)",
        ),
        (
            {"test_share": 0},
            "test_share = 0",
            "a number, above 0, at most 0.5 or 'auto')",
        ),
        (
            {"edgar_forms": []},
            "edgar_forms = []",
            "a list of at least one item (each: text in one line",
        ),
        (
            {"edgar_exhibits": []},
            "edgar_exhibits = []",
            "a list of at least one item (each: a type of exhibits, such as EX-10",
        ),
        ({"gpu_resources": {"gpus": 1}}, "gpu_resources.gpus", "'constraint' or "),
        ({"llm": "localhost"}, "llm = 'localhost'", "empty, or a URL"),
        (
            {"llm": "https://me:secret@api"},
            "llm = 'https://(login)@api'",
            "empty, or a URL",
        ),
        ({"llm_budget": -1}, "llm_budget = -1", "dollars, 0 or more)"),
        ({"tflops": -1}, "tflops = -1", "TFLOP/s, 0 or more)"),
        ({"llm_tokens": 0.5}, "llm_tokens = 0.5", "a whole number, 0 or more"),
        ({"llm_concurrency": 0}, "llm_concurrency = 0", "a whole number, 1 or more"),
    ],
)
def test_the_error_for_an_invalid_value_lists_the_allowed_values(
    values, shown, allowed
):
    sentence = fault(values).replace("is not an allowed name", "is not allowed")
    assert sentence.startswith(f"{shown} is not allowed (allowed: {allowed}")


ENCODER, SERVED = (
    {"name": "X", "kind": kind, "model": "m"}
    for kind in ("encoder", "language-model-api")
)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"modells": "sample"},
            "modells is not a known key (nearest: models); correct it",
        ),
        (
            {"papers": ["acord", "maude"]},
            "papers = 'maude' is not a paper of the registry; choose from",
        ),
        (
            {"extra_models": ENCODER | {"endpoint": "chat"}},
            "extra_models.0: endpoint is for language models",
        ),
        ({"extra_models": SERVED}, "extra_models: X is a language-model-api, but llm"),
        ({"extra_models": [{"name": "X"}]}, "extra_models.0.kind is missing"),
        ({"extra_models": [ENCODER] * 2}, "the names 'X' and 'X' read"),
        ({"mirror": "no/such/folder"}, "mirror = "),
        (
            {"mirror": "a/" + "ü" * 128},
            "mirror.0: no file can have this name; a name has at most 255 bytes",
        ),
        ({"traffic_ranks": "a\0b"}, "traffic_ranks: no file can have this name"),
        (
            {"extra_predictions": {"name": "Y", "paper": "acord", "file": ["a" * 300]}},
            "extra_predictions.0.file.0: no file can have this name",
        ),
        (
            {"traffic_ranks": "no.csv"},
            "traffic_ranks = 'no.csv' is not a file; name an existing file",
        ),
    ],
)
def test_other_errors_name_the_key(values, sentence):
    assert fault(values).startswith(sentence)


@pytest.mark.parametrize(
    "name", yaml.safe_load(removed.NAMES.read_text(encoding="utf-8"))
)
def test_a_removed_key_or_paper_is_refused_with_one_sentence(name):
    sentence = re.compile(f"{name} was removed in 1.0 \\(.+\\); see CHANGELOG.md\\.")
    for place, values in (
        ("config", {name: 1}),
        ("config key papers", {"papers": [name, "acord"]}),
    ):
        with pytest.raises(BadInput) as error:
            load({"papers": "acord"} | values, KNOWN, ROOT)
        assert sentence.fullmatch(str(error.value).removeprefix(f"{place}: "))
    assert name not in Config.model_fields
    assert not (ROOT / f"resources/papers/{name}.yaml").exists()


@pytest.mark.parametrize(
    ("values", "gpu", "line"),
    [
        (
            {},
            False,
            "data=sample, models=sample, grid=sample (sample data), device=cpu (no GPU found), ",
        ),
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


ADDRESSES = [
    "http://[::1/",
    "http://[::1]x/",
    "http://h:99999/",
    "http://h:x/",
    "http://a..b/",
    "http://%zz/",
    f"http://{'a' * 300}/",
    f"http://{'a' * 64}.org/",
    "http:///",
    "http://a b/",
    "file:///x/",
    "ftp://h/",
]


@pytest.mark.parametrize("key", ["llm", "edgar_base"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_to_which_no_request_can_be_sent_are_refused(key, address):
    assert re.match(
        rf"{key}(:| =) .+( is no address of a server| is not allowed)",
        fault({key: address}),
    )


@pytest.mark.parametrize(
    "host",
    ["[::1]:8000", "127.0.0.1", "my_server:80", "xn--bcher-kva.example", "bücher.de"],
)
def test_addresses_of_servers_are_allowed(host):
    address = f"http://{host}/v1/"
    config = load(
        {"papers": "acord", "llm": address, "edgar_base": address}, KNOWN, ROOT
    )
    assert (config.llm, config.edgar_base) == (address, address)


HOSTILE = [
    None,
    "",
    -1,
    0,
    0.51,
    10**30,
    10**5000,
    -(10**5000),
    "9" * 5000,
    math.nan,
    math.inf,
    True,
    False,
    [],
    {},
    [[["a"]]],
    [{"a": 1}],
    {"a": None},
    {1: 2},
    "a\nb",
    "a\0b",
    "a\x1b[31mb",
    "a\udcff",
    "{}",
    "{a",
    "%s",
    "a" * 300,
    "x/" * 3000,
    "a" * 10**6,
    "~no-such-user/x",
    "/dev/full",
    date(2020, 1, 1),
    b"\xff",
    object(),
    "http://[::1",
    "http://u:secretpw@h/",
    [2**32],
    (1, 2),
]
ENTRIES = {
    "extra_models": {"name": "M", "kind": "encoder", "model": "m"},
    "extra_predictions": {"name": "P", "paper": "acord", "file": "x.run"},
    "gpu_resources": {"qos": "short"},
}
KEYS = [
    *((name, None) for name in Config.model_fields),
    *(("extra_models", name) for name in ExtraModel.model_fields),
    *(("extra_predictions", name) for name in ExtraPredictions.model_fields),
    *(("gpu_resources", name) for name in ("qos", "cpus_per_gpu", "other")),
]


@pytest.mark.parametrize(("key", "inner"), KEYS)
def test_every_hostile_value_is_allowed_or_refused_in_one_printable_sentence(
    key, inner, tmp_path, monkeypatch
):
    # With one adapter, the JSON schema of the messages is built once.
    monkeypatch.setattr(config_module, "Config", TypeAdapter(Config))
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    Path("dangling").symlink_to("nowhere")
    for value in [*HOSTILE, str(tmp_path / "loop"), str(tmp_path / "dangling")]:
        values = {key: value if inner is None else ENTRIES[key] | {inner: value}}
        try:
            config = load({"papers": ["acord"]} | values, KNOWN, ROOT)
        except BadInput as error:
            sentence = str(error)
            assert (
                sentence.startswith("config: ")
                and sentence.isprintable()
                and len(sentence) < 1300
            )
            # Neither words of pydantic nor of Python.
            assert not re.search(
                r"Input should|constrained|literal|Exceeds|valid (string|integer)",
                sentence,
            )
        else:
            assert len(config.model_dump_json()) < 20_000


def test_a_path_that_this_user_cannot_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(tmp_path))
    for key in ("mirror", "parser", "bulk_export", "contract"):
        assert "cannot be read; change its permissions; " in fault({key: str(tmp_path)})


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
        "extra_predictions": {
            "name": "Y",
            "paper": "acord",
            "file": ["~/a.run", "~/b.run"],
        },
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


@pytest.mark.parametrize(
    "path", ["Lease #4.txt", "NDA: final.txt", "2015", "{v2}.txt", "two\nlines.txt"]
)
def test_a_path_may_be_the_only_item_of_a_list(path):
    assert load({"papers": "acord", "contract": [path]}, KNOWN, ROOT).contract == path


@pytest.mark.parametrize(
    "values",
    [
        {"seeds": "\u0660"},
        {"seeds": ["\u0661"]},
        {"seeds": ["\uff11"]},
        {"seeds": ["\u00b2"]},
        {"edgar_quarters": "\u0662\u0660\u0662\u0660-QTR1"},
        {"edgar_quarters": "2020-QTR\uff11"},
        {"edgar_exhibits": "EX10"},
        {"edgar_exhibits": ["EX-10", "10-K"]},
        {"caselaw": "us:\u0661"},
        {"test_share": "\u0660.\u0663"},
        {"llm_budget": "\u0661"},
        {"volumes_a_job": "\u0661"},
    ],
)
def test_digits_of_other_scripts_are_refused(values):
    with pytest.raises(ValidationError):
        Config.model_validate({"papers": ["acord"]} | values)
