"""LawngNLI, Appendices A.1.4 to A.1.9, for all shards: from Entail examples and their
twins to the data set.

The twin of an example has the same premise and a hypothesis that contradicts the
example's.

The result does not depend on the number of shards. Intermediate tables are kept on
disk, one file per jurisdiction of the premise, because neutral premises are searched
within a jurisdiction.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from lextables.papers.lawngnli.dataset.labels import (
    ANALYSIS_TOKENS,
    CONTRADICT,
    OPPOSITE,
    TEST_SHARE,
    assign_labels,
    balance,
    contradicted,
    labelled,
)
from lextables.papers.lawngnli.dataset.support import content_lemmas, support
from lextables.papers.lawngnli.hypotheses.difficulty import difficulty_fault
from lextables.papers.lawngnli.premises.citation_removal import remove_citations
from lextables.papers.lawngnli.premises.long_premises import LONG_PREMISES, outcomes
from lextables.papers.lawngnli.premises.neutralization import (
    CitationNetwork,
    Encode,
    neutral_premises,
    neutralized,
    pairs_of,
)
from lextables.papers.lawngnli.steps import CITING, OUTCOME, SPANS, STRINGS
from lextables.pipeline import dataset
from lextables.pipeline.atomic import remove
from lextables.pipeline.dataset import Column, Row, Table

# Groups of columns that several tables share: the opinion of a premise, and the place
# of the short premise in it.
_PREMISE = (
    Column(
        "cited_case_id", pa.int64(), "the case whose majority opinion is the premise"
    ),
    Column("cited_jurisdiction", pa.string(), "its state, or `United States`"),
    Column("pages", STRINGS, "labels of the pages that the short premise is from"),
)
_PLACE = (
    Column(
        "premise_start",
        pa.int32(),
        "offset of the short premise in the opinion's original text",
    ),
    Column("premise_end", pa.int32(), "offset after it"),
    Column(
        "premise_spans",
        SPANS,
        "the offsets of its parts, where the pages are not consecutive",
    ),
)

UNFILTERED = Table(
    name="unfiltered",
    description="All Entail candidates before difficulty filters, neutralization and balance, untwinned.",
    columns=(
        *CITING,
        *_PREMISE,
        Column("hypothesis", pa.string(), "the parenthetical after A.1.2"),
        Column(
            "short_premise",
            pa.string(),
            "the cited pages in whole paragraphs, citations in them",
        ),
        *_PLACE,
        *OUTCOME,
    ),
    key=("example_id",),
    labels=("fault", "negated"),
    ordered=False,
)

_ANALYSIS = Column(
    "analysis", pa.bool_(), "whether the long premise has at most 4,096 RoBERTa tokens"
)
_JUDGED = (
    Column("label", pa.string(), "entail, neutral or contradict"),
    Column("negated", pa.bool_(), "whether the hypothesis has pivotal negation"),
    Column(
        "fault",
        pa.string(),
        "the difficulty filter that would drop it or its twin",
        nullable=True,
    ),
    Column("hypothesis", pa.string(), "the statement to judge"),
)
_FOUND_BY = Column(
    "premise_example_id", pa.string(), "the example that the premise comes from"
)

# Intermediate files while the examples are made, one per jurisdiction.
LABELLED = Table(
    name="labelled",
    description="A.1.4: one row an example, still with the premise that its parenthetical cites.",
    columns=(
        *CITING,
        *_JUDGED,
        Column("twin", pa.string(), "the hypothesis that contradicts it (A.1.5)"),
        *_PREMISE,
        Column(
            "short_premise",
            pa.string(),
            "the short premise as it stands in the opinion",
        ),
        *_PLACE,
    ),
    key=("example_id",),
    ordered=False,
)
PAIRED = Table(
    name="paired",
    description="A.1.7: one row an example with its premise; of Neutral ones the premise is another's.",
    columns=(*LABELLED.columns, _ANALYSIS, _FOUND_BY),
    key=("example_id",),
    row_group=64,
)

EXAMPLES = Table(
    name="examples",
    description="LawngNLI: an example, then its twin with the same premise and the opposite hypothesis.",
    columns=(
        *CITING,
        Column(
            "is_twin",
            pa.bool_(),
            "whether this is the contradictory twin of the example before it",
        ),
        Column(
            "split", pa.string(), "train, val or test; a pair of twins is never parted"
        ),
        _ANALYSIS,
        *_JUDGED,
        *_PREMISE,
        _FOUND_BY,
        Column("short_premise", pa.string(), "the short premise without citations"),
        Column(
            "support",
            pa.float32(),
            "share of the hypothesis's content words, as lemmas, that are in it",
        ),
        Column(
            "short_premise_original",
            pa.string(),
            "the short premise as it stands in the opinion",
        ),
        *_PLACE,
    ),
    key=("example_id", "is_twin"),
    labels=("split", "analysis", "label", "negated"),
)

# The last steps of the funnel, each with what is left after it.
CONVERTED = "as difficult once converted"
NEUTRALIZED = "with a candidate for a neutral premise"
BALANCED = "balanced"
TWINNED = "with twins"

# Neighbouring examples share short premises. The cache of premises without citations
# takes 40 MB.
SHORT_PREMISES = 4096
# Rows that `split_by_jurisdiction` holds in memory.
BATCH = 4096


@dataclass(frozen=True)
class Shard:
    """The files of one shard, written by the previous steps."""

    parentheticals: str | Path
    """A table of `entail_examples.PARENTHETICALS`."""
    contradictions: str | Path
    """A table of `contradictions.CONTRADICTIONS`, in the same order."""
    cites: str | Path
    """A table of `candidates.CITES`."""
    long_premises: str | Path
    """A table of `long_premises.LONG_PREMISES`."""


@dataclass(frozen=True)
class ExampleSettings:
    """How the examples are drawn from the candidates."""

    seed: int
    filtered: bool = True
    """Whether the difficulty filters drop examples (A.1.6); if not, the examples stay
    and their ``fault`` names the filter.
    """
    test_share: float | None = TEST_SHARE
    """Share of the test split; None: as `labels.balance` chooses it."""


def write_examples(
    shards: Sequence[Shard],
    encode: Encode,
    settings: ExampleSettings,
    examples: str | Path,
    long_premises: str | Path,
    scratch: str | Path | None = None,
) -> dict[str, int]:
    """Write the finished data set and its long premises; return the funnel's last
    steps, in order.

    Order: labels in strata (A.1.4), the difficulty filters on the hypotheses as
    converted (A.1.6), neutral premises (A.1.7), the analysis subset, balance and split,
    twins (A.1.8), citations removed from premises (A.1.9).  Without the filters
    the funnel has no such step. Memory: the accepted examples of the largest
    jurisdiction with their short premises and one embedding each; the id, label and
    split of all examples; the citations of their cases. Disk, below ``scratch``: one
    copy of the accepted examples.
    """
    with TemporaryDirectory(dir=scratch) as folder:
        labelled_rows = _converted(shards, settings)
        converted = split_by_jurisdiction(
            labelled_rows, LABELLED, Path(folder, "labelled")
        )
        steps = {}
        if settings.filtered:
            steps[CONVERTED] = _rows(converted)
        paired = _paired(converted, shards, encode, Path(folder, "paired"))
        balanced = _read(paired, ["example_id", "label", "negated", "analysis"])
        splits = balance(balanced, settings.seed, settings.test_share)
        written = dataset.write(
            EXAMPLES, _with_twins(_with_splits(paired, splits)), examples
        )
        used = set()
        for row in _read(paired, ["example_id", "cited_case_id"]):
            if row["example_id"] in splits:
                used.add(row["cited_case_id"])
        dataset.write(LONG_PREMISES, long_premises_of(used, shards), long_premises)
        steps[NEUTRALIZED] = _rows(paired)
        steps[BALANCED] = len(splits)
        return steps | {TWINNED: written}


def _with_splits(paired: Sequence[Path], splits: Mapping[str, str]) -> Iterator[Row]:
    """The examples that have a split, sorted by their ids, with their split."""
    rows = heapq.merge(*map(dataset.read, paired), key=itemgetter("example_id"))
    for row in rows:
        if row["example_id"] in splits:
            yield row | {"split": splits[row["example_id"]]}


def write_unfiltered(shards: Sequence[Shard], path: str | Path) -> int:
    """Write every Entail candidate with its twin or the reason why it was dropped
    (unfiltered-LawngNLI2 of the paper).
    """

    def rows() -> Iterator[Row]:
        for shard in shards:
            for outcome, row in outcomes(shard.contradictions, shard.parentheticals):
                yield {**row, **outcome}

    return dataset.write(UNFILTERED, rows(), path)


def long_premises_of(cases: set[int], shards: Sequence[Shard]) -> Iterator[Row]:
    """Yield the long premises of ``cases``, sorted by case, so that the order does not
    depend on the shards.

    A shard's file is opened at its first case: all files at once would not fit in
    memory.
    """

    def opened(path: str | Path, first: Row) -> Iterator[Row]:
        yield first  # the merge asks for the next row only after yielding this one
        yield from dataset.read(path)

    tables = []
    for shard in shards:
        first = next(dataset.read(shard.long_premises, ["case_id"]), None)
        if first is not None:
            tables.append(opened(shard.long_premises, first))
    merged = heapq.merge(*tables, key=itemgetter("case_id"))
    # The first row of each file comes twice, first with its case alone.
    return (row for row in merged if "text" in row and row["case_id"] in cases)


def entail_rows(
    shards: Sequence[Shard], columns: list[str] | None = None
) -> Iterator[Row]:
    """Yield the Entail examples that the contradiction algorithm took, with ``negated``
    and ``twin``.

    ``columns`` are the columns of the parentheticals to read, including ``example_id``;
    None reads all.
    """
    outcome_columns = ["example_id", "negated", "twin"]
    for shard in shards:
        for outcome, row in outcomes(
            shard.contradictions, shard.parentheticals, outcome_columns, columns
        ):
            if outcome["twin"] is not None:
                yield {**row, **outcome}


def _converted(shards: Sequence[Shard], settings: ExampleSettings) -> Iterator[Row]:
    """The Entail examples, converted to their labels, that pass the difficulty filters
    (A.1.4 to A.1.6); all of them if the filters are off.
    """
    # Labels are drawn over all rows, which are then read again.
    rows = entail_rows(shards, ["example_id", "citing_jurisdiction"])
    labels = assign_labels(rows, settings.seed)
    for row in entail_rows(shards):
        converted = labelled(row, labels[row["example_id"]])
        fault = difficulty_fault(converted["hypothesis"], converted["short_premise"])
        if fault is None or not settings.filtered:
            yield {**converted, "fault": fault}


def _paired(
    converted: Sequence[Path], shards: Sequence[Shard], encode: Encode, folder: Path
) -> list[Path]:
    """Write for each jurisdiction a table of `PAIRED`, with the rows that have a
    neutral premise.

    ``converted`` are the tables of `LABELLED` of the jurisdictions, which are deleted.
    Returns the new tables.
    """
    # Only neighbours of citing cases are needed.
    citing = {row["citing_case_id"] for row in _read(converted, ["citing_case_id"])}
    network = CitationNetwork(pairs_of(citing, (shard.cites for shard in shards)))
    tokens = _tokens(shards)

    # A function, so that the rows of one jurisdiction are freed before the next is
    # read.
    def write(path: Path) -> Path:
        rows = sorted(dataset.read(path), key=itemgetter("example_id"))
        remove(path)
        paired = (
            {**row, "analysis": tokens[row["cited_case_id"]] <= ANALYSIS_TOKENS}
            for row in _with_premises(rows, network, encode)
        )
        dataset.write(PAIRED, paired, folder / path.name)
        return folder / path.name

    return [write(path) for path in converted]


def _with_premises(
    rows: Sequence[Row], network: CitationNetwork, encode: Encode
) -> Iterator[Row]:
    """The rows of one jurisdiction that have a neutral premise, in their order.

    The search uses the hypotheses before labelling, for all labels: `contradicted`
    turns a Contradict hypothesis back into the Entail hypothesis that it was made from.
    """
    originals = (
        contradicted(row) if row["label"] == CONTRADICT else row for row in rows
    )
    return neutralized(rows, neutral_premises(originals, network, encode))


def _tokens(shards: Sequence[Shard]) -> dict[int, int]:
    """The number of tokens of each long premise, by case id."""
    rows = _read([shard.long_premises for shard in shards], ["case_id", "tokens"])
    return {row["case_id"]: row["tokens"] for row in rows}


def _read(paths: Iterable[str | Path], columns: list[str]) -> Iterator[Row]:
    """The rows of several tables, one after the other."""
    for path in paths:
        yield from dataset.read(path, columns)


def _rows(paths: Iterable[Path]) -> int:
    """The number of rows of several tables."""
    total = 0
    for path in paths:
        with dataset.parquet_file(path) as file:
            total += file.metadata.num_rows
    return total


def _with_twins(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of `EXAMPLES`: each example and its twin, with short premises without
    citations.
    """
    without = lru_cache(SHORT_PREMISES)(remove_citations)
    lemmas = lru_cache(SHORT_PREMISES)(content_lemmas)
    for row in twinned(rows):
        original = row["short_premise"]
        yield {
            **row,
            "short_premise": without(original),
            "support": support(row["hypothesis"], lemmas(without(original))),
            "short_premise_original": original,
        }


def twin(row: Row) -> Row:
    """Return the contradictory twin of a labelled example (Appendix A.1.8).

    The premise and the split stay the same. The hypothesis gains or loses pivotal
    negation; Entail and Contradict are exchanged, and Neutral stays. ``is_twin`` is
    true.
    """
    return {**contradicted(row), "label": OPPOSITE[row["label"]], "is_twin": True}


def twinned(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield each labelled example (``is_twin`` false) followed by its twin."""
    for row in rows:
        yield {**row, "is_twin": False}
        yield twin(row)


def split_by_jurisdiction(
    rows: Iterable[Row], table: Table, folder: Path
) -> list[Path]:
    """Write ``rows`` to one file per ``cited_jurisdiction``, keeping their order.

    Only the columns of ``table`` are written. Returns the files, sorted by
    jurisdiction.
    """
    folder.mkdir(parents=True)
    paths: dict[str, Path] = {}
    with ExitStack() as files:
        writers: dict[str, pq.ParquetWriter] = {}
        for jurisdiction, group in _by_jurisdiction(rows):
            if jurisdiction not in writers:
                paths[jurisdiction] = folder / f"{len(paths)}.parquet"
                path = paths[jurisdiction]
                writer = pq.ParquetWriter(path, table.schema, **dataset.PARQUET)
                writers[jurisdiction] = files.enter_context(writer)
            writers[jurisdiction].write_batch(
                pa.RecordBatch.from_pylist(group, table.schema)
            )
    return [path for _, path in sorted(paths.items())]


def _by_jurisdiction(rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield (jurisdiction, its rows) for each jurisdiction of each batch of `BATCH`
    rows.
    """
    remaining = iter(rows)
    jurisdiction = itemgetter("cited_jurisdiction")
    while batch := sorted(islice(remaining, BATCH), key=jurisdiction):
        for name, group in groupby(batch, key=jurisdiction):
            yield name, list(group)
