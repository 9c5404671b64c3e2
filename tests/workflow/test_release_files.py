"""CUAD and MAUD can be built from the published files only.

The archives here have the layout of the published ones and contain the contracts of the
sample.
"""

import io
import zipfile

import pytest

from helpers import forked
from helpers.registered import read, written
from lextables import ROOT
from lextables.sources import entries

SAMPLE = ROOT / "resources/sample"
SQUAD = [f"maud_squad_{split}.json" for split in ("train", "dev", "test")]


def members(path):
    """{name: content} of a zip."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(contents):
    """The bytes of a zip with {name: content}."""
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
    for n in range(28):
        cuad[f"CUAD_v1/label_group_xlsx/Label Report - {n}.xlsx"] = b"PK"
    # Its folder has another name than in the sample.
    maud = {}
    for name, content in members(SAMPLE / "maud/maud_v1.zip").items():
        _, _, file = name.partition("/")
        maud[f"MAUD_v1/{file}"] = content
    files = {
        "cuad/data.zip": packed(squad),
        "cuad/CUAD_v1.zip": packed(cuad),
        "maud/maud_v1.zip": packed(maud),
    }
    single_files = [
        SAMPLE / "cuad/category_descriptions.csv",
        *(SAMPLE / "maud/best_found_hps").rglob("*.*"),
        *(SAMPLE / "maud_extraction" / name for name in SQUAD),
    ]
    for path in single_files:
        files[path.relative_to(SAMPLE).as_posix()] = path.read_bytes()
    return files


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A mirror with the archives."""
    folder = tmp_path_factory.mktemp("release")
    for name, content in archives().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("paper", "name"), [("cuad", "cuad"), ("maud", "maud"), ("maud", "maud_extraction")]
)
def test_data_sets_built_from_the_archives_have_the_census_of_the_sample(
    release, tmp_path, paper, name
):
    written(paper, name, tmp_path, read(paper, name, release))


def test_every_file_of_a_full_rebuild_is_published_and_has_an_address(tmp_path):
    config = ("--config", "data=release", "models=paper", "papers=[cuad,maud]")
    run = forked.pipeline(tmp_path, "--dry-run", "data", *config)
    assert run.code == 0, run.output[-4000:]
    sources = entries.load(ROOT / "resources/sources.yaml")
    # The inputs and outputs of jobs, which Snakemake lists with commas.
    names = set()
    for line in run.output.replace(", ", "\n").splitlines():
        _, _, name = line.partition("results/sources/")
        if name and not name.endswith(".json.json"):
            names.add(name.removesuffix(","))
    checked = 0
    for name in sorted(names):
        source, _, file = name.partition("/")
        entry = sources[source].files.get(file)
        if entry:
            assert entry.released, name
            assert entry.addresses, name
            checked += 1
    # Archives, CUAD's descriptions, settings of MAUD's authors, and the spans of MAUD.
    assert checked == 3 + 1 + 6 + 3
