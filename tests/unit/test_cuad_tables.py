"""CUAD's tables on a small data set, with values by hand."""

import json
import math

import pytest

from lextables import ROOT
from lextables.papers.cuad import tables
from lextables.papers.cuad.schema import CATEGORIES, CLAUSES, CONTRACTS
from lextables.papers.packages import load as load_paper
from lextables.pipeline.dataset import write
from lextables.pipeline.run import SCORES
from lextables.tables.cells import Score, build
from lextables.tables.inputs import Inputs
from lextables.tables.published import load
from lextables.tasks.spans.squad import ANSWERS, EXAMPLES, QUESTIONS, part

PRINTED = load(ROOT / "resources/published/cuad.csv")
PAPER = load_paper(ROOT / "resources/papers/cuad.yaml")
TITLES = {  # category: (title, description)
    "Governing Law": (
        "Governing Law",
        "Which state/country's law governs the interpretation of the contract?",
    ),
    "Effective Date": ("Effective Date", "The date when the contract is effective "),
    "Irrevocable Or Perpetual License": (
        "Irrevocable or Perpetual License",
        "Does the contract contain a  license grant that is irrevocable or perpetual?",
    ),
    "Rofr/Rofo/Rofn": ("Rofr/Rofo/Rofn", "Is there a clause?"),
}
SPANS = {  # (contract, category): spans
    ("one", "Governing Law"): [(0, 10), (5, 20)],
    ("one", "Effective Date"): [(10, 30)],
    ("two", "Governing Law"): [(0, 50)],
}
CONTRACT_OF = ["one"] * 5 + [
    "two"
] * 4  # of nine training examples; every second one has an answer
PANEL = [
    row.partition(" / ")[2]
    for row in dict.fromkeys(c.row for c in PRINTED if c.table == "figure5")
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    contracts = [
        {
            "contract_id": name,
            "split": split,
            "text": "",
            "characters": size,
            "contract_type": kind,
            "pages": pages,
        }
        for name, split, size, kind, pages in (
            ("one", "train", 100, "Agency Agreement", 8),
            ("three", "test", 400, "Service Agreement", 30),
            ("two", "train", 200, "Agency Agreement", 9),
        )
    ]
    categories = [
        {
            "category": c,
            "title": t,
            "position": n,
            "description": d,
            "answer_format": "",
            "group": "",
        }
        for n, (c, (t, d)) in enumerate(TITLES.items())
    ]
    questions = [
        {
            "question_id": f"{contract['contract_id']}__{category}",
            "contract_id": contract["contract_id"],
            "category": category,
            "question": "",
            "split": contract["split"],
            "answers": len(SPANS.get((contract["contract_id"], category), ())),
        }
        for contract in contracts
        for category in sorted(TITLES)
    ]
    answers = [
        {
            "question_id": f"{contract}__{category}",
            "index": n,
            "text": "x",
            "start": start,
            "end": end,
        }
        for (contract, category), spans in sorted(SPANS.items())
        for n, (start, end) in enumerate(spans)
    ]
    examples = [
        {
            "example_id": str(n),
            "question_id": "q",
            "contract_id": CONTRACT_OF[n],
            "category": "c",
            "start": -1 if n % 2 else 0,
            "end": -1 if n % 2 else 5,
        }
        for n in range(9)
    ]
    clauses = [
        {"contract_id": "one", "category": "Governing Law", "index": n, "text": "x"}
        for n in range(7)
    ]
    for table, rows in (
        (CONTRACTS, contracts),
        (CATEGORIES, categories),
        (QUESTIONS, questions),
        (ANSWERS, answers),
        (EXAMPLES, examples),
        (CLAUSES, clauses),
    ):
        write(table, rows, folder / f"{table.name}.parquet")
    return folder


def run(root, name, aupr, **more):
    """Write a run's scores and record, and return its folder."""
    values = {
        ("AUPR", "all"): aupr,
        ("AUPR, low", "all"): aupr - 0.05,
        ("AUPR, high", "all"): aupr + 0.05,
        ("AUPR, strict", "all"): aupr,
        ("precision at 80% recall", "all"): aupr / 2,
        ("precision at 80% recall, strict", "all"): aupr / 2 + 0.01,
        ("precision at 90% recall", "all"): 0.0,
        ("precision at 90% recall, strict", "all"): 0.0,
        ("AUPR", "category: Governing Law"): 0.9,
        ("AUPR", "category: Effective Date"): 0.2,
        ("AUPR", "category: Irrevocable Or Perpetual License"): 0.5,
        ("precision at 80% recall", "category: Governing Law"): 0.8,
        # Without a gold span the evaluator returns 0.
        ("AUPR", "category: Rofr/Rofo/Rofn"): 0.0,
    } | more.get("values", {})
    rows = [
        {
            "metric": metric,
            "group": group,
            "value": value,
            "n": 0 if "Rofr" in group else 5,
        }
        for (metric, group), value in sorted(values.items())
    ]
    folder = root / "runs" / name
    folder.mkdir(parents=True, exist_ok=True)
    write(SCORES, rows, folder / "scores.parquet")
    trained = {
        "settings": {"batch_size": 32},
        "trial": {"learning_rate": 3e-4, "epochs": 1},
        "updates": 600,
        "device": "a processor",
        "seconds": 90.0,
    }
    settings = {
        "grid": "small",
        "tried": 1,
        "max_length": 256,
        "step": 128,
        "windows_per_question": 8,
        "bf16": True,
    }
    record = {
        "settings": settings,
        "trained": trained,
        "device": "a processor",
        "seconds": 10.0,
    }
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    return f"runs/{name}"


def system(row, runs=None, additional=False, reason="not here", **more):
    family = "ours" if additional else row.partition("-")[0]
    runs = {} if runs is None else runs if isinstance(runs, dict) else {"100": runs}
    return {
        "row": row,
        "family": family,
        "additional": additional,
        "reason": "" if runs else reason,
        "parameters": 1,
        "trained": True,
        "averages": 1,
        "baseline": False,
        "lenient": False,
        "runs": runs,
    } | more


def computed(data, table, *systems):
    printed = [cell for cell in PRINTED if cell.table == table]
    inputs = Inputs(data, data, systems, printed, PAPER, table)
    return {(cell.row, cell.column): cell for cell in tables.cells(table, inputs)}


def verdicts(data, table, *systems):
    printed = [cell for cell in PRINTED if cell.table == table]
    inputs = Inputs(data, data, systems, printed, PAPER, table)
    lines = build(printed, tables.cells(table, inputs), comparable=True)
    return {(line.row, line.column): line for line in lines}


def test_descriptions_and_released_category_names_are_compared_by_words(data):
    lines = verdicts(data, "table1")
    assert lines["Governing Law", "Description"].verdict == "match"
    assert lines["Effective Date", "Description"].verdict == "off"
    assert lines["Perpetual License", "Description"].verdict == "match"
    assert lines["Perpetual License", "Category"].verdict == "off"
    assert (
        lines["Perpetual License", "Category"].reproduced
        == "Irrevocable or Perpetual License"
    )
    assert lines["Renewal Term", "Category"].reason == "no such category in these data"
    assert verdicts(data, "table4")["ROFR/ROFO/ROFN", "Category"].verdict == "match"


def test_figure_2_has_statistics_of_the_data_set(data):
    cells = computed(data, "figure2")
    found = {
        row: cell.value for (row, column), cell in cells.items() if column == "Value"
    }
    assert found.pop("Labeled share of a contract") == pytest.approx(
        100 * (0.3 + 0.25 + 0) / 3
    )
    # Contract one: 20 and 20 of 100 characters. Contract two: 50 of 200. Three contracts, four categories.
    single = found.pop("Share of a contract labeled for one category")
    assert single == pytest.approx(100 * (0.2 + 0.2 + 0.25) / 12)
    assert found == {
        "Contracts": 3,
        "Contract types": 2,
        "Label categories": 4,
        "Labeled clauses": 7,
        "Pages": 47,
        "Answers in the released question files": 4,
    }
    bins = {
        row: cell.value
        for (row, column), cell in cells.items()
        if column == "Contracts"
    }
    assert bins == {"1-8 pages": 1, "9-16 pages": 1, "17-24 pages": 0, "25-32 pages": 1}
    assert cells["pages a contract", "Median"].value == 9


def test_table_2_has_scores_intervals_and_strict_columns(data):
    one, two = run(data, "a/seed0", 0.4), run(data, "a/seed1", 0.5)
    cells = computed(
        data,
        "table2",
        system("BERT-base", [one, two]),
        system("Mine", reason="gated", additional=True),
    )
    aupr = cells["BERT-base", "AUPR"]
    assert (aupr.value, aupr.low, aupr.high) == pytest.approx((45, 40, 50))
    assert aupr.runs == (one, two)
    assert cells["BERT-base", "Precision@80% Recall"].value == pytest.approx(22.5)
    assert cells["BERT-base", "Precision@80% Recall, strict"].value == pytest.approx(
        23.5
    )
    assert ("BERT-base", "AUPR, strict") not in cells
    assert cells["BERT-base", "Precision@90% Recall"].value == 0
    assert cells["Mine", "AUPR"].reason == "gated"
    assert {column.removesuffix(", strict") for _, column in cells} == {
        *tables.COLUMNS.values()
    }


def test_figure_3_has_the_best_precision_at_or_above_each_recall(data):
    curve = {
        ("precision", "threshold: 0.9"): math.nan,
        ("recall", "threshold: 0.9"): 0.0,
        ("precision", "threshold: 0.5"): 0.6,
        ("recall", "threshold: 0.5"): 0.2,
        ("precision", "threshold: 0.1"): 0.7,
        ("recall", "threshold: 0.1"): 0.4,
        ("precision", "threshold: 0"): 0.1,
        ("recall", "threshold: 0"): 0.62,
    }
    cells = computed(
        data,
        "figure3",
        system("RoBERTa-base", [run(data, "curve/seed0", 0.4, values=curve)]),
    )
    values = {column: cell.value for (_, column), cell in cells.items()}
    assert values.pop("Precision@80% Recall") == pytest.approx(20)
    expected = {recall: 70 if recall <= 40 else 10 for recall in range(5, 61, 5)}
    assert values == pytest.approx(
        {f"Precision at {r}% recall": value for r, value in expected.items()}
    )


def test_a_curve_over_seeds_ends_with_the_shortest_curve(data):
    ends = [
        run(
            data,
            f"ends/seed{n}",
            0.4,
            values={
                ("precision", "threshold: 0"): 0.5,
                ("recall", "threshold: 0"): end,
            },
        )
        for n, end in enumerate((0.1, 0.2))
    ]
    cells = computed(data, "figure3", system("Mine", ends, additional=True))
    assert [column for _, column in cells if " at " in column] == [
        f"Precision at {r}% recall" for r in (5, 10)
    ]


def test_figures_4_and_8_rank_by_area_and_show_every_row_that_ran(data):
    systems = [
        system("DeBERTa-xlarge", [run(data, "d/seed0", 0.4)]),
        system("Mine", [run(data, "m/seed0", 0.2)], additional=True),
    ]
    cells = computed(data, "figure4", *systems)
    ranks = {
        row: cell.value
        for (row, column), cell in cells.items()
        if column == "Rank" and cell.value
    }
    assert ranks == {
        "Governing Law": 1,
        "Irrevocable Or Perpetual License": 2,
        "Effective Date": 3,
    }
    assert cells["Parties", "Rank"].reason == "no test clause of this category"
    assert cells["Effective Date", "AUPR: Mine"].value == pytest.approx(20)
    # Without a gold span there is no score, although the evaluator returns one.
    assert cells["Rofr/Rofo/Rofn", "Rank"].value is None
    assert ("Rofr/Rofo/Rofn", "AUPR: Mine") not in cells
    assert cells[
        "rank correlation with the published order", "Spearman: Mine"
    ].value == pytest.approx(1)
    eight = computed(data, "figure8", *systems)
    assert {
        row: cell.value
        for (row, column), cell in eight.items()
        if cell.value and "Place" in column
    } == ranks
    assert eight[
        "Governing Law", "Precision@80% Recall: DeBERTa-xlarge"
    ].value == pytest.approx(80)


def test_categories_with_the_same_area_share_a_rank_without_a_verdict(data):
    tied = {
        ("AUPR", f"category: {name}"): 0.0
        for name in ("Governing Law", "Effective Date")
    }
    systems = [
        system(
            "DeBERTa-xlarge", [run(data, "tie/seed0", 0.4, values=tied)], trained=False
        ),
        system("Mine", [run(data, "m/seed0", 0.2)], additional=True),
    ]
    for table in ("figure4", "figure8"):
        lines = verdicts(data, table, *systems)
        found = {
            row: (line.reproduced, line.verdict, line.difference or line.reason)
            for (row, _), line in lines.items()
            if line.published and line.reproduced
        }
        said = "no verdict: tied with 1 other category"
        assert found == {
            "Irrevocable Or Perpetual License": ("1", "off", "-11"),
            "Governing Law": ("2.5", "", said),
            "Effective Date": ("2.5", "", said),
        }


def test_a_model_whose_areas_are_all_equal_has_no_rank_correlation(data):
    equal = {("AUPR", f"category: {name}"): 0.0 for name in TITLES}
    runs = [run(data, "zeros/seed0", 0.0, values=equal)]
    lines = verdicts(data, "figure4", system("DeBERTa-xlarge", runs, trained=False))
    line = lines[
        "rank correlation with the published order", "Spearman: DeBERTa-xlarge"
    ]
    assert (line.ours, line.reason) == (
        "undefined",
        "all categories have the same area",
    )
    ranked = [
        line
        for (_, column), line in lines.items()
        if column == "Rank" and line.reproduced
    ]
    assert [(line.reproduced, line.verdict) for line in ranked] == [("2", "")] * 3


def test_figure_4_without_deberta_has_its_reason_and_the_additional_rows(data):
    mine = system("Mine", [run(data, "m/seed0", 0.2)], additional=True)
    cells = computed(data, "figure4", system("DeBERTa-xlarge", reason="gated"), mine)
    assert {cell.reason for (_, column), cell in cells.items() if column == "Rank"} == {
        "gated"
    }
    assert cells["Governing Law", "AUPR: Mine"].value == pytest.approx(90)


def test_figure_4_ranks_by_the_row_that_the_registry_names(data):
    other = PAPER.tables["figure4"].model_copy(update={"names": {"ranked_by": "Mine"}})
    paper = PAPER.model_copy(update={"tables": {**PAPER.tables, "figure4": other}})
    values = {("AUPR", "category: Effective Date"): 0.95}
    systems = [
        system("DeBERTa-xlarge", [run(data, "d/seed0", 0.4)]),
        system("Mine", [run(data, "r/seed0", 0.2, values=values)], additional=True),
    ]
    printed = [cell for cell in PRINTED if cell.table == "figure4"]
    found = tables.cells(
        "figure4", Inputs(data, data, systems, printed, paper, "figure4")
    )
    ranks = {
        cell.row: cell.value for cell in found if cell.column == "Rank" and cell.value
    }
    assert ranks == {
        "Effective Date": 1,
        "Governing Law": 2,
        "Irrevocable Or Perpetual License": 3,
    }


def test_figure_5_averages_published_and_complete_reproduced_values(data):
    ran = {"BERT-base": 0.2, "BERT-large": 0.4, "ALBERT-base": 0.3}
    systems = [
        system(row, [run(data, f"{row}/seed0", ran[row])] if row in ran else None)
        for row in PANEL
    ]
    cells = computed(
        data,
        "figure5",
        *systems,
        system("Mine", [run(data, "m/seed0", 0.2)], additional=True),
    )
    printed, ours = (
        f"Precision@80% Recall: mean of {which}"
        for which in ("the published values", "ours")
    )
    assert cells["BERT (2018)", printed].value == pytest.approx((8.2 + 7.6) / 2)
    assert cells["BERT (2018)", ours].value == pytest.approx(15)
    assert cells["ALBERT (2019)", ours].reason == "1 of the 4 models of this class ran"
    assert cells["DeBERTa (2021)", ours].reason == "none of this class ran"
    assert cells["DeBERTa (2021)", printed].value == 44.0
    assert cells[
        "BERT (2018) / BERT-large", "Precision@80% Recall"
    ].value == pytest.approx(20)
    assert cells["Mine", ours].value == pytest.approx(10)


def test_figure_6_has_a_row_for_each_share(data):
    shares = {
        share: [run(data, f"p{share}/seed0", int(share) / 200)]
        for share in ("3", "100")
    }
    cells = computed(
        data,
        "figure6",
        system("RoBERTa-base", shares),
        system("Mine", {"100": shares["100"]}, additional=True),
    )
    values = {
        row: cell.value for (row, column), cell in cells.items() if column == "AUPR"
    }
    assert values == {
        "RoBERTa-base / 3% of the contracts": pytest.approx(1.5),
        "RoBERTa-base / 10% of the contracts": None,
        "RoBERTa-base / 100% of the contracts": pytest.approx(50),
        "Mine / 100% of the contracts": pytest.approx(50),
    }
    row = "RoBERTa-base / 10% of the contracts"
    assert cells[row, "AUPR"].reason == "not trained on this share of the contracts"
    # Three answers of one contract and two of the other; a share has at least one contract, drawn by seed.
    assert (
        cells["RoBERTa-base / 100% of the contracts", "Training annotations"].value == 5
    )
    (drawn,) = part(["one", "two"], 3, seed=0)
    for share in ("3", "10"):
        row = f"RoBERTa-base / {share}% of the contracts"
        assert cells[row, "Training annotations"].value == {"one": 3, "two": 2}[drawn]


def test_a_rank_has_the_ranks_of_its_seeds(data):
    law = ("AUPR", "category: Governing Law")
    runs = [
        run(data, f"spread{n}/seed{n}", 0.4, values={law: 0.9 - n}) for n in range(3)
    ]
    cells = computed(data, "figure4", system("DeBERTa-xlarge", runs))
    assert cells["Governing Law", "Rank"].seeds == (1, 3, 3)


def test_rows_are_compared_separately_for_each_share(data):
    ours = system("Ours", runs=[run(data, "compared/seed0", 0.5)], additional=True)
    assert computed(data, "table2", ours)["Ours", "AUPR"].score == Score(
        "AUPR", "Ours", "AUPR", "all", "contracts", 100
    )
    cell = computed(data, "figure6", ours)["Ours / 100% of the contracts", "AUPR"]
    assert cell.score.measure == "AUPR of 100%"
