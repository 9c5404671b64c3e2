"""LawngNLI, Appendix A.1.9, for one shard of opinions: long premises without citations."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lextables.models.token_count import TokenCounter
from lextables.papers.lawngnli.citation_removal import remove_citations
from lextables.papers.lawngnli.majority_opinions import MajorityOpinion, MajorityOpinions
from lextables.papers.lawngnli.schema.long_premises import LONG_PREMISES
from lextables.pipeline import dataset

PREPENDED_TOKENS = 512


def write_long_premises(places: Iterable[tuple[int, int]], opinions: str | Path, path: str | Path) -> int:
    """Write the premises among a shard's ``opinions``, with and without citations (A.1.9).

    ``places`` are their (row, case id), sorted by row. ``path`` becomes a table of `LONG_PREMISES`. Returns
    its number of rows.
    """
    counter, majorities = TokenCounter(), MajorityOpinions([opinions])
    # Reading follows the order on disk; the table is sorted by case.
    premises = [_long_premise(case, majorities.at(0, row), counter) for row, case in places]
    return dataset.write(LONG_PREMISES, sorted(premises, key=lambda row: row["case_id"]), path)


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


def closing_paragraphs(text: str, count: Callable[[str], int], tokens: int = PREPENDED_TOKENS) -> int:
    """Return the smallest number of paragraphs at the end of ``text`` with at least ``tokens`` tokens.

    Models get these paragraphs before the text (A.1.9). A paragraph is a line; line ends between paragraphs
    count as tokens. A shorter text returns the number of all its paragraphs. ``count`` returns the byte-pair
    tokens of a text without special tokens (`lextables.models.token_count.TokenCounter.tokens`).

    The released code counts the line ends among the last 512 token ids and takes one more paragraph than
    that. Results differ only at runs of empty lines.
    """
    paragraphs = text.split("\n")
    taken = 1
    while taken < len(paragraphs) and count("\n".join(paragraphs[-taken:])) < tokens:
        taken += 1
    return taken
