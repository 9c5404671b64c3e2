"""Small case law volumes in the layouts of static.case.law and of the former bulk
export, for tests.
"""

import io
import json
import lzma
import zipfile


def metadata(case_id, citation="", **changes):
    """Return the entry of a case in CasesMetadata.json; the default citation is
    ``<case_id> Test 1``.
    """
    citation = citation or f"{case_id} Test 1"
    record = {
        "id": case_id,
        "name": f"Petitioner {case_id} v. Respondent",
        "name_abbreviation": f"Petitioner {case_id} v. Respondent",
        "decision_date": "1990-05-01",
        "first_page": citation.split()[-1],
        "last_page": citation.split()[-1],
        "citations": [{"type": "official", "cite": citation}],
        "court": {"name": "Supreme Court of Testland"},
        "jurisdiction": {"name": "Test.", "name_long": "Testland"},
        "file_name": f"{case_id:04}-01",
    }
    return {**record, **changes}


def label(page, index=1):
    """Return the HTML that marks the start of a page."""
    return (
        f'<a id="p{page}" href="#p{page}" data-label="{page}" data-citation-index="{index}" '
        f'class="page-label">*{page}</a>'
    )


def html(*opinions, head=""):
    """Return a case body from opinions, (type, paragraphs).

    A paragraph that begins with one of the tags in `_paragraph` is HTML, any other gets
    the tag of a paragraph.
    """
    articles = ""
    for kind, paragraphs in opinions:
        inner = "".join(map(_paragraph, paragraphs))
        articles += f'<article class="opinion" data-type="{kind}">{inner}</article>'
    return f'<section class="casebody"><section class="head-matter"><p>{head}</p></section>{articles}</section>'


def _paragraph(text):
    if text.startswith(("<aside", "<blockquote", '<p class="author"')):
        return text
    return f"<p>{text}</p>"


def majority(*paragraphs, head=""):
    """Return a case body with one majority opinion."""
    return html(("majority", paragraphs), head=head)


def write_zip(path, cases):
    """Write a volume in the layout of static.case.law.

    ``cases`` is {any name: (metadata entry, content of its html/ file)}.
    """
    entries = [entry for entry, _ in cases.values()]
    members = [("metadata/CasesMetadata.json", json.dumps(entries))]
    for entry, body in cases.values():
        members.append((f"html/{entry['file_name']}.html", body))
    return write_members(path, members)


def write_members(path, members):
    """Write a zip; ``members`` are (name, content)."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def bulk_row(case_id, body, **changes):
    """Return a row of the bulk export; ``body`` is the content of <casebody>."""
    namespace = "http://nrs.harvard.edu/urn-3:HLS.Libr.US_Case_Law.Schema.Case_Body:v1"
    data = f'<casebody firstpage="1" lastpage="2" xmlns="{namespace}">{body}</casebody>'
    return {**metadata(case_id), "casebody": {"status": "ok", "data": data}, **changes}


def write_bulk(path, rows):
    """Write a bulk export file, compressed if its name ends in .xz."""
    lines = [
        row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows
    ]
    content = b"\n".join(lines)
    path.write_bytes(lzma.compress(content) if path.suffix == ".xz" else content)
    return path


def damaged(path, name):
    """Change ten bytes inside the compressed data of the member ``name`` of a zip."""
    raw = bytearray(path.read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(raw))) as archive:
        member = archive.getinfo(name)
    # A member's header has 30 bytes and its name.
    start = member.header_offset + 30 + len(name)
    for at in range(start + 5, start + 15):
        raw[at] ^= 0xFF
    path.write_bytes(bytes(raw))
    return path
