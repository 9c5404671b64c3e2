"""Records of JSON files: lines, arrays and whole objects, and the sentence for what is none."""

import io
import json

import pytest

from lextables.pipeline.errors import BadInput
from lextables.sources import json_records
from lextables.sources.json_records import of_array, of_lines, value, whole

RECORDS = [{"a": 1}, {"b": 'é, ] } "\n'}, {}]


def stream(text):
    return io.BytesIO(text.encode() if isinstance(text, str) else text)


def test_lines_are_read_with_their_places():
    content = stream(
        "\ufeff" + "\n".join(json.dumps(record, ensure_ascii=False) for record in RECORDS) + "\n\n"
    )
    places = ["f, line 1", "f, line 2", "f, line 3"]
    assert list(of_lines(content, "f")) == list(zip(places, RECORDS, strict=True))
    assert list(of_lines(stream("\n{}\n"), "f")) == [("f, line 2", {})]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("chunk", [1, 2, 7, 1000])
def test_an_array_is_read_in_parts_of_any_size(monkeypatch, indent, chunk):
    monkeypatch.setattr(json_records, "CHUNK", chunk)
    places = ["f, item 1", "f, item 2", "f, item 3"]
    content = f"\ufeff \n{json.dumps(RECORDS, indent=indent, ensure_ascii=False)}\n "
    assert list(of_array(stream(content), "f")) == list(zip(places, RECORDS, strict=True))
    assert list(of_array(stream(" [ ] "), "f")) == []


def test_an_array_is_not_held_as_a_whole(monkeypatch):
    monkeypatch.setattr(json_records, "CHUNK", 64)
    content = stream(json.dumps([{"n": number, "text": "x" * 20} for number in range(1000)]))
    _, first = next(items := of_array(content, "f"))
    assert first["n"] == 0
    assert content.tell() < len(content.getvalue())
    assert sum(1 for _ in items) == 999


LINES = {
    "no JSON": (
        '{"a": 1}\n{"a": }\n',
        "f, line 2: is no JSON (Expecting value)",
    ),
    "no object": (
        "[1]\n",
        "f, line 1: holds list where an object should be",
    ),
    "not UTF-8": (
        b'{}\n{"a": "\xe9"}\n',
        "f, line 2: the byte 0xe9 is not UTF-8",
    ),
    "cut short": (
        '{"a": 1',
        "f, line 1: is no JSON (Expecting ',' delimiter)",
    ),
}
ARRAYS = {
    "no array": ('{"a": 1}', "f: is no array"),
    "empty": ("", "f: is no array"),
    "no object": (
        "[{}, 1]",
        "f, item 2: holds int where an object should be",
    ),
    "no JSON": (
        '[{}, {"a": nothing}]',
        "f, item 2: is no JSON (Expecting value)",
    ),
    "no comma": (
        "[{} {}]",
        "f, item 1: no comma and no end of the array follow it",
    ),
    "a comma at the end": (
        "[{},]",
        "f, item 2: is no JSON (Expecting value)",
    ),
    "no end": (
        "[{}, {}",
        "f, item 2: no comma and no end of the array follow it",
    ),
    "cut inside": (
        '[{}, {"a',
        "f, item 2: is no JSON (Unterminated string starting at)",
    ),
    "more": ("[{}] {}", "f: goes on after the end of its array"),
    "not UTF-8": (
        b'[{"a": "\xe9"}]',
        "f, after item 0: the byte 0xe9 is not UTF-8",
    ),
}


@pytest.mark.parametrize(
    ("read", "content", "sentence"),
    [
        *((of_lines, *fault) for fault in LINES.values()),
        *((of_array, *fault) for fault in ARRAYS.values()),
        (lambda stream, name: [whole(stream, name)], "[]", LINES["no object"][1].replace(", line 1", "")),
        (
            lambda stream, name: [whole(stream, name)],
            "{",
            "f: is no JSON (Expecting property name enclosed in double quotes)",
        ),
        (
            lambda stream, name: [whole(stream, name)],
            b"\xff",
            "f: the byte 0xff is not UTF-8",
        ),
    ],
    ids=[
        *(f"line: {name}" for name in LINES),
        *(f"array: {name}" for name in ARRAYS),
        "whole: list",
        "whole: cut",
        "whole: bytes",
    ],
)
def test_a_fault_is_one_sentence(read, content, sentence):
    with pytest.raises(BadInput) as error:
        list(read(stream(content), "f"))
    assert str(error.value) == f"{sentence}; restore the file from the release."


def test_a_fault_is_found_without_reading_all_that_follows(monkeypatch):
    monkeypatch.setattr(json_records, "CHUNK", 64)
    monkeypatch.setattr(json_records, "LONGEST", 256)
    content = stream('[{}, {"a": nothing}, ' + "{}, " * 10_000 + "{}]")
    with pytest.raises(BadInput, match=r"^f, item 2: is no JSON"):
        list(of_array(content, "f"))
    assert content.closed or content.tell() < 20_000


@pytest.mark.parametrize(
    ("record", "kind", "sentence"),
    [
        ({"b": 1}, str, "f, line 1: the key 'a' is missing"),
        ({"a": 1}, str, "f, line 1: 'a' is int where str should be"),
        (
            {"a": None},
            dict,
            "f, line 1: 'a' is NoneType where dict should be",
        ),
        ("a", str, "f, line 1: holds str where an object should be"),
        (
            {"a": "x\ud800"},
            str,
            r"f, line 1: 'a' holds '\ud800', half of a character",
        ),
    ],
)
def test_a_value_is_there_and_of_its_kind(record, kind, sentence):
    with pytest.raises(BadInput) as error:
        value(record, "a", kind, "f, line 1")
    assert str(error.value) == f"{sentence}; restore the file from the release."


def test_a_value_is_given_as_it_is():
    assert value({"a": "x \U0001f600"}, "a", str, "f") == "x \U0001f600"
    assert value({"a": [1]}, "a", list, "f") == [1]
