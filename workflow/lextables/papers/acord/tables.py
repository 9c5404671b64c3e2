"""ACORD's tables: the computed value of each published cell.

Each function takes `Results` and returns cells; `cells` calls the function of a table,
and `lextables.tables.cells.build` joins its result with the published cells.  Appendix
sections and table numbers are the paper's.
"""

import difflib
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from lextables.metrics import STRICT
from lextables.metrics.intervals import mean_interval
from lextables.papers.acord.entry import Acord
from lextables.pipeline.dataset import Row, read
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs
from lextables.tables.systems import (
    System,
    number_cells,
    published_cell,
    runs_of,
    score_cell,
    strict_cells,
)

METRICS = (
    "NDCG@5",
    "NDCG@10",
    "3-star precision@5",
    "4-star precision@5",
    "5-star precision@5",
)
SHORT_NAMES = {metric: metric.replace("precision", "prec") for metric in METRICS}
LONG_NAMES = {metric: metric for metric in METRICS}
SHORT_FORM = "short"  # form of the queries in most tables
NOT_HERE = "the query is not in these data"
SIZE = (
    "no verdict: a size is not a score. Ours is the number of parameters in resources/models.yaml; Section "
    "4.1 states 22.7M for the MiniLM cross-encoder"
)
BIN = 100  # words
Table = Callable[["Results"], list[Cell]]
STATISTICS: dict[str, Callable[[Sequence[int]], float]] = {
    "Min": min,
    "Mean": statistics.fmean,
    "Median": statistics.median,
    "Std. Dev.": statistics.stdev,
    "Max": max,
}


@dataclass(frozen=True)
class Results(Inputs):
    """The inputs, read as ACORD's tables need them; ``rows`` are systems with runs."""

    paper: Acord

    @cached_property
    def queries(self) -> list[Row]:
        return list(read(self.data / "queries.parquet"))

    @cached_property
    def test_queries(self) -> list[Row]:
        """The queries of the test split, sorted by their ids."""
        queries = [query for query in self.queries if query["split"] == "test"]
        return sorted(queries, key=lambda query: query["query_id"])

    @cached_property
    def judgements(self) -> list[Row]:
        return list(read(self.data / "judgements.parquet"))

    @cached_property
    def words(self) -> dict[str, int]:
        """{clause id: number of words}."""
        clauses = read(self.data / "clauses.parquet", ["clause_id", "words"])
        return {row["clause_id"]: row["words"] for row in clauses}

    def by_query(
        self, folders: Sequence[str], metric: str, group: str = "all"
    ) -> dict[str, float]:
        """Return {scored query of a group: score}, the mean over runs that differ in
        their seed.

        ``group`` is `all`, `category: …` or `query: …`.
        """
        scored = self.scores[folders[0]]
        scores = {}
        for query in sorted(self.queries, key=lambda query: query["query_id"]):
            query_group = f"query: {query['query_id']}"
            groups = ("all", f"category: {query['category']}", query_group)
            if group in groups and (metric, query_group) in scored:
                values = self.values(folders, metric, query_group, 1)
                scores[query["query_id"]] = statistics.fmean(values)
        return scores


@dataclass(frozen=True)
class Scored:
    """Which scores of a system a table shows."""

    columns: Mapping[str, str]
    """{metric: its column}."""
    group: str = "all"
    """The group of test queries, as in `Score`."""
    style: str = SHORT_FORM
    """The form of the queries: short, medium or long."""
    scale: float = 1
    """As in `Score`."""
    strict: bool = True
    """Whether strict scores are shown where they differ."""
    name: str = ""
    """The system's name in comparisons, by default the row."""


# The data set


def table2(results: Results) -> list[Cell]:
    """Sample queries: for each published query the one of its category with the most
    similar wording.
    """
    cells = []
    for printed in results.published:
        likeness = {}
        for query in results.queries:
            if query["category"] in printed.row:
                text = query["short"]
                likeness[text] = _likeness(text, printed.value)
        # Of equally similar queries the last in alphabetical order.
        last_first = sorted(likeness, reverse=True)
        nearest = max(last_first, key=likeness.__getitem__, default=None)
        cells.append(published_cell(printed, nearest, "no query of this category"))
    return cells


def _likeness(first: str, second: str) -> float:
    return difflib.SequenceMatcher(None, first.casefold(), second.casefold()).ratio()


def table_c1(results: Results) -> list[Cell]:
    """The queries by number; numbers that these data do not have are not run."""
    query_of = {str(query["number"]): query for query in results.queries}
    key_of = {"Clause Category": "category", "Query": "short"}
    cells = []
    for printed in results.published:
        query = query_of.get(printed.row, {})
        value = query.get(key_of[printed.column])
        cells.append(published_cell(printed, value, "sample data"))
    return cells


def table_c2(results: Results) -> list[Cell]:
    """Clauses rated k stars per query, over the queries that have any; sample standard
    deviation.
    """
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    for judgement in results.judgements:
        counts[judgement["stars"]][judgement["query_id"]] += 1
    cells = []
    for stars in range(1, 6):
        row = f"{stars}-star"
        clauses = list(counts[stars].values())
        for column, statistic in STATISTICS.items():
            needed = 2 if column == "Std. Dev." else 1
            if len(clauses) >= needed:
                value = float(statistic(clauses))
                cells.append(Cell(row, column, value))
            else:
                missing = "too few queries have a clause of this score"
                cells.append(Cell(row, column, None, reason=missing))
    return cells


def table_c3(results: Results) -> list[Cell]:
    """Queries and rated clauses by category."""
    columns = [
        "Number of Queries",
        "5-star",
        "4-star",
        "3-star",
        "2-star",
        "1-star",
        "Total ratings",
    ]
    counts: Counter[tuple[str, str]] = Counter()
    category_of = {}
    for query in results.queries:
        category_of[query["query_id"]] = query["category"]
        for row in (query["category"], "Total"):
            counts[row, "Number of Queries"] += 1
    for judgement in results.judgements:
        stars = f"{judgement['stars']}-star"
        for row in (category_of[judgement["query_id"]], "Total"):
            counts[row, stars] += 1
            counts[row, "Total ratings"] += 1
    categories = [row for row in results.published_rows if row != "Total"]
    cells = []
    for row in (*categories, "Total"):
        for column in columns:
            cells.append(Cell(row, column, float(counts[row, column])))
    return cells


def figure_c1(results: Results) -> list[Cell]:
    """Words in clauses rated 2 to 5 stars: each clause once, each judged pair, and the
    histogram's bins.
    """
    rated = [row["clause_id"] for row in results.judgements if row["stars"] >= 2]
    once = [results.words[clause_id] for clause_id in set(rated)]
    lengths_of = {
        "words a clause": once,
        "words a clause, each query-clause pair": [
            results.words[name] for name in rated
        ],
    }
    cells = []
    for row, lengths in lengths_of.items():
        values = {
            "Mean": statistics.fmean(lengths),
            "Median": statistics.median(lengths),
            "Min": min(lengths),
            "Max": max(lengths),
        }
        cells += number_cells(row, values, 0)
    bins = Counter(length // BIN for length in once)
    for at in range(max(bins) + 1):
        first = at * BIN
        row = f"{first}-{first + BIN - 1} words"
        cells += number_cells(row, {"Clauses": bins[at]}, 0)
    return cells


# Systems


def _system_row(system: System) -> str:
    return f"{system['retriever']} / {system['reranker']}"


def _metric_cells(
    results: Results, system: System, row: str, scored: Scored
) -> list[Cell]:
    """Return one cell per metric for one system, and its strict score where it
    differs.

    Systems are not compared on single queries.  Controls, which rank without reading
    the query, are never compared.
    """
    runs = runs_of(system, scored.style)
    kind, _, member = scored.group.partition(": ")
    is_single_query = kind == "query"
    cells = []
    for metric, column in scored.columns.items():
        measure = column
        if member:
            measure += f", {member}"
        if is_single_query:
            measure += f", {scored.style}"
        score = Score(
            measure, scored.name or row, metric, scored.group, "queries", scored.scale
        )
        interval = None
        if runs:
            queries = results.by_query(runs, metric, scored.group).values()
            values = [value * scored.scale for value in queries]
            interval = mean_interval(values, (0, scored.scale))
        cell = score_cell(
            results,
            system,
            row,
            column,
            score,
            runs=runs,
            interval=interval,
            trained=system["tuned"],
            compared=not (is_single_query or system.get("control")),
            baseline=system["retriever"],
        )
        cells.append(cell)
        if scored.strict:
            cells += strict_cells(results, cell, score)
    return cells


def table_d3(results: Results) -> list[Cell]:
    """All systems on the test queries."""
    cells = []
    for system in results.rows:
        row = _system_row(system)
        cells += _metric_cells(results, system, row, Scored(SHORT_NAMES))
        if row in results.published_rows:
            cells.append(_size(row, system["parameters"]))
    return cells


def _size(row: str, parameters: int | None) -> Cell:
    """Return the sum of the parameters of a system's models in `resources/models.yaml`.

    It is not a score, so it has no verdict.
    """
    if parameters is None:
        size = None
        reason = "no verdict: the size is not public"
    elif parameters < 1e9:
        size = f"{parameters / 1e6:.0f}M"
        reason = SIZE
    else:
        size = f"{parameters / 1e9:.2f}B"
        reason = SIZE
    return Cell(row, "Size", size, reason=reason, judged=False)


def table3(results: Results) -> list[Cell]:
    """The published rows, which are the rows of Table D-3 without the bi-encoder, and
    additional rows, in percent.
    """
    cells = []
    for system in results.rows:
        row = _system_row(system)
        if row in results.published_rows or system["additional"]:
            scored = Scored(SHORT_NAMES, scale=100)
            cells += _metric_cells(results, system, row, scored)
    return cells


def _by_category(
    results: Results, system: System, name: str, label: str = ""
) -> list[Cell]:
    """Return the cells of a system by category; its rows end in ``label``, if it has
    one.

    ``name`` is the system's name in comparisons.
    """
    categories = [row.partition(" / ")[0] for row in results.published_rows]
    tested = {query["category"] for query in results.test_queries}
    cells = []
    for category in dict.fromkeys(categories):
        row = category
        if label:
            row += f" / {label}"
        if category in tested or not system["runs"]:
            group = f"category: {category}"
            scored = Scored(LONG_NAMES, group, strict=False, name=name)
            cells += _metric_cells(results, system, row, scored)
        else:
            missing = "no test query of this category"
            cells += [Cell(row, column, None, reason=missing) for column in METRICS]
    return cells


def _label(system: System) -> str:
    """Return the name of an additional row in a table of rerankers; a first stage alone
    has its own name.
    """
    return system["reranker"] if system["reranked"] else system["retriever"]


def table_d1(results: Results) -> list[Cell]:
    """BM25 with each reranker by category; the paper has one of the rerankers."""
    cells = []
    for system in results.rows:
        name = _label(system)
        if system["reranker"] == results.entry.names["printed"]:
            cells += _by_category(results, system, name)
        elif system["additional"]:
            cells += _by_category(results, system, name, name)
    return cells


def table_d2(results: Results) -> list[Cell]:
    """BM25 with the cross-encoder by category, before and after fine-tuning.

    A published row is named by its state, an additional one by its reranker and state,
    or by its retriever if it has no reranker.
    """
    cells = []
    for system in results.rows:
        state = _state(system)
        if system["reranker"] == results.entry.names["printed"]:
            name = state
        elif not system["additional"]:
            continue
        elif system["reranked"]:
            name = f"{_label(system)}, {state}"
        else:
            name = _label(system)
        cells += _by_category(results, system, name, name)
    return cells


def _state(system: System) -> str:
    return "fine-tuned" if system["tuned"] else "not fine-tuned"


def _fine_tuning(results: Results, systems: Sequence[System]) -> list[Cell]:
    """Return scores before and after fine-tuning in percent, the change, and its paired
    interval.

    A model is compared with itself before fine-tuning.  For a bi-encoder that is a row
    without a reranker.  A cross-encoder that had no relevance head before fine-tuning
    is compared with the retriever whose hits it reorders.  A fusion has scores, but no
    change.
    """
    bare = {}  # {retriever: its system without a reranker}
    untuned = {}  # {`_tuned_from`: the system before fine-tuning}
    for system in systems:
        if system["reranker"] == "None":
            bare[system["retriever"]] = system
        # A linear model over an encoder's vectors is trained too, and is not the
        # encoder.
        if not system["trained"]:
            untuned[_tuned_from(system)] = system
    cells = []
    for system in systems:
        # A retriever that is not fine-tuned and has no reranker is not shown.
        if system["reranker"] == "None" and not system["tuned"]:
            continue
        row = f"{_system_row(system)} / {_state(system)}"
        scored = Scored(SHORT_NAMES, scale=100)
        cells += _metric_cells(results, system, row, scored)
        if not system["tuned"] or system["fused"]:
            continue
        before = untuned.get(_tuned_from(system))
        over = ""
        if not before:
            before = bare[system["retriever"]]
            over = " over the retriever"
        for metric, column in SHORT_NAMES.items():
            cell = _change(
                results, system, before, metric, place=(row, f"{column} change{over}")
            )
            cells.append(cell)
    return cells


def _tuned_from(system: System) -> tuple[str | None, str]:
    """Return the key (retriever, model) that is the same for a system and for that
    system before fine-tuning; without a reranker the retriever is None.
    """
    if system["reranker"] == "None":
        return None, system["model"]
    return system["retriever"], system["model"]


def _change(
    results: Results, after: System, before: System, metric: str, place: tuple[str, str]
) -> Cell:
    """Return the cell at ``place`` (row, column) with the mean change of the test
    queries, in percentage points, and its paired interval.
    """
    runs = runs_of(after, SHORT_FORM)
    runs_before = runs_of(before, SHORT_FORM)
    if not runs or not runs_before:
        return Cell(*place, None, reason=after["reason"] or before["reason"])
    old = results.by_query(runs_before, metric)

    def changes(folders: Sequence[str]) -> list[float]:
        """The change of each query from before to these runs."""
        new = results.by_query(folders, metric)
        gains = [100 * (new[query] - old[query]) for query in sorted(new)]
        return [gain for gain in gains if not math.isnan(gain)]

    gains = changes(runs)
    seed_means = [statistics.fmean(changes([run])) for run in runs]
    low, high = mean_interval(gains, (-100, 100)) or (None, None)
    return Cell(
        *place,
        statistics.fmean(gains),
        low,
        high,
        decimals=1,
        runs=runs + runs_before,
        seeds=tuple(seed_means),
        averages=after["averages"],
    )


def table_d4(results: Results) -> list[Cell]:
    """Fine-tuning, over both retrievers."""
    rerankers = {"None"}
    for row in results.published_rows:
        _, _, reranker = row.partition(" / ")
        rerankers.add(reranker.partition(" / ")[0])
    systems = []
    for system in results.rows:
        if system["additional"] or system["reranker"] in rerankers:
            systems.append(system)
    return _fine_tuning(results, systems)


def figure2(results: Results) -> list[Cell]:
    """The bars of Figure 2: BM25 with the cross-encoder, before and after
    fine-tuning.
    """
    prefix = f"{results.entry.names['retriever']} / "
    cells = [cell for cell in table_d4(results) if cell.row.startswith(prefix)]
    return [cell for cell in cells if STRICT not in cell.column]


def table_d5(results: Results) -> list[Cell]:
    """Pointwise and pairwise reranking over BM25 by language models, and the
    baselines.

    Of other additional systems only those with a language model are shown.
    """
    cells = []
    for system in results.rows:
        row = _system_row(system)
        is_shown = True
        # Baselines have no suffix and are always shown.
        if not system["baseline"]:
            is_shown = system["additional"] and system["asked"]
            row += " / pairwise" if system["pairwise"] else " / pointwise"
        if is_shown or row in results.published_rows:
            scored = Scored(SHORT_NAMES, scale=100)
            cells += _metric_cells(results, system, row, scored)
    return cells


def table_e1(results: Results) -> list[Cell]:
    """The two queries in three formats, from the released sheet."""
    query_of = {query["query_id"]: query for query in results.queries}
    cells = []
    for printed in results.published:
        name, style = printed.row.split(" / ")
        query_id = results.paper.format_queries[name]
        query = query_of.get(query_id, {})
        value = query.get(style.lower())
        cells.append(published_cell(printed, value, NOT_HERE))
    return cells


def table_e2(results: Results) -> list[Cell]:
    """Retrieval for the two queries in three formats; additional rows follow the
    paper's.

    Names of published rows are like ``BM25 + Cross-Encoder``; an additional row has a
    slash between retriever and reranker.
    """
    tested = {query["query_id"] for query in results.test_queries}
    queries = results.paper.format_queries.items()
    cells = []
    for system in results.rows:
        label = _label_in_e2(results, system)
        if label is None:
            continue
        for (name, query_id), style in product(queries, ("Short", "Medium", "Long")):
            row = f"{label} / {name} / {style}"
            if query_id in tested:
                scored = Scored(
                    LONG_NAMES, f"query: {query_id}", style.lower(), strict=False
                )
                cells += _metric_cells(results, system, row, scored)
            else:
                cells += [Cell(row, each, None, reason=NOT_HERE) for each in METRICS]
    return cells


def _label_in_e2(results: Results, system: System) -> str | None:
    """Return the name of a system in Table E-2; None if it is not shown."""
    names = results.entry.names
    if system["retriever"] == names["retriever"]:
        published = names["rerankers"].get(system["reranker"])
        if published or not system["additional"]:
            return published
        return _system_row(system)
    if system["additional"] and system["reranker"] == "None":
        return system["retriever"]
    return None


TABLES: dict[str, Table] = {
    "table2": table2,
    "table_c1": table_c1,
    "table_c2": table_c2,
    "table_c3": table_c3,
    "figure_c1": figure_c1,
    "table3": table3,
    "table_d1": table_d1,
    "table_d2": table_d2,
    "table_d3": table_d3,
    "table_d4": table_d4,
    "table_d5": table_d5,
    "table_e1": table_e1,
    "table_e2": table_e2,
    "figure2": figure2,
}


def cells(table: str, inputs: Inputs) -> list[Cell]:
    """Return the computed cells of ``table``."""
    return TABLES[table](Results(**vars(inputs) | {"name": table}))
