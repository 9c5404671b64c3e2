"""The text of Word files, and the notes on what was not read."""

import pytest

from helpers.word_file import (
    STRICT,
    W,
    package,
    paragraph,
    relationships,
    root,
    run,
    word,
)
from lextables.pipeline.errors import BadInput
from lextables.review import contract_text, contract_word
from lextables.review.contract_text import read_contract
from lextables.sources.archives import Bounds


def read(path, data):
    path.write_bytes(data)
    contract = read_contract(path)
    return contract.text, contract.notes


def note(listed):
    return (f"Not read from the Word file: {listed}.",) if listed else ()


def cells(*inner):
    return (
        "<w:tr>" + "".join(f"<w:tc>{content}</w:tc>" for content in inner) + "</w:tr>"
    )


def field_(*inner):
    """A run for each element of a field; a name is the kind of a fldChar."""
    kinds = ("begin", "separate", "end")
    marks = [
        f'<w:fldChar w:fldCharType="{part}"/>' if part in kinds else part
        for part in inner
    ]
    return "".join(f"<w:r>{mark}</w:r>" for mark in marks)


def code(text):
    return f"<w:instrText>{text}</w:instrText>"


def box(text):
    inner = f"<w:txbxContent>{paragraph(run(text))}</w:txbxContent>"
    return f"<w:drawing><wp:anchor><wp:posOffset>12700</wp:posOffset>{inner}</wp:anchor></w:drawing>"


DELETED_MARK = '<w:rPr><w:del w:id="1"/></w:rPr>'
TEXT = {
    "tab, line break, hyphen": (
        paragraph(
            run("1."),
            "<w:r><w:tab/></w:r>",
            run("A"),
            "<w:r><w:br/></w:r>",
            run("B"),
            "<w:r><w:noBreakHyphen/></w:r>",
            run("C"),
            properties="<w:tabs><w:tab/></w:tabs>",
        ),
        "1.\tA\nB-C\n",
        "",
    ),
    "link, bidirectional text, smart tag": (
        paragraph(
            f'<w:hyperlink r:id="rId9">{run("a ")}</w:hyperlink>',
            f"<w:bdo>{run('b ')}</w:bdo>",
            f"<w:smartTag>{run('c')}</w:smartTag>",
        ),
        "a b c\n",
        "",
    ),
    "insertion accepted, deletion noted": (
        paragraph(
            run("fee "),
            "<w:del><w:r><w:delText>100</w:delText></w:r>",
            "<w:r><w:delText>!</w:delText></w:r></w:del>",
            f"<w:ins>{run('200')}</w:ins>",
        ),
        "fee 200\n",
        "tracked deletions (1)",
    ),
    "moved text": (
        paragraph(f"<w:moveTo>{run('here')}</w:moveTo>")
        + paragraph(f"<w:moveFrom>{run('here')}</w:moveFrom>"),
        "here\n",
        "moved text at its former place (1)",
    ),
    "deleted paragraph mark": (
        paragraph(run("one "), properties=DELETED_MARK) + paragraph(run("two")),
        "one two\n",
        "tracked deletions (1)",
    ),
    "text box in a paragraph with a deleted mark": (
        paragraph(run("one"), box("box"), properties=DELETED_MARK)
        + paragraph(run("two")),
        "one\n\nbox\n\ntwo\n",
        "tracked deletions (1)",
    ),
    "moved paragraph mark": (
        paragraph(run("one "), properties="<w:rPr><w:moveFrom/></w:rPr>")
        + paragraph(run("two")),
        "one two\n",
        "",
    ),
    "text box outside of a paragraph": (box("a"), "a\n", ""),
    "text box in an object": (
        paragraph(
            f"<w:object><v:textbox><w:txbxContent>{paragraph(run('a'))}</w:txbxContent></v:textbox></w:object>"
        ),
        "a\n",
        "",
    ),
    "fields in an instruction": (
        paragraph(
            field_("begin", code("IF "), "begin", code("PAGE"), "end"),
            run("x", "<w:strike/>"),
            field_("separate", "<w:t>yes</w:t>", "end"),
        ),
        "yes\n",
        "",
    ),
    "the longest row of data": (
        f"<w:tbl>{cells(paragraph(run('x' * 100)), paragraph(run('y')))}</w:tbl>",
        f"{'x' * 100}\ty\n",
        "",
    ),
    "inserted paragraph mark": (
        paragraph(run("one"), properties="<w:rPr><w:ins/></w:rPr>")
        + paragraph(run("two")),
        "one\n\ntwo\n",
        "",
    ),
    "hidden paragraph mark": (
        paragraph(run("one "), properties="<w:rPr><w:vanish/><w:specVanish/></w:rPr>")
        + paragraph(run("two")),
        "one two\n",
        "",
    ),
    "deleted row and cell": (
        f"<w:tbl><w:tr><w:trPr><w:del/></w:trPr><w:tc>{paragraph(run('x'))}</w:tc></w:tr>"
        f"<w:tr><w:tc>{paragraph(run('a'))}</w:tc><w:tc><w:tcPr><w:cellDel/></w:tcPr>{paragraph(run('y'))}</w:tc>"
        "</w:tr></w:tbl>",
        "a\n",
        "tracked deletions (2)",
    ),
    "hidden row": (
        f"<w:tbl><w:tr><w:trPr><w:hidden/></w:trPr><w:tc>{paragraph(run('x'))}</w:tc></w:tr>"
        f"{cells(paragraph(run('a')))}</w:tbl>",
        "a\n",
        "hidden text (1)",
    ),
    "hidden runs are one passage": (
        paragraph(
            run("a"),
            run("x", "<w:vanish/>"),
            run("y", "<w:vanish/>"),
            run("b"),
            run("z", "<w:vanish/>"),
        ),
        "ab\n",
        "hidden text (2)",
    ),
    "shown although the property is there": (
        paragraph(run("a", '<w:vanish w:val="0"/><w:webHidden/>')),
        "a\n",
        "",
    ),
    "struck text": (
        paragraph(
            run("fee "),
            run("100", "<w:strike/>"),
            run("200"),
            run("300", "<w:dstrike/>"),
            run("!", '<w:strike w:val="false"/>'),
        ),
        "fee 200!\n",
        "struck text, as it is not in force (2)",
    ),
    "symbols": (
        paragraph(
            *[
                f'<w:r><w:sym w:font="{font}" w:char="{char}"/></w:r>'
                for font, char in [
                    ("Wingdings", "F0FE"),
                    ("Symbol", "F0B3"),
                    ("Arial", "00A7"),
                    ("Wingdings 2", "F052"),
                    ("Webdings", "0061"),
                    ("Symbol", "F0FF"),
                    ("Arial", "zz"),
                ]
            ]
        ),
        "☑≥§\n",
        "symbols (4)",
    ),
    "text in a font of symbols": (
        paragraph(
            run("o\uf078", '<w:rFonts w:ascii="Wingdings" w:hAnsi="Wingdings"/>'),
            run("\uf0b7", '<w:rFonts w:ascii="Symbol"/>'),
            run("ox", '<w:rFonts w:ascii="Arial"/>'),
        ),
        "□☒•ox\n",
        "",
    ),
    "symbols as private characters": (
        paragraph(run("\uf0b7 a")),
        "\uf0b7 a\n",
        "symbols (1)",
    ),
    "field": (
        paragraph(
            run("see "),
            field_(
                "begin", code("REF _Ref1"), "separate", "<w:t>Section 2</w:t>", "end"
            ),
            run("."),
        ),
        "see Section 2.\n",
        "",
    ),
    "field in an instruction": (
        paragraph(
            field_(
                "begin",
                code("IF "),
                "begin",
                code("MERGEFIELD x"),
                "separate",
                "<w:t>7</w:t>",
                "end",
                "<w:t>lost</w:t>",
                "separate",
                "<w:t>yes</w:t>",
                "end",
            )
        ),
        "yes\n",
        "",
    ),
    "field without an end": (
        paragraph(field_("begin", code("PAGE")), run("a")) + paragraph(run("b")),
        "a\n\nb\n",
        "",
    ),
    "end without a field": (paragraph(field_("end", "separate"), run("a")), "a\n", ""),
    "field without a result": (
        paragraph(
            field_("begin", code(" PAGE "), "end"),
            run("a"),
            field_("begin", code("XE x"), "end"),
            '<w:fldSimple w:instr="DATE"/>',
        ),
        "a\n",
        "fields without a stored result (2)",
    ),
    "simple field": (
        paragraph(f'<w:fldSimple w:instr="DATE">{run("May 1")}</w:fldSimple>'),
        "May 1\n",
        "",
    ),
    "legacy check box": (
        paragraph(
            '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox/></w:ffData></w:fldChar></w:r>',
            field_(code("FORMCHECKBOX"), "end"),
            run("a"),
        ),
        "a\n",
        "check boxes (1)",
    ),
    "content control": (
        f"<w:sdt><w:sdtPr/><w:sdtContent>{paragraph(run('a'))}</w:sdtContent></w:sdt>"
        f"<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{paragraph(run('Click'))}</w:sdtContent></w:sdt>",
        "a\n",
        "placeholders of content controls that nobody filled in (1)",
    ),
    "row in a content control": (
        "<w:tbl><w:sdt><w:sdtContent>"
        + cells(paragraph(run("a")), paragraph(run("b")))
        + "</w:sdtContent></w:sdt></w:tbl>",
        "a\tb\n",
        "",
    ),
    "text box after its paragraph, once": (
        paragraph(
            run("The "),
            "<w:r><mc:AlternateContent><mc:Choice>",
            box("box"),
            "</mc:Choice><mc:Fallback>",
            "<w:pict><v:textbox><w:txbxContent>",
            paragraph(run("box")),
            "</w:txbxContent></v:textbox>",
            "</w:pict></mc:Fallback></mc:AlternateContent></w:r>",
            run("fee"),
        ),
        "The fee\n\nbox\n",
        "",
    ),
    "only the fallback has text": (
        paragraph(
            "<w:r><mc:AlternateContent><mc:Choice><x:new/></mc:Choice><mc:Fallback><w:t>a</w:t></mc:Fallback>"
            "</mc:AlternateContent></w:r>"
        ),
        "a\n",
        "",
    ),
    "hidden text box": (
        paragraph(f"<w:r><w:rPr><w:vanish/></w:rPr>{box('x')}</w:r>", run("a")),
        "a\n",
        "hidden text (1)",
    ),
    "references": (
        paragraph(
            run("a"),
            "<w:r><w:footnoteReference/><w:endnoteReference/><w:commentReference/></w:r>",
        ),
        "a\n",
        "footnotes (1), endnotes (1), comments (1)",
    ),
    "objects": (
        paragraph(
            run("a"),
            '<w:r><w:drawing><a:blip r:embed="rId5"/><c:chart r:id="rId6"/>'
            '<dgm:relIds r:dm="rId7"/><a:t>label</a:t></w:drawing>',
            '<w:object><o:OLEObject r:id="rId8"/></w:object></w:r>',
        ),
        "a\n",
        "pictures (1), charts (1), diagrams (1), text in drawings (1), embedded objects (1)",
    ),
    "a line has no content": (
        paragraph(run("a"), "<w:r><w:drawing><wps:wsp/></w:drawing></w:r>"),
        "a\n",
        "",
    ),
    "formula": (
        paragraph(run("a"), "<m:oMath><m:r><m:t>x</m:t></m:r></m:oMath>"),
        "a\n",
        "formulas (1)",
    ),
    "unknown elements": (
        paragraph(
            run("a"),
            f"<x:wrapper>{run('b')}</x:wrapper>",
            '<x:other r:id="rId7"/>',
            "<x:raw>c</x:raw>",
            "<x:empty/>",
        ),
        "a\n",
        "text in <wrapper> (1), the content of <other> (1), text in <raw> (1)",
    ),
    "automatic numbers": (
        paragraph(run("a"), properties="<w:numPr/>")
        + paragraph(properties="<w:numPr/>")
        + paragraph(run("b"), properties='<w:numPr><w:numId w:val="0"/></w:numPr>'),
        "a\n\nb\n",
        "automatic numbers of clauses and lists (1)",
    ),
    "rows of data": (
        f"<w:tbl>{cells(paragraph(run('Fee')), paragraph(), paragraph(run('100 '), run('USD')))}"
        f"{cells(paragraph(run('Tax')), paragraph(run('19 %')))}</w:tbl>"
        + paragraph(run("end")),
        "Fee\t100 USD\nTax\t19 %\n\nend\n",
        "",
    ),
    "layout table": (
        f"<w:tbl>{cells(paragraph(run('1. Term.')) + paragraph(run('Two years.')), paragraph(run('note')))}"
        f"{cells(paragraph(run('x' * 101)), paragraph(run('note')))}</w:tbl>",
        f"1. Term.\n\nTwo years.\n\nnote\n\n{'x' * 101}\n\nnote\n",
        "",
    ),
    "table in a cell": (
        "<w:tbl>"
        + cells(
            f"{paragraph(run('a'))}<w:tbl>{cells(paragraph(run('b')), paragraph(run('c')))}</w:tbl>"
        )
        + "</w:tbl>",
        "a\n\nb\tc\n",
        "",
    ),
}


@pytest.mark.parametrize("name", TEXT)
def test_the_text_and_the_notes_are_what_a_reader_sees(tmp_path, name):
    body, text, listed = TEXT[name]
    assert read(tmp_path / "a.docx", word(body)) == (text, note(listed))


DATA = root(
    "x:c",
    "<x:law>Utah</x:law><x:law>New\nYork</x:law><x:day at='2024-01-31T00:00:00'/>",
)


@pytest.mark.parametrize(
    ("xpath", "shown", "properties", "is_listed"),
    [
        ("/c/law", "Utah", "", False),
        ("/ns0:c[1]/ns0:law[2]", "New York", "", False),
        ("/ns0:c[1]/ns0:law[2]", "Utah", "", True),
        ("/c/law[3]", "Utah", "", True),
        ("//law[.='Utah']", "Utah", "", True),
        ("/c/day/@at", "31 January", '<w:date w:fullDate="2024-01-31Z"/>', False),
        ("/c/day/@at", "1 February", '<w:date w:fullDate="2024-02-01Z"/>', True),
        (
            "/c/law",
            "Beehive State",
            '<w:dropDownList><w:listItem w:displayText="Beehive State" w:value="Utah"/></w:dropDownList>',
            False,
        ),
        ("/c/law", "☒", "<w:checkbox/>", False),
        ("/c/day", "Click", "<w:showingPlcHdr/>", False),
        ("/c/law", "Click", "<w:showingPlcHdr/>", True),
    ],
)
def test_content_controls_are_noted_if_their_data_has_another_text(
    xpath, shown, properties, is_listed, tmp_path
):
    binding = f'<w:dataBinding w:xpath="{xpath}"/>'
    content = f"<w:sdtContent>{run(shown)}</w:sdtContent>"
    control = f"<w:sdt><w:sdtPr>{properties}{binding}</w:sdtPr>{content}</w:sdt>"
    parts = {"customXml__item1": DATA, "customXml__item2": "<damaged"}
    raw = word(paragraph(run("State: "), control), **parts)
    _, notes = read(tmp_path / "a.docx", raw)
    listed = "content controls bound to data, which may show other text (1)"
    assert (listed in "".join(notes)) == is_listed


def style(kind, name, inner, based_on="", default=""):
    parent = f'<w:basedOn w:val="{based_on}"/>' if based_on else ""
    return f'<w:style w:type="{kind}" w:styleId="{name}"{default}>{parent}{inner}</w:style>'


HIDING = "<w:rPr><w:vanish/></w:rPr>"
STYLES = "".join(
    [
        style("paragraph", "Note", HIDING),
        style("paragraph", "Child", "", based_on="Note"),
        style(
            "paragraph",
            "Shown",
            '<w:rPr><w:vanish w:val="0"/></w:rPr>',
            based_on="Note",
        ),
        style("paragraph", "Loop", "", based_on="Loop"),
        style("paragraph", "Listed", "<w:pPr><w:numPr/></w:pPr>"),
        style("character", "Quiet", HIDING),
        style("character", "Old", "<w:rPr><w:strike/></w:rPr>"),
        style("table", "Grid", HIDING),
    ]
)


@pytest.mark.parametrize(
    ("paragraph_style", "run_properties", "listed"),
    [
        ("Note", "", "hidden text (1)"),
        ("Child", "", "hidden text (1)"),
        ("Shown", "", ""),
        ("Loop", "", ""),
        ("Missing", "", ""),
        ("Note", '<w:vanish w:val="off"/>', ""),
        ("", '<w:rStyle w:val="Quiet"/>', "hidden text (1)"),
        (
            "Note",
            '<w:rStyle w:val="Quiet"/>',
            "",
        ),  # a toggle property is on if an odd number of styles set it
        ("", '<w:rStyle w:val="Old"/>', "struck text, as it is not in force (1)"),
        ("Listed", "", "automatic numbers of clauses and lists (1)"),
    ],
)
def test_styles_hide_strike_and_number(
    tmp_path, paragraph_style, run_properties, listed
):
    properties = f'<w:pStyle w:val="{paragraph_style}"/>'
    body = paragraph(run("b", run_properties), properties=properties) + paragraph(
        run("a")
    )
    text, notes = read(tmp_path / "a.docx", word(body, styles=STYLES))
    assert notes == note(listed)
    assert ("b" in text) == (not listed or "numbers" in listed)


def test_default_styles_and_table_styles_hide(tmp_path):
    default = style("paragraph", "Normal", HIDING, default=' w:default="1"')
    everything = f"<w:docDefaults><w:rPrDefault>{HIDING}</w:rPrDefault></w:docDefaults>"
    shown = paragraph(run("a", '<w:vanish w:val="0"/>'), run("x"))
    hidden = cells(paragraph(run("x")))
    table = f'<w:tbl><w:tblPr><w:tblStyle w:val="Grid"/></w:tblPr>{hidden}</w:tbl>'
    for data in (
        word(shown, styles=default),
        word(shown, styles=everything),
        word(table + paragraph(run("a")), styles=STYLES),
    ):
        expected = ("a\n", note("hidden text (1)"))
        assert read(tmp_path / "a.docx", data) == expected


CHUNK = '<w:altChunk r:id="rId9"/>'
ARCHIVE = (
    "MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=xx\r\n\r\n--xx\r\n"
    "Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    "<p>The fee =C2=A7 is=\r\n due.</p>\r\n--xx--\r\n"
)


@pytest.mark.parametrize(
    ("target", "content", "text", "notes"),
    [
        ("chunk.html", "<p>One.</p><p>Two.</p>", "One.\n\nTwo.", ()),
        ("/word/chunk.htm", "<html><body>One.<br>Two.</body></html>", "One.\nTwo.", ()),
        ("../word/./chunk.html", "<p>One.</p>", "One.", ()),
        ("chunk.mht", ARCHIVE, "The fee § is due.", ()),
        ("chunk.txt", "One <b>.", "One <b>.", ()),
        (
            "chunk.rtf",
            r"{\rtf1 One.}",
            "",
            note("an inserted part (the file is rich text (RTF))"),
        ),
        (
            "chunk.docx",
            word(""),
            "",
            note("an inserted part (a Word file or PDF in the file)"),
        ),
        (
            "chunk.html",
            '<p>One.<img src="a.png"></p>',
            "One.",
            ("Not read from the HTML: pictures and objects (1).",),
        ),
        ("chunk.html", None, "", note("inserted parts that are missing (1)")),
    ],
)
def test_inserted_parts_are_read_in_place_or_noted(
    tmp_path, target, content, text, notes
):
    part = f"word/{target.rpartition('/')[2]}"
    relations = {"rId9": ("aFChunk", target)}
    body = paragraph(run("Before.")) + CHUNK + paragraph(run("After."))
    parts = {
        "word/document.xml": root("w:document", f"<w:body>{body}</w:body>"),
        "word/_rels/document.xml.rels": relationships(relations),
        part: content,
    }
    between = f"\n\n{text}\n\n" if text else "\n\n"
    expected = (f"Before.{between}After.\n", notes)
    assert read(tmp_path / "a.docx", package(parts)) == expected


def test_headers_are_noted_if_they_show_something(tmp_path):
    body = (
        paragraph(run("a"))
        + '<w:sectPr><w:headerReference r:id="h"/><w:footerReference r:id="f"/></w:sectPr>'
    )
    targets = {"h": ("header", "header1.xml"), "f": ("footer", "footer1.xml")}
    stories = {
        "word__header1": root("w:hdr", paragraph(run("Draft"))),
        "word__footer1": root("w:ftr", paragraph()),
    }
    assert read(tmp_path / "a.docx", word(body, targets, **stories)) == (
        "a\n",
        note("headers (1)"),
    )
    assert read(tmp_path / "b.docx", word(body, targets)) == ("a\n", ())


BODY = paragraph(run("a"))
DOCUMENT = root("w:document", f"<w:body>{BODY}</w:body>")


@pytest.mark.parametrize(
    "data",
    [
        word(BODY, {"rId7": ("image", "NULL")}),
        word(BODY, {"rId7": ("hyperlink", "#_top")}),
        word(BODY, {"rId7": ("image", "../../../../x.png")}),
        word(BODY, **{"[Content_Types]": None}),
        word(BODY, **{"[Content_Types]": "<Types"}),
        word(BODY, styles="<w:style"),
        word(BODY, **{"word__styles": None}),
        word(BODY, main="word/document2.xml"),
        word(BODY, main="Docs/main.xml"),
        package({"word/document.xml": DOCUMENT}),
        package({"word\\document.xml": DOCUMENT}),
        package({"_rels/.rels": "no xml", "Word/Document.XML": DOCUMENT}),
        package(
            {
                "_rels/.rels": relationships(
                    {"rId1": ("officeDocument", "word/gone.xml")}
                ),
                "word/document.xml": DOCUMENT,
            }
        ),
        package({"word/document.xml": DOCUMENT.replace(W, STRICT[W])}),
        word(BODY).replace(b"document.main+xml", b"template.main+xml"),
    ],
)
def test_only_the_main_part_is_needed(tmp_path, data):
    assert read(tmp_path / "a.docx", data) == ("a\n", ())


def fault(path, data):
    path.write_bytes(data)
    with pytest.raises(BadInput) as error:
        read_contract(path)
    return str(error.value).removeprefix(f"{path}: ")


def with_byte(place, value):
    """A Word file with another byte in the directory's first entry: 6 is the version, 8
    the flags.
    """
    data = bytearray(word(BODY))
    data[data.index(b"PK\x01\x02") + place] = value
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"PK\x03\x04 cut off",
            "the Word file is damaged (File is not a zip file); save it again as .docx",
        ),
        (word(BODY)[:400], "the Word file is damaged (File is not a zip file)"),
        (package({"word/document.xml": "<w:document"}), "the Word file is damaged ("),
        (package({"word/document.xml": ""}), "the Word file is damaged ("),
        (with_byte(6, 92), "the Word file is damaged (zip file version 9.2)"),
        (with_byte(8, 1), "the zip file is encrypted; save it without a password."),
        (
            word(""),
            "the file contains no text that is read; save the contract as PDF or plain text.",
        ),
        (
            word(paragraph(run("x", "<w:vanish/>"))),
            "the file contains no text that is read. Not read from the Word file: hidden text (1); ",
        ),
        (
            word("<w:tc>" * 245 + "</w:tc>" * 245),
            "the elements of the Word file are nested too deeply; ",
        ),
        (
            word("<w:r>" * 5000 + "</w:r>" * 5000),
            "the Word file is damaged (Excessive depth",
        ),
        (
            package({"xl/workbook.xml": "<x/>"}),
            "the file is an Excel workbook; save the contract as",
        ),
        (
            package({"ppt/presentation.xml": "<x/>"}),
            "the file is a PowerPoint presentation; ",
        ),
        (
            package({"mimetype": "application/vnd.oasis.opendocument.text"}),
            "the file is an OpenDocument text (.o",
        ),
        (
            package({"mimetype": "application/epub+zip"}),
            "the file is an electronic book (EPUB); ",
        ),
        (package({"Index/Document.iwa": "x"}), "the file is an Apple Pages document; "),
        (package({"a.txt": "x"}), "the file is a zip file; "),
        (package({}), "the file is a zip file; "),
    ],
)
def test_zips_that_are_not_read_are_refused_by_their_type(tmp_path, data, message):
    assert fault(tmp_path / "a.docx", data).startswith(message)


def test_inserted_parts_cannot_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(contract_word, "LIMIT", 1000)
    reads = []

    def counted(data):
        reads.append(data)
        return contract_text.Contract("x" * 500)

    monkeypatch.setattr(contract_text, "_read_inserted", counted)
    parts = {"word__chunk": "x"}
    data = word(CHUNK * 100, {"rId9": ("aFChunk", "chunk.xml")}, **parts)
    assert "more than 5,000,000 characters" in fault(tmp_path / "a.docx", data)
    assert len(reads) == 1


def test_parts_that_are_too_large_together_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(contract_word, "WORD", Bounds(member=4000, volume=6000))
    data = word(paragraph(run("x" * 2500)), styles="x" * 2500)
    assert "more than 6,000 bytes" in fault(tmp_path / "a.docx", data)
