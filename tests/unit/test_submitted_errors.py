"""One sentence for each error of a file of submitted predictions."""

import bz2
import gzip
import json
import lzma
import math
import time

import numpy as np
import pandas as pd
import pytest

from helpers.submitted_files import (
    CSV,
    LONG,
    NBEST,
    TREC,
    WRITTEN,
    line,
    lines,
    span,
    with_rent,
)
from lextables.pipeline.errors import BadInput
from lextables.tasks.submitted import opened, text_of

# Errors: one for each rule of a reader.


# {(task, form): [(content, how the error goes on after the file's name)]}; long errors
# are cut.
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
            lines() + "\n" + lines("elsewhere.org"),
            ", line 4: the data set has no document 'elsewhere.org'; correct its id.",
        ),
        (lines("D00"), ", line 1: the data set has no document 'D00'; correct its id."),
        (
            lines("d01", KEPT=None, ASKED=None),
            ": no document of the data set is answered; correct the",
        ),
    ],
}


CASES = []
for key, cases in REFUSED.items():
    CASES += [(*key, *case) for case in cases]


@pytest.mark.parametrize(("task", "form", "content", "sentence"), CASES)
def test_an_invalid_file_is_an_error_of_one_sentence(
    read_for, task, form, content, sentence
):
    with pytest.raises(BadInput) as error:
        read_for(task, content, form)
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
def test_many_columns_are_read_in_linear_time(read_for, columns, rest, fault):
    names = ",".join(f"c{number}" for number in range(100_000))
    content = f"example_id,{columns.format(names)}{rest.format(names)}"
    begun = time.process_time()
    with pytest.raises(BadInput, match=fault):
        read_for("classification", content, "csv")
    assert time.process_time() - begun < 10


def test_many_names_in_an_object_are_read_in_linear_time(read_for):
    names = ",".join(f'"c{number}": 0' for number in range(200_000))
    begun = time.process_time()
    with pytest.raises(BadInput, match="'c199999' appears twice in one object"):
        read_for("classification", f'{{{names}, "c199999": 0}}', "jsonl")
    assert time.process_time() - begun < 10


def test_a_changed_or_missing_file_raises_an_error(tmp_path, monkeypatch):
    path = tmp_path / "run.txt"
    content = "sha256:" + "e3b0c442" * 8  # the digest of another content
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

# Rounded to 1, rounded to 0, and too far outside.
ONE = [1.0000001192092896, 1.0000002384185791, 1 + 8 * 2**-23, 1.0, 1]
ZERO = [-1.1920929e-07, -1e-30, -(2**-20), 0.0, 0]
BEYOND = [1.000001, 1.001, 1.01, -1e-6, -0.001, 2]


@pytest.mark.parametrize(("numbers", "share"), [(ONE, 1.0), (ZERO, 0.0)])
def test_a_probability_outside_by_single_precision_is_rounded(read_for, numbers, share):
    for number in numbers:
        other = 1 - share
        more = line(example_id="e2", probabilities=[other, number, 0])
        text = line(probabilities=[other, number]) + "\n" + more
        rows = read_for("classification", text, "jsonl").rows
        assert [row["probabilities"][1] for row in rows] == [share, share]
        table = LONG.replace(".75", repr(other)).replace("0.25", repr(number))
        rows = read_for("classification", table, "csv").rows
        assert rows[0]["probabilities"] == [share, other]
        text = with_rent(span("Ada", number))
        rows = read_for("spans", text, "nbest").rows
        (rent,) = [row for row in rows if row["question_id"] == "c__Rent"]
        assert rent["probability"] == share
        text = lines(SOLD=[other, number])
        rows = read_for("answers", text, "jsonl").rows
        (sold,) = [row for row in rows if row["question_id"] == "SOLD"]
        assert list(sold["probabilities"]) == [other, share]


@pytest.mark.parametrize("number", BEYOND)
def test_a_probability_outside_by_more_is_an_error(read_for, number):
    files = {
        ("classification", "jsonl"): line(probabilities=[0, number]),
        ("classification", "csv"): LONG.replace("0.25", repr(number)),
        ("spans", "nbest"): with_rent(span("Ada", number)),
        ("answers", "jsonl"): lines(SOLD=[0, number]),
    }
    for (task, form), text in files.items():
        with pytest.raises(BadInput, match="is not a number from 0 to 1"):
            read_for(task, text, form)


def test_per_cent_are_named(read_for):
    for number in (25, 99.9, 100, 1.00001):
        with pytest.raises(BadInput, match="divide per cent by 100"):
            read_for("classification", line(probabilities=[0, number]), "jsonl")


# Files that are no text


def written(save):
    """Return a function from a folder to the content of the file that ``save`` writes
    into it.
    """

    def content(folder):
        path = folder / "file"
        save(path)
        return path.read_bytes()

    return content


FRAME = pd.DataFrame({"example_id": ["e1"], "answer": ["No"], "probability": [1.0]})
# {kind of file: (its name in the error, function from a folder to its content)}
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
