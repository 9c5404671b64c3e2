"""The experiment on pairs with matched overlap, and accuracies by label and within twins."""

import queue
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from lextables.models import alignment
from lextables.papers.lawngnli import matched
from lextables.papers.lawngnli.label_tables import (
    CHOICE,
    TWINS,
    by_label,
    decided,
    fit_threshold,
    guesses,
    share_of_premises,
)
from lextables.papers.lawngnli.labels import LABELS
from lextables.papers.lawngnli.pairs import TEXTS
from lextables.pipeline.dataset import read, write

ENTAIL, NEUTRAL, CONTRADICT = range(3)
SETTINGS = {"longest": 2, "least": 3, "smoothing": 1.0, "numbers": 1.0, "multi_label": False}
SETTINGS |= {"penalty": {"words": 1, "overlap": 1}}


def family(name, labels, premise):
    return [
        {"example_id": f"{name}{twin}:nli", "example": f"{name}{twin}", "premise": premise, "label": label}
        for twin, label in zip(("", ":twin"), labels, strict=True)
    ]


def families(kind, labels, overlaps):
    rows, overlap = [], {}
    for number, value in enumerate(overlaps):
        those = family(f"{kind}{number}", labels, f"case {number % 40}")
        rows += those
        overlap |= {row["example_id"]: value for row in those}
    return rows, overlap


@pytest.mark.parametrize(
    ("entail", "contradict", "choice", "twins"),
    [
        ([0.6, 0, 0.4], [0.3, 0.2, 0.5], [1, 1], 1),
        ([0.2, 0.5, 0.3], [0.1, 0.5, 0.4], [0, 1], 1),  # Neutral is most probable
        ([0.4, 0, 0.6], [0.7, 0, 0.3], [0, 0], 0),
        ([0.5, 0, 0.5], [0.2, 0.6, 0.2], [0.5, 0.5], 0.5),
    ],
)
def test_entail_and_contradict_are_compared_without_neutral_and_within_twins(
    entail, contradict, choice, twins
):
    found = by_label(family("a", (ENTAIL, CONTRADICT), "case"), [entail, contradict])
    assert found[CHOICE] == [("case", share) for share in choice]
    assert found[TWINS] == [("case", twins)]


def test_tied_labels_share_an_answer_equally():
    assert decided(np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]])).tolist() == [[0, 1, 0], [0.5, 0, 0.5]]


def test_guessing_is_right_for_half_of_the_twins():
    rows = family("a", (ENTAIL, CONTRADICT), "case") + family("b", (NEUTRAL, NEUTRAL), "case")
    found = by_label(rows, guesses(np.array([0.8, 0.9, 0.1, 0.2]), 0.5))
    assert found[TWINS] == [("case", 0.5)]
    assert [value for _, value in found["neutral"]] == [1, 1]
    assert [value for _, value in found["entail"]] == [0.5]


def test_the_threshold_has_the_highest_expected_accuracy():
    overlap, labels = np.array([0.1, 0.2, 0.7, 0.8]), np.array([NEUTRAL, NEUTRAL, ENTAIL, CONTRADICT])
    assert fit_threshold(overlap, labels) == 0.7
    assert guesses(overlap, 0.7)[range(4), labels].tolist() == [1, 1, 0.5, 0.5]


def test_an_interval_over_premises_is_wider_than_over_examples():
    values = [(str(premise), float(premise % 2)) for premise in range(20) for _ in range(10)]
    mean, (low, high) = share_of_premises(values)
    assert mean == 0.5
    assert high - low > 0.4


def test_both_designs_are_balanced_and_below_the_bound():
    rng = np.random.default_rng(0)
    first, known = families("ec", (ENTAIL, CONTRADICT), rng.uniform(0, 1, 400).tolist())
    second, more = families("n", (NEUTRAL, NEUTRAL), (rng.uniform(0, 0.7, 300) ** 2).tolist())
    pairs = matched.choose_pairs(first + second, known | more, seed=0)
    assert len([row for row in pairs if row[matched.ALL]]) == len(first + second)
    means = {}
    for design in (matched.BOUND, matched.MATCHED):
        chosen = [row for row in pairs if row[design]]
        assert max(row["overlap"] for row in chosen) < 0.5
        assert len(set(Counter(row["label"] for row in chosen).values())) == 1
        of_label = [[row["overlap"] for row in chosen if row["label"] == label] for label in range(3)]
        means[design] = np.mean(of_label[ENTAIL]) - np.mean(of_label[NEUTRAL])
    assert means[matched.BOUND] > 0.05
    assert abs(means[matched.MATCHED]) < 0.02
    assert pairs == matched.choose_pairs((first + second)[::-1], known | more, seed=0)


def test_an_overlap_of_one_half_is_not_below_the_bound():
    first, known = families("ec", (ENTAIL, CONTRADICT), [0.4, 0.4])
    second, more = families("n", (NEUTRAL, NEUTRAL), [0.5])
    pairs = matched.choose_pairs(first + second, known | more, seed=0)
    assert not any(row[matched.BOUND] or row[matched.MATCHED] for row in pairs)


def test_intervals_are_of_95_percent():
    found = matched.difference(np.random.default_rng(0).normal(size=(2, 30)), [str(n) for n in range(30)])
    # The normal quantiles of 0.975 and of 0.8 are 1.96 and 0.8416.
    ratio = (found.detectable - (found.high - found.value)) / (found.high - found.value)
    assert ratio == pytest.approx(0.8416 / 1.96, abs=1e-3)


def test_no_opinion_is_in_both_training_and_test():
    premises = [f"case {number % 30}" for number in range(200)]
    tested = Counter()
    for _, training, test in matched.splits(premises, 0):
        assert not {premises[at] for at in training} & {premises[at] for at in test}
        tested.update(test.tolist())
    assert set(tested.values()) == {matched.REPETITIONS}


def test_the_interval_covers_a_difference_of_zero(monkeypatch):
    """Simulate 400 experiments with 120 pairs about 50 opinions and a true difference of zero."""
    monkeypatch.setattr(matched, "RESAMPLES", 500)
    rng, covered = np.random.default_rng(1), 0
    for _ in range(400):
        premises = rng.integers(0, 50, 120)
        shared = rng.normal(0, 0.3, 50)[premises]
        noise = rng.normal(0, 0.3, (10, 120)) + rng.normal(0, 0.3, 120) + shared
        found = matched.difference(noise, premises.tolist())
        covered += found.low <= 0 <= found.high
    assert 0.925 <= covered / 400 <= 0.985


def word_vectors(texts):
    """Return {text: a unit vector for each word}; equal words have equal vectors."""
    drawn, texts = {}, set(texts)
    for word in sorted({word for text in texts for word in text.split()}):
        drawn[word] = np.random.default_rng([*word.encode()]).normal(size=32)
        drawn[word] /= np.linalg.norm(drawn[word])
    return {text: torch.tensor(np.array([drawn[word] for word in text.split()])).half() for text in texts}


def test_alignment_detects_a_negation_that_only_one_of_two_texts_has():
    rng, texts = np.random.default_rng(0), []
    labels = np.arange(400) % 2
    for number, label in enumerate(labels):
        words = [f"word{word}" for word in rng.choice(30, 4, replace=False)]
        negated = number // 2 % 2
        texts.append([" ".join(["not"] * times + words) for times in (negated, negated ^ label)])
    vectors = word_vectors([side for pair in texts for side in pair])
    features = {
        "both": [alignment.unmatched(vectors[first], [vectors[second]]) for first, second in texts],
        "alone": [vectors[first].float().mean(dim=0).numpy() for first, _ in texts],
    }
    shares = {}
    for name, columns in features.items():
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(columns[:300], labels[:300])
        shares[name] = model.score(columns[300:], labels[300:])
    assert shares["both"] > 0.9 and 0.3 < shares["alone"] < 0.7


def test_the_sentences_with_the_most_words_of_the_hypothesis_come_first():
    premise = "The lease ended. The parties knew that it was void; Rent was due. We affirm."
    found = matched.nearest(premise, "it was not due that the lease was void")
    assert found == ["The parties knew that it was void;", "The lease ended."]
    assert matched.nearest("", "a thing") == [""]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """Run with 180 families. The label is a word of the filtered long premise, so only (6) can learn it."""
    folder = tmp_path_factory.mktemp("matched")
    rows, texts = [], {}
    for number in range(180):
        labels = (NEUTRAL, NEUTRAL) if number % 3 == 2 else (ENTAIL, CONTRADICT)
        for row in family(f"f{number}", labels, f"case {number // 2}"):
            views = {
                "short": f"short premise {number} of the court",
                "long_bm25": f"opinion {number} mark{row['label']} of the court",
                "hypothesis": f"statement {row['example']} about a thing",
            }
            texts |= {f"{row['example']}-{view}": text for view, text in views.items()}
            rows.append(row | {"head_id": "nli"} | {view: f"{row['example']}-{view}" for view in views})
    pq.write_table(pa.Table.from_pylist(rows), folder / "examples.parquet")
    stored = [{"text_id": text_id, "text": text} for text_id, text in sorted(texts.items())]
    write(TEXTS, stored, folder / "texts.parquet")
    messages = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matched._log, "info", lambda *message: messages.append(message))
        patch.setattr(matched, "REPETITIONS", 2)
        files = folder / "examples.parquet", folder / "texts.parquet"
        pairs, answers = matched.run(*files, SETTINGS, 0, word_vectors)
    write(matched.PAIRS, pairs, folder / "pairs.parquet")
    write(matched.ANSWERS, answers, folder / "answers.parquet")
    return SimpleNamespace(data=folder, messages=messages)


def test_a_simulated_difference_is_found(experiment):
    cells = {(cell.row, cell.column): cell for cell in matched.table(experiment)}
    name = matched.DESIGN_NAMES[matched.BOUND]
    gap = cells[f"{name} / {matched.MODELS['words']}", "(6) less (3)"]
    assert gap.low > 0.2
    for model in matched.MODELS.values():
        of_model = {column: cell.value for (row, column), cell in cells.items() if row == f"{name} / {model}"}
        gap = of_model[f"(6), {CHOICE}"] - of_model[f"(3), {CHOICE}"]
        assert of_model[f"(6) less (3), {CHOICE}"] == pytest.approx(gap)
    assert cells[f"{name} / {matched.MODELS['words']}", f"(6), {TWINS}"].value > 0.9
    guess = cells[f"{name} / {matched.MODELS['guess']}", "(6) less (3)"]
    assert abs(guess.value) < 0.1
    assert set(LABELS) <= {column.removeprefix("(6), ") for _, column in cells}


def test_each_pair_is_answered_once_per_repetition(experiment):
    answers = list(read(experiment.data / "answers.parquet"))
    counts = Counter((row["design"], row["model"], row["condition"], row["repetition"]) for row in answers)
    sizes = Counter(
        design for row in read(experiment.data / "pairs.parquet") for design in matched.DESIGNS if row[design]
    )
    assert {design for design, *_ in counts} == {*matched.DESIGNS}
    assert all(count == sizes[design] for (design, *_), count in counts.items())


def test_the_log_reports_the_number_of_fits(experiment, monkeypatch):
    answers = read(experiment.data / "answers.parquet")
    fits = matched.FOLDS * len({tuple(row[name] for name in matched.ANSWERS.key[:-1]) for row in answers})
    assert experiment.messages[-1] == ("%d of %d fits done", fits, fits)
    messages = queue.SimpleQueue()
    monkeypatch.setattr(matched, "LOG_SECONDS", 0.01)
    monkeypatch.setattr(matched._log, "info", lambda *message: messages.put(message[1:]))
    with matched.progress(2) as done:
        done.append({})
        while messages.get(timeout=10) != (1, 2):  # written while the fit runs
            pass


def test_designs_with_too_few_pairs_are_not_run(tmp_path):
    write(matched.PAIRS, [], tmp_path / "pairs.parquet")
    write(matched.ANSWERS, [], tmp_path / "answers.parquet")
    cells = list(matched.table(SimpleNamespace(data=tmp_path)))
    assert {cell.reason for cell in cells if cell.column == "(6)"} == {"0 pairs, fewer than 300"}
