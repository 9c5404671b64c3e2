"""Rankings that a user has already: a TREC run, or a table of queries, documents and scores.

Scores decide what comes first, and of documents with one score the greater id, as in trec_eval.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from lextables.pipeline.errors import BadInput
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.schema import PREDICTIONS, prediction_rows
from lextables.tasks.submitted import File, Taken, named, number

__all__ = ["PREDICTIONS", "predictions"]
TREC = ("query", "Q0", "document", "rank", "score", "tag")
LONGEST_RANK = 18  # digits
COLUMNS = ("query_id", "document_id", "score")


class Hit(NamedTuple):
    """A line of a user's file; the ``rank`` is None where the form has none."""

    place: str
    query: str
    document: str
    score: float
    rank: int | None = None


def predictions(file: File, form: str, data: Sequence[str | Path], task: Mapping[str, Any]) -> Taken:
    """Return a user's hits as rows of `PREDICTIONS`; ``data`` are the files of `collection.files`.

    Raises `BadInput`, naming the line, for a query or document that the data set does not have, a document
    that is ranked twice, a score that is not finite, and ranks that contradict the scores; and for a test
    query without a hit.  Hits of other queries are passed over.
    """
    known = collection.load(data, task)
    asked, passed_over = known.of("test"), 0
    found: dict[str, dict[str, Hit]] = defaultdict(dict)
    for said in FORMS[form](file):
        hit = said._replace(
            query=_known(said.query, known.queries), document=_known(said.document, known.documents)
        )
        if hit.query not in known.queries:
            what = f"there is no query {hit.query!r} in the data set"
            raise BadInput(what, where=hit.place, do="correct its id")
        if hit.query not in asked:
            passed_over += 1
            continue
        if hit.document not in known.documents:
            what = f"there is no document {hit.document!r} in the data set"
            raise BadInput(what, where=hit.place, do="correct its id")
        if hit.document in found[hit.query]:
            what = f"the document {hit.document!r} is ranked twice for the query {hit.query!r}"
            raise BadInput(what, where=hit.place, do="drop one of the two")
        found[hit.query][hit.document] = hit
    if missing := sorted(asked.keys() - found.keys()):
        raise BadInput(
            f"no hit for {len(missing)} of the {len(asked)} test queries, the first {missing[0]!r}",
            where=file.name,
            do="rank one document at least for each of them",
        )
    hits = {}
    for query, of_query in found.items():
        _check_ranks(of_query.values())
        best_first = sorted(of_query.values(), key=lambda hit: (hit.score, hit.document), reverse=True)
        hits[query] = [(hit.document, hit.score) for hit in best_first]
    return Taken(prediction_rows(hits), passed_over)


def _check_ranks(hits: Iterable[Hit]) -> None:
    """Raise `BadInput` where a hit has a better rank than one with a greater score."""
    ranked = sorted((hit for hit in hits if hit.rank is not None), key=lambda hit: (hit.rank, -hit.score))
    for better, worse in pairwise(ranked):
        if worse.score > better.score:
            raise BadInput(
                f"rank {worse.rank} has the score {worse.score:g}, more than rank {better.rank} "
                f"of the query {worse.query!r} with {better.score:g}",
                where=worse.place,
                do="give the best document the greatest score",
            )


def _known(name: str, names: Container[str]) -> str:
    """An id as the data set has it, where the file writes its blanks as an address does (``as%20is``)."""
    plain = unquote(name)
    return plain if name not in names and plain in names else name


def _trec(file: File) -> Iterator[Hit]:
    """Lines of six fields, parted by tabs, or by blanks where an id of a query may hold some too."""
    for place, line in file.lines():
        cells = line.split("\t") if "\t" in line else line.strip().rsplit(maxsplit=len(TREC) - 1)
        if len(cells) != len(TREC):
            raise BadInput(f"has {len(cells)} fields", where=place, do=f"give {', '.join(TREC)}")
        query, fixed, document, rank, score, _ = (cell.strip() for cell in cells)
        if fixed.upper() not in ("Q0", "0"):
            what = f"{fixed!r} stands where Q0 should"
            raise BadInput(what, where=place, do=f"give {', '.join(TREC)}, with no blank after Q0 in any")
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
