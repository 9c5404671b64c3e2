"""LawngNLI, Appendices A.1.3, A.1.5 and A.1.6, for one shard: the contradiction of each
hypothesis.

Parsing takes hours for many volumes.  This module imports no later step, so that
changes of later steps do not rerun it.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

from lextables.papers.lawngnli.hypotheses.contradiction import (
    Contradiction,
    Rejected,
    contradict,
)
from lextables.papers.lawngnli.hypotheses.difficulty import difficulty_fault
from lextables.papers.lawngnli.hypotheses.parsers import Parser
from lextables.papers.lawngnli.steps import EXAMPLE_ID, OUTCOME, StepCounts
from lextables.pipeline import dataset
from lextables.pipeline.dataset import Column, Row, Table

CONTRADICTIONS = Table(
    name="contradictions",
    description="A.1.3, A.1.5 and A.1.6: one row an Entail candidate, in the order of the parentheticals.",
    columns=(
        EXAMPLE_ID,
        *OUTCOME,
        Column(
            "rule",
            pa.string(),
            "the rule of the algorithm that changed it",
            nullable=True,
        ),
        Column("kind", pa.string(), "what the rule did", nullable=True),
    ),
    key=("example_id",),
    labels=("rule", "negated"),
    ordered=False,
)

# Hypotheses per parser call.
BATCH = 1024

# The steps of the funnel, each with what is left after it.
DIFFICULTY = (
    "no quotation, four words or more, less than half of the bigrams in the premise"
)
CONTRADICTED = "taken by the contradiction algorithm"
FUNNEL = (DIFFICULTY, CONTRADICTED)


def write_contradictions(
    parentheticals: str | Path,
    parser: Parser,
    seed: int,
    path: str | Path,
    *,
    filtered: bool = True,
) -> StepCounts:
    """Write the result of the contradiction algorithm for each hypothesis (A.1.3,
    A.1.5, A.1.6).

    ``path`` becomes a table of `CONTRADICTIONS`. Only hypotheses that pass the
    difficulty filters are parsed, because parsing is expensive. The paper filters after
    the conversion; `write_examples` repeats the filters there, so a converted
    hypothesis must pass twice. Unless ``filtered``, all hypotheses are parsed and the
    fault is recorded. Drops are counted by reason, parser warnings by category.
    """
    counts: Counter[str] = Counter()

    def rows() -> Iterator[Row]:
        remaining = dataset.read(
            parentheticals, ["example_id", "hypothesis", "short_premise"]
        )
        while batch := list(islice(remaining, BATCH)):
            faults = []
            for row in batch:
                fault = difficulty_fault(row["hypothesis"], row["short_premise"])
                faults.append(fault)
            parsed = []
            for row, fault in zip(batch, faults, strict=True):
                if fault is None or not filtered:
                    parsed.append(row["hypothesis"])
            trees = parser.parse(parsed)
            for row, fault in zip(batch, faults, strict=True):
                example = row["example_id"]
                result = None
                if fault is None or not filtered:
                    result = contradict(next(trees), example=example, seed=seed)
                counts.update(_steps_and_reasons(fault, result))
                yield {"example_id": example, **_outcome(fault, result)}

    dataset.write(CONTRADICTIONS, rows(), path)
    counts.update({f"parser warned: {kind}": n for kind, n in parser.warnings.items()})
    funnel = {step: counts.pop(step, 0) for step in FUNNEL}
    if not filtered:  # without the filters there is no such step
        del funnel[DIFFICULTY]
    return StepCounts(funnel, dict(sorted(counts.items())))


def _steps_and_reasons(
    fault: str | None, result: Contradiction | Rejected | None
) -> tuple[str, ...]:
    """The steps that a hypothesis passed, and the reasons why it was dropped."""
    reasons = (f"difficulty: {fault}",) if fault else ()
    if result is None:
        return reasons
    if isinstance(result, Rejected):
        return *reasons, DIFFICULTY, f"rejected: {result.reason}"
    return *reasons, *FUNNEL


def _outcome(fault: str | None, result: Contradiction | Rejected | None) -> Row:
    """The columns of `CONTRADICTIONS` other than the example id."""
    columns = ("negated", "twin", "rule", "kind")
    outcome = {"fault": fault, "rejection": None, **dict.fromkeys(columns)}
    if isinstance(result, Rejected):
        outcome["rejection"] = result.reason
    elif result is not None:
        outcome["negated"] = result.negated
        outcome["twin"] = result.text
        outcome["rule"] = result.rule
        outcome["kind"] = result.kind
    return outcome
