"""Submitted rankings: a TREC run, or a table of queries, documents and scores.

Documents are ordered by score; ties by id descending, as in trec_eval.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from lextables.pipeline.errors import BadInput
from lextables.tasks.retrieval.collection import PREDICTIONS, load, prediction_rows
from lextables.tasks.submitted import File, Submitted, named, number

__all__ = ["PREDICTIONS", "predictions"]
TREC = ("query", "Q0", "document", "rank", "score", "tag")
LONGEST_RANK = 18  # digits
COLUMNS = ("query_id", "document_id", "score")


class Hit(NamedTuple):
    """One line of a file; ``rank`` is None if the form has none."""

    place: str
    query: str
    document: str
    score: float
    rank: int | None = None


def predictions(file: File, form: str, data: Sequence[str | Path], task: Mapping[str, Any]) -> Submitted:
    """Return submitted hits as rows of `PREDICTIONS`; ``data`` are the files of `collection.files`.

    Hits of other splits are skipped.  Raises `BadInput`, naming the line, for an unknown query or document, a
    repeated document, a score that is not finite, and ranks that contradict the scores; and for a test query
    without a hit.
    """
    collection = load(data, task)
    test, skipped = collection.of("test"), 0
    hits: dict[str, dict[str, Hit]] = defaultdict(dict)
    for line in FORMS[form](file):
        query = _decoded(line.query, collection.queries)
        hit = line._replace(query=query, document=_decoded(line.document, collection.documents))
        if hit.query not in collection.queries:
            what = f"the data set has no query {hit.query!r}"
            raise BadInput(what, where=hit.place, do="correct its id")
        if hit.query not in test:
            skipped += 1
            continue
        if hit.document not in collection.documents:
            what = f"the data set has no document {hit.document!r}"
            raise BadInput(what, where=hit.place, do="correct its id")
        if hit.document in hits[hit.query]:
            what = f"the document {hit.document!r} appears twice for the query {hit.query!r}"
            raise BadInput(what, where=hit.place, do="remove one of the two")
        hits[hit.query][hit.document] = hit
    if missing := sorted(test.keys() - hits.keys()):
        raise BadInput(
            f"no hit for {len(missing)} of the {len(test)} test queries, the first {missing[0]!r}",
            where=file.name,
            do="rank at least one document for each of them",
        )
    ranking = {}
    for query, of_query in hits.items():
        _check_ranks(of_query.values())
        best_first = sorted(of_query.values(), key=lambda hit: (hit.score, hit.document), reverse=True)
        ranking[query] = [(hit.document, hit.score) for hit in best_first]
    return Submitted(prediction_rows(ranking), skipped)


def _check_ranks(hits: Iterable[Hit]) -> None:
    """Raise `BadInput` if a hit has a better rank than one with a higher score."""
    ranked = sorted((hit for hit in hits if hit.rank is not None), key=lambda hit: (hit.rank, -hit.score))
    for better, worse in pairwise(ranked):
        if worse.score > better.score:
            raise BadInput(
                f"rank {worse.rank} of the query {worse.query!r} has the score {worse.score:g}, "
                f"higher than {better.score:g} of rank {better.rank}",
                where=worse.place,
                do="give the best document the highest score",
            )


def _decoded(name: str, names: Container[str]) -> str:
    """Return the id in ``names``, also if blanks in ``name`` are percent-encoded (``as%20is``)."""
    decoded = unquote(name)
    return decoded if name not in names and decoded in names else name


def _trec(file: File) -> Iterator[Hit]:
    """Lines of six fields, separated by tabs, or by blanks; then only query ids may contain blanks."""
    do = f"give {', '.join(TREC)}"
    for place, line in file.lines():
        cells = line.split("\t") if "\t" in line else line.strip().rsplit(maxsplit=len(TREC) - 1)
        if len(cells) != len(TREC):
            raise BadInput(f"has {len(cells)} fields instead of {len(TREC)}", where=place, do=do)
        query, fixed, document, rank, score, _ = (cell.strip() for cell in cells)
        if fixed.upper() not in ("Q0", "0"):
            what = f"the second field is {fixed!r} instead of Q0"
            raise BadInput(what, where=place, do=f"{do}, without blanks in the fields after Q0")
        if not rank.isdecimal() or len(rank) > LONGEST_RANK:
            raise BadInput(f"the rank {rank!r} is not a whole number", where=place, do="correct it")
        yield Hit(place, query, document, number(score, "score", place), int(rank))


def _csv(file: File) -> Iterator[Hit]:
    for place, row in file.table(*COLUMNS):
        yield Hit(place, row["query_id"], row["document_id"], number(row["score"], "score", place))


def _jsonl(file: File) -> Iterator[Hit]:
    for place, record in file.records():
        query, document = (named(record, name, place) for name in COLUMNS[:2])
        yield Hit(place, query, document, number(record.get("score"), "score", place))


FORMS = {"trec": _trec, "csv": _csv, "jsonl": _jsonl}
