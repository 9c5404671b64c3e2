"""The trial that finds the answers of the held-out contracts is chosen."""

import pytest

from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.nbest import choose
from lextables.tasks.spans.schema import NBEST

TRIALS = [{"learning_rate": 1e-4, "epochs": 1}, {"learning_rate": 3e-4, "epochs": 4}]
ASKED = [{"question_id": "c__Parties", "contract_id": "c", "category": "Parties", "split": "train"}]
ANSWERS = [
    {"question_id": "c__Parties", "index": 0, "text": "Acme Limited", "start": 0, "end": 12},
    {"question_id": "of another contract", "index": 0, "text": "Acme", "start": 0, "end": 4},
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


def test_the_trial_that_finds_the_held_out_answers_wins(good, bad):
    trial, areas = choose(TRIALS, [bad, good], ASKED, ANSWERS, None, [0])
    assert trial == TRIALS[1]
    assert areas[0] < areas[1]
    assert choose(TRIALS, [good, bad], ASKED, ANSWERS, None, [0]) == (TRIALS[0], areas[::-1])
    assert choose(TRIALS, [good, good], ASKED, ANSWERS, None, [0])[0] == TRIALS[0]


def test_the_area_is_that_of_the_tasks_scorer(tmp_path, bad):
    wide = predicted(tmp_path / "wide.parquet", (f"Acme Limited {'of the city of Toronto ' * 9}", 0.9))
    assert choose(TRIALS, [bad, wide], ASKED, ANSWERS, None, [0])[0] == TRIALS[0]
    assert choose(TRIALS, [bad, wide], ASKED, ANSWERS, "Parties", [0])[0] == TRIALS[1]
    unsure = predicted(tmp_path / "unsure.parquet", ("Acme Limited", 0.0005))
    assert choose(TRIALS, [bad, unsure], ASKED, ANSWERS, None, [0.001])[0] == TRIALS[0]
    assert choose(TRIALS, [bad, unsure], ASKED, ANSWERS, None, [0.001, 0])[0] == TRIALS[1]


def test_what_was_read_are_the_held_out_contracts(tmp_path, good):
    other = predicted(tmp_path / "other.parquet", ("Acme Limited", 0.9), question="of another contract")
    with pytest.raises(BadInput, match="1 question is asked and not predicted, first 'c__Parties'"):
        choose(TRIALS, [good, other], ASKED, ANSWERS, None, [0])
