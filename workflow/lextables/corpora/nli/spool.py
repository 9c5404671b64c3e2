"""A temporary store on disk for examples and texts, so that memory is bounded by a share of the texts.

A data set has up to 1.5 million distinct texts. Each is written once, sorted by id, and all files must be
read before the first row is written.
"""

import hashlib
import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from lextables.pipeline.dataset import Row

HEX = 16  # digits of an id
FILES = 256  # texts are distributed over the files by the first two digits of their id


def text_id(text: str) -> str:
    """The id of a text: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:HEX]


class Spool:
    """Examples in their order of arrival, and their texts sorted by id.

    They are stored in a temporary folder (``TMPDIR``) that is as large as all texts uncompressed and is
    removed with the spool.
    """

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="lextables-"))
        self._remove = weakref.finalize(self, shutil.rmtree, folder)
        self._texts = [folder / f"{number:02x}" for number in range(FILES)]
        self._examples = folder / "examples"

    def fill(self, examples: Iterable[tuple[Row, str, str, int]]) -> None:
        """Store examples: (row without text ids, premise, hypothesis, number of repeats).

        Call it once, before reading.
        """
        files = [path.open("w", encoding="utf-8") for path in self._texts]
        try:
            with self._examples.open("w", encoding="utf-8") as out:
                for row, premise, hypothesis, times in examples:
                    ids = {
                        "text_id": _write_text(files, premise),
                        "pair_id": _write_text(files, hypothesis),
                    }
                    out.write(f"{json.dumps([row | ids, times])}\n")
        finally:
            for file in files:
                file.close()

    def examples(self) -> Iterator[Row]:
        """Yield the examples; repeats get a number after their id."""
        with self._examples.open(encoding="utf-8") as lines:
            for line in lines:
                row, times = json.loads(line)
                suffixes = [f".{repeat:02d}" for repeat in range(times)] if times > 1 else [""]
                for suffix in suffixes:
                    yield row | {"example_id": row["example_id"] + suffix}

    def texts(self, length: Callable[[str], int]) -> Iterator[Row]:
        """Yield the distinct texts sorted by id; ``length`` counts the tokens of a text."""
        for path in self._texts:
            with path.open(encoding="utf-8") as lines:
                texts = dict(json.loads(line) for line in lines)
            for name, text in sorted(texts.items()):
                yield {"text_id": name, "text": text, "tokens": length(text)}


def _write_text(files: list[IO[str]], text: str) -> str:
    name = text_id(text)
    files[int(name[:2], 16)].write(f"{json.dumps([name, text])}\n")
    return name
