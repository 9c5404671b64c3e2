"""The documents of a retrieval data set, whose texts are read when they are needed."""

import sys
from collections.abc import Iterator, Mapping, Set
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from lextables.pipeline.dataset import batches, opened
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import damage_named

# Bytes of texts in memory, at most.  LawngNLI's opinions, a thousand for each of 2,644
# queries, would take some 20 GB.
KEPT_BYTES = 1 << 28


def in_order(names: Set[str], documents: Mapping[str, str]) -> list[str]:
    """Return ``names`` in the order of the table; `BadInput` for a name that is not in
    it.
    """
    ordered = [name for name in documents if name in names]
    if len(ordered) < len(names):
        unknown = min(names - documents.keys())
        what = f"a query has the document {unknown!r}, which is not in the table"
        raise BadInput(what, where="documents", do="build the data set again")
    return ordered


class Documents(Mapping[str, str]):
    """{document id: text} of a table in parquet, in the order of the table.

    Texts are read one row group at a time; `KEPT_BYTES` of the row groups last read
    stay in memory, besides the ids.  Read many documents in the order of the table
    (`in_order`), so that each row group is read once.
    """

    def __init__(self, path: str | Path, document: str, text: str) -> None:
        """Read the ids; ``document`` and ``text`` are the names of the columns."""
        self._path = path
        self._text = text
        self._rows: dict[str, int] = {}
        for batch in batches(path, [document]):
            for name in batch.column(0).to_pylist():
                self._rows[sys.intern(name)] = len(self._rows)
        self._file = opened(path)
        metadata = self._file.metadata
        groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
        self._starts = np.cumsum([0, *(group.num_rows for group in groups)])
        largest = max((group.total_byte_size for group in groups), default=1)
        cached_groups = max(1, KEPT_BYTES // max(1, largest))
        self._texts_of = lru_cache(maxsize=cached_groups)(self._read)

    def __getitem__(self, name: str) -> str:
        row = self._rows[name]
        group = int(np.searchsorted(self._starts, row, side="right")) - 1
        texts = self._texts_of(group)
        return texts[row - int(self._starts[group])].as_py()

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def _read(self, group: int) -> pa.ChunkedArray:
        """Return the texts of a row group."""
        with damage_named(self._path):
            return self._file.read_row_group(group, columns=[self._text]).column(0)
