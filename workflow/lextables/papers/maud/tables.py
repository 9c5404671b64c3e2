"""MAUD's tables: the computed value of each published cell.

Each function takes `Results` and returns cells; `cells` calls the function of a table, and
`lextables.tables.cells.build` joins its result with the published cells.  Sections and table
numbers are the paper's.
"""

import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lextables.metrics import STRICT
from lextables.metrics.minority_aupr import scores_and_jackknives
from lextables.models.token_count import SPECIALS, TokenCounter
from lextables.papers.maud.registry import Maud
from lextables.pipeline.dataset import Row, read
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs, Scores, by_name, record, training
from lextables.tables.scored import score_cell

AUPR, RANDOM = "AUPR", "random AUPR"
WHOLE = "100"  # per cent of the training examples
OVERALL = "Overall"
EXTRACTION = "maud_extraction"
DATA_TYPES = {
    "Main Dataset": "main",
    "Rare Answers Dataset": "rare",
    "Abridged Dataset": "abridged",
}
LONG = 512  # tokens of roberta-base (Table 9)
CURVE = range(5, 101, 5)  # per cent recall
NOT_TRAINED = "not trained on this share of the training examples"
NOT_SCORED = "no test example of it can be scored in these data"

Table = Callable[["Results"], list[Cell]]
System = Mapping[str, Any]


@dataclass(frozen=True)
class Results(Inputs):
    """The inputs, read as MAUD's tables need them; ``rows`` are systems with runs."""

    paper: Maud

    @cached_property
    def examples(self) -> list[Row]:
        columns = [
            "example_id",
            "split",
            "data_type",
            "contract",
            "head_id",
            "question",
            "category",
        ]
        return list(
            read(self.data / "examples.parquet", [*columns, "label", "text_id"])
        )

    @cached_property
    def heads(self) -> list[Row]:
        return list(read(self.data / "questions.parquet"))

    @cached_property
    def spans(self) -> Counter[tuple[str, str]]:
        """{(deal point type, split): number of spans} of the extraction task, 0 for questions only."""
        data = self.data.parent / EXTRACTION
        questions = read(
            data / "questions.parquet", ["question_id", "category", "split", "answers"]
        )
        counts: Counter[tuple[str, str]] = Counter()
        for row in questions:
            counts[row["category"], row["split"]] += row["answers"]
        return counts

    @cached_property
    def random_scores(self) -> Scores:
        """The expected values of random scores, over the heads of the first run, or of all data."""
        ran = [folder for system in self.rows for folder in _folders(system)]
        if ran:
            return self.scores[ran[0]]
        tested = [row for row in self.examples if row["split"] == "test"]
        answers = {head["head_id"]: len(head["answers"]) for head in self.heads}
        # The share of the minority side needs no model.
        blank = [
            {key: row[key] for key in ("head_id", "example_id")}
            | {"logits": [0.0] * answers[row["head_id"]]}
            for row in tested
        ]
        return by_name(
            scores_and_jackknives(blank, tested, self.heads, partial=True)[0]
        )


def _folders(system: System) -> tuple[str, ...]:
    """The runs on all training examples, one per seed."""
    return tuple(system["runs"].get(WHOLE, ()))


# The data set


def table1(results: Results) -> list[Cell]:
    """Examples by category and data type."""
    counts = Counter((row["category"], row["data_type"]) for row in results.examples)

    def count(row: str, column: str) -> float:
        category, data_type = (
            None if row == "All Categories" else row,
            DATA_TYPES.get(column),
        )
        return float(
            sum(
                n
                for (c, d), n in counts.items()
                if category in (None, c) and data_type in (None, d)
            )
        )

    return [
        Cell(cell.row, cell.column, count(cell.row, cell.column))
        for cell in results.published
    ]


def table2(results: Results) -> list[Cell]:
    """Examples by split and data type, and contracts and texts in more than one split."""
    counts = Counter((row["data_type"], row["split"]) for row in results.examples)

    def count(row: str, column: str) -> float:
        return float(
            sum(
                n
                for (d, s), n in counts.items()
                if row in ("overall", d) and column in ("overall", s)
            )
        )

    cells = [
        Cell(cell.row, cell.column, count(cell.row, cell.column))
        for cell in results.published
    ]
    overlap = list(read(results.data / "split_overlap.parquet"))
    for kind in ("contract", "text"):
        rows = [row for row in overlap if row["kind"] == kind]
        for column, number in (
            ("In more than one split", len(rows)),
            (
                "In test and in train or dev",
                sum(row["test"] > 0 and row["train"] + row["dev"] > 0 for row in rows),
            ),
            (
                "In more than one split for one and the same head",
                sum(row["heads"] > 0 for row in rows),
            ),
        ):
            cells.append(Cell(f"{kind}s", column, float(number), decimals=0))
    return cells


def table9(results: Results) -> list[Cell]:
    """Questions per category, and the share of examples with a long text, with and without special tokens."""
    counter = TokenCounter()
    tokens = {
        row["text_id"]: counter.tokens(row["text"])
        for row in read(results.data / "texts.parquet", ["text_id", "text"])
    }
    lengths: dict[str, list[int]] = defaultdict(list)
    questions: dict[str, set[str]] = defaultdict(set)
    for row in results.examples:
        for category in (row["category"], "All Categories"):
            lengths[category].append(tokens[row["text_id"]])
            questions[category].add(row["question"])
    listed: dict[str, set[str]] = defaultdict(set)
    for head in results.heads:
        for category in (head["category"], "All Categories"):
            listed[category].add(head["question"])

    def long_texts(row: str, of: Sequence[int]) -> Iterator[Cell]:
        column = "Percent Long Texts"
        if not of:
            yield Cell(
                row, column, None, reason="no example of this category in these data"
            )
            return
        for name, more in (
            (column, SPECIALS),
            (f"{column}, special tokens not counted", 0),
        ):
            yield Cell(
                row,
                name,
                100 * statistics.fmean(n + more > LONG for n in of),
                decimals=1,
            )

    cells = []
    for row in dict.fromkeys(cell.row for cell in results.published):
        cells.append(Cell(row, "Deal Point Questions", float(len(listed[row]))))
        cells.append(
            Cell(
                row,
                "Questions with examples in these data",
                float(len(questions[row])),
                decimals=0,
            )
        )
        cells += long_texts(row, lengths[row])
    cells += long_texts(
        "All Categories, each different text once", list(tokens.values())
    )
    return cells


# Models by category


def table3(results: Results) -> list[Cell]:
    """Single-task AUPR by category, and the number of questions in each model's overall score."""
    return _by_category(results, AUPR) + _trained(results)


def table4(results: Results) -> list[Cell]:
    """Multi-task AUPR by category, and the number of questions in each model's overall score."""
    return _by_category(results, AUPR) + _trained(results)


def table7(results: Results) -> list[Cell]:
    """Micro-averaged F1 of multi-task models by category."""
    return _by_category(results, "micro F1")


def table8(results: Results) -> list[Cell]:
    """Macro-averaged F1 of multi-task models by category."""
    return _by_category(results, "macro F1")


def _by_category(results: Results, metric: str) -> list[Cell]:
    names = {
        printed: category for category, printed in results.paper.categories.items()
    }
    rows = dict.fromkeys(cell.row for cell in results.published)
    groups = {
        row: "all" if row == OVERALL else f"category: {names[row]}" for row in rows
    }
    return _score_cells(
        results,
        metric,
        groups,
        "no question of this category can be scored in these data",
    )


def _score_cells(
    results: Results, metric: str, groups: Mapping[str, str], missing: str
) -> list[Cell]:
    """One row per group, {row: group}; the published columns first, then those of other models."""
    systems = {system["row"]: system for system in results.rows}
    columns = dict.fromkeys([*(cell.column for cell in results.published), *systems])
    return [
        _random(results, metric, row, group, missing)
        if column == "Random"
        else _score(results, metric, row, column, group, systems.get(column), missing)
        for row, group in groups.items()
        for column in columns
    ]


def _random(results: Results, metric: str, row: str, group: str, missing: str) -> Cell:
    """The expected values of random scores, computed exactly; a baseline of every table."""
    value, _ = results.random_scores.get(
        (metric.replace(AUPR, RANDOM), group), (math.nan, 0)
    )
    if math.isnan(value):
        return Cell(row, "Random", None, reason=missing, measure=row)
    return Cell(row, "Random", 100 * value, decimals=1, measure=row, baseline="Random")


def _score(
    results: Results,
    metric: str,
    row: str,
    column: str,
    group: str,
    system: System | None,
    missing: str,
) -> Cell:
    """A score of a system; systems are compared by row."""
    if system is None:
        return Cell(row, column, None, reason="not in the panel of models", measure=row)
    by_category = group.startswith("category: ") and results.entry.of != EXTRACTION
    return score_cell(
        results,
        system,
        row,
        column,
        Score(row, column, metric, group, "contracts", 100),
        runs=_folders(system),
        decimals=1,
        compared=group == "all" or by_category,
        missing=missing,
        no_runs=NOT_TRAINED,
    )


def _trained(results: Results) -> list[Cell]:
    """A row per model that ran: the numbers in its overall score, and the range of its runs."""
    cells = []
    for system in results.rows:
        if folders := _folders(system):
            first = results.scores[folders[0]]
            values = {
                "Questions scored": float(first[AUPR, "all"][1]),
                "Answers left out": first["answers left out", "all"][0],
                "Overall, minimum to maximum of runs": _range_text(
                    results.values(folders, AUPR)
                ),
            }
            cells += [
                Cell(system["row"], column, value, decimals=0, runs=folders)
                for column, value in values.items()
                if value != ""
            ]
    return cells


def _range_text(values: Sequence[float]) -> str:
    return (
        f"{min(values):.1f} to {max(values):.1f}"
        if len(values) > 1 and not math.isnan(sum(values))
        else ""
    )


def table6(results: Results) -> list[Cell]:
    """AUPR over abridged and over main examples: over the released code's heads, and over the text's."""
    groups = {
        row: f"data type: {row.lower()}"
        for row in dict.fromkeys(cell.row for cell in results.published)
    }
    missing = "no head with every answer among the abridged test examples can be scored in these data"
    cells = _score_cells(results, AUPR, groups, missing)
    strict = {row + STRICT: group for row, group in groups.items()}
    read_strictly = _score_cells(results, AUPR + STRICT, strict, NOT_SCORED)
    cells += [cell for cell in read_strictly if cell.value is not None]
    for row, suffix in (
        ("Heads of which every answer is among the abridged test examples", ""),
        ("All heads of questions with abridged test examples (strict)", STRICT),
    ):
        _, questions = results.random_scores[RANDOM + suffix, "data type: abridged"]
        cells.append(Cell(row, "Questions", float(questions), decimals=0))
    return cells


# Figures


def figure2(results: Results) -> list[Cell]:
    """The averaged curve of every multi-task model, and the area under it."""
    cells = []
    for system in results.rows:
        row, folders = system["row"], _folders(system)
        cell = _score(results, AUPR, row, AUPR, "all", system, NOT_SCORED)
        cells.append(replace(cell, score=replace(cell.score, measure=AUPR, system=row)))
        curves = [_curve(results.scores[folder]) for folder in folders]
        for recall in CURVE if curves and all(curves) else ():
            value = statistics.fmean(curve[recall] for curve in curves)
            cells.append(
                Cell(
                    row,
                    f"Precision at {recall}% recall",
                    value,
                    decimals=1,
                    runs=folders,
                )
            )
    return cells


def _curve(scores: Scores) -> dict[int, float]:
    """{recall: precision} in per cent, from a stepwise curve: the precision of the next higher recall."""
    points = sorted(
        (100 * float(group.removeprefix("recall: ")), 100 * value)
        for (metric, group), (value, _) in scores.items()
        if metric == "precision" and not math.isnan(value)
    )
    # Recalls are written with nine decimals.
    return (
        {at: next(y for x, y in points if x > at - 1e-6) for at in CURVE}
        if points
        else {}
    )


def figure3(results: Results) -> list[Cell]:
    """AUPR by share of the training examples, and the differences to all examples that the text reports."""
    cells = []
    (row,) = dict.fromkeys(cell.row for cell in results.published)
    shares = {
        re.fullmatch(r"(\d+)% .+", cell.column)[1]: cell.column
        for cell in results.published
    }
    for system in results.rows:
        runs = system["runs"]
        printed = system["row"] == results.entry.names["printed"]
        for share, column in shares.items():
            scores = [
                results.values(runs[part], AUPR)
                for part in (WHOLE, share)
                if runs.get(part)
            ]
            if len(scores) == 2 and not math.isnan(sum(map(sum, scores))):
                folders = (*runs[WHOLE], *runs[share])
                name = row if printed else f"{row}: {system['row']}"
                of_all, of_share = map(statistics.fmean, scores)
                # The shares are sampled and trained with the same seeds.
                seeds = tuple(
                    of_whole - of_part
                    for of_whole, of_part in zip(*scores, strict=True)
                )
                cells.append(
                    Cell(
                        name,
                        column,
                        of_all - of_share,
                        decimals=1,
                        runs=folders,
                        seeds=seeds,
                        averages=system["averages"],
                    )
                )
            elif printed:
                cells.append(
                    Cell(row, column, None, reason=system["reason"] or NOT_TRAINED)
                )
    for system in results.rows:
        for share, folders in sorted(
            system["runs"].items(), key=lambda item: int(item[0])
        ):
            of_share, value = (
                f"{system['row']} / {share}% of the training examples",
                results.mean(folders, AUPR),
            )
            if value is not None:
                low, high = results.interval(folders, AUPR)
                size = statistics.fmean(
                    training(record(results.root, folder))["training_examples"]
                    for folder in folders
                )
                cells.append(
                    Cell(
                        of_share,
                        AUPR,
                        value,
                        low,
                        high,
                        decimals=1,
                        runs=tuple(folders),
                    )
                )
                cells.append(
                    Cell(
                        of_share,
                        "Training examples",
                        size,
                        decimals=0,
                        runs=tuple(folders),
                    )
                )
    return cells


# The extraction task


def table12(results: Results) -> list[Cell]:
    """Spans by deal point type and split, and the AUPR of every model."""
    spans = results.spans
    blanks = {" ".join(text_type.split()): text_type for text_type, _ in spans}
    systems = {f"{system['row']} (AUPR)": system for system in results.rows}
    columns = dict.fromkeys([*(cell.column for cell in results.published), *systems])
    cells = []
    for row in dict.fromkeys(cell.row for cell in results.published):
        released = results.paper.printed_types.get(row, row)
        text_type = blanks.get(" ".join(released.split()))
        for column in columns:
            if row != OVERALL and text_type is None:
                cell = Cell(
                    row,
                    column,
                    None,
                    reason="these data have no question about this type",
                )
            elif column in ("Train", "Dev", "Test"):
                split = column.lower()
                number = sum(
                    n
                    for (t, s), n in spans.items()
                    if s == split and text_type in (None, t)
                )
                cell = Cell(row, column, float(number))
            else:
                group = "all" if row == OVERALL else f"category: {text_type}"
                missing = "no test span of this type in these data"
                cell = _score(
                    results, AUPR, row, column, group, systems.get(column), missing
                )
            cells.append(cell)
    return cells + _extracted(results)


def _extracted(results: Results) -> list[Cell]:
    """One row per model that ran: its overall score as the text defines it."""
    cells = []
    for system in results.rows:
        folders = _folders(system)
        strict = results.mean(folders, AUPR + STRICT)
        if strict is not None:
            cells.append(
                Cell(
                    system["row"],
                    "Overall AUPR, strict",
                    strict,
                    decimals=1,
                    runs=folders,
                )
            )
    return cells


# an additional table


def table_validation(results: Results) -> list[Cell]:
    """AUPR by question: the authors' on their dev split, and ours on the test split of these data."""
    tested = Counter(
        row["question"] for row in results.examples if row["split"] == "test"
    )
    questions = [
        name
        for name in dict.fromkeys(head["question"] for head in results.heads)
        if tested[name]
    ]
    authors = _authors(results)
    random = {
        name: 100
        * results.random_scores.get((RANDOM, f"question: {name}"), (math.nan, 0))[0]
        for name in questions
    }
    cells = []
    for name in questions:
        cells.append(Cell(name, "Test examples here", float(tested[name]), decimals=0))
        for column, values in (*authors.items(), ("Random, our test", random)):
            value = values.get(name, math.nan)
            if not math.isnan(value):
                cells.append(Cell(name, column, value, decimals=1))
        cells += [
            cell
            for system in results.rows
            for cell in _of_question(results, system, name)
        ]
    return cells + _means(results, cells)


def _authors(results: Results) -> dict[str, dict[str, float]]:
    """{column: {question: validation AUPR}} in per cent, heads averaged into their question."""
    question = {head["head_id"]: head["question"] for head in results.heads}
    rows = {
        panel.published: panel.row
        for panel in results.paper.tasks["maud"].models.values()
        if panel.published
    }
    aupr_of: dict[str, dict[str, list[float]]] = {
        model: defaultdict(list) for model in rows
    }
    for row in read(results.data / "hyperparameters.parquet"):
        if row["model"] in rows and row["share"] == 1:
            aupr_of[row["model"]][question[row["head_id"]]].append(
                100 * row["validation_aupr"]
            )
    return {
        f"{rows[model]} (authors, dev)": {
            name: statistics.fmean(values) for name, values in by_question.items()
        }
        for model, by_question in aupr_of.items()
    }


def _column(system: System) -> str:
    setting = f", {system['setting']}-task" if "setting" in system else ""
    return f"{system['row']}{setting} (ours, test)"


def _of_question(results: Results, system: System, name: str) -> Iterator[Cell]:
    column, group = _column(system), f"question: {name}"
    yield _score(results, AUPR, name, column, group, system, NOT_SCORED)
    folders = _folders(system)
    if spread := _range_text(results.values(folders, AUPR, group)):
        yield Cell(name, f"{column}, minimum to maximum of runs", spread, runs=folders)


def _means(results: Results, cells: Sequence[Cell]) -> list[Cell]:
    """The mean of each column; with the interval of the overall score if the mean is that score."""
    row, values_of = "Mean of these questions", defaultdict(list)
    for cell in cells:
        if isinstance(cell.value, float) and cell.column != "Test examples here":
            values_of[cell.column].append(cell.value)
    systems = {_column(system): _folders(system) for system in results.rows}
    means = []
    for column, values in values_of.items():
        mean, folders, ends = (
            statistics.fmean(values),
            systems.get(column, ()),
            (None, None),
        )
        if folders and math.isclose(mean, results.mean(folders, AUPR), rel_tol=1e-9):
            ends = results.interval(folders, AUPR)
        means.append(Cell(row, column, mean, *ends, decimals=1, runs=folders))
    return means


TABLES: dict[str, Table] = {
    "table1": table1,
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "table6": table6,
    "table7": table7,
    "table8": table8,
    "table9": table9,
    "table12": table12,
    "table_validation": table_validation,
    "figure2": figure2,
    "figure3": figure3,
}


def cells(table: str, inputs: Inputs) -> list[Cell]:
    """Return the computed cells of ``table``."""
    return TABLES[table](Results(**vars(inputs) | {"name": table}))
