"""HTML without the tags of struck text that are never closed.

In old filings ``<S>`` also marks a column of an SGML table.  It has no end tag, so a
parser would strike all text after it.
"""

import re
from collections import defaultdict

STRUCK = ("strike", "s", "del")

# The rest of a tag after its name; a value in quotes may contain ">".
_ATTRIBUTES = r"(?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>]*+))*+(?:>|\Z)"
# All markup, so that what looks like a tag in a comment, in an attribute or in an
# element that contains only text is not taken for one.
_MARKUP = re.compile(
    rf"""
    <!--(?:-?>|.*?(?:--!?>|\Z))
    | <(?P<only_text>iframe|noembed|noframes|script|style|textarea|title|xmp)(?=[\s/>]){_ATTRIBUTES}
      .*?(?:\Z|(?=</(?P=only_text)[\s/>]))
    | <(?P<end>/?)(?P<struck>{"|".join(STRUCK)})(?=[\s/>]){_ATTRIBUTES}
    | </?[a-z]{_ATTRIBUTES}
    | <[!?/][^>]*+
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def without_unclosed(page: str) -> str:
    """Return HTML without the start tags of struck text (`STRUCK`) that have no end
    tag.

    An end tag closes the last open start tag with its name.
    """
    # For each tag, where its open start tags begin and end.
    open_: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for match in _MARKUP.finditer(page):
        if match["struck"] is None:
            continue
        places = open_[match["struck"].lower()]
        if not match["end"]:
            places.append(match.span())
        elif places:
            places.pop()
    unclosed = sorted(place for places in open_.values() for place in places)
    pieces = []
    last_end = 0
    for start, end in unclosed:
        pieces.append(page[last_end:start])
        last_end = end
    pieces.append(page[last_end:])
    return "".join(pieces)
