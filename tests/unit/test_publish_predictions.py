"""Predictions as JSON lines: readable by pandas and datasets, and accepted as submitted
predictions.
"""

import json
import math

import pandas as pd
import pyarrow as pa
import pytest

from helpers import answer_rows
from helpers.published_rows import data_set, export, file_of, run
from lextables.metrics.classification import logits
from lextables.pipeline.dataset import Column, Table, read
from lextables.publish import predictions
from lextables.tasks.answers import collection
from lextables.tasks.answers import submitted as submitted_answers
from lextables.tasks.answers.jobs import CHECKED_WITH
from lextables.tasks.answers.scoring import of_answers
from lextables.tasks.classification import submitted as submitted_classification
from lextables.tasks.classification.schema import EXAMPLES, HEADS, PREDICTIONS, READINGS
from lextables.tasks.classification.scoring import score
from lextables.tasks.classification.settings import ScoreSettings

CLASSES = {
    "task": "classification",
    "names": {"heads": "heads", "texts": "texts"},
    "views": {},
    "test": ["test"],
    "loss": "cross_entropy",
    "multi_label": False,
    "heads": [],
    "groups": [],
    "unit": None,
    "evaluator": "general",
    "metrics": ["accuracy", "macro F1", "AUPR"],
}
ANSWERS = {"h1": ["No", "Yes"], "h2": ["a, b", "c", "d"]}
LABELS = {
    "e1": ("h1", 0),
    "e2": ("h1", 1),
    "e3": ("h1", 1),
    "e4": ("h2", 2),
    "e5": ("h2", 0),
    "e6": ("h2", 1),
}


def shares(seed, count):
    """Probabilities that sum to one, with all digits of a float."""
    weights = [1 + math.sin(seed * 7 + place * 3) ** 2 for place in range(count)]
    return [weight / sum(weights) for weight in weights]


def predicted(turn=0):
    rows = []
    for place, (example, (head, _)) in enumerate(LABELS.items()):
        row = {
            "head_id": head,
            "example_id": example,
            "probabilities": shares(place + turn, len(ANSWERS[head])),
        }
        rows.append(row | {"logits": logits(row).tolist()})
    return rows


def classified(root, table, rows, task=CLASSES):
    examples = [
        {
            "example_id": name,
            "split": "test",
            "head_id": head,
            "text_id": "t",
            "label": label,
        }
        for name, (head, label) in LABELS.items()
    ]
    heads = [{"head_id": head, "answers": answers} for head, answers in ANSWERS.items()]
    census = data_set(root, "quill", {EXAMPLES: examples, HEADS: heads})
    (exported,) = export(
        [census], [run(root, "quill", table, rows)], {"quill": task}
    ).sets
    predictions.of_classification(exported, root / "out")
    return exported, root / "out/predictions"


def score_of(exported, rows, task=CLASSES):
    tables = (read(exported.table("examples")), read(exported.table("heads")))
    fields = ScoreSettings.model_fields.keys() & task.keys()
    settings = ScoreSettings(**{name: task[name] for name in fields})
    scores, _ = score(rows, *tables, ["test"], settings, exported.data / "census.json")
    return scores


def submitted(exported, path, task=CLASSES):
    return submitted_classification.predictions(
        file_of(path),
        "jsonl",
        [exported.table("examples"), exported.table("heads")],
        task,
    )


def test_exported_probabilities_get_the_same_scores_if_they_are_submitted(tmp_path):
    exported, out = classified(tmp_path, PREDICTIONS, predicted())
    predictions_ = submitted(exported, out / f"{exported.runs[0].name}.jsonl")
    assert [row["probabilities"] for row in predictions_.rows] == [
        row["probabilities"] for row in predicted()
    ]
    assert str(score_of(exported, predictions_.rows)) == str(
        score_of(exported, predicted())
    )


def test_each_view_of_a_run_is_a_file_that_can_be_submitted(tmp_path):
    task = CLASSES | {"views": {"short": {}, "long": {}}}
    conditions = {"long > long": 3, "short > long": 9}
    rows = []
    for name, turn in conditions.items():
        rows += [{"condition": name} | row for row in predicted(turn)]
    exported, out = classified(tmp_path, READINGS, rows, task)
    assert {path.name for path in out.iterdir()} == {
        f"read.bm25.short.seed0.{name}.jsonl"
        for name in ("long-to-long", "short-to-long")
    }
    whole = {
        (row["metric"], row["group"]): str(row["value"])
        for row in score_of(exported, rows, task)
    }
    for name in conditions:
        path = out / f"{exported.runs[0].name}.{name.replace(' > ', '-to-')}.jsonl"
        scored = score_of(exported, submitted(exported, path, task).rows, task)
        assert len(scored) > 3
        for row in scored:
            assert whole[
                row["metric"], row["group"].replace("submitted", name, 1)
            ] == str(row["value"])


def test_all_labels_of_a_multi_label_example_are_exported(tmp_path):
    table = Table(
        "examples",
        "Examples.",
        (
            *EXAMPLES.columns[:4],
            Column("labels", pa.list_(pa.int32()), "places of the right answers"),
        ),
        key=("example_id",),
    )
    examples = [
        {
            "example_id": name,
            "split": "test",
            "head_id": head,
            "text_id": "t",
            "labels": [0, 1][: place % 3],
        }
        for place, (name, (head, _)) in enumerate(LABELS.items())
    ]
    census = data_set(tmp_path, "quill", {table: examples})
    (exported,) = export(
        [census], [run(tmp_path, "quill", PREDICTIONS, predicted())], {"quill": CLASSES}
    ).sets
    predictions.of_classification(exported, tmp_path / "out")
    lines = (
        (tmp_path / f"out/predictions/{exported.runs[0].name}.jsonl")
        .read_text()
        .splitlines()
    )
    assert [json.loads(line)["labels"] for line in lines] == [[], [0], [0, 1]] * 2


# Answers

NAMES = answer_rows.NAMES


@pytest.fixture
def answered(tmp_path):
    """Returns a function that exports predictions and returns the data set, the formats
    and the file.
    """
    data = answer_rows.rows(documents=6, without_text=("d05",))
    census = data_set(
        tmp_path,
        "quill",
        {table: data[name] for name, table in answer_rows.TABLES.items()},
    )

    def make(table, rows, name="answer"):
        predicted = run(
            tmp_path, "quill", table, rows, name=(name, "words", "all", "seed0")
        )
        (exported,) = export(
            [census], [predicted], {"quill": {"task": "answers", "names": NAMES}}
        ).sets
        formats = predictions.of_answers(exported, tmp_path / "out")
        return exported, formats, tmp_path / f"out/predictions/{predicted.name}.jsonl"

    return make


def distributions():
    shares_of = {}
    for number in range(6):
        for question, (_, _, options) in answer_rows.QUESTIONS.items():
            shares_of[f"d{number:02}", question] = shares(number, len(options))
    return collection.prediction_rows(shares_of)


def test_exported_answers_get_the_same_scores_if_they_are_submitted(answered):
    exported, _, path = answered(collection.PREDICTIONS, distributions())
    tables = [exported.table(name) for name in CHECKED_WITH]
    file = file_of(path)
    predictions_ = submitted_answers.predictions(
        file, "jsonl", tables, {"names": NAMES}
    )
    assert predictions_.rows == distributions()
    data = collection.load(tables[:-1], NAMES)
    assert str(of_answers(predictions_.rows, data, 0.1)) == str(
        of_answers(distributions(), data, 0.1)
    )


def test_exported_answers_have_the_shares_of_people(answered):
    _, formats, path = answered(collection.PREDICTIONS, distributions())
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    chosen = {
        (line["document_id"], line["question_id"]): line["shares"] for line in lines
    }
    assert len(chosen) == 18
    for (document, question), shared in chosen.items():
        assert shared.index(1.0) == answer_rows.supported_option(document, question)
    assert len(formats) == 1


def test_marks_are_exported_unchanged(answered):
    rows = [
        {
            "document_id": "d01",
            "question_id": "SOLD",
            "paragraph_id": f"d01/{place}",
            "probability": place / 7,
        }
        for place in range(3)
    ]
    _, formats, path = answered(collection.MARKED, rows, name="mark")
    assert pd.read_json(path, lines=True, precise_float=True).to_dict("records") == rows
    assert [each.files for each in formats] == [
        "predictions/<run>.jsonl",
        "predictions/mark.*.jsonl",
    ]
