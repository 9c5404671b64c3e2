"""MAUD's tables on a data set small enough to check by hand."""

import json
import math
import shutil

import pytest

from helpers import paper_tables
from helpers.paper_tables import PaperTables, column, write_filled, write_scores
from lextables import ROOT
from lextables.papers.maud import tables
from lextables.papers.maud.entry import Maud
from lextables.papers.maud.schema import (
    EXAMPLES,
    HYPERPARAMETERS,
    QUESTIONS,
    SPLIT_OVERLAP,
    TEXTS,
)
from lextables.registry.packages import load
from lextables.tables.cells import Score
from lextables.tables.figures import draw
from lextables.tasks.classification.planner import (
    ClassificationPanel,
    ClassificationTask,
)
from lextables.tasks.spans import squad

CLOSING, KNOWLEDGE, REMEDIES = "Conditions to Closing", "Knowledge", "Remedies"
MODELS = {
    "bert": ClassificationPanel(
        row="BERT", model="bert", single=True, published="bert-base-cased"
    ),
    "minilm": ClassificationPanel(
        row="MiniLM", model="minilm", single=True, multi=True, additional=True
    ),
}
TABLES = PaperTables(tables, Maud.model_construct(), "maud")
CATEGORIES = [row for row in TABLES.rows("table1") if row != "All Categories"]
NAMES = [row for row in TABLES.rows("table3") if row != "Overall"]
TABLES.paper = Maud.model_construct(
    categories=dict(zip(CATEGORIES, NAMES, strict=True)),
    printed_types={
        "Fiduciary exception to COR convent": "Fiduciary exception to COR covenant"
    },
    tasks={"maud": ClassificationTask.model_construct(models=MODELS)},
    tables=load(ROOT / "resources/papers/maud.yaml").tables,
)
computed, lines = TABLES.cells, TABLES.lines
PANEL = ["BERT", "RoBERTa", "LegalBERT", "DeBERTa", "BigBird"]
HEADS = [  # head, question, sub-question, category, answers
    ("01", "Standard", None, CLOSING, ["a", "b", "c"]),
    ("02-0", "Who", "x", KNOWLEDGE, ["<OTHER>", "x"]),
    ("02-1", "Who", "y", KNOWLEDGE, ["<OTHER>", "y"]),
    ("03", "Performance", None, REMEDIES, ["no", "yes"]),
]
ROWS = [  # head, split, data type, label, text
    *[("01", "test", "main", label, "short") for label in (0, 0, 1, 2)],
    *[("01", "test", "abridged", label, "short") for label in (0, 1)],
    *[("01", "train", "rare", label, "with specials") for label in (0, 1)],
    *[("02-0", "test", "main", label, "long") for label in (0, 1, 1, 1)],
    *[("02-1", "test", "abridged", label, "long") for label in (0, 1)],
    ("02-1", "dev", "main", 0, "short"),
]
TOKENS = {"short": 3, "with specials": 511, "long": 600}
GROUPS = [  # groups with a score, as a share of one
    ("all", 0.6),
    ("category: Conditions to Closing", 0.5),
    ("category: Knowledge", 0.7),
    ("question: Standard", 0.5),
    ("question: Who", 0.7),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "data" / "maud"
    examples, questions = [], []
    of_head = {}
    for position, (head, question, sub, category, answers) in enumerate(HEADS):
        of_head[head] = {
            "head_id": head,
            "question": question,
            "subquestion": sub,
            "category": category,
        }
        more = {"answers": answers, "position": position}
        questions.append(of_head[head] | more)
    for number, (head, split, data_type, label, text) in enumerate(ROWS):
        example = {
            "example_id": f"{number:03}",
            "split": split,
            "data_type": data_type,
            "label": label,
            "text_id": text,
        }
        examples.append(of_head[head] | example)
    bert = {"model": "bert-base-cased", "share": 1.0}
    made = {
        EXAMPLES: examples,
        QUESTIONS: questions,
        TEXTS: [
            {"text_id": name, "text": " the" * count} for name, count in TOKENS.items()
        ],
        SPLIT_OVERLAP: [
            {"kind": "contract", "key": "c1", "train": 1, "dev": 1},
            {"kind": "contract", "key": "c2", "train": 1, "test": 2},
            {"kind": "text", "key": "t1", "dev": 1, "test": 1, "heads": 1},
        ],
        HYPERPARAMETERS: [
            bert | {"head_id": "01", "share": 0.5, "validation_aupr": 0.1},
            bert | {"head_id": "01", "validation_aupr": 0.4},
            bert | {"head_id": "02-0", "validation_aupr": 0.8},
            bert | {"head_id": "02-1", "validation_aupr": 0.6},
            bert | {"head_id": "03", "validation_aupr": 0.9},
        ],
    }
    write_filled(folder, made)
    asked = [
        {"category": "No-Shop", "split": "train", "answers": 3},
        {"category": "No-Shop", "split": "test", "answers": 2},
        {"category": "MAE Definition", "split": "dev"},
        {
            "category": "Fiduciary exception to COR covenant",
            "split": "train",
            "answers": 1,
        },
        {
            "category": "Fiduciary exception:  Board determination (no-shop)",
            "split": "train",
            "answers": 4,
        },
    ]
    for number, question in enumerate(asked):
        question["question_id"] = str(number)
    write_filled(folder.parent / "maud_extraction", {squad.QUESTIONS: asked})
    return folder


def run(data, name, shift=0.0, setting="single", values=(), **more):
    """Write a run's scores and record below the folder ``data``, and return the run's
    folder.
    """
    rows = {
        ("random AUPR", "data type: abridged"): (0.3, 1),
        ("random AUPR, strict", "data type: abridged"): (0.35, 2),
        ("AUPR, low", "all"): (0.5, 9),
        ("AUPR, high", "all"): (0.7, 9),
        ("answers left out", "all"): (2.0, 9),
    }
    for metric, less in (
        ("AUPR", 0),
        ("random AUPR", 0.4),
        ("micro F1", 0.1),
        ("macro F1", 0.2),
    ):
        rows |= {(metric, group): (value - less + shift, 2) for group, value in GROUPS}
        rows[metric, "category: Remedies"] = rows[metric, "question: Performance"] = (
            math.nan,
            0,
        )
    rows |= dict(values)
    folder = data / "runs" / name
    write_scores(folder, rows)
    settings = {
        "grid": "small",
        "setting": setting,
        "published": None,
        "tried": 1,
        "batch_size": 16,
        "max_length": 128,
        "bf16": True,
    }
    trials = {"01": {"learning_rate": 3e-4, "updates": [40]}}
    record = {
        "settings": settings,
        "trials": trials,
        "device": "a processor",
        "seconds": 100.0,
        "training_examples": 3,
    } | more
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    return f"runs/{name}"


def system(row, runs=(), setting="single", **more):
    return paper_tables.system(row, runs, setting=setting, averages=3, **more)


def test_table9_counts_tokens_with_and_without_special_tokens(data):
    cells = computed(data, "table9")
    share, without = (
        "Percent Long Texts",
        "Percent Long Texts, special tokens not counted",
    )
    assert cells[CLOSING, share].value == pytest.approx(100 * 2 / 8)
    assert cells[CLOSING, without].value == 0
    assert cells["All Categories", share].value == pytest.approx(100 * 8 / len(ROWS))
    once = "All Categories, each different text once"
    assert (cells[once, share].value, cells[once, without].value) == pytest.approx(
        (200 / 3, 100 / 3)
    )
    assert cells["All Categories", "Deal Point Questions"].value == 3
    assert cells["All Categories", "Questions with examples in these data"].value == 2
    assert cells[REMEDIES, share].reason == "no example of this category in these data"


@pytest.mark.parametrize(
    ("tokens", "share", "without"), [(510, 0, 0), (512, 100, 0), (513, 100, 100)]
)
def test_a_long_text_has_more_than_512_tokens(data, tmp_path, tokens, share, without):
    # Table 9 counts texts of more than 512 tokens; two special tokens are added to a
    # text.
    folder = tmp_path / "data" / "maud"
    shutil.copytree(data, folder)
    texts = [{"text_id": name, "text": " the" * tokens} for name in TOKENS]
    write_filled(folder, {TEXTS: texts})
    cells = computed(folder, "table9")
    assert cells[CLOSING, "Percent Long Texts"].value == share
    assert (
        cells[CLOSING, "Percent Long Texts, special tokens not counted"].value
        == without
    )


def test_table3_shows_additional_models_next_to_published_ones(data):
    runs = [run(data, "s0"), run(data, "s1", shift=0.1)]
    mine = system("MiniLM", runs, additional=True)
    cells = lines(data, "table3", *map(system, PANEL), mine)
    ours = cells[CLOSING, "MiniLM"]
    assert (ours.ours, ours.runs, ours.low) == ("55.0", " ".join(runs), "")
    overall = cells["Overall", "MiniLM"]
    assert (overall.ours, overall.low, overall.high, overall.verdict) == (
        "65.0",
        "50.0",
        "70.0",
        "",
    )
    assert (
        cells[REMEDIES, "MiniLM"].reason
        == "no question of this category can be scored in these data"
    )
    assert cells[REMEDIES, "Random"].verdict == "not run"
    assert cells["Knowledge", "Random"].ours == "30.0"
    assert (cells["Overall", "BERT"].verdict, cells["Overall", "BERT"].reason) == (
        "not run",
        "not here",
    )
    # Each published row has a column for the additional model.
    shown = [column for row, column in cells if row == "Knowledge"]
    assert shown == ["Random", *PANEL, "MiniLM"]
    about = {
        column: line.ours for (row, column), line in cells.items() if row == "MiniLM"
    }
    assert about == {
        "Questions scored": "2",
        "Answers left out": "2",
        "Overall, minimum to maximum of runs": "60.0 to 70.0",
    }


def test_a_category_has_the_sampling_interval_of_its_scores(data):
    ends = {
        ("AUPR, low", "category: Knowledge"): (0.6, 2),
        ("AUPR, high", "category: Knowledge"): (0.8, 2),
    }
    rows = system("RoBERTa", [run(data, "ends", values=ends)])
    cell = computed(data, "table3", rows)["Knowledge", "RoBERTa"]
    assert (cell.low, cell.high) == pytest.approx((60, 80))
    assert (cell.averages, cell.measure) == (3, "Knowledge")


def test_differences_of_figure3_have_the_differences_of_their_seeds(data):
    runs = {"5": [], "100": []}
    for share, of_share in runs.items():
        for seed in range(3):
            shift = seed / 100 * int(share) - 0.2
            of_share.append(run(data, f"d{share}-{seed}", shift))
    cells = computed(data, "figure3", system("RoBERTa", runs))
    (cell,) = [
        c for (_, column), c in cells.items() if column.startswith("5%") and c.runs
    ]
    assert cell.seeds == pytest.approx((0, 95, 190))
    assert (cell.value, cell.averages) == (pytest.approx(95), 3)


def test_published_scores_that_random_reaches_list_it_as_a_baseline(data):
    ran = system("RoBERTa", [run(data, "baseline", 0.7)])
    found = lines(data, "table3", ran, comparable=True)
    # Random scores 80 and 100 % on these data, which is more than any published score
    # of a model.
    for row in ("Overall", "Knowledge"):
        assert found[row, "BERT"].baselines == "Random"
        assert not found[row, "Random"].baselines


def test_random_is_computed_from_the_data_if_nothing_ran(data):
    cells = computed(data, "table3", *map(system, PANEL))
    # Minorities: 3, 2 and 1 of 6; then 1 of 4 and 1 of 2, the two heads of a question,
    # which are averaged.
    assert cells[CLOSING, "Random"].value == pytest.approx(100 * (3 + 2 + 1) / 6 / 3)
    assert cells["Knowledge", "Random"].value == pytest.approx(
        100 * (1 / 4 + 1 / 2) / 2
    )
    assert cells[REMEDIES, "Random"].value is None


@pytest.mark.parametrize(
    ("table", "value"), [("table4", 70), ("table7", 60), ("table8", 50)]
)
def test_multi_task_tables_use_different_metrics(data, table, value):
    cells = computed(
        data,
        table,
        system("MiniLM", [run(data, "m0", setting="multi")], "multi", additional=True),
    )
    assert cells["Knowledge", "MiniLM"].value == pytest.approx(value)
    assert cells["Knowledge", "RoBERTa"].reason == "not in the panel of models"


def test_a_random_column_of_f1_is_not_filled_with_the_scores_of_a_model(data):
    # Random scores have an expected AUPR only.
    scored = system("MiniLM", [run(data, "f1", setting="multi")], "multi")
    table = computed(data, "table7", scored, system("Random", setting="multi"))
    assert table["Knowledge", "MiniLM"].value == pytest.approx(60)
    assert table["Knowledge", "Random"].value is None


def test_table6_has_a_strict_row_only_if_it_has_a_value(data):
    values = {
        ("AUPR", "data type: abridged"): (0.6, 1),
        ("AUPR", "data type: main"): (0.5, 1),
        ("AUPR, strict", "data type: abridged"): (0.55, 2),
        ("AUPR, strict", "data type: main"): (math.nan, 0),
    }
    cells = computed(
        data, "table6", system("RoBERTa", [run(data, "t6", values=values)], "multi")
    )
    assert cells["Abridged", "RoBERTa"].value == pytest.approx(60)
    assert cells["Abridged, strict", "RoBERTa"].value == pytest.approx(55)
    assert cells["Abridged, strict", "Random"].value == pytest.approx(35)
    assert "Main, strict" not in {row for row, _ in cells}
    assert list(column(cells, "Questions").values()) == [1, 2]


def test_table6_gives_a_reason_if_no_head_can_be_scored(data):
    cells = computed(data, "table6", *map(system, PANEL[1:4]))
    # Head 01 lacks an answer in its abridged examples; 02-1 has both, but no main test
    # example.
    assert cells["Abridged", "Random"].value == pytest.approx(50)
    assert (
        cells["Main", "Random"].reason
        == "no head with every answer among the abridged test examples can be scored in these data"
    )


def test_figure2_reads_a_stepwise_curve_and_draws_it(data):
    steps = {
        "0.000000000": 1.0,
        "0.333333333": 0.8,
        "0.600000000": 0.6,
        "1.000000000": 0.2,
    }
    values = {
        ("precision", f"recall: {recall}"): (value, 2)
        for recall, value in steps.items()
    }
    mine = system(
        "MiniLM", [run(data, "curve", values=values)], "multi", additional=True
    )
    found = computed(data, "figure2", system("RoBERTa", setting="multi"), mine)
    curve = {
        column: cell.value for (row, column), cell in found.items() if row == "MiniLM"
    }
    assert curve.pop("AUPR") == pytest.approx(60)
    # Recalls of 5, 10 … 100 %: six up to 33, six up to 60, eight above.
    assert list(curve.values()) == pytest.approx([80] * 6 + [60] * 6 + [20] * 8)
    assert found["RoBERTa", "AUPR"].reason == "not here"
    drawing = draw("curves", [*lines(data, "figure2", mine).values()], "x")
    assert "ours, MiniLM" in drawing


def test_figure3_has_published_differences_and_a_line_by_training_size(data):
    runs = {
        share: [run(data, f"p{share}", shift, training_examples=size)]
        for share, shift, size in (
            ("5", -0.2, 20),
            ("50", -0.05, 200),
            ("100", 0.0, 400),
        )
    }
    row = "AUPR on all training examples less that on a subset (points)"
    both = (
        system("RoBERTa", runs),
        system("MiniLM", {"100": runs["100"]}, additional=True),
    )
    cells = computed(data, "figure3", *both)
    assert cells[row, "5% of the training examples"].value == pytest.approx(20)
    assert cells[row, "50% of the training examples"].value == pytest.approx(5)
    assert cells[
        "RoBERTa / 5% of the training examples", "AUPR"
    ].value == pytest.approx(40)
    assert (
        cells["RoBERTa / 5% of the training examples", "Training examples"].value == 20
    )
    assert cells[
        "MiniLM / 100% of the training examples", "AUPR"
    ].value == pytest.approx(60)
    drawing = draw("line_by_size", [*lines(data, "figure3", *both).values()], "x")
    assert all(
        text in drawing
        for text in ("ours, RoBERTa", "ours, MiniLM", "Training examples", "AUPR")
    )


def test_table12_counts_spans_and_adds_a_column_for_joined_spans(data):
    values = {
        ("AUPR", "category: No-Shop"): (0.25, 2),
        ("AUPR", "category: MAE Definition"): (0.0, 0),
        ("AUPR, strict", "all"): (0.61, 2),
    }
    joined = run(data, "joined", values=values)
    cells = computed(
        data,
        "table12",
        system("RoBERTa-base", [run(data, "spans", values=values)]),
        system("RoBERTa-base, joined", [joined], additional=True),
    )
    column, fiduciary = (
        "RoBERTa-base (AUPR)",
        "Fiduciary exception: Board determination (no-shop)",
    )
    assert [cells["No-Shop", split].value for split in ("Train", "Dev", "Test")] == [
        3,
        0,
        2,
    ]
    assert cells["Fiduciary exception to COR convent", "Train"].value == 1
    assert cells[fiduciary, "Train"].value == 4
    assert cells["Overall", "Train"].value == 8
    assert (
        cells["Specific Performance", "Test"].reason
        == "these data have no question about this type"
    )
    assert cells["No-Shop", column].value == 25
    assert (
        cells["MAE Definition", column].reason
        == "no test span of this type in these data"
    )
    assert (
        cells["Overall", column].value,
        cells["Overall", column].low,
    ) == pytest.approx((60, 50))
    assert cells["No-Shop", "RoBERTa-base, joined (AUPR)"].value == 25
    assert cells["RoBERTa-base", "Overall AUPR, strict"].value == pytest.approx(61)


def test_the_validation_table_separates_dev_and_test_scores(data):
    runs = [run(data, "v0"), run(data, "v1", shift=0.1)]
    mine = (
        system("MiniLM", runs, additional=True),
        system("MiniLM", setting="multi", additional=True, reason="gated"),
    )
    cells = lines(data, "table_validation", *mine)
    assert list(dict.fromkeys(row for row, _ in cells)) == [
        "Standard",
        "Who",
        "Mean of these questions",
    ]
    assert cells["Standard", "Test examples here"].ours == "6"
    # Only the authors' values on all data count, and the two heads of a question are
    # averaged.
    authors = "BERT (authors, dev)"
    assert [
        cells[row, authors].ours
        for row in ("Standard", "Who", "Mean of these questions")
    ] == ["40.0", "70.0", "55.0"]
    ours = "MiniLM, single-task (ours, test)"
    assert (cells["Who", ours].ours, cells["Who", ours].low) == ("75.0", "")
    assert cells["Who", f"{ours}, minimum to maximum of runs"].ours == "70.0 to 80.0"
    mean = cells["Mean of these questions", ours]
    assert (mean.ours, mean.low, mean.high) == ("65.0", "50.0", "70.0")
    assert cells["Who", "Random, our test"].ours == "30.0"
    assert cells["Who", "MiniLM, multi-task (ours, test)"].reason == "gated"
    assert {line.verdict for line in cells.values()} == {"", "not run"}


@pytest.mark.parametrize(
    ("overall", "interval"),
    [
        # The mean of the questions, 50 % and 70 %, is the overall score.
        ((0.6, 2), ("50.0", "70.0")),
        ((0.61, 2), ("", "")),
        ((math.nan, 0), ("", "")),
        # NaN over some questions: the overall score of a seed that is undefined.
        ((math.nan, 2), ("", "")),
    ],
)
def test_a_mean_has_the_interval_of_the_overall_score_if_it_is_that_score(
    data, overall, interval
):
    folder = run(data, f"overall {overall}", values={("AUPR", "all"): overall})
    mine = system("MiniLM", [folder], additional=True)
    cells = lines(data, "table_validation", mine)
    mean = cells["Mean of these questions", "MiniLM, single-task (ours, test)"]
    assert (mean.ours, mean.low, mean.high) == ("60.0", *interval)


def test_columns_are_compared_by_row(data):
    ours = system("Ours", [run(data, "compared")], additional=True)
    cells = computed(data, "table3", ours)
    assert cells["Overall", "Ours"].score == Score(
        "Overall", "Ours", "AUPR", "all", "contracts", 100
    )
    assert cells[CLOSING, "Ours"].score.group == f"category: {CLOSING}"
    cells = computed(data, "figure2", ours)
    assert cells["Ours", "AUPR"].score.measure == "AUPR"
