"""Small PDF files, written object by object so that any of them can be odd."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Numbers of objects: 1 and 2 are the catalog and the page tree, and each page has two.
FONT = 3
PICTURE = 4
FIRST_PAGE = 100
HELVETICA = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
CLAUSES = (
    "This Agreement is governed by the laws of the State of Delaware, without regard to its rules on",
    "conflict of laws. Neither party may assign this Agreement without the written consent of the",
    "other party. Each party shall keep the information of the other party confidential for two years.",
)


@dataclass(frozen=True)
class Page:
    """A page with lines of text, then other operators, and entries of its dictionary
    such as /Annots.
    """

    lines: Sequence[str] = CLAUSES
    operators: str = ""
    entries: str = ""
    resources: str = f"/Font<</F {FONT} 0 R>>/XObject<</P {PICTURE} 0 R>>"
    contents: str = "{} 0 R"
    """Its /Contents, with {} for the number of the content."""


SHOW_PICTURE = "q 612 0 0 792 0 0 cm /P Do Q\n"


def stamped(*lines: str, picture: str = SHOW_PICTURE) -> Page:
    """Return a page with a picture and a few lines."""
    return Page(lines, picture)


def pdf(
    pages: Sequence[Page],
    root: str = "",
    objects: Mapping[int, str] | None = None,
    count: int | None = None,
) -> bytes:
    """Return a PDF; ``root`` are entries of its catalog, and ``objects`` have numbers
    from 5 to 99, or replace others.

    ``count`` is the stated number of pages, by default the real one.
    """
    bodies = {
        FONT: HELVETICA,
        PICTURE: stream(
            "/Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8",
            "x",
        ),
        **(objects or {}),
    }
    kids = []
    for number, page in enumerate(pages):
        at = FIRST_PAGE + 2 * number  # the page, followed by its content
        shown = "".join(f"({line}) Tj T*\n" for line in page.lines)
        bodies[at] = (
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {page.contents.format(at + 1)}"
            f"/Resources<<{page.resources}>>{page.entries}>>"
        )
        bodies[at + 1] = stream(
            "", f"BT /F 10 Tf 14 TL 72 720 Td\n{shown}ET\n{page.operators}"
        )
        kids.append(f"{at} 0 R")
    number_of_pages = len(pages) if count is None else count
    bodies[1] = f"<</Type/Catalog/Pages 2 0 R{root}>>"
    bodies.setdefault(
        2, f"<</Type/Pages/Count {number_of_pages}/Kids[{' '.join(kids)}]>>"
    )
    out = b"%PDF-1.7\n"
    offsets = {}
    for number, body in sorted(bodies.items()):
        offsets[number] = len(out)
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(out)
    out += f"xref\n0 {max(bodies) + 1}\n0000000000 65535 f \n".encode()
    for number in range(1, max(bodies) + 1):
        used = "n" if number in offsets else "f"
        out += f"{offsets.get(number, 0):010} 00000 {used} \n".encode()
    trailer = f"<</Size {max(bodies) + 1}/Root 1 0 R>>"
    return out + f"trailer{trailer}\nstartxref\n{start}\n%%EOF\n".encode()


def form(content: str, entries: str = f"/Resources<</Font<</F {FONT} 0 R>>>>") -> str:
    """Return a part of a page with operators of its own."""
    return stream(f"/Type/XObject/Subtype/Form/BBox[0 0 612 792]{entries}", content)


def stream(entries: str, content: str) -> str:
    return f"<<{entries}/Length {len(content)}>>stream\n{content}\nendstream"
