"""Export of span extraction in the formats of SQuAD, the released evaluators and
submitted predictions.
"""

import json
import math

import pyarrow as pa
import pytest

from helpers.published_rows import data_set, export, file_of, run
from lextables.metrics.spans import scores
from lextables.pipeline.dataset import Column, Table, read
from lextables.publish import squad
from lextables.tasks.spans import submitted
from lextables.tasks.spans.outputs import OUTPUTS
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.squad import (
    ANSWERS,
    QUESTIONS,
    answer_rows,
    question_rows,
    read_squad,
)
from lextables.tasks.spans.submitted import released_nbest

CONTRACTS = Table(
    "contracts",
    "Contracts.",
    tuple(Column(name, pa.string(), name) for name in ("contract_id", "split", "text")),
    key=("contract_id",),
)
# The party's name occurs twice, and the second one is the answer; irregular white space
# as in contracts.
TEXT = "Ada Quill\u202fsigns.  This  Lease\nis made by Ada Quill, of\tLeeds “here”."
TEXTS = {
    "a": ("test", TEXT),
    "b": ("train", "Old text of a Lease."),
    "c": ("test", "Nothing much."),
}
SECOND = TEXT.rindex("Ada Quill")
TASK = {"task": "spans", "n_best": 20, "linear": None, "evaluator": "spans"}


def span(question, rank, start, end, probability, logits=(1.5, -2.0)):
    text = TEXT[start:end] if start >= 0 else ""
    place = {
        "text": text,
        "released_text": " ".join(text.split()),
        "start": start,
        "end": end,
    }
    names = {"question_id": question, "rank": rank, "probability": probability}
    return names | place | {"start_logit": logits[0], "end_logit": logits[1]}


def predicted(logits=(1.5, -2.0)):
    lease = TEXT.index("This")
    return [
        span("a__Parties", 0, SECOND, SECOND + 9, 0.6, logits),
        span("a__Parties", 1, lease, lease + 11, 0.3, logits),
        span("a__Parties", 2, -1, -1, 0.1, logits),
        span("a__Term", 0, -1, -1, 1.0, logits),
        span("c__Parties", 0, -1, -1, 1.0, logits),
    ]


@pytest.fixture
def written(tmp_path):
    """A function that exports predictions and returns the data set, the output folder
    and the file.
    """
    questions = [
        {
            "question_id": name,
            "contract_id": name[0],
            "category": name.split("__")[1],
            "question": f"Which {name.split('__')[1]}?",
            "split": TEXTS[name[0]][0],
            "answers": int(name == "a__Parties"),
        }
        for name in ("a__Parties", "a__Term", "b__Parties", "c__Parties")
    ]
    answer = {"question_id": "a__Parties", "index": 0, "text": "Ada Quill"}
    answers = [answer | {"start": SECOND, "end": SECOND + 9}]
    contracts = [
        {"contract_id": name, "split": split, "text": text}
        for name, (split, text) in TEXTS.items()
    ]
    census = data_set(
        tmp_path,
        "quill",
        {CONTRACTS: contracts, QUESTIONS: questions, ANSWERS: answers},
    )

    def write(rows, table=NBEST, **task):
        predicted_run = run(tmp_path, "quill", table, rows)
        (exported,) = export([census], [predicted_run], {"quill": TASK | task}).sets
        squad.write(exported, tmp_path / "out")
        file = (
            f"nbest/{predicted_run.name}.json"
            if table is NBEST
            else f"outputs/{predicted_run.name}.jsonl"
        )
        return exported, tmp_path / "out", tmp_path / "out" / file

    return write


def submitted_from(exported, path, form="nbest", **task):
    files = [exported.table("contracts"), exported.table("questions")]
    return submitted.predictions(file_of(path), form, files, TASK | task)


def test_exported_squad_files_read_back_as_the_same_tables(written):
    exported, out, _ = written(predicted())
    questions, answers = [], []
    for split in ("test", "train"):
        content = (out / f"squad/{split}.json").read_bytes()
        for document in read_squad(
            content, split, lambda question, contract: question.split("__")[1]
        ):
            assert document.text == TEXTS[document.contract_id][1]
            questions += question_rows(document, split)
            answers += answer_rows(document)
    assert sorted(questions, key=lambda row: row["question_id"]) == [
        *read(exported.table("questions"))
    ]
    assert answers == [*read(exported.table("answers"))]


def test_nbest_contains_every_question_with_its_spans_in_order(written):
    _, _, path = written(predicted())
    entries = json.loads(path.read_text(encoding="utf-8"))
    assert [entry["text"] for entry in entries["a__Parties"]] == [
        "Ada Quill",
        "This Lease",
        "",
    ]
    assert [entry["probability"] for entry in entries["a__Parties"]] == [0.6, 0.3, 0.1]
    # Indices of the first and the last word of the span, the second occurrence of the
    # name.
    assert (
        entries["a__Parties"][0]["token_doc_start"],
        entries["a__Parties"][0]["token_doc_end"],
    ) == (8, 9)
    assert "token_doc_start" not in entries["a__Term"][0]
    assert released_nbest(json.loads(path.read_text()), str(path))


def test_submitted_predictions_read_back_unchanged(written):
    exported, _, path = written(predicted())
    submission = submitted_from(exported, path)
    assert submission.rows == predicted()


def test_submitted_outputs_read_back_unchanged(written):
    rows = [
        {"question_id": name, "output": f"{name} “here”\n"}
        for name in ("a__Parties", "a__Term", "c__Parties")
    ]
    exported, _, path = written(rows, OUTPUTS, evaluator="containment")
    submission = submitted_from(exported, path, "jsonl", evaluator="containment")
    assert (submission.rows, submission.table) == (rows, OUTPUTS)


def test_a_span_inside_a_word_is_submitted_with_its_paper_mode_text(written):
    here = TEXT.index("here")
    rows = predicted()
    rows[1] |= {
        "text": "here",
        "start": here,
        "end": here + 4,
        "released_text": "“here”.",
    }
    exported, _, path = written(rows)
    submission = submitted_from(exported, path)
    assert (submission.rows[1]["text"], submission.rows[1]["start"]) == (
        "“here”.",
        here - 1,
    )
    asked = [row for row in read(exported.table("questions")) if row["split"] == "test"]

    def scored(predictions):
        rows = scores(
            predictions,
            asked,
            read(exported.table("answers")),
            relaxed="Parties",
            low_thresholds=[0.001],
        )
        return {str(row) for row in rows if not row["metric"].endswith("strict")}

    assert scored(submission.rows) == scored(rows)


def test_spans_of_a_language_model_have_no_logits(written):
    _, _, path = written(predicted(logits=(math.nan, math.nan)))
    text = path.read_text(encoding="utf-8")
    assert "logit" not in text and "NaN" not in text and "null" not in text


def test_a_space_at_the_end_of_a_span_belongs_to_its_last_word(written):
    lease = TEXT.index("This  Lease\n")
    others = [span(question, 0, -1, -1, 1.0) for question in ("a__Term", "c__Parties")]
    _, _, path = written([span("a__Parties", 0, lease, lease + 12, 1.0), *others])
    (found,) = json.loads(path.read_text(encoding="utf-8"))["a__Parties"]
    # Words: Ada, Quill, signs., This, Lease.
    assert (found["token_doc_start"], found["token_doc_end"]) == (3, 4)
