"""Opinions of one volume, streamed: a static.case.law zip, or a file of the former bulk
export.
"""

import codecs
import re
import zipfile
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from lzma import LZMAError
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

import orjson

from lextables.corpora.caselaw import casebody
from lextables.corpora.caselaw.case import (
    LONGEST_LABEL,
    Case,
    CaseKey,
    Unreadable,
    checked,
)
from lextables.corpora.caselaw.casebody import CONTROL, Casebody
from lextables.corpora.caselaw.opinion import MAJORITY, Fault, Opinion, Page
from lextables.pipeline.errors import BadInput
from lextables.sources.archives import (
    BOUNDS,
    Bounds,
    OverBounds,
    check_volume,
    lines,
    read_member,
)
from lextables.sources.records import whole_number

METADATA = "metadata/CasesMetadata.json"
VOLUME_METADATA = "metadata/VolumeMetadata.json"
# Repeated or misprinted labels are dropped; above this share of them, all pages are.
MISPRINTS = 0.25
MOST_OPINIONS = 1000  # of a case; a real one has a few dozen at most
DAMAGE = (zipfile.BadZipFile, LZMAError, EOFError, OSError)
_CITATION = re.compile(r"(\d+) (.+) (\S+)")


def read_volume(
    path: str | Path, bounds: Bounds = BOUNDS, seen: dict[int, str] | None = None
) -> Iterator[Opinion | Fault]:
    """Yield the opinions of a volume in order, and a `Fault` for each fault in it.

    A ``.zip`` is a volume of static.case.law (metadata/CasesMetadata.json, html/);
    ``.jsonl`` and ``.jsonl.xz`` are the former bulk export (one case per line, its body
    in XML).  A case whose id is in ``seen`` is left out; the ids of the others are
    added to it, with their places.  Memory: one case, the volume's metadata and
    ``seen``.  A fault that loses the volume is the last item; opinions yielded before
    it must not be used.
    """
    path = Path(path)
    seen = {} if seen is None else seen
    if path.suffix == ".zip":
        yield from _read_zip(path, bounds, seen)
    elif path.suffix == ".jsonl" or path.name.endswith(".jsonl.xz"):
        yield from _read_bulk(path, bounds, seen)
    else:
        what = "it is neither .zip nor .jsonl nor .jsonl.xz"
        yield Fault(path.name, "", what, "volume")


def case_ids(path: str | Path, bounds: Bounds = BOUNDS) -> set[int]:
    """Return the ids of the valid cases of a volume, a zip; raises `BadInput` as
    `bodies` does.
    """
    with _unreadable(path), zipfile.ZipFile(path) as archive:
        return ids_of(_Members(archive, bounds).read(METADATA))


def other_volume(path: str | Path, number: str, bounds: Bounds = BOUNDS) -> str:
    """Return which volume a zip is by its own metadata if its number is not ``number``;
    else "".

    Only plain numbers are compared.  A zip without these metadata, or that cannot be
    read, gives "".
    """
    about: Any = {}
    with (
        suppress(*DAMAGE, OverBounds, Unreadable, KeyError, ValueError),
        zipfile.ZipFile(path) as archive,
    ):
        about = orjson.loads(_Members(archive, bounds).read(VOLUME_METADATA))
    if not isinstance(about, dict):
        return ""
    stated = str(about.get("volume_number"))
    if not (stated.isdecimal() and number.isdecimal()) or int(stated) == int(number):
        return ""
    return f"volume {stated} of {about.get('title')}"


def ids_of(metadata: bytes) -> set[int]:
    """Return the ids of the valid cases in a CasesMetadata.json; raises
    `Unreadable`.
    """
    ids = set()
    for case in _cases(metadata):
        with suppress(Unreadable):
            ids.add(checked(CaseKey, case).id)
    return ids


def bodies(
    path: str | Path, selected: Set[int], bounds: Bounds = BOUNDS
) -> Iterator[tuple[CaseKey, str]]:
    """Yield key and body (HTML; XML of the bulk export) of the ``selected`` cases that
    are in a volume.

    A case whose key is invalid, or whose text is missing or damaged, is skipped:
    `read_volume` reports it.  Raises `BadInput` for a volume that cannot be read.
    """
    path = Path(path)
    with _unreadable(path):
        if path.suffix != ".zip":
            yield from _bulk_bodies(path, selected, bounds)
            return
        with zipfile.ZipFile(path) as archive:
            members = _Members(archive, bounds)
            for case in _cases(members.read(METADATA)):
                with suppress(Unreadable, KeyError, zipfile.BadZipFile, OverBounds):
                    key = checked(CaseKey, case)
                    if key.id in selected:
                        html = members.read(f"html/{case['file_name']}.html")
                        yield key, _decoded(html)


def _bulk_bodies(
    path: Path, selected: Set[int], bounds: Bounds
) -> Iterator[tuple[CaseKey, str]]:
    """Yield key and XML of the ``selected`` cases of a file of the bulk export."""
    for line in lines(path, bounds):
        with suppress(Unreadable):
            record = _parsed(line)
            key = checked(CaseKey, record)
            if key.id in selected:
                yield key, _bulk_body(record)


@contextmanager
def _unreadable(path: str | Path) -> Iterator[None]:
    """Raise `BadInput` for any error that says that a volume cannot be read."""
    try:
        yield
    except (*DAMAGE, OverBounds, Unreadable, KeyError) as error:
        raise BadInput(
            f"the volume cannot be read ({error!r})",
            where=str(path),
            do="fetch it again",
        ) from error


class _Members:
    """The members of a volume's zip, by their names in the release.

    A zip that was packed again may have a folder on top, backslashes or capital letters
    in its names. Raises `OverBounds`, and `Unreadable` if several folders could be the
    top.
    """

    def __init__(self, archive: zipfile.ZipFile, bounds: Bounds) -> None:
        """Find the top folder; raise `OverBounds` for a volume that is too large."""
        check_volume(archive, bounds)
        self._archive = archive
        self._bounds = bounds
        self._paths = {}
        tops = []
        end = f"/{METADATA.lower()}"
        for name in archive.namelist():
            path = "/" + name.replace("\\", "/").lower()
            self._paths[path] = name
            if path.endswith(end):
                tops.append(path.removesuffix(end))
        if len(tops) > 1 and "" not in tops:
            raise Unreadable(f"it holds {len(tops)} files of this name")
        self._top = min(tops, default="")

    def read(self, name: str) -> bytes:
        """Return the bytes of a member; errors as in `read_member`."""
        path = self._paths[f"{self._top}/{name.lower()}"]
        return read_member(self._archive, path, self._bounds)

    def texts(self) -> list[str]:
        """Return the names of the texts of cases, in small letters, without those of
        macOS.
        """
        folder = f"{self._top}/html/"
        texts = []
        for path in self._paths:
            name = path.removeprefix(folder)
            if name != path and name.endswith(".html") and not name.startswith("._"):
                texts.append(f"html/{name}")
        return texts


def _cases(metadata: bytes) -> list[Any]:
    cases = _parsed(metadata)
    if not isinstance(cases, list):
        raise Unreadable("it is not a list of cases")
    return cases


def _read_zip(
    path: Path, bounds: Bounds, seen: dict[int, str]
) -> Iterator[Opinion | Fault]:
    """Yield opinions and faults of a zip of static.case.law."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = _Members(archive, bounds)
            cases = _cases(members.read(METADATA))
            if not cases:
                yield Fault(path.name, METADATA, "it lists no case", "nothing")
            listed: set[str] = set()
            for number, metadata in enumerate(cases, 1):
                yield from _zip_case(path, members, metadata, number, seen, listed)
            for text in members.texts():
                if text not in listed:
                    what = f"no case in {METADATA} has this file"
                    yield Fault(path.name, text, what, "case")
    except KeyError:
        yield Fault(path.name, "", f"it holds no {METADATA}", "volume")
    except (zipfile.BadZipFile, OSError) as error:
        yield Fault(path.name, "", f"it cannot be unzipped ({error})", "volume")
    except Unreadable as error:
        yield Fault(path.name, METADATA, str(error), "volume")
    except OverBounds as error:
        yield Fault(path.name, "", str(error), "volume")


def _zip_case(
    path: Path,
    members: _Members,
    metadata: Any,
    number: int,
    seen: dict[int, str],
    listed: set[str],
) -> Iterator[Opinion | Fault]:
    """Yield the opinions and faults of one case; ``number`` is its place in the
    metadata.

    The name of its text, in small letters, is added to ``listed``, those of the cases
    before it.
    """
    name = metadata.get("file_name") if isinstance(metadata, dict) else None
    if not isinstance(name, str):
        yield Fault(path.name, f"{METADATA}, case {number}", "it names no file", "case")
        return
    where = f"html/{name}.html"
    case = _new_case(path, where, metadata, seen)
    is_repeated = where.lower() in listed
    listed.add(where.lower())
    if isinstance(case, Fault):
        yield case
        return
    if is_repeated:
        what = "its file is also that of an earlier case"
        yield Fault(path.name, _with_id(where, metadata), what, "case")
        return
    try:
        text, faults = _cleaned(_decoded(members.read(where)))
        body = casebody.from_html(text)
    except KeyError:
        yield Fault(path.name, where, "the file is missing", "case")
    except zipfile.BadZipFile as error:
        yield Fault(path.name, where, f"the file is damaged ({error})", "case")
    except (OverBounds, Unreadable) as error:
        yield Fault(path.name, where, str(error), "case")
    else:
        yield from (Fault(path.name, where, what, "nothing") for what in faults)
        yield from _opinions(path, where, case, body, seen)


def _new_case(
    path: Path, where: str, metadata: Any, seen: dict[int, str]
) -> Case | Fault:
    """The checked metadata of a case, or the fault for which it is left out."""
    try:
        case = checked(Case, metadata)
    except Unreadable as error:
        return Fault(path.name, _with_id(where, metadata), str(error), "case")
    if case.id in seen:
        what = f"its id is also that of {seen[case.id]}"
        return Fault(path.name, _with_id(where, metadata), what, "case")
    return case


def _with_id(where: str, metadata: Any) -> str:
    """The place of a case with its id, if it has one."""
    if isinstance(metadata, dict) and type(metadata.get("id")) is int:
        return f"{where}, case {metadata['id']}"
    return where


def _read_bulk(
    path: Path, bounds: Bounds, seen: dict[int, str]
) -> Iterator[Opinion | Fault]:
    """Yield opinions and faults of a file of the bulk export."""
    try:
        for number, line in enumerate(lines(path, bounds), 1):
            if line.strip():
                yield from _bulk_case(path, f"row {number}", line, seen)
    except (LZMAError, EOFError, OSError) as error:
        yield Fault(path.name, "", f"it cannot be decompressed ({error})", "volume")
    except OverBounds as error:
        yield Fault(path.name, "", str(error), "volume")


def _bulk_case(
    path: Path, where: str, line: bytes, seen: dict[int, str]
) -> Iterator[Opinion | Fault]:
    """Yield the opinions and faults of one row of the bulk export."""
    try:
        record = _parsed(line)
        text, faults = _cleaned(_bulk_body(record))
        parsed = casebody.from_xml(text)
    except Unreadable as error:
        yield Fault(path.name, where, str(error), "case")
        return
    case = _new_case(path, where, record, seen)
    if isinstance(case, Fault):
        yield case
        return
    yield from (Fault(path.name, where, what, "nothing") for what in faults)
    yield from _opinions(path, where, case, parsed, seen)


def _bulk_body(record: Any) -> str:
    """The XML of a row of the bulk export."""
    try:
        body = record["casebody"]
        if body["status"] != "ok":
            raise Unreadable(
                f"its text was not released (status {shortened(body['status'])})"
            )
        if not isinstance(body["data"], str):
            raise TypeError("data is no text")
    except (KeyError, TypeError) as error:
        what = f"it has another layout than the bulk export ({error!r})"
        raise Unreadable(what) from error
    return body["data"]


def _parsed(raw: bytes) -> Any:
    try:
        return orjson.loads(raw.removeprefix(codecs.BOM_UTF8))
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"its JSON cannot be parsed ({error})") from error


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"it is not UTF-8 ({error.reason} at byte {error.start})"
        raise Unreadable(what) from error


def _cleaned(text: str) -> tuple[str, list[str]]:
    """The text with control characters replaced by spaces, and a message if there were
    any.
    """
    text, count = CONTROL.subn(" ", text)
    if not count:
        return text, []
    if count == 1:
        return text, ["1 control character was made a space"]
    return text, [f"{count} control characters were made spaces"]


def _fault_of(body: Casebody) -> str:
    """Why a case with this body is left out, or empty."""
    if not any(part.text for part in body.parts):
        return "it has no opinion"
    opinions = len(body.parts)
    if opinions > MOST_OPINIONS:
        return f"it has {opinions:,} opinions"
    longest = len(body.head_page)
    for part in body.parts:
        for page in part.pages:
            longest = max(longest, len(page.label))
    if longest > LONGEST_LABEL:
        return f"a page label has {longest:,} characters"
    return ""


def _opinions(
    path: Path, where: str, case: Case, body: Casebody, seen: dict[int, str]
) -> Iterator[Opinion | Fault]:
    """Yield the opinions of a valid case, and a `Fault` for what is dropped or
    unusual.
    """
    why = _fault_of(body)
    if why:
        yield Fault(path.name, where, why, "case")
        return
    seen[case.id] = f"{path.parent.name}/{path.name}, {where}"
    majorities = sum(part.kind == MAJORITY for part in body.parts)
    if majorities > 1:
        what = f"it has {majorities} majority opinions, so none serves as a premise"
        yield Fault(path.name, where, what, "nothing")
    has_pages = case.first_page == case.last_page or bool(body.head_page)
    has_pages = has_pages or any(part.pages for part in body.parts)
    if not has_pages:
        yield Fault(path.name, where, "it spans several pages and labels none", "pages")
    columns = _columns(case)
    # The label of the page on which the text before the next opinion ends.
    running = body.head_page or casebody.page_label(case.first_page)
    for position, part in enumerate(body.parts):
        if not part.text:
            continue
        pages, strays = _in_order(part.pages)
        place = f"{where}, opinion {position}"
        if len(strays) > MISPRINTS * len(part.pages):
            yield Fault(path.name, place, "its pages are out of order", "pages")
            pages = ()
        elif has_pages:
            if strays:
                what = f"page label {', '.join(strays)} is out of order and is dropped"
                yield Fault(path.name, place, what, "nothing")
            pages = _from_start(pages, running)
        if part.pages:
            running = (pages or part.pages)[-1].label
        yield Opinion(
            **columns,
            position=position,
            opinion_type=part.kind,
            author=part.author,
            majorities=majorities,
            text=part.text,
            pages=pages,
            body_end=part.body_end,
        )


def _columns(case: Case) -> dict[str, Any]:
    """The columns that all opinions of a case share."""
    # The official citation is the one whose volume this is, so its pages are the
    # labelled ones.
    ordered = sorted(case.citations, key=lambda citation: citation.type != "official")
    cites = [" ".join(citation.cite.split()) for citation in ordered]
    citations = tuple(dict.fromkeys(cites))
    volume = reporter = ""
    parts = _CITATION.fullmatch(citations[0]) if citations else None
    if parts:
        volume = parts[1]
        reporter = parts[2]
    return {
        "case_id": case.id,
        "citations": citations,
        "name": " ".join(case.name.split()),
        "name_abbreviation": " ".join(case.name_abbreviation.split()),
        "court": case.court.name,
        "jurisdiction": case.jurisdiction.name_long,
        "date": case.decision_date,
        "reporter": reporter,
        "volume": volume,
        "first_page": case.first_page,
        "last_page": case.last_page,
    }


def _in_order(pages: tuple[Page, ...]) -> tuple[tuple[Page, ...], list[str]]:
    """The pages without the numbered labels that break their order, and those labels.

    Keeps the longest ascending run of labels, so that a misprint removes only one
    label.
    """
    numbers = {}
    for at, page in enumerate(pages):
        number = whole_number(page.label)
        if number is not None:
            numbers[at] = number
    ordered = _longest_ascending(numbers)
    ordered_pages = []
    dropped = []
    for at, page in enumerate(pages):
        if at in numbers and at not in ordered:
            dropped.append(page.label)
        else:
            ordered_pages.append(page)
    return tuple(ordered_pages), dropped


def _longest_ascending(numbers: Mapping[int, int]) -> set[int]:
    """Return the places in the longest ascending run of ``numbers``, {place: number}.

    Of a repeated number the first counts.
    """
    ends: list[int] = []  # the lowest number that ends a run of each length
    places: list[int] = []  # and its place
    previous: dict[int, int | None] = {}  # {place: the place before it in its run}
    for at, number in numbers.items():
        length = bisect_left(ends, number)
        previous[at] = places[length - 1] if length else None
        if length < len(ends) and ends[length] == number:
            continue
        ends[length : length + 1] = [number]
        places[length : length + 1] = [at]
    run: set[int] = set()
    place = places[-1] if places else None
    while place is not None:
        run.add(place)
        place = previous[place]
    return run


def _from_start(pages: tuple[Page, ...], running: str) -> tuple[Page, ...]:
    """Put the page on which the opinion starts before the labels in it.

    That page is one less than the first label; without a label, the page still running
    when the opinion starts.
    """
    first = ""
    before = running
    if pages:
        if pages[0].offset == 0:
            return pages
        first = pages[0].label
        number = whole_number(first)
        if number:
            before = str(number - 1)
    if before in ("", first):
        return pages
    return Page(before, 0), *pages
