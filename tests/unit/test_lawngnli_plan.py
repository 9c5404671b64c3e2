"""How LawngNLI is built: shards of volumes, and the parser and encoder that a configuration selects."""

import json
from pathlib import Path

import pytest

from lextables.models.resolve import load_models
from lextables.papers.lawngnli.plan import construction
from lextables.papers.packages import load
from lextables.pipeline.config import load as load_config
from lextables.pipeline.errors import BadInput

ROOT = Path(__file__).parents[2]
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
        "us-436": ["us/436", "us/438", "us/449"],
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
    benepar = {"name": "benepar", "found": "benepar_en_gum"}
    assert built(tmp_path).parser == benepar | {"model": "mirror:benepar_en_gum"}
    assert built(tmp_path, parser="dependencies").parser["name"] == "dependencies"
    assert built(parser=str(folder)).parser == benepar | {"model": "own-parser"}
    with pytest.raises(
        BadInput,
        match="no benepar model is in the mirror's models folder; set parser to",
    ):
        built(parser="benepar")
    with pytest.raises(
        BadInput, match="neither auto, benepar, dependencies nor a folder"
    ):
        built(parser="no/such/folder")


def test_the_papers_encoder_is_used_if_it_is_available():
    assert built().encoder["model"] == "all-minilm-l6-v2"
    assert built(models="paper").encoder["model"] == "msmarco-distilbert-base-tas-b"
    with pytest.raises(
        BadInput, match=r"encoder = 'bert' is not in resources/models\.yaml"
    ):
        built(encoder="bert")
    with pytest.raises(BadInput, match="is not available here; set encoder to auto"):
        built(encoder="msmarco-distilbert-base-tas-b")
