"""One run: which point of the grid, which windows, which contracts."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lextables.dataset import write
from lextables.errors import BadInput
from lextables.models.span_extraction import NBEST
from lextables.models.span_runs import chosen_point, held_out_contracts, question_texts, training_rows
from lextables.models.span_windows import Windows

POINTS = [{"learning_rate": 1e-4, "epochs": 1}, {"learning_rate": 3e-4, "epochs": 4}]
ASKED = [{"question_id": "c__Parties", "contract_id": "c", "category": "Parties", "split": "train"}]
ANSWERS = [{"question_id": "c__Parties", "index": 0, "text": "Acme Limited", "start": 0, "end": 12}]


def predicted(path, *spans):
    rows = [
        {
            "question_id": "c__Parties",
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


def test_the_point_that_finds_the_held_out_answers_wins(tmp_path):
    bad = predicted(tmp_path / "0.parquet", ("the parties", 0.9))
    good = predicted(tmp_path / "1.parquet", ("Acme Limited", 0.9))
    grid = {"points": POINTS, "relaxed": None, "tail": [0]}
    point, areas = chosen_point(grid, [bad, good], ASKED, ANSWERS)
    assert point == POINTS[1]
    assert areas[0] < areas[1]
    assert chosen_point(grid, [good, good], ASKED, ANSWERS)[0] == POINTS[0]
    assert chosen_point({"points": POINTS[:1]}, [], ASKED, ANSWERS) == (POINTS[0], [])


def windows(contracts, answered):
    """One window for each item of ``contracts`` (indices), with an answer where ``answered``."""
    count = len(contracts)
    zeros = np.zeros(count, dtype=np.int32)
    marked = np.where(answered, 5, 0).astype(np.int32)
    names = tuple(f"c{i:02}" for i in range(max(contracts) + 1))
    return Windows(
        names, names, ("Parties",), np.asarray(contracts), np.asarray(contracts), zeros, zeros, zeros,
        zeros + 9, marked, marked,
    )  # fmt: skip


SETTINGS = {"percent": 100, "balance": "sample", "held_out": 0.1}
SPLITS = {f"c{i:02}": "train" for i in range(20)} | {"t": "test"}


def test_a_sample_has_as_many_empty_windows_as_answered_ones():
    found = windows(np.repeat(np.arange(20), 10), np.tile(np.arange(10) == 0, 20))
    rows, weight = training_rows(found, SPLITS, SETTINGS, seed=0, search=False)
    assert len(rows) == 40
    assert (found.start_positions[rows] > 0).sum() == 20
    assert weight is None
    assert rows.tolist() != training_rows(found, SPLITS, SETTINGS, seed=1, search=False)[0].tolist()


def test_weighting_keeps_every_window():
    found = windows(np.repeat(np.arange(20), 10), np.tile(np.arange(10) == 0, 20))
    rows, weight = training_rows(found, SPLITS, SETTINGS | {"balance": "weight"}, seed=0, search=False)
    assert len(rows) == 200
    assert weight == pytest.approx(20 / 180)


def test_a_search_leaves_the_held_out_contracts_and_a_share_takes_its_part():
    found = windows(np.repeat(np.arange(20), 2), np.tile([True, False], 20))
    whole = SETTINGS | {"balance": "weight"}
    rows, _ = training_rows(found, SPLITS, whole, seed=0, search=True)
    held = held_out_contracts(SPLITS, 0.1)
    assert len(held) == 2
    assert "t" not in held
    assert {f"c{i:02}" for i in found.contract[rows]} == set(found.contracts) - held
    part, _ = training_rows(found, SPLITS, whole | {"percent": 10}, seed=0, search=False)
    assert len(set(found.contract[part])) == 2


def test_no_answer_to_train_on_is_one_sentence():
    found = windows(np.arange(20), np.zeros(20, dtype=bool))
    with pytest.raises(BadInput, match="none of the 20 windows of 20 contracts holds an answer"):
        training_rows(found, SPLITS, SETTINGS, seed=0, search=False)


def test_held_out_may_be_a_split():
    assert held_out_contracts({"a": "train", "b": "dev", "c": "test"}, "dev") == {"b"}


def test_a_category_asked_in_two_wordings_is_refused(tmp_path):
    rows = [
        {"question_id": "a", "category": "Parties", "question": "Who?"},
        {"question_id": "b", "category": "Parties", "question": "Which parties?"},
    ]
    pq.write_table(pa.Table.from_pylist(rows[:1]), tmp_path / "questions.parquet")
    assert question_texts(tmp_path / "questions.parquet") == {"Parties": "Who?"}
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "questions.parquet")
    with pytest.raises(
        BadInput, match=r"^questions.parquet, b: the category 'Parties' is asked in two wordings"
    ):
        question_texts(tmp_path / "questions.parquet")
