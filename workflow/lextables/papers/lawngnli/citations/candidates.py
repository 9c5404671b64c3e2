"""LawngNLI, Appendix A.1.1, for one shard of opinions: the parentheticals of citations
that can be resolved to a case, which are the candidates for examples.

Citations are looked up in the index of the whole corpus (`case_index`), so the shards
can be processed in separate jobs.
"""

from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from eyecite.tokenizers import Tokenizer

from lextables.papers.lawngnli.citations.case_index import (
    AMBIGUOUS,
    CaseHeading,
    CaseIndex,
)
from lextables.papers.lawngnli.citations.parentheticals import (
    Parenthetical,
    read_parentheticals,
)
from lextables.papers.lawngnli.citations.resolution import Resource
from lextables.papers.lawngnli.steps import CITING, STRINGS, StepCounts
from lextables.pipeline import dataset
from lextables.pipeline.dataset import Column, Row, Table

CITING_DATE = Column(
    "citing_date", pa.string(), "its date of decision: YYYY, YYYY-MM or YYYY-MM-DD"
)
CITED = (
    Column("cited_case_id", pa.int64(), "the case that the parenthetical is about"),
    Column("cited_jurisdiction", pa.string(), "its state, or `United States`"),
    Column(
        "citation",
        pa.string(),
        "the citation as matched, without the name and the pincite",
    ),
    Column("kind", pa.string(), "full, short, id or supra"),
)
PARENTHETICAL = (
    Column(
        "history",
        pa.bool_(),
        'whether the citation has a history flag, such as "cert. denied"',
    ),
    Column(
        "parenthetical", pa.string(), "what stands between the parentheses, as printed"
    ),
)

CANDIDATES = Table(
    name="candidates",
    description="A.1.1: one row a parenthetical that resolves to a case, in the order of the opinions.",
    columns=(
        *CITING,
        CITING_DATE,
        Column(
            "citing_type",
            pa.string(),
            "type of the citing opinion: majority, dissent and so on",
        ),
        Column(
            "met_again",
            pa.bool_(),
            "whether a later case has the citing case's party names",
        ),
        *CITED,
        Column("pincite", pa.string(), "the pincite as matched", nullable=True),
        Column(
            "pages",
            STRINGS,
            "labels of the pages whose text it cites, ascending; empty if not resolvable",
        ),
        Column("pages_of", pa.string(), "volume and reporter whose pages they are"),
        *PARENTHETICAL,
        Column(
            "others",
            pa.string(),
            "the other parentheticals of the citation, joined by semicolons",
        ),
    ),
    key=("example_id",),
    labels=("kind", "citing_type"),
    ordered=False,
)

CITES = Table(
    name="cites",
    description="A.1.7: one row a pair of cases of the corpus of which the first cites the second.",
    columns=(
        Column("citing_case_id", pa.int64(), "the citing case"),
        Column("cited_case_id", pa.int64(), "the cited case"),
    ),
    key=("citing_case_id", "cited_case_id"),
)

# At most so many problems have a sentence in the log; the rest are only counted.
LOGGED_PROBLEMS = 20

# The first steps of the funnel: all citations, then the parentheticals that are left.
CITATIONS = "citations of cases"
READ = "parentheticals of citations"
RESOLVED = "about a case of the corpus"
FUNNEL = (CITATIONS, READ, RESOLVED)


def write_candidates(
    opinions: str | Path,
    index: CaseIndex,
    tokens: Tokenizer,
    path: str | Path,
    cites: str | Path,
) -> StepCounts:
    """Write the parentheticals of a file of opinions that resolve to a case (A.1.1).

    ``path`` becomes a table of `CANDIDATES`, ``cites`` one of `CITES` with every
    resolved citation, with a parenthetical or not.  The returned counts also have what
    is left out: citations that belong to two cases, which are not resolved, parentheses
    that are never closed or too long, and opinions of a case that an earlier file has.
    """
    counts: Counter[str] = Counter()
    problems: list[str] = []
    cited_pairs = array("q")  # flat: a citing case, then the case that it cites
    shard = index.shards.index(Path(opinions).name)

    def resource_of(key: str) -> Resource:
        """Return the case that a citation names; its key if that is no single case."""
        case_id = index.case_of(key)
        if case_id is None:
            return key
        if case_id == AMBIGUOUS:
            counts["citations of two cases"] += 1
            return key
        return case_id

    def rows() -> Iterator[Row]:
        """Yield the rows of `CANDIDATES`; count, and gather pairs and problems."""
        for opinion in dataset.read(opinions):
            if index.record(opinion["case_id"]).shard != shard:
                counts["opinions of cases that an earlier file has"] += 1
                continue
            reading = read_parentheticals(opinion["text"], tokens, resource_of)
            counts.update(reading.counts)
            # Citations are counted by kind, such as "full citations".
            for kind, number in reading.counts.items():
                if kind.endswith(" citations"):
                    counts[CITATIONS] += number
            counts[READ] += len(reading.parentheticals)
            for unread in reading.unread:
                counts["parentheses not read"] += 1
                if len(problems) < LOGGED_PROBLEMS:
                    problems.append(
                        f"{opinion['opinion_id']}, character {unread.start}: {unread.why}."
                    )
            citing = opinion["case_id"]
            for cited in reading.cited:
                if isinstance(cited, int) and cited != citing:
                    cited_pairs.extend((citing, cited))
            met_again: bool | None = None  # looked up for the first row only
            for parenthetical in reading.parentheticals:
                cited = parenthetical.resource
                # An opinion does not cite its own case: such a citation was resolved
                # wrongly.
                if not isinstance(cited, int) or cited == citing:
                    continue
                if met_again is None:
                    met_again = index.met_again(CaseHeading.of(opinion))
                counts[RESOLVED] += 1
                yield {
                    **_columns(opinion, parenthetical),
                    "met_again": met_again,
                    "cited_case_id": cited,
                    "cited_jurisdiction": index.record(cited).jurisdiction,
                }

    dataset.write(CANDIDATES, rows(), path)
    pairs = np.frombuffer(cited_pairs, dtype=np.int64).reshape(-1, 2)
    distinct_pairs = np.unique(pairs, axis=0).tolist()
    pair_rows = (
        {"citing_case_id": citing, "cited_case_id": cited}
        for citing, cited in distinct_pairs
    )
    dataset.write(CITES, pair_rows, cites)
    funnel = {step: counts.pop(step, 0) for step in FUNNEL}
    return StepCounts(funnel, dict(sorted(counts.items())), tuple(problems))


def _columns(opinion: Row, parenthetical: Parenthetical) -> Row:
    """The columns of `CANDIDATES` that need no index of the corpus."""
    return {
        "example_id": f"{opinion['opinion_id']}:{parenthetical.start}",
        "citing_case_id": opinion["case_id"],
        "citing_jurisdiction": opinion["jurisdiction"],
        "citing_date": opinion["date"],
        "citing_type": opinion["opinion_type"],
        "citation": parenthetical.citation,
        "kind": parenthetical.kind,
        "pincite": parenthetical.pincite,
        "pages": list(parenthetical.text_pages),
        "pages_of": parenthetical.volume,
        "history": parenthetical.history,
        "parenthetical": parenthetical.text,
        "others": parenthetical.others,
    }
