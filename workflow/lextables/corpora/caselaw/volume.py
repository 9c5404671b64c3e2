"""Opinions of one volume, streamed: a static.case.law zip, or a file of the former bulk export."""

import re
import zipfile
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from lzma import LZMAError
from pathlib import Path
from typing import Any

import orjson

from lextables.corpora.caselaw import casebody
from lextables.corpora.caselaw.casebody import CONTROL, Casebody, Part, Unreadable
from lextables.corpora.caselaw.opinion import MAJORITY, Fault, Opinion, Page
from lextables.pipeline.errors import BadInput
from lextables.sources.archives import BOUNDS, Bounds, OverBounds, check_volume, lines, read_member

METADATA = "metadata/CasesMetadata.json"
# Repeated or misprinted labels are dropped; above this share of them, all pages are.
MISPRINTS = 0.25
DAMAGE = (zipfile.BadZipFile, LZMAError, EOFError, OSError)
_CITATION = re.compile(r"(\d+)\s+(.+?)\s+(\S+)")


def read_volume(path: str | Path, bounds: Bounds = BOUNDS) -> Iterator[Opinion | Fault]:
    """Yield the opinions of a volume in order, and a `Fault` for each fault in it.

    A ``.zip`` is a volume of static.case.law (metadata/CasesMetadata.json, html/, json/); ``.jsonl``
    and ``.jsonl.xz`` are the former bulk export (one case per line, its body in XML).  Memory: one case and
    the volume's metadata.  A fault that loses the volume is the last item; opinions yielded before it
    must not be used.
    """
    path = Path(path)
    if path.suffix == ".zip":
        yield from _read_zip(path, bounds)
    elif path.suffix == ".jsonl" or path.name.endswith(".jsonl.xz"):
        yield from _read_bulk(path, bounds)
    else:
        yield Fault(path.name, "", "it is neither .zip nor .jsonl nor .jsonl.xz", "volume")


def case_ids(path: str | Path, bounds: Bounds = BOUNDS) -> set[int]:
    """Return the ids of the cases of a volume, a zip; raises `BadInput` as `bodies` does."""
    with _unreadable(path), zipfile.ZipFile(path) as archive:
        return ids_of(read_member(archive, METADATA, bounds))


def ids_of(metadata: bytes) -> set[int]:
    """Return the ids of the cases in a CasesMetadata.json."""
    return {case["id"] for case in orjson.loads(metadata)}


def bodies(
    path: str | Path, selected: Set[int], bounds: Bounds = BOUNDS
) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield metadata and body (HTML; XML of the bulk export) of the ``selected`` cases that are in a volume.

    A case whose text is missing or damaged is skipped.  Raises `BadInput` for a volume that cannot be
    read.
    """
    path = Path(path)
    with _unreadable(path):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                check_volume(archive, bounds)
                for case in orjson.loads(read_member(archive, METADATA, bounds)):
                    if case["id"] in selected:
                        with suppress(KeyError, zipfile.BadZipFile, OverBounds, UnicodeDecodeError):
                            yield (
                                case,
                                read_member(archive, f"html/{case['file_name']}.html", bounds).decode(),
                            )
            return
        for number, line in enumerate(lines(path, bounds), 1):
            with _unreadable(f"{path}, row {number}"):
                case = orjson.loads(line) if line.strip() else {"id": None}
                if case["id"] in selected and case["casebody"]["status"] == "ok":
                    yield case, case["casebody"]["data"]


@contextmanager
def _unreadable(path: str | Path) -> Iterator[None]:
    try:
        yield
    except (*DAMAGE, OverBounds, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise BadInput(
            f"the volume cannot be read ({error!r})", where=str(path), do="fetch it again"
        ) from error


def _read_zip(path: Path, bounds: Bounds) -> Iterator[Opinion | Fault]:
    try:
        with zipfile.ZipFile(path) as archive:
            check_volume(archive, bounds)
            cases = _parsed(read_member(archive, METADATA, bounds))
            if not isinstance(cases, list):
                raise Unreadable("it is not a list of cases")
            if not cases:
                yield Fault(path.name, METADATA, "it lists no case", "nothing")
            for number, metadata in enumerate(cases, 1):
                yield from _zip_case(path.name, archive, metadata, f"{METADATA}, case {number}", bounds)
    except KeyError:
        yield Fault(path.name, "", f"it holds no {METADATA}", "volume")
    except (zipfile.BadZipFile, OSError) as error:
        yield Fault(path.name, "", f"it cannot be unzipped ({error})", "volume")
    except (OverBounds, Unreadable) as error:
        yield Fault(path.name, METADATA if isinstance(error, Unreadable) else "", str(error), "volume")


def _zip_case(
    volume: str, archive: zipfile.ZipFile, metadata: Any, where: str, bounds: Bounds
) -> Iterator[Opinion | Fault]:
    if not isinstance(metadata, dict) or not isinstance(metadata.get("file_name"), str):
        yield Fault(volume, where, "it names no file", "case")
        return
    where = f"html/{metadata['file_name']}.html"
    try:
        body, faults = _zip_body(archive, metadata["file_name"], bounds)
    except KeyError:
        yield Fault(volume, where, "the file is missing, and so is its json/ twin", "case")
    except zipfile.BadZipFile as error:
        yield Fault(volume, where, f"the file is damaged ({error})", "case")
    except (OverBounds, Unreadable) as error:
        yield Fault(volume, where, str(error), "case")
    else:
        yield from (Fault(volume, where, what, "nothing") for what in faults)
        yield from _opinions(volume, where, metadata, body)


def _zip_body(archive: zipfile.ZipFile, name: str, bounds: Bounds) -> tuple[Casebody, list[str]]:
    """The body from html/, which has the page labels, or else from json/, which has none."""
    faults: list[str] = []
    try:
        raw = read_member(archive, f"html/{name}.html", bounds)
    except KeyError:
        record = _parsed(read_member(archive, f"json/{name}.json", bounds))
        faults.append("the file is missing, so its text comes from json/")
        return _json_body(record), faults
    text, repairs = _cleaned(raw)
    return casebody.from_html(text), faults + repairs


def _json_body(record: Any) -> Casebody:
    try:
        opinions = record["casebody"]["opinions"]
        parts = []
        for opinion in opinions:
            paragraphs = (" ".join(CONTROL.sub(" ", p).split()) for p in opinion["text"].split("\n"))
            text = "\n".join(paragraph for paragraph in paragraphs if paragraph)
            parts.append(Part(opinion["type"] or "", opinion.get("author") or "", text, (), len(text)))
    except (KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"its json/ twin has another layout ({error!r})") from error
    return Casebody("", tuple(parts))


def _read_bulk(path: Path, bounds: Bounds) -> Iterator[Opinion | Fault]:
    try:
        for number, line in enumerate(lines(path, bounds), 1):
            if line.strip():
                yield from _bulk_case(path.name, f"row {number}", line)
    except (LZMAError, EOFError, OSError) as error:
        yield Fault(path.name, "", f"it cannot be decompressed ({error})", "volume")
    except OverBounds as error:
        yield Fault(path.name, "", str(error), "volume")


def _bulk_case(volume: str, where: str, line: bytes) -> Iterator[Opinion | Fault]:
    try:
        record = _parsed(line)
        body = record["casebody"]
        if body["status"] != "ok":
            raise Unreadable(f"its text was not released (status {body['status']!r})")
        text, faults = _cleaned(body["data"].encode())
        parsed = casebody.from_xml(text)
    except Unreadable as error:
        yield Fault(volume, where, str(error), "case")
    except (KeyError, TypeError, AttributeError) as error:
        yield Fault(volume, where, f"it has another layout than the bulk export ({error!r})", "case")
    else:
        yield from (Fault(volume, where, what, "nothing") for what in faults)
        yield from _opinions(volume, where, record, parsed)


def _parsed(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"its JSON cannot be parsed ({error})") from error


def _cleaned(raw: bytes) -> tuple[str, list[str]]:
    """The text with control characters replaced by spaces, and a message for each kind of repair."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not UTF-8 ({error.reason} at byte {error.start})") from error
    text, count = CONTROL.subn(" ", text)
    what = "control character was made a space" if count == 1 else "control characters were made spaces"
    return text, [f"{count} {what}"] if count else []


def _opinions(
    volume: str, where: str, metadata: Mapping[str, Any], body: Casebody
) -> Iterator[Opinion | Fault]:
    try:
        case = _case(metadata)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        yield Fault(volume, where, f"its metadata are incomplete ({error!r})", "case")
        return
    kinds = Counter(part.kind for part in body.parts)
    if not any(part.text for part in body.parts):
        yield Fault(volume, where, "it has no opinion", "case")
        return
    if kinds[MAJORITY] > 1:
        yield Fault(
            volume,
            where,
            f"it has {kinds[MAJORITY]} majority opinions, so none serves as a premise",
            "nothing",
        )
    labelled = bool(body.head_page) or any(part.pages for part in body.parts)
    if not labelled and case["first_page"] != case["last_page"]:
        yield Fault(volume, where, "it spans several pages and labels none", "pages")
    seen = body.head_page
    for position, part in enumerate(body.parts):
        if not part.text:
            continue
        pages, strays = _in_order(part.pages)
        place = f"{where}, opinion {position}"
        if len(strays) > MISPRINTS * len(part.pages):
            yield Fault(volume, place, "its pages are out of order", "pages")
            pages = ()
        elif labelled or case["first_page"] == case["last_page"]:
            if strays:
                what = f"page label {', '.join(strays)} is out of order and is dropped"
                yield Fault(volume, place, what, "nothing")
            pages = _from_start(pages, seen or case["first_page"])
        if part.pages:
            seen = (pages or part.pages)[-1].label
        yield Opinion(
            **case,
            position=position,
            opinion_type=part.kind,
            author=part.author,
            majorities=kinds[MAJORITY],
            text=part.text,
            pages=pages,
            body_end=part.body_end,
        )


def _case(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that all opinions of a case share."""
    # The official citation is the one whose volume this is, so its pages are the labelled ones.
    ordered = sorted(metadata["citations"], key=lambda c: c.get("type") != "official")
    citations = tuple(dict.fromkeys(" ".join(c["cite"].split()) for c in ordered))
    parts = _CITATION.fullmatch(citations[0]) if citations else None
    volume, reporter = (parts[1], parts[2]) if parts else ("", "")
    return {
        "case_id": int(metadata["id"]),
        "citations": citations,
        "name": " ".join(metadata["name"].split()),
        "name_abbreviation": " ".join(metadata["name_abbreviation"].split()),
        "court": metadata["court"]["name"],
        "jurisdiction": metadata["jurisdiction"]["name_long"],
        "date": metadata["decision_date"],
        "reporter": reporter,
        "volume": volume,
        "first_page": str(metadata["first_page"]),
        "last_page": str(metadata["last_page"]),
    }


def _in_order(pages: tuple[Page, ...]) -> tuple[tuple[Page, ...], list[str]]:
    """The pages without the numbered labels that break their order, and those labels.

    Keeps the longest ascending run of labels, so that a misprint removes only one label.
    """
    numbered = [(int(page.label), at) for at, page in enumerate(pages) if page.label.isdecimal()]
    ends: list[int] = []
    chain: list[tuple[int, int]] = []  # place of this label in its run; the index of the one before
    last: list[int] = []
    for index, (number, _) in enumerate(numbered):
        length = bisect_left(ends, number)
        chain.append((length, last[length - 1] if length else -1))
        if ends[length : length + 1] != [number]:  # of a repeated label the first counts
            ends[length : length + 1] = [number]
            last[length : length + 1] = [index]
    ordered, index = set(), last[-1] if last else -1
    while index >= 0:
        ordered.add(numbered[index][1])
        index = chain[index][1]
    dropped = {at for _, at in numbered} - ordered
    return tuple(p for at, p in enumerate(pages) if at not in dropped), [
        pages[at].label for at in sorted(dropped)
    ]


def _from_start(pages: tuple[Page, ...], running: str) -> tuple[Page, ...]:
    """Put the page on which the opinion starts before the labels in it.

    That page is one less than the first label; without a label, the page still running when the
    opinion starts.
    """
    if not pages:
        return (Page(running, 0),) if running else ()
    if pages[0].offset == 0:
        return pages
    first = pages[0].label
    before = str(int(first) - 1) if first.isdecimal() else running
    return (Page(before, 0), *pages) if before and before != first else pages
