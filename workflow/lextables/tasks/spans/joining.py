"""Spans that go on from one window into the next, joined.

A model reads a window at a time, so it can never name a span that is longer than its window (MAUD, Section
A.14, names this as its baseline's limit and joining as future work).  Where a passage fills several
windows, each of them names its own part; the parts overlap or touch, and together they are the passage.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from lextables.tasks.spans.final_text import collapsed

Row = Mapping[str, Any]


def join(
    predictions: Iterable[Row], texts: Mapping[str, str], share: float = 0.1
) -> Iterator[dict[str, Any]]:
    """Yield the n-best spans of each question with overlapping and touching ones joined.

    ``predictions`` are rows of `schema.NBEST`, sorted by question; ``texts`` gives a question's
    contract.  Spans touch when only white space lies between them.  A span joins only with those at least
    ``share`` as probable as the likeliest of the run of spans that it lies in; the rest are dropped, since
    a passage is named once.  The joined span takes the sum of its parts' probabilities, which share out
    one passage between them, and the logits of its likeliest part; its released text is its slice with
    single blanks.  Of spans with the same one the likeliest stays, as in the n-best rule.  The empty
    prediction stays.
    """
    for question, rows in groupby(predictions, key=lambda row: row["question_id"]):
        found = list(rows)
        text = texts[question]
        joined = [dict(row) for row in found if row["start"] < 0]
        for run in _runs(sorted((r for r in found if r["start"] >= 0), key=_place), text):
            joined += _joined(run, text, share)
        joined.sort(key=lambda row: (-row["probability"], row["start"], row["end"]))
        by_text: dict[str, dict[str, Any]] = {}
        for row in joined:
            by_text.setdefault(row["released_text"], row)
        for rank, row in enumerate(by_text.values()):
            yield row | {"question_id": question, "rank": rank}


def _place(row: Row) -> tuple[int, int]:
    return row["start"], row["end"]


def _runs(spans: Sequence[Row], text: str) -> Iterator[list[Row]]:
    """Spans in order of place, cut wherever more than white space lies between one and all before it."""
    run: list[Row] = []
    end = 0
    for span in spans:
        if run and span["start"] > end and text[end : span["start"]].strip():
            yield run
            run = []
        end = max(end, span["end"]) if run else span["end"]
        run.append(span)
    if run:
        yield run


def _joined(run: Sequence[Row], text: str, share: float) -> Iterator[dict[str, Any]]:
    best = max(run, key=lambda row: (row["probability"], -row["start"], -row["end"]))
    kept = [row for row in run if row["probability"] >= share * best["probability"]]
    # Without the unlikely spans between them, what is kept may fall apart again.
    for part in _runs(kept, text):
        top = max(part, key=lambda row: (row["probability"], -row["start"], -row["end"]))
        if len(part) == 1:
            yield dict(top)
            continue
        start, end = part[0]["start"], max(row["end"] for row in part)
        total = min(1.0, sum(row["probability"] for row in part))
        yield dict(top) | {
            "released_text": collapsed(text[start:end]),
            "text": text[start:end],
            "start": start,
            "end": end,
            "probability": total,
        }
