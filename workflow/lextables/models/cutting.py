"""Cut a long text before it is tokenised, where the tokens that a model reads cannot
change.

A model reads the first few hundred tokens of an opinion of ten thousand.  A text is cut
at a single space between ASCII letters or digits.  The tokenizers that `is_cuttable`
accepts split there before anything else and look at no text behind it, so the tokens of
the part are the first tokens of the whole text.
"""

import json
from collections.abc import Mapping
from typing import Any

from transformers import PreTrainedTokenizerBase

CHARACTERS = 8  # of a token: almost every text has fewer on average
FARTHEST = 2000  # characters in which a place to cut is searched, backwards
# Pre-tokenizers that split at a space.
SPLITTING = frozenset({"BertPreTokenizer", "Whitespace", "WhitespaceSplit"})
# Normalizers that change a character by itself or with its combining marks, or the ends
# of a text.
LOCAL = frozenset(
    {
        *("BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt"),
        *("Precompiled", "Prepend", "Strip", "StripAccents"),
    }
)
SEVERAL_SPACES = {"Regex": " {2,}"}


def is_cuttable(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether tokens before a space between words do not depend on the text after
    it.
    """
    if not tokenizer.is_fast or tokenizer.truncation_side != "right":
        return False
    backend = tokenizer.backend_tokenizer
    for token in tokenizer.added_tokens_decoder.values():
        # A token may contain the space, or take it from the word before.
        if any(map(str.isspace, token.content)) or token.content[:1].isalnum():
            return False
    return _splits(_state(backend.pre_tokenizer)) and _is_local(
        _state(backend.normalizer)
    )


def cut(text: str, tokens: int) -> str:
    """Return the beginning of ``text``, most likely with at least ``tokens``.

    The whole text if it is short, or has no place to cut.
    """
    end = CHARACTERS * tokens
    if len(text) <= end:
        return text
    farthest = max(1, end - FARTHEST)
    while end > farthest:
        end = text.rfind(" ", farthest, end)
        if end < 0:
            break
        around = text[end - 1] + text[end + 1]
        if around.isascii() and around.isalnum():
            return text[:end]
    return text


def _state(part: Any) -> Mapping[str, Any] | None:
    """The settings of a part of a tokenizer; None if the tokenizer has none."""
    return None if part is None else json.loads(part.__getstate__())


def _splits(pre_tokenizer: Mapping[str, Any] | None) -> bool:
    """Whether a pre-tokenizer splits at a space between words."""
    if pre_tokenizer is None:
        return False
    kind = pre_tokenizer["type"]
    if kind == "Sequence":  # the others split the parts of the first
        return _splits(pre_tokenizer["pretokenizers"][0])
    if kind == "ByteLevel":
        return pre_tokenizer["use_regex"]
    if kind == "Metaspace":
        return pre_tokenizer["split"]
    return kind in SPLITTING


def _is_local(normalizer: Mapping[str, Any] | None) -> bool:
    """Whether a normalizer leaves a space between words, and looks at no text behind
    it.
    """
    if normalizer is None:
        return True
    kind = normalizer["type"]
    if kind == "Sequence":
        return all(map(_is_local, normalizer["normalizers"]))
    if kind == "Replace":
        pattern = normalizer["pattern"]
        return pattern == SEVERAL_SPACES or " " not in pattern.get("String", " ")
    return kind in LOCAL
