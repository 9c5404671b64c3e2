"""CUAD's tables on a small data set, with values by hand."""

import json
import math

import pytest

from helpers.paper_tables import PaperTables, column, system, write_filled, write_scores
from lextables import ROOT
from lextables.papers.cuad import tables
from lextables.papers.cuad.schema import CATEGORIES, CLAUSES, CONTRACTS
from lextables.registry.packages import load as load_paper
from lextables.tables.cells import Score
from lextables.tasks.spans.squad import ANSWERS, EXAMPLES, QUESTIONS, part

PAPER = load_paper(ROOT / "resources/papers/cuad.yaml")
TABLES = PaperTables(tables, PAPER, "cuad")
computed = TABLES.cells
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
# Of nine training examples; every second one has an answer.
CONTRACT_OF = ["one"] * 5 + ["two"] * 4
PANEL = [row.partition(" / ")[2] for row in TABLES.rows("figure5")]
SHARE = "RoBERTa-base / {}% of the contracts"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    contracts = [
        {
            "contract_id": "one",
            "split": "train",
            "characters": 100,
            "contract_type": "Agency Agreement",
            "pages": 8,
        },
        {
            "contract_id": "three",
            "split": "test",
            "characters": 400,
            "contract_type": "Service Agreement",
            "pages": 30,
        },
        {
            "contract_id": "two",
            "split": "train",
            "characters": 200,
            "contract_type": "Agency Agreement",
            "pages": 9,
        },
    ]
    categories, questions, answers, examples = [], [], [], []
    for category, (title, description) in TITLES.items():
        texts = {"category": category, "title": title, "description": description}
        categories.append(texts | {"position": len(categories)})
        for name in ("one", "two", "three"):
            question = {"question_id": f"{name}__{category}", "contract_id": name}
            questions.append(question | {"category": category})
    for (contract, category), spans in SPANS.items():
        for index, (start, end) in enumerate(spans):
            place = {"index": index, "start": start, "end": end}
            answers.append(place | {"question_id": f"{contract}__{category}"})
    for number, contract in enumerate(CONTRACT_OF):
        example = {"example_id": str(number), "contract_id": contract}
        examples.append(example | {"start": -(number % 2)})
    made = {
        CONTRACTS: contracts,
        CATEGORIES: categories,
        QUESTIONS: questions,
        ANSWERS: answers,
        EXAMPLES: examples,
        CLAUSES: [{"contract_id": "one", "index": number} for number in range(7)],
    }
    write_filled(folder, made)
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
        ("AUPR", "category: Rofr/Rofo/Rofn"): (0.0, 0),
    } | more.get("values", {})
    folder = root / "runs" / name
    write_scores(folder, values)
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


def verdicts(data, table, *systems):
    return TABLES.lines(data, table, *systems, comparable=True)


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
    found = column(cells, "Value")
    assert found.pop("Labeled share of a contract") == pytest.approx(
        100 * (0.3 + 0.25 + 0) / 3
    )
    # Contract one: 20 and 20 of 100 characters. Contract two: 50 of 200. Three
    # contracts, four categories.
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
    assert column(cells, "Contracts") == {
        "1-8 pages": 1,
        "9-16 pages": 1,
        "17-24 pages": 0,
        "25-32 pages": 1,
    }
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
    ends = []
    for seed, end in enumerate((0.1, 0.2)):
        curve = {("precision", "threshold: 0"): 0.5, ("recall", "threshold: 0"): end}
        ends.append(run(data, f"ends/seed{seed}", 0.4, values=curve))
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
        "Governing Law": 1,
        "Irrevocable Or Perpetual License": 2,
        "Effective Date": 3,
    }
    assert {row: rank for row, rank in column(cells, "Rank").items() if rank} == ranks
    assert cells["Parties", "Rank"].reason == "no test clause of this category"
    assert cells["Effective Date", "AUPR: Mine"].value == pytest.approx(20)
    # Without a gold span there is no score, although the evaluator returns one.
    assert cells["Rofr/Rofo/Rofn", "Rank"].value is None
    assert ("Rofr/Rofo/Rofn", "AUPR: Mine") not in cells
    assert cells[
        "rank correlation with the published order", "Spearman: Mine"
    ].value == pytest.approx(1)
    eight = computed(data, "figure8", *systems)
    (place,) = {of for _, of in eight if "Place" in of}
    assert {row: rank for row, rank in column(eight, place).items() if rank} == ranks
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
    scored = list(TITLES)[:3]
    equal = {("AUPR", f"category: {name}"): 0.0 for name in scored}
    runs = [run(data, "zeros/seed0", 0.0, values=equal)]
    lines = verdicts(data, "figure4", system("DeBERTa-xlarge", runs, trained=False))
    line = lines[
        "rank correlation with the published order", "Spearman: DeBERTa-xlarge"
    ]
    assert (line.ours, line.reason) == (
        "undefined",
        "all categories have the same area",
    )
    ranked = [line for line in lines.values() if line.column == "Rank"]
    ranked = [line for line in ranked if line.reproduced]
    assert [(line.reproduced, line.verdict) for line in ranked] == [("2", "")] * 3


def test_figure_4_without_deberta_has_its_reason_and_the_additional_rows(data):
    mine = system("Mine", [run(data, "m/seed0", 0.2)], additional=True)
    cells = computed(data, "figure4", system("DeBERTa-xlarge", reason="gated"), mine)
    assert {cell.reason for (_, of), cell in cells.items() if of == "Rank"} == {"gated"}
    assert cells["Governing Law", "AUPR: Mine"].value == pytest.approx(90)


def test_figure_4_ranks_by_the_row_that_the_registry_names(data):
    other = PAPER.tables["figure4"].model_copy(update={"names": {"ranked_by": "Mine"}})
    paper = PAPER.model_copy(update={"tables": {**PAPER.tables, "figure4": other}})
    values = {("AUPR", "category: Effective Date"): 0.95}
    systems = [
        system("DeBERTa-xlarge", [run(data, "d/seed0", 0.4)]),
        system("Mine", [run(data, "r/seed0", 0.2, values=values)], additional=True),
    ]
    ranks = column(computed(data, "figure4", *systems, paper=paper), "Rank")
    assert {row: rank for row, rank in ranks.items() if rank} == {
        "Effective Date": 1,
        "Governing Law": 2,
        "Irrevocable Or Perpetual License": 3,
    }


def test_figure_5_averages_published_and_complete_reproduced_values(data):
    ran = {"BERT-base": 0.2, "BERT-large": 0.4, "ALBERT-base": 0.3}
    runs = {row: [run(data, f"{row}/seed0", aupr)] for row, aupr in ran.items()}
    systems = [system(row, runs.get(row, ())) for row in PANEL]
    mine = system("Mine", [run(data, "m/seed0", 0.2)], additional=True)
    cells = computed(data, "figure5", *systems, mine)
    printed = "Precision@80% Recall: mean of the published values"
    ours = "Precision@80% Recall: mean of ours"
    assert cells["BERT (2018)", printed].value == pytest.approx((8.2 + 7.6) / 2)
    assert cells["BERT (2018)", ours].value == pytest.approx(15)
    assert cells["ALBERT (2019)", ours].reason == "1 of the 4 models of this class ran"
    assert cells["DeBERTa (2021)", ours].reason == "none of this class ran"
    assert cells["DeBERTa (2021)", printed].value == 44.0
    assert cells[
        "BERT (2018) / BERT-large", "Precision@80% Recall"
    ].value == pytest.approx(20)
    assert cells["Mine", ours].value == pytest.approx(10)


def test_figure_5_leaves_out_models_without_a_score(data):
    undefined = {("precision at 80% recall", "all"): (math.nan, 0)}
    runs = {
        "BERT-base": run(data, "BERT-base/seed0", 0.2),
        "BERT-large": run(data, "undefined/seed0", 0.4, values=undefined),
        "DeBERTa-xlarge": run(data, "all undefined/seed0", 0.4, values=undefined),
    }
    systems = [system(row, [runs[row]] if row in runs else ()) for row in PANEL]
    mine = system("Mine", [runs["BERT-large"]], additional=True)
    cells = computed(data, "figure5", *systems, mine)
    ours = "Precision@80% Recall: mean of ours"
    means = {}
    for row in ("BERT (2018)", "DeBERTa (2021)", "Mine"):
        means[row] = (cells[row, ours].value, cells[row, ours].reason)
    assert means == {
        "BERT (2018)": (None, "1 of the 2 models of this class ran"),
        "DeBERTa (2021)": (None, "none of this class ran"),
        "Mine": (None, ""),
    }


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
    assert column(cells, "AUPR") == {
        SHARE.format(3): pytest.approx(1.5),
        SHARE.format(10): None,
        SHARE.format(100): pytest.approx(50),
        "Mine / 100% of the contracts": pytest.approx(50),
    }
    missing = "not trained on this share of the contracts"
    assert cells[SHARE.format(10), "AUPR"].reason == missing
    # Three answers of one contract and two of the other; a share has at least one
    # contract, drawn by seed.
    annotations = column(cells, "Training annotations")
    assert annotations[SHARE.format(100)] == 5
    (drawn,) = part(["one", "two"], 3, seed=0)
    for share in (3, 10):
        assert annotations[SHARE.format(share)] == {"one": 3, "two": 2}[drawn]


def test_the_released_point_has_no_seeds_and_shares_of_the_contracts_have_theirs(data):
    """The authors' weights are one model; three seeds of a share give 27.6 an
    interval.
    """
    released = [run(data, "released/seed0", 0.426)]
    tenth = []
    for seed in range(3):
        tenth.append(run(data, f"p10/seed{seed}", 0.27 + 0.01 * seed))
    row = system("RoBERTa-base", {"100": released, "10": tenth}, trained=False)
    values = computed(data, "figure6", row)
    whole = values[SHARE.format(100), "AUPR"]
    share = values[SHARE.format(10), "AUPR"]
    assert whole.seeds is None and whole.value == pytest.approx(42.6)
    assert share.seeds == pytest.approx((27, 28, 29))


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
