from datetime import date

import pytest

from edgar_server import index_page, row
from lextables.corpora.edgar.faults import Faults
from lextables.corpora.edgar.index import Quarter, filings, quarter
from lextables.pipeline.errors import BadInput


def read(page: bytes, forms=("8-K",), limit=0):
    faults = Faults()
    return filings(page.splitlines(keepends=True), forms, "master.idx", faults, limit), faults.record()


def test_filings_of_the_chosen_forms_come_once_and_in_order():
    page = index_page(
        [
            row(9, "LATE CO", "8-K", "2020-02-03", "0000000009-20-000001"),
            row(7, "SECOND FILER", "8-K", "2020-01-02", "0000000002-20-000001"),
            row(5, "FIRST FILER", "8-K", "2020-01-02", "0000000002-20-000001"),
            row(6, "THIRD FILER", "8-K", "2020-01-02", "0000000002-20-000001"),
            row(5, "FIRST FILER", "8-K/A", "2020-01-02", "0000000002-20-000002"),
            row(3, "EARLY CO", "8-K", "2020-01-02", "0000000001-20-000009"),
        ]
    )
    found, faults = read(page)
    assert [(f.accession, f.cik, f.filer, f.co_filers) for f in found] == [
        ("0000000001-20-000009", 3, "EARLY CO", ()),
        ("0000000002-20-000001", 5, "FIRST FILER", (6, 7)),
        ("0000000009-20-000001", 9, "LATE CO", ()),
    ]
    assert found[1].path == "edgar/data/5/0000000002-20-000001.txt"
    assert faults == {}


@pytest.mark.parametrize(
    "line",
    [
        "12|A|B CO|8-K|2020-01-02|edgar/data/12/0000000012-20-000001.txt",
        "12|A CO|8-K|2020-13-02|edgar/data/12/0000000012-20-000001.txt",
        "x2|A CO|8-K|2020-01-02|edgar/data/12/0000000012-20-000001.txt",
        "12|A CO|8-K|2020-01-02|edgar/data/../../0000000012-20-000001.txt",
        "12|A CO|8-K|2020-01-02|edgar/data/12/x.txt",
        "12|A CO|8-K",
    ],
)
def test_a_line_that_does_not_parse_is_counted_and_the_rest_survives(line):
    good = row(5, "CAFÉ", "8-K", "2020-01-02", "0000000002-20-000001")
    found, faults = read(index_page([line, good]).replace("É".encode(), b"\xc9"))
    assert [f.filer for f in found] == ["CAFÉ"]
    assert faults["index line"]["count"] == 1
    assert faults["index line"]["sentences"][0].startswith("master.idx, row 7: the line does not parse ('")


def test_a_limit_draws_the_same_filings_whatever_the_order_of_the_lines():
    rows = [row(n, "A CO", "8-K", f"2020-01-{n:02d}", f"{n:010d}-20-000001") for n in range(1, 20)]
    few, _ = read(index_page(rows), limit=5)
    assert len(few) == 5
    assert few == sorted(few)
    assert few == read(index_page(rows[::-1]), limit=5)[0]
    assert set(few) < set(read(index_page(rows))[0])
    assert few != read(index_page(rows))[0][:5]


def test_a_page_that_is_no_index_is_refused():
    with pytest.raises(BadInput, match="not an index of EDGAR"):
        read(b"Form Type   Company Name\n")


def test_quarters():
    assert quarter("2020-QTR1", date(2020, 4, 1)) == Quarter(2020, 1)
    assert Quarter(2020, 1).path == "edgar/full-index/2020/QTR1/master.idx"
    assert [Quarter(2020, n).last_day.isoformat()[5:] for n in (1, 2, 3, 4)] == [
        "03-31",
        "06-30",
        "09-30",
        "12-31",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("2020Q1", "edgar_quarters: '2020Q1' is not a quarter; write it as 2020-QTR1."),
        ("1992-QTR4", "edgar_quarters: EDGAR has no 1992-QTR4; choose quarters from 1993-QTR1 on."),
        ("2020-QTR2", "edgar_quarters: 2020-QTR2 is not over; choose quarters that have ended."),
    ],
)
def test_a_quarter_that_cannot_be_had_is_one_sentence(text, sentence):
    with pytest.raises(BadInput) as error:
        quarter(text, date(2020, 6, 30))
    assert str(error.value) == sentence
