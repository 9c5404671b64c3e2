"""The text of a contract in a Word file, as a reader of the document sees it.

Only the main part of the package is needed.  It is walked with an allow-list (`_READ`):
the text of all other elements is not read, and each such element with content (text, or
a reference to another part) is noted.  Tracked changes are read as accepted.
"""

import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from lxml import etree

from lextables.pipeline.errors import BadInput
from lextables.review.contract import LIMIT, Contract, too_long
from lextables.review.word_bindings import FOLDERS_OF_DATA, Bindings
from lextables.review.word_styles import Element, Styles, is_on, value_at
from lextables.sources.archives import Bounds, OverBounds, read_member
from lextables.sources.characters import SYMBOL_FONTS, with_symbols

# A Word file is a zip of XML, which takes thirty times its size in memory.
WORD = Bounds(member=64 << 20, volume=128 << 20, ratio=1000)
MAIN_PART = "word/document.xml"
MISSING = "missing"  # name of the root of a part that is missing or damaged

# Elements, by local name, whose content is text of the contract, besides those with a
# handler.
_READ = (
    "document body hyperlink ins moveTo smartTag customXml dir bdo sdtContent ruby"
    " rubyBase Choice Fallback"
).split()
_LITERAL = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# Elements with content that no reader sees.
_INVISIBLE = (
    "instrText delInstrText fldData docPr cNvPr hlinkClick hlinkHover printerSettings"
    " tabs"
).split()
# Names, in the note, of what is not read (except `REFERENCE`).
BOUND = "content controls bound to data, which may show other text"
REFERENCE = "refers-to-"  # in front of the names of attributes
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
    "moveFrom": "moved text at its former place",
    "drawing": DRAWING,
    "pict": DRAWING,
    "object": DRAWING,
    "oMath": "formulas",
    "oMathPara": "formulas",
    "rt": "pronunciation guides",
}
# Elements that stand for content elsewhere, with the name for it in the note.
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
# Noted only if the part to which they refer shows something.
_STORIES = {"headerReference", "footerReference"}
# Noted always; other elements of `_UNREAD` only if they refer to a part.
_WITHOUT_REFERENCE = (
    "footnoteReference endnoteReference commentReference textpath checkBox ddList pgNum"
).split()
# Fields that show nothing.
_SILENT_FIELDS = set("XE TC TA RD SET PRIVATE ASK ADVANCE BIBLIOGRAPHY".split())
_FORM_FIELDS = {"FORMCHECKBOX", "FORMDROPDOWN"}  # noted by their data
# The longest paragraph of a cell in a row of data; longer ones are prose in a layout
# table.
CELL = 100

# Properties of text that is left out.
_LEFT_OUT = {"vanish": HIDDEN, "strike": STRUCK, "dstrike": STRUCK}

_PRIVATE_USE = re.compile("[\ue000-\uf8ff]")


def read_word(path: Path, read_part: Callable[[bytes], Contract]) -> Contract:
    """Return the text of a Word file, with a blank line between paragraphs.

    ``read_part`` reads an inserted part (`altChunk`).  Raises `BadInput` for a zip of
    another type, and for a file that is encrypted, damaged or too large.
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
    # zipfile raises NotImplementedError for a version of the format that it does not
    # know.
    except (zipfile.BadZipFile, NotImplementedError, etree.XMLSyntaxError) as error:
        what = f"the Word file is damaged ({error})"
        raise BadInput(what, do="save it again as .docx, or as plain text") from error
    except RecursionError as error:
        what = "the elements of the Word file are nested too deeply"
        raise BadInput(what, do="save it as plain text") from error


class _Package:
    """The parts of a package."""

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

    def xml(self, part: str) -> Element:
        """Return the root of a part that is not needed; an empty element if it is
        missing or damaged.
        """
        try:
            return self._root(part)
        except (zipfile.BadZipFile, etree.XMLSyntaxError):
            return etree.Element(MISSING)

    def _root(self, part: str) -> Element:
        content = self.read(part)
        return etree.Element(MISSING) if content is None else _parsed(content)

    def relationships(self, part: str) -> dict[str, tuple[str, str]]:
        """Return {id: (last word of the type, part)} of a part's relationships ("" for
        the package).
        """
        path = PurePosixPath(part)
        root = self.xml(f"{path.parent}/_rels/{path.name}.rels")
        by_id = {}
        for element in root.iterchildren(etree.Element):
            name = element.get("Id", "")
            _, _, kind = element.get("Type", "").rpartition("/")
            target = element.get("Target", "")
            if not target.startswith("/"):
                target = f"{path.parent}/{target}"
            by_id[name] = (kind, _part_name(target))
        return by_id

    def data(self) -> Iterator[Element]:
        """Yield the roots of the parts with data for content controls."""
        for part in self.names:
            if part.startswith(FOLDERS_OF_DATA) and part.endswith(".xml"):
                yield self.xml(part)

    def main_part(self) -> tuple[str, Element]:
        """Return the name and the root of the main part."""
        candidates = []
        for kind, part in self.relationships("").values():
            if kind == "officeDocument":
                candidates.append(part)
        for element in self.xml("[Content_Types].xml").iterchildren(etree.Element):
            kind, is_main, _ = element.get("ContentType", "").partition(".main+xml")
            if is_main and "word" in kind:
                candidates.append(element.get("PartName", ""))
        damage: etree.XMLSyntaxError | zipfile.BadZipFile | None = None
        for part in (*candidates, MAIN_PART):
            try:
                root = self._root(part)
            except (etree.XMLSyntaxError, zipfile.BadZipFile) as error:
                damage = damage or error
                continue
            if root.tag == "document":
                return _part_name(part), root
        if damage:
            raise damage
        raise BadInput(
            f"the file is {self._kind()}",
            do="save the contract as .docx, PDF or plain text",
        )

    def _kind(self) -> str:
        """Return what a package without a main part of Word is, for a message."""
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


def _parsed(content: bytes) -> Element:
    """Return the root of a part, whose elements and attributes have their local names.

    Attributes that refer to another part begin with `REFERENCE`.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    root = etree.fromstring(content, parser)
    for element in root.iter(etree.Element):
        element.tag = etree.QName(element).localname
        attributes: dict[str, str] = {}
        for name, value in element.attrib.items():
            local = etree.QName(name).localname
            if "/relationships}" in name or local == "relid":
                local = f"{REFERENCE}{local}"
            attributes.setdefault(local, value)
        element.attrib.clear()
        element.attrib.update(attributes)
    return root


def _references(element: Element) -> list[str]:
    """Return the ids of other parts that an element's attributes name."""
    attributes = element.attrib.items()
    return [value for name, value in attributes if name.startswith(REFERENCE) and value]


def _has_content(element: Element) -> bool:
    """Whether an element, or one below it, shows text or refers to another part."""
    for inside in element.iter(etree.Element):
        shows_text = inside.tag in ("t", "sym") and (inside.text or inside.attrib)
        if shows_text or _references(inside):
            return True
    return False


@dataclass
class _Field:
    """An open field: whether its result has begun, and its instruction."""

    in_result: bool = False
    instruction: str = ""


@dataclass(frozen=True)
class _Place:
    """Where an element is.

    ``unread`` is "" where text is read, else the name of the unread text in the note.
    ``table_style`` and ``paragraph_style`` are the ids of the styles of the open table
    and paragraph; ``font`` is the font that the open run names, or "".
    """

    unread: str = ""
    table_style: str = ""
    paragraph_style: str = ""
    font: str = ""

    def left_out(self, reason: str) -> "_Place":
        """Return a place whose text is not read; the reason of an outer element
        stays.
        """
        return self if self.unread else replace(self, unread=reason)


@dataclass
class _Reader:
    """Walks through the main part, and collects its text and what was not read."""

    package: _Package
    read_part: Callable[[bytes], Contract]
    unread: Counter[str] = field(default_factory=Counter)
    """{name of what is not read: its number}."""
    out: list[str] = field(default_factory=list)
    """The text of the document, or of the open cell or text box."""
    boxes: list[str] = field(default_factory=list)
    """The texts of text boxes that are anchored in the open paragraph."""
    row: list[str] = field(default_factory=list)
    """The texts of the cells of the open row."""
    fields: list[_Field] = field(default_factory=list)
    """The open fields, outermost first."""
    notes: list[str] = field(default_factory=list)
    parts: dict[str, Contract] = field(default_factory=dict)
    """{inserted part: its text}."""
    instructions: int = 0
    """The number of open fields whose separator is still to come."""
    shown_stories: dict[str, bool] = field(default_factory=dict)
    """{part with a header or footer: whether it shows something}."""
    size: int = 0
    """Characters that were written."""
    last_unread: str = ""
    """The reason why the text just before is not read; "" if it is read."""

    def contract(self) -> Contract:
        """Return the text and the notes of the package."""
        part, root = self.package.main_part()
        self.relationships = self.package.relationships(part)
        self.styles = Styles(self._styles(PurePosixPath(part).parent))
        self.complete_fields = _complete_fields(root)
        self.bindings = Bindings(root, self.package.data())
        self._walk(root, _Place())
        whole = "".join([*self.out, *self.boxes])
        text = re.sub(r"\n{3,}", "\n\n", whole).strip("\n")
        symbols = len(_PRIVATE_USE.findall(text))
        if symbols:
            self.unread[SYMBOLS] += symbols
        if self.unread:
            counted = [f"{name} ({n})" for name, n in self.unread.items()]
            listed = ", ".join(counted)
            self.notes.insert(0, f"Not read from the Word file: {listed}.")
        return Contract(f"{text}\n", tuple(dict.fromkeys(self.notes)))

    def _styles(self, folder: PurePosixPath) -> Element:
        """Return the root of the first part of styles that has content, or else of
        ``styles.xml`` in the folder.
        """
        for kind, name in self.relationships.values():
            if kind == "styles":
                root = self.package.xml(name)
                if len(root):
                    return root
        return self.package.xml(f"{folder}/styles.xml")

    def _walk(self, element: Element, place: _Place) -> None:
        handler = _HANDLERS.get(element.tag, _Reader._other)
        handler(self, element, place)

    def _children(self, element: Element, place: _Place) -> None:
        for inside in element.iterchildren(etree.Element):
            self._walk(inside, place)

    def _other(self, element: Element, place: _Place) -> None:
        """Note the content of an element that is not on the allow-list."""
        name = element.tag
        if name in _STORIES:
            is_shown = self._story_has_content(element)
        else:
            is_shown = name in _WITHOUT_REFERENCE or bool(_references(element))
        if is_shown:
            self._note(_UNREAD.get(name, f"the content of <{name}>"))
        place = place.left_out(_UNREAD_TEXT.get(name, f"text in <{name}>"))
        # The element's own text; in drawings it is a position or a size.
        if place.unread != DRAWING:
            self._text(element, place)
        # Below it there may be text boxes, and more that is not read.
        self._children(element, place)

    def _invisible(self, element: Element, place: _Place) -> None:
        """Keep the instruction of the open field; leave out all other content."""
        if element.tag == "instrText" and self.fields:
            self.fields[-1].instruction += element.text or ""

    def _literal(self, element: Element, place: _Place) -> None:
        if not place.unread:
            self._write(_LITERAL[element.tag])

    def _write(self, text: str) -> None:
        """Write text, except in the instruction of a field, which is not shown."""
        if self._in_instruction():
            return
        self.size += len(text)
        if self.size > 2 * LIMIT:  # line ends are counted too, but not all are kept
            raise too_long()
        self.out.append(text)
        self.last_unread = ""

    def _text(self, element: Element, place: _Place) -> None:
        """Write an element's text, or note it."""
        text = with_symbols(element.text or "", place.font)
        if not place.unread:
            self._write(text)
        elif text.strip():
            self._note_text(place.unread)

    def _deleted_text(self, element: Element, place: _Place) -> None:
        self._text(element, place.left_out(DELETIONS))

    def _note(self, name: str) -> None:
        self.unread[name] += 1

    def _note_text(self, reason: str) -> None:
        """Count text once with the adjacent text that is not read for the same
        reason.
        """
        if reason != self.last_unread and not self._in_instruction():
            self._note(reason)
            self.last_unread = reason

    def _paragraph(self, element: Element, place: _Place) -> None:
        """Read a paragraph, and the text boxes that are anchored in it."""
        has_text = any(inside.text for inside in element.iter("t"))
        if has_text and not place.unread and self.styles.is_numbered(element):
            self._note(NUMBERS)
        style = value_at(element, "pPr/pStyle")
        outer_boxes = self.boxes
        self.boxes = []
        self._children(element, replace(place, paragraph_style=style))
        continues = self._continues(element.find("pPr/rPr"))
        if self.boxes or not continues:
            self.out.append("\n\n")
            self.out += self.boxes
        self.boxes = outer_boxes
        self.last_unread = ""

    def _continues(self, mark: Element | None) -> bool:
        """Whether a paragraph's mark is deleted or hidden, so that the next paragraph
        continues it.
        """
        if mark is None:
            return False
        if mark.find("del") is not None:
            self._note(DELETIONS)
            return True
        return mark.find("moveFrom") is not None or is_on(mark.find("vanish"))

    def _run(self, element: Element, place: _Place) -> None:
        """Read a run of characters with the same properties, unless it is hidden or
        struck.
        """
        styles = {
            "table": place.table_style,
            "paragraph": place.paragraph_style,
            "character": value_at(element, "rPr/rStyle"),
        }
        for name, reason in _LEFT_OUT.items():
            if not place.unread and self.styles.is_set(name, element, styles):
                place = place.left_out(reason)
        fonts = element.find("rPr/rFonts")
        font = "" if fonts is None else fonts.get("ascii", "")
        self._children(element, replace(place, font=font))

    def _table(self, element: Element, place: _Place) -> None:
        style = value_at(element, "tblPr/tblStyle")
        self._children(element, replace(place, table_style=style))
        self.out.append("\n\n")

    def _table_row(self, element: Element, place: _Place) -> None:
        """Read a row of a table, unless it is deleted or hidden."""
        if element.find("trPr/del") is not None:
            place = place.left_out(DELETIONS)
        elif is_on(element.find("trPr/hidden")):
            place = place.left_out(HIDDEN)
        outer = self.row
        self.row = []
        self._children(element, place)
        self.out.append(_row_text(self.row))
        self.row = outer

    def _cell(self, element: Element, place: _Place) -> None:
        """Add the text of a cell to the open row."""
        if element.find("tcPr/cellDel") is not None:
            place = place.left_out(DELETIONS)
        self.row.append(self._apart(element, place))

    def _apart(self, element: Element, place: _Place) -> str:
        """Return the text of an element's children instead of adding it to `out`."""
        outer = self.out
        self.out = []
        self._children(element, place)
        text = "".join(self.out)
        self.out = outer
        return text

    def _text_box(self, element: Element, place: _Place) -> None:
        """Read a text box; its text follows the paragraph to which it is anchored."""
        if place.unread == DRAWING:
            place = replace(place, unread="")
        self.boxes.append(self._apart(element, place) + "\n\n")

    def _alternatives(self, element: Element, place: _Place) -> None:
        """Read the first alternative with content: the others show the same."""
        for alternative in element.iterchildren(etree.Element):
            if _has_content(alternative):
                self._walk(alternative, place)
                return

    def _content_control(self, element: Element, place: _Place) -> None:
        """Read a content control, but not its placeholder."""
        if not place.unread and self.bindings.may_show_other_text(element):
            self._note(BOUND)
        if is_on(element.find("sdtPr/showingPlcHdr")):
            place = place.left_out(PLACEHOLDERS)
        self._children(element, place)

    def _simple_field(self, element: Element, place: _Place) -> None:
        """Read the stored result of a simple field, or note that it has none."""
        if not _has_content(element):
            self._note_field(element.get("instr", ""))
        self._children(element, place)

    def _field(self, element: Element, place: _Place) -> None:
        """Follow a field through its parts: begin, instruction, separator, result,
        end.
        """
        kind = element.get("fldCharType")
        if element in self.complete_fields:
            self.fields.append(_Field())
            self.instructions += 1
        elif kind == "separate" and self.fields:
            self.instructions -= not self.fields[-1].in_result
            self.fields[-1].in_result = True
        elif kind == "end" and self.fields:
            ended = self.fields.pop()
            self.instructions -= not ended.in_result
            if not ended.in_result and not self._in_instruction():
                self._note_field(ended.instruction)
        self._children(element, place)

    def _note_field(self, instruction: str) -> None:
        """Note a field without a stored result, if it would show one."""
        words = instruction.split()
        kind = words[0].upper() if words else ""
        if kind and kind not in _SILENT_FIELDS | _FORM_FIELDS:
            self._note("fields without a stored result")

    def _in_instruction(self) -> bool:
        """Whether the text here is the instruction of a field, not its result."""
        return self.instructions > 0

    def _symbol(self, element: Element, place: _Place) -> None:
        """Write the character of a symbol, or note the symbol."""
        character = _character(element.get("font", ""), element.get("char", ""))
        if place.unread:
            self._note_text(place.unread)
        elif character:
            self._write(character)
        else:
            self._note(SYMBOLS)

    def _inserted_part(self, element: Element, place: _Place) -> None:
        """Read a part that is inserted as a whole, or note why it is not read."""
        for part in self._parts(element):
            content = self.package.read(part)
            if content is None:
                self._note("inserted parts that are missing")
                continue
            try:
                if part not in self.parts:
                    self.parts[part] = self.read_part(content)
            except BadInput as error:
                what = f"an inserted part ({error.what})"
                self.notes.append(f"Not read from the Word file: {what}.")
                continue
            if not place.unread:
                self._write(f"\n\n{self.parts[part].text}\n\n")
            self.notes += self.parts[part].notes

    def _parts(self, element: Element) -> list[str]:
        """Return the parts to which an element refers; "" for one without a
        relationship.
        """
        references = _references(element)
        return [self.relationships.get(each, ("", ""))[1] for each in references]

    def _story_has_content(self, element: Element) -> bool:
        """Whether a header or footer shows something."""
        parts = self._parts(element)
        for part in parts:
            if part not in self.shown_stories:
                self.shown_stories[part] = _has_content(self.package.xml(part))
        return any(self.shown_stories[part] for part in parts)


_HANDLERS = {
    **dict.fromkeys(_READ, _Reader._children),
    **dict.fromkeys(_INVISIBLE, _Reader._invisible),
    **dict.fromkeys(_LITERAL, _Reader._literal),
    "t": _Reader._text,
    "delText": _Reader._deleted_text,
    "fldChar": _Reader._field,
    "sym": _Reader._symbol,
    "altChunk": _Reader._inserted_part,
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


def _character(font: str, char: str) -> str:
    """Return the character of a symbol by its font and code; "" if there is none."""
    font = font.lower()
    try:
        code = int(char, 16)
    except ValueError:
        code = 0
    if font in SYMBOL_FONTS or "dings" in font:
        return SYMBOL_FONTS.get(font, {}).get(code, "")
    return chr(code) if 0x20 <= code < 0xD800 else ""


def _complete_fields(root: Element) -> set[Element]:
    """Return the beginnings of fields that have an end: the text after any other is no
    instruction.
    """
    open_ = []
    complete = set()
    for element in root.iter("fldChar"):
        kind = element.get("fldCharType")
        if kind == "begin":
            open_.append(element)
        elif kind == "end" and open_:
            complete.add(open_.pop())
    return complete


def _row_text(cells: list[str]) -> str:
    """Return a row of data as one line, and a row of a layout table as paragraphs."""
    paragraphs = []
    is_layout = False
    for cell in cells:
        texts = re.split(r"\n{2,}", cell.strip("\n"))
        texts = [text for text in texts if text.strip()]
        size = sum(map(len, texts))
        is_layout = is_layout or len(texts) > 1 or size > CELL
        paragraphs += texts
    if is_layout:
        prose = "\n\n".join(paragraphs)
        return f"\n\n{prose}\n\n"
    line = "\t".join(" ".join(text.split()) for text in paragraphs)
    return f"{line}\n" if line else ""
