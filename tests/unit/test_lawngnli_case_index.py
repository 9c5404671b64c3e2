"""The index of the cases of a corpus."""

from pathlib import Path

import pytest

from helpers.caselaw_volume import html, label, metadata, write_zip
from lextables.corpora.caselaw.ingest import read_opinions, write_opinions
from lextables.papers.lawngnli.citations.case_index import (
    AMBIGUOUS,
    CaseHeading,
    CaseIndex,
    CaseRecord,
    build_case_index,
)
from lextables.pipeline.errors import BadInput

MAJORITY = html(("majority", [f"{label(1)}Text."]), ("dissent", ["No."]))
TWO = html(("majority", ["One."]), ("majority", ["Two."]))


def shard(folder: Path, name: str, *cases: tuple) -> Path:
    """Write opinions. Each case is (id, citation, body, changes of its metadata)."""
    volume = write_zip(
        folder / f"{name}.zip",
        {str(c[0]): (metadata(c[0], c[1], **c[3]), c[2]) for c in cases},
    )
    write_opinions([volume], folder / f"{name}.parquet", skip_unreadable=False)
    return folder / f"{name}.parquet"


@pytest.fixture
def index(tmp_path: Path) -> CaseIndex:
    parallel = {
        "citations": [
            {"type": "official", "cite": "1 U.S. 9"},
            {"type": "p", "cite": "5 S. Ct. 8"},
        ]
    }
    shards = [
        shard(tmp_path, "b", (7, "2 U.S. 1", MAJORITY, {}), (5, "2 U. S. 5", TWO, {})),
        shard(
            tmp_path,
            "a",
            (
                9,
                "1 U.S. 9",
                MAJORITY,
                {**parallel, "jurisdiction": {"name_long": "Elsewhere"}},
            ),
            (8, "2 U.S. 1", MAJORITY, {}),
        ),
    ]
    counts = build_case_index(shards, tmp_path / "index")
    assert counts == {
        "cases": 4,
        "cases with a single majority opinion": 3,
        "citations": 4,
        "citations of two cases": 1,
    }
    return CaseIndex(tmp_path / "index")


def test_cases_are_found_by_their_citations(index: CaseIndex) -> None:
    keys = ["1 U.S. 9", "5 S.Ct. 8", "2 U.S. 5", "2 U.S. 1", "3 U.S. 1"]
    assert [index.case_of(key) for key in keys] == [9, 9, 5, AMBIGUOUS, None]


def test_records_are_found_by_case_id(index: CaseIndex) -> None:
    assert index.record(9) == CaseRecord(9, "Elsewhere", 1, 0)
    assert index.record(8) == CaseRecord(8, "Testland", 1, 2)
    assert index.record(5) == CaseRecord(5, "Testland", 0, None)
    assert index.shards == ("b.parquet", "a.parquet")
    with pytest.raises(KeyError):
        index.record(6)


def test_of_a_case_in_two_files_the_first_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lextables")
    other = {"name": "Doe v. Poe", "jurisdiction": {"name_long": "Elsewhere"}}
    shards = [
        shard(
            tmp_path, "b", (7, "2 U.S. 1", MAJORITY, {}), (3, "2 U.S. 3", MAJORITY, {})
        ),
        shard(
            tmp_path,
            "a",
            (7, "2 U.S. 7", MAJORITY, other),
            (8, "2 U.S. 8", MAJORITY, {}),
        ),
    ]
    counts = build_case_index(shards, tmp_path / "index")
    assert (counts["cases"], counts["citations"]) == (3, 3)
    index = CaseIndex(tmp_path / "index")
    assert index.record(7) == CaseRecord(7, "Testland", 0, 0)
    assert [index.case_of(f"2 U.S. {page}") for page in (1, 7, 8)] == [7, None, 8]
    assert caplog.messages == [
        "a.parquet, case 7 is also in an earlier file and left out here"
    ]
    build_case_index([shards[0], shards[0]], tmp_path / "index")
    message = "b.parquet, case 3 and 1 more cases are also in an earlier file and left out here"
    assert caplog.messages[1:] == [message]
    rows = list(read_opinions([*shards, shards[0]], ["opinion_id", "case_id", "name"]))
    assert [row["opinion_id"] for row in rows] == [
        "7-0",
        "7-1",
        "3-0",
        "3-1",
        "8-0",
        "8-1",
    ]
    assert "Doe v. Poe" not in {row["name"] for row in rows}


@pytest.mark.parametrize(
    "name", ["citations.npy", "cases.npy", "parties.npy", "index.json"]
)
def test_a_flipped_bit_in_the_index_is_found(tmp_path: Path, name: str) -> None:
    opinions = shard(tmp_path, "a", (7, "2 U.S. 1", MAJORITY, {}))
    folder = tmp_path / "index"
    build_case_index([opinions], folder)
    CaseIndex(folder)
    content = bytearray((folder / name).read_bytes())
    content[-2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(BadInput, match=f"{name}: the file is damaged"):
        CaseIndex(folder)


LATER = [
    ("Roe v. Wade", "1990-05-02", True),
    ("WADE, Appellant, v. ROE", "1991-01-01", True),
    ("Roe v. Wade", "1991", True),
    ("Roe v. Wade", "1990-06", True),
    ("Roe v. Wade", "1990-05-01", False),
    ("Roe v. Wade", "1990-04-30", False),
    ("Roe v. Wade", "1989", False),
    ("Roe v. Wade", "1990", False),
    ("Roe v. Wades", "1991-01-01", False),
    ("In re Roe", "1991-01-01", False),
]


@pytest.mark.parametrize(("name", "date", "later"), LATER)
def test_later_cases_with_the_same_parties_are_found(
    tmp_path: Path, name: str, date: str, later: bool
) -> None:
    cases = (
        (
            1,
            "5 Test 1",
            MAJORITY,
            {"name": "ROE v. WADE et al.", "decision_date": "1990-05-01"},
        ),
        (2, "1 Other 1", MAJORITY, {"name": name, "decision_date": date}),
    )
    build_case_index([shard(tmp_path, "a", *cases)], tmp_path / "index")
    own = CaseHeading(1, "ROE v. WADE et al.", "1990-05-01", "Test", "5", "1")
    assert CaseIndex(tmp_path / "index").met_again(own) is later


@pytest.mark.parametrize(
    ("citation", "later"),
    [
        ("5 Test 9", True),
        ("6 Test 1", True),
        ("4 Test 9", False),
        ("5 Test 3", False),
        ("6 Other 1", False),
    ],
)
def test_cases_of_the_same_year_are_ordered_by_volume_and_page(
    tmp_path: Path, citation: str, later: bool
) -> None:
    same = {"name": "Roe v. Wade", "decision_date": "1990"}
    cases = ((1, "5 Test 5", MAJORITY, same), (2, citation, MAJORITY, same))
    build_case_index([shard(tmp_path, "a", *cases)], tmp_path / "index")
    own = CaseHeading(1, "Roe v. Wade", "1990", "Test", "5", "5")
    assert CaseIndex(tmp_path / "index").met_again(own) is later


def test_cases_without_a_name_have_no_common_parties(tmp_path: Path) -> None:
    cases = (
        (1, "5 Test 5", MAJORITY, {"name": " "}),
        (2, "6 Test 5", MAJORITY, {"name": "", "decision_date": "1999"}),
    )
    build_case_index([shard(tmp_path, "a", *cases)], tmp_path / "index")
    assert not CaseIndex(tmp_path / "index").met_again(
        CaseHeading(1, "", "1990-05-01", "Test", "5", "5")
    )


def test_volumes_without_cases_raise_an_error(tmp_path: Path) -> None:
    shards = [shard(tmp_path, "us-1"), shard(tmp_path, "us-11")]
    with pytest.raises(BadInput) as error:
        build_case_index(shards, tmp_path / "index")
    assert str(error.value) == (
        "caselaw: the volumes of us-1, us-11 hold no case; see which were set aside in the .json files"
        " beside the opinions, and name other volumes."
    )
    assert not (tmp_path / "index").exists()
