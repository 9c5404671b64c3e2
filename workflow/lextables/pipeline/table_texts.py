"""Names, types and descriptions of written tables, for the pages and the exports that
show them.
"""

from collections.abc import Mapping

import pyarrow as pa

SPLIT = "full"  # of a table, the only split, for `load_dataset` of the library datasets


def config_name(table: str, folder: str) -> str:
    """Return the configuration of the library datasets that loads a table of an export.

    ``folder`` is the folder of the table's data set in the export; empty: the top.
    """
    if not folder:
        return table
    return f"{folder}-{table}"


def description_of(metadata: Mapping[bytes, bytes] | None) -> str:
    """Return the description in the metadata of a schema or field; empty if there is
    none.
    """
    if not metadata:
        return ""
    return metadata.get(b"description", b"").decode()


def key_of(schema: pa.Schema) -> list[str]:
    """Return the columns that identify a row; empty if there is no key."""
    metadata = schema.metadata or {}
    names = metadata.get(b"key", b"").decode()
    return [name for name in names.split(",") if name]


def type_name(field: pa.Field) -> str:
    """Return the type of a column as text."""
    is_list = pa.types.is_list(field.type)
    kind = field.type
    if is_list:
        kind = kind.value_type
    name = str(kind)
    if pa.types.is_struct(kind):
        name = f"struct({', '.join(part.name for part in kind)})"
    if is_list:
        name = f"list of {name}"
    if field.nullable:
        name += ", or null"
    return name
