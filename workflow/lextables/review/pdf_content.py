"""What a PDF page draws: text, pictures, and text that no reader sees.

pypdf extracts the text, and calls the methods of `_Drawing` for each operator of the
page and of its forms.  A form is a part of a page with operators of its own.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pypdf import PageObject
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    EncodedStreamObject,
    NameObject,
    StreamObject,
)

from lextables.review.pdf_objects import dictionary, items, resolved
from lextables.review.readable import MIN_UNMAPPED
from lextables.sources.characters import plain

MIN_CURVES = 300  # letters that are drawn as curves; a logo or a signature has fewer
THIN = 4  # the height of a line that is drawn as a rectangle, in points, is less

INVISIBLE = "invisible text"
OUTSIDE = "text outside of the page"
WHITE = "white text"

# Text rendering modes of text that is not painted.  Text recognition (OCR) puts its
# words behind a picture with the first of them.
_OCR_MODE = 3
_INVISIBLE_MODES = (_OCR_MODE, 7)
_SHOW_TEXT = (b"Tj", b"TJ", b"'", b'"')
# Codes of a space: 32, and in many subsets of fonts the two bytes 0 3.
_SPACES = b" \x00\x03"
_COLOURS = (b"g", b"rg", b"k", b"sc", b"scn", b"cs")
_WHITES = ([1, 1, 1], [0, 0, 0, 0])
_CURVES_AND_LINES = (b"l", b"c", b"v", b"y")
_FILLS = (b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*")
_ENDS_OF_PATHS = (*_FILLS, b"S", b"s", b"n")
_BACKGROUNDS = (b"sh", b"INLINE IMAGE")
_LARGEST = 1e38
_IDENTITY = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
# The name of a glyph that stands for no letter, such as /g12, is extracted as text.
_GLYPH_NAME = re.compile(r"/[A-Za-z]+\d+")

Matrix = Sequence[float]


@dataclass(frozen=True)
class Content:
    """What a page draws."""

    text: str
    has_pictures: bool
    """Whether it draws a picture, or letters as curves."""
    is_recognised: bool
    """Whether it has the invisible text of a text recognition."""
    unseen: frozenset[str]
    """Kinds of its text that no reader sees."""
    has_unmapped_letters: bool
    """Whether it has text in fonts that do not map glyphs to letters."""
    is_incomplete: bool
    """Whether pypdf left something out."""


def read_content(page: PageObject) -> Content:
    """Return what a page draws.  pypdf raises many types for damaged pages."""
    drawing = _Drawing(page, _box(page))
    with _recorded_warnings() as warnings:
        text = page.extract_text(
            visitor_operand_before=drawing.before,
            visitor_operand_after=drawing.after,
            visitor_text=drawing.text,
        )
        streams = [resolved(each) for each in items(page.get("/Contents"))]
    has_all_streams = all(isinstance(each, StreamObject) for each in streams)
    unseen = set(drawing.unseen)
    if drawing.has_pictures:
        unseen.discard(INVISIBLE)
    if drawing.has_background:
        unseen.discard(WHITE)
    return Content(
        text=plain(text).text,
        has_pictures=drawing.has_pictures,
        is_recognised=drawing.is_recognised,
        unseen=frozenset(unseen),
        has_unmapped_letters=drawing.unmapped >= MIN_UNMAPPED,
        is_incomplete=warnings.count > 0 or not has_all_streams,
    )


def shows_text(page: PageObject, form: StreamObject) -> bool:
    """Return whether a form on a page, such as an annotation, draws text."""
    drawing = _Drawing(form)
    page.extract_xform_text(
        cast(EncodedStreamObject, form),
        visitor_operand_before=drawing.before,
        visitor_operand_after=drawing.after,
    )
    return drawing.shows_text


class _Warnings(logging.Handler):
    """Counts warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


@contextmanager
def _recorded_warnings() -> Iterator[_Warnings]:
    """Record pypdf's warnings: what it cannot read, it leaves out with a warning."""
    handler = _Warnings()
    logger = logging.getLogger("pypdf")
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)


@dataclass(frozen=True)
class _State:
    """The part of the graphics state that decides whether text is seen."""

    mode: Any = 0
    """The text rendering mode."""
    is_white: bool = False


@dataclass(frozen=True)
class _Part:
    """A page or a form that is being drawn."""

    content: DictionaryObject
    matrices: tuple[Matrix, ...] = ()
    """Matrices that map the form to the page, in the order in which they apply."""
    outer_state: _State = _State()
    """The state before the form is drawn."""
    saved: int = 0
    """The number of graphics states that were saved outside of it."""
    has_lent_resources: bool = False
    """Whether it has no resources of its own, and uses those of the part around it."""


@dataclass
class _Drawing:
    """Follows the operators of a page and of the forms that it draws."""

    content: DictionaryObject
    box: tuple[float, float, float, float] | None = None
    """The left, bottom, right and top of the page that is shown."""
    shows_text: bool = False
    has_background: bool = False
    """Whether a picture or an area is painted, on which white text can be read."""
    is_recognised: bool = False
    unmapped: int = 0
    """The number of letters in fonts that do not map glyphs to letters."""
    unseen: set[str] = field(default_factory=set)
    curves: int = 0
    draws_picture: bool = False
    has_area: bool = False
    """Whether the open path is more than thin rectangles."""
    state: _State = _State()
    saved_states: list[_State] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.parts = [_Part(self.content)]

    @property
    def has_pictures(self) -> bool:
        return self.draws_picture or self.curves >= MIN_CURVES

    def before(self, operator: bytes, operands: Any, matrix: Matrix, *_: Any) -> None:
        """Open the part that is drawn, if the operator is `Do`."""
        if operator == b"Do" and operands:
            self._open(str(operands[0]), matrix)

    def after(
        self, operator: bytes, operands: Any, matrix: Matrix, text_matrix: Matrix
    ) -> None:
        """Follow an operator, or close the part that it drew."""
        if operator == b"Do" and operands:
            self._close()
        elif operator in _SHOW_TEXT:
            if _has_letters(operands):
                self._show_text(matrix, text_matrix)
        elif operator == b"Tr" and operands:
            self.state = replace(self.state, mode=operands[0])
            self.is_recognised = self.is_recognised or operands[0] == _OCR_MODE
        elif operator in _COLOURS:
            self.state = replace(self.state, is_white=_is_white(operator, operands))
        elif operator == b"q":
            self.saved_states.append(self.state)
        elif operator == b"Q" and len(self.saved_states) > self.parts[-1].saved:
            self.state = self.saved_states.pop()
        else:
            self._follow_path(operator, operands)

    def text(self, text: str, *place: Any) -> None:
        """Count the letters of a text whose font does not map glyphs to letters."""
        _, _, font, _ = place
        self.unmapped += _unmapped_letters(text, font)

    def _open(self, name: str, matrix: Matrix) -> None:
        """Open a picture or a form; one without resources uses those of its parent."""
        outer = self.parts[-1]
        resources = dictionary(outer.content.get("/Resources"))
        part = dictionary(dictionary(resources.get("/XObject")).get(name))
        if part.get("/Subtype") == "/Image":
            self.draws_picture = True
            self.has_background = True
        needs_resources = part.get("/Subtype") == "/Form" and "/Resources" not in part
        if needs_resources:
            part[NameObject("/Resources")] = resources
        matrices = (_matrix(part), matrix, *outer.matrices)
        saved = len(self.saved_states)
        self.parts.append(_Part(part, matrices, self.state, saved, needs_resources))

    def _close(self) -> None:
        """Close the innermost part, and restore the state before it."""
        part = self.parts.pop()
        self.state = part.outer_state
        del self.saved_states[part.saved :]
        if part.has_lent_resources:  # another page has other resources
            del part.content["/Resources"]

    def _show_text(self, matrix: Matrix, text_matrix: Matrix) -> None:
        """Note that text is drawn, and why no reader sees it if that is so."""
        self.shows_text = True
        if self.state.mode in _INVISIBLE_MODES:
            self.unseen.add(INVISIBLE)
        elif self.state.is_white:
            self.unseen.add(WHITE)
        if self.box is None:
            return
        x, y = text_matrix[4], text_matrix[5]
        for a, b, c, d, e, f in (matrix, *self.parts[-1].matrices):
            x, y = a * x + c * y + e, b * x + d * y + f
        left, bottom, right, top = self.box
        if not (left <= x <= right and bottom <= y <= top):
            self.unseen.add(OUTSIDE)

    def _follow_path(self, operator: bytes, operands: Any) -> None:
        """Follow an operator that draws a path or an image."""
        if operator == b"INLINE IMAGE":
            self.draws_picture = True
        if operator == b"c":
            self.curves += 1
        if operator in _BACKGROUNDS:
            self.has_background = True
        elif operator in _CURVES_AND_LINES or (
            operator == b"re" and not _is_thin(operands)
        ):
            self.has_area = True
        elif operator in _ENDS_OF_PATHS:
            is_painted = operator in _FILLS and not self.state.is_white
            self.has_background |= self.has_area and is_painted
            self.has_area = False


def _box(page: PageObject) -> tuple[float, float, float, float] | None:
    """Return the left, bottom, right and top of what is shown of a page; None if they
    make no sense.
    """
    try:
        crop, media = page.cropbox, page.mediabox
    except Exception:  # pypdf raises many types for damaged boxes
        return None
    left, bottom = max(crop.left, media.left), max(crop.bottom, media.bottom)
    right, top = min(crop.right, media.right), min(crop.top, media.top)
    if left >= right or bottom >= top:
        return None
    return left, bottom, right, top


def _numbers(operands: Any) -> list[float]:
    """Return the operands that are numbers of a size that a PDF may have."""
    return [
        each
        for each in operands
        if isinstance(each, (int, float)) and abs(each) < _LARGEST
    ]


def _matrix(form: DictionaryObject) -> Matrix:
    """Return the matrix of a form, by default the identity."""
    numbers = _numbers(items(form.get("/Matrix")))
    return numbers if len(numbers) == len(_IDENTITY) else _IDENTITY


def _is_thin(rectangle: Any) -> bool:
    sides = _numbers(rectangle)[2:]
    return any(abs(side) < THIN for side in sides)


def _is_white(operator: bytes, operands: Any) -> bool:
    """Return whether an operator sets white as the colour of text and areas."""
    colour = list(operands)
    return colour in _WHITES or (operator == b"g" and colour == [1])


def _has_letters(operands: Any) -> bool:
    """Return whether an operator shows text other than spaces."""
    for operand in operands:
        strings = operand if isinstance(operand, ArrayObject) else [operand]
        for string in strings:
            if isinstance(string, bytes) and string.strip(_SPACES):
                return True
    return False


def _unmapped_letters(text: str, font: Any) -> int:
    """Return the number of letters that are only numbers or names of glyphs."""
    if font is None:  # the page has no font of this name
        return text.count("\ufffd")
    if "/ToUnicode" in font:
        return 0
    encoding = resolved(font.get("/Encoding"))
    if encoding in ("/Identity-H", "/Identity-V"):
        return sum(map(len, text.split()))
    if isinstance(encoding, DictionaryObject):
        return len(_GLYPH_NAME.findall(text))
    return 0
