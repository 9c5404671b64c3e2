"""Submitted predictions in each file format: the rows of a file."""

import gzip
import json
import math

import pytest
import pytrec_eval

from helpers.answer_rows import NAMES, rows, written
from helpers.answer_rows import QUESTIONS as POLICY_QUESTIONS
from helpers.submitted_files import (
    CONTRACT,
    EVEN,
    LONG,
    NBEST,
    TREC,
    WRITTEN,
    lines,
    plain,
    span,
    with_rent,
)
from lextables.metrics.spans import last_by_text, most_probable_by_span, nbest_rows
from lextables.tasks.answers import submitted as answers
from lextables.tasks.answers.jobs import CHECKED_WITH
from lextables.tasks.classification.schema import READINGS
from lextables.tasks.submitted import File, Incomplete

# Rankings.


RANKED = [("as is", 1, "d1", 2.5), ("as is", 2, "d2", 0.1), ("cap", 1, "d3", -7.0)]


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
def test_rankings_are_read_in_each_format(read_for, content, form):
    assert plain(read_for("retrieval", content, form)) == RANKED


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
def test_any_white_space_separates_the_fields_of_a_run(read_for, line):
    content = line + TREC[TREC.index("\n") :]
    assert (
        plain(read_for("retrieval", content.replace("Q0 d2 2", "Q0 d2 7"), "trec"))
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
def test_runs_without_blanks_in_ids_are_read_as_pytrec_eval_does(read_for, line):
    rest = "cap Q0 d2 9 0.5 mine\nas Q0 d2 1 1 mine\n"
    expected = pytrec_eval.parse_run(f"{line}\n{rest}".rstrip("\n").split("\n"))
    rows = read_for(
        "retrieval", f"{line}\n{rest}".replace("\nas ", "\nas is "), "trec"
    ).rows
    found = {
        row["document_id"]: row["score"] for row in rows if row["query_id"] == "cap"
    }
    assert found == expected["cap"]


def test_hits_of_other_splits_are_skipped_and_counted(read_for):
    content = TREC + "old Q0 d1 1 3 mine\nold Q0 d1 1 3 mine\n"
    assert read_for("retrieval", content, "trec").skipped == 2


def test_rankings_are_sorted_by_score_with_ties_broken_as_in_trec_eval(read_for):
    tied = "cap Q0 d1 1 5 x\ncap Q0 d3 2 5 x\ncap Q0 d2 3 4 x\nas is Q0 d2 0 1 x\nas is Q0 d1 0 2 x\n"
    ranking = plain(read_for("retrieval", tied, "trec"))
    assert [row[2] for row in ranking] == ["d1", "d2", "d3", "d1", "d2"]


# Spans.


WORD_9 = {"token_doc_start": 9, "token_doc_end": 10}


def test_spans_are_found_in_their_contract(read_for):
    submitted = read_for("spans", json.dumps(NBEST), "nbest")
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
def test_the_position_of_a_text_is_found(read_for, text, positions, start):
    content = NBEST | {"c__Parties": [span(text, **positions)]}
    rows = read_for("spans", json.dumps(content), "nbest").rows
    (row,) = [row for row in rows if row["question_id"] == "c__Parties"]
    assert (row["start"], row["released_text"]) == (start, text)
    assert row["text"].split() == text.split()


@pytest.mark.parametrize("text", [" ", "\n\n", "\u00a0\t", ""])
def test_a_span_of_white_space_is_no_text(read_for, text):
    content = with_rent(span("Leeds", 0.6), span(text, 0.4))
    row = read_for("spans", content, "nbest").rows[-1]
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
        len(read_for("spans", content, "nbest").rows) == 8
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
    read_for, entries, paper, strict
):
    content = with_rent(*(span(text, share, **more) for text, share, more in entries))
    rows = [
        row
        for row in read_for("spans", content, "nbest").rows
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
def test_a_logit_that_is_no_number_is_unknown(read_for, value):
    rows = read_for(
        "spans", with_rent(span("Ada", 1, start_logit=value, end_logit=-1)), "nbest"
    ).rows
    assert math.isnan(rows[-1]["start_logit"]) and rows[-1]["end_logit"] == -1
    assert rows[-1]["probability"] == 1.0


def test_the_largest_n_best_of_the_task_limits_the_number_of_spans(read_for):
    content = with_rent(*map(span, ("This", "Lease", "is", "made", "")))
    assert len(read_for("spans", content, "nbest", linear={"n_best": 4}).rows) == 8


# Outputs that quote the contract.


OUTPUTS = [("c__Parties", "Ada Quill,\n“of” Leeds."), ("c__Rent", "")]


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
def test_outputs_are_read_in_each_format(read_for, content, form):
    submitted = read_for("spans", content, form, evaluator="containment")
    assert plain(submitted) == OUTPUTS
    assert submitted.table.name == "predictions" and submitted.skipped == (
        "o__Rent" in content
    )


def test_spans_at_least_as_probable_as_no_answer_are_quoted(read_for):
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
    rows = plain(read_for("spans", content, "nbest", evaluator="containment", n_best=9))
    assert rows == [
        ("c__Parties", "This  Lease Ada Quill,"),
        ("c__Rent", "No related clause."),
    ]


# Probabilities of answers.


CLASSIFIED = [("h1", "e1", [0.25, 0.75]), ("h2", "e2", [0.5, 0.5, 0.0])]


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
def test_probabilities_are_read_in_each_format(read_for, content, form):
    submitted = read_for("classification", content, form)
    rows = submitted.rows
    assert [
        (row["head_id"], row["example_id"], row["probabilities"]) for row in rows
    ] == CLASSIFIED
    assert rows[0]["logits"] == pytest.approx([-math.log(3), math.log(3)])
    assert all(map(math.isfinite, rows[1]["logits"]))
    assert submitted.skipped == (form == "jsonl")


def test_probabilities_of_a_task_with_views_have_a_condition(read_for):
    submitted = read_for("classification", LONG, "csv", views={"short": {}})
    assert submitted.table is READINGS
    assert [row["condition"] for row in submitted.rows] == ["submitted", "submitted"]


def test_probabilities_of_independent_answers_need_not_add_up_to_one(read_for):
    content = LONG.replace("Yes,.75", "Yes,.9")
    for task in ({"loss": "binary_cross_entropy"}, {"multi_label": True}):
        assert read_for("classification", content, "csv", **task).rows[0][
            "probabilities"
        ] == [0.25, 0.9]
    rounded = read_for("classification", LONG.replace(".75", ".7501"), "csv").rows
    assert rounded[0]["probabilities"] == [0.25, 0.7501]


# Distributions over options.


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
def test_answers_are_read_in_each_format(read_for, text, form):
    submitted = read_for("answers", text, form)
    (row,) = [row for row in submitted.rows if row["question_id"] == "SOLD"]
    assert row == {
        "document_id": "d00",
        "question_id": "SOLD",
        "probabilities": [0.3, 0.7],
    }
    assert [row["question_id"] for row in submitted.rows] == sorted(POLICY_QUESTIONS)
    assert submitted.skipped == 0


def test_answers_about_all_documents_are_needed_if_none_has_a_text(tmp_path):
    tables = written(tmp_path, rows(documents=2, without_text=["d00", "d01"]))
    data = [tables[name] for name in CHECKED_WITH]
    task = {"names": NAMES}
    with pytest.raises(Incomplete, match="for 3 of the 6 answered pairs, the first"):
        answers.predictions(File("mine", lines("d00")), "jsonl", data, task)


def test_answers_about_documents_without_a_text_are_optional(read_for):
    # Nobody answered SOLD about d01.
    submitted = read_for("answers", lines() + "\n" + lines(" d01 "), "jsonl")
    assert (len(submitted.rows), submitted.skipped) == (5, 1)
