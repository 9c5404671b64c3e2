"""The text of a contract in a PDF file, with notes on what was not read.

The text of a page is that of its content, followed by what was typed onto it: text
annotations and form fields.  There is no text recognition (OCR): a page with a picture
and few words counts as a page without text.
"""

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pypdf import PageObject, PasswordType, PdfReader
from pypdf.errors import DependencyError
from pypdf.generic import (
    ArrayObject,
    BooleanObject,
    DictionaryObject,
    NameObject,
    StreamObject,
)

from lextables.pipeline.errors import BadInput
from lextables.review.contract import LIMIT, Contract, too_long
from lextables.review.pdf_content import read_content, shows_text
from lextables.review.pdf_objects import dictionary, items, resolved
from lextables.review.readable import is_readable
from lextables.sources.characters import plain, without_tags

# A page with a picture counts as a page without text if it has fewer own words than
# MIN_WORDS, which may be a stamp.  Lines that are repeated on other pages, such as an
# envelope number, are not its own.  A page of WORDS_OF_TEXT words or more has text.
MIN_WORDS = 25
WORDS_OF_TEXT = 40
# A line is repeated if it is on this number, and on this share, of all pages.
MIN_COPIES = 3
MIN_REPEATED = 0.5
HIDDEN = 0b100010  # flags of annotations that no screen shows
MAX_DEPTH = 20  # of nested form fields

_NUMBER = re.compile(r"\d+")
# Annotations that show something, with or without words.
_DRAWINGS = {
    "/Stamp": "stamps",
    "/Ink": "drawings",
    "/StrikeOut": "marks that strike out text",
    "/Redact": "redactions",
    "/Watermark": "watermarks",
}
_NO_COMMENTS = ("/Link", "/Popup", "/PrinterMark", "/TrapNet")
_PLACEHOLDER = (
    "If this message is not eventually replaced by the proper contents of the document"
)

log = logging.getLogger("lextables")
# pypdf's warnings about a file are written to the log of a job and, with this handler,
# not to the screen.
logging.getLogger("pypdf").addHandler(logging.NullHandler())


@dataclass
class _Page:
    """What is on a page.

    ``typed`` are the texts that were typed onto it, ``attached`` the names of attached
    files, ``unread`` the kinds of things that are not read, and ``unseen`` the kinds of
    text that is read although no reader of the page sees it.
    """

    text: str = ""
    typed: list[str] = field(default_factory=list)
    attached: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    unseen: frozenset[str] = frozenset()
    has_pictures: bool = False
    has_unmapped_letters: bool = False
    is_damaged: bool = False
    is_incomplete: bool = False

    @property
    def whole_text(self) -> str:
        """The text of its content and the typed text."""
        return "\n".join(part for part in (self.text, *self.typed) if part)


def read_pdf(path: Path) -> Contract:
    """Return the text of a PDF in plain characters, with a blank line between pages.

    Raises `BadInput` if it is damaged, encrypted, a portfolio, an XFA form or a scan.
    """
    try:
        reader = PdfReader(path)
        # The empty password opens a PDF that only restricts printing or changes.
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise _encrypted(path)
        root = reader.root_object
        page_objects = list(reader.pages)
    except (BadInput, OSError):
        raise
    except DependencyError as error:  # AES needs another library
        raise _encrypted(path) from error
    # pypdf raises many types for damaged files; the log has the traceback
    except Exception as error:
        raise BadInput(
            f"the PDF is damaged ({type(error).__name__}: {error})",
            where=str(path),
            do="save it again, or as plain text",
        ) from error
    attached = _attached_files(reader)
    if attached and "/Collection" in root:
        raise BadInput(
            f"the PDF is a portfolio, a cover page with attached files ({_list(attached)})",
            where=str(path),
            do="open it, and save the attached contract as a file of its own",
        )
    pages = []
    size = 0
    for page_object in page_objects:
        page = _read_page(page_object)
        pages.append(page)
        size += len(page.whole_text)
        if size > LIMIT:
            raise too_long(path)
    if _is_placeholder(root, pages):
        raise BadInput(
            "the PDF is an XFA form, which only Adobe's programs show",
            where=str(path),
            do="open it there, and print it to a PDF",
        )
    without_text = _pages_without_text(pages)
    if len(without_text) == len(pages):
        raise _no_text(path, pages)
    for page in pages:
        attached += page.attached
    notes = [
        *_notes_on_pages(pages, without_text),
        *_notes_on_file(root, pages, attached),
    ]
    return Contract("\n\n".join(page.whole_text for page in pages), tuple(notes))


def _encrypted(path: Path) -> BadInput:
    return BadInput(
        "the PDF is encrypted", where=str(path), do="save a copy without protection"
    )


def _no_text(path: Path, pages: list[_Page]) -> BadInput:
    """Return the error for a PDF without a page of text."""
    if not pages:
        return BadInput("the PDF has no pages", where=str(path), do="save it again")
    if all(page.is_damaged for page in pages):
        what = "the PDF is damaged: none of its pages can be read"
        return BadInput(what, where=str(path), do="save it again, or as plain text")
    return BadInput(
        "the PDF has no text, only pictures of pages",
        where=str(path),
        do="run text recognition (OCR) on it first",
    )


def _is_placeholder(root: DictionaryObject, pages: list[_Page]) -> bool:
    """Return whether the pages only stand for a form that a program draws when the file
    is opened.
    """
    has_xfa = "/XFA" in dictionary(root.get("/AcroForm"))
    is_drawn_on_opening = root.get("/NeedsRendering") == BooleanObject(True)
    if has_xfa and is_drawn_on_opening:
        return True
    if not pages:
        return False
    words = " ".join(pages[0].text.split())
    return _PLACEHOLDER in words


# Pages


def _read_page(page_object: PageObject) -> _Page:
    """Return what is on a page.

    A fault in its content or in an annotation leaves out only that.
    """
    page = _Page()
    try:
        _add_content(page, page_object)
    except Exception:  # pypdf raises many types for damaged pages
        log.info("a page cannot be read", exc_info=True)
        page.is_damaged = True
    appearances = {}  # of annotations that are not listed, by their identity
    for item in items(page_object.get("/Annots")):
        annotation = dictionary(item)
        flags = annotation.get("/F")
        if isinstance(flags, int) and flags & HIDDEN:
            continue
        is_listed = _add_annotation(page, annotation)
        appearance = _appearance(annotation)
        if not is_listed and appearance is not None:
            appearances[id(appearance)] = appearance
    if any(_draws_text(page_object, each) for each in appearances.values()):
        page.unread.append("text in annotations")
    return page


def _add_content(page: _Page, page_object: PageObject) -> None:
    """Add the text of a page's content, and the facts about it (`Content`)."""
    content = read_content(page_object)
    page.text = content.text
    page.unseen = content.unseen
    page.has_pictures = content.has_pictures and not content.is_recognised
    page.is_incomplete = content.is_incomplete
    page.has_unmapped_letters = content.has_unmapped_letters


def _add_annotation(page: _Page, annotation: DictionaryObject) -> bool:
    """Add what an annotation shows: typed text, or the kind of what is not read.

    Returns whether there was anything to add.
    """
    kind = annotation.get("/Subtype")
    words = _words(annotation.get("/Contents")) or _words(annotation.get("/RC"))
    if kind == "/Widget":
        return _add_value(page, annotation)
    if kind == "/FreeText" and words:
        page.typed.append(words)
    elif kind == "/FreeText":
        page.unread.append("typed text")
    elif kind == "/FileAttachment":
        page.attached.append(_file_name(annotation.get("/FS")))
    elif kind in _DRAWINGS:
        page.unread.append(_DRAWINGS[kind])
    elif words and kind not in _NO_COMMENTS:
        page.unread.append("comments")
    else:
        return False
    return True


def _add_value(page: _Page, widget: DictionaryObject) -> bool:
    """Add what a form field on a page shows: typed text or a check mark.

    Returns whether it shows one.
    """
    # A widget without a value shows that of the nearest field above it.
    field_ = widget
    depth = 1
    while "/V" not in field_ and "/Parent" in field_ and depth < MAX_DEPTH:
        field_ = dictionary(field_.get("/Parent"))
        depth += 1
    text = _shown_value(field_)
    state = widget.get("/AS")
    if text:
        page.typed.append(text)
    elif isinstance(state, NameObject) and state != "/Off":
        page.unread.append("check marks")
    else:
        return False
    return True


def _shown_value(field_: DictionaryObject) -> str:
    """Return the text that a form field shows: for a choice, not the value that is sent
    but the text of the option.
    """
    texts = {}
    for option in items(field_.get("/Opt")):
        pair = [_words(each) for each in items(option)]
        if len(pair) == 2:
            texts[pair[0]] = pair[1]
    value = resolved(field_.get("/V"))
    values = value if isinstance(value, ArrayObject) else [value]
    words = [_words(each) for each in values]
    return "\n".join(texts.get(each, each) for each in words if each)


def _appearance(annotation: DictionaryObject) -> StreamObject | None:
    """Return the form (a part of a page) that an annotation draws, or None."""
    appearance = dictionary(dictionary(annotation.get("/AP")).get("/N"))
    if not isinstance(appearance, StreamObject):  # one for each state
        appearance = dictionary(appearance.get(str(annotation.get("/AS"))))
    return appearance if isinstance(appearance, StreamObject) else None


def _draws_text(page_object: PageObject, appearance: StreamObject) -> bool:
    """Return whether the appearance of an annotation has text, or cannot be read."""
    try:
        return shows_text(page_object, appearance)
    except Exception:  # pypdf raises many types for damaged streams
        log.info("the appearance of an annotation cannot be read", exc_info=True)
        return True


def _pages_without_text(pages: list[_Page]) -> list[int]:
    """Return the numbers of the pages without text, and of pictures with a few
    words.
    """
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update(set(_masked_lines(page)))
    copies = max(MIN_COPIES, MIN_REPEATED * len(pages))
    repeated = {line for line, count in counts.items() if count >= copies}
    numbers = []
    for number, page in enumerate(pages, 1):
        own_lines = [line for line in _masked_lines(page) if line not in repeated]
        own_words = " ".join(own_lines).split()
        if page.has_pictures:
            has_own_words = len(own_words) >= MIN_WORDS
        else:
            has_own_words = bool(own_words or page.typed)
        if not has_own_words and len(page.text.split()) < WORDS_OF_TEXT:
            numbers.append(number)
    return numbers


def _masked_lines(page: _Page) -> list[str]:
    """Return the lines of a page with 0 for each number: page numbers differ in
    repeated lines.
    """
    return [_NUMBER.sub("0", line.strip()) for line in page.text.split("\n")]


# Notes


def _notes_on_pages(pages: list[_Page], without_text: list[int]) -> Iterator[str]:
    """Yield a sentence for each kind of thing on pages that users should know."""
    kinds: defaultdict[str, list[int]] = defaultdict(list)
    unseen: defaultdict[str, list[int]] = defaultdict(list)
    damaged = []
    incomplete = []
    unmapped = []
    stamped = []
    unreadable = []
    typed = []
    for number, page in enumerate(pages, 1):
        has_text = number not in without_text
        if page.is_damaged:
            damaged.append(number)
        elif page.whole_text.strip() and not has_text:
            stamped.append(number)
        elif not is_readable(page.text):
            unreadable.append(number)
        elif page.has_unmapped_letters:
            unmapped.append(number)
        if page.is_incomplete:
            incomplete.append(number)
        for kind in sorted(page.unseen):
            unseen[kind].append(number)
        if page.typed:
            typed.append(number)
        for kind in page.unread:
            kinds[kind].append(number)
        if page.has_pictures and has_text:
            kinds["pictures"].append(number)
    blank = [number for number in without_text if number not in damaged]
    if damaged:
        yield f"Damaged and not read: {_pages(damaged)} of {len(pages)}."
    if incomplete:
        yield f"Text may be missing or wrong on {_pages(incomplete)}: the file has faults there."
    if blank:
        besides = " besides a stamp or a repeated line" if stamped else ""
        yield f"No text was found on {_pages(blank)} of {len(pages)}{besides}."
    if unreadable:
        yield (
            f"Hardly any English words were found on {_pages(unreadable)}. "
            "If its letters are wrong below, run OCR first."
        )
    if unmapped:
        yield (
            f"A font on {_pages(unmapped)} does not say which letters it shows. "
            "If letters are wrong below, run OCR first."
        )
    if unseen:
        yield f"Read although no reader may see it: {_with_pages(unseen)}."
    if typed:
        yield f"Text that was typed onto {_pages(typed)} follows the other text of its page."
    if kinds:
        yield f"Not read from the PDF: {_with_pages(kinds)}."


def _notes_on_file(
    root: DictionaryObject, pages: list[_Page], attached: list[str]
) -> Iterator[str]:
    """Yield a sentence for each part of the file that is not on its pages."""
    if attached:
        yield f"Attached files were not read: {_list(attached)}."
    if _has_other_values(dictionary(root.get("/AcroForm")), pages):
        yield "The content of form fields was not read."
    properties = dictionary(root.get("/OCProperties"))
    layers = _hidden_layers(properties)
    names = [_words(dictionary(layer).get("/Name")) for layer in layers]
    if names:
        yield f"Text in hidden layers was read as well: {_list(names)}."
    expected = dictionary(root.get("/Pages")).get("/Count")
    if isinstance(expected, int) and expected > len(pages):
        yield f"The file is damaged: only {len(pages)} of {expected} pages were found."


def _hidden_layers(properties: DictionaryObject) -> list[Any]:
    """Return the layers that are switched off when the file is opened."""
    states = dictionary(properties.get("/D"))
    if states.get("/BaseState") != "/OFF":
        return list(items(states.get("/OFF")))
    switched_on = list(items(states.get("/ON")))
    return [each for each in items(properties.get("/OCGs")) if each not in switched_on]


def _has_other_values(form: DictionaryObject, pages: list[_Page]) -> bool:
    """Return whether a form has values that are on no page."""
    shown = set()
    for page in pages:
        shown.update(page.typed)
    has_check_marks = any("check marks" in page.unread for page in pages)
    waiting = list(items(form.get("/Fields")))
    fields: list[DictionaryObject] = []
    while waiting:
        field_ = dictionary(waiting.pop())
        if any(field_ is each for each in fields):
            continue
        fields.append(field_)
        waiting += items(field_.get("/Kids"))
        value = field_.get("/V")
        text = _shown_value(field_)
        is_checked = isinstance(value, NameObject) and value != "/Off"
        if (text and text not in shown) or (is_checked and not has_check_marks):
            return True
    return False


def _attached_files(reader: PdfReader) -> list[str]:
    try:
        return [
            str(file.alternative_name or file.name) for file in reader.attachment_list
        ]
    except Exception:  # damaged names of attached files
        log.info("the list of attached files cannot be read", exc_info=True)
        return ["the list of their names is damaged"]


def _file_name(specification: Any) -> str:
    names = dictionary(specification)
    return (
        _words(names.get("/UF"))
        or _words(names.get("/F"))
        or _words(specification)
        or "without a name"
    )


# Texts


def _words(value: Any) -> str:
    """Return the plain text of a string, a list of strings or a stream; "" for anything
    else.
    """
    string = resolved(value)
    if isinstance(string, ArrayObject):
        return "\n".join(filter(None, map(_words, string)))
    if isinstance(string, StreamObject):
        string = _stream_text(string)
    if not isinstance(string, str) or isinstance(string, NameObject):
        return ""
    text = string.replace("\r\n", "\n").replace("\r", "\n")
    if text.lstrip().startswith("<"):
        text = without_tags(text)
    return plain(text).text.strip()


def _stream_text(stream: StreamObject) -> str:
    try:
        return stream.get_data().decode("utf-8", "replace")
    except Exception:  # pypdf raises many types for damaged streams
        log.info("a stream of the PDF cannot be read", exc_info=True)
        return ""


def _list(names: list[str], most: int = 5) -> str:
    """Return the first names as text."""
    shown = [name[:80] for name in names[:most]]
    if len(names) > most:
        shown.append(f"and {len(names) - most} more")
    return ", ".join(shown)


def _with_pages(kinds: dict[str, list[int]]) -> str:
    """Return kinds of things with the numbers of their pages as text."""
    listed = [
        f"{kind} ({_pages(sorted(set(numbers)))})" for kind, numbers in kinds.items()
    ]
    return ", ".join(listed)


def _pages(numbers: list[int]) -> str:
    """Return sorted page numbers as text: ``pages 1, 3-5``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    word = "page" if len(numbers) == 1 else "pages"
    return f"{word} {', '.join(map(_range, runs))}"


def _range(run: list[int]) -> str:
    return f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0])
