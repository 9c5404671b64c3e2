"""N-best lists in the released form: read as they are written, and faults named."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.nbest_json import read_nbest, released_nbest

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/cuad_scores.json").read_text(encoding="utf-8"))[
    "nbest"
]


def test_the_columns_are_those_of_the_file():
    found = released_nbest(GOLDEN, "golden")
    questions = sorted(GOLDEN)
    entries = [entry for name in found.question_ids for entry in GOLDEN[name]]
    assert sorted(found.question_ids) == questions
    assert found.sizes.tolist() == [len(GOLDEN[name]) for name in found.question_ids]
    assert list(found.texts) == [entry["text"] for entry in entries]
    assert found.confidence.tolist() == [entry["probability"] for entry in entries]
    assert found.start.tolist() == [entry["token_doc_start"] for entry in entries]
    assert found.end.tolist() == [entry["token_doc_end"] for entry in entries]


def test_reading_a_released_file(tmp_path):
    path = tmp_path / "nbest_predictions_.json"
    path.write_text(json.dumps(GOLDEN, indent=4), encoding="utf-8")
    found, same = read_nbest(path), released_nbest(GOLDEN, "golden")
    for name in ("question_ids", "texts"):
        assert getattr(found, name) == getattr(same, name)
    for name in ("sizes", "confidence", "start", "end"):
        np.testing.assert_array_equal(getattr(found, name), getattr(same, name))


PREDICTION = {"text": "x", "probability": 0.5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "is a list and not a dict of question ids"),
        ('{"q": {}}', "question 'q': is a dict and not a list"),
        ('{"q": ["x"]}', "question 'q', prediction 0: is a str and not a dict"),
        ('{"q": [], "q": []}', "'q' appears twice"),
        (json.dumps({"q": [PREDICTION, {"text": None, "probability": 0.5}]}), "1: text is not a string"),
        (json.dumps({"q": [{"text": "x"}]}), "the probability None is not a number"),
        (json.dumps({"q": [PREDICTION | {"probability": "0.5"}]}), "the probability '0.5' is not a number"),
        (json.dumps({"q": [PREDICTION | {"probability": True}]}), "the probability True is not a number"),
        (json.dumps({"p": [PREDICTION] * 3, "q": [PREDICTION, PREDICTION | {"probability": math.nan}]}),
         "question 'q', prediction 1: the probability nan is not a number from 0 to 1"),
        (json.dumps({"q": [PREDICTION | {"probability": math.inf}]}), "the probability inf"),
        (json.dumps({"q": [PREDICTION | {"probability": 1.5}]}), "the probability 1.5"),
        (json.dumps({"q": [PREDICTION | {"probability": -0.1}]}), "the probability -0.1"),
        (json.dumps({"q": [PREDICTION | {"token_doc_start": "1"}]}), "token_doc_start and token_doc_end"),
    ],
)  # fmt: skip
def test_a_released_file_that_cannot_be_used(tmp_path, content, message):
    path = tmp_path / "nbest.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match="nbest.json") as error:
        read_nbest(path)
    assert message in str(error.value)
    assert str(error.value).count(". ") == 0
