"""Retrieval as its tools read it: judgements and runs in TREC's form, and a folder in BEIR's.

TREC's fields are parted by white space, which ids of queries may hold too: there each blank and per cent sign
of an id is written as in an address (``as%20is``), which `tasks.retrieval.submitted` reads back.  trec_eval
orders hits by score alone, in single precision, and breaks ties by its own rule: so a score is the system's
own, lowered by as little as parts it from the one before.
"""

import csv
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import numpy as np
import orjson

from lextables.pipeline.dataset import read
from lextables.publish.export import Form, PublishedRun, PublishedSet
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.collection import Collection

# The parts of a task as BEIR names its splits.
SPLITS = {"train": "training", "dev": "validation", "test": "test"}


def write(given: PublishedSet, folder: Path) -> list[Form]:
    """Write judgements, runs and the BEIR folder of a retrieval data set; return what they are."""
    found = collection.load([given.table(name) for name in collection.files(given.task)], given.task)
    (folder / "trec").mkdir(parents=True)
    (folder / "beir/qrels").mkdir(parents=True)
    for split, part in SPLITS.items():
        if queries := [*found.of(part)]:
            _write_qrels(found, queries, folder / f"trec/qrels.{split}.txt")
            _write_beir_qrels(found, queries, folder / f"beir/qrels/{split}.tsv")
    _write_lines(folder / "beir/corpus.jsonl", _documents(found))
    _write_lines(folder / "beir/queries.jsonl", _queries(found))
    for run in given.runs:
        _write_run(run, found, folder / f"trec/{run.name}.run")
    judged = found.task["pool"] == "judged"
    _write_mteb_task(given.name, judged, folder)
    pool = (
        "The pool of a query is the documents judged for it, those without a gain among them: a document "
        "that is not judged is unknown, and hits are among the judged ones alone. What ranks the whole "
        "corpus is to be read with that in mind (`ir_measures.nDCG(judged_only=True)`)."
        if judged
        else "Every document may be returned; one that is not judged gains nothing."
    )
    return [
        Form(
            "trec/qrels.<split>.txt",
            f"judgements in TREC's form, with the gains that the scores take. {pool} Blanks in ids are "
            "written `%20`, and `%` itself `%25`.",
        ),
        Form(
            "trec/<run>.run",
            "the hits of each run in TREC's form. Scores are the system's own, lowered where two are equal "
            "by as little as keeps the order in which they were ranked and scored.",
        ),
        Form(
            "beir/",
            "the corpus, the queries and the judgements as BEIR lays them out; ids are those of the "
            "tables. Other wordings of a query stand in its `metadata`.",
        ),
        Form(
            "mteb_task.py",
            "the data set as a task of mteb that reads `beir/`, and the runs as its models; "
            "`python mteb_task.py results` writes result files in mteb's format.",
        ),
    ]


def _write_mteb_task(name: str, judged: bool, folder: Path) -> None:
    """Write the task class, whose revision is a digest of the BEIR folder."""
    digest = hashlib.sha256()
    for path in sorted(path for path in (folder / "beir").rglob("*") if path.is_file()):
        digest.update(path.read_bytes())
    program = Path(__file__).with_name("mteb_task.txt").read_text(encoding="utf-8")
    for field, value in (("name", name), ("judged", str(judged)), ("revision", digest.hexdigest()[:16])):
        program = program.replace(f"<{field}>", value)
    (folder / "mteb_task.py").write_text(program, encoding="utf-8", newline="\n")


def trec_id(name: str) -> str:
    """Return an id without white space, from which `urllib.parse.unquote` gives ``name`` back."""
    return re.sub(r"[\s%]", lambda found: quote(found[0]), name)


def strictly_falling(scores: list[float]) -> list[np.float32]:
    """Return scores, best first, in single precision, each below the one before and as near as may be."""
    found: list[np.float32] = []
    for score in np.asarray(scores, dtype=np.float32):
        highest = np.nextafter(found[-1], np.float32(-np.inf)) if found else np.float32(np.inf)
        found.append(min(score, highest))
    return found


def _write_qrels(found: Collection, queries: list[str], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for query in queries:
            for document, gain in sorted(found.judged[query].items()):
                file.write(f"{trec_id(query)} 0 {trec_id(document)} {gain}\n")


def _write_run(run: PublishedRun, found: Collection, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for query, hits in _hits(run, found).items():
            scores = strictly_falling([score for _, score in hits])
            for rank, ((document, _), score) in enumerate(zip(hits, scores, strict=True), 1):
                file.write(f"{trec_id(query)} Q0 {trec_id(document)} {rank} {score!s} {trec_id(run.name)}\n")


def _hits(run: PublishedRun, found: Collection) -> Mapping[str, list[tuple[str, float]]]:
    """{test query: its hits, best first}; of a judged pool those that are judged, as the scores have it."""
    judged = found.task["pool"] == "judged"
    asked = found.of("test")
    hits: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for row in read(run.predictions):
        query, document = row["query_id"], row["document_id"]
        if query in asked and not (judged and document not in found.judged[query]):
            hits[query].append((document, row["score"]))
    return hits


def _write_beir_qrels(found: Collection, queries: list[str], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(("query-id", "corpus-id", "score"))
        rows.writerows(
            (query, *judged) for query in queries for judged in sorted(found.judged[query].items())
        )


def _documents(found: Collection) -> Iterator[dict]:
    for name, text in found.documents.items():
        yield {"_id": name, "title": "", "text": text}


def _queries(found: Collection) -> Iterator[dict]:
    first, *others = found.task["forms"]
    for name, query in sorted(found.queries.items()):
        metadata = {"split": query["split"]} | {form: query[form] for form in others}
        yield {"_id": name, "text": query[first], "metadata": metadata}


def _write_lines(path: Path, records: Iterator[dict]) -> None:
    with path.open("wb") as file:
        file.writelines(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in records)
