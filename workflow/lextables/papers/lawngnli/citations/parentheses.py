"""LawngNLI, Appendix A.1.1: the parentheses after a citation, and which of them
explains the citation.

A citation may be followed by several parentheses: "(per curiam) (holding that …)
(emphasis added)".  Those that directly follow each other are a chain.
"""

import re
from collections.abc import Sequence

LONGEST = 2000
"""A parenthetical of more characters is not read: its closing parenthesis was probably
lost in print.
"""

# {opening bracket: pattern of all brackets of its kind}.  A bracket may be a part of a
# smiley, as ":)"; an opening bracket; or a closing bracket, perhaps after the number of
# an item of a list, as "1)".
_BRACKETS = {
    opening: re.compile(
        r"(?P<smiley>(?<![^\s\"'(\[])[:;=]['o^-]?[()\[\]](?!\w))"
        rf"|(?P<open>\{opening})"
        rf"|(?:(?<![^\s;,\"'-])(?P<item>\d{{1,2}}|[A-Za-z]|[ivxIVX]{{2,5}})\.?)?(?P<close>\{closing})"
    )
    for opening, closing in ("()", "[]")
}
# The beginning of an item's text, after its number.
_ITEM_FOLLOWS = re.compile(r"\s+[\w\"'(\[$]")
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
_NEXT = re.compile(r",? ?(?=[(\[])")

_MARKS = r"(?:emphas[ei]s|citations?|quotations?|quotes|marks|foot ?notes?|alterations?|brackets?|ellips[ei]s)"
WEIGHTS = {
    "kind of decision": r"(?:per curiam|[ei]n ban[ce]|in chambers|mem\.?|memorandum|table|unpublished"
    r"|three-judge|summary|on re[mhc]|case below|dict(?:um|a)|(?:alternative )?holding$|equally divided"
    r"|slip op|by an? |\d+[- ](?:to[- ])?\d+\b).{0,60}",
    "opinion": r".{0,200}(?:\bJ{1,2}\.|\bC\. ?J\.|\bJustice\b|\bJudge\b|concur|dissent|pluralit|opinions?\b"
    r"|op\. of).{0,200}",
    "print": rf".{{0,80}}\b{_MARKS}\b.{{0,80}}",
    "source": r"(?:quot(?:ing|ed)|cit(?:ing|ed)|hereinafter|statements? |remarks |testimony |Nos?\. ).*",
    "court": r"C\.? ?A\.? ?(?:\d{1,2}|D\.?C\.?|Fed\.?)|(?:[A-Z0-9][\w'&]*(?:\. ?| ))*[A-Z]\w*\.",
    "note": r"(?:nn?|fn)\.? ?\d+.{0,20}",
}
"""Patterns, by kind, of parentheses that say nothing of a source's content: they give
its weight as authority ("per curiam"), or describe its print ("emphasis added").
"""

_WEIGHT = re.compile(
    "|".join(f"(?:{pattern})" for pattern in WEIGHTS.values()), re.DOTALL
)
COURT = WEIGHTS["court"]
# How a parenthesis begins that surely explains: a verb in "-ing" or a quotation.
_EXPLAINS = re.compile(
    r"(?:[a-z]+ly,? )?(?!quoting|citing|concurring|dissenting)[a-z]{2,}ing\b|[\"'(\[]",
    re.DOTALL,
)
SHORT = 3
"""So many words or fewer may only name a source, as "(Lemon II)" does."""


def closing(plain: str, start: int, limit: int) -> int | None:
    """Return the offset after the bracket that closes the one at ``start``; None if no
    bracket before ``limit`` does.

    A bracket after the number of an item, as in "1) an injury and 2) a remedy", closes
    nothing.  It counts as such only if another item has the next or the previous
    number; otherwise it closes the parenthesis after all.
    """
    depth = 0
    items: list[tuple[str, int]] = []  # (number, offset after the bracket)
    for match in _BRACKETS[plain[start]].finditer(plain, start, limit):
        if match["smiley"]:
            continue
        if match["open"]:
            depth += 1
            continue
        depth -= 1
        if depth > 0:
            continue
        item = match["item"]
        end = match.end()
        if item is None or not _ITEM_FOLLOWS.match(plain, end):
            return _first_that_is_no_item(items) or end
        if end - start > LONGEST:
            break
        # Perhaps an item: go on as if it closed nothing.
        depth = 1
        items.append((item.lower(), end))
    return _first_that_is_no_item(items)


def _first_that_is_no_item(items: Sequence[tuple[str, int]]) -> int | None:
    """The offset after the first of ``items`` whose number has no neighbour among
    them.
    """
    names = {name for name, _ in items}
    for name, end in items:
        if not names & _neighbours(name):
            return end
    return None


def _neighbours(item: str) -> set[str]:
    """The names of the items before and after ``item``; a letter may be a Roman number
    too.
    """
    if item.isdecimal():
        number = int(item)
        return {str(number - 1), str(number + 1)}
    names: set[str] = set()
    if len(item) == 1:
        code = ord(item)
        names.update((chr(code - 1), chr(code + 1)))
    if item in _ROMAN:
        place = _ROMAN.index(item)
        names.update(_ROMAN[max(0, place - 1) : place])
        names.update(_ROMAN[place + 1 : place + 2])
    return names


def next_open(plain: str, end: int, limit: int, brackets: str) -> int | None:
    """Return where the parenthesis opens that directly follows ``end``; None if none of
    ``brackets`` does.
    """
    match = _NEXT.match(plain, end, limit)
    if match is None or plain[match.end()] not in brackets:
        return None
    return match.end()


def explanatory(texts: Sequence[str]) -> int:
    """Return the place of the parenthetical of a chain that explains the citation.

    It is the first text that explains (`_rank`).  If there is none, it is the first of
    a few words, which may only name a source.  If all are weights (`WEIGHTS`), it is
    the first of the chain, as for eyecite and the paper.
    """
    ranks = [_rank(text) for text in texts]
    return ranks.index(min(ranks))


def _rank(text: str) -> int:
    """0 for a text that explains the citation, 1 for a text of at most `SHORT` words,
    which may only name a source, and 2 for a weight (`WEIGHTS`).

    A text that begins as `_EXPLAINS` explains, whatever its length.
    """
    if _EXPLAINS.match(text):
        return 0
    if _WEIGHT.fullmatch(text):
        return 2
    return int(len(text.split()) <= SHORT)
