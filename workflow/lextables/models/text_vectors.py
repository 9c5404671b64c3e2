"""Vectors of texts in a file: a job encodes all texts of a data set, and other jobs
read them.

Queries and documents are separate, because a model may have a prompt for each.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from lextables.pipeline.dataset import (
    Column,
    Row,
    Table,
    batched,
    opened,
    row_groups,
    write,
)
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import damage_named
from lextables.pipeline.run import note_again

Encode = Callable[[Sequence[str]], np.ndarray]

# The parts.
QUERY = "query"
DOCUMENT = "document"
BATCH = 16384  # texts encoded together: enough to sort by length
VECTORS = Table(
    "vectors",
    "The texts of a data set, as a sentence encoder has them.",
    (
        Column("part", pa.string(), f"`{QUERY}` or `{DOCUMENT}`"),
        Column("text", pa.binary(32), "SHA-256 of the text"),
        Column("vector", pa.list_(pa.float32()), "the encoded text"),
    ),
    key=("part", "text"),
    ordered=False,
    row_group=2048,
)


def write_text_vectors(
    texts: Mapping[str, Iterable[str]],
    encoders: Mapping[str, Encode],
    about: Mapping[str, str],
    path: str | Path,
    report: Callable[[Sequence[str]], None],
) -> int:
    """Write the `VECTORS` of the ``texts`` of each part, each once; return how many
    there are.

    ``encoders`` are {part: function from texts to float32 (texts, dimensions)}, and
    report what they encode; ``report`` is given the repeated texts.  ``about`` is
    stored in the file.
    """

    def rows() -> Iterator[Row]:
        for part, all_texts in texts.items():
            written: set[bytes] = set()
            for batch in batched(all_texts, BATCH):
                new: dict[bytes, str] = {}
                repeated = []
                for text in batch:
                    key = digest(text)
                    if key in written or key in new:
                        repeated.append(text)
                    else:
                        new[key] = text
                written.update(new)
                report(repeated)
                if not new:
                    continue
                vectors = encoders[part](list(new.values()))
                for key, vector in zip(new, vectors, strict=True):
                    yield {"part": part, "text": key, "vector": vector}

    return write(VECTORS, rows(), path, about)


class TextVectors:
    """The vectors of one part of a file of `write_text_vectors`.

    Memory: about 200 bytes for each text, and the vectors that are asked for.
    """

    def __init__(self, path: str | Path, part: str) -> None:
        """Read which texts the file has."""
        self.path = path
        self._places: dict[bytes, tuple[int, int]] = {}  # row group and row
        for group, table in enumerate(row_groups(path, ["part", "text"])):
            parts = table["part"].to_pylist()
            keys = table["text"].to_pylist()
            for row, (own_part, key) in enumerate(zip(parts, keys, strict=True)):
                if own_part == part:
                    self._places[key] = (group, row)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of texts, float32 (texts, dimensions).

        Raises `BadInput` for a text that the file does not have.
        """
        positions: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for position, text in enumerate(texts):
            place = self._places.get(digest(text))
            if place is None:
                what = f"there is no vector of the text {text[:40]!r}"
                do = "delete the file, and repeat the command"
                raise BadInput(what, where=str(self.path), do=do)
            group, row = place
            positions[group].append((position, row))
        vectors = np.empty((len(texts), 0), dtype=np.float32)
        with damage_named(self.path), opened(self.path) as file:
            for group, pairs in positions.items():
                column = file.read_row_group(group, columns=["vector"]).column(0)
                flat = column.combine_chunks().flatten().to_numpy()
                rows = flat.reshape(len(column), -1)
                if not vectors.size:
                    vectors = np.empty((len(texts), rows.shape[1]), dtype=np.float32)
                for position, row in pairs:
                    vectors[position] = rows[row]
        return vectors


def about_of(path: str | Path) -> dict[str, str]:
    """Return what is stored about the vectors: `device` and `similarity`.

    The job's runs get the notes of the job that encoded.
    """
    note_again(path)
    with damage_named(path), opened(path) as file:
        stored = file.metadata.metadata or {}
        about = {}
        for name in ("device", "similarity"):
            about[name] = stored[name.encode()].decode()
        return about


def digest(text: str) -> bytes:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
