"""The privacy policy corpus's tables: the computed value of each published cell.

Each function takes `Results` and returns cells; `cells` calls the function of a table.  Sections and table
numbers are the paper's.  Coders are interchangeable: the release does not identify them.
"""

import io
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

from lextables.metrics.answers import agreement as agreement_of
from lextables.metrics.answers import alpha, cramers_v
from lextables.papers.privacy.registry import Privacy
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.sources.archives import file_or_only_member
from lextables.sources.records import csv_rows, whole_number
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs
from lextables.tables.scored import score_cell
from lextables.tasks.submitted import text_of

ALL = "All questions"
ALPHA, AGREEMENT = "Krippendorff's alpha", "Agreement (%)"
ONE_ANSWER = (
    "not defined: all coders gave the same answer, or no question has two coders"
)
NOT_IN_PANEL = "not in the panel of models"
NOT_SCORED = "these data have nothing of this kind to score"
LOSS, F1, ACCURACY = "cross entropy", "F1", "accuracy"
MORE = ("cross entropy, unsmoothed", "excess", "log loss", ACCURACY)
WITH_TEXT = "with a text"
MARKING = {"F1": F1, "Recall": "recall", "Accuracy": ACCURACY, "Precision": "precision"}
HIGHER = MARKING.values()
UNITS = "policies"

Table = Callable[["Results"], list[Cell]]
System = Mapping[str, Any]
Answer = frozenset[int]


@dataclass(frozen=True)
class Results(Inputs):
    """The inputs in the form needed by these tables; ``systems`` are the rows of runs."""

    paper: Privacy

    @property
    def systems(self) -> dict[str, System]:
        """{row: system}."""
        return {system["row"]: system for system in self.rows}

    @cached_property
    def sites(self) -> list[Row]:
        return list(read(self.data / "sites.parquet"))

    @cached_property
    def questions(self) -> dict[str, str]:
        """{question id: the published name of its category}, in the order of their names."""
        rows = read(self.data / "questions.parquet", ["question_id", "category"])
        category_of = {
            row["question_id"]: self.paper.categories[row["category"]] for row in rows
        }
        return dict(sorted(category_of.items(), key=lambda item: _order(item[0])))

    @property
    def categories(self) -> list[str]:
        return list(dict.fromkeys(self.questions.values()))

    @cached_property
    def responses(self) -> list[Row]:
        return list(read(self.data / "responses.parquet"))

    @cached_property
    def answers(self) -> dict[str, dict[str, list[Answer]]]:
        """{question: {site: the set of options that each coder chose}}, without empty sets."""
        answers: dict[str, dict[str, list[Answer]]] = {
            name: defaultdict(list) for name in self.questions
        }
        for row in self.responses:
            if row["options"]:
                answers[row["question_id"]][row["site"]].append(
                    frozenset(row["options"])
                )
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
    coders = {row["site"]: row["coders"] for row in results.sites}
    of_site: dict[str, Counter[str]] = {
        "Policies": Counter(site for site, most in coders.items() if most),
        "Paragraphs": Counter(
            {row["site"]: row["paragraphs"] for row in results.sites}
        ),
        "Words": Counter({row["site"]: row["words"] for row in results.sites}),
        "Highlight Annotations": Counter(
            row["site"] for row in read(results.data / "highlights.parquet", ["site"])
        ),
        "Policy Classifications": Counter(row["site"] for row in results.responses),
        "Confidence Scores": Counter(
            row["site"] for row in results.responses if row["confidence"] is not None
        ),
    }
    readers = {row["reader_id"] for row in results.responses}
    totals = {
        "Questions": results.questions,
        "Categories": results.categories,
        "Total Coders": readers,
    }
    cells = [Cell(row, "All", float(len(values))) for row, values in totals.items()]
    for row, counts in of_site.items():
        for column, counted in (
            ("2+ coders", lambda n: n > 1),
            ("1 coder", lambda n: n == 1),
        ):
            value = sum(n for site, n in counts.items() if counted(coders[site]))
            cells.append(Cell(row, column, float(value)))
    policies = sum(row["paragraphs"] > 0 for row in results.sites)
    cells.append(
        Cell("Policies with an available text", "All", float(policies), decimals=0)
    )
    return cells


def table_agreement(results: Results) -> list[Cell]:
    """Krippendorff's alpha and the share of equal answers, by question, by category and over all.

    An answer is the set of options that a coder chose.  A category's alpha is the mean of its questions'.
    """
    alphas = {
        name: alpha(list(units.values())) for name, units in results.answers.items()
    }
    defined = [value for value in alphas.values() if not math.isnan(value)]
    cells = [
        _summary_cell(defined, of, ALL, f"{ALPHA}, {name}", 2)
        for name, of in (("least", min), ("greatest", max), ("mean", statistics.fmean))
    ]
    cells.append(
        _summary_cell(
            _agreements(results, results.questions),
            _per_cent,
            ALL,
            "Absolute agreement",
            0,
        )
    )
    apart = sum(1 - share for share in _agreements(results, results.questions))
    rows = {category: results.of_category(category) for category in results.categories}
    rows |= {question: [question] for question in results.questions}
    for row, questions in {ALL: list(results.questions), **rows}.items():
        values = [alphas[name] for name in questions if not math.isnan(alphas[name])]
        shares = _agreements(results, questions)
        of_all = _part(len(shares) - sum(shares), apart)
        cells += [
            _summary_cell(values, statistics.fmean, row, ALPHA, 2),
            _summary_cell(shares, _per_cent, row, AGREEMENT, 1),
            Cell(row, "Share of all disagreement (%)", 100 * of_all, decimals=1),
            Cell(row, "Answers of two coders or more", float(len(shares)), decimals=0),
        ]
    return cells


def _summary_cell(
    values: Sequence[float], of: Callable, row: str, column: str, decimals: int
) -> Cell:
    """A cell with ``of(values)``; without values, with the reason."""
    value = of(values) if values else None
    return Cell(
        row, column, value, decimals=decimals, reason="" if values else ONE_ANSWER
    )


def _part(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _per_cent(shares: Sequence[float]) -> float:
    return 100 * statistics.fmean(shares)


def _agreements(
    results: Results, questions: Sequence[str] | Mapping[str, Any]
) -> list[float]:
    """The share of equal answers for each question and site with at least two coders."""
    shares = [
        agreement_of(unit)
        for name in questions
        for unit in results.answers[name].values()
    ]
    return [share for share in shares if not math.isnan(share)]


def figure1(results: Results) -> list[Cell]:
    """Documents and words of each site with a policy in these data, by its traffic rank."""
    if results.file is None:
        reason = "config key traffic_ranks is empty"
        return [Cell("All sites", "Documents", None, reason=reason)]
    sites = [row for row in results.sites if row["documents"]]
    rank = traffic_ranks(results.file, [row["site"] for row in sites])
    cells = []
    for row in sorted(
        sites, key=lambda row: (rank.get(row["site"], math.inf), row["site"])
    ):
        values = {
            "Traffic rank": rank.get(row["site"]),
            "Documents": row["documents"],
            "Words": row["words"],
        }
        cells += [
            Cell(row["site"], column, float(value), decimals=0)
            for column, value in values.items()
            if value is not None
        ]
    cells.append(
        Cell("All sites", "Without a rank", float(len(sites) - len(rank)), decimals=0)
    )
    return cells


def traffic_ranks(path: str | Path, sites: Collection[str]) -> dict[str, int]:
    """Return {site: rank} from a list such as Tranco's (Le Pochat et al. 2019): a csv of rank and domain.

    The csv may be packed as zip, as it is downloaded, or as gzip.  A site that is not in the list has the
    rank of its parent domain; other sites are left out.  Raises `BadInput` for a row that is not a rank and a
    domain.
    """
    domains = {domain for site in sites for domain in _domains(site)}
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
    ranks = {
        site: [listed[domain] for domain in _domains(site) if domain in listed]
        for site in sites
    }
    return {site: of_domains[0] for site, of_domains in ranks.items() if of_domains}


def _domains(site: str) -> list[str]:
    """`us.mouthshut.com` and `mouthshut.com`, the longest first; no top-level domains."""
    parts = site.lower().split(".")
    return [".".join(parts[at:]) for at in range(len(parts) - 1)]


def figure3(results: Results) -> list[Cell]:
    """The share of equal answers by the coders' mean confidence (Likert scale), rounded to halves."""
    confidence: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in results.responses:
        if row["confidence"] is not None:
            confidence[row["question_id"], row["site"]].append(
                1 + 4 * row["confidence"]
            )
    shares: dict[float, list[float]] = defaultdict(list)
    for question, units in results.answers.items():
        for site, unit in units.items():
            share, confidences = agreement_of(unit), confidence.get((question, site))
            if confidences and not math.isnan(share):
                shares[math.floor(2 * statistics.fmean(confidences) + 0.5) / 2].append(
                    share
                )
    cells = []
    for mean, of_mean in sorted(shares.items()):
        row = f"Coders / {mean:.1f}"
        cells += [
            Cell(row, AGREEMENT, 100 * statistics.fmean(of_mean), decimals=1),
            Cell(row, "Answers", float(len(of_mean)), decimals=0),
            Cell(row, "Mean confidence", mean, decimals=1),
        ]
    return cells


def figure5(results: Results) -> list[Cell]:
    """Association between the answers to two questions: Cramér's V over the sites.

    A site's answer is the most frequent one of its coders; ties are resolved by order.
    """
    answer = {
        question: {
            site: Counter(unit).most_common(1)[0][0] for site, unit in units.items()
        }
        for question, units in results.answers.items()
    }
    values = {}
    for first, second in combinations(results.questions, 2):
        sites = [site for site in answer[first] if site in answer[second]]
        codes = [
            _coded([answer[name][site] for site in sites]) for name in (first, second)
        ]
        values[first, second] = cramers_v(*codes)
    cells = []
    for at, second in enumerate(results.questions):
        cells += [
            Cell(second, first, values[first, second], decimals=2)
            for first in list(results.questions)[:at]
            if not math.isnan(values[first, second])
        ]
        cells.append(Cell(second, second, 1.0, decimals=2))
    return cells + _means(results, values)


def _coded(answers: Sequence[Answer]) -> list[int]:
    places = {answer: place for place, answer in enumerate(dict.fromkeys(answers))}
    return [places[answer] for answer in answers]


def _means(results: Results, values: Mapping[tuple[str, str], float]) -> list[Cell]:
    """The mean over the pairs of a category's questions, and over all pairs across categories."""
    pooled: dict[str, list[float]] = defaultdict(list)
    for (first, second), value in values.items():
        category = results.questions[first]
        within = category == results.questions[second]
        if not math.isnan(value):
            pooled[
                f"Pairs within {category}" if within else "Pairs across categories"
            ].append(value)
    return [
        Cell(row, column, value, decimals=decimals)
        for row, pairs in sorted(pooled.items())
        for column, value, decimals in (
            ("Mean", statistics.fmean(pairs), 2),
            ("Pairs", float(len(pairs)), 0),
        )
    ]


# Models


def table2(results: Results) -> list[Cell]:
    """Loss of the holistic classification by category, and further scores of our own runs."""
    released = {
        printed: category for category, printed in results.paper.categories.items()
    }
    groups = {
        row: f"category: {released[row]}" if row in released else "all"
        for row in _printed_rows(results)
    }
    cells = _by_group(results, LOSS, groups, decimals=3)
    cells += _by_group(
        results,
        LOSS,
        {"overall, policies with an available text": WITH_TEXT},
        decimals=3,
    )
    for metric in MORE:
        cells += _by_group(results, metric, {f"overall, {metric}": "all"}, decimals=3)
    return cells


def table_b(results: Results) -> list[Cell]:
    """Loss of the holistic classification by question."""
    groups = {name: f"question: {name}" for name in _all_questions(results)}
    return _by_group(results, LOSS, groups, decimals=4)


def _printed_rows(results: Results) -> list[str]:
    return list(dict.fromkeys(cell.row for cell in results.published))


def _all_questions(results: Results) -> list[str]:
    """The questions in the published table or in these data."""
    return sorted({*_printed_rows(results), *results.questions}, key=_order)


def _by_group(
    results: Results, metric: str, groups: Mapping[str, str], decimals: int
) -> list[Cell]:
    """A row per group, {row: group}, and a column per model: the published ones, then additional ones."""
    called = {row: column for column, row in results.entry.names.items()}
    printed = dict.fromkeys(cell.column for cell in results.published)
    columns = {column: results.entry.names.get(column, column) for column in printed}
    columns |= {
        called.get(row, row): row
        for row in results.systems
        if called.get(row, row) not in printed
    }
    printed_cells = {(cell.row, cell.column) for cell in results.published}
    cells = [
        _score(
            results,
            results.systems.get(name),
            row,
            column,
            decimals,
            Score(row, column, metric, group, UNITS, lower=metric != ACCURACY),
        )
        for row, group in groups.items()
        for column, name in columns.items()
    ]
    # An additional row has only cells with a value, unless none of its runs ran.
    idle = {
        column
        for column, name in columns.items()
        if name in results.systems and not results.systems[name]["runs"]
    }
    return [
        cell
        for cell in cells
        if cell.value is not None
        or cell.column in idle
        or (cell.row, cell.column) in printed_cells
    ]


def _score(
    results: Results,
    system: System | None,
    row: str,
    column: str,
    decimals: int,
    score: Score,
) -> Cell:
    """A score of a system; scores of single questions are not compared, and losses have no baseline."""
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
    rows = dict.fromkeys([*_printed_rows(results), *results.systems])
    printed_cells = {(cell.row, cell.column) for cell in results.published}
    cells = [
        _score(
            results,
            results.systems.get(row),
            row,
            column,
            2,
            Score(column, row, metric, "all", UNITS, 100),
        )
        for row in rows
        for column, metric in columns.items()
    ]
    return [
        cell
        for cell in cells
        if cell.value is not None or (cell.row, cell.column) in printed_cells
    ]


def marking_by_question(results: Results) -> list[Cell]:
    """Marking of paragraphs by question: the published model's four scores, and F1 of the others."""
    printed_cells = {(cell.row, cell.column) for cell in results.published}
    printed = results.entry.names["printed"]
    columns = {column: (printed, metric) for column, metric in MARKING.items()}
    columns |= {
        f"F1, {name}": (name, F1) for name in results.systems if name != printed
    }
    cells = [
        _score(
            results,
            results.systems.get(name),
            row,
            column,
            4,
            Score(f"{metric}, {row}", name, metric, f"question: {row}", UNITS),
        )
        for row in _all_questions(results)
        for column, (name, metric) in columns.items()
    ]
    return [
        cell
        for cell in cells
        if cell.value is not None or (cell.row, cell.column) in printed_cells
    ]


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
    return TABLES[table](Results(**vars(inputs) | {"name": table}))
