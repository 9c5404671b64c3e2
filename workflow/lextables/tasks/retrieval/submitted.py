"""Submitted rankings: a TREC run, or a table of queries, documents and scores.

Documents are ordered by score; ties by id descending, as in trec_eval.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.tasks.job import Job
from lextables.tasks.retrieval.collection import PREDICTIONS, load, prediction_rows
from lextables.tasks.submitted import (
    File,
    Forms,
    Number,
    Records,
    Submitted,
    SubmittedRow,
    check_complete,
    identified,
    known,
    number,
    read_rows,
    repeated,
    store,
)

TREC = ("query", "Q0", "document", "rank", "score", "tag")  # the fields of a line
MARKS = ("Q0", "0")  # usual texts of the second field; Q0 is preferred
AFTER_SECOND = 4  # number of fields after the second
BEST_FIRST = "give the best document the highest score"
_WORD = re.compile(r"\S+")


class HitRow(SubmittedRow):
    """A hit of a table or of JSON lines."""

    query_id: str
    document_id: str
    score: Number


class RankedHitRow(HitRow):
    """A hit of a TREC run, which also has a rank."""

    rank: Number


# The hits of a query: {document id: (place in the file, hit)}.
Hits = dict[str, tuple[str, HitRow]]


def run(job: Job) -> None:
    """Check and store a file of submitted predictions."""
    store(job, predictions, PREDICTIONS)


def predictions(
    file: File, form: str, data: Sequence[str | Path], task: JsonObject
) -> Submitted:
    """Return submitted hits as rows of `PREDICTIONS`; ``data`` are the files of
    `collection.files`.

    Hits of other splits are skipped.  Raises `BadInput`, naming the line, for an
    unknown query or document, a repeated document, a score that is not finite, and
    ranks that contradict the scores or differ although no scores do; and for a test
    query without a hit.
    """
    collection = load(data, task)
    test = collection.of("test")
    skipped = 0
    hits: dict[str, Hits] = defaultdict(dict)
    row_type = RankedHitRow if form == "trec" else HitRow
    for place, row in read_rows(FORMS[form](file), row_type):
        query = _decoded(row.query_id, collection.queries)
        query = identified(query, collection.queries, "query", place)
        if query not in test:
            skipped += 1
            continue
        document = _decoded(row.document_id, collection.documents)
        document = identified(document, collection.documents, "document", place)
        if document in hits[query]:
            what = f"the document {document!r} for the query {query!r}"
            raise repeated(what, place)
        hits[query][document] = (place, row)
    check_complete(test, hits, "test queries", file.name)
    _check_scores(hits, file.name)

    ranking = {}
    for query, query_hits in hits.items():
        ranked = []
        for place, row in query_hits.values():
            if isinstance(row, RankedHitRow):
                ranked.append((place, row))
        _check_ranks(query, ranked)
        scores = [(row.score, document) for document, (_, row) in query_hits.items()]
        best_first = sorted(scores, reverse=True)
        ranking[query] = [(document, score) for score, document in best_first]
    return Submitted(prediction_rows(ranking), skipped)


def _check_scores(hits: Mapping[str, Hits], name: str) -> None:
    """Raise `BadInput` if all hits of a file have the same score, but ranks in another
    order than by descending document id.

    Such ranks would be lost: as in trec_eval, hits are ordered by score, ties by
    descending id.
    """
    scores = set()
    are_in_order = True
    for query_hits in hits.values():
        ranks = []
        for _, (_, row) in sorted(query_hits.items(), reverse=True):
            scores.add(row.score)
            if isinstance(row, RankedHitRow):
                ranks.append(row.rank)
        are_in_order = are_in_order and ranks == sorted(ranks)
    if len(scores) == 1 and not are_in_order:
        what = f"all hits have the score {scores.pop():g}, although their ranks differ"
        raise BadInput(what, where=name, do=BEST_FIRST)


def _check_ranks(query: str, hits: Iterable[tuple[str, RankedHitRow]]) -> None:
    """Raise `BadInput` if a hit has a better rank than one with a higher score."""
    ranked = sorted(hits, key=lambda hit: (hit[1].rank, -hit[1].score))
    for (_, better), (place, worse) in pairwise(ranked):
        if worse.score <= better.score:
            continue
        worse_rank = f"rank {worse.rank:g} of the query {query!r}"
        better_score = f"{better.score:g} of rank {better.rank:g}"
        raise BadInput(
            f"{worse_rank} has the score {worse.score:g}, higher than {better_score}",
            where=place,
            do=BEST_FIRST,
        )


def _decoded(name: str, names: Collection[str]) -> str:
    """Return the id in ``names``, even if blanks in ``name`` are percent-encoded
    (``as%20is``).
    """
    identifier = known(name, names)
    decoded = unquote(identifier)
    if identifier not in names and decoded in names:
        return decoded
    return identifier


def _trec(file: File) -> Records:
    """Yield the hits of lines of six fields, as trec_eval reads them: any white space
    separates fields.

    Trec_eval ignores what follows the tag.  The ids of queries here may contain blanks
    (`_fields`).
    """
    names = ("query_id", "document_id", "rank", "score")
    for place, line in file.lines():
        fields = _fields(line, place)
        yield place, dict(zip(names, fields, strict=True))


def _fields(line: str, place: str) -> tuple[str, str, str, str]:
    """Return query, document, rank and score of a line.

    Six cells between tabs are the fields, and so are six words.  In a line of more
    words, the query's id or the tag contains blanks (`_second_field`).  Raises
    `BadInput` if the fields are not found.
    """
    cells = [cell.strip() for cell in line.split("\t")]
    while len(cells) > len(TREC) and not cells[-1]:
        cells.pop()
    if len(cells) == len(TREC) and all(cells[:-1]):
        query, _, document, rank, score, _ = cells
        return query, document, rank, score
    matches = list(_WORD.finditer(line))
    words = [match[0] for match in matches]
    fields = ", ".join(TREC)
    if len(words) < len(TREC):
        what = f"has {len(words)} fields instead of {len(TREC)}"
        raise BadInput(what, where=place, do=f"give {fields}")
    second = _second_field(words)
    if second is None:
        what = "has no Q0 that is followed by document, rank, score and tag"
        do = f"give {fields}, separated by tabs"
        raise BadInput(what, where=place, do=do)
    document, rank, score = words[second + 1 : second + 4]
    query = line[: matches[second].start()]
    return query.strip(), document, rank, score


def _second_field(words: Sequence[str]) -> int | None:
    """Return the position of the second field among the words of a line, or None.

    In a line of six words it is the second word, whatever it is.  In a longer one it is
    the first Q0, or else the first 0; without these, the fifth word from the end, if it
    is a whole number.  A word that is followed by a document and two numbers, the rank
    and the score, is preferred to one that is not.
    """
    candidates = range(1, len(words) - AFTER_SECOND)
    marks = []
    if len(words) == len(TREC):
        marks.append(1)
    for mark in MARKS:
        marks += [at for at in candidates if words[at].upper() == mark]
    last = candidates[-1]
    if not marks and words[last].isdecimal():
        marks.append(last)
    for at in marks:
        if all(map(_is_number, words[at + 2 : at + 4])):
            return at
    return marks[0] if marks else None


def _is_number(text: str) -> bool:
    """Whether a word can be a rank or a score."""
    try:
        number(text, "")
    except ValueError:
        return False
    return True


def _csv(file: File) -> Records:
    """Yield the hits of a csv file."""
    return file.table("query_id", "document_id", "score")


FORMS: Forms = {"trec": _trec, "csv": _csv, "jsonl": File.json_lines}
