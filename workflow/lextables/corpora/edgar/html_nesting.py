"""Whether HTML is nested so deeply that its parser would take too long.

Tags are counted without building the tree.
"""

import re
from collections import Counter

# At the tag of a container, a parser searches the elements that are open.
_CONTAINERS = frozenset(
    """
    address applet article aside blockquote body center details dialog dir div dl fieldset figure footer form
    frameset h1 h2 h3 h4 h5 h6 header html main marquee menu nav object ol pre section select summary table
    template ul
    """.split()
)
# A format that is not closed is opened again in each paragraph after it.
_FORMATS = frozenset("b big code em font i small strike strong tt u".split())
_TAG = re.compile(
    rf"<(/?)({'|'.join(sorted(_CONTAINERS | _FORMATS))})(?![\w-])([^<>]{{0,200}})",
    re.IGNORECASE,
)
DEEPEST = 10_000  # containers that are open at one place
# Different formats that are open at one place; of equal ones a parser keeps only three.
MOST_FORMATS = 300


def is_too_deep(text: str) -> bool:
    """Whether more than `DEEPEST` containers or `MOST_FORMATS` formats are open at a
    place.

    With more, the time to parse grows with the square of the length.
    """
    depth = 0
    # Open formats, by name and attributes, and {name: its open formats, the last one at
    # the end}.
    open_formats: Counter[str] = Counter()
    open_by_name: dict[str, list[str]] = {}
    for closing, name, attributes in _TAG.findall(text):
        name = name.lower()
        if name in _CONTAINERS:
            depth = max(depth - 1 if closing else depth + 1, 0)
        elif not closing:
            tag = name + attributes
            open_formats[tag] += 1
            open_by_name.setdefault(name, []).append(tag)
        elif open_by_name.get(name):
            tag = open_by_name[name].pop()
            open_formats[tag] -= 1
            if not open_formats[tag]:
                del open_formats[tag]
        if depth > DEEPEST or len(open_formats) > MOST_FORMATS:
            return True
    return False
