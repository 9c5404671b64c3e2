"""CUAD's tables: the computed value of each published cell.

Each function takes `Results` and returns cells; `cells` calls the function of a table,
and `lextables.tables.cells.build` joins its result with the published cells.  Sections
and table numbers are the paper's.
"""

import itertools
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from lextables.metrics import STRICT
from lextables.pipeline.dataset import Row, read
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs, Scores
from lextables.tables.published import PublishedCell
from lextables.tables.systems import (
    RECALLS,
    WHOLE,
    System,
    curve_cells,
    number_cells,
    published_cell,
    runs_of,
    score_cell,
    strict_cells,
)
from lextables.tables.words import same_words
from lextables.tasks.spans.squad import part

AUPR = "AUPR"
AT_80 = "precision at 80% recall"
AT_90 = "precision at 90% recall"
# {metric: its column in Table 2}
COLUMNS = {AUPR: "AUPR", AT_80: "Precision@80% Recall", AT_90: "Precision@90% Recall"}
# {category in the paper's tables: category in the release}, if they differ.
RELEASED_NAMES = {
    "Perpetual License": "Irrevocable or Perpetual License",
    "Notice to Terminate Renewal": "Notice Period to Terminate Renewal",
    "Price Restriction": "Price Restrictions",
    "Affiliate IP License-Licensor": "Affiliate License-Licensor",
    "Affiliate IP License-Licensee": "Affiliate License-Licensee",
}
# Figure 2 does not state its bins.  Its axis ends at 200 contracts, which the first bin
# of eight pages just exceeds, and the first bin of ten pages exceeds by far.
BIN = 8
OWN_SHARES = "not trained on this share of the contracts"
ALL_TIED = "all categories have the same area"

Table = Callable[["Results"], list[Cell]]
Span = tuple[int, int]  # characters, half-open


@dataclass(frozen=True)
class Results(Inputs):
    """The inputs, read as CUAD's tables need them; ``rows`` are the systems, with their
    runs.
    """

    @cached_property
    def categories(self) -> list[Row]:
        return list(read(self.data / "categories.parquet"))

    @cached_property
    def contracts(self) -> list[Row]:
        """The contracts without their texts."""
        columns = ["contract_id", "characters", "contract_type", "pages"]
        return list(read(self.data / "contracts.parquet", columns))

    @cached_property
    def spans(self) -> dict[tuple[str, str], list[Span]]:
        """{(contract id, category): the spans of its answers}."""
        columns = ["question_id", "contract_id", "category"]
        questions = {}
        for row in read(self.data / "questions.parquet", columns):
            questions[row["question_id"]] = (row["contract_id"], row["category"])
        spans_of = defaultdict(list)
        columns = ["question_id", "start", "end"]
        for row in read(self.data / "answers.parquet", columns):
            key = questions[row["question_id"]]
            span = (row["start"], row["end"])
            spans_of[key].append(span)
        return dict(spans_of)

    @cached_property
    def training_annotations(self) -> Counter[str]:
        """{training contract: number of its answers in the training file}."""
        counts: Counter[str] = Counter()
        path = self.data / "training_examples.parquet"
        for row in read(path, ["contract_id", "start"]):
            counts[row["contract_id"]] += int(row["start"] >= 0)
        return counts

    def annotations(self, percent: str, seed: int) -> int:
        """The number of answers in the training contracts of a run.

        These are ``percent`` of all training contracts, drawn with the run's seed.
        """
        drawn = part(self.training_annotations, int(percent), seed)
        return sum(self.training_annotations[name] for name in drawn)

    def category(self, printed: str) -> Row | None:
        """The category called ``printed`` in the paper."""
        name = RELEASED_NAMES.get(printed, printed)
        for row in self.categories:
            if same_words(row["title"], name):
                return row
        return None


# The data set


def descriptions(results: Results) -> list[Cell]:
    """Tables 1, 4 and 5: categories and their descriptions as released."""
    columns = {"Category": "title", "Description": "description"}
    cells = []
    for printed in results.published:
        category = results.category(printed.row)
        value = category[columns[printed.column]] if category else None
        cells.append(published_cell(printed, value, "no such category in these data"))
    return cells


def table3(results: Results) -> list[Cell]:
    """Contracts by type."""
    counts = Counter(row["contract_type"] for row in results.contracts)
    counts["Total"] = counts.total()
    cells = []
    for printed in results.published:
        number = float(counts[printed.row])
        cells.append(Cell(printed.row, printed.column, number))
    return cells


def figure2(results: Results) -> list[Cell]:
    """Numbers that the paper's text states about the data set, the pages of a contract,
    and the histogram's bins.
    """
    pages = [row["pages"] for row in results.contracts]
    types = {row["contract_type"] for row in results.contracts}
    clauses = list(read(results.data / "clauses.parquet", ["contract_id"]))
    share, by_category = _labeled_shares(results)
    statements = {
        "Contracts": len(pages),
        "Contract types": len(types),
        "Label categories": len(results.categories),
        "Labeled clauses": len(clauses),
        "Pages": sum(pages),
        "Labeled share of a contract": 100 * share,
        "Share of a contract labeled for one category": 100 * by_category,
    }
    cells = [Cell(row, "Value", float(value)) for row, value in statements.items()]
    answers = sum(map(len, results.spans.values()))
    row = "Answers in the released question files"
    cells += number_cells(row, {"Value": answers}, 0)
    row = "pages a contract"
    means = {"Mean": statistics.fmean(pages), "Median": statistics.median(pages)}
    cells += number_cells(row, means, 1)
    cells += number_cells(row, {"Min": min(pages), "Max": max(pages)}, 0)
    bins = Counter((number - 1) // BIN for number in pages)
    for at in range(max(bins) + 1):
        first = at * BIN + 1
        row = f"{first}-{first + BIN - 1} pages"
        cells += number_cells(row, {"Contracts": bins[at]}, 0)
    return cells


def _labeled_shares(results: Results) -> tuple[float, float]:
    """Return the share of a contract that is labeled for any category, and for a single
    category; means over contracts, and over contracts and categories.
    """
    characters = {row["contract_id"]: row["characters"] for row in results.contracts}
    together: dict[str, list[Span]] = defaultdict(list)
    single = 0.0
    for (contract, _), spans in sorted(results.spans.items()):
        together[contract] += spans
        covered = _covered_characters(spans)
        single += covered / characters[contract]
    shares = []
    for contract, size in characters.items():
        covered = _covered_characters(together[contract])
        shares.append(covered / size)
    pairs = len(characters) * len(results.categories)
    return statistics.fmean(shares), single / pairs


def _covered_characters(spans: Iterable[Span]) -> int:
    """Return how many characters lie in at least one span."""
    covered = last = 0
    for start, end in sorted(spans):
        covered += max(0, end - max(start, last))
        last = max(last, end)
    return covered


# Models


def table2(results: Results) -> list[Cell]:
    """Every model, and its strict score if it differs."""
    cells = []
    for system in results.rows:
        for metric in COLUMNS:
            cells += _score_cells(results, system, metric)
    return cells


def _folders(system: System) -> tuple[str, ...]:
    """Return the runs on all training contracts, one per seed."""
    return runs_of(system, WHOLE)


def _score_cells(
    results: Results, system: System, metric: str, row: str = ""
) -> list[Cell]:
    """Return one score of one system over the test set, and its strict score where it
    differs.
    """
    row = row or system["row"]
    column = COLUMNS[metric]
    score = Score(column, row, metric, "all", "contracts", 100)
    cell = score_cell(
        results,
        system,
        row,
        column,
        score,
        runs=_folders(system),
        # The precision at a recall is not compared: see `metrics.spans_by_contract`.
        compared=metric == AUPR,
        no_runs=OWN_SHARES,
    )
    return [cell, *strict_cells(results, cell, score)]


def _precision_cells(results: Results, system: System, row: str = "") -> list[Cell]:
    """Return the precision at 80 % recall without the strict score."""
    cells = _score_cells(results, system, AT_80, row)
    return [cell for cell in cells if STRICT not in cell.column]


def figure3(results: Results) -> list[Cell]:
    """Precision at 80 % recall as in Table 2, and the curve: the best precision at a
    recall or above.
    """
    cells = []
    for system in results.rows:
        folders = _folders(system)
        curves = [_curve(results.scores[folder]) for folder in folders]
        cells += _precision_cells(results, system)
        cells += curve_cells(system["row"], curves, folders)
    return cells


def _curve(scores: Scores) -> dict[int, float]:
    """Return {recall: precision} in per cent.

    It is the best precision of the thresholds with at least this recall.
    """
    points = []
    for (metric, group), (precision, _) in scores.items():
        if metric == "precision" and not math.isnan(precision):
            recall, _ = scores["recall", group]
            points.append((100 * recall, 100 * precision))
    curve = {}
    for recall in RECALLS:
        precisions = [precision for reached, precision in points if reached >= recall]
        if precisions:
            curve[recall] = max(precisions)
    return curve


def figure4(results: Results) -> list[Cell]:
    """The AUPR by category: ranks of the categories, the values of every row that ran,
    and rank correlations with the published order.

    Published values are the places of the categories in the order of the figure.
    """
    from scipy.stats import spearmanr  # slow to load, and no other table needs it

    cells = _by_category(results, AUPR)
    for system in results.rows:
        folders = _folders(system)
        ranks = _ranks(results, folders)
        if len(ranks) <= 2:
            continue
        row = "rank correlation with the published order"
        column = f"Spearman: {system['row']}"
        if len(set(ranks.values())) == 1:
            cell = Cell(row, column, "undefined", reason=ALL_TIED, runs=folders)
        else:
            order = [cell.number for cell in results.published if cell.row in ranks]
            agreement = float(spearmanr(order, list(ranks.values())).statistic)
            cell = Cell(row, column, agreement, decimals=2, runs=folders)
        cells.append(cell)
    return cells


def figure8(results: Results) -> list[Cell]:
    """Precision at 80 % recall by category, in the order of Figure 4, which Figure 8
    also has.
    """
    return _by_category(results, AT_80)


def _by_category(results: Results, metric: str) -> list[Cell]:
    """Return for each category its rank and the score of every row.

    Ranks are by the AUPR of the model whose order the paper shows.
    """
    ranked_by = results.entry.names["ranked_by"]
    (model,) = (system for system in results.rows if system["row"] == ranked_by)
    model_folders = _folders(model)
    ranks = _ranks(results, model_folders)
    seed_ranks = [_ranks(results, (folder,)) for folder in model_folders]
    cells = []
    for printed in results.published:
        cells.append(_rank_cell(printed, model, ranks, seed_ranks))
        for system in results.rows:
            folders = _folders(system)
            value = _category_score(results, folders, metric, printed.row)
            if folders and value is not None:
                column = f"{COLUMNS[metric]}: {system['row']}"
                cells += number_cells(printed.row, {column: value}, 1, folders)
    return cells


Ranks = dict[str, float]  # {published category: its rank, 1 is the best}


def _rank_cell(
    printed: PublishedCell, model: System, ranks: Ranks, seed_ranks: Sequence[Ranks]
) -> Cell:
    """Return the rank of a category; one that is tied with others has no verdict."""
    folders = _folders(model)
    rank = ranks.get(printed.row)
    place = printed.row, printed.column
    if rank is None:
        missing = "no test clause of this category"
        if not folders:
            missing = model["reason"] or OWN_SHARES
        return Cell(*place, None, reason=missing, runs=folders)
    tied = list(ranks.values()).count(rank) - 1
    if tied:
        others = "category" if tied == 1 else "categories"
        reason = f"no verdict: tied with {tied} other {others}"
        return Cell(*place, f"{rank:g}", runs=folders, judged=False, reason=reason)
    seeds = None
    if model["trained"]:
        seeds = tuple(
            ranks_of_seed.get(printed.row, math.nan) for ranks_of_seed in seed_ranks
        )
    return Cell(*place, rank, runs=folders, seeds=seeds, averages=model["averages"])


def _ranks(results: Results, folders: Sequence[str]) -> Ranks:
    """Return {published category: its rank by the mean AUPR of these runs}, in the
    published order.

    Categories with the same AUPR have the mean of their ranks.
    """
    areas = {}
    for printed in results.published if folders else ():
        value = _category_score(results, folders, AUPR, printed.row)
        if value is not None:
            areas[printed.row] = value
    values = list(areas.values())
    ranks = {}
    for name, value in areas.items():
        better = sum(other > value for other in values)
        equal = values.count(value)
        ranks[name] = better + (equal + 1) / 2
    return ranks


def _category_score(
    results: Results, folders: Sequence[str], metric: str, printed: str
) -> float | None:
    category = results.category(printed)
    group = f"category: {category['category']}" if category else ""
    return results.mean(folders, metric, group)


def figure5(results: Results) -> list[Cell]:
    """Precision at 80 % recall of each model, then two means over each class of models:
    of the published values and of our values.

    Rows of the figure are `<class> / <model>`.  Models that the paper does not have are
    last, under their own names.
    """
    # {class: {model: its published value}}
    classes: dict[str, dict[str, float]] = defaultdict(dict)
    row_of = {}  # {model: its row in the figure}
    for printed in results.published:
        name, _, model = printed.row.partition(" / ")
        assert printed.number is not None  # the figure prints no texts
        classes[name][model] = printed.number
        row_of[model] = printed.row
    systems = {system["row"]: system for system in results.rows}
    column = f"{COLUMNS[AT_80]}: mean of"
    cells = []
    additional = []  # cells of models that the figure does not have
    for row, system in systems.items():
        folders = _folders(system)
        if row in row_of:
            cells += _precision_cells(results, system, row_of[row])
        elif folders:
            cell = Cell(
                row,
                f"{column} ours",
                results.mean(folders, AT_80),
                decimals=1,
                runs=folders,
            )
            additional.append(cell)
    for name, models in classes.items():
        mean = statistics.fmean(models.values())
        cells += number_cells(name, {f"{column} the published values": mean}, 1)
        model_folders = [_folders(systems[model]) for model in models]
        cells.append(_class_mean(results, name, f"{column} ours", model_folders))
    return cells + additional


def _class_mean(
    results: Results, row: str, column: str, of_models: Sequence[tuple[str, ...]]
) -> Cell:
    """Return the mean over the models of a class; ``of_models`` has the runs of each.

    Without runs of all models the cell has no value, but a reason.
    """
    means = [results.mean(folders, AT_80) for folders in of_models if folders]
    values = [mean for mean in means if mean is not None]
    runs = tuple(itertools.chain(*of_models))
    value = None
    reason = ""
    if len(values) == len(of_models):
        value = statistics.fmean(values)
    elif values:
        reason = f"{len(values)} of the {len(of_models)} models of this class ran"
    else:
        reason = "none of this class ran"
    return Cell(row, column, value, reason=reason, decimals=1, runs=runs)


def figure6(results: Results) -> list[Cell]:
    """The AUPR by share of the training contracts, and the number of annotations in
    these contracts.
    """
    cells = []
    published_shares = [_share(cell.row) for cell in results.published]
    for system in results.rows:
        name = system["row"]
        shares = {share for model, share in published_shares if model == name}
        for share in sorted(shares | system["runs"].keys(), key=int):
            row = f"{name} / {share}% of the contracts"
            folders = runs_of(system, share)
            measure = f"{AUPR} of {share}%"
            score = Score(measure, name, AUPR, "all", "contracts", 100)
            # The authors' weights were trained on all contracts; models on smaller
            # shares are trained here.
            trained = system["trained"] or share != WHOLE
            cell = score_cell(
                results,
                system,
                row,
                "AUPR",
                score,
                runs=folders,
                no_runs=OWN_SHARES,
                trained=trained,
            )
            cells.append(cell)
            seeds = [int(folder.rpartition("seed")[2]) for folder in folders] or [0]
            counts = [results.annotations(share, seed) for seed in seeds]
            mean = statistics.fmean(counts)
            cells += number_cells(row, {"Training annotations": mean}, 0)
    return cells


def _share(row: str) -> tuple[str, str]:
    """Return the model and the per cent of the contracts of a row of Figure 6."""
    model, _, share = row.removesuffix("% of the contracts").rpartition(" / ")
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
    return TABLES[table](Results(**vars(inputs)))
