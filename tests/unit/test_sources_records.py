"""Records of csv and JSON files with their positions, and the message of each error."""

import io
import json

import pytest

from lextables.pipeline.errors import BadInput
from lextables.sources import records
from lextables.sources.records import (
    csv_rows,
    json_array,
    json_lines,
    json_object,
    value,
    whole_number,
)

RECORDS = [{"a": 1}, {"b": 'é, ] } "\n'}, {}]


def stream(text):
    return io.BytesIO(text.encode() if isinstance(text, str) else text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, None),
        ("9" * 6000, None),
        ("", None),
    ]
    + [
        (text, None) for text in (" 7", "7\n", "-7", "+7", "1_0", "1.0", "١٢", "²", "x")
    ],
)
def test_a_whole_number_has_ascii_digits_and_fits_into_64_bits(text, number):
    assert whole_number(text) == number


def test_csv_rows_have_the_number_of_their_first_line():
    assert list(csv_rows(stream("\ufeffa,b\r\n1,None\r\n"), "f")) == [
        ("f, row 1", ["a", "b"]),
        ("f, row 2", ["1", "None"]),
    ]
    rows = csv_rows(stream('a\tb\n"1\n2"\t3\n\n4\t5'), "f", delimiter="\t")
    assert [where for where, _ in rows] == ["f, row 1", "f, row 2", "f, row 5"]


def test_json_lines_have_their_line_number():
    lines = [json.dumps(record, ensure_ascii=False) for record in RECORDS]
    content = stream("\ufeff" + "\n".join(lines) + "\n\n")
    assert list(json_lines(content, "f")) == [
        (f"f, line {number}", record) for number, record in enumerate(RECORDS, 1)
    ]
    assert list(json_lines(stream("\n{}\n"), "f")) == [("f, line 2", {})]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("chunk", [1, 2, 7, 1000])
def test_a_json_array_is_read_in_chunks_of_any_size(monkeypatch, indent, chunk):
    monkeypatch.setattr(records, "CHUNK", chunk)
    content = f"\ufeff \n{json.dumps(RECORDS, indent=indent, ensure_ascii=False)}\n "
    assert list(json_array(stream(content), "f")) == [
        (f"f, item {number}", record) for number, record in enumerate(RECORDS, 1)
    ]
    assert list(json_array(stream(" [ ] "), "f")) == []


def test_a_json_array_is_read_as_a_stream(monkeypatch):
    monkeypatch.setattr(records, "CHUNK", 64)
    monkeypatch.setattr(records, "LONGEST", 256)
    content = stream(
        json.dumps([{"n": number, "text": "x" * 20} for number in range(1000)])
    )
    _, first = next(items := json_array(content, "f"))
    assert first["n"] == 0
    assert content.tell() < len(content.getvalue())
    assert sum(1 for _ in items) == 999
    # An error is found without reading the rest.
    content = stream('[{}, {"a": nothing}, ' + "{}, " * 10_000 + "{}]")
    with pytest.raises(BadInput, match=r"^f, item 2: is no JSON"):
        list(json_array(content, "f"))
    assert content.closed or content.tell() < 20_000


def whole(content, name):
    return [json_object(content, name)]


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (csv_rows, b"", "f: the file is empty"),
        (
            csv_rows,
            b"a,b\n1\n",
            "f, row 2: has 1 cells where there should be 2; quote the cells that hold a",
        ),
        (csv_rows, b"a,b\n1,\x93\n", "f, row 2: the byte 0x93 at 2 is not UTF-8"),
        (csv_rows, b'a,b\n1,"x"y\n', "f, row 2: the row that begins here is no csv ("),
        (csv_rows, b'a,b\n\n1,"x\ny', "f, row 3: the row that begins here is no csv ("),
        (json_lines, '{"a": 1}\n{"a": }\n', "f, line 2: is no JSON (Expecting value)"),
        (json_lines, "[1]\n", "f, line 1: holds list where an object should be"),
        (
            json_lines,
            b'{}\n{"a": "\xe9"}\n',
            "f, line 2: the byte 0xe9 at 7 is not UTF-8",
        ),
        (json_lines, '{"a": 1', "f, line 1: is no JSON (Expecting ',' delimiter)"),
        (json_array, '{"a": 1}', "f: is no array"),
        (json_array, "", "f: is no array"),
        (json_array, "[{}, 1]", "f, item 2: holds int where an object should be"),
        (json_array, '[{}, {"a": nothing}]', "f, item 2: is no JSON (Expecting value)"),
        (
            json_array,
            "[{} {}]",
            "f, item 1: no comma and no end of the array follow it",
        ),
        (json_array, "[{},]", "f, item 2: is no JSON (Expecting value)"),
        (
            json_array,
            "[{}, {}",
            "f, item 2: no comma and no end of the array follow it",
        ),
        (
            json_array,
            '[{}, {"a',
            "f, item 2: is no JSON (Unterminated string starting at)",
        ),
        (json_array, "[{}] {}", "f: goes on after the end of its array"),
        (json_array, b'[{"a": "\xe9"}]', "f, after item 0: the byte 0xe9 is not UTF-8"),
        (whole, "[]", "f: holds list where an object should be"),
        (
            whole,
            "{",
            "f: is no JSON (Expecting property name enclosed in double quotes)",
        ),
        (whole, b"\xff", "f: the byte 0xff at 0 is not UTF-8"),
    ],
)
def test_errors_give_their_position(read, content, message):
    with pytest.raises(BadInput) as error:
        list(read(stream(content), "f"))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("record", "kind", "message"),
    [
        ({"b": 1}, str, "the key 'a' is missing"),
        ({"a": 1}, str, "'a' is int where str should be"),
        ({"a": None}, dict, "'a' is NoneType where dict should be"),
        ("a", str, "holds str where an object should be"),
    ],
)
def test_a_missing_value_or_a_wrong_type_raises(record, kind, message):
    assert value({"a": "x \U0001f600"}, "a", str, "f") == "x \U0001f600"
    with pytest.raises(BadInput) as error:
        value(record, "a", kind, "f, line 1")
    assert (
        str(error.value) == f"f, line 1: {message}; restore the file from the release."
    )
