"""The contracts of a quarter: from EDGAR's full index and the submissions to rows of
text.

The index is read from ``master.idx``, whose five fields are separated by bars.  The
columns of ``form.idx`` have changed width over the years and run together when a name
is long.
"""

import hashlib
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from tqdm import tqdm

from lextables.corpora.edgar.exhibits import NoText, contract_text
from lextables.corpora.edgar.pages import Gone, Pages
from lextables.corpora.edgar.submission import (
    CutShort,
    Document,
    decoded,
    documents,
    in_families,
)
from lextables.pipeline import dataset
from lextables.pipeline.dataset import Column, Row, Table
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.sources.records import whole_number

SHOWN = 20  # errors of a kind that are listed in the report
OTHER_PAGE = "check edgar_base, and remove the cached page"

_HEADER = "CIK|Company Name|Form Type|Date Filed|File"
_SUBMISSION = re.compile(r"edgar/data/\d{1,10}/(\d{10}-\d{2}-\d{6})\.txt")

# Row groups are small because rows are long.
TABLE = Table(
    name="edgar_contracts",
    description="Contracts filed with EDGAR as exhibits, one row an exhibit, in the order of filing.",
    columns=(
        Column("date_filed", pa.date32(), "the day of filing, from the index"),
        Column(
            "accession",
            pa.string(),
            "the filing's accession number, 0001234567-20-000123",
        ),
        Column(
            "sequence",
            pa.int32(),
            "the exhibit's number among the documents of the filing, from 1",
        ),
        Column(
            "cik",
            pa.int64(),
            "the filer's Central Index Key; of several filers the lowest",
        ),
        Column("filer", pa.string(), "the filer's name, as the index spells it"),
        Column(
            "co_filers",
            pa.list_(pa.int64()),
            "the Central Index Keys of the other filers, ascending",
        ),
        Column("form", pa.string(), "the form type of the filing, such as 8-K"),
        Column(
            "address",
            pa.string(),
            "the address of the full submission text that holds the exhibit",
        ),
        Column("exhibit", pa.string(), "the exhibit type as filed, such as EX-10.1"),
        Column(
            "filename",
            pa.string(),
            "the exhibit's file name; empty in filings before about 2001",
        ),
        Column(
            "description",
            pa.string(),
            "the filer's description of the exhibit; may be empty",
        ),
        Column("format", pa.string(), "html or plain: what the text was filed as"),
        Column(
            "text",
            pa.large_string(),
            "the text; paragraphs are separated by a blank line",
        ),
        Column(
            "sha256",
            pa.string(),
            "SHA-256 of the text as UTF-8, in hex: equal texts have equal ones",
        ),
        Column(
            "same_as",
            pa.string(),
            "accession number and sequence of the quarter's first exhibit with the same text, "
            "0001234567-20-000123/2; empty for the first",
        ),
    ),
    key=("date_filed", "accession", "sequence"),
    labels=("form", "format"),
    row_group=32,
)

_log = logging.getLogger("lextables.corpora.edgar")


class Faults:
    """Errors that do not stop a run, counted by kind; all go to the log, the first
    `SHOWN` to the report.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.sentences: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, kind: str, where: str, what: str) -> None:
        """Count and log an error of ``kind``."""
        sentence = f"{where}: {what}."
        self.counts[kind] += 1
        if self.counts[kind] <= SHOWN:
            self.sentences[kind].append(sentence)
        _log.info("%s: %s", kind, sentence)

    def record(self) -> JsonObject:
        """``{kind: {"count": n, "sentences": [the first ones]}}``, kinds in
        alphabetical order.
        """
        return {
            kind: {"count": self.counts[kind], "sentences": self.sentences[kind]}
            for kind in sorted(self.counts)
        }


@dataclass(frozen=True, order=True)
class Quarter:
    """A quarter of a year, written ``2020-QTR1``."""

    year: int
    number: int

    def __str__(self) -> str:
        return f"{self.year}-QTR{self.number}"

    @property
    def path(self) -> str:
        """Where the index lies below the archive's base address."""
        return f"edgar/full-index/{self.year}/QTR{self.number}/master.idx"

    @property
    def first_day(self) -> date:
        """The quarter's first day."""
        return date(self.year, self.number * 3 - 2, 1)

    @property
    def last_day(self) -> date:
        """The quarter's last day."""
        after = date(self.year + self.number // 4, self.number % 4 * 3 + 1, 1)
        return after - timedelta(days=1)


def quarter(text: str, today: date) -> Quarter:
    """Return the quarter that is written ``2020-QTR1``.

    Raises `BadInput` for a quarter before EDGAR's first, and one that is not over on
    ``today``: its index still grows, so the same run would give other contracts
    tomorrow.
    """
    year, number = text.split("-QTR")
    parsed = Quarter(int(year), int(number))
    if parsed < FIRST:
        do = f"choose quarters from {FIRST} on"
        raise BadInput(f"EDGAR has no {parsed}", where="edgar_quarters", do=do)
    if parsed.last_day >= today:
        do = "choose quarters that have ended"
        raise BadInput(f"{parsed} is not over", where="edgar_quarters", do=do)
    return parsed


FIRST = Quarter(1993, 1)


@dataclass(frozen=True, order=True)
class Filing:
    """One filing; filings sort by date, then accession number.

    ``path`` is that of the full submission text below the archive's base address.  A
    filing of several companies has a line for each in the index, all with one text:
    ``cik`` and ``filer`` are the lowest-numbered company's, ``co_filers`` the other
    CIKs in ascending order.
    """

    date_filed: date
    accession: str
    cik: int
    filer: str
    form: str
    path: str
    co_filers: tuple[int, ...] = ()


def filings(
    lines: Iterable[bytes], forms: Collection[str], where: str, faults: Faults
) -> list[Filing]:
    """Return the filings of ``forms`` in an index, each once, by date and accession
    number.

    A line that does not parse is counted as ``index line``, and one of ``forms`` that
    no filing has as ``form``.  Raises `BadInput` if ``lines`` have no index header, and
    for a form that the index spells otherwise.
    """
    by_accession: dict[str, Filing] = {}
    filed_forms = set()
    started = False
    for row, raw in enumerate(lines, 1):
        line = decoded(raw).strip()
        if not started or not line or not line.strip("-"):
            started = started or line.startswith(_HEADER)
            continue
        filing = _filing(line)
        if filing is None:
            what = f"the line does not parse ({line[:80]!r})"
            faults.add("index line", f"{where}, row {row}", what)
            continue
        filed_forms.add(filing.form)
        if filing.form in forms:
            other = by_accession.get(filing.accession, filing)
            by_accession[filing.accession] = _merged(other, filing)
    if not started:
        what = "the page is not an index of EDGAR"
        raise BadInput(what, where=where, do=OTHER_PAGE)
    for form in sorted(set(forms) - filed_forms):
        _check_spelling(form, filed_forms.difference(forms))
        faults.add("form", where, f"no filing has the form {form!r}")
    return sorted(by_accession.values())


def _check_spelling(form: str, others: Collection[str]) -> None:
    """Raise `BadInput` if one of the ``others`` is a form but for case, dashes and
    spaces.
    """
    for other in sorted(others):
        if _without_dashes(other) == _without_dashes(form):
            # Some forms have had two names: 10-KSB and 10KSB.
            do = f"write {other!r}, or both if other quarters have {form!r}"
            what = f"no filing has the form {form!r}, but some have {other!r}"
            raise BadInput(what, where="edgar_forms", do=do)


def _without_dashes(form: str) -> str:
    """Return a form's letters, digits and slashes in lower case."""
    return "".join(sign for sign in form.lower() if sign.isalnum() or sign == "/")


def _check_days(chosen: Sequence[Filing], quarter: Quarter, where: str) -> None:
    """Raise `BadInput` if the filings of an index are all of other quarters."""
    days = [filing.date_filed for filing in chosen]
    if days and not any(quarter.first_day <= day <= quarter.last_day for day in days):
        what = f"the index has filings of {min(days)} to {max(days)}, none of {quarter}"
        raise BadInput(what, where=where, do=OTHER_PAGE)


def _filing(line: str) -> Filing | None:
    """Return the filing of a line of the index; None if it does not parse."""
    try:
        cik, filer, form, filed, path = map(str.strip, line.split("|"))
        filed_on = date.fromisoformat(filed)
    except ValueError:
        return None
    submission = _SUBMISSION.fullmatch(path)
    number = whole_number(cik, digits=10)
    if submission is None or number is None or not form:
        return None
    return Filing(filed_on, submission[1], number, filer, form, path)


def _merged(a: Filing, b: Filing) -> Filing:
    """Return one filing of two lines of the index, with the companies of both."""
    first = min(a, b, key=lambda filing: filing.cik)
    filers = {a.cik, b.cik, *a.co_filers, *b.co_filers}
    return replace(first, co_filers=tuple(sorted(filers - {first.cik})))


def collect(
    quarter: Quarter,
    pages: Pages,
    path: str | Path,
    *,
    forms: Collection[str],
    exhibits: Collection[str],
) -> JsonObject:
    """Write a quarter's contracts to ``path`` (see `TABLE`) and return what was
    counted.

    Takes the exhibits of the types ``exhibits`` from the filings of ``forms``, which
    must match completely: "8-K" is not "8-K/A".  Memory: one filing and one row group.
    The same pages give the same bytes.  Cached pages are not fetched again, so an
    interrupted run continues.  Raises `BadInput` if the quarter has no index, if EDGAR
    keeps refusing, or if the index spells one of ``forms`` otherwise; other faults are
    counted and skipped, and so are forms and types that no filing has.
    """
    faults = Faults()
    address = pages.address(quarter.path)
    digest = hashlib.sha256()
    try:
        lines = _hashed(pages.lines(quarter.path), digest)
        chosen = filings(lines, frozenset(forms), address, faults)
    except Gone:
        what = f"EDGAR has no index of {quarter}"
        raise BadInput(what, where=address, do="choose another quarter") from None
    _check_days(chosen, quarter, address)
    _announce(quarter, chosen, pages)
    characters = 0
    types: set[str] = set()

    def counted() -> Iterator[Row]:
        """Yield the rows; count the characters of their texts, and note their types."""
        nonlocal characters
        for row in contracts(_progress(chosen, quarter), pages, exhibits, faults):
            characters += len(row["text"])
            types.add(row["exhibit"])
            yield row

    written = dataset.write(TABLE, counted(), path)
    for family in sorted(exhibits):
        if not any(map(in_families([family]), types)):
            faults.add("exhibit type", address, f"no contract has the type {family}")
    return {
        "quarter": str(quarter),
        "index": {"address": address, "sha256": digest.hexdigest()},
        "forms": sorted(forms),
        "exhibit_types": sorted(exhibits),
        "filings": len(chosen),
        "contracts": written,
        "characters": characters,
        "faults": faults.record(),
    }


def contracts(
    chosen: Iterable[Filing], pages: Pages, exhibits: Collection[str], faults: Faults
) -> Iterator[Row]:
    """Yield a row of `TABLE` for each exhibit of the types ``exhibits``, in the order
    of the filings.

    ``faults`` counts what is dropped (``not found``, ``cut short``, ``no exhibit``,
    ``binary``, ``empty``) and what is kept with a repair (``charset``, ``sequence``).
    """
    is_wanted = in_families(exhibits)
    first: dict[str, str] = {}  # {digest of a text: its first exhibit}
    for filing in chosen:
        address = pages.address(filing.path)
        count = 0
        last = 0
        try:
            for document in documents(pages.lines(filing.path), is_wanted):
                count += 1
                number = document.sequence
                if number is None or number <= last:
                    number = last + 1
                    what = f"sequence {document.sequence} after {last} is taken as {number}"
                    faults.add("sequence", f"{address}, {document.type}", what)
                last = number
                row = _row(filing, address, document, number, faults)
                if row is not None:
                    name = f"{filing.accession}/{number}"
                    earlier = first.setdefault(row["sha256"], name)
                    yield {**row, "same_as": "" if earlier == name else earlier}
        except Gone:
            what = "the index lists the filing, but EDGAR does not have it"
            faults.add("not found", address, what)
            continue
        except CutShort as error:
            faults.add("cut short", address, str(error))
        if not count:
            types = ", ".join(sorted(exhibits))
            what = f"the {filing.form} has no exhibit of the types {types}"
            faults.add("no exhibit", address, what)


def _row(
    filing: Filing, address: str, document: Document, sequence: int, faults: Faults
) -> Row | None:
    """Return the row of an exhibit; None, and a fault, if it has no text."""
    where = f"{address}, {document.type}, sequence {sequence}"
    try:
        contract = contract_text(document.body)
    except NoText as error:
        faults.add(error.kind, where, str(error))
        return None
    if contract.fault:
        faults.add("charset", where, contract.fault)
    return {
        "date_filed": filing.date_filed,
        "accession": filing.accession,
        "sequence": sequence,
        "cik": filing.cik,
        "filer": filing.filer,
        "co_filers": list(filing.co_filers),
        "form": filing.form,
        "address": address,
        "exhibit": document.type,
        "filename": document.filename,
        "description": document.description,
        "format": contract.format,
        "text": contract.text,
        "sha256": hashlib.sha256(contract.text.encode()).hexdigest(),
    }


def _hashed(lines: Iterable[bytes], digest: Any) -> Iterator[bytes]:
    """Yield the lines, and update the ``digest`` with them."""
    for line in lines:
        digest.update(line)
        yield line


def _announce(quarter: Quarter, chosen: Collection[Filing], pages: Pages) -> None:
    """Report, before the first request, how many filings to fetch and the minimum
    time.
    """
    missing = sum(not pages.cache_path(filing.path).exists() for filing in chosen)
    pace = pages.pace.per_second
    least = tqdm.format_interval(missing / pace)
    message = (
        f"EDGAR {quarter}: {missing:,} of {len(chosen):,} filings to fetch, "
        f"at least {least} at {pace:g} requests a second over all jobs"
    )
    _log.info("%s", message)
    print(message, flush=True)


def _progress(chosen: Collection[Filing], quarter: Quarter) -> Iterator[Filing]:
    """Yield the filings, and write a line of progress a minute."""
    # One line per minute in the job's log.
    return iter(
        tqdm(chosen, f"EDGAR {quarter}", unit=" filings", mininterval=60, miniters=1)
    )
