"""Submitted predictions as other programs write them, and advice that is followed."""

import gzip
import io
import json
import zipfile

import pandas as pd
import pytest

from helpers.submitted_files import CSV, NBEST, TREC, lines, plain, span, with_rent
from lextables.pipeline.errors import BadInput

# Files as other programs write them

# The same predictions as a row for each answer, as JSON lines, and as a wide table.
ANSWERS = 'example_id,answer,probability\ne1,No,0.25\ne1,Yes,0.75\ne2,"a, b",1\ne2,c,0\ne2,d,0\n'
OBJECTS = (
    '{"example_id": "e1", "probabilities": [0.25, 0.75]}\n'
    '{"example_id": "e2", "probabilities": [1, 0, 0]}\n'
)
WIDE = 'example_id,No,Yes,"a, b",c,d\ne1,0.25,0.75,,,\ne2,,,1,0,0\n'


def frame(text):
    return pd.read_csv(io.StringIO(text))


# {what is unusual: (form, content)}
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
def test_files_of_other_programs_are_read(read_for, name):
    form, content = OTHER_PROGRAMS[name]
    rows = read_for("classification", content, form).rows
    assert [row["probabilities"] for row in rows] == [[0.25, 0.75], [1, 0, 0]]


TWO_FILES = io.BytesIO()
with zipfile.ZipFile(TWO_FILES, "w") as archive:
    archive.writestr("a.csv", ANSWERS)
    archive.writestr("b.csv", ANSWERS)
NUMBER = "is not a finite number; correct it"
ONE_LINE = "write each prediction on one line"
# (form, content, part of the error)
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
def test_faulty_files_of_other_programs_are_named(read_for, form, content, sentence):
    with pytest.raises(BadInput) as error:
        read_for("classification", content, form)
    assert sentence in str(error.value)


@pytest.mark.parametrize("nested", [False, True])
def test_parquet_with_categories_and_lists_is_named(read_for, nested):
    table = frame(ANSWERS).astype({"answer": "category"})
    if nested:
        table["probability"] = [[0.5]] * len(table)
    file = io.BytesIO()
    table.to_parquet(file)
    for form in ("csv", "jsonl"):
        with pytest.raises(BadInput, match="is a parquet file, not text"):
            read_for("classification", file.getvalue(), form)


def test_ids_of_questions_with_blanks_are_known(read_for):
    content = {f" {name}": spans_ for name, spans_ in NBEST.items()}
    expected = plain(read_for("spans", json.dumps(NBEST), "nbest"))
    assert plain(read_for("spans", json.dumps(content), "nbest")) == expected
    with pytest.raises(BadInput, match="the question 'c__Rent' appears twice"):
        read_for("spans", json.dumps(NBEST | {"c__Rent ": []}), "nbest")


# A ranking, with the rank and the score of each of the first two hits left open.
RUN = "cap Q0 d1 {} {} x\ncap Q0 d2 {} {} x\nas is Q0 d1 1 3 x\n"


@pytest.mark.parametrize(
    ("ranks_and_scores", "is_read"),
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
def test_ranks_that_agree_with_the_scores_are_read(read_for, ranks_and_scores, is_read):
    content = RUN.format(*ranks_and_scores)
    if is_read:
        assert len(read_for("retrieval", content, "trec").rows) == 3
    else:
        with pytest.raises(BadInput, match=r"; (correct it|give the best document)"):
            read_for("retrieval", content, "trec")


def test_ranks_do_not_replace_scores(read_for):
    same = RUN.replace("1 3 x", "1 1 x")
    with pytest.raises(BadInput, match="all hits have the score 1, although their ra"):
        read_for("retrieval", same.format(1, 1, 2, 1), "trec")
    assert len(read_for("retrieval", same.format(1, 1, 1, 1), "trec").rows) == 3
    # These ranks have the order of ties, by descending document.
    assert len(read_for("retrieval", same.format(2, 1, 1, 1), "trec").rows) == 3


# (task, form, advice in the error, faulty file, the file when the advice is followed)
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
    (
        "answers",
        "jsonl",
        "correct the ids",
        lines("d01", KEPT=None, ASKED=None),
        lines(),
    ),
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
def test_advice_about_predictions_works(
    read_for, task, form, advice, faulty, corrected
):
    with pytest.raises(BadInput) as error:
        read_for(task, faulty, form)
    assert advice in str(error.value)
    assert read_for(task, corrected, form).rows
