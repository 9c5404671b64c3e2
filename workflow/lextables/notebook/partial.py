"""A copy of a data set whose test part has only what was predicted."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lextables.pipeline.dataset import parquet_file, read_table

# The split of what was not predicted: scores ignore it, as they do the training split.
LEFT_OUT = "left out"
ID_OF = {
    "retrieval": "query_id",
    "spans": "question_id",
    "classification": "example_id",
}


def copy_without(source: Path, copy: Path, task: Any, missing: Collection[Any]) -> None:
    """Link the tables of the data set in ``source`` into ``copy``, without the
    ``missing`` items.

    Those are ids of the test part, and in a task without splits pairs of question and
    document.  ``task`` is the data set's task in the registry.
    """
    copy.mkdir(parents=True)
    (copy / "census.json").symlink_to(source / "census.json")
    for file in source.glob("*.parquet"):
        target = copy / file.name
        with parquet_file(file) as opened:
            columns = opened.schema_arrow.names
        if task.task in ID_OF and {ID_OF[task.task], "split"} <= {*columns}:
            table = _with_split(read_table(file), ID_OF[task.task], missing)
            pq.write_table(table, target)
        elif task.task == "answers" and file.stem == task.names.responses:
            keys = ["question_id", task.names.document]
            pq.write_table(_without_pairs(read_table(file), keys, missing), target)
        else:
            target.symlink_to(file)


def _with_split(table: pa.Table, key: str, missing: Collection[str]) -> pa.Table:
    """Return a table in which the rows of ``missing`` items are in the split
    `LEFT_OUT`.
    """
    is_missing = pc.is_in(table[key], value_set=pa.array(missing, table[key].type))
    split = pc.if_else(is_missing, LEFT_OUT, table["split"])
    return table.set_column(table.column_names.index("split"), "split", split)


def _without_pairs(
    table: pa.Table, keys: list[str], missing: Collection[tuple[str, str]]
) -> pa.Table:
    """Return a table without the rows whose values of ``keys`` are a ``missing``
    pair.
    """
    left_out = set(missing)
    columns = [table[key].to_pylist() for key in keys]
    is_kept = [pair not in left_out for pair in zip(*columns, strict=True)]
    return table.filter(pa.array(is_kept))
