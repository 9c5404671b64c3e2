"""Short premises are cited pages extended to paragraphs (LawngNLI, A.1.1); ends of long
premises (A.1.9).
"""

from pathlib import Path

import pytest

from helpers.caselaw_volume import html, label, metadata, write_zip
from lextables.corpora.caselaw.ingest import write_opinions
from lextables.corpora.caselaw.opinion import Page
from lextables.models.token_count import TokenCounter
from lextables.papers.lawngnli.premises import entail_examples
from lextables.papers.lawngnli.premises.entail_examples import (
    MajorityOpinion,
    MajorityOpinions,
    short_premise,
)
from lextables.papers.lawngnli.premises.long_premises import closing_paragraphs
from lextables.pipeline import dataset

# Page labels are written as |n| in the text below.
MARKED = "|10|First paragraph.\nSecond |11|begins.\n|12|Third.\nFourth |13|and |14|last.\nFifth.\nA note."


def opinion(marked: str = MARKED, footnotes: str = "\nA note.") -> MajorityOpinion:
    text, pages = "", []
    for number, piece in enumerate(marked.split("|")):
        if number % 2:
            pages.append(Page(piece, len(text)))
        else:
            text += piece
    end = text.index(footnotes) if footnotes else len(text)
    return MajorityOpinion("1-0", text, tuple(pages), end, "Test", "7")


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        (["10"], "First paragraph.\nSecond begins."),
        (["11"], "Second begins."),
        (["12"], "Third.\nFourth and last."),
        (["13"], "Fourth and last."),
        (["14"], "Fourth and last.\nFifth."),
        (["11", "13"], "Second begins.\nFourth and last."),
        (["13", "14"], "Fourth and last.\nFifth."),
        (["11", "12"], "Second begins.\nThird.\nFourth and last."),
        (["12", "99"], "Third.\nFourth and last."),
        (
            ["10", "11", "12", "13", "14"],
            "First paragraph.\nSecond begins.\nThird.\nFourth and last.\nFifth.",
        ),
    ],
)
def test_pages_are_extended_to_paragraphs_without_repeats(
    pages: list[str], expected: str
) -> None:
    whole = opinion()
    premise = short_premise(whole, pages)
    assert premise is not None
    assert premise.text == expected
    assert premise.text == "\n".join(
        whole.text[start:end] for start, end in premise.spans
    )
    assert list(premise.spans) == sorted(premise.spans)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('|1|As the board said,\n"The pier is open."\n|2|Next.', 2),
        ("|1|The judgment is\nReversed.\n|2|Next.", 2),
        ("|1|As follows:\nfirst,\nsecond.\n|2|Next.", 3),
        ("|1|The pier is open.\nNext.\n|2|Last.", 2),
        ('|1|He said: "It sank."\n|2|Next.', 1),
        ("|1|It sank.3\n|2|Next.", 1),
        ("|1|It sank. [Footnote 3]\n|2|Next.", 1),
        ("|1|It sank without end\n", 1),
    ],
)
def test_a_premise_goes_on_to_the_end_of_its_last_sentence(
    text: str, expected: int
) -> None:
    premise = short_premise(opinion(text, ""), ["1"])
    assert premise is not None
    assert len(premise.text.split("\n")) == expected


def test_a_premise_goes_back_to_the_begin_of_its_first_sentence() -> None:
    whole = opinion("|1|One.\nThe board said,\n|2|and we agree.\n|3|Three.", "")
    premise = short_premise(whole, ["2"])
    assert premise is not None
    assert premise.text == "The board said,\nand we agree."


def test_a_premise_does_not_go_on_into_the_footnotes() -> None:
    whole = opinion("|1|The board said,\nNote one.", "Note one.")
    premise = short_premise(whole, ["1"])
    assert premise is not None
    assert premise.text == "The board said,"


def test_missing_pages_give_no_premise() -> None:
    assert short_premise(opinion(), ["9", "15"]) is None
    assert short_premise(opinion("No page is labelled.", ""), ["9"]) is None


def test_a_page_with_only_white_space_gives_no_premise() -> None:
    assert short_premise(opinion("|1|One.\n|2||3|Two.", ""), ["2"]) is None


def test_opinions_are_read_by_their_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entail_examples, "HELD", 1)
    body = html(("majority", [f"{label(1)}Text &lt;1&gt;."]), ("dissent", ["No."]))
    cases = {
        str(n): (metadata(n, f"{n} Test 1"), body.replace("1&gt", f"{n}&gt"))
        for n in range(1, 41)
    }
    volume = write_zip(tmp_path / "v.zip", cases)
    shard = tmp_path / "v.parquet"
    write_opinions([volume], shard, skip_unreadable=False)
    rows = list(dataset.read(shard))
    found = MajorityOpinions([shard])
    for row in (79, 0, 33, 31, 32, 1):
        read = found.at(0, row)
        assert (read.opinion_id, read.text) == (
            rows[row]["opinion_id"],
            rows[row]["text"],
        )
        assert (read.reporter, read.volume) == ("Test", rows[row]["volume"])
    assert found.at(0, 2).pages == (Page("1", 0),)


def letters_and_line_ends(text):
    """Count every word and every line end as one token."""
    return len(text.replace("\n", " \n ").replace("  ", " ").split(" ")) if text else 0


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        ("a b c\nd e\nf g", 2, 1),  # the last paragraph is just enough
        ("a b c\nd e\nf g", 3, 2),  # one more token requires one more paragraph
        ("a b c\nd e\nf g", 5, 2),  # two paragraphs and the line end between them
        ("a b c\nd e\nf g", 6, 3),
        ("a b c\nd e\nf g", 99, 3),  # at most all paragraphs
        ("a b c", 99, 1),
        ("", 5, 1),
    ],
)
def test_closing_paragraphs_have_enough_tokens(text, tokens, expected):
    assert closing_paragraphs(text, letters_and_line_ends, tokens) == expected


def test_closing_paragraphs_are_counted_as_in_the_released_code():
    """The released code counts the line ends among the last 512 token ids, plus one."""
    count = TokenCounter()
    paragraphs = [
        f"Paragraph {n}: the lessee paid {n} dollars, and the lessor kept it."
        * (n % 4 + 1)
        for n in range(60)
    ]
    text = "\n".join(paragraphs)
    ids = count._tokenizer.encode(text).ids
    line_end = count._tokenizer.encode("\n").ids[0]
    for tokens in (1, 50, 511, 512, 513, 2000):
        released = sum(i == line_end for i in ids[-tokens:]) + 1
        assert closing_paragraphs(text, count.tokens, tokens) == released
