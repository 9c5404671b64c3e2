"""LawngNLI, Appendix A.1.6: the difficulty filters.

The released code lacks this step (it starts from the ids of examples that passed), so
the three terms are defined here: words of the length filter are separated by white
space; a bigram is two adjacent words after case and punctuation are removed; the
overlap is the share of the hypothesis's distinct bigrams that are in the premise.  The
premise is the short one: Appendix A.1.7 repeats the filter on short premises "to
preserve" it.
"""

import re
from itertools import pairwise

MIN_WORDS = 4
MAX_OVERLAP = 0.5  # an example with this overlap or more is dropped

# A single mark counts where it opens a quotation; a closing one looks like an
# apostrophe.
_QUOTATION = re.compile(r"[\"“”„‟«»‘]|``|''|(?<![\w'’])'(?=\w)|&quot;")
_WORD = re.compile(r"\w+(?:['’]\w+)*")

QUOTATION = "quotation mark"
SHORT = "fewer than four words"
OVERLAP = "bigram overlap"


def words(text: str) -> list[str]:
    """Return the lower-case words of ``text``, without punctuation; an apostrophe
    inside a word stays.
    """
    return _WORD.findall(text.lower().replace("’", "'"))


def spaced(text: str) -> str:
    """Return the words of ``text`` with one space before, between and after them.

    In this form a bigram is in a text exactly when ``" first second "`` is a substring
    of it, which is found without building the text's set of bigrams.
    """
    return f" {' '.join(words(text))} "


def bigrams(text: str) -> list[str]:
    """Return the distinct bigrams of ``text``, sorted, each as ``" first second "``."""
    tokens = words(text)
    return sorted({f" {first} {second} " for first, second in pairwise(tokens)})


def bigram_overlap(hypothesis: str, premise: str) -> float:
    """Return the share, 0 to 1, of the hypothesis's distinct bigrams that are in the
    premise.

    A hypothesis of fewer than two words has no bigram and no overlap: 0.
    """
    return overlap(bigrams(hypothesis), spaced(premise))


def overlap(hypothesis_bigrams: list[str], spaced_premise: str) -> float:
    """Return `bigram_overlap` from the hypothesis's `bigrams` and the premise after
    `spaced`.
    """
    if not hypothesis_bigrams:
        return 0.0
    return sum(bigram in spaced_premise for bigram in hypothesis_bigrams) / len(
        hypothesis_bigrams
    )


def has_quotation_mark(hypothesis: str) -> bool:
    """Return whether ``hypothesis`` has a double quotation mark or opens a single
    one.
    """
    return _QUOTATION.search(hypothesis) is not None


def difficulty_fault(hypothesis: str, short_premise: str) -> str | None:
    """Return the first reason to drop an example, or None (Appendix A.1.6).

    If the example was converted to Contradict, ``hypothesis`` is the one after the
    conversion.
    """
    if has_quotation_mark(hypothesis):
        return QUOTATION
    if len(hypothesis.split()) < MIN_WORDS:
        return SHORT
    if bigram_overlap(hypothesis, short_premise) >= MAX_OVERLAP:
        return OVERLAP
    return None
