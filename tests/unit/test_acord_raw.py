"""The reader of ACORD's zip: its rows, and the message for each error."""

import io
import json

import openpyxl
import pytest

from lextables.pipeline.errors import BadInput
from registered import SAMPLE, read, written
from released_zips import altered, line


def test_the_sample_has_the_registered_rows(tmp_path):
    rows = read("acord", "acord")
    written("acord", "acord", tmp_path, rows)
    assert rows.notes == {
        "ratings_without_a_number": 2,
        "ratings_without_a_judged_clause": 0,
    }
    assert {row["stars"] - row["score"] for row in rows.of["judgements"]} == {1}
    queries, ratings = rows.of["queries"], rows.of["ratings"]
    assert [query["number"] for query in queries] == list(range(1, len(queries) + 1))
    assert all(query["medium"] and query["long"] for query in queries)
    judged = {(row["query_id"], row["clause_id"]) for row in rows.of["judgements"]}
    assert all(
        (r["query_id"], r["clause_id"]) in judged for r in ratings if r["clause_id"]
    )
    assert any(rating["rating"] % 1 for rating in ratings)


def cell(number, column, value):
    """Return a function that changes one cell of a tab-separated file."""

    def edit(text):
        cells = text.split(b"\t")
        cells[column] = value
        return b"\t".join(cells)

    return line(number, edit)


def repeat(number):
    """Return a function that appends a copy of a line (0-based)."""
    return lambda content: content + content.split(b"\n")[number] + b"\n"


def without_first_query(content):
    first = content.split(b"\n")[1].split(b"\t")[0]
    return b"\n".join(row for row in content.split(b"\n") if not row.startswith(first))


def split(text):
    return text.replace(b'"split": "', b'"split": "no-')


def category(text):
    return text.replace(b'"category": "', b'"category": "Un')


def record(**change):
    """Return a function that changes keys of a line of JSON."""
    return lambda text: json.dumps(json.loads(text) | change).encode()


def metadata(**change):
    """Return a function that changes keys of the metadata of a query."""

    def edit(text):
        query = json.loads(text)
        query["metadata"] |= change
        return json.dumps(query).encode()

    return edit


def rated(value):
    """Return a function that changes the first rating of the workbook."""

    def change(content):
        book = openpyxl.load_workbook(io.BytesIO(content))
        sheet = book.worksheets[0]
        rows = [[cell.value for cell in row] for row in sheet.iter_rows(max_row=4)]
        head = next(number for number, row in enumerate(rows) if "Rating" in row)
        sheet.cell(head + 2, rows[head].index("Rating") + 1).value = value
        out = io.BytesIO()
        book.save(out)
        return out.getvalue()

    return change


FORMATS, EMPTY = "(short_medium_long).tsv", b'{"_id": "0000000009", "text": "  \\n"}'
TEST, TRAIN, VALID = (f"qrels/{split}.tsv" for split in ("test", "train", "valid"))


@pytest.mark.parametrize(
    ("suffix", "change", "message"),
    [
        (
            TEST,
            cell(5, 1, b"ffffffffff"),
            "qrels/test.tsv, row 5: clause ffffffffff is not in corpus.jsonl",
        ),
        (
            TEST,
            cell(7, 2, b"7"),
            "qrels/test.tsv, row 7: score 7 is not one of 0 to 4.",
        ),
        (
            TEST,
            cell(7, 2, b"2.5"),
            "qrels/test.tsv, row 7: score 2.5 is not one of 0 to 4.",
        ),
        (
            TRAIN,
            cell(3, 0, b"No query"),
            "qrels/train.tsv, row 3: query 'No query' is not in queries.jsonl",
        ),
        (
            VALID,
            repeat(1),
            "are judged twice (first at qrels/valid.tsv, row 2); drop one of the two.",
        ),
        (VALID, without_first_query, "has no judgement in any split; restore its rows"),
        (
            TEST,
            line(1, lambda _: b"q\td\ts"),
            "qrels/test.tsv, row 1: the header is not query-id,",
        ),
        (
            "queries.jsonl",
            line(2, split),
            "queries.jsonl, line 2: its metadata.split = 'no-t",
        ),
        ("queries.jsonl", line(2, category), "has the unknown category 'Un"),
        (
            "corpus.jsonl",
            line(9, lambda _: EMPTY),
            "corpus.jsonl, line 9: its text = '  \\n' is wrong (it is empty)",
        ),
        ("corpus.jsonl", repeat(0), "appears twice; drop one of the two."),
        (
            "corpus.jsonl",
            None,
            "ACORD.zip: holds 0 files called corpus.jsonl where there should be one",
        ),
        *(
            (
                "corpus.jsonl",
                line(3, record(**change)),
                f"corpus.jsonl, line 3: its {fault}",
            )
            for change, fault in (
                ({"_id": 7}, "_id = 7 is wrong"),
                ({"_id": True}, "_id = True is wrong"),
                ({"_id": ["a"]}, "_id = ['a'] is wrong"),
                ({"_id": ""}, "_id = '' is wrong (it is empty)"),
                ({"text": 7}, "text = 7 is wrong"),
                ({"text": None}, "text = None is wrong"),
            )
        ),
        (
            "corpus.jsonl",
            line(3, lambda text: text[:-1] + b', "text": "b"}'),
            "line 3: 'text' appears twice",
        ),
        (
            "corpus.jsonl",
            line(3, lambda _: b"[" * 9999),
            "corpus.jsonl, line 3: it is nested too deeply",
        ),
        *(
            ("queries.jsonl", line(2, edit), f"queries.jsonl, line 2: its {fault}")
            for edit, fault in (
                (record(metadata=None), "metadata = None is wrong"),
                (record(metadata=["test"]), "metadata = ['test'] is wrong"),
                (record(text=" "), "text = ' ' is wrong (it is empty)"),
                (metadata(split=["test"]), "metadata.split = ['test'] is wrong"),
                (metadata(category={}), "metadata.category = {} is wrong"),
                (metadata(type=1), "metadata.type = 1 is wrong"),
            )
        ),
        *(
            (
                "Pairs.xlsx",
                rated(rating),
                f": the rating {rating} is no number from 0 to 5; restore the file",
            )
            for rating in (500, -3, True, False, 5.1)
        ),
        (
            "Pairs.xlsx",
            lambda content: content[:-300],
            "Clause Pairs.xlsx: the workbook cannot be read (",
        ),
        (
            FORMATS,
            cell(2, 0, b"another query"),
            "row 2: 'another query' is no query of queries.jsonl",
        ),
    ],
)
def test_an_error_names_its_place(tmp_path, suffix, change, message):
    path = altered(SAMPLE / "acord/ACORD.zip", tmp_path / "ACORD.zip", {suffix: change})
    with pytest.raises(BadInput) as error:
        read("acord", "acord", files={"release": [path]})
    assert message in str(error.value)
