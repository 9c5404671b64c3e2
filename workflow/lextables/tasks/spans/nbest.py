"""N-best lists of predicted spans: joining spans across windows, and choosing a trial by its AUPR."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from lextables.metrics import spans
from lextables.pipeline.dataset import Row, read
from lextables.tasks.spans.squad import collapsed

MIN_SHARE = 0.1


def choose(
    trials: Sequence[Mapping[str, Any]],
    searched: Sequence[str | Path],
    asked: Sequence[Row],
    answers: Iterable[Row],
    relaxed: str | None,
    low_thresholds: Sequence[float],
) -> tuple[dict[str, Any], list[float]]:
    """Return the trial with the highest AUPR on the held-out contracts, and the AUPR of each trial.

    ``searched`` are the predictions of the searches, one for each trial and in the same order; ``asked`` are
    the questions about the held-out contracts; ``relaxed`` and ``low_thresholds`` are the scorer's.  Ties go
    to the first trial.
    """
    gold = spans.gold(asked, answers)
    areas = [_area(path, gold, relaxed, low_thresholds) for path in searched]
    return dict(trials[int(np.argmax(areas))]), areas


def _area(
    path: str | Path,
    gold: spans.Gold,
    relaxed: str | None,
    low_thresholds: Sequence[float],
) -> float:
    nbest = spans.nbest_rows(read(path))
    spans.check_questions(nbest, gold)
    matches = spans.paper_matches(nbest, gold, relaxed)
    counts = spans.overall_counts(matches, gold, spans.sweep(low_thresholds))
    return float(spans.aupr(counts.curve())[0])


def join(predictions: Iterable[Row], texts: Mapping[str, str]) -> Iterator[Row]:
    """Yield the n-best spans of each question with overlapping and touching spans joined.

    A model that reads one window at a time cannot predict a span longer than its window (MAUD, Section A.14,
    names this limit of its baseline).  A long passage is predicted in parts, which overlap or touch (only
    white space is between them).

    ``predictions`` are rows of `schema.NBEST`, sorted by question; ``texts`` maps questions to their
    contract's text.  A span joins only spans at least `MIN_SHARE` times as probable as the best of its run of
    touching spans; the others are dropped, since a passage is predicted once.  The joined span has the sum of
    the parts' probabilities, which are shares of one passage, and the logits of the best part; its released
    text is its slice with single blanks.  Of spans with the same released text the most probable is kept, as
    in the n-best rule.  The empty prediction is kept.
    """
    for question, group in groupby(predictions, key=lambda row: row["question_id"]):
        rows, text = list(group), texts[question]
        joined = [dict(row) for row in rows if row["start"] < 0]
        spans_ = sorted(
            (row for row in rows if row["start"] >= 0),
            key=lambda row: (row["start"], row["end"]),
        )
        for run in _runs(spans_, text):
            joined += _joined(run, text)
        joined.sort(key=lambda row: (-row["probability"], row["start"], row["end"]))
        by_text: dict[str, Row] = {}
        for row in joined:
            by_text.setdefault(row["released_text"], row)
        for rank, row in enumerate(by_text.values()):
            yield row | {"question_id": question, "rank": rank}


def _runs(spans_: Sequence[Row], text: str) -> Iterator[list[Row]]:
    """Yield runs of touching spans; ``spans_`` are sorted by position."""
    run: list[Row] = []
    end = 0
    for span in spans_:
        if run and span["start"] > end and text[end : span["start"]].strip():
            yield run
            run = []
        end = max(end, span["end"]) if run else span["end"]
        run.append(span)
    if run:
        yield run


def _joined(run: Sequence[Row], text: str) -> Iterator[Row]:
    def rank(row: Row) -> tuple[float, int, int]:
        return row["probability"], -row["start"], -row["end"]

    best = max(run, key=rank)
    kept = [row for row in run if row["probability"] >= MIN_SHARE * best["probability"]]
    # Without the improbable spans between them, the others may no longer touch.
    for part in _runs(kept, text):
        top = max(part, key=rank)
        if len(part) == 1:
            yield dict(top)
            continue
        start, end = part[0]["start"], max(row["end"] for row in part)
        slice_ = {"released_text": collapsed(text[start:end]), "text": text[start:end]}
        total = min(1.0, sum(row["probability"] for row in part))
        yield dict(top) | slice_ | {"start": start, "end": end, "probability": total}
