"""The contracts of a quarter: from the index and the submissions to rows of text."""

import hashlib
import logging
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from tqdm import tqdm

from lextables.corpora.edgar.faults import Faults
from lextables.corpora.edgar.index import FORMS, Filing, Quarter, filings
from lextables.corpora.edgar.pages import Gone, Pages
from lextables.corpora.edgar.submission import EXHIBITS, CutShort, Document, documents, in_families
from lextables.corpora.edgar.text import NoText, contract_text
from lextables.pipeline import dataset
from lextables.pipeline.dataset import Column, Row, Table
from lextables.pipeline.errors import BadInput

# Row groups are small because rows are long.
TABLE = Table(
    name="edgar_contracts",
    description="Contracts filed with EDGAR as exhibits, one row an exhibit, in the order of filing.",
    columns=(
        Column("date_filed", pa.date32(), "the day of filing, from the index"),
        Column("accession", pa.string(), "the filing's accession number, 0001234567-20-000123"),
        Column("sequence", pa.int32(), "the exhibit's number among the documents of the filing, from 1"),
        Column("cik", pa.int64(), "the filer's Central Index Key; of several filers the lowest"),
        Column("filer", pa.string(), "the filer's name, as the index spells it"),
        Column("co_filers", pa.list_(pa.int64()), "the Central Index Keys of the other filers, ascending"),
        Column("form", pa.string(), "the form type of the filing, such as 8-K"),
        Column("address", pa.string(), "the address of the full submission text that holds the exhibit"),
        Column("exhibit", pa.string(), "the exhibit type as filed, such as EX-10.1"),
        Column("filename", pa.string(), "the exhibit's file name; empty in filings before about 2001"),
        Column("description", pa.string(), "the filer's description of the exhibit; may be empty"),
        Column("format", pa.string(), "html or plain: what the text was filed as"),
        Column("text", pa.large_string(), "the text; paragraphs are separated by a blank line"),
        Column("sha256", pa.string(), "SHA-256 of the text as UTF-8, in hex: equal texts have equal ones"),
    ),
    key=("date_filed", "accession", "sequence"),
    labels=("form", "format"),
    row_group=32,
)

_log = logging.getLogger("lextables.corpora.edgar")


def collect(
    quarter: Quarter,
    pages: Pages,
    path: str | Path,
    *,
    forms: Collection[str] = FORMS,
    exhibits: Collection[str] = EXHIBITS,
    limit: int = 0,
) -> dict[str, Any]:
    """Write a quarter's contracts to ``path`` (see `TABLE`) and return what was counted.

    Takes the exhibits of the types ``exhibits`` from the filings of ``forms``; ``limit`` draws that many
    filings by the hash of their accession numbers. Memory: one filing and one row group. The same pages give
    the same bytes. Cached pages are not fetched again, so an interrupted run continues. Raises `BadInput` if
    the quarter has no index or EDGAR keeps refusing; other faults are counted and skipped.
    """
    faults = Faults()
    address = pages.address(quarter.path)
    try:
        digest = hashlib.sha256()
        chosen = filings(_hashed(pages.lines(quarter.path), digest), frozenset(forms), address, faults, limit)
    except Gone:
        raise BadInput(
            f"EDGAR has no index of {quarter}", where=address, do="choose another quarter"
        ) from None
    _announce(quarter, chosen, pages)
    characters = 0

    def counted() -> Iterator[Row]:
        nonlocal characters
        for row in contracts(_progress(chosen, quarter), pages, exhibits, faults):
            characters += len(row["text"])
            yield row

    written = dataset.write(TABLE, counted(), path)
    return {
        "quarter": str(quarter),
        "index": {"address": address, "sha256": digest.hexdigest()},
        "forms": sorted(forms),
        "exhibit_types": sorted(exhibits),
        "limit": limit,
        "filings": len(chosen),
        "contracts": written,
        "characters": characters,
        "faults": faults.record(),
    }


def contracts(
    chosen: Iterable[Filing], pages: Pages, exhibits: Collection[str], faults: Faults
) -> Iterator[Row]:
    """Yield a row of `TABLE` for each exhibit of the types ``exhibits``, in the order of the filings.

    ``faults`` counts what is dropped (``not found``, ``cut short``, ``no exhibit``, ``binary``, ``empty``)
    and what is kept with a repair (``charset``, ``sequence``).
    """
    wanted = in_families(exhibits)
    for filing in chosen:
        address, count, last = pages.address(filing.path), 0, 0
        try:
            for document in documents(pages.lines(filing.path), wanted):
                count += 1
                number = document.sequence
                if number is None or number <= last:
                    number = last + 1
                    what = f"sequence {document.sequence} after {last} is taken as {number}"
                    faults.add("sequence", f"{address}, {document.type}", what)
                last = number
                row = _row(filing, address, document, number, faults)
                if row is not None:
                    yield row
        except Gone:
            faults.add("not found", address, "the index lists the filing, but EDGAR does not have it")
            continue
        except CutShort as error:
            faults.add("cut short", address, str(error))
        if not count:
            types = ", ".join(sorted(exhibits))
            faults.add("no exhibit", address, f"the {filing.form} has no exhibit of the types {types}")


def _row(filing: Filing, address: str, document: Document, sequence: int, faults: Faults) -> Row | None:
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
    for line in lines:
        digest.update(line)
        yield line


def _announce(quarter: Quarter, chosen: Collection[Filing], pages: Pages) -> None:
    """Report, before the first request, how many filings to fetch and the minimum time."""
    missing = sum(not pages.kept(filing.path).exists() for filing in chosen)
    seconds = round(missing / pages.pace.per_second)
    least = (
        f"{seconds // 3600} h {seconds // 60 % 60} min"
        if seconds >= 3600
        else f"{seconds // 60} min {seconds % 60} s"
    )
    message = (
        f"EDGAR {quarter}: {missing:,} of {len(chosen):,} filings to fetch, "
        f"at least {least} at {pages.pace.per_second:g} requests a second over all jobs"
    )
    _log.info("%s", message)
    print(message, flush=True)


def _progress(chosen: Collection[Filing], quarter: Quarter) -> Iterator[Filing]:
    # One line per minute in the job's log.
    return iter(tqdm(chosen, f"EDGAR {quarter}", unit=" filings", mininterval=60, miniters=1))
