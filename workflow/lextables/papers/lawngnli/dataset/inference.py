"""The probability of each label by a model of inference, for each example.

Like the column `support`, it lets a user leave out examples whose label is doubtful.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
from sentence_transformers import CrossEncoder
from tqdm import tqdm

from lextables.models.inference import LABELS, label_probabilities
from lextables.pipeline import dataset
from lextables.pipeline.dataset import Column, Row, Table

INFERENCE = Table(
    name="inference",
    description="The probability of each label by a model of inference, one row an example.",
    columns=(
        Column("example_id", pa.string(), "as in `examples`"),
        Column("is_twin", pa.bool_(), "as in `examples`"),
        *(
            Column(label, pa.float32(), f"the probability of the label {label}")
            for label in LABELS
        ),
    ),
    key=("example_id", "is_twin"),
)
# Examples that are read at once; after them the log shows the progress.
BATCH = 32


def write_inference(
    examples: str | Path, model: CrossEncoder, path: str | Path
) -> None:
    """Write the table `INFERENCE` of LawngNLI's examples.

    The model reads the short premise, cut to its maximum length, and the hypothesis.
    """
    dataset.write(INFERENCE, _rows(examples, model), path)


def _rows(examples: str | Path, model: CrossEncoder) -> Iterator[Row]:
    columns = ["example_id", "is_twin", "short_premise", "hypothesis"]
    remaining = dataset.read(examples, columns)
    with tqdm(desc="infer", unit=" examples") as progress:
        while batch := list(islice(remaining, BATCH)):
            pairs = [(row["short_premise"], row["hypothesis"]) for row in batch]
            probabilities = label_probabilities(model, pairs)
            for row, values in zip(batch, probabilities.tolist(), strict=True):
                key = {name: row[name] for name in INFERENCE.key}
                yield key | dict(zip(LABELS, values, strict=True))
            progress.update(len(batch))
