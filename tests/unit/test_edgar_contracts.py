"""EDGAR's index and the contracts of a quarter."""

import hashlib
import json
import tracemalloc
from datetime import date

import pytest

from helpers.edgar_server import (
    client,
    collect,
    document,
    go,
    index_page,
    row,
    serving,
    small_quarter,
    start_job,
    submission,
    submission_path,
)
from lextables.corpora.edgar.contracts import (
    Faults,
    Quarter,
    contracts,
    filings,
    quarter,
)
from lextables.pipeline import dataset
from lextables.pipeline.errors import BadInput

QUARTER = Quarter(2020, 1)


def quarter_of(*submissions):
    """Pages of 2020-QTR1 from (accession, form, date, page or None for one that is
    listed and missing).
    """
    rows = [
        row(7, "ACME CORP", form, filed, accession)
        for accession, form, filed, _ in submissions
    ]
    pages = {
        submission_path(7, accession): page
        for accession, _, _, page in submissions
        if page is not None
    }
    return {QUARTER.path: index_page(rows), **pages}


def test_a_filing_is_converted_to_rows(tmp_path):
    accession = "0000000007-20-000001"
    page = submission(
        accession,
        document("8-K", 1, "report"),
        document(
            "EX-10.1",
            2,
            "<html><body><p>LEASE</p><p>Rent.</p></body></html>",
            "Lease",
            "ex101.htm",
        ),
        document("EX-10.2", 3, "SUBLEASE\n\nRent."),
    )
    with serving(quarter_of((accession, "8-K", "2020-01-02", page)), 1000) as server:
        report = collect(QUARTER, client(server, tmp_path), tmp_path / "q.parquet")
    first, second = dataset.read(tmp_path / "q.parquet")
    assert first == {
        "date_filed": date(2020, 1, 2),
        "accession": accession,
        "sequence": 2,
        "cik": 7,
        "filer": "ACME CORP",
        "co_filers": [],
        "form": "8-K",
        "address": f"{server.base}edgar/data/7/{accession}.txt",
        "exhibit": "EX-10.1",
        "filename": "ex101.htm",
        "description": "Lease",
        "format": "html",
        "text": "LEASE\n\nRent.",
        "sha256": hashlib.sha256(b"LEASE\n\nRent.").hexdigest(),
        "same_as": "",
    }
    assert (second["exhibit"], second["format"], second["text"]) == (
        "EX-10.2",
        "plain",
        "SUBLEASE\n\nRent.",
    )
    assert (
        report["filings"],
        report["contracts"],
        report["characters"],
        report["faults"],
    ) == (1, 2, 27, {})


def test_an_exhibit_with_the_text_of_an_earlier_one_names_it(tmp_path):
    filed = []
    for number, texts in enumerate([("LEASE", "GRANT"), ("GRANT",), ("LEASE",)], 1):
        accession = f"0000000007-20-{number:06d}"
        exhibits = [
            document("EX-10.1", sequence, text)
            for sequence, text in enumerate(texts, 2)
        ]
        page = submission(accession, *exhibits)
        filed.append((accession, "8-K", "2020-01-02", page))
    with serving(quarter_of(*filed), 1000) as server:
        collect(QUARTER, client(server, tmp_path), tmp_path / "q.parquet")
    rows = dataset.read(tmp_path / "q.parquet")
    earlier = ["", "", "0000000007-20-000001/3", "0000000007-20-000001/2"]
    assert [row["same_as"] for row in rows] == earlier


def test_invalid_input_is_counted_with_a_message_and_the_rest_is_kept(tmp_path, capsys):
    def one(number, *documents):
        accession = f"0000000007-20-{number:06d}"
        return (
            accession,
            "8-K",
            "2020-01-02",
            submission(accession, *documents) if documents else None,
        )

    good = document("EX-10.1", 2, "A LEASE")
    cut = one(4, good, document("EX-10.2", 3, "half"))
    pages = quarter_of(
        one(1, document("8-K", 1, "report"), document("EX-99.1", 2, "press")),
        one(
            2,
            document("EX-10.1", 2, "<PDF>\nbegin 644 x.pdf\nM)5!$1B\n`\nend\n</PDF>"),
            document("EX-10.2", 3, "A LEASE"),
        ),
        one(
            3,
            document("EX-10.1", 2, "<html><body></body></html>"),
            document("EX-10.2", 3, b"Caf\xe9"),
        ),
        (*cut[:3], cut[3][: cut[3].index(b"half")]),
        one(5),
        one(
            6,
            good,
            document("EX-10.1", 2, "A SUBLEASE"),
            document("EX-10.3", "", "A GRANT"),
        ),
    )
    pages[QUARTER.path] += (
        b"7|ACME|CORP|8-K|2020-01-02|edgar/data/7/0000000007-20-000009.txt\n"
    )
    with serving(pages, 1000) as server:
        report = collect(QUARTER, client(server, tmp_path), tmp_path / "q.parquet")
    at = f"{server.base}edgar/data/7/0000000007-20-00000"
    found = {kind: fault["sentences"] for kind, fault in report["faults"].items()}
    assert found.pop("index line")[0].startswith(
        f"{server.base}{QUARTER.path}, row 13: the line does not parse"
    )
    windows = (
        "the exhibit declares no charset, is not UTF-8, and was read as Windows-1252"
    )
    assert found == {
        "no exhibit": [f"{at}1.txt: the 8-K has no exhibit of the types EX-10."],
        "binary": [
            f"{at}2.txt, EX-10.1, sequence 2: the exhibit is a PDF or another encoded file, not text."
        ],
        "empty": [f"{at}3.txt, EX-10.1, sequence 2: the exhibit has no text."],
        "charset": [f"{at}3.txt, EX-10.2, sequence 3: {windows}."],
        "cut short": [
            f"{at}4.txt: the submission ends inside a document, which is left out."
        ],
        "not found": [
            f"{at}5.txt: the index lists the filing, but EDGAR does not have it."
        ],
        "sequence": [
            f"{at}6.txt, EX-10.1: sequence 2 after 2 is taken as 3.",
            f"{at}6.txt, EX-10.3: sequence None after 3 is taken as 4.",
        ],
    }
    rows = [
        (r["accession"][-1], r["sequence"], r["text"])
        for r in dataset.read(tmp_path / "q.parquet")
    ]
    assert rows == [
        ("2", 3, "A LEASE"),
        ("3", 3, "Café"),
        ("4", 2, "A LEASE"),
        ("6", 2, "A LEASE"),
        ("6", 3, "A SUBLEASE"),
        ("6", 4, "A GRANT"),
    ]
    said = capsys.readouterr().out
    assert (
        "EDGAR 2020-QTR1: 6 of 6 filings to fetch, at least 00:00 at 500 requests a second"
        in said
    )
    assert json.dumps(report)


def test_only_the_chosen_forms_are_fetched(tmp_path):
    page = submission(
        "0000000007-20-000001",
        document("EX-4.1", 2, "AN INDENTURE"),
        document("EX-10.1", 3, "A LEASE"),
    )
    pages = quarter_of(
        ("0000000007-20-000001", "S-4", "2020-01-02", page),
        ("0000000007-20-000002", "4", "2020-01-02", b"never asked for"),
    )
    with serving(pages, 1000) as server:
        collect(
            QUARTER,
            client(server, tmp_path),
            tmp_path / "q.parquet",
            forms=["S-4"],
            exhibits=["EX-4"],
        )
        assert server.answered() == [
            QUARTER.path,
            submission_path(7, "0000000007-20-000001"),
        ]
    assert [r["exhibit"] for r in dataset.read(tmp_path / "q.parquet")] == ["EX-4.1"]


def test_the_same_pages_give_the_same_bytes(tmp_path):
    pages = small_quarter(2020, 1, 40)
    lines = pages[QUARTER.path].splitlines(keepends=True)
    with serving(pages, 10_000) as server:
        collect(QUARTER, client(server, tmp_path / "a"), tmp_path / "a.parquet")
        server.pages[QUARTER.path] = b"".join(lines[:6] + lines[:5:-1])
        # The second run fetches in another order and resumes from some of the pages.
        other = client(server, tmp_path / "b")
        for path in sorted(server.pages, reverse=True)[::3]:
            other.fetch(path)
        collect(QUARTER, other, tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (
        tmp_path / "b.parquet"
    ).read_bytes()
    keys = [
        (r["date_filed"], r["accession"], r["sequence"])
        for r in dataset.read(tmp_path / "a.parquet")
    ]
    assert keys == sorted(keys)
    assert len(keys) == 40


def test_a_quarter_without_an_index_raises(tmp_path):
    with (
        serving({}, 1000) as server,
        pytest.raises(
            BadInput, match="EDGAR has no index of 2020-QTR1; choose another"
        ),
    ):
        collect(QUARTER, client(server, tmp_path), tmp_path / "q.parquet")


@pytest.mark.parametrize("day", ["2019-12-31", "2020-04-01"])
def test_the_index_of_another_quarter_raises(day, tmp_path):
    accession = "0000000007-20-000001"
    page = submission(accession, document("EX-10", 2, "LEASE\n\nRent."))
    sentence = f"filings of {day} to {day}, none of 2020-QTR1; check edgar_base"
    with (
        serving(quarter_of((accession, "8-K", day, page)), 1000) as server,
        pytest.raises(BadInput, match=sentence),
    ):
        collect(QUARTER, client(server, tmp_path), tmp_path / "q.parquet")


def test_a_killed_run_continues_and_fetches_no_page_twice(tmp_path):
    pages = small_quarter(2020, 1, 30)
    with serving(pages, 10_000) as server:
        server.hung = submission_path(1012, "0000000012-20-000001")
        job = start_job(server, tmp_path, 2020, per_second=500)
        go(job)
        assert server.noticed.wait(30), "the job never came to the page that hangs"
        job.kill()
        assert job.wait(10) == -9
        assert not (tmp_path / "2020.parquet").exists()
        before = server.answered()
        assert 2 <= len(before) < len(pages)
        server.hung = ""
        report = collect(QUARTER, client(server, tmp_path), tmp_path / "q.parquet")
        assert server.answered()[: len(before)] == before
        assert sorted(server.answered()) == sorted(pages)
        # A second run sends no request.
        collect(QUARTER, client(server, tmp_path), tmp_path / "q.parquet")
        assert len(server.log) == len(pages)
    assert (report["contracts"], report["faults"]) == (30, {})


def test_only_one_filing_is_in_memory_at_a_time(tmp_path):
    accessions = [f"{n:010d}-20-000001" for n in range(24)]
    body = "The parties agree. " * 20_000
    pages = quarter_of(
        *(
            (
                a,
                "8-K",
                "2020-01-02",
                submission(a, document("8-K", 1, body), document("EX-10.1", 2, body)),
            )
            for a in accessions
        )
    )
    peaks = []
    with serving(pages, 10_000) as server:
        cache = client(server, tmp_path)
        for path in pages:
            cache.fetch(path)
        chosen = filings(cache.lines(QUARTER.path), ["8-K"], "master.idx", Faults())
        for some in (chosen[:3], chosen):
            tracemalloc.start()
            assert sum(1 for _ in contracts(some, cache, ["EX-10"], Faults())) == len(
                some
            )
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


# The index


def read_index(page, forms=("8-K",)):
    faults = Faults()
    return filings(
        page.splitlines(keepends=True), forms, "master.idx", faults
    ), faults.record()


def test_filings_of_the_chosen_forms_are_returned_once_and_in_order():
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
    found, faults = read_index(page)
    assert [(f.accession, f.cik, f.filer, f.co_filers) for f in found] == [
        ("0000000001-20-000009", 3, "EARLY CO", ()),
        ("0000000002-20-000001", 5, "FIRST FILER", (6, 7)),
        ("0000000009-20-000001", 9, "LATE CO", ()),
    ]
    assert found[1].path == "edgar/data/5/0000000002-20-000001.txt"
    assert faults == {}


EIGHT = row(7, "ACME CORP", "8-K", "2020-01-02", "0000000007-20-000001")
ANNUAL = row(7, "ACME CORP", "10-K", "2020-01-03", "0000000007-20-000002")


@pytest.mark.parametrize("form", ["10K", "10-k", "10\u2011K", " 10 \u2212 K"])
def test_a_form_that_the_index_spells_otherwise_raises(form):
    with pytest.raises(BadInput) as error:
        read_index(index_page([EIGHT, ANNUAL]), (form, "8-K"))
    assert str(error.value) == (
        f"edgar_forms: no filing has the form {form!r}, but some have '10-K'; "
        f"write '10-K', or both if other quarters have {form!r}."
    )


def test_a_form_that_no_filing_has_is_counted():
    # 10-K is configured too, and 10-KT and 10-K/A are other forms.
    forms = ("10K", "10-K", "10-KT", "10-K/A")
    found, faults = read_index(index_page([EIGHT, ANNUAL]), forms)
    assert [filing.form for filing in found] == ["10-K"]
    sentences = faults.pop("form")["sentences"]
    assert not faults
    assert sentences == [
        f"master.idx: no filing has the form {form!r}."
        for form in ("10-K/A", "10-KT", "10K")
    ]


def test_an_exhibit_type_that_no_contract_has_is_counted(tmp_path):
    accession = "0000000007-20-000001"
    page = submission(accession, document("EX-10.1", 2, "A LEASE"))
    with serving(quarter_of((accession, "8-K", "2020-01-02", page)), 1000) as server:
        report = collect(
            QUARTER,
            client(server, tmp_path),
            tmp_path / "q.parquet",
            exhibits=["EX-010", "EX-10"],
        )
    assert report["faults"]["exhibit type"]["sentences"] == [
        f"{server.base}{QUARTER.path}: no contract has the type EX-010."
    ]


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
def test_an_invalid_line_is_counted_and_the_rest_is_kept(line):
    good = row(5, "CAFÉ", "8-K", "2020-01-02", "0000000002-20-000001")
    found, faults = read_index(index_page([line, good]).replace("É".encode(), b"\xc9"))
    assert [f.filer for f in found] == ["CAFÉ"]
    assert faults["index line"]["count"] == 1
    assert faults["index line"]["sentences"][0].startswith(
        "master.idx, row 7: the line does not parse ('"
    )


def test_a_page_that_is_not_an_index_is_rejected():
    with pytest.raises(BadInput, match="not an index of EDGAR"):
        read_index(b"Form Type   Company Name\n")


def test_quarters_are_parsed_with_their_path_and_days():
    assert quarter("2020-QTR1", date(2020, 4, 1)) == Quarter(2020, 1)
    assert Quarter(2020, 1).path == "edgar/full-index/2020/QTR1/master.idx"
    assert [Quarter(2020, n).last_day.isoformat()[5:] for n in (1, 2, 3, 4)] == [
        "03-31",
        "06-30",
        "09-30",
        "12-31",
    ]
    assert [Quarter(2020, n).first_day.isoformat()[5:] for n in (1, 2, 3, 4)] == [
        "01-01",
        "04-01",
        "07-01",
        "10-01",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "1992-QTR4",
            "edgar_quarters: EDGAR has no 1992-QTR4; choose quarters from 1993-QTR1 on.",
        ),
        (
            "2020-QTR2",
            "edgar_quarters: 2020-QTR2 is not over; choose quarters that have ended.",
        ),
    ],
)
def test_an_invalid_or_unavailable_quarter_raises(text, sentence):
    with pytest.raises(BadInput) as error:
        quarter(text, date(2020, 6, 30))
    assert str(error.value) == sentence


def test_edgars_first_quarter_is_accepted():
    assert quarter("1993-QTR1", date(2020, 6, 30)) == Quarter(1993, 1)
