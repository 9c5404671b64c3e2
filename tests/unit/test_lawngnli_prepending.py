import pytest

from lextables.models.token_count import TokenCounter
from lextables.papers.lawngnli.long_premises import closing_paragraphs


def letters_and_line_ends(text):
    """A count in which every word and every line end is one token."""
    return len(text.replace("\n", " \n ").replace("  ", " ").split(" ")) if text else 0


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        ("a b c\nd e\nf g", 2, 1),  # the last paragraph is just enough
        ("a b c\nd e\nf g", 3, 2),  # one token more takes one paragraph more
        ("a b c\nd e\nf g", 5, 2),  # two paragraphs and the line end between them
        ("a b c\nd e\nf g", 6, 3),
        ("a b c\nd e\nf g", 99, 3),  # never more than there are
        ("a b c", 99, 1),
        ("", 5, 1),
    ],
)
def test_closing_paragraphs(text, tokens, expected):
    assert closing_paragraphs(text, letters_and_line_ends, tokens) == expected


def test_as_the_released_code_counts_from_the_ids_of_the_whole():
    """There: line ends among the last 512 ids, plus one."""
    count = TokenCounter()
    paragraphs = [
        f"Paragraph {n}: the lessee paid {n} dollars, and the lessor kept it." * (n % 4 + 1)
        for n in range(60)
    ]
    text = "\n".join(paragraphs)
    ids = count._tokenizer.encode(text).ids
    line_end = count._tokenizer.encode("\n").ids[0]
    for tokens in (1, 50, 511, 512, 513, 2000):
        released = sum(i == line_end for i in ids[-tokens:]) + 1
        assert closing_paragraphs(text, count.tokens, tokens) == released
