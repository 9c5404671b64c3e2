"""LawngNLI, Appendix A.1.9 over one shard of opinions: the long premises, citations taken out."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lextables.models.token_count import TokenCounter
from lextables.papers.lawngnli.citation_removal import remove_citations
from lextables.papers.lawngnli.majority_opinions import MajorityOpinion, MajorityOpinions
from lextables.papers.lawngnli.prepending import closing_paragraphs
from lextables.papers.lawngnli.schema.long_premises import LONG_PREMISES
from lextables.pipeline import dataset


def write_long_premises(places: Iterable[tuple[int, int]], opinions: str | Path, path: str | Path) -> int:
    """Write those of a shard's ``opinions`` that are premises, with and without citations (A.1.9).

    ``places`` are their (row, case), by row.  ``path`` becomes a table of `LONG_PREMISES`; returns how many
    rows it has.
    """
    counter, majorities = TokenCounter(), MajorityOpinions([opinions])
    # Read in the order in which they lie on disk, written in that of the cases.
    found = [_long_premise(case, majorities.at(0, row), counter) for row, case in places]
    return dataset.write(LONG_PREMISES, sorted(found, key=lambda row: row["case_id"]), path)


def _long_premise(case: int, opinion: MajorityOpinion, counter: TokenCounter) -> dict[str, Any]:
    text = remove_citations(opinion.text)
    return {
        "case_id": case,
        "opinion_id": opinion.opinion_id,
        "original": opinion.text,
        "text": text,
        "tokens": counter.sequence_length(text),
        "closing_paragraphs": closing_paragraphs(text, counter.tokens),
    }
