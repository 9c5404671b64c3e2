"""LawngNLI's Tables 5 and 12 to 16: accuracies with exact intervals, McNemar's tests, and gold labels."""

import json
import statistics

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.proportion import proportion_confint

from lextables import ROOT
from lextables.papers.lawngnli.dataset.pairs import ANSWERS, PAIRS, TEXTS
from lextables.papers.lawngnli.evaluation import nli_tables
from lextables.papers.lawngnli.evaluation.label_tables import GUESSING
from lextables.papers.lawngnli.evaluation.nli_tables import (
    NO_PRINTED,
    NOT_READ,
    NOT_UNDER,
    PREFIX,
    accuracy,
    by_readings,
)
from lextables.papers.packages import load
from lextables.papers.planning import plan
from lextables.pipeline.dataset import write
from lextables.pipeline.run import SCORES
from lextables.tables.cells import build
from lextables.tables.inputs import Inputs
from lextables.tables.published import load as load_published
from lextables.tasks.classification.scoring import SUBMITTED, score
from lextables.tasks.classification.settings import ScoreSettings
from registered import context

PAPER = load(ROOT / "resources/papers/lawngnli.yaml")
TASK = PAPER.tasks["lawngnli_nli"]
TABLES = ("table5", "table12", "table13", "table14", "table15", "table16")
PRINTED = {
    table: [
        cell
        for cell in load_published(ROOT / "resources/published/lawngnli.csv")
        if cell.table == table
    ]
    for table in TABLES
}
HEADS = [
    {"head_id": head, "answers": list(answers)}
    for head, answers in sorted(ANSWERS.items())
]
THREE, TWO = PREFIX["nli"], PREFIX["entailment"]
DATA_SET = "0" * 64
COLUMNS = {
    name: entry["condition"]
    for name, entry in PAPER.tables["table5"].names["columns"].items()
}
(VERSUS,) = (name for name in COLUMNS if name.startswith("(6)"))
CONDITIONS = sorted({*COLUMNS.values(), "none > long", "none > short", "short > short"})
ALBERT, BART = "albert-xxlarge-v2_anli", "facebook_bart-large_anli"


# Registered and published rows and columns.


def panels(table):
    """Return {name of a published row: its panel} for all rows that a table may contain."""
    heads = [where["heads"] for where in PAPER.tables[table].rows]
    of = ((panel, (panel.heads or TASK.heads)[0]) for panel in TASK.models.values())
    return {
        PREFIX[head] + panel.row: panel
        for panel, head in of
        if head in heads and not panel.additional
    }


@pytest.mark.parametrize("table", TABLES)
def test_registered_columns_are_the_published_ones_and_have_valid_settings(table):
    columns = PAPER.tables[table].names["columns"]
    assert list(columns) == list(dict.fromkeys(cell.column for cell in PRINTED[table]))
    for entry in columns.values():
        trained, _, view = entry["condition"].partition(" > ")
        assert view in TASK.readings[trained] and view in TASK.views
        assert entry.get("group", "analysis") in TASK.groups
        assert entry.get("labels", "gold") in ("automatic", "gold")


@pytest.mark.parametrize("table", TABLES)
def test_each_published_row_has_a_registered_model(table):
    others = {nli_tables.P_VALUES, f"{THREE}N", f"{TWO}N"}
    rows = {cell.row for cell in PRINTED[table]} - others
    assert rows <= panels(table).keys()
    assert len(rows) == {"table5": 12, "table12": 6, "table16": 6}.get(
        table, len(panels(table))
    )


def test_two_label_models_are_those_trained_on_docnli():
    two = {
        panel.row for panel in TASK.models.values() if panel.heads == ("entailment",)
    }
    assert (
        two == {panel.row for panel in TASK.models.values() if panel.after == "docnli"}
        and len(two) == 7
    )


def planned(grid):
    """Return the plan of LawngNLI with all weights and this hyperparameter grid."""
    return plan(
        PAPER, context("lawngnli", data="release", models="paper", grid=grid, seeds=[0])
    )


@pytest.mark.parametrize("table", TABLES)
def test_the_papers_settings_cover_each_published_cell(table):
    made, columns = planned("paper"), PAPER.tables[table].names["columns"]
    read_by = {
        PREFIX[row["heads"]] + row["row"]: row["runs"]["100"]
        for row in made.rows[table]
    }
    conditions = {
        run.folder: {reading["condition"] for reading in spec.settings["readings"]}
        for run, spec in made.specs.items()
        if "readings" in spec.settings
    }
    cells = [cell for cell in PRINTED[table] if cell.row in panels(table)]
    assert cells
    for cell in cells:
        (folder,) = read_by[cell.row]
        assert columns[cell.column]["condition"] in conditions[folder], cell


@pytest.mark.parametrize("grid", sorted(TASK.grids))
def test_each_run_has_a_view_with_every_grid(grid):
    made = planned(grid)
    found = [
        spec
        for run, spec in made.specs.items()
        if run.paper == "lawngnli_nli" and "readings" in spec.settings
    ]
    assert found and all(spec.settings["readings"] and spec.sources for spec in found)


# Computed values.


def examples():
    """Return 24 test examples with three and with two labels; four of them are not in the analysis subset."""
    rows = []
    for number in range(26):
        label, analysis = ANSWERS["nli"][number % 3], number % 3 < 2 or number < 12
        shared = {
            "example": f"e{number:02}",
            "split": "train" if number >= 24 else "test",
            "premise": str(number // 2),
            "reading": f"r{number:02}",
            "analysis": analysis,
            "negated": analysis and number % 4 == 1,
            "above_median": analysis and number % 5 == 2,
            "difficult": True,
        }
        shared |= dict.fromkeys(
            ("short", "short_bm25", "long", "long_bm25", "hypothesis"), "t"
        )
        for head, times in (
            ("nli", [""]),
            ("entailment", [":1", ":2"][: 1 + (label == "entail")]),
        ):
            answer = (
                label
                if head == "nli"
                else "entail"
                if label == "entail"
                else "not entail"
            )
            rows += [
                shared
                | {"example_id": f"e{number:02}:{head}{time}", "head_id": head}
                | {"label": ANSWERS[head].index(answer)}
                for time in times
            ]
    return sorted(rows, key=lambda row: row["example_id"])


def asked(head="nli", group="analysis"):
    rows = (
        row for row in examples() if row["split"] == "test" and row["head_id"] == head
    )
    return [row for row in rows if not group or row[group]]


def answers_of(name, head="nli", conditions=CONDITIONS):
    """Return {condition: {example: answer}}, seeded by the run's name; about 2/3 correct, others random."""
    drawn = np.random.default_rng([*map(ord, name)])
    return {
        condition: {
            row["example_id"]: row["label"]
            if drawn.random() < 2 / 3
            else int(drawn.integers(len(ANSWERS[head])))
            for row in asked(head, "")
        }
        for condition in conditions
    }


class Table:
    """A table of simulated runs: answers of the systems, and the cells computed from them."""

    def __init__(self, folder, name="table5", notes=DATA_SET):
        self.folder, self.name, self.systems, self.answers = folder, name, [], {}
        write(PAIRS, examples(), folder / "examples.parquet")
        write(
            TEXTS,
            [{"text_id": "t", "text": "the lease was void"}],
            folder / "texts.parquet",
        )
        census = {"notes": {"rows_sha256 of lawngnli's examples": notes}}
        (folder / "census.json").write_text(json.dumps(census))

    def add(self, row, runs=("a",), *, head="nli", conditions=CONDITIONS, **changes):
        """Add a system with these runs; each run has different answers."""
        folders = [f"runs/{row}/{run}" for run in runs]
        for folder in folders:
            self.answers[folder] = answers_of(folder, head, conditions)
            self._write(folder, head)
        known = {
            "row": row,
            "additional": False,
            "submitted": False,
            "reason": "",
            "parameters": 1,
            "trained": True,
        }
        known |= {
            "averages": 1,
            "baseline": False,
            "lenient": False,
            "setting": "multi",
            "heads": head,
        }
        self.systems.append(
            known | {"runs": {"100": folders} if folders else {}} | changes
        )
        return folders

    def _write(self, folder, head):
        predictions = []
        for condition, given in self.answers[folder].items():
            for example, answer in given.items():
                row = {"head_id": head, "example_id": example}
                row["logits"] = np.eye(len(ANSWERS[head]))[answer].tolist()
                row["probabilities"] = row["logits"]
                if condition != SUBMITTED:
                    row["condition"] = condition
                predictions.append(row)
        task = ScoreSettings(
            evaluator="general",
            multi_label=False,
            views={"short": {}},
            metrics=tuple(TASK.metrics),
            unit=TASK.unit,
            groups=tuple(TASK.groups),
        )
        found, _ = score(predictions, examples(), HEADS, ["test"], task, "")
        (self.folder / folder).mkdir(parents=True)
        write(SCORES, found, self.folder / folder / "scores.parquet")
        record = json.dumps({"settings": {}})
        (self.folder / folder / "run.json").write_text(record)

    def cells(self, make=accuracy):
        self.fill()
        inputs = Inputs(
            self.folder, self.folder, self.systems, PRINTED[self.name], PAPER, self.name
        )
        found = list(make(inputs))
        # Raises an error if a published cell is missing or if a cell occurs twice.
        build(PRINTED[self.name], found, comparable=False)
        return {(cell.row, cell.column): cell for cell in found}

    def right(self, folder, condition, group="analysis", head="nli"):
        """Return for each example of a group whether its answer is correct."""
        given = self.answers[folder][condition]
        return [given[row["example_id"]] == row["label"] for row in asked(head, group)]

    def fill(self):
        """Add a system without runs for each published row that has no system."""
        for row in {cell.row for cell in PRINTED[self.name]}:
            head = "nli" if row.startswith(THREE) else "entailment"
            name = row.removeprefix(PREFIX[head])
            there = {(system["heads"], system["row"]) for system in self.systems}
            if row in panels(self.name) and (head, name) not in there:
                self.add(name, (), head=head, reason="not here")


@pytest.fixture
def table(tmp_path):
    return Table(tmp_path)


def test_mcnemar_is_1_for_systems_with_the_same_correct_answers():
    assert nli_tables.mcnemar([[True, False], [True, False]]) == 1.0
    assert nli_tables.mcnemar([[True] * 10, [False] * 10]) == pytest.approx(2 / 2**10)


# Values of an exact binomial test over the examples that only one of two systems answers correctly.
@pytest.mark.parametrize(
    ("only_first", "only_second", "p_value"),
    [(0, 0, 1.0), (0, 1, 1.0), (1, 8, 0.0390625), (7, 7, 1.0), (3, 20, 0.00048828125)],
)
def test_mcnemar_has_the_value_of_the_binomial_test(only_first, only_second, p_value):
    first = [True, False] + [True] * only_first + [False] * only_second
    second = [True, False] + [False] * only_first + [True] * only_second
    assert nli_tables.mcnemar([first, second]) == pytest.approx(p_value, abs=1e-12)


@pytest.mark.parametrize(
    ("answers", "labels", "value"),
    [
        ("eenc", "eenc", 1),
        ("eecn", "eenc", 1 / 3),
        ("nnnx", "enne", 1 / 2),  # x is no label of an example
        ([0, 2, 2, 1], [0, 0, 2, 2], 1 / 2),
        ("n", "e", 0),
    ],
)
def test_balanced_accuracy_is_the_mean_recall_of_the_labels_that_occur(
    answers, labels, value
):
    found = nli_tables.balanced_accuracy([*answers], [*labels])
    assert found == pytest.approx(value, abs=1e-12)


def test_published_rows_have_the_accuracy_and_exact_interval_of_each_column(table):
    (folder,) = table.add(ALBERT)
    cells = table.cells()
    for column, condition in COLUMNS.items():
        cell, right = cells[THREE + ALBERT, column], table.right(folder, condition)
        assert cell.value == pytest.approx(statistics.fmean(right))
        expected = proportion_confint(sum(right), len(right), method="beta")
        assert (cell.low, cell.high) == pytest.approx(expected)
        assert (cell.runs, cell.seeds) == ((folder,), (pytest.approx(cell.value),))
        assert cells[THREE + BART, column].reason == "not here"
    assert not [
        row for row, column in cells if ALBERT in row and "all lengths" in column
    ]


def test_value_and_interval_are_means_over_seeds(table):
    folders = table.add(ALBERT, ("a", "b", "c"))
    cell = table.cells()[THREE + ALBERT, VERSUS]
    rights = [table.right(folder, COLUMNS[VERSUS]) for folder in folders]
    assert (
        cell.seeds == pytest.approx(tuple(map(statistics.fmean, rights)))
        and len(set(cell.seeds)) > 1
    )
    ends = np.array(
        [proportion_confint(sum(right), len(right), method="beta") for right in rights]
    )
    assert [cell.value, cell.low, cell.high] == pytest.approx(
        [np.mean(rights), *ends.mean(axis=0)]
    )


def test_additional_rows_also_have_scores_over_all_lengths(table):
    (folder,) = table.add("Ours", additional=True, baseline=True, trained=False)
    cells = table.cells()
    for column, condition in COLUMNS.items():
        short, long = (
            cells[THREE + "Ours", column],
            cells[THREE + "Ours", f"{column}, all lengths"],
        )
        assert short.value == pytest.approx(
            statistics.fmean(table.right(folder, condition))
        )
        assert long.value == pytest.approx(
            statistics.fmean(table.right(folder, condition, ""))
        )
        assert short.seeds is None and short.baseline == "Ours"


def test_rows_have_their_trained_views_and_published_rows_a_reason_for_the_others(
    table,
):
    table.add("Ours", conditions=["short > long"], additional=True)
    table.add(ALBERT, conditions=["short > long", "long_bm25 > long_bm25"])
    cells = table.cells()
    assert {column for row, column in cells if row == THREE + "Ours"} == {
        "(1) Short premise / No",
        "(1) Short premise / No, all lengths",
    }
    assert cells[THREE + ALBERT, "(5) Long premise / No"].reason == NOT_UNDER
    assert cells[THREE + ALBERT, "(1) Short premise / No"].value is not None


def test_columns_with_too_few_test_examples_are_not_run(table):
    (folder,) = table.add("Ours", additional=True)
    record = json.dumps({"settings": {"min_test": 24}})
    (table.folder / folder / "run.json").write_text(record)
    cells = table.cells()
    assert (
        cells[THREE + "Ours", VERSUS].reason
        == f"{len(asked())} test examples, fewer than 24"
    )
    assert cells[THREE + "Ours", f"{VERSUS}, all lengths"].value is not None


def test_accuracy_by_label_uses_only_examples_of_that_label(tmp_path):
    made = Table(tmp_path, "table_labels")
    (folder,) = made.add("Ours", additional=True)
    inputs = Inputs(tmp_path, tmp_path, made.systems, [], PAPER, "table_labels")
    cells = {
        (cell.row, cell.column): cell for cell in nli_tables.accuracy_by_label(inputs)
    }
    right = made.right(folder, "long_bm25 > long_bm25", "")
    of_label = [
        one
        for one, row in zip(right, asked("nli", ""), strict=True)
        if row["label"] == 1
    ]
    assert cells["Ours", "(6), neutral"].value == pytest.approx(
        statistics.fmean(of_label)
    )
    assert cells["Test examples", "(6), neutral"].value == len(of_label)
    assert cells[GUESSING, "(6), neutral"].value in (0, 1)


def test_models_without_a_published_row_are_not_in_the_table(table):
    table.add("zlucia_custom-legalbert_vanilla")
    assert not [row for row, _ in table.cells() if "custom-legalbert" in row]


def test_submitted_predictions_have_a_separate_column(table):
    (folder,) = table.add(
        "Theirs", conditions=[SUBMITTED], additional=True, submitted=True, trained=False
    )
    cells = {key: cell for key, cell in table.cells().items() if "Theirs" in key[0]}
    assert {column: cell.value for (_, column), cell in cells.items()} == pytest.approx(
        {
            "Predictions given": statistics.fmean(table.right(folder, SUBMITTED)),
            "Predictions given, all lengths": statistics.fmean(
                table.right(folder, SUBMITTED, "")
            ),
        }
    )


def test_p_values_are_the_maximum_over_models_and_seeds(table):
    folders = [*table.add(ALBERT, ("a", "b")), *table.add(BART)]
    # An additional row is not a model of the paper; it has separate p-values.
    (ours,) = table.add("Ours", additional=True)
    cells = table.cells()

    def value(folder, column, group="analysis"):
        pair = [
            table.right(folder, condition, group)
            for condition in (COLUMNS[column], COLUMNS[VERSUS])
        ]
        one, other = map(np.array, pair)
        counts = [
            [np.sum((one == a) & (other == b)) for b in (True, False)]
            for a in (True, False)
        ]
        return statsmodels_mcnemar(counts, exact=True).pvalue

    printed = {
        cell.column for cell in PRINTED["table5"] if cell.row == nli_tables.P_VALUES
    }
    assert printed == {column for column in COLUMNS if column[1] in "1234"}
    for column in printed:
        expected = max(value(folder, column) for folder in folders)
        assert cells[nli_tables.P_VALUES, column].value == pytest.approx(expected)
    # A published 0 is a p-value below 0.0005 according to the captions, so it has three decimals.
    assert {
        cell.decimals for cell in PRINTED["table5"] if cell.row == nli_tables.P_VALUES
    } == {3}
    own = THREE + "Ours, p-value versus (6)"
    for column in COLUMNS:
        if column != VERSUS:
            assert cells[own, column].value == pytest.approx(value(ours, column))
            assert cells[own, f"{column}, all lengths"].value == pytest.approx(
                value(ours, column, "")
            )
    assert (own, VERSUS) not in cells and (own, f"{VERSUS}, all lengths") not in cells


def test_without_a_published_model_there_is_no_p_value(table):
    table.add("Ours", additional=True)
    cells = table.cells()
    found = [cell for (row, _), cell in cells.items() if row == nli_tables.P_VALUES]
    assert len(found) == 4 and {(cell.value, cell.reason) for cell in found} == {
        (None, NO_PRINTED)
    }


def test_n_counts_the_test_examples_of_each_column(tmp_path):
    table = Table(tmp_path, "table14")
    cells = table.cells()
    groups = ("analysis", "analysis", "above_median", "negated")
    for prefix, head in ((THREE, "nli"), (TWO, "entailment")):
        found = [
            cells[f"{prefix}N", column].value
            for column in PAPER.tables["table14"].names["columns"]
        ]
        assert found == [len(asked(head, group)) for group in groups]
    # With two labels, Entail examples occur twice.
    assert cells[f"{TWO}N", "No / All"].value > cells[f"{THREE}N", "No / All"].value


@pytest.mark.parametrize("name", ["table14", "table15"])
def test_subsets_and_two_label_models_are_scored_separately(tmp_path, name):
    table = Table(tmp_path, name)
    (three,), (two,) = (
        table.add(ALBERT),
        table.add("albert-xxlarge-v2_DocNLI", head="entailment"),
    )
    cells = table.cells()
    for column, entry in PAPER.tables[name].names["columns"].items():
        group = entry.get("group", "analysis")
        for prefix, row, folder, head in (
            (THREE, ALBERT, three, "nli"),
            (TWO, "albert-xxlarge-v2_DocNLI", two, "entailment"),
        ):
            right = table.right(folder, entry["condition"], group, head)
            assert cells[prefix + row, column].value == pytest.approx(
                statistics.fmean(right)
            )


# Table 16.

# Warnings of scikit-learn about predicted classes that are not among the labels.
UNASKED = "ignore:(y_pred contains classes|A single label)"
GOLD = {
    "r00": "entail",
    "r01": "contradict",
    "r03": "neutral",
    "r04": "neutral",
    "r07": "contradict",
}


@pytest.fixture
def readings(tmp_path, monkeypatch):
    """Write two readings of seven pairs (equal for five test pairs) and of a pair of another data set."""
    lines = ["data_set,pair,reader,reading,confidence,note"]
    both = {name: (label, label) for name, label in GOLD.items()}
    both |= {"r06": ("entail", "neutral"), "r24": ("entail", "entail")}
    for name, labels in both.items():
        lines += [
            f"{DATA_SET},{name},{who},{of},high,"
            for who, of in zip("AB", labels, strict=True)
        ]
    lines += [f"{'1' * 64},r09,{who},entail,high," for who in "AB"]
    path = tmp_path / "readings.csv"
    path.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(nli_tables, "READINGS", path)


@pytest.mark.filterwarnings(UNASKED)
def test_gold_labels_are_labels_on_which_both_readers_of_this_data_set_agree(
    tmp_path, readings
):
    table = Table(tmp_path, "table16")
    folders = table.add(ALBERT, ("a", "b"))
    table.add("Ours", additional=True)
    cells = table.cells(by_readings)
    # Pairs on which they disagree and pairs outside the test split are excluded.
    rows = [row for row in asked() if row["reading"] in GOLD]
    assert len(rows) == 5
    for column, entry in PAPER.tables["table16"].names["columns"].items():
        labels = [
            ANSWERS["nli"].index(GOLD[row["reading"]])
            if entry["labels"] == "gold"
            else row["label"]
            for row in rows
        ]
        given = [table.answers[folder][entry["condition"]] for folder in folders]
        values = [
            balanced_accuracy_score(
                labels, [answers[row["example_id"]] for row in rows]
            )
            for answers in given
        ]
        cell = cells[THREE + ALBERT, column]
        assert (cell.value, cell.seeds) == (
            pytest.approx(np.mean(values)),
            pytest.approx(tuple(values)),
        )
        assert cells[f"{THREE}N", column].value == 5
        assert cells[THREE + "Ours", column].value is not None
        assert cells[THREE + BART, column].reason == "not here"


def test_readings_of_another_data_set_are_ignored(tmp_path, readings):
    table = Table(tmp_path, "table16", notes="2" * 64)
    table.add(ALBERT)
    table.add("Ours", additional=True)
    cells = table.cells(by_readings)
    for column in PAPER.tables["table16"].names["columns"]:
        assert (
            cells[THREE + ALBERT, column].value,
            cells[THREE + ALBERT, column].reason,
        ) == (None, NOT_READ)
        assert cells[f"{THREE}N", column].value == 0
        assert (THREE + "Ours", column) not in cells


def test_table_16_gives_a_reason_for_views_that_a_model_was_not_trained_on(
    tmp_path, readings
):
    table = Table(tmp_path, "table16")
    table.add(ALBERT, conditions=["long_bm25 > long_bm25"])
    cells = table.cells(by_readings)
    reasons = [
        cells[THREE + ALBERT, column].reason
        for column in PAPER.tables["table16"].names["columns"]
    ]
    assert reasons == [NOT_UNDER, NOT_UNDER, "", ""]
