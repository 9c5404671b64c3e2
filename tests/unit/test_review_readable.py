"""Readable English, and texts whose letters are wrong."""

import pytest

from lextables.pipeline.errors import BadInput
from lextables.review.contract_text import read_contract
from lextables.review.readable import is_readable

ENGLISH = (
    "This Agreement is governed by the laws of the State of Delaware, without regard to "
    "its rules on conflict of laws. Neither party may assign this Agreement without the "
    "written consent of the other party. Each party shall keep the information of the "
    "other party confidential for a period of two years. "
)
GERMAN = (
    "Dieser Vertrag unterliegt dem Recht des Landes Bayern. Keine Partei darf diesen "
    "Vertrag ohne schriftliche Zustimmung der anderen Partei abtreten. Jede Partei hat "
    "die Informationen der anderen Partei zwei Jahre lang vertraulich zu behandeln, "
    "soweit sie nicht schon bekannt sind oder in anderer Weise bekannt werden. "
)
DUTCH = (
    "De huurder mag de ruimte niet aan anderen in gebruik geven zonder toestemming van de "
    "verhuurder. Deze overeenkomst is van kracht met ingang van heden en is aangegaan "
    "voor onbepaalde tijd. Het is de huurder niet toegestaan om in of aan het gebouw iets "
    "te veranderen. Ontstaat er schade, dan herstelt de huurder die. "
)
NAMES = (
    "Northfield Tools Inc., Larchmont Retail LLC, "
    "Ashgrove Partners LP, 12 Mill Road, Dover, Delaware 19901. "
)


def exchanged(text: str) -> str:
    """Return ``text`` with each letter replaced by the third next one."""
    moved = (
        chr((ord(x) - 97 + 3) % 26 + 97) if "a" <= x <= "z" else x for x in text.lower()
    )
    return "".join(moved)


UNREADABLE = {
    "letters exchanged": exchanged(ENGLISH),
    "glyph numbers": "".join(chr(max(32, ord(x) - 29)) for x in ENGLISH),
    "private use": "".join(chr(0xF000 + ord(x)) for x in ENGLISH),
    "glyph names": " ".join(f"(cid:{ord(x)})" for x in ENGLISH),
    "reversed": ENGLISH[::-1],
    "letters apart": " ".join(ENGLISH),
    "replacement characters": "\ufffd" * len(ENGLISH),
    "another encoding": ENGLISH.encode("cp037").decode("latin-1"),
    "German": GERMAN,
    "Dutch": DUTCH,
    "Chinese": "本协议受特拉华州法律管辖" * 30,
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_text_is_refused(name, tmp_path):
    assert not is_readable(UNREADABLE[name])
    (tmp_path / "a.txt").write_text(UNREADABLE[name], encoding="utf-8")
    with pytest.raises(
        BadInput, match="hardly any common English words; .*run OCR first"
    ):
        read_contract(tmp_path / "a.txt")


@pytest.mark.parametrize(
    "text",
    [
        ENGLISH,
        ENGLISH.upper(),
        ENGLISH.replace(" ", "\u00a0"),
        "\u00ad".join(ENGLISH),
        "\uf0b7 The fee\n" * 20,  # bullets of a symbol font
        "".join(f"{word}\n" for word in ENGLISH.split()),
        exchanged(ENGLISH) + ENGLISH,  # two columns, one of them in another language
        NAMES * 5 + ENGLISH,
        NAMES * 2,  # too short for a judgement
        "",
    ],
)
def test_a_text_with_common_words_or_few_words_is_readable(text):
    assert is_readable(text)


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("\uf054" * 9 + "x" * 80, True),
        ("\uf054" * 10 + "x" * 89, False),
        ("\uf054" * 10 + "x" * 90, True),
        ("\x01\x02\x0e\x1f\ufffd " * 5, False),
        ("Name " * 39, True),
        ("Name " * 40, False),
        ("x" * 249, True),
        ("x" * 250, False),
    ],
)
def test_short_texts_are_not_judged(text, readable):
    assert is_readable(text) is readable


@pytest.mark.parametrize(("common", "readable"), [(24, False), (25, True)])
def test_one_word_in_forty_is_common(common, readable):
    assert is_readable("the " * common + "Name " * (1000 - common)) is readable
