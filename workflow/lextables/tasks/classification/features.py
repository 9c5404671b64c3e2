"""Tokens of the texts or pairs that classifiers read.

Each text or pair is tokenised once for all heads.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from transformers import AutoConfig, PreTrainedTokenizerBase

from lextables.models.positions import positions
from lextables.models.tokenizers import load_tokenizer
from lextables.pipeline.dataset import Column, Row, Table, batched, row_groups, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.examples import Key, Text

AT_ONCE = 32  # texts, which may be whole opinions
TOKENS = Table(
    "tokens",
    "Each text, or pair of texts, once, as a model's tokens.",
    (
        Column("text_id", pa.string(), "the text"),
        Column(
            "pair_id",
            pa.string(),
            "the second text of a pair; empty for a text that stands alone",
        ),
        Column(
            "ids",
            pa.list_(pa.int32()),
            "token ids, special tokens included, cut to the model's length",
        ),
        Column(
            "first",
            pa.int32(),
            "ids of the model's first segment: all, but of a pair in some models",
        ),
        Column(
            "length",
            pa.int32(),
            "how many tokens the whole text has, special tokens included",
        ),
    ),
    key=("text_id", "pair_id"),
    ordered=False,
    row_group=256,
)


@dataclass(frozen=True)
class Tokens:
    """The tokens of many texts: text k's are ``ids[starts[k]:starts[k + 1]]``, int32.

    The first ``firsts[k]`` of them are in the model's first segment.  ``position`` is
    {key of a text: k}.
    """

    ids: np.ndarray
    starts: np.ndarray
    firsts: np.ndarray
    position: Mapping[Key, int]

    def __getitem__(self, key: Key) -> np.ndarray:
        at = self.position[key]
        return self.ids[self.starts[at] : self.starts[at + 1]]

    def first(self, key: Key) -> int:
        """The number of tokens in the model's first segment."""
        return int(self.firsts[self.position[key]])


def tokenise(
    texts: Iterable[Text], folder: str, max_length: int, path: str | Path
) -> dict[str, int]:
    """Write the `TOKENS` of ``texts`` to ``path``, by the tokenizer of a model's
    folder.

    Texts are truncated to ``max_length`` tokens, pairs from the end of the longer text.
    Memory use is bounded by one row group.  Returns the counts ``texts``, ``cut`` and
    ``longest`` (tokens).  Raises `BadInput` for an empty or repeated text or pair, or
    if the model cannot read ``max_length`` tokens.
    """
    tokenizer = load_tokenizer(folder)
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    # The tokenizer and the positions of the model both limit the length.
    most = tokenizer.model_max_length
    limit = min(positions(config) or most, most)
    if max_length > limit:
        what = f"max_length = {max_length} where the model reads {limit} tokens"
        raise BadInput(what, where=str(folder))
    counts = {"texts": 0, "cut": 0, "longest": 0}
    # Only a model with token types distinguishes the segments of a pair.
    has_types = getattr(config, "type_vocab_size", 0) > 1

    def rows() -> Iterator[Row]:
        """Yield the row of each text, and count it."""
        for part in batched(map(_not_empty, texts), AT_ONCE):
            encodings = _encodings(tokenizer, part, max_length)
            for text, encoding in zip(part, encodings, strict=True):
                counts["texts"] += 1
                counts["cut"] += encoding.length > max_length
                counts["longest"] = max(counts["longest"], encoding.length)
                yield {
                    "text_id": text.key[0],
                    "pair_id": text.key[1],
                    "ids": np.asarray(encoding.ids, dtype=np.int32),
                    "first": _first(encoding.types if has_types else (), encoding.ids),
                    "length": encoding.length,
                }

    write(TOKENS, rows(), path)
    return counts


def _not_empty(text: Text) -> Text:
    """Return the text; `BadInput` if it is blank.

    One side of a pair may be blank, as in some published data sets.
    """
    if not text.text.strip() and not (text.second or "").strip():
        raise BadInput("the text is empty", where=f"text {text.key[0]}")
    return text


@dataclass(frozen=True)
class _Encoding:
    """The ``ids`` and segments (``types``) of a truncated text, and the ``length`` of
    the whole one.
    """

    ids: Sequence[int]
    types: Sequence[int]
    length: int


def _encodings(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[Text], max_length: int
) -> Iterator[_Encoding]:
    """Yield the encodings of ``texts``, as `tokenizer` truncates them, each tokenised
    once.
    """
    if not tokenizer.is_fast:
        for text in texts:
            yield _slow_encoding(tokenizer, text, max_length)
        return
    backend = tokenizer.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    encode = partial(backend.encode_batch_fast, add_special_tokens=False)
    firsts = encode([text.text for text in texts])
    seconds = iter(encode([text.second for text in texts if text.second]))
    backend.enable_truncation(max_length, direction=tokenizer.truncation_side)
    for text, first in zip(texts, firsts, strict=True):
        second = next(seconds) if text.second else None
        length = len(first) + backend.num_special_tokens_to_add(second is not None)
        if second is not None:
            length += len(second)
        # Truncates, longest side first, and adds the special tokens.
        encoding = backend.post_process(first, second)
        yield _Encoding(encoding.ids, encoding.type_ids, length)


def _slow_encoding(
    tokenizer: PreTrainedTokenizerBase, text: Text, max_length: int
) -> _Encoding:
    """The encoding of a text by a tokenizer that is written in Python."""
    pair = text.text, text.second
    options = {"verbose": False, "return_token_type_ids": True}
    encoding = tokenizer(*pair, truncation=False, **options)
    length = len(encoding["input_ids"])
    if length > max_length:
        encoding = tokenizer(
            *pair, truncation="longest_first", max_length=max_length, **options
        )
    return _Encoding(encoding["input_ids"], encoding["token_type_ids"], length)


def _first(types: Sequence[int], ids: Sequence[int]) -> int:
    """Return the number of tokens before the second segment, or of all without one."""
    return types.index(1) if 1 in types else len(ids)


def read_tokens(path: str | Path, keys: Collection[Key] | None = None) -> Tokens:
    """Read a file of `tokenise`, or only the texts ``keys``; 4 bytes for each token."""
    nothing = np.empty(0, dtype=np.int32)
    ids = [nothing]
    lengths = [nothing]
    firsts = [nothing]
    position: dict[Key, int] = {}
    for table in row_groups(path, ["text_id", "pair_id", "ids", "first"]):
        if keys is not None:
            is_wanted = [key in keys for key in _keys(table)]
            table = table.filter(pa.array(is_wanted, pa.bool_()))
        for key in _keys(table):
            position[key] = len(position)
        lists = table["ids"].combine_chunks()
        ids.append(lists.flatten().to_numpy())
        lengths.append(lists.value_lengths().to_numpy())
        firsts.append(table["first"].to_numpy())
    ends = np.cumsum(np.concatenate(lengths))
    return Tokens(
        ids=np.concatenate(ids),
        starts=np.concatenate([[0], ends]),
        firsts=np.concatenate(firsts),
        position=position,
    )


def _keys(table: pa.Table) -> list[Key]:
    """Return the keys of the texts in a part of a file of `tokenise`."""
    columns = (table[name].to_pylist() for name in ("text_id", "pair_id"))
    return list(zip(*columns, strict=True))
