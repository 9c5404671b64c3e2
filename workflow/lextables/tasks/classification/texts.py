"""The texts, or pairs of texts, of the examples of a data set."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from lextables.pipeline.dataset import read
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.examples import PLAIN, Key, View, key_of


@dataclass(frozen=True)
class Text:
    """A text, or a pair with a ``second`` text; ``key`` is that of its examples (`key_of`)."""

    key: Key
    text: str
    second: str | None = None


def content_id(text: str) -> str:
    """Return an id of a text: the first 80 bits of its SHA-256, in hex.  Equal texts are stored once."""
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def texts_of(examples: str | Path, texts: str | Path, views: Iterable[View] = ()) -> Iterator[Text]:
    """Yield the texts and pairs of the examples, each once, in the order of the table of texts.

    These are the texts and pairs under all ``views``, or the columns of `PLAIN` without views.  Only second
    texts are held in memory.  Raises `BadInput` for a missing second text.
    """
    several = list(views) or [PLAIN]
    there = pq.read_schema(examples).names
    columns = sorted({name for view in several for name in view.values() if name in there})
    seconds_of: dict[str, set[str]] = defaultdict(set)
    for row in read(examples, columns):
        for text_id, pair_id in (key_of(row, view) for view in several):
            seconds_of[text_id].add(pair_id)
    wanted = set().union(*seconds_of.values()) - {""}
    seconds = {text_id: text for text_id, text in _stored(texts) if text_id in wanted} if wanted else {}
    if missing := sorted(wanted - seconds.keys()):
        named = " or ".join(sorted({view["pair"] for view in several if view["pair"]}))
        raise BadInput(f"the text {missing[0]!r} of the column {named} is not there", where="texts")
    for text_id, text in _stored(texts):
        for pair_id in sorted(seconds_of.get(text_id, ())):
            yield Text((text_id, pair_id), text, seconds.get(pair_id))


def _stored(texts: str | Path) -> Iterator[tuple[str, str]]:
    return ((row["text_id"], row["text"]) for row in read(texts, ["text_id", "text"]))
