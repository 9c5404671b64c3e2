"""The linear baseline for span extraction: training and predictions on short
synthetic contracts.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.short_contracts import contract
from lextables.metrics.spans import Gold, nbest_rows, paper_matches, scores
from lextables.models import trees
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.candidates import candidates
from lextables.tasks.spans.linear import (
    Golds,
    fit,
    load,
    nbest,
    predict,
    save,
    spans_of,
    train,
)
from lextables.tasks.spans.linear_settings import LinearRun
from lextables.tasks.spans.segment_vectors import read_vectors, write_vectors
from lextables.tasks.spans.segments import Segments
from lextables.tasks.spans.squad import contract_texts, training_texts

SETTINGS = LinearRun(
    folds=3,
    alpha=1e-5,
    epochs=5,
    units=6,
    penalty=0.1,
    near=0.01,
    n_best=9,
    relaxed="Parties",
    features="words",
    share=0.3,
    percent=100,
)


CATEGORIES = ("Agreement Date", "Governing Law", "Parties")


@pytest.fixture(scope="module")
def model():
    texts, answers = zip(*map(contract, range(24)), strict=True)
    return fit(texts, dict(enumerate(answers)), CATEGORIES, SETTINGS).model


def test_training_is_deterministic(model, tmp_path):
    texts, answers = zip(*map(contract, range(24)), strict=True)
    again = fit(texts, dict(enumerate(answers)), CATEGORIES, SETTINGS).model
    assert_equal_predictions(model, again, texts[:4])


def assert_equal_predictions(one, other, texts):
    predicted = [predict(model, texts, 6) for model in (one, other)]
    assert predicted[0]
    for (spans, logits), (other_spans, other_logits) in zip(*predicted, strict=True):
        assert np.array_equal(spans.start, other_spans.start)
        assert np.array_equal(logits, other_logits)


def test_a_loaded_model_gives_identical_predictions(model, tmp_path):
    save(model, tmp_path / "linear.npz")
    again = load(tmp_path / "linear.npz")
    for name in ("categories", "parts", "relaxed"):
        assert getattr(again, name) == getattr(model, name)
    texts = [contract(number, seed=1)[0] for number in range(4)]
    assert_equal_predictions(model, again, texts)


def test_out_of_fold_predictions_use_models_trained_without_that_fold(monkeypatch):
    """Only one fold has annotated parties, so the models trained without it have no
    example of them.
    """
    texts, answers = zip(*map(contract, range(24)), strict=True)
    fold = np.random.default_rng(0).permutation(24) % SETTINGS.folds == 0
    marked = {}
    for number, spans in enumerate(answers):
        marked[number] = spans if fold[number] else spans[:2]
    sizes = []  # numbers of training rows, one a model
    fit_trees = trees.fit

    def fit_and_count(rows, labels):
        sizes.append(len(rows))
        return fit_trees(rows, labels)

    monkeypatch.setattr(trees, "fit", fit_and_count)
    settings = SETTINGS.model_copy(update={"out_of_fold": True})
    fitted = fit(texts, marked, CATEGORIES, settings)
    party_candidates, _ = fitted.out_of_fold[2]
    everything, *without_a_fold = sizes
    assert len(without_a_fold) == SETTINGS.folds
    assert sum(without_a_fold) == (SETTINGS.folds - 1) * everything
    # The contracts of this fold have no candidate: the model that predicts them was
    # trained on the other folds, which have no party.
    other_contracts = np.flatnonzero(~fold).tolist()
    assert set(party_candidates.contract.tolist()) == set(other_contracts)
    without = fit(texts, marked, CATEGORIES, SETTINGS)
    assert_equal_predictions(fitted.model, without.model, texts)


def test_only_the_category_of_dates_gets_dates_as_candidates(model):
    assert model.parts == (("date",), (), ())


def test_matches_equal_those_of_the_evaluator():
    texts, answers = zip(*map(contract, range(3)), strict=True)
    segments = Segments.from_texts(texts)
    for category in range(3):
        given = candidates(
            segments, np.arange(len(segments.start), dtype=float), 99, ["date"]
        )
        asked = Golds(segments, dict(enumerate(answers)), category, category == 2)
        counted = [bool(those) for those in asked.matched(given)]
        assert any(counted)
        words = given.texts(segments)
        for at, contract_ in enumerate(given.contract.tolist()):
            golds = []
            for answered, (start, end) in answers[contract_]:
                if answered == category:
                    golds.append(texts[contract_][start:end])
            gold = Gold(("q",), ("c",), ("x",), (tuple(golds),))
            row = {"question_id": "q", "released_text": words[at], "text": words[at]}
            one = nbest_rows(
                [{**row, "rank": 0, "start": 0, "end": 1, "probability": 0.5}]
            )
            # The question's id selects the relaxed matching.
            matches = paper_matches(one, gold, "q" if category == 2 else None)
            assert len(matches.miss_question) == (not counted[at])


def test_an_answer_at_the_first_character_is_learnt():
    text, places = contract(0)
    examples = [{"category": "Agreement Date", "start": -1, "end": -1}]
    for category, (start, end) in [*places, (0, (0, 4))]:
        name = CATEGORIES[category]
        examples.append({"category": name, "start": start, "end": end})
    for number, example in enumerate(examples):
        example |= {"contract_id": "a", "question_id": str(number)}
    _, _, counts = train({"a": text}, examples, SETTINGS)
    assert counts["answers"] == len(places) + 1


def test_a_model_can_be_trained_on_one_contract():
    text, answers = contract(0)
    one = fit([text], {0: answers}, CATEGORIES, SETTINGS).model
    found = [np.isfinite(logits).all() for _, logits in predict(one, [text], 6)]
    assert found and all(found)


@pytest.mark.parametrize(
    ("others", "relaxed", "parts"),
    [(8, False, ("date",)), (9, False, ()), (8, True, ())],
)
def test_parts_are_candidates_if_more_than_a_tenth_of_the_answers_are_such(
    others, relaxed, parts
):
    words = [f"it shall pay w{number}" for number in range(others)]
    text = " ".join(["May 1, 2001", *words])
    answers = [(1, (0, 11)), (0, (0, 11)), (0, (0, 11))]
    for word in words:
        start = text.index(word)
        answers.append((1, (start, start + len(word))))
    assert Golds(Segments.from_texts([text]), {0: answers}, 1, relaxed).parts() == parts


def test_texts_are_unique_and_the_empty_prediction_gets_the_remaining_probability():
    places = [(-1.0, 0, 2), (0.5, 3, 5), (0.0, 6, 8), (-3.0, 0, 8)]
    rows = list(nbest("q", "ab ab cd", places, 2))
    kept = [(row["text"], row["start"], row["rank"]) for row in rows]
    assert kept == [("ab", 3, 0), ("cd", 6, 1), ("", -1, 2)]
    assert rows[0]["probability"] + rows[2]["probability"] == pytest.approx(1)
    assert [row["text"] for row in nbest("q", "", [], 2)] == [""]


def tables(path: Path, count: int, test: int):
    """Write contracts, the last ``test`` for testing; return examples, test questions
    and answers.
    """
    contracts, examples, asked, answers = [], [], {}, []
    for number in range(count):
        (text, spans), name = contract(number), f"c{number:02}"
        split = "test" if number >= count - test else "train"
        contracts.append({"contract_id": name, "split": split, "text": text})
        for index, (category, (start, end)) in enumerate(spans):
            label = CATEGORIES[category]
            question = {"question_id": f"{name}__{label}", "contract_id": name}
            question["category"] = label
            key = {"question_id": question["question_id"], "index": index}
            answers.append({**key, "text": text[start:end]})
            if split == "train":
                examples.append({**question, "start": start, "end": end})
            else:
                asked[question["question_id"]] = question
    pq.write_table(pa.Table.from_pylist(contracts), path)
    return examples, list(asked.values()), answers


def encoded(texts):
    """Vectors that show which of a few words a text contains."""
    columns = []
    for word in ("governed", "Agreement", "goods"):
        columns.append([word in text for text in texts])
    return np.array(columns, np.float32).T


@pytest.fixture
def data(tmp_path):
    """A data set of 24 training and 6 test contracts: texts, examples, questions,
    answers.
    """
    path = tmp_path / "contracts.parquet"
    examples, asked, answers = tables(path, 30, 6)
    return training_texts(path, 100), examples, asked, answers


@pytest.mark.parametrize("features", ["words", "vectors", "both"])
def test_contracts_of_the_test_split_are_predicted_and_scored(features, data, tmp_path):
    texts, examples, asked, answers = data
    everything = contract_texts(tmp_path / "contracts.parquet")
    path = tmp_path / "vectors.parquet"
    counts = write_vectors(everything, encoded, path)
    assert (counts["contracts"], counts["dimensions"]) == (30, 3)
    paths = [] if features == "words" else [path]
    settings = SETTINGS.model_copy(update={"features": features, "out_of_fold": True})
    vectors = read_vectors(paths, sorted(texts))
    model, out_of_fold, record = train(texts, examples, settings, vectors)
    assert (record["contracts"], record["answers"]) == (24, 96)
    assert (model.first.vocabularies is None) == (features == "vectors")
    assert len({row["question_id"] for row in out_of_fold}) == 24 * 3
    test_texts = contract_texts(tmp_path / "contracts.parquet", "test")
    vectors = read_vectors(paths, sorted(test_texts))
    rows = list(spans_of(model, test_texts, asked, settings, vectors))
    assert len(rows) == len({(row["question_id"], row["text"]) for row in rows})
    assert {row["question_id"] for row in rows} == {row["question_id"] for row in asked}
    table = scores(rows, asked, answers, relaxed="Parties", resamples=10)
    found = {(row["metric"], row["group"]): row["value"] for row in table}
    assert found["AUPR", "category: Governing Law"] > 0.9
    assert features != "words" or found["AUPR", "all"] > 0.9


def test_vectors_are_read_by_contract_and_missing_vectors_raise(model, tmp_path):
    path = tmp_path / "vectors.parquet"
    texts = {f"c{number}": contract(number)[0] for number in range(4)}
    write_vectors(texts, encoded, path)
    vectors = read_vectors([path], ["c3", "c1"])
    segments = Segments.from_texts([texts["c3"], texts["c1"]])
    assert np.array_equal(vectors, encoded(segments.texts()))
    with pytest.raises(BadInput, match="the contract 'new' has no vectors"):
        read_vectors([path], ["new"])
    with pytest.raises(BadInput, match="1 vectors for 14 segments"):
        predict(model, [texts["c3"]], 6, np.zeros((1, 3), dtype=np.float32))


def test_a_percentage_of_the_contracts_is_selected_deterministically(data, tmp_path):
    contracts = tmp_path / "contracts.parquet"
    half = training_texts(contracts, 50)
    # The training contracts are all but those for testing, validation among them (CUAD
    # has none).
    splits = {"a": "train", "b": "dev", "c": "test"}
    rows = [
        {"contract_id": name, "split": split, "text": name}
        for name, split in splits.items()
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "three.parquet")
    assert training_texts(tmp_path / "three.parquet", 100) == {"a": "a", "b": "b"}
    assert len(half) == 12 and half.items() < data[0].items()
    assert training_texts(contracts, 50) == half


def test_an_unknown_category_raises():
    text, answers = contract(0)
    few = fit([text] * 6, {0: answers[:1]}, CATEGORIES[:1], SETTINGS).model
    # The first by name, in any order of a set.
    asked = []
    for name in ("Parties", "Governing Law", "Term", "Notice", "Warranty", "Price"):
        asked.append({"question_id": name, "contract_id": "c", "category": name})
    with pytest.raises(BadInput, match="not trained on the category 'Governing Law'"):
        list(spans_of(few, {"c": text}, asked, SETTINGS))
