"""Reads JSON from anywhere, and reads and writes the files of the results.

A fault raises `BadInput`, whose sentence names the file and the place of the fault.  A
result that later jobs read is written with a digest.  Reading the result compares it
with its digest.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from pydantic import AfterValidator, BaseModel, ConfigDict, TypeAdapter

from lextables.pipeline.atomic import digest_file, replacing, write_text
from lextables.pipeline.checked import checked
from lextables.pipeline.errors import BadInput

JsonObject = dict[str, Any]  # the content of a JSON file, or a part of it
RESTORE = "restore the file from the release"  # the default advice
_BLANKS = " \t\r\n"  # that JSON allows around a value
# Linux starts no process with a variable of 128 KiB.
LONGEST_VARIABLE = 100_000  # characters, in ASCII
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # half of a surrogate pair, as written in JSON


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text


Text = Annotated[str, AfterValidator(_not_blank)]


class Strict(BaseModel):
    """A JSON object of which no value is converted: a number in quotes or true is no
    number.
    """

    model_config = ConfigDict(strict=True, frozen=True)


# JSON from outside of the project


class _Repeated(ValueError):
    """A key that an object has twice: most readers of JSON would silently keep the last
    value.
    """


def _unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    """Return the object with these keys and values; raise `_Repeated` for a repeated
    key.
    """
    record = {}
    for key, value in pairs:
        if key in record:
            raise _Repeated(f"{key!r} appears twice in one object")
        record[key] = value
    return record


_DECODER = JSONDecoder(object_pairs_hook=_unique)


def json_prefix(
    text: str, start: int, where: str, do: str = RESTORE
) -> tuple[Any, int]:
    """Return the JSON value that begins at ``start``, and the position behind it.

    Raises JSONDecodeError for text that is no JSON: with more text it may become valid.
    Raises `BadInput` for any other fault: a key that an object has twice, nesting or
    digits beyond Python's limits, and half of a character (a single surrogate).
    ``where`` and ``do`` are those of the `BadInput`.
    """
    try:
        content, end = _DECODER.raw_decode(text, start)
        if _HALF.search(text, start, end):
            json.dumps(content, ensure_ascii=False).encode()
        return content, end
    except JSONDecodeError:
        raise
    except _Repeated as error:
        what = str(error)
    except UnicodeEncodeError as error:
        before = error.object[max(error.start - 20, 0) : error.start]
        what = f"it holds half of a character after {before!r}"
    except RecursionError:
        what = "it is nested too deeply"
    except ValueError:
        what = "it has a number of too many digits"
    raise BadInput(what, where=where, do=do)


def json_value(content: str | bytes, where: str, do: str = RESTORE) -> Any:
    """Return the JSON value of a text, or of bytes in UTF-8; raises `BadInput` for any
    fault.
    """
    if isinstance(content, bytes):
        content = utf8(content, where, do)
    text = content.strip(_BLANKS)
    fault = "Extra data"
    try:
        value, end = json_prefix(text, 0, where, do)
        if end == len(text):
            return value
    except JSONDecodeError as error:
        fault = error.msg
    raise BadInput(f"is no JSON ({fault})", where=where, do=do)


def utf8(
    content: bytes, where: str, do: str = RESTORE, encoding: str = "utf-8-sig"
) -> str:
    """Return bytes as text, by default without a byte order mark; raises `BadInput` if
    they are not UTF-8.
    """
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        # error.object, because error.start does not count a byte order mark.
        byte = error.object[error.start]
        what = f"the byte 0x{byte:02x} at {error.start} is not UTF-8"
        raise BadInput(what, where=where, do=do) from None


@cache
def _adapter(kind: Any) -> TypeAdapter:
    return TypeAdapter(kind)


def typed(kind: Any, value: Any, where: str = "", do: str = RESTORE) -> Any:
    """Return a JSON value as the type ``kind``, such as a `Strict` model.

    Raises `BadInput` for the first wrong value, with its key.
    """
    return checked(_adapter(kind), value, where=where, do=do, quotes="")


# Files of the results

SNAKEMAKE_MARK = ".snakemake_timestamp"  # that Snakemake adds to output folders
DOUBTED = ".doubted"  # follows the name of a download that a job could not read


def doubt(paths: Iterable[str | Path]) -> None:
    """Mark the downloads among ``paths``, the inputs of a job that could not read them.

    A download is a file with a record of its provenance, ``<file>.json``.  Of the
    marked files, the next run fetches those again that may be damaged
    (`sources.fetch`).
    """
    for path in paths:
        if Path(f"{path}.json").is_file():
            Path(f"{path}{DOUBTED}").touch()


@contextmanager
def replacing_result(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path for a result as `replacing` does, and write its digest for
    `verify`.
    """
    path = Path(path)
    with replacing(path) as temporary:
        yield temporary
        digest = _digest(temporary, path.suffix)
    write_text(digest_file(path), digest)


def write_result(path: str | Path, text: str) -> None:
    """Write a result as `write_text` does, and its digest for `verify`."""
    with replacing_result(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def verify(path: str | Path) -> None:
    """Raise `BadInput` if a result is not as it was written.

    A file without a digest, of an earlier version or made by hand, is not checked.
    Callers add the name of the file to the error (`damage_named`).
    """
    path = Path(path)
    written = digest_file(path)
    if (
        written.is_file()
        and written.read_bytes() != _digest(path, path.suffix).encode()
    ):
        raise BadInput("its content is not what was written")


def _digest(path: Path, kind: str) -> str:
    """Return the SHA-256 of a file, or of the footer of a parquet file, whose pages
    have checksums.
    """
    with path.open("rb") as file:
        if kind == ".parquet":
            _go_to_footer(file)
        return hashlib.file_digest(file, "sha256").hexdigest() + "\n"


def _go_to_footer(file: BinaryIO) -> None:
    """Move to the start of a parquet file's footer.

    The file ends with the footer, the length of the footer in bytes, and four letters.
    """
    end = file.seek(0, os.SEEK_END)
    file.seek(max(end - 8, 0))
    length = int.from_bytes(file.read(4), "little")
    file.seek(max(end - 8 - length, 0))


def _rebuild(path: Path) -> str:
    """Return the advice how to make a damaged result again: to delete it.

    If a rule makes a whole folder (it has the file `SNAKEMAKE_MARK`), a file in it is
    only made again if the folder is deleted.
    """
    for folder in path.parents:
        if (folder / SNAKEMAKE_MARK).is_file():
            return f"delete the folder {folder}, and repeat the command"
    return "delete it, and repeat the command"


@contextmanager
def damage_named(path: str | Path) -> Iterator[None]:
    """Turn any error of the block into a `BadInput` which says that ``path`` is
    damaged.

    The block must only read the file.  Errors of the system, such as a missing file,
    are raised as they are.
    """
    rebuild = _rebuild(Path(path))
    try:
        yield
    except BadInput as error:
        raise BadInput(
            f"the file is damaged: {error.what}", where=str(path), do=rebuild
        ) from error
    except Exception as error:  # each library has different errors
        # The file is missing, or the disk has a fault.
        if getattr(error, "errno", None):
            raise
        first = str(error).partition("\n")[0]
        what = f"the file is damaged ({type(error).__name__}: {first})"
        raise BadInput(what, where=str(path), do=rebuild) from error


def read_json(path: str | Path, kind: Any = JsonObject) -> Any:
    """Return the JSON value of a file of the results; `BadInput` if it is damaged or
    does not fit the type ``kind``.
    """
    path = Path(path)
    with damage_named(path):
        verify(path)
        value = json.loads(path.read_text(encoding="utf-8"))
        typed(kind, value)
    return value


def read_record(path: str | Path, kind: Any = JsonObject) -> Any:
    """Return the value as `read_json`; None if the file is missing or damaged.

    For files that can be made again.
    """
    with suppress(OSError, BadInput):
        return read_json(path, kind)
    return None


def set_variable(name: str, value: JsonObject) -> None:
    """Set the environment variable ``name`` to ``value``, as JSON, which jobs read with
    `variable`.

    A text longer than `LONGEST_VARIABLE` continues in ``<name>_1``, ``<name>_2``, ….
    """
    text = json.dumps(value)
    os.environ[name] = text[:LONGEST_VARIABLE]
    number = 1
    for start in range(LONGEST_VARIABLE, len(text), LONGEST_VARIABLE):
        os.environ[f"{name}_{number}"] = text[start : start + LONGEST_VARIABLE]
        number += 1
    # Parts of an earlier, longer text.
    while os.environ.pop(f"{name}_{number}", None):
        number += 1


def variable(name: str) -> JsonObject:
    """Return the value of `set_variable`; empty if it was not called."""
    parts = [os.environ.get(name, "{}")]
    while part := os.environ.get(f"{name}_{len(parts)}"):
        parts.append(part)
    value: JsonObject = json.loads("".join(parts))
    return value
