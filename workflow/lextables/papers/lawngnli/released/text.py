"""The opinions of the released LawngNLI, as the released code
(``src/reconstruct_nli.py``) reads them.

The offsets and masks of the ID files count characters of this text, so its errors are
part of the format.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path

import pyarrow as pa
from eyecite import clean_text

from lextables.corpora.caselaw.opinion import MAJORITY
from lextables.corpora.caselaw.volume import bodies
from lextables.pipeline.dataset import Column, Row, Table
from lextables.sources.characters import without_tags

_OPINION = pa.struct(
    [pa.field("type", pa.string(), False), pa.field("text", pa.string(), False)]
)
CASES = Table(
    name="cases",
    description="The cases of a shard that the ID file names.",
    columns=(
        Column("case_id", pa.int64(), "the case"),
        Column("jurisdiction", pa.string(), "its state, or `United States`"),
        Column(
            "opinions",
            pa.list_(pa.field("item", _OPINION, False)),
            "its opinions; a page begins at `@12@`",
        ),
    ),
    key=("case_id",),
    row_group=64,
)
_PAGE_LABEL = re.compile(r"@[0-9]*@")
_PAGE_NUMBER = re.compile(
    r'<page-number (?:citation-index="\d+" )?label="([0-9]*)[^<>]{0,200}>[^>]{0,200}>'
)
_ATTRIBUTES = "[^<>]{0,300}"
# Replacements that turn the HTML of static.case.law into the XML of the bulk export,
# which has the same structure: (pattern, replacement, end of every match).  The text
# after the last occurrence of this end is not searched.
_TO_XML = (
    (
        rf'<a {_ATTRIBUTES}data-label="([^"<>]*)"{_ATTRIBUTES}class="page-label"{_ATTRIBUTES}>.*?</a>',
        r'<page-number label="\1">*</a>',
        "</a>",
    ),
    (r'(<aside [^<>]*>)\s*<a href="#ref_[^<>]*>.*?</a>', r"\1", "</a>"),
    (r'<p class="([a-z]+)"[^<>]*>(.*?)</p>', r"<\1>\2</\1>", "</p>"),
    (r"<img [^<>]*>", "[[Image here]]", ">"),
    (r'<article class="opinion" data-type="([^"]*)"', r'<opinion type="\1"', '"'),
    (r"</article>", "</opinion>", ">"),
    (r"</section>\s*\Z", "</casebody>\n", ""),
)


def cases(volumes: Iterable[str | Path], case_ids: Set[int]) -> list[Row]:
    """Return the rows of `CASES` of the ``case_ids`` cases in ``volumes``, sorted.

    Of cases with the same id the first is used.
    """
    rows = {}
    for volume in volumes:
        for case, body in bodies(volume, case_ids):
            if case.id not in rows:
                rows[case.id] = {
                    "case_id": case.id,
                    "jurisdiction": case.jurisdiction.name_long,
                    "opinions": opinions(body),
                }
    return [row for _, row in sorted(rows.items())]


def opinions(body: str) -> list[dict[str, str]]:
    """Return type and text of the opinions of a case body, XML of the bulk export or
    HTML of static.case.law.

    As in the released code:

    - The XML is cut with string functions, and only "&amp;" is decoded.
    - A text starts at the first paragraph after the first closing tag, so an opinion
      without an author element loses its first paragraph.
    - The white space between paragraphs stays as one space and the line ends.

    One thing differs: "citation-index" may stand before the label of a page number, as
    in files of another date.  The released pattern would leave "*12" in the text and
    find no page.
    """
    if "<casebody" not in body:
        for pattern, replacement, last in _TO_XML:
            searched = body.rfind(last) + len(last)
            new = re.sub(pattern, replacement, body[:searched], flags=re.DOTALL)
            body = new + body[searched:]
    opening = '<opinion type="'
    closing = "</opinion>\n  " + '<opinion type="'
    begin = body.find(opening)
    if begin < 0:
        return []
    body = body[begin + len(opening) : body.find("</casebody>\n")]
    rows = []
    for part in body.split(closing):
        type_end = part.find('"')
        closing_tag = part.find("</")
        # ``paragraph`` is counted from the character after the start of the closing
        # tag.  A string that is not found is at -1, as in the released code.
        paragraph = part[closing_tag + 1 :].find("<p ")
        text = part[closing_tag + 1 + paragraph :]
        text = text.replace("&amp;", "&")
        text = _PAGE_NUMBER.sub(r"@\1@", text)
        text = clean_text(without_tags(text), ["inline_whitespace", "underscores"])
        rows.append({"type": part[:type_end], "text": text})
    return rows


def unlabelled(text: str) -> str:
    """Return a text without the labels of its pages, as the offsets and masks count
    it.
    """
    return _PAGE_LABEL.sub("", text)


def majority(opinions: Sequence[Mapping[str, str]]) -> tuple[int, str] | None:
    """Return place and text of the majority opinion; None unless there is exactly
    one.
    """
    texts = []
    for place, opinion in enumerate(opinions):
        if opinion["type"] == MAJORITY:
            texts.append((place, opinion["text"]))
    if len(texts) != 1:
        return None
    return texts[0]


def short_spans(text: str, pages: Iterable[str]) -> list[tuple[int, int]]:
    """Return the (start, end) spans of the cited pages, extended to whole paragraphs.

    Offsets are in ``text`` with its page labels.  The short premise is the text of the
    spans, joined by line ends.  As in the released code:

    - Pages are in the order of their labels as strings.
    - A paragraph on two pages comes twice.
    - A page whose label is missing begins at the start of the text; one whose next
      label is missing runs to its end.
    - If a page would have the whole text, there are no spans at all.
    """
    # A line begins after its line end and the one space that is left of the
    # indentation.
    after_line_ends = (end.start() + 2 for end in re.finditer("\n", text))
    starts = [0, *after_line_ends, len(text) + 1]
    spans = []
    for page in sorted(pages):
        page_mark = f"@{page}@"
        next_mark = f"@{int(page) + 1}@"
        page_start = text.find(page_mark)
        next_page_start = text.find(next_mark)
        start = 0
        end = len(text)
        if page_start >= 0:
            line = bisect_right(starts, page_start + len(page_mark)) - 1
            start = starts[line]
        if next_page_start >= 0:
            line = bisect_left(starts, next_page_start)
            end = max(starts[line] - 2, 0)  # the line end before this line
        if start == 0 and end == len(text):
            return []
        # A span includes its last line end, as in the released code.
        spans.append((start, min(end + 1, len(text))))
    return spans


def short_premise(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the short premise: the texts of the ``spans`` of `short_spans`, without
    page labels.
    """
    return unlabelled("\n".join(text[start:end] for start, end in spans))


def parenthetical(opinion: str, start: int, end: int) -> str | None:
    """Return the parenthetical at the ID file's offsets.

    The offsets are counted in the opinion without page labels and with "n't" written
    out.  None if they do not fit: outside the text, in the middle of a word, or with
    unequal numbers of opening and closing parentheses between them.
    """
    text = unlabelled(opinion).replace("n't", " not").replace("can not", "cannot")
    passage = text[start:end]
    if (
        not 0 < start < end < len(text)
        or passage != passage.strip()
        or passage.count("(") != passage.count(")")
    ):
        return None
    return None if text[start - 1].isalnum() or text[end].isalnum() else passage
