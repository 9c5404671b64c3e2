"""The authors' two ID files of LawngNLI, and the rows that they rebuild.

The dataset is released without case text.  "LawngNLI_minus_case_text.xz" is an xz-compressed pickle of pandas
1.2: a frame of ids and offsets.  "LawngNLI_filter.xz" is a pickle of a dict with the keys "long" and "short":
one digit for each character of the premises, which says whether it stays when citations are removed.
``src/reconstruct_nli.py`` of the released code is the only description of both files; this module follows it.

A pickle can call any function that it names, so `load` admits only the names that such a frame needs.
"""

import base64
import binascii
import lzma
import pickle
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from eyecite import clean_text

from lextables.pipeline.errors import BadInput

LIMIT_BYTES = 16 << 30
ADVICE = "download the file again from the address in resources/sources.yaml"
_XZ = b"\xfd7zXZ\x00"


class _Stateful:
    """Keeps the state that a pickle sets on an instance; stands in for classes of pandas 1.2."""

    state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


def _array(kind: type, shape: tuple[int, ...], code: bytes) -> np.ndarray:
    """An empty array, as numpy pickles it; its content follows as state."""
    if kind is not np.ndarray or shape != (0,):
        raise pickle.UnpicklingError("an array is not written as numpy writes it")
    return np.empty(0, dtype=np.int8)


def _index(kind: str, parts: Mapping[str, Any]) -> pd.Index:
    if kind == "RangeIndex":
        return pd.RangeIndex(parts["start"], parts["stop"], parts["step"])
    return pd.Index(parts["data"])


# numpy's own functions for these names, which it has moved since.
_SCALAR = np.float64(0).__reduce__()[0]
_FROM_BUFFER = np.empty(0).__reduce_ex__(5)[0]


class _Restricted(pickle.Unpickler):
    """Reads the names of pandas 1.2 and numpy 1.19 that stand in the two files, and refuses all others."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        # New classes for each file: a pickle may write attributes into a class.
        self.frame = type("DataFrame", (_Stateful,), {})
        self.manager = type("BlockManager", (_Stateful,), {})
        self.names = {
            ("builtins", "slice"): slice,
            ("builtins", "set"): set,
            ("builtins", "frozenset"): frozenset,
            ("numpy", "dtype"): np.dtype,
            ("numpy", "ndarray"): np.ndarray,
            ("numpy.core.multiarray", "_reconstruct"): _array,
            ("numpy.core.multiarray", "scalar"): _SCALAR,
            ("numpy.core.numeric", "_frombuffer"): _FROM_BUFFER,
            ("pandas.core.frame", "DataFrame"): self.frame,
            ("pandas.core.internals.managers", "BlockManager"): self.manager,
            ("pandas.core.indexes.base", "_new_Index"): _index,
            ("pandas.core.indexes.base", "Index"): "Index",
            ("pandas.core.indexes.numeric", "Int64Index"): "Int64Index",
            ("pandas.core.indexes.range", "RangeIndex"): "RangeIndex",
        }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.names:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is not among what is expected")
        return self.names[module, name]

    def value(self) -> Any:
        """The content of the file: a DataFrame, or plain values."""
        loaded = self.load()
        return self._dataframe(loaded.state) if isinstance(loaded, self.frame) else loaded

    def _dataframe(self, state: Mapping[str, Any]) -> pd.DataFrame:
        """Put the blocks of a frame together; a block holds columns of one type, one in each row."""
        inner = state.get("_mgr", state.get("_data")).state[3]["0.14.1"]
        labels, index = inner["axes"]
        columns: dict[int, np.ndarray] = {}
        for block in inner["blocks"]:
            places = np.arange(len(labels))[block["mgr_locs"]]
            columns |= dict(zip(places.tolist(), block["values"], strict=True))
        ordered = {label: columns.pop(number) for number, label in enumerate(labels)}
        if columns or any(column.shape != (len(index),) for column in ordered.values()):
            raise pickle.UnpicklingError("the blocks of the frame do not fit its axes")
        # With its own type each: pandas would make strings, and NaN for None, of a column of objects.
        return pd.DataFrame(
            {label: pd.Series(column, index, dtype=column.dtype) for label, column in ordered.items()}
        )


class _Limited:
    """A readable file that raises once more than ``limit`` bytes were read from it."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file, self._left, self._limit = file, limit, limit

    def _count(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise pickle.UnpicklingError(f"it unpacks to more than {self._limit:,} bytes")
        return data

    def read(self, size: int) -> bytes:
        return self._count(self._file.read(min(size, self._left + 1)))

    def readline(self) -> bytes:
        return self._count(self._file.readline(self._left + 1))


def load(path: str | Path, *, limit_bytes: int = LIMIT_BYTES) -> Any:
    """Return the content of a pickle, plain or xz-compressed: a `pandas.DataFrame`, or a dict of strings.

    Raises `BadInput` for a name outside the expected ones, for a file that is no pickle or is truncated, and
    for one that unpacks to more than ``limit_bytes``.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            packed = file.read(len(_XZ)) == _XZ
        with lzma.open(path) if packed else path.open("rb") as file:
            value = _Restricted(_Limited(file, limit_bytes)).value()
        if not isinstance(value, pd.DataFrame | dict):
            raise pickle.UnpicklingError(f"it holds a {type(value).__name__}")
        return value
    except OSError as error:
        raise BadInput(f"the file cannot be read ({error.strerror})", where=str(path), do=ADVICE) from error
    except Exception as error:  # a hostile stream can make the unpickler raise anything
        raise BadInput(f"the pickle is refused: {error}", where=str(path), do=ADVICE) from error


# What ``reconstruct_nli.py`` reads from the frame; the rest of its columns travel along.
ID_COLUMNS = (
    "index",
    "caseid",
    "cited_case",
    "cited_pages",
    "i",
    "start_index",
    "end_index",
    "clause_id",
    "sent_id",
    "label",
    "negation",
    "flip",
    "e",
    "h",
    "sample",
    "split",
)
LABELS_BY_NUMBER = {0: "entail", 1: "neutral", 2: "contradict"}


def read_ids(path: str | Path) -> list[dict[str, Any]]:
    """Return the rows of "LawngNLI_minus_case_text.xz", in the file's order, which the masks depend on.

    Raises `BadInput` when the file is refused, is no frame, or lacks one of `ID_COLUMNS`.
    """
    frame = load(path)
    if not isinstance(frame, pd.DataFrame):
        raise BadInput(f"holds a {type(frame).__name__}, not a frame", where=str(path), do=ADVICE)
    if missing := [column for column in ID_COLUMNS if column not in frame.columns]:
        raise BadInput(f"lacks the column {missing[0]!r}", where=str(path), do=ADVICE)
    return frame.to_dict("records")


class Mask:
    """One digit for each character of all premises, one after the other: "1" stays, "0" goes."""

    def __init__(self, encoded: bytes | str, where: str) -> None:
        """Take the mask as the file holds it, in base64; it is decoded piece by piece as it is used."""
        self._encoded = encoded.encode() if isinstance(encoded, str) else encoded
        if b"\n" in self._encoded[:100]:
            self._encoded = self._encoded.replace(b"\n", b"")
        self._where = where
        if len(self._encoded) % 4:
            raise BadInput("the mask is not whole base64", where=where, do=ADVICE)

    def __len__(self) -> int:
        """Return the number of digits."""
        return len(self._encoded) // 4 * 3 - len(self._encoded[-2:]) + len(self._encoded[-2:].rstrip(b"="))

    def pieces(self, size: int = 3 << 20) -> Iterator[bytes]:
        """Yield the digits in order, some millions at a time; `BadInput` at anything but 0 and 1."""
        step = size // 3 * 4
        for start in range(0, len(self._encoded), step):
            try:
                digits = base64.b64decode(self._encoded[start : start + step], validate=True)
            except binascii.Error as error:
                raise BadInput(f"the mask is not base64 ({error})", where=self._where, do=ADVICE) from error
            if digits.strip(b"01"):
                raise BadInput("the mask holds a digit other than 0 and 1", where=self._where, do=ADVICE)
            yield digits


def read_masks(path: str | Path) -> dict[str, Mask]:
    """Return the masks "long" and "short" of "LawngNLI_filter.xz".  Memory: the file's size."""
    value = load(path)
    if not isinstance(value, dict):
        raise BadInput(f"holds a {type(value).__name__}, not a dict", where=str(path), do=ADVICE)
    masks = {}
    for key in ("long", "short"):
        encoded = value.get(key)
        if not isinstance(encoded, str | bytes):
            raise BadInput(f"has no text under {key!r}", where=str(path), do=ADVICE)
        masks[key] = Mask(encoded, f"{path}, {key!r}")
    return masks


@dataclass(frozen=True)
class ReleasedOpinion:
    """One opinion as the released code saw it: ``text`` holds each page label as "@12@" where it stood."""

    type: str
    text: str

    @property
    def unpaged(self) -> str:
        """The text without its page labels, in which the frame's offsets count."""
        return _PAGE_LABEL.sub("", self.text)


_PAGE_LABEL = re.compile(r"@[0-9]*@")
_PAGE_NUMBER = re.compile(r'<page-number (?:citation-index="\d+" )?label="([0-9]*)[^>]*>[^>]*>')


def released_opinions(casebody: str) -> list[ReleasedOpinion]:
    """Return the opinions of a casebody XML (the former bulk export) as the released code read them.

    The offsets and masks of the ID files count characters of this text, so its quirks are part of the
    format: no XML parser, only "&amp;" is decoded, a text starts at the first paragraph after the first
    closing tag (so an opinion with no author element loses its first paragraph), and the white space
    between paragraphs stays as one space and the line ends.  The released pattern wants a page number's
    label to be its first attribute; rows of another date put "citation-index" before it, which is allowed
    here, because the pattern would otherwise leave "*12" in the text and find no page.
    """
    opening, closing = '<opinion type="', "</opinion>\n  " + '<opinion type="'
    begin = casebody.find("<opinion type=")
    if begin < 0:
        return []
    body = casebody[begin + len(opening) : casebody.find("</casebody>\n")]
    opinions = []
    for part in body.split(closing):
        first = part.find("</")
        text = part[first + part[first + 1 :].find("<p ") + 1 :].replace("&amp;", "&")
        text = _PAGE_NUMBER.sub(r"@\1@", text)
        text = clean_text(re.sub(r"<[^>]*>", "", text), ["inline_whitespace", "underscores"])
        opinions.append(ReleasedOpinion(part[: part.find('"')], text))
    return opinions


def released_majority(opinions: Sequence[ReleasedOpinion]) -> str | None:
    """Return the text of the one majority opinion, page labels in it; None when there is not exactly one."""
    majorities = [opinion.text for opinion in opinions if opinion.type == "majority"]
    return majorities[0] if len(majorities) == 1 else None


def released_short_premise(majority: str, pages: Iterable[str]) -> str | None:
    """Return the cited pages grown to whole paragraphs, as the released code cut them; labels in them.

    Pages are taken in the order of their labels as strings; a paragraph on two pages comes twice; a page
    whose label is missing begins at the start, and one whose next label is missing runs to the end.
    None when both are missing.
    """
    # A line begins after its line end and the one space that is left of the indentation.
    starts = [0, *(end.start() + 2 for end in re.finditer("\n", majority)), len(majority) + 1]
    portions = []
    for page in sorted(pages):
        here, there = f"@{page}@", f"@{int(page) + 1}@"
        at, end_at = majority.find(here), majority.find(there)
        start = 0 if at < 0 else starts[bisect_right(starts, at + len(here)) - 1]
        end = len(majority) if end_at < 0 else max(starts[bisect_left(starts, end_at)] - 2, 0)
        if start == 0 and end == len(majority):
            return None
        portions.append(majority[start : end + 1])
    return "\n".join(portions)


def released_hypothesis(opinion: ReleasedOpinion, start: int, end: int) -> str:
    """Return the parenthetical at the frame's offsets, which count after contractions are written out."""
    text = opinion.unpaged.replace("n't", " not").replace("can not", "cannot")
    return text[start:end]


def rebuild(
    ids: Sequence[Mapping[str, Any]],
    opinions: Callable[[int], Sequence[ReleasedOpinion] | None],
    masks: Mapping[str, Mask] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the released rows whose cases ``opinions`` has, in the file's order.

    ``opinions`` gives a case's opinions by its id, None for a case that is not in the corpus.  Each row
    holds ``example_id`` (the frame's ``index``), ``citing_case_id``, ``cited_case_id``, ``pages``,
    ``parenthetical`` (the text at the offsets, before any normalising or contradicting), ``label``,
    ``negated`` (of the hypothesis), ``analysis``, ``split``, the two premises with citations, and
    ``released``: the frame's own row, whose ``sent_id``, ``clause_id``, ``e``, ``h`` and ``flip`` say
    which sentence and clause the contradiction algorithm changed and which of the two texts is the
    hypothesis.

    With ``masks``, the two premises without citations come too.  A mask does not say where one premise
    ends, so it can only be used when every row is there and the lengths agree; otherwise `BadInput` says
    which case is missing or by how much they differ, before the first row.  Without, use
    `lextables.papers.lawngnli.citation_removal`.
    """
    if masks is not None:
        _check_lengths(ids, opinions, masks)
    cuts = {name: _Cut(mask) for name, mask in (masks or {}).items()}
    for row in ids:
        rebuilt = _rebuilt(row, opinions)
        if rebuilt is None:
            continue
        for name, cut in cuts.items():
            text = rebuilt[f"{name}_premise_with_citations"]
            rebuilt[f"{name}_premise"] = None if text is None else cut.take(text)
        yield rebuilt


def _rebuilt(
    row: Mapping[str, Any], opinions: Callable[[int], Sequence[ReleasedOpinion] | None]
) -> dict[str, Any] | None:
    citing, cited = opinions(int(row["caseid"])), opinions(int(row["cited_case"]))
    majority = released_majority(cited) if cited is not None else None
    at = int(row["i"])
    if citing is None or majority is None or not 0 <= at < len(citing):
        return None
    # Without a pincite the frame has no pages, or pandas' nan for them.
    pages = row["cited_pages"] if isinstance(row["cited_pages"], set | frozenset) else frozenset()
    short = released_short_premise(majority, pages) if pages else None
    short = None if short is None else _PAGE_LABEL.sub("", short)
    return {
        "example_id": row["index"],
        "citing_case_id": int(row["caseid"]),
        "cited_case_id": int(row["cited_case"]),
        "pages": sorted(pages, key=lambda page: (len(page), page)),
        "parenthetical": released_hypothesis(citing[at], int(row["start_index"]), int(row["end_index"])),
        "label": LABELS_BY_NUMBER[int(row["label"])],
        "negated": row["negation"] in (True, "negation"),
        "analysis": int(row["sample"]) == 1,
        "split": row["split"],
        "long_premise_with_citations": _PAGE_LABEL.sub("", majority),
        "short_premise_with_citations": short if short and not short.isspace() else None,
        "released": dict(row),
    }


def _check_lengths(
    ids: Sequence[Mapping[str, Any]],
    opinions: Callable[[int], Sequence[ReleasedOpinion] | None],
    masks: Mapping[str, Mask],
) -> None:
    totals = dict.fromkeys(masks, 0)
    for row in ids:
        rebuilt = _rebuilt(row, opinions)
        if rebuilt is None:
            raise BadInput(
                f"the masks need every case; case {row['caseid']} or {row['cited_case']} is not here",
                where=f"ID file, index {row['index']}",
                do="add the volume, or rebuild without the masks",
            )
        for name in totals:
            totals[name] += len((rebuilt[f"{name}_premise_with_citations"] or "").replace("|", ""))
    for name, total in totals.items():
        if total != len(masks[name]):
            raise BadInput(
                f"the {name} premises have {total:,} characters and the mask has {len(masks[name]):,}",
                where="ID file",
                do="use the bulk export of 21 April 2021, which they were made on, or rebuild without them",
            )


class _Cut:
    """Cuts one premise after the other by a mask."""

    def __init__(self, mask: Mask) -> None:
        self._pieces = mask.pieces()
        self._digits, self._at = b"", 0

    def take(self, text: str) -> str:
        """Return the characters of ``text`` that stay; a "|" has no digit and goes."""
        text = text.replace("|", "")
        while len(self._digits) - self._at < len(text):
            self._digits, self._at = self._digits[self._at :] + next(self._pieces), 0
        digits = self._digits[self._at : self._at + len(text)]
        self._at += len(text)
        return "".join(compress(text, digits.translate(_TRUTH)))


_TRUTH = bytes.maketrans(b"01", b"\x00\x01")
