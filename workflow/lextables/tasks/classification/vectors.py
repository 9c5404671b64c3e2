"""Vectors of texts by a frozen sentence encoder.

A text is cut into pieces that fit a small encoder, and encoded once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from lextables.pipeline.dataset import Column, Row, Table, batched, row_groups, write
from lextables.pipeline.run import note_again
from lextables.tasks.classification.examples import Text

VECTORS = Table(
    "vectors",
    "The texts in pieces, as a sentence encoder has them.",
    (
        Column("text_id", pa.string(), "the text"),
        Column("piece", pa.int32(), "place of the piece in the text, from 0"),
        # Its norm is one, up to the rounding to float16.
        Column("vector", pa.list_(pa.float16()), "of length one"),
    ),
    key=("text_id", "piece"),
    ordered=False,
    row_group=1024,
)
BATCH = 512  # texts encoded together


def pieces(text: str, words: int) -> list[str]:
    """Return the pieces of a text, of ``words`` words each; the last one may be
    shorter, and an empty text is one empty piece.
    """
    parts = batched(text.split(), words)
    return [" ".join(part) for part in parts] or [""]


def encode_texts(
    texts: Iterable[Text],
    encode: Callable[[Sequence[str]], np.ndarray],
    words: int,
    path: str | Path,
    about: Mapping[str, str] | None = None,
) -> int:
    """Write the `VECTORS` of all texts, including second texts, to ``path``.

    ``encode`` returns a vector of norm one for each of the `pieces`.  ``about`` is
    stored in the file.  Returns the number of pieces.
    """
    distinct = each_once(texts)

    def rows() -> Iterator[Row]:
        """Yield the rows of all pieces, encoded in batches of texts."""
        for batch in batched(distinct, BATCH):
            all_pieces = []
            places = []
            for text_id, text in batch:
                for place, piece in enumerate(pieces(text, words)):
                    all_pieces.append(piece)
                    places.append((text_id, place))
            vectors = encode(all_pieces).astype(np.float16)
            for (text_id, place), vector in zip(places, vectors, strict=True):
                yield {"text_id": text_id, "piece": place, "vector": vector}

    return write(VECTORS, rows(), path, about)


def each_once(texts: Iterable[Text]) -> Iterator[tuple[str, str]]:
    """Yield the id and content of each different text and second text."""
    text_ids: set[str] = set()
    for text in texts:
        contents = text.text, text.second
        for text_id, content in zip(text.key, contents, strict=True):
            if content is not None and text_id not in text_ids:
                text_ids.add(text_id)
                yield text_id, content


def read_vectors(path: str | Path) -> Mapping[str, np.ndarray]:
    """Return {text id: vectors of its pieces} from a file of `encode_texts`.

    They are float16 (pieces, dimensions).  The notes of the job that encoded the texts
    are added to the records of this job's runs (`run.note_again`).
    """
    note_again(path)
    pieces_of: dict[str, list[np.ndarray]] = {}
    for table in row_groups(path, ["text_id", "vector"]):
        lists = table["vector"].combine_chunks()
        values = lists.flatten().to_numpy()
        vectors = values.reshape(table.num_rows, -1)
        text_ids = table["text_id"].to_pylist()
        for text_id, vector in zip(text_ids, vectors, strict=True):
            pieces_of.setdefault(text_id, []).append(vector)
    return {text_id: np.array(rows) for text_id, rows in pieces_of.items()}
