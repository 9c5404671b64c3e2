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
# The name of a party occurs twice, and the second one is the answer.  White space is
# irregular, as in contracts.
TEXT = "Ada Quill\u202fsigns.  This  Lease\nis made by Ada Quill, of\tLeeds “here”."
# {contract: (split, text)}
TEXTS = {
    "a": ("test", TEXT),
    "b": ("train", "Old text of a Lease."),
    "c": ("test", "Nothing much."),
}
ANSWER_START = TEXT.rindex("Ada Quill")
ANSWER_END = ANSWER_START + len("Ada Quill")
TASK = {"task": "spans", "n_best": 20, "linear": None, "evaluator": "spans"}


def span(question, rank, start, end, probability, logits=(1.5, -2.0)):
    """Return a row of `NBEST` about `TEXT`; the start -1 is the empty prediction."""
    text = TEXT[start:end] if start >= 0 else ""
    return {
        "question_id": question,
        "rank": rank,
        "probability": probability,
        "text": text,
        "released_text": " ".join(text.split()),
        "start": start,
        "end": end,
        "start_logit": logits[0],
        "end_logit": logits[1],
    }


def predicted(logits=(1.5, -2.0)):
    """Return predictions for the three questions of the test split."""
    lease = TEXT.index("This  Lease")
    return [
        span("a__Parties", 0, ANSWER_START, ANSWER_END, 0.6, logits),
        span("a__Parties", 1, lease, lease + len("This  Lease"), 0.3, logits),
        span("a__Parties", 2, -1, -1, 0.1, logits),
        span("a__Term", 0, -1, -1, 1.0, logits),
        span("c__Parties", 0, -1, -1, 1.0, logits),
    ]


@pytest.fixture
def export_predictions(tmp_path):
    """Return a function that exports predictions; it returns the exported data set, the
    output folder and the file of the predictions.
    """
    questions = []
    for name in ("a__Parties", "a__Term", "b__Parties", "c__Parties"):
        contract, category = name.split("__")
        split, _ = TEXTS[contract]
        questions.append(
            {
                "question_id": name,
                "contract_id": contract,
                "category": category,
                "question": f"Which {category}?",
                "split": split,
                "answers": int(name == "a__Parties"),
            }
        )
    answer = {"question_id": "a__Parties", "index": 0, "text": "Ada Quill"}
    answers = [answer | {"start": ANSWER_START, "end": ANSWER_END}]
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
        out = tmp_path / "out"
        squad.write(exported, out)
        if table is NBEST:
            return exported, out, out / f"nbest/{predicted_run.name}.json"
        return exported, out, out / f"outputs/{predicted_run.name}.jsonl"

    return write


def submission_of(exported, path, form="nbest", **task):
    """Return what is read from a file as submitted predictions for a data set."""
    files = [exported.table("contracts"), exported.table("questions")]
    return submitted.predictions(file_of(path), form, files, TASK | task)


def category(question_id, contract_id):
    """Return the category of a question: Parties, of a__Parties."""
    return question_id.removeprefix(f"{contract_id}__")


def test_exported_squad_files_read_back_as_the_same_tables(export_predictions):
    exported, out, _ = export_predictions(predicted())
    questions = []
    answers = []
    for split in ("test", "train"):
        content = (out / f"squad/{split}.json").read_bytes()
        for document in read_squad(content, split, category):
            _, text = TEXTS[document.contract_id]
            assert document.text == text
            questions += question_rows(document, split)
            answers += answer_rows(document)
    questions.sort(key=lambda row: row["question_id"])
    assert questions == list(read(exported.table("questions")))
    assert answers == list(read(exported.table("answers")))


def test_nbest_contains_every_question_with_its_spans_in_order(export_predictions):
    _, _, path = export_predictions(predicted())
    entries = json.loads(path.read_text(encoding="utf-8"))
    spans = entries["a__Parties"]
    assert [entry["text"] for entry in spans] == ["Ada Quill", "This Lease", ""]
    assert [entry["probability"] for entry in spans] == [0.6, 0.3, 0.1]
    # Indices of the first and the last word of the span, the second occurrence of the
    # name.
    assert spans[0]["token_doc_start"] == 8
    assert spans[0]["token_doc_end"] == 9
    assert "token_doc_start" not in entries["a__Term"][0]
    # The reader of the released format accepts the file.
    assert released_nbest(json.loads(path.read_text()), str(path))


def test_nbest_without_predictions_is_an_empty_object(export_predictions):
    _, _, path = export_predictions([])
    assert json.loads(path.read_text(encoding="utf-8")) == {}


def test_exported_predictions_read_back_unchanged_as_submitted_ones(export_predictions):
    exported, _, path = export_predictions(predicted())
    submission = submission_of(exported, path)
    assert submission.rows == predicted()


def test_exported_outputs_read_back_unchanged_as_submitted_ones(export_predictions):
    rows = [
        {"question_id": name, "output": f"{name} “here”\n"}
        for name in ("a__Parties", "a__Term", "c__Parties")
    ]
    exported, _, path = export_predictions(rows, OUTPUTS, evaluator="containment")
    submission = submission_of(exported, path, "jsonl", evaluator="containment")
    assert submission.rows == rows
    assert submission.table is OUTPUTS


def test_a_span_inside_a_word_is_submitted_with_its_paper_mode_text(export_predictions):
    here = TEXT.index("here")
    rows = predicted()
    # The released code extends a span to whole words.
    rows[1] |= {
        "text": "here",
        "start": here,
        "end": here + len("here"),
        "released_text": "“here”.",
    }
    exported, _, path = export_predictions(rows)
    submission = submission_of(exported, path)
    assert submission.rows[1]["text"] == "“here”."
    assert submission.rows[1]["start"] == here - 1
    questions = read(exported.table("questions"))
    test_questions = [row for row in questions if row["split"] == "test"]

    def scores_of_paper_mode(predictions):
        rows = scores(
            predictions,
            test_questions,
            read(exported.table("answers")),
            relaxed="Parties",
            low_thresholds=[0.001],
        )
        return {str(row) for row in rows if not row["metric"].endswith("strict")}

    assert scores_of_paper_mode(submission.rows) == scores_of_paper_mode(rows)


def test_exported_spans_of_a_language_model_have_no_logits(export_predictions):
    _, _, path = export_predictions(predicted(logits=(math.nan, math.nan)))
    text = path.read_text(encoding="utf-8")
    for missing in ("logit", "NaN", "null"):
        assert missing not in text


def test_a_space_at_the_end_of_a_span_belongs_to_its_last_word(export_predictions):
    start = TEXT.index("This  Lease\n")
    end = start + len("This  Lease\n")
    _, _, path = export_predictions(
        [
            span("a__Parties", 0, start, end, 1.0),
            span("a__Term", 0, -1, -1, 1.0),
            span("c__Parties", 0, -1, -1, 1.0),
        ]
    )
    (entry,) = json.loads(path.read_text(encoding="utf-8"))["a__Parties"]
    # Words: Ada, Quill, signs., This, Lease.
    assert entry["token_doc_start"] == 3
    assert entry["token_doc_end"] == 4
