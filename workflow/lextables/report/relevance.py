"""Comparison of the labels of a spans data set with the relevance judgements of a
retrieval data set that has the same texts.

Could a system find the relevant documents of a query by a label alone?  A document has
a label if a share of at least `LABELLED` of its sequences of `RUN` words is in answers
with the label.  Words are compared as in `corpora.overlaps`; the sequences are shorter
than there, because answers are shorter than contracts.  For each query the label is
shown whose documents agree best with the relevant ones.
"""

from collections import defaultdict
from collections.abc import Collection as Items
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lextables.corpora.overlaps import WordHashes
from lextables.pipeline.dataset import Row, read
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.collection import Collection

RUN = 8  # words of a sequence
LABELLED = 0.25  # share of a document's sequences
# A document is relevant with this share of the highest gain: three of ACORD's five
# stars.
RELEVANT = 0.5
COLUMNS = [
    *("dataset", "split", "query", "judged", "relevant"),
    *("labels", "label", "labelled", "both"),
]

WordRun = tuple[int, ...]


@dataclass(frozen=True)
class Compared:
    """The retrieval data set ``dataset`` with its ``task`` (of the registry, as plain
    values), and the spans data set ``labels``.
    """

    dataset: str
    task: Mapping[str, Any]
    labels: str

    def rows(self, data: Path) -> list[Row]:
        """Return a row of `COLUMNS` for each query; data sets are in the folder
        ``data``.
        """
        folder = data / self.dataset
        paths = [folder / f"{name}.parquet" for name in collection.files(self.task)]
        judged = collection.load(paths, self.task)
        labelled = labelled_documents(judged.documents, data / self.labels)
        rows: list[Row] = []
        for query in judged.queries.values():
            row = query_row(judged, query, labelled)
            rows.append({"dataset": self.dataset, "labels": self.labels, **row})
        return rows


def frame(compared: Sequence[Mapping[str, Any]], data: Path) -> pd.DataFrame:
    """Return the rows of all pairs of data sets; ``compared`` are plain values of
    `Compared`.
    """
    rows: list[Row] = []
    for values in compared:
        rows += Compared(**values).rows(data)
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.sort_values(["dataset", "split", "query"], ignore_index=True)


def query_row(
    judged: Collection, query: Row, labelled: Mapping[str, Items[str]]
) -> Row:
    """Return the counts of a query's documents; ``labelled`` is {label: documents}.

    The counts are of judged documents: all (``judged``), relevant ones, labelled ones,
    and documents that are ``both``.  The label is the one whose documents agree best
    with the relevant ones: the most documents that are both, as a share of those that
    are relevant or labelled.  It is empty if no label has a relevant document.
    """
    name = query["query_id"]
    gains = judged.judged[name]
    least = RELEVANT * judged.task["top_gain"]
    relevant = {document for document, gain in gains.items() if gain >= least}
    row = {
        "split": query["split"],
        "query": name,
        "judged": len(gains),
        "relevant": len(relevant),
        "label": "",
        "labelled": 0,
        "both": 0,
    }
    best = 0.0
    for label in sorted(labelled):
        documents = gains.keys() & labelled[label]
        both = documents & relevant
        share = len(both) / max(len(documents | relevant), 1)
        if share > best:
            best = share
            row.update(label=label, labelled=len(documents), both=len(both))
    return row


def labelled_documents(
    documents: Mapping[str, str], folder: Path
) -> dict[str, set[str]]:
    """Return {label: the ids of documents that have it}, by the answers of the spans
    data set in ``folder``.
    """
    hashes = WordHashes()
    label_of = {}
    for row in read(folder / "questions.parquet", ["question_id", "category"]):
        label_of[row["question_id"]] = row["category"]
    answer_runs: dict[str, set[WordRun]] = defaultdict(set)
    for row in read(folder / "answers.parquet", ["question_id", "text"]):
        answer_runs[label_of[row["question_id"]]] |= word_runs(row["text"], hashes)
    labelled: dict[str, set[str]] = defaultdict(set)
    for document, text in documents.items():
        runs = word_runs(text, hashes)
        for label, of_label in answer_runs.items():
            shared = runs & of_label
            if shared and len(shared) >= LABELLED * len(runs):
                labelled[label].add(document)
    return labelled


def word_runs(text: str, hashes: WordHashes) -> set[WordRun]:
    """Return the sequences of `RUN` words of a text; a shorter text is one sequence."""
    words = tuple(hashes.of(text))
    if len(words) < RUN:
        return {words} if words else set()
    return {words[start : start + RUN] for start in range(len(words) - RUN + 1)}
