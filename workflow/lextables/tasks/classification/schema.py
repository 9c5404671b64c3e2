"""Tables of a classification data set and of its predictions."""

import hashlib

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table

JOINT = "all heads"  # in place of a head, in the settings of a multi-task model

_ANSWERS = (
    Column("head_id", pa.string(), "the head"),
    Column("example_id", pa.string(), "the example"),
    Column(
        "logits",
        pa.list_(pa.float64()),
        "one logit an answer, in the order of the head's answers",
    ),
    Column(
        "probabilities",
        pa.list_(pa.float64()),
        "one an answer; see the training's loss",
    ),
)
PREDICTIONS = Table(
    "predictions",
    "The logits and probabilities of each answer of a head.",
    _ANSWERS,
    key=("head_id", "example_id"),
)
READINGS = Table(
    "predictions",
    "The predictions of a model's classifiers, each trained under one view, under each view.",
    (
        Column(
            "condition",
            pa.string(),
            "`<view that it was trained under> > <view that it read>`",
        ),
        *_ANSWERS,
    ),
    key=("condition", "head_id", "example_id"),
)
TRIED = Table(
    "predictions",
    "The predictions of a classifier after each number of updates of the grid.",
    (Column("updates", pa.int32(), "optimiser updates done"), *_ANSWERS),
    key=("updates", "head_id", "example_id"),
)
# The tables of a simple data set; a data set with more columns or other names has its
# own schema.
EXAMPLES = Table(
    "examples",
    "The text, head and label of each example.",
    (
        Column("example_id", pa.string(), "the example"),
        Column("split", pa.string(), "the split that it is in"),
        Column("head_id", pa.string(), "the head that answers it"),
        Column("text_id", pa.string(), "the text"),
        Column(
            "label", pa.int32(), "index of the right answer among the head's answers"
        ),
    ),
    key=("example_id",),
    labels=("split",),
)
HEADS = Table(
    "heads",
    "The heads (questions) and their answers.",
    (
        Column("head_id", pa.string(), "the head"),
        Column("answers", pa.list_(pa.string()), "its answers, in the order of labels"),
    ),
    key=("head_id",),
)
TEXTS = Table(
    "texts",
    "The distinct texts.",
    (
        Column("text_id", pa.string(), "the text"),
        Column("text", pa.string(), "the text as published"),
    ),
    key=("text_id",),
    row_group=1024,
)
PUBLISHED_SETTINGS = Table(
    "published_settings",
    "The best settings found by a paper's authors, by model and share of the training data.",
    (
        Column("model", pa.string(), "the authors' name of the model"),
        Column(
            "setting", pa.string(), "single, one model a head; or multi, one for all"
        ),
        Column("share", pa.float64(), "share of the training data, 1 for all"),
        Column("head_id", pa.string(), "the head; `all heads` for a multi-task model"),
        Column("learning_rate", pa.float64(), "best learning rate"),
        Column("updates", pa.int32(), "best number of updates; 0 where epochs say it"),
        Column("epochs", pa.int32(), "best number of epochs; 0 where updates say it"),
    ),
    key=("model", "setting", "share", "head_id"),
)


def content_id(text: str) -> str:
    """Return an id of a text: the first 80 bits of its SHA-256, in hex.

    Equal texts are stored once.
    """
    return hashlib.sha256(text.encode()).hexdigest()[:20]
