"""Plain characters of a text, and the places in the text that they come from."""

import pytest
import regex

from lextables.corpora.edgar.exhibits import contract_text
from lextables.sources.characters import INVISIBLE, plain, with_plain_letters


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("", ""),
        ("Agree\u00adment", "Agreement"),
        ("Agree\u00ad\n  ment", "Agreement"),
        ("Agree\u00ad\n\nMENT", "Agree\n\nMENT"),
        (
            "\ufeffA\u200bg\u200cr\u2060e\u2066e\u202em\ufe0fe\U000e0041n\u034ft",
            "Agreement",
        ),
        ("North\ufb01eld o\ufb03ce \ufb02at \ufb05", "Northfield office flat st"),
        ("a\u00a0b\u2003c\u3000d\u202fe\u2028f", "a b c d e\nf"),
        ("non\u2010exclusive non\u2011compete –—", "non-exclusive non-compete –—"),
        ("Socie\u0301te\u0301 x\u0301", "Société x\u0301"),
        ("\uff21\U0001d401 \u2163 \u2116 \u2474", "AB IV No (1)"),
        ("½ x² ™ ´ ¨ “§ 1” € é\u0600", "½ x² ™ ´ ¨ “§ 1” € é\u0600"),
        ("agree-\nment agreement", "agreement agreement"),
        ("AGREEMENT Agree-\nment", "AGREEMENT Agreement"),
        ("agree-\nment", "agree-\nment"),
        ("a third-\nparty third party", "a third-\nparty third party"),
    ],
)
def test_a_text_in_plain_characters(source, text):
    found = plain(source)
    assert found.text == text
    assert len(found.starts) == len(found.ends) == len(text)


@pytest.mark.parametrize(
    ("source", "words", "place"),
    [
        ("The Agree\u00adment ends", "Agreement", "Agree\u00adment"),
        ("\u200bNorth\ufb01eld\u200b Inc.", "Northfield", "North\ufb01eld"),
        ("North\ufb01eld", "ield", "\ufb01eld"),
        ("agree-\nment, agreement", "agreement,", "agree-\nment,"),
        ("Socie\u0301te\u0301 Inc.", "Société", "Socie\u0301te\u0301"),
        ("é\u00a0— b", "— b", "— b"),
    ],
)
def test_spans_refer_to_the_source(source, words, place):
    found = plain(source)
    start = found.text.index(words)
    first, last = found.source_span(start, start + len(words))
    assert source[first:last] == place


def test_invisible_characters_are_those_of_the_unicode_property():
    ignorable = regex.compile(r"\p{Default_Ignorable_Code_Point}")
    characters = [chr(code) for code in range(0x110000)]
    assert [
        x for x in characters if bool(INVISIBLE.match(x)) != bool(ignorable.match(x))
    ] == []


def test_shown_text_has_plain_letters_and_keeps_its_invisible_characters():
    assert (
        with_plain_letters("North\ufb01eld\u00a0a\u00adb\u202e <é>")
        == "Northfield a\u00adb\u202e <é>"
    )


def test_an_exhibit_has_no_invisible_characters():
    assert (
        contract_text("The \u202aagree\u00adment\u2069 en\u200bds.\ufe0f".encode()).text
        == "The agreement ends."
    )
