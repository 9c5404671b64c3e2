"""The best own score of each headline, next to the published ones.

A headline is the main score of a table.  A score is own if it belongs to an additional
row whose runs the caller names, such as the baselines' runs.  Only tables on the
paper's data are compared.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from lextables.registry.paper import Headline
from lextables.report.leaderboard import headline_lines
from lextables.report.results import Exhibit, Part
from lextables.tables.inputs import data_note
from lextables.tables.published import number
from lextables.tables.render import label


@dataclass(frozen=True)
class Score:
    """A score of a system: its ``value``, and as the table writes it."""

    system: str
    value: float
    text: str


@dataclass(frozen=True)
class Finding:
    """The headline of a table: the best own score and the best published one.

    The best own score reaches ``reached`` of the ``total`` published ones.  ``lower``:
    a lower score is better.
    """

    part: Part
    exhibit: Exhibit
    measure: str
    own: Score
    published: Score
    reached: int
    total: int
    lower: bool

    @property
    def name(self) -> str:
        """The paper and the table."""
        return f"{self.part.short}, {label(self.exhibit.name)}"

    @property
    def share(self) -> float:
        """The best own score in per cent of the best published one; where lower scores
        are better, the best published one in per cent of the best own one.
        """
        if self.lower:
            return 100 * (self.published.value / self.own.value)
        return 100 * (self.own.value / self.published.value)


def findings(parts: Iterable[Part], own_runs: Collection[str]) -> list[Finding]:
    """Return the headlines that have own and published scores; ``own_runs`` are the
    folders of the runs whose scores are own.
    """
    found = []
    for part in parts:
        for exhibit in part.exhibits:
            headline = exhibit.entry.headline
            if headline and not data_note(exhibit.sources):
                finding = _finding(part, exhibit, headline, own_runs)
                if finding:
                    found.append(finding)
    return found


def _finding(
    part: Part, exhibit: Exhibit, headline: Headline, own_runs: Collection[str]
) -> Finding | None:
    """Return the finding of a table, None without an own or without a published
    score.
    """
    own = []
    published = []
    for system, line in headline_lines(exhibit).items():
        printed = number(line.published)
        value = number(line.ours)
        runs = line.runs.split()
        is_own = bool(runs) and all(run in own_runs for run in runs)
        # Scores of 0 are left out: a share of them is not defined.
        if printed and system not in headline.chance:
            published.append(Score(system, printed, line.published))
        elif value and printed is None and is_own:
            own.append(Score(system, value, line.ours))
    if not (own and published):
        return None
    best = min if headline.lower else max
    best_own = best(own, key=lambda score: score.value)
    reached = 0
    for score in published:
        if best(best_own.value, score.value) == best_own.value:
            reached += 1
    return Finding(
        part=part,
        exhibit=exhibit,
        measure=headline.compared_by,
        own=best_own,
        published=best(published, key=lambda score: score.value),
        reached=reached,
        total=len(published),
        lower=headline.lower,
    )
