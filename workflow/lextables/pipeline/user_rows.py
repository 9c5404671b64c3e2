"""Names of users' rows: the user's name in tables, and a key in paths.

A key starts with ``own-``, which registries reserve, so a user's run never has the path
of a paper's.
"""

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from lextables.pipeline.errors import BadInput

PREFIX = "own-"  # of keys of users' rows
# Bytes of a key: two joined keys can name one folder, and file systems allow 255.
LONGEST = 100
# Fields of the registries with names of rows.
ROW_FIELDS = ("row", "joined", "retriever", "reranker")
# Punctuation that makes another name, beside mathematical and currency signs: C# is not
# C, nor C++.  The minus is not one of them, because it looks like a hyphen.
SIGNS = "#&%@/\\"
NO_SIGN = "\N{MINUS SIGN}"


def _registered(key: str) -> str:
    if key.startswith(PREFIX):
        raise ValueError(
            f"a key may not start with {PREFIX!r}, which marks a user's own models"
        )
    return key


# The name of a model or row in a registry.
Key = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-z0-9._-]*$",
        description="small letters, digits and . _ -, with a letter or digit first",
    ),
    AfterValidator(_registered),
]


def key(name: str) -> str:
    """Return the part of a path for the row ``name``: ``My Model!`` is
    ``own-my-model``.

    Letters of every script are kept.  The key of a name with signs, which a key cannot
    have, ends in a hash of the name.  So does that of a long name, which is cut.
    """
    letters = ""
    for letter in unicodedata.normalize("NFKC", name).lower():
        is_kept = letter.isalnum() or letter in "-."
        letters += letter if is_kept else "-"
    slug = letters.strip("-.")
    row_key = PREFIX + slug
    different = spelled(name)
    if slug and any(map(_is_sign, different)):
        row_key += f"-{_sha256(different)[:8]}"
    if len(row_key.encode()) > LONGEST:
        digest = _sha256(row_key.removeprefix(PREFIX))
        end = f"-{digest[:12]}"
        beginning = row_key.encode()[: LONGEST - len(end)]
        row_key = beginning.decode(errors="ignore") + end
    return row_key


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def spelled(name: str) -> str:
    """Return the letters, digits and signs of ``name``, by which rows are
    distinguished.

    ``RoBERTa Base!`` and ``roberta-base`` look like one row, with any case, quotes and
    dashes.  A point counts inside a number or word (``v1.5``).
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    plain = unicodedata.normalize("NFKC", folded)
    letters = []
    for at, letter in enumerate(plain):
        is_inside = letter == "." and plain[at - 1 : at].isalnum()
        is_inside = is_inside and plain[at + 1 : at + 2].isalnum()
        if is_inside or letter.isalnum() or _is_sign(letter):
            letters.append(letter)
    return "".join(letters)


def _is_sign(letter: str) -> bool:
    """Whether a character makes another name although it is no letter or digit, such as
    the vowel signs of some scripts.
    """
    if letter == NO_SIGN:
        return False
    is_symbol = unicodedata.category(letter) in ("Sm", "Sc", "Mc")
    return is_symbol or letter in SIGNS or "VOWEL SIGN" in unicodedata.name(letter, "")


def check_names(names: Iterable[str]) -> None:
    """Raise `ValueError` for a name with invisible characters, without letter or digit,
    or similar to another name.
    """
    name_by_spelling: dict[str, str] = {}
    for name in names:
        if not name.isprintable() or name != name.strip():
            what = "has characters that do not show, or a blank at an end"
            raise ValueError(f"the name {name!r} {what}")
        spelling = spelled(name)
        if not any(map(str.isalnum, spelling)):
            raise ValueError(f"the name {name!r} has no letter and no digit")
        if spelling in name_by_spelling:
            what = "read alike, and every row needs its own"
            raise ValueError(
                f"the names {name_by_spelling[spelling]!r} and {name!r} {what}"
            )
        name_by_spelling[spelling] = name


def check_free(
    names: Iterable[str], taken: Iterable[str], key: str = "extra_models"
) -> None:
    """Raise `BadInput` if one of a user's ``names`` looks like a ``taken`` name of a
    row or model.

    ``key`` is the config key of the names.
    """
    rows: dict[str, str] = {}
    for other in taken:
        rows.setdefault(spelled(other), other)
    for name in names:
        spelling = spelled(name)
        if spelling not in rows:
            continue
        what = f"the name {name!r} reads like {rows[spelling]!r}, which is a row or a model of the papers"
        raise BadInput(what, where=f"config, {key}", do="choose another name")


def rows_of(value: Any) -> list[str]:
    """Return all names of rows in a paper's registry, or in a plan's rows, both as
    plain values.

    These names are the values of ``row``, ``joined``, ``retriever`` and ``reranker``,
    and the keys of models.
    """
    row_names: list[str] = []
    if isinstance(value, list | tuple):
        for inside in value:
            row_names += rows_of(inside)
    if not isinstance(value, Mapping):
        return row_names
    for name, inside in value.items():
        if isinstance(inside, str) and name in ROW_FIELDS:
            row_names.append(inside)
        elif isinstance(inside, Mapping) and "row" in inside:
            row_names.append(name)
        row_names += rows_of(inside)
    return row_names


def printed(names: Iterable[str]) -> list[str]:
    """Return names of rows as papers print them, and the parts of these names.

    The parts of ACORD's ``BM25 / None`` are a retriever and a reranker.
    """
    parts = []
    for name in names:
        parts += [name, *name.split(" / ")]
    return parts
