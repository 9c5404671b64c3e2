r"""Measure how many explanatory parentheticals the pipeline reads (LawngNLI, A.1.1).

A plain regular expression, which shares no code with the pipeline, lists every
parenthesis that follows a citation of a case and begins with a participle.  The script
prints how many of them the pipeline has, why not the others, and with --missing their
texts.  Without volumes it takes the two from 436 to 545 with the smallest sha256 of
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
from lextables.papers.lawngnli.citations.parentheticals import read_parentheticals
from lextables.papers.lawngnli.citations.resolution import tokenizer

# A parenthesis that begins with a participle, maybe after an adverb.
PARTICIPLE = re.compile(r"\((?:[a-z]+ly )?([a-z]{2,}ing)\b(?! opinion)")
NOT_EXPLANATORY = {
    "quoting",
    "citing",
    "concurring",
    "dissenting",
    "including",
    "during",
    "being",
}
# A full, a short or another (id., supra) citation, with up to three more parentheses,
# at the end of a text.
NAME = r"(?: v\. |\bIn re |\bEx parte |\bMatter of )"
REPORTED = r"\d+ [A-Z][\w.' ]{0,24}[\w.],? (?:at )?\d+"
CITATION = re.compile(
    rf"(?:{NAME}[^;]{{3,250}}?{REPORTED}[^;()§]{{0,100}}\([^()]{{0,60}}[\d.]\)"
    r"|\b\d+ (?:U\. ?S\.|F\. ?[23]d|S\. ?Ct\.|F\. ?Supp\.),? at \d[^;()A-Z]{0,60}"
    r"|\b(?:[Ii]d\.|[Ii]bid\.|[Ss]upra\b)[^;()A-Z]{0,60})"
    r"(?P<others>(?:,? ?\([^()]{0,80}\)){0,3}),? ?$"
)


def drawn_volumes() -> list[int]:
    """Return the two drawn volumes of United States Reports."""
    by_digest = {}
    for volume in range(436, 546):
        by_digest[hashlib.sha256(f"us/{volume}".encode()).hexdigest()] = volume
    return [by_digest[digest] for digest in sorted(by_digest)[:2]]


def explanatory(text: str) -> dict[int, str]:
    """Return {offset of an explanatory parenthesis: what precedes it in its paragraph},
    by the regular expressions.
    """
    parentheses = {}
    for match in PARTICIPLE.finditer(text):
        start = match.start()
        before = text[max(0, start - 400) : start].rpartition("\n")[2]
        if match[1] not in NOT_EXPLANATORY and CITATION.search(before):
            parentheses[start] = before
    return parentheses


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("volumes", nargs="*", type=int)
    arguments.add_argument("--mirror", required=True, type=Path)
    arguments.add_argument(
        "--missing", action="store_true", help="print the missing texts"
    )
    options = arguments.parse_args()
    for volume in options.volumes or drawn_volumes():
        path = options.mirror / f"caselaw/us/{volume}.zip"
        measure(volume, path, options.missing)


def measure(volume: int, path: Path, missing: bool) -> None:
    """Measure the opinions of a volume and print the counts, and with ``missing`` the
    texts that the pipeline does not read.
    """
    seconds = 0.0
    read = 0  # by the pipeline
    listed = 0  # by the regular expressions
    reasons: Counter[str] = Counter()  # why the pipeline has no listed parenthesis
    for opinion in read_volume(path):
        if not isinstance(opinion, Opinion):
            continue
        text = opinion.text
        begun = time.process_time()
        result = read_parentheticals(text, tokenizer())
        seconds += time.process_time() - begun
        starts = {parenthetical.start for parenthetical in result.parentheticals}
        unread = {other.start: other.why for other in result.unread}
        expected = explanatory(text)
        read += len(starts)
        listed += len(expected)
        for start in sorted(expected.keys() - starts):
            reasons[unread.get(start, "it follows no citation that was found")] += 1
            if missing:
                before = expected[start][-130:]
                passage = f"{before} >> {text[start : start + 70]}"
                print(" ", passage.replace("\n", " "))
    right = listed - reasons.total()
    print(f"us/{volume}: {right} of {listed} explanatory; {read} parentheticals;")
    print(f"  missing {dict(reasons.most_common())}; {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
