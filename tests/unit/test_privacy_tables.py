"""The tables of the privacy policy corpus on a tiny corpus, compared with values
computed by hand.
"""

import gzip
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers import paper_tables
from helpers.paper_tables import PaperTables, write_filled, write_scores
from lextables import ROOT
from lextables.papers.privacy import tables
from lextables.papers.privacy.schema import HIGHLIGHTS, QUESTIONS, RESPONSES, SITES
from lextables.pipeline.errors import BadInput
from lextables.registry.packages import load

PAPER = load(ROOT / "resources/papers/privacy.yaml")
TABLES = PaperTables(tables, PAPER, "privacy")

# {question: {site: [(options, Likert confidence)]}}
CODED = {
    "N-1": {
        "a": [([1], 5), ([1], 4)],
        "b": [([0], 2), ([1], 3)],
        "c": [([0], 4), ([0], 4), ([1], None)],
        "d": [([1], 3)],
    },
    "N-2": {"a": [([0], 5), ([0], 5)], "b": [([0], 4), ([0], None)]},
    "E-1": {
        "a": [([0, 1], 2), ([0], 2)],
        "b": [([0, 1], 5), ([0, 1], 4)],
        "c": [([1], 4), ([1], 4)],
        "d": [([], 1)],
    },
}
CATEGORY = {"N-1": "Notice", "N-2": "Notice", "E-1": "Enforcement"}
CODERS = {"a": 2, "b": 2, "c": 3, "d": 1, "e": 0}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    questions, responses, sites = [], [], []
    for name, category in CATEGORY.items():
        question = {"question_id": name, "category": category}
        questions.append(question | {"several": name == "E-1"})
        for site, of_pair in CODED[name].items():
            for place, (options, likert) in enumerate(of_pair):
                response = {
                    "site": site,
                    "question_id": name,
                    "response": place,
                    "reader_id": str(place),
                    "options": options,
                    "confidence": None if likert is None else (likert - 1) / 4,
                }
                responses.append(response)
    for number, (site, coders) in enumerate(CODERS.items()):
        texts = {"documents": 1, "paragraphs": number, "words": 10 * number}
        sites.append(texts | {"site": site, "coders": coders})
    made = {
        QUESTIONS: questions,
        RESPONSES: responses,
        SITES: sites,
        HIGHLIGHTS: [{"site": site} for site in "abd"],
    }
    write_filled(folder, made)
    return folder


def computed(data, name, rows=(), root=Path(), **more):
    # As in the script: a table must contain every published cell.
    lines = TABLES.lines(data, name, *rows, root=root, **more)
    cells = TABLES.cells(data, name, *rows, root=root, **more)
    assert lines.keys() >= cells.keys()
    return {place: cell.value for place, cell in cells.items()}


def test_table_1_counts_by_the_number_of_coders(data):
    """Sites a, b and c have two or three coders, d has one, and e none."""
    cells = computed(data, "table1")
    assert cells == {
        ("Questions", "All"): 3,
        ("Categories", "All"): 2,
        ("Total Coders", "All"): 3,
        ("Policies", "2+ coders"): 3,
        ("Policies", "1 coder"): 1,
        ("Paragraphs", "2+ coders"): 0 + 1 + 2,
        ("Paragraphs", "1 coder"): 3,
        ("Words", "2+ coders"): 0 + 10 + 20,
        ("Words", "1 coder"): 30,
        ("Highlight Annotations", "2+ coders"): 2,
        ("Highlight Annotations", "1 coder"): 1,
        ("Policy Classifications", "2+ coders"): 6 + 6 + 5,
        ("Policy Classifications", "1 coder"): 2,
        # One confidence of b and one of c are missing; that of 0 is one.
        ("Confidence Scores", "2+ coders"): 6 + 5 + 4,
        ("Confidence Scores", "1 coder"): 2,
        ("Policies with an available text", "All"): 4,
    }


def test_agreement_by_question_and_category(data):
    values = computed(data, "table_agreement")
    # N-1: units 11, 01, 001 (d is answered once): n = 7, four of option 1 and three of
    # 0; differing ordered pairs 2 of b, 4 / 2 of c, so D_o = 4/7; D_e = 2 * 4 * 3 / (7
    # * 6).  alpha = 1 - 1 = 0.
    assert values["N-1", "Krippendorff's alpha"] == pytest.approx(0.0)
    # N-2: all answers are equal.
    assert values["N-2", "Krippendorff's alpha"] is None
    # E-1: {0,1} {0} | {0,1} {0,1} | {1} {1}: n = 6, D_o = 2/6, D_e = (36 - 9 - 1 - 4) /
    # (6 * 5).
    e_1 = 1 - (2 / 6) / (22 / 30)
    assert values["E-1", "Krippendorff's alpha"] == pytest.approx(e_1)
    assert values["N", "Krippendorff's alpha"] == pytest.approx(0.0)
    assert values["All questions", "Krippendorff's alpha, mean"] == pytest.approx(
        e_1 / 2
    )
    assert values["All questions", "Krippendorff's alpha, greatest"] == pytest.approx(
        e_1
    )
    shares = {"N-1": [1, 0, 1 / 3], "N-2": [1, 1], "E-1": [0, 1, 1]}
    for name, of in shares.items():
        assert values[name, "Agreement (%)"] == pytest.approx(100 * sum(of) / len(of))
    assert values["N", "Agreement (%)"] == pytest.approx(100 * (1 + 1 / 3 + 2) / 5)
    # Disagreement: 1 + 2/3 for N-1, 1 for E-1.
    assert values["N-1", "Share of all disagreement (%)"] == pytest.approx(
        100 * (5 / 3) / (8 / 3)
    )
    assert values["N-2", "Share of all disagreement (%)"] == 0.0
    total = sum(map(sum, shares.values()))
    assert values["All questions", "Absolute agreement"] == pytest.approx(
        100 * total / 8
    )
    assert values["All questions", "Answers of two coders or more"] == 8


def test_figure_1_requires_a_list_of_ranks(data, tmp_path):
    assert computed(data, "figure1") == {("All sites", "Documents"): None}
    path = tmp_path / "ranks.csv"
    path.write_text("1,example.com\n", encoding="utf-8")
    values = computed(data, "figure1", file=path)
    assert values["a", "Documents"] == 1 and ("a", "Traffic rank") not in values
    assert values["All sites", "Without a rank"] == 5


def test_figure_3_shows_agreement_by_mean_confidence_rounded_to_halves(data):
    values = computed(data, "figure3")
    agreement = {
        row: value
        for (row, column), value in values.items()
        if column == "Agreement (%)"
    }
    assert agreement == pytest.approx(
        {
            "Coders / 2.0": 0.0,  # E-1 of a
            "Coders / 2.5": 0.0,  # N-1 of b
            "Coders / 4.0": 100
            * (1 / 3 + 1 + 1)
            / 3,  # N-1 of c (two coders), N-2 of b (one coder), E-1 of c
            "Coders / 4.5": 100.0,  # N-1 of a, E-1 of b
            "Coders / 5.0": 100.0,  # N-2 of a
        }
    )
    assert (
        values["Coders / 4.0", "Answers"] == 3
        and values["Coders / 4.0", "Mean confidence"] == 4.0
    )


@pytest.mark.parametrize(
    ("likert", "mean"),
    [
        ((4, 4, 5), 4.5),
        ((4, 4, 4, 4, 5), 4.0),
        ((4, 4, 4, 5), 4.5),
        ((4, 4, 5, 5, 5), 4.5),
        ((4, 5, 5, 5), 5.0),
    ],
)
def test_a_mean_confidence_is_rounded_to_the_nearest_half_and_a_quarter_up(
    likert, mean
):
    rows = [
        {"question_id": "N-1", "site": "a", "confidence": (mark - 1) / 4}
        for mark in likert
    ]
    answers = {"N-1": {"a": [frozenset([0]), frozenset([0])]}}
    cells = tables.figure3(SimpleNamespace(responses=rows, answers=answers))
    assert [cell.value for cell in cells if cell.column == "Mean confidence"] == [mean]


def test_figure_5_has_each_pair_of_questions_once(data):
    values = computed(data, "figure5")
    pairs = {
        key: value
        for key, value in values.items()
        if key[0] in CODED and key[1] in CODED
    }
    assert {key for key in pairs if key[0] != key[1]} == {
        ("N-1", "E-1")
    }  # N-2 always has the same answer
    assert {key for key, value in pairs.items() if value == 1.0} >= {
        (name, name) for name in CODED
    }
    assert values["Pairs across categories", "Pairs"] == 1


def system(row, folders=(), reason="", **more):
    runs = {"main": list(folders)} if folders else {}
    return paper_tables.system(row, runs, reason, trained=False, **more)


def scores(root, folder, values):
    write_scores(root / folder, values, n=4)


def test_losses_are_shown_by_category_and_question_with_additional_rows(data, tmp_path):
    loss = {
        ("cross entropy", "all"): 0.5,
        ("cross entropy", "with a text"): 0.45,
        ("cross entropy", "category: Notice"): 0.3,
        ("cross entropy", "question: N-1"): 0.25,
        ("log loss", "all"): 0.9,
    }
    scores(tmp_path, "prior", loss)
    scores(tmp_path, "claude", {("cross entropy", "question: N-1"): 0.1})
    rows = [system("The other sites", ["prior"]), system("Claude 3", ["claude"])]
    rows.append(system("GPT-4", reason="no key"))
    values = computed(data, "table2", rows, tmp_path)
    assert (
        values["overall", "The other sites"] == 0.5
        and values["N", "The other sites"] == 0.3
    )
    assert ("E", "The other sites") not in values and values["E", "GPT-4"] is None
    assert values["overall, log loss", "The other sites"] == 0.9
    assert values["overall, policies with an available text", "The other sites"] == 0.45
    values = computed(data, "table_b", rows, tmp_path)
    assert (
        values["N-1", "The other sites"] == 0.25
        and values["N-1", 'Claude 3 "haiku"'] == 0.1
    )
    assert ("N-1", "Claude 3") not in values and values[
        "N-2", 'Claude 3 "haiku"'
    ] is None
    # The appendix lists the questions in the same order, N-2 before N-10.
    assert list(dict.fromkeys(row for row, _ in values)) == TABLES.rows("table_b")


def test_marks_are_scored_by_question_with_the_f1_of_other_systems(data, tmp_path):
    marks = {
        ("F1", "question: N-1"): 0.2,
        ("recall", "question: N-1"): 0.6,
        ("F1", "all"): 0.1,
    }
    scores(tmp_path, "words", marks | {("accuracy", "all"): 0.9})
    scores(tmp_path, "bert", marks)
    rows = [system("BERT-BASE", ["bert"]), system("Words", ["words"], baseline=True)]
    values = computed(data, "table_c1", rows, tmp_path)
    assert (
        values["N-1", "F1"],
        values["N-1", "Recall"],
        values["N-1", "F1, Words"],
    ) == (0.2, 0.6, 0.2)
    assert values["N-1", "Accuracy"] is None and ("N-2", "F1, Words") not in values
    values = computed(data, "table3", rows, tmp_path)
    assert (values["Words", "acc."], values["Words", "f1"]) == (90.0, 10.0)
    assert values["LEGAL-BERT", "acc."] is None


@pytest.fixture
def ranks_of(tmp_path):
    def ranks(content, sites):
        path = tmp_path / "ranks.csv"
        path.write_text(content, encoding="utf-8")
        return tables.traffic_ranks(path, sites)

    return ranks


def test_a_site_without_a_rank_gets_the_rank_of_its_domain(ranks_of):
    sites = [
        "shop.example.com",
        "us.example.com",
        "example.com",
        "nowhere.net",
        "a.b.other.org",
    ]
    ranks = {
        "shop.example.com": 20,
        "us.example.com": 1,
        "example.com": 1,
        "a.b.other.org": 300,
    }
    assert (
        ranks_of("1,example.com\n20,shop.example.com\n300,other.org\n4000,com\n", sites)
        == ranks
    )


def test_ranks_are_read_from_a_packed_list_and_domains_in_any_case(tmp_path):
    content = b"\xef\xbb\xbf1,GOOGLE.com\r\n2, example.COM\r\n3,google.com\r\n"
    paths = [
        tmp_path / name for name in ("top.csv", "top.csv.gz", "top.csv.zip", "list")
    ]
    paths[0].write_bytes(content)
    paths[1].write_bytes(gzip.compress(content))
    for path in paths[2:]:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a/top-1m.CSV", content)
            archive.writestr("__MACOSX/a/._top-1m.csv", b"\0")
            archive.writestr("README.txt", "A list.")
    for path in paths:
        assert tables.traffic_ranks(path, ["Google.com", "www.example.com"]) == {
            "Google.com": 1,
            "www.example.com": 2,
        }


@pytest.mark.parametrize("content", ["9" * 6000 + ",a.com\n", "١,a.com\n", "0,b.com\n"])
def test_a_row_that_is_not_a_rank_and_a_domain_raises(ranks_of, content):
    with pytest.raises(BadInput, match=r"^ranks\.csv, row 2: .* is not a rank"):
        ranks_of(f"1,c.com\n{content}", ["a.com"])


@pytest.mark.parametrize("members", [{}, {"a.csv": b"1,a.com", "b.csv": b"1,a.com"}])
def test_a_zip_of_ranks_has_one_list(tmp_path, members):
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(BadInput, match=rf"^r\.zip: holds {len(members)} \.csv files"):
        tables.traffic_ranks(tmp_path / "r.zip", ["a.com"])
