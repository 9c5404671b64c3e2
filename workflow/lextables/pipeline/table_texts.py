"""Names, types and descriptions of written tables, for the pages and the exports that show them."""

from collections.abc import Mapping

import pyarrow as pa

SPLIT = "full"  # the only split of each table in `load_dataset`


def config_name(table: str, folder: str) -> str:
    """Return the name in `load_dataset` of a table of the data set in ``folder`` (empty: at the top)."""
    return f"{folder}-{table}" if folder else table


def description_of(metadata: Mapping[bytes, bytes] | None) -> str:
    """Return the description in the metadata of a schema or field; empty if there is none."""
    return (metadata or {}).get(b"description", b"").decode()


def key_of(schema: pa.Schema) -> list[str]:
    """Return the columns that identify a row; empty if there is no key."""
    names = (schema.metadata or {}).get(b"key", b"").decode()
    return names.split(",") if names else []


def type_name(field: pa.Field) -> str:
    """Return the type of a column as text."""
    several = pa.types.is_list(field.type)
    kind = field.type.value_type if several else field.type
    name = str(kind)
    if pa.types.is_struct(kind):
        name = f"struct({', '.join(part.name for part in kind)})"
    if several:
        name = f"list of {name}"
    return f"{name}, or null" if field.nullable else name
