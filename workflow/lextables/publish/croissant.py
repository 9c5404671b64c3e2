"""Croissant metadata of a bundle, with the vocabulary of responsible AI, through mlcroissant.

Each table is a record set whose fields are its columns, read from the bundle's own parquet files.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import mlcroissant as mlc
import pyarrow as pa

from lextables import __version__
from lextables.pipeline.version import RELEASED
from lextables.publish.export import Bundle, PublishedTable, licences_of, said

CONFORMS_TO = ("http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0")
SAMPLE_WORDS = "This is a sample of our own writing; what else is said is of the paper's own data."
PARQUET = "application/x-parquet"


def croissant(bundle: Bundle, description: str, keywords: Sequence[str]) -> str:
    """Return the metadata as JSON; `mlcroissant.ValidationError` where mlcroissant finds a fault."""
    licensed = licences_of(bundle.sources)
    return as_json(
        bundle.name,
        description,
        distribution=[file_object(table.config, table.path, table.file, PARQUET) for table in bundle.tables],
        record_sets=[_record_set(table) for table in bundle.tables],
        license=[licence.url or licence.words for licence in licensed],
        cite_as=bundle.publication.bibtex or bundle.citation,
        url=None if bundle.sample else bundle.sources[0]["homepage"],
        keywords=list(keywords),
        in_language=["en"],
        **responsible(bundle),
    )


def responsible(bundle: Bundle) -> dict[str, Any]:
    """What the paper says of its data; of a sample, with a word that it is not said of these."""
    told = bundle.responsible.model_dump(exclude_defaults=True)
    if bundle.sample:
        told["data_limitations"] = (SAMPLE_WORDS, *told.get("data_limitations", ()))
        told["data_collection"] = f"{SAMPLE_WORDS} {told.get('data_collection', '')}".strip()
    return told


def as_json(name: str, description: str, **said_of_it: Any) -> str:
    """Return the metadata of a data set as JSON, its keys in mlcroissant's order."""
    told = {key: list(value) if isinstance(value, tuple) else value for key, value in said_of_it.items()}
    metadata = mlc.Metadata(
        name=name,
        description=description,
        version=__version__,
        date_published=datetime.fromisoformat(RELEASED),
        conforms_to=list(CONFORMS_TO),
        **told,
    )
    return json.dumps(metadata.to_json(), indent=2, ensure_ascii=False) + "\n"


def file_object(name: str, path: Path, file: str, encoding: str) -> mlc.FileObject:
    """Describe the file at ``path``, which lies at ``file`` in the bundle."""
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return mlc.FileObject(
        id=f"{name}-file",
        name=f"{name}-file",
        content_url=file,
        content_size=f"{path.stat().st_size} B",
        encoding_formats=[encoding],
        sha256=digest,
    )


def _record_set(table: PublishedTable) -> mlc.RecordSet:
    return mlc.RecordSet(
        id=table.config,
        name=table.config,
        description=table.description,
        key=[f"{table.config}/{column}" for column in table.key if column],
        fields=[_field(table, column) for column in table.schema],
    )


def _field(table: PublishedTable, column: pa.Field) -> mlc.Field:
    """A column; of a list its items, of a list of structures a field for each of their parts."""
    several = pa.types.is_list(column.type)
    inner = column.type.value_type if several else column.type
    place = f"{table.config}/{column.name}"
    parts = [
        field(
            f"{place}/{part.name}",
            part.name,
            said(part.metadata),
            part.type,
            table.config,
            column.name,
            part.name,
        )
        for part in (inner if pa.types.is_struct(inner) else ())
    ]
    found = field(place, column.name, said(column.metadata), inner, table.config, column.name)
    found.repeated = several or None
    if parts:
        found.data_types, found.sub_fields = [], parts
    return found


def field(
    place: str, name: str, description: str, kind: pa.DataType, table: str, column: str, part: str = ""
) -> mlc.Field:
    """Describe a column of the file of ``table``, or one ``part`` of its structures."""
    transforms = [mlc.Transform(json_path=part)] if part else []
    source = mlc.Source(
        file_object=f"{table}-file", extract=mlc.Extract(column=column), transforms=transforms
    )
    return mlc.Field(id=place, name=name, description=description, data_types=[_kind(kind)], source=source)


def _kind(kind: pa.DataType) -> Any:
    """The data type of single values, which Croissant has few of."""
    kinds: Mapping[Any, Any] = {
        pa.types.is_boolean: mlc.DataType.BOOL,
        pa.types.is_integer: mlc.DataType.INTEGER,
        pa.types.is_floating: mlc.DataType.FLOAT,
    }
    return next((name for fits, name in kinds.items() if fits(kind)), mlc.DataType.TEXT)
