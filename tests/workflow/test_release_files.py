"""CUAD and MAUD can be built from the published files only.

The archives here have the layout of the published ones and contain the contracts of the sample.  A copy of
the registry has their digests instead of the published ones, so the pipeline accepts them as the release.
"""

import hashlib
import io
import json
import zipfile

import pytest
import yaml

import forked
import project_copy
from lextables import ROOT
from lextables.sources import registry

SAMPLE = ROOT / "resources/sample"
SQUAD = [f"maud_squad_{split}.json" for split in ("train", "dev", "test")]


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(contents):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(contents.items()):
            archive.writestr(name, content)
    return file.getvalue()


def archives():
    """{path in a mirror: content} of the published files."""
    squad = members(SAMPLE / "cuad/data.zip")
    cuad = members(SAMPLE / "cuad/CUAD_v1.zip")
    # The zip on Zenodo also has these files (section "Format" of its readme).
    cuad["CUAD_v1/CUAD_v1_README.txt"] = b"A readme."
    cuad["CUAD_v1/CUAD_v1.json"] = squad["CUADv1.json"]
    cuad |= {
        f"CUAD_v1/label_group_xlsx/Label Report - {n}.xlsx": b"PK" for n in range(28)
    }
    maud = members(SAMPLE / "maud/maud_v1.zip")
    maud = {
        f"MAUD_v1/{name.partition('/')[2]}": content for name, content in maud.items()
    }
    files = {
        "cuad/data.zip": packed(squad),
        "cuad/CUAD_v1.zip": packed(cuad),
        "maud/maud_v1.zip": packed(maud),
    }
    for path in (
        SAMPLE / "cuad/category_descriptions.csv",
        *(SAMPLE / "maud/best_found_hps").rglob("*.*"),
        *(SAMPLE / "maud_extraction" / name for name in SQUAD),
    ):
        files[path.relative_to(SAMPLE).as_posix()] = path.read_bytes()
    return files


def snakemake(project, folder, *arguments):
    run = forked.snakemake(
        project, "--directory", folder, "--cores", "2", *arguments, package=False
    )
    assert run.code == 0, run.output[-4000:]
    return run.output


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the data sets built from the archives."""
    folder = tmp_path_factory.mktemp("release")
    project = project_copy.copied(folder / "project")
    sources = yaml.safe_load(
        (ROOT / "resources/sources.yaml").read_text(encoding="utf-8")
    )
    for name, content in archives().items():
        source, _, file = name.partition("/")
        (folder / "mirror" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "mirror" / name).write_bytes(content)
        digest = {
            "size": len(content),
            "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
        }
        sources[source]["files"][file].update(digest)
    (project / "resources/sources.yaml").write_text(
        yaml.safe_dump(sources), encoding="utf-8"
    )
    config = (
        "--config",
        "data=release",
        f"mirror={folder / 'mirror'}",
        "papers=[cuad,maud]",
    )
    snakemake(project, folder, "data", *config)
    return folder


def census(folder, name):
    return json.loads(
        (folder / f"results/data/{name}/census.json").read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("name", ["cuad", "maud", "maud_extraction"])
def test_the_built_data_sets_equal_those_of_the_release(built, name):
    built_census = census(built, name)
    assert {source["variant"] for source in built_census["sources"]} == {"release"}
    assert all(source["comparable"] for source in built_census["sources"])
    # The rows equal those of the sample, whose hashes are registered.
    paper = yaml.safe_load(
        (ROOT / f"resources/papers/{name.partition('_')[0]}.yaml").read_text()
    )
    registered = paper["data"][name]["census"]["sample"]
    for table, counts in built_census["data"].items():
        assert counts["rows_sha256"] == registered[table]["rows_sha256"], table


def test_every_file_of_a_full_rebuild_is_published_and_has_an_address(tmp_path):
    config = ("--config", "data=release", "models=paper", "papers=[cuad,maud]")
    planned = snakemake(ROOT, tmp_path, "--dry-run", "data", *config)
    sources = registry.load(ROOT / "resources/sources.yaml")
    names = {
        line.split("results/sources/")[1].removesuffix(",")
        for line in planned.replace(", ", "\n").splitlines()
        if "results/sources/" in line and not line.endswith(".json.json")
    }
    checked = 0
    for name in sorted(names):
        source, _, file = name.partition("/")
        if entry := sources[source].files.get(file):
            assert entry.released and entry.addresses, name
            checked += 1
    assert checked == 3 + 1 + 6 + 3
