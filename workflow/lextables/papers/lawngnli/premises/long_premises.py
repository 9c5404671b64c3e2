"""LawngNLI, Appendix A.1.9: long premises, which are majority opinions without their
citations.

`cited_cases` says which opinions of the corpus are premises, `by_shard` where they are,
and `write_long_premises` writes the premises of a shard.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from lextables.models.token_count import TokenCounter
from lextables.papers.lawngnli.citations.case_index import CaseIndex
from lextables.papers.lawngnli.premises.citation_removal import remove_citations
from lextables.papers.lawngnli.premises.entail_examples import (
    MajorityOpinion,
    MajorityOpinions,
)
from lextables.pipeline import dataset
from lextables.pipeline.dataset import Column, Row, Table

LONG_PREMISES = Table(
    name="long_premises",
    description="The majority opinion of each cited case; examples name it by `cited_case_id`.",
    columns=(
        Column("case_id", pa.int64(), "the case"),
        Column("opinion_id", pa.string(), "its single majority opinion"),
        Column(
            "original", pa.string(), "the opinion's text, to which all offsets refer"
        ),
        Column(
            "text",
            pa.string(),
            "the opinion without citations (A.1.9), nothing prepended",
        ),
        Column(
            "tokens",
            pa.int32(),
            "RoBERTa tokens of `text`, the two special tokens among them",
        ),
        Column(
            "closing_paragraphs",
            pa.int32(),
            "how many paragraphs from the end models get prepended (512 tokens)",
        ),
    ),
    key=("case_id",),
    row_group=64,
)
PREPENDED_TOKENS = 512  # tokens that the closing paragraphs have at least


def outcomes(
    contradictions: str | Path,
    parentheticals: str | Path,
    of_outcome: list[str] | None = None,
    of_row: list[str] | None = None,
) -> Iterator[tuple[Row, Row]]:
    """Yield (outcome of the contradiction algorithm, parenthetical) for each candidate
    of a shard.

    ``of_outcome`` and ``of_row`` select columns of the two tables and must include
    ``example_id``; None reads all columns.  Raises ValueError if the tables are not of
    the same shard.
    """
    for outcome, row in zip(
        dataset.read(contradictions, of_outcome),
        dataset.read(parentheticals, of_row),
        strict=True,
    ):
        if outcome["example_id"] != row["example_id"]:
            raise ValueError(
                f"{contradictions} and {parentheticals} are not of one shard"
            )
        yield outcome, row


def cited_cases(
    contradictions: Iterable[str | Path], parentheticals: Iterable[str | Path]
) -> set[int]:
    """Return the cited cases of all hypotheses that the contradiction algorithm
    accepted.
    """
    cases = set()
    outcome_columns = ["example_id", "twin"]
    row_columns = ["example_id", "cited_case_id"]
    for outcome_path, row_path in zip(contradictions, parentheticals, strict=True):
        for outcome, row in outcomes(
            outcome_path, row_path, outcome_columns, row_columns
        ):
            # A hypothesis that was not accepted has no contradictory twin.
            if outcome["twin"] is not None:
                cases.add(row["cited_case_id"])
    return cases


def by_shard(cases: Iterable[int], index: CaseIndex) -> list[list[tuple[int, int]]]:
    """Return, for each shard of ``index``, the sorted (row, case) pairs of those
    ``cases`` whose single majority opinion is in the shard.
    """
    places: list[list[tuple[int, int]]] = [[] for _ in index.shards]
    for case in cases:
        record = index.record(case)
        if record.row is not None:
            places[record.shard].append((record.row, case))
    return [sorted(rows) for rows in places]


def write_long_premises(
    places: Iterable[tuple[int, int]], opinions: str | Path, path: str | Path
) -> int:
    """Write the premises among a shard's ``opinions``, with and without citations
    (A.1.9).

    ``places`` are their (row, case id), sorted by row. ``path`` becomes a table of
    `LONG_PREMISES`. Returns its number of rows.
    """
    counter = TokenCounter()
    majorities = MajorityOpinions([opinions])
    # Reading follows the order on disk; the table is sorted by case.
    premises = [
        _long_premise(case, majorities.at(0, row), counter) for row, case in places
    ]
    return dataset.write(
        LONG_PREMISES, sorted(premises, key=lambda row: row["case_id"]), path
    )


def _long_premise(case: int, opinion: MajorityOpinion, counter: TokenCounter) -> Row:
    """Return the row of `LONG_PREMISES` of a case."""
    text = remove_citations(opinion.text)
    return {
        "case_id": case,
        "opinion_id": opinion.opinion_id,
        "original": opinion.text,
        "text": text,
        "tokens": counter.sequence_length(text),
        "closing_paragraphs": closing_paragraphs(text, counter.tokens),
    }


def closing_paragraphs(
    text: str, count: Callable[[str], int], tokens: int = PREPENDED_TOKENS
) -> int:
    """Return the smallest number of paragraphs at the end of ``text`` with at least
    ``tokens`` tokens.

    Models get these paragraphs before the text (A.1.9). A paragraph is a line; line
    ends between paragraphs count as tokens. A shorter text returns the number of all
    its paragraphs. ``count`` returns the byte-pair tokens of a text without special
    tokens (`lextables.models.token_count.TokenCounter.tokens`).

    The released code counts the line ends among the last 512 token ids and takes one
    more paragraph than that. Results differ only at runs of empty lines.
    """
    paragraphs = text.split("\n")
    number = 1
    while number < len(paragraphs) and count("\n".join(paragraphs[-number:])) < tokens:
        number += 1
    return number
