"""ACORD's tables: the computed value of each published cell.

Each function takes `Results` and returns cells; `cells` calls the function of a table, and
`lextables.tables.cells.build` joins its result with the published cells.  Appendix sections and
table numbers are the paper's.
"""

import difflib
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lextables.metrics import STRICT
from lextables.metrics.intervals import mean_interval
from lextables.papers.acord.registry import Acord
from lextables.pipeline.dataset import Row, read
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs
from lextables.tables.scored import score_cell, strict_cells

STARS = (3, 4, 5)
METRICS = ("NDCG@5", "NDCG@10", *(f"{stars}-star precision@5" for stars in STARS))
SHORT_NAMES = {metric: metric.replace("precision", "prec") for metric in METRICS}
SIZE = (
    "no verdict: a size is not a score. Ours is the number of parameters in resources/models.yaml; Section "
    "4.1 states 22.7M for the MiniLM cross-encoder"
)
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
    def judgements(self) -> list[Row]:
        return list(read(self.data / "judgements.parquet"))

    @cached_property
    def words(self) -> dict[str, int]:
        """{clause id: number of words}."""
        return {
            row["clause_id"]: row["words"]
            for row in read(self.data / "clauses.parquet", ["clause_id", "words"])
        }

    def by_query(
        self, folders: Sequence[str], metric: str, group: str = "all"
    ) -> dict[str, float]:
        """{test query of a group: score}, the mean over runs that differ in their seed."""
        return {
            query["query_id"]: statistics.fmean(
                self.values(folders, metric, f"query: {query['query_id']}", 1)
            )
            for query in sorted(self.queries, key=lambda query: query["query_id"])
            if (metric, f"query: {query['query_id']}") in self.scores[folders[0]]
            and group
            in ("all", f"category: {query['category']}", f"query: {query['query_id']}")
        }


def table2(results: Results) -> list[Cell]:
    """Sample queries: the query of the category with the most similar wording to the published one."""
    cells = []
    for printed in results.published:
        pool = [q["short"] for q in results.queries if q["category"] in printed.row]
        nearest = max(
            pool, key=lambda text: (_likeness(text, printed.value), text), default=None
        )
        cells.append(
            Cell(
                printed.row,
                printed.column,
                nearest,
                reason="" if nearest else "no query of this category",
            )
        )
    return cells


def _likeness(first: str, second: str) -> float:
    return difflib.SequenceMatcher(None, first.casefold(), second.casefold()).ratio()


def table_c1(results: Results) -> list[Cell]:
    """The queries by number; numbers that these data do not have are not run."""
    query_of = {str(query["number"]): query for query in results.queries}
    values = {"Clause Category": "category", "Query": "short"}
    cells = []
    for printed in results.published:
        query = query_of.get(printed.row)
        value = query[values[printed.column]] if query else None
        cells.append(
            Cell(
                printed.row,
                printed.column,
                value,
                reason="" if query else "sample data",
            )
        )
    return cells


def table_c2(results: Results) -> list[Cell]:
    """Clauses rated k stars per query, over the queries that have any; sample standard deviation."""
    counts = Counter((row["query_id"], row["stars"]) for row in results.judgements)
    cells = []
    for stars in range(1, 6):
        clause_counts = [n for (_, k), n in counts.items() if k == stars]
        for column, statistic in STATISTICS.items():
            enough = len(clause_counts) >= (2 if column == "Std. Dev." else 1)
            value = float(statistic(clause_counts)) if enough else None
            reason = "" if enough else "too few queries have a clause of this score"
            cells.append(Cell(f"{stars}-star", column, value, reason=reason))
    return cells


def table_c3(results: Results) -> list[Cell]:
    """Queries and rated clauses by category."""
    category = {query["query_id"]: query["category"] for query in results.queries}
    queries = Counter(category.values())
    counts = Counter(
        (category[row["query_id"]], row["stars"]) for row in results.judgements
    )
    cells = []
    for name in [
        *dict.fromkeys(cell.row for cell in results.published if cell.row != "Total"),
        "Total",
    ]:
        own = [c for c in queries if name in (c, "Total")]
        values = {"Number of Queries": sum(queries[c] for c in own)}
        values |= {
            f"{stars}-star": sum(counts[c, stars] for c in own)
            for stars in range(5, 0, -1)
        }
        values["Total ratings"] = sum(
            counts[c, stars] for c in own for stars in range(1, 6)
        )
        cells += [Cell(name, column, float(value)) for column, value in values.items()]
    return cells


def figure_c1(results: Results) -> list[Cell]:
    """Words in clauses rated 2 to 5 stars: each clause once, each judged pair, and the histogram's bins."""
    rated = [row["clause_id"] for row in results.judgements if row["stars"] >= 2]
    once = sorted(results.words[clause_id] for clause_id in sorted(set(rated)))
    pairs = sorted(results.words[clause_id] for clause_id in rated)
    cells = []
    for row, lengths in (
        ("words a clause", once),
        ("words a clause, each query-clause pair", pairs),
    ):
        for column in ("Mean", "Median", "Min", "Max"):
            cells.append(
                Cell(row, column, float(STATISTICS[column](lengths)), decimals=0)
            )
    width = 100
    bins = Counter(length // width for length in once)
    for bin_ in range(max(bins) + 1):
        cells.append(
            Cell(
                f"{bin_ * width}-{(bin_ + 1) * width - 1} words",
                "Clauses",
                float(bins[bin_]),
                decimals=0,
            )
        )
    return cells


def _system_row(system: Mapping[str, Any]) -> str:
    return f"{system['retriever']} / {system['reranker']}"


def _metric_cells(
    results: Results,
    system: Mapping[str, Any],
    row: str,
    columns: Mapping[str, str],
    *,
    group: str = "all",
    style: str = "short",
    scale: float = 1,
    strict: bool = True,
    name: str = "",
) -> list[Cell]:
    """One cell per metric for one system, and its strict reading where it differs.

    ``name`` is the system's name in comparisons, if the row says more.  Single queries are not compared.
    """
    runs = tuple(system["runs"].get(style, ()))
    kind, _, member = group.partition(": ")
    single_query = kind == "query"
    cells = []
    for metric, column in columns.items():
        measure = ", ".join(
            filter(None, (column, member, style if single_query else ""))
        )
        score = Score(measure, name or row, metric, group, "queries", scale)
        interval = None
        if runs:
            queries = results.by_query(runs, metric, group).values()
            interval = mean_interval([value * scale for value in queries], (0, scale))
        cell = score_cell(
            results,
            system,
            row,
            column,
            score,
            runs=runs,
            interval=interval,
            trained=system["tuned"],
            compared=not single_query,
            baseline=system["retriever"],
        )
        cells += [cell, *(strict_cells(results, cell, score) if strict else [])]
    return cells


def table_d3(results: Results) -> list[Cell]:
    """All systems on the test queries."""
    cells = []
    for system in results.rows:
        row = _system_row(system)
        cells += _metric_cells(results, system, row, SHORT_NAMES)
        if any(printed.row == row for printed in results.published):
            cells.append(_size(row, system["parameters"]))
    return cells


def _size(row: str, parameters: int | None) -> Cell:
    """The sum of the parameters of a system's models in `resources/models.yaml`.

    It is not a score, so it has no verdict.
    """
    if parameters is None:
        return Cell(
            row, "Size", None, reason="no verdict: the size is not public", judged=False
        )
    size = (
        f"{parameters / 1e6:.0f}M" if parameters < 1e9 else f"{parameters / 1e9:.2f}B"
    )
    return Cell(row, "Size", size, reason=SIZE, judged=False)


def table3(results: Results) -> list[Cell]:
    """The part of Table D-3 without the bi-encoder, in percent."""
    printed = {cell.row for cell in results.published}
    systems = [s for s in results.rows if _system_row(s) in printed or s["additional"]]
    return [
        cell
        for system in systems
        for cell in _metric_cells(
            results, system, _system_row(system), SHORT_NAMES, scale=100
        )
    ]


def _by_category(
    results: Results, system: Mapping[str, Any], name: str, label: str = ""
) -> list[Cell]:
    """The cells of a system called ``name``; its rows by category end in ``label``."""
    categories = list(
        dict.fromkeys(cell.row.split(" / ")[0] for cell in results.published)
    )
    test_categories = {
        query["category"] for query in results.queries if query["split"] == "test"
    }
    columns = {metric: metric for metric in METRICS}
    cells = []
    for category in categories:
        row = f"{category} / {label}" if label else category
        if category in test_categories or not system["runs"]:
            cells += _metric_cells(
                results,
                system,
                row,
                columns,
                group=f"category: {category}",
                strict=False,
                name=name,
            )
        else:
            cells += [
                Cell(row, column, None, reason="no test query of this category")
                for column in columns
            ]
    return cells


def _label(system: Mapping[str, Any]) -> str:
    """The name of an additional row in a table of rerankers; a first stage alone has its own name."""
    return system["reranker"] if system["reranked"] else system["retriever"]


def table_d1(results: Results) -> list[Cell]:
    """BM25 with each reranker by category; the paper has one of them."""
    cells = []
    for system in results.rows:
        if system["reranker"] == results.entry.names["printed"]:
            cells += _by_category(results, system, _label(system))
        elif system["additional"]:
            cells += _by_category(results, system, _label(system), _label(system))
    return cells


def table_d2(results: Results) -> list[Cell]:
    """BM25 with the cross-encoder by category, before and after fine-tuning; ours with their names."""
    cells = []
    for system in results.rows:
        state = "fine-tuned" if system["tuned"] else "not fine-tuned"
        if system["reranker"] == results.entry.names["printed"]:
            cells += _by_category(results, system, state, state)
        elif system["additional"]:
            label = (
                f"{_label(system)}, {state}" if system["reranked"] else _label(system)
            )
            cells += _by_category(results, system, label, label)
    return cells


def _fine_tuning(results: Results, systems: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """Before and after fine-tuning in percent, the change, and its paired interval.

    The change of a model is relative to itself before fine-tuning, which for a bi-encoder is a row without a
    reranker; a cross-encoder without a relevance head before is compared with the retriever whose hits it
    reorders.
    """
    systems = list(systems)
    bare = {
        system["retriever"]: system
        for system in systems
        if system["reranker"] == "None"
    }
    untuned = {_tuned_from(system): system for system in systems if not system["tuned"]}
    cells = []
    for system in systems:
        if system["reranker"] == "None" and not system["tuned"]:
            continue
        row = f"{_system_row(system)} / {'fine-tuned' if system['tuned'] else 'not fine-tuned'}"
        cells += _metric_cells(results, system, row, SHORT_NAMES, scale=100)
        if not system["tuned"] or system["fused"]:
            continue
        before = untuned.get(_tuned_from(system))
        over = "" if before else " over the retriever"
        before = before or bare[system["retriever"]]
        for metric, column in SHORT_NAMES.items():
            cells.append(
                _change(results, system, before, row, metric, f"{column} change{over}")
            )
    return cells


def _tuned_from(system: Mapping[str, Any]) -> tuple[str | None, str]:
    """The key that a system shares with itself before fine-tuning: its retriever and its model."""
    return None if system["reranker"] == "None" else system["retriever"], system[
        "model"
    ]


def _change(
    results: Results,
    after: Mapping[str, Any],
    before: Mapping[str, Any],
    row: str,
    metric: str,
    column: str,
) -> Cell:
    folders = (
        tuple(after["runs"].get("short", ())),
        tuple(before["runs"].get("short", ())),
    )
    if not all(folders):
        return Cell(row, column, None, reason=after["reason"] or before["reason"])
    old = results.by_query(folders[1], metric)

    def changes(runs: Sequence[str]) -> list[float]:
        new = results.by_query(runs, metric)
        return [
            100 * (new[query] - old[query])
            for query in sorted(new)
            if not math.isnan(new[query])
        ]

    gains = changes(folders[0])
    low, high = mean_interval(gains, (-100, 100)) or (None, None)
    seeds = tuple(statistics.fmean(changes([run])) for run in folders[0])
    return Cell(
        row,
        column,
        statistics.fmean(gains),
        low,
        high,
        decimals=1,
        runs=folders[0] + folders[1],
        seeds=seeds,
        averages=after["averages"],
    )


def table_d4(results: Results) -> list[Cell]:
    """Fine-tuning, over both retrievers."""
    printed = {cell.row.split(" / ")[1] for cell in results.published}
    return _fine_tuning(
        results,
        (
            s
            for s in results.rows
            if s["additional"] or s["reranker"] in printed | {"None"}
        ),
    )


def figure2(results: Results) -> list[Cell]:
    """The bars of Figure 2: BM25 with the cross-encoder, before and after fine-tuning."""
    prefix = f"{results.entry.names['retriever']} / "
    return [
        cell
        for cell in table_d4(results)
        if cell.row.startswith(prefix) and STRICT not in cell.column
    ]


def table_d5(results: Results) -> list[Cell]:
    """Pointwise and pairwise reranking over BM25 by language models, and the baselines."""
    printed = {cell.row for cell in results.published}
    cells = []
    for system in results.rows:
        row = f"{_system_row(system)} / {'pairwise' if system['pairwise'] else 'pointwise'}"
        if system["baseline"]:
            row = _system_row(system)
        if (
            row in printed
            or system["baseline"]
            or (system["additional"] and system["asked"])
        ):
            cells += _metric_cells(results, system, row, SHORT_NAMES, scale=100)
    return cells


def table_e1(results: Results) -> list[Cell]:
    """The two queries in three formats, from the released sheet."""
    query_of = {query["query_id"]: query for query in results.queries}
    cells = []
    for printed in results.published:
        name, style = printed.row.split(" / ")
        query = query_of.get(results.paper.format_queries[name])
        value = query[style.lower()] if query else None
        cells.append(
            Cell(
                printed.row,
                printed.column,
                value,
                reason="" if query else "the query is not in these data",
            )
        )
    return cells


def table_e2(results: Results) -> list[Cell]:
    """Retrieval for the two queries in three formats; additional rows follow the paper's.

    The paper writes ``BM25 + Cross-Encoder``; an additional row has a slash, which model names cannot
    contain.
    """
    names = results.entry.names
    columns = {metric: metric for metric in METRICS}
    test_ids = {
        query["query_id"] for query in results.queries if query["split"] == "test"
    }
    cells = []
    for system in results.rows:
        label = None
        if system["retriever"] == names["retriever"]:
            published, additional = (
                names["rerankers"].get(system["reranker"]),
                system["additional"],
            )
            label = published or (_system_row(system) if additional else None)
        elif system["additional"] and system["reranker"] == "None":
            label = system["retriever"]
        if label is None:
            continue
        for name, query_id in results.paper.format_queries.items():
            for style in ("Short", "Medium", "Long"):
                row = f"{label} / {name} / {style}"
                if query_id in test_ids:
                    cells += _metric_cells(
                        results,
                        system,
                        row,
                        columns,
                        group=f"query: {query_id}",
                        style=style.lower(),
                        strict=False,
                    )
                else:
                    cells += [
                        Cell(row, column, None, reason="the query is not in these data")
                        for column in METRICS
                    ]
    return cells


TABLES: dict[str, Table] = {
    table.__name__: table
    for table in (
        table2,
        table_c1,
        table_c2,
        table_c3,
        figure_c1,
        table3,
        table_d1,
        table_d2,
        table_d3,
        table_d4,
        table_d5,
        table_e1,
        table_e2,
        figure2,
    )
}


def cells(table: str, inputs: Inputs) -> list[Cell]:
    """Return the computed cells of ``table``."""
    return TABLES[table](Results(**vars(inputs) | {"name": table}))
