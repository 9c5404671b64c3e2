"""The text of a span of tokens in the released prediction step.

CUAD's and MAUD's utils.py (get_final_text, also in transformers 4) join the tokens of a span to a text,
search it in the span's words as BERT's basic tokenizer writes them, and return the original characters.  If
the text is not found, they return the whole words.  With RoBERTa's tokenizer this happens wherever
punctuation touches a word, since the basic tokenizer separates the two.  Spans that differ only within a word
then have the same text, and the release keeps each text once.
"""

import re
import unicodedata
from itertools import accumulate

import numpy as np
from transformers import PreTrainedTokenizerBase

from lextables.tasks.spans.tokens import Tokens, Words, backend

# Blocks of Chinese characters, each of which is a word to the basic tokenizer.
_CHINESE = re.compile(
    "([\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b820-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f])"
)
_ASCII_MARKS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
# Prefix of a token that continues a word.
_CONTINUES = "##"


def basic_words(word: str, lower: bool) -> list[str]:
    """Return the words of BERT's basic tokenizer (transformers 4.57) for a word without separators.

    It removes control characters, splits at other white space and around Chinese characters and punctuation,
    and composes accents; with ``lower`` it lower-cases and removes accents.
    """
    if word.isascii() and word.isalnum():
        return [word.lower() if lower else word]
    kept = (each for each in word if each != "\ufffd" and not unicodedata.category(each).startswith("C"))
    parts = unicodedata.normalize("NFC", _CHINESE.sub(r" \1 ", "".join(kept))).split()
    if lower:
        apart = (unicodedata.normalize("NFD", part.lower()) for part in parts)
        parts = ["".join(each for each in part if unicodedata.category(each) != "Mn") for part in apart]
    spaced = (f" {each} " if _is_mark(each) else each for part in parts for each in [*part, " "])
    return "".join(spaced).split()


def _is_mark(character: str) -> bool:
    return character in _ASCII_MARKS or unicodedata.category(character).startswith("P")


def _byte_alphabet() -> dict[str, int]:
    """Return {character: byte} of byte-level vocabularies (GPT-2)."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + at): byte for at, byte in enumerate(hidden)}


class Spelling:
    """How the tokens of a tokenizer are written as text.

    WordPiece separates tokens by blanks unless they continue a word; byte-level vocabularies encode bytes as
    characters; SentencePiece writes a blank as U+2581.  ``lower``: the tokenizer lower-cases its text (the
    released scripts then need ``--do_lower_case``).
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        fast = backend(tokenizer)
        parts = [part.__getstate__() for part in (fast.pre_tokenizer, fast.decoder) if part is not None]
        self.wordpiece = type(fast.model).__name__ == "WordPiece"
        self._bytes = _byte_alphabet() if any(b'"ByteLevel"' in part for part in parts) else None
        self.lower = fast.normalizer is not None and fast.normalizer.normalize_str("A") == "a"

    def pieces(self, ids: np.ndarray) -> tuple[list[bytes], np.ndarray]:
        """Return the UTF-8 of each token of ``ids``, and whether it continues a word (bool)."""
        distinct, which = np.unique(ids, return_inverse=True)
        names = self._tokenizer.convert_ids_to_tokens(distinct.tolist())
        within = np.array([self.wordpiece and name.startswith(_CONTINUES) for name in names], dtype=bool)
        spelt = [self._piece(name) for name in names]
        return [spelt[at] for at in which.tolist()], within[which]

    def _piece(self, name: str) -> bytes:
        if self.wordpiece:
            return (name.removeprefix(_CONTINUES) if name.startswith(_CONTINUES) else f" {name}").encode()
        if self._bytes:
            return b"".join(
                bytes([self._bytes[each]]) if each in self._bytes else each.encode() for each in name
            )
        return name.replace("\u2581", " ").encode()


class FinalText:
    """The released texts of the spans of one contract."""

    def __init__(self, spelling: Spelling, text: str, tokens: Tokens) -> None:
        self.text, self.tokens = text, tokens
        self._words = Words.of(text, tokens)
        pieces, self._within = spelling.pieces(tokens.ids)
        self._spelt, self._piece_from = b"".join(pieces), [0, *accumulate(map(len, pieces))]
        self._word = np.searchsorted(self._words.token_from, np.arange(len(tokens)), side="right") - 1
        self._lay_out(spelling.lower)

    def _lay_out(self, lower: bool) -> None:
        """Write the words as the basic tokenizer does, and index their characters in both texts."""
        cache: dict[str, str] = {}
        written = []
        for start, end in zip(self._words.starts.tolist(), self._words.ends.tolist(), strict=True):
            word = self.text[start:end]
            if word not in cache:
                cache[word] = " ".join(basic_words(word, lower))
            written.append(cache[word])
        # A word of which nothing is left is dropped with its blank.
        self._basic = " ".join(filter(None, written))
        sizes = np.array([len(word) for word in written], dtype=np.int64)
        after = np.cumsum(sizes + (sizes > 0))
        self._basic_from = after - sizes - (sizes > 0)
        # The end of the word, or of the last word before it that is not dropped.
        self._basic_to = after - 1
        blanks = np.frombuffer(self._basic.encode("utf-32-le", "surrogatepass"), dtype="<u4") == ord(" ")
        self._solid = np.append(0, np.cumsum(~blanks))
        lengths = self._words.ends - self._words.starts
        self._length_from = np.append(0, np.cumsum(lengths))
        self._basic_length_from = np.append(
            0, np.cumsum([len(word) - word.count(" ") for word in written], dtype=np.int64)
        )
        shift = np.repeat(self._words.starts - self._length_from[:-1], lengths)
        self._character = np.arange(len(shift)) + shift

    def place(self, first: int, last: int) -> tuple[int, int]:
        """Return the characters [start, end) of the released text of a span, before `collapsed`.

        ``first`` and ``last`` are its first and last token.
        """
        word, last_word = self._word[first], self._word[last]
        whole = int(self._words.starts[word]), int(self._words.ends[last_word])
        spelt = self._spelt[self._piece_from[first] : self._piece_from[last + 1]]
        wanted = " ".join(spelt.decode(errors="replace").split())
        if not wanted or self._within[first]:
            return whole
        low = int(self._basic_from[word])
        at = self._basic.find(wanted, low, max(low, int(self._basic_to[last_word])))
        if at < 0:
            return whole
        length = self._length_from[last_word + 1] - self._length_from[word]
        if length != self._basic_length_from[last_word + 1] - self._basic_length_from[word]:
            return whole
        before = self._length_from[word] - self._solid[low]
        start = self._character[before + self._solid[at]]
        end = self._character[before + self._solid[at + len(wanted) - 1]]
        return int(start), int(end) + 1

    def marked(self, first: int, last: int) -> tuple[int, int]:
        """Return the characters [start, end) from the first to the last token, without surrounding white
        space.

        If the tokens have no characters, the result is that of `place`.
        """
        start, end = int(self.tokens.starts[first]), int(self.tokens.ends[last])
        span = self.text[start:end]
        start, end = end - len(span.lstrip()), start + len(span.rstrip())
        return (start, end) if start < end else self.place(first, last)
