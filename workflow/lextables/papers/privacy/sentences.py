"""Sentences of a paragraph, by Punkt (Kiss and Strunk 2006).

The authors' coding tool splits by NLTK's Punkt as trained on English news, whose parameters are a download.
Here the same algorithm has a list of abbreviations in their place, so that it needs no file; it may
differ from the release's after an abbreviation that only one of the two knows.
"""

from functools import cache

from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

ABBREVIATIONS = frozenset(
    "e.g i.e etc inc ltd co corp llc no nos sec art mr mrs ms dr st jr sr vs cf al u.s u.k e.u d.c a.m p.m "
    "p.o ave ste blvd fla cal approx".split()
)


@cache
def _punkt() -> PunktSentenceTokenizer:
    parameters = PunktParameters()
    parameters.abbrev_types = set(ABBREVIATIONS)
    return PunktSentenceTokenizer(parameters)


def spans(paragraph: str) -> list[tuple[int, int]]:
    """Return where each sentence of ``paragraph`` starts and ends, in order; none of a blank one."""
    return list(_punkt().span_tokenize(paragraph)) if paragraph.strip() else []
