"""The share of a hypothesis's words that its short premise contains: a cheap sign that
the premise is about the hypothesis.

Statements whose words are not on the cited pages are less often supported by these
pages.  The share depends on words alone: a statement and its negation have the same
share.
"""

import re
from functools import cache

# A number in digits; and a word, with hyphens, or a number.
_FIGURE = re.compile(r"\d[\d,.]*\d|\d")
_WORD = re.compile(rf"[a-z]+(?:-[a-z]+)*|{_FIGURE.pattern}")


@cache
def _lemmas(word: str) -> frozenset[str]:
    """Return the word and its lemmas as a noun, verb, adjective or adverb."""
    from lemminflect import getAllLemmas  # loads slowly

    return frozenset({word}.union(*getAllLemmas(word).values()))


def content_words(text: str) -> set[str]:
    """Return the distinct lower-case words and figures of a text, without spaCy's stop
    words and without single characters.
    """
    from spacy.lang.en.stop_words import STOP_WORDS  # loads slowly

    words = set(_WORD.findall(text.lower()))
    return {word for word in words if word not in STOP_WORDS and len(word) > 1}


def content_lemmas(text: str) -> frozenset[str]:
    """Return the lemmas of the content words of a text."""
    return frozenset().union(*map(_lemmas, content_words(text)))


def support(hypothesis: str, lemmas: frozenset[str]) -> float:
    """Return the share, 0 to 1, of the hypothesis's content words with a lemma in
    ``lemmas``.

    A hypothesis without content words has the support 1.
    """
    words = content_words(hypothesis)
    if not words:
        return 1.0
    return sum(not _lemmas(word).isdisjoint(lemmas) for word in words) / len(words)


def figures(text: str) -> set[str]:
    """Return the distinct figures of a text that are written in digits: a year, a sum,
    the number of a section.
    """
    return set(_FIGURE.findall(text))
