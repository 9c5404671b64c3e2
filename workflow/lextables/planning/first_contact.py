"""First contact: fetch every source, read it and count its rows, without a model.

Most sources can only be reached from a machine with a network, long after their readers
were written.  First contact finds out in one run which sources still have the expected
bytes: a source that fails does not stop the others.
"""

import csv
import io
import itertools
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from lextables.corpora.caselaw import fetching, ingest
from lextables.corpora.edgar.contracts import TABLE, Faults, contracts, filings, quarter
from lextables.corpora.edgar.pages import Pages
from lextables.pipeline import dataset, spreadsheet
from lextables.pipeline.dataset import Published, write_data_set
from lextables.pipeline.errors import BadInput, first_line
from lextables.registry import modules
from lextables.registry.paper import DataSet, Paper
from lextables.sources import archives
from lextables.sources.entries import UNVERIFIED, Registry, resolve
from lextables.sources.fetch import Provenance, fetch, fetched_before, mirror_file
from lextables.sources.transfer import Client

LOG = logging.getLogger(__name__)
COLUMNS = ("source", "outcome", "what")
READ = "read"
NOT_READ = "not read"
# Module of a paper's package with READERS, {file: its reader}, for files that belong to
# no data set.
MODULE = "first_contact"
EDGAR = "edgar"
CASE_LAW = "caselaw"
# Only a part of EDGAR is read: the first filings of a quarter.
EDGAR_QUARTER = "2020-QTR1"
EDGAR_FILINGS = 3

Attempt = Callable[[], str]  # reads a source and returns what it read, in words
FileReader = Callable[[Path], str]  # the same for one file


@dataclass(frozen=True)
class Outcome:
    """What became of a source: ``what`` has its counts if it was ``read``, else the
    reason.
    """

    source: str
    read: bool
    what: str

    @property
    def line(self) -> str:
        """The outcome as one line for the screen."""
        return f"{self.source}: {READ if self.read else NOT_READ}: {self.what}"


@dataclass(frozen=True)
class Files:
    """Where published files are fetched from, and the ``folder`` of the results that
    keeps them.

    ``data`` is the config key, `release` or `sample`.
    """

    registry: Registry
    folder: Path
    mirrors: Sequence[Path]
    data: str
    client: Client

    def fetch(self, name: str) -> tuple[Path, Provenance]:
        """Return a file, `<source>/<file>`, and its provenance; an earlier download is
        used again.
        """
        source, _, file = name.partition("/")
        entry = resolve(self.registry, source, file)
        destination = self.folder / name
        variants = entry.variants_for(self.data)
        provenance = None
        if not mirror_file(entry, self.mirrors, variants):
            provenance = fetched_before(entry, destination, variants)
        if provenance is None:
            provenance = fetch(
                entry,
                destination,
                mirrors=self.mirrors,
                variants=variants,
                client=self.client,
            )
        return destination, provenance


def make_contact(attempts: Mapping[str, Attempt]) -> Iterator[Outcome]:
    """Call each of ``attempts``, {source: attempt}, and yield its outcome.

    A reader may fail in any way on bytes that it never saw, so each exception is an
    outcome; its traceback is in the log.
    """
    for source, attempt in attempts.items():
        try:
            outcome = Outcome(source, True, attempt())
        except BadInput as error:
            outcome = Outcome(source, False, first_line(error))
        except Exception as error:
            LOG.exception("%s", source)
            what = f"{type(error).__name__}: {first_line(error)} (see the log)"
            outcome = Outcome(source, False, what)
        yield outcome


def to_csv(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as csv text with `COLUMNS`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for outcome in outcomes:
        what_happened = READ if outcome.read else NOT_READ
        row = [outcome.source, what_happened, outcome.what]
        writer.writerow([spreadsheet.cell(value) for value in row])
    return out.getvalue()


def attempts_of_papers(
    papers: Mapping[str, Paper], files: Files, facts: Path, folder: Path
) -> dict[str, Attempt]:
    """Return the attempts at each registered file, then at each data set of ``papers``.

    ``facts`` is `resources/facts`, and each data set is written to ``folder``, below
    its name.  Corpora have attempts of their own (`contact_case_law`, `contact_edgar`),
    and a file that was never published has none.
    """
    data_sets: dict[str, Attempt] = {}
    readers: dict[str, FileReader] = {}
    for paper_name, paper in papers.items():
        if modules.has(paper_name, MODULE):
            readers.update(modules.module(paper_name, MODULE).READERS)
        for name, entry in paper.data.items():
            package = entry.package(paper_name)
            data_set = _DataSet(name, entry, paper, package, files, facts)
            data_sets[f"data set {name}"] = data_set.attempt(folder / name)
    attempts: dict[str, Attempt] = {}
    for source, registered in files.registry.items():
        for file, entry_of_file in registered.files.items():
            name = f"{source}/{file}"
            if source not in (EDGAR, CASE_LAW) and entry_of_file.released:
                attempts[name] = _file_attempt(name, files, readers.get(name, _checked))
    return attempts | data_sets


@dataclass(frozen=True)
class _DataSet:
    """A data set to read: its entry in the registry of ``paper``, and the ``package``
    of its reader.
    """

    name: str
    entry: DataSet
    paper: Paper
    package: str
    files: Files
    facts: Path

    def attempt(self, folder: Path) -> Attempt:
        """Return the attempt that fetches its files and writes it to ``folder``."""

        def read() -> str:
            census = self._write(folder)
            return _counts(
                {table: each["rows"] for table, each in census["data"].items()}
            )

        return read

    def _write(self, folder: Path) -> dataset.JsonObject:
        """Fetch the files, and write the tables and the census; return the census."""
        paths: dict[str, list[Path]] = {}
        variants: dict[str, str] = {}
        sources = []
        # {name in the paper's entry: its files}
        file_names = self.entry.named(list(self.files.mirrors))
        for name, files in file_names.items():
            paths[name] = []
            for file in files:
                path, provenance = self.files.fetch(file)
                # Of several files the variant of the first (`Published`).
                variants.setdefault(name, provenance.variant)
                paths[name].append(path)
                sources.append(asdict(provenance))
        facts = {name: self.facts / file for name, file in self.entry.facts.items()}
        # The keys of the paper's file that the reader needs.
        given = self.paper.model_dump(mode="json", include={*self.entry.given})
        return write_data_set(
            self.name,
            reader=modules.module(self.package, "raw").read,
            tables=modules.module(self.package, "schema").TABLES[self.name],
            published=Published(paths, facts, given, variants),
            sources=sources,
            registered=self.entry.census,
            folder=folder,
        )


def _file_attempt(name: str, files: Files, reader: FileReader) -> Attempt:
    """Return the attempt that fetches a file, `<source>/<file>`, and reads it."""

    def read() -> str:
        path, provenance = files.fetch(name)
        pin = ", not pinned" if provenance.variant == UNVERIFIED else ""
        return f"{reader(path)}; {provenance.digest}{pin}"

    return read


def _checked(path: Path) -> str:
    """Return the size of a file, and how many members a zip has.

    Raises `BadInput` if a member of the zip differs from its checksum.
    """
    size = f"{path.stat().st_size:,} bytes"
    if path.suffix != ".zip":
        return size
    with archives.opened(path) as archive:
        damaged = archive.testzip()
        if damaged:
            raise BadInput(f"its member {damaged} is damaged", where=path.name)
        return f"{size}, {len(archive.namelist()):,} members"


def contact_case_law(volume: str, source: fetching.Source, folder: Path) -> Attempt:
    """Return the attempt to fetch one volume and to write its opinions to
    ``folder``.
    """

    def read() -> str:
        record = fetching.fetch_volumes([volume], source, skip=False)
        volumes = ingest.paths(record, source.folder)
        folder.mkdir(parents=True, exist_ok=True)
        done = ingest.write_opinions(
            volumes, folder / "opinions.parquet", skip_unreadable=False
        )
        return f"volume {volume}: {_counts({'opinions': done.opinions})}"

    return read


def contact_edgar(
    pages: Callable[[], Pages],
    folder: Path,
    forms: Collection[str],
    exhibits: Collection[str],
) -> Attempt:
    """Return the attempt to read the index of a quarter and the contracts of its first
    filings.

    ``pages`` opens the archive; it raises `BadInput` without a contact.
    """

    def read() -> str:
        archive = pages()
        chosen_quarter = quarter(EDGAR_QUARTER, date.today())
        address = archive.address(chosen_quarter.path)
        faults = Faults()
        lines = archive.lines(chosen_quarter.path)
        listed = filings(lines, frozenset(forms), address, faults)
        first = itertools.islice(listed, EDGAR_FILINGS)
        folder.mkdir(parents=True, exist_ok=True)
        rows = contracts(first, archive, exhibits, faults)
        written = dataset.write(TABLE, rows, folder / "contracts.parquet")
        counts = {f"filings of {chosen_quarter} in the index": len(listed)}
        return _counts(counts | {f"contracts in {EDGAR_FILINGS} of them": written})

    return read


def _counts(counts: Mapping[str, int]) -> str:
    """Return counts as text: ``57 queries, 3 documents``."""
    return ", ".join(f"{number:,} {name}" for name, number in counts.items())
