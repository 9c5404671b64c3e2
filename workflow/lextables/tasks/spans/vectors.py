"""Vectors of the units of contracts by a frozen sentence encoder: made once, read by training and reading."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from lextables.pipeline.dataset import Column, Row, Table, read, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.units import units_of

VECTORS = Table(
    "vectors",
    "What a sentence encoder makes of the units of each contract.",
    (
        Column("contract_id", pa.string(), "the contract"),
        Column("units", pa.int32(), "how many units it has"),
        Column("vectors", pa.large_binary(), "float16 (units, dimensions), by rows, the units by place"),
    ),
    key=("contract_id",),
)


def write_vectors(
    contracts: Path, encode: Callable[[Sequence[str]], np.ndarray], output: str | Path
) -> dict[str, int]:
    """Write `VECTORS` of the table ``contracts`` (`squad.CONTRACTS`) and return what there was to encode.

    ``encode`` gives float32 (texts, dimensions) of texts.
    """
    texts = {row["contract_id"]: row["text"] for row in read(contracts, ["contract_id", "text"])}
    names = sorted(texts)
    found = units_of([texts[name] for name in names])
    words = found.words()
    vectors = encode(words).astype(np.float16)

    def rows() -> Iterable[Row]:
        for at, name in enumerate(names):
            own = vectors[found.of(at)]
            yield {"contract_id": name, "units": len(own), "vectors": own.tobytes()}

    write(VECTORS, rows(), output)
    return {"contracts": len(names), "units": len(words), "dimensions": vectors.shape[1]}


def read_vectors(path: str | Path, names: Sequence[str]) -> np.ndarray:
    """Return the vectors of the units of contracts, float32 (units, dimensions), in the order of ``names``.

    Raises `BadInput` for a contract that has none.
    """
    asked = set(names)
    held = {row["contract_id"]: row for row in read(path) if row["contract_id"] in asked}
    if missing := sorted(asked - held.keys()):
        raise BadInput(f"the contract {missing[0]!r} has no vectors", where=str(path), do="make them anew")
    units = sum(held[name]["units"] for name in names)
    flat = np.frombuffer(b"".join(held[name]["vectors"] for name in names), dtype=np.float16)
    return flat.reshape(units, -1).astype(np.float32) if units else np.zeros((0, 0), dtype=np.float32)
