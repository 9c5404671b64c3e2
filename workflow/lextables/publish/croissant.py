"""Croissant metadata of an export, with the vocabulary of responsible AI, through
mlcroissant.

Each table is a record set whose fields are its columns, read from the export's own
parquet files.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import mlcroissant as mlc
import pyarrow as pa

from lextables import __version__
from lextables.pipeline.table_texts import description_of
from lextables.pipeline.version import RELEASED
from lextables.publish.export import Export, PublishedTable
from lextables.sources.licences import licences_of

CONFORMS_TO = (
    "http://mlcommons.org/croissant/1.0",
    "http://mlcommons.org/croissant/RAI/1.0",
)
SAMPLE_NOTE = "This is a sample of our own writing; all other statements are about the paper's own data."


def croissant(export: Export, description: str, keywords: Sequence[str]) -> str:
    """Return the metadata as JSON, its keys in mlcroissant's order.

    Raises `mlcroissant.ValidationError` for metadata that are not valid.
    """
    metadata = mlc.Metadata(
        name=export.name,
        description=description,
        version=__version__,
        date_published=datetime.fromisoformat(RELEASED),
        conforms_to=list(CONFORMS_TO),
        distribution=[_file_object(table) for table in export.tables],
        record_sets=[_record_set(table) for table in export.tables],
        license=[
            licence.url or licence.statement for licence in licences_of(export.sources)
        ],
        cite_as=export.publication.bibtex or export.citation,
        url=None if export.sample else export.sources[0]["homepage"],
        keywords=list(keywords),
        in_language=["en"],
        **responsible(export),
    )
    return json.dumps(metadata.to_json(), indent=2, ensure_ascii=False) + "\n"


def responsible(export: Export) -> dict[str, Any]:
    """Return the paper's statements about its data; a sample has a note that they are
    not about it.
    """
    fields = export.responsible.model_dump(exclude_defaults=True)
    if export.sample:
        limitations = fields.get("data_limitations", ())
        collection = fields.get("data_collection", "")
        fields["data_limitations"] = (SAMPLE_NOTE, *limitations)
        fields["data_collection"] = f"{SAMPLE_NOTE} {collection}".strip()
    for name, value in fields.items():
        if isinstance(value, tuple):
            fields[name] = list(value)
    return fields


def _file_object(table: PublishedTable) -> mlc.FileObject:
    with table.path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    name = f"{table.config}-file"
    return mlc.FileObject(
        id=name,
        name=name,
        content_url=table.file,
        content_size=f"{table.path.stat().st_size} B",
        encoding_formats=["application/x-parquet"],
        sha256=digest,
    )


def _record_set(table: PublishedTable) -> mlc.RecordSet:
    return mlc.RecordSet(
        id=table.config,
        name=table.config,
        description=table.description,
        key=[f"{table.config}/{column}" for column in table.key],
        fields=[_field(table, column) for column in table.schema],
    )


def _field(table: PublishedTable, column: pa.Field) -> mlc.Field:
    """Return the field of a column: a list has its items' type, structures a field for
    each part.
    """
    several = pa.types.is_list(column.type)
    inner = column.type.value_type if several else column.type
    field = _described(table.config, column, inner, column.name)
    field.repeated = several or None
    if pa.types.is_struct(inner):
        field.data_types = []
        for part in inner:
            described = _described(
                table.config, part, part.type, column.name, part.name
            )
            field.sub_fields.append(described)
    return field


def _described(
    table: str, field: pa.Field, kind: pa.DataType, column: str, part: str = ""
) -> mlc.Field:
    """Return the field of a column of ``table``, or of one ``part`` of its
    structures.
    """
    transforms = [mlc.Transform(json_path=part)] if part else []
    source = mlc.Source(
        file_object=f"{table}-file",
        extract=mlc.Extract(column=column),
        transforms=transforms,
    )
    place = f"{table}/{column}"
    return mlc.Field(
        id=f"{place}/{part}" if part else place,
        name=field.name,
        description=description_of(field.metadata),
        data_types=[_data_type(kind)],
        source=source,
    )


def _data_type(kind: pa.DataType) -> Any:
    """Return the Croissant data type of single values; text for all others."""
    if pa.types.is_boolean(kind):
        return mlc.DataType.BOOL
    if pa.types.is_integer(kind):
        return mlc.DataType.INTEGER
    if pa.types.is_floating(kind):
        return mlc.DataType.FLOAT
    return mlc.DataType.TEXT
