"""MAUD's tables: the computed value of each published cell.

Each function takes `Results` and returns cells; `cells` calls the function of a table,
and `lextables.tables.cells.build` joins its result with the published cells.  Sections
and table numbers are the paper's.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from lextables.metrics import STRICT
from lextables.metrics.minority_aupr import scores_and_jackknives
from lextables.models.token_count import SPECIALS, TokenCounter
from lextables.papers.maud.entry import Maud
from lextables.pipeline.dataset import Row, read
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs, Scores, by_name, record, training
from lextables.tables.systems import (
    RECALLS,
    WHOLE,
    System,
    curve_cells,
    number_cells,
    runs_of,
    score_cell,
)

AUPR = "AUPR"
RANDOM = "random AUPR"
OVERALL = "Overall"
ALL_CATEGORIES = "All Categories"
EXTRACTION = "maud_extraction"
# {column of Table 1: data type of its examples}
DATA_TYPES = {
    "Main Dataset": "main",
    "Rare Answers Dataset": "rare",
    "Abridged Dataset": "abridged",
}
LONG = 512  # a text with more tokens of roberta-base is long (Table 9)
NOT_TRAINED = "not trained on this share of the training examples"
NOT_SCORED = "no test example of it can be scored in these data"

Table = Callable[["Results"], list[Cell]]


@dataclass(frozen=True)
class Results(Inputs):
    """The inputs, read as MAUD's tables need them; ``rows`` are systems with runs."""

    paper: Maud

    @cached_property
    def examples(self) -> list[Row]:
        columns = ["example_id", "split", "data_type", "contract", "head_id"]
        columns += ["question", "category", "label", "text_id"]
        return list(read(self.data / "examples.parquet", columns))

    @cached_property
    def heads(self) -> list[Row]:
        return list(read(self.data / "questions.parquet"))

    @cached_property
    def spans(self) -> Counter[tuple[str, str]]:
        """{(deal point type, split): number of spans} of the extraction task, 0 for
        questions only.
        """
        path = self.data.parent / EXTRACTION / "questions.parquet"
        counts: Counter[tuple[str, str]] = Counter()
        for row in read(path, ["category", "split", "answers"]):
            key = (row["category"], row["split"])
            counts[key] += row["answers"]
        return counts

    @cached_property
    def random_scores(self) -> Scores:
        """Scores that include the expected values of random scores.

        They are the scores of the first run on all training examples, over the heads
        that it scores.  Without a run they are computed over all test examples.
        """
        for system in self.rows:
            for folder in _folders(system):
                return self.scores[folder]
        tested = [row for row in self.examples if row["split"] == "test"]
        answers = {head["head_id"]: len(head["answers"]) for head in self.heads}
        # The share of the minority side needs no model.
        blank = []
        for row in tested:
            prediction = {
                "head_id": row["head_id"],
                "example_id": row["example_id"],
                "logits": [0.0] * answers[row["head_id"]],
            }
            blank.append(prediction)
        scores, _ = scores_and_jackknives(blank, tested, self.heads, partial=True)
        return by_name(scores)


def _folders(system: System) -> tuple[str, ...]:
    """Return the runs on all training examples, one per seed."""
    return runs_of(system, WHOLE)


# The data set


def table1(results: Results) -> list[Cell]:
    """Examples by category and data type."""
    counts: Counter[tuple[str, str]] = Counter()
    for example in results.examples:
        for category in (example["category"], ALL_CATEGORIES):
            counts[category, example["data_type"]] += 1
            counts[category, "all"] += 1
    cells = []
    for cell in results.published:
        data_type = DATA_TYPES.get(cell.column, "all")
        number = counts[cell.row, data_type]
        cells.append(Cell(cell.row, cell.column, float(number)))
    return cells


def table2(results: Results) -> list[Cell]:
    """Examples by split and data type, and contracts and texts in more than one
    split.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for example in results.examples:
        for data_type in (example["data_type"], "overall"):
            counts[data_type, example["split"]] += 1
            counts[data_type, "overall"] += 1
    cells = []
    for cell in results.published:
        number = counts[cell.row, cell.column]
        cells.append(Cell(cell.row, cell.column, float(number)))
    overlap = list(read(results.data / "split_overlap.parquet"))
    for kind in ("contract", "text"):
        rows = [row for row in overlap if row["kind"] == kind]
        in_test = [row for row in rows if row["test"] and row["train"] + row["dev"]]
        one_head_rows = [row for row in rows if row["heads"]]
        numbers = {
            "In more than one split": len(rows),
            "In test and in train or dev": len(in_test),
            "In more than one split for one and the same head": len(one_head_rows),
        }
        cells += number_cells(f"{kind}s", numbers, decimals=0)
    return cells


def table9(results: Results) -> list[Cell]:
    """Questions per category, and the share of examples with a long text, with and
    without special tokens.
    """
    counter = TokenCounter()
    tokens = {}
    for row in read(results.data / "texts.parquet", ["text_id", "text"]):
        tokens[row["text_id"]] = counter.tokens(row["text"])
    lengths: dict[str, list[int]] = defaultdict(list)
    questions: dict[str, set[str]] = defaultdict(set)
    for example in results.examples:
        for category in (example["category"], ALL_CATEGORIES):
            lengths[category].append(tokens[example["text_id"]])
            questions[category].add(example["question"])
    listed: dict[str, set[str]] = defaultdict(set)
    for head in results.heads:
        for category in (head["category"], ALL_CATEGORIES):
            listed[category].add(head["question"])
    cells = []
    for name in results.published_rows:
        cells.append(Cell(name, "Deal Point Questions", float(len(listed[name]))))
        used = {"Questions with examples in these data": len(questions[name])}
        cells += number_cells(name, used, 0)
        cells += _long_texts(name, lengths[name])
    once = f"{ALL_CATEGORIES}, each different text once"
    return cells + _long_texts(once, list(tokens.values()))


def _long_texts(row: str, lengths: Sequence[int]) -> list[Cell]:
    """Return the share of texts with these numbers of tokens that are long."""
    column = "Percent Long Texts"
    if not lengths:
        missing = "no example of this category in these data"
        return [Cell(row, column, None, reason=missing)]
    counted = {column: SPECIALS, f"{column}, special tokens not counted": 0}
    shares = {}
    for name, specials in counted.items():
        long_texts = [length for length in lengths if length + specials > LONG]
        shares[name] = 100 * (len(long_texts) / len(lengths))
    return number_cells(row, shares, 1)


# Models by category


def table3(results: Results) -> list[Cell]:
    """Single-task AUPR by category, and the number of questions in each model's overall
    score.
    """
    return _by_category(results, AUPR) + _trained(results)


def table4(results: Results) -> list[Cell]:
    """Multi-task AUPR by category, and the number of questions in each model's overall
    score.
    """
    return _by_category(results, AUPR) + _trained(results)


def table7(results: Results) -> list[Cell]:
    """Micro-averaged F1 of multi-task models by category."""
    return _by_category(results, "micro F1")


def table8(results: Results) -> list[Cell]:
    """Macro-averaged F1 of multi-task models by category."""
    return _by_category(results, "macro F1")


def _by_category(results: Results, metric: str) -> list[Cell]:
    """Return a metric of every model for each published category, and overall."""
    group_of = {OVERALL: "all"}
    for category, printed in results.paper.categories.items():
        group_of[printed] = f"category: {category}"
    groups = {row: group_of[row] for row in results.published_rows}
    missing = "no question of this category can be scored in these data"
    return _score_cells(results, metric, groups, missing)


def _score_cells(
    results: Results, metric: str, groups: Mapping[str, str], missing: str
) -> list[Cell]:
    """Return one row per group, {row: group}; the published columns come first, then
    the columns of other models.

    ``missing`` is the reason of a cell whose score a run lacks.
    """
    systems = {system["row"]: system for system in results.rows}
    columns = dict.fromkeys([*(cell.column for cell in results.published), *systems])
    cells = []
    for row, group in groups.items():
        for column in columns:
            # Random scores have an expected AUPR; other metrics need a run.
            if column == "Random" and metric.startswith(AUPR):
                cell = _random(results, metric, row, group, missing)
            else:
                system = systems.get(column)
                cell = _score(results, metric, row, column, group, system, missing)
            cells.append(cell)
    return cells


def _random(results: Results, metric: str, row: str, group: str, missing: str) -> Cell:
    """The expected value of a metric for random scores, which is computed exactly.

    It is a baseline of every table with this column.
    """
    name = metric.replace(AUPR, RANDOM)
    value, _ = results.random_scores.get((name, group), (math.nan, 0))
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
    """A score of a system; the measure by which systems are compared is the row.

    Paired tests are of overall scores and, in the classification task, of categories.
    """
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
    """Return a row per model that ran: how many questions its overall score has, how
    many answers are left out of it, and the range of the runs' scores.
    """
    cells = []
    for system in results.rows:
        folders = _folders(system)
        if not folders:
            continue
        scores = results.scores[folders[0]]
        numbers = {
            "Questions scored": scores[AUPR, "all"][1],
            "Answers left out": scores["answers left out", "all"][0],
        }
        cells += number_cells(system["row"], numbers, 0, folders)
        spread = _range_text(results.values(folders, AUPR))
        if spread:
            column = "Overall, minimum to maximum of runs"
            cells.append(Cell(system["row"], column, spread, decimals=0, runs=folders))
    return cells


def _range_text(values: Sequence[float]) -> str:
    """Return the range of several values; "" for a single one or without a score."""
    if len(values) < 2 or math.isnan(sum(values)):
        return ""
    return f"{min(values):.1f} to {max(values):.1f}"


def table6(results: Results) -> list[Cell]:
    """AUPR over abridged and over main examples: for the heads of the released code,
    and (strict) for the heads of the paper's text.
    """
    groups = {row: f"data type: {row.lower()}" for row in results.published_rows}
    missing = "no head with every answer among the abridged test examples can be scored in these data"
    cells = _score_cells(results, AUPR, groups, missing)
    strict_groups = {row + STRICT: group for row, group in groups.items()}
    strict = _score_cells(results, AUPR + STRICT, strict_groups, NOT_SCORED)
    cells += [cell for cell in strict if cell.value is not None]
    row_of = {
        RANDOM: "Heads of which every answer is among the abridged test examples",
        RANDOM + STRICT: "All heads of questions with abridged test examples (strict)",
    }
    for metric, row in row_of.items():
        _, questions = results.random_scores[metric, "data type: abridged"]
        cells += number_cells(row, {"Questions": questions}, 0)
    return cells


# Figures


def figure2(results: Results) -> list[Cell]:
    """The averaged curve of every multi-task model, and the area under it."""
    cells = []
    for system in results.rows:
        row = system["row"]
        folders = _folders(system)
        # Models are the rows here, so they are compared by the column.
        cell = _score(results, AUPR, row, AUPR, "all", system, NOT_SCORED)
        if cell.score:
            score = replace(cell.score, measure=AUPR, system=row)
            cell = replace(cell, score=score)
        cells.append(cell)
        curves = [_curve(results.scores[folder]) for folder in folders]
        cells += curve_cells(row, curves, folders)
    return cells


def _curve(scores: Scores) -> dict[int, float]:
    """Return {recall: precision} in per cent.

    The curve is stepwise: a recall has the precision of the next higher one.
    """
    points = []
    for (metric, group), (value, _) in scores.items():
        if metric == "precision" and not math.isnan(value):
            points.append((100 * float(group.removeprefix("recall: ")), 100 * value))
    curve = {}
    for recall, precision in sorted(points, reverse=True):
        for at in RECALLS:
            # Recalls are written with nine decimals.
            if recall > at - 1e-6:
                curve[at] = precision
    return curve


def figure3(results: Results) -> list[Cell]:
    """AUPR by share of the training examples, and the differences to all examples that
    the text reports.
    """
    cells = []
    (row,) = results.published_rows
    for system in results.rows:
        is_published = system["row"] == results.entry.names["printed"]
        name = row if is_published else f"{row}: {system['row']}"
        for published in results.published:
            column = published.column
            cell = _difference_to_all(results, system, name, column)
            if cell:
                cells.append(cell)
            elif is_published:
                missing = system["reason"] or NOT_TRAINED
                cells.append(Cell(row, column, None, reason=missing))
    for system in results.rows:
        for share in sorted(system["runs"], key=int):
            cells += _of_share(results, system, share)
    return cells


def _difference_to_all(
    results: Results, system: System, row: str, column: str
) -> Cell | None:
    """Return a system's AUPR with all training examples minus its AUPR with the share
    in the column's name; None without both values.
    """
    share, _, _ = column.partition("% ")
    folders = _folders(system)
    folders_of_share = runs_of(system, share)
    values = results.values(folders, AUPR)
    share_values = results.values(folders_of_share, AUPR)
    if not values or not share_values or math.isnan(sum(values + share_values)):
        return None
    # The shares are sampled and trained with the same seeds.
    pairs = zip(values, share_values, strict=True)
    return Cell(
        row,
        column,
        statistics.fmean(values) - statistics.fmean(share_values),
        decimals=1,
        runs=folders + folders_of_share,
        seeds=tuple(value - share_value for value, share_value in pairs),
        averages=system["averages"],
    )


def _of_share(results: Results, system: System, share: str) -> list[Cell]:
    """Return a system's AUPR on a share of the training examples, and their number."""
    row = f"{system['row']} / {share}% of the training examples"
    folders = runs_of(system, share)
    value = results.mean(folders, AUPR)
    if value is None:
        return []
    low, high = results.interval(folders, AUPR)
    records = [training(record(results.root, folder)) for folder in folders]
    size = statistics.fmean(each["training_examples"] for each in records)
    aupr = Cell(row, AUPR, value, low, high, decimals=1, runs=folders)
    return [aupr, *number_cells(row, {"Training examples": size}, 0, folders)]


# The extraction task


def table12(results: Results) -> list[Cell]:
    """Spans by deal point type and split, and the AUPR of every model."""
    spans = results.spans
    # Names of types may have other white space in the data than in the paper.
    type_of = {" ".join(text_type.split()): text_type for text_type, _ in spans}
    systems = {f"{system['row']} (AUPR)": system for system in results.rows}
    columns = dict.fromkeys([*(cell.column for cell in results.published), *systems])
    cells = []
    for row in results.published_rows:
        released = results.paper.printed_types.get(row, row)
        text_type = type_of.get(" ".join(released.split()))
        types = [] if text_type is None else [text_type]
        group = f"category: {text_type}"
        if row == OVERALL:
            types = list(type_of.values())
            group = "all"
        for column in columns:
            if not types:
                missing = "these data have no question about this type"
                cell = Cell(row, column, None, reason=missing)
            elif column in ("Train", "Dev", "Test"):
                number = sum(spans[each, column.lower()] for each in types)
                cell = Cell(row, column, float(number))
            else:
                missing = "no test span of this type in these data"
                system = systems.get(column)
                cell = _score(results, AUPR, row, column, group, system, missing)
            cells.append(cell)
    for system in results.rows:
        folders = _folders(system)
        strict = results.mean(folders, AUPR + STRICT)
        if strict is not None:
            values = {"Overall AUPR, strict": strict}
            cells += number_cells(system["row"], values, 1, folders)
    return cells


# An additional table


def table_validation(results: Results) -> list[Cell]:
    """AUPR by question: the authors' on their dev split, and ours on the test split of
    these data.
    """
    tested: Counter[str] = Counter()
    for row in results.examples:
        if row["split"] == "test":
            tested[row["question"]] += 1
    authors = _authors(results)
    cells = []
    for name in dict.fromkeys(head["question"] for head in results.heads):
        if not tested[name]:
            continue
        cells += number_cells(name, {"Test examples here": tested[name]}, 0)
        values = {column: of[name] for column, of in authors.items() if name in of}
        group = f"question: {name}"
        random, _ = results.random_scores.get((RANDOM, group), (math.nan, 0))
        if not math.isnan(random):
            values["Random, our test"] = 100 * random
        cells += number_cells(name, values, 1)
        for system in results.rows:
            cells += _of_question(results, system, name)
    return cells + _means(results, cells)


def _authors(results: Results) -> dict[str, dict[str, float]]:
    """Return {column: {question: validation AUPR}} in per cent, heads averaged into
    their question.
    """
    question_of = {head["head_id"]: head["question"] for head in results.heads}
    values: dict[str, dict[str, list[float]]] = {}
    for row in read(results.data / "hyperparameters.parquet"):
        if row["share"] == 1:
            model_values = values.setdefault(row["model"], defaultdict(list))
            question = question_of[row["head_id"]]
            model_values[question].append(100 * row["validation_aupr"])
    authors = {}
    for panel in results.paper.tasks["maud"].models.values():
        if panel.published:
            means = {}
            for question, head_values in values.get(panel.published, {}).items():
                means[question] = statistics.fmean(head_values)
            authors[f"{panel.row} (authors, dev)"] = means
    return authors


def _column(system: System) -> str:
    row = system["row"]
    if "setting" in system:
        row += f", {system['setting']}-task"
    return f"{row} (ours, test)"


def _of_question(results: Results, system: System, name: str) -> Iterator[Cell]:
    """Yield a system's AUPR on a question, and the range of its runs."""
    column = _column(system)
    group = f"question: {name}"
    yield _score(results, AUPR, name, column, group, system, NOT_SCORED)
    folders = _folders(system)
    spread = _range_text(results.values(folders, AUPR, group))
    if spread:
        yield Cell(name, f"{column}, minimum to maximum of runs", spread, runs=folders)


def _means(results: Results, cells: Sequence[Cell]) -> list[Cell]:
    """Return the mean of each column of ``cells``.

    A mean that equals the overall score of the runs has the interval of that score.
    """
    values_of = defaultdict(list)
    for cell in cells:
        if isinstance(cell.value, float) and cell.column != "Test examples here":
            values_of[cell.column].append(cell.value)
    runs = {_column(system): _folders(system) for system in results.rows}
    means = []
    for column, values in values_of.items():
        mean = statistics.fmean(values)
        folders = runs.get(column, ())
        low = high = None
        if folders:
            overall = results.mean(folders, AUPR)
            if overall is not None and math.isclose(mean, overall, rel_tol=1e-9):
                low, high = results.interval(folders, AUPR)
        cell = Cell(
            "Mean of these questions", column, mean, low, high, decimals=1, runs=folders
        )
        means.append(cell)
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
    return TABLES[table](Results(**vars(inputs)))
