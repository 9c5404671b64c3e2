"""First contact: each source is read or says why not, and none stops the others."""

import csv
import io
import shutil
from functools import partial
from zipfile import ZIP_STORED, ZipFile

import pytest

from helpers import edgar_server
from helpers.released_files import twin_rows, write_ids, write_masks
from lextables import ROOT
from lextables.corpora.caselaw.fetching import Source
from lextables.corpora.edgar.pages import Pages
from lextables.papers.lawngnli import first_contact as of_id_files
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json
from lextables.planning import first_contact
from lextables.registry import packages
from lextables.sources.entries import load
from lextables.sources.transfer import CLIENT

SAMPLE = ROOT / "resources/sample"
PAPERS = sorted((ROOT / "resources/papers").glob("*.yaml"))


@pytest.fixture(scope="module")
def registry():
    return load(ROOT / "resources/sources.yaml", *PAPERS)


def outcomes(registry, tmp_path, mirror, *names, data="sample"):
    """{source: outcome} of these papers, from a mirror."""
    files = first_contact.Files(registry, tmp_path / "sources", [mirror], data, CLIENT)
    papers = {}
    for name in names:
        papers[name] = packages.load(ROOT / f"resources/papers/{name}.yaml")
    facts = ROOT / "resources/facts"
    attempts = first_contact.attempts_of_papers(
        papers, files, facts, tmp_path / "first_contact"
    )
    return {each.source: each for each in first_contact.make_contact(attempts)}


def only(registry, source, *names):
    """The registry with these files of one source, so that no address is asked."""
    files = {name: registry[source].files[name] for name in names}
    return {source: registry[source].model_copy(update={"files": files})}


def test_the_sample_is_read_and_has_a_census(registry, tmp_path):
    found = outcomes(registry, tmp_path, SAMPLE, "acord", "privacy")
    assert found["data set acord"].read
    assert found["data set acord"].what.startswith("148 clauses, 24 queries, ")
    assert found["data set privacy"].read
    zip_file = found["acord/ACORD.zip"]
    assert zip_file.read and "43,621 bytes" in zip_file.what
    assert "sha256:31ad80a63924136d916b49e4993a33a7" in zip_file.what
    assert "not pinned" not in zip_file.what
    census = read_json(tmp_path / "first_contact/acord/census.json")
    assert census["data"]["clauses"]["rows"] == 148
    # The others have a line too: files that the sample does not have, and none of a
    # corpus.
    checkpoint = found["cuad_checkpoints/roberta-base.zip"]
    assert checkpoint.line.startswith("cuad_checkpoints/roberta-base.zip: not read: ")
    assert not any(name.startswith(("caselaw", "edgar")) for name in found)
    # It stands in for files that are registered, and was never published.
    assert "maud/extraction_spans.json" not in found
    assert len(found) == 34


def test_a_damaged_source_stops_no_other(registry, tmp_path):
    mirror = tmp_path / "mirror"
    for name in ("acord", "privacy"):
        shutil.copytree(SAMPLE / name, mirror / name)
    (mirror / "acord/ACORD.zip").write_bytes(b"no zip")
    found = outcomes(registry, tmp_path, mirror, "acord", "privacy")
    for source in ("acord/ACORD.zip", "data set acord"):
        assert not found[source].read and "ACORD.zip" in found[source].what
    assert found["data set privacy"].read


def test_an_error_of_a_reader_is_an_outcome_and_its_traceback_is_in_the_log(caplog):
    def fails():
        return {}["no such column"]

    def refuses():
        raise BadInput("row 3 has no text", do="fetch it again")

    attempts = {"a": fails, "b": refuses, "c": lambda: "3 rows"}
    found = [*first_contact.make_contact(attempts)]
    assert [each.line for each in found] == [
        "a: not read: KeyError: 'no such column' (see the log)",
        "b: not read: row 3 has no text; fetch it again.",
        "c: read: 3 rows",
    ]
    assert "in fails" in caplog.text
    rows = [*csv.DictReader(io.StringIO(first_contact.to_csv(found)))]
    assert [row["outcome"] for row in rows] == ["not read", "not read", "read"]


def test_an_interrupted_contact_ends():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        [*first_contact.make_contact({"a": interrupted})]


def test_weights_without_a_digest_are_not_pinned_and_their_members_are_read(
    registry, tmp_path
):
    weights = only(registry, "cuad_checkpoints", "roberta-base.zip")
    folder = tmp_path / "mirror/cuad_checkpoints"
    folder.mkdir(parents=True)
    path = folder / "roberta-base.zip"
    with ZipFile(path, "w", ZIP_STORED) as archive:
        archive.writestr("config.json", "{}")
        archive.writestr("vocab.txt", "words of the vocabulary")
    found = outcomes(weights, tmp_path, tmp_path / "mirror", data="release")
    what = found["cuad_checkpoints/roberta-base.zip"].what
    assert ", 2 members; sha256:" in what and what.endswith(", not pinned")
    damaged = path.read_bytes().replace(b"of the", b"xx xxx")
    path.write_bytes(damaged)
    found = outcomes(weights, tmp_path, tmp_path / "mirror", data="release")
    what = found["cuad_checkpoints/roberta-base.zip"].what
    assert "vocab.txt in it is damaged" in what


def test_the_id_files_are_read_by_their_own_readers(registry, tmp_path):
    folder = tmp_path / "mirror/lawngnli_ids"
    folder.mkdir(parents=True)
    write_ids(folder / "LawngNLI_minus_case_text.xz", twin_rows(0))
    write_masks(folder / "LawngNLI_filter.xz", "1", "0")
    paper = packages.load(ROOT / "resources/papers/lawngnli.yaml")
    paper = paper.model_copy(update={"data": {}})
    id_files = only(registry, "lawngnli_ids", *registry["lawngnli_ids"].files)
    files = first_contact.Files(
        id_files, tmp_path / "sources", [tmp_path / "mirror"], "release", CLIENT
    )
    attempts = first_contact.attempts_of_papers(
        {"lawngnli": paper}, files, ROOT, tmp_path
    )
    found = {each.source: each for each in first_contact.make_contact(attempts)}
    rows = found["lawngnli_ids/LawngNLI_minus_case_text.xz"]
    assert rows.read and rows.what.startswith(f"{len(twin_rows(0))} rows; sha256:")
    masks = found["lawngnli_ids/LawngNLI_filter.xz"]
    assert masks.read and masks.what.startswith("masks of long, short; sha256:")
    assert {*of_id_files.READERS} <= {*found}


def test_one_volume_of_case_law_is_read(registry, tmp_path):
    source = Source(tmp_path / "sources/caselaw", registry, [SAMPLE], "sample")
    attempt = first_contact.contact_case_law("us/901", source, tmp_path / "caselaw")
    (outcome,) = first_contact.make_contact({"caselaw": attempt})
    assert outcome.read and outcome.what.startswith("volume us/901: ")
    assert (tmp_path / "caselaw/opinions.parquet").is_file()


def test_the_first_filings_of_a_quarter_of_edgar_are_read(tmp_path):
    pages = edgar_server.small_quarter(2020, 1, 5)
    with edgar_server.serving(pages, per_second=1000) as server:
        opened = partial(edgar_server.client, server, tmp_path)
        attempt = first_contact.contact_edgar(
            opened, tmp_path / "edgar", ["8-K"], ["EX-10"]
        )
        (outcome,) = first_contact.make_contact({"edgar": attempt})
        requested = len(server.log)
    assert outcome.what == (
        "5 filings of 2020-QTR1 in the index, 3 contracts in 3 of them"
    )
    assert requested == 1 + first_contact.EDGAR_FILINGS


def test_edgar_without_a_contact_is_not_read(tmp_path):
    def opened():
        return Pages("", tmp_path, None, base="http://127.0.0.1/")

    attempt = first_contact.contact_edgar(opened, tmp_path, ["8-K"], ["EX-10"])
    (outcome,) = first_contact.make_contact({"edgar": attempt})
    assert not outcome.read and "edgar_contact is empty" in outcome.what
