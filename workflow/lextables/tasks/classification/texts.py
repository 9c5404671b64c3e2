"""The texts, or pairs of texts, that the examples of a data set ask about."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from lextables.dataset import read
from lextables.errors import BadInput
from lextables.tasks.classification.examples import Key, key_of


@dataclass(frozen=True)
class Text:
    """A text that is asked about, or a pair with a ``second`` one; ``key`` as of its examples (`key_of`)."""

    key: Key
    text: str
    second: str | None = None


def texts_of(examples: str | Path, texts: str | Path) -> Iterator[Text]:
    """Yield what the examples of a data set ask about, each once, in the order of its texts.

    The second texts of pairs are kept in memory, others are not.  `BadInput` for one that is not there.
    """
    columns = [name for name in ("text_id", "pair_id") if name in pq.read_schema(examples).names]
    seconds_of: dict[str, set[str]] = defaultdict(set)
    for row in read(examples, columns):
        text_id, pair_id = key_of(row)
        seconds_of[text_id].add(pair_id)
    wanted = set().union(*seconds_of.values()) - {""}
    seconds = {text_id: text for text_id, text in _stored(texts) if text_id in wanted} if wanted else {}
    if missing := sorted(wanted - seconds.keys()):
        raise BadInput(f"the text {missing[0]!r} of the column pair_id is not there", where="texts")
    for text_id, text in _stored(texts):
        for pair_id in sorted(seconds_of.get(text_id, ())):
            yield Text((text_id, pair_id), text, seconds.get(pair_id))


def _stored(texts: str | Path) -> Iterator[tuple[str, str]]:
    return ((row["text_id"], row["text"]) for row in read(texts, ["text_id", "text"]))
