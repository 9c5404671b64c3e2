"""Errors of checked values: the key, the value and the allowed values, in one
sentence.
"""

from itertools import count
from typing import Annotated, Literal, Union

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from lextables.pipeline.checked import checked
from lextables.pipeline.entries import mapping
from lextables.pipeline.errors import BadInput


def refuse(value):
    raise ValueError("no text is good enough")


class Bag(BaseModel):
    """A bag, which no message describes by this docstring."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["bag"]
    size: int = Field(1, gt=0, le=9)


class Box(BaseModel):
    """A box, with an entry of each kind."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["box"]
    inner: dict[str, Annotated[Union["Bag", "Box"], Field(discriminator="kind")]] = {}
    share: Annotated[float, Field(gt=0, le=0.5)] | Literal["auto"] = "auto"
    several: list[str | list[bool]] | None = None
    colour: str = Field("red", pattern="^red$", description="a colour")
    plain: str = Field("x", pattern="^x+$")
    refused: Annotated[str, AfterValidator(refuse)] = ""
    one: Bag = Bag(kind="bag")
    names: dict[
        Annotated[str, Field(pattern="^[a-z]+$", description="small letters")], int
    ] = {}
    small: dict[Annotated[str, AfterValidator(refuse)], int] = {}


NUMBER = "a whole number, above 0, at most 9"


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"share": 0},
            "share = 0 is not allowed (allowed: a number, above 0, at most 0.5 or 'auto')",
        ),
        (
            {"share": [1]},
            "share = [1] is not allowed (allowed: a number, above 0, at most 0.5 or 'auto')",
        ),
        (
            {"several": [1]},
            "several.0 = 1 is not allowed (allowed: text or a list (each: true or false); put qu",
        ),
        ({"several": [[2]]}, "several.0 = [2] is not allowed"),
        (
            {"several": 3},
            "several = 3 is not allowed (allowed: a list (each: text or a list (each: true or ",
        ),
        ({"colour": "blue"}, "colour = 'blue' is not allowed (allowed: a colour)"),
        (
            {"colour": None},
            "colour = nothing is not allowed (allowed: a colour; put quotes around what looks",
        ),
        ({"plain": ""}, "plain = '' is not allowed (allowed: text of the form ^x+$)"),
        ({"refused": "a"}, "refused: no text is good enough"),
        ({"one": {}}, "one.kind is missing (allowed: 'bag')"),
        (
            {"one": 7},
            "one = 7 is not allowed (allowed: keys with values, such as {kind: …})",
        ),
        (
            {"inner": {"a": {"kind": "bag", "size": 10}}},
            f"inner.a.size = 10 is not allowed (allowed: {NUMBER})",
        ),
        (
            {"inner": {"a": {"kind": "bag", "sise": 1}}},
            "inner.a.sise is not a known key (nearest: size)",
        ),
        (
            {
                "inner": {
                    "a": {"kind": "box", "inner": {"b": {"kind": "bag", "size": 0}}}
                }
            },
            "inner.a.inner.b.size =",
        ),
        (
            {"inner": {"a": {"kind": "can"}}},
            "inner.a = {'kind': 'can'} is not allowed (allowed: keys with val",
        ),
        (
            {"names": {"A": 1}},
            "names.A is not an allowed name (allowed: small letters)",
        ),
        (
            {"names": {"a": "x"}},
            "names.a = 'x' is not allowed (allowed: a whole number)",
        ),
        ({"small": {"A": 1}}, "small.A: no text is good enough"),
        (
            {"wrong": 1, "share": 0},
            "wrong is not a known key (known: kind, inner, share, several, colour, pla",
        ),
        ({"a\nb": 1}, r"'a\nb' is not a known key"),
        ({1: 1}, "1 is not a known key"),
        (
            {"one": {"kind": "bag", "size": 10**5000}},
            "one.size = a number of thousands of digits is not allow",
        ),
        ({"plain": "y" * 100_000}, f"plain = '{'y' * 77} … is not allowed"),
        (
            {"plain": "https://me:secret@a.org/" + "y" * 100},
            "plain = 'https://(login)@a.org/yy",
        ),
        (
            {"plain": "x\udcff"},
            r"plain = 'x\udcff' is not allowed (allowed: text of the form ^x+$)",
        ),
    ],
)
def test_the_error_has_the_key_the_value_and_the_allowed_values(values, sentence):
    with pytest.raises(BadInput) as error:
        checked(Box, {"kind": "box"} | values, where="boxes.yaml")
    assert str(error.value).startswith(f"boxes.yaml: {sentence}")


def test_the_error_of_the_whole_value_has_no_key():
    with pytest.raises(
        BadInput,
        match=r"^a\.yaml: 5 is not allowed \(allowed: keys with values, such as",
    ):
        checked(Bag, 5, where="a.yaml")
    assert checked(Bag, {"kind": "bag", "size": 2}, where="a.yaml").size == 2


LIMITS = "/a.yaml: the file has a date that does not exist, or a number of thousands of digits."
DEEP = "/a.yaml, row 1: not YAML (the nesting is too deep)."


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            b"a: \xff",
            "/a.yaml: not YAML (invalid start byte); save the file again as UTF-8.",
        ),
        (
            "a: 1".encode("utf-16"),
            "/a.yaml: not YAML (invalid start byte); save the file again as UTF-8.",
        ),
        (
            b"a: \0",
            "/a.yaml: not YAML (control characters are not allowed); save the file again as UTF-8.",
        ),
        (b"a: 1\nb: 2\na: 3", "/a.yaml, row 3: not YAML (the key 'a' stands twice)."),
        (b"a: " + b"9" * 5000, LIMITS),
        (b"a: 2001-99-99", LIMITS),
        (b"a: " + b"[" * 100_000 + b"]" * 100_000, DEEP),
        (b"{a: " * 100_000 + b"}" * 100_000, DEEP),
        (b"- " * 100_000, DEEP),
        (
            b"a: !!python/object:os.system x",
            "/a.yaml, row 1: not YAML (could not determine a constructor",
        ),
        (b"", "/a.yaml: nothing is not allowed (allowed: keys with values)."),
        (b"[1]", "/a.yaml: [1] is not allowed (allowed: keys with values)."),
        (b"1: 2", "/a.yaml: 1 is not an allowed name (allowed: another name)."),
        (None, "/a.yaml: cannot be read (No such file or directory)."),
    ],
    ids=count(),
)
def test_a_file_that_has_no_keys_and_values_raises_one_sentence(
    tmp_path, content, sentence
):
    path = tmp_path / "a.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput) as error:
        mapping(path)
    assert sentence in str(error.value)
