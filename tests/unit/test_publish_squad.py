"""Span extraction as readers of SQuAD, the released evaluators and our own reader take it."""

import json
import math

import pyarrow as pa
import pytest

from lextables.metrics.spans import scores
from lextables.pipeline.dataset import Column, Table, read
from lextables.publish import squad
from lextables.tasks.spans import submitted
from lextables.tasks.spans.outputs import OUTPUTS
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.squad import ANSWERS, QUESTIONS, answer_rows, question_rows, read_squad
from lextables.tasks.spans.submitted import released_nbest
from lextables.tasks.submitted import File
from published_rows import data_set, export, run

CONTRACTS = Table(
    "contracts",
    "Contracts.",
    tuple(Column(name, pa.string(), name) for name in ("contract_id", "split", "text")),
    key=("contract_id",),
)
# The party stands twice, and the second time is meant; white space as contracts have it.
TEXT = "Ada Quill\u202fsigns.  This  Lease\nis made by Ada Quill, of\tLeeds “here”."
TEXTS = {"a": ("test", TEXT), "b": ("train", "Old text of a Lease."), "c": ("test", "Nothing much.")}
SECOND = TEXT.rindex("Ada Quill")
SPANS = {"a__Parties": [(SECOND, SECOND + 9)], "b__Parties": [], "c__Parties": [], "a__Term": []}
TASK = {"task": "spans", "n_best": 20, "linear": None, "evaluator": "spans"}


def span(question, rank, start, end, probability, logits=(1.5, -2.0)):
    text = TEXT[start:end] if start >= 0 else ""
    place = {"text": text, "released_text": " ".join(text.split()), "start": start, "end": end}
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
    """The data set as an export has it, and what writes its forms for some predictions."""
    questions = [
        {
            "question_id": name, "contract_id": name[0], "category": name.split("__")[1],
            "question": f"Which {name.split('__')[1]}?", "split": TEXTS[name[0]][0], "answers": len(spans),
        }
        for name, spans in sorted(SPANS.items())
    ]  # fmt: skip
    answers = [
        {"question_id": name, "index": index, "text": TEXT[start:end], "start": start, "end": end}
        for name, spans in sorted(SPANS.items())
        for index, (start, end) in enumerate(spans)
    ]
    contracts = [{"contract_id": name, "split": split, "text": text} for name, (split, text) in TEXTS.items()]
    census = data_set(tmp_path, "quill", {CONTRACTS: contracts, QUESTIONS: questions, ANSWERS: answers})

    def write(rows, table=NBEST, **task):
        ran = run(tmp_path, "quill", table, rows)
        (one,) = export([census], [ran], {"quill": TASK | task}).sets
        squad.write(one, tmp_path / "out")
        file = f"nbest/{ran.name}.json" if table is NBEST else f"outputs/{ran.name}.jsonl"
        return one, tmp_path / "out", tmp_path / "out" / file

    return write


def test_our_own_reader_gives_the_tables_back(written):
    one, out, _ = written(predicted())
    questions, answers = [], []
    for split in ("test", "train"):
        content = (out / f"squad/{split}.json").read_bytes()
        for document in read_squad(content, split, lambda question, contract: question.split("__")[1]):
            assert document.text == TEXTS[document.contract_id][1]
            questions += question_rows(document, split)
            answers += answer_rows(document)
    assert sorted(questions, key=lambda row: row["question_id"]) == [*read(one.table("questions"))]
    assert answers == [*read(one.table("answers"))]


def test_the_released_form_has_each_question_and_its_spans_in_order(written):
    _, _, path = written(predicted())
    found = json.loads(path.read_text(encoding="utf-8"))
    assert [entry["text"] for entry in found["a__Parties"]] == ["Ada Quill", "This Lease", ""]
    assert [entry["probability"] for entry in found["a__Parties"]] == [0.6, 0.3, 0.1]
    # The words that it starts and ends in: the second time that the party is named.
    assert (found["a__Parties"][0]["token_doc_start"], found["a__Parties"][0]["token_doc_end"]) == (8, 9)
    assert "token_doc_start" not in found["a__Term"][0]
    assert released_nbest(json.loads(path.read_text()), str(path))


def test_predictions_can_be_given_back_and_score_the_same(written):
    one, _, path = written(predicted())
    files = [one.table("contracts"), one.table("questions")]
    taken = submitted.predictions(File(path.name, path.read_text(encoding="utf-8")), "nbest", files, TASK)
    assert taken.rows == predicted()


def test_outputs_can_be_given_back(written):
    rows = [
        {"question_id": name, "output": f"{name} “here”\n"}
        for name in ("a__Parties", "a__Term", "c__Parties")
    ]
    one, _, path = written(rows, OUTPUTS, evaluator="containment")
    files = [one.table("contracts"), one.table("questions")]
    file = File(path.name, path.read_text(encoding="utf-8"))
    taken = submitted.predictions(file, "jsonl", files, TASK | {"evaluator": "containment"})
    assert (taken.rows, taken.table) == (rows, OUTPUTS)


def test_a_slice_inside_a_word_comes_back_as_the_text_that_paper_mode_scores(written):
    here = TEXT.index("here")
    rows = predicted()
    rows[1] |= {"text": "here", "start": here, "end": here + 4, "released_text": "“here”."}
    one, _, path = written(rows)
    files = [one.table("contracts"), one.table("questions")]
    taken = submitted.predictions(File(path.name, path.read_text(encoding="utf-8")), "nbest", files, TASK)
    assert (taken.rows[1]["text"], taken.rows[1]["start"]) == ("“here”.", here - 1)
    asked = [row for row in read(one.table("questions")) if row["split"] == "test"]

    def scored(found):
        rows = scores(found, asked, read(one.table("answers")), relaxed="Parties", low_thresholds=[0.001])
        return {str(row) for row in rows if not row["metric"].endswith("strict")}

    assert scored(taken.rows) == scored(rows)


def test_what_a_language_model_quotes_has_no_logits(written):
    _, _, path = written(predicted(logits=(math.nan, math.nan)))
    text = path.read_text(encoding="utf-8")
    assert "logit" not in text and "NaN" not in text and "null" not in text
