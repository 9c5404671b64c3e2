"""The text of a contract in a Word file, as a reader of the document sees it.

Only the main part of the package is needed.  It is walked with an allow-list (`_READ`): the text of all other
elements is not read, and each such element with content (text, or a reference to another part) is noted.
Tracked changes are read as accepted.
"""

import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from lxml import etree

from lextables.papers.cuad.contract import LIMIT, Contract, too_long
from lextables.papers.cuad.word_styles import (
    Styles,
    attribute,
    child,
    is_on,
    name_of,
    value_of,
)
from lextables.pipeline.errors import BadInput
from lextables.sources.archives import Bounds, OverBounds, read_member

# A Word file is a zip of XML, which takes thirty times its size in memory.
WORD = Bounds(member=64 << 20, volume=128 << 20, ratio=1000)
MAIN_PART = "word/document.xml"

# Elements, by local name, whose content is text of the contract.
_READ = {
    *(
        "document",
        "body",
        "p",
        "r",
        "hyperlink",
        "ins",
        "moveTo",
        "smartTag",
        "customXml",
        "dir",
        "bdo",
    ),
    *(
        "sdt",
        "sdtContent",
        "fldSimple",
        "ruby",
        "rubyBase",
        "tbl",
        "tr",
        "tc",
        "AlternateContent",
    ),
    *("Choice", "Fallback"),
}
_LITERAL = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# Elements with content that no reader sees.
_INVISIBLE = {
    *(
        "instrText",
        "delInstrText",
        "fldData",
        "docPr",
        "cNvPr",
        "hlinkClick",
        "hlinkHover",
    ),
    *("printerSettings", "tabs"),
}
DELETIONS = "tracked deletions"
DRAWING = "text in drawings"
HIDDEN = "hidden text"
NUMBERS = "automatic numbers of clauses and lists"
PICTURES = "pictures"
PLACEHOLDERS = "placeholders of content controls that nobody filled in"
STRUCK = "struck text, as it is not in force"
SYMBOLS = "symbols"
# Elements whose text is not read, with the name for it in the note.
_UNREAD_TEXT = {
    "del": DELETIONS,
    "delText": DELETIONS,
    "moveFrom": "moved text at its former place",
    "drawing": DRAWING,
    "pict": DRAWING,
    "object": DRAWING,
    "oMath": "formulas",
    "oMathPara": "formulas",
    "rt": "pronunciation guides",
}
# Elements that stand for content elsewhere.
_UNREAD = {
    "headerReference": "headers",
    "footerReference": "footers",
    "footnoteReference": "footnotes",
    "endnoteReference": "endnotes",
    "commentReference": "comments",
    "blip": PICTURES,
    "svgBlip": PICTURES,
    "imagedata": PICTURES,
    "fill": PICTURES,
    "chart": "charts",
    "relIds": "diagrams",
    "OLEObject": "embedded objects",
    "control": "form controls",
    "contentPart": "ink",
    "subDoc": "linked documents",
    "textpath": "decorative text",
    "checkBox": "check boxes",
    "ddList": "drop-down fields",
    "pgNum": "page numbers",
}
_STORIES = {"headerReference", "footerReference"}
_WITHOUT_REFERENCE = {
    *(
        "footnoteReference",
        "endnoteReference",
        "commentReference",
        "textpath",
        "checkBox",
        "ddList",
        "pgNum",
    ),
}
# Fields that show nothing.
_SILENT_FIELDS = {
    "XE",
    "TC",
    "TA",
    "RD",
    "SET",
    "PRIVATE",
    "ASK",
    "ADVANCE",
    "BIBLIOGRAPHY",
}
_FORM_FIELDS = {"FORMCHECKBOX", "FORMDROPDOWN"}  # noted by their data
# The longest paragraph of a cell in a row of data; longer ones are prose in a layout table.
CELL = 100

# Symbols by font and code; the codes may be shifted by 0xF000.
_CODES = {
    "wingdings": {
        **dict(
            zip(
                b"\x6c\x6e\x71\xa7\xa8\xd8\xe0\xfb\xfc\xfd\xfe",
                "●■❑▪◻➢→✗✓☒☑",
                strict=True,
            )
        ),
    },
    "symbol": {
        **dict(
            zip(
                b"\xa3\xb0\xb1\xb3\xb4\xb7\xb9\xd2\xd3\xd4\xe2\xe3\xe4",
                "≤°±≥×•≠®©™®©™",
                strict=True,
            )
        ),
        **dict(zip(b"abgdepqlms", "αβγδεπθλμσ", strict=True)),
        **dict(zip(b"DSWPF", "ΔΣΩΠΦ", strict=True)),
    },
}
_PRIVATE_USE = re.compile("[\ue000-\uf8ff]")


def read_word(path: Path, read_part: Callable[[bytes], Contract]) -> Contract:
    """Return the text of a Word file, with a blank line between paragraphs.

    ``read_part`` reads an inserted part (`altChunk`).  Raises `BadInput` for a zip of another type, and for a
    file that is encrypted, damaged or too large.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if any(info.flag_bits & 1 for info in archive.infolist()):
                raise BadInput(
                    "the zip file is encrypted", do="save it without a password"
                )
            return _Reader(_Package(archive), read_part).contract()
    except OverBounds as error:
        what = f"a part of the Word file is too large ({error})"
        raise BadInput(what, do="save it as plain text") from None
    # zipfile raises NotImplementedError for a version of the format that it does not know.
    except (zipfile.BadZipFile, NotImplementedError, etree.XMLSyntaxError) as error:
        what = f"the Word file is damaged ({error})"
        raise BadInput(what, do="save it again as .docx, or as plain text") from error
    except RecursionError as error:
        what = "the elements of the Word file are nested too deeply"
        raise BadInput(what, do="save it as plain text") from error


class _Package:
    """The parts of a package; a part or a relationship that is missing or damaged is None or absent."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        # Names of parts are compared without case; some programs write backslashes.
        self.names = {_part_name(name): name for name in archive.namelist()}
        self.size = 0  # bytes read

    def read(self, part: str) -> bytes | None:
        """Return the bytes of a part, or None."""
        name = self.names.get(_part_name(part))
        if name is None:
            return None
        content = read_member(self.archive, name, WORD)
        self.size += len(content)
        if self.size > WORD.volume:
            raise OverBounds(
                f"its parts with text have more than {WORD.volume:,} bytes"
            )
        return content

    def xml(self, part: str) -> etree._Element | None:
        """Return the root of a part that is not needed, or None."""
        try:
            content = self.read(part)
            return None if content is None else _parsed(content)
        except (zipfile.BadZipFile, etree.XMLSyntaxError):
            return None

    def relationships(self, part: str) -> dict[str, tuple[str, str]]:
        """Return {id: (last word of the type, part)} of a part's relationships ("" for the package)."""
        path = PurePosixPath(part)
        root = self.xml(str(path.parent / "_rels" / f"{path.name}.rels"))
        found = {}
        for element in () if root is None else root.iter(etree.Element):
            kind = element.get("Type", "").rpartition("/")[2]
            target = element.get("Target", "")
            if not target.startswith("/"):
                target = f"{path.parent}/{target}"
            found[element.get("Id", "")] = (kind, _part_name(target))
        return found

    def main_part(self) -> tuple[str, etree._Element]:
        """Return the name and the root of the main part."""
        candidates = [
            part
            for kind, part in self.relationships("").values()
            if kind == "officeDocument"
        ]
        types = self.xml("[Content_Types].xml")
        for element in () if types is None else types.iter(etree.Element):
            if re.search(r"word.*\.main\+xml$", element.get("ContentType", "")):
                candidates.append(element.get("PartName", ""))
        damage: etree.XMLSyntaxError | zipfile.BadZipFile | None = None
        for part in (*candidates, MAIN_PART):
            try:
                content = self.read(part)
                root = None if content is None else _parsed(content)
            except (etree.XMLSyntaxError, zipfile.BadZipFile) as error:
                damage = damage or error
                continue
            if root is not None and name_of(root) == "document":
                return _part_name(part), root
        if damage:
            raise damage
        raise BadInput(
            f"the file is {self._kind()}",
            do="save the contract as .docx, PDF or plain text",
        )

    def _kind(self) -> str:
        mimetype = self.read("mimetype") or b""
        for beginning, kind in _MIMETYPES.items():
            if mimetype.startswith(beginning):
                return kind
        for folder, kind in _FOLDERS.items():
            if any(name.startswith(folder) for name in self.names):
                return kind
        return "a zip file"


_MIMETYPES = {
    b"application/vnd.oasis.opendocument.text": "an OpenDocument text (.odt)",
    b"application/vnd.oasis.opendocument": "an OpenDocument file",
    b"application/epub": "an electronic book (EPUB)",
}
_FOLDERS = {
    "xl/": "an Excel workbook",
    "ppt/": "a PowerPoint presentation",
    "visio/": "a Visio drawing",
    "index/": "an Apple Pages document",
    "word/": "a Word file without its main part",
}


def _part_name(name: str) -> str:
    """Return a part's path without ``..``, leading slash, backslashes and capitals."""
    parts: list[str] = []
    for part in name.replace("\\", "/").lower().split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _parsed(content: bytes) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(content, parser)


def _elements(element: etree._Element) -> Iterator[etree._Element]:
    return element.iterchildren(etree.Element)


def _references(element: etree._Element) -> list[str]:
    """Return the ids of other parts that an element's attributes name."""
    found = []
    for name, value in element.attrib.items():
        if value and ("/relationships}" in name or name.endswith("}relid")):
            found.append(value)
    return found


def _has_content(element: etree._Element) -> bool:
    """Whether an element, or one below it, shows text or refers to another part."""
    for inside in element.iter(etree.Element):
        shows_text = name_of(inside) in ("t", "sym") and (inside.text or inside.attrib)
        if shows_text or _references(inside):
            return True
    return False


@dataclass
class _Field:
    """An open field: whether its result has begun, and its instruction."""

    in_result: bool = False
    instruction: str = ""


@dataclass
class _Reader:
    """Walks the main part, and collects text and what was not read."""

    package: _Package
    read_part: Callable[[bytes], Contract]
    unread: Counter[str] = field(default_factory=Counter)
    out: list[str] = field(default_factory=list)
    boxes: list[str] = field(
        default_factory=list
    )  # text boxes anchored in the open paragraph
    row: list[str] = field(default_factory=list)
    fields: list[_Field] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    parts: dict[str, Contract] = field(default_factory=dict)
    # (kind, id) of the styles of the open table and paragraph.
    table_style: tuple[str, str] = ("table", "")
    paragraph_style: tuple[str, str] = ("paragraph", "")
    size: int = 0
    last_unread: str = ""

    def contract(self) -> Contract:
        """Return the text and the notes of the package."""
        part, root = self.package.main_part()
        self.relationships = self.package.relationships(part)
        named = [name for kind, name in self.relationships.values() if kind == "styles"]
        named.append(str(PurePosixPath(part).parent / "styles.xml"))
        roots = [self.package.xml(name) for name in named]
        self.styles = Styles(next((root for root in roots if root is not None), None))
        self.complete_fields = _complete_fields(root)
        self._walk(root, "")
        self.out += self.boxes
        text = re.sub(r"\n{3,}", "\n\n", "".join(self.out)).strip("\n") + "\n"
        if symbols := _PRIVATE_USE.findall(text):
            self.unread[SYMBOLS] += len(symbols)
        notes = tuple(dict.fromkeys(self.notes))
        if self.unread:
            listed = ", ".join(
                f"{name} ({count})" for name, count in self.unread.items()
            )
            notes = (f"Not read from the Word file: {listed}.", *notes)
        return Contract(text, notes)

    def _walk(self, element: etree._Element, unread: str) -> None:
        """Read an element.  ``unread`` is the name in the note of text that is not read, "" where it is."""
        name = name_of(element)
        if name in _INVISIBLE:
            if name == "instrText" and self.fields:
                self.fields[-1].instruction += element.text or ""
        elif name in ("t", "delText"):
            self._text(element.text or "", unread or _UNREAD_TEXT.get(name, ""))
        elif name == "fldChar":
            self._field(element)
            self._children(element, unread)
        elif name in _LITERAL:
            self._write(_LITERAL[name], unread)
        elif name == "sym":
            self._symbol(element, unread)
        elif name == "altChunk":
            self._inserted_part(element, unread)
        elif name in _HANDLERS:
            _HANDLERS[name](self, element, unread)
        else:
            self._other(element, name, unread)

    def _children(self, element: etree._Element, unread: str) -> None:
        for inside in _elements(element):
            self._walk(inside, unread)

    def _other(self, element: etree._Element, name: str, unread: str) -> None:
        """Read an element of the allow-list, or note the content of any other."""
        if name in _READ:
            self._children(element, unread)
            return
        reason = unread or _UNREAD_TEXT.get(name) or f"text in <{name}>"
        is_shown = name in _WITHOUT_REFERENCE or bool(_references(element))
        if name in _STORIES:
            is_shown = self._story_has_content(element)
        if is_shown:
            self._note(_UNREAD.get(name, f"the content of <{name}>"))
        # In drawings such text is a position or a size.
        if reason != DRAWING:
            self._text(element.text or "", reason)
        # Only drawings hold text boxes.
        self._children(element, reason)

    def _write(self, text: str, unread: str) -> None:
        if unread or self._in_instruction():
            return
        self.size += len(text)
        if self.size > 2 * LIMIT:  # line ends are counted too, but not all are kept
            raise too_long()
        self.out.append(text)
        self.last_unread = ""

    def _text(self, text: str, unread: str) -> None:
        """Write text, or count it once with the adjacent text that is not read for the same reason."""
        if not unread:
            self._write(text, "")
        elif text.strip() and unread != self.last_unread and not self._in_instruction():
            self._note(unread)
            self.last_unread = unread

    def _note(self, name: str) -> None:
        self.unread[name] += 1

    def _paragraph(self, element: etree._Element, unread: str) -> None:
        properties = child(element, "pPr")
        if (
            not unread
            and self.styles.is_numbered(properties)
            and _has_visible_text(element)
        ):
            self._note(NUMBERS)
        outer, self.paragraph_style = (
            self.paragraph_style,
            ("paragraph", value_of(properties, "pStyle")),
        )
        boxes, self.boxes = self.boxes, []
        self._children(element, unread)
        continues = self._continues(properties)
        if self.boxes or not continues:
            self.out += ["\n\n", *self.boxes]
        self.paragraph_style, self.boxes = outer, boxes
        self.last_unread = ""

    def _continues(self, properties: etree._Element | None) -> bool:
        """Whether a paragraph's mark is deleted or hidden, so that the next paragraph continues it."""
        mark = child(properties, "rPr")
        is_deleted = child(mark, "del") is not None
        if is_deleted:
            self._note(DELETIONS)
        return (
            is_deleted
            or child(mark, "moveFrom") is not None
            or is_on(child(mark, "vanish"))
        )

    def _run(self, element: etree._Element, unread: str) -> None:
        properties = child(element, "rPr")
        styles = (
            self.table_style,
            self.paragraph_style,
            ("character", value_of(properties, "rStyle")),
        )
        if not unread and self.styles.is_set("vanish", properties, styles):
            unread = HIDDEN
        for name in ("strike", "dstrike"):
            if not unread and self.styles.is_set(name, properties, styles):
                unread = STRUCK
        self._children(element, unread)

    def _table(self, element: etree._Element, unread: str) -> None:
        outer, self.table_style = (
            self.table_style,
            ("table", value_of(element, "tblPr", "tblStyle")),
        )
        self._children(element, unread)
        self.table_style = outer
        self.out.append("\n\n")

    def _table_row(self, element: etree._Element, unread: str) -> None:
        properties = child(element, "trPr")
        if child(properties, "del") is not None:
            unread = unread or DELETIONS
        elif is_on(child(properties, "hidden")):
            unread = unread or HIDDEN
        outer, self.row = self.row, []
        self._children(element, unread)
        cells, self.row = self.row, outer
        self.out.append(_row_text(cells))

    def _cell(self, element: etree._Element, unread: str) -> None:
        if child(element, "tcPr", "cellDel") is not None:
            unread = unread or DELETIONS
        self.row.append(self._apart(element, unread))

    def _apart(self, element: etree._Element, unread: str) -> str:
        """Return the text of an element's children."""
        outer, self.out = self.out, []
        self._children(element, unread)
        inner, self.out = "".join(self.out), outer
        return inner

    def _text_box(self, element: etree._Element, unread: str) -> None:
        """Read a text box; its text follows the paragraph to which it is anchored."""
        unread = "" if unread == DRAWING else unread
        self.boxes.append(self._apart(element, unread) + "\n\n")

    def _alternatives(self, element: etree._Element, unread: str) -> None:
        """Read the first alternative with content: the others show the same."""
        for alternative in _elements(element):
            if _has_content(alternative):
                self._walk(alternative, unread)
                return

    def _content_control(self, element: etree._Element, unread: str) -> None:
        if is_on(child(element, "sdtPr", "showingPlcHdr")):
            unread = unread or PLACEHOLDERS
        self._children(element, unread)

    def _simple_field(self, element: etree._Element, unread: str) -> None:
        if not _has_content(element):
            self._note_field(attribute(element, "instr"))
        self._children(element, unread)

    def _field(self, element: etree._Element) -> None:
        """Follow a field through its parts: begin, instruction, separator, result, end."""
        kind = attribute(element, "fldCharType")
        if element in self.complete_fields:
            self.fields.append(_Field())
        elif kind == "separate" and self.fields:
            self.fields[-1].in_result = True
        elif kind == "end" and self.fields:
            ended = self.fields.pop()
            if not ended.in_result and not self._in_instruction():
                self._note_field(ended.instruction)

    def _note_field(self, instruction: str) -> None:
        words = instruction.split()
        kind = words[0].upper() if words else ""
        if kind and kind not in _SILENT_FIELDS | _FORM_FIELDS:
            self._note("fields without a stored result")

    def _in_instruction(self) -> bool:
        return any(not field.in_result for field in self.fields)

    def _symbol(self, element: etree._Element, unread: str) -> None:
        font = attribute(element, "font").lower()
        try:
            code = int(attribute(element, "char"), 16)
        except ValueError:
            code = 0
        character = _CODES.get(font, {}).get(code & 0xFF)
        is_symbol_font = font in _CODES or "dings" in font
        if character is None and not is_symbol_font and 0x20 <= code < 0xD800:
            character = chr(code)
        if unread or character:
            self._text(character or "symbol", unread)
        else:
            self._note(SYMBOLS)

    def _inserted_part(self, element: etree._Element, unread: str) -> None:
        for part in self._parts(element):
            content = self.package.read(part)
            if content is None:
                self._note("inserted parts that are missing")
                continue
            try:
                if part not in self.parts:
                    self.parts[part] = self.read_part(content)
            except BadInput as error:
                self.notes.append(
                    f"Not read from the Word file: an inserted part ({error.what})."
                )
                continue
            self._write(f"\n\n{self.parts[part].text}\n\n", unread)
            self.notes += self.parts[part].notes

    def _parts(self, element: etree._Element) -> list[str]:
        """Return the parts to which an element refers; "" for one without a relationship."""
        return [
            self.relationships.get(reference, ("", ""))[1]
            for reference in _references(element)
        ]

    def _story_has_content(self, element: etree._Element) -> bool:
        """Whether a header or footer shows something."""
        roots = [self.package.xml(part) for part in self._parts(element)]
        return any(root is not None and _has_content(root) for root in roots)


_HANDLERS = {
    "p": _Reader._paragraph,
    "r": _Reader._run,
    "tbl": _Reader._table,
    "tr": _Reader._table_row,
    "tc": _Reader._cell,
    "txbxContent": _Reader._text_box,
    "AlternateContent": _Reader._alternatives,
    "sdt": _Reader._content_control,
    "fldSimple": _Reader._simple_field,
}


def _has_visible_text(paragraph: etree._Element) -> bool:
    return any(
        name_of(inside) == "t" and inside.text
        for inside in paragraph.iter(etree.Element)
    )


def _complete_fields(root: etree._Element) -> set[etree._Element]:
    """Return the beginnings of fields that have an end: the text after any other is no instruction."""
    open_, complete = [], set()
    for element in root.iter("{*}fldChar"):
        kind = attribute(element, "fldCharType")
        if kind == "begin":
            open_.append(element)
        elif kind == "end" and open_:
            complete.add(open_.pop())
    return complete


def _row_text(cells: list[str]) -> str:
    """Return a row of data as one line, and a row of a layout table as paragraphs."""
    paragraphs = []
    for cell in cells:
        paragraphs.append(
            [text for text in re.split(r"\n{2,}", cell.strip("\n")) if text.strip()]
        )
    is_layout = any(len(cell) > 1 or len("".join(cell)) > CELL for cell in paragraphs)
    if is_layout:
        return (
            "\n\n" + "\n\n".join(text for cell in paragraphs for text in cell) + "\n\n"
        )
    line = "\t".join(" ".join(cell[0].split()) for cell in paragraphs if cell)
    return f"{line}\n" if line else ""
