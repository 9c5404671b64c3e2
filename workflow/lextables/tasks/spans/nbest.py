"""N-best lists of spans: joining spans of windows, and choosing a trial by its AUPR."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from lextables.metrics import spans
from lextables.models.settings import StepSettings
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.files import JsonObject
from lextables.tasks.search import best_trial
from lextables.tasks.spans.settings import SpanTrial
from lextables.tasks.spans.squad import collapsed

MIN_SHARE = 0.1  # of the highest probability, for a span to be joined (`join`)


class ScoringSettings(StepSettings):
    """Settings of the released evaluator."""

    relaxed: str | None
    """For questions whose id contains this text, such as a category's name, a
    prediction may contain the answer; None: for no question.
    """
    low_thresholds: tuple[float, ...]
    """Thresholds of the released sweep below 0.01."""


class ChoosingSettings(ScoringSettings):
    """The choice of a trial by its score on the held-out contracts."""

    trials: tuple[SpanTrial, ...]
    """In the order of the searches."""
    held_out: float | str
    """Share of the training contracts that is held out, or the name of their split."""


def choose(
    settings: ChoosingSettings,
    searched: Sequence[str | Path],
    asked: Sequence[Row],
    answers: Iterable[Row],
) -> tuple[SpanTrial, list[float | None]]:
    """Return the trial with the highest AUPR, and the AUPR of each trial (None: it
    diverged).

    ``searched`` are the predictions of the trials, ``asked`` the questions about the
    held-out contracts.  Ties go to the first trial.
    """
    gold = spans.gold(asked, answers)
    areas = [_area(path, gold, settings) for path in searched]
    scores = {}
    for number, area in enumerate(areas):
        scores[number] = [] if area is None else [area]
    return settings.trials[best_trial(scores, seeds=1)], areas


def _area(
    path: str | Path, gold: spans.Gold, settings: ScoringSettings
) -> float | None:
    """Return the AUPR of predictions by the released evaluator; None without
    predictions.
    """
    nbest = spans.nbest_rows(read(path))
    if not nbest.question_ids:
        return None
    spans.check_questions(nbest, gold)
    matches = spans.paper_matches(nbest, gold, settings.relaxed)
    thresholds = spans.sweep(settings.low_thresholds)
    counts = spans.overall_counts(matches, gold, thresholds)
    return float(spans.aupr(counts.curve())[0])


def join(predictions: Iterable[Row], texts: Mapping[str, str]) -> Iterator[Row]:
    """Yield the n-best spans with overlapping and touching ones joined.

    A model that reads one window at a time cannot predict a span longer than its window
    (MAUD, Section A.14, names this limit of its baseline).  A long passage is predicted
    in parts, which overlap or touch (only white space is between them).

    ``predictions`` are rows of `schema.NBEST`, sorted by question; ``texts`` maps
    questions to their contract's text.  In each group of touching spans, spans less
    than `MIN_SHARE` times as probable as the best one are dropped, since a passage is
    predicted once; the others are joined.  The joined span has the sum of the parts'
    probabilities, which are shares of one passage, and the logits of the best part; its
    released text is its slice with single blanks.  Of spans with the same released text
    the most probable is kept, as in the n-best rule.  The empty prediction is kept.
    """
    for question, group in groupby(predictions, key=itemgetter("question_id")):
        text = texts[question]
        joined = []
        places = []
        for row in group:
            if row["start"] < 0:
                joined.append(dict(row))
            else:
                places.append(row)
        places.sort(key=itemgetter("start", "end"))
        for touching in _touching(places, text):
            joined += _joined(touching, text)
        by_text: dict[str, JsonObject] = {}
        for row in sorted(joined, key=_by_probability):
            by_text.setdefault(row["released_text"], row)
        for rank, row in enumerate(by_text.values()):
            row["rank"] = rank
            yield row


def _by_probability(row: Row) -> tuple[float, int, int]:
    return -row["probability"], row["start"], row["end"]


def _touching(places: Sequence[Row], text: str) -> Iterator[list[Row]]:
    """Yield the groups of touching spans; ``places`` are sorted by position."""
    group: list[Row] = []
    end = 0
    for row in places:
        if group and text[end : row["start"]].strip():
            yield group
            group = []
            end = 0
        group.append(row)
        end = max(end, row["end"])
    if group:
        yield group


def _joined(touching: Sequence[Row], text: str) -> Iterator[JsonObject]:
    """Yield the joined spans of a group: one, if no span of it is improbable."""
    best = max(row["probability"] for row in touching)
    probable_rows = [row for row in touching if row["probability"] >= MIN_SHARE * best]
    # Without the improbable spans between them, the others may no longer touch.
    for parts in _touching(probable_rows, text):
        most_probable = min(parts, key=_by_probability)
        joined = dict(most_probable)
        if len(parts) > 1:
            start = parts[0]["start"]
            end = max(row["end"] for row in parts)
            words = text[start:end]
            total = sum(row["probability"] for row in parts)
            joined["released_text"] = collapsed(words)
            joined["text"] = words
            joined["start"] = start
            joined["end"] = end
            joined["probability"] = min(1.0, total)
        yield joined
