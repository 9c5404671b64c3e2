"""N-best spans: the choice of a trial, and joining over windows."""

import pytest

from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.nbest import ChoosingSettings, choose, join
from lextables.tasks.spans.schema import NBEST, PredictedSpan, ranked

TRIALS = [{"learning_rate": 1e-4, "epochs": 1}, {"learning_rate": 3e-4, "epochs": 4}]
ASKED = [
    {
        "question_id": "c__Parties",
        "contract_id": "c",
        "category": "Parties",
        "split": "train",
    }
]
ANSWERS = [
    {
        "question_id": "c__Parties",
        "index": 0,
        "text": "Acme Limited",
        "start": 0,
        "end": 12,
    },
    {
        "question_id": "of another contract",
        "index": 0,
        "text": "Acme",
        "start": 0,
        "end": 4,
    },
]


def predicted(path, *spans, question="c__Parties"):
    rows = [
        {
            "question_id": question,
            "rank": rank,
            "released_text": text,
            "text": text,
            "start": 0,
            "end": len(text),
            "probability": probability,
            "start_logit": 0.0,
            "end_logit": 0.0,
        }
        for rank, (text, probability) in enumerate(spans)
    ]
    write(NBEST, rows, path)
    return path


@pytest.fixture
def good(tmp_path):
    return predicted(tmp_path / "good.parquet", ("Acme Limited", 0.9))


@pytest.fixture
def bad(tmp_path):
    return predicted(tmp_path / "bad.parquet", ("the parties", 0.9))


def chosen(*searched, relaxed=None, low_thresholds=(0,)):
    """Return the number of the chosen trial, and the areas."""
    settings = ChoosingSettings(
        trials=TRIALS, held_out=0.1, relaxed=relaxed, low_thresholds=low_thresholds
    )
    trial, areas = choose(settings, searched, ASKED, ANSWERS)
    return settings.trials.index(trial), areas


def test_the_trial_that_finds_the_held_out_answers_is_chosen(good, bad):
    trial, areas = chosen(bad, good)
    assert trial == 1
    assert areas[0] < areas[1]
    assert chosen(good, bad) == (0, areas[::-1])
    assert chosen(good, good)[0] == 0


def test_a_trial_that_diverged_is_never_chosen(tmp_path, bad):
    diverged = predicted(tmp_path / "diverged.parquet")
    trial, areas = chosen(diverged, bad)
    assert trial == 1
    assert areas == [None, 0.0]
    assert chosen(bad, diverged)[0] == 0
    with pytest.raises(
        BadInput, match=r"^the training of each trial of the search div"
    ):
        chosen(diverged, diverged)


def test_trials_are_scored_with_the_settings_of_the_task(tmp_path, bad):
    long_text = f"Acme Limited {'of the city of Toronto ' * 9}"
    wide = predicted(tmp_path / "wide.parquet", (long_text, 0.9))
    assert chosen(bad, wide)[0] == 0
    assert chosen(bad, wide, relaxed="Parties")[0] == 1
    unsure = predicted(tmp_path / "unsure.parquet", ("Acme Limited", 0.0005))
    assert chosen(bad, unsure, low_thresholds=[0.001])[0] == 0
    assert chosen(bad, unsure, low_thresholds=[0.001, 0])[0] == 1


def test_predictions_for_other_contracts_raise(tmp_path, good):
    other = predicted(
        tmp_path / "other.parquet",
        ("Acme Limited", 0.9),
        question="of another contract",
    )
    with pytest.raises(
        BadInput, match="1 question is asked and not predicted, first 'c__Parties'"
    ):
        chosen(good, other)


TEXT = "The tail period runs for twelve months. It ends early. Nothing else survives the closing date."


def span(start, end, probability, question="c__Tail"):
    text = TEXT[start:end] if start >= 0 else ""
    return {
        "question_id": question,
        "rank": 0,
        "released_text": text,
        "text": text,
        "start": start,
        "end": end,
        "probability": probability,
        "start_logit": 1.0,
        "end_logit": 2.0,
    }


def places(rows):
    return [
        (row["start"], row["end"], row["probability"])
        for row in join(rows, {"c__Tail": TEXT, "d": TEXT})
    ]


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        # The second begins inside the first and ends after it.
        ([(0, 20, 0.5), (10, 39, 0.25)], [(0, 39, 0.75)]),
        # Only a space is between them.
        ([(0, 39, 0.5), (40, 54, 0.25)], [(0, 54, 0.75)]),
        # Words are between them.
        ([(0, 19, 0.5), (55, 70, 0.25)], [(0, 19, 0.5), (55, 70, 0.25)]),
        # Much less probable than the span that it overlaps: dropped, not joined.
        ([(0, 20, 0.5), (10, 93, 0.01)], [(0, 20, 0.5)]),
        # A tenth as probable as the best is enough; less is not.
        ([(0, 20, 0.5), (10, 39, 0.05)], [(0, 39, 0.55)]),
        ([(0, 20, 0.5), (10, 39, 0.0499)], [(0, 20, 0.5)]),
        # Two probable spans that only an improbable one connects are not joined.
        ([(0, 20, 0.5), (4, 90, 0.01), (55, 93, 0.25)], [(0, 20, 0.5), (55, 93, 0.25)]),
        ([(-1, -1, 0.75), (0, 20, 0.25)], [(-1, -1, 0.75), (0, 20, 0.25)]),
        ([(0, 20, 0.75), (0, 21, 0.75)], [(0, 21, 1.0)]),
    ],
)
def test_overlapping_and_adjacent_spans_are_joined(spans, expected):
    assert places([span(*one) for one in spans]) == expected


def test_spans_are_joined_and_ranked_per_question():
    rows = [span(55, 70, 0.25), span(0, 20, 0.5), span(0, 20, 0.5, question="d")]
    found = list(join(rows, {"c__Tail": TEXT, "d": TEXT}))
    assert [(row["question_id"], row["rank"], row["text"]) for row in found] == [
        ("c__Tail", 0, TEXT[0:20]),
        ("c__Tail", 1, TEXT[55:70]),
        ("d", 0, TEXT[0:20]),
    ]


def scored(text, logit, probability, start=0):
    return PredictedSpan(text, text, start, start + 1, logit, 0.0, probability)


@pytest.mark.parametrize(
    ("spans", "empty", "expected"),
    [
        ([("a", 1, 0.7, 9), ("b", 1, 0.7, 2)], (0, 0.5), "ba-"),  # by position
        # By probability.
        ([("a", 9, 0.97), ("b", 9, 0.98), ("c", 9, 0.99)], (0, 0.1), "cb-"),
        ([("a", 9, 0.97)], (9, 0.98), "-a"),
        ([("a", 1, 0.7)], (1, 0.7), "a-"),  # the empty prediction is last
        ([("a", 1, 0.7)], (2, 0.8), "-a"),
        ([("a", 3, 0.9), ("a", 2, 0.8), ("b", 1, 0.7), ("c", 0, 0.5)], (9, 1), "-ab"),
        ([], (0, 0.5), "-"),
    ],
)
def test_spans_are_ranked_by_score_with_each_text_once(spans, empty, expected):
    rows = [scored(*span) for span in spans]
    found = ranked(rows, scored("-", *empty, start=-1), 2)
    assert "".join(span.text for span in found) == expected
