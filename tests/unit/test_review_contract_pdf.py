"""PDF files: typed text, pages without text, and parts that are damaged or not read."""

import io
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.errors import DependencyError

from helpers.pdf_files import CLAUSES, SHOW_PICTURE, Page, form, pdf, stamped, stream
from lextables.pipeline.errors import BadInput
from lextables.review import contract_pdf
from lextables.review.contract_text import read_contract

WORKFLOW = Path(__file__).parents[2] / "workflow"
TEXT = "\n".join(CLAUSES)
TYPED = "Text that was typed onto page 1 follows the other text of its page."
FORM_FIELDS = "The content of form fields was not read."
ENVELOPE = "Envelope ID 0A1B-2C3D, page {} of 9"
FORM_RESOURCES = "/Font<</F 3 0 R>>/XObject<</G 5 0 R>>"
FORM_WITH_PICTURE = stream(
    "/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</P 4 0 R>>>>",
    "/P Do",
)
CURVES = "0 0 m\n" + "1 1 2 2 3 3 c\n"
OBJECTS = {
    5: stream("", "long text"),
    6: stream("/Filter/Unknown", "a filter that does not exist"),
    7: "<41 zz>",
    8: "[8 0 R]",
    9: form("BT /F 10 Tf (State of Delaware) Tj ET"),
    10: form("q 0 0 9 9 re S Q"),
    11: form("x", "/Resources<</Font<</F 3 0 R>>>>/Filter/Unknown"),
}
OPTIONS = "/Opt[[(1)(State of New York)][(2)(State of Delaware)]]"
CHECK_MARKS = "Not read from the PDF: check marks (page 1)."
IN_ANNOTATIONS = "Not read from the PDF: text in annotations (page 1)."
OWN_WORDS = "The " + " ".join(f"word{chr(97 + number)}" for number in range(24))


def annotated(*annotations: str) -> Page:
    return Page(
        entries=f"/Annots[{' '.join(f'<</Subtype{each}>>' for each in annotations)}]"
    )


def contract(tmp_path: Path, raw: bytes):
    path = tmp_path / "contract.pdf"
    path.write_bytes(raw)
    return read_contract(path)


@pytest.mark.parametrize(
    ("annotation", "typed", "note"),
    [
        ("/FreeText/Contents(State of Delaware)", "State of Delaware", TYPED),
        ("/FreeText/Contents<feff004400450020fb01>", "DE fi", TYPED),
        (
            "/FreeText/RC(<?xml version='1.0'?><body><p>Delaware</p></body>)",
            "Delaware",
            TYPED,
        ),
        ("/FreeText", "", "Not read from the PDF: typed text (page 1)."),
        (
            "/FreeText/Contents 5/F(x)",
            "",
            "Not read from the PDF: typed text (page 1).",
        ),
        ("/FreeText/Contents(hidden)/F 2", "", ""),
        ("/FreeText/Contents(only on paper)/F 32", "", ""),
        ("/FreeText/Contents(printed)/F 4", "printed", TYPED),
        ("/Widget/FT/Tx/V(five\\r\\nyears)", "five\nyears", TYPED),
        ("/Widget/Parent<</FT/Tx/V(five years)>>", "five years", TYPED),
        ("/Widget/FT/Ch/V[(first)(second)]", "first\nsecond", TYPED),
        (f"/Widget/FT/Ch/V(2){OPTIONS}", "State of Delaware", TYPED),
        (f"/Widget/FT/Ch/V[(2)(x)]{OPTIONS}", "State of Delaware\nx", TYPED),
        ("/Widget/FT/Ch/V(x)/Opt[(x)(y)]", "x", TYPED),
        ("/Widget/FT/Tx/V 5 0 R", "long text", TYPED),
        ("/Widget/FT/Tx/V()", "", ""),
        ("/Widget/FT/Tx/V 6 0 R", "", ""),
        ("/Widget/FT/Btn/AS null", "", ""),
        (
            "/Widget/FT/Btn/V/Yes/AS/Yes",
            "",
            "Not read from the PDF: check marks (page 1).",
        ),
        ("/Widget/FT/Btn/V/Off/AS/Off", "", ""),
        ("/Widget/FT/Sig/V<</Type/Sig/Contents<00>>>", "", ""),
        ("/Widget/FT/Tx/AP<</N 9 0 R>>", "", IN_ANNOTATIONS),
        ("/Widget/FT/Tx/V(five years)/AP<</N 9 0 R>>", "five years", TYPED),
        ("/Widget/FT/Btn/AS/Off/AP<</N<</Off 9 0 R>>>>", "", IN_ANNOTATIONS),
        ("/Widget/FT/Btn/AS/On/AP<</N<</Off 9 0 R>>>>", "", CHECK_MARKS),
        ("/Widget/FT/Sig/AP<</N 10 0 R>>/V<</Type/Sig>>", "", ""),
        ("/Square/AP<</N 9 0 R>>", "", IN_ANNOTATIONS),
        ("/Square/AP<</N 11 0 R>>", "", IN_ANNOTATIONS),
        ("/Square/AP<</N 9 0 R>>/F 2", "", ""),
        ("/Square/AP<</N 8 0 R>>", "", ""),
        (
            "/Text/Contents(Is this right?)",
            "",
            "Not read from the PDF: comments (page 1).",
        ),
        ("/Highlight/Contents(note)", "", "Not read from the PDF: comments (page 1)."),
        ("/Highlight", "", ""),
        ("/Stamp", "", "Not read from the PDF: stamps (page 1)."),
        ("/Ink", "", "Not read from the PDF: drawings (page 1)."),
        (
            "/StrikeOut",
            "",
            "Not read from the PDF: marks that strike out text (page 1).",
        ),
        ("/Link/Contents(other words for a link)", "", ""),
        ("/Popup/Contents(x)", "", ""),
        (
            "/FileAttachment/FS<</UF(annex.docx)>>",
            "",
            "Attached files were not read: annex.docx.",
        ),
        (
            "/FileAttachment/FS(list.xlsx)",
            "",
            "Attached files were not read: list.xlsx.",
        ),
        ("/FileAttachment", "", "Attached files were not read: without a name."),
    ],
)
def test_annotations_are_read_or_noted(annotation, typed, note, tmp_path):
    document = contract(tmp_path, pdf([annotated(annotation)], objects=OBJECTS))
    assert document.text.removeprefix(TEXT).strip() == typed
    assert document.notes == ((note,) if note else ())


@pytest.mark.parametrize(
    "annotations",
    [
        "5",
        "null",
        "77 0 R",
        "7 0 R",
        "8 0 R",
        "[null 5 77 0 R 7 0 R (x) <</Subtype 5>> [1]]",
        "[<</Subtype/FreeText/Contents 7 0 R/RC 8 0 R>>]",
        "[<</Subtype/Widget/V 8 0 R/Parent 9 0 R>>]",
    ],
)
def test_faults_in_annotations_leave_the_text(annotations, tmp_path):
    raw = pdf(
        [Page(entries=f"/Annots {annotations}")],
        objects=OBJECTS | {9: "<</Parent 9 0 R>>"},
    )
    assert contract(tmp_path, raw).text.strip() == TEXT


@pytest.mark.parametrize(
    ("root", "fields", "notes"),
    [
        (
            "/AcroForm<</Fields[5 0 R]>>",
            {5: "<</FT/Tx/T(a)/V(five years)>>"},
            (FORM_FIELDS,),
        ),
        (
            "/AcroForm<</Fields[5 0 R]>>",
            {5: "<</T(a)/Kids[6 0 R]>>", 6: "<</FT/Ch/V(x)>>"},
            (FORM_FIELDS,),
        ),
        ("/AcroForm<</Fields[5 0 R]>>", {5: "<</FT/Btn/V/Yes>>"}, (FORM_FIELDS,)),
        ("/AcroForm<</Fields[5 0 R]>>", {5: "<</FT/Btn/V/Off>>"}, ()),
        ("/AcroForm<</Fields[5 0 R]>>", {5: "<</FT/Sig/V<</Type/Sig>>>>"}, ()),
        (
            "/AcroForm<</Fields[5 0 R]>>",
            {5: "<</Kids[6 0 R]>>", 6: "<</Kids[5 0 R]>>"},
            (),
        ),
        ("/AcroForm<</Fields 5>>", {}, ()),
        ("/AcroForm[1 2]", {}, ()),
        ("/AcroForm 99 0 R/Outlines 5/PageLabels 7/Metadata 98 0 R/Names 6", {}, ()),
        (
            "/OCProperties<</D<</OFF[5 0 R]>>>>",
            {5: "<</Name(Draft)>>"},
            ("Text in hidden layers was read as well: Draft.",),
        ),
        (
            "/OCProperties<</OCGs[5 0 R 6 0 R]/D<</BaseState/OFF/ON[6 0 R]>>>>",
            {5: "<</Name(Draft)>>", 6: "<</Name(Final)>>"},
            ("Text in hidden layers was read as well: Draft.",),
        ),
        ("/OCProperties<</D<</OFF[]>>>>", {}, ()),
        ("/OCProperties 5", {}, ()),
        (
            "/Names<</EmbeddedFiles<</Names[(x) 6 0 R]>>>>",
            {5: stream("", "abc"), 6: "<</F(rates.xlsx)/EF<</F 5 0 R>>>>"},
            ("Attached files were not read: rates.xlsx.",),
        ),
        ("/Names<</EmbeddedFiles 6 0 R>>", {6: "<</Kids[6 0 R]>>"}, ()),
        (
            "/Names<</EmbeddedFiles<</Names[(x) <</UF 6/EF<<>>>>]>>>>",
            {},
            ("Attached files were not read: 6.",),
        ),
        ("/Collection<<>>", {}, ()),
        ("/AcroForm<</XFA 5 0 R>>", {5: stream("", "<xdp/>")}, ()),
        ("/AcroForm<</XFA 5 0 R>>/NeedsRendering false", {5: stream("", "<xdp/>")}, ()),
    ],
)
def test_other_parts_of_a_file_are_noted_and_their_faults_leave_the_text(
    root, fields, notes, tmp_path
):
    document = contract(tmp_path, pdf([Page()], root, fields))
    assert (document.text.strip(), document.notes) == (TEXT, notes)


@pytest.mark.parametrize(
    "entries", ["/Tx/V(Delaware)", "/Ch/V(2)/Opt[[(1)(Texas)][(2)(Delaware)]]"]
)
def test_a_form_field_on_a_page_is_read_once(entries, tmp_path):
    field = f"<</Subtype/Widget/T(law)/FT{entries}>>"
    raw = pdf(
        [Page(entries="/Annots[5 0 R]")], "/AcroForm<</Fields[5 0 R]>>", {5: field}
    )
    document = contract(tmp_path, raw)
    assert (document.text.count("Delaware"), document.notes) == (2, (TYPED,))


SCAN = "the PDF has no text, only pictures of pages; run text recognition (OCR) on it first."


@pytest.mark.parametrize(
    "pages",
    [
        [stamped(ENVELOPE.format(number)) for number in range(6)],
        [stamped("RECEIVED 12 MAY")],
        [stamped("RECEIVED"), Page(lines=[])],
        [stamped(OWN_WORDS[:-6])],
        # The same 26 words with another number on half of the pages.
        [stamped(f"{OWN_WORDS} {number}", f"Seal {number}") for number in range(3)]
        + [stamped("Seal")] * 3,
        [Page([ENVELOPE.format(number)]) for number in range(3)],
        [stamped("STAMP", picture="BI /W 1 /H 1 /CS /G /BPC 8 ID x EI")],
        [Page(["STAMP"], "/G Do", resources=FORM_RESOURCES)],
        [Page(["STAMP"], CURVES * 300)],
        [
            Page(
                ["STAMP"],
                SHOW_PICTURE,
                "/Annots[<</Subtype/FreeText/Contents(typed)>>]",
            )
        ],
    ],
)
def test_pictures_with_a_stamp_are_a_scan(pages, tmp_path):
    with pytest.raises(BadInput) as error:
        contract(tmp_path, pdf(pages, objects={5: FORM_WITH_PICTURE}))
    assert str(error.value).endswith(SCAN)


@pytest.mark.parametrize(
    ("page", "notes"),
    [
        (stamped(*CLAUSES), ("Not read from the PDF: pictures (page 1).",)),
        (stamped(OWN_WORDS), ("Not read from the PDF: pictures (page 1).",)),
        (Page(CLAUSES, "BT 3 Tr ET " + SHOW_PICTURE), ()),
        (Page(["Title"], "BT 3 Tr ET " + SHOW_PICTURE), ()),
        (Page(["Title"], CURVES * 299), ()),
        (Page(["Title"]), ()),
        (
            Page(["Title"], entries="/Annots[<</Subtype/FreeText/Contents()>>]"),
            ("Not read from the PDF: typed text (page 1).",),
        ),
        (Page(["Title"], entries="/Rotate 90"), ()),
    ],
)
def test_pages_of_text_are_no_scan(page, notes, tmp_path):
    document = contract(tmp_path, pdf([page]))
    assert document.text.split() == " ".join(page.lines).split()
    assert document.notes == notes


@pytest.mark.parametrize(
    "pages",
    [
        [stamped(*CLAUSES)] * 3,
        [Page(["The rent is 500."])] * 2,
        # A line is repeated if half of the pages have it.
        [stamped(OWN_WORDS)] * 3
        + [stamped(f"{OWN_WORDS} {chr(97 + number)}") for number in range(4)],
    ],
)
def test_copies_of_a_page_of_text_are_text(pages, tmp_path):
    assert not any("No text" in note for note in contract(tmp_path, pdf(pages)).notes)


def test_a_page_with_typed_text_only_is_a_page_of_text(tmp_path):
    typed = Page(
        [], entries="/Annots[<</Subtype/FreeText/Contents(The rent is 500.)>>]"
    )
    assert contract(tmp_path, pdf([typed])).text.strip() == "The rent is 500."


def exchanged(lines: tuple[str, ...]) -> list[str]:
    """Return the lines in capitals as glyph numbers of a font that starts with the
    space.
    """
    letters = {ord(","): ""} | {code: code + 1 for code in range(32, 127) if code != 44}
    return [line.translate(letters) for line in lines]


def test_pages_without_readable_text_are_noted(tmp_path):
    pages = [
        Page(),
        stamped("RECEIVED"),
        Page(exchanged(CLAUSES)),
        Page(operators="<< ( ["),
        Page(lines=[]),
        Page(lines=[]),
        Page(),
        stamped("RECEIVED 2"),
    ]
    document = contract(tmp_path, pdf(pages))
    assert document.notes == (
        "Damaged and not read: page 4 of 8.",
        "No text was found on pages 2, 5-6, 8 of 8 besides a stamp or a repeated line.",
        "Hardly any English words were found on page 3. If its letters are wrong below, run OCR first.",
    )
    assert document.text.count(TEXT) == 2


@pytest.mark.parametrize(
    ("pages", "root", "objects", "message"),
    [
        ([], "", {}, "the PDF has no pages; save it again."),
        (
            [Page(operators="<< ( [")],
            "",
            {},
            "the PDF is damaged: none of its pages can be read; save",
        ),
        (
            [Page()],
            "",
            {2: "<</Type/Pages/Kids[100 0 R 2 0 R]>>"},
            "the PDF is damaged (PdfReadError: ",
        ),
        ([Page()], "", {2: "null"}, "the PDF is damaged (PdfReadError: "),
        (
            [Page(exchanged(CLAUSES))],
            "",
            {},
            "the text has hardly any common English words; if it is a scan",
        ),
        (
            [Page(["\\001\\002\\016\\017" * 5])],
            "",
            {},
            "the text has hardly any common English words; if it is a scan",
        ),
        (
            [Page(["Cover"])],
            "/Collection<<>>/Names<</EmbeddedFiles<</Names[(x) 6 0 R]>>>>",
            {5: stream("", "abc"), 6: "<</F(lease.pdf)/EF<</F 5 0 R>>>>"},
            "the PDF is a portfolio, a cover page with attached files (lease.pdf); open it, and save",
        ),
        (
            [
                Page(
                    [
                        "If this message is not eventually replaced by",
                        "the proper contents of the document,",
                    ]
                )
            ],
            "",
            {},
            "the PDF is an XFA form, which only Adobe's programs show; open it there, and print",
        ),
        (
            [Page(["Veuillez patienter"])],
            "/AcroForm<</XFA 5 0 R>>/NeedsRendering true",
            {5: stream("", "<xdp/>")},
            "the PDF is an XFA form",
        ),
    ],
)
def test_a_file_without_the_contract_is_refused(
    pages, root, objects, message, tmp_path
):
    with pytest.raises(BadInput) as error:
        contract(tmp_path, pdf(pages, root, objects))
    assert str(error.value).startswith(f"{tmp_path / 'contract.pdf'}: {message}")


def test_a_fault_in_the_list_of_attached_files_leaves_the_text(tmp_path, monkeypatch):
    def damaged(reader):
        raise RecursionError("names that contain themselves")

    monkeypatch.setattr(PdfReader, "attachment_list", property(damaged))
    document = contract(tmp_path, pdf([Page()]))
    assert document.text.strip() == TEXT
    assert document.notes == (
        "Attached files were not read: the list of their names is damaged.",
    )


def test_missing_pages_are_noted(tmp_path):
    kids = {2: "<</Type/Pages/Count 3/Kids[100 0 R 88 0 R null]>>"}
    document = contract(tmp_path, pdf([Page()], objects=kids))
    assert document.notes == ("The file is damaged: only 1 of 3 pages were found.",)
    assert contract(tmp_path, pdf([Page()], count=0)).notes == ()


def test_every_cut_of_a_file_is_read_or_refused(tmp_path):
    raw = pdf(
        [annotated("/FreeText/Contents(x)")] * 2,
        "/AcroForm<</Fields[5 0 R]>>",
        {5: "<</V(x)>>"},
    )
    refused = 0
    for end in range(0, len(raw), 97):
        try:
            contract(tmp_path, raw[:end])
        except BadInput:
            refused += 1
    assert refused > len(raw) // 97 / 2


def encrypted(password, algorithm="RC4-128"):
    writer = PdfWriter(io.BytesIO(pdf([Page()])))
    writer.encrypt(password, "owner", algorithm=algorithm)
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
def test_a_file_that_opens_without_a_password_is_read(algorithm, tmp_path):
    assert contract(tmp_path, encrypted("", algorithm)).text.strip() == TEXT


def test_a_file_that_needs_a_password_or_a_missing_cipher_is_refused(
    tmp_path, monkeypatch
):
    with pytest.raises(BadInput, match="is encrypted; save a copy without protection"):
        contract(tmp_path, encrypted("secret"))

    def without_cipher(path):
        raise DependencyError("cryptography is required for AES")

    monkeypatch.setattr(contract_pdf, "PdfReader", without_cipher)
    with pytest.raises(BadInput, match="the PDF is encrypted"):
        contract(tmp_path, pdf([Page()]))


def test_lone_surrogates_and_control_characters_are_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(PageObject, "extract_text", lambda *_, **__: "a\ud800b\0c")
    assert contract(tmp_path, pdf([Page()])).text == "a b c"


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["Agree\\255ment"], "Agreement"),
        (["the agreement: this agree-", "ment"], "the agreement: this agreement"),
        (["a\\240b"], "a b"),
    ],
)
def test_the_text_of_a_pdf_has_plain_characters(lines, text, tmp_path):
    assert contract(tmp_path, pdf([Page(lines)])).text.strip() == text


def test_warnings_of_the_library_go_to_the_log(tmp_path, caplog):
    path = tmp_path / "odd.pdf"
    path.write_bytes(
        pdf(
            [Page()],
            "/AcroForm 98 0 R",
            {2: "<</Type/Pages/Count 2/Kids[100 0 R 88 0 R]>>"},
        )
    )
    with caplog.at_level(logging.WARNING):
        read_contract(path)
    assert any(record.name.startswith("pypdf") for record in caplog.records)
    code = "import pathlib, sys; from lextables.review.contract_pdf import read_pdf"
    code += "; read_pdf(pathlib.Path(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, path],
        cwd=WORKFLOW,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")
