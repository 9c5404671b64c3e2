"""LawngNLI, Appendices A.1.3, A.1.5 and A.1.6 over one shard: what contradicts each hypothesis.

Parsing takes the time of this step, hours over many volumes; so this imports nothing of the steps after it.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from lextables.papers.lawngnli.contradiction import Contradiction, Rejected, contradict
from lextables.papers.lawngnli.difficulty import difficulty_fault
from lextables.papers.lawngnli.parsers import Parser
from lextables.papers.lawngnli.schema.contradictions import CONTRADICTIONS
from lextables.papers.lawngnli.step_counts import StepCounts
from lextables.pipeline import dataset

# Hypotheses that are parsed together.
BATCH = 1024

DIFFICULTY = "no quotation, four words or more, less than half of the bigrams in the premise"
CONTRADICTED = "taken by the contradiction algorithm"
FUNNEL = (DIFFICULTY, CONTRADICTED)


def write_contradictions(
    parentheticals: str | Path, parser: Parser, seed: int, path: str | Path, *, filtered: bool = True
) -> StepCounts:
    """Write what the contradiction algorithm makes of each hypothesis (A.1.3, A.1.5, A.1.6).

    ``path`` becomes a table of `CONTRADICTIONS`.  Only hypotheses that pass the difficulty filters are
    parsed, which are cheap where parsing is not.  The paper filters after the conversion: `write_examples`
    does so too, so that here a hypothesis to be converted must pass twice.  Where none is to be ``filtered``
    all are parsed, and the fault is noted.  Each reason that drops some, and each warning of the parser, is
    counted.
    """
    counts: Counter[str] = Counter()

    def rows() -> Iterator[dict[str, Any]]:
        read = dataset.read(parentheticals, ["example_id", "hypothesis", "short_premise"])
        while batch := list(islice(read, BATCH)):
            faults = [difficulty_fault(row["hypothesis"], row["short_premise"]) for row in batch]
            passed = [not filtered or fault is None for fault in faults]
            trees = parser.parse(row["hypothesis"] for row, taken in zip(batch, passed, strict=True) if taken)
            for row, fault, taken in zip(batch, faults, passed, strict=True):
                found = contradict(next(trees), example=row["example_id"], seed=seed) if taken else None
                counts.update(_counted(fault, found))
                yield {"example_id": row["example_id"], **_outcome(fault, found)}

    dataset.write(CONTRADICTIONS, rows(), path)
    counts.update({f"parser warned: {kind}": n for kind, n in parser.warnings.items()})
    funnel = {step: counts.pop(step, 0) for step in FUNNEL}
    if not filtered:  # a step that drops nothing is none
        del funnel[DIFFICULTY]
    return StepCounts(funnel, dict(sorted(counts.items())))


def _counted(fault: str | None, found: Contradiction | Rejected | None) -> tuple[str, ...]:
    """The steps that a hypothesis passed, and what dropped it."""
    reasons = (f"difficulty: {fault}",) if fault else ()
    if found is None:
        return reasons
    if isinstance(found, Rejected):
        return *reasons, DIFFICULTY, f"rejected: {found.reason}"
    return *reasons, *FUNNEL


def _outcome(fault: str | None, found: Contradiction | Rejected | None) -> dict[str, Any]:
    """The columns of `CONTRADICTIONS` beside the example's id."""
    made = found if isinstance(found, Contradiction) else None
    return {
        "fault": fault,
        "rejection": found.reason if isinstance(found, Rejected) else None,
        "negated": made and made.negated,
        "twin": made and made.text,
        "rule": made and made.rule,
        "kind": made and made.kind,
    }
