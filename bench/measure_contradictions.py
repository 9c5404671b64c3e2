r"""Count which real parentheticals the contradiction algorithm accepts, with both
parsers.

The hypotheses are the parentheticals of the named volumes that pass the filters of
A.1.2 and have no quotation mark and four words or more; with --quoted, all of them.
Each text counts once and is its own example id.  --outputs writes a JSON line for each
hypothesis.

    PYTHONPATH=workflow python bench/measure_contradictions.py \
        --model ../shared/mirror/models/benepar_en_gum \
        ../shared/mirror/caselaw/us/{39?,4[0-2]?,43[0-5],54[6-9],5[5-7]?}.zip
"""

import argparse
import json
import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lextables.corpora.caselaw.opinion import Opinion
from lextables.corpora.caselaw.volume import read_volume
from lextables.papers.lawngnli.citations.parentheticals import read_parentheticals
from lextables.papers.lawngnli.citations.resolution import tokenizer
from lextables.papers.lawngnli.hypotheses import accuracy, difficulty
from lextables.papers.lawngnli.hypotheses.contradiction import Contradiction, contradict
from lextables.papers.lawngnli.hypotheses.parsers import parser

TOKENIZER, PIPELINE = tokenizer(), accuracy.tokens_of()


def hypotheses(volume: Path) -> Iterator[str]:
    """Yield the hypotheses of a volume, in its order."""
    for opinion in read_volume(volume):
        if not isinstance(opinion, Opinion):
            continue
        for read in read_parentheticals(opinion.text, TOKENIZER).parentheticals:
            others = accuracy.more_metadata(read.text, read.others)
            if read.history or others or accuracy.metadata_keyword(read.text):
                continue
            text = accuracy.hypothesis_of(read.text, PIPELINE)
            if text:
                yield text


def is_difficult(text: str) -> bool:
    """Return whether a hypothesis passes the filters of A.1.6 that need no premise."""
    words = len(text.split())
    return words >= difficulty.MIN_WORDS and not difficulty.has_quotation_mark(text)


options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
options.add_argument("volumes", nargs="+", type=Path)
options.add_argument("--model", required=True, help="benepar's model")
options.add_argument("--quoted", action="store_true", help="all hypotheses")
options.add_argument("--outputs", type=Path, help="file of the outcomes")
given = options.parse_args()
logging.disable(logging.WARNING)
texts: dict[str, dict[str, str]] = {}
for path in sorted(given.volumes):
    for text in hypotheses(path):
        if given.quoted or is_difficult(text):
            texts[text] = {}
print(f"{len(given.volumes)} volumes, {len(texts)} hypotheses")
parsers = {
    "benepar": parser("benepar", model=given.model),
    "dependencies": parser("dependencies"),
}
for name, chosen in parsers.items():
    counts: Counter[str] = Counter()
    for text, trees in zip(texts, chosen.parse(texts), strict=True):
        outcome = contradict(trees, example=text, seed=0)
        if isinstance(outcome, Contradiction):
            texts[text][name] = outcome.text
            counts.update([f"accepted: {outcome.rule}", "accepted"])
            counts["with pivotal negation"] += outcome.negated
        else:
            counts[f"rejected: {outcome.reason}"] += 1
    print(name, json.dumps(counts.most_common(), indent=1))
agreed = [len(outputs) != 1 for outputs in texts.values()]
both = [set(outputs.values()) for outputs in texts.values() if len(outputs) == 2]
same = sum(len(outputs) == 1 for outputs in both)
print(f"the parsers agree on {sum(agreed)}; {same} of {len(both)} have the same text")
if given.outputs:
    rows = [{"hypothesis": text, **outputs} for text, outputs in texts.items()]
    given.outputs.write_text("".join(json.dumps(row) + "\n" for row in rows))
