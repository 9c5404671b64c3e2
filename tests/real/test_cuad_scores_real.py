"""Scores of synthetic predictions for CUAD's real test contracts, compared with
recorded values.

When the values were recorded, they equalled those of the released evaluate.py on the
same predictions (bench/measure_cuad_scoring.py runs both).
"""

import hashlib
import json
import zipfile

import pytest

from bench.make_nbest import make_nbest, table_rows
from lextables.metrics.spans import (
    gold,
    paper_counts,
    paper_matches,
    paper_values,
    scores,
    sweep,
)
from lextables.tasks.spans.submitted import released_nbest

# Digest of the rebuilt file; the released file has other positions and another order of
# answers.
TEST_JSON = "1fadab083f84ba4fdf7a6b00679901cdfed3ad63ef9352e53b5d15141ca73c56"
# Digest of the curves and scores of all groups in paper mode.
CURVES = "cf93541df966680786598ae06a08292892906577dc87c85e38423cb83a8e5212"
# Strict mode, and the 95 % interval of paper mode from 1,000 resamples.
PINNED = (
    ("AUPR", 0.7122826560875514, 0.6698671571548885, 0.7133575373980107),
    (
        "precision at 80% recall",
        0.5211718365337272,
        0.420710238486547,
        0.48602819756810345,
    ),
    (
        "precision at 90% recall",
        0.33027905039566846,
        0.20936260244201516,
        0.2602896268574019,
    ),
)


@pytest.fixture(scope="module")
def squad(mirror):
    path = mirror / "cuad/data.zip"
    if not path.exists():
        pytest.skip(f"no CUAD here: there is no {path}")
    with zipfile.ZipFile(path) as archive:
        content = archive.read("test.json")
    if hashlib.sha256(content).hexdigest() != TEST_JSON:
        pytest.skip(
            "the numbers are pinned for the rebuilt test.json, and this is another"
        )
    return json.loads(content)


@pytest.fixture(scope="module")
def nbest(squad):
    return released_nbest(make_nbest(squad, seed=0), "synthetic predictions")


def test_paper_mode_equals_the_released_evaluation(squad, nbest):
    questions = gold(*table_rows(squad))
    matches = paper_matches(nbest, questions, "Parties")
    groups, counts = paper_counts(matches, questions, sweep())
    assert len(groups) == 42
    curve = counts.curve()
    # One value for each group, the first of which is of all questions.
    scores_of_groups = paper_values(curve)
    assert {name: values[0] for name, values in scores_of_groups.items()} == {
        "AUPR": 0.691622555800199,
        "precision at 80% recall": 0.44918367346938776,
        "precision at 90% recall": 0.2374192285098884,
    }
    curves = {"precision": curve.precision, "recall": curve.recall}
    digest = hashlib.sha256()
    for place, group in enumerate(groups):
        for name, values in (curves | scores_of_groups).items():
            digest.update(f"{group}, {name}: {values[place].tolist()!r}\n".encode())
    assert digest.hexdigest() == CURVES


def test_paper_and_strict_mode_differ_for_insurance_and_parties(squad, nbest):
    questions, answers = table_rows(squad)
    rows = scores(nbest, questions, answers, relaxed="Parties", resamples=1000)
    score_of = {(row["metric"], row["group"]): row for row in rows}

    def both(metric, category, column):
        """A column of a category's score in paper mode and in strict mode."""
        group = f"category: {category}"
        paper = score_of[metric, group]
        strict = score_of[f"{metric}, strict", group]
        return [paper[column], strict[column]]

    # Paper mode also counts 40 questions, with five gold spans, about a contract with
    # Insurance in its title.
    assert both("AUPR", "Insurance", "n") == [122, 117]
    assert both("AUPR", "Price Restrictions", "n") == [0, 0]
    # The recall of Parties exceeds 90 %, but only at the last threshold.
    assert both("precision at 90% recall", "Parties", "value") == [
        0.0,
        0.5506756756756757,
    ]
    for name, strict, low, high in PINNED:
        value = score_of[f"{name}, strict", "all"]["value"]
        assert value == pytest.approx(strict, abs=1e-12)
        assert score_of[f"{name}, low", "all"]["value"] == pytest.approx(low)
        assert score_of[f"{name}, high", "all"]["value"] == pytest.approx(high)
