"""Whether a text is readable English, judged by its most common words."""

from lextables.sources.characters import plain

# Function words of English contracts that other European languages do not have.
COMMON = frozenset(
    "the of and this that shall with any which such been not under are other these each their upon between "
    "its may into than where whether".split()
)
# The share of them is 3.4 % or more in each of CUAD's 510 contracts (24 % in the median), 0.3 % or less if
# their letters are exchanged, and 1.7 % or less in seven of eight other languages.
MIN_SHARE = 0.025
# Less text is not judged: it may be a title, a list of names or a signature.
MIN_WORDS = 40
MIN_CHARACTERS = 250

_AROUND_WORDS = ".,;:()[]\"'“”"


def is_readable(text: str) -> bool:
    """Return whether enough words of a text are common English words; a short text is not judged."""
    words = plain(text).text.lower().split()
    is_short = len(words) < MIN_WORDS and sum(map(len, words)) < MIN_CHARACTERS
    common = sum(word.strip(_AROUND_WORDS) in COMMON for word in words)
    return is_short or common >= MIN_SHARE * len(words)
