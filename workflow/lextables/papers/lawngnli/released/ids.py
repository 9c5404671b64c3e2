"""The authors' two ID files of LawngNLI.

The data set is released without the text of cases.  "LawngNLI_minus_case_text.xz" is an
xz-compressed pickle of pandas 1.2: a frame of ids and offsets.  "LawngNLI_filter.xz" is
a pickle of a dict with the keys "long" and "short": one digit for each character of the
premises, which says whether it remains when citations are removed.
``src/reconstruct_nli.py`` of the released code is the only description of both files;
this module follows it.

A pickle can call any function that it names, so `load` admits only the names that such
a frame needs.  Pickles of pandas 1.2 name classes that later versions do not have;
simple classes and functions of this module stand in for them.
"""

import base64
import binascii
import lzma
import pickle
from collections.abc import Iterator, Mapping
from itertools import compress
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from lextables.papers.lawngnli.dataset.labels import LABELS, SPLITS
from lextables.papers.lawngnli.steps import STRINGS
from lextables.pipeline.dataset import Column, Row, Table
from lextables.pipeline.errors import BadInput

LIMIT_BYTES = 16 << 30  # of an unpacked pickle
ADVICE = "download the file again from the address in resources/sources.yaml"
_XZ = b"\xfd7zXZ\x00"


class _Stateful:
    """An object that keeps the state which a pickle sets on it; replaces classes of
    pandas 1.2.
    """

    state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


def _array(kind: type, shape: tuple[int, ...], code: bytes) -> np.ndarray:
    """An empty array, as numpy pickles it; its content follows as state."""
    if kind is not np.ndarray or shape != (0,):
        raise pickle.UnpicklingError("an array is not written as numpy writes it")
    return np.empty(0, dtype=np.int8)


def _index(kind: str, parts: Row) -> pd.Index:
    """An index of a frame from its pickled parts; ``kind`` is its class in pandas
    1.2.
    """
    if kind == "RangeIndex":
        return pd.RangeIndex(parts["start"], parts["stop"], parts["step"])
    return pd.Index(parts["data"])


def _scalar(kind: np.dtype, data: bytes) -> np.generic:
    """One number or truth value, as numpy pickles it."""
    return np.frombuffer(data, kind)[0]


def _from_buffer(
    buffer: bytes, kind: np.dtype, shape: tuple[int, ...], order: Literal["C", "F"]
) -> np.ndarray:
    """An array of numbers, as numpy pickles it with protocol 5."""
    return np.frombuffer(buffer, kind).reshape(shape, order=order)


class _Restricted(pickle.Unpickler):
    """Reads the names of pandas 1.2 and numpy 1.19 that are in the two files, and
    refuses all others.
    """

    def __init__(self, file: "_Limited") -> None:
        super().__init__(file)
        # New classes for each file: a pickle may write attributes into a class.
        self.frame: type[_Stateful] = type("DataFrame", (_Stateful,), {})
        self.manager = type("BlockManager", (_Stateful,), {})
        self.names = {
            ("builtins", "slice"): slice,
            ("builtins", "set"): set,
            ("builtins", "frozenset"): frozenset,
            ("numpy", "dtype"): np.dtype,
            ("numpy", "ndarray"): np.ndarray,
            ("numpy.core.multiarray", "_reconstruct"): _array,
            ("numpy.core.multiarray", "scalar"): _scalar,
            ("numpy.core.numeric", "_frombuffer"): _from_buffer,
            ("pandas.core.frame", "DataFrame"): self.frame,
            ("pandas.core.internals.managers", "BlockManager"): self.manager,
            ("pandas.core.indexes.base", "_new_Index"): _index,
            ("pandas.core.indexes.base", "Index"): "Index",
            ("pandas.core.indexes.numeric", "Int64Index"): "Int64Index",
            ("pandas.core.indexes.range", "RangeIndex"): "RangeIndex",
        }

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a name in the pickle: a class, a function, or for a
        class of indices its name, which `_index` reads.

        Raises `UnpicklingError` for a name that is not expected.
        """
        if (module, name) not in self.names:
            raise pickle.UnpicklingError(
                f"it asks for {module}.{name}, which is not among what is expected"
            )
        return self.names[module, name]

    def value(self) -> Any:
        """The content of the file: a DataFrame, or plain values."""
        loaded = self.load()
        if isinstance(loaded, self.frame):
            return self._dataframe(loaded.state)
        return loaded

    def _dataframe(self, state: Row) -> pd.DataFrame:
        """Put the blocks of a frame together; a block holds columns of one type, one in
        each row.
        """
        # Here pandas 1.2 pickles the axes and the blocks; "0.14.1" names the format.
        inner = state.get("_mgr", state.get("_data")).state[3]["0.14.1"]
        labels, index = inner["axes"]
        columns: dict[int, np.ndarray] = {}
        for block in inner["blocks"]:
            places = np.arange(len(labels))[block["mgr_locs"]]
            columns |= dict(zip(places.tolist(), block["values"], strict=True))
        ordered = {label: columns.pop(number) for number, label in enumerate(labels)}
        if columns or any(column.shape != (len(index),) for column in ordered.values()):
            raise pickle.UnpicklingError("the blocks of the frame do not fit its axes")
        # Each column keeps its own type: of a column of objects, pandas would make
        # strings, and NaN of None.
        return pd.DataFrame(
            {
                label: pd.Series(column, index, dtype=column.dtype)
                for label, column in ordered.items()
            }
        )


class _Limited:
    """A readable file that raises once more than ``limit`` bytes were read from it."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file = file
        self._left = limit
        self._limit = limit

    def _count(self, data: bytes) -> bytes:
        """Return ``data``, which was just read; raise if the limit is passed."""
        self._left -= len(data)
        if self._left < 0:
            raise pickle.UnpicklingError(
                f"it unpacks to more than {self._limit:,} bytes"
            )
        return data

    def read(self, size: int) -> bytes:
        return self._count(self._file.read(min(size, self._left + 1)))

    def readline(self) -> bytes:
        return self._count(self._file.readline(self._left + 1))


def load(path: str | Path, *, limit_bytes: int = LIMIT_BYTES) -> Any:
    """Return the content of a pickle, plain or xz-compressed: a `pandas.DataFrame`, or
    a dict of strings.

    Raises `BadInput` for an unexpected name, for a file that is not a pickle or is
    truncated, and for one that unpacks to more than ``limit_bytes``.
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
        raise BadInput(
            f"the file cannot be read ({error.strerror})", where=str(path), do=ADVICE
        ) from error
    except Exception as error:  # a hostile stream can make the unpickler raise anything
        raise BadInput(
            f"the pickle is refused: {error}", where=str(path), do=ADVICE
        ) from error


# What ``reconstruct_nli.py`` reads from the frame.
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

ROWS = Table(
    name="rows",
    description="The rows of the ID file, in its order, which the masks depend on.",
    columns=(
        Column(
            "example_id",
            pa.string(),
            "`index` of the authors' frame; of twins the first one's",
        ),
        Column(
            "is_twin",
            pa.bool_(),
            "whether an earlier row has the other hypothesis and the same premise",
        ),
        Column("index", pa.int64(), "`index` of the authors' frame"),
        Column(
            "citing_case_id", pa.int64(), "the case whose opinion has the parenthetical"
        ),
        Column("opinion", pa.int64(), "place of that opinion in its case"),
        Column(
            "start", pa.int64(), "offset of the parenthetical in the opinion's text"
        ),
        Column("end", pa.int64(), "offset after it"),
        Column(
            "cited_case_id",
            pa.int64(),
            "the case whose majority opinion is the premise",
        ),
        Column(
            "pages",
            STRINGS,
            "pages of the pincite, in the order of their labels as strings",
        ),
        Column("label", pa.string(), "entail, neutral or contradict"),
        Column("negated", pa.bool_(), "whether the hypothesis has pivotal negation"),
        Column("analysis", pa.bool_(), "whether it belongs to the analysis subset"),
        Column("split", pa.string(), "train, val or test"),
        Column(
            "expanded",
            pa.bool_(),
            "whether the parenthetical is written without contractions first",
        ),
        Column(
            "contradicted",
            pa.bool_(),
            "whether the contradiction algorithm makes the other text",
        ),
        Column("flipped", pa.bool_(), "whether the other text is the hypothesis"),
        Column(
            "sentence",
            pa.int64(),
            "the sentence that the algorithm changes",
            nullable=True,
        ),
        Column(
            "clause",
            pa.list_(pa.field("item", pa.int64(), False)),
            "the path to its clause",
        ),
    ),
    key=("example_id", "is_twin"),
    ordered=False,
)


def read_ids(path: str | Path) -> Iterator[Row]:
    """Yield the rows of "LawngNLI_minus_case_text.xz" as rows of `ROWS`.

    Two rows of one parenthetical and one premise are twins if one is flipped and the
    other is not.  Raises `BadInput` when the file is refused, is no frame, lacks one of
    `ID_COLUMNS`, has a value that no such file has, or names a row twice.
    """
    frame = load(path)
    if not isinstance(frame, pd.DataFrame):
        raise BadInput(
            f"holds a {type(frame).__name__}, not a frame", where=str(path), do=ADVICE
        )
    if missing := [column for column in ID_COLUMNS if column not in frame.columns]:
        raise BadInput(f"lacks the column {missing[0]!r}", where=str(path), do=ADVICE)
    # {(parenthetical and premise, whether flipped): ids of rows without a twin so far}
    waiting: dict[tuple, list[str]] = {}
    names: set[tuple[str, bool]] = set()
    for number, released in enumerate(frame.to_dict("records"), 1):
        where = f"{path}, row {number}"
        try:
            row = _row(released)
        except (TypeError, ValueError, KeyError, IndexError) as error:
            raise BadInput(
                f"a value cannot be read ({error!r})", where=where, do=ADVICE
            ) from error
        opinion = (row["citing_case_id"], row["opinion"])
        pair = (*opinion, row["start"], row["end"], row["cited_case_id"], *row["pages"])
        if others := waiting.get((pair, not row["flipped"])):
            row = {**row, "example_id": others.pop(0), "is_twin": True}
        else:
            waiting.setdefault((pair, row["flipped"]), []).append(row["example_id"])
        name = row["example_id"], row["is_twin"]
        if name in names:
            raise BadInput(f"the index {row['index']} repeats", where=where, do=ADVICE)
        names.add(name)
        yield row


def _row(released: Mapping[Any, Any]) -> Row:
    """A row of `ROWS`, not yet known to be a twin, from a row of the frame."""
    keys = (
        "index",
        "caseid",
        "i",
        "start_index",
        "end_index",
        "cited_case",
        "label",
        "sample",
    )
    number = {key: _number(released[key]) for key in keys}
    # Without a pincite the frame has no pages, or pandas' nan for them.
    pages = released["cited_pages"]
    if not isinstance(pages, set | frozenset):
        pages = ()
    # Truth values are compared with `in`, so that None and nan are neither.  False in
    # "e" means that the contradiction algorithm makes the other text.
    changed = released["e"] in (False,)
    clause = released["clause_id"]
    return {
        "example_id": f"{number['index']:06}",
        "is_twin": False,
        "index": number["index"],
        "citing_case_id": number["caseid"],
        "opinion": number["i"],
        "start": number["start_index"],
        "end": number["end_index"],
        "cited_case_id": number["cited_case"],
        "pages": sorted(str(page) for page in pages if _number(page) >= 0),
        "label": LABELS[number["label"]],
        "negated": released["negation"] in (True, "negation"),
        "analysis": number["sample"] == 1,
        "split": SPLITS[SPLITS.index(released["split"])],
        "expanded": released["h"] in (True,),
        "contradicted": changed,
        "flipped": released["flip"] in (True,),
        "sentence": _number(released["sent_id"]) if changed else None,
        "clause": [_number(part) for part in clause] if changed else [],
    }


def _number(value: Any) -> int:
    """A whole number from 0, possibly as text."""
    number = int(value)
    if not 0 <= number < 1 << 62 or (not isinstance(value, str) and number != value):
        raise ValueError(f"{value!r} is no number of a row")
    return number


class Mask:
    """One digit for each character of all premises, one after the other: "1" is kept,
    "0" removed.
    """

    def __init__(self, encoded: bytes | str, where: str) -> None:
        """Take the mask of the file, in base64; it is decoded in pieces during use."""
        self._encoded = encoded.encode() if isinstance(encoded, str) else encoded
        if b"\n" in self._encoded[:100]:
            self._encoded = self._encoded.replace(b"\n", b"")
        self._where = where
        if len(self._encoded) % 4:
            raise BadInput("the mask is not whole base64", where=where, do=ADVICE)

    def __len__(self) -> int:
        """Return the number of digits: three for four characters of base64, less one
        for each "=" at the end.
        """
        end = self._encoded[-2:]
        padding = len(end) - len(end.rstrip(b"="))
        return len(self._encoded) // 4 * 3 - padding

    def cut(self, text: str, start: int) -> str:
        """Return the characters of ``text`` whose digits, from ``start`` on, are 1.

        The character "|" has no digit and is removed.  Raises `BadInput` for any other
        digit than 0 and 1, and past the end of the mask.
        """
        text = text.replace("|", "")
        # The groups of four characters of base64 that have these digits.
        groups = slice(start // 3 * 4, -(-(start + len(text)) // 3) * 4)
        try:
            decoded = base64.b64decode(self._encoded[groups], validate=True)
        except binascii.Error as error:
            raise BadInput(
                f"the mask is not base64 ({error})", where=self._where, do=ADVICE
            ) from error
        first = start % 3  # digits of the first group before ``start``
        digits = decoded[first : first + len(text)]
        if digits.strip(b"01") or len(digits) < len(text):
            raise BadInput(
                "the mask holds anything but 0 and 1, or ends",
                where=self._where,
                do=ADVICE,
            )
        return "".join(compress(text, digits.translate(_TRUTH)))


# From the digits of a mask to bytes that are false and true.
_TRUTH = bytes.maketrans(b"01", b"\x00\x01")


def read_masks(path: str | Path) -> dict[str, Mask]:
    """Return the masks "long" and "short" of "LawngNLI_filter.xz".

    Memory: the file's size.
    """
    value = load(path)
    if not isinstance(value, dict):
        raise BadInput(
            f"holds a {type(value).__name__}, not a dict", where=str(path), do=ADVICE
        )
    masks = {}
    for key in ("long", "short"):
        encoded = value.get(key)
        if not isinstance(encoded, str | bytes):
            raise BadInput(f"has no text under {key!r}", where=str(path), do=ADVICE)
        masks[key] = Mask(encoded, f"{path}, {key!r}")
    return masks
