"""What the steps of the construction share: columns of their tables, the record of
their counts, and a block in which warnings of libraries are counted.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from lextables.pipeline.dataset import Column
from lextables.pipeline.files import write_result

# Types of columns: a list of texts, and a list of (start, end) offsets in a text.
STRINGS = pa.list_(pa.field("item", pa.string(), False))
SPANS = pa.list_(
    pa.field(
        "item",
        pa.struct(
            [pa.field("start", pa.int32(), False), pa.field("end", pa.int32(), False)]
        ),
        False,
    )
)

# Where a parenthetical is from.
CITING = (
    Column(
        "example_id",
        pa.string(),
        "`<citing opinion_id>:<offset of the opening parenthesis>`",
    ),
    Column(
        "citing_case_id", pa.int64(), "the case whose opinion has the parenthetical"
    ),
    Column("citing_jurisdiction", pa.string(), "its state, or `United States`"),
)
EXAMPLE_ID = CITING[0]
# The result of the filters and of the contradiction algorithm for a hypothesis.
OUTCOME = (
    Column(
        "fault",
        pa.string(),
        "the difficulty filter that drops the hypothesis (A.1.6)",
        nullable=True,
    ),
    Column(
        "rejection",
        pa.string(),
        "why the contradiction algorithm rejects it (A.1.3)",
        nullable=True,
    ),
    Column(
        "negated",
        pa.bool_(),
        "whether the hypothesis has pivotal negation",
        nullable=True,
    ),
    Column(
        "twin", pa.string(), "the hypothesis that contradicts it (A.1.5)", nullable=True
    ),
)


@dataclass(frozen=True)
class StepCounts:
    """What one job counted."""

    funnel: dict[str, int]
    """{step: how many candidates are left after it}, in the order of the steps."""
    counts: dict[str, int]
    """{what was counted in addition: how often it occurred}."""
    problems: tuple[str, ...] = ()
    """The first problems, a sentence each."""


def write_counts(counted: StepCounts, path: str | Path) -> None:
    """Write ``counted`` as JSON that keeps the order of the steps."""
    write_result(path, json.dumps(asdict(counted), indent=1, ensure_ascii=False) + "\n")


class _CountingHandler(logging.Handler):
    """Counts warnings in ``counts``; ``kind`` returns what a warning is counted as."""

    def __init__(
        self, counts: Counter[str], kind: Callable[[logging.LogRecord], str]
    ) -> None:
        super().__init__(logging.WARNING)
        self._counts = counts
        self._kind = kind

    def emit(self, record: logging.LogRecord) -> None:
        self._counts[self._kind(record)] += 1


@contextmanager
def counting_warnings(
    counts: Counter[str],
    loggers: Sequence[str],
    kind: Callable[[logging.LogRecord], str],
) -> Iterator[None]:
    """Count the warnings of the named ``loggers`` in ``counts``, by ``kind``, and do
    not print them while the block runs.
    """
    handler = _CountingHandler(counts, kind)
    muted = [logging.getLogger(name) for name in loggers]
    previous = [(logger.propagate, logger.handlers[:]) for logger in muted]
    for logger in muted:
        logger.propagate = False
        logger.handlers = [handler]
    try:
        yield
    finally:
        for logger, (propagate, handlers) in zip(muted, previous, strict=True):
            logger.propagate = propagate
            logger.handlers = handlers
