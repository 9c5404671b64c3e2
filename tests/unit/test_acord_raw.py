"""The reader of ACORD's zip: its rows, and the message for each error."""

import pytest

from lextables.pipeline.errors import BadInput
from registered import SAMPLE, read, written
from released_zips import altered, line


def test_the_sample_has_the_registered_rows(tmp_path):
    rows = read("acord", "acord")
    written("acord", "acord", tmp_path, rows)
    assert rows.notes == {"ratings_without_a_number": 2, "ratings_without_a_judged_clause": 0}
    assert {row["stars"] - row["score"] for row in rows.of["judgements"]} == {1}
    queries, ratings = rows.of["queries"], rows.of["ratings"]
    assert [query["number"] for query in queries] == list(range(1, len(queries) + 1))
    assert all(query["medium"] and query["long"] for query in queries)
    judged = {(row["query_id"], row["clause_id"]) for row in rows.of["judgements"]}
    assert all((r["query_id"], r["clause_id"]) in judged for r in ratings if r["clause_id"])
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


FORMATS, EMPTY = "(short_medium_long).tsv", b'{"_id": "0000000009", "text": "  \\n"}'
TEST, TRAIN, VALID = (f"qrels/{split}.tsv" for split in ("test", "train", "valid"))


@pytest.mark.parametrize(
    ("suffix", "change", "message"),
    [
        (TEST, cell(5, 1, b"ffffffffff"), "qrels/test.tsv, row 5: clause ffffffffff is not in corpus.jsonl"),
        (TEST, cell(7, 2, b"7"), "qrels/test.tsv, row 7: score 7 is not one of 0 to 4."),
        (TEST, cell(7, 2, b"2.5"), "qrels/test.tsv, row 7: score 2.5 is not one of 0 to 4."),
        (TRAIN, cell(3, 0, b"No query"), "qrels/train.tsv, row 3: query 'No query' is not in queries.jsonl"),
        (VALID, repeat(1), "are judged twice (first at qrels/valid.tsv, row 2); drop one of the two."),
        (VALID, without_first_query, "has no judgement in any split; restore its rows"),
        (TEST, line(1, lambda _: b"q\td\ts"), "qrels/test.tsv, row 1: the header is not query-id,"),
        ("queries.jsonl", line(2, split), "is in no split; set its split to train, valid, test."),
        ("queries.jsonl", line(2, category), "has the unknown category 'Un"),
        (
            "corpus.jsonl",
            line(9, lambda _: EMPTY),
            "corpus.jsonl, line 9: clause 0000000009 has an empty text",
        ),
        ("corpus.jsonl", repeat(0), "appears twice; drop one of the two."),
        ("corpus.jsonl", None, "ACORD.zip: holds 0 files called corpus.jsonl where there should be one"),
        (FORMATS, cell(2, 0, b"another query"), "row 2: 'another query' is no query of queries.jsonl"),
    ],
)
def test_an_error_names_its_place(tmp_path, suffix, change, message):
    path = altered(SAMPLE / "acord/ACORD.zip", tmp_path / "ACORD.zip", {suffix: change})
    with pytest.raises(BadInput) as error:
        read("acord", "acord", files={"release": [path]})
    assert message in str(error.value)
