"""What a PDF page draws: parts that are missing, letters that are wrong, and text that
no reader sees.
"""

import zlib

import pytest
from pypdf import apply_configuration

from helpers.pdf_files import CLAUSES, SHOW_PICTURE, Page, form, pdf, stream
from lextables.review.contract_pdf import read_pdf

TEXT = "\n".join(CLAUSES)
CLAUSE = "BT /F 10 Tf 72 400 Td (Either party may terminate.) Tj ET\n"
TWO_PARTS = "/Font<</F 3 0 R>>/XObject<</X 5 0 R/Y 6 0 R/P 4 0 R>>"
MISSING = "Text may be missing or wrong on page 1: the file has faults there."
UNMAPPED = (
    "A font on page 1 does not say which letters it shows. "
    "If letters are wrong below, run OCR first."
)


def contract(tmp_path, page, objects=None):
    path = tmp_path / "contract.pdf"
    path.write_bytes(pdf([page], objects=objects))
    return read_pdf(path)


def test_a_form_without_resources_has_those_of_its_page(tmp_path):
    """Each page has its own, also if the form is the same."""
    drawn = Page([], "/X Do\n", resources=TWO_PARTS)
    without_font = Page([], "/X Do\n", resources="/XObject<</X 5 0 R>>")
    inner = form(CLAUSE, "")
    outer = form("/Y Do\n", "")
    path = tmp_path / "contract.pdf"
    path.write_bytes(pdf([drawn, without_font, drawn], objects={5: outer, 6: inner}))
    assert read_pdf(path).text.count("Either party may terminate.") == 2


CUT = zlib.compress(CLAUSE.encode())[:-20].decode("latin-1")


@pytest.mark.parametrize(
    ("page", "objects"),
    [
        (
            Page(operators="/X Do\n", resources=TWO_PARTS),
            {5: form(CLAUSE, "/Resources<</Font<</F 3 0 R>>>>/Filter/Unknown")},
        ),
        (
            Page(operators="/X Do\n", resources=TWO_PARTS),
            {5: form(CUT, "/Resources<</Font<</F 3 0 R>>>>/Filter/FlateDecode")},
        ),
        (Page(operators="/X Do\n", resources=TWO_PARTS), {}),
        (Page(contents="[{} 0 R 99 0 R]"), {}),
        (Page(contents="[{} 0 R 5 0 R]"), {5: "null"}),
        (Page(contents="[{} 0 R null]"), {}),
    ],
)
def test_parts_that_cannot_be_read_are_noted(page, objects, tmp_path):
    document = contract(tmp_path, page, objects)
    assert (document.text.strip(), document.notes) == (TEXT, (MISSING,))


@pytest.mark.parametrize(("limit", "notes"), [(2, ()), (1, (MISSING,))])
def test_more_forms_than_pypdf_reads_are_noted(limit, notes, tmp_path):
    page = Page(operators="/X Do\n/X Do\n", resources=TWO_PARTS)
    with apply_configuration(xform_maximum_invocations_per_extraction=limit):
        assert contract(tmp_path, page, {5: form(CLAUSE)}).notes == notes


def test_contents_in_parts_are_read_without_a_note(tmp_path):
    document = contract(
        tmp_path, Page(contents="[{} 0 R 5 0 R]"), {5: stream("", CLAUSE)}
    )
    assert "Either party may terminate." in document.text
    assert document.notes == ()


GLYPHS = "".join(f"{ord(letter) - 29:04x}" for letter in "Governing Law: Delaware")
TYPE_0 = "<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/DescendantFonts[6 0 R]{}>>"
DESCENDANT = "<</Type/Font/Subtype/CIDFontType2/BaseFont/A/DW 500>>"
NAMED = "<</Type/Font/Subtype/Type1/BaseFont/A/Encoding<</Differences[{}]>>>>"
MAP = stream(
    "",
    "1 begincodespacerange <0000> <ffff> endcodespacerange\n"
    "1 beginbfrange <0003> <005d> <0020> endbfrange",
)


@pytest.mark.parametrize(
    ("font", "shown", "notes"),
    [
        (TYPE_0.format(""), f"<{GLYPHS}>", (UNMAPPED,)),
        (TYPE_0.format("/ToUnicode 7 0 R"), f"<{GLYPHS}>", ()),
        (TYPE_0.format(""), f"<{GLYPHS[:36]}>", ()),
        (NAMED.format("1/g1/g2/g3"), "(" + "\\001\\002\\003" * 4 + ")", (UNMAPPED,)),
        (NAMED.format("1/L/a/w"), "(" + "\\001\\002\\003" * 4 + ")", ()),
        ("null", "(Governing Law: Delaware)", (UNMAPPED,)),
    ],
)
def test_a_clause_in_a_font_without_letters_is_noted(font, shown, notes, tmp_path):
    page = Page(
        operators=f"BT /G 10 Tf 72 300 Td {shown} Tj ET",
        resources="/Font<</F 3 0 R/G 5 0 R>>",
    )
    document = contract(tmp_path, page, {5: font, 6: DESCENDANT, 7: MAP})
    assert document.notes == notes


def unseen(kind):
    return (f"Read although no reader may see it: {kind} (page 1).",)


PICTURES = "Not read from the PDF: pictures (page 1)."
INVISIBLE = unseen("invisible text")
OUTSIDE = unseen("text outside of the page")
WHITE = unseen("white text")
SHADED = "0 g 0 380 600 40 re f\n"


@pytest.mark.parametrize(
    ("operators", "notes"),
    [
        ("3 Tr " + CLAUSE, INVISIBLE),
        ("7 Tr " + CLAUSE, INVISIBLE),
        ("3 Tr BT /F 10 Tf ( ) Tj ET", ()),
        ("q 3 Tr Q " + CLAUSE, ()),
        ("Q 3 Tr q 0 Tr Q " + CLAUSE, INVISIBLE),
        ("3 Tr " + CLAUSE + SHOW_PICTURE, ()),  # text recognition
        ("3 Tr BT /F 10 Tf 72 400 Td [(A) 5 (B)] TJ ET", INVISIBLE),
        ("3 Tr /X Do", INVISIBLE),
        ("/Y Do " + CLAUSE, ()),
        (CLAUSE.replace("400", "793"), OUTSIDE),
        (CLAUSE.replace("400", "-1"), OUTSIDE),
        (CLAUSE.replace("72", "613"), OUTSIDE),
        (CLAUSE.replace("72", "-1"), OUTSIDE),
        ("q 1 0 0 1 0 500 cm " + CLAUSE + "Q", OUTSIDE),
        ("q 1 0 0 1 0 200 cm /X Do Q", ()),
        ("q 1 0 0 1 0 300 cm /X Do Q", OUTSIDE),
        ("BT /F 10 Tf 14 TL 72 10 Td (a) ' (b) ' ET", OUTSIDE),
        ("1 g " + CLAUSE, WHITE),
        ("1 1 1 rg " + CLAUSE, WHITE),
        ("0 0 0 0 k " + CLAUSE, WHITE),
        ("/C cs 1 1 1 scn " + CLAUSE, WHITE),
        ("1 g 0 g " + CLAUSE, ()),
        ("1 g /C cs " + CLAUSE, ()),
        (SHADED + "1 g " + CLAUSE, ()),
        ("0 0 m 9 9 l f 1 g " + CLAUSE, ()),
        (SHADED.replace("0 g", "1 g") + CLAUSE, WHITE),
        (SHADED.replace("40", "1") + "1 g " + CLAUSE, WHITE),
        (SHADED.replace("re f", "re n 0 0 9 1 re f") + "1 g " + CLAUSE, WHITE),
        ("/S sh 1 g " + CLAUSE, ()),
        (SHOW_PICTURE + "1 g " + CLAUSE, (PICTURES,)),
    ],
)
def test_text_that_no_reader_sees_is_noted(operators, notes, tmp_path):
    page = Page(operators=operators, resources=TWO_PARTS)
    moved = "/Resources<</Font<</F 3 0 R>>>>/Matrix[1 0 0 1 0 100]"
    document = contract(tmp_path, page, {5: form(CLAUSE, moved), 6: form("q 3 Tr")})
    assert document.notes == notes


@pytest.mark.parametrize(
    ("box", "notes"),
    [
        ("/CropBox[0 100 612 792]", ()),
        ("/CropBox[0 500 612 792]", OUTSIDE),
        ("/CropBox[0 0 9999 9999]", ()),
        ("/CropBox[700 0 800 100]", ()),
        ("/CropBox[0 500]", ()),
    ],
)
def test_the_crop_box_is_what_is_shown_of_a_page(box, notes, tmp_path):
    assert contract(tmp_path, Page(operators=CLAUSE, entries=box)).notes == notes
