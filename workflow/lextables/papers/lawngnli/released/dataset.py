"""The released LawngNLI in the schemas of the built one, and whether it is the paper's
data.

A row of the ID file is used together with its twin.  Both are dropped and counted if
one of the two cases, the pages or the clause to contradict is missing, or if the
offsets do not fit.  The missing cases or the dropped rows are reported.  Citations are
removed with the authors' masks if every premise is available and the lengths agree;
otherwise as in the built data set.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from lextables.models.token_count import TokenCounter
from lextables.papers.lawngnli.dataset.examples import EXAMPLES, UNFILTERED
from lextables.papers.lawngnli.dataset.support import content_lemmas, support
from lextables.papers.lawngnli.evaluation.statistics import table2, with_long_premises
from lextables.papers.lawngnli.premises.citation_removal import remove_citations
from lextables.papers.lawngnli.premises.long_premises import (
    LONG_PREMISES,
    closing_paragraphs,
)
from lextables.papers.lawngnli.released.hypotheses import NO_CLAUSE, NO_FIT
from lextables.papers.lawngnli.released.ids import Mask
from lextables.papers.lawngnli.released.text import (
    majority,
    short_premise,
    short_spans,
    unlabelled,
)
from lextables.pipeline import dataset
from lextables.pipeline.dataset import Row, Table
from lextables.tables.published import PublishedCell

# Reasons to drop a row, in the order of the funnel.
NO_CITING = "the citing case is not found"
NO_CITED = "the cited case is not found"
NO_MAJORITY = "the cited case has not one majority opinion"
NO_PAGES = "the opinion has none of the pages"
NO_TWIN = "the twin is left out"
FAULTS = (NO_CITING, NO_CITED, NO_MAJORITY, NO_PAGES, NO_FIT, NO_CLAUSE, NO_TWIN)
# The counts of Table 2, by the names of its rows.
COUNTS = {
    "Unique training premises": "unique_premises",
    "Unique training hypotheses": "unique_hypotheses",
    "Training examples": "examples",
}


class Released:
    """The rows of the ID file with the cases and hypotheses of the shards.

    ``rows`` have the columns of `ids.ROWS` and of `released.hypotheses.HYPOTHESES`; the
    ``fault`` is any reason to drop the row, None if it is left.  A row with premises
    has their lengths (``characters``) and, if the masks can be used, where its part of
    each mask begins (``places``); both are {"long" or "short": a number}.

    Memory: the rows with their hypotheses; while `write` runs, the short premises; one
    cited opinion.
    """

    def __init__(
        self,
        rows: str | Path,
        cases: Sequence[str | Path],
        texts: Sequence[str | Path],
        masks: Mapping[str, Mask] | None,
    ) -> None:
        """Read the rows and find the faults of each.

        ``rows`` is a table of `ids.ROWS`; ``cases`` and ``texts`` are the tables of
        `released.hypotheses.write_shard`, one a shard.
        """
        self._cases = cases
        self._masks = masks
        # Rows of which no shard has the citing case keep this fault.
        self.rows = [{**row, "fault": NO_CITING} for row in dataset.read(rows)]
        by_name = {(row["example_id"], row["is_twin"]): row for row in self.rows}
        for path in texts:
            for row in dataset.read(path):
                by_name[row["example_id"], row["is_twin"]].update(row)
        self._citing = defaultdict(list)  # {cited case: rows with its premises}
        for row in self.rows:
            self._citing[row["cited_case_id"]].append(row)
        self._measure()
        self.masks_fault = self._masks_fault()
        self._drop_twins()

    def _measure(self) -> None:
        """Measure the premises of each row, and find the rows without premises."""
        cited: set[int] = set()
        for case, text in self._majorities():
            cited.add(case["case_id"])
            for row in self._citing[case["case_id"]]:
                fault = NO_MAJORITY
                if text is not None:
                    fault = _measure_premises(row, text[1])
                if fault and row["fault"] != NO_CITING:
                    row["fault"] = fault
        for row in self.rows:
            if row["cited_case_id"] not in cited and row["fault"] != NO_CITING:
                row["fault"] = NO_CITED

    def _masks_fault(self) -> str:
        """Why the masks cannot be used; if empty, each row gets its places in them.

        A mask covers the premises of all rows in the order of the ID file, so it can be
        used only if every premise is there.
        """
        if self._masks is None:
            return "the filter file is not here"
        if not all("characters" in row for row in self.rows):
            return "the masks need every premise"
        totals = Counter(dict.fromkeys(self._masks, 0))
        for row in self.rows:
            row["places"] = dict(totals)
            totals.update(row["characters"])
        for name, mask in self._masks.items():
            if totals[name] != len(mask):
                premises = f"the {name} premises have {totals[name]:,} characters"
                return f"{premises} and the mask {len(mask):,}"
        return ""

    def _drop_twins(self) -> None:
        """Drop each row whose twin, the row with the same example id, is dropped."""
        dropped = {row["example_id"] for row in self.rows if row["fault"]}
        for row in self.rows:
            if not row["fault"] and row["example_id"] in dropped:
                row["fault"] = NO_TWIN

    def _majorities(self) -> Iterator[tuple[Row, tuple[int, str] | None]]:
        """Each cited case, in the order of their ids, with (place in the case, text) of
        its one majority opinion; None instead if it has none or several.
        """
        shards = [_lazily(path) for path in self._cases]
        merged = heapq.merge(*shards, key=itemgetter(0))
        for case_id, group in groupby(merged, key=itemgetter(0)):
            rows = [row for _, row in group if row]
            if rows and case_id in self._citing:
                yield rows[0], majority(rows[0]["opinions"])

    def _without_citations(self, name: str, text: str, row: Row) -> str:
        """A premise of a row without citations; ``name`` is long or short."""
        if self._masks is None or self.masks_fault:
            return remove_citations(text)
        return self._masks[name].cut(text, row["places"][name])

    def write(
        self, examples: str | Path, long_premises: str | Path, unfiltered: str | Path
    ) -> None:
        """Write the rows that are left to tables of the built data set's schemas.

        The unfiltered candidates are the rows without their twins.
        """
        counter = TokenCounter()
        finished: list[Row] = []

        def premises() -> Iterator[Row]:
            """Yield the rows of long premises; their examples are added to
            ``finished``.
            """
            for case, text in self._majorities():
                rows = [
                    row for row in self._citing[case["case_id"]] if not row["fault"]
                ]
                if text is None or not rows:
                    continue
                number, opinion = text
                original = unlabelled(opinion)
                long_premise = self._without_citations("long", original, rows[0])
                finished.extend(self._example(row, case, opinion) for row in rows)
                yield {
                    "case_id": case["case_id"],
                    "opinion_id": f"{case['case_id']}-{number}",
                    "original": original,
                    "text": long_premise,
                    "tokens": counter.sequence_length(long_premise),
                    "closing_paragraphs": closing_paragraphs(
                        long_premise, counter.tokens
                    ),
                }

        dataset.write(LONG_PREMISES, premises(), long_premises)
        finished.sort(key=itemgetter("example_id", "is_twin"))
        dataset.write(EXAMPLES, _columns(EXAMPLES, finished), examples)
        untwinned = (
            {**row, "rejection": None, "twin": None}
            for row in finished
            if not row["is_twin"]
        )
        dataset.write(UNFILTERED, _columns(UNFILTERED, untwinned), unfiltered)

    def _example(self, row: Row, case: Row, text: str) -> Row:
        """Return the row of `EXAMPLES` of a row that is left.

        ``text`` is the majority opinion of the cited ``case``, with page labels.
        """
        spans = short_spans(text, row["pages"])
        short = short_premise(text, spans)
        places = []
        for start, end in spans:
            before = unlabelled(text[:start])
            up_to_end = unlabelled(text[:end])
            places.append({"start": len(before), "end": len(up_to_end)})
        source = row["example_id"]
        if row["label"] == "neutral":
            source = "unknown"  # the ID file does not say where the premise is from
        premise = self._without_citations("short", short, row)
        return {
            **row,
            "support": support(row["hypothesis"], content_lemmas(premise)),
            "cited_jurisdiction": case["jurisdiction"],
            "premise_example_id": source,
            "short_premise_original": short,
            "short_premise": premise,
            "premise_start": places[0]["start"],
            "premise_end": places[-1]["end"],
            "premise_spans": places,
        }

    def funnel(self) -> list[tuple[str, int]]:
        """Return (step, number of rows that are left after it); a step drops the rows
        with one fault.
        """
        counts = Counter(row["fault"] for row in self.rows)
        remaining = len(self.rows)
        steps = [("rows of the ID file", remaining)]
        for fault in FAULTS:
            remaining -= counts[fault]
            steps.append((f"less those of which {fault}", remaining))
        return steps

    def named(self) -> dict[str, list[int]]:
        """Return {fault and kind of its numbers: numbers}.

        The numbers are the ids of cases that are not found; for other faults, the
        indices of the rows with this fault.
        """
        keys = {NO_CITING: "citing_case_id", NO_CITED: "cited_case_id"}
        names: dict[str, set[int]] = defaultdict(set)
        for row in self.rows:
            fault = row["fault"]
            if fault:
                key = keys.get(fault, "index")
                names[f"{fault}: {key}"].add(row[key])
        return {fault: sorted(values) for fault, values in sorted(names.items())}


def _measure_premises(row: dict[str, Any], opinion: str) -> str:
    """Add to a row the lengths of both premises; return the fault of a row without a
    short one, else an empty text.
    """
    short = short_premise(opinion, short_spans(opinion, row["pages"]))
    if not short.strip():
        return NO_PAGES
    texts = {"long": unlabelled(opinion), "short": short}
    # The masks have no digit for "|".
    lengths = {name: len(text.replace("|", "")) for name, text in texts.items()}
    row["characters"] = lengths
    return ""


def _lazily(path: str | Path) -> Iterator[tuple[int, Row | None]]:
    """The (case id, row) pairs of a table of `CASES`, after a pair of its first case id
    and None.

    `heapq.merge` takes the first item of every file at once.  The pair with None is
    this item, so that a file is read only when the merge comes to its first case.
    """
    first = next(dataset.read(path, ["case_id"]), None)
    if first is not None:
        yield first["case_id"], None
        yield from ((row["case_id"], row) for row in dataset.read(path))


def _columns(table: Table, rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows with the columns of ``table`` alone."""
    names = [column.name for column in table.columns]
    for row in rows:
        yield {name: row[name] for name in names}


def differences(
    released: Released, data: Path, published: Sequence[PublishedCell], trees: str
) -> list[str]:
    """Return the differences between the data set in the folder ``data`` and the
    paper's.

    The counts of Table 2 must be the ``published`` ones.  They do not show the test
    split and the wording.  So no row may be left out, and the masks and the parser must
    be the paper's.  ``trees`` says why the parser is not the paper's, or is empty.
    """
    # Lengths are not compared, so they need not be computed.
    columns = table2(with_long_premises(data), lambda text: 0)
    faults = Counter(row["fault"] for row in released.rows if row["fault"])
    reasons = [f"{n:,} rows: {fault}" for fault, n in sorted(faults.items())]
    if released.masks_fault:
        reasons.append(f"citations are removed by our rules: {released.masks_fault}")
    if trees:
        reasons.append(trees)
    for cell in published:
        group, _, name = cell.row.partition(" / ")
        if group == "LawngNLI" and name in COUNTS:
            premise = "long" if cell.column.startswith("Long") else "short"
            subset = "full" if cell.column.endswith("Full") else "analysis"
            count = getattr(columns[premise, subset], COUNTS[name])
            if count != int(cell.value):
                reasons.append(
                    f"Table 2, {name}, {cell.column}: {count:,} and not {int(cell.value):,}"
                )
    return reasons


def judged(sources: Iterable[Row], reasons: Sequence[str]) -> list[Row]:
    """Return the provenance of the files, comparable if there are no ``reasons``
    (`differences`) why the data set is not the paper's.

    No digests of these files are published; Table 2's counts are checked instead.
    """
    variant = "incomplete release" if reasons else "release"
    note = "; ".join(reasons) or "the data set has the counts of the paper's Table 2"
    return [
        dict(source) | {"comparable": not reasons, "variant": variant, "note": note}
        for source in sources
    ]
