"""Pairs on their way to the tables: on the disk, so that memory is bounded by a share of the texts.

A data set has up to a million and a half different texts, each of which is to stand once, in the order of its
id; and all of its files are to be read to their ends before the first row is written.
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
FILES = 256  # that texts are dealt to by their ids' first two digits


def text_id(text: str) -> str:
    """The id of a text: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:HEX]


class Spool:
    """Examples in the order that they come in, and the texts that they name, sorted by their ids.

    They lie in a folder of their own in the system's place for such (``TMPDIR``), as large as all texts
    unpacked, which goes with the spool.
    """

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="lextables-"))
        self._remove = weakref.finalize(self, shutil.rmtree, folder)
        self._texts = [folder / f"{number:02x}" for number in range(FILES)]
        self._examples = folder / "examples"

    def fill(self, examples: Iterable[tuple[Row, str, str, int]]) -> None:
        """Take up examples: the row without its texts' ids, premise, hypothesis, and how often it stands.

        Once, before anything is read from it.
        """
        files = [path.open("w", encoding="utf-8") for path in self._texts]
        try:
            with self._examples.open("w", encoding="utf-8") as out:
                for row, premise, hypothesis, times in examples:
                    ids = {
                        "text_id": _keep(files, premise),
                        "pair_id": _keep(files, hypothesis),
                    }
                    out.write(f"{json.dumps([row | ids, times])}\n")
        finally:
            for file in files:
                file.close()

    def examples(self) -> Iterator[Row]:
        """Yield the examples; one that stands several times has a number behind its id each time."""
        with self._examples.open(encoding="utf-8") as lines:
            for line in lines:
                row, times = json.loads(line)
                names = [f".{repeat:02d}" for repeat in range(times)] if times > 1 else [""]
                for name in names:
                    yield row | {"example_id": row["example_id"] + name}

    def texts(self, length: Callable[[str], int]) -> Iterator[Row]:
        """Yield the different texts by id, with the tokens that ``length`` counts in each."""
        for path in self._texts:
            with path.open(encoding="utf-8") as lines:
                found = dict(json.loads(line) for line in lines)
            for name, text in sorted(found.items()):
                yield {"text_id": name, "text": text, "tokens": length(text)}


def _keep(files: list[IO[str]], text: str) -> str:
    name = text_id(text)
    files[int(name[:2], 16)].write(f"{json.dumps([name, text])}\n")
    return name
