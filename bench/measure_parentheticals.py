r"""Measure how many explanatory parentheticals the pipeline reads (LawngNLI, A.1.1).

A plain regular expression lists every parenthesis that follows a citation of a case and begins with
a participle ("holding", "clearly stating"); it shares no code with the pipeline.  The script prints
how many of them the pipeline has, how the others are preceded, and, with --missing, their texts.
Without volumes it draws --drawn of those from 436 to 545: the ones with the smallest sha256 of
"us/N".

    PYTHONPATH=workflow python bench/measure_parentheticals.py --mirror ../shared/mirror
"""

import argparse
import hashlib
import re
import time
from collections import Counter
from pathlib import Path

from lextables.corpora.caselaw.opinion import Opinion
from lextables.corpora.caselaw.volume import read_volume
from lextables.papers.lawngnli.citations import tokenizer
from lextables.papers.lawngnli.parentheticals import read_parentheticals

PARTICIPLE = re.compile(r"\((?:[a-z]+ly )?([a-z]{2,}ing)\b(?! opinion)")
NOT_EXPLANATORY = {"quoting", "citing", "concurring", "dissenting", "including", "during", "being"}
NAME = r"(?: v\. |\bIn re |\bEx parte |\bMatter of )"
REPORTED = r"\d+ [A-Z][\w.' ]{0,24}[\w.],? (?:at )?\d+"
CITATION = re.compile(
    rf"(?:{NAME}[^;]{{3,250}}?{REPORTED}[^;()§]{{0,100}}\([^()]{{0,60}}[\d.]\)"
    r"|\b\d+ (?:U\. ?S\.|F\. ?[23]d|S\. ?Ct\.|F\. ?Supp\.),? at \d[^;()A-Z]{0,60}"
    r"|\b(?:[Ii]d\.|[Ii]bid\.|[Ss]upra\b)[^;()A-Z]{0,60})"
    r"(?P<others>(?:,? ?\([^()]{0,80}\)){0,3}),? ?$"
)
KINDS = {
    "page break": re.compile(r"Page \d+ U\. ?S\."),
    "another parenthesis": re.compile(r"\((?!.{0,60}\d{4}\)[ ,]*$)[^()]*\)[ ,]*$"),
    "note": re.compile(r"\b(?:nn?|fn?|note)\b\.? ?\d[^()]*(?:\([^()]*\))?[ ,]*$"),
    "other": re.compile(""),
}


def drawn_volumes(number: int) -> list[int]:
    """Return the ``number`` drawn volumes of United States Reports."""
    volumes = range(436, 546)
    return sorted(volumes, key=lambda n: hashlib.sha256(f"us/{n}".encode()).hexdigest())[:number]


def explanatory(text: str) -> dict[int, str]:
    """Return for each listed parenthesis its offset and what precedes it in its paragraph."""
    found = {}
    for match in PARTICIPLE.finditer(text):
        start = match.start()
        before = text[max(0, start - 400) : start].rpartition("\n")[2]
        if match[1] not in NOT_EXPLANATORY and CITATION.search(before):
            found[start] = before
    return found


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("volumes", nargs="*", type=int)
    arguments.add_argument("--mirror", required=True, type=Path)
    arguments.add_argument("--drawn", type=int, default=2)
    arguments.add_argument("--missing", action="store_true", help="print the texts that are missing")
    options = arguments.parse_args()
    tokens = tokenizer()
    for volume in options.volumes or drawn_volumes(options.drawn):
        reading_seconds, read, listed, kinds = 0.0, 0, 0, Counter()
        for opinion in read_volume(options.mirror / f"caselaw/us/{volume}.zip"):
            if not isinstance(opinion, Opinion):
                continue
            begun = time.process_time()
            starts = {p.start for p in read_parentheticals(opinion.text, tokens).parentheticals}
            reading_seconds += time.process_time() - begun
            expected = explanatory(opinion.text)
            read, listed = read + len(starts), listed + len(expected)
            for start in sorted(expected.keys() - starts):
                before = expected[start]
                kinds[next(kind for kind, pattern in KINDS.items() if pattern.search(before))] += 1
                if options.missing:
                    print(f"  {before[-130:]} >> {opinion.text[start : start + 70]}".replace("\n", " "))
        had = listed - kinds.total()
        share = had / listed if listed else 1
        print(f"us/{volume}: {had} of {listed} explanatory, {share:.1%}; {read} parentheticals", flush=True)
        print(f"  missing {dict(kinds.most_common())}; {reading_seconds:.1f} s of processor time")


if __name__ == "__main__":
    main()
