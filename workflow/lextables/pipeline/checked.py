"""Checks values from YAML or JSON with pydantic.

An error names the key, its value and the allowed values.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from lextables.pipeline.errors import BadInput
from lextables.pipeline.redaction import redacted

UNKNOWN = ("extra_forbidden", "invalid_key")  # pydantic's types of errors for a key
# Advice where a value should be a text.
QUOTES = (
    "put quotes around what looks like a number, a date, true or false, and on the command line"
    """ also brackets, as in contract='["NDA: #4.txt"]'"""
)
# Types and limits of a JSON schema, in words.
TYPES = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "null": "null",
}
LIMITS = {
    "exclusiveMinimum": "above {}",
    "minimum": "{} or more",
    "exclusiveMaximum": "below {}",
    "maximum": "at most {}",
    "minLength": "not empty",
    "maxLength": "at most {} characters",
}
LONGEST = 80  # characters of a value in a message
Schema = Mapping[str, Any]


def checked(
    kind: Any, values: Any, *, where: str, do: str = "", quotes: str = QUOTES
) -> Any:
    """Return ``values`` as the type ``kind``, which may be a `TypeAdapter` of it.

    Raises `BadInput` for the first error, with ``where`` and ``do``.  The allowed
    values in its message are the description of the key in the JSON schema of ``kind``,
    or are derived from this schema.  ``quotes`` is advice for a value that should be a
    text.
    """
    adapter = kind if isinstance(kind, TypeAdapter) else TypeAdapter(kind)
    try:
        return adapter.validate_python(values)
    except ValidationError as error:
        # A misspelt key is reported before the key that is missing because of it.
        fault = min(error.errors(), key=lambda fault: fault["type"] not in UNKNOWN)
        if fault["type"] != "string_type":
            quotes = ""
        sentence = _schema(adapter).sentence(fault, quotes)
        raise BadInput(sentence, where=where, do=do) from None


@lru_cache(maxsize=32)
def _schema(adapter: TypeAdapter) -> "_JsonSchema":
    """Return the schema of a type, which takes long to make and is cached."""
    return _JsonSchema(adapter.json_schema())


class _JsonSchema:
    """A JSON schema, which describes what a key allows."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def sentence(self, fault: Mapping[str, Any], advice: str) -> str:
        """Return one of pydantic's errors as a sentence; ``advice`` is added if a value
        is not allowed.
        """
        # The place of the error is a list of keys.  If the last key is itself wrong,
        # the schema is that of the mapping around it.
        keys = list(fault["loc"])
        inner = None
        is_name = keys[-1:] == ["[key]"]
        if is_name:
            keys.pop()
        if is_name or fault["type"] in UNKNOWN:
            inner = keys.pop()
        known_keys, schema = self._at(keys)
        if inner is not None:
            known_keys.append(inner)
        key = ".".join(map(_plain_key, known_keys))
        if fault["type"] in UNKNOWN:
            return f"{key} is not a known key ({self._suggestion(str(inner), schema)})"
        if fault["type"] == "value_error":
            message = str(fault["ctx"]["error"])  # of a validator
            return f"{key}: {message}" if key else message
        if is_name:
            return f"{key} is not an allowed name (allowed: {self._name(schema)})"
        allowed = self._allowed(schema)
        if fault["type"] == "missing":
            return f"{key} is missing (allowed: {allowed})"
        if advice:
            allowed += f"; {advice}"
        value = _shown(fault["input"])
        if key:
            value = f"{key} = {value}"
        return f"{value} is not allowed (allowed: {allowed})"

    def _at(self, location: Sequence[int | str]) -> tuple[list[int | str], Schema]:
        """Return the keys of the place of an error, and the schema of this place.

        ``location`` is the place as pydantic names it.  In a union it also lists which
        type it tried; such a part is no key and is left out.
        """
        keys = []
        schema = self.schema
        for part in location:
            kinds = schema.get("discriminator", {}).get("mapping", {})
            if part in kinds:
                schema = {"$ref": kinds[part]}
                continue
            for each in self._alternatives(schema):
                inner = _inner(each, part)
                if inner is not None:
                    keys.append(part)
                    schema = inner
                    break
        return keys, schema

    def _alternatives(self, schema: Schema) -> Iterator[Schema]:
        """Yield the schemas of a union, or the only one, without references."""
        if "$ref" in schema:
            schema = self.schema["$defs"][schema["$ref"].rpartition("/")[2]]
        union = schema.get("anyOf") or schema.get("oneOf")
        if not union:
            yield schema
            return
        for each in union:
            yield from self._alternatives(each)

    def _suggestion(self, key: str, schema: Schema) -> str:
        """Return the key of a schema that is most similar to ``key``, or all keys."""
        known_keys: list[str] = []
        for each in self._alternatives(schema):
            known_keys += each.get("properties", ())
        near = get_close_matches(key, known_keys, n=1)
        if near:
            return f"nearest: {near[0]}"
        return f"known: {', '.join(known_keys)}"

    def _name(self, schema: Schema) -> str:
        """Describe the keys that a mapping with free keys allows."""
        for each in self._alternatives(schema):
            if "propertyNames" in each:
                return self._allowed(each["propertyNames"])
        return "another name"

    def _allowed(self, schema: Schema) -> str:
        """Describe the values that a schema allows."""
        if _is_described(schema):
            return schema["description"]
        if "discriminator" in schema:
            key = schema["discriminator"]["propertyName"]
            kinds = " or ".join(schema["discriminator"]["mapping"])
            return f"keys with values, {key}: {kinds}"
        forms: list[str] = []
        for each in self._alternatives(schema):
            form = self._form(each)
            if form not in forms:
                forms.append(form)
        return " or ".join(forms)

    def _form(self, schema: Schema) -> str:
        """Describe the values of a schema that is no union."""
        if _is_described(schema):
            return schema["description"]
        if "const" in schema or "enum" in schema:
            choices = schema.get("enum") or [schema["const"]]
            return " or ".join(map(repr, choices))
        kind = schema.get("type", "")
        if kind == "object":
            required = [f"{name}: …" for name in schema.get("required", ())]
            if not required:
                return "keys with values"
            return f"keys with values, such as {{{', '.join(required)}}}"
        if kind == "array":
            text = "a list"
            if schema.get("minItems"):
                text += " of at least one item"
            if "items" in schema:
                text += f" (each: {self._allowed(schema['items'])})"
            return text
        if "pattern" in schema:
            return f"text of the form {schema['pattern']}"
        if schema.get("format") == "date":
            return "a date, such as 2020-01-31"
        limits = [
            text.format(schema[name]) for name, text in LIMITS.items() if name in schema
        ]
        return ", ".join([TYPES.get(kind, "another value"), *limits])


def _is_described(schema: Schema) -> bool:
    """Whether the description is of the values, and not the docstring of a model."""
    return "description" in schema and "properties" not in schema


def _inner(schema: Schema, part: int | str) -> Schema | None:
    """Return the schema of the list item or the value at ``part``, an index or a key;
    None if ``schema`` allows none there.
    """
    if isinstance(part, int) and "items" in schema:
        return schema["items"]
    if part in schema.get("properties", {}):
        return schema["properties"][part]
    for by_pattern in schema.get("patternProperties", {}).values():
        return by_pattern
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        return others
    return None


def _plain_key(key: int | str) -> str:
    """Return a key without line ends and control characters."""
    return str(key) if str(key).isprintable() else repr(key)


def _shown(value: Any) -> str:
    """Return a value for a message: without secrets, at most `LONGEST` characters."""
    if value is None:
        return "nothing"
    try:
        text = redacted(repr(value))
    except (ValueError, RecursionError):
        # Python writes no integer of more than 4,300 digits.
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} …"
