"""LawngNLI's Tables 5 and 12 to 16: accuracies with exact intervals, McNemar's tests,
and gold labels.
"""

import json
import statistics
from collections import defaultdict
from operator import itemgetter
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.proportion import proportion_confint

from helpers.registered import context
from lextables import ROOT
from lextables.papers.lawngnli.dataset.pairs import ANSWERS, PAIRS, TEXTS
from lextables.papers.lawngnli.evaluation import nli_tables
from lextables.papers.lawngnli.evaluation.label_tables import GUESSING
from lextables.papers.lawngnli.evaluation.nli_tables import (
    BIAS,
    NO_PRINTED,
    NOT_ALL,
    NOT_READ,
    NOT_UNDER,
    OF_ALL,
    OF_LARGEST_GAP,
    PREFIX,
    accuracy,
    by_readings,
)
from lextables.pipeline.dataset import write
from lextables.pipeline.run import SCORES
from lextables.planning.paper_plan import plan
from lextables.registry.packages import load
from lextables.tables.cells import build
from lextables.tables.inputs import Inputs
from lextables.tables.published import load as load_published
from lextables.tasks.classification.scoring import SUBMITTED, score
from lextables.tasks.classification.settings import ScoreSettings

PAPER = load(ROOT / "resources/papers/lawngnli.yaml")
TASK = PAPER.tasks["lawngnli_nli"]
TABLES = ("table5", "table12", "table13", "table14", "table15", "table16")
PRINTED = defaultdict(list)
for published in load_published(ROOT / "resources/published/lawngnli.csv"):
    PRINTED[published.table].append(published)
HEADS = [{"head_id": head, "answers": [*ANSWERS[head]]} for head in sorted(ANSWERS)]
THREE = PREFIX["nli"]
TWO = PREFIX["entailment"]
DATA_SET = "0" * 64


def columns_of(table):
    """Return {published column of a table: its condition, group and labels}."""
    return PAPER.tables[table].names["columns"]


COLUMNS = {name: entry["condition"] for name, entry in columns_of("table5").items()}
(VERSUS,) = (name for name in COLUMNS if name.startswith("(6)"))
CONDITIONS = sorted({*COLUMNS.values(), "none > long", "none > short", "short > short"})
ALBERT, BART = "albert-xxlarge-v2_anli", "facebook_bart-large_anli"


# Registered and published rows and columns.


def panels(table):
    """Return {name of a published row: its panel} for all rows that a table may
    contain.
    """
    heads = [where["heads"] for where in PAPER.tables[table].rows]
    found = {}
    for panel in TASK.models.values():
        head = (panel.heads or TASK.heads)[0]
        if head in heads and not panel.additional:
            found[PREFIX[head] + panel.row] = panel
    return found


@pytest.mark.parametrize("table", TABLES)
def test_registered_columns_are_the_published_ones_and_have_valid_settings(table):
    columns = columns_of(table)
    printed = dict.fromkeys(cell.column for cell in PRINTED[table])
    printed.pop(BIAS, None)
    assert list(columns) == list(printed)
    for entry in columns.values():
        trained, _, view = entry["condition"].partition(" > ")
        assert view in TASK.readings[trained] and view in TASK.views
        assert entry.get("group", "analysis") in TASK.groups
        assert entry.get("labels", "gold") in ("automatic", "gold")


def test_two_label_models_are_those_trained_on_docnli():
    panels = TASK.models.values()
    two = {panel.row for panel in panels if panel.heads == ("entailment",)}
    assert two == {panel.row for panel in panels if panel.after == "docnli"}
    published = [panel for panel in panels if panel.row in two and not panel.additional]
    assert len(published) == 7


def planned(grid):
    """Return the plan of LawngNLI with all weights, and {folder of a run: its spec} of
    inferences.
    """
    given = {"data": "release", "models": "paper", "grid": grid, "seeds": [0]}
    made = plan(PAPER, context("lawngnli", **given))
    inferences = {}
    for run, spec in made.specs.items():
        if run.data_set == "lawngnli_nli" and "readings" in spec.settings:
            inferences[run.folder] = spec
    return made, inferences


@pytest.mark.parametrize("table", TABLES)
def test_the_papers_settings_cover_each_published_cell(table):
    made, inferences = planned("paper")
    read_by = {
        PREFIX[row["heads"]] + row["row"]: row["runs"]["100"]
        for row in made.rows[table]
    }
    others = {nli_tables.P_VALUES, f"{THREE}N", f"{TWO}N", OF_LARGEST_GAP, OF_ALL}
    cells = [cell for cell in PRINTED[table] if cell.row not in others]
    assert {cell.row for cell in cells} <= panels(table).keys()
    for cell in cells:
        (folder,) = read_by[cell.row]
        readings = inferences[folder].settings["readings"]
        condition = columns_of(table)[cell.column]["condition"]
        assert condition in [reading["condition"] for reading in readings], cell


@pytest.mark.parametrize("grid", sorted(TASK.grids))
def test_each_run_has_a_view_with_every_grid(grid):
    _, inferences = planned(grid)
    assert inferences
    assert all(spec.settings["readings"] for spec in inferences.values())
    assert all(spec.sources for spec in inferences.values())


def test_a_reranker_that_is_anlis_checkpoint_has_one_run_for_all_seeds():
    settings = {"data": "release", "models": "paper", "grid": "paper"}
    made = plan(PAPER, context("lawngnli", gpu=True, **settings, seeds=[0, 1, 2]))
    rows = {}
    for row in made.rows["table6"]:
        if not row["additional"]:
            numbers = {len(runs) for runs in row["runs"].values()}
            rows[row["reranker"]] = (row["trained"], numbers)
    assert rows["albert-xxlarge-v2_anli"] == (False, {1})
    assert rows["albert-xxlarge-v2_DocNLI"] == (True, {3})


def test_rows_name_the_other_data_sets_that_their_models_are_trained_on():
    made = plan(
        PAPER, context("lawngnli", data="release", models="paper", grid="paper")
    )
    found = {row["row"]: row["training_data"] for row in made.rows["table13"]}
    # The authors' checkpoint needs no training here.
    assert found[ALBERT] == []
    assert found["roberta-large_vanilla"] == []
    assert found["allenai_longformer-base-4096_anli"] == ["anli"]
    long = "allenai_longformer-base-4096_ConTRoL-dataset"
    assert found[long] == ["anli", "control"]


# Computed values.


def examples():
    """Return 24 test examples with three and with two labels; four of them are not in
    the analysis subset.
    """
    texts = ("short", "short_bm25", "long", "long_bm25", "hypothesis")
    rows = []
    for number in range(26):
        label = number % 3
        analysis = number % 3 < 2 or number < 12
        shared = dict.fromkeys(texts, "t") | {
            "example": f"e{number:02}",
            "split": ["test", "train"][number >= 24],
            "premise": str(number // 2),
            "reading": f"r{number:02}",
            "analysis": analysis,
            "negated": analysis and number % 4 == 1,
            "above_median": analysis and number % 5 == 2,
            "difficult": True,
        }
        answers = [("nli", label), ("entailment:1", int(label > 0))]
        if label == 0:
            answers.append(("entailment:2", 0))
        for name, answer in answers:
            head = name.partition(":")[0]
            own = {"example_id": f"e{number:02}:{name}", "head_id": head}
            rows.append(shared | own | {"label": answer})
    return sorted(rows, key=itemgetter("example_id"))


def asked(head="nli", group="analysis"):
    """Return the test examples of a head and a group; "" for all."""
    test = [row for row in examples() if row["split"] == "test"]
    return [row for row in test if row["head_id"] == head and row.get(group, True)]


def answers_of(name, head="nli", conditions=CONDITIONS):
    """Return {condition: {example: answer}}, seeded by the run's name; about 2/3
    correct, others random.
    """
    drawn = np.random.default_rng([*map(ord, name)])
    given = {condition: {} for condition in conditions}
    for answers in given.values():
        for row in asked(head, ""):
            answers[row["example_id"]] = row["label"]
            if drawn.random() >= 2 / 3:
                answers[row["example_id"]] = int(drawn.integers(len(ANSWERS[head])))
    return given


class Table:
    """A table of simulated runs: answers of the systems, and the cells computed from
    them.
    """

    def __init__(self, folder, name="table5", notes=DATA_SET):
        self.folder, self.name, self.systems, self.answers = folder, name, [], {}
        write(PAIRS, examples(), folder / "examples.parquet")
        text = {"text_id": "t", "text": "the lease was void"}
        write(TEXTS, [text], folder / "texts.parquet")
        census = {"notes": {"rows_sha256 of lawngnli's examples": notes}}
        (folder / "census.json").write_text(json.dumps(census))

    def add(self, row, runs=("a",), *, head="nli", conditions=CONDITIONS, **changes):
        """Add a system with these runs; each run has different answers."""
        folders = [f"runs/{row}/{run}" for run in runs]
        for folder in folders:
            self.answers[folder] = answers_of(folder, head, conditions)
            self._write(folder, head)
        system = dict.fromkeys(
            ("additional", "submitted", "baseline", "lenient"), False
        )
        system |= {"row": row, "reason": "", "parameters": 1, "trained": True}
        system |= {"averages": 1, "setting": "multi", "heads": head, "runs": {}}
        if folders:
            system["runs"] = {"100": folders}
        self.systems.append(system | changes)
        return folders

    def _write(self, folder, head):
        predictions = []
        for condition, given in self.answers[folder].items():
            for example, answer in given.items():
                row = {"head_id": head, "example_id": example}
                row["logits"] = np.eye(len(ANSWERS[head]))[answer].tolist()
                row["probabilities"] = row["logits"]
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
        self.record(folder, {})

    def record(self, folder, settings):
        """Write the settings of a run."""
        record = json.dumps({"settings": settings})
        (self.folder / folder / "run.json").write_text(record)

    def cells(self, make=accuracy):
        """Return {(row, column): cell}, with a system without runs for each other
        published row.
        """
        printed = PRINTED[self.name]
        there = {PREFIX[system["heads"]] + system["row"] for system in self.systems}
        for row in panels(self.name).keys() & {cell.row for cell in printed} - there:
            head = "nli" if row.startswith(THREE) else "entailment"
            name = row.removeprefix(PREFIX[head])
            self.add(name, (), head=head, reason="not here")
        folders = (self.folder, self.folder)
        found = list(make(Inputs(*folders, self.systems, printed, PAPER, self.name)))
        # Raises an error if a published cell is missing or if a cell occurs twice.
        build(printed, found, comparable=False)
        return {(cell.row, cell.column): cell for cell in found}

    def right(self, folder, condition, group="analysis", head="nli"):
        """Return for each example of a group whether its answer is correct."""
        given = self.answers[folder][condition]
        return [given[row["example_id"]] == row["label"] for row in asked(head, group)]

    def share(self, *answers):
        """Return the share of correct answers (`right`)."""
        return pytest.approx(statistics.fmean(self.right(*answers)))


@pytest.fixture
def table(tmp_path):
    return Table(tmp_path)


# Values of an exact binomial test over the examples that only one of two systems
# answers correctly.
@pytest.mark.parametrize(
    ("only_first", "only_second", "p_value"),
    [
        (0, 0, 1),
        (0, 1, 1),
        (10, 0, 2**-9),
        (1, 8, 10 / 2**8),
        (7, 7, 1),
        (3, 20, 2**-11),
    ],
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
    folders = table.add(ALBERT, ("a", "b", "c"))
    cells = table.cells()
    for column, condition in COLUMNS.items():
        cell = cells[THREE + ALBERT, column]
        rights = np.array([table.right(folder, condition) for folder in folders])
        ends = [
            proportion_confint(sum(right), len(right), method="beta")
            for right in rights
        ]
        # Value and interval are means over seeds.
        assert cell.seeds == pytest.approx(tuple(rights.mean(axis=1)))
        assert (cell.low, cell.high) == pytest.approx(tuple(np.mean(ends, axis=0)))
        assert cell.value == pytest.approx(rights.mean())
        assert cell.runs == tuple(folders)
        assert cells[THREE + BART, column].reason == "not here"
        assert (THREE + ALBERT, f"{column}, all lengths") not in cells
    assert len(set(cell.seeds)) > 1


def test_additional_rows_also_have_scores_over_all_lengths(table):
    (folder,) = table.add("Ours", additional=True, baseline=True, trained=False)
    cells = table.cells()
    for column, condition in COLUMNS.items():
        short = cells[THREE + "Ours", column]
        assert short.value == table.share(folder, condition)
        assert short.seeds is None and short.baseline == "Ours"
        all_lengths = cells[THREE + "Ours", f"{column}, all lengths"]
        assert all_lengths.value == table.share(folder, condition, "")


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


def test_a_condition_with_the_same_model_for_all_seeds_is_deterministic(tmp_path):
    table = Table(tmp_path, "table14")
    folders = table.add(ALBERT, ("a", "b"), deterministic=["none > long"])
    cells = table.cells()
    cell = cells[THREE + ALBERT, "No / All"]
    assert (cell.seeds, cell.runs) == (None, (folders[0],))
    assert cell.value == table.share(folders[0], "none > long")
    assert len(cells[THREE + ALBERT, "Yes / All"].seeds) == 2


def test_columns_with_too_few_test_examples_are_not_run(table):
    (folder,) = table.add("Ours", additional=True)
    table.record(folder, {"min_test": 24})
    cells = table.cells()
    reason = f"{len(asked())} test examples, fewer than 24"
    assert cells[THREE + "Ours", VERSUS].reason == reason
    assert cells[THREE + "Ours", f"{VERSUS}, all lengths"].value is not None


def test_accuracy_by_label_uses_only_examples_of_that_label(tmp_path):
    made = Table(tmp_path, "table_labels")
    (folder,) = made.add("Ours", additional=True)
    inputs = Inputs(tmp_path, tmp_path, made.systems, [], PAPER, "table_labels")
    cells = {
        cell.row: cell
        for cell in nli_tables.accuracy_by_label(inputs)
        if cell.column == "(6), neutral"
    }
    decimals = {row: cell.decimals for row, cell in cells.items()}
    assert decimals == {"Ours": 3, "Test examples": 0, GUESSING: 3}
    values = {row: cell.value for row, cell in cells.items()}
    given = made.answers[folder]["long_bm25 > long_bm25"]
    neutral = [row for row in asked("nli", "") if row["label"] == 1]
    correct = [given[row["example_id"]] == 1 for row in neutral]
    assert values["Ours"] == pytest.approx(statistics.fmean(correct))
    assert values["Test examples"] == len(neutral)
    assert values[GUESSING] in (0, 1)


def test_models_without_a_published_row_are_not_in_the_table(table):
    table.add("zlucia_custom-legalbert_vanilla")
    assert not [row for row, _ in table.cells() if "custom-legalbert" in row]


def test_submitted_predictions_have_a_separate_column(table):
    (folder,) = table.add(
        "Theirs", conditions=[SUBMITTED], additional=True, submitted=True, trained=False
    )
    values = {
        column: cell.value
        for (row, column), cell in table.cells().items()
        if "Theirs" in row
    }
    assert values == {
        "Predictions given": table.share(folder, SUBMITTED),
        "Predictions given, all lengths": table.share(folder, SUBMITTED, ""),
    }


def add_submitted(table):
    """Add submitted predictions, and return their answers."""
    (folder,) = table.add(
        "Theirs", conditions=[SUBMITTED], additional=True, submitted=True, trained=False
    )
    return table.answers[folder][SUBMITTED]


def test_submitted_predictions_have_accuracies_by_label(tmp_path):
    table = Table(tmp_path, "table_labels")
    answers = add_submitted(table)
    inputs = Inputs(tmp_path, tmp_path, table.systems, [], PAPER, "table_labels")
    cells = {}
    for cell in nli_tables.accuracy_by_label(inputs):
        cells[cell.row, cell.column] = cell.value
    correct = []
    for row in asked("nli", ""):
        if row["label"] == 1:
            correct.append(answers[row["example_id"]] == 1)
    column = "Predictions given, neutral"
    assert cells["Theirs", column] == pytest.approx(statistics.fmean(correct))
    assert cells["Test examples", column] == len(correct)
    other_columns = {column for row, column in cells if row == "Theirs"}
    assert all(name.startswith("Predictions given, ") for name in other_columns)


def test_p_values_are_the_maximum_over_all_models_for_each_seed(table):
    names = sorted({cell.row for cell in PRINTED["table5"] if "_" in cell.row})
    folders = {}
    for row in names[1:]:
        folders[row] = table.add(row.removeprefix(THREE), ("a", "b", "c"))
    # An additional row is not a model of the paper; it has separate p-values.
    (ours,) = table.add("Ours", additional=True)
    printed = [cell for cell in PRINTED["table5"] if cell.row == nli_tables.P_VALUES]
    assert {cell.column[:3] for cell in printed} == {"(1)", "(2)", "(3)", "(4)"}
    cells = dict(table.cells())
    for cell in printed:
        found = cells[cell.row, cell.column]
        assert (found.value, found.reason) == (None, NOT_ALL)

    table.systems = [system for system in table.systems if system["runs"]]
    name = names[0].removeprefix(THREE)
    folders[names[0]] = table.add(name, ("a", "b", "c"), averages=2)
    cells = table.cells()

    def value(folder, column, group="analysis"):
        one = table.right(folder, COLUMNS[column], group)
        other = table.right(folder, COLUMNS[VERSUS], group)
        counts = confusion_matrix(one, other, labels=[True, False])
        return statsmodels_mcnemar(counts, exact=True).pvalue

    for cell in printed:
        maxima = []
        for of_seed in zip(*folders.values(), strict=True):
            maxima.append(max(value(folder, cell.column) for folder in of_seed))
        found = cells[cell.row, cell.column]
        assert found.seeds == pytest.approx(tuple(maxima))
        assert found.value == pytest.approx(statistics.fmean(maxima))
        assert set(found.runs) == {run for runs in folders.values() for run in runs}
        # A published 0 is a p-value below 0.0005 according to the captions: three
        # decimals.
        assert cell.decimals == 3
    own = THREE + "Ours, p-value versus (6)"
    expected = {}
    for column in COLUMNS.keys() - {VERSUS}:
        expected[column] = value(ours, column)
        expected[f"{column}, all lengths"] = value(ours, column, "")
    found = {column: cell.value for (row, column), cell in cells.items() if row == own}
    assert found == pytest.approx(expected)


def test_without_a_published_model_there_is_no_p_value(table):
    table.add("Ours", additional=True)
    cells = table.cells()
    found = [cell for (row, _), cell in cells.items() if row == nli_tables.P_VALUES]
    assert len(found) == 4 and {(cell.value, cell.reason) for cell in found} == {
        (None, NO_PRINTED)
    }


def test_n_counts_the_test_examples_of_each_column(tmp_path):
    cells = Table(tmp_path, "table14").cells()
    groups = ("analysis", "analysis", "above_median", "negated")
    for column, group in zip(columns_of("table14"), groups, strict=True):
        assert cells[f"{THREE}N", column].value == len(asked("nli", group))
        assert cells[f"{TWO}N", column].value == len(asked("entailment", group))
    # With two labels, Entail examples occur twice.
    assert cells[f"{TWO}N", "No / All"].value > cells[f"{THREE}N", "No / All"].value


@pytest.mark.parametrize("name", ["table14", "table15"])
def test_subsets_and_two_label_models_are_scored_separately(tmp_path, name):
    table = Table(tmp_path, name)
    docnli = "albert-xxlarge-v2_DocNLI"
    (three,) = table.add(ALBERT)
    (two,) = table.add(docnli, head="entailment")
    cells = table.cells()
    for column, entry in columns_of(name).items():
        where = entry["condition"], entry.get("group", "analysis")
        assert cells[THREE + ALBERT, column].value == table.share(three, *where)
        found = cells[TWO + docnli, column].value
        assert found == table.share(two, *where, "entailment")


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
    """Write two readings of seven pairs (equal for five test pairs) and of a pair of
    another data set.
    """
    lines = ["data_set,pair,reader,reading,confidence,note"]
    for name, label in (GOLD | {"r06": "entail", "r24": "entail"}).items():
        second = "neutral" if name == "r06" else label
        lines.append(f"{DATA_SET},{name},A,{label},high,")
        lines.append(f"{DATA_SET},{name},B,{second},high,")
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
    for column, entry in columns_of("table16").items():
        labels = [row["label"] for row in rows]
        if entry["labels"] == "gold":
            labels = [ANSWERS["nli"].index(GOLD[row["reading"]]) for row in rows]
        values = []
        for folder in folders:
            given = table.answers[folder][entry["condition"]]
            answers = [given[row["example_id"]] for row in rows]
            values.append(balanced_accuracy_score(labels, answers))
        cell = cells[THREE + ALBERT, column]
        assert cell.value == pytest.approx(np.mean(values))
        assert cell.seeds == pytest.approx(tuple(values))
        assert cells[f"{THREE}N", column].value == 5
        assert cells[THREE + "Ours", column].value is not None
        assert cells[THREE + BART, column].reason == "not here"


@pytest.mark.filterwarnings(UNASKED)
def test_table_16_has_submitted_predictions_or_the_reason_why_not(tmp_path, readings):
    table = Table(tmp_path, "table16")
    answers = add_submitted(table)
    rows = [row for row in asked() if row["reading"] in GOLD]
    given = [answers[row["example_id"]] for row in rows]
    automatic = [row["label"] for row in rows]
    gold = [ANSWERS["nli"].index(GOLD[row["reading"]]) for row in rows]
    cells = table.cells(by_readings)
    for name, labels in (("Automatic", automatic), ("Gold", gold)):
        cell = cells[f"{THREE}Theirs", f"Predictions given / {name}"]
        assert cell.value == pytest.approx(balanced_accuracy_score(labels, given))

    (tmp_path / "other").mkdir()
    table = Table(tmp_path / "other", "table16", notes="2" * 64)
    add_submitted(table)
    cell = table.cells(by_readings)[f"{THREE}Theirs", "Predictions given / Gold"]
    assert (cell.value, cell.reason) == (None, NOT_READ)


def test_readings_of_another_data_set_are_ignored(tmp_path, readings):
    table = Table(tmp_path, "table16", notes="2" * 64)
    table.add(ALBERT)
    table.add("Ours", additional=True)
    cells = table.cells(by_readings)
    for column in columns_of("table16"):
        cell = cells[THREE + ALBERT, column]
        assert (cell.value, cell.reason) == (None, NOT_READ)
        assert cells[f"{THREE}N", column].value == 0
        assert (THREE + "Ours", column) not in cells


def test_table_16_gives_a_reason_for_views_that_a_model_was_not_trained_on(
    tmp_path, readings
):
    table = Table(tmp_path, "table16")
    table.add(ALBERT, conditions=["long_bm25 > long_bm25"])
    cells = table.cells(by_readings)
    columns = columns_of("table16")
    reasons = [cells[THREE + ALBERT, column].reason for column in columns]
    assert reasons == [NOT_UNDER, NOT_UNDER, "", ""]


def pairs_of(columns):
    """Return the columns in pairs: for each condition by automatic labels and by gold
    ones.
    """
    names = list(columns)
    return names[:2], names[2:]


MODELS = sorted({cell.row for cell in PRINTED["table16"] if "_" in cell.row})


def number(table, row, column):
    """Return a published value without its deviation."""
    (cell,) = [
        cell for cell in PRINTED[table] if (cell.row, cell.column) == (row, column)
    ]
    return float(cell.value.partition("+")[0])


def test_the_biases_of_section_4_1_2_follow_from_the_published_tables():
    """With the values of Tables 5 and 16 the two cells have the values that the text
    states.
    """
    gap = PAPER.tables["table16"].names["gap"]
    models, scores = [], {}
    for row in MODELS:
        values = {}
        for column, entry in columns_of("table16").items():
            key = entry["condition"], entry["labels"]
            values[key] = [number("table16", row, column)]
        models.append(([row], values))
        scores[row] = {}
        for column, entry in columns_of("table5").items():
            group = f"{entry['condition']}, analysis, head: nli"
            scores[row]["accuracy", group] = (number("table5", row, column), 1)
    names = SimpleNamespace(names={"gap": gap})
    inputs = SimpleNamespace(entry=names, scores=scores)
    largest, mean = nli_tables._biases(inputs, models, "")
    assert (largest.row, largest.runs) == (
        OF_LARGEST_GAP,
        (f"{THREE}facebook_bart-large_vanilla",),
    )
    assert len(models) == 6 and (mean.row, mean.runs) == (OF_ALL, tuple(MODELS))
    for cell in (largest, mean):
        published = number("table16", cell.row, BIAS)
        assert round(cell.value, 3) == published and cell.column == BIAS


@pytest.mark.filterwarnings(UNASKED)
def test_biases_need_all_published_models_and_have_a_value_for_each_seed(
    tmp_path, readings
):
    table = Table(tmp_path, "table16")
    names = [row.removeprefix(THREE) for row in MODELS]
    for name in names[1:]:
        table.add(name, ("a", "b"))
    table.add("Ours", ("a", "b"), additional=True)
    less = dict(table.cells(by_readings))
    for row in (OF_LARGEST_GAP, OF_ALL):
        assert (less[row, BIAS].value, less[row, BIAS].reason) == (None, NOT_ALL)
    table.systems = [system for system in table.systems if system["runs"]]
    table.add(names[0], ("a", "b"))
    cells = table.cells(by_readings)
    (four_automatic, four_gold), (six_automatic, six_gold) = pairs_of(
        columns_of("table16")
    )
    biases, gaps = {}, {}
    for row in MODELS:
        biases[row] = (
            np.array(cells[row, six_automatic].seeds)
            - cells[row, four_automatic].seeds
            - cells[row, six_gold].seeds
            + cells[row, four_gold].seeds
        )
        gaps[row] = 0
        for run in ("a", "b"):
            folder = f"runs/{row.removeprefix(THREE)}/{run}"
            gaps[row] += sum(table.right(folder, "long_bm25 > long_bm25"))
            gaps[row] -= sum(table.right(folder, "short_bm25 > long_bm25"))
    largest = max(gaps, key=gaps.get)
    assert cells[OF_LARGEST_GAP, BIAS].seeds == pytest.approx(tuple(biases[largest]))
    expected = np.mean(list(biases.values()), axis=0)
    assert cells[OF_ALL, BIAS].seeds == pytest.approx(tuple(expected))
    assert cells[OF_ALL, BIAS].value == pytest.approx(expected.mean())
    assert len(cells[OF_ALL, BIAS].runs) == 12
