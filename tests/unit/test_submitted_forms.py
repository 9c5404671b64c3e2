"""Submitted predictions in each file format: the rows of a file, and one sentence for
each error.
"""

import bz2
import gzip
import io
import json
import lzma
import math
import time
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import pytrec_eval

from helpers.answer_rows import NAMES
from helpers.answer_rows import QUESTIONS as POLICY_QUESTIONS
from helpers.answer_rows import rows as policy_rows
from helpers.answer_rows import written as write_policies
from lextables.metrics.spans import last_by_text, most_probable_by_span, nbest_rows
from lextables.pipeline.errors import BadInput
from lextables.tasks.answers import submitted as answers
from lextables.tasks.answers.collection import ANSWERED_FROM
from lextables.tasks.classification import submitted as classification
from lextables.tasks.retrieval import submitted as retrieval
from lextables.tasks.spans import submitted as spans
from lextables.tasks.submitted import File, opened, text_of

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
CLASSES = {"test": ["test"], "loss": "cross_entropy", "multi_label": False, "heads": []}


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """Returns a function that reads a file of predictions for a task."""
    folder = tmp_path_factory.mktemp("data")
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
    policies = write_policies(
        tmp_path_factory.mktemp("policies"), policy_rows(**wanted)
    )
    tasks = {
        "retrieval": (retrieval, ("documents", "queries", "judgements"), RETRIEVAL),
        "spans": (spans, ("contracts", "questions"), SPANS),
        "classification": (classification, ("examples", "heads"), CLASSES),
        "answers": (
            answers,
            [policies[name] for name in ANSWERED_FROM],
            {"task": "answers", "names": NAMES},
        ),
    }

    def take(task, content, form, **changes):
        reader, files, settings = tasks[task]
        data = content if isinstance(content, bytes) else content.encode()
        paths = (
            files
            if task == "answers"
            else [folder / f"{name}.parquet" for name in files]
        )
        return reader.predictions(
            File("mine", text_of(data, "mine")), form, paths, settings | changes
        )

    return take


# Rankings.


TREC = "as is Q0 d1 1 2.5 mine\nas is Q0 d2 2 1e-1 mine\ncap Q0 d3 1 -7 mine\n"
RANKED = [("as is", 1, "d1", 2.5), ("as is", 2, "d2", 0.1), ("cap", 1, "d3", -7.0)]
CSV = "query_id,document_id,score\n"


def plain(submitted):
    return [tuple(row.values()) for row in submitted.rows]


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (TREC, "trec"),
        (TREC.replace("\n", "\r\n"), "trec"),
        (b"\xef\xbb\xbf" + TREC.encode(), "trec"),
        (gzip.compress(TREC.encode(), mtime=0), "trec"),
        (
            "as is\tq0\td1\t1\t2.5\ta tag\nas is\tQ0\td2\t2\t0.1\t\ncap\t0\td3\t1\t-7\ta tag\n",
            "trec",
        ),
        ("\n" + TREC + "old Q0 gone 1 3 mine\n\n", "trec"),
        (
            "query_id,document_id,score,rank\nas is,d2,.1,9\ncap,d3,-7,9\nas is,d1,2.5,9\n",
            "csv",
        ),
        (
            '\ufeffscore,query_id,document_id\r\n2.5,"as is","d1"\r\n0.1,as is,d2\r\n-7.0,cap,d3\r\n',
            "csv",
        ),
        (
            '{"query_id": "as is", "document_id": "d1", "score": 2.5}\n'
            '{"query_id": "cap", "document_id": "d3", "score": -7, "tag": "x"}\n\n'
            '{"query_id": "as is", "document_id": "d2", "score": 0.1}',
            "jsonl",
        ),
    ],
    ids=[
        "blanks",
        "CRLF",
        "BOM",
        "gzip",
        "tabs",
        "other splits",
        "csv",
        "quoted csv",
        "jsonl",
    ],
)
def test_rankings_are_read_in_each_format(taken, content, form):
    assert plain(taken("retrieval", content, form)) == RANKED


@pytest.mark.parametrize(
    "line",
    [
        "as is Q0 d1\t1\t2.5\tmine",
        "as is\tQ0 d1 1  2.5\tmine",
        "as is\tQ0\td1\t1\t2.5\tmine\t",
        "as is\t\tQ0\td1\t1\t2.5\tmine",
        " \t as is  Q0   d1 \t 1 2.5 mine \t ",
        "as is Q0\x0bd1\x0c1 2.5 mine",
        "as is\u00a0 Q0 d1 1 2.5 mine",
        "as is Q0 d1 1.0 2.5e0 mine",
        "as is Q0 d1 -1 2.5 mine",
        "as is Q0 d1 1 2.5 my own run",
        "as is\tQ0\td1\t1\t2.5\tmy own run",
        "as is\t1\td1\t1\t2.5\tmine",
        "as is 1 d1 1 2.5 mine",
        "as is q0 d1 1 2.5 mine Q0 d2 3 4 tag",
    ],
)
def test_any_white_space_separates_the_fields_of_a_run(taken, line):
    content = line + TREC[TREC.index("\n") :]
    assert (
        plain(taken("retrieval", content.replace("Q0 d2 2", "Q0 d2 7"), "trec"))
        == RANKED
    )


@pytest.mark.parametrize(
    "line",
    [
        "cap Q0 d1 1 2.5 mine",
        "cap\tQ0 d1\t 1  2.5 mine",
        "cap Q0 d1 1 2.5\tmine",
        "cap 1 d1 1 2.5 mine",
        "cap ITER d1 -1 2.50e+00 mine",
        "  cap\x0bQ0\x0cd1 1.0 2.5 mine \t ",
    ],
)
def test_runs_without_blanks_in_ids_are_read_as_pytrec_eval_does(taken, line):
    rest = "cap Q0 d2 9 0.5 mine\nas Q0 d2 1 1 mine\n"
    expected = pytrec_eval.parse_run(f"{line}\n{rest}".rstrip("\n").split("\n"))
    rows = taken(
        "retrieval", f"{line}\n{rest}".replace("\nas ", "\nas is "), "trec"
    ).rows
    found = {
        row["document_id"]: row["score"] for row in rows if row["query_id"] == "cap"
    }
    assert found == expected["cap"]


def test_hits_of_other_splits_are_skipped_and_counted(taken):
    content = TREC + "old Q0 d1 1 3 mine\nold Q0 d1 1 3 mine\n"
    assert taken("retrieval", content, "trec").skipped == 2


def test_rankings_are_sorted_by_score_with_ties_broken_as_in_trec_eval(taken):
    tied = "cap Q0 d1 1 5 x\ncap Q0 d3 2 5 x\ncap Q0 d2 3 4 x\nas is Q0 d2 0 1 x\nas is Q0 d1 0 2 x\n"
    ranking = plain(taken("retrieval", tied, "trec"))
    assert [row[2] for row in ranking] == ["d1", "d2", "d3", "d1", "d2"]


# Spans.


def span(text, probability=0.5, **more):
    return {"text": text, "probability": probability} | more


NBEST = {
    "c__Parties": [
        span("Ada Quill,", 0.6, start_logit=2, end_logit=-1.5),
        span("This Lease is", 0.3),
        span("", 0.1),
    ],
    "c__Rent": [span("empty", 0.5), span("", 0.5)],
    "o__Rent": [span("not in the contract at all")],
}


WORD_9 = {"token_doc_start": 9, "token_doc_end": 10}


def with_rent(*entries):
    return json.dumps(NBEST | {"c__Rent": list(entries)})


def test_spans_are_found_in_their_contract(taken):
    submitted = taken("spans", json.dumps(NBEST), "nbest")
    rows = submitted.rows
    assert submitted.skipped == 1
    assert [row["released_text"] for row in rows] == [
        "Ada Quill,",
        "This Lease is",
        "",
        "empty",
        "",
    ]
    assert [row["text"] for row in rows] == [
        "Ada Quill,",
        "This  Lease\nis",
        "",
        "",
        "",
    ]
    assert [(row["start"], row["end"]) for row in rows[2:]] == [(-1, -1)] * 3
    for row in rows[:2]:
        assert CONTRACT[row["start"] : row["end"]] == row["text"]
    assert [(row["question_id"], row["rank"]) for row in rows] == [
        ("c__Parties", 0),
        ("c__Parties", 1),
        ("c__Parties", 2),
        ("c__Rent", 0),
        ("c__Rent", 1),
    ]
    assert [row["probability"] for row in rows] == [0.6, 0.3, 0.1, 0.5, 0.5]
    assert (rows[0]["start_logit"], rows[0]["end_logit"]) == (2, -1.5)
    assert math.isnan(rows[1]["start_logit"])


@pytest.mark.parametrize(
    ("text", "positions", "start"),
    [
        ("Ada Quill", {}, CONTRACT.index("Ada")),
        (
            "Ada Quill",
            {"token_doc_start": 9, "token_doc_end": 10},
            CONTRACT.rindex("Ada"),
        ),
        # Wrong positions do not matter if the text is in the contract.
        (
            "Ada Quill",
            {"token_doc_start": 99, "token_doc_end": 100},
            CONTRACT.index("Ada"),
        ),
        ("This", {"token_doc_start": 9, "token_doc_end": 9}, 0),
        ("made by Ada", {}, CONTRACT.index("made")),
        (" of\r\n Leeds ", {}, CONTRACT.index("of")),
        ("eed", {}, CONTRACT.index("eed")),
    ],
)
def test_the_position_of_a_text_is_found(taken, text, positions, start):
    content = NBEST | {"c__Parties": [span(text, **positions)]}
    rows = taken("spans", json.dumps(content), "nbest").rows
    (row,) = [row for row in rows if row["question_id"] == "c__Parties"]
    assert (row["start"], row["released_text"]) == (start, text)
    assert row["text"].split() == text.split()


@pytest.mark.parametrize("text", [" ", "\n\n", "\u00a0\t", ""])
def test_a_span_of_white_space_is_no_text(taken, text):
    content = with_rent(span("Leeds", 0.6), span(text, 0.4))
    row = taken("spans", content, "nbest").rows[-1]
    assert (row["text"], row["start"], row["end"], row["probability"]) == (
        "",
        -1,
        -1,
        0.4,
    )
    content = with_rent(
        *[span(blank, 0.1) for blank in (" ", "  ", "\t", "\n")], span("Leeds", 0.6)
    )
    assert (
        len(taken("spans", content, "nbest").rows) == 8
    )  # only texts count for the limit


@pytest.mark.parametrize(
    ("entries", "paper", "strict"),
    [
        ([("Leeds", 0.6, {}), ("Leeds", 0.2, {})], 0.2, [0.6]),
        ([("Leeds", 0.2, {}), ("Ada", 0.3, {}), ("Leeds", 0.6, {})], 0.6, [0.6]),
        ([("Leeds", 0.6, {}), ("Leeds ", 0.2, {})], 0.6, [0.6]),
        ([("Ada Quill", 0.6, {}), ("Ada Quill", 0.2, WORD_9)], 0.2, [0.6, 0.2]),
    ],
)
def test_equal_texts_are_scored_as_the_released_evaluator_reads_them(
    taken, entries, paper, strict
):
    content = with_rent(*(span(text, share, **more) for text, share, more in entries))
    rows = [
        row
        for row in taken("spans", content, "nbest").rows
        if row["question_id"] == "c__Rent"
    ]
    nbest = nbest_rows(rows)
    # The evaluator's own statement: a dictionary from text to probability, in the order
    # of the file.
    released = {text: share for text, share, _ in entries}
    read = {nbest.texts[at]: nbest.confidence[at] for at in last_by_text(nbest)}
    assert read == released and read[entries[0][0]] == paper
    text = entries[0][0]
    found = [
        nbest.confidence[at]
        for at in most_probable_by_span(nbest)
        if nbest.slices[at] == text
    ]
    assert found == strict


@pytest.mark.parametrize("value", [math.nan, math.inf, None, "2", True, 10**400, [1]])
def test_a_logit_that_is_no_number_is_unknown(taken, value):
    rows = taken(
        "spans", with_rent(span("Ada", 1, start_logit=value, end_logit=-1)), "nbest"
    ).rows
    assert math.isnan(rows[-1]["start_logit"]) and rows[-1]["end_logit"] == -1
    assert rows[-1]["probability"] == 1.0


def test_the_largest_n_best_of_the_task_limits_the_number_of_spans(taken):
    content = with_rent(*map(span, ("This", "Lease", "is", "made", "")))
    assert len(taken("spans", content, "nbest", linear={"n_best": 4}).rows) == 8


# Outputs that quote the contract.


OUTPUTS = [("c__Parties", "Ada Quill,\n“of” Leeds."), ("c__Rent", "")]
WRITTEN = 'question_id,output\nc__Rent,\nc__Parties,"Ada Quill,\n“of” Leeds."\n'


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (WRITTEN, "csv"),
        (WRITTEN + "o__Rent,None.\n", "csv"),
        (
            "".join(
                json.dumps({"question_id": name, "output": text}) + "\n"
                for name, text in OUTPUTS
            ),
            "jsonl",
        ),
    ],
    ids=["csv", "other splits", "jsonl"],
)
def test_outputs_are_read_in_each_format(taken, content, form):
    submitted = taken("spans", content, form, evaluator="containment")
    assert plain(submitted) == OUTPUTS
    assert submitted.table.name == "predictions" and submitted.skipped == (
        "o__Rent" in content
    )


def test_spans_at_least_as_probable_as_no_answer_are_quoted(taken):
    spans_ = [
        span("This Lease", 0.2),
        span("Ada Quill,", 0.4),
        span("pays.", 0.1),
        span("", 0.2),
    ]
    content = json.dumps(
        # Without an empty prediction, the least probability of a quoted span is 0.5.
        NBEST | {"c__Parties": spans_, "c__Rent": [span("Leeds", 0.4)]}
    )
    rows = plain(taken("spans", content, "nbest", evaluator="containment", n_best=9))
    assert rows == [
        ("c__Parties", "This  Lease Ada Quill,"),
        ("c__Rent", "No related clause."),
    ]


# Probabilities of answers.


CLASSIFIED = [("h1", "e1", [0.25, 0.75]), ("h2", "e2", [0.5, 0.5, 0.0])]
LONG = 'example_id,answer,probability\ne2,"a, b",0.5\ne1,Yes,.75\ne2,c,0.5\ne1,No,0.25\ne2,d,0\n'


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (LONG, "csv"),
        (LONG.replace("\n", "\r\n"), "csv"),
        (
            'head_id,example_id,No,Yes,"a, b",c,d\nh1,e1,0.25,0.75,,,\nh2,e2,,,0.5,0.5,0\n',
            "csv",
        ),
        (
            "example_id, answer, probability\n"
            'e2 ,"a, b ", 0.5\ne1, Yes, .75\n e2, c, 0.5\ne1, No, 0.25\ne2, d , 0\n',
            "csv",
        ),
        (
            '{"example_id": "e1", "probabilities": {"Yes": 0.75, "No": 0.25}}\n'
            '{"example_id": "e2", "head_id": "h2", "probabilities": [0.5, 0.5, 0]}\n'
            '{"example_id": "e3", "probabilities": [1, 0]}\n',
            "jsonl",
        ),
    ],
    ids=[
        "a row an answer",
        "CRLF",
        "a column an answer",
        "blanks after commas",
        "jsonl",
    ],
)
def test_probabilities_are_read_in_each_format(taken, content, form):
    submitted = taken("classification", content, form)
    rows = submitted.rows
    assert [
        (row["head_id"], row["example_id"], row["probabilities"]) for row in rows
    ] == CLASSIFIED
    assert rows[0]["logits"] == pytest.approx([-math.log(3), math.log(3)])
    assert all(map(math.isfinite, rows[1]["logits"]))
    assert submitted.skipped == (form == "jsonl")


def test_probabilities_of_independent_answers_need_not_add_up_to_one(taken):
    content = LONG.replace("Yes,.75", "Yes,.9")
    for task in ({"loss": "binary_cross_entropy"}, {"multi_label": True}):
        assert taken("classification", content, "csv", **task).rows[0][
            "probabilities"
        ] == [0.25, 0.9]
    rounded = taken("classification", LONG.replace(".75", ".7501"), "csv").rows
    assert rounded[0]["probabilities"] == [0.25, 0.7501]


def line(**record):
    return json.dumps(
        {"example_id": "e1", "probabilities": {"No": 0.5, "Yes": 0.5}} | record
    )


# Distributions over options.


EVEN = {
    question: [1 / len(options)] * len(options)
    for question, (_, _, options) in POLICY_QUESTIONS.items()
}


def lines(document="d00", **changes):
    return "\n".join(
        json.dumps(
            {
                "document_id": document,
                "question_id": question,
                "probabilities": probabilities,
            }
        )
        for question, probabilities in (EVEN | changes).items()
        if probabilities is not None
    )


def cells(*additional):
    rows = [["document_id", "question_id", "option", "probability"]]
    for question, (_, _, options) in POLICY_QUESTIONS.items():
        shares = zip(options, EVEN[question], strict=True)
        rows += [["d00", question, option, str(share)] for option, share in shares]
    return "\n".join(",".join(row) for row in (*rows, *additional))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (lines(SOLD=[0.3, 0.7]), "jsonl"),
        (lines(SOLD={"Yes": 0.7, "No": 0.3}), "jsonl"),
        (lines(SOLD={"1": 0.7, "0": 0.3}), "jsonl"),
        (
            cells().replace("No,0.5", "No,.3").replace("SOLD,Yes,0.5", "SOLD,Yes,.7"),
            "csv",
        ),
        (
            cells()
            .replace("SOLD,No,0.5", "SOLD,0,.3")
            .replace("SOLD,Yes,0.5", "SOLD,1,.7"),
            "csv",
        ),
    ],
)
def test_answers_are_read_in_each_format(taken, text, form):
    submitted = taken("answers", text, form)
    (row,) = [row for row in submitted.rows if row["question_id"] == "SOLD"]
    assert row == {
        "document_id": "d00",
        "question_id": "SOLD",
        "probabilities": [0.3, 0.7],
    }
    assert [row["question_id"] for row in submitted.rows] == sorted(POLICY_QUESTIONS)
    assert submitted.skipped == 0


def test_answers_about_documents_without_a_text_are_optional(taken):
    submitted = taken("answers", lines() + "\n" + lines("d01"), "jsonl")
    assert (len(submitted.rows), submitted.skipped) == (
        5,
        1,
    )  # nobody answered SOLD about d01
    assert (
        taken("answers", lines() + "\n" + lines("elsewhere.org"), "jsonl").skipped == 3
    )


# Errors: one for each rule of a reader.


RENT = ", question 'c__Rent', prediction 0: "
REFUSED = {
    ("retrieval", "trec"): [
        (TREC + "caps Q0 d1 1 1 x", ", line 4: the data set has no query 'caps'; "),
        (TREC + "cap Q0 d9 2 -8 x", ", line 4: the data set has no document 'd9'; "),
        (TREC + "cap Q0 d3 2 -8 x", ", line 4: the document 'd3' for the query 'cap'"),
        (
            TREC + "\ncap Q0 d1 2 8 x",
            ", line 5: rank 2 of the query 'cap' has the score 8,",
        ),
        (TREC + "cap d1 2 8 x", ", line 4: has 5 fields instead of 6; give query, Q0,"),
        (TREC + "as is now d1 2 -8 x", ", line 4: has no Q0 that is followed by docu"),
        (TREC + "cap Q0 d1 two -8 x", ", line 4: the rank 'two' is not a finite numb"),
        (TREC + "cap Q0 d1 2 nan x", ", line 4: the score 'nan' is not a finite numb"),
        (TREC + "cap Q0 d1 2 -1_0 x", ", line 4: the score '-1_0' is not a finite n"),
        (f"{TREC}cap Q0 d1 {'9' * 5000} -8 x", ", line 4: the rank '999"),
        (
            "cap Q0 d1 1 1 x",
            ": no prediction for 1 of the 2 test queries, the first 'as is';",
        ),
        (
            TREC.encode() + b"\ncap \xe9",
            ", line 5: the byte 0xe9 is not UTF-8; save it",
        ),
        (CSV.encode("utf-16-le"), ": contains the character NUL, as text in UTF-16"),
        (b"PK\x03\x04", ": is a zip file or an Excel workbook, not text; save it as"),
        ("\ufeff \r\n", ": the file is empty; write it again"),
        (gzip.compress(TREC.encode(), mtime=0)[:-9], ": gzip cannot decompress it ("),
    ],
    ("retrieval", "csv"): [
        ("query,document\ncap,d1\n", ", row 1: the column 'query_id' is missing; name"),
        (
            CSV.replace(",", ";"),
            ", row 1: the columns are not separated by commas (Exc",
        ),
        (CSV + "cap,d1,\n", ", row 2: the score '' is not a finite number; correct it"),
    ],
    ("retrieval", "jsonl"): [
        ('{"query_id": "cap"}', ", line 1: document_id is missing; add it"),
        ('{"query_id": 7}', ", line 1: query_id is not text; write it as text"),
        (
            '{"query_id": "cap", "document_id": "d1", "score": true}',
            ", line 1: the score True is not a finite number",
        ),
        ("[1, 2]", ", line 1: is not a JSON object; "),
    ],
    ("spans", "nbest"): [
        (json.dumps(NBEST | {"x": []}), ": the data set has no question 'x'; correct"),
        (
            json.dumps({"c__Rent": [span("")]}),
            ": no prediction for 1 of the 2 test que",
        ),
        (with_rent(), ", question 'c__Rent': has no prediction; predict it, with"),
        (
            with_rent(*map(span, ("This", "Lease", "is", "made"))),
            ", question 'c__Rent': has 4 spans, more than the 3 that are kept",
        ),
        (with_rent(span("ada quill")), f"{RENT}the text 'ada quill' is not in the con"),
        (with_rent(span("word " * 90)), f"{RENT}the text 'word word"),
        (with_rent(span("Ada", math.nan)), f"{RENT}the probability nan is not"),
        (with_rent(span("Ada", True)), f"{RENT}the probability True is not a number"),
        (with_rent(span("Ada", 10**400)), f"{RENT}the probability 10000"),
        (with_rent(span("Ada", "0.5")), f"{RENT}the probability '0.5' is not a number"),
        (with_rent(span(None)), f"{RENT}text is missing; write it as"),
        (
            with_rent(span("Ada", token_doc_start=2**80, token_doc_end=1)),
            f"{RENT}token_doc_start and token_doc_end are not two whole numbers",
        ),
        (with_rent("Ada"), f"{RENT}is not an object; write it as"),
        ("[1]", ': is a list, not an object with question ids; write it as {"question'),
        ('{"c__Rent": 1}', ", question 'c__Rent': is a int, not a list of predictions"),
    ],
    ("spans", "csv"): [
        (
            WRITTEN + "c__Rent,more\n",
            ", row 5: the question 'c__Rent' appears twice; r",
        ),
        (
            WRITTEN + "x,more\n",
            ", row 5: the data set has no question 'x'; correct its",
        ),
    ],
    ("spans", "jsonl"): [
        ('{"question_id": "c__Rent", "output": 3}', ", line 1: output is not text; wri")
    ],
    ("classification", "csv"): [
        (
            LONG + "e9,No,1\n",
            ", row 7: the data set has no example 'e9'; correct its id",
        ),
        (
            LONG + "e1,no,1\n",
            ", row 7: example 'e1' has no answer 'no'; choose from 'No'",
        ),
        (
            LONG + "e1,No,0.25\n",
            ", row 7: the answer 'No' of example 'e1' appears twice",
        ),
        (
            LONG.replace("e1,No,0.25\n", ""),
            ", row 3: the answer 'No' of example 'e1' h",
        ),
        (
            LONG.replace("0.25", "0.27"),
            ", row 3: the probabilities of example 'e1' add",
        ),
        (
            LONG.replace("0.25", "25 %"),
            ", row 5: the probability '25 %' is not a finite",
        ),
        (
            LONG.replace("0.25", "25"),
            ", row 5: the probability '25' is not a number fro",
        ),
        (
            LONG.replace("0.25", "-0.1"),
            ", row 5: the probability '-0.1' is not a number",
        ),
        ("example_id\ne3\n", ": no prediction for 2 of the 2 test examples, the first"),
    ],
    ("classification", "jsonl"): [
        (
            line(head_id="h2"),
            ", line 1: example 'e1' belongs to the head 'h1', not to ",
        ),
        (
            line() + "\n" + line(),
            ", line 2: the answer 'No' of example 'e1' appears tw",
        ),
        (
            line(probabilities=[1]),
            ", line 1: 1 probabilities for example 'e1', which h",
        ),
        (line(probabilities=None), ", line 1: probabilities is missing; "),
        (
            line(probabilities=0.5),
            ", line 1: probabilities is not a list or an object;",
        ),
        (
            line(probabilities=[[1], 0]),
            ", line 1: the probability [1] is not a finite n",
        ),
        (
            line(probabilities={"x" * 3000: 1}),
            ", line 1: example 'e1' has no answer 'x",
        ),
    ],
    ("answers", "jsonl"): [
        (
            lines().replace("SOLD", "ZOO"),
            ", line 1: the data set has no question 'ZOO'",
        ),
        (lines(SOLD={"2": 1}), ", line 1: question 'SOLD' of 'd00' has no option '2'"),
        (
            lines(SOLD={"9" * 5000: 1}),
            ", line 1: question 'SOLD' of 'd00' has no option",
        ),
        (
            lines(SOLD={"No": 0.5, "0": 0.5}),
            ", line 1: the option 'No' of question 'SO",
        ),
        (
            lines(SOLD=[0.3, 0.3]),
            ", line 1: the probabilities of question 'SOLD' of 'd",
        ),
        (
            lines(SOLD=None),
            ": no prediction for 1 of the 3 answered pairs, the first 'S",
        ),
        (
            lines("d01"),
            ": no prediction for 3 of the 5 answered pairs, the first 'ASKED",
        ),
        (
            lines("elsewhere.org"),
            ": no document of the data set is answered; correct the",
        ),
    ],
}


CASES = []
for key, cases in REFUSED.items():
    CASES += [(*key, *case) for case in cases]


@pytest.mark.parametrize(("task", "form", "content", "sentence"), CASES)
def test_an_invalid_file_is_an_error_of_one_sentence(
    taken, task, form, content, sentence
):
    with pytest.raises(BadInput) as error:
        taken(task, content, form)
    assert str(error.value).startswith(f"mine{sentence}")
    assert str(error.value).endswith(".") and "\n" not in str(error.value)
    assert len(str(error.value)) < 900


# Files.


@pytest.mark.parametrize(
    ("columns", "rest", "fault"),
    [
        ("{}", "\ne1,{}", "has no answer 'c0'"),
        ("{},c9", "", "the column 'c9' appears twice"),
    ],
)
def test_many_columns_are_read_in_linear_time(taken, columns, rest, fault):
    names = ",".join(f"c{number}" for number in range(100_000))
    content = f"example_id,{columns.format(names)}{rest.format(names)}"
    begun = time.process_time()
    with pytest.raises(BadInput, match=fault):
        taken("classification", content, "csv")
    assert time.process_time() - begun < 10


def test_many_names_in_an_object_are_read_in_linear_time(taken):
    names = ",".join(f'"c{number}": 0' for number in range(200_000))
    begun = time.process_time()
    with pytest.raises(BadInput, match="'c199999' appears twice in one object"):
        taken("classification", f'{{{names}, "c199999": 0}}', "jsonl")
    assert time.process_time() - begun < 10


def test_a_changed_or_missing_file_raises_an_error(tmp_path, monkeypatch):
    path, content = tmp_path / "run.txt", "sha256:" + "e3b0c442" * 8
    path.write_text(TREC)
    monkeypatch.setenv("LEXTABLES_SUBMITTED", json.dumps({content: str(path)}))
    with pytest.raises(
        BadInput, match=r"^run\.txt: was changed during the run; repeat the command\.$"
    ):
        opened(content)
    path.unlink()
    with pytest.raises(
        BadInput, match=r"^run\.txt: cannot be read \(No such file.*\); restore it\.$"
    ):
        opened(content)


# Probabilities that single precision has rounded

ONE = [1.0000001192092896, 1.0000002384185791, 1 + 8 * 2**-23, 1.0, 1]
ZERO = [-1.1920929e-07, -1e-30, -(2**-20), 0.0, 0]
BEYOND = [1.000001, 1.001, 1.01, -1e-6, -0.001, 2]


@pytest.mark.parametrize(("numbers", "share"), [(ONE, 1.0), (ZERO, 0.0)])
def test_a_probability_outside_by_single_precision_is_rounded(taken, numbers, share):
    for number in numbers:
        other = 1 - share
        more = line(example_id="e2", probabilities=[other, number, 0])
        text = line(probabilities=[other, number]) + "\n" + more
        rows = taken("classification", text, "jsonl").rows
        assert [row["probabilities"][1] for row in rows] == [share, share]
        table = LONG.replace(".75", repr(other)).replace("0.25", repr(number))
        rows = taken("classification", table, "csv").rows
        assert rows[0]["probabilities"] == [share, other]
        text = with_rent(span("Ada", number))
        rows = taken("spans", text, "nbest").rows
        (found,) = [row for row in rows if row["question_id"] == "c__Rent"]
        assert found["probability"] == share
        text = lines(SOLD=[other, number])
        rows = taken("answers", text, "jsonl").rows
        (found,) = [row for row in rows if row["question_id"] == "SOLD"]
        assert list(found["probabilities"]) == [other, share]


@pytest.mark.parametrize("number", BEYOND)
def test_a_probability_outside_by_more_is_an_error(taken, number):
    files = {
        ("classification", "jsonl"): line(probabilities=[0, number]),
        ("classification", "csv"): LONG.replace("0.25", repr(number)),
        ("spans", "nbest"): with_rent(span("Ada", number)),
        ("answers", "jsonl"): lines(SOLD=[0, number]),
    }
    for (task, form), text in files.items():
        with pytest.raises(BadInput, match="is not a number from 0 to 1"):
            taken(task, text, form)


def test_per_cent_are_named(taken):
    for number in (25, 99.9, 100, 1.00001):
        with pytest.raises(BadInput, match="divide per cent by 100"):
            taken("classification", line(probabilities=[0, number]), "jsonl")


# Files that are no text


def written(save):
    def content(folder):
        path = folder / "file"
        save(path)
        return path.read_bytes()

    return content


FRAME = pd.DataFrame({"example_id": ["e1"], "answer": ["No"], "probability": [1.0]})
NO_TEXT = {
    "parquet": ("a parquet file", written(FRAME.to_parquet)),
    "feather": ("an Arrow file", written(FRAME.to_feather)),
    "npy": ("a NumPy file", written(lambda path: np.save(path.open("wb"), [1.0]))),
    "pickle": ("a pickle", written(FRAME.to_pickle)),
    "bz2": ("a bzip2 file", lambda _: bz2.compress(b"example_id")),
    "xz": ("an xz file", lambda _: lzma.compress(b"example_id")),
    "zip": ("a zip file or an Excel workbook", lambda _: b"PK\x03\x04rest"),
    "xls": ("an Excel workbook", lambda _: b"\xd0\xcf\x11\xe0\xa1\xb1"),
    "sqlite": ("an SQLite database", lambda _: b"SQLite format 3\0rest"),
    "hdf5": ("an HDF5 file", lambda _: b"\x89HDF\r\n"),
    "zstd": ("a Zstandard file", lambda _: b"\x28\xb5\x2f\xfd\x00"),
    "7z": ("a 7z file", lambda _: b"7z\xbc\xaf\x27\x1c"),
    "pdf": ("a PDF file", lambda _: b"%PDF-1.7"),
}


@pytest.mark.parametrize("kind", NO_TEXT)
@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_that_is_no_text_is_named(kind, compressed, tmp_path):
    name, content = NO_TEXT[kind]
    data = content(tmp_path)
    if compressed:
        data = gzip.compress(data)
    with pytest.raises(
        BadInput, match=f"^mine.csv: is {name}, not text; save it as csv"
    ):
        text_of(data, "mine.csv")


@pytest.mark.parametrize(
    "text", ["PAR1,a\n", "BZh,a\n", "%PDF\n", "7z,a\n", "ARROW1,a\n"]
)
def test_a_text_that_begins_like_another_file_is_read(text):
    assert text_of(text.encode(), "mine.csv") == text


# Files as other programs write them

ANSWERS = 'example_id,answer,probability\ne1,No,0.25\ne1,Yes,0.75\ne2,"a, b",1\ne2,c,0\ne2,d,0\n'
OBJECTS = (
    '{"example_id": "e1", "probabilities": [0.25, 0.75]}\n'
    '{"example_id": "e2", "probabilities": [1, 0, 0]}\n'
)
WIDE = 'example_id,No,Yes,"a, b",c,d\ne1,0.25,0.75,,,\ne2,,,1,0,0\n'


def frame(text):
    return pd.read_csv(io.StringIO(text))


OTHER_PROGRAMS = {
    "blanks": ("csv", ANSWERS.replace("0.25", " 0.25 ")),
    "exponents": ("csv", ANSWERS.replace("0.25", "2.5e-1")),
    "double precision": ("csv", ANSWERS.replace("0.25", "0.2500000000000000001")),
    "line ends of old Macs": ("csv", ANSWERS.replace("\n", "\r")),
    "two byte order marks": ("csv", f"\ufeff\ufeff{ANSWERS}"),
    "an index": ("csv", frame(ANSWERS).to_csv()),
    "an index of an index": ("csv", frame(frame(ANSWERS).to_csv()).to_csv()),
    "a wide table": ("csv", WIDE),
    "a wide table with an index": ("csv", frame(WIDE).to_csv()),
    "a wide table with two": ("csv", frame(frame(WIDE).to_csv()).to_csv()),
    "blank lines": ("csv", ANSWERS.replace("\n", "\n\n")),
    "blanks around ids": ("csv", ANSWERS.replace("e1,", " e1 ,")),
    "zeros behind gzip": ("csv", gzip.compress(ANSWERS.encode()) + bytes(512)),
    "another split": ("csv", ANSWERS + "e3,No,1\n"),
    "JSON lines": ("jsonl", OBJECTS),
    "numbers as text": (
        "jsonl",
        OBJECTS.replace("0.25", '"0.25"').replace("0.75", '"0.75"'),
    ),
    "more fields": (
        "jsonl",
        OBJECTS.replace('"example_id"', '"index": 1, "example_id"'),
    ),
}


@pytest.mark.parametrize("name", OTHER_PROGRAMS)
def test_files_of_other_programs_are_read(taken, name):
    form, content = OTHER_PROGRAMS[name]
    rows = taken("classification", content, form).rows
    assert [row["probabilities"] for row in rows] == [[0.25, 0.75], [1, 0, 0]]


TWO_FILES = io.BytesIO()
with zipfile.ZipFile(TWO_FILES, "w") as archive:
    archive.writestr("a.csv", ANSWERS)
    archive.writestr("b.csv", ANSWERS)
NUMBER = "is not a finite number; correct it"
ONE_LINE = "write each prediction on one line"
FAULTY_FILES = [
    *(
        ("csv", ANSWERS.replace("0.25", cell), NUMBER)
        for cell in ("NaN", "inf", "None", "", "0x1p-2", "1/4", "[0.25]", "tensor(0.2)")
    ),
    ("csv", ANSWERS.replace("0.25", '"0,25"'), NUMBER),
    ("csv", ANSWERS.replace("0.25", "0,25"), "has 4 cells where there should be 3"),
    ("csv", ANSWERS.encode("utf-16"), "save it as UTF-8"),
    ("csv", ANSWERS.encode("utf-32"), "save it as UTF-8"),
    ("csv", ANSWERS.encode() + b"\xed\xa0\x80", "the byte 0xed is not UTF-8"),
    ("csv", ANSWERS + "\x1a", "has 1 cells where there should be 3"),
    ("csv", frame(ANSWERS).to_csv(sep="\t"), "save it with commas"),
    ("csv", ANSWERS + ",,\n", "no example ''"),
    ("csv", ANSWERS.replace("e1", "E1"), "no example 'E1'; correct its id"),
    ("csv", ANSWERS.replace("e1", "\u200be1"), r"no example '\u200be1'"),
    ("csv", TWO_FILES.getvalue(), "is a zip file or an Excel workbook, not text"),
    ("csv", gzip.compress(gzip.compress(b"a")), "is compressed twice, not text"),
    ("csv", gzip.compress(b"a") + b"junk", "compress it again"),
    ("csv", gzip.compress(ANSWERS.encode()) * 2, "no example 'example_id'"),
    *(
        ("jsonl", OBJECTS.replace("0.25", value), NUMBER)
        for value in ("NaN", "Infinity", "null", "true", "1e400", "{}", "[]", '"x"')
    ),
    ("jsonl", OBJECTS.replace("0.25", "9" * 5000), "a number of too many digits"),
    ("jsonl", OBJECTS.replace('"e1"', '"\\ud800"'), "it holds half of a character"),
    ("jsonl", OBJECTS.replace('"e1"', "1"), "example_id is not text"),
    ("jsonl", OBJECTS.replace("[0.25, 0.75]", '{"No": 1, "No": 0}'), "appears twice"),
    ("jsonl", f"[{OBJECTS.replace(chr(10), ',')}{{}}]", ONE_LINE),
    ("jsonl", json.dumps(json.loads("[[1]]"), indent=1), ONE_LINE),
    ("jsonl", OBJECTS.replace('"', "'"), ONE_LINE),
    ("jsonl", OBJECTS.replace("\n", ",\n"), ONE_LINE),
    ("jsonl", OBJECTS.replace("\n", "\u2028"), ONE_LINE),
    ("jsonl", "[" * 100_000, "nested too deeply"),
]


@pytest.mark.parametrize(("form", "content", "sentence"), FAULTY_FILES)
def test_faulty_files_of_other_programs_are_named(taken, form, content, sentence):
    with pytest.raises(BadInput) as error:
        taken("classification", content, form)
    assert sentence in str(error.value)


@pytest.mark.parametrize("nested", [False, True])
def test_parquet_with_categories_and_lists_is_named(taken, nested):
    table = frame(ANSWERS).astype({"answer": "category"})
    if nested:
        table["probability"] = [[0.5]] * len(table)
    file = io.BytesIO()
    table.to_parquet(file)
    for form in ("csv", "jsonl"):
        with pytest.raises(BadInput, match="is a parquet file, not text"):
            taken("classification", file.getvalue(), form)


def test_ids_of_questions_with_blanks_are_known(taken):
    content = {f" {name}": spans_ for name, spans_ in NBEST.items()}
    expected = plain(taken("spans", json.dumps(NBEST), "nbest"))
    assert plain(taken("spans", json.dumps(content), "nbest")) == expected
    with pytest.raises(BadInput, match="the question 'c__Rent' appears twice"):
        taken("spans", json.dumps(NBEST | {"c__Rent ": []}), "nbest")


RUN = "cap Q0 d1 {} {} x\ncap Q0 d2 {} {} x\nas is Q0 d1 1 3 x\n"


@pytest.mark.parametrize(
    ("ranks", "is_read"),
    [
        ((0, 5, 1, 4), True),
        ((-1, 5, 0, 4), True),
        ((1, 5, 1, 4), True),
        ((7, 5, 7, 4), True),
        ((1, 1, 2, 1), True),
        ((1.5, 5, 2.5, 4), True),
        ((2, 5, 1, 4), False),
        ((1, 4, 2, 5), False),
        ((1, "inf", 2, 4), False),
        ((1, "1,5", 2, 1), False),
        (("x", 5, 2, 4), False),
    ],
)
def test_ranks_that_agree_with_the_scores_are_read(taken, ranks, is_read):
    if is_read:
        assert len(taken("retrieval", RUN.format(*ranks), "trec").rows) == 3
    else:
        with pytest.raises(BadInput, match=r"; (correct it|give the best document)"):
            taken("retrieval", RUN.format(*ranks), "trec")


def test_ranks_do_not_replace_scores(taken):
    same = RUN.replace("1 3 x", "1 1 x")
    with pytest.raises(BadInput, match="all hits have the score 1, although their ra"):
        taken("retrieval", same.format(1, 1, 2, 1), "trec")
    assert len(taken("retrieval", same.format(1, 1, 1, 1), "trec").rows) == 3


# What a message says is done, and then the file is read
ADVICE = [
    (
        "classification",
        "csv",
        "save it with commas, and with points in numbers",
        ANSWERS.replace(",", ";"),
        ANSWERS,
    ),
    (
        "retrieval",
        "csv",
        "name the columns in the first row: query_id, document_id, score",
        "cap,d1,1\nas is,d1,1\n",
        CSV + "cap,d1,1\nas is,d1,1\n",
    ),
    (
        "classification",
        "csv",
        "remove one of the two",
        ANSWERS.replace("e1,No", "e1,Yes,0.75\ne1,No"),
        ANSWERS,
    ),
    ("classification", "csv", "correct its id", ANSWERS.replace("e1", "E1"), ANSWERS),
    (
        "classification",
        "csv",
        "predict each of them",
        ANSWERS.replace('e2,"a, b",1\ne2,c,0\ne2,d,0\n', ""),
        ANSWERS,
    ),
    (
        "classification",
        "csv",
        "give one for each choice",
        ANSWERS.replace("e2,d,0\n", ""),
        ANSWERS,
    ),
    (
        "classification",
        "jsonl",
        "give the probabilities of all choices",
        OBJECTS.replace("0.75", "0.25"),
        OBJECTS,
    ),
    (
        "classification",
        "jsonl",
        "give one for each, in this order: 'No', 'Yes'",
        OBJECTS.replace("[0.25, 0.75]", "[1]"),
        OBJECTS,
    ),
    (
        "classification",
        "jsonl",
        "choose from 'No', 'Yes'",
        OBJECTS.replace("[0.25, 0.75]", '{"no": 1}'),
        OBJECTS.replace("[0.25, 0.75]", '{"No": 1, "Yes": 0}'),
    ),
    (
        "classification",
        "jsonl",
        "correct one of the two",
        OBJECTS.replace('"e1"', '"e1", "head_id": "h2"'),
        OBJECTS.replace('"e1"', '"e1", "head_id": "h1"'),
    ),
    (
        "classification",
        "jsonl",
        "write it as text",
        OBJECTS.replace('"e1"', '"e1", "head_id": 1'),
        OBJECTS.replace('"e1"', '"e1", "head_id": "h1"'),
    ),
    (
        "classification",
        "jsonl",
        "write it as a list or an object",
        OBJECTS.replace("[0.25, 0.75]", "0.25"),
        OBJECTS,
    ),
    (
        "classification",
        "jsonl",
        "add it",
        OBJECTS.replace('"probabilities"', '"scores"'),
        OBJECTS,
    ),
    ("classification", "jsonl", ONE_LINE, f"[{OBJECTS}]", OBJECTS),
    (
        "retrieval",
        "trec",
        "give query, Q0, document, rank, score, tag",
        TREC + "cap d1 2 -8 x",
        TREC + "cap Q0 d1 2 -8 x",
    ),
    (
        "retrieval",
        "trec",
        "give query, Q0, document, rank, score, tag, separated by tabs",
        TREC.replace("cap Q0", "cap of it"),
        TREC,
    ),
    (
        "retrieval",
        "trec",
        "give the best document the highest score",
        TREC + "cap Q0 d1 2 8 x",
        TREC + "cap Q0 d1 2 -8 x",
    ),
    ("answers", "jsonl", "correct the ids", lines("elsewhere.org"), lines()),
    (
        "answers",
        "jsonl",
        "or give its index, from 0",
        lines(SOLD={"2": 1}),
        lines(SOLD={"1": 1, "0": 0}),
    ),
    (
        "spans",
        "nbest",
        "predict it, with the empty text if there is no answer",
        with_rent(),
        with_rent(span("")),
    ),
    (
        "spans",
        "nbest",
        "give the 3 with the highest probabilities",
        with_rent(*map(span, ("This", "Lease", "is", "made"))),
        with_rent(*map(span, ("This", "Lease", "is"))),
    ),
    (
        "spans",
        "nbest",
        "copy spans from the contract's text",
        with_rent(span("ada quill")),
        with_rent(span("Ada Quill")),
    ),
    (
        "spans",
        "nbest",
        'write it as {"question id": [{"text": "…", "probability": 0.5}, …], …}',
        with_rent("Ada Quill"),
        with_rent({"text": "Ada Quill", "probability": 0.5}),
    ),
]


@pytest.mark.parametrize(("task", "form", "advice", "faulty", "corrected"), ADVICE)
def test_advice_about_predictions_works(taken, task, form, advice, faulty, corrected):
    with pytest.raises(BadInput) as error:
        taken(task, faulty, form)
    assert advice in str(error.value)
    assert taken(task, corrected, form).rows
