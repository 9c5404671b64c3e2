"""The text of a user's contract by file type, and the error message for each unreadable
file.
"""

import logging
import os
from pathlib import Path

import pytest

from helpers.pdf_files import Page, pdf
from helpers.word_file import paragraph, run, word
from lextables.pipeline.errors import BadInput
from lextables.review import contract, contract_pdf, contract_text
from lextables.review.contract_text import read_contract
from lextables.review.reviewer import review_name


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"Term: one year.\n", "Term: one year.\n"),
        ("\ufeff§ 1 “Term”".encode(), "§ 1 “Term”"),
        (b"a\r\n  b\rc\n\n\n\td", "a\n  b\nc\n\n\n\td"),
        (b"page 1\x0cpage 2", "page 1\npage 2"),
        ("next\x85line, soft\x9bcontrol".encode(), "next\nline, soft control"),
        (b"x" * 200 + b"\x1b", "x" * 200 + " "),
        ("narrow\u202fspace\u200b kept".encode(), "narrow\u202fspace\u200b kept"),
    ],
)
def test_plain_text_keeps_its_white_space(tmp_path, raw, text):
    for name in (
        "contract.txt",
        "contract.md",
        "CONTRACT.TXT",
        "contract",
        "a.doc.old",
        "a.old",
    ):
        (tmp_path / name).write_bytes(raw)
        document = read_contract(tmp_path / name)
        assert (document.text, document.notes) == (text, ())


def test_windows_1252_is_noted(tmp_path, caplog):
    path = tmp_path / "contract.txt"
    path.write_bytes("The “Term” of § 2".encode("cp1252"))
    with caplog.at_level(logging.INFO, logger="lextables"):
        found = read_contract(str(path))
    assert found.text == "The “Term” of § 2"
    assert found.notes == (
        "The file is not UTF-8 (byte 4); it was read as Windows-1252.",
    )
    assert f"{path}: {found.notes[0]}" in caplog.messages


@pytest.mark.parametrize("codec", ["utf-16", "utf-32"])
def test_a_byte_order_mark_names_the_encoding(tmp_path, codec):
    (tmp_path / "a.txt").write_bytes("§ 1 “Term”".encode(codec))
    assert read_contract(tmp_path / "a.txt").text == "§ 1 “Term”"
    (tmp_path / "b.txt").write_bytes("<html><p>§ 1</p><p>Term".encode(codec))
    assert read_contract(tmp_path / "b.txt").text == "§ 1\n\nTerm\n"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\xef\xbb\xbf \n\x0c\t", "the file contains no text that is read; "),
        ("\u200b\u00ad\u2060".encode(), "the file contains no text that is read; "),
        (b"Term\0", "byte 4 is NUL, so this is not text; save the contract as UTF-8."),
        (
            b"\x81\x8d\x90 binary",
            "the file holds binary data, not text; save the contract as .docx",
        ),
        (b"text\x01\x02\x03", "the file holds binary data, not text; "),
        (b"\xff\xfea", "the UTF-16 text is damaged ("),
        (
            b"\xd0\xcf\x11\xe0..",
            "the file is an old Word file (.doc), an Outlook message or an",
        ),
        (
            b"{\\rtf1 Term}",
            "the file is rich text (RTF); save the contract as .docx, PDF or plain text.",
        ),
        (b"\x89PNG\r\n", "the file is a picture; "),
        (b"\x1f\x8b\x08 ", "the file is a compressed file; "),
        (b'<?xml version="1.0"?><w:wordDocument/>', "the file is XML; "),
        (
            b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nHi\n--x--\n",
            "the file is a web archive or an e-mail without HTML; ",
        ),
        (
            b"MIME-Version: 1.0\n"
            + b"".join(
                b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i)
                for i in range(1500)
            ),
            "the parts of the web archive are nested too deeply; ",
        ),
        (
            b"<html><body><img></body></html>",
            "the file has no text; save the contract as .docx or PDF.",
        ),
        (
            b"<DOCUMENT>\n<TYPE>EX-10\n<TEXT>\n<PDF>\nbegin 644 a.pdf\n",
            "the file is a PDF or another",
        ),
        (b"<SEC-DOCUMENT>a.txt\n", "the EDGAR file has no document; "),
    ],
)
def test_a_file_of_another_type_is_refused_by_its_type(tmp_path, raw, message):
    for name in ("a.txt", "a.doc.old", "a"):
        path = tmp_path / name
        path.write_bytes(raw)
        with pytest.raises(BadInput) as error:
            read_contract(path)
        assert str(error.value).startswith(f"{path}: {message}")


NOT_READ = "Not read from the HTML: "


@pytest.mark.parametrize(
    ("raw", "text", "notes"),
    [
        ("<html><p>One.<p>Two.", "One.\n\nTwo.", ()),
        ("<!DOCTYPE html>\n<body><h1>A</h1>B", "A\n\nB", ()),
        ('<?xml version="1.0"?>\n<html><p>One.</p></html>', "One.", ()),
        ("<?xml version='1.0' ?><!--Created--> <!--r-->\n<!--s--><html><p>A", "A", ()),
        ("<!-- saved -->\n<HTML><P>One.</P>", "One.", ()),
        ("EX-10.1 2 lease.htm\n<html><p>One.</p>", "EX-10.1 2 lease.htm\n\nOne.", ()),
        ("<h1>A</h1><i>B</i>", "A\n\nB", ()),
        ("<p>§ 1</p>", "§ 1", ()),
        (
            '<p>A<img src="a.png"><input value="7"></p><ol><li>One</ol>',
            "A\n\n1. One",
            (f"{NOT_READ}pictures and objects (1), form fields (1).",),
        ),
        (
            '<p>A<b style="display:none">B</b></p>',
            "A",
            (f"{NOT_READ}hidden text (1).",),
        ),
        (
            '<p>A<b style="visibility: hidden">B</b></p>',
            "A",
            (f"{NOT_READ}hidden text (1).",),
        ),
        (
            '<p>A<b style="display :\tnone">B</b><b hidden></b></p>',
            "A",
            (f"{NOT_READ}hidden text (1).",),
        ),
        (
            "<html><style>p { color: red }</style><style>li:before { content: counter(a) }</style>"
            '<link rel=stylesheet href="a.css"><link rel=icon href="a.ico"><ol><li>A</ol>',
            "1. A",
            (f"{NOT_READ}style sheets, which may hide or number text (2).",),
        ),
    ],
)
def test_html_is_read_as_a_browser_shows_it(tmp_path, raw, text, notes):
    for name in ("a.txt", "a.mht", "a.htm"):
        (tmp_path / name).write_text(raw, encoding="utf-8")
        document = read_contract(tmp_path / name)
        assert (document.text, document.notes) == (f"{text}\n", notes)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>The fee is <del>100</del> <s>150</s> 200.</p>", "The fee is 200.\n"),
        (
            "<!-- do not use <s> here --><p>The term is <s>two</s> <b>five</b> years.</p>"
            "<p>Made <s>by the laws of Texas</s>.</p>",
            "The term is five years.\n\nMade .\n",
        ),
        # A tag without an end strikes nothing, and neither does an empty element.
        (
            "<table><caption><s> <c>\nThe fee</table><p>is <s>100</s><s></s> the "
            "<b style='text-decoration :LINE-THROUGH'>old</b> price.</p>",
            "The fee\n\nis the price.\n",
        ),
    ],
)
def test_struck_text_of_html_is_left_out_and_noted(tmp_path, html, text):
    (tmp_path / "a.htm").write_text(html)
    contract = read_contract(tmp_path / "a.htm")
    assert contract.text == text
    assert contract.notes == (f"{NOT_READ}struck text, as it is not in force (2).",)


def test_an_unclosed_tag_of_struck_text_is_not_noted(tmp_path):
    (tmp_path / "a.htm").write_text("<p>The fee is <s>100 of the price.</p>")
    contract = read_contract(tmp_path / "a.htm")
    assert (contract.text, contract.notes) == ("The fee is 100 of the price.\n", ())


@pytest.mark.parametrize(
    "text",
    [
        "Write <b> for bold. Send it to <jane@example.org>.",
        "<jane@example.org> is the address. The tag </b> ends bold.",
        "<b> begins bold text, and </b> ends it.",
        "<p> is the tag of a paragraph.",
        "The page is <html><body>…</body></html>.",
        "TYPE: <TYPE> and <DOCUMENT> are tags of EDGAR.",
        "Date: May 1\nMIME-Version: 1.0 is a header.",
        "a < b and c > d",
        "The file begins with %PDF-1.7, a PDF.",
        "PK is a part of the name.",
    ],
)
def test_plain_text_with_tags_stays_plain(tmp_path, text):
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    assert read_contract(tmp_path / "a.txt").text == text


def edgar(*documents, end="</TEXT>\n</DOCUMENT>\n"):
    """A submission; ``documents`` are (type, body)."""
    head = "<DOCUMENT>\n<TYPE>{}\n<SEQUENCE>1\n<TEXT>\n{}\n"
    return (
        "<SEC-DOCUMENT>1.txt : 20200101\n"
        + end.join(head.format(*entry) for entry in documents)
        + end
    )


OTHERS = "Only {} was read; not read: {}."
CUT = "The EDGAR file ends inside a document: its end is missing."


@pytest.mark.parametrize(
    ("raw", "text", "notes"),
    [
        (edgar(("EX-10.1", "<html><p>Term.</p></html>")), "Term.", ()),
        (edgar(("EX-10.1", "Term <b> and\nrent.")), "Term <b> and\nrent.", ()),
        (
            edgar(("8-K", "Report."), ("EX-10.2", "Term."), ("EX-10.3", "Rent.")),
            "Term.",
            (OTHERS.format("EX-10.2", "8-K, EX-10.3"),),
        ),
        (
            edgar(("8-K", "Report."), ("EX-99", "News."), ("EX-2.1", "Merger.")),
            "Merger.",
            (OTHERS.format("EX-2.1", "8-K, EX-99"),),
        ),
        (
            edgar(("10-K", "Report."), ("EX-101.INS", "XBRL")),
            "Report.",
            (OTHERS.format("10-K", "EX-101.INS"),),
        ),
        (
            edgar(("EX-10", "Term."), *[("GRAPHIC", "x")] * 12),
            "Term.",
            (
                OTHERS.format(
                    "EX-10", ", ".join(["GRAPHIC"] * 10) + " and 2 more documents"
                ),
            ),
        ),
        (edgar(("EX-10", "Term."), end=""), "Term.", (CUT,)),
        (
            edgar(("8-K", "Report."), ("EX-10", "Term.")).rpartition("</TEXT>")[0],
            "Term.",
            (CUT, OTHERS.format("EX-10", "8-K")),
        ),
        ("<TYPE>EX-10.1\n<TEXT>\n<html><p>Term.</p></html>\n</TEXT>\n", "Term.", ()),
    ],
)
def test_a_submission_gives_its_first_contract(tmp_path, raw, text, notes):
    (tmp_path / "a.txt").write_text(raw, encoding="utf-8")
    document = read_contract(tmp_path / "a.txt")
    assert (document.text, document.notes) == (f"{text}\n", notes)


def test_a_web_archive_gives_its_page_and_notes_the_rest(tmp_path):
    parts = (
        "text/html; charset=latin1\n\n<p>§ 1</p>",
        "image/png\n\nx",
        "text/css\n\np {}",
        "text/html\n\n<p>F",
    )
    body = "".join(f"--x\nContent-Type: {part}\n" for part in parts)
    raw = f"From: <Saved>\nMIME-Version: 1.0\nContent-Type: multipart/related;\n boundary=x\n\n{body}--x--\n"
    (tmp_path / "a.mht").write_bytes(raw.encode("latin1"))
    note = "Not read from the web archive: image/png (1), text/html (1)."
    assert read_contract(tmp_path / "a.mht") == contract_text.Contract("§ 1\n", (note,))


def test_a_pdf_is_read_whatever_its_name(tmp_path):
    raw = pdf([Page(["The term is two years."])])
    for name in ("a.doc.old", "a.txt", "a"):
        for start in (b"", b"\x1b%-12345X@PJL\r\n"):
            (tmp_path / name).write_bytes(start + raw)
            assert read_contract(tmp_path / name).text == "The term is two years.\n"


def test_an_unreadable_path_is_refused_unread(tmp_path, monkeypatch):
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "empty.txt").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to("loop")
    with (tmp_path / "huge.txt").open("wb") as file:  # a sparse file
        file.truncate(contract.FILE_LIMIT + 1)
    messages = {
        "none.txt": r"there is no such file; .* brackets and quotes, as in contract='\[\"Lease #4.txt\"\]'",
        "folder.txt/a": "there is no such file",
        "empty.txt/a": "there is no such file",
        "folder.txt": "this is a folder",
        "empty.txt": "the file is empty",
        "pipe": "this is a pipe or a device, not a file",
        "link": "this is a pipe or a device, not a file",
        "loop": "the file cannot be read",
        "huge.txt": "the file has 268,435,457 bytes, more than the 268,435,456 allowed",
        "x" * 300: r"the file cannot be read \(File name too long\)",
        "a\0b": "the file cannot be read ",
    }

    def refused(path, *arguments):
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "lease.txt").write_text("THIS LEASE")
    monkeypatch.setattr(Path, "open", refused)
    for name, message in messages.items():
        for read in (read_contract, review_name):
            with pytest.raises(BadInput, match=message):
                read(str(tmp_path / name))
    with pytest.raises(
        BadInput,
        match=r"lease\.txt: the file cannot be read \(Permission denied\); set",
    ):
        read_contract(tmp_path / "lease.txt")


def test_long_texts_are_rejected(tmp_path, monkeypatch):
    for name, size in (
        ("line.txt", 10_000_000),
        ("large.txt", 30_000_000),
        ("markup.txt", 70_000_000),
    ):
        (tmp_path / name).write_bytes(b"x" * size)
        with pytest.raises(
            BadInput,
            match=f"{name}: the contract has more than 5,000,000 characters; split it",
        ):
            read_contract(tmp_path / name)
    for module in (contract, contract_text, contract_pdf):
        monkeypatch.setattr(module, "LIMIT", 30)
    for raw in (pdf([Page(["x" * 20])] * 2), word(paragraph(run("x" * 31)))):
        (tmp_path / "long").write_bytes(raw)
        with pytest.raises(BadInput, match="more than 30 characters"):
            read_contract(tmp_path / "long")


PAGE = b"<html><body><p>This agreement is made by the parties.</p>"


@pytest.mark.parametrize("name", ["a.pdf", "A.PDF", "a.docx", "a.docm", "a.b.pdf"])
def test_a_name_that_promises_another_kind_is_noted(tmp_path, name):
    (tmp_path / name).write_bytes(PAGE)
    suffix = name[name.rindex(".") :]
    note = f"The name of the file ends in {suffix}, but it is a text or a web page."
    assert read_contract(tmp_path / name).notes == (note,)


@pytest.mark.parametrize("name", ["a.htm", "a.txt", "a.nc", "pdf", "a.pdf.html"])
def test_a_name_that_promises_no_other_kind_is_not_noted(tmp_path, name):
    (tmp_path / name).write_bytes(PAGE)
    assert read_contract(tmp_path / name).notes == ()


HEADERS = [
    "<SUBMISSION>\n<ACCESSION-NUMBER>1\n<TYPE>8-K\n",
    "\n<submission>\n",
    "<SEC-DOCUMENT>1.txt\n<SEC-HEADER>x\n</SEC-HEADER>\n",
    "<IMS-DOCUMENT>1.txt\n<IMS-HEADER>x\n</IMS-HEADER>\n",
    "<IMS-HEADER>x\n</IMS-HEADER>\n",
    "-----BEGIN PRIVACY-ENHANCED MESSAGE-----\n",
    "",
]


@pytest.mark.parametrize("header", HEADERS)
def test_of_each_form_of_a_submission_the_contract_is_read(tmp_path, header):
    document = "<DOCUMENT>\n<TYPE>{}\n<SEQUENCE>1\n<TEXT>\n{}\n</TEXT>\n</DOCUMENT>\n"
    form = document.format("8-K", "This is the report of the company.")
    exhibit = document.format("EX-10.1", "This agreement is made by the parties.")
    (tmp_path / "a.nc").write_text(header + form + exhibit)
    contract = read_contract(tmp_path / "a.nc")
    assert contract.text.strip() == "This agreement is made by the parties."
    assert contract.notes == ("Only EX-10.1 was read; not read: 8-K.",)
