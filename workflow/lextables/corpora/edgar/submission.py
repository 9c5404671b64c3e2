"""The full submission text of a filing: SGML, read as a stream of lines.

Each document stands between ``<DOCUMENT>`` and ``</DOCUMENT>``: a head of unclosed tags, one a line, then the
body between ``<TEXT>`` and ``</TEXT>``.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

EXHIBITS = ("EX-10",)  # material contracts, Regulation S-K item 601(b)(10)

_HEAD = re.compile(rb"\s*<(TYPE|SEQUENCE|FILENAME|DESCRIPTION)>(.*)", re.IGNORECASE)


class CutShort(Exception):
    """The lines of a submission end inside a document."""


@dataclass(frozen=True)
class Document:
    """One document of a submission; ``sequence`` is None if the head gives no number."""

    type: str
    sequence: int | None
    filename: str
    description: str
    body: bytes


def in_families(families: Iterable[str]) -> Callable[[str], bool]:
    """Return the test whether an exhibit type belongs to one of ``families``.

    ``EX-10`` takes EX-10, EX-10.1, EX-10.(A) and EX-10-B, and neither EX-101.INS, which is XBRL, nor EX-100.
    """
    stems = "|".join(re.escape(family) for family in families)
    pattern = re.compile(rf"(?:{stems})(?!\d)", re.IGNORECASE)
    return lambda type_: pattern.match(type_) is not None


def documents(lines: Iterable[bytes], wanted: Callable[[str], bool]) -> Iterator[Document]:
    """Yield the documents whose type is ``wanted``, in order; of the others nothing is kept.

    Raises `CutShort` if the lines end inside a document; that one is not yielded.
    """
    head: dict[str, str] | None = None
    body: list[bytes] | None = None
    take = dashed = False
    for number, line in enumerate(lines):
        if number == 0:
            # Until 2000 texts went out as privacy-enhanced mail, which puts "- " before a line that starts
            # with a dash.
            dashed = line.startswith(b"-----BEGIN PRIVACY-ENHANCED MESSAGE")
        elif dashed and line.startswith(b"- "):
            line = line[2:]
        mark = line[:16].strip().upper() if b"<" in line[:16] else b""
        if mark.startswith(b"<DOCUMENT>"):
            if body is not None and take:
                yield _document(head, body)
            head, body, take = {}, None, False
        elif head is None:
            continue
        elif mark.startswith(b"</DOCUMENT>") or (body is not None and mark.startswith(b"</TEXT>")):
            if take or (body is None and wanted(head.get("TYPE", ""))):
                yield _document(head, body or [])
            head, body, take = None, None, False
        elif body is None and mark.startswith(b"<TEXT>"):
            body, take = [line.lstrip()[len(b"<TEXT>") :]], wanted(head.get("TYPE", ""))
        elif body is None:
            if match := _HEAD.match(line):
                head.setdefault(match[1].decode().upper(), _words(match[2]))
        elif take:
            body.append(line)
    if head is not None:
        raise CutShort("the submission ends inside a document, which is left out")


def _document(head: dict[str, str], body: list[bytes]) -> Document:
    sequence = head.get("SEQUENCE", "")
    return Document(
        type=head.get("TYPE", ""),
        sequence=int(sequence) if sequence.isascii() and sequence.isdigit() and len(sequence) < 7 else None,
        filename=head.get("FILENAME", ""),
        description=head.get("DESCRIPTION", ""),
        body=re.sub(rb"</TEXT>\s*\Z", b"", b"".join(body), flags=re.IGNORECASE),
    )


def _words(raw: bytes) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    return " ".join(text.split())
