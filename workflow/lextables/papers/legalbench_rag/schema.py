"""LegalBench-RAG's data sets: passages of files, queries, the spans that answer them, and their overlap."""

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table

DOCUMENTS = Table(
    "documents",
    "The passages that the files are cut into; those of a file follow on one another without a gap.",
    (
        Column("document_id", pa.string(), "number of the file and first character, with a hyphen between"),
        Column("file", pa.string(), "the file, as LegalBench-RAG names it"),
        Column("start", pa.int32(), "first character of the passage in the file"),
        Column("end", pa.int32(), "character after the last"),
        Column("text", pa.string(), "the passage"),
    ),
    key=("document_id",),
)
QUERIES = Table(
    "queries",
    "The queries, each about one file; all of them are test queries.",
    (
        Column("query_id", pa.string(), "the benchmark and the query's 1-based number in it"),
        Column("text", pa.string(), "the query: the document that is meant, and what is asked of it"),
        Column("benchmark", pa.string(), "the collection that the file is from"),
        Column("file", pa.string(), "the one file that answers the query"),
        Column("characters", pa.int32(), "how many characters of the file do"),
        Column("split", pa.string(), "test"),
    ),
    key=("query_id",),
    labels=("benchmark", "split"),
)
SNIPPETS = Table(
    "snippets",
    "The spans that answer a query; no two of a query touch.",
    (
        Column("query_id", pa.string(), "the query"),
        Column("start", pa.int32(), "first character of the span in the query's file"),
        Column("end", pa.int32(), "character after the last"),
    ),
    key=("query_id", "start"),
)
JUDGEMENTS = Table(
    "judgements",
    "The passages that hold a part of what answers a query; all others hold nothing of it.",
    (
        Column("query_id", pa.string(), "the query"),
        Column("document_id", pa.string(), "the passage"),
        Column("gain", pa.int32(), "how many of its characters answer the query"),
    ),
    key=("query_id", "document_id"),
)

_ALL = (DOCUMENTS, QUERIES, SNIPPETS, JUDGEMENTS)
TABLES = {"legalbench_rag": _ALL, "legalbench_rag_rcts": _ALL}
