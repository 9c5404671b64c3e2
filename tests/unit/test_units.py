"""Contributions of units to a score: their mean is the score, for every task and metric
with units.
"""

import itertools

import numpy as np
import pytest

from lextables.metrics import answers, classification, marks
from lextables.metrics.classification import GROUPED, MOST_UNITS, by_key
from lextables.metrics.intervals import pseudo_values, unit_rows
from lextables.metrics.spans import gold, nbest_rows, scores, sweep
from lextables.metrics.spans_by_contract import by_contract
from lextables.pipeline.dataset import read, write
from lextables.pipeline.units import UNITS
from lextables.tasks.classification.scoring import score
from lextables.tasks.classification.settings import ScoreSettings
from lextables.tasks.retrieval import scoring
from lextables.tasks.retrieval.collection import Collection, prediction_rows

RNG = np.random.default_rng(0)


def test_unit_values_of_a_mean_are_the_values_of_the_units():
    values = RNG.random(12)
    assert pseudo_values(values.mean(), (values.sum() - values) / 11) == pytest.approx(
        values
    )


def test_unit_values_of_other_scores_are_shifted_jackknife_pseudo_values():
    values = RNG.random(12)
    left_out = np.array([np.delete(values, at).var() for at in range(12)])
    found = pseudo_values(values.var(), left_out)
    tukeys = 12 * values.var() - 11 * left_out
    assert found.mean() == pytest.approx(values.var())
    assert found - found.mean() == pytest.approx(tukeys - tukeys.mean())


def test_a_unit_has_no_value_if_the_score_is_undefined_without_it():
    found = pseudo_values(0.5, np.array([0.4, np.nan, 0.6]))
    assert found == pytest.approx([0.6, np.nan, 0.4], nan_ok=True)
    assert [row["unit"] for row in unit_rows("m", "all", ["a", "b", "c"], found)] == [
        "a",
        "c",
    ]
    assert np.isnan(pseudo_values(0.5, np.array([np.nan]))).all()


def check(rows, units, tmp_path, groups):
    """Check that the mean over units is the score, for exactly ``groups``, and that
    units fit their table.
    """
    assert write(UNITS, units, tmp_path / "units.parquet") == len(units)
    assert list(read(tmp_path / "units.parquet")) == units
    value = {(row["metric"], row["group"]): row["value"] for row in rows}
    found = {}
    for row in units:
        found.setdefault((row["metric"], row["group"]), []).append(row["value"])
    assert {group for _, group in found} == groups
    for name, values in found.items():
        assert np.mean(values) == pytest.approx(value[name]), name
    return found


def classified(units=30, heads=("a", "b"), categories=("law", "fact")):
    """Predictions, examples and heads: three answers; per head, two examples in each
    unit but the last.
    """
    known = [
        {"head_id": h, "answers": list("xyz"), "question": h, "category": c}
        for h, c in zip(heads, categories, strict=True)
    ]
    examples, given = [], []
    for head in heads:
        for at in range(2 * units - 1):
            name, label = f"{head}{at:04}", int(RNG.integers(3))
            examples.append(
                {
                    "example_id": name,
                    "head_id": head,
                    "labels": [label],
                    "label": label,
                    "unit": f"u{at // 2:04}",
                    "data_type": "main",
                    "split": "test",
                }
            )
            logits = RNG.normal(size=3) + 1.5 * (np.arange(3) == label)
            shares = np.exp(logits) / np.exp(logits).sum()
            given.append(
                {
                    "example_id": name,
                    "head_id": head,
                    "logits": logits,
                    "probabilities": shares,
                }
            )
    return given, examples, known


def scored(rows, tmp_path, metrics, evaluator="general"):
    """The scores of a run and the contribution of each unit."""
    census = tmp_path / "census.json"
    census.write_text(
        '{"sources": [{"source": "maud", "file": "a.csv", "variant": "published", "comparable": true}]}'
    )
    settings = ScoreSettings(
        evaluator=evaluator, metrics=metrics, unit="unit", multi_label=False
    )
    return score(*rows, ["test"], settings, census)


def test_units_of_a_classifier(tmp_path):
    metrics = [*classification.METRICS]
    rows, units = scored(classified(), tmp_path, metrics)
    groups = {"all", "category: law", "category: fact", "head: a", "head: b"}
    assert len(check(rows, units, tmp_path, groups)) == len(metrics) * len(groups)
    # Accuracy is a ratio of sums over units with one or two examples.
    assert len({row["unit"] for row in units}) == 30


def test_many_units_are_combined_into_named_groups(tmp_path):
    one, other = (classified(MOST_UNITS + more, ["a"], ["law"]) for more in (1, 2))
    found = [
        check(
            *scored(rows, tmp_path, ["accuracy"]),
            tmp_path,
            {"all", "category: law", "head: a"},
        )
        for rows in (one, other)
    ]
    names = []
    for rows in (one, one, other):
        _, units = scored(rows, tmp_path, ["accuracy"])
        names.append({row["unit"] for row in units if row["group"] == "all"})
    assert [len(values) for values in found[0].values()] == [classification.GROUPS] * 3
    assert names[0] == names[1] and not names[0] & names[2]
    assert all(name.startswith(GROUPED) for name in names[0])


def test_units_of_maud(tmp_path):
    rows, units = scored(classified(), tmp_path, [], "minority AUPR")
    found = check(rows, units, tmp_path, {"all", "category: law", "category: fact"})
    assert {metric for metric, _ in found} == {"AUPR", "micro F1", "macro F1"}


def test_units_of_answers(tmp_path):
    def shares(n, m):
        found = RNG.random((n, m)) + 0.1
        return found / found.sum(axis=1, keepdims=True)

    questions = [
        answers.AnsweredQuestion(
            f"q{at}",
            "C",
            np.array(documents),
            shares(len(documents), 3),
            shares(len(documents), 3),
        )
        for at, documents in enumerate(
            (["a", "b", "c"], ["a", "c"], ["b", "c", "d", "e"])
        )
    ]
    found = check(
        *answers.scores_and_units(questions, 0.1), tmp_path, {"all", "category: C"}
    )
    assert len(found) == 2 * len(answers.METRICS)
    assert {len(values) for values in found.values()} == {5}


def test_units_of_marks(tmp_path):
    names = [f"d{at}" for at in range(9)]
    questions = [
        marks.MarkedQuestion(
            f"q{at}",
            "C",
            np.repeat(np.arange(8), 5),
            RNG.random(40) < 0.4,
            RNG.random(40),
        )
        for at in range(3)
    ]
    rows, units = marks.scores_and_units(questions, np.arange(9) % 3, names)
    found = check(rows, units, tmp_path, {"all", "category: C", "pooled"})
    assert {metric for metric, _ in found} == {*marks.METRICS, marks.BEST}
    # Nobody answered about the last document.
    assert {row["unit"] for row in units} == set(names[:8])


def test_units_of_queries(tmp_path):
    queries = [
        {"query_id": f"q{at}", "split": "test", "category": "C" if at else "D"}
        for at in range(4)
    ]
    task = {"pool": "judged", "test": "test", "groups": ["category"]}
    task["metrics"] = ["NDCG@5", "5-star precision@5"]
    gains = {f"q{at}": {"a": 4 if at < 2 else 1, "b": 0} for at in range(4)}
    data = Collection({}, {row["query_id"]: row for row in queries}, gains, task)
    hits = {
        name: [("b", 2.0), ("a", 1.0)] if name == "q1" else [("a", 1.0)]
        for name in gains
    }
    rows = scoring.scores(prediction_rows(hits), data)
    units = scoring.by_query(rows, data)
    check(
        [row for row in rows if row["n"]],
        units,
        tmp_path,
        {"all", "category: C", "category: D"},
    )
    # A query without a five-star clause does not count for this precision.
    assert [
        row["unit"]
        for row in units
        if (row["metric"], row["group"]) == ("5-star precision@5", "all")
    ] == ["q0", "q1"]


def test_units_of_spans(tmp_path):
    contracts = [f"c{at}" for at in range(5)]
    questions = []
    for name, kind in itertools.product(contracts, "AB"):
        row = {"question_id": f"{name}__{kind}", "contract_id": name}
        questions.append(row | {"category": kind, "split": "test"})
    gold_rows = [
        {
            "question_id": row["question_id"],
            "index": 0,
            "text": f"some words of {row['question_id']}",
        }
        for row in questions[:7]
    ]
    predicted = []
    for row in questions:
        name = row["question_id"]
        for rank, text in enumerate((f"some words of {name}", "nothing of the kind")):
            span = {"question_id": name, "rank": rank, "start": rank, "end": rank + 5}
            span |= {"text": text, "released_text": text}
            predicted.append(span | {"probability": float(RNG.random())})
    settings = {"relaxed": None, "low_thresholds": sweep()[-2:].tolist()}
    rows = scores(predicted, questions, gold_rows, resamples=10, **settings)
    units = by_contract(nbest_rows(predicted), gold(questions, gold_rows), **settings)
    found = check(rows, units, tmp_path, {"all"})
    assert {metric for metric, _ in found} == {"AUPR"} and len(units) == 5
    assert by_key(units) == units
