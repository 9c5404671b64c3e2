"""Measure the extraction of parentheticals against the plain loop over eyecite's get_citations.

Both read the same opinions of the named volumes, one after the other in one process, and the second
half of each comparison repeats the first with the two in the other order.  The time is CPU seconds, so
that other work on the machine counts little.  The parentheticals of both are read by the same code from
the citations that each found; what eyecite itself says is the parenthetical is compared too.

    PYTHONPATH=workflow python bench/measure_extraction.py ../shared/mirror/caselaw/us/{445,481,526}.zip
"""

import argparse
import bisect
import logging
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from eyecite import get_citations
from eyecite.tokenizers import default_tokenizer

from lextables.corpora.caselaw.opinion import Opinion
from lextables.corpora.caselaw.volume import read_volume
from lextables.papers.lawngnli.citations import KINDS, Found, find_citations, tokenizer
from lextables.papers.lawngnli.parentheticals import Reading, read_after

Finder = Callable[[str], list[Found]]


def plain_loop(text: str) -> list[Found]:
    """Return what eyecite finds in a whole opinion with its default tokenizer."""
    ends = [at for at, character in enumerate(text) if character == "\n"] + [len(text)]
    return [
        Found(citation, 0, ends[bisect.bisect_left(ends, citation.span()[0])])
        for citation in get_citations(text, tokenizer=default_tokenizer)
    ]


def timed(find: Finder, texts: list[str]) -> tuple[float, list[list[Found]]]:
    """Return CPU seconds and what was found in each text."""
    start = time.process_time()
    found = [find(text) for text in texts]
    return time.process_time() - start, found


def listed(texts: list[str], found: list[list[Found]], resolved: bool) -> Counter[tuple]:
    """Return the parentheticals as (opinion, offset, citation, pincite, text) and, maybe, the case."""
    listing: Counter[tuple] = Counter()
    for number, (text, citations) in enumerate(zip(texts, found, strict=True)):
        reading: Reading = read_after(text, citations, Counter())
        for p in reading.parentheticals:
            entry = (number, p.start, p.citation, p.pincite, p.text)
            listing[(*entry, p.resource) if resolved else entry] += 1
    return listing


def eyecites_own(texts: list[str], found: list[list[Found]]) -> tuple[int, int]:
    """Return how many parentheticals eyecite gives to case citations, and how many of them we read.

    A year in parentheses is left out; so is one that eyecite gives to a second citation.
    """
    own = shared = 0
    for text, citations in zip(texts, found, strict=True):
        read = {p.text for p in read_after(text, citations, Counter()).parentheticals}
        theirs = {
            (item.citation.metadata.parenthetical or "").strip()
            for item in citations
            if type(item.citation) in KINDS
        }
        theirs = {paren for paren in theirs if paren and not paren[:4].isdecimal()}
        own += len(theirs)
        shared += sum(any(paren == one or one.startswith(paren) for one in read) for paren in theirs)
    return own, shared


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("volumes", nargs="+", type=Path)
    arguments.add_argument("--cache-dir", type=Path, help="where compiled patterns are kept")
    options = arguments.parse_args()
    logging.disable(logging.WARNING)
    texts = [item.text for path in options.volumes for item in read_volume(path) if isinstance(item, Opinion)]
    size = sum(map(len, texts))
    print(f"{len(options.volumes)} volumes, {len(texts)} opinions, {size:,} characters")
    with tempfile.TemporaryDirectory() as scratch:
        start = time.process_time()
        tokens = tokenizer(options.cache_dir or scratch)
        print(f"patterns compiled or loaded in {time.process_time() - start:.1f} s, not counted below")

        def ours(text: str) -> list[Found]:
            return find_citations(text, tokens, Counter())

        # Regular expressions are compiled on first use; neither side pays for it below.
        for find in (ours, plain_loop):
            timed(find, texts[:3])
        runs = [timed(find, texts) for find in (plain_loop, ours, ours, plain_loop)]
    plain_seconds, our_seconds = runs[0][0] + runs[3][0], runs[1][0] + runs[2][0]
    for name, seconds in (("plain loop", plain_seconds), ("lextables", our_seconds)):
        print(f"{name:11} {seconds / 2:7.1f} s  {2 * size / seconds / 1e3:7.0f} thousand characters a second")
    print(f"ratio {plain_seconds / our_seconds:.2f}")
    for resolved in (False, True):
        plain, our = (listed(texts, runs[i][1], resolved) for i in (0, 1))
        what = "with the same case" if resolved else "parentheticals"
        print(f"{what}: plain {plain.total()}, ours {our.total()}, both {(plain & our).total()}")
        for sign, rest in (("-", plain - our), ("+", our - plain)):
            for entry in sorted(rest, key=str)[:20]:
                print(f"  {sign} {entry}")
    own, shared = eyecites_own(texts, runs[0][1])
    print(f"eyecite's own parentheticals in the plain loop: {own} different, {shared} of them read by us")


if __name__ == "__main__":
    main()
