"""CUAD's tables: the computed value of each published cell.

Each function takes `Results` and returns cells; `cells` calls the function of a table, and
`lextables.tables.cells.build` joins its result with the published cells.  Sections and table
numbers are the paper's.
"""

import itertools
import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lextables.metrics import STRICT
from lextables.pipeline.dataset import Row, read
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs, Scores
from lextables.tables.scored import score_cell, strict_cells
from lextables.tables.words import same_words
from lextables.tasks.spans.squad import part

WHOLE = "100"  # per cent of the training contracts
AUPR, AT_80, AT_90 = "AUPR", "precision at 80% recall", "precision at 90% recall"
COLUMNS = {AUPR: "AUPR", AT_80: "Precision@80% Recall", AT_90: "Precision@90% Recall"}
# {category in the paper's tables: category in the release}, if they differ.
RELEASED_NAMES = {
    "Perpetual License": "Irrevocable or Perpetual License",
    "Notice to Terminate Renewal": "Notice Period to Terminate Renewal",
    "Price Restriction": "Price Restrictions",
    "Affiliate IP License-Licensor": "Affiliate License-Licensor",
    "Affiliate IP License-Licensee": "Affiliate License-Licensee",
}
# Figure 2 does not state its bins.  Its axis ends at 200 contracts, which the first bin of eight pages
# just exceeds, and the first bin of ten pages exceeds by far.
BIN = 8
CURVE = range(5, 101, 5)  # per cent recall
OWN_SHARES = "not trained on this share of the contracts"
ALL_TIED = "all categories have the same area"

Table = Callable[["Results"], list[Cell]]
System = Mapping[str, Any]


@dataclass(frozen=True)
class Results(Inputs):
    """The inputs, read as CUAD's tables need them; ``rows`` are systems with runs."""

    @cached_property
    def categories(self) -> list[Row]:
        return list(read(self.data / "categories.parquet"))

    @cached_property
    def contracts(self) -> list[Row]:
        """The contracts without their texts."""
        columns = ["contract_id", "characters", "contract_type", "pages"]
        return list(read(self.data / "contracts.parquet", columns))

    @cached_property
    def spans(self) -> dict[tuple[str, str], list[tuple[int, int]]]:
        """{(contract id, category): the spans of its answers}, in characters and half-open."""
        columns = ["question_id", "contract_id", "category"]
        questions = {
            row["question_id"]: (row["contract_id"], row["category"])
            for row in read(self.data / "questions.parquet", columns)
        }
        spans_of = defaultdict(list)
        for row in read(self.data / "answers.parquet", ["question_id", "start", "end"]):
            spans_of[questions[row["question_id"]]].append((row["start"], row["end"]))
        return dict(spans_of)

    @cached_property
    def training_annotations(self) -> dict[str, int]:
        """{training contract: its answers in the training file}."""
        counts: dict[str, int] = {}
        for row in read(
            self.data / "training_examples.parquet", ["contract_id", "start"]
        ):
            counts[row["contract_id"]] = counts.get(row["contract_id"], 0) + (
                row["start"] >= 0
            )
        return counts

    def annotations(self, percent: str, seed: int) -> int:
        """Answers in the share of the training contracts that a run with this seed is trained on."""
        drawn = part(self.training_annotations, int(percent), seed)
        return sum(self.training_annotations[name] for name in sorted(drawn))

    def category(self, printed: str) -> Row | None:
        """The category called ``printed`` in the paper."""
        name = RELEASED_NAMES.get(printed, printed)
        return next(
            (row for row in self.categories if same_words(row["title"], name)), None
        )


# The data set


def descriptions(results: Results) -> list[Cell]:
    """Tables 1, 4 and 5: categories and their descriptions as released."""
    columns = {"Category": "title", "Description": "description"}
    cells = []
    for printed in results.published:
        category = results.category(printed.row)
        value = category[columns[printed.column]] if category else None
        reason = "" if category else "no such category in these data"
        cells.append(Cell(printed.row, printed.column, value, reason=reason))
    return cells


def table3(results: Results) -> list[Cell]:
    """Contracts by type."""
    counts = Counter(row["contract_type"] for row in results.contracts)
    return [
        Cell(
            printed.row,
            printed.column,
            float(counts.total() if printed.row == "Total" else counts[printed.row]),
        )
        for printed in results.published
    ]


def figure2(results: Results) -> list[Cell]:
    """Figures on the data set in the text, the pages of a contract, and the histogram's bins."""
    contracts = results.contracts
    pages = [row["pages"] for row in contracts]
    share, by_category = _labeled(results)
    statements = {
        "Contracts": len(contracts),
        "Contract types": len({row["contract_type"] for row in contracts}),
        "Label categories": len(results.categories),
        "Labeled clauses": sum(
            1 for _ in read(results.data / "clauses.parquet", ["contract_id"])
        ),
        "Pages": sum(pages),
        "Labeled share of a contract": 100 * share,
        "Share of a contract labeled for one category": 100 * by_category,
    }
    cells = [Cell(row, "Value", float(value)) for row, value in statements.items()]
    answers = sum(map(len, results.spans.values()))
    cells.append(
        Cell(
            "Answers in the released question files",
            "Value",
            float(answers),
            decimals=0,
        )
    )
    of = {"Mean": statistics.fmean, "Median": statistics.median, "Min": min, "Max": max}
    cells += [
        Cell(
            "pages a contract",
            name,
            float(statistic(pages)),
            decimals=0 if name in ("Min", "Max") else 1,
        )
        for name, statistic in of.items()
    ]
    bins = Counter((number - 1) // BIN for number in pages)
    cells += [
        Cell(
            f"{n * BIN + 1}-{(n + 1) * BIN} pages",
            "Contracts",
            float(bins[n]),
            decimals=0,
        )
        for n in range(max(bins) + 1)
    ]
    return cells


def _labeled(results: Results) -> tuple[float, float]:
    """The mean share of a contract's characters in a labeled span, and the mean for a single category."""
    characters = {row["contract_id"]: row["characters"] for row in results.contracts}
    together: dict[str, list[tuple[int, int]]] = defaultdict(list)
    single = 0.0
    for (contract, _), spans in sorted(results.spans.items()):
        together[contract] += spans
        single += _covered_characters(spans) / characters[contract]
    share = statistics.fmean(
        _covered_characters(together[name]) / size for name, size in characters.items()
    )
    return share, single / (len(characters) * len(results.categories))


def _covered_characters(spans: Iterable[tuple[int, int]]) -> int:
    """How many characters lie in at least one span."""
    covered = last = 0
    for start, end in sorted(spans):
        covered += max(0, end - max(start, last))
        last = max(last, end)
    return covered


# Models


def table2(results: Results) -> list[Cell]:
    """Every model, and its strict score if it differs."""
    return [
        cell
        for system in results.rows
        for metric in COLUMNS
        for cell in _score_cells(results, system, metric)
    ]


def _folders(system: System) -> tuple[str, ...]:
    """The runs on all training contracts, one per seed."""
    return tuple(system["runs"].get(WHOLE, ()))


def _seeds(system: System, values: Iterable[float]) -> tuple[float, ...] | None:
    """A value of each run, if the system was trained here."""
    return tuple(values) if system["trained"] else None


def _score_cells(
    results: Results, system: System, metric: str, row: str = ""
) -> list[Cell]:
    """One score of one system over the test set, and its strict reading where it differs."""
    row = row or system["row"]
    score = Score(COLUMNS[metric], row, metric, "all", "contracts", 100)
    # The precision at a recall is not compared: see `metrics.spans_by_contract`.
    cell = score_cell(
        results,
        system,
        row,
        COLUMNS[metric],
        score,
        runs=_folders(system),
        compared=metric == AUPR,
        no_runs=OWN_SHARES,
    )
    return [cell, *strict_cells(results, cell, score)]


def figure3(results: Results) -> list[Cell]:
    """Precision at 80 % recall as in Table 2, and the curve: the best precision at a recall or above."""
    cells = []
    for system in results.rows:
        cells += [
            cell
            for cell in _score_cells(results, system, AT_80)
            if STRICT not in cell.column
        ]
        folders = _folders(system)
        curves = [_curve(results.scores[folder]) for folder in folders]
        for recall in CURVE if curves else ():
            values = [curve[recall] for curve in curves if recall in curve]
            # A curve ends at the highest recall that the model reaches; a mean is over all seeds or none.
            if len(values) == len(curves):
                column = f"Precision at {recall}% recall"
                cells.append(
                    Cell(
                        system["row"],
                        column,
                        statistics.fmean(values),
                        decimals=1,
                        runs=folders,
                    )
                )
    return cells


def _curve(scores: Scores) -> dict[int, float]:
    """{recall: precision} in per cent: of the thresholds with at least this recall, the best precision."""
    points = [
        (scores["recall", group][0], value)
        for (metric, group), (value, _) in scores.items()
        if metric == "precision" and not math.isnan(value)
    ]
    curve = {}
    for recall in CURVE:
        precisions = [
            precision
            for recall_reached, precision in points
            if 100 * recall_reached >= recall
        ]
        if precisions:
            curve[recall] = 100 * max(precisions)
    return curve


def figure4(results: Results) -> list[Cell]:
    """The area by category: the published order, the values of every row that ran, and rank correlations."""
    from scipy.stats import spearmanr  # slow to load, and no other table needs it

    cells = _by_category(results, AUPR)
    for system in results.rows:
        ranks = _ranks(results, _folders(system))
        if len(ranks) > 2:
            place = (
                "rank correlation with the published order",
                f"Spearman: {system['row']}",
            )
            if len(set(ranks.values())) == 1:
                cells.append(
                    Cell(*place, "undefined", reason=ALL_TIED, runs=_folders(system))
                )
                continue
            order = [
                float(cell.value) for cell in results.published if cell.row in ranks
            ]
            agreement = float(spearmanr(order, list(ranks.values())).statistic)
            cells.append(Cell(*place, agreement, decimals=2, runs=_folders(system)))
    return cells


def figure8(results: Results) -> list[Cell]:
    """Precision at 80 % recall by category, in the order of Figure 4, which Figure 8 also has."""
    return _by_category(results, AT_80)


def _by_category(results: Results, metric: str) -> list[Cell]:
    """Each category's rank by the area of the model in the paper's ranking, and of every row."""
    ranked_by = results.entry.names["ranked_by"]
    (model,) = (system for system in results.rows if system["row"] == ranked_by)
    folders = _folders(model)
    ranks, of_seeds = (
        _ranks(results, folders),
        [_ranks(results, (folder,)) for folder in folders],
    )
    missing = (
        "no test clause of this category" if folders else model["reason"] or OWN_SHARES
    )
    ran = [system for system in results.rows if _folders(system)]
    at_rank = Counter(ranks.values())
    cells = []
    for printed in results.published:
        rank = ranks.get(printed.row)
        tied = at_rank[rank] - 1 if rank else 0
        if tied:
            cells.append(
                Cell(
                    printed.row,
                    printed.column,
                    f"{rank:g}",
                    runs=folders,
                    judged=False,
                    reason=f"no verdict: tied with {tied} other categor{'y' if tied == 1 else 'ies'}",
                )
            )
        else:
            cells.append(
                Cell(
                    printed.row,
                    printed.column,
                    rank,
                    reason="" if rank else missing,
                    runs=folders,
                    seeds=_seeds(
                        model,
                        (of_seed.get(printed.row, math.nan) for of_seed in of_seeds),
                    ),
                    averages=model["averages"],
                )
            )
        for system in ran:
            value = _category_score(results, _folders(system), metric, printed.row)
            if value is not None:
                column = f"{COLUMNS[metric]}: {system['row']}"
                cells.append(
                    Cell(printed.row, column, value, decimals=1, runs=_folders(system))
                )
    return cells


def _ranks(results: Results, folders: Sequence[str]) -> dict[str, float]:
    """{published category: its rank by the area of these runs, 1 is the best}, in the published order.

    Categories with the same area have the mean of their ranks.
    """
    areas = {}
    for printed in results.published if folders else ():
        value = _category_score(results, folders, AUPR, printed.row)
        if value is not None:
            areas[printed.row] = value
    values = list(areas.values())
    return {
        name: sum(other > value for other in values) + (values.count(value) + 1) / 2
        for name, value in areas.items()
    }


def _category_score(
    results: Results, folders: Sequence[str], metric: str, printed: str
) -> float | None:
    category = results.category(printed)
    group = f"category: {category['category']}" if category else ""
    return results.mean(folders, metric, group)


def figure5(results: Results) -> list[Cell]:
    """Precision at 80 % recall: each model's, then each class's mean, of the published values and of ours."""
    classes: dict[str, dict[str, float]] = {}
    for printed in results.published:
        name, _, model = printed.row.partition(" / ")
        classes.setdefault(name, {})[model] = printed.number
    place = {cell.row.partition(" / ")[2]: cell.row for cell in results.published}
    systems = {system["row"]: system for system in results.rows}
    cells = []
    for row, system in systems.items():
        if row in place:
            row_cells = _score_cells(results, system, AT_80, place[row])
            cells += [cell for cell in row_cells if STRICT not in cell.column]
    column = f"{COLUMNS[AT_80]}: mean of"
    for name, models in classes.items():
        cells.append(
            Cell(
                name,
                f"{column} the published values",
                statistics.fmean(models.values()),
                decimals=1,
            )
        )
        folders = [_folders(systems[model]) for model in models]
        values = [results.mean(of_model, AT_80) for of_model in folders if of_model]
        runs = tuple(itertools.chain(*folders))
        if len(values) == len(models):
            cells.append(
                Cell(
                    name,
                    f"{column} ours",
                    statistics.fmean(values),
                    decimals=1,
                    runs=runs,
                )
            )
        else:
            reason = (
                f"{len(values)} of the {len(models)} models of this class ran"
                if values
                else "none of this class ran"
            )
            cells.append(
                Cell(name, f"{column} ours", None, reason=reason, decimals=1, runs=runs)
            )
    for row, system in systems.items():
        if row not in place and _folders(system):
            value = results.mean(_folders(system), AT_80)
            cells.append(
                Cell(row, f"{column} ours", value, decimals=1, runs=_folders(system))
            )
    return cells


def figure6(results: Results) -> list[Cell]:
    """The area by share of the training contracts, and the number of their annotations."""
    cells = []
    for system in results.rows:
        rows = (_share(cell.row) for cell in results.published)
        printed = {share for model, share in rows if model == system["row"]}
        for share in sorted(printed | system["runs"].keys(), key=int):
            row = f"{system['row']} / {share}% of the contracts"
            folders = tuple(system["runs"].get(share, ()))
            score = Score(
                f"{AUPR} of {share}%", system["row"], AUPR, "all", "contracts", 100
            )
            cells.append(
                score_cell(
                    results,
                    system,
                    row,
                    "AUPR",
                    score,
                    runs=folders,
                    no_runs=OWN_SHARES,
                )
            )
            seeds = [int(folder.rpartition("seed")[2]) for folder in folders] or [0]
            annotations = statistics.fmean(
                results.annotations(share, seed) for seed in seeds
            )
            cells.append(Cell(row, "Training annotations", annotations, decimals=0))
    return cells


def _share(row: str) -> tuple[str, str]:
    """The model and the per cent of the contracts of a row of Figure 6."""
    model, share = re.fullmatch(r"(.+) / (\d+)% of the contracts", row).groups()
    return model, share


TABLES: dict[str, Table] = {
    "table1": descriptions,
    "table2": table2,
    "table3": table3,
    "table4": descriptions,
    "table5": descriptions,
    "figure2": figure2,
    "figure3": figure3,
    "figure4": figure4,
    "figure5": figure5,
    "figure6": figure6,
    "figure8": figure8,
}


def cells(table: str, inputs: Inputs) -> list[Cell]:
    """Return the computed cells of ``table``."""
    return TABLES[table](Results(**vars(inputs) | {"name": table}))
