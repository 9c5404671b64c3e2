"""The quarterly full index: the filings of the chosen forms.

``master.idx`` is read because bars separate its five fields. The columns of ``form.idx`` have changed width
over the years and run together when a name is long.
"""

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta

from lextables.corpora.edgar.faults import Faults
from lextables.pipeline.errors import BadInput

# The five that the titles of CUAD's contracts name most.  S-1/A is included because
# companies that go public mostly file agreements with an amendment.  Forms must match completely: "8-K" is
# not "8-K/A".
FORMS = ("10-K", "10-Q", "8-K", "S-1", "S-1/A")
FIRST = (1993, 1)

_HEADER = "CIK|Company Name|Form Type|Date Filed|File"
_SUBMISSION = re.compile(r"edgar/data/\d{1,10}/(\d{10}-\d{2}-\d{6})\.txt")
_QUARTER = re.compile(r"(\d{4})-QTR([1-4])")


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
    def last_day(self) -> date:
        """The quarter's last day."""
        after = date(self.year + self.number // 4, self.number % 4 * 3 + 1, 1)
        return after - timedelta(days=1)


def quarter(text: str, today: date) -> Quarter:
    """Read ``2020-QTR1``.

    Raises `BadInput` for another form, a quarter before EDGAR's first, and one that is not over on ``today``:
    its index still grows, so the same run would give other contracts tomorrow.
    """
    match = _QUARTER.fullmatch(text)
    if match is None:
        raise BadInput(f"{text!r} is not a quarter", where="edgar_quarters", do="write it as 2020-QTR1")
    parsed = Quarter(int(match[1]), int(match[2]))
    if (parsed.year, parsed.number) < FIRST:
        raise BadInput(
            f"EDGAR has no {parsed}", where="edgar_quarters", do="choose quarters from 1993-QTR1 on"
        )
    if parsed.last_day >= today:
        raise BadInput(f"{parsed} is not over", where="edgar_quarters", do="choose quarters that have ended")
    return parsed


@dataclass(frozen=True, order=True)
class Filing:
    """One filing; filings sort by date, then accession number.

    ``path`` is that of the full submission text below the archive's base address.  A filing of several
    companies has a line for each in the index, all with one text: ``cik`` and ``filer`` are the
    lowest-numbered company's, ``co_filers`` the other CIKs in ascending order.
    """

    date_filed: date
    accession: str
    cik: int
    filer: str
    form: str
    path: str
    co_filers: tuple[int, ...] = ()


def filings(
    lines: Iterable[bytes], forms: Collection[str], where: str, faults: Faults, limit: int = 0
) -> list[Filing]:
    """Return the filings of ``forms`` in an index, each once, by date and accession number.

    With a ``limit``, that many filings are drawn by the hash of their accession numbers: always the same
    ones, spread over the quarter.  A line that does not parse is counted as ``index line``.  Raises
    `BadInput` if ``lines`` have no index header.
    """
    by_accession: dict[str, Filing] = {}
    started = False
    for row, raw in enumerate(lines, 1):
        line = _decoded(raw).strip()
        if not started or not line or not line.strip("-"):
            started = started or line.startswith(_HEADER)
            continue
        filing = _filing(line)
        if filing is None:
            faults.add("index line", f"{where}, row {row}", f"the line does not parse ({line[:80]!r})")
        elif filing.form in forms:
            same = by_accession.get(filing.accession)
            by_accession[filing.accession] = filing if same is None else _merged(same, filing)
    if not started:
        raise BadInput(
            "the page is not an index of EDGAR", where=where, do="check edgar_base, and remove the kept page"
        )
    chosen = sorted(
        by_accession.values(), key=lambda f: hashlib.sha256(f.accession.encode()).digest() if limit else b""
    )
    return sorted(chosen[:limit] if limit else chosen)


def _filing(line: str) -> Filing | None:
    fields = [field.strip() for field in line.split("|")]
    if len(fields) != 5:
        return None
    cik, filer, form, filed, path = fields
    address = _SUBMISSION.fullmatch(path)
    if address is None or not re.fullmatch(r"[0-9]{1,10}", cik) or not form:
        return None
    try:
        return Filing(date.fromisoformat(filed), address[1], int(cik), filer, form, path)
    except ValueError:
        return None


def _merged(left: Filing, right: Filing) -> Filing:
    first, second = sorted((left, right), key=lambda f: f.cik)
    others = {*left.co_filers, *right.co_filers, second.cik} - {first.cik}
    return replace(first, co_filers=tuple(sorted(others)))


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")
