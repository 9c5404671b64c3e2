"""LawngNLI's Tables 5 and 12 to 16: models that judge a hypothesis by a premise
(Section 4.1).

The registry defines each column of a table: the condition,
`<view in training> > <view in the test>`, and the group of test examples.  In Tables 5
and 13 the columns have numbers: models of column (6) are trained and tested on long
premises filtered by BM25; models of column (4) are trained on short premises filtered
in the same way.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from lextables.metrics.intervals import exact_share_interval
from lextables.papers.lawngnli.dataset.annotations import READINGS, load_readings
from lextables.papers.lawngnli.dataset.labels import TEST
from lextables.papers.lawngnli.dataset.pairs import ANSWERS, ENTAILMENT, NLI
from lextables.papers.lawngnli.evaluation.label_tables import (
    GUESSING,
    PARTS,
    Overlap,
    Probabilities,
    by_label,
    guessing,
    share_of_premises,
)
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.files import damage_named, read_json
from lextables.pipeline.run import RunSettings
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs
from lextables.tables.systems import score_cell
from lextables.tasks.classification.scoring import ANSWER, PROBABILITY, SUBMITTED

# {head: the group of rows that has its systems}
PREFIX = {
    NLI: "Entail/Neutral/Contradict. Chance=1/3 / ",
    ENTAILMENT: "Entail/Not entail. Chance=1/2 / ",
}
P_VALUES = PREFIX[NLI] + "Maximum of p-values versus (6)"
VERSUS = ", p-value versus (6)"
ANALYSIS = "analysis"
ALL_LENGTHS = (
    ", all lengths"  # suffix of columns that are not limited to the analysis subset
)
# Of Table 16: a column, how much automatic labels change the gap between columns (6)
# and (4) (Section 4.1.2), and its two rows.
BIAS = "Bias of (6) less (4) by the automatic labels"
OF_LARGEST_GAP = PREFIX[NLI] + "Model with the largest gap in Table 5"
OF_ALL = PREFIX[NLI] + "Mean of the models"
# Reasons why a cell has no value.
NO_PRINTED = "no published model was run"
NOT_ALL = "not all of the published models were run"
NOT_UNDER = "not trained with this view under this grid"
NOT_READ = "no test example of this data set was annotated"
TEST_EXAMPLES = "Test examples"


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    condition: str
    group: str
    """A column of truth values of `pairs.PAIRS`: only examples for which it is true are
    counted.  Empty: all examples.
    """

    def scored(self, head: str) -> str:
        """The ``group`` of its scores in `scores.parquet`."""
        groups = [self.condition, self.group, f"head: {head}"]
        return ", ".join(group for group in groups if group)

    def of_all_lengths(self) -> "Column":
        """The same column over examples of all lengths."""
        return Column(self.name + ALL_LENGTHS, self.condition, "")


SUBMITTED_COLUMN = Column("Predictions given", SUBMITTED, ANALYSIS)
# The columns of submitted predictions in Table 16: automatic and gold labels.
SUBMITTED_READINGS = {
    "Predictions given / Automatic": {"condition": SUBMITTED, "labels": "automatic"},
    "Predictions given / Gold": {"condition": SUBMITTED, "labels": "gold"},
}


class Tested:
    """The test examples of a table's data set, rows of `pairs.PAIRS`, and the models'
    answers.

    ``folder`` is the folder of a run.
    """

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs

    @cached_property
    def all_splits(self) -> list[Row]:
        return list(read(self.inputs.data / "examples.parquet"))

    @cached_property
    def examples(self) -> list[Row]:
        return [row for row in self.all_splits if row["split"] == TEST]

    @cached_property
    def overlap(self) -> Overlap:
        return Overlap(self.inputs.data / "texts.parquet")

    def of(self, head: str, group: str) -> list[Row]:
        """The examples of a head that are in ``group``; all if it is empty."""
        rows = [row for row in self.examples if row["head_id"] == head]
        return [row for row in rows if not group or row[group]]

    def answers(self, folder: str, condition: str, rows: Sequence[Row]) -> list[int]:
        """The answers of a run's model under a condition, as indices of the head's
        answers.
        """
        scores = self.inputs.scores[folder]
        answers = []
        for row in rows:
            value, _ = scores[ANSWER, f"{condition}, example: {row['example_id']}"]
            answers.append(int(value))
        return answers

    def is_right(self, folder: str, condition: str, rows: Sequence[Row]) -> list[bool]:
        """Whether each answer of `answers` is the right one."""
        answers = self.answers(folder, condition, rows)
        pairs = zip(answers, rows, strict=True)
        return [answer == row["label"] for answer, row in pairs]

    def has_scores(self, folders: Sequence[str], *conditions: str) -> bool:
        """Whether all these runs have scores under all conditions."""
        for folder in folders:
            for condition in conditions:
                if ("accuracy", f"{condition}, all") not in self.inputs.scores[folder]:
                    return False
        return True

    def probabilities(
        self, folder: str, condition: str, rows: Sequence[Row]
    ) -> list[list[float]]:
        """The probabilities that the model of a run gives the three labels, a list for
        each example.
        """
        scores = self.inputs.scores[folder]
        probabilities = []
        for row in rows:
            group = f"{condition}, example: {row['example_id']}, answer: "
            places = range(len(ANSWERS[NLI]))
            values = [scores[PROBABILITY, f"{group}{place}"][0] for place in places]
            probabilities.append(values)
        return probabilities


def accuracy(inputs: Inputs) -> Iterator[Cell]:
    """Yield the cells of a table of accuracies: the accuracies of each system, p-values
    if the registry names a condition to compare with (``versus``), and N.

    Additional rows also have columns for examples of all lengths.  Of the p-values of
    published systems only the maximum is shown.
    """
    tested = Tested(inputs)
    printed = {cell.row for cell in inputs.published}
    columns = []
    for name, entry in inputs.entry.names["columns"].items():
        columns.append(Column(name, entry["condition"], entry.get("group", ANALYSIS)))
    versus = inputs.entry.names.get("versus")
    published_models = []
    p_values: dict[str, list[list[float]]] = defaultdict(list)
    has_longer = not all(example[ANALYSIS] for example in tested.examples)
    for system in inputs.rows:
        row = PREFIX[system["heads"]] + system["row"]
        if not system["additional"] and row not in printed:
            continue
        system_columns = columns
        if system["submitted"]:
            system_columns = [SUBMITTED_COLUMN]
        all_columns = list(system_columns)
        if system["additional"] and has_longer:
            analysis = [column for column in system_columns if column.group == ANALYSIS]
            all_columns += [column.of_all_lengths() for column in analysis]
        yield from _accuracies(inputs, system, row, all_columns)
        if not system["additional"]:
            published_models.append(system)
        if not versus or not system["runs"]:
            continue
        for column in all_columns:
            values = _p_values(tested, system, column, versus)
            if not values:
                continue
            if system["additional"]:
                runs = _folders(system)
                value = max(values)
                yield Cell(row + VERSUS, column.name, value, decimals=3, runs=runs)
            else:
                p_values[column.name].append(values)
    yield from _guesses(tested, columns)
    yield from _p_value_row(inputs, published_models, p_values)
    yield from _counts(inputs, tested, columns)


def _guesses(tested: Tested, columns: Sequence[Column]) -> Iterator[Cell]:
    """The accuracy of a baseline, over examples of all lengths: it detects Neutral by
    the overlap of words, and guesses between the two other labels.
    """
    for column in columns:
        guessed = None
        if column.group == ANALYSIS:
            guessed = guessing(tested.all_splits, tested.overlap, column.condition)
        if guessed is None:
            continue
        values = []
        for row, share in zip(*guessed, strict=True):
            values.append((row["premise"], float(share[row["label"]])))
        yield _share_cell(PREFIX[NLI] + GUESSING, column.name + ALL_LENGTHS, values)


def accuracy_by_label(inputs: Inputs) -> Iterator[Cell]:
    """Yield the accuracies of the parts of `by_label`, over test examples of all
    lengths.
    """
    tested = Tested(inputs)
    rows = tested.of(NLI, "")
    # The number of examples does not depend on the answers.
    uniform = np.ones((len(rows), len(ANSWERS[NLI])))
    sizes = {part: len(values) for part, values in by_label(rows, uniform).items()}
    conditions = {}
    for name, entry in inputs.entry.names["columns"].items():
        conditions[name] = entry["condition"]
    if any(system["submitted"] for system in inputs.rows):
        conditions[SUBMITTED_COLUMN.name] = SUBMITTED
    for name, condition in conditions.items():
        for part, size in sizes.items():
            yield Cell(TEST_EXAMPLES, f"{name}, {part}", float(size), decimals=0)
        for system in inputs.rows:
            folders = _folders(system)
            if not folders or not tested.has_scores(folders, condition):
                continue
            seeds = []
            for folder in folders:
                seeds.append(tested.probabilities(folder, condition, rows))
            yield from _by_label(system["row"], name, rows, seeds, folders)
        guessed = guessing(tested.all_splits, tested.overlap, condition)
        if guessed:
            yield from _by_label(GUESSING, name, guessed[0], [guessed[1]], ())


def _by_label(
    row: str,
    name: str,
    rows: Sequence[Row],
    seeds: Sequence[Probabilities],
    folders: Sequence[str],
) -> Iterator[Cell]:
    """The cells of one system, one for each of `PARTS`; their columns begin with
    ``name``.

    ``seeds`` are the probabilities of each seed for ``rows``.
    """
    by_seed = [by_label(rows, probabilities) for probabilities in seeds]
    for part in PARTS:
        values = []
        # Premises are in the same order for all seeds.
        for same in zip(*(correct[part] for correct in by_seed), strict=True):
            mean = statistics.fmean(value for _, value in same)
            values.append((same[0][0], mean))
        if values:
            yield _share_cell(row, f"{name}, {part}", values, folders)


def _share_cell(
    row: str,
    column: str,
    values: Sequence[tuple[str, float]],
    folders: Sequence[str] = (),
) -> Cell:
    """The mean of (premise, share correct), with its interval over premises."""
    mean, interval = share_of_premises(values)
    low, high = interval or (None, None)
    return Cell(row, column, mean, low, high, decimals=3, runs=tuple(folders))


def _folders(system: Row) -> tuple[str, ...]:
    """The folders of a system's runs."""
    return tuple(chain.from_iterable(system["runs"].values()))


def _accuracies(
    inputs: Inputs, system: Row, row: str, columns: Sequence[Column]
) -> Iterator[Cell]:
    """The cells of one system in ``row``; an additional one has only the conditions
    that it was run under.

    A condition whose model is the same for all seeds has the value of the first run.
    """
    all_folders = _folders(system)
    deterministic = system.get("deterministic", ())
    head = system["heads"]
    # With fewer test examples there is no accuracy.
    minimum = 0
    for folder in all_folders:
        record = read_json(inputs.root / folder / "run.json", RunSettings)
        minimum = max(minimum, record["settings"].get("min_test", 0))
    for column in columns:
        is_same = column.condition in deterministic
        folders = all_folders[:1] if is_same else all_folders
        measure = f"{column.name} ({PREFIX[head].partition('.')[0]})"
        score = Score(measure, row, "accuracy", column.scored(head), "premises")
        key = score.metric, score.group
        counts = [inputs.scores[folder].get(key, (0.0, 0)) for folder in folders]
        few = [n for _, n in counts if 0 < n < minimum]
        if few:
            reason = f"{few[0]} test examples, fewer than {minimum}"
            yield Cell(row, column.name, None, reason=reason)
            continue
        # The interval's ends are means over seeds, as the accuracy is.
        ends = [exact_share_interval(round(value * n), n) for value, n in counts]
        interval = None
        if ends and all(ends):
            low, high = zip(*ends, strict=True)
            interval = statistics.fmean(low), statistics.fmean(high)
        cell = score_cell(
            inputs,
            system,
            row,
            column.name,
            score,
            runs=folders,
            interval=interval,
            decimals=3,
            trained=system["trained"] and not is_same,
            missing=NOT_UNDER,
        )
        if cell.value is not None or not folders:
            yield cell
        elif not system["additional"]:
            yield replace(cell, runs=())


def _p_values(tested: Tested, system: Row, column: Column, versus: str) -> list[float]:
    """McNemar's exact p-values between a column and the condition ``versus``, one a
    seed.

    Empty for ``versus`` itself, without examples, and unless the system has predictions
    for both conditions.
    """
    rows = tested.of(system["heads"], column.group)
    folders = _folders(system)
    conditions = column.condition, versus
    has_scores = tested.has_scores(folders, *conditions)
    if column.condition == versus or not has_scores or not rows:
        return []
    p_values = []
    for folder in folders:
        right = [tested.is_right(folder, condition, rows) for condition in conditions]
        p_values.append(mcnemar(right))
    return p_values


def mcnemar(right: Sequence[Sequence[bool]]) -> float:
    """Return the exact two-sided p-value of McNemar's test (1947) between two systems.

    ``right`` has for each system whether its answer to each example is right.  1 if
    no example is answered correctly by exactly one of them.
    """
    from sklearn.metrics import confusion_matrix
    from statsmodels.stats.contingency_tables import mcnemar as exact_mcnemar

    table = confusion_matrix(*right, labels=[False, True])
    return float(exact_mcnemar(table, exact=True).pvalue)


def _p_value_row(
    inputs: Inputs,
    models: Sequence[Row],
    p_values: Mapping[str, Sequence[Sequence[float]]],
) -> Iterator[Cell]:
    """The published row of p-values: for each seed the maximum over all published
    ``models``.

    ``p_values`` are {column: a list for each model that has p-values, one a seed}.
    """
    for printed in inputs.published:
        if printed.row != P_VALUES:
            continue
        by_model = p_values.get(printed.column, ())
        if len(by_model) < len(models) or not by_model:
            reason = NOT_ALL if by_model else NO_PRINTED
            yield Cell(P_VALUES, printed.column, None, reason=reason)
            continue
        # Seeds that all models have.
        maxima = [max(of_seed) for of_seed in zip(*by_model, strict=False)]
        yield Cell(
            P_VALUES,
            printed.column,
            statistics.fmean(maxima),
            runs=tuple(chain.from_iterable(map(_folders, models))),
            seeds=tuple(maxima),
            averages=models[0]["averages"],
        )


def _counts(
    inputs: Inputs, tested: Tested, columns: Sequence[Column]
) -> Iterator[Cell]:
    """The published rows N: the number of test examples of each head and column."""
    groups = {column.name: column.group for column in columns}
    for printed in inputs.published:
        for head in ANSWERS:
            if printed.row == f"{PREFIX[head]}N":
                n = len(tested.of(head, groups[printed.column]))
                yield Cell(printed.row, printed.column, float(n), decimals=0)


def by_readings(inputs: Inputs) -> Iterator[Cell]:
    """Yield the cells of Table 16: balanced accuracy against the automatic labels, and
    against gold ones.

    Gold labels are those on which both annotators agree; only test examples with one
    are counted.  A column is a condition and a kind of labels, automatic or gold.  Two
    more cells state how much the automatic labels bias the gap between two conditions.
    """
    tested = Tested(inputs)
    printed = {cell.row for cell in inputs.published}
    gold = _gold(inputs)
    rows = [row for row in tested.of(NLI, ANALYSIS) if row["reading"] in gold]
    columns = inputs.entry.names["columns"]
    published_models = []
    for system in inputs.rows:
        row = PREFIX[NLI] + system["row"]
        folders = _folders(system)
        # {(condition, kind of labels): balanced accuracies, one a seed}
        by_labels: dict[tuple[str, str], list[float]] = {}
        if not system["additional"]:
            if row not in printed:
                continue
            published_models.append((folders, by_labels))
        system_columns = columns
        if system["submitted"]:
            system_columns = SUBMITTED_READINGS
        for column, entry in system_columns.items():
            condition = entry["condition"]
            has_scores = tested.has_scores(folders, condition)
            if not folders or not rows or not has_scores:
                reason = system["reason"] or (NOT_UNDER if rows else NOT_READ)
                if not system["additional"] or system["submitted"]:
                    yield Cell(row, column, None, reason=reason)
                continue
            labels = [example["label"] for example in rows]
            if entry["labels"] == "gold":
                labels = [gold[example["reading"]] for example in rows]
            values = []
            for folder in folders:
                answers = tested.answers(folder, condition, rows)
                values.append(balanced_accuracy(answers, labels))
            by_labels[condition, entry["labels"]] = values
            yield Cell(
                row,
                column,
                statistics.fmean(values),
                decimals=3,
                runs=folders,
                seeds=tuple(values) if system["trained"] else None,
            )
    yield from _biases(inputs, published_models, NOT_ALL if rows else NOT_READ)
    for cell in inputs.published:
        if cell.row == f"{PREFIX[NLI]}N":
            yield Cell(cell.row, cell.column, float(len(rows)), decimals=0)


def _biases(
    inputs: Inputs,
    models: Sequence[tuple[Sequence[str], Mapping[tuple[str, str], Sequence[float]]]],
    reason: str,
) -> Iterator[Cell]:
    """Yield the bias of the model with the largest gap in Table 5, and the mean bias of
    all published models.

    ``models`` are the run folders of each, and {(condition, kind of labels): its
    balanced accuracies, one a seed}.  A gap is that between the two conditions that the
    registry names; the bias is the gap by automatic labels less the gap by gold labels.
    Without all models there is no value, for this ``reason``.
    """
    conditions = inputs.entry.names["gap"]
    higher, lower = conditions
    biases = []
    gaps = []
    for folders, values in models:
        if len(values) < 4:  # two conditions, each with two kinds of labels
            break
        seeds = range(len(folders))
        automatic = [
            values[higher, "automatic"][k] - values[lower, "automatic"][k]
            for k in seeds
        ]
        gold = [values[higher, "gold"][k] - values[lower, "gold"][k] for k in seeds]
        biases.append([automatic[k] - gold[k] for k in seeds])
        # The gap in Table 5 is between accuracies over the whole analysis subset.
        means = []
        for condition in conditions:
            group = Column("", condition, ANALYSIS).scored(NLI)
            scores = [inputs.scores[folder]["accuracy", group][0] for folder in folders]
            means.append(statistics.fmean(scores))
        gaps.append(means[0] - means[1])
    if not biases or len(biases) < len(models):
        yield Cell(OF_LARGEST_GAP, BIAS, None, reason=reason)
        yield Cell(OF_ALL, BIAS, None, reason=reason)
        return
    largest = gaps.index(max(gaps))
    means_of_seeds = [
        statistics.fmean(seed_biases) for seed_biases in zip(*biases, strict=True)
    ]
    all_folders = tuple(chain.from_iterable(folders for folders, _ in models))
    yield _bias_cell(OF_LARGEST_GAP, biases[largest], models[largest][0])
    yield _bias_cell(OF_ALL, means_of_seeds, all_folders)


def _bias_cell(row: str, seeds: Sequence[float], folders: Sequence[str]) -> Cell:
    """The cell of the mean bias; ``seeds`` has the bias of each seed."""
    value = statistics.fmean(seeds)
    return Cell(row, BIAS, value, decimals=3, runs=tuple(folders), seeds=tuple(seeds))


def _gold(inputs: Inputs) -> dict[str, int]:
    """{`pair_name` of an annotated example: index of the label on which both annotators
    agree}, for this data set.
    """
    census = inputs.data / "census.json"
    with damage_named(census):
        rows_sha256 = read_json(census)["notes"]["rows_sha256 of lawngnli's examples"]
    pairs = load_readings(READINGS).get(rows_sha256, {})
    return {
        name: ANSWERS[NLI].index(first.label)
        for name, (first, second) in pairs.items()
        if first.label == second.label
    }


def balanced_accuracy(
    answers: Sequence[int | str], labels: Sequence[int | str]
) -> float:
    """Return the mean of the recalls of the labels that occur."""
    from sklearn.metrics import recall_score

    return float(
        recall_score(labels, answers, labels=sorted(set(labels)), average="macro")
    )
