"""Whether a text is readable English, judged by its most common words."""

import re

from lextables.sources.characters import plain

# Function words of English contracts that other European languages do not have.
COMMON = frozenset(
    "the of and this that shall with any which such been not under are other these each their upon between "
    "its may into than where whether".split()
)
# The minimum share of these words.  It is 3.4 % or more in each of CUAD's 510 contracts
# (24 % in the median), 0.3 % or less if the letters of the contracts are exchanged, and
# 1.7 % or less in seven of eight other languages.
MIN_SHARE = 0.025
# Less text is not judged: it may be a title, a list of names or a signature.
MIN_WORDS = 40
MIN_CHARACTERS = 250

# Characters of glyphs that a font does not map to letters.  A few, or a small share,
# are bullets.
_UNMAPPED = re.compile("[\0-\x08\x0e-\x1f\ue000-\uf8ff\ufffd]")
MIN_UNMAPPED = 10
MAX_UNMAPPED_SHARE = 0.1

_AROUND_WORDS = ".,;:()[]\"'“”"


def is_readable(text: str) -> bool:
    """Return whether a text can be read.

    At most a tenth of its characters, or fewer than ten, are not mapped to letters.
    Enough of its words are common English ones, unless it is short.
    """
    unmapped = len(_UNMAPPED.findall(text))
    if unmapped >= MIN_UNMAPPED and unmapped > MAX_UNMAPPED_SHARE * len(text):
        return False
    words = plain(text).text.lower().split()
    letters = sum(map(len, words))
    if len(words) < MIN_WORDS and letters < MIN_CHARACTERS:
        return True
    common = sum(word.strip(_AROUND_WORDS) in COMMON for word in words)
    return common >= MIN_SHARE * len(words)
