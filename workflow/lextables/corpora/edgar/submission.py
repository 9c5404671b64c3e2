"""The documents of a full submission to EDGAR.

A submission is SGML, read as a stream of lines.  Each document is between
``<DOCUMENT>`` and ``</DOCUMENT>``: a head of unclosed tags, one per line, then the body
between ``<TEXT>`` and ``</TEXT>``.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from lextables.sources.records import whole_number

# The beginning of a submission: as EDGAR sends it, or without its header.
SUBMISSION = re.compile(
    rb"\s*(?:-----BEGIN PRIVACY-ENHANCED MESSAGE|<(?:SEC|IMS)-(?:DOCUMENT|HEADER)>"
    rb"|<(?:SUBMISSION|DOCUMENT|TYPE)>)",
    re.IGNORECASE,
)
_MAIL = b"-----BEGIN PRIVACY-ENHANCED MESSAGE"
_HEAD = re.compile(rb"\s*<(TYPE|SEQUENCE|FILENAME|DESCRIPTION)>(.*)", re.IGNORECASE)
_HEAD_TAG = re.compile(
    rb"(?=</?(?:DOCUMENT|TEXT)>|<(?:TYPE|SEQUENCE|FILENAME|DESCRIPTION)>)",
    re.IGNORECASE,
)
# The tags that divide a submission, at the beginning of a line.
_MARK = re.compile(rb"\s*(</?(?:DOCUMENT|TEXT)>)", re.IGNORECASE)
_MARK_WIDTH = 16  # characters, with indentation
# At the end of a body whose last line has text before the tag.
_LAST_END = re.compile(rb"</TEXT>\s*\Z", re.IGNORECASE)


class CutShort(Exception):
    """The lines of a submission end inside a document."""


@dataclass(frozen=True)
class Document:
    """One document of a submission; ``sequence`` is None if the head gives no
    number.
    """

    type: str
    sequence: int | None
    filename: str
    description: str
    body: bytes


def in_families(families: Iterable[str]) -> Callable[[str], bool]:
    """Return the test whether an exhibit type belongs to one of ``families``.

    ``EX-10`` takes EX-10, EX-10.1, EX-10.(A) and EX-10-B, and neither EX-101.INS, which
    is XBRL, nor EX-100.
    """
    stems = "|".join(re.escape(family) for family in families)
    pattern = re.compile(rf"(?:{stems})(?!\d)", re.IGNORECASE)
    return lambda type_: pattern.match(type_) is not None


def documents(
    lines: Iterable[bytes], is_wanted: Callable[[str], bool]
) -> Iterator[Document]:
    """Yield the documents whose type ``is_wanted``, in order; the others are skipped.

    A document ends at ``</TEXT>`` or ``</DOCUMENT>``, or, if both are missing, where
    the next one begins.  One without ``<TEXT>`` has an empty body, or is skipped if it
    also has no ``</DOCUMENT>``.  Raises `CutShort` if the lines end inside a document;
    that one is not yielded.
    """
    document: _OpenDocument | None = None
    for line in _sgml_lines(lines):
        match = _MARK.match(line[:_MARK_WIDTH])
        mark = match[1].upper() if match else b""
        if document is not None and document.ends_at(mark):
            is_complete = document.in_body or mark == b"</DOCUMENT>"
            if is_complete and is_wanted(document.type):
                yield document.closed()
            document = None
        if mark == b"<DOCUMENT>":
            document = _OpenDocument()
        elif document is None:
            continue
        elif document.in_body:
            if document.is_kept:
                document.body.append(line)
        elif mark == b"<TEXT>":
            document.in_body = True
            document.is_kept = is_wanted(document.type)
            # Text may follow the tag on its line.
            document.body.append(line.lstrip()[len(mark) :])
        else:
            document.add_to_head(line)
    if document is not None:
        raise CutShort("the submission ends inside a document, which is left out")


@dataclass
class _OpenDocument:
    """A document whose end is still to come; the body is kept only if its type is
    wanted.
    """

    head: dict[str, str] = field(default_factory=dict)
    in_body: bool = False
    is_kept: bool = False
    body: list[bytes] = field(default_factory=list)

    @property
    def type(self) -> str:
        """The type in its head; empty without one."""
        return self.head.get("TYPE", "")

    def ends_at(self, mark: bytes) -> bool:
        """Whether a mark ends the document; a head may have a stray ``</TEXT>``."""
        if mark == b"</TEXT>":
            return self.in_body
        return mark in (b"<DOCUMENT>", b"</DOCUMENT>")

    def add_to_head(self, line: bytes) -> None:
        """Add the value of a line of the head; the first one with a name stays."""
        match = _HEAD.match(line)
        if match:
            value = " ".join(decoded(match[2]).split())
            self.head.setdefault(match[1].decode().upper(), value)

    def closed(self) -> Document:
        """Return the document with the values of its head."""
        return Document(
            type=self.type,
            sequence=whole_number(self.head.get("SEQUENCE", ""), digits=6),
            filename=self.head.get("FILENAME", ""),
            description=self.head.get("DESCRIPTION", ""),
            body=_LAST_END.sub(b"", b"".join(self.body)),
        )


def _sgml_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines as filed, without the marks of privacy-enhanced mail, also where only
    carriage returns end them.

    Tags that stand on the same line as ``<DOCUMENT>`` get lines of their own.
    """
    is_mail: bool | None = None  # None before the first line
    for joined in lines:
        for line in joined.splitlines(keepends=True):
            # Until 2000 EDGAR sent texts as privacy-enhanced mail, which puts "- "
            # before a line that starts with a dash.
            if is_mail is None:
                is_mail = line.startswith(_MAIL)
            elif is_mail:
                line = line.removeprefix(b"- ")
            if line[:_MARK_WIDTH].lstrip().upper().startswith(b"<DOCUMENT>"):
                yield from _HEAD_TAG.split(line)
            else:
                yield line


def decoded(raw: bytes) -> str:
    """The text of a line outside the bodies of documents, or of an index: UTF-8, or
    else Windows-1252.
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")
