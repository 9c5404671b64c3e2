import pytest

from edgar_server import document, submission
from lextables.corpora.edgar.submission import CutShort, documents, in_families


def read(page: bytes, *families: str):
    return list(documents(page.splitlines(keepends=True), in_families(families or ("EX-10",))))


@pytest.mark.parametrize(
    ("type_", "belongs"),
    [
        ("EX-10", True),
        ("EX-10.1", True),
        ("EX-10.(A)", True),
        ("ex-10.2", True),
        ("EX-10-B", True),
        ("EX-101.INS", False),
        ("EX-100", False),
        ("EX-99.10", False),
        ("10-K", False),
        ("", False),
    ],
)
def test_a_family_takes_its_members_and_not_its_namesakes(type_, belongs):
    assert in_families(["EX-10"])(type_) is belongs


def test_the_wanted_documents_come_in_order_with_their_heads():
    page = submission(
        "0000000001-20-000001",
        document("8-K", 1, "report"),
        document("EX-10.1", 2, "<p>lease</p>", "LEASE  AGREEMENT", "ex10-1.htm"),
        document("EX-101.INS", 3, "<xbrl/>"),
        document("EX-10.2", "two", "second\n<TYPE>not a head"),
    )
    first, second = read(page)
    assert (first.type, first.sequence, first.filename, first.description) == (
        "EX-10.1",
        2,
        "ex10-1.htm",
        "LEASE AGREEMENT",
    )
    assert first.body.strip() == b"<p>lease</p>"
    assert (second.sequence, second.filename, second.body.strip()) == (None, "", b"second\n<TYPE>not a head")


def test_blank_lines_carriage_returns_and_missing_end_tags_do_no_harm():
    page = b"<DOCUMENT>\r\n\r\n<TYPE>EX-10\r\n<SEQUENCE>2\r\n<TEXT>first\r\nline</TEXT>\r\n"
    page += b"<DOCUMENT>\r\n<TYPE>EX-10\r\n</DOCUMENT>"
    assert [(d.sequence, d.body) for d in read(page)] == [(2, b"first\r\nline"), (None, b"")]


def test_the_dashes_of_privacy_enhanced_mail_are_undone():
    mail = b"-----BEGIN PRIVACY-ENHANCED MESSAGE-----\nProc-Type: 2001,MIC-CLEAR\n\n"
    body = "- -----\n- (a) rent"
    assert (
        read(mail + submission("0000000001-97-000001", document("EX-10", 1, body)))[0].body
        == b"\n-----\n(a) rent\n"
    )
    assert (
        read(submission("0000000001-97-000001", document("EX-10", 1, body)))[0].body
        == b"\n- -----\n- (a) rent\n"
    )


def test_a_submission_cut_short_yields_what_came_before():
    page = submission("0000000001-20-000001", document("EX-10.1", 1, "whole"), document("EX-10.2", 2, "half"))
    found = documents(page[: page.rindex(b"half")].splitlines(keepends=True), in_families(["EX-10"]))
    assert next(found).body.strip() == b"whole"
    with pytest.raises(CutShort, match="ends inside a document"):
        next(found)
