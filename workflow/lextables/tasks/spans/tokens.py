"""The tokens and words of a contract, and the tokens of answers.

As in the released CUAD code (train.py, which calls transformers 4's
squad_convert_examples_to_features), a contract is split into words at white space and
each word is tokenised separately.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import tokenizers
from transformers import PreTrainedTokenizerBase

from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.squad import PARTING

MAX_CHARACTERS = 5_000_000
# Words of transformers 4's SquadExample; other Unicode spaces are part of a word.
_WORD = re.compile(f"[^{PARTING}]+")
# Start of a word in SentencePiece's vocabularies.
_MARK = "\u2581"
# Words tokenised in one call, to bound the memory for offsets as Python objects.
_WORDS_A_CALL = 20_000


@dataclass(frozen=True)
class Tokens:
    """The tokens of one contract: int32 arrays of one length.

    ``starts`` and ``ends`` are characters of the contract's text, half-open, without
    surrounding white space; they are equal for a token without characters.
    """

    ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Words:
    """The words of one contract as int64 arrays.

    ``starts`` and ``ends`` are characters of the contract's text, half-open.  Word k
    has the tokens ``token_from[k]`` to ``token_from[k + 1]`` (exclusive); it may have
    none.
    """

    starts: np.ndarray
    ends: np.ndarray
    token_from: np.ndarray

    @classmethod
    def of(cls, text: str, tokens: Tokens) -> "Words":
        """Return the words of the contract ``text`` with these ``tokens``."""
        separators = list(map(ord, PARTING))
        is_within = ~np.isin(codes_of(text), separators)
        changes = np.diff(is_within, prepend=False, append=False)
        starts, ends = np.flatnonzero(changes).reshape(-1, 2).T
        # Words are separated by white space, so a token starts in one word only.
        token_from = np.searchsorted(tokens.starts, starts)
        return cls(starts, ends, np.append(token_from, len(tokens)))

    def __len__(self) -> int:
        return len(self.starts)

    def of_characters(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and the last word of the characters [start, end).

        White space belongs to the word before it, as in the released conversion; -1 if
        there is none.
        """
        characters = (start, end - 1)
        after = np.searchsorted(self.starts, characters, side="right")
        first, last = (after - 1).tolist()
        return first, last


def codes_of(text: str) -> np.ndarray:
    """Return the code point of each character, uint32."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


@dataclass(frozen=True)
class Layout:
    """The special tokens around a question and a contract, and the segments.

    A sequence is prefix, question, middle, contract, suffix.  Each ``*_types`` has the
    length of its part; ``question_type`` and ``contract_type`` are those of all tokens.
    """

    prefix: tuple[int, ...]
    middle: tuple[int, ...]
    suffix: tuple[int, ...]
    prefix_types: tuple[int, ...]
    middle_types: tuple[int, ...]
    suffix_types: tuple[int, ...]
    question_type: int
    contract_type: int

    @property
    def special(self) -> int:
        """The number of special tokens in a sequence."""
        return len(self.prefix) + len(self.middle) + len(self.suffix)


def layout(tokenizer: PreTrainedTokenizerBase) -> Layout:
    """Return the special tokens that ``tokenizer`` puts around a pair.

    They are found by encoding one.  Raises `BadInput` for a tokenizer without offsets
    (a slow one), and if sequences do not begin with the classification token: position
    0 means "no answer".
    """
    pair = backend(tokenizer).encode("a", "b")
    parts = []
    for part, special in zip(pair.sequence_ids, pair.special_tokens_mask, strict=True):
        parts.append(None if special else part)
    if 0 not in parts or 1 not in parts:
        raise unfit(tokenizer, "has no token for one of the letters a and b")
    question = parts.index(0)
    contract = parts.index(1)
    from_end = parts[::-1]
    after_question = len(parts) - from_end.index(0)
    after_contract = len(parts) - from_end.index(1)
    if question == 0 or pair.ids[0] != tokenizer.cls_token_id:
        raise unfit(tokenizer, "does not begin sequences with its classification token")
    if contract < after_question:
        raise unfit(tokenizer, "puts the second text of a pair before the first")
    ids = tuple(pair.ids)
    types = tuple(pair.type_ids)
    return Layout(
        prefix=ids[:question],
        middle=ids[after_question:contract],
        suffix=ids[after_contract:],
        prefix_types=types[:question],
        middle_types=types[after_question:contract],
        suffix_types=types[after_contract:],
        question_type=types[question],
        contract_type=types[contract],
    )


def tokenise(tokenizer: PreTrainedTokenizerBase, text: str, where: str) -> Tokens:
    """Return the tokens of a contract, without special tokens.

    Words are separated by blanks, tabs, line ends and U+202F and tokenised separately
    (transformers 4's SquadExample); the number and kind of separators do not matter.
    Raises `BadInput`, with ``where``, for a text without tokens or with more than
    5,000,000 characters.
    """
    if len(text) > MAX_CHARACTERS:
        raise BadInput(
            f"the contract has {len(text):,} characters, more than the maximum of "
            f"{MAX_CHARACTERS:,}",
            where=where,
            do="split it or leave it out",
        )
    words = _WORD.finditer(text)
    parts = []
    while batch := list(itertools.islice(words, _WORDS_A_CALL)):
        parts.append(_tokenise_words(tokenizer, batch))
    if not sum(map(len, parts)):
        raise BadInput(
            "the contract is empty", where=where, do="give its text or leave it out"
        )
    return Tokens(
        ids=np.concatenate([part.ids for part in parts]),
        starts=np.concatenate([part.starts for part in parts]),
        ends=np.concatenate([part.ends for part in parts]),
    )


def _tokenise_words(
    tokenizer: PreTrainedTokenizerBase, words: Sequence[re.Match[str]]
) -> Tokens:
    """Return the tokens of words of one text."""
    # A word has the same tokens everywhere, so each distinct word is tokenised once.
    number_of: dict[str, int] = {}
    numbers = []
    places = []
    for word in words:
        numbers.append(number_of.setdefault(word[0], len(number_of)))
        places.append(word.start())
    spaced = list(map(_spaced, number_of))
    added = [
        len(with_space) - len(text)
        for with_space, text in zip(spaced, number_of, strict=True)
    ]
    encoded = _encode(tokenizer, spaced)
    ids = np.array(encoded.ids, dtype=np.int32)
    word_ids = np.array(encoded.word_ids, dtype=np.int64)
    offsets = np.array(encoded.offsets, dtype=np.int64).reshape(-1, 2)
    # The added space is not a character of the text.
    added_to_token = np.array(added)[word_ids]
    offsets = np.maximum(offsets - added_to_token[:, None], 0)
    # Tokens of distinct words become those of all words.
    token_counts = np.bincount(word_ids, minlength=len(number_of))
    first_tokens = np.cumsum(token_counts) - token_counts
    counts = token_counts[numbers]
    tokens = _ranges(first_tokens[numbers], counts)
    word_starts = np.repeat(places, counts)
    starts, ends = word_starts + offsets[tokens].T
    return Tokens(ids[tokens], starts.astype(np.int32), ends.astype(np.int32))


def _spaced(word: str) -> str:
    """Return a word with a space before it, as the release does for RoBERTa.

    RoBERTa's slow tokenizer omits it before U+00A0.  The release adds no space for
    DeBERTa, whose words then lack the marker of a word's start; for WordPiece and
    SentencePiece it makes no difference.
    """
    return word if word[:1].isspace() else f" {word}"


def _ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return range(start, start + size) of all pairs, concatenated."""
    before = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) + np.repeat(starts - before, sizes)


def answer_tokens(
    tokenizer: PreTrainedTokenizerBase,
    text: str,
    tokens: Tokens,
    words: Words,
    start: int,
    end: int,
) -> tuple[int, int] | None:
    """Return the first and the last token of the label of an answer.

    These are the tokens of all words that the answer, characters [start, end), touches;
    if the tokens of the answer alone occur among them, their first occurrence
    (squad_convert_example_to_features and _improve_answer_span in the released
    conversion).  The answer alone begins without a space, which changes its first token
    with RoBERTa, so that there nearly all labels are whole words, including
    punctuation.

    Returns None if the release creates no training example of an answer because it is
    not in its words with white space collapsed: if it contains white space that does
    not separate words, such as U+00A0.  The last token is before the first if the words
    have no token.
    """
    first, last = words.of_characters(start, end)
    answer = text[start:end]
    if first < 0:
        return None
    touched = []
    for word in range(first, last + 1):
        touched.append(text[words.starts[word] : words.ends[word]])
    if " ".join(answer.split()) not in " ".join(touched):
        return None
    low = int(words.token_from[first])
    high = int(words.token_from[last + 1])
    encoded = _encode(tokenizer, answer)
    alone: Sequence[int | str] = encoded.ids
    here: Sequence[int | str] = tokens.ids[low:high].tolist()
    if tokenizer.unk_token_id in alone:
        # Unknown characters share an id, so their text is compared.
        alone = encoded.tokens
        here = _encode(tokenizer, list(map(_spaced, touched))).tokens
    size = len(alone)
    if size:
        for at in range(len(here) - size + 1):
            if here[at : at + size] == alone:
                first_token = low + at
                return first_token, first_token + size - 1
    return low, high - 1


def question_ids(
    tokenizer: PreTrainedTokenizerBase, question: str, max_length: int
) -> np.ndarray:
    """Return the first ``max_length`` token ids of a question (int32)."""
    ids = _encode(tokenizer, question).ids
    return np.array(ids[:max_length], dtype=np.int32)


@dataclass(frozen=True)
class _Encoded:
    """The tokens of a text or of words; offsets are in the text or in the word."""

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    word_ids: list[int | None]


def _encode(tokenizer: PreTrainedTokenizerBase, text: str | list[str]) -> _Encoded:
    """Return the tokens of a text or of words, as transformers 4's slow tokenizer."""
    fast = backend(tokenizer)
    encoded = fast.encode(
        text, is_pretokenized=isinstance(text, list), add_special_tokens=False
    )
    encoding = _Encoded(encoded.ids, encoded.tokens, encoded.offsets, encoded.word_ids)
    if "Albert" in type(tokenizer).__name__:
        return _with_commas_apart(tokenizer, encoding)
    return encoding


def _with_commas_apart(tokenizer: PreTrainedTokenizerBase, found: _Encoded) -> _Encoded:
    """Return the tokens with a comma after a digit as a separate token.

    ALBERT's slow tokenizer, like BERT's, separates it and encodes the text before the
    comma again; the fast one does not.
    """
    apart = _Encoded([], [], [], [])
    rows = zip(found.ids, found.tokens, found.offsets, found.word_ids, strict=True)
    for token_id, token, (start, end), word in rows:
        pieces = [token]
        ids = [token_id]
        if token.endswith(",") and token[-2:-1].isdigit():
            pieces = _without_comma(tokenizer, token)
            pieces.append(",")
            ids_of_pieces = tokenizer.convert_tokens_to_ids(pieces)
            assert isinstance(ids_of_pieces, list)  # as the pieces are
            ids = ids_of_pieces
        # From the end: the first piece may include a space.
        cuts = [end]
        for piece in reversed(pieces[1:]):
            size = len(piece.replace(_MARK, ""))
            cuts.append(max(start, cuts[-1] - size))
        cuts.append(start)
        apart.ids.extend(ids)
        apart.tokens.extend(pieces)
        apart.offsets.extend(itertools.pairwise(reversed(cuts)))
        apart.word_ids.extend([word] * len(pieces))
    return apart


def _without_comma(tokenizer: PreTrainedTokenizerBase, token: str) -> list[str]:
    """Return the tokens of the text of a token before its comma."""
    number = token.removesuffix(",").replace(_MARK, "")
    encoded = backend(tokenizer).encode(number, add_special_tokens=False)
    first, *others = encoded.tokens
    if not token.startswith(_MARK):
        first = first.removeprefix(_MARK)
    return [piece for piece in (first, *others) if piece]


def backend(tokenizer: PreTrainedTokenizerBase) -> tokenizers.Tokenizer:
    """Return the fast tokenizer inside, without truncation and padding.

    Transformers sets these at each call.  Raises `BadInput` for a slow tokenizer.
    """
    if not tokenizer.is_fast:
        raise unfit(tokenizer, "does not report the characters of a token")
    fast = tokenizer.backend_tokenizer
    fast.no_truncation()
    fast.no_padding()
    return fast


def unfit(tokenizer: PreTrainedTokenizerBase, what: str) -> BadInput:
    """Return the error for a tokenizer that cannot be used."""
    name = type(tokenizer).__name__
    return BadInput(
        f"the tokenizer {what}",
        where=name,
        do="use a fast tokenizer of BERT's or RoBERTa's kind",
    )
