"""The text that the released prediction step gives to a span of tokens.

CUAD's utils.py and MAUD's (get_final_text, which transformers 4 has too) write the tokens of a span out as
text, look for it in the words that the tokens are of, as BERT's basic tokenizer writes those, and take what
stands there.  Where they do not find it they take the words whole: with RoBERTa's tokenizer wherever a mark
of punctuation touches a word, since the basic tokenizer parts the two.  Spans that differ only within a
word so become one, and the release keeps each text once.
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
# What a token begins with that goes on in the middle of a word.
_CONTINUES = "##"


def basic_words(word: str, lower: bool) -> list[str]:
    """Return what BERT's basic tokenizer makes of a word that holds none of what parts words.

    It drops control characters, splits at other white space and around Chinese characters and marks, and
    composes accents (transformers 4.57, BasicTokenizer); with ``lower`` it lowers and drops accents too.
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
    """The character that stands for each byte in byte-level vocabularies (GPT-2), turned round."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + at): byte for at, byte in enumerate(hidden)}


class Spelling:
    """How the tokens of a tokenizer are written out.

    WordPiece parts its tokens by blanks, but for those that go on in a word; a byte-level vocabulary holds
    bytes in disguise; SentencePiece writes a blank as U+2581.  ``lower`` says that the tokenizer lowers its
    text, for which the released scripts are to be given ``--do_lower_case``.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        fast = backend(tokenizer)
        parts = [part.__getstate__() for part in (fast.pre_tokenizer, fast.decoder) if part is not None]
        self.wordpiece = type(fast.model).__name__ == "WordPiece"
        self._bytes = _byte_alphabet() if any(b'"ByteLevel"' in part for part in parts) else None
        self.lower = fast.normalizer is not None and fast.normalizer.normalize_str("A") == "a"

    def pieces(self, ids: np.ndarray) -> tuple[list[bytes], np.ndarray]:
        """Return the UTF-8 of each token of ``ids``, and whether it goes on in a word (bool)."""
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
        """Write the words as the basic tokenizer does, and count their characters on both sides."""
        known: dict[str, str] = {}
        written = []
        for start, end in zip(self._words.starts.tolist(), self._words.ends.tolist(), strict=True):
            word = self.text[start:end]
            if word not in known:
                known[word] = " ".join(basic_words(word, lower))
            written.append(known[word])
        # A word of which nothing is left takes no place and no blank.
        self._basic = " ".join(filter(None, written))
        sizes = np.array([len(word) for word in written], dtype=np.int64)
        after = np.cumsum(sizes + (sizes > 0))
        self._basic_from = after - sizes - (sizes > 0)
        # The end of the last word that is written, the word itself or one before it.
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
        """Return the characters [start, end) whose text, `collapsed`, the release gives to a span.

        ``first`` and ``last`` are its tokens.
        """
        word, last_word = self._word[first], self._word[last]
        whole = int(self._words.starts[word]), int(self._words.ends[last_word])
        spelt = self._spelt[self._piece_from[first] : self._piece_from[last + 1]]
        sought = " ".join(spelt.decode(errors="replace").split())
        if not sought or self._within[first]:
            return whole
        low = int(self._basic_from[word])
        found = self._basic.find(sought, low, max(low, int(self._basic_to[last_word])))
        if found < 0:
            return whole
        length = self._length_from[last_word + 1] - self._length_from[word]
        if length != self._basic_length_from[last_word + 1] - self._basic_length_from[word]:
            return whole
        before = self._length_from[word] - self._solid[low]
        start = self._character[before + self._solid[found]]
        end = self._character[before + self._solid[found + len(sought) - 1]]
        return int(start), int(end) + 1

    def marked(self, first: int, last: int) -> tuple[int, int]:
        """Return the characters [start, end) from the first token to the last, less white space at the edges.

        Where the tokens have no character, those of `place`.
        """
        start, end = int(self.tokens.starts[first]), int(self.tokens.ends[last])
        span = self.text[start:end]
        start, end = end - len(span.lstrip()), start + len(span.rstrip())
        return (start, end) if start < end else self.place(first, last)
