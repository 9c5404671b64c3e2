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

TOKENIZER = tokenizer()
TOKENS_OF = accuracy.tokens_of()


def hypotheses(volume: Path) -> Iterator[str]:
    """Yield the hypotheses of a volume, in its order."""
    for opinion in read_volume(volume):
        if not isinstance(opinion, Opinion):
            continue
        parentheticals = read_parentheticals(opinion.text, TOKENIZER).parentheticals
        for parenthetical in parentheticals:
            text = parenthetical.text
            metadata = accuracy.more_metadata(text, parenthetical.others)
            if metadata or parenthetical.history or accuracy.metadata_keyword(text):
                continue
            hypothesis = accuracy.hypothesis_of(text, TOKENS_OF)
            if hypothesis:
                yield hypothesis


def is_difficult(text: str) -> bool:
    """Return whether a hypothesis passes the filters of A.1.6 that need no premise."""
    words = len(text.split())
    return words >= difficulty.MIN_WORDS and not difficulty.has_quotation_mark(text)


options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
options.add_argument("volumes", nargs="+", type=Path)
options.add_argument("--model", required=True, help="benepar's model")
options.add_argument("--quoted", action="store_true", help="all hypotheses")
options.add_argument("--outputs", type=Path, help="file of the outcomes")
arguments = options.parse_args()
logging.disable(logging.WARNING)
# {hypothesis: {parser: its contradiction}}, without the parsers that give none.
contradictions: dict[str, dict[str, str]] = {}
for path in sorted(arguments.volumes):
    for text in hypotheses(path):
        if arguments.quoted or is_difficult(text):
            contradictions[text] = {}
print(f"{len(arguments.volumes)} volumes, {len(contradictions)} hypotheses")
parsers = {
    "benepar": parser("benepar", model=arguments.model),
    "dependencies": parser("dependencies"),
}
for name, hypothesis_parser in parsers.items():
    counts: Counter[str] = Counter()
    all_trees = hypothesis_parser.parse(contradictions)
    for text, trees in zip(contradictions, all_trees, strict=True):
        outcome = contradict(trees, example=text, seed=0)
        if isinstance(outcome, Contradiction):
            contradictions[text][name] = outcome.text
            counts.update([f"accepted: {outcome.rule}", "accepted"])
            counts["with pivotal negation"] += outcome.negated
        else:
            counts[f"rejected: {outcome.reason}"] += 1
    print(name, json.dumps(counts.most_common(), indent=1))
agreed = 0  # both parsers give a contradiction, or none does
both = 0
same = 0
for by_parser in contradictions.values():
    agreed += len(by_parser) != 1
    if len(by_parser) == 2:
        both += 1
        same += len(set(by_parser.values())) == 1
print(f"the parsers agree on {agreed}; {same} of {both} have the same text")
if arguments.outputs:
    lines = []
    for text, by_parser in contradictions.items():
        lines.append(json.dumps({"hypothesis": text, **by_parser}) + "\n")
    arguments.outputs.write_text("".join(lines))
