"""Names of users' rows: the user's name in tables, and a key in paths.

A key starts with ``own-``, which registries reserve, so a user's run never has the path of a paper's.
"""

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator

from lextables.pipeline.errors import BadInput

PREFIX = "own-"
LONGEST = 100  # bytes of a key: two joined keys can name one folder
# Punctuation that makes another name, beside mathematical and currency signs: C# is not C, nor C++.  The
# minus is not one of them, because it looks like a hyphen.
SIGNS = "#&%@/\\"
NO_SIGN = "\N{MINUS SIGN}"


def _registered(key: str) -> str:
    if key.startswith(PREFIX):
        raise ValueError(
            f"a key may not start with {PREFIX!r}, which marks a user's own models"
        )
    return key


# The name of a model or row in a registry.
Key = Annotated[str, AfterValidator(_registered)]


def key(name: str) -> str:
    """Return the part of a path for the row ``name``: ``My Model!`` is ``own-my-model``.

    Letters of every script are kept.  A name with signs ends in a hash, since other signs make another row;
    so does a long name, which is cut.
    """
    plain = unicodedata.normalize("NFKC", name).lower()
    slug = "".join(
        letter if letter.isalnum() or letter in "-." else "-" for letter in plain
    ).strip("-.")
    found = PREFIX + slug
    different = spelled(name)
    if slug and any(map(_is_sign, different)):
        found += f"-{hashlib.sha256(different.encode()).hexdigest()[:8]}"
    if len(found.encode()) > LONGEST:
        whole = hashlib.sha256(found.removeprefix(PREFIX).encode()).hexdigest()[:12]
        found = (
            found.encode()[: LONGEST - len(whole) - 1].decode(errors="ignore")
            + f"-{whole}"
        )
    return found


def spelled(name: str) -> str:
    """Return the letters, digits and signs of ``name``, by which rows are distinguished.

    ``RoBERTa Base!`` and ``roberta-base`` look like one row, with any case, quotes and
    dashes.  A point counts inside a number or word (``v1.5``).
    """
    plain = unicodedata.normalize(
        "NFKC", unicodedata.normalize("NFKC", name).casefold()
    )
    kept = []
    for before, letter, after in zip(f" {plain}", plain, f"{plain[1:]} ", strict=False):
        inside = letter == "." and before.isalnum() and after.isalnum()
        if inside or letter.isalnum() or _is_sign(letter):
            kept.append(letter)
    return "".join(kept)


def _is_sign(letter: str) -> bool:
    """Whether a character that is no letter or digit makes another name; vowel signs of a script do."""
    if letter == NO_SIGN:
        return False
    is_symbol = unicodedata.category(letter) in ("Sm", "Sc", "Mc")
    return is_symbol or letter in SIGNS or "VOWEL SIGN" in unicodedata.name(letter, "")


def check_names(names: Iterable[str]) -> None:
    """Raise `ValueError` for a name with invisible characters, without letter or digit, or similar to
    another name.
    """
    seen: dict[str, str] = {}
    for name in names:
        if not name.isprintable() or name != name.strip():
            raise ValueError(
                f"the name {name!r} has characters that do not show, or a blank at an end"
            )
        if not any(letter.isalnum() for letter in name):
            raise ValueError(f"the name {name!r} has no letter and no digit")
        if other := seen.get(spelled(name)):
            raise ValueError(
                f"the names {other!r} and {name!r} read alike, and every row needs its own"
            )
        seen[spelled(name)] = name


def check_free(
    names: Iterable[str], taken: Iterable[str], key: str = "extra_models"
) -> None:
    """Raise `BadInput` if one of a user's ``names`` looks like a ``taken`` name of a row or model.

    ``key`` is the config key of the names.
    """
    rows: dict[str, str] = {}
    for other in taken:
        rows.setdefault(spelled(other), other)
    for name in names:
        if other := rows.get(spelled(name)):
            raise BadInput(
                f"the name {name!r} reads like {other!r}, which is a row or a model of the papers",
                where=f"config, {key}",
                do="choose another name",
            )


def rows_of(value: Any) -> list[str]:
    """Return all names of rows in a paper's registry, or in a plan's rows, both as plain values.

    Those are the values of ``row``, ``joined``, ``retriever`` and ``reranker``, and the keys of models.
    """
    found: list[str] = []
    if isinstance(value, Mapping):
        for name, inside in value.items():
            if isinstance(inside, str) and name in (
                "row",
                "joined",
                "retriever",
                "reranker",
            ):
                found.append(inside)
            elif isinstance(inside, Mapping) and "row" in inside:
                found.append(name)
            found += rows_of(inside)
    elif isinstance(value, list | tuple):
        found += [name for inside in value for name in rows_of(inside)]
    return found


def printed(names: Iterable[str]) -> list[str]:
    """Return printed names and their parts: ACORD's ``BM25 / None`` is a retriever and a reranker."""
    return [part for name in names for part in (name, *name.split(" / "))]
