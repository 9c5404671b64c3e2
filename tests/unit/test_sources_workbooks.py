"""Excel workbooks: their rows, and damaged or very large ones."""

import io
import time
import zipfile

import openpyxl
import pytest

from lextables.pipeline.errors import BadInput
from lextables.sources.workbooks import sheets

SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{}</worksheet>'
WIDE, DIGITS = '<row><c r="XFD1"/></row>', "1" * 5000
NUMBER = '<row r="1"><c r="A1"><v>1</v></c></row>'


def workbook(rows=((1, "a"), (None, 2.5))):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def changed(name, content):
    """Return a workbook with other bytes in one of its members; None removes it."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook())) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        for info in old.infolist():
            if info.filename != name:
                new.writestr(info.filename, old.read(info))
        if content is not None:
            new.writestr(name, content)
    return out.getvalue()


def sheet(xml):
    return changed("xl/worksheets/sheet1.xml", SHEET.format(xml))


def test_a_sheet_has_a_title_and_rows():
    assert sheets(workbook(), "w.xlsx") == [("Sheet", [(1, "a"), (None, 2.5)])]


def test_a_sheet_that_claims_every_cell_has_those_that_it_has():
    content = sheet(f'<dimension ref="A1:XFD1048576"/><sheetData>{NUMBER}</sheetData>')
    assert sheets(content, "w.xlsx") == [("Sheet", [(1,)])]


HOSTILE = {
    "empty": b"",
    "no zip": b"a,b\n1,2\n",
    "cut": workbook()[:-200],
    "no workbook": changed("xl/workbook.xml", None),
    "no sheet": changed("xl/worksheets/sheet1.xml", None),
    "no XML": changed("xl/worksheets/sheet1.xml", "rows"),
    "XML cut": changed("xl/worksheets/sheet1.xml", '<worksheet><sheetData><row r="1">'),
    "many rows": sheet(
        '<sheetData><row r="99999999999"><c r="A99999999999"><v>1</v></c></row></sheetData>'
    ),
    "wide rows": sheet(f"<sheetData>{WIDE * 1000}</sheetData>"),
    "no column": sheet(
        '<sheetData><row r="1"><c r="ZZZZZZ1"><v>1</v></c></row></sheetData>'
    ),
    "no number": sheet(
        '<sheetData><row r="1"><c r="A1"><v>one</v></c></row></sheetData>'
    ),
    "no text": sheet(
        '<sheetData><row r="1"><c r="A1" t="s"><v>99999</v></c></row></sheetData>'
    ),
    "digits": sheet(
        f'<sheetData><row r="{DIGITS}"><c r="A1"><v>1</v></c></row></sheetData>'
    ),
    "large sheet": sheet(f"<sheetData>{NUMBER}{' ' * (70 << 20)}</sheetData>"),
    "large texts": changed("xl/sharedStrings.xml", bytes(70 << 20)),
    "other member": changed("xl/media/image1.bin", bytes(130 << 20)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_damaged_or_very_large_workbook_is_refused_in_a_sentence(name):
    begun = time.process_time()
    with pytest.raises(BadInput) as error:
        sheets(HOSTILE[name], "w.xlsx")
    assert str(error.value).startswith("w.xlsx: the workbook cannot be read (")
    assert str(error.value).endswith("; restore the file from the release.")
    assert time.process_time() - begun < 20
