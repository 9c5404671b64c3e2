"""Whether HTML is nested so deeply that its parser would take too long."""

import re
from collections import Counter

# Elements that a parser compares with all that are open, and formats that it repeats in
# each paragraph.
_CONTAINERS = frozenset(
    """
    address applet article aside blockquote body center details dialog dir div dl fieldset figure footer form
    frameset h1 h2 h3 h4 h5 h6 header html main marquee menu nav object ol pre section select summary table
    template ul
    """.split()
)
_FORMATS = frozenset("b big code em font i small strike strong tt u".split())
_TAG = re.compile(
    rf"<(/?)({'|'.join(sorted(_CONTAINERS | _FORMATS))})(?![\w-])([^<>]{{0,200}})",
    re.IGNORECASE,
)
DEEPEST = 10_000  # open elements
MOST_FORMATS = 300  # open at one place, all different


def is_too_deep(text: str) -> bool:
    """Whether the time to parse HTML grows with the square of its length."""
    depth = 0
    formats: Counter[str] = Counter()  # open ones with their attributes
    last: dict[str, list[str]] = {}  # {name: open tags of it, the last one at the end}
    for closing, name, attributes in _TAG.findall(text):
        name = name.lower()
        if name in _CONTAINERS:
            depth = max(depth - 1 if closing else depth + 1, 0)
        elif not closing:
            tag = name + attributes
            formats[tag] += 1
            last.setdefault(name, []).append(tag)
        elif last.get(name):
            tag = last[name].pop()
            formats[tag] -= 1
            if not formats[tag]:
                del formats[tag]
        if depth > DEEPEST or len(formats) > MOST_FORMATS:
            return True
    return False
