"""Retrieval in the usual formats: judgements and runs of TREC, and a folder of BEIR.

White space separates the fields of TREC files, but ids of queries may contain it.
Blanks and per cent signs of ids are therefore percent-encoded (``as%20is``), which
`tasks.retrieval.submitted` decodes.  trec_eval orders hits by score alone, in single
precision, and breaks ties by its own rule, so equal scores are lowered by the smallest
amount that keeps the order of the hits.
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
from lextables.publish.export import Format, PublishedRun, PublishedSet
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.collection import Collection

# The parts of a task as BEIR names its splits.
SPLITS = {"train": "training", "dev": "validation", "test": "test"}


POOLS = {
    True: (
        "The pool of a query is the set of documents judged for it, with or without a gain. Hits are only "
        "among these. For a system that ranks the whole corpus, leave out documents that are not judged "
        "(`ir_measures.nDCG(judged_only=True)`)."
    ),
    False: (
        "Every document may be returned; the gain of a document that is not judged is 0."
    ),
}


def write(data_set: PublishedSet, folder: Path) -> list[Format]:
    """Write judgements, runs and the BEIR folder of a data set; return descriptions of
    the files.
    """
    files = [data_set.table(name) for name in collection.files(data_set.task)]
    data = collection.load(files, data_set.task)
    (folder / "trec").mkdir(parents=True)
    (folder / "beir/qrels").mkdir(parents=True)
    for split, part in SPLITS.items():
        queries = list(data.of(part))
        if queries:
            _write_qrels(data, queries, folder / f"trec/qrels.{split}.txt")
            _write_beir_qrels(data, queries, folder / f"beir/qrels/{split}.tsv")
    _write_lines(folder / "beir/corpus.jsonl", _documents(data))
    _write_lines(folder / "beir/queries.jsonl", _queries(data))
    for run in data_set.runs:
        _write_run(run, data, folder / f"trec/{run.name}.run")
    judged = data.task["pool"] == "judged"
    _write_mteb_task(data_set.name, judged, folder)
    descriptions = {
        "trec/qrels.<split>.txt": (
            f"judgements in TREC format, with the gains used for scoring. {POOLS[judged]} Blanks in ids "
            "are written `%20`, and `%` itself `%25`."
        ),
        "trec/<run>.run": (
            "the hits of each run in TREC format. Scores are the system's own; equal scores are lowered by "
            "the smallest amount that keeps the order of the hits."
        ),
        "beir/": (
            "the corpus, the queries and the judgements in the layout of BEIR, with the ids of the "
            "tables. Other forms of a query are in its `metadata`."
        ),
        "mteb_task.py": (
            "the data set as a task of mteb that reads `beir/`, and the runs as its models; "
            "`python mteb_task.py results` writes result files in mteb's format."
        ),
    }
    return [Format(*description) for description in descriptions.items()]


def _write_mteb_task(name: str, judged: bool, folder: Path) -> None:
    """Write the task class, whose revision is a digest of the BEIR folder."""
    digest = hashlib.sha256()
    for path in sorted((folder / "beir").rglob("*")):
        if path.is_file():
            digest.update(path.read_bytes())
    program = Path(__file__).with_name("mteb_task.txt").read_text(encoding="utf-8")
    program = program.replace("<name>", name)
    program = program.replace("<judged>", str(judged))
    program = program.replace("<revision>", digest.hexdigest()[:16])
    (folder / "mteb_task.py").write_text(program, encoding="utf-8", newline="\n")


def trec_id(name: str) -> str:
    """Return an id without white space, which `urllib.parse.unquote` decodes to
    ``name``.
    """
    return re.sub(r"[\s%]", lambda match: quote(match[0]), name)


def strictly_falling(scores: list[float]) -> list[np.float32]:
    """Return ``scores``, best first, in single precision.

    A score that is not below the one before it is lowered to the next smaller number.
    """
    lowered: list[np.float32] = []
    highest = np.float32(np.inf)
    for score in np.asarray(scores, dtype=np.float32):
        lowered.append(min(score, highest))
        highest = np.nextafter(lowered[-1], np.float32(-np.inf))
    return lowered


def _write_qrels(data: Collection, queries: list[str], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for query in queries:
            for document, gain in sorted(data.judged[query].items()):
                file.write(f"{trec_id(query)} 0 {trec_id(document)} {gain}\n")


def _write_run(run: PublishedRun, data: Collection, path: Path) -> None:
    """Write the hits of a run, best first."""
    tag = trec_id(run.name)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for query, hits in _hits(run, data).items():
            scores = strictly_falling([score for _, score in hits])
            for rank, ((document, _), score) in enumerate(
                zip(hits, scores, strict=True), 1
            ):
                names = f"{trec_id(query)} Q0 {trec_id(document)}"
                file.write(f"{names} {rank} {score!s} {tag}\n")


def _hits(run: PublishedRun, data: Collection) -> Mapping[str, list[tuple[str, float]]]:
    """Return {test query: its hits, best first}; in a judged pool only judged ones, as
    scored.
    """
    judged = data.task["pool"] == "judged"
    test_queries = data.of("test")
    hits: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for row in read(run.predictions):
        query = row["query_id"]
        document = row["document_id"]
        if query not in test_queries:
            continue
        if not judged or document in data.judged[query]:
            hits[query].append((document, row["score"]))
    return hits


def _write_beir_qrels(data: Collection, queries: list[str], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(("query-id", "corpus-id", "score"))
        for query in queries:
            for document, gain in sorted(data.judged[query].items()):
                rows.writerow((query, document, gain))


def _documents(data: Collection) -> Iterator[dict]:
    for name, text in data.documents.items():
        yield {"_id": name, "title": "", "text": text}


def _queries(data: Collection) -> Iterator[dict]:
    first, *others = data.task["forms"]
    for name, query in sorted(data.queries.items()):
        metadata = {name: query[name] for name in ("split", *others)}
        yield {"_id": name, "text": query[first], "metadata": metadata}


def _write_lines(path: Path, records: Iterator[dict]) -> None:
    with path.open("wb") as file:
        file.writelines(
            orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in records
        )
