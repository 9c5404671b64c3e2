"""The probability of each label for each example, by a classifier for inference (NLI).

Like the column `support`, it lets a user leave out examples whose label is doubtful.
The classifier was fine-tuned by others on pairs of sentences, such as SNLI's.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from sentence_transformers import CrossEncoder
from tqdm import tqdm

from lextables.models import loading
from lextables.models.files import check_named_code
from lextables.models.labels import label_columns
from lextables.papers.lawngnli.dataset.labels import LABELS
from lextables.pipeline import dataset
from lextables.pipeline.dataset import Column, Row, Table
from lextables.pipeline.errors import BadInput, loading_weights
from lextables.pipeline.finite import finite

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
    """Yield the rows of `INFERENCE`, in the order of the examples."""
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


@loading_weights()
def load(folder: str, device: torch.device, max_length: int) -> CrossEncoder:
    """Load a classifier of pairs in single precision.

    ``max_length`` is the maximum length of a pair in tokens; of a longer pair the
    longer text is cut.  Raises `BadInput` for a model whose configuration names code,
    that lacks weights or a tokenizer, that reads fewer tokens, or that has other labels
    than the three.
    """
    check_named_code(folder)
    fault, advice = loading.fault_of(folder, "classifier", max_length)
    if fault:
        other = f"use a complete classifier of pairs that reads {max_length} tokens"
        raise BadInput(fault, where=folder, do=advice or other)
    model = CrossEncoder(folder, device=str(device), max_length=max_length)
    loading.check_finite(folder, model)
    _columns(model, folder)
    return model.float()


def label_probabilities(
    model: CrossEncoder, pairs: Sequence[tuple[str, str]], batch_size: int = 16
) -> np.ndarray:
    """Return the probability of each of `LABELS`, of the shape (pairs, 3).

    ``pairs`` are premises with their hypotheses.  Raises `BadInput` if the model
    returns numbers that are not finite.
    """
    probabilities = model.predict(
        list(pairs),
        batch_size=batch_size,
        activation_fn=torch.nn.Softmax(dim=1),
        show_progress_bar=False,
    )
    columns = _columns(model, "the model")
    return finite(probabilities[:, columns], "the probabilities", where="inference")


def _columns(model: CrossEncoder, where: str) -> list[int]:
    """Return the column of the model's output for each of `LABELS`.

    The model's own names of its labels begin with these words.
    """
    names: dict[int, str] = getattr(model.config, "id2label", {})
    labels = [str(names[number]) for number in sorted(names)]
    return label_columns(labels, LABELS, where)
