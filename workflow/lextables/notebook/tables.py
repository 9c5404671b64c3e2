"""Published values and data sets, as DataFrames."""

import io
from pathlib import Path

import pandas as pd

from lextables import ROOT
from lextables.notebook.project import Data, check_name, data_set
from lextables.pipeline.dataset import read_table
from lextables.tables import published as published_values


def published(paper: str | None = None, table: str | None = None) -> pd.DataFrame:
    """Return the published values of all papers, of one ``paper``, or of one of its
    tables.

    ``table`` is the table's name in targets and files, such as ``table_d3``.  A row is
    a value, in the order of the paper:

    - ``paper``, ``table``, ``row``, ``column``: its place in the table;
    - ``value``: the text as printed; ``number``: the number in the table's unit (54.0
      for ``54.0%``), and ``margin``: its published error; both are NaN for text;
    - ``decimals``: the precision by which it is compared (missing for text);
    - ``place``: the place in the paper.

    Raises `lextables.pipeline.errors.BadInput`, with the most similar names, for an
    unknown paper or table.
    """
    files = sorted(ROOT.glob("resources/published/*.csv"))
    names = [file.stem for file in files]
    if paper is not None:
        check_name(paper, names, "paper")
        files = [files[names.index(paper)]]
    text = published_values.to_csv(files)
    # Words such as NaN and N/A are published values.
    values = pd.read_csv(
        io.StringIO(text),
        dtype={"value": "str", "decimals": "Int64"},
        keep_default_na=False,
        na_values={name: [""] for name in ("number", "margin", "decimals")},
    )
    values = values.rename(columns={"where": "place"})
    if table is not None:
        check_name(table, values["table"].unique().tolist(), "table")
        values = values[values["table"] == table].reset_index(drop=True)
    return values


def load(
    name: str, data: Data = "release", folder: str | Path | None = None
) -> dict[str, pd.DataFrame]:
    """Return {table: its rows} of a data set, as the pipeline built it.

    ``name`` is a data set; a paper's name stands for its data set of that name.
    ``data`` is ``release``, the published data, or ``sample``, whose texts are
    invented; then there is a warning.  ``folder`` is the working folder of Snakemake,
    by default the current folder if it has results, and otherwise a clone's.  `attrs`
    of each frame has the ``data`` and the ``folder`` that it was read from.

    Raises `lextables.pipeline.errors.BadInput` for an unknown name, and for a data set
    that is not built or lacks a table, with the command that builds it.
    """
    built = data_set(name, data, folder)
    built.check_built()
    frames = {}
    for table in built.tables:
        frame = read_table(built.path / f"{table}.parquet").to_pandas()
        frame.attrs["data"] = data
        frame.attrs["folder"] = str(built.path)
        frames[table] = frame
    return frames
