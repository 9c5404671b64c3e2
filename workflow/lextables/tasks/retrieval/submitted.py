"""Submitted rankings: a TREC run, or a table of queries, documents and scores.

Documents are ordered by score; ties by id descending, as in trec_eval.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from lextables.pipeline.errors import BadInput
from lextables.tasks.retrieval.collection import PREDICTIONS, load, prediction_rows
from lextables.tasks.submitted import File, Submitted, is_number, known, named, number

__all__ = ["PREDICTIONS", "predictions"]
TREC = ("query", "Q0", "document", "rank", "score", "tag")
MARKS = ("Q0", "0")
AFTER_SECOND = 4  # fields
COLUMNS = ("query_id", "document_id", "score")
_WORD = re.compile(r"\S+")


class Hit(NamedTuple):
    """One line of a file; ``rank`` is None if the form has none."""

    place: str
    query: str
    document: str
    score: float
    rank: float | None = None


def predictions(
    file: File, form: str, data: Sequence[str | Path], task: Mapping[str, Any]
) -> Submitted:
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
        hit = line._replace(
            query=query, document=_decoded(line.document, collection.documents)
        )
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
        best_first = sorted(
            of_query.values(), key=lambda hit: (hit.score, hit.document), reverse=True
        )
        ranking[query] = [(hit.document, hit.score) for hit in best_first]
    return Submitted(prediction_rows(ranking), skipped)


def _check_ranks(hits: Iterable[Hit]) -> None:
    """Raise `BadInput` if a hit has a better rank than one with a higher score."""
    ranked = sorted(
        (hit for hit in hits if hit.rank is not None),
        key=lambda hit: (hit.rank, -hit.score),
    )
    for better, worse in pairwise(ranked):
        if worse.score > better.score:
            raise BadInput(
                f"rank {worse.rank:g} of the query {worse.query!r} has the score {worse.score:g}, "
                f"higher than {better.score:g} of rank {better.rank:g}",
                where=worse.place,
                do="give the best document the highest score",
            )


def _decoded(name: str, names: Collection[str]) -> str:
    """Return the id in ``names``, also if blanks in ``name`` are percent-encoded (``as%20is``)."""
    found = known(name, names)
    decoded = unquote(found)
    if found not in names and decoded in names:
        return decoded
    return found


def _trec(file: File) -> Iterator[Hit]:
    """Yield the hits of lines of six fields, as trec_eval reads them: any white space separates fields.

    Trec_eval ignores what follows the tag.  The ids of queries here may contain blanks (`_fields`).
    """
    for place, line in file.lines():
        query, document, rank, score = _fields(line, place)
        rank_number = number(rank, "rank", place)
        yield Hit(place, query, document, number(score, "score", place), rank_number)


def _fields(line: str, place: str) -> tuple[str, str, str, str]:
    """Return query, document, rank and score of a line; `BadInput` if it does not have six fields.

    Six cells between tabs are the fields, and so are six words.  In a line of more words the query's id has
    blanks, or the tag: the id ends before the first Q0 (or else 0) with numbers as rank and score.  Without
    such a mark the last five words are the other fields, if they begin with a whole number.
    """
    cells = [cell.strip() for cell in line.split("\t")]
    while len(cells) > len(TREC) and not cells[-1]:
        cells.pop()
    if len(cells) == len(TREC) and all(cells[:-1]):
        query, _, document, rank, score, _ = cells
        return query, document, rank, score
    starts = [match.start() for match in _WORD.finditer(line)]
    words = line.split()
    if len(words) < len(TREC):
        what = f"has {len(words)} fields instead of {len(TREC)}"
        raise BadInput(what, where=place, do=f"give {', '.join(TREC)}")
    # The words that may be the second field: four words follow it.
    second = range(1, len(words) - AFTER_SECOND)
    marks = [at for mark in MARKS for at in second if words[at].upper() == mark]
    if len(words) == len(TREC):
        marks.insert(0, 1)
    if not marks and words[-1 - AFTER_SECOND].isdecimal():
        marks = [len(words) - 1 - AFTER_SECOND]
    if not marks:
        what = "has no Q0 that is followed by document, rank, score and tag"
        raise BadInput(
            what, where=place, do=f"give {', '.join(TREC)}, separated by tabs"
        )
    with_numbers = [
        at for at in marks if is_number(words[at + 2]) and is_number(words[at + 3])
    ]
    at = [*with_numbers, *marks][0]
    document, rank, score = words[at + 1 : at + 4]
    return line[: starts[at]].strip(), document, rank, score


def _csv(file: File) -> Iterator[Hit]:
    for place, row in file.table(*COLUMNS):
        yield Hit(
            place,
            row["query_id"],
            row["document_id"],
            number(row["score"], "score", place),
        )


def _jsonl(file: File) -> Iterator[Hit]:
    for place, record in file.records():
        query, document = (named(record, name, place) for name in COLUMNS[:2])
        yield Hit(place, query, document, number(record.get("score"), "score", place))


FORMS = {"trec": _trec, "csv": _csv, "jsonl": _jsonl}
