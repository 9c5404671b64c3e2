"""The text of a user's contract by file type, and the error message for each unreadable file."""

import logging
import re
from pathlib import Path

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from pypdf import PdfWriter
from pypdf.errors import DependencyError
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
    TextStringObject,
)

from lextables.papers.cuad import contract, contract_pdf, contract_text
from lextables.papers.cuad.contract_text import read_contract
from lextables.pipeline.errors import BadInput


def pdf(path: Path, pages: list[str], password: str | None = None, fields: dict | None = None) -> Path:
    """Write a PDF with one line of text per page; an empty string gives a page without text."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(595, 842)
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() if text else b"")
        page[NameObject("/Contents")] = writer._add_object(stream)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
    if fields:
        form = [
            writer._add_object(
                DictionaryObject(
                    {
                        NameObject("/FT"): NameObject("/Tx"),
                        NameObject("/T"): TextStringObject(name),
                        NameObject("/V"): TextStringObject(value),
                    }
                )
            )
            for name, value in fields.items()
        ]
        writer.root_object[NameObject("/AcroForm")] = DictionaryObject(
            {NameObject("/Fields"): ArrayObject(form)}
        )
    if password is not None:
        writer.encrypt(password, "owner", algorithm="RC4-128")
    writer.write(path)
    return path


def word(path: Path, *elements: str) -> Path:
    """Write a Word file whose body is ``elements``, given as WordprocessingML."""
    document = docx.Document()
    body = document.element.body
    given = parse_xml(f"<w:body {nsdecls('w', 'a', 'r')}>{''.join(elements)}</w:body>")
    for place, element in enumerate(list(given)):
        body.insert(place, element)
    document.save(str(path))
    return path


def paragraph(inner: str) -> str:
    return f"<w:p>{inner}</w:p>"


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


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
    for name in ("contract.txt", "contract.md", "CONTRACT.TXT"):
        (tmp_path / name).write_bytes(raw)
        found = read_contract(tmp_path / name)
        assert (found.text, found.notes) == (text, ())


def test_windows_1252_is_noted(tmp_path, caplog):
    path = tmp_path / "contract.txt"
    path.write_bytes("The “Term” of § 2".encode("cp1252"))
    with caplog.at_level(logging.INFO, logger="lextables"):
        found = read_contract(str(path))
    assert found.text == "The “Term” of § 2"
    assert found.notes == ("The file is not UTF-8 (byte 4); it was read as Windows-1252.",)
    assert f"{path}: {found.notes[0]}" in caplog.messages


DAMAGED_WORD = "the Word file is damaged (BadZipFile); save it again as .docx"


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("a.txt", b"", "the file contains no text."),
        ("a.txt", b"\xef\xbb\xbf \n\x0c\t", "the file contains no text."),
        ("a.txt", "\u200b\u00ad\u2060".encode(), "the file contains no text."),
        ("a.txt", b"Term\0", "byte 4 is NUL, so this is not text; save it as UTF-8."),
        (
            "a.txt",
            b"\x81\x8d\x90 binary",
            "the file holds binary data, not text; save the contract as UTF-8.",
        ),
        ("a.txt", b"text\x01\x02\x03", "the file holds binary data, not text; save the contract as UTF-8."),
        ("a.md", b"%PDF-1.7\n...", "the file is a PDF, not UTF-8 text; change its suffix to .pdf."),
        ("a.txt", b"PK\x03\x04...", "the file is a zip or a Word file, not UTF-8 text; "),
        ("a.txt", "Term".encode("utf-16"), "the file is UTF-16 text, not UTF-8 text; save it as UTF-8."),
        (
            "a.rtf",
            b"{\\rtf1}",
            "the file type '.rtf' is unknown; save the contract as .txt, .md, .pdf or .docx",
        ),
        ("a", b"text", "the file type '' is unknown; save the contract as .txt, .md, .pdf or .docx."),
        ("a.docx", b"\xd0\xcf\x11\xe0....", "the file is encrypted, or an old Word file; save it as .docx"),
        ("a.docx", b"no zip", DAMAGED_WORD),
        ("a.docx", b"PK\x03\x04 cut off", DAMAGED_WORD),
        ("a.pdf", b"", "the PDF is damaged (EmptyFileError: Cannot read an empty file); save it again, or"),
    ],
)
def test_an_unreadable_file_raises_with_a_message(tmp_path, name, raw, message):
    path = tmp_path / name
    path.write_bytes(raw)
    with pytest.raises(BadInput) as error:
        read_contract(path)
    assert str(error.value).startswith(f"{path}: {message}")


def test_an_unreadable_path_raises_with_a_message(tmp_path, monkeypatch):
    with pytest.raises(BadInput, match="there is no such file; set config key contract to the path"):
        read_contract(tmp_path / "none.txt")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(BadInput, match="this is a folder"):
        read_contract(tmp_path / "folder.txt")
    with pytest.raises(BadInput, match=r"the file cannot be read \(File name too long\)"):
        read_contract(tmp_path / f"{'x' * 300}.txt")

    def refused(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refused)
    (tmp_path / "lease.txt").write_text("THIS LEASE")
    with pytest.raises(BadInput, match=r"lease\.txt: the file cannot be read \(Permission denied\); set"):
        read_contract(tmp_path / "lease.txt")


def test_long_texts_are_rejected(tmp_path, monkeypatch):
    line, huge = tmp_path / "line.txt", tmp_path / "huge.txt"
    line.write_bytes(b"x" * 10_000_000)
    with huge.open("wb") as file:  # a sparse file, rejected without reading
        file.truncate(10**12)
    for path in (line, huge):
        with pytest.raises(BadInput, match="the contract has more than 5,000,000 characters; split it"):
            read_contract(path)
    for module in (contract, contract_text, contract_pdf):
        monkeypatch.setattr(module, "LIMIT", 30)
    long_pdf = pdf(tmp_path / "long.pdf", ["The term is two years.", "The rent is due monthly."])
    for path in (long_pdf, word(tmp_path / "long.docx", paragraph(run("x" * 31)))):
        with pytest.raises(BadInput, match="more than 30 characters"):
            read_contract(path)


def test_a_pdf_gives_the_text_of_its_pages_and_notes_on_omitted_parts(tmp_path):
    complete = read_contract(pdf(tmp_path / "a.PDF", ["The term is two years.", "The rent is due monthly."]))
    assert complete == contract_text.Contract("The term is two years.\n\nThe rent is due monthly.")
    pages = ["One.", "", "Three.", "", "", "Six."]
    found = read_contract(pdf(tmp_path / "b.pdf", pages, fields={"rent": "100", "term": ""}))
    assert found.text.split() == ["One.", "Three.", "Six."]
    assert found.notes == (
        "No text was found on pages 2, 4-5 of 6.",
        "The content of form fields was not read.",
    )
    assert read_contract(pdf(tmp_path / "c.pdf", ["One."], fields={"term": ""})).notes == ()


def test_scanned_encrypted_and_damaged_pdfs_are_rejected(tmp_path, monkeypatch):
    with pytest.raises(BadInput, match=re.escape("only pictures of pages; run text recognition (OCR)")):
        read_contract(pdf(tmp_path / "scan.pdf", ["", ""]))
    with pytest.raises(BadInput, match="the PDF is encrypted; save a copy without protection"):
        read_contract(pdf(tmp_path / "locked.pdf", ["Secret."], password="secret"))
    path = pdf(tmp_path / "no-print.pdf", ["Open."], password="")
    assert read_contract(path).text == "Open."
    (tmp_path / "half.pdf").write_bytes(path.read_bytes()[:400].replace(b"obj", b"xxx"))
    with pytest.raises(BadInput, match="the PDF is damaged"):
        read_contract(tmp_path / "half.pdf")
    # Lone surrogates and control characters are replaced.
    monkeypatch.setattr("pypdf.PageObject.extract_text", lambda page, **_: "a\ud800b\0c")
    assert read_contract(path).text == "a b c"

    def without_cipher(path):
        raise DependencyError("cryptography is required for AES")

    monkeypatch.setattr(contract_pdf, "PdfReader", without_cipher)
    with pytest.raises(BadInput, match="the PDF is encrypted"):
        read_contract(path)


def test_the_text_of_a_word_file_is_in_reading_order(tmp_path):
    cell = "<w:tc><w:p>{}</w:p></w:tc>".format
    found = read_contract(
        word(
            tmp_path / "a.docx",
            paragraph(run("1.") + "<w:r><w:tab/></w:r>" + run("Term")),
            paragraph(""),
            paragraph(
                f"<w:pPr><w:tabs><w:tab/></w:tabs></w:pPr>{run('Two')}<w:r><w:br/></w:r>{run('years')}"
            ),
            "<w:tbl><w:tblPr/><w:tr>" + cell(run("Fee")) + cell("") + cell(run("100")) + "</w:tr>"
            "<w:tr>" + cell(run("Tax")) + cell(run("19 %")) + "</w:tr></w:tbl>",
            f"<w:sdt><w:sdtPr/><w:sdtContent>{paragraph(run('in a control'))}</w:sdtContent></w:sdt>",
            paragraph(f'<w:hyperlink r:id="rId1">{run("a link")}</w:hyperlink>'),
        )
    )
    assert found.text == "1.\tTerm\n\nTwo\nyears\n\nFee\t100\nTax\t19 %\n\nin a control\n\na link\n"
    assert found.notes == ()


def test_tracked_changes_of_a_word_file_are_accepted_and_omissions_are_noted(tmp_path):
    found = read_contract(
        word(
            tmp_path / "a.docx",
            paragraph(
                "<w:pPr><w:numPr/></w:pPr>"
                + run("The fee is ")
                + f'<w:del w:id="1" w:author="a">{run("100")}</w:del>'
                + f'<w:ins w:id="2" w:author="a">{run("200")}</w:ins>'
                + '<w:r><w:footnoteReference w:id="1"/></w:r>'
                + "<w:r><w:drawing><a:blip/></w:drawing></w:r>"
            ),
        )
    )
    assert found.text == "The fee is 200\n"
    assert found.notes == (
        "Not read from the Word file: footnotes, tracked deletions, "
        "automatic numbers of clauses and lists, pictures.",
    )
    picture = paragraph("<w:r><w:drawing><a:blip/></w:drawing></w:r>")
    with pytest.raises(BadInput, match="the file contains no text"):
        read_contract(word(tmp_path / "b.docx", picture))
