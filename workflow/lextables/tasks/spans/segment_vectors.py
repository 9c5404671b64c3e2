"""The file of sentence vectors of the segments of contracts (`segments`).

In the file, and in the counts that a job logs, segments are called units.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from lextables.pipeline.dataset import Column, Table, read, write
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import note_again
from lextables.tasks.spans.segments import Segments

VECTORS = Table(
    "vectors",
    "Sentence vectors of the units of each contract.",
    (
        Column("contract_id", pa.string(), "the contract"),
        Column("units", pa.int32(), "its number of units"),
        Column(
            "vectors",
            pa.large_binary(),
            "float16 (units, dimensions), row by row, units in order",
        ),
    ),
    key=("contract_id",),
)


def write_vectors(
    texts: Mapping[str, str],
    encode: Callable[[Sequence[str]], np.ndarray],
    output: str | Path,
    about: Mapping[str, str] | None = None,
) -> dict[str, int]:
    """Write the `VECTORS` of contracts, {contract: text}, and return counts.

    ``encode`` returns float32 (texts, dimensions).  ``about`` is stored in the file.
    """
    names = sorted(texts)
    segments = Segments.from_texts([texts[name] for name in names])
    vectors = encode(segments.texts()).astype(np.float16)
    rows = []
    for contract, name in enumerate(names):
        contract_vectors = vectors[segments.rows_of(contract)]
        rows.append(
            {
                "contract_id": name,
                "units": len(contract_vectors),
                "vectors": contract_vectors.tobytes(),
            }
        )
    write(VECTORS, rows, output, about)
    return {
        "contracts": len(names),
        "units": len(vectors),
        "dimensions": vectors.shape[1],
    }


def read_vectors(
    paths: Sequence[str | Path], names: Sequence[str]
) -> np.ndarray | None:
    """Return the vectors of segments, float32 (segments, dimensions); None without a
    file.

    They are in the order of the contracts ``names``.  The notes of the job that encoded
    the segments are added to the records of this job's runs (`run.note_again`).  Raises
    `BadInput` for a contract without vectors.
    """
    if not paths:
        return None
    note_again(paths[0])
    rows = {row["contract_id"]: row for row in read(paths[0])}
    vectors = []
    for name in names:
        if name not in rows:
            raise BadInput(
                f"the contract {name!r} has no vectors",
                where=str(paths[0]),
                do="encode them again",
            )
        row = rows[name]
        flat = np.frombuffer(row["vectors"], dtype=np.float16)
        if row["units"]:
            vectors.append(flat.reshape(row["units"], -1))
    return np.concatenate(vectors).astype(np.float32)
