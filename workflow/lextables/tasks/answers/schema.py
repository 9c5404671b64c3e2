"""What the task of answers reads and predicts: questions with options about documents.

A person who answered, or a model, gives each question of a document a distribution over the question's
options, and may mark the paragraphs that say so.
"""

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table

DOCUMENTS = Table(
    "documents",
    "The documents that are asked about.",
    (
        Column("document_id", pa.string(), "the document"),
        Column("paragraphs", pa.int32(), "how many paragraphs it has; 0 where its text is not here"),
    ),
    key=("document_id",),
)
PARAGRAPHS = Table(
    "paragraphs",
    "The paragraphs of the documents, in reading order; with blank lines between them they are the text.",
    (
        Column("document_id", pa.string(), "the document"),
        Column("paragraph_id", pa.string(), "the paragraph, unlike any of another document"),
        Column("place", pa.int32(), "its place in the document, from 0"),
        Column("text", pa.string(), "the paragraph as published"),
    ),
    key=("document_id", "place"),
)
QUESTIONS = Table(
    "questions",
    "What is asked of every document, and the options that there are.",
    (
        Column("question_id", pa.string(), "the question"),
        Column("category", pa.string(), "what it is about"),
        Column("question", pa.string(), "its wording"),
        Column("options", pa.list_(pa.string()), "the answers that may be given, in order"),
        Column("several", pa.bool_(), "whether more than one option may be chosen"),
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
        Column("response", pa.int32(), "the place of the response among those to the question, from 0"),
        Column("reader_id", pa.string(), "who answered, as published"),
        Column("options", pa.list_(pa.int32()), "places of the chosen options, ascending; may be empty"),
        Column("confidence", pa.float64(), "the reader's own, 0 to 1", nullable=True),
    ),
    key=("document_id", "question_id", "response"),
)
HIGHLIGHTS = Table(
    "highlights",
    "The sentences that a reader marked for an answer, by their paragraphs.",
    (
        Column("document_id", pa.string(), "the document"),
        Column("question_id", pa.string(), "the question"),
        Column("response", pa.int32(), "the response that they were marked for"),
        Column("paragraph_id", pa.string(), "the paragraph"),
        Column("sentence", pa.int32(), "place of the sentence in it, from 0"),
    ),
    key=("document_id", "question_id", "response", "paragraph_id", "sentence"),
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
    "How relevant a model finds the paragraphs of a document to a question.",
    (
        Column("document_id", pa.string(), "the document"),
        Column("question_id", pa.string(), "the question"),
        Column("paragraph_id", pa.string(), "the paragraph"),
        Column("probability", pa.float64(), "that a reader would mark something in it"),
    ),
    key=("document_id", "question_id", "paragraph_id"),
)
