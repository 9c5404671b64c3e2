r"""Count what the removal of citations leaves behind in real opinions.

Printed are paragraphs, those that removal shortens, and the stubs "ex rel." that stand before a mark, a
small letter or the end, where the name after them was taken and the one before them left.

    PYTHONPATH=workflow python bench/measure_citation_removal.py \
        ../shared/mirror/caselaw/us/{396,402,408,414,420,426,431,434,560,570}.zip
"""

import argparse
import logging
import re
from pathlib import Path

from lextables.corpora.caselaw.opinion import Opinion
from lextables.corpora.caselaw.volume import read_volume
from lextables.papers.lawngnli.citation_removal import remove_citations

STUB = re.compile(r"ex rel\.\s*(?=[,.;)]|$|[a-z])")


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("volumes", nargs="+", type=Path)
    options = arguments.parse_args()
    logging.disable(logging.WARNING)
    paragraphs = shortened = stubs = 0
    for path in options.volumes:
        for opinion in read_volume(path):
            if not isinstance(opinion, Opinion):
                continue
            for paragraph in filter(str.strip, opinion.text.split("\n")):
                left = remove_citations(paragraph)
                paragraphs += 1
                shortened += left != paragraph
                stubs += len(STUB.findall(left))
    print(f"{paragraphs} paragraphs, {shortened} shortened, {stubs} stubs of ex rel.")


if __name__ == "__main__":
    main()
