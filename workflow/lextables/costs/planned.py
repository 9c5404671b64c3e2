"""What the jobs of a plan take together, by paper and by table.

A job that several tables need is in each of these, which say how many of theirs they share; the total has it
once.  A job of which nothing is known is counted and is in no sum, which then says "at least".
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lextables.costs.model import Amount

ALL, ELSEWHERE = "all", "no table"
HOUR = 3600


@dataclass(frozen=True)
class Job:
    """A job of Snakemake's graph with what it is expected to take.

    ``before`` are the jobs that it waits for, ``table`` the paper and table that it makes.  What is not known
    is None: ``core`` and ``gpu`` seconds, ``left`` bytes on disk, ``fetched`` bytes, ``dollars``.  ``held``
    are bytes that it needs while it runs and no longer.  ``weights`` are those that the model hub sends,
    {name: bytes}, once for all jobs.
    """

    number: int
    rule: str
    runs: bool
    dataset: str = ""
    kind: str = ""
    before: tuple[int, ...] = ()
    table: tuple[str, str] | None = None
    core: Amount | None = None
    gpu: Amount | None = None
    on_gpu: bool = False
    left: Amount | None = None
    held: float = 0.0
    fetched: float | None = 0.0
    tokens: float = 0.0
    dollars: float | None = 0.0
    weights: Mapping[str, float | None] = field(default_factory=dict)
    benchmark: str = ""
    outputs: tuple[str, ...] = ()
    flops: float | None = None
    published: float = 0.0


@dataclass(frozen=True)
class Sum:
    """A sum of estimates; ``unknown`` are those of which nothing is known and which are not in it."""

    value: float = 0.0
    low: float = 0.0
    high: float = 0.0
    unknown: int = 0


@dataclass(frozen=True)
class Part:
    """A line of the plan: a paper, a table of it, or all."""

    paper: str
    table: str
    jobs: int
    standing: int
    shared: int
    gpu_hours: Sum
    core_hours: Sum
    disk: Sum
    download: Sum
    tokens: float
    dollars: Sum
    unknown: Mapping[str, int]


def parts(jobs: Sequence[Job]) -> list[Part]:
    """Return the line of each table and of each paper, of what belongs to no table, and of all."""
    by_number = {job.number: job for job in jobs}
    behind = {job.table: _behind(job, by_number) for job in jobs if job.table}
    papers: dict[str, set[int]] = defaultdict(set)
    for (paper, _), numbers in behind.items():
        papers[paper] |= numbers
    tables_of = Counter(number for numbers in behind.values() for number in numbers)
    papers_of = Counter(number for numbers in papers.values() for number in numbers)
    found = []
    for paper in sorted(papers):
        several = [by_number[number] for number in sorted(papers[paper])]
        found.append(part(paper, "", several, papers_of))
        for name in sorted(table for of, table in behind if of == paper):
            found.append(part(paper, name, [by_number[n] for n in sorted(behind[paper, name])], tables_of))
    rest = [job for job in jobs if job.number not in tables_of]
    if rest and papers:
        found.append(part(ELSEWHERE, "", rest, {}))
    return [*found, part(ALL, "", jobs, {})]


def _behind(job: Job, jobs: Mapping[int, Job]) -> set[int]:
    """A job and all that it waits for, directly or not; ``jobs`` are by their numbers."""
    found, waiting = {job.number}, [job.number]
    while waiting:
        for number in jobs[waiting.pop()].before:
            if number in jobs and number not in found:
                found.add(number)
                waiting.append(number)
    return found


def part(paper: str, table: str, jobs: Sequence[Job], of: Mapping[int, int]) -> Part:
    """Return the line of these jobs, of which those are shared that ``of`` counts more than once."""
    run = [job for job in jobs if job.runs]
    weights = {name: size for job in run for name, size in job.weights.items()}
    download = total([_exact(job.fetched) for job in run] + [_exact(size) for size in weights.values()])
    # What is fetched into the results is among what jobs leave there; weights of the hub are in its cache.
    left = total([job.left for job in run] + [_exact(size) for size in weights.values()])
    dollars = total([_exact(job.dollars) for job in run])
    unknown: dict[str, int] = defaultdict(int)
    for job in run:
        if job.core is None:
            unknown[job.rule] += 1
    return Part(
        paper,
        table,
        len(run),
        len(jobs) - len(run),
        sum(of.get(job.number, 1) > 1 for job in run),
        _hours(total([job.gpu for job in run if job.on_gpu])),
        _hours(total([job.core for job in run])),
        _peak(left, max((job.held for job in run), default=0.0)),
        download,
        sum(job.tokens for job in run),
        dollars,
        dict(sorted(unknown.items())),
    )


def _peak(left: Sum, held: float) -> Sum:
    """What all jobs leave, and what the one holds that needs the most while it runs."""
    return Sum(left.value + held, left.low + held, left.high + held, left.unknown)


def _exact(value: float | None) -> Amount | None:
    return None if value is None else Amount(value, value, value)


def total(amounts: Iterable[Amount | None]) -> Sum:
    """Return the sum, whose range takes all of them to be wrong the same way."""
    several = list(amounts)
    known = [amount for amount in several if amount is not None]
    sums = (math.fsum(getattr(amount, name) for amount in known) for name in ("value", "low", "high"))
    return Sum(*sums, unknown=len(several) - len(known))


def _hours(found: Sum) -> Sum:
    return Sum(found.value / HOUR, found.low / HOUR, found.high / HOUR, found.unknown)
