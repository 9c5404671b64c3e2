"""How LawngNLI is built: shards of volumes, and the parser and encoder that a
configuration selects.
"""

import json
from dataclasses import replace
from pathlib import Path

import nltk
import pytest
from snakemake.iocontainers import Wildcards

from helpers import planned_project
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
from lextables.planning.caselaw import Volumes
from lextables.planning.job_resources import JobResources
from lextables.planning.sources import SourceParams
from lextables.registry.packages import load
from lextables.sources.entries import load as load_sources

PAPER = load(ROOT / "resources/papers/lawngnli.yaml")
MODELS = load_models(ROOT / "resources/models.yaml")


def built(mirror=None, **values):
    given = {"papers": "lawngnli", "data": "release", "models": "available"} | values
    if mirror:
        given["mirror"] = str(mirror)
    return construction(load_config(given, ["lawngnli"], ROOT), PAPER, MODELS, ROOT)


def test_volumes_are_those_listed_in_the_mirror(tmp_path):
    (tmp_path / "caselaw").mkdir()
    listed = [
        {"volume_number": n, "volume_folder": n, "reporter_slug": "us"}
        for n in ("436", "438", "449", "700")
    ]
    (tmp_path / "caselaw/VolumesMetadata.json").write_text(json.dumps(listed))
    assert built(tmp_path, caselaw="us:436-544").shards == {
        "us-436": ["us/436", "us/438", "us/449"]
    }
    assert built(tmp_path, caselaw="us:436-544", volumes_a_job=1).shards.keys() == {
        "us-436",
        "us-438",
        "us-449",
    }
    assert len(built().shards) == 55
    with pytest.raises(
        BadInput, match="has 99,999 volumes, but no reporter has more than 999"
    ):
        built(caselaw="us:1-99999")


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
    shards = built(tmp_path, caselaw="all", volumes_a_job=size).shards
    assert (max(map(len, shards.values())), len(shards)) == (largest, jobs)


def test_the_sample_is_parsed_without_weights():
    found = built(data="sample", models="sample")
    assert found.parser["name"] == "dependencies"
    assert found.encoder["model"] == "all-minilm-l6-v2"
    assert {name: len(volumes) for name, volumes in found.shards.items()} == {
        "us-901": 5
    }


def test_the_parser_can_be_given_by_folder_mirror_or_name(tmp_path):
    assert built().parser["name"] == "dependencies"
    folder = tmp_path / "models/benepar_en_gum"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    with pytest.raises(
        BadInput,
        match="is a folder without benepar_model.bin; give the folder of a benepar",
    ):
        built(parser=str(folder))
    (folder / "benepar_model.bin").touch()
    benepar = {"name": "benepar", "model": "benepar_en_gum"}
    of_mirror = {"weights": "mirror:benepar_en_gum", "found": "mirror folder"}
    assert built(tmp_path).parser == benepar | of_mirror | {"revision": None}
    assert built(tmp_path, parser="dependencies").parser["name"] == "dependencies"
    own = {"weights": "own-parser", "found": "folder"}
    assert built(parser=str(folder)).parser == benepar | own
    with pytest.raises(
        BadInput,
        match="no benepar model is in NLTK's data or the mirror's models folder; run .*benepar_en3.*, or set",
    ):
        built(parser="benepar")
    with pytest.raises(
        BadInput, match="neither auto, benepar, dependencies nor a folder"
    ):
        built(parser="no/such/folder")


EN3 = {"name": "benepar", "model": "benepar_en3", "weights": "nltk:benepar_en3"}
EN3 |= {"revision": None, "found": "hub of benepar"}


def notice(mirror=None, **values):
    """What the first lines of a run say about the parser."""
    given = {"papers": "lawngnli", "data": "release", "models": "available"} | values
    if mirror:
        given["mirror"] = str(mirror)
    config = load_config(given, ["lawngnli"], ROOT)
    return other_parser(construction(config, PAPER, MODELS, ROOT), config, PAPER)


@pytest.fixture
def nltk_data(tmp_path, monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    return tmp_path / "nltk_data"


def test_the_papers_parser_is_found_in_nltks_data(nltk_data):
    assert built().parser["name"] == "dependencies"
    folder = nltk_data / "models/benepar_en3"
    folder.mkdir(parents=True)
    assert built().parser["name"] == "dependencies"
    (folder / "benepar_model.bin").touch()
    assert built().parser == built(parser="benepar").parser == EN3
    assert built(parser="dependencies").parser["name"] == "dependencies"
    assert built(data="sample").parser["name"] == "dependencies"
    assert notice() == ""
    # It has no content in the settings: fetching it makes nothing again.
    assert parser_settings(built(), Contents(nltk_data)) == EN3


def test_with_models_paper_the_parser_is_fetched(nltk_data):
    assert built(models="paper").parser == EN3
    assert built(models="paper", parser="benepar").parser == EN3
    assert built(models="paper", parser="dependencies").parser["weights"] is None
    assert notice(models="paper") == ""


def test_a_run_says_which_other_parser_it_takes(nltk_data, tmp_path):
    said = notice()
    assert "are parsed with spaCy's dependencies, because benepar_en3" in said
    assert "benepar.download('benepar_en3')" in said
    assert notice(parser="dependencies") == notice(data="sample") == ""
    folder = tmp_path / "models/benepar_en_gum"
    folder.mkdir(parents=True)
    for name in ("config.json", "benepar_model.bin"):
        (folder / name).write_text("{}")
    assert "are parsed with benepar_en_gum, because benepar_en3" in notice(tmp_path)


def test_the_papers_encoder_is_used_if_it_is_available():
    assert built().encoder["model"] == "all-minilm-l6-v2"
    assert built(models="paper").encoder["model"] == "msmarco-distilbert-base-tas-b"
    with pytest.raises(
        BadInput, match=r"encoder = 'bert' is not in resources/models\.yaml"
    ):
        built(encoder="bert")
    with pytest.raises(BadInput, match="is not available here; set encoder to auto"):
        built(encoder="msmarco-distilbert-base-tas-b")


def inference_settings(mirror, choice):
    values = {"papers": "lawngnli", "data": "release", "models": choice}
    values["mirror"] = str(mirror)
    config = load_config(values, ["lawngnli"], ROOT)
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
    plain = built(data="sample", models="sample")
    contents = Contents(tmp_path / "cache")
    assert parser_settings(plain, contents) == plain.parser
    folder = tmp_path / "own"
    folder.mkdir()
    found = replace(plain, parser=plain.parser | {"weights": str(folder)})
    digests = set()
    for text in ("a", "b"):
        (folder / "benepar_model.bin").write_text(text * 9)
        digests.add(parser_settings(found, contents)["content"])
    assert len(digests) == 2


def test_the_filter_file_is_an_input_once_it_is_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sources = load_sources(ROOT / "resources/sources.yaml")
    config = load_config({"papers": "lawngnli", "data": "release"}, ["lawngnli"], ROOT)
    assert released_masks(config, sources, tmp_path) == []
    path = Path(config.results, "sources/lawngnli_ids/LawngNLI_filter.xz")
    path.parent.mkdir(parents=True)
    path.touch()
    assert released_masks(config, sources, tmp_path) == [str(path)]


SHARD = Wildcards(fromdict={"shard": "s"})


@pytest.fixture
def volumes(tmp_path, monkeypatch):
    """Return the `Volumes` of one shard, under a configuration."""

    def of_shard(*names, **config):
        project = planned_project.load(monkeypatch, tmp_path, papers=["maud"], **config)
        resources = JobResources(project)
        return Volumes({"s": names}, SourceParams(project), resources)

    return of_shard


def test_a_shard_of_the_bulk_export_has_the_digests_of_its_files(tmp_path, volumes):
    (tmp_path / "us.jsonl").write_text("{}")
    params = volumes("us.jsonl", bulk_export=str(tmp_path))
    before = params.content(SHARD)
    assert len(before) == 1 and params.pins(SHARD) == []
    (tmp_path / "us.jsonl").write_text('{"id": 1}')
    assert params.content(SHARD) != before


def test_the_content_of_a_shard_changes_with_its_volumes_and_their_digests(volumes):
    one = volumes("us/901")
    two = volumes("us/901", "us/902")
    assert len(one.pins(SHARD)) == 1 and len(two.pins(SHARD)) == 2
    pinned = set(one.pins(SHARD)) < set(two.pins(SHARD))
    assert pinned and one.content(SHARD) != two.content(SHARD)


def test_a_damaged_record_of_a_shard_is_no_record(volumes):
    params = volumes("us/901")
    before = params.content(SHARD)
    record = Path(params.sources.project.results, "sources/caselaw/s.json")
    record.parent.mkdir(parents=True)
    record.write_text("{")
    assert params.content(SHARD) == before


@pytest.mark.parametrize(
    ("count", "seconds", "attempt", "minutes"),
    [(1, 1, 1, 30), (1, 1, 2, 60), (100, 60, 1, 210), (100, 60, 9, 1000)],
)
def test_a_shard_requests_time_for_its_volumes(
    volumes, count, seconds, attempt, minutes
):
    params = volumes(*map(str, range(count)), max_runtime=1000)
    assert params.runtime(seconds)(SHARD, attempt) == minutes
