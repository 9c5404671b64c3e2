"""N-best spans: the choice of a search's trial by them, joining spans that overlap, and
their ranking.
"""

import pytest

from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.nbest import ChoosingSettings, choose, join
from lextables.tasks.spans.schema import NBEST, PredictedSpan, ranked

TRIALS = [{"learning_rate": 1e-4, "epochs": 1}, {"learning_rate": 3e-4, "epochs": 4}]
QUESTIONS = [
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


def write_predictions(path, *spans, question="c__Parties"):
    """Write predictions of one trial, spans as (text, probability); return ``path``."""
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
def right(tmp_path):
    """Predictions that find the answer."""
    return write_predictions(tmp_path / "right.parquet", ("Acme Limited", 0.9))


@pytest.fixture
def wrong(tmp_path):
    """Predictions that miss the answer."""
    return write_predictions(tmp_path / "wrong.parquet", ("the parties", 0.9))


def chosen_trial(*predictions, relaxed=None, low_thresholds=(0,)):
    """Return the number of the chosen trial, and the area under the precision-recall
    curve of each trial.

    ``predictions`` are the files of the trials, in their order.
    """
    settings = ChoosingSettings(
        trials=TRIALS, held_out=0.1, relaxed=relaxed, low_thresholds=low_thresholds
    )
    trial, areas = choose(settings, predictions, QUESTIONS, ANSWERS)
    return settings.trials.index(trial), areas


def test_the_trial_that_finds_the_held_out_answers_is_chosen(right, wrong):
    number, areas = chosen_trial(wrong, right)
    assert number == 1
    assert areas[0] < areas[1]
    assert chosen_trial(right, wrong) == (0, areas[::-1])


def test_the_first_of_equal_trials_is_chosen(right):
    number, _ = chosen_trial(right, right)
    assert number == 0


def test_a_trial_that_diverged_is_never_chosen(tmp_path, wrong):
    # A training that diverged has no predictions.
    diverged = write_predictions(tmp_path / "diverged.parquet")
    assert chosen_trial(diverged, wrong) == (1, [None, 0.0])
    number, _ = chosen_trial(wrong, diverged)
    assert number == 0
    message = r"^the training of each trial of the search div"
    with pytest.raises(BadInput, match=message):
        chosen_trial(diverged, diverged)


def test_a_span_around_the_answer_counts_only_in_the_relaxed_category(tmp_path, wrong):
    text = f"Acme Limited {'of the city of Toronto ' * 9}"
    wide = write_predictions(tmp_path / "wide.parquet", (text, 0.9))
    number, _ = chosen_trial(wrong, wide)
    assert number == 0
    number, _ = chosen_trial(wrong, wide, relaxed="Parties")
    assert number == 1


def test_a_span_below_all_thresholds_does_not_count(tmp_path, wrong):
    unsure = write_predictions(tmp_path / "unsure.parquet", ("Acme Limited", 0.0005))
    number, _ = chosen_trial(wrong, unsure, low_thresholds=[0.001])
    assert number == 0
    number, _ = chosen_trial(wrong, unsure, low_thresholds=[0.001, 0])
    assert number == 1


def test_predictions_for_other_contracts_raise(tmp_path, right):
    for_other_contract = write_predictions(
        tmp_path / "other.parquet",
        ("Acme Limited", 0.9),
        question="of another contract",
    )
    message = "1 question is asked and not predicted, first 'c__Parties'"
    with pytest.raises(BadInput, match=message):
        chosen_trial(right, for_other_contract)


TEXT = "The tail period runs for twelve months. It ends early. Nothing else survives the closing date."


def span(start, end, probability, question="c__Tail"):
    """Return a row of `NBEST` about `TEXT`; the start -1 is the empty prediction."""
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


# {question: text of its contract}
TEXTS = {"c__Tail": TEXT, "d": TEXT}


@pytest.mark.parametrize(
    # Each span as (start, end, probability).
    ("spans", "joined"),
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
        # The empty prediction is joined to none.
        ([(-1, -1, 0.75), (0, 20, 0.25)], [(-1, -1, 0.75), (0, 20, 0.25)]),
        # A sum of probabilities is at most one.
        ([(0, 20, 0.75), (0, 21, 0.75)], [(0, 21, 1.0)]),
    ],
)
def test_overlapping_and_adjacent_spans_are_joined(spans, joined):
    rows = join([span(*values) for values in spans], TEXTS)
    assert [(row["start"], row["end"], row["probability"]) for row in rows] == joined


def test_spans_are_joined_and_ranked_per_question():
    rows = [span(55, 70, 0.25), span(0, 20, 0.5), span(0, 20, 0.5, question="d")]
    joined = [
        (row["question_id"], row["rank"], row["text"]) for row in join(rows, TEXTS)
    ]
    assert joined == [
        ("c__Tail", 0, TEXT[0:20]),
        ("c__Tail", 1, TEXT[55:70]),
        ("d", 0, TEXT[0:20]),
    ]


def predicted_span(text, logit, probability, start=0):
    return PredictedSpan(text, text, start, start + 1, logit, 0.0, probability)


@pytest.mark.parametrize(
    # Spans as (text, logit, probability, start); the empty prediction as (logit,
    # probability); the texts of the ranked spans, of which "-" is the empty one.
    ("spans", "empty", "texts"),
    [
        # By logit.
        ([("a", 1, 0.7)], (2, 0.8), "-a"),
        # With equal logits by probability; two spans are kept.
        ([("a", 9, 0.97), ("b", 9, 0.98), ("c", 9, 0.99)], (0, 0.1), "cb-"),
        ([("a", 9, 0.97)], (9, 0.98), "-a"),
        # With equal probabilities by position; the empty prediction is last.
        ([("a", 1, 0.7, 9), ("b", 1, 0.7, 2)], (0, 0.5), "ba-"),
        ([("a", 1, 0.7)], (1, 0.7), "a-"),
        # The second span with the text "a" is left out.
        ([("a", 3, 0.9), ("a", 2, 0.8), ("b", 1, 0.7), ("c", 0, 0.5)], (9, 1), "-ab"),
        # No span.
        ([], (0, 0.5), "-"),
    ],
)
def test_spans_are_ranked_by_score_with_each_text_once(spans, empty, texts):
    candidates = [predicted_span(*values) for values in spans]
    empty_prediction = predicted_span("-", *empty, start=-1)
    ranking = ranked(candidates, empty_prediction, 2)
    assert "".join(span.text for span in ranking) == texts
