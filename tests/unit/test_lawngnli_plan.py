"""How LawngNLI is built under a configuration: shards, parser, encoder, model of
inference and filter file.
"""

import json
from dataclasses import replace
from pathlib import Path

import nltk
import pytest

from lextables import ROOT
from lextables.models.resolve import load_models
from lextables.papers.lawngnli.construction import (
    construction,
    inference_examples,
    inference_model,
    other_parser,
    parser_settings,
    released_masks,
)
from lextables.pipeline.config import load as load_config
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput
from lextables.registry.packages import load
from lextables.sources.entries import load as load_sources

PAPER = load(ROOT / "resources/papers/lawngnli.yaml")
MODELS = load_models(ROOT / "resources/models.yaml")


def config_under(mirror=None, **values):
    """Return the configuration with these values, by default with the whole data set
    and the models that are available.
    """
    given = {"papers": "lawngnli", "data": "release", "models": "available"} | values
    if mirror:
        given["mirror"] = str(mirror)
    return load_config(given, ["lawngnli"], ROOT)


def construction_under(mirror=None, **values):
    return construction(config_under(mirror, **values), PAPER, MODELS, ROOT)


def test_volumes_are_those_listed_in_the_mirror(tmp_path):
    (tmp_path / "caselaw").mkdir()
    listed = [
        {"volume_number": n, "volume_folder": n, "reporter_slug": "us"}
        for n in ("436", "438", "449", "700")
    ]
    (tmp_path / "caselaw/VolumesMetadata.json").write_text(json.dumps(listed))
    assert construction_under(tmp_path, caselaw="us:436-544").shards == {
        "us-436": ["us/436", "us/438", "us/449"]
    }
    assert construction_under(
        tmp_path, caselaw="us:436-544", volumes_a_job=1
    ).shards.keys() == {"us-436", "us-438", "us-449"}
    assert len(construction_under().shards) == 55
    with pytest.raises(
        BadInput, match="has 99,999 volumes, but no reporter has more than 999"
    ):
        construction_under(caselaw="us:1-99999")


@pytest.mark.parametrize(
    ("reporters", "size", "largest", "jobs"),
    [
        (4, "auto", 10, 400),
        (5, "auto", 100, 50),
        (5, 10, 10, 500),
        (1, 100, 100, 10),
        (1, "auto", 10, 100),
    ],
)
def test_jobs_have_more_volumes_if_there_would_be_too_many_jobs(
    tmp_path, reporters, size, largest, jobs
):
    (tmp_path / "caselaw").mkdir()
    listed = [
        {
            "volume_number": str(n),
            "volume_folder": str(n),
            "reporter_slug": f"r{reporter}",
        }
        for reporter in range(reporters)
        for n in range(1000)
    ]
    (tmp_path / "caselaw/VolumesMetadata.json").write_text(json.dumps(listed))
    shards = construction_under(tmp_path, caselaw="all", volumes_a_job=size).shards
    assert (max(map(len, shards.values())), len(shards)) == (largest, jobs)


def test_the_sample_is_parsed_without_weights():
    settings = construction_under(data="sample", models="sample")
    assert settings.parser["name"] == "dependencies"
    assert settings.encoder["model"] == "all-minilm-l6-v2"
    assert {name: len(volumes) for name, volumes in settings.shards.items()} == {
        "us-901": 5
    }


def gum_folder(mirror):
    """Return the new folder of the parser benepar_en_gum in a mirror."""
    folder = mirror / "models/benepar_en_gum"
    folder.mkdir(parents=True)
    for name in ("config.json", "benepar_model.bin"):
        (folder / name).write_text("{}")
    return folder


def test_the_parser_can_be_given_by_its_folder(tmp_path):
    folder = gum_folder(tmp_path)
    assert construction_under(parser=str(folder)).parser == {
        "name": "benepar",
        "model": "benepar_en_gum",
        "weights": "own-parser",
        "found": "folder",
    }


def test_the_parser_of_a_mirror_is_found(tmp_path):
    gum_folder(tmp_path)
    assert construction_under(tmp_path).parser == {
        "name": "benepar",
        "model": "benepar_en_gum",
        "weights": "mirror:benepar_en_gum",
        "revision": None,
        "found": "mirror folder",
    }


def test_the_parser_can_be_given_by_its_name(tmp_path):
    gum_folder(tmp_path)
    assert construction_under().parser["name"] == "dependencies"
    assert (
        construction_under(tmp_path, parser="dependencies").parser["name"]
        == "dependencies"
    )


@pytest.mark.parametrize(
    ("parser", "message"),
    [
        (
            "benepar",
            "no benepar model is in NLTK's data or the mirror's models folder; run .*benepar_en3.*, or set",
        ),
        ("no/such/folder", "neither auto, benepar, dependencies nor a folder"),
    ],
)
def test_a_parser_that_is_not_there_is_refused(parser, message):
    with pytest.raises(BadInput, match=message):
        construction_under(parser=parser)


def test_a_folder_without_the_file_of_the_parser_is_refused(tmp_path):
    folder = gum_folder(tmp_path)
    (folder / "benepar_model.bin").unlink()
    message = "is a folder without benepar_model.bin; give the folder of a benepar"
    with pytest.raises(BadInput, match=message):
        construction_under(parser=str(folder))


EN3 = {
    "name": "benepar",
    "model": "benepar_en3",
    "weights": "nltk:benepar_en3",
    "revision": None,
    "found": "hub of benepar",
}


def notice(mirror=None, **values):
    """Return what the first lines of a run say about the parser."""
    config = config_under(mirror, **values)
    return other_parser(construction(config, PAPER, MODELS, ROOT), config, PAPER)


@pytest.fixture
def nltk_data(tmp_path, monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    return tmp_path / "nltk_data"


def test_the_papers_parser_is_found_in_nltks_data(nltk_data):
    assert construction_under().parser["name"] == "dependencies"
    folder = nltk_data / "models/benepar_en3"
    folder.mkdir(parents=True)
    assert construction_under().parser["name"] == "dependencies"
    (folder / "benepar_model.bin").touch()
    assert (
        construction_under().parser
        == construction_under(parser="benepar").parser
        == EN3
    )
    assert construction_under(parser="dependencies").parser["name"] == "dependencies"
    assert construction_under(data="sample").parser["name"] == "dependencies"
    assert notice() == ""
    # Its digest is not in the settings, so fetching it later causes no rerun.
    assert parser_settings(construction_under(), Contents(nltk_data)) == EN3


def test_with_models_paper_the_parser_is_fetched(nltk_data):
    assert construction_under(models="paper").parser == EN3
    assert construction_under(models="paper", parser="benepar").parser == EN3
    assert (
        construction_under(models="paper", parser="dependencies").parser["weights"]
        is None
    )
    assert notice(models="paper") == ""


def test_a_run_says_which_other_parser_it_takes(nltk_data, tmp_path):
    message = notice()
    assert "are parsed with spaCy's dependencies, because benepar_en3" in message
    assert "benepar.download('benepar_en3')" in message
    assert notice(parser="dependencies") == notice(data="sample") == ""
    gum_folder(tmp_path)
    assert "are parsed with benepar_en_gum, because benepar_en3" in notice(tmp_path)


def test_the_papers_encoder_is_used_if_it_is_available():
    assert construction_under().encoder["model"] == "all-minilm-l6-v2"
    assert (
        construction_under(models="paper").encoder["model"]
        == "msmarco-distilbert-base-tas-b"
    )
    with pytest.raises(
        BadInput, match=r"encoder = 'bert' is not in resources/models\.yaml"
    ):
        construction_under(encoder="bert")
    with pytest.raises(BadInput, match="is not available here; set encoder to auto"):
        construction_under(encoder="msmarco-distilbert-base-tas-b")


def inference_settings(mirror, choice):
    config = config_under(mirror, models=choice)
    return inference_model(config, PAPER, MODELS, ROOT)


def test_the_model_of_inference_is_found_in_a_mirror(tmp_path):
    folder = tmp_path / "models/roberta-large-anli"
    folder.mkdir(parents=True)
    (folder / "config.json").touch()
    settings = inference_settings(tmp_path, "available")
    assert settings["weights"] == "mirror:roberta-large-anli"
    assert settings["max_length"] == 512
    assert inference_examples("examples.parquet", settings) == "examples.parquet"


def test_with_models_paper_the_model_of_inference_is_fetched(tmp_path):
    settings = inference_settings(tmp_path, "paper")
    assert settings["found"] == "hub"
    assert settings["weights"] == MODELS["roberta-large-anli"].hub


@pytest.mark.parametrize("choice", ["sample", "available"])
def test_without_the_model_of_inference_no_job_starts(tmp_path, monkeypatch, choice):
    monkeypatch.setattr("lextables.models.weights.cached", lambda *names: None)
    settings = inference_settings(tmp_path, choice)
    with pytest.raises(BadInput, match=f"with models={choice}; set models to paper"):
        inference_examples("examples.parquet", settings)


def test_the_digest_of_the_parsers_model_is_part_of_its_settings(tmp_path):
    settings = construction_under(data="sample", models="sample")
    contents = Contents(tmp_path / "cache")
    assert parser_settings(settings, contents) == settings.parser
    folder = tmp_path / "own"
    folder.mkdir()
    parser = settings.parser | {"weights": str(folder)}
    with_own_parser = replace(settings, parser=parser)
    digests = set()
    for text in ("a", "b"):
        (folder / "benepar_model.bin").write_text(text * 9)
        digests.add(parser_settings(with_own_parser, contents)["content"])
    assert len(digests) == 2


def test_the_filter_file_is_an_input_once_it_is_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sources = load_sources(ROOT / "resources/sources.yaml")
    config = config_under()
    assert released_masks(config, sources, tmp_path) == []
    path = Path(config.results, "sources/lawngnli_ids/LawngNLI_filter.xz")
    path.parent.mkdir(parents=True)
    path.touch()
    assert released_masks(config, sources, tmp_path) == [str(path)]
