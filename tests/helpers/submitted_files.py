"""Small data sets of each task, and files of predictions for them."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from helpers.answer_rows import NAMES
from helpers.answer_rows import QUESTIONS as POLICY_QUESTIONS
from helpers.answer_rows import rows as policy_rows
from helpers.answer_rows import written as write_policies
from lextables.tasks.answers import submitted as answers
from lextables.tasks.answers.jobs import CHECKED_WITH
from lextables.tasks.classification import submitted as classification
from lextables.tasks.retrieval import submitted as retrieval
from lextables.tasks.spans import submitted as spans
from lextables.tasks.submitted import File, text_of

# Of each task: its settings, and {item of its data set: where it belongs}.
RETRIEVAL = {
    "names": {
        "documents": "documents",
        "document": "document_id",
        "text": "text",
        "gain": "gain",
    },
    "test": "test",
}
QUERIES = {"as is": "test", "cap": "test", "old": "train"}
DOCUMENTS = ("d1", "d2", "d3")
CONTRACT = "This  Lease\nis made by\u202fAda Quill, of\tLeeds. Ada Quill pays."
SPANS = {"n_best": 3, "linear": None, "evaluator": "spans"}
QUESTIONS = {"c__Parties": "test", "c__Rent": "test", "o__Rent": "train"}
HEADS = {"h1": ["No", "Yes"], "h2": ["a, b", "c", "d"]}
EXAMPLES = {"e1": ("test", "h1"), "e2": ("test", "h2"), "e3": ("train", "h1")}
CLASSES = {
    "test": ["test"],
    "loss": "cross_entropy",
    "multi_label": False,
    "heads": [],
    "views": {},
}
# Complete files of predictions: rankings, outputs, and probabilities of answers.
TREC = "as is Q0 d1 1 2.5 mine\nas is Q0 d2 2 1e-1 mine\ncap Q0 d3 1 -7 mine\n"
CSV = "query_id,document_id,score\n"  # only the names of the columns
WRITTEN = 'question_id,output\nc__Rent,\nc__Parties,"Ada Quill,\n“of” Leeds."\n'
LONG = 'example_id,answer,probability\ne2,"a, b",0.5\ne1,Yes,.75\ne2,c,0.5\ne1,No,0.25\ne2,d,0\n'
# {question about policies: equal probabilities of its options}
EVEN = {
    question: [1 / len(options)] * len(options)
    for question, (_, _, options) in POLICY_QUESTIONS.items()
}


def span(text, probability=0.5, **more):
    """Return a prediction as in `NBEST`; ``more`` are other fields."""
    return {"text": text, "probability": probability} | more


# A complete file of spans: {question: its predictions}.
NBEST = {
    "c__Parties": [
        span("Ada Quill,", 0.6, start_logit=2, end_logit=-1.5),
        span("This Lease is", 0.3),
        span("", 0.1),
    ],
    "c__Rent": [span("empty", 0.5), span("", 0.5)],
    "o__Rent": [span("not in the contract at all")],
}


def with_rent(*entries):
    """Return `NBEST` as JSON, with ``entries`` as the predictions for ``c__Rent``."""
    return json.dumps(NBEST | {"c__Rent": list(entries)})


def line(**changes):
    """Return a JSON line that classifies the example ``e1``; ``changes`` are fields."""
    record = {"example_id": "e1", "probabilities": {"No": 0.5, "Yes": 0.5}}
    return json.dumps(record | changes)


def lines(document="d00", **changes):
    """Return JSON lines that answer each question about a document.

    Probabilities are those of `EVEN`; ``changes`` are {question: other ones, or None to
    leave it out}.
    """
    records = []
    for question, probabilities in (EVEN | changes).items():
        if probabilities is not None:
            record = {"document_id": document, "question_id": question}
            records.append(record | {"probabilities": probabilities})
    return "\n".join(map(json.dumps, records))


def plain(submitted):
    """Return the rows of a file as tuples of their values."""
    return [tuple(row.values()) for row in submitted.rows]


def reader(folder, policies):
    """Return a function that reads a file of predictions for a task, named `mine`.

    It takes the task, the content of the file (text or bytes), its form, and changes of
    the task's settings.  The tables of the tasks are written into ``folder``, those of
    answers into ``policies``.
    """
    tables = {
        "documents": [{"document_id": name, "text": name} for name in DOCUMENTS],
        "queries": [
            {"query_id": name, "split": split} for name, split in QUERIES.items()
        ],
        "judgements": [{"query_id": "cap", "document_id": "d1", "gain": 1}],
        "contracts": [
            {"contract_id": "c", "text": CONTRACT},
            {"contract_id": "o", "text": "Old."},
        ],
        "questions": [
            {"question_id": name, "contract_id": name[0], "split": split}
            for name, split in QUESTIONS.items()
        ],
        "examples": [
            {"example_id": name, "split": split, "head_id": head}
            for name, (split, head) in EXAMPLES.items()
        ],
        "heads": [
            {"head_id": head, "answers": answers} for head, answers in HEADS.items()
        ],
    }
    for name, rows in tables.items():
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    # d00 has a text and d01 has none; nobody answered SOLD about d01.
    wanted = {
        "documents": 2,
        "without_text": ["d01"],
        "chosen": {("d01", "SOLD"): [[]]},
    }
    answer_files = write_policies(policies, policy_rows(**wanted))

    def paths(*names):
        return [folder / f"{name}.parquet" for name in names]

    # {task: (module that reads its predictions, its tables, its settings)}
    tasks = {
        "retrieval": (
            retrieval,
            paths("documents", "queries", "judgements"),
            RETRIEVAL,
        ),
        "spans": (spans, paths("contracts", "questions"), SPANS),
        "classification": (classification, paths("examples", "heads"), CLASSES),
        "answers": (
            answers,
            [answer_files[name] for name in CHECKED_WITH],
            {"task": "answers", "names": NAMES},
        ),
    }

    def read_for(task, content, form, **changes):
        module, files, settings = tasks[task]
        data = content if isinstance(content, bytes) else content.encode()
        file = File("mine", text_of(data, "mine"))
        return module.predictions(file, form, files, settings | changes)

    return read_for
