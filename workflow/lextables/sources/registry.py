"""The registry of sources: addresses, sizes and digests of the published files.

``resources/sources.yaml`` maps source names to `Source` entries.  `load` reads and checks it; `resolve`
returns one file as a `SourceFile`, with patterns filled in.
"""

import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, TypeAdapter, model_validator

from lextables.pipeline import registry as base
from lextables.pipeline.checked import checked
from lextables.pipeline.errors import BadInput
from lextables.pipeline.registry import Name, content

RELEASE = "release"
# The variant of bytes from an address without a registered digest: they cannot be verified.
UNVERIFIED = "unverified"
PUBLISHED = (RELEASE, UNVERIFIED)
SAMPLE = "sample"

Digest = Annotated[
    str,
    Field(pattern=r"^(sha256:[0-9a-f]{64}|md5:[0-9a-f]{32}|git-blob:[0-9a-f]{40})$"),
]
Address = Annotated[
    str,
    Field(
        pattern=r"^https?://[^\s/@]+(/\S*)?$",
        description="an http(s) address without a login",
    ),
]
Text = Annotated[str, Field(min_length=1)]
STEP = (
    r"([\w-]|\{[a-z]+\})([\w.-]|\{[a-z]+\})*"  # a file or folder name; no leading dot
)
FileName = Annotated[
    str,
    Field(
        pattern=f"^{STEP}(/{STEP})*$",
        description="letters, digits, '_', '-', '.', '{field}' and '/'",
    ),
]

FIELD_VALUE = "[A-Za-z0-9-]+"


class Entry(base.Entry):
    """A mapping of the registry: no unknown keys, no type conversion, immutable."""

    model_config = ConfigDict(strict=True)


class Variant(Entry):
    """Bytes that may replace the published ones, and whether results from them are comparable."""

    comparable: bool = Field(
        description="true where numbers may be compared with the paper's, else false"
    )
    note: Text = Field(
        description="a sentence that says how these bytes differ from the published ones"
    )
    size: int | None = Field(None, ge=0, description="a whole number of bytes, or null")
    digest: Digest | None = Field(
        None, description="sha256:, md5: or git-blob: and its hex digits, or null"
    )
    digests: dict[FileName, Digest] = Field(
        {}, description="for a pattern, a digest for each file by name"
    )
    unpinned: Text | None = Field(None, description="the reason why there is no digest")
    named: FileName | None = Field(
        None, description="the file's name in a mirror, where it is another one"
    )

    @model_validator(mode="after")
    def _pinned_once(self) -> Self:
        if sum(map(bool, (self.digest, self.digests, self.unpinned))) != 1:
            raise ValueError("a variant has one of 'digest', 'digests' and 'unpinned'")
        return self


class Gated(Entry):
    """Data that must be downloaded manually."""

    instructions: Text = Field(description="what a person does to get the file")


class File(Entry):
    """A published file, or a pattern of files if its name has fields such as ``{volume}``."""

    addresses: list[Address] = Field(
        [], description="a list of http(s) addresses, tried in order"
    )
    size: int | None = Field(None, ge=0, description="a whole number of bytes, or null")
    digest: Digest | None = Field(
        None, description="sha256:, md5: or git-blob: and its hex digits, or null"
    )
    unpinned: Text | None = Field(None, description="the reason why there is no digest")
    differs: Text | None = Field(
        None,
        description="a sentence that says how what was published differs from what the paper had",
    )
    gated: Gated | None = Field(
        None, description="a mapping with the key 'instructions'"
    )
    variants: dict[Name, Variant] = Field(
        {}, description="a mapping of variant names to variants"
    )

    @property
    def released(self) -> bool:
        """Whether the file itself was published; a derived file has variants only."""
        return bool(self.digest or self.unpinned)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.digest and self.unpinned:
            raise ValueError(
                "a file has a 'digest', or the reason why it is 'unpinned', not both"
            )
        if self.addresses and not self.released:
            raise ValueError(
                "a file with addresses has a 'digest', or the reason why it is 'unpinned'"
            )
        if not self.addresses and not self.gated:
            raise ValueError(
                "a file without addresses has 'gated' instructions that say how to get it"
            )
        if not self.released and not self.variants:
            raise ValueError("a file that was not released has at least one variant")
        for name in PUBLISHED:
            if name in self.variants:
                raise ValueError(f"the name {name!r} is kept for the published bytes")
        if SAMPLE in self.variants and self.variants[SAMPLE].comparable:
            raise ValueError(f"the variant {SAMPLE!r} is not comparable")
        return self


class Source(Entry):
    """A publisher's data under one licence."""

    title: Text = Field(description="a title")
    licence: Text = Field(description="the licence as the source states it")
    citation: Text = Field(description="a short citation")
    homepage: Address = Field(description="an http(s) address")
    note: Text | None = Field(
        None, description="a sentence for the reader of the registry"
    )
    files: dict[FileName, File] = Field(
        min_length=1, description="a mapping of file names to files"
    )

    @model_validator(mode="after")
    def _addresses_fit_names(self) -> Self:
        for name, file in self.files.items():
            for address in file.addresses:
                if unknown := _fields(address) - _fields(name):
                    raise ValueError(
                        f"the address {address} has {sorted(unknown)}, which {name} has not"
                    )
        return self


Registry = dict[Name, Source]
ADAPTER = TypeAdapter(Registry)


@dataclass(frozen=True)
class Candidate:
    """Possible bytes of a file: the published ones or a declared variant.

    Published bytes with a digest are the ``release``.  Without one they are ``unverified``, and results from
    them are not comparable.
    """

    variant: str
    named: str
    size: int | None
    digest: str | None
    comparable: bool
    note: str

    @property
    def pin(self) -> str:
        """The variant and its digest, for messages."""
        return f"{self.variant} {self.digest or 'without a digest'}"


@dataclass(frozen=True)
class SourceFile:
    """A file of a source, with its pattern filled in."""

    source: str
    file: str
    title: str
    licence: str
    citation: str
    homepage: str
    addresses: tuple[str, ...]
    instructions: str | None
    candidates: tuple[Candidate, ...]

    @property
    def name(self) -> str:
        """``<source>/<file>``, which is also the path in a mirror."""
        return f"{self.source}/{self.file}"

    def among(self, variants: Iterable[str]) -> tuple[Candidate, ...]:
        """Return the candidates of ``variants``, those with a digest first: only they can be identified."""
        allowed = set(variants)
        return tuple(
            sorted(
                (c for c in self.candidates if c.variant in allowed),
                key=lambda c: c.digest is None,
            )
        )

    def variants_for(self, data: str) -> list[str]:
        """Return the variants that a run with ``data: sample`` or ``data: release`` may use."""
        return [
            c.variant
            for c in self.candidates
            if (c.variant == SAMPLE) == (data == SAMPLE)
        ]


def load(path: str | Path, *papers: str | Path) -> Registry:
    """Read and check the registry at ``path`` and the key `sources` of the files ``papers``.

    Raises `BadInput` with file, key, value and the allowed values, or with a source that two files define.
    """
    registry = checked(Registry, content(path), where=str(path))
    defined_in = dict.fromkeys(registry, path)
    for paper in papers:
        mapping = content(paper)
        own = mapping.get("sources") if isinstance(mapping, dict) else None
        for name, entry in checked(
            Registry, own or {}, where=f"{paper}, sources"
        ).items():
            if name in registry:
                raise BadInput(
                    f"the source {name!r} is in {Path(defined_in[name]).name} too",
                    where=str(paper),
                )
            registry[name], defined_in[name] = entry, paper
    return registry


def resolve(registry: Mapping[str, Source], source: str, file: str) -> SourceFile:
    """Return ``file`` of ``source``, with the fields of its pattern filled in.

    Raises `BadInput` with the known names if the registry has no such source or file.
    """
    if source not in registry:
        raise BadInput(
            f"there is no source {source!r}", do=f"use one of {', '.join(registry)}"
        )
    entry = registry[source]
    # An exact name has priority over a matching pattern.
    for name in sorted(entry.files, key=lambda name: name != file):
        if match := re.fullmatch(file_regex(name, named=True), file):
            break
    else:
        names = ", ".join(entry.files)
        raise BadInput(
            f"the source {source!r} has no file {file!r}", do=f"use one of {names}"
        )
    entry_file, values = entry.files[name], match.groupdict()
    variant, comparable, note = _published(entry_file)
    published = Candidate(
        variant, file, entry_file.size, entry_file.digest, comparable, note
    )
    return SourceFile(
        source=source,
        file=file,
        title=entry.title,
        licence=entry.licence,
        citation=entry.citation,
        homepage=entry.homepage,
        addresses=tuple(address.format(**values) for address in entry_file.addresses),
        instructions=entry_file.gated.instructions.strip()
        if entry_file.gated
        else None,
        candidates=(published,) * entry_file.released
        + tuple(
            Candidate(
                variant,
                (v.named or name).format(**values),
                v.size,
                v.digests.get(file, v.digest),
                v.comparable,
                v.note,
            )
            for variant, v in entry_file.variants.items()
            if not v.digests or file in v.digests
        ),
    )


def _published(file: File) -> tuple[str, bool, str]:
    """Return variant, comparability and note of the published bytes.

    They are comparable if they have a digest and are not known to differ from the paper's data.
    """
    pinned = file.digest is not None
    note = file.unpinned or file.differs or ""
    return RELEASE if pinned else UNVERIFIED, pinned and not file.differs, note


def registry_texts(
    registry: Mapping[str, Source], names: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Return the texts of the sources ``names`` that pages show.

    {``<source>``: its title, licence, citation and homepage; ``<source>/<file>``: {variant: its
    ``comparable`` and ``note``}}.
    """
    texts = {"title", "licence", "citation", "homepage"}
    return {source: registry[source].model_dump(include=texts) for source in names} | {
        f"{source}/{name}": {
            variant: {"comparable": comparable, "note": note}
            for variant, comparable, note in (
                _published(file),
                *(
                    (variant, entry.comparable, entry.note)
                    for variant, entry in file.variants.items()
                ),
            )
        }
        for source in names
        for name, file in registry[source].files.items()
    }


def with_registry_texts(
    records: Iterable[Mapping[str, Any]], texts: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return provenance ``records`` updated with the registry's current ``texts`` (`registry_texts`)."""
    updated = []
    for record in records:
        place = f"{record['source']}/{record['file']}"
        name = min(
            (n for n in texts if re.fullmatch(file_regex(n), place)),
            key=lambda n: n != place,
            default="",
        )
        source, variants = texts.get(record["source"], {}), texts.get(name, {})
        updated.append(dict(record) | source | variants.get(record["variant"], {}))
    return updated


def file_regex(name: str, named: bool = False) -> str:
    """Return the regular expression of a file name or pattern; ``named`` makes each field a named group."""
    parts = []
    for text, field, _, _ in string.Formatter().parse(name):
        parts.append(re.escape(text))
        if field is not None:
            parts.append(f"(?P<{field}>{FIELD_VALUE})" if named else FIELD_VALUE)
    return "".join(parts)


def _fields(pattern: str) -> set[str]:
    return {
        field
        for _, field, _, _ in string.Formatter().parse(pattern)
        if field is not None
    }
