"""The text of a contract in a Word file (.docx)."""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import docx
from lxml import etree

from lextables.papers.cuad.contract import Contract
from lextables.pipeline.errors import BadInput
from lextables.sources.archives import Bounds, OverBounds, check_members

# A Word file is a zip of XML, which takes thirty times its size in memory.
WORD = Bounds(member=64 << 20, volume=128 << 20)

# Word's elements, by local name.  Tracked changes are read as accepted.
_SKIPPED = {"del", "moveFrom", "Fallback", "instrText", "pPr", "rPr", "sdtPr", "tblPr", "sectPr"}
_LITERAL = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_UNREAD = {
    "headerReference": "headers",
    "footerReference": "footers",
    "footnoteReference": "footnotes",
    "endnoteReference": "endnotes",
    "commentReference": "comments",
    "del": "tracked deletions",
    "numPr": "automatic numbers of clauses and lists",
    "blip": "pictures",
    "imagedata": "pictures",
    "sym": "symbols",
}


def read_docx(path: Path) -> Contract:
    """Return the text of a Word file, with a blank line between paragraphs.

    Raises `BadInput` if it is damaged or encrypted.
    """
    with path.open("rb") as file:
        if file.read(4) == b"\xd0\xcf\x11\xe0":
            raise BadInput(
                "the file is encrypted, or an old Word file",
                where=str(path),
                do="save it as .docx without a password",
            )
    try:
        with zipfile.ZipFile(path) as package:
            check_members(package, WORD)
        body = docx.Document(str(path)).element.body
        # python-docx's paragraphs omit tracked insertions, content controls and text boxes.
        text = "".join(_pieces(body))
    except OSError:
        raise
    except OverBounds as error:
        raise BadInput(str(error), where=str(path), do="save it without pictures, or as plain text") from None
    except Exception as error:  # python-docx raises many types for damaged files; the log has the traceback
        raise BadInput(
            f"the Word file is damaged ({type(error).__name__})",
            where=str(path),
            do="save it again as .docx, or as plain text",
        ) from error
    names = {_name(element) for element in body.iter(etree.Element)}
    unread = list(dict.fromkeys(content for name, content in _UNREAD.items() if name in names))
    notes = (f"Not read from the Word file: {', '.join(unread)}.",) if unread else ()
    return Contract(re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n", notes)


def _pieces(element: etree._Element) -> Iterator[str]:
    """Yield an element's text in reading order: blank lines between paragraphs, a line for a table row."""
    name = _name(element)
    if name in _SKIPPED:
        return
    if name == "t":
        yield element.text or ""
    elif name == "tr":
        cells = (" ".join("".join(_pieces(cell)).split()) for cell in element.iterchildren(etree.Element))
        yield "\t".join(filter(None, cells)) + "\n"
    elif name in _LITERAL:
        yield _LITERAL[name]
    else:
        if name == "txbxContent":
            yield "\n\n"
        for child in element.iterchildren(etree.Element):
            yield from _pieces(child)
        if name in ("p", "tbl"):
            yield "\n\n"


def _name(element: etree._Element) -> str:
    return etree.QName(element).localname
