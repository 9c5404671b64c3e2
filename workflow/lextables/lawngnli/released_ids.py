"""The authors' two ID files of LawngNLI, and the rows that they rebuild.

The released data set is given without case text: a pandas frame of ids and offsets
("LawngNLI_minus_case_text.xz", an xz-compressed pickle of pandas 1.2) and, for the long and the short
premises, one digit for each character that says whether it stays when citations are removed
("LawngNLI_filter.xz", by its released reader a plain pickle of a dict with the keys "long" and
"short").  ``src/reconstruct_nli.py`` of the released code is the only description of the two, and what
is below follows it.

Both are pickles from the internet.  `load` runs none of what they name: the ten or so names of pandas and
numpy that such a frame needs are read into inert records of this module, by exact name, and anything
else is refused.
"""

import base64
import binascii
import io
import lzma
import pickle
import pickletools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from eyecite import clean_text

from lextables.errors import BadInput

LIMIT_BYTES = 16 << 30
ADVICE = "fetch the file again from the address in the source registry, and open nothing else in its place"
_XZ = b"\xfd7zXZ\x00"

# Opcodes that call or import outside find_class, or that no frame and no dict of strings needs.
_REFUSED_OPCODES = frozenset(
    "PERSID BINPERSID EXT1 EXT2 EXT4 INST OBJ NEWOBJ_EX NEXT_BUFFER READONLY_BUFFER".split()
)
_DTYPE = re.compile(r"(?:[iu][1248]|f[248]|b1|\?|O8?|U\d{1,4})")
_LONGEST_RANGE = 1 << 24
_PLAIN = (bool, int, float, str, bytes, type(None))


class _Sealed:
    """A record that a pickle cannot write into after it is made."""

    def __setstate__(self, state: Any) -> None:
        raise pickle.UnpicklingError("it writes into an object that has no state")


@dataclass
class _Dtype:
    """numpy.dtype, as the letters it was pickled with."""

    code: str
    order: str = "<"

    def __setstate__(self, state: Any) -> None:
        if not (isinstance(state, tuple) and len(state) >= 2 and state[1] in ("<", ">", "|", "=")):
            raise pickle.UnpicklingError("a numpy type has a state that is not expected")
        self.order = state[1]

    @property
    def is_object(self) -> bool:
        return self.code.startswith("O")

    def numpy(self) -> np.dtype:
        return np.dtype((self.order if self.order in "<>" else "<") + self.code)


@dataclass
class _Array:
    """numpy.ndarray, as shape and a flat list of Python values in C order."""

    shape: tuple[int, ...] = ()
    values: list[Any] = field(default_factory=list)

    def __setstate__(self, state: Any) -> None:
        if not (isinstance(state, tuple) and len(state) == 5 and isinstance(state[2], _Dtype)):
            raise pickle.UnpicklingError("a numpy array has a state that is not expected")
        _, shape, dtype, fortran, data = state
        self.shape, self.values = _decoded(data, dtype, shape, "F" if fortran else "C")

    def rows(self) -> list[list[Any]]:
        """Return the values as a list of rows; a flat array is one row."""
        if len(self.shape) == 1:
            return [self.values]
        if len(self.shape) != 2:
            raise pickle.UnpicklingError(f"an array has {len(self.shape)} dimensions, where a frame has two")
        width = self.shape[1]
        return [self.values[start : start + width] for start in range(0, len(self.values), width or 1)]


@dataclass
class _Index(_Sealed):
    """A pandas index, as its labels."""

    labels: list[Any]


@dataclass
class _Manager:
    """pandas' BlockManager, as the state it was pickled with."""

    state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


@dataclass
class Frame:
    """A pandas frame: each column's values, in the order of the file's columns and rows."""

    columns: dict[str, list[Any]] = field(default_factory=dict)

    def __setstate__(self, state: Any) -> None:
        manager = state.get("_mgr", state.get("_data")) if isinstance(state, dict) else None
        if not isinstance(manager, _Manager):
            raise pickle.UnpicklingError("a frame has a state that is not expected")
        self.columns = _columns(manager.state)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as dicts."""
        names = list(self.columns)
        for values in zip(*self.columns.values(), strict=True):
            yield dict(zip(names, values, strict=True))


def _decoded(data: Any, dtype: _Dtype, shape: Any, order: str) -> tuple[tuple[int, ...], list[Any]]:
    """Return an array's shape and its values in C order; nothing is trusted to agree."""
    if not (
        isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape) and order in ("C", "F")
    ):
        raise pickle.UnpicklingError("a numpy array has a shape that is not expected")
    count = int(np.prod(shape, dtype=object)) if shape else 1
    if dtype.is_object:
        if not isinstance(data, list) or len(data) != count:
            raise pickle.UnpicklingError("a numpy array of objects does not fill its shape")
        return shape, list(data)  # numpy writes the objects in C order whatever the order in memory
    kind = dtype.numpy()
    if not isinstance(data, bytes | bytearray) or len(data) != count * kind.itemsize:
        raise pickle.UnpicklingError("a numpy array does not fill its shape")
    flat = np.frombuffer(data, dtype=kind) if count else np.empty(0, dtype=kind)
    return shape, flat.reshape(shape, order=order).ravel().tolist()


def _columns(state: Any) -> dict[str, list[Any]]:
    """Return the columns that a BlockManager's state holds (pandas 0.14.1 to 1.2)."""
    try:
        inner = state[3]["0.14.1"]
        labels, index = (axis.labels for axis in inner["axes"])
        blocks = [(block["values"].rows(), block["mgr_locs"]) for block in inner["blocks"]]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise pickle.UnpicklingError("a frame has blocks that are not expected") from error
    found: dict[int, list[Any]] = {}
    for rows, where in blocks:
        if isinstance(where, _Slice):
            places = where.places(len(labels))
        else:
            places = where.values if isinstance(where, _Array) else []
        if len(places) != len(rows) or any(len(row) != len(index) for row in rows):
            raise pickle.UnpicklingError("a frame's block does not fit its axes")
        found.update(zip(places, rows, strict=True))
    if sorted(found) != list(range(len(labels))) or not all(isinstance(label, str) for label in labels):
        raise pickle.UnpicklingError("a frame's columns are not complete, or not named by strings")
    return {label: found[at] for at, label in enumerate(labels)}


@dataclass
class _Slice(_Sealed):
    start: int | None
    stop: int | None
    step: int | None

    def places(self, length: int) -> list[int]:
        return list(range(*slice(self.start, self.stop, self.step).indices(length)))


@dataclass
class _Kind(_Sealed):
    """A class that a pickle only names, such as the ndarray that an array says it is."""

    name: str


@dataclass
class _Maker(_Sealed):
    """A function that a pickle may call.

    Wrapped, because a pickle could write attributes into the function or the class itself.
    """

    make: Callable[..., Any]

    def __call__(self, *parts: Any) -> Any:
        return self.make(*parts)


def _slice(start: Any, stop: Any, step: Any = None) -> _Slice:
    if not all(part is None or type(part) is int for part in (start, stop, step)) or step == 0:
        raise pickle.UnpicklingError("a slice has parts that are not expected")
    return _Slice(start, stop, step)


def _dtype(code: Any, *_: Any) -> _Dtype:
    if not isinstance(code, str) or not _DTYPE.fullmatch(code):
        raise pickle.UnpicklingError(f"the numpy type {code!r} is not expected")
    return _Dtype({"?": "b1"}.get(code, code))


def _reconstructed(kind: Any, *_: Any) -> _Array:
    if not isinstance(kind, _Kind) or kind.name != "ndarray":
        raise pickle.UnpicklingError("an array is of a class that is not expected")
    return _Array()


def _from_buffer(data: Any, dtype: Any, shape: Any, order: Any) -> _Array:
    if not isinstance(dtype, _Dtype):
        raise pickle.UnpicklingError("an array has no type")
    return _Array(*_decoded(data, dtype, shape, order))


def _scalar(dtype: Any, data: Any) -> Any:
    if not isinstance(dtype, _Dtype):
        raise pickle.UnpicklingError("a numpy value has no type")
    return _decoded(data, dtype, (), "C")[1][0]


def _index(kind: Any, parts: Any) -> _Index:
    if not isinstance(kind, _Kind) or not isinstance(parts, dict):
        raise pickle.UnpicklingError("an index has a state that is not expected")
    if kind.name == "RangeIndex":
        start, stop, step = (parts.get(key) for key in ("start", "stop", "step"))
        if (
            not all(type(part) is int for part in (start, stop, step))
            or not 0 <= stop - start <= _LONGEST_RANGE
            or step < 1
        ):
            raise pickle.UnpicklingError("a range index has bounds that are not expected")
        return _Index(list(range(start, stop, step)))
    data = parts.get("data")
    if not isinstance(data, _Array) or len(data.shape) != 1:
        raise pickle.UnpicklingError("an index has labels that are not expected")
    return _Index(data.values)


# Every name that may stand in the two files, and what is made of it here.
_NAMES: dict[tuple[str, str], Any] = {
    ("builtins", "slice"): _Maker(_slice),
    ("builtins", "set"): _Maker(set),
    ("builtins", "frozenset"): _Maker(frozenset),
    ("numpy", "dtype"): _Maker(_dtype),
    ("numpy", "ndarray"): _Kind("ndarray"),
    ("numpy.core.multiarray", "_reconstruct"): _Maker(_reconstructed),
    ("numpy.core.multiarray", "scalar"): _Maker(_scalar),
    ("numpy.core.numeric", "_frombuffer"): _Maker(_from_buffer),
    ("pandas.core.frame", "DataFrame"): Frame,
    ("pandas.core.internals.managers", "BlockManager"): _Manager,
    ("pandas.core.indexes.base", "_new_Index"): _Maker(_index),
    ("pandas.core.indexes.base", "Index"): _Kind("Index"),
    ("pandas.core.indexes.numeric", "Int64Index"): _Kind("Int64Index"),
    ("pandas.core.indexes.range", "RangeIndex"): _Kind("RangeIndex"),
}


class _Restricted(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _NAMES[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"it asks for {module}.{name}, which is not among what is expected"
            ) from None

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it asks for an object outside the file")


def load(path: str | Path, *, limit_bytes: int = LIMIT_BYTES) -> Any:
    """Return what a pickle file holds, plain or xz-compressed, without running anything it names.

    The result is made of None, bool, int, float, str, bytes, list, tuple, dict, set, frozenset and
    `Frame` alone.  Raises `BadInput` for a name or an opcode outside the expected ones, for a file that
    is no pickle or is cut short, and for one that unpacks to more than ``limit_bytes``.  The opcodes
    are all checked before the first is carried out.
    """
    path = Path(path)
    try:
        with _unpacked(path, limit_bytes) as file:
            _check_opcodes(file)
        with _unpacked(path, limit_bytes) as file:
            value = _Restricted(file).load()
        _check_plain(value)
    except OSError as error:
        raise BadInput(f"the file cannot be read ({error.strerror})", where=str(path), do=ADVICE) from error
    except RecursionError as error:
        raise BadInput("the pickle is nested too deeply", where=str(path), do=ADVICE) from error
    except Exception as error:  # a hostile stream can make the reader raise anything
        raise BadInput(f"the pickle is refused: {error}", where=str(path), do=ADVICE) from error
    return value


def _unpacked(path: Path, limit_bytes: int) -> BinaryIO:
    with path.open("rb") as file:
        start = file.read(len(_XZ))
    opened: Any = lzma.open if start == _XZ else open
    raw = opened(path, "rb")  # closed with what is returned
    return io.BufferedReader(_Limited(raw, limit_bytes), buffer_size=1 << 20)


class _Limited(io.RawIOBase):
    """A readable stream that raises once more than ``limit`` bytes have come out of it."""

    def __init__(self, raw: BinaryIO, limit: int) -> None:
        self._raw, self._left, self._limit = raw, limit, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._raw.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise pickle.UnpicklingError(f"it unpacks to more than {self._limit:,} bytes")
        buffer[: len(data)] = data
        return len(data)

    def tell(self) -> int:
        return self._limit - self._left

    def close(self) -> None:
        self._raw.close()
        super().close()


def _check_opcodes(file: BinaryIO) -> None:
    for opcode, _, _ in pickletools.genops(file):
        if opcode.name in _REFUSED_OPCODES:
            raise pickle.UnpicklingError(f"it uses {opcode.name}, which such a file does not need")


def _check_plain(value: Any) -> None:
    """Hold the result to plain types; a record of a frame's insides cannot stand outside a frame."""
    waiting, seen = [value], set()
    while waiting:
        item = waiting.pop()
        if isinstance(item, _PLAIN):
            continue
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Frame):
            waiting.extend(item.columns.values())
        elif isinstance(item, dict):
            waiting.extend([*item.keys(), *item.values()])
        elif isinstance(item, list | tuple | set | frozenset):
            waiting.extend(item)
        else:
            raise pickle.UnpicklingError("it holds a value of a type that is not expected")


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
    if not isinstance(frame, Frame):
        raise BadInput(f"holds a {type(frame).__name__}, not a frame", where=str(path), do=ADVICE)
    missing = [column for column in ID_COLUMNS if column not in frame.columns]
    if missing:
        raise BadInput(f"lacks the column {missing[0]!r}", where=str(path), do=ADVICE)
    return list(frame.rows())


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
    `lextables.lawngnli.citation_removal`.
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
