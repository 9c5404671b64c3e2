"""Findings that README and the pages state, computed from the real data.

Numbers are read out of the pages, so that an edited number fails.  Those of models that
train for minutes are compared with the stored results (docs/results.md, which states
its settings and machine).
"""

import re
from statistics import fmean

import pandas as pd
import pytest

from helpers.registered import context, read, written
from lextables import ROOT, published
from lextables.metrics import spans
from lextables.metrics.containment import gold_texts
from lextables.metrics.containment_scores import scores
from lextables.metrics.minority_aupr import scores_and_jackknives
from lextables.metrics.ranking import by_name
from lextables.pipeline.dataset import read as read_table
from lextables.pipeline.run import Run
from lextables.planning import paper_plan
from lextables.registry.packages import load
from lextables.report import relevance
from lextables.tasks.answers import baselines
from lextables.tasks.answers.collection import ANSWERED_FROM, prediction_rows
from lextables.tasks.answers.collection import load as collect
from lextables.tasks.answers.scoring import WITH_TEXT, of_answers
from lextables.tasks.answers.settings import PriorSettings
from lextables.tasks.classification.linear import LinearFiles, read_views, train
from lextables.tasks.classification.settings import LinearSettings
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.rankers import prior
from lextables.tasks.retrieval.ranking import Ranking
from lextables.tasks.spans import outputs

NUMBER = r"(\d[\d,]*(?:\.\d+)?)"


def page(name):
    """The text of a page with single blanks."""
    return " ".join((ROOT / name).read_text().split())


def stated(name, sentence):
    """Return the numbers at {} in a sentence that occurs exactly once in the page."""
    pattern = NUMBER.join(re.escape(part) for part in sentence.split("{}"))
    found = re.findall(pattern, page(name))
    assert len(found) == 1, f"{name} has {len(found)} sentences like {sentence!r}"
    return [found[0]] if isinstance(found[0], str) else [*found[0]]


def cells(name, row, section=""):
    """Return the first number in each cell of the row with this first cell.

    The row is in the section of the page, or anywhere.
    """
    rows = []
    text = (ROOT / name).read_text()
    if section:
        text = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    for line in text.splitlines():
        first, *others = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and first == row:
            rows.append([re.sub(r"[*†]|[ \[(].*", "", cell) for cell in others])
    assert len(rows) == 1, f"{name} has {len(rows)} rows {row!r}"
    return rows[0]


def result(row, column):
    """Return the text of a score of ours in the leaderboard or a full table of the
    results page.
    """
    values = set()
    heads = []
    for line in (ROOT / "docs/results.md").read_text().splitlines():
        line_cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            heads = []
        elif not heads:
            heads = line_cells
        elif line_cells[0] == row and column in heads:
            values.add(line_cells[heads.index(column)].split()[0])
        elif len(line_cells) > 2 and line_cells[1] == row and column == "score":
            values.add(line_cells[2])
    assert len(values) == 1, (row, column, values)
    return values.pop()


def best(paper, table, column):
    """Return the highest published number of a column."""
    values = published(paper, table)
    return values[values.column == column].number.max()


# ContractEval: outputs that read no contract, and what padding gains.


class Outputs:
    """ContractEval's questions, and the scores of outputs for the test questions."""

    def __init__(self, rows):
        self.questions = list(rows["questions"])
        self.answers = list(rows["answers"])
        self.golds = gold_texts(self.answers)
        self.texts = {row["contract_id"]: row["text"] for row in rows["contracts"]}
        self.test = outputs.contract_of(self.questions, "test")

    def of(self, split):
        return [row for row in self.questions if row["split"] == split]

    def scores(self, predicted):
        rows, _ = scores(predicted, self.golds, self.test, resamples=1)
        return {row["metric"]: row["value"] for row in rows if row["group"] == "all"}

    def cells(self, predicted):
        """The cells of docs/cuad.md's table."""
        values = self.scores(predicted)
        names = ("F1", "F1, strict", "F2", "F2, strict", "Jaccard", "false rate")
        return [f"{values[name]:.3f}" for name in names]


@pytest.fixture(scope="module")
def contracts(mirror):
    if not (mirror / "cuad/data.zip").is_file():
        pytest.skip(f"no real data: there is no file {mirror / 'cuad/data.zip'}")
    return Outputs(read("contracteval", "contracteval", mirror).of)


@pytest.mark.parametrize(
    ("row", "output"),
    [
        ("the whole contract for every question", "${contract}"),
        ("“No related clause.” for every question", "No related clause."),
        (
            "“No related clause.” and the whole contract",
            "No related clause. ${contract}",
        ),
    ],
)
def test_outputs_that_are_the_same_for_every_question(contracts, row, output):
    predicted = outputs.fixed(contracts.test, contracts.texts, output)
    values = contracts.cells(predicted)
    assert values == cells("docs/cuad.md", row)
    if row.endswith("and the whole contract"):
        assert values[0] == "1.000"
        sentence = (
            "followed by the whole contract has an F1 of {}, and {} in our strict mode"
        )
        assert stated("README.md", sentence) == ["1.000", "0"]


def test_a_control_that_reads_no_contract(contracts):
    reached = {}
    frequent = "the whole contract for the 14 most frequent categories (number for F1)"
    for metric, row, number in (
        ("F1", frequent, 14),
        ("F2", "the same for 27 (number for F2)", 27),
    ):
        # The number of categories with the best score on the training contracts.
        categories, _ = outputs.frequent_categories(
            contracts.of("train"), contracts.texts, contracts.golds, metric
        )
        predicted = outputs.for_categories(
            contracts.of("test"), contracts.texts, categories
        )
        values = contracts.cells(predicted)
        assert len(categories) == number
        assert values == cells("docs/cuad.md", row)
        # In strict mode.
        assert values[1] == "0.000"
        assert values[3] == "0.000"
        reached[metric] = values[0 if metric == "F1" else 2]
    published_best = [f"{best('contracteval', 'table3', name)}" for name in reached]
    sentence = (
        "has an F1 of {} or an F2 of {}; the best of 19 language models has {} and {}. In "
        "strict mode it scores {}."
    )
    assert stated("README.md", sentence) == [*reached.values(), *published_best, "0"]
    # What a model that reads adds to the control.
    row = "TF-IDF, linear models and trees, threshold for F1"
    ours = result(row, "F1")
    sentence = "{} against {} is what reading adds under the released evaluator"
    assert stated("README.md", sentence) == [ours, reached["F1"]]
    added = f"{float(ours) - float(reached['F1']):.3f}"
    sentence = "reading adds {} of F1 ({} against {})"
    assert stated("docs/cuad.md", sentence) == [added, ours, reached["F1"]]


def test_gains_by_padding_follow_from_the_published_values():
    """Precision and recall of a model follow from its F1 and F2.

    Its outputs, followed by the whole contract, are correct for all questions with
    answers except those that it denies ("No related clause").
    """
    values = published("contracteval", "table3")
    gains = {}
    padded = {}
    for row, of_row in values.groupby("row"):
        published_scores = of_row.set_index("column").number
        f1 = published_scores["F1"]
        f2 = published_scores["F2"]
        false = published_scores["False rate"]
        # In units of the questions with answers: 2 tp / F1 = tp + fp + 1, and
        # 5 tp / F2 = tp + fp + 4.
        correct = 3 / (5 / f2 - 2 / f1)
        wrong = 2 * correct / f1 - correct - 1
        recall = 1 - false
        padded[row] = 2 * recall / (recall + wrong + 1)
        gains[row] = padded[row] - f1
    smallest = min(gains, key=gains.get)
    largest = max(gains, key=gains.get)
    assert (smallest, largest) == ("GPT 4.1 mini", "Qwen3 4B (thinking)")
    least = f"{gains[smallest]:.3f}"
    most = f"{gains[largest]:.3f}"
    assert stated("README.md", "All {} published models could gain at least {};") == [
        str(len(gains)),
        least,
    ]
    above = sum(
        value > best("contracteval", "table3", "F1") for value in padded.values()
    )
    sentence = (
        "F1 would rise by {} (GPT 4.1 mini) to {} (Qwen3 4B, thinking), and {} models "
        "would exceed 0.644"
    )
    assert stated("docs/cuad.md", sentence) == [least, most, str(above)]
    assert stated(
        "resources/papers/contracteval.yaml",
        sentence.replace("0.644", "the best published F1"),
    ) == [least, most, str(above)]


# CUAD: models that train for minutes, and a control.


def test_scores_of_models_that_train_for_minutes_are_those_of_the_stored_results():
    trees = "TF-IDF, linear models and trees"
    # The stored results show no lenient rows: their values are those of one page.
    both = "TF-IDF, sentence embeddings, linear models and trees"
    aupr = {
        "both": cells("docs/baselines.md", both, "CUAD")[0],
        "parties": result(f"{trees}, parties by their names", "score"),
        "published": f"{best('cuad', 'table2', 'AUPR')}",
    }
    sentence = (
        "On CUAD their AUPR is {} with sentence embeddings and {} where they must mark the "
        "names of parties; the best published one is {}, and"
    )
    named = [aupr["both"], aupr["parties"], aupr["published"]]
    assert stated("README.md", sentence) == named
    sentence = (
        "the best published row has {}, the best [baseline](baselines.md#cuad) {}, and the "
        "best one that marks the names of parties {}."
    )
    assert stated("docs/cuad.md", sentence) == [named[2], named[0], named[1]]
    parties = cells("docs/baselines.md", f"{trees}, parties by their names", "CUAD")
    assert parties[0] == aupr["parties"]
    columns = ("F1", "F1, strict", "F2", "F2, strict", "Jaccard", "False rate")
    for row, name in (
        (f"{trees}, threshold for F1 (0.16)", f"{trees}, threshold for F1"),
        ("the same, threshold for F2 (0.02)", f"{trees}, threshold for F2"),
    ):
        stored = [result(name, column) for column in columns]
        assert cells("docs/cuad.md", row) == stored
    f1 = result(f"{trees}, threshold for F1", "F1")
    strict = result(f"{trees}, threshold for F1", "F1, strict")
    sentence = "Trained on {} annotated contracts, they have an F1 of {} on ContractEval ({} in strict mode)"
    assert stated("README.md", sentence) == ["408", f1, strict]


def test_the_models_of_cuad_are_trained_on_408_contracts(contracts):
    assert len({row["contract_id"] for row in contracts.of("train")}) == 408


def test_the_relaxed_match_is_worth_a_fifth_of_the_answers(contracts):
    test = contracts.of("test")
    predicted = outputs.relaxed_spans(test, contracts.texts, "Parties")
    nbest = spans.nbest_rows(predicted)
    rows = spans.scores(
        nbest, test, contracts.answers, relaxed="Parties", low_thresholds=(0.001, 0)
    )
    values = {
        row["metric"]: 100 * row["value"] for row in rows if row["group"] == "all"
    }
    row = cells(
        "docs/baselines.md", "the whole contract as the parties, no other answer"
    )
    reached = [f"{values['AUPR']:.1f}", *["0"] * 2]
    assert row == reached
    assert f"{values['AUPR, strict']:.1f}" == reached[0]
    assert stated("README.md", "a control that reads nothing has {}.") == reached[:1]
    names = {row["question_id"] for row in test if row["category"] == "Parties"}
    asked = {row["question_id"] for row in test}
    parties = sum(row["question_id"] in names for row in contracts.answers)
    answers = sum(row["question_id"] in asked for row in contracts.answers)
    sentence = "A fifth of the answers ({} of {}) are parties"
    assert stated("docs/baselines.md", sentence) == [f"{parties:,}", f"{answers:,}"]


def test_pages_count_the_values_that_differ_as_the_results_page():
    for name, paper in (("docs/cuad.md", "CUAD"), ("docs/acord.md", "ACORD")):
        off = 0
        for line in (ROOT / "docs/results.md").read_text().splitlines():
            first, *others = [cell.strip() for cell in line.strip("|").split("|")]
            kind = others[0] if others else ""
            if first == paper and kind in ("scores", "statistics", "texts"):
                off += int(others[4])  # kind, published, match, near, off
        assert stated(name, "{} values differ, each with its") == [str(off)]


# ACORD: clauses shared with CUAD, and rankings that read no query.


def test_share_of_acords_words_in_cuad():
    """The recorded shares are computed again in test_overlaps_real.py."""
    facts = pd.read_csv(ROOT / "resources/facts/overlaps.csv")
    of_all = facts[(facts.dataset == "acord") & (facts.other_dataset == "cuad")]
    share = str(round(100 * of_all.share.max()))
    assert stated("README.md", "{} % of their words are in CUAD's contracts") == [share]
    sentence = "{} % of the words of its {} longer clauses are in CUAD's contracts"
    assert stated("docs/overlaps.md", sentence)[0] == share


def test_the_order_of_acords_rows_is_the_same_without_cuads_clauses():
    scores_of = []
    for system in ("BM25", "MiniLM", "BM25 + MiniLM"):
        values = cells("docs/overlaps.md", f"ACORD, {system}")
        scores_of.append([float(value) for value in values[1:3]])
    on_all, on_others = zip(*scores_of, strict=True)
    assert [*on_all] == sorted(on_all)
    assert [*on_others] == sorted(on_others)
    assert "the order of ACORD's rows is the same on the other clauses" in page(
        "README.md"
    )


@pytest.fixture(scope="module")
def acord_data(mirror, tmp_path_factory):
    """The folder with the tables of ACORD."""
    folder = tmp_path_factory.mktemp("data") / "acord"
    folder.mkdir()
    written("acord", "acord", folder, read("acord", "acord", mirror), "release")
    return folder


@pytest.fixture(scope="module")
def acord_task():
    paper = load(ROOT / "resources/papers/acord.yaml")
    return paper.tasks["acord"].model_dump(mode="json")


@pytest.fixture(scope="module")
def acord(acord_data, acord_task):
    files = [acord_data / f"{name}.parquet" for name in collection.files(acord_task)]
    return collection.load(files, acord_task)


def test_cuads_labels_and_the_relevance_of_acords_queries(
    acord, acord_data, acord_task, mirror
):
    folder = acord_data.with_name("cuad")
    folder.mkdir()
    written("cuad", "cuad", folder, read("cuad", "cuad", mirror), "rebuilt")
    compared = {"dataset": "acord", "task": acord_task, "labels": "cuad"}
    table = relevance.frame([compared], acord_data.parent)
    assert len(table) == len(acord.queries) == 114
    table = table[table.split == "test"]
    share = table.both / (table.relevant + table.labelled - table.both)
    is_near = share >= 0.5
    origin = table["query"].map(lambda name: acord.queries[name]["origin"])
    is_of_cuad = origin == "cuad1"
    # For queries about CUAD's categories, the label is nearly the relevance, or a
    # superset.
    near = table[is_of_cuad & is_near]
    superset = table[is_of_cuad & ~is_near]
    others = table[~is_of_cuad & is_near]
    overlaps = "docs/overlaps.md"
    sentence = "nearly the relevance for {} of ACORD's {} test queries"
    assert stated(overlaps, sentence) == [str(len(near)), str(len(table))]
    sentence = (
        "The {} test queries of ACORD's part `cuad1` (column `origin`) are about CUAD's "
        "categories. For {} of them at least half of the clauses that are relevant or "
        "labelled are both: {} of the {} relevant clauses have the category's label, and "
        "{} judged clauses have it."
    )
    of_categories = len(near) + len(superset)
    counts = [of_categories, len(near)]
    counts += [near.both.sum(), near.relevant.sum(), near.labelled.sum()]
    assert stated(overlaps, sentence) == [str(count) for count in counts]
    assert (superset.both == superset.relevant).all()
    sentence = "the label is a superset: all {} relevant clauses have it, but so have {} others."
    more = superset.labelled.sum() - superset.both.sum()
    assert stated(overlaps, sentence) == [str(superset.relevant.sum()), str(more)]
    of_superset = "For the other {} (England's governing law, several governing laws,"
    assert stated(overlaps, of_superset) == [str(len(superset))]
    assert set(superset.label) == {
        "Governing Law",
        "Renewal Term",
        "No-Solicit Of Employees",
    }
    sentence = "Of the other {} test queries, about limits of liability and indemnification, {} are as near"
    rest = len(table) - of_categories
    assert stated(overlaps, sentence) == [str(rest), str(len(others))]
    assert set(others.label) == {"Cap On Liability", "Uncapped Liability"}
    sentence = (
        "{} test queries are about CUAD's categories. For {} of them CUAD's label is "
        "nearly the relevance, for {} it is a superset"
    )
    expected = [of_categories, len(near), len(superset)]
    assert stated("docs/acord.md", sentence) == [str(count) for count in expected]


@pytest.mark.parametrize(
    ("by", "row"),
    [
        (
            "gain",
            "clauses by their stars for training and validation queries, "
            "without query or text",
        ),
        ("length", "shortest clauses first, without query"),
    ],
)
def test_rankings_that_read_no_query(acord, by, row):
    settings = {"form": "short", "by": by}
    hits = prior.rank(Ranking(acord, {"short": settings}))["short"]
    test = acord.of("test")
    judged = {query: dict(acord.judged[query]) for query in test}
    run = {query: [name for name, _ in hits[query]] for query in test}
    values = []
    for metric in ("NDCG@5", "NDCG@10"):
        values.append(f"{fmean(by_name(metric)(judged, run).values()):.3f}")
    assert values == cells("docs/baselines.md", row)
    if by == "gain":
        bm25 = published("acord", "table_d3").set_index(["row", "column"]).number
        remaining = bm25["BM25 / None", "NDCG@5"] - float(values[0])
        sentence = "{} of NDCG@5 remains for BM25"
        assert stated("docs/baselines.md", sentence) == [f"{remaining:.3f}"]


def test_acords_main_number():
    bm25 = published("acord", "table_d3").set_index(["row", "column"]).value
    feedback = result("BM25 + MiniLM, with feedback / None", "score")
    sentence = (
        "NDCG@5 of BM25 on the test queries, {} published and computed; the best "
        "[baseline](baselines.md#acord) without training has {}, the best published row {}."
    )
    assert stated("docs/acord.md", sentence) == [
        bm25["BM25 / None", "NDCG@5"],
        feedback,
        f"{best('acord', 'table_d3', 'NDCG@5')}",
    ]


# MAUD, the privacy corpus and LawngNLI.


def test_mauds_linear_models_and_random_scores(mirror, tmp_path):
    written("maud", "maud", tmp_path, read("maud", "maud", mirror), "partial")
    paper = load(ROOT / "resources/papers/maud.yaml")
    options = {"data": "release", "models": "available", "mirror": str(mirror)}
    plan = paper_plan.plan(paper, context("maud", **options))
    task = paper.tasks["maud"]
    names = ("examples", "questions", "texts")
    files = LinearFiles(*(tmp_path / f"{name}.parquet" for name in names))
    tested = [row for row in read_table(files.examples) if row["split"] in task.test]
    heads = list(read_table(files.heads))

    def values_of(model):
        run = Run("maud", "train", model, "linear", 0)
        settings = LinearSettings(**plan.specs[run].settings)
        weights = tmp_path / model
        train(files, task.final, settings, 1, weights)
        predicted = list(read_views(files, task.test, settings, [weights], {}))
        rows, _ = scores_and_jackknives(predicted, tested, heads, partial=True)
        values = {row["metric"]: row for row in rows if row["group"] == "all"}
        return {name: f"{100 * row['value']:.1f}" for name, row in values.items()}

    words = values_of("linear")
    length = values_of("linear-length")
    sentence = (
        "mean AUPR over {} questions: {} ({} to {}) for [words and a linear "
        "model](baselines.md#maud), {} for the length of the text alone, {} for random "
        "scores and for label frequency."
    )
    expected = [str(len({row["head_id"] for row in tested}))]
    expected += [words[name] for name in ("AUPR", "AUPR, low", "AUPR, high")]
    expected += [length["AUPR"], words["random AUPR"]]
    assert stated("docs/maud.md", sentence) == expected
    for row, value in (
        ("words and a linear model", words["AUPR"]),
        ("length of the text and a linear model", length["AUPR"]),
        (
            "expected value of random scores, and of label frequency",
            words["random AUPR"],
        ),
    ):
        assert cells("docs/baselines.md", row, "MAUD")[0] == value


def test_the_privacy_corpus_without_its_texts(mirror, tmp_path):
    paper = load(ROOT / "resources/papers/privacy.yaml")
    task = paper.tasks["privacy"]
    variants = {"policies": "stand_in"}
    policies = [mirror / "privacy/privacy_policies.standin.ndjson"]
    rows = read("privacy", "privacy", mirror, {"policies": policies}, variants)
    written("privacy", "privacy", tmp_path, rows, "stand_in")
    names = task.names.model_dump()
    files = [tmp_path / f"{names[table]}.parquet" for table in ANSWERED_FROM]
    data = collect(files, names)
    settings = PriorSettings(pseudo=task.pseudo, smoothing=task.smoothing)

    def row_of(answers, group):
        scored, _ = of_answers(prediction_rows(answers), data, task.smoothing)
        values = {(row["metric"], row["group"]): row["value"] for row in scored}
        loss = values["cross entropy", group]
        excess = values["excess", group]
        accuracy = 100 * values["accuracy", group]
        return [f"{loss:.3f}", f"{excess:.3f}", f"{accuracy:.1f}"]

    prior_answers = baselines.prior(data.shares, settings)
    uniform = row_of(baselines.uniform(data.shares), "all")
    others = row_of(prior_answers, "all")
    table = "docs/baselines.md"
    assert cells(table, "all options equally probable")[1:] == uniform
    assert cells(table, "answers of the other sites")[1:] == others
    row = cells(table, "the same, of the 20 sites with a text")
    assert row[1:] == row_of(prior_answers, WITH_TEXT)
    sentence = "loss of the other sites' answers on all pairs, {}; all options equally probable, {}"
    assert stated("docs/privacy.md", sentence) == [others[0], uniform[0]]


def test_pages_agree_on_lawngnlis_accuracies():
    """Their build takes an hour: here only that both pages have the same numbers."""
    lawngnli = "docs/lawngnli.md"
    table = "docs/baselines.md"
    for row, other in (
        (
            "words of the hypothesis and a linear model (`lawngnli_table12`)",
            "words of the hypothesis alone, linear model",
        ),
        (
            "overlap of hypothesis and short premise, and a linear model",
            "overlap of words, linear model",
        ),
        (
            "words of both sides with the overlap, and a linear model",
            "words and their overlap, linear model",
        ),
    ):
        assert cells(table, row)[0] == cells(lawngnli, other)[0]


def test_the_table_of_controls_has_the_values_of_the_other_tables():
    def control(score, name):
        """The last two cells of a control; those of a score follow its first one."""
        text = page("docs/baselines.md").partition("## Controls")[2]
        start = text.index(f"| {score} |")
        row = text[text.index(f"| {name} |", start) :].split("|")
        return [cell.strip() for cell in row[2:4]]

    table = "docs/baselines.md"
    lawngnli = "docs/lawngnli.md"
    trees = "TF-IDF, linear models and trees"
    f1 = result(f"{trees}, threshold for F1", "F1")
    parties = f"{trees}, parties by their names"
    rows = (trees, parties)
    strict = max(result(f"{row}, threshold for F1", "F1, strict") for row in rows)
    whole = "the whole contract as the parties, no other answer"
    auprs = [
        cells(table, row, "CUAD")[0]
        for row in (
            whole,
            "TF-IDF, sentence embeddings, linear models and trees",
            parties,
        )
    ]
    best_aupr = f"{auprs[1]}; names of parties marked: {auprs[2]}"
    frequent = "the whole contract for the 14 most frequent categories (number for F1)"
    stars = "clauses by their stars for training and validation queries"
    tuned = "the same with BM25, MiniLM with double weight (three seeds)"
    shortest = "shortest clauses first"
    random = "expected value of random scores, and of label frequency"
    hypothesis = "words of the hypothesis alone, linear model"
    guessed = "no training: Neutral by little overlap of bigrams, other labels guessed"
    sites = "the same, of the 20 sites with a text"
    expected = {
        ("CUAD, AUPR", whole): [auprs[0], best_aupr],
        (
            "ContractEval, F1",
            "the whole contract for the categories that training contracts answer most often",
        ): [cells("docs/cuad.md", frequent)[0], f1],
        ("ContractEval, F1 in strict mode", "the same"): [
            cells("docs/cuad.md", frequent)[1],
            strict,
        ],
        ("ACORD, NDCG@5", stars): [
            cells(table, f"{stars}, without query or text")[0],
            cells(table, tuned)[0],
        ],
        ("ACORD, NDCG@5", shortest): [
            cells(table, f"{shortest}, without query")[0],
            "",
        ],
        ("MAUD, AUPR of seven questions", "label frequency"): [
            cells(table, random)[0],
            cells(table, "words and a linear model", "MAUD")[0],
        ],
        ("MAUD, AUPR of seven questions", "length of the text"): [
            cells(table, "length of the text and a linear model")[0],
            "",
        ],
        ("LawngNLI, accuracy of three labels", "words of the hypothesis"): [
            cells(lawngnli, hypothesis)[0],
            cells(lawngnli, "words and MiniLM's embeddings, linear model")[0],
        ],
        (
            "LawngNLI, accuracy of three labels",
            "Neutral by little overlap, other labels guessed",
        ): [cells(lawngnli, guessed)[0], ""],
        ("privacy, accuracy on 20 sites", "answers of the other sites"): [
            cells(table, sites)[3],
            cells(
                table, "sentence embeddings and a linear model", "Privacy policy corpus"
            )[3],
        ],
    }
    for place, values in expected.items():
        assert control(*place) == values, place
