r"""Measure which real parentheticals the contradiction algorithm accepts, with both parsers.

The hypotheses are the parentheticals of the named volumes that pass the filters of A.1.2 and have no
quotation mark and four words or more, with a pincite or without; each text counts once.  The script prints
for each parser: the number of accepted ones, the reasons for rejections, the share with pivotal negation, how
often the algorithm reverses its own change, and seconds; then how often the parsers agree.  --outputs writes
a JSON line for each hypothesis, for reading; with --quoted, hypotheses with quotation marks or of two words
count too (read: volumes 390 to 574, drawn by the hash of "reading 3:" and the hypothesis's example id).

    PYTHONPATH=workflow python bench/measure_contradictions.py \
        --model ../shared/mirror/models/benepar_en_gum \
        ../shared/mirror/caselaw/us/{39?,4[0-2]?,43[0-5],54[6-9],5[5-7]?}.zip
"""

import argparse
import json
import logging
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lextables.corpora.caselaw.opinion import Opinion
from lextables.corpora.caselaw.volume import read_volume
from lextables.papers.lawngnli.citations.parentheticals import read_parentheticals
from lextables.papers.lawngnli.citations.resolution import tokenizer
from lextables.papers.lawngnli.hypotheses.accuracy import (
    hypothesis_of,
    metadata_keyword,
    more_metadata,
    tokens_of,
)
from lextables.papers.lawngnli.hypotheses.contradiction import (
    Contradiction,
    Rejected,
    contradict,
)
from lextables.papers.lawngnli.hypotheses.difficulty import (
    MIN_WORDS,
    has_quotation_mark,
)
from lextables.papers.lawngnli.hypotheses.parsers import Parser, parser

SEED = 0


def hypotheses(volume: Path, tokens, pipeline, quoted: bool) -> Iterator[str]:
    """Yield the hypotheses of a volume, in its order; quotations and short ones only if ``quoted``."""
    for opinion in read_volume(volume):
        if not isinstance(opinion, Opinion):
            continue
        for read in read_parentheticals(opinion.text, tokens).parentheticals:
            if (
                read.history
                or metadata_keyword(read.text)
                or more_metadata(read.text, read.others)
            ):
                continue
            text = hypothesis_of(read.text, pipeline)
            if text and (
                quoted
                or (len(text.split()) >= MIN_WORDS and not has_quotation_mark(text))
            ):
                yield text


def outcomes(texts: list[str], chosen: Parser) -> list[Contradiction | Rejected]:
    """Return the algorithm's output for each text; the text is its own example id."""
    return [
        contradict(trees, example=text, seed=SEED)
        for text, trees in zip(texts, chosen.parse(texts), strict=True)
    ]


def report(
    name: str,
    texts: list[str],
    found: list[Contradiction | Rejected],
    chosen: Parser,
    seconds: float,
) -> None:
    """Print the outcomes of one parser; it is also applied to the contradictions."""
    taken = [
        (text, one)
        for text, one in zip(texts, found, strict=True)
        if isinstance(one, Contradiction)
    ]
    again = outcomes([one.text for _, one in taken], chosen)
    twice = [
        (text, one, two)
        for (text, one), two in zip(taken, again, strict=True)
        if isinstance(two, Contradiction)
    ]
    back = sum(two.text == text for text, _, two in twice)
    flips = sum(two.negated != one.negated for _, one, two in twice)
    negated = sum(one.negated for _, one in taken)
    print(
        f"{name}: {len(taken)} of {len(texts)} taken ({len(taken) / len(texts):.1%}), {seconds:.0f} s"
    )
    print(f"  with pivotal negation {negated} ({negated / len(taken):.1%})")
    print(f"  applied twice gives the text {back} ({back / len(taken):.1%})")
    print(f"  applied twice flips the negation {flips} ({flips / len(taken):.1%})")
    print(f"  by rule {dict(Counter(one.rule for _, one in taken).most_common())}")
    reasons = Counter(one.reason for one in found if isinstance(one, Rejected))
    print(f"  rejected {dict(reasons.most_common())}")


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("volumes", nargs="+", type=Path)
    arguments.add_argument("--model", required=True, help="benepar's model")
    arguments.add_argument(
        "--quoted", action="store_true", help="count quotations and short texts too"
    )
    arguments.add_argument(
        "--outputs", type=Path, help="file for the outcomes of benepar"
    )
    options = arguments.parse_args()
    logging.disable(logging.WARNING)
    tokens, pipeline = tokenizer(), tokens_of()
    volumes = sorted(options.volumes)
    texts = list(
        dict.fromkeys(
            text
            for path in volumes
            for text in hypotheses(path, tokens, pipeline, options.quoted)
        )
    )
    print(f"{len(options.volumes)} volumes, {len(texts)} hypotheses")
    by_parser = {}
    for name in ("benepar", "dependencies"):
        chosen = parser(name, **({"model": options.model} if name == "benepar" else {}))
        start = time.process_time()
        by_parser[name] = outcomes(texts, chosen)
        report(name, texts, by_parser[name], chosen, time.process_time() - start)
    pairs = list(zip(*by_parser.values(), strict=True))
    agreed = sum(
        isinstance(one, Contradiction) == isinstance(two, Contradiction)
        for one, two in pairs
    )
    both = [
        pair for pair in pairs if all(isinstance(one, Contradiction) for one in pair)
    ]
    same = sum(one.text == two.text for one, two in both)
    print(f"the parsers agree on taking {agreed / len(pairs):.1%}")
    print(f"of {len(both)} that both take {same / len(both):.1%} get the same text")
    if options.outputs:
        lines = (
            json.dumps(
                {
                    "hypothesis": text,
                    "contradiction": getattr(one, "text", None),
                    "reason": getattr(one, "reason", None),
                }
            )
            for text, one in zip(texts, by_parser["benepar"], strict=True)
        )
        options.outputs.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
