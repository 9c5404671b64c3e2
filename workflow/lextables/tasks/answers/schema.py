"""What the task of answers reads and predicts: questions with options about documents.

A person who answered, or a model, gives each question of a document a distribution over the question's
options, and may mark the sentences that say so.
"""

import pyarrow as pa

from lextables.dataset import Column, Table

DOCUMENTS = Table(
    "documents",
    "The documents that are asked about.",
    (
        Column("document_id", pa.string(), "the document"),
        Column("split", pa.string(), "the split that it is in"),
        Column("text", pa.string(), "the document as published"),
    ),
    key=("document_id",),
    labels=("split",),
    # Documents run to hundreds of KB.
    row_group=16,
)
QUESTIONS = Table(
    "questions",
    "What is asked, and the options that there are.",
    (
        Column("question_id", pa.string(), "the question"),
        Column("category", pa.string(), "what it is about"),
        Column("question", pa.string(), "its wording"),
        Column("options", pa.list_(pa.string()), "the answers that may be given, in order"),
    ),
    key=("question_id",),
    labels=("category",),
)
RESPONSES = Table(
    "responses",
    "What each reader answered.",
    (
        Column("document_id", pa.string(), "the document"),
        Column("question_id", pa.string(), "the question"),
        Column("reader_id", pa.string(), "who answered"),
        Column("option", pa.int32(), "place of the answer among the question's options"),
        Column("confidence", pa.float64(), "the reader's own, 0 to 1", nullable=True),
    ),
    key=("document_id", "question_id", "reader_id", "option"),
)
HIGHLIGHTS = Table(
    "highlights",
    "The passages that a reader marked for an answer.",
    (
        Column("document_id", pa.string(), "the document"),
        Column("question_id", pa.string(), "the question"),
        Column("reader_id", pa.string(), "who marked it"),
        Column("start", pa.int32(), "first character of the passage in the document's text"),
        Column("end", pa.int32(), "character after the last"),
    ),
    key=("document_id", "question_id", "reader_id", "start", "end"),
)
PREDICTIONS = Table(
    "predictions",
    "The distribution that a model gives over the options of a question about a document.",
    (
        Column("document_id", pa.string(), "the document"),
        Column("question_id", pa.string(), "the question"),
        Column("probabilities", pa.list_(pa.float64()), "one an option, in their order; they add up to one"),
    ),
    key=("document_id", "question_id"),
)
MARKED = Table(
    "marked",
    "The passages that a model marks for an answer.",
    (
        Column("document_id", pa.string(), "the document"),
        Column("question_id", pa.string(), "the question"),
        Column("start", pa.int32(), "first character of the passage in the document's text"),
        Column("end", pa.int32(), "character after the last"),
        Column("probability", pa.float64(), "that a reader would mark it"),
    ),
    key=("document_id", "question_id", "start", "end"),
)
