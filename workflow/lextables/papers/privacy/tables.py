"""The privacy policy corpus's tables: the computed value of each published cell.

Each function takes `Results` and returns cells; `cells` calls the function of a table.
Sections and table numbers are the paper's.  Coders are interchangeable: the release
does not identify them.
"""

import io
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path

from lextables.metrics.answers import agreement as agreement_of
from lextables.metrics.answers import alpha, cramers_v
from lextables.papers.privacy.entry import Privacy
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.sources.archives import file_or_only_member
from lextables.sources.records import csv_rows, whole_number
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs
from lextables.tables.systems import System, number_cells, score_cell
from lextables.tasks.submitted import text_of

ALL = "All questions"
ALPHA = "Krippendorff's alpha"
AGREEMENT = "Agreement (%)"
ONE_ANSWER = (
    "not defined: all coders gave the same answer, or no question has two coders"
)
NOT_IN_PANEL = "not in the panel of models"
NOT_SCORED = "these data have nothing of this kind to score"
LOSS = "cross entropy"
F1 = "F1"
ACCURACY = "accuracy"
# Further measures of the additional rows of Table 2 (metrics.answers).
MORE = ("cross entropy, unsmoothed", "excess", "log loss", ACCURACY)
WITH_TEXT = "with a text"
MARKING = {"F1": F1, "Recall": "recall", "Accuracy": ACCURACY, "Precision": "precision"}
# Measures of which a higher value is better; the others are losses.
HIGHER = MARKING.values()
UNITS = "policies"

Table = Callable[["Results"], list[Cell]]
Answer = frozenset[int]


@dataclass(frozen=True)
class Results(Inputs):
    """The inputs, read as these tables need them; ``rows`` are systems with runs."""

    paper: Privacy

    @property
    def systems(self) -> dict[str, System]:
        """{row: system}."""
        return {system["row"]: system for system in self.rows}

    @property
    def published_places(self) -> set[tuple[str, str]]:
        """(row, column) of each published cell."""
        return {(cell.row, cell.column) for cell in self.published}

    @cached_property
    def sites(self) -> list[Row]:
        return list(read(self.data / "sites.parquet"))

    @cached_property
    def questions(self) -> dict[str, str]:
        """{question id: the published name of its category}, in the order of their
        names.
        """
        category_of = {}
        for row in read(self.data / "questions.parquet", ["question_id", "category"]):
            category_of[row["question_id"]] = self.paper.categories[row["category"]]
        return {name: category_of[name] for name in sorted(category_of, key=_order)}

    @property
    def categories(self) -> list[str]:
        return list(dict.fromkeys(self.questions.values()))

    @cached_property
    def responses(self) -> list[Row]:
        return list(read(self.data / "responses.parquet"))

    @cached_property
    def answers(self) -> dict[str, dict[str, list[Answer]]]:
        """{question: {site: the set of options that each coder chose}}, without empty
        sets.
        """
        answers: dict[str, dict[str, list[Answer]]] = {
            name: defaultdict(list) for name in self.questions
        }
        for row in self.responses:
            if row["options"]:
                options = frozenset(row["options"])
                answers[row["question_id"]][row["site"]].append(options)
        return answers

    def of_category(self, category: str) -> list[str]:
        """The questions of a category."""
        return [name for name, its in self.questions.items() if its == category]


def _order(question: str) -> tuple[str, int]:
    """Sort key with CCPA-2 before CCPA-10."""
    category, _, number = question.rpartition("-")
    return category, int(number)


# The corpus


def table1(results: Results) -> list[Cell]:
    """Counts by the number of coders of a policy."""
    highlights: Counter[str] = Counter()
    for highlight in read(results.data / "highlights.parquet", ["site"]):
        highlights[highlight["site"]] += 1
    responses: Counter[str] = Counter()
    with_confidence: Counter[str] = Counter()
    for row in results.responses:
        responses[row["site"]] += 1
        if row["confidence"] is not None:
            with_confidence[row["site"]] += 1
    readers = {row["reader_id"] for row in results.responses}
    totals = {
        "Questions": len(results.questions),
        "Categories": len(results.categories),
        "Total Coders": len(readers),
    }
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for site in results.sites:
        if not site["coders"]:
            continue
        column = "1 coder" if site["coders"] == 1 else "2+ coders"
        counts["Policies"][column] += 1
        counts["Paragraphs"][column] += site["paragraphs"]
        counts["Words"][column] += site["words"]
        counts["Highlight Annotations"][column] += highlights[site["site"]]
        counts["Policy Classifications"][column] += responses[site["site"]]
        counts["Confidence Scores"][column] += with_confidence[site["site"]]
    cells = []
    for name, number in totals.items():
        cells.append(Cell(name, "All", float(number)))
    for name, numbers in counts.items():
        for column in ("2+ coders", "1 coder"):
            cells.append(Cell(name, column, float(numbers[column])))
    policies = sum(row["paragraphs"] > 0 for row in results.sites)
    name = "Policies with an available text"
    return cells + number_cells(name, {"All": policies}, 0)


def table_agreement(results: Results) -> list[Cell]:
    """Krippendorff's alpha and the share of equal answers, by question, by category and
    over all questions.

    An answer is the set of options that a coder chose.  The alpha of a category is the
    mean over its questions.
    """
    alphas = {}
    for name, units in results.answers.items():
        value = alpha(list(units.values()))
        if not math.isnan(value):
            alphas[name] = value
    cells = []
    summaries: dict[str, Callable[[Sequence[float]], float]] = {
        "least": min,
        "greatest": max,
        "mean": statistics.fmean,
    }
    values = list(alphas.values())
    for name, summary in summaries.items():
        cells.append(_summary_cell(values, summary, ALL, f"{ALPHA}, {name}", 2))
    all_shares = _agreements(results, results.questions)
    disagreement = sum(1 - share for share in all_shares)
    cells.append(_summary_cell(all_shares, _per_cent, ALL, "Absolute agreement", 0))
    rows = {ALL: list(results.questions)}
    for category in results.categories:
        rows[category] = results.of_category(category)
    for question in results.questions:
        rows[question] = [question]
    for row, questions in rows.items():
        values = [alphas[name] for name in questions if name in alphas]
        shares = _agreements(results, questions)
        part = _part(len(shares) - sum(shares), disagreement)
        cells += [
            _summary_cell(values, statistics.fmean, row, ALPHA, 2),
            _summary_cell(shares, _per_cent, row, AGREEMENT, 1),
            Cell(row, "Share of all disagreement (%)", 100 * part, decimals=1),
            Cell(row, "Answers of two coders or more", float(len(shares)), decimals=0),
        ]
    return cells


def _summary_cell(
    values: Sequence[float], summary: Callable, row: str, column: str, decimals: int
) -> Cell:
    """Return a cell with ``summary(values)``; without values, with the reason."""
    if not values:
        return Cell(row, column, None, decimals=decimals, reason=ONE_ANSWER)
    return Cell(row, column, summary(values), decimals=decimals)


def _part(part: float, whole: float) -> float:
    """Return ``part`` as a share of ``whole``; 0 if the whole is 0."""
    return part / whole if whole else 0.0


def _per_cent(shares: Sequence[float]) -> float:
    return 100 * statistics.fmean(shares)


def _agreements(results: Results, questions: Iterable[str]) -> list[float]:
    """Return the share of equal answers for each question and site with at least two
    coders.
    """
    shares = []
    for name in questions:
        for unit in results.answers[name].values():
            share = agreement_of(unit)
            if not math.isnan(share):
                shares.append(share)
    return shares


def figure1(results: Results) -> list[Cell]:
    """Documents and words of each site with a policy in these data, by its traffic
    rank.
    """
    if results.file is None:
        reason = "config key traffic_ranks is empty"
        return [Cell("All sites", "Documents", None, reason=reason)]
    sites = [row for row in results.sites if row["documents"]]
    rank = traffic_ranks(results.file, [row["site"] for row in sites])
    sites.sort(key=lambda row: (rank.get(row["site"], math.inf), row["site"]))
    cells = []
    for row in sites:
        values = {"Documents": row["documents"], "Words": row["words"]}
        if row["site"] in rank:
            values = {"Traffic rank": rank[row["site"]], **values}
        cells += number_cells(row["site"], values, 0)
    without = {"Without a rank": len(sites) - len(rank)}
    return cells + number_cells("All sites", without, 0)


def traffic_ranks(path: str | Path, sites: Collection[str]) -> dict[str, int]:
    """Return {site: rank} from a list such as Tranco's (Le Pochat et al. 2019): a csv
    of rank and domain.

    The csv may be packed as zip, as it is downloaded, or as gzip.  A site that is not
    in the list has the rank of its parent domain; other sites are left out.  Raises
    `BadInput` for a row that is not a rank and a domain.
    """
    domains: set[str] = set()
    for site in sites:
        domains.update(_domains(site))
    listed: dict[str, int] = {}
    name = Path(path).name
    content = text_of(file_or_only_member(Path(path), ".csv"), name)
    for where, cells in csv_rows(io.BytesIO(content.encode()), name):
        rank = whole_number(cells[0])
        if len(cells) != 2 or not rank:
            do = "write a rank and a domain in each row, without header, as in Tranco's list"
            raise BadInput(
                f"{','.join(cells)!r:.60} is not a rank and a domain",
                where=where,
                do=do,
            )
        domain = cells[1].strip().lower()
        if domain in domains:
            listed.setdefault(domain, rank)
    ranks = {}
    for site in sites:
        ranked = [domain for domain in _domains(site) if domain in listed]
        if ranked:
            ranks[site] = listed[ranked[0]]
    return ranks


def _domains(site: str) -> list[str]:
    """Return a site and its parent domains without the top-level domain, the longest
    first: `us.mouthshut.com` and `mouthshut.com`.
    """
    parts = site.lower().split(".")
    return [".".join(parts[at:]) for at in range(len(parts) - 1)]


def figure3(results: Results) -> list[Cell]:
    """The share of equal answers by the coders' mean confidence (Likert scale), rounded
    to halves: a row `Coders / <mean>` for each.
    """
    confidences: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in results.responses:
        if row["confidence"] is not None:
            key = row["question_id"], row["site"]
            confidences[key].append(1 + 4 * row["confidence"])
    shares: dict[float, list[float]] = defaultdict(list)
    for question, units in results.answers.items():
        for site, unit in units.items():
            share = agreement_of(unit)
            marks = confidences.get((question, site))
            if marks and not math.isnan(share):
                mean = math.floor(2 * statistics.fmean(marks) + 0.5) / 2
                shares[mean].append(share)
    cells = []
    for mean, mean_shares in sorted(shares.items()):
        name = f"Coders / {mean:.1f}"
        cells += [
            Cell(name, AGREEMENT, 100 * statistics.fmean(mean_shares), decimals=1),
            Cell(name, "Answers", float(len(mean_shares)), decimals=0),
            Cell(name, "Mean confidence", mean, decimals=1),
        ]
    return cells


def figure5(results: Results) -> list[Cell]:
    """Association between the answers to two questions: Cramér's V over the sites.

    A site's answer is the most frequent answer of its coders; of equally frequent ones
    the first in the data.
    """
    answer: dict[str, dict[str, Answer]] = {}
    for question, units in results.answers.items():
        answer[question] = {}
        for site, unit in units.items():
            ((most_frequent, _),) = Counter(unit).most_common(1)
            answer[question][site] = most_frequent
    values = {}
    for first, second in combinations(results.questions, 2):
        firsts = []
        seconds = []
        for site in answer[first]:
            if site in answer[second]:
                firsts.append(answer[first][site])
                seconds.append(answer[second][site])
        values[first, second] = cramers_v(_coded(firsts), _coded(seconds))
    cells = []
    for second in results.questions:
        for first in results.questions:
            value = 1.0 if first == second else values.get((first, second), math.nan)
            if not math.isnan(value):
                cells.append(Cell(second, first, value, decimals=2))
    return cells + _means(results, values)


def _coded(answers: Sequence[Answer]) -> list[int]:
    """Return each answer as a number: its place among the different answers."""
    different = list(dict.fromkeys(answers))
    return [different.index(answer) for answer in answers]


def _means(results: Results, values: Mapping[tuple[str, str], float]) -> list[Cell]:
    """Return the mean over the pairs of a category's questions, and over all pairs
    across categories.
    """
    pooled: dict[str, list[float]] = defaultdict(list)
    for (first, second), value in values.items():
        row = "Pairs across categories"
        if results.questions[first] == results.questions[second]:
            row = f"Pairs within {results.questions[first]}"
        if not math.isnan(value):
            pooled[row].append(value)
    cells = []
    for row, pairs in sorted(pooled.items()):
        cells.append(Cell(row, "Mean", statistics.fmean(pairs), decimals=2))
        cells.append(Cell(row, "Pairs", float(len(pairs)), decimals=0))
    return cells


# Models


def table2(results: Results) -> list[Cell]:
    """Loss of the holistic classification, which predicts the distribution of the
    coders' answers, by category; and further scores of our own runs.
    """
    groups = dict.fromkeys(results.published_rows, "all")
    for category, printed in results.paper.categories.items():
        if printed in groups:
            groups[printed] = f"category: {category}"
    cells = _by_group(results, LOSS, groups, decimals=3)
    with_text = {"overall, policies with an available text": WITH_TEXT}
    cells += _by_group(results, LOSS, with_text, decimals=3)
    for metric in MORE:
        overall = {f"overall, {metric}": "all"}
        cells += _by_group(results, metric, overall, decimals=3)
    return cells


def table_b(results: Results) -> list[Cell]:
    """Loss of the holistic classification by question."""
    groups = {name: f"question: {name}" for name in _all_questions(results)}
    return _by_group(results, LOSS, groups, decimals=4)


def _all_questions(results: Results) -> list[str]:
    """The questions in the published table or in these data."""
    names = {*results.published_rows, *results.questions}
    return sorted(names, key=_order)


def _by_group(
    results: Results, metric: str, groups: Mapping[str, str], decimals: int
) -> list[Cell]:
    """Return a row per group, {row: group}, and a column per model.

    Published models come first, then additional ones.
    """
    # {printed column: row of a system}, where they differ.
    system_row_of = results.entry.names
    column_of = {row: column for column, row in system_row_of.items()}
    columns = {}  # {column: row of its system}
    for printed in results.published:
        columns[printed.column] = system_row_of.get(printed.column, printed.column)
    for system_row in results.systems:
        column = column_of.get(system_row, system_row)
        columns.setdefault(column, system_row)
    cells = []
    for row, group in groups.items():
        for column, system_row in columns.items():
            score = Score(row, column, metric, group, UNITS, lower=metric != ACCURACY)
            system = results.systems.get(system_row)
            cell = _score(results, system, row, column, decimals, score)
            # An additional row has only cells with a value, unless none of its runs
            # ran.
            is_idle = system is not None and not system["runs"]
            if is_idle or _is_shown(results, cell):
                cells.append(cell)
    return cells


def _is_shown(results: Results, cell: Cell) -> bool:
    """Whether a cell has a value or is a published one."""
    return cell.value is not None or (cell.row, cell.column) in results.published_places


def _score(
    results: Results,
    system: System | None,
    row: str,
    column: str,
    decimals: int,
    score: Score,
) -> Cell:
    """Return a score of a system.

    Scores of single questions are not compared.  Losses have no measure and no
    baseline, so that no published loss is marked as reached by a baseline.
    """
    if system is None:
        return Cell(row, column, None, reason=NOT_IN_PANEL)
    cell = score_cell(
        results,
        system,
        row,
        column,
        score,
        decimals=decimals,
        missing=NOT_SCORED,
        no_runs=NOT_SCORED,
        compared=not score.group.startswith("question: "),
    )
    return cell if score.metric in HIGHER else replace(cell, measure="", baseline="")


def table3(results: Results) -> list[Cell]:
    """Marking of paragraphs, over all questions."""
    columns = {"acc.": ACCURACY, "recall": "recall", "f1": F1, "precision": "precision"}
    cells = []
    for row in dict.fromkeys([*results.published_rows, *results.systems]):
        for column, metric in columns.items():
            score = Score(column, row, metric, "all", UNITS, 100)
            cell = _score(results, results.systems.get(row), row, column, 2, score)
            if _is_shown(results, cell):
                cells.append(cell)
    return cells


def marking_by_question(results: Results) -> list[Cell]:
    """Marking of paragraphs by question: the published model's four scores, and F1 of
    the others.
    """
    printed = results.entry.names["printed"]
    columns = {column: (printed, metric) for column, metric in MARKING.items()}
    for name in results.systems:
        if name != printed:
            columns[f"F1, {name}"] = (name, F1)
    cells = []
    for row in _all_questions(results):
        for column, (name, metric) in columns.items():
            score = Score(f"{metric}, {row}", name, metric, f"question: {row}", UNITS)
            system = results.systems.get(name)
            cell = _score(results, system, row, column, 4, score)
            if _is_shown(results, cell):
                cells.append(cell)
    return cells


TABLES: dict[str, Table] = {
    "table1": table1,
    "table2": table2,
    "table3": table3,
    "table_b": table_b,
    "table_c1": marking_by_question,
    "table_c2": marking_by_question,
    "table_agreement": table_agreement,
    "figure1": figure1,
    "figure3": figure3,
    "figure5": figure5,
}


def cells(table: str, inputs: Inputs) -> list[Cell]:
    """Return the computed cells of ``table``."""
    return TABLES[table](Results(**vars(inputs)))
