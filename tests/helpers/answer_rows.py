"""A small collection of documents with answers to questions about them, as tables of
the answers task.
"""

import hashlib

import numpy as np

from lextables.pipeline.dataset import write
from lextables.tasks.answers import collection

# {question: (category, wording, options)}
QUESTIONS = {
    "SOLD": (
        "Sharing",
        "Does the policy say that data are sold to brokers?",
        ("No", "Yes"),
    ),
    "KEPT": (
        "Security",
        "How long are records kept in storage?",
        ("A year", "Forever", "Not said"),
    ),
    "ASKED": (
        "Security",
        "May a user ask for erasure of an account?",
        ("No", "Yes", "By post", "Not said"),
    ),
}
# {question: for each option, the sentence of a document that supports it; "" if none}
STATEMENTS = {
    "SOLD": ("We never sell data to brokers.", "We gladly sell data to brokers."),
    "KEPT": (
        "Records are kept in storage for a year.",
        "Records are kept in storage forever.",
        "",
    ),
    "ASKED": (
        "No user may ask for erasure of an account.",
        "Any user may ask for erasure of an account online.",
        "A user may ask for erasure of an account by letter.",
        "",
    ),
}
# Paragraphs that support no answer: the first and the last ones of each document.
FILLER = (
    "Welcome to our service.",
    "Cookies help the pages load.",
    "Write to our office with any remark.",
)
TABLES = {
    "documents": collection.DOCUMENTS,
    "questions": collection.QUESTIONS,
    "responses": collection.RESPONSES,
    "paragraphs": collection.PARAGRAPHS,
    "highlights": collection.HIGHLIGHTS,
}
NAMES = {name: name for name in TABLES} | {"document": "document_id"}


def supported_option(document, question):
    """Return the index of the option that a document's text supports; a hash of both
    ids selects it.
    """
    digest = hashlib.sha256(f"{document}/{question}".encode()).hexdigest()
    _, _, options = QUESTIONS[question]
    return int(digest, 16) % len(options)


def paragraphs(document):
    """Return the texts of a document: a statement for each question, between filler."""
    first, *last = FILLER
    statements = []
    for question in sorted(QUESTIONS):
        statements.append(STATEMENTS[question][supported_option(document, question)])
    return [first, *statements, *last]


def rows(documents=30, without_text=(), chosen=None):
    """Return {table: rows} of this number of documents; two readers give the answer
    that the text supports.

    The documents are ``d00``, ``d01`` and so on; those of ``without_text`` have no
    paragraphs.  ``chosen`` ({(document, question): options of each reader}) replaces
    these answers.
    """
    tables = {name: [] for name in TABLES}
    for question, (category, wording, options) in sorted(QUESTIONS.items()):
        row = {"question_id": question, "category": category, "question": wording}
        tables["questions"].append(row | {"options": list(options), "several": False})
    for number in range(documents):
        name = f"d{number:02}"
        document = {"document_id": name}
        texts = [] if name in without_text else paragraphs(name)
        tables["documents"].append(document | {"paragraphs": len(texts)})
        for place, text in enumerate(texts):
            row = {"paragraph_id": f"{name}/{place}", "place": place, "text": text}
            tables["paragraphs"].append(document | row)
        # Paragraph 0 is filler, and paragraph 1 is about the first question.
        for place, question in enumerate(sorted(QUESTIONS), 1):
            option = supported_option(name, question)
            answers = (chosen or {}).get((name, question), [[option], [option]])
            for response, options in enumerate(answers):
                key = document | {"question_id": question, "response": response}
                row = {"reader_id": "r", "options": options, "confidence": None}
                tables["responses"].append(key | row)
                if texts and STATEMENTS[question][option]:
                    row = {"paragraph_id": f"{name}/{place}", "sentence": 0}
                    tables["highlights"].append(key | row)
    return tables


def written(folder, tables):
    """Write the tables; return {table: path}."""
    for name, table in TABLES.items():
        write(table, tables[name], folder / f"{name}.parquet")
    return {name: folder / f"{name}.parquet" for name in TABLES}


def collected(folder, **options):
    """Write `rows`; return their `collection.Collection`, and {question: ids of the
    paragraphs that were marked for it}.
    """
    files = written(folder, rows(**options))
    data = collection.load([files[name] for name in collection.ANSWERED_FROM], NAMES)
    return data, collection.marked_of([files["highlights"]])


def shares(*counts):
    """Convert rows of counts to rows of shares."""
    rows = np.array(counts, dtype=float)
    return rows / rows.sum(axis=1, keepdims=True)
