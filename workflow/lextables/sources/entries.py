"""The registry of sources: addresses, sizes and digests of the published files.

``resources/sources.yaml`` maps source names to `Source` entries, and so does the key
`sources` of a paper's file, for sources of this paper only.  `load` reads and checks
both; `resolve` returns one file as a `SourceFile`, with patterns filled in.
"""

import re
import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Self

from pydantic import ConfigDict, Field, TypeAdapter, model_validator

from lextables.pipeline import entries as base
from lextables.pipeline.checked import checked
from lextables.pipeline.entries import Name, content
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject

RELEASE = "release"
# The variant of bytes from an address without a registered digest: they cannot be
# verified.
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

FIELD_VALUE = "[A-Za-z0-9-]+"  # what a field such as {volume} stands for


class Entry(base.Entry):
    """A mapping of the registry: no unknown keys, no type conversion, immutable."""

    model_config = ConfigDict(strict=True)


class Variant(Entry):
    """Bytes that may replace the published ones, and whether results from them are
    comparable.
    """

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
    """A published file, or a pattern of files if its name has fields such as
    ``{volume}``.
    """

    addresses: list[Address] = Field(
        [], description="a list of http(s) addresses, tried in order"
    )
    size: int | None = Field(None, ge=0, description="a whole number of bytes, or null")
    digest: Digest | None = Field(
        None, description="sha256:, md5: or git-blob: and its hex digits, or null"
    )
    unpinned: Text | None = Field(None, description="the reason why there is no digest")
    members: list[Text] = Field([], description="names of files that a zip must hold")
    suffix: Text | None = Field(
        None, description="the suffix of its kind, if its name has another one"
    )
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
        """Raise `ValueError` for keys that contradict each other, or that are
        missing.
        """
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
                unknown = sorted(_fields(address) - _fields(name))
                if unknown:
                    raise ValueError(
                        f"the address {address} has {unknown}, which {name} has not"
                    )
        return self


Registry = dict[Name, Source]
ADAPTER = TypeAdapter(Registry)


@dataclass(frozen=True)
class Candidate:
    """Possible bytes of a file: the published ones or a declared variant."""

    variant: str
    """Published bytes with a digest are the `release`, without one `unverified`."""
    named: str
    """The file's path in the source's folder of a mirror."""
    size: int | None
    digest: str | None
    comparable: bool
    """Whether results may be compared with the paper's; never if `unverified`."""
    note: str
    """How the bytes differ from the published ones or from the paper's."""

    @property
    def pin(self) -> str:
        """The variant and its digest, for messages."""
        return f"{self.variant} {self.digest or 'without a digest'}"


@dataclass(frozen=True)
class SourceFile:
    """A file of a source, with its pattern filled in; see `Source` and `File`."""

    source: str
    file: str
    title: str
    licence: str
    citation: str
    homepage: str
    addresses: tuple[str, ...]
    instructions: str | None
    """How a person gets the file, if it must be downloaded manually."""
    candidates: tuple[Candidate, ...]
    members: tuple[str, ...] = ()
    suffix: str | None = None

    @property
    def kind_name(self) -> str:
        """Its name, with the suffix of its kind in place of a misleading one."""
        name = PurePosixPath(self.file)
        return name.with_suffix(self.suffix).name if self.suffix else name.name

    @property
    def name(self) -> str:
        """``<source>/<file>``, which is also the path in a mirror."""
        return f"{self.source}/{self.file}"

    def among(self, variants: Iterable[str]) -> list[Candidate]:
        """Return the candidates of ``variants``, those with a digest first: only they
        can be identified.
        """
        allowed = set(variants)
        candidates = [
            candidate for candidate in self.candidates if candidate.variant in allowed
        ]
        return sorted(candidates, key=lambda candidate: candidate.digest is None)

    def variants_for(self, data: str) -> list[str]:
        """Return the variants that a run with ``data: sample`` or ``data: release`` may
        use: the sample, or all others.
        """
        names = [candidate.variant for candidate in self.candidates]
        return [name for name in names if (name == SAMPLE) == (data == SAMPLE)]


def load(path: str | Path, *papers: str | Path) -> Registry:
    """Read and check the registry at ``path`` and the key `sources` of the files
    ``papers``.

    Raises `BadInput` with file, key, value and the allowed values, or with a source
    that two files define.
    """
    registry = checked(Registry, content(path), where=str(path))
    defined_in = dict.fromkeys(registry, Path(path).name)
    for paper in papers:
        mapping = content(paper)
        entries = mapping.get("sources") if isinstance(mapping, dict) else None
        sources = checked(Registry, entries or {}, where=f"{paper}, sources")
        for name, entry in sources.items():
            if name in registry:
                what = f"the source {name!r} is in {defined_in[name]} too"
                raise BadInput(what, where=str(paper))
            registry[name] = entry
            defined_in[name] = Path(paper).name
    return registry


def resolve(registry: Mapping[str, Source], source: str, file: str) -> SourceFile:
    """Return ``file`` of ``source``, with the fields of its pattern filled in.

    Raises `BadInput` with the known names if the registry has no such source or file.
    """
    if source not in registry:
        do = f"use one of {', '.join(registry)}"
        raise BadInput(f"there is no source {source!r}", do=do)
    entry = registry[source]
    name = _name_of(entry.files, file)
    if not name:
        do = f"use one of {', '.join(entry.files)}"
        raise BadInput(f"the source {source!r} has no file {file!r}", do=do)
    registered = entry.files[name]
    match = re.fullmatch(file_regex(name, named=True), file)
    assert match is not None  # it is the pattern that `_name_of` chose
    values = match.groupdict()
    instructions = None
    if registered.gated:
        instructions = registered.gated.instructions.strip()
    return SourceFile(
        source=source,
        file=file,
        title=entry.title,
        licence=entry.licence,
        citation=entry.citation,
        homepage=entry.homepage,
        addresses=tuple(text.format(**values) for text in registered.addresses),
        instructions=instructions,
        candidates=tuple(_candidates(registered, name, file, values)),
        members=tuple(registered.members),
        suffix=registered.suffix,
    )


def _name_of(names: Iterable[str], file: str) -> str:
    """Return the name or pattern of a file; empty if there is none.

    An exact name has priority over a matching pattern.
    """
    matching = [name for name in names if re.fullmatch(file_regex(name), file)]
    if file in matching:
        return file
    return next(iter(matching), "")


def _candidates(
    registered: File, name: str, file: str, values: Mapping[str, str]
) -> Iterator[Candidate]:
    """Yield the published bytes of ``file``, if there are any, and its variants.

    ``values`` are those of the fields in ``name``, a name or pattern of the registry.
    """
    if registered.released:
        variant, comparable, note = _published(registered)
        yield Candidate(
            variant=variant,
            named=file,
            size=registered.size,
            digest=registered.digest,
            comparable=comparable,
            note=note,
        )
    for variant, entry in registered.variants.items():
        if entry.digests and file not in entry.digests:
            continue
        yield Candidate(
            variant=variant,
            named=(entry.named or name).format(**values),
            size=entry.size,
            digest=entry.digests.get(file, entry.digest),
            comparable=entry.comparable,
            note=entry.note,
        )


def _published(file: File) -> tuple[str, bool, str]:
    """Return variant, comparability and note of the published bytes.

    They are comparable if they have a digest and are not known to differ from the
    paper's data.
    """
    if file.digest is None:
        return UNVERIFIED, False, file.unpinned or file.differs or ""
    return RELEASE, not file.differs, file.differs or ""


def registry_texts(
    registry: Mapping[str, Source], names: Iterable[str]
) -> dict[str, JsonObject]:
    """Return the texts of the sources ``names`` that pages show.

    {``<source>``: its title, licence, citation and homepage; ``<source>/<file>``:
    {variant: its ``comparable`` and ``note``}}.
    """
    fields = {"title", "licence", "citation", "homepage"}
    texts = {}
    for source in names:
        texts[source] = registry[source].model_dump(include=fields)
        for name, file in registry[source].files.items():
            variant, comparable, note = _published(file)
            variants = {variant: {"comparable": comparable, "note": note}}
            for variant, entry in file.variants.items():
                variants[variant] = entry.model_dump(include={"comparable", "note"})
            texts[f"{source}/{name}"] = variants
    return texts


def with_registry_texts(
    records: Iterable[JsonObject], texts: Mapping[str, JsonObject]
) -> list[JsonObject]:
    """Return provenance ``records`` updated with the registry's current ``texts``
    (`registry_texts`).
    """
    updated = []
    for record in records:
        name = _name_of(texts, f"{record['source']}/{record['file']}")
        variants = texts.get(name, {})
        new = dict(record)
        new.update(texts.get(record["source"], {}))
        new.update(variants.get(record["variant"], {}))
        updated.append(new)
    return updated


def file_regex(name: str, named: bool = False) -> str:
    """Return the regular expression of a file name or pattern; ``named`` makes each
    field a named group.
    """
    parts = []
    for text, field, _, _ in string.Formatter().parse(name):
        parts.append(re.escape(text))
        if field is None:
            continue
        parts.append(f"(?P<{field}>{FIELD_VALUE})" if named else FIELD_VALUE)
    return "".join(parts)


def _fields(pattern: str) -> set[str]:
    parts = string.Formatter().parse(pattern)
    return {field for _, field, _, _ in parts if field is not None}
